"""Every script behind docs/evidence runs on the code as it is: with --tiny, and with what the Makefile gives it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.places import ROOT
from support.processes import surroundings
from support.scripts import FOLDER, script

KEPT = ROOT / "docs" / "evidence"
TARGETS = ("evidence", "bench", "peers", "mutate")
ELSEWHERE = {"gpu.json"}  # of `make gpu`: tests have neither torch nor a GPU
ALONE = {"mutation.py"}  # forks tests of changed code: nothing of Privet may be loaded before
# What a person added when a file was put together from several runs.
ADDED = {
    "errors.json": {"note"},
    "linkage.json": {"million"},
    "membership.json": {"claims_commit"},
    "models.json": {"attributes_commit", "versions_commit"},
    "mutation.json": {"first", "first_commit", "first_seconds"},
    "mutation-learners.json": {"first", "first_commit", "first_seconds"},
}
# Parts of a script whose figures were taken out of the kept file, because older code gave them: to be measured again.
MISSING: dict[str, set[str]] = {}
# What every script writes since. Files that were kept before lack it until they are measured again.
NEWER = {"commit", "source_changed", "seconds", "tiny", "absent"}


@dataclass(frozen=True)
class Step:
    """A line of the Makefile that runs a script."""

    script: str
    words: tuple[str, ...]
    file: str

    def tiny(self, file: Path) -> list[str]:
        return [*self.words, "--tiny", "--json", str(file)]


def steps(makefile: str) -> list[Step]:
    found = []
    for target in TARGETS:
        recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
        assert recipe is not None, target
        for line in recipe[1].splitlines():
            if "benchmarks/" in line:
                run = re.fullmatch(r"\t\$\(BIN\)/python benchmarks/(\w+\.py)(.*) --json docs/evidence/(\S+)", line)
                assert run is not None, f"not a script that writes its evidence: {line}"
                found.append(Step(run[1], tuple(shlex.split(run[2])), run[3]))
    return found


STEPS = steps((ROOT / "Makefile").read_text())


def test_every_kept_file_has_its_script() -> None:
    assert {step.file for step in STEPS} | ELSEWHERE == {path.name for path in KEPT.glob("*.json")}
    assert "benchmarks/gpu.py --commit" in (ROOT / "Makefile").read_text()


def test_nothing_tiny_is_kept() -> None:
    """A tiny run shows that a script works, and nothing else."""
    assert [path.name for path in KEPT.glob("*.json") if "tiny" in json.loads(path.read_text())["result"]] == []


def test_a_step_without_evidence_is_noticed() -> None:
    recipes = "".join(f"{target}:\n\t$(BIN)/python benchmarks/{target}.py{{}}\n\n" for target in TARGETS)
    assert [step.script for step in steps(recipes.replace("{}", " --json docs/evidence/a.json"))] == [
        f"{target}.py" for target in TARGETS
    ]
    with pytest.raises(AssertionError, match="writes its evidence"):
        steps(recipes.replace("{}", ""))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.file)
def test_a_tiny_run_writes_the_shape_that_is_kept(step: Step, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in KEPT.iterdir()}
    run(step, tmp_path / "found.json")
    found, kept = (json.loads(path.read_text()) for path in (tmp_path / "found.json", KEPT / step.file))
    assert {name: found[name] for name in ("privet", "kind")} == {name: kept[name] for name in ("privet", "kind")}
    assert found["result"]["tiny"] is True
    wanted = set(kept["result"]) - ADDED.get(step.file, set())
    assert wanted <= set(found["result"]) <= wanted | NEWER | MISSING.get(step.file, set())
    assert [name for name in wanted if found["result"][name] is None] == []
    assert before == {path: path.stat().st_mtime_ns for path in KEPT.iterdir()}


def run(step: Step, file: Path) -> None:
    """In this process, where most of it is imported already."""
    if step.script in ALONE:
        command = [sys.executable, str(FOLDER / step.script), *step.tiny(file)]
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=surroundings())
        return
    code: Any = script(step.script.removesuffix(".py")).main(step.tiny(file))
    assert code in (None, os.EX_OK)
