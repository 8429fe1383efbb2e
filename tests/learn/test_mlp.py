"""Networks with scikit-learn's interface: what must be declared, what is fitted, and that they learn."""

from __future__ import annotations

import json
import pickle
import sys
from contextlib import suppress
from fractions import Fraction
from typing import Any
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.neural_network import MLPClassifier as Exact
from sklearn.neural_network import MLPRegressor as ExactRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.refusals import raises_code

from privet import training
from privet.errors import InvalidInputError
from privet.learn import MLPClassifier, MLPRegressor
from privet.learn import work as works
from privet.learn.declared import Column, Declared
from privet.noise.floats import FloatNoise

PRICE: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
SMALL: dict[str, Any] = {**PRICE, "hidden_layer_sizes": (3,), "sampling_rate": 0.5, "epochs": 2}


def two_kinds(rows: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The label is whether two of three columns have the same sign: nothing that a line can tell."""
    chance = np.random.default_rng(seed)
    table = chance.uniform(-3, 5, (rows, 3))
    return table, np.where((table[:, 0] > 1) == (table[:, 1] > 1), "yes", "no")


def classifier(**changes: Any) -> MLPClassifier:
    return MLPClassifier(**{**SMALL, "bounds": (-3, 5), "classes": ["no", "yes"]} | changes)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no epsilon": ({"epsilon": None}, "missing-value"),
    "no delta": ({"delta": 0}, "out-of-range"),
    "a tiny delta": ({"delta": 1e-12}, "out-of-range"),
    "no bounds": ({"bounds": None}, "not-declared"),
    "no classes": ({"classes": None}, "not-declared"),
    "a rate of 0": ({"sampling_rate": 0}, "not-positive"),
    "a rate above 1": ({"sampling_rate": 1.5}, "out-of-range"),
    "no epochs": ({"epochs": 0}, "not-positive"),
    "too many steps": ({"epochs": 10**6, "sampling_rate": 0.1}, "out-of-range"),
    "a clip norm of 0": ({"clip": 0}, "not-positive"),
    "a clip norm that is 0 as a float": ({"clip": "1e-400"}, "out-of-range"),
    "a clip norm too small for exact squares": ({"clip": 1e-160}, "out-of-range"),
    "a clip norm too large for a float": ({"clip": "1e400"}, "out-of-range"),
    "steps too large for a float": ({"learning_rate_init": "1e400"}, "out-of-range"),
    "a rate of learning below 0": ({"learning_rate_init": -1}, "not-positive"),
    "an unknown activation": ({"activation": "logistic"}, "unknown-choice"),
    "no units in a layer": ({"hidden_layer_sizes": (3, 0)}, "too-small"),
    "a layer of a fraction": ({"hidden_layer_sizes": 2.5}, "not-whole"),
    "too wide": ({"hidden_layer_sizes": 10**6}, "too-large"),
    "too deep": ({"hidden_layer_sizes": (2,) * 20}, "too-large"),
    "an unknown device": ({"device": "tpu"}, "unknown-choice"),
    "another relation": ({"neighbors": "swap"}, "unknown-choice"),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_what_must_be_declared(case: str) -> None:
    changed, code = WRONG[case]
    rows, labels = two_kinds(9)
    with raises_code(InvalidInputError, code):
        classifier(**changed).fit(rows, labels)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_it_learns_what_no_line_can_tell(neighbors: str) -> None:
    """At a large price: four fifths of the test rows at least, where a line gets about half of them. Ten fits of each
    relation got 94 to 98 % right."""
    rows, labels = two_kinds(8000)
    found = MLPClassifier(
        epsilon=8, delta=1e-6, bounds=(-3, 5), classes=["no", "yes"], hidden_layer_sizes=(32,), neighbors=neighbors
    )
    found.fit(rows[:6000], labels[:6000])
    assert found.score(rows[6000:], labels[6000:]) > 0.8
    chances = found.predict_proba(rows[6000:])
    assert np.allclose(chances.sum(axis=1), 1)
    assert np.allclose(np.log(chances), found.predict_log_proba(rows[6000:]))
    assert (found.classes_[chances.argmax(axis=1)] == found.predict(rows[6000:])).all()


def test_a_regression_learns() -> None:
    """Off by a third of the variance at most, where ten fits were off by less than a tenth."""
    chance = np.random.default_rng(2)
    rows = chance.uniform(0, 10, (6000, 2))
    numbers = 50 + 20 * np.abs(rows[:, 0] - 5) - 3 * rows[:, 1]
    found = MLPRegressor(epsilon=8, delta=1e-6, bounds=(0, 10), targets=(0, 200)).fit(rows[:5000], numbers[:5000])
    assert found.score(rows[5000:], numbers[5000:]) > 2 / 3
    far = found.predict(np.array([[1e9, -1e9]]))
    assert 0 <= far[0] <= 200


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_are_those_of_scikit_learn_for_rows_as_they_are() -> None:
    """The same weights in scikit-learn's network give the same scores, where rows are within their bounds."""
    rows, labels = two_kinds(50)
    found = classifier(activation="tanh", bounds=[(-3, 5), (-4, 9), (-3, 5)]).fit(rows, labels)
    exact = ExactRegressor(hidden_layer_sizes=(3,), activation="tanh", max_iter=1).fit(rows, np.zeros((50, 2)))
    exact.coefs_, exact.intercepts_ = found.coefs_, found.intercepts_
    scores = exact.predict(rows)
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.predict_proba(rows), chances, rtol=1e-9)
    assert found.n_layers_ == Exact((3,), max_iter=1).fit(rows, labels).n_layers_
    assert (found.n_outputs_, found.out_activation_) == (2, "softmax")


