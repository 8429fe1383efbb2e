"""Counts, histograms and sums of a table whose rows are people: noise for the wrong change, or for too few answers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from privet.audits import Claim, Rows
from privet.gallery.draws import counts, laplace
from privet.gallery.entry import Make, Pair, Pick, pair
from privet.noise import discrete_laplace
from privet.typing import Integers

MISSING = float("nan")


def _total(rows: Any) -> int:
    return sum(int(row) for row in rows)


def inverse_scale(pick: Pick) -> Pair:
    epsilon, kinds = pick.epsilon(0.3, 0.7), range(pick.whole(3, 6))

    def broken(data: Any, size: int) -> Any:
        """A histogram with noise of scale epsilon, where 1 / epsilon was meant."""
        return counts(data, kinds) + laplace(epsilon, size, len(kinds))

    def fixed(data: Any, size: int) -> Any:
        """One row changes one cell by 1, so every cell gets noise of scale 1 / epsilon."""
        return counts(data, kinds) + laplace(1 / epsilon, size, len(kinds))

    return pair("histogram-scale-epsilon", Claim(epsilon=epsilon), Rows(list(kinds)), broken, fixed)


def histogram_replaced(pick: Pick) -> Pair:
    epsilon, kinds = pick.epsilon(), range(pick.whole(3, 5))

    def broken(data: Any, size: int) -> Any:
        """A histogram with noise of scale 1 / epsilon where a row may become another: that changes two cells."""
        return counts(data, kinds) + laplace(1 / epsilon, size, len(kinds))

    def fixed(data: Any, size: int) -> Any:
        """Two cells change by 1 each, so the scale is 2 / epsilon."""
        return counts(data, kinds) + laplace(2 / epsilon, size, len(kinds))

    domain = Rows(list(kinds), neighbors="replace")
    return pair("histogram-two-cells-change", Claim(epsilon=epsilon), domain, broken, fixed)


def prefix_sums(pick: Pick) -> Pair:
    epsilon, kinds = pick.epsilon(0.5, 1.2), range(pick.whole(3, 6))

    def broken(data: Any, size: int) -> Any:
        """Prefix sums of a histogram with noise of scale 1 / epsilon each: right if a neighbor changes one of them, but
        a row more or less changes all that come after it."""
        return np.cumsum(counts(data, kinds)) + laplace(1 / epsilon, size, len(kinds))

    def fixed(data: Any, size: int) -> Any:
        """The cells get the noise, and the prefix sums are made of the noisy cells."""
        return np.cumsum(counts(data, kinds) + laplace(1 / epsilon, size, len(kinds)), axis=1)

    return pair("prefix-sums-wrong-neighbors", Claim(epsilon=epsilon), Rows(list(kinds)), broken, fixed)


def many_at_full_price(pick: Pick) -> Pair:
    epsilon, times = pick.epsilon(0.5, 1.2), pick.whole(2, 5)

    def broken(data: Any, size: int) -> Any:
        """The same count is answered several times, each time with fresh noise for all of epsilon."""
        return len(data) + laplace(1 / epsilon, size, times)

    def fixed(data: Any, size: int) -> Any:
        """k answers share epsilon: scale k / epsilon each."""
        return len(data) + laplace(times / epsilon, size, times)

    return pair("every-answer-at-full-epsilon", Claim(epsilon=epsilon), Rows([0, 1]), broken, fixed)


def every_column(pick: Pick) -> Pair:
    epsilon, columns = pick.epsilon(0.5, 1.2), pick.whole(2, 4)
    top = pick.whole(1, 4)

    def sums(data: Any) -> Any:
        return np.array(list(data), np.int64).reshape(-1, columns).sum(axis=0)

    def broken(data: Any, size: int) -> Any:
        """The sum of every column with all of epsilon: a row is in all of them (smartnoise issue 200)."""
        return sums(data) + laplace(top / epsilon, size, columns)

    def fixed(data: Any, size: int) -> Any:
        """k columns share epsilon: a row changes each sum by at most top, and scale k * top / epsilon pays for all."""
        return sums(data) + laplace(columns * top / epsilon, size, columns)

    domain = Rows(list(product((0, top), repeat=columns)))
    return pair("every-column-at-full-epsilon", Claim(epsilon=epsilon), domain, broken, fixed)


def private_size(pick: Pick) -> Pair:
    epsilon, top = pick.epsilon(0.5, 0.9), pick.whole(2, 10)
    generator = np.random.default_rng()

    def broken(data: Any, size: int) -> Any:
        """A mean with noise for top / n, where n is the number of rows, which is private itself: a neighbor has another
        noise."""
        rows = max(len(data), 1)
        return _total(data) / rows + generator.laplace(0, float(top / (rows * epsilon)), size)

    def fixed(data: Any, size: int) -> Any:
        """A noisy sum and a noisy number of rows for half of epsilon each; anybody can divide them."""
        total = _total(data) + discrete_laplace(2 * top / epsilon, size)
        return np.column_stack([total, len(data) + discrete_laplace(2 / epsilon, size)])

    return pair("mean-with-private-n", Claim(epsilon=epsilon), Rows(list(range(top + 1))), broken, fixed)


def bounds_from_data(pick: Pick) -> Pair:
    epsilon, top = pick.epsilon(), pick.whole(4, 20)

    def broken(data: Any, size: int) -> Any:
        """The bound that sets the noise is the largest value in the data: without that row there is less noise."""
        largest = max(data, default=0)
        return _total(data) + (discrete_laplace(largest / epsilon, size) if largest else np.zeros(size, np.int64))

    def fixed(data: Any, size: int) -> Any:
        """The bound is declared."""
        return _total(data) + discrete_laplace(top / epsilon, size)

    return pair("bounds-from-data", Claim(epsilon=epsilon), Rows(list(range(top + 1))), broken, fixed)


def raw_data(pick: Pick) -> Pair:
    epsilon, top = pick.epsilon(), pick.whole(2, 5)
    values = [0, 1, top, top * pick.whole(3, 10)]

    def broken(data: Any, size: int) -> Any:
        """The noise fits values clamped to the bound, but the sum is taken of the raw ones (smartnoise issue 622)."""
        return _total(data) + discrete_laplace(top / epsilon, size)

    def fixed(data: Any, size: int) -> Any:
        """What is summed is clamped."""
        return _total(min(row, top) for row in data) + discrete_laplace(top / epsilon, size)

    return pair("clamped-noise-raw-data", Claim(epsilon=epsilon), Rows(values), broken, fixed)


def replace_sensitivity(pick: Pick) -> Pair:
    epsilon, low, width = pick.epsilon(), pick.whole(10, 50), pick.whole(2, 5)
    values = list(range(low, low + width + 1))

    def broken(data: Any, size: int) -> Any:
        """A sum with noise for the width of the range, which is what a row in place of another changes; a row more
        changes it by a whole value."""
        return _total(data) + discrete_laplace(width / epsilon, size)

    def fixed(data: Any, size: int) -> Any:
        """The noise is for the largest value that a row can have."""
        return _total(data) + discrete_laplace((low + width) / epsilon, size)

    return pair("replace-sensitivity-under-add-remove", Claim(epsilon=epsilon), Rows(values), broken, fixed)


def nan_in_the_sum(pick: Pick) -> Pair:
    epsilon, top = pick.epsilon(), pick.whole(1, 5)

    def broken(data: Any, size: int) -> Any:
        """NaN passes through the clamp, and the sum is NaN whenever one person's value is."""
        clamped = np.clip(np.array(data, np.float64), 0, top)
        return np.sum(clamped) + discrete_laplace(top / epsilon, size)

    def fixed(data: Any, size: int) -> Any:
        """What is not a number counts as 0, before the clamp; whole numbers are summed."""
        clamped = np.clip(np.nan_to_num(np.array(data, np.float64), nan=0.0), 0, top)
        return np.floor(clamped).astype(np.int64).sum() + discrete_laplace(top / epsilon, size)

    return pair("nan-survives-the-clamp", Claim(epsilon=epsilon), Rows([0.0, float(top), MISSING]), broken, fixed)


