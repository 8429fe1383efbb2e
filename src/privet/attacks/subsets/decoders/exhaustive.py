"""Every data set there is: which ones are within E of all answers, for up to 20 people.

The truth is one of them, if no answer is off by more than E. So a data set that is given back is wrong in at most as
many places as the farthest of the others differs from it: `most_wrong`, a theorem about these very answers.

If all subsets of people were asked, that is at most 4E, whatever the answers are (Dinur and Nissim 2003). Let two data
sets x and z both be within E of every answer, and let T be the people with x = 1 and z = 0. The sums over T differ by
|T|, and both are within E of the same answer: |T| <= 2E. The same holds for the people with x = 0 and z = 1. Together
they differ in at most 4E places. The bound is attained: an answer half-way between two such data sets suits both.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privet.attacks.subsets.decoders import checked
from privet.attacks.subsets.decoders.packed import Packed
from privet.attacks.subsets.decoders.problem import Decoded, Errors, Matrix
from privet.core.claim import claim
from privet.errors import InvalidInputError
from privet.typing import Floats, Integers, Truths

NAME = "exhaustive"
LARGEST = 20  # people
WORK = 1 << 33  # data sets times answers: some seconds at worst
SLACK = 1e-9  # of binary fractions


def all_subsets(people: int) -> Packed:
    """A row for each subset but the empty one: row k has the people whose bits are set in k + 1."""
    _few(people)
    return Packed(np.arange(1, 1 << people, dtype=np.uint64)[None, :], people)


@claim("four-times-e")
def decode(matrix: Matrix, answers: object, errors: Errors | None = None) -> Decoded:
    """Of all data sets within the bound, the one whose farthest other is nearest, and among these the one nearest to
    their mean. `values` are that mean: where it is 0 or 1 all of them agree, see `proven`.

    Without `errors` the bound is the smallest one that any data set has.
    """
    masks, given = _masks(matrix), checked.numbers(answers, matrix.shape[0])
    order = np.random.default_rng(0).permutation(len(masks))  # neighbors in a list of all subsets ask nearly the same
    masks, given = masks[order], given[order]
    people = matrix.shape[1]
    bound = _smallest(masks, given, people) if errors is None else _bound(errors)
    sets = _within(masks, given, people, bound)
    if len(sets) == 0:
        least = _smallest(masks, given, people)
        raise InvalidInputError(
            f"no data set of {people} zeros and ones fits within {bound:.6g}",
            f"state the right bound on errors (the smallest that fits is {least:.6g}), or leave it out",
            "contradiction",
        )
    farthest = _farthest(sets, people)[sets]
    mean = _bits(sets, people).mean(axis=0)
    central = sets[farthest == farthest.min()]
    bits = _bits(central, people)
    best = int(np.argmin(np.abs(bits - mean).sum(axis=1)))
    return Decoded(
        decoder=NAME,
        values=mean,
        bits=bits[best],
        right=None,
        errors=Errors("bounded", bound) if errors is None else errors,
        rounds=1 << people,
        converged=True,
        most_wrong=int(farthest.min()),
    )


def consistent(matrix: Matrix, answers: object, bound: float) -> npt.NDArray[np.uint8]:
    """All data sets within `bound` of all answers, a row each."""
    masks, given = _masks(matrix), checked.numbers(answers, matrix.shape[0])
    return _bits(_within(masks, given, matrix.shape[1], bound), matrix.shape[1])


def proven(found: Decoded) -> Truths:
    """Where all data sets within the bound agree: these bits are right, if no answer is off by more than it."""
    return np.asarray((found.values == 0) | (found.values == 1))


def suits(matrix: Matrix) -> bool:
    """Few enough people and answers, and no coefficients but 0 and 1."""
    rows, people = matrix.shape
    if people > LARGEST or rows << people > WORK:
        return False
    return all(bool(((block == 0) | (block == 1)).all()) for block in checked.in_blocks(matrix, np.asarray))


def _masks(matrix: Matrix) -> npt.NDArray[np.uint32]:
    rows, people = matrix.shape
    _few(people)
    if rows << people > WORK:
        raise InvalidInputError(
            f"{rows:,} answers about {people} people are too many to try every data set",
            f"give at most {WORK >> people:,} of them",
            "too-many",
        )
    if not suits(matrix):
        raise InvalidInputError("a query has coefficients other than 0 and 1", "use another decoder", "not-binary")
    powers = (1 << np.arange(people)).astype(np.float64)
    return np.concatenate(checked.in_blocks(matrix, lambda block: block @ powers)).astype(np.uint32)


def _few(people: int) -> None:
    if not 1 <= people <= LARGEST:
        raise InvalidInputError(
            f"every data set of {people:,} people cannot be tried",
            f"give from 1 to {LARGEST}, or use another decoder",
            "too-many",
        )


def _bound(errors: Errors) -> float:
    if checked.errors(errors).law not in ("exact", "bounded"):
        raise InvalidInputError(
            f"{errors.law} errors have no bound",
            "use another decoder, or leave the errors out for the smallest bound",
            "not-supported",
        )
    return 0.0 if errors.law == "exact" else errors.size


def _smallest(masks: npt.NDArray[np.uint32], answers: Floats, people: int) -> float:
    from privet.attacks.subsets.decoders import exhaustive_loops  # noqa: PLC0415  slow to import

    return float(exhaustive_loops.smallest(masks, answers, people))


def _within(masks: npt.NDArray[np.uint32], answers: Floats, people: int, bound: float) -> Integers:
    """The numbers of data sets: person k is bit k."""
    from privet.attacks.subsets.decoders import exhaustive_loops  # noqa: PLC0415  slow to import

    reach = bound + SLACK * (1 + np.abs(answers))
    low = np.clip(np.ceil(answers - reach), -1, people + 1).astype(np.int32)
    high = np.clip(np.floor(answers + reach), -1, people + 1).astype(np.int32)
    fits = np.empty(1 << people, np.bool_)
    exhaustive_loops.fitting(masks, low, high, fits)
    return np.flatnonzero(fits)


def _farthest(sets: Integers, people: int) -> npt.NDArray[np.uint8]:
    """For every data set there is, in how many places the farthest of `sets` differs from it. Two differ where one
    agrees with the opposite of the other: it is `people` less the distance from the opposite to the nearest of `sets`,
    and nearest distances spread over all data sets bit by bit."""
    nearest = np.full(1 << people, people + 1, np.uint8)
    nearest[sets] = 0
    for bit in range(people):
        pairs = nearest.reshape(-1, 2, 1 << bit)
        zero, one = pairs[:, 0], pairs[:, 1]
        pairs[:, 0], pairs[:, 1] = np.minimum(zero, one + 1), np.minimum(one, zero + 1)
    return np.asarray(people - nearest[::-1], np.uint8)


def _bits(sets: Integers, people: int) -> npt.NDArray[np.uint8]:
    return (sets[:, None] >> np.arange(people) & 1).astype(np.uint8)
