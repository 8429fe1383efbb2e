"""Which columns the sums determine: against plain elimination in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.attacks.proofs import rowspace
from privet.attacks.proofs.rowspace import Combination, Combinations, row_space, verified
from privet.attacks.proofs.work import Work

SECOND = 1.0


def inside_by_fractions(matrix: np.ndarray) -> set[int]:
    """The definition: reduced row echelon form over the rationals, a pivot row with nothing else in it."""
    rows = [[Fraction(int(value)) for value in row] for row in matrix]
    pivots: list[int] = []
    for column in range(matrix.shape[1]):
        top = len(pivots)
        found = next((at for at in range(top, len(rows)) if rows[at][column]), None)
        if found is None:
            continue
        rows[top], rows[found] = rows[found], rows[top]
        rows[top] = [value / rows[top][column] for value in rows[top]]
        for at, row in enumerate(rows):
            if at != top and row[column]:
                rows[at] = [a - row[column] * b for a, b in zip(row, rows[top], strict=True)]
        pivots.append(column)
    return {
        column
        for row, column in zip(rows, pivots, strict=False)
        if all(not v for at, v in enumerate(row) if at != column)
    }


def rank_by_fractions(matrix: np.ndarray) -> int:
    rows = [[Fraction(int(value)) for value in row] for row in matrix]
    rank = 0
    for column in range(matrix.shape[1]):
        found = next((at for at in range(rank, len(rows)) if rows[at][column]), None)
        if found is not None:
            rows[rank], rows[found] = rows[found], rows[rank]
            for at in range(rank + 1, len(rows)):
                factor = rows[at][column] / rows[rank][column]
                rows[at] = [a - factor * b for a, b in zip(rows[at], rows[rank], strict=True)]
            rank += 1
    return rank


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    rows, columns = draw(st.integers(0, 8)), draw(st.integers(1, 8))
    entry = st.integers(0, 1) if draw(st.booleans()) else st.integers(-3, 3)
    cells = draw(st.lists(entry, min_size=rows * columns, max_size=rows * columns))
    return np.array(cells, dtype=np.int64).reshape(rows, columns)


@given(matrices())
def test_inside_is_what_fractions_say_and_each_column_has_a_combination(matrix: np.ndarray) -> None:
    space = row_space(matrix)
    assert set(space.inside) == inside_by_fractions(matrix)
    search = Combinations(matrix)
    for column in range(matrix.shape[1]):
        found = search.find(column, Work(SECOND))
        assert (found is not None) == (column in space.inside)
        assert found is None or verified(matrix, column, found)


@given(matrices())
def test_the_chosen_rows_and_columns_are_independent(matrix: np.ndarray) -> None:
    space = row_space(matrix)
    assert len(space.rows) == len(space.columns) == rank_by_fractions(matrix)
    assert rank_by_fractions(matrix[np.ix_(space.rows, space.columns)]) == len(space.rows)


@pytest.mark.parametrize("density", [0.1, 0.5])
@pytest.mark.parametrize("rows", [12, 17, 24])
def test_several_blocks(rows: int, density: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """More columns than one block of the elimination, and blocks without a full set of pivots."""
    monkeypatch.setattr(rowspace, "BLOCK", 4)
    matrix = (np.random.default_rng(rows).random((rows, 19)) < density).astype(np.int64)
    matrix[:, 9:12] = matrix[:, 4:7]
    assert set(row_space(matrix).inside) == inside_by_fractions(matrix)


@pytest.mark.parametrize("wrong", rowspace.PRIMES)
def test_a_prime_that_misleads_is_outvoted(wrong: int, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.array([[1, 1, 0, 0], [1, 1 + wrong, 0, 0], [0, 0, 1, 1]])  # modulo `wrong` the first two rows are equal
    assert set(row_space(matrix).inside) == {0, 1} == inside_by_fractions(matrix)
    monkeypatch.setattr(rowspace, "PRIMES", (wrong,))
    assert not row_space(matrix).inside  # the second opinion is what helped


def test_simple_combinations_come_first() -> None:
    matrix = np.array([[1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])
    search = Combinations(matrix)
    assert search.find(3, Work(0)) == Combination(((3, Fraction(1)),))
    assert search.find(0, Work(0)) == Combination(((0, Fraction(1)), (1, Fraction(-1))))


def test_five_rows_that_only_work_together() -> None:
    matrix = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1], [1, 0, 0, 0, 1]])
    half = Fraction(1, 2)
    search = Combinations(matrix)
    assert search.find(0, Work(0)) is None  # no time: only one and two rows were tried
    assert search.find(0, Work(SECOND)) == Combination(((0, half), (1, -half), (2, half), (3, -half), (4, half)))


def test_a_wrong_combination_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.array([[1, 1], [0, 1]])
    search = Combinations(matrix)
    monkeypatch.setattr(search, "_one_or_two", lambda _: Combination(((0, Fraction(1)),)))
    assert search.find(0, Work(0)) is None
    assert not verified(matrix, 0, Combination(()))


def test_a_combination_that_nobody_would_read_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    assert Combinations(matrix).find(0, Work(SECOND)) is not None
    monkeypatch.setattr(rowspace, "MOST_ROWS", 2)
    assert Combinations(matrix).find(0, Work(SECOND)) is None
