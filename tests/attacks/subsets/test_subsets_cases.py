"""Sums over subsets that were once refused or promised too much: each test fails on that code."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from privet.attacks import Errors, attack_subsets, simulate


def test_coarse_rounding_promises_what_it_gives() -> None:
    """Sums of 200 people vary by 7 around 50: rounded to 50, nearly all are 50."""
    made = simulate(200, 4, 0, law="exact", seed=1)
    rounded = 50 * np.rint(made.answers / 50)
    found = attack_subsets(made.queries, rounded, errors=Errors("bounded", 25), truth=made.secrets, decoder="box")
    said, got = found.numbers["forecast"], found.numbers["recovered"]
    assert abs(said - got) < 0.1  # of 200 people: three standard deviations


def test_a_sparse_matrix_is_a_list_of_queries() -> None:
    made = simulate(30, 3, 0.1, structure="sparse", seed=3)
    given = scipy.sparse.csr_matrix(np.asarray(made.queries.block(0, made.queries.shape[0])))
    found = attack_subsets(given, made.answers, errors=made.errors, truth=made.secrets)
    assert found.numbers["recovered"] > 0.9


def test_fewer_answers_than_people_give_what_they_determine() -> None:
    """Six exact answers about 80 people: three are asked about alone, two more follow by a difference."""
    rows = np.zeros((6, 80), np.int64)
    rows[[0, 1, 2], [0, 1, 2]] = 1
    rows[3, 3:], rows[4, 4:], rows[5, 5:] = 1, 1, 1
    secrets = np.random.default_rng(3).integers(0, 2, 80)
    found = attack_subsets(rows, rows @ secrets, errors=Errors("exact"), truth=secrets)
    assert found.claimed == 5
    assert found.score is not None
    assert found.score.right == 5
