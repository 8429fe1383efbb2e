"""Functions of single rows: rounded and clipped, wherever a row stands."""

from __future__ import annotations

import numpy as np
import pytest
from support.row_functions import assert_matrix_function

from privet.learn.rows import clipped


@pytest.mark.parametrize("limit", [1, 2, 100, 2**20, 2**26, 2**44])
@pytest.mark.parametrize("width", [1, 3, 200])
def test_no_row_is_longer_than_the_limit(limit: int, width: int) -> None:
    rng = np.random.default_rng(1)
    raw = rng.normal(size=(200, width)) * 10.0 ** rng.uniform(-2, 12, (200, 1))
    found = clipped(raw, limit)
    assert (found == np.rint(found)).all()
    squares = [sum(int(x) ** 2 for x in row) for row in found]
    assert max(squares) <= limit
    assert max(squares) >= limit * 0.9 - 3 * width * limit**0.5  # nothing is shortened much more than it must be


def test_short_rows_are_only_rounded() -> None:
    raw = np.random.default_rng(2).uniform(-5, 5, (50, 4))
    np.testing.assert_array_equal(clipped(raw, 4 * 6**2), np.rint(raw))
    assert clipped(np.array([[3.0, 4.0]]), 25).tolist() == [[3, 4]]
    assert clipped(np.array([[3.0, 4.0]]), 24).tolist() == [[2, 3]]


def test_what_is_no_number_is_nothing() -> None:
    raw = np.array([[np.nan, 3.0], [np.inf, -np.inf], [1e300, 1.0]])
    assert clipped(raw, 100).tolist() == [[0, 3], [0, 0], [9, 0]]
    assert clipped(np.zeros((0, 3)), 100).shape == (0, 3)


def test_each_row_by_itself() -> None:
    rng = np.random.default_rng(3)
    raw = rng.normal(size=(60, 40)) * 10.0 ** rng.uniform(-2, 12, (60, 1))
    for limit in (50, 10**6, 2**50):
        assert_matrix_function(lambda matrix, limit=limit: clipped(matrix, limit), raw)  # type: ignore[misc]
