"""Every claim in the code stands in docs/claims.md with its statement, source and test, and the other way round."""

from __future__ import annotations

import ast
import functools
import importlib

import pytest
from support.places import ROOT, TESTS

import privet
from privet.core.claim import CLAIMS

SOURCE = ROOT / "src"


def rows() -> dict[str, list[str]]:
    """id -> [statement, source, code, test] from the table of docs/claims.md."""
    table = {}
    for line in (ROOT / "docs" / "claims.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) == 5:
            assert cells[0] not in table, f"{cells[0]} stands there twice"
            table[cells[0].strip("`")] = cells[1:]
    return table


@pytest.fixture(scope="module", autouse=True)
def import_all() -> None:
    """Every file that claims something, wherever it stands."""
    for path in SOURCE.rglob("*.py"):
        if "@claim(" in path.read_text(encoding="utf-8"):
            parts = path.relative_to(SOURCE).with_suffix("").parts
            importlib.import_module(".".join(part for part in parts if part != "__init__"))


def test_both_sides_name_the_same_claims() -> None:
    assert set(rows()) == set(CLAIMS)


def test_each_row_names_the_code_that_claims_it() -> None:
    for name, (statement, source, code, _) in rows().items():
        listed = {f"privet.{place.strip('` ')}" for place in code.split(",")}
        assert listed == set(CLAIMS[name]), name
        assert len(statement) > 20, name
        assert len(source) > 5, name


@functools.cache
def functions_in(file: str) -> set[str]:
    """Many rows name the same file."""
    (path,) = TESTS.rglob(file)
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_row_names_tests_that_exist() -> None:
    for name, (*_, tests) in rows().items():
        for place in tests.split(","):
            file, _, function = place.strip("` ").partition("::")
            assert function in functions_in(file), f"{name}: tests/{file} has no {function}"


def test_each_claim_has_its_reason_on_the_page() -> None:
    page = (ROOT / "docs" / "claims.md").read_text()
    for name in CLAIMS:
        assert f"\n### {name}\n" in page, f"docs/claims.md lacks the section '### {name}'"


def test_a_claim_can_be_made_twice() -> None:
    assert len(CLAIMS["laplace-pure-loss"]) == 2
    assert privet.__version__
