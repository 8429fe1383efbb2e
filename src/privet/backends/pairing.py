"""Pairs and squares in engines that compute sums, sums of squares and counts, all of the same clamped values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from privet.backends import Task, Vector
from privet.core.claim import claim
from privet.core.measures import Measure, Role


def apart(task: Task) -> Task:
    """The same task with a sum and a count in place of each pair. Squares keep their place behind these two: of them an
    engine computes the first number, the sum of u * u."""
    return replace(task, measures=tuple(one for measure in task.measures for one in _pieces(measure)))


@claim("joint-sums")
def joined(task: Task, vectors: Sequence[Vector]) -> list[Vector]:
    """The vectors of a task from those of its pieces. What a row adds to the sum was clamped, and squared after that,
    and the count is of the same rows. So high * count - sum is what they are below the highest value together, and with
    v = high - u the sum of u * v is high * sum - squares."""
    left: Iterator[Vector] = iter(vectors)
    found: list[Vector] = []
    for measure in task.measures:
        vector = next(left)
        if measure.numbers > 1:
            rest = [next(left) for _ in range(measure.numbers - 1)]
            pieces = [[int(one) for one in piece] for piece in (vector, *rest)]  # type: ignore[arg-type]
            cells = [_numbers(measure, *cell) for cell in zip(*pieces, strict=True)]
            vector = [one for side in zip(*cells, strict=True) for one in side]
        found.append(vector)
    return found


def _numbers(measure: Measure, total: int, rows: int, squares: int = 0) -> tuple[int, ...]:
    """Of one cell."""
    below = measure.high * rows - total
    if measure.role is Role.PAIR:
        return total, below
    products = measure.high * total - squares
    return squares, 2 * products, measure.high * below - products


def _pieces(measure: Measure) -> tuple[Measure, ...]:
    if measure.numbers == 1:
        return (measure,)
    pieces = replace(measure, role=Role.SUM), Measure(role=Role.COUNT, value=measure.value)
    return pieces if measure.role is Role.PAIR else (*pieces, measure)
