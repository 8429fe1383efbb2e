"""From the declared columns of a vault's table to the numbers that a learner sees: in the engine, and to predict."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.backends import readable
from privet.catalog.declarations import Table
from privet.core import calendar
from privet.core.expression import Case, Compare, Expression, Literal, Relation, Value
from privet.core.expression import Column as Named
from privet.core.rational import show
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.core.shape import shape_of_kind
from privet.errors import InvalidInputError
from privet.learn.declared import Column
from privet.spelling import did_you_mean

MOST_COLUMNS, MOST_CODES, MOST_CLASSES, MOST_NAMED = 2_000, 1_000, 100, 12
DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """What a learner sees of a table's column: its number; with `value`, whether it has this value of a category; with
    `coded`, which of its values it has."""

    source: str
    kind: Kind
    value: str | None = None
    coded: bool = False

    @property
    def name(self) -> str:
        return self.source if self.value is None else f"{self.source}={self.value}"

    @property
    def expression(self) -> Expression:
        """Of a row, in the engine. A category that is missing has none of the values: no row is left out for it."""
        if self.value is not None:
            return Case(((_is(self.source, self.value), Literal(True)),), Literal(False))
        if self.coded and isinstance(self.kind, Category):
            places = [(_is(self.source, one), Literal(Fraction(place))) for place, one in enumerate(self.kind.values)]
            return Case(tuple(places), Literal(None))
        return Named(self.source)

    @property
    def column(self) -> Column:
        """The same, as learners know it: their whole numbers are the steps of what the engine gives."""
        if self.coded:
            values = values_of(self.kind)
            return Column(name=self.name, values=values, top=len(values) - 1)
        if self.value is not None or isinstance(self.kind, Boolean):
            return Column(name=self.name, low=0.0, high=1.0, top=1)
        assert not isinstance(self.kind, Category | Text)  # noqa: S101  refused by `features_of`
        shape, low, high = shape_of_kind(self.kind), number_of(self.kind.low), number_of(self.kind.high)
        return Column(name=self.name, low=low, high=high, top=shape.high - shape.low)

    def numbers(self, values: Sequence[Value]) -> Any:
        """Of values as declared, to predict from: numbers in the units of the declaration; codes as they are."""
        if self.coded:
            known = values_of(self.kind)
            whole = [int(one) if isinstance(one, Fraction) else one for one in values]
            return np.array([*(one if one in known else None for one in whole), None], object)[:-1]
        if self.value is not None:
            return np.array([float(one == self.value) for one in values])
        return np.array([math.nan if one is None else number_of(one) for one in values])


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumns:
    """The columns of a table that a model was learned from, in order: what a data frame to predict from must have."""

    table: str
    features: tuple[Feature, ...]

    @property
    def names(self) -> list[str]:
        """Of the numbers that the learner saw: age, ward=A, ward=B."""
        return [feature.name for feature in self.features]

    @property
    def sources(self) -> list[str]:
        """The columns of the table."""
        return list(dict.fromkeys(feature.source for feature in self.features))

    def matrix(self, frame: Any) -> Any:
        """The rows of a data frame, read as the table's were: beyond its range a number counts as the end, a value that
        means nothing is missing, and a category that is not listed is none of them. Other columns do not matter."""
        missing = [name for name in self.sources if name not in frame.columns]
        if missing:
            raise InvalidInputError(
                f"the data frame has no column {show(missing[0])}",
                f"give the columns that the model was fitted to: {', '.join(self.sources)}",
                "unknown-column",
            )
        read = {one.source: read_values(frame[one.source], one.kind) for one in self.features}
        found = [feature.numbers(read[feature.source]) for feature in self.features]
        return np.column_stack(found) if found else np.empty((len(frame), 0))


def _is(source: str, value: str) -> Expression:
    return Compare(Relation.EQUAL, Named(source), Literal(value))


def number_of(value: Any) -> float:
    """Days since 1970-01-01 for dates and times, 0 or 1 for truths."""
    match value:
        case dt.datetime():
            return calendar.microseconds(value) / DAY
        case dt.date():
            return float(calendar.days(value))
        case _:
            return float(value)


def values_of(kind: Kind) -> tuple[Any, ...]:
    """All values of a kind that has few."""
    match kind:
        case Category():
            return kind.values
        case Integer():
            return tuple(range(kind.low, kind.high + 1))
        case _:
            return (False, True)


def kind_words(kind: Kind) -> str:
    """A declaration in words, for a model card."""
    match kind:
        case Category():
            more = f" and {len(kind.values) - MOST_NAMED} more" if len(kind.values) > MOST_NAMED else ""
            return f"one of {', '.join(kind.values[:MOST_NAMED])}{more}"
        case Number():
            return f"{float(kind.low):g} to {float(kind.high):g} in steps of {float(kind.step):g}"
        case Integer() | Date() | Timestamp():
            return f"{kind.low} to {kind.high}"
        case _:
            return "true or false"


def read_values(column: Any, kind: Kind) -> list[Value]:
    """What each value means as declared. Each that occurs again is read once."""
    known: dict[Any, Value] = {}
    found = []
    for raw in _plain(column):
        key = (type(raw), raw)
        if key not in known:
            known[key] = readable.read(raw, kind)
        found.append(known[key])
    return found


def _plain(column: Any) -> Iterable[Any]:
    """Plain objects, whatever library the column comes from."""
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)


def features_of(table: Table, names: Sequence[str] | None, target: str | None, *, coded: bool) -> TableColumns:
    """The columns to learn from: those named, or all that can be but the target and the unit."""
    if names is None:
        kinds = table.columns.items()
        chosen = [name for name, kind in kinds if name not in (target, table.unit) and _usable(kind, coded=coded)]
    else:
        chosen = [names] if isinstance(names, str) else list(names)
    for name in chosen:
        _check_feature(table, name, target, coded=coded)
    if not chosen or len(set(chosen)) < len(chosen):
        raise InvalidInputError(
            "there is no column to learn from" if not chosen else "a feature is named twice",
            f"name some of the table's columns, each once: {', '.join(table.columns)}",
            "missing-option" if not chosen else "duplicate-name",
        )
    found = tuple(feature for name in chosen for feature in _features(name, table.columns[name], coded=coded))
    if len(found) > MOST_COLUMNS:
        raise InvalidInputError(
            f"the model would have {len(found):,} columns, one per value of a category; at most {MOST_COLUMNS:,} fit",
            "leave out columns with many values: features=[...]",
            "too-many",
        )
    return TableColumns(table=table.name, features=found)


def _features(name: str, kind: Kind, *, coded: bool) -> list[Feature]:
    """Of a category one for each value; of two values one says it all."""
    if coded or not isinstance(kind, Category):
        return [Feature(source=name, kind=kind, coded=coded)]
    values = kind.values[-1:] if len(kind.values) <= 2 else kind.values
    return [Feature(source=name, kind=kind, value=value) for value in values]


def _usable(kind: Kind, *, coded: bool) -> bool:
    if coded:
        return isinstance(kind, Boolean | Category) or (isinstance(kind, Integer) and _few(kind))
    return not isinstance(kind, Text) and _fits(kind)


def _few(kind: Integer) -> bool:
    return kind.high - kind.low < MOST_CODES


def _fits(kind: Kind) -> bool:
    """Whether its steps are numbers that a float holds."""
    shape = shape_of_kind(kind)
    return shape.high - shape.low < 2**53


def _check_feature(table: Table, name: object, target: str | None, *, coded: bool) -> None:
    check_known(table, name)
    assert isinstance(name, str)  # noqa: S101  it is known
    kind = table.columns[name]
    if name == target:
        raise InvalidInputError(f"column {show(name)} is the target", "leave it out of features", "contradiction")
    if isinstance(kind, Text):
        raise InvalidInputError(
            f"column {show(name)} is a text, and its possible values are not declared",
            "declare its values as a Category, or leave it out",
            "not-declared",
        )
    if not _usable(kind, coded=coded):
        raise InvalidInputError(
            f"column {show(name)} has too many values" + (" to count each" if coded else " for a learner"),
            "declare a Category of ranges, or leave it out" if coded else "declare a coarser step, or leave it out",
            "too-many" if coded else "too-fine",
        )


def check_known(table: Table, name: object) -> None:
    if not isinstance(name, str) or name not in table.columns:
        guess = did_you_mean(name, table.columns) if isinstance(name, str) else ""
        raise InvalidInputError(
            f"table {show(table.name)} declares no column {show(name)}",
            f"{guess}the columns are: {', '.join(table.columns)}",
            "unknown-column",
        )


def class_of(table: Table, name: str) -> Feature:
    """A target with classes: a category, a boolean, or whole numbers of a short range."""
    kind = table.columns[name]
    if not isinstance(kind, Boolean | Category) and not (
        isinstance(kind, Integer) and kind.high - kind.low < MOST_CLASSES
    ):
        raise InvalidInputError(
            f"column {show(name)} declares no classes, and they never come from the data",
            f"declare a Category, a Boolean or an Integer of at most {MOST_CLASSES} values, or use a regression",
            "type-mismatch",
        )
    if len(values_of(kind)) < 2:
        raise InvalidInputError(
            f"column {show(name)} has one class only", "choose a target with two or more classes", "too-small"
        )
    return Feature(source=name, kind=kind, coded=True)


def number_target(table: Table, name: str) -> Feature:
    """A target with a range."""
    kind = table.columns[name]
    if not isinstance(kind, Number | Integer | Boolean | Date | Timestamp) or not _fits(kind):
        raise InvalidInputError(
            f"column {show(name)} is not a number with a declared range",
            "choose a number, or predict classes with a classifier",
            "type-mismatch",
        )
    return Feature(source=name, kind=kind)
