"""A matrix whose rows are intervals: everybody from one person to another, in an order that is known.

Sums over intervals are differences of running sums, so a product takes a step for each person and each answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.attacks.subsets.decoders.vectors import vector
from privet.errors import InvalidInputError
from privet.typing import Floats, Integers


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Row i has the people from `starts[i]` on, before `ends[i]`."""

    starts: Integers
    ends: Integers
    people: int

    def __post_init__(self) -> None:
        starts, ends = np.asarray(self.starts), np.asarray(self.ends)
        if starts.ndim != 1 or starts.shape != ends.shape or not {starts.dtype.kind, ends.dtype.kind} <= {"i", "u"}:
            raise InvalidInputError(
                "ranges without a start and an end each", "give as many whole starts as ends", "wrong-shape"
            )
        wrong = (starts < 0) | (starts > ends) | (ends > self.people)
        if wrong.any():
            first = int(np.argmax(wrong))
            raise InvalidInputError(
                f"row {first} is the range from {starts[first]} to {ends[first]}",
                f"give 0 <= start <= end <= {self.people}, the number of people",
                "out-of-range",
            )
        object.__setattr__(self, "starts", starts.astype(np.int64))
        object.__setattr__(self, "ends", ends.astype(np.int64))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.starts), self.people

    def times(self, values: Floats) -> Floats:
        running = np.concatenate([[0.0], np.cumsum(vector(values, self.people, "people"))])
        return np.asarray(running[self.ends] - running[self.starts])

    def back(self, numbers: Floats) -> Floats:
        numbers = vector(numbers, self.shape[0], "answers")
        size = self.people + 1
        steps = np.bincount(self.starts, numbers, size) - np.bincount(self.ends, numbers, size)
        return np.cumsum(steps[:-1])

    def block(self, start: int, stop: int) -> Floats:
        people = np.arange(self.people)
        inside = (self.starts[start:stop, None] <= people) & (people < self.ends[start:stop, None])
        return inside.astype(np.float64)
