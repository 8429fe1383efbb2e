"""Naive Bayes from noisy sums: near scikit-learn's where noise is weak, and defined where a table says nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn import naive_bayes as exact
from support.refusals import raises_code
from support.row_functions import block_of

from privet.core.laws import DiscreteGaussian
from privet.core.rounds import Noisy, vector
from privet.errors import InvalidInputError
from privet.learn import CategoricalNB, GaussianNB
from privet.learn.categorical_bayes import categories_from
from privet.learn.gaussian_bayes import (
    HEAVIEST,
    READINGS,
    SQUARES,
    STEP,
    Model,
    Trial,
    _lengths,
    _models,
    best_of,
    trial_sums,
)

RELATIONS = ["add-remove", "replace"]
ROWS = 6_000


def numbers(rows: int = ROWS) -> tuple[Any, Any]:
    """Three classes with different means, widths and sizes."""
    rng = np.random.default_rng(1)
    labels = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    means, widths = np.array([[2, 50], [4, 20], [7, 70]]), np.array([[1, 8], [0.5, 5], [1, 12]])
    return np.clip(rng.normal(means[labels], widths[labels]), [0, 0], [10, 100]), labels


def words(rows: int = ROWS) -> tuple[Any, Any]:
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, rows)
    first = np.array(["a", "b", "c"], object)[(rng.random(rows) * 1.5 + labels * 1.4).astype(int)]
    return np.column_stack([first, np.where(rng.random(rows) < 0.2 + 0.5 * labels, 1, 0).astype(object)]), labels


BOUNDS = [(0, 10), (0, 100)]


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_gaussian_is_near_the_exact_one(delta: float, neighbors: str) -> None:
    """At epsilon 20 and 6,000 rows the noise on each mean is below 1 % of a width; off by more is a mistake."""
    X, y = numbers()  # noqa: N806
    found = GaussianNB(epsilon=20, delta=delta, bounds=BOUNDS, classes=[0, 1, 2], neighbors=neighbors).fit(X, y)
    plain = exact.GaussianNB().fit(X, y)
    width = np.sqrt(plain.var_)
    assert np.abs((found.theta_ - plain.theta_) / width).max() < 0.3
    assert (np.abs(np.log2(found.var_ / plain.var_)) < 1).all()  # long rows, of the farthest class, are shortened
    np.testing.assert_allclose(found.class_prior_, plain.class_prior_, atol=0.02)
    assert np.mean(found.predict(X) == plain.predict(X)) > 0.97
    np.testing.assert_allclose(found.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(found.predict_log_proba(X)), found.predict_proba(X))


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_categorical_is_near_the_exact_one(delta: float, neighbors: str) -> None:
    X, y = words()  # noqa: N806
    lists: Any = [["a", "b", "c"], [0, 1]]
    found = CategoricalNB(epsilon=20, delta=delta, categories=lists, classes=[0, 1], neighbors=neighbors).fit(X, y)
    codes = np.column_stack([[lists[0].index(value) for value in X[:, 0]], X[:, 1].astype(int)])
    plain = exact.CategoricalNB().fit(codes, y)
    for one, other in zip(found.feature_log_prob_, plain.feature_log_prob_, strict=True):
        np.testing.assert_allclose(np.exp(one), np.exp(other), atol=0.05)
    assert np.mean(found.predict(X) == plain.predict(codes)) > 0.97
    np.testing.assert_allclose(found.predict_proba(X).sum(axis=1), 1)
    assert found.n_categories_.tolist() == [3, 2]


def test_a_category_that_was_not_declared_says_nothing() -> None:
    X, y = words()  # noqa: N806
    found = CategoricalNB(epsilon=20, categories=[["a", "b", "c"], [0, 1]], classes=[0, 1]).fit(X, y)
    unseen = np.array([["?", None], [None, float("nan")], ["?", [1]]], object)
    np.testing.assert_allclose(found.predict_log_proba(unseen), np.tile(found.predict_log_proba(unseen[:1]), (3, 1)))
    np.testing.assert_allclose(np.exp(found.predict_log_proba(unseen[:1]))[0], np.exp(found.class_log_prior_))


# ------------------------------------------------------------------------------------------------------ readings


def noise(deviation: float) -> Noisy:
    return Noisy(sums=trial_sums(), law=DiscreteGaussian(variance=Fraction(deviation) ** 2))


def measured(values: Any) -> Any:
    """Rows as the second round has them, none of them shortened."""
    count, _, _ = _lengths(values.shape[1])
    ones = np.full(len(values), float(count))
    return np.column_stack([ones, np.rint(STEP * values), np.rint(STEP * SQUARES * (values**2 - 1))])


def standard(rows: int = 900) -> tuple[Any, Any]:
    """Three classes, and columns that have mean 0 and variance 1 over all rows."""
    rng = np.random.default_rng(7)
    labels = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    values = rng.normal(labels[:, None] * [1.0, -0.5], 0.4 + 0.3 * labels[:, None], (rows, 2))
    return (values - values.mean(axis=0)) / values.std(axis=0), labels


def test_readings_without_noise_are_those_of_the_rows() -> None:
    """Variances of a class, those of all classes together, and these widened: by their definitions."""
    values, labels = standard()
    sums = np.array([measured(values[labels == one]).sum(axis=0) for one in range(3)])
    found = _models(sums, noise(1e-3))
    shares = np.bincount(labels) / len(labels)
    means = np.array([values[labels == one].mean(axis=0) for one in range(3)])
    own = np.array([values[labels == one].var(axis=0) for one in range(3)])
    for model, (weight, wide) in zip(found, READINGS, strict=True):
        np.testing.assert_allclose(model.counts, np.bincount(labels), rtol=1e-6)
        np.testing.assert_allclose(model.means, means, atol=1e-3)
        np.testing.assert_allclose(model.variances, wide * (weight * own + (1 - weight) * (shares @ own)), atol=0.01)


def test_scores_of_the_trial_are_those_of_the_model() -> None:
    """The class with the largest product of normal densities, but where two are as good as alike."""
    values, labels = standard()
    models = _models(np.array([measured(values[labels == one]).sum(axis=0) for one in range(3)]), noise(50))
    right, sure = [], np.ones(len(values), bool)
    for model in models:
        away = (values[:, None] - model.means) ** 2 / model.variances
        scores = np.log(model.counts / model.counts.sum()) - (np.log(model.variances) + away).sum(axis=2) / 2
        right.append(scores.argmax(axis=1) == labels)
        ordered = np.sort(scores, axis=1)
        sure &= ordered[:, -1] - ordered[:, -2] > 0.05
    raw = np.column_stack([values, labels])
    block = replace(block_of(raw), values=measured(values))
    wanted = np.column_stack([one.astype(int) - right[0] for one in right[1:]])
    assert sure.mean() > 0.7
    assert np.abs(wanted[sure]).sum() > 20
    np.testing.assert_array_equal(Trial(models).ahead(block)[sure], wanted[sure])


def test_scores_stay_exact_with_the_largest_weights() -> None:
    strange = Model(np.array([1.0, 1e300]), np.full((2, 3), 1e300), np.full((2, 3), 1e-300))
    with np.errstate(all="ignore"):
        weights, constants = strange.linear()
    assert np.abs(weights).max() == HEAVIEST
    assert np.abs(constants).max() <= 2**50
    columns = 2**18
    _, _, longest = _lengths(columns)
    assert HEAVIEST * np.sqrt(2.0 * columns * longest) + 2**50 < 2**53


def test_the_first_reading_stays_unless_another_is_clearly_ahead() -> None:
    assert best_of([0, 0, 0], noise(1), 1000.0) == 0
    assert best_of([5, 6, -9], noise(1), 1000.0) == 0
    assert best_of([5, 7, -9], noise(1), 1000.0) == 2
    assert best_of([5, 7, 40], noise(50), 1000.0) == 0
    assert trial_sums() == vector(3, 3)


def test_classes_that_differ_in_width_only_keep_their_own() -> None:
    """Other readings are right for half of the rows, this one for about 80 %: thousands of deviations of the noise."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, ROWS)
    X = np.clip(rng.normal(0.5, np.where(y == 0, 0.03, 0.15)[:, None], (ROWS, 3)), 0, 1)  # noqa: N806
    found = GaussianNB(epsilon=20, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    assert (found.var_[1] > 4 * found.var_[0]).all()
    assert np.mean(found.predict(X) == y) > 0.8


def test_columns_that_say_the_same_count_for_less() -> None:
    """Twenty copies of a weak column: all of them at their word make predictions worse than the commonest class is."""
    rng = np.random.default_rng(4)
    y = (rng.random(ROWS) < 0.2).astype(int)
    X = np.tile(np.clip(rng.normal(0.4 + 0.05 * y, 0.1), 0, 1)[:, None], 20)  # noqa: N806
    assert np.mean(exact.GaussianNB().fit(X, y).predict(X) == y) < 0.75
    found = GaussianNB(epsilon=20, delta=1e-6, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    assert np.mean(found.predict(X) == y) > 0.79


# --------------------------------------------------------------------------------------------------- classes and rows


def test_classes_in_order() -> None:
    X, y = numbers()  # noqa: N806
    names = np.array(["z", "m", "a"])[y]
    found = GaussianNB(epsilon=20, bounds=BOUNDS, classes=["z", "a", "m"]).fit(X, names)
    assert found.classes_.tolist() == ["a", "m", "z"]
    assert np.mean(found.predict(X) == names) > 0.9


def test_rows_of_other_classes_are_left_out() -> None:
    """As if they were not there: no label of theirs is predicted, and the rest is learned."""
    X, y = numbers()  # noqa: N806
    found = GaussianNB(epsilon=20, bounds=BOUNDS, classes=[0, 2]).fit(X, y)
    assert found.class_count_.sum() < 0.8 * ROWS
    assert set(found.predict(X).tolist()) == {0, 2}


def test_one_class_only() -> None:
    """The others are as rare as noise allows, and have no means of their own."""
    X, y = numbers()  # noqa: N806
    found = GaussianNB(epsilon=20, bounds=BOUNDS, classes=[0, 1, 2]).fit(X, np.zeros_like(y))
    assert np.mean(found.predict(X) == 0) > 0.95
    assert found.class_prior_[0] > 0.98


WRONG = [
    (None, "not-declared"), ("ab", "wrong-type"), ([["a"]], "wrong-type"), ([["a", "a"], ["b"]], "wrong-type"),
    ([[], ["b"]], "wrong-type"), ([["a"], 3], "wrong-type"), ([["a"], [float("nan")]], "wrong-type"),
    ([["a"], [[1]]], "wrong-type"), ([], "wrong-type"), (["a", "a"], "wrong-type"), ([["a"], "bc"], "wrong-type"),
]  # fmt: skip


@pytest.mark.parametrize(("categories", "code"), WRONG, ids=str)
def test_categories_that_are_none(categories: Any, code: str) -> None:
    with raises_code(InvalidInputError, code):
        categories_from(categories, ["one", "two"])


def test_one_list_for_all_columns() -> None:
    both = categories_from(range(3), ["one", "two"])
    assert [(column.name, column.values, column.top) for column in both] == [
        ("one", (0, 1, 2), 2),
        ("two", (0, 1, 2), 2),
    ]
    (array,) = categories_from([np.array([4, 5])], ["one"])
    assert array.values == (4, 5)
    assert all(type(value) is int for value in array.values)
