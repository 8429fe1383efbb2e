"""vault.fit on real files, a real engine and a real ledger: what is learned from, who pays, and what comes out."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso
from support.learned_vault import FEATURES, as_numbers, vault_of, visits
from support.refusals import raises_code

import privet as pv
from privet import learn, recheck
from privet.backends import Course, held_rows
from privet.core.rounds import moved
from privet.errors import (
    BudgetExceededError,
    InvalidInputError,
    RefusedQueryError,
    ReleaseFailedError,
    TableUnavailableError,
)
from privet.learn.base import PrivateEstimator
from privet.learn.card import amount
from privet.vault import Vault
from privet.vault import vault as vaults

LEARNERS: dict[str, Callable[..., PrivateEstimator]] = {
    "GaussianNB": learn.GaussianNB,
    "CategoricalNB": learn.CategoricalNB,
    "KMeans": lambda **price: learn.KMeans(2, **price),
    "PCA": lambda **price: learn.PCA(2, **price),
    "StandardScaler": learn.StandardScaler,
    "LinearRegression": learn.LinearRegression,
    "Ridge": learn.Ridge,
    "LogisticRegression": learn.LogisticRegression,
    "MLPClassifier": lambda **price: learn.MLPClassifier(epochs=1, **price),
    "MLPRegressor": lambda **price: learn.MLPRegressor(epochs=1, **price),
}
OWN_NOISE = {"MLPClassifier", "MLPRegressor"}  # which needs a delta, and whose price `recheck` does not know
NUMBERS = {"LinearRegression", "Ridge", "MLPRegressor"}
CLASSES = {"GaussianNB", "LogisticRegression", "MLPClassifier"}


def how(name: str) -> dict[str, Any]:
    """What a learner is asked to learn."""
    if name == "CategoricalNB":
        return {"target": "ill", "features": ["ward", "smoker", "age"]}
    if name in NUMBERS:
        return {"target": "cost", "features": ["age", "ward", "smoker"]}
    return {"target": "ill"} if name in CLASSES else {"features": ["age", "cost", "ward"]}


def price_of(name: str) -> dict[str, Any]:
    return {"epsilon": 1, "delta": 1e-6 if name in OWN_NOISE else 0}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """Without noise, 2 rows of a person count. For tests that do not look at the budget."""
    with vault_of(tmp_path_factory.mktemp("shared"), visits(), max_rows=2) as made:
        yield made


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    with vault_of(tmp_path, visits(), testing=False, max_rows=2) as made:
        yield made


def rows_of(vault: Vault, **asked: Any) -> list[tuple[float, ...]]:
    """What the engine hands to the learner."""
    course = vault.plan_fit(learn.GaussianNB(epsilon=1), "visits", target="ill", **asked).planned.course
    return list(map(tuple, vault._backend.rows(course).raw.tolist()))


# ---------------------------------------------------------------------------------------- which rows, as which numbers


def test_the_learner_sees_the_rows_as_declared(shared: Vault) -> None:
    plan = shared.plan_fit(learn.GaussianNB(epsilon=1), "visits", target="ill")
    assert plan.columns.names == FEATURES
    everybody = as_numbers(visits())
    assert Counter(rows_of(shared, max_rows=100)) == Counter(row for rows in everybody.values() for row in rows)
    some = Counter(rows_of(shared, max_rows=100, where="age >= 50 AND ward = 'A'"))
    assert some == Counter(row for rows in everybody.values() for row in rows if row[0] >= 40 and row[2])
    assert 0 < some.total() < 30


@pytest.mark.parametrize("most", [1, 2])
def test_of_a_person_no_more_rows_than_count(shared: Vault, most: int) -> None:
    everybody = as_numbers(visits())
    found = Counter(rows_of(shared, max_rows=most))
    assert found.total() == sum(min(len(rows), most) for rows in everybody.values())
    assert not found - Counter(row for rows in everybody.values() for row in rows)


def test_one_person_in_everything(tmp_path: Path) -> None:
    with vault_of(tmp_path, visits().assign(who="the same"), max_rows=3) as vault:
        assert len(rows_of(vault)) == 3
        found = vault.fit(learn.GaussianNB(epsilon=1), "visits", target="ill")
        assert found.class_count_.sum() <= 4  # each class counts as one row at least


def test_the_tables_limits_count_if_nothing_else_is_said(tmp_path: Path) -> None:
    with vault_of(tmp_path / "a", visits(), max_groups=3, max_rows_per_group=2) as vault:
        assert vault.plan_fit(learn.PCA(epsilon=1), "visits", features=["age"]).card.rows_per_unit == 6
    with vault_of(tmp_path / "b", visits(), max_groups=3, max_rows_per_group=2, max_rows=4) as vault:
        assert vault.plan_fit(learn.PCA(epsilon=1), "visits", features=["age"]).card.rows_per_unit == 4
        assert vault.plan_fit(learn.PCA(epsilon=1, max_rows=9), "visits", features=["age"]).card.rows_per_unit == 4
        for wrong in (0, -1, 1.5, "x"):
            with raises_code(InvalidInputError, "wrong-type|not-whole|not-positive|too-small|not-a-number"):
                vault.plan_fit(learn.PCA(epsilon=1), "visits", max_rows=wrong)  # type: ignore[arg-type]
    with vault_of(tmp_path / "c", visits(), unit=None) as vault:
        plan = vault.plan_fit(learn.PCA(epsilon=1), "visits", features=["age"])
        assert (plan.card.unit, plan.card.rows_per_unit) == ("rows", 1)
        with raises_code(InvalidInputError, "rows-are-units"):
            vault.plan_fit(learn.PCA(epsilon=1), "visits", max_rows=2)


def test_without_noise_the_model_is_that_of_the_rows(shared: Vault) -> None:
    """Means in the units of the declaration; classes, probabilities and predictions in the order of the declaration."""
    rows = np.array(rows_of(shared, max_rows=100))
    found = shared.fit(learn.StandardScaler(epsilon=1), "visits", features=["age", "cost", "smoker"], max_rows=100)
    ages = [
        min(max(row.age, 10), 99) for row in visits().itertuples() if not pd.isna(row.who) and not np.isnan(row.age)
    ]
    assert found.mean_[0] == pytest.approx(np.mean(ages), abs=0.05)
    bayes = shared.fit(learn.GaussianNB(epsilon=1), "visits", target="ill", max_rows=100)
    assert bayes.classes_.tolist() == ["no", "yes"]
    assert bayes.class_count_ == pytest.approx([sum(rows[:, -1] == 0), sum(rows[:, -1] == 1)], rel=0.01)
    assert bayes.feature_names_in_.tolist() == FEATURES
    assert bayes.n_features_in_ == len(FEATURES)


@pytest.mark.parametrize("name", list(LEARNERS))
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_every_learner_learns_from_a_table(shared: Vault, name: str, delta: float) -> None:
    delta = delta or price_of(name)["delta"]
    found = shared.fit(LEARNERS[name](epsilon=1, delta=delta), "visits", **how(name))
    frame = visits(seed=8).dropna(subset=["age"])
    given = found.predict(frame) if hasattr(found, "predict") else found.transform(frame)
    assert len(given) == len(frame)
    assert name in OWN_NOISE or recheck.problems(json.loads(found.privacy_.to_json())["guarantee"]) == []
    assert found.privacy_.warnings == ("NOT PRIVATE: this vault was made for testing",)
    assert "NOT PRIVATE" in str(found.privacy_)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(frame) if hasattr(found, "predict") else again.transform(frame), given)


@pytest.mark.parametrize("name", list(LEARNERS))
def test_nobody_at_all_is_learned_from_like_anybody(shared: Vault, name: str) -> None:
    """No error, no warning and no other attributes, whoever is there."""
    usual = shared.fit(LEARNERS[name](**price_of(name)), "visits", **how(name))
    found = shared.fit(LEARNERS[name](**price_of(name)), "visits", where="age > 98 AND age < 98", **how(name))
    assert vars(found).keys() == vars(usual).keys()
    assert found.privacy_.guarantee == usual.privacy_.guarantee


def test_every_learner_is_tested_here() -> None:
    """Whoever adds a learner adds it above."""
    found = {name for name in learn.__all__ if isinstance(one := getattr(learn, name), type)}
    learners = {name for name in found if issubclass(getattr(learn, name), PrivateEstimator)}
    assert learners == set(LEARNERS), one


def test_every_learner_reads_frames_in_one_way() -> None:
    """`_checked` reads the frames of a table's model; scikit-learn's own check would not know them."""
    folder = Path(learn.__file__).parent
    calls = [path.name for path in sorted(folder.glob("*.py")) if "validate_data(" in path.read_text()]
    assert calls == ["base.py", "memory.py"]  # the latter to fit


# -------------------------------------------------------------------------------------------------- who pays, and when


def test_it_is_charged_before_a_row_is_read_and_given_again_free(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    read = vault._backend.rows

    def rows(course: Course) -> Any:
        seen.append(vault.budget.spent.epsilon)
        return read(course)

    monkeypatch.setattr(vault._backend, "rows", rows)
    plan = vault.plan_fit(learn.GaussianNB(epsilon="0.5"), "visits", target="ill", analyst="ann")
    plan.explain()
    assert (seen, plan.answered, vault.budget.spent.epsilon) == ([], False, 0)
    found = plan.release()
    assert seen == [plan.cost.epsilon] == [vault.budget.spent.epsilon]
    entry = list(vault.ledger.entries())[-1]
    assert found.privacy_.receipt is not None
    assert (found.privacy_.receipt["entry"], entry.analyst) == (entry.number - 1, "ann")
    assert "GaussianNB: ill from age, cost, ward, smoker, sex, day of visits" in str(list(vault.ledger.entries()))
    again = vault.fit(learn.GaussianNB(epsilon=0.5), "visits", target="ill", analyst="bob")
    assert len(seen) == 1
    assert again.privacy_.replayed
    np.testing.assert_array_equal(again.theta_, found.theta_)
    other = vault.fit(learn.GaussianNB(epsilon=0.5), "visits", target="ill", features=["age"])
    assert (len(seen), other.privacy_.replayed, vault.budget.spent.epsilon) == (2, False, 1)


DIFFERENT: dict[str, dict[str, Any]] = {
    "another condition": {"where": "age > 20"},
    "other rows": {"max_rows": 1},
    "other columns": {"features": ["age", "cost"]},
    "another order": {"features": ["cost", "age", "ward"]},
}


@pytest.mark.parametrize("case", list(DIFFERENT))
def test_what_differs_is_another_fit(shared: Vault, case: str) -> None:
    usual = {"features": ["age", "cost", "ward"]}
    one = shared.plan_fit(learn.PCA(2, epsilon=1), "visits", **usual)
    other = shared.plan_fit(learn.PCA(2, epsilon=1), "visits", **usual | DIFFERENT[case])
    requests = {plan.planned.charge.request for plan in (one, other)}
    assert len(requests) == 2
    same = shared.plan_fit(learn.PCA(2, epsilon=1.0, delta=0), "visits", **usual)
    assert same.planned.charge.request in requests
    third = shared.plan_fit(learn.PCA(1, epsilon=1), "visits", **usual)
    assert third.planned.charge.request not in requests


def test_what_is_explained(shared: Vault, tmp_path: Path) -> None:
    """Everything that a steward decides by: columns, people, noise, price. Nothing is touched."""
    plan = shared.plan_fit(learn.PCA(1, epsilon="0.1", delta=1e-6), "visits", features=["age"], max_rows=1)
    words = plan.explain()
    for one in (
        "PCA from visits, version 1: 1 number for each row", "age: 10 to 99", "Each who with all its rows, and whether",
        "At most 1 row of each counts", "Rows without one of these values are left out.", "round 2: 1 sum, discrete",
        "epsilon 0.1, delta", "The budget is enough for about", "Nothing was spent, and no data were touched.",
    ):  # fmt: skip
        assert one in words
    assert "a missing category is 0" in shared.plan_fit(learn.PCA(epsilon=1), "visits").explain()
    found = plan.to_json()
    assert (found["model"], found["features"], found["free"], found["unit"]) == ("PCA", ["age"], False, "who")
    assert [len(one) for one in found["noise"]] == [1, 2]
    plan.release()
    assert "The same fit was made before: its result is computed again, free of charge." in plan.explain()
    with vault_of(tmp_path, visits(), unit=None) as vault:
        assert "Each row by itself" in vault.plan_fit(learn.PCA(epsilon=1), "visits", features=["age"]).explain()


def test_cards_in_a_notebook(shared: Vault) -> None:
    card = shared.fit(learn.PCA(epsilon=1), "visits", features=["age"], where="age < 50").privacy_
    assert card._repr_html_().startswith("<pre>!! NOT PRIVATE")
    assert "only rows where = age &lt; 50" in card._repr_html_()
    assert amount("rho", None) == "no rho price"
    assert [amount("epsilon", Fraction(1, 3)), amount("rho", Fraction(1, 10**9))] == [
        "epsilon 0.333334, delta 0",
        "rho 1e-9",
    ]


def test_new_data_are_another_fit(vault: Vault) -> None:
    one = vault.plan_fit(learn.PCA(epsilon=1), "visits", features=["age"]).planned.charge.request
    vault.update_table("visits")
    assert vault.plan_fit(learn.PCA(epsilon=1), "visits", features=["age"]).planned.charge.request != one


def test_no_more_than_the_budget(vault: Vault) -> None:
    plan = vault.plan_fit(learn.PCA(epsilon=60), "visits", features=["age"])
    assert plan.about_n_more == 1
    plan.release()
    with pytest.raises(BudgetExceededError):
        vault.fit(learn.PCA(epsilon=60), "visits", features=["cost"])
    assert vault.budget.spent.epsilon == 60
    vault.grant("ann", pv.Budget(1, 1e-6))
    assert vault.plan_fit(learn.PCA(epsilon="0.4"), "visits", features=["cost"], analyst="ann").about_n_more == 2
    with pytest.raises(BudgetExceededError):
        vault.fit(learn.PCA(epsilon=2), "visits", features=["cost"], analyst="ann")


def test_a_table_that_changed_is_not_read(vault: Vault, tmp_path: Path) -> None:
    """The owner learns why, an analyst does not; nothing is charged."""
    visits(people=50).to_parquet(tmp_path / "visits.parquet")
    with pytest.raises(TableUnavailableError):
        vault.fit(learn.PCA(epsilon=1), "visits", features=["age"], analyst="ann")
    with pytest.raises(InvalidInputError):
        vault.fit(learn.PCA(epsilon=1), "visits", features=["age"])
    assert vault.budget.spent.epsilon == 0


def test_an_engine_that_fails_says_nothing_and_stays_charged(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(_: Course) -> Any:
        raise RuntimeError("secret-7")

    with monkeypatch.context() as patch:
        patch.setattr(vault._backend, "rows", rows)
        with pytest.raises(ReleaseFailedError) as caught:
            vault.fit(learn.PCA(epsilon=1), "visits", features=["age"])
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert vault.budget.spent.epsilon == 1
    vault.fit(learn.PCA(epsilon=1), "visits", features=["age"])  # it failed before any draw: once more, free
    assert vault.budget.spent.epsilon == 1


def test_only_analysts_who_may_ask(tmp_path: Path) -> None:
    with vault_of(tmp_path, visits(), testing=False) as vault:
        path = vault.folder / "vault.toml"
        path.write_text(f'analysts = "granted"\n{path.read_text()}')
    with pv.open(tmp_path / "clinic.privet") as vault, raises_code(RefusedQueryError, "not-granted"):
        vault.plan_fit(learn.PCA(epsilon=1), "visits", features=["age"], analyst="ann")


def test_parts_are_charged_all_together(tmp_path: Path) -> None:
    frame = visits().drop_duplicates("who")
    with vault_of(tmp_path, frame.assign(ward=frame.ward.fillna("A")), testing=False) as vault:
        vault.partition("visits", "ward")
        vault.fit(learn.PCA(epsilon=1), "visits", features=["age"])
        assert [vault.budget_of_part(part).spent.epsilon for part in vault.parts] == [1, 1, 1]
        with raises_code(InvalidInputError, "unknown-option: 'part'"):
            vault.fit(learn.PCA(epsilon=1), "visits", features=["age"], part="A")


# --------------------------------------------------------------------------------------------- how far one person gets


def sums_of(folder: Path, frame: pd.DataFrame, name: str) -> tuple[list[list[int]], Any]:
    """The exact sums of the first round, and what was planned. Later rounds may depend on the noise of earlier ones."""
    with vault_of(folder, frame, max_rows=2) as vault:
        plan = vault.plan_fit(LEARNERS[name](epsilon=1), "visits", **how(name))
        plan.release()
        stored = vault.ledger.stored(plan.planned.charge.request)
        assert stored is not None
        return json.loads(stored.body)["noisy"][0], plan.planned


def furthest(folder: Path, name: str) -> float:
    """How far leaving one person out moves the sums, of what is priced; the most over some people and both lengths."""
    frame = visits(people=6, rows=6)
    whole, planned = sums_of(folder / "all", frame, name)
    most = 0.0
    for who in ("p0", "p3", "p5"):
        less, _ = sums_of(folder / who, frame[frame.who != who], name)
        for noisy, one, other in zip(planned.course.rounds[0], whole, less, strict=True):
            limit = moved(noisy.sums, planned.course.rows, planned.told.gate.ledger.terms.neighbors)
            apart = np.array(one, float) - np.array(other, float)
            most = max(most, np.abs(apart).sum() / float(limit.l1), (apart**2).sum() / float(limit.l2_squared))
    return most


@pytest.fixture
def _same_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """With another one, which rows of others count would be drawn anew."""
    monkeypatch.setattr(vaults, "_fresh_secret", lambda: b"the same for all")


@pytest.mark.usefixtures("_same_secret")
@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in OWN_NOISE])
def test_a_person_moves_the_sums_no_further_than_is_priced(tmp_path: Path, name: str) -> None:
    assert 0 < furthest(tmp_path, name) <= 1


@pytest.mark.usefixtures("_same_secret")
def test_rows_instead_of_people_bounded_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: each row by itself is within its limit, but all rows of a person count."""
    monkeypatch.setattr(held_rows, "bounded", lambda raw, *_: np.arange(len(raw)))
    assert furthest(tmp_path, "CategoricalNB") > 1


