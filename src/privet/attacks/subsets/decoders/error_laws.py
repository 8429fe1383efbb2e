"""What an answer says about the sum behind it, for every law of errors.

The true sum is believed to be normal with mean p and variance t; the answer is the sum and an error. With u, how far
the answer is above p, and Z(u), the density of u (the error's law smoothed by the normal), a channel gives

    pull = -d log Z / du        toward the answer: the sum's posterior mean is p + t * pull
    sure = d pull / du          its posterior variance is t - t * t * sure

These are the output functions of generalized approximate message passing (Rangan 2011). Errors of a law that is not
the assumed one do no harm to how sure `amp` is: it measures the spread of pulls instead of trusting `sure`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import assert_never

import numpy as np

from privet.attacks.subsets.decoders.normal import cdf, log_cdf, mills
from privet.attacks.subsets.decoders.normal import density as normal_density
from privet.attacks.subsets.decoders.problem import Errors
from privet.errors import InvalidInputError
from privet.typing import Floats

Channel = Callable[[Floats, float], tuple[Floats, Floats]]  # of u and t: pull and sure
LARGEST = 1e100  # of an error or an answer: squares are numbers, too
NARROW = 1e-3  # of the belief's deviation: a bound or scale below is like a normal error


def checked(errors: Errors) -> Errors:
    """Errors that can be: finite, not negative, and not all wild. Exact answers have errors of size 0."""
    if errors.law not in ("exact", "normal", "laplace", "bounded", "outliers"):
        raise InvalidInputError(
            f"errors of the law {errors.law!r}", "choose exact, normal, laplace, bounded or outliers", "unknown-choice"
        )
    if not 0 <= errors.size < LARGEST:
        raise InvalidInputError(f"errors of size {errors.size}", "give a finite size that is not negative", "negative")
    if not 0 <= errors.share < 1:
        raise InvalidInputError(
            f"a share {errors.share} of wild answers", "give a share from 0 to below 1", "out-of-range"
        )
    return Errors("exact") if errors.law == "exact" else errors


def channel(errors: Errors, width: float) -> Channel:
    """By the law of errors. `width`: wild answers are anywhere in a range so wide."""
    size = errors.size
    match errors.law:
        case "exact" | "normal":
            return lambda u, t: normal(u, t, size**2)
        case "laplace":
            return lambda u, t: laplace(u, t, size)
        case "bounded":
            return lambda u, t: uniform(u, t, size)
        case "outliers":
            return lambda u, t: outliers(u, t, size, errors.share / (1 - errors.share) / width)
        case _:
            assert_never(errors.law)


def normal(u: Floats, t: float, variance: float) -> tuple[Floats, Floats]:
    return u / (t + variance), np.full(len(u), 1 / (t + variance))


def laplace(u: Floats, t: float, scale: float) -> tuple[Floats, Floats]:
    """Z is a sum of two parts, for errors above and below 0, whose densities at 0 are equal and cancel in Z'. The pull
    is then the share of one part less that of the other, over the scale."""
    s = math.sqrt(t)
    if scale < NARROW * s:
        return normal(u, t, 2 * scale**2)
    above, below = u / s - s / scale, -u / s - s / scale
    share = _logistic(log_cdf(above) - log_cdf(below) - 2 * u / scale)
    slope = (1 / mills(-above) + 1 / mills(-below)) / s - 2 / scale
    return (2 * share - 1) / scale, np.maximum(2 * share * (1 - share) / scale * slope, 0.0)


def uniform(u: Floats, t: float, bound: float) -> tuple[Floats, Floats]:
    """The sum is normal, cut off at the bound on both sides of the answer.

    Of a normal number between `low` and `high`, with the densities f there over the chance to be between: the mean is
    f(low) - f(high), and the variance 1 + low f(low) - high f(high) less the square of the mean.
    """
    s = math.sqrt(t)
    if bound < NARROW * s:
        return normal(u, t, bound**2 / 3)
    side = np.where(u < 0, -1.0, 1.0)
    low, high = (np.abs(u) - bound) / s, (np.abs(u) + bound) / s
    away = np.exp((low - high) * (low + high) / 2)  # of densities: high over low; high is the farther one
    between = mills(low) - away * mills(high)
    at_low = 1 / between
    at_high = away * at_low
    pull = (at_low - at_high) / s
    return side * pull, np.clip((high * at_high - low * at_low) / t + pull**2, 0.0, 1 / t)


def outliers(u: Floats, t: float, size: float, flat: float) -> tuple[Floats, Floats]:
    """A wild answer, `flat` times as likely everywhere as any other, says nothing of the sum; others are normal."""
    variance = t + size**2
    away = np.square(u) / variance
    share = flat * math.sqrt(2 * math.pi * variance)
    tame = _logistic(-away / 2 - math.log(share)) if share else np.ones(len(u))
    return tame * u / variance, tame * (1 - (1 - tame) * away) / variance


def density(errors: Errors, u: Floats, t: float, width: float) -> Floats:
    """Z: of how far an answer is above the mean of the belief."""
    s, size = math.sqrt(t), errors.size
    match errors.law:
        case "exact" | "normal":
            return _density(u, t + size**2)
        case "laplace":
            if size < NARROW * s:
                return _density(u, t + 2 * size**2)
            high = log_cdf(u / s - s / size) - u / size
            low = log_cdf(-u / s - s / size) + u / size
            return np.asarray(np.exp(np.logaddexp(high, low) + t / size**2 / 2)) / (2 * size)
        case "bounded":
            if size < NARROW * s:
                return _density(u, t + size**2 / 3)
            return (cdf((size - np.abs(u)) / s) - cdf((-size - np.abs(u)) / s)) / (2 * size)
        case "outliers":
            wild = np.where(np.abs(u) <= width / 2, errors.share / width, 0.0)
            return wild + (1 - errors.share) * _density(u, t + size**2)
        case _:
            assert_never(errors.law)


def _density(u: Floats, variance: float) -> Floats:
    return np.asarray(normal_density(u / math.sqrt(variance)) / math.sqrt(variance))


def _logistic(x: Floats) -> Floats:
    """1 / (1 + exp(-x)), without overflow."""
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1.0, small) / (1 + small))
