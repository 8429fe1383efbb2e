"""Gaussian naive Bayes in two rounds: a first look at all rows, then sums for each class, in noisy widths."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from privet.backends.contributions import Lesson, Recode, Scaled
from privet.core.claim import claim
from privet.core.rounds import Noisy, Priced, Shares, Sums, vector
from privet.learn.declared import Declared
from privet.learn.look import UNIT, Look, from_middle, look_rows, look_sums, looked, one_hot, within
from privet.learn.naive_bayes import NaiveBayes
from privet.learn.rows import declared_values
from privet.typing import Floats

LOOK = Fraction(1, 4)  # its share of the price
STEP = 2**10  # steps of one standard deviation
FAR = 3.0  # standard deviations; values farther out count as so far
SQUARES = 0.25  # weight of squares beside values: classes differ in their means first
NARROWEST = 0.02  # variance of a class, of that of all rows


class GaussianNB(NaiveBayes):
    """Gaussian naive Bayes, as scikit-learn's. Where noise is strong, means and variances of a class are drawn toward
    those of all rows.

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
        return [[(look_sums(columns), LOOK)], [(class_sums(columns, len(declared.classes)), 1 - LOOK)]]

    def _lesson(self, declared: Declared, prices: Priced) -> Lesson:
        tops, size = declared.tops, len(declared.classes)
        (first,) = yield lambda block: look_rows(block, tops)
        look = looked(first, prices.rounds[0][0])
        yield Recode(lambda raw: measured_rows(raw, tops, look))
        (second,) = yield lambda block: [Scaled(one_hot(block.raw[:, -1], size))]
        counts, means, variances = _classes(np.array(second, np.float64).reshape(size, -1), prices.rounds[1][0])
        half, middle = (declared.highs - declared.lows) / 2, (declared.highs + declared.lows) / 2
        widths = np.sqrt(look.variances)
        # Where low = high all rows are alike
        smallest = np.where(half > 0, 0, 1e-9)
        return {
            "classes_": np.array(declared.classes),
            "class_count_": counts,
            "class_prior_": counts / counts.sum(),
            "theta_": middle + half * (look.middles + widths * means),
            "var_": (half * widths) ** 2 * variances + smallest,
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


def _classes(sums: Floats, noisy: Noisy) -> tuple[Floats, Floats, Floats]:
    """Counts, and of each class and column mean and variance where all rows have 0 and 1."""
    columns = sums.shape[1] // 2
    count, _, _ = _lengths(columns)
    noise = noisy.deviation / STEP
    counts = np.maximum(sums[:, :1] / count, 1.0)
    means, unsure = _drawn(sums[:, 1 : columns + 1] / STEP, counts, noise)
    share = counts / counts.sum()
    pooled = np.clip(1 - (share * means**2).sum(axis=0), NARROWEST, 1)
    squares = sums[:, columns + 1 :] / STEP - SQUARES * counts * (pooled + means**2 - 1)
    wider, _ = _drawn(squares, counts * SQUARES, noise)
    return counts[:, 0], means, np.clip(pooled + wider, NARROWEST, FAR**2) + unsure


def _drawn(sums: Floats, counts: Floats, noise: float) -> tuple[Floats, Floats]:
    """sums / counts, drawn towards 0 as far as noise explains how much they differ; and the variance that is left."""
    spread = max(float((sums**2).sum() - sums.size * noise**2), 0.0) / (sums.shape[1] * float((counts**2).sum()))
    whole = counts**2 * spread + noise**2
    return sums * counts * spread / whole, spread * noise**2 / whole
