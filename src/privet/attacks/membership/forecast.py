"""What a membership test should reach on a release, before anybody who is asked about is scored.

People who are known to be out are scored twice by the very test that is used: against the published means, as they are,
and against the means as they would be if this person had been in, in the place of an average member. So the forecast
has in it whatever the test does: frequencies that come from few reference people, weights, whitening, noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from privet.attacks.membership.likelihoods import LikelihoodModel
from privet.errors import InvalidInputError
from privet.stats.intervals import Interval
from privet.typing import Floats

MANY = 100  # people from whom on pairs are counted; scores of fewer are taken as normal
CELLS = 2**22  # of people and attributes at a time
DRAWS = 4000
PROBES = 200  # draws of noise alone
# Standard deviations of what normal noise does that no noise gives by chance. It is a sum of squares of the noise: of
# Laplace noise it deviates 1.6 times as much and is skewed, so that 6 came up once in a thousand releases; 12 in 1e-6.
CLEAR = 12
SALT = 0x666F7265  # other draws than those of anybody's data
ENDS = (2.5, 97.5)  # percent
TINY = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """How far apart people in and out should be in standard deviations, and how many independent attributes would tell
    as much."""

    apart: float
    attributes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Scores of people in are higher by `shift`, and vary with variances `inside` and `outside`. `auc` is the forecast
    with the interval in which the AUC of the people asked about will be, with 95 %. `attributes`: see Separation."""

    shift: float
    inside: float
    outside: float
    attributes: float
    auc: Interval

    def found_at(self, rate: float) -> float:
        """Of people who are in, the share above a threshold with this rate of false alarms."""
        normal = NormalDist()
        return normal.cdf((self.shift + normal.inv_cdf(rate) * math.sqrt(self.outside)) / math.sqrt(self.inside))


def expected(model: LikelihoodModel, others: Floats, asked: tuple[int, int]) -> Expected:
    """From people who are neither in the release nor in the reference sample. `asked`: how many people who are in and
    how many who are out the result will be about."""
    out, inside = model.scores(others), _as_members(model, others)
    gain = inside - out
    attributes = separation(model, model.population.units(others)).attributes
    spread = max(float(out.var(ddof=1)), TINY), max(float(inside.var(ddof=1)), TINY)
    shift, error = float(gain.mean()), float(gain.std(ddof=1)) / math.sqrt(len(gain))
    apart = shift / math.sqrt(sum(spread) / 2)
    free = len(out) - 1
    apart *= max(1 - 3 / (4 * free), 0.25)  # one over a deviation of few is too large on average
    unsure = math.hypot(error / abs(shift) if shift else 0.0, math.sqrt(2 / attributes))
    auc = _normal(apart, unsure, free, asked)
    if len(out) >= MANY:
        auc = _wider(auc, _counted(inside, out, asked))
    return Expected(shift=shift, inside=spread[1], outside=spread[0], attributes=attributes, auc=auc)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """`ahead`: by how many standard deviations people who are out, but like the members, score higher than others.
    `shown`: whether that is more than noise in the means gives by chance."""

    ahead: float
    shown: bool


def lead(model: LikelihoodModel, others: Floats) -> Lead:
    """By how many standard deviations people who are out, but like the members, score higher than `others`: 0 if those
    are like the members, too.

    The mean score of the members is known, as a score is linear in what a person has (but for a part that does not
    depend on the means, taken from `others`): it is that of the published means. By as much as it is above what
    `others` would have as members, study and reference differ in more than who is in. Noise in the means adds to it: of
    that, its mean and one standard deviation are taken off, so that claims are careful. That study and reference differ
    is only said where the lead is beyond CLEAR standard deviations of it.
    """
    if model.test == "Homer":  # not linear
        model = replace(model, test="inner product")
    out, means = model.scores(others), model.published.means[None, :]
    gain = _as_members(model, others) - out
    usual = model.population.means[None, :]
    members = float(_linear(model, means)[0]) + float(model.scores(others, usual).mean())
    above = members - float(out.mean() + gain.mean())
    usual_noise, chance = _of_noise(model)
    ahead = max(above - usual_noise - chance, 0.0) / max(float(out.std(ddof=1)), TINY)
    return Lead(ahead=ahead, shown=above > usual_noise + CLEAR * chance)


def _linear(model: LikelihoodModel, means: Floats) -> Floats:
    """The scores of rows of means against themselves, less what does not depend on them."""
    return model.scores(means, means) - model.scores(means, np.broadcast_to(model.population.means, means.shape))


def _of_noise(model: LikelihoodModel) -> tuple[float, float]:
    """What noise alone gives: its mean and standard deviation."""
    if not model.published.noise.any():
        return 0.0, 0.0
    draw = np.random.default_rng(SALT)
    noise = draw.normal(size=(PROBES, len(model.published.noise))) * model.published.noise
    found = _linear(model, model.population.means + noise)
    return float(found.mean()), float(found.std(ddof=1))


