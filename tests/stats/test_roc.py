"""Scores of people in and out: the curve, and intervals that cover what they say, near 1 and by runs too."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, t
from support.refusals import raises_code

from privet.attacks.membership.trade_off import bound_at, picture, under
from privet.attacks.promise import privacy
from privet.errors import InvalidInputError
from privet.stats.binomial import lower
from privet.stats.roc import Roc, _band_of_runs, _student, roc

Floats = npt.NDArray[np.float64]
PHI = NormalDist().cdf
TRIES = 300
ALLOWED = int(binom.isf(1e-6, TRIES, 0.06))  # misses of a 95 % interval, and some room for what is asymptotic
SCORES = st.lists(st.integers(0, 6), min_size=1, max_size=12)


def covers(make: Callable[[np.random.Generator], tuple[Roc, float]], name: str) -> int:
    """How often the interval misses. False alarm: 1e-6. An interval of half the width misses about a third of the time
    and would be seen: P[Bin(300, 1/3) <= ALLOWED] < 1e-9."""
    draw = np.random.default_rng(7)
    missed = 0
    for _ in range(TRIES):
        curve, true = make(draw)
        interval = getattr(curve, name)
        missed += not interval.low <= true <= interval.high
    return missed


def normal(apart: float, inside: int = 100, outside: int = 200) -> Callable[[np.random.Generator], tuple[Roc, float]]:
    def make(draw: np.random.Generator) -> tuple[Roc, float]:
        return roc(draw.normal(apart, 1, inside), draw.normal(0, 1, outside)), PHI(apart / math.sqrt(2))

    return make


def missing_some(share: float) -> Callable[[np.random.Generator], tuple[Roc, float]]:
    """Most people inside stand out for sure, and a share of them is below everybody: the AUC is a single coin's."""

    def make(draw: np.random.Generator) -> tuple[Roc, float]:
        return roc(np.where(draw.random(100) < share, -9.0, 9.0), draw.normal(0, 1, 200)), 1 - share

    return make


def test_power_of_the_coverage_test() -> None:
    assert binom.cdf(ALLOWED, TRIES, 1 / 3) < 1e-9


@pytest.mark.parametrize("make", [normal(0), normal(1.2), normal(3.2), missing_some(0.02), missing_some(0.15)])
def test_the_auc_interval_covers(make: Callable[[np.random.Generator], tuple[Roc, float]]) -> None:
    assert covers(make, "auc") <= ALLOWED


def test_a_normal_interval_alone_would_not_cover_near_1() -> None:
    """What the exact bound is for: with 1 in 200 below everybody, often nobody is seen there."""
    draw = np.random.default_rng(3)
    curves = [missing_some(0.005)(draw)[0] for _ in range(50)]
    certain = [curve for curve in curves if curve.auc.value == 1]
    assert len(certain) >= 10  # expected 30; fewer has a chance below 1e-8
    assert all(curve.auc.low == pytest.approx(0.025 ** (1 / 100)) for curve in certain)


@given(SCORES, SCORES)
def test_auc_and_points_by_counting(inside: list[int], outside: list[int]) -> None:
    curve = roc(inside, outside)
    pairs = [(one > other) + (one == other) / 2 for one in inside for other in outside]
    assert curve.auc.value == pytest.approx(sum(pairs) / len(pairs))
    assert curve.auc.low <= curve.auc.value <= curve.auc.high
    x, y = curve.points
    assert ((y[1:] + y[:-1]) * np.diff(x) / 2).sum() == pytest.approx(curve.auc.value)  # the area under it
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    best = max(
        sum(one >= at for one in inside) / len(inside) - sum(one >= at for one in outside) / len(outside)
        for at in range(8)
    )
    assert curve.largest_advantage.value == pytest.approx(best)
    threshold = curve.threshold_at(0.3)
    assert np.mean(np.array(outside) > threshold) <= 0.3
    assert curve.tpr_at(0.3).value == np.mean(np.array(inside) > threshold)


def test_the_advantage_covers_although_the_threshold_is_the_best_one() -> None:
    def make(draw: np.random.Generator) -> tuple[Roc, float]:
        return normal(1)(draw)[0], 2 * PHI(0.5) - 1

    assert covers(make, "largest_advantage") <= ALLOWED


