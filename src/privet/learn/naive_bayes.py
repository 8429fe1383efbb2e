"""What both naive Bayes classifiers share: predictions from the logarithms of joint probabilities."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from privet.learn.base import PrivateEstimator
from privet.typing import Floats


class NaiveBayes(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    _target = "class"
    classes_: Any

    @abstractmethod
    def _joint(self, X: Any) -> Floats:  # noqa: N803
        """For each row and class the logarithm of the probability of both, up to a constant."""

    def predict_joint_log_proba(self, X: Any) -> Floats:  # noqa: N803
        """For each row of X and each class the logarithm of the probability of both, up to a constant."""
        check_is_fitted(self)
        return self._joint(X)

    def predict_log_proba(self, X: Any) -> Floats:  # noqa: N803
        """The logarithms of `predict_proba`."""
        found = self.predict_joint_log_proba(X)
        found = found - found.max(axis=1, keepdims=True)
        return np.asarray(found - np.log(np.exp(found).sum(axis=1, keepdims=True)))

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """The probability of each class (columns in the order of `classes_`) for each row of X."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The likeliest class for each row of X."""
        places = self.predict_joint_log_proba(X).argmax(axis=1)
        return self.classes_[places]
