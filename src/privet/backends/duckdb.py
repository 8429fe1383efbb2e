"""The embedded engine: runs generated statements over attached tables."""

from __future__ import annotations

import operator
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

import duckdb

from privet.backends import HABITS, Course, Habits, Task, Vector, fused
from privet.backends.cellsql import Given, given
from privet.backends.contributions import Rows
from privet.backends.course_rows import held
from privet.backends.pairing import apart, joined
from privet.backends.reading import unit_text
from privet.backends.rowsql import RowsSql
from privet.backends.spelling import quoted
from privet.backends.spreadsql import wanted
from privet.backends.sqlgen import RANKED
from privet.backends.table_fit import TableFit, table_fit
from privet.backends.unreadable import Unread, counts, refusal
from privet.backends.written import WrittenTask, expected_of, write
from privet.catalog.declarations import Table, inside
from privet.core.cells import Keys
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.sources import Raw, Stamp, attach, check_complete, connect, digest, harden, stamp, types_of, unreadable
from privet.sources.profile import form_in
from privet.sources.scratch import Scratch

Found = TypeVar("Found")
MOST_AT_ONCE = 256  # questions that are computed; more wait
_LEFT_TO_THE_PARENT: list[object] = []  # closing a connection in a forked child would wait for threads it does not have

# With it the engine simplifies a query by the least and largest values of its columns. In DuckDB 2.0 some of these
# simplifications fail, so whether a question is answered could depend on the data.
SAME_FOR_ALL_DATA = "SET GLOBAL disabled_optimizers = 'statistics_propagation'"


@dataclass(slots=True, kw_only=True)
class _Attached:
    """Tables that can be asked together, as they were declared and with the data frames or files they come from.

    `users` are asking now: another version of a table must not close the database below them."""

    tables: tuple[Table, ...]
    frames: tuple[object, ...]
    stamps: tuple[Stamp, ...]
    raws: Mapping[str, Raw]
    connection: duckdb.DuckDBPyConnection
    users: int = 0
    retired: bool = False

    @property
    def name(self) -> str:
        return _together(self.tables)

    def raw(self, table: Table) -> Raw:
        """Of one table, with the others beside it."""
        beside = {name: raw for name, raw in self.raws.items() if name != table.name}
        return replace(self.raws[table.name], beside=beside)


