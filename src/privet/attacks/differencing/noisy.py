"""Noisy answers: the best unbiased estimate of each person, how sure a guess is, and what epsilon allows at most.

An estimate adds up answers with weights so that everybody else cancels out, with the smallest variance there is. Its
noise has a known law: normal exactly, Laplace by averaging over the other noises with a fixed seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.attacks.differencing.determined import AlikeClasses
from privet.attacks.differencing.queries import Queries
from privet.attacks.promise import Privacy
from privet.typing import Floats

DRAWS = 20_000
CERTAINTY = 0.95
CLOSE = 1e-8
NEVER_SURE = 1e-9  # noise is no proof, however small


@dataclass(frozen=True, slots=True)
class Law:
    """Of the noise in an estimate: independent Laplace noises with these scales, and normal noise."""

    laplace: tuple[float, ...]
    normal: float

    @property
    def sd(self) -> float:
        return float(np.sqrt(self.normal**2 + 2 * sum(scale**2 for scale in self.laplace)))

    def density(self, values: Floats) -> Floats:
        """Up to a constant. The widest Laplace noise is taken exactly, the others are drawn with a fixed seed: the
        ratio of two densities never exceeds what the widest noise alone allows."""
        if not self.laplace:
            squares = (values / self.normal) ** 2
            return np.asarray(np.exp(0.5 * (squares.min() - squares)))
        widest = max(self.laplace)
        distances = np.abs(values[:, None] - self._drawn(skip=widest)) / widest
        nearest = distances.min()  # the same for all values, so that nothing vanishes
        return np.asarray(np.exp(nearest - distances).mean(axis=1))

    def halfwidth(self) -> float:
        """The noise lies within this of 0 with probability 95 %."""
        if not self.laplace:
            return 1.959964 * self.normal
        return float(np.quantile(np.abs(self._drawn(skip=None)), CERTAINTY))

    def _drawn(self, skip: float | None) -> Floats:
        chance = np.random.default_rng(0)
        rest = list(self.laplace)
        if skip is not None:
            rest.remove(skip)
        total = chance.normal(0, self.normal, DRAWS) if self.normal else np.zeros(DRAWS)
        for scale in rest:
            total = total + chance.laplace(0, scale, DRAWS)
        return total if rest or self.normal else total[:1]


@dataclass(frozen=True, slots=True)
class NoisyEstimate:
    """Of the secret of one person, in the secret's own units. `rows` are the queries used."""

    value: float
    law: Law
    rows: tuple[int, ...]


def estimates(queries: Queries, classes: AlikeClasses, known: Mapping[int, int]) -> dict[int, NoisyEstimate]:
    """By class, for those of one person of whom an unbiased estimate exists. `known` are sums of classes in steps."""
    noisy = [row for row, query in enumerate(queries.queries) if query.noise is not None]
    if not noisy:
        return {}
    fixed, sums = _fixed(queries, classes, known)
    factors = np.array([_factor(queries, row) for row in noisy])
    deviations = factors * np.array([_deviation(queries, row) for row in noisy])
    free = _null_space(fixed)  # what the exact answers leave open
    scaled = (classes.matrix[noisy] @ free) / deviations[:, None]
    inverse = np.linalg.pinv(scaled, rcond=1e-10)
    answers = factors * np.array([float(queries.queries[row].value.low or 0) for row in noisy])
    found = {}
    for column in range(classes.control + 1):
        wanted = free[column]
        if classes.sizes[column] > 1 or column in known or not _reached(wanted, inverse, scaled):
            continue
        weights = (wanted @ inverse) / deviations
        weights[np.abs(weights) < CLOSE * np.abs(weights).max()] = 0
        rest = np.eye(len(free))[column] - weights @ classes.matrix[noisy]
        others = np.linalg.lstsq(fixed.T, rest, rcond=None)[0]
        exact = [classes.places[at] for at in np.flatnonzero(np.abs(others) > CLOSE) if at < len(classes.places)]
        used = [noisy[at] for at in np.flatnonzero(weights)]
        found[column] = NoisyEstimate(
            float(weights @ answers + others @ sums), _law(queries, noisy, weights * factors), tuple(exact + used)
        )
    return found


