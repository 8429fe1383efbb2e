"""How far noise of several cells together may be off: against the law itself, by convolution and by its transform."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from privet.core.laws import DiscreteGaussian, DiscreteLaplace, Law
from privet.estimates.accuracy import LISTED, _chernoff_laplace, gaussian_tail, half_width, laplace_tail, sum_half_width
from privet.noise.fast import sampler

SHARE = F(95, 100)


def convolved(law: Law, cells: int, reach: int) -> npt.NDArray[np.float64]:
    """The law of the sum, cut where nothing is left."""
    one = np.exp([-float(law.exponent(x)) for x in range(-reach, reach + 1)])
    one /= one.sum()
    found = one
    for _ in range(cells - 1):
        found = np.convolve(found, one)
    return found


def transformed(law: Law, cells: int, size: int) -> npt.NDArray[np.float64]:
    """P[sum = s] for s = 0 ... size - 1, modulo `size`: the transform of one draw to the power of the cells."""
    reach = size // 2
    numbers = np.concatenate([np.arange(reach), np.arange(-reach, 0)])
    if isinstance(law, DiscreteLaplace):
        one = np.exp(-np.abs(numbers) / float(law.scale))
    else:
        one = np.exp(-(numbers.astype(float) ** 2) / (2 * float(law.variance)))
    return np.fft.ifft((np.fft.fft(one / one.sum()).real) ** cells).real  # type: ignore[no-any-return]


def beyond(probabilities: npt.NDArray[np.float64], k: int) -> float:
    """P[|sum| > k] of what `transformed` gives."""
    return float(probabilities[k + 1 : -k].sum() if k else probabilities[1:].sum())


@pytest.mark.parametrize("scale", ["1/4", "1", "7/2", "12"])
@pytest.mark.parametrize("cells", [2, 3, 10, 40])
def test_laplace_noises_have_the_law_of_their_sum(scale: str, cells: int) -> None:
    """Equal to the convolution, but for the rounding upwards."""
    law = DiscreteLaplace(F(scale))
    exact, tail = convolved(law, cells, 500), laplace_tail(law, cells)
    middle = len(exact) // 2
    for k in (0, 1, 2, 3, 10, 25, 60):
        truth = 2 * exact[middle + k + 1 :].sum()
        assert truth <= tail(k) <= truth * (1 + 3e-6)


@pytest.mark.parametrize("cells", [1_000, LISTED])
def test_many_cells_are_still_exact(cells: int) -> None:
    law = DiscreteLaplace(F(3))
    exact, width = transformed(law, cells, 2**16), sum_half_width(law, SHARE, cells)
    assert beyond(exact, width) <= 0.05 < beyond(exact, width - 1) * (1 + 3e-6)
    assert laplace_tail(law, cells)(width) == pytest.approx(beyond(exact, width), rel=3e-6)


@pytest.mark.parametrize("scale", [F(2**49), F(10**9), F(10**6)])
def test_wide_noise_is_nearly_the_continuous_one(scale: F) -> None:
    """Two continuous Laplace noises: P[|sum| > x scales] = exp(-x) (1 + x / 2)."""
    tail = laplace_tail(DiscreteLaplace(scale), 2)
    for x in (F(1, 2), F(3), F(20)):
        assert tail(int(x * scale)) == pytest.approx(math.exp(-x) * (1 + x / 2), rel=1e-5)


def test_beyond_so_many_cells_a_bound_takes_its_place() -> None:
    law, cells = DiscreteLaplace(F(2)), LISTED + 1
    exact, width = transformed(law, cells, 2**15), sum_half_width(law, SHARE, cells)
    assert beyond(exact, width) <= 0.05
    nearest = next(k for k in range(width) if beyond(exact, k) <= 0.05)
    assert width <= 1.4 * nearest


@pytest.mark.parametrize("scale", ["1/3", "1", "5"])
@pytest.mark.parametrize("cells", [2, 9, 100])
def test_the_bound_by_moments_is_one(scale: str, cells: int) -> None:
    law = DiscreteLaplace(F(scale))
    exact = transformed(law, cells, 2**12)
    for k in (0, 1, 5, 20, 80, 200):
        assert beyond(exact, k) <= _chernoff_laplace(law, cells, k) + 1e-12
    assert _chernoff_laplace(law, cells, 10**9) == pytest.approx(0, abs=1e-300)


@pytest.mark.parametrize("variance", ["1/100", "1/2", "1", "9/4", "9", "400"])
@pytest.mark.parametrize("cells", [2, 3, 10, 1_000])
def test_gaussian_noises_are_bounded_by_the_normal_law(variance: str, cells: int) -> None:
    law = DiscreteGaussian(F(variance))
    exact, tail = transformed(law, cells, 2**14), gaussian_tail(law, cells)
    sigma = math.sqrt(law.variance * cells)
    for k in {int(part * sigma) for part in (0, 0.3, 1, 2, 3, 5)}:
        assert beyond(exact, k) <= tail(k) + 1e-12
    width = sum_half_width(law, SHARE, cells)
    assert beyond(exact, width) <= 0.05
    if law.variance >= 9:
        assert beyond(exact, width - 2) > 0.05


@pytest.mark.parametrize("law", [DiscreteLaplace(F(20)), DiscreteGaussian(F(400)), DiscreteGaussian(F(1, 2))])
def test_a_sum_is_off_by_less_than_its_parts_together(law: Law) -> None:
    one = half_width(law, SHARE)
    assert half_width(law, SHARE, 1) == one
    for cells in (2, 4, 25, 10_000, 10_001, 10**6):
        width = half_width(law, SHARE, cells)
        assert width < cells * max(one, 1)
        assert width <= 1.5 * math.sqrt(cells) * max(one, 2)
        assert width < half_width(law, F(999, 1000), cells)


def test_hardly_any_noise_and_hardly_any_doubt() -> None:
    assert half_width(DiscreteLaplace(F(1, 1000)), SHARE, 50) == 0
    assert half_width(DiscreteLaplace(F(1, 1000)), SHARE, 20_000) == 0
    assert half_width(DiscreteGaussian(F(1, 10**6)), SHARE, 50) == 0
    sure = 1 - F(1, 10**16)
    assert 36 <= half_width(DiscreteLaplace(F(1)), sure, 2) <= 42


@pytest.mark.parametrize("law", [DiscreteLaplace(F(7)), DiscreteGaussian(F(50))])
def test_drawn_sums_are_inside_as_often_as_said(law: Law) -> None:
    """100,000 sums of nine draws. False alarm 1e-9; a width 20 % smaller is refused with power above 1 - 1e-9."""
    trials, cells = 100_000, 9
    sums = np.abs(sampler(law).draw(trials * cells).reshape(trials, cells).sum(axis=1))
    width = half_width(law, SHARE, cells)
    most = binom.ppf(1 - 1e-9, trials, 0.05)
    assert (sums > width).sum() <= most
    assert (sums > 0.8 * width).sum() > most
