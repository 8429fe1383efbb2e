"""From a sensitivity and a price to a noise law, and back. Sensitivities are whole steps of a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privet.core.claim import claim
from privet.core.exponential import exp_enclosure
from privet.core.laws import DiscreteGaussian, DiscreteLaplace


@claim("grid-rounding")
@dataclass(frozen=True, slots=True)
class Grid:
    """Numbers rounded to multiples of `step`: the geometric mechanism's answer to floating point."""

    step: Fraction

    def steps(self, value: Fraction) -> int:
        """The nearest multiple, in steps, halves upwards.

        Halves to even (Python's `round`) would be wrong: 0.5 and 1.5 differ by 1 and would become 0 and 2.
        """
        return math.floor(value / self.step + Fraction(1, 2))

    def sensitivity(self, sensitivity: Fraction) -> int:
        """How many steps two rounded values can differ by, when the values differ by `sensitivity`."""
        return math.ceil(sensitivity / self.step)

    def value(self, steps: int) -> Fraction:
        return steps * self.step


@claim("laplace-pure-loss")
def laplace_for(epsilon: Fraction, sensitivity: int) -> DiscreteLaplace:
    """The discrete Laplace that is epsilon-DP for an L1 sensitivity: scale = sensitivity / epsilon."""
    return DiscreteLaplace(sensitivity / epsilon)


@claim("laplace-pure-loss")
def laplace_epsilon(law: DiscreteLaplace, sensitivity: int) -> Fraction:
    """The pure price: every output's likelihood ratio is at most exp(sensitivity / scale), and reaches it."""
    return sensitivity / law.scale


@claim("gaussian-rho")
def gaussian_for_rho(rho: Fraction, sensitivity_squared: int) -> DiscreteGaussian:
    """The discrete Gaussian that is rho-zCDP for a squared L2 sensitivity."""
    return DiscreteGaussian(sensitivity_squared / (2 * rho))


@claim("gaussian-rho")
def gaussian_rho(law: DiscreteGaussian, sensitivity_squared: int) -> Fraction:
    """The price in zero-concentrated DP."""
    return sensitivity_squared / (2 * law.variance)


@claim("key-threshold")
def key_threshold(law: DiscreteLaplace, delta: Fraction, max_keys: int) -> int:
    """The smallest threshold above 1 at which keys that only one person has show up with probability <= delta.

    A key is shown when (number of people) + noise >= threshold; one person adds at most `max_keys` keys.
    Tail: P[1 + X >= threshold] = q**(threshold - 1) / (1 + q) with q = exp(-1 / scale).
    """

    def safe(threshold: int) -> bool:
        top = exp_enclosure((threshold - 1) / law.scale, bits)[1]
        bottom = (1 << bits) + exp_enclosure(1 / law.scale, bits)[0]
        return max_keys * top <= delta * bottom

    bits = 128 + (max_keys / delta).__ceil__().bit_length()
    low, high = 1, 2  # at threshold 1 a key held by one person shows with probability above one half
    while not safe(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if safe(middle) else (middle, high)
    return high
