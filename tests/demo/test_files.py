"""What help texts and messages name is in the package, and a command writes it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from support.places import ROOT, SOURCE
from support.refusals import expect_code, refused

from privet import cli

NAMED = re.compile(r"\b(?:examples|docs)/[\w/-]+\.[a-z]+")


def test_every_file_that_is_named_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo", "--files", "new/place", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["written"] == ["new/place/examples", "new/place/docs"]
    named = {name for path in SOURCE.rglob("*.py") for name in NAMED.findall(path.read_text(encoding="utf-8"))}
    assert "examples/census-block.toml" in named
    assert {name for name in named if not Path("new/place", name).is_file()} == set()
    expect_code("file-exists: new/place/examples", refused(["demo", "--files", "new/place"], capsys))
    Path("file").touch()
    expect_code("cannot-write", refused(["demo", "--files", "file/below"], capsys))


def test_the_wheel_has_them() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {name: f"privet/files/{name}" for name in ("docs", "examples")}


@pytest.mark.parametrize(
    "words", [["attack", "differencing", "examples/hospital.toml"], ["preflight", "examples/clinic-tables.xlsx"]]
)
def test_whoever_lacks_them_is_told_how_to_get_them(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "`privet demo --files .`" in refused(words, capsys).remedy
    assert cli.main(["demo", "--files", "."]) == 0
    assert cli.main(words) in (1, 3)
