"""The rows that `kernel` bounds, as one SELECT: the same layers as in `sqlgen`, without the bounding and the sums."""
# ruff: noqa: S608  # SQL from pieces, as in `sqlgen`

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from privet.backends import Task, spelling
from privet.backends.cellsql import cell_of
from privet.backends.reading import BITS, unit_text, unscaled
from privet.backends.reference import used_columns
from privet.backends.sqlgen import Statement, passing_rows
from privet.backends.translate import Term
from privet.backends.whole import NARROW
from privet.core.claim import claim
from privet.core.expression import Column, Expression
from privet.core.parts import Measure, Role
from privet.sources import Raw

SHORT = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Columns: u, the unit; s, a hash of what it is, if `salted` (otherwise u is what it is); cell, -1 for none; x, a
    hash of what the values do not show, if `extra`; v0, v1, ... whole numbers with `missing` in place of NULL,
    which is one below the lowest, and `highest`.

    `statement.sql` gives all of them; its sums are the number of rows, then for each value its number and its sum.
    """

    statement: Statement
    around: tuple[str, str]  # the same SQL, cut where a condition on the unit can stand
    salted: bool
    extra: bool
    missing: tuple[int, ...]
    highest: tuple[int, ...]

    def part(self, number: int, parts: int) -> str:
        """SQL for one of so many parts: all rows of a unit are in the same."""
        return f" WHERE hash(u) % {parts} = {number}".join(self.around)


def rows(task: Task, raw: Raw) -> Rows | None:
    """How to fetch a task's rows.

    None if a value may need more than 62 bits. Declarations alone decide that: one person's rows must not change which
    rows of others are kept.
    """
    assert task.table.unit is not None  # noqa: S101  # row units need no bounding
    values = list(dict.fromkeys(measure.value for measure in task.measures if measure.value is not None))
    layer, terms = passing_rows(task, raw, values)
    carried = _Carried(values=dict(zip(values, terms, strict=True)), measures=task.measures)
    if carried.wide:
        return None
    recipes = tuple(map(carried.recipe, task.measures))
    hidden = _hidden(task)
    items = [f"coalesce(CAST({cell_of(task)} AS INTEGER), CAST(-1 AS INTEGER)) AS cell"]
    items += [f"hash({', '.join(hidden)}) AS x"] if hidden else []
    items += carried.columns
    names = ["cell", *(["x"] if hidden else []), *(f"w{place}" for place in range(len(carried.columns)))]
    type_ = raw.types[task.table.unit]
    whole = _whole(type_)
    before, after = f"SELECT {whole or 'u'} AS u, {', '.join(items)} FROM ({layer})", ""
    if whole is None:
        before, after = f"WITH base AS MATERIALIZED ({before}", f"){_coded(task, type_, names)}"
    return Rows(
        statement=Statement(sql=before + after, recipes=recipes, cells=task.cells.count),
        around=(before, after),
        salted=whole is None,
        extra=bool(hidden),
        missing=tuple(carried.missing),
        highest=tuple(carried.highest),
    )


def _whole(type_: str) -> str | None:
    """The unit as a number of 64 bits, if every unit of the type has its own."""
    if BITS.get(type_) == 64:
        return f"CAST(CAST(u AS HUGEINT) - {2**63} AS BIGINT)"
    number, _ = unscaled(type_, "u")
    return None if number is None or number.wide else number.sql


@claim("bounding-kernel")
def _coded(task: Task, type_: str, names: Sequence[str]) -> str:
    """Units of `base` by number, one for each that differs. Which number depends on who else is there: it names a unit,
    and nothing is decided by it. What is decided by is the hash of the unit's own text."""
    text = f"{spelling.text(task.secret.hex())} || {spelling.item(unit_text(type_, 'u'))}"
    numbered = f"SELECT u, row_number() OVER () AS code, hash({text}) AS s FROM (SELECT DISTINCT u FROM base)"
    listed = ", ".join(f"base.{name}" for name in names)
    return (
        f", units AS MATERIALIZED ({numbered})"
        f" SELECT units.code AS u, units.s AS s, {listed} FROM base JOIN units ON base.u = units.u"
    )


def _hidden(task: Task) -> list[str]:
    """The columns that a row's cell and summed values do not determine: they tell apart rows that count the same, so
    that it is as likely as in the reference that both stay."""
    shown = {key.value.name for key in task.plan.keys if isinstance(key.value, Column)}
    summed = [measure.value for measure in task.measures if measure.role is Role.SUM]
    shown |= {value.name for value in summed if isinstance(value, Column)}
    return [f"c{place}" for place, name in enumerate(used_columns(task)) if name not in shown]


class _Carried:
    """The values as columns of whole numbers, each once. One that is only counted is 0 where it is there."""

    def __init__(self, *, values: dict[Expression, Term], measures: Sequence[Measure]) -> None:
        self._place: dict[Expression, int] = {}
        self.columns: list[str] = []
        self.missing: list[int] = []
        self.highest: list[int] = []
        for measure in sorted(measures, key=lambda measure: measure.role is Role.COUNT):
            if measure.value is not None and measure.value not in self._place:
                self._place[measure.value] = len(self.columns)
                self._carry(measure, values[measure.value])

    def _carry(self, measure: Measure, term: Term) -> None:
        """A value was clamped when it was read, and is again by the kernel; if it were beyond its type, it would be
        missing."""
        low, high, sql = 0, 0, f"CASE WHEN {term.sql} IS NOT NULL THEN 0 END"
        if measure.role is Role.SUM:
            low, high, sql = measure.low + measure.center, measure.high + measure.center, term.whole.sql
        type_ = "INTEGER" if low > -SHORT and high < SHORT else "BIGINT"
        self.columns.append(f"coalesce(TRY_CAST({sql} AS {type_}), CAST({low - 1} AS {type_})) AS w{len(self.columns)}")
        self.missing.append(low - 1)
        self.highest.append(high)

    @property
    def wide(self) -> bool:
        return max(map(abs, [*self.missing, *self.highest]), default=0) >= NARROW

    def recipe(self, measure: Measure) -> tuple[int, int, int]:
        if measure.value is None:
            return 0, 0, 0
        count = 2 * self._place[measure.value] + 1
        if measure.role is Role.COUNT:
            return count, 0, count
        return count + 1, measure.center, count
