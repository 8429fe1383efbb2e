"""The measurement of interval coverage: it has every kind, and would notice an interval that is too short; and
intervals of differences of shares."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support import scripts
from support.places import ROOT

from privet.stats.binomial import share
from privet.stats.intervals import Interval, difference

TRIALS, PEOPLE = 2_000, 200
MOST = 180  # misses: at a rate of 5 % or less there are more with probability below 1e-13


@pytest.fixture(scope="module")
def script() -> Any:
    return scripts.script("intervals")


def test_every_kind_is_measured(script: Any) -> None:
    jobs = {job.kind: job for job in script.jobs(1, script.Kinds(groups=6))}
    assert len(jobs) > 100
    assert jobs["HAVING n BETWEEN, Laplace"].done()["printed"] == 0
    assert jobs["COUNT(*), Gaussian"].done()["printed"] == 6
    evidence = json.loads((ROOT / "docs" / "evidence" / "coverage.json").read_text())["result"]
    assert evidence["ok"]
    assert [row["kind"] for row in evidence["rows"]] == list(jobs)


def test_an_interval_that_is_too_short_is_noticed(script: Any) -> None:
    hits = script.Hits
    assert script.result("good", hits(1_900, 2_000))["ok"]
    assert script.result("three standard errors below", hits(1_871, 2_000))["ok"]
    assert not script.result("bad", hits(1_870, 2_000))["ok"]
    assert not script.result("bad at once", hits(2_000, 2_000), hits(300, 500))["ok"]
    assert script.result("none", hits(0, 0), hits(0, 0)) == {
        "kind": "none", "printed": 0, "held": None, "shrink": None,
        "tables": 0, "all_held": None, "all_shrink": None, "ok": True,
    }  # fmt: skip


def test_how_far_intervals_could_shrink(script: Any) -> None:
    """0 ... 100 shrunk around its middle to 90 % of its width is 5 ... 95, which holds 95 of these 100 numbers."""
    inside = [*range(5, 96), 96, 97, 98, 99, 100, *[50] * 4]
    found = script.added([script.from_middle(0, 100, value) for value in inside])
    assert found == (100, 100, 0.9)
    assert script.added([None, 0.5]) == (1, 1, 0.5)
    assert script.added([None]) == (0, 0, None)


def test_a_distance_is_above_1_exactly_outside(script: Any) -> None:
    outside = Fraction(100) + Fraction(1, 10**30)  # as a float it is 100
    assert script.from_middle(0, 100, 100) == 1 < script.from_middle(0, 100, outside)
    assert script.from_middle(7, 7, 7) == 0
    assert script.from_middle(7, 7, outside) == math.inf
    assert script.added([1.0, script.from_middle(0, 100, outside)])[:2] == (1, 2)


def test_the_truth_is_that_of_the_textbook(script: Any) -> None:
    function = script.Function
    rows = ((1, 2, 1), (3, 6, 1), (None, 4, 1), (5, None, 0))
    for name, true in {"AVG": 3, "VAR_POP": 8 / 3, "VAR_SAMP": 4, "STDDEV_SAMP": 2, "SUM": 9, "COUNT": 3}.items():
        assert float(script.truth(script.of(function[name]), rows)) == pytest.approx(true)
    for name, true in {"COVAR_POP": 2, "COVAR_SAMP": 4, "CORR": 1}.items():
        assert float(script.truth(script.of(function[name], second="y"), rows)) == pytest.approx(true)
    assert script.truth(script.of(function.CORR, second="y"), rows[:1]) is None


@pytest.mark.parametrize("alike", [-1, 0, 1])
def test_an_advantage_lies_in_its_interval_whoever_is_behind_it(alike: int) -> None:
    """Two shares of the same people, of which never both are right, or both as often as by chance, or together: if
    their errors were taken to be independent, the first would be missed by 13 %."""
    random = np.random.default_rng(20)
    ends = {hits: share(hits, PEOPLE) for hits in range(PEOPLE + 1)}
    misses = 0
    for _ in range(TRIALS):
        one = random.random(PEOPLE)
        two = {-1: 1 - one, 0: random.random(PEOPLE), 1: one}[alike]
        gap = difference(*(ends[int((side < 0.5).sum())] for side in (one, two)))
        misses += not gap.low <= 0 <= gap.high
    assert misses <= MOST


def test_an_advantage_stays_between_its_ends() -> None:
    everybody, nobody = Interval(1.0, 0.9, 1.0), Interval(0.0, 0.0, 0.2)
    assert difference(everybody, nobody) == Interval(1.0, pytest.approx(0.7), 1.0)
    assert difference(Interval(0.0, -0.5, 0.0), everybody).low == -1
