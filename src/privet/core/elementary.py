"""Roots, logarithms and exponentials of exact numbers, rounded as if they were known to every digit. Integers only."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

from privet.core import expression as e
from privet.core.claim import claim
from privet.core.exponential import exp_enclosure

Irrational = e.Root | e.Logarithm | e.Exponential
LARGEST = 700  # exponentials of more have no value: a double has none either
FIRST_BITS = 64
GUARD = 32
FINE, FINER = 10**18, 10**60  # parts of 1 in which a published number is computed


def round_to(rounding: e.Rounding, number: Fraction) -> int:
    """The whole number below, above or nearest; halves upwards, which never moves two numbers further apart."""
    match rounding:
        case e.Rounding.DOWN:
            return math.floor(number)
        case e.Rounding.UP:
            return math.ceil(number)
        case e.Rounding.NEAREST:
            return math.floor(number + Fraction(1, 2))
        case e.Rounding.INWARD:
            return math.trunc(number)
        case _:
            assert_never(rounding)


def in_domain(function: Irrational, x: Fraction) -> bool:
    match function:
        case e.Root():
            return x >= 0
        case e.Logarithm():
            return x > 0
        case _:
            return x <= LARGEST


@claim("rounded-functions")
def rounded_value(function: Irrational, x: Fraction, rounding: e.Rounding, step: Fraction) -> int | None:
    """The multiple of `step` that function(x) is rounded to; None where the function has no value."""
    if not in_domain(function, x):
        return None
    if rounding is e.Rounding.NEAREST:  # floor(y + 1/2) is half of floor(2y) + 1, rounded down
        return (floor_of(function, x, 2 / step)[0] + 1) // 2
    below, exact = floor_of(function, x, 1 / step)
    up = rounding is e.Rounding.UP or (rounding is e.Rounding.INWARD and below < 0)
    return below + 1 if up and not exact else below


def near(function: Irrational, x: Fraction) -> tuple[Fraction, Fraction] | None:
    """Two numbers that function(x) lies between, with 12 digits in common; None where it has no value."""
    if not in_domain(function, x):
        return None
    for scale in (FINE, FINER):
        below, exact = floor_of(function, x, Fraction(scale))
        if abs(below) > FINE // 10**6:
            break
    return Fraction(below, scale), Fraction(below if exact else below + 1, scale)


@claim("rounded-functions")
def floor_of(function: Irrational, x: Fraction, scale: Fraction) -> tuple[int, bool]:
    """The largest whole number that is at most scale * function(x), and whether it is equal."""
    match function:
        case e.Root(_, degree):
            inside = x * scale**degree
            root = floor_root(math.floor(inside), degree)
            return root, root**degree == inside
        case e.Logarithm(_, base):
            known = _rational_logarithm(x, base)
        case _:
            known = Fraction(1) if x == 0 else None
    if known is not None:
        return math.floor(known * scale), (known * scale).denominator == 1
    bits = FIRST_BITS  # the value is irrational, so that some precision decides
    while True:
        low, high = _enclosure(function, x, bits)
        below = low * scale.numerator // (scale.denominator << bits)
        if high * scale.numerator // (scale.denominator << bits) == below:
            return below, False
        bits *= 2


@claim("rounded-functions")
def floor_root(number: int, degree: int) -> int:
    """The largest whole number whose power is at most `number` >= 0: Newton's steps fall until they are there."""
    if number < 2:
        return number
    root = 1 << -(-number.bit_length() // degree)  # above the root
    while True:
        lower = ((degree - 1) * root + number // root ** (degree - 1)) // degree
        if lower >= root:
            return root
        root = lower


def _enclosure(function: Irrational, x: Fraction, bits: int) -> tuple[int, int]:
    """Integers around 2**bits * function(x)."""
    if isinstance(function, e.Exponential):
        return _exponential(x, bits)
    assert isinstance(function, e.Logarithm)  # noqa: S101  roots are exact
    low, high = ln_enclosure(x, bits + GUARD)
    if function.base is None:
        return low >> GUARD, -(-high >> GUARD)
    least, most = ln_enclosure(Fraction(function.base), bits + GUARD)
    return (low << bits) // (most if low >= 0 else least), -((-high << bits) // (least if high >= 0 else most))


def _exponential(x: Fraction, bits: int) -> tuple[int, int]:
    """exp(x) for x > 0 is 1 / exp(-x), which needs as many more bits as it is small."""
    if x < 0:
        return exp_enclosure(-x, bits)
    precision = bits + 4 * math.ceil(x) + GUARD
    low, high = exp_enclosure(x, precision)
    one = 1 << (precision + bits)
    return one // high, -(-one // low)


@claim("ln-enclosure")
def ln_enclosure(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers (low, high) with low <= 2**bits * ln(x) <= high, for x > 0.

    x is m * 2**e with 1/2 < m < 2, and ln(m) is twice the inverse hyperbolic tangent of (m - 1) / (m + 1).
    """
    e2 = x.numerator.bit_length() - x.denominator.bit_length()
    m = x / Fraction(2) ** e2
    precision = bits + abs(e2).bit_length() + GUARD
    low, high = _twice_atanh((m - 1) / (m + 1), precision)
    two = _ln_two(precision)
    low, high = low + min(e2 * end for end in two), high + max(e2 * end for end in two)
    spare = precision - bits
    return low >> spare, -(-high >> spare)


@lru_cache(maxsize=64)
def _ln_two(precision: int) -> tuple[int, int]:
    return _twice_atanh(Fraction(1, 3), precision)


def _twice_atanh(z: Fraction, precision: int) -> tuple[int, int]:
    """Bounds on 2**precision * 2 * atanh(z) for -1/3 <= z <= 1/3, from z + z**3/3 + z**5/5 + ...

    Every power is cut down and lacks less than 2: its own cut, a ninth of what the one before it lacked, and a third
    of what the square lacks, which is less than 5/3. So a term lacks less than 3, and what follows the first power
    that is cut to 0 is less than 1.
    """
    power = (abs(z.numerator) << precision) // z.denominator
    square = power * power >> precision
    total, n = 0, 0
    while power:
        total += power // (2 * n + 1)
        power = power * square >> precision
        n += 1
    low, high = 2 * total, 2 * (total + 3 * n + 1)
    return (low, high) if z >= 0 else (-high, -low)


def _rational_logarithm(x: Fraction, base: int | None) -> Fraction | None:
    """The logarithm where it is a rational number; otherwise it is irrational."""
    if x == 1:
        return Fraction(0)
    if base is None:
        return None
    if x < 1:
        found = _rational_logarithm(1 / x, base)
        return None if found is None else -found
    if x.denominator != 1:
        return None
    times, core = _as_power(base)
    power, count = 1, 0
    while power < x:
        power, count = power * core, count + 1
    return Fraction(count, times) if power == x else None


def _as_power(base: int) -> tuple[int, int]:
    """(n, c) with base = c**n and the largest n."""
    for n in range(base.bit_length(), 1, -1):
        core = floor_root(base, n)
        if core**n == base:
            return n, core
    return 1, base
