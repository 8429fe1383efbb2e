"""Least absolute residuals in the box, L1: for errors with heavy tails, and for answers of which some are wild.

A wild answer pulls least squares as hard as it is wrong; here every answer pulls equally, or not at all. Small
residuals are squared (Huber's loss): below the size of the errors that costs nothing, and the search is much faster. If
wild answers are expected, answers that fit nowhere near are left out at the end and the rest is fitted again, since
what is known to be wild should not pull at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.attacks.subsets.decoders import checked
from privet.attacks.subsets.decoders.descent import DescentSearch, Minimum, Progress
from privet.attacks.subsets.decoders.problem import Decoded, Errors, Matrix
from privet.typing import Floats

NAME = "L1"
BEND = {"laplace": 0.3, "outliers": 1.0}  # residuals up to this many sizes are squared
WILD = 4.0  # standard deviations: one normal error of 16,000 is beyond
NORMAL = 1.4826  # the standard deviation of normal errors over the median of their absolute values
TINY = 0.05  # smaller errors of sums of whole numbers say as much as none


@dataclass(frozen=True, slots=True)
class Bent:
    """Half the square up to `bend`, straight beyond, and flat where an answer is left out."""

    bend: float
    used: Floats | float = 1.0

    def each(self, residuals: Floats) -> Floats:
        size = np.abs(residuals)
        return np.asarray(self.used * np.where(size < self.bend, size**2 / 2, self.bend * (size - self.bend / 2)))

    def slope(self, residuals: Floats) -> Floats:
        return np.asarray(self.used * np.clip(residuals, -self.bend, self.bend))


def decode(
    matrix: Matrix,
    answers: object,
    errors: Errors | None = None,
    *,
    top: object = None,
    progress: Progress | None = None,
) -> Decoded:
    """Without `errors` their size is the one that residuals show, and how many are wild is counted."""
    asked = checked.question(matrix, answers, top)
    search = DescentSearch.of(matrix, asked, progress)
    if errors is None:
        found, size = _estimated(search)
    else:
        size = max(errors.size, TINY)
        found = search.minimum(Bent(BEND.get(errors.law, 1.0) * size))
    if errors is None or errors.law == "outliers":
        found = _without_wild(search, found, size)
    wild = float((np.abs(found.residuals) > WILD * size).mean())
    return Decoded(
        decoder=NAME,
        values=found.values,
        bits=checked.whole(found.values, asked.top),
        right=None,
        errors=Errors("outliers", size, wild) if errors is None else errors,
        rounds=found.rounds,
        converged=found.converged,
    )


def _estimated(search: DescentSearch) -> tuple[Minimum, float]:
    """Fits and sizes in turn. The first size is too large, as a fit that wild answers pull has large residuals."""
    size = max(NORMAL * float(np.median(np.abs(search.answers - search.matrix.times(search.top / 2)))), TINY)
    found = search.minimum(Bent(size))
    while True:
        before, size = size, max(NORMAL * float(np.median(np.abs(found.residuals))), TINY)
        found = search.minimum(Bent(size), start=found.values)
        if size > 0.9 * before:
            return found, size


def _without_wild(search: DescentSearch, found: Minimum, size: float) -> Minimum:
    """Residuals hold the errors of the fit, too: nobody is left out who is within reach of their own spread."""
    reach = WILD * max(size, NORMAL * float(np.median(np.abs(found.residuals))))
    used = (np.abs(found.residuals) <= reach).astype(np.float64)
    return search.minimum(Bent(2 * reach, used), start=found.values)
