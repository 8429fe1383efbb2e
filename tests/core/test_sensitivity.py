"""How far one unit reaches, against every unit there can be."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from privet.core.sensitivity import Bounds, Sensitivity, joint_sensitivity, sensitivity
from privet.core.unit import Neighbors

RANGES = [(0, 1), (0, 3), (-2, 1), (-3, -1), (1, 2), (-1, 1), (2, 2), (-2, 0)]
SMALL = [
    (low, high, cells, groups, rows, None)
    for low, high in RANGES
    for cells in (1, 2, 3)
    for groups in (1, 2, 3)
    for rows in (1, 2)
]
HEAPED = [
    (low, high, cells, groups, rows, in_all)
    for low, high in [(0, 1), (-1, 2), (-1, 1), (-2, 0)]
    for cells, groups, rows in [(1, 1, 3), (2, 2, 2), (2, 2, 3), (3, 2, 2), (3, 3, 2), (3, 2, 3), (4, 2, 2), (4, 3, 2)]
    for in_all in range(1, groups * rows + 2)
]


def vectors(  # noqa: PLR0917
    low: int, high: int, cells: int, groups: int, rows: int, in_all: int | None = None
) -> set[tuple[int, ...]]:
    """Everything that one bounded unit can add to the cells."""
    heaps = [
        n
        for n in itertools.product(range(rows + 1), repeat=cells)
        if sum(x > 0 for x in n) <= groups and (in_all is None or sum(n) <= in_all)
    ]
    sums = [{sum(c) for c in itertools.combinations_with_replacement(range(low, high + 1), n)} for n in range(rows + 1)]
    return {v for heap in heaps for v in itertools.product(*(sums[n] for n in heap))}


def largest(changes: list[tuple[int, ...]]) -> Sensitivity:
    return Sensitivity(
        l1=max(sum(abs(x) for x in change) for change in changes),
        l2_squared=max(sum(x * x for x in change) for change in changes),
        linf=max(abs(x) for change in changes for x in change),
        touched=max(sum(x != 0 for x in change) for change in changes),
    )


@pytest.mark.parametrize(("low", "high", "cells", "groups", "rows", "in_all"), [*SMALL, *HEAPED])
def test_reach_is_the_largest_change_there_is(  # noqa: PLR0917
    low: int, high: int, cells: int, groups: int, rows: int, in_all: int | None
) -> None:
    """Equality, not only a bound: somebody attains it, under both relations."""
    units = sorted(vectors(low, high, cells, groups, rows, in_all))
    bounds = Bounds(groups=groups, rows=rows, in_all=in_all, neighbors=Neighbors.ADD_REMOVE)
    assert sensitivity(low, high, cells, bounds) == largest(units)
    swaps = {tuple(a - b for a, b in zip(*pair, strict=True)) for pair in itertools.product(units, repeat=2)}
    bounds = replace(bounds, neighbors=Neighbors.REPLACE)
    assert sensitivity(low, high, cells, bounds) == largest(list(swaps))
    if cells >= 2 * min(groups, in_all or groups):  # as many as there can be
        assert sensitivity(low, high, None, bounds) == sensitivity(low, high, cells, bounds)


def squares(width: int, cells: int, limits: Bounds) -> list[tuple[int, ...]]:
    """Everything that one bounded unit can add to the three numbers of every cell, row by row."""
    adds = [(u * u, 2 * u * (width - u), (width - u) ** 2) for u in range(width + 1)]
    sums = [
        {
            tuple(map(sum, zip((0, 0, 0), *rows, strict=True)))
            for rows in itertools.combinations_with_replacement(adds, n)
        }
        for n in range(limits.rows + 1)
    ]
    return [
        tuple(number for cell in found for number in cell)
        for heap in itertools.product(range(limits.rows + 1), repeat=cells)
        if sum(n > 0 for n in heap) <= limits.groups and (limits.in_all is None or sum(heap) <= limits.in_all)
        for found in itertools.product(*(sums[n] for n in heap))
    ]


def pairs(width: int, cells: int, limits: Bounds) -> list[tuple[int, ...]]:
    """Everything that one bounded unit can add to the two numbers of every cell."""
    heaps = [
        n
        for n in itertools.product(range(limits.rows + 1), repeat=cells)
        if sum(x > 0 for x in n) <= limits.groups and (limits.in_all is None or sum(n) <= limits.in_all)
    ]
    return [
        tuple(x for n, u in zip(heap, above, strict=True) for x in (u, width * n - u))
        for heap in heaps
        for above in itertools.product(*(range(width * n + 1) for n in heap))
    ]


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize(
    ("cells", "groups", "rows", "in_all"),
    [
        *((cells, groups, rows, None) for cells in (1, 2) for groups in (1, 2) for rows in (1, 2)),
        *((cells, groups, rows, in_all) for cells, groups, rows in [(1, 1, 3), (2, 2, 2)] for in_all in (1, 2, 3)),
        (3, 1, 1, None),
        (3, 2, 1, None),
        (4, 2, 1, 1),
    ],
)
def test_reach_of_a_pair_is_the_largest_change_there_is(
    width: int, cells: int, groups: int, rows: int, in_all: int | None
) -> None:
    """Equality under both relations: one unit puts all its rows at one end, the other at the other."""
    bounds = Bounds(groups=groups, rows=rows, in_all=in_all, neighbors=Neighbors.ADD_REMOVE)
    units = pairs(width, cells, bounds)
    assert joint_sensitivity(width, 2, cells, bounds) == largest(units)
    swaps = {tuple(a - b for a, b in zip(*pair, strict=True)) for pair in itertools.product(units, repeat=2)}
    bounds = replace(bounds, neighbors=Neighbors.REPLACE)
    assert joint_sensitivity(width, 2, cells, bounds) == largest(list(swaps))
    if cells >= 2 * min(groups, in_all or groups):
        assert joint_sensitivity(width, 2, None, bounds) == joint_sensitivity(width, 2, cells, bounds)


@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize(
    ("cells", "groups", "rows", "in_all"),
    [
        (1, 1, 1, None),
        (1, 1, 2, None),
        (1, 1, 3, 2),
        (2, 1, 2, None),
        (2, 2, 1, None),
        (2, 2, 2, 1),
        (2, 2, 2, 3),
        (3, 1, 1, None),
    ],
)
def test_reach_of_squares_is_the_largest_change_there_is(
    width: int, cells: int, groups: int, rows: int, in_all: int | None
) -> None:
    """Equality under both relations, by all values of all rows."""
    bounds = Bounds(groups=groups, rows=rows, in_all=in_all, neighbors=Neighbors.ADD_REMOVE)
    units = squares(width, cells, bounds)
    assert joint_sensitivity(width**2, 3, cells, bounds) == largest(units)
    far = sorted(units, key=sum)[-400:] if len(units) > 400 else units  # the fullest, and all that take their place
    swaps = {tuple(a - b for a, b in zip(*two, strict=True)) for two in itertools.product(far, units)}
    bounds = replace(bounds, neighbors=Neighbors.REPLACE)
    assert joint_sensitivity(width**2, 3, cells, bounds) == largest(list(swaps))
    if cells >= 2 * min(groups, in_all or groups):
        assert joint_sensitivity(width**2, 3, None, bounds) == joint_sensitivity(width**2, 3, cells, bounds)


def test_squares_cost_their_rows_times_the_square_of_the_width() -> None:
    """And in sum no less for any row: u + v is the width, so u * u + 2 * u * v + v * v is its square."""
    for cells in (1, 2, 7, None):
        bounds = Bounds(groups=1, rows=4, neighbors=Neighbors.ADD_REMOVE)
        assert joint_sensitivity(100**2, 3, cells, bounds).l1 == 4 * 100**2
        assert joint_sensitivity(100**2, 3, cells, replace(bounds, neighbors=Neighbors.REPLACE)).l1 == 2 * 4 * 100**2
    assert {u * u + 2 * u * (100 - u) + (100 - u) ** 2 for u in range(101)} == {100**2}


def test_a_pair_costs_its_rows_times_its_width_in_any_number_of_cells() -> None:
    """The rule, and the witness for a replaced unit: from the lowest to the highest value, in one cell."""
    for cells in (1, 2, 7, None):
        bounds = Bounds(groups=1, rows=4, neighbors=Neighbors.ADD_REMOVE)
        assert joint_sensitivity(100, 2, cells, bounds).l1 == 4 * 100
        assert joint_sensitivity(100, 2, cells, replace(bounds, neighbors=Neighbors.REPLACE)).l1 == 2 * 4 * 100
    low, high = (0, 400), (400, 0)
    assert sum(abs(a - b) for a, b in zip(low, high, strict=True)) == 800


def test_rows_in_all_only_ever_tighten() -> None:
    """Many cells, and limits beyond what can be enumerated."""
    for neighbors, groups, rows in itertools.product(Neighbors, (1, 5, 12), (1, 3, 10)):
        wide = sensitivity(-3, 7, 100, Bounds(groups=groups, rows=rows, neighbors=neighbors))
        before = sensitivity(-3, 7, 100, Bounds(groups=1, rows=1, in_all=1, neighbors=neighbors))
        for in_all in range(1, groups * rows + 3):
            tight = sensitivity(-3, 7, 100, Bounds(groups=groups, rows=rows, in_all=in_all, neighbors=neighbors))
            for part in ("l1", "l2_squared", "linf", "touched"):
                assert getattr(before, part) <= getattr(tight, part) <= getattr(wide, part)
            before = tight
        assert before == wide


@pytest.mark.parametrize(("in_all", "binding"), [(None, False), (1, True), (9, True), (14, True), (15, False)])
def test_rows_in_all_bind_below_all_that_groups_and_rows_leave(in_all: int | None, binding: bool) -> None:
    assert Bounds(groups=3, rows=5, in_all=in_all, neighbors=Neighbors.REPLACE).binding is binding


def test_forgetting_the_rest_is_caught() -> None:
    """A planted bug: of 5 rows in cells of 2, only the full cells counted."""
    units = list(vectors(0, 1, 3, 3, 2, 5))
    assert largest(units).l2_squared == 2 * 2**2 + 1 > (5 // 2) * 2**2


def test_a_number_that_is_always_0_is_still_paid_for() -> None:
    for neighbors in Neighbors:
        bounds = Bounds(groups=2, rows=3, neighbors=neighbors)
        assert sensitivity(0, 0, 5, bounds) == sensitivity(0, 1, 5, bounds)


def test_forgetting_to_replace_is_caught() -> None:
    """A planted bug: the add-remove bound used under replace is too small for a unit that changes its group."""
    units = list(vectors(0, 1, 2, 1, 1))
    swaps = [tuple(a - b for a, b in zip(one, other, strict=True)) for one in units for other in units]
    assert largest(swaps).l1 > sensitivity(0, 1, 2, Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE)).l1


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
            assert sensitivity(most - width, most, cells, bounds) == expected
            if cells >= 2 * groups:  # as many as there can be
                assert sensitivity(most - width, most, None, bounds) == expected
