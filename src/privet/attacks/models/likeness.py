"""Are the models trained again like the model under attack? If not, what they teach says nothing of it."""

from __future__ import annotations

import math

import numpy as np

from privet.attacks.models.model_scores import folds, surprise
from privet.attacks.models.over_models import FEWEST, student
from privet.attacks.models.shadows import Told
from privet.attacks.models.thresholds import RATES
from privet.stats.binomial import lower
from privet.typing import Floats, Truths

UNLIKE = 1e-4  # chance that a model trained like the shadow models is taken for another one
SAME = 1e-6  # log odds within which two trainings gave the same model
STEADY = 1e-3  # standard deviations, below which surprise is rounding


def unlike(own: Floats, truth: Truths, told: Told) -> bool:
    """Whether the model is not as sure of members, or of others, as models trained on as many of them; or not of the
    same ones."""
    if len(told) < FEWEST:
        return False
    sides = ((truth, told.inside), (~truth, ~told.inside))
    usual = [
        np.array([_mean(odds[which]) for odds, which in zip(told.odds, theirs, strict=True)]) for _, theirs in sides
    ]
    far = [_far(_mean(own[mine]), theirs, SAME) for (mine, _), theirs in zip(sides, usual, strict=True)]
    surprises = np.empty(len(told))
    for one, others in folds(told):
        for place in one:
            surprises[place] = surprise(told.odds[place], told.inside[place], others)
    return max(abs(one) for one in far) > 1 or _far(surprise(own, truth, told), surprises, STEADY) > 1


def _far(mine: float, usual: Floats, least: float) -> float:
    """How far from those of shadow models, where 1 is passed with UNLIKE / 3 either way together."""
    spread = max(float(usual.std(ddof=1)), least) * math.sqrt(1 + 1 / len(usual))
    return (mine - float(usual.mean())) / (student(len(usual) - 1, UNLIKE / 3) * spread)


def _mean(odds: Floats) -> float:
    known = odds[np.isfinite(odds)]
    return float(known.mean()) if len(known) else 0.0


def too_many_alarms(sure: Floats, truth: Truths) -> bool:
    """Whether more of the others are claimed than the thresholds allow, so they do not hold for this model."""
    others = sure[~truth]
    return lower(int((others > 0).sum()), len(others), UNLIKE) > RATES[0]
