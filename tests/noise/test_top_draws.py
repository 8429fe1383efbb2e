"""Cells chosen by their scores: the law of all rounds in draws, and scores of any size."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from support.fit import EXPECTED_AT_LEAST, FALSE_ALARM, p_value
from support.plain_statistics import top_law
from support.refusals import raises_code

from privet.core.laws import Top
from privet.errors import InvalidInputError
from privet.noise.top import FARTHEST, choose_top

SCORES = (3, 5, 4, 5)
SURE = Fraction(1000)


@pytest.mark.parametrize("flip", [True, False])
def test_draws_have_the_law_and_no_other(flip: bool) -> None:
    """12,000 draws of two rounds, in order. False alarms 1e-9; a rate 20 % off is rejected with probability above
    1 - 1e-9."""
    law, draws = Top(Fraction(3, 4), 2, flip=flip), 12_000
    outcomes = list(itertools.permutations(range(len(SCORES)), 2))
    places = {outcome: place for place, outcome in enumerate(outcomes)}
    drawn = [places[*choose_top(SCORES, law)] for _ in range(draws)]  # type: ignore[index]
    seen = np.bincount(drawn, minlength=len(outcomes))

    def chances(rate: Fraction) -> np.ndarray:
        found = top_law(SCORES, Top(rate, 2, flip=flip))
        return np.array([found[outcome] for outcome in outcomes])

    true = chances(law.rate)
    assert p_value(seen, true) > FALSE_ALARM
    for wrong in (chances(law.rate * Fraction(6, 5)), chances(law.rate * Fraction(4, 5))):
        assert (wrong * draws).min() >= EXPECTED_AT_LEAST  # so that no bins are merged, and the power is this:
        shift = draws * float(((true - wrong) ** 2 / wrong).sum())
        freedom = len(true) - 1
        assert stats.ncx2.cdf(stats.chi2.isf(FALSE_ALARM, freedom), freedom, shift) < 1e-9
        assert p_value(seen, wrong) < FALSE_ALARM


@pytest.mark.parametrize("flip", [True, False])
def test_the_best_are_chosen_at_a_high_rate_in_order(flip: bool) -> None:
    """Anything else has a probability below e**-999."""
    for scores, best in (
        ([1, 9, 4, 7], [1, 3, 2]),
        ([-1, -9, -4, -7], [0, 2, 3]),
        ([10**30, 5, -(10**30), 6], [0, 3, 1]),  # sums can be wider than a machine word
        ([FARTHEST, 0, FARTHEST - 1, -FARTHEST], [0, 2, 1]),
        ([7, 8, 9], [2, 1, 0]),  # all of them
    ):
        assert choose_top(scores, Top(SURE, 3, flip=flip)) == best


@pytest.mark.parametrize("flip", [True, False])
def test_scores_that_are_cut_are_equal(flip: bool) -> None:
    """Beyond the ends there is no order: each of the two comes first in 400 draws but for 2**-399."""
    first = {choose_top([10**40, -(10**40), 10**20], Top(SURE, 1, flip=flip))[0] for _ in range(400)}
    assert first == {0, 2}


def test_no_place_is_chosen_twice() -> None:
    for flip, rounds in itertools.product((True, False), (1, 2, 50, 100)):
        chosen = choose_top([7] * 100, Top(Fraction(1, 10**12), rounds, flip=flip))
        assert len(set(chosen)) == len(chosen) == rounds
        assert set(chosen) <= set(range(100))


@pytest.mark.parametrize("law", [Top(SURE, 0), Top(SURE, 5), Top(Fraction(0), 1), Top(Fraction(0), 1, flip=True)])
def test_what_cannot_be_chosen_is_refused_without_a_word_about_scores(law: Top) -> None:
    with raises_code(InvalidInputError, "out-of-range") as caught:
        choose_top([123456, 2, 3, 4], law)
    assert "123456" not in str(caught.value)
