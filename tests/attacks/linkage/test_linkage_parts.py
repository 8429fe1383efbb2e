"""The parts of linkage against slow definitions: joins, probabilities, assignments."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.made_linkage import table
from support.refusals import raises_code

from privet.attacks.linkage import guess, rings
from privet.attacks.linkage import join as linkage_join
from privet.attacks.linkage.axis import axis
from privet.attacks.linkage.evidence import Candidates
from privet.attacks.linkage.guess import assigned
from privet.attacks.linkage.join import Join, classes
from privet.attacks.linkage.matching import Messages
from privet.attacks.linkage.rings import held
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata

VALUES = ["1", "2", "3", "4", "1-2", "2-3", "3-4", "<3", ">=2", "{1, 4}", "*", None]
rows = st.lists(st.tuples(*[st.sampled_from(VALUES)] * 3), min_size=1, max_size=12)


def joined(released: Microdata, known: Microdata) -> Join:
    names = list(released.columns)
    axes = [axis(released[name], known[name]) for name in names]
    return Join(axes, classes(released, names), classes(known, names))


def made(values: list[tuple[str | None, ...]]) -> Microdata:
    return table(**{f"c{at}": [row[at] for row in values] for at in range(3)})


def agreements(join: Join) -> dict[tuple[int, int], tuple[bool, ...]]:
    """By one comparison after another."""
    return {
        (one, other): tuple(
            bool(part.overlap(join.released.codes[[one], at], join.known.codes[[other], at])[0])
            for at, part in enumerate(join.axes)
        )
        for one in range(len(join.released))
        for other in range(len(join.known))
    }


@settings(max_examples=120, deadline=None)
@given(rows, rows, st.sampled_from([(50_000_000, 1 << 16), (0, 0), (0, 4)]))
def test_the_join_has_the_pairs_that_fit_and_no_others(
    released: list[tuple[str | None, ...]], known: list[tuple[str | None, ...]], limits: tuple[int, int]
) -> None:
    """By blocks, and split into parts."""
    join = joined(made(released), made(known))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linkage_join, "WORTH_SPLITTING", limits[0])
        patch.setattr(linkage_join, "LEAF", limits[1])
        found = join.all_agree()
    expected = {pair for pair, agree in agreements(join).items() if all(agree) and not found.crowded[pair[0]]}
    pairs = list(zip(found.released.tolist(), found.known.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == expected
    silent = {number for number, row in enumerate(join.released.codes) if all(
        join.axes[at].released.free[code] for at, code in enumerate(row))}  # fmt: skip
    assert set(np.flatnonzero(found.crowded).tolist()) == silent


def test_a_join_without_room_leaves_out_the_crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    many = table(c=["1-99"] * 3 + [str(number) for number in range(1, 80)], d=[str(n) for n in range(82)])
    join = joined(many, table(c=[str(number) for number in range(1, 80)], d=["*"] * 79))
    monkeypatch.setattr(linkage_join, "MOST_PAIRS", 100)
    monkeypatch.setattr(linkage_join, "LEAF", 1)
    found = join.all_agree()
    assert found.crowded.sum() >= 3
    assert not found.crowded.all()
    assert not found.crowded[found.released].any()


def test_many_columns_are_packed_in_several_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    data = table(**{f"c{at}": [str(one) for one in draw.integers(0, 3, 50)] for at in range(4)})
    names = list(data.columns)
    wide, whole = classes(data, names), joined(data, data).all_agree()
    monkeypatch.setattr(linkage_join, "KEYS", 10)
    narrow, again = classes(data, names), joined(data, data).all_agree()
    assert sorted(map(tuple, wide.codes.tolist())) == sorted(map(tuple, narrow.codes.tolist()))
    assert len(again.released) == len(whole.released) == len(wide)
    for one in (wide, narrow):
        listed = np.stack([data[name].codes for name in names], axis=1)
        assert (one.codes[one.of] == listed).all()


def all_ways(weight: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> np.ndarray:
    """The share of all matchings, by weight, that have each pair."""
    n, m = weight.shape
    total, share = 0.0, np.zeros((n, m))
    for way in itertools.product(range(-1, m), repeat=n):
        chosen = [place for place in way if place >= 0]
        if len(chosen) == len(set(chosen)):
            product = math.prod(float(weight[row, place]) for row, place in enumerate(way) if place >= 0)
            total += product
            for row, place in enumerate(way):
                if place >= 0:
                    share[row, place] += product
    return share / total


def passed(weight: np.ndarray, silent: int = 0, anybody: float = 0.0) -> np.ndarray:
    one, other = np.nonzero(weight)
    messages = Messages(one, other, np.ones(weight.shape[0]), np.ones(weight.shape[1]), silent)
    found = np.zeros(weight.shape)
    found[one, other] = messages.settle(weight[one, other], anybody)
    return found


def test_probabilities_are_exact_on_a_tree() -> None:
    path = np.array([[2.0, 0, 0, 0], [0.5, 3.0, 7.0, 0], [0, 0, 0.1, 4.0]])
    assert passed(path) == pytest.approx(all_ways(path), abs=1e-5)


def kept(weight: np.ndarray, ours: list[int] | None = None, theirs: list[int] | None = None) -> np.ndarray:
    """What is claimed of classes of these sizes."""
    one, other = np.nonzero(weight)
    sizes = [np.array(size or [1] * n, np.float64) for size, n in zip((ours, theirs), weight.shape, strict=True)]
    messages = Messages(one, other, *sizes)
    found = np.zeros(weight.shape)
    found[one, other] = held(messages, weight[one, other], messages.settle(weight[one, other], 0.0))
    return found


squares = st.lists(st.one_of(st.just(0.0), st.floats(-4, 7).map(math.exp)), min_size=9, max_size=9)


@settings(max_examples=100, deadline=None)
@given(squares, st.booleans())
def test_what_is_claimed_in_rings_is_never_too_sure(weights: list[float], summed: bool) -> None:
    """Exact where the part is small, at most the exact probability where it is taken as large."""
    square = np.array(weights).reshape(3, 3)
    exact = all_ways(square)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rings, "WORTH", 0.0)
        if not summed:
            patch.setattr(rings, "FEW", 0)
        found = kept(square)
    if summed:
        assert found == pytest.approx(exact, abs=2e-3)  # a tree's messages settle slowly where weights are large
    else:
        assert (found <= exact + 2e-3).all()


def test_rings_of_classes_are_summed_person_by_person() -> None:
    weight = np.array([[4.0, 9.0], [0.5, 0.0]])
    whole = np.array([[4.0, 9, 9], [4.0, 9, 9], [0.5, 0, 0]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rings, "WORTH", 0.0)
        exact = all_ways(whole)
        assert kept(weight, [2, 1], [1, 2]) == pytest.approx(np.array([[exact[0, 0], exact[0, 1]], [exact[2, 0], 0]]))
        patch.setattr(rings, "MANY", 2)
        assert kept(weight, [2, 1], [1, 2]).max() < exact.max()
    assert rings.all_ways(whole) == pytest.approx(exact)
    wide = np.array([[1e150, 2.0, 0.0]] * 2)
    assert rings.all_ways(wide)[:, 0] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(("records", "people"), [(1, 1), (1, 4), (2, 3), (3, 3), (4, 2)])
@pytest.mark.parametrize("weight", [0.01, 1.0, 300.0])
def test_probabilities_are_exact_in_a_group(records: int, people: int, weight: float) -> None:
    """One class of records, and its people in two classes, where there are two."""
    sizes = [1, people - 1] if people > 1 else [1]
    messages = Messages(
        np.zeros(len(sizes), np.int64), np.arange(len(sizes)), np.array([float(records)]), np.array(sizes, np.float64)
    )
    found = messages.settle(np.full(len(sizes), weight), 0.0)
    assert found == pytest.approx([all_ways(np.full((records, people), weight))[0, 0]] * len(sizes), rel=1e-9)


def test_silent_records_may_be_anybodys() -> None:
    """One record that fits one person, and two that say nothing: all ways, with the weight of anybody for these."""
    weight = np.array([[5.0, 0], [0.7, 0.7], [0.7, 0.7]])
    exact = all_ways(weight)
    messages = Messages(np.array([0]), np.array([0]), np.ones(1), np.ones(2), 2)
    found = messages.settle(np.array([5.0]), 0.7)
    assert found[0] == pytest.approx(exact[0, 0], abs=0.05)
    assert messages.silent_matches(0.7, found) == pytest.approx(exact[1:].sum(), abs=0.25)
    assert Messages(np.array([0]), np.array([0]), np.ones(1), np.ones(1)).silent_matches(1.0, found) == 0


def some(released: list[int], known: list[int]) -> Candidates:
    none = np.zeros(len(released), np.int64)
    one, other = np.array(released, np.int64), np.array(known, np.int64)
    return Candidates(released=one, known=other, fits=none >= 0, crowded=none[:0])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=6, max_size=6), st.integers(1, 2), st.integers(1, 2))
def test_the_assignment_is_the_best_of_all(chances: list[float], records: int, people: int) -> None:
    """Two classes of records, three of people, with one or two members each."""
    found = some([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2])
    sizes = np.full(2, records), np.full(3, people)
    flow = assigned(found, np.array(chances), *sizes)
    best = max(
        sum(n * chance for n, chance in zip(way, chances, strict=True))
        for way in itertools.product(range(records + 1), repeat=6)
        if max(sum(way[:3]), sum(way[3:])) <= records and max(way[at] + way[at + 3] for at in range(3)) <= people
    )
    assert (np.bincount(found.released, flow) <= records).all()
    assert (np.bincount(found.known, flow) <= people).all()
    assert float(flow @ np.array(chances)) == pytest.approx(best, abs=1e-5)


def test_no_pairs_and_too_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(assigned(some([], []), np.zeros(0), np.ones(1), np.ones(1))) == 0
    monkeypatch.setattr(guess, "MOST_ARCS", 1)
    with raises_code(InvalidInputError, "too-many: 2 pairs"):
        assigned(some([0, 1], [0, 1]), np.ones(2), np.ones(2, np.int64), np.ones(2, np.int64))


def test_columns_missing_in_too_many_ways_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joins are made for the largest groups first; records of the others are counted as not searched."""
    ways = [(None if bits & 1 else "1", None if bits & 2 else "2", None if bits & 4 else "3") for bits in range(7)]
    join = joined(made([*ways, *[("1", "2", "3")] * 9]), made([("1", "2", "3")] * 2))
    assert not join.all_agree().skipped.any()
    monkeypatch.setattr(linkage_join, "MOST_JOINS", 3)
    found = join.all_agree()
    assert found.skipped.sum() == 4
    assert not found.skipped[found.released].any()


