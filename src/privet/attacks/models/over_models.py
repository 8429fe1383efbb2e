"""Intervals over models: what another model, trained with other members, would show."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from privet.stats.binomial import lower, upper
from privet.stats.intervals import Interval
from privet.stats.roc import LEVEL
from privet.typing import Floats

FEWEST = 3  # models, below which nothing is known of how they differ
ANGLES = 20_001


def share_over_models(found: Floats, people: int, level: float = LEVEL) -> Interval:
    """The mean over models of a share of so many people each. Student's interval of the models, widened where people
    alone leave more open: if no model found anybody, the models do not differ, and yet nothing is certain."""
    mean, models = float(found.mean()), len(found)
    hits, of = round(mean * models * people), models * people
    low, high = lower(hits, of, level / 2), upper(hits, of, level / 2)
    around = mean_over_models(found, level)
    return Interval(mean, min(low, around.low), max(high, around.high))


def mean_over_models(values: Floats, level: float = LEVEL) -> Interval:
    """Student's interval of numbers from 0 to 1, one from each model."""
    mean, models = float(values.mean()), len(values)
    if models < FEWEST:
        return Interval(mean, 0.0, 1.0)
    wide = student(models - 1, level) * float(values.std(ddof=1)) / math.sqrt(models)
    return Interval(mean, max(0.0, mean - wide), min(1.0, mean + wide))


@lru_cache(256)
def student(freedom: int, level: float) -> float:
    """Beyond which, on either side, a t variable is with chance `level`: with t = sqrt(freedom) tan(angle), its density
    is cos(angle) ** (freedom - 1) up to a factor."""
    angles = np.linspace(0.0, math.pi / 2, ANGLES)
    density = np.cos(angles) ** (freedom - 1)
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    angle = float(np.interp(1 - level, below / below[-1], angles))
    return math.sqrt(freedom) * math.tan(angle)
