"""Random numbers for the gallery: exact ones, whose laws twins rely on, and the floats that broken mechanisms use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from privet.estimates.calibration import gaussian_for
from privet.noise import discrete_gaussian, discrete_laplace
from privet.noise.entropy import KEYSTREAM
from privet.noise.selection import flips_exp, uniform
from privet.typing import Integers


def laplace(scale: Fraction, size: int, columns: int) -> Integers:
    """Exact discrete Laplace noise, one row a draw."""
    return discrete_laplace(scale, size * columns).reshape(size, columns)


def gaussian(sigma: Fraction, size: int, columns: int) -> Integers:
    """Exact discrete Gaussian noise, one row a draw."""
    return discrete_gaussian(sigma, size * columns).reshape(size, columns)


def gaussian_sigma(epsilon: Fraction, delta: Fraction, sensitivity: int) -> Fraction:
    """The smallest sigma whose exact delta is certified to be within the claim; the square of a rational number."""
    variance = gaussian_for(epsilon, delta, sensitivity).variance
    return Fraction(math.isqrt(variance.numerator), math.isqrt(variance.denominator))


def geometric(scale: Fraction, size: int, columns: int) -> Integers:
    """P[x] proportional to exp(-x / scale) on x >= 0: Laplace given x >= 0, and -1 - x given x < 0, have this law."""
    x = laplace(scale, size, columns)
    return x ^ (x >> 63)


def choose(losses: Sequence[Fraction], size: int) -> Integers:
    """Indices with P[i] proportional to exp(-losses[i]), exactly: any index is proposed, and kept by a biased coin."""
    least = min(losses)
    chosen = np.empty(size, np.int64)
    pending = np.arange(size)
    while len(pending):
        proposed = uniform(len(losses), len(pending))
        kept = np.zeros(len(pending), np.bool_)
        for index, loss in enumerate(losses):
            here = np.flatnonzero(proposed == index)
            kept[here] = flips_exp(loss - least, len(here), KEYSTREAM)
        chosen[pending[kept]] = proposed[kept]
        pending = pending[~kept]
    return chosen


def whole(answers: Any) -> Integers:
    """Answers that are whole numbers, as integers."""
    return np.atleast_1d(np.asarray(answers)).astype(np.int64)


def counts(rows: Sequence[Any], kinds: Sequence[Any]) -> Integers:
    """How many rows there are of each kind. Rows of another kind are not counted."""
    return np.array([sum(row == kind for row in rows) for kind in kinds], np.int64)
