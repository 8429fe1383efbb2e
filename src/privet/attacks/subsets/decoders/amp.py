"""Who has a 1, from noisy sums over random subsets: approximate message passing, the best decoder known for these.

    found = decode(Packed.random(64_000, 16_000, seed=1), answers, Errors("normal", 31.6))

Every person has a probability. In each round the sums that these predict are compared with the answers (`channels`
says how much each answer pulls, by the law of errors), and the pulls on each person, of all answers with the person in
it, are weighed against the prior. Sums that a person had a part in lean toward what was believed before: the term of
Onsager takes that away, and then, for a large matrix of independent entries, the evidence about each person is exactly
the truth with a normal error whose size is known. So probabilities are honest, and `evolution` forecasts the result.

The method is generalized approximate message passing (Donoho, Maleki and Montanari 2009; Rangan 2011). It is for
entries of mean 0. Ours have some mean p, which adds p times the number of ones to all sums alike: so p is taken from
the matrix, and one more unknown is what all answers have in common (`shared` below).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from privet.attacks.subsets.decoders.error_laws import LARGEST, Channel, channel, checked, laplace
from privet.attacks.subsets.decoders.problem import Decoded, Errors, Matrix
from privet.attacks.subsets.decoders.vectors import vector
from privet.errors import InvalidInputError
from privet.typing import Floats

Progress = Callable[[str, int, int], object]
DECODER = "amp"
ROUNDS = 150
STILL = 1e-6  # people's values change by so much, on average, when it is over
TINY = 1e-12  # of the first variance: below, everybody is known
PERSON = 0.25  # the least variance of all people together: that of one who is not known at all
SLOWER, SLOWEST = 0.7, 0.1  # steps when changes grow
CELLS = 1 << 24  # looked at for the spread of entries, at most
LEAST = 50  # answers and people: below, no law of large numbers helps
CROWD = 30.0  # people in a subset, at least
STEPS = 8  # of the power iteration
NARROWEST = 0.33  # scales of Laplace errors: the deviation of a belief, at least


@dataclass(frozen=True, slots=True, eq=False)
class Centered:
    """A matrix less the mean of its entries, and their variance. `variance` is 0 if all entries are equal."""

    matrix: Matrix
    mean: float
    variance: float

    @classmethod
    def of(cls, matrix: Matrix) -> Centered:
        """The mean is exact. The variance is that of products with random signs: the mean of the square of one is the
        sum of squares of the entries of its row."""
        rows, people = matrix.shape
        mean = float(matrix.times(np.ones(people)).mean() / people)
        centered = cls(matrix, mean, 0.0)
        generator = np.random.default_rng(rows)
        count = min(64, max(4, CELLS // (rows * people)))
        signs = generator.choice([-1.0, 1.0], (count, people))
        squares = [float(np.square(centered.times(some)).mean()) for some in signs]
        variance = float(np.mean(squares)) / people
        return replace(centered, variance=variance if variance > TINY * mean**2 else 0.0)

    def times(self, values: Floats) -> Floats:
        return np.asarray(self.matrix.times(values) - self.mean * values.sum())

    def back(self, numbers: Floats) -> Floats:
        return np.asarray(self.matrix.back(numbers) - self.mean * numbers.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rounds:
    """What is believed. `shared` is the part of all sums that comes from the mean of the entries."""

    values: Floats  # of people, from 0 to 1
    spread: float  # mean variance of these
    pulls: Floats  # of answers
    shared: float
    evidence: Floats  # of people: 0 or 1 with a normal error
    error: float  # its variance
    memory: float  # how much of an answer's pull comes back to it by the values: the term of Onsager


def decode(
    matrix: Matrix, answers: Floats, errors: Errors, *, rate: float | None = 0.5, progress: Progress | None = None
) -> Decoded:
    """`rate` is the share of ones that was to be expected before, None to learn it from the answers."""
    rows, people = matrix.shape
    if not rows or not people:
        raise InvalidInputError(
            f"a matrix of {rows} answers about {people} people", "give at least one of each", "empty"
        )
    answers = vector(answers, rows, "answers")
    if not (np.abs(answers) < LARGEST).all():
        raise InvalidInputError(
            "an answer is infinite or missing", "leave out answers that are not numbers", "not-finite"
        )
    if rate is not None and not 0 < rate < 1:
        raise InvalidInputError(
            f"a rate of {rate}", "give the expected share of ones, above 0 and below 1", "out-of-range"
        )
    centered = Centered.of(matrix)
    if not centered.variance:
        raise InvalidInputError(
            "all answers are about the same people", "ask about different subsets of people", "no-variation"
        )
    runs = [_iterate(centered, answers, law, rate, progress) for law in _laws(checked(errors), answers)]
    state, rounds, converged = min(runs, key=lambda run: (not run[2], run[0].error))
    values = state.values
    return Decoded(
        decoder=DECODER, values=values, bits=(values > 0.5).astype(np.uint8),
        right=np.maximum(values, 1 - values) if converged else None,
        errors=errors, rounds=rounds, converged=converged,
    )  # fmt: skip


def _laws(errors: Errors, answers: Floats) -> list[Channel]:
    """To try. All that is known of bounded errors is the bound: if they are uniform or mostly near it, answers at the
    edge tell most, otherwise least squares do better. How well each did is measured, so the better one can be taken.

    Laplace errors pull like a sign. Beside a narrow belief only few answers then say how steep that is, and rounded
    ones meet the sums exactly: guesses became too sure, or swung. So the belief is never taken as narrow as that."""
    if errors.law == "laplace":
        return [lambda u, t: laplace(u, max(t, (NARROWEST * errors.size) ** 2), errors.size)]
    first = channel(errors, float(np.ptp(answers)) or 1.0)
    if errors.law != "bounded":
        return [first]
    return [first, channel(Errors("normal", errors.size / math.sqrt(3)), 1.0)]


def _iterate(
    centered: Centered, answers: Floats, law: Channel, rate: float | None, progress: Progress | None
) -> tuple[_Rounds, int, bool]:
    """Rounds until nothing changes. When changes grow, from the third round on, steps become shorter: independent
    entries rarely need that, others swing without it."""
    state, step, last = _start(centered, answers, rate), 1.0, math.inf
    for number in range(1, ROUNDS + 1):
        if progress is not None:
            progress("rounds", number - 1, ROUNDS)
        new = _round(centered, answers, law, state, rate, step)
        change = float(np.abs(new.values - state.values).mean()) / step
        state = new
        if change < STILL:
            return state, number, True
        if change > last and number > 2:
            step = max(SLOWEST, step * SLOWER)
        last = change
    return state, ROUNDS, False


def _start(centered: Centered, answers: Floats, rate: float | None) -> _Rounds:
    people, start = centered.matrix.shape[1], 0.5 if rate is None else rate
    values = np.full(people, start)
    shared = float(np.median(answers - centered.times(values)))
    return _Rounds(
        values=values, spread=start * (1 - start), pulls=np.zeros(len(answers)), shared=shared,
        evidence=values, error=math.inf, memory=0.0,
    )  # fmt: skip


def _round(  # noqa: PLR0913, PLR0917  the state and what is given
    centered: Centered, answers: Floats, law: Channel, old: _Rounds, rate: float | None, step: float
) -> _Rounds:
    """One round. The error of the evidence is the measured spread of pulls, right even if the law of errors is not."""
    rows, people = centered.matrix.shape
    belief = centered.variance * max(people * old.spread, PERSON)
    off = answers - old.shared - centered.times(old.values) + old.memory * old.pulls
    pulls, sure = law(off, belief)
    pulls = step * pulls + (1 - step) * old.pulls
    square = float(np.square(pulls).mean())
    known = max(float(sure.mean()), square / 10)
    if known * belief < TINY:  # no answer says anything
        return replace(old, error=math.inf)
    gain = 1 / (rows * centered.variance * known)
    evidence = old.values + gain * centered.back(pulls)
    error = max(square * gain / known, TINY)
    prior = float(old.values.mean()) if rate is None else rate
    values = _posterior(evidence, error, min(max(prior, 0.5 / people), 1 - 0.5 / people))
    spread = float((values * (1 - values)).mean())
    memory = people * centered.variance * spread * gain / error
    return _Rounds(
        values=step * values + (1 - step) * old.values, spread=step * spread + (1 - step) * old.spread, pulls=pulls,
        shared=old.shared + float(pulls.mean()) / known, evidence=evidence, error=error, memory=memory,
    )  # fmt: skip


def _posterior(evidence: Floats, error: float, rate: float) -> Floats:
    """The chance of a 1 for a person whose evidence is 0 or 1 with a normal error of this variance."""
    odds = (evidence - 0.5) / error + math.log(rate / (1 - rate))
    return 0.5 + 0.5 * np.tanh(odds / 2)


def looks_random(matrix: Matrix) -> bool:
    """Whether the matrix is like one of independent entries, as far as its sums and its largest stretch show.

    Row and column sums may not vary more than those of independent entries (less is fine: subsets of equal size), and
    the largest singular value of the centered matrix must be near that of such a matrix, (√m + √n) times the deviation
    of an entry (Bai and Yin 1993). Intervals, blocks and repeated rows stretch some direction much more, orthogonal
    rows less. Sums must be near a normal law: the kurtosis of entries over the number of people says how far they are
    from it, for subsets one over the number of people in one. It takes some twenty products.
    """
    rows, people = matrix.shape
    if min(rows, people) < LEAST:
        return False
    centered = Centered.of(matrix)
    if not centered.variance:
        return False
    some = matrix.block(0, min(rows, LEAST)) - centered.mean
    if (some**4).mean() > people / CROWD * centered.variance**2:
        return False
    sums = ((centered.times(np.ones(people)), people), (centered.back(np.ones(rows)), rows))
    for of_each, count in sums:
        loose = 1.2 + 10 * math.sqrt(2 / len(of_each))
        if np.square(of_each).mean() > loose * count * centered.variance:
            return False
    expected = (math.sqrt(rows) + math.sqrt(people)) * math.sqrt(centered.variance)
    return bool(0.8 < _stretch(centered) / expected < 1.15)


def _stretch(centered: Centered) -> float:
    """The largest singular value, from below, by the power iteration."""
    vector = np.random.default_rng(1).normal(size=centered.matrix.shape[1])
    for _ in range(STEPS):
        vector = centered.back(centered.times(vector / np.linalg.norm(vector)))
    return float(np.sqrt(np.linalg.norm(vector)))
