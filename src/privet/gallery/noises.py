"""One answer and its noise: wrong sizes and wrong shapes. Answers are whole numbers that one person changes by 1."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from privet.audits import Answers, Claim
from privet.gallery.draws import gaussian, gaussian_sigma, geometric, laplace, whole
from privet.gallery.entry import Make, Pair, Pick, pair
from privet.noise import discrete_gaussian, discrete_laplace

FINE = 64  # steps in a whole number, where noise is meant to look continuous


def _one(low: int = -10, high: int = 10) -> Answers:
    return Answers(1, 1, low=low, high=high, whole=True)


def _answer(data: Any) -> int:
    return int(whole(data)[0])


def half_scale(pick: Pick) -> Pair:
    epsilon = pick.epsilon()

    def broken(data: Any, size: int) -> Any:
        """Laplace noise of scale 1 / (2 epsilon) for an answer of sensitivity 1: it has twice the epsilon."""
        return _answer(data) + discrete_laplace(1 / (2 * epsilon), size)

    def fixed(data: Any, size: int) -> Any:
        """Discrete Laplace of scale 1 / epsilon: neighboring outputs differ by exp(epsilon) in probability."""
        return _answer(data) + discrete_laplace(1 / epsilon, size)

    return pair("laplace-half-scale", Claim(epsilon=epsilon), _one(), broken, fixed)


def decimal_logarithm(pick: Pick) -> Pair:
    epsilon = pick.epsilon()
    generator = np.random.default_rng()

    def broken(data: Any, size: int) -> Any:
        """The inverse of Laplace's distribution with the decimal logarithm: noise 2.3 times too small."""
        lengths = -np.log10(1 - generator.random(size)) * float(FINE / epsilon)
        return FINE * _answer(data) + np.rint(generator.choice([-1, 1], size) * lengths).astype(np.int64)

    def fixed(data: Any, size: int) -> Any:
        """Discrete Laplace on the same fine grid, where one person moves the answer by all the steps of a 1."""
        return FINE * _answer(data) + discrete_laplace(FINE / epsilon, size)

    return pair("laplace-decimal-logarithm", Claim(epsilon=epsilon), _one(), broken, fixed)


def one_sided(pick: Pick) -> Pair:
    epsilon = pick.epsilon()

    def broken(data: Any, size: int) -> Any:
        """Noise that is never negative, "so that nobody is left out": an output of 3 rules out every answer above 3."""
        return _answer(data) + geometric(1 / epsilon, size, 1)[:, 0]

    def fixed(data: Any, size: int) -> Any:
        """The same tail on both sides."""
        return _answer(data) + discrete_laplace(1 / epsilon, size)

    return pair("one-sided-noise", Claim(epsilon=epsilon), _one(), broken, fixed)


def uniform_noise(pick: Pick) -> Pair:
    epsilon = pick.epsilon()
    reach = pick.whole(2, 8)
    generator = np.random.default_rng()

    def broken(data: Any, size: int) -> Any:
        """Uniform noise: the ends of what it can reach belong to one data set only, at any epsilon."""
        return _answer(data) + generator.integers(-reach, reach + 1, size)

    def fixed(data: Any, size: int) -> Any:
        """Discrete Laplace noise reaches every whole number from every other."""
        return _answer(data) + discrete_laplace(1 / epsilon, size)

    return pair("uniform-noise", Claim(epsilon=epsilon), _one(), broken, fixed)


def truncated_to_whole(pick: Pick) -> Pair:
    epsilon = pick.epsilon()
    generator = np.random.default_rng()

    def broken(data: Any, size: int) -> Any:
        """int() of a Laplace draw in place of a discrete Laplace: it cuts toward 0 from both sides, so 0 is twice as
        likely as it should be and epsilon is larger by log 2."""
        return _answer(data) + np.trunc(generator.laplace(0, float(1 / epsilon), size)).astype(np.int64)

    def fixed(data: Any, size: int) -> Any:
        """Discrete Laplace itself."""
        return _answer(data) + discrete_laplace(1 / epsilon, size)

    return pair("discrete-laplace-by-int", Claim(epsilon=epsilon), _one(), broken, fixed)


def redrawn(pick: Pick) -> Pair:
    epsilon = pick.epsilon(0.5, 1.2)

    def broken(data: Any, size: int) -> Any:
        """Noise is drawn again until the count is not negative: what is left of the law is scaled up by a factor that
        depends on the count."""
        noisy = _answer(data) + discrete_laplace(1 / epsilon, size)
        while len(again := np.flatnonzero(noisy < 0)):
            noisy[again] = _answer(data) + discrete_laplace(1 / epsilon, len(again))
        return noisy

    def fixed(data: Any, size: int) -> Any:
        """A negative count is shown as 0, which looks at the noisy count only."""
        return np.maximum(0, _answer(data) + discrete_laplace(1 / epsilon, size))

    return pair("redrawn-until-not-negative", Claim(epsilon=epsilon), _one(0, 8), broken, fixed)


def rounded_noise(pick: Pick) -> Pair:
    epsilon = pick.epsilon()
    base = pick.whole(3, 10)

    def broken(data: Any, size: int) -> Any:
        """The noise is rounded to a multiple of the base, and not the sum: the answer's remainder is still there."""
        return _answer(data) + base * np.rint(discrete_laplace(1 / epsilon, size) / base).astype(np.int64)

    def fixed(data: Any, size: int) -> Any:
        """The noisy answer is rounded, which looks at the noisy answer only."""
        return base * np.rint((_answer(data) + discrete_laplace(1 / epsilon, size)) / base).astype(np.int64)

    return pair("rounded-noise", Claim(epsilon=epsilon), _one(), broken, fixed)


