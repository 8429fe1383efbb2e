"""One price for several measures: it is spent, never exceeded, and divided where the answers err least."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asked import KINDS, N, average, bounds, key, plan, question, single, total
from support.refusals import raises_code

from privet.core.accountant import Budget, rho_cap
from privet.core.expression import Column, Literal
from privet.core.laws import Choice, DiscreteGaussian, DiscreteLaplace
from privet.core.loss import Loss, sequential
from privet.core.measures import KEYS, Role
from privet.core.parts import Gauge, Part, Setting
from privet.core.plan import Aggregate, Function, Plan
from privet.core.ranks import rank
from privet.core.schema import Number
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError, RefusedQueryError
from privet.estimates.estimate import total_error
from privet.estimates.priced import Outline, Priced, outline, variants
from privet.estimates.pricing import LEAST, MOST, Price, _gaussian, ask
from privet.estimates.split import costs, error, shares

COSTS = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=6)
BUDGET = Budget(20, F(1, 2))


def objective(found: Sequence[float], parts: Sequence[F], gauge: Gauge) -> float:
    """What noise at these shares of a price of 1 gives: variances fall with epsilon squared, and with rho."""
    power = 2 if gauge is Gauge.EPSILON else 1
    return math.fsum(cost / float(part) ** power for cost, part in zip(found, parts, strict=True))


@settings(max_examples=100)
@given(COSTS, st.sampled_from(Gauge))
def test_shares_are_a_whole_and_the_best_there_are(found: list[float], gauge: Gauge) -> None:
    parts = shares(found, gauge)
    assert sum(parts) == 1
    assert min(parts) > 0
    reached = objective(found, parts, gauge)
    assert reached <= objective(found, [F(1, len(found))] * len(found), gauge) * (1 + 1e-6)
    assert reached <= error(found, gauge, F(1)) * 1.05 + 1e-9
    assert reached >= error(found, gauge, F(1)) * (1 - 1e-9)


@pytest.mark.parametrize("gauge", list(Gauge))
@pytest.mark.parametrize("found", [[1.0, 1.0, 1.0], [1.0, 8.0, 27.0], [3.0, 0.01, 100.0], [5.0, 5.0, 0.2]])
def test_no_other_split_on_a_grid_is_better(found: list[float], gauge: Gauge) -> None:
    best = objective(found, shares(found, gauge), gauge)
    for a, b in itertools.product(range(1, 99), repeat=2):
        if a + b < 100:
            assert objective(found, [F(a, 100), F(b, 100), F(100 - a - b, 100)], gauge) >= best * (1 - 1e-5)


def test_thousands_of_measures_are_not_split_worse_than_evenly() -> None:
    found = [4.096, 2.744] * 3000
    for gauge in Gauge:
        parts = shares(found, gauge)
        assert sum(parts) == 1
        assert objective(found, parts, gauge) < objective(found, [F(1, 6000)] * 6000, gauge)


def test_what_the_best_error_is_made_of() -> None:
    """By hand: cube roots for epsilon, square roots for rho; half the price is four or two times the error."""
    assert math.isclose(error([1, 8, 27], Gauge.EPSILON, F(1)), 216)
    assert math.isclose(error([1, 8, 27], Gauge.EPSILON, F(1, 2)), 4 * 216)
    assert math.isclose(error([1, 4, 9], Gauge.RHO, F(1)), 36)
    assert math.isclose(error([1, 4, 9], Gauge.RHO, F(1, 2)), 72)
    assert shares([1, 8, 27], Gauge.EPSILON) == [F("0.1667"), F("0.3333"), F("0.5")]
    assert shares([7.0], Gauge.RHO) == [F(1)]


@pytest.mark.parametrize("gauge", list(Gauge))
def test_costs_are_variances_in_units_of_what_a_unit_adds(gauge: Gauge) -> None:
    """A count, and the sum of a boolean, are the same; an average weighs its count by a third."""
    read = outline(plan((), N, total("s", "smoker"), average("a", "cost")), KINDS, bounds())
    setting = read.setting()
    found = costs(read.measures, read.recipes, setting, gauge)
    roles = [(measure.role, measure.value is None) for measure in read.measures]
    assert roles[:3] == [(Role.COUNT, True), (Role.COUNT, False), (Role.SUM, False)]
    assert found[0] == found[2] == found[3]
    assert math.isclose(found[1], found[0] / 3)
    wide = replace(setting, bounds=replace(setting.bounds, rows=30))
    assert costs(read.measures, read.recipes, wide, gauge) == pytest.approx(found)  # as many rows, as much more noise
    half = Bounds(groups=1, rows=3, neighbors=Neighbors.ADD_REMOVE)
    assert costs([KEYS], [], Setting(cells=None, bounds=half), gauge)[0] == (16 if gauge is Gauge.EPSILON else 8)


# Every kind of question, at every kind of price


FUNCTIONS = list(Function)
NUMBERS = ["cost", "change", "nothing", "age", "smoker"]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    made = []
    for place in range(draw(st.integers(1, 5))):
        function = draw(st.sampled_from(FUNCTIONS))
        bare = function in (Function.COUNT, Function.COUNT_DISTINCT) and draw(st.booleans())
        pair = function in (Function.COVAR_POP, Function.COVAR_SAMP, Function.CORR)
        made.append(
            Aggregate(
                name=f"a{place}",
                function=function,
                value=None if bare else Column(draw(st.sampled_from(NUMBERS))),
                second=Column(draw(st.sampled_from(NUMBERS))) if pair else None,
                quantile=draw(st.fractions(0, 1, max_denominator=1000)) if function is Function.QUANTILE else None,
            )
        )
    by = draw(st.sampled_from([(), ("sex",), ("city",), ("sex", "city"), ("age",)]))
    private = draw(st.booleans())
    word = "city" in by or (private and "sex" in by)
    other = "rest" if word and draw(st.booleans()) else None
    return plan(tuple(map(key, by)), *made, private_keys=private, other=other)


LIMITS = st.builds(
    Bounds, groups=st.integers(1, 4), rows=st.integers(1, 3), neighbors=st.sampled_from(list(Neighbors))
)  # fmt: skip
PRICES = st.sampled_from([F(1, 100), F(1, 7), F(1), F(29, 10), F(5)])
DELTAS = st.sampled_from([F(1, 100), F(1, 10**6), F(1, 10**12)])


def own_price(part: Part) -> Loss:
    """From the noise alone: what this part costs by itself."""
    law, far = part.law, part.sensitivity
    if isinstance(law, DiscreteLaplace):
        pure = far.l1 / law.scale
        return Loss(epsilon=pure, rho=pure**2 / 2)
    if isinstance(law, DiscreteGaussian):
        return Loss(epsilon=None, rho=far.l2_squared / (2 * law.variance))
    return Loss(epsilon=2 * law.rate * far.l1, rho=law.rate**2 * far.l2_squared / 2)


def is_gaussian(asked: Priced) -> bool:
    """All noise, but Laplace noise of keys, is paid in zCDP: there the parts share a joint price."""
    return any(part.loss.delta and part.threshold is None for part in asked.parts)


def is_converted(part: Part) -> bool:
    """Not by its pure price."""
    return part.loss.delta > part.loss.rho_delta or (part.loss.delta > 0 and isinstance(part.law, DiscreteGaussian))


@settings(max_examples=80)
@given(plans(), LIMITS, PRICES, st.none() | DELTAS)
def test_an_epsilon_is_spent_and_never_exceeded(asked: Plan, limits: Bounds, epsilon: F, delta: F | None) -> None:
    read = outline(asked, KINDS, limits)
    if read.cells.private and delta is None:
        delta = F(1, 10**6)
    found = ask(read, BUDGET, Price(epsilon=epsilon, delta=delta))
    assert found.loss == sequential([part.loss for part in found.parts])
    assert found.loss.epsilon == epsilon
    assert found.loss.delta <= (delta or 0)
    assert found.loss.rho_delta <= found.loss.delta
    keys = [part for part in found.parts if part.threshold is not None]
    assert len(keys) == read.cells.private
    converted = [part for part in found.parts if is_converted(part)]
    for part in found.parts:
        if part not in converted:
            assert own_price(part).epsilon == part.loss.epsilon
        assert (own_price(part).rho or 0) <= (part.loss.rho or 0)
    if not converted:
        return
    for part in converted:
        assert F(999_999, 10**6) * (part.loss.rho or 0) <= (own_price(part).rho or 0)
    rho = sum((own_price(part).rho or F(0) for part in converted), F(0))
    joint = sequential([part.loss for part in converted])
    assert rho <= (joint.rho or 0)
    assert joint.rho_delta == sum(part.loss.rho_delta for part in keys if part in converted)
    assert joint.epsilon is not None
    assert rho <= rho_cap(joint.epsilon, joint.delta - joint.rho_delta)


@settings(max_examples=60)
@given(plans(), LIMITS, PRICES, DELTAS)
def test_a_rho_is_spent_and_never_exceeded(asked: Plan, limits: Bounds, rho: F, delta: F) -> None:
    read = outline(asked, KINDS, limits)
    found = ask(read, BUDGET, Price(rho=rho, delta=delta if read.cells.private else None))
    assert found.loss == sequential([part.loss for part in found.parts])
    assert found.loss.rho is not None
    assert rho * F(999_999, 10**6) <= found.loss.rho <= rho
    assert found.loss.rho_delta <= found.loss.delta <= (delta if read.cells.private else 0)
    for part in found.parts:
        assert (own_price(part).rho or 0) <= (part.loss.rho or 0)


@settings(max_examples=40)
@given(st.lists(st.sampled_from(["n", "s", "p", "d"]), min_size=1, unique=True), LIMITS, st.integers(1, 10**5))
def test_within_is_kept_by_every_kind_of_total(names: list[str], limits: Bounds, target: int) -> None:
    kinds = {
        "n": N,
        "s": total("s", "smoker"),
        "p": Aggregate(name="p", function=Function.COUNT_DISTINCT),
        "d": Aggregate(name="d", function=Function.COUNT_DISTINCT, value=Column("city")),
    }
    read = outline(plan((key("sex"),), *(kinds[name] for name in names)), KINDS, limits)
    found = ask(read, BUDGET, Price(within=target))
    for recipe in found.recipes:
        assert total_error(recipe, found.parts, F(95, 100)) <= target
    assert found.loss == sequential([part.loss for part in found.parts])


@pytest.mark.parametrize("beside", [N, average("a", "nothing"), average("b", "age")], ids=lambda one: one.name)
def test_a_column_that_is_always_zero_has_a_sum(beside: Aggregate) -> None:
    """Beside it a count or an average, with which sums are tried as pairs."""
    asked = single(plan((), total("s", "nothing"), beside))
    assert asked.loss.epsilon == 1


def test_sums_come_from_centered_ones_where_that_errs_less() -> None:
    """An age lies between 0 and 120: its sum with its count beside it has noise for 60."""
    asked = single(plan((), N, total("s", "age")))
    assert [recipe.measures for recipe in asked.recipes] == [(0,), (1, 0)]
    alone = question(plan((), total("s", "age")), epsilon=1)
    assert alone.parts[0].measure.center == 0
    read = outline(plan((), N, total("s", "age")), KINDS, bounds())
    found = [costs(one.released, one.recipes, one.setting(), Gauge.EPSILON) for one in variants(read)]
    assert error(found[1], Gauge.EPSILON, F(1)) < error(found[0], Gauge.EPSILON, F(1))


def test_a_way_that_is_refused_does_not_refuse_the_others() -> None:
    """With this delta Gaussian noise would be too wide; and a sum over rows with 0 for what is missing needs a grid
    that is too fine. The question can be asked without either."""
    variance = Aggregate(name="v", function=Function.VAR_POP, value=Column("cost"))
    read = outline(plan((), variance), KINDS, bounds(groups=1, rows=2, neighbors=Neighbors.REPLACE))
    with raises_code(RefusedQueryError, "too-fine"):
        [asked() for _, asked in _gaussian(read, F(1, 1000), F(1, 10**12))]
    asked = ask(read, BUDGET, Price(epsilon="0.001", delta="1e-12"))
    assert asked.parts == ask(read, BUDGET, Price(epsilon="0.001")).parts
    coarse = {"x": Number(0, 10**27, step=1000)}
    assert len(variants(outline(plan((), N, total("s", "x")), coarse, bounds()))) == 1
    with raises_code(RefusedQueryError, "too-fine"):
        ask(read, BUDGET, Price(epsilon="1e-9", delta="1e-12"))


def test_more_cells_of_a_person_take_gaussian_noise() -> None:
    wanted = plan((key("sex"), key("ward")), N, average("a", "age"), average("b", "cost"))
    read = outline(wanted, KINDS, bounds(groups=12, rows=1))
    assert is_gaussian(ask(read, BUDGET, Price(epsilon=1, delta=F(1, 10**6))))
    assert not is_gaussian(ask(outline(plan((), N), KINDS, bounds()), BUDGET, Price(epsilon=1, delta=F(1, 10**6))))


# The joint price of Gaussian noise and choices, from the exact law of everything that is published


Pairs = list[tuple[float, float]]


def shifted(law: DiscreteGaussian, shift: int) -> Pairs:
    sigma = math.sqrt(law.variance)
    span = range(-math.ceil(9 * sigma) - shift, math.ceil(9 * sigma) + shift + 1)
    weights = [math.exp(-float(law.exponent(x))) for x in span]
    moved = [math.exp(-float(law.exponent(x - shift))) for x in span]
    whole = math.fsum(weights)
    return [(a / whole, b / whole) for a, b in zip(weights, moved, strict=True)]


def chosen(part: Part, one: Counter[int], other: Counter[int]) -> Pairs:
    """The law of a choice by rank, in both tables."""
    assert isinstance(part.law, Choice)
    laws = []
    for rows in (one, other):
        at = rank(part.measure, part.law, rows.total())
        every = rows + Counter({part.measure.low: at.below}) + Counter({part.measure.high: at.above})
        losses = [
            max(
                0,
                at.unit * sum(n for x, n in every.items() if x < v) - at.target,
                at.target - at.unit * sum(n for x, n in every.items() if x <= v),
            )
            for v in range(part.measure.low, part.measure.high + 1)
        ]
        weights = [math.exp(-float(part.law.rate) * loss) for loss in losses]
        laws.append([weight / math.fsum(weights) for weight in weights])
    return list(zip(*laws, strict=True))


def joint_delta(parts: Sequence[Part], epsilon: F, scale: float = 1.0) -> float:
    """One person more, who adds all there is to every number: the smallest delta at epsilon."""
    found: Pairs = [(1.0, 1.0)]
    for part in parts:
        if isinstance(part.law, Choice):
            pairs = chosen(part, Counter([1, 1, 2]), Counter([1, 1, 2, 0]))
        else:
            assert isinstance(part.law, DiscreteGaussian)
            pairs = shifted(DiscreteGaussian(part.law.variance * F(scale)), part.sensitivity.linf)
        joined: dict[float, tuple[float, float]] = {}
        for (a, b), (c, d) in itertools.product(found, pairs):
            ratio = round(math.log(a * c) - math.log(b * d), 6)
            before = joined.get(ratio, (0.0, 0.0))
            joined[ratio] = (before[0] + a * c, before[1] + b * d)
        found = list(joined.values())
    factor = math.exp(epsilon)
    return max(math.fsum(max(0.0, p - factor * q) for p, q in way) for way in (found, [(q, p) for p, q in found]))


def gaussian_of(*made: Aggregate, epsilon: F, delta: F) -> Priced:
    read: Outline = outline(plan((), *made), KINDS, bounds(rows=1))
    ((_, asked),) = _gaussian(read, epsilon, delta)
    return asked()


MEDIAN = Aggregate(name="m", function=Function.QUANTILE, value=Column("smoker"), quantile=F(1, 2))


@pytest.mark.parametrize("epsilon", [F(1, 2), F(1), F(3)])
@pytest.mark.parametrize("delta", [F(1, 20), F(1, 1000)])
@pytest.mark.parametrize("made", [(N,), (N, total("s", "smoker")), (N, total("s", "smoker"), MEDIAN)], ids=len)
def test_numbers_and_choices_share_one_price(made: tuple[Aggregate, ...], epsilon: F, delta: F) -> None:
    asked = gaussian_of(*made, epsilon=epsilon, delta=delta)
    assert asked.loss == Loss(epsilon=epsilon, delta=delta, rho=rho_cap(epsilon, delta))
    assert joint_delta(asked.parts, epsilon) <= delta
    assert joint_delta(asked.parts, epsilon, scale=0.3) > delta  # with a third of the variance it would not be


def test_a_delta_that_buys_no_rho_is_left_out() -> None:
    read = outline(plan((), N), KINDS, bounds())
    assert list(_gaussian(read, F(1, 10**9), LEAST)) == []
    assert list(_gaussian(read, F(1), None)) == []
    people = outline(plan((key("city"),), Aggregate(name="p", function=Function.COUNT_DISTINCT)), KINDS, bounds())
    assert list(_gaussian(people, F(1), F(1, 1000))) == []  # nothing but keys


@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_keys_pay_for_themselves_beside_gaussian_noise(neighbors: Neighbors) -> None:
    limits = bounds(groups=3, neighbors=neighbors)
    read = outline(plan((key("city"),), N, average("a", "age"), average("b", "cost")), KINDS, limits)
    ((_, priced),) = _gaussian(read, F(1), F(1, 1000))
    asked = priced()
    *noisy, keys = asked.parts
    assert asked.loss.epsilon == 1
    assert F(1, 1000) * F(999_999, 10**6) < asked.loss.delta <= F(1, 1000)
    rest = sequential([part.loss for part in noisy])
    assert rest.delta == F(1, 2000)
    assert rest.rho_delta == 0
    assert rest.rho == rho_cap(1 - (keys.loss.epsilon or F(0)), F(1, 2000))
    assert keys.loss.delta == keys.loss.rho_delta == asked.loss.rho_delta <= F(1, 2000)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"epsilon": MOST + F(1, 10**9)}, "too-large: 1000"),
        ({"epsilon": "1e399"}, "too-large: 1000"),
        ({"rho": "500001"}, "too-large: 500000"),
        ({"epsilon": 1, "delta": 0}, "not-positive: delta … above 0"),
        ({"epsilon": 1, "delta": "9e-41"}, "too-small: 1e-40"),
        ({"epsilon": 1, "delta": 1}, "out-of-range: least 0 … below 1"),
        ({"within": 1, "delta": "1e-9"}, "unneeded-delta: within="),
    ],
)
def test_prices_that_nobody_has(given: dict[str, Any], problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        ask(outline(plan((), N), KINDS, bounds()), BUDGET, Price(**given))


def test_prices_at_the_limits_are_read() -> None:
    read = outline(plan((key("city"),), N, average("a", "age")), KINDS, bounds(neighbors=Neighbors.REPLACE))
    amounts: list[dict[str, Any]] = [{"epsilon": MOST}, {"rho": MOST**2 // 2}, {"epsilon": 1}]
    for amount in amounts:
        assert ask(read, BUDGET, Price(**amount, delta=LEAST)).loss.delta <= LEAST
    with raises_code(InvalidInputError, "unneeded-delta: budget"):
        ask(outline(plan((), N), KINDS, bounds()), Budget(3), Price(epsilon=1, delta="1e-9"))


def test_a_constant_is_split_and_priced_like_anything_else() -> None:
    made = Aggregate(name="v", function=Function.VAR_POP, value=Literal(F(7, 2)))
    assert question(plan((), made), epsilon=1).loss.epsilon == 1
