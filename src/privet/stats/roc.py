"""How well scores tell people who are in the data from people who are not: the ROC curve, with intervals that hold.

    curve = roc(inside, outside)          # scores of people who are in, and of people who are not
    curve.auc                             # the chance that somebody inside scores higher; a tie is half
    curve.tpr_at(0.01)                    # of people inside, how many are found at one false alarm in 100
    curve.largest_advantage               # the largest true-positive rate less false-positive rate

Without `runs` all scores come from one release, and an interval is about more people like these, with this release as
it is. People of one release share its noise: what would happen in another release takes `runs`, the release of each
score, and then a run, not a person, is what was seen once. Each interval is a 95 % one.

* AUC: DeLong, DeLong and Clarke-Pearson (1988) on the log odds, by runs as Obuchowski (1997). Its variance vanishes as
  the AUC nears 0 or 1, so with less than `FEW` people's worth of mistakes the interval is Hoeffding's: a two-sample
  U-statistic is an average over matchings, each of k = min(m, n) independent pairs (Hoeffding 1963, section 5), so the
  bound exp(-k KL(seen || true)) of his theorem 1 holds for it. If all pairs are right, that is true^k, as in Clopper
  and Pearson's interval of k people.
* TPR: Clopper and Pearson, for the threshold that the people outside gave, as if it had been fixed: they are other
  people, so it is. How many false alarms that threshold gives to others is `alarms_at`, from the law of order
  statistics. By runs: Student's t over runs, or Hoeffding's bound where `FEW` runs' worth are wrong.
* Advantage, and the band: Dvoretzky-Kiefer-Wolfowitz with Massart's constant (1990), for people inside and outside, so
  it holds for all thresholds at once and for the best of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privet.core.claim import claim
from privet.errors import InvalidInputError
from privet.stats.binomial import lower, upper
from privet.stats.intervals import Interval
from privet.typing import Floats

LEVEL = 0.05
Z = 1.959963984540054  # a standard normal variable is beyond it, on either side, with chance LEVEL
FEW = 10  # mistakes, below which a normal approximation is not trusted
HALVINGS = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Roc:
    """`points`: false-positive and true-positive rates, from (0, 0) to (1, 1), one for each threshold that matters;
    people who tie are joined by a slope. `inside` and `outside` are sorted, highest first; by runs they are a row a
    run."""

    inside: Floats
    outside: Floats
    points: tuple[Floats, Floats]
    auc: Interval
    largest_advantage: Interval
    runs: tuple[Floats, Floats] | None

    def tpr_at(self, rate: float) -> Interval:
        """Of people inside, the share above the lowest threshold with at most `rate` of the people outside above."""
        threshold = self.threshold_at(rate)
        return _share(self.inside, None if self.runs is None else self.runs[0], threshold)

    def alarms_at(self, rate: float) -> Interval:
        """The false-positive rate of that threshold for other people outside. Above the (k+1)-th highest of n scores
        lies p or more of all others with the chance that a binomial of n and p is at most k. Where scores tie,
        fewer lie above. By runs: of these runs."""
        threshold = self.threshold_at(rate)
        if self.runs is not None:
            return _share(self.outside, self.runs[1], threshold)
        above, of = allowed(rate, len(self.outside)), len(self.outside)
        seen = int((self.outside > threshold).sum())
        return Interval(seen / of, lower(seen, of, LEVEL / 2), upper(above, of, LEVEL / 2))

    def threshold_at(self, rate: float) -> float:
        """A person is found if the score is higher than this."""
        if not 0 <= rate < 1:
            raise InvalidInputError(
                f"a false-positive rate must be at least 0 and below 1, not {rate:g}",
                "for example 0.01",
                "out-of-range",
            )
        return float(self.outside[allowed(rate, len(self.outside))])

    @property
    def slack(self) -> tuple[float, float]:
        """Within which the true-positive and the false-positive rate are right at all thresholds at once."""
        if self.runs is None:
            return _band(len(self.inside)), _band(len(self.outside))
        found, others = (_band(len(rows)) if rows.shape[1] == 1 else _band_of_runs(len(rows)) for rows in self.runs)
        return found, others


def roc(inside: npt.ArrayLike, outside: npt.ArrayLike, *, runs: tuple[object, object] | None = None) -> Roc:
    """Higher scores mean: in the data. `runs` names the release of each score, inside and outside; each of them has as
    many people inside, and as many outside, as any other."""
    found, others = _scores(inside, "inside"), _scores(outside, "outside")
    tables = None if runs is None else _tables(found, others, runs)
    points = _points(found, others)
    roc = Roc(
        inside=-np.sort(-found),
        outside=-np.sort(-others),
        points=points,
        auc=_auc(found, others) if tables is None else _auc_of_runs(*tables),
        largest_advantage=Interval(0.0, 0.0, 1.0),
        runs=tables,
    )
    best, slack = float((points[1] - points[0]).max()), sum(roc.slack)
    largest = Interval(best, max(0.0, best - slack), min(1.0, best + slack))
    return Roc(**{name: getattr(roc, name) for name in Roc.__slots__} | {"largest_advantage": largest})


def _scores(given: npt.ArrayLike, which: str) -> Floats:
    try:
        scores = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"the scores {which} are not numbers", "give a number for each person", "not-a-number"
        ) from None
    if scores.ndim != 1 or not len(scores):
        raise InvalidInputError(f"there are no scores {which}", "give a list with a score for each person", "empty")
    if not np.isfinite(scores).all():
        raise InvalidInputError(
            f"a score {which} is not a finite number", "leave people without a finite score out", "not-finite"
        )
    return scores


def _tables(inside: Floats, outside: Floats, runs: tuple[object, object]) -> tuple[Floats, Floats]:
    """A row a run, in the order of the runs' names."""
    found = [_rows(scores, names) for scores, names in zip((inside, outside), runs, strict=True)]
    if not np.array_equal(found[0][0], found[1][0]) or len(found[0][0]) < 2:
        raise InvalidInputError(
            "people inside and outside must come from the same runs, two or more",
            "give for each score the release that it comes from; each release needs people inside and outside",
            "contradiction",
        )
    return found[0][1], found[1][1]


