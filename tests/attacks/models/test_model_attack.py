"""Whole attacks on models: who is found, who is claimed, and what keeps a report from a green light."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from support.refusals import raises_code

import privet as pv
from privet.attacks import Asking, Findings, Stacked, attack_model, privacy
from privet.attacks.models import shadows as shadow_models
from privet.errors import InvalidInputError
from privet.report.findings.page import page_of, verdict
from privet.report.page import to_html

PEOPLE = 80
OVERFIT = Stacked(hidden=(32,), epochs=60, batch=20, rate=0.01)
CALM = Stacked(hidden=(), epochs=3, batch=20, rate=0.01)
Pair = tuple[Any, Any]


def world(seed: int = 0, people: int = PEOPLE, signal: float = 1.0) -> tuple[Pair, Pair]:
    """Members and others, alike."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(2 * people, 20)).astype(np.float32)
    labels = (signal * rows[:, :3].sum(axis=1) + 2 * draw.normal(size=2 * people) > 0).astype(int)
    return (rows[:people], labels[:people]), (rows[people:], labels[people:])


def attacked(how: Stacked = OVERFIT, seed: int = 0, people: int = PEOPLE, **options: Any) -> Findings:
    members, others = world(seed, people)
    chosen: dict[str, Any] = {"refit": how, "shadows": 24, "models": 3, "seed": seed} | options
    return attack_model(how.fit(*members, seed=seed), members, others, **chosen)


@pytest.fixture(scope="module")
def overfit() -> Findings:
    return attacked(privacy=privacy(1))


def limits(found: Findings) -> str:
    return " / ".join(found.numbers["limits"])


def test_members_of_an_overfit_model_are_found(overfit: Findings) -> None:
    numbers = overfit.numbers
    best = numbers["attacks"][numbers["main"]]
    assert numbers["auc_low"] > 0.5
    assert best["models_auc"]["low"] > 0.5
    assert best["models_found"]["value"] > 0.05
    assert best["control_auc"]["low"] < 0.5 < best["control_auc"]["high"]
    assert best["auc"]["value"] > numbers["attacks"]["loss"]["auc"]["value"]
    assert numbers["limits"] == []
    assert verdict(overfit) == "bad"
    assert numbers["enough_for_strict"] is False
    assert best["models_found_strict"] is None


def test_claims_are_people_with_names_in_order(overfit: Findings) -> None:
    assert overfit.score is not None
    assert overfit.claimed == len(overfit.findings) == overfit.score.claimed > 0
    assert all(one.confidence is not None and one.confidence >= 0.9 for one in overfit.findings)
    risk = overfit.numbers["risk"]
    assert len(risk) == PEOPLE
    assert [one["score"] for one in risk] == sorted((one["score"] for one in risk), reverse=True)
    sure = {one["name"] for one in risk if one["sure"]}
    assert {one.record["name"] for one in overfit.findings} - sure == {
        one.record["name"] for one in overfit.findings if "wrong" in one.reasoning
    }


def test_a_promise_that_is_not_kept_is_refuted(overfit: Findings) -> None:
    assert overfit.numbers["violated"] is True
    assert "promise" in overfit.headline
    assert any(curve.style == "bound" for curve in overfit.pictures[0].curves)


def test_the_same_seed_gives_the_same_result(overfit: Findings) -> None:
    again = attacked(privacy=privacy(1))
    assert again.to_json() | {"seconds": 0} == overfit.to_json() | {"seconds": 0}
    assert overfit.numbers["reproducible"] is True


def test_a_report_is_a_page_a_terminal_and_json(overfit: Findings, tmp_path: Path) -> None:
    assert "member" in str(overfit)
    assert "Coins guessed" in to_html(page_of(overfit))
    assert json.loads(json.dumps(overfit.to_json()))["attack"] == "model"
    assert overfit.report(tmp_path / "model.html").exists()


