"""Parquet and DuckDB files: read where they are, never copied, never changed."""
# ruff: noqa: S608  every name in a statement is quoted or generated here

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from privet.catalog.declarations import Source, Table
from privet.catalog.file_kinds import find
from privet.core.claim import claim
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.sources.relation import (
    MIXED,
    NOTHING,
    Given,
    Raw,
    Wanted,
    check_recorded,
    described,
    positions,
    quoted,
    read,
    recorded,
    relation_name,
    text,
    wanted,
    written,
)  # fmt: skip

PATTERN = set("*?[")
HINT = "check the name"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """Files whose columns have the same types, as something to write after FROM: for each wanted column its type, None
    where there is none."""

    origin: str
    types: tuple[str | None, ...]
    example: str


def view(connection: duckdb.DuckDBPyConnection, table: Table, path: Path) -> Raw:
    """A view of the declared columns."""
    parts, files = find_parts(connection, table, path)
    check_types(table, parts)
    select, types = selected(table, parts)
    relation = relation_name(table)
    connection.execute(f"CREATE OR REPLACE VIEW {relation} AS {select}")
    return Raw(relation=relation, types=types, files=files)


def check_types(table: Table, parts: Sequence[FilePart]) -> None:
    names = [column.source for column in wanted(table)]
    for part in parts:
        found = {name: type_ for name, type_ in zip(names, part.types, strict=True) if type_ is not None}
        check_recorded(table, found, f"of {show(part.example)} " if part.example else "")


def types_of(table: Table, parts: Sequence[FilePart]) -> dict[str, str]:
    """The types to record."""
    found: dict[str, set[str]] = {column.source: set() for column in wanted(table)}
    for part in parts:
        for column, type_ in zip(wanted(table), part.types, strict=True):
            found[column.source] |= {recorded(type_)} if type_ is not None else set()
    found = {name: words - {NOTHING} for name, words in found.items()}
    return {name: min(words) if len(words) == 1 else MIXED for name, words in found.items() if words}


@claim("ids-stay-different")
def selected(table: Table, parts: Sequence[FilePart]) -> tuple[str, dict[str, str]]:
    """All parts, one below the other. Where their types differ each is turned into text by itself, before it meets the
    others: nobody's row decides how the rows of others are read."""
    columns, types = wanted(table), dict[str, str]()
    items: list[list[str]] = [[] for _ in parts]
    for place, column in enumerate(columns):
        read_as = [_read(table, column, part.types[place]) for part in parts]
        found = {type_ for _, type_ in read_as if type_ is not None}
        alike = len(found) == 1 and table.types.get(column.source) != MIXED  # which files are there now must not decide
        types[column.name] = min(found) if alike else "VARCHAR"
        for (sql, type_), item in zip(read_as, items, strict=True):
            value = sql if alike else written(sql, type_ or "VARCHAR", column.kind)
            item.append(f"{value} AS {quoted(column.name)}")
    selects = [f"SELECT {', '.join(item)} FROM {part.origin}" for item, part in zip(items, parts, strict=True)]
    return " UNION ALL ".join(selects), types


def _read(table: Table, column: Wanted, type_: str | None) -> tuple[str, str | None]:
    if type_ is None:
        return "NULL", None
    return read(table, column, Given(sql=quoted(column.source), type=type_))


def find_parts(
    connection: duckdb.DuckDBPyConnection, table: Table, path: Path
) -> tuple[list[FilePart], tuple[Path, ...]]:
    """What to read, by the types of its columns, and the files that are opened whenever it is read."""
    origin, files = open_in_place(connection, table.source, path)
    names, parts = _by_type(connection, table, files) if len(files) > 1 else ([], [])
    if any(len({*types} - {None}) > 1 for types in zip(*(part.types for part in parts), strict=True)):
        positions(table, names, HINT)
        return parts, files
    columns = described(connection, f"FROM {origin}")  # a file may still lack a column: there it is NULL
    places = positions(table, [name for name, _ in columns], HINT)
    return [FilePart(origin=origin, types=tuple(columns[place][1] for place in places), example="")], files


def _by_type(
    connection: duckdb.DuckDBPyConnection, table: Table, files: Sequence[Path]
) -> tuple[list[str], list[FilePart]]:
    """The names of all columns, and the files that agree about the wanted ones. Case does not count, as in SQL."""
    names: dict[str, str] = {}
    found: dict[tuple[str | None, ...], list[Path]] = {}
    for file in files:
        columns = described(connection, f"FROM {_parquet(table.source, (file,))}")
        types = {name.casefold(): None if type_ == NOTHING else type_ for name, type_ in columns}
        names = {name.casefold(): name for name, _ in columns} | names
        found.setdefault(tuple(types.get(column.source.casefold()) for column in wanted(table)), []).append(file)
    return list(names.values()), [
        FilePart(origin=_parquet(table.source, tuple(alike)), types=types, example=alike[0].name)
        for types, alike in found.items()
    ]


def open_in_place(connection: duckdb.DuckDBPyConnection, source: Source, path: Path) -> tuple[str, tuple[Path, ...]]:
    """What to write after FROM, and the files that are opened whenever it is read."""
    if source.kind == "parquet":
        files = find(path, "parquet")
        return _parquet(source, files), files
    return _database(connection, source, path), ()


def _parquet(source: Source, files: tuple[Path, ...]) -> str:
    if not files:
        raise InvalidInputError(f"there is no Parquet file at {show(source.path)}", "check the path", "missing-file")
    if any(PATTERN & set(str(file)) for file in files):  # the engine would look for other files
        raise InvalidInputError("a Parquet file's path contains *, ? or [", "rename the file or folder", "invalid-name")
    paths = ", ".join(text(str(file)) for file in files)
    # Folder names such as year=2020 are columns of text: their types are not guessed.
    return f"read_parquet([{paths}], union_by_name = {len(files) > 1}, hive_types_autocast = false)"


def _database(connection: duckdb.DuckDBPyConnection, source: Source, path: Path) -> str:
    """One table of a DuckDB file, which is opened for reading only."""
    if not path.is_file():
        raise InvalidInputError(f"there is no file at {show(source.path)}", "check the path", "missing-file")
    alias = "file_" + hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    # Not IF NOT EXISTS: where another connection of this process has the file under that name, it can wait forever.
    if not connection.execute("SELECT 1 FROM duckdb_databases() WHERE database_name = ?", [alias]).fetchall():
        connection.execute(f"ATTACH {text(str(path))} AS {alias} (TYPE duckdb, READ_ONLY)")
    schema, _, name = (source.table or "").rpartition(".")
    schema = schema or "main"
    tables = connection.execute(
        "SELECT 1 FROM duckdb_tables() WHERE (database_name, schema_name, table_name) = (?, ?, ?)",
        [alias, schema, name],
    ).fetchall()
    if not tables:
        raise InvalidInputError(
            f"the file has no table {show(source.table)}",
            'name a table, not a view, with its schema if that is not main: "archive.visits"',
            "unknown-table",
        )
    return f"{alias}.{quoted(schema)}.{quoted(name)}"
