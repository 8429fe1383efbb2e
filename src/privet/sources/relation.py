"""One table as the engine sees it: which columns, of which type, and how a raw value is read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb

from privet.catalog.declarations import STATISTICAL, Table, listed, marks_of
from privet.core.claim import claim
from privet.core.rational import show
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.errors import InvalidInputError
from privet.sources.forms import NEVER, UNREADABLE, moment_sql, number_sql
from privet.spelling import did_you_mean

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
TELLS_APART = {"FLOAT": 2.0**24, "DOUBLE": 2.0**53}  # from here on whole numbers that differ can be the same float
UNIT_COLUMN = " unit"  # of a relation, where the unit is also declared; no declared name begins with a space
NOTHING = '"NULL"'  # the type of a column without any value
LABELED = " with labels"  # behind the type of a column whose codes are read as their labels
MIXED = "mixed"  # recorded where the files of a folder have different types
LOOKS = r"(\\+)(x[0-9a-f]{2}|ud[89a-f][0-9a-f]{2})"  # like a byte or half a surrogate pair that is spelled out
HALF = re.compile("[\ud800-\udfff]")
BACKSLASHES = re.compile(r"(\\+)(?=x[0-9a-f]{2}|ud[89a-f][0-9a-f]{2}|[\ud800-\udfff])")
NUMBER_TEXT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """A relation that can be read, and the DuckDB types of its columns: the declared ones and the unit's.

    Types: VARCHAR, BOOLEAN, whole numbers, FLOAT, DOUBLE, DECIMAL(p,s), DATE, TIMESTAMP; nothing else.
    """

    relation: str
    types: Mapping[str, str]
    files: tuple[Path, ...] = ()  # read in place whenever a query runs
    unclosed: int = 0  # the line of the record in which the file ends inside a quoted field, if it does
    ragged: int = 0  # rows with fewer fields than the header, or with text behind its last column; lines without a row
    absent: tuple[str, ...] = ()  # wanted columns that no row has anything to say about, where rows name their columns
    array: bool = False  # lines of JSON that are those of one array
    beside: Mapping[str, Raw] = field(default_factory=dict)  # other tables that can be read together with it

    def unit(self, table: Table) -> tuple[str, str]:
        """The column that names the unit, and its type. It is not the declared column of that name, whose texts may
        have been cleaned as numbers or dates: two people could become one."""
        assert table.unit is not None  # noqa: S101  # nobody asks where rows are units
        name = UNIT_COLUMN if UNIT_COLUMN in self.types else table.unit
        return name, self.types[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A column of a relation: its name there and in the source, and its declared kind; None for the unit."""

    name: str
    source: str
    kind: Kind | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A column of a source, in SQL. Fields are trimmed; texts that Privet has written are spelled already."""

    sql: str
    type: str
    trimmed: bool = False
    spelled: bool = False


def relation_name(table: Table) -> str:
    """The same for the same table, and safe whatever the table is called."""
    return "raw_" + hashlib.sha256(table.name.casefold().encode()).hexdigest()[:24]


def wanted(table: Table) -> list[Wanted]:
    """The columns to read: what is declared, and the unit by itself."""
    columns = [Wanted(name=name, source=name, kind=kind) for name, kind in table.columns.items()]
    if table.unit is not None:
        name = UNIT_COLUMN if table.unit in table.columns else table.unit
        columns.append(Wanted(name=name, source=table.unit, kind=None))
    return columns


def positions(table: Table, names: Sequence[str], hint: str) -> list[int]:
    """Where the wanted columns stand in a source. Names are compared exactly; a second one like it is refused."""
    found = []
    for name in (column.source for column in wanted(table)):
        alike = [place for place, other in enumerate(names) if other.casefold() == name.casefold()]
        if len(alike) > 1:
            raise wrong(name, "appears more than once", "give the columns different names", "duplicate-name")
        if not alike or names[alike[0]] != name:
            near = f"; it has {show(names[alike[0]])}" if alike else ""
            raise wrong(name, f"is not in the data{near}", did_you_mean(name, names) + hint, "unknown-column")
        found.append(alike[0])
    return found


def expected(table: Table) -> Raw:
    """As the table is read if its types are those that were recorded; files of texts have none."""
    known = {
        column.name: given_type(table, column, table.types.get(column.source, "VARCHAR")) for column in wanted(table)
    }
    columns = [Given(sql="", type="VARCHAR" if type_ == MIXED else type_) for type_ in known.values()]
    types = {name: "VARCHAR" if known[name] == MIXED else read for name, read in projection(table, columns)[1].items()}
    return Raw(relation=relation_name(table), types=types)


def given_type(table: Table, column: Wanted, word: str) -> str:
    """The type of a column whose recorded word is this. Of SAS, SPSS and Stata files categories and texts are read as
    texts: numbers may be codes there, and have labels."""
    if table.source.kind not in STATISTICAL:
        return word
    base = word.removesuffix(LABELED)
    codes = word != base or base == "DOUBLE"
    return "VARCHAR" if codes and isinstance(column.kind, Category | Text) else base


def projection(table: Table, columns: Sequence[Given]) -> tuple[str, dict[str, str]]:
    """The select list that reads the wanted columns from those of a source, and the types it gives."""
    items, result = [], {}
    for column, given in zip(wanted(table), columns, strict=True):
        sql, result[column.name] = read(table, column, given)
        items.append(f"{sql} AS {quoted(column.name)}")
    return ", ".join(items), result


def recorded(type_: str) -> str:
    """The word by which a type is remembered: types that are read alike have the same. It never spells out a value."""
    base = "" if type_.endswith("]") else type_.partition("(")[0]
    return NOTHING if base == NOTHING else FIRST[base][1] if base in FIRST else type_


def check_recorded(table: Table, types: Mapping[str, str], where: str = "") -> None:
    """Refuse a source whose types are not those that were recorded. A column without any value fits every type."""
    for name, type_ in types.items():
        old, new = table.types.get(name, MIXED), recorded(type_)
        if new not in (old, NOTHING) and old != MIXED:
            raise wrong(
                name,
                f"{where}is {_word(new)}, but {_word(old)} was recorded when the table was added",
                "write the data with the old type, or record the new type: run `privet update VAULT TABLE`"
                " (in Python: vault.update_table), which raises the table's version",
                "data-changed",
            )


def read(table: Table, column: Wanted, column_given: Given) -> tuple[str, str]:
    """One column as SQL, and the type it gives."""
    name, sql, given = column.source, column_given.sql, column_given.type
    base = "" if given.endswith("]") else given.partition("(")[0]
    if column.kind is None and base in NANOSECONDS:  # cut to microseconds, two units could become one
        raise wrong(
            name,
            "holds nanoseconds, which cannot be read as a unit",
            "store the unit as texts or numbers",
            "unsupported-type",
        )
    if base in FIRST:
        rule, given = FIRST[base]
        sql, base = rule.format(sql), given
    _check_readable(column, base, given)
    if base in TEXT:
        sql = _text(sql, column, column_given)
    if base in CALENDAR:  # the engine fails on the text of some moments beyond it
        low, high = CALENDAR[base]
        sql = f"CASE WHEN {sql} BETWEEN {low} AND {high} THEN {sql} END"
    sql = _without_codes(sql, base, [*table.source.missing, *table.missing.get(name, ())])
    if base in TEXT:
        return _in_form(sql, table, column)
    if base in FLOATS and column.kind is None:  # NaN and what is too large are nobody, and -0.0 is the unit 0.0
        return f"CASE WHEN abs({sql}) < {TELLS_APART[base]!r} THEN {sql} + 0 END", given
    return sql, given


def _in_form(sql: str, table: Table, column: Wanted) -> tuple[str, str]:
    """A text, as it is to be read on, and the type it then has."""
    writing = table.writing.get(column.name)
    match column.kind:
        case Integer() | Number() if writing is not None:
            return number_sql(sql, *marks_of(writing, table.source), writing.marks), "VARCHAR"
        case Integer() | Number():
            return _plain_number(sql, table.source.decimal, table.source.thousands), "VARCHAR"
        case Date() | Timestamp() as kind if writing is not None:
            type_ = "DATE" if isinstance(kind, Date) else "TIMESTAMP"
            return moment_sql(sql, writing.date_format, writing.offset, type_), type_
        case Date() if table.source.date_format is not None:
            day = f"CAST(try_strptime(trim({sql}, ' '), {text(table.source.date_format)}) AS DATE)"
            return f"coalesce({day}, CASE WHEN {sql} IS NOT NULL THEN DATE '{NEVER}' END)", "DATE"
        case _:
            return sql, "VARCHAR"


def _text(sql: str, column: Wanted, given: Given) -> str:
    """A text as it is. Of a unit, what looks like a spelled-out byte is written so that it differs, see `spelled`."""
    if given.trimmed:
        sql = f"nullif(trim({sql}, ' '), '')"
    if column.kind is None and not given.spelled:
        sql = f"CASE WHEN contains({sql}, '\\') THEN regexp_replace({sql}, '{LOOKS}', '\\1\\1\\2', 'g') ELSE {sql} END"
    # A column's own collation must not decide which texts are equal.
    return sql if given.trimmed else f'({sql} COLLATE "binary")'


@claim("ids-stay-different")
def spelled(value: str, *, unit: bool) -> str:
    """A text without halves of surrogate pairs, which no engine can hold: they are spelled out, and so are bytes that
    an encoding did not know, which come as U+DC00 and more.

    In a unit, backslashes before what is spelled out, or looks so, are doubled: no two texts become one."""
    if unit and "\\" in value:
        value = BACKSLASHES.sub(r"\1\1", value)
    return value if value.isascii() else HALF.sub(_spelled_half, value)


def _spelled_half(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code - 0xDC00:02x}" if 0xDC00 <= code <= 0xDCFF else f"\\u{code:04x}"


def written(sql: str, type_: str, kind: Kind | None) -> str:
    """A value that was read as this type, as the text that `rows.as_text` would write."""
    base = type_.partition("(")[0]
    if base in FLOATS:
        return (
            f"CASE WHEN abs({sql}) < {TELLS_APART['DOUBLE']!r} AND {sql} = trunc({sql})"
            f" THEN CAST(TRY_CAST({sql} AS BIGINT) AS VARCHAR)"
            f" WHEN isnan({sql}) THEN NULL WHEN isinf({sql}) THEN CASE WHEN {sql} > 0 THEN '1e999' ELSE '-1e999' END"
            f" ELSE CAST(CAST({sql} AS DOUBLE) AS VARCHAR) END"
        )
    plain = f"CAST({sql} AS VARCHAR)"
    if base == "DECIMAL":
        return f"CASE WHEN contains({plain}, '.') THEN rtrim(rtrim({plain}, '0'), '.') ELSE {plain} END"
    if base == "TIMESTAMP" and not isinstance(kind, Timestamp):
        day = f"CAST(CAST({sql} AS DATE) AS VARCHAR)"
        return (
            day if isinstance(kind, Date) else f"CASE WHEN {sql} = date_trunc('day', {sql}) THEN {day} ELSE {plain} END"
        )
    return plain


def _check_readable(column: Wanted, base: str, given: str) -> None:
    allowed = UNIT if column.kind is None else READABLE[type(column.kind)]
    if base not in allowed:
        what = "a unit" if column.kind is None else type(column.kind).__name__
        problem = f"holds {_word(given)}, which cannot be read as {what}"
        raise wrong(column.source, problem, f"store it as {listed(allowed)}", "unsupported-type")


def _word(given: str) -> str:
    """A type for people. Of an ENUM or STRUCT only the first word: the rest spells out values."""
    if given.startswith("DECIMAL"):
        return given
    word = re.match(r"[A-Za-z_ ]*", given)
    return (word.group() if word else "").strip() or "a nested type"


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
        sql = f"CASE WHEN contains({sql}, '.') THEN '{UNREADABLE}' ELSE replace({sql}, ',', '.') END"
    return sql


def wrong(column: str, problem: str, remedy: str, code: str) -> InvalidInputError:
    return InvalidInputError(f"column {show(column)} {problem}", remedy, code)


def unreadable() -> InvalidInputError:
    """One constant text: an engine's own message may quote the data."""
    return InvalidInputError(
        "the data cannot be read", "check that the file is complete and of the declared kind", "unreadable-file"
    )


