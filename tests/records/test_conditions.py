"""Conditions: what a text means, what is refused, and which attributes an expression mentions."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest
from support.refusals import raises_code

from privet.core import expression as ex
from privet.errors import InvalidInputError
from privet.records.conditions import Conditions, columns_of, condition, grid_of, holds

AGES = tuple(map(Fraction, range(116)))
ATTRIBUTES = {
    "sex": ("F", "M"),
    "age": AGES,
    "smokes": (False, True),
    "income": tuple(Fraction(n, 2) for n in range(-3, 4)),
}
WOMAN = {"sex": "F", "age": Fraction(30), "smokes": True, "income": Fraction(1, 2)}


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("sex = 'F'", True),
        ("SEX = 'F' AND Age >= 30", True),
        ("age > 30", False),
        ("sex IN ('M')", False),
        ("NOT sex <> 'F'", True),
        ("'F' = sex", True),
        ("smokes", True),
        ("smokes = FALSE OR age BETWEEN 29 AND 31", True),
        ("income = 0.5", True),
        ("NULL", False),
        ("age = 200", False),  # a number may lie outside: bands often do
        ("sex = 'F' -- women", True),
    ],
)
def test_a_condition_means_what_sql_says(text: str, true: bool) -> None:
    assert holds(condition(text, ATTRIBUTES), WOMAN) is true


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sex = 'F' GROUP BY sex", "not-a-condition"),
        ("sex = 'F' HAVING COUNT(*) > 1", "not-a-condition"),
        ("sex = 'F' ORDER BY COUNT(*)", "not-a-condition"),
        ("sex = 'F' LIMIT 3", "not-a-condition"),
        ("sex = 'F' OFFSET 3", "not-a-condition"),
        ("sex = 'F'; SELECT 1", "unsupported-sql"),
        ("sex = 'F' UNION SELECT 1", "unsupported-sql: UNION"),
        ("", "syntax-error: ''"),
        ("sex = ", "syntax-error"),
        ("height > 3", "unknown-column: 'height'"),
        ("age", "not-a-condition: needs"),
        ("age = 'F'", "type-mismatch"),
        ("sex = 'X'", "unknown-choice: 'X'"),
        ("sex IN ('F', 'X')", "unknown-choice: 'X'"),
        ("age > 3 AND ('X' <> sex)", "unknown-choice: 'X'"),
        (3, "wrong-type: not 3"),
    ],
)
def test_what_is_no_condition_is_refused_in_one_line(text: str, words: str) -> None:
    with raises_code(InvalidInputError, words) as refused:
        condition(text, ATTRIBUTES)
    assert "\n" not in refused.value.problem + refused.value.remedy
    assert "line 1" not in refused.value.problem


def test_the_same_text_is_read_once() -> None:
    conditions = Conditions(ATTRIBUTES)
    assert conditions.read("age > 3") is conditions.read("age > 3")


def test_grid() -> None:
    assert grid_of(AGES) == 1
    assert grid_of(ATTRIBUTES["income"]) == Fraction(1, 2)
    assert grid_of((Fraction(10), Fraction(25))) == 5
    assert grid_of((Fraction(0),)) == 1


def test_columns_of_every_node() -> None:
    a, b, c, one = ex.Column("a"), ex.Column("b"), ex.Column("c"), ex.Literal(Fraction(1))
    day = ex.Literal(dt.date(2020, 1, 1))
    for node, names in [
        (one, ""),
        (a, "a"),
        (ex.Arithmetic(ex.Sign.ADD, a, b), "ab"),
        (ex.Compare(ex.Relation.EQUAL, a, one), "a"),
        (ex.And((a, b, c)), "abc"),
        (ex.Or((a, b)), "ab"),
        (ex.Not(a), "a"),
        (ex.IsNull(b), "b"),
        (ex.In(c, (Fraction(1),)), "c"),
        (ex.Case(((a, b),), c), "abc"),
        (ex.Coalesce((a, one)), "a"),
        (ex.Least((a, b)), "ab"),
        (ex.Greatest((b, c)), "bc"),
        (ex.Absolute(a), "a"),
        (ex.Rounded(ex.Rounding.UP, a, Fraction(1)), "a"),
        (ex.Truncated(ex.Period.YEAR, b), "b"),
        (ex.Extracted(ex.Field.YEAR, c), "c"),
        (ex.AsDate(a), "a"),
        (ex.AsTime(day), ""),
    ]:
        assert columns_of(node) == frozenset(names), node
