"""Quantiles one inside the other: how far one unit moves a level, and the exact law of all that is chosen."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction as F
from functools import cache

import numpy as np
import pytest
from support.fit import FALSE_ALARM, p_value
from support.plain_statistics import flip_law

from privet.core.expression import Column
from privet.core.families import Moves, family_for, level_sensitivity, levels_of, middle, nodes, off_by
from privet.core.laws import Choice, Choices
from privet.core.measures import Measure, Role
from privet.core.parts import Gauge, Setting, priced
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.errors import RefusedQueryError
from privet.noise import nested
from privet.noise.nested import Piece, choose_nested

QUARTERS = (F(1, 4), F(1, 2), F(3, 4))
UNEVEN = (F(1, 10), F(1, 3), F(1, 2), F(9, 10), F(99, 100))
ORDERS = (1.5, 2, 7)
Transcript = tuple[tuple[int, int | None], ...]


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


def choice(rows: Counter[int], ends: tuple[int, int], target: F, law: Choice) -> list[float]:
    """The law of one choice among ends[0] ... ends[1] for a loss in rows."""
    every = range(ends[0], ends[1] + 1)
    below = [sum(n for x, n in rows.items() if x < v) for v in every]
    upto = [sum(n for x, n in rows.items() if x <= v) for v in every]
    losses = [float(max(low - target, target - up)) for low, up in zip(below, upto, strict=True)]
    weights = [math.exp(-float(law.rate) * (one - min(losses))) for one in losses]
    return flip_law(weights) if law.flip else [weight / math.fsum(weights) for weight in weights]


def transcripts(
    rows: tuple[tuple[int, int], ...], ends: tuple[int, int], shares: tuple[F, ...], law: Choices, *, places: int,
    around: tuple[F, F] = (F(0), F(1))
) -> dict[Transcript, float]:  # fmt: skip
    """Each value and each place where ties are cut, with their probability; rows are (value, how many)."""
    if not shares:
        return {(): 1.0}
    at = middle(shares)
    sought = (shares[at] - around[0]) / (around[1] - around[0])
    counted = Counter(dict(rows))
    target, found = sought * counted.total(), Counter[Transcript]()
    chances = choice(counted, ends, target, Choice(law.rates[0], law.flip))
    for v, p in zip(range(ends[0], ends[1] + 1), chances, strict=True):
        if len(shares) == 1:
            found[((v, None),)] += p
            continue
        before = sum(n for x, n in rows if x < v)
        for taken, chance in placed(counted[v], places):
            tied = Counter(dict(enumerate(taken)))
            cuts = choice(tied, (0, places - 1), target - before, Choice(law.ties[0]))
            for cut, q in enumerate(cuts):
                left = {x: n for x, n in rows if x < v} | {v: sum(taken[:cut])}
                right = {x: n for x, n in rows if x > v} | {v: sum(taken[cut:])}
                deeper = Choices(F(1), law.flip, law.rates[1:], law.ties[1:])
                sides = [
                    transcripts(tuple(sorted(side.items())), its, part, deeper, places=places, around=between)
                    for side, its, part, between in (
                        (left, (ends[0], v), shares[:at], (around[0], shares[at])),
                        (right, (v, ends[1]), shares[at + 1 :], (shares[at], around[1])),
                    )
                ]
                for (a, x), (b, y) in itertools.product(sides[0].items(), sides[1].items()):
                    found[((v, cut), *a, *b)] += p * chance * q * x * y
    return found


def placed(rows: int, places: int) -> list[tuple[tuple[int, ...], float]]:
    """How many of so many rows draw each place, each row for itself."""
    found = Counter[tuple[int, ...]]()
    for drawn in itertools.product(range(places), repeat=rows):
        found[tuple(drawn.count(place) for place in range(places))] += 1
    return [(taken, n / places**rows) for taken, n in found.items()]


def tables(most: int, values: int = 3) -> list[Counter[int]]:
    return [Counter(c) for n in range(most + 1) for c in itertools.combinations_with_replacement(range(values), n)]


def neighboring(rows: int, most: int, relation: Neighbors) -> Iterator[tuple[Counter[int], Counter[int]]]:
    for others in tables(most):
        for a, b in itertools.combinations(tables(rows), 2):
            if relation is Neighbors.REPLACE or not a:
                yield others + a, others + b


@pytest.mark.parametrize("gauge", list(Gauge))
@pytest.mark.parametrize("relation", list(Neighbors))
@pytest.mark.parametrize(("shares", "rows"), [(QUARTERS, 1), ((F(1, 3), F(9, 10)), 2)])
def test_neighbors_are_told_apart_no_better_than_was_paid_for(
    shares: tuple[F, ...], rows: int, relation: Neighbors, gauge: Gauge
) -> None:
    """All neighbors of a few rows on three values, ties and empty tables included: each transcript, and Renyi."""
    bounds = Bounds(groups=1, rows=rows, neighbors=relation)
    amount = F(3) if gauge is Gauge.EPSILON else F(1, 2)
    law, price = family_for(family(shares), amount, Moves(shares, 1, bounds, gauge is Gauge.EPSILON))
    assert (price.epsilon if gauge is Gauge.EPSILON else price.rho) == amount
    assert law.flip == (gauge is Gauge.EPSILON)
    assert price.epsilon is not None and price.rho is not None  # noqa: PT018
    laws: dict[tuple[tuple[int, int], ...], dict[Transcript, float]] = {}
    worst = 0.0
    for pair in neighboring(rows, 3, relation):
        p, q = (
            laws.setdefault(key, transcripts(key, (0, 2), shares, law, places=2))
            for key in (tuple(sorted(table.items())) for table in pair)
        )
        assert p.keys() == q.keys()
        ratio = max(abs(math.log(p[one] / q[one])) for one in p)
        assert ratio <= float(price.epsilon) * (1 + 1e-9)
        worst = max(worst, ratio)
        for a, b in ((p, q), (q, p)):
            for order_ in ORDERS:
                divergence = math.log(math.fsum(a[x] * (a[x] / b[x]) ** (order_ - 1) for x in a)) / (order_ - 1)
                assert divergence <= order_ * float(price.rho) * (1 + 1e-9)
    if shares == QUARTERS and gauge is Gauge.EPSILON:  # all levels and the ties at once: nothing of it could be spared
        assert worst > 0.84 * float(price.epsilon)


def test_a_level_that_is_not_paid_for_is_caught() -> None:
    """A planted bug: the second level as if it were part of the first one."""
    bounds = Bounds(groups=1, rows=1, neighbors=Neighbors.REPLACE)
    law, price = family_for(family(), F(3), Moves(QUARTERS, 1, bounds, pure=True))
    planted = Choices(law.rate, law.flip, (law.rates[0], 4 * law.rates[1]), law.ties)
    p, q = (
        transcripts(tuple(sorted(Counter(rows).items())), (0, 2), QUARTERS, planted, places=2)
        for rows in ((0, 0, 1, 2), (0, 1, 2, 2))
    )
    assert max(abs(math.log(p[one] / q[one])) for one in p) > float(price.epsilon or 0)


@pytest.mark.parametrize("flip", [True, False])
def test_what_is_drawn_has_this_law(flip: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """6,000 draws with half of the rows tied. False alarms 1e-9; where ties all go to one side is rejected."""
    monkeypatch.setattr(nested, "PLACES", 4)
    law = Choices(F(1, 2), flip, (F(1, 3), F(1, 2)), (F(1, 4),))
    rows = ((0, 1), (1, 4), (2, 2), (3, 1))
    values, counts = np.array([0, 1, 2, 3]), np.array([1, 4, 2, 1])
    found = Counter(tuple(choose_nested(Piece(values, counts, 0, 3), QUARTERS, law)) for _ in range(6_000))

    def of_values(places: int) -> Counter[tuple[int, ...]]:
        exact = Counter[tuple[int, ...]]()
        for one, p in transcripts(rows, (0, 3), QUARTERS, law, places=places).items():
            (middle_, _), (low, _), (high, _) = one
            exact[low, middle_, high] += p
        return exact

    exact, one_side = of_values(4), of_values(1)
    assert found.keys() <= exact.keys()
    seen = [found[one] for one in exact]
    assert p_value(seen, [exact[one] for one in exact]) > FALSE_ALARM
    assert p_value(seen, [one_side[one] + 1e-12 for one in exact]) < FALSE_ALARM


def test_a_sharp_choice_finds_the_quantiles_whatever_is_tied() -> None:
    """At a rate at which another value comes once in e**100 draws; 60 % of the rows have one value."""
    shares = tuple(F(n, 10) for n in range(1, 10))
    law = Choices(F(500), False, (F(500),) * 4, (F(500),) * 3)
    values, counts = np.array([0, 5, 9, 700]), np.array([6_000, 2_000, 1_500, 500])
    chosen = choose_nested(Piece(values, counts, 0, 1000), shares, law)
    assert chosen[:5] == [0] * 5
    assert chosen[6] == 5
    assert chosen[8] == 9  # the others lie between two values


def test_cut_rows_are_all_there_and_on_their_side(monkeypatch: pytest.MonkeyPatch) -> None:
    values, counts = np.array([2, 4, 7]), np.array([3, 5, 2])
    loss = nested.RankLoss(low=0, high=9, unit=2, target=10)
    seen = set()
    for chosen, rate in itertools.product(range(10), (F(1, 10**9), F(50))):
        for at_a_time in (3, 1 << 22):
            monkeypatch.setattr(nested, "ROWS_AT_A_TIME", at_a_time)
            left, right = nested._cut(Piece(values, counts, 0, 9), chosen, loss, Choice(rate), nested.KEYSTREAM)
            assert (left.low, left.high, right.low, right.high) == (0, chosen, chosen, 9)
            together = Counter(dict(zip(left.values.tolist(), left.counts.tolist(), strict=True)))
            together.update(dict(zip(right.values.tolist(), right.counts.tolist(), strict=True)))
            assert together == {2: 3, 4: 5, 7: 2}
            assert left.counts.tolist() == [] or (left.values[-1] <= chosen and left.counts.min() > 0)
            assert right.counts.tolist() == [] or (right.values[0] >= chosen and right.counts.min() > 0)
            if chosen == 4 and rate == 50:
                seen.add(int(left.counts.sum()))
    assert seen == {5}  # half of the rows


# ---- prices and errors


@pytest.mark.parametrize("pure", [True, False])
def test_all_choices_are_paid(pure: bool) -> None:
    for shares, high, neighbors in itertools.product((QUARTERS, UNEVEN), (100, 10**6), Neighbors):
        bounds = Bounds(groups=2, rows=3, neighbors=neighbors)
        moves_ = Moves(shares, 5, bounds, pure)
        law, price = family_for(family(shares, high), F(1, 3), moves_)
        assert len(law.rates) == len(law.ties) + 1 == len(levels_of(shares))
        l1 = [moves_.of(level)[0] for level in range(len(law.rates))]
        squares = [moves_.of(level)[1] for level in range(len(law.rates))]
        ties = list(zip(law.ties, l1, squares, strict=False))
        epsilon = sum(2 * rate * far for rate, far in zip(law.rates, l1, strict=True))
        assert price.epsilon == epsilon + sum(2 * rate * far for rate, far, _ in ties)
        flips = 2 if law.flip else F(1, 2)
        rho = sum(flips * rate**2 * square for rate, square in zip(law.rates, squares, strict=True))
        rho += sum(rate**2 * square / 2 for rate, _, square in ties)
        if pure:
            assert (price.epsilon, price.rho) == (F(1, 3), rho)
        else:
            assert F(999_999, 10**6) * F(1, 3) < rho <= price.rho == F(1, 3)
        assert law.flip == (pure and high == 100)


def test_ranks_are_off_by_no_more_than_said() -> None:
    """A gap at each quantile, so that a choice is off by as much as it can be: 400 tables and as many draws."""
    shares = tuple(F(n, 8) for n in range(1, 8))
    measure = family(shares, 10**6)
    law, _ = family_for(measure, F(1), Moves(shares, 1, Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE), True))
    values = np.arange(8) * 140_000
    counts = np.full(8, 1_000)
    most = off_by(measure, law, F(95, 100))
    wrong = 0
    for _ in range(400):
        for share, v in zip(shares, choose_nested(Piece(values, counts, 0, 10**6), shares, law), strict=True):
            below, upto = (int(counts[values < v].sum()), int(counts[values <= v].sum()))
            wrong += max(below - share * 8_000, share * 8_000 - upto) > most
    assert wrong == 0  # 5 % of 2,800 are allowed; the bound counts errors as if all were on one side


def test_a_rate_too_small_for_the_sampler_is_refused() -> None:
    setting = Setting(cells=1, bounds=Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE))
    with pytest.raises(RefusedQueryError):
        priced([family(QUARTERS, 10**6)], setting, Gauge.EPSILON, [F(1, 10**15)])
    assert priced([family(QUARTERS, 10**6)], setting, Gauge.EPSILON, [F(1, 10**9)])
