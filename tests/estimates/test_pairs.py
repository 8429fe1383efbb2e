"""Pairs of sums: what is made of them, their intervals against the exact law, and where they are chosen."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction as F
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asked import KINDS, N, answer, average, bounds, key, plan, question, single, total

from privet.core.accountant import Budget
from privet.core.expression import Absolute, Arithmetic, Column, Compare, Literal, Quotient, Relation, Sign
from privet.core.laws import DiscreteGaussian, DiscreteLaplace
from privet.core.measures import Measure, Role
from privet.core.parts import Gauge
from privet.core.plan import Aggregate, Computed, Function
from privet.core.schema import Integer, Number
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.estimates.estimate import lines, plain, total_error
from privet.estimates.moments import Estimate, moment
from privet.estimates.pairs import (
    NoisyPair,
    as_rows,
    as_squares,
    as_sum,
    average_of,
    count_of,
    furthest,
    sum_of,
)
from privet.estimates.priced import Priced, lowered, outline
from privet.estimates.pricing import Price, Way, _joint, ask
from privet.estimates.split import costs, error
from privet.estimates.weighted import weighted_half_width

SHARE = F(95, 100)
COUNTED = Aggregate(name="n", function=Function.COUNT, value=Column("age"))


def roles(asked: Priced) -> list[str]:
    return [str(part.measure.role) for part in asked.parts]


def of(function: Function, column: str = "age", second: str | None = None) -> Aggregate:
    other = None if second is None else Column(second)
    return Aggregate(name=str(function), function=function, value=Column(column), second=other)


@cache
def masses(scale: F, reach: int) -> dict[int, float]:
    """A discrete Laplace law, listed."""
    weights = {x: math.exp(-abs(x) / float(scale)) for x in range(-reach, reach + 1)}
    whole = sum(weights.values())
    return {x: weight / whole for x, weight in weights.items()}


# The noise of two numbers together


@pytest.mark.parametrize("scale", [F(1, 3), F(1), F(7, 2)])
@pytest.mark.parametrize("weights", [(1, 0), (F(1, 2), F(1, 2)), (F(3, 4), F(1, 4)), (F(99, 100), F(1, 100)), (2, 1)])
@pytest.mark.parametrize("share", [F(1, 2), SHARE, F(99, 100)])
def test_weighted_noise_is_inside_as_often_as_said(scale: F, weights: tuple[F, F], share: F) -> None:
    """By the law itself, term by term; with 30 % less it is not, but for the whole steps that noise comes in."""
    a, b = map(F, weights)
    width = weighted_half_width(DiscreteLaplace(scale), (a, b), share)
    law = masses(scale, 60)

    def inside(limit: F) -> float:
        return math.fsum(
            p * q for (x, p), (y, q) in itertools.product(law.items(), repeat=2) if abs(a * x + b * y) <= limit
        )

    assert inside(width) >= float(share) - 1e-9
    assert inside(width * F(7, 10) - a - b) < float(share)
    assert weighted_half_width(DiscreteLaplace(scale), (b, a), share) == width


@pytest.mark.parametrize("weights", [(4, 2, 0), (4, 4, 4), (2, 0, 2), (4, 3, 1), (4, 4, 1), (5, 6, 5), (4, 1, 1)])
@pytest.mark.parametrize("share", [F(1, 2), SHARE, F(999, 1000)])
def test_three_weighted_noises_are_inside_as_often_as_said(weights: tuple[int, ...], share: F) -> None:
    """By the law itself, at scales 2 and 20: never less often than said, and with 10 % less not so often, but for the
    whole steps that noise comes in."""
    for scale in (2, 20):
        width = weighted_half_width(DiscreteLaplace(F(scale)), tuple(F(weight, 4) for weight in weights), share)
        law = masses(F(scale), 22 * scale)
        found = np.ones(1)
        for weight in filter(None, weights):
            spread = np.zeros(weight * 44 * scale + 1)
            spread[::weight] = [law[x] for x in sorted(law)]
            found = np.convolve(found, spread)
        far = np.abs(np.arange(len(found)) - len(found) // 2)
        assert found[far <= 4 * width].sum() >= float(share) - 1e-8
        steps = F(sum(weights), 4) if len({*weights} - {0}) > 1 else max(weights) / F(4)
        assert found[far <= 4 * (width * F(9, 10) - steps)].sum() < float(share)


def test_the_continuous_law_bounds_wide_noise_tightly() -> None:
    """Equal weights have a law of their own; weights near them need no more than 3 % more."""
    law = DiscreteLaplace(F(10_000))
    equal = weighted_half_width(law, (F(1), F(1)), SHARE)
    assert equal <= weighted_half_width(law, (F(1), F(995, 1000)), SHARE) <= equal * F(103, 100)
    assert furthest(law, SHARE) < weighted_half_width(law, (F(1), F(0)), SHARE) * F(104, 100)
    gauss = DiscreteGaussian(F(10**6))
    for noise, cells in ((gauss, 1), (gauss, 3), (law, 3)):  # by a union bound
        apart = weighted_half_width(noise, (F(1), F(1, 2)), SHARE, cells)
        assert weighted_half_width(noise, (F(1), F(0)), SHARE, cells) < apart
        assert apart < 2 * weighted_half_width(noise, (F(1), F(1)), SHARE, cells)


# Intervals, against every noise there is

WORST = [
    (low, high, values)
    for low, high in ((0, 1), (-1, 2))
    for values in ((low,), (high,), (low,) * 6, (high,) * 6, (low, low, high, low, low, (low + high) // 2))
]


@pytest.mark.parametrize(("low", "high", "values"), WORST)
def test_intervals_hold_in_small_and_extreme_groups(low: int, high: int, values: tuple[int, ...]) -> None:
    """One row, equal values at either end: all noises of both numbers up to ten scales, with their probabilities."""
    width = high - low
    law, noise = masses(F(width), 10 * width), DiscreteLaplace(F(width))
    measure = Measure(role=Role.PAIR, value=Column("x"), center=low, low=0, high=width)
    above = sum(value - low for value in values)
    below = width * len(values) - above
    exact = {count_of: F(len(values)), sum_of: F(sum(values)), average_of: F(sum(values), len(values))}
    missed = dict.fromkeys(exact, 0.0)
    for (x, p), (y, q) in itertools.product(law.items(), repeat=2):
        pair = NoisyPair(measure=measure, above=above + x, below=below + y, law=noise)
        for made, truth in exact.items():
            found = made(pair, SHARE)
            assert found.low <= found.value <= found.high  # type: ignore[operator]
            missed[made] += p * q * (not found.low <= truth <= found.high)  # type: ignore[operator]
    assert max(missed.values()) <= 0.05 + 1e-9, missed


@pytest.mark.parametrize("values", [(2,), (-1, -1, 2, -1, 0, 0, 2)])
def test_intervals_by_squares_hold_in_small_and_extreme_groups(values: tuple[int, ...]) -> None:
    """From -1 to 2, at scale 1: all noises of the three numbers up to seven scales, with their probabilities."""
    law, noise = masses(F(1), 7), DiscreteLaplace(F(1))
    measure = Measure(role=Role.SQUARES, value=Column("x"), center=-1, low=0, high=3)
    sides = [(value + 1, 2 - value) for value in values]
    numbers = [sum(u * u for u, _ in sides), sum(2 * u * v for u, v in sides), sum(v * v for _, v in sides)]
    n, mean = len(values), F(sum(values), len(values))
    each = 1 - (1 - SHARE) / 3
    exact = {"n": F(n), "sum": F(sum(values)), "avg": mean, "var": F(sum(x**2 for x in values), n) - mean**2}
    missed = dict.fromkeys(exact, 1 - math.fsum(law.values()) ** 3 + 3 * 2 * math.exp(-8))
    for (x, p), (y, q), (z, r) in itertools.product(law.items(), repeat=3):
        above, between, below = (one + more for one, more in zip(numbers, (x, y, z), strict=True))
        seen = NoisyPair(measure=measure, above=above, between=(between,), below=below, law=noise)
        parts = [made(seen, each) for made in (as_sum, as_squares, as_rows)]
        made = {"n": count_of(seen, SHARE), "sum": sum_of(seen, SHARE), "avg": average_of(seen, SHARE)}
        for name, found in (made | {"var": moment(Function.VAR_POP, parts)}).items():
            missed[name] += p * q * r * (not found.low <= exact[name] <= found.high)  # type: ignore[operator]
    assert max(missed.values()) <= 0.05 + 1e-9, missed


@pytest.mark.parametrize("mean", [F(0), F(1, 2), F(9, 10)])
@pytest.mark.parametrize("spread", [F(1, 50), F(1, 3)])
def test_the_law_of_a_variance_has_the_error_that_is_said(mean: F, spread: F) -> None:
    """By first order, of values between -1 and 1 with this mean, and this variance times the most that there can be.
    By squares it errs less than by a pair and a sum of squares, wherever the mean is."""
    asked = question(plan((), of(Function.VAR_POP)))
    assert roles(asked) == ["squares"]
    s = float(spread * (1 - mean**2))
    m, scale = float(mean), float(asked.parts[0].law.scale) / asked.parts[0].measure.size  # type: ignore[union-attr]
    squares = 2 * scale**2 * (((1 - m) ** 2 - s) ** 2 + (1 - m**2 + s) ** 2 + ((1 + m) ** 2 - s) ** 2)
    asked = ask(outline(asked.plan, KINDS, bounds()), Budget(9), Price(epsilon=1), allowed=frozenset({Way.PAIRS}))
    laws = {part.measure.role: (part.law, part.measure) for part in asked.parts}
    one, two = (float(laws[role][0].scale) / laws[role][1].size for role in (Role.PAIR, Role.SUM))  # type: ignore[union-attr]
    count = m**2 - s + 0.5
    pair = 2 * one**2 * ((count - 2 * m) ** 2 + (count + 2 * m) ** 2) + 2 * two**2 / 4
    assert 1.02 < math.sqrt(pair / squares) < 1.4


def test_a_sum_of_squares_that_is_asked_for_itself_stays_one() -> None:
    """It is the very measure that a variance needs: it must not become the sum of the values."""
    where = Compare(Relation.GREATER, Column("age"), Literal(F(-1)))
    distance = Absolute(Arithmetic(Sign.SUBTRACT, Column("age"), Literal(F(60))))
    squares = Aggregate(name="q", function=Function.SUM, value=Arithmetic(Sign.MULTIPLY, distance, distance))
    asked = question(plan((), of(Function.VAR_POP), squares, COUNTED, where=where))
    used = {
        recipe.aggregate.name: [asked.parts[place].measure for place in recipe.measures] for recipe in asked.recipes
    }
    assert used["q"][0].value == squares.value
    assert {measure.role for measure in used["q"]} <= {Role.SUM, Role.COUNT, Role.PAIR}
    assert "squares" not in roles(asked)


@pytest.mark.parametrize(("high", "epsilon", "wanted"), [(2**20, 1, "squares"), (2**27, 8, "pair"), (1, 1, "pair")])
def test_squares_are_not_asked_where_they_would_be_too_fine(high: int, epsilon: int, wanted: str) -> None:
    """Noise of 2**50 steps and more is refused; pairs need less. Of 0 and 1 the squares are the values."""
    read = outline(plan((), of(Function.VAR_POP, "x")), {"x": Integer(0, high)}, bounds(1, 1))
    assert wanted in roles(ask(read, Budget(9), Price(epsilon=epsilon)))


def test_nobody_is_perhaps_there() -> None:
    """No average is known of few rows; of many it is not NULL, and the interval is narrow."""
    measure = Measure(role=Role.PAIR, value=Column("x"), center=10, low=0, high=90, step=F(1, 10))
    law = DiscreteLaplace(F(90))
    few = average_of(NoisyPair(measure=measure, above=40, below=30, law=law), SHARE)
    assert few.null
    assert (few.low, few.high) == (1, 10)
    none = average_of(NoisyPair(measure=measure, above=-400, below=100, law=law), SHARE)
    assert (none.value, none.low, none.high, none.null) == (1, 1, 10, True)
    many = average_of(NoisyPair(measure=measure, above=45_000, below=45_000, law=law), SHARE)
    assert not many.null
    assert many.value == F(55, 10)
    assert many.high - many.low < F(1, 10)  # type: ignore[operator]
    assert (none.known, none.shown, many.known) == (False, None, True)
    beyond = average_of(NoisyPair(measure=measure, above=95_000, below=-5_000, law=law), SHARE)
    assert (beyond.value, beyond.low, beyond.high) == (10, 1, 10)  # no t is possible: nothing is said


@pytest.mark.parametrize("t", [F(0), F(1, 4), F(1, 2), F(1)])
def test_intervals_of_averages_are_narrower_than_from_sum_and_count(t: F) -> None:
    """At the same price, for 1,000 rows; a quarter less at least, whatever the average is."""
    pair, apart = question(plan((), average("a", "age"))), single(plan((), average("a", "age")))
    above = int(1000 * 120 * t)
    (one,) = lines(pair, [[above, 120_000 - above]], SHARE)
    vectors = [[1000 if part.measure.role is Role.COUNT else above - 60_000] for part in apart.parts]
    (two,) = lines(apart, vectors, SHARE)
    narrow, wide = one["a"], two["a"]
    assert isinstance(narrow, Estimate)
    assert isinstance(wide, Estimate)
    assert narrow.value == wide.value
    assert narrow.high - narrow.low < F(3, 4) * (wide.high - wide.low)  # type: ignore[operator]


# What is made of a pair


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-8, 13), min_size=2, max_size=12))
def test_without_noise_the_exact_values_come_back(values: list[int]) -> None:
    """Counts, sums, averages, variances and correlations; a sum beside the count of a pair, too."""
    kinds = {"x": Integer(-8, 13), "y": Integer(0, 7)}
    wanted = [of(function, "x") for function in (Function.COUNT, Function.SUM, Function.AVG, Function.VAR_POP)]
    wanted += [Aggregate(name="other", function=Function.AVG, value=Column("y"))]
    asked = ask(outline(plan((), *wanted), kinds, bounds()), Budget(1000), Price(epsilon=1000))
    assert "pair" in roles(asked)
    seconds = [value % 8 for value in values]
    vectors = [_exact(part.measure, values, seconds) for part in asked.parts]
    (line,) = lines(asked, vectors, F(1, 2))
    n, mean = len(values), F(sum(values), len(values))
    found = {name: plain(item) for name, item in line.items()}
    assert found == {
        "COUNT": n,
        "SUM": sum(values),
        "AVG": mean,
        "VAR_POP": F(sum(value**2 for value in values), n) - mean**2,
        "other": F(sum(seconds), n),
    }


def _exact(measure: Measure, values: list[int], seconds: list[int]) -> list[int]:
    """What a back end gives, for the measures of the question above."""
    named = list(_columns(measure))
    source = seconds if named == ["y"] else values
    steps = [value - measure.center for value in source]
    if "ABS" in repr(measure.value).upper():  # the square of the distance from the middle, which is 2
        steps = [(value - 2) ** 2 - measure.center for value in source]
    if measure.role is Role.COUNT:
        return [len(source)]
    if measure.role is Role.SQUARES:
        sides = [(step, measure.high - step) for step in steps]
        return [sum(u * u for u, _ in sides), sum(2 * u * v for u, v in sides), sum(v * v for _, v in sides)]
    above = sum(steps)
    return [above, measure.high * len(source) - above] if measure.role is Role.PAIR else [above]


def _columns(measure: Measure) -> set[str]:
    text = repr(measure.value)
    return {name for name in ("x", "y") if f"'{name}'" in text}


def test_numbers_of_a_pair_hold_together_in_a_computed_column() -> None:
    """SUM and COUNT of one pair are two statements: each must hold with half the misses."""
    each = Computed(name="each", value=Quotient(Column("s"), Column("n")))
    asked = question(plan((), COUNTED, total("s", "age"), computed=(each,), outputs=("each", "s", "n")))
    assert roles(asked) == ["pair"]
    (line,) = answer(asked, [70_000, 50_000]).lines()
    pair = NoisyPair(measure=asked.parts[0].measure, above=70_000, below=50_000, law=asked.parts[0].law)  # type: ignore[arg-type]
    half = 1 - (1 - SHARE) / 2
    s, n = sum_of(pair, half), count_of(pair, half)
    assert line["each"].low == s.low / n.high  # type: ignore[operator, union-attr]
    assert line["each"].high == s.high / n.low  # type: ignore[operator, union-attr]
    assert line["n"] == count_of(pair, SHARE)


def test_errors_said_before_are_those_of_the_interval() -> None:
    asked = question(plan((), COUNTED, total("s", "age")))
    (line,) = lines(asked, [[70_000, 50_000]], SHARE)
    for recipe in asked.recipes:
        cell = line[recipe.aggregate.name]
        said = total_error(recipe, asked.parts, SHARE)
        assert said >= cell.high - cell.value  # type: ignore[union-attr, operator]
        assert said - 1 <= cell.high - cell.value  # type: ignore[union-attr, operator]


# Where pairs are chosen


def together(asked: Priced) -> float:
    found = costs(asked.released, asked.recipes, asked.setting(), Gauge.EPSILON)
    return error(found, Gauge.EPSILON, F(1))


def smaller(limits: Bounds, *aggregates: Aggregate, keys: tuple[Any, ...] = ()) -> float:
    """How many times smaller the error is than without pairs, by the costs that decide."""
    asked = plan(keys, *aggregates)
    pair, apart = question(asked, limits), single(asked, limits)
    assert {"pair", "squares"} & set(roles(pair))
    return math.sqrt(together(apart) / together(pair))


def test_errors_get_smaller_by_what_the_rule_says() -> None:
    add, one = bounds(groups=3, rows=2), bounds(groups=1, rows=2, neighbors=Neighbors.REPLACE)
    assert 1.3 < smaller(add, average("a", "age")) < 1.4
    assert 1.02 < smaller(one, average("a", "age")) < 1.09
    assert 1.3 < smaller(one, average("a", "age"), keys=(key("sex"),)) < 1.4
    assert 1.25 < smaller(add, COUNTED, total("s", "age")) < 1.4
    assert 1.3 < smaller(add, COUNTED, total("s", "age"), average("a", "age")) < 1.5
    assert 1.4 < smaller(add, of(Function.VAR_POP)) < 1.6
    assert 1.2 < smaller(one, of(Function.VAR_POP)) < 1.4
    assert 1.5 < smaller(add, COUNTED, average("a", "age"), of(Function.STDDEV_SAMP)) < 1.6
    assert smaller(add, of(Function.COUNT, "change"), total("s", "change")) > 1.3  # its middle is 0


@pytest.mark.parametrize("t", [F(0), F(1, 2), F(1)])
def test_the_law_of_an_average_has_the_variance_that_is_said(t: F) -> None:
    """Of U / (U + V) to first order: (1 - t)^2 + t^2 times the variance of one number, over the square of U + V."""
    asked, apart = question(plan((), average("a", "age"))), single(plan((), average("a", "age")))
    variance = 2 * float(asked.parts[0].law.scale) ** 2 * float((1 - t) ** 2 + t**2)  # type: ignore[union-attr]
    laws = {part.measure.role: part.law for part in apart.parts}
    other = 2 * float(laws[Role.SUM].scale) ** 2 + 2 * (float(laws[Role.COUNT].scale) * 120 * float(t - F(1, 2))) ** 2  # type: ignore[union-attr]
    assert 1.19 < math.sqrt(other / variance) < 1.5


def test_one_pair_supplies_the_count_of_several_columns() -> None:
    """The others stay centered; the count has no noise of its own."""
    kinds = {"x": Integer(0, 100), "y": Integer(5, 9), "z": Number(0, 1, step="0.1")}
    where = Compare(Relation.GREATER, Column("x"), Literal(F(-1)))  # no value is missing in rows that pass
    asked_for = [Aggregate(name=name, function=Function.AVG, value=Column(name)) for name in "xyz"]
    read = outline(plan((), *asked_for, where=where), kinds, bounds())
    asked = ask(read, Budget(3), Price(epsilon=1))
    assert sorted(roles(asked)).count("pair") >= 1
    assert sum(part.loss.epsilon for part in asked.parts) == 1  # type: ignore[misc]


def test_no_pairs_where_nothing_is_gained_or_intervals_would_be_lost() -> None:
    ages = average("a", "age")
    for price in ({"rho": "0.1"}, {"epsilon": "0.1", "delta": "1e-9"}):
        found = question(plan((key("sex"),), ages), bounds(groups=3, rows=500), **price)
        assert "pair" not in roles(found) or "epsilon" in price
    tested = Compare(Relation.GREATER, Column("n"), Literal(F(10)))
    assert "pair" not in roles(question(plan((), COUNTED, ages, having=tested)))
    by_key = Compare(Relation.EQUAL, Column("sex"), Literal("f"))
    assert "pair" in roles(question(plan((key("sex"),), COUNTED, ages, having=by_key)))
    assert "pair" not in roles(question(plan((key("sex"),), ages, levels=(("sex",), ()))))
    assert "pair" not in roles(question(plan((), average("a", "nothing"))))
    assert roles(question(plan((), total("s", "age")))) == ["sum"]
    coarse = {"x": Number(0, 10**27, step=1000)}
    read = outline(plan((), N, total("s", "x")), coarse, bounds())
    assert lowered(read, joint=True) is None  # a missing value as 0 needs a grid that is too fine
    assert not list(_joint(read, F(1), None, lambda one, _: one, 3))


def test_questions_about_everything_still_cost_what_was_given() -> None:
    functions = (Function.AVG, Function.STDDEV_SAMP, Function.COVAR_POP, Function.CORR)
    wanted = [of(f, "age", "cost" if f in (Function.COVAR_POP, Function.CORR) else None) for f in functions]
    for neighbors in Neighbors:
        asked = question(plan((key("sex"),), N, *wanted), bounds(2, 3, neighbors))
        assert "squares" in roles(asked)
        assert asked.loss.epsilon == 1
        numbers = [[1000 * (n + 1)] * (3 * part.measure.numbers) for n, part in enumerate(asked.parts)]
        for line in lines(asked, numbers, SHARE):
            for cell in list(line.values())[1:]:
                assert cell.low <= cell.value <= cell.high  # type: ignore[union-attr, operator]
