"""What analysts ask, asked: every question of questions.sql is answered, or refused with a word of why and a remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from questions import Asked, tables

import privet as pv
from privet import recheck
from privet.vault import Vault

HERE = Path(__file__).parent
HEAD = re.compile(r"-- (?P<vault>\w+) \| (?P<words>[^{]*?)\s*(?P<options>\{.*\})?\n(-- refused: (?P<refused>.*)\n)?")


def asked() -> list[Asked]:
    found = []
    for block in (HERE / "questions.sql").read_text().strip().split("\n\n"):
        head = HEAD.match(block)
        assert head is not None, block
        found.append(
            Asked(
                vault=head["vault"],
                words=head["words"],
                sql=block[head.end() :].strip().rstrip(";"),
                options=json.loads(head["options"] or "{}"),
                refused=head["refused"],
            )
        )
    return found


ASKED = asked()


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
        with pytest.raises(pv.errors.RefusedQueryError) as refusal:
            vault.sql(one.sql, epsilon=2, **one.options)
        assert one.refused in str(refusal.value)
        assert refusal.value.remedy
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
    page = (HERE.parent / "docs/questions.md").read_text()
    assert page == page_of(ASKED), "run `python tests/test_questions.py`"


TITLES = {
    "hospital": "A hospital",
    "genes": "A gene study: genotype and phenotype",
    "web": "A web site",
    "outbreak": "An outbreak",
    "trade": "Customers of a trading company (the TPC-H questions that aggregate over customers)",
}


def page_of(listed: list[Asked]) -> str:
    answered = sum(one.refused is None for one in listed)
    lines = [
        "# What analysts ask",
        "",
        f"{len(listed)} questions in the SQL that people write: {answered} are answered, {len(listed) - answered} are"
        " refused with what to write instead. They are run by the tests (`tests/questions.sql`, made-up tables in"
        " `tests/questions.py`); this page is made from them.",
    ]
    for vault, title in TITLES.items():
        lines += ["", f"## {title}"]
        for one in listed:
            if one.vault == vault:
                mark = "" if one.refused is None else " (refused)"
                options = "".join(f", {name}={value!r}" for name, value in one.options.items())
                lines += [
                    "",
                    f"**{one.words}**{mark}" + (f" with{options[1:]}" if options else ""),
                    "",
                    "```sql",
                    one.sql,
                    "```",
                ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (HERE.parent / "docs/questions.md").write_text(page_of(ASKED))
