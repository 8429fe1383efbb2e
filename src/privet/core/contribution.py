"""How far one unit can move the cells of a sum, when it has at most `rows` rows in each of at most `groups` cells."""

from __future__ import annotations

from dataclasses import dataclass

from privet.core.claim import claim
from privet.core.unit import Neighbors


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What bounding leaves of a unit: `rows` rows in each of `groups` groups, at most. A row unit has 1 and 1."""

    groups: int
    rows: int
    neighbors: Neighbors


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The most that the vector of cells can change: in sum, in squares, in one cell, and in how many cells."""

    l1: int
    l2_squared: int
    linf: int
    touched: int


@claim("bounded-contributions")
def reach(low: int, high: int, cells: int | None, bounds: Bounds) -> Reach:
    """For rows that each add a whole number from low to high, or nothing, to one cell.

    Adding or removing a unit changes k = min(groups, cells) cells by at most M. Replacing it takes up to k cells away
    and brings up to k others, of which j are the same: those change by at most W, the others by at most M. The sums
    are linear in j, so they are largest at an end of what j can be.
    """
    top, bottom = bounds.rows * max(high, 0), bounds.rows * min(low, 0)
    if top == bottom:  # nothing ever changes; a price of nothing does not exist, so this is treated as a count
        return reach(0, 1, cells, bounds)
    return spread_out(max(top, -bottom), top - bottom, cells, bounds)


@claim("bounded-contributions")
def spread_out(most: int, width: int, cells: int | None, bounds: Bounds) -> Reach:
    """For cells that move by `most` when a unit comes or goes, by `width` when its rows in them change.

    Of keys that are not public there can be any number of cells: None.
    """
    cells = 2 * bounds.groups if cells is None else cells
    k = min(bounds.groups, cells)
    if bounds.neighbors is Neighbors.ADD_REMOVE:
        return Reach(l1=k * most, l2_squared=k * most**2, linf=most, touched=k)
    same = (max(0, 2 * k - cells), k)
    return Reach(
        l1=max(j * width + 2 * (k - j) * most for j in same),
        l2_squared=max(j * width**2 + 2 * (k - j) * most**2 for j in same),
        linf=width,
        touched=min(2 * k, cells),
    )
