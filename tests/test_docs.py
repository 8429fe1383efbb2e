"""The pages tell the truth: their Python runs, their links lead somewhere, their commands exist."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from privet.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("C*.md")), ROOT / "SECURITY.md"]
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_on_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = CODE.findall(page.read_text())
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text()):
        path = (page.parent / target) if target else page
        assert path.exists(), f"{page.name} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
            assert anchor[1:] in {heading.lower().replace(" ", "-") for heading in headings}, anchor


def test_pages_with_code_were_found() -> None:
    assert sum(len(CODE.findall(page.read_text())) for page in PAGES) >= 8


def test_make_targets_on_the_pages_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        for target in re.findall(r"`make ([a-z-]+)`", page.read_text()):
            assert target in targets, f"{page.name}: make {target}"


@pytest.mark.parametrize(("heading", "number"), [("## Attack your statistics", 5), ("## Ship records", 7)])
def test_commands_say_what_the_page_says(
    heading: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of a section of the README, in its order: what one writes, the next reads."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", "examples")
    section = (ROOT / "README.md").read_text().partition(heading)[2].partition("```console\n")[2]
    commands = section.partition("```")[0].split("$ ")[1:]
    assert len(commands) == number
    for command in commands:
        asked, *shown = command.splitlines()
        assert main(shlex.split(asked, comments=True)[1:]) == 0
        told = capsys.readouterr().out.splitlines()
        assert [line for line in shown if line != "..."] in ([], told[:1]), asked
