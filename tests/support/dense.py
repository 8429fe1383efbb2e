"""A matrix of queries with any coefficients, as a plain array: what decoders must also be able to read."""

from __future__ import annotations

import numpy as np

from privet.typing import Floats


class Dense:
    """Answers x people."""

    def __init__(self, array: object) -> None:
        self.array: Floats = np.ascontiguousarray(array, dtype=np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape[0], self.array.shape[1]

    def times(self, values: Floats) -> Floats:
        return self.array @ values

    def back(self, numbers: Floats) -> Floats:
        return numbers @ self.array

    def block(self, start: int, stop: int) -> Floats:
        return self.array[start:stop]