def test_nobody_is_claimed_where_nothing_leaks() -> None:
    """Twenty models that do not overfit: no claims; more people are found than chance finds in few of them."""
    found = [attacked(CALM, seed, shadows=16, models=2) for seed in range(20)]
    assert sum(one.claimed for one in found) == 0
    hits = sum(round(one.numbers["tpr"] * PEOPLE) for one in found)
    assert binom.sf(80, 20 * PEOPLE, 0.02) < 1e-9  # with 80 others the threshold is passed by 1 in 81
    assert hits <= 80
    assert sum(verdict(one) == "bad" for one in found) <= 2


def test_control_people_are_not_claimed_beyond_the_rate() -> None:
    """Ten overfit models: of 800 others no more than one in 100 is claimed, and nine of ten claims are right."""
    found = [attacked(seed=seed, models=0) for seed in range(10)]
    scores = [one.score for one in found if one.score is not None]
    claimed, right = sum(one.claimed for one in scores), sum(one.right for one in scores)
    assert claimed > 50
    assert right >= 0.9 * claimed
    assert claimed - right <= 8


def test_planted_records_head_the_list() -> None:
    """Five members with the wrong class, which the model knows by heart."""
    (rows, labels), others = world(3, signal=4.0)
    wrong = np.argsort(-np.abs(rows[:, :3].sum(axis=1)))[:5]
    labels = labels.copy()
    labels[wrong] = 1 - labels[wrong]
    model = OVERFIT.fit(rows, labels, seed=0)
    found = attack_model(model, (rows, labels), others, refit=OVERFIT, shadows=32, models=0)
    first = [one["name"] for one in found.numbers["risk"][:8]]
    assert {f"member {place + 1}" for place in wrong} <= set(first)


def test_one_model_alone_says_so() -> None:
    found = attacked(models=0, privacy=privacy(1))
    assert any("this one model" in one for one in found.assumptions)
    assert "not tested" in limits(found)
    assert found.numbers["violated"] is None
    assert all(curve.style != "bound" for curve in found.pictures[0].curves)
    assert found.numbers["attacks"]["LiRA"]["models_auc"] is None


# A promise at its limit


class Shower:
    """Answers by randomized response for each record, by its number in the first column: whether it was in."""

    def __init__(self, numbers: Any, answer: float, seed: int) -> None:
        draw = np.random.default_rng(seed)
        there = np.isin(np.arange(2 * PEOPLE), numbers)
        self.said = there ^ (draw.random(2 * PEOPLE) > answer)

    def predict_proba(self, rows: Any) -> Any:
        high = np.where(self.said[rows[:, 0].astype(int)], 0.9, 0.6)
        return np.column_stack([high, 1 - high])


def at_the_limit(epsilon: float, claimed: float, seed: int) -> Any:
    rows = np.column_stack([np.arange(2 * PEOPLE), np.zeros(2 * PEOPLE)])
    labels = np.zeros(2 * PEOPLE, int)
    labels[[0, PEOPLE]] = 1

    def refit(rows: Any, _: Any, *, seed: int) -> Shower:
        return Shower(rows[:, 0], 1 / (1 + np.exp(-epsilon)), seed)

    pairs = [(rows[part], labels[part]) for part in (slice(PEOPLE), slice(PEOPLE, None))]
    model = refit(pairs[0][0], None, seed=seed)
    found = attack_model(model, *pairs, refit=refit, shadows=32, models=10, privacy=privacy(claimed), seed=seed)
    return found.numbers["violated"]


def test_a_promise_that_is_just_kept_is_not_refuted() -> None:
    """Each of 20 runs is refuted with 5 % at most; more than 10 have a chance of less than 1e-7."""
    assert sum(at_the_limit(1.4, 1.4, seed) for seed in range(20)) <= 10


def test_a_promise_of_half_as_much_is_refuted() -> None:
    assert [at_the_limit(1.4, 0.7, seed) for seed in range(5)] == [True] * 5


# What keeps it from a green light


def test_labels_alone_are_said_to_be_less() -> None:
    found = attacked(CALM, answers="labels", shadows=16)
    assert "labels" in limits(found)
    assert "limited" in found.headline
    assert verdict(found) != "good"


BY_THEMSELVES = ["loss", "quantile regression"]  # attacks that need no shadow models


