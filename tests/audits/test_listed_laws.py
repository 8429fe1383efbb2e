"""A claim on two listed laws: equal to the theory of discrete Gaussians, and to hand-made cases."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import pytest
from support.refusals import raises_code

from privet.audits import Claim, exact
from privet.core.exponential import exp_enclosure
from privet.core.laws import DiscreteGaussian
from privet.errors import InvalidInputError
from privet.estimates.calibration import gaussian_delta

BITS = 300
COIN = ({0: Fraction(3, 4), 1: Fraction(1, 4)}, {0: Fraction(1, 4), 1: Fraction(3, 4)})


def gaussian_at(variance: int, center: int, reach: int) -> dict[Any, Fraction]:
    """Each probability rounded down: f at its low end over the sum at its high end and a geometric tail."""
    law = DiscreteGaussian(Fraction(variance))
    heights = {x: exp_enclosure(law.exponent(x), BITS) for x in range(-reach, reach + 1)}
    fall = law.exponent(reach + 1) - law.exponent(reach)
    tail = Fraction(heights[reach][1] << BITS, (1 << BITS) - exp_enclosure(fall, BITS)[1])
    total = sum(high for _, high in heights.values()) + 2 * tail
    return {center + x: low / total for x, (low, _) in heights.items()}


def only(claim: Claim, laws: tuple[Any, Any]) -> Any:
    return exact(*laws, claim).checks[0]


@pytest.mark.parametrize(("variance", "reach"), [(1, 14), (4, 30)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(2)])
def test_discrete_gaussians_have_the_epsilon_of_theory(variance: int, reach: int, epsilon: Fraction) -> None:
    laws = (gaussian_at(variance, 0, reach), gaussian_at(variance, 1, reach))
    delta = gaussian_delta(DiscreteGaussian(Fraction(variance)), 1, epsilon)
    found = only(Claim(epsilon=epsilon, delta=delta), laws)
    assert found.verdict == "consistent"
    assert found.figures["low"] <= epsilon
    assert found.figures["low"] == pytest.approx(float(epsilon), rel=1e-9)
    assert found.figures["high"] == pytest.approx(float(epsilon), rel=1e-9)
    assert found.figures["left_out"] < 1e-40
    assert only(Claim(epsilon=epsilon * Fraction(999, 1000), delta=delta), laws).verdict == "violated"


@pytest.mark.parametrize(("variance", "reach", "shift"), [(1, 14, 1), (4, 32, 1), (4, 32, 3)])
def test_discrete_gaussians_have_the_rho_of_theory(variance: int, reach: int, shift: int) -> None:
    """rho = shift**2 / (2 * variance), attained at whole orders (Canonne, Kamath and Steinke 2020)."""
    laws = (gaussian_at(variance, 0, reach), gaussian_at(variance, shift, reach))
    rho = Fraction(shift**2, 2 * variance)
    found = only(Claim(rho=rho), laws)
    assert found.verdict == "consistent"
    assert found.figures["low"] == pytest.approx(float(rho), rel=1e-8)
    assert found.figures["low"] <= rho <= found.figures["high"] <= 1.005 * rho
    assert only(Claim(rho=rho * Fraction(99, 100)), laws).verdict == "violated"


def test_a_discrete_gaussian_is_not_quite_gaussian_private() -> None:
    """Its trade-off curve has corners, so that mu is a little above shift / sigma: 4.6 % at sigma = 1, 1.1 % at 2."""
    for variance, reach, least, most in ((1, 14, 1.04, 1.05), (4, 30, 0.505, 0.506)):
        laws = (gaussian_at(variance, 0, reach), gaussian_at(variance, 1, reach))
        found = only(Claim(mu=1 / Fraction(math.isqrt(variance))), laws)
        assert found.verdict == "violated"
        assert least < found.figures["low"] <= found.figures["high"] < most
        assert only(Claim(mu=Fraction(most)), laws).verdict == "consistent"


def test_randomized_response_by_hand() -> None:
    epsilon = only(Claim(epsilon="1.0986122887"), COIN)
    assert epsilon.verdict == "consistent"
    assert epsilon.figures["low"] <= math.log(3) <= epsilon.figures["high"]
    assert epsilon.says == "epsilon is between 1.098612288 and 1.098612289"
    mu = only(Claim(mu="1.349"), COIN)
    assert mu.figures["low"] == pytest.approx(2 * NormalDist().inv_cdf(0.75), rel=1e-9)
    assert mu.verdict == "consistent"
    rho = only(Claim(rho="0.55"), COIN)
    assert rho.figures["low"] <= math.log(3) / 2 <= rho.figures["high"]  # the limit of order 1
    assert rho.figures["high"] - rho.figures["low"] < 0.002
    assert only(Claim(rho="0.54"), COIN).verdict == "violated"


def test_equal_laws_have_nothing_to_tell() -> None:
    same = ({0: Fraction(1)}, {0: Fraction(1)})
    for claim in (Claim(epsilon="0.01"), Claim(rho="0.01"), Claim(mu="0.01")):
        found = only(claim, same)
        assert found.verdict == "consistent"
        assert found.figures["low"] == 0
        assert found.figures["high"] < 1e-6


@pytest.mark.parametrize("claim", [Claim(epsilon=5), Claim(rho=5), Claim(mu=5)])
def test_an_output_of_one_law_only_breaks_every_claim(claim: Claim) -> None:
    found = only(claim, ({0: Fraction(1, 2), 1: Fraction(1, 2)}, {0: Fraction(1)}))
    assert found.verdict == "violated"
    assert found.figures["low"] == math.inf


@pytest.mark.parametrize("claim", [Claim(epsilon=5), Claim(rho=5), Claim(mu=5)])
def test_what_is_missing_leaves_a_claim_open(claim: Claim) -> None:
    apart = ({0: Fraction(1, 2)}, {1: Fraction(1, 2)})
    assert only(claim, apart).verdict == "inconclusive"
    cut = ({0: Fraction(1, 2), 1: Fraction(49, 100)}, {0: Fraction(1, 2), 1: Fraction(49, 100), 2: Fraction(1, 100)})
    found = only(claim, cut)
    assert found.verdict == "inconclusive"
    assert found.figures["left_out"] == pytest.approx(0.01)
    assert found.figures["high"] < 0.1
    assert "0.01 of the mass left out" in found.says


def test_a_wrong_claim_is_refused() -> None:
    with raises_code(InvalidInputError, "wrong-type: claim"):
        exact(*COIN, 1)  # type: ignore[arg-type]
