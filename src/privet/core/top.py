"""Cells chosen by their scores, the best first: how far one unit can move a choice, and what that costs.

A round is decided by differences between scores alone. So it matters how far one unit moves a cell away from another
one, not how many cells it moves; and not, where all go up or all go down, in which direction.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from privet.core.claim import claim
from privet.core.laws import Top
from privet.core.loss import Loss
from privet.core.measures import Measure, Role
from privet.core.ranks import root_below
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors


@claim("top-apart")
def compared(bounds: Bounds, cells: int) -> Bounds:
    """A unit that has two groups may have all cells: `apart` is the same, and no score lacks rows for that reason."""
    return replace(bounds, groups=max(bounds.groups, cells)) if bounds.groups > 1 else bounds


@claim("top-apart")
def apart(measure: Measure, bounds: Bounds) -> int:
    """The most by which one unit changes the difference between the scores of two cells.

    A unit that comes or goes has rows that raise one cell, up to `rows`, and rows that lower another one, if it has two
    groups and scores have both signs. One that is replaced can do that once in each direction.
    """
    far, near = max(measure.high, -measure.low, 0), max(min(measure.high, -measure.low), 0)
    if not far:
        far = 1  # nothing ever changes; a price of nothing does not exist, so this is treated as a count
    rows = 1 if measure.score is Role.PEOPLE else bounds.rows
    limit = bounds.groups * rows if bounds.in_all is None else bounds.in_all
    rows = min(rows, limit)
    others = min(rows, limit - rows) if bounds.groups > 1 else 0
    return (far * rows + near * others) * (2 if bounds.neighbors is Neighbors.REPLACE else 1)


@claim("top-price")
def top_for(epsilon: Fraction, moved: int, rounds: int) -> tuple[Top, Loss]:
    """By permute-and-flip: a round costs rate * moved, and its square by 2 in zCDP, like everything that has a pure
    price."""
    each = epsilon / rounds
    return Top(each / moved, rounds, flip=True), Loss(epsilon=epsilon, rho=rounds * each**2 / 2)


@claim("top-price")
def top_for_rho(rho: Fraction, moved: int, rounds: int) -> tuple[Top, Loss]:
    """By the exponential mechanism: a round of bounded range rate * moved costs a quarter of that in zCDP. The rate is
    rounded down."""
    each = root_below(8 * rho / rounds)
    return Top(each / moved, rounds), Loss(epsilon=rounds * each, rho=rho)
