"""Is this person among those whose means were published? A score for each person, larger for people who are in.

A mean of n people moves by (x - p) / n toward somebody who is in, x being what is known of this person and p what is
usual. In one attribute that is lost in the chance that the others bring; over d of them it adds up, and the scores of
people in and out lie sqrt(d / n) standard deviations apart.

* "likelihood": the logarithm of the chance of the published means if the person is in, over that if not. Best possible
  where its model is right (Neyman and Pearson). For exact counts of yes or no it is
  sum x log(q / p) + (1 - x) log((1 - q) / (1 - p)), as c of n with this person is c - x of n - 1 without; if p is known
  from N other people only, p in it becomes the frequency of those N and the n together (ratio of two beta-binomials).
  With noise, whitening or numbers: normal laws with the variance v / n + noise^2.
* "inner product": <x - p, q - p>, each attribute divided by the same variance. Needs no model.
* "Homer": sum |x - p| - |x - q| (Homer et al. 2008): is the person nearer to the study or to everybody else?
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from privet.errors import InvalidInputError
from privet.stats.whitening import Weights, whitened
from privet.typing import Floats

Kind = Literal["yes or no", "genotypes", "numbers"]
Test = Literal["likelihood", "inner product", "Homer"]
TESTS: tuple[Test, ...] = ("likelihood", "inner product", "Homer")
RATE = 0.01  # false alarms at which people count as found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublishedMeans:
    """Of each attribute the mean, of how many people, and the standard deviation of the noise in it."""

    means: Floats
    sizes: Floats
    noise: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Population:
    """What is usual: mean and standard deviation of each attribute, from so many reference people (infinity: known).
    `sample` are those people in these units, for whitening; a missing value is 0, which says nothing."""

    kind: Kind
    means: Floats
    deviations: Floats
    people: float
    sample: Floats | None = None

    @property
    def top(self) -> int:
        """The largest value, where there is one."""
        return 2 if self.kind == "genotypes" else 1

    def units(self, rows: Floats) -> Floats:
        """Rows of people, in standard deviations from the mean; 0 where missing."""
        return np.nan_to_num((rows - self.means) / self.deviations)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LikelihoodModel:
    """A test that is ready to score people."""

    published: PublishedMeans
    population: Population
    test: Test
    weights: Weights
    whitened: bool

    @property
    def size(self) -> float:
        return float(self.published.sizes.mean())

    def scores(self, people: Floats) -> Floats:
        """One for each row of people; missing values are NaN."""
        if self.test == "Homer":
            return _homer(self, people)
        exact = self.population.kind != "numbers" and not self.whitened and not self.published.noise.any()
        if self.test == "likelihood" and exact:
            return _counted(self, people)
        return _normal(self, self.population.units(people))

    def directions(self, units: Floats) -> Floats:
        """What a person's published means are multiplied by: the score is this times (q - p), but for a constant."""
        return np.sign(units) * self.population.deviations if self.test == "Homer" else self.weights.times(units)


def model(published: PublishedMeans, population: Population, test: Test, *, whiten: bool) -> LikelihoodModel:
    """`whiten` needs a sample of the population."""
    noise = (published.noise / population.deviations) ** 2
    share = 1 / published.sizes + 1 / (population.people + 1)
    if whiten and population.sample is not None:
        weights = whitened(population.sample, float(share.mean()), noise)
    else:
        weights = Weights(base=share + noise)
    return LikelihoodModel(published=published, population=population, test=test, weights=weights, whitened=whiten)


def _homer(model: LikelihoodModel, people: Floats) -> Floats:
    near, far = np.abs(people - model.published.means), np.abs(people - model.population.means)
    return np.asarray(np.nansum(far - near, axis=1))