class DuckDb:
    """One database in memory for each table, and for tables that are asked together; opened when they are first asked
    about and locked to their files.

    `base` is the folder that holds the vault; `memory` maps names of tables to data frames and may change: a table is
    loaded again when its declaration, its data frame or one of its files is another one. What does not fit into memory
    is kept, not encrypted, in `scratch` or a temporary folder of the owner alone. Threads may share the object; a
    forked process opens its own databases. Nothing is printed; errors of the engine may quote data and are for the
    caller to hide. With `portable` nothing but SQL is used, as in engines that have no kernel.
    """

    def __init__(
        self, base: Path, memory: Mapping[str, object], *, scratch: Path | None = None, portable: bool = False
    ) -> None:
        self._base, self._memory, self._scratch, self._portable = base, memory, scratch, portable
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._attached: dict[str, _Attached] = {}
        self._seen: dict[str, tuple[Table, object, Stamp]] = {}
        self._folder: Scratch | None = None
        self._workers = ThreadPoolExecutor(MOST_AT_ONCE)

    def _after_fork(self) -> None:
        """A forked process begins anew, and leaves what it inherited to its parent."""
        if self._process != os.getpid():
            _LEFT_TO_THE_PARENT.append(self._attached)
            self._begin()

    def write(self, task: Task) -> WrittenTask:
        """The statements of a task; or raise RefusedQueryError. No data are touched."""
        return write(apart(task), expected_of(task), kernel=self._with_kernel(task))

    def exact(self, task: Task, written: WrittenTask | None = None) -> list[Vector]:
        """For every measure its value in every cell, in the order of `task.cells.keys()`, then the rest."""
        pieces = apart(task)
        with self._asked_of(task, written) as (found, cursor):
            asked = found.rows
            if asked is None:
                return joined(task, self._waited_for(cursor, lambda: portable(cursor, pieces, found)))
            folder = self._scratch_folder()
            return joined(task, self._waited_for(cursor, lambda: fused.exact(cursor, pieces, asked, folder)))

    def people(self, task: Task, written: WrittenTask | None = None) -> dict[Keys, int]:
        """For every key that occurs, how many units have it; each unit counts for `bounds.groups` keys at most."""
        with self._asked_of(task, written) as (found, cursor):
            keys = found.keys
            if isinstance(keys, RowsSql):
                return self._waited_for(cursor, lambda: fused.people(cursor, task, keys, self._scratch_folder()))
            assert keys is not None  # noqa: S101  nobody asks where keys are public
            return keys.counted(self._rows(cursor, keys.sql))

    def habits(self, task: Task, written: WrittenTask | None = None) -> Habits:
        """How many units have 1, 2, 3-4, 5-8, ... groups; of rows in the largest, the same; and of all that count."""
        with self._asked_of(replace(task, habits=HABITS), written) as (found, cursor):
            assert found.habits is not None  # noqa: S101  what `write` gives
            return found.habits.binned(self._rows(cursor, found.habits.sql, given(task)))

    def rows(self, course: Course) -> Rows:
        """The rows of a course, for learners. They lie in memory from here on."""
        with self._asked(course.table) as (raw, cursor):
            return self._waited_for(cursor, lambda: held(cursor, course, raw)).rows(course)

    def _with_kernel(self, task: Task) -> bool:
        return task.table.unit is not None and not self._portable

    def ready(self, *tables: Table) -> None:
        """Raise InvalidInputError, with a reason for the owner, if a table is missing, cannot be opened or no longer
        has the recorded types. Nothing is opened while files keep their name, place, size and time."""
        for table in tables:
            try:
                self._look(table)
            except InvalidInputError:
                raise
            except Exception:
                raise inside(f"table {show(table.name)}", unreadable()) from None

    def _look(self, table: Table) -> None:
        now = (table, self._memory.get(table.name), stamp(table, self._base))
        seen = self._seen.get(table.name)
        if seen is None or not (seen[0] == table and seen[1] is now[1] and seen[2] == now[2]):
            if table.source.kind != "excel":  # whose header cannot be read without its rows
                self._types(table)
            self._seen[table.name] = now

    def marks(self, table: Table) -> list[tuple[str | int, ...]]:
        """Of each file its name from the folder that holds the vault, device, number, size and time. Nothing is
        opened."""
        return [(os.path.relpath(str(name), self._base), *rest) for name, *rest in stamp(table, self._base)]

    def digest(self, table: Table, key: bytes) -> str:
        """Names the content of the files. For the owner: it reads them."""
        return digest(table, self._base, key)

    def forget(self, name: str) -> None:
        """Close what was opened for a table."""
        with self._lock:
            for attached in [one for one in self._attached.values() if any(name == table.name for table in one.tables)]:
                self._retire(attached)
            self._seen.pop(name, None)

    def types(self, table: Table) -> dict[str, str]:
        """The types to record, whatever was recorded before. For the owner: it opens the data, but reads no row."""
        return self._types(replace(table, types={}))

    def _types(self, table: Table) -> dict[str, str]:
        self._after_fork()
        with self._lock:
            scratch = self._scratch_folder()
        with _interrupts(), connect(scratch) as connection:
            return types_of(connection, table, self._base, self._memory)

    def trying(self, name: str, frame: object) -> DuckDb:
        """The same with another data frame for one table, which nobody else sees until it is adopted."""
        with self._lock:
            scratch = self._scratch_folder()
        return DuckDb(self._base, {**self._memory, name: frame}, scratch=scratch, portable=self._portable)

    def adopt(self, trial: DuckDb) -> None:
        """Take over what a trial has copied: later changes of its data frame do not reach us."""
        with self._lock:
            for name, attached in trial._attached.items():
                if name in self._attached:
                    self._retire(self._attached[name])
                self._attached[name] = attached
            trial._attached = {}

    def check(self, table: Table) -> tuple[Unread, ...]:
        """Raise InvalidInputError unless every value of the declared columns can be read as a question would read it.
        A value that means nothing is read as missing; how many do is what comes back.

        For the owner: it touches the data.
        """
        with self._asked(table) as (raw, _):
            try:
                check_complete(raw)
            except InvalidInputError as error:
                raise inside(f"table {show(table.name)}", error) from None
        found = self._read(table)
        if found is None:
            column = next((name for name, alone in _alone(table) if self._read(alone) is None), None)
            which = "" if column is None else f"column {show(column)}: "
            raise InvalidInputError(
                f"table {show(table.name)}: {which}the engine cannot read every value",
                "correct the values: a question that meets one would fail, and the failure would reveal something",
                "unreadable-value",
            )
        return found

    def check_unread(self, table: Table, found: Iterable[Unread]) -> None:
        """Raise InvalidInputError if nearly all values of a column cannot be read. For the owner, as `check` is."""
        for one in found:
            if one.refused(table):
                with connect(self._scratch_folder()) as connection:
                    form = form_in(connection, table, one.column, self._base, self._memory)
                raise refusal(table, one, form)

    def fit(self, table: Table) -> TableFit:
        """How well the declaration fits the data. For the owner, as `check` is; call that first."""
        with self._asked(table) as (raw, cursor):
            return self._waited_for(cursor, lambda: table_fit(cursor, table, raw))

    def _read(self, table: Table) -> tuple[Unread, ...] | None:
        """None if the engine fails."""
        found = []
        try:
            with self._asked(table) as (raw, cursor):
                for name, count in counts(table, raw):
                    _, values, unread = self._rows(cursor, count)[0]
                    found.append(Unread(column=name, values=values, unread=unread))
                if table.unit is not None:
                    self._rows(cursor, _trial_of_unit(table, raw))
        except duckdb.Error:
            return None
        return tuple(found)

    @contextmanager
    def _asked_of(
        self, task: Task, written: WrittenTask | None
    ) -> Iterator[tuple[WrittenTask, duckdb.DuckDBPyConnection]]:
        """With what was written, or with what is written now if the data have other types: a column without any value
        has no type, and older vaults recorded none."""
        with self._asked(task.table, *task.beside.values()) as (raw, cursor):
            if written is None or not written.fits(raw):
                written = write(apart(task), raw, kernel=self._with_kernel(task))
            yield written, cursor

    @contextmanager
    def _asked(self, table: Table, *beside: Table) -> Iterator[tuple[Raw, duckdb.DuckDBPyConnection]]:
        """After an error of the engine the tables are opened anew: the database may be of no use any more."""
        attached, cursor = self._open(table, *beside)
        try:
            with cursor:
                yield attached.raw(table), cursor
        except duckdb.Error:
            with self._lock:
                self._retire(attached)
            raise
        finally:
            with self._lock:
                attached.users -= 1
                if attached.retired and not attached.users:
                    attached.connection.close()

    def _retire(self, attached: _Attached) -> None:
        """Nobody is given it any more; the last who uses it closes it. The lock is held."""
        attached.retired = True
        if self._attached.get(attached.name) is attached:
            del self._attached[attached.name]
        if not attached.users:
            attached.connection.close()

    def _open(self, *tables: Table) -> tuple[_Attached, duckdb.DuckDBPyConnection]:
        self._after_fork()
        with self._lock, _interrupts():
            attached = self._fresh(tuple(sorted(tables, key=lambda table: table.name)))
            cursor = attached.connection.cursor()
            attached.users += 1
            return attached, cursor

    def _fresh(self, tables: tuple[Table, ...]) -> _Attached:
        frames, name = tuple(self._memory.get(table.name) for table in tables), _together(tables)
        stamps = tuple(stamp(table, self._base) for table in tables)  # before reading: a later change is seen next time
        found = self._attached.get(name)
        same = found is not None and (found.tables, found.stamps) == (tables, stamps)
        if found is not None and same and all(map(operator.is_, found.frames, frames)):
            return found
        if found is not None:
            self._retire(found)
        connection = connect(self._scratch_folder())
        try:
            raws = {table.name: attach(connection, table, self._base, self._memory) for table in tables}
            connection.execute(SAME_FOR_ALL_DATA)
            harden(connection, [file for raw in raws.values() for file in raw.files])
        except BaseException:
            connection.close()
            raise
        self._attached[name] = _Attached(tables=tables, frames=frames, stamps=stamps, raws=raws, connection=connection)
        return self._attached[name]

    def _scratch_folder(self) -> Path:
        if self._scratch is not None:
            return self._scratch
        if self._folder is None:
            self._folder = Scratch()
            weakref.finalize(self, self._folder.remove)
        return self._folder.path

    def _rows(self, cursor: duckdb.DuckDBPyConnection, sql: str, lists: Given | None = None) -> list[tuple[Any, ...]]:
        return self._waited_for(cursor, lambda: _run(cursor, sql, lists).fetchall())

    def _waited_for(self, cursor: duckdb.DuckDBPyConnection, work: Callable[[], Found]) -> Found:
        """Done in another thread: the engine ignores signals while it works, but a thread that waits does not. Threads
        are kept, since to start one takes as long as a small question."""
        waiting = self._workers.submit(work)
        try:
            return waiting.result()
        finally:
            while not waiting.done():  # again and again, since the query may not have begun
                cursor.interrupt()
                wait([waiting], timeout=0.01)

    def close(self) -> None:
        """Close every database; a later question opens them again."""
        if self._process == os.getpid():
            with self._lock:
                for attached in self._attached.values():
                    attached.connection.close()
                self._attached.clear()
                if self._folder is not None:
                    self._folder.remove()
                    self._folder = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _together(tables: Iterable[Table]) -> str:
    """No name has a line break in it."""
    return "\n".join(table.name for table in tables)


