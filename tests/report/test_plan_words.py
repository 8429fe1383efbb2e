"""Aggregates in words close to SQL."""

from __future__ import annotations

import pytest
from support.sql_writer import TABLES, UNITS

from privet.core.expression import Column
from privet.core.plan import Aggregate, Function
from privet.report.explain.plan_words import call
from privet.sql import plan_of

SAME = (
    "COUNT(*)", "COUNT(age)", "SUM(age + cost)", "COUNT(DISTINCT city)", "COUNT(DISTINCT age > 3)", "VAR_POP(age)",
    "STDDEV_SAMP(cost)", "COVAR_SAMP(age, cost)", "CORR(age + 1, cost)", "MEDIAN(age)", "QUANTILE(age, 0.9)",
    "MIN(age)", "MAX(cost * 2)", "AVG(CASE WHEN smoker THEN age ELSE NULL END)", "MEDIAN(COALESCE(age, 0))",
)  # fmt: skip
OTHER = {
    "COUNT(DISTINCT patient_id)": "COUNT(DISTINCT unit)",
    "QUANTILE(age - 1, 0.5)": "MEDIAN(age - 1)",
    "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age DESC)": "QUANTILE(age, 0.1)",
    "VARIANCE(age)": "VAR_SAMP(age)",
}


@pytest.mark.parametrize(("text", "words"), [*zip(SAME, SAME, strict=True), *OTHER.items()])
def test_what_was_understood_reads_like_sql(text: str, words: str) -> None:
    (aggregate,) = plan_of(f"SELECT {text} FROM visits", TABLES, units=UNITS).aggregates
    assert call(aggregate) == words


def test_brackets_in_a_name_stay() -> None:
    odd = Column("(a) b")
    assert call(Aggregate(name="x", function=Function.SUM, value=odd)) == "SUM((a) b)"
    assert call(Aggregate(name="x", function=Function.CORR, value=odd, second=Column("(c)"))) == "CORR((a) b, (c))"
