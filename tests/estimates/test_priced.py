"""From a plan and a price to parts with noise, and from noisy numbers back to values with intervals."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Iterator
from fractions import Fraction as F
from typing import Any, cast

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asked import without_pairs
from support.refusals import raises_code

from privet.core.accountant import Budget, how_many, rho_cap
from privet.core.expression import Arithmetic, Column, Compare, Expression, IsNull, Literal, Not, Relation, Sign
from privet.core.laws import DiscreteGaussian, DiscreteLaplace
from privet.core.loss import NOTHING, Loss, sequential
from privet.core.measures import Role
from privet.core.parts import Gauge, Setting, priced
from privet.core.plan import Aggregate, Function, Key, Order, Plan, canonical, fingerprint
from privet.core.schema import Boolean, Category, Integer, Kind, Number, Text
from privet.core.sensitivity import Bounds
from privet.core.shape import LIMIT
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError, RefusedQueryError
from privet.estimates.accuracy import gaussian_half_width, half_width, law_for, price_within
from privet.estimates.calibration import epsilon_of_rho
from privet.estimates.estimate import lines, plain
from privet.estimates.moments import Estimate
from privet.estimates.priced import Outline, Priced, formerly, outline
from privet.estimates.pricing import SMALLEST, Price, _beside_keys, _cheapest, ask
from privet.noise.fast import sampler

KINDS: dict[str, Kind] = {
    "age": Integer(0, 120),
    "cost": Number(-100, 5000, step="0.01"),
    "ward": Category(["A", "B"]),
    "ill": Boolean(),
    "note": Text(),
}
ROWS = Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE)
BUDGET = Budget(3, 1e-9)


def aggregate(function: Function, value: str | Expression | None = None, name: str = "x") -> Aggregate:
    return Aggregate(name=name, function=function, value=Column(value) if isinstance(value, str) else value)


def plan(*aggregates: Aggregate, **more: Any) -> Plan:
    names = tuple(a.name for a in aggregates)
    keys = more.get("keys", ())
    return Plan(table="t", aggregates=aggregates, outputs=(*(key.name for key in keys), *names), **more)


WARD = Key(name="ward", value=Column("ward"))


def read(*aggregates: Aggregate, bounds: Bounds = ROWS, **more: Any) -> Outline:
    return outline(plan(*aggregates, **more), KINDS, bounds)


def test_what_one_row_can_add() -> None:
    found = read(
        aggregate(Function.COUNT, name="n"),
        aggregate(Function.COUNT, "age", name="known"),
        aggregate(Function.SUM, "cost", name="s"),
        aggregate(Function.AVG, "cost", name="m"),
        aggregate(Function.SUM, "ill", name="i"),
    )
    ranges = [(m.role, m.low, m.high, m.center, m.step) for m in found.measures]
    assert ranges == [
        *[(Role.COUNT, 0, 1, 0, 1)] * 3,
        (Role.SUM, -10_000, 500_000, 0, F(1, 100)),
        (Role.SUM, -255_000, 255_000, 245_000, F(1, 100)),
        (Role.SUM, 0, 1, 0, 1),
    ]


def test_equal_measures_are_released_once() -> None:
    known = Not(IsNull(Column("age")))
    found = read(
        aggregate(Function.COUNT, name="n"),
        aggregate(Function.COUNT, "age", name="m"),
        aggregate(Function.AVG, "age", name="a"),
        aggregate(Function.AVG, "age", name="b"),
        where=known,
    )
    assert len(found.measures) == 2  # the condition makes COUNT(age) the same as COUNT(*)
    assert [r.measures for r in found.recipes] == [(0,), (0,), (1, 0), (1, 0)]


def test_what_is_no_number_is_refused() -> None:
    for value in ("ward", "note", None):
        with raises_code(RefusedQueryError, "type-mismatch: SUM"):
            read(aggregate(Function.SUM, value))
    with raises_code(RefusedQueryError, "type-mismatch: boolean is … needed"):
        read(aggregate(Function.COUNT), where=Column("age"))


@pytest.mark.parametrize("neighbors", list(Neighbors))
@pytest.mark.parametrize("price", [Price(epsilon="0.3"), Price(rho="0.01")], ids=["epsilon", "rho"])
def test_the_charge_is_the_sum_of_the_parts(neighbors: Neighbors, price: Price) -> None:
    bounds = Bounds(groups=2, rows=3, neighbors=neighbors)
    asked = ask(
        read(aggregate(Function.COUNT, name="n"), aggregate(Function.AVG, "cost"), keys=(WARD,), bounds=bounds),
        BUDGET,
        price,
    )
    assert asked.loss == sequential([part.loss for part in asked.parts])
    for part in asked.parts:
        if isinstance(part.law, DiscreteLaplace):
            assert part.law.scale == part.sensitivity.l1 / part.loss.epsilon  # type: ignore[operator]
        else:
            assert part.loss.rho == part.sensitivity.l2_squared / (2 * part.law.variance)
    total = asked.loss
    assert total.epsilon == F(3, 10) if price.epsilon else (total.epsilon is None and total.rho == F(1, 100))


@pytest.mark.parametrize("neighbors", list(Neighbors))
@pytest.mark.parametrize("delta", ["1e-9", "1e-5"])
def test_rho_with_a_delta_is_booked_as_an_epsilon(neighbors: Neighbors, delta: str) -> None:
    """The noise is the same; the epsilon is what the rho implies, and a thousandth less would not be covered."""
    bounds = Bounds(groups=2, rows=3, neighbors=neighbors)
    found = read(aggregate(Function.COUNT, name="n"), aggregate(Function.AVG, "cost"), keys=(WARD,), bounds=bounds)
    bare, asked = (ask(found, BUDGET, price) for price in (Price(rho="0.01"), Price(rho="0.01", delta=delta)))
    assert [part.law for part in asked.parts] == [part.law for part in bare.parts]
    assert bare.loss.epsilon is None
    loss = asked.loss
    assert (loss.delta, loss.rho, loss.rho_delta) == (F(delta), F(1, 100), 0)
    assert loss.epsilon is not None
    assert rho_cap(loss.epsilon, F(delta)) >= F(999, 1000) * loss.rho  # type: ignore[operator]
    assert rho_cap(loss.epsilon * F(999, 1000), F(delta)) < F(1, 100)


def test_a_price_of_which_keys_get_too_little_buys_no_gaussian_noise_on_them_alone() -> None:
    bounds = Bounds(groups=2, rows=3, neighbors=Neighbors.ADD_REMOVE)
    asked = read(aggregate(Function.SUM, "cost"), keys=(Key(name="note", value=Column("note")),), bounds=bounds)
    half = F(1, 2 * 10**6)
    epsilon = next(e for n in range(2000) if rho_cap(e := F(101, 100) ** n / 10**9, half) >= SMALLEST)
    assert not list(_beside_keys(asked, epsilon, 2 * half))
    assert list(_beside_keys(asked, 100 * epsilon, 2 * half))


def test_keys_have_half_of_a_delta_that_comes_with_rho() -> None:
    bounds = Bounds(groups=2, rows=3, neighbors=Neighbors.ADD_REMOVE)
    key = Key(name="note", value=Column("note"))
    price = Price(rho=1, delta="1e-6")
    asked = ask(read(aggregate(Function.SUM, "cost"), keys=(key,), bounds=bounds), BUDGET, price)
    *noisy, keys = asked.parts
    half = F(1, 2 * 10**6)
    assert isinstance(keys.law, DiscreteGaussian)
    assert (keys.loss.rho_delta, asked.loss.rho_delta, asked.loss.delta) == (half, half, 2 * half)
    assert sum((part.loss.delta for part in noisy), F(0)) + keys.loss.delta == 2 * half
    assert (asked.loss.epsilon, asked.loss.rho) == (epsilon_of_rho(F(1), half), 1)
    before = ask(formerly(read(aggregate(Function.SUM, "cost"), keys=(key,), bounds=bounds)), BUDGET, price)
    *noisy, keys = before.parts
    assert isinstance(keys.law, DiscreteLaplace)
    assert keys.loss.delta == keys.loss.rho_delta == half
    assert sum((part.loss.delta for part in noisy), F(0)) == half
    people = ask(read(aggregate(Function.COUNT_DISTINCT), keys=(key,), bounds=bounds), BUDGET, price)
    assert [part.measure.role for part in people.parts] == [Role.KEYS]  # nothing else to book


def test_a_pure_price_below_what_rho_implies_stays() -> None:
    """A choice by rank has a pure epsilon: 0.1 for rho 0.00125, which by conversion would be 0.27 at 1e-9."""
    asked = ask(read(aggregate(Function.MAX, "age")), BUDGET, Price(rho="0.00125", delta="1e-9"))
    assert F(999, 10000) < asked.loss.epsilon <= F(1, 10)  # type: ignore[operator]
    assert asked.loss.delta == 0


def test_an_owner_can_want_an_epsilon_in_every_price() -> None:
    found = read(aggregate(Function.COUNT, name="n"))
    with raises_code(InvalidInputError, "missing-delta: rho … delta=2.5e-11"):
        ask(found, BUDGET, Price(rho="0.01"), finite=True)
    assert ask(found, BUDGET, Price(rho="0.01", delta="1e-11"), finite=True).loss.epsilon
    free, bound = (ask(found, BUDGET, Price(within=1000), finite=finite) for finite in (False, True))
    assert free.loss.epsilon is None
    assert bound.loss.epsilon is not None


def test_noise_wider_than_the_sampler_is_refused() -> None:
    wide: dict[str, Kind] = {"x": Integer(0, 2**50)}
    found = outline(plan(aggregate(Function.SUM, "x")), wide, ROWS)
    for price in (Price(epsilon=1), Price(rho="1/2")):
        with raises_code(RefusedQueryError, "too-fine"):
            ask(found, BUDGET, price)
    for price in (Price(epsilon="1.00001"), Price(rho="0.50001")):
        assert len(ask(found, BUDGET, price).parts) == 1


def test_every_measure_needs_its_share() -> None:
    found = read(aggregate(Function.COUNT, name="n"), aggregate(Function.SUM, "age", name="s"))
    for shares in ([F(1)], [F(1)] * 3):
        with pytest.raises(ValueError, match="zip"):
            priced(found.measures, Setting(cells=1, bounds=ROWS), Gauge.EPSILON, shares)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "missing-price"),
        ({"epsilon": 1, "rho": 1}, "several-prices"),
        ({"epsilon": 1, "expected": 5}, "missing-option: says"),
    ],
)
def test_one_price_and_no_default(given: dict[str, object], problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        Price(**given)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"epsilon": 0}, "not-positive: epsilon … above 0"),
        ({"rho": "-1"}, "not-positive: rho … above 0"),
        ({"within": "5%"}, "missing-option: nothing"),
        ({"within": 5, "expected": 100}, "unneeded-option"),
        ({"within": {"other": 3}}, "missing-entry"),
        ({"within": "none"}, "not-a-number"),
    ],
)
def test_prices_that_cannot_be_read(given: dict[str, object], problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        ask(read(aggregate(Function.COUNT)), BUDGET, Price(**given))


def test_accuracy_of_an_average_cannot_be_bought_in_advance() -> None:
    with raises_code(InvalidInputError, "unsupported-function: depends"):
        ask(read(aggregate(Function.AVG, "age")), BUDGET, Price(within=1))


@pytest.mark.parametrize("budget", [Budget(3), BUDGET])
@pytest.mark.parametrize("within", [1, 10, 500])
def test_within_is_kept_at_the_smallest_price(budget: Budget, within: int) -> None:
    asked = ask(read(aggregate(Function.COUNT), keys=(WARD,)), budget, Price(within=within))
    part = asked.parts[0]
    assert half_width(part.law, F(95, 100)) <= within
    gauge = Gauge.EPSILON if isinstance(part.law, DiscreteLaplace) else Gauge.RHO
    price = part.loss.epsilon if gauge is Gauge.EPSILON else part.loss.rho
    assert price is not None
    assert half_width(law_for(part.sensitivity, gauge, price * F(999, 1000)), F(95, 100)) > within
    if not budget.delta:
        assert gauge is Gauge.EPSILON


def test_within_picks_the_noise_that_leaves_more_room() -> None:
    found = read(aggregate(Function.COUNT), keys=(WARD,))
    asked = ask(found, BUDGET, Price(within=1000))  # cheap: Gaussian wins
    assert isinstance(asked.parts[0].law, DiscreteGaussian)
    sensitivity = asked.parts[0].sensitivity
    laplace = price_within(sensitivity, Gauge.EPSILON, 1000, F(95, 100))
    assert how_many(BUDGET, NOTHING, asked.loss) > how_many(BUDGET, NOTHING, Loss(epsilon=laplace, rho=laplace**2 / 2))
    assert isinstance(ask(found, BUDGET, Price(within=3)).parts[0].law, DiscreteLaplace)


def test_relative_accuracy_and_shared_measures() -> None:
    found = read(aggregate(Function.COUNT, name="n"), aggregate(Function.COUNT, name="m"))
    for percent, expected in (("1%", 2000), ("2.5%", 800), ("200%", 10)):
        strict = ask(found, Budget(3), Price(within={"n": 100, "m": percent}, expected={"m": expected, "n": None}))
        assert half_width(strict.parts[0].law, F(95, 100)) == 20


def test_accuracy_is_given_in_units_of_the_column_not_in_steps() -> None:
    asked = ask(read(aggregate(Function.SUM, "cost")), Budget(3), Price(within=70_000))
    assert 69_990 * 100 < half_width(asked.parts[0].law, F(95, 100)) <= 70_000 * 100


@pytest.mark.parametrize("variance", [F(1, 10), F(1), F(7, 3), F(100), F(10**4)])
@pytest.mark.parametrize("share", [F(1, 2), F(95, 100), F(999, 1000)])
def test_gaussian_intervals_against_the_law_itself(variance: F, share: F) -> None:
    law = DiscreteGaussian(variance)
    weights = {x: mpmath.exp(-mpmath.mpf(x * x) / (2 * float(variance))) for x in range(-1500, 1501)}
    total = sum(weights.values())

    def covered(k: int) -> Any:
        return sum(weights[x] for x in range(-k, k + 1)) / total

    width = gaussian_half_width(law, share)
    assert covered(width) >= float(share)
    assert width <= 2 or covered(width - 2) < float(share)


def question_of(*aggregates: Aggregate, epsilon: object = 1, **more: Any) -> Priced:
    return ask(read(*aggregates, **more), BUDGET, Price(epsilon=epsilon))


def test_intervals_cover_as_often_as_they_say() -> None:
    """Real draws through the whole estimate. 2,000 trials at a 5 % miss rate are above 9 % with probability < 1e-13."""
    asked = without_pairs(read(aggregate(Function.COUNT, name="n"), aggregate(Function.AVG, "age", name="a")))
    trials, people, age = 2_000, 400, 50
    average = asked.recipes[1]
    draws = [sampler(part.law).draw(trials) for part in asked.parts]
    misses = {"n": 0, "a": 0}
    exact = [people] * len(asked.parts)
    exact[average.measures[0]] = people * (age - asked.parts[average.measures[0]].measure.center)
    for i in range(trials):
        noisy = [[exact[p] + int(draws[p][i])] for p in range(len(asked.parts))]
        line = lines(asked, noisy, F(95, 100))[0]
        for name, truth in (("n", people), ("a", age)):
            cell = line[name]
            assert isinstance(cell, Estimate)
            assert cell.low is not None
            assert cell.high is not None
            misses[name] += not cell.low <= truth <= cell.high
    assert max(misses.values()) / trials < 0.09
    assert misses["n"] > 0  # an interval that never misses would be too wide


def test_values_steps_and_missing_groups() -> None:
    wanted = aggregate(Function.COUNT, name="n"), aggregate(Function.SUM, "cost", name="s")
    asked = without_pairs(read(*wanted, keys=(WARD,)), 10)
    center = asked.parts[1].measure.center  # with a count beside it, a sum is released around the middle of its range
    assert center == 245_000
    noisy = [[5, 7, 0], [1234, -50, 3]]
    found = lines(asked, noisy, F(1, 2))
    assert [line["ward"] for line in found] == ["A", "B", None]
    assert [plain(line["n"]) for line in found] == [5, 7, 0]
    assert [plain(line["s"]) for line in found] == [F("12.34") + 5 * 2450, F("-0.5") + 7 * 2450, F("0.03")]


def test_an_interval_reaches_a_half_width_to_each_side() -> None:
    asked = question_of(aggregate(Function.SUM, "cost", name="s"))
    width = half_width(asked.parts[0].law, F(1, 2))
    cell = lines(asked, [[1234]], F(1, 2))[0]["s"]
    assert cell == Estimate(value=F("12.34"), low=F(1234 - width, 100), high=F(1234 + width, 100))


@pytest.mark.parametrize("more", [0, 1, 2, 50])
@pytest.mark.parametrize("middle", [-40, 0, 40])
def test_the_interval_of_an_average_ends_where_sum_and_count_can_end(more: int, middle: int) -> None:
    """Of all sums and counts within their half widths, the least and the largest quotient."""
    asked = without_pairs(read(aggregate(Function.AVG, "age", name="a")), 6)
    recipe = asked.recipes[0]
    share = F(999, 1000)
    a, b = (half_width(asked.parts[number].law, (1 + share) / 2) for number in recipe.measures)
    assert b > 1
    people = b + more
    noisy = dict(zip(recipe.measures, ([middle * people], [people]), strict=True))
    found = lines(asked, [noisy[i] for i in range(2)], share)[0]["a"]
    assert isinstance(found, Estimate)
    assert found.value == 60 + middle
    if more == 0:  # perhaps nobody is there
        assert (found.low, found.high) == (0, 120)
        return
    sums = range(middle * people - a, middle * people + a + 1)
    every = [60 + F(total, count) for total in sums for count in range(people - b, people + b + 1)]
    assert (found.low, found.high) == (max(min(every), F(0)), min(max(every), F(120)))


def test_averages_stay_in_the_declared_range() -> None:
    asked = without_pairs(read(aggregate(Function.AVG, "age", name="a")))
    recipe = asked.recipes[0]

    def average(total: int, count: int) -> Estimate:
        numbers = dict(zip(recipe.measures, ([total], [count]), strict=True))
        cell = lines(asked, [numbers[i] for i in range(2)], F(95, 100))[0]["a"]
        assert isinstance(cell, Estimate)
        return cell

    assert average(10**9, 3) == Estimate(value=F(120), low=F(0), high=F(120), null=True, known=False)
    assert average(-(10**9), -3).value == 0
    assert average(7, 1).value == 67  # one person, or fewer: the sum is that person's
    assert average(7, 0).value == 67
    sure = average(-10_000, 1000)
    assert sure.value == 50
    assert 40 < sure.low < 50 < sure.high < 60


def test_having_order_and_limit_see_published_numbers_only() -> None:
    big = Compare(Relation.GREATER, Arithmetic(Sign.ADD, Column("n"), Literal(F(1))), Literal(F(3)))
    asked = question_of(
        aggregate(Function.COUNT, name="n"), keys=(WARD, Key(name="ill", value=Column("ill"))), having=big,
        order=(Order(name="ward", descending=True), Order(name="n")), limit=4, offset=1,
    )  # fmt: skip
    keys = list(asked.cells.keys())
    noisy = [[9, 1, 8, 7, 3, 6, 5, 4, 2]]
    found = [(line["ward"], line["ill"], plain(line["n"])) for line in lines(asked, noisy, F(1, 2))]
    rows = [(*key, F(n)) for key, n in zip(keys, noisy[0], strict=True) if n + 1 > 3]
    rows.sort(key=lambda row: row[2])
    rows.sort(key=lambda row: {"B": 0, "A": 1, None: 2}[row[0]])  # type: ignore[index]
    assert found == rows[1:5]
    unlimited = dataclasses.replace(asked.plan, limit=None, offset=0, having=None, order=(Order(name="n"),))
    everything = dataclasses.replace(asked, plan=unlimited)
    assert [plain(line["n"]) for line in lines(everything, noisy, F(1, 2))] == sorted(noisy[0])


@given(st.lists(st.integers(-3, 3), min_size=3, max_size=3))
def test_hidden_columns_stay_hidden(noisy: list[int]) -> None:
    shown = dataclasses.replace(plan(aggregate(Function.COUNT, name="n"), keys=(WARD,)), outputs=("ward",))
    asked = ask(outline(shown, KINDS, ROWS), BUDGET, Price(epsilon=1))
    assert all(set(line) == {"ward"} for line in lines(asked, [noisy], F(1, 2)))


def test_equal_plans_have_equal_names_and_unequal_ones_never() -> None:
    first = plan(aggregate(Function.COUNT), where=Compare(Relation.LESS, Column("age"), Literal(F(1, 2))))
    assert fingerprint(first) == fingerprint(dataclasses.replace(first))
    others: list[Any] = [
        dataclasses.replace(first, limit=1), dataclasses.replace(first, where=None), [first], (first, None),
        True, 1, "1", F(1), None, dt.date(2020, 1, 1), dt.datetime(2020, 1, 1), "2020-01-01", ["fraction", "1"],
        [], [[]], "\ud800",
    ]  # fmt: skip
    names = [fingerprint(other) for other in [first, *others]]
    assert len(set(names)) == len(names)
    with pytest.raises(TypeError, match="no canonical form"):
        canonical(math.nan)
    assert canonical((1, 2)) == canonical([1, 2])


def test_the_largest_sum_fits_the_engine() -> None:
    """The largest value times 2**40 rows fits 38 digits, which fit 128 bits."""
    assert LIMIT * 2**40 <= 10**38 < 2**127


def test_a_way_that_is_refused_leaves_the_others() -> None:
    """Refused before or while it is priced; a question is refused only if all ways are, for the first reason."""

    def refused(reason: str) -> Any:
        raise RefusedQueryError(reason, "ask otherwise", "too-large")

    def at_once(reason: str) -> Iterator[tuple[float, Any]]:
        yield 0.0, refused(reason)

    late = [(1.0, lambda: refused("late"))]
    taken = [(2.0, lambda: "taken"), (3.0, lambda: "worse")]
    found: Any = _cheapest([at_once("early"), iter(late), iter(cast(Any, taken))])
    assert found == (2.0, "taken")
    with raises_code(RefusedQueryError, "too-large: early"):
        _cheapest([at_once("early"), iter(late)])
