"""Training by noisy gradients on a GPU, by torch, in the same 53 bits. Imported where device="cuda" asks for it.

The processor tosses the coins and draws the words of which the device makes normal numbers. The rest of a step is one
graph of kernels: gradients, clipping, sums, noise and Adam. One row per unit. CI has no torch, so each training begins
with steps on made-up rows, which are compared with `descent` before a row of the data is sent to the device.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from privet.learn.descent import TAIL, Adam, Draws, Recipe, Units, beginning, clipped_sums
from privet.learn.network import Layers
from privet.learn.torch_step import AT_ONCE, noisy_step
from privet.typing import Floats, Integers

DEVICE = "cuda"
HANDS = 8  # threads that draw
DEVIATIONS = 8  # a graph has room for so many more units than a step takes on average; if more come, another is made
MADE_UP, COMPARED = 256, 3  # rows and steps that are compared
AGREES = 1e-9
LONG = 20_000  # steps from which on compiling is worth its time


def trained_on(torch: Any, units: Units, recipe: Recipe, draws: Draws) -> Layers:
    """As `descent.trained`, on a device."""
    if len(units.rows) != units.number:
        raise ValueError("a unit has several rows")
    with Training(torch, units.number, recipe, recipe.schedule.steps >= LONG) as training:
        training.compare(draws)
        training.begin(units, beginning(recipe.sizes, draws))
        for start in range(0, recipe.schedule.steps, AT_ONCE):
            training.run(min(AT_ONCE, recipe.schedule.steps - start), draws)
        steps = recipe.schedule.steps
        return training.layers(training.total / (steps - int(steps * (1 - TAIL))))


class Training:
    """What lies on the device: rows, weights, Adam's moments, and the draws of some steps."""

    def __init__(self, torch: Any, number: int, recipe: Recipe, compiled: bool) -> None:
        self.torch, self.device, self.number, self.recipe = torch, DEVICE, number, recipe
        self.kind, self.clip, self.rate, self.steps = recipe.kind, recipe.clip, recipe.rate, recipe.schedule.steps
        self.scale = recipe.clip * float(recipe.schedule.noise)
        self.function = torch.compile(noisy_step, dynamic=False) if compiled else noisy_step
        self.shapes = [(one + 1, other) for one, other in pairwise(recipe.sizes)]
        size = sum(one * other for one, other in self.shapes)
        people = max(1, number)
        self.rows, self.lengths = self._zeros(people, recipe.sizes[0]), self._zeros(people)
        self.targets = self._zeros(people)
        self.flat, self.first, self.second, self.total = (self._zeros(size) for _ in range(4))
        self.done = self._zeros(1)
        self.words = torch.zeros((AT_ONCE, size + size % 2), dtype=torch.int64, device=DEVICE)
        self.sent = torch.zeros(self.words.shape, dtype=torch.int64, pin_memory=DEVICE == "cuda")
        self.copied = torch.cuda.Event() if DEVICE == "cuda" else None
        mean = number * recipe.schedule.rate
        self.step = self._graph(int(mean + DEVIATIONS * (mean**0.5 + 1)))
        self.pool = ThreadPoolExecutor(HANDS)

    def __enter__(self) -> Training:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.shutdown()

    def _zeros(self, *shape: int) -> Any:
        return self.torch.zeros(shape, dtype=self.torch.float64, device=self.device)

    def _graph(self, room: int) -> Callable[[], None]:
        """A step for at most `room` units, rounded up."""
        self.room = -(-max(1, min(room, self.number)) // 64) * 64
        self.places = self.torch.zeros((AT_ONCE, self.room + 1), dtype=self.torch.int64, device=self.device)
        self.chosen = self.torch.zeros(self.places.shape, dtype=self.torch.int64, pin_memory=self.device == "cuda")
        if self.device != "cuda":
            return lambda: self.function(self.torch, self)
        return self._captured()

    def _captured(self) -> Callable[[], None]:
        """What is on the device is afterwards as it was before."""
        self.torch.cuda.synchronize()  # an earlier graph may still run
        cuda, state = self.torch.cuda, (self.flat, self.first, self.second, self.total, self.done)
        before, side, graph = [one.clone() for one in state], cuda.Stream(), cuda.CUDAGraph()
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            for _ in range(3):
                self.function(self.torch, self)
        cuda.current_stream().wait_stream(side)
        with cuda.graph(graph):
            self.function(self.torch, self)
        for one, other in zip(state, before, strict=True):
            one.copy_(other)
        replay: Callable[[], None] = graph.replay
        return replay

    def begin(self, units: Units, layers: Layers) -> None:
        """Send the rows. One whose length is no finite number is made 0, and has no gradient (`descent-clip`)."""
        with np.errstate(all="ignore"):
            lengths = np.einsum("ij,ij->i", units.rows, units.rows) + 1
        rows = np.where(np.isfinite(lengths)[:, None], units.rows, 0.0)
        lengths = np.where(np.isfinite(lengths), lengths, np.inf)
        for there, here in ((self.rows, rows), (self.lengths, lengths), (self.targets, units.targets)):
            there[: len(here)].copy_(self._tensor(here))
        self.flat.copy_(self._tensor(_flat(layers)))
        for one in (self.first, self.second, self.total, self.done):
            one.zero_()

    def run(self, steps: int, draws: Draws) -> None:
        """So many steps; the first of them has a number that AT_ONCE divides."""
        if self.copied is not None:
            self.copied.synchronize()  # before that, the draws of earlier steps are still being sent
        words = self.sent.numpy().view(np.uint64)
        hands = [draws.apart(hand) for hand in range(HANDS)]

        def drawn(hand: int) -> list[Integers]:
            found = []
            for step in range(hand, steps, HANDS):
                hands[hand].words(words[step])
                found.append(np.flatnonzero(hands[hand].coins(self.recipe.schedule.coin, self.number)))
            return found

        by_hand = list(self.pool.map(drawn, range(HANDS)))
        self._replay([by_hand[step % HANDS][step // HANDS] for step in range(steps)])

    def _replay(self, places: list[Integers]) -> None:
        if max(map(len, places)) > self.room:
            self.step = self._graph(2 * max(map(len, places)))
        chosen = self.chosen.numpy()
        for step, taken in enumerate(places):
            chosen[step, 0], chosen[step, 1 : 1 + len(taken)] = len(taken), taken
        self.places.copy_(self.chosen, non_blocking=True)
        self.words.copy_(self.sent, non_blocking=True)
        if self.copied is not None:
            self.copied.record()
        for _ in places:
            self.step()

    def compare(self, draws: Draws) -> None:
        """Some steps on made-up rows, beside the definition."""
        made, size = np.random.default_rng(0), min(MADE_UP, max(1, self.number), self.room)  # no data, no noise
        rows, targets = (
            made.uniform(-1, 1, (size, self.rows.shape[1])),
            made.integers(0, max(2, self.kind.classes), size),
        )
        units, layers = Units.of(rows, targets.astype(np.float64), None), beginning(self.recipe.sizes, draws)
        self.begin(units, layers)
        words, places, adam = self.sent.numpy().view(np.uint64), np.arange(0, size, 2), Adam.of(layers)
        for step in range(COMPARED):
            draws.words(words[step])
            noise = draws.normals_of(words[step])[: len(self.flat)]
            noisy = _flat(clipped_sums(layers, units, places, self.recipe)) + self.scale * noise
            layers = adam.move(layers, self._parts(noisy), self.rate * (1 - step / self.steps))
        self._replay([places] * COMPARED)
        for one, exact in ((self.flat, layers), (self.first, adam.first), (self.second, adam.second)):
            if not np.linalg.norm(one.cpu().numpy() - _flat(exact)) <= AGREES * np.linalg.norm(_flat(exact)):
                raise RuntimeError("a step on this device differs from its definition; nothing was trained")

    def layers(self, flat: Any) -> Layers:
        return self._parts(flat.cpu().numpy())

    def _parts(self, flat: Floats) -> Layers:
        ends = np.cumsum([one * other for one, other in self.shapes])[:-1]
        return [part.reshape(shape) for part, shape in zip(np.split(flat, ends), self.shapes, strict=True)]

    def _tensor(self, values: Any) -> Any:
        return self.torch.from_numpy(np.ascontiguousarray(values)).to(self.device)


def _flat(layers: Layers) -> Floats:
    return np.concatenate([layer.reshape(-1) for layer in layers])
