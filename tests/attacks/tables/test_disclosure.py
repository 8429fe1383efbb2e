"""What is learned about people whom one knows, for every subset of what is known, against every data set that fits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from support.made_releases import disclosed, exactly, solved
from support.random_tables import random_system
from support.refusals import raises_code
from support.table_disclosures import Compared

from privet.attacks import Between, Knowledge, Mean, Statistic, Strength, Tables, attack_tables, published_tables
from privet.attacks.finding import Findings
from privet.attacks.proofs.work import Work
from privet.attacks.tables import disclosure as disclosure_module
from privet.attacks.tables.decide import Decided, Decider, Decision
from privet.attacks.tables.disclosure import learned
from privet.attacks.tables.outcome import ABSENT, LEARNED
from privet.core.expression import Column, Compare, Literal, Relation
from privet.errors import InvalidInputError

FEMALE = Compare(Relation.EQUAL, Column("sex"), Literal("F"))
ATTRIBUTES = {"race": ["White", "Black", "Other"], "sex": ["F", "M"], "hiv": ["no", "yes"]}


def cell(count: Any, **values: str) -> dict[str, Any]:
    where = " AND ".join(f"{name} = '{value}'" for name, value in values.items())
    return {"name": ", ".join(values.values()) or "everybody", **({"where": where} if where else {}), "count": count}


CLINIC = [  # 42 people: race by sex, and HIV where there were positive tests
    cell(42),
    *(cell(n, race=r) for r, n in (("White", 26), ("Black", 15), ("Other", 1))),
    *(cell(n, race=r, sex="F") for r, n in (("White", 12), ("Black", 7), ("Other", 1))),
    *(cell(n, race=r, sex="M") for r, n in (("White", 14), ("Black", 8), ("Other", 0))),
    cell(1, race="Other", hiv="yes"),
]


def attacked(statistics: list[dict[str, Any]], **named: Any) -> Findings:
    public = named.pop("public", ())
    tables = published_tables(ATTRIBUTES, statistics, **named)
    return attack_tables(tables, Knowledge(public=tuple(public)), repair=False)


def claims(found: Findings, section: str = LEARNED) -> list[str]:
    return [one.claim for one in found.findings if one.section == section]


def test_the_only_person_of_a_race_has_hiv() -> None:
    """What was published about race and sex anyway is no finding; that this person has HIV is one."""
    found = attacked(CLINIC)
    assert claims(found) == ["the only person with race Other has sex F, hiv yes"]
    assert found.numbers["told_apart"] == found.proven == 1  # race, sex and HIV together stand in no table
    assert found.numbers["learned"] == 2
    assert found.numbers["certain_as_published"] == 41
    assert found.headline == "1 of 42 people is certain; 2 things are learned about known people"
    assert found.alarm == "bad"


def test_certain_by_a_published_cell_alone_is_no_finding() -> None:
    """The table of race and sex itself, with no small cell: everybody's race and sex are certain."""
    table = [cell(42), *(cell(n, race=r, sex=s) for r, s, n in (
        ("White", "F", 12), ("White", "M", 10), ("Black", "F", 7), ("Black", "M", 5), ("Other", "F", 5),
        ("Other", "M", 3),
    ))]  # fmt: skip
    found = attacked(table)
    assert found.findings == ()
    assert (found.proven, found.numbers["certain_as_published"], found.alarm) == (0, 42, "good")
    assert found.headline == "None of 42 people is certain and nothing is learned about a known person"


def test_more_public_attributes_never_find_less() -> None:
    before: set[tuple[str, str]] = set()
    for public in (["race"], ["race", "sex"], ["race", "sex", "hiv"]):
        found = attacked(CLINIC, public=public)
        now = {
            (one.claim.partition(" has ")[0], name)
            for one in found.findings
            if one.section == LEARNED
            for name in one.record
        }
        assert before <= now
        before = now
    assert ("the only person with race Other", "hiv") in before


def test_what_is_learned_about_a_public_attribute_is_listed_and_no_alarm() -> None:
    table = [cell(42), cell(1, race="Other"), cell(1, race="Other", sex="F"), cell(20, sex="F")]
    found = attacked(table, public=["race", "sex"])
    assert claims(found) == ["the only person with race Other has sex F"]
    assert (found.numbers["learned"], found.numbers["learned_public"]) == (0, 1)
    assert found.alarm == "good"
    assert attacked(table, public=["race"]).numbers["learned"] == 1


def test_bands_are_no_obstacle() -> None:
    """Single years are declared, bands are published, and the two tables use different ones."""
    statistics = [
        {"name": "all", "count": 30},
        {"name": "children", "where": "age <= 17", "count": 1},
        {"name": "ill children", "where": "age <= 17 AND ill", "count": 1},
        {"name": "young", "where": "age <= 24", "count": {"below": 5}},
        {"name": "ill", "where": "ill", "count": 9},
    ]
    attributes = {"age": {"min": 0, "max": 99}, "ill": "boolean"}
    found = attack_tables(published_tables(attributes, statistics), repair=False)
    assert claims(found) == ["the only person with age 0 to 17 has ill yes"]
    young = [*statistics[:1], {"name": "young", "where": "age <= 24", "count": 1},
             {"name": "ill young", "where": "age <= 24 AND ill", "count": 1},
             {"name": "children", "where": "age <= 17", "count": {"below": 3}}]  # fmt: skip
    found = attack_tables(published_tables(attributes, young), repair=False)
    assert claims(found) == ["the only person with age 0 to 24 has ill yes"]


