"""Releases of an owner's own data with Privet's own noise, again and again, and an attack on each.

Values are whole steps from 0 to `tops`; a release has the sums over the people in it. One person moves sum j by at most
tops[j], whether somebody else comes instead or the person is added or removed: so the noise is the same for both, and
the two differ in what it promises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privet.attacks.proofs.work import STOPPED
from privet.core.accountant import Budget
from privet.core.claim import claim
from privet.core.laws import DiscreteLaplace, Law
from privet.core.mechanisms import gaussian_for_rho, laplace_for
from privet.errors import InvalidInputError
from privet.interpret import group_delta
from privet.noise.fast import sampler
from privet.stats.binomial import share
from privet.stats.intervals import Interval
from privet.stats.roc import roc
from privet.typing import Floats, Integers

Steps = npt.NDArray[np.int64]
Price = tuple[Fraction, Fraction]
Progress = Callable[[str, int, int], object]
POOL = 600  # people who may be in a release or not; the others are in all of them
REFERENCE = 20_000  # people at most whose records the attacker has
WATCHED = 100  # people inside a release who are tested, and as many outside
MOST_PEOPLE = 200  # in a release of subset sums
ANSWERS = 2  # subset sums a person
TINY = 1e-9
FEWEST_RUNS = 40
UP = 1 + 1e-12  # bounds are rounded up
BEYOND = 2.0  # standard deviations of a mean over runs, either side


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeakValues:
    """People x columns, in whole steps from 0 to the top of each."""

    names: tuple[str, ...]
    steps: Steps
    tops: tuple[int, ...]
    people: int


def law_for(price: Price, tops: tuple[int, ...]) -> Law:
    """Laplace for a pure epsilon, with the sum of tops; Gaussian with a delta, with the sum of their squares."""
    epsilon, delta = price
    if not delta:
        return laplace_for(epsilon, sum(tops))
    return gaussian_for_rho(Budget(epsilon, delta).rho, sum(top**2 for top in tops))


def deviation(law: Law | None) -> float:
    """The standard deviation; of the discrete Gaussian it is sigma, which is a little more."""
    if law is None:
        return 0.0
    if isinstance(law, DiscreteLaplace):
        return 1 / (math.sqrt(2) * math.sinh(min(0.5 / float(law.scale), 700.0)))
    return math.sqrt(law.variance)


@claim("area-limit")
def most_auc(price: Price, steps: int) -> float:
    """The area under the trade-off curve, which is made of straight lines between corners. No test has a larger AUC:
    its ROC lies under the curve, and that of a mixture of people as well, since the curve is concave."""
    (zero, low), (meeting, high), (full, top), (one, _) = _corners(price, steps)
    area = (meeting - zero) * (low + high) / 2 + (full - meeting) * (high + top) / 2 + (one - full)
    return min(1.0, area * UP)


def most_right(price: Price, steps: int, rate: float) -> float:
    """No guess of a yes or no, of which a share `rate` is yes, is right more often: a guess is a test, right for
    rate x TPR + (1 - rate)(1 - FPR), which is largest at a corner of the trade-off curve."""
    found = [rate * height + (1 - rate) * (1 - alarms) for alarms, height in _corners(price, steps)]
    return min(1.0, max(found) * UP)


def _corners(price: Price, steps: int) -> list[tuple[float, float]]:
    """Of the curve min(1, e^epsilon a + delta, 1 - e^-epsilon (1 - a - delta)): its two lines meet at
    m = (1 - delta) / (1 + e^epsilon), where both are 1 - m. `steps`: neighbors in a row."""
    epsilon, delta = float(steps * price[0]), float(group_delta(steps, *price))
    meeting = (1 - delta) / (1 + math.exp(min(epsilon, 700.0)))
    return [(0.0, delta), (meeting, 1 - meeting), (1 - delta, 1.0), (1.0, 1.0)]


def membership(
    values: LeakValues, laws: list[Law | None], runs: int, seed: int, progress: Progress | None
) -> tuple[list[Interval], int]:
    """The AUC at each law, and by how many runs. Some people are the attacker's reference. Of the others each run
    publishes the sums of all but a third of the pool, which is everybody if they are few: who of the pool is in is
    drawn anew."""
    random = np.random.default_rng((seed, 1))  # other draws than those of made people
    people = values.steps[random.permutation(values.people)]
    known, rest = people[: reference(values)].astype(np.float64), people[reference(values) :]
    pool, inside = rest[:POOL], members(values)
    left_out = len(rest) - inside
    always, watched = rest[POOL:].sum(axis=0), min(WATCHED, left_out)
    attacks = [_Test(known, inside, deviation(law)) for law in laws]
    scores: list[list[Floats]] = [[] for _ in laws]
    for _ in _until_stopped(runs, progress):
        drawn = pool[random.permutation(len(pool))]
        sums = always + drawn[left_out:].sum(axis=0)
        tested = np.concatenate([drawn[-watched:], drawn[:watched]]).astype(np.float64)
        for law, attack, found in zip(laws, attacks, scores, strict=True):
            found.append(attack.scores((sums + _noise(law, len(sums))) / inside, tested))
    names = np.repeat(np.arange(len(scores[0])), watched)
    tables = [np.stack(found) for found in scores]
    areas = [roc(table[:, :watched].ravel(), table[:, watched:].ravel(), runs=(names, names)).auc for table in tables]
    return areas, len(scores[0])


def _until_stopped(runs: int, progress: Progress | None) -> Iterator[None]:
    """One step for each run. Whoever stops the attack has fewer, but enough for an interval."""
    for run in range(runs):
        if STOPPED.is_set():
            if run < FEWEST_RUNS:
                raise InvalidInputError(f"stopped after {run} runs", f"let it make {FEWEST_RUNS} or more", "stopped")
            return
        if progress is not None:
            progress("attacking releases", run, runs)
        yield


def reference(values: LeakValues) -> int:
    """How many people the attacker knows besides."""
    return min(values.people // 4, REFERENCE)


def members(values: LeakValues) -> int:
    """How many people a release of the membership game has."""
    rest = values.people - reference(values)
    pool = min(rest, POOL)
    return rest - pool + 2 * pool // 3


class _Test:
    """The log likelihood ratio of normal means with the person's share in them to those without, up to terms of the
    order of 1/n. Attributes depend on each other as they do in the reference, if that has many people for each."""

    def __init__(self, known: Floats, people: int, noise: float) -> None:
        self._middle, self._people = known.mean(axis=0), people
        spread = np.atleast_2d(np.cov(known, rowvar=False))
        alone = np.diag(np.diag(spread))
        seen = len(known) / (len(known) + len(spread))  # the rest is as if attributes were independent
        law = (seen * spread + (1 - seen) * alone) * (1 / people + 1 / len(known))
        law += np.eye(len(law)) * (noise / people) ** 2
        self._weights = np.linalg.pinv(law, rcond=TINY, hermitian=True)  # a column may be constant

    def scores(self, means: Floats, people: Floats) -> Floats:
        moved = (people - self._middle) / self._people
        weighted = moved @ self._weights
        return np.asarray(weighted @ (means - self._middle) - (weighted * moved).sum(axis=1) / 2)


def subsets(
    values: LeakValues, laws: list[Law | None], runs: int, seed: int, progress: Progress | None
) -> tuple[list[Interval], int]:
    """The share of secrets that is right, and by how many runs: each publishes sums of the secret over random halves of
    some people, and the best linear decoder guesses everybody's."""
    random = np.random.default_rng((seed, 2))
    people = min(values.people, MOST_PEOPLE)
    secrets, rate = values.steps[:, 0], float(values.steps[:, 0].mean())
    right: list[list[int]] = [[] for _ in laws]
    for _ in _until_stopped(runs, progress):
        some = secrets[random.choice(values.people, people, replace=False)]
        rows = random.integers(0, 2, (ANSWERS * people, people))
        sums = rows @ some
        left, sizes, across = np.linalg.svd(rows.astype(np.float64), full_matrices=False)
        for law, found in zip(laws, right, strict=True):
            answers = sums + _noise(law, len(sums))
            weights = sizes / (sizes**2 + deviation(law) ** 2 / max(rate * (1 - rate), 1e-9) + 1e-9)
            guess = rate + across.T @ (weights * (left.T @ (answers - rate * rows.sum(axis=1))))
            found.append(int(((guess > 0.5) == some).sum()))
    return [_share(np.array(found), people) for found in right], len(right[0])


def subset_tops(values: LeakValues) -> tuple[int, ...]:
    """A person may be in every subset."""
    return (1,) * (ANSWERS * min(values.people, MOST_PEOPLE))


def _share(right: Integers, people: int) -> Interval:
    """By people as if they were independent, and by runs; the wider one."""
    exact = share(int(right.sum()), len(right) * people)
    width = BEYOND * float(right.std(ddof=1)) / people / math.sqrt(len(right))
    value = exact.value
    return Interval(value, max(0.0, min(exact.low, value - width)), min(1.0, max(exact.high, value + width)))


def _noise(law: Law | None, size: int) -> Steps:
    return np.zeros(size, np.int64) if law is None else sampler(law).draw(size)
