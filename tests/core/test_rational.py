"""Numbers that users write: exact, finite, of a sane size."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import raises_code

from privet.core.rational import MAX_DIGITS, below_one, positive, rational, show, whole
from privet.errors import InvalidInputError, PrivetError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, Fraction(3)),
        (0.1, Fraction(1, 10)),
        (1e-9, Fraction(1, 10**9)),
        (Decimal("0.30"), Fraction(3, 10)),
        ("1/3", Fraction(1, 3)),
        ("-2.5e-1", Fraction(-1, 4)),
        (" 0.5 / 1.5 ", Fraction(1, 3)),
        (Fraction(2, 7), Fraction(2, 7)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.int16(-4), Fraction(-4)),
        (5e-324, Fraction(5, 10**324)),
    ],
)
def test_means_what_is_written(value: object, expected: Fraction) -> None:
    got = rational(value, "x")
    assert got == expected
    assert type(got.numerator) is int


@pytest.mark.parametrize("value", [True, False, np.timedelta64(3, "s")])
def test_refuses_integers_that_are_no_numbers(value: object) -> None:
    with raises_code(InvalidInputError, "not-whole"):
        rational(value, "x")


def test_one_tenth_and_two_tenths_are_three_tenths() -> None:
    assert rational(0.1, "x") + rational(0.2, "x") == rational(0.3, "x")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_reads_back_as_itself(value: float) -> None:
    assert float(rational(value, "x")) == value


BAD = [
    float("nan"),
    float("inf"),
    -float("inf"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("-Infinity"),
    "nan",
    "",
    "abc",
    "0x10",
    "1/0",
    "1/2/3",
    "1/",
    None,
    [1],
    1j,
    b"1",
    np.bool_(True),
    np.array([1.0, 2.0]),
    np.datetime64("2020-01-01"),
    Fraction,
]


@pytest.mark.parametrize("value", BAD, ids=repr)
def test_refuses_what_is_no_number(value: object) -> None:
    with raises_code(InvalidInputError, "not-a-number|not-finite"):
        rational(value, "x")


@pytest.mark.parametrize("value", ["1e999999999", "1e-999999999", Decimal("1e401"), f"1e-{MAX_DIGITS + 1}"])
def test_refuses_extreme_exponents_without_computing_them(value: object) -> None:
    with raises_code(InvalidInputError, "out-of-range: extreme"):
        rational(value, "x")


def test_refuses_very_long_texts_and_integers() -> None:
    assert rational("9" * MAX_DIGITS, "x") == 10**MAX_DIGITS - 1
    for value in (
        "9" * (MAX_DIGITS + 1),
        10**5000,
        Fraction(1, 10**MAX_DIGITS + 1),
        "1/" + "9" * (MAX_DIGITS + 1),
        "1e400/1e-400",
    ):
        with raises_code(InvalidInputError, f"too-long: {MAX_DIGITS} digits"):
            rational(value, "x")
    assert rational("0e-300", "x") == 0
    assert rational(f"1e{MAX_DIGITS}", "x") == 10**MAX_DIGITS


def test_positive_and_below_one() -> None:
    assert positive("0.5", "x") == Fraction(1, 2)
    assert below_one("0.5", "d") == Fraction(1, 2)
    assert below_one(0, "d") == 0
    for value in (0, -1, "-0.0"):
        with raises_code(InvalidInputError, "not-positive: x"):
            positive(value, "x")
    for value in (1, -0.5, 1.5):
        with raises_code(InvalidInputError, "out-of-range: d=0"):
            below_one(value, "d")


def test_whole() -> None:
    assert whole(np.int64(3), "n", 0) == 3
    assert whole(0, "n", 0) == 0
    assert whole(-5, "n") == -5
    assert type(whole(np.uint8(3), "n", 0)) is int
    for value in (3.0, "3", True, np.bool_(True), None, Fraction(3, 1), np.timedelta64(3, "s"), Fraction(10**5000, 3)):
        with raises_code(InvalidInputError, "not-whole"):
            whole(value, "n", 0)
    with raises_code(InvalidInputError, "too-small: not 0 … n=1"):
        whole(0, "n", 1)


def test_errors_quote_little() -> None:
    assert show("x" * 100) == "'" + "x" * 36 + "..."
    assert show(0.5) == "0.5"
    assert show(10**5000) == show(Fraction(10**5000, 3)) == "a very long number"
    assert show("y" * 38) == repr("y" * 38)  # 40 characters with its quotes
    assert show("y" * 39) == "'" + "y" * 36 + "..."


def test_an_error_is_a_problem_and_a_remedy() -> None:
    error = InvalidInputError("this is wrong", "do that")
    assert isinstance(error, PrivetError)
    assert isinstance(error, ValueError)
    assert (error.problem, error.remedy) == ("this is wrong", "do that")
    assert str(error) == "this is wrong\n  remedy: do that"
