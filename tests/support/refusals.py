"""Refusals by their codes: what a test expects when Privet refuses something, without its sentences.

A test expects a code, as in "unknown-column", or a code and facts that the message must contain as whole words, as in
"unknown-column: 'age'" or "too-many: 41 … 40". Facts are names and numbers; where one code stands for several mistakes,
a fact is a word that tells them apart. "cannot-write|unreadable-file" allows two codes.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TypeVar

import pytest

from privet import cli
from privet.errors import PrivetError
from privet.report.terminal import one_line
from support.places import ROOT

E = TypeVar("E", bound=PrivetError)
LISTED = set(re.findall(r"^\| `([a-z0-9-]+)` \|", (ROOT / "docs/reference/errors.md").read_text(), re.MULTILINE))


def raises_code(kind: type[E] | tuple[type[E], ...], expected: str) -> pytest.RaisesExc[E]:
    """Passes if the block raises this kind of error, with the code and the facts of `expected`."""
    return pytest.raises(kind, check=partial(expect_code, expected))


def expect_code(expected: str, error: PrivetError) -> bool:
    """Fails unless the error has the expected code and facts, a problem and a remedy."""
    codes, _, facts = expected.partition(": ")
    said = f"{error.problem}\n{error.remedy}"  # without the place, which quotes what the user wrote
    assert error.code in codes.split("|"), f"the code is {error.code}, not {codes}: {said}"
    assert error.code in LISTED, f"{error.code} is not on the page of errors"
    missing = [fact for fact in facts.split(" … ") if not _whole(fact).search(said)]
    assert not missing, f"{missing} is not in: {said}"
    assert error.problem, "there is no problem"
    assert error.remedy, f"there is no remedy: {said}"
    return True


def _whole(fact: str) -> re.Pattern[str]:
    """Finds whole words only: 4 is not in 41."""
    before, after = (r"\b" if letter.isalnum() else "" for letter in (fact[:1], fact[-1:]))
    return re.compile(before + re.escape(fact) + after)


def failed(words: list[str], capsys: pytest.CaptureFixture[str]) -> PrivetError:
    """The error with which the command line ends: one line says it, a remedy is below."""
    return _failed(words, capsys)[0]


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> PrivetError:
    """The error with which the command line refuses these words as bad input. Nothing else is printed."""
    error, out = _failed(words, capsys)
    assert cli.exit_code(error) == cli.BAD_INPUT
    if "--json" in words:
        told = {"problem": one_line(error.problem), "place": error.place, "remedy": one_line(error.remedy)}
        assert json.loads(out) == cli.envelope("error", {"code": error.code} | told)
    else:
        assert not out
    return error


def _failed(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[PrivetError, str]:
    errors: list[PrivetError] = []
    exit_code = cli.exit_code

    def noted(error: PrivetError) -> int:
        errors.append(error)
        return exit_code(error)

    capsys.readouterr()  # what was printed before
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "exit_code", noted)
        code = cli.main(words)
    (error,) = errors
    out, err = capsys.readouterr()
    line, *place, remedy = err.splitlines()
    assert code == exit_code(error)
    assert line.startswith("privet: ")
    assert "\n".join(place) == error.place
    assert remedy.startswith("  remedy: ")
    return error, out
