"""The normal law, for many numbers at once and far into its tails. NumPy has no error function."""

from __future__ import annotations

import math

import numpy as np

from privet.typing import Floats

FAR = 25.0  # beyond, erfc leaves the normal range of numbers, and few terms of a fraction are exact
DEPTH = 8


def cdf(x: Floats) -> Floats:
    """The chance of at most x."""
    from privet.attacks.subsets.decoders import normal_loops  # noqa: PLC0415  slow to import

    numbers = np.asarray(x, np.float64) * -math.sqrt(0.5)
    chances = np.empty_like(numbers)
    normal_loops.erfc(numbers.ravel(), chances.ravel())
    return chances / 2


def density(x: Floats) -> Floats:
    return np.asarray(np.exp(-np.square(x) / 2)) / math.sqrt(2 * math.pi)


def mills(x: Floats) -> Floats:
    """The chance of more than x over the density at x, Mills' ratio: infinite below -38, about 1 / x far above.

    Far above by Laplace's continued fraction 1 / (x + 1 / (x + 2 / (x + 3 / ...))).
    """
    near = np.minimum(x, FAR)
    with np.errstate(over="ignore"):
        ratio = np.exp(np.square(near) / 2) * (cdf(-near) * math.sqrt(2 * math.pi))
    beyond = np.maximum(x, FAR)
    fraction = beyond
    for term in range(DEPTH, 0, -1):
        fraction = beyond + term / fraction
    return np.where(x > FAR, 1 / fraction, ratio)


def log_cdf(x: Floats) -> Floats:
    near = np.maximum(x, -FAR)
    tail = np.minimum(x, -FAR)
    far = np.log(mills(-tail)) - np.square(tail) / 2 - math.log(2 * math.pi) / 2
    return np.where(x < -FAR, far, np.where(near > 0, np.log1p(-cdf(-np.maximum(near, 0))), np.log(cdf(near))))