@contextmanager
def _interrupts() -> Iterator[None]:
    """The engine makes a RuntimeError of a KeyboardInterrupt; here it becomes one again."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise


def _trial_of_unit(table: Table, raw: Raw) -> str:
    """A statement that reads all units as questions do, and gives one number."""
    own, type_ = raw.unit(table)
    read = f"SELECT source.{quoted(own)} AS r FROM {raw.relation} AS source"  # noqa: S608  names are quoted
    return f"SELECT bit_xor(hash(r, {unit_text(type_, 'r')})) FROM ({read})"  # noqa: S608


def _alone(table: Table) -> Iterator[tuple[str, Table]]:
    """The table with one column at a time, as a bad one can spoil the others; then the unit beside a good one."""
    for name, kind in table.columns.items():
        codes = {name: table.missing[name]} if name in table.missing else {}
        written = {name: table.writing[name]} if name in table.writing else {}
        one = replace(table, columns={name: kind}, missing=codes, writing=written, key=())
        yield name, replace(one, unit=None, max_groups=1, max_rows_per_group=1, max_rows=None)
    if table.unit is not None:
        yield table.unit, one


def portable(cursor: duckdb.DuckDBPyConnection, task: Task, written: WrittenTask) -> list[Vector]:
    """The answer to a task by SQL alone: one statement for all sums, and one for each value that is ranked."""
    lists, sums, cells = given(task), iter(list[list[int]]()), task.cells.count
    if written.sums is not None:
        sums = iter(written.sums.dense(_run(cursor, written.sums.sql, lists).fetchall(), cells))
    spreads = {
        one: query.spreads(_run(cursor, query.sql, lists).fetchnumpy(), cells) for one, query in written.spread.items()
    }
    return [spreads[wanted(measure)] if measure.role in RANKED else next(sums) for measure in task.measures]


def _run(cursor: duckdb.DuckDBPyConnection, sql: str, lists: Given | None) -> duckdb.DuckDBPyConnection:
    return cursor.execute(sql, lists or None)
