"""Averages, variances, covariances and correlations from noisy sums around the middle of a range, and their intervals.

Every noisy number lies within its half width of the exact one, all of them together with the asked probability; what
follows from that by the arithmetic of intervals holds with it, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from privet.core.claim import claim
from privet.core.measures import Measure, Role
from privet.core.plan import Function

SAMPLE = (Function.VAR_SAMP, Function.STDDEV_SAMP, Function.COVAR_SAMP)
SQUARED = {  # the places of a sum and of the sum of its squares in a recipe
    **dict.fromkeys((Function.VAR_POP, Function.VAR_SAMP, Function.STDDEV_POP, Function.STDDEV_SAMP), ((0, 1),)),
    Function.CORR: ((0, 3), (1, 4)),
}
ROOTS = (Function.STDDEV_POP, Function.STDDEV_SAMP)
FINE = 10**9  # a root is taken to so many parts
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value, and an interval that holds the exact bounded value with the asked probability; None if there is none.

    With `null` the exact value may be NULL: perhaps nobody is there, or all values are equal. One that is not `known`
    is not shown: the released numbers say that it may be any value of the range, or contradict it."""

    value: Fraction
    low: Fraction | None
    high: Fraction | None
    null: bool = False
    known: bool = True

    @property
    def shown(self) -> Fraction | None:
        return self.value if self.known else None


@dataclass(frozen=True, slots=True)
class MomentSpan:
    """From low to high."""

    low: Fraction
    high: Fraction

    def __add__(self, other: MomentSpan) -> MomentSpan:
        return MomentSpan(self.low + other.low, self.high + other.high)

    def __sub__(self, other: MomentSpan) -> MomentSpan:
        return MomentSpan(self.low - other.high, self.high - other.low)

    def __mul__(self, other: MomentSpan) -> MomentSpan:
        ends = [a * b for a, b in product((self.low, self.high), (other.low, other.high))]
        return MomentSpan(min(ends), max(ends))

    def __truediv__(self, other: MomentSpan) -> MomentSpan:
        """By what is above 0."""
        return self * MomentSpan(1 / other.high, 1 / other.low)

    def square(self) -> MomentSpan:
        ends = (self.low**2, self.high**2)
        return MomentSpan(ZERO if self.low <= 0 <= self.high else min(ends), max(ends))

    def within(self, low: Fraction, high: Fraction) -> MomentSpan:
        return MomentSpan(min(max(self.low, low), high), min(max(self.high, low), high))


@dataclass(frozen=True, slots=True, kw_only=True)
class Noisy:
    """A published number of a measure, and how far it may be off. One with a `floor` is shown only if it is at least
    that."""

    measure: Measure
    number: int | Fraction
    width: int | Fraction
    floor: int | None = None

    @property
    def point(self) -> MomentSpan:
        return MomentSpan(Fraction(self.number), Fraction(self.number))

    @property
    def span(self) -> MomentSpan | None:
        """None: there is no lower end."""
        low = low_end(self)
        return None if low is None else MomentSpan(Fraction(low), Fraction(self.number + self.width))


@claim("selected-interval")
def low_end(noisy: Noisy) -> int | Fraction | None:
    """Where the exact number begins, given that the noisy one is shown.

    If it was below the floor before the noise, what is above the floor tells nothing about it. Only a noisy number that
    is more than a half width above the floor gives a lower end; otherwise it is the least that there can be.
    """
    low = noisy.number - noisy.width
    if noisy.floor is None or low > noisy.floor:
        return low
    if noisy.measure.role is Role.KEYS:
        return 1  # nobody's key is never tried
    return 0 if noisy.measure.low >= 0 else None


def moment(function: Function, noisy: Sequence[Noisy]) -> Estimate:
    """A recipe's numbers, the count last. Values come from the numbers, intervals from their spans."""
    *sums, count = noisy
    measures = [one.measure for one in sums]
    rows = max(count.number, 2 if function in SAMPLE else 1)
    value = _moment(function, measures, [one.point for one in sums], MomentSpan(Fraction(rows), Fraction(rows)))
    whole = _whole(function, measures)
    inner = value.within(whole.low, whole.high).low
    *spans, rows_span = (one.span for one in noisy)
    known = [span for span in spans if span is not None]
    there = rows_span is not None and rows_span.low >= (2 if function in SAMPLE else 1)
    if rows_span is None or not there or len(known) < len(spans):  # any value in the range is possible
        return of_range(Estimate(value=inner, low=whole.low, high=whole.high, null=not there), whole)
    inside = _moment(function, measures, known, rows_span).within(whole.low, whole.high)
    return of_range(Estimate(value=inner, low=inside.low, high=inside.high, null=function is Function.CORR), whole)


