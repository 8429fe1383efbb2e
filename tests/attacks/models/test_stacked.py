"""Networks trained at once are those trained one by one, and like scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusals import raises_code

from privet.attacks.models import stacked
from privet.attacks.models.shadows import Stack
from privet.attacks.models.stacked import Stacked, _Run, stacked_like
from privet.errors import InvalidInputError


def data(classes: int, people: int = 60, columns: int = 5) -> tuple[Any, Any]:
    draw = np.random.default_rng(classes)
    rows = draw.normal(size=(people, columns))
    return rows, (rows[:, 0] * 2 + draw.normal(size=people)).argsort().argsort() * classes // people


HOW = Stacked(hidden=(7, 4), epochs=3, batch=16, rate=0.01, decay=0.1)


def slow(how: Stacked, rows: Any, answers: Any, places: Any, seed: int) -> list[Any]:
    """One network in double precision, with derivatives by differences, and Adam as it is written down."""
    widths = (rows.shape[1], *how.hidden, 1 if answers.max() == 1 else 3)
    draw = np.random.default_rng(seed)
    weights = [part[0].astype(float) for layer in _Run(how, widths, [draw]).layers for part in layer]
    mean, square = ([np.zeros_like(part) for part in weights] for _ in range(2))
    step = 0
    for _ in range(how.epochs):
        order = places[draw.permutation(len(places))]
        for start in range(0, len(order), how.batch):
            batch, step = order[start : start + how.batch], step + 1
            slopes = [differences(weights, at, how, rows[batch], answers[batch]) for at in range(len(weights))]
            for at, slope in enumerate(slopes):
                mean[at] = 0.9 * mean[at] + 0.1 * slope
                square[at] = 0.999 * square[at] + 0.001 * slope**2
                one, two = mean[at] / (1 - 0.9**step), square[at] / (1 - 0.999**step)
                weights[at] = weights[at] - how.rate * one / (np.sqrt(two) + 1e-8 / np.sqrt(1 - 0.999**step))
    return weights


def loss(weights: list[Any], how: Stacked, rows: Any, answers: Any) -> float:
    values = rows
    for at in range(0, len(weights), 2):
        values = (np.maximum(values, 0) if at else values) @ weights[at] + weights[at + 1]
    logs = np.column_stack([np.zeros(len(rows)), values]) if values.shape[1] == 1 else values
    lost = np.logaddexp.reduce(logs, axis=1) - logs[np.arange(len(rows)), answers]
    return float(lost.mean() + how.decay / 2 / len(rows) * sum((part**2).sum() for part in weights[::2]))


def differences(weights: list[Any], at: int, how: Stacked, rows: Any, answers: Any) -> Any:
    slope = np.zeros_like(weights[at])
    for place in np.ndindex(*slope.shape):
        sides = []
        for move in (1e-5, -1e-5):
            moved = [part.copy() for part in weights]
            moved[at][place] += move
            sides.append(loss(moved, how, rows, answers))
        slope[place] = (sides[0] - sides[1]) / 2e-5
    return slope


@pytest.mark.parametrize("classes", [2, 3])
def test_training_is_the_slow_one(classes: int) -> None:
    rows, labels = data(classes, people=30, columns=3)
    how = Stacked(hidden=(4,), epochs=2, batch=12, rate=0.01, decay=0.5)
    chosen = [np.arange(20), np.arange(10, 30)]
    for model, places, seed in zip(how.fit_many(rows, labels, chosen, [1, 2]), chosen, (1, 2), strict=True):
        expected = slow(how, rows, labels, places, seed)
        found = [part for layer in model.layers for part in layer]
        for part, wanted in zip(found, expected, strict=True):
            assert part == pytest.approx(wanted.reshape(part.shape), abs=2e-4)


def test_a_wrong_step_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacked, "DECAYS", (0.8, 0.999))
    with pytest.raises(AssertionError):
        test_training_is_the_slow_one(2)


def test_many_at_once_are_those_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = data(3)
    chosen = [np.random.default_rng(seed).permutation(60)[:40] for seed in range(5)]
    many = HOW.fit_many(rows, labels, chosen, list(range(5)))
    monkeypatch.setattr(stacked, "MOST", 1)
    for model, alone in zip(many, HOW.fit_many(rows, labels, chosen, list(range(5))), strict=True):
        assert model.predict_proba(rows) == pytest.approx(alone.predict_proba(rows), abs=1e-5)


def test_answers_agree_with_each_other() -> None:
    for classes in (2, 3):
        rows, labels = data(classes)
        model = HOW.fit(rows, np.array(["a", "b", "c"])[labels], seed=0)
        chances = model.predict_proba(rows)
        assert chances.sum(axis=1) == pytest.approx(1)
        assert model.predict(rows).tolist() == model.classes_[chances.argmax(axis=1)].tolist()
        scores = model.decision_function(rows)
        apart = scores if classes == 2 else scores[:, 1] - scores[:, 0]
        assert np.log(chances[:, 1] / chances[:, 0]) == pytest.approx(apart, abs=1e-5)


def test_a_model_that_learns_no_more_stops() -> None:
    rows, labels = data(2)
    short = Stacked(hidden=(3,), epochs=12, batch=60, tol=1e9).fit(rows, labels, seed=0)
    long = Stacked(hidden=(3,), epochs=500, batch=60, tol=1e9).fit(rows, labels, seed=0)
    assert short.predict_proba(rows) == pytest.approx(long.predict_proba(rows))


def test_networks_of_scikit_learn_are_recognized() -> None:
    network = pytest.importorskip("sklearn.neural_network").MLPClassifier
    rows = np.ones((4, 2))
    found = stacked_like(network((8,), max_iter=50, batch_size=16, alpha=0.1), rows)
    assert found == Stacked(hidden=(8,), epochs=50, batch=16, decay=0.1)
    assert isinstance(found, Stack)
    assert stacked_like(network(8), rows) == Stacked(hidden=(8,))
    for other in (network(solver="sgd"), network(activation="tanh"), network(early_stopping=True)):
        assert stacked_like(other, rows) is None
    assert stacked_like(network(), np.array([["a"]], object)) is None
    assert stacked_like(len, rows) is None


def test_private_networks_are_not_trained_without_privacy() -> None:
    """They have the same name; trained in stacks they would seem to break their promise."""
    pytest.importorskip("sklearn")
    from privet.learn import MLPClassifier  # noqa: PLC0415  needs scikit-learn

    assert stacked_like(MLPClassifier(epsilon=1, delta="1e-6", bounds=(0, 1), classes=[0, 1]), np.ones((4, 2))) is None


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_networks_are_as_sure_as_those_of_scikit_learn() -> None:
    """The mean log odds of the true class after training, over 12 seeds of each: within four standard errors."""
    network = pytest.importorskip("sklearn.neural_network").MLPClassifier
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(80, 10))
    labels = (rows[:, 0] + draw.normal(size=80) > 0).astype(int)
    peer = network((16,), max_iter=60, batch_size=20, learning_rate_init=0.01)
    how = stacked_like(peer, rows)
    assert how is not None
    mine = [
        model.decision_function(rows) for model in how.fit_many(rows, labels, [np.arange(80)] * 12, list(range(12)))
    ]
    theirs = []
    for seed in range(12):
        chance = peer.set_params(random_state=seed).fit(rows, labels).predict_proba(rows)
        theirs.append(np.log(chance[:, 1] / chance[:, 0]))
    one, two = (np.array([(odds * (2 * labels - 1)).mean() for odds in many]) for many in (mine, theirs))
    assert abs(one.mean() - two.mean()) < 4 * np.sqrt((one.var(ddof=1) + two.var(ddof=1)) / 12)
    half = Stacked(hidden=(16,), epochs=30, batch=20, rate=0.01)
    less = [(half.fit(rows, labels, seed=seed).decision_function(rows) * (2 * labels - 1)).mean() for seed in range(12)]
    assert two.mean() - np.mean(less) > 4 * np.sqrt((np.var(less, ddof=1) + two.var(ddof=1)) / 12)


def test_rows_must_be_numbers_and_as_many() -> None:
    with raises_code(InvalidInputError, "wrong-shape"):
        HOW.fit_many(np.ones((4, 2)), [0, 1, 0, 1], [np.arange(2), np.arange(3)], [0, 1])
