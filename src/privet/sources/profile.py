"""What a draft needs to know about a column: which patterns its values fit and, roughly, how large they are.

These facts come from the data. They go to the owner only, and into a draft only after coarsening.
"""
# ruff: noqa: S608  every name in a statement is quoted or generated here

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import duckdb

from privet.sources.relation import NUMBERS, quoted, text

CODES = ("NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "NaN", "nan", "?", "-", "--", ".", "missing")
FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d")
MOST_CATEGORIES = 50
OFTEN = 20  # rows that must have a text before a draft lists it
MOST_PUBLIC = 1000  # texts of a public table, where none is left out

VALUES = "privet_values"  # the different texts of a column, and how many rows have each
DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
PATTERNS = {
    "boolean": r"(?i)true|false|yes|no|t|f|y|n",
    "whole": r"[+-]?[0-9]+",
    "number": r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?",
    "comma": r"[+-]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+)(,[0-9]+)?",
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
    codes: tuple[str, ...] = ()
    common: tuple[str, ...] = ()  # texts to list; none if there are too many


def facts(
    connection: duckdb.DuckDBPyConnection, relation: str, column: str, type_: str, *, public: bool = False
) -> ColumnFacts:
    """Facts about one column of a raw relation. Of a public table rare texts may be listed, too."""
    if type_ == "VARCHAR":
        return _of_texts(connection, relation, quoted(column), public=public)
    sql = f"CAST({quoted(column)} AS DOUBLE)" if type_.partition("(")[0] in NUMBERS else "NULL::DOUBLE"
    time = f"CAST({quoted(column)} AS TIMESTAMP)" if type_ in ("DATE", "TIMESTAMP") else "NULL::TIMESTAMP"
    row = _row(
        connection,
        f"SELECT count({quoted(column)}), approx_count_distinct({quoted(column)}), {_range(sql, time)} FROM {relation}",
    )
    return ColumnFacts(filled=row[0], distinct=row[1], low=row[2] or 0, high=row[3] or 0, first=row[4], last=row[5])


def _range(number: str, time: str) -> str:
    """Smallest and largest, without what is not finite."""
    return ", ".join(
        f"{extreme}({sql}) FILTER (WHERE isfinite({sql}))" for sql in (number, time) for extreme in ("min", "max")
    )


def _of_texts(connection: duckdb.DuckDBPyConnection, relation: str, column: str, *, public: bool) -> ColumnFacts:
    often, most, spread = (1, MOST_PUBLIC, 1) if public else (OFTEN, MOST_CATEGORIES, 2)
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {VALUES} AS SELECT trim({column}, ' ') AS q, count(*) AS n "
        f"FROM {relation} WHERE {column} IS NOT NULL GROUP BY 1"
    )
    codes = ", ".join(text(code) for code in CODES)
    seen = connection.execute(f"DELETE FROM {VALUES} WHERE q IN ({codes}) RETURNING q").fetchall()
    tests = {name: f"regexp_full_match(q, {text(pattern)})" for name, pattern in PATTERNS.items()}
    tests["fraction"] = f"(({tests['number']} OR {tests['comma']}) AND NOT {tests['whole']})"
    tests |= {form: f"(try_strptime(q, {text(form)}) IS NOT NULL)" for form in FORMATS}
    counts = ", ".join(f"count_if({test})" for test in tests.values())
    number = f"TRY_CAST(CASE WHEN {tests['number']} THEN q ELSE replace(replace(q, '.', ''), ',', '.') END AS DOUBLE)"
    # The forms of dates are not told apart here: of the result only the decade is used.
    plain = f"TRY_CAST(CASE WHEN {tests['date']} OR {tests['timestamp']} THEN q END AS TIMESTAMP)"
    time = f"coalesce({', '.join([plain, *(f'try_strptime(q, {text(form)})' for form in FORMATS)])})"
    totals = "coalesce(sum(n), 0)::BIGINT, count(*)"
    filled, distinct, low, high, first, last, *found = _row(
        connection, f"SELECT {totals}, {_range(number, time)}, {counts} FROM {VALUES}"
    )
    some = {name: count for name, count in zip(tests, found, strict=True) if count}
    loose = ("number", "comma")  # one other text may be a code for "missing"
    common = connection.execute(f"SELECT q FROM {VALUES} WHERE n >= {often} ORDER BY q LIMIT {most + 1}").fetchall()
    listable = len(common) <= most and distinct <= spread * most  # else most of the texts are names of some kind
    return ColumnFacts(
        filled=filled, distinct=distinct, low=low or 0, high=high or 0, first=first, last=last, some=frozenset(some),
        fits=frozenset(name for name, count in some.items() if distinct - count <= (name in loose)),
        codes=tuple(code for code in CODES if (code,) in seen), common=tuple(value for (value,) in common if listable),
    )  # fmt: skip


def _row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    return connection.execute(query).fetchall()[0]
