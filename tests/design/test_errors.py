"""Every refusal has a code, and every code stands on the page of errors. Words can then be edited freely."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from support.places import ROOT
from support.refusals import expect_code

from privet import errors

LISTED = re.findall(r"^\| `([a-z0-9-]+)` \|", (ROOT / "docs/reference/errors.md").read_text(), re.MULTILINE)
OF_CLASSES = {one.code for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Exception)} - {""}
SOURCE = sorted((ROOT / "src/privet").rglob("*.py"))
CODED = ("InvalidInputError", "RefusedQueryError")  # other classes may rely on their own code


@cache
def source() -> dict[Path, ast.Module]:
    """Files that refuse something. Parsed by the tests that need them: at import, each process that collects tests
    would spend seconds on it."""
    texts = {path: path.read_text() for path in SOURCE}
    return {path: ast.parse(text) for path, text in texts.items() if any(name in text for name in CODED)}


def refusals(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CODED:
            yield node


def has_code(call: ast.Call) -> bool:
    return len(call.args) == 3 or any(isinstance(one, ast.Starred) for one in call.args[:-1])


def codes(tree: ast.AST) -> set[str]:
    """Literals in the place of a code."""
    calls = [call for call in refusals(tree) if has_code(call)]
    return {
        part.value
        for call in calls
        for part in ast.walk(call.args[-1])
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and "-" in part.value
    }


def test_every_refusal_has_a_code() -> None:
    missing = [
        f"{path.name}:{call.lineno}" for path, tree in source().items() for call in refusals(tree) if not has_code(call)
    ]
    assert missing == []


def test_a_refusal_without_a_code_is_seen() -> None:
    (call,) = refusals(ast.parse('raise InvalidInputError("problem", "remedy")'))
    assert not has_code(call)


def test_the_page_lists_every_code_once() -> None:
    used = OF_CLASSES | {code for tree in source().values() for code in codes(tree)}
    assert sorted(used - set(LISTED)) == []
    assert sorted(LISTED) == sorted(set(LISTED))


def test_every_listed_code_is_used() -> None:
    texts = "\n".join(path.read_text() for path in SOURCE)
    assert [code for code in LISTED if f'"{code}"' not in texts] == []


@pytest.mark.parametrize("code", sorted(OF_CLASSES))
def test_a_class_has_its_own_code(code: str) -> None:
    (kind,) = (one for one in vars(errors).values() if isinstance(one, type) and getattr(one, "code", "") == code)
    assert kind("problem", "remedy").code == code
    assert kind("problem", "remedy", "another").code == "another"
    assert str(kind("problem", "remedy", "another")) == "problem\n  remedy: remedy"


# Tests expect codes, not sentences


def matched(tree: ast.AST) -> Iterator[ast.Call]:
    """Where a test expects words of one of our errors."""
    ours = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "raises"
            and node.args
        ):
            names = {getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node.args[0])}
            words = [ast.unparse(word.value) for word in node.keywords if word.arg == "match"]
            if names & ours and any("remedy: " not in word for word in words):
                yield node


def test_no_test_expects_sentences_of_our_errors() -> None:
    texts = {path: path.read_text() for path in sorted((ROOT / "tests").rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items() if "match=" in text}
    assert [f"{path.name}:{call.lineno}" for path, tree in trees.items() for call in matched(tree)] == []


def test_an_expected_sentence_is_seen() -> None:
    assert list(matched(ast.parse('pytest.raises((ValueError, errors.LedgerError), match="is closed")')))
    assert not list(matched(ast.parse('pytest.raises(ValueError, match="zip")')))


@pytest.mark.parametrize(
    "expected",
    ["unknown-table", "unknown-column: 'name'", "unknown-column: 4", "unknown-column: 41 … age", "unknown"],
)
def test_an_error_that_is_not_the_expected_one_is_seen(expected: str) -> None:
    with pytest.raises(AssertionError):
        expect_code(expected, errors.InvalidInputError("41 columns, none is 'ages'", "name one", "unknown-column"))


def test_an_error_that_is_the_expected_one() -> None:
    error = errors.InvalidInputError("41 columns, none is 'ages'", "name one", "unknown-column")
    for expected in (
        "unknown-column",
        "unknown-table|unknown-column: 41",
        "unknown-column: 41 columns … 'ages'",
    ):
        assert expect_code(expected, error)
