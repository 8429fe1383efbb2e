"""What happens around an answer: seeds, caches, refusals and budgets that look at the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.audits import Claim, Rows
from privet.gallery.draws import counts, laplace
from privet.gallery.entry import Make, Pair, Pick, pair
from privet.noise import discrete_laplace


def fixed_seed(pick: Pick) -> Pair:
    epsilon, seed = pick.epsilon(), pick.whole(0, 10_000)

    def broken(data: Any) -> Any:
        """The generator is seeded with a constant before every answer: the noise is always the same number."""
        generator = np.random.default_rng(seed)
        return len(data) + round(generator.laplace(0, float(1 / epsilon)))

    def fixed(data: Any, size: int) -> Any:
        """Fresh noise from the operating system's entropy for every answer."""
        return len(data) + discrete_laplace(1 / epsilon, size)

    return pair("fixed-seed", Claim(epsilon=epsilon), Rows([0, 1]), broken, fixed)


def cached_noise(pick: Pick) -> Pair:
    epsilon, kinds = pick.epsilon(), range(pick.whole(2, 4))

    def broken(data: Any, size: int) -> Any:
        """Noise is kept under the text of the query without its parameters: all the counts get the same noise, and
        their differences are exact."""
        return counts(data, kinds) + laplace(1 / epsilon, size, 1)

    def fixed(data: Any, size: int) -> Any:
        """Each count has its own noise; a row is in one of them."""
        return counts(data, kinds) + laplace(1 / epsilon, size, len(kinds))

    return pair("noise-cached-by-query-text", Claim(epsilon=epsilon), Rows(list(kinds)), broken, fixed)


def abort(pick: Pick) -> Pair:
    epsilon, least = pick.epsilon(), pick.whole(2, 5)

    def broken(data: Any, size: int) -> Any:
        """An error where there are too few rows, decided by their true number: the error is an exact answer."""
        if len(data) < least:
            raise ValueError("too few rows")
        return sum(data) + discrete_laplace(1 / epsilon, size)

    def fixed(data: Any, size: int) -> Any:
        """A noisy number of rows decides, for half of epsilon; the sum has the other half, shown or not."""
        enough = len(data) + discrete_laplace(2 / epsilon, size) >= least
        return np.where(enough, sum(data) + discrete_laplace(2 / epsilon, size), np.nan)

    return pair("abort-depends-on-data", Claim(epsilon=epsilon), Rows([0, 1]), broken, fixed)


def refund(pick: Pick) -> Pair:
    epsilon, kinds, paid = pick.epsilon(), range(pick.whole(4, 6)), pick.whole(1, 3)

    def broken(data: Any, size: int) -> Any:
        """A budget for a few counts, where a count that is truly 0 is not charged: how many counts are answered depends
        on the data."""
        charged = np.cumsum(counts(data, kinds) > 0)
        answered = np.concatenate([[0], charged[:-1]]) < paid
        return np.where(answered, counts(data, kinds) + laplace(1 / epsilon, size, len(kinds)), np.nan)

    def fixed(data: Any, size: int) -> Any:
        """Every count is charged, whatever it is; all of them together cost epsilon, since a row is in one."""
        answered = np.arange(len(kinds)) < paid
        return np.where(answered, counts(data, kinds) + laplace(1 / epsilon, size, len(kinds)), np.nan)

    return pair("budget-depends-on-data", Claim(epsilon=epsilon), Rows(list(kinds)), broken, fixed)


ITEMS: tuple[Make, ...] = (fixed_seed, cached_noise, abort, refund)
