"""Makes a declared table readable, whatever keeps its rows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import assert_never

import duckdb

from privet.catalog.declarations import Table, inside
from privet.catalog.file_kinds import find
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.sources import arrow_file, delimited, excel, files, frames, json_lines, sqlite_file, statistical
from privet.sources.limits import BLOCK, check_file
from privet.sources.relation import Raw, unreadable

Stamp = tuple[tuple[str | int, ...], ...]


def attach(connection: duckdb.DuckDBPyConnection, table: Table, base: Path, memory: Mapping[str, object]) -> Raw:
    """Make the table readable on this connection. `base` is the folder that holds the vault; `memory` maps the names
    of tables to data frames.

    CSV, Excel and data frames are copied into the engine; Parquet and DuckDB files are read where they are.
    No text of the engine leaves: it may quote the data.
    """
    with _told(table):
        return _attach(connection, table, base, memory)


def types_of(
    connection: duckdb.DuckDBPyConnection, table: Table, base: Path, memory: Mapping[str, object]
) -> dict[str, str]:
    """The types of the wanted columns, to be recorded; none where all are texts. No row is read.

    Raises InvalidInputError if the table cannot be attached, or if its types are not those that were recorded."""
    stamp(table, base)
    with _told(table):
        match table.source.kind:
            case "csv":
                delimited.check_header(table, table.source.locate(base))
            case "excel":
                excel.check_header(table, table.source.locate(base))
            case "sqlite":
                sqlite_file.check_header(table, table.source.locate(base))
            case "json":  # each line says itself what it has
                pass
            case "arrow":
                return arrow_file.types_of(connection, table, table.source.locate(base))
            case "sas" | "spss" | "stata":
                return statistical.types_of(table, table.source.locate(base))
            case "parquet" | "duckdb":
                parts, _ = files.find_parts(connection, table, table.source.locate(base))
                files.check_types(table, parts)
                files.selected(table, parts)
                return files.types_of(table, parts)
            case "memory":
                return frames.types_of(connection, table, memory)
            case _:
                assert_never(table.source.kind)
        return {}


def digest(table: Table, base: Path, key: bytes) -> str:
    """Names the content of the files, to those who have the key. For the owner: it reads them."""
    made = hashlib.blake2b(key=key)
    with _told(table):
        for name, *_ in stamp(table, base):
            size = Path(str(name)).stat().st_size
            made.update(size.to_bytes(16, "big"))
            with Path(str(name)).open("rb") as file:
                while block := file.read(BLOCK):
                    made.update(block)
    return made.hexdigest()


def stamp(table: Table, base: Path) -> Stamp:
    """What changes whenever a file does: its name, device, number, size and time. No content is read."""
    if table.source.kind == "memory":
        return ()
    with _told(table):
        path = table.source.locate(base)
        check_file(path)
        found = find(path, table.source.kind)
        if not found or not all(file.is_file() for file in found):
            raise InvalidInputError(
                f"there is no file at {show(table.source.path)}",
                "check the path, or put the file back; if it is elsewhere now, run `privet update VAULT TABLE FILE`",
                "missing-file",
            )
        closed = [file.name for file in found if not os.access(file, os.R_OK)]
        if closed:
            raise InvalidInputError(
                f"file {show(closed[0])} cannot be read: permission denied", "check its permissions", "unreadable-file"
            )
        endings = {"sqlite": "-wal", "duckdb": ".wal"}  # of the file where changes wait that are not in it yet
        log = path.with_name(path.name + endings.get(table.source.kind, ""))
        logs = (log,) if log != path and log.exists() else ()
        return tuple((str(file), *_marks(file.stat())) for file in (*found, *logs))


def _marks(found: os.stat_result) -> tuple[int, int, int, int]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def _told(table: Table) -> Iterator[None]:
    """Every error names the table, and none quotes data."""
    try:
        yield
    except (duckdb.Error, OSError, EOFError, UnicodeError):
        raise inside(f"table {show(table.name)}", unreadable()) from None
    except InvalidInputError as error:
        raise inside(f"table {show(table.name)}", error) from None


def _attach(connection: duckdb.DuckDBPyConnection, table: Table, base: Path, memory: Mapping[str, object]) -> Raw:
    match table.source.kind:
        case "csv":
            return delimited.load(connection, table, table.source.locate(base))
        case "json":
            return json_lines.load(connection, table, table.source.locate(base))
        case "excel":
            return excel.load(connection, table, table.source.locate(base))
        case "arrow":
            return arrow_file.load(connection, table, table.source.locate(base))
        case "sqlite":
            return sqlite_file.load(connection, table, table.source.locate(base))
        case "sas" | "spss" | "stata":
            return statistical.load(connection, table, table.source.locate(base))
        case "parquet" | "duckdb":
            return files.view(connection, table, table.source.locate(base))
        case "memory":
            return frames.load(connection, table, memory)
        case _:
            assert_never(table.source.kind)
