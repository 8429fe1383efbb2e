"""Declared columns: exact bounds on a grid of whole steps, and clear refusals."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from fractions import Fraction

import pytest
from support.refusals import raises_code

from privet.core.schema import Boolean, Category, Date, Integer, Number, Text, Timestamp
from privet.core.shape import shape_of_kind
from privet.errors import InvalidInputError


def test_steps() -> None:
    assert Integer(-5, 120).steps == (-5, 120)
    assert Number(0, 5000, step="0.01").steps == (0, 500_000)
    assert Number(-0.3, 0.6, step=0.1).steps == (-3, 6)
    assert Boolean().steps == (0, 1)
    assert Date("1970-01-02", dt.date(1971, 1, 1)).steps == (1, 365)
    assert Timestamp("1970-01-01T00:00:01", dt.datetime(1970, 1, 2)).steps == (10**6, 86_400 * 10**6)
    assert Integer(3, 3).steps == (3, 3)


def test_kinds_are_values() -> None:
    assert Number(0, 1, step="0.5") == Number(0, 1, step=Fraction(1, 2))
    assert len({Integer(0, 1), Integer(0, 1), Category(["a", "b"]), Category(("a", "b")), Text(), Text()}) == 3
    assert Category("only").values == ("only",)


def test_a_kind_says_that_it_is_never_missing_and_otherwise_nothing() -> None:
    """Digests of declarations hold its text: that of a usual one is what it was before there was such a thing."""
    assert repr(Integer(0, 5)) == "Integer(low=0, high=5)"
    assert repr(Integer(0, 5, never_missing=True)) == "Integer(low=0, high=5, never_missing=True)"
    assert repr(Text(constant_per_unit=True)) == "Text(constant_per_unit=True)"
    assert (repr(Text()), repr(Boolean(never_missing=True))) == ("Text()", "Boolean(never_missing=True)")
    days = ("2020-01-01", "2020-01-02")
    for kind in (
        Integer(0, 1),
        Number(0, 1, step=1),
        Boolean(),
        Category(["a"]),
        Text(),
        Date(*days),
        Timestamp(*days),
    ):
        never = replace(kind, never_missing=True)
        assert never != kind
        assert (kind.never_missing, never.never_missing) == (False, True)
        assert (shape_of_kind(kind).null, shape_of_kind(never).null) == (True, False)
        assert replace(shape_of_kind(never), null=True) == shape_of_kind(kind)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Integer(0, 1.5), "not-whole: high"),
        (lambda: Integer(0, 1, never_missing="yes"), "wrong-type: 'yes'"),
        (lambda: Text(never_missing=1), "wrong-type: 1"),
        (lambda: Date("2020-01-01", "2020-01-02", constant_per_unit=None), "wrong-type: constant_per_unit … None"),
        (lambda: Integer(2, 1), "reversed-range: 2 … high 1"),
        (lambda: Number(1, 0, step=1), "reversed-range: 1 … high 0"),
        (lambda: Number(0, 1, step=0), "not-positive: step … above 0"),
        (lambda: Number(0, 1, step="0.3"), "contradiction: 3/10"),
        (lambda: Number("0.5", 1, step=1), "contradiction: 1/2 … step 1"),
        (lambda: Number(0, float("inf"), step=1), "not-finite: high"),
        (lambda: Category([]), "not-a-list"),
        (lambda: Category(["a", 1]), "not-a-list"),
        (lambda: Category(["a", "a"]), "duplicate-value"),
        (lambda: Category(5), "not-a-list"),
        (lambda: Category({"a", "b"}), "not-a-list"),  # a set has no order
        (lambda: Date("2020-13-01", "2021-01-01"), "not-a-date: '2020-13-01'"),
        (lambda: Date("2020-01-01", 5), "not-a-date: 5"),
        (lambda: Date(dt.datetime(2020, 1, 1), "2021-01-01"), "not-a-date"),
        (lambda: Date("2021-01-02", "2021-01-01"), "reversed-range"),
        (lambda: Timestamp("noon", "2021-01-01"), "not-a-date: 'noon'"),
        (lambda: Timestamp("2020-01-01T00:00+02:00", "2021-01-01"), "not-supported: time"),
        (lambda: Timestamp("2021-01-02", "2021-01-01"), "reversed-range"),
    ],
)
def test_refusals(make: object, problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        make()
