"""Which keys occur and how many units have each; and how many groups and rows units have. As SQL."""
# ruff: noqa: S608  # SQL from pieces, as in `sqlgen`

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from privet.backends import Habits, Task
from privet.backends.cellsql import key_text, numbered
from privet.backends.content import key_shapes
from privet.backends.reference import binned
from privet.backends.sqlgen import first_groups, passing_rows
from privet.core import calendar
from privet.core.cells import Keys
from privet.core.claim import claim
from privet.core.expression import Value
from privet.core.shape import ORDERED, Form, Shape
from privet.sources import Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleSql:
    """A query with one row for each key that occurs: the key, each value in steps, and how many units have it."""

    sql: str
    shapes: tuple[Shape, ...]

    def counted(self, rows: Sequence[Sequence[Any]]) -> dict[Keys, int]:
        """Column by column: there can be a million keys."""
        columns = [_values([row[place] for row in rows], shape) for place, shape in enumerate(self.shapes)]
        return dict(zip(zip(*columns, strict=True), (row[-1] for row in rows), strict=True))


def _values(column: Sequence[Any], shape: Shape) -> Sequence[Value]:
    """What `evaluate` gives, from what the engine gives. Each number, day or time is made once: that is faster."""
    if shape.form not in ORDERED:
        return column
    made = {raw: None if raw is None else _value(raw, shape) for raw in set(column)}
    return [made[raw] for raw in column]


def _value(steps: int, shape: Shape) -> Value:
    match shape.form:
        case Form.DATE:
            return calendar.day_at(steps)
        case Form.TIME:
            return calendar.time_at(steps)
        case _:
            return steps * shape.step


@claim("people-of-keys")
def people(task: Task, raw: Raw) -> PeopleSql:
    """See `reference.Reference.people`."""
    layer, _ = passing_rows(task, raw, [])
    keys = ", ".join(f"k{place}" for place in range(len(task.plan.keys)))
    if task.table.unit is not None:
        groups = f"SELECT *, {key_text(task)} AS text FROM (SELECT DISTINCT u, {keys} FROM ({layer}))"
        layer = first_groups(task, raw.unit(task.table)[1], groups)
    return PeopleSql(sql=f"SELECT {keys}, count(*) FROM ({layer}) GROUP BY {keys}", shapes=tuple(key_shapes(task)))


@dataclass(frozen=True, slots=True, kw_only=True)
class HabitRows:
    """A query with one row for each (groups of a unit, rows in its largest group, rows that count) and how many units
    have them."""

    sql: str

    def binned(self, rows: Sequence[Sequence[int]]) -> Habits:
        groups, largest, in_all = (binned((row[place], row[3]) for row in rows) for place in range(3))
        return groups, largest, in_all


def habits(task: Task, raw: Raw) -> HabitRows:
    """See `reference.Reference.habits`."""
    rows, _ = passing_rows(task, raw, [])
    by = ", ".join(f"k{place}" for place in range(len(task.plan.keys)))
    if not task.cells.private or task.cells.chosen is not None:
        rows, by = f"SELECT * FROM ({numbered(task, rows)}) WHERE cell IS NOT NULL", "cell"
    sql = f"SELECT 1, 1, 1, count(*) FROM ({rows})"
    if task.table.unit is not None:
        groups = f"SELECT u, {by}, count(*) AS n FROM ({rows}) GROUP BY u, {by}"
        counted = f"CAST(sum(least(n, {task.bounds.rows})) AS BIGINT)"
        units = f"SELECT u, count(*) AS g, max(n) AS m, {counted} AS t FROM ({groups}) GROUP BY u"
        sql = f"SELECT g, m, t, count(*) FROM ({units}) GROUP BY g, m, t"
    return HabitRows(sql=sql)
