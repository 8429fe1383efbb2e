"""From scores of runs with and without one record (a canary) to a lower bound on epsilon, rho or mu.

Each score comes from a run of its own: train with the canary, score; train without it, score. Many canaries in one run
are another matter (`one_run`), because what the run does to one of them may depend on the others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.audits.claims import Claim
from privet.audits.verdict import Audit, Witness
from privet.core.rational import rational, show
from privet.errors import InvalidInputError
from privet.stats import binomial
from privet.typing import Floats

FEWEST = 2
POINTS = 64  # of the picture
NAMES = ("with the canary", "without it")


@dataclass(frozen=True, slots=True)
class _Tail:
    """Scores beyond one end, as an event that should come up more often on the side `likelier`."""

    likelier: int  # 0: with the canary
    high: bool  # scores above a threshold, or below one

    def event(self, threshold: float) -> str:
        return f"score {'>' if self.high else '<'} {threshold:.6g}"


TAILS = tuple(_Tail(likelier, high) for likelier in (0, 1) for high in (True, False))


def from_scores(inside: object, outside: object, claim: Claim, *, confidence: object = 0.99) -> Audit:
    """A lower bound on the claim's parameter from independent scores `inside` (with the canary) and `outside`.

    A threshold T is an order statistic of the side where the event should be rare: the score that j others of its n
    follow, for j in a list fixed beforehand (0, 1, 2, 4, ...). No draw is set aside to choose it, because

        P[ P[score > T] > u ]  <=  P[Bin(n, u) <= j]     for every u:

    let t be the supremum of the thresholds with P[score > t] > u. Then P[score > t] <= u, so that the event on the left
    needs T < t, and then at most j of n scores reach t, each of which does so with probability u or more. (Ties only
    help.) So the Clopper–Pearson bound for j hits holds; and given T, the hits of the other side, which are independent
    of it, are binomial. Both tails and both directions are tried, and share the chance of an error evenly.
    """
    started = time.perf_counter()
    sides = (read_scores(inside, "inside"), read_scores(outside, "outside"))
    sure = read_confidence(claim, confidence)
    tests = list(_tests(sides))
    miss = math.nextafter(float((1 - sure) / (2 * len(tests))), 0)
    found = [(_least(claim, sides, tail, rank, miss), tail, rank) for tail, rank in tests]
    (bound, hits, threshold), tail, rank = max(found, key=lambda item: item[0][0])
    draws = (len(sides[tail.likelier]), len(sides[1 - tail.likelier]))
    rare = [binomial.upper(0, len(side), miss) for side in sides]
    return Audit(
        claim=claim,
        lower_bound=bound,
        confidence=float(sure),
        ceiling=max(claim.least(binomial.lower(len(sides[a]), len(sides[a]), miss), rare[1 - a]) for a in (0, 1)),
        rarest=min(claim.most(chance) for chance in rare),
        witness=Witness(
            tail.event(threshold),
            tail.likelier,
            (hits, rank),
            draws[0],
            NAMES,
            0 if draws[0] == draws[1] else draws[1],
        ),
        samples=min(map(len, sides)),
        seconds=time.perf_counter() - started,
        method="scores of a canary",
        roc=roc_of(sides, tail),
        not_tested=("other canaries, other data around them, and other scores of the same runs",),
    )


def _tests(sides: tuple[Floats, Floats]) -> Iterator[tuple[_Tail, int]]:
    """Every tail with ranks 0, 1, 2, 4, ... up to half of the rare side: fixed before any score is seen."""
    for tail in TAILS:
        rank, size = 0, len(sides[1 - tail.likelier])
        while rank <= size // 2:
            yield tail, rank
            rank = 2 * rank or 1


def _least(claim: Claim, sides: tuple[Floats, Floats], tail: _Tail, rank: int, miss: float) -> tuple[float, int, float]:
    """The bound, how many scores of the likelier side lie beyond the threshold, and the threshold."""
    sign = 1 if tail.high else -1
    rare, often = sign * sides[1 - tail.likelier], sign * sides[tail.likelier]
    threshold = float(np.partition(rare, len(rare) - 1 - rank)[len(rare) - 1 - rank])
    hits = int((often > threshold).sum())
    if hits == 0:
        return 0.0, 0, sign * threshold
    p, q = binomial.lower(hits, len(often), miss), binomial.upper(rank, len(rare), miss)
    return claim.least(p, q), hits, sign * threshold


def roc_of(sides: tuple[Floats, Floats], tail: _Tail) -> tuple[tuple[float, float], ...]:
    """Shares of either side beyond thresholds: (other, likelier). For the picture only."""
    sign = 1 if tail.high else -1
    often, rare = (np.sort(sign * sides[side]) for side in (tail.likelier, 1 - tail.likelier))
    both = np.sort(np.concatenate([often, rare]))
    cuts = np.unique(both[np.linspace(0, len(both) - 1, POINTS).astype(np.int64)])[::-1]
    shares = [[1 - np.searchsorted(part, cut, side="right") / len(part) for part in (rare, often)] for cut in cuts]
    return tuple((float(x), float(y)) for x, y in [*shares, [1.0, 1.0]])


def read_scores(values: Any, name: str) -> Floats:
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or len(array) < FEWEST:
        raise InvalidInputError(
            f"{name} must be a list of at least {FEWEST} numbers",
            f"give {name} as one score a run or canary",
            "wrong-shape",
        )
    if bool(np.isnan(array).any()):
        raise InvalidInputError(
            f"{name} has a score that is nan", "give failed runs a score, such as -inf", "not-a-number"
        )
    return array


def read_confidence(claim: object, confidence: object) -> Fraction:
    if not isinstance(claim, Claim):
        raise InvalidInputError(
            f"claim must be a Claim, not {show(claim)}", "write pv.audits.Claim(epsilon=1)", "wrong-type"
        )
    sure = rational(confidence, "confidence")
    if not Fraction(1, 2) <= sure < 1:
        raise InvalidInputError(
            f"confidence must be at least 0.5 and below 1, not {show(confidence)}",
            "for example confidence=0.99",
            "out-of-range",
        )
    return sure
