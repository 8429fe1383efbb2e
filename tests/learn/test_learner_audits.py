"""Black-box audits of learners of one column, at the price that they claim.

An audit flags a correct learner with a chance of 1e-9 at most. It sees fitted attributes only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import lessons
from support.lessons import LEARNERS, extremes, setting

from privet import training
from privet.audits import Audit, Claim, audit
from privet.backends.contributions import RowFunction, Rows
from privet.core.rounds import Round
from privet.core.unit import Neighbors
from privet.engine import FreshNoise
from privet.typing import Floats

EPSILON, SAMPLES = 2, 8_000
Mechanism = Callable[[Floats, int], list[tuple[float, ...]]]


def mechanism(one: lessons.Setting, quieter: int) -> Mechanism:
    """What is fitted to these rows, so many times; the noise is divided."""
    noise = FreshNoise()

    def fitted(rows: Rows) -> tuple[float, ...]:
        def answer(measured: Round, function: RowFunction) -> list[list[int]]:
            exact = rows.sums(function, [each.sums for each in measured])
            return [
                [
                    value + int(more) // quieter
                    for value, more in zip(vector, noise.draw(each.law, len(vector)), strict=True)
                ]
                for vector, each in zip(exact, measured, strict=True)
            ]

        found = training._play(one.lesson(), one.prices.rounds, answer, rows)
        return tuple(float(x) for name in sorted(found) for x in np.ravel(found[name]) if isinstance(x, float))

    return lambda raw, size: [fitted(rows) for rows in [Rows(raw)] * size]


def audited(name: str, neighbors: Neighbors, quieter: int, monkeypatch: pytest.MonkeyPatch) -> Audit:
    """Nobody and a row at the far end; a row at either end."""
    monkeypatch.setattr(lessons, "COLUMNS", 1)
    one = setting(LEARNERS[name](epsilon=EPSILON), neighbors)
    ends = extremes(one.declared)
    pairs: list[Any] = [(ends[:0], ends[-1:])] if neighbors is Neighbors.ADD_REMOVE else [(ends[:1], ends[-1:])]
    return audit(
        mechanism(one, quieter), Claim(EPSILON), neighbors=pairs, samples=SAMPLES, confidence=1 - 1e-9, batch=True
    )


CASES = [("StandardScaler", neighbors) for neighbors in Neighbors] + [("PCA", Neighbors.ADD_REMOVE)]


@pytest.mark.proof
@pytest.mark.parametrize(("name", "neighbors"), CASES)
def test_an_audit_finds_nothing(name: str, neighbors: Neighbors, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not audited(name, neighbors, 1, monkeypatch).violated


@pytest.mark.proof
@pytest.mark.parametrize(("name", "neighbors"), CASES)
def test_an_eighth_of_the_noise_is_found(name: str, neighbors: Neighbors, monkeypatch: pytest.MonkeyPatch) -> None:
    assert audited(name, neighbors, 8, monkeypatch).violated