def test_weights_for_rows_as_they_are_see_what_the_network_saw() -> None:
    layers = [np.arange(8.0).reshape(4, 2) / 7, np.array([[1.0], [-2.0], [0.5]])]
    features = (Column(name="a", low=0, high=4), Column(name="b", low=7, high=7), Column(name="c", low=-1, high=1))
    declared = Declared(features=features, target=Column(name="target", low=10, high=30))
    found = MLPRegressor(**SMALL, activation="identity")
    for name, value in found._attributes(declared, layers).items():
        setattr(found, name, value)
    found.n_features_in_ = 3
    seen = np.array([[3 / 2 - 1, -1, 0.25, 1]])  # a = 3, b = 7, c = 0.25
    expected = 20 + 10 * (np.hstack([seen @ layers[0], [[1]]]) @ layers[1])
    assert found.predict(np.array([[3.0, 7.0, 0.25]])) == pytest.approx(expected[0])


def test_the_card() -> None:
    rows, labels = two_kinds(30)
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    card = classifier(epsilon="0.7", neighbors="replace").fit(frame, labels).privacy_
    assert (Fraction(card.epsilon), Fraction(card.delta), card.rho) == (Fraction(7, 10), Fraction(1, 10**6), None)
    assert (card.rounds, card.neighbors) == (4, "replace")
    steps = json.loads(card.to_json())["guarantee"]["descent"]
    assert (steps["steps"], steps["coin"], steps["clip"]) == (4, f"{2**31}/{2**32}", 1)
    for word in ("not float-exact", "floats", "50 %", "target = ['no', 'yes']", "a = [-3.0, 5.0]"):
        assert word in str(card)


def test_people_with_several_rows() -> None:
    """A person is taken or not, with all rows that count."""
    rows, labels = two_kinds(40)
    found = classifier(max_rows=3).fit(rows, labels, units=np.repeat(np.arange(8), 5))
    assert (found.privacy_.rows_per_unit, found.privacy_.unit) == (3, "unit")


def test_conventions() -> None:
    rows, labels = two_kinds(20)
    learner = classifier()
    again = clone(learner)
    assert again.get_params() == learner.get_params()
    piped = make_pipeline(FunctionTransformer(), clone(learner)).fit(rows, labels)
    assert set(piped.predict(rows)) <= {"no", "yes"}
    single = clone(learner).set_params(hidden_layer_sizes=(), activation="identity").fit(rows, labels)
    assert [one.shape for one in single.coefs_] == [(3, 2)]
    assert clone(learner).set_params(hidden_layer_sizes=4).fit(rows, labels).coefs_[0].shape == (3, 4)


