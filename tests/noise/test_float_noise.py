"""Coins and normal numbers in floats: word by word, and their law."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from privet.noise.floats import PIECE, FloatNoise
from privet.typing import Words

ALARM = 1e-9


class Listed:
    """Gives these words, over and over, and counts."""

    epoch = 0

    def __init__(self, words: Words) -> None:
        self.words, self.given = words, 0

    def fill(self, out: Words) -> None:
        places = (self.given + np.arange(len(out))) % len(self.words)
        out[:] = self.words[places]
        self.given += len(out)


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_a_coin_compares_half_a_word(size: int) -> None:
    halves = np.array([0, 1, 2**31, 2**32 - 1, 7, 8], np.uint64)
    words = halves[0::2] | halves[1::2] << np.uint64(32)
    order = words.view(np.uint32).astype(np.uint64)  # as this machine stores them
    for coin in (1, 8, 2**31, 2**32 - 1, 2**32):
        source = Listed(words)
        assert FloatNoise(source).coins(coin, size).tolist() == (order[:size] < coin).tolist()
        assert source.given == (size + 1) // 2


def test_a_coin_of_all_is_always_true() -> None:
    assert FloatNoise().coins(2**32, 10_000).all()


@pytest.mark.parametrize("share", [0.5, 0.01])
def test_coins_have_their_rate_and_do_not_depend_on_their_neighbor(share: float) -> None:
    """Accepts the rate, and would not accept one 2 % (of 0.01: 10 %) off."""
    size = 2_000_000
    coins = FloatNoise().coins(round(share * 2**32), size)
    low, high = stats.binom.ppf([ALARM / 2, 1 - ALARM / 2], size, share)
    assert low <= coins.sum() <= high
    both = int((coins[:-1] & coins[1:]).sum())
    low, high = stats.binom.ppf([ALARM / 4, 1 - ALARM / 4], size, share**2)
    assert 0.9 * low <= both <= 1.1 * high
    off = share * (1.02 if share == 0.5 else 1.1)
    assert stats.binom.cdf(stats.binom.ppf(1 - ALARM / 2, size, share), size, off) < 1e-3


def test_normal_numbers_are_those_of_the_formula() -> None:
    generator = np.random.default_rng(3)
    words = generator.integers(0, 2**64, 64, dtype=np.uint64)
    words[:4] = [0, 2**64 - 1, 2**63, 2**11]
    found = FloatNoise(Listed(words)).normals(64)
    with mpmath.workdps(40):
        for place in range(32):
            first, second = (mpmath.mpf(int(words[at]) >> 11) / 2**53 for at in (place, place + 32))
            length, angle = mpmath.sqrt(-2 * mpmath.log(1 - first)), 2 * mpmath.pi * second
            expected = [float(length * mpmath.cos(angle)), float(length * mpmath.sin(angle))]
            assert found[[place, place + 32]] == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_normal_numbers_have_their_law() -> None:
    """Accepts the normal law. One with a deviation 1 % off is refused by its variance, which then lies 10 deviations
    outside; one that is logistic with the right variance by its distribution."""
    found = FloatNoise().normals(1_000_000)
    size = len(found)
    low, high = stats.chi2.ppf([ALARM / 2, 1 - ALARM / 2], size)
    square = float((found**2).sum())
    assert low <= square <= high
    assert not low <= square * 1.01**2 <= high
    assert not low <= square * 0.99**2 <= high
    assert stats.kstest(found, "norm").pvalue > ALARM
    logistic = stats.logistic(scale=math.sqrt(3) / math.pi).ppf(stats.norm.cdf(found))
    assert stats.kstest(logistic, "norm").pvalue < ALARM
    for border in (2.0, 4.0):
        beyond = 2 * stats.norm.sf(border)
        low, high = stats.binom.ppf([ALARM / 2, 1 - ALARM / 2], size, beyond)
        assert low <= (np.abs(found) > border).sum() <= high
    together = float(np.corrcoef(found[:-1], found[1:])[0, 1]) * math.sqrt(size)
    assert abs(together) < stats.norm.isf(ALARM / 2)


@pytest.mark.parametrize("size", [0, 1, 3, PIECE, PIECE + 1, 2 * PIECE + 3])
def test_no_word_is_used_twice(size: int) -> None:
    source = Listed(np.arange(1, 10**6, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    found = FloatNoise(source).normals(size)
    assert found.shape == (size,)
    assert size <= source.given <= size + 3
    assert len(np.unique(found)) == size
