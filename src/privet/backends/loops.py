"""The compiled loops of `kernel`. Importing this file imports numba, so `kernel` does it late.

Rows are first put into buckets, all rows of a unit into one; then each bucket is bounded by itself. What a unit keeps
is decided by a keyed hash of its own content, so neither the order of rows nor who else is there plays a part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

from privet.core.claim import claim

Loop = TypeVar("Loop", bound=Callable[..., Any])
Whole = npt.NDArray[np.int64]
Values = npt.NDArray[np.int32] | npt.NDArray[np.int64]  # a row for each value
Bits = npt.NDArray[np.uint64]

FIRST, SECOND = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)  # odd, so nothing is lost
SHIFT, LOW, HALF = np.uint64(33), np.int64(0xFFFFFFFF), np.int64(32)
FEW = 24  # up to here the simple sort is the fastest
FREE, NOTHING = np.int32(-1), np.uint64(0)


def compiled(loop: Loop) -> Loop:
    """Machine code that other threads can run beside, kept on disk where there is a place for it."""
    try:
        return cast(Loop, numba.njit(nogil=True, cache=True)(loop))
    except RuntimeError:  # no folder to keep it in
        return cast(Loop, numba.njit(nogil=True)(loop))


@compiled
def mixed(number: np.uint64, key: np.uint64) -> np.uint64:
    """A keyed one-to-one map of 64 bits that leaves no pattern: two rounds of a multiplicative mixer."""
    number = (number ^ key) * FIRST
    number = (number ^ (number >> SHIFT)) * SECOND
    number = (number ^ (number >> SHIFT)) + key
    number = number * FIRST
    number = (number ^ (number >> SHIFT)) * SECOND
    return number ^ (number >> SHIFT)


@compiled
def spread(number: np.int64, key: np.uint64) -> np.uint64:
    """One round of it: enough for tables in memory, which decide nothing."""
    bits = (np.uint64(number) ^ key) * FIRST
    bits = (bits ^ (bits >> SHIFT)) * SECOND
    return bits ^ (bits >> SHIFT)


@compiled
def places(unit: Whole, cell: npt.NDArray[np.int32], key: np.uint64, starts: Whole) -> npt.NDArray[np.int32]:
    """Where each row goes so that buckets lie side by side, and in `starts` where they begin; -1 if in no cell."""
    buckets = np.uint64(len(starts) - 2)  # a power of two, less one
    place = np.empty(len(unit), np.int32)
    for row in range(len(unit)):
        if cell[row] >= 0:
            starts[np.int64(spread(unit[row], key) & buckets) + 1] += 1
    for bucket in range(1, len(starts)):
        starts[bucket] += starts[bucket - 1]
    free = starts.copy()
    for row in range(len(unit)):
        if cell[row] >= 0:
            own = np.int64(spread(unit[row], key) & buckets)
            place[row] = free[own]
            free[own] += 1
        else:
            place[row] = -1
    return place


@compiled
def scattered(column: npt.NDArray[Any], place: npt.NDArray[np.int32], result: npt.NDArray[Any]) -> None:
    """The column with each row where it goes."""
    for row in range(len(column)):
        if place[row] >= 0:
            result[place[row]] = column[row]


@compiled
def by_unit(unit: Whole, key: np.uint64) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The rows of a bucket in an order that has each unit's rows side by side, and where each unit begins."""
    size = 16
    while size < 2 * len(unit):
        size *= 2
    table, mask = np.full(size, FREE), np.uint64(size - 1)  # a number of a unit, at the first free place after its hash
    code, known = np.empty(len(unit), np.int32), np.empty(len(unit), np.int64)
    starts = np.zeros(len(unit) + 2, np.int32)
    units = 0
    for row in range(len(unit)):
        spot = spread(unit[row], key) >> np.uint64(32) & mask
        while table[spot] != FREE and known[table[spot]] != unit[row]:  # told apart by value, never by hash
            spot = spot + np.uint64(1) & mask
        if table[spot] == FREE:
            table[spot] = units
            known[units] = unit[row]
            units += 1
        code[row] = table[spot]
        starts[code[row] + 2] += 1
    for number in range(2, units + 2):
        starts[number] += starts[number - 1]
    order = np.empty(len(unit), np.int32)
    for row in range(len(unit)):
        order[starts[code[row] + 1]] = row
        starts[code[row] + 1] += 1
    return order, starts[: units + 1]


