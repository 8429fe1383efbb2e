"""A hedge around sensitive tables: attack a release, answer under differential privacy, audit the guarantee."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privet import anonymize, attacks, audits, compare, errors, learn, noise, testing
    from privet.core.accountant import Budget
    from privet.core.schema import Boolean, Category, Date, Integer, Number, Text, Timestamp
    from privet.frame.aggregates import (
        corr,
        count,
        cov,
        max,
        mean,
        median,
        min,
        n_distinct,
        n_units,
        quantile,
        std,
        sum,
        var,
    )
    from privet.frame.choices import when
    from privet.frame.columns import col, lit
    from privet.interpret import meaning
    from privet.vault import create, open
    from privet.vault.in_memory import from_frame

__version__ = "0.1.0"

AGGREGATES = (
    "corr", "count", "cov", "max", "mean", "median", "min", "n_distinct", "n_units", "quantile", "std", "sum", "var",
)  # fmt: skip
ROOMS = ("anonymize", "attacks", "audits", "compare", "errors", "learn", "noise", "testing")
PLACES = {  # where a name lives that is not itself a module
    "Budget": "core.accountant",
    "create": "vault",
    "from_frame": "vault.in_memory",
    "meaning": "interpret",
    "open": "vault",
    "when": "frame.choices",
    **dict.fromkeys(("Boolean", "Category", "Date", "Integer", "Number", "Text", "Timestamp"), "core.schema"),
    **dict.fromkeys(("col", "lit"), "frame.columns"),
    **dict.fromkeys(AGGREGATES, "frame.aggregates"),
}
__all__ = [
    "Boolean", "Budget", "Category", "Date", "Integer", "Number", "Text", "Timestamp",
    "anonymize", "attacks", "audits", "col", "compare", "corr", "count", "cov", "create", "errors", "from_frame",
    "learn", "lit", "max", "mean", "meaning", "median", "min", "n_distinct", "n_units", "noise", "open", "quantile",
    "std", "sum", "testing", "var", "when",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Names load when first used, so that `import privet` is quick."""
    if name in PLACES:
        return getattr(importlib.import_module(f"privet.{PLACES[name]}"), name)
    if name in ROOMS:
        return importlib.import_module(f"privet.{name}")
    if name == "plans":  # its name in version 0.1
        raise AttributeError("privet.plans was renamed to privet.compare", name=name)
    raise AttributeError(f"module 'privet' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
