"""Many small networks trained at once: shadow models for the price of a few. For classifiers with none or several
layers of rectified linear units, trained by Adam (Kingma and Ba 2015) on the log loss, as scikit-learn's MLPClassifier.

Stacks of models are as large as a processor's cache: one matrix product then serves several models, and what a library
does around each step is done once for the stack. Numbers are 32-bit floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.errors import InvalidInputError
from privet.gpu import torch_with_cuda
from privet.typing import Floats, Integers

Singles = npt.NDArray[np.float32]
CACHE = 300_000  # numbers of a stack: weights, and what a batch makes of its records
MOST = 16  # models in a stack
DECAYS, TINY = (0.9, 0.999), 1e-8  # Adam's
PATIENCE = 10  # epochs without an improvement of the loss by `tol`, after which a model is done

USUAL = {  # of scikit-learn's network: what training must be to be done here
    "solver": "adam", "activation": "relu", "early_stopping": False, "shuffle": True, "warm_start": False,
    "beta_1": DECAYS[0], "beta_2": DECAYS[1], "epsilon": TINY, "n_iter_no_change": PATIENCE,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class StackedModel:
    """One model of a stack: weights and intercepts of each layer."""

    classes_: npt.NDArray[Any]
    layers: tuple[tuple[Singles, Singles], ...]

    def decision_function(self, rows: Any) -> Floats:
        """One number for each row if there are two classes, otherwise one for each class."""
        values = np.asarray(rows, np.float32)
        for weights, intercepts in self.layers[:-1]:
            values = np.maximum(values @ weights + intercepts, 0)
        found = np.asarray(values @ self.layers[-1][0] + self.layers[-1][1], np.float64)
        return found[:, 0] if found.shape[1] == 1 else found

    def predict_proba(self, rows: Any) -> Floats:
        values = self.decision_function(rows)
        if values.ndim == 1:
            return np.stack([_sigmoid(-values), _sigmoid(values)], axis=1)
        shares = np.exp(values - values.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def predict(self, rows: Any) -> npt.NDArray[Any]:
        return np.asarray(self.classes_[self.predict_proba(rows).argmax(axis=1)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacked:
    """How to train small networks, many at once. Give it to `attack_model` as `refit`.

    hidden: units of each hidden layer. epochs: how often all records are used, at most. batch: records per step. rate:
    the rate of Adam. decay: the weight of squared weights in the loss. tol: training stops after 10 epochs that
    improve the loss by less. device: "cpu", or "cuda" for torch and a GPU.
    """

    hidden: tuple[int, ...] = (100,)
    epochs: int = 200
    batch: int = 200
    rate: float = 1e-3
    decay: float = 1e-4
    tol: float = 1e-4
    device: str = "cpu"

    def fit(self, rows: Any, labels: Any, *, seed: int) -> StackedModel:
        """Train one model on these rows and labels, with weights and order drawn from `seed`, and return it."""
        return self.fit_many(rows, labels, [np.arange(len(labels))], [seed])[0]

    def fit_many(self, rows: Any, labels: Any, chosen: list[Integers], seeds: list[int]) -> list[StackedModel]:
        """Train one model for each list of places in `chosen` (all of one length) and its seed, and return all of them.

        Raises InvalidInputError if rows are not numbers or the lists differ in length."""
        values, classes = np.asarray(rows, np.float32), np.unique(labels)
        if values.ndim != 2 or len({len(places) for places in chosen}) > 1:
            raise InvalidInputError(
                "stacked models need rows of numbers, and the same number of rows for each model",
                "encode texts as numbers first, or give a refit function",
                "wrong-shape",
            )
        answers = np.searchsorted(classes, np.asarray(labels))
        widths = (values.shape[1], *self.hidden, 1 if len(classes) == 2 else len(classes))
        size, train = self._trainer(widths)
        found: list[StackedModel] = []
        for start in range(0, len(chosen), size):
            some = np.array(chosen[start : start + size])
            draws = [np.random.default_rng(seed) for seed in seeds[start : start + size]]
            layers = train(self, widths, draws, (values, answers, some))
            found += [StackedModel(classes, tuple((w[at], b[at, 0]) for w, b in layers)) for at in range(len(some))]
        return found

    def _trainer(self, widths: tuple[int, ...]) -> tuple[int, Train]:
        """Models in a stack, and what trains one."""
        if self.device == "cpu":
            numbers = sum(math.prod(pair) for pair in pairwise(widths)) + self.batch * sum(widths)
            return max(1, min(MOST, CACHE // numbers)), _trained
        if self.device != "cuda":
            raise InvalidInputError(
                f'device must be "cpu" or "cuda", not {self.device!r}', 'give device="cpu"', "unknown-choice"
            )
        from privet.attacks.models.stacked_torch import stack_size, trained_on  # noqa: PLC0415

        return stack_size(widths, self.batch), partial(trained_on, torch_with_cuda())


Layer = tuple[Singles, Singles]
Train = Callable[[Stacked, tuple[int, ...], list[np.random.Generator], tuple[Singles, Integers, Integers]], list[Layer]]


def stacked_like(model: Any, rows: Any) -> Stacked | None:
    """The same training, many at once, if the model is a network of scikit-learn that is trained in this way."""
    kind, numbers = type(model), getattr(rows, "dtype", np.dtype(object)).kind in "fiub"
    if kind.__name__ != "MLPClassifier" or not kind.__module__.startswith("sklearn.") or not numbers:
        return None  # other networks of this name, such as private ones, are trained otherwise
    said = model.get_params()
    if any(said[name] != value for name, value in USUAL.items()):
        return None
    widths = said["hidden_layer_sizes"]
    return Stacked(
        hidden=tuple(np.atleast_1d(widths).tolist()),
        epochs=said["max_iter"],
        batch=200 if said["batch_size"] == "auto" else said["batch_size"],
        rate=said["learning_rate_init"],
        decay=said["alpha"],
        tol=said["tol"],
    )


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -700, 700))))


def _targets(answers: Integers, outputs: int) -> Singles:
    if outputs == 1:
        return answers[:, None].astype(np.float32)
    return np.eye(outputs, dtype=np.float32)[answers]


def _trained(
    how: Stacked, widths: tuple[int, ...], draws: list[np.random.Generator], data: tuple[Singles, Integers, Integers]
) -> list[Layer]:
    """On the processor. `data`: all rows, the class of each, and the places that each model is trained on."""
    rows, answers, chosen = data
    return _Run(how, widths, draws).train(rows, _targets(answers, widths[-1]), chosen)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Room:
    """What a step needs beside weights: models x records x columns, and slopes as large as what they belong to."""

    rows: Singles
    values: list[Singles]  # what leaves each layer
    errors: list[Singles]  # derivatives with respect to what leaves each layer but the last
    slopes: list[tuple[Singles, Singles]]
    ones: Singles


class _Run:
    """The training of one stack. Weights are arrays of models x inputs x outputs."""

    def __init__(self, how: Stacked, widths: tuple[int, ...], draws: list[np.random.Generator]) -> None:
        self.how, self.draws = how, draws
        self.layers = [first_layer(one, other, draws) for one, other in pairwise(widths)]
        flat = [part for layer in self.layers for part in layer]
        self.moments = [(np.zeros_like(part), np.zeros_like(part), np.empty_like(part)) for part in flat]
        self.steps, self.rooms = 0, dict[int, _Room]()
        self.rates = np.full((len(draws), 1, 1), how.rate, np.float32)

    def train(self, rows: Singles, targets: Singles, chosen: Integers) -> list[Layer]:
        models, people = chosen.shape
        best, waited = np.full(models, np.inf), np.zeros(models, np.int64)
        for _ in range(self.how.epochs):
            order = np.stack(
                [places[draw.permutation(people)] for places, draw in zip(chosen, self.draws, strict=True)]
            )
            lost = np.zeros(models)
            for start in range(0, people, self.how.batch):
                batch = order[:, start : start + self.how.batch]
                lost += self._step(rows, targets, batch) * batch.shape[1]
            lost /= people
            waited = np.where(lost > best - self.how.tol, waited + 1, 0)
            best = np.minimum(best, lost)
            self.rates[waited > PATIENCE] = 0
            if not self.rates.any():
                break
        return self.layers

    def _room(self, people: int) -> _Room:
        """Arrays for batches of this size; made once, since new ones in each step would cost as much as the work."""
        if people not in self.rooms:
            models, widths = len(self.draws), [layer[0].shape[2] for layer in self.layers]
            self.rooms[people] = _Room(
                rows=np.empty((models, people, self.layers[0][0].shape[1]), np.float32),
                values=[np.empty((models, people, width), np.float32) for width in widths],
                errors=[np.empty((models, people, width), np.float32) for width in widths[:-1]],
                slopes=[(np.empty_like(weights), np.empty_like(levels)) for weights, levels in self.layers],
                ones=np.ones((1, people), np.float32),
            )
        return self.rooms[people]

    def _step(self, rows: Singles, targets: Singles, batch: Integers) -> Floats:
        """Returns the loss of each model before the step."""
        people = batch.shape[1]
        room = self._room(people)
        inputs = [np.take(rows, batch, axis=0, out=room.rows, mode="clip")]
        for (weights, intercepts), values in zip(self.layers, room.values, strict=True):
            np.add(np.matmul(inputs[-1], weights, out=values), intercepts, out=values)
            inputs.append(values)
            if len(inputs) <= len(self.layers):
                np.maximum(values, 0, out=values)
        chances, lost = _losses(inputs.pop(), targets[batch])
        error = (chances - targets[batch]) / np.float32(people)
        for place in range(len(self.layers) - 1, -1, -1):
            weights, (slope, level) = self.layers[place][0], room.slopes[place]
            np.matmul(room.ones, error, out=level)
            np.matmul(inputs[place].transpose(0, 2, 1), error, out=slope)
            slope += np.multiply(weights, np.float32(self.how.decay / people), out=self.moments[2 * place][2])
            lost += self.how.decay / 2 / people * np.einsum("mij,mij->m", weights, weights)
            if place:
                back, below = weights.transpose(0, 2, 1), room.errors[place - 1]
                error = (np.multiply if error.shape[2] == 1 else np.matmul)(error, back, out=below)
                error *= inputs[place] > 0
        self._move([part for slopes in room.slopes for part in slopes])
        return lost

    def _move(self, slopes: list[Singles]) -> None:
        self.steps += 1
        scale = math.sqrt(1 - DECAYS[1] ** self.steps) / (1 - DECAYS[0] ** self.steps)
        flat = [part for layer in self.layers for part in layer]
        rates = self.rates * np.float32(scale)
        for part, slope, moments in zip(flat, slopes, self.moments, strict=True):
            change = _change(slope, *moments)
            np.subtract(part, np.multiply(change, rates, out=change), out=part)


def _change(slope: Singles, mean: Singles, square: Singles, room: Singles) -> Singles:
    """Adam's, up to its rate. In place: arrays of this size are not made anew in each step."""
    first, second = (np.float32(decay) for decay in DECAYS)
    mean *= first
    mean += np.multiply(slope, 1 - first, out=room)
    square *= second
    square += np.multiply(np.multiply(slope, slope, out=room), 1 - second, out=room)
    np.add(np.sqrt(square, out=room), np.float32(TINY), out=room)
    return np.divide(mean, room, out=room)


