"""Intervals of gains, against laws that are known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from privet.stats.binomial import share
from privet.stats.gains import apart, gain
from privet.stats.intervals import Interval


@pytest.mark.parametrize("more", [0, 1, 7, 20])
def test_with_nothing_lost_the_middle_is_that_of_the_share(more: int) -> None:
    found = gain(more, 0, 20)
    assert found.value == more / 20
    assert found.low <= share(more, 20).low
    assert found.high == pytest.approx(share(more, 20).high)


def test_turned_around_it_is_the_negative() -> None:
    one, other = gain(9, 4, 30), gain(4, 9, 30)
    assert (one.value, one.low, one.high) == pytest.approx((-other.value, -other.high, -other.low))


def test_nobody_says_nothing_and_everybody_stays_within_one() -> None:
    assert gain(0, 0, 0) == Interval(0.0, -1.0, 1.0)
    assert gain(5, 0, 5).high == 1.0
    assert gain(0, 5, 5).low == -1.0
    assert gain(3, 2, 5).low > -1.0


@pytest.mark.parametrize("law", [(0.0, 0.0), (0.03, 0.0), (0.05, 0.05), (0.3, 0.1), (0.4, 0.4), (0.9, 0.05)])
def test_of_the_same_people_by_enumeration(law: tuple[float, float]) -> None:
    """Over all counts of 25 people, either end is wrong in at most 2.5 % of cases."""
    people, true = 25, law[0] - law[1]
    wrong = np.zeros(2)
    for more, less in product(range(people + 1), repeat=2):
        if more + less <= people:
            found, rest = gain(more, less, people), people - more - less
            chance = multinomial.pmf([more, less, rest], people, [*law, 1 - sum(law)])
            wrong += chance * np.array([found.low > true + 1e-12, found.high < true - 1e-12])
    assert wrong.max() <= 0.025


@pytest.mark.parametrize("shares", [(0.02, 0.02), (0.5, 0.1), (0.5, 0.5), (0.95, 0.9)])
def test_of_different_people_by_enumeration(shares: tuple[float, float]) -> None:
    sizes, true = (40, 15), shares[0] - shares[1]
    found = [[share(hits, of) for hits in range(of + 1)] for of in sizes]
    chances = [binom.pmf(np.arange(of + 1), of, p) for of, p in zip(sizes, shares, strict=True)]
    wrong = np.zeros(2)
    for one, other in product(range(sizes[0] + 1), range(sizes[1] + 1)):
        both = apart(found[0][one], found[1][other])
        chance = chances[0][one] * chances[1][other]
        wrong += chance * np.array([both.low > true + 1e-12, both.high < true - 1e-12])
    assert wrong.max() <= 0.025
