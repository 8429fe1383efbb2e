"""What analysts ask, asked: every question of questions.sql is answered, or refused with a word of why and a remedy."""

from __future__ import annotations

import json
import re
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
        ((name, size),) = [item for item in part["law"].items() if item[0] in ("scale", "variance", "rate", "rates")]
        part["law"][name] = [halved("rate", one) for one in size] if name == "rates" else halved(name, size)
        assert any("smaller than the price" in problem for problem in recheck.problems(stated))
        part["law"][name] = size


def halved(name: str, size: str) -> str:
    """Half the noise."""
    return str(Fraction(size) * 2 if name == "rate" else Fraction(size) / (4 if name == "variance" else 2))


def test_there_are_a_hundred_and_most_are_answered() -> None:
    assert len(ASKED) >= 100
    assert sum(one.refused is None for one in ASKED) >= 85
    assert len({one.sql for one in ASKED}) == len(ASKED)
    assert {one.vault for one in ASKED} == set(tables())


def test_the_page_lists_them_all() -> None:
    assert PAGE.read_text() == page_of(ASKED), "run `python tests/support/questions.py`"


@pytest.mark.parametrize("outer", ["AVG", "SUM", "STDDEV", "MEDIAN", "MAX"])
@pytest.mark.parametrize("total", ["COUNT(*)", "COUNT(cost)", "COUNT(DISTINCT ward)", "SUM(cost)", "SUM(0 - cost)"])
def test_the_words_to_add_to_a_total_without_a_limit(vaults: dict[str, Vault], outer: str, total: str) -> None:
    """The remedy, typed in, is answered; so is its form for data frames."""
    vault = vaults["hospital"]
    text = f"SELECT {outer}(t) AS a FROM (SELECT patient_id, {total} AS t FROM visits GROUP BY patient_id)"
    with raises_code(pv.errors.RefusedQueryError, "unbounded") as refused:
        vault.sql(text, epsilon=2)
    (written,) = re.findall(r"write (.*) instead of", refused.value.remedy)
    asked = vault.sql(text.replace(total, written.replace("SUM(x)", total)), epsilon=2)
    assert asked.release().rows
    (call,) = re.findall(r"with frames (.*)$", refused.value.remedy)
    given = eval(call, {"pv": pv}) if "(x)" not in written else None
    if given is not None and outer == "AVG":
        framed = vault.table("visits").per_unit(t=given).agg(a=pv.mean("t")).query(epsilon=2)
        assert framed.cost == asked.cost
