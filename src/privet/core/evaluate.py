"""What an expression means, on exact values: the definition that every engine's SQL is tested against."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, assert_never, cast

from privet.core import calendar, texts
from privet.core import expression as e
from privet.core.elementary import near, round_to, rounded_value
from privet.core.expression import Expression, Value

Row = Mapping[str, Value]


def evaluate(expression: Expression, row: Row) -> Value:
    """The value on one row. Never fails on an expression that `shape_of` accepts."""

    def of(item: Expression) -> Any:
        return evaluate(item, row)

    match expression:
        case e.Column(name):
            return row[name]
        case e.Literal(value):
            return value
        case e.Arithmetic(sign, left, right):
            return _both(_ARITHMETIC[sign], of(left), of(right))
        case e.Quotient(left, right):
            return _both(lambda a, b: a / b if b else None, of(left), of(right))
        case e.Compare(relation, left, right):
            return _both(_RELATIONS[relation], *_alike(of(left), of(right)))
        case e.And(items):
            return _all([of(item) for item in items])
        case e.Or(items):
            return _not(_all([_not(of(item)) for item in items]))
        case e.Not(item):
            return _not(of(item))
        case e.IsNull(item):
            return of(item) is None
        case e.In(item, values):
            return _not(_all([_not(evaluate(e.Compare(e.Relation.EQUAL, item, e.Literal(v)), row)) for v in values]))
        case e.Case(branches, otherwise):
            chosen = next((value for condition, value in branches if of(condition) is True), otherwise)
            return evaluate(chosen, row)
        case e.Coalesce(items):
            return next((value for value in map(of, items) if value is not None), None)
        case e.Least(items):
            return min((value for value in map(of, items) if value is not None), default=None)
        case e.Greatest(items):
            return max((value for value in map(of, items) if value is not None), default=None)
        case e.Absolute(item):
            return _one(abs, of(item))
        case e.Rounded(rounding, e.Root(item) | e.Logarithm(item) | e.Exponential(item) as real, step):
            return _one(lambda number: _steps(rounded_value(real, number, rounding, step), step), of(item))
        case e.Root(item) | e.Logarithm(item) | e.Exponential(item):
            return _one(lambda number: _close(near(expression, number)), of(item))
        case e.Rounded(rounding, item, step):
            return _one(lambda number: round_to(rounding, number / step) * step, of(item))
        case e.Truncated(period, item):
            return _one(lambda time: _truncated(period, time), of(item))
        case e.Extracted(field, item):
            return _one(lambda time: Fraction(calendar.field_of(field, time)), of(item))
        case e.AsDate(item):
            return _one(lambda time: time.date() if isinstance(time, dt.datetime) else time, of(item))
        case e.AsTime(item):
            return _one(_time, of(item))
        case e.Modulo(item, divisor):
            return _one(lambda number: _modulo(number, divisor), of(item))
        case e.Power(item, exponent):
            return _one(lambda number: number**exponent, of(item))
        case e.Shifted(item, months, days, clock):
            return _one(lambda time: calendar.shifted(time, months, days, clock), of(item))
        case e.Local(item, _, first, changes):
            return _one(lambda time: _local(time, first, changes), of(item))
        case e.Written(period, item):
            return _one(lambda time: calendar.written(period, time), of(item))
        case e.Concat(items):
            return _text(expression, [of(item) for item in items])
        case (
            e.Recased(_, item)
            | e.Trimmed(_, item)
            | e.Length(item)
            | e.Sliced(item)
            | e.Replaced(item)
            | e.Piece(item)
            | e.Like(item)
        ):
            return _text(expression, [of(item)])
        case _:
            assert_never(expression)


_ARITHMETIC: dict[e.Sign, Callable[[Any, Any], Value]] = {
    e.Sign.ADD: lambda a, b: a + b,
    e.Sign.SUBTRACT: lambda a, b: a - b if isinstance(a, Fraction) else Fraction((a - b).days),
    e.Sign.MULTIPLY: lambda a, b: a * b,
}
_RELATIONS: dict[e.Relation, Callable[[Any, Any], bool]] = {
    e.Relation.EQUAL: lambda a, b: a == b,
    e.Relation.UNEQUAL: lambda a, b: a != b,
    e.Relation.LESS: lambda a, b: a < b,
    e.Relation.LESS_EQUAL: lambda a, b: a <= b,
    e.Relation.GREATER: lambda a, b: a > b,
    e.Relation.GREATER_EQUAL: lambda a, b: a >= b,
}


def _both(function: Callable[[Any, Any], Value], left: Value, right: Value) -> Value:
    return None if left is None or right is None else function(left, right)


def _one(function: Callable[[Any], Value], item: Value) -> Value:
    return None if item is None else function(item)


def _steps(count: int | None, step: Fraction) -> Fraction | None:
    return None if count is None else count * step


def _close(ends: tuple[Fraction, Fraction] | None) -> Fraction | None:
    """A published number, whose digits beyond the twelfth are not asked for."""
    return None if ends is None else ends[0]


def _all(items: Sequence[bool | None]) -> bool | None:
    """SQL's AND: false wins, then NULL."""
    return False if False in items else None if None in items else True


def _not(item: Any) -> bool | None:
    return None if item is None else not item


def _alike(left: Value, right: Value) -> tuple[Value, Value]:
    """A date beside a time is its first moment."""
    if isinstance(left, dt.datetime) != isinstance(right, dt.datetime) and None not in (left, right):
        return _time(left), _time(right)
    return left, right


def _time(value: Any) -> dt.datetime:
    return value if isinstance(value, dt.datetime) else calendar.midnight(value)


def _truncated(period: Any, time: Any) -> Value:
    return calendar.start_of_time(period, time) if isinstance(time, dt.datetime) else calendar.start(period, time)


def _modulo(number: Fraction, divisor: Fraction) -> Fraction:
    return number - divisor * round_to(e.Rounding.INWARD, number / divisor)


def _local(time: dt.datetime, first: int, changes: Sequence[tuple[int, int]]) -> dt.datetime:
    moment = calendar.microseconds(time)
    return calendar.time_at(calendar.within_moments(moment + calendar.ahead_at(moment, first, changes)))


def _text(function: texts.TextFunction, items: Sequence[Any]) -> Value:
    if None in items:
        return None
    found = texts.applied(function, *items)
    return Fraction(found) if isinstance(function, e.Length) else cast(str | bool, found)
