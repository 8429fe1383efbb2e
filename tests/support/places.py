"""Where things are in this repository."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
SOURCE = ROOT / "src" / "privet"
EXAMPLES = ROOT / "examples"
