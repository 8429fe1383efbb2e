"""One table as the engine sees it: which columns, of which type, and how a raw value is read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from privet.core.rational import show
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.declarations import Table, listed
from privet.errors import InvalidInputError

WHOLE = {f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")}
FLOATS = {"FLOAT", "DOUBLE"}
NUMBERS = WHOLE | FLOATS | {"DECIMAL"}
TIMES = {"DATE", "TIMESTAMP"}
TEXT = {"VARCHAR"}
READABLE: dict[type[Kind], set[str]] = {
    Integer: NUMBERS | TEXT | {"BOOLEAN"},
    Number: NUMBERS | TEXT | {"BOOLEAN"},
    Boolean: NUMBERS | TEXT | {"BOOLEAN"},
    Category: WHOLE | TEXT | {"BOOLEAN", "DATE"},  # the text of a float or a time differs between engines
    Text: WHOLE | TEXT | {"BOOLEAN", "DATE"},
    Date: TIMES | TEXT,
    Timestamp: TIMES | TEXT,
}
UNIT = NUMBERS | TEXT | TIMES | {"BOOLEAN"}
CALENDAR = {
    "DATE": ("DATE '0001-01-01'", "DATE '9999-12-31'"),
    "TIMESTAMP": ("TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'"),
}
IN_UTC = (
    "(CASE WHEN {0} BETWEEN TIMESTAMPTZ '0001-01-01 00:00:00+00' AND TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'"
    " THEN {0} END AT TIME ZONE 'UTC')"
)
# Types that are first read as one of the above. Each rule gives NULL rather than an error.
FIRST = {
    "ENUM": ("CAST({} AS VARCHAR)", "VARCHAR"),
    "UUID": ("CAST({} AS VARCHAR)", "VARCHAR"),
    '"NULL"': ("CAST({} AS VARCHAR)", "VARCHAR"),
    "TIMESTAMP_S": ("TRY_CAST({} AS TIMESTAMP)", "TIMESTAMP"),
    "TIMESTAMP_MS": ("TRY_CAST({} AS TIMESTAMP)", "TIMESTAMP"),
    "TIMESTAMP_NS": ("TRY_CAST({} AS TIMESTAMP)", "TIMESTAMP"),
    "TIMESTAMP WITH TIME ZONE": (IN_UTC, "TIMESTAMP"),
    "TIMESTAMPTZ_NS": (IN_UTC.format("TRY_CAST({0} AS TIMESTAMPTZ)"), "TIMESTAMP"),
}
NANOSECONDS = {"TIMESTAMP_NS", "TIMESTAMPTZ_NS"}
NUMBER_TEXT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """A relation that can be read, and the DuckDB types of its columns: the declared ones and the unit's.

    Types: VARCHAR, BOOLEAN, whole numbers, FLOAT, DOUBLE, DECIMAL(p,s), DATE, TIMESTAMP; nothing else.
    """

    relation: str
    types: Mapping[str, str]
    files: tuple[Path, ...] = ()  # read in place whenever a query runs
    unclosed: bool = False  # the file ends inside a quoted field
    ragged: int = 0  # rows with fewer fields than the header, or with text behind its last column
    beside: Mapping[str, Raw] = field(default_factory=dict)  # other tables that can be read together with it


def relation_name(table: Table) -> str:
    """The same for the same table, and safe whatever the table is called."""
    return "raw_" + hashlib.sha256(table.name.casefold().encode()).hexdigest()[:24]


def wanted(table: Table) -> list[str]:
    """The columns to read: what is declared, and the unit."""
    return list(dict.fromkeys([*table.columns, *([table.unit] if table.unit is not None else [])]))


def positions(table: Table, names: Sequence[str], hint: str) -> list[int]:
    """Where the wanted columns stand in a source. Names are compared exactly; a second one like it is refused."""
    found = []
    for name in wanted(table):
        alike = [place for place, other in enumerate(names) if other.casefold() == name.casefold()]
        if len(alike) > 1:
            raise _wrong(name, "stands there more than once", "give the columns different names")
        if not alike or names[alike[0]] != name:
            near = f"; it has {show(names[alike[0]])}" if alike else ""
            raise _wrong(name, f"is not in the data{near}", hint)
        found.append(alike[0])
    return found


def projection(table: Table, types: Sequence[str], inputs: Sequence[str], *, typed: bool) -> tuple[str, dict[str, str]]:
    """The select list that reads the wanted columns from SQL `inputs` of these types, and the types it gives."""
    items, result = [], {}
    for name, given, sql in zip(wanted(table), types, inputs, strict=True):
        item, result[name] = _read(table, name, given, sql, typed=typed)
        items.append(f"{item} AS {quoted(name)}")
    return ", ".join(items), result


def _read(table: Table, name: str, given: str, sql: str, *, typed: bool) -> tuple[str, str]:
    base = "" if given.endswith("]") else given.partition("(")[0]
    if name == table.unit and base in NANOSECONDS:  # cut to microseconds, two units could become one
        raise _wrong(name, "holds nanoseconds, which cannot be read as a unit", "store the unit as text or numbers")
    if base in FIRST:
        rule, given = FIRST[base]
        sql, base = rule.format(sql), given
    _check_readable(table, name, base, given)
    if base in TEXT and typed:  # or a column's own collation would decide which texts are equal
        sql = f'({sql} COLLATE "binary")'
    elif base in TEXT:
        sql = f"nullif(trim({sql}, ' '), '')"
    if base in CALENDAR:  # the engine fails on the text of some moments beyond it
        low, high = CALENDAR[base]
        sql = f"CASE WHEN {sql} BETWEEN {low} AND {high} THEN {sql} END"
    sql = _without_codes(sql, base, [*table.source.missing, *table.missing.get(name, ())])
    declared = table.columns.get(name)
    if base in TEXT and isinstance(declared, Integer | Number):
        return _plain_number(sql, table.source.decimal, table.source.thousands), given
    if base in TEXT and isinstance(declared, Date) and table.source.date_format is not None:
        return f"CAST(try_strptime(trim({sql}, ' '), {text(table.source.date_format)}) AS DATE)", "DATE"
    if base in FLOATS and name == table.unit:  # NaN is nobody, and -0.0 is the unit 0.0
        return f"CASE WHEN isnan({sql}) THEN NULL ELSE {sql} + 0 END", given
    return sql, given


def _check_readable(table: Table, name: str, base: str, given: str) -> None:
    kind = table.columns.get(name)
    allowed = UNIT if kind is None else READABLE[type(kind)]
    if base not in allowed or (name == table.unit and base not in UNIT):
        # Only the first word of the type: an ENUM or STRUCT type spells out values.
        word = re.match(r"[A-Z_ ]*", given)
        shown = (word.group() if word else "").strip() or "a nested type"
        what = "a unit" if kind is None else type(kind).__name__
        raise _wrong(name, f"holds {shown}, which cannot be read as {what}", f"store it as {listed(allowed)}")


def _without_codes(sql: str, base: str, codes: Sequence[str]) -> str:
    """NULL where the value is a code for "missing". Numbers are compared as numbers: 999 is 999.0."""
    if base in NUMBERS:
        codes = [code for code in codes if NUMBER_TEXT.fullmatch(code.strip())]
    if not codes or base == "BOOLEAN":
        return sql
    type_ = "FLOAT" if base == "FLOAT" else "DOUBLE" if base in NUMBERS else "VARCHAR"
    given = ", ".join(f"TRY_CAST({text(code)} AS {type_})" for code in codes)
    return f"CASE WHEN CAST({sql} AS {type_}) IN ({given}) THEN NULL ELSE {sql} END"


def _plain_number(sql: str, decimal: str, thousands: str) -> str:
    """A number's text with a point and nothing between the thousands. "1.5" is no number where the comma is decimal."""
    if thousands:
        sql = f"replace({sql}, {text(thousands)}, '')"
    if decimal == ",":
        sql = f"CASE WHEN contains({sql}, '.') THEN NULL ELSE replace({sql}, ',', '.') END"
    return sql


def _wrong(column: str, problem: str, remedy: str) -> InvalidInputError:
    return InvalidInputError(f"column {show(column)} {problem}", remedy)


def unreadable() -> InvalidInputError:
    """One constant text: an engine's own message may quote the data."""
    return InvalidInputError("the data cannot be read", "check that the file is complete and of the declared kind")


def described(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[str, str]]:
    """Names and types of a query's columns."""
    return [(row[0], row[1]) for row in connection.execute(f"DESCRIBE {query}").fetchall()]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
