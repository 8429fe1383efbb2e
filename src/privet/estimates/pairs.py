"""Counts, sums and averages from a noisy pair: (x - low, high - x), added up over rows.

With W = high - low, the two numbers U and V of a cell hold W times its number of rows, and its sum:

    rows = (U + V) / W
    sum of (x - c) = ((high - c) * U + (low - c) * V) / W
    average = low + W * U / (U + V)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from privet.core.claim import claim
from privet.core.laws import DiscreteLaplace, Law
from privet.core.measures import ROWS, Measure, Role
from privet.core.plan import Function
from privet.estimates.accuracy import ABOVE, half_width
from privet.estimates.moments import Estimate, MomentSpan, Noisy, of_range

ALIKE = 0.99  # weights that differ less are taken as equal, which is never narrower
STRETCHES = 32  # of the half of a range, in which the noise of an average is bounded
FINE = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyPair:
    """A published pair of `cells` cells added up, and the law of the noise on each of its numbers."""

    measure: Measure
    above: int
    below: int
    law: Law
    cells: int = 1

    @property
    def ends(self) -> tuple[int, int]:
        """The range of a value, in steps."""
        return self.measure.center, self.measure.center + self.measure.high

    @property
    def rows(self) -> Fraction:
        return Fraction(self.above + self.below, self.measure.high)

    def rows_width(self, share: Fraction) -> Fraction:
        """How far `rows` may be off."""
        return Fraction(half_width(self.law, share, 2 * self.cells), self.measure.high)

    def total(self, center: int) -> Fraction:
        """The sum of what each value is above the center, in steps."""
        low, high = self.ends
        return Fraction((high - center) * self.above + (low - center) * self.below, self.measure.high)

    def total_width(self, center: int, share: Fraction) -> Fraction:
        low, high = self.ends
        weights = (Fraction(abs(end - center), self.measure.high) for end in (high, low))
        return weighted_half_width(self.law, *weights, share, self.cells)


def count_of(pair: NoisyPair, share: Fraction) -> Estimate:
    """How many rows; a whole number, like the exact one."""
    return _whole(pair.rows, pair.rows_width(share), Fraction(1))


def sum_of(pair: NoisyPair, share: Fraction) -> Estimate:
    return _whole(pair.total(0), pair.total_width(0, share), pair.measure.step)


def error_of_pair(function: Function, pair: NoisyPair, share: Fraction) -> Fraction:
    """How far a count or a sum may be off, whatever its value: rounding to whole steps moves it by half of one."""
    if function is Function.SUM:
        return math.ceil(pair.total_width(0, share)) * pair.measure.step
    return Fraction(math.ceil(pair.rows_width(share)))


def _whole(number: Fraction, width: Fraction, step: Fraction) -> Estimate:
    """The nearest whole number of steps, and between which ones the exact number lies."""
    value = math.floor(number + Fraction(1, 2))
    low, high = min(math.ceil(number - width), value), max(math.floor(number + width), value)
    return Estimate(value=value * step, low=low * step, high=high * step)


def as_rows(pair: NoisyPair, share: Fraction) -> Noisy:
    """The count as one noisy number."""
    return Noisy(measure=ROWS, number=pair.rows, width=pair.rows_width(share))


def as_sum(pair: NoisyPair, share: Fraction) -> Noisy:
    """The sum around the middle of the range as one noisy number."""
    (low, high), measure = pair.ends, pair.measure
    center = (low + high) // 2
    centered = Measure(
        role=Role.SUM, value=measure.value, center=center, low=low - center, high=high - center, step=measure.step
    )
    return Noisy(measure=centered, number=pair.total(center), width=pair.total_width(center, share))


@claim("pair-average")
def average_of(pair: NoisyPair, share: Fraction) -> Estimate:
    """Where the average is t of the way from low to high, (1 - t) * U - t * V is 0; so t is possible if the noisy one
    is no further from 0 than (1 - t) * X - t * Y is with probability `share`.

    That holds for every t by itself, and so for the exact one, however few rows there are."""
    (low, high), step, width = pair.ends, pair.measure.step, pair.measure.high
    rows = max(pair.rows, Fraction(1))
    value = Fraction(low + high, 2) + Fraction(pair.above - pair.below, 2) / rows
    inside = min(max(value, Fraction(low)), Fraction(high))
    first, last = _possible(pair, share)
    there = pair.rows - pair.rows_width(share) >= 1
    return of_range(
        Estimate(
            value=inside * step, low=(low + width * first) * step, high=(low + width * last) * step, null=not there
        ),
        MomentSpan(low * step, high * step),
    )


def _possible(pair: NoisyPair, share: Fraction) -> tuple[Fraction, Fraction]:
    """The smallest and the largest t that is possible; all of them if none is."""
    limits = _limits(pair.law, share, pair.cells)
    total, zero, one = pair.above + pair.below, Fraction(0), Fraction(1)
    if total <= 0:  # as good as nobody
        return zero, one
    most = max(limits)
    first, last = (min(max((pair.above + side * most) / total, zero), one) for side in (-1, 1))
    found = []
    for place in range(math.floor(first * 2 * STRETCHES), min(math.floor(last * 2 * STRETCHES), 2 * STRETCHES - 1) + 1):
        limit = limits[min(place, 2 * STRETCHES - 1 - place)]
        start = max(Fraction(place, 2 * STRETCHES), (pair.above - limit) / total)
        end = min(Fraction(place + 1, 2 * STRETCHES), (pair.above + limit) / total)
        found += [(start, end)] if start <= end else []
    return (min(start for start, _ in found), max(end for _, end in found)) if found else (zero, one)


def furthest(law: Law, share: Fraction) -> Fraction:
    """What |(1 - t) * X - t * Y| is at most with probability `share`, for every t."""
    return max(_limits(law, share, 1))


@lru_cache(maxsize=1024)
def _limits(law: Law, share: Fraction, cells: int) -> tuple[Fraction, ...]:
    """For each stretch of t from 0 to 1/2, what |(1 - t) * X - t * Y| is at most with probability `share`."""
    ends = [Fraction(place, 2 * STRETCHES) for place in range(STRETCHES + 1)]
    return tuple(_up_to(law, 1 - start, end, share, cells) for start, end in pairwise(ends))


@claim("weighted-interval")
@lru_cache(maxsize=4096)
def weighted_half_width(law: Law, one: Fraction, other: Fraction, share: Fraction, cells: int = 1) -> Fraction:
    """What |one * X + other * Y| is at most with probability `share`, for weights of at least 0 and two sums of the
    noise of `cells` cells."""
    if one == other:
        return one * half_width(law, share, 2 * cells)
    if not one or not other:
        return max(one, other) * half_width(law, share, cells)
    return _up_to(law, max(one, other), min(one, other), share, cells)


def _up_to(law: Law, larger: Fraction, smaller: Fraction, share: Fraction, cells: int) -> Fraction:
    """The same for all weights up to these, the first of which is the larger one."""
    apart = (larger + smaller) * half_width(law, 1 - (1 - share) / 2, cells)
    if cells > 1 or not isinstance(law, DiscreteLaplace):
        return apart
    return min(apart, larger + smaller + _continuous(law, larger, smaller, share))


def _continuous(law: DiscreteLaplace, larger: Fraction, smaller: Fraction, share: Fraction) -> Fraction:
    """The same for the continuous Laplace law: its tail beyond s is (a^2 exp(-s/a) - b^2 exp(-s/b)) / (a^2 - b^2)."""
    rest, ratio = float(1 - share) / ABOVE, float(smaller / larger)

    def tail(s: float) -> float:
        if ratio > ALIKE:
            return math.exp(-s) * (1 + s / 2)
        return (math.exp(-s) - ratio**2 * math.exp(-s / ratio)) / (1 - ratio**2)

    low, high = 0.0, 1.0
    while tail(high) > rest:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= rest else (middle, high)
    return Fraction(math.ceil(high * ABOVE * FINE), FINE) * larger * law.scale
