"""The measurement of interval coverage: it has every kind, and would notice an interval that is too short; and
intervals of differences of shares."""

from __future__ import annotations

import json
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
    assert script.result("good", (1_900, 2_000))["ok"]
    assert script.result("three standard errors below", (1_871, 2_000))["ok"]
    assert not script.result("bad", (1_870, 2_000))["ok"]
    assert not script.result("bad at once", (2_000, 2_000), (300, 500))["ok"]
    assert script.result("none", (0, 0), (0, 0)) == {
        "kind": "none", "printed": 0, "held": None, "tables": 0, "all_held": None, "ok": True
    }  # fmt: skip


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
