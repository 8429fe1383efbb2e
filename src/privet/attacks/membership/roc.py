"""How well scores tell people who are in the data from people who are not: the ROC curve, with intervals that hold.

    curve = roc(inside, outside)          # scores of people who are in, and of people who are not
    curve.auc                             # the chance that somebody inside scores higher; a tie is half
    curve.tpr_at(0.01)                    # of people inside, how many are found at one false alarm in 100
    curve.advantage                       # the largest true-positive rate less false-positive rate

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
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privet.attacks.differencing.queries import Privacy
from privet.attacks.finding import Curve, Interval, Picture
from privet.core.claim import claim
from privet.errors import InvalidInputError
from privet.interpret import best_true_positive_rate, group_delta
from privet.stats.binomial import lower, upper

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
LEVEL = 0.05
Z = 1.959963984540054  # a standard normal variable is beyond it, on either side, with chance LEVEL
FEW = 10  # mistakes, below which a normal approximation is not trusted
HALVINGS = 60
SALT = 0x726F63  # other draws than those of scores that somebody made with a plain seed
DRAWN = 200  # points of a curve in a picture
PLACES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5)  # false-positive rates at which a claim is tested


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Roc:
    """`points`: false-positive and true-positive rates, from (0, 0) to (1, 1), one for each threshold that matters;
    people who tie are joined by a slope. `inside` and `outside` are sorted, highest first; by runs they are a row a
    run."""

    inside: Floats
    outside: Floats
    points: tuple[Floats, Floats]
    auc: Interval
    advantage: Interval
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
        above, of = _allowed(rate, len(self.outside)), len(self.outside)
        seen = int((self.outside > threshold).sum())
        return Interval(seen / of, lower(seen, of, LEVEL / 2), upper(above, of, LEVEL / 2))

    def threshold_at(self, rate: float) -> float:
        """A person is found if the score is higher than this."""
        if not 0 <= rate < 1:
            raise InvalidInputError(
                f"a false-positive rate of {rate:g} is none", "give one from 0 to below 1", "out-of-range"
            )
        return float(self.outside[_allowed(rate, len(self.outside))])

    @property
    def slack(self) -> tuple[float, float]:
        """Within which the true-positive and the false-positive rate are right at all thresholds at once."""
        if self.runs is None:
            return _band(len(self.inside)), _band(len(self.outside))
        found, others = (_band(len(rows)) if rows.shape[1] == 1 else _band_of_runs(len(rows)) for rows in self.runs)
        return found, others


@dataclass(frozen=True, slots=True, kw_only=True)
class Under:
    """Whether the scores stay under a trade-off curve. If not, at the false-positive rate `alarms` or less they find
    `found` or more, where `bound` is possible: the claim is refuted, and that is wrong with chance `level` at most."""

    holds: bool
    alarms: float
    found: float
    bound: float
    level: float = LEVEL


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
        advantage=Interval(0.0, 0.0, 1.0),
        runs=tables,
    )
    best, slack = float((points[1] - points[0]).max()), sum(roc.slack)
    advantage = Interval(best, max(0.0, best - slack), min(1.0, best + slack))
    return Roc(**{name: getattr(roc, name) for name in Roc.__slots__} | {"advantage": advantage})


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
            f"a score {which} is not a finite number", "leave people without a score out", "not-finite"
        )
    return scores


def _tables(inside: Floats, outside: Floats, runs: tuple[object, object]) -> tuple[Floats, Floats]:
    """A row a run, in the order of the runs' names."""
    found = [_rows(scores, names) for scores, names in zip((inside, outside), runs, strict=True)]
    if not np.array_equal(found[0][0], found[1][0]) or len(found[0][0]) < 2:
        raise InvalidInputError(
            "the runs of people inside and outside are not the same two or more",
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
            "runs have different numbers of people", "take as many people of each run", "wrong-shape"
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


def _allowed(rate: float, of: int) -> int:
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
        above = _allowed(rate, len(outside))
        hits = int((inside > outside[above]).sum())
        found.append((upper(above, len(outside), miss), lower(hits, len(inside), miss)))
    return found


def picture(roc: Roc, privacy: Privacy | None, title: str, *, steps: int = 1) -> Picture:
    """The curve with its band, blind guessing, and the trade-off curve where a claim is made."""
    x, y = _filled(*_thinned(*roc.points))
    low, high = _band_around(roc, x)
    curves = [
        Curve(name="attack", x=_plain(x), y=_plain(y), low=_plain(low), high=_plain(high)),
        Curve(name="blind guessing", x=(0.0, 1.0), y=(0.0, 1.0)),
    ]
    seen = f"The curve has an AUC of {roc.auc.value:.3f} and finds {100 * roc.tpr_at(0.01).value:.0f} % of people"
    text = "How many people in the data are found, against how many others are taken for one, for every threshold."
    said = "" if privacy is None else _said(under(roc, privacy, steps=steps))
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
