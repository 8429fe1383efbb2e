"""What a draft needs to know about a column: which patterns its values fit and, roughly, how large they are.

These facts come from the data. They go to the owner only, and into a draft only after coarsening.
"""
# ruff: noqa: S608  every name in a statement is quoted or generated here

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from privet.catalog.declarations import Table
from privet.core.schema import Text
from privet.errors import InvalidInputError
from privet.sources.attach import attach
from privet.sources.candidates import Candidate, candidate, several
from privet.sources.forms import number_sql
from privet.sources.number_draft import Numbers, numbers
from privet.sources.relation import NUMBERS, Raw, quoted, text

CODES = (
    "NA", "N/A", "n/a", "N.A.", "n.a.", "#N/A", "<NA>", "NULL", "null", "None", "NaN", "nan", "NaT", "?", "-", "--",
    ".", "missing", "k.A.", "k. A.", "K.A.", "keine Angabe", "o.A.",
)  # fmt: skip
MOST_CATEGORIES = 50
OFTEN = 20  # rows that must have a text before a draft lists it
MOST_PUBLIC = 1000  # texts of a public table, where none is left out

VALUES = "privet_values"  # the different texts of a column, and how many rows have each
DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
PATTERNS = {
    "boolean": r"(?i)true|false|yes|no|t|f|y|n",
    "whole": r"[+-]?[0-9]+",
    "number": r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?",
    "padded": r"[+-]?0[0-9]+",
    "date": DAY,
    "timestamp": DAY + r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """`fits` names patterns of all values, or of all but one text; `some` those of at least one value."""

    filled: int
    distinct: int  # about, in typed columns
    fits: frozenset[str] = frozenset()
    some: frozenset[str] = frozenset()
    low: float = 0
    high: float = 0
    first: dt.datetime | None = None
    last: dt.datetime | None = None
    odd: int = 0  # texts that are no number
    codes: tuple[str, ...] = ()  # for "missing", in whatever column
    own_codes: tuple[str, ...] = ()  # in this column
    numbers: Numbers | None = None  # if it has numbers
    common: tuple[str, ...] = ()  # texts to list; none if there are too many
    form: Candidate | None = None  # of texts that have no plain form
    several: tuple[str, ...] = ()  # forms of dates in one column


def facts(
    connection: duckdb.DuckDBPyConnection, raw: Raw, column: str, *, public: bool = False, comma: bool = False
) -> ColumnFacts:
    """Facts about one column of a raw relation. Of a public table rare texts may be listed, too. With `comma` it is
    the decimal mark where it could stand between thousands as well."""
    relation, type_ = raw.relation, raw.types[column]
    if type_ == "VARCHAR":
        found = _of_texts(connection, relation, quoted(column), public=public)
        form = _form(connection, found, comma=comma)
        words = form is None and not found.fits and found.distinct > 0
        found = replace(found, form=form, several=several(connection, VALUES) if words else ())
        return _with_numbers(connection, found)
    time = f"CAST({quoted(column)} AS TIMESTAMP)" if type_ in ("DATE", "TIMESTAMP") else "NULL::TIMESTAMP"
    filled, distinct, first, last = _row(
        connection,
        f"SELECT count({quoted(column)}), approx_count_distinct({quoted(column)}), "
        f"min({time}) FILTER (WHERE isfinite({time})), max({time}) FILTER (WHERE isfinite({time})) FROM {relation}",
    )
    found = ColumnFacts(filled=filled, distinct=distinct, first=first, last=last)
    if type_.partition("(")[0] not in NUMBERS:
        return found
    seen = numbers(connection, f"SELECT CAST({quoted(column)} AS DOUBLE) AS v, 1 AS n FROM {relation}")
    return found if seen is None else replace(found, numbers=seen, own_codes=tuple(map(str, seen.codes)))


def _with_numbers(connection: duckdb.DuckDBPyConnection, found: ColumnFacts) -> ColumnFacts:
    """What the numbers say, if the texts are numbers; and the texts among them that stand for "missing"."""
    if found.form is not None and found.form.number:
        how = found.form.writing
        sql = number_sql("q", how.decimal or ".", how.thousands or "", how.marks)
    elif found.form is None and "number" in found.fits and not found.some & {"padded"}:
        sql = "q"
    else:
        return found
    value = f"TRY_CAST({sql} AS DOUBLE)"
    seen = numbers(connection, f"SELECT {value} AS v, n FROM {VALUES}")
    if seen is None:
        return found
    codes = ", ".join(map(str, seen.codes)) or "NULL"
    texts = (
        f"SELECT q FROM {VALUES} WHERE {value} IN ({codes}) OR ({value} IS NULL AND n >= {OFTEN}) ORDER BY q LIMIT 9"
    )
    return replace(found, numbers=seen, own_codes=tuple(q for (q,) in connection.execute(texts).fetchall()))


def _range(number: str, time: str) -> str:
    """Smallest and largest, without what is not finite."""
    return ", ".join(
        f"{extreme}({sql}) FILTER (WHERE isfinite({sql}))" for sql in (number, time) for extreme in ("min", "max")
    )


def _of_texts(connection: duckdb.DuckDBPyConnection, relation: str, column: str, *, public: bool) -> ColumnFacts:
    often, most, spread = (1, MOST_PUBLIC, 1) if public else (OFTEN, MOST_CATEGORIES, 2)
    _gather(connection, relation, column)
    codes = ", ".join(text(code) for code in CODES)
    seen = connection.execute(f"DELETE FROM {VALUES} WHERE q IN ({codes}) RETURNING q").fetchall()
    tests = {name: f"regexp_full_match(q, {text(pattern)})" for name, pattern in PATTERNS.items()}
    tests["fraction"] = f"({tests['number']} AND NOT {tests['whole']})"
    counts = ", ".join(f"count_if({test})" for test in tests.values())
    number = f"TRY_CAST(CASE WHEN {tests['number']} THEN q END AS DOUBLE)"
    time = f"TRY_CAST(CASE WHEN {tests['date']} OR {tests['timestamp']} THEN q END AS TIMESTAMP)"
    totals = "coalesce(sum(n), 0)::BIGINT, count(*)"
    filled, distinct, low, high, first, last, *found = _row(
        connection, f"SELECT {totals}, {_range(number, time)}, {counts} FROM {VALUES}"
    )
    some = {name: count for name, count in zip(tests, found, strict=True) if count}
    loose = ("number",)  # one other text may be a code for "missing"
    common = connection.execute(f"SELECT q FROM {VALUES} WHERE n >= {often} ORDER BY q LIMIT {most + 1}").fetchall()
    listable = len(common) <= most and distinct <= spread * most  # else most of the texts are names of some kind
    return ColumnFacts(
        filled=filled, distinct=distinct, odd=distinct - some.get("number", 0), some=frozenset(some),
        low=low or 0, high=high or 0, first=first, last=last,
        fits=frozenset(name for name, count in some.items() if distinct - count <= (name in loose)),
        codes=tuple(code for code in CODES if (code,) in seen), common=tuple(value for (value,) in common if listable),
    )  # fmt: skip


def _gather(connection: duckdb.DuckDBPyConnection, relation: str, column: str) -> None:
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {VALUES} AS SELECT trim({column}, ' ') AS q, count(*) AS n "
        f"FROM {relation} WHERE {column} IS NOT NULL GROUP BY 1"
    )


