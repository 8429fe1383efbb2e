"""The laws of discrete noise in floating point, scales to try them at, and bins to count draws in."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy import special

BINS = 200
SCALES = [
    *map(
        Fraction,
        ("1/3", "0.7", "1.7", "5.3", "19.9", "63.3", "64.7", "1000/3", "10000/3", "1000000/7", "1000000000/3"),
    ),
    Fraction(1001, 1000) * 2**40,
]
LAPLACE_SCALES = [Fraction(1, 10), *SCALES]
GAUSSIAN_SCALES = [Fraction(1, 4), *SCALES]
Floats = npt.NDArray[np.float64]


def laplace_cdf(x: Floats, scale: float) -> Floats:
    """P[X <= x] for whole x: 1 - q**(x + 1) / (1 + q) on the right, q**-x / (1 + q) on the left."""
    tail = np.exp(-np.where(x >= 0, x + 1, -x) / scale) / (1 + math.exp(-1 / scale))
    return np.where(x >= 0, 1 - tail, tail)


def gaussian_cdf(x: Floats, sigma: float) -> Floats:
    """P[X <= x] for whole x: summed for small sigma; for large sigma the integral, off by less than 1e-7."""
    if sigma > 1000:
        return np.asarray(special.ndtr((x + 0.5) / sigma))
    reach = math.ceil(12 * sigma) + 3
    law = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    sums = np.cumsum(law) / law.sum()
    return sums[np.clip(x + reach, 0, 2 * reach).astype(int)]


def bin_edges(scale: float, cdf: object) -> Floats:
    """Whole numbers that cut the law into about 200 equally likely bins."""
    grid = np.unique(np.round(np.sinh(np.linspace(-5, 5, 4001)) / math.sinh(5) * 14 * scale + 0.0))
    grid = np.unique(np.concatenate([grid, np.arange(-60, 61)]))
    keep = np.unique(np.round(cdf(grid, scale) * BINS, 0 if scale > 3 else 9), return_index=True)[1]
    return grid[keep]
