"""A first look that several learners share: how many rows there are, and where and how wide each column is.

It costs a small share of the price. What follows can measure rows from the noisy middles, in noisy widths, so that most
vectors are short and the noise on their sums is small. Guesses are weighed against noise: where that is too strong the
guess for any column stays, and not what happened to be drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.backends.contributions import Block, Vectors
from privet.core.claim import claim
from privet.core.rounds import Noisy, Sums, vector
from privet.typing import Floats

UNIT = 2**12  # steps from the middle of a declared range to its ends
MIDDLE, VARIANCE = 0.4, 0.05  # guesses for any column: how far its middle is from that of the range, and its variance
SMALLEST = 1e-5  # variance, of a range from -1 to 1


@dataclass(frozen=True, slots=True)
class Look:
    """In the declared range of a column, read as -1 to 1."""

    rows: float
    middles: Floats
    variances: Floats


def look_sums(columns: int) -> Sums:
    """1, each value, and its square less one half: the latter is at most half as long."""
    return vector(2 * columns + 1, UNIT**2 + columns * (UNIT**2 + UNIT**2 // 4), l1=UNIT + columns * (UNIT * 3 // 2))


@claim("row-functions")
def look_rows(block: Block, tops: Floats) -> list[Vectors]:
    values = from_middle(block.raw[:, : len(tops)], tops)
    squares = np.rint(values * values / UNIT) - UNIT // 2
    return [Vectors(np.column_stack([np.full(len(values), float(UNIT)), values, squares]))]


@claim("row-functions")
def from_middle(values: Floats, tops: Floats) -> Floats:
    """Whole numbers from -UNIT at the declared low to UNIT at the high."""
    return np.asarray(np.rint(values * (2 * UNIT / np.maximum(tops, 1))) - UNIT, np.float64)


def looked(sums: Sequence[int], noisy: Noisy) -> Look:
    found = np.array(sums, np.float64) / UNIT
    columns = len(found) // 2
    rows = max(found[0], 1.0)
    noise = (noisy.deviation / UNIT / rows) ** 2
    middles = np.clip(found[1 : columns + 1] / rows * (MIDDLE**2 / (MIDDLE**2 + noise)), -1, 1)
    variances = found[columns + 1 :] / rows + 0.5 - middles**2
    variances = VARIANCE + (variances - VARIANCE) * (VARIANCE**2 / (VARIANCE**2 + noise))
    return Look(rows, middles, np.clip(variances, max(SMALLEST, min(math.sqrt(noise) / 4, VARIANCE)), 1))


@claim("row-functions")
def within(matrix: Floats, l1: int, l2_squared: int) -> Floats:
    """Each row rounded to whole numbers, and shortened until both bounds hold. No number may pass 2**16 in size, so
    that sums of squares are exact."""
    found = np.rint(np.clip(np.nan_to_num(matrix), -(2.0**16), 2.0**16))
    sizes, squares = np.abs(found).sum(axis=1), np.einsum("ij,ij->i", found, found)
    factor = np.minimum(l1 / np.maximum(sizes, 1), np.sqrt(l2_squared / np.maximum(squares, 1)))
    long = (sizes > l1) | (squares > l2_squared)
    return np.where(long[:, None], np.trunc(found * (factor * (1 - 2.0**-40))[:, None]), found)


def one_hot(places: Any, size: int) -> Floats:
    return np.asarray(np.asarray(places)[:, None] == np.arange(size), np.float64)
