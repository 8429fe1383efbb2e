"""The sensitive column of records, its values, and what an attacker sees of all other columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.attacks.models.records import Records
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.spelling import did_you_mean
from privet.typing import Floats, Integers

MOST_VALUES = 20  # the model is asked about each person with each value
MISSING = -1


@dataclass(frozen=True, slots=True, eq=False)
class Sensitive:
    """The column, its values in order, and the code of each person's value; MISSING where there is none."""

    name: str
    place: int
    values: tuple[Any, ...]
    codes: Integers


def sensitive_of(records: Records, wanted: str | int, names: Sequence[str] | None) -> Sensitive:
    """Raises InvalidInputError if there is no such column, or if it has one value or too many."""
    place, name = place_of(records.rows, wanted, names)
    cells = [None if _missing(cell) else cell for cell in column(records.rows, place).tolist()]
    try:
        values = sorted({cell for cell in cells if cell is not None}, key=_order)
    except TypeError:
        raise InvalidInputError(
            f"column {show(name)} holds lists or other objects", "give numbers or texts", "wrong-type"
        ) from None
    if len(values) < 2:
        raise InvalidInputError(
            f"column {show(name)} has {'one value' if values else 'no value'}, so there is nothing to infer",
            "name a column with two or more values",
            "no-variation",
        )
    if len(values) > MOST_VALUES:
        raise InvalidInputError(
            f"column {show(name)} has {len(values):,} values, and at most {MOST_VALUES} can be tried on each person",
            "round or bin it in members and others alike, to numbers or texts that the model takes (for example ages"
            " to tens of years)",
            "too-many",
        )
    code = {value: at for at, value in enumerate(values)}
    codes = np.array([MISSING if cell is None else code[cell] for cell in cells], np.int64)
    return Sensitive(name, place, tuple(values), codes)


def place_of(rows: Any, wanted: str | int, names: Sequence[str] | None) -> tuple[int, str]:
    """Where the column is, and what it is called. Raises InvalidInputError if there is no such column."""
    if rows.ndim != 2:
        raise InvalidInputError(
            f"rows have shape {rows.shape}", "give X with one row per record and one column per value", "wrong-shape"
        )
    width = rows.shape[1]
    known: list[Any] = list(rows.columns) if hasattr(rows, "columns") else [] if names is None else list(names)
    if known and len(known) != width:
        raise InvalidInputError(
            f"there are {len(known)} names for {width} columns", "give one name per column", "wrong-length"
        )
    if known.count(wanted) == 1:
        return known.index(wanted), str(wanted)
    if not known and isinstance(wanted, int) and not isinstance(wanted, bool) and 0 <= wanted < width:
        return wanted, f"column {wanted}"
    if wanted in known:
        raise InvalidInputError(
            f"there are several columns {show(wanted)}", "give each column its own name", "ambiguous-name"
        )
    hint = did_you_mean(wanted, map(str, known)) if known else ""
    use = f"use one of {', '.join(map(show, known))}" if known else f"give its place from 0 to {width - 1}, or columns="
    raise InvalidInputError(f"there is no column {show(wanted)}", f"{hint}{use}", "unknown-column")


def column(rows: Any, place: int) -> npt.NDArray[Any]:
    return np.asarray(rows.iloc[:, place]) if hasattr(rows, "iloc") else np.asarray(rows[:, place])


def _missing(cell: Any) -> bool:
    try:
        return cell is None or bool(cell != cell)  # noqa: PLR0124  so is what is not a number
    except TypeError:  # pandas' NA
        return True


def _order(value: Any) -> tuple[bool, float, str]:
    number = isinstance(value, int | float)
    return not number, float(value) if number else 0.0, str(value)


def changed(records: Records, sensitive: Sensitive, examples: Integers, people: Records) -> Records:
    """Each of the people with the first value, then each with the second, and so on. `examples` are places of records
    with these values: a value taken from a record has the type that the model knows."""
    size, count = len(people), len(examples)
    copies, cells = np.tile(np.arange(size), count), np.repeat(examples, size)
    told = people.take(copies)
    if hasattr(told.rows, "iloc"):
        rows = told.rows.reset_index(drop=True)
        rows.isetitem(sensitive.place, records.rows.iloc[cells, sensitive.place].array)
    else:
        rows = told.rows.copy()
        rows[:, sensitive.place] = records.rows[cells, sensitive.place]
    return Records(rows, told.labels)


def examples_of(sensitive: Sensitive) -> Integers:
    return np.array([int(np.flatnonzero(sensitive.codes == at)[0]) for at in range(len(sensitive.values))], np.int64)


def known_columns(rows: Any, sensitive: Sensitive, teach: Integers) -> Floats:
    """All columns but the sensitive one as numbers. Which values a column has, its middle and its width are learned
    from the people in `teach` alone."""
    places = [place for place in range(rows.shape[1]) if place != sensitive.place]
    parts = [_encoded(column(rows, place), teach) for place in places]
    return np.column_stack([np.empty((len(rows), 0)), *parts])


def one_hot(values: npt.NDArray[Any], teach: Integers) -> Floats:
    """A column for each of the most frequent values among `teach`; whoever has another one has 0 in all of them."""
    texts = [str(value) for value in values.tolist()]
    usual = [text for text, _ in Counter(texts[place] for place in teach).most_common(MOST_VALUES)]
    return np.array([[text == other for other in usual] for text in texts], np.float64).reshape(len(texts), len(usual))


def _encoded(values: npt.NDArray[Any], teach: Integers) -> Floats:
    """Few values, or texts: a column for each. Numbers: in widths from the middle, and 0 where one is missing."""
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        return one_hot(values, teach)
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    seen = numbers[teach][~np.isnan(numbers[teach])]
    if len(np.unique(seen)) <= MOST_VALUES:
        return one_hot(numbers, teach)
    scaled = (numbers - seen.mean()) / max(float(seen.std()), 1e-12)
    return np.column_stack([np.where(np.isnan(scaled), 0.0, scaled), np.isnan(scaled)])
