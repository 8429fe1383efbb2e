"""All pairs of a released and a known record whose values may be of the same person.

Records with the same values in the compared columns are one class, so a pair of classes stands for many pairs. Classes
are joined by the numbers of their blocks (values that overlap are in one block) on sorted keys. Where blocks are large
because ranges overlap in chains, as after Mondrian, they are split along the column that separates best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from privet.attacks.linkage.axis import LinkAxis
from privet.records.microdata import Microdata
from privet.typing import Integers, Truths

Pairs = tuple[Integers, Integers]  # released and known classes, side by side
AT_A_TIME = 1 << 22  # pairs that are compared in one go
LEAF = 1 << 16  # pairs of a block that is not worth splitting
MOST_PAIRS = 20_000_000  # of classes, that are kept
MOST_JOINS = 100  # of records that are silent in the same columns, with people of whom the same is missing
WORTH_SPLITTING = 50_000_000  # candidates of a join by blocks
GAIN = 0.8  # a split that leaves more than this share of the pairs is none
KEYS = 2**62


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JoinClasses:
    """Records with the same values: `codes` has a row a class, a column an axis; `of` is the class of each record."""

    codes: Integers
    of: Integers
    people: Integers

    def __len__(self) -> int:
        return len(self.people)


def classes(data: Microdata, names: Sequence[str]) -> JoinClasses:
    key, size = np.zeros(len(data), np.int64), 1
    for name in names:
        column = data[name]
        if size * max(len(column.texts), 1) >= KEYS:
            key = np.unique(key, return_inverse=True)[1]
            size = len(data)
        key = key * len(column.texts) + column.codes
        size *= max(len(column.texts), 1)
    _, first, of, people = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)  # by their first record, whatever the order of columns
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    codes = np.stack([data[name].codes[first[order]].astype(np.int64) for name in names], axis=1)
    return JoinClasses(codes=codes, of=place[of], people=people[order])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkJoin:
    """Consistent pairs of classes. `crowded` released classes have more than can be listed. For `skipped` ones not all
    pairs were looked for: too many different columns are missing."""

    released: Integers
    known: Integers
    crowded: Truths
    skipped: Truths


class Join:
    """Two tables of classes on the same axes. What is prepared once serves several joins."""

    def __init__(self, axes: Sequence[LinkAxis], released: JoinClasses, known: JoinClasses) -> None:
        self.axes, self.released, self.known = axes, released, known
        blocks = [axis.blocks() for axis in axes]
        self._blocks = (
            np.stack([block[released.codes[:, at]] for at, (block, _) in enumerate(blocks)], axis=1),
            np.stack([block[known.codes[:, at]] for at, (_, block) in enumerate(blocks)], axis=1),
        )
        self._free = tuple(blocks < 0 for blocks in self._blocks)

    def all_agree(self) -> LinkJoin:
        """Pairs that overlap on every axis. A class that says nothing at all is crowded without a look."""
        found: list[Pairs] = []
        crowded: Truths = np.asarray(self._free[0].all(axis=1), np.bool_)
        skipped = np.zeros(len(crowded), np.bool_)
        joins = sorted(self._patterns(), key=lambda some: -len(some[0]) * len(some[2]))
        for rows, _, _ in joins[MOST_JOINS:]:
            skipped[rows] = True
        for rows, columns, others in joins[:MOST_JOINS]:
            room = MOST_PAIRS - sum(len(one) for one, _ in found)
            found += self._joined(rows[~crowded[rows]], others, columns, crowded, room)
        one, other = _together(found)
        fine = ~crowded[one]
        return LinkJoin(released=one[fine], known=other[fine], crowded=crowded, skipped=skipped)

    def _patterns(self) -> Iterator[tuple[Integers, list[int], Integers]]:
        """Released rows, known rows, and the columns in which all of both have something to say."""
        ours, theirs = (_by_pattern(free) for free in self._free)
        for silent, rows in ours:
            for mute, others in theirs:
                yield rows, [at for at in range(len(self.axes)) if not (silent[at] or mute[at])], others

    def _joined(self, rows: Integers, others: Integers, columns: list[int], crowded: Truths, room: int) -> list[Pairs]:
        """Pairs of these that overlap in these columns. Whose pairs find no room is marked as crowded."""
        one, other = self._keys(rows, others, columns)
        if _size(one, other) <= min(WORTH_SPLITTING, room):
            return [self._checked(left, right, columns) for left, right in _expanded(rows, others, one, other)]
        found: list[Pairs] = []
        for some, several in self._leaves(rows, others, one, other, columns):
            if len(some) * len(several) > max(LEAF, room):
                crowded[some] = True
                continue
            pairs = self._checked(np.repeat(some, len(several)), np.tile(several, len(some)), columns)
            found.append(pairs)
            room -= len(pairs[0])
        return [_distinct(found, len(self.known))]

    def _keys(self, rows: Integers, others: Integers, columns: list[int]) -> Pairs:
        one, other = np.zeros(len(rows), np.int64), np.zeros(len(others), np.int64)
        size = 1
        parts = [(self._blocks[0][rows, at], self._blocks[1][others, at]) for at in columns]
        for ours, theirs in parts:
            width = 1 + max(ours.max(initial=0), theirs.max(initial=0))
            if size * int(width) >= KEYS:
                both = np.unique(np.concatenate([one, other]), return_inverse=True)[1]
                one, other, size = both[: len(one)], both[len(one) :], len(both)
            one, other, size = one * width + ours, other * width + theirs, size * int(width)
        return one, other

    def _checked(self, left: Integers, right: Integers, columns: list[int]) -> Pairs:
        for at in columns:
            fits = self.axes[at].overlap(self.released.codes[left, at], self.known.codes[right, at])
            if not fits.all():
                left, right = left[fits], right[fits]
        return left, right

    def _leaves(
        self, rows: Integers, others: Integers, one: Integers, other: Integers, columns: list[int]
    ) -> Iterator[Pairs]:
        """Parts of the two tables, small where splits can make them small. Pairs that overlap meet in some part."""
        heap = list(_same_key(rows, others, one, other))
        while heap:
            some, several = heap.pop()
            if len(some) * len(several) <= LEAF:
                yield some, several
                continue
            splits = [self._halves(some, several, at) for at in columns]
            best = min(splits, key=_pairs_left, default=())
            if not best or _pairs_left(best) > GAIN * len(some) * len(several):
                yield some, several
            else:
                heap += [(a, b) for a, b in best if len(a) and len(b)]

    def _halves(self, some: Integers, several: Integers, at: int) -> tuple[Pairs, ...]:
        """Up to the middle of the column, and above it. A range that reaches over it goes to both."""
        ours, theirs = self.axes[at].released, self.axes[at].known
        mine, other = self.released.codes[some, at], self.known.codes[several, at]
        cut = np.median(theirs.low[other])
        return (
            (some[ours.low[mine] <= cut], several[theirs.low[other] <= cut]),
            (some[ours.high[mine] > cut], several[theirs.high[other] > cut]),
        )


def _pairs_left(halves: Sequence[Pairs]) -> int:
    return sum(len(some) * len(several) for some, several in halves)


def _by_pattern(free: Truths) -> list[tuple[Truths, Integers]]:
    """Rows that are silent in the same columns."""
    if not free.any():
        return [(np.zeros(free.shape[1], np.bool_), np.arange(len(free)))]
    patterns, place = np.unique(free, axis=0, return_inverse=True)
    return [(pattern, np.flatnonzero(place == number)) for number, pattern in enumerate(patterns)]


def _size(one: Integers, other: Integers) -> int:
    """Pairs with the same key."""
    keys, counts = np.unique(other, return_counts=True)
    if not len(keys):
        return 0
    at = np.minimum(np.searchsorted(keys, one), len(keys) - 1)
    return int(counts[at][keys[at] == one].sum())


def _expanded(rows: Integers, others: Integers, one: Integers, other: Integers) -> Iterator[Pairs]:
    """Pairs with the same key, some at a time."""
    order = np.argsort(other, kind="stable")
    start = np.searchsorted(other[order], one, side="left")
    count = np.searchsorted(other[order], one, side="right") - start
    ends = np.cumsum(count)
    done = 0
    while done < len(rows):
        before = int(ends[done - 1]) if done else 0
        stop = max(int(np.searchsorted(ends, before + AT_A_TIME, side="right")), done + 1)
        number = count[done:stop]
        left = np.repeat(rows[done:stop], number)
        offset = np.arange(len(left)) - np.repeat(ends[done:stop] - number - before, number)
        yield left, others[order[np.repeat(start[done:stop], number) + offset]]
        done = stop


def _same_key(rows: Integers, others: Integers, one: Integers, other: Integers) -> Iterator[Pairs]:
    """The two parts of each key that both have."""
    ours, theirs = np.argsort(one, kind="stable"), np.argsort(other, kind="stable")
    keys = np.intersect1d(one, other)
    mine = zip(*(np.searchsorted(one[ours], keys, side) for side in ("left", "right")), strict=True)
    other_ends = zip(*(np.searchsorted(other[theirs], keys, side) for side in ("left", "right")), strict=True)
    for (start, stop), (first, last) in zip(mine, other_ends, strict=True):
        yield rows[ours[start:stop]], others[theirs[first:last]]


def _together(found: list[Pairs]) -> Pairs:
    none = np.zeros(0, np.int64)
    return np.concatenate([none, *(one for one, _ in found)]), np.concatenate([none, *(other for _, other in found)])


def distinct(numbers: Integers) -> Integers:
    """Each number once, sorted. numpy's own unique looks numbers up one by one, which takes 20 times as long."""
    found = np.sort(numbers)
    return found[np.concatenate([[True], found[1:] != found[:-1]])] if len(found) else found


def _distinct(found: list[Pairs], width: int) -> Pairs:
    """Pairs that met in several parts, once."""
    one, other = _together(found)
    keys = distinct(one * width + other)
    return keys // max(width, 1), keys % max(width, 1)
