"""How far one unit moves what each learner measures: by no more than is priced, and some unit by about as much.

Rounds are compared given the same noisy sums before, as the price is. Mistakes of four kinds are planted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support import lessons
from support.lessons import LEARNERS, Setting, exact_sums, lengths, raw_of, rows_of, setting, table_of, transcript
from support.row_functions import assert_row_function

from privet.backends import held_rows
from privet.core.laws import DiscreteGaussian
from privet.core.rounds import Form, moved
from privet.core.unit import Neighbors
from privet.learn import gaussian_bayes, kmeans, linear, logistic_rows, look, pca
from privet.typing import Floats

NAMES = list(LEARNERS)
RELATIONS = list(Neighbors)
NEAR = 0.85  # of the limit: at least as long is the longest row; Laplace noise of products is for 0.97 or more in sum


@pytest.fixture(params=[0, 1e-6], ids=["pure", "approximate"])
def delta(request: pytest.FixtureRequest) -> Any:
    return request.param


def made(name: str, delta: Any, neighbors: Neighbors = Neighbors.ADD_REMOVE, rows: int = 1) -> Setting:
    return setting(LEARNERS[name](epsilon=2, delta=delta), neighbors, rows)


def heard_by(one: Setting, name: str, rows: int = 300) -> list[list[list[int]]]:
    return transcript(one, raw_of(one, *table_of(name, rows)))


def check_lengths(one: Setting, heard: list[list[list[int]]]) -> None:
    gaussian = isinstance(one.prices.rounds[0][0].law, DiscreteGaussian)
    for sums, sizes, squares in lengths(one, heard):
        assert sizes.max() <= sums.l1
        assert squares.max() <= sums.l2_squared
        assert squares.max() >= NEAR * sums.l2_squared or not gaussian  # what the noise is for is attained
        assert sizes.max() >= 0.97 * sums.l1 or gaussian or sums.form is Form.GRAM


def check_rows(one: Setting, heard: list[list[list[int]]], raw: Floats) -> None:
    for _, function, recode in lessons.steps_of(one, heard):
        assert_row_function(function, raw, recode)


@pytest.mark.parametrize("name", NAMES)
def test_no_row_is_longer_than_was_priced_and_some_row_is_as_long(name: str, delta: Any) -> None:
    one = made(name, delta)
    check_lengths(one, heard_by(one, name))


@pytest.mark.parametrize("name", NAMES)
def test_each_row_by_itself(name: str, delta: Any) -> None:
    one = made(name, delta)
    check_rows(one, heard_by(one, name), raw_of(one, *table_of(name, 40, seed=2)))


# ----------------------------------------------------------------------------------------------- neighboring tables


def persons(one: Setting, name: str) -> Iterator[tuple[Floats, Floats]]:
    """Rows of a person and of one who may stand in the same place: at the ends of all ranges, with more rows than
    count, or without any."""
    ends, others = lessons.extremes(one.declared), raw_of(one, *table_of(name, 40, seed=5))
    rng = np.random.default_rng(6)
    nobody = ends[:0]
    for place in range(0, len(ends), max(len(ends) // 12, 1)):
        yield np.repeat(ends[place : place + 1], 3, axis=0), nobody
        yield np.repeat(ends[place : place + 1], 3, axis=0), np.repeat(ends[len(ends) - place - 1 :][:1], 3, axis=0)
    for _ in range(6):
        yield others[rng.integers(0, 40, 4)], ends[rng.integers(0, len(ends), 4)]


def movements(one: Setting, name: str) -> Iterator[tuple[float, float, float]]:
    """Of each round and two neighbors, how far the exact sums are apart: in shares of what is priced, in sum, in
    squares and at most."""
    beside = raw_of(one, *table_of(name, 60, seed=4))
    heard = transcript(one, beside)
    for before, after in persons(one, name):
        some = before if one.neighbors is Neighbors.REPLACE and len(after) == 0 else after
        if one.neighbors is Neighbors.ADD_REMOVE:
            some = before[:0]
        both = [_sums(one, beside, own, heard) for own in (before, some)]
        for (sums, found), (_, other) in zip(*both, strict=True):
            far = moved(sums, one.declared.rows, one.neighbors)
            change = [abs(a - b) for a, b in zip(found, other, strict=True)]
            yield sum(change) / far.l1, sum(x * x for x in change) / far.l2_squared, max(change) / far.linf


def _sums(one: Setting, beside: Floats, own: Floats, heard: list[list[list[int]]]) -> list[Any]:
    raw = np.vstack([beside, own])
    units = np.append(np.arange(len(beside)) // 2, np.full(len(own), len(beside)))
    if one.declared.rows == 1:
        raw, units = np.vstack([beside, own[:1]]), None
    return list(exact_sums(one, rows_of(one, raw, units), heard))


def check_movements(one: Setting, name: str, least: float) -> None:
    shares = np.array(list(movements(one, name)))
    assert shares.max() <= 1
    assert shares[:, 1].max() >= least


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rows", [1, 2])
def test_a_unit_that_comes_or_goes_moves_sums_by_what_is_priced(name: str, rows: int, delta: Any) -> None:
    check_movements(made(name, delta, rows=rows), name, NEAR)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rows", [1, 2])
def test_a_unit_that_is_replaced_moves_sums_by_what_is_priced(name: str, rows: int, delta: Any) -> None:
    """Where all rows share a constant, two of them are never opposite: then it is less than half of the squares."""
    check_movements(made(name, delta, Neighbors.REPLACE, rows), name, 0.4)


# --------------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize("name", ["GaussianNB", "KMeans", "PCA", "LinearRegression", "LogisticRegression", "OneMargin"])
def test_rows_that_are_not_shortened_are_noticed(name: str, delta: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in (gaussian_bayes, kmeans, linear, logistic_rows, pca):
        monkeypatch.setattr(room, "within", lambda matrix, *_: np.rint(matrix))
    one = made(name, delta)
    with pytest.raises(AssertionError):
        check_lengths(one, heard_by(one, name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_all_rows_of_a_person_are_noticed(name: str, neighbors: Neighbors, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row is shortened, but not the person's."""
    one = made(name, 0, neighbors, 2)
    monkeypatch.setattr(held_rows, "bounded", lambda raw, *_: np.arange(len(raw)))
    with pytest.raises(AssertionError):
        check_movements(one, name, 0)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "CategoricalNB"])
def test_a_length_from_the_data_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are divided by the largest number that is there."""

    def scaled(values: Floats, _: Floats) -> Floats:
        return np.rint(values / max(float(values.max(initial=1)), 1) * look.UNIT)

    for room in (gaussian_bayes, kmeans, linear, logistic_rows, look, pca):
        monkeypatch.setattr(room, "from_middle", scaled, raising=False)
    one = made(name, 0)
    with pytest.raises(AssertionError):
        check_rows(one, heard_by(one, name), raw_of(one, *table_of(name, 40, seed=2)))
