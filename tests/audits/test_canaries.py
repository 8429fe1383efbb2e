"""Scores of canaries to bounds: from many runs (`from_scores`) and from one (`one_run`).

The theorems behind one run are checked against the worst case over all mechanisms, found by linear programming for up
to three canaries. False alarms of simulated audits at confidence 0.9 are counted: a number of them that has probability
1e-9 at the stated rate fails the test. Single audits that must hold run at 0.999999.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats
from support.refusals import raises_code

import privet as pv
from privet.audits import Claim, from_scores, one_run
from privet.audits.canaries import TAILS, roc_of
from privet.audits.one_run import OneRunGuesses, bound_of, chain_rejects, counting, inverse_of, rejects
from privet.errors import InvalidInputError
from privet.stats import binomial

SURE = "0.999999"


# --- many runs ---


def test_scores_a_sigma_apart_give_most_of_their_mu() -> None:
    generator = np.random.default_rng(1)
    inside, outside = generator.normal(2, 1, 4000), generator.normal(0, 1, 4000)
    found = from_scores(inside, outside, Claim(mu=1), confidence=SURE)
    assert found.violated
    assert 1.6 < found.lower_bound < 2  # the truth is 2; four standard deviations below it is 1.7
    assert found.witness.event.startswith("score ")
    assert found.samples == 4000
    assert found.ceiling > found.lower_bound
    assert 0 < found.rarest < 0.06
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in found.roc)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("likelier", [0, 1])
def test_both_tails_and_both_directions_are_seen(sign: int, likelier: int) -> None:
    """A rare, far score on one side only."""
    generator = np.random.default_rng(2)
    plain, rare = generator.normal(size=2000), generator.normal(size=2000)
    rare[:300] += 100
    sides = [sign * rare, sign * plain]
    found = from_scores(sides[likelier], sides[1 - likelier], Claim(epsilon=1), confidence=SURE)
    assert found.witness.likelier == likelier
    assert found.witness.event.startswith("score >" if sign > 0 else "score <")
    assert found.witness.hits[0] >= 300
    assert found.witness.hits[1] == 0
    assert found.violated


@pytest.mark.proof
@pytest.mark.parametrize(
    ("claim", "shift"),
    [(Claim(mu=1), 1.0), (Claim(rho=Fraction(1, 2)), 1.0), (Claim(epsilon=1, delta="0.1269"), 1.0)],
)
def test_false_alarms_of_many_runs_are_no_more_than_stated(claim: Claim, shift: float) -> None:
    """A Gaussian score one sigma away keeps mu = 1, rho = 1/2 and epsilon = 1 at delta = 0.12693."""
    generator = np.random.default_rng(3)
    audits = 100
    false = sum(
        from_scores(generator.normal(shift, 1, 60), generator.normal(0, 1, 60), claim, confidence="0.9").violated
        for _ in range(audits)
    )
    assert false <= stats.binom.isf(1e-9, audits, 0.1)


def test_a_threshold_at_an_order_statistic_keeps_its_confidence() -> None:
    """P[P[score > threshold] > bound] over 20,000 draws: the bound at rank j errs as often as stated, no more.

    With a chance of 0.05 per draw, more than 0.0607 of 20,000 come with probability 1e-11.
    """
    generator = np.random.default_rng(4)
    uniform = np.sort(generator.random((20_000, 50)), axis=1)
    for rank in (0, 1, 4, 16):
        beyond = 1 - uniform[:, 49 - rank]  # the true probability of "score > threshold"
        wrong = float((beyond > binomial.upper(rank, 50, 0.05)).mean())
        assert 0.0400 < wrong < 0.0607


def test_ties_and_unequal_sizes() -> None:
    found = from_scores([1.0] * 300 + [0.0] * 100, [0.0] * 250, Claim(epsilon=1), confidence=SURE)
    assert found.violated
    assert found.witness.hits == (300, 0)
    assert (found.witness.draws, found.witness.other_draws) == (400, 250)
    assert found.samples == 250
    assert found.to_json()["witness"]["neighbors"] == ["with the canary", "without it"]
    nothing = from_scores([0.0] * 20, [0.0] * 20, Claim(epsilon=1))
    assert nothing.lower_bound == 0
    assert not nothing.violated
    assert from_scores([-math.inf, 1, 2], [0, 1, 2], Claim(epsilon=9)).verdict == "inconclusive"


def test_roc_rises_from_the_rare_end() -> None:
    points = roc_of((np.arange(10.0) + 5, np.arange(10.0)), TAILS[0])
    assert points[0] == (0.0, 0.0)
    assert points[-1] == (1.0, 1.0)
    assert list(points) == sorted(points)
    assert all(y >= x for x, y in points)


@pytest.mark.parametrize(
    ("inside", "outside", "claim", "confidence", "words"),
    [
        ([1.0], [1.0, 2.0], Claim(mu=1), 0.9, "wrong-shape: inside … least 2 numbers"),
        ([1.0, 2.0], [[1.0, 2.0]], Claim(mu=1), 0.9, "wrong-shape: outside"),
        ([1.0, 2.0], ["a", "b"], Claim(mu=1), 0.9, "wrong-shape: outside"),
        ([1.0, math.nan], [1.0, 2.0], Claim(mu=1), 0.9, "not-a-number: inside"),
        ([1.0, 2.0], [1.0, 2.0], 1, 0.9, "wrong-type: claim"),
        ([1.0, 2.0], [1.0, 2.0], Claim(mu=1), 1, "out-of-range: 0.5"),
    ],
)
def test_wrong_scores_are_refused(inside: Any, outside: Any, claim: Any, confidence: Any, words: str) -> None:
    with raises_code(InvalidInputError, words):
        from_scores(inside, outside, claim, confidence=confidence)


# --- one run: the theorems against the worst mechanism there is ---


def worst_case(canaries: int, guesses: int, right: int, lines: list[tuple[float, float]]) -> float:
    """The largest P[right or more of the guesses] over all mechanisms with P <= e**epsilon * Q + delta for every line.

    A mechanism that plays for this is a table P[guess | coins]: everything else it could give is post-processed away.
    """
    coins = list(product((0, 1), repeat=canaries))
    outputs = [t for t in product((-1, 0, 1), repeat=canaries) if sum(x >= 0 for x in t) == guesses]
    wide = len(outputs)
    pairs = [(a, b) for a, s in enumerate(coins) for b, t in enumerate(coins) if sum(map(int.__ne__, s, t)) == 1]
    tables = len(coins) * wide
    columns = tables + len(pairs) * len(lines) * wide
    rows, limits, block = [], [], tables
    for factor, delta in lines:
        for a, b in pairs:  # excess >= P - factor * Q, and the excesses sum to delta at most
            total = np.zeros(columns)
            total[block : block + wide] = 1
            rows.append(total)
            limits.append(delta)
            for o in range(wide):
                row = np.zeros(columns)
                row[a * wide + o], row[b * wide + o], row[block + o] = 1, -factor, -1
                rows.append(row)
                limits.append(0.0)
            block += wide
    sums = np.zeros((len(coins), columns))
    gain = np.zeros(columns)
    for a, s in enumerate(coins):
        sums[a, a * wide : (a + 1) * wide] = 1
        for o, t in enumerate(outputs):
            gain[a * wide + o] = -(sum(x == y for x, y in zip(s, t, strict=True)) >= right) / len(coins)
    solved = optimize.linprog(gain, np.array(rows), np.array(limits), sums, np.ones(len(coins)), (0, 1))
    assert solved.status == 0
    return float(-solved.fun)


@pytest.mark.parametrize(("canaries", "guesses"), [(1, 1), (2, 2), (3, 3), (2, 1), (3, 2)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.5, 0.0), (0.5, 0.02), (1.0, 0.1)])
def test_no_mechanism_beats_the_theorems(canaries: int, guesses: int, epsilon: float, delta: float) -> None:
    for right in range(guesses // 2 + 1, guesses + 1):
        worst = worst_case(canaries, guesses, right, [(math.exp(epsilon), delta)])
        counts = (canaries, guesses, right)
        assert worst <= counting(epsilon, delta, counts) + 1e-7
        assert not chain_rejects(inverse_of("epsilon", epsilon, delta), counts, worst * (1 - 1e-6))
        assert not rejects("epsilon", epsilon, delta, counts, worst * (1 - 1e-6))
        if delta == 0 and canaries == guesses:  # randomized response of every coin attains the count
            assert worst == pytest.approx(counting(epsilon, 0.0, counts), rel=1e-6)


@pytest.mark.parametrize(("canaries", "guesses"), [(1, 1), (2, 2), (3, 3), (3, 2)])
@pytest.mark.parametrize("mu", [0.5, 1.5])
def test_no_gaussian_private_mechanism_beats_the_chain(canaries: int, guesses: int, mu: float) -> None:
    """mu-GDP as many (epsilon, delta) at once: a little weaker than mu-GDP, so the worst case is a little larger."""
    epsilons = np.linspace(-0.0, 3 * mu, 5)
    lines = [
        (math.exp(e), stats.norm.cdf(mu / 2 - e / mu) - math.exp(e) * stats.norm.cdf(-mu / 2 - e / mu))
        for e in epsilons
    ]
    for right in range(guesses // 2 + 1, guesses + 1):
        worst = worst_case(canaries, guesses, right, lines)
        assert not chain_rejects(inverse_of("mu", mu, 0.0), (canaries, guesses, right), 0.97 * worst)
    assert chain_rejects(inverse_of("mu", mu, 0.0), (1, 1, 1), 1.02 * stats.norm.cdf(mu / 2))  # attained: Phi(mu / 2)


def test_the_chain_is_the_truth_for_one_canary() -> None:
    """One guess at one coin: right with probability e**epsilon / (1 + e**epsilon) at most."""
    for epsilon in (0.3, 1.0, 3.0):
        truth = 1 / (1 + math.exp(-epsilon))
        inverse = inverse_of("epsilon", epsilon, 0.0)
        assert not chain_rejects(inverse, (1, 1, 1), truth * (1 - 1e-6))
        assert chain_rejects(inverse, (1, 1, 1), truth * (1 + 1e-6))


def test_the_counting_theorem_as_printed() -> None:
    """beta + 2 * m * delta * max_i P[v > W >= v - i] / i, with the binomial law from scipy."""
    for canaries, guesses, right, epsilon, delta in [(100, 60, 50, 1.0, 1e-4), (1000, 1000, 700, 0.7, 1e-5)]:
        law = stats.binom(guesses, 1 / (1 + math.exp(-epsilon)))
        steps = max((law.cdf(right - 1) - law.cdf(right - i - 1)) / i for i in range(1, right + 1))
        printed = law.sf(right - 1) + 2 * canaries * delta * steps
        ours = counting(epsilon, delta, (canaries, guesses, right))
        assert ours == pytest.approx(printed, rel=1e-7)
        assert ours >= printed * (1 - 1e-12)


def test_zcdp_lines_are_true_of_gaussian_noise() -> None:
    """rho-zCDP is kept by a Gaussian with mu = sqrt(2 rho): its own least probabilities are never below."""
    for rho in (0.02, 0.5, 4.0):
        zcdp, gaussian = inverse_of("rho", rho, 0.0), inverse_of("mu", math.sqrt(2 * rho), 0.0)
        for r in (1e-6, 0.01, 0.3, 0.9, 0.999):
            assert zcdp(r) <= gaussian(r) * (1 + 1e-6)
    assert inverse_of("rho", 0.5, 0.0)(0.5) > 0.05  # and they say something
    assert inverse_of("rho", 500.0, 0.0)(0.5) <= 0  # lines beyond the reach of floats are left out


# --- one run ---


def coins_and_scores(mu: float, canaries: int, seed: int) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    coins = generator.random(canaries) < 0.5
    return coins, generator.normal(size=canaries) + mu * coins


def test_one_run_breaks_false_claims_and_keeps_true_ones() -> None:
    coins, scores = coins_and_scores(3.0, 1000, 5)
    for claim in (Claim(epsilon=1), Claim(epsilon=1, delta=1e-5), Claim(mu=Fraction(1, 2)), Claim(rho=Fraction(1, 20))):
        found = one_run(scores, coins, claim)
        assert found.violated
        assert found.lower_bound < found.ceiling
        assert found.samples == 1000
        assert isinstance(found.witness, OneRunGuesses)
        assert sum(found.witness.hits) == found.witness.draws
        assert "guesses were right (included: the " in str(found)
        assert json.loads(json.dumps(found.to_json(), allow_nan=False))
    for true in (Claim(mu=3), Claim(rho=Fraction(9, 2)), Claim(epsilon=9, delta=1e-3)):
        assert not one_run(scores, coins, true).violated


def test_the_curve_is_tighter_than_the_count_for_gaussian_noise() -> None:
    """At 1,000 canaries, read as epsilon at delta = 1e-5: the mu bound says more than the epsilon bound."""

    def epsilon_of(mu: float, delta: float) -> float:
        def gap(e: float) -> float:
            return stats.norm.cdf(mu / 2 - e / mu) - math.exp(e) * stats.norm.cdf(-mu / 2 - e / mu) - delta

        return float(optimize.brentq(gap, 0, 50))

    for seed in range(3):
        coins, scores = coins_and_scores(2.0, 1000, seed)
        curve = one_run(scores, coins, Claim(mu=1), confidence="0.95").lower_bound
        count = one_run(scores, coins, Claim(epsilon=1, delta=1e-5), confidence="0.95").lower_bound
        assert curve < 2
        assert epsilon_of(curve, 1e-5) > count + 0.4  # 3.5 against 2.7


def test_the_curve_survives_a_delta_that_ruins_the_count() -> None:
    counts = (1000, 500, 400)
    assert counting(1.0, 1e-3, counts) > 0.03
    assert rejects("epsilon", 1.0, 1e-3, counts, 0.01)


@pytest.mark.proof
@pytest.mark.parametrize("claim", [Claim(mu=Fraction(1, 2)), Claim(epsilon="0.5")])
def test_false_alarms_of_one_run_are_no_more_than_stated(claim: Claim) -> None:
    """Independent Gaussian scores keep mu; coins told with odds e**epsilon keep epsilon. 200 audits at 0.9."""
    generator = np.random.default_rng(6)
    audits = false = 0
    for _ in range(200):
        coins = generator.random(60) < 0.5
        if claim.parameter == "mu":
            scores = generator.normal(size=60) + 0.5 * coins
        else:
            told = generator.random(60) < 1 / (1 + math.exp(-0.5))
            scores = np.where(told, coins, ~coins) + generator.random(60) / 2
        audits += 1
        false += one_run(scores, coins, claim, guesses=[60, (20, 0)], confidence="0.9").violated
    assert false <= stats.binom.isf(1e-9, audits, 0.1)


def test_guesses_are_counted_from_both_ends() -> None:
    coins = np.array([False, True] * 10)
    scores = np.where(coins, 1.0, 0.0) + np.arange(20) / 100
    every = one_run(scores, coins, Claim(epsilon=1), guesses=20)
    assert every.witness.hits == (20, 0)
    assert every.witness.event == "included: the 10 highest scores, not: the 10 lowest"
    low = one_run(-scores, coins, Claim(epsilon=1), guesses=(0, 7))
    assert low.witness.hits == (0, 7)
    assert low.lower_bound == 0
    assert one_run(scores, coins, Claim(epsilon=1)).witness.hits[1] == 0


def test_perfect_guesses_reach_the_ceiling() -> None:
    """All of 200 right: (e**epsilon / (1 + e**epsilon))**200 is below 0.01 for every smaller epsilon."""
    coins = np.random.default_rng(7).random(200) < 0.5
    plan = (int(coins.sum()), int((~coins).sum()))
    found = one_run(coins.astype(float), coins, Claim(epsilon=1), guesses=plan)
    assert found.lower_bound == found.ceiling
    assert found.lower_bound == pytest.approx(-math.log(0.01 ** (-1 / 200) - 1), rel=1e-6)
    for claim in (Claim(mu=1), Claim(rho=1)):
        other = one_run(coins.astype(float), coins, claim, guesses=plan)
        assert other.lower_bound == other.ceiling > 0.5
    assert bound_of(Claim(epsilon=1), (1000, 1000, 500), 0.01) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"included": [True] * 19}, "wrong-shape: included"),
        ({"included": [2] * 20}, "wrong-shape: included"),
        ({"scores": [1.0] * 5, "included": [True, False, True, False, True]}, "too-few: 5 canaries"),
        ({"scores": [1.0] * 100, "included": [True] * 100}, "contradiction"),
        ({"guesses": 21}, "out-of-range: between 1"),
        ({"guesses": (0, 0)}, "out-of-range: between 1"),
        ({"guesses": []}, "empty"),
        ({"guesses": 0}, "too-small: guesses … least 1"),
        ({"claim": "epsilon=1"}, "wrong-type: claim"),
    ],
)
def test_wrong_coins_and_guesses_are_refused(arguments: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"scores": list(range(20)), "included": [True, False] * 10, "claim": Claim(mu=1)}
    with raises_code(InvalidInputError, words):
        pv.audits.one_run(**(given | arguments))
