"""A plan as SQL text, or as one short line of it. What SQL has no words for is refused, as any unreadable question."""

from __future__ import annotations

import datetime as dt
import re
from fractions import Fraction
from typing import assert_never

from privet.core import expression as x
from privet.core.plan import Aggregate, Function, Plan
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.errors import RefusedQueryError

VISITS: dict[str, Kind] = {
    "age": Integer(0, 120),
    "cost": Number(0, 5000, step="0.01"),
    "ward": Category(["A", "B", "C"]),
    "day": Date("2020-01-01", "2026-12-31"),
    "arrived": Timestamp("2020-01-01", "2026-12-31"),
    "smoker": Boolean(),
    "city": Text(),
    "date": Date("2020-01-01", "2026-12-31"),
}
TABLES: dict[str, dict[str, Kind]] = {"visits": VISITS, "Odd Name": {"x": Integer(0, 1), "X": Integer(0, 1)}}
UNITS: dict[str, str | None] = {"visits": "patient_id", "Odd Name": None}


def shown(plan: Plan) -> str:
    """A plan on one line: table | where | by keys | aggregates | show names | having | order | limit."""
    unit = UNITS.get(plan.table)
    parts = [
        plan.table,
        plan.where is not None and f"where {text(plan.where)}",
        plan.keys and "by " + ", ".join(f"{key.name}={text(key.value)}" for key in plan.keys),
        ", ".join(f"{a.name}={_aggregate(a, unit)}" for a in plan.aggregates),
        "show " + ", ".join(plan.outputs),
        plan.having is not None and f"having {text(plan.having)}",
        plan.order and "order " + ", ".join(order.name + " desc" * order.descending for order in plan.order),
        plan.limit is not None and f"limit {plan.limit}",
        plan.offset and f"offset {plan.offset}",
    ]
    return re.sub(r'"(\w+)"', r"\1", " | ".join(part for part in parts if part))


def sql_of(plan: Plan, unit: str | None = None) -> str:
    """WHERE, keys and aggregates: what is computed. `unit` is the column that says whose a row is."""
    keys = [f"{text(key.value)} AS {_quoted(key.name)}" for key in plan.keys]
    aggregates = [f"{_aggregate(item, unit)} AS {_quoted(item.name)}" for item in plan.aggregates]
    where = f" WHERE {text(plan.where)}" if plan.where is not None else ""
    groups = f" GROUP BY {', '.join(str(n + 1) for n in range(len(keys)))}" if keys else ""
    return f"SELECT {', '.join([*keys, *aggregates])} FROM {_quoted(plan.table)}{where}{groups}"


def _aggregate(item: Aggregate, unit: str | None) -> str:
    if item.function is Function.COUNT_DISTINCT:
        if item.value is None and unit is None:
            raise RefusedQueryError("rows have no column that says whose they are", "use the plan")
        return f"COUNT(DISTINCT {_quoted(unit or '') if item.value is None else text(item.value)})"
    values = [text(value) for value in (item.value, item.second) if value is not None]
    shares = [] if item.quantile is None else [constant(item.quantile)]
    return f"{item.function}({', '.join([*values, *shares]) or '*'})"


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
        case x.Rounded():
            return _rounded(expression)
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


def _rounded(expression: x.Rounded) -> str:
    item, step = text(expression.item), expression.step
    places = {Fraction(10) ** -digits: digits for digits in range(-30, 31)}
    if step == 1:
        return f"{expression.rounding}({item})"
    if expression.rounding is x.Rounding.NEAREST and step in places:
        return f"round({item}, {places[step]})"
    return f"({expression.rounding}({item} / {constant(step)}) * {constant(step)})"


def constant(value: x.Value) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case Fraction():
            whole = str(value) if value.denominator == 1 else f"{value.numerator} / {value.denominator}"
            return whole if whole.isdigit() else f"({whole})"
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
