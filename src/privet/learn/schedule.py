"""A training schedule of noisy gradient steps, declared in advance, and its price.

One step takes every unit with chance `rate`, sums one clipped gradient per unit taken, and adds Gaussian noise. In the
worst case two outputs of neighbors are, after a shift and a turn of the axes, draws of

    add-remove   (1 - rate) N(0, s²) + rate N(1, s²)   against   N(0, s²)                            (and turned round)
    replace      (1 - rate) N(0, s²) + rate N(1, s²)   against   (1 - rate) N(0, s²) + rate N(-1, s²)

s being the noise in units of the clip norm (docs/claims.md, `descent-price`). The privacy loss of all
steps together is computed by dp-accounting. It works in floats: `EXTRA` is what is taken off delta for their errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privet.core.claim import claim
from privet.core.loss import Loss
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError

COIN_BITS = 32
LEAST_DELTA = Fraction(1, 10**10)  # below it, errors of floats would count
EXTRA = (0.999, 1e-12)  # the price is looked up at 0.999 * delta - 1e-12
LEAST_NOISE, MOST_NOISE = Fraction(3, 10), Fraction(10**6)
DIGITS = 10**6
MOST_STEPS = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """`steps` steps; a unit joins each with chance coin / 2^32; `noise` is the deviation in units of the clip norm."""

    coin: int
    steps: int
    noise: Fraction
    neighbors: Neighbors

    def __post_init__(self) -> None:
        sound = 0 < self.coin <= 1 << COIN_BITS and 0 < self.steps <= MOST_STEPS
        if not sound or not LEAST_NOISE <= self.noise <= MOST_NOISE:
            raise InvalidInputError(
                "a schedule has a rate above 0 and at most 1, 1 to 1,000,000 steps, and noise from 0.3 to 1,000,000",
                "raise epsilon, or take fewer steps",
                "out-of-range",
            )

    @property
    def rate(self) -> float:
        """The chance of a unit to join a step. No rounding: it has 32 bits."""
        return self.coin / (1 << COIN_BITS)


def coin_of(rate: Fraction) -> int:
    """The largest coin that is not above `rate`: sampling less often never costs more."""
    return max(1, min(1 << COIN_BITS, rate.numerator * (1 << COIN_BITS) // rate.denominator))


@claim("descent-price")
@lru_cache(maxsize=512)
def epsilon_of(schedule: Schedule, delta: Fraction, grid: float = 1e-3) -> Fraction | None:
    """The epsilon of the whole schedule at this delta, rounded up to six digits; None if it has none below 10^4."""
    from dp_accounting import NeighboringRelation  # noqa: PLC0415 - takes more than a second
    from dp_accounting.pld import privacy_loss_distribution  # noqa: PLC0415

    relation = {
        Neighbors.ADD_REMOVE: NeighboringRelation.ADD_OR_REMOVE_ONE,
        Neighbors.REPLACE: NeighboringRelation.REPLACE_ONE,
    }[schedule.neighbors]
    one = privacy_loss_distribution.from_gaussian_mechanism(
        float(schedule.noise),
        pessimistic_estimate=True,
        value_discretization_interval=grid,
        sampling_prob=schedule.rate,
        neighboring_relation=relation,
    )
    with np.errstate(over="ignore"):  # where epsilon is 0
        share = float(checked(delta)) * EXTRA[0] - EXTRA[1]
        found = float(one.self_compose(schedule.steps).get_epsilon_for_delta(share))
    return Fraction(math.floor(found * DIGITS) + 1, DIGITS) if 0 <= found < 10**4 else None


def checked(delta: Fraction) -> Fraction:
    """A delta for which the computed price can be trusted."""
    if not LEAST_DELTA <= delta < 1:
        raise InvalidInputError(
            f"training by noisy gradients needs a delta of at least 1e-10, not {float(delta):g}",
            "give delta=1e-6, or less: far below 1 / number of people",
            "out-of-range",
        )
    return delta


@claim("descent-rho")
def rho_of(schedule: Schedule) -> Fraction:
    """A zCDP price of the schedule that ignores sampling: steps * (move / noise)² / 2."""
    move = 2 if schedule.neighbors is Neighbors.REPLACE else 1
    return schedule.steps * move**2 / (2 * schedule.noise**2)


def loss_of(schedule: Schedule, epsilon: Fraction, delta: Fraction) -> Loss:
    """The price on both gauges: (epsilon, delta), and the smaller of (epsilon²/2, delta) and the rho without sampling.

    Raises InvalidInputError if the schedule costs more than `epsilon`.
    """
    price = epsilon_of(schedule, delta, grid_for(epsilon))
    if price is None or price > epsilon:
        raise InvalidInputError(
            f"this schedule costs more than epsilon {float(epsilon):g}", "give more noise or fewer steps", "too-small"
        )
    rho, general = rho_of(schedule), epsilon**2 / 2
    if rho <= general:
        return Loss(epsilon=epsilon, delta=delta, rho=rho)
    return Loss(epsilon=epsilon, delta=delta, rho=general, rho_delta=delta)


@claim("descent-calibration")
@lru_cache(maxsize=64)
def least_noise(*, coin: int, steps: int, neighbors: Neighbors, epsilon: Fraction, delta: Fraction) -> Schedule:
    """The schedule with the least noise, to 0.1 %, whose price at `delta` is at most `epsilon`."""
    grid = grid_for(epsilon)

    def at(noise: Fraction) -> Schedule:
        return Schedule(coin=coin, steps=steps, noise=noise, neighbors=neighbors)

    def affordable(noise: Fraction) -> bool:
        price = epsilon_of(at(noise), delta, grid)
        return price is not None and price <= epsilon

    guess = math.ceil(coin / (1 << COIN_BITS) * math.sqrt(steps) / epsilon)  # too low, but near
    high = max(Fraction(1), min(Fraction(guess), MOST_NOISE))
    while not affordable(high):
        high *= 2  # `Schedule` refuses what grows too large
    low = high / 2
    while low > LEAST_NOISE and affordable(low):
        low, high = low / 2, low
    if low <= LEAST_NOISE:
        low = LEAST_NOISE
        if affordable(low):
            return at(low)
    while high - low > low / 1000:
        middle = Fraction(math.ceil((low + high) / 2 * 10**6), 10**6)
        low, high = (low, middle) if affordable(middle) else (middle, high)
    return at(high)


def grid_for(epsilon: Fraction) -> float:
    """How finely losses are rounded up: finer for small epsilons."""
    return min(1e-3, float(epsilon) / 2000)
