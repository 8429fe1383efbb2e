"""From a task to one SELECT statement. Nothing an analyst wrote is in it: names are quoted, constants are rendered.

    c, canonical columns -> condition -> k, keys and v, values -> bounding -> a, sums -> cells

Every function in it is total, so it does not matter which rows the engine looks at first.
"""
# ruff: noqa: S608  # SQL from pieces is what this file is for; the pieces come from `spelling`, never from an analyst

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from privet.backends import Task, spelling
from privet.backends.cellsql import is_raw, numbered, with_texts
from privet.backends.originsql import origin_rows, row_text
from privet.backends.reading import unit_text
from privet.backends.reference import used_columns
from privet.backends.translate import SqlTerm, Translator, confined
from privet.backends.whole import clamped, constant, minus, power
from privet.core.claim import claim
from privet.core.expression import Expression, columns_in
from privet.core.measures import Measure, Role
from privet.sources import Raw

PEOPLE = (Role.PEOPLE, Role.KEYS)  # units are counted, whatever the value is
RANKED = (Role.QUANTILE, Role.MIN, Role.MAX)  # see `spreadsql`


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A query with one row for each cell that is not empty: its number, then sums.

    `recipes` gives for each measure (place of its sum, center, place of the count to center by). The engine gets
    what `cellsql.given` gives beside the statement.
    """

    sql: str
    recipes: tuple[tuple[int, int, int], ...]

    def dense(self, rows: Iterable[Sequence[Any]], cells: int) -> list[list[int]]:
        """For every measure its value in every cell."""
        totals = [[0] * cells for _ in self.recipes]
        for cell, *sums in rows:
            if cell is None or not 0 <= cell < cells:  # here, since the engine would push it down to the rows
                continue
            for total, (place, center, count) in zip(totals, self.recipes, strict=True):
                total[cell] = (sums[place] or 0) - center * (sums[count] or 0)
        return totals


def statement(task: Task, raw: Raw) -> Statement:
    """The query for all measures of a task that are one number a cell, over a readable table."""
    measures = [measure for measure in task.measures if measure.role not in RANKED]
    values = list(dict.fromkeys(measure.value for measure in measures if measure.value is not None))
    layer, terms = passing_rows(task, raw, values)
    sums = _Sums(values=dict(zip(values, terms, strict=True)), unit=task.table.unit is not None)
    recipes = tuple(map(sums.recipe, measures))
    listed = "".join(f", {sql} AS a{place}" for place, sql in enumerate(sums.found))
    if task.table.unit is not None or any(measure.role is Role.DISTINCT for measure in measures):
        sql = f"SELECT cell{listed} FROM ({kept_rows(task, raw, layer)}) GROUP BY cell"
    else:  # cells are numbered after grouping: that is cheap for groups and dear for rows
        keys = ", ".join(f"k{place}" for place in range(len(task.plan.keys)))
        grouped = f"SELECT {keys or '1 AS one'}{listed} FROM ({layer}){' GROUP BY ' if keys else ''}{keys}"
        again = "".join(f", sum(a{place})" for place in range(len(sums.found)))
        sql = f"SELECT cell{again} FROM ({numbered(task, grouped)}) GROUP BY cell"
    return Statement(sql=sql, recipes=recipes)


def kept_rows(task: Task, raw: Raw, layer: str) -> str:
    """What bounding leaves of the rows that pass, with their cells; of row units all, some perhaps without a cell."""
    rows = numbered(task, layer)
    return rows if task.table.unit is None else _bounded(task, raw.unit(task.table)[1], rows)


class _Sums:
    """The columns to sum, each once: a centered sum is the plain sum less the center for each value that is there."""

    def __init__(self, *, values: dict[Expression, SqlTerm], unit: bool) -> None:
        self._values, self._unit = values, unit
        self.found: dict[str, int] = {}

    @claim("clamped-at-the-sum")
    def recipe(self, measure: Measure) -> tuple[int, int, int]:
        if measure.role in PEOPLE:
            return self._place("count(DISTINCT u)" if self._unit else "count(*)"), 0, 0
        if measure.value is None:
            return self._place("count(*)"), 0, 0
        term = self._values[measure.value]
        if measure.role is Role.DISTINCT:
            return self._place(f"count(DISTINCT {term.sql})"), 0, 0
        count = self._place(f"count({term.sql})")
        if measure.role is Role.COUNT:
            return count, 0, count
        value = clamped(term.whole, measure.low + measure.center, measure.high + measure.center)
        if measure.role is Role.SQUARES:
            return self._place(f"sum({power(minus(value, constant(measure.center)), 2).sql})"), 0, count
        return self._place(f"sum({value.sql})"), measure.center, count

    def _place(self, sql: str) -> int:
        return self.found.setdefault(sql, len(self.found))


def passing_rows(task: Task, raw: Raw, values: Sequence[Expression]) -> tuple[str, list[SqlTerm]]:
    """A SELECT of keys k0, ... and values v0, ... of the rows that pass, and the terms of the values."""
    names, unit = used_columns(task), task.table.unit
    needed = set(columns_in([task.plan.where, values, [key.value for key in task.plan.keys if not is_raw(task, key)]]))
    rows = origin_rows(task, raw, names, unread=() if unit is not None else set(names) - needed)
    where = Translator(rows.columns).term(task.plan.where) if task.plan.where is not None else None
    passing = Translator({name: confined(term, task.passing[name]) for name, term in rows.columns.items()})
    terms = [passing.term(value) for value in values]
    keys = [
        f"r{names.index(key.value.name)}" if is_raw(task, key) else passing.term(key.value).sql  # type: ignore[union-attr]
        for key in task.plan.keys
    ]
    listed = [f"{sql} AS k{place}" for place, sql in enumerate(keys)]
    listed += [f"{term.sql} AS v{place}" for place, term in enumerate(terms)]
    if unit is not None:
        listed += ["u", *(f"c{place}" for place in range(len(names)))]
    condition = f" WHERE {where.sql}" if where is not None else ""
    named = [SqlTerm(sql=f"v{place}", shape=term.shape, wide=term.wide) for place, term in enumerate(terms)]
    return f"SELECT {', '.join(listed or ['1 AS one'])} FROM ({rows.sql}){condition}", named


def _head(task: Task, type_: str) -> list[str]:
    """What every hash of a unit u of this type begins with."""
    return [spelling.text(task.secret.hex()), spelling.item(unit_text(type_, "u"))]


@claim("bounding")
def first_groups(task: Task, type_: str, groups: str) -> str:
    """Of each unit's groups, which the hash sees as texts, as many as it may have."""
    order = f"{spelling.digest([*_head(task, type_), spelling.item('text')])}, text"
    ranked = f"SELECT *, row_number() OVER (PARTITION BY u ORDER BY {order}) AS place FROM ({groups})"
    return f"SELECT * FROM ({ranked}) WHERE place <= {task.bounds.groups}"