def form_in(
    connection: duckdb.DuckDBPyConnection, table: Table, column: str, base: Path, memory: Mapping[str, object]
) -> Candidate | None:
    """The form that the texts of a declared column seem to have, whatever was declared of it."""
    codes = {column: table.missing[column]} if column in table.missing else {}
    alone = Table(name=table.name, source=table.source, unit=None, columns={column: Text()}, missing=codes)
    try:
        raw = attach(connection, alone, base, memory)
        _gather(connection, raw.relation, quoted(column))
        return candidate(connection, VALUES, comma=table.source.decimal == "," or table.source.delimiter == ";")
    except (InvalidInputError, duckdb.Error):  # no texts, or the engine fails: its own words may quote the data
        return None


PLAIN = ("boolean", "timestamp", "date")
DAYS = 19_000_101, 21_001_231  # 20170802 may be a day


def _form(connection: duckdb.DuckDBPyConnection, found: ColumnFacts, *, comma: bool) -> Candidate | None:
    """Another form than the plain ones. It reads all texts, or most of them where these cannot be listed."""
    number = "number" in found.fits and not found.odd
    days = number and "fraction" not in found.some and DAYS[0] <= found.low and found.high <= DAYS[1]
    if not found.distinct or any(name in found.fits for name in PLAIN) or (number and not days):
        return None
    form = candidate(connection, VALUES, comma=comma)
    if form is None or (form.unread and found.common) or (days and (form.number or form.unread)):
        return None
    return form


def _row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    return connection.execute(query).fetchall()[0]
