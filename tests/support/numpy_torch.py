"""So much of torch as `privet` uses, made of NumPy: CI has no torch. Rows on a device that the processor also sees."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


class Tensor(np.ndarray[Any, Any]):
    """An array that goes to a device and comes back."""

    device = "cpu"

    def to(self, where: Any) -> Tensor:
        return self if isinstance(where, str) else self.astype(where)

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return np.asarray(self)

    def clone(self) -> Tensor:
        return self.copy()

    def copy_(self, other: Any, non_blocking: bool = False) -> Tensor:
        self[...] = other
        return self

    def zero_(self) -> Tensor:
        return self.copy_(0)

    def add_(self, other: Any) -> Tensor:
        return self.copy_(self + other)

    def sub_(self, other: Any) -> Tensor:
        return self.copy_(self - other)

    def mul_(self, other: Any) -> Tensor:
        return self.copy_(self * other)


def softmax(values: Any, axis: int) -> Any:
    shifted = np.exp(values - np.max(values, axis, keepdims=True))
    return shifted / np.sum(np.asarray(shifted), axis=axis, keepdims=True)


def numpy_torch(*, cuda: bool = True) -> Any:
    return SimpleNamespace(
        cuda=SimpleNamespace(is_available=lambda: cuda),
        float64=np.float64,
        int64=np.int64,
        from_numpy=lambda values: values.view(Tensor),
        zeros=lambda shape, dtype, **_: np.zeros(shape, dtype).view(Tensor),
        zeros_like=np.zeros_like,
        arange=lambda size, **_: np.arange(size).view(Tensor),
        addmm=lambda added, one, other: one @ other + added,
        baddbmm=lambda added, one, other: one @ other + added,
        softmax=softmax,
        clamp=lambda values, *, max: np.minimum(values, max),
        relu=lambda values: np.maximum(values, 0),
        sigmoid=lambda values: 1 / (1 + np.exp(-values)),
        logsumexp=lambda values, axis: np.log(np.exp(values).sum(axis)),
        cat=lambda parts: np.concatenate(parts).view(Tensor),
        index_select=lambda values, axis, places: np.take(values, places, axis),
        gather=lambda values, axis, places: np.take_along_axis(values, places, axis),
        get_float32_matmul_precision=lambda: "highest",
        set_float32_matmul_precision=lambda _: None,
        **{
            name: getattr(np, name)
            for name in ("where", "isfinite", "sqrt", "tanh", "ones_like", "remainder", "log1p", "cos", "sin")
        },
        **{name: getattr(np, name) for name in ("argsort", "logaddexp")},
    )
