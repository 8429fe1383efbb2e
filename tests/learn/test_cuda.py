"""Trainings on a GPU against those of NumPy. torch itself is used by benchmarks/gpu.py, and each training there begins
with a comparison."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.numpy_torch import numpy_torch
from support.planted_descent import recipe
from support.refusals import raises_code

from privet.errors import InvalidInputError
from privet.gpu import torch_with_cuda
from privet.learn import MLPClassifier, cuda, mlp, torch_step
from privet.learn.cuda import AT_ONCE, Training, trained_on
from privet.learn.descent import FIRST_MOMENT, Draws, Recipe, Units, beginning, clipped_sums, trained
from privet.learn.network import ACTIVATIONS, Kind, Layers
from privet.learn.schedule import coin_of
from privet.noise.floats import FloatNoise
from privet.typing import Floats, Words


@pytest.fixture(autouse=True)
def processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "DEVICE", "cpu")
    monkeypatch.setattr(cuda, "HANDS", 1)  # several take words in no fixed order


class Seeded:
    """The same words each time."""

    epoch = 0

    def __init__(self) -> None:
        self.chance = np.random.default_rng(5)

    def fill(self, out: Words) -> None:
        out[:] = self.chance.integers(0, 2**64, len(out), np.uint64)


def declared(classes: int, activation: str, inside: tuple[int, ...], steps: int = AT_ONCE + 3) -> Recipe:
    given = recipe(kind=Kind(activation=activation, classes=classes), sizes=(4, *inside, max(classes, 1)), clip=0.7)
    return replace(given, schedule=replace(given.schedule, coin=coin_of(Fraction(1, 5)), steps=steps))


def units(rows: int = 60) -> Units:
    """Some have no finite gradient."""
    chance = np.random.default_rng(1)
    found, labels = chance.normal(size=(rows, 4)), chance.integers(0, 3, rows).astype(float)
    found[3:6] = np.array([[np.nan] * 4, [np.inf, 0, 0, 0], [1e160] * 4])
    return Units.of(found, labels, None)


def by_numpy(given: Recipe, people: Units) -> Layers:
    """The same training from the same words: those of the noise of a step come before its coins."""
    draws = FloatNoise(Seeded())
    size = sum((one + 1) * other for one, other in pairwise(given.sizes))
    words = np.empty(size + size % 2, np.uint64)

    def step(layers: Layers, people: Units, given: Recipe, draws: Draws) -> Layers:
        draws.words(words)
        places = np.flatnonzero(draws.coins(given.schedule.coin, people.number))
        noise, start, found = draws.normals_of(words), 0, []
        for one in clipped_sums(layers, people, places, given):
            part = noise[start : start + one.size].reshape(one.shape)
            found.append(one + given.clip * float(given.schedule.noise) * part)
            start += one.size
        return found

    beginning(given.sizes, draws)  # of the steps that are compared
    for _ in range(cuda.COMPARED):
        draws.words(words)
    return trained(people, given, draws, step)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("inside", [(), (6, 5)])
def test_a_training_is_that_of_numpy(activation: str, classes: int, inside: tuple[int, ...]) -> None:
    given = declared(classes, activation, inside)
    with np.errstate(all="ignore"):
        found = trained_on(numpy_torch(), units(), given, FloatNoise(Seeded()))
        for one, exact in zip(found, by_numpy(given, units()), strict=True):
            np.testing.assert_allclose(one, exact, rtol=0, atol=1e-12)


def test_more_units_than_a_graph_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody who is taken is left out."""
    monkeypatch.setattr(cuda, "DEVIATIONS", -1)
    given, many = declared(3, "relu", (5,)), units(1500)
    with np.errstate(all="ignore"):
        found = trained_on(numpy_torch(), many, given, FloatNoise(Seeded()))
        for one, exact in zip(found, by_numpy(given, many), strict=True):
            np.testing.assert_allclose(one, exact, rtol=0, atol=1e-12)


class Graph:
    """What is called while it is captured does not run then, but whenever it is replayed."""

    called: tuple[Any, Any]

    def replay(self) -> None:
        torch_step.noisy_step(*self.called)


