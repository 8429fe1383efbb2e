"""The scripts in benchmarks/, as modules."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from support.places import ROOT

FOLDER = ROOT / "benchmarks"


def script(name: str) -> ModuleType:
    """benchmarks/NAME.py, which imports what stands beside it. Last on the path: tests have folders of these names."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return importlib.import_module(name)
