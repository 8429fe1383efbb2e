"""Bounding in one pass over fetched rows: what `sqlgen` does with window functions, several times faster.

There are two versions that keep the same rows: `_few` in NumPy, and `_many` with compiled loops, which is worth its
start only where there are many rows. So it does not matter for an answer which one runs, and it may depend on the data.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from privet.backends import Spread, Task
from privet.backends.pile import FIRST, SECOND, SHIFT, Pile, loops
from privet.backends.rowsql import RowsSql
from privet.core.claim import claim
from privet.core.sensitivity import Bounds
from privet.typing import Integers, Truths

# Which values the rows that are kept have in each cell, and how often: for DISTINCT, quantiles, MIN and MAX.

MANY = 2**20  # pairs that are put together at a time


class Tally:
    """Pairs of cell and value with their numbers. Values are clamped to low..high; low - 1 stands for none."""

    def __init__(self, cells: int, low: int, high: int) -> None:
        self._cells, self._low, self._high = cells, low, high
        self._pairs: list[tuple[Integers, Integers, Integers]] = []
        self._fresh = self._settled = 0

    @claim("clamped-at-the-sum")
    def add(self, cell: npt.NDArray[Any], value: npt.NDArray[Any]) -> None:
        there = value != self._low - 1
        value = np.clip(value[there].astype(np.int64), self._low, self._high)
        self._put(counted(cell[there].astype(np.int64), value, np.ones(len(value), np.int64)))

    def merge(self, others: Sequence[Self]) -> None:
        for other in others:
            self._put(other._all())

    def spreads(self) -> list[Spread]:
        """For each cell."""
        cell, value, times = self._all()
        ends = np.searchsorted(cell, np.arange(self._cells + 1)).tolist()
        return [Spread(value[start:end], times[start:end]) for start, end in itertools.pairwise(ends)]

    def distinct(self) -> list[int]:
        """For each cell how many values there are."""
        found: list[int] = np.bincount(self._all()[0], minlength=self._cells).tolist()
        return found

    def _put(self, pairs: tuple[Integers, Integers, Integers]) -> None:
        """Put together when there are twice as many as there were, so that the work stays in proportion."""
        self._pairs.append(pairs)
        self._fresh += len(pairs[0])
        if self._fresh > max(MANY, self._settled):
            self._all()

    def _all(self) -> tuple[Integers, Integers, Integers]:
        empty = np.empty(0, np.int64)
        cell, value, times = (
            (np.concatenate([empty, *column]) for column in zip(*self._pairs, strict=True))
            if self._pairs
            else [empty] * 3
        )
        found = counted(cell, value, times)
        self._pairs, self._fresh, self._settled = [found], 0, len(found[0])
        return found


def counted(cell: Integers, value: Integers, times: Integers) -> tuple[Integers, Integers, Integers]:
    """The pairs that differ, in order, each with the sum of its numbers."""
    order = np.lexsort((value, cell))
    cell, value = cell[order], value[order]
    begins = np.append(True, (cell[1:] != cell[:-1]) | (value[1:] != value[:-1]))[: len(cell)]
    starts = np.flatnonzero(begins)
    sums = np.add.reduceat(times[order], starts) if len(starts) else times
    return cell[starts], value[starts], sums


Bits = npt.NDArray[np.uint64]
AT_A_TIME = 2**31  # rows whose sums fit their limbs
IN_ALL = 2**32  # rows up to which the upper limbs of all threads together stay within 62 bits
LOW, HALF = 0xFFFFFFFF, 32
NEVER = 2**62
NONE, NOBODY = np.empty(0, np.uint64), np.empty(0, np.bool_)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Rows in cells as arrays, see `rowsql.Rows`. `salt` is what the hash sees of a unit; `extra` may be empty;
    `values` has a row for each value, of which the first are `summed`."""

    unit: Integers
    salt: Bits
    cell: npt.NDArray[np.int32]
    extra: Bits
    values: npt.NDArray[np.int32] | Integers
    missing: Integers
    highest: Integers
    summed: int

    @classmethod
    def of(cls, rows: RowsSql, arrays: Mapping[str, npt.NDArray[Any]], cells: int = 2**31) -> Self:
        """Without rows that are in none of the cells: compiled loops do not look whether a number is one."""
        there = (arrays["cell"] >= 0) & (arrays["cell"] < cells)
        if not there.all():
            arrays = {name: column[there] for name, column in arrays.items()}
        unit, width = arrays["u"], len(rows.missing)
        if len(unit) >= AT_A_TIME:
            raise OverflowError("too many rows at a time")
        values = [arrays[f"w{place}"] for place in range(width)]
        return cls(
            unit=unit,
            salt=arrays["s"] if rows.salted else unit.view(np.uint64),
            cell=arrays["cell"],
            extra=arrays["x"] if rows.extra else np.empty(0, np.uint64),
            values=np.array(values, np.result_type(np.int32, *values)).reshape(width, len(unit)),
            missing=np.array(rows.missing, np.int64),
            highest=np.array(rows.highest, np.int64),
            summed=rows.summed,
        )


