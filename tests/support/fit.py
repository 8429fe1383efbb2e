"""Goodness of fit with a stated false-alarm rate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import stats

FALSE_ALARM = 1e-9
EXPECTED_AT_LEAST = 25.0


def p_value(counts: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """Pearson's chi-square; neighboring bins are merged until each expects 25 draws or more."""
    observed, expected = np.asarray(counts, float), np.asarray(probabilities, float)
    assert abs(expected.sum() - 1) < 1e-9
    expected = expected * observed.sum()
    merged: list[list[float]] = [[0.0, 0.0]]
    for seen, due in zip(observed, expected, strict=True):
        if merged[-1][1] >= EXPECTED_AT_LEAST:
            merged.append([0.0, 0.0])
        merged[-1][0] += seen
        merged[-1][1] += due
    if merged[-1][1] < EXPECTED_AT_LEAST and len(merged) > 1:
        seen, due = merged.pop()
        merged[-1][0] += seen
        merged[-1][1] += due
    table = np.array(merged)
    assert len(table) > 1, "too few draws to tell anything"
    return float(stats.chi2.sf(((table[:, 0] - table[:, 1]) ** 2 / table[:, 1]).sum(), len(table) - 1))
