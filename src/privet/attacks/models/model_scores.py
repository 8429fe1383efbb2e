"""Attacks on a model: a score for each candidate, larger for those who were in the training data.

All of them start from the log odds that a model gives the true class of a record. `loss` compares records with each
other (Yeom, Giacomelli, Fredrikson and Jha 2018). The others compare the model with shadow models of which it is known
who is in: `Shokri` learns for each class what members look like (Shokri, Stronati, Song and Shmatikov 2017; here a
logistic regression on the largest odds); `LiRA` is a likelihood ratio of normal laws for each record (Carlini, Chien,
Nasr, Song, Terzis and Tramèr 2022); `RMIA` compares how much likelier a record became with how much likelier other
records did (Zarifzadeh, Liu and Shokri 2024). `offline` uses only shadow models that a record was not in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.attacks.models.outputs import Outputs
from privet.attacks.models.shadows import Told
from privet.typing import Floats, Integers, Truths

PRIOR = 8.0  # a record's own variance weighs as much as that of all records after so many models
LEAST = 1e-3  # a variance of log odds
GAMMA = 2.0  # how much likelier a record has to become than another one
OFFLINE = 0.3  # of the probability out, in what RMIA takes for the probability in
STEPS = 30
FOLDS = 8
RIDGE = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Shadows:
    """What shadow models said, and the class of each candidate, which Shokri's attack goes by."""

    told: Told
    labels: npt.NDArray[Any]


Attack = Callable[[Outputs, Shadows], Floats]


def loss(model: Outputs, _shadows: Shadows) -> Floats:
    return model.odds


def lira(model: Outputs, shadows: Shadows) -> Floats:
    told = shadows.told
    inside, outside = _law(told.odds, told.inside), _law(told.odds, ~told.inside)
    return _log_density(model.odds, *inside) - _log_density(model.odds, *outside)


def lira_offline(model: Outputs, shadows: Shadows) -> Floats:
    mean, variance = _law(shadows.told.odds, ~shadows.told.inside)
    return np.asarray((model.odds - mean) / np.sqrt(variance))


def _law(odds: Floats, which: Truths) -> tuple[Floats, Floats]:
    """Mean and variance of each record over models, for one more model. With few models the variance is mostly that of
    all records; the mean, where no model has the record, too."""
    used = which & np.isfinite(odds)
    seen, values = used.sum(axis=0), np.where(used, odds, 0.0)
    middle = values.sum() / max(int(seen.sum()), 1)
    mean = np.where(seen > 0, values.sum(axis=0) / np.maximum(seen, 1), middle)
    squares = (np.where(used, odds - mean, 0.0) ** 2).sum(axis=0)
    common = squares.sum() / max(int(np.maximum(seen - 1, 0).sum()), 1)
    own = (PRIOR * common + squares) / (PRIOR + np.maximum(seen - 1, 0))
    return mean, np.asarray(np.maximum(own, LEAST) * (1 + 1 / np.maximum(seen, 1)))


def _log_density(odds: Floats, mean: Floats, variance: Floats) -> Floats:
    return np.asarray(-((odds - mean) ** 2) / (2 * variance) - np.log(variance) / 2)


def rmia(model: Outputs, shadows: Shadows) -> Floats:
    told = shadows.told
    usual = (_chance(told.odds, told.inside) + _chance(told.odds, ~told.inside)) / 2
    return _likelier(_sigmoid(model.odds) / usual)


def rmia_offline(model: Outputs, shadows: Shadows) -> Floats:
    out = _chance(shadows.told.odds, ~shadows.told.inside)
    return _likelier(_sigmoid(model.odds) / (((1 + OFFLINE) * out + 1 - OFFLINE) / 2))


def _chance(odds: Floats, which: Truths) -> Floats:
    """Mean probability of the true class over models."""
    used = which & np.isfinite(odds)
    chances = np.where(used, _sigmoid(odds), 0.0)
    middle = chances.sum() / max(int(used.sum()), 1)
    seen = used.sum(axis=0)
    return np.asarray(np.maximum(np.where(seen > 0, chances.sum(axis=0) / np.maximum(seen, 1), middle), 1e-12))


