"""Made secrets, queries and answers, to try the attack on and to check what is expected of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal, assert_never, get_args

import numpy as np
import numpy.typing as npt

from privet.attacks.subsets.decoders.problem import Errors, Law, Matrix
from privet.attacks.subsets.subset_sums import Guesses
from privet.errors import InvalidInputError
from privet.typing import Floats

Structure = Literal["random", "sparse", "ranges", "prefix", "all"]
MOST_FOR_ALL = 16  # people of whom all subsets are asked
IN_A_SPARSE_QUERY = 32
FEW = 64  # people; with more, a random query about nobody will never be seen


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Made:
    secrets: Guesses
    queries: Matrix
    answers: Floats
    errors: Errors


def simulate(  # noqa: PLR0913  one made world, every part of it by name
    people: int,
    queries_per_person: float,
    alpha: float,
    *,
    law: Law = "normal",
    share: float = 0.1,
    structure: Structure = "random",
    rate: float = 0.5,
    seed: int = 1,
) -> Made:
    """Errors have the size alpha times the root of `people`: the standard deviation of normal ones, the scale of
    Laplace, the largest bounded one (uniform up to it), and of outliers the standard deviation of all the others;
    `share` of the answers are then anything from 0 to everybody. `structure` says which sums are asked for: "random"
    (everybody is in each with chance 1/2), "sparse" (32 people at most), "ranges" (people in a row), "prefix" (the
    first N people, a running count), "all" (every subset once, whatever `queries_per_person` is)."""
    _check_queries(people, queries_per_person, structure)
    _check_errors(alpha, law, share, rate)
    draw = np.random.default_rng(seed)
    secrets = (draw.random(people) < rate).astype(np.int8)
    matrix = queries_made(people, round(queries_per_person * people), structure, seed)
    errors = errors_made(law, alpha * sqrt(people), share)
    exact = matrix.times(secrets.astype(np.float64))
    return Made(secrets=secrets, queries=matrix, answers=noisy(exact, errors, people, draw), errors=errors)


def errors_made(law: Law, size: float, share: float) -> Errors:
    if law == "exact":
        return Errors("exact")
    return Errors(law, size, share if law == "outliers" else 0.0)


def noisy(exact: Floats, errors: Errors, people: int, draw: np.random.Generator) -> Floats:
    number = len(exact)
    match errors.law:
        case "exact":
            return exact
        case "normal":
            return np.asarray(exact + draw.normal(0, errors.size, number))
        case "laplace":
            return np.asarray(exact + draw.laplace(0, errors.size, number))
        case "bounded":
            return np.asarray(exact + draw.uniform(-errors.size, errors.size, number))
        case "outliers":
            wild = draw.random(number) < errors.share
            near = exact + draw.normal(0, errors.size, number)
            return np.where(wild, draw.uniform(0, people, number), near)
        case _:
            assert_never(errors.law)


def queries_made(people: int, number: int, structure: Structure, seed: int) -> Matrix:
    from privet.attacks.subsets.decoders.exhaustive import all_subsets  # noqa: PLC0415  brings numba
    from privet.attacks.subsets.decoders.intervals_of_people import Ranges  # noqa: PLC0415
    from privet.attacks.subsets.decoders.listed import Sparse  # noqa: PLC0415
    from privet.attacks.subsets.decoders.packed import Packed  # noqa: PLC0415

    draw = np.random.default_rng((seed, 1))  # other draws than those of the secrets
    match structure:
        case "random":
            return Packed.random(number, people, seed) if people > FEW else Packed.of(_of_few(number, people, draw))
        case "sparse":
            size = max(min(IN_A_SPARSE_QUERY, people // 2), 1)
            return Sparse.of([np.sort(draw.choice(people, size, replace=False)) for _ in range(number)], people)
        case "ranges":
            ends = np.sort(draw.integers(0, people + 1, (number, 2)), axis=1).astype(np.int64)
            first = np.minimum(ends[:, 0], people - 1)
            return Ranges(first, np.maximum(ends[:, 1], first + 1), people)
        case "prefix":
            return Ranges(np.zeros(number, np.int64), np.arange(number, dtype=np.int64) % people + 1, people)
        case "all":
            return all_subsets(people)
        case _:
            assert_never(structure)


def _of_few(number: int, people: int, draw: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Where a query about nobody would be likely, it is about one person instead."""
    rows = draw.integers(0, 2, (number, people), np.uint8)
    empty = np.flatnonzero(~rows.any(axis=1))
    rows[empty, draw.integers(0, people, len(empty))] = 1
    return rows


def _check_queries(people: int, each: float, structure: str) -> None:
    if people < 1:
        raise InvalidInputError(f"{people:,} people have no secrets", "give 1 or more, such as 16000", "not-positive")
    if structure not in get_args(Structure):
        raise InvalidInputError(
            f"there are no queries {structure}", f"use one of {', '.join(get_args(Structure))}", "unknown-choice"
        )
    if structure == "all" and people > MOST_FOR_ALL:
        raise InvalidInputError(
            f"{people:,} people have too many subsets to ask about all",
            f"give {MOST_FOR_ALL} people at most",
            "too-many",
        )
    if not 1 <= each <= 1000:
        raise InvalidInputError(
            f"{each:g} queries a person are too few or too many",
            "give 1 or more, such as 4: fewer fit many data sets",
            "out-of-range",
        )


def _check_errors(alpha: float, law: str, share: float, rate: float) -> None:
    if law not in get_args(Law):
        raise InvalidInputError(
            f"there are no errors {law}", f"use one of {', '.join(get_args(Law))}", "unknown-choice"
        )
    if not 0 <= alpha < np.inf or (alpha == 0 and law in ("normal", "laplace")):
        raise InvalidInputError(
            f"an alpha of {alpha:g} is no size of {law} errors", "give one above 0, such as 0.25", "not-positive"
        )
    if not (0 <= share < 1 and 0 < rate < 1):
        raise InvalidInputError("a share or a rate is not between 0 and 1", "for example 0.1", "out-of-range")
