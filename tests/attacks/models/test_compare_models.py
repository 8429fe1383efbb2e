"""A model and the same model trained privately: attacked with the same people and coins, with the accuracy of each."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from support.refusals import raises_code

import privet as pv
from privet.attacks import Findings, Stacked, compare_models, privacy
from privet.attacks.models.compare_models import accuracy
from privet.attacks.models.model_attack import model_result
from privet.errors import InvalidInputError
from privet.report.findings.page import page_of, verdict
from privet.report.page import to_html
from privet.stats.binomial import LEVEL, lower

PEOPLE = 80
OVERFIT = Stacked(hidden=(32,), epochs=60, batch=20, rate=0.01)
Pair = tuple[Any, Any]


def world(people: int = PEOPLE) -> tuple[Pair, Pair]:
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(2 * people, 20))
    labels = (rows[:, :3].sum(axis=1) + 2 * draw.normal(size=2 * people) > 0).astype(int)
    return (rows[:people], labels[:people]), (rows[people:], labels[people:])


class Sum:
    """Learns nothing, so that it keeps every promise."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def predict_proba(self, rows: Any) -> Any:
        chance = 1 / (1 + np.exp(-rows[:, :3].sum(axis=1)))
        return np.column_stack([1 - chance, chance])


def noisy(_: Any, __: Any, *, seed: int) -> Any:
    model, slope = Sum(), np.random.default_rng(seed).normal()
    model.predict_proba = lambda rows: Sum.predict_proba(model, rows * (1 + slope / 100))  # type: ignore[method-assign]
    return model


def compared(private: Any = noisy, **options: Any) -> Findings:
    chosen: dict[str, Any] = {"privacy": privacy(1), "shadows": 16, "models": 3} | options
    return compare_models(OVERFIT, private, *world(), **chosen)


@pytest.fixture(scope="module")
def found() -> Findings:
    return compared()


def test_the_model_leaks_and_the_private_one_does_not(found: Findings) -> None:
    plain, private = found.numbers["model"], found.numbers["private"]
    assert plain["auc_low"] > 0.5 > private["auc_low"]
    assert plain["tpr"] > private["tpr_high"]
    assert found.numbers["violated"] is False
    assert verdict(found) == "bad"  # of the model that was to be shipped people are claimed
    assert plain["accuracy"]["members"]["value"] == 1
    rows, labels = world()[1]
    right = ((rows[:, :3].sum(axis=1) > 0) == labels).mean()
    assert private["accuracy"]["others"]["value"] == pytest.approx(right)


def test_the_headline_says_what_privacy_costs(found: Findings) -> None:
    plain, private = found.numbers["model"], found.numbers["private"]
    first, second = (round(one["tpr"] * PEOPLE) for one in (plain, private))
    assert f"{first} of {PEOPLE} members are found in the model ({plain['main']})" in found.headline
    assert f"and {second} in the private model ({private['main']}; epsilon 1)" in found.headline
    one, other = (f"{100 * told['accuracy']['others']['value']:.0f} %" for told in (plain, private))
    assert f"the model classifies {one} of the others correctly, and the private model {other}" in found.headline


def test_both_rows_curves_and_the_limit_are_on_one_page(found: Findings, tmp_path: Path) -> None:
    (table, coins), (picture,) = found.tables, found.pictures
    mains = [found.numbers[which]["main"] for which in ("model", "private")]
    assert [row[0] for row in table.rows] == [f"model ({mains[0]})", f"private model ({mains[1]})"]
    assert len(table.rows[0]) == len(table.columns)
    assert coins.title == "Coins guessed"
    assert [(one.name, one.style) for one in picture.curves] == [
        ("model", "line"), ("private model", "line"), ("blind guessing", "line"), ("limit of epsilon 1", "bound"),
    ]  # fmt: skip
    assert picture.curves[0].y != picture.curves[1].y
    assert {one.section for one in found.findings} == {"In the model"}
    page = to_html(page_of(found))
    assert "private model" in page
    assert "In the model" in page
    assert found.report(tmp_path / "both.html").exists()
    assert json.loads(json.dumps(found.to_json()))["attack"] == "model comparison"


def test_without_coins_no_limit_is_drawn() -> None:
    found = compared(models=0)
    assert [one.style for one in found.pictures[0].curves] == ["line"] * 3
    assert found.numbers["violated"] is None
    assert "private model: the promise was not tested" in found.headline
    assert found.tables[0].rows[0][3:5] == ("not known", "not known")


def test_the_same_people_and_coins_decide_for_both() -> None:
    found = compared(OVERFIT)
    plain, private = found.numbers["model"], found.numbers["private"]
    assert plain["attacks"] == private["attacks"]
    assert plain["risk"] == private["risk"]
    assert found.claimed == plain_claims(plain) > 0
    assert len(found.findings) == 2 * (found.claimed)


