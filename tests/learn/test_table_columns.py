"""Columns of a table as numbers: to predict, rows of any data frame are read as the engine reads the table's."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.learned_vault import FEATURES, vault_of, visits
from support.refusals import raises_code

import privet as pv
from privet import learn
from privet.catalog.declarations import Source, Table
from privet.core.schema import Kind
from privet.errors import InvalidInputError
from privet.learn.table_columns import Feature, class_of, features_of, kind_words, number_target
from privet.vault import Vault


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    with vault_of(tmp_path_factory.mktemp("vault"), visits(), max_rows=1000) as made:
        yield made


def table_of(columns: dict[str, Kind], unit: str | None = None) -> Table:
    return Table(name="t", source=Source(kind="memory"), unit=unit, columns=columns)


def test_a_frame_is_read_as_the_engine_reads_the_table(vault: Vault) -> None:
    """The same numbers for the same rows, clamped and rounded alike; a category that is missing has no value there."""
    plan = vault.plan_fit(learn.GaussianNB(epsilon=1), "visits", target="ill")
    raw = vault._backend.rows(plan.planned.course).raw
    declared = plan.planned.declared
    scale = (declared.highs - declared.lows) / declared.tops
    engine = declared.lows + raw[:, :-1] * scale
    frame = visits()
    frame = frame[frame.who.notna() & frame.age.notna() & frame.ill.isin(["no", "yes"])]
    ours = plan.columns.matrix(frame)
    assert ours.shape == (len(frame), len(FEATURES)) == engine.shape
    np.testing.assert_allclose(*(rows[np.lexsort(rows.T)] for rows in (ours, engine)))


def test_frames_of_any_library(vault: Vault) -> None:
    columns = vault.plan_fit(learn.GaussianNB(epsilon=1), "visits", target="ill").columns
    frame = visits().drop(columns=["who", "note"])
    given = columns.matrix(frame)

    class Plain(dict[str, Any]):
        columns: ClassVar[list[str]] = list(frame.columns)

    for other in (
        pl.from_pandas(frame),
        frame.iloc[:, ::-1],
        Plain({name: frame[name].tolist() for name in frame}),
        frame.astype({"ward": "category"}),
    ):
        np.testing.assert_array_equal(columns.matrix(other), given)
    with raises_code(InvalidInputError, "unknown-column: 'cost' … age, cost, ward, smoker, sex, day"):
        columns.matrix(frame.drop(columns="cost"))


def test_a_model_takes_frames_and_numbers(vault: Vault) -> None:
    found = vault.fit(learn.GaussianNB(epsilon=1), "visits", target="ill")
    frame = visits().dropna(subset=["age"])
    numbers = found.table_columns_.matrix(frame)
    with pytest.warns(UserWarning, match="feature names"):  # scikit-learn's own
        given = found.predict(numbers)
    np.testing.assert_array_equal(found.predict(frame), given)
    assert found.score(frame, frame.ill) > 0.3


def test_categories_are_read_as_they_are(vault: Vault) -> None:
    found = vault.fit(learn.CategoricalNB(epsilon=1), "visits", target="ill", features=["ward", "smoker", "age"])
    assert [len(values) for values in found.categories_] == [3, 2, 90]
    rows = found.table_columns_.matrix(
        pd.DataFrame({"ward": ["A", "Z", None], "smoker": [True, False, None], "age": [20.2, 500, np.nan]})
    )
    assert rows.tolist() == [["A", True, 20], [None, False, 99], [None, None, None]]
    assert set(found.predict(pd.DataFrame({"ward": ["Z"], "smoker": [None], "age": [None]}))) <= {"no", "yes"}


KINDS: dict[str, tuple[Kind, list[Any], list[float], tuple[float, float, int]]] = {
    "whole numbers": (pv.Integer(-2, 5), [3, "4", 9.0, None], [3, 4, 5, np.nan], (-2, 5, 7)),
    "numbers": (pv.Number(0, 1, step="0.1"), [0.33, 7, "x"], [0.3, 1, np.nan], (0, 1, 10)),
    "truths": (pv.Boolean(), [True, 0, "yes", None], [1, 0, 1, np.nan], (0, 1, 1)),
    "days": (pv.Date("1970-01-02", "1970-02-01"), [dt.date(1970, 1, 3), "1971-01-01"], [2, 31], (1, 31, 30)),
    "times": (
        pv.Timestamp("1970-01-01", "1970-01-02"), [dt.datetime(1970, 1, 1, 12), pd.NaT], [0.5, np.nan],
        (0, 1, 86_400_000_000),
    ),
    "one number": (pv.Integer(3, 3), [1, 5], [3, 3], (3, 3, 0)),
    "never missing": (pv.Integer(3, 5, never_missing=True), [None, 9], [3, 5], (3, 5, 2)),
}  # fmt: skip


@pytest.mark.parametrize("case", list(KINDS))
def test_numbers_of_each_kind(case: str) -> None:
    kind, values, numbers, (low, high, top) = KINDS[case]
    columns = features_of(table_of({"x": kind}), None, None, coded=False)
    (feature,) = columns.features
    found = columns.matrix(pd.DataFrame({"x": pd.Series(values, dtype=object)}))
    np.testing.assert_allclose(found[:, 0], numbers)
    column = feature.column
    assert (column.low, column.high, column.top) == (low, high, top)


def test_which_columns_are_learned_from() -> None:
    kinds: dict[str, Kind] = {
        "who": pv.Integer(0, 9), "age": pv.Integer(0, 9), "note": pv.Text(), "ward": pv.Category(["A", "B", "C"]),
        "sex": pv.Category(["f", "m"]), "all": pv.Category(["one"]), "fine": pv.Number(0, 10**12, step="1e-9"),
        "wide": pv.Integer(0, 5000),
    }  # fmt: skip
    table = table_of(kinds, unit="who")
    numbers = features_of(table, None, "age", coded=False)
    assert numbers.names == ["ward=A", "ward=B", "ward=C", "sex=m", "all=one", "wide"]
    assert numbers.sources == ["ward", "sex", "all", "wide"]
    assert features_of(table, None, None, coded=True).names == ["age", "ward", "sex", "all"]
    assert features_of(table, ["who"], None, coded=False).names == ["who"]
    assert features_of(table, "age", None, coded=False).names == ["age"]
    with raises_code(InvalidInputError, "too-fine: 'fine'"):
        features_of(table, ["fine"], None, coded=False)
    with raises_code(InvalidInputError, "too-many: 'wide'"):
        features_of(table, ["wide"], None, coded=True)
    many = table_of({"c": pv.Category([str(one) for one in range(2001)])})
    with raises_code(InvalidInputError, "too-many: 2,001"):
        features_of(many, None, None, coded=False)


def test_targets() -> None:
    kinds: dict[str, Kind] = {
        "truth": pv.Boolean(), "grade": pv.Integer(1, 5), "pay": pv.Number(0, 9, step=1), "age": pv.Integer(0, 120),
        "one": pv.Category(["x"]), "day": pv.Date("2020-01-01", "2021-01-01"), "word": pv.Category(["x", "y"]),
    }  # fmt: skip
    table = table_of(kinds)
    assert class_of(table, "truth").column.values == (False, True)
    assert class_of(table, "grade").column.values == (1, 2, 3, 4, 5)
    assert class_of(table, "word").column.values == ("x", "y")
    for wrong, code in (
        ("pay", "type-mismatch"),
        ("day", "type-mismatch"),
        ("age", "type-mismatch"),
        ("one", "too-small"),
    ):
        with raises_code(InvalidInputError, f"{code}: '{wrong}'"):
            class_of(table, wrong)
    for name in ("truth", "grade", "pay", "day"):
        assert number_target(table, name).column.values == ()
    with raises_code(InvalidInputError, "type-mismatch: 'word'"):
        number_target(table, "word")


def test_declarations_in_words() -> None:
    assert kind_words(pv.Integer(0, 120)) == "0 to 120"
    assert kind_words(pv.Number(0, 1, step="0.01")) == "0 to 1 in steps of 0.01"
    assert kind_words(pv.Category(["a", "b"])) == "one of a, b"
    assert kind_words(pv.Category([str(one) for one in range(14)])).endswith("10, 11 and 2 more")
    assert kind_words(pv.Boolean()) == "true or false"
    assert kind_words(pv.Date("2020-01-01", "2021-01-01")) == "2020-01-01 to 2021-01-01"
    assert Feature(source="ward", kind=pv.Category(["A"]), value="A").name == "ward=A"
