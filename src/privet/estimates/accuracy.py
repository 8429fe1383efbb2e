"""How far a published number may be from the exact one, and the price at which it is near enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from privet.core.claim import claim
from privet.core.exponential import exp_enclosure
from privet.core.laws import DiscreteGaussian, DiscreteLaplace, Law
from privet.core.mechanisms import bits_for, first, gaussian_for_rho, laplace_for
from privet.core.parts import Gauge
from privet.core.sensitivity import Sensitivity
from privet.estimates.calibration import smallest


@lru_cache(maxsize=4096)
def half_width(law: Law, share: Fraction, cells: int = 1) -> int:
    """A number of steps: the noise of `cells` cells, added up, is at most that with probability at least `share`."""
    if cells > 1:
        return sum_half_width(law, share, cells)
    if isinstance(law, DiscreteLaplace):
        return laplace_half_width(law, share)
    return gaussian_half_width(law, share)


@claim("laplace-interval")
def laplace_half_width(law: DiscreteLaplace, share: Fraction) -> int:
    """The smallest k with P[|X| <= k] >= share, for 0 < share < 1.

    P[|X| > k] = 2 q**(k + 1) / (1 + q) with q = exp(-1 / scale).
    """
    bits = bits_for(law, 1 / (1 - share))
    bottom = (1 << bits) + exp_enclosure(1 / law.scale, bits)[0]

    def enough(k: int) -> bool:
        return 2 * exp_enclosure((k + 1) / law.scale, bits)[1] <= (1 - share) * bottom

    return 0 if enough(0) else first(enough)


@claim("gaussian-interval")
def gaussian_half_width(law: DiscreteGaussian, share: Fraction) -> int:
    """A k with P[|X| <= k] >= share, at most one or two above the smallest, for 0 < share < 1.

    P[|X| > k] is at most P[|N| >= k] of the continuous normal law with the same sigma.
    """
    sigma, rest = math.sqrt(law.variance), float(1 - share)

    def enough(k: int) -> bool:
        return math.erfc(k / (sigma * math.sqrt(2))) * (1 + 1e-9) <= rest

    return 0 if enough(0) else first(enough)


def price_within(sensitivity: Sensitivity, gauge: Gauge, steps: int, share: Fraction, cells: int = 1) -> Fraction:
    """The smallest price, to five digits, at which the noise of `cells` cells together is at most `steps`, with
    probability `share`."""

    def good(price: Fraction) -> bool:
        return half_width(law_for(sensitivity, gauge, price), share, cells) <= steps

    return smallest(_guess(sensitivity, gauge, steps), good)


def law_for(sensitivity: Sensitivity, gauge: Gauge, price: Fraction) -> Law:
    if gauge is Gauge.EPSILON:
        return laplace_for(price, sensitivity.l1)
    return gaussian_for_rho(price, sensitivity.l2_squared)


def _guess(sensitivity: Sensitivity, gauge: Gauge, steps: int) -> Fraction:
    if gauge is Gauge.EPSILON:
        return Fraction(3 * sensitivity.l1, steps + 1)
    return Fraction(2 * sensitivity.l2_squared, (steps + 1) ** 2)


# How far the noise of several cells together may be off: less than that of each, added up.
#
# Laplace noises that are added up have a law of their own, which is summed here term by term; beyond `LISTED` cells,
# and for Gaussian noise of little width, a bound by moments takes its place. Floats only enclose: every probability
# is rounded up by more than floats can err.

LISTED = 10_000  # cells whose law is summed term by term
ABOVE = 1 + 1e-6  # more than the floats below can err, relatively
STEEPEST = 500.0  # 1 / scale: noise of even less width is taken to be a little wider
NEAREST = 1 - 1e-9
DIGITS = 24  # bits to which a width is found; beyond that it is rounded up


@claim("sum-interval")
def sum_half_width(law: Law, share: Fraction, cells: int) -> int:
    """A k with P[|X1 + ... + Xn| <= k] >= share for n = `cells` independent draws."""
    rest = float(1 - share) / ABOVE
    tail = laplace_tail(law, cells) if isinstance(law, DiscreteLaplace) else gaussian_tail(law, cells)

    def enough(k: int) -> bool:
        return tail(k) <= rest

    return 0 if enough(0) else _first(enough)


def laplace_tail(law: DiscreteLaplace, cells: int) -> Callable[[int], float]:
    """k -> P[|sum| > k], or a bound on it."""
    if cells > LISTED:
        return lambda k: _chernoff_laplace(law, cells, k)
    rate = _rate(law)
    ahead = _ahead(law, cells)
    step = math.log(-math.expm1(-rate)) + rate  # log(p / q)

    def tail(k: int) -> float:
        """2 * sum over i of P[i of k trials succeed] * P[ahead by fewer than cells - i]."""
        log, total = -rate * k, []
        for i in range(min(k, cells - 1) + 1):
            total.append(math.exp(min(log + ahead[cells - 1 - i], 0.0)))
            log += step + math.log((k - i) / (i + 1)) if i < k else 0.0
        return 2 * math.fsum(total) * ABOVE

    return tail


@lru_cache(maxsize=64)
def _ahead(law: DiscreteLaplace, cells: int) -> list[float]:
    """The logarithms of P[J <= n] for n < cells, where J has the generating function ((q + pz) / (1 + q - qz))**cells.

    Its terms follow from one another by additions of what is positive: nothing cancels.
    """
    rate = _rate(law)
    p, q = -math.expm1(-rate), math.exp(-rate)
    b = q / (1 + q)
    log = sums = cells * -(rate + math.log1p(q))
    found, ratio = [sums], 0.0
    for n in range(cells - 1):
        top = cells * (p + b * q) - (p - b * q) * n + (p * b * (n - 1) / ratio if n else 0.0)
        ratio = top / (q * (n + 1))
        log += math.log(ratio)
        sums = max(sums, log) + math.log1p(math.exp(-abs(sums - log)))
        found.append(sums)
    return found


def _chernoff_laplace(law: DiscreteLaplace, cells: int, k: int) -> float:
    """2 exp(-s(k + 1)) M(s)**cells, with M the moments of one draw: true for every s below 1 / scale.

    With d = (e**s - 1)(1 - e**-s) q / (1 - q)**2 < 1, M(s) = 1 / (1 - d).
    """
    rate = _rate(law)
    far = (k + 1) / cells * rate
    part = min(far / (1 + math.sqrt(1 + far**2)), NEAREST)  # the best one for a continuous law
    s = rate * part
    d = math.expm1(s) * -math.expm1(-s) / (4 * math.sinh(rate / 2) ** 2)
    return 2 * math.exp(-s * (k + 1) - cells * math.log1p(-d)) * ABOVE


def _rate(law: DiscreteLaplace) -> float:
    return min(float(1 / law.scale), STEEPEST)


def gaussian_tail(law: DiscreteGaussian, cells: int) -> Callable[[int], float]:
    """k -> a bound on P[|sum| > k]: that of the normal law, if one draw is nearly normal; or that by moments."""
    variance = float(law.variance) * cells
    near = 2 * math.fsum(math.exp(-(math.pi**2) / 2 * float(law.variance) * j * j) for j in range(1, 40))
    off = math.expm1(cells * math.log1p(near)) if cells * near < 1 else math.inf

    def tail(k: int) -> float:
        by_moments = 2 * math.exp(-((k + 1) ** 2) / (2 * variance))
        if off >= 1:
            return by_moments * ABOVE
        return min(by_moments, math.erfc(k / math.sqrt(2 * variance)) * (1 + off) / (1 - off)) * ABOVE

    return tail


def _first(good: Callable[[int], bool]) -> int:
    """A good n >= 1, the smallest to `DIGITS` bits, where all larger ones are good, too."""
    low, high = 0, 1
    while not good(high):
        low, high = high, 2 * high
    while high - low > max(1, high >> DIGITS):
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high
