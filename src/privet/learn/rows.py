"""Functions of single rows that learners share: rounding to whole numbers, and clipping to a length."""

from __future__ import annotations

import numpy as np

from privet.core.claim import claim
from privet.typing import Floats

SHY = 1 - 2.0**-40  # so that a rounded factor does not lead beyond the limit


@claim("row-functions")
def clipped(matrix: Floats, l2_squared: int) -> Floats:
    """Each row rounded to whole numbers, then shortened to a squared length of at most `l2_squared`.

    Squares are added up only where that is exact, so that a row gives the same numbers wherever it stands: first rows
    with a number above a limit are scaled by their largest number, then by their length."""
    found = np.rint(np.where(np.isfinite(matrix), matrix, 0.0))
    most = np.floor(np.sqrt(2.0**53 / max(found.shape[1], 1))) - 1
    largest = np.abs(found).max(axis=1, initial=0.0)
    found = np.where((largest > most)[:, None], np.trunc(found * (most / np.maximum(largest, 1))[:, None]), found)
    squares = np.einsum("ij,ij->i", found, found)
    factor = np.sqrt(l2_squared / np.maximum(squares, 1)) * SHY
    return np.where((squares > l2_squared)[:, None], np.trunc(found * factor[:, None]), found)
