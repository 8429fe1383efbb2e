"""The census block and other small releases with known answers; what is refused; what running out of time leaves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.made_releases import disclosed, equal, exactly
from support.places import EXAMPLES
from support.refusals import expect_code, raises_code
from support.table_oracle import fits

from privet.attacks import attack_tables, read_tables
from privet.attacks.finding import Findings, Strength
from privet.attacks.proofs.certificate import Leaf, check
from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.solver import Outcome
from privet.attacks.proofs.work import Work
from privet.attacks.protect import repair as repair_module
from privet.attacks.release.statistics import Between, Knowledge, Mean, Quantile, Share, Statistic, Tables, Total
from privet.attacks.tables.certain import Certain
from privet.attacks.tables.outcome import RECORDS
from privet.attacks.tables.reconstruction import MOST_NAMES, Reconstruction, solve
from privet.core.evaluate import evaluate
from privet.core.expression import And, Literal
from privet.errors import InvalidInputError

BLOCK = EXAMPLES / "census-block.toml"
PEOPLE = [
    ("F", "B", "S", 8), ("M", "W", "S", 18), ("F", "W", "S", 24), ("M", "W", "M", 30), ("F", "B", "M", 36),
    ("F", "B", "M", 66), ("M", "B", "M", 84),
]  # fmt: skip
NAMES = ("sex", "race", "married", "age")
WOMEN, MEN = equal("sex", "F"), equal("sex", "M")


@pytest.fixture(scope="module")
def block() -> Tables:
    return read_tables(BLOCK)


@pytest.fixture(scope="module")
def attacked(block: Tables) -> Findings:
    return attack_tables(block, repair=False)


def people() -> list[dict[str, Any]]:
    return [dict(zip(NAMES, (*words, Fraction(age)), strict=True)) for *words, age in PEOPLE]


def test_the_block_has_one_solution_and_everybody_is_proven(block: Tables, attacked: Findings) -> None:
    assert fits(block, people())
    numbers = attacked.numbers
    assert (numbers["solutions"], numbers["all_solutions"], numbers["proven"], numbers["certificates"]) == (
        1,
        True,
        7,
        7,
    )
    assert numbers["certificates_checked"] is True
    assert numbers["undecided"] == 0
    assert attacked.headline.startswith("7 of 7 people are certain: only one data set fits the tables; ")
    records = [one for one in attacked.findings if one.section == RECORDS]
    assert {one.strength for one in records} == {Strength.PROOF}
    shown = {tuple(one.record[name] for name in NAMES) for one in records}
    assert shown == {(*words, str(age)) for *words, age in PEOPLE}


def test_the_repair_of_the_block(block: Tables) -> None:
    """By trying the two rows that matter; `benchmarks/tables.py` tries them all."""
    bench = repair_module._Bench(found_in(block))
    for name, left in (("Black female", 0), ("married adults", 1)):
        tried = bench.without([name], Work(600))
        assert tried is not None
        assert tried.certain == left


def test_means_rounded_to_whole_numbers(block: Tables) -> None:
    rounded = tuple(replace(one, measures=tuple(map(_whole_mean, one.measures))) for one in block.statistics)
    found = solve(replace(block, statistics=rounded), Work(60), 1000)
    assert found.complete
    assert found.count() == 11


def _whole_mean(measure: Any) -> Any:
    """Halves to even numbers: 33.5 becomes 34, 48.5 becomes 48."""
    if not isinstance(measure, Mean):
        return measure
    low, high = measure.value.low, measure.value.high
    assert low is not None
    assert high is not None
    shown = Fraction(round((low + high) / 2))
    return Mean(measure.attribute, Between(shown - Fraction(1, 2), shown + Fraction(1, 2)))


def test_without_married_adults(block: Tables) -> None:
    kept = tuple(one for one in block.statistics if one.name != "married adults")
    found = solve(replace(block, statistics=kept), Work(60), 1000)
    assert found.complete
    assert found.count() == 22
    assert not found.encoded.unused


def test_suppressed_cells_of_the_block_are_undone(block: Tables, attacked: Findings) -> None:
    table = next(table for table in attacked.tables if table.title == "Suppressed and rounded counts")
    assert ("Black male", "0 to 2", "1", "yes") in table.rows
    assert attacked.numbers["undone"] == len(table.rows)
    hidden = {one.name: one.where for one in block.statistics}
    for name, _, shown, undone in table.rows:
        number = sum(evaluate(hidden[name], person) is True for person in people())
        low, _, high = shown.partition(" to ")
        assert int(low) <= number <= int(high or low)
        assert bool(undone) == (not high)


def release(*statistics: Statistic, **rules: Any) -> Tables:
    ages = tuple(map(Fraction, (0, 30)))
    return Tables(attributes={"sex": ("F", "M"), "age": ages}, statistics=statistics, rules=rules)


def total(number: object) -> Statistic:
    return Statistic(name="total", count=exactly(number))


def women(*measures: Any, count: Between | None = None, name: str = "women") -> Statistic:
    return Statistic(name=name, where=WOMEN, count=count, measures=measures)


def refusal(*statistics: Statistic, **named: Any) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        attack_tables(release(*statistics), **named)
    return caught.value


def test_contradictions_name_who_clashes() -> None:
    fine = Statistic(name="fine", where=MEN, count=Between(Fraction(0), Fraction(3)))
    alone = women(Mean("age", exactly(31)), count=exactly(2))
    expect_code("contradiction: “women” … contradicts", refusal(total(3), fine, alone))
    expect_code("contradiction: “total” … “women”", refusal(total(3), fine, women(count=exactly(4))))
    empty = replace(alone, name="nobody", where=equal("age", Fraction(99)), measures=(Quantile("age", exactly(1)),))
    expect_code("contradiction: “nobody”", refusal(total(3), empty))


def test_the_box_does_not_speak_for_a_statistic() -> None:
    """Two women of 30 would do: only with a total of 1 is it a contradiction."""
    expect_code("contradiction: “total” … “women”", refusal(total(1), women(Total("age", exactly(60)))))


def test_a_long_list_of_clashing_statistics_is_cut() -> None:
    ages = tuple(map(Fraction, range(MOST_NAMES + 2)))
    cells = [Statistic(name=f"age {age}", where=equal("age", age), count=exactly(1)) for age in ages]
    tables = Tables(attributes={"age": ages}, statistics=(total(MOST_NAMES + 1), *cells))
    with raises_code(InvalidInputError, "contradiction: 3 more"):
        solve(tables, Work(60), 10)


def test_a_contradiction_without_a_certificate_names_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prover, "prove", lambda *_: None)
    fine = Statistic(name="fine", where=MEN, count=Between(Fraction(0), Fraction(3)))
    expect_code("contradiction: “total” … “women”", refusal(total(3), fine, women(count=exactly(4))))


def test_nobody_and_nothing() -> None:
    """An empty data set; a release that tells nobody apart."""
    none = attack_tables(release(total(0), women(Total("age", exactly(0)))))
    assert none.headline.startswith("None of 0 people is certain")
    assert none.numbers["solutions"] == 1
    plain = attack_tables(release(total(2)))
    assert plain.proven == 0
    assert plain.findings == ()
    ruled = attack_tables(release(total(2), rule=equal("sex", "F")))
    assert (ruled.certain, ruled.numbers["solutions"]) == (0, 1)


def test_one_data_set_is_said_only_of_one() -> None:
    """Nothing is said of a man's age: he may have two."""
    found = attack_tables(release(total(1), women(Total("age", exactly(0)), count=exactly(0))), repair=False)
    assert found.headline == "1 of 1 people is certain; 1 thing is learned about known people"
    assert found.numbers["solutions"] == 2
    assert [one.claim for one in found.findings] == ["one person with sex M", "the only person has sex M"]
    two = attack_tables(release(total(2), women(count=exactly(0))))
    assert "all 2 people have sex M" in two.findings[0].claim


