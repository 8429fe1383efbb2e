"""Principal components from two rounds: where the rows are and how wide, then a noisy matrix of products."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from privet.backends.contributions import Block, Lesson, Recode, Scaled, Vectors
from privet.core.claim import claim
from privet.core.rational import whole
from privet.core.rounds import Form, Noisy, Priced, Shares, Sums, gram, vector
from privet.errors import InvalidInputError
from privet.learn.base import PrivateEstimator
from privet.learn.declared import Declared
from privet.learn.look import MIDDLE, UNIT, VARIANCE, from_middle, within
from privet.typing import Floats

WHERE, AGAIN = Fraction(1, 4), Fraction(1, 10)  # shares of the price: the first round, and the middle in the second
STEP = 2**10  # length of the longest row in the second round
NARROWEST = 1e-3  # width of all rows together, of a range from -1 to 1


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Principal components, as scikit-learn's, of a noisy covariance. Rows far out are shortened, so they count less.

    n_components: how many to keep (default: all). epsilon, delta: the price. bounds: (low, high) of all columns, or
    one pair for each. neighbors: "add-remove" or "replace". max_rows: how many rows of a unit count.
    """

    def __init__(  # noqa: PLR0913
        self,
        n_components: int | None = None,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        bounds: Any = None,
        neighbors: str = "add-remove",
        max_rows: int = 1,
    ) -> None:
        self.n_components = n_components
        self.epsilon, self.delta, self.bounds = epsilon, delta, bounds
        self.neighbors, self.max_rows = neighbors, max_rows

    def _shares(self, declared: Declared) -> Shares:
        columns = len(declared.features)
        self._wanted(columns)
        products = product_sums(columns, self._price()[1] == 0)
        middle = vector(columns, STEP**2, l1=longest(columns))
        return [[(where_sums(columns), WHERE)], [(products, 1 - WHERE - AGAIN), (middle, AGAIN)]]

    def _wanted(self, columns: int) -> int:
        wanted = columns if self.n_components is None else whole(self.n_components, "n_components", 1)
        if wanted > columns:
            raise InvalidInputError(
                f"n_components is {wanted}, but there are {columns} columns",
                f"give n_components={columns} or less",
                "out-of-range",
            )
        return wanted

    def _lesson(self, declared: Declared, prices: Priced) -> Lesson:
        tops, columns = declared.tops, len(declared.features)
        (first,) = yield lambda block: [Vectors(where_rows(block, tops))]
        rows, middle, width = where(np.array(first, np.float64), prices.rounds[0][0])
        most = width * reach(prices.rounds[1][0], rows, columns)
        half = np.where(declared.highs > declared.lows, (declared.highs - declared.lows) / 2, 0)
        yield Recode(lambda raw: shortened(raw, tops, middle, most))
        pairs = prices.rounds[1][0].sums
        products, sums = yield lambda block: [products_of(block, pairs), Vectors(block.values)]
        away = np.array(sums, np.float64) / STEP / rows
        spread = square_of(np.array(products, np.float64), columns) / STEP**2 / rows - np.outer(away, away)
        scale = np.outer(half, half) * most**2
        values, vectors = np.linalg.eigh(spread * scale)
        order = np.argsort(values)[::-1][: self._wanted(columns)]
        components = vectors[:, order].T
        signs = np.sign(components[np.arange(len(order)), np.abs(components).argmax(axis=1)])
        variances, whole_variance = np.maximum(values[order], 0), np.maximum(values, 0).sum()
        return {
            "components_": components * signs[:, None],
            "explained_variance_": variances,
            "explained_variance_ratio_": variances / max(float(whole_variance), 1e-300),
            "mean_": (declared.highs + declared.lows) / 2 + half * np.clip(middle + most * away, -1, 1),
            "n_components_": len(order),
        }

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """The components of each row of X."""
        check_is_fitted(self)
        rows: Floats = self._checked(X, dtype=np.float64)
        return np.asarray((rows - self.mean_) @ self.components_.T)

    def inverse_transform(self, X: Any) -> Floats:  # noqa: N803
        """Rows from their components."""
        check_is_fitted(self)
        return np.asarray(np.asarray(X, np.float64) @ self.components_ + self.mean_)


def where_sums(columns: int) -> Sums:
    return vector(columns + 2, (columns + 2) * UNIT**2, l1=(columns + 2) * UNIT)


@claim("row-functions")
def where_rows(block: Block, tops: Floats) -> Floats:
    """1, each value from -1 to 1, and the mean of their squares."""
    values = from_middle(block.raw[:, : len(tops)], tops)
    squares = np.einsum("ij,ij->i", values, values)
    return np.column_stack([np.full(len(values), float(UNIT)), values, np.rint(squares / (UNIT * len(tops)))])


def where(sums: Floats, noisy: Noisy) -> tuple[float, Floats, float]:
    """Rows, their middle, and their root mean squared distance from it. The middle is drawn to that of the range as far
    as noise demands; the width grows with what noise has left."""
    rows = max(float(sums[0]) / UNIT, 1.0)
    found = sums[1:-1] / UNIT / rows
    noise = (noisy.deviation / UNIT / rows) ** 2
    drawn = MIDDLE**2 / (MIDDLE**2 + noise)
    square = float(sums[-1]) / UNIT / rows * len(found)
    length = float(found @ found)
    left = square - 2 * drawn * (length - len(found) * noise) + drawn**2 * length
    least = len(found) * min(math.sqrt(noise) / 4, VARIANCE)
    return rows, np.clip(drawn * found, -1, 1), math.sqrt(min(max(left, NARROWEST**2, least), len(found)))


def reach(noisy: Noisy, rows: float, columns: int) -> float:
    """The longest row, in widths: the shorter rows are, the less noise on their products; where there is little of it
    they keep their length."""
    noise = 2 * math.sqrt(columns) * noisy.deviation / STEP**2 / rows
    return float(np.clip(0.4 * noise**-0.25, 0.8, 2.5))


def longest(columns: int) -> int:
    """In sum: of a long row with numbers of all sizes it is about 0.8 times the root of the number of columns."""
    return math.isqrt(columns * STEP**2 * 4 // 5) + 1


@claim("row-functions")
def shortened(raw: Floats, tops: Floats, middle: Floats, most: float) -> Floats:
    """From the noisy middle, no longer than `most`, which is `STEP` from now on."""
    values = from_middle(raw[:, : len(tops)], tops) / UNIT
    return within((values - middle) / most * STEP, longest(len(tops)), STEP**2)


WIDEST = 64  # columns; above, all products of a row at once take too much memory


def product_sums(columns: int, laplace: bool) -> Sums:
    """Each product once is best for Laplace noise; for Gaussian noise a gram is as good, and quicker."""
    if not laplace or columns > WIDEST:
        return gram(columns, STEP**2)
    l1 = longest(columns) ** 2
    return vector(columns * (columns + 1) // 2, STEP**4, l1=(l1 + STEP**2) // 2 + 1)


def products_of(block: Block, pairs: Sums) -> Vectors | Scaled:
    if pairs.form is Form.GRAM:
        return Scaled()
    one, other = np.triu_indices(block.values.shape[1])
    return Vectors(block.values[:, one] * block.values[:, other])


def square_of(products: Floats, columns: int) -> Floats:
    if len(products) == columns**2:
        square = products.reshape(columns, columns)
        return (square + square.T) / 2
    square = np.zeros((columns, columns))
    square[np.triu_indices(columns)] = products
    return square + np.triu(square, 1).T
