"""The figures of `meaning`, against mechanisms that leak as much as they may: attained, and never exceeded.

Probabilities are worked out by enumeration at 400 bits; a bound may be above the witness by its rounding only.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracle

import privet as pv
from privet.interpret import best_guess, best_true_positive_rate, group_delta, posterior
from privet.report.terminal import ceiling, share_at_least, share_at_most

Law = Sequence[Any]  # the probability of every output

ROUNDING = oracle.ctx.mpf(10) ** -18  # bounds have about 20 digits
CRUMB = oracle.ctx.mpf(10) ** -110  # what 400 bits may lose, relative to the number
EPSILONS = [Fraction(text) for text in ("0.001", "0.1", "0.5", "1", "2", "5", "20")]
DELTAS = [Fraction(text) for text in ("0", "1e-9", "0.01", "0.3")]
RATES = [Fraction(text) for text in ("0", "0.001", "0.01", "0.05", "0.1", "0.25", "0.5", "0.9", "1")]
epsilons = st.integers(1, 20 * 10**4).map(lambda n: Fraction(n, 10**4))
deltas = st.integers(0, 999).flatmap(lambda n: st.sampled_from([Fraction(n, 10**3), Fraction(n, 10**9)]))
shares = st.integers(1, 10**6 - 1).map(lambda n: Fraction(n, 10**6))


def e_to(x: Fraction) -> Any:
    return oracle.ctx.exp(oracle.real(x))


def within(number: Any, bound: Fraction) -> bool:
    return bool(number <= oracle.real(bound) * (1 + CRUMB))


def attained(bound: Fraction, witness: Any) -> bool:
    """The bound is the witness, rounded up."""
    return within(witness, bound) and bool(oracle.real(bound) <= witness * (1 + ROUNDING))


def attained_from_below(bound: Fraction, witness: Any) -> bool:
    low = oracle.real(bound)
    return bool(witness * (1 - ROUNDING) <= low <= witness * (1 + CRUMB))


def geometric(count: int, scale: Fraction, low: int = -2, high: int = 3) -> Law:
    """count + discrete Laplace noise, clamped to [low, high]: the tails go to the ends."""
    q = e_to(-1 / scale)
    inside = [(1 - q) / (1 + q) * q ** abs(x - count) for x in range(low + 1, high)]
    return [q ** (count - low) / (1 + q), *inside, q ** (high - count) / (1 + q)]


def canonical(epsilon: Fraction, delta: Fraction) -> tuple[Law, Law]:
    """The leakiest (epsilon, delta) mechanism: with probability delta the truth itself, else randomized response."""
    leak, factor = oracle.real(delta), e_to(epsilon)
    lie, truth = (1 - leak) / (1 + factor), (1 - leak) * factor / (1 + factor)
    return [leak, truth, lie, 0], [0, lie, truth, leak]


def every_test(null: Law, other: Law) -> list[tuple[Any, Any]]:
    """(false-positive rate, true-positive rate) of every set of outputs for which a test may say "other"."""
    sets = itertools.product((0, 1), repeat=len(null))
    return [(_chance(chosen, null), _chance(chosen, other)) for chosen in sets]


def _chance(chosen: Sequence[int], law: Law) -> Any:
    return sum((p for yes, p in zip(chosen, law, strict=True) if yes), oracle.ctx.mpf(0))


def strongest(tests: list[tuple[Any, Any]], rate: Fraction) -> Any:
    """The best true-positive rate at a false-positive rate, over all tests and all coin tosses between two."""
    a = oracle.real(rate)
    below = [test for test in tests if test[0] <= a]
    above = [test for test in tests if test[0] > a]
    mixed = [t0 + (t1 - t0) * (a - f0) / (f1 - f0) for f0, t0 in below for f1, t1 in above]
    return max([t for _, t in below] + mixed)


def is_private(laws: Sequence[Law], epsilon: Fraction, delta: Fraction) -> bool:
    """Every set of outputs, every pair of neighbors, both ways."""
    pairs = [pair for one, two in itertools.pairwise(laws) for pair in ((one, two), (two, one))]
    limit, leak = e_to(epsilon), oracle.real(delta) + CRUMB
    return all(true <= limit * false + leak for null, other in pairs for false, true in every_test(null, other))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("prior", [Fraction(1, 100), Fraction(1, 2), Fraction(999, 1000)])
def test_no_output_moves_a_belief_further_and_some_move_it_as_far(epsilon: Fraction, prior: Fraction) -> None:
    out, present = geometric(0, 1 / epsilon), geometric(1, 1 / epsilon)
    p = oracle.real(prior)
    beliefs = [p * b / (p * b + (1 - p) * a) for a, b in zip(out, present, strict=True)]
    belief = pv.meaning(epsilon=epsilon, prior=prior).posterior
    assert belief is not None
    assert attained(belief.high, max(beliefs))
    assert attained_from_below(belief.low, min(beliefs))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_values_move_twice_as_far_under_add_remove(epsilon: Fraction) -> None:
    """Alice adds +1 or -1 to a sum, or 0 by being absent: one step is epsilon, from value to value it is two."""
    minus, absent, plus = (geometric(count, 1 / epsilon) for count in (-1, 0, 1))
    assert is_private([minus, absent, plus], epsilon, Fraction(0))
    asked = pv.meaning(epsilon=epsilon, about="value", neighbors="add-remove")
    assert asked.odds_factor is not None
    assert attained(asked.odds_factor, max(b / a for a, b in zip(minus, plus, strict=True)))
    for rate in RATES:
        bound = best_true_positive_rate(rate, asked.effective_epsilon, asked.effective_delta)
        assert within(strongest(every_test(minus, plus), rate), bound)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_geometric_mechanism_attains_the_trade_off_curve(epsilon: Fraction) -> None:
    tests = every_test(geometric(0, 1 / epsilon), geometric(1, 1 / epsilon))
    for rate in RATES:
        assert attained(best_true_positive_rate(rate, epsilon, Fraction(0)), strongest(tests, rate))
    assert attained(best_guess(epsilon, Fraction(0)), max((1 + true - false) / 2 for false, true in tests))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_canonical_mechanism_attains_the_trade_off_curve(epsilon: Fraction, delta: Fraction) -> None:
    laws = canonical(epsilon, delta)
    assert is_private(laws, epsilon, delta)
    tests = every_test(*laws)
    for rate in RATES:
        assert attained(best_true_positive_rate(rate, epsilon, delta), strongest(tests, rate))
    assert attained(best_guess(epsilon, delta), max((1 + true - false) / 2 for false, true in tests))


@given(epsilons, deltas, st.lists(st.integers(0, 10**6), min_size=5, max_size=5))
def test_post_processing_the_canonical_mechanism_never_helps(
    epsilon: Fraction, delta: Fraction, mix: list[int]
) -> None:
    """Every (epsilon, delta) mechanism on two tables is a garbling of the canonical one: none beats the curve."""
    keep = [Fraction(part, 10**6) for part in mix[:4]]
    laws = []
    for law in canonical(epsilon, delta):
        yes = sum((oracle.real(k) * p for k, p in zip(keep, law, strict=True)), oracle.ctx.mpf(0))
        laws.append([yes, 1 - yes])
    rate = Fraction(mix[4], 10**6)
    bound = best_true_positive_rate(rate, epsilon, delta)
    assert within(strongest(every_test(*laws), rate), bound)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction("1e-9"), Fraction("1e-4")])
@pytest.mark.parametrize("epsilon", [Fraction("0.001"), Fraction("0.1"), Fraction("0.5"), Fraction(1)])
@pytest.mark.parametrize("people", [1, 2, 3, 5])
def test_a_chain_of_neighbors_attains_the_figures_of_a_group(epsilon: Fraction, delta: Fraction, people: int) -> None:
    """Tables with 0, 1, ... people. The event "alarm" grows from each to the next by all that is allowed."""
    chances = [oracle.ctx.mpf(0)]
    for _ in range(people):
        chances.append(e_to(epsilon) * chances[-1] + oracle.real(delta))
    assert is_private([[chance, 1 - chance] for chance in chances], epsilon, delta)
    (group,) = pv.meaning(epsilon=epsilon, delta=delta, groups=[people]).groups
    assert group.epsilon == people * epsilon
    assert attained(group.delta, chances[-1])  # = e^(k epsilon) * 0 + delta_k


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("people", [2, 5])
def test_trade_off_curves_in_a_row_stay_below_the_curve_of_the_group(
    epsilon: Fraction, delta: Fraction, people: int
) -> None:
    """Each link of the chain is the canonical mechanism: what is a true alarm here is a false one at the next."""
    (group,) = pv.meaning(epsilon=epsilon, delta=delta, groups=[people]).groups
    for rate in RATES:
        chained = rate
        for _ in range(people):
            chained = best_true_positive_rate(chained, epsilon, delta)
        whole = best_true_positive_rate(rate, group.epsilon, group.delta)
        assert chained <= whole + Fraction("1e-16")  # each link was rounded up, and the next link multiplies that
        assert (1 + chained - rate) / 2 <= group.best_guess + Fraction("1e-16")


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("about", ["membership", "value"])
def test_the_question_sets_the_price(neighbors: str, about: str) -> None:
    asked = pv.meaning(epsilon="0.3", delta="1e-6", neighbors=neighbors, about=about, groups=[1, 3])
    twice = (neighbors, about) == ("add-remove", "value")
    assert asked.effective_epsilon == Fraction(6 if twice else 3, 10)
    leak = oracle.real(Fraction("1e-6"))
    assert attained(asked.effective_delta, leak * (1 + e_to(Fraction("0.3"))) if twice else leak)
    one, three = asked.groups
    assert (one.epsilon, one.delta, one.best_guess) == (
        asked.effective_epsilon,
        asked.effective_delta,
        asked.best_guess,
    )
    assert three.epsilon == 3 * asked.effective_epsilon
    assert attained(three.delta, group_sum(Fraction("0.3"), 6 if twice else 3) * leak)


def group_sum(epsilon: Fraction, steps: int) -> Any:
    return sum(e_to(j * epsilon) for j in range(steps))


def test_deltas_of_groups_are_capped_and_extreme_prices_are_exact() -> None:
    assert group_delta(2, Fraction(1), Fraction(1, 2)) == 1
    assert group_delta(10**9, Fraction(300), Fraction("1e-400")) == 1
    tiny = Fraction("1e-400")
    assert attained(group_delta(2, Fraction(300), tiny), oracle.real(tiny) * (1 + e_to(Fraction(300))))
    assert attained(group_delta(3, Fraction("1e-60"), tiny), oracle.real(tiny) * group_sum(Fraction("1e-60"), 3))
    assert group_delta(10**9, Fraction(300), Fraction(0)) == 0
    assert pv.meaning(epsilon=1, delta="0.5", about="value").effective_delta == 1
    assert pv.meaning(epsilon=1, delta="0.5", about="value").best_guess == 1


@given(epsilons, epsilons, deltas, deltas, shares)
def test_a_higher_price_allows_more(e1: Fraction, e2: Fraction, d1: Fraction, d2: Fraction, share: Fraction) -> None:
    low, high, less, more = min(e1, e2), max(e1, e2), min(d1, d2), max(d1, d2)
    narrow, wide = posterior(share, low), posterior(share, high)
    assert wide.low <= narrow.low < share < narrow.high <= wide.high
    assert best_true_positive_rate(share, low, less) <= best_true_positive_rate(share, high, more) <= 1
    assert Fraction(1, 2) <= best_guess(low, less) <= best_guess(high, more) <= 1
    assert less <= group_delta(2, low, less) <= group_delta(3, high, more) <= 1


@given(epsilons, shares, shares)
def test_more_belief_before_is_more_after(epsilon: Fraction, one: Fraction, two: Fraction) -> None:
    less, more = posterior(min(one, two), epsilon), posterior(max(one, two), epsilon)
    assert less.low <= more.low
    assert less.high <= more.high


@given(epsilons, deltas, shares)
def test_every_figure_is_rounded_against_us(epsilon: Fraction, delta: Fraction, share: Fraction) -> None:
    asked = pv.meaning(epsilon=epsilon, prior=share)
    told = json.loads(json.dumps(asked.to_json(), allow_nan=False))
    assert asked.posterior is not None
    assert asked.odds_factor is not None
    p, factor = oracle.real(share), e_to(epsilon)
    low, high = p / (p + (1 - p) * factor), p * factor / (p * factor + 1 - p)
    exact = (
        oracle.real(asked.posterior.low) <= low,
        oracle.real(asked.posterior.high) >= high,
        oracle.real(asked.odds_factor) >= factor,
        told["posterior"]["low"] <= asked.posterior.low,
        told["posterior"]["high"] >= asked.posterior.high,
        told["odds_factor"] >= asked.odds_factor,
        _number(share_at_least(asked.posterior.low)) <= asked.posterior.low,
        _number(share_at_most(asked.posterior.high)) >= asked.posterior.high,
        Fraction(ceiling(asked.odds_factor)) >= asked.odds_factor,
    )
    assert all(exact)
    loose = pv.meaning(epsilon=epsilon, delta=delta).to_json()
    for point in loose["trade_off"]:
        rate = Fraction(str(point["false_positive_rate"]))
        a, d = oracle.real(rate), oracle.real(delta)
        truth = min(1, factor * a + d, 1 - (1 - a - d) / factor)
        assert point["true_positive_rate_at_most"] >= truth


def _number(percentage: str) -> Fraction:
    return Fraction(Decimal(percentage.removesuffix(" %"))) / 100
