"""Which pairs are worth a comparison: those that share something rare.

A rule is a set of columns, or of their beginnings or ends, that must be the same: each column, each two, and some
three together. Two classes that agree by a rule are in one block. Of all rules the small blocks are used: the size up
to which blocks are searched is the largest that stays within BUDGET pairs per class. Of the pairs found, those that
share most information are compared.

What a rule, and all of them together, would lose follows from the model of how values of one person differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from privet.attacks.linkage.agreement import Comparer, Sides
from privet.attacks.linkage.join import JoinClasses, Pairs, distinct
from privet.typing import Floats, Integers, Truths

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024)  # of blocks
BUDGET = 50  # pairs of a class, in the mean
COMPARED = 20  # of these
TRIED = 400  # classes on which the size of blocks is chosen
MOST_COLUMNS, MOST_IN_THREES = 10, 6
AT_ONCE = 1 << 25  # pairs that are kept before those found twice are dropped
FEWEST_BLOCKS = 1 << 16  # so that few of them have one number
MIXER = 0x9E3779B97F4A7C15

Rule = tuple[tuple[int, int], ...]  # columns, each with 0 for the whole value, 1 and 2 for its parts


@dataclass(slots=True, eq=False)
class Blocking:
    """Rules, and the largest block that is searched. `features[column][part][side]` has a number for each class."""

    comparer: Comparer
    features: list[list[tuple[Integers, Integers]]] = field(init=False)
    rules: list[Rule] = field(init=False)
    size: int = field(init=False, default=SIZES[0])
    _information: list[list[Floats]] = field(init=False)

    def __post_init__(self) -> None:
        self.features, self._information = [], []
        ours, theirs = self.comparer.tables
        for at, column in enumerate(self.comparer.columns):
            parts = [(column.ids[0][ours.codes[:, at]], column.ids[1][theirs.codes[:, at]])]
            parts += [(one[ours.codes[:, at]], other[theirs.codes[:, at]]) for one, other in column.parts]
            self.features.append(parts)
            self._information.append([_information(part, (ours, theirs)) for part in parts])
        self.rules = _rules(self.features, self.comparer.tables)

    def fit(self, rows: Integers) -> None:
        """Chooses the size of blocks, on some of these classes of the released table."""
        some, every = rows[:: max(1, len(rows) // TRIED)], np.arange(len(self.comparer.tables[1]))
        found = [
            (size, pairs)
            for rule in self.rules
            for size, pairs in (self._block((0, 1), rule, (some, every), SIZES[-1]),)
        ]
        sizes = np.concatenate([np.zeros(0, np.int64), *(size for size, _ in found)])
        keys = np.concatenate([np.zeros(0, np.int64), *(pairs for _, pairs in found)])
        order = np.argsort(sizes, kind="stable")
        first = np.unique(keys[order], return_index=True)[1]  # of each pair, by its smallest block
        at = np.sort(sizes[order][first])
        for size in SIZES:
            if np.searchsorted(at, size, side="right") > BUDGET * max(len(some), 1):
                break
            self.size = size

    def pairs(self, sides: Sides, rows: Integers, others: Integers) -> Pairs:
        """Pairs of these classes of the left side with others of the right side, those that share most."""
        width = len(self.comparer.tables[sides[1]])
        found, waiting = [np.zeros(0, np.int64)], 0
        for rule in self.rules:
            found.append(self._block(sides, rule, (rows, others), self.size)[1])
            waiting += len(found[-1])
            if waiting > AT_ONCE:
                found, waiting = [distinct(np.concatenate(found))], 0
        keys = distinct(np.concatenate(found))
        one, other = keys // width, keys % width
        if sides[0] == sides[1]:
            one, other = one[one != other], other[one != other]
        return self._best(sides, one, other)

    def _block(self, sides: Sides, rule: Rule, parts: Pairs, most: int) -> tuple[Integers, Integers]:
        """The sizes of blocks of `most` classes or fewer, and their pairs as one number each."""
        rows, others = parts
        mine, theirs = (self.hash(rule, side)[part] for side, part in zip(sides, parts, strict=True))
        count = np.bincount(theirs[theirs >= 0], minlength=self.buckets)
        size = np.where(mine >= 0, count[mine], 0)
        use = (size > 0) & (size <= most)
        wanted = np.zeros(len(count), np.bool_)
        wanted[mine[use]] = True
        there = np.flatnonzero((theirs >= 0) & wanted[theirs])
        there = there[np.argsort(theirs[there], kind="stable")]
        number = size[use]
        start = np.searchsorted(theirs[there], mine[use]) - (np.cumsum(number) - number)
        place = np.arange(int(number.sum())) + np.repeat(start, number)
        width = len(self.comparer.tables[sides[1]])
        return np.repeat(number, number), np.repeat(rows[use], number) * width + others[there[place]]

    @property
    def buckets(self) -> int:
        return max(FEWEST_BLOCKS, 1 << int(np.ceil(np.log2(4 * max(map(len, self.comparer.tables)) + 4))))

    def hash(self, rule: Rule, side: int) -> Integers:
        """The number of each class's block, -1 if it has no value there."""
        classes = len(self.comparer.tables[side])
        key, missing = np.zeros(classes, np.uint64), np.zeros(classes, np.bool_)
        for column, part in rule:
            numbers = self.features[column][part][side]
            key = (key ^ numbers.astype(np.uint64)) * np.uint64(MIXER)
            key ^= key >> np.uint64(29)
            missing |= numbers < 0
        found = (key & np.uint64(self.buckets - 1)).astype(np.int64)
        found[missing] = -1
        return found

    def shared(self, sides: Sides, one: Integers, other: Integers) -> Floats:
        """The information that each pair shares: of the whole values where they agree, else of their parts."""
        total = np.zeros(len(one))
        for parts, information in zip(self.features, self._information, strict=True):
            gain = np.zeros(len(one))
            for part, bits in zip(parts[::-1], information[::-1], strict=True):
                number = part[sides[0]][one]
                same = (number == part[sides[1]][other]) & (number >= 0)
                gain = np.where(same, np.maximum(gain, bits[np.maximum(number, 0)]), gain)
            total += gain
        return np.round(total, 6)  # whatever the order of columns

    def _best(self, sides: Sides, one: Integers, other: Integers) -> Pairs:
        order = np.lexsort((other, -self.shared(sides, one, other), one))
        one, other = one[order], other[order]
        rank = np.arange(len(one)) - np.searchsorted(one, one)
        return one[rank < COMPARED], other[rank < COMPARED]

    def searched(self, rule: Rule) -> Truths:
        """Which released classes this rule puts into a block that is small enough."""
        ours, theirs = self.hash(rule, 0), self.hash(rule, 1)
        count = np.bincount(theirs[theirs >= 0], minlength=self.buckets)
        return np.asarray((ours >= 0) & (count[np.maximum(ours, 0)] <= self.size))

    def agree(self, rule: Rule, one: Integers, other: Integers) -> Truths:
        """Which pairs of the two tables this rule finds."""
        found = self.searched(rule)[one]
        for column, part in rule:
            ours, theirs = self.features[column][part]
            found &= ours[one] == theirs[other]
        return found

    def words(self, rule: Rule) -> str:
        """Such as `surname and first letters of street`."""
        names = [column.name for column in self.comparer.columns]
        part_words = ("{}", "start of {}", "end of {}")
        return " and ".join(part_words[part].format(names[column]) for column, part in rule)


