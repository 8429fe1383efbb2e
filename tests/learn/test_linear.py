"""Lines from noisy products: near the exact ones where noise is weak, and never wild where it is strong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import linear_model as exact
from support.refusals import raises_code

from privet.errors import InvalidInputError
from privet.learn import LinearRegression, Ridge
from privet.learn.linear import ridged

BOUNDS = [(0, 100), (-1, 1), (0, 1)]
TARGETS = (-20, 80)


def made(rows: int = 8_000) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.uniform(0, 100, rows), rng.uniform(-1, 1, rows), rng.random(rows) < 0.3])  # noqa: N806
    return X, np.clip(0.5 * X[:, 0] - 10 * X[:, 1] + 5 * X[:, 2] + 7 + rng.normal(size=rows), *TARGETS)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_near_the_exact_line(delta: float, neighbors: str) -> None:
    """At epsilon 50 and 8,000 rows; the residuals have a deviation of 1, what is explained one of 16."""
    X, y = made()  # noqa: N806
    model = LinearRegression(epsilon=50, delta=delta, bounds=BOUNDS, targets=TARGETS, neighbors=neighbors).fit(X, y)
    plain = exact.LinearRegression().fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - plain.predict(X)) ** 2)) < 1
    assert model.score(X, y) > 0.985
    assert model.coef_.shape == (3,)
    assert isinstance(model.intercept_, float)


@pytest.mark.parametrize("alpha", [0, 1, 1000, "1e5"])
def test_near_the_exact_ridge(alpha: Any) -> None:
    X, y = made()  # noqa: N806
    model = Ridge(alpha, epsilon=200, bounds=BOUNDS, targets=TARGETS).fit(X, y)
    plain = exact.Ridge(float(alpha)).fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - plain.predict(X)) ** 2)) < 1


@pytest.mark.parametrize("alpha", [-1, "wide", float("nan"), None])
def test_no_penalty(alpha: Any) -> None:
    with raises_code(InvalidInputError, "out-of-range|not-a-number|not-finite"):
        Ridge(alpha, epsilon=1, bounds=BOUNDS, targets=TARGETS).fit(*made(10))


def test_targets_are_declared() -> None:
    with raises_code(InvalidInputError, "not-declared: targets"):
        LinearRegression(epsilon=1, bounds=BOUNDS).fit(*made(10))


def test_a_range_of_one_number_has_no_slope() -> None:
    X, y = made()  # noqa: N806
    model = LinearRegression(epsilon=50, bounds=[(0, 100), (0.5, 0.5), (0, 1)], targets=TARGETS).fit(X, y)
    assert model.coef_[1] == 0
    assert model.score(X, y) > 0.8
    constant = LinearRegression(epsilon=1, bounds=BOUNDS, targets=(3, 3)).fit(X, y)
    assert constant.coef_.tolist() == [0, 0, 0]
    assert constant.intercept_ == 3


def test_slopes_never_explain_more_than_there_is() -> None:
    """Whatever the noise was, the best guess of a slope stays below the plain quotient, and is 0 without a signal."""
    rng = np.random.default_rng(2)
    for _ in range(300):
        noise = 10 ** rng.uniform(-3, 3)
        values, beside = rng.normal(size=6) * 10 ** rng.uniform(-3, 3), rng.normal(size=6) * 10 ** rng.uniform(-3, 3)
        found = ridged(values, beside, noise)
        assert np.isfinite(found).all()
        assert (np.abs(found) * np.abs(values) <= np.abs(beside) * (1 + 1e-9)).all()
        assert (found[values <= 0] == 0).all()
        assert np.abs(found).max() <= np.abs(beside).max() / noise
    np.testing.assert_allclose(ridged(np.array([4.0, 2.0]), np.array([8.0, -2.0]), 0.0), [2, -1])
    assert ridged(np.zeros(2), np.zeros(2), 0.0).tolist() == [0, 0]
