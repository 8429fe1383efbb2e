"""What all learners share: declarations instead of data, one charge, cards, and scikit-learn's conventions."""

from __future__ import annotations

import importlib
import json
import pickle
from dataclasses import replace
from fractions import Fraction as F
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from support.lessons import LEARNERS, raw_of, setting, table_of
from support.refusals import raises_code

from privet import learn, recheck
from privet.backends.held_rows import HeldRows
from privet.errors import InvalidInputError
from privet.learn import StandardScaler
from privet.learn.base import Told
from privet.learn.declared import TOP, Column, Declared, classes_from, ranges_from, steps_of
from privet.learn.memory import codes_of
from privet.learn.own_gate import own_gate

ROWS = np.arange(20.0).reshape(10, 2)
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no bounds": ({"bounds": None}, "not-declared"),
    "bounds of another shape": ({"bounds": [(0, 1)] * 3}, "wrong-type"),
    "bounds that are no numbers": ({"bounds": "wide"}, "wrong-type"),
    "bounds turned round": ({"bounds": (1, 0)}, "out-of-range"),
    "bounds too wide": ({"bounds": (0, 1e101)}, "out-of-range"),
    "bounds too narrow": ({"bounds": (0, 1e-101)}, "out-of-range"),
    "bounds that are NaN": ({"bounds": (0, float("nan"))}, "out-of-range"),
    "infinite bounds": ({"bounds": (0, float("inf"))}, "out-of-range"),
    "no epsilon": ({"epsilon": None}, "missing-value"),
    "an epsilon of 0": ({"epsilon": 0}, "not-positive"),
    "an epsilon below 0": ({"epsilon": -1}, "not-positive"),
    "a delta of 1": ({"delta": 1}, "out-of-range"),
    "another relation": ({"neighbors": "swap"}, "unknown-choice"),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_what_must_be_declared(case: str) -> None:
    changed, code = WRONG[case]
    with raises_code(InvalidInputError, code):
        StandardScaler(**{"epsilon": 1, "bounds": (0, 20)} | changed).fit(ROWS)


def test_several_rows_of_a_person() -> None:
    units = np.repeat([1, 2], 5)
    with raises_code(InvalidInputError, "too-small"):
        StandardScaler(epsilon=1, bounds=(0, 20), max_rows=0).fit(ROWS, units=units)
    with raises_code(InvalidInputError, "wrong-type: units"):
        StandardScaler(epsilon=1, bounds=(0, 20)).fit(ROWS, units=units[1:])
    found = StandardScaler(bounds=(0, 20), max_rows=3, epsilon=1).fit(ROWS, units=units)
    assert found.privacy_.rows_per_unit == 3
    (part,) = found.privacy_.guarantee["parts"]
    assert part["rows"] == 3
    missing = StandardScaler(epsilon=1, bounds=(0, 20), max_rows=3).fit(ROWS, units=[None, np.nan, *"abcdefgh"])
    assert missing.privacy_.rows_per_unit == 3


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_card(neighbors: str, delta: float) -> None:
    frame = pd.DataFrame(ROWS, columns=["age", "pay"])
    found = StandardScaler(epsilon="0.3", delta=delta, bounds=(0, 20), neighbors=neighbors).fit(frame)
    card = found.privacy_
    assert (card.epsilon, card.neighbors, card.unit, card.receipt) == ("3/10", neighbors, "rows", None)
    assert card.declared == {"age": [0, 20], "pay": [0, 20]}
    assert recheck.problems(json.loads(card.to_json())["guarantee"]) == []
    for word in ("epsilon 0.3", neighbors, "each row", "age = [0.0, 20.0]", "not promised"):
        assert word in str(card)
    assert found.feature_names_in_.tolist() == ["age", "pay"]


def test_the_card_of_people() -> None:
    card = StandardScaler(epsilon=1, bounds=(0, 20), max_rows=2).fit(ROWS, units=np.arange(10)).privacy_
    assert "each unit (unit), with at most 2 rows" in str(card)
    assert card.unit == "unit"


def test_conventions() -> None:
    learner = StandardScaler(epsilon=2, bounds=(0, 20))
    again = clone(learner)
    assert again.get_params() == learner.get_params()
    assert not hasattr(again, "privacy_")
    piped = make_pipeline(clone(learner), clone(learner).set_params(bounds=(-5, 5)))
    assert piped.fit_transform(ROWS).shape == ROWS.shape


