"""The compiled loops of `kernel`. Importing this file imports numba, so `kernel` does it late.

Rows are first put into buckets, all rows of a unit into one; then each bucket is bounded by itself. What a unit keeps
is decided by a keyed hash of its own content, so neither the order of rows nor who else is there plays a part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privet.core.claim import claim
from privet.machine_code import compiled
from privet.typing import Integers, Truths

Values = npt.NDArray[np.int32] | npt.NDArray[np.int64]  # a row for each value
Bits = npt.NDArray[np.uint64]

FIRST, SECOND = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)  # odd, so nothing is lost
SHIFT, LOW, HALF = np.uint64(33), np.int64(0xFFFFFFFF), np.int64(32)
FEW = 24  # up to here the simple sort is the fastest
FREE, NOTHING = np.int32(-1), np.uint64(0)


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
def numbered(unit: Integers, cell: npt.NDArray[np.int32], key: np.uint64, counts: Integers) -> npt.NDArray[np.uint16]:
    """The bucket of each row; in `counts`, after a 0, how many rows each has. What is in no cell is beyond the last."""
    buckets = len(counts) - 1  # a power of two
    number = np.empty(len(unit), np.uint16)
    for row in range(len(unit)):
        if cell[row] >= 0:
            number[row] = spread(unit[row], key) & np.uint64(buckets - 1)
            counts[number[row] + 1] += 1
        else:
            number[row] = buckets
    return number


@compiled
def scattered(
    column: npt.NDArray[Any], number: npt.NDArray[np.uint16], free: Integers, result: npt.NDArray[Any]
) -> None:
    """Each row of the column to the first free place of its bucket."""
    for row in range(len(column)):
        if number[row] < len(free) - 1:
            result[free[number[row]]] = column[row]
            free[number[row]] += 1


@compiled
def by_unit(unit: Integers, key: np.uint64) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
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
def before(one: int, two: int, cell: npt.NDArray[np.int32], values: Values, width: int) -> bool:
    """Of two rows with the same key: by cell, then by so many of the values."""
    if cell[one] != cell[two]:
        return bool(cell[one] < cell[two])
    for place in range(width):
        if values[place, one] != values[place, two]:
            return bool(values[place, one] < values[place, two])
    return False


@compiled
def sort(  # noqa: PLR0913, PLR0917  slices would be objects to make and count
    key: Bits,
    rows: npt.NDArray[np.int32],
    begin: int,
    end: int,
    cell: npt.NDArray[np.int32],
    values: Values,
    width: int,
) -> None:
    """Keys and their rows from begin to end, in place: by insertion where there are few, otherwise a heap sort, which
    has no slow cases."""
    if end - begin <= FEW:
        for place in range(begin + 1, end):
            own, row, spot = key[place], rows[place], place
            while spot > begin and (
                own < key[spot - 1] or (own == key[spot - 1] and before(row, rows[spot - 1], cell, values, width))
            ):
                key[spot], rows[spot] = key[spot - 1], rows[spot - 1]
                spot -= 1
            key[spot], rows[spot] = own, row
        return
    keys, heap = key[begin:end], rows[begin:end]
    for root in range(len(heap) // 2 - 1, -1, -1):
        sink(keys, heap, root, len(heap), cell, values, width)
    for last in range(len(heap) - 1, 0, -1):
        keys[0], keys[last] = keys[last], keys[0]
        heap[0], heap[last] = heap[last], heap[0]
        sink(keys, heap, 0, last, cell, values, width)


@compiled
def sink(  # noqa: PLR0913, PLR0917
    keys: Bits,
    heap: npt.NDArray[np.int32],
    root: int,
    end: int,
    cell: npt.NDArray[np.int32],
    values: Values,
    width: int,
) -> None:
    """Make a heap of which only the root may be too small."""
    own, row = keys[root], heap[root]
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and (
            keys[child] < keys[child + 1]
            or (keys[child] == keys[child + 1] and before(heap[child], heap[child + 1], cell, values, width))
        ):
            child += 1
        if own > keys[child] or (own == keys[child] and not before(row, heap[child], cell, values, width)):
            break
        keys[root], heap[root] = keys[child], heap[child]
        root = child
    keys[root], heap[root] = own, row


@claim("clamped-at-the-sum")
@compiled
def add(totals: Integers, cell: int, values: Values, row: int, ends: Integers) -> None:
    """One row. Values are clamped here, last before they are summed; a sum has two limbs, the upper one signed."""
    totals[cell, 0] += 1
    for place in range(ends.shape[1]):
        value = np.int64(values[place, row])
        if value != ends[0, place]:
            value = min(max(value, ends[0, place] + 1), ends[1, place])
            totals[cell, 3 * place + 2] += 1
            totals[cell, 3 * place + 3] += value & LOW
            totals[cell, 3 * place + 4] += value >> HALF


@compiled
def heaped(  # noqa: PLR0913, PLR0917
    cell: npt.NDArray[np.int32], order: npt.NDArray[np.int32], begin: int, last: int, level: int, groups: int
) -> int:
    """How many rows of a unit, side by side by cell, are left when each of its first cells has at most `level`."""
    rows = size = cells = 0
    for place in range(begin, last):
        if place == begin or cell[order[place]] != cell[order[place - 1]]:
            cells, size = cells + 1, 0
            if cells > groups:
                break
        size += 1
        if size <= level:
            rows += 1
    return rows


@compiled
def turns(
    cell: npt.NDArray[np.int32], order: npt.NDArray[np.int32], begin: int, last: int, limits: tuple[int, int, int]
) -> tuple[int, int]:
    """How many rows each cell of a unit has when cells take turns, and how many cells have one more."""
    low, high = 0, min(limits[1], last - begin)
    if heaped(cell, order, begin, last, high, limits[0]) <= limits[2]:
        return high, 0
    while high - low > 1:  # low fits and high does not
        middle = (low + high) // 2
        if heaped(cell, order, begin, last, middle, limits[0]) <= limits[2]:
            low = middle
        else:
            high = middle
    return low, limits[2] - heaped(cell, order, begin, last, low, limits[0])


@claim("bounding-kernel")
@compiled
def bounded(  # noqa: PLR0913, PLR0917  compiled code takes arrays, not objects
    unit: Integers, salt: Bits, cell: npt.NDArray[np.int32], extra: Bits, values: Values,
    keys: Bits, labels: Bits, limits: tuple[int, int, int], ends: Integers, totals: Integers, kept: Truths,
) -> None:  # fmt: skip
    """Add the bounded rows of one bucket to `totals`, see `kernel.add`. `limits`: groups, rows in each, rows in all;
    `ends`: one below the lowest, and the highest.

    For one unit the hash of a public cell is another one for each cell. Labels of other cells may collide, so rows are
    sorted by hash and cell.
    """
    key, width = np.empty(len(unit), np.uint64), values.shape[0]
    order, starts = by_unit(unit, keys[0])
    for number in range(len(starts) - 1):
        end, last, cells = starts[number], starts[number + 1], 0
        own = mixed(salt[order[end]], keys[1])
        for place in range(end, last):
            here = cell[order[place]]
            key[place] = mixed(labels[here] if len(labels) > 0 else np.uint64(here), own)
        sort(key, order, end, last, cell, values, 0)
        level, more = limits[1], 0
        if last - end > limits[2]:
            level, more = turns(cell, order, end, last, limits)
        while end < last and cells < limits[0]:
            begin, here, cells = end, cell[order[end]], cells + 1
            while end < last and cell[order[end]] == here:
                end += 1
            stay = min(end - begin, level)
            if more > 0 and end - begin > level:
                stay, more = stay + 1, more - 1
            if end - begin > stay:
                for place in range(begin, end):
                    row = order[place]
                    key[place] = mixed(extra[row] if len(extra) > 0 else NOTHING, key[place] ^ keys[2])
                    for column in range(width):
                        key[place] = mixed(np.uint64(np.int64(values[column, row])), key[place])
                sort(key, order, begin, end, cell, values, width)
            if stay > 0:
                totals[here, 1] += 1
            for place in range(begin, begin + stay):
                add(totals, here, values, order[place], ends)
                if len(kept) > 0:
                    kept[order[place]] = True
