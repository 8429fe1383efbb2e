"""Pairs in engines that compute sums and counts: a pair is a sum of clamped values and the number of these values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from privet.backends import Task, Vector
from privet.core.claim import claim
from privet.core.measures import Measure, Role


def apart(task: Task) -> Task:
    """The same task with a sum and a count in place of each pair."""
    return replace(task, measures=tuple(one for measure in task.measures for one in _pieces(measure)))


@claim("joint-sums")
def joined(task: Task, vectors: Sequence[Vector]) -> list[Vector]:
    """The vectors of a task from those of its pieces. What a row adds to the sum was clamped, and the count is of the
    same rows, so high * count - sum is what they are below the highest value together."""
    left: Iterator[Vector] = iter(vectors)
    found: list[Vector] = []
    for measure in task.measures:
        vector = next(left)
        if measure.role is Role.PAIR:
            sums = [int(one) for one in vector]  # type: ignore[arg-type]
            rows = [int(one) for one in next(left)]  # type: ignore[arg-type]
            vector = [*sums, *(measure.high * n - one for n, one in zip(rows, sums, strict=True))]
        found.append(vector)
    return found


def _pieces(measure: Measure) -> tuple[Measure, ...]:
    if measure.role is not Role.PAIR:
        return (measure,)
    return replace(measure, role=Role.SUM), Measure(role=Role.COUNT, value=measure.value)
