"""Sensitivity and price to a law and back, by enumeration of the law itself."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import raises_code

from privet.core.exponential import _alternating_series
from privet.core.laws import Choice, DiscreteGaussian, DiscreteLaplace
from privet.core.mechanisms import (
    first,
    gaussian_for_rho,
    gaussian_key_threshold,
    gaussian_tail,
    key_threshold,
    laplace_epsilon,
    laplace_for,
)
from privet.errors import InvalidInputError
from privet.estimates.accuracy import laplace_half_width
from privet.estimates.textbook import Grid

fractions = st.fractions(min_value=-50, max_value=50, max_denominator=40)
steps = st.fractions(min_value=Fraction(1, 40), max_value=5, max_denominator=40)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(7, 2)])
@pytest.mark.parametrize("sensitivity", [1, 2, 5, 17])
def test_laplace_loss_is_the_price_at_every_shift(epsilon: Fraction, sensitivity: int) -> None:
    """log P(x) / P(x + shift) = exponent(x + shift) - exponent(x): enumerated, at most epsilon, and attained."""
    law = laplace_for(epsilon, sensitivity)
    losses = {
        shift: max(law.exponent(x + shift) - law.exponent(x) for x in range(-60, 61))
        for shift in range(-sensitivity, sensitivity + 1)
    }
    assert max(losses.values()) == losses[sensitivity] == losses[-sensitivity] == epsilon
    assert laplace_epsilon(law, sensitivity) == epsilon


@given(fractions, fractions, steps)
def test_rounding_moves_neighbors_apart_by_no_more_than_the_grid_says(a: Fraction, b: Fraction, step: Fraction) -> None:
    grid = Grid(step)
    assert abs(grid.steps(a) - grid.steps(b)) <= grid.sensitivity(abs(a - b))
    assert abs(grid.value(grid.steps(a)) - a) <= step / 2


@given(steps, steps)
def test_some_neighbors_are_that_far_apart(sensitivity: Fraction, step: Fraction) -> None:
    """The witness: just below a rounding border, and `sensitivity` above it."""
    grid = Grid(step)
    bound = grid.sensitivity(sensitivity)
    low = step / 2 - min(step, sensitivity, step - sensitivity % step) / 1000
    assert grid.steps(low + sensitivity) - grid.steps(low) == bound


def test_a_choice_flips_only_if_asked_to() -> None:
    """The two choices have different prices, and the default is the one whose zCDP price is smaller."""
    assert Choice(Fraction(1, 3)) == Choice(Fraction(1, 3), flip=False) != Choice(Fraction(1, 3), flip=True)


@pytest.mark.parametrize(("z", "terms"), [(0, 1), (1, 2), (1 << 30, 9)])
def test_the_series_allows_what_its_proof_needs(z: int, terms: int) -> None:
    """Two for each term and two more. Too little would go unnoticed: errors are mostly smaller than the proof says."""
    low, high = _alternating_series(z, 32)
    assert high - low == 2 * (2 * terms + 2)


def test_pythons_round_would_double_the_sensitivity() -> None:
    assert round(Fraction(3, 2)) - round(Fraction(1, 2)) == 2
    assert Grid(Fraction(1)).steps(Fraction(3, 2)) - Grid(Fraction(1)).steps(Fraction(1, 2)) == 1


def test_the_gaussian_of_a_price_is_not_rounded() -> None:
    law = gaussian_for_rho(Fraction(1, 8), 3)
    assert law == DiscreteGaussian(Fraction(12))
    assert Fraction(3) / (2 * law.variance) == Fraction(1, 8)


@pytest.mark.parametrize("variance", [Fraction(1, 9), Fraction(1, 2), Fraction(4), Fraction(150)])
@pytest.mark.parametrize("shift", [1, 2, 9])
def test_gaussian_renyi_divergences_stay_below_rho_alpha(variance: Fraction, shift: int) -> None:
    """zCDP by enumeration: the Renyi divergence of order alpha is at most rho * alpha, and attains it."""
    law = DiscreteGaussian(variance)
    rho = shift**2 / (2 * variance)
    assert gaussian_for_rho(rho, shift**2) == law
    with mp.workprec(300):
        reach = int(30 * mp.sqrt(float(variance))) + 40 * shift + 20
        f = {x: mp.exp(-mp.mpf(x * x) / (2 * mp.mpf(variance.numerator) / variance.denominator))
             for x in range(-reach, reach + 1)}  # fmt: skip
        total = mp.fsum(f.values())
        closest = mp.mpf(0)
        for alpha in (Fraction(101, 100), Fraction(3, 2), Fraction(2), Fraction(5), Fraction(16)):
            a = mp.mpf(alpha.numerator) / alpha.denominator
            moment = mp.fsum(f[x] ** a * f[x + shift] ** (1 - a) for x in range(-reach, reach + 1 - shift)) / total
            ratio = mp.log(moment) / (a - 1) / (a * mp.mpf(rho.numerator) / rho.denominator)
            assert ratio <= 1 + mp.mpf(10) ** -40
            closest = max(closest, ratio)
        assert closest > 1 - mp.mpf(10) ** -40


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(1), Fraction(10, 3), Fraction(200)])
@pytest.mark.parametrize("delta", [Fraction(1, 3), Fraction(1, 1000), Fraction(1, 10**9), Fraction(1, 2**60)])
@pytest.mark.parametrize("max_keys", [1, 4, 1000])
def test_key_threshold_is_the_smallest_safe_one(scale: Fraction, delta: Fraction, max_keys: int) -> None:
    threshold = key_threshold(DiscreteLaplace(scale), delta, max_keys)
    with mp.workprec(200):
        q = mp.exp(-mp.mpf(scale.denominator) / scale.numerator)

        def shown(t: int) -> mp.mpf:
            """P[1 + X >= t] summed over the law (1 - q) / (1 + q) * q**|x|, the far end as a geometric series."""
            near = mp.fsum(q**x for x in range(t - 1, t + 400))
            return (1 - q) / (1 + q) * (near + q ** (t + 400) / (1 - q))

        limit = mp.mpf(delta.numerator) / delta.denominator / max_keys
        assert shown(threshold) <= limit
        assert threshold == 2 or shown(threshold - 1) > limit
        assert shown(1) > mp.mpf(1) / 2


def test_without_a_delta_no_key_is_selected() -> None:
    with raises_code(InvalidInputError, "missing-delta: undeclared"):
        key_threshold(DiscreteLaplace(Fraction(1)), Fraction(0), 1)
    with raises_code(InvalidInputError, "missing-delta: undeclared"):
        gaussian_key_threshold(DiscreteGaussian(Fraction(1)), Fraction(0), 1)


@pytest.mark.parametrize("variance", [Fraction(1, 9), Fraction(1), Fraction(7, 3), Fraction(441), Fraction(10**5)])
def test_gaussian_key_threshold_is_the_smallest_safe_one(variance: Fraction) -> None:
    """By the sum of the law, but for 0.3 %."""
    far = 30 * math.isqrt(math.ceil(variance)) + 30
    with mp.workprec(200):
        terms = [mp.exp(-mp.mpf(x * x) * variance.denominator / (2 * variance.numerator)) for x in range(far)]
        whole = 2 * mp.fsum(terms) - 1
        for delta, max_keys in itertools.product((Fraction(1, 20), Fraction(1, 10**6), Fraction(1, 10**30)), (1, 40)):
            threshold = gaussian_key_threshold(DiscreteGaussian(variance), delta, max_keys)
            limit = mp.mpf(delta.numerator) / delta.denominator / max_keys * whole
            assert mp.fsum(terms[threshold - 1 :]) <= limit
            assert threshold == 2 or mp.fsum(terms[threshold - 2 :]) > limit * mp.mpf("0.997")


def test_the_threshold_of_very_wide_gaussian_noise_is_found_quickly() -> None:
    law = DiscreteGaussian(Fraction(2**99))
    threshold = gaussian_key_threshold(law, Fraction(1, 10**9), 7)
    assert 7 * gaussian_tail(law, threshold - 1, 200) <= Fraction(1, 10**9) < 7 * gaussian_tail(law, threshold - 2, 200)
    assert abs((threshold - 1) / math.sqrt(2**99) - 6.3) < 0.1


@pytest.mark.parametrize("near", [1, 2, 57, 100, 101, 10**9])
def test_the_first_good_number_is_found_from_anywhere(near: int) -> None:
    for least in (1, 2, 100, 12_345_678):
        assert first(lambda n, least=least: n >= least, near) == least


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(1), Fraction(10), Fraction(3001, 7), Fraction(10**60)])
@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1, 2), Fraction(95, 100), 1 - Fraction(1, 10**12)])
def test_laplace_half_width_is_the_smallest(scale: Fraction, share: Fraction) -> None:
    k = laplace_half_width(DiscreteLaplace(scale), share)
    with mp.workprec(900):
        q = mp.exp(-mp.mpf(scale.denominator) / scale.numerator)
        wanted = mp.mpf(share.numerator) / share.denominator

        def inside(width: int) -> mp.mpf:
            """sum of (1 - q) / (1 + q) q**|x| over |x| <= width, as a finite geometric series."""
            return (1 - q) / (1 + q) * (1 + 2 * (q - q ** (width + 1)) / (1 - q))

        assert inside(k) >= wanted
        assert k == 0 or inside(k - 1) < wanted
