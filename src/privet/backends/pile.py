"""Rows as they come from the engine, put into buckets so that all rows of a unit are in one.

Buckets decide nothing: a unit is bounded by its own rows, wherever they lie. What does not fit into memory goes to a
file that has no name and vanishes with the process.
"""

from __future__ import annotations

import secrets
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from privet.backends.arrays import Batch
from privet.typing import Integers

Column = npt.NDArray[Any]
# Where time makes a step, nobody knows exactly: at a known number of rows, one person more would show on a clock.
HELD = 2**31 - secrets.randbelow(2**29)  # bytes of rows in memory; more go to a file
WORTH_A_START = 500_000 + secrets.randbelow(1_000_000)  # rows, over all questions, from which on loops are loaded
WORTH_A_CALL = 10_000  # rows from which on they are faster, once they are there
BLOCK = 2**19  # rows that are put into buckets at a time
BUCKET = 2**14  # rows that fit a processor's cache
BUCKETS = 2**9  # if there are more rows than one block; their numbers have 16 bits
FIRST, SECOND, SHIFT = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53), np.uint64(33)


@cache
def loops() -> ModuleType | None:
    """The compiled loops, if there is a compiler for them."""
    try:
        from privet.backends import kernel_loops as found  # noqa: PLC0415  slow to import
    except ImportError:
        return None
    return found


def worth() -> int:
    """Rows from which on compiled loops are worth it. Who has asked about many rows will ask again."""
    return (
        WORTH_A_CALL if "privet.backends.kernel_loops" in sys.modules else max(WORTH_A_CALL, WORTH_A_START - Pile.slow)
    )


class Pile:
    """A place for rows. `types` are the columns to keep, u and cell among them; `key` spreads units over buckets;
    files lie in `folder`. Rows are put into buckets in a thread of its own, while the engine makes the next ones."""

    slow = 0  # rows that this process has bounded without compiled loops

    def __init__(self, types: Mapping[str, type[np.generic]], key: np.uint64, folder: Path | None = None) -> None:
        self._types, self._key, self._folder = types, key, folder
        self._fresh: list[Batch] = []
        self._rows = 0  # of the fresh batches
        self._held = 0
        self._blocks: list[_Block] = []
        self._file: _File | None = None
        self._working: Future[None] | None = None
        self._stack = ExitStack()
        self._worker = self._stack.enter_context(ThreadPoolExecutor(1))
        self._buckets = 0  # none yet

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def put(self, batch: Batch) -> None:
        self._fresh.append(batch)
        self._rows += len(batch["u"])
        if self._rows >= (BLOCK if self._buckets else max(BLOCK, worth())):
            self._divide(BUCKETS)

    def buckets(self) -> int:
        """How many there are, when there are no more rows; 0 if all rows together are few."""
        if self._rows >= (1 if self._buckets else max(1, worth())):
            self._divide(1 << (self._rows // BUCKET).bit_length())
        Pile.slow += self._rows
        if self._working is not None:
            self._working.result()
        return self._buckets

    def bucket(self, number: int) -> dict[str, Column]:
        """One bucket's rows by column; bucket 0 has all rows where there are few."""
        pieces = [block.bucket(number) for block in self._blocks] or self._fresh
        return {
            name: np.concatenate([np.empty(0, type_), *(piece[name] for piece in pieces)])
            for name, type_ in self._types.items()
        }

    def _divide(self, buckets: int) -> None:
        self._buckets = self._buckets or buckets
        if self._working is not None:
            self._working.result()
        self._working = self._worker.submit(self._add, self._fresh)
        self._fresh, self._rows = [], 0

    def _add(self, batches: list[Batch]) -> None:
        starts, columns = divided(batches, self._types, self._key, self._buckets)
        self._held += sum(column.nbytes for column in columns.values())
        if self._held <= HELD:
            self._blocks.append(_Block(starts=starts, columns=columns))
            return
        if self._file is None:
            made = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  closed with the pile
            self._file = _File(self._stack.enter_context(made))
        stored = {name: self._file.append(column) for name, column in columns.items()}
        self._blocks.append(_Block(starts=starts, columns=stored))


def divided(
    batches: Sequence[Batch], types: Mapping[str, type[np.generic]], key: np.uint64, buckets: int
) -> tuple[Integers, dict[str, Column]]:
    """The rows of batches in the order of their buckets, without those in no cell; and where each bucket begins."""
    found = loops()
    if found is None:
        return _divided(batches, types, key, buckets)
    starts = np.zeros(buckets + 1, np.int64)
    own = [found.numbered(batch["u"], batch["cell"], key, starts) for batch in batches]
    starts = np.cumsum(starts)
    columns: dict[str, Column] = {name: np.empty(starts[-1], type_) for name, type_ in types.items()}
    for name, column in columns.items():
        free = starts.copy()
        for batch, numbers in zip(batches, own, strict=True):
            found.scattered(batch[name], numbers, free, column)
    return starts, columns


def _divided(
    batches: Sequence[Batch], types: Mapping[str, type[np.generic]], key: np.uint64, buckets: int
) -> tuple[Integers, dict[str, Column]]:
    """The same in NumPy."""
    joined = {name: np.concatenate([batch[name] for batch in batches]) for name in types}
    bits = (joined["u"].view(np.uint64) ^ key) * FIRST
    bits = (bits ^ (bits >> SHIFT)) * SECOND
    number = ((bits ^ (bits >> SHIFT)) & np.uint64(buckets - 1)).astype(np.int64)
    number[joined["cell"] < 0] = buckets
    starts = np.append(0, np.cumsum(np.bincount(number, minlength=buckets)[:buckets]))
    order = np.argsort(number, kind="stable")[: starts[-1]]
    return starts, {name: column[order] for name, column in joined.items()}


class _Slices(Protocol):
    def __getitem__(self, rows: slice, /) -> Column: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """Some rows in the order of their buckets, and where each bucket begins and the last one ends."""

    starts: Integers
    columns: Mapping[str, _Slices]

    def bucket(self, number: int) -> dict[str, Column]:
        rows = slice(self.starts[number], self.starts[number + 1])
        return {name: column[rows] for name, column in self.columns.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """A column in a file."""

    file: _File
    offset: int
    type_: np.dtype[Any]

    def __getitem__(self, rows: slice) -> Column:
        found = np.empty(rows.stop - rows.start, self.type_)
        self.file.read(self.offset + rows.start * self.type_.itemsize, found)
        return found


class _File:
    """Columns one after the other; threads may read at the same time."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._lock, self._end = file, threading.Lock(), 0

    def append(self, column: Column) -> _Stored:
        with self._lock:
            stored = _Stored(file=self, offset=self._end, type_=column.dtype)
            self._file.seek(self._end)
            self._file.write(column.data)
            self._end += column.nbytes
        return stored

    def read(self, offset: int, result: Column) -> None:
        with self._lock:
            self._file.seek(offset)
            if result.nbytes and self._file.readinto(result.data.cast("B")) != result.nbytes:  # type: ignore[attr-defined]
                raise EOFError("the file of rows is too short")
