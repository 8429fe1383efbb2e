"""What a decoder will find, before any answer is known: for any decoder and any matrix.

Random subsets follow a law that depends on little: how many answers there are for each person, and how large errors are
against the square root of the number of people. Message passing and box least squares are calculated from it
(`evolution`). For the other decoders a small problem with the same two numbers is made up and decoded. For any other
matrix secrets and errors are made up for this very matrix, and decoded: that is always possible, and honest. So it is
for a small problem with few people in a query, where some would be about nobody, and for message passing on bounded
errors of up to 1,000 people: the law is one of many, and at 200 it may promise seven points too much.

Rounded answers are made up by rounding. Where the step is wider than the sums vary, most answers are the same number
and tell little: even errors as large as half a step would promise a third of all people too much.
"""

from __future__ import annotations

import math
from typing import assert_never

import numpy as np

from privet.attacks.subsets.decoders import amp, box, checked, evolution, exhaustive, known
from privet.attacks.subsets.decoders.descent import Progress
from privet.attacks.subsets.decoders.listed import Sparse
from privet.attacks.subsets.decoders.packed import Packed
from privet.attacks.subsets.decoders.problem import Errors, Forecast, Matrix
from privet.typing import Floats

BITS = 6000  # made up and decoded: the share of right ones is then known to a point
MOST_RUNS = 60
SMALL = 1000  # people of a small problem


def forecast(  # noqa: PLR0913  a question, and how to go about it
    decoder: str,
    matrix: Matrix,
    errors: Errors,
    *,
    rate: float = 0.5,
    random: bool | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Forecast:
    """`random` says whether these are random subsets; if it does not, that is looked at."""
    name = known.named(decoder)
    rows, people = checked.sized(matrix)
    checked.errors(errors)
    checked.rate(rate)
    share = _share(matrix, random)
    rounded = errors.step > 0 and (people <= SMALL or name in (amp.DECODER, box.NAME))
    if share is None or name == exhaustive.NAME or rounded:
        return _simulated(name, matrix, errors, rate, seed, progress)
    if name == amp.DECODER and (people > SMALL or errors.law != "bounded"):
        return evolution.forecast(people, rows, errors, rate=rate, share=share)
    if name == box.NAME:
        return evolution.convex(name, people, rows, errors, share=share)
    if people <= SMALL or share * SMALL < amp.CROWD:
        return _simulated(name, matrix, errors, rate, seed, progress)
    other = np.random.default_rng((seed, SMALL))  # than the one that secrets and errors come from
    small = Packed.of(other.random((round(rows / people * SMALL), SMALL)) < share)
    smaller = math.sqrt(SMALL / people)
    scaled = Errors(errors.law, errors.size * smaller, errors.share, errors.step * smaller)
    return _simulated(name, small, scaled, rate, seed, progress)


def drawn(errors: Errors, rows: int, people: int, random: np.random.Generator) -> Floats:
    """Made-up errors. Of bounded ones all sizes are equally likely, and wild ones are up to half the number of people:
    what is known of them in truth is less."""
    match errors.law:
        case "exact":
            return np.zeros(rows)
        case "normal":
            return random.normal(0, errors.size, rows)
        case "laplace":
            return random.laplace(0, errors.size, rows)
        case "bounded":
            return random.uniform(-errors.size, errors.size, rows)
        case "outliers":
            wild = random.random(rows) < errors.share
            return np.where(wild, random.uniform(-people / 2, people / 2, rows), random.normal(0, errors.size, rows))
        case _:
            assert_never(errors.law)


def _share(matrix: Matrix, random: bool | None) -> float | None:
    """The share of people in a query, if these are random subsets."""
    if not isinstance(matrix, Packed | Sparse) or not (amp.looks_random(matrix) if random is None else random):
        return None
    rows, people = matrix.shape
    return float(matrix.times(np.ones(people)).sum()) / rows / people


def simulated_answers(matrix: Matrix, secrets: Floats, errors: Errors, random: np.random.Generator) -> Floats:
    sums = matrix.times(secrets)
    if errors.step:
        return np.asarray(errors.step * np.rint(sums / errors.step))
    return np.asarray(sums + drawn(errors, *matrix.shape, random))


def _secrets(people: int, rate: float, random: np.random.Generator, *, fixed: bool) -> Floats:
    """`fixed`: exactly this share of ones."""
    if not fixed:
        return (random.random(people) < rate).astype(np.float64)
    secrets = np.zeros(people)
    secrets[random.permutation(people)[: round(rate * people)]] = 1
    return secrets


def _simulated(  # noqa: PLR0913, PLR0917  as above
    name: str, matrix: Matrix, errors: Errors, rate: float, seed: int, progress: Progress | None
) -> Forecast:
    random = np.random.default_rng(seed)
    people = matrix.shape[1]
    runs = min(math.ceil(BITS / people), MOST_RUNS)
    right = 0
    for run in range(runs):
        if progress is not None:
            progress("simulating", run, runs)
        secrets = _secrets(people, rate, random, fixed=errors.step > 0)
        answers = simulated_answers(matrix, secrets, errors, random)
        right += int((known.decode(name, matrix, answers, errors, rate=rate).bits == secrets).sum())
    return Forecast(
        decoder=name,
        recovered=right / runs / people,
        why=f"by simulation: {runs * people:,} made-up secrets were decoded",
    )