def last_bit(pick: Pick) -> Pair:
    epsilon = pick.epsilon()

    def broken(data: Any, size: int) -> Any:
        """Perfect noise, but the last bit of what is printed comes from the true answer."""
        answer = _answer(data)
        return 2 * (answer + discrete_laplace(1 / epsilon, size)) + (answer & 1)

    def fixed(data: Any, size: int) -> Any:
        """Every bit comes from the noisy answer."""
        return 2 * (_answer(data) + discrete_laplace(1 / epsilon, size))

    return pair("data-dependent-last-bit", Claim(epsilon=epsilon), _one(), broken, fixed)


def data_dependent_precision(pick: Pick) -> Pair:
    epsilon = pick.epsilon()
    fixed_step = 2 ** pick.whole(1, 3)

    def rounded(noisy: Any, step: int) -> Any:
        return step * np.rint(noisy / step).astype(np.int64)

    def broken(data: Any, size: int) -> Any:
        """The noisy answer is rounded to about as many digits as the true answer has: the step shows its size."""
        answer = _answer(data)
        return rounded(answer + discrete_laplace(1 / epsilon, size), 2 ** (max(answer, 1).bit_length() - 1))

    def fixed(data: Any, size: int) -> Any:
        """The step is fixed in advance."""
        return rounded(_answer(data) + discrete_laplace(1 / epsilon, size), fixed_step)

    return pair("data-dependent-precision", Claim(epsilon=epsilon), _one(0, 20), broken, fixed)


def classic_gaussian(pick: Pick) -> Pair:
    epsilon, delta = Fraction(10), pick.number(0.1, 0.2)
    textbook = Fraction(round(FINE * math.sqrt(2 * math.log(1.25 / delta)) / 10 * 1000), 1000)
    sigma = gaussian_sigma(epsilon, delta, FINE)

    def broken(data: Any, size: int) -> Any:
        """The textbook's sigma = sqrt(2 log(1.25 / delta)) / epsilon, proved for epsilon below 1, at epsilon 10."""
        return FINE * _answer(data) + discrete_gaussian(textbook, size)

    def fixed(data: Any, size: int) -> Any:
        """The smallest sigma whose exact delta at this epsilon is within the claim."""
        return FINE * _answer(data) + discrete_gaussian(sigma, size)

    return pair("classic-gaussian-at-epsilon-10", Claim(epsilon=epsilon, delta=delta), _one(), broken, fixed)


def gaussian_largest_change(pick: Pick) -> Pair:
    root, sigma = pick.whole(2, 3), pick.whole(4, 8)
    length = root**2

    def broken(data: Any, size: int) -> Any:
        """Gaussian noise on a vector for the largest change of one number; the price is in the Euclidean length."""
        return whole(data) + gaussian(Fraction(sigma, root), size, length)

    def fixed(data: Any, size: int) -> Any:
        """Each of k numbers may change by 1: squared length k, so rho is k / (2 sigma**2)."""
        return whole(data) + gaussian(Fraction(sigma), size, length)

    domain = Answers(length, 1, whole=True)
    return pair("gaussian-largest-change", Claim(rho=Fraction(length, 2 * sigma**2)), domain, broken, fixed)


def laplace_euclidean(pick: Pick) -> Pair:
    epsilon, length = pick.epsilon(0.5, 1.2), pick.whole(3, 6)
    root = Fraction(math.ceil(1000 * math.sqrt(length)), 1000)

    def broken(data: Any, size: int) -> Any:
        """Laplace noise on a vector for its Euclidean sensitivity: the price depends on the sum of the changes."""
        return whole(data) + laplace(root / epsilon, size, length)

    def fixed(data: Any, size: int) -> Any:
        """Each of k numbers may change by 1: their sum is k, and k / epsilon the scale."""
        return whole(data) + laplace(length / epsilon, size, length)

    return pair("laplace-euclidean-change", Claim(epsilon=epsilon), Answers(length, 1, whole=True), broken, fixed)


def variance_for_deviation(pick: Pick) -> Pair:
    sigma = Fraction(pick.whole(8, 16), 4)
    generator = np.random.default_rng()

    def noisy(data: Any, deviation: float, size: int) -> Any:
        return _answer(data) + np.rint(generator.normal(0, deviation, size)).astype(np.int64)

    def broken(data: Any, size: int) -> Any:
        """The number that mu asks for as a standard deviation is taken for a variance."""
        return noisy(data, math.sqrt(sigma), size)

    def fixed(data: Any, size: int) -> Any:
        """Normal noise of standard deviation 1 / mu, rounded: adding a whole number before or after rounding is the
        same, so this only looks at the noisy answer, and no last bit of a float is left to look at."""
        return noisy(data, float(sigma), size)

    return pair("variance-for-deviation", Claim(mu=1 / sigma), _one(), broken, fixed)


ITEMS: tuple[Make, ...] = (
    half_scale, decimal_logarithm, one_sided, uniform_noise, truncated_to_whole, redrawn, rounded_noise, last_bit,
    data_dependent_precision, classic_gaussian, gaussian_largest_change, laplace_euclidean, variance_for_deviation,
)  # fmt: skip
