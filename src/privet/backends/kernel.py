"""Bounding in one pass over fetched rows: what `sqlgen` does with window functions, several times faster.

There are two versions that keep the same rows: `_few` in NumPy, and `_many` with compiled loops, which is worth its
start only where there are many rows. So it does not matter for an answer which one runs, and it may depend on the data.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from privet.backends import Task
from privet.backends.rowsql import Rows
from privet.core.claim import claim

Whole = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]
# Where time makes a step, nobody knows exactly: at a known number of rows, one person more would show on a clock.
MOST = 2**25 - secrets.randbelow(2**24)  # rows in memory at a time, about; more are fetched in parts
WORTH_A_START = 500_000 + secrets.randbelow(1_000_000)  # rows from which on it pays to load compiled loops
WORTH_A_CALL = 10_000  # rows from which on they are faster, once they are there
BUCKET = 2**14  # rows that fit a processor's cache
FIRST, SECOND, SHIFT = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53), np.uint64(33)
LOW, HALF = 0xFFFFFFFF, 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Rows as arrays, see `rowsql.Rows`. `salt` is what the hash sees of a unit; `extra` may be empty."""

    unit: Whole
    salt: Bits
    cell: npt.NDArray[np.int32]
    extra: Bits
    values: Sequence[npt.NDArray[Any]]
    missing: Whole
    highest: Whole

    @classmethod
    def of(cls, rows: Rows, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        unit = arrays["u"]
        if len(unit) >= 2**31:  # so that no limb can overflow
            raise OverflowError("too many rows at a time")
        return cls(
            unit=unit,
            salt=arrays["s"] if rows.salted else unit.view(np.uint64),
            cell=arrays["cell"],
            extra=arrays["x"] if rows.extra else np.empty(0, np.uint64),
            values=[arrays[f"w{place}"] for place in range(len(rows.missing))],
            missing=np.array(rows.missing, np.int64),
            highest=np.array(rows.highest, np.int64),
        )


def parts(rows: int) -> int:
    """In how many parts a table of so many rows is fetched."""
    return rows // MOST + 1


def keys_of(secret: bytes) -> Bits:
    """Three keys: for tables in memory, for cells, for rows."""
    return np.frombuffer(hashlib.blake2b(secret, digest_size=24).digest(), np.dtype("<u8")).astype(np.uint64)


def nothing(task: Task, rows: Rows) -> Whole:
    """The totals of no rows: for each cell the rows, then for each value its number and the two limbs of its sum."""
    return np.zeros((task.cells.count, 1 + 3 * len(rows.missing)), np.int64)


@claim("bounding-kernel")
def add(totals: Whole, task: Task, fetched: Fetched) -> None:
    """Add what bounding leaves of the fetched rows. All rows of a unit must be there.

    A sum is the upper limb, times 2**32, and the lower one. Values have less than 63 bits and there are less than 2**31
    of them at a time, so no limb overflows; then what is above 32 bits goes from the lower limb to the upper.
    """
    started = "privet.backends.loops" in sys.modules
    found = loops() if len(fetched.unit) >= (WORTH_A_CALL if started else WORTH_A_START) else None
    if found is None:
        _few(totals, task, fetched)
    else:
        _many(found, totals, task, fetched)
    for place in range(len(fetched.values)):
        low, high = totals[:, 3 * place + 2], totals[:, 3 * place + 3]
        high += low >> HALF
        low &= LOW


def sums(totals: Whole) -> Iterator[list[int]]:
    """For each cell that is not empty: its number, its rows, then for each value its number and sum."""
    for cell in np.flatnonzero(totals[:, 0]).tolist():
        rows, *rest = totals[cell].tolist()
        yield [cell, rows, *(n for i in range(0, len(rest), 3) for n in (rest[i], (rest[i + 2] << HALF) + rest[i + 1]))]


@cache
def loops() -> ModuleType | None:
    """The compiled loops, if there is a compiler for them."""
    try:
        from privet.backends import loops as found  # noqa: PLC0415  slow to import
    except ImportError:
        return None
    return found


def mixed(numbers: Bits, keys: Bits | np.uint64) -> Bits:
    """See `loops.mixed`."""
    numbers = (numbers ^ keys) * FIRST
    numbers = (numbers ^ (numbers >> SHIFT)) * SECOND
    numbers = (numbers ^ (numbers >> SHIFT)) + keys
    numbers = numbers * FIRST
    numbers = (numbers ^ (numbers >> SHIFT)) * SECOND
    return numbers ^ (numbers >> SHIFT)


def _few(totals: Whole, task: Task, fetched: Fetched) -> None:
    """Sort by unit, hash of the cell, cell, hash of the row, values; number the cells of a unit and the rows of a cell;
    keep low numbers. See `loops.bounded`."""
    there, keys = fetched.cell >= 0, keys_of(task.secret)
    unit, cell = fetched.unit[there], fetched.cell[there].astype(np.int64)
    values = [column[there].astype(np.int64) for column in fetched.values]
    group = mixed(cell.astype(np.uint64), mixed(fetched.salt[there], keys[1]))
    extra = fetched.extra[there] if len(fetched.extra) else np.zeros(len(unit), np.uint64)
    bits = mixed(extra, group ^ keys[2])
    for column in values:
        bits = mixed(column.view(np.uint64), bits)
    order = np.lexsort((*values[::-1], bits, cell, group, unit))
    unit, cell = unit[order], cell[order]
    other = np.append(True, unit[1:] != unit[:-1])[: len(unit)]
    begins = other | np.append(True, cell[1:] != cell[:-1])[: len(unit)]
    kept = (_since(np.cumsum(begins), other) < task.bounds.groups) & (
        _since(np.arange(len(unit)), begins) < task.bounds.rows
    )
    cell = cell[kept]
    np.add.at(totals[:, 0], cell, 1)
    for place, column in enumerate(values):
        value = column[order][kept]
        present = value != fetched.missing[place]
        value = np.clip(value, fetched.missing[place] + 1, fetched.highest[place])
        for offset, number in enumerate((present, value & LOW, value >> HALF), start=1):
            np.add.at(totals[:, 3 * place + offset], cell[present], number[present])


def _since(numbers: Whole, begins: npt.NDArray[np.bool_]) -> Whole:
    """Each number less the one where its run begins."""
    first: Whole = numbers[begins][np.cumsum(begins) - 1]
    return numbers - first


def _many(loops: ModuleType, totals: Whole, task: Task, fetched: Fetched) -> None:
    """Rows into buckets, all rows of a unit into one; then each thread takes its share of the buckets."""
    keys, threads = keys_of(task.secret), min(os.cpu_count() or 1, 8)
    buckets = 1 << (len(fetched.unit) // BUCKET).bit_length()
    starts = np.zeros(buckets + 1, np.int64)
    place = loops.places(fetched.unit, fetched.cell, keys[0], starts)
    size = int(starts[-1])
    own_salt = fetched.salt.base is fetched.unit
    unit, cell = np.empty(size, np.int64), np.empty(size, np.int32)
    salt = unit.view(np.uint64) if own_salt else np.empty(size, np.uint64)
    extra = np.empty(size if len(fetched.extra) else 0, np.uint64)
    values = np.empty((len(fetched.values), size), np.result_type(np.int32, *fetched.values))
    ends = np.array([fetched.missing, fetched.highest])
    moved = [(fetched.unit, unit), (fetched.cell, cell), *zip(fetched.values, values, strict=True)]
    moved += [] if own_salt else [(fetched.salt, salt)]
    moved += [(fetched.extra, extra)] if len(extra) else []

    def share(number: int) -> Whole:
        found = np.zeros_like(totals)
        for bucket in range(number, buckets, threads):
            own = slice(starts[bucket], starts[bucket + 1])
            loops.bounded(
                unit[own], salt[own], cell[own], extra[own], values[:, own],
                keys, (task.bounds.groups, task.bounds.rows), ends, found,
            )  # fmt: skip
        return found

    with ThreadPoolExecutor(threads) as workers:
        list(workers.map(lambda pair: loops.scattered(pair[0], place, pair[1]), moved))
        for found in workers.map(share, range(threads)):
            totals += found