def test_a_rule_that_anybody_knows_is_nothing_learned() -> None:
    table = [cell(9), cell(4, sex="M"), cell(0, sex="M", hiv="yes"), cell(2, hiv="yes")]
    assert claims(attacked(table)) == ["all 2 people with hiv yes have sex F", "all 4 people with sex M have hiv no"]
    ruled = attacked(table, rules={"known": "sex = 'F' OR hiv = 'no'"})
    assert claims(ruled) == []


def test_a_suppressed_group_of_which_one_value_is_left() -> None:
    """Nobody need be there; who knows that somebody is learns the value."""
    table = [cell(30), cell({"below": 3}, race="Other"), cell(0, race="Other", hiv="no"), cell(9, hiv="yes")]
    found = attacked(table)
    assert claims(found) == []
    assert claims(found, ABSENT) == ["anybody of “Other” who is in the data has hiv yes"]
    assert (found.alarm, found.numbers["learned"], found.numbers["learned_if_present"]) == ("neutral", 0, 1)


def test_every_subset_of_what_is_public_as_by_enumeration() -> None:
    compared = [Compared(random_system(seed)).disclosures() for seed in range(60)]
    assert [one.wrong for one in compared if one.wrong] == []
    assert sum(one.facts for one in compared) > 200


@pytest.mark.proof
def test_300_systems_for_every_subset_of_what_is_public() -> None:
    compared = [Compared(random_system(seed)).disclosures() for seed in range(1000, 1300)]
    assert [one.wrong for one in compared if one.wrong] == []
    assert sum(one.facts for one in compared) > 1000


def test_a_search_that_believes_every_candidate_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison fails if one value of those that were met is taken, and nobody looks whether others are possible.
    With the look, such candidates are refused."""
    met = disclosure_module._Search._classes
    first = lambda self, cells, name: frozenset(sorted(met(self, cells, name))[:1])  # noqa: E731
    monkeypatch.setattr(disclosure_module._Search, "_classes", first)
    monkeypatch.setattr(Decider, "decide", lambda _self, claim, _work: Decided(claim, Decision.HOLDS))
    assert any(Compared(random_system(seed)).disclosures().wrong for seed in range(60))


def test_a_search_that_skips_pairs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison fails if people are known by one attribute only."""
    children = disclosure_module._Search._children
    monkeypatch.setattr(
        disclosure_module._Search, "_children", lambda self, node: () if node.known else children(self, node)
    )
    assert any(Compared(random_system(seed)).disclosures().wrong for seed in range(60))


def ward(**counts: int) -> Tables:
    """Sexes counted, and the mean age of the women."""
    half = Fraction(1, 2)
    mean = Mean("age", Between(Fraction(40) - half, Fraction(40) + half))
    return Tables(
        attributes={"sex": ("F", "M"), "age": tuple(Fraction(n) for n in range(100))},
        statistics=(
            Statistic(name="everybody", count=exactly(counts["all"])),
            Statistic(name="women", where=FEMALE, count=exactly(counts["F"]), measures=(mean,)),
        ),
        public=("sex",),
    )


def test_the_range_of_one_persons_number_and_of_nobody_elses() -> None:
    one = attack_tables(ward(all=3, F=1), repair=False)
    assert claims(one) == ["the only person with sex F has age 40"]
    assert "1 thing is learned about known people" in one.headline
    assert one.numbers["learned"] == one.numbers["disclosed"] == 1
    assert claims(attack_tables(ward(all=5, F=2), repair=False)) == []


def test_a_range_with_two_ends() -> None:
    """A mean to 0 decimals of one person: 39.5 to 40.5 in steps of a quarter."""
    quarters = tuple(Fraction(n, 4) for n in range(400))
    tables = ward(all=3, F=1)
    fine = Tables(attributes={**tables.attributes, "age": quarters}, statistics=tables.statistics, public=("sex",))
    told = [f for f in attack_tables(fine, repair=False).findings if f.section == LEARNED]
    assert told[0].claim == "the only person with sex F has age 39.5 to 40.5"
    assert told[0].evidence == ("everybody", "women")


def test_attributes_that_no_statistic_tells_apart_name_nobody() -> None:
    ill = Compare(Relation.EQUAL, Column("ill"), Literal(True))
    known = Compare(Relation.UNEQUAL, Column("sex"), Literal("X"))
    tables = Tables(
        attributes={"sex": ("F", "M"), "ill": (False, True)},
        statistics=(Statistic(name="all", count=exactly(2)), Statistic(name="ill", where=ill, count=exactly(1))),
        rules={"any": known},
    )
    assert disclosed(solved(tables), "sex") == []


def test_noisy_tables_give_confidence_and_no_proof() -> None:
    sure = ward(all=3, F=1)
    noisy = Tables(attributes=sure.attributes, statistics=sure.statistics, public=("sex",), confidence=Fraction(9, 10))
    found = attack_tables(noisy, repair=False)
    assert {finding.strength for finding in found.findings} == {Strength.CONFIDENCE}
    assert {finding.confidence for finding in found.findings} == {0.9}
    assert "at least 90% sure" in found.assumptions[0]
    assert found.alarm == "bad"


def test_no_work_finds_nothing_and_says_so() -> None:
    found = solved(ward(all=3, F=1))
    result = learned(found, Knowledge(), Decider(found), Work(0))
    assert (result.facts, result.complete, result.searched) == ([], False, 0)


def test_an_unknown_public_attribute_is_named() -> None:
    with raises_code(InvalidInputError, "unknown-attribute: 'wage'"):
        attack_tables(ward(all=3, F=1), Knowledge(public=("wage",)), repair=False)
