"""Records counted by what they look like: the distinct combinations of values, and how many records have each.

Everything that a search asks is asked of these counts, so records are looked at once. A table at one node is counted
from the table of any node below it (roll-up), and the smaller that is, the faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.anonymize.hierarchy import Hierarchy
from privet.anonymize.utility import Classes, Node
from privet.typing import Integers, Truths

Places = npt.NDArray[np.integer]
Group = npt.NDArray[np.intp]
Keys = npt.NDArray[np.int64] | npt.NDArray[np.uint32]
LARGEST = 2**62  # of a packed key
DENSE = 2**16  # cells that are always counted one by one; beyond, only if they are not much more than the rows


@dataclass(frozen=True)
class Frequencies:
    """Distinct rows at a node, sorted by class. `columns` are the quasi-identifiers at the node's levels, then the
    sensitive columns; row r has the value `columns[i][rows[r]]`, and `weights[r]` records are such a row. `starts` has
    the first row of each class."""

    node: Node
    columns: tuple[Places, ...]
    rows: Group
    weights: Integers

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def plain(self) -> Frequencies:
        """The same with columns of its own."""
        return Frequencies(self.node, tuple(one[self.rows] for one in self.columns), _all(self.weights), self.weights)

    @property
    def sensitive(self) -> int:
        """The number of sensitive columns."""
        return len(self.columns) - len(self.node)

    def secret(self, place: int) -> Places:
        """The value of each row in a sensitive column."""
        return self.columns[len(self.node) + place][self.rows]

    @cached_property
    def starts(self) -> Group:
        if not self.sensitive:
            return _all(self.weights)
        new = np.zeros(len(self), dtype=np.bool_)
        new[0] = True
        for one in self.columns[: len(self.node)]:
            new |= _changes(one[self.rows])
        return np.flatnonzero(new)

    @cached_property
    def classes(self) -> Classes:
        sizes = np.add.reduceat(self.weights, self.starts) if self.sensitive else self.weights
        return Classes(self.node, sizes, self.columns[: len(self.node)], self.rows[self.starts])

    @cached_property
    def member(self) -> Group:
        """The class of each row."""
        first = np.zeros(len(self), dtype=np.intp)
        first[self.starts[1:]] = 1
        return np.cumsum(first)


def packed(columns: Sequence[Places], sizes: Sequence[int]) -> tuple[Keys, int, bool]:
    """One number for each row, that of its values in mixed radix; how many there could be; and whether the values can
    be read off it again. Where the numbers would not fit, those met so far are numbered anew."""
    possible = prod(sizes)
    kind = np.uint32 if possible <= 2**32 else np.int64  # half the size is sorted in half the time
    key: npt.NDArray[Any] = np.zeros(len(columns[0]), dtype=kind)
    radix, plain = 1, True
    for column, size in zip(columns, sizes, strict=True):
        if size == 1:
            continue
        if radix * size > LARGEST:
            distinct, key = np.unique(key, return_inverse=True)
            radix, plain = len(distinct), False
        key *= kind(size)
        np.add(key, column, out=key, casting="unsafe")  # no value is negative
        radix *= size
    return key, radix, plain


def unpacked(key: npt.NDArray[np.integer], sizes: Sequence[int]) -> tuple[Places, ...]:
    """The values that `packed` put together."""
    values = []
    for size in reversed(sizes):
        if size == 1:
            values.append(np.zeros(len(key), dtype=np.int32))
            continue
        key, value = np.divmod(key, key.dtype.type(size))
        values.append(value.astype(np.int32))
    return tuple(reversed(values))


def counted(columns: Sequence[Places], sizes: Sequence[int], quasi: int) -> Frequencies:
    """The records, counted: of these columns, with so many possible values each, the first are quasi-identifiers."""
    key, _, plain = packed(columns, sizes)
    if plain:
        key.sort()
        starts = np.flatnonzero(_changes(key))
        values = unpacked(key[starts], sizes)
    else:
        order = np.argsort(key, kind="stable")
        starts = np.flatnonzero(_changes(key[order]))
        values = tuple(column[order[starts]].astype(np.int32) for column in columns)
    weights = np.diff(starts, append=len(key)).astype(np.int64)
    return Frequencies((0,) * quasi, values, _all(weights), weights)


def _all(values: npt.NDArray[np.generic]) -> Group:
    return np.arange(len(values))


def _changes(values: npt.NDArray[np.generic]) -> Truths:
    """Where a value differs from the one before; the first always does."""
    found = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


class FrequencyLevels:
    """For each quasi-identifier and two of its levels, which group of the upper one holds each group of the lower."""

    def __init__(self, hierarchies: Sequence[Hierarchy]) -> None:
        self.heights = tuple(one.height for one in hierarchies)
        self.sizes = [[len(one.labels(level)) for level in range(one.height)] for one in hierarchies]
        self._hierarchies = hierarchies
        self._maps: dict[tuple[int, int, int], Places] = {}

    def between(self, place: int, lower: int, upper: int) -> Places:
        if (place, lower, upper) not in self._maps:
            one = self._hierarchies[place]
            found = np.zeros(self.sizes[place][lower], dtype=np.int32)
            found[one.grouping(lower)] = one.grouping(upper)
            self._maps[place, lower, upper] = found
        return self._maps[place, lower, upper]

    def rolled(self, table: Frequencies, node: Node, kinds: Sequence[int]) -> Frequencies:
        """The table at a node above its own. `kinds` says how many values each sensitive column has."""
        columns: list[Places] = []
        for place, (lower, upper) in enumerate(zip(table.node, node, strict=True)):
            old = table.columns[place]
            columns.append(old if lower == upper else self.between(place, lower, upper)[old])
        columns += table.columns[len(node) :]
        sizes = [*(size[level] for size, level in zip(self.sizes, node, strict=True)), *kinds]
        key, radix, _ = packed(columns, sizes)
        rows, weights = _summed(key, radix, table.weights)
        return Frequencies(node, tuple(columns), rows, weights)


def _summed(key: Keys, radix: int, weights: Integers) -> tuple[Group, Integers]:
    """A row for each key, in rising order of keys, and the sum of the weights of all rows that have it."""
    if radix <= max(DENSE, 4 * len(key)):
        sums = np.bincount(key, weights=weights, minlength=radix)
        there = np.flatnonzero(sums)
        some = np.empty(radix, dtype=np.intp)
        some[key] = _all(key)
        return some[there], sums[there].astype(np.int64)
    bits = len(key).bit_length()
    if radix << bits <= LARGEST:  # sorting numbers is much faster than sorting places by numbers
        both = key.astype(np.int64) << bits | _all(key)
        both.sort()
        order, key = both & ((1 << bits) - 1), both >> bits
    else:
        order = np.argsort(key)
        key = key[order]
    starts = np.flatnonzero(_changes(key))
    return order[starts], np.add.reduceat(weights[order], starts)
