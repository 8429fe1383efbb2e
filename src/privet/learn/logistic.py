"""Logistic regression in a few rounds: a look, the shape of all rows, then noisy gradients.

Steps are as long as the curvature of the likelihood allows, which follows from the noisy shape; noise, rows, columns
and classes decide how much of a step is believed. So there is nothing to search for: no rate, no penalty, no norm.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from privet.backends.contributions import Lesson, Recode, Vectors
from privet.core.claim import claim
from privet.core.rounds import Priced, Shares
from privet.learn.base import PrivateEstimator
from privet.learn.declared import Declared
from privet.learn.logistic_rows import CONSTANT, LENGTH, Design, Gradient, Measured, first_rows, shape_rows
from privet.learn.logistic_steps import Belief, Moments, axes, moments, probabilities, step_of
from privet.learn.rows import weighted_sums
from privet.typing import Floats

# Shares of the price (the first look, the shape), gradients at epsilon 1, and the most there are.
GAUSSIAN = (Fraction(12, 100), Fraction(10, 100), 8, 12)
PURE = (Fraction(25, 100), Fraction(4, 100), 3, 6)


class LogisticRegression(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """Logistic regression for two or more classes, as scikit-learn's, without a penalty to choose.

    epsilon, delta: the price; with a delta above 0 it is more accurate, above all with many columns or few rows.
    bounds: (low, high) of all columns, or one pair for each. classes: all labels.
    neighbors: "add-remove" or "replace". max_rows: how many rows of a unit count.
    """

    _target = "class"

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

    def _design(self, declared: Declared) -> Design:
        _, delta = self._price()
        return Design(len(declared.features), len(declared.classes), delta == 0)

    def _shares(self, declared: Declared) -> Shares:
        design = self._design(declared)
        look, shape, usual, most = PURE if design.pure else GAUSSIAN
        epsilon, _ = self._price()
        rounds = min(max(round(usual * float(epsilon) ** 0.25), 3), most)
        each = (1 - look - shape) / rounds
        gradients = [[(design.gradient(place == 0), each)] for place in range(rounds)]
        return [[(design.first(), look)], [(design.shape(), shape)], *gradients]

    def _lesson(self, declared: Declared, prices: Priced) -> Lesson:
        design, tops = self._design(declared), declared.tops
        (look,), (shape,), *rounds = prices.rounds
        (sums,) = yield lambda block: [Vectors(first_rows(block, tops, design))]
        seen = moments(np.array(sums, np.float64), look, design)
        measured = Measured(tops, seen.middle, seen.width, design)
        yield Recode(measured.shape)
        (sums,) = yield lambda block: [shape_rows(block, design)]
        belief = Belief(seen, axes(np.array(sums, np.float64), shape, seen.rows, design), design)
        steps = step_of(rounds[0][0], len(rounds), seen.rows, design)
        yield Recode(lambda raw: measured.gradient(raw, steps))
        for place, (noisy,) in enumerate(rounds):
            starts = design.starts(place == 0)
            (sums,) = yield Gradient(design, noisy.sums, None if starts else belief.weights, steps)
            found = np.array(sums, np.float64).reshape(design.outputs, -1).T / (LENGTH * steps)
            if starts:  # what all classes together would give is taken off
                found = found - found.sum(axis=1, keepdims=True) * seen.shares
            belief.learn(found, noisy.deviation / (LENGTH * steps))
        return {"classes_": np.array(declared.classes)} | _fitted(belief.weights, seen, declared)

    @claim("row-functions")
    def _predicted(self, raw: Floats, declared: Declared) -> Floats:
        margins = weighted_sums(raw, declared, self.coef_.T, self.intercept_)
        places = margins[:, 0] > 0 if margins.shape[1] == 1 else margins.argmax(axis=1)
        return places.astype(np.float64)

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """The margin of each row for the second of two classes, or of each class."""
        found = self._margins(X)
        return found[:, 0] if found.shape[1] == 1 else found

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """The probability of each class (columns in the order of `classes_`) for each row of X."""
        return probabilities(self._margins(X))

    def predict_log_proba(self, X: Any) -> Floats:  # noqa: N803
        """The logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The likeliest class for each row of X."""
        places = self.predict_proba(X).argmax(axis=1)
        return self.classes_[places]

    def _margins(self, X: Any) -> Floats:  # noqa: N803
        check_is_fitted(self)
        rows: Floats = self._checked(X, dtype=np.float64)
        return np.asarray(rows @ self.coef_.T + self.intercept_)


def _fitted(weights: Floats, seen: Moments, declared: Declared) -> dict[str, Floats]:
    """From ranges of -1 to 1 to the declared ones. A column whose range is one number says nothing."""
    half = (declared.highs - declared.lows) / 2
    slopes = np.where(half > 0, weights[:-1].T / seen.width, 0.0)
    coefficients = slopes / np.where(half > 0, half, 1.0)
    middles = declared.lows + half * (1 + seen.middle)
    return {"coef_": coefficients, "intercept_": CONSTANT * weights[-1] - coefficients @ middles}
