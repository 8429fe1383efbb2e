"""Gaussian naive Bayes in three rounds: a first look at all rows, sums of each class in noisy widths, and a trial.

The same sums can be read in several ways. Variances of a class of its own are known less well than those of all classes
together, and columns that say partly the same should count for less. Which reading predicts best differs from table to
table, so the last round counts how many rows each of them gets right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.backends.contributions import Block, Lesson, Recode, Scaled, Vectors
from privet.core.claim import claim
from privet.core.rounds import Noisy, Priced, Shares, Sums, vector
from privet.learn.declared import Declared
from privet.learn.look import UNIT, Look, from_middle, look_rows, look_sums, looked, one_hot, within
from privet.learn.naive_bayes import NaiveBayes
from privet.learn.rows import declared_values
from privet.typing import Floats

LOOK, TRIAL = Fraction(1, 4), Fraction(1, 10)  # shares of the price
STEP = 2**10  # steps of one standard deviation
FAR = 3.0  # standard deviations; values farther out count as so far
SQUARES = 0.25  # weight of squares beside values: classes differ in their means first
NARROWEST = 0.02  # variance of a class, of that of all rows
READINGS = ((0.75, 1.0), (0.0, 1.0), (0.0, 3.0), (0.0, 100.0))  # weight of a class's own variances; factor of all
SURE, CLEAR = 1.0, 0.005  # deviations of the noise, and share of the rows, by which a reading must pass the first
WEIGHT = 2**10  # steps of a coefficient in the trial
HEAVIEST = 2**20  # steps of the largest one: scores stay exact


class GaussianNB(NaiveBayes):
    """Gaussian naive Bayes, as scikit-learn's. Where noise is strong, means and variances of a class are drawn toward
    those of all rows. The fit chooses whether classes have variances of their own or share them, and whether these
    are widened: then columns say less beside the class's share of the rows.

    epsilon, delta: the price. bounds: (low, high) of all columns, or one pair for each. classes: all labels.
    neighbors: "add-remove" or "replace". max_rows: how many rows of a unit count.
    """

    def __init__(  # noqa: PLR0913
        self,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        bounds: Any = None,
        classes: Any = None,
        neighbors: str = "add-remove",
        max_rows: int = 1,
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.classes = epsilon, delta, bounds, classes
        self.neighbors, self.max_rows = neighbors, max_rows

    def _shares(self, declared: Declared) -> Shares:
        columns = len(declared.features)
        return [
            [(look_sums(columns), LOOK)],
            [(class_sums(columns, len(declared.classes)), 1 - LOOK - TRIAL)],
            [(trial_sums(), TRIAL)],
        ]

    def _lesson(self, declared: Declared, prices: Priced) -> Lesson:
        tops, size = declared.tops, len(declared.classes)
        (first,) = yield lambda block: look_rows(block, tops)
        look = looked(first, prices.rounds[0][0])
        yield Recode(lambda raw: measured_rows(raw, tops, look))
        (second,) = yield lambda block: [Scaled(one_hot(block.raw[:, -1], size))]
        models = _models(np.array(second, np.float64).reshape(size, -1), prices.rounds[1][0])
        trial = Trial(models)
        (ahead,) = yield lambda block: [Vectors(trial.ahead(block))]
        model = models[best_of(ahead, prices.rounds[2][0], look.rows)]
        half, middle = (declared.highs - declared.lows) / 2, (declared.highs + declared.lows) / 2
        widths = np.sqrt(look.variances)
        # Where low = high all rows are alike
        smallest = np.where(half > 0, 0, 1e-9)
        return {
            "classes_": np.array(declared.classes),
            "class_count_": model.counts,
            "class_prior_": model.counts / model.counts.sum(),
            "theta_": middle + half * (look.middles + widths * model.means),
            "var_": (half * widths) ** 2 * model.variances + smallest,
        }

    @claim("row-functions")
    def _predicted(self, raw: Floats, declared: Declared) -> Floats:
        constants = np.log(self.class_prior_) - np.log(2 * np.pi * self.var_).sum(axis=1) / 2
        found = np.tile(constants, (len(raw), 1))
        for at, column in enumerate(declared.features):
            away = declared_values(raw[:, at], column)[:, None] - self.theta_[:, at]
            found = found - away * away / (2 * self.var_[:, at])
        return np.asarray(found.argmax(axis=1), np.float64)

    def _joint(self, X: Any) -> Floats:  # noqa: N803
        rows: Floats = self._checked(X, dtype=np.float64)
        found = np.empty((len(rows), len(self.classes_)))
        for place, (mean, variance) in enumerate(zip(self.theta_, self.var_, strict=True)):
            away = (rows - mean) ** 2 / variance
            found[:, place] = np.log(self.class_prior_[place]) - (np.log(2 * np.pi * variance) + away).sum(axis=1) / 2
        return found


def _lengths(columns: int) -> tuple[int, int, int]:
    """Of a row: its count, the absolute sum and the squared length of its values and squares. The latter two are those
    of a row of normal numbers, and about two deviations more."""
    root = columns**0.5
    count, l1, l2_squared = (
        max(1.0, 0.4 * root, 0.12 * columns),
        1.04 * columns + 1.5 * root,
        1.125 * columns + 3 * root,
    )
    return round(count * STEP), round(l1 * STEP), round(l2_squared * STEP**2)


def class_sums(columns: int, classes: int) -> Sums:
    count, l1, l2_squared = _lengths(columns)
    return vector(classes * (1 + 2 * columns), count**2 + l2_squared, l1=count + l1)


@claim("row-functions")
def measured_rows(raw: Floats, tops: Floats, look: Look) -> Floats:
    """A count, then values and squares, both from the middle of all rows and in their width."""
    columns = len(tops)
    count, l1, l2_squared = _lengths(columns)
    away = (from_middle(raw[:, :columns], tops) / UNIT - look.middles) / np.sqrt(look.variances)
    away = np.clip(away, -FAR, FAR)
    both = within(STEP * np.hstack([away, SQUARES * (away**2 - 1)]), l1, l2_squared)
    return np.column_stack([np.full(len(raw), float(count)), both])


@dataclass(frozen=True, slots=True)
class Model:
    """Rows of each class, and of each class and column mean and variance where all rows have 0 and 1."""

    counts: Floats
    means: Floats
    variances: Floats

    def linear(self) -> tuple[Floats, Floats]:
        """The logarithm of the joint probability of a row and each class: so much for each of its numbers as
        `measured_rows` has them, and a constant. In whole steps."""
        of_values, of_squares = self.means / self.variances, -0.5 / (SQUARES * self.variances)
        most, largest = float(HEAVIEST), 2.0**50
        weights = np.clip(np.rint(WEIGHT * np.hstack([of_values, of_squares])), -most, most)
        shares = np.log(self.counts / self.counts.sum())
        constants = shares - ((1 + self.means**2) / self.variances + np.log(self.variances)).sum(axis=1) / 2
        return weights.T, np.clip(np.rint(WEIGHT * STEP * constants), -largest, largest)


def _models(sums: Floats, noisy: Noisy) -> list[Model]:
    """One for each of `READINGS`."""
    columns = sums.shape[1] // 2
    count, _, _ = _lengths(columns)
    noise = noisy.deviation / STEP
    counts = np.maximum(sums[:, :1] / count, 1.0)
    means, unsure = _drawn(sums[:, 1 : columns + 1] / STEP, counts, noise)
    share = counts / counts.sum()
    pooled = np.clip(1 - (share * means**2).sum(axis=0), NARROWEST, 1)
    squares = sums[:, columns + 1 :] / STEP - SQUARES * counts * (pooled + means**2 - 1)
    apart, _ = _drawn(squares, counts * SQUARES, noise)
    own = np.clip(pooled + apart, NARROWEST, FAR**2)
    return [
        Model(counts[:, 0], means, wide * (weight * own + (1 - weight) * pooled + unsure)) for weight, wide in READINGS
    ]


def trial_sums() -> Sums:
    """Of a row for each reading but the first: 1, 0 or -1."""
    return vector(len(READINGS) - 1, len(READINGS) - 1)


class Trial:
    """The last round's row function: whether a model is right where the first one is not, or the other way round."""

    def __init__(self, models: Sequence[Model]) -> None:
        self.linear = [model.linear() for model in models]

    @claim("row-functions")
    def ahead(self, block: Block) -> Floats:
        """Scores are sums of products of whole numbers, so that they are the same wherever a row stands."""
        first, *others = (
            (block.values[:, 1:] @ weights + constants).argmax(axis=1) == block.raw[:, -1]
            for weights, constants in self.linear
        )
        return np.column_stack([right.astype(np.float64) - first for right in others])


def best_of(ahead: Sequence[int], noisy: Noisy, rows: float) -> int:
    """The place of the reading that gets most rows right: the first, unless another is clearly ahead."""
    found = np.array(ahead, np.float64)
    best = int(found.argmax())
    return best + 1 if found[best] > SURE * noisy.deviation + CLEAR * rows else 0


def _drawn(sums: Floats, counts: Floats, noise: float) -> tuple[Floats, Floats]:
    """sums / counts, drawn towards 0 as far as noise explains how much they differ; and the variance that is left."""
    spread = max(float((sums**2).sum() - sums.size * noise**2), 0.0) / (sums.shape[1] * float((counts**2).sum()))
    whole = counts**2 * spread + noise**2
    return sums * counts * spread / whole, spread * noise**2 / whole
