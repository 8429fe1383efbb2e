"""Conditions that follow from others: EXTRACT(year FROM day) = 2024 says between which days the day lies.

They are added to a question, so that ranges and groups are as small as its words allow. They change no row: whatever
fulfills a condition fulfills what follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from privet.core import calendar
from privet.core import expression as e
from privet.core.evaluate import evaluate
from privet.core.expression import Column, Compare, Expression, Literal, Relation, Value
from privet.core.narrow import FLIPPED, conjuncts
from privet.core.origin import origin_of, shapes_of
from privet.core.plan import Joined, Numbered, Origin, PerUnit, Plan, Scan
from privet.core.ranges import shape_of
from privet.core.shape import ORDERED, Form, Shape, Shapes
from privet.errors import RefusedQueryError

MOST_VALUES = 100  # of IN: each is looked for
BELOW = (Relation.LESS, Relation.LESS_EQUAL, Relation.EQUAL)
ABOVE = (Relation.GREATER, Relation.GREATER_EQUAL, Relation.EQUAL)


def tightened(plan: Plan, declared: Mapping[str, Shapes]) -> Plan:
    """The same question with what its conditions say about single columns. `declared` are those of each table."""
    origin = origin_of(plan)
    where = _with_implied(plan.where, origin, declared)
    within = _origin(origin, declared)
    return plan if (where, within) == (plan.where, origin) else replace(plan, where=where, origin=within)


def _origin(origin: Origin, declared: Mapping[str, Shapes]) -> Origin:
    match origin:
        case Scan():
            return origin
        case Joined():
            return replace(origin, left=_origin(origin.left, declared), right=_origin(origin.right, declared))
        case PerUnit() | Numbered():
            where = _with_implied(origin.where, origin.source, declared)
            return replace(origin, source=_origin(origin.source, declared), where=where)
        case _:
            assert_never(origin)


def _with_implied(where: Expression | None, origin: Origin, declared: Mapping[str, Shapes]) -> Expression | None:
    told = [one for one in conjuncts(where) if _computed(one) is not None]
    if not told:
        return where
    columns = shapes_of(origin, declared)
    found = [implied for one in told for implied in _implied(one, columns)]
    return e.And((*conjuncts(where), *found)) if found else where


def _computed(condition: Expression) -> str | None:
    """The column of a condition on what grows with it, such as its year."""
    match condition:
        case Compare(_, item, Literal()) | Compare(_, Literal(), item) | e.In(item, _):
            return None if isinstance(item, Column) else _grows_with(item)
        case _:
            return None


def _grows_with(item: Expression) -> str | None:
    """The one column that an expression never falls with, or None."""
    match item:
        case Column(name):
            return name
        case e.Truncated(_, inner) | e.AsDate(inner) | e.AsTime(inner) | e.Rounded(_, inner, _):
            return _grows_with(inner)
        case e.Extracted(e.Field.YEAR | e.Field.ISOYEAR | e.Field.MONTHS, inner):
            return _grows_with(inner)
        case e.Arithmetic(e.Sign.ADD | e.Sign.SUBTRACT, inner, Literal()):
            return _grows_with(inner)
        case e.Arithmetic(e.Sign.MULTIPLY, inner, Literal(Fraction() as factor)) if factor > 0:
            return _grows_with(inner)
        case _:
            return None


def _implied(condition: Expression, columns: Shapes) -> Iterator[Expression]:
    name = _computed(condition)
    shape = columns.get(name or "")
    if shape is None or shape.form not in ORDERED or not _is_understood(condition, columns):
        return
    found = [
        _span(relation, item, value, Place(str(name), shape)) for relation, item, value in _alternatives(condition)
    ]
    spans = [(low, high) for low, high in found if low <= high]
    if not spans:  # no row passes: nothing needs to be said
        return
    low, high = min(low for low, _ in spans), max(high for _, high in spans)
    if low > shape.low:
        yield Compare(Relation.GREATER_EQUAL, Column(str(name)), Literal(_at(shape, low)))
    if high < shape.high:
        yield Compare(Relation.LESS_EQUAL, Column(str(name)), Literal(_at(shape, high)))


def _is_understood(condition: Expression, columns: Shapes) -> bool:
    """What is refused is said elsewhere."""
    try:
        shape_of(condition, columns)
    except RefusedQueryError:
        return False
    return not isinstance(condition, e.In) or len(condition.values) <= MOST_VALUES


def _alternatives(condition: Expression) -> Iterator[tuple[Relation, Expression, Value]]:
    """Comparisons of which one is true where the condition is."""
    match condition:
        case e.In(item, values):
            yield from ((Relation.EQUAL, item, value) for value in values)
        case Compare(relation, Literal(value), item):
            yield FLIPPED.get(relation, relation), item, value
        case Compare(relation, item, Literal(value)):
            yield relation, item, value


@dataclass(frozen=True, slots=True)
class Place:
    """A column, and where its values lie."""

    name: str
    shape: Shape


def _span(relation: Relation, item: Expression, value: Value, place: Place) -> tuple[int, int]:
    """The first and the last step of the column where the comparison may hold."""

    def holds(step: int, what: Relation) -> bool:
        return evaluate(Compare(what, item, Literal(value)), {place.name: _at(place.shape, step)}) is True

    above = Relation.GREATER if relation is Relation.GREATER else Relation.GREATER_EQUAL
    below = Relation.LESS if relation is Relation.LESS else Relation.LESS_EQUAL
    low, high = place.shape.low, place.shape.high
    if relation in ABOVE:
        low = _first(place.shape, lambda step: holds(step, above))
    if relation in BELOW:
        high = _first(place.shape, lambda step: not holds(step, below)) - 1
    return low, high


def _first(shape: Shape, holds: Callable[[int], bool]) -> int:
    """The first step from which on it holds, or the one after the last."""
    low, high = shape.low, shape.high + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _at(shape: Shape, step: int) -> Value:
    match shape.form:
        case Form.DATE:
            return calendar.day_at(step)
        case Form.TIME:
            return calendar.time_at(step)
        case _:
            return step * shape.step
