"""Code in a process of its own, with `support` at hand."""

from __future__ import annotations

import os
import subprocess
import sys

from support.places import TESTS


def surroundings(*folders: object, **more: str) -> dict[str, str]:
    """The environment of a process that can import `support`, and what stands in these folders."""
    places = [str(TESTS), *map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(places)} | more


def run_plain(code: str, *folders: object) -> None:
    """Some lines without a compiler, which end without a word. Loops are run line by line in Python, so that coverage
    is counted; compiled they are tested by everything else."""
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nprint('plain')"],
        capture_output=True, text=True, check=False, env=surroundings(*folders, NUMBA_DISABLE_JIT="1"),
    )  # fmt: skip
    assert (run.stdout, run.stderr, run.returncode) == ("plain\n", "", 0)
