"""The ROC curve of an attack beside the trade-off curve that a promise allows, as a test and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.attacks.finding import Curve, Picture
from privet.attacks.promise import Privacy
from privet.interpret import best_true_positive_rate, group_delta
from privet.stats.binomial import lower, upper
from privet.stats.roc import LEVEL, Roc, allowed
from privet.typing import Floats

SALT = 0x726F63  # other draws than those of scores that somebody made with a plain seed
DRAWN = 200  # points of a curve in a picture
PLACES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5)  # false-positive rates at which a claim is tested


@dataclass(frozen=True, slots=True, kw_only=True)
class Under:
    """Whether the scores stay under a trade-off curve. If not, at the false-positive rate `alarms` or less they find
    `found` or more, where `bound` is possible: the claim is refuted, and that is wrong with chance `level` at most."""

    holds: bool
    alarms: float
    found: float
    bound: float
    level: float = LEVEL


def bound_at(rate: float, privacy: Privacy, steps: int = 1) -> float:
    """The trade-off curve: the largest true-positive rate that the claim allows. `steps`: from the data with a person
    to the data without, counted in neighbors. It is 2 where somebody else takes the place of the person while the
    claim is for adding and removing."""
    epsilon = steps * privacy.epsilon
    delta = group_delta(steps, privacy.epsilon, privacy.delta)
    return float(best_true_positive_rate(Fraction(min(rate, 1.0)), epsilon, delta))


def under(roc: Roc, privacy: Privacy, *, steps: int = 1) -> Under:
    """Tests the claim at some false-positive rates fixed in advance, all together at LEVEL; by runs at all thresholds,
    with the band. Says where the scores are farthest above the curve, or least below.

    People of one release are not independent, given it. But whatever the others are, the release makes the odds that a
    person inside is above a threshold at most e^epsilon times those of somebody outside (drawn from the same people).
    So the number of people found is at most binomial with such odds, stochastically, and their share lies under the
    curve: the law of k hits, over that binomial, falls in k. A delta is no such limit for one release, which may give
    everybody away with chance delta; that chance then comes on top of LEVEL."""
    if roc.runs is not None:
        mine, theirs = roc.slack
        sure = [(float(x) + theirs, float(y) - mine) for x, y in zip(*_thinned(*roc.points), strict=True)]
    else:
        sure = _surely(*_untied(roc), LEVEL / (2 * len(PLACES)))
    tested = [(found - (most := bound_at(alarms, privacy, steps)), alarms, found, most) for alarms, found in sure]
    beyond, alarms, found, most = max(tested)
    return Under(holds=beyond <= 0, alarms=min(alarms, 1.0), found=max(found, 0.0), bound=most)


def _untied(roc: Roc) -> tuple[Floats, Floats]:
    """The same order, with ties broken by a coin. That is a test like any other, and has every false-positive rate."""
    _, rank = np.unique(np.concatenate([roc.inside, roc.outside]), return_inverse=True)
    scores = rank + np.random.default_rng((SALT, 0)).random(len(rank))
    return scores[: len(roc.inside)], -np.sort(-scores[len(roc.inside) :])


def _surely(inside: Floats, outside: Floats, miss: float) -> list[tuple[float, float]]:
    """For each place: at most so many false alarms and at least so many people found, each but for `miss`."""
    found = []
    for rate in PLACES:
        above = allowed(rate, len(outside))
        hits = int((inside > outside[above]).sum())
        found.append((upper(above, len(outside), miss), lower(hits, len(inside), miss)))
    return found


def picture(roc: Roc, privacy: Privacy | None, title: str, *, steps: int = 1, verdict: str | None = None) -> Picture:
    """The curve with its band, blind guessing, and the trade-off curve where a claim is made. `verdict` says what
    another test than that of the band found of the claim."""
    x, y = _filled(*_thinned(*roc.points))
    low, high = _band_around(roc, x)
    curves = [
        Curve(name="attack", x=_plain(x), y=_plain(y), low=_plain(low), high=_plain(high)),
        Curve(name="blind guessing", x=(0.0, 1.0), y=(0.0, 1.0)),
    ]
    seen = f"The curve has an AUC of {roc.auc.value:.3f} and finds {100 * roc.tpr_at(0.01).value:.0f} % of people"
    text = "How many people in the data are found, against how many others are taken for one, for every threshold."
    said = "" if privacy is None else verdict or _said(under(roc, privacy, steps=steps))
    if privacy is not None:
        rates = sorted({*np.linspace(0, 1, 51).tolist(), 0.002, 0.005, 0.01, 0.03, 0.97, 0.99})
        most = tuple(bound_at(rate, privacy, steps) for rate in rates)
        slack = f", delta {float(privacy.delta):g}" if privacy.delta else ""
        name = f"limit of epsilon {float(privacy.epsilon):g}{slack}"
        curves.append(Curve(name=name, x=tuple(rates), y=most, style="bound"))
        text += f" No test of a release that keeps its promise is above the limit.{said}"
    return Picture(
        title=title,
        text=f"{text} The band holds for all thresholds at once, with 95 %.",
        alt=f"{seen} at one false alarm in 100; blind guessing is the diagonal.{said}",
        x="others who are taken for a person in the data",
        y="people in the data who are found",
        curves=tuple(curves),
        shares=True,
    )


def _said(found: Under) -> str:
    """Staying under it is what a kept promise looks like, and no proof of one."""
    if found.holds:
        return " It stays under the limit, or is above it by no more than chance."
    return (
        f" This one finds at least {100 * found.found:.0f} % at {100 * found.alarms:.1f} % false alarms or less, where"
        f" {100 * found.bound:.0f} % is the limit: the promise is not kept (this is wrong with 5 % at most)."
    )


def _thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    keep = np.unique(np.linspace(0, len(x) - 1, DRAWN).round().astype(np.int64))
    return x[keep], y[keep]


def _filled(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """With points between those that are far from each other: the band bends there, where the curve does not."""
    between = np.setdiff1d(np.linspace(0, 1, DRAWN), x)
    all_x, all_y = np.append(x, between), np.append(y, np.interp(between, x, y))
    order = np.lexsort((all_y, all_x))
    return all_x[order], all_y[order]


def _band_around(roc: Roc, x: Floats) -> tuple[Floats, Floats]:
    """A threshold's false-positive rate may be off by one slack, its true-positive rate by the other."""
    mine, theirs = roc.slack
    rates, found = roc.points
    low = np.where(x < theirs, 0.0, np.interp(x - theirs, rates, found) - mine)
    return np.clip(low, 0, 1), np.clip(_highest(rates, found, x + theirs) + mine, 0, 1)


def _highest(rates: Floats, found: Floats, x: Floats) -> Floats:
    """The curve at x; where it rises straight up, the top."""
    place = np.searchsorted(rates, x, side="right") - 1
    return np.where(rates[place] == x, found[place], np.interp(x, rates, found))


def _plain(values: Floats) -> tuple[float, ...]:
    return tuple(values.round(6).tolist())
