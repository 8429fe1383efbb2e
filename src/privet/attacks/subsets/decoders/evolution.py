"""What a decoder will find, before any answer is known: the state evolution of random matrices.

For a large matrix of independent entries, what a decoder learns of a person is the truth with a normal error, and the
size of that error is the fixed point of a map of one number: from the error, how well people are known; from that, how
well their sums are known; from that and the law of errors, the error. For message passing the map is one round (Bayati
and Montanari 2011; Rangan 2011). For least squares in the box, L1 and Chebyshev, the decoders of `box`, `absolute` and
`chebyshev`, the same map holds with their own rule of fitting in place of the posterior mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from privet.attacks.subsets.decoders.error_laws import channel, checked, density
from privet.attacks.subsets.decoders.normal import density as normal_density
from privet.attacks.subsets.decoders.problem import Errors, Forecast
from privet.errors import InvalidInputError
from privet.typing import Floats

ROUNDS = 500
STILL = 1e-7  # relative change of the error
TINY, HUGE = 1e-12, 1e12  # of the error: everything is known, and nothing
TAIL = 12.0  # deviations beyond which a normal number never is
DECAY = 40.0  # scales beyond which a Laplace number never is
STEPS = np.linspace(-10, 10, 2001)
WEIGHTS = normal_density(STEPS) * (STEPS[1] - STEPS[0])
CONVEX = ("box least squares", "L1", "Chebyshev")


def forecast(people: int, answers: int, errors: Errors, *, rate: float = 0.5, share: float = 0.5) -> Forecast:
    """Of `amp`, for random subsets that have a `share` of people each; `rate` is the share of ones."""
    variance = _checked(people, answers, rate, share)
    errors = checked(errors)

    def following(error: float) -> float:
        belief = people * variance * max(_spread(error, rate), TINY)
        return 1 / max(answers * variance * _information(errors, belief, people), 1 / HUGE)

    error = _fixed(following)
    return Forecast(
        decoder="amp", recovered=_recovered(error, rate),
        why=f"state evolution: the truth with a normal error of deviation {math.sqrt(error):.3g}",
    )  # fmt: skip


def convex(decoder: str, people: int, answers: int, errors: Errors, *, share: float = 0.5) -> Forecast:
    """Of decoders that fit values from 0 to 1 by the smallest sum of squares, of absolutes, or largest residual.

    The evidence is cut to [0, 1]; those who stay strictly inside are as many as the answers which hold them: all for
    squares, those that are met exactly for absolutes, those at the largest residual for Chebyshev. That count gives
    the part of the residuals which is left to pull. How many ones there are plays no part: the box looks the same from
    both ends.
    """
    variance = _checked(people, answers, 0.5, share)
    errors = checked(errors)
    if decoder not in CONVEX:
        raise InvalidInputError(f"no forecast for {decoder!r}", f"choose one of {', '.join(CONVEX)}", "unknown-choice")

    def following(error: float) -> float:
        miss, inside = _clipped(error)
        belief = people * variance * max(miss, TINY)
        pull = _pull(decoder, errors, belief, people, min(people * inside / answers, 1 - TINY))
        return min(max(pull / (answers * variance), TINY), HUGE)

    error = _fixed(following)
    return Forecast(
        decoder=decoder, recovered=_one(0.5 / math.sqrt(error)),
        why=f"state evolution: the truth with a normal error of deviation {math.sqrt(error):.3g}",
    )  # fmt: skip


def _checked(people: int, answers: int, rate: float, share: float) -> float:
    """The variance of an entry."""
    if people < 1 or answers < 1:
        raise InvalidInputError(f"{answers} answers about {people} people", "give at least one of each", "not-positive")
    for what, value in (("rate", rate), ("share", share)):
        if not 0 < value < 1:
            raise InvalidInputError(f"a {what} of {value}", "give a number above 0 and below 1", "out-of-range")
    return share * (1 - share)


def _fixed(following: Callable[[float], float]) -> float:
    """Where the error stays, from knowing nothing on."""
    error = following(math.inf)
    for _ in range(ROUNDS):
        before, error = error, following(error)
        if abs(error - before) <= STILL * before:
            break
    return error


def _spread(error: float, rate: float) -> float:
    """The mean posterior variance of people."""
    if math.isinf(error):
        return rate * (1 - rate)
    spread = 0.0
    for bit, chance in ((0, 1 - rate), (1, rate)):
        odds = (bit - 0.5) / error + STEPS / math.sqrt(error) + math.log(rate / (1 - rate))
        spread += chance * float((WEIGHTS / (4 * np.cosh(np.clip(odds / 2, -300, 300)) ** 2)).sum())
    return spread


def _recovered(error: float, rate: float) -> float:
    """The chance that the likelier bit is right."""
    edge = 0.5 - error * math.log(rate / (1 - rate))
    deviation = math.sqrt(error)
    return (1 - rate) * _one(edge / deviation) + rate * _one((1 - edge) / deviation)


def _one(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _information(errors: Errors, belief: float, people: int) -> float:
    """What an answer says: the mean square of its pull, the Fisher information about where the sum is."""
    if errors.law in ("exact", "normal"):
        return 1 / (belief + errors.size**2)
    law, total = channel(errors, people), 0.0
    for start, stop in _panels(errors, belief):
        nodes, weights = _gauss()
        u = start + (stop - start) * nodes
        pulls, _ = law(u, belief)
        total += 2 * (stop - start) * float((weights * density(errors, u, belief, people) * np.square(pulls)).sum())
    return total


def _panels(errors: Errors, belief: float) -> list[tuple[float, float]]:
    """Where an answer pulls, and smoothly."""
    wide = TAIL * math.sqrt(belief)
    if errors.law == "laplace":
        return [(0, wide), (wide, wide + DECAY * errors.size)]
    if errors.law == "bounded":
        return [(max(0, errors.size - wide), errors.size + wide)]
    return [(0, TAIL * math.sqrt(belief + errors.size**2))]


@cache
def _gauss() -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss and Legendre from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    return (nodes + 1) / 2, weights / 2


def _clipped(error: float) -> tuple[float, float]:
    """Of evidence cut to [0, 1]: the mean square by which it misses the truth, and the share strictly inside. With d
    the deviation, a cut-off normal number has the second moment d² (½ - tail(1/d) - density(1/d) / d) up to 1, and
    1 beyond, the same on both sides of either bit."""
    if math.isinf(error):
        return 0.25, 1.0
    deviation = math.sqrt(error)
    beyond = _one(-1 / deviation)
    at_end = float(normal_density(np.array(1 / deviation)))
    inside = 0.5 - beyond
    miss = error * (inside - at_end / deviation) + beyond
    return miss, inside


def _pull(decoder: str, errors: Errors, belief: float, people: int, share: float) -> float:
    """The mean square of what pulls, over the square of the share of answers that yield."""
    u, weights = _grid(errors, belief, people)
    if decoder == "box least squares":
        return float((weights * u**2).sum())
    below = np.cumsum(weights)
    if decoder == "L1":
        edge = float(np.interp(share, below, u))
        part = float((weights * np.minimum(u, edge) ** 2).sum())
    else:
        edge = float(np.interp(1 - share, below, u))
        part = float((weights * np.maximum(u - edge, 0) ** 2).sum())
    return part / share**2


def _grid(errors: Errors, belief: float, people: int) -> tuple[Floats, Floats]:
    """Sizes of residuals, and the chance of each: fine everywhere, finer at the edge of a bounded error."""
    wide = TAIL * math.sqrt(belief)
    match errors.law:
        case "outliers":
            top = people / 2 + wide
        case "laplace":
            top = DECAY * errors.size + wide
        case "bounded":
            top = errors.size + wide
        case _:
            top = TAIL * math.sqrt(belief + errors.size**2)
    edge = errors.size if errors.law == "bounded" else 0.0
    near = np.linspace(max(0, edge - wide), min(edge + wide, top), 2001)
    u = np.unique(np.concatenate([np.linspace(0, top, 4001), near]))
    middles = (u[1:] + u[:-1]) / 2
    chances = 2 * density(errors, middles, belief, people) * np.diff(u)
    return middles, chances / chances.sum()
