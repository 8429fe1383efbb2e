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
from typing import Literal

import numpy as np

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

    def scores(self, people: Floats, means: Floats | None = None) -> Floats:
        """One for each row of people; missing values are NaN. `means`: instead of the published ones, a row of them for
        each person."""
        against = self.published.means[None, :] if means is None else means
        if self.test == "Homer":
            return _homer(self, people, against)
        exact = self.population.kind != "numbers" and not self.whitened and not self.published.noise.any()
        if self.test == "likelihood" and exact:
            return _counted(self, people, against)
        return _normal(self, self.population.units(people), against)

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


def _homer(model: LikelihoodModel, people: Floats, means: Floats) -> Floats:
    near, far = np.abs(people - means), np.abs(people - model.population.means)
    return np.asarray(np.nansum(far - near, axis=1))


def _counted(model: LikelihoodModel, people: Floats, means: Floats) -> Floats:
    """Genotypes are two draws each. A person with something that nobody in the study has cannot be in; a quarter of a
    person has it instead, since files have mistakes."""
    top, population = model.population.top, model.population
    draws = top * model.published.sizes
    share = np.clip(means / top, 1 / (4 * draws), 1 - 1 / (4 * draws))
    usual = population.means / top
    if math.isfinite(population.people):
        known = top * population.people
        usual = (known * usual + 0.5 + draws * share) / (known + 1 + draws)
    yes, no = np.log(share / usual), np.log((1 - share) / (1 - usual))
    return _times(np.nan_to_num(people), yes) + _times(np.nan_to_num(top - people), no)


def _times(rows: Floats, others: Floats) -> Floats:
    """Of each row its product with the row of others, or with the only one there is."""
    return np.asarray(rows @ others[0] if len(others) == 1 else np.einsum("ij,ij->i", rows, others))


def _normal(model: LikelihoodModel, units: Floats, means: Floats) -> Floats:
    """With p unknown but for N reference people and the person, whose mean p~ is (N p^ + x) / (N + 1), the published q
    is normal around p~, or around p~ + (x - p~) / n for somebody who is in, with covariance V / n + V / (N + 1) + noise
    in both cases up to a share of 1 / n. So the log ratio is
    (x - p~)' W (q - p~ - (x - p~) / 2n) / n, where x - p~ = (x - p^) N / (N + 1), q - p~ = q - p^ - (x - p^) / (N + 1).
    """
    count = model.population.people
    near = 1.0 if math.isinf(count) else count / (count + 1)
    turned = model.weights.times(units)
    moved = (means - model.population.means) / model.population.deviations
    if model.test == "inner product":
        return _times(turned, moved)
    own = np.einsum("ij,ij->i", turned, units) * (1 - near + near / (2 * model.size))
    return np.asarray((_times(turned, moved) - own) * near / model.size)