def _reached(wanted: Floats, inverse: Floats, scaled: Floats) -> bool:
    return bool(np.abs(wanted).max(initial=0) > CLOSE) and bool(
        np.allclose(wanted @ inverse @ scaled, wanted, atol=CLOSE)
    )


def _fixed(queries: Queries, classes: AlikeClasses, known: Mapping[int, int]) -> tuple[Floats, Floats]:
    """Exact equations and their sums in the secret's units. A rounded answer says nothing here: its row is 0."""
    rows, sums = [], []
    for place in classes.places:
        query = queries.queries[place]
        exact = query.value.low is not None and query.value.low == query.value.high
        rows.append(classes.matrix[place] * float(exact))
        sums.append(float(query.value.low or 0) * _factor(queries, place) * exact)
    for column, steps in known.items():
        rows.append(np.eye(len(classes.sizes))[column])
        sums.append(float(classes.sizes[column] * queries.secret.low + steps * queries.secret.step))
    return np.array(rows, dtype=float).reshape(-1, len(classes.sizes)), np.array(sums)


def _null_space(matrix: Floats) -> Floats:
    if not len(matrix):
        return np.eye(matrix.shape[1])
    _, sizes, directions = np.linalg.svd(matrix, full_matrices=True)
    rank = int((sizes > 1e-10 * max(sizes.max(), 1)).sum())
    return np.asarray(directions[rank:].T)


def _factor(queries: Queries, row: int) -> float:
    """From the published number to a sum."""
    query = queries.queries[row]
    return float(queries.size(query)) if query.measure == "mean" else 1.0


def _deviation(queries: Queries, row: int) -> float:
    noise = queries.queries[row].noise
    assert noise is not None  # noqa: S101
    return float(noise.scale) * (1.0 if noise.law == "normal" else 2**0.5)


def _law(queries: Queries, noisy: list[int], weights: Floats) -> Law:
    laplace, normal = [], 0.0
    for row, weight in zip(noisy, np.abs(weights), strict=True):
        noise = queries.queries[row].noise
        assert noise is not None  # noqa: S101
        if noise.law == "normal":
            normal += float(weight * float(noise.scale)) ** 2
        elif weight:
            laplace.append(float(weight * float(noise.scale)))
    return Law(tuple(laplace), float(np.sqrt(normal)))


def has_it(estimate: NoisyEstimate, rate: Fraction) -> float:
    """The probability that the secret is 1 and not 0, for somebody of whom that share was to be expected."""
    zero, one = estimate.law.density(np.array([estimate.value, estimate.value - 1]))
    share = float(rate)
    chance = float(share * one / (share * one + (1 - share) * zero))
    return min(max(chance, NEVER_SURE), 1 - NEVER_SURE)


def ceiling(prior: Fraction, privacy: Privacy | None) -> float:
    """The most that anybody can come to believe who believed `prior`, by the promise; 1 without one, or with a delta:
    then there is no such bound."""
    if privacy is None or privacy.delta:
        return 1.0
    from privet.interpret import meaning  # noqa: PLC0415

    said = meaning(
        epsilon=privacy.epsilon, prior=prior, neighbors=privacy.neighbors, about="value", groups=()
    ).posterior
    assert said is not None  # noqa: S101  there is a prior and no delta
    return float(said.high)


def pooled_rate(queries: Queries) -> Fraction:
    """The share of people who have it, by all answers together, never quite 0 or 1."""
    if queries.secret.rate is not None:
        return queries.secret.rate
    total = sum((_middle(queries, row) for row in range(len(queries.queries))), Fraction(0))
    asked = sum(queries.size(query) for query in queries.queries)
    people = sum(queries.people.values())
    edge = Fraction(1, people + 2)
    return min(max(total / asked if asked else Fraction(1, 2), edge), 1 - edge)


def _middle(queries: Queries, row: int) -> Fraction:
    query = queries.queries[row]
    size = queries.size(query)
    factor = size if query.measure == "mean" else 1
    low = Fraction(0) if query.value.low is None else query.value.low * factor
    high = Fraction(size) if query.value.high is None else query.value.high * factor
    return (low + high) / 2