def plain_claims(numbers: Any) -> int:
    return sum(one["sure"] > 0 for one in numbers["risk"]) + int(numbers["claimed_others"])


def test_a_private_model_that_breaks_its_promise_is_refuted() -> None:
    found = compared(OVERFIT, privacy=privacy("0.1", "1e-9"), models=8)
    assert found.numbers["violated"] is True
    assert "epsilon 0.1, delta 1e-09" in found.headline
    assert "the promise of privacy is not kept" in found.headline


def test_limits_of_both_are_said_once() -> None:
    found = compared(shadows=8)
    assert "only 8 shadow models: the attacks are weaker than they could be" in found.numbers["limits"]
    assert any(one.startswith(("model: ", "private model: ")) for one in found.assumptions) is False
    silent = compared(lambda *_: lambda rows: np.array([[0.5, np.nan if row[0] > 1 else 0.5] for row in rows]))
    assert any(one.startswith("private model: no finite answer") for one in silent.numbers["limits"])
    assert not any("no finite answer" in one and not one.startswith("private") for one in silent.numbers["limits"])


def test_private_training_may_be_random() -> None:
    """It has to be, so that is no limit."""
    draws = np.random.default_rng(0)
    found = compared(lambda rows, labels: noisy(rows, labels, seed=int(draws.integers(10**6))))
    assert found.numbers["private"]["reproducible"] is False
    assert not any("different models" in one for one in found.numbers["limits"])


def test_private_learners_of_privet() -> None:
    """Their noise has no seed. It is refuted only if 151 of 160 guesses are right, or all of the 48 surest ones: where
    each is right with chance 0.6, far more than such a model shows, that has a chance below 1e-10."""
    assert max(binom.sf(150, 160, 0.6), binom.sf(47, 48, 0.6)) < 1e-10
    limit = 1 / (1 + math.exp(-2))
    for right, of, refutes in ((150, 160, False), (151, 160, True), (47, 48, False), (48, 48, True), (16, 16, False)):
        assert (lower(right, of, LEVEL / 5) > limit) is refutes
    learn = pytest.importorskip("privet.learn")

    def private(rows: Any, labels: Any) -> Any:
        return learn.LogisticRegression(epsilon=1, bounds=(-4, 4), classes=[0, 1]).fit(rows, labels)

    found = compared(private, models=2)
    assert found.numbers["violated"] is False
    counted = [one["guessed"] for one in found.numbers["private"]["coins"]]
    assert counted == [160, 48, 16, 5, 2]


def test_accuracy_is_how_often_a_model_is_right() -> None:
    members, others = world()
    model = OVERFIT.fit(*members, seed=0)
    result = model_result(model, members, others, shadows=0)
    for inside, (rows, labels) in ((True, members), (False, others)):
        right = accuracy(result, inside=inside)
        assert right.value == pytest.approx((model.predict(rows) == labels).mean())
        assert right.low < right.value
    labels_only = model_result(model, members, others, shadows=0, answers="labels")
    assert accuracy(labels_only, inside=False) == accuracy(result, inside=False)
    even = model_result(lambda rows: np.full((len(rows), 2), 0.5), members, others, shadows=0)
    assert accuracy(even, inside=True).value == 0.5
    half = model_result(
        lambda rows: np.where(rows[:, :1] > 0, np.nan, model.predict_proba(rows)), members, others, shadows=0
    )
    known = others[0][:, 0] <= 0
    assert accuracy(half, inside=False).value == pytest.approx((known & (model.predict(others[0]) == others[1])).mean())


def test_a_model_that_is_there_already() -> None:
    members, others = world()
    model = OVERFIT.fit(*members, seed=5)
    seen: list[tuple[str, int, int]] = []
    found = compare_models(
        OVERFIT, noisy, members, others, privacy=privacy(1), model=model.predict_proba, shadows=4, models=0,
        progress=lambda *one: seen.append(one),
    )  # fmt: skip
    assert found.numbers["model"]["rows_asked"] == 2 * PEOPLE
    assert {name for name, *_ in seen} >= {"model: asking the model", "private model: training shadow models"}


def test_wrong_arguments_are_refused() -> None:
    with raises_code(InvalidInputError, "not-callable: private_fit"):
        compared(3)
    with raises_code(InvalidInputError, "code-fails"):
        compared(lambda *_: 1 / 0)
    with raises_code(InvalidInputError, "wrong-type"):
        compare_models(OVERFIT, noisy, [1], world()[1], privacy=privacy(1))


def test_it_is_public() -> None:
    assert pv.attacks.compare_models is compare_models
