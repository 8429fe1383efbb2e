"""The example runs, and its model is better than a guess."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from support.places import ROOT


def test_the_example_learns_something(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """About 80 % are right, 55 % by guessing the larger class. Noise moves the class means by less than 1 %."""
    found = runpy.run_path(str(ROOT / "examples/readmission.py"))["main"](tmp_path)
    assert found > 0.65
    out = capsys.readouterr().out
    assert "the same again is free: True; spent: epsilon 1" in out
    assert "Each patient with all its rows" in out
