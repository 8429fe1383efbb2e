"""Noisy means and deviations, by a scaler with scikit-learn's interface."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler as Exact
from support.row_functions import assert_row_function, block_of

from privet.backends.contributions import Rows
from privet.learn import StandardScaler
from privet.learn.declared import TOP
from privet.learn.look import UNIT, look_rows, look_sums


def made(rows: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal([10, -2, 500], [3, 0.5, 100], (rows, 3))


BOUNDS = [(0, 20), (-5, 1), (0, 1000)]


def test_each_row_by_itself() -> None:
    raw = np.random.default_rng(2).integers(0, TOP + 1, (50, 3)).astype(float)
    tops = np.full(3, float(TOP))
    assert_row_function(lambda block: look_rows(block, tops), raw)


def test_no_row_is_longer_than_was_priced_and_one_is_as_long() -> None:
    raw = np.array([[a, b] for a in (0.0, 1.0, TOP / 2, TOP) for b in (0.0, TOP)])
    (given,) = look_rows(block_of(raw), np.full(2, float(TOP)))
    found, sums = given.matrix, look_sums(2)
    assert (found**2).sum(axis=1).max() == sums.l2_squared == UNIT**2 * 7 // 2
    assert np.abs(found).sum(axis=1).max() == sums.l1 == UNIT * 4
    assert Rows(raw).sums(lambda _: [given], [sums]) == [[int(n) for n in found.sum(axis=0)]]


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_close_to_the_exact_scaler(delta: float, neighbors: str) -> None:
    """Off by far more than ten deviations of the noise would be a mistake: 40,000 rows at epsilon 10."""
    rows = made(40_000)
    found = StandardScaler(epsilon=10, delta=delta, bounds=BOUNDS, neighbors=neighbors).fit(rows)
    exact = Exact().fit(rows)
    np.testing.assert_allclose(found.mean_, exact.mean_, rtol=0.02)
    np.testing.assert_allclose(found.scale_, exact.scale_, rtol=0.05)
    np.testing.assert_allclose(found.transform(rows), exact.transform(rows), atol=0.4)
    assert F(found.privacy_.epsilon) == 10


def test_there_and_back() -> None:
    rows = made(200)
    for more in ({}, {"with_mean": False}, {"with_std": False}):
        found = StandardScaler(epsilon=1, bounds=BOUNDS, **more).fit(rows)
        np.testing.assert_allclose(found.inverse_transform(found.transform(rows)), rows, atol=1e-6)


def test_without_means_or_deviations() -> None:
    rows = made(2000)
    only = StandardScaler(epsilon=10, bounds=BOUNDS, with_mean=False).fit(rows)
    assert only.mean_ is None
    np.testing.assert_allclose(only.transform(rows), rows / only.scale_)
    only = StandardScaler(epsilon=10, bounds=BOUNDS, with_std=False).fit(rows)
    assert only.scale_ is None
    np.testing.assert_allclose(only.transform(rows), rows - only.mean_)


@pytest.mark.parametrize(
    "rows",
    [np.zeros((0, 3)), np.full((1, 3), 1e308), np.full((5, 3), np.nan), np.full((9, 3), 7.0), np.full((9, 3), np.inf)],
    ids=["none", "outlier", "missing", "constant", "infinite"],
)
def test_edges_give_some_scaler(rows: np.ndarray) -> None:
    found = StandardScaler(epsilon=1, bounds=BOUNDS).fit(rows)
    for (low, high), mean, scale in zip(BOUNDS, found.mean_, found.scale_, strict=True):
        assert low <= mean <= high
        assert 0 < scale <= (high - low) / 2


def test_a_range_of_one_number() -> None:
    found = StandardScaler(epsilon=1, bounds=(3, 3)).fit(np.zeros((4, 1)))
    assert (found.mean_.tolist(), found.scale_.tolist()) == ([3], [1])
