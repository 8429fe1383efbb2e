"""A hedge around sensitive tables: attack a release, answer under differential privacy, audit the guarantee."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privet import errors as errors
    from privet import noise as noise

__version__ = "0.1.0"
__all__ = ["errors", "noise"]


def __getattr__(name: str) -> Any:
    """Rooms load when first used, so that `import privet` is quick."""
    if name in __all__:
        return importlib.import_module(f"privet.{name}")
    raise AttributeError(f"module 'privet' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
