"""Functions of single rows that learners share: rounding to whole numbers, and clipping to a length."""

from __future__ import annotations

import numpy as np

from privet.core.claim import claim
from privet.learn.declared import Column, Declared
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


@claim("row-functions")
def declared_values(steps: Floats, column: Column) -> Floats:
    """Of whole numbers of steps the values in the units of the declaration."""
    return np.asarray(column.low + steps * ((column.high - column.low) / max(column.top, 1)), np.float64)


@claim("row-functions")
def weighted_sums(raw: Floats, declared: Declared, slopes: Floats, constants: Floats) -> Floats:
    """For each row its values times the slopes (a row for each column), and the constants. Column by column: a product
    of matrices may round a row otherwise where other rows stand beside it."""
    found = np.tile(constants, (len(raw), 1))
    for at, column in enumerate(declared.features):
        found = found + declared_values(raw[:, at], column)[:, None] * slopes[at]
    return found


@claim("row-functions")
def steps_between(values: Floats, column: Column) -> Floats:
    """Values in the units of the declaration as steps from 0 to the column's top, not rounded."""
    span = column.high - column.low
    return np.asarray(np.clip((values - column.low) * (column.top / span if span else 0.0), 0, column.top), np.float64)
