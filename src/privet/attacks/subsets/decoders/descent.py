"""The smallest sum of losses in a box, for any matrix: what box least squares, L1 and Chebyshev have in common.

    minimize  F(x) = sum of loss(A x - answers)   over   0 <= x <= top

by accelerated projected gradients (FISTA, Beck and Teboulle 2009) with restarts (O'Donoghue and Candes 2015). With the
matrix it only multiplies. Sums over people have one huge direction, the mean of everybody, and a plain gradient step is
as short as that direction wants. Steps are measured here by a diagonal (how much is asked about each person) plus this
one direction, and the projection on the box in such a measure is a search for a single number.

The end is not a guess. F is convex, so with g its gradient at any x in the box

    F(x) - min F  <=  max over u in the box of g (x - u)  =  sum over people of max(g x, g (x - top)),

a certificate. The search stops when it is small against the squares of the slopes: for normal errors, when no data set
in the box is likelier by more than e^GAP for each person.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from privet.attacks.subsets.decoders.checked import Question
from privet.attacks.subsets.decoders.problem import Matrix
from privet.typing import Floats

Progress = Callable[[str, int, int], object]
ROUNDS = 10_000
GAP = 1e-3
STILL = 1e-9  # nobody moves further than this in one step
CHECK = 5  # the certificate costs a product: look at it every CHECK rounds
POWER_ROUNDS = 30
SPARE = 1.05  # an eigenvalue that was found by multiplication comes from below
SHORTER, LONGER = 1.6, 0.92  # the measure grows where a step was too long, and shrinks where it was not
LARGEST = 4.0
PIECES = 100  # steps from one straight piece to another


class DescentLoss(Protocol):
    """Convex, one for each residual; the slope changes by at most as much as the residual."""

    def each(self, residuals: Floats) -> Floats: ...

    def slope(self, residuals: Floats) -> Floats: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DescentMeasure:
    """diagonal + ray ray': not less than A'A in any direction."""

    diagonal: Floats
    ray: Floats

    def square(self, step: Floats) -> float:
        return float(step @ (self.diagonal * step) + (self.ray @ step) ** 2)

    def times(self, step: Floats) -> Floats:
        return self.diagonal * step + self.ray * float(self.ray @ step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimum:
    values: Floats
    residuals: Floats
    slopes: Floats  # of the losses
    gap: float  # F is at most so far above its minimum
    rounds: int
    converged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    """Values and the matrix times these. As both are linear, a point between or beyond two others costs no product."""

    values: Floats
    sums: Floats

    def beyond(self, other: _Point, push: float) -> _Point:
        return _Point(
            values=self.values + push * (self.values - other.values), sums=self.sums + push * (self.sums - other.sums)
        )


def measured(matrix: Matrix, weights: Floats) -> DescentMeasure:
    """`weights` are above 0, one a person: how much is asked about each, such as sums of squares of the columns."""
    root = np.sqrt(weights)

    def curvature(vector: Floats) -> Floats:
        return matrix.back(matrix.times(vector / root)) / root

    largest, ray = _power(curvature, root)
    start = np.random.default_rng(0).standard_normal(len(root))
    others, _ = _power(lambda vector: curvature(vector) - largest * ray * float(ray @ vector), start)
    least = max(others, 1e-6 * largest)
    return DescentMeasure(diagonal=SPARE * least * weights, ray=np.sqrt(largest) * ray * root)


def _power(product: Callable[[Floats], Floats], start: Floats) -> tuple[float, Floats]:
    """The eigenvalue farthest from 0, nearly, and its direction, by repeated multiplication."""
    vector, length = start / np.linalg.norm(start), 0.0
    for _ in range(POWER_ROUNDS):
        image = product(vector)
        before, length = length, float(np.linalg.norm(image))
        if abs(length - before) <= 1e-3 * length:
            break
        vector = image / length
    return length, vector


@dataclass(frozen=True, slots=True, kw_only=True)
class DescentSearch:
    """One problem: residuals are what the matrix makes of the values, less the answers."""

    matrix: Matrix
    answers: Floats
    top: Floats
    measure: DescentMeasure
    progress: Progress | None

    @classmethod
    def of(cls, matrix: Matrix, asked: Question, progress: Progress | None) -> DescentSearch:
        measure = measured(matrix, asked.weights)
        return cls(matrix=matrix, answers=asked.answers, top=asked.top, measure=measure, progress=progress)

    def minimum(
        self,
        loss: DescentLoss,
        *,
        start: Floats | None = None,
        enough: Callable[[Floats], bool] | None = None,
        rounds: int = ROUNDS,
    ) -> Minimum:
        """`enough` looks at the residuals, and may end the search before the minimum."""
        tell = self.progress or (lambda *_: None)
        values = self.top / 2 if start is None else start
        here = old = _Point(values=values, sums=self.matrix.times(values))
        pace = scale = 1.0
        for done in range(1, rounds + 1):
            tell("rounds", done - 1, rounds)
            follow = (1 + np.sqrt(1 + 4 * pace**2)) / 2
            there = here.beyond(old, (pace - 1) / follow)
            new, scale = self._stepped(loss, there, scale)
            move = new.values - there.values
            turned = float(self.measure.times(move) @ (new.values - here.values)) < 0  # uphill: no more momentum
            here, old, pace, scale = new, here, 1.0 if turned else follow, scale * LONGER
            still = bool(np.abs(move).max() <= STILL)
            if still or done % CHECK == 0 or done == rounds:
                found = self._certified(loss, here, done)
                small = found.gap <= GAP * len(self.top) * float(np.mean(found.slopes**2))
                if still or small or (enough is not None and enough(found.residuals)):
                    return found
        return replace(found, converged=False)

    def _certified(self, loss: DescentLoss, point: _Point, rounds: int) -> Minimum:
        residuals = point.sums - self.answers
        slopes = loss.slope(residuals)
        gradient = self.matrix.back(slopes)
        gap = float(np.maximum(gradient * point.values, gradient * (point.values - self.top)).sum())
        return Minimum(values=point.values, residuals=residuals, slopes=slopes, gap=gap, rounds=rounds, converged=True)

    def _stepped(self, loss: DescentLoss, there: _Point, scale: float) -> tuple[_Point, float]:
        """A gradient step, as long as the losses between here and there are bent less than the measure says."""
        residuals = there.sums - self.answers
        slopes, losses = loss.slope(residuals), loss.each(residuals)
        gradient = self.matrix.back(slopes)
        while True:
            values = _projected(there.values, gradient / scale, self.measure, self.top)
            new = _Point(values=values, sums=self.matrix.times(values))
            bent = float((loss.each(new.sums - self.answers) - losses - slopes * (new.sums - there.sums)).sum())
            if bent <= scale / 2 * self.measure.square(values - there.values) or scale >= LARGEST:
                return new, scale
            scale *= SHORTER


def _projected(there: Floats, gradient: Floats, measure: DescentMeasure, top: Floats) -> Floats:
    """The x in the box with the smallest g x + (x - there)' M (x - there) / 2. With s = ray (x - there), each person's
    x is there - (g + ray s) / diagonal, cut off at 0 and top. The function s - ray (x(s) - there) rises, in straight
    pieces, and is 0 at the answer: Newton's steps, kept between what is known to be too low and too high."""
    base, tilt = there - gradient / measure.diagonal, measure.ray / measure.diagonal
    low, high, level = -np.inf, np.inf, 0.0
    for _ in range(PIECES):
        free = base - tilt * level
        point = np.minimum(np.maximum(free, 0.0), top)
        off = level - float(measure.ray @ (point - there))
        low, high = (low, level) if off > 0 else (level, high)
        inside = point == free
        following = level - off / (1 + float(measure.ray[inside] @ tilt[inside]))
        if not low < following < high and np.isfinite(low) and np.isfinite(high):
            following = (low + high) / 2
        if abs(following - level) <= 1e-12 * (1 + abs(level)):
            break
        level = following
    return point