@pytest.mark.parametrize("count", [Between(Fraction(0), Fraction(1)), None])
def test_a_share_and_a_sum_of_nobody_are_no_proof_of_somebody(count: Between | None) -> None:
    """A published 0 % to 100 %, or a sum of 0, does not show that there is a woman."""
    for measure in (Share(Between(Fraction(0), Fraction(1))), Total("age", exactly(0))):
        found = attack_tables(release(total(1), women(measure, count=count)))
        assert not any(one.record.get("sex") == "F" for one in found.findings)


def test_no_time_is_said_and_claims_nothing(block: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was finished in a thousandth of a second: each claim has a certificate, or a second solver."""
    said = None
    try:
        found = solve(block, Work(0.001), 1000)
    except InvalidInputError as error:
        said = error.code
    else:
        assert found.checked()
        assert all(one.proof is not None for one in found.certain)
    assert said in (None, "out-of-time")
    monkeypatch.setattr("privet.attacks.tables.certain.Search.start", lambda *_: Outcome.UNKNOWN)
    with raises_code(InvalidInputError, "out-of-time"):
        attack_tables(block)


def test_undecided_people_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prover, "at_least", lambda *_: None)
    monkeypatch.setattr(Prover, "prove", lambda *_: None)
    for module in ("certain", "decide"):
        monkeypatch.setattr(f"privet.attacks.tables.{module}.impossible", lambda *_: False)
    found = attack_tables(release(total(2), women(count=exactly(2))))
    assert found.headline.startswith("Nothing was found so far, and not everything was searched: 2 people not decided")
    assert found.findings == ()
    assert found.alarm == "neutral"
    assert found.not_tried[0].startswith("2 further people may be certain")


def test_two_solvers_without_a_certificate_are_not_called_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prover, "at_least", lambda *_: None)
    monkeypatch.setattr(Prover, "prove", lambda *_: None)
    found = attack_tables(release(total(2), women(count=exactly(2))))
    assert {one.strength for one in found.findings} == {Strength.RESOLVED}
    assert found.numbers["certificates"] == 0
    assert "some claims rest on two solvers and have no certificate" in found.not_tried
    assert set(found.findings[0].evidence) == {"total", "women"}


def found_in(tables: Tables) -> Reconstruction:
    return solve(tables, Work(60), 1000)


def test_a_false_certificate_is_noticed() -> None:
    found = found_in(release(total(2), women(count=exactly(2))))
    assert found.checked()
    assert not replace(found, certain=(Certain(found.certain[0].kind, 2, Leaf(())),)).checked()
    block = found_in(read_tables(BLOCK))
    first, *rest = block.prepared.steps
    broken = replace(block.prepared, steps=(replace(first, proof=Leaf(())), *rest))
    assert not replace(block, prepared=broken).checked()


def test_what_is_assumed_and_left_out_is_said() -> None:
    found = attack_tables(release(total(2), women(Quantile("age", exactly(30))), rule=Literal(True)), subject="mine")
    assert found.subject == "mine"
    assert any("women: the median of age" in line for line in found.not_tried)
    assert "rule “rule” holds for everybody" in found.assumptions
    assert any(line.startswith("age has no other values") for line in found.assumptions)


AGED = Statistic(name="aged", where=equal("age", Fraction(30)), count=exactly(1))


def test_progress_is_told() -> None:
    told = list[str]()
    attack_tables(
        release(total(2), AGED, women(Total("age", exactly(30)))), progress=lambda what, _done, _of: told.append(what)
    )
    assert {"narrowing", "searching a data set that fits", "proving", "trying repairs"} <= set(told)


def test_an_unknown_public_attribute_is_named() -> None:
    expect_code(
        "unknown-attribute: 'age'",
        refusal(total(1), women(count=exactly(1)), knowledge=Knowledge(public=("age",))),
    )


def test_a_group_that_may_be_empty_discloses_nothing() -> None:
    tables = release(total(3), women(count=Between(None, Fraction(2))))
    assert disclosed(found_in(tables), "sex") == []


def test_what_a_disclosure_rests_on_includes_the_size_of_the_group() -> None:
    """That a woman is 30 follows from one cell; that she is the only one, from the other."""
    aged = Statistic(name="aged", where=And((WOMEN, equal("age", Fraction(30)))), count=exactly(1))
    found = found_in(release(total(2), women(count=exactly(1)), aged))
    finding = next(one for one in disclosed(found, "sex") if one.record["sex"] == "F")
    assert finding.claim == "the only person with sex F has age 30"
    assert finding.evidence == ("total", "women", "aged")
    assert all(check(found.lifted(), claim, proof) for claim, proof in finding.certificate)


def test_a_disclosure_without_a_proof_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither solver is believed alone."""
    aged = Statistic(name="aged", where=And((WOMEN, equal("age", Fraction(30)))), count=exactly(1))
    found = found_in(release(total(1), women(count=exactly(1)), aged))
    monkeypatch.setattr(Prover, "at_least", lambda *_: None)
    monkeypatch.setattr(Prover, "prove", lambda *_: None)
    assert {one.strength for one in disclosed(found, "sex")} == {Strength.RESOLVED}
    monkeypatch.setattr("privet.attacks.tables.decide.impossible", lambda *_: False)
    assert disclosed(found, "sex") == []
