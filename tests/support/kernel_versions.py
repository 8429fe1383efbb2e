"""The kernel does the same in three ways: tests choose one."""

from __future__ import annotations

import pytest

from privet.backends import kernel, pile


def choose(patch: pytest.MonkeyPatch, version: str) -> None:
    """`few`: all rows together in NumPy. `buckets`: NumPy, where there is no compiler. `many`: compiled loops."""
    rows = 10**9 if version == "few" else 0
    patch.setattr(pile, "WORTH_A_START", rows)
    patch.setattr(pile, "WORTH_A_CALL", rows)
    patch.setattr(pile, "BUCKET", 8)
    if version == "buckets":
        patch.setattr(pile, "loops", lambda: None)
        patch.setattr(kernel, "loops", lambda: None)
