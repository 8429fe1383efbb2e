"""Conditions about records that somebody else holds: read from text, evaluated on one record, looked into."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import gcd, lcm
from typing import assert_never

from privet.core import expression as e
from privet.core.evaluate import evaluate
from privet.core.expression import Expression, Value
from privet.core.plan import Plan
from privet.core.rational import show
from privet.core.schema import Boolean, Category, Integer, Kind, Number
from privet.errors import InvalidInputError, RefusedQueryError
from privet.sql import plan_of

RECORDS = "records"
QUERY = "SELECT COUNT(*) FROM records WHERE "
_PLACE = re.compile(r" at line \d+, column \d+")  # of a query that the user never wrote


class Conditions:
    """Reads conditions over the same attributes; each attribute comes with all values that it can have."""

    def __init__(self, attributes: Mapping[str, tuple[Value, ...]]) -> None:
        self._texts = {name: frozenset(values) for name, values in attributes.items() if isinstance(values[0], str)}
        self._kinds = {name: _kind(values) for name, values in attributes.items()}
        self._read: dict[str, Expression] = {}

    def read(self, text: object) -> Expression:
        if not isinstance(text, str):
            raise InvalidInputError(
                f"a condition must be a text, not {show(text)}", "for example \"sex = 'F'\"", "wrong-type"
            )
        if text not in self._read:
            self._read[text] = self._condition(text)
        return self._read[text]

    def _condition(self, text: str) -> Expression:
        try:
            plan = plan_of(QUERY + text, {RECORDS: self._kinds})
        except RefusedQueryError as error:
            problem = _PLACE.sub("", error.problem).replace("the query", "the condition")
            raise InvalidInputError(f"in {show(text)}: {problem}", error.remedy, error.code) from None
        if plan.where is None or plan != _only_where(plan):
            raise InvalidInputError(
                f"{show(text)} is more than a condition",
                "write only the condition, without SELECT and WHERE",
                "not-a-condition",
            )
        self._check_texts(text, plan.where)
        return plan.where

    def _check_texts(self, text: str, expression: Expression) -> None:
        """A misspelled text would silently mean nobody."""
        for name, value in _compared(expression):
            if isinstance(value, str) and value not in self._texts[name]:
                shown = ", ".join(map(show, sorted(map(str, self._texts[name]))[:12]))
                raise InvalidInputError(
                    f"in {show(text)}: {name} is never {show(value)}", f"{name} can be {shown}", "unknown-choice"
                )


def condition(text: str, attributes: Mapping[str, tuple[Value, ...]]) -> Expression:
    """What a condition such as "sex = 'F' AND age >= 18" means, or InvalidInputError."""
    return Conditions(attributes).read(text)


def holds(expression: Expression, record: Mapping[str, Value]) -> bool:
    """Is the condition true of this record? Unknown is not true, as in SQL."""
    return evaluate(expression, record) is True


def columns_of(expression: Expression) -> frozenset[str]:
    """The attributes that an expression mentions."""
    return frozenset(part.name for part in _walk(expression) if isinstance(part, e.Column))


def grid_of(values: tuple[Value, ...]) -> Fraction:
    """The largest step of which all these numbers are multiples; 1 if all are 0."""
    counts, bottom = _counted(values)
    return Fraction(gcd(*counts) or bottom, bottom)


def _counted(values: tuple[Value, ...]) -> tuple[list[int], int]:
    """Numbers as whole multiples of 1/bottom: a million of them are compared much faster than fractions."""
    numbers = [value for value in values if isinstance(value, Fraction)]
    bottom = lcm(*{number.denominator for number in numbers})
    return [number.numerator * (bottom // number.denominator) for number in numbers], bottom


def _only_where(plan: Plan) -> Plan:
    return Plan(table=plan.table, where=plan.where, aggregates=plan.aggregates[:1], outputs=plan.outputs[:1])


def _kind(values: tuple[Value, ...]) -> Kind:
    """The declaration that admits these values; all of them are of one type."""
    first = values[0]
    if isinstance(first, str):
        return Category([str(value) for value in values])
    if isinstance(first, bool):
        return Boolean()
    counts, bottom = _counted(values)
    low, high, step = Fraction(min(counts), bottom), Fraction(max(counts), bottom), grid_of(values)
    if step.denominator == 1:
        return Integer(int(low), int(high))
    return Number(low, high, step=step)


def _compared(expression: Expression) -> Iterator[tuple[str, Value]]:
    """Attributes and the constants that they are said to be equal or unequal to."""
    for part in _walk(expression):
        match part:
            case e.Compare(e.Relation.EQUAL | e.Relation.UNEQUAL, e.Column(name), e.Literal(value)):
                yield name, value
            case e.Compare(e.Relation.EQUAL | e.Relation.UNEQUAL, e.Literal(value), e.Column(name)):
                yield name, value
            case e.In(e.Column(name), values):
                yield from ((name, value) for value in values)


def _walk(expression: Expression) -> Iterator[Expression]:
    yield expression
    for part in _parts(expression):
        yield from _walk(part)


def _parts(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case e.Column() | e.Literal():
            return ()
        case e.Arithmetic(_, left, right) | e.Quotient(left, right) | e.Compare(_, left, right):
            return left, right
        case e.And(items) | e.Or(items) | e.Coalesce(items) | e.Least(items) | e.Greatest(items) | e.Concat(items):
            return items
        case e.Not(item) | e.IsNull(item) | e.In(item) | e.Absolute(item) | e.AsDate(item) | e.AsTime(item):
            return (item,)
        case e.Rounded(_, item) | e.Truncated(_, item) | e.Extracted(_, item) | e.Written(_, item) | e.Recased(_, item):
            return (item,)
        case (
            e.Modulo(item)
            | e.Power(item)
            | e.Root(item)
            | e.Logarithm(item)
            | e.Exponential(item)
            | e.Shifted(item)
            | e.Local(item)
            | e.Trimmed(_, item)
            | e.Length(item)
            | e.Sliced(item)
        ):
            return (item,)
        case e.Replaced(item) | e.Piece(item) | e.Like(item):
            return (item,)
        case e.Case(branches, otherwise):
            return *(part for branch in branches for part in branch), otherwise
        case _:
            assert_never(expression)
