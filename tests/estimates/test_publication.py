"""Numbers fit to print: they add up, are never below 0, and are no further from the truth than what was released."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asked import N, answer, average, key, plan, question, single, total
from support.refusals import raises_code

from privet.answer import Answer
from privet.core.expression import Column, Quotient
from privet.core.plan import Aggregate, Computed, Function
from privet.errors import InvalidInputError
from privet.estimates.moments import Estimate
from privet.estimates.projection import Forest, projected, rounded
from privet.estimates.publication import Publication, refitted

SHAPES: list[tuple[int | None, ...]] = [  # parents
    (None,),
    (None, None, None),
    (3, 3, 3, None),
    (4, 4, 5, 5, 6, 6, None),
    (5, 5, 5, 6, 6, 7, 7, None),
    (6, 6, 6, 7, 8, 8, 9, 9, 9, None, None),
    (1, 2, 3, None),
]


@st.composite
def forests(draw: st.DrawFn) -> tuple[Forest, list[F]]:
    """A table with noise, and the true one."""
    parents = draw(st.sampled_from(SHAPES))
    leaves = set(range(len(parents))) - set(parents)
    true = [F(draw(st.integers(0, 9))) if node in leaves else F(0) for node in range(len(parents))]
    for node, parent in enumerate(parents):
        if parent is not None:
            true[parent] += true[node]
    noise = st.integers(-12, 12).map(F)
    return Forest(values=tuple(value + draw(noise) for value in true), parents=parents), true


def adds_up(values: list[F], parents: tuple[int | None, ...]) -> bool:
    sums: dict[int, F] = {}
    for value, parent in zip(values, parents, strict=True):
        if parent is not None:
            sums[parent] = sums.get(parent, F(0)) + value
    return all(values[node] == total for node, total in sums.items())


def apart(one: list[F] | tuple[F, ...], other: list[F] | tuple[F, ...]) -> F:
    return sum(((a - b) ** 2 for a, b in zip(one, other, strict=True)), F(0))


@given(forests())
def test_the_projection_is_no_further_from_the_truth(made: tuple[Forest, list[F]]) -> None:
    forest, true = made
    found = projected(forest)
    assert adds_up(found, forest.parents)
    assert min(found) >= 0
    assert apart(found, true) + apart(found, forest.values) <= apart(forest.values, true)  # an obtuse angle
    assert projected(Forest(values=tuple(found), parents=forest.parents)) == found


@given(forests(), st.lists(st.integers(0, 9), min_size=11, max_size=11))
def test_no_other_table_is_nearer(made: tuple[Forest, list[F]], other: list[int]) -> None:
    """Any other table without negative numbers whose parts add up: here with whole leaves."""
    forest, _ = made
    leaves = set(range(len(forest.values))) - set(forest.parents)
    rival = [F(other[node]) if node in leaves else F(0) for node in range(len(forest.values))]
    for node, parent in enumerate(forest.parents):
        if parent is not None:
            rival[parent] += rival[node]
    assert apart(projected(forest), forest.values) <= apart(rival, forest.values)


def test_every_pair_of_small_numbers() -> None:
    """Two parts and their total, against a search on a fine grid: in twelfths, which are whole numbers here."""
    x, y = np.meshgrid(np.arange(60), np.arange(60))
    for a, b, total_ in product(range(-3, 4), repeat=3):
        values = (F(a), F(b), F(total_))
        squares = (x - 12 * a) ** 2 + (y - 12 * b) ** 2 + (x + y - 12 * total_) ** 2
        best = F(int(squares.min()), 12**2)
        found = projected(Forest(values=values, parents=(2, 2, None)))
        assert apart(found, values) <= best <= apart(found, values) + F(1, 4)


def test_a_total_is_hardly_moved_by_what_is_cut_off() -> None:
    noise = [F(n % 41 - 20) for n in range(1000)]
    values = (*noise, sum(noise, F(0)) + 5000)
    found = projected(Forest(values=values, parents=(1000,) * 1000 + (None,)))
    assert abs(found[-1] - values[-1]) < 20
    assert sum(max(value, F(0)) for value in noise) - values[-1] > 100


@given(forests(), st.sampled_from([F(1), F(1, 100), F(5)]))
def test_rounding_adds_up_and_stays_near(made: tuple[Forest, list[F]], step: F) -> None:
    forest, _ = made
    smooth = projected(forest)
    found = rounded(smooth, forest.parents, step)
    assert adds_up(found, forest.parents)
    assert min(found) >= 0
    for value, near, parent in zip(found, smooth, forest.parents, strict=True):
        assert value % step == 0
        assert abs(value - near) < step if parent is not None else abs(value - near) <= step / 2
    assert rounded(found, forest.parents, step) == found


@given(st.lists(st.fractions(-9, 9, max_denominator=7), min_size=3, max_size=3))
def test_numbers_below_zero_are_rounded_as_well(parts: list[F]) -> None:
    found = rounded([*parts, sum(parts, F(0))], (3, 3, 3, None), F(1))
    assert adds_up(found, (3, 3, 3, None))
    assert all(abs(value - near) < 1 for value, near in zip(found, parts, strict=False))


# --- an answer in print

ROLLUP = (("ward", "sex"), ("ward",), ())
NOISY = st.lists(st.integers(-30, 40), min_size=15, max_size=15)


def made(noisy: list[int], *more: Aggregate, levels: tuple[tuple[str, ...], ...] = ROLLUP) -> Answer:
    asked = question(plan((key("ward"), key("sex")), N, *more, levels=levels))
    return answer(asked, *([noisy] * len(asked.parts)))


def numbers(shown: Answer, name: str = "n") -> dict[tuple[tuple[str, ...], object, object], F]:
    lines = zip(shown.levels, shown.rows, strict=True)
    return {(level, row["ward"], row["sex"]): F(str(row[name])) for level, row in lines}


@settings(max_examples=60)
@given(NOISY)
def test_an_answer_in_print(noisy: list[int]) -> None:
    printed = made(noisy).published()
    found = numbers(printed)
    assert min(found.values()) >= 0
    assert all(value.denominator == 1 for value in found.values())
    for (level, ward, _), value in found.items():
        if level == ("ward",):
            assert value == sum(n for (at, w, _), n in found.items() if len(at) == 2 and w == ward)
        if level == ():
            assert value == sum(n for (at, _, _), n in found.items() if len(at) == 1)
    assert printed.published() == printed


@settings(max_examples=60)
@given(NOISY, st.lists(st.integers(0, 9), min_size=15, max_size=15))
def test_the_distance_to_a_true_table_does_not_grow(noise: list[int], true: list[int]) -> None:
    exact = list(numbers(made(true)).values())
    released = made([a + b for a, b in zip(noise, true, strict=True)])
    smooth = list(numbers_of(released.published(whole=False)))
    assert apart(smooth, exact) <= apart(list(numbers(released).values()), exact)


def numbers_of(shown: Answer) -> list[F]:
    return [line["n"].value for line in shown.lines()]  # type: ignore[union-attr]


@settings(max_examples=40)
@given(NOISY)
def test_intervals_hold_what_they_held(noisy: list[int]) -> None:
    """Where the exact number is not negative, whatever was inside still is, and so is what is printed."""
    released = made(noisy)
    for before, after in zip(released.lines(), released.published().lines(), strict=True):
        old, new = before["n"], after["n"]
        assert isinstance(old, Estimate)
        assert isinstance(new, Estimate)
        assert new.low <= max(old.low, 0) <= max(old.high, 0) <= new.high  # type: ignore[type-var, operator]
        assert 0 <= new.low <= new.value <= new.high  # type: ignore[operator]


def test_wishes_one_by_one() -> None:
    noisy = [-4, 5, 6, -7, -8, 9, 1, 2, 3, -9, -9, -9, 0, 0, 10]
    released = made(noisy)
    assert numbers(released.published(whole=False, nonnegative=False, additive=False)) == numbers(released)
    assert numbers(released.published(nonnegative=False)) == numbers(released)
    clipped = released.published(additive=False)
    assert numbers(clipped) == {place: max(value, F(0)) for place, value in numbers(released).items()}
    assert released.publication == Publication()
    smooth = released.published(whole=False)
    assert any(value.denominator > 1 for value in numbers_of(smooth))


def test_sums_keep_their_step_and_may_be_negative() -> None:
    shown = made([-4, 5, 6] * 5, total("s", "cost"), total("c", "change")).published()
    assert min(numbers(shown, "s").values()) >= 0
    assert all(value % F(1, 100) == 0 for value in numbers(shown, "s").values())
    assert min(numbers(shown, "c").values()) < 0  # a change can be below 0


def test_averages_stay_and_what_is_computed_follows() -> None:
    part = Computed(name="each", value=Quotient(Column("s"), Column("n")))
    asked = single(
        plan(
            (key("sex"),),
            N,
            average("mean", "age"),
            total("s", "cost"),
            computed=(part,),
            outputs=("mean", "s", "n", "each"),
        )
    )
    shown = answer(asked, *([[-3, 7, 5]] * len(asked.parts)))
    printed = shown.published()
    assert [row["mean"] for row in printed.rows] == [row["mean"] for row in shown.rows]
    for row in printed.rows:
        assert row["each"] == (None if row["n"] == 0 else pytest.approx(row["s"] / row["n"], rel=1e-12))
    assert printed.rows[0]["each"] is None


def test_people_in_print() -> None:
    people = Aggregate(name="p", function=Function.COUNT_DISTINCT)
    shown = answer(question(plan((key("sex"),), people)), [-3, 4, 5]).published()
    assert [row["p"] for row in shown.rows] == [0, 4, 5]


def test_levels_that_overlap_do_not_add_up() -> None:
    cube = (("ward", "sex"), ("ward",), ("sex",), ())
    with raises_code(InvalidInputError, "contradictory-options") as caught:
        made([5] * 15, levels=cube).published()
    assert "ROLLUP" in caught.value.remedy
    assert min(numbers(made([-5] * 15, levels=cube).published(additive=False)).values()) == 0


def test_print_says_so() -> None:
    shown = made([5] * 15)
    assert "fit to print" not in str(shown)
    assert "released numbers alone: never below 0, whole steps, parts that add up" in str(shown.published())
    assert "published" not in shown.to_json()
    told = shown.published(additive=False).to_json()["published"]
    assert told == {"whole": True, "nonnegative": True, "additive": False}


def test_an_interval_is_cut_and_stretched() -> None:
    wide = Estimate(value=F(-2), low=F(-6), high=F(2))
    assert refitted(wide, F(0), nonnegative=True) == Estimate(value=F(0), low=F(0), high=F(2))
    assert refitted(wide, F(5), nonnegative=False) == Estimate(value=F(5), low=F(-6), high=F(5))
