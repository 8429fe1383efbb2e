"""From a sensitivity and a price to a noise law, and back. Sensitivities are whole steps of a grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from privet.core.claim import claim
from privet.core.exponential import exp_enclosure
from privet.core.laws import DiscreteGaussian, DiscreteLaplace
from privet.errors import InvalidInputError


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


@claim("laplace-interval")
def laplace_half_width(law: DiscreteLaplace, share: Fraction) -> int:
    """The smallest k with P[|X| <= k] >= share, for 0 < share < 1.

    P[|X| > k] = 2 q**(k + 1) / (1 + q) with q = exp(-1 / scale).
    """
    bits = _bits(law, 1 / (1 - share))
    bottom = (1 << bits) + exp_enclosure(1 / law.scale, bits)[0]

    def enough(k: int) -> bool:
        return 2 * exp_enclosure((k + 1) / law.scale, bits)[1] <= (1 - share) * bottom

    return 0 if enough(0) else _first(enough)


@claim("gaussian-interval")
def gaussian_half_width(law: DiscreteGaussian, share: Fraction) -> int:
    """A k with P[|X| <= k] >= share, at most one or two above the smallest, for 0 < share < 1.

    P[|X| > k] is at most P[|N| >= k] of the continuous normal law with the same sigma.
    """
    sigma, rest = math.sqrt(law.variance), float(1 - share)

    def enough(k: int) -> bool:
        return math.erfc(k / (sigma * math.sqrt(2))) * (1 + 1e-9) <= rest

    return 0 if enough(0) else _first(enough)


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

    if delta <= 0:
        raise InvalidInputError("without a delta no undeclared key may be shown", "declare the keys, or allow a delta")
    bits = _bits(law, max_keys / delta)
    return 1 + _first(lambda n: safe(n + 1))  # at threshold 1 a lone key would show more often than not


def _bits(law: DiscreteLaplace, odds: Fraction) -> int:
    """A precision at which tails of probability 1 / odds of this law are told apart."""
    return 128 + math.ceil(odds).bit_length() + math.ceil(law.scale).bit_length()


def _first(good: Callable[[int], bool]) -> int:
    """The smallest n >= 1 that is good, where all larger ones are good, too: double, then halve."""
    low, high = 0, 1
    while not good(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high
