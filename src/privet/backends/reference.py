"""The definition of what a backend computes, in slow and plain Python."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

import numpy as np

from privet.backends import BINS, Habits, Spread, Task, Vector
from privet.backends.content import cell_text, digest, held_key, item, items, key_shapes, unit_text
from privet.backends.origins import Origins, RawRow, check_unit_wise, tables_of
from privet.core.cells import Keys
from privet.core.claim import claim
from privet.core.evaluate import Row, evaluate
from privet.core.expression import Value, columns_in
from privet.core.measures import Measure, Role
from privet.core.origin import origin_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One row that passes the condition: whose it is, its key, in which cell, and its values as read.

    Of row units each is its own: its place in the table. `text` is what the hash sees of the cell.
    """

    unit: object
    key: Keys
    cell: int
    text: str
    row: Row


class Reference:
    """A backend over rows in memory: for each table, its rows as raw values by column."""

    def __init__(self, rows: Mapping[str, Sequence[RawRow]]) -> None:
        self._rows = rows

    def write(self, _: Task) -> None:
        """Nothing: every task can be computed."""

    def exact(self, task: Task, _: object = None) -> list[Vector]:
        """For every measure its value in every cell, in the order of `task.cells.keys()`, then the rest."""
        cells: list[list[Kept]] = [[] for _ in range(task.cells.count)]
        for kept in self._kept(task):
            cells[kept.cell].append(kept)
        return [measured(measure, cells) for measure in task.measures]

    @claim("people-of-keys")
    def people(self, task: Task, _: object = None) -> dict[Keys, int]:
        """For every key that occurs, how many units have it; each unit counts for `bounds.groups` keys at most."""
        task = replace(task, bounds=replace(task.bounds, in_all=None))
        return dict(Counter(key for key, _ in {(kept.key, kept.unit) for kept in self._kept(task)}))

    def habits(self, task: Task, _: object = None) -> Habits:
        """As `Backend.habits` says."""
        units: dict[object, Counter[int]] = defaultdict(Counter)
        for kept in _passing(task, self._rows):
            units[kept.unit][kept.cell] += 1
        groups = binned((len(cells), 1) for cells in units.values())
        rows = binned((max(cells.values()), 1) for cells in units.values())
        counted = [sum(min(n, task.bounds.rows) for n in cells.values()) for cells in units.values()]
        return groups, rows, binned((number, 1) for number in counted)

    def _kept(self, task: Task) -> list[Kept]:
        rows = list(_passing(task, self._rows))
        return rows if task.table.unit is None else bounded(task, rows)


def _passing(task: Task, tables: Mapping[str, Sequence[RawRow]]) -> Iterator[Kept]:
    shapes, cell_of, origin = key_shapes(task), _numbering(task), origin_of(task.plan)
    check_unit_wise(origin, tables_of(task))
    for owned in Origins(task, tables).rows(origin, used_columns(task)):
        row = owned.row
        if task.plan.where is not None and evaluate(task.plan.where, row) is not True:
            continue
        key = tuple(evaluate(key.value, row) for key in task.plan.keys)
        if task.cells.private:
            key = held_key(key)
        cell = cell_of(key)
        if cell is not None:
            yield Kept(unit=owned.unit, key=key, cell=cell, text=cell_text(task, shapes, key, cell), row=row)


@claim("rest-cell")
def _numbering(task: Task) -> Callable[[Keys], int | None]:
    """The cell of a key; None drops the row. Before keys are chosen each has its own, numbered as they come: the number
    names it and decides nothing."""
    if task.cells.private and task.cells.chosen is None:
        found: dict[Keys, int] = defaultdict(itertools.count().__next__)
        return found.__getitem__
    listed = map(held_key, task.cells.keys()) if task.cells.private else task.cells.keys()
    places = {key: place for place, key in enumerate(listed)}
    rest = len(task.cells.chosen or ()) if task.cells.rest else None
    return lambda key: places.get(key, rest)


def used_columns(task: Task) -> list[str]:
    """The columns that the answer depends on, in the order in which they are declared."""
    used = set(columns_in([task.plan.where, task.plan.keys, [measure.value for measure in task.measures]]))
    return [name for name in task.declared if name in used]


