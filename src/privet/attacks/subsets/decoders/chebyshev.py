"""Bounded errors: values in the box whose sums are all within E of the answers, or with the smallest E there is.

Any point within E is possible, but the corners of what is possible are far from the truth. Taken here is a point in its
middle: residuals up to a dead zone d cost nothing, beyond it the square of the excess, and d is the smallest one (in
steps) whose best point has no residual above E. With d = 0 this is least squares, with d = E an arbitrary point.

Whether E is possible at all is certified. For any numbers s, one an answer, and any x in the box with residuals r of at
most E: E * sum |s| >= s r >= (smallest s A x over the box) - s answers, so no E below

    ( sum over people of min(0, top * (A's)) - s answers ) / sum |s|

is possible. The slopes of the losses at a minimum are such numbers s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privet.attacks.subsets.decoders import checked
from privet.attacks.subsets.decoders.descent import DescentSearch, Minimum, Progress
from privet.attacks.subsets.decoders.problem import Decoded, Errors, Matrix
from privet.core.claim import claim
from privet.typing import Floats

NAME = "Chebyshev"
ZONES = (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 1.0)  # dead zones that are tried, as parts of E
CLOSE = 1e-3  # a residual may be above E by this part of it
NEAR = 0.03  # how well the smallest E is found
SEARCHES = 12
TINY = 1e-3  # a bound on sums of whole numbers that says as much as 0
ROUNDS = 2500  # of each search, of which there are some


@dataclass(frozen=True, slots=True)
class Dead:
    """Nothing up to `zone`, half the square of the rest beyond."""

    zone: float

    def each(self, residuals: Floats) -> Floats:
        return np.maximum(np.abs(residuals) - self.zone, 0.0) ** 2 / 2

    def slope(self, residuals: Floats) -> Floats:
        return residuals - np.clip(residuals, -self.zone, self.zone)


def decode(
    matrix: Matrix,
    answers: object,
    errors: Errors | None = None,
    *,
    top: object = None,
    progress: Progress | None = None,
) -> Decoded:
    """If the bound that `errors` states is impossible, `converged` is false and the errors given back have the smallest
    bound that was reached. Without a stated bound it is the smallest possible one, within NEAR of it."""
    asked = checked.question(matrix, answers, top)
    search = DescentSearch.of(matrix, asked, progress)
    if errors is None or errors.law not in ("bounded", "exact"):
        found, held = _smallest(search)
        law = Errors("bounded", _largest(found)) if errors is None else errors
    else:
        found, held = _within(search, max(errors.size, TINY))
        law = errors
        if not held:
            found, _ = _smallest(search, found)
            law = Errors("bounded", _largest(found))
    return Decoded(
        decoder=NAME,
        values=found.values,
        bits=checked.whole(found.values, asked.top),
        right=None,
        errors=law,
        rounds=found.rounds,
        converged=held,
    )


def _within(search: DescentSearch, bound: float) -> tuple[Minimum, bool]:
    """The smallest dead zone that keeps all residuals within the bound, and whether there is one."""
    limit = (1 + CLOSE) * bound
    found = _minimum(search, 0.0, limit)
    rounds = found.rounds
    for zone in ZONES:
        if _largest(found) <= limit or least(search, found.slopes) > limit:
            break
        found = _minimum(search, zone * bound, limit, found)
        rounds += found.rounds
    return replace(found, rounds=rounds), _largest(found) <= limit


def _smallest(search: DescentSearch, start: Minimum | None = None) -> tuple[Minimum, bool]:
    """The interval from what is certified to what is reached, cut until it is short."""
    best = _minimum(search, 0.0, 0.0) if start is None else start
    low, rounds = least(search, best.slopes), best.rounds
    for _ in range(SEARCHES):
        high = _largest(best)
        if high <= (1 + NEAR) * low + TINY:
            return replace(best, rounds=rounds), True
        middle = (low + high) / 2
        found = _minimum(search, middle, (1 + NEAR / 4) * middle, best)
        rounds += found.rounds
        best = min(best, found, key=_largest)
        low = max(low, least(search, found.slopes))
    return replace(best, rounds=rounds), False


def _largest(found: Minimum) -> float:
    return float(np.abs(found.residuals).max())


def _minimum(search: DescentSearch, zone: float, limit: float, before: Minimum | None = None) -> Minimum:
    return search.minimum(
        Dead(zone),
        start=None if before is None else before.values,
        enough=lambda residuals: zone > 0 and bool(np.abs(residuals).max() <= limit),
        rounds=ROUNDS,
    )


@claim("least-error")
def least(search: DescentSearch, slopes: Floats) -> float:
    """No smaller bound on all errors is possible: the certificate above."""
    weight = float(np.abs(slopes).sum())
    if weight == 0:
        return 0.0
    smallest = float(np.minimum(0.0, search.top * search.matrix.back(slopes)).sum())
    return max((smallest - float(slopes @ search.answers)) / weight, 0.0)
