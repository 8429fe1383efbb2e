"""From a sensitivity and a price to a noise law, and back. Sensitivities are whole steps of a grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from privet.core.claim import claim
from privet.core.exponential import exp_enclosure
from privet.core.laws import DiscreteGaussian, DiscreteLaplace
from privet.errors import InvalidInputError


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
        raise InvalidInputError(
            "without a delta no undeclared key may be shown", "declare the keys, or allow a delta", "missing-delta"
        )
    bits = bits_for(law, max_keys / delta)
    return 1 + first(lambda n: safe(n + 1))  # at threshold 1 a lone key would show more often than not


def bits_for(law: DiscreteLaplace, odds: Fraction) -> int:
    """A precision at which tails of probability 1 / odds of this law are told apart."""
    return 128 + math.ceil(odds).bit_length() + math.ceil(law.scale).bit_length()


def first(good: Callable[[int], bool]) -> int:
    """The smallest n >= 1 that is good, where all larger ones are good, too: double, then halve."""
    low, high = 0, 1
    while not good(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high
