"""From published tables back to the people: the records that every data set behind the tables must contain.

`attack_tables` is the attack. The unknowns are how many people there are of each kind; every published number is a
linear statement about them. A solver finds data sets that fit; a kind of which no fitting data set has fewer than c
people is certain c times, and each such claim carries a certificate that `certificate.check` accepts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from privet.attacks.finding import Findings
from privet.attacks.proofs.certificate import ProofClaim, System, check, lifted, narrowed, only, rows_used
from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.solver import Outcome, Solver, Values
from privet.attacks.proofs.work import Work
from privet.attacks.protect.repair import best_repairs
from privet.attacks.release.statistics import Knowledge, Tables
from privet.attacks.tables.beyond import beyond
from privet.attacks.tables.certain import Certain, Progress, Search, silent
from privet.attacks.tables.decide import Decider
from privet.attacks.tables.disclosure import learned
from privet.attacks.tables.encode import EncodedTables, encode, kinds_of
from privet.attacks.tables.narrowing import Prepared, prepare
from privet.attacks.tables.outcome import AttackOutcome
from privet.attacks.tables.scoring import scored
from privet.attacks.tables.suppressed import suppressed
from privet.errors import InvalidInputError

# Why no data set fits: a few statistics that cannot all be true.

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


NOTHING = Knowledge()


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """What the solvers and provers found."""

    tables: Tables
    prepared: Prepared
    certain: tuple[Certain, ...]
    floors: tuple[int, ...]  # the least count of each kind that was met in a data set that fits
    solutions: tuple[Values, ...]
    complete: bool
    undecided: int
    seconds: float  # of work
    told: tuple[Certain, ...] = ()  # the certain records that say more than a published table itself

    @property
    def encoded(self) -> EncodedTables:
        return self.prepared.encoded

    @property
    def people(self) -> int:
        return sum(count for _, count in self.encoded.people(self.solutions[0]))

    @property
    def number_known(self) -> bool:
        """Whether the release says exactly how many people there are."""
        kinds = len(self.encoded.kinds)
        exact = [
            one.name for one in self.tables.statistics if one.count is not None and one.count.low == one.count.high
        ]
        return any(len(self.prepared.whole.members[name]) == len(self.prepared.whole.kinds) for name in exact) or (
            self.complete and len({sum(values[:kinds]) for values in self.solutions}) == 1
        )

    @property
    def proven(self) -> int:
        """People of a record that is certain, those whose record is a published cell included."""
        return sum(one.count for one in self.certain)

    def lifted(self) -> System:
        """The system with the proven counts of certain records as lower ends."""
        steps = [(one.kind, one.count, one.proof) for one in self.certain if one.proof is not None]
        system = lifted(self.encoded.system, steps)
        assert system is not None  # noqa: S101  each has been checked when it was found
        return system

    def count(self) -> int:
        """How many data sets these solutions stand for: people of one kind may differ where no statistic looks."""
        sizes = [len(group) for group in self.encoded.kinds]
        return sum(
            math.prod(math.comb(count + sizes[kind] - 1, count) for kind, count in self.encoded.people(values))
            for values in self.solutions
        )

    def checked(self) -> bool:
        """Every certificate, once more, by the small checker alone."""
        if narrowed(self.prepared.coarse.system, self.prepared.steps) is None:
            return False
        system = self.encoded.system
        return all(one.proof is None or check(system, one.claim(), one.proof) for one in self.certain)

    def sources(self, one: Certain) -> tuple[str, ...]:
        """The statistics that a claim rests on, in the order of the release."""
        used = self.prepared.sources(one.claim(), one.proof)
        return tuple(statistic.name for statistic in self.tables.statistics if statistic.name in used)


def solve(tables: Tables, work: Work, limit: int, progress: Progress = silent) -> Reconstruction:
    """Narrow, find data sets, prove."""
    kinds = kinds_of(tables)
    progress("narrowing", 0, 1)
    prepared = prepare(tables, kinds, work.part(0.2))
    system = prepared.encoded.system
    search = Search(system, len(prepared.encoded.kinds), work, progress)
    progress("searching a data set that fits", 0, 1)
    outcome = search.start(limit)
    if outcome is Outcome.IMPOSSIBLE:
        raise clash(tables, work)
    if outcome is Outcome.UNKNOWN:
        raise InvalidInputError(
            "no data set that fits was found in the work that was given, and none was ruled out: nothing is known",
            "give it more work with seconds=, or attack fewer tables at a time",
            "out-of-time",
        )
    told_apart = len(kinds.groups) > 1  # else nothing is said about anybody
    certain = search.certain(Prover(system)) if told_apart else []
    found = Reconstruction(
        tables=tables,
        prepared=prepared,
        certain=tuple(certain),
        floors=tuple(search.floors),
        solutions=tuple(search.solutions),
        complete=search.complete,
        undecided=search.undecided,
        seconds=work.spent,
    )
    return replace(found, told=beyond(found))


def attack_tables(  # noqa: PLR0913  what a user may want to say, by name
    tables: Tables,
    knowledge: Knowledge = NOTHING,
    *,
    seconds: float = 60,
    limit: int = 1000,
    repair: bool = True,
    subject: str = "the release",
    progress: Progress = silent,
) -> Findings:
    """Attack published tables: which records are certain, what follows about people whom one knows, which suppressed
    cells are undone. `knowledge.public` are the attributes by which people are known; without it, all are tried.
    `limit` is how many data sets to list. `seconds` is the work to spend on the records, as much again on known people
    and suppressed cells, and as much again on repairs. It is work that the solvers count, about as much as an ordinary
    machine does in that time: the same release gives the same findings, however busy the machine is."""
    found = solve(tables, Work(seconds), limit, progress)
    work, mending = Work(seconds), Work(seconds)
    decider = Decider(found)
    progress("bounding suppressed cells", 0, 1)
    cells = suppressed(found, decider, work.part(0.4)) if tables.confidence is None else ()
    progress("searching what is learned about known people", 0, 1)
    facts = learned(found, knowledge, decider, work)
    repairs = best_repairs(found, mending, progress) if repair and found.told else None
    outcome = AttackOutcome(found, facts, cells, decider)
    return outcome.findings(
        subject=subject,
        score=scored(found, knowledge),
        repairs=repairs,
        seconds=found.seconds + work.spent + mending.spent,
    )