def _rows(scores: Floats, given: object) -> tuple[npt.NDArray[np.generic], Floats]:
    names = np.asarray(given)
    if names.shape != scores.shape:
        raise InvalidInputError(
            f"there are {names.size:,} runs for {len(scores):,} scores", "name the run of each score", "wrong-length"
        )
    found, place, sizes = np.unique(names, return_inverse=True, return_counts=True)
    if len(set(sizes.tolist())) > 1:
        raise InvalidInputError(
            "runs have different numbers of people", "take the same number of people from each run", "wrong-shape"
        )
    return found, scores[np.argsort(place, kind="stable")].reshape(len(found), -1)


def _points(inside: Floats, outside: Floats) -> tuple[Floats, Floats]:
    """The share of either that is at least as high as each score, from the highest down."""
    values = np.unique(np.concatenate([inside, outside]))[::-1]
    rates = [1 - np.searchsorted(np.sort(scores), values, side="left") / len(scores) for scores in (outside, inside)]
    steps = [np.concatenate([[0.0], rate]) for rate in rates]
    bends = np.ones(len(values) + 1, np.bool_)  # the corners; a point between two others on a line says nothing
    bends[1:-1] = np.diff(steps[0][:-1]) * np.diff(steps[1][1:]) != np.diff(steps[1][:-1]) * np.diff(steps[0][1:])
    return steps[0][bends], steps[1][bends]


def _below(scores: Floats, others: Floats) -> Floats:
    """For each score the share of the others that is lower; those that are as high are half."""
    order = np.sort(others)
    both = np.searchsorted(order, scores, side="left") + np.searchsorted(order, scores, side="right")
    return np.asarray(both / (2 * len(others)), np.float64)


def _auc(inside: Floats, outside: Floats) -> Interval:
    won, lost = _below(inside, outside), 1 - _below(outside, inside)
    value, fewest = float(won.mean()), min(len(inside), len(outside))
    if fewest * min(value, 1 - value) < FEW:
        return _hoeffding(value, fewest)
    spread = won.var(ddof=1) / len(won) + lost.var(ddof=1) / len(lost)
    return _on_log_odds(value, Z * math.sqrt(spread))


