"""A plan in words close to SQL: what Privet understood, which may differ from what somebody meant to write."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from privet.core.expression import (
    Absolute,
    And,
    Arithmetic,
    AsDate,
    AsTime,
    Case,
    Coalesce,
    Column,
    Compare,
    Expression,
    Extracted,
    Greatest,
    In,
    IsNull,
    Least,
    Literal,
    Not,
    Or,
    Rounded,
    Truncated,
    Value,
)
from privet.core.plan import Aggregate, Function
from privet.report.terminal import one_line

MIDDLE = Fraction(1, 2)
SHOWN_VALUES = 8  # of a long list of constants


def words_of(expression: Expression) -> str:
    """On one line, with brackets wherever something is made of parts."""
    match expression:
        case Column(name):
            return one_line(name)
        case Literal(value):
            return constant(value)
        case Arithmetic(sign, left, right):
            return f"({words_of(left)} {sign} {words_of(right)})"
        case Compare(relation, left, right):
            return f"({words_of(left)} {relation} {words_of(right)})"
        case And(items):
            return _joined(items, " AND ")
        case Or(items):
            return _joined(items, " OR ")
        case Not(item):
            return f"(NOT {words_of(item)})"
        case IsNull(item):
            return f"({words_of(item)} IS NULL)"
        case In(item, values):
            return f"({words_of(item)} IN ({_listed(values)}))"
        case Case(branches, otherwise):
            cases = [f"WHEN {words_of(when)} THEN {words_of(then)}" for when, then in branches]
            return f"CASE {' '.join(cases)} ELSE {words_of(otherwise)} END"
        case Coalesce(items) | Least(items) | Greatest(items):
            return f"{type(expression).__name__.upper()}{_joined(items, ', ')}"
        case Absolute(item):
            return f"ABS({words_of(item)})"
        case Rounded(rounding, item, step):
            return f"({words_of(item)} rounded by {rounding} to multiples of {constant(step)})"
        case Truncated(period, item):
            return f"date_trunc('{period}', {words_of(item)})"
        case Extracted(field, item):
            return f"extract({field} from {words_of(item)})"
        case AsDate(item):
            return f"CAST({words_of(item)} AS DATE)"
        case AsTime(item):
            return f"CAST({words_of(item)} AS TIMESTAMP)"
        case _:
            assert_never(expression)


def call(aggregate: Aggregate) -> str:
    """Such as COUNT(*), AVG(cost), COUNT(DISTINCT city), CORR(age, cost), MEDIAN(age) or QUANTILE(age, 0.9)."""
    values = [value for value in (aggregate.value, aggregate.second) if value is not None]
    words = ", ".join(map(_inside, values))
    if aggregate.function is Function.COUNT_DISTINCT:
        return f"COUNT(DISTINCT {words or 'unit'})"
    if aggregate.quantile == MIDDLE:
        return f"MEDIAN({words})"
    share = "" if aggregate.quantile is None else f", {constant(aggregate.quantile)}"
    return f"{aggregate.function}({words or '*'}{share})"


def _inside(expression: Expression) -> str:
    """Without brackets of its own, since it stands in those of a function."""
    words = words_of(expression)
    return words[1:-1] if words.startswith("(") and not isinstance(expression, Column) else words


def constant(value: Value) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case Fraction():
            return str(value.numerator) if value.denominator == 1 else f"{float(value):.12g}"
        case dt.date():
            return f"'{value.isoformat()}'"
        case str():
            return "'" + one_line(value).replace("'", "''") + "'"
        case _:
            assert_never(value)


def _joined(items: Sequence[Expression], between: str) -> str:
    return f"({between.join(words_of(item) for item in items)})"


def _listed(values: Sequence[Value]) -> str:
    shown = ", ".join(constant(value) for value in values[:SHOWN_VALUES])
    hidden = len(values) - SHOWN_VALUES
    return shown + (f" and {hidden:,} more" if hidden > 0 else "")
