"""The Gaussian's curve and calibration against plain enumeration of the law."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import mpmath as mp
import pytest
from support.refusals import raises_code

from privet.core.laws import DiscreteGaussian
from privet.errors import InvalidInputError
from privet.estimates.calibration import (
    SMALLEST_DELTA,
    classical_sigma,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_for,
)

mp.mp.prec = 400
EPSILONS = [Fraction(1, 5), Fraction(1), Fraction(4), Fraction(10)]
DELTAS = [Fraction(1, 10**3), Fraction(1, 10**9), Fraction(1, 2**50)]
SENSITIVITIES = [1, 2, 7, 40]


def real(number: Fraction) -> mp.mpf:
    return mp.mpf(number.numerator) / number.denominator


@functools.cache
def half_law(variance: Fraction, reach: int) -> list[mp.mpf]:
    """f(0), f(1), ..., f(reach), each from the one before it: f(x + 1) = f(x) * exp(-(2x + 1) / (2 variance))."""
    f, ratio, bend = [mp.mpf(1)], mp.exp(-real(1 / (2 * variance))), mp.exp(-real(1 / variance))
    for _ in range(reach):
        f.append(f[-1] * ratio)
        ratio *= bend
    return f


def enumerated_delta(law: DiscreteGaussian, shift: int, epsilon: Fraction) -> mp.mpf:
    """sum over x of max(0, P(x) - e^epsilon P(x + shift)), term by term at 400 bits."""
    reach = math.isqrt(math.ceil(400 * law.variance)) + 5
    f = half_law(law.variance, reach + 2600)
    factor = mp.exp(real(epsilon))
    gains = (f[abs(x)] - factor * f[abs(x + shift)] for x in range(-reach, reach + 1))
    return mp.fsum(gain for gain in gains if gain > 0) / (2 * mp.fsum(f) - 1)


@pytest.mark.parametrize(("sensitivity", "epsilon", "delta"), list(itertools.product(SENSITIVITIES, EPSILONS, DELTAS)))
def test_calibrated_sigma_meets_its_price_and_wastes_nothing(
    sensitivity: int, epsilon: Fraction, delta: Fraction
) -> None:
    law = gaussian_for(epsilon, delta, sensitivity)
    exact = enumerated_delta(law, sensitivity, epsilon)
    assert exact <= real(delta)
    claimed = gaussian_delta(law, sensitivity, epsilon)
    assert exact <= real(claimed) <= exact * (1 + mp.mpf(10) ** -30) or law.variance > 255**2
    # Back from the law: within 1 % of the epsilon asked for, and certified at the epsilon returned.
    back = gaussian_epsilon(law, sensitivity, delta)
    assert Fraction(99, 100) * epsilon <= back <= epsilon
    assert enumerated_delta(law, sensitivity, back) <= real(delta)
    # Attained: 1 % less epsilon or 1 % less sigma is not enough.
    assert enumerated_delta(law, sensitivity, epsilon * Fraction(99, 100)) > real(delta)
    narrower = DiscreteGaussian(law.variance * Fraction(99, 100) ** 2)
    assert enumerated_delta(narrower, sensitivity, epsilon) > real(delta)


@pytest.mark.parametrize("sigma", [Fraction(1, 5), Fraction(1, 2), Fraction(7, 5), Fraction(11), Fraction(60)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 2), Fraction(3), Fraction(20)])
def test_the_curve_is_exact_for_one_shift_and_grows_with_the_shift(sigma: Fraction, epsilon: Fraction) -> None:
    """Smaller shifts never need a larger delta (claims: gaussian-curve), so the largest one decides."""
    law = DiscreteGaussian(sigma**2)
    before = mp.mpf(0)
    for shift in (1, 2, 3, 5, 8, 30):
        exact, bound = enumerated_delta(law, shift, epsilon), real(gaussian_delta(law, shift, epsilon))
        assert before <= exact * (1 + mp.mpf(10) ** -40)
        assert exact <= bound <= exact * (1 + mp.mpf(10) ** -30) + mp.mpf(2) ** -180
        before = exact


@pytest.mark.parametrize("sigma", [300, 700, 1500])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 50), Fraction(1)])
@pytest.mark.parametrize("shift", [3, 400, 2500])
def test_blocks_only_ever_round_up(sigma: int, epsilon: Fraction, shift: int) -> None:
    """From sigma 256 on integers are summed in blocks: an upper bound, at most 3 % high where it is not tiny."""
    law = DiscreteGaussian(Fraction(sigma**2))
    exact, bound = enumerated_delta(law, shift, epsilon), real(gaussian_delta(law, shift, epsilon))
    assert exact <= bound
    assert bound <= exact * mp.mpf("1.03") or exact < mp.mpf(10) ** -12


def test_large_sensitivities_approach_the_continuous_gaussian() -> None:
    small, large = (gaussian_for(Fraction(1), Fraction(1, 10**9), s) for s in (10**3, 10**12))
    assert abs(float(large.variance / small.variance) ** 0.5 / 10**9 - 1) < 2e-3


def test_the_textbook_formula_wastes_at_small_and_breaks_at_large_epsilon() -> None:
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(4)):
        for delta in DELTAS:
            ours = float(gaussian_for(epsilon, delta, 40).variance) ** 0.5
            assert classical_sigma(epsilon, delta, 40) > 1.05 * ours
    broken = DiscreteGaussian(Fraction(classical_sigma(Fraction(10), Fraction(1, 1000), 40)) ** 2)
    assert enumerated_delta(broken, 40, Fraction(10)) > 1.4e-3


@pytest.mark.parametrize(
    ("epsilon", "delta", "sensitivity"),
    [
        (Fraction(1, 10**9), Fraction(1, 10**9), 1),
        (Fraction(1000), Fraction(1, 10**9), 1),
        (Fraction(1000), Fraction(1, 2), 3),
        (Fraction(1, 10**6), Fraction(999, 1000), 1),
        (Fraction(1), Fraction(1, 2**149), 5),
        (Fraction(1), Fraction(1, 10**9), 2**80),
        (Fraction(1), Fraction(1, 10**9), 10**400),
        (Fraction(10**400), Fraction(1, 10**9), 1),
    ],
)
def test_extreme_prices_are_still_certified(epsilon: Fraction, delta: Fraction, sensitivity: int) -> None:
    law = gaussian_for(epsilon, delta, sensitivity)
    assert gaussian_delta(law, sensitivity, epsilon) <= delta
    if law.variance < 10**4:
        assert enumerated_delta(law, sensitivity, epsilon) <= real(delta)


def test_a_delta_finer_than_the_certificate_is_refused() -> None:
    gaussian_for(Fraction(1), SMALLEST_DELTA, 1)
    with raises_code(InvalidInputError, "too-small: 2**-150"):
        gaussian_for(Fraction(1), SMALLEST_DELTA * Fraction(999, 1000), 1)
    gaussian_epsilon(DiscreteGaussian(Fraction(1)), 1, SMALLEST_DELTA)
    with raises_code(InvalidInputError, "too-small: 2**-150"):
        gaussian_epsilon(DiscreteGaussian(Fraction(1)), 1, Fraction(0))


@pytest.mark.parametrize("variance", [Fraction(1, 10**700), Fraction(1, 10**6), Fraction(10**12), Fraction(10**700)])
def test_epsilon_of_extreme_laws(variance: Fraction) -> None:
    law, delta = DiscreteGaussian(variance), Fraction(1, 10**6)
    epsilon = gaussian_epsilon(law, 1, delta)
    assert gaussian_delta(law, 1, epsilon) <= delta


def test_delta_is_never_above_one() -> None:
    assert gaussian_delta(DiscreteGaussian(Fraction(1, 100)), 50, Fraction(1, 100)) == 1
    assert gaussian_delta(DiscreteGaussian(Fraction(10**6)), 1, Fraction(1)) < SMALLEST_DELTA