@claim("bounding")
def _bounded(task: Task, type_: str, rows: str) -> str:
    """See `reference.bounded`. Cells are chosen among groups, not rows; rows only where there are too many of them."""
    groups, bounds = "SELECT u, cell, count(*) AS n FROM base GROUP BY u, cell", task.bounds
    if task.cells.private or task.cells.count > bounds.groups or bounds.binding:
        groups = first_groups(task, type_, with_texts(task, groups))
    columns, crowded = "base.*, n", f"n > {bounds.rows}"
    if bounds.binding:
        groups = f"SELECT *, sum(least(n, {bounds.rows})) OVER (PARTITION BY u) AS fits FROM ({groups})"
        columns, crowded = "base.*, n, fits, place AS spot", f"{crowded} OR fits > {bounds.in_all}"
    joined = f"SELECT {columns} FROM base JOIN kept ON base.u = kept.u AND base.cell = kept.cell"
    text = row_text(f"c{place}" for place in range(len(used_columns(task))))
    texts = f"SELECT *, {text} AS x FROM ({joined}) WHERE {crowded}"
    order = f"{spelling.digest([*_head(task, type_), 'x'])}, x"
    ranked = f"SELECT *, row_number() OVER (PARTITION BY u, cell ORDER BY {order}) AS place FROM ({texts})"
    left = f"SELECT * EXCLUDE (x, place) FROM ({ranked}) WHERE place <= {bounds.rows}"
    if bounds.binding:
        turns = f"SELECT * EXCLUDE (x), row_number() OVER (PARTITION BY u ORDER BY place, spot) AS turn FROM ({ranked})"
        left = (
            f"SELECT * EXCLUDE (place, turn) FROM ({turns} WHERE place <= {bounds.rows}) WHERE turn <= {bounds.in_all}"
        )
    return (
        f"WITH base AS MATERIALIZED (SELECT * FROM ({rows}) WHERE cell IS NOT NULL), kept AS MATERIALIZED ({groups})"
        f" SELECT * FROM ({joined}) WHERE NOT ({crowded}) UNION ALL {left}"
    )
