"""What one attack reached: on the model itself, on models trained again, and where nobody was in by design."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privet.attacks.models.over_models import FEWEST, mean_over_models, share_over_models, student
from privet.stats.binomial import upper
from privet.stats.intervals import Interval
from privet.stats.roc import LEVEL, Roc, allowed, roc
from privet.typing import Floats, Truths

RATE = 0.01  # of false alarms
STRICT, MANY = 0.001, 10_000  # and where so many scores of people who are out say something about it
FEW = (0.0, 0.0002, 0.001)  # of those who are out, above whom it is looked for a few people who stand out
SHIFT = 1e-3  # chance that members and others who are alike are taken for different


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """`curve`: this model, its intervals over people. `auc`, `found`: models trained again, intervals over models; None
    without them. `strict`: found at STRICT. `control`: models to which the coins gave other members, with the truth of
    this one. `taught` ranks attacks by what they reached on shadow models. `top`: if most of the highest scores in
    models trained again, shadow models included, are of people who are in, how many of how many."""

    curve: Roc
    scores: Floats
    model_scores: Floats
    model_curve: Roc | None
    auc: Interval | None
    found: Interval | None
    strict: Interval | None
    control: Interval | None
    shifted: bool
    taught: tuple[float, float]
    top: tuple[int, int] | None


def measured(scores: Floats, truth: Truths, again: Floats, inside: Truths, taught: tuple[Floats, Truths]) -> Measured:
    models, people = len(again), scores.shape[0] // 2
    curves = [roc(row[which], row[~which]) for row, which in zip(again, inside, strict=True)]
    aucs = np.array([curve.auc.value for curve in curves])
    shadow_curves = [roc(row[which], row[~which]) for row, which in zip(*taught, strict=True)]
    control = [roc(row[truth], row[~truth]) for row in taught[0]] if len(taught[0]) >= FEWEST else []
    pooled = _pooled(again, inside) if models >= 2 else None
    return Measured(
        curve=roc(scores[truth], scores[~truth]),
        scores=scores,
        model_scores=again,
        model_curve=pooled,
        auc=None if not models else _auc(aucs, again, inside),
        found=None if not models else _found(curves, RATE, people),
        strict=None if models * people < MANY else _strict(again, inside, people),
        control=_control(control, LEVEL) if control else None,
        shifted=bool(control) and _shifted(control),
        taught=rank(shadow_curves),
        top=_top(again, inside, taught),
    )


def _top(again: Floats, inside: Truths, taught: tuple[Floats, Truths]) -> tuple[int, int] | None:
    """Those that a model knows by heart may be too few for a share at RATE. Coins decided who is in, so without a leak
    the highest scores are of either kind with chance 1/2; it counts if surely more than two of three are in."""
    rows, who = np.concatenate([again.ravel(), taught[0].ravel()]), np.concatenate([inside.ravel(), taught[1].ravel()])
    outside = -np.sort(-rows[~who])
    for above in sorted({allowed(rate, len(outside)) for rate in FEW}) if len(outside) else ():
        hits = int((rows[who] > outside[above]).sum())
        if hits and upper(above, above + hits, SHIFT / len(FEW)) < 1 / 3:
            return hits, above + hits
    return None


def _shifted(curves: list[Roc]) -> bool:
    """Whether members score higher, or more of them very high, in models in which they are as often as others. Among
    people who are alike, those above a threshold are of either kind with chance 1/2."""
    usual, above = _control(curves, SHIFT), allowed(RATE, len(curves[0].outside))
    hits = int(np.mean([curve.tpr_at(RATE).value * len(curve.inside) for curve in curves]))
    alike = upper(above, above + hits, SHIFT) >= 0.5 if hits else True
    return not (alike and usual.low <= 0.5 <= usual.high)


def differ(curve: Roc, level: float) -> bool:
    """Whether the people inside and outside, as many of either, are not alike: by who is higher (Mann and Whitney), and
    by how many inside are above all others, and above the threshold of RATE. If they are alike, each person above
    is of either kind with chance 1/2."""
    people, part = len(curve.outside), level / 3
    far = abs(curve.auc.value - 0.5) / math.sqrt((2 * people + 1) / (12 * people**2))
    tops = [(above, int((curve.inside > curve.outside[above]).sum())) for above in {0, allowed(RATE, people)}]
    return far > student(10**6, part) or any(hits and upper(above, above + hits, part) < 0.5 for above, hits in tops)


def _control(curves: list[Roc], level: float) -> Interval:
    """Over models and over people: these are the same people in all of them, so both errors may add up."""
    aucs = [curve.auc for curve in curves]
    over = mean_over_models(np.array([auc.value for auc in aucs]), level)
    people = float(np.mean([auc.high - auc.low for auc in aucs])) / 2 * student(10**6, level) / student(10**6, LEVEL)
    return Interval(over.value, max(0.0, over.low - people), min(1.0, over.high + people))


def rank(curves: list[Roc]) -> tuple[float, float]:
    """By people found at RATE, then by AUC."""
    if not curves:
        return 0.0, 0.0
    found = float(np.mean([curve.tpr_at(RATE).value for curve in curves]))
    return round(found, 3), float(np.mean([curve.auc.value for curve in curves]))


def _pooled(scores: Floats, inside: Truths) -> Roc:
    """Each model is a run; coins put as many of either into each."""
    runs = np.repeat(np.arange(len(scores)), scores.shape[1] // 2)
    return roc(scores[inside], scores[~inside], runs=(runs, runs))


def _auc(values: Floats, scores: Floats, inside: Truths) -> Interval:
    """Over models, and no narrower than over people."""
    over, people = mean_over_models(values), roc(scores[inside], scores[~inside]).auc
    below, above = people.value - people.low, people.high - people.value
    return Interval(
        over.value, max(0.0, min(over.low, over.value - below)), min(1.0, max(over.high, over.value + above))
    )


def _found(curves: list[Roc], rate: float, people: int) -> Interval:
    return share_over_models(np.array([curve.tpr_at(rate).value for curve in curves]), people)


def _strict(scores: Floats, inside: Truths, people: int) -> Interval:
    """One threshold for all models: those who are out in one model are too few."""
    outside = -np.sort(-scores[~inside])
    above = scores > outside[allowed(STRICT, len(outside))]
    return share_over_models((above & inside).sum(axis=1) / people, people)
