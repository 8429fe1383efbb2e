"""Steps of noisy gradients against their definition, how far a unit moves one, and what a training is made of."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from support.planted_descent import PLANTED, Chosen, recipe

from privet.core.unit import Neighbors
from privet.learn import descent
from privet.learn.descent import ROWS_AT_A_TIME, Adam, Recipe, Step, Units, beginning, noisy_step, trained
from privet.learn.network import SLACK, Kind, Layers, Taken, clipped_sum
from privet.learn.schedule import Schedule, coin_of
from privet.noise.floats import FloatNoise
from privet.typing import Floats

Person = tuple[tuple[float, float, int], ...]  # rows of one unit: two features, and a class
START: Layers = [np.array([[0.3, -0.2, 0.1], [0.5, 0.4, -0.6], [0.0, 0.1, 0.2]])]
PEOPLE: list[Person] = [
    ((1.0, 1.0, 0),),
    ((-1.0, 1.0, 1),),
    ((1.0, 1.0, 1), (1.0, 1.0, 1), (1.0, 1.0, 1)),
    ((1.0, -1.0, 2), (-1.0, -1.0, 0)),
]


def units_of(people: list[Person]) -> Units:
    rows = [row for person in people for row in person]
    owner = [place for place, person in enumerate(people) for _ in person]
    table = np.array(rows, np.float64).reshape(-1, 3)
    return Units.of(table[:, :2], table[:, 2], np.array(owner, np.int64))


def gradient(person: Person, given: Recipe) -> Floats:
    """Of one unit, row by row as a textbook writes it, and shortened as a whole."""
    total = np.zeros((3, 3))
    for *row, label in person:
        inputs = np.array([*row, 1.0])
        chances = np.exp(inputs @ START[0])
        total += np.outer(inputs, chances / chances.sum() - np.eye(3)[int(label)])
    return np.asarray(total * min(1.0, given.clip / np.linalg.norm(total)), np.float64)


def follows_its_definition(step: Step) -> bool:
    """The clipped sum over exactly the units whose coin was true, and clip times noise times a normal number in each
    place: for all coins of three people, two clip norms, with and without noise."""
    for clip, normal, people in product((0.25, 3.0), (0.0, 1.0), combinations(PEOPLE, 3)):
        given = recipe(clip=clip)
        for coins in product((False, True), repeat=3):
            draws = Chosen(np.array(coins), normal=normal)
            try:
                (found,) = step(START, units_of(list(people)), given, draws)
            except ValueError:
                return False
            parts = [gradient(person, given) for person, coin in zip(people, coins, strict=True) if coin]
            expected = sum(parts, np.zeros((3, 3))) + clip * float(given.schedule.noise) * normal
            if not np.allclose(found, expected, rtol=0, atol=1e-7):
                return False
    return True


def furthest(step: Step, neighbors: Neighbors) -> float:
    """The most that one unit moves a step without noise, in clip norms, if all coins are true."""
    given = recipe()

    def sums(people: list[Person]) -> Floats:
        return step(START, units_of(people), given, Chosen())[0]

    most = 0.0
    for size in range(3):
        for people in combinations(PEOPLE, size):
            others = [sums([*people, one]) for one in PEOPLE]
            beside = others if neighbors is Neighbors.REPLACE else [sums(list(people))]
            most = max(most, *(float(np.linalg.norm(one - other)) for one in others for other in beside))
    return most / given.clip


def test_a_step_follows_its_definition() -> None:
    assert follows_its_definition(noisy_step)


@pytest.mark.parametrize("name", list(PLANTED))
def test_a_mistake_in_a_step_is_noticed(name: str) -> None:
    assert not follows_its_definition(PLANTED[name])


@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_one_unit_moves_a_step_by_what_is_priced_and_some_unit_does(neighbors: Neighbors) -> None:
    """Opposite gradients move it by twice the clip norm: row (1, 1) of one class or another, under replace."""
    priced = 2 if neighbors is Neighbors.REPLACE else 1
    found = furthest(noisy_step, neighbors)
    assert found <= priced
    assert found >= (1.9 if neighbors is Neighbors.REPLACE else SLACK * (1 - 1e-9))


@pytest.mark.parametrize("name", ["no clip", "realised batch", "clip by row", "norm from the data"])
def test_a_step_that_moves_too_far_is_caught(name: str) -> None:
    assert furthest(PLANTED[name], Neighbors.ADD_REMOVE) > 1.5


def test_exactly_opposite_gradients_attain_replace() -> None:
    """Scores that do not depend on the row, two classes, the same row: gradients of the classes are opposite."""
    given = recipe(kind=Kind(activation="tanh", classes=2), sizes=(2, 2))
    row = np.ones((1, 2))
    one, other = (
        noisy_step([np.zeros((3, 2))], Units.of(row, np.array([label]), None), given, Chosen())[0]
        for label in (0.0, 1.0)
    )
    assert 2 * given.clip * (1 - 1e-8) <= np.linalg.norm(one - other) <= 2 * given.clip


def test_rows_of_a_unit_are_found_wherever_they_stand() -> None:
    rows, owner = np.arange(12.0).reshape(6, 2), np.array([7, 3, 7, 3, 9, 7])
    units = Units.of(rows, np.arange(6.0), owner)
    assert (units.number, units.most) == (3, 3)
    found = units.taken(np.array([0, 2]))
    assert (found.targets.tolist(), found.sizes.tolist()) == ([1, 3, 4], [2, 1])
    assert found.rows.tolist() == rows[[1, 3, 4]].tolist()
    nobody = Units.of(np.zeros((0, 2)), np.zeros(0), np.zeros(0, np.int64))
    assert (nobody.number, nobody.most) == (0, 1)
    alone = Units.of(rows, np.arange(6.0), None)
    assert alone.number == 6
    assert alone.taken(np.array([4])).sizes.tolist() == [1]


def test_many_units_are_added_piece_by_piece() -> None:
    generator = np.random.default_rng(1)
    size = 2 * ROWS_AT_A_TIME + 5
    rows, labels = generator.uniform(-1, 1, (size, 2)), generator.integers(0, 3, size).astype(float)
    found = noisy_step(START, Units.of(rows, labels, None), recipe(), Chosen())[0]
    once = clipped_sum(START, Taken(rows, labels, np.ones(size, np.int64)), 0.25, recipe().kind)[0]
    assert np.allclose(found, once, rtol=1e-9, atol=1e-9)


def test_no_piece_is_larger_than_it_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many whole units as fit into memory, or one that does not fit."""
    pieces: list[int] = []

    def noted(layers: Layers, taken: Taken, clip: float, kind: Kind) -> Layers:
        pieces.append(len(taken.rows))
        return clipped_sum(layers, taken, clip, kind)

    monkeypatch.setattr(descent, "clipped_sum", noted)
    monkeypatch.setattr(descent, "ROWS_AT_A_TIME", 6)
    for rows, expected in ((2, [6, 6]), (3, [6, 6, 6]), (9, [9, 9])):
        pieces.clear()
        people = [((1.0, 1.0, 0),) * rows] * (sum(expected) // rows)
        noisy_step(START, units_of(people), recipe(), Chosen())
        assert pieces == expected


# ------------------------------------------------------------------------------------------------------- trainings


def several(steps: int, **changes: object) -> Recipe:
    schedule = Schedule(coin=coin_of(Fraction(1, 2)), steps=steps, noise=Fraction(2), neighbors=Neighbors.ADD_REMOVE)
    return recipe(schedule=schedule, **changes)


def test_a_network_is_a_function_of_noisy_steps() -> None:
    """As many as were priced; played again with the steps that were released, without a row, it is the same."""
    given, heard = several(7), list[Layers]()

    def listened(layers: Layers, units: Units, recipe: Recipe, draws: FloatNoise) -> Layers:
        heard.append(noisy_step(layers, units, recipe, draws))
        return heard[-1]

    found = trained(units_of(PEOPLE), given, Chosen(normal=0.5), listened)  # type: ignore[arg-type]
    assert len(heard) == 7
    left = iter(heard)
    again = trained(units_of([]), given, Chosen(normal=0.5), lambda *_: next(left))
    assert [one.tolist() for one in again] == [one.tolist() for one in found]


def test_coins_and_noise_are_drawn_anew_in_each_step() -> None:
    class Counted(FloatNoise):
        drawn: tuple[list[int], list[int]] = ([], [])

        def coins(self, coin: int, size: int) -> np.ndarray:
            assert coin == coin_of(Fraction(1, 2))
            self.drawn[0].append(size)
            return super().coins(coin, size)

        def normals(self, size: int) -> Floats:
            self.drawn[1].append(size)
            return super().normals(size)

    draws = Counted()
    trained(units_of(PEOPLE), several(5), draws)
    assert draws.drawn == ([4] * 5, [6] + [9] * 5)  # the weights at the beginning are random as well


def test_what_a_common_factor_does_not_change() -> None:
    """Adam's moves: so nobody has to know how many units there are."""
    generator = np.random.default_rng(2)
    gradients = [generator.normal(size=(3, 3)) for _ in range(4)]
    ends = []
    for factor in (1.0, 1e-4):
        adam, layers = Adam.of(START), START
        for one in gradients:
            layers = adam.move(layers, [factor * one], 0.1)
        ends.append(layers[0])
    assert np.allclose(ends[0], ends[1], rtol=1e-6)


def test_steps_are_those_of_adam_and_the_last_half_is_averaged() -> None:
    """By the textbook (Kingma, Ba 2015), with a rate that falls to 0."""
    given = several(5, rate=0.2)
    gradients = np.random.default_rng(8).normal(size=(5, 3, 3))
    left = iter(gradients)
    (found,) = trained(units_of(PEOPLE), given, Chosen(normal=0.5), lambda *_: [next(left)])
    (weights,) = beginning(given.sizes, Chosen(normal=0.5))
    first, second, kept = np.zeros((3, 3)), np.zeros((3, 3)), []
    for step, one in enumerate(gradients, 1):
        first, second = 0.9 * first + 0.1 * one, 0.99 * second + 0.01 * one**2
        mean, spread = first / (1 - 0.9**step), np.sqrt(second / (1 - 0.99**step))
        weights = weights - 0.2 * (6 - step) / 5 * mean / (spread + 1e-12)
        kept.append(weights)
    np.testing.assert_allclose(found, np.mean(kept[2:], axis=0), rtol=1e-12)


def test_a_training_that_fits_its_rows() -> None:
    """With little noise 200 units of two kinds are told apart."""
    generator = np.random.default_rng(3)
    labels = generator.integers(0, 2, 200).astype(float)
    rows = np.clip(np.column_stack([labels - 0.5, -labels]) + generator.normal(0, 0.1, (200, 2)), -1, 1)
    given = replace(several(60, kind=Kind(activation="relu", classes=2), sizes=(2, 4, 2)), rate=0.05)
    given = replace(given, schedule=replace(given.schedule, noise=Fraction(1)))
    found = trained(Units.of(rows, labels, None), given, FloatNoise())
    values = np.maximum(rows @ found[0][:-1] + found[0][-1], 0) @ found[1][:-1] + found[1][-1]
    assert (values.argmax(axis=1) == labels).mean() > 0.9


def test_a_beginning_knows_nothing_of_rows() -> None:
    layers = beginning((400, 30, 2), FloatNoise())
    assert [one.shape for one in layers] == [(401, 30), (31, 2)]
    assert not layers[0][-1].any()
    assert layers[0][:-1].std() == pytest.approx(1 / math.sqrt(400), rel=0.1)
