"""How well a model predicts rows that it did not learn from: what each row adds, and the score that noisy sums give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.backends.contributions import Vectors
from privet.core.claim import claim
from privet.core.rational import show
from privet.core.rounds import Round, Shares, counts, vector
from privet.errors import InvalidInputError
from privet.estimates.accuracy import half_width
from privet.learn.declared import Column
from privet.spelling import did_you_mean
from privet.typing import Floats

STEP = 2**20  # steps of the largest squared error
FARTHEST = 0.5  # of the declared range: a larger error counts as this large, which makes the noise four times smaller
SURE = Fraction(95, 100)  # of an interval
SCORINGS = {"class": ("accuracy",), "number": ("rmse", "r2")}  # by the kind of target; the first is the usual one
WORDS = {
    "accuracy": "share of right predictions",
    "rmse": "root of the mean squared error",
    "r2": "share of the variance that is explained",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score with the interval that holds the exact one, as far as noise goes, in 95 of 100 cases. A value of None is
    unknown: there is too much noise to say anything."""

    value: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return "unknown: too much noise for so few rows"
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


UNKNOWN = Score(value=None, low=None, high=None)


def scoring_of(given: object, target: str) -> str:
    """The scoring that was named, or the usual one for the kind of target."""
    known = SCORINGS[target]
    if given is None:
        return known[0]
    if not isinstance(given, str) or given not in known:
        kind = "classes" if target == "class" else "a number"
        raise InvalidInputError(
            f"there is no scoring {show(given)} for a target that is {kind}",
            f"{did_you_mean(given, known) if isinstance(given, str) else ''}the scorings are: {', '.join(known)}",
            "unknown-choice",
        )
    return given


def score_shares(scoring: str) -> Shares:
    """One round. Right and wrong ones, or an error and what it lacks to the largest one: together they are as large for
    every row, so they tell how many rows there are at no price of its own."""
    if scoring == "accuracy":
        return [[(counts(2), Fraction(1))]]
    errors = vector(2, STEP**2, l1=STEP, positive=True)
    if scoring == "rmse":
        return [[(errors, Fraction(1))]]
    values = vector(2, 2 * STEP**2, l1=2 * STEP)
    return [[(errors, Fraction(1, 2)), (values, Fraction(1, 2))]]


@claim("row-functions")
def scored_rows(scoring: str, predicted: Floats, truth: Floats, target: Column) -> list[Vectors]:
    """What rows add, from the predicted and the true class or number of each, in steps."""
    if scoring == "accuracy":
        right = predicted == truth
        return [Vectors(np.column_stack([right, ~right]).astype(np.float64))]
    top = max(target.top, 1)
    errors = np.rint(np.clip((predicted - truth) / (top * FARTHEST), -1, 1) ** 2 * STEP)
    found = [Vectors(np.column_stack([errors, STEP - errors]))]
    if scoring == "r2":
        values = (np.clip(truth / top, 0, 1) - 0.5) / FARTHEST
        found.append(Vectors(np.column_stack([np.rint(values * STEP), np.rint(values * values * STEP)])))
    return found


@claim("score-interval")
def score(scoring: str, target: Column, one: Round, sums: Sequence[Sequence[int]], folds: int = 1) -> Score:
    """The score from the noisy sums of a fold, or of several added up."""
    share = 1 - (1 - SURE) / sum(noisy.sums.numbers for noisy in one)
    far = [float(half_width(noisy.law, share, folds)) for noisy in one]
    if scoring == "r2":
        return _explained(sums, far)
    (some, rest), span = sums[0], FARTHEST * (target.high - target.low)
    shown: Callable[[float], float] = (lambda x: x) if scoring == "accuracy" else (lambda x: span * math.sqrt(x))
    low, high = _part(some - far[0], rest + far[0], 0.0), _part(some + far[0], rest - far[0], 1.0)
    if (low, high) == (0, 1):
        return UNKNOWN
    return Score(value=shown(_part(some, rest, low)), low=shown(low), high=shown(high))


def _part(some: float, rest: float, otherwise: float) -> float:
    """Of two numbers that are not negative, the part that the first is of both."""
    some, rest = max(some, 0.0), max(rest, 0.0)
    return some / (some + rest) if some + rest else otherwise


def _explained(sums: Sequence[Sequence[int]], far: Sequence[float]) -> Score:
    """R2: 1 less the squared errors over the squares of values around their mean."""
    ((errors, lack), (values, squares)), (wide, apart) = sums, far

    def spread(squares: float, values: float, rows: float) -> float:
        return squares - values**2 / rows if rows > 0 else 0.0

    rows = (errors + lack) / STEP
    fewest, most = (max(errors + by, 0.0) / STEP + max(lack + by, 0.0) / STEP for by in (-wide, wide))
    least = spread(squares - apart, (abs(values) + apart) / math.sqrt(STEP), fewest)
    largest = spread(squares + apart, max(abs(values) - apart, 0.0) / math.sqrt(STEP), most)
    if least <= 0:
        return UNKNOWN
    middle = max(spread(squares, values / math.sqrt(STEP), rows), least)
    low, high = 1 - max(errors + wide, 0.0) / least, 1 - max(errors - wide, 0.0) / largest
    return Score(value=1 - max(errors, 0.0) / middle, low=low, high=high)
