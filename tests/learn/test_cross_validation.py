"""Cross-validation: the scores are those of predictions for rows that were not learned from, and what they cost."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from support.learned_vault import vault_of, visits
from support.lessons import LEARNERS, raw_of, setting, table_of
from support.refusals import raises_code
from support.row_functions import assert_matrix_function

from privet import learn, recheck, training
from privet.backends import Course
from privet.backends.contributions import RowFunction, Rows
from privet.core.loss import Loss
from privet.core.rounds import Round, priced
from privet.core.unit import Neighbors
from privet.errors import BudgetExceededError, InvalidInputError, RefusedQueryError
from privet.learn.cross_validation import CrossValidationPlan
from privet.learn.declared import Column
from privet.learn.rows import declared_values
from privet.learn.scores import SCORINGS, STEP, UNKNOWN, Score, score, score_shares, scored_rows
from privet.vault import Vault

PREDICTING = ["GaussianNB", "LogisticRegression", "OneMargin", "CategoricalNB", "LinearRegression", "Ridge"]
ALL = [name for names in SCORINGS.values() for name in names]
TARGET = Column(name="cost", low=-10.0, high=30.0, top=160)


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[Vault]:
    """Without noise, 2 rows of a person count."""
    with vault_of(tmp_path, visits(people=90), max_rows=2) as made:
        yield made


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    with vault_of(tmp_path, visits(), testing=False, max_rows=2) as made:
        yield made


# ------------------------------------------------------------------------------------------ what is scored, and on whom


def exactly(rows: Rows) -> Callable[[Round, RowFunction], list[list[int]]]:
    return lambda one, function: rows.sums(function, [each.sums for each in one])


def by_hand(plan: CrossValidationPlan, vault: Vault) -> tuple[list[float], list[Any], list[Any]]:
    """Of each fold the score of a model that learned from the others; and all predictions and true values."""
    found, told, truth = list[float](), [], []
    planned = plan.planned
    rows = vault._backend.rows(planned.course)
    for fold in range(planned.course.folds):
        others, own = rows.apart(fold)
        model = clone(plan.learner)
        lesson = plan._method.fit.lesson
        for name, value in training._play(lesson(), planned.course.rounds, exactly(others), others).items():
            setattr(model, name, value)
        columns = planned.declared.columns
        values = np.column_stack([declared_values(own.raw[:, at], one) for at, one in enumerate(columns)])
        model.n_features_in_ = len(columns) - 1
        predicted = model.predict(values[:, :-1])
        if columns[-1].values:
            true = np.array(columns[-1].values)[own.raw[:, -1].astype(int)]
            found.append(float(np.mean(predicted == true)))
        else:
            true = values[:, -1]
            predicted = np.clip(predicted, columns[-1].low, columns[-1].high)
            far = np.minimum(np.abs(predicted - true), (columns[-1].high - columns[-1].low) / 2)
            found.append(math.sqrt(np.mean(far**2)))
        told += predicted.tolist()
        truth += true.tolist()
    return found, told, truth


def test_without_noise_the_scores_are_those_of_predictions_for_the_fold_left_out(quiet: Vault) -> None:
    plan = quiet.plan_cross_validation(learn.GaussianNB(epsilon=25), "visits", target="ill", folds=4, score_epsilon=2)
    found, (scores, told, truth) = plan.release(), by_hand(plan, quiet)
    assert [one.value for one in found.folds] == pytest.approx(scores)
    assert found.score.value == pytest.approx(np.mean(np.array(told) == np.array(truth)))
    assert len(told) > 100
    for one in (found.score, *found.folds):
        assert one.low is not None
        assert one.high is not None
        assert one.value is not None
        assert one.low < one.value < one.high


def test_errors_and_r2_are_those_of_predictions(quiet: Vault) -> None:
    asked: dict[str, Any] = {"target": "cost", "features": ["age", "smoker"], "folds": 3}
    plan = quiet.plan_cross_validation(learn.LinearRegression(epsilon=16), "visits", **asked)
    found, (scores, told, truth) = plan.release(), by_hand(plan, quiet)
    away = np.array(told) - np.array(truth)
    far = np.minimum(np.abs(away), 27.5)  # half of the range from -5 to 50
    assert [one.value for one in found.folds] == pytest.approx(scores, rel=1e-3)
    assert found.score.value == pytest.approx(math.sqrt(np.mean(far**2)), rel=1e-3)
    other = quiet.plan_cross_validation(learn.LinearRegression(epsilon=16), "visits", scoring="r2", **asked)
    by_r2, (_, told, truth) = other.release(), by_hand(other, quiet)
    far = np.minimum(np.abs(np.array(told) - np.array(truth)), 27.5)
    assert by_r2.score.value == pytest.approx(1 - np.sum(far**2) / np.sum((truth - np.mean(truth)) ** 2), abs=1e-3)


@pytest.mark.parametrize("name", PREDICTING)
def test_what_is_scored_is_what_is_predicted_each_row_by_itself(name: str) -> None:
    one = setting(LEARNERS[name](epsilon=8))
    X, y = table_of(name, 300)  # noqa: N806
    model = clone(one.model).fit(X, y)
    raw = raw_of(one, X, y)
    found = model._predicted(raw, one.declared)
    assert_matrix_function(lambda some: model._predicted(some, one.declared)[:, None], raw[:60])
    columns = one.declared.columns
    if name == "CategoricalNB":
        assert (model.classes_[found.astype(int)] == model.predict(X)).all()
        return
    values = np.column_stack([declared_values(raw[:, at], each) for at, each in enumerate(columns[:-1])])
    if columns[-1].values:
        assert (model.classes_[found.astype(int)] == model.predict(values)).all()
    else:
        expected = np.clip(model.predict(values), columns[-1].low, columns[-1].high)
        assert declared_values(found, columns[-1]) == pytest.approx(expected)


@pytest.mark.parametrize("name", ALL)
def test_no_row_adds_more_than_is_priced_and_some_row_adds_as_much(name: str) -> None:
    ends = np.array([(a, b) for a in (0, 1, 40, 80, 81, 160) for b in (0, 1, 40, 80, 81, 160)], float)
    ((shares),) = score_shares(name)
    given = scored_rows(name, ends[:, 0], ends[:, 1], TARGET)
    assert sum(share for _, share in shares) == 1
    for (sums, _), one in zip(shares, given, strict=True):
        sizes, squares = np.abs(one.matrix).sum(axis=1), (one.matrix**2).sum(axis=1)
        assert (one.matrix == np.rint(one.matrix)).all()
        assert (sizes.max(), squares.max()) == (sums.l1, sums.l2_squared)
    assert_matrix_function(lambda raw: scored_rows(name, raw[:, 0], raw[:, 1], TARGET)[-1].matrix, ends)
    odd = scored_rows(name, np.array([np.nan, np.inf, -1e300]), np.zeros(3), replaced(TARGET))
    assert Rows(np.zeros((3, 1))).sums(lambda _: odd, [sums for sums, _ in shares])  # nothing fails


def replaced(column: Column) -> Column:
    """A range of one number."""
    return Column(name=column.name, low=3.0, high=3.0, top=0)


# ------------------------------------------------------------------------------------------------- scores and intervals


def round_of(name: str, epsilon: float) -> Round:
    (one,) = priced(score_shares(name), 1, Neighbors.ADD_REMOVE, F(epsilon), F(0)).rounds
    return one


def test_scores_of_sums_without_noise() -> None:
    near = round_of("accuracy", 1000)
    assert score("accuracy", TARGET, near, [[75, 25]]).value == 0.75
    assert score("rmse", TARGET, round_of("rmse", 10**9), [[STEP, 3 * STEP]]).value == 10  # half of the range is 20
    sums = [[STEP, 9 * STEP], [2 * STEP, 5 * STEP]]  # 10 rows; the squares around their mean are 5 - 2**2 / 10
    assert score("r2", TARGET, round_of("r2", 10**9), sums).value == pytest.approx(1 - 1 / 4.6)


def test_too_much_noise_is_said() -> None:
    far = round_of("accuracy", 1)
    for sums in ([2, 1], [-3, 2], [-4, -4], [0, 0]):
        found = score("accuracy", TARGET, far, [sums])
        assert found == UNKNOWN
        assert "unknown" in str(found)
    assert score("rmse", TARGET, round_of("rmse", 1), [[0, 0]]) == UNKNOWN
    assert score("r2", TARGET, round_of("r2", 1), [[0, STEP], [0, 0]]) == UNKNOWN
    assert score("r2", TARGET, round_of("r2", 1), [[0, -9 * STEP], [0, -STEP]]) == UNKNOWN
    assert score("accuracy", TARGET, far, [[0, 90]]).low == 0
    assert score("accuracy", TARGET, far, [[90, -5]]) == Score(
        value=1.0,
        low=pytest.approx(86 / 86, abs=0.1),
        high=1.0,  # type: ignore[arg-type]
    )


def test_no_interval_ends_before_it_begins() -> None:
    """Noise beyond its half-width may leave errors that no rows could make."""
    one, n = round_of("r2", 1), 500
    for errors in (-200, -30, 0, 5, n):
        found = score("r2", TARGET, one, [[errors * STEP, n * STEP], [0, n * STEP]])
        assert found.value is not None
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.value <= found.high <= 1


TRUE: dict[str, tuple[list[list[int]], float]] = {
    "accuracy": ([[160, 40]], 0.8),
    "rmse": ([[8 * STEP, 192 * STEP]], 4.0),
    "r2": ([[8 * STEP, 192 * STEP], [10 * STEP, 40 * STEP]], 1 - 8 / 39.5),
}


@pytest.mark.parametrize("folds", [1, 5])
@pytest.mark.parametrize("name", ALL)
def test_intervals_hold_as_often_as_is_said(name: str, folds: int) -> None:
    """1,500 draws: a share of 95 % would be found below 91 % with a chance below 1e-10."""
    rng, one, (exact, true) = np.random.default_rng(11), round_of(name, 0.5), TRUE[name]
    held = 0
    for _ in range(1500):
        sums = []
        for noisy, numbers in zip(one, exact, strict=True):
            chance = -math.expm1(-1 / float(noisy.law.scale))  # type: ignore[union-attr]
            draws = rng.geometric(chance, (2, folds, len(numbers)))
            sums.append([int(n) for n in np.array(numbers) + (draws[0] - draws[1]).sum(axis=0)])
        found = score(name, TARGET, one, sums, folds)
        held += found == UNKNOWN or (found.low or 0) - 1e-9 <= true <= (found.high or 0) + 1e-9
    assert held >= 0.91 * 1500


# --------------------------------------------------------------------------------------------------------- who pays


def test_one_charge_for_all_folds_and_the_same_again_is_free(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, read = [], vault._backend.rows

    def rows(course: Course) -> Any:
        seen.append(vault.budget.spent.epsilon)
        return read(course)

    monkeypatch.setattr(vault._backend, "rows", rows)
    asked: dict[str, Any] = {"target": "ill", "folds": 3, "score_epsilon": "0.5"}
    plan = vault.plan_cross_validation(learn.GaussianNB(epsilon="0.5"), "visits", **asked, analyst="ann")
    words = plan.explain()
    for one in (
        "3 folds of GaussianNB from visits", "Each who is in one of 3 folds.", "Score: accuracy, the share of right",
        "each who is in 2 of 3 fits (epsilon 0.5, delta 0 each) and in one test (epsilon 0.5, delta 0)",
        "epsilon 1.5, delta 0", "such cross-validations, this one included", "Nothing was spent",
    ):  # fmt: skip
        assert one in words
    assert (seen, plan.answered, vault.budget.spent.epsilon) == ([], False, 0)
    found = plan.release()
    assert seen == [F(3, 2)] == [plan.cost.epsilon]
    assert "cross-validate in 3 folds GaussianNB: ill from age" in str(list(vault.ledger.entries()))
    assert recheck.problems(found.to_json()["guarantee"]) == []
    again = vault.cross_validate(learn.GaussianNB(epsilon=0.5), "visits", **asked, analyst="bob")
    assert (again.score, again.folds, again.privacy.replayed, len(seen)) == (found.score, found.folds, True, 1)
    assert "scores" not in plan.explain().partition("Price")[2]
    assert "was made before" in plan.explain()
    for other in ({"folds": 2}, {"score_epsilon": 1}, {"features": ["age"]}):
        assert not vault.plan_cross_validation(learn.GaussianNB(epsilon=0.5), "visits", **asked | other).answered
    assert not vault.plan_fit(learn.GaussianNB(epsilon=0.5), "visits", target="ill").answered


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("folds", [2, 5])
def test_the_price_is_that_of_the_other_folds_and_one_test(vault: Vault, delta: float, folds: int) -> None:
    """With Gaussian noise the fits are converted together, so all of them use one delta."""
    learner = learn.LogisticRegression(epsilon=1, delta=delta)
    fit = vault.plan_fit(learner, "visits", target="ill").cost
    plan = vault.plan_cross_validation(learner, "visits", target="ill", folds=folds, score_epsilon="0.25")
    assert isinstance(fit.epsilon, F)
    assert isinstance(fit.rho, F)
    assert plan.cost.rho == (folds - 1) * fit.rho + F(1, 32)
    assert plan.cost.delta == fit.delta == F(str(delta) if delta else 0)
    most = (folds - 1) * fit.epsilon + F(1, 4)
    assert plan.cost.epsilon is not None
    assert plan.cost.epsilon == most if not delta else plan.cost.epsilon <= most * F(1001, 1000)
    assert not delta or folds < 5 or plan.cost.epsilon <= F("2.45")  # as docs/learn.md says: 3.2 with a test of 1
    assert ("cost less together" in plan.explain()) == bool(delta)
    stated = plan.to_json()
    assert recheck.problems(stated["guarantee"]) == []
    cheap = json.loads(json.dumps(stated["guarantee"]))
    for name in ("epsilon", "rho"):
        cheap["cost"][name] = str(F(cheap["cost"][name]) * F(99, 100))
    assert recheck.problems(cheap) != []
    assert (stated["folds"], stated["scoring"], stated["test"]["epsilon"]) == (folds, "accuracy", 0.25)
    assert plan.card.rounds == folds * (len(plan.planned.course.rounds) + 1)
    assert (plan.card.rho is not None) == bool(delta)


def test_no_more_than_the_budget(vault: Vault) -> None:
    with pytest.raises(BudgetExceededError) as caught:
        vault.cross_validate(learn.GaussianNB(epsilon=30), "visits", target="ill", folds=4)
    assert "3 fits" in caught.value.remedy
    assert vault.budget.spent.epsilon == 0


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "one fold": ({"folds": 1}, InvalidInputError, "too-small|not-positive|out-of-range"),
    "half a fold": ({"folds": 2.5}, InvalidInputError, "not-whole|wrong-type"),
    "many folds": ({"folds": 21}, InvalidInputError, "too-large"),
    "unknown scorer": ({"scoring": "acuracy"}, InvalidInputError, "unknown-choice: accuracy"),
    "a scorer of numbers": ({"scoring": "rmse"}, InvalidInputError, "unknown-choice: classes … accuracy"),
    "no text": ({"scoring": 3}, InvalidInputError, "unknown-choice: 3"),
    "no price": ({"score_epsilon": 0}, InvalidInputError, "not-positive"),
    "no target": ({"target": None}, InvalidInputError, "missing-option"),
    "clusters": ({"estimator": learn.KMeans(epsilon=1), "target": None}, RefusedQueryError, "not-supported: KMeans"),
    "a network": (
        {"estimator": learn.MLPClassifier(epsilon=1, delta=1e-6)}, RefusedQueryError, "not-supported: MLPClassifier",
    ),
    "no such option": ({"fold": 3}, InvalidInputError, "unknown-option: folds"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(WRONG))
def test_what_is_refused_costs_nothing(vault: Vault, case: str) -> None:
    given, kind, code = WRONG[case]
    asked = {"estimator": learn.GaussianNB(epsilon=1), "target": "ill"} | given
    with raises_code(kind, code.partition(":")[0]) as caught:  # type: ignore[arg-type]
        vault.cross_validate(asked.pop("estimator"), "visits", **asked)
    for fact in filter(None, code.partition(": ")[2].split(" … ")):
        assert fact in str(caught.value)
    assert vault.budget.spent.epsilon == 0


def test_a_public_table_needs_no_budget(tmp_path: Path) -> None:
    with (
        vault_of(tmp_path, visits(), unit=None, public=True) as vault,
        raises_code(RefusedQueryError, "private-table-needed"),
    ):
        vault.cross_validate(learn.GaussianNB(epsilon=1), "visits", target="ill")


# ------------------------------------------------------------------------------------------------- without a vault


@pytest.mark.parametrize("people", [True, False])
def test_rows_in_memory(people: bool) -> None:
    rng = np.random.default_rng(2)
    ages = rng.integers(0, 100, 6000).astype(float)[:, None]
    labels = np.where((ages[:, 0] > 50) ^ (rng.random(6000) < 0.05), "old", "young")
    learner = learn.GaussianNB(epsilon=2, bounds=(0, 100), classes=["old", "young"], max_rows=2)
    units = np.arange(6000) // 2 if people else None
    found = learn.cross_validate(learner, ages, labels, units=units, folds=3, score_epsilon="4.5")
    assert found.score.value is not None
    assert found.score.value > 0.9
    assert len(found.folds) == 3
    assert found.privacy.epsilon == "17/2"
    assert found.privacy.model == "3 folds of GaussianNB"
    assert not hasattr(learner, "theta_")
    for one in ("accuracy (share of right predictions): 0.9", "fold 3: ", "in 95 of 100 cases", "price: epsilon 8.5"):
        assert one in str(found)
    assert found._repr_html_().startswith("<pre>accuracy")


def test_what_is_refused_in_memory() -> None:
    X, y = np.zeros((9, 1)), np.zeros(9)  # noqa: N806
    with raises_code(InvalidInputError, "wrong-type"):
        learn.cross_validate("GaussianNB", X, y)  # type: ignore[arg-type]
    with raises_code(InvalidInputError, "missing-value"):
        learn.cross_validate(learn.GaussianNB(bounds=(0, 1), classes=[0, 1]), X, y)
    with raises_code(RefusedQueryError, "not-supported"):
        learn.cross_validate(learn.PCA(epsilon=1, bounds=(0, 1)), X)
    found = learn.cross_validate(learn.GaussianNB(epsilon=1, bounds=(0, 1), classes=[0, 1]), X[:0], y[:0], folds=2)
    assert all(one == UNKNOWN or one.low == 0 or one.high == 1 for one in found.folds)


def test_a_loss_without_a_delta_adds_up(quiet: Vault) -> None:
    """A learner that finds Laplace noise to be less does not spend the delta."""
    plan = quiet.plan_cross_validation(
        learn.CategoricalNB(epsilon=1, delta=1e-6), "visits", target="ill", features=["smoker"], folds=3
    )
    assert plan.cost == Loss(epsilon=F(3), delta=F(0), rho=F(3, 2))
