"""Stacks trained on a GPU are those of the processor, but for the order of records."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.numpy_torch import Tensor, numpy_torch
from support.refusals import raises_code

from privet.attacks.models import stacked, stacked_torch
from privet.attacks.models.stacked import Stacked, first_layer
from privet.attacks.models.stacked_torch import DeviceRun, stack_size
from privet.errors import InvalidInputError

HOW = Stacked(hidden=(7, 4), epochs=6, batch=16, rate=0.01, decay=0.1, tol=-math.inf, device="cuda")
CHOSEN = [np.random.default_rng(seed).permutation(60)[:40] for seed in range(3)]


@pytest.fixture(autouse=True)
def processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacked_torch, "DEVICE", "cpu")
    monkeypatch.setattr(stacked, "torch_with_cuda", numpy_torch)


def data(classes: int) -> tuple[Any, Any]:
    draw = np.random.default_rng(classes)
    rows = draw.normal(size=(60, 5))
    return rows, (rows[:, 0] * 2 + draw.normal(size=60)).argsort().argsort() * classes // 60


def in_the_order_of_the_processor(monkeypatch: pytest.MonkeyPatch, widths: tuple[int, ...]) -> None:
    draws = [np.random.default_rng(seed) for seed in range(len(CHOSEN))]
    for one, other in pairwise(widths):
        first_layer(one, other, draws)

    def shuffled(_: DeviceRun, places: Any, epoch: int) -> Any:  # noqa: ARG001
        return np.stack([one[draw.permutation(40)] for one, draw in zip(places, draws, strict=True)]).view(Tensor)

    monkeypatch.setattr(DeviceRun, "_shuffled", shuffled)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("how", [HOW, replace(HOW, hidden=(), batch=200), replace(HOW, tol=1e9, epochs=14)])
def test_training_is_that_of_the_processor(monkeypatch: pytest.MonkeyPatch, classes: int, how: Stacked) -> None:
    """Also where models stop early."""
    rows, labels = data(classes)
    in_the_order_of_the_processor(monkeypatch, (5, *how.hidden, 1 if classes == 2 else 3))
    there, here = (one.fit_many(rows, labels, CHOSEN, [0, 1, 2]) for one in (how, replace(how, device="cpu")))
    for one, other in zip(there, here, strict=True):
        assert one.predict_proba(rows) == pytest.approx(other.predict_proba(rows), abs=1e-4)


def test_a_model_depends_on_its_own_seed_alone() -> None:
    rows, labels = data(3)
    many = HOW.fit_many(rows, labels, CHOSEN, [4, 5, 6])
    alone = HOW.fit_many(rows, labels, CHOSEN[1:2], [5])[0]
    other = HOW.fit_many(rows, labels, CHOSEN[1:2], [7])[0]
    assert many[1].predict_proba(rows) == pytest.approx(alone.predict_proba(rows), abs=1e-5)
    assert abs(other.predict_proba(rows) - alone.predict_proba(rows)).max() > 1e-3


def test_each_epoch_has_all_records_in_an_order_of_its_own() -> None:
    run = DeviceRun(numpy_torch(), HOW, [], [np.random.default_rng(seed) for seed in (1, 2)])
    places = np.tile(np.arange(500) + 7, (2, 1)).view(Tensor)
    orders = [np.asarray(run._shuffled(places, epoch))[model] for epoch in (0, 1) for model in (0, 1)]
    for place, one in enumerate(orders):
        assert sorted(one) == list(range(7, 507))
        for other in (np.arange(7, 507), *orders[:place]):
            assert abs(np.corrcoef(one, other)[0, 1]) < 0.3  # six deviations


def test_stacks_have_a_limit() -> None:
    assert stack_size((600, 128, 100), 256) == stacked_torch.MOST
    assert stack_size((10_000, 10_000, 2), 200) == 2
    assert stack_size((10**5, 10**4, 2), 200) == 1


def test_another_device_is_unknown() -> None:
    with raises_code(InvalidInputError, "unknown-choice"):
        Stacked(device="tpu").fit(np.ones((4, 2)), [0, 1, 0, 1], seed=0)
