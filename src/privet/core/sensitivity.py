"""How far one unit can move the cells of a sum, when only a limited number of its rows and cells count."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from privet.core.claim import claim
from privet.core.unit import Neighbors


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What bounding leaves of a unit: `rows` rows in each of `groups` groups, at most, and `in_all` rows together if
    that is given. A row unit has 1 and 1."""

    groups: int
    rows: int
    neighbors: Neighbors
    in_all: int | None = None

    @property
    def binding(self) -> bool:
        """Whether `in_all` leaves out rows that the other two would keep."""
        return self.in_all is not None and self.in_all < self.groups * self.rows


def among(bounds: Bounds, cells: int) -> Bounds:
    """Of so many chosen cells: a unit cannot have more groups than that."""
    return replace(bounds, groups=min(bounds.groups, cells))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """The most that the vector of cells can change: in sum, in squares, in one cell, and in how many cells."""

    l1: int
    l2_squared: int
    linf: int
    touched: int


@claim("bounded-contributions")
def sensitivity(low: int, high: int, cells: int | None, bounds: Bounds) -> Sensitivity:
    """For rows that each add a whole number from low to high, or nothing, to one cell; None: any number of cells.

    A cell in which a unit has n rows moves by n * far when it comes or goes; when n rows go and m come, by n * far +
    m * near or m * far + n * near. Over all cells that is most when rows are heaped: some cells are full, one more
    has what is left. Replacing a unit, it depends on which cells are the same before and after.
    """
    far, near = max(high, -low, 0), max(min(high, -low), 0)
    if not far:  # nothing ever changes; a price of nothing does not exist, so this is treated as a count
        return sensitivity(0, 1, cells, bounds)
    limit = bounds.groups * bounds.rows if bounds.in_all is None else bounds.in_all
    groups, full = min(bounds.groups, limit), min(bounds.rows, limit)
    cells = 2 * groups if cells is None else cells
    k = min(groups, cells)
    number, rest = divmod(min(limit, k * full), full)
    if bounds.neighbors is Neighbors.ADD_REMOVE:
        squares = number * full**2 + rest**2
        return Sensitivity(l1=far * (number * full + rest), l2_squared=far**2 * squares, linf=far * full, touched=k)
    rows = number * full + rest
    moved = sum(min(rows, min(k, part) * full) for part in (cells // 2, cells - cells // 2))
    return Sensitivity(
        l1=(far - near) * moved + 2 * near * rows,
        l2_squared=max(
            sum(times * (far * more + near * fewer) ** 2 for times, more, fewer in swap)
            for swap in _swaps(number, full, rest, cells)
        ),
        linf=(far + near) * full,
        touched=min(2 * k, cells),
    )


@claim("joint-sums")
def joint_sensitivity(size: int, numbers: int, cells: int | None, bounds: Bounds) -> Sensitivity:
    """For rows that each divide `size` among the numbers of a cell, all of it for one of them or not, or add nothing.

    A row moves these numbers by size together, whichever way it divides it. So n rows that come or go move them by n
    * size in sum, and by that in squares if all are on one side; where n go and m come, the old ones can be on one
    side and the new ones on the other, in the same cell.
    """
    alone = replace(bounds, neighbors=Neighbors.ADD_REMOVE)
    one = sensitivity(0, size, cells, alone)  # all rows of a unit on one side
    touched = min(numbers * one.touched, one.l1)  # at size 1 a row is on one side
    if bounds.neighbors is Neighbors.ADD_REMOVE:
        return replace(one, touched=touched)
    touched = 2 * touched if cells is None else min(2 * touched, numbers * cells)
    return Sensitivity(l1=2 * one.l1, l2_squared=2 * one.l2_squared, linf=one.linf, touched=touched)


def _swaps(number: int, full: int, rest: int, cells: int) -> Iterator[list[tuple[int, int, int]]]:
    """Of a unit that has `number` full cells and one with the rest, before and after: how its cells can fall together.

    Each way says of how many cells which rows they have, the larger number first. It is linear in how many full ones
    stay full, so the ends of that are enough.
    """
    one = int(rest > 0)
    for before, after, both in itertools.product((0, 1), repeat=3):  # a rest meets a full cell, either way, or a rest
        least, most = max(0, 2 * (number + one) - before - after - both - cells), number - max(before, after)
        if max(before, after) + both <= one and least <= most:
            for same in (least, most):
                yield [
                    (same, full, full),
                    (2 * (number - same) - before - after, full, 0),
                    (before + after, full, rest),
                    (both, rest, rest),
                    (2 * (one - both) - before - after, rest, 0),
                ]
