"""What the attack on tables says: three counts apart, a headline that promises no more than was searched, findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from privet.attacks.finding import Finding, Findings, Score, Strength
from privet.attacks.proofs.certificate import DENIAL, Leaf
from privet.attacks.tables.suppressed import not_audited, shown

if TYPE_CHECKING:
    from privet.attacks.protect.repair import Repairs
    from privet.attacks.release.statistics import Tables
    from privet.attacks.tables.certain import Certain
    from privet.attacks.tables.decide import Decider
    from privet.attacks.tables.disclosure import Fact, Learned
    from privet.attacks.tables.reconstruction import Reconstruction
    from privet.attacks.tables.suppressed import HiddenCell

SURE = Fraction(9, 10)  # what follows from noisy numbers is claimed of people from this probability on
LONGEST_SUM = 8  # weights of a proof that is shown as arithmetic
MOST_UNREAD = 3  # sheets, columns and rows named in the headline
NO_WORK = ("not used", "not audited", "not read", "not answered")  # limits that more work does not lift
UNREAD = (
    "Say in [[tables]] what it means, or list it in ignore = [...] if it is not published: sheets at the top of the"
    ' release file, columns and rows (such as "7:9") in their table'
)
RECORDS = "Records that are certain"
LEARNED = "Learned about known people"
RANGES = "Ranges of numbers that several people share"
ABSENT = "Learned, if such a person is in the data"
LEAD_NOISY = (
    "Claimed means: it is so in every data set that fits, if every noisy number lies in its interval. The probability"
    " of that stands beside each claim."
)
LEAD_NOTHING = (
    "Nothing was found. That is no promise: another attack may find more. What was assumed and what was not tried is"
    " listed below."
)
LEAD_OPEN = (
    "Not everything was searched or read, so nothing is said about the rest. What would change that is listed below,"
    " under what was not tried."
)


@dataclass(frozen=True, slots=True)
class AttackOutcome:
    """One attack: records, facts about known people, suppressed cells."""

    found: Reconstruction
    learned: Learned
    cells: tuple[HiddenCell, ...]
    decider: Decider

    # The three counts

    @property
    def told(self) -> int:
        """People whose record is certain, though no published count says it."""
        return sum(one.count for one in self.found.told)

    def undone(self, *, rounded: bool) -> int:
        return sum(cell.alarm for cell in self.cells if (cell.mark == "rounded") == rounded)

    def counts(self) -> dict[str, int]:
        spared = sum(cell.undone and not cell.alarm for cell in self.cells if cell.mark == "complementary")
        return {
            "told_apart": self.told,
            "learned": self.learned.things,
            "undone": self.undone(rounded=False),
            "unrounded": self.undone(rounded=True),
            "learned_if_present": self.learned.absent,
            "ranges_of_groups": len(self.learned.ranges),
            "narrowed": sum(cell.narrowed for cell in self.cells),
            "learned_public": sum(fact.public for fact in self.learned.facts),
            "undone_complementary": spared,
            "certain_as_published": self.found.proven - self.told,
        }

    @property
    def noisy(self) -> bool:
        return self.found.tables.confidence is not None

    @property
    def claims(self) -> bool:
        """Whether noisy numbers are sure enough to claim what follows from them."""
        confidence = self.found.tables.confidence
        return confidence is not None and confidence >= SURE

    @property
    def alarm(self) -> Literal["bad", "neutral", "good"]:
        harm = bool(self.told or self.learned.things or any(cell.alarm for cell in self.cells))
        if harm and (self.claims or not self.noisy):
            return "bad"
        spared = any(cell.undone and cell.mark != "empty" for cell in self.cells)
        remarks = self.learned.absent or self.learned.ranges or spared
        return "neutral" if harm or self.limits() or remarks else "good"

    def limits(self) -> list[str]:
        """What was not decided, not searched or not used, in a few words each."""
        learned, listed = self.learned, list[str]()
        open_cells = sum(cell.open for cell in self.cells)
        for number, what in (
            (self.found.undecided, ("person", "people")),
            (learned.open, ("statement about known people", "statements about known people")),
            (open_cells, ("suppressed cell", "suppressed cells")),
        ):
            if number:
                listed.append(f"{number:,} {what[number > 1]} not decided")
        if not learned.complete:
            listed.append(f"people known by more than {learned.searched} of {learned.of} attributes not searched")
        if self.found.encoded.unused:
            listed.append(f"{_number(len(self.found.encoded.unused), 'published number')} not used")
        left_out = not_audited(self.found.tables)
        if left_out:
            listed.append(f"{left_out:,} suppressed {'mean or sum' if left_out == 1 else 'means or sums'} not audited")
        unread = self.found.tables.unread
        if unread:
            more = f" and {len(unread) - MOST_UNREAD:,} more" if len(unread) > MOST_UNREAD else ""
            listed.append(f"{', '.join(unread[:MOST_UNREAD])}{more} not read")
        if self.found.tables.questions:
            listed.append(f"{_number(len(self.found.tables.questions), 'question')} of the release file not answered")
        return listed

    # Words

    def headline(self) -> str:
        """People, facts, cells; then what limits it. "Nobody" is said only where everything was searched."""
        harms, limits = list(self._harms()), self.limits()
        remarks = [] if harms else list(self._remarks())
        rest = f"; not everything was searched: {', '.join(limits)}" if limits else ""
        if self.noisy:
            told = harms or remarks
            follow = f"; if all intervals hold, {' and '.join(told)}" if told else ""
            return f"Nobody is certain, since the numbers are noisy{follow}{rest}"
        if harms:
            only_one = self.told == self.found.people and self.found.complete and self.found.count() == 1
            first = f"{harms[0]}: only one data set fits the tables" if only_one else harms[0]
            return "; ".join([first[0].upper() + first[1:], *harms[1:]]) + rest
        if limits:
            told_so_far = "; ".join(["Nothing was found so far", *remarks])
            return f"{told_so_far}, and not everything was searched: {', '.join(limits)}"
        people = self.found.people
        nobody = f"None of {people:,} people is certain" if self.found.number_known else "Nobody is certain"
        cells = [cell for cell in self.cells if not cell.empty and cell.mark != "empty"]
        parts = [nobody, f"{'no value' if self.learned.ranges else 'nothing'} is learned about a known person"]
        if cells:
            parts.append(f"none of {_number(len(cells), 'suppressed or rounded count')} is undone")
        if any(cell.undone for cell in cells):
            parts[-1] = "only complementary suppressed cells are undone"
        return "; ".join([", ".join(parts[:-1]) + f" and {parts[-1]}", *remarks])

    def _remarks(self) -> Iterator[str]:
        """What is proven and is no alarm."""
        narrowed, ranges = sum(cell.narrowed for cell in self.cells), self.learned.ranges
        if narrowed:
            yield f"fewer numbers are possible than published for {_number(narrowed, 'suppressed or rounded count')}"
        if ranges:
            more = f", and {_number(len(ranges) - 1, 'more such range')}" if len(ranges) > 1 else ""
            yield f"{claim_of(ranges[:1])}{more}"

    def _harms(self) -> Iterator[str]:
        if self.told:
            people = self.found.people
            of = f" of {people:,} people" if self.found.number_known else " person" if self.told == 1 else " people"
            yield f"{self.told:,}{of} {'is' if self.told == 1 else 'are'} certain"
        things = self.learned.things
        if things:
            yield f"{_number(things, 'thing')} {'is' if things == 1 else 'are'} learned about known people"
        absent = [fact for fact in self.learned.facts if not fact.present and not fact.public]
        if absent:
            more = f", and {_number(len(absent) - 1, 'more such fact')}" if len(absent) > 1 else ""
            yield f"{claim_of(absent[:1])}{more}"
        for rounded, what in ((False, "suppressed cell"), (True, "rounded count")):
            undone = self.undone(rounded=rounded)
            of_all = sum(
                (cell.mark == "rounded") == rounded and not cell.empty and (cell.alarm or cell.mark != "empty")
                for cell in self.cells
            )
            if undone:
                yield f"{undone:,} of {_number(of_all, what)} {'is' if undone == 1 else 'are'} undone"

    def lead(self) -> str:
        if self.claims and (self.told or self.learned.things):
            return LEAD_NOISY
        if self.told or self.learned.facts or self.learned.ranges or any(cell.alarm for cell in self.cells):
            return ""
        return LEAD_OPEN if self.limits() else LEAD_NOTHING

    # The result

    def findings(self, *, subject: str, score: Score | None, repairs: Repairs | None, seconds: float) -> Findings:
        found, counts = self.found, self.counts()
        return Findings(
            attack="tables",
            subject=subject,
            headline=self.headline(),
            people=found.people if found.number_known else None,
            proven=0 if self.noisy else self.told,
            claimed=self.told if self.claims else 0,
            findings=(*self._records(repairs), *self.facts()),
            tables=(*shown(self.cells), *(repairs.shown() if repairs else ())),
            score=score,
            assumptions=_assumptions(found.tables),
            not_tried=self._not_tried(),
            numbers=self._numbers()
            | counts
            | {"disclosed": counts["learned"]}  # the older name, for one version
            | ({"repair": repairs.numbers()} if repairs else {}),
            seconds=seconds,
            counted=True,
            word="claimed" if self.claims else "certain",
            lead=self.lead(),
            alarm=self.alarm,
        )

    def _records(self, repairs: Repairs | None) -> list[Finding]:
        """Worst first: the fewer people share a record, the worse."""
        found = self.found
        evidence = repairs.enough if repairs else tuple(found.sources(one) for one in found.told)
        listed = []
        for one, cells in sorted(zip(found.told, evidence, strict=True), key=lambda pair: pair[0].rank()):
            record = found.encoded.domain.described(found.encoded.kinds[one.kind])
            words = ", ".join(f"{name} {value}" for name, value in record.items() if value != "any")
            who = "one person" if one.count == 1 else f"{one.count:,} people"
            listed.append(
                Finding(
                    claim=f"{who} with {words}",
                    strength=self._strength(proven=one.proof is not None),
                    confidence=self._confidence,
                    people=one.count,
                    record=record,
                    evidence=cells,
                    reasoning=arithmetic(found, one),
                    certificate=one.proof,
                    section=RECORDS,
                )
            )
        return listed

    def facts(self) -> Iterator[Finding]:
        """What is learned of the same people is one finding."""
        together = groupby(self.learned.facts, key=lambda fact: (fact.present, fact.public, fact.known, fact.condition))
        facts_of = [(list(same), LEARNED if present else ABSENT) for (present, *_), same in together]
        for facts, section in (*facts_of, *(([fact], RANGES) for fact in self.learned.ranges)):
            decided = tuple(dict.fromkeys(one for fact in facts for one in fact.shown))
            yield Finding(
                claim=claim_of(facts),
                strength=self._strength(proven=all(one.proof is not None for one in decided)),
                confidence=self._confidence,
                people=facts[0].people,
                record={category.attribute: category.words for category in facts[0].known}
                | {fact.attribute: fact.words for fact in facts},
                evidence=self.decider.sources(decided, facts[0].nobody),
                reasoning="about attributes that are public themselves" if facts[0].public else "",
                certificate=tuple((one.claim, one.proof) for one in decided),
                section=section,
            )

    @property
    def _confidence(self) -> float | None:
        return None if self.found.tables.confidence is None else float(self.found.tables.confidence)

    def _strength(self, *, proven: bool) -> Strength:
        if self.noisy:
            return Strength.CONFIDENCE
        return Strength.PROOF if proven else Strength.RESOLVED

    def _not_tried(self) -> tuple[str, ...]:
        found = self.found
        listed = [f"not used: {reason}" for reason in found.encoded.unused]
        if found.undecided:
            listed.append(f"{found.undecided:,} further people may be certain: the work ran out before it was decided")
        listed += [f"{limit}: give it more work with --seconds" for limit in self.limits()[bool(found.undecided) :]
                   if not limit.endswith(NO_WORK)]  # fmt: skip
        if found.tables.unread:
            listed.append(f"not read: {', '.join(found.tables.unread)}. {UNREAD}")
        listed += [f"not answered: {question}" for question in found.tables.questions]
        if any(one.proof is None for one in found.certain):
            listed.append("some claims rest on two solvers and have no certificate")
        listed.append("statements such as “not this value”: only values, published bands and ranges of numbers count")
        listed.append(
            "people of whom it is not certain that they are in the data, unless a number was published about just them"
        )
        if self.cells or not_audited(found.tables):
            listed.append("suppressed means, sums, medians and extremes: only counts and percentages are audited")
        if any(one.table for one in found.tables.statistics):
            listed.append("titles, notes, comments, charts and other parts of a workbook: only cells are read")
        return (*listed, "what else an attacker knows about single people (linkage with other sources)")

    def _numbers(self) -> dict[str, object]:
        found, encoded = self.found, self.found.encoded
        described = [(encoded.domain.record(encoded.kinds[k]), n) for k, n in encoded.people(found.solutions[0])]
        return {
            "solutions": found.count(),
            "all_solutions": found.complete,
            "records": [record for record, count in described for _ in range(count)],
            "proven": self.told,
            "certificates": sum(one.proof is not None for one in found.certain),
            "certificates_checked": found.checked(),
            "undecided": found.undecided,
            "limits": self.limits(),
            "cells": [cell.to_json() for cell in self.cells],
        }


def claim_of(facts: Sequence[Fact]) -> str:
    """ "the only person with sex M has smokes yes, age 60"."""
    first = facts[0]
    who = ", ".join(f"{category.attribute} {category.words}" for category in first.known)
    of = f" with {who}" if who else f" of “{first.condition}”" if first.condition else ""
    what = ", ".join(f"{fact.attribute} {fact.words}" for fact in facts)
    if not first.present:
        return f"anybody{of} who is in the data has {what}"
    if first.exact and first.people == 1:
        return f"the only person{of} has {what}"
    return f"all {first.people:,} people{of} have {what}" if first.exact else f"everybody{of} has {what}"


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


def _assumptions(tables: Tables) -> tuple[str, ...]:
    listed = ["every published number is true, up to the rounding or suppression that was declared for it"]
    if tables.confidence is not None:
        listed = [
            f"every noisy number lies in its interval: at least {float(tables.confidence):.0%} sure for all together"
        ]
    listed += [f"{what} is no part of the release, as the release file says" for what in tables.ignored]
    listed += [f"{name} has no other values than those declared" for name in tables.attributes]
    return (*listed, *(f"rule “{name}” holds for everybody" for name in tables.rules))


def _number(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
