"""How sure is the model of a record, compared with records like it that it was not trained on? No shadow models needed.

On people who were not in the training data a ridge regression learns the log odds that the model gives the true class,
from the columns, the class, and the columns within each class; a second one learns how far they are off. The score is
by how many standard deviations a record is above what is usual for records like it: a high quantile of its own law, as
in the quantile regression of Bertran, Tang, Roth, Kearns, Morgenstern and Wu (2023), here with normal laws.

Nobody is scored by a regression that saw somebody of the same fold. A slot, with a member and somebody who was not in
the data, lies in one fold, so both of them are scored by the same regression, which saw neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.attacks.models.measured import differ
from privet.attacks.models.model_scores import Attack
from privet.attacks.models.shadows import Pool
from privet.stats.roc import roc
from privet.typing import Floats, Integers, Truths

NAME = "quantile regression"
FOLDS = 8
LEARNERS = 1000  # people to learn from, at most: the work grows with their third power
COMMON, LEVEL = 0.25, 10.0  # prior variances of what all classes share and of a constant; of what a class has: 1
MEAN, SPREAD = 1.0, 30.0  # ridges: squares of errors are noisier than log odds
LEAST = 0.01  # of the mean squared error, added to each: a logarithm of nearly 0 would outweigh all others
TINY = 1e-12
ROUNDING = 1e-9  # of the largest number of a column: it is a constant if it varies by less
VALUES = 50  # of a column of texts, the most frequent ones


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """All candidates, members first: columns as numbers, so that the product of two rows is near 1 or below, and the
    place of the class of each. `alike`: prior covariances of those in the first slots."""

    columns: Floats
    classes: Integers
    alike: Floats

    @property
    def slots(self) -> int:
        return len(self.classes) // 2


def described(pool: Pool) -> Described:
    records = pool.records.take(pool.candidates)
    columns, classes = columns_of(records.rows), np.unique(records.labels, return_inverse=True)[1]
    places = _places(np.arange(min(LEARNERS, len(pool.slots))), len(pool.slots))
    same = classes[places][:, None] == classes[places][None, :]
    return Described(columns, classes, (same + COMMON) * (columns[places] @ columns[places].T + 1) + LEVEL)


def _places(slots: Integers, count: int) -> Integers:
    """Both candidates of these slots."""
    return np.concatenate([slots, slots + count])


def regression(who: Described, outside: Truths) -> Attack:
    """The attack on a model in which these candidates were not, one of each slot."""
    return lambda model, _: scores(model.odds, outside, who)


def scores(odds: Floats, outside: Truths, who: Described) -> Floats:
    """NaN where the model said nothing. Where nobody is left to learn from, the log odds themselves."""
    usual, width = laws(odds, outside, who)
    return (odds - usual) / width


def laws(odds: Floats, outside: Truths, who: Described) -> tuple[Floats, Floats]:
    """Mean and spread of the log odds of each candidate, had the model not been trained on the record."""
    slots, usual, width = who.slots, np.zeros(len(odds)), np.ones(len(odds))
    learners = np.where(outside[:slots], np.arange(slots), np.arange(slots, 2 * slots))[:LEARNERS]
    learners = learners[np.isfinite(odds[learners])]
    first = np.where(learners < slots, learners, learners - slots + min(LEARNERS, slots))
    mean, spread = (_Ridge(who.alike[np.ix_(first, first)], size) for size in (MEAN, SPREAD))
    for fold in range(min(FOLDS, slots)):
        hidden = learners % slots % FOLDS == fold
        if hidden.all():
            continue
        asked = _places(np.arange(fold, slots, FOLDS), slots)
        weights = mean.weights(odds[learners], hidden)
        squares = (weights / mean.own(hidden)) ** 2  # of the error at each learner, had it been left out as well
        squares = np.log(squares + LEAST * squares[~hidden].mean() + TINY)
        usual[asked] = _said(weights, learners, asked, who)
        spreads = _said(spread.weights(squares, hidden), learners, asked, who)
        seen = squares[~hidden]
        width[asked] = np.exp(np.clip(spreads, seen.min(), seen.max()) / 2)  # no further than errors were seen
    return usual, width


def unlike(odds: Floats, truth: Truths, who: Described, level: float) -> bool:
    """Whether members and others differ in what membership does not change: in what is usual for records like them,
    how far that is off, or how far from the middle of all records they lie. Then their scores may differ as well."""
    far = (who.columns**2).sum(axis=1)
    return any(differ(roc(one[truth], one[~truth]), level / 3) for one in (*laws(odds, ~truth, who), far))


class _Ridge:
    """Of values at the learners, some of whom are hidden. Their rows and columns are taken out of the inverse."""

    def __init__(self, alike: Floats, ridge: float) -> None:
        self.inverse = np.linalg.inv(alike + ridge * np.eye(len(alike)))

    def weights(self, values: Floats, hidden: Truths) -> Floats:
        """Of each learner; 0 for those who are hidden."""
        seen = self.inverse @ np.where(hidden, 0.0, values)
        seen -= self.inverse[:, hidden] @ np.linalg.solve(self.inverse[np.ix_(hidden, hidden)], seen[hidden])
        seen[hidden] = 0.0
        return np.asarray(seen)

    def own(self, hidden: Truths) -> Floats:
        """The diagonal of the inverse. A weight over it is the error of a learner who is left out as well."""
        rows = self.inverse[hidden]
        lost = np.linalg.solve(rows[:, hidden], rows)
        diagonal = np.diag(self.inverse) - (rows * lost).sum(axis=0)
        return np.asarray(np.where(hidden, 1.0, diagonal))


def _said(weights: Floats, learners: Integers, asked: Integers, who: Described) -> Floats:
    """Of those asked, by the weights of the learners: the same as with the covariances of each of them with each
    learner, which would not fit into memory."""
    chosen = np.zeros((int(who.classes.max()) + 1, len(learners)))
    chosen[who.classes[learners], np.arange(len(learners))] = weights
    slopes, levels = chosen @ who.columns[learners], chosen.sum(axis=1)
    slopes, levels = slopes + COMMON * slopes.sum(axis=0), levels + COMMON * levels.sum() + LEVEL * levels.sum()
    own = who.classes[asked]
    return np.asarray(np.einsum("ij,ij->i", who.columns[asked], slopes[own]) + levels[own])


def columns_of(rows: Any) -> Floats:
    """Numbers less their mean, over their standard deviation, and a column for each frequent value of texts; all over
    the root of how many there are. A missing number is the mean, with a column that says so."""
    if hasattr(rows, "iloc"):
        parts = [np.asarray(rows.iloc[:, place]) for place in range(rows.shape[1])]
    elif rows.dtype == object:
        parts = list(rows.reshape(len(rows), -1).T)
    else:
        return _sized([np.asarray(rows, np.float64).reshape(len(rows), -1)], len(rows))
    return _sized([_numbers(part) for part in parts], len(rows))


def _numbers(values: npt.NDArray[Any]) -> Floats:
    try:
        return np.asarray(values, np.float64)[:, None]
    except (TypeError, ValueError):
        texts = np.array([str(value) for value in values])
        known, counts = np.unique(texts, return_counts=True)
        frequent = known[np.argsort(-counts, kind="stable")[:VALUES]]
        return np.asarray(texts[:, None] == frequent[None, :], np.float64)


def _sized(parts: list[Floats], people: int) -> Floats:
    values = np.concatenate([*parts, np.zeros((people, 0))], axis=1)
    known = np.isfinite(values)
    values = np.where(known, values, 0.0)
    values = values / np.maximum(np.abs(values).max(axis=0, initial=0.0), 1e-300)
    values = np.where(known, values - values.sum(axis=0) / np.maximum(known.sum(axis=0), 1), 0.0)
    gaps = ~known[:, ~known.all(axis=0)]
    values = np.concatenate([values, gaps - gaps.mean(axis=0)], axis=1)
    wide = np.sqrt((values**2).mean(axis=0))
    kept = wide > ROUNDING
    return np.asarray(values[:, kept] / wide[kept] / np.sqrt(max(1, int(kept.sum()))))
