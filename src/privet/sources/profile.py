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
class Facts:
    """`fits` names patterns of all values, or of all but one text; `some` those of at least one value."""

    filled: int
    distinct: int  # about
    fits: frozenset[str] = frozenset()
    some: frozenset[str] = frozenset()
    low: float = 0
    high: float = 0
    first: dt.datetime | None = None
    last: dt.datetime | None = None
    codes: tuple[str, ...] = ()
    common: tuple[str, ...] = ()


def facts(connection: duckdb.DuckDBPyConnection, relation: str, column: str, type_: str) -> Facts:
    """Facts about one column of a raw relation."""
    if type_ == "VARCHAR":
        return _of_texts(connection, relation, quoted(column))
    sql = f"CAST({quoted(column)} AS DOUBLE)" if type_.partition("(")[0] in NUMBERS else "NULL::DOUBLE"
    time = f"CAST({quoted(column)} AS TIMESTAMP)" if type_ in ("DATE", "TIMESTAMP") else "NULL::TIMESTAMP"
    row = _row(
        connection,
        f"SELECT count({quoted(column)}), approx_count_distinct({quoted(column)}), {_range(sql, time)} FROM {relation}",
    )
    return Facts(filled=row[0], distinct=row[1], low=row[2] or 0, high=row[3] or 0, first=row[4], last=row[5])


def _range(number: str, time: str) -> str:
    """Smallest and largest, without what is not finite."""
    return ", ".join(
        f"{extreme}({sql}) FILTER (WHERE isfinite({sql}))" for sql in (number, time) for extreme in ("min", "max")
    )


def _of_texts(connection: duckdb.DuckDBPyConnection, relation: str, column: str) -> Facts:
    codes = ", ".join(text(code) for code in CODES)
    values = f"(SELECT trim({column}) AS q FROM {relation} WHERE trim({column}) NOT IN ({codes}))"
    tests = {name: f"regexp_full_match(q, {text(pattern)})" for name, pattern in PATTERNS.items()}
    tests |= {form: f"(try_strptime(q, {text(form)}) IS NOT NULL)" for form in FORMATS}
    counts = ", ".join(
        f"count_if({test}), count_if(NOT {test}) = 0, "
        f"coalesce(min(q) FILTER (WHERE NOT {test}) = max(q) FILTER (WHERE NOT {test}), true)"
        for test in tests.values()
    )
    number = f"TRY_CAST(CASE WHEN {tests['number']} THEN q ELSE replace(replace(q, '.', ''), ',', '.') END AS DOUBLE)"
    # The forms of dates are not told apart here: of the result only the decade is used.
    plain = f"TRY_CAST(CASE WHEN {tests['date']} OR {tests['timestamp']} THEN q END AS TIMESTAMP)"
    time = f"coalesce({', '.join([plain, *(f'try_strptime(q, {text(form)})' for form in FORMATS)])})"
    row = _row(connection, f"SELECT count(*), approx_count_distinct(q), {_range(number, time)}, {counts} FROM {values}")
    found = {name: row[6 + 3 * place : 9 + 3 * place] for place, name in enumerate(tests)}
    loose = ("whole", "number", "comma")
    fits = {name for name, (some, every, one) in found.items() if some and (every or (one and name in loose))}
    known = connection.execute(f"SELECT DISTINCT trim({column}) FROM {relation} WHERE trim({column}) IN ({codes})")
    seen = {code for (code,) in known.fetchall()}
    common = connection.execute(
        f"SELECT q FROM {values} GROUP BY q HAVING count(*) >= {OFTEN} ORDER BY q LIMIT {MOST_CATEGORIES + 1}"
    ).fetchall()
    return Facts(
        filled=row[0], distinct=row[1], low=row[2] or 0, high=row[3] or 0, first=row[4], last=row[5],
        fits=frozenset(fits), some=frozenset(name for name, (some, *_) in found.items() if some),
        codes=tuple(code for code in CODES if code in seen), common=tuple(value for (value,) in common),
    )  # fmt: skip


def _row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    return connection.execute(query).fetchall()[0]