def test_nothing_of_the_rows_stays_behind() -> None:
    """A pickle has released numbers and declarations; without noise they would be the only thing that differs."""
    rows = np.full((500, 2), 7.123456)
    found = StandardScaler(epsilon=1, bounds=(0, 20)).fit(rows)
    again = pickle.loads(pickle.dumps(found))
    assert str(again.privacy_) == str(found.privacy_)
    np.testing.assert_array_equal(again.transform(rows), found.transform(rows))
    assert len(pickle.dumps(found)) < 4000
    allowed = {"mean_", "var_", "scale_", "n_features_in_", "privacy_", *found.get_params()}
    assert set(vars(found)) == allowed


@pytest.mark.parametrize("name", list(LEARNERS))
def test_no_two_fits_are_the_same(name: str) -> None:
    """With 5,000 rows no noise at epsilon 1 is cut off, so all of 5 or more sums would have the same: below 1e-9."""
    one, other = (LEARNERS[name](epsilon=1).fit(*table_of(name, 5_000)) for _ in range(2))
    both = [pickle.dumps({**vars(model), "privacy_": None}) for model in (one, other)]
    assert both[0] != both[1]


# ---------------------------------------------------------------------------------------------------- declarations


def test_values_are_steps_of_their_ranges() -> None:
    column = Column(name="x", low=-1, high=3, top=8)
    values = np.array([-9, -1, -0.76, -0.74, 0, 3, 99, np.nan])
    assert steps_of(values, column).tolist()[:-1] == [0, 0, 0, 1, 2, 8, 8]
    assert np.isnan(steps_of(values, column)[-1])
    assert steps_of(np.array([1.0, np.nan]), Column(name="x", low=2, high=2)).tolist()[:1] == [0]
    tiny = Column(name="x", low=-1e300, high=1e300)
    assert steps_of(np.array([1e300, -1e300]), tiny).tolist() == [TOP, 0]


def test_labels_are_places() -> None:
    assert codes_of(np.array(["no", "yes", "?"], object), ("no", "yes")).tolist()[:2] == [0, 1]
    assert np.isnan(codes_of(np.array(["no", "yes", "?"], object), ("no", "yes"))[2])
    assert classes_from(range(3)) == (0, 1, 2)
    assert classes_from(np.array(["a", "b"])) == ("a", "b")
    for wrong in (None, "ab", [1], [1, 1], 3):
        with raises_code(InvalidInputError, "not-declared|wrong-type"):
            classes_from(wrong)


def test_what_is_declared_of_columns() -> None:
    features = ranges_from([(0, 1), (2, 4)], ["a", "b"])
    declared = Declared(features=features, target=Column(name="target", values=("n", "y"), top=1))
    assert (declared.lows.tolist(), declared.highs.tolist(), declared.tops.tolist()) == ([0, 2], [1, 4], [TOP, TOP])
    assert declared.classes == ("n", "y")
    assert [column.name for column in declared.columns] == ["a", "b", "target"]
    assert Declared(features=features).classes == ()
    assert Declared(features=features).columns == features


# -------------------------------------------------------------------------------------------------- what was stored


@pytest.mark.parametrize("name", list(LEARNERS))
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_stored_fit_is_played_again_without_rows(name: str, delta: float) -> None:
    """The same request is not charged again, and gives the same model, from a back end that has no rows."""
    one = setting(LEARNERS[name](epsilon=1, delta=delta))
    rows = HeldRows(raw_of(one, *table_of(name, 60)))
    table, columns = one.course.table, one.course.columns
    with own_gate(rows, F(1), F(delta), one.neighbors) as gate:
        first, again = (
            clone(one.model)._learn(one.declared, Told(gate=each, table=table, columns=columns, vault=True))
            for each in (gate, replace(gate, backend=cast(Any, None)))
        )
        assert gate.ledger.spent().loss.epsilon == 1
    assert first.privacy_.receipt == again.privacy_.receipt
    assert pickle.dumps({**vars(first), "privacy_": None}) == pickle.dumps({**vars(again), "privacy_": None})


def test_a_missing_extra_is_named_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with raises_code(InvalidInputError, 'missing-extra: pip install "privet[learn]"'):
        importlib.reload(learn)
