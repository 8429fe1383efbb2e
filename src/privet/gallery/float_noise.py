"""Noise in floating point: the law looks right, and the last bits tell. Twins count in whole steps of a fixed grid."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.audits import Answers, Claim, Pairs
from privet.gallery.draws import gaussian_sigma
from privet.gallery.entry import Make, Pair, Pick, pair
from privet.noise import discrete_gaussian, discrete_laplace
from privet.typing import Floats

STEPS = 1024  # in a 1
MOVES = STEPS + 1  # how many steps one person moves an answer by 1 at most: cutting to the grid may add one
SENSITIVITY = Fraction(MOVES, STEPS)


def _steps(data: Any) -> int:
    """The step that an answer lies in. A power of two is multiplied without rounding, and floor is exact."""
    return math.floor(float(data) * STEPS)


def _one() -> Answers:
    return Answers(1, 1, low=-4, high=4)


def float_laplace(pick: Pick) -> Pair:
    epsilon = pick.epsilon()
    generator = np.random.default_rng()

    def broken(data: Any, size: int) -> Any:
        """A double plus a double from a Laplace sampler: doubles near 0 are finer than doubles near 1, so some outputs
        can only come from one of two answers (Mironov 2012)."""
        return float(data) + generator.laplace(0, float(SENSITIVITY / epsilon), size)

    def fixed(data: Any, size: int) -> Any:
        """The answer is cut to a grid, one step more than its change counts as its sensitivity, and the noise is a
        whole number of steps."""
        return (_steps(data) + discrete_laplace(MOVES / epsilon, size)) / STEPS

    return pair("float-laplace", Claim(epsilon=epsilon), _one(), broken, fixed)


def _gaussian(name: str, pick: Pick, sampled: Any) -> Pair:
    """A float Gaussian sampler against the discrete Gaussian on the grid, both with enough noise for the claim."""
    epsilon, delta = pick.epsilon(0.7, 1.5), Fraction(1, 10 ** pick.whole(4, 6))
    sigma = gaussian_sigma(epsilon, delta, MOVES)

    def broken(data: Any, size: int) -> Any:
        return sampled(float(data), float(sigma / STEPS), size)

    def fixed(data: Any, size: int) -> Any:
        """The answer is cut to a grid and the noise is a discrete Gaussian of whole steps, with the sigma whose exact
        delta is within the claim."""
        return (_steps(data) + discrete_gaussian(sigma, size)) / STEPS

    broken.__doc__ = sampled.__doc__
    return pair(name, Claim(epsilon=epsilon, delta=delta), _one(), broken, fixed)


def float_ziggurat(pick: Pick) -> Pair:
    generator = np.random.default_rng()

    def sampled(answer: float, sigma: float, size: int) -> Floats:
        """A double plus a normal double from NumPy's ziggurat sampler: enough noise, but last bits show the answer."""
        return answer + generator.normal(0, sigma, size)

    return _gaussian("float-gaussian-ziggurat", pick, sampled)


def float_box_muller(pick: Pick) -> Pair:
    generator = np.random.default_rng()

    def sampled(answer: float, sigma: float, size: int) -> Floats:
        """Box and Muller's transform of two 32-bit integers: the doubles that it can reach are few (Jin et al. 2022),
        and adding the answer changes which."""
        first, second = ((generator.integers(1, 2**32, size) / 2**32) for _ in range(2))
        noise: Floats = sigma * np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
        return answer + noise

    return _gaussian("float-gaussian-box-muller", pick, sampled)


def float_polar(pick: Pick) -> Pair:
    generator = np.random.default_rng()

    def sampled(answer: float, sigma: float, size: int) -> npt.NDArray[np.float32]:
        """Marsaglia's polar method in single precision, as accelerators use it: 24 bits make the gaps larger."""
        noise = np.zeros(size, np.float32)
        pending = np.arange(size)
        while len(pending):
            x, y = generator.random((2, len(pending)), np.float32) * np.float32(2) - np.float32(1)
            square = x * x + y * y
            inside = (square > 0) & (square < 1)
            s = square[inside]
            noise[pending[inside]] = x[inside] * np.sqrt(-2 * np.log(s) / s)
            pending = pending[~inside]
        return np.float32(answer) + np.float32(sigma) * noise

    return _gaussian("float-gaussian-polar", pick, sampled)


def reordered_sum(pick: Pick) -> Pair:
    epsilon = pick.epsilon(0.5, 1.2)
    large, small = 64, Fraction(1, 4)
    many = pick.whole(800, 1000)
    rows = np.array([large] * 8 + [float(small)] * many)
    domain = Pairs([(rows, rows[1:][::-1].copy()), (rows, rows[:-1].copy())])
    unit = int(large / small)

    def broken(data: Any, size: int) -> Any:
        """A sum in half precision, row by row: small values are lost on a large sum and counted before it, so the order
        of the rows, which is nobody's data, moves the sum by more than its bound (Casacuberta et al. 2022)."""
        total = np.add.accumulate(np.asarray(data, np.float16), dtype=np.float16)[-1]
        return int(float(total) / float(small)) + discrete_laplace(unit / epsilon, size)

    def fixed(data: Any, size: int) -> Any:
        """Whole multiples of a quarter are summed as integers: any order gives the same sum, and a row moves it by at
        most its bound."""
        total = int(np.rint(np.asarray(data) / float(small)).astype(np.int64).sum())
        return total + discrete_laplace(unit / epsilon, size)

    return pair("reordered-float-sum", Claim(epsilon=epsilon), domain, broken, fixed)


ITEMS: tuple[Make, ...] = (float_laplace, float_ziggurat, float_box_muller, float_polar, reordered_sum)
