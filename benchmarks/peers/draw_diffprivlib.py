"""diffprivlib's models and noise at epsilon 1, a fit or a draw at a time. Run by its own virtual environment.

It does not import beside scikit-learn 1.8 or newer. Data of a model: [rows of features, targets].
"""

import warnings
from typing import Any

import numpy as np
from diffprivlib import mechanisms, models
from draws import Mechanism, serve

warnings.simplefilter("ignore")
NORM = 100.0  # of a row of the logistic regression, which is told so


def logistic(data: Any, size: int) -> Any:
    """The coefficients: what the model publishes. Without an intercept, whose norm would only add to the noise."""
    rows, labels = np.array(data[0], float), np.array(data[1])
    fits = (models.LogisticRegression(epsilon=1.0, data_norm=NORM, fit_intercept=False) for _ in range(size))
    return np.array([fit.fit(rows, labels).coef_[0, 0] for fit in fits])


def linear(data: Any, size: int) -> Any:
    rows, targets = np.array(data[0], float), np.array(data[1], float)
    bounds = {"bounds_X": (0.0, 100.0), "bounds_y": (0.0, 1.0)}
    fits = (models.LinearRegression(epsilon=1.0, fit_intercept=False, **bounds) for _ in range(size))
    return np.array([fit.fit(rows, targets).coef_[0] for fit in fits])


def noise(mechanism: Any) -> Mechanism:
    return lambda data, size: np.array([mechanism.randomise(data) for _ in range(size)])


MECHANISMS = {
    "logistic regression": logistic,
    "linear regression": linear,
    "laplace, floats": noise(mechanisms.Laplace(epsilon=1.0, sensitivity=1.0)),
    "gaussian, floats": noise(mechanisms.GaussianAnalytic(epsilon=1.0, delta=1e-5, sensitivity=1.0)),
    "geometric": noise(mechanisms.Geometric(epsilon=1.0, sensitivity=1)),
    "snapping": noise(mechanisms.Snapping(epsilon=1.0, sensitivity=1.0, lower=-1000.0, upper=1000.0)),
}


if __name__ == "__main__":
    serve(["diffprivlib", "scikit-learn"], MECHANISMS)
