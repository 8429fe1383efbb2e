"""What follows about people whose public attributes are known, against every data set that fits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from support.refusals import raises_code

from privet.attacks import Between, Knowledge, Mean, Statistic, Strength, Tables, attack_tables, holds, margins
from privet.attacks.proofs.certificate import check
from privet.attacks.proofs.work import Work
from privet.attacks.tables.disclosure import disclosed
from privet.attacks.tables.reconstruction import solve
from privet.core.expression import Column, Compare, Literal, Relation
from privet.errors import InvalidInputError

ATTRIBUTES = {"sex": ("F", "M"), "ill": (False, True), "age": (Fraction(0), Fraction(1), Fraction(2))}
KINDS = [dict(zip(ATTRIBUTES, key, strict=True)) for key in itertools.product(*ATTRIBUTES.values())]
FEMALE = Compare(Relation.EQUAL, Column("sex"), Literal("F"))


def fitting(tables: Tables, people: int) -> list[Sequence[dict[str, object]]]:
    """Every data set of so many people with the same counts, by trying all of them."""

    def counts(records: Sequence[dict[str, object]]) -> list[int]:
        return [sum(holds(one.where, record) for record in records) for one in tables.statistics]

    return [
        records
        for records in itertools.combinations_with_replacement(KINDS, people)
        if all(
            one.count.low <= count <= one.count.high
            for one, count in zip(tables.statistics, counts(records), strict=True)
        )
    ]


@given(records=st.lists(st.sampled_from(KINDS), min_size=1, max_size=3), by=st.sampled_from([1, 2]))
@settings(max_examples=25, deadline=None)
def test_what_is_said_of_a_group_is_so_in_every_data_set(records: list[dict[str, object]], by: int) -> None:
    tables = margins(records, ATTRIBUTES, by)
    found = solve(tables, Work(60), 100)
    told = {tuple(f.record.items()): f for f in disclosed(found, Knowledge(public=("sex",)), Work(60))}
    everything = fitting(tables, len(records))
    for sex, word in (("F", "F"), ("M", "M")):
        groups = [[r for r in data if r["sex"] == sex] for data in everything]
        for name in ("ill", "age"):
            values = {record[name] for group in groups for record in group}
            says = [
                f
                for f in told.values()
                if f.record["sex"] == word and name in f.record and " to " not in f.record[name]
            ]
            same = len(values) == 1 and len({len(group) for group in groups}) == 1
            assert bool(says) == same, (sex, name, values)
    for finding in told.values():
        assert finding.strength is Strength.PROOF
        assert all(check(found.encoded.system, claim, proof) for claim, proof in finding.certificate)


def ward(**counts: int) -> Tables:
    """Sexes counted, and the mean age of the women."""
    exact = Between(Fraction(counts["F"]), Fraction(counts["F"]))
    everybody = Between(Fraction(counts["all"]), Fraction(counts["all"]))
    half = Fraction(1, 2)
    mean = Mean("age", Between(Fraction(40) - half, Fraction(40) + half))
    return Tables(
        attributes={"sex": ("F", "M"), "age": tuple(Fraction(n) for n in range(100))},
        statistics=(
            Statistic(name="everybody", count=everybody),
            Statistic(name="women", where=FEMALE, count=exact, measures=(mean,)),
        ),
        public=("sex",),
    )


def test_the_range_of_one_persons_number_and_of_nobody_elses() -> None:
    one = attack_tables(ward(all=3, F=1), repair=False)
    assert [finding.claim for finding in one.findings][-1] == "the only person with sex F has age 40"
    assert one.headline.endswith("something follows about 1 whose public attributes are known")
    assert one.numbers["disclosed"] == 1
    assert not [f for f in attack_tables(ward(all=5, F=2), repair=False).findings if "only person" in f.claim]


def test_a_range_that_says_nothing_is_not_told() -> None:
    """One man: his age can be anything. A kind then has all ages, which no statistic tells apart."""
    found = attack_tables(ward(all=2, F=1), repair=False)
    assert not [f for f in found.findings if "sex M" in f.claim and "only person" in f.claim]


def test_a_range_with_two_ends() -> None:
    """A mean to 0 decimals of one person who is one of two rows' members: 39.5 to 40.5 in steps of a quarter."""
    quarters = tuple(Fraction(n, 4) for n in range(400))
    tables = ward(all=3, F=1)
    fine = Tables(attributes={**tables.attributes, "age": quarters}, statistics=tables.statistics, public=("sex",))
    told = [f for f in attack_tables(fine, repair=False).findings if "only person" in f.claim]
    assert told[0].claim == "the only person with sex F has age 39.5 to 40.5"
    assert told[0].evidence == ("everybody", "women")


def test_attributes_that_no_statistic_tells_apart_name_nobody() -> None:
    tables = margins([KINDS[0], KINDS[7]], ATTRIBUTES, [["ill"]])
    both = Tables(attributes=ATTRIBUTES, statistics=tables.statistics, rules={"any": FEMALE_OR_NOT})
    assert disclosed(solve(both, Work(60), 10), Knowledge(public=("sex",)), Work(60)) == []


FEMALE_OR_NOT = Compare(Relation.UNEQUAL, Column("sex"), Literal("X"))


def test_noisy_tables_give_confidence_and_no_proof() -> None:
    sure = ward(all=3, F=1)
    noisy = Tables(attributes=sure.attributes, statistics=sure.statistics, public=("sex",), confidence=Fraction(9, 10))
    found = attack_tables(noisy, repair=False)
    assert {finding.strength for finding in found.findings} == {Strength.CONFIDENCE}
    assert {finding.confidence for finding in found.findings} == {0.9}
    assert "at least 90% sure" in found.assumptions[0]


def test_no_time_says_nothing() -> None:
    assert disclosed(solve(ward(all=3, F=1), Work(60), 10), Knowledge(), Work(0)) == []


def test_an_unknown_public_attribute_is_named() -> None:
    with raises_code(InvalidInputError, "unknown-attribute: 'wage'"):
        attack_tables(ward(all=3, F=1), Knowledge(public=("wage",)), repair=False)