def test_without_shadow_models_two_attacks_are_tried() -> None:
    members, others = world()
    model = CALM.fit(*members, seed=0)
    for found in (
        attack_model(model.predict_proba, members, others),
        attack_model(model, members, others),
        attack_model(model, members, others, refit=CALM, shadows=0),
    ):
        assert list(found.numbers["attacks"]) == BY_THEMSELVES
        assert found.numbers["main"] == "quantile regression"
        assert any("fixed beforehand: quantile regression" in one for one in found.assumptions)
        assert "no shadow models: only attacks without them" in limits(found)
        assert found.claimed == 0
        assert verdict(found) != "good"


@pytest.mark.parametrize(("shadows", "said"), [(2, "only attacks without"), (8, "weaker")])
def test_few_shadow_models_are_said_to_be_few(shadows: int, said: str) -> None:
    found = attacked(CALM, shadows=shadows, models=0)
    assert said in limits(found)
    assert verdict(found) != "good"


def test_few_people_are_said_to_be_few() -> None:
    assert "too few" in limits(attacked(CALM, people=12, shadows=16, models=0))


def failing(when: Any) -> Any:
    calls = iter(range(10**6))

    def refit(rows: Any, labels: Any, *, seed: int) -> Any:
        if when(next(calls)):
            raise RuntimeError("no memory")
        return CALM.fit(rows, labels, seed=seed)

    return refit


def test_trainings_that_fail_are_left_out_and_counted() -> None:
    found = attacked(CALM, refit=failing(lambda call: call % 4 == 1))
    assert found.numbers["failed"] == 7
    assert "7 of 27 trainings failed (RuntimeError)" in limits(found)
    assert found.numbers["shadows"] == 18


def test_if_all_trainings_fail_attacks_without_them_are_left() -> None:
    found = attacked(CALM, refit=failing(lambda _: True))
    assert "24 of 24 trainings failed" in limits(found)
    assert list(found.numbers["attacks"]) == BY_THEMSELVES
    assert found.numbers["reproducible"] is None


def test_training_that_cannot_be_repeated_is_said() -> None:
    draws = np.random.default_rng(0)
    found = attacked(CALM, refit=lambda rows, labels: CALM.fit(rows, labels, seed=int(draws.integers(1000))))
    assert found.numbers["reproducible"] is False
    assert "different models" in limits(found)


def test_another_kind_of_training_claims_nobody() -> None:
    """The model overfits, and the one that is trained again does not: what is usual for it says nothing."""
    members, others = world()
    found = attack_model(OVERFIT.fit(*members, seed=0), members, others, refit=CALM, shadows=24, models=0)
    assert "unlike" in limits(found)
    assert found.claimed == 0
    assert verdict(found) != "good"


def test_others_of_another_kind_are_noticed() -> None:
    members, (rows, labels) = world()
    model = CALM.fit(*members, seed=0)
    found = attack_model(model, members, (rows * 0.1, labels), refit=CALM, shadows=24, models=2)
    assert "differ in more" in limits(found)


class Silent:
    """Says nothing of some rows."""

    def __init__(self, model: Any, limit: float = 1.5) -> None:
        self.model, self.limit = model, limit

    def predict_proba(self, rows: Any) -> Any:
        found = np.array(self.model.predict_proba(rows))
        found[rows[:, 0] > self.limit] = np.nan
        return found


def test_records_without_an_answer_are_counted() -> None:
    members, others = world()
    found = attack_model(Silent(OVERFIT.fit(*members, seed=0)), members, others, refit=OVERFIT, shadows=24, models=2)
    silent = int((np.concatenate([members[0], others[0]])[:, 0] > 1.5).sum())
    assert silent > 0
    assert f"no finite answer for {silent} of {2 * PEOPLE} records" in limits(found)
    assert np.isfinite(found.numbers["auc"])


def test_a_model_that_says_nothing_is_refused() -> None:
    members, others = world()
    with raises_code(InvalidInputError, "not-finite"):
        attack_model(lambda rows: np.full((len(rows), 2), np.nan), members, others)


