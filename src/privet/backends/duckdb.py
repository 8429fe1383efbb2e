"""The embedded engine: runs generated statements over attached tables."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb

from privet.backends import Task
from privet.backends.sqlgen import statement
from privet.declarations import Table
from privet.sources import Raw, attach, connect, harden

_LEFT_TO_THE_PARENT: list[object] = []  # closing a connection in a forked child would wait for threads it does not have


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attached:
    """A table that can be asked, as it was declared and with the data frame it was loaded from."""

    table: Table
    frame: object
    raw: Raw
    connection: duckdb.DuckDBPyConnection


class DuckDb:
    """One database in memory for each table, opened when it is first asked about and locked to that table's files.

    `base` is the folder that holds the vault; `memory` maps names of tables to data frames and may change: a table is
    loaded again when its declaration or its data frame is another one. What does not fit into memory is kept,
    encrypted, in `scratch` or a temporary folder. Threads may share the object; a forked process opens its own
    databases. Nothing is printed; errors of the engine may quote data and are for the caller to hide.
    """

    def __init__(self, base: Path, memory: Mapping[str, object], *, scratch: Path | None = None) -> None:
        self._base, self._memory, self._scratch = base, memory, scratch
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._attached: dict[str, _Attached] = {}
        self._folder: Path | None = None

    def exact(self, task: Task) -> list[list[int]]:
        """For every measure its value in every cell, in the order of `task.cells.keys()`."""
        attached, cursor = self._open(task.table)
        with cursor:
            query = statement(task, attached.raw)
            return query.dense(_rows(cursor, query.sql))

    def check(self, table: Table) -> None:
        """Raise InvalidInputError unless the declared columns can be read. For the owner: it touches the data."""
        self._open(table)[1].close()

    def _open(self, table: Table) -> tuple[_Attached, duckdb.DuckDBPyConnection]:
        if self._process != os.getpid():
            _LEFT_TO_THE_PARENT.append(self._attached)
            self._begin()
        with self._lock, _interrupts():
            attached = self._fresh(table)
            return attached, attached.connection.cursor()

    def _fresh(self, table: Table) -> _Attached:
        frame = self._memory.get(table.name)
        found = self._attached.get(table.name)
        if found is not None and found.table == table and found.frame is frame:
            return found
        if found is not None:
            del self._attached[table.name]
            found.connection.close()
        connection = connect(self._scratch_folder())
        try:
            raw = attach(connection, table, self._base, self._memory)
            harden(connection, raw.files)
        except BaseException:
            connection.close()
            raise
        self._attached[table.name] = _Attached(table=table, frame=frame, raw=raw, connection=connection)
        return self._attached[table.name]

    def _scratch_folder(self) -> Path:
        if self._scratch is not None:
            return self._scratch
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="privet-"))
            weakref.finalize(self, _remove, self._folder, os.getpid())
        return self._folder

    def close(self) -> None:
        """Close every database; a later question opens them again."""
        if self._process == os.getpid():
            with self._lock:
                for attached in self._attached.values():
                    attached.connection.close()
                self._attached.clear()
                if self._folder is not None:
                    _remove(self._folder, self._process)
                    self._folder = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def _interrupts() -> Iterator[None]:
    """The engine makes a RuntimeError of a KeyboardInterrupt; here it becomes one again."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise


def _rows(cursor: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    """Asked in a thread of its own: the engine ignores signals while it works, but a thread that waits does not."""
    with ThreadPoolExecutor(max_workers=1) as worker:
        waiting = worker.submit(lambda: cursor.execute(sql).fetchall())
        try:
            return waiting.result()
        finally:
            while not waiting.done():  # again and again, since the query may not have begun
                cursor.interrupt()
                wait([waiting], timeout=0.01)


def _remove(folder: Path, process: int) -> None:
    """A forked child must not take its parent's files away."""
    if process == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)
