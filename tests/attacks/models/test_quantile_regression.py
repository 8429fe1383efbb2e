"""The attack that needs no shadow models: against a slow definition, exact where nobody can be told, and strong where
models overfit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from privet.attacks import Stacked, attack_model, privacy
from privet.attacks.models import model_attack
from privet.attacks.models import quantile_regression as module
from privet.attacks.models.measured import differ
from privet.attacks.models.model_scores import ATTACKS, Shadows, scores_of
from privet.attacks.models.outputs import Outputs
from privet.attacks.models.quantile_regression import (
    COMMON,
    FOLDS,
    LEAST,
    LEVEL,
    MEAN,
    SPREAD,
    TINY,
    columns_of,
    described,
    regression,
    scores,
    unlike,
)
from privet.attacks.models.records import Records
from privet.attacks.models.shadows import Pool, Told
from privet.stats.roc import roc

NOBODY = Told(np.empty((0, 0)), np.empty((0, 0, 0)), np.empty((0, 0), np.bool_))


def pool(rows: Any, labels: Any) -> Pool:
    """The first half of the records are members, each with one of the others."""
    slots = len(labels) // 2
    pairs = np.stack([np.arange(slots), np.arange(slots, 2 * slots)], axis=1)
    return Pool(Records(rows, np.asarray(labels)), pairs, np.array([], np.int64))


def world(seed: int, slots: int = 40, gap: float = 0.0, columns: int = 4) -> tuple[Pool, Any]:
    """Log odds that depend on the columns and the class, with errors, and a gap for members."""
    draw = np.random.default_rng(seed)
    rows, labels = draw.normal(size=(2 * slots, columns)), draw.integers(0, 2, 2 * slots)
    odds = 3 * rows[:, 0] * (2 * labels - 1) + 2 * labels + draw.normal(size=2 * slots)
    return pool(rows, labels), odds + gap * (np.arange(2 * slots) < slots)


def covariance(who: Any, one: int, other: int) -> float:
    same = float(who.classes[one] == who.classes[other])
    return (same + COMMON) * (float(who.columns[one] @ who.columns[other]) + 1) + LEVEL


def predicted(who: Any, values: dict[int, float], asked: int, ridge: float) -> float:
    """The mean of a normal law at somebody, given values at others."""
    places = list(values)
    table = np.array([[covariance(who, one, other) for other in places] for one in places])
    near = np.array([covariance(who, asked, other) for other in places])
    return float(near @ np.linalg.solve(table + ridge * np.eye(len(places)), np.array(list(values.values()))))


def slow(odds: Any, outside: Any, who: Any) -> Any:
    found, slots = np.empty(len(odds)), who.slots
    for asked in range(2 * slots):
        seen = {
            place: float(odds[place])
            for place in np.flatnonzero(outside)
            if place % slots % FOLDS != asked % slots % FOLDS and place % slots < module.LEARNERS
        }
        errors = {
            one: odds[one] - predicted(who, {key: value for key, value in seen.items() if key != one}, one, MEAN)
            for one in seen
        }
        least = LEAST * np.mean(np.square(list(errors.values()))) + TINY
        logs = {one: float(np.log(error**2 + least)) for one, error in errors.items()}
        width = np.exp(np.clip(predicted(who, logs, asked, SPREAD), min(logs.values()), max(logs.values())) / 2)
        found[asked] = (odds[asked] - predicted(who, seen, asked, MEAN)) / width
    return found


@pytest.mark.parametrize("most", [1000, 7])
def test_scores_are_those_of_the_slow_regression(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEARNERS", most)
    people, odds = world(1, slots=11)
    who = described(people)
    coins = np.random.default_rng(0).random(11) < 0.5
    for outside in (~people.truth, np.concatenate([coins, ~coins])):
        assert scores(odds, outside, who) == pytest.approx(slow(odds, outside, who), rel=1e-6)


def test_nobody_is_scored_by_a_regression_that_saw_the_fold() -> None:
    """Whatever the others of a fold are, members and others of it score by the same mean and spread."""
    people, odds = world(2)
    who, fold = described(people), np.arange(80) % 40 % FOLDS == 3
    before = scores(odds, ~people.truth, who)
    moved = odds.copy()
    moved[fold & ~people.truth] += 50
    after = scores(moved, ~people.truth, who)
    assert np.array_equal(after[fold & people.truth], before[fold & people.truth])
    assert not np.isclose(after[~fold], before[~fold]).any()
    mean_of_fold = [(score - before[at]) / (value - odds[at]) for at, score, value in zip(
        np.flatnonzero(fold & ~people.truth), after[fold & ~people.truth], moved[fold & ~people.truth], strict=True
    )]  # fmt: skip
    assert all(one > 0 for one in mean_of_fold)  # a larger answer is a higher score, by the same spread


def test_members_teach_nothing() -> None:
    people, odds = world(3)
    who = described(people)
    before = scores(odds, ~people.truth, who)
    moved = np.where(people.truth, odds + np.random.default_rng(0).normal(0, 9, 80), odds)
    assert np.array_equal(scores(moved, ~people.truth, who)[~people.truth], before[~people.truth])


def test_members_and_others_who_are_alike_score_alike() -> None:
    """400 worlds: the mean AUC is within 5 standard errors of 1/2, and in no more than 60 of them (chance below 1e-9)
    are members taken to differ, which the test of 5 % does in 20. Means and spreads differ from record to record."""
    assert binom.sf(60, 400, 0.05) < 1e-9
    aucs, found = [], 0
    for seed in range(400):
        people, odds = world(seed, slots=24)
        got = scores(odds, ~people.truth, described(people))
        curve = roc(got[people.truth], got[~people.truth])
        aucs.append(curve.auc.value)
        found += differ(curve, 0.05)
    assert abs(np.mean(aucs) - 0.5) < 5 * np.std(aucs) / 20
    assert found <= 60


def test_a_regression_that_saw_whom_it_scores_is_noticed() -> None:
    """Learned on all others, it is closer to them than to members: members would seem to be told."""

    def seen(odds: Any, who: Any, slots: int) -> Any:
        others = {place: float(odds[place]) for place in range(slots, 2 * slots)}
        return np.array([abs(odds[place] - predicted(who, others, place, 0.01)) for place in range(2 * slots)])

    aucs = []
    for seed in range(20):
        people, odds = world(seed, slots=12, columns=12)
        got = seen(odds, described(people), 12)
        aucs.append(roc(got[people.truth], got[~people.truth]).auc.value)
    assert np.mean(aucs) - 0.5 > 5 * np.std(aucs) / 20**0.5


def test_it_tells_what_a_record_alone_does_not() -> None:
    for seed in range(3):
        people, odds = world(seed, slots=150, gap=2.0)
        alone = roc(odds[people.truth], odds[~people.truth]).auc
        got = scores(odds, ~people.truth, described(people))
        assert roc(got[people.truth], got[~people.truth]).auc.low > alone.high


def test_an_overfit_model_behind_a_function() -> None:
    """Nothing is trained again."""
    better = 0
    for seed in range(3):
        draw = np.random.default_rng(seed)
        rows = draw.normal(size=(400, 20)).astype(np.float32)
        labels = (rows[:, :3].sum(axis=1) + 2 * draw.normal(size=400) > 0).astype(int)
        model = Stacked(hidden=(32,), epochs=60, batch=20, rate=0.01).fit(rows[:200], labels[:200], seed=seed)
        found = attack_model(
            model.predict_proba, (rows[:200], labels[:200]), (rows[200:], labels[200:]), shadows=0
        ).numbers
        assert found["main"] == module.NAME
        assert found["auc_low"] > 0.5
        better += found["auc"] > found["attacks"]["loss"]["auc"]["value"]
    assert better == 3


def test_who_is_silent_comes_last_and_teaches_nothing() -> None:
    people, odds = world(4)
    odds[[2, 45]] = np.nan
    who = described(people)
    got = scores_of(
        regression(who, ~people.truth), Outputs(odds, odds[:, None]), Shadows(NOBODY, people.records.labels)
    )
    assert np.isfinite(got).all()
    assert set(np.argsort(got)[:2].tolist()) == {2, 45}
    assert got[[2, 45]].tolist() == [got.min()] * 2


def test_few_people_are_enough_to_run() -> None:
    people, odds = world(5, slots=2)
    assert np.isfinite(scores(odds, ~people.truth, described(people))).all()
    odds[2:] = np.nan  # nobody to learn from
    assert scores(odds, ~people.truth, described(people))[:2] == pytest.approx(odds[:2])
    people, odds = world(5, slots=9)
    assert np.isfinite(scores(np.ones(18), ~people.truth, described(people))).all()


def test_people_of_another_kind_are_no_accusation() -> None:
    """Without shadow models, columns and answers alone tell whether others are people like the members."""
    draw, reached = np.random.default_rng(0), 0
    for shift in (1.0, 0.3):
        rows = draw.normal(size=(300, 5)) * np.repeat([[1.0], [shift]], 150, axis=0)
        labels = np.arange(300) % 2
        chance = 1 / (1 + np.exp(-(rows**3).sum(axis=1)))
        answers = dict(zip(rows[:, 0].tolist(), chance.tolist(), strict=True))

        def service(asked: Any, answers: Any = answers) -> Any:
            return np.array([answers[one] for one in asked[:, 0].tolist()])

        found = attack_model(service, (rows[:150], labels[:150]), (rows[150:], labels[150:]))
        differs = "members and others differ in more" in " / ".join(found.numbers["limits"])
        assert differs is (shift < 1)
        assert found.alarm == "neutral"
        reached += found.numbers["tpr_low"] > 0.02
    assert reached == 1  # of people of another kind more seem to be found


def test_people_who_are_alike_are_seldom_unlike() -> None:
    """200 worlds, each with a chance of 1 % at most; more than 15 have less than 1e-8. Membership changes nothing."""
    assert binom.sf(15, 200, 0.01) < 1e-8
    found = 0
    for seed in range(200):
        people, odds = world(seed, slots=24, gap=2.0)
        found += unlike(odds, people.truth, described(people), 0.01)
    assert found <= 15


def test_coins_are_not_guessed_by_what_learns_from_other_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guesses that know the other coins can all be right together more often than a promise allows each."""
    monkeypatch.setattr(model_attack, "ATTACKS", {"loss": ATTACKS["loss"]})
    people, _ = world(6, slots=60)
    rows, labels = people.records.rows, people.records.labels
    model = Stacked(hidden=(16,), epochs=60, batch=20, rate=0.01)
    found = attack_model(
        model.fit(rows[:60], labels[:60], seed=0), (rows[:60], labels[:60]), (rows[60:], labels[60:]),
        refit=model, shadows=8, models=2, privacy=privacy(1),
    )  # fmt: skip
    assert found.numbers["guesser"] == "loss"
    assert set(found.numbers["attacks"]) == {"loss", module.NAME}
    assert "surest guesses (loss)" in found.tables[1].text