@claim("bounding")
def bounded(task: Task, rows: Sequence[Kept]) -> list[Kept]:
    """At most `groups` cells of a unit and `rows` rows in each, chosen by a keyed hash of that unit's rows alone.

    Of what that leaves, `in_all` rows: the first of each cell in turn, then the second of each, and so on.
    """
    units: dict[object, dict[int, list[Kept]]] = defaultdict(lambda: defaultdict(list))
    for kept in rows:
        units[kept.unit][kept.cell].append(kept)
    names, chosen = used_columns(task), []
    for unit, cells in units.items():
        head = task.secret.hex() + item(unit_text(unit))
        places = sorted((digest(head + item(kept[0].text)), kept[0].text, cell) for cell, kept in cells.items())
        turns: list[tuple[int, int, Kept]] = []
        for place, (_, _, cell) in enumerate(places[: task.bounds.groups]):
            texts = [(row_text(task, names, kept.row), kept) for kept in cells[cell]]
            ordered = sorted(texts, key=lambda pair: (digest(head + pair[0]), pair[0]))
            turns += [(turn, place, kept) for turn, (_, kept) in enumerate(ordered[: task.bounds.rows])]
        turns.sort(key=lambda turn: turn[:2])
        chosen += [kept for _, _, kept in turns[: task.bounds.in_all]]
    return chosen


def row_text(task: Task, names: Sequence[str], row: Row) -> str:
    """All values of a row that the answer depends on: two rows with the same text count the same."""
    return items([row[name] for name in names], [task.declared[name] for name in names])


def measured(measure: Measure, cells: Sequence[Sequence[Kept]]) -> Vector:
    """One measure of every cell."""
    match measure.role:
        case Role.COUNT | Role.SUM:
            return [sum(added(measure, kept.row) for kept in rows) for rows in cells]
        case Role.PAIR | Role.SQUARES:
            return [side for sides in zip(*(joint(measure, rows) for rows in cells), strict=True) for side in sides]
        case Role.PEOPLE | Role.KEYS:
            return [len({kept.unit for kept in rows}) for rows in cells]
        case Role.DISTINCT:
            return [distinct(measure, rows) for rows in cells]
        case Role.QUANTILE | Role.MIN | Role.MAX:
            return [spread(measure, rows) for rows in cells]
        case Role.TOP:
            raise ValueError("a score is measured as what it is: see `Task.scoring`")
        case _:
            assert_never(measure.role)


def added(measure: Measure, row: Row) -> int:
    """What one row adds to a count or sum of its cell."""
    if measure.value is None:
        return 1
    value = evaluate(measure.value, row)
    if measure.role is Role.COUNT:
        return int(value is not None)
    return 0 if value is None else steps_of(measure, value)


@claim("joint-sums")
def joint(measure: Measure, rows: Iterable[Kept]) -> tuple[int, ...]:
    """What the values of a cell are above the lowest one that there can be, and what they are below the highest; or the
    square of the one, twice the product of both, and the square of the other."""
    steps = [steps_of(measure, value) for value in _present(measure, rows)]
    sides = [(one, measure.high - one) for one in steps]
    if measure.role is Role.PAIR:
        return sum(above for above, _ in sides), sum(below for _, below in sides)
    return sum(u * u for u, _ in sides), sum(2 * u * v for u, v in sides), sum(v * v for _, v in sides)


@claim("clamped-at-the-sum")
def steps_of(measure: Measure, value: Value) -> int:
    """The whole number that a row adds, clamped here, last of all: whatever the value is, it is within the ends that
    were priced."""
    assert isinstance(value, Fraction)  # noqa: S101  # what `measures_of` promises
    return min(max(math.floor(value / measure.step) - measure.center, measure.low), measure.high)


@claim("distinct-values")
def distinct(measure: Measure, rows: Iterable[Kept]) -> int:
    """How many different values there are; NULL is none."""
    return len(set(_present(measure, rows)))


def spread(measure: Measure, rows: Iterable[Kept]) -> Spread:
    """All values that are there, in steps."""
    found = sorted(Counter(steps_of(measure, value) for value in _present(measure, rows)).items())
    return Spread(np.array([value for value, _ in found], np.int64), np.array([times for _, times in found], np.int64))


def _present(measure: Measure, rows: Iterable[Kept]) -> list[Value]:
    assert measure.value is not None  # noqa: S101  # what `measures_of` promises
    return [value for kept in rows if (value := evaluate(measure.value, kept.row)) is not None]


def binned(numbers: Iterable[tuple[int, int]]) -> list[int]:
    """From (number, how many have it): how many have up to 1, 2, 4, 8, ..., each counted once; the last bin takes all
    that is larger."""
    bins = [0] * BINS
    for number, times in numbers:
        bins[min((number - 1).bit_length(), BINS - 1)] += times
    return bins
