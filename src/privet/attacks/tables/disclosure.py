"""What the tables tell about a person of whom one knows something: whoever has these values also has that one.

Somebody is known by the values of some attributes: any of those that are public, or of all if none was said to be.
Every subset of them is searched, from small to large. A fact is told where it needs the fewest of them: what holds for
all people of race Other holds for those of race Other and sex F.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from privet.attacks.proofs.certificate import ProofClaim, Terms
from privet.attacks.proofs.work import Work
from privet.attacks.release.domain import Codes
from privet.attacks.release.statistics import Knowledge
from privet.attacks.tables.decide import Decided, Decider, Decision
from privet.attacks.tables.grid import CategoryGrid, KnownCategory
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.records.conditions import columns_of

if TYPE_CHECKING:
    from privet.attacks.tables.reconstruction import Reconstruction

LOOK = 2e-8  # seconds that looking at a cell takes, about
GROUP = 2e-5  # and a group
ROUNDS = 40  # data sets asked for, each with as many people as possible of kinds that were in none so far
Classes = frozenset[int]
Known = tuple[KnownCategory, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """Everybody whom `known` describes has one of these classes of the attribute. `people` are how many there are at
    least, and exactly so if `exact`. Where nobody need be there (`present` is False), it is of use to those who know
    that somebody is."""

    known: Known
    condition: str  # the statistic that describes them, where categories do not
    attribute: str
    classes: Classes
    words: str
    people: int
    exact: bool
    present: bool
    shown: tuple[Decided, ...]
    nobody: tuple[int, ...]  # kinds of the whole release that are gone, and might have been there
    public: bool  # the attribute itself is public: that is listed, and no alarm


@dataclass(slots=True)
class Learned:
    """All facts, worst first; ranges of numbers that several people share; what was not decided; which subsets were not
    searched at all."""

    facts: list[Fact] = field(default_factory=list)
    ranges: list[Fact] = field(default_factory=list)  # no alarm: a published maximum is one, too
    open: int = 0
    searched: int = 0  # attributes in the largest subsets that were searched completely
    of: int = 0
    complete: bool = True

    @property
    def things(self) -> int:
        """Facts about attributes that are not public, of people who are there."""
        return sum(fact.present and not fact.public for fact in self.facts)

    @property
    def absent(self) -> int:
        """Facts about people of whom it is not certain that they are there."""
        return sum(not fact.present and not fact.public for fact in self.facts)


@dataclass(frozen=True, slots=True)
class _Node:
    """People who are known by some categories: their cells, and what is told of them by fewer categories."""

    known: Known
    cells: Codes
    told: Mapping[str, Classes]


def learned(found: Reconstruction, knowledge: Knowledge, decider: Decider, work: Work) -> Learned:
    """Every fact about people who are known by public attributes."""
    search = _Search(found, knowledge, decider, work)
    search.possible()
    search.subsets()
    search.published()
    search.result.facts.sort(key=lambda fact: (not fact.present, fact.public, fact.people, len(fact.known)))
    return search.result


class _Search:
    def __init__(self, found: Reconstruction, knowledge: Knowledge, decider: Decider, work: Work) -> None:
        self._found, self._decider, self._work = found, decider, work
        self._grid = CategoryGrid(found)
        self._declared = _declared(found, knowledge)
        self._names = self._declared or self._grid.names
        self.result = Learned(of=len(self._names))
        self._told: dict[frozenset[tuple[str, Classes]], dict[str, Classes]] = {}
        self._overall: dict[str, Classes] = {}

    # Which kinds can occur

    def possible(self) -> None:
        """Meet data sets until every kind that can occur did. What is left may be gone; each fact proves what it
        needs."""
        work = self._work.part(0.3)
        for _ in range(ROUNDS):
            unseen = np.flatnonzero(~self._decider.seen[: len(self._grid.sizes)])
            if self._decider.complete or not len(unseen) or not work.left:
                return
            terms = tuple((int(kind), -1) for kind in unseen)
            least = self._decider.least(terms, work.part(0.3))
            if not least:  # none of them can occur, or no work was left to tell
                return

    # Every subset of what is public

    def subsets(self) -> None:
        level = [_Node((), self._grid.cells, {})]
        for size in range(len(self._names) + 1):
            below: list[_Node] = []
            for node in level:
                if not self._work.left:
                    self.result.complete = False
                    return
                if self._look(node):
                    below += self._children(node)
            self.result.searched = size
            level = below

    def _look(self, node: _Node) -> bool:
        """Tells what is new about these people; whether those who are known by more need be looked at."""
        self._work.used(GROUP + LOOK * len(node.cells) * (1 + len(self._grid.names)))
        inside = self._inside(node.cells)
        if not inside or self._decider.sums(inside).min() < 1:
            return False  # in some data set there is nobody like that
        told = self._inherited(node)
        known = {category.attribute for category in node.known}
        rest = [name for name in self._grid.names if name not in known and len(told.get(name, (0, 0))) > 1]
        new = self._facts(_Group(node.known, node.cells), [(name, told.get(name)) for name in rest])
        told |= {fact.attribute: fact.classes for fact in new if fact.present}
        self._told[_key(node.known)] = told
        if not node.known:
            self._overall = {name: self._classes(node.cells, name) for name in self._grid.names}
        self.result.facts += new
        return any(len(told.get(name, (0, 0))) > 1 for name in rest)

    def _inherited(self, node: _Node) -> dict[str, Classes]:
        """What is told of these people by one category fewer, or by a wider one: the narrowest of each attribute."""
        told = dict(node.told)
        for at, category in enumerate(node.known):
            fewer = (*node.known[:at], *node.known[at + 1 :])
            wider = [one for one in self._grid.categories[category.attribute] if one.classes > category.classes]
            for others in (fewer, *((*fewer, one) for one in wider)):
                for name, classes in self._told.get(_key(others), {}).items():
                    if name != category.attribute and len(classes) < len(told.get(name, range(10**9))):
                        told[name] = classes
        return told

    def _children(self, node: _Node) -> Iterator[_Node]:
        """One more attribute, in the order of the release, with each category that somebody has in the first data
        set."""
        last = self._names.index(node.known[-1].attribute) if node.known else -1
        left = node.cells[self._grid.kind[node.cells] >= 0]
        there = left[self._decider.met[0][self._grid.kind[left]] > 0]
        told = self._told[_key(node.known)]
        for name in self._names[last + 1 :]:
            codes = self._grid.codes[name]
            single = [self._grid.category(name, int(number)) for number in np.unique(codes[there])]
            for category in (*self._grid.categories[name], *single):
                inside = np.isin(codes[node.cells], list(category.classes))
                if inside.any() and not inside.all():
                    yield _Node((*node.known, category), node.cells[inside], told)

    def published(self) -> None:
        """The groups that a number was published about, if it is not certain that anybody is in them, or if
        categories do not describe them."""
        names = frozenset(self._names)
        groups: dict[bytes, tuple[str, Codes, frozenset[str]]] = {}
        for statistic in self._found.tables.statistics:
            mentioned = columns_of(statistic.where)
            if mentioned <= names:
                cells = self._grid.group(statistic.where)
                groups.setdefault(cells.tobytes(), (statistic.name, cells, mentioned))
        for name, cells, mentioned in groups.values():
            if not self._work.left:
                self.result.complete = False
                return
            rest = [(other, None) for other in self._grid.names if other not in mentioned]
            ranges = len(self.result.ranges)
            facts = self._facts(_Group((), cells, name), rest)
            self.result.facts += [fact for fact in facts if not self._covered(fact, cells, self.result.facts)]
            new, self.result.ranges[ranges:] = self.result.ranges[ranges:], []
            self.result.ranges += [fact for fact in new if not self._covered(fact, cells, self.result.ranges)]

    def _covered(self, fact: Fact, cells: Codes, others: Sequence[Fact]) -> bool:
        """Whether a fact about more people says it already."""
        for other in others:
            if other.attribute == fact.attribute and other.classes == fact.classes and not other.condition:
                inside = np.ones(len(cells), dtype=bool)
                for category in other.known:
                    inside &= np.isin(self._grid.codes[category.attribute][cells], list(category.classes))
                if inside.all():
                    return True
        return False

    # One group of people

    def _inside(self, cells: Codes) -> Terms:
        """The kinds all of whose records are in these cells."""
        kinds, counts = np.unique(self._grid.kind[cells], return_counts=True)
        return tuple(
            (int(kind), 1)
            for kind, count in zip(kinds, counts, strict=True)
            if kind >= 0 and count == self._grid.sizes[kind]
        )

    def _classes(self, cells: Codes, name: str) -> Classes:
        """The classes that somebody in these cells has in a data set that was met."""
        left = cells[self._grid.kind[cells] >= 0]
        there = left[self._decider.seen[self._grid.kind[left]]]
        return frozenset(np.unique(self._grid.codes[name][there]).tolist())

    def _facts(self, group: _Group, wanted: Sequence[tuple[str, Classes | None]]) -> list[Fact]:
        """The facts of a group that say more than what is told of it already."""
        cells = group.cells
        facts, size = list[Fact](), None
        for name, told in wanted:
            classes = self._classes(cells, name)
            allowed = frozenset(np.unique(self._grid.codes[name][cells]).tolist())
            if not classes or classes == told or not classes < allowed or not self._says(name, classes):
                continue
            size = size or self._size(cells)
            if size.people or group.condition:  # of groups that nobody need be in, only those that were published count
                decided = self._only(cells, name, classes)
                if decided is None:
                    continue
                fact = self._fact(group, size, name, classes, decided)
                if size.is_one or not self._is_range(name, classes):
                    facts.append(fact)
                elif fact.present and not fact.public and not self._repeats(fact):
                    self.result.ranges.append(fact)
        return facts

    def _repeats(self, fact: Fact) -> bool:
        """Whether the same range was told of people who are known by less."""
        what = fact.attribute, fact.classes
        same = [other for other in self.result.ranges if (other.attribute, other.classes) == what]
        return any(set(other.known) <= set(fact.known) and not other.condition for other in same)

    def _says(self, name: str, classes: Classes) -> bool:
        """One value, or a band or list that stands in the tables, or a range of numbers. "Not this one" is less."""
        return self._grid.is_named(name, classes) or self._is_range(name, classes)

    def _is_range(self, name: str, classes: Classes) -> bool:
        """Whether it is more than a value and no published band, but narrower than what is so for everybody."""
        overall = self._overall.get(name, classes)
        narrower = min(overall) < min(classes) or max(classes) < max(overall)
        return narrower and self._grid.number_classes(name) and not self._grid.is_named(name, classes)

    def _only(self, cells: Codes, name: str, classes: Classes) -> Decided | None:
        """That nobody in these cells has another class. None if somebody can, or if it stays open."""
        other = cells[~np.isin(self._grid.codes[name][cells], list(classes))]
        kinds = np.unique(self._grid.kind[other])
        claim = ProofClaim(tuple((int(kind), -1) for kind in kinds if kind >= 0), 0)
        decided = self._decider.decide(claim, self._work)
        self.result.open += decided.answer is Decision.OPEN
        return decided if decided.answer is Decision.HOLDS else None

    def _size(self, cells: Codes) -> _Size:
        """How many people there are in these cells: 0 if there need not be anybody, or if it stays open."""
        inside, kinds = self._inside(cells), np.unique(self._grid.kind[cells])
        somebody = self._decider.decide(ProofClaim(inside, 1), self._work)
        if somebody.answer is not Decision.HOLDS:
            self.result.open += somebody.answer is Decision.OPEN
            return _Size(0, exact=False, shown=())
        least = self._decider.bound(inside, self._work)
        touched = tuple((int(kind), -1) for kind in kinds if kind >= 0)
        most = self._decider.decide(ProofClaim(touched, -least.claim.least), self._work)
        if least.answer is Decision.HOLDS and most.answer is Decision.HOLDS:
            return _Size(least.claim.least, exact=True, shown=(least, most))
        return _Size(1, exact=False, shown=(somebody,))

    def _fact(self, group: _Group, size: _Size, name: str, classes: Classes, decided: Decided) -> Fact:
        gone = np.unique(self._grid.whole_kind[group.cells[self._grid.kind[group.cells] < 0]])
        return Fact(
            known=group.known,
            condition=group.condition,
            attribute=name,
            classes=classes,
            words=self._grid.words(name, classes),
            people=size.people,
            exact=size.exact,
            present=size.people > 0,
            shown=(*size.shown, decided),
            nobody=tuple(int(kind) for kind in gone),
            public=name in self._declared,
        )


@dataclass(frozen=True, slots=True)
class _Group:
    """People who are known by categories, or by the condition of a published number, and their cells."""

    known: Known
    cells: Codes
    condition: str = ""  # the name of the statistic


@dataclass(frozen=True, slots=True)
class _Size:
    people: int  # at least
    exact: bool
    shown: tuple[Decided, ...]

    @property
    def is_one(self) -> bool:
        return self.exact and self.people == 1


def _declared(found: Reconstruction, knowledge: Knowledge) -> tuple[str, ...]:
    """The attributes that were said to be public, by the release or by who asks."""
    names = tuple(dict.fromkeys((*found.tables.public, *knowledge.public)))
    for name in names:
        if name not in found.encoded.domain.names:
            raise InvalidInputError(
                f"no statistic mentions the public attribute {show(name)}",
                f"the attributes are: {', '.join(found.encoded.domain.names)}",
                "unknown-attribute",
            )
    return names


def _key(known: Known) -> frozenset[tuple[str, Classes]]:
    return frozenset((category.attribute, category.classes) for category in known)
