"""Wald's sequential test: a rate of failures is as low as stated, or it is too high.

It looks after every trial and stops as soon as the answer is clear. At equal errors, no test needs fewer trials on
average (Wald and Wolfowitz 1948), and a mechanism that never fails is accepted after a fraction of the trials that a
fixed number would take.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rates:
    """`stated` is wrongly rejected with probability `alarm` at most, `too_high` wrongly accepted with `miss` at most.

    The same holds for every lower and every higher rate: the likelihood ratio is monotone. Both bounds are Wald's and
    hold for any number of trials (the expectation of a likelihood ratio is at most 1)."""

    stated: float
    too_high: float
    alarm: float
    miss: float

    def evidence(self, failed: bool | int, trials: int = 1) -> float:
        """Logarithm of the likelihood ratio of trials of which so many failed."""
        fails, passes = self.too_high / self.stated, (1 - self.too_high) / (1 - self.stated)
        return failed * math.log(fails) + (trials - failed) * math.log(passes)

    @property
    def fewest(self) -> int:
        """Trials after which a mechanism that never fails is accepted."""
        return math.ceil(math.log(self.miss) / self.evidence(False))


@dataclass(frozen=True, slots=True)
class Outcome:
    accepted: bool
    trials: int
    failed: int


def decide(rates: Rates, trials: Iterable[tuple[int, int]]) -> Outcome:
    """Failures and trials of one batch after another. Batches that run out before the answer is clear are a mistake in
    the test, not an answer."""
    evidence, failed, number = 0.0, 0, 0
    for bad, tried in trials:
        evidence += rates.evidence(bad, tried)
        failed, number = failed + bad, number + tried
        if evidence >= -math.log(rates.alarm):
            return Outcome(False, number, failed)
        if evidence <= math.log(rates.miss):
            return Outcome(True, number, failed)
    raise AssertionError(f"{failed} of {number} trials failed: neither answer is clear, give more trials")
