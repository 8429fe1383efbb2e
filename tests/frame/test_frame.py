"""Method calls against the SQL that asks the same: one plan for both. Then refusals, joins, notebooks, vaults."""

from __future__ import annotations

import datetime as dt
import gc
import operator
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.refusals import expect_code, raises_code
from support.sql_writer import TABLES, UNITS, VISITS

import privet as pv
from privet.catalog.declarations import Source, Table
from privet.core.evaluate import evaluate
from privet.core.expression import Case, Column, Compare, Expression, Greatest, IsNull, Least, Literal, Not, Relation
from privet.core.plan import Aggregate, By, Function, Joined, Key, Numbered, PerUnit, Plan, Scan
from privet.core.schema import Category, Date, Integer, Kind, Number
from privet.errors import InvalidInputError, PrivetError, RefusedQueryError
from privet.frame import Frame, Summary, frame_of
from privet.frame.columns import Expr
from privet.frame.frames import LONGEST_NOTE, Grouped
from privet.sql import plan_of
from privet.vault.in_memory import TEMPORARY

col, lit, when = pv.col, pv.lit, pv.when
MEMORY = Source(kind="memory")
WARDS: dict[str, Kind] = {"ward": Category(["A", "B", "C"]), "beds": Integer(0, 99), "age": Integer(0, 200)}


class Held:
    """Declarations without data."""

    def __init__(self, *tables: Table) -> None:
        self.tables = {table.name: table for table in tables}

    def ask(self, plan: Plan, text: str, **how: object) -> Any:
        return plan, text, how

    def suggest_bounds(self, *_: object, **__: object) -> Any:
        raise AssertionError

    def table(self, name: str) -> Frame:
        return frame_of(self, name)


def table(name: str, columns: dict[str, Kind], unit: str | None = "patient_id", **more: Any) -> Table:
    return Table(name=name, source=MEMORY, unit=unit, columns=columns, **more)


HELD = Held(
    table("visits", VISITS, max_groups=2, max_rows_per_group=3),
    table("wards", WARDS, None, public=True, key=("ward",)),
    table("loose", WARDS, None, public=True),
    table("drugs", {"dose": Number(0, 10, step="0.1"), "cost": Integer(0, 9), "day": Date("2020-01-01", "2026-12-31")},
          max_rows=4),
)  # fmt: skip
ROWS = Held(table("visits", VISITS, None), HELD.tables["wards"], HELD.tables["loose"])
V, W, DRUGS = HELD.table("visits"), HELD.table("wards"), HELD.table("drugs")
DAY, NOON = dt.date(2024, 1, 31), dt.datetime(2024, 1, 31, 12, 30)


def sql_plan(text: str) -> Plan:
    return plan_of(text, TABLES, units=UNITS)


def n(frame: Frame | Grouped) -> Summary:
    return frame.agg(n=pv.count())


