"""How far a published number may be from the exact one, and the price at which it is near enough."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from privet.core.claim import claim
from privet.core.exponential import exp_enclosure
from privet.core.laws import DiscreteGaussian, DiscreteLaplace, Law
from privet.core.mechanisms import bits_for, first, gaussian_for_rho, laplace_for
from privet.core.parts import Gauge
from privet.core.sensitivity import Sensitivity
from privet.estimates.calibration import smallest
from privet.estimates.sums import sum_half_width


@lru_cache(maxsize=4096)
def half_width(law: Law, share: Fraction, cells: int = 1) -> int:
    """A number of steps: the noise of `cells` cells, added up, is at most that with probability at least `share`."""
    if cells > 1:
        return sum_half_width(law, share, cells)
    if isinstance(law, DiscreteLaplace):
        return laplace_half_width(law, share)
    return gaussian_half_width(law, share)


@claim("laplace-interval")
def laplace_half_width(law: DiscreteLaplace, share: Fraction) -> int:
    """The smallest k with P[|X| <= k] >= share, for 0 < share < 1.

    P[|X| > k] = 2 q**(k + 1) / (1 + q) with q = exp(-1 / scale).
    """
    bits = bits_for(law, 1 / (1 - share))
    bottom = (1 << bits) + exp_enclosure(1 / law.scale, bits)[0]

    def enough(k: int) -> bool:
        return 2 * exp_enclosure((k + 1) / law.scale, bits)[1] <= (1 - share) * bottom

    return 0 if enough(0) else first(enough)


@claim("gaussian-interval")
def gaussian_half_width(law: DiscreteGaussian, share: Fraction) -> int:
    """A k with P[|X| <= k] >= share, at most one or two above the smallest, for 0 < share < 1.

    P[|X| > k] is at most P[|N| >= k] of the continuous normal law with the same sigma.
    """
    sigma, rest = math.sqrt(law.variance), float(1 - share)

    def enough(k: int) -> bool:
        return math.erfc(k / (sigma * math.sqrt(2))) * (1 + 1e-9) <= rest

    return 0 if enough(0) else first(enough)


def price_within(sensitivity: Sensitivity, gauge: Gauge, steps: int, share: Fraction, cells: int = 1) -> Fraction:
    """The smallest price, to five digits, at which the noise of `cells` cells together is at most `steps`, with
    probability `share`."""

    def good(price: Fraction) -> bool:
        return half_width(law_for(sensitivity, gauge, price), share, cells) <= steps

    return smallest(_guess(sensitivity, gauge, steps), good)


def law_for(sensitivity: Sensitivity, gauge: Gauge, price: Fraction) -> Law:
    if gauge is Gauge.EPSILON:
        return laplace_for(price, sensitivity.l1)
    return gaussian_for_rho(price, sensitivity.l2_squared)


def _guess(sensitivity: Sensitivity, gauge: Gauge, steps: int) -> Fraction:
    if gauge is Gauge.EPSILON:
        return Fraction(3 * sensitivity.l1, steps + 1)
    return Fraction(2 * sensitivity.l2_squared, (steps + 1) ** 2)
