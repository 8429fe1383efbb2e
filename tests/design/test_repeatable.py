"""Property tests try the same examples in every run, whatever was loaded before."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

STRANGE = 918_273_645_001  # a number that Hypothesis draws by chance in one of 10^12 runs


def drawn() -> list[int]:
    seen: list[int] = []

    @settings(max_examples=2000)
    @given(st.integers(0, 10**13))
    def watched(number: int) -> None:
        seen.append(number)

    watched()
    return seen


def test_a_module_that_is_loaded_meanwhile_changes_no_example(tmp_path: Path) -> None:
    before = drawn()
    path = tmp_path / "strange_constants.py"
    path.write_text(f"NUMBERS = [{', '.join(str(STRANGE + n) for n in range(500))}]\n")
    specification = importlib.util.spec_from_file_location("strange_constants", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["strange_constants"] = module
    try:
        specification.loader.exec_module(module)
        assert drawn() == before
    finally:
        del sys.modules["strange_constants"]
