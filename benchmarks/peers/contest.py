"""Mechanisms that every auditor is given, with NumPy alone. All promise epsilon 1; two keep it.

Each maps the answers of a few queries, each of which one person changes by at most 1, to `size` outputs, one a row or
one a number. Noise is rounded to a multiple of GRID before it is added to whole numbers, so that no float gives
anything away, except where that is the point. Sparse-vector variants by their numbers in Lyu, Su and Li (2017), with
threshold 0.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Data = list[int]
Outputs = np.ndarray[Any, Any]
Mechanism = Callable[[np.random.Generator, Data, int], Outputs]
GRID = 2.0**-10
STOPPED = 2  # a query that was not answered any more


def rounded(noise: Outputs) -> Outputs:
    """Rounding noise keeps its law's ratios: each multiple stands for an interval as wide as any other."""
    return np.round(noise / GRID) * GRID


def laplace(generator: np.random.Generator, data: Data, size: int) -> Outputs:
    return data[0] + rounded(generator.laplace(0.0, 1.0, size))


def half_scale(generator: np.random.Generator, data: Data, size: int) -> Outputs:
    return data[0] + rounded(generator.laplace(0.0, 0.5, size))


def fifth_less(generator: np.random.Generator, data: Data, size: int) -> Outputs:
    """A scale a fifth too small: epsilon 1.25."""
    return data[0] + rounded(generator.laplace(0.0, 0.8, size))


def float_laplace(generator: np.random.Generator, data: Data, size: int) -> Outputs:
    return data[0] + generator.laplace(0.0, 1.0, size)


def uniform(generator: np.random.Generator, data: Data, size: int) -> Outputs:
    """As wide as Laplace noise is on the average, and without its tails."""
    return data[0] + rounded(generator.uniform(-2.0, 2.0, size))


def sparse(generator: np.random.Generator, data: Data, size: int, threshold: float, query: float) -> Outputs:
    """1 where a noisy answer is above the noisy threshold, else 0. `threshold` and `query` are the scales."""
    answers = np.asarray(data, float)
    limit = generator.laplace(0.0, threshold, (size, 1))
    noise = generator.laplace(0.0, query, (size, len(answers))) if query else 0.0
    return np.asarray(answers + noise >= limit, np.int64)


def until_first(above: Outputs) -> Outputs:
    """STOPPED behind the first 1."""
    return np.where(np.cumsum(above, axis=1) > above, STOPPED, above)


def sparse_1(generator: np.random.Generator, data: Data, size: int) -> Outputs:
    """Correct."""
    return until_first(sparse(generator, data, size, threshold=2.0, query=4.0))


def sparse_4(generator: np.random.Generator, data: Data, size: int) -> Outputs:
    """Too little noise on the queries."""
    return until_first(sparse(generator, data, size, threshold=4.0, query=4 / 3))


def sparse_5(generator: np.random.Generator, data: Data, size: int) -> Outputs:
    """No noise on the queries."""
    return sparse(generator, data, size, threshold=2.0, query=0.0)


def sparse_6(generator: np.random.Generator, data: Data, size: int) -> Outputs:
    """Any number of answers above."""
    return sparse(generator, data, size, threshold=2.0, query=2.0)


FEW_ABOVE = [[1] * 6 + [0], [0] * 6 + [1]]
HALVES = [[0] * 4 + [1] * 4, [1] * 4 + [0] * 4]
NUMBER = [[0], [1]]
ENTRIES: dict[str, tuple[Mechanism, list[Data], bool]] = {  # name: (mechanism, neighbors, does it keep its promise?)
    "Laplace": (laplace, NUMBER, True),
    "sparse vector 1": (sparse_1, FEW_ABOVE, True),
    "Laplace, half the scale": (half_scale, NUMBER, False),
    "Laplace, a fifth less scale": (fifth_less, NUMBER, False),
    "Laplace, floats": (float_laplace, NUMBER, False),
    "uniform noise": (uniform, NUMBER, False),
    "sparse vector 4": (sparse_4, FEW_ABOVE, False),
    "sparse vector 5": (sparse_5, HALVES, False),
    "sparse vector 6": (sparse_6, HALVES, False),
}