# ------------------------------------------------------------------------------------------------- what is left behind


def test_nothing_of_the_rows_or_the_vault_stays_behind(vault: Vault) -> None:
    found = vault.fit(learn.GaussianNB(epsilon=1), "visits", target="ill")
    written = pickle.dumps(found)
    for private in (b"secret-", b"p17", str(vault.folder).encode(), b"ledger.sqlite", b"parquet"):
        assert private not in written
    released = {"theta_", "var_", "classes_", "class_count_", "class_prior_"}
    about = {"n_features_in_", "feature_names_in_", "table_columns_", "privacy_"}
    assert vars(found).keys() == released | about | found.get_params().keys()


def test_the_estimator_that_was_given_stays_as_it_is(shared: Vault) -> None:
    given = learn.GaussianNB(epsilon=1)
    found = shared.fit(given, "visits", target="ill", max_rows=1)
    assert vars(given) == vars(learn.GaussianNB(epsilon=1))
    assert type(found) is learn.GaussianNB
    assert found is not given


# ----------------------------------------------------------------------------------------------------- what is refused

REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no price": (learn.PCA(), {}, "missing-value: epsilon"),
    "another library's learner": (Lasso(), {}, "wrong-type: 'Lasso'"),
    "bounds": (learn.PCA(epsilon=1, bounds=(0, 1)), {}, "unneeded-option: bounds"),
    "classes": (learn.GaussianNB(epsilon=1, classes=[0, 1]), {"target": "ill"}, "unneeded-option: classes"),
    "a target that is not needed": (learn.PCA(epsilon=1), {"target": "ill"}, "unneeded-option: PCA"),
    "targets": (learn.Ridge(epsilon=1, targets=(0, 1)), {"target": "cost"}, "unneeded-option: targets"),
    "a category as a number": (learn.Ridge(epsilon=1), {"target": "ill"}, "type-mismatch: 'ill'"),
    "no target": (learn.GaussianNB(epsilon=1), {}, "missing-option: GaussianNB"),
    "an unknown target": (learn.GaussianNB(epsilon=1), {"target": "il"}, "unknown-column: 'il'"),
    "a number as a class": (learn.GaussianNB(epsilon=1), {"target": "cost"}, "type-mismatch: 'cost'"),
    "a text as a class": (learn.GaussianNB(epsilon=1), {"target": "note"}, "type-mismatch: 'note'"),
    "the target among the features": (
        learn.GaussianNB(epsilon=1), {"target": "ill", "features": ["ill"]}, "contradiction: 'ill'"
    ),
    "a text": (learn.PCA(epsilon=1), {"features": ["note"]}, "not-declared: 'note'"),
    "an unknown feature": (learn.PCA(epsilon=1), {"features": ["agee"]}, "unknown-column: 'agee'"),
    "a feature that is no name": (learn.PCA(epsilon=1), {"features": [3]}, "unknown-column: 3"),
    "a feature twice": (learn.PCA(epsilon=1), {"features": ["age", "age"]}, "duplicate-name"),
    "no feature": (learn.PCA(epsilon=1), {"features": []}, "missing-option"),
    "numbers to count": (
        learn.CategoricalNB(epsilon=1), {"target": "ill", "features": ["cost"]}, "too-many: 'cost'"
    ),
    "an unknown table": (learn.PCA(epsilon=1), {"table": "visit"}, "unknown-table: 'visit'"),
    "no condition": (learn.PCA(epsilon=1), {"where": ""}, "syntax-error"),
    "more than a condition": (learn.PCA(epsilon=1), {"where": "age > 1) GROUP BY (ward"}, "syntax-error"),
    "a condition about others": (
        learn.PCA(epsilon=1), {"where": "age > (SELECT AVG(age) FROM visits)"}, "misplaced-subquery"
    ),
    "a condition on no column": (learn.PCA(epsilon=1), {"where": "years > 1"}, "unknown-column"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_is_refused(shared: Vault, case: str) -> None:
    learner, asked, code = REFUSED[case]
    spent = shared.budget.spent
    with pytest.raises((InvalidInputError, RefusedQueryError)) as caught:
        shared.fit(learner, **{"table": "visits"} | asked)
    assert caught.value.code in code, caught.value
    assert shared.budget.spent == spent


def test_a_public_table_needs_no_price(tmp_path: Path) -> None:
    with vault_of(tmp_path, visits()) as vault:
        vault.add_table(
            "wards", pd.DataFrame({"ward": ["A"], "beds": [3]}), public=True, columns={"beds": pv.Integer(0, 9)}
        )
        with raises_code(RefusedQueryError, "private-table-needed"):
            vault.fit(learn.PCA(epsilon=1), "wards")
