"""Makes a declared table readable, whatever keeps its rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import assert_never

import duckdb

from privet.core.rational import show
from privet.declarations import Table, inside
from privet.errors import InvalidInputError
from privet.sources import delimited, excel, files, frames
from privet.sources.relation import Raw, unreadable


def attach(connection: duckdb.DuckDBPyConnection, table: Table, base: Path, memory: Mapping[str, object]) -> Raw:
    """Make the table readable on this connection. `base` is the folder that holds the vault; `memory` maps the names
    of tables to data frames.

    CSV, Excel and data frames are copied into the engine; Parquet and DuckDB files are read where they are.
    No text of the engine leaves: it may quote the data.
    """
    try:
        return _attach(connection, table, base, memory)
    except (duckdb.Error, OSError, EOFError, UnicodeError):
        raise inside(f"table {show(table.name)}", unreadable()) from None
    except InvalidInputError as error:
        raise inside(f"table {show(table.name)}", error) from None


def _attach(connection: duckdb.DuckDBPyConnection, table: Table, base: Path, memory: Mapping[str, object]) -> Raw:
    match table.source.kind:
        case "csv":
            return delimited.load(connection, table, table.source.locate(base))
        case "excel":
            return excel.load(connection, table, table.source.locate(base))
        case "parquet" | "duckdb":
            return files.view(connection, table, table.source.locate(base))
        case "memory":
            return frames.load(connection, table, memory)
        case _:
            assert_never(table.source.kind)
