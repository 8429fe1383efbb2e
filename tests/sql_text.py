"""Plans as short lines, and random SQL, for the tests of the SQL front."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import assert_never

from privet.core import expression as x
from privet.core.plan import Plan
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp

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


def shown(plan: Plan) -> str:
    """A plan on one line: table | where | by keys | aggregates | show names | having | order | limit."""
    parts = [
        plan.table,
        plan.where is not None and f"where {text(plan.where)}",
        plan.keys and "by " + ", ".join(f"{key.name}={text(key.value)}" for key in plan.keys),
        ", ".join(f"{a.name}={a.function}({'*' if a.value is None else text(a.value)})" for a in plan.aggregates),
        "show " + ", ".join(plan.outputs),
        plan.having is not None and f"having {text(plan.having)}",
        plan.order and "order " + ", ".join(order.name + " desc" * order.descending for order in plan.order),
        plan.limit is not None and f"limit {plan.limit}",
        plan.offset and f"offset {plan.offset}",
    ]
    return " | ".join(part for part in parts if part)


def text(expression: x.Expression) -> str:
    match expression:
        case x.Column(name):
            return name
        case x.Literal(value):
            return constant(value)
        case x.Arithmetic(sign, left, right) | x.Compare(sign, left, right):
            return f"({text(left)} {sign} {text(right)})"
        case x.And(items):
            return f"({' and '.join(map(text, items))})"
        case x.Or(items):
            return f"({' or '.join(map(text, items))})"
        case x.Not(item):
            return f"not {text(item)}"
        case x.IsNull(item):
            return f"({text(item)} is null)"
        case x.In(item, values):
            return f"({text(item)} in {', '.join(map(constant, values))})"
        case x.Case(branches, otherwise):
            cases = [f"{text(condition)}: {text(value)}" for condition, value in branches]
            return f"case({', '.join([*cases, text(otherwise)])})"
        case x.Coalesce(items) | x.Least(items) | x.Greatest(items):
            return f"{type(expression).__name__.lower()}({', '.join(map(text, items))})"
        case x.Absolute(item):
            return f"abs({text(item)})"
        case x.Rounded(rounding, item, step):
            return f"{rounding}[{step}]({text(item)})"
        case x.Truncated(unit, item) | x.Extracted(unit, item):
            return f"{'start' if isinstance(expression, x.Truncated) else 'part'}[{unit}]({text(item)})"
        case x.AsDate(item):
            return f"date({text(item)})"
        case x.AsTime(item):
            return f"time({text(item)})"
        case _:
            assert_never(expression)


def constant(value: x.Value) -> str:
    match value:
        case None:
            return "null"
        case bool() | Fraction():
            return str(value).lower()
        case str():
            return repr(value)
        case dt.date():
            return value.isoformat()
        case _:
            assert_never(value)
