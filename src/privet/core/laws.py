"""The two noise laws on the integers: P[X = x] is proportional to exp(-exponent(x))."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """P[X = x] proportional to exp(-|x| / scale): two-sided geometric noise."""

    scale: Fraction

    def exponent(self, x: int) -> Fraction:
        return abs(x) / self.scale


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """P[X = x] proportional to exp(-x**2 / (2 * variance)).

    `variance` names the parameter sigma**2. (The variance of the law itself is a little smaller.)
    It need not be the square of a rational, so a price is met exactly.
    """

    variance: Fraction

    def exponent(self, x: int) -> Fraction:
        return x * x / (2 * self.variance)


Law = DiscreteLaplace | DiscreteGaussian