def check_complete(raw: Raw) -> None:
    """For the owner: raise InvalidInputError where a file says less than it seems to."""
    if raw.unclosed:
        raise InvalidInputError(
            f"the file ends inside a quoted field of the record that begins in line {raw.unclosed:,}",
            "close the quote: it swallows every row after it",
            "unclosed-quote",
        )
    if raw.array:
        raise one_array()
    if raw.absent:
        raise wrong(
            raw.absent[0],
            "is in no line of the file",
            "check the name; each line must be one JSON object",
            "unknown-column",
        )


def odd_rows(kind: str, ragged: int) -> str:
    """What to tell the owner of rows, or lines, that do not fit; nothing where all do."""
    if not ragged:
        return ""
    if kind == "json":
        return f"{'1 line is' if ragged == 1 else f'{ragged:,} lines are'} no JSON object, and so no row"
    return f"{'1 row has' if ragged == 1 else f'{ragged:,} rows have'} more or fewer fields than the header"


def one_array() -> InvalidInputError:
    return InvalidInputError(
        "the file is one JSON array, and only JSON lines are read: an object in each line",
        "write it anew, for example with jq -c '.[]' FILE > data.jsonl",
        "unsupported-format",
    )


def extra(module: str, what: str) -> Any:
    """A library that is not among those that Privet needs."""
    try:
        return import_module(module)
    except ImportError:
        library = module.partition(".")[0]
        raise InvalidInputError(
            f"{what} is read with {library}, which is not installed",
            'run `pip install "privet[sources]"`',
            "missing-extra",
        ) from None


def described(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[str, str]]:
    """Names and types of a query's columns."""
    return [(row[0], row[1]) for row in connection.execute(f"DESCRIBE {query}").fetchall()]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
