"""Counts, sums and averages from a noisy pair: u = x - low and v = high - x, added up over rows; or from three squares:
u * u, 2 * u * v and v * v.

With W = high - low, the two numbers U and V of a cell hold W times its number of rows, and its sum:

    rows = (U + V) / W
    sum of (x - c) = ((high - c) * U + (low - c) * V) / W
    average = low + W * U / (U + V)

The three numbers A, B, C hold W * W times its number of rows, its sum, and that of the squares:

    rows = (A + B + C) / W**2
    sum of (x - c) = ((high - c) * A + (middle - c) * B + (low - c) * C) / W**2
    sum of (x - c)**2 = ((high - c)**2 * A + (high - c) * (low - c) * B + (low - c)**2 * C) / W**2
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from privet.core.claim import claim
from privet.core.laws import Law
from privet.core.measures import ROWS, Measure, Role
from privet.core.plan import Function
from privet.estimates.accuracy import half_width
from privet.estimates.moments import Estimate, MomentSpan, Noisy, of_range
from privet.estimates.weighted import weighted_half_width

STRETCHES = 32  # of the half of a range, in which the noise of an average is bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyPair:
    """A published pair, or three squares with the one `between`, of `cells` cells added up, and the law of the noise on
    each number."""

    measure: Measure
    above: int
    below: int
    law: Law
    cells: int = 1
    between: tuple[int, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        return (self.above, *self.between, self.below)

    @property
    def ends(self) -> tuple[int, int]:
        """The range of a value, in steps."""
        return self.measure.center, self.measure.center + self.measure.high

    @property
    def rows(self) -> Fraction:
        return Fraction(sum(self.numbers), self.measure.size)

    def rows_width(self, share: Fraction) -> Fraction:
        """How far `rows` may be off."""
        return Fraction(half_width(self.law, share, len(self.numbers) * self.cells), self.measure.size)

    def total(self, center: int | Fraction) -> Fraction:
        """The sum of what each value is above the center, in steps."""
        return self._combined(self._sum_weights(center))

    def total_width(self, center: int, share: Fraction) -> Fraction:
        return self._width(self._sum_weights(center), share)

    def squares(self, center: int) -> Fraction:
        """The sum of its squares, from three squares."""
        return self._combined(self._square_weights(center))

    def squares_width(self, center: int, share: Fraction) -> Fraction:
        return self._width(self._square_weights(center), share)

    def _sum_weights(self, center: int | Fraction) -> list[Fraction]:
        low, high = (Fraction(end) - center for end in self.ends)
        return [high, low] if self.measure.role is Role.PAIR else [high, (high + low) / 2, low]

    def _square_weights(self, center: int) -> list[Fraction]:
        low, high = (Fraction(end) - center for end in self.ends)
        return [high**2, high * low, low**2]

    def _combined(self, weights: Sequence[Fraction]) -> Fraction:
        total = sum((weight * one for weight, one in zip(weights, self.numbers, strict=True)), Fraction(0))
        return total / self.measure.size

    def _width(self, weights: Sequence[Fraction], share: Fraction) -> Fraction:
        sizes = tuple(abs(weight) / self.measure.size for weight in weights)
        return weighted_half_width(self.law, sizes, share, self.cells)


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
    centered = _centered(pair)
    center = centered.center
    return Noisy(measure=centered, number=pair.total(center), width=pair.total_width(center, share))


def as_squares(pair: NoisyPair, share: Fraction) -> Noisy:
    """The sum of squares around the same middle."""
    centered = _centered(pair)
    center, most = centered.center, max(centered.low**2, centered.high**2)
    squared = replace(centered, center=0, low=0, high=most, step=centered.step**2)
    return Noisy(measure=squared, number=pair.squares(center), width=pair.squares_width(center, share))


def _centered(pair: NoisyPair) -> Measure:
    (low, high), measure = pair.ends, pair.measure
    center = (low + high) // 2
    return Measure(
        role=Role.SUM, value=measure.value, center=center, low=low - center, high=high - center, step=measure.step
    )


@claim("pair-average")
def average_of(pair: NoisyPair, share: Fraction) -> Estimate:
    """Where the average is t of the way from low to high, (1 - t) * U - t * V is 0; so t is possible if the noisy one
    is no further from 0 than (1 - t) * X - t * Y is with probability `share`. Of squares, (1 - t) * A + (1 / 2 - t) * B
    - t * C is 0.

    That holds for every t by itself, and so for the exact one, however few rows there are."""
    (low, high), step, width = pair.ends, pair.measure.step, pair.measure.high
    middle = Fraction(low + high, 2)
    value = middle + pair.total(middle) / max(pair.rows, Fraction(1))
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
    limits = _limits(pair.law, share, pair.cells, len(pair.numbers))
    total, zero, one = sum(pair.numbers), Fraction(0), Fraction(1)
    above = pair.above + Fraction(sum(pair.between), 2)
    if total <= 0:  # as good as nobody
        return zero, one
    most = max(limits)
    first, last = (min(max((above + side * most) / total, zero), one) for side in (-1, 1))
    found = []
    for place in range(math.floor(first * 2 * STRETCHES), min(math.floor(last * 2 * STRETCHES), 2 * STRETCHES - 1) + 1):
        limit = limits[min(place, 2 * STRETCHES - 1 - place)]
        start = max(Fraction(place, 2 * STRETCHES), (above - limit) / total)
        end = min(Fraction(place + 1, 2 * STRETCHES), (above + limit) / total)
        found += [(start, end)] if start <= end else []
    return (min(start for start, _ in found), max(end for _, end in found)) if found else (zero, one)


def furthest(law: Law, share: Fraction, numbers: int = 2) -> Fraction:
    """What |(1 - t) * X - t * Y| is at most with probability `share`, for every t; the same of three `numbers`."""
    return max(_limits(law, share, 1, numbers))


@lru_cache(maxsize=1024)
def _limits(law: Law, share: Fraction, cells: int, numbers: int) -> tuple[Fraction, ...]:
    """For each stretch of t from 0 to 1/2, what |(1 - t) * X - t * Y| is at most with probability `share`. The number
    between counts by 1 / 2 - t."""
    ends = [Fraction(place, 2 * STRETCHES) for place in range(STRETCHES + 1)]
    half = Fraction(1, 2)
    return tuple(
        weighted_half_width(law, (1 - start, end) if numbers == 2 else (1 - start, half - start, end), share, cells)
        for start, end in pairwise(ends)
    )
