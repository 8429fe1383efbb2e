"""Weights: what is asked with them is what weighting by hand gives."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asked import BUDGET, N, bounds, key, plan
from support.refusals import raises_code

from privet.core.evaluate import evaluate
from privet.core.expression import Arithmetic, Column, Compare, Literal, Quotient, Relation, Sign
from privet.core.plan import Aggregate, Computed, Function, Plan
from privet.core.schema import Category, Integer, Number
from privet.core.weights import weighted
from privet.errors import RefusedQueryError
from privet.estimates.estimate import lines, plain
from privet.estimates.priced import Priced, outline
from privet.estimates.pricing import Price, ask

KINDS = {"sex": Category(["f", "m"]), "w": Number(0, 4, step="1/4"), "x": Integer(-3, 9)}
X = Column("x")
Row = dict[str, Any]


def one(name: str, function: Function, value: Any = X) -> Aggregate:
    return Aggregate(name=name, function=function, value=value)


ALL = (N, one("k", Function.COUNT), one("s", Function.SUM), one("a", Function.AVG))
TABLES = st.lists(
    st.fixed_dictionaries(
        {
            "sex": st.sampled_from(["f", "m", None]),
            "w": st.one_of(st.none(), st.integers(0, 16).map(lambda n: F(n, 4))),
            "x": st.one_of(st.none(), st.integers(-3, 9).map(F)),
        }
    ),
    max_size=12,
)


def answered(asked: Plan, table: list[Row]) -> list[dict[str, Any]]:
    """Without noise: every measure by hand, cell by cell."""
    read: Priced = ask(outline(asked, KINDS, bounds(1, 1)), BUDGET, Price(epsilon=1))
    vectors = []
    for measure in read.measures:
        numbers, below, products = [], [], []
        for cell in list(read.cells.keys()):
            rows = [row for row in table if (row["sex"],) == cell]
            values = [None if measure.value is None else evaluate(measure.value, row) for row in rows]
            if measure.role == "count":
                numbers.append(len(rows) if measure.value is None else sum(value is not None for value in values))
            else:
                steps = [int(value / measure.step) - measure.center for value in values if value is not None]  # type: ignore[operator]
                power = 2 if measure.role == "squares" else 1
                numbers.append(sum(step**power for step in steps))
                below.append(sum((measure.high - step) ** power for step in steps))
                products.append(sum(2 * step * (measure.high - step) for step in steps))
        vectors.append(numbers + products * (measure.numbers == 3) + below * (measure.numbers > 1))
    return [{name: plain(item) for name, item in line.items()} for line in lines(read, vectors, F(95, 100))]


@given(TABLES)
def test_weighted_answers_are_those_by_hand(table: list[Row]) -> None:
    asked = weighted(plan((key("sex"),), *ALL), "w")
    for line in answered(asked, table):
        rows = [row for row in table if row["sex"] == line["sex"] and row["w"] is not None]
        known = [row for row in rows if row["x"] is not None]
        weight, total = sum(row["w"] for row in known), sum(row["w"] * row["x"] for row in known)
        assert line["n"] == sum(row["w"] for row in rows)
        assert line["k"] == weight
        assert line["s"] == total
        assert line["a"] == (total / weight if weight else None)


@given(TABLES)
def test_a_weight_of_one_changes_nothing(table: list[Row]) -> None:
    ones = [{**row, "w": F(1)} for row in table]
    plainly, by_weight = plan((key("sex"),), *ALL[:3]), weighted(plan((key("sex"),), *ALL[:3]), "w")
    assert answered(plainly, ones) == answered(by_weight, ones)


def test_what_is_computed_from_an_average_follows() -> None:
    double = Computed(name="twice", value=Arithmetic(Sign.MULTIPLY, Column("a"), Literal(F(2))))
    having = Compare(Relation.GREATER, Column("a"), Literal(F(0)))
    outputs = ("sex", "a", "twice")
    asked = plan((key("sex"),), one("a", Function.AVG), computed=(double,), outputs=outputs, having=having)
    rows = [{"sex": "f", "w": F(2), "x": F(3)}, {"sex": "f", "w": F(1), "x": F(6)}, {"sex": "m", "w": F(1), "x": F(-1)}]
    assert answered(weighted(asked, "w"), rows) == [{"sex": "f", "a": 4, "twice": 8}]


def test_fresh_names_never_collide() -> None:
    taken = one("a_sum", Function.SUM)
    asked = weighted(plan((key("sex"),), one("a", Function.AVG), taken), "w")
    assert [aggregate.name for aggregate in asked.aggregates] == ["a_sum_", "a_weight", "a_sum"]
    assert asked.computed == (Computed(name="a", value=Quotient(Column("a_sum_"), Column("a_weight"))),)
    assert asked.outputs == ("sex", "a", "a_sum")


@pytest.mark.parametrize("function", [f for f in Function if f not in (Function.COUNT, Function.SUM, Function.AVG)])
def test_others_are_refused_by_name(function: Function) -> None:
    with raises_code(RefusedQueryError, f"unsupported-function: {function} v … weights"):
        weighted(plan((), one("v", function)), "w")
    with raises_code(RefusedQueryError, "unsupported-function: answered"):
        weighted(plan((), one("v", Function.SUM, None)), "w")
