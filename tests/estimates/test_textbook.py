"""Sensitivities against all neighboring tables over small domains, and the witnesses that attain them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import raises_code

from privet.core.unit import Neighbors, neighbors_from
from privet.errors import InvalidInputError
from privet.estimates import textbook as s

Table = tuple[Fraction, ...]


def rows(table: s.Table) -> Table:
    return tuple(value for value, times in table for _ in range(times))


def variance(table: Table) -> Fraction:
    middle = sum(table) / len(table)
    return sum((x - middle) ** 2 for x in table) / len(table)


# The statistics themselves, written again from their definitions.
DEFINITIONS: dict[object, Callable[[s.Range], Callable[[Table], Fraction]]] = {
    s.count: lambda _: lambda table: Fraction(sum(x == 1 for x in table)),
    s.clamped_sum: lambda _: lambda table: sum(table, Fraction(0)),
    s.mean: lambda _: lambda table: sum(table) / len(table),
    s.variance: lambda _: variance,
    s.median: lambda _: lambda table: sorted(table)[(len(table) - 1) // 2],
    s.maximum: lambda _: max,
}


def are_neighbors(one: Table, other: Table, relation: Neighbors) -> bool:
    removed, added = Counter(one) - Counter(other), Counter(other) - Counter(one)
    moved = (removed.total(), added.total())
    return moved in ({(0, 1), (1, 0)} if relation is Neighbors.ADD_REMOVE else {(1, 1)})


def pairs(values: list[Fraction], people: int, relation: Neighbors) -> Iterator[tuple[Table, Table]]:
    """All neighboring tables over a few values; the smaller one has `people` rows."""
    for table in itertools.combinations_with_replacement(values, people):
        for value in values:
            if relation is Neighbors.ADD_REMOVE:
                yield table, (*table, value)
            else:
                yield from ((table, (*table[:i], value, *table[i + 1 :])) for i in range(people))


@pytest.mark.parametrize("relation", list(Neighbors))
@pytest.mark.parametrize("statistic", s.STATISTICS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("bounds", [(0, 3), (-2, 1), (-5, -1), (2, 2)])
@pytest.mark.parametrize("people", [1, 2, 3, 4, 5])
def test_bound_is_the_largest_change_over_all_neighbors(
    relation: Neighbors, statistic: Callable[..., s.TextbookSensitivity], bounds: tuple[int, int], people: int
) -> None:
    declared = s.range_of(*bounds, people)
    claimed = statistic(declared, relation)
    f = DEFINITIONS[statistic](declared)
    grid = [declared.low + declared.width * i / 4 for i in range(5)] if declared.width else [declared.low]
    worst = max(abs(f(a) - f(b)) for a, b in pairs(grid, people, relation))
    one, other = map(rows, claimed.witness)
    assert min(len(one), len(other)) == people
    assert declared.low == declared.high or are_neighbors(one, other, relation)
    assert worst <= claimed.bound == abs(f(one) - f(other))
    assert worst == claimed.bound or statistic is s.count  # a count's own witness has a condition that can differ


@pytest.mark.proof
@given(st.integers(-80, 80), st.integers(0, 80), st.lists(st.integers(0, 48), min_size=2, max_size=13))
def test_no_neighbors_exceed_the_bound(low: int, width: int, places: list[int]) -> None:
    """The last value comes to the others, or stands in place of the first. Values are 48ths of the declared range."""
    *table, new = (Fraction(low, 4) + Fraction(width * place, 4 * 48) for place in places)
    declared = s.range_of(Fraction(low, 4), Fraction(low + width, 4), len(table))
    for statistic, relation in itertools.product(s.STATISTICS, Neighbors):
        moved = (*table, new) if relation is Neighbors.ADD_REMOVE else (*table[1:], new)
        f = DEFINITIONS[statistic](declared)
        assert abs(f(tuple(table)) - f(moved)) <= statistic(declared, relation).bound


def test_verdicts_tell_what_laplace_noise_is_good_for() -> None:
    for relation in Neighbors:
        verdicts = {f.__name__: f(s.range_of(0, 120, 2000), relation).useful for f in s.STATISTICS}
        assert verdicts == {
            "count": True,
            "clamped_sum": True,
            "mean": True,
            "variance": True,
            "median": False,
            "maximum": False,
        }
        assert not s.mean(s.range_of(0, 120, 3), relation).useful
        assert not s.clamped_sum(s.range_of(1000, 1001, 1), Neighbors.REPLACE).useful
        assert all(f(s.range_of(0, 120, 5), relation).advice for f in s.STATISTICS)
    for statistic in (s.mean, s.variance):
        assert "n is private" in statistic(s.range_of(0, 1, 5), Neighbors.ADD_REMOVE).advice
        assert "n is private" not in statistic(s.range_of(0, 1, 5), Neighbors.REPLACE).advice


def test_the_relation_may_be_written_as_text() -> None:
    """A text must never be taken for the other relation."""
    for statistic in s.STATISTICS:
        for relation in Neighbors:
            assert statistic(s.range_of(100, 101, 4), relation.value) == statistic(s.range_of(100, 101, 4), relation)
        with raises_code(InvalidInputError, "unknown-choice"):
            statistic(s.range_of(100, 101, 4), "both")


def test_large_tables_cost_nothing() -> None:
    assert s.median(s.range_of(0, 1, 10**30), Neighbors.REPLACE).witness[0][0][1] == 5 * 10**29


def test_an_unbounded_sum_is_refused() -> None:
    for bounds in ((None, 5), (0, None)):
        with raises_code(InvalidInputError, "unbounded"):
            s.range_of(*bounds, 10)
    with raises_code(InvalidInputError, "reversed-range"):
        s.range_of(3, 2, 10)
    with raises_code(InvalidInputError, "too-small: people … least 1"):
        s.range_of(0, 1, 0)


def test_useful_means_at_most_a_tenth_of_what_the_answer_can_be() -> None:
    """With a public n, one of n people moves a mean by 1 / n of the range: ten people are just enough."""
    assert s.mean(s.range_of(0, 120, 10), Neighbors.REPLACE).useful
    assert not s.mean(s.range_of(0, 120, 9), Neighbors.REPLACE).useful
    assert s.mean(s.range_of(0, 120, 9), Neighbors.ADD_REMOVE).useful  # the larger table has ten


@pytest.mark.parametrize("relation", list(Neighbors))
def test_how_far_apart_two_answers_can_be_at_all(relation: Neighbors) -> None:
    """Over all tables of four people; a sum under add-remove is compared with no people at all."""
    declared = s.range_of(-3, 5, 4)
    tables = list(itertools.combinations_with_replacement([Fraction(n) for n in range(-3, 6)], 4))
    for statistic in s.STATISTICS:
        answers = [DEFINITIONS[statistic](declared)(table) for table in tables]
        apart = max(answers) - min(answers)
        if statistic is s.clamped_sum and relation is Neighbors.ADD_REMOVE:
            apart = max(map(abs, answers))
        assert statistic(declared, relation).spread == apart, statistic.__name__


def test_units_say_what_neighbors_are() -> None:
    assert neighbors_from("replace") is Neighbors.REPLACE
    assert neighbors_from(Neighbors.ADD_REMOVE) is Neighbors.ADD_REMOVE
    for wrong in ("Replace", None, 3, ["replace"]):
        with raises_code(InvalidInputError, "unknown-choice: 'add-remove' … 'replace'"):
            neighbors_from(wrong)
