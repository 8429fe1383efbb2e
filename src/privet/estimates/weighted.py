"""How far several noises of different weights may be off together: less than each by itself, added up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from privet.core.claim import claim
from privet.core.laws import DiscreteGaussian, DiscreteLaplace, Law
from privet.estimates.accuracy import ABOVE, half_width

ALIKE = 0.99  # weights that differ less are taken as equal, which is never narrower
FINE = 10**9
Weighted = tuple[Fraction, Law]  # a weight of at least 0, and the noise that has it


@lru_cache(maxsize=4096)
def weighted_half_width(law: Law, weights: tuple[Fraction, ...], share: Fraction, cells: int = 1) -> Fraction:
    """The same for noises with one law."""
    return added_half_width(tuple((weight, law) for weight in weights), share, cells)


@claim("weighted-interval")
@lru_cache(maxsize=4096)
def added_half_width(noises: tuple[Weighted, ...], share: Fraction, cells: int = 1) -> Fraction:
    """What the weighted sum of these noises is at most with probability `share`, in size; each is a sum over `cells`
    cells. It never falls where a weight grows."""
    there = [(weight, law) for weight, law in noises if weight]
    first, law = there[0]
    if all(one == there[0] for one in there):
        return first * half_width(law, share, len(there) * cells)
    each = 1 - (1 - share) / len(there)
    apart = sum((weight * half_width(law, each, cells) for weight, law in there), Fraction(0))
    slack = sum((weight for weight, _ in there), Fraction(0))
    gaussians = [(weight, law.variance) for weight, law in there if isinstance(law, DiscreteGaussian)]
    sizes = [weight * law.scale for weight, law in there if isinstance(law, DiscreteLaplace)]
    if len(gaussians) == len(there) and min(variance for _, variance in gaussians) >= 1:
        together = sum((weight**2 * variance for weight, variance in gaussians), Fraction(0)) * cells
        return min(apart, slack * cells + _normal(together, share))
    if len(sizes) == len(there) and cells == 1:
        return min(apart, slack + _continuous(sorted(sizes, reverse=True), share))
    return apart


def _normal(variance: Fraction, share: Fraction) -> Fraction:
    """The same for the normal law."""
    far = -NormalDist().inv_cdf(float(1 - share) / 2 / ABOVE) * ABOVE
    return Fraction(math.ceil(far * FINE), FINE) * Fraction(math.isqrt(math.ceil(variance * FINE**2)) + 1, FINE)


def _continuous(sizes: Sequence[Fraction], share: Fraction) -> Fraction:
    """The same for continuous Laplace laws of these scales, by partial fractions: the tail beyond s is the sum over all
    scales a of exp(-s/a) times, for each other scale b, a^2 / (a^2 - b^2)."""
    larger, rest = sizes[0], float(1 - share) / ABOVE
    scales = _told_apart([float(size / larger) for size in sizes])
    factors = [math.prod(a * a / (a * a - b * b) for b in scales if b != a) for a in scales]
    twice = len(sizes) == 2 and sizes[1] > ALIKE * sizes[0]

    def tail(s: float) -> float:
        if twice:
            return math.exp(-s) * (1 + s / 2)
        return math.fsum(factor * math.exp(-s / a) for factor, a in zip(factors, scales, strict=True))

    low, high = 0.0, 1.0
    while tail(high) > rest:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= rest else (middle, high)
    return Fraction(math.ceil(high * ABOVE * FINE), FINE) * larger


def _told_apart(sizes: Sequence[float]) -> list[float]:
    """Falling numbers, those that are nearly the same raised until they differ."""
    found = [sizes[-1]]
    for size in reversed(sizes[:-1]):
        found.append(max(size, found[-1] / ALIKE))
    return found[::-1]
