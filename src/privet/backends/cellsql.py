"""The number of the cell that a row lies in, as SQL over its keys k0, k1, ..."""
# ruff: noqa: S608  # SQL from pieces, as in `sqlgen`

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from privet.backends import Task, spelling
from privet.backends.content import REST, canonical, held_key, key_shapes
from privet.backends.whole import NARROW, Whole, constant, minus, plus, quotient, scaled
from privet.core import calendar
from privet.core.claim import claim
from privet.core.expression import Column, Field, Period, Value
from privet.core.origin import origin_of
from privet.core.plan import Key, Scan
from privet.core.ranges import shape_of
from privet.core.schema import Category
from privet.core.shape import Form, Shape

MONTHS = {Period.MONTH: 1, Period.QUARTER: 3, Period.YEAR: 12}
FORMS: dict[type, Form] = {
    bool: Form.TRUTH, Fraction: Form.NUMBER, str: Form.WORD, dt.date: Form.DATE, dt.datetime: Form.TIME
}  # fmt: skip
Given = dict[str, Any]


@claim("rest-cell")
def numbered(task: Task, rows: str) -> str:
    """The same rows with their cell; NULL for keys that are not there, which drops the row."""
    if not task.cells.private:
        return f"SELECT *, {cell_of(task)} AS cell FROM ({rows})"
    types = [key_type(shape) for shape in key_shapes(task)]
    same = [f"CAST(keyed.k{i} AS {type_}) IS NOT DISTINCT FROM chosen.k{i}" for i, type_ in enumerate(types)]
    rest = "CAST($rest AS BIGINT)" if task.cells.rest else spelling.null("BIGINT")
    return (
        f"SELECT keyed.*, coalesce(chosen.cell, {rest}) AS cell"
        f" FROM ({rows}) AS keyed LEFT JOIN ({chosen_keys(task)}) AS chosen ON {' AND '.join(same)}"
    )


def with_texts(task: Task, groups: str) -> str:
    """Groups of units by cell, with what the hash sees of the cell, see `content.cell_text`."""
    if not task.cells.private:
        return f"SELECT *, CAST(cell AS VARCHAR) AS text FROM ({groups})"
    listed = f"SELECT cell, {key_text(task)} AS text FROM ({chosen_keys(task)})"
    return (
        f"SELECT held.*, coalesce(listed.text, {spelling.text(REST)}) AS text"
        f" FROM ({groups}) AS held LEFT JOIN ({listed}) AS listed ON held.cell = listed.cell"
    )


def key_text(task: Task) -> str:
    """What the hash sees of keys k0, k1, ... that are not public."""
    return " || ".join(spelling.item(f"CAST(k{place} AS VARCHAR)") for place in range(len(task.plan.keys)))


def chosen_keys(task: Task) -> str:
    """The chosen keys as rows. They come from the data and may be any text, so they are handed to the engine beside the
    statement and are no part of it."""
    types = [key_type(shape) for shape in key_shapes(task)]
    listed = [f"CAST({spelling.listed(f'key{place}')} AS {type_}) AS k{place}" for place, type_ in enumerate(types)]
    return f"SELECT {', '.join(listed)}, CAST({spelling.listed('cells')} AS BIGINT) AS cell"


def given(task: Task) -> Given:
    """What statements about a task need beside them: the chosen keys as canonical texts, their cells, and the cell of
    the rest. What cannot be a key is left out: its cell stays empty."""
    if task.cells.chosen is None:
        return {}
    rest = {"rest": len(task.cells.chosen)} if task.cells.rest else {}
    return {**listed_keys(task), **rest}


def listed_keys(task: Task) -> Given:
    """Without the rest."""
    if task.cells.chosen is None:
        return {}
    shapes = key_shapes(task)
    keys = {held_key(key): cell for cell, key in enumerate(task.cells.chosen)}
    written = [_written({key[place] for key in keys}, shape) for place, shape in enumerate(shapes)]
    possible = [key for key in keys if all(map(operator.contains, written, key))]
    columns = {f"key{place}": [texts[key[place]] for key in possible] for place, texts in enumerate(written)}
    return {**columns, "cells": [str(keys[key]) for key in possible]}


def _written(values: Iterable[Value], shape: Shape) -> dict[Value, str | None]:
    """Each value once: where there are many keys, writing takes most of the time."""
    return {value: canonical(value, shape) for value in values if _can_be(value, shape)}


def _can_be(value: Value, shape: Shape) -> bool:
    """Whether a value can be written in the type of its key. A cast that fails would be an error."""
    if value is None or FORMS[type(value)] is not shape.form:
        return value is None
    if not isinstance(value, Fraction):
        return True
    steps = value / shape.step
    return steps.denominator == 1 and shape.low <= steps <= shape.high


def key_type(shape: Shape) -> str:
    match shape.form:
        case Form.WORD:
            return "VARCHAR"
        case Form.TRUTH:
            return "BOOLEAN"
        case _:
            return "HUGEINT" if _is_wide(shape) else "BIGINT"


def _is_wide(shape: Shape) -> bool:
    return max(abs(shape.low), abs(shape.high)) >= NARROW


def cell_of(task: Task) -> str:
    """The place of the keys in `task.cells.keys()`; NULL for keys that are not there, which drops the row."""
    cell = constant(0)
    for place, (key, domain) in enumerate(zip(task.plan.keys, task.cells.domains, strict=True)):
        index = _index(f"k{place}", shape_of(key.value, task.passing), domain, raw=is_raw(task, key))
        cell = plus(scaled(cell, len(domain)), index) if place else index
    return cell.sql


def is_raw(task: Task, key: Key) -> bool:
    """A category is grouped by its raw text: what is not listed becomes NULL when the cells are numbered. Where keys
    are not public, they are not numbered at first: there it is read like any other column, and so it is in rows
    that are made from several tables, and where a text that is not listed counts as the first that is."""
    if task.cells.private or not isinstance(key.value, Column) or not isinstance(origin_of(task.plan), Scan):
        return False
    kind = task.table.columns[key.value.name]
    return isinstance(kind, Category) and not kind.never_missing


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
        wide = _is_wide(shape)  # a cast that can fail would tell who is there
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
