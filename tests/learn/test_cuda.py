"""Sums on a GPU against those of NumPy. torch itself is used by benchmarks/gpu.py, which compares them as well."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest
from support.numpy_torch import numpy_torch
from support.planted_descent import recipe
from support.refusals import raises_code

from privet.errors import InvalidInputError
from privet.learn import MLPClassifier, cuda
from privet.learn.cuda import OnDevice, torch_with_cuda
from privet.learn.descent import Units, clipped_sums
from privet.learn.network import ACTIVATIONS, Kind


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("inside", [(), (6, 5)])
def test_sums_are_those_of_numpy(activation: str, classes: int, inside: tuple[int, ...]) -> None:
    """Also of rows without a finite gradient, and no row has a longer share than it may."""
    chance = np.random.default_rng(1)
    rows, labels = chance.normal(size=(40, 4)), chance.integers(0, 3, 40).astype(float)
    rows[3], rows[4, 0], rows[5] = np.nan, np.inf, 1e160
    sizes = (4, *inside, max(classes, 1))
    layers = [chance.normal(size=(one + 1, other)) for one, other in pairwise(sizes)]
    given = recipe(kind=Kind(activation=activation, classes=classes), sizes=sizes, clip=0.7)
    summed, units = OnDevice(numpy_torch()), Units.of(rows, labels, None)
    with np.errstate(all="ignore"):
        for places in (np.arange(0, 40, 2), np.arange(40), np.zeros(0, np.int64)):
            found = summed(layers, units, places, given)
            for one, exact in zip(found, clipped_sums(layers, units, places, given), strict=True):
                np.testing.assert_allclose(one, exact, rtol=0, atol=1e-13)
        shares = [summed(layers, units, np.array([place]), given) for place in range(40)]
    assert max(np.sqrt(sum((part**2).sum() for part in share)) for share in shares) <= 0.7


def test_one_row_per_unit() -> None:
    units = Units.of(np.ones((3, 2)), np.zeros(3), np.array([1, 1, 2]))
    with pytest.raises(ValueError, match="several rows"):
        OnDevice(numpy_torch())([np.zeros((3, 3))], units, np.array([0]), recipe())


def test_without_torch_or_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (None, numpy_torch(cuda=False)):
        monkeypatch.setitem(sys.modules, "torch", module)
        with raises_code(InvalidInputError, "missing-extra: torch"):
            torch_with_cuda()
    there = numpy_torch()
    monkeypatch.setitem(sys.modules, "torch", there)
    assert torch_with_cuda() is there


def test_a_network_trained_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "torch_with_cuda", numpy_torch)
    rows = np.random.default_rng(2).uniform(0, 1, (3000, 2))
    found = MLPClassifier(epsilon=8, delta=1e-6, bounds=(0, 1), classes=[False, True], device="cuda")
    assert found.fit(rows, rows[:, 0] > rows[:, 1]).score(rows, rows[:, 0] > rows[:, 1]) > 0.8
