"""Why no data set fits: a few statistics that cannot all be true."""

from __future__ import annotations

from privet.attacks.proofs.certificate import ProofClaim, System, only, rows_used
from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.solver import Outcome, Solver
from privet.attacks.proofs.work import Work
from privet.attacks.release.statistics import Tables
from privet.attacks.tables.encode import EncodedTables, encode, kinds_of
from privet.errors import InvalidInputError

NO_SOLUTION = ProofClaim((), 1)
MOST_NAMES = 6
ROOM = 1000


def clash(tables: Tables, work: Work) -> InvalidInputError:
    """The error to raise. Leaving out any of the statistics that it names would end the contradiction among them, if
    there was time to make sure."""
    encoded = encode(tables, kinds_of(tables))
    names = _smallest(_roomy(encoded, tables), Work(max(work.left, 10)))
    names = list(dict.fromkeys([*names, *(encoded.leaning[name] for name in names if name in encoded.leaning)]))
    listed = ", ".join(f"“{name}”" for name in names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    what = "contradicts itself" if len(names) == 1 else "contradict each other"
    return InvalidInputError(
        f"no data set fits: {listed}{more} {what}",
        "correct these, or say how they were rounded or suppressed (decimals, rounded, random_rounded, below)",
        "contradiction",
    )


def _roomy(encoded: EncodedTables, tables: Tables) -> System:
    """The box must not speak for a statistic: there is room for many more people than it counts."""
    counts = [int(s.count.high) for s in tables.statistics if s.count is not None and s.count.high is not None]
    system, kinds = encoded.system, len(encoded.kinds)
    return System(system.low, (max(sum(counts), 0) + ROOM,) * kinds + system.high[kinds:], system.rows)


def _smallest(system: System, work: Work) -> list[str]:
    proof = Prover(system).prove(NO_SOLUTION, work.part(0.5))
    rows = system.rows if proof is None else [system.rows[number] for number in rows_used(proof)]
    names = list(dict.fromkeys(row.source for row in rows))
    for name in list(names):
        rest = frozenset(names) - {name}
        if len(names) > 1 and Solver(only(system, rest)).solve(work.part(0.2)).outcome is Outcome.IMPOSSIBLE:
            names.remove(name)
    return names
