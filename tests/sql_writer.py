"""A plan as SQL text. What SQL has no words for is refused, like any other question that cannot be read."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import assert_never

from privet.core import expression as x
from privet.core.plan import Aggregate, Plan
from privet.errors import RefusedQueryError


def sql_of(plan: Plan) -> str:
    keys = [f'{text(key.value)} AS "{key.name}"' for key in plan.keys]
    shown = ", ".join([*keys, *(f'{_aggregate(item)} AS "{item.name}"' for item in plan.aggregates)])
    where = f" WHERE {text(plan.where)}" if plan.where is not None else ""
    groups = f" GROUP BY {', '.join(str(n + 1) for n in range(len(keys)))}" if keys else ""
    return f"SELECT {shown} FROM {_quoted(plan.table)}{where}{groups}"


def _aggregate(item: Aggregate) -> str:
    return f"{item.function}({'*' if item.value is None else text(item.value)})"


def text(expression: x.Expression) -> str:
    match expression:
        case x.Column(name):
            return _quoted(name)
        case x.Literal(value):
            return constant(value)
        case x.Arithmetic(sign, left, right) | x.Compare(sign, left, right):
            return f"({text(left)} {sign} {text(right)})"
        case x.And(items):
            return f"({' AND '.join(map(text, items))})"
        case x.Or(items):
            return f"({' OR '.join(map(text, items))})"
        case x.Not(item):
            return f"(NOT {text(item)})"
        case x.IsNull(item):
            return f"({text(item)} IS NULL)"
        case x.In(item, values):
            return f"({text(item)} IN ({', '.join(map(constant, values))}))"
        case x.Case(branches, otherwise):
            whens = " ".join(f"WHEN {text(condition)} THEN {text(value)}" for condition, value in branches)
            return f"CASE {whens} ELSE {text(otherwise)} END"
        case x.Coalesce(items) | x.Least(items) | x.Greatest(items):
            return f"{type(expression).__name__.upper()}({', '.join(map(text, items))})"
        case x.Absolute(item):
            return f"ABS({text(item)})"
        case x.Rounded(rounding, item, step):
            return f"({rounding}({text(item)} / {constant(step)}) * {constant(step)})"
        case x.Truncated(period, item):
            return f"date_trunc('{period}', {text(item)})"
        case x.Extracted(field, item):
            return f"EXTRACT({field} FROM {text(item)})"
        case x.AsDate(item):
            return f"CAST({text(item)} AS DATE)"
        case x.AsTime(item):
            return f"CAST({text(item)} AS TIMESTAMP)"
        case _:
            assert_never(expression)


def constant(value: x.Value) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case Fraction():
            return f"({value.numerator} / {value.denominator})" if value.denominator > 1 else f"({value})"
        case str():
            if "\0" in value or not value.isascii():
                raise RefusedQueryError("a text that SQL tools write in different ways", "use the plan")
            return "'" + value.replace("'", "''") + "'"
        case dt.datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case _:
            assert_never(value)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
