"""So much of torch as `privet.learn.cuda` uses, made of NumPy: CI has no torch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


class Tensor(np.ndarray[Any, Any]):
    """An array that goes to a device and comes back."""

    def to(self, device: str) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return np.asarray(self)

    def long(self) -> Any:
        return self.astype(np.int64)


def softmax(values: Any, axis: int) -> Any:
    shifted = np.exp(values - values.max(axis, keepdims=True))
    return shifted / shifted.sum(axis, keepdims=True)


def at_most(values: Any, *, max: float) -> Any:
    return np.minimum(values, max)


def numpy_torch(*, cuda: bool = True) -> Any:
    return SimpleNamespace(
        cuda=SimpleNamespace(is_available=lambda: cuda),
        nn=SimpleNamespace(functional=SimpleNamespace(one_hot=lambda codes, size: np.eye(size)[codes])),
        from_numpy=lambda values: values.view(Tensor),
        addmm=lambda added, one, other: one @ other + added,
        softmax=softmax,
        clamp=at_most,
        relu=lambda values: np.maximum(values, 0),
        cat=lambda parts: np.concatenate(parts).view(Tensor),
        **{name: getattr(np, name) for name in ("where", "isfinite", "sqrt", "tanh", "ones_like")},
    )
