"""Every data set, up to 16 people: Dinur and Nissim's 4E holds for whatever answers, and is attained."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.dense import Dense
from support.processes import run_plain
from support.refusals import raises_code

from privet.attacks.subsets.decoders import Errors, chebyshev, exhaustive
from privet.attacks.subsets.decoders.packed import Packed
from privet.errors import InvalidInputError
from privet.typing import Floats


def slow(table: Floats, answers: Floats, bound: float) -> list[tuple[int, ...]]:
    """The reference: all data sets, one after the other."""
    sets = product((0, 1), repeat=table.shape[1])
    return [one for one in sets if (np.abs(table @ np.array(one) - answers) <= bound + 1e-9).all()]


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_the_same_as_trying_all_one_by_one(data: st.DataObject) -> None:
    people, rows = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 12))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    table = random.integers(0, 2, (rows, people)).astype(float)
    bound = data.draw(st.sampled_from([0.0, 0.5, 1.0, 1.25]))
    answers = table @ random.integers(0, 2, people) + random.integers(-4, 5, rows) / 4 * bound
    sets = slow(table, answers, bound)
    found = exhaustive.decode(Dense(table), answers, Errors("bounded", bound))
    assert {tuple(row) for row in exhaustive.consistent(Dense(table), answers, bound).tolist()} == set(sets)
    assert tuple(found.bits.tolist()) in sets
    away = {one: max(sum(a != b for a, b in zip(one, other, strict=True)) for other in sets) for one in sets}
    assert found.most_wrong == away[tuple(found.bits.tolist())] == min(away.values())
    assert np.allclose(found.values, np.mean(sets, axis=0))
    assert exhaustive.proven(found).tolist() == [len(set(column)) == 1 for column in zip(*sets, strict=True)]


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_never_more_than_4e_wrong_when_all_subsets_are_asked(data: st.DataObject) -> None:
    """Whatever the answers are, as long as each is within E of the truth: also half-way to another data set."""
    people = data.draw(st.integers(1, 10))
    bound = data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0]))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    matrix = exhaustive.all_subsets(people)
    truth, other = random.integers(0, 2, (2, people)).astype(float)
    toward = np.clip((matrix.times(other) - matrix.times(truth)) / 2, -bound, bound)
    errors = data.draw(
        st.sampled_from(
            [toward, random.uniform(-bound, bound, len(toward)), random.choice([-bound, bound], len(toward))]
        )
    )
    found = exhaustive.decode(matrix, matrix.times(truth) + errors, Errors("bounded", bound))
    wrong = int((found.bits != truth).sum())
    assert found.most_wrong is not None
    assert wrong <= found.most_wrong <= 4 * bound + 1e-9
    sure = exhaustive.proven(found)
    assert (found.bits[sure] == truth[sure]).all()


def two_of_them(bound: int) -> tuple[Packed, Floats, Floats, Floats]:
    """Answers that suit two data sets, which differ in 4E places, and no other. Of 4E + 1 people the first 2E have a 1
    in one of them, the next 2E in the other, the last in both. Sums that differ are answered half-way. Where they
    agree, at t, the answer t + E rules out whoever has less, and t - E whoever has more: without the last person the
    first, with the last person the second."""
    people = 4 * bound + 1
    matrix = exhaustive.all_subsets(people)
    one, other = np.zeros(people), np.zeros(people)
    one[: 2 * bound] = other[2 * bound : 4 * bound] = 1
    one[-1] = other[-1] = 1
    first, second = matrix.times(one), matrix.times(other)
    last = matrix.block(0, matrix.shape[0])[:, -1] == 1
    alone = matrix.times(np.ones(people)) == 1
    aside = np.where(last & ~alone, -bound, bound)
    return matrix, np.where(first == second, first + aside, (first + second) / 2), one, other


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_4e_is_attained(bound: int) -> None:
    matrix, answers, one, other = two_of_them(bound)
    assert {tuple(row) for row in exhaustive.consistent(matrix, answers, bound).tolist()} == {tuple(one), tuple(other)}
    found = exhaustive.decode(matrix, answers, Errors("bounded", bound))
    assert found.most_wrong == 4 * bound
    assert {int((found.bits != truth).sum()) for truth in (one, other)} == {0, 4 * bound}
    assert exhaustive.proven(found).tolist() == [False] * (4 * bound) + [True]


def test_sixteen_people_and_all_subsets() -> None:
    """Random errors, and an adversary who answers half-way between two opposite data sets: E = 4, 16 wrong."""
    matrix = exhaustive.all_subsets(16)
    truth = np.arange(16) % 2 * 1.0
    errors = np.random.default_rng(0).uniform(-1, 1, matrix.shape[0])
    found = exhaustive.decode(matrix, matrix.times(truth) + errors, Errors("bounded", 1.0))
    assert (found.bits == truth).all()
    assert found.most_wrong == 0
    middle = (matrix.times(truth) + matrix.times(1 - truth)) / 2
    found = exhaustive.decode(matrix, middle, Errors("bounded", 4.0))
    assert found.most_wrong is not None
    assert (found.bits != truth).sum() <= found.most_wrong <= 16
    assert not exhaustive.proven(found).any()


def test_an_error_of_a_401st_of_the_people() -> None:
    """Up to 16 people nobody is wrong, as 4n / 401 is below 1; for 802 and random subsets 99 % are right."""
    for people in range(1, 13):
        bound = people / 401
        matrix, random = exhaustive.all_subsets(people), np.random.default_rng(people)
        truth = random.integers(0, 2, people).astype(float)
        answers = matrix.times(truth) + random.choice([-bound, bound], matrix.shape[0])
        found = exhaustive.decode(matrix, answers, Errors("bounded", bound))
        assert found.most_wrong == 0
        assert (found.bits == truth).all()
    random = np.random.default_rng(802)
    truth = random.integers(0, 2, 802).astype(float)
    for errors in (random.uniform(-2, 2, 4 * 802), random.choice([-2.0, 2.0], 4 * 802)):
        many = Packed.random(4 * 802, 802, seed=1)
        found = chebyshev.decode(many, many.times(truth) + errors, Errors("bounded", 2.0))
        assert found.converged
        assert (found.bits == truth).mean() >= 0.99


def test_a_bound_that_nobody_stated_is_the_smallest() -> None:
    table = np.array([[1.0, 1, 0], [0, 1, 1], [1, 1, 1], [1, 0, 0]])
    answers = np.array([1.3, 0.9, 2.2, 1.4])
    found = exhaustive.decode(Dense(table), answers)
    worst = min(float(np.abs(table @ np.array(one) - answers).max()) for one in product((0, 1), repeat=3))
    assert found.errors == Errors("bounded", pytest.approx(worst))
    assert found.bits.tolist() == [1, 0, 1]
    exact = exhaustive.decode(Dense(table), table @ np.array([1.0, 0, 1]), Errors("exact"))
    assert exact.bits.tolist() == [1, 0, 1]
    assert exact.errors == Errors("exact")


def test_what_cannot_be_tried() -> None:
    table = np.eye(3)
    with raises_code(InvalidInputError, "contradiction: of 3 … 0.2 … 0.5"):
        exhaustive.decode(Dense(table), [0.5, 1, 0], Errors("bounded", 0.2))
    with raises_code(InvalidInputError, "not-supported: errors"):
        exhaustive.decode(Dense(table), [0.5, 1, 0], Errors("normal", 0.2))
    with raises_code(InvalidInputError, "not-binary: coefficients other … than 0 … 1"):
        exhaustive.decode(Dense(2 * table), [0.5, 1, 0])
    with raises_code(InvalidInputError, "wrong-length: 2 answers … to 3 queries"):
        exhaustive.decode(Dense(table), [0.5, 1])
    for people in (0, 21):
        with raises_code(InvalidInputError, f"too-many: {people} people"):
            exhaustive.all_subsets(people)
    with raises_code(InvalidInputError, "too-many: 131,071 … 17"):
        exhaustive.decode(exhaustive.all_subsets(17), np.zeros(131_071))
    assert not exhaustive.suits(exhaustive.all_subsets(17))
    assert not exhaustive.suits(Packed.random(30, 21, 0))
    assert exhaustive.suits(Packed.random(30, 20, 0))


PLAIN = """
import numpy as np
from privet.attacks.subsets.decoders import Errors, exhaustive
from privet.attacks.subsets.decoders.packed import Packed
matrix = Packed.of(np.random.default_rng(0).integers(0, 2, (70, 4)))
answers = matrix.times(np.array([1.0, 0, 0, 1])) + 0.25
assert exhaustive.decode(matrix, answers, Errors("bounded", 0.3)).bits.tolist() == [1, 0, 0, 1]
assert exhaustive.decode(matrix, answers).errors.size == 0.25
"""


def test_the_loops_without_a_compiler_do_the_same() -> None:
    run_plain(PLAIN)
