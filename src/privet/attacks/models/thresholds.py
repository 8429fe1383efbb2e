"""From which score on somebody is claimed: decided on shadow models, of which it is known who was in, before the model
under attack is scored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.attacks.models.over_models import share_over_models
from privet.stats.roc import LEVEL, allowed
from privet.typing import Floats, Truths

RATES = (0.01, 0.005, 0.002, 0.001)  # of false alarms
SURE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Above `score` lie at most `rate` of the people who are out, over shadow models, and at least the share `sure` of
    people above it are in, if in and out were equally likely."""

    score: float
    rate: float
    sure: float


def thresholds(scores: Floats, inside: Truths) -> list[Threshold]:
    """Those at which a claim is sure enough, the lowest first. All of them hold together with 95 % over models."""
    found, people = [], scores.shape[1] // 2
    outside = -np.sort(-scores[~inside])
    for rate in RATES:
        above = scores > outside[allowed(rate, len(outside))]
        hits = share_over_models((above & inside).sum(axis=1) / people, people, LEVEL / len(RATES))
        alarms = share_over_models((above & ~inside).sum(axis=1) / people, people, LEVEL / len(RATES))
        sure = hits.low / (hits.low + alarms.high)
        if sure >= SURE:
            found.append(Threshold(score=float(outside[allowed(rate, len(outside))]), rate=rate, sure=sure))
    return found


def sureness(scores: Floats, steps: list[Threshold]) -> Floats:
    """How sure it is that each of these people was in; 0 where nothing is claimed."""
    sure = np.zeros(len(scores))
    for step in steps:
        sure = np.where(scores > step.score, np.maximum(sure, step.sure), sure)
    return sure
