"""How far a published number may be from the exact one, and the price at which it is near enough."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from privet.core.calibration import smallest
from privet.core.contribution import Reach
from privet.core.laws import DiscreteLaplace, Law
from privet.core.mechanisms import gaussian_for_rho, gaussian_half_width, laplace_for, laplace_half_width
from privet.core.parts import Gauge
from privet.core.sums import sum_half_width


@lru_cache(maxsize=4096)
def half_width(law: Law, share: Fraction, cells: int = 1) -> int:
    """Noise of this law, added up over so many cells, is at most so many steps with probability at least `share`."""
    if cells > 1:
        return sum_half_width(law, share, cells)
    if isinstance(law, DiscreteLaplace):
        return laplace_half_width(law, share)
    return gaussian_half_width(law, share)


def price_within(reach: Reach, gauge: Gauge, steps: int, share: Fraction, cells: int = 1) -> Fraction:
    """The smallest price, to five digits, at which noise of so many cells together is at most `steps` with probability
    `share`."""

    def good(price: Fraction) -> bool:
        return half_width(law_for(reach, gauge, price), share, cells) <= steps

    return smallest(_guess(reach, gauge, steps), good)


def law_for(reach: Reach, gauge: Gauge, price: Fraction) -> Law:
    if gauge is Gauge.EPSILON:
        return laplace_for(price, reach.l1)
    return gaussian_for_rho(price, reach.l2_squared)


def _guess(reach: Reach, gauge: Gauge, steps: int) -> Fraction:
    if gauge is Gauge.EPSILON:
        return Fraction(3 * reach.l1, steps + 1)
    return Fraction(2 * reach.l2_squared, (steps + 1) ** 2)