def test_shadow_models_that_say_nothing_are_failures() -> None:
    def refit(rows: Any, labels: Any, *, seed: int) -> Any:
        return Silent(CALM.fit(rows, labels, seed=seed), limit=-np.inf if seed % 2 else np.inf)

    found = attacked(CALM, refit=refit)
    assert 0 < found.numbers["failed"] < 27
    assert "ArithmeticError" in limits(found)


def test_the_same_record_on_either_side_is_noticed() -> None:
    members, (rows, labels) = world()
    rows, labels = rows.copy(), labels.copy()
    rows[:3], labels[:3] = members[0][:3], members[1][:3]
    found = attack_model(CALM.fit(*members, seed=0), members, (rows, labels), refit=CALM, shadows=16, models=0)
    assert "3 records are among members and others" in limits(found)


def test_members_who_are_in_twice_are_noticed() -> None:
    (rows, labels), others = world()
    twice = np.concatenate([rows, rows[:3]]), np.concatenate([labels, labels[:3]])
    found = attack_model(CALM.fit(*twice, seed=0), twice, others, refit=CALM, shadows=16, models=0)
    assert "6 members have the same record" in limits(found)


def test_one_class_is_refused() -> None:
    members, others = world()
    with raises_code(InvalidInputError, "no-variation"):
        attack_model(len, (members[0], np.zeros(PEOPLE)), (others[0], np.zeros(PEOPLE)))


def test_wrong_arguments_are_refused() -> None:
    members, others = world()
    with raises_code(InvalidInputError, "not-callable"):
        attack_model(CALM.fit(*members, seed=0), members, others, refit=3)  # type: ignore[arg-type]
    with raises_code(InvalidInputError, "wrong-length"):
        attacked(CALM, names=["a"])
    with raises_code(InvalidInputError, "negative|out-of-range|too-small: shadows"):
        attacked(CALM, shadows=-1)


# Models of every kind


def test_names_and_members_without_a_slot() -> None:
    members, (rows, labels) = world()
    names = [f"p{place}" for place in range(PEOPLE)]
    found = attack_model(
        OVERFIT.fit(*members, seed=0),
        members,
        (rows[:50], labels[:50]),
        refit=OVERFIT,
        shadows=16,
        models=2,
        names=names,
    )
    assert found.numbers["slots"] == 50
    assert found.numbers["always_in"] == 30
    assert {one["name"] for one in found.numbers["risk"]} < set(names)
    assert any("30 more members" in one for one in found.assumptions)


def test_models_of_scikit_learn_are_cloned() -> None:
    linear, pipeline = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.pipeline")
    scaled = pytest.importorskip("sklearn.preprocessing").StandardScaler
    pandas = pytest.importorskip("pandas")
    members, others = world()
    frames = [
        (pandas.DataFrame(rows).add_prefix("c"), np.array(["no", "yes"])[labels]) for rows, labels in (members, others)
    ]
    model = pipeline.make_pipeline(scaled(), linear.LogisticRegression(C=100.0)).fit(*frames[0])
    found = attack_model(model, *frames, shadows=16, models=2)
    assert found.numbers["reproducible"] is True
    assert "unlike" not in limits(found)
    assert found.numbers["answers"] == "probabilities"


def test_scikit_learn_is_asked_for_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    members, others = world()
    model = pytest.importorskip("sklearn.linear_model").LogisticRegression().fit(*members)

    def missing(_: str) -> None:
        raise ImportError

    monkeypatch.setattr(shadow_models.importlib, "import_module", missing)
    with raises_code(InvalidInputError, "missing-extra"):
        attack_model(model, members, others)
    assert list(attack_model(model, members, others, shadows=0).numbers["attacks"]) == BY_THEMSELVES


