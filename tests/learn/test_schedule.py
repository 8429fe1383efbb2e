"""The price of a schedule: against closed forms, an independent Rényi bound, and the worst pair by enumeration."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
from scipy import stats
from support.refusals import raises_code

from privet.core.unit import Neighbors
from privet.errors import InvalidInputError
from privet.learn.schedule import (
    DIGITS,
    EXTRA,
    LEAST_DELTA,
    LEAST_NOISE,
    Schedule,
    checked,
    coin_of,
    epsilon_of,
    grid_for,
    least_noise,
    loss_of,
    rho_of,
)
from privet.typing import Floats

DELTA = Fraction(1, 10**6)
BOTH = list(Neighbors)
RELATIONS = {
    Neighbors.ADD_REMOVE: NeighboringRelation.ADD_OR_REMOVE_ONE,
    Neighbors.REPLACE: NeighboringRelation.REPLACE_ONE,
}
POINTS = np.linspace(-60, 60, 24_001)
GRID = 2e-4  # more than sums on the grid in the plane err


def schedule(rate: object, steps: int, noise: object, neighbors: Neighbors) -> Schedule:
    return Schedule(coin=coin_of(Fraction(rate)), steps=steps, noise=Fraction(noise), neighbors=neighbors)  # type: ignore[arg-type]


def log_mixture(points: Floats, rate: float, place: float, noise: float) -> Floats:
    """The logarithm of the density of (1 - rate) N(0, noise²) + rate N(place, noise²)."""
    plain = -(points**2) / (2 * noise**2)
    moved = -((points - place) ** 2) / (2 * noise**2)
    with np.errstate(divide="ignore"):
        mixed = np.logaddexp(np.log1p(-rate) + plain, np.log(rate) + moved)
    return np.asarray(mixed - math.log(noise * math.sqrt(2 * math.pi)), np.float64)


def renyi_epsilon(given: Schedule, delta: float) -> float:
    """An upper bound on epsilon that knows nothing of privacy loss distributions: Rényi divergences of the worst pair,
    by quadrature, times the number of steps, converted at the best order."""
    rate, noise = given.rate, float(given.noise)
    other = 0.0 if given.neighbors is Neighbors.ADD_REMOVE else -1.0
    best = math.inf
    for order in [1.25, 1.5, 1.75, 2, 2.5, *range(3, 40), 48, 64, 96, 128, 256]:
        points = np.linspace(-2 * order - 14 * noise, 2 * order + 14 * noise, 40_001)
        sides = log_mixture(points, rate, 1.0, noise), log_mixture(points, rate, other, noise)
        logs = [
            np.logaddexp.reduce(order * p + (1 - order) * q) + math.log(points[1] - points[0])
            for p, q in (sides, sides[::-1])
        ]
        divergence = given.steps * max(logs) / (order - 1)
        best = min(best, divergence + math.log1p(-1 / order) - math.log(delta * order) / (order - 1))
    return best


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize(
    ("rate", "steps", "noise"),
    [("0.2", 100, 6), ("0.05", 400, 2), ("0.01", 3000, 1), ("1", 50, 25), ("0.001", 50_000, 1)],
)
def test_an_independent_bound_is_near_and_never_below(
    rate: str, steps: int, noise: object, neighbors: Neighbors
) -> None:
    given = schedule(rate, steps, noise, neighbors)
    price = epsilon_of(given, DELTA)
    assert price is not None
    assert float(price) <= renyi_epsilon(given, float(DELTA)) <= 1.25 * float(price)


@pytest.mark.parametrize("neighbors", BOTH)
def test_without_sampling_the_price_is_that_of_one_gaussian(neighbors: Neighbors) -> None:
    """`steps` Gaussians are one of noise / sqrt(steps), whose curve is known. The other relation is far off."""
    given = schedule(1, 25, 10, neighbors)
    price = epsilon_of(given, DELTA)
    assert price is not None
    mu = math.sqrt(given.steps) / float(given.noise) * (2 if neighbors is Neighbors.REPLACE else 1)

    def delta(epsilon: float) -> float:
        normal = NormalDist()
        return normal.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal.cdf(-mu / 2 - epsilon / mu)

    assert delta(float(price)) <= float(DELTA) <= delta(float(price) * 0.998)


def least_delta(given: Schedule, epsilon: float, width: float = 2e-3) -> float:
    """A lower bound on the delta of the schedule's worst pair: losses on a grid, rounded down, added up by plain
    convolution. Rounding losses down, and leaving out outputs, only lower it."""
    rate, noise, points = given.rate, float(given.noise), np.linspace(-9, 9, 40_001) * float(given.noise)
    other = 0.0 if given.neighbors is Neighbors.ADD_REMOVE else -1.0
    sides = log_mixture(points, rate, 1.0, noise), log_mixture(points, rate, other, noise)
    found = []
    for p, q in (sides, sides[::-1]):
        seen = p - q > -1  # and few are far below
        chances = np.exp(p[seen]) * (points[1] - points[0])
        places = np.floor((p - q)[seen] / width).astype(np.int64)
        low, losses = int(places.min()), np.bincount(places - places.min(), chances)
        total = np.ones(1)
        for _ in range(given.steps):
            total = np.convolve(total, losses)
        values = (np.arange(len(total)) + low * given.steps) * width
        found.append(float((total * np.maximum(-np.expm1(epsilon - values), 0)).sum()))
    return max(found)


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize(("rate", "steps", "noise"), [("0.2", 8, 2), ("0.05", 6, "1.5"), ("0.5", 5, 4)])
def test_no_price_is_below_what_plain_convolution_shows(
    rate: str, steps: int, noise: object, neighbors: Neighbors
) -> None:
    """Nor far above. What it would cost at 0.9 of its rate, or with one step less, is seen to be too little."""
    given = schedule(rate, steps, noise, neighbors)
    price = epsilon_of(given, DELTA)
    assert price is not None
    assert least_delta(given, float(price)) <= float(DELTA) < least_delta(given, float(price) * 0.97)
    cheaper = [
        schedule(Fraction(rate) * Fraction(9, 10), steps, noise, neighbors),
        schedule(rate, steps - 1, noise, neighbors),
    ]
    for less in cheaper:
        planted = epsilon_of(less, DELTA)
        assert planted is not None
        assert least_delta(given, float(planted)) > float(DELTA)


@pytest.mark.parametrize("steps", [10**4, 10**6])
@pytest.mark.parametrize("delta", [LEAST_DELTA, DELTA])
def test_errors_of_floats_are_within_the_margin(steps: int, delta: Fraction) -> None:
    """The most steps and the least delta, where the exact curve is known: that of one Gaussian."""
    given = schedule(1, steps, round(4 * math.sqrt(steps)), Neighbors.ADD_REMOVE)
    price = epsilon_of(given, delta, grid_for(Fraction(1)))
    assert price is not None
    mu, normal = math.sqrt(steps) / float(given.noise), stats.norm

    def exact(epsilon: float) -> float:
        far = math.exp(epsilon + float(normal.logsf(mu / 2 + epsilon / mu)))
        return float(normal.sf(epsilon / mu - mu / 2)) - far

    assert exact(float(price)) <= float(delta)
    assert steps > 10**4 or exact(float(price) * 0.99) > float(delta)  # a million roundings up are dear


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize("noise", ["0.9", "1.7", "4", "11"])
def test_a_price_is_rounded_up_and_by_no_more_than_its_last_digit(noise: str, neighbors: Neighbors) -> None:
    one = from_gaussian_mechanism(
        float(Fraction(noise)),
        pessimistic_estimate=True,
        value_discretization_interval=1e-3,
        sampling_prob=0.25,
        neighboring_relation=RELATIONS[neighbors],
    )
    exact = Fraction(one.self_compose(20).get_epsilon_for_delta(float(DELTA) * EXTRA[0] - EXTRA[1]))
    price = epsilon_of(schedule("0.25", 20, noise, neighbors), DELTA)
    assert price is not None
    assert 0 < price - exact <= Fraction(1, DIGITS)


@pytest.mark.parametrize("neighbors", BOTH)
def test_one_step_costs_what_its_worst_pair_shows(neighbors: Neighbors) -> None:
    given = schedule("0.1", 1, 1, neighbors)
    price = epsilon_of(given, DELTA)
    assert price is not None
    other = 0.0 if neighbors is Neighbors.ADD_REMOVE else -1.0
    sides = [np.exp(log_mixture(POINTS, given.rate, place, 1.0)) for place in (1.0, other)]
    width = POINTS[1] - POINTS[0]

    def delta(epsilon: float) -> float:
        return max(float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * width) for p, q in (sides, sides[::-1]))

    assert delta(float(price)) <= float(DELTA) <= delta(float(price) - 0.01)


def hockey_stick(rate: float, one: tuple[float, float], other: tuple[float, float], factor: float) -> float:
    """Of two mixtures in the plane with noise 1, on a grid."""
    axis = np.linspace(-6, 6, 201)
    x, y = np.meshgrid(axis, axis)
    weight = np.exp(-(x**2 + y**2) / 2) * (axis[1] - axis[0]) ** 2 / (2 * np.pi)

    def ratio(place: tuple[float, float]) -> Floats:
        return np.asarray(1 - rate + rate * np.exp(x * place[0] + y * place[1] - (place[0] ** 2 + place[1] ** 2) / 2))

    return float((weight * np.maximum(ratio(one) - factor * ratio(other), 0)).sum())


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
def test_no_two_gradients_are_further_apart_than_opposite_ones(rate: float) -> None:
    """Of gradients in the unit disk opposite ones (replace), or one and none (add-remove), attain the most."""
    ball = [(r * math.cos(t), r * math.sin(t)) for r in (0.0, 0.5, 1.0) for t in np.linspace(0, 2 * math.pi, 7)[:-1]]
    for factor in (0.5, 1.0, 1.5, 3.0):
        worst = hockey_stick(rate, (1.0, 0.0), (-1.0, 0.0), factor)
        found = [hockey_stick(rate, one, other, factor) for one, other in product([(1.0, 0.0), (0.5, 0.0)], ball)]
        assert max(found) <= worst + GRID
        alone = [hockey_stick(rate, one, (0.0, 0.0), factor) for one in ball]
        assert max(alone) <= hockey_stick(rate, (1.0, 0.0), (0.0, 0.0), factor) + GRID
    assert (
        hockey_stick(rate, (1.0, 0.0), (-1.0, 0.0), 1.5) > hockey_stick(rate, (1.0, 0.0), (0.0, 0.0), 1.5) + 10 * GRID
    )


@pytest.mark.parametrize("rate", [0.01, 0.3, 1.0])
def test_random_gradients_are_never_further_apart_than_opposite_ones(rate: float) -> None:
    generator = np.random.default_rng(5)
    for _ in range(20):
        angles, lengths = generator.uniform(0, 2 * math.pi, 2), np.sqrt(generator.uniform(0, 1, 2))
        one, other = ((r * math.cos(t), r * math.sin(t)) for r, t in zip(lengths, angles, strict=True))
        factor = float(np.exp(generator.normal()))
        worst = hockey_stick(rate, (1.0, 0.0), (-1.0, 0.0), factor)
        assert hockey_stick(rate, one, other, factor) <= worst + GRID


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize(("epsilon", "rate", "steps"), [("0.5", "0.1", 100), (1, 1, 20), (8, "0.05", 100)])
def test_the_least_noise_meets_the_price_and_less_does_not(
    epsilon: object, rate: object, steps: int, neighbors: Neighbors
) -> None:
    price, coin = Fraction(epsilon), coin_of(Fraction(rate))  # type: ignore[arg-type]
    found = least_noise(coin=coin, steps=steps, neighbors=neighbors, epsilon=price, delta=DELTA)
    paid = epsilon_of(found, DELTA, grid_for(price))
    assert paid is not None
    assert paid <= price
    less = Schedule(coin=coin, steps=steps, noise=found.noise * Fraction(995, 1000), neighbors=neighbors)
    more = epsilon_of(less, DELTA, grid_for(price))
    assert more is not None
    assert more > price


def test_a_large_price_takes_the_least_noise_there_is() -> None:
    found = least_noise(
        coin=coin_of(Fraction(1, 100)), steps=1, neighbors=Neighbors.ADD_REMOVE, epsilon=Fraction(900), delta=DELTA
    )
    assert found.noise == LEAST_NOISE


def test_a_price_just_above_that_of_the_least_noise_there_is() -> None:
    given = schedule(1, 1, "0.31", Neighbors.ADD_REMOVE)
    price = epsilon_of(given, DELTA)
    assert price is not None
    found = least_noise(coin=given.coin, steps=1, neighbors=given.neighbors, epsilon=price, delta=DELTA)
    assert LEAST_NOISE < found.noise <= given.noise * Fraction(1001, 1000)


def test_a_coin_is_never_above_its_rate() -> None:
    assert coin_of(Fraction(1)) == 2**32
    assert coin_of(Fraction(7, 3)) == 2**32
    assert coin_of(Fraction(1, 2**40)) == 1
    for rate in (Fraction(1, 3), Fraction(1, 1000), Fraction(999, 1000)):
        assert rate - Fraction(1, 2**32) < Fraction(coin_of(rate), 2**32) <= rate


@pytest.mark.parametrize("neighbors", BOTH)
def test_the_other_gauge_has_the_smaller_of_two_prices(neighbors: Neighbors) -> None:
    move = 4 if neighbors is Neighbors.REPLACE else 1
    full = least_noise(coin=2**32, steps=10, neighbors=neighbors, epsilon=Fraction(1), delta=DELTA)
    loss = loss_of(full, Fraction(1), DELTA)
    assert (loss.epsilon, loss.delta, loss.rho_delta) == (1, DELTA, 0)
    assert loss.rho == rho_of(full) == 10 * move / (2 * full.noise**2)
    few = least_noise(coin=coin_of(Fraction(1, 20)), steps=100, neighbors=neighbors, epsilon=Fraction(1), delta=DELTA)
    loss = loss_of(few, Fraction(1), DELTA)
    assert (loss.rho, loss.rho_delta) == (Fraction(1, 2), DELTA)


def test_a_price_that_is_met_exactly_is_enough() -> None:
    given, delta = schedule(1, 20, 3, Neighbors.ADD_REMOVE), Fraction(1, 10**6)
    price = epsilon_of(given, delta, grid_for(Fraction(2)))
    assert price is not None
    assert price > 2  # above, all prices are on one grid
    assert loss_of(given, price, delta).epsilon == price


def test_prices_on_the_other_gauge_where_both_are_alike() -> None:
    """Four steps with noise 1 cost a rho of 2, which is also epsilon²/2 at 2."""
    given, delta = schedule(1, 4, 1, Neighbors.ADD_REMOVE), Fraction(35, 100)
    assert (loss_of(given, Fraction(2), delta).rho, loss_of(given, Fraction(2), delta).rho_delta) == (2, 0)
    sampled = schedule("0.02", 50, 1, Neighbors.ADD_REMOVE)
    loss = loss_of(sampled, Fraction(3), DELTA)
    assert (loss.rho, loss.rho_delta) == (Fraction(9, 2), DELTA)


def test_the_smallest_and_the_largest_prices() -> None:
    assert epsilon_of(schedule(1, 1, 2, Neighbors.ADD_REMOVE), Fraction(1, 2)) == Fraction(1, 10**6)
    large = epsilon_of(schedule(1, 10, "0.3", Neighbors.ADD_REMOVE), DELTA)
    assert large is not None
    assert 100 < large < 115


def test_a_price_below_the_schedule_is_refused() -> None:
    given = schedule("0.1", 100, 2, Neighbors.ADD_REMOVE)
    with raises_code(InvalidInputError, "too-small"):
        loss_of(given, Fraction(1), DELTA)
    assert epsilon_of(schedule(1, 10**4, "0.3", Neighbors.ADD_REMOVE), DELTA, 1.0) is None


@pytest.mark.parametrize(
    "wrong", [{"coin": 0}, {"coin": 2**32 + 1}, {"steps": 0}, {"steps": 10**7}, {"noise": Fraction(1, 10)}]
)
def test_what_is_no_schedule_is_refused(wrong: dict[str, object]) -> None:
    given = {"coin": 1, "steps": 1, "noise": Fraction(1), "neighbors": Neighbors.REPLACE}
    with raises_code(InvalidInputError, "out-of-range"):
        Schedule(**{**given, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**11), Fraction(1)])
def test_a_delta_that_floats_cannot_carry_is_refused(delta: Fraction) -> None:
    with raises_code(InvalidInputError, "out-of-range"):
        checked(delta)
