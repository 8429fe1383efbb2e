"""TRUSTED: exact integer noise and private choices, from the operating system's entropy. There are no seeds."""

from __future__ import annotations

from privet.core.laws import DiscreteGaussian, DiscreteLaplace
from privet.core.rational import positive, whole
from privet.noise.fast import sampler
from privet.noise.selection import AboveThreshold, exponential, noisy_max, randomized_response
from privet.typing import Integers

__all__ = [
    "AboveThreshold",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential",
    "noisy_max",
    "randomized_response",
]


def discrete_laplace(scale: object, size: int) -> Integers:
    """`size` draws with P[x] proportional to exp(-|x| / scale), exactly.

    `scale` is a positive int, Fraction, Decimal, float (read as the decimal it prints as) or text like "1/3",
    below 2**50.
    """
    law = DiscreteLaplace(positive(scale, "scale"))
    return sampler(law).draw(whole(size, "size", 0))


def discrete_gaussian(sigma: object, size: int) -> Integers:
    """`size` draws with P[x] proportional to exp(-x**2 / (2 * sigma**2)), exactly; `sigma` as in Laplace."""
    law = DiscreteGaussian(positive(sigma, "sigma") ** 2)
    return sampler(law).draw(whole(size, "size", 0))
