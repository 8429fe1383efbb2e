"""k-means and principal components from noisy rounds: near scikit-learn's where noise is weak."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn import cluster, decomposition
from support.refusals import raises_code

from privet.core.laws import DiscreteGaussian
from privet.core.rounds import Form, Noisy, Sums, vector
from privet.errors import InvalidInputError
from privet.learn import PCA, KMeans
from privet.learn.kmeans import WIDE, _axes, quantized
from privet.learn.pca import WIDEST, product_sums, square_of

RELATIONS = ["add-remove", "replace"]
BOUNDS = [(0, 10), (-1, 1), (0, 500)]


def blobs(rows: int = 6_000) -> Any:
    rng = np.random.default_rng(1)
    centers = np.array([[2, -0.5, 100], [8, 0.5, 120], [5, 0, 420]])
    return np.clip(rng.normal(centers[rng.integers(0, 3, rows)], [0.5, 0.1, 25]), *np.array(BOUNDS).T)


def explained(X: Any, centers: Any) -> float:  # noqa: N803
    """In ranges from 0 to 1: the share of the squared distances to the mean that centers take away."""
    low, high = np.array(BOUNDS).T
    rows, near = (X - low) / (high - low), (centers - low) / (high - low)
    left = ((rows[:, None] - near) ** 2).sum(axis=2).min(axis=1).sum()
    return float(1 - left / ((rows - rows.mean(axis=0)) ** 2).sum())


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_clusters_are_found(delta: float, neighbors: str) -> None:
    X = blobs()  # noqa: N806
    found = KMeans(3, epsilon=20, delta=delta, bounds=BOUNDS, neighbors=neighbors).fit(X)
    assert explained(X, found.cluster_centers_) > 0.5
    assert found.transform(X).shape == (6_000, 3)
    assert (found.predict(X) == found.transform(X).argmin(axis=1)).all()
    assert not hasattr(found, "labels_")
    low, high = np.array(BOUNDS).T
    ways = (X[:, None] - found.cluster_centers_) / ((high - low) / 2)
    np.testing.assert_allclose(found.transform(X), np.sqrt((ways**2).sum(axis=2)), atol=1e-6)


def test_one_cluster_is_the_mean() -> None:
    X = blobs()  # noqa: N806
    found = KMeans(1, epsilon=50, bounds=BOUNDS).fit(X)
    low, high = np.array(BOUNDS).T
    np.testing.assert_allclose((found.cluster_centers_[0] - X.mean(axis=0)) / (high - low), 0, atol=0.05)
    assert abs(explained(X, found.cluster_centers_)) < 0.05
    assert set(KMeans(2, epsilon=1, bounds=BOUNDS).fit_predict(X)) <= {0, 1}


def test_as_good_as_the_exact_clusters_of_the_same_points() -> None:
    """The start is k-means of points that stand for the rows."""
    points = np.random.default_rng(3).normal(size=(500, 2)) * 0.1 + np.random.default_rng(4).choice(
        [-0.5, 0.5], (500, 2)
    )
    found = quantized(points, 4, 1000.0)
    plain = cluster.KMeans(4, n_init=3, random_state=0).fit(points)
    assert found.squares.sum() / 2 < 1.5 * plain.inertia_
    assert found.counts.sum() == pytest.approx(1000)
    alike = quantized(np.zeros((9, 2)), 3, 9.0)
    assert np.isfinite(alike.centers).all()


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_components_are_found(delta: float, neighbors: str) -> None:
    """In equal ranges, so that no column rules."""
    rng = np.random.default_rng(2)
    axes = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    X = np.clip(rng.normal(size=(8_000, 4)) * [2, 1, 0.3, 0.2] @ axes + 3, -10, 10)  # noqa: N806
    found = PCA(2, epsilon=20, delta=delta, bounds=(-10, 10), neighbors=neighbors).fit(X)
    plain = decomposition.PCA(2).fit(X)
    np.testing.assert_allclose(np.abs(found.components_ @ plain.components_.T), np.eye(2), atol=0.15)
    np.testing.assert_allclose(found.explained_variance_, plain.explained_variance_, rtol=0.35)
    np.testing.assert_allclose(found.mean_, plain.mean_, atol=0.2)
    assert found.n_components_ == 2
    again = found.inverse_transform(found.transform(X))
    assert ((again - X) ** 2).sum() < 1.5 * ((plain.inverse_transform(plain.transform(X)) - X) ** 2).sum() + 1


def test_all_components_keep_everything() -> None:
    X = blobs(200)  # noqa: N806
    found = PCA(epsilon=1, bounds=BOUNDS).fit(X)
    np.testing.assert_allclose(found.components_ @ found.components_.T, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(found.inverse_transform(found.transform(X)), X, atol=1e-6)
    assert found.explained_variance_ratio_.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("model", "code"),
    [
        (PCA(4, epsilon=1, bounds=BOUNDS), "out-of-range: 4 … 3"), (PCA(0, epsilon=1, bounds=BOUNDS), "too-small"),
        (KMeans(0, epsilon=1, bounds=BOUNDS), "too-small"), (KMeans(1.5, epsilon=1, bounds=BOUNDS), "not-whole"),
    ],
    ids=str,
)  # fmt: skip
def test_numbers_of_parts_that_are_none(model: Any, code: str) -> None:
    with raises_code(InvalidInputError, code):
        model.fit(blobs(10))


def noisy(sums: Sums, variance: float) -> Noisy:
    return Noisy(sums=sums, law=DiscreteGaussian(variance=Fraction(variance)))


def test_axes_that_noise_hides_leave_all_directions() -> None:
    """The squared width stays: along the axes that are found, and what is left of it evenly."""
    columns = WIDE + 1
    pairs = vector(columns * (columns + 1) // 2, 100)
    hidden = _axes(np.zeros(pairs.numbers), noisy(pairs, 100.0), 10.0, 1.0, 0.5)
    np.testing.assert_allclose(hidden.T @ hidden, np.eye(columns) * 0.25 / columns, atol=1e-12)
    products = np.zeros((columns, columns))
    products[0, 0] = 2.0
    found = _axes(products[np.triu_indices(columns)], noisy(pairs, 1e-12), 10.0, 1.0, 0.5)
    np.testing.assert_allclose(np.trace(found.T @ found), 0.25, atol=1e-4)
    assert (found.T @ found)[0, 0] == pytest.approx(0.2 + 0.05 / columns, abs=1e-4)
    assert not _axes(np.zeros(pairs.numbers), noisy(pairs, 100.0), 10.0, 1.0, 0.0).any()


def test_many_columns_with_laplace_noise() -> None:
    """Centers start apart from each other. In a dozen fits they take away 0.6621 of the squared distances, and never
    differ by more than 0.0003; with two clusters taken for one it is still 0.5."""
    rng = np.random.default_rng(8)
    centers = rng.uniform(0.2, 0.8, (4, 20))
    X = np.clip(rng.normal(centers[rng.integers(0, 4, 4_000)], 0.1), 0, 1)  # noqa: N806
    found = KMeans(4, epsilon=8, bounds=(0, 1)).fit(X)
    left = ((X[:, None] - found.cluster_centers_) ** 2).sum(axis=2).min(axis=1).sum()
    assert 1 - left / ((X - X.mean(axis=0)) ** 2).sum() > 0.3
    assert len(set(found.predict(X).tolist())) > 1


def test_products() -> None:
    """Each once for Laplace noise, if there are not too many; else the whole matrix."""
    assert product_sums(3, laplace=True).form is Form.VECTOR
    assert product_sums(3, laplace=False).form is Form.GRAM
    assert product_sums(WIDEST + 1, laplace=True).form is Form.GRAM
    whole = np.array([[1.0, 2], [2, 3]])
    assert square_of(np.array([1.0, 2, 3]), 2).tolist() == whole.tolist()
    assert square_of(np.array([1.0, 1, 3, 3]), 2).tolist() == whole.tolist()
