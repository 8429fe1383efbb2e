"""The number of the cell that a row lies in, as SQL over its keys k0, k1, ..."""

from __future__ import annotations

from privet.backends import Task, spelling
from privet.backends.whole import NARROW, Whole, constant, minus, plus, quotient, scaled
from privet.core import calendar
from privet.core.expression import Column, Field, Period, Value
from privet.core.plan import Key
from privet.core.ranges import shape_of
from privet.core.schema import Category
from privet.core.shape import Form, Shape

MONTHS = {Period.MONTH: 1, Period.QUARTER: 3, Period.YEAR: 12}


def cell_of(task: Task) -> str:
    """The place of the keys in `task.cells.keys()`; NULL for keys that are not there, which drops the row."""
    cell = constant(0)
    for place, (key, domain) in enumerate(zip(task.plan.keys, task.cells.domains, strict=True)):
        index = _index(f"k{place}", shape_of(key.value, task.passing), domain, raw=is_raw(task, key))
        cell = plus(scaled(cell, len(domain)), index) if place else index
    return cell.sql


def is_raw(task: Task, key: Key) -> bool:
    """A category is grouped by its raw text: what is not listed becomes NULL when the cells are numbered."""
    return isinstance(key.value, Column) and isinstance(task.table.columns[key.value.name], Category)


def _index(name: str, shape: Shape, domain: tuple[Value, ...], *, raw: bool) -> Whole:
    """The place of a key in its domain. NULL stands last, if it can be."""
    listed = [value for value in domain if value is not None]
    last = constant(len(listed)).sql if len(domain) > len(listed) else spelling.null("BIGINT")
    missing = f"CASE WHEN {name} IS NULL THEN {last} END"
    if shape.form is Form.NOTHING:
        sql = missing
    elif shape.form is Form.WORD:
        sql = f"coalesce({spelling.place_in(name, map(str, listed))}, {last if raw else missing})"
    else:
        wide = max(abs(shape.low), abs(shape.high)) >= NARROW  # a cast that can fail would tell who is there
        key = Whole(sql=f"CAST({name} AS {'HUGEINT' if wide else 'BIGINT'})", low=shape.low, high=shape.high, wide=wide)
        inside = f"{key.sql} BETWEEN {shape.low} AND {shape.high}"
        place = f"CAST({_offset(key, shape).sql} AS BIGINT)"
        sql = f"CASE WHEN {inside} THEN {place} WHEN {name} IS NULL THEN {last} END"
    return Whole(sql=f"({sql})", low=0, high=len(domain) - 1)


def _offset(key: Whole, shape: Shape) -> Whole:
    """How many values of the domain come before."""
    if shape.form is Form.TIME and shape.period in calendar.CLOCK:
        return quotient(minus(key, constant(shape.low)), calendar.CLOCK[shape.period])
    if shape.form in (Form.NUMBER, Form.TRUTH):
        return minus(key, constant(shape.low))
    timed = shape.form is Form.TIME
    days = quotient(key, calendar.DAY) if timed else key
    first = calendar.start(
        shape.period or Period.DAY, calendar.day_at(shape.low // calendar.DAY if timed else shape.low)
    )
    if shape.period in MONTHS:
        months = plus(scaled(spelling.field(Field.YEAR, days, None), 12), spelling.field(Field.MONTH, days, None))
        return quotient(minus(months, constant(first.year * 12 + first.month)), MONTHS[shape.period])
    return quotient(minus(days, constant(calendar.days(first))), 7 if shape.period is Period.WEEK else 1)
