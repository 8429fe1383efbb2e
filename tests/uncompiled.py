"""Loops line by line in Python, so that coverage is counted; compiled they are tested by everything else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run_plain(code: str) -> None:
    """Some lines in a process without a compiler, with the tests at hand. They end without a word."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{code}\nprint('plain')"
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=False, env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    assert (run.stdout, run.stderr, run.returncode) == ("plain\n", "", 0)
