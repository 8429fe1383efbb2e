"""The SQL statements of one task. They are written once, before the charge, from declarations and recorded types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from privet.backends import Task
from privet.backends.keysql import HabitRows, PeopleSql, habits, people
from privet.backends.rowsql import RowsSql, observed, rows
from privet.backends.spreadsql import SpreadValues, Wanted, values
from privet.backends.sqlgen import RANKED, Statement, statement
from privet.sources import Raw, expected


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTask:
    """With the kernel, `rows` fetches the rows. Without it, `sums` is one statement for all sums, and `spread` has one
    for each value that is ranked. If keys are not public, `keys` asks how many units have each key."""

    raw: Raw
    rows: RowsSql | None = None
    sums: Statement | None = None
    spread: Mapping[Wanted, SpreadValues]
    keys: RowsSql | PeopleSql | None = None
    habits: HabitRows | None = None

    def fits(self, raw: Raw) -> bool:
        """Whether the statements fit these tables: the same relations and types."""
        pairs = [(self.raw, raw), *((self.raw.beside[name], other) for name, other in raw.beside.items())]
        return all((one.relation, one.types) == (other.relation, other.types) for one, other in pairs)


def write(task: Task, raw: Raw, *, kernel: bool) -> WrittenTask:
    """Raises if a statement cannot be written. Values that are too long for the kernel are left to the engine."""
    if task.habits:
        return WrittenTask(raw=raw, spread={}, habits=habits(task, raw))
    keys = None if not task.cells.private else observed(task, raw) if kernel else people(task, raw)
    fetched = rows(task, raw) if kernel else None
    if fetched is not None:
        return WrittenTask(raw=raw, rows=fetched, spread={}, keys=keys)
    summed = any(measure.role not in RANKED for measure in task.measures)
    return WrittenTask(raw=raw, sums=statement(task, raw) if summed else None, spread=values(task, raw), keys=keys)


def expected_of(task: Task) -> Raw:
    """The tables of a task as they were recorded."""
    return replace(expected(task.table), beside={name: expected(table) for name, table in task.beside.items()})
