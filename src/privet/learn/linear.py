"""Linear regression from two rounds: where the rows are and how wide, then one noisy matrix of products of (x, y, 1).

A row is shortened as a whole, its 1 too, so that it still lies on the same line: it only weighs less. The ridge that
noise demands follows from the noisy matrix and the law of the noise alone.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from privet.backends.contributions import Block, Lesson, Recode, Vectors
from privet.core.claim import claim
from privet.core.rational import rational, show
from privet.core.rounds import Noisy, Priced, Shares, Sums, vector
from privet.errors import InvalidInputError
from privet.learn.base import PrivateEstimator
from privet.learn.declared import Declared
from privet.learn.look import MIDDLE, UNIT, from_middle, within
from privet.learn.pca import STEP, longest, product_sums, products_of, reach, square_of, where
from privet.learn.rows import steps_between, weighted_sums
from privet.typing import Floats

WHERE = Fraction(1, 4)  # share of the price of the first round
HUGE = 1e50  # a penalty that leaves no slope; its square is finite
TARGET, ONE = 0.6, 0.6  # weights of the target and of the constant beside the features, whose length is about 1


class LinearRegression(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """Linear regression, as scikit-learn's, from noisy products (AdaSSP).

    epsilon, delta: the price. bounds: (low, high) of all columns, or one pair for each. targets: (low, high) of y.
    neighbors: "add-remove" or "replace". max_rows: how many rows of a unit count.
    """

    _target = "number"

    def __init__(  # noqa: PLR0913
        self,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        bounds: Any = None,
        targets: Any = None,
        neighbors: str = "add-remove",
        max_rows: int = 1,
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.targets = epsilon, delta, bounds, targets
        self.neighbors, self.max_rows = neighbors, max_rows

    def _penalty(self) -> float:
        return 0.0

    def _shares(self, declared: Declared) -> Shares:
        columns = len(declared.features)
        products = product_sums(columns + 2, self._price()[1] == 0)
        self._penalty()
        return [[(both_sums(columns), WHERE)], [(products, 1 - WHERE)]]

    def _lesson(self, declared: Declared, prices: Priced) -> Lesson:
        tops, columns = np.array([float(column.top) for column in declared.columns]), len(declared.features)
        (first,) = yield lambda block: [Vectors(both_rows(block, tops))]
        rows, middles, widths, unsure = _first(np.array(first, np.float64), prices.rounds[0][0])
        noisy = prices.rounds[1][0]
        far = reach(noisy, rows, columns) * math.sqrt(1 + TARGET**2 + ONE**2)
        yield Recode(lambda raw: line_rows(raw, tops, middles, widths * far, ONE / far))
        (products,) = yield lambda block: [products_of(block, noisy.sums)]
        square = square_of(np.array(products, np.float64), columns + 2) * (far / STEP) ** 2
        halves = np.array([(column.high - column.low) / 2 for column in declared.columns])
        steps, high = np.where(halves > 0, halves, np.inf)[:-1] * widths[:-1], halves[-1] * widths[-1]
        penalty = np.minimum(self._penalty() / steps**2, HUGE)
        slopes, shift = line_of(square, noisy.deviation * (far / STEP) ** 2, penalty, unsure)
        middle = np.array([(column.high + column.low) / 2 for column in declared.columns]) + halves * middles
        coef = slopes * high / steps
        return {"coef_": coef, "intercept_": float(middle[-1] + high * shift - middle[:-1] @ coef)}

    @claim("row-functions")
    def _predicted(self, raw: Floats, declared: Declared) -> Floats:
        slopes, constant = self.coef_[:, None], np.array([self.intercept_])
        target = declared.columns[-1]
        return steps_between(weighted_sums(raw, declared, slopes, constant)[:, 0], target)

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """The predicted number for each row of X."""
        check_is_fitted(self)
        rows: Floats = self._checked(X, dtype=np.float64)
        return np.asarray(rows @ self.coef_ + self.intercept_)


class Ridge(LinearRegression):
    """Ridge regression, as scikit-learn's.

    alpha: the weight of the squared slopes in what is minimized. All else is as in LinearRegression.
    """

    def __init__(  # noqa: PLR0913
        self,
        alpha: Any = 1.0,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        bounds: Any = None,
        targets: Any = None,
        neighbors: str = "add-remove",
        max_rows: int = 1,
    ) -> None:
        self.alpha = alpha
        super().__init__(
            epsilon=epsilon, delta=delta, bounds=bounds, targets=targets, neighbors=neighbors, max_rows=max_rows
        )

    def _penalty(self) -> float:
        alpha = rational(self.alpha, "alpha")
        if alpha < 0:
            raise InvalidInputError(
                f"alpha must be at least 0, not {show(self.alpha)}", "for example alpha=1", "out-of-range"
            )
        return float(alpha)


def both_sums(columns: int) -> Sums:
    return vector(columns + 4, (columns + 4) * UNIT**2, l1=(columns + 4) * UNIT)


@claim("row-functions")
def both_rows(block: Block, tops: Floats) -> Floats:
    """1, the features from -1 to 1 and the mean of their squares; then the target and its square."""
    values = from_middle(block.raw[:, : len(tops)], tops)
    features, target = values[:, :-1], values[:, -1]
    squares = np.einsum("ij,ij->i", features, features)
    mean = np.rint(squares / (UNIT * max(features.shape[1], 1)))
    return np.column_stack([np.full(len(values), float(UNIT)), features, mean, target, np.rint(target**2 / UNIT)])


def _first(sums: Floats, noisy: Noisy) -> tuple[float, Floats, Floats, Floats]:
    """Rows; and of each column, the target last, its middle, its width, and the variance that noise leaves its middle,
    in widths. The features are as wide as all of them together."""
    columns = len(sums) - 4
    rows, middle, width = where(sums[: columns + 2], noisy)
    _, center, spread = where(sums[[0, -2, -1]], noisy)
    widths = np.append(np.full(columns, width), spread / TARGET)
    noise = (noisy.deviation / UNIT / rows) ** 2
    return rows, np.append(middle, center), widths, MIDDLE**2 * noise / (MIDDLE**2 + noise) / widths**2


@claim("row-functions")
def line_rows(raw: Floats, tops: Floats, middles: Floats, widths: Floats, one: float) -> Floats:
    """Features and target from their noisy middles, in noisy widths, and a constant: together no longer than `STEP`."""
    away = (from_middle(raw[:, : len(tops)], tops) / UNIT - middles) / widths
    constant = np.full((len(raw), 1), one)
    return within(STEP * np.hstack([away, constant]), longest(len(tops) + 1), STEP**2)


def line_of(square: Floats, noise: float, penalty: Floats, unsure: Floats) -> tuple[Floats, float]:
    """Slopes and the constant, of a noisy matrix of products of (features, target, ONE). `unsure`: the variance that
    the means have left, after the first round, in the same widths."""
    ones = max(float(square[-1, -1]), noise)
    means = square[-1, :-1] / ones * ONE * (unsure / (unsure + (noise * ONE / ones) ** 2))
    moments = square[:-1, :-1] - np.outer(means, means) * ones / ONE**2
    values, axes = np.linalg.eigh(moments[:-1, :-1] + np.diag(penalty))
    slopes = axes @ ridged(values, axes.T @ moments[:-1, -1], noise)
    return slopes, float(means[-1] - means[:-1] @ slopes)


def ridged(values: Floats, with_target: Floats, noise: float) -> Floats:
    """The slope along each axis: what is measured, over what noise and slopes of the length that is there make likely.

    A slope s gives values * s, with noise on the target's products and, through all slopes, on those of features."""
    size, positive = len(values), np.maximum(values, 0)
    chance = size * noise**2
    left = max(float((values**2).sum()) - size * chance, float((positive**2).sum()) / 4, chance)
    likely = max(float((with_target**2).sum()) - chance, 0.0) / max(left, 1e-300)
    most = likely * positive**2 + noise**2 * (1 + likely * size)
    return np.asarray(likely * positive * with_target / np.maximum(most, 1e-300))
