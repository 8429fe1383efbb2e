"""Choices by rank: every table of a small world and all its neighbors, with the exact law of what is chosen."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asked import N, plan, question
from support.plain_statistics import flip_law
from support.refusals import raises_code

from privet.backends import Spread
from privet.core.expression import Column
from privet.core.laws import Choice
from privet.core.measures import End, Measure, Role
from privet.core.parts import Gauge, Setting, priced
from privet.core.plan import Aggregate, Function
from privet.core.ranks import (
    EACH_END,
    SURE,
    choice_for,
    choice_for_rho,
    rank,
    rank_sensitivity,
    root_below,
    rows_beyond,
    rows_off,
)
from privet.core.sensitivity import Bounds, Sensitivity
from privet.core.unit import Neighbors
from privet.engine import FreshNoise
from privet.errors import RefusedQueryError
from privet.estimates.estimate import lines, plain
from privet.estimates.moments import Estimate

QUANTILES = [F(1, 2), F(1, 4), F(3, 4), F(1, 3), F(4, 5)]
SHARP = Choice(F(50))  # MIN and MAX then aim one row inside
ORDERS = (1.001, 1.5, 2, 3, 7, 20, 100)


def measure(
    quantile: F | None = None, role: Role = Role.QUANTILE, low: int = 0, high: int = 3, end: End | None = None
) -> Measure:
    return Measure(role=role, value=Column("x"), low=low, high=high, quantile=quantile, end=end)


POINTS = [*map(measure, QUANTILES), measure(role=Role.MIN), measure(role=Role.MAX)]
ENDS = [
    *(measure(quantile, end=end) for quantile in (F(1, 2), F(4, 5)) for end in End),
    measure(role=Role.MIN, end=End.HIGH),
    measure(role=Role.MAX, end=End.LOW),
]
MEASURES = [*POINTS, *ENDS]
NAMES = [f"{one.role} {one.quantile or ''} {one.end or ''}" for one in MEASURES]


def loss(sought: Measure, law: Choice, rows: Counter[int], v: int) -> int:
    """The definition, with the rank that the engine asks for."""
    at = rank(sought, law, rows.total())
    rows = rows + Counter({sought.low: at.below}) + Counter({sought.high: at.above})
    below = sum(n for x, n in rows.items() if x < v)
    upto = sum(n for x, n in rows.items() if x <= v)
    return max(at.unit * below - at.target, at.target - at.unit * upto)


def tables(values: Iterable[int], most: int) -> list[Counter[int]]:
    """All of at most so many rows."""
    found = list(values)
    return [Counter(c) for n in range(most + 1) for c in itertools.combinations_with_replacement(found, n)]


def moves(sought: Measure, rows: int) -> tuple[int, int]:
    """The most that the loss of a candidate moves in one cell: when a unit comes, and when its rows change.

    What counts of a row is whether it lies below the candidate, on it or above it: three values are all there are.
    """
    units, comes, changes = tables((0, 1, 2), rows), 0, 0
    for others in tables((0, 1, 2), 5 * rows):
        with_unit = [loss(sought, SHARP, others + unit, 1) for unit in units]  # the first unit has no row
        comes = max(comes, *(abs(one - with_unit[0]) for one in with_unit))
        changes = max(changes, max(with_unit) - min(with_unit))
    return comes, changes


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("sought", MEASURES, ids=NAMES)
def test_reach_of_a_rank_is_attained(sought: Measure, rows: int) -> None:
    """Equality: cells are filled as badly as can be, and a unit is in each set of cells that it can be in."""
    comes, changes = moves(sought, rows)
    for cells, groups in itertools.product((1, 2, 3), (1, 2)):
        own = [set(c) for n in range(groups + 1) for c in itertools.combinations(range(cells), n)]
        for relation in Neighbors:
            pairs = itertools.product(own, own) if relation is Neighbors.REPLACE else ((set(), one) for one in own)
            vectors = [[changes] * len(a & b) + [comes] * len(a ^ b) for a, b in pairs]
            assert rank_sensitivity(sought, cells, Bounds(groups=groups, rows=rows, neighbors=relation)) == Sensitivity(
                l1=max(map(sum, vectors)),
                l2_squared=max(sum(x * x for x in vector) for vector in vectors),
                linf=max(x for vector in vectors for x in vector),
                touched=max(map(len, vectors)),
            )


@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_unknown_cells_are_as_many_as_one_unit_can_change(neighbors: Neighbors) -> None:
    for groups in (1, 2, 5):
        bounds = Bounds(groups=groups, rows=2, neighbors=neighbors)
        every = [rank_sensitivity(MEASURES[0], cells, bounds) for cells in range(1, 4 * groups)]
        most = every[-1]
        assert rank_sensitivity(MEASURES[0], None, bounds) == most
        assert all(one.l1 <= most.l1 and one.l2_squared <= most.l2_squared for one in every)


def test_what_moves_in_one_cell_by_hand() -> None:
    """In fifths, quarters and halves of a row."""
    assert moves(measure(F(4, 5)), 1) == (4, 5)
    assert moves(measure(F(1, 4)), 2) == (6, 8)
    assert moves(measure(role=Role.MIN), 2) == moves(measure(role=Role.MAX), 2) == (4, 4)


def chosen(sought: Measure, law: Choice, rows: Counter[int], sizes: dict[int, int] | None = None) -> list[float]:
    """The probability of each candidate; `sizes` says how many candidates have the same loss as one of them."""
    every = sizes or dict.fromkeys(range(sought.low, sought.high + 1), 1)
    losses = [loss(sought, law, rows, v) for v in every]
    least = min(losses)
    if law.flip:
        return flip_law([math.exp(-float(law.rate) * (one - least)) for one in losses])
    weights = [
        size * math.exp(-float(law.rate) * (one - least)) for one, size in zip(losses, every.values(), strict=True)
    ]
    return [weight / math.fsum(weights) for weight in weights]


def ratio(p: list[float], q: list[float]) -> float:
    return max(abs(math.log(a / b)) for a, b in zip(p, q, strict=True))


def renyi(order: float, p: list[float], q: list[float]) -> float:
    return math.log(math.fsum(a * (a / b) ** (order - 1) for a, b in zip(p, q, strict=True))) / (order - 1)


def neighboring(rows: int, most: int, relation: Neighbors) -> Iterator[tuple[Counter[int], Counter[int]]]:
    units = tables(range(4), rows)
    for others in tables(range(4), most):
        for a, b in itertools.combinations(units, 2):
            if relation is Neighbors.REPLACE or not a:
                yield others + a, others + b


WIDE = measure(F(1, 2), high=2**16)  # too many values to list them


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("relation", list(Neighbors))
@pytest.mark.parametrize(
    ("sought", "epsilon"), [*itertools.product(POINTS, (F(1, 10), F(6))), *((end, F(6)) for end in ENDS)]
)
def test_neighbors_choose_alike(sought: Measure, epsilon: F, relation: Neighbors, listed: bool) -> None:
    """All neighbors of up to five rows on four candidates: the ratio of every outcome, and Renyi divergences."""
    far = rank_sensitivity(sought, 1, Bounds(groups=1, rows=1, neighbors=relation))
    law, price = choice_for(epsilon, far, sought if listed else WIDE)
    assert (price.epsilon, law.flip) == (epsilon, listed)
    assert price.rho is not None
    laws = {}
    for pair in neighboring(1, 4, relation):
        p, q = (laws.setdefault(tuple(sorted(rows.items())), chosen(sought, law, rows)) for rows in pair)
        assert ratio(p, q) <= float(epsilon) * (1 + 1e-12)
        for order in ORDERS:
            assert max(renyi(order, p, q), renyi(order, q, p)) <= order * float(price.rho) * (1 + 1e-9) + 1e-12


@pytest.mark.proof
def test_several_cells_and_rows_are_paid_together() -> None:
    """Independent choices: divergences add up over the cells that a unit changes. Each is as bad as one can be."""
    for sought, kind in itertools.product((MEASURES[0], MEASURES[1], POINTS[-1]), (MEASURES[0], WIDE)):
        for relation in Neighbors:
            bounds = Bounds(groups=2, rows=2, neighbors=relation)
            law, price = choice_for(F(2), rank_sensitivity(sought, 3, bounds), kind)
            worst, worst_rho = {}, {}
            for way, pairs in (
                ("comes", neighboring(2, 2, Neighbors.ADD_REMOVE)),
                ("changes", neighboring(2, 2, relation)),
            ):
                laws = [(chosen(sought, law, a), chosen(sought, law, b)) for a, b in pairs]
                worst[way] = max(ratio(p, q) for p, q in laws)
                worst_rho[way] = max(renyi(2, p, q) / 2 for p, q in laws)
            ways = [(2, 0)] if relation is Neighbors.ADD_REMOVE else [(2, 1), (0, 2)]  # of three cells
            for comes, changes in ways:
                assert comes * worst["comes"] + changes * worst["changes"] <= float(price.epsilon or 0)
                assert comes * worst_rho["comes"] + changes * worst_rho["changes"] <= float(price.rho or 0)


def test_few_values_are_chosen_better() -> None:
    """Permute-and-flip misses the true median half as often at the same price."""
    sought, one = measure(F(1, 2), high=20), Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE)
    far = rank_sensitivity(sought, 1, one)
    (flip, _), (plain_law, _) = choice_for(F(1, 2), far, sought), choice_for(F(1, 2), far, WIDE)
    rows = Counter({5: 20, 8: 25, 12: 20})
    better, worse = (chosen(sought, law, rows)[8] for law in (flip, plain_law))
    assert 1 - better < 0.6 * (1 - worse)
    assert math.isclose(sum(chosen(sought, flip, rows)), 1)


def test_no_other_loss_of_this_reach_finds_the_median_more_often() -> None:
    """A loss that is not below 0, and the one that weighs what is below against what is above, move by 1 with a row
    like ours. Light and heavy ties: in the last table 8 is the median and 7, which nobody has, divides rows better."""
    law, sought = Choice(F(1, 40)), measure(F(1, 2), high=20)
    for rows in (Counter(dict.fromkeys(range(21), 12)), Counter({3: 5, 9: 90, 12: 5}), Counter({1: 20, 3: 20, 8: 60})):
        ours = [loss(sought, law, rows, v) for v in range(21)]
        median = next(v for v in range(21) if sum(n for x, n in rows.items() if x <= v) * 2 >= rows.total())
        cut = [max(0, one) for one in ours]
        weighed = [
            abs(sum(n for x, n in rows.items() if x < v) - sum(n for x, n in rows.items() if x > v)) for v in range(21)
        ]
        ours_best, cut_best, weighed_best = (
            flip_law([math.exp(-float(law.rate) * (one - min(losses))) for one in losses])[median]
            for losses in (ours, cut, weighed)
        )
        assert ours_best > cut_best
        assert ours_best > 0.999999 * weighed_best
    assert ours_best > 2 * weighed_best


def test_the_pure_price_is_attained() -> None:
    """One row at 5, one more at 3: the many candidates above become worse by as much as 3 and 4 become better."""
    sought = measure(F(1, 2), high=10**12)
    one = Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE)
    law, price = choice_for(F(1), rank_sensitivity(sought, 1, one), sought)
    sizes = {0: 3, 3: 2, 5: 1, 6: 10**12 - 5}
    p, q = (chosen(sought, law, rows, sizes) for rows in (Counter([5]), Counter([5, 3])))
    assert price.epsilon == 1
    assert 0.999999 < ratio(p, q) <= 1


def test_the_price_in_zcdp_is_attained() -> None:
    """One half of the candidates becomes better, the other worse; what bounded range allows is what they do."""
    sought = measure(F(1, 2), high=2 * 10**6)
    far = rank_sensitivity(sought, 1, Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE))
    law, price = choice_for_rho(F(1, 10**4), far)
    sizes = {0: 10**6, 10**6: 1, 10**6 + 1: 10**6}
    p, q = (chosen(sought, law, rows, sizes) for rows in (Counter([10**6]), Counter([10**6, 0])))
    for order in (1.001, 2, 3):
        assert 0.999 * order * float(price.rho or 0) < renyi(order, p, q) <= order * float(price.rho or 0)


def test_a_price_for_one_side_only_is_caught() -> None:
    """A planted bug: a loss that moves by 1 priced as 1 * rate, as for scores that move in one direction."""
    sought = measure(F(1, 2), high=10**12)
    law = Choice(F(1))
    p, q = (chosen(sought, law, rows, {0: 3, 3: 2, 5: 1, 6: 10**12 - 5}) for rows in (Counter([5]), Counter([5, 3])))
    assert ratio(p, q) > 1.9 * float(law.rate)


@settings(max_examples=60)
@given(st.fractions(F(1, 10**6), 10), st.integers(1, 5), st.integers(1, 5), st.sampled_from(MEASURES))
def test_a_price_in_zcdp_is_never_exceeded_nor_wasted(rho: F, groups: int, rows: int, sought: Measure) -> None:
    far = rank_sensitivity(sought, None, Bounds(groups=groups, rows=rows, neighbors=Neighbors.REPLACE))
    law, price = choice_for_rho(rho, far)
    used = law.rate**2 * far.l2_squared / 2
    assert rho * F(999_999, 10**6) < used <= rho == price.rho
    assert price.epsilon == 2 * law.rate * far.l1


@settings(max_examples=60)
@given(st.fractions(F(1, 10**60), 10**9))
def test_roots_are_rounded_down_a_little(square: F) -> None:
    root = root_below(square)
    assert root**2 <= square < (root * (1 + F(1, 2**40))) ** 2


@pytest.mark.parametrize(
    "sought", [measure(F(1, 2), high=40), measure(F(1, 10), high=40), measure(role=Role.MIN, high=40)]
)
def test_ranks_are_off_by_no_more_than_said(sought: Measure) -> None:
    rows = Counter({3: 20, 7: 5, 20: 40, 33: 2, 39: 10})
    for rate in (F(1, 30), F(1, 10), F(1)):
        law = Choice(rate)
        unit = rank(sought, law, 77).unit
        for share in (F(1, 2), F(95, 100), F(999, 1000)):
            far = rows_off(sought, law, share) * unit
            near = [p for v, p in enumerate(chosen(sought, law, rows)) if loss(sought, law, rows, v) <= far]
            assert math.fsum(near) >= share


def test_extremes_aim_a_few_rows_inside_and_never_beyond_the_middle() -> None:
    law = Choice(F(1, 2))
    first, last = measure(role=Role.MIN, high=100), measure(role=Role.MAX, high=100)
    inside = rows_off(first, law, F(95, 100))
    assert inside == math.ceil(math.log(101 / 0.05))
    for rows in range(100):
        aim, end = (rank(one, law, rows) for one in (first, last))
        assert (aim.unit, end.unit) == (2, 2)
        assert aim.target == (2 * inside if rows > 2 * inside else rows)
        assert aim.target + end.target == 2 * rows
        assert aim.target <= end.target


def test_empty_cells_choose_evenly() -> None:
    for sought in POINTS:
        assert chosen(sought, SHARP, Counter()) == [1 / 4] * 4


def test_a_rate_too_small_for_the_sampler_is_refused() -> None:
    bounds = Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE)
    for gauge, price in ((Gauge.EPSILON, F(1, 10**16)), (Gauge.RHO, F(1, 10**32))):
        with raises_code(RefusedQueryError, "too-fine: wider"):
            priced(MEASURES[:1], Setting(cells=1, bounds=bounds), gauge, [price])
        assert priced(MEASURES[:1], Setting(cells=1, bounds=bounds), gauge, [price * 10**3])


def test_an_interval_that_would_need_too_many_rows_beyond_is_refused() -> None:
    bounds = Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE)
    with raises_code(RefusedQueryError, "too-fine: wider"):
        priced(ENDS[:1], Setting(cells=1, bounds=bounds), Gauge.EPSILON, [F(1, 10**12)])
    assert priced(POINTS[:1], Setting(cells=1, bounds=bounds), Gauge.EPSILON, [F(1, 10**12)])


def exact_ends(sought: Measure, rows: Counter[int]) -> tuple[int, int]:
    """Between which values every usual quantile lies, interpolated or not; or the smallest and the largest one."""
    ordered = sorted(rows.elements())
    if sought.quantile is None:
        return (ordered[0], ordered[0]) if sought.role is Role.MIN else (ordered[-1], ordered[-1])
    place = sought.quantile * (len(ordered) - 1)
    discrete = max(math.ceil(sought.quantile * len(ordered)) - 1, 0)
    return ordered[min(math.floor(place), discrete)], ordered[max(math.ceil(place), discrete)]


def beyond(sought: Measure, law: Choice, rows: Counter[int]) -> float:
    """The probability that what is chosen lies beyond the exact value on its side."""
    low, high = exact_ends(sought, rows)
    found = zip(range(sought.low, sought.high + 1), chosen(sought, law, rows), strict=True)
    return math.fsum(p for v, p in found if (v <= low if sought.end is End.LOW else v >= high))


@pytest.mark.parametrize("flip", [True, False])
@pytest.mark.parametrize("sought", ENDS, ids=NAMES[len(POINTS) :])
def test_every_end_is_beyond_the_exact_value_as_often_as_said(sought: Measure, flip: bool) -> None:
    """All tables of up to four rows, each row once and 2, 5 and 40 times: ties, tiny groups, all at one value."""
    share = SURE if sought.quantile is None else EACH_END
    for rate, times in itertools.product((F(1, 20), F(1, 3), F(2)), (1, 2, 5, 40)):
        law = Choice(rate, flip=flip)
        for rows in tables(range(4), 4)[1:]:
            many = Counter({value: times * number for value, number in rows.items()})
            assert beyond(sought, law, many) >= share


@pytest.mark.parametrize("end", list(End))
def test_no_row_beyond_could_be_spared(end: End) -> None:
    """Half of the rows at the exact value, half at the far end: all values between them are as bad as can be. One row
    more is kept for interpolation; with two rows fewer the end would not hold as often as said."""
    sought, law = measure(F(1, 2), high=1000, end=end), Choice(F(1, 10))
    kept = rows_beyond(sought, law)
    near, far = (0, 1000) if end is End.LOW else (1000, 0)
    rows = Counter({near: 5000, far: 5000})
    at = rank(sought, law, 10_000)
    assert at.below + at.above == kept
    weight = 999 * math.exp(-float(law.rate) * 2 * (kept - 2))
    assert 1 - weight / (1 + weight) < EACH_END <= beyond(sought, law, rows)


def test_an_empty_group_has_the_whole_range() -> None:
    for sought in ENDS:
        end = sought.low if sought.end is End.LOW else sought.high
        for rate in (F(1, 100), F(1)):
            law = Choice(rate)
            assert dict(zip(range(4), chosen(sought, law, Counter()), strict=True))[end] >= SURE


def test_quantiles_of_the_same_numbers_are_published_in_order() -> None:
    """Each is drawn apart; sorting what is published costs nothing. MIN and MAX are never inside. Other columns and
    averages are left alone."""

    def quantile(name: str, column: str, at: F | None, function: Function = Function.QUANTILE) -> Aggregate:
        return Aggregate(name=name, function=function, value=Column(column), quantile=at)

    made = [
        quantile("top", "age", None, Function.MAX),
        quantile("low", "age", F(1, 4)),
        quantile("cost", "change", F(1, 2)),
        quantile("middle", "age", F(1, 2)),
        N,
        quantile("bottom", "age", None, Function.MIN),
        quantile("again", "age", F(1, 2)),
    ]
    asked = question(plan((), *made, intervals=False), epsilon=1)

    def line_of(top: int, bottom: int) -> dict[str, object]:
        drawn = {"n": 100, "top": top, "low": 30, "cost": -4, "middle": 9, "bottom": bottom}
        (line,) = lines(asked, [[number] for number in drawn.values()], F(95, 100))
        return dict(line)

    line = line_of(top=12, bottom=10)
    values = {name: plain(item) for name, item in line.items()}
    assert values == {"bottom": 9, "low": 9, "again": 30, "middle": 30, "top": 30, "cost": -2, "n": 100}
    assert line["middle"] == Estimate(value=F(30), low=None, high=None)
    crossed = {name: plain(item) for name, item in line_of(top=3, bottom=50).items()}
    assert crossed == values | {"bottom": None, "top": None}  # MIN above MAX: both are noise


def test_the_engine_chooses_by_these_ranks() -> None:
    """A rate at which another value comes once in e**100 draws."""
    spread = Spread(values=np.array([1, 5, 9]), counts=np.array([3, 1, 3]))
    noise, law = FreshNoise(), Choice(F(200))
    sought = {F(1, 2): 5, F(1, 4): 1, F(9, 10): 9}
    for at, value in sought.items():
        assert noise.choose(spread, measure(at, high=10), law) == value
    assert noise.choose(spread, measure(role=Role.MIN, high=10), law) == 1
    assert noise.choose(spread, measure(role=Role.MAX, high=10), law) == 9
    nobody = Spread(values=np.array([], np.int64), counts=np.array([], np.int64))
    assert {noise.choose(nobody, measure(F(1, 2), high=1), law) for _ in range(200)} == {0, 1}
