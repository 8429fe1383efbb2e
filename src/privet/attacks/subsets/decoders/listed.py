"""A matrix of zeros and ones with few ones: for each answer, the list of people who are in it.

A person in a list takes four bytes, in `Packed` everybody takes a bit: lists are smaller below one person in 32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privet.attacks.subsets.decoders.vectors import vector
from privet.errors import InvalidInputError
from privet.typing import Floats, Integers


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """Row i has the people `members[starts[i] : starts[i + 1]]`, in ascending order."""

    starts: Integers
    members: npt.NDArray[np.int32]
    people: int

    @classmethod
    def of(cls, rows: Sequence[npt.ArrayLike], people: int) -> Sparse:
        """`rows`: for each answer the numbers, from 0 on, of those of `people` who are in it."""
        lists = [_members(row, number, people) for number, row in enumerate(rows)]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in lists])]).astype(np.int64)
        return cls(starts, np.concatenate([*lists, np.zeros(0, np.int32)]), people)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.starts) - 1, self.people

    def times(self, values: Floats) -> Floats:
        from privet.attacks.subsets.decoders import listed_loops  # noqa: PLC0415  slow to import

        sums = np.zeros(self.shape[0])
        listed_loops.times(self.starts, self.members, vector(values, self.people, "people"), sums)
        return sums

    def back(self, numbers: Floats) -> Floats:
        from privet.attacks.subsets.decoders import listed_loops  # noqa: PLC0415  slow to import

        sums = np.zeros(self.people)
        listed_loops.back(self.starts, self.members, vector(numbers, self.shape[0], "answers"), sums)
        return sums

    def block(self, start: int, stop: int) -> Floats:
        bounds = self.starts[start : stop + 1]
        plain = np.zeros((len(bounds) - 1, self.people))
        plain[np.repeat(np.arange(len(plain)), np.diff(bounds)), self.members[bounds[0] : bounds[-1]]] = 1
        return plain


def _members(row: npt.ArrayLike, number: int, people: int) -> npt.NDArray[np.int32]:
    members = np.asarray(row)
    if members.size == 0:
        return np.zeros(0, np.int32)
    if members.ndim != 1 or members.dtype.kind not in "iu":
        raise InvalidInputError(
            f"row {number} is not a list of whole numbers", "list people by their number, from 0 on", "not-a-list"
        )
    members = np.sort(members)
    if members[0] < 0 or members[-1] >= people:
        raise InvalidInputError(
            f"row {number} has person {members[0] if members[0] < 0 else members[-1]}",
            f"number {people} people from 0 to {people - 1}",
            "unknown-person",
        )
    if (members[1:] == members[:-1]).any():
        raise InvalidInputError(f"row {number} has a person twice", "list each person once", "duplicate-name")
    return members.astype(np.int32)
