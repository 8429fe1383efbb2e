"""Many canaries, each in or out by a fair coin, and one run: how many coins can be guessed from what it gave?

Two theorems bound the number of right guesses. Both hold although the run may mix the canaries in any way, and although
the guesses, and which canaries are guessed at, are chosen after looking at the output: what is guessed may depend on
the coins through the output only.

*Counting* (Steinke, Nasr and Jagielski 2023). Given the output and the coins of canaries 1 to i - 1, the
odds of coin i are at most e**epsilon, because the output's probability with either side of the coin, averaged over the
later coins, changes by that factor at most. So the number of right ones among r guesses is dominated by W ~
Bin(r, e**epsilon / (1 + e**epsilon)), and with delta > 0

    P[right >= v]  <=  P[W >= v] + 2 * m * delta * max over i of P[v > W >= v - i] / i        (m canaries).

*Curve* (Mahloujifar, Melis and Chaudhuri 2024). Let F(q) be the largest probability that the claim allows, on one
of two neighbors, to an event of probability q on the other: concave. Of r guesses among m canaries let p_c be the
probability that c are right. Take a canary, the other coins, and the event "it is guessed heads, and j - 1 or more
others are right". With heads it says "guessed and right, j or more right in all", with tails "guessed and wrong, j - 1
or more right in all". Averaging over canaries, coins and sides, since F is concave,

    R_j <= F(H_{j-1})    where  R_j = sum over c >= j of p_c * c / m   and   H_j = sum over c >= j of p_c * (r - c) / m.

If P[right >= v] is `miss` or more, the smallest R_v is miss * v / m with H_v = miss * (r - v) / m. Going down from v,
H_{j-1} is at least H_j and the inverse of F at R_j, and R grows by (j - 1) / (r - j + 1) of what H grows by. The chain
with equality stays below every other chain in R and in R + H: with D and E for how far another one is above it in R and
in H, D >= 0, D + E >= 0 and D >= j / (r - j) * E hold at v and pass from j to j - 1. But R_0 + H_0 = r / m: if the
chain comes out above that, the probability of v or more right guesses is below `miss`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from privet.audits.canaries import TAILS, read_confidence, read_scores, roc_of
from privet.audits.claims import Claim
from privet.audits.verdict import Audit, Witness
from privet.core.rational import show, whole
from privet.errors import InvalidInputError
from privet.typing import Floats, Truths

Inverse = Callable[[float], float]
FEWEST = 10  # canaries
SHARES = (1, 2, 4, 8, 16, 32, 64)  # one canary in so many is guessed at, by default
HALVINGS = 40
SLACK = 1e-9  # more than the relative error of the sums
TINY = 1e-15
UNFAIR = 1e-9  # coins that fair ones give so rarely are refused
LINES = 48  # of a rho claim: (epsilon, delta) pairs that follow from it
NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class OneRunGuesses(Witness):
    """`hits` are right and wrong guesses, `draws` is their number."""

    def __str__(self) -> str:
        return f"{self.hits[0]:,} of {self.draws:,} guesses were right ({self.event})"


def one_run(
    scores: object, included: object, claim: Claim, *, guesses: object = None, confidence: object = 0.99
) -> Audit:
    """A lower bound from one run: `scores` of the canaries (high: looks included), and the coins `included`.

    The coins must be fair and independent (not "half of them"), and a score may depend on the output only. A guess is
    "included" for the highest scores and "not" for the lowest. `guesses` is a number of guesses, a pair (highest,
    lowest), or a list of these; every number on the list has its share of the error, so it must be fixed beforehand.
    """
    started = time.perf_counter()
    values = read_scores(scores, "scores")
    sure = read_confidence(claim, confidence)
    coins = _coins(included, len(values))
    plans = _plans(guesses, len(values))
    miss = math.nextafter(float((1 - sure) / len(plans)), 0)
    order = np.argsort(values, kind="stable")
    sizes = [high + low for high, low in plans]
    right = [_right(coins[order], *plan) for plan in plans]
    bounds = [bound_of(claim, (len(values), size, hits), miss) for size, hits in zip(sizes, right, strict=True)]
    best = max(range(len(plans)), key=bounds.__getitem__)
    return Audit(
        claim=claim,
        lower_bound=bounds[best],
        confidence=float(sure),
        ceiling=max(bound_of(claim, (len(values), size, size), miss) for size in sizes),
        rarest=1.0,
        witness=OneRunGuesses(
            "included: the {:,} highest scores, not: the {:,} lowest".format(*plans[best]),
            0,
            (right[best], sizes[best] - right[best]),
            sizes[best],
        ),
        samples=len(values),
        seconds=time.perf_counter() - started,
        method="one run with many canaries",
        roc=roc_of((values[coins], values[~coins]), TAILS[0]),
        not_tested=(
            "what another run would have given: canaries that mask each other in one run hide a leak",
            "other canaries, and other scores of the same output",
        ),
    )


def _right(coins: Truths, highest: int, lowest: int) -> int:
    """Coins in order of rising scores."""
    return int(coins[len(coins) - highest :].sum()) + int((~coins[:lowest]).sum())


def bound_of(claim: Claim, counts: tuple[int, int, int], miss: float) -> float:
    """The largest parameter that is rejected. Rounded down: a rejected one is returned."""

    def rejected(value: float) -> bool:
        return rejects(claim.parameter, value, float(claim.delta), counts, miss)

    low, high = 0.0, 1 / 64
    while rejected(high):  # ends: with a large parameter all guesses may be right
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low


def rejects(parameter: str, value: float, delta: float, counts: tuple[int, int, int], miss: float) -> bool:
    """Are so many right guesses less likely than `miss` under the claim? `counts`: canaries, guesses, right ones."""
    if 2 * counts[2] <= counts[1]:
        return False
    if parameter == "epsilon" and counting(value, delta, counts) <= miss:
        return True
    return chain_rejects(inverse_of(parameter, value, delta), counts, miss)


def counting(epsilon: float, delta: float, counts: tuple[int, int, int]) -> float:
    """The bound of the counting theorem on P[right or more], rounded up."""
    canaries, guesses, right = counts
    law = _binomial(guesses, epsilon)
    tail = float(law[right:].sum())
    if delta:
        below = np.cumsum(law[:right][::-1]) / np.arange(1, right + 1)
        tail += 2 * canaries * delta * float(below.max(initial=0.0))
    return min(1.0, tail * (1 + SLACK))


def _binomial(size: int, epsilon: float) -> Floats:
    """P[W = 0], ... P[W = size] for W ~ Bin(size, e**epsilon / (1 + e**epsilon))."""
    i = np.arange(size, dtype=np.float64)
    logs = np.concatenate([[0.0], np.cumsum(np.log((size - i) / (i + 1)) + epsilon)])
    return np.exp(logs - size * (epsilon + math.log1p(math.exp(-epsilon))))


def chain_rejects(inverse: Inverse, counts: tuple[int, int, int], miss: float) -> bool:
    """Does the smallest chain from P[right or more] = miss come out above 1?"""
    canaries, guesses, right = counts
    upper, lower = miss * right / canaries, miss * (guesses - right) / canaries  # R and H
    for i in range(right - 1, -1, -1):
        needed = inverse(upper)
        if needed <= lower:  # then nothing changes further down
            return False
        upper += i / (guesses - i) * (needed - lower)
        lower = needed
        if upper + lower > guesses / canaries * (1 + SLACK):
            return True
    return False


def inverse_of(parameter: str, value: float, delta: float) -> Inverse:
    """The least probability on one side that lets the other have R, under the claim. Rounded down."""
    if parameter == "mu":

        def gaussian(r: float) -> float:
            return 0.5 * math.erfc((value - NORMAL.inv_cdf(r)) / math.sqrt(2)) * (1 - SLACK) if r < 1 else 1 - SLACK

        return gaussian
    if parameter == "epsilon":
        factor = math.exp(value)
        return lambda r: max((r - delta) / factor, 1 - delta - factor * (1 - r)) * (1 - SLACK) - TINY
    factors, deltas = (np.array(column) for column in zip(*_zcdp_lines(value), strict=True))

    def linear(r: float) -> float:
        """P <= e**epsilon * Q + delta, for the event and for its complement with the two sides swapped."""
        least = np.maximum((r - deltas) / factors, 1 - deltas - factors * (1 - r))
        return float(least.max()) * (1 - SLACK) - TINY

    return linear


def _zcdp_lines(rho: float) -> list[tuple[float, float]]:
    """(e**epsilon, delta) pairs that rho-zCDP implies.

    delta = exp((a - 1) * (a * rho - epsilon)) / (a - 1) * (1 - 1/a)**a for every order a > 1 (Canonne, Kamath and
    Steinke 2020). Each order is taken at the epsilon where it is near its best.
    """
    lines = []
    for excess in np.geomspace(0.02, 40, LINES):  # standard deviations of the privacy loss
        epsilon = rho + excess * math.sqrt(2 * rho)
        for shift in (0.5, 0.7, 1.0):
            order = 1 + shift * (epsilon - rho) / (2 * rho)
            power = (order - 1) * (order * rho - epsilon) - math.log(order - 1) + order * math.log1p(-1 / order)
            if power < 0 and epsilon < 600:
                lines.append((math.exp(epsilon), math.exp(power) * (1 + SLACK)))
    return lines


def _coins(included: Any, size: int) -> Truths:
    array = np.asarray(included)
    if array.shape != (size,) or not bool(np.isin(array, (0, 1)).all()):
        raise InvalidInputError(
            "included must say True or False for every canary",
            "give one coin, True or False, for each score",
            "wrong-shape",
        )
    if size < FEWEST:
        raise InvalidInputError(
            f"{size} canaries are too few to bound anything", f"use {FEWEST} or more, a thousand if you can", "too-few"
        )
    heads = int(array.sum())
    if 2 * float(_binomial(size, 0.0)[max(heads, size - heads) :].sum()) < UNFAIR:
        raise InvalidInputError(
            f"{heads:,} of {size:,} canaries are included, which fair coins hardly ever give",
            "include each canary by a fair coin of its own; for runs with and without a canary use from_scores",
            "contradiction",
        )
    return array.astype(np.bool_)


def _plans(guesses: object, size: int) -> list[tuple[int, int]]:
    """Pairs (highest, lowest), each guessed at."""
    if guesses is None:
        numbers = {max(1, size // share) for share in SHARES}
        return sorted({(count - count // 2, count // 2) for count in numbers})
    listed: Sequence[Any] = guesses if isinstance(guesses, list) else [guesses]
    plans = {_plan(item, size) for item in listed}
    if not plans:
        raise InvalidInputError("guesses is an empty list", "leave it out, or give a number of guesses", "empty")
    return sorted(plans)


def _plan(item: Any, size: int) -> tuple[int, int]:
    if isinstance(item, tuple) and len(item) == 2:
        plan = (whole(item[0], "guesses", 0), whole(item[1], "guesses", 0))
    else:
        count = whole(item, "guesses", 1)
        plan = (count - count // 2, count // 2)
    if not 1 <= sum(plan) <= size:
        raise InvalidInputError(
            f"guesses must be between 1 and the number of canaries, not {show(item)}",
            f"guess at {size:,} at most",
            "out-of-range",
        )
    return plan
