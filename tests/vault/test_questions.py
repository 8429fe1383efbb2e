"""What analysts ask, asked: every question of questions.sql is answered, or refused with a word of why and a remedy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from support.questions import ASKED, PAGE, Asked, page_of, tables
from support.refusals import raises_code

import privet as pv
from privet import recheck
from privet.vault import Vault


@pytest.fixture(scope="module")
def vaults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Vault]]:
    folder, found = tmp_path_factory.mktemp("questions"), {}
    for name, made in tables().items():
        found[name] = pv.create(folder / name, budget=pv.Budget(1000, "1e-3"), testing=True)
        for table, one in made.items():
            found[name].add_table(table, one.rows, **one.declared)
    yield found
    for vault in found.values():
        vault.close()


@pytest.mark.parametrize("one", ASKED, ids=[f"{number}-{one.vault}" for number, one in enumerate(ASKED)])
def test_a_question_is_answered_or_refused_with_a_remedy(vaults: dict[str, Vault], one: Asked) -> None:
    vault = vaults[one.vault]
    before = vault.budget.spent
    if one.refused is not None:
        with raises_code(pv.errors.RefusedQueryError, one.refused):
            vault.sql(one.sql, epsilon=2, **one.options)
        assert vault.budget.spent == before
        return
    query = vault.sql(one.sql, epsilon=2, **one.options)
    assert "Nothing" in query.explain() or query.explain()
    answer = query.release()
    assert answer.rows
    assert set(answer.rows[0]) == set(query.plan.outputs)
    check_price(json.loads(json.dumps(answer.to_json()))["guarantee"])


def check_price(stated: dict[str, Any]) -> None:
    """As anybody can who has the answer: its price is right, and would be too low with half the noise in any part."""
    assert recheck.problems(stated) == []
    for part in stated["parts"]:
        ((name, size),) = [item for item in part["law"].items() if item[0] != "name"]
        part["law"][name] = str(
            Fraction(size) * 2 if name == "rate" else Fraction(size) / (4 if name == "variance" else 2)
        )
        assert any("smaller than the price" in problem for problem in recheck.problems(stated))
        part["law"][name] = size


def test_there_are_a_hundred_and_most_are_answered() -> None:
    assert len(ASKED) >= 100
    assert sum(one.refused is None for one in ASKED) >= 85
    assert len({one.sql for one in ASKED}) == len(ASKED)
    assert {one.vault for one in ASKED} == set(tables())


def test_the_page_lists_them_all() -> None:
    assert PAGE.read_text() == page_of(ASKED), "run `python tests/support/questions.py`"