def _auc_of_runs(inside: Floats, outside: Floats) -> Interval:
    """What a run adds to the AUC, its people inside and outside together, is one observation. Pairs of one run, of
    which there is one in `runs`, say little about two runs: where the interval is exact, it is so much wider."""
    runs = len(inside)
    won = _below(inside.ravel(), outside.ravel()).reshape(inside.shape)
    lost = 1 - _below(outside.ravel(), inside.ravel()).reshape(outside.shape)
    value = float(won.mean())
    if runs // 2 * min(value, 1 - value) < FEW:
        exact = _hoeffding(value, runs // 2)
        return Interval(value, max(0.0, exact.low - 1 / runs), min(1.0, exact.high + 1 / runs))
    spread = (won.mean(axis=1) + lost.mean(axis=1)).var(ddof=1) / runs
    return _on_log_odds(value, _student(runs - 1) * math.sqrt(spread))


def _on_log_odds(value: float, halfwidth: float) -> Interval:
    middle, width = math.log(value / (1 - value)), halfwidth / (value * (1 - value))
    return Interval(value, *(1 / (1 + math.exp(-min(max(middle + side, -700), 700))) for side in (-width, width)))


def _student(freedom: int) -> float:
    """Beyond which a t variable is with chance LEVEL: the expansion in 1 / freedom, right to .001 from 10 on."""
    first = (Z**3 + Z) / 4
    second = (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96
    third = (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / 384
    return Z + first / freedom + second / freedom**2 + third / freedom**3


def _hoeffding(value: float, of: int) -> Interval:
    """Those true means under which the mean of so many independent numbers from 0 to 1 gets as far as `value` with a
    chance that may be LEVEL / 2."""
    far = math.log(2 / LEVEL) / of
    low = _edge(lambda true: _divergence(value, true) > far, 0.0, value)
    high = _edge(lambda true: _divergence(value, true) <= far, value, 1.0)
    return Interval(value, low[0], high[1])


def _edge(before: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Where it stops to be so."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if before(middle) else (low, middle)
    return low, high


def _divergence(seen: float, true: float) -> float:
    """Kullback and Leibler's, of two coins."""
    parts = ((seen, true), (1 - seen, 1 - true))
    return sum(one * math.log(one / other) if other > 0 else math.inf for one, other in parts if one > 0)


def _share(scores: Floats, table: Floats | None, threshold: float) -> Interval:
    """Of scores above the threshold."""
    if table is None:
        hits, of = int((scores > threshold).sum()), len(scores)
        return Interval(hits / of, lower(hits, of, LEVEL / 2), upper(hits, of, LEVEL / 2))
    shares = (table > threshold).mean(axis=1)
    value, runs = float(shares.mean()), len(shares)
    if runs * min(value, 1 - value) < FEW:
        return _hoeffding(value, runs)
    width = _student(runs - 1) * float(shares.std(ddof=1)) / math.sqrt(runs)
    return Interval(value, max(0.0, value - width), min(1.0, value + width))


def allowed(rate: float, of: int) -> int:
    """How many people outside may be above the threshold."""
    return math.floor(rate * of + 1e-9)


@claim("roc-band")
def _band(of: int) -> float:
    """Within which the shares of so many people are right at all thresholds, but for LEVEL / 2, as two bands are used:
    2 exp(-2 n band^2) = LEVEL / 2."""
    return math.sqrt(math.log(4 / LEVEL) / (2 * of))


@claim("roc-band")
def _band_of_runs(runs: int) -> float:
    """The same by runs of several people. Take the j-th person of every run: these are independent, so with D_j the
    largest error of their shares P[D_j > d] <= 2 exp(-2 R d^2), hence E exp(s D_j^2) <= 1 + 2s / (2R - s) for s < 2R.
    All together are the average over j, whose error is at most the average of the D_j; squares and exp are convex, so
    the same bound holds for it. With u = 2 R d^2 and s = 2R (1 - 1/u), Markov: P[error > d] <= (2u - 1) exp(1 - u)."""
    u = 1.0
    for _ in range(HALVINGS):
        u = 1 + math.log((2 * u - 1) * 2 / LEVEL)
    return math.sqrt(u / (2 * runs))
