"""Shapes of columns and constants: the largest numbers, NULL flags, and what two shapes have in common."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction as F

import pytest
from support.refusals import raises_code

from privet.core.expression import Period, Value
from privet.core.shape import LIMIT, Form, Shape, checked, on_one_grid, shape_of_value, union
from privet.errors import RefusedQueryError

CONSTANTS: list[Value] = [True, False, F(0), F(-7, 3), "x", dt.date(2020, 2, 29), dt.datetime(2020, 2, 29, 12)]


def number(low: int, high: int, step: F = F(1), *, null: bool = False) -> Shape:
    return Shape(form=Form.NUMBER, low=low, high=high, step=step, null=null)


def test_the_limit_is_the_largest_that_a_sum_over_2_to_the_40_rows_can_hold() -> None:
    assert LIMIT * 2**40 <= 10**38 < (LIMIT + 1) * 2**40


@pytest.mark.parametrize(("low", "high"), [(0, LIMIT - 1), (1 - LIMIT, 0), (1 - LIMIT, LIMIT - 1)])
def test_numbers_below_the_limit_are_taken(low: int, high: int) -> None:
    assert checked(number(low, high)) == number(low, high)


@pytest.mark.parametrize(("low", "high"), [(0, LIMIT), (-LIMIT, 0), (LIMIT, LIMIT), (-LIMIT, 1 - LIMIT)])
def test_numbers_at_the_limit_are_refused(low: int, high: int) -> None:
    with raises_code(RefusedQueryError, "too-fine: large"):
        checked(number(low, high))


def test_a_common_step_that_is_too_fine_is_refused() -> None:
    """1 and 1 / LIMIT fit by themselves; in steps of 1 / LIMIT the 1 does not."""
    assert on_one_grid([number(1, 1), number(1, 1, F(1, LIMIT - 1))]) == [(LIMIT - 1, LIMIT - 1), (1, 1)]
    with raises_code(RefusedQueryError, "too-fine: large"):
        on_one_grid([number(1, 1), number(1, 1, F(1, LIMIT))])


@pytest.mark.parametrize("value", CONSTANTS, ids=repr)
def test_a_constant_is_one_value_and_never_missing(value: Value) -> None:
    shape = shape_of_value(value)
    assert not shape.null
    assert shape.low == shape.high
    assert shape.values == ((value,) if isinstance(value, str) else None)
    if isinstance(value, F):
        assert shape.low * shape.step == value


def test_null_is_missing_and_adds_nothing_to_a_range() -> None:
    null = shape_of_value(None)
    assert (null.form, null.low, null.high, null.null) == (Form.NOTHING, 0, 0, True)
    assert union([null]) == union([null, null]) == null
    assert union([null, number(5, 7)]) == number(5, 7, null=True)


def test_only_shapes_of_the_same_period_keep_it() -> None:
    month = Shape(form=Form.DATE, low=0, high=31, period=Period.MONTH)
    week = Shape(form=Form.DATE, low=4, high=39, period=Period.WEEK)
    assert union([month, month]) == month
    for other in (week, Shape(form=Form.DATE, low=4, high=39)):
        assert union([month, other]) == union([other, month]) == Shape(form=Form.DATE, low=0, high=39)


def test_a_union_is_as_wide_as_its_members_on_their_common_grid() -> None:
    found = union([number(-1, 2, F(1, 2)), number(1, 4, F(1, 3))])  # -1/2 .. 1 and 1/3 .. 4/3
    assert found == number(-3, 8, F(1, 6))
