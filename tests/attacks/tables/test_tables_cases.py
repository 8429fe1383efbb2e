"""Published tables that an attack once called harmless, or answered by the clock: each test fails on that code."""

from __future__ import annotations

import time
from typing import Any

import pytest
from support.places import EXAMPLES

from privet.attacks import Knowledge, attack_tables, published_tables, read_tables
from privet.attacks.finding import Findings
from privet.report.findings.page import page_of
from privet.report.page import to_html

CLINIC = {"race": ["White", "Black", "Other"], "sex": ["F", "M"], "hiv": ["no", "yes"]}


def cell(count: Any, **values: str) -> dict[str, Any]:
    where = " AND ".join(f"{name} = '{value}'" for name, value in values.items())
    return {"name": ", ".join(values.values()) or "everybody", **({"where": where} if where else {}), "count": count}


ONE_OTHER = [  # 42 people: race by sex, and HIV where there were positive tests
    cell(42),
    *(cell(n, race=r) for r, n in (("White", 26), ("Black", 15), ("Other", 1))),
    *(cell(n, race=r, sex="F") for r, n in (("White", 12), ("Black", 7), ("Other", 1))),
    cell(1, race="Other", hiv="yes"),
]


def attacked(statistics: list[dict[str, Any]], *public: str) -> Findings:
    return attack_tables(published_tables(CLINIC, statistics), Knowledge(public=public), repair=False)


def says_hiv(found: Findings) -> bool:
    """That the only person of race Other has HIV, and that one need not know the HIV status to learn it."""
    return any(one.claim.startswith("the only person with race Other has ") and "hiv yes" in one.claim
               for one in found.findings)  # fmt: skip


def test_one_person_of_a_race_and_one_with_hiv_is_told() -> None:
    assert says_hiv(attacked(ONE_OTHER))


def test_it_is_told_whatever_else_is_public() -> None:
    assert [says_hiv(attacked(ONE_OTHER, *public)) for public in (("race",), ("race", "sex"), ("sex", "race"))] == [
        True, True, True,
    ]  # fmt: skip


def test_a_band_of_ages_is_no_obstacle() -> None:
    """Single years are declared, a band is published; other counts end elsewhere."""
    statistics = [
        {"name": "all", "count": 30},
        {"name": "children", "where": "age <= 17", "count": 1},
        {"name": "ill children", "where": "age <= 17 AND ill", "count": 1},
        {"name": "young", "where": "age <= 24", "count": {"below": 5}},
        {"name": "ill", "where": "ill", "count": 9},
    ]
    tables = published_tables({"age": {"min": 0, "max": 99}, "ill": "boolean"}, statistics)
    found = attack_tables(tables, Knowledge(public=("age",)), repair=False)
    assert [one.claim for one in found.findings if "has ill" in one.claim] == [
        "the only person with age 0 to 17 has ill yes"
    ]


def test_people_facts_and_cells_are_counted_apart() -> None:
    """In the headline, on the page and for programs."""
    found = attacked([*ONE_OTHER, cell({"below": 20}, race="Black", hiv="no"), cell(0, race="Black", hiv="yes")])
    people, facts, cells = found.headline.split("; ")
    assert people.endswith(" of 42 people are certain")
    assert facts.endswith("things are learned about known people")
    assert cells == "1 of 1 suppressed cell is undone"
    told = found.to_json()
    assert people.startswith(f"{told['told_apart']} of ")
    assert facts.startswith(f"{told['learned']} things")
    assert told["undone"] == 1
    assert found.headline in to_html(page_of(found))


def test_certain_by_what_was_published_is_no_finding() -> None:
    """Race and sex of everybody stand in the table, and no cell is small."""
    table = [cell(n, race=r, sex=s) for r, s, n in (
        ("White", "F", 12), ("White", "M", 10), ("Black", "F", 7), ("Black", "M", 5), ("Other", "F", 5),
        ("Other", "M", 3),
    )]  # fmt: skip
    found = attacked([cell(42), *table])
    assert (found.certain, found.findings) == (0, ())
    assert found.headline.startswith("None of 42 people is certain")


def test_a_slow_clock_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock finds an hour gone."""
    hours = iter(range(0, 10**9, 3600))
    before = attacked(ONE_OTHER, "race").to_json()
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        monkeypatch.setattr(time, name, lambda: float(next(hours)))
    assert attacked(ONE_OTHER, "race").to_json() == before


def test_work_that_ran_out_is_never_called_nobody() -> None:
    """A data set is found, and no work is left to decide anything about the seven people."""
    found = attack_tables(read_tables(EXAMPLES / "census-block.toml"), seconds=0.3, repair=False)
    assert not found.headline.startswith(("Nobody", "None"))
    assert "not everything was searched: 7 people not decided" in found.headline
