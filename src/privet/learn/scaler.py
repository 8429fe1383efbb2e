"""Means and standard deviations from one round: a noisy count, noisy sums and noisy sums of squares."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from privet.backends.contributions import Lesson
from privet.core.rounds import Priced, Shares
from privet.learn.base import PrivateEstimator
from privet.learn.declared import Declared
from privet.learn.look import UNIT, look_rows, look_sums
from privet.typing import Floats

SMALLEST = 1e-6  # variance, of a range from -1 to 1


class StandardScaler(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Scale columns to mean 0 and deviation 1, as scikit-learn's. `mean_`, `var_` and `scale_` are noisy.

    epsilon, delta: the price. bounds: (low, high) of all columns, or one pair for each. with_mean: subtract the mean.
    with_std: divide by the deviation. neighbors: "add-remove" or "replace". max_rows: how many rows of a unit count.
    """

    def __init__(  # noqa: PLR0913
        self,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        bounds: Any = None,
        neighbors: str = "add-remove",
        max_rows: int = 1,
        with_mean: bool = True,
        with_std: bool = True,
    ) -> None:
        self.epsilon, self.delta, self.bounds = epsilon, delta, bounds
        self.neighbors, self.max_rows = neighbors, max_rows
        self.with_mean, self.with_std = with_mean, with_std

    def _shares(self, declared: Declared) -> Shares:
        return [[(look_sums(len(declared.features)), Fraction(1))]]

    def _lesson(self, declared: Declared, prices: Priced) -> Lesson:  # noqa: ARG002
        tops, columns = declared.tops, len(declared.features)
        (noisy,) = yield lambda block: look_rows(block, tops)
        found = np.array(noisy, np.float64) / UNIT
        rows = max(float(found[0]), 1.0)
        middle = np.clip(found[1 : columns + 1] / rows, -1, 1)
        half = (declared.highs - declared.lows) / 2
        variance = np.clip(found[columns + 1 :] / rows + 0.5 - middle**2, SMALLEST, 1) * half**2
        return {
            "mean_": declared.lows + half * (1 + middle) if self.with_mean else None,
            "var_": variance if self.with_std else None,
            "scale_": np.where(variance > 0, np.sqrt(variance), 1.0) if self.with_std else None,
        }

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """X with scaled columns."""
        check_is_fitted(self)
        found: Floats = self._checked(X, dtype=np.float64, ensure_all_finite="allow-nan")
        found = found - self.mean_ if self.with_mean else found
        return found / self.scale_ if self.with_std else found

    def inverse_transform(self, X: Any) -> Floats:  # noqa: N803
        """Rows from scaled columns."""
        check_is_fitted(self)
        found: Floats = self._checked(X, dtype=np.float64, ensure_all_finite="allow-nan")
        found = found * self.scale_ if self.with_std else found
        return found + self.mean_ if self.with_mean else found
