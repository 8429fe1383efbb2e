"""SQLite files: one table, opened for reading only. A cell can hold a value of any type, so each becomes a text."""
# ruff: noqa: S608  every name in a statement is quoted

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb

from privet.catalog.declarations import Source, Table, listed
from privet.core.rational import show
from privet.core.schema import Kind
from privet.errors import InvalidInputError
from privet.sources.relation import Raw, positions, quoted, unreadable, wanted
from privet.sources.rows import as_text, create, insert

HINT = "check the name"
TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite%'"
WITH_LOG, LOG_FLAG = 2, 18  # the byte of the header that says whether changes wait in a file beside it


def load(connection: duckdb.DuckDBPyConnection, table: Table, path: Path) -> Raw:
    """Copy the declared columns into a table of texts."""
    columns = wanted(table)
    with _opened(path) as database:
        _check_columns(database, table)
        names = ", ".join(quoted(column.source) for column in columns)
        rows = database.execute(f"SELECT {names} FROM {quoted(table.source.table or '')}")
        raw = create(connection, table)
        insert(connection, table, range(len(columns)), _texts(rows, [column.kind for column in columns]))
        return raw


def check_header(table: Table, path: Path) -> None:
    """Raise InvalidInputError unless the file has the table with the wanted columns. No row is read."""
    with _opened(path) as database:
        _check_columns(database, table)


def tables_in(path: Path) -> list[str]:
    with _opened(path) as database:
        return sorted(name for (name,) in database.execute(TABLES))


def columns_in(path: Path, source: Source) -> list[str]:
    with _opened(path) as database:
        return _columns(database, source)


def log_of(path: Path) -> Path:
    """Where changes wait that are not in the file yet."""
    return path.with_name(f"{path.name}-wal")


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Nothing is written, not even beside the file: that would be done where it is said to have a log and has none."""
    with path.open("rb") as file:
        header = file.read(100)
    alone = header[LOG_FLAG : LOG_FLAG + 1] == bytes([WITH_LOG]) and not log_of(path).exists()
    address = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
    try:
        with closing(sqlite3.connect(address, uri=True)) as database:
            database.text_factory = lambda text: text.decode("utf-8", "privet.bytes")
            database.execute("PRAGMA query_only = ON")
            database.execute("PRAGMA trusted_schema = OFF")  # what the file defines cannot do anything
            yield database
    except sqlite3.Error:
        raise unreadable() from None


def _check_columns(database: sqlite3.Connection, table: Table) -> None:
    positions(table, _columns(database, table.source), HINT)


def _columns(database: sqlite3.Connection, source: Source) -> list[str]:
    tables = [name for (name,) in database.execute(TABLES)]
    if source.table not in tables:
        raise InvalidInputError(
            f"the file has no table {show(source.table)}", f"use one of {listed(tables)}", "unknown-table"
        )
    return [name for (name,) in database.execute("SELECT name FROM pragma_table_xinfo(?)", (source.table,))]


def _texts(rows: Iterator[Sequence[object]], kinds: Sequence[Kind | None]) -> Iterator[list[str | None]]:
    for row in rows:
        yield [_text(value, kind) for value, kind in zip(row, kinds, strict=True)]


def _text(value: object, kind: Kind | None) -> str | None:
    """Bytes are nobody; as a value they are written, so that they count as one that cannot be read."""
    if isinstance(value, bytes):
        return None if kind is None else f"x'{value.hex()}'"
    return as_text(value, kind)
