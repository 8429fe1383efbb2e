"""The definition of what a backend computes, in slow and plain Python."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, assert_never

from privet.backends import Task
from privet.backends.values import read, text_of
from privet.core import calendar
from privet.core.claim import claim
from privet.core.evaluate import Row, evaluate
from privet.core.expression import Column, Value
from privet.core.parts import Measure, Role
from privet.core.shape import Shape

RawRow = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One row that passes the condition: whose it is, in which cell, and its values as read."""

    unit: object
    cell: int
    row: Row


class Reference:
    """A backend over rows in memory: for each table, its rows as raw values by column."""

    def __init__(self, rows: Mapping[str, Sequence[RawRow]]) -> None:
        self._rows = rows

    def exact(self, task: Task) -> list[list[int]]:
        """For every measure its value in every cell, in the order of `task.cells.keys()`."""
        rows = list(_passing(task, self._rows[task.table.name]))
        if task.table.unit is not None:
            rows = bounded(task, rows)
        totals = [[0] * task.cells.count for _ in task.measures]
        for kept in rows:
            for total, measure in zip(totals, task.measures, strict=True):
                total[kept.cell] += added(measure, kept.row)
        return totals


def _passing(task: Task, rows: Sequence[RawRow]) -> Iterator[Kept]:
    names = used_columns(task)
    places = {key: place for place, key in enumerate(task.cells.keys())}
    for raw in rows:
        unit = None if task.table.unit is None else raw[task.table.unit]
        if task.table.unit is not None and (unit is None or unit != unit):  # noqa: PLR0124  # NULL and NaN are nobody
            continue
        row = {name: read(raw[name], task.table.columns[name]) for name in names}
        if task.plan.where is not None and evaluate(task.plan.where, row) is not True:
            continue
        cell = places.get(tuple(evaluate(key.value, row) for key in task.plan.keys))
        if cell is not None:
            yield Kept(unit=unit, cell=cell, row=row)


def used_columns(task: Task) -> list[str]:
    """The columns that the answer depends on, in the order of their declaration."""
    used = set(columns_in([task.plan.where, task.plan.keys, [measure.value for measure in task.measures]]))
    return [name for name in task.table.columns if name in used]


def columns_in(thing: Any) -> Iterator[str]:
    """Every column below a node, whatever nodes there are."""
    if isinstance(thing, Column):
        yield thing.name
    elif isinstance(thing, list | tuple):
        for part in thing:
            yield from columns_in(part)
    elif is_dataclass(thing):
        for field in fields(thing):
            yield from columns_in(getattr(thing, field.name))


@claim("bounding")
def bounded(task: Task, rows: Sequence[Kept]) -> list[Kept]:
    """At most `groups` cells of a unit and `rows` rows in each, chosen by a keyed hash of that unit's rows alone."""
    units: dict[object, dict[int, list[Kept]]] = defaultdict(lambda: defaultdict(list))
    for kept in rows:
        units[kept.unit][kept.cell].append(kept)
    chosen = []
    for unit, cells in units.items():
        head = task.secret.hex() + item(unit_text(unit))
        for cell in sorted(cells, key=lambda cell: (digest(head + item(str(cell))), cell))[: task.bounds.groups]:
            texts = [(row_text(task, kept.row), kept) for kept in cells[cell]]
            ordered = sorted(texts, key=lambda pair: (digest(head + pair[0]), pair[0]))
            chosen += [kept for _, kept in ordered[: task.bounds.rows]]
    return chosen


def digest(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def item(text: str | None) -> str:
    """A text with its length in bytes before it, so that no two lists of items look the same side by side."""
    return "N" if text is None else f"{len(text.encode())}:{text}"


def unit_text(unit: object) -> str:
    """What the hash sees of a unit. Two units may look alike to it; they are told apart by their values."""
    match unit:
        case float() | Decimal():
            return str(int(unit)) if -(2**53) < unit < 2**53 and unit == int(unit) else ""
        case dt.datetime():
            return str(calendar.microseconds(unit))
        case _:
            return text_of(unit) or ""


def row_text(task: Task, row: Row) -> str:
    """All values of a row that the answer depends on: two rows with the same text count the same."""
    return "".join(item(canonical(row[name], task.declared[name])) for name in used_columns(task))


def canonical(value: Value, shape: Shape) -> str | None:
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case Fraction():
            return str(value / shape.step)
        case dt.datetime():
            return str(calendar.microseconds(value))
        case dt.date():
            return str(calendar.days(value))
        case _:
            assert_never(value)


def added(measure: Measure, row: Row) -> int:
    """What one row adds to its cell."""
    if measure.value is None:
        return 1
    value = evaluate(measure.value, row)
    if measure.role is Role.COUNT:
        return int(value is not None)
    if value is None:
        return 0
    assert isinstance(value, Fraction)  # noqa: S101  # what `measures_of` promises
    steps = value / measure.step - measure.center
    assert steps.denominator == 1  # noqa: S101  # on its grid
    assert measure.low <= steps <= measure.high  # noqa: S101  # what range propagation promises
    return min(max(int(steps), measure.low), measure.high)
