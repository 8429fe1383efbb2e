"""Made-up sums: query matrices of several kinds, secrets, and answers with errors."""

from __future__ import annotations

import numpy as np

from privet.attacks.subsets.decoders import Decoded, Errors, Matrix, expected
from privet.attacks.subsets.decoders.intervals_of_people import Ranges
from privet.attacks.subsets.decoders.listed import Sparse
from privet.attacks.subsets.decoders.packed import Packed
from privet.attacks.subsets.decoders.problem import Floats


def subsets(people: int, each: int = 4, seed: int = 0) -> Packed:
    return Packed.random(each * people, people, seed)


def uneven(people: int, seed: int = 0) -> Sparse:
    """Some people are asked about ten times as often as others, in queries of different sizes."""
    random = np.random.default_rng(seed)
    often = random.uniform(0.04, 0.4, people)
    return Sparse.of(
        [np.flatnonzero(random.random(people) < often * random.uniform(0.5, 2)) for _ in range(4 * people)], people
    )


def ranges(people: int, seed: int = 0) -> Ranges:
    random = np.random.default_rng(seed)
    starts = np.concatenate([np.arange(people), random.integers(0, people, 3 * people)])
    return Ranges(starts, np.minimum(starts + random.integers(1, 12, len(starts)), people), people)


def made(matrix: Matrix, errors: Errors, seed: int, rate: float = 0.5) -> tuple[Floats, Floats]:
    """Secrets and answers."""
    random = np.random.default_rng(seed)
    rows, people = matrix.shape
    secrets = (random.random(people) < rate).astype(float)
    return secrets, matrix.times(secrets) + expected.drawn(errors, rows, people, random)


def right(found: Decoded, secrets: Floats) -> float:
    return float((found.bits == secrets).mean())


def whole(matrix: Matrix) -> Floats:
    return matrix.block(0, matrix.shape[0])
