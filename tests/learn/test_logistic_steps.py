"""From noisy sums to coefficients: without noise what is exact, with much of it little more than a guess."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from privet.core.laws import DiscreteGaussian, Law
from privet.core.rounds import Noisy
from privet.learn import logistic_steps as steps_
from privet.learn.logistic_rows import CONSTANT, LENGTH, SHAPED, Design
from privet.learn.logistic_steps import Axes, Belief, Moments, axes, moments, probabilities, step_of
from privet.learn.look import UNIT
from privet.typing import Floats

ROWS = 5000


def law(deviation: float) -> Law:
    return DiscreteGaussian(F(max(deviation, 1e-3)) ** 2)


def points(design: Design, seed: int = 1) -> Floats:
    """Rows in ranges from -1 to 1."""
    chance = np.random.default_rng(seed)
    mixed = chance.normal(size=(design.columns, design.columns)) * 0.05
    return np.clip(chance.normal(size=(ROWS, design.columns)) @ mixed + np.linspace(-0.5, 0.3, design.columns), -1, 1)


def first_sums(design: Design, rows: Floats, classes: Floats) -> Floats:
    of_class = (classes[:, None] == np.arange(design.classes)).astype(float)
    squares = (rows**2).mean(axis=1)
    look = np.column_stack([np.ones(ROWS), of_class, rows.mean(axis=1), squares]) * UNIT
    return np.append(look.sum(axis=0), design.fineness * rows.sum(axis=0))


@pytest.mark.parametrize("pure", [False, True])
def test_moments_without_noise_are_exact(pure: bool) -> None:
    design = Design(4, 3, pure)
    rows, classes = points(design), np.arange(ROWS) % 4 % 3
    seen = moments(first_sums(design, rows, classes), Noisy(sums=design.first(), law=law(0)), design)
    assert seen.rows == ROWS
    np.testing.assert_allclose(seen.shares, np.bincount(classes) / ROWS)
    np.testing.assert_allclose(seen.middle, rows.mean(axis=0), atol=1e-6)
    assert seen.width == pytest.approx(np.sqrt(((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean()), rel=1e-5)


def test_with_much_noise_middles_are_guesses() -> None:
    design = Design(4, 2, False)
    sums = np.random.default_rng(1).normal(0, 1e12, 4 + 5)
    seen = moments(sums, Noisy(sums=design.first(), law=law(1e12)), design)
    assert seen.rows >= 10
    assert np.abs(seen.middle).max() <= 1
    np.testing.assert_allclose(seen.shares.sum(), 1)
    assert 0 < seen.width <= 2


def test_axes_without_noise_are_those_of_the_rows() -> None:
    design = Design(4, 2, False)
    rows = points(design)
    rows = rows - rows.mean(axis=0)
    rows = rows / np.sqrt((rows**2).sum(axis=1).mean())
    square = rows.T @ rows
    noisy = Noisy(sums=design.shape(), law=law(0))
    found = axes(square.ravel() * (LENGTH / SHAPED) ** 2, noisy, ROWS, design)
    expected = np.linalg.eigvalsh(square / ROWS)
    np.testing.assert_allclose(found.squares, np.maximum(expected, 0.05 / 4), rtol=1e-3)
    kept = found.vectors * found.squares @ found.vectors.T
    np.testing.assert_allclose(kept, square / ROWS, atol=0.02)


def test_axes_of_columns_alone() -> None:
    design = Design(3, 2, True)
    squares = np.array([0.5, 0.3, 0.2])
    noisy = Noisy(sums=design.shape(), law=law(0))
    found = axes(squares * ROWS * (LENGTH / SHAPED) ** 2, noisy, ROWS, design)
    np.testing.assert_allclose(found.squares, squares, rtol=1e-6)
    np.testing.assert_array_equal(found.vectors, np.eye(3))


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("columns", [1, 5])
def test_with_much_noise_all_axes_are_alike(pure: bool, columns: int) -> None:
    """Two deviations above what noise explains are needed to believe anything; here 1 is said where noise is 1e6."""
    design = Design(columns, 2, pure)
    noisy = Noisy(sums=design.shape(), law=law(1e6 * ROWS * (LENGTH / SHAPED) ** 2))
    found = axes(np.full(design.shape().numbers, ROWS * (LENGTH / SHAPED) ** 2), noisy, ROWS, design)
    np.testing.assert_allclose(found.squares, 1 / columns)


def belief(design: Design, shares: Floats) -> Belief:
    seen = Moments(ROWS, shares, np.zeros(design.columns), 1.0)
    turned = np.linalg.qr(np.random.default_rng(2).normal(size=(design.columns, design.columns)))[0]
    return Belief(seen, Axes(turned, np.linspace(0.2, 0.8, design.columns)), design)


def test_the_first_guess_says_how_frequent_classes_are() -> None:
    for design, shares in (
        (Design(2, 2, False), np.array([0.2, 0.8])),
        (Design(2, 3, True), np.array([0.5, 0.3, 0.2])),
    ):
        weights = belief(design, shares).weights
        np.testing.assert_allclose(weights[:2], 0)
        np.testing.assert_allclose(probabilities(CONSTANT * weights[-1:])[0], shares)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_step_without_noise_is_newtons(classes: int) -> None:
    """The gradient over the curvature along each axis; with noise that is huge there is no step."""
    design = Design(3, classes, False)
    shares = np.full(classes, 1 / classes)
    gradient = np.random.default_rng(5).normal(size=(4, design.outputs))
    one, other = belief(design, shares), belief(design, shares)
    before = one.weights
    along = one.vectors.T @ gradient[:-1] / (ROWS * one.squares[:-1] * (shares[0] * (1 - shares[0])))
    one.learn(gradient, 1e-9)
    np.testing.assert_allclose(one.weights[:-1], before[:-1] + one.vectors @ along)
    other.learn(gradient, 1e12)
    np.testing.assert_allclose(other.weights, before, atol=1e-9)


def test_what_is_learned_is_the_mean_of_what_was_said() -> None:
    """Two gradients with equal noise count about the same, if the first is not forgotten."""
    design, noise = Design(1, 2, False), 400.0
    found = belief(design, np.array([0.5, 0.5]))
    sure = [found.unsure[0, 0]]
    for _ in range(3):
        found.learn(np.zeros((2, 1)), noise)
        sure.append(found.unsure[0, 0])
    assert sure == sorted(sure, reverse=True)
    curved = ROWS * found.squares[0, 0] / 4
    assert 1 / sure[1] == pytest.approx(0.9 * (1 / sure[0] + (curved / noise) ** 2))
    assert (found.unsure <= found.most).all()


def test_strong_noise_means_long_rows() -> None:
    design = Design(3, 2, False)
    steps = [
        step_of(Noisy(sums=design.gradient(True), law=law(noise)), 4, ROWS, design) for noise in (1.0, 1e9, 1e10, 1e30)
    ]
    assert steps == sorted(steps)
    assert steps[0] == LENGTH / steps_.LONGEST
    assert steps[-1] == LENGTH / steps_.SHORTEST


def test_probabilities() -> None:
    found = probabilities(np.array([[0.0], [800.0], [-800.0]]))
    np.testing.assert_allclose(found, [[0.5, 0.5], [0, 1], [1, 0]], atol=1e-12)
    found = probabilities(np.array([[1.0, 1.0, 1.0], [900, 0, 0]]))
    np.testing.assert_allclose(found, [[1 / 3] * 3, [1, 0, 0]], atol=1e-12)
