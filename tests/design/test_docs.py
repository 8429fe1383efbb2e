"""The pages tell the truth: their Python runs, their links lead somewhere, their commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.places import ROOT
from support.readme import commands, exit_code, run, write_tables

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


def test_what_the_page_shows_is_read_as_written() -> None:
    page = "$ one a    # exit code 1 here\nfirst\n...\n$ two $HOME\n$ three\nprivet: no\n  remedy: yes\n"
    asks = list(commands(page))
    assert asks == [
        ("one a    # exit code 1 here", ["first"]),
        ("two $HOME", []),
        ("three", ["privet: no", "  remedy: yes"]),
    ]
    assert [exit_code(*ask) for ask in asks] == [1, 0, 2]


def test_a_command_that_does_something_else_is_told(tmp_path: Path) -> None:
    write_tables(tmp_path)
    assert run("head -n 1 wards.csv", ["ward,floor"], tmp_path) is None
    assert run("echo no >&2 && exit 2", ["privet: no"], tmp_path) == (
        "echo no >&2 && exit 2\nsaid ['no'], and the page says ['privet: no']"
    )
    assert run("echo why >&2 && exit 3", [], tmp_path) == "echo why >&2 && exit 3\nended with 3: why\n"
