"""Which limits a question may choose, what choosing costs, and which it chooses."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asked import KINDS, N, key, plan, total

from privet.core.accountant import Budget
from privet.core.expression import Column, Compare, In, Literal, Or, Relation
from privet.core.laws import DiscreteLaplace
from privet.core.plan import Aggregate, Function
from privet.core.schema import Category, Integer
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.estimates.fitting import CHOOSING, FEWEST_GROUPS, FEWEST_ROWS, Fitting, fitting, is_open, most_of, obstacle
from privet.estimates.priced import Outline, outline, with_fewest_groups
from privet.estimates.pricing import Price, ask

BUDGET = Budget(20, F(1, 10**6))
PEOPLE = Aggregate(name="p", function=Function.COUNT_DISTINCT)
WARDS = {**KINDS, "ward": Category([f"w{n}" for n in range(20)]), "year": Integer(2000, 2030)}


def read_of(*aggregates: Aggregate, keys: tuple[str, ...] = ("ward",), where: Any = None, **limits: Any) -> Outline:
    given = {"groups": 5, "rows": 10, "in_all": None, "neighbors": Neighbors.ADD_REMOVE, **limits}
    made = plan(tuple(key(name) for name in keys), *(aggregates or (N,)))
    return outline(replace(made, where=where), WARDS, Bounds(**given))


def chosen_by(read: Outline, *noisy: int, epsilon: object = 1) -> int:
    found = fitting(read, BUDGET, Price(epsilon=epsilon))
    return found.limits[found.pick([[*noisy, *[0] * (found.bins - len(noisy))]])]


def test_what_is_spent_and_what_may_come_out() -> None:
    read = read_of()
    found = fitting(read, BUDGET, Price(epsilon="0.4"))
    assert (found.limits, found.bins, found.rows, found.what) == ((1, 2, 4, 8, 16, 32, 50), 7, 10, "row")
    assert found.share == F(4, 10) * CHOOSING == F(1, 10)
    assert found.loss.epsilon == F(4, 10)
    assert all(way.loss.epsilon == F(3, 10) for way in found.ways)
    assert found.ways[-1] == ask(read, BUDGET, Price(epsilon="0.3"))
    assert found.declared == ask(read, BUDGET, Price(epsilon="0.4"))
    for limit, way in zip(found.limits[:-1], found.ways, strict=False):
        assert (way.bounds.groups, way.bounds.rows, way.bounds.in_all) == (min(5, limit), min(10, limit), limit)
    assert [found.error(place) for place in (0, -1)] == [pytest.approx(4 / 3 / 50), pytest.approx(4 / 3)]


def test_the_histogram_has_noise_for_one_unit() -> None:
    for relation, scale in ((Neighbors.ADD_REMOVE, 10), (Neighbors.REPLACE, 20)):
        law = fitting(read_of(neighbors=relation), BUDGET, Price(epsilon="0.4")).histogram.law
        assert law == DiscreteLaplace(F(scale))


@pytest.mark.parametrize("most", [8, 9, 50, 64, 65, 1000, 10**6, 2**40])
def test_limits_rise_to_the_declared_one(most: int) -> None:
    read = read_of(groups=1, rows=most) if most < 1000 else read_of(groups=5, rows=2**40, in_all=most)
    found = fitting(read, BUDGET, Price(epsilon=1))
    assert found.limits[0] == 1
    assert found.limits[-1] == most == most_of(read)
    assert sorted(set(found.limits)) == list(found.limits)
    assert len(found.limits) == len(found.ways) <= 9
    assert 2 ** (found.bins - 2) < most <= 2 ** (found.bins - 1)  # the last bin holds the limit


def test_no_limit_is_above_what_was_declared() -> None:
    for read in (read_of(), read_of(in_all=20), read_of(groups=3, rows=4), read_of(groups=20, rows=20, in_all=20)):
        declared = read.bounds
        for way in fitting(read, BUDGET, Price(epsilon=1)).ways:
            assert way.bounds.groups <= declared.groups
            assert way.bounds.rows <= declared.rows
            assert (way.bounds.in_all or most_of(read)) <= most_of(read)


def test_where_units_are_counted_groups_are_chosen() -> None:
    read = read_of(PEOPLE, groups=12)
    found = fitting(read, BUDGET, Price(epsilon=1))
    assert (found.limits, found.rows, found.what) == ((1, 2, 4, 8, 12), 1, "group")
    assert [way.bounds for way in found.ways] == [replace(read.bounds, groups=limit) for limit in found.limits]
    assert most_of(read_of(PEOPLE, groups=30)) == 21  # no more than there are


def test_little_to_gain_spends_nothing() -> None:
    assert obstacle(read_of(), Price(epsilon=1)) == ""
    assert is_open(read_of())
    for price in (Price(rho="0.1"), Price(within=9), Price(epsilon=1, delta="1e-9")):
        assert obstacle(read_of(), price) == "only a price in epsilon without a delta can choose limits"
    assert obstacle(read_of(), Price(epsilon=1), people=False) == "each row is a unit"
    assert obstacle(read_of(keys=("city",)), Price(epsilon=1)) == "its groups are not public"
    assert "fewer than 4 groups" in obstacle(read_of(keys=()), Price(epsilon=1))
    assert "fewer than 4 groups" in obstacle(read_of(keys=("sex",)), Price(epsilon=1))
    assert not is_open(read_of(keys=("sex",)))
    assert obstacle(read_of(keys=("ward",), groups=1, rows=FEWEST_ROWS), Price(epsilon=1)) == ""
    assert "at most 7 of a unit" in obstacle(read_of(groups=1, rows=FEWEST_ROWS - 1), Price(epsilon=1))
    assert "at most 7 of a unit" in obstacle(read_of(in_all=FEWEST_ROWS - 1), Price(epsilon=1))
    assert "at most 7 of a unit" in obstacle(read_of(PEOPLE), Price(epsilon=1))
    assert read_of(keys=("sex", "smoker")).cells.count > FEWEST_GROUPS
    assert obstacle(read_of(keys=("sex", "smoker")), Price(epsilon=1)) == ""


def test_rows_that_nobody_has_are_not_kept() -> None:
    assert chosen_by(read_of()) == 1
    assert chosen_by(read_of(), 5000) == 1
    assert chosen_by(read_of(), 5000, 5000) == 2
    assert chosen_by(read_of(), 1000, 900, 800, 0, 0, 0, 700) == 50
    assert chosen_by(read_of(), 1000, 9, 9, 9, 9, 9, 9) == 1  # noise of scale 4 reaches 9
    assert chosen_by(read_of(), 1000, -900, -900, -900, 0, 0, 0) == 1
    assert chosen_by(read_of(PEOPLE, groups=12), 100, 100, 100, 100) == 8


@settings(max_examples=60)
@given(st.lists(st.integers(-(10**4), 10**6), min_size=7, max_size=7), st.sampled_from(["0.01", "0.5", "9"]))
def test_more_units_with_more_rows_never_lower_the_limit(noisy: list[int], epsilon: str) -> None:
    found = fitting(read_of(total("s", "cost"), N), BUDGET, Price(epsilon=epsilon))
    place = found.pick([noisy])
    assert 0 <= place < len(found.ways)
    more = [*noisy[:-1], max(noisy[-1], 0) + 10**6]
    assert found.pick([more]) >= place
    told = found.fitted([noisy], place)
    assert (told.limit, told.declared) == (found.limits[place], 50)
    assert 0 <= told.dropped < 1


def test_what_is_beyond_is_counted_with_the_middle_of_each_bin() -> None:
    found = fitting(read_of(), BUDGET, Price(epsilon=1))
    told = found.fitted([[100, 0, 40, 0, 0, 0, 20]], 1)
    rows = 100 + 40 * F(7, 2) + 20 * 50
    assert told.dropped == (40 * F(3, 2) + 20 * 48) / rows
    assert found.fitted([[0] * 7], 0).dropped == 0


@pytest.mark.parametrize(
    ("most", "groups", "one", "few", "worst"),
    [(10, 5, 0.45, 1.1, 1.7), (10, 20, 0.28, 1.1, 1.4), (50, 5, 0.41, 0.45, 1.8), (50, 20, 0.21, 0.3, 1.5),
     (50, 100, 0.12, 0.3, 1.35), (50, 4, 0.45, 0.5, 1.9)],
)  # fmt: skip
def test_the_table_of_gains_and_losses(most: int, groups: int, one: float, few: float, worst: float) -> None:
    """What docs/people.md says, by seeded noise: the error of a group beside that with the declared limits at the whole
    price. The worst case is a few people with as many rows as may be, all rows beyond in one group."""
    kinds = {**KINDS, "ward": Category([f"w{n}" for n in range(groups - 1)])}
    limits = Bounds(groups=1, rows=most, neighbors=Neighbors.ADD_REMOVE)
    found = fitting(outline(plan((key("ward"),), N), kinds, limits), BUDGET, Price(epsilon="0.5"))
    assert found.declared.cells.count == groups
    about = 1.15  # so many draws leave that much to chance
    assert off_by(found, [2000]) <= one * about
    assert off_by(found, [240, 15, 30, 15]) <= few * about  # 300 people
    assert off_by(found, [1600, 100, 200, 100]) <= few * about
    spread = [0] * (found.bins - 1)
    assert off_by(found, [*spread, 5000]) == pytest.approx(4 / 3, rel=1e-6)
    found_worst = max(off_by(found, [2000, *spread[1:], heavy]) for heavy in (12, 22, 32, 45, 70, 140))
    assert found_worst <= worst * 1.05
    assert found_worst > 1.3


def off_by(found: Fitting, units: list[int], draws: int = 120) -> float:
    """In squared mean."""
    law, most = found.histogram.law, found.limits[-1]
    assert isinstance(law, DiscreteLaplace)
    exact = np.array([*units, *[0] * (found.bins - len(units))])
    rows = np.array([*(2**place for place in range(found.bins - 1)), most])  # of everybody in a bin
    rows[2] = 3
    noise = np.random.default_rng(1).laplace(0, float(law.scale), (draws, found.bins))
    full, errors = 2 * (most / 0.5) ** 2, []
    for place in (found.pick([one]) for one in (exact + np.rint(noise).astype(int)).tolist()):
        beyond = float((exact * np.maximum(rows - found.limits[place], 0)).sum())
        errors.append(full * found.error(place) ** 2 + beyond**2 / found.declared.cells.count)
    return math.sqrt(math.fsum(errors) / draws / full)


# ---- limits that declarations and conditions imply


def fewest(where: Any, *keys: str, constant: tuple[str, ...] = (), **limits: Any) -> int:
    read = read_of(keys=keys, where=where, **{"groups": 9, **limits})
    kinds = {name: kind if name not in constant else as_constant(kind) for name, kind in WARDS.items()}
    found = with_fewest_groups(read, {"visits": kinds})
    assert found.measures == read.measures
    assert replace(found.bounds, groups=read.bounds.groups) == read.bounds
    return found.bounds.groups


def as_constant(kind: Any) -> Any:
    changed = Category(kind.values, constant_per_unit=True)
    assert changed.constant_per_unit
    return changed


def test_listed_values_limit_groups() -> None:
    year = Column("year")
    two = In(year, (Literal(F(2001)).value, Literal(F(2020)).value))
    one = Compare(Relation.EQUAL, year, Literal(F(2005)))
    assert fewest(two, "year") == 2
    assert fewest(Or((two, one)), "year") == 3
    assert fewest(Or((two, Compare(Relation.LESS, year, Literal(F(2003))))), "year") == 9
    assert fewest(None, "year") == 9
    assert fewest(two, "year", "sex") == 6  # of f, m and missing
    assert fewest(two, "year", "sex", constant=("sex",)) == 2
    assert fewest(None, "sex", "ward", constant=("sex", "ward")) == 1
    assert fewest(None, "sex", "smoker", constant=("sex",)) == 3
    assert fewest(two, "year", groups=1) == 1
    assert fewest(two, "ward") == 9  # another column says nothing of it
    assert fewest(None) == 9  # one group of all rows is priced as one group anyway
    assert fewest(None, "city") == 9
