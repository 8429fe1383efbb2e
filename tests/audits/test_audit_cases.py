"""Mistakes that a search of audits once printed as "consistent": each test fails on that code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from privet.audits import Claim, Rows, audit

CAP = 10


class Draws:
    generator = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    Draws.generator = np.random.default_rng(0)


def noise(scale: float, size: int) -> np.ndarray:
    first, second = Draws.generator.geometric(-np.expm1(-1 / scale), (2, size))
    return first - second


def clipped_but(odd: int) -> Callable[[list[int], int], np.ndarray]:
    return lambda data, size: sum(one if one == odd else min(one, CAP) for one in data) + noise(CAP, size)


def test_one_listed_value_of_101_is_not_clipped() -> None:
    found = audit(clipped_but(57), Claim(1), domain=Rows(list(range(101))), samples=20_000)
    assert found.violated, str(found)


def test_a_bug_starts_at_12_people() -> None:
    def mechanism(data: list[int], size: int) -> np.ndarray:
        return sum(data) + (noise(1, size) if len(data) < 12 else np.zeros(size, np.int64))

    found = audit(mechanism, Claim(1), domain=Rows([0, 1]), samples=10_000)
    assert found.violated, str(found)


def test_what_was_tried_stands_in_the_verdict() -> None:
    found = audit(lambda data, size: sum(data) + noise(1, size), Claim(1), domain=Rows([0, 1]), samples=4000)
    assert found.verdict.endswith(f"on the {found.pairs} pairs tried (all 2 values, sizes up to 64)")


def test_bits_of_floats_are_named_in_one_sentence_and_can_be_ignored() -> None:
    def mechanism(data: list[int], size: int) -> np.ndarray:
        return sum(data) + Draws.generator.laplace(0, 0.5, size)

    found = audit(mechanism, Claim(1), samples=20_000)
    (line,) = [line for line in str(found).split(". ") if "last bits of floating-point numbers" in line]
    assert "--ignore-float-bits" in str(found), line
    after = audit(mechanism, Claim(1), samples=40_000, ignore_float_bits=True)  # type: ignore[call-arg, unused-ignore]
    assert after.violated
    assert 1 < after.lower_bound < 2  # the noise is half as large as claimed