EDGES = {
    "no rows": np.zeros((0, 3)),
    "one row": np.ones((1, 3)),
    "an outlier": np.full((3, 3), 1e308),
    "missing": np.full((5, 3), np.nan),
    "constant": np.full((9, 3), 2.0),
}


@pytest.mark.parametrize("case", list(EDGES))
def test_edges_give_some_network(case: str) -> None:
    rows = EDGES[case]
    found = classifier().fit(rows, np.full(len(rows), "yes"))
    assert all(np.isfinite(one).all() for one in [*found.coefs_, *found.intercepts_])
    assert found.predict_proba(np.zeros((2, 3))).shape == (2, 2)
    other = MLPRegressor(**SMALL, bounds=(3, 3), targets=(2, 2)).fit(rows, np.full(len(rows), 1e300))
    assert other.predict(np.zeros((1, 3))).tolist() == [2]


def test_nothing_of_the_rows_stays_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is fitted follows from declarations and from the weights that were stored: played again with them, every
    attribute is the same. No loss, no history, no number of rows."""
    bodies, paid = list[bytes](), training.paid

    def listened(*given: Any) -> Any:
        release = paid(*given)
        bodies.append(release.body)
        return release

    monkeypatch.setattr(works.training, "paid", listened, raising=True)
    rows, labels = two_kinds(500)
    rows[:, 2] = 3.123456789
    found = classifier().fit(rows, labels)
    stored = json.loads(bodies[0])
    assert set(stored) == {"layers"}
    declared = found._declared(["x0", "x1", "x2"], people=False)
    again = found._attributes(declared, [np.array(one) for one in stored["layers"]])
    for name, value in again.items():
        np.testing.assert_equal(getattr(found, name), value)
    assert set(vars(found)) == {*again, *found.get_params(), "n_features_in_", "privacy_"}
    kept = pickle.dumps(found)
    assert len(kept) < 5000
    assert np.float64(3.123456789).tobytes() not in kept
    copied = pickle.loads(kept)
    np.testing.assert_array_equal(copied.predict_proba(rows), found.predict_proba(rows))


def test_torch_is_not_touched_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = two_kinds(9)
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it fails
    classifier().fit(rows, labels)
    with raises_code(InvalidInputError, "missing-extra: torch"):
        classifier(device="cuda").fit(rows, labels)
    with raises_code(InvalidInputError, "unknown-choice: one row per unit"):
        classifier(device="cuda", max_rows=2).fit(rows, labels, units=labels)


DECLARED = "classes are declared: none is taken from the data"
VALUES = "an error would tell of a value: what cannot be read, and a label that is no class, counts as missing"
EXCEPTIONS = {
    "check_dtype_object": VALUES,
    "check_supervised_y_no_nan": VALUES,
    "check_classifiers_regression_target": VALUES,
    "check_estimators_empty_data_messages": "an error would tell that there are no rows",
    "check_classifiers_classes": DECLARED,
    "check_classifiers_train": DECLARED,
    "check_supervised_y_2d": "a column of labels is as good as a list of them",
    "check_estimators_pickle": "rows with a missing value are left out of a fit, but have no prediction",
}
QUICK: dict[str, Any] = {**SMALL, "epsilon": 1000, "bounds": (-10, 10)}
NETWORKS = [
    MLPClassifier(**QUICK, classes=[0, 1, 2]),
    MLPRegressor(**QUICK | {"epochs": 50, "hidden_layer_sizes": (16,)}, targets=(-10, 10)),
]


@parametrize_with_checks(NETWORKS, expected_failed_checks=lambda _: EXCEPTIONS)  # type: ignore[untyped-decorator]
def test_checks_of_scikit_learn(estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody is taken and noise is always the same, so that nothing fails by chance."""
    monkeypatch.setattr(FloatNoise, "coins", lambda _, __, size: np.ones(size, np.bool_))
    monkeypatch.setattr(FloatNoise, "normals", lambda _, size: np.random.default_rng(1).normal(size=size))
    with suppress(SkipTest):  # what needs the same result twice, or an environment that is not set
        check(estimator)
