"""Scores of candidates, against slow definitions, and from which score on somebody is claimed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from privet.attacks.models import model_scores
from privet.attacks.models import thresholds as module
from privet.attacks.models.measured import measured
from privet.attacks.models.model_scores import ATTACKS, GAMMA, PRIOR, Shadows, left_out, scores_of
from privet.attacks.models.outputs import Outputs
from privet.attacks.models.over_models import mean_over_models, share_over_models, student
from privet.attacks.models.shadows import Told
from privet.attacks.models.thresholds import RATES, SURE, sureness, thresholds
from privet.stats.binomial import share
from privet.stats.intervals import exactly
from privet.stats.roc import roc


def world(seed: int = 0, models: int = 12, slots: int = 10, leak: float = 1.5) -> tuple[Outputs, Shadows, Any]:
    """Log odds that are higher for those who are in, and differ from record to record."""
    draw = np.random.default_rng(seed)
    coins = draw.random((models + 1, slots)) < 0.5
    inside = np.concatenate([coins, ~coins], axis=1)
    odds = draw.normal(0, 2, 2 * slots) + draw.normal(0, 1, inside.shape) + leak * inside
    top = -np.sort(-np.stack([odds, odds / 2, -odds], axis=2), axis=2)
    labels = np.tile([0, 1], slots)
    told = Told(odds[1:], top[1:], inside[1:])
    return Outputs(odds[0], top[0]), Shadows(told, labels), inside[0]


def slow_law(odds: Any, variances: float) -> tuple[float, float]:
    count = len(odds)
    own = (PRIOR * variances + ((odds - odds.mean()) ** 2).sum()) / (PRIOR + count - 1)
    return odds.mean(), own * (1 + 1 / count)


def common(told: Told, which: Any) -> float:
    squares, free = 0.0, 0
    for record in range(which.shape[1]):
        values = told.odds[which[:, record], record]
        squares, free = squares + ((values - values.mean()) ** 2).sum(), free + len(values) - 1
    return squares / free


def test_lira_is_a_likelihood_ratio_for_each_record() -> None:
    model, shadows, _ = world()
    told = shadows.told
    found, offline = (scores_of(ATTACKS[name], model, shadows) for name in ("LiRA", "LiRA offline"))
    for record in range(20):
        laws = []
        for which in (told.inside, ~told.inside):
            mean, variance = slow_law(told.odds[which[:, record], record], common(told, which))
            laws.append(stats.norm(mean, variance**0.5))
        seen = model.odds[record]
        assert found[record] == pytest.approx(laws[0].logpdf(seen) - laws[1].logpdf(seen))
        assert offline[record] == pytest.approx((seen - laws[1].mean()) / laws[1].std())


def test_rmia_is_the_share_of_records_that_became_less_likely() -> None:
    model, shadows, _ = world()
    chances, told = 1 / (1 + np.exp(-model.odds)), shadows.told
    theirs = 1 / (1 + np.exp(-told.odds))
    for name in ("RMIA", "RMIA offline"):
        usual = []
        for record in range(20):
            inside, out = (theirs[which[:, record], record].mean() for which in (told.inside, ~told.inside))
            usual.append((inside + out) / 2 if name == "RMIA" else ((1 + 0.3) * out + 1 - 0.3) / 2)
        ratio = chances / np.array(usual)
        pairs = [np.mean([ratio[record] / ratio[other] >= GAMMA for other in range(20)]) for record in range(20)]
        found = scores_of(ATTACKS[name], model, shadows)
        assert np.abs(found - pairs).max() < 1 / 20  # the rest breaks ties
        assert np.array_equal(np.argsort(found), np.argsort(ratio))


def test_shokri_learns_each_class_by_itself() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    model, shadows, _ = world(models=20)
    found = scores_of(ATTACKS["Shokri"], model, shadows)
    for label in (0, 1):
        own, told = shadows.labels == label, shadows.told
        features = model_scores._features(Outputs(told.odds[:, own].ravel(), told.top[:, own].reshape(-1, 3)))
        middle, wide = features.mean(axis=0), features.std(axis=0) + 1e-9
        design = np.column_stack([np.ones(len(features)), (features - middle) / wide])
        learned = linear.LogisticRegression(fit_intercept=False, tol=1e-10).fit(design, told.inside[:, own].ravel())
        mine = (model_scores._features(Outputs(model.odds[own], model.top[own])) - middle) / wide
        expected = learned.decision_function(np.column_stack([np.ones(len(mine)), mine]))
        assert found[own] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_tells_members(name: str) -> None:
    model, shadows, inside = world(seed=3, models=30, slots=200, leak=3)
    scores = scores_of(ATTACKS[name], model, shadows)
    assert roc(scores[inside], scores[~inside]).auc.low > 0.6


@pytest.mark.parametrize("name", ATTACKS)
def test_who_is_silent_comes_last(name: str) -> None:
    model, shadows, _ = world(seed=4)
    model.odds[2], model.top[2] = np.nan, np.nan
    shadows.told.odds[3, 5], shadows.told.top[3, 5] = np.nan, np.nan
    shadows.told.odds[:, 7], shadows.told.top[:, 7] = np.nan, np.nan
    scores = scores_of(ATTACKS[name], model, shadows)
    assert np.isfinite(scores).all()
    assert scores.argmin() == 2
    assert np.isfinite(left_out(ATTACKS[name], shadows)).all()


def test_a_record_that_no_model_had_is_compared_with_all() -> None:
    model, shadows, _ = world()
    shadows.told.inside[:, 0] = False
    for attack in ATTACKS.values():
        assert np.isfinite(scores_of(attack, model, shadows)).all()


def test_a_shadow_model_is_attacked_by_others_only() -> None:
    _, shadows, _ = world(models=16)
    before = left_out(ATTACKS["LiRA"], shadows)
    shadows.told.odds[[0, 8]] += np.random.default_rng(1).normal(0, 5, (2, 20))  # the fold of model 0
    after = left_out(ATTACKS["LiRA"], shadows)
    model = Outputs(shadows.told.odds[0], shadows.told.top[0])
    rest = shadows.told.chosen(np.arange(16) % 8 != 0)
    assert after[0] == pytest.approx(scores_of(ATTACKS["LiRA"], model, Shadows(rest, shadows.labels)))
    assert not np.allclose(before[1], after[1])


# Intervals over models


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 30, 1000])
@pytest.mark.parametrize("level", [0.05, 0.001])
def test_student_is_student(freedom: int, level: float) -> None:
    expected = stats.t.ppf(1 - level / 2, freedom)
    assert student(freedom, level) == pytest.approx(expected, rel=2e-3)


def test_intervals_over_models_cover() -> None:
    """Shares that differ from model to model: 95 % of 1,000 intervals. Fewer than 910 have a chance below 1e-6."""
    draw, covered = np.random.default_rng(5), 0
    for _ in range(1000):
        chance = np.clip(draw.normal(0.1, 0.03, 6), 0, 1)
        found = share_over_models(draw.binomial(100, chance) / 100, 100)
        covered += found.low <= 0.1 <= found.high
    assert covered >= 910


def test_people_alone_would_cover_less() -> None:
    draw, covered = np.random.default_rng(5), 0
    for _ in range(1000):
        chance = np.clip(draw.normal(0.1, 0.03, 6), 0, 1)
        found = share(int(draw.binomial(100, chance).sum()), 600)
        covered += found.low <= 0.1 <= found.high
    assert covered < 910


def test_models_that_agree_are_not_certain() -> None:
    assert share_over_models(np.zeros(5), 100).high > 0.005
    assert share_over_models(np.ones(5), 100).low < 0.995
    assert mean_over_models(np.array([0.5, 0.6])).high == 1.0


# Claims


def shifted(draw: np.random.Generator, models: int, slots: int, leak: float, leaky: int) -> tuple[Any, Any]:
    """Of every model a few records give away that they are in."""
    coins = draw.random((models, slots)) < 0.5
    inside = np.concatenate([coins, ~coins], axis=1)
    scores = draw.normal(size=inside.shape)
    scores[:, :leaky] += leak * inside[:, :leaky]
    scores[:, slots : slots + leaky] += leak * inside[:, slots : slots + leaky]
    return scores, inside


def test_claims_are_as_often_right_as_said() -> None:
    claimed, right, alarms, people, rates = 0, 0, 0, 0, set()
    for seed in range(30):
        draw = np.random.default_rng(seed)
        steps = thresholds(*shifted(draw, 32, 100, 6.0, 30))
        scores, inside = shifted(draw, 1, 100, 6.0, 30)
        sure = sureness(scores[0], steps)
        claimed, right = claimed + int((sure > 0).sum()), right + int(((sure > 0) & inside[0]).sum())
        alarms, people = alarms + int(((sure > 0) & ~inside[0]).sum()), people + 100
        rates |= {step.rate for step in steps}
        assert ((sure == 0) | (sure >= SURE)).all()
    assert rates <= set(RATES)
    assert claimed > 500
    assert right >= SURE * claimed
    assert alarms <= 0.01 * people + 6 * (0.01 * people) ** 0.5


def test_nobody_is_claimed_where_nothing_leaks() -> None:
    for seed in range(30):
        assert thresholds(*shifted(np.random.default_rng(seed), 32, 100, 0.0, 0)) == []


def test_a_threshold_without_its_interval_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """At no threshold are 90 % of those above it in; eight models show too few people to see it."""

    def claims() -> tuple[int, int]:
        claimed, right = 0, 0
        for seed in range(200):
            draw = np.random.default_rng(seed)
            steps = thresholds(*shifted(draw, 8, 100, 1.5, 10))
            scores, inside = shifted(draw, 10, 100, 1.5, 10)
            above = np.array([sureness(row, steps) > 0 for row in scores])
            claimed, right = claimed + int(above.sum()), right + int((above & inside).sum())
        return claimed, right

    assert claims() == (0, 0)
    monkeypatch.setattr(module, "share_over_models", lambda found, *_: exactly(max(float(found.mean()), 1e-9)))
    claimed, right = claims()
    assert claimed > 200
    assert right < SURE * claimed - 6 * (SURE * (1 - SURE) * claimed) ** 0.5


def test_what_differs_between_members_and_others_is_seen() -> None:
    """Members whose scores are higher in every model, in or not."""
    draw = np.random.default_rng(0)
    inside = shifted(draw, 20, 100, 0, 0)[1]
    usual = draw.normal(size=200)
    for gap, differs in ((0.0, False), (1.0, True)):
        rows = usual + gap * (np.arange(200) < 100) + 0.1 * draw.normal(size=(20, 200))
        found = measured(rows[0], np.arange(200) < 100, rows[:0], inside[:0], (rows, inside))
        assert found.shifted is differs
        assert found.control is not None
        assert found.auc is None
