"""Canaries in the trainings of our own learners, at the price that they claim; and in trainings with a mistake.

Each audit flags a correct learner with a chance of 1e-7 at most. Noise is seeded, so no test is red by chance. Power:
noise of 0.3 of its size is found from the noisy sums of each of eight learners, in 200 to 700 trainings. What models
say of records tells less: there, learners without noise are found.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.lessons import table_of
from support.planted_descent import PLANTED
from support.quick_fits import OneStep, QuickFit, likelihood

import privet as pv
from privet.audits import Audit, Claim, TrainingAudit, audit_training, from_scores
from privet.audits.canary_scores import scored, usual_score
from privet.core.unit import Neighbors
from privet.learn.descent import noisy_step

SURE = 1 - Fraction(1, 10**7)
RECORDS = 6
CLASSES = {"classes": ["no", "so", "yes"]}
DECLARED: dict[str, dict[str, Any]] = {
    "GaussianNB": CLASSES,
    "LogisticRegression": CLASSES,
    "CategoricalNB": CLASSES | {"bounds": [["a", "b"], [0, 1, 2]]},
    "LinearRegression": {"targets": (0, 10)},
    "Ridge": {"targets": (0, 10)},
}
RUNS = {  # so that the audit could contradict the claim; so that it sees noise of 0.3 of its size
    "StandardScaler": (160, 200),
    "GaussianNB": (160, 300),
    "LogisticRegression": (160, 240),
    "CategoricalNB": (600, 700),
    "KMeans": (160, 240),
    "PCA": (160, 500),
    "LinearRegression": (160, 400),
    "Ridge": (160, 400),
}
ADD, REPLACE = Neighbors


def audited(
    name: str, times: float, runs: int, neighbors: Neighbors = ADD, *, box: str = "grey"
) -> tuple[TrainingAudit, Audit]:
    """Grey: the score sees all noisy sums. Black: it sees what a model says of records. The second audit is always
    black, and of the same models."""
    X, y = table_of(name, RECORDS)  # noqa: N806
    labels = y if name in DECLARED else None
    fit = QuickFit.of(name, neighbors, times, epsilon=2 if name == "CategoricalNB" else 3)
    grey, black = likelihood(fit, X, labels), usual_score(DECLARED.get(name, {}).get("classes"))
    seen: list[float] = []

    def score(model: Any, rows: Any, labels: Any) -> Any:
        told = scored(black, model, rows, labels)
        seen.append(float(told[0]))
        return told if box == "black" else grey(model, rows, labels)

    found = audit_training(
        fit,
        X if labels is None else (X, labels),
        fit.claim,
        neighbors=neighbors.value,
        canaries=1,
        runs=runs,
        kinds="corner",
        score=score,
        confidence=SURE,
        **{"bounds": (-1, 3)} | DECLARED.get(name, {}),
    )
    return found, from_scores(seen[::2], seen[1::2], fit.claim, confidence=SURE)


@pytest.mark.proof
@pytest.mark.parametrize("name", RUNS)
def test_noisy_sums_and_models_tell_no_more_than_is_claimed(name: str) -> None:
    grey, black = audited(name, 1.0, RUNS[name][0])
    assert grey.verdict.startswith("consistent up to")
    assert black.verdict.startswith("consistent up to")
    assert grey.failed == 0


@pytest.mark.proof
@pytest.mark.parametrize("name", RUNS)
def test_noise_of_a_third_is_found_in_noisy_sums(name: str) -> None:
    assert audited(name, 0.3, RUNS[name][1])[0].violated


@pytest.mark.proof
@pytest.mark.parametrize("name", RUNS)
def test_models_tell_that_there_is_no_noise(name: str) -> None:
    assert audited(name, 0.0, RUNS[name][0], box="black")[0].violated


@pytest.mark.proof
@pytest.mark.parametrize("name", ["StandardScaler", "LinearRegression"])
def test_somebody_else_in_the_place_shows_no_more(name: str) -> None:
    assert audited(name, 1.0, RUNS[name][0], REPLACE)[0].verdict.startswith("consistent up to")
    assert audited(name, 0.1, RUNS[name][0], REPLACE)[0].violated


# ------------------------------------------------------------------------------------------------- people, and classes


def people(fit: QuickFit, most: int | None) -> Any:
    """Takes `most` rows of a person; None: all, as if each were a person."""

    def fitted(X: Any, y: Any, units: Any) -> Any:  # noqa: N803
        if most is None:
            return fit(X, y)
        order = np.argsort(units, kind="stable")
        first = np.concatenate([[True], np.diff(units[order]) != 0])
        return fit(X[order[first]], y[order[first]])

    return fitted


@pytest.mark.proof
@pytest.mark.parametrize(("most", "violated"), [(1, False), (None, True)])
def test_a_person_with_many_rows_who_is_not_bounded_is_found(most: int | None, violated: bool) -> None:
    X, y = table_of("GaussianNB", RECORDS)  # noqa: N806
    fit = QuickFit.of("GaussianNB", ADD)
    found = audit_training(
        people(fit, most),
        (X, y),
        fit.claim,
        canaries=1,
        runs=160,
        kinds=["corner", "repeated"],
        units=np.arange(RECORDS),
        rows=40,
        score=likelihood(fit, X, y),
        confidence=SURE,
        bounds=(-1, 3),
        **CLASSES,
    )
    assert found.violated is violated
    assert found.ceiling > found.claim.value
    assert [one.lower_bound > found.claim.value for one in found.kinds] == [False, violated]


def by_classes(X: Any, y: Any, *, known: bool, fits: dict[tuple[str, ...], QuickFit]) -> Any:  # noqa: N803
    """Learns the classes that are declared, or those that it sees."""
    return fits["no", "so", "yes"](X, y) if known else fits[tuple(np.unique(y).tolist())](X, y)


@pytest.mark.proof
@pytest.mark.parametrize("known", [True, False])
def test_a_list_of_classes_from_the_data_is_found(known: bool) -> None:
    """The mislabeled record has the class that nobody else has: it is rare, so it is what canaries get."""
    X, _ = table_of("GaussianNB", RECORDS)  # noqa: N806
    listed: list[tuple[str, ...]] = [("no", "so", "yes"), ("no", "so")]
    fits = {names: QuickFit.of("GaussianNB", ADD, classes=list(names)) for names in listed}
    found = audit_training(
        partial(by_classes, known=known, fits=fits),
        (X, np.array(["no", "so"] * (RECORDS // 2))),
        fits[listed[0]].claim,
        canaries=1,
        runs=160,
        confidence=SURE,
        bounds=(-1, 3),
        **CLASSES,
    )
    assert found.violated is not known
    assert found.ceiling > found.claim.value


# ------------------------------------------------------------------------------------------------------------ networks

ROWS = np.array([[0.2, -0.3], [-0.4, 0.1], [0.5, 0.5], [-0.1, -0.6]])
STEPS = {
    "right": OneStep(noisy_step),
    "0.3 of the noise": OneStep(noisy_step, times=0.3),
    **{name: OneStep(PLANTED[name]) for name in ("no clip", "clip by row", "norm from the data")},
}
SEEN = {  # by which kinds of canaries: mislabeled, corner, repeated
    "right": (False, False, False),
    "0.3 of the noise": (False, True, False),
    "no clip": (True, True, True),
    "clip by row": (False, False, True),
    "norm from the data": (True, True, True),
}


@pytest.mark.proof
@pytest.mark.parametrize(
    ("name", "classes"), [*((name, 3) for name in STEPS), ("right", 0), ("0.3 of the noise", 0), ("clip by row", 0)]
)
def test_steps_of_networks(name: str, classes: int) -> None:
    """Of classifiers and regressions, for people: what a step adds is exactly Gaussian, mu = 1/2."""
    labels = np.array([0, 1, 2, 1]) if classes else np.array([0.1, -0.2, 0.3, 0.0])
    found = audit_training(
        replace(STEPS[name], classes=classes),
        (ROWS, labels),
        Claim(mu=Fraction(1, 2)),
        canaries=1,
        runs=400,
        bounds=(-1, 1),
        units=np.arange(4),
        rows=10,
        confidence=SURE,
        **({"classes": [0, 1, 2]} if classes else {"targets": (-1, 1)}),
    )
    assert found.violated is (name != "right")
    assert found.ceiling > 2
    assert [one.kind for one in found.kinds] == ["mislabeled", "corner", "repeated"]
    if classes:
        assert tuple(one.lower_bound > 0.5 for one in found.kinds) == SEEN[name]


# --------------------------------------------------------------------------------------------------- one training only


def test_one_training_of_learners_as_they_are_used() -> None:
    """500 canaries, among them people, and a fit through the gate. An audit flags a correct one once in 10^7."""
    draw = np.random.default_rng(0)
    X = draw.random((20, 3))  # noqa: N806
    y = np.where(X[:, 0] > 0.5, "yes", "no")
    units = np.arange(20)

    def fit(X: Any, y: Any, units: Any) -> Any:  # noqa: N803
        return pv.learn.GaussianNB(epsilon=1, bounds=(0, 1), classes=["no", "yes"], max_rows=2).fit(X, y, units)

    found = audit_training(
        fit, (X, y), Claim(epsilon=1), canaries=500, units=units, confidence=SURE, bounds=(0, 1), classes=["no", "yes"]
    )
    assert found.verdict.startswith("consistent up to")
    assert [one.canaries for one in found.kinds] == [167, 167, 166]
    moved = audit_training(
        lambda rows: pv.learn.StandardScaler(epsilon=1, bounds=(0, 1), neighbors="replace").fit(rows),
        X,
        Claim(epsilon=1),
        neighbors="replace",
        canaries=200,
        runs=2,
        confidence=SURE,
    )
    assert moved.verdict.startswith("consistent up to")
    assert (moved.trainings, moved.neighbors) == (2, "replace")
