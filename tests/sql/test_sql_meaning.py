"""Random SQL means the same here and in DuckDB, where both mean to agree: precedence, NULL, CASE, dates, lists."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
import statistics
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import duckdb
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from privet.core.calendar import midnight
from privet.core.evaluate import evaluate
from privet.core.plan import Aggregate, Function
from privet.core.schema import Boolean, Date, Integer, Kind, Number, Text, Timestamp
from privet.sql import plan_of

COLUMNS: dict[str, Kind] = {
    "a": Integer(-9, 9), "b": Integer(-9, 9), "c": Number(-9, 9, step="0.25"), "p": Boolean(), "q": Boolean(),
    "d": Date("2000-01-01", "2030-12-31"), "e": Date("2000-01-01", "2030-12-31"),
    "s": Timestamp("2000-01-01", "2030-12-31"), "w": Text(),
}  # fmt: skip
TYPES = ("BIGINT", "BIGINT", "DECIMAL(6, 2)", "BOOLEAN", "BOOLEAN", "DATE", "DATE", "TIMESTAMP", "VARCHAR")
VALUES: tuple[tuple[Any, ...], ...] = (
    (-3, 0, 2, 7, None), (1, -2, None, 3, 0), (Decimal("0.25"), Decimal("-1.5"), None, Decimal("2.75"), Decimal("0")),
    (True, False, None), (None, True, False, True),
    (dt.date(2020, 2, 29), dt.date(2023, 12, 31), None, dt.date(2021, 1, 3)),
    (dt.date(2020, 3, 1), None, dt.date(2023, 1, 1)),
    (dt.datetime(2020, 2, 29, 23, 59, 59, 500000), dt.datetime(2021, 1, 4), None, dt.datetime(2022, 7, 1, 6, 30)),
    ("x", "it's", None, ""),
)  # fmt: skip
ROWS = [tuple(column[i % len(column)] for column in VALUES) for i in range(36)]


@pytest.fixture(scope="module")
def database() -> Any:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(f'{n} {k}' for n, k in zip(COLUMNS, TYPES, strict=True))})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(TYPES))})", ROWS)
        yield connection


class Writer:
    """Random SQL, written by SQL's own precedence with as few brackets as that needs.

    All fractions are halves, quarters and so on, and doubles, which hold them exactly: DuckDB rounds long decimals.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def one(self, *texts: str) -> str:
        return self.random.choice(texts)

    def form(self, *templates: str, depth: int) -> str:
        """A template with {n} for a number, {t} for a condition, {d} for a date, {r} for a relation."""
        parts = {"n": self.number, "t": self.truth, "d": self.date}
        template = self.one(*templates).replace("{r}", self.one("=", "<>", "!=", "<", "<=", ">", ">="))
        return re.sub(r"\{([ntd])\}", lambda found: parts[found[1]](depth - 1), template)

    def joined(self, item: Callable[[], str], most: int, *signs: str) -> str:
        return item() + "".join(f" {self.one(*signs)} {item()}" for _ in range(self.random.randrange(most)))

    def number(self, depth: int) -> str:
        def atom() -> str:
            if depth <= 0 or self.random.random() < 0.5:
                return self.one("a", "b", "c::DOUBLE", "1", "2", "0.5::DOUBLE", "-3", "CAST(1.25 AS DOUBLE)")
            return self.form(*NUMBERS, depth=depth)

        def product() -> str:
            return self.joined(lambda: self.one("", "", "- ") + atom(), 2, "*")

        return self.joined(product, 3, "+", "-")

    def date(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.4:
            return self.one("d", "e", "DATE '2020-02-29'", "DATE '2022-06-15'", "CAST(s AS DATE)")
        return self.form(*DATES, depth=depth)

    def truth(self, depth: int) -> str:
        def predicate() -> str:
            if depth <= 0 or self.random.random() < 0.2:
                return self.one("p", "q", "TRUE", "FALSE", "p = q", "p <> q", "w IS NULL", "w <> 'x'", "w = 'it''s'")
            return self.form(*TRUTHS, depth=depth)

        def conjunction() -> str:
            return self.joined(lambda: self.one("", "", "NOT ", "NOT NOT ") + predicate(), 3, "AND")

        return self.joined(conjunction, 3, "OR")


NUMBERS = (
    "({n})", "ABS({n})", "FLOOR({n})", "CEIL({n})", "ROUND(ABS({n}))", "LEAST({n}, {n})", "GREATEST({n}, {n}, b)",
    "COALESCE({n}, {n})", "NULLIF({n}, {n})", "CASE WHEN {t} THEN {n} ELSE {n} END", "IF({t}, {n}, {n})",
    "CASE WHEN {t} THEN {n} WHEN {t} THEN {n} END", "CASE {n} WHEN 1 THEN {n} WHEN 2 THEN {n} END", "({d} - {d})",
    "(YEAR({d}) - 2000)", "MONTH({d})", "DAY({d})", "QUARTER({d})", "WEEK({d})", "DAYOFWEEK({d})", "DAYOFYEAR({d})",
    "ISODOW({d})", "HOUR(s)", "MINUTE(s)", "SECOND(s)", "EXTRACT(isodow FROM s)", "EXTRACT(doy FROM {d})",
    "EXTRACT(week FROM s)",
    "date_part('month', s)", "date_part('quarter', {d})", "(a + b) / 2", "(a - b) / 4", "a / 8",
)  # fmt: skip
DATES = (
    "CAST(date_trunc('year', {d}) AS DATE)", "CAST(date_trunc('quarter', {d}) AS DATE)", "COALESCE({d}, {d})",
    "date_trunc('month', {d})::DATE", "CAST(date_trunc('week', s) AS DATE)", "LEAST({d}, {d})", "GREATEST({d}, {d})",
    "CASE WHEN {t} THEN {d} ELSE {d} END",
)  # fmt: skip
TRUTHS = (
    "{n} {r} {n}", "{n} {r} {n}", "{d} {r} {d}", "{d} {r} s", "s {r} TIMESTAMP '2021-01-04 00:00:00'",
    "d {r} '2023-12-31'", "'2020-03-01' {r} e", "{n} BETWEEN {n} AND {n}", "{n} NOT BETWEEN {n} AND {n}",
    "{d} BETWEEN {d} AND {d}", "{n} IN (1, 2, -3)", "{n} NOT IN (0, 7)", "d IN ('2020-02-29', '2021-01-03')",
    "w IN ('x', 'it''s')", "w NOT IN ('')", "{n} IS NULL", "{d} IS NOT NULL", "({t})", "({t}) IS TRUE",
    "({t}) IS NOT TRUE", "({t}) IS FALSE", "({t}) IS NULL", "COALESCE({t}, {t})", "CASE WHEN {t} THEN {t} ELSE p END",
    "c {r} 1.25", "c - 0.25 NOT BETWEEN -1.5 AND c * 2", "c IN (0.25, -1.5)",
    "date_trunc('hour', s) {r} s", "date_trunc('month', s) {r} date_trunc('month', {d})",
)  # fmt: skip
SEEDS = st.integers(0, 2**64)


def same(value: Any) -> Any:
    """One spelling for equal values."""
    if isinstance(value, dt.date):
        return value if isinstance(value, dt.datetime) else midnight(value)
    return Fraction(value) if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else value


def check(text: str, expression: Any, database: Any) -> None:
    try:
        theirs = [same(value) for (value,) in database.execute(f"SELECT {text} FROM t").fetchall()]
    except (duckdb.OutOfRangeException, duckdb.ConversionException):
        assume(False)  # DuckDB's decimals end at 38 digits; ours do not
    rows = ({n: Fraction(v) if isinstance(v, int | Decimal) and not isinstance(v, bool) else v
             for n, v in zip(COLUMNS, row, strict=True)} for row in ROWS)  # fmt: skip
    ours = [same(evaluate(expression, row)) for row in rows]
    for row, mine, other in zip(ROWS, ours, theirs, strict=True):
        assert mine == other, (text, row)


@pytest.mark.proof
@settings(max_examples=300)
@given(seed=SEEDS)
def test_conditions_mean_what_duckdb_says(seed: int, database: Any) -> None:
    text = Writer(seed).truth(2)
    check(text, plan_of(f"SELECT COUNT(*) FROM t WHERE {text}", {"t": COLUMNS}).where, database)


@pytest.mark.proof
@settings(max_examples=300)
@given(seed=SEEDS)
def test_numbers_mean_what_duckdb_says(seed: int, database: Any) -> None:
    text = Writer(seed).number(2)
    check(text, plan_of(f"SELECT SUM({text}) FROM t", {"t": COLUMNS}).aggregates[0].value, database)


@given(seed=SEEDS)
def test_dates_mean_what_duckdb_says(seed: int, database: Any) -> None:
    text = Writer(seed).date(3)
    value = plan_of(f"SELECT COUNT(NULLIF({text}, DATE '1999-01-01')) FROM t", {"t": COLUMNS}).aggregates[0].value
    check(text, value, database)


def test_every_combination_of_truths(database: Any) -> None:
    """NULL logic of all short conditions over two columns, in every order of the operators."""
    for first, second, third in itertools.product(
        ("p", "NOT p", "p IS NULL"), ("AND", "OR", "=", "<>"), ("q", "(NULL IS NULL)")
    ):
        for tail in ("", " AND q", " OR NOT q", " IS TRUE", " IS NOT TRUE"):
            text = f"{first} {second} {third}{tail}"
            check(text, plan_of(f"SELECT COUNT(*) FROM t WHERE {text}", {"t": COLUMNS}).where, database)


# Aggregates, by their textbook definitions over the values that the plan names

TAKEN = """
SUM(c)
AVG(a)
MEAN(a * c)
COUNT(w)
COUNT_IF(a > 0)
COUNT(DISTINCT w)
COUNT(DISTINCT a + b) FILTER (WHERE p)
APPROX_COUNT_DISTINCT(e)
COUNT(DISTINCT CASE WHEN q THEN d END)
VARIANCE(a)
VAR_SAMP(c)
VAR_POP(a)
STDDEV(b)
STDDEV_SAMP(a) FILTER (WHERE q)
STDDEV_POP(c)
COVAR_POP(a, b)
COVAR_SAMP(a, c)
COVAR_SAMP(c, b) FILTER (WHERE p OR q)
CORR(a, b)
CORR(a, c) FILTER (WHERE a > -3)
MIN(c)
MAX(b) FILTER (WHERE p)
MAX(a - b)
MEDIAN(a)
MEDIAN(c) FILTER (WHERE NOT q)
QUANTILE_CONT(a, 0.25)
QUANTILE_CONT(c, 0.9)
QUANTILE_CONT(a, 0)
QUANTILE_CONT(a, 1)
PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY a)
PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY a DESC)
PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY c DESC) FILTER (WHERE b < 3)
QUANTILE_CONT(a, [0.1, 0.5, 0.7])
"""


def fractions(row: tuple[Any, ...]) -> dict[str, Any]:
    numbers = (Fraction(v) if isinstance(v, int | Decimal) and not isinstance(v, bool) else v for v in row)
    return dict(zip(COLUMNS, numbers, strict=True))


def values_of(aggregate: Aggregate) -> list[tuple[Any, ...]]:
    """Of the rows where nothing that the aggregate is taken of is NULL."""
    taken = [value for value in (aggregate.value, aggregate.second) if value is not None]
    found = [tuple(evaluate(value, fractions(row)) for value in taken) for row in ROWS]
    return [values for values in found if None not in values]


def defined(aggregate: Aggregate) -> float:
    rows = values_of(aggregate)
    if aggregate.function in (Function.COUNT, Function.COUNT_DISTINCT):
        return len(rows) if aggregate.function is Function.COUNT else len(set(rows))
    first, second = [float(row[0]) for row in rows], [float(row[-1]) for row in rows]
    match aggregate.function:
        case Function.SUM:
            return sum(first)
        case Function.AVG:
            return sum(first) / len(first)
        case Function.MIN | Function.MAX:
            return min(first) if aggregate.function is Function.MIN else max(first)
        case Function.QUANTILE:
            assert aggregate.quantile is not None
            place, ranked = float(aggregate.quantile) * (len(first) - 1), sorted(first)
            low, share = ranked[int(place)], place % 1
            return low if share == 0 else low + share * (ranked[int(place) + 1] - low)
        case Function.CORR:
            return statistics.correlation(first, second)
    size = len(first) if aggregate.function.endswith("POP") else len(first) - 1
    spread = statistics.covariance(first, second) * (len(first) - 1) / size
    return math.sqrt(spread) if aggregate.function.startswith("STDDEV") else spread


@pytest.mark.parametrize("text", TAKEN.strip().splitlines())
def test_aggregates_mean_what_duckdb_says(text: str, database: Any) -> None:
    exactly = text.replace("APPROX_COUNT_DISTINCT(", "COUNT(DISTINCT ")
    (theirs,) = database.execute(f"SELECT {exactly} FROM t").fetchone()
    ours = [defined(aggregate) for aggregate in plan_of(f"SELECT {text} FROM t", {"t": COLUMNS}).aggregates]
    assert ours == pytest.approx([float(value) for value in (theirs if isinstance(theirs, list) else [theirs])])


@pytest.mark.parametrize("name", ["REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2"])
@pytest.mark.parametrize("of", ["(a, b)", "(c, a + b)", "(b, c) FILTER (WHERE p OR q)"])
def test_lines_mean_what_duckdb_says(name: str, of: str, database: Any) -> None:
    text = name + of
    (theirs,) = database.execute(f"SELECT {text} FROM t").fetchone()
    plan = plan_of(f"SELECT {text} AS slope FROM t", {"t": COLUMNS})
    known = {aggregate.name: Fraction(defined(aggregate)) for aggregate in plan.aggregates}
    assert float(evaluate(plan.computed[0].value, known)) == pytest.approx(theirs)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", ["=", "<>", "<", "<=", ">", ">="])
@pytest.mark.parametrize("span", ["1 day", "0 days", "-40 days", "6 hours 30 minutes", "86399500 milliseconds"])
def test_time_between_two_moments_means_what_duckdb_says(span: str, relation: str, database: Any) -> None:
    for difference in ("s - d", "s - TIMESTAMP '2021-01-03 00:00:00'", "(e - s)"):
        for text in (f"{difference} {relation} INTERVAL '{span}'", f"INTERVAL '{span}' {relation} {difference}"):
            check(text, plan_of(f"SELECT COUNT(*) FROM t WHERE {text}", {"t": COLUMNS}).where, database)


def test_descending_counts_from_the_largest() -> None:
    """What the test above would miss if DESC changed nothing."""
    up, down = (f"PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY a{order})" for order in ("", " DESC"))
    low, high = (defined(plan_of(f"SELECT {text} FROM t", {"t": COLUMNS}).aggregates[0]) for text in (up, down))
    assert low < high
