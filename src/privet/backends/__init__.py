"""TRUSTED: from a task to bounded exact integers. `reference` is the definition; tests compare every engine with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from privet.catalog.vault_file import Table
from privet.core.cells import Cells, Keys
from privet.core.claim import claim
from privet.core.expression import Expression
from privet.core.laws import Choice, Law, Top
from privet.core.measures import Measure
from privet.core.plan import Plan
from privet.core.rounds import Round
from privet.core.sensitivity import Bounds, among
from privet.core.shape import Shapes
from privet.core.top import compared
from privet.typing import Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a back end must compute and enforce, and the noise that is added to the result. The gate prices this object
    and nothing else.

    `declared` has the columns as read, `passing` as they are in rows that pass the condition. `table` is the plan's own
    table; `beside` has the other tables of the query. `secret` keys the hash that decides which rows and groups of a
    unit are kept; it is new for every release. `laws` has the noise of each measure and, if keys are not public, last
    the noise of the keys: a key is shown if its noisy number of units is at least `threshold`. With `habits`, some of
    HABITS by name, the task asks how many units have how many of these instead, in as many `bins`. With `top`, some of
    the public cells are chosen by this score and law: the back end is asked for `scoring` first, and for `measuring`.
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
    habits: tuple[str, ...] = ()
    bins: int = 0
    top: tuple[Measure, Top] | None = None

    def scoring(self, measure: Measure) -> Task:
        """The scores of all cells. Of a unit that may have several groups, all count."""
        score, bounds = replace(measure, role=measure.score or measure.role, score=None), self.bounds
        return replace(self, measures=(score,), laws=(), top=None, bounds=compared(bounds, self.cells.count))

    @claim("top-measured")
    def measuring(self, cells: int) -> Task:
        """The other measures, of so many cells that are not chosen yet. To the back end they are like keys that are not
        public: it measures those that it is given, and bounds each unit anew among them."""
        return replace(self, cells=Cells(domains=(), private=True), bounds=among(self.bounds, cells), top=None)

    def showing(self, chosen: Iterable[Keys]) -> Task:
        """The same task, once it is known which keys are shown."""
        return replace(self, cells=replace(self.cells, chosen=tuple(chosen)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What a learner is taught: rows of these columns, of a unit at most `rows`, in rounds of noisy sums.

    The gate prices this object and nothing else. `secret` keys the hash that decides which rows of a unit are kept. Of
    a vault's table `values` says what each column is of a row, and only rows that pass `where` count. With `folds` each
    unit is in one of so many: for each fold all rounds are measured on the units of the others, then `test` on its own.
    """

    table: Table
    columns: tuple[str, ...]
    rows: int
    rounds: tuple[Round, ...]
    secret: bytes
    values: tuple[Expression, ...] = ()
    where: Expression | None = None
    folds: int = 0
    test: Round = ()


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The distinct values of one cell, ascending, in steps; and how many rows have each value."""

    values: Integers
    counts: Integers


if TYPE_CHECKING:
    from privet.backends.contributions import Rows

Vector = list[int] | list[Spread]  # spreads for quantiles, MIN and MAX
HABITS = ("groups", "rows", "in_all")  # of a unit: its groups, the rows in its largest, those that count in all
BINS = 41  # for each of these; the last one counts everything above 2**39
Habits = tuple[list[int], list[int], list[int]]


class Backend(Protocol):
    """The only part that sees data. `written` is what `write` returned for the task, before keys were chosen."""

    def write(self, task: Task) -> Any:
        """The statements of a task. Raises RefusedQueryError if this engine cannot compute it. Called before the
        charge: reads no data."""
        ...

    def exact(self, task: Task, written: Any = None) -> list[Vector]:
        """The value of every measure in every cell, in the order of `task.cells.keys()`; last comes the rest."""
        ...

    def people(self, task: Task, written: Any = None) -> dict[Keys, int]:
        """The number of units of every key that occurs. Each unit counts for at most `bounds.groups` keys."""
        ...

    def habits(self, task: Task, written: Any = None) -> Habits:
        """How many units have 1, 2, 3-4, 5-8, ... groups; then the same for the rows in their largest group; and for
        all rows, if at most `bounds.rows` count in each group."""
        ...

    def rows(self, course: Course) -> Rows:
        """The rows of a course that have a value in every column: whole numbers, in steps above the lowest one; of a
        unit as many as were priced."""
        ...

    def ready(self, *tables: Table) -> None:
        """Raises InvalidInputError, with a reason for the owner, if the data of a table are missing, cannot be opened
        or no longer have the recorded types. Called before the charge: looks at file names, times and schemas only."""
        ...

    def types(self, table: Table) -> dict[str, str]:
        """The types of the declared columns and of the unit, to be recorded. For the owner only: opens the data."""
        ...

    def check(self, table: Table) -> object:
        """Raises InvalidInputError unless the declared columns can be read. For the owner only: reads the data."""
        ...

    def close(self) -> None: ...
