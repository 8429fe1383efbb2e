"""The compiled loops of `mondrian_cuts`. Importing this file imports numba, so `mondrian_cuts` does it late.

Records lie row by row and are moved, not pointed to: a node of the tree is a range of rows, so that every loop reads
memory from front to back. A row has a rank for each axis, and behind these the codes of sensitive columns.
"""
# ruff: noqa: PLR0913, PLR0917  loops take arrays, not objects

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privet.machine_code import compiled
from privet.typing import Floats, Integers, Words

Rows = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
NONE = -1
SPARSE = 4  # ranks for each row, up to which counting beats sorting


@compiled
def extents(rows: Rows, start: int, end: int, low: Integers, high: Integers) -> None:
    """The lowest and the highest rank on each axis."""
    axes = len(low)
    for axis in range(axes):
        low[axis] = high[axis] = rows[start, axis]
    for row in range(start + 1, end):
        for axis in range(axes):
            rank = np.int64(rows[row, axis])
            if rank < low[axis]:
                low[axis] = rank
            elif rank > high[axis]:
                high[axis] = rank


@compiled
def widest(low: Integers, high: Integers, tried: np.uint64, position: Floats, first: Integers) -> int:
    """The axis, of those not tried, on which the records are farthest apart."""
    best, most = NONE, 0.0
    for axis in range(len(low)):
        if low[axis] < high[axis] and not (tried >> np.uint64(axis)) & np.uint64(1):
            width = position[first[axis] + high[axis]] - position[first[axis] + low[axis]]
            if best == NONE or width > most:
                best, most = axis, width
    return best


@compiled
def tallied(rows: Rows, start: int, end: int, axis: int, low: int, high: int, counts: Integers, ranks: Integers) -> int:
    """The distinct ranks and how often each occurs, in order; returns how many there are."""
    size, found = end - start, 0
    if high - low < SPARSE * size:
        for row in range(start, end):
            counts[np.int64(rows[row, axis]) - low] += 1
        for place in range(high - low + 1):
            count = counts[place]
            counts[place] = 0
            if count:  # what is written is behind what is read, or there
                counts[found], ranks[found] = count, low + place
                found += 1
        return found
    for row in range(start, end):
        ranks[row - start] = rows[row, axis]
    ranks[:size].sort()
    for place in range(size):
        rank = ranks[place]
        if found and ranks[found - 1] == rank:
            counts[found - 1] += 1
        else:
            ranks[found], counts[found] = rank, 1
            found += 1
    return found


@compiled
def joined(groups: Any, size: int, one: int, other: int) -> int:
    """The lowest level, above that of the ground values, at which two ranks are the same; `groups` has one level of
    `size` ranks after another."""
    levels = len(groups) // size
    for level in range(levels):
        if groups[level * size + one] == groups[level * size + other]:
            return level
    return levels


@compiled
def best_cut(ranks: Integers, counts: Integers, found: int, k: int, groups: Any, size: int) -> tuple[int, int]:
    """The last rank of the left half, and how many records it has: of the cuts that leave k on both sides one between
    what is farthest apart in the hierarchy, and of these the one nearest to the median. (NONE, 0) if there is none."""
    records = 0
    for place in range(found):
        records += counts[place]
    cut, left, above, least = NONE, 0, -1, 0
    behind = 0
    for place in range(found - 1):
        behind += counts[place]
        smaller = min(behind, records - behind)
        if smaller >= k:
            apart = joined(groups, size, ranks[place], ranks[place + 1])
            if apart > above or (apart == above and smaller > least):
                cut, left, above, least = ranks[place], behind, apart, smaller
    return cut, left


@compiled
def median(ranks: Integers, counts: Integers, found: int) -> tuple[int, int]:
    """The rank in the middle, and half of the records: those that have this rank go to both sides."""
    records = 0
    for place in range(found):
        records += counts[place]
    half, behind, place = records // 2, counts[0], 0
    while behind < half:
        place += 1
        behind += counts[place]
    return ranks[place], half


@compiled
def divide(rows: Rows, order: Any, start: int, end: int, axis: int, cut: int) -> int:
    """Put what is at most the cut first; returns where the rest begins."""
    left, right = start, end - 1
    while True:
        while left <= right and np.int64(rows[left, axis]) <= cut:
            left += 1
        while left <= right and np.int64(rows[right, axis]) > cut:
            right -= 1
        if left > right:
            return left
        for place in range(rows.shape[1]):
            rows[left, place], rows[right, place] = rows[right, place], rows[left, place]
        order[left], order[right] = order[right], order[left]


@compiled
def split(
    rows: Rows, order: Any, starts: Integers, ends: Integers, tried: Any, k: int, dealing: bool,
    position: Floats, first: Integers, groups: Any, beginnings: Integers, middles: Integers,
) -> None:  # fmt: skip
    """Divide each node that can be divided: `middles` says where its right half starts, or NONE.

    In `tried` an axis is noted that leaves fewer than k records on a side, and the one that was divided on, which is
    not the right one if a half is refused for another reason; `tried[1]` is for dealing out those with the rank in the
    middle, which is tried last. Rank r of axis a is at `position[first[a] + r]`.
    """
    axes, longest = len(first) - 1, 0
    for axis in range(axes):
        longest = max(longest, first[axis + 1] - first[axis])
    counts, ranks = np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64)
    low, high = np.zeros(axes, np.int64), np.zeros(axes, np.int64)
    for node in range(len(starts)):
        start, end = starts[node], ends[node]
        middles[node] = NONE
        if end - start < 2 * k:
            continue
        extents(rows, start, end, low, high)
        while middles[node] == NONE:
            dealt, axis = 0, widest(low, high, tried[0, node], position, first)
            if axis == NONE and dealing:
                dealt, axis = 1, widest(low, high, tried[1, node], position, first)
            if axis == NONE:
                break
            tried[dealt, node] |= np.uint64(1) << np.uint64(axis)
            found = tallied(rows, start, end, axis, low[axis], high[axis], counts, ranks)
            upper = groups[beginnings[axis] : beginnings[axis + 1]]
            if dealt:
                cut, left = median(ranks, counts, found)
            else:
                cut, left = best_cut(ranks, counts, found, k, upper, first[axis + 1] - first[axis])
            counts[:found] = 0
            if cut != NONE:
                middles[node] = start + left
                behind = divide(rows, order, start, end, axis, cut)
                if behind > start + left:  # those with the rank in the middle come last of the left
                    divide(rows, order, start, behind, axis, cut - 1)


@compiled
def count(rows: Rows, starts: Integers, ends: Integers, place: int, tables: Integers) -> None:
    """How often each code of one more column occurs in each node."""
    for node in range(len(starts)):
        for row in range(starts[node], ends[node]):
            tables[node, np.int64(rows[row, place])] += 1


@compiled
def reach(rows: Rows, starts: Integers, ends: Integers, lows: Any, highs: Any) -> None:
    """The lowest and the highest rank of each node on each axis."""
    axes = lows.shape[1]
    low, high = np.zeros(axes, np.int64), np.zeros(axes, np.int64)
    for node in range(len(starts)):
        extents(rows, starts[node], ends[node], low, high)
        for axis in range(axes):
            lows[node, axis], highs[node, axis] = low[axis], high[axis]


@compiled
def listed(rows: Rows, starts: Integers, ends: Integers, axis: int, sets: Words) -> None:
    """The ranks of each node on one axis, a bit each."""
    for node in range(len(starts)):
        bits = np.uint64(0)
        for row in range(starts[node], ends[node]):
            bits |= np.uint64(1) << np.uint64(rows[row, axis])
        sets[node] = bits
