"""Products with lists of people, compiled. Importing this file imports numba, so `listed` does it late."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privet.machine_code import compiled
from privet.typing import Floats, Integers


@compiled
def times(starts: Integers, members: npt.NDArray[np.int32], values: Floats, sums: Floats) -> None:
    for row in range(len(sums)):
        total = 0.0
        for place in range(starts[row], starts[row + 1]):
            total += values[members[place]]
        sums[row] = total


@compiled
def back(starts: Integers, members: npt.NDArray[np.int32], numbers: Floats, sums: Floats) -> None:
    for row in range(len(numbers)):
        for place in range(starts[row], starts[row + 1]):
            sums[members[place]] += numbers[row]
