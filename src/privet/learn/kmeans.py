"""k-means in a few rounds: where the rows are, along which axes they spread, then noisy sums and counts of clusters.

The start comes from what was released: centers that fit points drawn from a normal law with the noisy middle and axes.
Each further round measures rows from the center that is nearest to them, so vectors are short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from privet.backends.contributions import Block, Lesson, Recode, Vectors
from privet.core.claim import claim
from privet.core.rational import whole
from privet.core.rounds import Form, Noisy, Priced, Shares, Sums, vector
from privet.learn.base import PrivateEstimator
from privet.learn.declared import Declared
from privet.learn.look import UNIT, from_middle, within
from privet.learn.pca import (
    NARROWEST,
    longest,
    product_sums,
    products_of,
    reach,
    shortened,
    square_of,
    where,
    where_rows,
    where_sums,
)  # fmt: skip
from privet.typing import Floats, Integers

WHERE, AXES = Fraction(3, 20), Fraction(1, 4)  # shares of the price
WIDE = 8  # columns; with more, and Laplace noise, few axes are found, and where the rows are is worth more:
WHERE_OF_WIDE, AXES_OF_WIDE = Fraction(3, 10), Fraction(1, 10)
ROUNDS = 4
STEP = 2**10  # length of the longest row
COUNT = STEP // 3  # weight of a row's count, and of its squared length: less than that of the way to it
FEW = 0.02  # of the rows that a cluster has on average: a smaller one starts again elsewhere
POINTS = 4_000  # that stand for the rows when the start is chosen


class KMeans(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """k-means, as scikit-learn's, but distances are in halves of the declared range of each column. Where noise is
    strong, a center moves less than was measured.

    n_clusters: the number of clusters. epsilon, delta: the price. bounds: (low, high) of all columns, or one pair for
    each. neighbors: "add-remove" or "replace". max_rows: how many rows of a unit count.
    """

    def __init__(  # noqa: PLR0913
        self,
        n_clusters: int = 8,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        bounds: Any = None,
        neighbors: str = "add-remove",
        max_rows: int = 1,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon, self.delta, self.bounds = epsilon, delta, bounds
        self.neighbors, self.max_rows = neighbors, max_rows

    def _shares(self, declared: Declared) -> Shares:
        columns, clusters = len(declared.features), whole(self.n_clusters, "n_clusters", 1)
        first, second = (WHERE_OF_WIDE, AXES_OF_WIDE) if self._wide(declared) else (WHERE, AXES)
        each = (1 - first - second) / ROUNDS
        return [
            [(where_sums(columns), first)],
            [(product_sums(columns, self._price()[1] == 0), second)],
            *([(cluster_sums(columns, clusters), each)] for _ in range(ROUNDS)),
        ]

    def _wide(self, declared: Declared) -> bool:
        return self._price()[1] == 0 and len(declared.features) > WIDE

    def _lesson(self, declared: Declared, prices: Priced) -> Lesson:
        tops, clusters = declared.tops, whole(self.n_clusters, "n_clusters", 1)
        (first,) = yield lambda block: [Vectors(where_rows(block, tops))]
        rows, middle, width = where(np.array(first, np.float64), prices.rounds[0][0])
        noisy = prices.rounds[1][0]
        most = width * reach(noisy, rows, len(tops))
        yield Recode(lambda raw: shortened(raw, tops, middle, most))
        (products,) = yield lambda block: [products_of(block, noisy.sums)]
        spare = width if self._wide(declared) else 0.0
        points = drawn_points(middle, _axes(np.array(products, np.float64), noisy, rows, most / STEP, spare))
        now = quantized(points, clusters, rows)
        for measured in prices.rounds[2:]:
            now = _restarted(now, points, 4 * measured[0].deviation / COUNT)
            centers, far = np.rint(now.centers * UNIT), 1.5 * now.width
            (sums,) = yield _Assigned(tops, centers, far)
            now = _moved(np.array(sums, np.float64), measured[0], centers / UNIT, far)
        half = np.where(declared.highs > declared.lows, (declared.highs - declared.lows) / 2, 0)
        return {
            "cluster_centers_": (declared.highs + declared.lows) / 2 + half * now.centers,
            "counts_": now.counts,
            "weights_": np.where(half > 0, 1 / np.where(half > 0, half, 1), 0),
        }

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def fit_predict(self, X: Any, y: Any = None, **more: Any) -> Integers:  # noqa: N803
        """Fit to X, and return the cluster of each row. These are not private, so the model does not keep them."""
        return self.fit(X, y, **more).predict(X)

    def predict(self, X: Any) -> Integers:  # noqa: N803
        """The nearest center of each row."""
        return np.asarray(self.transform(X).argmin(axis=1), np.int64)

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """The distance of each row to each center."""
        check_is_fitted(self)
        rows: Floats = self._checked(X, dtype=np.float64)
        return np.sqrt(np.maximum(_squares(rows * self.weights_, self.cluster_centers_ * self.weights_), 0))


@dataclass(frozen=True, slots=True)
class Clusters:
    """Where everything is, of ranges from -1 to 1: centers, their rows, and the sums of squared distances to them."""

    centers: Floats
    counts: Floats
    squares: Floats

    @property
    def width(self) -> float:
        """The root mean squared distance of rows to their centers."""
        return max(math.sqrt(max(float(self.squares.sum()), 0.0) / float(self.counts.sum())), NARROWEST)


class _Assigned:
    """The row function of a round."""

    def __init__(self, tops: Floats, centers: Floats, far: float) -> None:
        self.tops, self.centers, self.far = tops, centers, far

    def __call__(self, block: Block) -> Sequence[Vectors]:
        return [Vectors(assigned_rows(block.raw, self.tops, self.centers, self.far))]


def cluster_sums(columns: int, clusters: int) -> Sums:
    return vector(clusters * (2 + columns), 2 * COUNT**2 + STEP**2, l1=2 * COUNT + longest(columns))


@claim("row-functions")
def assigned_rows(raw: Floats, tops: Floats, centers: Floats, far: float) -> Floats:
    """For the nearest center 1, the squared distance and the way from it, no longer than `far`; for all others 0.
    Distances are compared as whole numbers, so that they are the same wherever a row stands."""
    values = from_middle(raw[:, : len(tops)], tops)
    nearest = _squares(values, centers).argmin(axis=1)
    away = within((values - centers[nearest]) / (far * UNIT) * STEP, longest(len(tops)), STEP**2)
    squares = np.rint(np.einsum("ij,ij->i", away, away) * (COUNT / STEP**2))
    found = np.zeros((len(values), len(centers), 2 + len(tops)))
    found[np.arange(len(values)), nearest] = np.column_stack([np.full(len(values), float(COUNT)), squares, away])
    return found.reshape(len(values), -1)


def _squares(rows: Floats, centers: Floats) -> Floats:
    lengths = np.einsum("ij,ij->i", rows, rows)[:, None] + np.einsum("ij,ij->i", centers, centers)
    return np.asarray(lengths - 2 * (rows @ centers.T), np.float64)


def _axes(products: Floats, noisy: Noisy, rows: float, step: float, width: float) -> Floats:
    """Principal axes as long as the deviations along them; what noise alone would make is taken off. What they leave of
    the width is in all directions alike: centers that start in one place would stay together."""
    twice = noisy.sums.form is Form.GRAM  # each product is there twice
    columns = noisy.sums.size if twice else math.isqrt(2 * noisy.sums.numbers)
    square = square_of(products, columns) * step**2 / rows
    noise = noisy.deviation * step**2 / rows * (math.sqrt(0.5) if twice else 1)
    values, vectors = np.linalg.eigh(square)
    left = np.maximum(values - 2 * math.sqrt(columns) * noise, 0)
    left += max(width**2 - float(left.sum()), 0.0) / len(left)
    return np.asarray((vectors * np.sqrt(left)).T)


def drawn_points(middle: Floats, axes: Floats) -> Floats:
    """Points of a normal law, always the same ones, cut to the declared range. It uses what was released only."""
    normal = np.random.default_rng(0).standard_normal((POINTS, len(middle)))
    return np.clip(middle + normal @ axes, -1, 1)


def quantized(points: Floats, clusters: int, rows: float) -> Clusters:
    """Clusters of these points, which stand for so many rows."""
    chance = np.random.default_rng(0)
    centers = points[:1]
    for _ in range(clusters - 1):
        nearest = np.maximum(_squares(points, centers).min(axis=1), 0)
        odds = nearest / nearest.sum() if nearest.sum() > 0 else None
        centers = np.vstack([centers, points[chance.choice(len(points), p=odds)]])
    for _ in range(20):
        mine = _squares(points, centers).argmin(axis=1)
        sizes = np.bincount(mine, minlength=clusters)
        sums = (mine[:, None] == np.arange(clusters)).T.astype(np.float64) @ points
        centers = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centers)
    distances = _squares(points, centers)
    squares = np.bincount(distances.argmin(axis=1), np.maximum(distances.min(axis=1), 0), clusters)
    return Clusters(centers, np.maximum(sizes, 1) * rows / len(points), squares * rows / len(points))


def _restarted(now: Clusters, points: Floats, few: float) -> Clusters:
    """A cluster without rows takes half of that with the most squared distances: along the longest axis of all."""
    centers, counts, squares = now.centers.copy(), now.counts.copy(), now.squares.copy()
    few = max(few, FEW * float(counts.sum()) / len(counts))
    axis = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2][0]
    for place in np.flatnonzero(counts < few):
        widest = int(squares.argmax())
        if counts[widest] < 2 * few:
            break
        step = axis * math.sqrt(max(squares[widest], 0.0) / counts[widest]) / 2
        centers[place], centers[widest] = centers[widest] + step, centers[widest] - step
        both = np.array([place, widest])
        counts[both], squares[both] = counts[widest] / 2, squares[widest] / 4
    return Clusters(np.clip(centers, -1, 1), counts, squares)


def _moved(sums: Floats, noisy: Noisy, centers: Floats, far: float) -> Clusters:
    """Centers are moved by the noisy means of the way to their rows, as far as noise allows: first all by the same,
    which is known best, then each by what is left."""
    found = sums.reshape(len(centers), -1)
    counts, noise = np.maximum(found[:, 0] / COUNT, 1.0), noisy.deviation / STEP
    ways, all_rows = found[:, 2:] / STEP, float(counts.sum())
    together = _drawn(ways.sum(axis=0), all_rows, noise * math.sqrt(len(centers)))
    apart = _drawn(ways - counts[:, None] * together, counts[:, None], noise)
    moved = np.clip(centers + far * (together + apart), -1, 1)
    squares = far**2 * np.maximum(found[:, 1] / COUNT - counts * ((together + apart) ** 2).sum(axis=1), 0)
    return Clusters(moved, counts, squares)


def _drawn(sums: Floats, counts: Any, noise: float) -> Floats:
    """sums / counts, of which the guess is that it is about half as long as the longest row."""
    guess = 0.25 / sums.shape[-1]
    return np.asarray(sums * (counts * guess / (counts**2 * guess + noise**2)))
