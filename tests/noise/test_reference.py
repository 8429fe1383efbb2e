"""The slow samplers that define the laws, checked flip by flip and against the laws."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from support.fit import FALSE_ALARM, p_value

from privet.core.laws import DiscreteGaussian, DiscreteLaplace
from privet.noise import reference
from privet.noise.entropy import KEYSTREAM, Bits


class MissingBits(Exception):  # noqa: N818  an answer, not an error
    """So many more are asked for."""


class Coins:
    """Bits from a fixed list; runs out with an exception, so that a test can walk the whole tree of choices."""

    def __init__(self, value: int, count: int) -> None:
        self.value, self.count = value, count

    def take(self, count: int) -> int:
        if self.count < count:
            raise MissingBits(count - self.count)
        self.count -= count
        return self.value >> self.count & (1 << count) - 1


def outcomes(sample: object, depth: int) -> tuple[Counter, Fraction]:
    """The exact probability of every result reached within `depth` bits, and what is still open."""
    law: Counter = Counter()
    still_open = 0
    stack = [(0, 0)]  # the bits so far as a number, and how many they are
    while stack:
        value, count = stack.pop()
        try:
            law[sample(Coins(value, count))] += 1 << depth - count
        except MissingBits as missing:
            (more,) = missing.args
            if count + more > depth:
                still_open += 1 << depth - count
            else:
                stack += [(value << more | bits, count + more) for bits in range(1 << more)]
    return Counter({found: Fraction(ways, 2**depth) for found, ways in law.items()}), Fraction(still_open, 2**depth)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 8])
def test_below_is_uniform(limit: int) -> None:
    law, still_open = outcomes(lambda bits: reference.below(limit, bits), 12)
    assert set(law) == set(range(limit))
    assert len(set(law.values())) == 1
    assert still_open < Fraction(1, 20)


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(3, 2), Fraction(5, 2)])
def test_flip_exp_by_enumeration(gamma: Fraction) -> None:
    law, still_open = outcomes(lambda bits: reference.flip_exp(gamma, bits), 13)
    assert law[True] <= math.exp(-gamma) + 1e-15
    assert law[False] <= 1 - math.exp(-gamma) + 1e-15
    assert still_open < Fraction(1, 8)


@pytest.mark.counted
@pytest.mark.parametrize("law", [DiscreteLaplace(Fraction(3, 4)), DiscreteGaussian(Fraction(1, 2))])
def test_draw_by_enumeration(law: object) -> None:
    """No result comes out more often than its law allows, and the gaps sum to what is still open."""
    seen, still_open = outcomes(lambda bits: reference.draw(law, bits), 15)
    weights = {x: math.exp(-law.exponent(x)) for x in range(-40, 41)}
    total = sum(weights.values())
    assert all(seen[x] <= weights[x] / total + 1e-15 for x in seen)
    assert still_open < 0.6


def test_an_unknown_law_is_refused() -> None:
    with pytest.raises(AssertionError):
        reference.draw("cauchy", Bits(KEYSTREAM))  # type: ignore[arg-type]


@pytest.mark.proof
@pytest.mark.parametrize(
    ("law", "wrong"),
    [
        (DiscreteLaplace(Fraction(1, 3)), DiscreteLaplace(Fraction(2, 5))),
        (DiscreteLaplace(Fraction(17, 5)), DiscreteLaplace(Fraction(4))),
        (DiscreteGaussian(Fraction(1, 4)), DiscreteGaussian(Fraction(3, 10))),
        (DiscreteGaussian(Fraction(23, 2)), DiscreteGaussian(Fraction(14))),
    ],
)
def test_draw_has_its_law(law: object, wrong: object) -> None:
    """20,000 draws: accepts the law, rejects one 20 % off, at a false-alarm rate of 1e-9."""
    bits = Bits(KEYSTREAM)
    draws = np.array([reference.draw(law, bits) for _ in range(20_000)])
    reach = 60

    def fit(claimed: object) -> float:
        weights = np.array([math.exp(-claimed.exponent(x)) for x in range(-reach, reach + 1)])
        return p_value(np.bincount(draws + reach, minlength=2 * reach + 1), weights / weights.sum())

    assert fit(law) > FALSE_ALARM
    assert fit(wrong) < FALSE_ALARM


def test_draws_of_any_size() -> None:
    wide = [reference.draw(DiscreteLaplace(Fraction(10**40)), Bits(KEYSTREAM)) for _ in range(50)]
    assert 10**38 < max(map(abs, wide)) < 10**43
