"""Learning: gradient steps, tuning, sampling. Gradients are cut to a grid, so that sums and noise are whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from privet.audits import Answers, Claim, Rows
from privet.gallery.draws import gaussian, laplace, whole
from privet.gallery.entry import Make, Pair, Pick, pair
from privet.noise import discrete_laplace
from privet.typing import Floats, Integers

STEPS = 64  # in a gradient of length 1


def _gradients(data: Any, dimensions: int) -> Floats:
    return np.array(list(data), np.float64).reshape(-1, dimensions)


def _clipped(rows: Floats) -> Integers:
    """Rows of length 1 at most, in steps. Shortened by a hair, against rounding, and cut toward 0: never longer."""
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    steps: Integers = np.trunc(rows / np.maximum(lengths, 1) * (STEPS * (1 - 2.0**-20))).astype(np.int64)
    return steps


def _price(multiplier: Fraction) -> Claim:
    """Gaussian noise of `multiplier` times the largest length: rho = 1 / (2 multiplier**2)."""
    return Claim(rho=1 / (2 * multiplier**2))


def _plane(pick: Pick) -> Rows:
    """Gradients in the plane, some much longer than 1."""
    length = pick.whole(1, 5)
    return Rows([(3 * length, 4 * length), (-6 * length, -8 * length), (0, 0), (0, length)], most=5)


def batch_clipped(pick: Pick) -> Pair:
    multiplier = pick.number(1, 2)

    def broken(data: Any, size: int) -> Any:
        """The sum of the gradients is clipped, and not each person's: one person can turn it round, from length 1 in
        one direction to length 1 in the other."""
        total = _clipped(_gradients(data, 2).sum(axis=0, keepdims=True))
        return total[0] + gaussian(multiplier * STEPS, size, 2)

    def fixed(data: Any, size: int) -> Any:
        """Each person's gradient is clipped to length 1, so a person more or less moves the sum by 1 at most."""
        return _clipped(_gradients(data, 2)).sum(axis=0) + gaussian(multiplier * STEPS, size, 2)

    return pair("sgd-clips-the-batch", _price(multiplier), _plane(pick), broken, fixed)


def noise_per_row(pick: Pick) -> Pair:
    multiplier, lot = pick.number(1, 3), pick.whole(2, 8)

    def broken(data: Any, size: int) -> Any:
        """The noise of a sum is divided by the size of the lot before it is added to the sum, and not after."""
        return _clipped(_gradients(data, 2)).sum(axis=0) + gaussian(multiplier * STEPS / lot, size, 2)

    def fixed(data: Any, size: int) -> Any:
        """The noise fits the sum of clipped gradients; anybody can divide both by the size of the lot."""
        return _clipped(_gradients(data, 2)).sum(axis=0) + gaussian(multiplier * STEPS, size, 2)

    return pair("sgd-noise-divided-by-the-lot", _price(multiplier), _plane(pick), broken, fixed)


def clipped_by_coordinate(pick: Pick) -> Pair:
    multiplier, dimensions = pick.number(1, 2), pick.whole(4, 6)
    signs = [(1,) * dimensions, (-1,) * dimensions, (1, -1) + (0,) * (dimensions - 2), (0,) * dimensions]
    domain = Rows([tuple(3 * sign for sign in row) for row in signs], most=5)

    def broken(data: Any, size: int) -> Any:
        """Each coordinate of a gradient is clipped to 1, and the noise is for a gradient of length 1: it may be as long
        as the root of the number of coordinates."""
        clipped = np.clip(_gradients(data, dimensions), -1, 1) * STEPS
        return clipped.sum(axis=0).astype(np.int64) + gaussian(multiplier * STEPS, size, dimensions)

    def fixed(data: Any, size: int) -> Any:
        """The length of the gradient is clipped."""
        return _clipped(_gradients(data, dimensions)).sum(axis=0) + gaussian(multiplier * STEPS, size, dimensions)

    return pair("sgd-clips-each-coordinate", _price(multiplier), domain, broken, fixed)


def untold_search(pick: Pick) -> Pair:
    epsilon, runs = pick.epsilon(0.5, 1), pick.whole(4, 7)

    def best(scores: Integers, scale: Fraction, size: int) -> Integers:
        noisy = scores + laplace(scale, size, len(scores))
        return np.column_stack([noisy.argmax(axis=1), noisy.max(axis=1)])

    def broken(data: Any, size: int) -> Any:
        """The best of several settings, each tried at epsilon, is published as one run at epsilon: the search is not
        told."""
        return best(whole(data), 1 / epsilon, size)

    def fixed(data: Any, size: int) -> Any:
        """k runs share epsilon, so all their scores could be published, and so can the best."""
        return best(whole(data), runs / epsilon, size)

    domain = Answers(runs, 1, low=-5, high=5, whole=True)
    return pair("untold-hyper-parameter-search", Claim(epsilon=epsilon), domain, broken, fixed)


def no_sampling(pick: Pick) -> Pair:
    epsilon, one_in = pick.epsilon(1, 2), 2 ** pick.whole(1, 3)
    amplified = math.log1p((math.exp(epsilon) - 1) / one_in)
    generator = np.random.default_rng()

    def broken(data: Any, size: int) -> Any:
        """The price of a random sample of the rows is claimed, and all rows are used."""
        return len(data) + discrete_laplace(1 / epsilon, size)

    def fixed(data: Any, size: int) -> Any:
        """Each row is taken with probability q, by its own fair bits: epsilon becomes log(1 + q (e**epsilon - 1))."""
        taken = generator.integers(0, one_in, (size, len(data)), np.uint8) == 0
        return taken.sum(axis=1) + discrete_laplace(1 / epsilon, size)

    claim = Claim(epsilon=Fraction(math.ceil(amplified * 10**9), 10**9))
    return pair("amplified-without-sampling", claim, Rows([0, 1]), broken, fixed)


ITEMS: tuple[Make, ...] = (batch_clipped, noise_per_row, clipped_by_coordinate, untold_search, no_sampling)
