"""Exact laws of mechanisms that draw exact noise: every noise that matters is listed, with its probability.

A mechanism that returns `size` draws is called once with a grid: each row is one outcome of all its noise. What comes
out, with the probabilities of the rows, is its law up to tails that are cut; `exact_epsilon` assumes nothing of them,
so its lower bound is a bound that really holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import privet as pv

Column = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]  # outcomes, and their probabilities
MOST = 60_000  # rows of a grid
REACH = 30  # scales; a tail of exp(-30)
NAMES = ("discrete_laplace", "discrete_gaussian", "choose", "randomized_response")


class ListedNoise:
    """Stands in for the samplers. A first call of the mechanism records its requests, a second gets the grid."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, modules: Sequence[ModuleType]) -> None:
        self.columns: list[Column] = []
        self._grid: npt.NDArray[np.int64] | None = None
        self._used = 0
        for module in modules:
            for name in NAMES:
                if hasattr(module, name):
                    monkeypatch.setattr(module, name, getattr(self, name))

    def law(self, mechanism: Callable[..., Any], data: Any) -> dict[Hashable, float]:
        self.columns, self._grid = [], None
        mechanism(data, 1)
        columns = self._within_reach() if self.columns else [(np.zeros(1, np.int64), np.ones(1))]
        places = np.indices([len(values) for values, _ in columns]).reshape(len(columns), -1)
        weights = np.ones(places.shape[1])
        for (_, chances), place in zip(columns, places, strict=True):
            weights *= chances[place]
        self._grid = np.array([values[place] for (values, _), place in zip(columns, places, strict=True)])
        self._used = 0
        return _summed(np.asarray(mechanism(data, places.shape[1])), weights)

    def _within_reach(self) -> list[Column]:
        """All columns, the wide ones cut to what a grid has room for."""
        room = int(MOST ** (1 / len(self.columns)))
        cut = []
        for values, chances in self.columns:
            middle, half = len(values) // 2, max(room // 2, 1)
            part = slice(max(0, middle - half), middle + half + 1) if len(values) > room else slice(None)
            cut.append((values[part], chances[part]))
        return cut

    def _drawn(self, columns: Sequence[Column], size: int) -> npt.NDArray[np.int64]:
        """One row a draw, one column a request."""
        if self._grid is None:
            self.columns += columns
            return np.zeros((size, len(columns)), np.int64)
        part = self._grid[self._used : self._used + len(columns)].T
        self._used += len(columns)
        return part

    def _additive(self, exponent: Callable[[Any], Any], scale: float, count: int) -> npt.NDArray[np.int64]:
        reach = math.ceil(REACH * scale)
        values = np.arange(-reach, reach + 1)
        heights = np.exp(-exponent(values))
        size = 1 if self._grid is None else self._grid.shape[1]
        return self._drawn([(values, heights / heights.sum())] * (count // size), size).ravel()

    def discrete_laplace(self, scale: Fraction, count: int) -> npt.NDArray[np.int64]:
        return self._additive(lambda x: np.abs(x) / float(scale), float(scale), count)

    def discrete_gaussian(self, sigma: Fraction, count: int) -> npt.NDArray[np.int64]:
        return self._additive(lambda x: x * x / (2 * float(sigma) ** 2), float(sigma), count)

    def choose(self, losses: Sequence[Fraction], size: int) -> npt.NDArray[np.int64]:
        heights = np.exp([-float(loss - min(losses)) for loss in losses])
        return self._drawn([(np.arange(len(losses)), heights / heights.sum())], size)[:, 0]

    def randomized_response(
        self, codes: npt.NDArray[np.int64], *, categories: int, epsilon: Fraction
    ) -> npt.NDArray[np.int64]:
        heights = np.ones(categories)
        heights[0] = math.exp(epsilon)
        column = (np.arange(categories), heights / heights.sum())
        return (codes + self._drawn([column] * codes.shape[1], len(codes))) % categories


def _summed(outputs: npt.NDArray[Any], weights: npt.NDArray[np.float64]) -> dict[Hashable, float]:
    """The probability of each different output; nan is one, equal to itself. Rounded down, for a sum below 1."""
    rows = np.nan_to_num(outputs.reshape(len(outputs), -1).astype(np.float64), nan=0.5)  # nothing else is half a number
    first, where = np.unique(rows.view([("", np.float64)] * rows.shape[1]).ravel(), return_inverse=True)
    totals = np.bincount(where, weights) * (1 - 1e-9)
    return dict(zip(first.tolist(), totals.tolist(), strict=True))


def least_parameter(claim: pv.audits.Claim, p: dict[Hashable, float], q: dict[Hashable, float]) -> float:
    """A lower bound on what is claimed, from two laws: exact for epsilon; for rho the best Rényi divergence."""
    if claim.parameter == "epsilon":
        return max(_epsilon(first, second, float(claim.delta)) for first, second in ((p, q), (q, p)))
    return max(_renyi(first, second, order) / order for first, second in ((p, q), (q, p)) for order in (1.1, 2, 4, 8))


def _epsilon(p: dict[Hashable, float], q: dict[Hashable, float], delta: float) -> float:
    """As `pv.audits.exact_epsilon` bounds it from below, in floats: sets by falling ratio, missing mass against us."""
    outputs = list(p | q)
    a, b = (np.array([law.get(key, 0.0) for key in outputs]) for law in (p, q))
    order = np.argsort(-(a + 1e-300) / (b + 1e-300))
    gains, prices = np.cumsum(a[order]) - delta, np.cumsum(b[order]) + 1 - b.sum()
    return float(np.log(np.max(np.maximum(gains, 1e-300) / prices)))


def _renyi(p: dict[Hashable, float], q: dict[Hashable, float], order: float) -> float:
    """Over the outputs that both laws list: what they do not list, neither of them, is a tail of both."""
    both = [key for key in p if key in q]
    a, b = (np.array([law[key] for key in both]) for law in (p, q))
    return float(np.log((a**order * b ** (1 - order)).sum()) / (order - 1))