def test_rates_at_a_threshold_cover() -> None:
    """The true-positive rate of the threshold that the people outside gave, and its false-positive rate."""
    draw, missed = np.random.default_rng(8), [0, 0]
    for _ in range(TRIES):
        curve = normal(1.5)(draw)[0]
        at = curve.threshold_at(0.05)
        for which, (interval, true) in enumerate(
            ((curve.tpr_at(0.05), 1 - PHI(at - 1.5)), (curve.alarms_at(0.05), 1 - PHI(at)))
        ):
            missed[which] += not interval.low <= true <= interval.high
    assert max(missed) <= ALLOWED


def shared(draw: np.random.Generator, runs: int = 60, people: int = 6) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """People inside share two thirds of their variance with those of the same release."""
    inside = draw.normal(1.5, math.sqrt(2), (runs, 1)) + draw.normal(0, 1, (runs, people))
    return inside.ravel(), draw.normal(0, 1, runs * people), np.repeat(np.arange(runs), people)


def test_by_runs_intervals_cover() -> None:
    draw, missed, blind = np.random.default_rng(9), np.zeros(3, int), 0
    for _ in range(TRIES):
        inside, outside, runs = shared(draw)
        curve = roc(inside, outside, runs=(runs, runs))
        at = curve.threshold_at(0.2)
        true = 1 - PHI((at - 1.5) / math.sqrt(3))
        found, alone = curve.tpr_at(0.2), roc(inside, outside).tpr_at(0.2)
        best = max(1 - PHI((at - 1.5) / math.sqrt(3)) - (1 - PHI(at)) for at in np.linspace(-2, 4, 61))
        intervals = ((found, true), (curve.auc, PHI(1.5 / 2)), (curve.largest_advantage, best))
        missed += [not interval.low <= value <= interval.high for interval, value in intervals]
        blind += not alone.low <= true <= alone.high
    assert missed.max() <= ALLOWED
    assert blind > ALLOWED  # taking people for independent is wrong here: it misses a third, fewer with 1e-9


def test_the_band_of_runs_is_what_markov_gives() -> None:
    u = 2 * 50 * _band_of_runs(50) ** 2
    assert (2 * u - 1) * math.exp(1 - u) == pytest.approx(0.025)
    one = roc(np.arange(50.0), np.arange(50.0), runs=(np.arange(50), np.arange(50)))
    assert one.slack == pytest.approx((math.sqrt(math.log(80) / 100),) * 2)


def test_by_runs_near_1_and_shares_of_runs() -> None:
    names = [f"release {place // 2}" for place in range(40)]
    curve = roc(np.full(40, 2.0), np.zeros(40), runs=(names, names))
    assert curve.auc.low == pytest.approx(0.025 ** (1 / 10) - 1 / 20)
    assert curve.tpr_at(0.01).low == pytest.approx(0.025 ** (1 / 20))
    assert (curve.alarms_at(0.01).value, curve.alarms_at(0.01).high) == (0, pytest.approx(1 - 0.025 ** (1 / 20)))


def test_the_quantile_of_student() -> None:
    for freedom in (10, 19, 30, 100, 10**6):
        assert _student(freedom) == pytest.approx(t.isf(0.025, freedom), abs=1e-3)


def answers(draw: np.random.Generator, epsilon: float, people: int) -> Roc:
    """Randomized response, which is on the trade-off curve: nothing that keeps epsilon tells more."""
    true = math.exp(epsilon) / (1 + math.exp(epsilon))
    return roc((draw.random(people) < true) * 1.0, (draw.random(people) < 1 - true) * 1.0)


def test_a_true_claim_is_seldom_refuted_and_a_false_one_is() -> None:
    draw = np.random.default_rng(5)
    refuted = sum(not under(answers(draw, 1, 400), privacy(1)).holds for _ in range(100))
    assert refuted <= binom.isf(1e-6, 100, 0.05)
    for _ in range(20):
        found = under(answers(draw, 3, 1000), privacy("1.5"))
        assert not found.holds  # 95 % at 5 % where 22 % is possible: a miss has a chance below 1e-9
        assert found.found > found.bound == pytest.approx(bound_at(found.alarms, privacy("1.5")))


def test_by_runs_a_claim_is_tested_with_the_band() -> None:
    draw = np.random.default_rng(6)
    runs = np.arange(400)
    true, false = draw.normal(3, 1, 400), draw.normal(0, 1, 400)
    assert not under(roc(true, false, runs=(runs, runs)), privacy(1)).holds
    assert under(roc(false, draw.normal(0, 1, 400), runs=(runs, runs)), privacy(1)).holds


