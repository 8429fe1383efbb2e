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

    _check_positive(delta)
    bits = bits_for(law, max_keys / delta)
    return 1 + first(lambda n: safe(n + 1))  # at threshold 1 a lone key would show more often than not


def bits_for(law: DiscreteLaplace, odds: Fraction) -> int:
    """A precision at which tails of probability 1 / odds of this law are told apart."""
    return 128 + math.ceil(odds).bit_length() + math.ceil(law.scale).bit_length()


def _check_positive(delta: Fraction) -> None:
    if delta <= 0:
        raise InvalidInputError(
            "without a delta no undeclared key may be shown", "declare the keys, or allow a delta", "missing-delta"
        )


@claim("key-threshold")
def gaussian_key_threshold(law: DiscreteGaussian, delta: Fraction, max_keys: int) -> int:
    """The smallest threshold above 1 at which `gaussian_tail` certifies the same of Gaussian noise."""
    _check_positive(delta)
    odds = math.ceil(max_keys / delta)
    bits = 64 + odds.bit_length()
    far = 2 * math.log(odds)  # a tail of z sigmas is about exp(-z**2 / 2) / (z * sqrt(2 pi))
    guess = math.isqrt(math.floor(law.variance * Fraction(max(far - math.log(7 + 6 * far), 0.1))))
    return 1 + first(lambda n: max_keys * gaussian_tail(law, n, bits) <= delta, max(guess, 1))


FEW = 4  # terms of a tail that are added one by one
PI_BELOW = Fraction(314159265358979323846, 10**20)


@claim("gaussian-tail")
def gaussian_tail(law: DiscreteGaussian, start: int, bits: int) -> Fraction:
    """P[X >= start] for start >= 1, or slightly more: `FEW` terms, and an integral that is at least all others.

    With a the end of the integral it is below exp(-a**2 / 2v) * 4v / (3a + sqrt(a**2 + 8v)). Where the curve is convex,
    an integral over the half steps around a number is at least the term; elsewhere one over the step before it is.
    """
    edge = start + FEW - Fraction(1, 2)
    if edge**2 < law.variance:
        edge -= Fraction(1, 2)
    terms = sum(exp_enclosure(law.exponent(x), bits)[1] for x in range(start, start + FEW))
    at_edge = exp_enclosure(edge**2 / (2 * law.variance), bits)[1]
    rest = at_edge * 4 * law.variance / (3 * edge + _root_below(edge**2 + 8 * law.variance))
    by_terms = 1 + Fraction(2 * exp_enclosure(law.exponent(1), bits)[0], 1 << bits)
    return (terms + rest) / (max(by_terms, _root_below(2 * PI_BELOW * law.variance)) * (1 << bits))


def _root_below(square: Fraction) -> Fraction:
    return Fraction(math.isqrt(math.floor(square * 4**64)), 2**64)


def first(good: Callable[[int], bool], near: int = 1) -> int:
    """The smallest n >= 1 that is good, where all larger ones are good: from `near` double the step, then halve."""
    low, high, step = near - 1, near, 1
    while not good(high):
        low, high, step = high, high + step, 2 * step
    while step == 1 and low and good(low):
        low, high = max(low - 2 * (high - low), 0), low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high
