"""From published tables back to the people: the records that every data set behind the tables must contain.

`attack_tables` is the attack. The unknowns are how many people there are of each kind; every published number is a
linear statement about them. A solver finds data sets that fit; a kind of which no fitting data set has fewer than c
people is certain c times, and each such claim carries a certificate that `certificate.check` accepts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from privet.attacks.finding import Finding, Findings, Strength
from privet.attacks.proofs.certificate import DENIAL, Leaf, ProofClaim, System, check, narrowed, only, rows_used
from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.solver import Outcome, Solver, Values
from privet.attacks.proofs.work import Work
from privet.attacks.protect.repair import Repairs, best_repairs
from privet.attacks.release.statistics import Knowledge, Tables
from privet.attacks.tables.certain import Certain, Progress, Search, silent
from privet.attacks.tables.disclosure import disclosed
from privet.attacks.tables.encode import EncodedTables, encode, kinds_of
from privet.attacks.tables.narrowing import Prepared, prepare
from privet.attacks.tables.scoring import scored
from privet.attacks.tables.suppressed import suppressed
from privet.errors import InvalidInputError

SURE = Fraction(9, 10)  # what follows from noisy numbers is claimed of people from this probability on
LEAD_NOISY = (
    "Claimed means: it is so in every data set that fits, if every noisy number lies in its interval. The probability"
    " of that stands beside each claim."
)

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
LONGEST_SUM = 8  # weights of a proof that is shown as arithmetic


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
    seconds: float

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
        return sum(one.count for one in self.certain)

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
            f"no data set that fits was found in {work.took:.0f} s, and none was ruled out: nothing is known",
            "give it more seconds, or attack fewer tables at a time",
            "out-of-time",
        )
    told_apart = len(kinds.groups) > 1  # else nothing is said about anybody
    certain = search.certain(Prover(system)) if told_apart else []
    return Reconstruction(
        tables=tables,
        prepared=prepared,
        certain=tuple(certain),
        floors=tuple(search.floors),
        solutions=tuple(search.solutions),
        complete=search.complete,
        undecided=search.undecided,
        seconds=work.took,
    )


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
    """Attack published tables. `limit` is how many data sets to list; `seconds` holds for the attack and, once more,
    for looking for a repair. It is work that the solvers count, about as much as an ordinary machine does in that time:
    the same release gives the same findings, however busy the machine is."""
    found = solve(tables, Work(seconds), limit, progress)
    work = Work(seconds)
    hidden = suppressed(found, work)
    known = disclosed(found, knowledge, work)
    repairs = best_repairs(found, work, progress) if repair and found.certain else None
    claims = tables.confidence is not None and tables.confidence >= SURE
    return Findings(
        attack="tables",
        subject=subject,
        headline=headline(found, known),
        people=found.people if found.number_known else None,
        proven=found.proven if tables.confidence is None else 0,
        claimed=found.proven if claims else 0,
        findings=(*_findings(found, repairs), *known),
        tables=(*(repairs.shown() if repairs else ()), *((hidden,) if hidden else ())),
        score=scored(found, knowledge),
        assumptions=_assumptions(tables),
        not_tried=_not_tried(found),
        numbers=_numbers(found)
        | {"disclosed": sum(finding.people for finding in known)}
        | ({"repair": repairs.numbers()} if repairs else {}),
        seconds=found.seconds,
        word="claimed" if claims else "certain",
        lead=LEAD_NOISY if claims and found.proven else "",
    )


def headline(found: Reconstruction, known: Sequence[Finding] = ()) -> str:
    """In people."""
    people, proven, told = found.people, found.proven, sum(finding.people for finding in known)
    more = f"; something follows about {told:,} whose public attributes are known" if told else ""
    more += f"; for {found.undecided:,} time ran out" if found.undecided else ""
    if found.tables.confidence is not None:
        follow = f"; {proven:,} would follow if all intervals held" if proven else ""
        return f"Nobody is certain, since the numbers are noisy{follow}{more}"
    if not proven:
        return (f"None of {people:,} people is certain" if found.number_known else "Nobody is certain") + more
    of = f" of {people:,} people" if found.number_known else " person" if proven == 1 else " people"
    certain = f"{proven:,}{of} {'is' if proven == 1 else 'are'} certain"
    if proven == people and found.complete and found.count() == 1:
        return f"{certain}: only one data set fits the tables"
    return certain + more


def _findings(found: Reconstruction, repairs: Repairs | None) -> list[Finding]:
    """Worst first: the fewer people share a record, the worse."""
    evidence = repairs.enough if repairs else tuple(found.sources(one) for one in found.certain)
    listed = []
    for one, cells in sorted(zip(found.certain, evidence, strict=True), key=lambda pair: pair[0].rank()):
        record = found.encoded.domain.described(found.encoded.kinds[one.kind])
        words = ", ".join(f"{name} {value}" for name, value in record.items() if value != "any")
        who = "one person" if one.count == 1 else f"{one.count:,} people"
        listed.append(
            Finding(
                claim=f"{who} with {words}",
                strength=_strength(found, one),
                confidence=None if found.tables.confidence is None else float(found.tables.confidence),
                people=one.count,
                record=record,
                evidence=cells,
                reasoning=arithmetic(found, one),
                certificate=one.proof,
            )
        )
    return listed


def arithmetic(found: Reconstruction, one: Certain) -> str:
    """The proof as a line that one can follow, where it is a short sum: "5 (women) − 4 (women who smoke) = 1"."""
    if not isinstance(one.proof, Leaf) or len(one.proof.weights) > LONGEST_SUM:
        return ""
    rows, total, terms, share = found.encoded.system.rows, 0, list[str](), 1
    for number, weight in one.proof.weights:
        if number == DENIAL:
            share = -weight
            continue
        row = rows[number]
        bound = row.low if weight > 0 else row.high
        if bound is None or row.part != "count":
            return ""
        total += weight * bound
        times = f"{abs(weight)} × " if abs(weight) > 1 else ""
        terms.append(f"{'+' if weight > 0 else '−'} {times}{bound} ({row.source})")
    if total != share * one.count:
        return ""
    words = " ".join(sorted(terms)).removeprefix("+ ")
    return f"({words}) / {share} = {one.count}" if share > 1 else f"{words} = {one.count}"


def _strength(found: Reconstruction, one: Certain) -> Strength:
    if found.tables.confidence is not None:
        return Strength.CONFIDENCE
    return Strength.PROOF if one.proof is not None else Strength.RESOLVED


def _assumptions(tables: Tables) -> tuple[str, ...]:
    listed = ["every published number is true, up to the rounding or suppression that was declared for it"]
    if tables.confidence is not None:
        listed = [
            f"every noisy number lies in its interval: at least {float(tables.confidence):.0%} sure for all together"
        ]
    listed += [f"{name} has no other values than those declared" for name in tables.attributes]
    return (*listed, *(f"rule “{name}” holds for everybody" for name in tables.rules))


def _not_tried(found: Reconstruction) -> tuple[str, ...]:
    listed = [f"not used: {reason}" for reason in found.encoded.unused]
    if found.undecided:
        listed.append(f"{found.undecided:,} further people may be certain: time ran out before it was decided")
    if any(one.proof is None for one in found.certain):
        listed.append("some claims rest on two solvers and have no certificate")
    return (*listed, "what else an attacker knows about single people (linkage with other sources)")


def _numbers(found: Reconstruction) -> dict[str, object]:
    encoded = found.encoded
    described = [(encoded.domain.record(encoded.kinds[k]), n) for k, n in encoded.people(found.solutions[0])]
    return {
        "solutions": found.count(),
        "all_solutions": found.complete,
        "records": [record for record, count in described for _ in range(count)],
        "proven": found.proven,
        "certificates": sum(one.proof is not None for one in found.certain),
        "certificates_checked": found.checked(),
        "undecided": found.undecided,
    }
