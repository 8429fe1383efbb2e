"""What one event says about epsilon, rho and mu: never more than is true. Enumerated, or against mpmath."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from privet.audits import Claim, audit, exact_epsilon, joint
from privet.audits.claims import ORDERS
from privet.audits.outlook import promise
from privet.errors import InvalidInputError
from privet.stats import binomial

CHANCES = st.floats(1e-9, 1 - 1e-9)


@settings(max_examples=300)
@given(CHANCES, CHANCES, st.sampled_from(["0", "0.01", "0.3"]))
def test_epsilon_of_a_coin_is_its_exact_epsilon(p: float, q: float, delta: str) -> None:
    """The exact curve of the coin is the truth: the bound does not exceed it, and is as good to 1e-9."""
    p, q = max(p, q), min(p, q)
    coins = [{"heads": Fraction(chance), "tails": 1 - Fraction(chance)} for chance in (p, q)]
    truth = exact_epsilon(*coins, delta)
    found = Claim(1, delta).least(p, q)
    assert found <= truth.high
    assert found >= truth.low * (1 - 1e-6) - 1e-6 * (1 + abs(math.log(1 - p))) if p < 1 - 1e-6 else True


def renyi(p: float, q: float, order: float) -> mp.mpf:
    p, q, order = mp.mpf(p), mp.mpf(q), mp.mpf(order)
    total = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
    return mp.log(total) / (order - 1)


@settings(max_examples=100)
@given(CHANCES, CHANCES)
def test_rho_of_a_coin_is_below_the_truth(p: float, q: float) -> None:
    """Truth: the largest D / order over orders and both directions, here over the orders that are used."""
    p, q = max(p, q), min(p, q)
    with mp.workdps(60):
        truth = max(max(renyi(p, q, a), renyi(q, p, a)) / a for a in ORDERS)
        found = Claim(rho=1).least(p, q)
        assert found <= truth
        assert found >= truth * (1 - mp.mpf("1e-6")) - mp.mpf("1e-7")


def test_rho_of_randomized_response() -> None:
    """Warner's with 3/4: a lower bound on the true rho, which lies between D_1+ and its largest D_a / a."""
    orders = np.exp(np.linspace(1e-4, 8, 4000))
    truth = max(float(renyi(0.75, 0.25, float(order))) / order for order in orders)
    found = Claim(rho=1).least(0.75, 0.25)
    assert 0.995 * truth < found <= truth * (1 + 1e-9)


@pytest.mark.parametrize("mu", [0.01, 0.3, 1, 4])
def test_events_of_a_gaussian_never_exceed_mu(mu: float) -> None:
    """{x > t} attains mu; {|x| > t} lies below; rho = mu^2 / 2 and delta(epsilon) hold as well."""
    for threshold in np.linspace(-5, 5 + mu, 60):
        with mp.workdps(40):
            p, q = (mp.ncdf(mp.mpf(shift) - mp.mpf(float(threshold))) for shift in (mu, 0))
            low, high = float(p) * (1 - 1e-15), float(q) * (1 + 1e-15)
        found = Claim(mu=1).least(low, high)
        assert found <= mu
        assert found > mu * (1 - 1e-6) - 1e-6 if low < 1 - 1e-9 else True
        assert Claim(rho=1).least(low, high) <= mu**2 / 2
        for epsilon in (0.1, 1, 3):
            delta = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
            if delta > 1e-9:
                assert Claim(1, delta * (1 + 1e-9)).least(low, high) <= epsilon + 1e-6
    sides = [2 * stats.norm.sf(2), stats.norm.sf(2 - mu) + stats.norm.cdf(-2 - mu)]
    assert Claim(mu=1).least(max(sides), min(sides)) < mu


CLAIMS = [Claim(1), Claim(1, "0.05"), Claim(3), Claim(rho="0.1"), Claim(mu="0.5")]


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_the_trade_off_curve_is_where_the_claim_is_used_up(claim: Claim) -> None:
    last = 0.0
    for q in (0.0, 1e-6, 0.01, 0.2, 0.5, 0.9, 1.0):
        most = claim.most(q)
        assert last <= most <= 1
        assert q <= most
        last = most
        if 0 < q < 1 and most < 1 - 1e-9:
            assert claim.least(most * (1 - 1e-9), q) <= claim.value
            assert claim.least(min(1.0, most * (1 + 1e-6)), q) > claim.value - Fraction(1, 10**5)


def test_the_curve_of_epsilon_has_its_formula() -> None:
    """min(e^epsilon q + delta, 1 - e^-epsilon (1 - q - delta))."""
    claim = Claim(1, "0.05")
    for q in np.linspace(0, 0.9, 10):
        known = min(math.e * q + 0.05, 1 - (1 - q - 0.05) / math.e)
        assert math.isclose(claim.most(float(q)), min(1.0, known), rel_tol=1e-9)


def test_what_says_nothing_is_zero() -> None:
    for claim in CLAIMS:
        assert claim.least(0.3, 0.3) == claim.least(0.2, 0.3) == claim.least(0.0, 0.0) == 0
        assert claim.least(1.0, 0.0) > 30
    assert Claim(1).least(0.5, 0.0) == Claim(rho=1).least(0.5, 0.0) == Claim(mu=1).least(0.5, 0) == math.inf
    assert Claim(1, "0.9").least(0.5, 0.1) == 0
    assert Claim(1).least(1 - 1e-16, 5e-324) > 700  # a quotient beyond a double


