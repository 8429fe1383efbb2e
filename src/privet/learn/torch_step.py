"""A step of training by noisy gradients, in torch and in doubles, for units with one row each. For `learn.cuda`."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.learn.descent import FIRST_MOMENT, SECOND_MOMENT, TAIL, TINY
from privet.learn.network import DOUBT, SLACK, Kind

AT_ONCE = 16  # steps whose draws are sent together


def noisy_step(torch: Any, own: Any) -> None:
    """As `descent.noisy_step`, and the step of Adam that follows from it. `own` is a `cuda.Training`."""
    slot = torch.remainder(own.done, AT_ONCE).to(torch.int64)
    chosen = torch.index_select(own.places, 0, slot)[0]
    index = chosen[1:]
    kept = torch.arange(own.room, device=own.device) < chosen[:1]
    taken = (own.rows[index], own.lengths[index], own.targets[index], kept)
    sums = torch.cat(_clipped(torch, _layers(own), taken, own))
    noise = _normals(torch, torch.index_select(own.words, 0, slot)[0])[: len(sums)]
    _move(torch, own, sums + own.scale * noise)


def _layers(own: Any) -> list[Any]:
    """Parts of the one vector of weights."""
    layers, start = [], 0
    for one, other in own.shapes:
        layers.append(own.flat[start : start + one * other].reshape(one, other))
        start += one * other
    return layers


def _normals(torch: Any, words: Any) -> Any:
    """As `floats.normals_of`."""
    shares = ((words >> 11) & ((1 << 53) - 1)).to(torch.float64) * 2.0**-53
    half = len(words) // 2
    length, angle = torch.sqrt(-2 * torch.log1p(-shares[:half])), 2 * np.pi * shares[half:]
    return torch.cat([length * torch.cos(angle), length * torch.sin(angle)])


def _move(torch: Any, own: Any, noisy: Any) -> None:
    """As `descent.Adam`."""
    own.first.mul_(FIRST_MOMENT).add_((1 - FIRST_MOMENT) * noisy)
    own.second.mul_(SECOND_MOMENT).add_((1 - SECOND_MOMENT) * noisy * noisy)
    mean = own.first / (1 - FIRST_MOMENT ** (own.done + 1))
    spread = torch.sqrt(own.second / (1 - SECOND_MOMENT ** (own.done + 1)))
    own.flat.sub_(own.rate * (1 - own.done / own.steps) * mean / (spread + TINY))
    own.total.add_(own.flat * (own.done >= int(own.steps * (1 - TAIL))))
    own.done.add_(1)


def _clipped(torch: Any, layers: list[Any], taken: tuple[Any, ...], own: Any) -> list[Any]:
    """As `network.clipped_sum` of units with one row each; flat. `taken`: rows, |row|² + 1, targets, which count."""
    kind, (rows, lengths, targets, kept) = own.kind, taken
    values = [rows]
    for place, layer in enumerate(layers):
        out = torch.addmm(layer[-1], values[-1], layer[:-1])
        values.append(out if place == len(layers) - 1 else _activated(torch, out, kind))
    if kind.classes:
        classes = torch.arange(kind.classes, device=rows.device)
        last = torch.softmax(values[-1], 1) - (targets[:, None] == classes).to(rows.dtype)
    else:
        last = values[-1] - targets[:, None]
    derivatives = [last]
    for place in range(len(layers) - 1, 0, -1):
        derivatives.insert(0, (derivatives[0] @ layers[place][:-1].T) * _slope(torch, values[place], kind))
    entered = [lengths, *((value * value).sum(1) + 1 for value in values[1:-1])]
    squares = sum(one * (other * other).sum(1) for one, other in zip(entered, derivatives, strict=True))
    norms = torch.sqrt(squares * (1 + DOUBT))
    factor = torch.where(kept & torch.isfinite(norms), torch.clamp(own.clip * SLACK / norms, max=1.0), 0.0)[:, None]
    sums = []
    for place, (value, one) in enumerate(zip(values[:-1], derivatives, strict=True)):
        lasting = torch.where(factor > 0, one, 0.0) * factor
        known = value if place == 0 else torch.where(factor > 0, value, 0.0)  # rows are finite
        sums += [(known.T @ lasting).reshape(-1), lasting.sum(0)]
    return sums


def _activated(torch: Any, out: Any, kind: Kind) -> Any:
    return {"tanh": torch.tanh, "relu": torch.relu}.get(kind.activation, lambda same: same)(out)


def _slope(torch: Any, value: Any, kind: Kind) -> Any:
    if kind.activation == "tanh":
        return 1 - value * value
    return (value > 0).to(value.dtype) if kind.activation == "relu" else torch.ones_like(value)
