"""Logistic regression: what one unit moves in each round, its behavior at the edges, and how good it is."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression as Exact
from support import lessons
from support.refusals import raises_code
from support.row_functions import block_of

from privet.backends import contributions
from privet.backends.contributions import Recode, Rows
from privet.errors import InvalidInputError
from privet.learn import LogisticRegression, logistic_rows
from privet.learn.declared import TOP
from privet.learn.logistic_rows import FARTHEST, HEAVIEST, LENGTH, Design, Gradient, Measured
from privet.learn.logistic_steps import SHORTEST
from privet.typing import Floats

DESIGNS = [Design(columns, classes, pure) for columns in (1, 3) for classes in (2, 3) for pure in (False, True)]
STEPS = 5000.0


def raw_rows(design: Design, rows: int = 60, seed: int = 1) -> Floats:
    chance = np.random.default_rng(seed)
    values = np.rint(chance.choice([0, 0.5, 1, chance.random()], (rows, design.columns)) * TOP)
    return np.column_stack([values, chance.integers(0, design.classes, rows)])


def measured(design: Design, width: float = 0.1) -> Measured:
    return Measured(np.full(design.columns, float(TOP)), np.full(design.columns, 0.3), width, design)


def weights(design: Design, size: float = 3.0) -> Floats:
    return np.random.default_rng(3).normal(0, size, (design.columns + 1, design.outputs))


def gradients(design: Design) -> list[Gradient]:
    """The first one and a later one."""
    starts = design.starts(True)
    first = Gradient(design, design.gradient(True), None if starts else weights(design), STEPS)
    return [first, Gradient(design, design.gradient(False), weights(design, 30), STEPS)]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_nobody_is_left_out(design: Design) -> None:
    """Rows are shortened as far as is enforced: each of them counts, by as much as its residuals say."""
    raw, recode = raw_rows(design, 300), Recode(lambda some: measured(design).gradient(some, STEPS))
    rows, block = Rows(raw), block_of(raw, recode)
    rows.recode(recode)
    for one in gradients(design):
        (given,) = one(block)
        assert given.by is not None
        each = np.einsum("ij,ik->ijk", given.by, block.values).reshape(len(raw), -1)
        assert rows.sums(one, [one.sums]) == [[int(number) for number in each.sum(axis=0)]]


def test_margins_and_links_are_those_of_the_floats() -> None:
    """Residuals from tables beside the formula: off by less than half a place of the table and a rounding."""
    for design in DESIGNS:
        raw = raw_rows(design)
        block = block_of(raw, Recode(lambda some, design=design: measured(design).gradient(some, STEPS)))  # type: ignore[misc]
        margins = np.clip(block.values @ weights(design) / STEPS, -15, 15)
        one = Gradient(design, design.gradient(False), weights(design), STEPS)
        if design.outputs == 1:
            expected = raw[:, -1:] - 1 / (1 + np.exp(-margins))
        else:
            margins = block.values @ weights(design) / STEPS
            powers = np.exp(margins - margins.max(axis=1, keepdims=True))
            expected = (raw[:, -1:] == np.arange(3)) - powers / powers.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(one.residuals(block) / LENGTH, expected, atol=0.01)


def test_margins_stay_exact_with_the_largest_weights() -> None:
    design = Design(3, 2, False)
    one = Gradient(design, design.gradient(False), np.full((4, 1), 1e300), 1.0)
    assert one.weights is not None
    assert np.abs(one.weights).max() == HEAVIEST
    assert HEAVIEST * FARTHEST * LENGTH / SHORTEST * np.sqrt(10**6) < 2**53  # with a million columns


# --------------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_products_that_are_not_shortened_are_left_out(monkeypatch: pytest.MonkeyPatch, delta: float) -> None:
    """What is enforced on each row holds also where the learner makes a mistake. Without both, a row adds too much."""
    one = lessons.setting(lessons.LEARNERS["LogisticRegression"](epsilon=2, delta=delta))
    heard = lessons.transcript(one, lessons.raw_of(one, *lessons.table_of("LogisticRegression", 200)))
    raw = lessons.extremes(one.declared)
    monkeypatch.setattr(logistic_rows, "scaled", lambda residuals, *_: residuals)

    def longest() -> float:
        alone = [lessons.exact_sums(one, Rows(row[None]), heard) for row in raw]
        return max(sum(x * x for x in found) / sums.most for each in alone for sums, found in each)

    assert longest() <= 1
    monkeypatch.setattr(contributions, "_kept", lambda _, squares, *__: np.ones(len(squares), bool))
    assert longest() > 1


def test_classes_never_come_from_the_data() -> None:
    """Whatever labels there are, the rounds and their prices are the same; planted, they are not."""

    class FromData(LogisticRegression):
        def fit(self, X: Any, y: Any = None, units: Any = None) -> Any:  # noqa: N803
            self.classes = sorted(set(y))
            return super().fit(X, y, units)

    def guarantee(kind: Any, labels: list[int]) -> Any:
        model = kind(epsilon=1, bounds=(0, 1), classes=[0, 1, 2]).fit(np.full((len(labels), 2), 0.5), np.array(labels))
        return model.privacy_.guarantee

    assert guarantee(LogisticRegression, [0, 1, 2]) == guarantee(LogisticRegression, [0, 1])
    assert guarantee(FromData, [0, 1, 2]) != guarantee(FromData, [0, 1])


# ---------------------------------------------------------------------------------------------- behavior and quality


def two_classes(rows: int, seed: int = 1) -> tuple[Floats, Any]:
    chance = np.random.default_rng(seed)
    X = chance.normal([10, -2, 500], [3, 0.5, 100], (rows, 3))  # noqa: N806
    margin = (X - [10, -2, 500]) / [3, 0.5, 100] @ [2, -1, 0.5] + 0.7
    return X, (chance.random(rows) < 1 / (1 + np.exp(-margin))).astype(int)


BOUNDS = [(0, 30), (-5, 4), (0, 1000)]  # the middle of the data is elsewhere


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_close_to_the_exact_model(delta: float, neighbors: str) -> None:
    """At epsilon 10 noise is far below what is asserted: a failure is a mistake."""
    X, y = two_classes(20_000)  # noqa: N806
    found = LogisticRegression(epsilon=10, delta=delta, bounds=BOUNDS, classes=[0, 1], neighbors=neighbors).fit(X, y)
    exact = Exact().fit(X, y)
    assert found.score(X, y) > exact.score(X, y) - 0.01
    np.testing.assert_allclose(found.predict_proba(X), exact.predict_proba(X), atol=0.1)
    assert (found.coef_.shape, found.intercept_.shape) == ((1, 3), (1,))


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_several_classes(delta: float) -> None:
    chance = np.random.default_rng(4)
    y = chance.integers(0, 3, 6000)
    X = chance.normal(np.array([[0.2, 0.2], [0.8, 0.3], [0.5, 0.8]])[y], 0.12)  # noqa: N806
    names = np.array(["a", "b", "c"])[y]
    found = LogisticRegression(epsilon=8, delta=delta, bounds=(0, 1), classes=["a", "b", "c"]).fit(X, names)
    assert found.score(X, names) > Exact().fit(X, names).score(X, names) - 0.03
    assert found.coef_.shape == (3, 2)
    np.testing.assert_allclose(found.predict_proba(X).sum(axis=1), 1)
    assert found.decision_function(X).shape == (6000, 3)
    assert set(found.predict(X)) <= {"a", "b", "c"}
    np.testing.assert_allclose(np.exp(found.predict_log_proba(X)), found.predict_proba(X))


def test_one_margin_for_two_classes() -> None:
    X, y = two_classes(500)  # noqa: N806
    found = LogisticRegression(epsilon=5, bounds=BOUNDS, classes=[0, 1]).fit(X, y)
    margins = found.decision_function(X)
    assert margins.shape == (500,)
    np.testing.assert_allclose(found.predict_proba(X)[:, 1], 1 / (1 + np.exp(-margins)))
    assert (found.predict(X) == (margins > 0)).all()


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((0, 3)), np.zeros(0)),
        (np.full((1, 3), 1e308), [1]),
        (np.full((5, 3), np.nan), [0, 1, 0, 1, 1]),
        (np.full((9, 3), 7.0), [1] * 9),
        (np.full((9, 3), -np.inf), [0, 1, 1] * 3),
        (np.full((4, 3), 0.5), ["what", "else", "is", "there"]),
    ],
    ids=["none", "one", "missing", "constant", "infinite", "labels"],
)  # fmt: skip
def test_edges_give_some_model(delta: float, classes: list[int], X: Any, y: Any) -> None:  # noqa: N803
    found = LogisticRegression(epsilon=1, delta=delta, bounds=BOUNDS, classes=classes).fit(X, np.asarray(y))
    assert np.isfinite(found.coef_).all()
    assert np.isfinite(found.intercept_).all()
    assert found.predict(np.zeros((2, 3))).shape == (2,)


def test_rows_without_a_value_or_a_class_count_for_nothing() -> None:
    """What the rounds see are the other rows."""
    X, y = two_classes(50)  # noqa: N806
    model = LogisticRegression(epsilon=1, bounds=BOUNDS, classes=[0, 1])
    more = np.vstack([X, [[np.nan, 0, 0], [1, 2, 3]]])
    declared = model._declared(["a", "b", "c"], False)
    both = [model._rows(some, labels, None, declared)[0] for some, labels in ((X, y), (more, np.append(y, [1, 7])))]
    np.testing.assert_array_equal(*both)


def test_one_class_is_predicted_where_there_is_no_other() -> None:
    X, _ = two_classes(3000)  # noqa: N806
    found = LogisticRegression(epsilon=8, delta=1e-6, bounds=BOUNDS, classes=[0, 1]).fit(X, np.ones(3000, int))
    assert (found.predict(X) == 1).mean() > 0.95


def test_a_range_of_one_number_says_nothing() -> None:
    X, y = two_classes(3000)  # noqa: N806
    found = LogisticRegression(epsilon=8, bounds=[(0, 20), (3, 3), (0, 1000)], classes=[0, 1]).fit(X, y)
    assert found.coef_[0, 1] == 0
    assert found.score(X, y) > 0.7


def test_conventions() -> None:
    model = LogisticRegression(epsilon=2, bounds=(0, 20), classes=[0, 1])
    assert clone(model).get_params() == model.get_params()
    with raises_code(InvalidInputError, "not-declared"):
        LogisticRegression(epsilon=1, bounds=(0, 1)).fit(np.zeros((4, 2)), [0, 1, 0, 1])


def test_nothing_of_the_rows_stays_behind() -> None:
    X, y = two_classes(400)  # noqa: N806
    found = LogisticRegression(epsilon=1, bounds=BOUNDS, classes=[0, 1]).fit(X, y)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    allowed = {"classes_", "coef_", "intercept_", "n_features_in_", "privacy_", *found.get_params()}
    assert set(vars(found)) == allowed
    assert len(pickle.dumps(found)) < 8000


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1, 8, 1000])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_rounds_share_the_whole_price(epsilon: float, delta: float) -> None:
    model = LogisticRegression(epsilon=epsilon, delta=delta, bounds=(0, 1), classes=[0, 1])
    shares = [share for one in model._shares(model._declared(["a", "b"], False)) for _, share in one]
    assert sum(shares) == 1
    assert 5 <= len(shares) <= 14