def tree_one_level(pick: Pick) -> Pair:
    epsilon, levels = pick.epsilon(0.5, 1.2), 3
    leaves = range(2 ** (levels - 1))

    def tree(data: Any) -> Integers:
        """The number of rows in every node, from the leaves to the root."""
        levels_of_counts = [counts(data, leaves)]
        while len(levels_of_counts[-1]) > 1:
            levels_of_counts.append(levels_of_counts[-1].reshape(-1, 2).sum(axis=1))
        return np.concatenate(levels_of_counts)

    def broken(data: Any, size: int) -> Any:
        """A tree of counts with noise for one level in every node: a row is in one node of each level."""
        nodes = tree(data)
        return nodes + laplace(1 / epsilon, size, len(nodes))

    def fixed(data: Any, size: int) -> Any:
        """A row changes as many nodes as there are levels, and the scale is the number of levels / epsilon."""
        nodes = tree(data)
        return nodes + laplace(levels / epsilon, size, len(nodes))

    return pair("tree-noise-for-one-level", Claim(epsilon=epsilon), Rows(list(leaves)), broken, fixed)


def local_noise(pick: Pick) -> Pair:
    epsilon, top = pick.epsilon(), pick.whole(6, 12)

    def median(data: Any) -> tuple[int, int]:
        """The upper median, and how far it could move with one row."""
        rows = [0, *sorted(data), top]
        middle = len(rows) // 2
        return rows[middle], max(rows[middle] - rows[middle - 1], rows[min(middle + 1, len(rows) - 1)] - rows[middle])

    def broken(data: Any, size: int) -> Any:
        """Noise for how far the median could move on this very data set (local sensitivity): the size of the noise is
        itself a secret, and can be 0 next to a data set where it is not (Nissim, Raskhodnikova and Smith 2007)."""
        answer, change = median(data)
        return answer + (discrete_laplace(Fraction(change) / epsilon, size) if change else np.zeros(size, np.int64))

    def fixed(data: Any, size: int) -> Any:
        """Noise for the largest change on any data set, which is the width of the range."""
        return median(data)[0] + discrete_laplace(top / epsilon, size)

    return pair("local-sensitivity-noise", Claim(epsilon=epsilon), Rows(list(range(top + 1))), broken, fixed)


ITEMS: tuple[Make, ...] = (
    inverse_scale, histogram_replaced, prefix_sums, many_at_full_price, every_column, private_size, bounds_from_data,
    raw_data, replace_sensitivity, nan_in_the_sum, tree_one_level, local_noise,
)  # fmt: skip
