"""From noisy sums to coefficients of logistic regression. Nothing here sees a row.

The coefficients are believed to be normal around a guess, along the noisy axes of all rows. A noisy gradient moves the
guess as far as its noise allows (a Kalman filter): strong noise means small steps, and many rounds mean their average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privet.core.rounds import Noisy
from privet.learn.logistic_rows import CONSTANT, LENGTH, LIMIT, SHAPED, Design
from privet.learn.look import UNIT
from privet.typing import Floats

MIDDLE, SPREAD = 0.4, 0.3  # guesses: where all columns are in their ranges, and how far each is from that
NARROWEST = 0.02  # width of a column, of a range from -1 to 1
STEEP = 12.0  # guess for the deviation of margins that coefficients of one class make
SURE = 0.3  # guess for the variance of an intercept around what the counts of the classes say
WIDE = 4.0  # the same later, at most
FORGOTTEN = 0.9  # curvatures change from step to step: what is known counts so much in the next one
THIN = 0.05  # least square of the length along an axis, of the mean
DRAWN = 500  # points that stand for the rows where curvatures are guessed
SHORTEST, LONGEST, STRENGTH = 0.35, 1.0, 0.1  # of the longest vector in a gradient, in widths


@dataclass(frozen=True, slots=True)
class Moments:
    """Rows, their shares in the classes; of ranges from -1 to 1 their middle, and the root of their mean square."""

    rows: float
    shares: Floats
    middle: Floats
    width: float


def moments(sums: Floats, noisy: Noisy, design: Design) -> Moments:
    """Middles are drawn to the middle of all columns as far as noise demands; the width grows by what noise left."""
    size, noise = design.classes, noisy.deviation
    counts = np.maximum(sums[1 : 1 + size] / UNIT, 0)
    rows = max(float(sums[0] * size + sums[1 : 1 + size].sum()) / UNIT / (size + 1), 10.0)
    mean, squares = sums[1 + size : 3 + size] / UNIT / rows
    error = (noise / UNIT / rows) ** 2
    mean = float(np.clip(mean * MIDDLE**2 / (MIDDLE**2 + error), -1, 1))
    found, apart = sums[3 + size :] / design.fineness / rows, (noise / design.fineness / rows) ** 2
    drawn = SPREAD**2 / (SPREAD**2 + apart)
    middle = np.clip(mean + drawn * (found - mean), -1, 1)
    left = squares - 2 * (float((middle * found).mean()) - drawn * apart) + float((middle**2).mean())
    least = max(NARROWEST, min(math.sqrt(error) / 2, 0.3))
    likely = counts + noise / UNIT
    shares = np.clip(likely / likely.sum(), 0.02, 1)
    width = math.sqrt(min(max(left, least**2), 1) * design.columns)
    return Moments(rows, shares / shares.sum(), middle, width)


@dataclass(frozen=True, slots=True)
class Axes:
    """Along which all rows are spread: columns are axes, and squared lengths, of which all together are about 1."""

    vectors: Floats
    squares: Floats


def axes(sums: Floats, noisy: Noisy, rows: float, design: Design) -> Axes:
    """What was measured of columns is drawn to equal widths, and of pairs to nothing, as far as noise demands."""
    size = design.columns
    step = (SHAPED / LENGTH) ** 2 / rows
    found, noise = sums * step, (noisy.deviation * step) ** 2
    if design.pure:
        widths, _ = _drawn_to(np.full(size, 1 / size), found, noise)
        return Axes(np.eye(size), widths)
    square = found.reshape(size, size)
    square = (square + square.T) / 2
    widths, _ = _drawn_to(np.full(size, 1 / size), np.diag(square), noise)
    apart, share = square - np.diag(np.diag(square)), 0.0
    if size > 1:
        pairs = apart[~np.eye(size, dtype=bool)]
        share = _share(float((pairs**2).sum()), len(pairs), noise / 2, 2 * size * noise / 2)
    values, vectors = np.linalg.eigh(np.diag(widths) + share * apart)
    return Axes(vectors, np.maximum(values, THIN / size + share * math.sqrt(noise / 2 * size) / 2))


def _drawn_to(guess: Floats, found: Floats, noise: float) -> tuple[Floats, float]:
    size = len(guess)
    share = _share(float(((found - guess) ** 2).sum()), size, noise, math.sqrt(2 * size) * noise)
    widths = np.asarray(guess + share * (found - guess))
    return np.maximum(widths, THIN / size + share * math.sqrt(noise) / 2), share


def _share(square: float, size: int, noise: float, deviation: float) -> float:
    """How far numbers are from a guess, of which noise explains size * noise, give or take two of its deviations."""
    said = min(max(square - size * noise - 2 * deviation, 0), 1)
    return said / (said + size * noise) if said else 0.0


def step_of(noisy: Noisy, rounds: int, rows: float, design: Design) -> float:
    """Steps of a width in the rows of gradients: with strong noise rows are long, and more of them are shortened."""
    noise = noisy.deviation / LIMIT / math.sqrt(rounds) * math.sqrt(design.columns * max(design.classes - 1, 1)) / rows
    return LENGTH / float(np.clip(STRENGTH / math.sqrt(noise), SHORTEST, LONGEST))


class Belief:
    """Coefficients along the axes (the last one is that of the intercept), a column for each margin."""

    def __init__(self, seen: Moments, axes: Axes, design: Design) -> None:
        self.rows, self.vectors = seen.rows, axes.vectors
        self.squares = np.append(axes.squares, CONSTANT**2)[:, None]
        margin = 2.0 if design.outputs == 1 else 1.0  # the one margin is the difference of two
        most = np.append(np.full(design.columns, STEEP**2 / design.columns), WIDE / CONSTANT**2)
        self.most = np.repeat(most[:, None] * margin**2, design.outputs, axis=1)
        self.unsure = self.most.copy()
        self.unsure[-1] = SURE / CONSTANT**2 * margin**2
        logs = np.log(seen.shares)
        start = logs[1:] - logs[0] if design.outputs == 1 else logs - logs.mean()
        self.mean = np.zeros((design.columns + 1, design.outputs))
        self.mean[-1] = start / CONSTANT

    @property
    def weights(self) -> Floats:
        """Of the columns, then of the constant."""
        return np.vstack([self.vectors @ self.mean[:-1], self.mean[-1:]])

    def learn(self, gradient: Floats, noise: float) -> None:
        """From a gradient, of columns and then of the constant, whose noise has this deviation."""
        along = np.vstack([self.vectors.T @ gradient[:-1], gradient[-1:]])
        curved = self.rows * self.squares * self._curvature()
        whole = curved**2 * self.unsure + noise**2
        self.mean = self.mean + self.unsure * curved / whole * along
        self.unsure = np.minimum(self.unsure * noise**2 / whole / FORGOTTEN, self.most)

    def _curvature(self) -> Floats:
        """The mean of p * (1 - p) for each margin, over normal points that are spread as the rows are."""
        points = np.random.default_rng(0).standard_normal((DRAWN, len(self.mean) - 1))
        margins = points * np.sqrt(self.squares[:-1, 0]) @ self.mean[:-1] + CONSTANT * self.mean[-1]
        found = probabilities(margins)
        likely = found[:, 1:] if margins.shape[1] == 1 else found
        return np.asarray(np.maximum((likely * (1 - likely)).mean(axis=0), 1e-6), np.float64)


def probabilities(margins: Floats) -> Floats:
    """Of each class; one margin is that of the second class."""
    whole = np.column_stack([np.zeros(len(margins)), margins]) if margins.shape[1] == 1 else margins
    powers = np.exp(whole - whole.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float64)
