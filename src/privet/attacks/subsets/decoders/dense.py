"""A matrix with any coefficients, as a plain array: weighted sums, differences, a few thousand people."""

from __future__ import annotations

import numpy as np

from privet.attacks.subsets.decoders.vectors import table, vector
from privet.errors import InvalidInputError
from privet.typing import Floats


class Dense:
    """Answers x people."""

    __slots__ = ("array",)

    def __init__(self, array: object) -> None:
        self.array: Floats = np.ascontiguousarray(table(array), dtype=np.float64)
        if not np.isfinite(self.array).all():
            raise InvalidInputError(
                "the matrix has infinite or missing numbers", "give finite coefficients", "not-finite"
            )

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape[0], self.array.shape[1]

    def times(self, values: Floats) -> Floats:
        return self.array @ vector(values, self.shape[1], "people")

    def back(self, numbers: Floats) -> Floats:
        return vector(numbers, self.shape[0], "answers") @ self.array

    def block(self, start: int, stop: int) -> Floats:
        return self.array[start:stop]
