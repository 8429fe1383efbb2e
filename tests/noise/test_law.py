"""Ten million draws a scale: the law is accepted, and a scale 5 % off is rejected, at a false-alarm rate of 1e-9."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from support.fit import FALSE_ALARM, p_value
from support.noise_laws import GAUSSIAN_SCALES, LAPLACE_SCALES, bin_edges, gaussian_cdf, laplace_cdf

import privet as pv

DRAWS = 10_000_000


def check(draws: npt.NDArray[np.int64], scale: float, cdf: object) -> None:
    edges = bin_edges(scale, cdf)
    counts = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=len(edges) + 1)

    def fits(claimed: float) -> float:
        return p_value(counts, np.diff(cdf(edges, claimed), prepend=0, append=1))

    assert fits(scale) > FALSE_ALARM
    assert fits(scale * 1.05) < FALSE_ALARM
    assert fits(scale / 1.05) < FALSE_ALARM


@pytest.mark.proof
@pytest.mark.parametrize("scale", LAPLACE_SCALES, ids=lambda s: f"{float(s):.6g}")
def test_laplace(scale: Fraction) -> None:
    draws = pv.noise.discrete_laplace(scale, DRAWS)
    assert draws.dtype == np.int64
    check(draws, float(scale), laplace_cdf)
    q = math.exp(-1 / scale)
    residues = np.arange(64)  # the low bits have a law of their own: P[x = r mod 64]
    mod_law = (q**residues + np.where(residues, q ** (64 - residues), q**64)) / (1 - q**64) * (1 - q) / (1 + q)
    if scale > 2**30:  # 1 - q loses its digits; the residues are uniform to 1e-17
        mod_law = np.full(64, 1 / 64)
    assert p_value(np.bincount(draws & 63, minlength=64), mod_law) > FALSE_ALARM


@pytest.mark.proof
@pytest.mark.parametrize("sigma", GAUSSIAN_SCALES, ids=lambda s: f"{float(s):.6g}")
def test_gaussian(sigma: Fraction) -> None:
    draws = pv.noise.discrete_gaussian(sigma, DRAWS)
    assert draws.dtype == np.int64
    check(draws, float(sigma), gaussian_cdf)
    if sigma > 60:  # the residues are uniform to exp(-2 (pi sigma / 64)**2) ...
        bits = 6 if sigma > 500 else 3  # ... which is nothing for 8 at sigma 60 and for 64 at sigma 500
        counts = np.bincount(draws & (2**bits - 1), minlength=2**bits)
        assert p_value(counts, np.full(2**bits, 2.0**-bits)) > FALSE_ALARM


def test_draws_are_independent() -> None:
    """Signs and low bits of neighbors, and of draws a chunk or a pool apart: all 16 patterns equally likely."""
    draws = pv.noise.discrete_laplace("1000.3", 4_000_000)
    code = (draws >= 0).astype(np.int64) * 2 + (draws & 1)
    one = np.bincount(code, minlength=4) / len(code)
    for lag in (1, 2, 512, 2**14, 2**16):
        pairs = np.bincount(code[:-lag] * 4 + code[lag:], minlength=16)
        assert p_value(pairs, np.outer(one, one).ravel()) > FALSE_ALARM


def test_small_requests_have_the_same_law() -> None:
    draws = np.concatenate([pv.noise.discrete_laplace("1.7", size) for size in (0, 1, 2, 7, 63, 500) * 400])
    check_scale = 1.7
    edges = np.arange(-12.0, 13.0)
    counts = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=len(edges) + 1)
    assert len(draws) == 573 * 400
    assert p_value(counts, np.diff(laplace_cdf(edges, check_scale), prepend=0, append=1)) > FALSE_ALARM
    assert p_value(counts, np.diff(laplace_cdf(edges, check_scale * 1.1), prepend=0, append=1)) < FALSE_ALARM
