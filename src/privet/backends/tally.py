"""Which values the rows that are kept have in each cell, and how often: for DISTINCT, quantiles, MIN and MAX."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from privet.backends import Spread
from privet.core.claim import claim
from privet.typing import Integers

MANY = 2**20  # pairs that are put together at a time


class Tally:
    """Pairs of cell and value with their numbers. Values are clamped to low..high; low - 1 stands for none."""

    def __init__(self, cells: int, low: int, high: int) -> None:
        self._cells, self._low, self._high = cells, low, high
        self._pairs: list[tuple[Integers, Integers, Integers]] = []
        self._fresh = self._settled = 0

    @claim("clamped-at-the-sum")
    def add(self, cell: npt.NDArray[Any], value: npt.NDArray[Any]) -> None:
        there = value != self._low - 1
        value = np.clip(value[there].astype(np.int64), self._low, self._high)
        self._put(counted(cell[there].astype(np.int64), value, np.ones(len(value), np.int64)))

    def merge(self, others: Sequence[Self]) -> None:
        for other in others:
            self._put(other._all())

    def spreads(self) -> list[Spread]:
        """For each cell."""
        cell, value, times = self._all()
        ends = np.searchsorted(cell, np.arange(self._cells + 1)).tolist()
        return [Spread(value[start:end], times[start:end]) for start, end in itertools.pairwise(ends)]

    def distinct(self) -> list[int]:
        """For each cell how many values there are."""
        found: list[int] = np.bincount(self._all()[0], minlength=self._cells).tolist()
        return found

    def _put(self, pairs: tuple[Integers, Integers, Integers]) -> None:
        """Put together when there are twice as many as there were, so that the work stays in proportion."""
        self._pairs.append(pairs)
        self._fresh += len(pairs[0])
        if self._fresh > max(MANY, self._settled):
            self._all()

    def _all(self) -> tuple[Integers, Integers, Integers]:
        empty = np.empty(0, np.int64)
        cell, value, times = (
            (np.concatenate([empty, *column]) for column in zip(*self._pairs, strict=True))
            if self._pairs
            else [empty] * 3
        )
        found = counted(cell, value, times)
        self._pairs, self._fresh, self._settled = [found], 0, len(found[0])
        return found


def counted(cell: Integers, value: Integers, times: Integers) -> tuple[Integers, Integers, Integers]:
    """The pairs that differ, in order, each with the sum of its numbers."""
    order = np.lexsort((value, cell))
    cell, value = cell[order], value[order]
    begins = np.append(True, (cell[1:] != cell[:-1]) | (value[1:] != value[:-1]))[: len(cell)]
    starts = np.flatnonzero(begins)
    sums = np.add.reduceat(times[order], starts) if len(starts) else times
    return cell[starts], value[starts], sums
