"""The training of `stacked` on a GPU, by torch: all models of a stack in one product, a step as one graph of kernels.

First weights are those of the processor; the order of records is another one, also drawn from the seed of each model.
Products are in TF32, which keeps 11 bits of each factor: shadow models are a measurement, and promise nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.attacks.models.stacked import DECAYS, PATIENCE, TINY, Layer, Singles, Stacked, first_layer
from privet.typing import Integers

DEVICE = "cuda"
MOST = 512  # models in a stack
ROOM = 2**28  # weights of a stack, and numbers of its batches
LONG = 50_000  # steps, those of all models added up, from which on compiling is worth its time
MIXED = (-7046029254386353131, -4658895280553007687, -7723592293110705685)  # odd; the two last are those of SplitMix64


def stack_size(widths: tuple[int, ...], batch: int) -> int:
    """Models that are trained at once."""
    return max(1, min(MOST, ROOM // max(sum(math.prod(pair) for pair in pairwise(widths)), batch * sum(widths))))


def trained_on(
    torch: Any,
    how: Stacked,
    widths: tuple[int, ...],
    draws: list[np.random.Generator],
    data: tuple[Singles, Integers, Integers],
) -> list[Layer]:
    """As `stacked._trained`, on a device."""
    first = [first_layer(one, other, draws) for one, other in pairwise(widths)]
    with _half_products(torch):
        return DeviceRun(torch, how, first, draws).train(*data)


class DeviceRun:
    """As `stacked._Run`."""

    def __init__(self, torch: Any, how: Stacked, first: list[Layer], draws: list[np.random.Generator]) -> None:
        self.torch, self.device, self.how = torch, DEVICE, how
        self.seeds = self._sent(np.array([draw.integers(2**62) for draw in draws])[:, None])
        self.parts = [self._sent(part) for layer in first for part in layer]
        self.moments = [(torch.zeros_like(part), torch.zeros_like(part)) for part in self.parts]
        self.rates = self._sent(np.full((len(draws), 1, 1), how.rate, np.float32))
        self.steps, self.at = self._sent(np.zeros(1, np.float32)), self._sent(np.zeros(1, np.int64))
        self.lost = self._sent(np.zeros(len(draws), np.float32))

    def train(self, rows: Singles, answers: Integers, chosen: Integers) -> list[Layer]:
        """The weights and intercepts of each layer; models that have stopped are left as they are."""
        (models, people), batch = chosen.shape, min(self.how.batch, chosen.shape[1])
        self.rows, self.answers, places = self._sent(rows), self._sent(answers), self._sent(chosen)
        full = people // batch
        self.order = self.torch.zeros((full, models, batch), dtype=self.torch.int64, device=self.device)
        best, waited = np.full(models, np.inf), np.zeros(models, np.int64)
        step = self._ready(self.how.epochs * full * models >= LONG)
        for epoch in range(self.how.epochs):
            order = self._shuffled(places, epoch)
            self.order.copy_(order[:, : full * batch].reshape(models, full, batch).swapaxes(0, 1))
            self.at.zero_()
            self.lost.zero_()
            for _ in range(full):
                step()
            if people % batch:
                _step(self.torch, self, order[:, full * batch :])
            lost = self.lost.cpu().numpy().astype(np.float64) / people
            waited = np.where(lost > best - self.how.tol, waited + 1, 0)
            best = np.minimum(best, lost)
            self.rates.copy_(self.rates * self._sent((waited <= PATIENCE)[:, None, None].astype(np.float32)))
            if (waited > PATIENCE).all():
                break
        parts = [part.cpu().numpy() for part in self.parts]
        return list(zip(parts[::2], parts[1::2], strict=True))

    def _shuffled(self, places: Any, epoch: int) -> Any:
        """The records of each model in the order of numbers that depend on its seed and the epoch (SplitMix64)."""
        torch, shape = self.torch, places.shape
        keys = self.seeds + torch.arange(shape[1], device=self.device)[None] * MIXED[0] + epoch * 2**40
        for shift, factor in ((30, MIXED[1]), (27, MIXED[2])):
            keys = (keys ^ ((keys >> shift) & ((1 << (64 - shift)) - 1))) * factor
        return torch.gather(places, 1, torch.argsort(keys, 1))

    def _ready(self, compiled: bool) -> Callable[[], None]:
        """A step of all models; on a GPU as a graph. Weights are afterwards as they were before."""
        torch = self.torch
        function = torch.compile(_step, dynamic=False) if compiled and self.device == "cuda" else _step

        def step() -> None:
            function(torch, self, torch.index_select(self.order, 0, self.at)[0])
            self.at.add_(1)

        if self.device != "cuda":
            return step
        state = [self.steps, self.at, self.lost, *self.parts, *(one for pair in self.moments for one in pair)]
        before, side, graph = [one.clone() for one in state], torch.cuda.Stream(), torch.cuda.CUDAGraph()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.at.zero_()
                step()
            self.at.zero_()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(graph):
            step()
        for one, other in zip(state, before, strict=True):
            one.copy_(other)
        replay: Callable[[], None] = graph.replay
        return replay

    def _sent(self, values: npt.NDArray[Any]) -> Any:
        return self.torch.from_numpy(np.ascontiguousarray(values)).to(self.device)


@contextmanager
def _half_products(torch: Any) -> Iterator[None]:
    """TF32, and afterwards what was set before."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _step(torch: Any, own: DeviceRun, batch: Any) -> None:
    """As `stacked._Run._step`; `batch` has a row of places for each model."""
    weights, intercepts, decay = own.parts[::2], own.parts[1::2], own.how.decay / batch.shape[1]
    inputs = [own.rows[batch]]
    for one, other in zip(weights[:-1], intercepts[:-1], strict=True):
        inputs.append(torch.relu(torch.baddbmm(other, inputs[-1], one)))
    values = torch.baddbmm(intercepts[-1], inputs[-1], weights[-1])
    error, lost = _losses(torch, values, own.answers[batch])
    own.lost.add_(lost)
    error, slopes = error / batch.shape[1], []
    for place in range(len(weights) - 1, -1, -1):
        own.lost.add_(decay / 2 * batch.shape[1] * (weights[place] * weights[place]).sum((1, 2)))
        slopes += [error.sum(1)[:, None], inputs[place].swapaxes(1, 2) @ error + decay * weights[place]]
        if place:
            error = (error @ weights[place].swapaxes(1, 2)) * (inputs[place] > 0)
    _move(torch, own, slopes[::-1])


def _losses(torch: Any, values: Any, answers: Any) -> tuple[Any, Any]:
    """Derivatives with respect to the scores, and the log loss of each model, added up over its records."""
    if values.shape[2] == 1:
        targets = answers[:, :, None].to(values.dtype)
        lost = torch.logaddexp(torch.zeros_like(values), values) - targets * values
        return torch.sigmoid(values) - targets, lost.sum((1, 2))
    targets = (answers[:, :, None] == torch.arange(values.shape[2], device=values.device)).to(values.dtype)
    return torch.softmax(values, 2) - targets, (torch.logsumexp(values, 2) - (values * targets).sum(2)).sum(1)


def _move(torch: Any, own: DeviceRun, slopes: list[Any]) -> None:
    """Adam's step."""
    first, second = DECAYS
    own.steps.add_(1)
    rates = own.rates * (torch.sqrt(1 - second**own.steps) / (1 - first**own.steps))
    for part, slope, (mean, square) in zip(own.parts, slopes, own.moments, strict=True):
        mean.mul_(first).add_((1 - first) * slope)
        square.mul_(second).add_((1 - second) * slope * slope)
        part.sub_(rates * mean / (torch.sqrt(square) + TINY))
