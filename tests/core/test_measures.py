"""Lowering: the measures of a plan, computed without noise, give back plain statistics of the rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction as F

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.plain_statistics import (
    BOUNDS,
    COMPUTED,
    KINDS,
    NUMBERS,
    ROOTS,
    SHAPES,
    Row,
    X,
    Y,
    aggregate,
    exact,
    plan,
    rows,
    statistic,
)  # fmt: skip
from support.refusals import raises_code

from privet.core.accountant import Budget
from privet.core.expression import (
    And,
    Case,
    Coalesce,
    Column,
    Expression,
    IsNull,
    Literal,
    Not,
    Or,
)
from privet.core.measures import CHOSEN, FINEST, KEYS, ROWS, WIDEST, End, Measure, Role, Wish, measures_of
from privet.core.parts import Gauge, Setting, priced, sensitivity_of
from privet.core.plan import Aggregate, Function, Key
from privet.core.schema import Integer, Kind
from privet.core.sensitivity import Bounds, sensitivity
from privet.core.shape import LIMIT, shape_of_kind
from privet.core.unit import Neighbors
from privet.errors import RefusedQueryError
from privet.estimates.estimate import lines
from privet.estimates.moments import Estimate
from privet.estimates.priced import Priced, outline, variants
from privet.estimates.pricing import Price, ask


@st.composite
def aggregates(draw: st.DrawFn) -> list[Aggregate]:
    made = []
    for place in range(draw(st.integers(1, 4))):
        function, number = draw(st.sampled_from(COMPUTED)), draw(st.sampled_from(NUMBERS))
        bare = function in (Function.COUNT, Function.COUNT_DISTINCT) and draw(st.booleans())
        made.append(aggregate(function, None if bare else number, draw(st.sampled_from(NUMBERS)), f"a{place}"))
    return made


def asked(made: Sequence[Aggregate], wish: Wish) -> Priced:
    """With noise that does not matter."""
    read = outline(plan(*made), KINDS, BOUNDS)
    measures, recipes = measures_of(read.plan, read.passing, wish)
    every = (*measures, KEYS) if wish.counted else measures
    setting = Setting(cells=1, bounds=BOUNDS, delta=F(1, 1000))
    parts = priced(every, setting, Gauge.EPSILON, [F(1)] * len(every))
    return Priced.of(replace(read, measures=measures, recipes=recipes), parts)


WISHES = [Wish(one_row=a, counted=b, centered=c) for a, b, c in itertools.product((False, True), repeat=3)]


@settings(max_examples=120)
@given(aggregates(), rows(), st.sampled_from(WISHES))
def test_recipes_give_back_plain_statistics(made: list[Aggregate], table: list[Row], wish: Wish) -> None:
    if wish.one_row:  # then a unit has one row at most
        table = [{**row, "unit": place} for place, row in enumerate(table)]
    question = asked(made, wish)
    noisy = [[exact(part.measure, table)] for part in question.parts]
    (line,) = lines(question, noisy, F(1, 2))
    for one in made:
        found, truth = line[one.name], statistic(one, table)
        assert isinstance(found, Estimate)
        value = found.value  # of so few rows it is not shown
        if one.function in ROOTS and truth is not None:
            assert abs(value * abs(value) - truth) <= F(1, 10**7)
            if one.function is not Function.CORR:
                assert (value**2 == truth) or value**2 < truth < (value + F(1, 10**6)) ** 2
        elif truth is not None:
            assert value == truth


@settings(max_examples=60)
@given(aggregates(), st.sampled_from(WISHES))
def test_each_measure_is_there_once_and_used(made: list[Aggregate], wish: Wish) -> None:
    measures, recipes = measures_of(plan(*made), SHAPES, wish)
    assert len(set(measures)) == len(measures)
    assert KEYS not in measures
    used = {number for recipe in recipes for number in recipe.measures}
    assert used - {len(measures)} == set(range(len(measures)))
    assert wish.counted or len(measures) not in used
    assert [recipe.aggregate for recipe in recipes] == made


COUNT = aggregate(Function.COUNT, None, name="n")
PEOPLE = aggregate(Function.COUNT_DISTINCT, None, name="p")


def made_of(*made: Aggregate, **wish: bool) -> list[list[Role]]:
    measures, recipes = measures_of(plan(*made), SHAPES, Wish(**wish))
    return [[(*measures, KEYS)[number].role for number in recipe.measures] for recipe in recipes]


def test_the_number_of_people_of_a_key_is_used_where_it_is_what_is_asked() -> None:
    average = aggregate(Function.AVG, Coalesce((X, Literal(F(0)))), name="a")  # needs the number of all rows
    known = aggregate(Function.COUNT, X, name="k")
    assert made_of(COUNT, PEOPLE, counted=True) == [[Role.COUNT], [Role.KEYS]]  # people are not rows ...
    assert made_of(COUNT, PEOPLE, counted=True, one_row=True) == [[Role.KEYS], [Role.KEYS]]  # ... but with one row each
    assert made_of(COUNT, PEOPLE, one_row=True) == [[Role.COUNT], [Role.COUNT]]
    assert made_of(COUNT, PEOPLE) == [[Role.COUNT], [Role.PEOPLE]]
    assert made_of(known, counted=True, one_row=True) == [[Role.COUNT]]
    assert made_of(COUNT, average, counted=True, one_row=True) == [[Role.COUNT], [Role.SUM, Role.COUNT]]
    assert made_of(PEOPLE, average, counted=True) == [[Role.KEYS], [Role.SUM, Role.COUNT]]


def test_keys_are_not_reused_where_a_rest_is_shown() -> None:
    key = Key(name="word", value=Column("word"))
    one_row = Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE)
    for other, roles in ((None, []), ("rest", [Role.COUNT])):
        read = outline(plan(COUNT, keys=(key,), other=other), KINDS, one_row)
        assert [measure.role for measure in read.measures] == roles
        assert read.released[-1] is KEYS


def test_sums_are_made_from_centered_ones_where_the_count_is_there() -> None:
    total = aggregate(Function.SUM, X, name="s")
    for others, count in (([COUNT], None), ([aggregate(Function.COUNT, X, name="k")], X), ([], ROWS)):
        measures, recipes = measures_of(plan(*others, total), SHAPES, Wish(centered=True))
        if not others:
            assert [measures[number].center for number in recipes[-1].measures] == [0]
            continue
        centered, counted = (measures[number] for number in recipes[-1].measures)
        assert (centered.center, counted.value) == (2, count)
        assert max(-centered.low, centered.high) == 6
    read = outline(plan(COUNT, total), KINDS, BOUNDS)
    assert [len(one.recipes[1].measures) for one in variants(read)] == [1, 2]
    assert variants(outline(plan(total), KINDS, BOUNDS)) == [outline(plan(total), KINDS, BOUNDS)]
    assert ask(read, Budget(3), Price(epsilon=1)).loss.epsilon == 1


def test_squares_and_products_of_distances_from_the_middle_are_small() -> None:
    measures, _ = measures_of(plan(aggregate(Function.CORR, X, Y)), SHAPES)
    sizes = [(m.role, m.size, m.step) for m in measures]
    assert sizes == [
        (Role.COUNT, 1, 1),
        (Role.SUM, 6, 1),  # x - 2
        (Role.SUM, 3, F(1, 2)),  # y - 1.5
        (Role.SUM, 17, F(1, 2)),  # their product - 0.5
        (Role.SUM, 18, 1),  # (x - 2)**2 - 18
        (Role.SUM, 5, F(1, 4)),
    ]


def test_what_could_be_too_large_to_sum_is_refused() -> None:
    """A square can be a square of the limit, and is refused before it is computed."""
    edge = {"x": shape_of_kind(Integer(0, 2 * int(LIMIT**0.5) - 10**4))}
    assert all(m.size < LIMIT for m in measures_of(plan(aggregate(Function.VAR_POP, X)), edge)[0])
    wide = {"x": shape_of_kind(Integer(0, 3 * int(LIMIT**0.5)))}
    assert measures_of(plan(aggregate(Function.AVG, X)), wide)
    for function in (Function.VAR_POP, Function.STDDEV_SAMP, Function.COVAR_POP, Function.CORR):
        with raises_code(RefusedQueryError, "too-fine: large"):
            measures_of(plan(aggregate(function, X, X)), wide)


def ranked(function: Function, quantile: F | None = None, kind: Kind | None = None) -> Measure:
    one = Aggregate(name="q", function=function, value=X, quantile=quantile)
    (measure,) = measures_of(replace(plan(one), intervals=False), {"x": shape_of_kind(kind or KINDS["x"])})[0]
    return measure


def test_quantiles_are_chosen_from_the_whole_range() -> None:
    half = ranked(Function.QUANTILE, F(1, 2))
    assert (half.role, half.quantile, half.low, half.high, half.center) == (Role.QUANTILE, F(1, 2), -3, 8, 0)
    assert ranked(Function.QUANTILE, F(0)) == ranked(Function.MIN)
    assert ranked(Function.QUANTILE, F(1)) == ranked(Function.MAX)
    assert {ranked(Function.MIN).role, ranked(Function.MAX).role, half.role} == CHOSEN
    assert ranked(Function.QUANTILE, F(1, FINEST)).quantile == F(1, FINEST)
    for bad in (None, F(-1, 2), F(3, 2), F(1, FINEST + 1)):
        with raises_code(RefusedQueryError, "out-of-range: between 0 … 1"):
            ranked(Function.QUANTILE, bad)
    assert ranked(Function.MIN, kind=Integer(1 - WIDEST, WIDEST - 1)).high == WIDEST - 1
    for low, high in ((-WIDEST, 0), (0, WIDEST)):
        with raises_code(RefusedQueryError, "too-fine: 2**60"):
            ranked(Function.MAX, kind=Integer(low, high))


def test_thousands_of_quantiles_are_lowered_one_by_one() -> None:
    made = [Aggregate(name=f"q{n}", function=Function.QUANTILE, value=X, quantile=F(n, 3001)) for n in range(1, 3001)]
    measures, recipes = measures_of(replace(plan(*made), intervals=False), SHAPES)
    assert len(measures) == 3000
    assert [recipe.measures for recipe in recipes] == [(n,) for n in range(3000)]


def test_ends_of_intervals_are_measures_of_their_own() -> None:
    """Of a quantile a value and two ends; a value beyond the smallest or largest one is an end itself."""
    half, least, most = ranked(Function.QUANTILE, F(1, 2)), ranked(Function.MIN), ranked(Function.MAX)
    made = [
        Aggregate(name=f"a{n}", function=function, value=X, quantile=quantile)
        for n, (function, quantile) in enumerate(
            [(Function.QUANTILE, F(1, 2)), (Function.MIN, None), (Function.MAX, None), (Function.QUANTILE, F(1, 2))]
        )
    ]
    measures, recipes = measures_of(plan(*made, aggregate(Function.SUM, X, name="s")), SHAPES)
    assert measures[:3] == (half, replace(half, end=End.LOW), replace(half, end=End.HIGH))
    assert measures[3:5] == (replace(least, end=End.HIGH), replace(most, end=End.LOW))
    assert [recipe.measures for recipe in recipes] == [(0, 1, 2), (3,), (4,), (0, 1, 2), (5,)]


def test_what_is_no_number_and_half_a_pair_are_refused() -> None:
    for function in (*COMPUTED[2:], Function.QUANTILE, Function.MIN):
        with raises_code(RefusedQueryError, "type-mismatch: needs a number"):
            measures_of(plan(Aggregate(name="a", function=function, value=Column("word"), second=X)), SHAPES)
    with raises_code(RefusedQueryError, "wrong-arguments: CORR"):
        measures_of(plan(Aggregate(name="a", function=Function.CORR, value=X)), SHAPES)
    assert made_of(aggregate(Function.COUNT_DISTINCT, Column("word"))) == [[Role.DISTINCT]]


def test_pairs_share_measures_with_other_pairs_where_both_are_always_there() -> None:
    known = plan(
        aggregate(Function.COVAR_POP, X, Y, "c"),
        aggregate(Function.AVG, X, name="a"),
        aggregate(Function.CORR, X, Y, "r"),
        where=Not(IsNull(X)),
    )
    read = outline(known, KINDS, BOUNDS)
    assert len(read.measures) == 8  # y may be missing, so x of the pair is not x of the average
    both = replace(known, where=And((Not(IsNull(X)), Not(IsNull(Y)))))
    assert len(outline(both, KINDS, BOUNDS).measures) == 6


@pytest.mark.parametrize("lacking", [IsNull(X), Or((IsNull(X), IsNull(Y)))])
def test_a_branch_for_a_missing_value_is_left_out_only_where_none_can_be_missing(lacking: Expression) -> None:
    """So the variance of x over the rows that have both shares its sum and count with the pair of x and y."""
    alone = Case(((lacking, Literal(None)),), X)
    known = plan(aggregate(Function.COVAR_POP, X, Y, "c"), aggregate(Function.VAR_POP, alone, name="v"))
    there = replace(known, where=And((Not(IsNull(X)), Not(IsNull(Y)))))
    values = [measure.value for measure in outline(there, KINDS, BOUNDS).measures]
    assert len(values) == 5  # x, y, x * y, the count, and the square of x
    assert not any(isinstance(value, Case) for value in values)
    assert alone in [measure.value for measure in outline(known, KINDS, BOUNDS).measures]


def different(rows: Sequence[int]) -> int:
    return len(set(rows))


def anybody(rows: Sequence[int]) -> int:
    return int(bool(rows))


@pytest.mark.parametrize(("role", "counted"), [(Role.DISTINCT, different), (Role.PEOPLE, anybody)])
@pytest.mark.parametrize("limit", [1, 2])
def test_reach_of_people_and_of_different_values_is_attained(
    role: Role, counted: Callable[[Sequence[int]], int], limit: int
) -> None:
    """All rows that a unit can have in a cell of others; people are counted one by one, values all together."""
    units = [c for n in range(limit + 1) for c in itertools.combinations_with_replacement(range(4), n)]
    comes = changes = 0
    for others in itertools.chain.from_iterable(itertools.combinations(range(4), n) for n in range(5)):
        found = [counted((*others, *unit)) if role is Role.DISTINCT else len(others) + counted(unit) for unit in units]
        comes = max(comes, *(abs(number - found[0]) for number in found))  # the first unit has no row
        changes = max(changes, max(found) - min(found))
    measure = Measure(role=role, value=X if role is Role.DISTINCT else None)
    for cells, groups, relation in itertools.product((1, 2, 3, 5), (1, 2), Neighbors):
        bounds = Bounds(groups=groups, rows=limit, neighbors=relation)
        expected = sensitivity(comes - changes, comes, cells, replace(bounds, rows=1))
        assert sensitivity_of(measure, Setting(cells=cells, bounds=bounds)) == expected
