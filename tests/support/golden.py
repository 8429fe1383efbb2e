"""Golden files: the complete words of a report or a help text, kept beside the tests that make them.

`PRIVET_GOLDEN=write` writes all of them anew. Otherwise a difference fails the test, which shows it line by line.
"""

from __future__ import annotations

import difflib
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from privet import __version__

WRITE = os.environ.get("PRIVET_GOLDEN") == "write"
REFRESH = "PRIVET_GOLDEN=write python -m pytest tests/report/test_golden.py tests/cli/test_golden_help.py"
LINES = {"title", "h1", "h2", "p", "li", "tr", "caption", "figcaption", "text", "div", "span"}  # on lines of their own


def same_words(path: Path, text: str) -> None:
    """Fails unless the golden file holds this text."""
    found = f"{text.rstrip()}\n".replace(f"Privet {__version__}", "Privet VERSION")
    if WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    if kept != found:
        changes = difflib.unified_diff(
            kept.splitlines(), found.splitlines(), path.name, "what is said now", lineterm=""
        )
        pytest.fail("\n".join([*changes, "", f"If this is meant: {REFRESH}"]), pytrace=False)


def no_others(folder: Path, names: set[str]) -> None:
    """Fails if a golden file belongs to no test."""
    others = sorted(path for path in folder.iterdir() if path.stem not in names)
    if WRITE:
        for path in others:
            path.unlink()
        others = []
    assert [path.name for path in others] == []


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.inside: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside.append(tag)
        self.words.append(" " if tag not in LINES else "\n")

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:  # meta and link have no end
            pass
        self.words.append(" " if tag not in LINES else "\n")

    def handle_data(self, data: str) -> None:
        scale = "text" in self.inside and not any(letter.isalpha() for letter in data)  # numbers along an axis
        if "style" not in self.inside and not scale:
            self.words.append(data)


def words_of_page(html: str) -> str:
    """The text of a page without its markup: a paragraph, list item, row or label of a picture per line."""
    reader = _Words()
    reader.feed(html)
    lines = (re.sub(r"\s+", " ", line).strip() for line in "".join(reader.words).split("\n"))
    return "\n".join(line for line in lines if line)
