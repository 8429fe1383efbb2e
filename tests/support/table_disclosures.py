"""The attack on a small system of tables, compared with every data set: what it says that is false, what it misses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from privet.attacks.proofs.certificate import check
from privet.attacks.proofs.work import Work
from privet.attacks.release.statistics import Knowledge
from privet.attacks.tables.decide import Decider
from privet.attacks.tables.disclosure import Learned, learned
from privet.attacks.tables.grid import CategoryGrid
from privet.attacks.tables.reconstruction import Reconstruction, solve
from privet.attacks.tables.suppressed import suppressed
from support.made_releases import LIMIT, SECONDS
from support.random_tables import Group, Truth, Values

Told = tuple[Group, str, Values]


class Compared:
    """One system. `wrong` has a line for each difference; the others count what was compared."""

    def __init__(self, truth: Truth, limit: int = LIMIT) -> None:
        self.truth, self.found = truth, solve(truth.tables, Work(SECONDS), limit)
        self.wrong: list[str] = []
        self.subsets = self.facts = self.cells = self.without_certificate = 0

    def disclosures(self) -> Compared:
        """For every set of public attributes: each fact is so in every data set, and none is missing."""
        names = self.found.encoded.domain.names
        for size in range(1, len(names) + 1):
            for public in itertools.combinations(names, size):
                self.subsets += 1
                result = learned(self.found, Knowledge(public=public), Decider(self.found), Work(SECONDS))
                facts = list(told(self.found, result))
                self.facts += len(facts)
                self._true(result, facts)
                self.wrong += [] if result.complete and not result.open else [f"{public}: not decided"]
                self.wrong += [
                    f"{public}: missed {group}, {name}"
                    for group, name, values in self.truth.disclosures(public)
                    if name in names and not any(_says(fact, (group, name, values)) for fact in facts)
                ]
        return self

    def _true(self, result: Learned, facts: list[Told]) -> None:
        for group, name, values in facts:
            if self.truth.people(group).min() < 1 or self.truth.values(group, name) != values:
                self.wrong.append(f"false: {group}, {name} {values}")
        for decided in (one for fact in result.facts for one in fact.shown):
            self.without_certificate += decided.proof is None
            if decided.proof is not None and not check(self.found.lifted(), decided.claim, decided.proof):
                self.wrong.append(f"no proof: {decided.claim}")

    def bounds(self) -> Compared:
        """Of every suppressed or rounded count: the fewest and the most people in any data set."""
        for cell in suppressed(self.found, Decider(self.found), Work(SECONDS)):
            people = self.truth.people(self.truth.groups[cell.statistic.name])
            self.cells += 1
            if cell.open or (cell.low, cell.high) != (people.min(), people.max()):
                self.wrong.append(f"bounds of {cell.statistic.name}: {cell.low} to {cell.high}")
            if cell.undone != (people.min() == people.max()):
                self.wrong.append(f"{cell.statistic.name} is undone, or is not")
            for decided in cell.shown:
                self.without_certificate += decided.proof is None
                if decided.proof is not None and not check(self.found.lifted(), decided.claim, decided.proof):
                    self.wrong.append(f"no proof: {decided.claim}")
        return self


def told(found: Reconstruction, result: Learned) -> Iterator[Told]:
    """The facts about people who are there, in values."""
    grid = CategoryGrid(found)
    for fact in result.facts:
        if fact.present and not fact.condition:
            known = {
                category.attribute: frozenset(map(str, grid.values(category.attribute, category.classes)))
                for category in fact.known
            }
            yield known, fact.attribute, frozenset(map(str, grid.values(fact.attribute, fact.classes)))


def _says(fact: Told, wanted: Told) -> bool:
    """Whether a fact about these people, or about more, says the same."""
    known, name, values = fact
    group = wanted[0]
    wider = all(at in group and group[at] <= wide for at, wide in known.items())
    return wider and (name, values) == wanted[1:]
