"""Roots, logarithms and exponentials of exact numbers are rounded as if all their digits were known."""

from __future__ import annotations

import decimal
import math
from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.core.elementary import floor_of, floor_root, ln_enclosure, near, rounded_value
from privet.core.evaluate import evaluate
from privet.core.expression import (
    Column,
    Exponential,
    Literal,
    Logarithm,
    Root,
    Rounded,
    Rounding,
)

X = Column("x")
NOTHING = Literal(None)
EXACT = decimal.Context(prec=80, Emin=-(10**9), Emax=10**9)
STEPS = [F(1), F(1, 10), F(1, 1000), F(3, 7), F(5)]
Irrational = Root | Logarithm | Exponential


def rounded(rounding: Rounding, number: F) -> int:
    match rounding:
        case Rounding.DOWN:
            return math.floor(number)
        case Rounding.UP:
            return math.ceil(number)
        case Rounding.INWARD:
            return math.trunc(number)
        case _:
            return math.floor(number + F(1, 2))


def real_value(function: Irrational, x: F) -> decimal.Decimal:
    """To 80 digits."""
    number = EXACT.divide(decimal.Decimal(x.numerator), decimal.Decimal(x.denominator))
    match function:
        case Root(_, degree):
            share = EXACT.divide(decimal.Decimal(1), decimal.Decimal(degree))
            return EXACT.power(number, share) if x else decimal.Decimal(0)
        case Logarithm(_, base):
            natural = EXACT.ln(number)
            return natural if base is None else EXACT.divide(natural, EXACT.ln(decimal.Decimal(base)))
        case _:
            return EXACT.exp(number)


FUNCTIONS: list[Irrational] = [
    *(Root(NOTHING, degree) for degree in (2, 3, 4, 5, 6)),
    *(Logarithm(NOTHING, base) for base in (None, 2, 4, 10, 7, 1000)),
    Exponential(NOTHING),
]


@given(
    st.sampled_from(FUNCTIONS),
    st.fractions(F(1, 10**6), 60, max_denominator=10**6),
    st.sampled_from(Rounding),
    st.sampled_from(STEPS),
)
def test_rounded_values_are_those_of_eighty_digits(function: Irrational, x: F, rounding: Rounding, step: F) -> None:
    found = rounded_value(function, x, rounding, step)
    meant = F(real_value(function, x)) / step
    if abs(meant - round(2 * meant) / F(2)) > F(1, 10**40):  # exact ones are below
        assert found == rounded(rounding, meant)
    else:
        assert found is not None
        assert abs(found - meant) <= 1


@given(st.integers(0, 10**30), st.integers(2, 6))
def test_roots_of_whole_numbers_by_their_powers(number: int, degree: int) -> None:
    root = floor_root(number, degree)
    assert root**degree <= number < (root + 1) ** degree


@given(st.fractions(F(1, 10**12), 10**12), st.integers(1, 200))
def test_logarithms_lie_in_their_enclosures(x: F, bits: int) -> None:
    low, high = ln_enclosure(x, bits)
    meant = F(real_value(Logarithm(NOTHING), x)) * 2**bits
    assert low <= meant + F(1, 10**10)
    assert high >= meant - F(1, 10**10)
    assert high - low <= 2


@given(st.fractions(0, 10**6), st.integers(2, 6), st.sampled_from(STEPS))
def test_a_root_to_nearest_by_powers_of_both_borders(x: F, degree: int, step: F) -> None:
    found = rounded_value(Root(NOTHING, degree), x, Rounding.NEAREST, step)
    assert found is not None
    low, high = max(F(0), (found - F(1, 2)) * step), (found + F(1, 2)) * step
    assert low**degree <= x < high**degree


EXACTLY: list[tuple[Irrational, F, F]] = [
    (Root(NOTHING, 2), F(9, 4), F(3, 2)), (Root(NOTHING, 3), F(1, 8), F(1, 2)), (Root(NOTHING, 2), F(0), F(0)),
    (Logarithm(NOTHING), F(1), F(0)), (Logarithm(NOTHING, 10), F(1000), F(3)),
    (Logarithm(NOTHING, 10), F(1, 100), F(-2)), (Logarithm(NOTHING, 4), F(8), F(3, 2)),
    (Logarithm(NOTHING, 4), F(1, 2), F(-1, 2)), (Exponential(NOTHING), F(0), F(1)),
    (Logarithm(NOTHING, 1000), F(10), F(1, 3)), (Logarithm(NOTHING, 36), F(6), F(1, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "x", "value"), EXACTLY)
@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize("step", STEPS)
def test_rational_values_are_exact(function: Irrational, x: F, value: F, rounding: Rounding, step: F) -> None:
    """Halves go up, and a whole number of steps stays what it is."""
    assert rounded_value(function, x, rounding, step) == rounded(rounding, value / step)
    assert near(function, x) is not None
    assert floor_of(function, x, F(6)) == (math.floor(6 * value), (6 * value).denominator == 1)


def test_what_has_no_value() -> None:
    for function, x in ((Root(X, 2), F(-1)), (Logarithm(X), F(0)), (Logarithm(X, 2), F(-1)), (Exponential(X), F(701))):
        assert rounded_value(function, x, Rounding.NEAREST, F(1)) is None
        assert evaluate(function, {"x": x}) is None
        assert evaluate(Rounded(Rounding.NEAREST, function, F(1)), {"x": x}) is None
        assert evaluate(function, {"x": None}) is None


def test_published_numbers_have_twelve_digits() -> None:
    for function, x in (
        (Root(X, 2), F(2)),
        (Logarithm(X), F(10**9)),
        (Exponential(X), F(-60)),
        (Exponential(X), F(300)),
    ):
        ends = near(function, x)
        assert ends is not None
        meant = F(real_value(function, x))
        assert ends[0] <= meant * (1 + F(1, 10**70))
        assert ends[1] >= meant * (1 - F(1, 10**70))
        assert ends[1] - ends[0] <= abs(meant) / 10**12