def _counted(model: LikelihoodModel, people: Floats) -> Floats:
    """Genotypes are two draws each. A person with something that nobody in the study has cannot be in; a quarter of a
    person has it instead, since files have mistakes."""
    top, population = model.population.top, model.population
    draws = top * model.published.sizes
    share = np.clip(model.published.means / top, 1 / (4 * draws), 1 - 1 / (4 * draws))
    usual = population.means / top
    if math.isfinite(population.people):
        known = top * population.people
        usual = (known * usual + 0.5 + draws * share) / (known + 1 + draws)
    yes, no = np.log(share / usual), np.log((1 - share) / (1 - usual))
    return np.asarray(np.nan_to_num(people) @ yes + np.nan_to_num(top - people) @ no)


def _normal(model: LikelihoodModel, units: Floats) -> Floats:
    """With p unknown but for N reference people and the person, whose mean p~ is (N p^ + x) / (N + 1), the published q
    is normal around p~, or around p~ + (x - p~) / n for somebody who is in, with covariance V / n + V / (N + 1) + noise
    in both cases up to a share of 1 / n. So the log ratio is
    (x - p~)' W (q - p~ - (x - p~) / 2n) / n, where x - p~ = (x - p^) N / (N + 1), q - p~ = q - p^ - (x - p^) / (N + 1).
    """
    count = model.population.people
    near = 1.0 if math.isinf(count) else count / (count + 1)
    turned = model.weights.times(units)
    moved = (model.published.means - model.population.means) / model.population.deviations
    if model.test == "inner product":
        return np.asarray(turned @ moved)
    own = np.einsum("ij,ij->i", turned, units) * (1 - near + near / (2 * model.size))
    return np.asarray((turned @ moved - own) * near / model.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a test should reach, before it is run. Scores of people in are higher by `shift`, and vary with variances
    `inside` and `outside`. `attributes`: how many independent ones would tell as much."""

    shift: float
    inside: float
    outside: float
    attributes: float

    @property
    def apart(self) -> float:
        """Standard deviations between people in and out."""
        return self.shift / math.sqrt((self.inside + self.outside) / 2)

    @property
    def auc(self) -> float:
        return NormalDist().cdf(self.apart / math.sqrt(2))

    def found_at(self, rate: float) -> float:
        """Of people who are in, the share above a threshold with this rate of false alarms."""
        normal = NormalDist()
        return normal.cdf((self.shift + normal.inv_cdf(rate) * math.sqrt(self.outside)) / math.sqrt(self.inside))


def expected(model: LikelihoodModel, others: Floats) -> Expected:
    """From people who are neither in the release nor in the reference sample (rows of units).

    A score is f(x) (q - p), with f linear but for Homer's. For people who are out it varies by chance: q - p is a mean
    of n such people plus noise, so the variance is E[(f(x) y)^2] / n + noise, with x and y two of the others. For
    people who are in, f(x) x / n comes on top. Scores are sums of very many terms, hence normal, and the AUC is the
    chance that one normal variable is above another. With independent attributes that is Phi(sqrt(d / 2n)).
    """
    turned = model.directions(others)
    products = turned @ others.T
    own = np.diagonal(products).copy()
    apart = ~np.eye(len(others), dtype=np.bool_)
    cross = float((products[apart] ** 2).mean())
    if not cross:
        raise InvalidInputError(
            "reference people have nothing in which they differ", "give people who are not all alike", "no-variation"
        )
    noise = float(((turned * (model.published.noise / model.population.deviations)) ** 2).sum(axis=1).mean())
    chance = cross * (1 / model.size + 1 / (model.population.people + 1)) + noise
    uneven = float(own.var()) / model.size**2
    half = model.test == "likelihood"  # half of what comes on top is taken off for everybody
    out, inside = chance + (uneven / 4 if half else 0.0), chance + (uneven / 4 if half else uneven)
    return Expected(
        shift=float(own.mean()) / model.size,
        inside=inside,
        outside=out,
        attributes=min(float(own.mean()) ** 2 / cross, float(others.shape[1])),
    )