def first_layer(inputs: int, outputs: int, draws: list[np.random.Generator]) -> tuple[Singles, Singles]:
    """Uniform weights (Glorot and Bengio 2010)."""
    most = math.sqrt(6 / (inputs + outputs))
    weights = np.empty((len(draws), inputs, outputs), np.float32)
    intercepts = np.empty((len(draws), 1, outputs), np.float32)
    for place, draw in enumerate(draws):
        weights[place] = draw.uniform(-most, most, (inputs, outputs))
        intercepts[place] = draw.uniform(-most, most, (1, outputs))
    return weights, intercepts


def _losses(values: Singles, targets: Singles) -> tuple[Singles, Floats]:
    """Probabilities, and the mean log loss of each model."""
    if values.shape[2] == 1:
        half = np.float32(0.5)
        chances: Singles = half + half * np.tanh(half * values)
        lost = np.logaddexp(np.float32(0), values) - targets * values
        return chances, lost.mean(axis=(1, 2), dtype=np.float64)
    values -= values.max(axis=2, keepdims=True)
    shares = np.exp(values)
    total = shares.sum(axis=2, keepdims=True)
    lost = np.log(total[..., 0]) - (values * targets).sum(axis=2)
    return shares / total, lost.mean(axis=1, dtype=np.float64)
