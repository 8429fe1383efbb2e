"""Models trained again that are unlike the model, and members who are unlike others: neither is a green light, and
neither is an accusation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from privet.attacks import Findings, Stacked, attack_model
from privet.attacks.models.likeness import too_many_alarms, unlike
from privet.attacks.models.measured import differ
from privet.attacks.models.shadows import Told
from privet.report.findings.page import verdict
from privet.stats.roc import roc

OVERFIT = Stacked(hidden=(32,), epochs=60, batch=20, rate=0.01)
CALM = Stacked(hidden=(), epochs=3, batch=20, rate=0.01)
LEVEL, TABLES = 0.05, 400
Pair = tuple[Any, Any]


def world(seed: int = 0, people: int = 80, columns: int = 20) -> tuple[Pair, Pair]:
    """Members and others, alike; all columns say as much of the class."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(2 * people, columns)).astype(np.float32)
    labels = (rows.sum(axis=1) + np.sqrt(columns) * draw.normal(size=2 * people) > 0).astype(int)
    return (rows[:people], labels[:people]), (rows[people:], labels[people:])


def limits(found: Findings) -> str:
    return " / ".join(found.numbers["limits"])


def test_training_that_ignores_its_records_is_no_green_light() -> None:
    """As of a file that reads its own data: shadow models say the same whoever was in."""
    members, others = world()

    def refit(_: Any, __: Any, *, seed: int) -> Any:
        return OVERFIT.fit(*members, seed=seed)

    for seed in range(3):
        model = OVERFIT.fit(*members, seed=99)
        found = attack_model(model, members, others, refit=refit, shadows=16, models=3, seed=seed)
        assert verdict(found) == "neutral"
        assert "members of this model differ from others" in limits(found)
        assert "whichever records it gets" in limits(found)


class Knows:
    """Knows a few records by heart, which training it again does not."""

    def __init__(self, members: Pair, known: int) -> None:
        self.model = CALM.fit(*members, seed=0)
        self.labels = {row.tobytes(): label for row, label in list(zip(*members, strict=True))[:known]}

    def predict_proba(self, rows: Any) -> Any:
        found = np.array(self.model.predict_proba(rows))
        for place, row in enumerate(rows):
            if row.tobytes() in self.labels:
                found[place] = np.eye(2)[self.labels[row.tobytes()]] * 0.9998 + 0.0001
        return found


def test_a_few_records_known_by_heart_are_no_green_light() -> None:
    for seed in range(3):
        members, others = world(seed, people=200)
        found = attack_model(Knows(members, 15), members, others, refit=CALM, shadows=16, models=2, seed=seed)
        assert verdict(found) != "good"


class Half:
    """A model of some columns."""

    def __init__(self, pair: Pair, columns: slice, seed: int) -> None:
        self.columns, self.model = columns, OVERFIT.fit(pair[0][:, columns], pair[1], seed=seed)

    def predict_proba(self, rows: Any) -> Any:
        return self.model.predict_proba(rows[:, self.columns])


def test_models_that_are_as_sure_of_other_records_claim_nobody() -> None:
    """Of the claims on other columns a third was wrong, and of the others 7 % were claimed."""
    for seed in range(3):
        members, others = world(seed, people=120, columns=40)
        model = Half(members, slice(20, 40), 0)

        def refit(rows: Any, labels: Any, *, seed: int) -> Any:
            return Half((rows, labels), slice(20), seed)

        found = attack_model(model, members, others, refit=refit, shadows=24, models=0, seed=seed)
        assert found.claimed == 0
        assert "unlike" in limits(found)
        usual = attack_model(Half(members, slice(20), 0), members, others, refit=refit, shadows=24, models=0, seed=seed)
        assert "unlike" not in limits(usual)


def test_people_of_another_kind_are_no_accusation() -> None:
    """The others differ, and the model gives nothing away: only coins could say so."""
    for seed in range(3):
        members, (rows, labels) = world(seed, people=150)
        mixed = np.where(np.random.default_rng(seed).random(len(labels)) < 0.3, 1 - labels, labels)
        found = attack_model(
            CALM.fit(*members, seed=0), members, (rows * 0.3, mixed), refit=CALM, shadows=24, models=3, seed=seed
        )
        assert "differ in more" in limits(found)
        assert verdict(found) == "neutral"


def test_members_and_others_in_each_others_place() -> None:
    members, others = world()
    found = attack_model(OVERFIT.fit(*others, seed=0).predict_proba, members, others)
    assert "score lower" in limits(found)
    found = attack_model(OVERFIT.fit(*others, seed=0), members, others, refit=OVERFIT, shadows=16, models=0)
    assert "unlike" in limits(found)


class Masked:
    """Probabilities that say which class, and no more."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict_proba(self, rows: Any) -> Any:
        return np.where(np.eye(2)[self.model.predict(rows)] > 0, 0.9, 0.1)


def test_probabilities_that_are_labels_are_said_to_be() -> None:
    members, others = world()
    found = attack_model(
        Masked(CALM.fit(*members, seed=0)),
        members,
        others,
        refit=lambda rows, labels: Masked(CALM.fit(rows, labels, seed=1)),
        shadows=16,
        models=0,
    )
    assert "labels only" in limits(found)


@pytest.mark.parametrize("round_to", [9, 0])
def test_people_who_are_alike_seldom_differ(round_to: int) -> None:
    """400 tables, each with a chance of 5 % at most; more than 60 have less than 1e-9. With ties, too."""
    assert binom.sf(60, TABLES, LEVEL) < 1e-9
    draw = np.random.default_rng(0)
    tables = draw.normal(size=(TABLES, 2, 120)).round(round_to)
    assert sum(differ(roc(one, other), LEVEL) for one, other in tables) <= 60


def test_people_who_are_not_alike_differ() -> None:
    draw = np.random.default_rng(0)
    scores = draw.normal(size=(2, 200))
    assert differ(roc(scores[0] + 1, scores[1]), LEVEL)
    assert differ(roc(scores[0] - 1, scores[1]), LEVEL)
    known = np.where(np.arange(200) < 10, 9.0, scores[0])
    assert differ(roc(known, scores[1]), LEVEL)


def told(models: int, spread: float, people: int = 60) -> tuple[Any, Any]:
    """Each record has a level of its own, on which all models agree up to `spread`."""
    draw = np.random.default_rng(3)
    odds = 2 * draw.normal(size=people) + spread * draw.normal(size=(models + 1, people))
    inside = draw.random((models + 1, people // 2)) < 0.5
    both = np.concatenate([inside, ~inside], axis=1)
    return (odds[0], both[0]), Told(odds[1:], np.empty((models, people, 0)), both[1:])


def test_records_in_another_order_are_unlike() -> None:
    (own, truth), others = told(16, 0.3)
    assert not unlike(own, truth, others)
    swapped = own.copy()
    for side in (truth, ~truth):
        swapped[side] = np.roll(own[side], 1)  # the same means
    assert unlike(swapped, truth, others)
    (own, truth), others = told(16, 0.0)
    assert not unlike(own, truth, others)
    assert not unlike(own, truth, others.chosen(np.arange(16) < 2))


def test_alarms_beyond_the_rate() -> None:
    truth = np.repeat([True, False], 100)
    sure = np.where(np.arange(200) % 100 < 10, 0.9, 0.0)
    assert too_many_alarms(sure, truth)
    assert not too_many_alarms(np.where(truth, sure, 0.0), truth)
    assert not too_many_alarms(np.where(np.arange(200) % 100 < 3, 0.9, 0.0), truth)
