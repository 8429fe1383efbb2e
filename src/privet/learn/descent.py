"""TRUSTED: training by noisy gradients (DP-SGD): which units a step takes, what it releases, what follows from that.

Only `noisy_step` sees rows. Everything else is a function of its results and of declarations. A step releases a noisy
sum and no average: how many people there are is private, and Adam's steps do not depend on a common factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from privet.core.claim import claim
from privet.learn.network import Kind, Layers, Taken, clipped_sum
from privet.learn.schedule import Schedule
from privet.typing import Floats, Integers, Truths, Words

FIRST_MOMENT, SECOND_MOMENT, TINY = 0.9, 0.99, 1e-12
TAIL = 0.5  # the share of the steps, at the end, whose networks are averaged
ROWS_AT_A_TIME = 2**12


class Draws(Protocol):
    """Where coins and normal numbers come from."""

    def coins(self, coin: int, size: int) -> Truths: ...
    def normals(self, size: int) -> Floats: ...
    def words(self, out: Words) -> None: ...
    def normals_of(self, words: Words) -> Floats: ...
    def apart(self, number: int) -> Draws: ...


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Rows sorted so that those of one unit stand together; `first[i]` is the first row of unit i, and one end more."""

    rows: Floats
    targets: Floats
    first: Integers

    @classmethod
    def of(cls, rows: Floats, targets: Floats, unit: Integers | None) -> Units:
        """From one code of its unit for each row; None if each row is a unit."""
        if unit is None:
            return cls(rows, targets, np.arange(len(rows) + 1))
        order = np.argsort(unit, kind="stable")
        borders = np.flatnonzero(np.diff(unit[order])) + 1
        ends = [len(unit)] if len(unit) else []
        return cls(rows[order], targets[order], np.concatenate([[0], borders, ends]).astype(np.int64))

    @property
    def number(self) -> int:
        return len(self.first) - 1

    @property
    def most(self) -> int:
        """Rows of the unit that has most."""
        return int(np.diff(self.first).max(initial=1))

    def taken(self, places: Integers) -> Taken:
        if len(self.rows) == self.number:
            return Taken(self.rows[places], self.targets[places], np.ones(len(places), np.int64))
        sizes = (self.first[1:] - self.first[:-1])[places]
        within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = np.repeat(self.first[places], sizes) + within
        return Taken(self.rows[rows], self.targets[rows], sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What is declared about a training."""

    schedule: Schedule
    kind: Kind
    sizes: tuple[int, ...]  # of the layers, inputs and outputs included
    clip: float
    rate: float  # of learning


def clipped_sums(layers: Layers, units: Units, places: Integers, recipe: Recipe) -> Layers:
    """Over the units in these places."""
    at_a_time = max(1, ROWS_AT_A_TIME // units.most)
    total = [np.zeros_like(one) for one in layers]
    for start in range(0, len(places), at_a_time):
        found = clipped_sum(layers, units.taken(places[start : start + at_a_time]), recipe.clip, recipe.kind)
        total = [one + more for one, more in zip(total, found, strict=True)]
    return total


@claim("descent-step")
def noisy_step(layers: Layers, units: Units, recipe: Recipe, draws: Draws) -> Layers:
    """The clipped sum over units that are taken by independent coins, with noise."""
    places = np.flatnonzero(draws.coins(recipe.schedule.coin, units.number))
    scale = recipe.clip * float(recipe.schedule.noise)
    sums = clipped_sums(layers, units, places, recipe)
    return [one + scale * draws.normals(one.size).reshape(one.shape) for one in sums]


Step = Callable[[Layers, Units, Recipe, Draws], Layers]
Train = Callable[[Units, Recipe, Draws], Layers]


@dataclass(slots=True)
class Adam:
    """Moments of noisy gradients, and the steps that follow from them. Post-processing."""

    first: Layers
    second: Layers
    steps: int = 0

    @classmethod
    def of(cls, layers: Layers) -> Adam:
        return cls([np.zeros_like(one) for one in layers], [np.zeros_like(one) for one in layers])

    def move(self, layers: Layers, gradients: Layers, rate: float) -> Layers:
        self.steps += 1
        ahead = list(layers)
        for place, gradient in enumerate(gradients):
            self.first[place] = FIRST_MOMENT * self.first[place] + (1 - FIRST_MOMENT) * gradient
            self.second[place] = SECOND_MOMENT * self.second[place] + (1 - SECOND_MOMENT) * gradient**2
            mean = self.first[place] / (1 - FIRST_MOMENT**self.steps)
            spread = np.sqrt(self.second[place] / (1 - SECOND_MOMENT**self.steps))
            ahead[place] = ahead[place] - rate * mean / (spread + TINY)
        return ahead


@claim("descent-training")
def trained(units: Units, recipe: Recipe, draws: Draws, step_: Step = noisy_step) -> Layers:
    """The average of the networks of the second half of the steps. Rows are seen by `step_` alone, as often as the
    schedule says."""
    schedule, layers = recipe.schedule, beginning(recipe.sizes, draws)
    adam, start = Adam.of(layers), int(schedule.steps * (1 - TAIL))
    total = [np.zeros_like(one) for one in layers]
    for step in range(schedule.steps):
        gradients = step_(layers, units, recipe, draws)
        layers = adam.move(layers, gradients, recipe.rate * (1 - step / schedule.steps))
        if step >= start:
            total = [sum_ + one for sum_, one in zip(total, layers, strict=True)]
    return [one / (schedule.steps - start) for one in total]


def beginning(sizes: tuple[int, ...], draws: Draws) -> Layers:
    """Random weights, biases 0: no data."""
    layers = []
    for inputs, outputs in pairwise(sizes):
        weights = draws.normals(inputs * outputs).reshape(inputs, outputs) / np.sqrt(inputs)
        layers.append(np.vstack([weights, np.zeros(outputs)]))
    return layers
