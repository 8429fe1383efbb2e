"""The pages tell the truth: their Python runs, their links lead somewhere, their commands exist."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.places import ROOT
from support.readme import CONSOLE, commands, exit_code, run, write_tables

from privet.cli import VERBS, attack, audit, main

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("C*.md")), ROOT / "SECURITY.md"]
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(privet [a-z][^`]*)`")
KINDS = {"attack": attack.KINDS, "audit": audit.KINDS}
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


def shown_commands(text: str) -> Iterator[list[str]]:
    """The words after `privet` of every command in console blocks, inline code and comments of an example."""
    console = "\n".join(CONSOLE.findall(text)).replace("\\\n", " ")
    lines = re.findall(r"^\$ (.*)$", console, re.MULTILINE)
    lines += re.findall(r"^# (privet .*)$", text, re.MULTILINE)
    for line in [*lines, *INLINE.findall(text)]:
        words = shlex.split(line, comments=True)
        for joined, command in itertools.groupby(words, {"&&", "|", ">"}.__contains__):
            program, *rest = command
            if not joined and program == "privet":
                yield rest


def wrong_commands(text: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The commands of a page whose verb, kind or options do not exist."""
    wrong = []
    for verb, *words in shown_commands(text):
        kinds = KINDS.get(verb, {})
        kind = words[:1] if kinds and words and not words[0].startswith("-") else []
        options = {word.split("=")[0] for word in words if word.startswith("--")}
        if verb not in VERBS or any(word not in kinds for word in kind):
            wrong.append(" ".join(["privet", verb, *kind]))
        elif options:
            with pytest.raises(SystemExit):
                main([verb, *kind, "--help"])
            known = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
            wrong += [" ".join(["privet", verb, *kind, option]) for option in sorted(options - known)]
    return wrong


SHOWN = [page for page in PAGES if page.name != "CHANGELOG.md"]  # which has names of their day
SHOWN += sorted((ROOT / "examples").glob("*.toml"))


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_on_the_page_exist(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert wrong_commands(page.read_text(), capsys) == []


def test_commands_that_do_not_exist_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    page = """
`privet attack tables --seconds 5`, `privet audit`, `privet protect`, `privet attack records x.csv`
```console
$ privet query v "SELECT 1 WHERE age > 60 -- 2" \\
    --epsilon 1 --sede 3  # --no-option
$ privet describe a.csv --public && privet add v a.csv --colums a.toml
```
"""
    wrong = wrong_commands(page, capsys)
    assert wrong == [
        "privet query --sede", "privet add --colums", "privet protect", "privet attack records",
    ]  # fmt: skip
    assert sum(len(list(shown_commands(page.read_text()))) for page in SHOWN) >= 80


def test_what_the_page_shows_is_read_as_written() -> None:
    page = "$ one a    # exit code 3 here\nfirst\n...\n$ two $HOME\n$ three\nprivet: no\n  remedy: yes\n"
    asks = list(commands(page))
    assert asks == [
        ("one a    # exit code 3 here", ["first"]),
        ("two $HOME", []),
        ("three", ["privet: no", "  remedy: yes"]),
    ]
    assert [exit_code(*ask) for ask in asks] == [3, 0, 2]


def test_a_command_that_does_something_else_is_told(tmp_path: Path) -> None:
    write_tables(tmp_path)
    assert run("head -n 1 wards.csv", ["ward,floor"], tmp_path) is None
    assert run("echo no >&2 && exit 2", ["privet: no"], tmp_path) == (
        "echo no >&2 && exit 2\nsaid ['no'], and the page says ['privet: no']"
    )
    assert run("echo why >&2 && exit 3", [], tmp_path) == "echo why >&2 && exit 3\nended with 3: why\n"
