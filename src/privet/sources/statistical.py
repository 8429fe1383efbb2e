"""SAS, SPSS and Stata files, a piece at a time. What their own programs call missing is missing.

The engine gets numbers as floats, dates and times as such, and texts; of a column that is declared as a category or a
text it gets the label of each value, or the text of a number without one. Whether a column has labels stands in the
file's head, as types do: no row decides it.
"""
# ruff: noqa: S608  every name in a statement is quoted or generated here

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from privet.catalog.declarations import Source, Table
from privet.core.schema import Category, Kind, Text
from privet.sources.relation import (
    LABELED,
    Given,
    Raw,
    Wanted,
    check_recorded,
    extra,
    given_type,
    positions,
    projection,
    quoted,
    relation_name,
    unreadable,
    wanted,
    written,
    wrong,
)  # fmt: skip
from privet.sources.rows import PIECE_NAME, as_text

HINT = "check the name: these programs distinguish upper and lower case"
VALUES = 4_000_000  # values at a time, of all columns together
FEWEST = 10_000  # rows at a time: to reach its rows, each piece reads over those of all pieces before it
SPSS_DAY, OTHER_DAY = "1582-10-14", "1960-01-01"
SPSS = {"DATE": "ADATE DATE EDATE JDATE MOYR QYR SDATE WKYR", "TIMESTAMP": "DATETIME YMDHMS"}
SAS = {
    "DATE": r"DATE|(DDMMYY|MMDDYY|YYMMDD)[BCDNPS]?|(MMYY|YYMM)[CDNPS]?|[BE]8601DA|IS8601DA|JULIAN|MONYY|"
    r"NLDATE\w*|WEEKDAT[EX]|WORDDAT[EX]|YYMON|YYQ[CDNPRS]?",
    "TIMESTAMP": r"DATETIME|DATEAMPM|MDYAMPM|[BE]8601D[TZNX]|IS8601D[TZN]|NLDATM\w*|DT(DATE|MONYY|WKDATX|YEAR|YYQC)",
}
READERS = {
    "sas": "read_sas7bdat", ".xpt": "read_xport", "spss": "read_sav", ".por": "read_por", "stata": "read_dta",
}  # fmt: skip
STATA = {"DATE": r"%-?t?d.*", "TIMESTAMP": r"%-?t[cC].*"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A column: its name, its type for the engine, how many units a day has (0 if it is none), and labels of values."""

    name: str
    type: str
    day: float
    labels: Mapping[object, str]

    def word(self, kind: Kind | None) -> str:
        """What is recorded of it."""
        return self.type + (LABELED if self.labels and isinstance(kind, Category | Text) else "")


def load(connection: duckdb.DuckDBPyConnection, table: Table, path: Path) -> Raw:
    """Copy the declared columns, a piece at a time."""
    columns, found = _columns(table, path)
    check_recorded(table, _words(columns, found))
    start = SPSS_DAY if table.source.kind == "spss" else OTHER_DAY
    given = []
    for place, (column, one) in enumerate(zip(columns, found, strict=True)):
        type_ = given_type(table, column, one.word(column.kind))
        sql = _sql(f"c{place}", type_, one, start, column.kind)
        given.append(Given(sql=sql, type=type_, trimmed=type_ == "VARCHAR"))
    select, types = projection(table, given)
    relation = relation_name(table)
    declared = ", ".join(f"{quoted(name)} {type_}" for name, type_ in types.items())
    connection.execute(f"CREATE OR REPLACE TABLE {relation} ({declared})")
    for piece in _pieces(table.source, path, [column.source for column in columns]):
        values = [_values(piece[one.name], one, column.kind) for column, one in zip(columns, found, strict=True)]
        connection.register(PIECE_NAME, {f"c{place}": array for place, array in enumerate(values)})
        try:
            connection.execute(f"INSERT INTO {relation} SELECT {select} FROM {PIECE_NAME}")
        finally:
            connection.unregister(PIECE_NAME)
    return Raw(relation=relation, types=types)


def types_of(table: Table, path: Path) -> dict[str, str]:
    """The types to record. No row is read."""
    columns, found = _columns(table, path)
    words = _words(columns, found)
    check_recorded(table, words)
    types = [given_type(table, column, one.word(column.kind)) for column, one in zip(columns, found, strict=True)]
    projection(table, [Given(sql="c", type=type_) for type_ in types])
    return words


def schema(path: Path, source: Source) -> list[tuple[str, str]]:
    """Names and types of all columns, to draft a declaration: those of the codebook are texts."""
    listed = codebook(path, source)
    return [(one.name, "VARCHAR" if one.name in listed else one.type) for one in _variables(path, source)]


def codebook(path: Path, source: Source) -> Mapping[str, tuple[str, ...]]:
    """The labels of columns in which every value has one; in others, single values have a name, such as 99 for
    "refused". It reads all rows of columns with labels."""
    known = {one.name: one for one in _variables(path, source)}
    labeled = {name for name, one in known.items() if one.labels}
    for piece in _pieces(source, path, sorted(labeled)) if labeled else ():
        for name in sorted(labeled):
            values = set(piece[name]) - {None, ""}
            labeled -= {name} if values - set(known[name].labels) else set()
    return {name: tuple(dict.fromkeys(known[name].labels.values())) for name in labeled}


def _columns(table: Table, path: Path) -> tuple[list[Wanted], list[Variable]]:
    """The wanted columns, and what the file says of each."""
    known = _variables(path, table.source)
    places = positions(table, [one.name for one in known], HINT)
    columns, found = wanted(table), [known[place] for place in places]
    for column, one in zip(columns, found, strict=True):
        if column.kind is None and one.day:  # cut to days or microseconds, two units could become one
            raise wrong(
                column.source,
                "holds dates or times, which cannot be read as a unit",
                "store the unit as texts or numbers",
                "unsupported-type",
            )
    return columns, found


def _words(columns: Sequence[Wanted], found: Sequence[Variable]) -> dict[str, str]:
    """What is recorded. A unit that is declared as a column as well is recorded as that: it says more."""
    pairs = sorted(zip(columns, found, strict=True), key=lambda pair: pair[0].kind is not None)
    return {column.source: one.word(column.kind) for column, one in pairs}


def _variables(path: Path, source: Source) -> list[Variable]:
    _, head = _read(path, source, metadataonly=True)
    labels = head.variable_value_labels if source.labels else {}
    result = []
    for name in head.column_names:
        moment, day = _moment(source.kind, str(head.original_variable_types.get(name) or ""))
        is_text = head.readstat_variable_types.get(name) == "string"
        type_ = "VARCHAR" if is_text else moment or "DOUBLE"
        own = {} if moment else labels.get(name, {})
        said = {code: label.strip() for code, label in own.items() if str(label).strip()}
        result.append(Variable(name=name, type=type_, day=day if moment else 0, labels=said))
    return result


def _moment(kind: str, form: str) -> tuple[str | None, float]:
    """Whether numbers of this form are dates or times, and how many units a day has. Durations are numbers."""
    if kind == "stata":
        found = next((type_ for type_, rule in STATA.items() if re.fullmatch(rule, form)), None)
        return found, 86_400_000 if found == "TIMESTAMP" else 1
    word = re.sub(r"[\d.]+$", "", form).upper()
    if kind == "spss":
        return next((type_ for type_, words in SPSS.items() if word in words.split()), None), 86_400
    found = next((type_ for type_, rule in SAS.items() if re.fullmatch(rule, word)), None)
    return found, 86_400 if found == "TIMESTAMP" else 1


def _sql(name: str, type_: str, one: Variable, start: str, kind: Kind | None) -> str:
    """A column of a piece as a value of its type; NULL for moments beyond the calendar."""
    if type_ == "VARCHAR":
        return f"CAST({name} AS VARCHAR)" if one.labels or one.type == "VARCHAR" else written(name, "DOUBLE", kind)
    if type_ == "DOUBLE":
        return name
    days = f"floor({name} / {one.day})"
    first, last = (f"(DATE '{day}' - DATE '{start}')" for day in ("0001-01-01", "9999-12-31"))
    if type_ == "DATE":
        value = f"DATE '{start}' + CAST({days} AS INTEGER)"
    else:  # with five digits of a second: a float has no more in a time since 1582
        parts = f"CAST(round({name} * {86_400 / one.day} * 100000) AS BIGINT)"
        value = f"make_timestamp(epoch_us(TIMESTAMP '{start}') + 10 * {parts})"
    return f"CASE WHEN {days} BETWEEN {first} AND {last} THEN {value} END"


def _values(values: Sequence[Any], one: Variable, kind: Kind | None) -> Any:
    """A column of a piece: numbers, or texts."""
    if one.labels and isinstance(kind, Category | Text):
        known = {value: one.labels.get(value) or as_text(value, kind) for value in set(values)}
        return np.array([known[value] for value in values], dtype=object)
    return np.array(values, dtype=object if one.type == "VARCHAR" else np.float64)


def _pieces(source: Source, path: Path, names: Sequence[str]) -> Iterator[dict[str, list[Any]]]:
    size, start = max(FEWEST, VALUES // len(names)), 0
    while True:
        piece, _ = _read(path, source, usecols=list(dict.fromkeys(names)), row_offset=start, row_limit=size)
        rows = len(next(iter(piece.values()), ()))
        if rows:
            yield piece
        start += size
        if rows < size:
            return


def _read(path: Path, source: Source, **options: Any) -> tuple[dict[str, list[Any]], Any]:
    library = extra("pyreadstat", "a SAS, SPSS or Stata file")
    encoding = codecs.lookup(source.encoding).name  # not all names that Python knows are known to the library
    if encoding != "utf-8":  # otherwise its own
        options["encoding"] = encoding
    try:
        piece, head = getattr(library, READERS.get(path.suffix.lower(), READERS[source.kind]))(
            str(path), disable_datetime_conversion=True, output_format="dict", **options
        )
    except (library.PyreadstatError, library.ReadstatError):
        raise unreadable() from None
    return piece, head
