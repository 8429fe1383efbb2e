"""What a condition on one column says: exactly the range of the values that pass it, on the column's grid."""

from __future__ import annotations

import datetime as dt
import itertools
from fractions import Fraction as F

import pytest

from privet.core import calendar
from privet.core.evaluate import evaluate
from privet.core.expression import Column, Compare, Expression, In, IsNull, Literal, Not, Relation, Value
from privet.core.narrow import narrowed
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.core.shape import shape_of_kind

KINDS: dict[str, Kind] = {
    "a": Integer(-2, 3),
    "b": Number("-0.5", 1, step="0.5"),
    "t": Boolean(),
    "w": Category(["x", "y", "z"]),
    "d": Date("2020-12-30", "2021-01-05"),
    "s": Timestamp("2020-12-31T22:30", "2021-01-01T01:30"),
    "city": Text(),
}
SHAPES = {name: shape_of_kind(kind) for name, kind in KINDS.items()}
ORDERS = [relation for relation in Relation if relation is not Relation.UNEQUAL]
NOON = dt.datetime(2021, 1, 1, 12)

NUMBERS: list[Value] = [F(-2), F(-3, 4), F(-1, 2), F(0), F(1, 3), F(1), F(3)]
DAYS: list[Value] = [dt.date(2020, 12, 30), dt.date(2021, 1, 1), dt.datetime(2021, 1, 1), NOON, dt.date(2021, 1, 5)]


def values(name: str) -> list[Value]:
    shape = SHAPES[name]
    span = range(shape.low, shape.high + 1)
    return [calendar.day_at(n) for n in span] if name == "d" else [n * shape.step for n in span]


def steps(name: str, value: Value) -> int:
    if isinstance(value, dt.date):
        return calendar.days(value)
    assert isinstance(value, F)
    return int(value / SHAPES[name].step)


def check_exact(name: str, where: Expression) -> bool:
    """Whether anybody passes; then the narrowed range begins and ends with somebody."""
    passing = [steps(name, value) for value in values(name) if evaluate(where, {name: value}) is True]
    found = narrowed(SHAPES, where)[name]
    if passing:
        assert (found.low, found.high, found.null) == (min(passing), max(passing), False)
    else:
        assert found == SHAPES[name]  # nobody passes: nothing is said
    return bool(passing)


@pytest.mark.parametrize("relation", ORDERS)
@pytest.mark.parametrize(("name", "constants"), [("a", NUMBERS), ("b", NUMBERS), ("d", DAYS)])
def test_a_comparison_leaves_exactly_what_passes(name: str, constants: list[Value], relation: Relation) -> None:
    passed = 0
    for constant in constants:
        passed += check_exact(name, Compare(relation, Column(name), Literal(constant)))
        passed += check_exact(name, Compare(relation, Literal(constant), Column(name)))
    assert passed >= 4


@pytest.mark.parametrize("day", [dt.date(2021, 1, 1), dt.datetime(2021, 1, 1)])
def test_a_date_beside_a_time_is_its_first_moment(day: dt.date) -> None:
    midnight = calendar.microseconds(dt.datetime(2021, 1, 1))
    low, high = SHAPES["s"].low, SHAPES["s"].high
    expected = {
        Relation.EQUAL: (midnight, midnight),
        Relation.LESS: (low, midnight - 1),
        Relation.LESS_EQUAL: (low, midnight),
        Relation.GREATER: (midnight + 1, high),
        Relation.GREATER_EQUAL: (midnight, high),
    }
    for relation, ends in expected.items():
        found = narrowed(SHAPES, Compare(relation, Column("s"), Literal(day)))["s"]
        assert (found.low, found.high) == ends, relation


def test_a_list_leaves_what_lies_between_its_ends() -> None:
    for name, constants in (("a", NUMBERS), ("b", NUMBERS), ("d", DAYS)):
        for few in itertools.combinations(constants, 3):
            found = narrowed(SHAPES, In(Column(name), few))[name]
            passing = [steps(name, value) for value in values(name) if evaluate(In(Column(name), few), {name: value})]
            assert not passing or found.low <= min(passing) <= max(passing) <= found.high
    between = narrowed(SHAPES, In(Column("a"), (F(7, 3), F(1), F(2), F(2, 3))))["a"]  # ends off the grid move inwards
    assert (between.low, between.high) == (1, 2)
    beyond = narrowed(SHAPES, In(Column("a"), (F(-9), F(9))))["a"]
    assert (beyond.low, beyond.high, beyond.null) == (-2, 3, False)


@pytest.mark.parametrize(
    "where",
    [
        Compare(Relation.LESS, Column("a"), Literal(None)),
        Compare(Relation.LESS, Literal(None), Column("a")),
        Compare(Relation.EQUAL, Column("a"), Column("b")),
        IsNull(Column("a")),
    ],
    ids=repr,
)
def test_what_bounds_no_single_column_says_nothing(where: Expression) -> None:
    assert narrowed(SHAPES, where) == SHAPES


@pytest.mark.parametrize("relation", [Relation.EQUAL, Relation.UNEQUAL])
def test_words(relation: Relation) -> None:
    found = narrowed(SHAPES, Compare(relation, Column("w"), Literal("y")))["w"]
    assert found.values == (("y",) if relation is Relation.EQUAL else ("x", "y", "z"))
    assert not found.null
    assert narrowed(SHAPES, Compare(Relation.EQUAL, Column("w"), Literal("other")))["w"] == SHAPES["w"]


def test_booleans() -> None:
    truth = {
        Column("t"): 1, Not(Column("t")): 0, Compare(Relation.EQUAL, Column("t"), Literal(False)): 0,
        Compare(Relation.EQUAL, Literal(True), Column("t")): 1,
    }  # fmt: skip
    for where, end in truth.items():
        found = narrowed(SHAPES, where)["t"]
        assert (found.low, found.high, found.null) == (end, end, False), where
