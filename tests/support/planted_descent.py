"""Steps of training with a mistake each, and draws without noise. What finds such mistakes is tested on them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from privet.core.unit import Neighbors
from privet.learn.descent import Draws, Recipe, Step, Units
from privet.learn.network import Kind, Layers, Taken, clipped_sum
from privet.learn.schedule import Schedule, coin_of
from privet.noise.floats import FloatNoise
from privet.typing import Floats, Truths

HUGE = 1e9
EXPECTED = 5.0  # units in a step, as somebody might declare


class Chosen(FloatNoise):
    """Takes these units, one draw of coins after the other, and gives the same normal number again and again."""

    def __init__(self, *coins: Truths, normal: float = 0.0) -> None:
        super().__init__()
        self.left, self.normal = list(coins), normal

    def coins(self, coin: int, size: int) -> Truths:
        found = self.left.pop(0) if self.left else np.ones(size, np.bool_)
        if len(found) != size:
            raise ValueError(f"{size} coins are drawn, not one for each of {len(found)} units")
        return found

    def normals(self, size: int) -> Floats:
        return np.full(size, self.normal)


def recipe(**changes: object) -> Recipe:
    """A small one: two inputs, three classes, no hidden layer."""
    schedule = Schedule(coin=coin_of(Fraction(1)), steps=1, noise=Fraction(2), neighbors=Neighbors.ADD_REMOVE)
    base = Recipe(schedule=schedule, kind=Kind(activation="tanh", classes=3), sizes=(2, 3), clip=0.25, rate=0.1)
    return replace(base, **changes)  # type: ignore[arg-type]


def taken_by_coins(units: Units, given: Recipe, draws: Draws) -> Taken:
    return units.taken(np.flatnonzero(draws.coins(given.schedule.coin, units.number)))


def noisy(sums: Layers, given: Recipe, draws: Draws, times: float = 1.0) -> Layers:
    scale = given.clip * float(given.schedule.noise) * times
    return [one + scale * draws.normals(one.size).reshape(one.shape) for one in sums]


def no_clip(layers: Layers, units: Units, given: Recipe, draws: Draws) -> Layers:
    """Noise for the declared clip norm on gradients that nobody clipped."""
    return noisy(clipped_sum(layers, taken_by_coins(units, given, draws), HUGE, given.kind), given, draws)


def realised_batch(layers: Layers, units: Units, given: Recipe, draws: Draws) -> Layers:
    """Divides the sum by the number of units that were taken, where a declared number is meant."""
    taken = taken_by_coins(units, given, draws)
    share = EXPECTED / max(1, len(taken.sizes))
    return noisy([share * one for one in clipped_sum(layers, taken, given.clip, given.kind)], given, draws)


def row_clip(layers: Layers, units: Units, given: Recipe, draws: Draws) -> Layers:
    """Clips each row of a unit by itself."""
    taken = taken_by_coins(units, given, draws)
    alone = taken._replace(sizes=np.ones(len(taken.rows), np.int64))
    return noisy(clipped_sum(layers, alone, given.clip, given.kind), given, draws)


def norm_from_data(layers: Layers, units: Units, given: Recipe, draws: Draws) -> Layers:
    """Clips to the largest norm of a gradient in the data; the noise is that for the declared norm."""
    alone = [clipped_sum(layers, units.taken(np.array([one])), HUGE, given.kind) for one in range(units.number)]
    most = max([float(np.sqrt(sum((part**2).sum() for part in one))) for one in alone], default=given.clip)
    return noisy(clipped_sum(layers, taken_by_coins(units, given, draws), most, given.kind), given, draws)


def rows_sampled(layers: Layers, units: Units, given: Recipe, draws: Draws) -> Layers:
    """Takes rows by coins; clips what it took of a unit."""
    rows, targets, sizes = units.taken(np.arange(units.number))
    owner = np.repeat(np.arange(units.number), sizes)
    kept = draws.coins(given.schedule.coin, len(rows))
    counts = np.bincount(owner[kept], minlength=units.number)
    taken = Taken(rows[kept], targets[kept], counts[counts > 0])
    return noisy(clipped_sum(layers, taken, given.clip, given.kind), given, draws)


def less_noise(layers: Layers, units: Units, given: Recipe, draws: Draws) -> Layers:
    """Noise a tenth too small."""
    return noisy(clipped_sum(layers, taken_by_coins(units, given, draws), given.clip, given.kind), given, draws, 0.9)


PLANTED: dict[str, Step] = {
    "no clip": no_clip,
    "realised batch": realised_batch,
    "clip by row": row_clip,
    "norm from the data": norm_from_data,
    "rows sampled": rows_sampled,
    "less noise": less_noise,
}
