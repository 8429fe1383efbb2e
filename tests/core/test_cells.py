"""The cells of a plan: exactly the keys that can occur, and as many as are allowed, not one more."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from fractions import Fraction as F

import pytest
from support.refusals import raises_code

from privet.core.cells import MOST, Cells, cells_of
from privet.core.expression import AsDate, AsTime, Case, Column, Expression, Literal, Period, Truncated, Value
from privet.core.plan import Key, Plan
from privet.core.schema import Boolean, Date, Integer, Number, Timestamp
from privet.core.shape import Form, Shape, shape_of_kind
from privet.errors import RefusedQueryError

D, S, T = Column("d"), Column("s"), Column("t")
SHAPES = {
    "d": shape_of_kind(Date("2020-12-30", "2021-01-02")),
    "s": shape_of_kind(Timestamp("2020-12-31T22:30", "2021-01-01T01:30")),
    "t": shape_of_kind(Boolean()),
    "b": shape_of_kind(Number("-0.5", "0.5", step="0.5")),
}
DAYS = [dt.date(2020, 12, 30), dt.date(2020, 12, 31), dt.date(2021, 1, 1), dt.date(2021, 1, 2)]
MONTHS = [dt.date(2020, 12, 1), dt.date(2021, 1, 1)]


def cells(*values: Expression, **shapes: Shape) -> Cells:
    keys = tuple(Key(name=f"k{i}", value=value) for i, value in enumerate(values))
    return cells_of(Plan(table="t", keys=keys, aggregates=(), outputs=()), {**SHAPES, **shapes})


def midnights(days: list[dt.date]) -> list[dt.datetime]:
    return [dt.datetime(day.year, day.month, day.day) for day in days]


HOURS = [
    dt.datetime(2020, 12, 31, 22),
    dt.datetime(2020, 12, 31, 23),
    *midnights(DAYS[2:3]),
    dt.datetime(2021, 1, 1, 1),
]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (T, [False, True]),
        (Column("b"), [F(-1, 2), F(0), F(1, 2)]),
        (D, DAYS),
        (AsTime(D), midnights(DAYS)),
        (Truncated(Period.DAY, D), DAYS),
        (Truncated(Period.MONTH, D), MONTHS),
        (Truncated(Period.WEEK, D), [dt.date(2020, 12, 28)]),
        (AsTime(Truncated(Period.MONTH, D)), midnights(MONTHS)),
        (AsDate(S), DAYS[1:3]),
        (Truncated(Period.HOUR, S), HOURS),
        (Truncated(Period.DAY, S), midnights(DAYS[1:3])),
        (Truncated(Period.YEAR, S), [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)]),
        (AsDate(Truncated(Period.HOUR, S)), DAYS[1:3]),
        (AsDate(Truncated(Period.MONTH, S)), MONTHS),
        (Case(((T, Truncated(Period.MONTH, D)),), D), [dt.date(2020, 12, n) for n in range(1, 32)] + DAYS[2:]),
    ],
    ids=repr,
)
def test_exactly_the_keys_that_can_occur_then_null(value: Expression, expected: list[Value]) -> None:
    assert cells(value).domains == ((*expected, None),)


def test_a_null_key_has_one_cell_and_no_key_has_one() -> None:
    assert cells(Literal(None)).domains == ((None,),)
    assert cells().count == 1
    assert list(cells().keys()) == [()]


def test_as_many_cells_as_are_allowed() -> None:
    thousand = replace(shape_of_kind(Integer(1, 1000)), null=False)
    assert MOST == 10**6
    assert cells(Column("x"), Column("y"), x=thousand, y=thousand).count == MOST
    with raises_code(RefusedQueryError, "too-many: 1,000,000"):
        cells(Column("x"), Column("y"), x=thousand, y=replace(thousand, high=1001))


def test_a_key_has_as_many_values_as_are_allowed() -> None:
    words = tuple(map(str, range(MOST + 1)))
    assert cells(Column("x"), x=Shape(form=Form.WORD, values=words[1:], null=False)).count == MOST
    for shape in (
        Shape(form=Form.WORD, values=words, null=False),
        Shape(form=Form.WORD, values=words[1:]),  # and NULL
        Shape(form=Form.NUMBER, low=0, high=MOST, null=False),
    ):
        with raises_code(RefusedQueryError, "too-many: 1,000,000"):
            cells(Column("x"), x=shape)


def test_large_numbers_in_a_narrow_range_are_few() -> None:
    assert cells(Column("x"), x=shape_of_kind(Integer(10**9, 10**9 + 2))).domains == (
        (F(10**9), F(10**9 + 1), F(10**9 + 2), None),
    )


def private(*values: Expression, other: str | None = None, asked: bool = False, **shapes: Shape) -> Cells:
    keys = tuple(Key(name=f"k{i}", value=value) for i, value in enumerate(values))
    plan = Plan(table="t", keys=keys, aggregates=(), outputs=(), private_keys=asked, other=other)
    return cells_of(plan, {**SHAPES, **shapes})


def test_keys_that_nobody_declared_are_chosen_from_the_data() -> None:
    word = Shape(form=Form.WORD)
    for found in (private(Column("w"), w=word), private(T, Column("w"), w=word), private(T, asked=True)):
        assert found == Cells(domains=(), private=True)
        assert found.count == 0
        assert list(found.keys()) == []
    assert private(asked=True) == cells()  # one cell for all rows is no secret


def test_chosen_keys_are_the_cells_and_the_rest_is_one_more() -> None:
    word = Shape(form=Form.WORD)
    for other, more in ((None, 0), ("rest", 1)):
        found = private(Column("w"), other=other, w=word)
        assert found.rest is bool(more)
        assert found.count == more
        shown = replace(found, chosen=(("b",), (None,)))
        assert shown.count == 2 + more
        assert list(shown.keys()) == [("b",), (None,)]


def test_too_many_public_keys_may_be_chosen_from_the_data() -> None:
    wide = shape_of_kind(Integer(0, 10**9))
    with raises_code(RefusedQueryError, "too-many: private_keys"):
        cells(Column("x"), x=wide)
    assert private(Column("x"), S, asked=True, x=wide).private


def test_a_time_that_is_not_cut_has_no_list_of_cells() -> None:
    with raises_code(RefusedQueryError, "too-many: microsecond"):
        cells(S)