def _information(part: tuple[Integers, Integers], tables: tuple[JoinClasses, JoinClasses]) -> Floats:
    """-log of the share of people with each number."""
    size = int(max(part[0].max(initial=0), part[1].max(initial=0))) + 1
    count = sum(
        np.bincount(number[number >= 0], table.people[number >= 0], size)
        for number, table in zip(part, tables, strict=True)
    )
    return np.asarray(-np.log(np.maximum(count - 1, 0.5) / max(float(np.sum(count)), 1.0)))


def _rules(features: list[list[tuple[Integers, Integers]]], tables: tuple[JoinClasses, JoinClasses]) -> list[Rule]:
    """From the columns that tell people apart best."""
    alike = []
    for parts in features:
        bits = _information(parts[0], tables)
        alike.append(float((np.exp(-bits) ** 2).sum()))
    best = [at for at in np.argsort(alike, kind="stable").tolist() if alike[at] < 1][:MOST_COLUMNS]
    rules: list[Rule] = [((at, 0),) for at in best]
    rules += [((one, 0), (other, 0)) for one, other in combinations(best, 2)]
    for part in (1, 2):
        cut = {at: part if len(features[at]) > part else 0 for at in best}
        rules += [((a, cut[a]), (b, cut[b])) for a, b in combinations(best, 2) if cut[a] or cut[b]]
    start = {at: min(1, len(features[at]) - 1) for at in best}
    rules += [tuple((at, start[at]) for at in some) for some in combinations(best[:MOST_IN_THREES], 3)]
    return list(dict.fromkeys(rules))
