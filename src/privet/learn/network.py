"""A small neural network, and the sum of one clipped gradient per unit, without any gradient of one row.

A layer is one matrix of shape (inputs + 1, outputs); its last row is the bias. The gradient of one row with respect to
it is (a, 1) ⊗ d, where a is what enters the layer and d the derivative of the loss with respect to what leaves it. So

    |gradient|² = (|a|² + 1) |d|²,   and of two rows   <gradient, gradient'> = (<a, a'> + 1) <d, d'>.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from privet.core.claim import claim
from privet.typing import Floats, Integers

Layers = list[Floats]
SLACK = 1 - 1e-9  # clips a little lower than told: more than the rounding errors of one unit's gradient
DOUBT = 1e-11  # relative error allowed for in the norm of a gradient that is a sum over several rows
WIDEST = 10_000  # units of a layer: sums over more of them could err by more than `DOUBT`
ACTIVATIONS = ("tanh", "relu", "identity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What the network computes: an activation inside, and at its end scores of classes or one number."""

    activation: str
    classes: int  # 0: one number, squared error; otherwise cross-entropy of a softmax


def scores(layers: Layers, rows: Floats, kind: Kind) -> Floats:
    """What leaves the last layer."""
    return _forward(layers, rows, kind)[-1]


def probabilities(given: Floats) -> Floats:
    """The softmax of scores."""
    shifted = np.exp(given - given.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True), np.float64)


def _forward(layers: Layers, rows: Floats, kind: Kind) -> list[Floats]:
    """What enters each layer, and what leaves the last one."""
    values = [rows]
    for place, layer in enumerate(layers):
        out = values[-1] @ layer[:-1] + layer[-1]
        values.append(out if place == len(layers) - 1 else _activated(out, kind.activation))
    return values


def _activated(out: Floats, activation: str) -> Floats:
    match activation:
        case "tanh":
            return np.tanh(out)
        case "relu":
            return np.maximum(out, 0)
        case _:
            return out


def _slope(value: Floats, activation: str) -> Floats:
    """The derivative of the activation, from its value."""
    match activation:
        case "tanh":
            return np.asarray(1 - value**2, np.float64)
        case "relu":
            return (value > 0).astype(np.float64)
        case _:
            return np.ones_like(value)


def _derivatives(layers: Layers, values: Sequence[Floats], targets: Floats, kind: Kind) -> list[Floats]:
    """Of the loss of each row, with respect to what leaves each layer."""
    if kind.classes:
        last = probabilities(values[-1])
        last[np.arange(len(last)), targets.astype(np.int64)] -= 1
    else:
        last = values[-1] - targets[:, None]
    found = [last]
    for place in range(len(layers) - 1, 0, -1):
        found.append(found[-1] @ layers[place][:-1].T * _slope(values[place], kind.activation))
    return found[::-1]


class Taken(NamedTuple):
    """Rows of some units, those of one unit together; their targets; and how many rows each unit has."""

    rows: Floats
    targets: Floats
    sizes: Integers


@claim("descent-clip")
def clipped_sum(layers: Layers, taken: Taken, clip: float, kind: Kind) -> Layers:
    """The sum over units of min(1, clip / norm) times the sum of the unit's gradients, one matrix per layer.

    Whatever rows a unit has, its share of the result has norm at most `clip`. A unit whose norm is no finite number has
    share 0.
    """
    with np.errstate(all="ignore"):
        values = _forward(layers, taken.rows, kind)
        derivatives = _derivatives(layers, values, taken.targets, kind)
        norms = _norms(values[:-1], derivatives, taken.sizes)
        factors = np.where(np.isfinite(norms), np.minimum(1.0, clip * SLACK / np.maximum(norms, clip / 2)), 0.0)
        kept = np.repeat(factors, taken.sizes)
        sums = []
        for value, derivative in zip(values[:-1], derivatives, strict=True):
            lasting = np.where(kept[:, None] > 0, derivative, 0.0) * kept[:, None]
            entered = np.where(kept[:, None] > 0, value, 0.0)
            sums.append(np.vstack([entered.T @ lasting, lasting.sum(axis=0)]))
    return sums


def _norms(values: Sequence[Floats], derivatives: Sequence[Floats], sizes: Integers) -> Floats:
    """Of each unit's gradient, over all layers; never below the true norm."""
    if not len(sizes):
        return np.zeros(0)
    if int(sizes.max()) == 1:
        pairs = zip(values, derivatives, strict=True)
        squares = [(_square(a) + 1) * _square(d) for a, d in pairs]
        return np.asarray(np.sqrt(np.sum(squares, axis=0) * (1 + DOUBT)), np.float64)  # as below: others are no matter
    total, most = np.zeros(len(sizes)), np.zeros(len(sizes))
    for value, derivative in zip(values, derivatives, strict=True):
        entered, left = _padded(value, sizes), _padded(derivative, sizes)
        inner = np.matmul(entered, entered.transpose(0, 2, 1)) + 1
        outer = np.matmul(left, left.transpose(0, 2, 1))
        total += (inner * outer).sum(axis=(1, 2))
        most += np.sqrt((_square(entered) + 1) * _square(left)).sum(axis=1) ** 2
    return np.sqrt(np.maximum(total, 0) + DOUBT * most)


def _square(rows: Floats) -> Floats:
    return np.asarray(np.einsum("...i,...i->...", rows, rows), np.float64)


def _padded(rows: Floats, sizes: Integers) -> Floats:
    """Shape (units, most rows of a unit, columns); rows that a unit lacks are 0."""
    most = int(sizes.max())
    out = np.zeros((len(sizes), most, rows.shape[1]))
    place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    out[np.repeat(np.arange(len(sizes)), sizes), place] = rows
    return out
