"""How far one unit reaches, against every unit there can be."""

from __future__ import annotations

import itertools

import pytest

from privet.core.contribution import Bounds, Reach, reach, spread_out
from privet.core.unit import Neighbors

SMALL = [
    (low, high, cells, groups, rows)
    for low, high in [(0, 1), (0, 3), (-2, 1), (-3, -1), (1, 2), (-1, 1), (2, 2), (-2, 0)]
    for cells in (1, 2, 3)
    for groups in (1, 2, 3)
    for rows in (1, 2)
]


def vectors(low: int, high: int, cells: int, groups: int, rows: int) -> set[tuple[int, ...]]:
    """Everything that one bounded unit can add to the cells."""
    sums = {sum(c) for n in range(rows + 1) for c in itertools.combinations_with_replacement(range(low, high + 1), n)}
    return {v for v in itertools.product(sums, repeat=cells) if sum(x != 0 for x in v) <= groups}


def largest(changes: list[tuple[int, ...]]) -> Reach:
    return Reach(
        l1=max(sum(abs(x) for x in change) for change in changes),
        l2_squared=max(sum(x * x for x in change) for change in changes),
        linf=max(abs(x) for change in changes for x in change),
        touched=max(sum(x != 0 for x in change) for change in changes),
    )


@pytest.mark.parametrize(("low", "high", "cells", "groups", "rows"), SMALL)
def test_reach_is_the_largest_change_there_is(low: int, high: int, cells: int, groups: int, rows: int) -> None:
    """Equality, not only a bound: somebody attains it, under both relations."""
    units = list(vectors(low, high, cells, groups, rows))
    bounds = Bounds(groups=groups, rows=rows, neighbors=Neighbors.ADD_REMOVE)
    assert reach(low, high, cells, bounds) == largest(units)
    swaps = [tuple(a - b for a, b in zip(one, other, strict=True)) for one in units for other in units]
    bounds = Bounds(groups=groups, rows=rows, neighbors=Neighbors.REPLACE)
    assert reach(low, high, cells, bounds) == largest(swaps)


def test_a_number_that_is_always_0_is_still_paid_for() -> None:
    for neighbors in Neighbors:
        bounds = Bounds(groups=2, rows=3, neighbors=neighbors)
        assert reach(0, 0, 5, bounds) == reach(0, 1, 5, bounds)


def test_forgetting_to_replace_is_caught() -> None:
    """A planted bug: the add-remove bound used under replace is too small for a unit that changes its group."""
    units = list(vectors(0, 1, 2, 1, 1))
    swaps = [tuple(a - b for a, b in zip(one, other, strict=True)) for one in units for other in units]
    assert largest(swaps).l1 > reach(0, 1, 2, Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE)).l1


@pytest.mark.parametrize(("most", "width"), [(1, 1), (1, 2), (3, 4), (5, 5)])
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_cells_that_move_by_any_numbers_are_spread_as_badly_as_can_be(most: int, width: int, groups: int) -> None:
    """The cells of a unit before and after: it moves by `width` where it stays and by `most` elsewhere."""
    for cells in (1, 2, 3, 4, 5, 7):
        own = [set(c) for n in range(groups + 1) for c in itertools.combinations(range(cells), n)]
        for neighbors in Neighbors:
            before = own if neighbors is Neighbors.REPLACE else [set[int]()]
            changes = [(width,) * len(a & b) + (most,) * len(a ^ b) for a in before for b in own]
            bounds = Bounds(groups=groups, rows=1, neighbors=neighbors)
            expected = largest([change or (0,) for change in changes])
            assert spread_out(most, width, cells, bounds) == expected
            if cells >= 2 * groups:  # as many as there can be
                assert spread_out(most, width, None, bounds) == expected