def _as_members(model: LikelihoodModel, others: Floats) -> Floats:
    """Scores of these people, each against means with this person in the place of an average member."""
    means, sizes = model.published.means, model.published.sizes
    step = max(CELLS // len(means), 1)
    parts = [others[start : start + step] for start in range(0, len(others), step)]
    return np.concatenate([model.scores(part, means + np.nan_to_num(part - means) / sizes) for part in parts])


def _normal(apart: float, unsure: float, free: int, asked: tuple[int, int]) -> Interval:
    """The AUC of two normal laws that lie `apart`, where the shift is `unsure` by this share, and the deviation comes
    from `free` degrees of freedom."""
    draw = np.random.default_rng(SALT)
    deviation = np.sqrt(draw.chisquare(free, DRAWS) / free)
    shifts = apart * deviation * np.maximum(1 + unsure * draw.normal(size=DRAWS), 0)
    cdf = np.frompyfunc(NormalDist().cdf, 1, 1)
    true = np.asarray(cdf(shifts / math.sqrt(2)), np.float64)
    seen = true + _error(true, asked) * draw.normal(size=DRAWS)
    low, high = np.clip(np.percentile(seen, ENDS), 0, 1)
    value = NormalDist().cdf(apart / math.sqrt(2))
    return Interval(value, min(float(low), value), max(float(high), value))


def _counted(inside: Floats, out: Floats, asked: tuple[int, int]) -> Interval:
    """The share of pairs of two people in which the one who is in scores higher. The two scores of a person vary
    together, so the error is that of what each person adds to both sides."""
    count = len(out)
    order, back = np.sort(out), np.sort(inside)
    higher = (np.searchsorted(order, inside, "left") + np.searchsorted(order, inside, "right")) / 2 - _beats(
        inside, out
    )
    lower = count - (np.searchsorted(back, out, "left") + np.searchsorted(back, out, "right")) / 2 - _beats(inside, out)
    value = float(higher.sum()) / (count * (count - 1))
    each = (higher + lower) / (count - 1) - 2 * value
    error = math.hypot(float(each.std(ddof=1)) / math.sqrt(count), float(_error(np.array([value]), asked)[0]))
    wide = NormalDist().inv_cdf(ENDS[1] / 100) * error
    return Interval(value, max(value - wide, 0.0), min(value + wide, 1.0))


def _beats(inside: Floats, out: Floats) -> Floats:
    """Of a person against themselves, who are no pair."""
    return np.asarray((inside > out) + (inside == out) / 2, np.float64)


def _error(auc: Floats, asked: tuple[int, int]) -> Floats:
    """Standard errors of the AUC of so many people in and out (Hanley and McNeil 1982)."""
    inside, out = max(asked[0], 1), max(asked[1], 1)
    square = auc**2
    two_in, two_out = auc / (2 - auc) - square, 2 * square / (1 + auc) - square
    variance = (auc * (1 - auc) + (inside - 1) * two_in + (out - 1) * two_out) / (inside * out)
    return np.sqrt(np.maximum(variance, 0))


def _wider(one: Interval, other: Interval) -> Interval:
    """The second value, with the ends of both."""
    return Interval(other.value, min(one.low, other.low), max(one.high, other.high))


def separation(model: LikelihoodModel, others: Floats) -> Separation:
    """By a formula, to choose between weights: from rows of units of people who are out.

    A score is f(x) (q - p), with f linear but for Homer's. For people who are out it varies by chance: q - p is a mean
    of n such people less that of N others, plus noise, so the variance is E[(f(x) y)^2] (1 / n + 1 / N) + noise,
    with x and y two people around their mean, here differences of people: the mean of few reference people is off, and
    everybody shares that. For people who are in, f(x) x / n comes on top.
    """
    turned = model.directions(others)
    own = np.einsum("ij,ij->i", turned, others)
    cross = _cross(turned, others)
    if not cross:
        raise InvalidInputError(
            "reference people have nothing in which they differ", "give people who are not all alike", "no-variation"
        )
    noise = float(((turned * (model.published.noise / model.population.deviations)) ** 2).sum(axis=1).mean())
    chance = cross * (1 / model.size + 1 / (model.population.people + 1)) + noise
    uneven = float(own.var()) / model.size**2
    half = model.test == "likelihood"  # half of what comes on top is taken off for everybody
    spread = chance + (uneven / 4 if half else uneven / 2)
    return Separation(
        apart=float(own.mean()) / model.size / math.sqrt(spread),
        attributes=min(float(own.mean()) ** 2 / cross, float(others.shape[1])),
    )


def _cross(turned: Floats, others: Floats) -> float:
    """The mean square of f(x) y over two different people: around their means, if four people or more differ enough."""
    half = len(others) // 2
    around = 0.0
    if half >= 2:
        first, second = ((rows[:half] - rows[half : 2 * half]) / math.sqrt(2) for rows in (turned, others))
        around = _off_diagonal(first @ second.T)
    return around or _off_diagonal(turned @ others.T)


def _off_diagonal(products: Floats) -> float:
    return float((products[~np.eye(len(products), dtype=np.bool_)] ** 2).mean())
