"""What no decoder can work with, said in one line each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privet.attacks.subsets.decoders.intervals_of_people import Ranges
from privet.attacks.subsets.decoders.listed import Sparse
from privet.attacks.subsets.decoders.packed import Packed
from privet.attacks.subsets.decoders.problem import Bits, Errors, Matrix
from privet.errors import InvalidInputError
from privet.typing import Floats

LARGEST_TOP = 255  # whole numbers found are bytes
LAWS = ("exact", "normal", "laplace", "bounded", "outliers")
BLOCK = 1 << 22  # numbers at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Answers and upper ends as they should be, with what is asked about each person: sums of squares of columns."""

    answers: Floats
    top: Floats
    weights: Floats


def question(matrix: Matrix, answers: object, top: object = None) -> Question:
    rows, people = sized(matrix)
    given = numbers(answers, rows)
    ends = np.ones(people) if top is None else _top(top, people)
    squares, weights = _squares(matrix)
    if (squares == 0).any():
        first = int(np.argmax(squares == 0))
        raise InvalidInputError(
            f"{int((squares == 0).sum()):,} of {rows:,} queries ask about nobody (the first is query {first + 1:,})",
            "leave queries without people out",
            "empty",
        )
    if (weights == 0).any():
        first = int(np.argmax(weights == 0))
        raise InvalidInputError(
            f"{int((weights == 0).sum()):,} of {people:,} people are in no query (the first is person {first + 1:,})",
            "leave them out: no answer says anything about them",
            "not-mentioned",
        )
    return Question(answers=given, top=ends, weights=weights)


def numbers(answers: object, rows: int) -> Floats:
    given = _numbers(answers, "answers")
    if len(given) != rows:
        raise InvalidInputError(
            f"there are {len(given):,} answers to {rows:,} queries",
            "give one answer for each query, in the same order",
            "wrong-length",
        )
    return given


def sized(matrix: Matrix) -> tuple[int, int]:
    rows, people = matrix.shape
    if rows == 0 or people == 0:
        raise InvalidInputError(
            f"{rows:,} queries about {people:,} people are nothing to decode", "give at least one of each", "empty"
        )
    if rows < people:
        raise InvalidInputError(
            f"{rows:,} answers cannot settle {people:,} secrets",
            f"ask at least as many questions as there are people: {people - rows:,} more",
            "too-few",
        )
    return rows, people


def errors(given: Errors) -> Errors:
    if given.law not in LAWS:
        raise InvalidInputError(
            f"{given.law!r} is no law of errors", f"name one of {', '.join(LAWS)}", "unknown-choice"
        )
    if not (math.isfinite(given.size) and given.size >= 0):
        raise InvalidInputError(
            f"the size of errors must be finite and 0 or more, not {given.size:g}",
            "give the size that was stated",
            "negative",
        )
    if not 0 <= given.share < 0.5:
        raise InvalidInputError(
            f"a share of outliers of {given.share:g} is too much", "give one from 0 to below 0.5", "out-of-range"
        )
    return given


def rate(given: float) -> float:
    if not 0 < given < 1:
        raise InvalidInputError(
            f"a rate of {given:g} leaves no secret",
            "give the share of people with a 1, between 0 and 1",
            "out-of-range",
        )
    return given


def whole(values: Floats, top: Floats) -> Bits:
    return np.minimum(np.maximum(np.floor(values + 0.5), 0), top).astype(np.uint8)


def _numbers(given: object, what: str) -> Floats:
    try:
        numbers = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"the {what} are not numbers", "give an array of numbers", "not-a-number") from None
    if numbers.ndim != 1:
        raise InvalidInputError(
            f"the {what} have {numbers.ndim} dimensions", "give a plain list of numbers", "wrong-shape"
        )
    if not np.isfinite(numbers).all():
        raise InvalidInputError(
            f"{int((~np.isfinite(numbers)).sum()):,} of the {what} are not finite",
            "leave these queries out",
            "not-finite",
        )
    return numbers


def _top(given: object, people: int) -> Floats:
    top = _numbers(given, "largest values")
    if len(top) != people:
        raise InvalidInputError(
            f"there are {len(top):,} largest values for {people:,} people", "give one for each person", "wrong-length"
        )
    if not ((top == np.floor(top)) & (top >= 1) & (top <= LARGEST_TOP)).all():
        raise InvalidInputError(
            "a largest value is not a whole number from 1 to 255",
            "split groups of more people, leave out empty ones",
            "out-of-range",
        )
    return top


def _squares(matrix: Matrix) -> tuple[Floats, Floats]:
    """Of rows and of columns. In a matrix of zeros and ones they are plain sums."""
    if isinstance(matrix, Packed | Sparse | Ranges):
        return matrix.times(np.ones(matrix.shape[1])), matrix.back(np.ones(matrix.shape[0]))
    parts = list(in_blocks(matrix, lambda block: (block**2).sum(axis=1)))
    columns = sum(in_blocks(matrix, lambda block: (block**2).sum(axis=0)))
    return np.concatenate(parts), np.asarray(columns)


def in_blocks(matrix: Matrix, of: Callable[[Floats], Floats]) -> list[Floats]:
    rows, people = matrix.shape
    each = max(BLOCK // people, 1)
    return [of(matrix.block(start, min(start + each, rows))) for start in range(0, rows, each)]