def of_range(found: Estimate, whole: MomentSpan) -> Estimate:
    """Not known if the interval is the whole range, unless that is one value only."""
    if (found.low, found.high) != (whole.low, whole.high) or whole.low == whole.high:
        return found
    return replace(found, known=False)


def _moment(
    function: Function, measures: Sequence[Measure], sums: Sequence[MomentSpan], rows: MomentSpan
) -> MomentSpan:
    means = [total / rows for total in sums]
    match function:
        case Function.AVG:
            return _scaled(means[0], measures[0].step, measures[0].center)
        case Function.COVAR_POP | Function.COVAR_SAMP:
            return _sampled(function, _covariance(measures, means), rows)
        case Function.CORR:
            x, y, both, xx, yy = range(5)
            spread = _variance(measures[x], measures[xx], means[x], means[xx]) * _variance(
                measures[y], measures[yy], means[y], means[yy]
            )
            return _ratio(_covariance(measures, [means[x], means[y], means[both]]), spread)
        case _:
            variance = _sampled(function, _variance(measures[0], measures[1], means[0], means[1]), rows)
            return _root(variance) if function in ROOTS else variance


def _variance(measure: Measure, squared: Measure, mean: MomentSpan, square: MomentSpan) -> MomentSpan:
    """The mean square less the square of the mean, both around the middle; never below 0."""
    found = _scaled(square, squared.step, squared.center) - _scaled(mean, measure.step).square()
    return found.within(ZERO, max(found.high, ZERO))


def _covariance(measures: Sequence[Measure], means: Sequence[MomentSpan]) -> MomentSpan:
    x, y, both = measures[:3]
    mean = _scaled(means[2], both.step, both.center)
    return mean - _scaled(means[0], x.step) * _scaled(means[1], y.step)


def _sampled(function: Function, found: MomentSpan, rows: MomentSpan) -> MomentSpan:
    if function not in SAMPLE:
        return found
    one = MomentSpan(ONE, ONE)
    return found * (one + one / (rows - one))


def _scaled(mean: MomentSpan, step: Fraction, center: int = 0) -> MomentSpan:
    return MomentSpan((mean.low + center) * step, (mean.high + center) * step)


def _ratio(top: MomentSpan, square: MomentSpan) -> MomentSpan:
    """top / sqrt(square); anything from -1 to 1 if that may be 0."""
    if square.low <= 0:
        return MomentSpan(ZERO, ZERO) if square.high <= 0 else MomentSpan(-ONE, ONE)
    return top / _root(square)


def _root(square: MomentSpan) -> MomentSpan:
    """Rounded outwards, to nine digits; exact where the root is a fraction."""
    return MomentSpan(_root_of(square.low, 0), _root_of(square.high, 1))


def _root_of(square: Fraction, up: int) -> Fraction:
    """sqrt(p / q) = sqrt(p * q) / q, of a number that is not below 0, however small it is."""
    product = square.numerator * square.denominator * FINE**2
    root = math.isqrt(product)
    return Fraction(root + (up if root**2 < product else 0), square.denominator * FINE)


def _whole(function: Function, measures: Sequence[Measure]) -> MomentSpan:
    """Between which numbers the exact value lies, whatever the data are; of a sample it is at most twice as large."""
    first = measures[0]
    half = _half(first)
    match function:
        case Function.AVG:
            return MomentSpan((first.low + first.center) * first.step, (first.high + first.center) * first.step)
        case Function.CORR:
            return MomentSpan(-ONE, ONE)
        case Function.COVAR_POP | Function.COVAR_SAMP:
            most = half * _half(measures[1]) * (2 if function in SAMPLE else 1)
            return MomentSpan(-most, most)
        case _:
            most = half**2 * (2 if function in SAMPLE else 1)
            return MomentSpan(ZERO, _root_of(most, 1) if function in ROOTS else most)


def _half(measure: Measure) -> Fraction:
    """Half the range: no variance is above its square."""
    return (measure.high - measure.low) * measure.step / 2
