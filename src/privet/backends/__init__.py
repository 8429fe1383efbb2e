"""TRUSTED: from a task to bounded exact integers. `reference` is the definition; every engine is tested against it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from privet.catalog import Table
from privet.core.cells import Cells, Keys
from privet.core.laws import Choice, Law
from privet.core.measures import Measure
from privet.core.plan import Plan
from privet.core.sensitivity import Bounds
from privet.core.shape import Shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a backend is told to compute and to enforce, and the noise that the result gets. The gate prices this object
    and nothing else.

    `declared` are the columns as read, `passing` as they are in rows that pass the condition. `table` is the plan's
    own, `beside` has other tables that it is asked of. `secret` keys the hash that decides which rows and groups of a
    unit are kept; fresh for every release. `laws` has the noise of each measure, and last that of keys that are not
    public, which are shown from `threshold` units on. With `habits` it is asked how many groups and rows units have.
    """

    table: Table
    plan: Plan
    declared: Shapes
    passing: Shapes
    cells: Cells
    measures: tuple[Measure, ...]
    bounds: Bounds
    secret: bytes
    beside: Mapping[str, Table] = field(default_factory=dict)
    laws: tuple[Law | Choice, ...] = ()
    threshold: int | None = None
    habits: bool = False

    def showing(self, chosen: Iterable[Keys]) -> Task:
        """The same, when the keys that are shown are known."""
        return replace(self, cells=replace(self.cells, chosen=tuple(chosen)))


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The values of one cell, ascending and different, in steps, and how many rows have each."""

    values: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]


Vector = list[int] | list[Spread]  # spreads for quantiles, MIN and MAX
Habits = tuple[list[int], list[int]]


class Backend(Protocol):
    """The only part that sees data. `written` is what `write` gave for the task, before keys were chosen."""

    def write(self, task: Task) -> Any:
        """The statements of a task; or raise RefusedQueryError if this engine cannot compute it. Touches no data: asked
        before the charge."""
        ...

    def exact(self, task: Task, written: Any = None) -> list[Vector]:
        """For every measure its value in every cell, in the order of `task.cells.keys()`, then the rest."""
        ...

    def people(self, task: Task, written: Any = None) -> dict[Keys, int]:
        """For every key that occurs, how many units have it; each unit counts for `bounds.groups` keys at most."""
        ...

    def habits(self, task: Task, written: Any = None) -> Habits:
        """How many units have 1, 2, 3-4, 5-8, ... groups; and, of rows in their largest group, the same."""
        ...

    def ready(self, *tables: Table) -> None:
        """Raise InvalidInputError, with a reason for the owner, if the data of a table are missing, cannot be opened or
        no longer have the recorded types. Asked before the charge: it looks at files' names, times and schemas only."""
        ...

    def types(self, table: Table) -> dict[str, str]:
        """The types of the declared columns and the unit, to be recorded. For the owner: it opens the data."""
        ...

    def check(self, table: Table) -> None:
        """Raise InvalidInputError unless the declared columns can be read. For the owner: it touches the data."""
        ...

    def close(self) -> None: ...
