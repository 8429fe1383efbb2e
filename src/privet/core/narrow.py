"""What a condition says about the columns of the rows that pass it."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import assert_never, cast

from privet.core import calendar
from privet.core import expression as e
from privet.core.claim import claim
from privet.core.evaluate import evaluate
from privet.core.expression import Expression, Value
from privet.core.shape import Form, Shape, Shapes, shape_of_value

Point = Fraction | bool | dt.date | dt.datetime
FLIPPED = {
    e.Relation.LESS: e.Relation.GREATER, e.Relation.LESS_EQUAL: e.Relation.GREATER_EQUAL,
    e.Relation.GREATER: e.Relation.LESS, e.Relation.GREATER_EQUAL: e.Relation.LESS_EQUAL,
}  # fmt: skip


@claim("narrowing")
def narrowed(columns: Shapes, where: Expression | None) -> Shapes:
    """The columns as they are in rows that pass the condition: conjuncts on a single column bound it."""
    found = dict(columns)
    for condition in conjuncts(where):
        name, shape = _bound(condition, found)  # an empty shape: no row passes, so any shape is true of them
        if name is not None and shape.low <= shape.high and shape.values != ():
            found[name] = shape
    return found


def conjuncts(where: Expression | None) -> Iterator[Expression]:
    match where:
        case None:
            return
        case e.And(items):
            for item in items:
                yield from conjuncts(item)
        case _:
            yield where


def _bound(condition: Expression, columns: Shapes) -> tuple[str | None, Shape]:
    """(column, its shape where the condition is true), or (None, anything) where it says nothing."""
    match condition:
        case e.Column(name):
            return name, replace(columns[name], low=1, null=False)
        case e.Not(e.Column(name)):
            return name, replace(columns[name], high=0, null=False)
        case e.Not(e.IsNull(e.Column(name))):
            return name, replace(columns[name], null=False)
        case e.Compare(relation, e.Column(name), e.Literal(value)) if value is not None:
            return name, _compared(columns[name], relation, value)
        case e.Compare(relation, e.Literal(value), e.Column(name)) if value is not None:
            return name, _compared(columns[name], FLIPPED.get(relation, relation), value)
        case e.In(e.Column(name), values):
            return name, _listed(columns[name], values)
        case _:
            return _tried(condition, columns)


def _tried(condition: Expression, columns: Shapes) -> tuple[str | None, Shape]:
    """Where a condition is about one column whose texts are known, it is tried on each of them."""
    named = set(e.columns_in(condition))
    name = named.pop() if len(named) == 1 else None
    shape = columns[name] if name is not None else shape_of_value(None)
    if name is None or shape.values is None:
        return None, shape
    passing = tuple(value for value in shape.values if evaluate(condition, {name: value}) is True)
    null = shape.null and evaluate(condition, {name: None}) is True
    if not passing:  # no text passes; whether a missing one does says nothing that a shape could state
        return None, shape
    return name, replace(shape, values=passing, null=null)


def _compared(shape: Shape, relation: e.Relation, value: Value) -> Shape:
    there = replace(shape, null=False)
    if relation is e.Relation.UNEQUAL:
        return there
    if isinstance(value, str):
        return _listed(shape, (value,))
    place = _place(shape, cast(Point, value))  # the condition was checked: only what can be compared is
    low, high = shape.low, shape.high
    if relation in (e.Relation.EQUAL, e.Relation.GREATER_EQUAL, e.Relation.GREATER):
        low = max(low, math.ceil(place) if relation is not e.Relation.GREATER else math.floor(place) + 1)
    if relation in (e.Relation.EQUAL, e.Relation.LESS_EQUAL, e.Relation.LESS):
        high = min(high, math.floor(place) if relation is not e.Relation.LESS else math.ceil(place) - 1)
    return replace(there, low=low, high=high)


def _listed(shape: Shape, values: tuple[Value, ...]) -> Shape:
    """Where a column is one of these constants."""
    there = replace(shape, null=False)
    if shape.form is Form.WORD:
        known = tuple(value for value in dict.fromkeys(values) if isinstance(value, str))
        return replace(there, values=known if shape.values is None else tuple(v for v in shape.values if v in known))
    places = [_place(shape, cast(Point, value)) for value in values]
    low, high = (math.ceil(min(places)), math.floor(max(places))) if places else (shape.low, shape.high)
    return replace(there, low=max(shape.low, low), high=min(shape.high, high))


def _place(shape: Shape, value: Point) -> Fraction:
    """Where a constant stands on the column's grid, in steps. A date beside a time is its first moment."""
    match value:
        case bool():
            return Fraction(int(value))
        case Fraction():
            return value / shape.step
        case dt.datetime():
            return Fraction(calendar.microseconds(value), 1 if shape.form is Form.TIME else calendar.DAY)
        case dt.date():
            return Fraction(calendar.days(value) * (calendar.DAY if shape.form is Form.TIME else 1))
        case _:
            assert_never(value)