def with_graphs(monkeypatch: pytest.MonkeyPatch, log: list[str]) -> Any:
    """torch on a device that has streams, events and graphs."""
    capturing: list[Graph] = []

    @contextmanager
    def capture(graph: Graph) -> Iterator[None]:
        log.append("capture")
        capturing.append(graph)
        yield
        capturing.pop()

    def step(torch: Any, own: Any) -> None:
        if capturing:
            capturing[-1].called = (torch, own)
        else:
            torch_step.noisy_step(torch, own)

    stream = SimpleNamespace(wait_stream=lambda _: log.append("wait"))
    event = SimpleNamespace(synchronize=lambda: log.append("copied"), record=lambda: log.append("record"))
    torch = numpy_torch()
    torch.cuda = SimpleNamespace(
        Event=lambda: event, Stream=lambda: stream, current_stream=lambda: stream, stream=lambda _: nullcontext(),
        synchronize=lambda: log.append("finished"), CUDAGraph=Graph, graph=capture,
    )  # fmt: skip
    monkeypatch.setattr(cuda, "DEVICE", "cuda")
    monkeypatch.setattr(cuda, "noisy_step", step)
    return torch


def test_steps_are_replayed_from_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warming up leaves no trace, a larger graph is captured if more units come, and nothing is overwritten while it is
    still being sent."""
    monkeypatch.setattr(cuda, "DEVIATIONS", -1)
    log: list[str] = []
    given, many = declared(3, "relu", (5,)), units(1500)
    with np.errstate(all="ignore"):
        found = trained_on(with_graphs(monkeypatch, log), many, given, FloatNoise(Seeded()))
        for one, exact in zip(found, by_numpy(given, many), strict=True):
            np.testing.assert_allclose(one, exact, rtol=0, atol=1e-12)
    made = ["finished", "wait", "wait", "capture"]
    assert log == [*made, "record", "copied", *made, "record", "copied", "record"]


def test_nobody() -> None:
    given = declared(3, "relu", (5,))
    nobody = Units.of(np.zeros((0, 4)), np.zeros(0), None)
    assert all(np.isfinite(layer).all() for layer in trained_on(numpy_torch(), nobody, given, FloatNoise()))


@pytest.mark.parametrize("classes", [0, 3])
def test_no_row_has_a_longer_share_than_it_may(classes: int) -> None:
    people, given, longest = units(), declared(classes, "tanh", (6,)), 0.0
    with np.errstate(all="ignore"), Training(numpy_torch(), people.number, given, False) as training:
        for place in range(people.number):
            training.begin(people, beginning(given.sizes, FloatNoise(Seeded())))
            training._replay([np.array([place])])
            share = float(np.linalg.norm(training.first / (1 - FIRST_MOMENT)))
            assert share == 0 or place not in {3, 4, 5}
            longest = max(longest, share)
    assert 0.69 < longest <= 0.7


def half_of(words: Any) -> Floats:
    return FloatNoise.normals_of(np.asarray(words).view(np.uint64)) / 2


def test_a_wrong_step_trains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with a device is seen before it has a row."""
    people, given = units(), declared(3, "relu", (5,))
    sent = list[Any]()
    begin = Training.begin
    monkeypatch.setattr(Training, "begin", lambda self, rows, layers: (sent.append(rows), begin(self, rows, layers)))
    wrong: dict[str, Any] = {"SLACK": 1.01, "SECOND_MOMENT": 0.9, "_normals": lambda _, words: half_of(words)}
    for name, value in wrong.items():
        with monkeypatch.context() as patched:
            patched.setattr(torch_step, name, value)
            with pytest.raises(RuntimeError, match="differs from its definition"):
                trained_on(numpy_torch(), people, given, FloatNoise(Seeded()))
    assert len(sent) == len(wrong)
    assert people not in sent


def test_one_row_per_unit() -> None:
    several = Units.of(np.ones((3, 4)), np.zeros(3), np.array([1, 1, 2]))
    with pytest.raises(ValueError, match="several rows"):
        trained_on(numpy_torch(), several, declared(3, "relu", ()), FloatNoise())


def test_without_torch_or_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (None, numpy_torch(cuda=False)):
        monkeypatch.setitem(sys.modules, "torch", module)
        with raises_code(InvalidInputError, "missing-extra: torch"):
            torch_with_cuda()
    there = numpy_torch()
    monkeypatch.setitem(sys.modules, "torch", there)
    assert torch_with_cuda() is there


def test_a_network_trained_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """By several threads that draw."""
    monkeypatch.setattr(cuda, "HANDS", 3)
    monkeypatch.setattr(mlp, "torch_with_cuda", numpy_torch)
    rows = np.random.default_rng(2).uniform(0, 1, (3000, 2))
    found = MLPClassifier(epsilon=8, delta=1e-6, bounds=(0, 1), classes=[False, True], device="cuda")
    assert found.fit(rows, rows[:, 0] > rows[:, 1]).score(rows, rows[:, 0] > rows[:, 1]) > 0.8