@settings(max_examples=100)
@given(CHANCES, CHANCES, st.sampled_from(CLAIMS))
def test_more_extreme_chances_say_more(p: float, q: float, claim: Claim) -> None:
    p, q = max(p, q), min(p, q)
    assert claim.least(p * 0.99, q) <= claim.least(p, q) * (1 + 1e-9) + 1e-9
    assert claim.least(p, min(p, q * 1.01)) <= claim.least(p, q) * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(
    "bad",
    [{}, {"epsilon": 1, "rho": 1}, {"rho": 1, "mu": 1}, {"rho": 1, "delta": 0.1}, {"mu": 0}, {"rho": "x"}],
)
def test_bad_claims_get_one_clear_error(bad: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Claim(**bad)  # type: ignore[arg-type]
    assert caught.value.remedy


def test_claims_in_words() -> None:
    assert [str(claim) for claim in CLAIMS[1:4]] == [
        "epsilon = 1, delta = 0.05", "epsilon = 3, delta = 0", "rho = 0.1",
    ]  # fmt: skip


# --- one region for both counts ---


def test_the_product_of_two_p_values() -> None:
    for miss in (0.5, 0.1, 1e-3, 1e-9, 1e-15):
        t = joint.product(miss)
        assert t * (1 - math.log(t)) <= miss
        assert 1.0001 * t * (1 - math.log(1.0001 * t)) > miss


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@pytest.mark.parametrize("draws", [5, 12, 20])
def test_coverage_by_enumeration(claim: Claim, draws: int) -> None:
    """For P, Q on a grid: the exact probability that the bound exceeds what (P, Q) themselves say is at most `miss`."""
    miss = 0.1
    bounds = np.array([[joint.least(claim, x, y, draws, miss) for y in range(draws + 1)] for x in range(draws + 1)])
    assert bounds.max() > 0
    hits = np.arange(draws + 1)
    grid = np.linspace(0.02, 0.98, 13)
    laws = {p: stats.binom.pmf(hits, draws, p) for p in grid}
    worst = 0.0
    for p, q in itertools.product(grid, grid):
        truth = claim.least(p, q)
        chances = np.outer(laws[p], laws[q])
        worst = max(worst, float(chances[bounds > truth + 1e-9].sum()))
    assert worst <= miss
    assert worst > miss / 50  # it is used


def test_the_region_beats_two_bounds_side_by_side() -> None:
    """And lies below the plain ratio of counts. Laplace's counts at epsilon 1."""
    hits, draws, miss = (274_000, 101_000), 375_000, 1e-6
    together = joint.least(Claim(1), *hits, draws, miss)
    low, high = binomial.lower(hits[0], draws, miss / 2), binomial.upper(hits[1], draws, miss / 2)
    assert Claim(1).least(low, high) + 0.003 < together < math.log(hits[0] / hits[1])


def test_ends_of_the_counts() -> None:
    assert joint.least(Claim(1), 10, 10, 100, 0.01) == joint.least(Claim(1), 3, 10, 100, 0.01) == 0
    assert joint.least(Claim(1), 11, 10, 100, 0.01) == 0
    assert joint.least(Claim(1), 100, 0, 100, 0.01) > 2
    assert joint.least(Claim(1), 50_000_000, 0, 100_000_000, 1e-9) > 14


# --- promises, which steer ---


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_a_promise_is_about_what_a_bound_would_be(claim: Claim) -> None:
    hits = np.array([800, 500, 90, 30]), np.array([400, 300, 10, 0])
    promised = promise(claim, *hits, 1000, 3.0)
    for number, (x, y) in enumerate(zip(*hits, strict=True)):
        found = joint.least(claim, int(x), int(y), 1000, 0.003)
        assert abs(promised[number] - found) < 0.35 * max(found, 0.1) + 0.1 or promised[number] < found


@pytest.mark.parametrize(
    ("claim", "truth"),
    [(Claim(mu="0.5"), 0.5), (Claim(rho="0.125"), 0.125), (Claim("0.5", "0.1"), None), (Claim(1, "0.1"), None)],
)
def test_bounds_of_a_gaussian_are_true_and_near(claim: Claim, truth: float | None) -> None:
    """Rounded to whole numbers at sigma 2, far from the data's grid: at most what the Gaussian's own curve allows."""
    draw = np.random.default_rng(5)
    found = audit(lambda data, size: data + np.rint(20 * draw.normal(size=size)).astype(int), claim, (0, 10))
    if truth is None:
        mu, delta = 0.5, float(claim.delta)
        low, high = 0.0, 20.0
        for _ in range(60):
            middle = (low + high) / 2
            gap = stats.norm.cdf(mu / 2 - middle / mu) - math.exp(middle) * stats.norm.cdf(-mu / 2 - middle / mu)
            low, high = (middle, high) if gap > delta else (low, middle)
        truth = low
    assert not found.violated
    assert found.lower_bound <= truth
    assert found.lower_bound > 0.5 * truth


def test_a_probability_next_to_one_is_taken_for_one() -> None:
    """Where only 1 - p**n is left of the tail, p may be nearer to 1 than a double can be."""
    assert joint._Upper(10**8 - 1, 10**8).at(-60.0) == 1
    assert joint._Upper(99, 100).at(math.log(0.5)) == pytest.approx(0.5**0.01, rel=1e-9)
