"""A hedge around sensitive tables: attack a release, answer under differential privacy, audit the guarantee."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privet import attacks as attacks
    from privet import audits as audits
    from privet import errors as errors
    from privet import noise as noise
    from privet import testing as testing
    from privet.core.accountant import Budget as Budget
    from privet.core.schema import Boolean as Boolean
    from privet.core.schema import Category as Category
    from privet.core.schema import Date as Date
    from privet.core.schema import Integer as Integer
    from privet.core.schema import Number as Number
    from privet.core.schema import Text as Text
    from privet.core.schema import Timestamp as Timestamp
    from privet.interpret import meaning as meaning
    from privet.vault import create as create
    from privet.vault import open as open

__version__ = "0.1.0"

ROOMS = ("attacks", "audits", "errors", "noise", "testing")
PLACES = {  # where a name lives that is not itself a module
    "Budget": "core.accountant",
    "create": "vault",
    "meaning": "interpret",
    "open": "vault",
    **dict.fromkeys(("Boolean", "Category", "Date", "Integer", "Number", "Text", "Timestamp"), "core.schema"),
}
__all__ = [
    "Boolean", "Budget", "Category", "Date", "Integer", "Number", "Text", "Timestamp",
    "attacks", "audits", "create", "errors", "meaning", "noise", "open", "testing",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Names load when first used, so that `import privet` is quick."""
    if name in PLACES:
        return getattr(importlib.import_module(f"privet.{PLACES[name]}"), name)
    if name in ROOMS:
        return importlib.import_module(f"privet.{name}")
    raise AttributeError(f"module 'privet' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
