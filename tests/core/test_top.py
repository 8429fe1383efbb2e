"""Cells chosen by their scores: every unit of a small world, the exact law of all rounds, and what a choice costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction as F
from functools import cache

import pytest
from support.plain_statistics import top_law

from privet import recheck
from privet.core.laws import Top
from privet.core.measures import Measure, Role
from privet.core.sensitivity import Bounds, sensitivity
from privet.core.top import apart, compared, top_for, top_for_rho
from privet.core.unit import Neighbors

ORDERS = (1.001, 1.5, 2, 3, 7, 20, 100)
RANGES = [(0, 1), (0, 3), (-1, 2), (-3, 1), (1, 2), (-2, -1), (-2, 2), (0, 0)]
Vector = tuple[int, ...]


def score(low: int = 0, high: int = 1, of: Role = Role.SUM) -> Measure:
    return Measure(role=Role.TOP, score=of, value=None, low=low, high=high)


def units(low: int, high: int, cells: int, bounds: Bounds) -> set[Vector]:
    """Every vector that one unit can add, row by row; a NULL adds 0."""
    values = {0, *range(low, high + 1)}
    sums = [{sum(rows) for rows in itertools.combinations_with_replacement(values, n)} for n in range(bounds.rows + 1)]
    limit = bounds.groups * bounds.rows if bounds.in_all is None else bounds.in_all
    heaps = (n for n in itertools.product(range(bounds.rows + 1), repeat=cells) if sum(n) <= limit)
    kept = (heap for heap in heaps if sum(n > 0 for n in heap) <= bounds.groups)
    return {vector for heap in kept for vector in itertools.product(*(sums[n] for n in heap))}


def moves(known: set[Vector], relation: Neighbors) -> set[Vector]:
    """All changes from one neighbor to another one, in both directions."""
    if relation is Neighbors.REPLACE:
        return {tuple(a - b for a, b in zip(*pair, strict=True)) for pair in itertools.product(known, known)}
    return known | {tuple(-a for a in vector) for vector in known}


@pytest.mark.parametrize("relation", list(Neighbors))
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_no_unit_moves_two_cells_further_apart_and_some_unit_does(low: int, high: int, relation: Neighbors) -> None:
    """Equality; and `recheck`, which derives it by itself, says the same."""
    tried = 0
    for groups, rows, in_all, cells in itertools.product((1, 2, 3), (1, 2), (None, 1, 2, 3, 5), (2, 3)):
        bounds = Bounds(groups=groups, rows=rows, in_all=in_all, neighbors=relation)
        known = units(low, high, cells, bounds)
        if len(known) > 150:
            continue
        most = max(max(change) - min(change) for change in moves(known, relation))
        if (low, high) == (0, 0):
            assert most == 0
            most = max(max(c) - min(c) for c in moves(units(0, 1, cells, bounds), relation))  # priced as a count
        assert apart(score(low, high), bounds) == most, (bounds, cells)
        assert price_by_recheck(score(low, high), bounds, Top(F(1), 1)).epsilon == most
        tried += 1
    assert tried >= 20


def price_by_recheck(measure: Measure, bounds: Bounds, law: Top) -> recheck.Cost:
    part = {
        "role": "top", "groups": bounds.groups, "rows": 1 if measure.score is Role.PEOPLE else bounds.rows,
        "in_all": bounds.in_all, "cells": 9, "low": measure.low, "high": measure.high, "quantile": None,
        "law": {"name": "permute-and-flip" if law.flip else "exponential", "rate": str(law.rate), "rounds": law.rounds},
        "threshold": None,
    }  # fmt: skip
    cost = {"epsilon": "1", "delta": "0", "rho": "1", "rho_delta": "0"}
    found = recheck.recheck({"neighbors": bounds.neighbors.value, "parts": [part], "cost": cost})
    return found.parts[0][2]


def test_a_unit_counts_once_in_a_cell_where_units_are_counted() -> None:
    bounds = Bounds(groups=7, rows=9, neighbors=Neighbors.ADD_REMOVE)
    assert apart(score(of=Role.PEOPLE), bounds) == 1
    assert apart(score(of=Role.COUNT), bounds) == 9
    assert apart(score(-5, 7), bounds) == 9 * 12
    assert apart(score(-5, 7), Bounds(groups=1, rows=9, neighbors=Neighbors.ADD_REMOVE)) == 9 * 7


def test_groups_do_not_matter_beyond_two() -> None:
    """What the choice is for: whatever max_groups is, a round costs the same."""
    for relation, low, groups, in_all in itertools.product(Neighbors, (0, -3), (1, 2, 5), (None, 4)):
        bounds = Bounds(groups=groups, rows=3, neighbors=relation, in_all=in_all)
        assert apart(score(low, 5), compared(bounds, 9)) == apart(score(low, 5), bounds)
        assert compared(bounds, 9).groups == (1 if groups == 1 else 9)
    for relation, low in itertools.product(Neighbors, (0, -3)):
        all_of_them = {
            apart(score(low, 5), Bounds(groups=groups, rows=3, neighbors=relation)) for groups in (2, 5, 40, 10**9)
        }
        assert len(all_of_them) == 1
        many = Bounds(groups=40, rows=3, neighbors=relation)
        assert all_of_them.pop() < sensitivity(low, 5, 100, many).l1 / 10


# ---- the law of all rounds


def tables(cells: int, most: int) -> Iterator[Vector]:
    """What others add up to: only differences between cells matter."""
    return (others for others in itertools.product(range(most + 1), repeat=cells) if min(others) == 0)


def ratio(p: dict[Vector, float], q: dict[Vector, float]) -> float:
    return max(abs(math.log(p[outcome] / q[outcome])) for outcome in p)


def renyi(order: float, p: dict[Vector, float], q: dict[Vector, float]) -> float:
    return math.log(math.fsum(a * (a / q[outcome]) ** (order - 1) for outcome, a in p.items())) / (order - 1)


@pytest.mark.parametrize("relation", list(Neighbors))
@pytest.mark.parametrize(
    ("groups", "rounds", "cells", "low"), [(3, 1, 4, 0), (2, 2, 4, 0), (1, 3, 4, 0), (2, 2, 3, -1)]
)
def test_neighbors_choose_alike(groups: int, rounds: int, cells: int, low: int, relation: Neighbors) -> None:
    """Every table of a few rows and all its neighbors: each ordered outcome of all rounds, and Renyi divergences. What
    is published, the set, follows from the order."""
    bounds = Bounds(groups=groups, rows=1, neighbors=relation)
    moved = apart(score(low), bounds)
    known = units(low, 1, cells, bounds)
    law_of = cache(top_law)
    for law, price in (top_for(F(1), moved, rounds), top_for(F(6), moved, rounds), top_for_rho(F(1, 2), moved, rounds)):
        assert price.epsilon is not None
        assert price.rho is not None
        worst = 0.0
        for others, change in itertools.product(tables(cells, 1), sorted(moves(known, relation))):
            p, q = law_of(others, law), law_of(tuple(a + b for a, b in zip(others, change, strict=True)), law)
            worst = max(worst, ratio(p, q))
            for order in ORDERS:
                assert renyi(order, p, q) <= order * float(price.rho) * (1 + 1e-9) + 1e-12
        assert 0 < worst <= float(price.epsilon) * (1 + 1e-12)


@pytest.mark.parametrize("law", [Top(F(1, 3), 3, flip=True), Top(F(1, 3), 3)])
@pytest.mark.parametrize("relation", list(Neighbors))
def test_the_price_of_all_rounds_is_attained(law: Top, relation: Neighbors) -> None:
    """One cell is far ahead and goes up, those that are chosen instead go down: in every round all of it is lost. If
    units only come or go, one group is enough; half of the price does not pay."""
    bounds = Bounds(groups=1 if relation is Neighbors.ADD_REMOVE else 3, rows=2, neighbors=relation)
    price = price_by_recheck(score(of=Role.COUNT), bounds, law)
    rest = 2 if relation is Neighbors.ADD_REMOVE else 0
    p, q = top_law((200, 2, 2, 2), law), top_law((202, rest, rest, rest), law)
    lost = math.log(p[1, 2, 3] / q[1, 2, 3])
    assert price.epsilon == law.rounds * law.rate * (2 if rest else 4)
    assert float(price.epsilon) * (1 - 1e-9) < lost < float(price.epsilon) * (1 + 1e-12)
    assert ratio(p, q) == pytest.approx(lost, rel=1e-12)


def test_the_zcdp_price_is_nearly_attained() -> None:
    """At a small rate, when half of many cells go up: of each round the divergence nears order * rate**2 / 8."""
    bounds = Bounds(groups=4, rows=1, neighbors=Neighbors.ADD_REMOVE)
    for rounds, near in ((1, 0.999), (2, 0.97)):
        law, price = top_for_rho(F(1, 10**6), apart(score(of=Role.PEOPLE), bounds), rounds)
        assert price.rho is not None
        p, q = top_law((0,) * 8, law), top_law((1,) * 4 + (0,) * 4, law)
        assert near * 2 * float(price.rho) < renyi(2, p, q) <= 2 * float(price.rho) * (1 + 1e-6)


@pytest.mark.parametrize("relation", list(Neighbors))
def test_the_gate_prices_what_the_laws_were_made_for(relation: Neighbors) -> None:
    """The engine's price is what `recheck` asks for: exactly, or, where a rate was rounded down, a hair more."""
    for groups, rows, in_all, rounds in itertools.product((1, 2, 40), (1, 3), (None, 4), (1, 3, 50)):
        bounds = Bounds(groups=groups, rows=rows, in_all=in_all, neighbors=relation)
        for measure in (score(of=Role.COUNT), score(of=Role.PEOPLE), score(-4, 9), score(0, 0)):
            moved = apart(measure, bounds)
            law, price = top_for(F(1, 7), moved, rounds)
            assert law.flip
            assert price_by_recheck(measure, bounds, law) == (price.epsilon, 0, price.rho, 0)
            law, price = top_for_rho(F(1, 7), moved, rounds)
            due = price_by_recheck(measure, bounds, law)
            assert due.epsilon == price.epsilon
            assert due.rho is not None
            assert price.rho is not None
            assert price.rho * (1 - F(1, 10**9)) < due.rho <= price.rho == F(1, 7)


def test_permute_and_flip_errs_no_more() -> None:
    """At one pure price: the expected total of the chosen scores."""
    spread = (9, 7, 7, 6, 5, 2)
    for rate, rounds in itertools.product((F(1, 10), F(1, 2), F(2)), (1, 2, 3)):
        flip, other = (
            math.fsum(chance * sum(spread[place] for place in outcome) for outcome, chance in law.items())
            for law in (top_law(spread, Top(rate, rounds, flip=True)), top_law(spread, Top(rate, rounds)))
        )
        assert flip > other


def test_a_planted_price_of_half_a_round_is_found() -> None:
    """If replacing a unit were thought to cost what adding one costs, the enumeration would show it."""
    bounds = Bounds(groups=2, rows=1, neighbors=Neighbors.REPLACE)
    law, _ = top_for(F(1), apart(score(of=Role.COUNT), bounds) // 2, 1)
    assert ratio(top_law((20, 2, 0), law), top_law((19, 3, 0), law)) > 1.5
