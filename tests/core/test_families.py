"""Quantiles one inside the other: how far one unit moves a level, and the exact law of all that is chosen."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction as F
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.fit import FALSE_ALARM, p_value
from support.refusals import raises_code

from privet import recheck
from privet.core.expression import Column
from privet.core.families import Moves, family_for, level_sensitivity, levels_of, middle, nodes, off_by
from privet.core.laws import Choices
from privet.core.measures import Measure, Role
from privet.core.parts import Gauge, Setting, priced
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError, RefusedQueryError
from privet.noise import nested, ranked
from privet.noise.entropy import Bits
from privet.noise.nested import Piece, choose_nested
from privet.noise.ranked import Stretches

QUARTERS = (F(1, 4), F(1, 2), F(3, 4))
UNEVEN = (F(1, 10), F(1, 3), F(1, 2), F(9, 10), F(99, 100))
ORDERS = (1.5, 2, 7)
Transcript = tuple[int, ...]  # values with their places
WITNESSED = 0.33  # of a price, on three values and few rows


def family(shares: tuple[F, ...] = QUARTERS, high: int = 2) -> Measure:
    first = shares[middle(shares)]
    return Measure(role=Role.QUANTILE, value=Column("x"), low=0, high=high, quantile=first, quantiles=shares)


# ---- which share of its piece each one seeks


def test_each_seeks_its_share_between_those_that_were_chosen_before() -> None:
    assert [(node.level, node.sought) for node in nodes(QUARTERS)] == [(0, F(1, 2)), (1, F(1, 2)), (1, F(1, 2))]
    found = {(node.level, node.sought) for node in nodes(UNEVEN)}
    assert found == {(0, F(1, 2)), (1, F(1, 5)), (2, F(7, 12)), (1, F(4, 5)), (2, F(9, 10))}
    assert [level.far for level in levels_of(UNEVEN)] == [F(1, 2), F(4, 5), F(9, 10)]


@pytest.mark.parametrize("shares", [QUARTERS, UNEVEN, tuple(F(n, 20) for n in range(1, 20)), (F(1, 3),)])
def test_errors_are_inherited_as_ranks_are_interpolated(shares: tuple[F, ...]) -> None:
    """Off by one row at one earlier choice: the rank that is sought inside moves by the stated part of a row."""

    def ranks(part: Sequence[F], low: F, high: F) -> Iterator[tuple[F, F]]:
        if part:
            at = middle(tuple(part))
            sought = (part[at] - low) / (high - low)
            rank = at_rank[low] + sought * (at_rank[high] - at_rank[low])
            yield part[at], rank
            at_rank[part[at]] = rank + (part[at] == wrong)
            yield from ranks(part[:at], low, part[at])
            yield from ranks(part[at + 1 :], part[at], high)

    for wrong in shares:
        at_rank = {F(0): F(0), F(1): F(1000)}
        moved = {share: rank - share * 1000 for share, rank in ranks(shares, F(0), F(1))}
        stated = {}
        for share, node in zip(order(shares), nodes(shares), strict=True):
            stated[share] = math.fsum(part for (_, earlier), part in node.inherited.items() if earlier == wrong)
        assert {share: float(off) for share, off in moved.items()} == pytest.approx(stated)


def order(shares: tuple[F, ...]) -> Iterator[F]:
    """As `nodes` lists them."""
    if shares:
        at = middle(shares)
        yield shares[at]
        yield from order(shares[:at])
        yield from order(shares[at + 1 :])


# ---- how far one unit moves a level


@cache
def moves(sought: F, gone: int, come: int) -> int:
    """The most that the loss of a candidate moves in one piece, in parts of a row: by the definition. What counts of a
    row is whether it is below the candidate, on it or above it."""

    def loss(rows: tuple[int, ...]) -> int:
        target = sought.numerator * len(rows)
        below, upto = sum(x < 1 for x in rows), sum(x <= 1 for x in rows)
        return max(sought.denominator * below - target, target - sought.denominator * upto)

    def lists(most: int) -> Iterator[tuple[int, ...]]:
        return itertools.combinations_with_replacement((0, 1, 2), most)

    return max(
        abs(loss(others + old) - loss(others + new))
        for n in range(6)
        for others in lists(n)
        for old in lists(gone)
        for new in lists(come)
    )


@pytest.mark.parametrize("neighbors", list(Neighbors))
@pytest.mark.parametrize("sought", [F(1, 2), F(2, 3), F(4, 5)])
def test_reach_of_a_level_is_attained(sought: F, neighbors: Neighbors) -> None:
    """Equality: of all ways in which the rows of a unit, and of the one that replaces it, lie in cells and pieces."""
    for level, cells, groups, rows, in_all in itertools.product((0, 1), (1, 2), (1, 2), (1, 2), (None, 1, 3)):
        pieces = 1 if level == 0 else 2
        limit = in_all or groups * rows
        units = []
        for unit in itertools.product(range(rows + 1), repeat=cells * pieces):
            of_cells = [sum(unit[pieces * cell : pieces * (cell + 1)]) for cell in range(cells)]
            if max(of_cells) <= rows and sum(n > 0 for n in of_cells) <= groups and sum(unit) <= limit:
                units.append(unit)
        others = units if neighbors is Neighbors.REPLACE else [(0,) * (cells * pieces)]
        found = [[moves(sought, *pair) for pair in zip(a, b, strict=True)] for a, b in itertools.product(units, others)]
        bounds = Bounds(groups=groups, rows=rows, in_all=in_all, neighbors=neighbors)
        stated = level_sensitivity(sought, level, cells, bounds)
        assert stated.l1 == max(map(sum, found)), (level, cells, groups, rows, in_all)
        assert stated.l2_squared == max(sum(x * x for x in one) for one in found), (level, cells, groups, rows, in_all)
        assert stated.linf >= max(map(max, found))


def test_more_pieces_and_unknown_cells_move_no_further() -> None:
    for neighbors, groups, rows in itertools.product(Neighbors, (1, 3), (1, 2)):
        bounds = Bounds(groups=groups, rows=rows, neighbors=neighbors)
        most = level_sensitivity(F(2, 3), 1, None, bounds)
        every = [level_sensitivity(F(2, 3), 1, cells, bounds) for cells in range(1, 9)]
        assert (every[-1].l1, every[-1].l2_squared) == (most.l1, most.l2_squared)
        assert all(one.l1 <= most.l1 and one.l2_squared <= most.l2_squared for one in every)


# ---- the exact law of everything that is drawn


def off(rows: Sequence[int], at: int, target: F) -> F:
    """How many rows the rank of a candidate is off; below 0 if it stays where it is when rows change."""
    return max(sum(x < at for x in rows) - target, target - sum(x <= at for x in rows))


def choice(finer: Sequence[int], values: range, places: int, target: F, rate: F) -> list[float]:
    """The law of one choice: of all values with places, in order. The loss is the mean of that of both."""
    rows = [x // places for x in finer]
    losses = [
        (off(rows, spot // places, target) + off(finer, spot, target)) / 2
        for spot in range(places * values.start, places * values.stop)
    ]
    weights = [math.exp(-float(rate * (one - min(losses)))) for one in losses]
    return [weight / math.fsum(weights) for weight in weights]


@cache
def placed(rows: tuple[int, ...], places: int) -> dict[tuple[int, ...], float]:
    """Row by row on the finer grid: each draws its place by itself. With the probability of each outcome."""
    found = Counter[tuple[int, ...]]()
    for drawn in itertools.product(range(places), repeat=len(rows)):
        found[tuple(sorted(places * x + place for x, place in zip(rows, drawn, strict=True)))] += 1
    return {finer: n / places ** len(rows) for finer, n in found.items()}


@cache
def transcripts(
    rows: tuple[int, ...], ends: tuple[int, int], shares: tuple[F, ...], rates: tuple[F, ...], *, places: int = 2,
    around: tuple[F, F] = (F(0), F(1))
) -> dict[Transcript, float]:  # fmt: skip
    """Each value with its place, in the order in which they are chosen; rows are ascending values, one by one."""
    if not shares:
        return {(): 1.0}
    at, found = middle(shares), Counter[Transcript]()
    target = (shares[at] - around[0]) / (around[1] - around[0]) * len(rows)
    values = range(ends[0], ends[1] + 1)
    for finer, chance in placed(rows, places).items():
        for spot, p in enumerate(choice(finer, values, places, target, rates[0]), places * ends[0]):
            left = tuple(x // places for x in finer if x < spot)
            right = tuple(x // places for x in finer if x >= spot)
            v = spot // places
            between = ((around[0], shares[at]), (shares[at], around[1]))
            of_left = transcripts(left, (ends[0], v), shares[:at], rates[1:], places=places, around=between[0])
            of_right = transcripts(right, (v, ends[1]), shares[at + 1 :], rates[1:], places=places, around=between[1])
            for (a, x), (b, y) in itertools.product(of_left.items(), of_right.items()):
                found[spot, *a, *b] += chance * p * x * y
    return dict(found)


def divergences(p: dict[Transcript, float], q: dict[Transcript, float]) -> tuple[float, float]:
    """The largest log ratio, and the rho of zCDP that Renyi divergences of some orders ask for, from p to q."""
    assert p.keys() == q.keys()
    renyi = (
        math.log(math.fsum(p[x] * (p[x] / q[x]) ** (order_ - 1) for x in p)) / (order_ - 1) / order_
        for order_ in ORDERS
    )
    return max(math.log(p[one] / q[one]) for one in p), max(renyi)


def lists(most: int) -> list[list[tuple[int, ...]]]:
    """All rows on three values: none, one, two, ..."""
    return [list(itertools.combinations_with_replacement(range(3), n)) for n in range(most + 1)]


@pytest.mark.parametrize("gauge", list(Gauge))
@pytest.mark.parametrize("relation", list(Neighbors))
@pytest.mark.parametrize(
    ("shares", "groups", "rows", "in_all"),
    [(QUARTERS, 2, 1, None), ((F(1, 3), F(9, 10)), 2, 2, 3)],
)
def test_neighbors_are_told_apart_no_better_than_was_paid_for(  # noqa: PLR0917  a table of settings
    shares: tuple[F, ...], groups: int, rows: int, in_all: int | None, relation: Neighbors, gauge: Gauge
) -> None:
    """People with rows in two groups, ties and empty groups included: of all ways in which their rows lie there, the
    worst pairs of tables of each group, together. The gate says what that costs."""
    cells, bounds = 2, Bounds(groups=groups, rows=rows, in_all=in_all, neighbors=relation)
    amount = F(12) if gauge is Gauge.EPSILON else F(2)
    law, paid = family_for(family(shares), amount, Moves(shares, cells, bounds, gauge is Gauge.EPSILON))
    part = {
        "role": "quantile", "groups": groups, "rows": rows, "in_all": in_all, "cells": cells, "low": 0, "high": 2,
        "quantile": list(map(str, shares)), "threshold": None,
        "law": {"name": "nested", "rates": list(map(str, law.rates))},
    }  # fmt: skip
    cost = {"epsilon": str(paid.epsilon), "delta": "0", "rho": str(paid.rho), "rho_delta": "0"}
    checked = recheck.recheck({"neighbors": relation.value, "parts": [part], "cost": cost})
    assert not checked.problems
    assert (checked.price.epsilon if gauge is Gauge.EPSILON else paid.rho) == amount

    @cache
    def worst(gone: int, come: int) -> tuple[float, float]:
        """Of one group."""
        others, found = itertools.chain(*lists(3)), [(0.0, 0.0)]
        for o, a, b in itertools.product(others, lists(rows)[gone], lists(rows)[come]):
            pair = (transcripts(tuple(sorted(o + one)), (0, 2), shares, law.rates) for one in (a, b))
            found.append(divergences(*pair))
        return max(ratio for ratio, _ in found), max(rho for _, rho in found)

    limit = in_all or groups * rows
    units = [
        unit
        for unit in itertools.product(range(rows + 1), repeat=cells)
        if sum(map(bool, unit)) <= groups and sum(unit) <= limit
    ]
    others = units if relation is Neighbors.REPLACE else [(0,) * cells]
    ways = [*itertools.product(units, others), *itertools.product(others, units)]
    ratio, rho = (max(sum(worst(*pair)[which] for pair in zip(*way, strict=True)) for way in ways) for which in (0, 1))
    assert ratio <= float(checked.price.epsilon or 0) * (1 + 1e-9)
    assert rho <= float(checked.price.rho or 0) * (1 + 1e-9)
    if gauge is Gauge.EPSILON:  # not much of it could be spared
        assert ratio > WITNESSED * amount


def test_a_level_that_is_not_paid_for_is_caught() -> None:
    """A planted bug: the second level as if it were part of the first one."""
    bounds = Bounds(groups=1, rows=1, neighbors=Neighbors.REPLACE)
    law, price = family_for(family(), F(3), Moves(QUARTERS, 1, bounds, pure=True))
    planted = (law.rates[0], 4 * law.rates[1])
    p, q = (transcripts(rows, (0, 2), QUARTERS, planted) for rows in ((0, 0, 1, 2), (0, 1, 2, 2)))
    assert divergences(p, q)[0] > float(price.epsilon or 0)


ROWS = (0, 1, 1, 1, 1, 2, 2, 3)
ARRAYS = np.array([0, 1, 2, 3]), np.array([1, 4, 2, 1])


@pytest.mark.parametrize("reach", [ranked.REACH, 0])
def test_what_is_drawn_has_this_law(reach: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """1,500 draws with half of the rows tied. False alarms 1e-9; where ties all go to one side is rejected. With a
    reach of 0 nothing but the nearest values is looked at first, and the law is another one: that is noticed, too."""
    monkeypatch.setattr(nested, "PLACES", 2)
    monkeypatch.setattr(nested, "REACH", reach)
    law = Choices(F(1, 2), rates=(F(1, 3), F(1, 2)))
    found = Counter(tuple(choose_nested(Piece(*ARRAYS, 0, 3), QUARTERS, law)) for _ in range(1_500))

    def of_values(places: int) -> Counter[tuple[int, ...]]:
        exact = Counter[tuple[int, ...]]()
        for (mid, low, high), p in transcripts(ROWS, (0, 3), QUARTERS, law.rates, places=places).items():
            exact[low // places, mid // places, high // places] += p
        return exact

    exact, one_side = of_values(2), of_values(1)
    assert found.keys() <= exact.keys()
    seen = [found[one] for one in exact]
    assert (p_value(seen, [exact[one] for one in exact]) > FALSE_ALARM) == (reach > 0)
    assert p_value(seen, [one_side[one] + 1e-12 for one in exact]) < FALSE_ALARM


@pytest.mark.parametrize("reach", [0, 1, 4])
@pytest.mark.parametrize("sought", [F(1, 9), F(1, 2), F(6, 7)])
def test_only_what_weighs_nothing_is_left_out(reach: int, sought: F, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stretches near the target are those of the whole, in one piece, and all others are further than the reach."""
    seen = []

    def watched(near: Stretches, whole: Callable[[], Stretches], *_: object, left_out: bool) -> int:
        every = whole()
        start = every.best - near.best
        stop = start + len(near.sizes)
        assert (np.diff(every.losses[: every.best + 1]) <= 0).all()
        assert (np.diff(every.losses[every.best :]) >= 0).all()
        assert left_out == (start > 0)
        for name in ("starts", "sizes", "losses"):
            assert getattr(near, name).tolist() == getattr(every, name)[start:stop].tolist()
        others = np.delete(every.losses, np.arange(len(every.losses))[start:stop])
        assert (others > 2 * reach * 2 * sought.denominator).all()  # two losses, at half the rate
        seen.append((start > 0, stop < len(every.sizes)))
        return int(near.starts[near.best])

    monkeypatch.setattr(nested, "PLACES", 4)
    monkeypatch.setattr(nested, "REACH", reach)
    monkeypatch.setattr(nested, "choose_near", watched)
    for counts in ([1] * 60, [1, 9, 1] * 9, [50, 1], [1, 50], [3], [9, 9, 9, 90, 9, 9]):
        values = 3 * np.arange(len(counts))
        piece = Piece(values, np.array(counts), -2, 3 * len(counts) + 2)
        chosen, tied_left = nested._choose(piece, sought, F(1, 2), nested.KEYSTREAM)
        before = sum(n for x, n in zip(values.tolist(), counts, strict=True) if x < chosen) + tied_left
        assert abs(before - sought * sum(counts)) <= max(counts)
    assert len(set(seen)) > 1


