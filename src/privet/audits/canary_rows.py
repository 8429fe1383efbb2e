"""Canaries for a training: valid records that are unlike all others, so that training on them shows.

- mislabeled: a record of the data with another label; where more are needed than there are records, mixtures of them;
- corner: a record at the ends of all declared ranges, which is as long as a record may be; of several canaries all but
  the first are a little inside, so that no two are alike;
- repeated: a person with several such rows, where rows belong to people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from privet.core.rational import show, whole
from privet.errors import InvalidInputError
from privet.typing import Integers

Kind = Literal["mislabeled", "corner", "repeated"]
Labels = npt.NDArray[Any]
KINDS: tuple[Kind, ...] = get_args(Kind)
INWARDS = 0.05  # of a range, at most
WORDS: dict[Kind, str] = {
    "mislabeled": "a record of the data, or a mixture of several, with another label",
    "corner": "a record with each column at or near an end of its range",
    "repeated": "a person with {rows} rows, each column at or near an end of its range",
}


@dataclass(frozen=True, slots=True, eq=False)
class LabeledRows:
    """`rows` is an array or a data frame; labels and units are None where there are none."""

    rows: Any
    labels: Labels | None
    units: Labels | None

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """What a column may hold at most: both ends of a range, or all categories. `far` is the place of the end farthest
    from the mean of the data, or of the rarest category. `between`: any number of the range is a valid value."""

    values: tuple[Any, ...]
    far: int
    between: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Valid:
    """What a record may be: the ends of each column, and of the label (`classes` if these are all there are)."""

    columns: tuple[Ends, ...]
    label: Ends | None
    classes: bool
    declared: tuple[bool, ...]  # of each column, then of the label: what is not was taken from the data

    @property
    def listed(self) -> tuple[Any, ...] | None:
        """All classes."""
        return self.label.values if self.label is not None and self.classes else None

    def __str__(self) -> str:
        labels = [] if self.label is None else [f"labels {_source(self.declared[-1:])}"]
        return f"Every canary is a valid record: {', '.join([f'columns {_source(self.declared[:-1])}', *labels])}"


def _source(declared: tuple[bool, ...]) -> str:
    if all(declared):
        return "as declared"
    return "as declared or as in the data" if any(declared) else "as in the data"


@dataclass(frozen=True, slots=True, eq=False)
class Canaries:
    """Of one kind. Under replace, `there` has the record that is in where the canary is not. `rows` of each."""

    kind: Kind
    here: LabeledRows
    there: LabeledRows | None
    rows: int = 1

    def __len__(self) -> int:
        return len(self.here)

    def alone(self) -> Canaries:
        """With nobody in its place."""
        return replace(self, there=None)

    def __str__(self) -> str:
        return WORDS[self.kind].format(rows=self.rows)


def pick(records: LabeledRows, places: Integers) -> LabeledRows:
    """These records, in this order."""
    rows = records.rows
    chosen = rows.iloc[places].reset_index(drop=True) if hasattr(rows, "iloc") else rows[places]
    labels, units = (None if one is None else one[places] for one in (records.labels, records.units))
    return LabeledRows(chosen, labels, units)


def read_data(data: Any, units: Any) -> LabeledRows:
    """From X or (X, y)."""
    rows, labels = data if isinstance(data, tuple) and len(data) == 2 else (data, None)
    rows = rows if hasattr(rows, "iloc") else np.asarray(rows)
    found = [None if one is None else np.asarray(one) for one in (labels, units)]
    if (
        getattr(rows, "ndim", 0) != 2
        or not rows.shape[1]
        or any(one is not None and one.shape != (len(rows),) for one in found)
    ):
        shapes = ", ".join(str(one.shape) for one in (rows, *found) if one is not None)
        raise InvalidInputError(
            f"the data have the shapes {shapes}",
            "give data as X or (X, y): one row per record, one label per record, and one unit per record",
            "wrong-shape",
        )
    if len(rows) < 2:
        raise InvalidInputError(f"there are {len(rows)} records", "give data of two records or more", "too-few")
    return LabeledRows(rows, *found)


def valid_from(data: LabeledRows, bounds: Any, classes: Any, targets: Any) -> Valid:
    """From what is declared, and from the data where nothing is."""
    wide = data.rows.shape[1]
    each = _each(bounds, wide)
    columns = tuple(_ends(_column(data.rows, at), each[at], f"column {at + 1}") for at in range(wide))
    told = classes if classes is not None else targets
    declared = (*(one is not None for one in each), told is not None)
    if data.labels is None:
        return Valid(columns, None, classes=False, declared=declared)
    counted = classes is not None or (targets is None and not _decimals(data.labels))
    given: Any = None if told is None else _listed(told, "targets" if classes is None else "classes")
    if counted:
        given = np.unique(data.labels).tolist() if given is None else given
    label = _ends(data.labels, given if counted or given is None else tuple(given), "y")
    if counted and len(label.values) < 2:
        raise InvalidInputError(
            "the labels are all the same", "name all labels that a record may have with classes=", "no-variation"
        )
    return Valid(columns, label, counted, declared)


def _each(bounds: Any, wide: int) -> list[Any]:
    """Of each column. A pair of numbers is for all columns."""
    if bounds is None:
        return [None] * wide
    given = _listed(bounds, "bounds")
    if len(given) == 2 and all(np.isscalar(end) and not isinstance(end, str) for end in given):
        return [tuple(given)] * wide
    if len(given) != wide:
        raise InvalidInputError(
            f"bounds has {len(given)} entries for {wide} columns",
            "give one (low, high) for all columns, or a list with a range or a list of categories for each column",
            "wrong-length",
        )
    return given


def _listed(given: Any, name: str) -> list[Any]:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise InvalidInputError(
            f"{name} is {show(given)}", f"give {name} as a list, or as a pair (low, high)", "wrong-type"
        )
    return list(given)


def _column(rows: Any, at: int) -> Labels:
    return np.asarray(rows.iloc[:, at] if hasattr(rows, "iloc") else rows[:, at])


def _ends(values: Labels, given: Any, name: str) -> Ends:
    """A tuple of two numbers, or nothing for a column of numbers, is a range; a list has all categories."""
    if isinstance(given, list) or (given is None and not _numbers(values)):
        known = Counter(one for one in values.tolist() if one is not None and one == one)  # noqa: PLR0124  NaN
        listed = sorted(known, key=str) if given is None else given
        counts = [known[one] for one in listed]
        if not listed or sum(counts) < known.total():
            raise _outside(name, show(listed))
        return Ends(tuple(listed), int(np.argmin(counts)))
    numbers = np.asarray(values, np.float64)
    seen = numbers[~np.isnan(numbers)]
    low, high = (seen.min(), seen.max()) if given is None and len(seen) else _range(given, name)
    if len(seen) and not (low <= seen.min() and seen.max() <= high):
        raise _outside(name, f"{low:g} to {high:g}")
    middle = seen.mean() if len(seen) else low
    between = bool(len(seen)) and not bool((seen == np.rint(seen)).all())
    if values.dtype.kind in "iu":  # a canary has whole numbers, too, and they lie within the range
        low, high = np.ceil(low), np.floor(high)
    return Ends((float(low), float(high)), int(high - middle >= middle - low), between)


def _range(given: Any, name: str) -> tuple[float, float]:
    try:
        low, high = map(float, given)
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not (low < high and np.isfinite([low, high]).all()):
        raise InvalidInputError(
            f"the range of {name} is {show(given)}", "write a pair (low, high), such as (0, 100)", "reversed-range"
        )
    return low, high


def _outside(name: str, declared: str) -> InvalidInputError:
    return InvalidInputError(
        f"{name} has values outside of {declared}",
        "declare what the data may hold, or audit on data that are within it",
        "out-of-range",
    )


def _numbers(values: Labels) -> bool:
    try:
        return values.dtype.kind in "fiub" or bool(np.asarray(values, np.float64).size)
    except (TypeError, ValueError):
        return False


def _decimals(labels: Labels) -> bool:
    return labels.dtype.kind == "f" and not bool((labels == np.rint(labels)).all())


def kinds_from(given: Any, data: LabeledRows) -> tuple[Kind, ...]:
    """As asked for, or all that these data allow."""
    able = tuple(
        kind
        for kind in KINDS
        if (kind != "mislabeled" or data.labels is not None) and (kind != "repeated" or data.units is not None)
    )
    if given is None:
        return able
    asked = (given,) if isinstance(given, str) else tuple(given)
    for one in asked:
        if one not in KINDS:
            raise InvalidInputError(
                f"there is no kind of canary {show(one)}", f"use one of {', '.join(KINDS)}", "unknown-choice"
            )
        if one not in able:
            missing = "labels: give data as (X, y)" if one == "mislabeled" else "people: give units="
            raise InvalidInputError(
                f"a {one} canary needs {missing.split(':', maxsplit=1)[0]}",
                f"{missing.split(': ')[1]}, or leave {one} out of kinds",
                "missing-value",
            )
    if not asked:
        raise InvalidInputError("kinds is an empty list", "leave it out to try all kinds", "empty")
    return tuple(kind for kind in KINDS if kind in asked)


def rows_from(given: Any, data: LabeledRows) -> int:
    """Of a repeated canary: twice as many as anybody has, unless something else is asked for."""
    if given is not None:
        return whole(given, "rows", 2)
    if data.units is None:
        return 1
    return 2 * int(np.unique(data.units.astype(str), return_counts=True)[1].max())


def canaries_of(  # noqa: PLR0913, PLR0917  what, how many, and out of what
    kind: Kind, size: int, data: LabeledRows, valid: Valid, draw: np.random.Generator, rows: int
) -> Canaries:
    """The first one is the most extreme; chance makes the others different from it and from each other."""
    if kind == "mislabeled":
        return _mislabeled(size, data, valid, draw)
    sides = [_corner(ends, size, draw) for ends in valid.columns]
    labels = None if valid.label is None else _taken(valid.label, _places(valid.label, size, draw))
    here, there = (LabeledRows(_like(data.rows, [side[at] for side in sides]), labels, None) for at in (0, 1))
    return Canaries(kind, here, there, rows if kind == "repeated" else 1)


def _corner(ends: Ends, size: int, draw: np.random.Generator) -> tuple[Labels, Labels]:
    """Values of a column at one end of it, and as many at the other end, or of the next category."""
    places = _places(ends, size, draw)
    here, there = _taken(ends, places), _taken(ends, places + 1)
    if not ends.between:
        return here, there
    moves = INWARDS * draw.random(size)
    moves[0] = 0
    return here + moves * (there - here), there + moves * (here - there)


def _mislabeled(size: int, data: LabeledRows, valid: Valid, draw: np.random.Generator) -> Canaries:
    assert data.labels is not None  # noqa: S101  kinds_from
    places = np.resize(draw.permutation(len(data)), size)
    right = replace(pick(data, places), units=None)
    if size > len(data):
        right = replace(right, rows=_like(data.rows, _mixed(data, places, draw)))
    counts = Counter(data.labels.tolist())
    wrong = np.array([_other(one, valid, counts) for one in data.labels[places].tolist()])
    return Canaries("mislabeled", replace(right, labels=wrong), right)


def _mixed(data: LabeledRows, places: Integers, draw: np.random.Generator) -> list[Labels]:
    """The first ones are records of the data; of the others each column is some record's."""
    wide, size = data.rows.shape[1], len(data)
    others = draw.integers(size, size=(wide, len(places) - size))
    return [_column(data.rows, at)[np.concatenate([places[:size], others[at]])] for at in range(wide)]


def _other(own: Any, valid: Valid, counts: Counter[Any]) -> Any:
    """The rarest other class, or the farther end."""
    assert valid.label is not None  # noqa: S101
    if valid.classes:
        return min((one for one in valid.label.values if one != own), key=counts.__getitem__)
    low, high = valid.label.values
    return high if high - own >= own - low else low


def _places(ends: Ends, size: int, draw: np.random.Generator) -> Integers:
    found = draw.integers(len(ends.values), size=size)
    found[0] = ends.far
    return found


def _taken(ends: Ends, places: Integers) -> Labels:
    values: Sequence[Any] = [ends.values[place % len(ends.values)] for place in places.tolist()]
    return np.array(values) if len({type(one) for one in values}) == 1 else np.array(values, object)


def _like(rows: Any, columns: list[Labels]) -> Any:
    """Rows of the same form as those of the data."""
    if hasattr(rows, "iloc"):
        frame = type(rows)({name: column for name, column in zip(rows.columns, columns, strict=True)})  # noqa: C416
        return frame.astype(dict(rows.dtypes))
    if rows.dtype.kind == "O":
        return np.array([list(row) for row in zip(*columns, strict=True)], object)
    return np.column_stack(columns).astype(rows.dtype)