def keys_of(secret: bytes) -> Bits:
    """Three keys: for tables in memory, for cells, for rows."""
    return np.frombuffer(hashlib.blake2b(secret, digest_size=24).digest(), np.dtype("<u8")).astype(np.uint64)


def nothing(task: Task, rows: RowsSql) -> Integers:
    """The totals of no rows: for each cell the rows and the units, then for each summed value its number and the two
    limbs of its sum."""
    return np.zeros((task.cells.count, 2 + 3 * rows.summed), np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What bounding leaves of all rows: see `nothing`; and for each value that is tallied its values in each cell."""

    totals: Integers
    tallies: dict[int, Tally]

    @classmethod
    def none(cls, task: Task, rows: RowsSql) -> Self:
        ends = list(zip(rows.missing, rows.highest, strict=True))
        wanted = dict.fromkeys(rows.tallied.values())
        return cls(
            nothing(task, rows),
            {place: Tally(task.cells.count, ends[place][0] + 1, ends[place][1]) for place in wanted},
        )

    def add(self, task: Task, fetched: Fetched, labels: Bits, *, fast: bool) -> None:
        """Add what bounding leaves of the fetched rows. All rows of a unit must be there."""
        kept = np.zeros(len(fetched.unit) if self.tallies else 0, np.bool_)
        add(self.totals, task, fetched, labels=labels, kept=kept, fast=fast)
        for place, tally in self.tallies.items():
            tally.add(fetched.cell[kept], fetched.values[place][kept])


@claim("bounding-kernel")
def bounded(task: Task, rows: RowsSql, pile: Pile, labels: Bits = NONE) -> Found:
    """What bounding leaves of all rows in the pile, where each unit's rows are in one bucket. `labels` are what the
    hash sees of each cell, if cells are not public."""
    buckets, threads = pile.buckets(), min(os.cpu_count() or 1, 8)

    def share(number: int) -> tuple[Found, int]:
        found, since, seen = Found.none(task, rows), 0, 0
        for bucket in range(number, buckets or 1, threads):
            fetched = Fetched.of(rows, pile.bucket(bucket), task.cells.count)
            since, seen = since + len(fetched.unit), seen + len(fetched.unit)
            if since >= AT_A_TIME:
                carry(found.totals)
                since = len(fetched.unit)
            found.add(task, fetched, labels, fast=buckets > 0)
        carry(found.totals)
        return found, seen

    with ThreadPoolExecutor(threads) as workers:
        done = list(workers.map(share, range(threads)))
    if sum(seen for _, seen in done) >= IN_ALL:
        raise OverflowError("too many rows")
    shares = [found for found, _ in done]
    for place, tally in shares[0].tallies.items():
        tally.merge([other.tallies[place] for other in shares[1:]])
    return Found(sum((other.totals for other in shares[1:]), start=shares[0].totals), shares[0].tallies)


def add(  # noqa: PLR0913
    totals: Integers,
    task: Task,
    fetched: Fetched,
    *,
    labels: Bits = NONE,
    kept: Truths = NOBODY,
    fast: bool = False,
) -> None:
    """Add what bounding leaves of the fetched rows to the totals, and mark it in `kept`, if that has a place for each
    row."""
    found = loops() if fast else None
    if found is None:
        _few(totals, task, fetched, labels, kept)
    else:
        ends = np.array([fetched.missing[: fetched.summed], fetched.highest[: fetched.summed]])
        found.bounded(
            fetched.unit, fetched.salt, fetched.cell, fetched.extra, fetched.values, keys_of(task.secret), labels,
            (task.bounds.groups, task.bounds.rows, _in_all(task.bounds)), ends, totals, kept,
        )  # fmt: skip


@claim("bounding-kernel")
def carry(totals: Integers) -> None:
    """A sum is the upper limb, times 2**32, and the lower one. Values have less than 63 bits and there are less than
    2**31 of them at a time, so no limb overflows; then what is above 32 bits goes from the lower limb to the upper."""
    for place in range(3, totals.shape[1], 3):
        low, high = totals[:, place], totals[:, place + 1]
        high += low >> HALF
        low &= LOW


def sums(totals: Integers) -> Iterator[list[int]]:
    """For each cell that is not empty: its number, its rows and units, then for each value its number and sum."""
    for cell in np.flatnonzero(totals[:, 0]).tolist():
        rows, units, *rest = totals[cell].tolist()
        pairs = ((rest[i], (rest[i + 2] << HALF) + rest[i + 1]) for i in range(0, len(rest), 3))
        yield [cell, rows, units, *itertools.chain.from_iterable(pairs)]


def mixed(numbers: Bits, keys: Bits | np.uint64) -> Bits:
    """See `loops.mixed`."""
    numbers = (numbers ^ keys) * FIRST
    numbers = (numbers ^ (numbers >> SHIFT)) * SECOND
    numbers = (numbers ^ (numbers >> SHIFT)) + keys
    numbers = numbers * FIRST
    numbers = (numbers ^ (numbers >> SHIFT)) * SECOND
    return numbers ^ (numbers >> SHIFT)


@claim("clamped-at-the-sum")
def _few(totals: Integers, task: Task, fetched: Fetched, labels: Bits, kept: Truths) -> None:
    """Sort by unit, hash of the cell, cell, hash of the row, values; number the cells of a unit and the rows of a cell;
    keep low numbers. See `loops.bounded`."""
    unit, cell, keys = fetched.unit, fetched.cell.astype(np.int64), keys_of(task.secret)
    values = list(fetched.values.astype(np.int64))
    seen = labels[cell] if len(labels) else cell.astype(np.uint64)
    group = mixed(seen, mixed(fetched.salt, keys[1]))
    extra = fetched.extra if len(fetched.extra) else np.zeros(len(unit), np.uint64)
    bits = mixed(extra, group ^ keys[2])
    for column in values:
        bits = mixed(column.view(np.uint64), bits)
    order = np.lexsort((*values[::-1], bits, cell, group, unit))
    unit, cell = unit[order], cell[order]
    other = np.append(True, unit[1:] != unit[:-1])[: len(unit)]
    begins = other | np.append(True, cell[1:] != cell[:-1])[: len(unit)]
    groups = _since(np.cumsum(begins), other) < task.bounds.groups
    turn = _since(np.arange(len(unit)), begins)
    stays = groups & (turn < task.bounds.rows)
    if task.bounds.binding:
        stays[stays] = _first(unit[stays], turn[stays], _in_all(task.bounds))
    if len(kept):
        kept[order] = stays
    np.add.at(totals[:, 1], cell[stays & begins], 1)
    cell = cell[stays]
    np.add.at(totals[:, 0], cell, 1)
    for place, column in enumerate(values[: fetched.summed]):
        value = column[order][stays]
        present = value != fetched.missing[place]
        value = np.clip(value, fetched.missing[place] + 1, fetched.highest[place])
        for offset, number in enumerate((present, value & LOW, value >> HALF), start=2):
            np.add.at(totals[:, 3 * place + offset], cell[present], number[present])


def _first(unit: Integers, turn: Integers, limit: int) -> Truths:
    """Which rows, side by side by unit and cell, are among the first so many of their unit when cells take turns."""
    order = np.lexsort((turn, unit))  # stable, so cells stay in order
    begins = np.append(True, unit[1:] != unit[:-1])[: len(unit)]
    first = np.empty(len(unit), np.bool_)
    first[order] = _since(np.arange(len(unit)), begins) < limit
    return first


def _in_all(bounds: Bounds) -> int:
    """A number that is not reached, if the other limits are enough."""
    return NEVER if bounds.in_all is None or not bounds.binding else bounds.in_all


def _since(numbers: Integers, begins: Truths) -> Integers:
    """Each number less the one where its run begins."""
    first: Integers = numbers[begins][np.cumsum(begins) - 1]
    return numbers - first
