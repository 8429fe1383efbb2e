"""Clopper–Pearson bounds on a probability, from how often an event came up. Rounded outward."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from privet.stats.intervals import Interval

LEVEL = 0.05  # an interval misses with this chance at most
HALVINGS = 64
TINY = 1e-15


def lower(hits: int, draws: int, miss: float) -> float:
    """At most the probability of the event, except with chance `miss`."""
    return max(0.0, math.nextafter(1 - upper(draws - hits, draws, miss), 0.0))


def share(hits: int, of: int) -> Interval:
    """So many of so many, with the 95 % interval of Clopper and Pearson."""
    if not of:
        return Interval(0.0, 0.0, 1.0)
    return Interval(hits / of, lower(hits, of, LEVEL / 2), upper(hits, of, LEVEL / 2))


@lru_cache(1024)  # a report asks for the same bounds several times
def upper(hits: int, draws: int, miss: float) -> float:
    """At least the probability of the event, except with chance `miss`: the p with P[Bin(draws, p) <= hits] = miss."""
    if hits == draws:
        return 1.0
    tail = LogTail(hits, draws)
    goal = math.log(miss) - tail.error
    low, high = hits / draws, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if tail.at(middle) > goal else (low, middle)
    return min(1.0, high * (1 + TINY))


class LogTail:
    """log P[Bin(n, p) <= k] for p >= k/n, where the terms fall from k downward.

    The term d below k is the top term times products of (k - i) / (n - k + 1 + i) * (1 - p) / p for i < d, and is at
    most exp(-d * (d - 1) / 2k) of it: beyond 12 * sqrt(k) terms less than 1e-30 is left.
    """

    def __init__(self, k: int, n: int) -> None:
        self._k, self._n = k, n
        self._log_choices = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        i = np.arange(min(k, 12 * math.isqrt(k) + 12), dtype=np.float64)
        self._ratios = (k - i) / (n - k + 1 + i)
        # three log-gammas of at most n log n, two products of that size, and one rounding for each term
        self.error = 1e-15 * (4 * n * math.log(n + 1) + len(i) + 40)

    def at(self, p: float) -> float:
        return self.tangent(p)[0]

    def tangent(self, p: float) -> tuple[float, float]:
        """The value, and how fast it falls with p: (n - k) / (1 - p) times the share of the top term, times -1."""
        if p >= 1:
            return -math.inf, -math.inf
        top = self._log_choices + self._k * math.log(p) + (self._n - self._k) * math.log1p(-p)
        rest = float((self._ratios * ((1 - p) / p)).cumprod().sum())
        return top + math.log1p(rest), -(self._n - self._k) / ((1 - p) * (1 + rest))