WHERE: list[tuple[Expr, str]] = [
    (col("age") > 60, "age > 60"),
    (col("age") >= 60.5, "age >= 60.5"),
    (col("age") < -1, "age < -1"),
    (col("AGE") <= Decimal("1.10"), "age <= 1.1"),
    (col("ward") == "A", "ward = 'A'"),
    (col("ward") != "A", "ward <> 'A'"),
    (col("age") == np.int64(7), "age = 7"),
    (col("smoker") == np.bool_(True), "smoker = TRUE"),
    (col("smoker"), "smoker"),
    (~col("smoker"), "NOT smoker"),
    (col("smoker") & (col("age") > 3), "smoker AND age > 3"),
    (col("smoker") & (col("age") > 3) & (col("age") < 9), "smoker AND age > 3 AND age < 9"),
    (col("smoker") & ((col("age") > 3) & (col("age") < 9)), "smoker AND (age > 3 AND age < 9)"),
    ((col("age") > 3) | col("smoker") | (col("age") < 1), "age > 3 OR smoker OR age < 1"),
    (((col("age") > 3) | col("smoker")) & (col("age") < 1), "(age > 3 OR smoker) AND age < 1"),
    ((col("age") > 3) & col("smoker") | (col("age") < 1), "age > 3 AND smoker OR age < 1"),
    (True & col("smoker"), "TRUE AND smoker"),
    (False | col("smoker"), "FALSE OR smoker"),
    (col("age") == None, "age IS NULL"),  # noqa: E711
    (col("age") != None, "age IS NOT NULL"),  # noqa: E711
    (col("age").is_null() | col("age").is_not_null(), "age IS NULL OR age IS NOT NULL"),
    (col("age").between(18, 65), "age BETWEEN 18 AND 65"),
    (col("age").between(18, 65) & col("smoker"), "age BETWEEN 18 AND 65 AND smoker"),
    (col("ward").isin(["A", "B"]), "ward IN ('A', 'B')"),
    (~col("age").isin({3}), "NOT age IN (3)"),
    (col("day").isin([DAY]), "day IN ('2024-01-31')"),
    (col("day") > DAY, "day > DATE '2024-01-31'"),
    (col("day") > "2024-01-31", "day > '2024-01-31'"),
    (col("day") >= pd.Timestamp(NOON), "day >= TIMESTAMP '2024-01-31 12:30:00'"),
    (col("arrived") < NOON, "arrived < TIMESTAMP '2024-01-31 12:30:00'"),
    (col("day") - DAY < 30, "day - DATE '2024-01-31' < 30"),
    (col("age") + 1 > col("cost") * 2 - 3, "age + 1 > cost * 2 - 3"),
    (1 + col("age") > 2 * col("cost") - col("age"), "1 + age > 2 * cost - age"),
    (100 - col("age") > 3, "100 - age > 3"),
    (col("cost") / 12 > 5, "cost / 12 > 5"),
    (-col("age") < abs(col("cost")), "-age < ABS(cost)"),
    (col("cost").round() == 3, "ROUND(cost) = 3"),
    (round(col("cost"), 1) == 3, "ROUND(cost, 1) = 3"),
    (col("cost").round(-2).floor() == col("cost").ceil(), "FLOOR(ROUND(cost, -2)) = CEIL(cost)"),
    (col("age") // 10 == 3, "FLOOR(age / 10) = 3"),
    (col("age") % 10 == 3, "age - 10 * FLOOR(age / 10) = 3"),
    (col("cost").fill_null(0) > 1, "COALESCE(cost, 0) > 1"),
    (col("cost").clip(0, 100) > 1, "CASE WHEN cost IS NOT NULL THEN LEAST(GREATEST(cost, 0), 100) END > 1"),
    (col("cost").clip(high=100) > 1, "CASE WHEN cost IS NOT NULL THEN LEAST(cost, 100) END > 1"),
    (col("cost").clip(col("age")) > 1, "CASE WHEN cost IS NOT NULL THEN GREATEST(cost, age) END > 1"),
    (col("cost").cast(int) > 1, "CAST(cost AS INTEGER) > 1"),
    (col("smoker").cast(float) > 0, "CAST(smoker AS DOUBLE) > 0"),
    (col("age").cast("boolean"), "CAST(age AS BOOLEAN)"),
    (col("smoker").cast(bool), "CAST(smoker AS BOOLEAN)"),
    (col("arrived").cast("date") == DAY, "CAST(arrived AS DATE) = DATE '2024-01-31'"),
    (col("arrived").dt.date == col("day").dt.date, "CAST(arrived AS DATE) = CAST(day AS DATE)"),
    (col("day").cast(dt.datetime) == NOON, "CAST(day AS TIMESTAMP) = TIMESTAMP '2024-01-31 12:30'"),
    (col("day").dt.year == 2024, "YEAR(day) = 2024"),
    (col("arrived").dt.hour > col("day").dt.week, "HOUR(arrived) > WEEK(day)"),
    (col("day").dt.truncate("month") == DAY, "date_trunc('month', day) = DATE '2024-01-31'"),
    (lit("A") == col("ward"), "'A' = ward"),
    (lit(2) * 3 < col("age"), "2 * 3 < age"),
    (when(col("age") < 18).then("c").otherwise("a") == "c", "CASE WHEN age < 18 THEN 'c' ELSE 'a' END = 'c'"),
    (
        when(col("age") < 18).then(1).when(col("age") < 65).then(col("cost")) > 0,
        "CASE WHEN age < 18 THEN 1 WHEN age < 65 THEN cost END > 0",
    ),
    (col("age") > Fraction(1, 3), "age > 1 / 3"),
    (col("smoker") > 0, "smoker > 0"),
]


@pytest.mark.parametrize(("condition", "text"), WHERE, ids=[text for _, text in WHERE])
def test_conditions_mean_what_sql_means(condition: Expr, text: str) -> None:
    assert n(V.filter(condition)).plan == sql_plan(f"SELECT COUNT(*) AS n FROM visits WHERE {text}")


AGGREGATES: list[tuple[Any, str]] = [
    (pv.count(), "COUNT(*)"),
    (pv.count("age"), "COUNT(age)"),
    (pv.count(lit(1)), "COUNT(1)"),
    (pv.count(col("age") + 1), "COUNT(age + 1)"),
    (pv.n_units(), "COUNT(DISTINCT patient_id)"),
    (pv.n_distinct("Patient_ID"), "COUNT(DISTINCT patient_id)"),
    (pv.n_distinct("ward"), "COUNT(DISTINCT ward)"),
    (pv.sum("cost"), "SUM(cost)"),
    (pv.sum(col("cost") / 100), "SUM(cost / 100)"),
    (pv.sum(col("age") > 3), "SUM(age > 3)"),
    (pv.mean("cost"), "AVG(cost)"),
    (pv.mean("smoker"), "AVG(smoker)"),
    (pv.var("cost"), "VAR_SAMP(cost)"),
    (pv.var("cost", ddof=0), "VAR_POP(cost)"),
    (pv.std("cost"), "STDDEV(cost)"),
    (pv.std("cost", ddof=0), "STDDEV_POP(cost)"),
    (pv.median("cost"), "MEDIAN(cost)"),
    (pv.median((col("cost") / 200).round() * 200), "MEDIAN(ROUND(cost / 200) * 200)"),
    (pv.quantile("cost", 0.9), "QUANTILE(cost, 0.9)"),
    (pv.quantile("cost", "1/3"), "QUANTILE(cost, 1 / 3)"),
    (pv.quantile("cost", 0), "QUANTILE(cost, 0)"),
    (pv.quantile("cost", 1), "MAX(cost)"),
    (pv.min("age"), "MIN(age)"),
    (pv.max("age"), "MAX(age)"),
    (pv.cov("age", "cost"), "COVAR_SAMP(age, cost)"),
    (pv.cov("age", "cost", ddof=0), "COVAR_POP(age, cost)"),
    (pv.corr("age", col("cost") * 2), "CORR(age, cost * 2)"),
    (pv.count().where(col("smoker")), "COUNT(*) FILTER (WHERE smoker)"),
    (pv.mean("cost").where(col("age") > 3), "AVG(cost) FILTER (WHERE age > 3)"),
    (pv.corr("age", "cost").where(col("smoker")), "CORR(age, cost) FILTER (WHERE smoker)"),
]


@pytest.mark.parametrize(("asked", "text"), AGGREGATES, ids=[text for _, text in AGGREGATES])
def test_aggregates_mean_what_sql_means(asked: Any, text: str) -> None:
    assert V.agg(x=asked).plan == sql_plan(f"SELECT {text} AS x FROM visits")
    grouped = V.filter(col("age") > 1).group_by("ward").agg(x=asked)
    assert grouped.plan == sql_plan(f"SELECT ward, {text} AS x FROM visits WHERE age > 1 GROUP BY ward")


WHOLE: list[tuple[Callable[[], Summary], str]] = [
    (
        lambda: V.filter(col("age") > 60).group_by("ward").agg(n=pv.count(), c=pv.mean("cost")),
        "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE age > 60 GROUP BY ward",
    ),
    (
        lambda: n(V.filter(col("age") > 1).filter(col("age") < 9, col("smoker"))),
        "SELECT COUNT(*) AS n FROM visits WHERE age > 1 AND age < 9 AND smoker",
    ),
    (
        lambda: n(V.filter((col("age") > 1) & (col("age") < 9)).filter(col("smoker"))),
        "SELECT COUNT(*) AS n FROM visits WHERE age > 1 AND age < 9 AND smoker",
    ),
    (
        lambda: n(V.filter((col("age") > 1) | (col("age") < 9)).filter(col("smoker"))),
        "SELECT COUNT(*) AS n FROM visits WHERE (age > 1 OR age < 9) AND smoker",
    ),
    (
        lambda: V.group_by("ward", decade=col("age") // 10).agg(n=pv.count()),
        "SELECT ward, FLOOR(age / 10) AS decade, COUNT(*) AS n FROM visits GROUP BY 1, 2",
    ),
    (
        lambda: V.group_by(col("day").dt.truncate("month"), col("WARD")).agg(pv.count(), pv.mean("cost")),
        "SELECT date_trunc('month', day), ward, COUNT(*), AVG(cost) FROM visits GROUP BY 1, 2",
    ),
    (
        lambda: V.with_columns(decade=col("age") // 10).group_by("Decade").agg(n=pv.count()),
        "SELECT FLOOR(age / 10) AS decade, COUNT(*) AS n FROM visits GROUP BY 1",
    ),
    (
        lambda: V.with_columns(age=col("cost"), cost=col("age")).group_by("age").agg(s=pv.sum("cost")),
        "SELECT cost AS age, SUM(age) AS s FROM visits GROUP BY visits.cost",
    ),
    (
        lambda: (
            V.with_columns(k=col("age") + 1).with_columns(k=col("k") * 2, one=1).agg(s=pv.sum(col("k") + col("one")))
        ),
        "SELECT SUM((age + 1) * 2 + 1) AS s FROM visits",
    ),
    (
        lambda: V.group_by("ward").agg(n=pv.count()).having(col("n") > 100),
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 100",
    ),
    (
        lambda: (
            n(V.group_by("ward")).having(pv.sum("cost") > 9, pv.count() > 1).having(col("ward") != "A")
        ),
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING SUM(cost) > 9 AND COUNT(*) > 1 AND ward <> 'A'",
    ),
    (
        lambda: V.group_by("ward").agg(n=pv.count()).sort("N", descending=True).head(2),
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 2",
    ),
    (
        lambda: V.group_by("ward").agg(n=pv.count()).sort("ward", "n", descending=[False, True]).head(2, skip=1),
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward, n DESC LIMIT 2 OFFSET 1",
    ),
    (
        lambda: V.group_by("ward").agg(n=pv.count()).sort("n").having(col("n") > 3).head(),
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 3 ORDER BY n LIMIT 10",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("made", "text"), WHOLE, ids=[text for _, text in WHOLE])
def test_whole_questions_mean_what_sql_means(made: Callable[[], Summary], text: str) -> None:
    assert made().plan == sql_plan(text)


def test_there_are_many_pairs() -> None:
    assert len(WHERE) + len(AGGREGATES) + len(WHOLE) >= 100


# What is refused

REFUSED: list[tuple[Callable[[], object], str, str]] = [
    (lambda: V.filter(col("agee") > 3), "unknown-column: 'agee'", "age?"),
    (lambda: V.filter(col("patient_id") == 3), "reserved-name|unit-as-value: 'patient_id'", "n_units"),
    (lambda: V.agg(n=pv.n_distinct(col("patient_id"))), "reserved-name|unit-as-value: 'patient_id'", "n_units"),
    (lambda: V.filter("age > 3"), "not-a-condition: 'age > 3'", "pv.col"),
    (lambda: V.filter(col("age")), "not-a-condition: filter … number", ""),
    (lambda: V.filter((col("age") > 3) and col("smoker")), "no-truth-value", "& | ~"),
    (lambda: V.filter(18 < col("age") < 65), "no-truth-value", ".between(18, 65)"),
    (lambda: V.filter(col("age") > 60 & (col("ward") == "A")), "not-a-condition: &", ""),
    (lambda: V.filter(~(col("age") & col("smoker"))), "not-a-condition: &", ""),
    (lambda: V.filter(col("age") < None), "null-comparison: true", ".is_null()"),
    (lambda: V.filter(col("age") == "30"), "type-mismatch: mixes", ""),
    (lambda: V.filter(col("age") == Decimal("nan")), "not-finite", ""),
    (lambda: V.filter(col("day") == pd.NaT), "wrong-type: NaT", "True, False or None"),
    (lambda: V.filter(col("day") == NOON.replace(tzinfo=dt.UTC)), "wrong-type: constant", ""),
    (lambda: V.filter(col("day") == [1]), "wrong-type: [1]", "pv.col"),
    (lambda: col(3), "wrong-type: named … not 3", "pv.col"),
    (lambda: col("x").isin("AB"), "not-a-list: 'AB'", ".isin"),
    (lambda: col("x").isin(3), "not-a-list: not 3", ".isin"),
    (lambda: col("x").isin([]), "null-comparison: empty", "is_null"),
    (lambda: col("x").isin([1, None]), "null-comparison: empty", "is_null"),
    (lambda: col("x").clip(), "missing-option", ".clip(0, 5000)"),
    (lambda: col("x").round(31), "out-of-range: 31", "from -30 to 30"),
    (lambda: col("x").cast("text"), "unsupported-type: 'text'", "integer"),
    (lambda: col("x").cast(list), "unsupported-type: 'list'", "integer"),
    (lambda: col("x").dt.truncate("era"), "unknown-choice: 'era'", "month"),
    (lambda: V.filter(col("age") ** 0 > 3), "out-of-range: exponent", "0.5"),
    (lambda: V.filter(col("age") ** col("age") > 3), "out-of-range: exponent", "0.5"),
    (lambda: col("x") ** "a", "not-a-number: exponent", "0.5"),
    (lambda: col("x").log(1), "too-small: base", "2"),
    (lambda: V.filter(col("age") / 0 > 3), "division-by-zero", ""),
    (lambda: V.filter(col("age") == when(col("smoker"))), "wrong-type: expression", ""),
    (lambda: V.filter(col("age") > col("day").dt), "wrong-type: expression", "dt.year"),
    (lambda: when("x"), "not-a-condition: 'x'", "pv.col"),
    (lambda: V.filter(reduce(operator.add, [col("age")] * 5000) > 1), "too-deep", "isin"),
    (lambda: V.filter(reduce(operator.add, [col("age")] * 150) > 1), "too-long", ""),
    (lambda: V.filter(pv.count() > 3), "misplaced-aggregate: count", ".having"),
    (lambda: V.agg(s=pv.sum(pv.max("age"))), 'misplaced-aggregate: "age"', ".per_unit"),
    (V.group_by, "missing-name: group_by", ".agg(...) alone"),
    (lambda: V.group_by("wrad"), "unknown-column: 'wrad'", "ward?"),
    (lambda: n(V.group_by("ward", w=col("ward"))), "duplicate-value", ""),
    (lambda: n(V.group_by(one=lit(1))), "constant-value: key", ""),
    (V.agg, "nothing-to-do: aggregate", "pv.count()"),
    (lambda: V.agg(n="count"), "not-an-aggregate: 'count'", "pv.count()"),
    (lambda: V.agg(n=col("age")), 'not-an-aggregate: "age"', "pv.mean"),
    (lambda: V.agg(n=pv.sum("cost") / 2), "not-an-aggregate: one", ""),
    (lambda: V.group_by("ward").agg(ward=pv.count()), "duplicate-name: 'ward'", ""),
    (lambda: V.agg(m=pv.mean("day")), "type-mismatch: mean … date", "dt.year"),
    (lambda: V.agg(m=pv.max("day")), "type-mismatch: max", "dt.year"),
    (lambda: V.agg(m=pv.mean(lit(None))), "type-mismatch: None", "number"),
    (lambda: V.agg(m=pv.mean("ward")), "type-mismatch: mean … text", ""),
    (lambda: V.agg(n=pv.n_distinct(lit(1))), "constant-value: 1 … constant", ""),
    (lambda: pv.quantile("age", 95), "out-of-range: from 0 … 1 … 95", "give 19/20"),
    (lambda: pv.quantile("age", -1), "out-of-range: from 0 … not -1", "0.5 for the median"),
    (lambda: pv.quantile("age", "0.1234567"), "too-fine: '0.1234567'", ""),
    (lambda: pv.var("age", ddof=2), "unknown-choice: is 2", "ddof=1"),
    (lambda: V.agg(n=pv.n_units().where(col("smoker"))), "unit-as-value: FILTER", "WHERE"),
    (lambda: pv.count().where(True), "not-a-condition: True", "pv.col"),
    (lambda: n(V).having(col("age") > 3), "not-grouped: 'age'", "the names are: n"),
    (lambda: n(V).having(col("m") > 3), "unknown-column: 'm'", "the columns are: n"),
    (lambda: n(V).having(col("n")), "not-a-condition: having … number", ""),
    (lambda: n(V).having(3), "not-a-condition: not 3", ""),
    (lambda: n(V).head(3).having(col("n") > 1), "wrong-order: .having comes", ""),
    (lambda: n(V).head(3).sort("n"), "wrong-order: .sort comes", ""),
    (lambda: n(V).head(3).head(2), "wrong-order: .head comes", ""),
    (lambda: n(V).head(10**13), "too-large", ""),
    (lambda: n(V).sort(), "missing-name: columns", ".sort("),
    (lambda: n(V).sort("n").sort("n"), "missing-name: columns", ".sort("),
    (lambda: n(V).sort("m"), "unknown-column: 'm'", "the columns are: n"),
    (lambda: n(V).sort(col("n")), 'wrong-type: "n"', ""),
    (lambda: n(V).sort("n", descending=[True, False]), "wrong-length", ""),
    (lambda: n(V).sort("n", descending=["yes"]), "wrong-length", ""),
    (lambda: V[3], "wrong-type: named … not 3", ""),
    (lambda: V["x"], "unknown-column: 'x'", ""),
    (lambda: V.with_columns(Patient_ID=1), "reserved-name: 'Patient_ID'", ""),
    (lambda: V.per_unit(patient_id=pv.count()), "reserved-name|unit-as-value: 'patient_id'", ""),
    (lambda: V.group_by(patient_id=col("age")).per_unit(k=pv.count()), "reserved-name: 'patient_id'", ""),
    (V.per_unit, "nothing-to-do: per_unit", ".clip(0, 5000)"),
    (lambda: V.per_unit(x="cost"), "not-an-aggregate: 'cost'", "pv.count()"),
    (lambda: V.per_unit(x=pv.n_units()), "constant-value: each", "it is 1"),
    (lambda: V.per_unit(x=pv.n_distinct("patient_id")), "constant-value: each", "it is 1"),
    (lambda: V.per_unit(x=pv.median("cost")), "unsupported-function: QUANTILE", "use one of COUNT"),
    (lambda: V.per_unit(x=col("cost")), "not-grouped: 'cost'", ""),
    (lambda: ROWS.table("visits").per_unit(x=pv.count()), "rows-are-units: several", "leave per_unit out"),
    (lambda: V.join("wards", on="ward"), "wrong-type: frame", "vault.table"),
    (lambda: V.join(ROWS.table("wards"), on="ward"), "wrong-type: frame", "vault.table"),
    (lambda: V.join(DRUGS, on="day"), "public-table-needed: 'drugs'", ".join_units"),
    (lambda: W.join(V, on="ward"), "private-table-needed: 'wards'", ""),
    (lambda: V.join_units(DRUGS, how="right"), "unknown-choice: 'right'", 'how="semi"'),
    (lambda: W.join(W, on="ward"), "private-table-needed: 'wards'", ""),
    (lambda: V.join(W, on=[]), "missing-join-condition", "on="),
    (lambda: V.join(W, on=3), "wrong-type: columns … not 3", "on="),
    (lambda: V.join(W, on=[3]), "wrong-type: named … not 3", "on="),
    (lambda: V.join(W, on={"age": "ward"}), "type-mismatch: 'age' … 'ward'", ""),
    (lambda: V.with_columns(ward=lit("A")).join(W, on="ward"), "computed-column: 'ward'", ""),
    (lambda: V.join(W, on="ward", how="outer"), "unknown-choice: 'outer'", ""),
    (lambda: V.join(W.filter(col("beds") > 3), on="ward", how="left"), "unsupported-join: filter", ""),
    (
        lambda: V.join(W.with_columns(beds=col("beds").fill_null(0)), on="ward", how="left"),
        "computed-column: 'beds'",
        "",
    ),
    (lambda: ROWS.table("visits").join(ROWS.table("loose"), on="ward"), "unbounded-join", ""),
    (lambda: ROWS.table("visits").join(ROWS.table("wards"), on="age"), "unbounded-join", "'ward'"),
    (lambda: V.join_units(W), "private-table-needed: 'wards' … units", "use .join"),
    (lambda: V.join_units(DRUGS.join_units(V)), "unsupported-join: itself", ""),
    (lambda: V.join_units(DRUGS, on="day", how="semi"), 'unneeded-option: "semi" … "anti"', "leave `on` out"),
    (lambda: ROWS.table("visits").join_units(ROWS.table("visits")), "rows-are-units: unit here", ""),
]  # fmt: skip


@pytest.mark.parametrize(("call", "problem", "remedy"), REFUSED, ids=[problem for _, problem, _ in REFUSED])
def test_what_is_wrong_is_said_with_a_remedy(call: Callable[[], object], problem: str, remedy: str) -> None:
    with pytest.raises(PrivetError) as caught:
        call()
    assert isinstance(caught.value, RefusedQueryError | InvalidInputError)
    expect_code(problem, caught.value)
    assert remedy in caught.value.remedy
    assert caught.value.remedy


# Rows made for each unit

SUM = Aggregate(name="sum_cost", function=Function.SUM, value=Column("cost"))


def clipped(name: str, low: int, high: int) -> Expression:
    column = Column(name)
    kept = Least((Greatest((column, Literal(Fraction(low)))), Literal(Fraction(high))))
    return Case(((Not(IsNull(column)), kept),), Literal(None))


def test_what_each_unit_adds_up_to() -> None:
    made = V.filter(col("age") > 3).per_unit(total=pv.sum("cost").clip(0, 5000), n=pv.count(), m=pv.mean("age"))
    plan = made.filter(col("n") > 2).agg(t=pv.mean("total")).plan
    assert plan == Plan(
        table="visits",
        origin=PerUnit(
            source=Scan(table="visits"),
            where=Compare(Relation.GREATER, Column("age"), Literal(Fraction(3))),
            aggregates=(SUM, Aggregate(name="count", function=Function.COUNT)),  # m is not used
        ),
        where=Compare(Relation.GREATER, Column("count"), Literal(Fraction(2))),
        aggregates=(Aggregate(name="t", function=Function.AVG, value=clipped("sum_cost", 0, 5000)),),
        outputs=("t",),
    )
    assert list(made.columns) == ["total", "n", "m"]
    assert made.agg(p=pv.n_units()).plan.aggregates[0].value is None  # units can still be counted
    assert made.agg(p=pv.n_units()).plan.origin.aggregates == ()  # type: ignore[union-attr]


def test_each_unit_in_each_group() -> None:
    made = V.group_by("ward", year=col("day").dt.year).per_unit(first=pv.min("arrived"), days=pv.n_distinct("day"))
    asked = made.filter(col("first") < NOON).group_by("ward").agg(d=pv.sum(col("days").clip(0, 9)))
    origin = asked.plan.origin
    assert isinstance(origin, PerUnit)
    assert [key.name for key in origin.keys] == ["ward", "year"]
    assert [(a.name, a.function) for a in origin.aggregates] == [
        ("min_arrived", Function.MIN),
        ("count_distinct_day", Function.COUNT_DISTINCT),
    ]
    assert asked.plan.keys == (Key(name="ward", value=Column("ward")),)


def test_a_unit_that_is_declared_is_a_column_and_is_counted_as_a_unit() -> None:
    columns: dict[str, Kind] = {"patient_id": Integer(0, 99), "age": Integer(0, 9)}
    frame = Held(table("t", columns)).table("t")
    text = "SELECT COUNT(DISTINCT patient_id) AS n FROM t WHERE patient_id > 3"
    wanted = plan_of(text, {"t": columns}, units={"t": "patient_id"})
    assert frame.filter(col("patient_id") > 3).agg(n=pv.n_distinct("patient_id")).plan == wanted


def test_one_aggregate_in_two_expressions_is_made_once() -> None:
    made = V.per_unit(a=pv.sum("cost").clip(0, 10), b=pv.sum("cost") > 3)
    assert made.origin == PerUnit(source=Scan(table="visits"), aggregates=(SUM,))


def test_clip_leaves_what_is_missing() -> None:
    """LEAST and GREATEST alone would make it an end of the range."""
    value = V.with_columns(x=col("cost").clip(1, 2)).columns["x"].expression
    found = [evaluate(value, {"cost": cost}) for cost in (None, Fraction(0), Fraction(3, 2), Fraction(9))]
    assert found == [None, 1, Fraction(3, 2), 2]


# Joins


def test_a_public_table_beside_each_row() -> None:
    both = V.filter(col("age") > 3).join(W, on="ward")
    assert list(both.columns) == [*VISITS, "beds", "wards_age"]
    assert both.group_by("beds").agg(a=pv.mean("wards_age")).plan == Plan(
        table="visits",
        origin=Joined(
            left=Scan(table="visits"),
            right=Scan(table="wards"),
            by_unit=False,
            on=(("ward", "ward"),),
            names=(("beds", "beds"), ("age", "wards_age")),
            most=1,
        ),
        where=Compare(Relation.GREATER, Column("age"), Literal(Fraction(3))),
        keys=(Key(name="beds", value=Column("beds")),),
        aggregates=(Aggregate(name="a", function=Function.AVG, value=Column("wards_age")),),
        outputs=("beds", "a"),
    )


def joined(frame: Frame) -> Joined:
    assert isinstance(frame.origin, Joined)
    return frame.origin


def test_how_many_rows_of_the_other_side_count() -> None:
    rows = ROWS.table("visits")
    assert joined(V.join(W, on=["ward", "age"])).most == 1
    assert joined(rows.join(ROWS.table("wards"), on={"ward": "ward"})).most == 1
    assert joined(V.join(W, on="age")).most is None
    assert joined(V.join(HELD.table("loose"), on="ward")).most is None
    assert joined(V.join_units(DRUGS)).most == 4
    assert joined(DRUGS.join_units(V, on="day")).most == 6
    assert joined(V.join_units(DRUGS.per_unit(d=pv.count()))).most is None
    assert joined(V.join_units(DRUGS.group_by("day").per_unit(d=pv.count()), on="day")).most == 4


def test_conditions_and_computed_columns_of_the_right_move_along() -> None:
    right = W.filter((col("age") > 3) & (col("ward") != "A")).with_columns(size=col("beds") * 2, key=col("ward"))
    both = V.join(right, on="ward")
    names = dict(joined(both).names)
    assert names == {"beds": "beds", "age": "wards_age"}
    assert [term.expression for term in both.conditions] == [
        Compare(Relation.GREATER, Column("wards_age"), Literal(Fraction(3))),
        Compare(Relation.UNEQUAL, Column("ward"), Literal("A")),
    ]
    assert "key" not in both.columns  # it is what was matched
    plan = both.group_by("size").agg(n=pv.count()).plan
    assert plan.keys[0].name == "size"
    assert plan.origin == joined(both)


def test_a_left_join_keeps_rows_without_a_match() -> None:
    right = W.with_columns(name=when(col("ward") == "A").then(col("ward")))
    both = V.join(right, on="ward", how="left")
    assert joined(both).outer
    assert dict(joined(both).names) == {"ward": "wards_ward", "beds": "beds", "age": "wards_age"}
    assert both.columns["name"].expression == Case(
        ((Compare(Relation.EQUAL, Column("wards_ward"), Literal("A")), Column("wards_ward")),), Literal(None)
    )


def test_private_tables_meet_at_the_unit() -> None:
    both = V.join_units(DRUGS.per_unit(total=pv.sum("cost").clip(0, 50)), how="left")
    assert both.agg(t=pv.sum(col("total").fill_null(0))).plan.origin == Joined(
        left=Scan(table="visits"),
        right=PerUnit(source=Scan(table="drugs"), aggregates=(SUM,)),
        by_unit=True,
        names=(("sum_cost", "sum_cost"),),
        outer=True,
    )
    again = both.join_units(DRUGS.per_unit(total=pv.sum("cost").clip(0, 50)))
    assert dict(joined(again).names) == {"sum_cost": "drugs_sum_cost"}
    thrice = again.join_units(DRUGS.per_unit(total=pv.sum("cost").clip(0, 50)))
    assert dict(joined(thrice).names) == {"sum_cost": "drugs_sum_cost_2"}
    assert list(thrice.columns)[-3:] == ["total", "drugs_total", "drugs_total_2"]


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_units_that_are_in_another_table_or_not(how: Any) -> None:
    count = (Aggregate(name="found", function=Function.COUNT),)
    dose = Compare(Relation.GREATER, Column("dose"), Literal(Fraction(1)))
    plan = n(V.join_units(DRUGS.filter(col("dose") > 1), how=how)).plan
    assert plan.origin == Joined(
        left=Scan(table="visits"),
        right=PerUnit(source=Scan(table="drugs"), where=dose, aggregates=count),
        by_unit=True,
        names=(("found", "drugs_found"),),
        outer=True,
    )
    found = Not(IsNull(Column("drugs_found")))
    assert plan.where == (found if how == "semi" else Not(found))
    added_up = DRUGS.group_by("day").per_unit(n=pv.count())
    assert joined(V.join_units(added_up, how=how)).right == PerUnit(source=Scan(table="drugs"), aggregates=count)
    many = joined(V.join_units(added_up.filter(col("n") > 3), how=how)).right
    assert isinstance(many, PerUnit)
    assert many.source == added_up.origin


JOINED: list[tuple[Callable[[], Summary], str]] = [
    (
        lambda: V.filter(col("age") > 3).join(W, on="ward").group_by("beds").agg(a=pv.mean("wards_age")),
        "SELECT w.beds, AVG(w.age) AS a FROM visits v JOIN wards w ON v.ward = w.ward WHERE v.age > 3 GROUP BY w.beds",
    ),
    (
        lambda: V.join(W, on="ward").group_by("beds").agg(n=pv.count()),
        "SELECT beds, COUNT(*) AS n FROM visits JOIN wards USING (ward) GROUP BY beds",
    ),
    (
        lambda: V.join(W, on="ward", how="left").group_by("beds").agg(n=pv.count()),
        "SELECT beds, COUNT(*) AS n FROM visits LEFT JOIN wards USING (ward) GROUP BY beds",
    ),
    (
        lambda: V.per_unit(total=pv.sum("cost").clip(0, 50)).agg(t=pv.mean("total")),
        "SELECT AVG(total) AS t FROM (SELECT CASE WHEN SUM(cost) IS NOT NULL THEN LEAST(GREATEST(SUM(cost), "
        "0), 50) END AS total FROM visits GROUP BY patient_id)",
    ),
    (
        lambda: V.filter(col("age") > 3).per_unit(k=pv.count()).filter(col("k") > 3).agg(n=pv.count()),
        "SELECT COUNT(*) AS n FROM (SELECT patient_id, COUNT(*) AS k FROM visits WHERE age > 3 GROUP BY "
        "patient_id) WHERE k > 3",
    ),
    (
        lambda: V.group_by("ward").per_unit(k=pv.count()).group_by("ward").agg(n=pv.sum(col("k").clip(0, 9))),
        "SELECT ward, SUM(CASE WHEN k IS NOT NULL THEN LEAST(GREATEST(k, 0), 9) END) AS n FROM (SELECT "
        "patient_id, ward, COUNT(*) AS k FROM visits GROUP BY patient_id, ward) GROUP BY ward",
    ),
    (
        lambda: V.join_units(DRUGS).agg(n=pv.count(), d=pv.sum("dose")),
        "SELECT COUNT(*) AS n, SUM(dose) AS d FROM visits v JOIN drugs d ON v.patient_id = d.patient_id",
    ),
    (
        lambda: V.join_units(DRUGS, on="day").agg(n=pv.count(), d=pv.sum("dose")),
        "SELECT COUNT(*) AS n, SUM(dose) AS d FROM visits v JOIN drugs d ON v.patient_id = d.patient_id AND "
        "v.day = d.day",
    ),
    (
        lambda: V.join_units(DRUGS.filter(col("dose") > 1), how="semi").agg(n=pv.count()),
        "SELECT COUNT(*) AS n FROM visits WHERE patient_id IN (SELECT patient_id FROM drugs WHERE dose > 1)",
    ),
    (
        lambda: V.join_units(DRUGS, how="anti").agg(n=pv.count()),
        "SELECT COUNT(*) AS n FROM visits v WHERE NOT EXISTS (SELECT 1 FROM drugs d WHERE d.patient_id = v.patient_id)",
    ),
    (
        lambda: V.join_units(DRUGS.per_unit(total=pv.sum("cost").clip(0, 50)), how="left").agg(
            t=pv.sum(col("total").fill_null(0))
        ),
        "SELECT SUM(COALESCE(total, 0)) AS t FROM visits v LEFT JOIN (SELECT patient_id, CASE WHEN SUM(cost) "
        "IS NOT NULL THEN LEAST(GREATEST(SUM(cost), 0), 50) END AS total FROM drugs GROUP BY patient_id) d ON"
        " v.patient_id = d.patient_id",
    ),
    (
        lambda: V.join(W.filter(col("beds") > 3), on="ward").agg(n=pv.count()),
        "SELECT COUNT(*) AS n FROM visits v JOIN (SELECT * FROM wards WHERE beds > 3) w ON v.ward = w.ward",
    ),
    (
        lambda: V.per_unit(count=pv.count()).agg(n=pv.sum(col("count").clip(0, 9))),
        "SELECT SUM(CASE WHEN count IS NOT NULL THEN LEAST(GREATEST(count, 0), 9) END) AS n FROM (SELECT "
        "patient_id, COUNT(*) AS count FROM visits GROUP BY patient_id)",
    ),
    (
        lambda: V.join_units(DRUGS, how="anti").agg(n=pv.count()),
        "SELECT COUNT(*) AS n FROM visits v WHERE patient_id NOT IN (SELECT patient_id FROM drugs)",
    ),
    (
        lambda: V.group_by("ward", y=col("day").dt.year).per_unit(k=pv.max("age")).group_by("y").agg(n=pv.mean("k")),
        "SELECT y, AVG(k) AS n FROM (SELECT patient_id, ward, YEAR(day) AS y, MAX(age) AS k FROM visits GROUP"
        " BY 1, 2, 3) GROUP BY y",
    ),
    (
        lambda: V.join_units(DRUGS.group_by("day").per_unit(k=pv.max("dose")), on="day").agg(n=pv.mean("k")),
        "SELECT AVG(k) AS n FROM visits JOIN (SELECT patient_id, day, MAX(dose) AS k FROM drugs GROUP BY 1, "
        "2) d USING (patient_id, day)",
    ),
]


@pytest.mark.parametrize(("made", "text"), JOINED, ids=[text for _, text in JOINED])
def test_joins_mean_what_sql_means(made: Callable[[], Summary], text: str) -> None:
    columns, units = ({name: getattr(one, part) for name, one in HELD.tables.items()} for part in ("columns", "unit"))
    assert made().plan == plan_of(text, columns, units=units, facts=HELD.tables)


# Notebooks


def test_a_frame_shows_its_steps() -> None:
    asked = V.filter(col("age") > 60, ~col("smoker")).with_columns(half=(col("cost") + 1) / 2).group_by("ward")
    full = asked.agg(n=pv.count(), c=pv.mean("half").where(col("age").isin([1, 2])))
    assert repr(full.having(col("n") > 3).sort("n", descending=True).head(3, skip=1)) == (
        "visits  # protects 'patient_id'\n"
        '  .filter(col("age") > 60, ~col("smoker"))\n'
        '  .with_columns(half=(col("cost") + 1) / 2)\n'
        '  .group_by("ward")\n'
        '  .agg(n=count(), c=mean("half").where(col("age").isin([1, 2])))\n'
        '  .having(col("n") > 3)\n'
        '  .sort("n", descending=True)\n'
        "  .head(3, skip=1)\n"
        "  # a question: .explain(epsilon=...) or .release(epsilon=...)"
    )
    assert repr(asked).endswith('  .group_by("ward")\n  # groups: .agg(n=pv.count(), ...) asks about them')
    assert repr(W) == (
        "wards  # public\n  # columns: ward, beds, age\n  # rows: .group_by(...) and .agg(...) make a question of them"
    )
    assert repr(ROWS.table("visits")).startswith("visits  # protects each row\n")


TEXTS: list[tuple[object, str]] = [
    (col('a"b'), r'col("a\"b")'),
    (lit(DAY) == col("day"), 'lit(2024-01-31) == col("day")'),
    (abs(col("x") - 1).round(2).floor().ceil(), '(col("x") - 1).abs().round(2).floor().ceil()'),
    (-col("x") * 2, '(-col("x")) * 2'),
    (col("x").clip(0).fill_null(lit(3)), 'col("x").clip(0, None).fill_null(lit(3))'),
    (col("x").between(1, 2) | col("y").is_null(), 'col("x").between(1, 2) | col("y").is_null()'),
    ((col("x") > 1) & (col("y") == "A") & col("z"), '(col("x") > 1) & (col("y") == "A") & col("z")'),
    (col("x").cast(int).dt.truncate("week").dt.year, 'col("x").cast("integer").dt.truncate("week").dt.year'),
    (when(col("x") > 1).then("a").otherwise(None), 'when(col("x") > 1).then("a").otherwise(None)'),
    (when(col("x")).then(1).when(col("y")).then(2), 'when(col("x")).then(1).when(col("y")).then(2)'),
    (pv.quantile(col("x") + 1, 0.9), 'quantile(col("x") + 1, 0.9)'),
    (pv.cov("x", col("y"), ddof=0), 'cov("x", col("y"), ddof=0)'),
    (pv.n_distinct('x"'), 'n_distinct("x\\"")'),
    (pv.std("x", ddof=0), 'std("x", ddof=0)'),
]


@pytest.mark.parametrize(("value", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_expressions_look_as_they_were_written(value: object, text: str) -> None:
    assert repr(value) == text


def test_odd_names_are_written_so_that_they_can_be_read() -> None:
    asked = V.with_columns(**{"a\nb": 1}).group_by("ward").agg(**{"n n": pv.count()}).sort("n n")
    assert asked.text == "visits.with_columns('a\\nb'=1).group_by(\"ward\").agg('n n'=count()).sort(\"n n\")"


def test_long_texts_are_cut() -> None:
    long = V.filter(col("city").isin([f"town {n}" for n in range(999)]))
    assert max(map(len, repr(long).splitlines())) <= 112
    assert len(n(long).text) < 400
    many = reduce(lambda frame, _: frame.filter(col("city").isin(["x" * 300])), range(99), V)
    _, text, _ = n(many).query()
    assert len(text) == LONGEST_NOTE + 3


def test_names_are_completed() -> None:
    assert V._ipython_key_completions_() == list(VISITS)
    assert repr(V["age"] > 3) == 'col("age") > 3'
    assert {"year", "truncate", "date"} <= set(dir(col("day").dt))
    with pytest.raises(AttributeError, match="there is no part 'yaer' of a date; the parts are: year"):
        _ = col("day").dt.yaer
    with pytest.raises(TypeError, match="unhashable"):
        hash(col("age"))


def test_steps_leave_a_frame_as_it_was() -> None:
    before = n(V).plan
    V.filter(col("age") > 3).with_columns(age=col("cost"))
    asked = n(V.group_by("ward"))
    asked.having(col("n") > 3)
    asked.sort("n")
    assert n(V).plan == before
    assert asked.plan.having is None
    assert asked.plan.order == ()
    with pytest.raises(TypeError):
        V.columns["age"] = V.columns["cost"]  # type: ignore[index]


def test_a_frame_of_old_declarations_is_refused() -> None:
    held = Held(*HELD.tables.values())
    old = held.table("visits")
    both = old.join_units(held.table("drugs"))
    _, text, how = n(both).query(epsilon=3)
    assert (text, how) == ("visits.join_units(drugs).agg(n=count())", {"epsilon": 3})
    held.tables["drugs"] = table("drugs", {"dose": Number(0, 10, step="0.5")}, version=2)
    assert n(old).query()
    for stale in (both, old.join_units(held.table("visits")).join_units(both.join_units(old, how="semi"), how="anti")):
        with raises_code(InvalidInputError, "declaration-changed: 'drugs'"):
            n(stale).query()


# Vaults

PEOPLE = {"patient_id": [k // 3 for k in range(600)], "age": [k % 90 for k in range(600)],
          "ward": ["ABC"[k % 3] for k in range(600)]}  # fmt: skip
COLUMNS: dict[str, Kind] = {"age": Integer(0, 120), "ward": Category(["A", "B", "C"])}


def test_a_frame_asks_what_sql_asks(tmp_path: Path) -> None:
    with pv.create(tmp_path / "v", budget=pv.Budget(epsilon=9, delta=1e-9)) as vault:
        declared = vault.add_table("visits", PEOPLE, unit="patient_id", max_groups=3, columns=COLUMNS)
        frame = vault.table("visits")
        assert frame.declaration == vault.declaration("visits") == declared
        asked = frame.filter(col("age") > 3).group_by("ward").agg(n=pv.count(), a=pv.mean("age"))
        text = "SELECT ward, COUNT(*) AS n, AVG(age) AS a FROM visits WHERE age > 3 GROUP BY ward"
        for how in ({"epsilon": 1}, {"rho": "0.1", "max_groups": 2}, {"epsilon": 1, "delta": 1e-10,
                    "private_keys": True, "other": "rest"}):  # fmt: skip
            one, two = asked.query(**how), vault.sql(text, **how)  # type: ignore[arg-type]
            assert (one.plan, one.cost, one.request) == (two.plan, two.cost, two.request)
        assert frame.agg(n=pv.count()).query(within=10).error["n"] <= 10
        assert asked.explain(epsilon=1) == vault.sql(text, epsilon=1).explain()
        answer = asked.release(epsilon=1, key="once")
        assert vault.sql(text, epsilon=1).release().replayed  # the same question
        assert asked.release(epsilon=1, fresh=True).receipt.entry > answer.receipt.entry
        assert [row["ward"] for row in answer.rows] == ["A", "B", "C", None]
        notes = [entry.note for entry in vault.ledger.entries()]
        assert 'visits.filter(col("age") > 3).group_by("ward").agg(n=count(), a=mean("age"))' in notes
        found = asked.suggest_bounds(epsilon=1)
        assert vault.suggest_bounds(text, epsilon=1).replayed
        assert asked.query(epsilon=1, bounds=found).suggestion is found
        with raises_code(InvalidInputError, "unknown-table: 'vists'"):
            vault.table("vists")
        with raises_code(InvalidInputError, "unknown-option: epsilom"):
            asked.query(epsilom=1)


def test_what_each_unit_adds_up_to_needs_an_end(tmp_path: Path) -> None:
    with pv.create(tmp_path / "v", budget=pv.Budget(epsilon=9)) as vault:
        vault.add_table("visits", PEOPLE, unit="patient_id", columns=COLUMNS)
        made = vault.table("visits").per_unit(total=pv.sum("age"), kept=pv.sum("age").clip(0, 500))
        assert made.agg(t=pv.mean("kept")).query(epsilon=1).error == {}
        assert made.filter(col("total") > 9).agg(n=pv.count()).query(epsilon=1).error["n"] > 0
        with raises_code(RefusedQueryError, "unbounded: SUM(age)"):
            made.agg(t=pv.mean("total")).query(epsilon=1)


def protected(**changes: Any) -> Frame:
    given = {"unit": "patient_id", "budget": pv.Budget(epsilon=3), "columns": COLUMNS, "max_groups": 3, **changes}
    return pv.from_frame(PEOPLE, **given)


def test_a_data_frame_with_a_budget_around_it() -> None:
    frame = protected()
    folder = frame.vault.folder  # type: ignore[attr-defined]
    assert folder.is_dir()
    assert TEMPORARY in repr(frame)
    assert TEMPORARY in repr(frame.filter(col("age") > 3).agg(n=pv.count()))
    query = frame.group_by("ward").agg(n=pv.count()).query(epsilon=1)
    del frame
    gc.collect()
    assert folder.is_dir()  # the question still needs it
    assert query.release().rows
    del query
    gc.collect()
    assert not folder.exists()


def test_a_data_frame_in_a_folder_that_stays(tmp_path: Path) -> None:
    frame = protected(folder=tmp_path / "v", name="visits", neighbors="replace")
    assert TEMPORARY not in repr(frame)
    frame.agg(n=pv.count()).release(epsilon=1)
    frame.vault.close()  # type: ignore[attr-defined]
    with pv.open(tmp_path / "v") as again:
        assert again.budget.spent.epsilon == 1
        assert again.terms.neighbors == "replace"
        assert list(again.tables) == ["visits"]


@pytest.mark.parametrize("columns", [None, {}])
def test_declarations_never_come_from_data(columns: object) -> None:
    with raises_code(InvalidInputError, "not-declared: from_frame"):
        protected(columns=columns)


def test_what_cannot_be_declared_leaves_no_folder(tmp_path: Path) -> None:
    for change in ({"columns": {"height": Integer(0, 1)}}, {"unit": ...}):
        with pytest.raises(InvalidInputError):
            protected(folder=tmp_path / "v", **change)
        assert not (tmp_path / "v").exists()


def test_the_first_and_the_last_row_of_each_unit() -> None:
    first = V.filter(col("age") > 3).first_per_unit("day").agg(n=pv.count()).plan
    columns = tuple(V.columns)
    older = Compare(Relation.GREATER, Column("age"), Literal(Fraction(3)))
    made = Numbered(
        source=Scan(table="visits"), where=older, by=(By(value=Column("day")),), columns=columns, name="row_number",
        last=1,
    )  # fmt: skip
    assert first.origin == made
    assert first.where is None
    last = V.last_per_unit("day", col("cost") * 2).agg(n=pv.count()).plan.origin
    assert isinstance(last, Numbered)
    assert [one.descending for one in last.by] == [True, True]
    every = V.numbered_per_unit("k", "day")
    assert "k" in every.columns
    few = every.filter(col("k") <= 2).agg(n=pv.count()).plan
    assert few.origin == replace(made, where=None, last=None)
    assert few.where == Compare(Relation.LESS_EQUAL, Column("row_number"), Literal(Fraction(2)))
    assert ".numbered_per_unit('k', 'day')" in repr(every) or '.numbered_per_unit("k", "day")' in repr(every)


def test_numbered_rows_are_joined() -> None:
    """As many as there can be, or as the owner allows."""
    for right, most in ((V.first_per_unit("day"), 1), (V.numbered_per_unit("k", "day"), 6)):
        origin = V.join_units(right).agg(n=pv.count()).plan.origin
        assert isinstance(origin, Joined)
        assert origin.most == most


def test_which_row_is_the_first_is_said() -> None:
    with raises_code(RefusedQueryError, "rows-are-units: several"):
        ROWS.table("visits").first_per_unit("day")
    with raises_code(InvalidInputError, "missing-order: first_per_unit"):
        V.first_per_unit()
    with raises_code(RefusedQueryError, "reserved-name"):
        V.numbered_per_unit("patient_id", "day")


def test_buckets() -> None:
    plan = V.group_by(age=col("age").buckets([18, 65])).agg(n=pv.count()).plan
    asked = sql_plan("SELECT WIDTH_BUCKET(age, [18, 65]) AS b, COUNT(*) AS n FROM visits GROUP BY b")
    assert plan.keys[0].value == asked.keys[0].value
    for bounds, code in (("18", "wrong-type"), (18, "wrong-type")):
        with raises_code(InvalidInputError, code):
            col("age").buckets(bounds)  # type: ignore[arg-type]
    with raises_code(RefusedQueryError, "constant-needed"):
        V.group_by(age=col("age").buckets([65, 18])).agg(n=pv.count())
