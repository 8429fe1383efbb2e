"""Totals of groups: sums of the noisy numbers of the finest grouping, so that parts add up and nothing more is paid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from privet.core.cells import Cells, Keys
from privet.core.claim import claim
from privet.core.plan import Function, Plan
from privet.core.rational import show
from privet.errors import RefusedQueryError

Level = tuple[str, ...]  # the names of the keys that a row is about
ADDED = (
    Function.COUNT, Function.SUM, Function.AVG, Function.VAR_POP, Function.VAR_SAMP, Function.STDDEV_POP,
    Function.STDDEV_SAMP, Function.COVAR_POP, Function.COVAR_SAMP, Function.CORR,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One row: the keys that it is about, with their values, and the cells that it is the sum of."""

    level: Level
    known: Keys
    cells: tuple[int, ...]

    def part(self, level: Level) -> Keys:
        """Its values of the keys of a coarser level."""
        return tuple(value for name, value in zip(self.level, self.known, strict=True) if name in level)


def finest(plan: Plan) -> Level:
    return tuple(key.name for key in plan.keys)


def levels_of(plan: Plan) -> tuple[Level, ...]:
    """Each with its names in the order of the keys."""
    names = finest(plan)
    return tuple(tuple(name for name in names if name in level) for level in plan.levels) or (names,)


def check_levels(plan: Plan, cells: Cells) -> None:
    """Refuses what cannot be summed from the finest groups."""
    known = finest(plan)
    for level in plan.levels:
        lost = [name for name in level if name not in known]
        if lost:
            raise RefusedQueryError(
                f"{show(lost[0])} is not a key of this query", "name keys of the query in its levels", "not-grouped"
            )
    levels = levels_of(plan)
    if len(set(levels)) < len(levels):
        raise RefusedQueryError("a level of totals is named twice", "ask for each level once", "duplicate-value")
    coarser = [level for level in levels if level != known]
    if not coarser:
        return
    for aggregate in plan.aggregates:
        if aggregate.function not in ADDED:
            raise RefusedQueryError(
                f"{aggregate.function} {aggregate.name} of a total does not follow from that of its groups",
                "ask for that level in a query of its own: GROUP BY its keys only",
                "unsupported-function",
            )
    if cells.private and not cells.rest:
        raise RefusedQueryError(
            "a total would lack the groups that are not shown",
            'give other="elsewhere", which collects them in a row, or ask for the total in a query of its own',
            "missing-option",
        )
    if cells.private and any(coarser):
        raise RefusedQueryError(
            "groups that are not shown are in the row of the rest, so only the total of all groups is known",
            "ask for that level in a query of its own: GROUP BY its keys only",
            "not-supported",
        )


def check_totals(plan: Plan, cells: Cells) -> None:
    """Refuses what computed columns cannot have of several groups."""
    functions = {aggregate.name: aggregate.function for aggregate in plan.aggregates}
    for total in plan.totals:
        function = functions.get(total.aggregate)
        if function is None or not set(total.level) <= set(finest(plan)):
            raise RefusedQueryError(
                f"the total {show(total.name)} is of an aggregate or of keys that the query does not have",
                "name an aggregate and keys of the query",
                "not-grouped",
            )
        added = function in ADDED or (function is Function.COUNT_DISTINCT and not cells.private)
        if not added:
            raise RefusedQueryError(
                f"{function} {total.aggregate} of several groups does not follow from that of each",
                "ask for it in a query of its own, and write the number here",
                "unsupported-function",
            )
        if cells.private and not (cells.rest and total.level == ()):
            raise RefusedQueryError(
                "a total would lack the groups that are not shown",
                'give other="elsewhere", which collects them in a row, and divide by the total of all groups',
                "missing-option",
            )


def most_cells(plan: Plan, cells: Cells) -> int:
    """The most cells that a row is the sum of; where keys are not public nobody knows it before, and it is 1."""
    if cells.private:
        return 1
    return max(cells.count // max(rows_of_level(cells, plan, level), 1) for level in levels_of(plan))


def rows_of_level(cells: Cells, plan: Plan, level: Level) -> int:
    """How many rows it has; of keys that are not public, so far as they are known."""
    if cells.private:
        return cells.count if level == finest(plan) else 1
    return math.prod(len(domain) for name, domain in zip(finest(plan), cells.domains, strict=True) if name in level)


@claim("roll-ups")
def groups_of(plan: Plan, keys: Sequence[Keys]) -> Iterator[Group]:
    """The rows of every level; `keys` are those of every cell, in order."""
    names = finest(plan)
    cells = [Group(level=names, known=one, cells=(cell,)) for cell, one in enumerate(keys)]
    for level in levels_of(plan):
        if level == names:
            yield from cells
            continue
        found: dict[Keys, list[int]] = {} if level else {(): []}  # the total of all is there, whatever it is of
        for number, cell in enumerate(cells):
            found.setdefault(cell.part(level), []).append(number)
        yield from (Group(level=level, known=known, cells=tuple(of)) for known, of in found.items())