def _likelier(ratio: Floats) -> Floats:
    """The share of candidates than which a record became GAMMA times likelier. Where shares tie the ratio decides,
    without changing their order."""
    known = np.sort(ratio[np.isfinite(ratio)])
    share = np.searchsorted(known, ratio / GAMMA, side="right") / max(len(known), 1)
    return np.asarray(share + ratio / (1 + ratio) / (max(len(known), 1)))


def shokri(model: Outputs, shadows: Shadows) -> Floats:
    """For each class, the log odds of a logistic regression learned on all shadow models."""
    scores = np.full(len(model.odds), np.nan)
    for label in np.unique(shadows.labels):
        own = shadows.labels == label
        told = Outputs(
            shadows.told.odds[:, own].ravel(), shadows.told.top[:, own].reshape(-1, shadows.told.top.shape[2])
        )
        features, inside = _features(told), shadows.told.inside[:, own].ravel()
        known = np.isfinite(features).all(axis=1)
        middle, wide = features[known].mean(axis=0), features[known].std(axis=0) + 1e-9
        weights = _logistic((features[known] - middle) / wide, inside[known])
        mine = (_features(Outputs(model.odds[own], model.top[own])) - middle) / wide
        scores[own] = np.column_stack([np.ones(len(mine)), mine]) @ weights
    return scores


def _features(told: Outputs) -> Floats:
    return np.column_stack([told.odds, _sigmoid(told.odds), told.top])


def _logistic(features: Floats, inside: Truths) -> Floats:
    """Newton's steps on the regularized log likelihood."""
    design = np.column_stack([np.ones(len(features)), features])
    weights = np.zeros(design.shape[1])
    for _ in range(STEPS):
        chance = _sigmoid(design @ weights)
        slope = design.T @ (inside - chance) - RIDGE * weights
        bend = (design * (chance * (1 - chance))[:, None]).T @ design + RIDGE * np.eye(len(weights))
        step = np.linalg.solve(bend, slope)
        weights = weights + step / max(1.0, float(np.abs(step).max()))
        if float(np.abs(step).max()) < 1e-8:
            break
    return weights


def _sigmoid(odds: Floats) -> Floats:
    return np.asarray(0.5 + 0.5 * np.tanh(odds / 2))


ATTACKS: dict[str, Attack] = {
    "loss": loss,
    "Shokri": shokri,
    "LiRA": lira,
    "LiRA offline": lira_offline,
    "RMIA": rmia,
    "RMIA offline": rmia_offline,
}


def scores_of(attack: Attack, model: Outputs, shadows: Shadows) -> Floats:
    """Of everybody. Of whom the model said nothing, nothing is known: they come last."""
    scores = attack(model, shadows)
    known = np.isfinite(scores) & np.isfinite(model.odds)
    last = float(scores[known].min()) - 1 if known.any() else 0.0
    return np.asarray(np.where(known, scores, last))


def folds(told: Told) -> Iterator[tuple[Integers, Told]]:
    """The places of some shadow models, and the other models, until each of them had its turn."""
    fold = np.arange(len(told)) % FOLDS
    for one in np.unique(fold):
        yield np.flatnonzero(fold == one), told.chosen(fold != one)


def left_out(attack: Attack, shadows: Shadows) -> Floats:
    """The scores of each shadow model as if it were under attack by those of other folds: a row each."""
    told, scores = shadows.told, np.empty(shadows.told.odds.shape)
    for places, others in folds(told):
        for place in places:
            scores[place] = scores_of(attack, told.model(int(place)), Shadows(others, shadows.labels))
    return scores


def surprise(odds: Floats, inside: Truths, told: Told) -> float:
    """By how many standard deviations a model is off what is usual for each record, on average."""
    laws = zip(_law(told.odds, told.inside), _law(told.odds, ~told.inside), strict=True)
    mean, variance = (np.where(inside, had, had_not) for had, had_not in laws)
    off = np.abs(odds - mean) / np.sqrt(variance)
    known = off[np.isfinite(off)]
    return float(known.mean()) if len(known) else 0.0
