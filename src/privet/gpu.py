"""torch and a GPU, where somebody asks for device="cuda"."""

from __future__ import annotations

from typing import Any

from privet.errors import InvalidInputError


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
