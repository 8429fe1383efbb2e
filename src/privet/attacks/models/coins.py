"""Coins decided who was in; how many of them may be guessed right if training keeps its promise of privacy?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.attacks.promise import Privacy
from privet.core.claim import claim
from privet.interpret import group_delta
from privet.stats.binomial import LEVEL, lower
from privet.stats.intervals import Interval
from privet.typing import Floats, Truths

SHARES = (1.0, 0.3, 0.1, 0.03, 0.01)  # of the coins, the surest guesses: fixed before anything is seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Guesses:
    """`right` of the `guessed` surest guesses. The low end of `share` is below its true value; a promise that is kept
    allows `most` at most, and is refuted if that is less than the low end."""

    guessed: int
    right: int
    share: Interval
    most: float | None

    @property
    def refuted(self) -> bool:
        return self.most is not None and self.share.low > self.most


def guesses(scores: Floats, inside: Truths, privacy: Privacy | None, failed: int = 0) -> list[Guesses] | None:
    """For each of SHARES, all together at LEVEL. Scores have a row for each model, first those of one record of every
    slot, then those of the other. None: the delta is too large for so many coins to say anything.

    A guess is the record of a slot with the higher score, the surest ones have the largest difference. So whether
    and what is guessed depends on the model and on coins of other models, and not on the coin. Of `failed` models
    nothing is guessed, but that they failed may depend on their coins, so what delta allows counts for these, too."""
    slots = scores.shape[1] // 2
    ahead, coins = (scores[:, :slots] - scores[:, slots:]).ravel(), inside[:, :slots].ravel()
    limit, slack = (None, 0.0) if privacy is None else allowed(privacy, len(coins) + failed * slots)
    if slack * len(SHARES) >= LEVEL:
        return None
    order = np.argsort(-np.abs(ahead), kind="stable")
    right = ((ahead >= 0) == coins)[order]
    return [_counted(right[: max(1, math.ceil(share * len(right)))], limit, slack) for share in SHARES]


def _counted(right: Truths, limit: float | None, slack: float) -> Guesses:
    hits, of, miss = int(right.sum()), len(right), LEVEL / len(SHARES) - slack
    return Guesses(guessed=of, right=hits, share=Interval(hits / of, lower(hits, of, miss), 1.0), most=limit)


@claim("model-coins")
def allowed(privacy: Privacy, coins: int) -> tuple[float, float]:
    """(q, s): of any r guesses at these coins, the number of right ones exceeds every value with at most the chance
    that a binomial of r and q does, plus s. q = e^E / (1 + e^E) and s = coins * D / (1 + e^E), both rounded up, for
    E and D of replacing one record."""
    steps = 2 if privacy.neighbors == "add-remove" else 1
    epsilon, delta = float(steps * privacy.epsilon), group_delta(steps, privacy.epsilon, privacy.delta)
    least = 1 / (1 + math.exp(min(epsilon, 700.0))) * (1 - 1e-12)
    return min(1.0, math.nextafter(1 - least, 2.0)), float(Fraction(coins) * delta * Fraction(least * (1 + 3e-12)))
