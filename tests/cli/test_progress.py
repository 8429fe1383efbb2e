"""Long work is never silent: a line after two seconds, with an estimate; and nothing where nobody looks."""

from __future__ import annotations

import argparse
import io
import sys
import threading
from dataclasses import replace

import pytest

from privet import cli
from privet.cli import progress


class Terminal(io.StringIO):
    """`wrote` is set whenever something is written."""

    def __init__(self) -> None:
        super().__init__()
        self.wrote = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        count = super().write(text)
        self.wrote.set()
        return count


def opened(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Called in the test itself: pytest sets its own stderr after fixtures."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    monkeypatch.setattr(progress, "NEWS", 0.01)
    return terminal


def until(screen: Terminal, words: str) -> None:
    """As long as it takes: the sign writes again and again."""
    while words not in screen.getvalue():
        screen.wrote.wait(1)
        screen.wrote.clear()


def test_every_command_shows_a_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that says nothing of its progress is named. The line is gone before the answer."""
    screen = opened(monkeypatch)

    def long_work(_options: argparse.Namespace) -> None:
        until(screen, "privet: meaning, ")
        print("the answer", file=sys.stderr)

    monkeypatch.setitem(cli.VERBS, "meaning", replace(cli.VERBS["meaning"], run=long_work))
    assert cli.main(["meaning", "--epsilon", "1"]) == 0
    last = screen.getvalue().rpartition("\r")[2]
    assert last == "the answer\n"
    assert " \rthe answer" in screen.getvalue()


def test_what_is_done_and_how_far(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = opened(monkeypatch)
    with progress.alive("check"), progress.counting() as tell:
        tell("proving", 3, 30)
        until(screen, "privet: proving, 3 of 30, 0 s, about ")
        with progress.working("reading"):
            until(screen, "privet: reading, ")
    assert screen.getvalue().endswith(" \r")


def test_nothing_is_said_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    before = threading.active_count()
    with progress.alive("check"), progress.working("reading"), progress.counting() as tell:
        tell("proving", 1, 30)
        assert threading.active_count() == before
    assert pipe.getvalue() == ""


def test_what_is_quick_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "PATIENCE", 1e6)
    with progress.alive("check"), progress.working("reading"):
        pass
    assert screen.getvalue() == ""


@pytest.mark.parametrize(
    ("done", "of", "elapsed", "line"),
    [
        (0, 0, 5, "privet: reading, 5 s"),
        (0, 30, 5, "privet: reading, 0 of 30, 5 s"),
        (10, 30, 5, "privet: reading, 10 of 30, 5 s, about 10 s left"),
        (1, 1000, 5, "privet: reading, 1 of 1,000, 5 s"),
        (100, 10_000, 60, "privet: reading, 100 of 10,000, 60 s"),
        (500, 10_000, 60, "privet: reading, 500 of 10,000, 60 s, about 19 min left"),
        (500, 10_000, 3600, "privet: reading, 500 of 10,000, 3600 s, about 19 h left"),
        (30, 30, 5, "privet: reading, 30 of 30, 5 s"),
    ],
)
def test_the_estimate(done: int, of: int, elapsed: float, line: str) -> None:
    sign = progress.Sign(Terminal(), "reading")
    sign.tell("reading", done, of)
    sign.since = sign._begun = 100.0
    assert sign.line(100.0 + elapsed) == line
