"""A hedge around sensitive tables: attack a release, answer under differential privacy, audit the guarantee."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privet import anonymize as anonymize
    from privet import attacks as attacks
    from privet import audits as audits
    from privet import compare as compare
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
    from privet.frame.aggregates import corr as corr
    from privet.frame.aggregates import count as count
    from privet.frame.aggregates import cov as cov
    from privet.frame.aggregates import max as max
    from privet.frame.aggregates import mean as mean
    from privet.frame.aggregates import median as median
    from privet.frame.aggregates import min as min
    from privet.frame.aggregates import n_distinct as n_distinct
    from privet.frame.aggregates import n_units as n_units
    from privet.frame.aggregates import quantile as quantile
    from privet.frame.aggregates import std as std
    from privet.frame.aggregates import sum as sum
    from privet.frame.aggregates import var as var
    from privet.frame.choices import when as when
    from privet.frame.columns import col as col
    from privet.frame.columns import lit as lit
    from privet.interpret import meaning as meaning
    from privet.vault import create as create
    from privet.vault import open as open
    from privet.vault.in_memory import from_frame as from_frame

__version__ = "0.1.0"

AGGREGATES = (
    "corr", "count", "cov", "max", "mean", "median", "min", "n_distinct", "n_units", "quantile", "std", "sum", "var",
)  # fmt: skip
ROOMS = ("anonymize", "attacks", "audits", "compare", "errors", "noise", "testing")
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
    "lit", "max", "mean", "meaning", "median", "min", "n_distinct", "n_units", "noise", "open", "quantile", "std",
    "sum", "testing", "var", "when",
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
