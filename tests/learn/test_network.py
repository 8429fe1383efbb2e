"""Clipped sums of gradients: against gradients of one row at a time, and a bound that is attained."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from privet.learn.network import ACTIVATIONS, Kind, Layers, Taken, _norms, clipped_sum, probabilities, scores
from privet.typing import Floats

KINDS = [Kind(activation=name, classes=classes) for name in ACTIVATIONS for classes in (0, 3)]
SHAPES = [(4, 3), (4, 5, 3), (4, 6, 5, 3)]


def network(sizes: tuple[int, ...], generator: np.random.Generator, kind: Kind) -> Layers:
    sizes = (*sizes[:-1], kind.classes or 1)
    return [generator.normal(size=(inputs + 1, outputs)) for inputs, outputs in pairwise(sizes)]


def targets_of(rows: int, generator: np.random.Generator, kind: Kind) -> Floats:
    if kind.classes:
        return generator.integers(0, kind.classes, rows).astype(np.float64)
    return generator.normal(size=rows)


def loss(layers: Layers, row: Floats, target: float, kind: Kind) -> float:
    """Of one row, as a textbook writes it."""
    value = row
    for place, layer in enumerate(layers):
        value = value @ layer[:-1] + layer[-1]
        if place < len(layers) - 1:
            value = {"tanh": np.tanh, "relu": lambda x: x * (x > 0), "identity": np.array}[kind.activation](value)
    if not kind.classes:
        return float((value[0] - target) ** 2 / 2)
    return math.log(np.exp(value).sum()) - float(value[int(target)])


def slow_gradient(layers: Layers, row: Floats, target: float, kind: Kind) -> Floats:
    """By differences of the loss: knows nothing of derivatives."""
    found = []
    for layer in layers:
        for place in np.ndindex(layer.shape):
            kept, step = layer[place], 1e-5
            layer[place] = kept + step
            above = loss(layers, row, target, kind)
            layer[place] = kept - step
            found.append((above - loss(layers, row, target, kind)) / (2 * step))
            layer[place] = kept
    return np.array(found)


def summed(layers: Layers, rows: Floats, targets: Floats, sizes: list[int], clip: float, kind: Kind) -> Floats:  # noqa: PLR0917
    return flat(clipped_sum(layers, Taken(rows, targets, np.array(sizes, np.int64)), clip, kind))


def flat(layers: Layers) -> Floats:
    return np.concatenate([layer.reshape(-1) for layer in layers])


def slow_sum(gradients: list[Floats], sizes: list[int], clip: float) -> Floats:
    """The definition: of each unit the sum of its gradients, shortened to `clip`, added up."""
    total, start = np.zeros_like(gradients[0]), 0
    for size in sizes:
        own = np.sum(gradients[start : start + size], axis=0)
        total += own * min(1.0, clip / max(float(np.linalg.norm(own)), 1e-300)) if size else 0
        start += size
    return total


@pytest.mark.parametrize("shape", SHAPES, ids=len)
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("sizes", [[1] * 6, [2, 1, 0, 3]], ids=["rows", "units"])
def test_the_sum_is_that_of_gradients_one_by_one(shape: tuple[int, ...], kind: Kind, sizes: list[int]) -> None:
    generator = np.random.default_rng(7)
    layers = network(shape, generator, kind)
    rows, targets = generator.normal(size=(6, 4)), targets_of(6, generator, kind)
    gradients = [slow_gradient(layers, row, float(target), kind) for row, target in zip(rows, targets, strict=True)]
    for clip in (0.3, 3.0, 1e6):
        found = summed(layers, rows, targets, sizes, clip, kind)
        assert np.linalg.norm(found - slow_sum(gradients, sizes, clip)) <= 1e-6 * max(1, np.linalg.norm(found))


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("size", [1, 4])
def test_no_unit_has_a_longer_share_whatever_its_rows_are(kind: Kind, size: int) -> None:
    generator = np.random.default_rng(8)
    nasty = [np.inf, -np.inf, np.nan, 1e300, -1e300, 1e160, 1e-300, 0.0, 1e8, -1e8]
    longest = 0.0
    for case in range(300):
        layers = network((4, 5, 3), generator, kind)
        layers = [layer * 10.0 ** generator.integers(-3, 4) for layer in layers]
        rows = generator.normal(size=(size, 4)) * 10.0 ** generator.integers(-4, 9)
        if case % 2:
            rows[generator.integers(size), generator.integers(4)] = generator.choice(nasty)
        share = summed(layers, rows, targets_of(size, generator, kind), [size], 0.5, kind)
        assert np.isfinite(share).all()
        longest = max(longest, float(np.linalg.norm(share)))
    assert 0.5 * (1 - 1e-8) <= longest <= 0.5  # the bound is attained


@pytest.mark.parametrize("kind", [Kind(activation="identity", classes=0), Kind(activation="tanh", classes=0)], ids=str)
def test_rows_whose_gradients_nearly_cancel_are_no_way_round_the_bound(kind: Kind) -> None:
    """Two large opposite gradients: their difference has lost all its digits, and so would its norm."""
    generator = np.random.default_rng(9)
    for power in range(-3, 9):
        layers = [np.zeros((5, 1))] if kind.activation == "identity" else network((4, 3, 1), generator, kind)
        row = generator.normal(size=4)
        size = 10.0**power
        rows = np.array([row, row * (1 + 1e-15)])
        targets = np.array([size, -size * (1 + 1e-14)]) + float(scores(layers, row[None], kind)[0, 0])
        share = summed(layers, rows, targets, [2], 1e-6, kind)
        assert np.linalg.norm(share) <= 1e-6


@pytest.mark.parametrize("apart", [0.0, 1e-12, 1e-9, 1e-6, 1e-3, 1.0])
def test_no_norm_is_below_the_true_one(apart: float) -> None:
    """Two rows of a unit, and derivatives that are opposite but for a little. The truth is computed in fractions."""
    generator = np.random.default_rng(10)
    for size in (1e-3, 1.0, 1e3):
        value = np.tile(generator.normal(size=6) * size, (2, 1))
        one = generator.normal(size=3)
        left = np.array([one, -one * (1 + apart)])
        inner = sum(Fraction(x) ** 2 for x in value[0]) + 1
        exact = inner * sum((Fraction(a) + Fraction(b)) ** 2 for a, b in zip(*left.tolist(), strict=True))
        (norm,) = _norms([value], [left], np.array([2]))
        assert Fraction(norm) ** 2 >= exact
        assert norm <= (float(exact) ** 0.5 + 1e-5 * float(inner) ** 0.5 * np.linalg.norm(left)) * (1 + 1e-9)


def test_scores_leave_the_last_layer() -> None:
    generator, kind = np.random.default_rng(11), Kind(activation="relu", classes=2)
    layers, rows = network((4, 5, 3, 2), generator, kind), generator.normal(size=(6, 4))
    value = rows
    for place, layer in enumerate(layers):
        value = value @ layer[:-1] + layer[-1]
        value = np.maximum(value, 0) if place < 2 else value
    np.testing.assert_allclose(scores(layers, rows, kind), value, rtol=1e-12)


def test_a_unit_is_clipped_as_a_whole_and_not_row_by_row() -> None:
    kind = Kind(activation="identity", classes=0)
    layers, rows, targets = [np.zeros((3, 1))], np.ones((5, 2)), np.full(5, -4.0)
    together = summed(layers, rows, targets, [5], 1.0, kind)
    apart = summed(layers, rows, targets, [1] * 5, 1.0, kind)
    assert np.linalg.norm(together) == pytest.approx(1)
    assert np.linalg.norm(apart) == pytest.approx(5)


def test_what_others_have_does_not_change_a_share() -> None:
    generator, kind = np.random.default_rng(10), KINDS[1]
    layers, rows, targets = network((4, 5, 3), generator, kind), generator.normal(size=(7, 4)), np.arange(7.0) % 3
    whole = summed(layers, rows, targets, [3, 2, 2], 0.4, kind)
    parts = [summed(layers, rows[a:b], targets[a:b], [b - a], 0.4, kind) for a, b in ((0, 3), (3, 5), (5, 7))]
    assert np.allclose(whole, sum(parts), rtol=0, atol=1e-12)


def test_a_unit_with_two_rows_does_not_make_all_others_shorter() -> None:
    """The bound on the norm of a unit of several rows is wider. It is that of all units: otherwise this one would move
    the sum by its own share, and by a little of each share beside it."""
    kind, clip, units = Kind(activation="tanh", classes=0), 0.01, 4000
    generator = np.random.default_rng(8)
    layers, row = network((3, 4, 2), generator, kind), generator.normal(size=(1, 3))
    found = float(scores(layers, row, kind)[0, 0])
    rows, targets = np.repeat(row, units + 2, axis=0), np.repeat([found - 1, found + 1], [units, 2])  # opposite
    alone = summed(layers, rows[:units], targets[:units], [1] * units, clip, kind)
    beside = summed(layers, rows, targets, [1] * units + [2], clip, kind)
    assert np.linalg.norm(beside - alone) <= clip
    assert np.linalg.norm(alone) > 0.99 * units * clip  # all are shortened


def test_nobody_gives_nothing() -> None:
    kind = KINDS[1]
    layers = network((4, 5, 3), np.random.default_rng(1), kind)
    assert not summed(layers, np.zeros((0, 4)), np.zeros(0), [], 1.0, kind).any()


def test_a_unit_without_a_finite_gradient_gives_nothing_and_spoils_nothing() -> None:
    kind = KINDS[1]
    layers = network((4, 5, 3), np.random.default_rng(2), kind)
    rows, targets = np.random.default_rng(3).normal(size=(3, 4)), np.zeros(3)
    alone = summed(layers, rows[:1], targets[:1], [1], 1.0, kind)
    assert np.linalg.norm(alone) > 0.5
    rows[1], rows[2] = np.nan, [np.inf, -np.inf, 0.0, 0.0]
    assert np.allclose(summed(layers, rows, targets, [1, 1, 1], 1.0, kind), alone, rtol=0, atol=1e-15)
    assert not summed(layers, rows[1:], targets[1:], [1, 1], 1.0, kind).any()


def test_probabilities_are_positive_and_add_up() -> None:
    found = probabilities(np.array([[1000.0, 0.0, -1000.0], [0.0, 0.0, 0.0]]))
    assert np.allclose(found.sum(axis=1), 1)
    assert np.allclose(found[1], 1 / 3)
