"""The import rules of pyproject.toml refuse what they are there to refuse: planted rooms and planted imports."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.places import ROOT


def planted(folder: Path, files: dict[str, str]) -> str:
    """What lint-imports says of a copy of the package with these lines added to files, which may be new."""
    shutil.copytree(ROOT / "src" / "privet", folder / "privet", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in files.items():
        path = folder / "privet" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text((path.read_text() if path.exists() else "") + f"\n{text}\n")
    command = "from importlinter.cli import lint_imports_command as run; run()"
    options = ["--no-logo", "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [sys.executable, "-c", command, *options],
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "300"},
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == (1 if files else 0), done.stdout + done.stderr
    return " ".join(done.stdout.split())


def test_the_rules_hold(tmp_path: Path) -> None:
    assert "0 broken" in planted(tmp_path, {})


@pytest.mark.parametrize("name", ["novelty.py", "novelties/__init__.py"])
def test_a_room_without_a_place_is_refused(tmp_path: Path, name: str) -> None:
    said = planted(tmp_path, {name: "X = 1"})
    assert "each room imports only rooms below it BROKEN" in said
    assert "privet.novelt" in said


REFUSED = {
    "core/loss.py": ("from privet.estimates import split", "each room imports only rooms below it"),
    "noise/fast.py": ("import sqlglot", "one room parses SQL"),
    "ledger/units.py": ("from privet.report import terminal", "trusted rooms never draw"),
    "ledger/chain.py": ("import altair", "charts are made by rooms that show results"),
    "backends/tally.py": ("from privet import ledger", "the ledger is held by the gate"),
    "backends/whole.py": (
        "from privet import noise",
        "the ledger and the backends know neither each other nor the noise",
    ),
    "stats/roc.py": ("from privet import backends", "exact numbers are seen by the gate"),
    "attacks/proofs/prover.py": ("from privet import engine", "the gate is opened by the query path only"),
    "attacks/membership/members.py": ("from privet import query", "queries are made by the fronts"),
    "attacks/linkage/scoreboard.py": ("from privet.noise import fast", "noise is drawn by the gate"),
    "attacks/linkage/linking.py": ("from privet.catalog import vault_file", "declared tables are known to"),
    "attacks/proofs/certificate.py": ("import ortools", "the checker of proofs reads nothing but"),
    "attacks/finding.py": ("from privet import audits", "attacks are functions of a release"),
    "frame/frames.py": ("from privet.sources import files", "files and frames are read where data are held"),
    "frame/value_methods.py": ("import duckdb", "the embedded engine is known to what reads records"),
    "attacks/subsets/decoders/box.py": ("from privet.core import loss", "decoders know numbers"),
    "attacks/subsets/decoders/packed.py": ("from privet import sql", "SQL is read by the fronts only"),
    "audits/listed_laws.py": ("from privet.report import budget_text", "rooms without a vault reach none"),
    "audits/views.py": ("from privet import gallery", "the gallery of broken mechanisms is opened by"),
    "records/microdata.py": ("from privet.gallery import noises", "records that an owner holds get no noise"),
    "sources/sniff.py": ("from cryptography import x509", "one room draws random bits"),
    "suggest.py": ("from privet import training", "learners reach data through their own gate only"),
    "vault.py": ("from privet import recheck", "prices are rechecked by the gate and by its own command"),
    "noise/entropy.py": (
        "from privet.estimates import split",
        "what is read for the guarantee imports no room that is free",
    ),
    "testing/asked.py": ("from privet import cli", "nothing imports the command line"),
}


def test_every_rule_refuses_its_planted_import(tmp_path: Path) -> None:
    said = planted(tmp_path, {name: line for name, (line, _) in REFUSED.items()})
    for name, (line, rule) in REFUSED.items():
        verdict = re.search(re.escape(rule) + r".*?(KEPT|BROKEN)", said)
        assert verdict is not None, rule
        assert verdict[1] == "BROKEN", f"{name}: {line}"


def test_every_rule_has_a_planted_import() -> None:
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    planted_for = [rule for _, rule in REFUSED.values()]
    assert [rule["name"] for rule in rules if not rule["name"].startswith(tuple(planted_for))] == []


def test_a_way_through_the_package_itself_is_seen(tmp_path: Path) -> None:
    assert "each room imports only rooms below it BROKEN" in planted(tmp_path, {"ledger/units.py": "import privet"})
