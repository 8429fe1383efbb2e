"""Values in memory are read one by one: errors are about types and shapes, and no value changes how another is read."""

from __future__ import annotations

import datetime as dt
import traceback
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from support.refusals import raises_code

from privet.errors import InvalidInputError
from privet.learn import CategoricalNB, StandardScaler
from privet.learn.memory import NOBODY, codes_of, column_from, numbers_of, table_from, units_from

SECRET = "Nora Vogel"


class Odd:
    """A value that cannot be compared, hashed, or made a number."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ValueError(SECRET)

    def __float__(self) -> float:
        raise ValueError(SECRET)


class Divided:
    """A value of another library, with errors of its own."""

    def __hash__(self) -> int:
        raise ZeroDivisionError(SECRET)

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError(SECRET)


HOSTILE = [
    SECRET, None, np.nan, float("inf"), pd.NA, pd.NaT, 10**400, Odd(), [1], {"a": 1}, 1j, b"1", Decimal("NaN"),
    "1_0x", (), np.datetime64("NaT"), Divided(),
]  # fmt: skip


def test_numbers() -> None:
    values = [1, 2.5, "3", True, np.float32(0.5), Decimal("1.5"), Fraction(1, 4), " 7 "]
    assert numbers_of(np.fromiter(values, object)).tolist() == [1, 2.5, 3, 1, 0.5, 1.5, 0.25, 7]
    assert np.isnan(numbers_of(np.fromiter(HOSTILE, object))).all()
    assert numbers_of(np.array([1, 2], np.uint8)).tolist() == [1, 2]


def test_labels() -> None:
    assert codes_of(np.array([0, 1, 5]), (0, 1)).tolist()[:2] == [0, 1]
    assert codes_of(np.array([0.0, 1.0]), ("0", 1)).tolist()[1] == 1
    assert np.isnan(codes_of(np.array([0.0, 1.0]), ("0", 1))[0])
    assert np.isnan(codes_of(np.fromiter(HOSTILE, object), ("a", "b"))).all()
    assert codes_of(np.array([None, "a", True], object), (None, "a", 1)).tolist() == [0, 1, 2]


def test_units() -> None:
    def same(values: Any) -> list[int]:
        return units_from(values, len(values)).tolist()

    assert same(["a", "b", "a"]) == [0, 1, 0]
    assert same([1, "1", 1.0, b"1", True]) == [0, 1, 0, 2, 3]
    assert same([2**53, 2**53 + 1, 2**53]) == [0, 1, 0]
    assert same([float(2**53), 1.0]) == [NOBODY, 0]
    assert same(np.array([2.0**53, 3.0, np.nan, -3.0, np.inf])) == [NOBODY, 1, NOBODY, 0, NOBODY]
    assert same(np.array([2**24, 3, 2**24 - 1], np.float32)) == [NOBODY, 0, 1]
    assert same(np.array([2**63, 2**63 + 1], np.uint64)) == [0, 1]
    assert same(np.array(["x", "y", "x"])) == [0, 1, 0]
    assert same(["a", "a\0"]) == [0, 1]
    assert same([dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2020, 1, 1)]) == [0, 1, 0]
    assert same(np.array(["2020-01-01", "NaT", "2020-01-01"], "datetime64[D]")) == [0, NOBODY, 0]
    assert same(pd.Series([1, None, 1], dtype="Int64")) == [0, NOBODY, 0]
    assert same(pd.Series(["a", None, "a"])) == [0, NOBODY, 0]
    known = [one for one in same(HOSTILE) if one != NOBODY]
    assert known == list(range(6))  # two texts, a whole number, bytes, the empty tuple and a complex number


def test_no_value_changes_how_another_is_read() -> None:
    """As NumPy would: one text makes all of a list texts, and one float makes all ids floats."""
    ids = [2**53, 2**53 + 1]
    for other in (0.5, "a", None):
        first, second, _ = units_from([*ids, other], 3)
        assert first != second
    assert numbers_of(np.array([1, SECRET], object))[0] == 1
    assert codes_of(column_from([1, SECRET], 2, "y"), (0, 1))[0] == 1


NARROW: dict[str, Any] = {
    "a list": lambda values: list(np.array(values, np.float32)),
    "objects": lambda values: np.array(list(np.array(values, np.float32)), object),
    "pandas": lambda values: pd.Series(values, dtype="Float32"),
    "pandas with arrow": lambda values: pd.Series(values, dtype="float[pyarrow]"),
    "categories of pandas": lambda values: pd.Series(np.array(values, np.float32)).astype("category"),
    "polars": lambda values: pl.Series(values, dtype=pl.Float32),
    "a frame of polars": lambda values: pl.DataFrame({"a": pl.Series(values, dtype=pl.Float32)}),
    "arrow": lambda values: pa.chunked_array([pa.array(values, pa.float32())]),
}


@pytest.mark.parametrize("kind", list(NARROW))
def test_floats_of_half_the_width_tell_fewer_people_apart(kind: str) -> None:
    """As doubles, two people with long ids would be one, who brings rows of both."""
    column = NARROW[kind]([2.0**24, 2.0**24 + 1, 3.0, 2.0**24 - 1])
    assert units_from(column, 4).tolist() == [NOBODY, NOBODY, 0, 1]


@pytest.mark.parametrize("kind", ["Float64", "double[pyarrow]", "float64"])
def test_doubles_tell_more_apart(kind: str) -> None:
    assert len(set(units_from(pd.Series([2.0**24, 2.0**24 + 1, 2.0**53 - 1], dtype=kind), 3)) - {NOBODY}) == 3
    halves = [list(np.array([2.0**11, 1.0], np.float16)), pa.array(np.array([2.0**11, 1.0], np.float16))]
    assert all(units_from(one, 2).tolist() == [NOBODY, 0] for one in halves)


BIG = 2**60 + 1  # the float that is nearest also stands for 2**60
COLUMNS: dict[str, Any] = {
    "pandas": lambda values: pd.Series(values, dtype="Int64"),
    "pandas with arrow": lambda values: pd.Series(values, dtype="int64[pyarrow]"),
    "categories of pandas": lambda values: pd.Series(values, dtype=pd.CategoricalDtype([BIG, 2**60, 5])),
    "categories alone": lambda values: pd.Categorical(values, [BIG, 2**60, 5]),
    "a frame of one column": lambda values: pd.DataFrame({"a": pd.Series(values, dtype="Int64")}),
    "polars": pl.Series,
    "a frame of polars": lambda values: pl.DataFrame({"a": values}),
    "arrow": lambda values: pa.chunked_array([pa.array(values, pa.int64())]),
}


@pytest.mark.parametrize("kind", list(COLUMNS))
def test_a_missing_value_does_not_make_floats_of_others(kind: str) -> None:
    """In pandas, polars and Arrow it would: then nobody with a long id counts, because one id is missing."""
    for other in (5, None):
        column = COLUMNS[kind]([BIG, other, 2**60, BIG])
        first, _, second, again = units_from(column, 4)
        assert first == again != second
        assert NOBODY not in {first, second}
        assert codes_of(column_from(column, 4, "y"), (2**60, BIG))[[0, 2]].tolist() == [1, 0]


@pytest.mark.parametrize("kind", ["pandas", "categories of pandas", "polars"])
def test_nor_in_a_table_of_categories(kind: str) -> None:
    frame: Any = pl.DataFrame if kind == "polars" else pd.DataFrame
    for other in (5, None):
        table = frame({"a": COLUMNS[kind]([BIG, other, 2**60])})
        found = table_from(CategoricalNB(), table, texts=True)
        assert codes_of(found[:, 0], (2**60, BIG))[[0, 2]].tolist() == [1, 0]


SHAPES: list[tuple[Any, str]] = [
    (np.arange(4.0), "wrong-type: not a table"),
    (np.zeros((2, 0)), "wrong-type: not a table"),
    (np.zeros((2, 2, 2)), "wrong-type: not a table"),
    ([[1, 2], [3]], "wrong-type: not a table"),
    (csr_matrix(np.eye(2)), "wrong-type: sparse"),
    (np.ones((2, 2), complex), "wrong-type: complex"),
    (np.array([[SECRET]]), "wrong-type: text"),
    (np.array([["2020-01-01"]], "datetime64[D]"), "wrong-type: text"),
    (pd.DataFrame({"age": [1], "name": pd.Series([SECRET], dtype="str")}), "wrong-type: column name"),
    (pl.DataFrame({"age": [1], "name": [SECRET]}), "wrong-type: column name"),
    (None, "wrong-type: not a table"),
    (7, "wrong-type: not a table"),
]


@pytest.mark.parametrize(("table", "code"), SHAPES)
def test_errors_are_about_types_and_quote_no_value(table: Any, code: str) -> None:
    with raises_code(InvalidInputError, code) as caught:
        StandardScaler(epsilon=1, bounds=(0, 1)).fit(table)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: type(value).__name__)
def test_no_value_is_an_error_or_a_warning(value: Any) -> None:
    """Whatever stands in one place of a table of objects, the fit ends, and says nothing."""
    table = np.ones((3, 2), object)
    table[1, 1] = value
    units = column_from([1, value, 2], 3, "units")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in (table, table.tolist(), pd.DataFrame(table)):
            StandardScaler(epsilon=1, bounds=(0, 1)).fit(given, units=units)


def test_frames() -> None:
    frame = pd.DataFrame({"a": pd.Series([1, None, 3], dtype="Int64"), "b": [0.5, 1.5, 2.5], "c": [True, False, True]})
    for table in (frame, pl.DataFrame({"a": [1, None, 3], "b": [0.5, 1.5, 2.5]})):
        found = StandardScaler(epsilon=1, bounds=(0, 3)).fit(table)
        assert found.feature_names_in_.tolist() == list(table.columns)
