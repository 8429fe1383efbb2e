"""Tests stand in folders that are named like the rooms they test, and no file imports a test."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from support.places import ROOT, SOURCE, TESTS

ELSEWHERE = {"design", "whole"}  # tests of the code base itself, and of the whole path
IMPORT = re.compile(r"^\s*(?:from|import) (test_\w+)", re.MULTILINE)  # also in code that is run in another process


def others_imported(text: str, own: str) -> set[str]:
    """The test modules that a file imports. It may import itself in another process."""
    return set(IMPORT.findall(text)) - {own}


def test_no_file_imports_a_test() -> None:
    for folder in (TESTS, ROOT / "benchmarks", ROOT / "tools"):
        for path in folder.rglob("*.py"):
            assert others_imported(path.read_text(), path.stem) == set(), path.relative_to(ROOT)


@pytest.mark.parametrize(
    "planted", ["import test_ledger", "from test_ledger import charge", 'CODE = """\nimport test_ledger as t\n"""']
)
def test_an_import_of_a_test_is_seen(planted: str) -> None:
    assert others_imported(f"import pytest\n{planted}\n", "test_engine") == {"test_ledger"}
    assert others_imported(f"import pytest\n{planted}\n", "test_ledger") == set()


def test_every_folder_has_the_name_of_a_room() -> None:
    for folder in {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}:
        room = SOURCE / folder
        assert folder.name in ELSEWHERE or room.is_dir() or room.with_suffix(".py").is_file(), f"tests/{folder}"


def test_no_two_files_have_the_same_name() -> None:
    """Files of tests are named without their folders: in lists, on pages, and by pytest."""
    names = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_only_tests_and_what_is_shared_are_there() -> None:
    for path in TESTS.rglob("*.py"):
        shared = path.is_relative_to(TESTS / "support")
        assert shared != path.name.startswith("test_") or path.name == "conftest.py", path.relative_to(TESTS)
