"""Groups chosen by their scores: when that is done, what is said of groups that are left out, and their intervals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction as F
from statistics import NormalDist
from typing import Any

import pytest
from scipy import stats
from support.plain_statistics import top_law
from support.refusals import raises_code

from privet.core.accountant import Budget
from privet.core.expression import Column
from privet.core.laws import Choice, DiscreteGaussian, DiscreteLaplace, Top
from privet.core.plan import Aggregate, Function, Key, Order, Plan
from privet.core.schema import Category, Integer
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError
from privet.estimates.choosing import Affected, affected, selection_of
from privet.estimates.estimate import rows_of
from privet.estimates.moments import Estimate
from privet.estimates.priced import Priced, outline
from privet.estimates.pricing import ALL_GROUPS, Price, ask
from privet.estimates.publication import AS_PRINTED, AS_RELEASED, Publication
from privet.estimates.split import regret
from privet.estimates.top import best_of
from privet.noise.fast import sampler
from privet.noise.top import choose_top

SHARE = F(95, 100)
N = Aggregate(name="n", function=Function.COUNT)
TABLES = 600
MOST = 150  # misses of 3 * TABLES: at a rate of 5 % or less there are more with probability below 1e-9


def question(limit: int = 3, each: int = 20, groups: int = 100, price: Price | None = None, **more: Any) -> Priced:
    aggregates = more.pop("aggregates", (N,))
    plan = Plan(
        table="t", keys=(Key(name="g", value=Column("g")),), aggregates=aggregates,
        outputs=("g", *(one.name for one in aggregates)), order=(Order(name="n", descending=True),), limit=limit,
    )  # fmt: skip
    kinds = {"g": Category([f"g{n:03}" for n in range(groups)], never_missing=True), "x": Integer(-50, 100)}
    bounds = Bounds(groups=each, rows=more.pop("rows", 1), neighbors=more.pop("neighbors", Neighbors.ADD_REMOVE))
    return ask(outline(plan, kinds, bounds), Budget(100, "1e-6"), price or Price(epsilon=1), **more)


# ---- which way


@pytest.mark.parametrize("neighbors", list(Neighbors))
@pytest.mark.parametrize(
    ("limit", "each", "pure", "gaussian"),
    [(3, 1, False, False), (3, 3, False, False), (3, 6, True, True), (3, 20, True, True), (10, 20, True, True),
     (11, 20, False, True), (20, 20, False, False), (40, 20, False, False), (1, 2, True, True)],
)  # fmt: skip
def test_the_way_that_errs_less_is_taken(
    limit: int, each: int, pure: bool, gaussian: bool, neighbors: Neighbors
) -> None:
    """Where a person has twice as many groups as are shown, or more; by Gaussian noise already for a little fewer."""
    for price, expected in ((Price(epsilon=1), pure), (Price(rho="0.01"), gaussian)):
        for groups in (100, 1000):
            found = question(limit, each, groups, price, neighbors=neighbors)
            if neighbors is Neighbors.ADD_REMOVE or (limit, each) not in ((10, 20), (11, 20)):
                assert (found.top is not None) == expected, (groups, price)


def test_neither_the_choice_nor_the_numbers_get_worse() -> None:
    """Of what is taken: a noise that is no wider, and a choice that is no more blurred, than of all groups."""
    for limit, each in ((1, 2), (3, 6), (3, 20), (10, 20), (5, 40)):
        found = question(limit, each)
        assert found.top is not None
        read = question(limit, 1)  # one group each: all are measured
        assert read.top is None
        (count, top), every = found.parts, F(each)
        assert isinstance(count.law, DiscreteLaplace)
        assert isinstance(top.law, Top)
        assert count.law.scale <= every
        assert 1 / top.law.rate <= every


@pytest.mark.parametrize("cells", [2, 20, 1000])
def test_regret_is_where_a_better_group_is_beaten_once_among_all(cells: int) -> None:
    rate, tail = F(1, 7), math.log(cells)
    for law, beaten in (
        (Top(rate, 3, flip=True), lambda d: math.exp(-d / 7) / 2),
        (Top(rate, 3), lambda d: 1 / (1 + math.exp(d / 7))),
        (DiscreteGaussian(F(49)), lambda d: 1 - NormalDist().cdf(d / 7 / math.sqrt(2))),
    ):
        distance = math.sqrt(regret(law, cells) / 2) * tail
        assert beaten(distance) == pytest.approx(1 / (2 * cells), rel=1e-9)
    laplace = math.sqrt(regret(DiscreteLaplace(F(7)), cells) / 2) * tail
    assert (1 / 2 + laplace / 28) * math.exp(-laplace / 7) > 1 / (2 * cells)  # so it is further, truly
    with pytest.raises(TypeError):
        regret(Choice(F(1)), cells)


def test_all_measures_are_of_the_chosen_groups() -> None:
    """Beside the number that decides; what a unit can add is bounded among them."""
    average = Aggregate(name="a", function=Function.AVG, value=Column("x"))
    median = Aggregate(name="m", function=Function.QUANTILE, value=Column("x"), quantile=F(1, 2))
    found = question(limit=2, rows=3, aggregates=(N, average, median))
    assert found.top is not None
    *measures, top = found.parts
    assert all(part.sensitivity.touched <= 4 for part in measures)
    assert top.sensitivity.touched == 100
    assert sum(part.loss.epsilon for part in found.parts) == 1  # type: ignore[misc]
    every = ask(found, Budget(100, "1e-6"), Price(epsilon=1), allowed=ALL_GROUPS)
    assert every.loss == found.loss or every.parts != found.parts


def test_a_price_too_low_for_a_choice_is_left_to_all_groups() -> None:
    """2**50 steps: what is refused there is refused as before, with the same words."""
    low = Price(epsilon=F(1, 2**48))
    found = question(limit=3, each=3, price=low)
    assert found.top is None
    with raises_code(InvalidInputError, "missing-delta"):
        question(price=Price(rho="0.01"), finite=True)
    assert question(price=Price(rho="0.01", delta="1e-7"), finite=True).top is not None


# ---- what is left out


@pytest.mark.parametrize("flip", [True, False])
def test_groups_that_are_left_out_are_not_much_better(flip: bool) -> None:
    """By the exact law, on the worst tables: others are all as far ahead as is said, or a step further."""
    found = question(limit=2, each=20, groups=4, price=None if flip else Price(rho="0.05"))
    assert isinstance(found.parts[-1].law, Top)
    assert found.parts[-1].law.flip == flip
    worst = 0.0
    for share in (SHARE, F(1, 2)):
        best = best_of(found, share)
        assert best is not None
        assert (best.groups, best.among, best.by) == (2, 4, "n")
        steps = int(best.left_out)
        for scores in ((steps + 1, 0, 0, 0), (steps + 1, steps + 1, 0, 0), (2 * steps + 2, steps + 1, 0, 0)):
            law = top_law(scores, found.parts[-1].law)
            missed = math.fsum(chance for outcome, chance in law.items() if behind(scores, outcome) > steps)
            assert missed <= 1 - share
            worst = max(worst, missed / float(1 - share))
    assert worst > 0.3


def behind(scores: tuple[int, ...], outcome: tuple[int, ...]) -> int:
    left = [score for place, score in enumerate(scores) if place not in outcome]
    return max(left) - min(scores[place] for place in outcome)


def test_nothing_is_said_where_nothing_is_chosen() -> None:
    assert best_of(question(each=1), SHARE) is None


# ---- intervals


@pytest.mark.parametrize("publication", [AS_RELEASED, AS_PRINTED])
@pytest.mark.parametrize("price", [Price(epsilon=1), Price(rho="0.05")])
def test_intervals_of_chosen_groups_hold_as_they_are(price: Price, publication: Publication) -> None:
    """100 equal groups, where measuring all of them shows the largest noise: 3 of them are chosen, then measured."""
    found = question(price=price)
    assert found.top is not None
    count, top = found.parts
    assert isinstance(top.law, Top)
    keys, draws, misses = list(found.cells.keys()), sampler(count.law).draw(3 * TABLES).tolist(), 0  # type: ignore[arg-type]
    for table in range(TABLES):
        places = sorted(choose_top([50] * 100, top.law))
        shown = found.showing([keys[place] for place in places])
        noisy = [[50 + noise for noise in draws[3 * table : 3 * table + 3]], []]
        rows = rows_of(shown, noisy, SHARE, publication)
        assert len(rows) == 3
        for row in rows:
            cell = row.line["n"]
            assert isinstance(cell, Estimate)
            assert cell.low is not None
            assert cell.high is not None
            misses += not cell.low <= 50 <= cell.high
    assert stats.binom.sf(MOST, 3 * TABLES, 0.05) < 1e-9
    assert misses <= MOST


def test_the_choice_of_groups_changes_no_interval() -> None:
    found = question()
    keys = list(itertools.islice(found.cells.keys(), 3))
    for asked, rows in ((found, 100), (found.showing(keys), 3)):
        selection = selection_of(asked, rows)
        assert not selection.ordered
        assert affected(asked, selection) == Affected()
    plain = question(each=1)
    assert affected(plain, selection_of(plain, 100)).together == ("n",)
