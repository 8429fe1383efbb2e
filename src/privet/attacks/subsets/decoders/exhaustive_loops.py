"""Every data set against every answer, compiled. Importing this file imports numba, so `exhaustive` does it late.

A data set and a query are whole numbers with a bit a person; the sum is the number of bits that both have. Queries are
looked at in blocks, so that counting bits of many at once is left to the compiler, and a data set that fails in a block
is not looked at further.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privet.machine_code import compiled
from privet.typing import Floats, Truths

Masks = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.int32]
BLOCK = 64


@compiled
def ones(bits: np.uint32) -> np.uint32:
    """How many bits are set: sums of two, four and eight neighbors, then of the bytes, which a product adds up."""
    bits = bits - ((bits >> np.uint32(1)) & np.uint32(0x55555555))
    bits = (bits & np.uint32(0x33333333)) + ((bits >> np.uint32(2)) & np.uint32(0x33333333))
    bits = (bits + (bits >> np.uint32(4))) & np.uint32(0x0F0F0F0F)
    bits = bits + (bits >> np.uint32(8))
    return (bits + (bits >> np.uint32(16))) & np.uint32(0x3F)


@compiled
def fitting(masks: Masks, low: Counts, high: Counts, fits: Truths) -> None:
    """Marks the data sets whose sums are from `low` to `high`, all of them."""
    for number in range(len(fits)):
        fits[number] = True
        for start in range(0, len(masks), BLOCK):
            outside = 0
            for query in range(start, min(start + BLOCK, len(masks))):
                count = np.int32(ones(np.uint32(number) & masks[query]))
                outside |= (count < low[query]) | (count > high[query])
            if outside:
                fits[number] = False
                break


@compiled
def smallest(masks: Masks, answers: Floats, people: int) -> float:
    """The smallest largest error of all data sets."""
    best = np.inf
    for number in range(1 << people):
        worst = 0.0
        for start in range(0, len(masks), BLOCK):
            for query in range(start, min(start + BLOCK, len(masks))):
                error = abs(ones(np.uint32(number) & masks[query]) - answers[query])
                worst = max(worst, error)
            if worst >= best:
                break
        best = min(best, worst)
    return best
