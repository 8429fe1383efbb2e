"""Rows of Python values become a table of texts, a piece at a time."""
# ruff: noqa: S608  every name in a statement is quoted or generated here

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import islice
from types import NoneType

import duckdb
import numpy as np

from privet.catalog.declarations import Table
from privet.core.claim import claim
from privet.core.schema import Date, Kind, Timestamp
from privet.sources.relation import TELLS_APART, Given, Raw, projection, quoted, relation_name, spelled, wanted

PIECE = 20_000  # rows at a time
PIECE_NAME = "privet_piece"
DIGITS = 400  # of a whole number that is written; no float reaches it
PLAIN = (str, int, float, Decimal, dt.date, uuid.UUID, NoneType)  # what has a text, or is missing


def create(connection: duckdb.DuckDBPyConnection, table: Table) -> Raw:
    """An empty table of texts, for `insert`."""
    name = relation_name(table)
    _, types = projection(table, [Given(sql="", type="VARCHAR") for _ in wanted(table)])
    declared = ", ".join(f"{quoted(column)} {type_}" for column, type_ in types.items())
    connection.execute(f"CREATE OR REPLACE TABLE {name} ({declared})")
    return Raw(relation=name, types=types)


def insert(
    connection: duckdb.DuckDBPyConnection, table: Table, places: Sequence[int], rows: Iterable[Sequence[str | None]]
) -> None:
    """Add rows to a table of texts, from the fields at these places. Short rows are padded, further fields ignored."""
    columns = [f"c{number}" for number in range(len(places))]
    inputs = [  # a piece without any value has no type
        Given(sql=f"CAST({column} AS VARCHAR)", type="VARCHAR", trimmed=True, spelled=True) for column in columns
    ]
    select, _ = projection(table, inputs)
    units = [column.kind is None for column in wanted(table)]
    statement = f"INSERT INTO {relation_name(table)} SELECT {select} FROM {PIECE_NAME}"
    remaining = iter(rows)
    while piece := list(islice(remaining, PIECE)):
        fields = [[row[place] if place < len(row) else None for row in piece] for place in places]
        fields = [
            [field and spelled(field, unit=unit) for field in column]
            for unit, column in zip(units, fields, strict=True)
        ]
        _put(connection, dict(zip(columns, fields, strict=True)), statement)


def _put(connection: duckdb.DuckDBPyConnection, columns: dict[str, list[str | None]], statement: str) -> None:
    """Run a statement that reads these columns from PIECE_NAME."""
    connection.register(PIECE_NAME, {name: np.array(values, dtype=object) for name, values in columns.items()})
    try:
        connection.execute(statement)
    finally:
        connection.unregister(PIECE_NAME)


class Moment(dt.datetime):
    """A time of numpy. `nanosecond` is what is left below a microsecond, as in times of pandas; -1 if it is finer."""

    nanosecond: int = 0


def plain(value: object) -> object:
    """A value of numpy or pandas as Python's own. Times go before all others: numpy calls a fine one a number."""
    if isinstance(value, np.datetime64):
        return _moment(value)
    if isinstance(value, np.longdouble):
        near = float(value)
        same = near == value or not math.isfinite(near) or abs(near) >= TELLS_APART["DOUBLE"]
        return near if same else Decimal(np.format_float_positional(value))
    if isinstance(value, np.floating):
        return float(value)
    if isinstance(value, np.generic) and not isinstance(value, np.timedelta64):
        return value.item()
    return None if type(value).__name__ == "NAType" else value


def _moment(value: np.datetime64) -> Moment | None:
    finer = np.datetime_data(value.dtype)[0] in ("ps", "fs", "as")
    kept = value.astype("datetime64[ns]") if finer else value
    year = int(kept.astype("datetime64[Y]").astype(np.int64)) + 1970  # NaT is far beyond the calendar
    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        return None
    cut = kept.astype("datetime64[us]")
    time: dt.datetime = cut.item()
    moment = Moment.combine(time.date(), time.time())
    moment.nanosecond = -1 if kept != value else int((kept - cut) / np.timedelta64(1, "ns"))
    return moment


@claim("ids-stay-different")
def as_text(value: object, kind: Kind | None) -> str | None:
    """The text of a value from a sheet or a column of mixed values; None for what is missing or has no plain text.

    Values that are equal have equal texts, or one person could be many; true and false are not the numbers 1 and 0.
    Without a kind it is the text of a unit: there, values that differ have different texts or none.
    """
    match value := plain(value):
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float() | Decimal():
            return _number_text(value, unit=kind is None)
        case dt.datetime() | dt.date():
            return _time_text(value, kind)
        case uuid.UUID():
            return str(value)
        case _:
            return None


def _number_text(value: float | Decimal, *, unit: bool) -> str | None:
    """Whole numbers by their digits, others by all their digits; of a float those with which it is written.

    What is too long, or a float that does not tell its neighbors apart, is nobody."""
    exact = Decimal(repr(float(value))) if isinstance(value, float) else Decimal(value)
    if exact.is_nan() or (unit and isinstance(value, float) and abs(value) >= TELLS_APART["DOUBLE"]):
        return None
    if exact.is_infinite() or exact.adjusted() >= DIGITS:
        return None if unit else "1e999" if exact > 0 else "-1e999"  # beyond every bound, so it is clamped
    if exact.adjusted() < -DIGITS and exact != 0:
        return None if unit else "0"
    if exact == exact.to_integral_value():
        return str(int(value))
    return format(exact, "f").rstrip("0")


def _time_text(value: dt.date, kind: Kind | None) -> str | None:
    if not dt.MINYEAR <= value.year <= dt.MAXYEAR:  # pandas has later years, and NaT is in none
        return None
    time = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
    finer = getattr(value, "nanosecond", 0) if kind is None else 0
    if time.tzinfo is not None:
        try:
            time = time.astimezone(dt.UTC).replace(tzinfo=None)
        except OverflowError:  # in the year 0 or 10000
            return None
    midnight = time.time() == dt.time() and not finer
    if isinstance(kind, Date) or (midnight and not isinstance(kind, Timestamp)):
        return time.date().isoformat()
    return None if finer < 0 else time.isoformat(sep=" ", timespec="microseconds") + (f"{finer:03}" if finer else "")
