"""What the command line says when it refuses."""

from __future__ import annotations

import pytest

from privet import cli


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The line with which these words are refused. Below it stands a remedy, and nothing else is printed."""
    assert cli.main(words) == 2
    out, err = capsys.readouterr()
    line, remedy = err.splitlines()
    assert out == ""
    assert remedy.startswith("  remedy: ")
    return line
