"""What was passed to `fit`: a table, labels and units in memory. What is declared by a type can be refused; a single
value cannot, because an error would tell of it: what cannot be read counts as missing."""

from __future__ import annotations

import numbers
import re
from collections.abc import Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from privet.core.claim import claim
from privet.errors import InvalidInputError
from privet.typing import Floats, Integers

TELLS_APART = 2.0**53  # from here on whole numbers that differ can be the same float
NARROWER = {"half|float16": 2.0**11, "float(?!64)": 2.0**24}  # of other types, by their names in any library
NOBODY = -1
Values = np.ndarray[Any, Any]


def table_from(learner: Any, X: Any, *, texts: bool) -> Values:  # noqa: N803
    """The table as an array, checked by its shape and types. scikit-learn's own errors quote values."""
    listed = not hasattr(X, "dtype") and not hasattr(X, "columns")
    words = [] if texts or listed else _columns_of_text(X)
    if words:
        raise InvalidInputError(
            f"{words[0]} holds text, and {type(learner).__name__} takes numbers",
            "encode it with declared categories, for example with OneHotEncoder(categories=...)",
            "wrong-type",
        )
    try:
        kind = object if listed or texts else None
        found: Values = validate_data(learner, X, dtype=kind, ensure_all_finite=False, ensure_min_samples=0)
    except (TypeError, ValueError):
        found = np.zeros(0)
    problem = _problem(X, found)
    if problem:  # outside of the handler: an error keeps the one that was handled when it was raised
        raise InvalidInputError(problem, "give one row for each record, and at least one column", "wrong-type")
    return _by_columns(X, found.shape) if texts and hasattr(X, "columns") else found


def _by_columns(X: Any, shape: tuple[int, ...]) -> Values:  # noqa: N803
    """A data frame of values of different types."""
    found = np.empty(shape, object)
    for at in range(shape[1]):
        found[:, at] = column_from(_column(X, at), len(found), "X")
    return found


def _column(X: Any, at: int) -> Any:  # noqa: N803
    """Of pandas, polars or Arrow."""
    return X.iloc[:, at] if hasattr(X, "iloc") else getattr(X, "get_columns", lambda: X.columns)()[at]


def _columns_of_text(X: Any) -> list[str]:  # noqa: N803
    if not hasattr(X, "columns"):
        return ["X"] if X.dtype.kind in "USTMm" else []
    kinds = {str(name): str(kind).lower() for name, kind in zip(X.columns, X.dtypes, strict=True)}
    return [f"column {name}" for name, kind in kinds.items() if kind.startswith(("str", "cat", "enum", "date", "time"))]


def _problem(X: Any, found: Values) -> str:  # noqa: N803
    if issparse(X):
        return "X is sparse: dense data is required"
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        return "Complex data not supported: X has complex numbers"
    return "" if found.ndim == 2 else "X is not a table"


def column_from(values: Any, rows: int, what: str) -> Values:
    """One value for each row. Of a list each value keeps its type."""
    found = _one_by_one(values)
    if values is None or found.shape not in ((rows,), (rows, 1)):
        raise InvalidInputError(
            f"{what} must have one value for each of the rows", f"give {what} as a column", "wrong-type"
        )
    return found.reshape(rows)


@claim("values-one-by-one")
def _one_by_one(values: Any) -> Values:
    """An array of NumPy as it is; of all else each value with its type. As one array, whole numbers of other libraries
    would be floats as soon as one is missing."""
    if hasattr(values, "columns") and len(values.columns) == 1:
        values = _column(values, 0)
    kind = getattr(values, "dtype", None)
    if isinstance(kind, np.dtype):
        return np.asarray(values)
    if str(kind) == "category":  # of pandas, which would do the same
        coded = getattr(values, "array", values)
        return np.array([*coded.categories, None], object).take(np.asarray(coded.codes), mode="wrap")
    for name in ("to_pylist", "to_list"):
        if hasattr(values, name):
            values = getattr(values, name)()
    return np.fromiter(values, object, len(values)) if isinstance(values, Sequence) else np.asarray(values)


@claim("values-one-by-one")
def numbers_of(values: Values) -> Floats:
    """Each value as a number; NaN where it is missing, infinite or none."""
    if values.dtype.kind not in "biuf":
        values = np.array([_number(value) for value in values.tolist()], np.float64)
    found = values.astype(np.float64)
    return np.where(np.isfinite(found), found, np.nan)


def _number(value: Any) -> float:
    if not isinstance(value, numbers.Real | str | Decimal):
        return np.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return np.nan


@claim("values-one-by-one")
def codes_of(labels: Values, classes: Sequence[Any]) -> Floats:
    """The place of each label among the classes; NaN if it is none of them."""
    places = {label: place for place, label in enumerate(classes)}
    if labels.dtype.kind not in "biuf":
        return np.array([_place(label, places) for label in labels.tolist()], np.float64)
    found = np.full(len(labels), np.nan)
    for label, place in places.items():
        if isinstance(label, numbers.Real):
            found[labels == label] = place
    return found


def _place(label: Any, places: dict[Any, int]) -> float:
    return places.get(label, np.nan) if is_value(label) else np.nan


@claim("values-one-by-one")
def units_from(values: Any, rows: int) -> Integers:
    """A number for each row: the same for equal ids, different for different ones; NOBODY where there is no id. Ids of
    different types differ. A float that may stand for several whole numbers is nobody."""
    found = column_from(values, rows, "units")
    if found.dtype.kind in "biufUS":
        known = np.ones(rows, bool)
        if found.dtype.kind == "f":
            known = np.abs(found) < min(TELLS_APART, 2.0 ** (np.finfo(found.dtype).nmant + 1))
        return np.where(known, np.unique(found, return_inverse=True)[1], NOBODY).astype(np.int64)
    codes, below = dict[Hashable, int](), _tells_apart(values)
    names = [_identity(value, below) for value in found.astype(object).tolist()]
    return np.array([NOBODY if name is None else codes.setdefault(name, len(codes)) for name in names], np.int64)


def _tells_apart(values: Any) -> float:
    """From where on floats of a column can be the same. Read as a list, they are doubles, which they were not."""
    values = _column(values, 0) if hasattr(values, "columns") else values
    kind = getattr(values, "dtype", getattr(values, "type", ""))
    kind = str(getattr(getattr(kind, "categories", None), "dtype", kind)).lower()
    return next((below for name, below in NARROWER.items() if re.search(name, kind)), TELLS_APART)


def _identity(value: Any, below: float) -> Hashable | None:
    """1 and 1.0 are one person; 1 and "1" are two."""
    if isinstance(value, np.generic):
        below = min(below, 2.0 ** (np.finfo(value).nmant + 1)) if isinstance(value, np.floating) else below
        value = value.item()
    if isinstance(value, float) and not abs(value) < below:  # not below: NaN too
        return None
    if isinstance(value, float | int) and not isinstance(value, bool):
        return (int, Fraction(value))
    return (type(value), value) if value is not None and is_value(value) else None


def is_value(value: Any) -> bool:
    """NaN and pandas' missing values do not equal themselves. A foreign object may raise anything: that would tell."""
    try:
        return hash(value) is not None and bool(value == value)  # noqa: PLR0124
    except Exception:
        return False