@compiled
def before(one: int, two: int, key: Bits, values: Values, width: int) -> bool:
    """By the key, then by so many of the values."""
    if key[one] != key[two]:
        return bool(key[one] < key[two])
    for place in range(width):
        if values[place, one] != values[place, two]:
            return bool(values[place, one] < values[place, two])
    return False


@compiled
def sort(  # noqa: PLR0913, PLR0917  slices would be objects to make and count
    rows: npt.NDArray[np.int32], begin: int, end: int, key: Bits, values: Values, width: int
) -> None:
    """From begin to end, in place: by insertion where there are few, otherwise a heap sort, which has no slow cases."""
    if end - begin <= FEW:
        for place in range(begin + 1, end):
            row, spot = rows[place], place
            while spot > begin and before(row, rows[spot - 1], key, values, width):
                rows[spot] = rows[spot - 1]
                spot -= 1
            rows[spot] = row
        return
    heap = rows[begin:end]
    for root in range(len(heap) // 2 - 1, -1, -1):
        sink(heap, root, len(heap), key, values, width)
    for last in range(len(heap) - 1, 0, -1):
        heap[0], heap[last] = heap[last], heap[0]
        sink(heap, 0, last, key, values, width)


@compiled
def sink(  # noqa: PLR0913, PLR0917
    heap: npt.NDArray[np.int32], root: int, end: int, key: Bits, values: Values, width: int
) -> None:
    """Make a heap of which only the root may be too small."""
    row = heap[root]
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and before(heap[child], heap[child + 1], key, values, width):
            child += 1
        if not before(row, heap[child], key, values, width):
            break
        heap[root] = heap[child]
        root = child
    heap[root] = row


@compiled
def add(totals: Whole, cell: int, values: Values, row: int, ends: Whole) -> None:
    """One row. Values are clamped here, last before they are summed; a sum has two limbs, the upper one signed."""
    totals[cell, 0] += 1
    for place in range(values.shape[0]):
        value = np.int64(values[place, row])
        if value != ends[0, place]:
            value = min(max(value, ends[0, place] + 1), ends[1, place])
            totals[cell, 3 * place + 1] += 1
            totals[cell, 3 * place + 2] += value & LOW
            totals[cell, 3 * place + 3] += value >> HALF


@claim("bounding-kernel")
@compiled
def bounded(  # noqa: PLR0913, PLR0917  compiled code takes arrays, not objects
    unit: Whole, salt: Bits, cell: npt.NDArray[np.int32], extra: Bits, values: Values,
    keys: Bits, limits: tuple[int, int], ends: Whole, totals: Whole,
) -> None:  # fmt: skip
    """Add the bounded rows of one bucket to `totals`, see `kernel.add`. `ends`: one below the lowest, and the highest.

    For one unit the hash of a cell is another one for each cell, so its rows can be sorted by it alone.
    """
    key, width = np.empty(len(unit), np.uint64), values.shape[0]
    order, starts = by_unit(unit, keys[0])
    for number in range(len(starts) - 1):
        end, last, cells = starts[number], starts[number + 1], 0
        own = mixed(salt[order[end]], keys[1])
        for place in range(end, last):
            key[order[place]] = mixed(np.uint64(cell[order[place]]), own)
        sort(order, end, last, key, values, 0)
        while end < last and cells < limits[0]:
            begin, here, cells = end, cell[order[end]], cells + 1
            while end < last and cell[order[end]] == here:
                end += 1
            if end - begin > limits[1]:
                for place in range(begin, end):
                    row = order[place]
                    key[row] = mixed(extra[row] if len(extra) > 0 else NOTHING, key[row] ^ keys[2])
                    for column in range(width):
                        key[row] = mixed(np.uint64(np.int64(values[column, row])), key[row])
                sort(order, begin, end, key, values, width)
            for place in range(begin, min(end, begin + limits[1])):
                add(totals, here, values, order[place], ends)
