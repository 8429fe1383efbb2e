"""A plan as SQL text, or as one short line of it. What SQL has no words for is refused, as any unreadable question."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import assert_never

from privet.core import expression as x
from privet.core.origin import origin_of
from privet.core.plan import Aggregate, By, Function, Joined, Numbered, Origin, PerUnit, Plan, Scan
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.errors import RefusedQueryError
from privet.report.explain.plan_words import words_of_function
from privet.sql import TableFacts

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
TABLES: dict[str, dict[str, Kind]] = {
    "visits": VISITS,
    "Odd Name": {"x": Integer(0, 1), "X": Integer(0, 1)},
    "patients": {"sex": Category(["F", "M"]), "born": Integer(1900, 2026), "ward": Category(["A", "B", "C"])},
    "stays": {"ward": Category(["A", "B", "C"]), "nights": Integer(0, 30), "day": Date("2020-01-01", "2026-12-31")},
    "wards": {"ward": Category(["A", "B", "C"]), "size": Integer(0, 99), "region": Category(["N", "S"])},
    "prices": {"ward": Category(["A", "B", "C"]), "year": Integer(2020, 2026), "price": Integer(0, 999)},
}
UNITS: dict[str, str | None] = {
    "visits": "patient_id", "Odd Name": None, "patients": "patient_id", "stays": "pid", "wards": None, "prices": None,
}  # fmt: skip
FACTS: dict[str, TableFacts] = {
    "visits": TableFacts(max_groups=5, max_rows_per_group=10),
    "stays": TableFacts(max_groups=2, max_rows_per_group=3, max_rows=4),
    "wards": TableFacts(public=True, key=("ward",)),
    "prices": TableFacts(public=True, key=("ward", "year")),
}
# Questions, and the plans that they mean or why they are refused.
PAIRS: list[tuple[str, str]] = re.findall(
    r"^(?!#)(.+?)\n=> (.*)$", (Path(__file__).parent / "plans.sql").read_text(), re.MULTILINE
)


def shown(plan: Plan) -> str:
    """A plan on one line: origin | where | by keys | levels | aggregates | computed | show | having | order | limit."""
    unit = UNITS.get(plan.table)
    parts = [
        origin_text(origin_of(plan)),
        plan.where is not None and f"where {text(plan.where)}",
        plan.keys and "by " + ", ".join(f"{key.name}={text(key.value)}" for key in plan.keys),
        plan.levels and "levels " + " ".join(f"({', '.join(level)})" for level in plan.levels),
        ", ".join(f"{a.name}={_aggregate(a, unit)}" for a in plan.aggregates),
        plan.computed and "computed " + ", ".join(f"{c.name}={text(c.value)}" for c in plan.computed),
        "show " + ", ".join(plan.outputs),
        plan.having is not None and f"having {text(plan.having)}",
        plan.order and "order " + ", ".join(order.name + " desc" * order.descending for order in plan.order),
        plan.limit is not None and f"limit {plan.limit}",
        plan.offset and f"offset {plan.offset}",
    ]
    return re.sub(r'"(\w+)"', r"\1", " | ".join(part for part in parts if part))


def origin_text(origin: Origin) -> str:
    """(visits JOIN wards ON ward = ward MOST 1 GIVES size), (visits BY UNIT sex=sex: count=COUNT(*))."""
    match origin:
        case Scan():
            return origin.table
        case Joined():
            kind = "LEFT JOIN" if origin.outer else "JOIN"
            parts = [
                f"{origin_text(origin.left)} {kind} {origin_text(origin.right)}",
                origin.by_unit and "BY UNIT",
                origin.on and "ON " + ", ".join(f"{mine} = {yours}" for mine, yours in origin.on),
                origin.most is not None and f"MOST {origin.most}",
                origin.names and "GIVES " + ", ".join(n if n == h else f"{n} AS {h}" for n, h in origin.names),
            ]
        case PerUnit():
            made = [f"{k.name}={text(k.value)}" for k in origin.keys]
            made += [f"{a.name}={_aggregate(a, None)}" for a in origin.aggregates]
            where = f" WHERE {text(origin.where)}" if origin.where is not None else ""
            parts = [f"{origin_text(origin.source)}{where} BY UNIT", ", ".join(made)]
        case Numbered():
            where = f" WHERE {text(origin.where)}" if origin.where is not None else ""
            parts = [
                f"{origin_text(origin.source)}{where} NUMBERED {origin.name} BY UNIT",
                ", ".join(map(text, origin.keys)),
                origin.by and f"ORDER {', '.join(map(_by, origin.by))}",
                (origin.first, origin.last) != (1, None) and f"ONLY {origin.first} TO {origin.last}",
                f"OF {', '.join(origin.columns)}",
            ]
    return f"({' '.join(part for part in parts if part)})"


def _by(one: By) -> str:
    return text(one.value) + " DESC" * one.descending


def sql_of(plan: Plan, unit: str | None = None, source: str | None = None) -> str:
    """WHERE, keys and aggregates: what is computed. `unit` is the column that says whose a row is, `source` what stands
    in FROM, if it is not the table."""
    keys = [f"{text(key.value)} AS {_quoted(key.name)}" for key in plan.keys]
    aggregates = [f"{_aggregate(item, unit)} AS {_quoted(item.name)}" for item in plan.aggregates]
    where = f" WHERE {text(plan.where)}" if plan.where is not None else ""
    groups = f" GROUP BY {', '.join(str(n + 1) for n in range(len(keys)))}" if keys else ""
    return f"SELECT {', '.join([*keys, *aggregates])} FROM {source or _quoted(plan.table)}{where}{groups}"


def from_of(origin: Origin, columns: Mapping[str, Iterable[str]], unit: str | None) -> str:
    """An origin as a sub-query. The unit has the same name in all private tables; how many rows of one are joined is
    not said: that follows from declarations."""
    own = [] if unit is None else [unit]
    match origin:
        case Scan():
            return _quoted(origin.table)
        case Joined():
            left, right = (from_of(side, columns, unit) for side in (origin.left, origin.right))
            theirs = {here: name for name, here in origin.names}
            names = [*own, *(name for name in _columns(origin.left, columns) if name not in theirs)]
            listed = [f"l.{_quoted(name)} AS {_quoted(name)}" for name in names]
            listed += [f"r.{_quoted(name)} AS {_quoted(here)}" for here, name in theirs.items()]
            pairs = [*((name, name) for name in own if origin.by_unit), *origin.on]
            same = " AND ".join(f"l.{_quoted(mine)} = r.{_quoted(yours)}" for mine, yours in pairs)
            kind = "LEFT JOIN" if origin.outer else "JOIN"
            return f"(SELECT {', '.join(listed)} FROM {left} AS l {kind} {right} AS r ON {same or 'TRUE'})"
        case PerUnit():
            listed = [_quoted(name) for name in own]
            listed += [f"{text(key.value)} AS {_quoted(key.name)}" for key in origin.keys]
            groups = ", ".join(str(n + 1) for n in range(len(listed)))
            listed += [f"{_aggregate(item, unit)} AS {_quoted(item.name)}" for item in origin.aggregates]
            where = f" WHERE {text(origin.where)}" if origin.where is not None else ""
            source = from_of(origin.source, columns, unit)
            return f"(SELECT {', '.join(listed)} FROM {source} AS s{where} GROUP BY {groups})"
        case Numbered():
            if unit is None:
                raise RefusedQueryError("rows have no column that says whose they are", "use the plan")
            listed = [_quoted(name) for name in (*own, *origin.columns)]
            window = f"PARTITION BY {', '.join([_quoted(unit), *map(text, origin.keys)])}"
            window += f" ORDER BY {', '.join(map(_by, origin.by))}" * bool(origin.by)
            listed.append(f"ROW_NUMBER() OVER ({window}) AS {_quoted(origin.name)}")
            where = f" WHERE {text(origin.where)}" if origin.where is not None else ""
            ends = [f"{_quoted(origin.name)} >= {origin.first}"]
            ends += [] if origin.last is None else [f"{_quoted(origin.name)} <= {origin.last}"]
            rows = f"SELECT {', '.join(listed)} FROM {from_of(origin.source, columns, unit)} AS s{where}"
            return f"(SELECT * FROM ({rows}) AS n WHERE {' AND '.join(ends)})"


def _columns(origin: Origin, columns: Mapping[str, Iterable[str]]) -> list[str]:
    match origin:
        case Scan():
            return list(columns[origin.table])
        case Joined():
            return list(dict.fromkeys([*_columns(origin.left, columns), *(here for _, here in origin.names)]))
        case PerUnit():
            return [*(key.name for key in origin.keys), *(made.name for made in origin.aggregates)]
        case Numbered():
            return [*origin.columns, origin.name]


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
        case x.Quotient(left, right):
            return f"({text(left)} / {text(right)})"
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
        case x.Concat(items):
            return f"({' || '.join(map(text, items))})"
        case x.Like(item, pattern):
            return f"({text(item)} LIKE {constant(pattern)} ESCAPE '\\')"
        case _:
            return words_of_function(expression, text(expression.item))


def _rounded(expression: x.Rounded) -> str:
    item, step = text(expression.item), expression.step
    places = {Fraction(10) ** -digits: digits for digits in range(-30, 31)}
    if step == 1:
        return f"{expression.rounding}({item})"
    if expression.rounding in (x.Rounding.NEAREST, x.Rounding.INWARD) and step in places:
        return f"{expression.rounding}({item}, {places[step]})"
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
