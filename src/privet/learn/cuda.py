"""Clipped sums of gradients on a GPU, by torch, in the same 53 bits. Imported where device="cuda" asks for it.

Coins, noise and all that follows from a noisy sum stay where they are. One row per unit. CI has no torch:
`benchmarks/gpu.py` compares these sums with those of `network` before it measures anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.errors import InvalidInputError
from privet.learn.descent import Recipe, Units
from privet.learn.network import DOUBT, SLACK, Kind, Layers
from privet.typing import Integers


def torch_with_cuda() -> Any:
    """torch, if it is installed and sees a GPU."""
    try:
        import torch  # noqa: PLC0415
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        raise InvalidInputError(
            'device="cuda" needs torch and a GPU that it sees',
            'install torch for CUDA, or give device="cpu"',
            "missing-extra",
        )
    return torch


class OnDevice:
    """As `descent.clipped_sums`. Rows are sent to the device once."""

    def __init__(self, torch: Any, device: str = "cuda") -> None:
        self._torch, self._device = torch, device
        self._sent: tuple[Any, ...] = (None,)

    def __call__(self, layers: Layers, units: Units, places: Integers, recipe: Recipe) -> Layers:
        if self._sent[0] is not units:
            if len(units.rows) != units.number:
                raise ValueError("a unit has several rows")
            self._sent = (units, *(self._tensor(one) for one in (units.rows, units.targets)))
        index = self._tensor(places)
        rows, targets = (one[index] for one in self._sent[1:])
        found = _clipped(self._torch, [self._tensor(layer) for layer in layers], (rows, targets), recipe)
        return [one.cpu().numpy() for one in found]

    def _tensor(self, values: Any) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(values)).to(self._device)


def _clipped(torch: Any, layers: list[Any], taken: tuple[Any, Any], recipe: Recipe) -> list[Any]:
    """As `network.clipped_sum` of units with one row each."""
    kind, (rows, targets) = recipe.kind, taken
    values = [rows]
    for place, layer in enumerate(layers):
        out = torch.addmm(layer[-1], values[-1], layer[:-1])
        values.append(out if place == len(layers) - 1 else _activated(torch, out, kind))
    if kind.classes:
        last = torch.softmax(values[-1], 1) - torch.nn.functional.one_hot(targets.long(), kind.classes)
    else:
        last = values[-1] - targets[:, None]
    derivatives = [last]
    for place in range(len(layers) - 1, 0, -1):
        derivatives.insert(0, (derivatives[0] @ layers[place][:-1].T) * _slope(torch, values[place], kind))
    pairs = list(zip(values[:-1], derivatives, strict=True))
    norms = torch.sqrt(sum(((value * value).sum(1) + 1) * (one * one).sum(1) for value, one in pairs) * (1 + DOUBT))
    factor = torch.where(torch.isfinite(norms), torch.clamp(recipe.clip * SLACK / norms, max=1.0), 0.0)[:, None]
    sums = []
    for value, one in pairs:
        lasting = torch.where(factor > 0, one, 0.0) * factor
        entered = torch.where(factor > 0, value, 0.0)
        sums.append(torch.cat([entered.T @ lasting, lasting.sum(0)[None]]))
    return sums


def _activated(torch: Any, out: Any, kind: Kind) -> Any:
    return {"tanh": torch.tanh, "relu": torch.relu}.get(kind.activation, lambda same: same)(out)


def _slope(torch: Any, value: Any, kind: Kind) -> Any:
    if kind.activation == "tanh":
        return 1 - value * value
    return (value > 0).to(value.dtype) if kind.activation == "relu" else torch.ones_like(value)
