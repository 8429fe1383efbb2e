"""The discrete Gaussian's own (epsilon, delta) curve, and the smallest sigma that meets a price.

Floats only propose a sigma to start from; integers with directed rounding decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from privet.core.accountant import LARGE_ORDER, ORDER_STEP, implies
from privet.core.claim import claim
from privet.core.exponential import exp_enclosure
from privet.core.laws import DiscreteGaussian
from privet.errors import InvalidInputError

BITS = 256  # fixed point of the certificate
REACH = 16  # sigmas that are summed; beyond lies less than exp(-128)
FINE = 256  # blocks a sigma; below this sigma every integer is a block of its own
DIGITS = 5  # significant digits of a calibrated sigma or epsilon
SMALLEST_DELTA = Fraction(1, 2**150)
PI_BELOW = Fraction(314159265358979323846, 10**20)


@claim("gaussian-curve")
def gaussian_delta(law: DiscreteGaussian, sensitivity: int, epsilon: Fraction) -> Fraction:
    """An upper bound on the smallest delta at `epsilon` when neighbors differ by at most `sensitivity`.

    With f the unnormalised law and gain(x) = log(f(x) / f(x + sensitivity)) - epsilon, which rises and is
    above 0 from `first` on,

        delta = sum over x >= first of f(x) * (1 - exp(-gain(x)))  /  sum over all x of f(x).

    In a block of integers f is at most its value at the end nearer to 0, the bracket at most its value at the
    right end. A block is one integer while sigma < FINE, so the bound is then exact but for rounding.
    """
    variance = law.variance
    sigma_above = math.isqrt(math.ceil(variance)) + 1
    width = max(1, sigma_above // FINE)
    edge = REACH * sigma_above
    first = math.floor(epsilon * variance / sensitivity - Fraction(sensitivity, 2)) + 1
    if first > edge:
        return min(Fraction(1), _tail_above(law, first))

    def gain(x: int) -> Fraction:
        return (2 * x + sensitivity) * sensitivity / (2 * variance) - epsilon

    start = max(first, 0)
    f = _Falling(law, start, width, up=True)
    kept = exp_enclosure(gain(start + width - 1), BITS)[0]
    fall = exp_enclosure(width * sensitivity / variance, BITS)[0]
    total = 0  # scaled by 2 ** (2 * BITS)
    for _ in range(start, edge + 1, width):
        total += width * f.value * ((1 << BITS) - kept)
        f.step()
        kept = kept * fall >> BITS
    for right in range(-1, max(first, -edge) - 1, -width):
        bracket = (1 << BITS) - exp_enclosure(gain(right), BITS)[0]
        total += width * exp_enclosure(law.exponent(right), BITS)[1] * bracket
    mass = Fraction(total, 1 << 2 * BITS) + 2 * _tail_above(law, edge)
    return min(Fraction(1), mass / _whole_below(law, width, edge))


class _Falling:
    """2**BITS * f(x) at x = start, start + width, ... >= 0, bounded from one side: two products a step."""

    def __init__(self, law: DiscreteGaussian, start: int, width: int, *, up: bool) -> None:
        self._up = up
        self.value = exp_enclosure(law.exponent(start), BITS)[up]
        self._ratio = exp_enclosure(law.exponent(start + width) - law.exponent(start), BITS)[up]
        self._bend = exp_enclosure(2 * law.exponent(width), BITS)[up]

    def step(self) -> None:
        self.value = self._times(self.value)
        self._ratio = self._times(self._bend)

    def _times(self, factor: int) -> int:
        product = factor * self._ratio
        return -(-product >> BITS) if self._up else product >> BITS


def _tail_above(law: DiscreteGaussian, x: int) -> Fraction:
    """An upper bound on the sum of f from x > 0 on: there f falls at least like a geometric series."""
    return Fraction(exp_enclosure(law.exponent(x), BITS)[1], 1 << BITS) * (1 + law.variance / x)


def _whole_below(law: DiscreteGaussian, width: int, edge: int) -> Fraction:
    """A lower bound on the sum of f: term by term where that is short, else sigma * sqrt(2 pi)."""
    if width > 1:
        return Fraction(math.isqrt(math.floor(2 * PI_BELOW * law.variance * 4**BITS)), 1 << BITS)
    f = _Falling(law, 1, 1, up=False)
    total = 1 << BITS
    for _ in range(edge):
        total += 2 * f.value
        f.step()
    return Fraction(total, 1 << BITS)


@claim("gaussian-calibration")
@lru_cache(maxsize=1024)
def gaussian_for(epsilon: Fraction, delta: Fraction, sensitivity: int) -> DiscreteGaussian:
    """The discrete Gaussian of smallest sigma that `gaussian_delta` certifies as (epsilon, delta)-DP.

    Sigma has five digits. Below 256 it is the smallest there is; above, blocks make it up to 0.5 % larger.
    """
    _check_certifiable(delta)

    def law(sigma: Fraction) -> DiscreteGaussian:
        return DiscreteGaussian(sigma**2)

    guess = Fraction(_continuous_sigma(float(min(epsilon, Fraction(10**6))), float(delta))) * sensitivity
    return law(smallest(guess, lambda s: gaussian_delta(law(s), sensitivity, epsilon) <= delta))


@claim("gaussian-calibration")
def gaussian_epsilon(law: DiscreteGaussian, sensitivity: int, delta: Fraction) -> Fraction:
    """The smallest epsilon, to five digits, at which `gaussian_delta` certifies the law as (epsilon, delta)-DP."""
    _check_certifiable(delta)
    rho = sensitivity**2 / (2 * law.variance)
    guess = rho + Fraction(2 * math.sqrt(-math.log(delta) * float(min(rho, Fraction(10**12)))))
    return smallest(guess, lambda e: gaussian_delta(law, sensitivity, e) <= delta)


@claim("zcdp-to-dp")
@lru_cache(maxsize=1024)
def epsilon_of_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """The smallest epsilon, to five digits, at which rho-zCDP is certified to imply (epsilon, delta)-DP by the Renyi
    divergence of one order, which floats propose."""
    size, log_delta = float(rho), math.log(delta)

    def epsilon(order: float) -> float:
        penalty = (order - 1) * math.log1p(-1 / order) - math.log(order)
        return order * size + (penalty - log_delta) / (order - 1)

    low, high = 1 + 1 / ORDER_STEP, 2 + math.sqrt(-2 * log_delta / size)
    for _ in range(200):  # it has one minimum in between: drop a third on the higher side
        third = (high - low) / 3
        low, high = (low, high - third) if epsilon(low + third) < epsilon(high - third) else (low + third, high)
    step = 1 if low >= LARGE_ORDER else ORDER_STEP
    order = max(Fraction(ORDER_STEP + 1, ORDER_STEP), Fraction(round(low * step), step))
    guess = Fraction(max(epsilon(float(order)), size / 1000))
    return smallest(guess, lambda e: implies(rho, e, delta, order))


def _check_certifiable(delta: Fraction) -> None:
    if delta < SMALLEST_DELTA:
        raise InvalidInputError(
            "delta below 2**-150 is finer than the Gaussian's certificate",
            "ask for pure privacy (delta = 0, Laplace noise) or a delta such as 1e-30",
            "too-small",
        )


def smallest(guess: Fraction, good: Callable[[Fraction], bool]) -> Fraction:
    """The smallest n * 10**k that is good, near the guess, with `DIGITS` digits: double the step, then halve."""
    magnitude = math.log10(guess.numerator) - math.log10(guess.denominator)
    unit = Fraction(10) ** (math.floor(magnitude) + 1 - DIGITS)
    n = max(1, round(guess / unit))
    step = 1
    if good(n * unit):
        high, low = n, 0
        while high - step > low and good((high - step) * unit):
            high, step = high - step, 2 * step
        low = max(low, high - step)
    else:
        while not good((n + step) * unit):
            n, step = n + step, 2 * step
        low, high = n, n + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle * unit) else (middle, high)
    return high * unit


def _continuous_sigma(epsilon: float, delta: float) -> float:
    """Sigma over sensitivity of the continuous Gaussian at (epsilon, delta), by bisection. A first guess."""

    def delta_at(sigma: float) -> float:
        left, right = 0.5 / sigma - epsilon * sigma, -0.5 / sigma - epsilon * sigma
        return _normal_cdf(left) - math.exp(min(epsilon, 700.0)) * _normal_cdf(right)

    low, high = 1e-6, 1.0
    while delta_at(high) > delta:
        high *= 2
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high


def _normal_cdf(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


def classical_sigma(epsilon: Fraction, delta: Fraction, sensitivity: int) -> float:
    """The textbook's sensitivity / epsilon * sqrt(2 ln(2 / delta)), for comparison only.

    It is wasteful at small epsilon and NOT private at large epsilon: see docs/claims.md.
    """
    return sensitivity / float(epsilon) * math.sqrt(2 * math.log(2 / float(delta)))