# Columns


def test_columns_are_numbers_of_one_size() -> None:
    rows = np.array([[1.0, 5, 1e300], [3.0, 5, -1e300], [np.nan, 5, 0.0], [2.0, 5, np.inf]])
    found = columns_of(rows)
    assert found.shape == (4, 4)  # two numbers and two gaps; a constant says nothing
    assert found.mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert (found**2).mean(axis=0) == pytest.approx(1 / 4)
    assert columns_of(np.full((5, 2), 0.1)).shape == (5, 0)


def test_texts_are_columns_of_their_values() -> None:
    pandas = pytest.importorskip("pandas")
    texts = np.array([["a", 1], ["b", 2], ["a", None], ["c", 4]], object)
    frame = pandas.DataFrame({"t": ["a", "b", "a", "c"], "n": [1, 2, np.nan, 4]})
    kinds = pandas.DataFrame({"t": pandas.Categorical(["a", "b", "a", "c"]), "n": [1, 2, np.nan, 4]})
    images = np.arange(24.0).reshape(4, 3, 2)
    assert columns_of(texts).shape == (4, 3 + 2)
    assert columns_of(frame) == pytest.approx(columns_of(texts))
    assert columns_of(kinds) == pytest.approx(columns_of(texts))
    assert columns_of(images) == pytest.approx(columns_of(images.reshape(4, 6)))
    many = columns_of(np.array([[f"t{place}"] for place in range(80)], object))
    assert many.shape == (80, module.VALUES)
