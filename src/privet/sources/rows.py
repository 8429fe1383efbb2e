"""Rows of Python values become a table of texts, a piece at a time."""
# ruff: noqa: S608  every name in a statement is quoted or generated here

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import islice

import duckdb
import numpy as np

from privet.core.schema import Date, Kind, Timestamp
from privet.declarations import Table
from privet.sources.relation import Raw, projection, quoted, relation_name

PIECE = 20_000  # rows at a time
PIECE_NAME = "privet_piece"


def insert(
    connection: duckdb.DuckDBPyConnection, table: Table, places: Sequence[int], rows: Iterable[Sequence[str | None]]
) -> Raw:
    """A table of texts from the fields at these places. Short rows are padded, further fields are ignored."""
    columns = [f"c{number}" for number in range(len(places))]
    inputs = [f"CAST({column} AS VARCHAR)" for column in columns]  # a piece without any value has no type
    select, types = projection(table, ["VARCHAR"] * len(places), inputs, typed=False)
    name = relation_name(table)
    declared = ", ".join(f"{quoted(column)} {type_}" for column, type_ in types.items())
    connection.execute(f"CREATE OR REPLACE TABLE {name} ({declared})")
    remaining = iter(rows)
    while piece := list(islice(remaining, PIECE)):
        fields = [[row[place] if place < len(row) else None for row in piece] for place in places]
        _put(
            connection, dict(zip(columns, fields, strict=True)), f"INSERT INTO {name} SELECT {select} FROM {PIECE_NAME}"
        )
    return Raw(relation=name, types=types)


def _put(connection: duckdb.DuckDBPyConnection, columns: dict[str, list[str | None]], statement: str) -> None:
    """Run a statement that reads these columns from PIECE_NAME."""
    connection.register(PIECE_NAME, {name: np.array(values, dtype=object) for name, values in columns.items()})
    try:
        connection.execute(statement)
    finally:
        connection.unregister(PIECE_NAME)


def as_text(value: object, kind: Kind | None) -> str | None:
    """The text of a value from a sheet or a column of mixed values; None for what is missing or has no plain text."""
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()  # half a surrogate pair becomes "?"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if value.bit_length() < 10_000 else _infinite(value > 0)
        case float() | Decimal():
            return _number_text(value)
        case dt.datetime() | dt.date():
            return _time_text(value, kind)
        case _:
            return None


def _number_text(value: float | Decimal) -> str | None:
    if value.is_nan() if isinstance(value, Decimal) else math.isnan(value):
        return None
    if math.isinf(value):
        return _infinite(value > 0)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))  # 3.0 in a sheet is a 3
    return str(value)


def _infinite(above: bool) -> str:
    return "1e999" if above else "-1e999"  # beyond every bound, so it is clamped


def _time_text(value: dt.date, kind: Kind | None) -> str | None:
    if value != value:  # noqa: PLR0124  pandas' NaT is a datetime, and unequal to itself
        return None
    time = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
    if time.tzinfo is not None:
        try:
            time = time.astimezone(dt.UTC).replace(tzinfo=None)
        except OverflowError:  # in the year 0 or 10000
            return None
    midnight = time.time() == dt.time()
    if isinstance(kind, Date) or (midnight and not isinstance(kind, Timestamp)):
        return time.date().isoformat()
    return time.isoformat(sep=" ", timespec="microseconds")
