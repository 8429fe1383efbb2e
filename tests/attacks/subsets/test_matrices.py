"""However a matrix is stored, its products are those of the plain table."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.processes import run_plain
from support.refusals import raises_code

from privet.attacks.subsets.decoders import Matrix, packed
from privet.attacks.subsets.decoders.intervals_of_people import Ranges
from privet.attacks.subsets.decoders.listed import Sparse
from privet.attacks.subsets.decoders.packed import Packed
from privet.errors import InvalidInputError

SIZES = st.integers(0, 5) | st.integers(6, 200)


def agree(matrix: Matrix, plain: np.ndarray, seed: int) -> None:
    """With whole numbers, of which every sum is exact, whatever its order; and with others."""
    rows, people = plain.shape
    assert matrix.shape == (rows, people)
    generator = np.random.default_rng(seed)
    values, numbers = generator.integers(-1000, 1000, people), generator.integers(-1000, 1000, rows)
    assert (matrix.times(values.astype(float)) == plain @ values).all()
    assert (matrix.back(numbers.astype(float)) == numbers @ plain).all()
    some, others = generator.normal(size=people), generator.normal(size=rows)
    np.testing.assert_allclose(matrix.times(some), plain @ some, rtol=0, atol=1e-10)
    np.testing.assert_allclose(matrix.back(others), others @ plain, rtol=0, atol=1e-10)
    assert (matrix.block(0, rows) == plain).all()
    assert (matrix.block(rows // 3, rows // 2) == plain[rows // 3 : rows // 2]).all()


def subsets(rows: int, people: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return (generator.random((rows, people)) < generator.random()).astype(np.int64)


@settings(max_examples=60)
@given(SIZES, SIZES, st.integers(0, 2**32))
def test_packed_and_sparse_are_the_plain_table(rows: int, people: int, seed: int) -> None:
    plain = subsets(rows, people, seed)
    agree(Packed.of(plain), plain, seed)
    agree(Packed.of(plain.astype(bool)), plain, seed)
    agree(Sparse.of([np.flatnonzero(row)[::-1] for row in plain], people), plain, seed)


@settings(max_examples=60)
@given(SIZES, SIZES, st.integers(0, 2**32))
def test_ranges_are_the_plain_table(rows: int, people: int, seed: int) -> None:
    bounds = np.sort(np.random.default_rng(seed).integers(0, people + 1, (rows, 2)), axis=1)
    plain = np.array([[start <= j < end for j in range(people)] for start, end in bounds]).reshape(rows, people)
    agree(Ranges(bounds[:, 0], bounds[:, 1], people), plain.astype(np.int64), seed)


@pytest.mark.parametrize("people", [1, 63, 64, 65, 200])
def test_random_subsets(people: int) -> None:
    """Means of all, of pairs of neighbors and of the same place in the next words are those of fair bits, to 5
    deviations: a false alarm in a million. One bit in eight that always is 0 would be 12 deviations off."""
    matrix = Packed.random(2000, people, seed=people)
    plain = matrix.block(0, 2000)
    agree(matrix, plain.astype(np.int64), 1)
    assert (plain == Packed.random(2000, people, seed=people).block(0, 2000)).all()
    assert (plain != Packed.random(2000, people, seed=people + 1).block(0, 2000)).any()

    signs = 2 * plain - 1
    for step in (1, 64):
        for products in (signs, signs[step:] * signs[:-step], signs[:, step:] * signs[:, :-step]):
            assert abs(products.sum()) <= 5 * np.sqrt(products.size)
    assert (np.abs(signs.sum(0)) <= 6 * np.sqrt(2000)).all()


def test_subsets_tell_nothing_of_secrets_drawn_with_the_same_seed() -> None:
    """Once they did: decoders found 99.7 % where 97.4 % is possible. 32,000 fair bits: 6 deviations are .017."""
    rows = Packed.random(1, 32_000, seed=7).block(0, 1)[0]
    words = np.random.default_rng(7).integers(0, 2**64, 500, np.uint64).astype("<u8")
    drawn = np.unpackbits(words.view(np.uint8), bitorder="little")
    assert abs((rows == drawn).mean() - 0.5) < 0.017


def test_large_products_are_shared_between_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = subsets(301, 450, 3)
    matrix = Packed.of(plain)
    monkeypatch.setattr(packed, "SHARE", 100)
    for processors in (1, 3, 64, None):
        monkeypatch.setattr(os, "cpu_count", lambda processors=processors: processors)
        agree(matrix, plain, 4)


def test_large_tables_are_packed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = subsets(301, 45, 5)
    monkeypatch.setattr(packed, "CHUNK", 1000)
    agree(Packed.of(plain), plain, 6)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Packed.of([[0, 2]]), "not-binary: numbers … than 0 … 1"),
        (lambda: Packed.of([[0, np.nan]]), "not-binary: numbers … than 0 … 1"),
        (lambda: Packed.of([0, 1]), "wrong-shape: (2,) … int64"),
        (lambda: Packed.of([["0", "1"]]), "wrong-shape: 1 … 2"),
        (lambda: Packed.of([[0, 1], [1]]), "wrong-shape: different"),
        (lambda: Packed.random(-1, 3, seed=1), "negative: -1 rows … of 3 people"),
        (lambda: Packed.random(1, -3, seed=1), "negative: 1 rows … of -3 people"),
        (lambda: Packed.random(2, 3, seed=1).times(np.ones(2)), "wrong-length: array … 2 … for 3 people"),
        (lambda: Packed.random(2, 3, seed=1).back(np.ones(3)), "wrong-length: 3 … for 2 answers"),
        (lambda: Packed.of([[0, 1]]).times(np.ones((2, 1))), "wrong-length: shape … 1 … for 2 people"),
        (lambda: Sparse.of([[0], [0.5]], 3), "not-a-list: 1"),
        (lambda: Sparse.of([[[0]]], 3), "not-a-list: 0"),
        (lambda: Sparse.of([[0], [2, 3]], 3), "unknown-person: 1 … person 3"),
        (lambda: Sparse.of([[0, -1]], 3), "unknown-person: 0 … person -1"),
        (lambda: Sparse.of([[0, 2, 0]], 3), "duplicate-name: 0"),
        (lambda: Ranges([0], [1, 2], 3), "wrong-shape: without"),
        (lambda: Ranges([0.0], [1.0], 3), "wrong-shape: without"),
        (lambda: Ranges([0, 2], [3, 1], 3), "out-of-range: 1 … from 2"),
        (lambda: Ranges([-1], [1], 3), "out-of-range: 0 … from -1"),
        (lambda: Ranges([0], [4], 3), "out-of-range: from 0 … 4"),
    ],
)
def test_what_is_not_a_matrix_is_refused(make: Any, problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        make()


PLAIN = """
import test_matrices as t
plain = t.subsets(9, 70, 1)
t.agree(t.Packed.of(plain), plain, 2)
t.agree(t.Sparse.of([t.np.flatnonzero(row) for row in plain], 70), plain, 2)
"""


def test_the_loops_without_a_compiler_do_the_same() -> None:
    run_plain(PLAIN, Path(__file__).parent)


def test_loops_load_late() -> None:
    code = "import sys; from privet.attacks.subsets.decoders import amp, evolution, listed, packed;"
    code += "print('numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
