"""Parquet and DuckDB files: read where they are, never copied, never changed."""
# ruff: noqa: S608  every name in a statement is quoted or generated here

from __future__ import annotations

import hashlib
from pathlib import Path

import duckdb

from privet.core.rational import show
from privet.declarations import Source, Table
from privet.errors import InvalidInputError
from privet.sources.relation import Raw, described, positions, projection, quoted, relation_name, text

PATTERN = set("*?[")


def view(connection: duckdb.DuckDBPyConnection, table: Table, path: Path) -> Raw:
    """A view of the declared columns."""
    origin, files = open_in_place(connection, table.source, path)
    columns = described(connection, f"FROM {origin}")
    names = [name for name, _ in columns]
    places = positions(table, names, "check the name")
    inputs = [quoted(names[place]) for place in places]
    select, types = projection(table, [columns[place][1] for place in places], inputs, typed=True)
    relation = relation_name(table)
    connection.execute(f"CREATE OR REPLACE VIEW {relation} AS SELECT {select} FROM {origin}")
    return Raw(relation=relation, types=types, files=files)


def open_in_place(connection: duckdb.DuckDBPyConnection, source: Source, path: Path) -> tuple[str, tuple[Path, ...]]:
    """What to write after FROM, and the files that are opened whenever it is read."""
    if source.kind == "parquet":
        files = _find(path)
        return _parquet(source, files), files
    return _database(connection, source, path), ()


def _parquet(source: Source, files: tuple[Path, ...]) -> str:
    if not files:
        raise InvalidInputError(f"there is no Parquet file at {show(source.path)}", "check the path")
    if any(PATTERN & set(str(file)) for file in files):  # the engine would look for other files
        raise InvalidInputError("a Parquet file's path contains *, ? or [", "rename the file or folder")
    paths = ", ".join(text(str(file)) for file in files)
    # Folder names such as year=2020 are columns of text: their types are not guessed.
    return f"read_parquet([{paths}], union_by_name = {len(files) > 1}, hive_types_autocast = false)"


def _find(path: Path) -> tuple[Path, ...]:
    """One file, all files below a folder, or those that a pattern names now, in a fixed order.

    Names that start with "_" or "." are notes of the program that wrote the folder.
    """
    if path.is_file():
        return (path,)
    anchor = Path(path.anchor)
    found = path.rglob("*.parquet") if path.is_dir() else anchor.glob(str(path.relative_to(anchor)))
    return tuple(sorted(file for file in found if file.is_file() and file.name[0] not in "_."))


def _database(connection: duckdb.DuckDBPyConnection, source: Source, path: Path) -> str:
    """One table of a DuckDB file, which is opened for reading only."""
    if not path.is_file():
        raise InvalidInputError(f"there is no file at {show(source.path)}", "check the path")
    alias = "file_" + hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    connection.execute(f"ATTACH IF NOT EXISTS {text(str(path))} AS {alias} (TYPE duckdb, READ_ONLY)")
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
        )
    return f"{alias}.{quoted(schema)}.{quoted(name)}"
