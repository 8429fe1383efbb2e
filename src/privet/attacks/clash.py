"""Why no data set fits: a few statistics that cannot all be true."""

from __future__ import annotations

from privet.attacks.certificate import Claim, System, only, rows_used
from privet.attacks.encode import encode, kinds_of
from privet.attacks.prover import Prover
from privet.attacks.release import Tables
from privet.attacks.solver import Clock, Outcome, Solver
from privet.errors import InvalidInputError

NO_SOLUTION = Claim((), 1)
MOST_NAMES = 6


def clash(tables: Tables, clock: Clock) -> InvalidInputError:
    """The error to raise. Leaving out any of the statistics that it names would end the contradiction among them, if
    there was time to make sure."""
    encoded = encode(tables, kinds_of(tables))
    names = _smallest(_roomy(encoded.system, tables), Clock(max(clock.left, 10)))
    names = list(dict.fromkeys([*names, *(encoded.leaning[name] for name in names if name in encoded.leaning)]))
    listed = ", ".join(f"“{name}”" for name in names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    what = "contradicts itself" if len(names) == 1 else "contradict each other"
    return InvalidInputError(
        f"no data set fits: {listed}{more} {what}",
        "correct these, or say how they were rounded or suppressed (decimals, rounded, random_rounded, below)",
    )


def _roomy(system: System, tables: Tables) -> System:
    """The box must not speak for a statistic: it is made as large as all counts together."""
    counts = [int(s.count.high) for s in tables.statistics if s.count is not None and s.count.high is not None]
    room = max(sum(counts), 1)
    return System(system.low, tuple(max(high, room) if high != 1 else 1 for high in system.high), system.rows)


def _smallest(system: System, clock: Clock) -> list[str]:
    proof = Prover(system).prove(NO_SOLUTION, clock.part(0.5))
    rows = system.rows if proof is None else [system.rows[number] for number in rows_used(proof)]
    names = list(dict.fromkeys(row.source for row in rows))
    for name in list(names):
        rest = frozenset(names) - {name}
        if len(names) > 1 and Solver(only(system, rest)).solve(clock.part(0.2)).outcome is Outcome.IMPOSSIBLE:
            names.remove(name)
    return names
