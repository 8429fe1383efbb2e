"""Real releases on neighboring tables, and many draws of their last step, tell no more than was paid for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from support.full_path import SHAPES, Pair, audit_control, audit_draws

from privet.core.laws import Choice
from privet.stats import binomial

BY_NAME = {shape.name: shape for shape in SHAPES}
DRAWS, SHOWN, CHOICES = 100_000, 60_000, 10_000  # of noise, of keys that are shown, of values that are chosen
SURE = "0.999999999"  # a false alarm in 1e9 audits
RELEASES, MISS = 80, 1e-10


@pytest.fixture
def pair(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Pair]:
    made = Pair(tmp_path, BY_NAME[request.param])
    yield made
    made.close()


@pytest.mark.proof
@pytest.mark.parametrize("pair", BY_NAME, indirect=True)
def test_the_last_step_on_recorded_numbers(pair: Pair) -> None:
    """Many draws a table at a false-alarm rate of 1e-9; the same test with a planted bug must raise the alarm.

    The tables use up the whole price, so that nothing is left to hide in; of delta as much as a whole threshold can.
    """
    assert pair.attained() == 1 or (pair.shape.lone and Fraction(3, 4) < pair.attained() <= 1)
    chosen = any(isinstance(part.law, Choice) for part in pair.parts)
    draws = CHOICES if chosen else SHOWN if pair.shape.private else DRAWS
    found = audit_draws(pair, draws, SURE)
    assert found.verdict.startswith("consistent"), found
    assert audit_control(pair, draws // 2 if chosen else draws, SURE).violated


@pytest.mark.proof
@pytest.mark.parametrize("pair", ["grouped", "people", "rho", "median", "lone keys"], indirect=True)
def test_releases_through_everything(pair: Pair) -> None:
    """80 real releases a table. One event, fixed beforehand: the likelihood ratio speaks for the second table.

    From its counts a lower bound on epsilon, wrong with odds below 1e-9 (five bounds at 1e-10); it is not above the
    claim. Each release has its own entry in the ledger, and its answer.
    """
    first, second = ([ratio > 0 for ratio in pair.releases(side, RELEASES)] for side in (0, 1))
    claim = pair.shape.claim
    for likelier, other in ((second, first), ([not hit for hit in first], [not hit for hit in second])):
        low = binomial.lower(sum(likelier), RELEASES, MISS) - float(claim.delta)
        high = binomial.upper(sum(other), RELEASES, MISS)
        assert low <= 0 or math.log(low / high) <= claim.value
    assert sum(second) > sum(first) - 6 * math.sqrt(RELEASES)  # the noise is there, and the data as well
    for query in pair.queries:
        assert len(list(query.gate.ledger.entries())) == 1 + 2 * RELEASES


def test_every_shape_is_told_apart_by_name() -> None:
    assert len(BY_NAME) == len(SHAPES) >= 10
    assert {shape.neighbors for shape in SHAPES} == {"add-remove", "replace"}