def test_members_who_score_higher_keep_it_from_a_green_light() -> None:
    """A service that is a little surer of members, and of none of them so much that anybody stands out."""
    members, others = world(people=300)
    known = members[0][:, 0]
    pairs = [(rows, np.arange(300) % 2) for rows, _ in (members, others)]
    labels = {float(row[0]): label for rows, many in pairs for row, label in zip(rows, many.tolist(), strict=True)}

    def service(rows: Any) -> Any:
        usual = sum(np.sin(often * rows[:, 1]) for often in (1e4, 2e4, 3e4))  # which nobody learns from the columns
        sure = 1 / (1 + np.exp(-usual - 0.4 * np.isin(rows[:, 0], known)))
        return np.where([labels[float(row)] for row in rows[:, 0]], sure, 1 - sure)

    found = attack_model(service, *pairs)
    assert "score higher" in limits(found)
    assert found.alarm == "neutral"


def test_a_few_whom_the_model_knows_by_heart_keep_it_from_a_green_light() -> None:
    """Three of 300, too few for a share at one false alarm in 100. Without a leak it is said with a chance of 1e-3."""
    draw = np.random.default_rng(5)
    people = [(draw.normal(size=(300, 3)), draw.integers(0, 2, 300)) for _ in range(2)]

    class Heart:
        def __init__(self, rows: Any, labels: Any, known: int) -> None:
            far = np.argsort(-rows[:, 0])[:known]
            self.known = {tuple(rows[place].tolist()): labels[place] for place in far}

        def predict_proba(self, rows: Any) -> Any:
            usual = 1 / (1 + np.exp(-rows[:, 0]))
            told = [self.known.get(tuple(row), one) for row, one in zip(rows.tolist(), usual, strict=True)]
            second = np.clip(told, 1e-4, 1 - 1e-4)
            return np.column_stack([1 - second, second])

    for known in (3, 0):
        refit = partial(Heart, known=known)
        found = attack_model(refit(*people[0]), *people, refit=refit, shadows=16, models=3)
        few = [words for words in found.numbers["limits"] if words.startswith("a few stand out")]
        assert (len(few), found.claimed) == (known > 0, 0)


def test_trees_and_scores_are_attacked() -> None:
    trees, linear = pytest.importorskip("sklearn.tree"), pytest.importorskip("sklearn.linear_model")
    members, others = world()
    grown = trees.DecisionTreeClassifier(random_state=0).fit(*members)
    found = attack_model(grown, members, others, shadows=16, models=2)
    assert found.numbers["tpr"] == 0 or found.numbers["auc"] > 0.55
    assert found.numbers["auc_low"] > 0.5
    scores = attack_model(linear.RidgeClassifier().fit(*members), members, others, shadows=16, models=2)
    assert scores.numbers["answers"] == "scores"


def test_a_network_of_scikit_learn_is_trained_in_stacks(monkeypatch: pytest.MonkeyPatch) -> None:
    network = pytest.importorskip("sklearn.neural_network").MLPClassifier
    members, others = world()
    model = network((16,), max_iter=40, learning_rate_init=0.01, tol=0.5, random_state=1).fit(*members)
    monkeypatch.setattr(network, "fit", None)  # nothing is trained one by one
    found = attack_model(model, members, others, shadows=16, models=2)
    assert found.numbers["shadows"] == 16
    assert "unlike" not in limits(found)


def test_a_service_is_asked_once_for_each_record(tmp_path: Path) -> None:
    members, others = world()
    model = OVERFIT.fit(*members, seed=0)
    asking = Asking(batch=30, kept=tmp_path / "kept")
    options: dict[str, Any] = {"refit": OVERFIT, "shadows": 16, "models": 2}
    found = attack_model(model.predict_proba, members, others, asking=asking, **options)
    assert found.numbers["rows_asked"] == 2 * PEOPLE
    again = attack_model(
        lambda _: 1 / 0, members, others, asking=Asking(batch=30, retries=0, kept=tmp_path / "kept"), **options
    )
    assert again.numbers["auc"] == found.numbers["auc"]
    assert again.numbers["rows_asked"] == 20
    assert "not compared" in limits(again)


def test_progress_is_told() -> None:
    seen: list[tuple[str, int, int]] = []
    attacked(CALM, shadows=4, models=2, progress=lambda *told: seen.append(told))
    assert {name for name, *_ in seen} == {"asking the model", "training shadow models", "training models to attack"}


def test_it_is_public() -> None:
    assert pv.attacks.attack_model is attack_model