# --- bounds where pairs form rings ---


def three_steps(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Exact probabilities of all pairs, the bound that `held` uses, and one that looks one step far only."""
    one, other = np.nonzero(weight)
    given = weight[one, other]
    bound = given / (given + rings._others(Messages(one, other, np.ones(len(weight)), np.ones(weight.shape[1])), given))
    near = (1 + weight.sum(1)[one] - given) * (1 + weight.sum(0)[other] - given)
    return rings.all_ways(weight)[one, other], bound, given / (given + near)


def test_a_bound_on_rings_is_below_the_sum_over_all_ways_and_nearer_than_one_step() -> None:
    draw, gaps = np.random.default_rng(1), []
    for _ in range(300):
        shape = draw.integers(1, 6, 2)
        weight = np.exp(draw.normal(0, 4, shape)) * (draw.random(shape) < 0.8)
        exact, bound, near = three_steps(weight)
        assert (bound <= exact + 1e-12).all()
        assert (bound >= near - 1e-12).all()
        gaps += [(near_gap, gap) for near_gap, gap in zip(exact - near, exact - bound, strict=True)]
    near_gap, gap = np.mean(gaps, axis=0)
    assert gap < near_gap / 2


def test_where_nobody_is_hardly_possible_a_sure_pair_stays_sure() -> None:
    """Everybody is in both tables: each wrong pair has a weight of 200, and each right one of a million."""
    weight = np.full((30, 30), 200.0)
    np.fill_diagonal(weight, 1e6)
    one, other = np.nonzero(weight)
    messages = Messages(one, other, np.ones(30), np.ones(30))
    found = held(messages, weight[one, other], messages.settle(weight[one, other], 0.0))
    assert found[one == other].min() > 0.99


def expanded(weight: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Exact probabilities of pairs of classes, from those of their members."""
    first = [np.cumsum(size) - size for size in (ours, theirs)]
    whole = np.repeat(np.repeat(weight, ours, axis=0), theirs, axis=1)
    return rings.all_ways(whole)[np.ix_(*first)]


def test_a_bound_on_rings_holds_for_classes_of_several_and_weights_that_are_equal() -> None:
    """Groups count as a whole: classes of up to three, weights of which many are equal."""
    draw, tried = np.random.default_rng(5), 0
    for _ in range(600):
        shape = draw.integers(1, 4, 2)
        ours, theirs = (draw.integers(1, 4, size) for size in shape)
        if max(ours.sum(), theirs.sum()) > 6:
            continue
        weight = np.exp(3 * np.round(draw.normal(1, 1.3, shape))) * (draw.random(shape) < 0.8)
        one, other = np.nonzero(weight)
        given = weight[one, other]
        messages = Messages(one, other, ours.astype(np.float64), theirs.astype(np.float64))
        bound = given / (given + rings._others(messages, given))
        assert (bound <= expanded(weight, ours, theirs)[one, other] * (1 + 1e-9)).all()
        tried += len(one)
    assert tried > 1000


def test_a_pair_beside_groups_of_several_is_as_sure_as_the_sum_over_all_ways_has_it() -> None:
    """One record fits one person, and nearly fits two groups of two records and two people each."""
    weight, ours = np.full((3, 3), 80.0), np.array([1, 2, 2])
    np.fill_diagonal(weight, 2e4)
    one, other = np.nonzero(weight)
    sizes = ours.astype(np.float64)
    bound = (
        weight[one, other]
        / (weight + rings._others(Messages(one, other, sizes, sizes), weight.ravel()).reshape(3, 3))[one, other]
    )
    exact = expanded(weight, ours, ours)
    assert exact[0, 0] > 0.999
    assert bound[0] > 0.995
