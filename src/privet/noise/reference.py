"""TRUSTED: the slow samplers that define the laws. Fair bits and integers, nothing else.

Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (NeurIPS 2020), Algorithms 1-3.
Their running time depends on the value drawn, so releases use `fast`, which draws in batches.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import assert_never

from privet.core.claim import claim
from privet.core.laws import DiscreteGaussian, DiscreteLaplace, Law
from privet.noise.entropy import Bits


@claim("reference-laws")
def draw(law: Law, bits: Bits) -> int:
    """One exact draw; any scale, any size of result."""
    match law:
        case DiscreteLaplace(scale=scale):
            return _laplace(scale, bits)
        case DiscreteGaussian(variance=variance):
            return _gaussian(variance, bits)
        case _:
            assert_never(law)


def below(limit: int, bits: Bits) -> int:
    """Uniform on 0 ... limit - 1."""
    width = (limit - 1).bit_length()
    while (value := bits.take(width)) >= limit:
        pass
    return value


def flip(chance: Fraction, bits: Bits) -> bool:
    """True with probability `chance`, which lies in [0, 1]."""
    return below(chance.denominator, bits) < chance.numerator


def flip_exp(gamma: Fraction, bits: Bits) -> bool:
    """True with probability exp(-gamma), gamma >= 0: whole units first, then the rest."""
    whole = math.floor(gamma)
    return all(_flip_exp_unit(Fraction(1), bits) for _ in range(whole)) and _flip_exp_unit(gamma - whole, bits)


def _flip_exp_unit(gamma: Fraction, bits: Bits) -> bool:
    """exp(-gamma) for gamma <= 1: the first failure in flips of chance gamma/1, gamma/2, ... has odd index."""
    k = 1
    while flip(gamma / k, bits):
        k += 1
    return k % 2 == 1


def _laplace(scale: Fraction, bits: Bits) -> int:
    """exp(-|x| n / d) for scale d / n: draw y with exp(-y / d), then |x| = y // n, with a sign."""
    d, n = scale.numerator, scale.denominator
    while True:
        u = below(d, bits)
        if not flip_exp(Fraction(u, d), bits):
            continue
        v = 0
        while flip_exp(Fraction(1), bits):
            v += 1
        size = (u + d * v) // n
        negative = bits.take(1)
        if not (negative and size == 0):  # otherwise zero would count twice
            return -size if negative else size


def _gaussian(variance: Fraction, bits: Bits) -> int:
    """Rejection from a discrete Laplace of scale floor(sigma) + 1."""
    scale = math.isqrt(math.floor(variance)) + 1
    while True:
        y = _laplace(Fraction(scale), bits)
        if flip_exp((abs(y) - variance / scale) ** 2 / (2 * variance), bits):
            return y