def test_two_steps_allow_more() -> None:
    claim = privacy(1, "1e-6")
    assert bound_at(0.01, claim) == pytest.approx(math.e / 100 + 1e-6)
    assert bound_at(0.01, claim, 2) == pytest.approx(math.e**2 / 100 + (1 + math.e) * 1e-6)
    assert bound_at(1.2, claim) == 1
    some = answers(np.random.default_rng(1), 1.9, 1000)
    assert not under(some, privacy(1)).holds
    assert under(some, privacy(1), steps=2).holds


def test_the_picture() -> None:
    draw = np.random.default_rng(2)
    curve = roc(draw.normal(3, 1, 500), draw.normal(0, 1, 500))
    shown = picture(curve, privacy(1), "Members")
    attack, blind, limit = shown.curves
    assert (limit.style, blind.y, shown.shares) == ("bound", (0.0, 1.0), True)
    assert len(attack.x) <= 400
    assert (list(attack.x), list(attack.y)) == (sorted(attack.x), sorted(attack.y))
    assert all(low <= y <= high for low, y, high in zip(attack.low, attack.y, attack.high, strict=True))
    assert limit.name == "limit of epsilon 1"
    assert "not kept" in shown.alt
    kept = picture(roc(draw.normal(0, 1, 50), draw.normal(0, 1, 50)), privacy(1, "1e-6"), "Members")
    assert "under the limit" in kept.alt
    assert kept.curves[2].name == "limit of epsilon 1, delta 1e-06"
    assert len(picture(curve, None, "Members").curves) == 2


def test_the_band_of_a_perfect_attack_is_drawn_where_it_is() -> None:
    """Its curve has three corners; the band has another, and was once drawn as a triangle."""
    attack = picture(roc(np.arange(100, 200), np.arange(100)), None, "Members").curves[0]
    assert all(low > 0.8 for x, low in zip(attack.x, attack.low, strict=True) if x > 0.16)
    assert all(low == 0 for x, low in zip(attack.x, attack.low, strict=True) if x < 0.14)


def test_the_band_holds_everywhere_at_once() -> None:
    """Over 100 curves the band of 95 % misses the true curve somewhere in at most ALLOWED of TRIES; it is wider than
    that, as two errors are added."""
    draw, missed = np.random.default_rng(4), 0
    true = np.vectorize(lambda x: PHI(NormalDist().inv_cdf(x) + 1) if 0 < x < 1 else x)
    for _ in range(100):
        shown = picture(normal(1)(draw)[0], None, "t").curves[0]
        at = true(np.array(shown.x))
        missed += bool(((at < np.array(shown.low)) | (at > np.array(shown.high))).any())
    assert missed <= binom.isf(1e-6, 100, 0.05)


@pytest.mark.parametrize(
    ("inside", "outside", "runs", "says"),
    [
        ([], [1], None, "empty"),
        ([[1]], [1], None, "empty"),
        ([1], [math.nan], None, "not-finite"),
        (["x"], [1], None, "not-a-number"),
        ([1, 2], [1, 2], ([0], [0, 1]), "wrong-length: 1 runs … for 2 scores"),
        ([1, 2, 3], [1, 2], ([0, 0, 1], [0, 1]), "wrong-shape"),
        ([1, 2], [1, 2], ([0, 1], [0, 2]), "contradiction"),
        ([1, 2], [1, 2], ([0, 0], [0, 0]), "contradiction"),
    ],
)
def test_wrong_scores(inside: object, outside: object, runs: object, says: str) -> None:
    with raises_code(InvalidInputError, says):
        roc(inside, outside, runs=runs)  # type: ignore[arg-type]


@pytest.mark.parametrize("rate", [-0.1, 1.0, math.nan])
def test_wrong_rates(rate: float) -> None:
    with raises_code(InvalidInputError, "out-of-range"):
        roc([1], [0]).tpr_at(rate)


def test_false_alarms_where_scores_tie() -> None:
    """One of 30 is above the threshold, though nine might be: the interval is about that one. With three values, those
    of a normal variable rounded, the lower end is too high in 2.5 % of samples at most; 70 of 1,000 have a chance of
    1e-12. As if nothing tied, it is in a third of them."""
    tied = roc([3.0, 1.0], [2.0, *[1.0] * 20, *[0.0] * 9]).alarms_at(0.3)
    assert tied.value == pytest.approx(1 / 30)
    assert tied.low == pytest.approx(lower(1, 30, 0.025))
    draw, missed = np.random.default_rng(0), 0
    for _ in range(1000):
        others = draw.normal(0, 1, 12).round()
        curve = roc([0.0], others)
        true = 1 - PHI(curve.threshold_at(0.3) + 0.5)
        missed += true < curve.alarms_at(0.3).low
    assert missed < 70
