"""A hedge around sensitive tables: attack a release, answer under differential privacy, audit the guarantee."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privet import audits as audits
    from privet import errors as errors
    from privet import noise as noise
    from privet.core.accountant import Budget as Budget
    from privet.interpret import meaning as meaning

__version__ = "0.1.0"
__all__ = ["Budget", "audits", "errors", "meaning", "noise"]

PLACES = {"Budget": "core.accountant", "meaning": "interpret"}  # where a name lives that is not itself a module


def __getattr__(name: str) -> Any:
    """Names load when first used, so that `import privet` is quick."""
    if name in PLACES:
        return getattr(importlib.import_module(f"privet.{PLACES[name]}"), name)
    if name in __all__:
        return importlib.import_module(f"privet.{name}")
    raise AttributeError(f"module 'privet' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