@pytest.mark.parametrize(("high", "shares"), [(2**46, QUARTERS), (9, (F(1, 2), F(2**22 + 1, 2**23)))])
@pytest.mark.parametrize("rows", [0, 5])
def test_numbers_beyond_64_bits_are_refused_whatever_the_rows_are(high: int, shares: tuple[F, ...], rows: int) -> None:
    piece = Piece(np.full(min(rows, 1), 3), np.full(min(rows, 1), rows), 0, high)
    with raises_code(InvalidInputError, "out-of-range"):
        nested.choose_nested(piece, shares, Choices(F(1, 4), rates=(F(1), F(1))))


class Constant:
    """A source of 20 equal words; from then on all bits are 0."""

    epoch = 0

    def __init__(self, word: int) -> None:
        self.words = [word] * 20

    def fill(self, out: np.ndarray) -> None:
        out[:] = self.words.pop() if self.words else 0


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_a_draw_below_what_floats_know_looks_at_all_rows(word: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """U = 0 draws the first candidate, however little it weighs, and one just below 1 the last one."""
    looked = []
    real = nested.choose_near

    def watched(near: Stretches, whole: Callable[[], Stretches], rate: F, _: Bits, **rest: Any) -> int:
        def all_of_them() -> Stretches:
            looked.append(True)
            return whole()

        return real(near, all_of_them, rate, Bits(Constant(word)), **rest)

    monkeypatch.setattr(nested, "choose_near", watched)
    piece = Piece(np.arange(100, 300), np.ones(200, np.int64), 0, 400)
    (chosen,) = choose_nested(piece, (F(1, 2),), Choices(F(5), rates=(F(5),)))
    assert looked
    assert chosen >= 299 if word else chosen == 0


def test_a_sharp_choice_finds_the_quantiles_whatever_is_tied() -> None:
    """At a rate at which another value comes once in e**100 draws; 60 % of the rows have one value."""
    shares = tuple(F(n, 10) for n in range(1, 10))
    law = Choices(F(500), rates=(F(500),) * 4)
    values, counts = np.array([0, 5, 9, 700]), np.array([6_000, 2_000, 1_500, 500])
    chosen = choose_nested(Piece(values, counts, 0, 1000), shares, law)
    assert chosen[:5] == [0] * 5
    assert chosen[6] == 5
    assert chosen[8] == 9  # the others lie between two values


def test_rows_draw_their_places_alike_however_many_are_tied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows of a value are listed, many are counted, in one go or in several. False alarms 1e-9."""
    monkeypatch.setattr(nested, "PLACES", 4)
    values, counts = np.array([2, 4, 7]), np.array([3, 4_000, 1])
    for at_a_time in (300, 1 << 22):
        monkeypatch.setattr(nested, "ROWS_AT_A_TIME", at_a_time)
        fine, each = nested._finer(Piece(values, counts, 1, 9), slice(0, 3), nested.KEYSTREAM)
        assert (np.diff(fine) > 0).all()
        assert [int(each[fine // 4 == value - 1].sum()) for value in (2, 4, 7)] == [3, 4_000, 1]
        assert p_value(each[fine // 4 == 3].tolist(), [0.25] * 4) > FALSE_ALARM


def test_cut_rows_are_all_there_and_on_their_side() -> None:
    values, counts = np.array([2, 4, 7]), np.array([3, 5, 2])
    for chosen in range(10):
        tied = dict(zip(values.tolist(), counts.tolist(), strict=True)).get(chosen, 0)
        for tied_left in range(tied + 1):
            left, right = nested._cut(Piece(values, counts, 0, 9), chosen, tied_left)
            assert (left.low, left.high, right.low, right.high) == (0, chosen, chosen, 9)
            together = Counter(dict(zip(left.values.tolist(), left.counts.tolist(), strict=True)))
            together.update(dict(zip(right.values.tolist(), right.counts.tolist(), strict=True)))
            assert together == {2: 3, 4: 5, 7: 2}
            assert left.counts.tolist() == [] or (left.values[-1] <= chosen and left.counts.min() > 0)
            assert right.counts.tolist() == [] or (right.values[0] >= chosen and right.counts.min() > 0)
            assert int(left.counts[left.values == chosen].sum()) == tied_left


# ---- prices and errors


@pytest.mark.parametrize("pure", [True, False])
def test_all_choices_are_paid(pure: bool) -> None:
    for shares, high, neighbors in itertools.product((QUARTERS, UNEVEN), (100, 10**6), Neighbors):
        bounds = Bounds(groups=2, rows=3, neighbors=neighbors)
        moves_ = Moves(shares, 5, bounds, pure)
        law, price = family_for(family(shares, high), F(1, 3), moves_)
        assert len(law.rates) == len(levels_of(shares))
        moved = [moves_.of(level) for level in range(len(law.rates))]
        assert price.epsilon == sum(2 * rate * l1 for rate, (l1, _) in zip(law.rates, moved, strict=True))
        rho = sum(rate**2 * squared / 2 for rate, (_, squared) in zip(law.rates, moved, strict=True))
        if pure:
            assert (price.epsilon, price.rho) == (F(1, 3), rho)
        else:
            assert F(999_999, 10**6) * F(1, 3) < rho <= price.rho == F(1, 3)
        assert not law.flip


def test_ranks_are_off_by_no_more_than_said() -> None:
    """A gap at each quantile, so that a choice is off by as much as it can be: 100 draws."""
    shares = tuple(F(n, 8) for n in range(1, 8))
    measure = family(shares, 10**6)
    law, _ = family_for(measure, F(1), Moves(shares, 1, Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE), True))
    values = np.arange(8) * 140_000
    counts = np.full(8, 1_000)
    most = off_by(measure, law, F(95, 100))
    wrong = 0
    for _ in range(100):
        for share, v in zip(shares, choose_nested(Piece(values, counts, 0, 10**6), shares, law), strict=True):
            below, upto = (int(counts[values < v].sum()), int(counts[values <= v].sum()))
            wrong += max(below - share * 8_000, share * 8_000 - upto) > most
    assert wrong == 0  # 5 % of 700 are allowed; the bound counts errors as if all were on one side


def test_a_rate_too_small_for_the_sampler_is_refused() -> None:
    setting = Setting(cells=1, bounds=Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE))
    with pytest.raises(RefusedQueryError):
        priced([family(QUARTERS, 10**6)], setting, Gauge.EPSILON, [F(1, 10**15)])
    assert priced([family(QUARTERS, 10**6)], setting, Gauge.EPSILON, [F(1, 10**9)])
