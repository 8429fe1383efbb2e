"""What to leave out, against trying everything; and the score of an attack whose truth is known."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from support.made_releases import Made, equal, exactly, records_of, releases, solved
from support.refusals import raises_code
from support.table_oracle import every_data_set

from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.work import Work
from privet.attacks.protect import repair as repair_module
from privet.attacks.protect.repair import Repair, Repairs, best_repairs
from privet.attacks.release.statistics import Between, Knowledge, Quantile, Statistic, Tables
from privet.attacks.tables.certain import silent
from privet.attacks.tables.encode import kinds_of
from privet.attacks.tables.reconstruction import Reconstruction, attack_tables
from privet.attacks.tables.scoring import scored
from privet.errors import InvalidInputError
from privet.stats.intervals import Interval

WOMEN = equal("sex", "F")
OLD = equal("old", True)
TRUTHS = (True, False)


def still_certain(found: Reconstruction, left_out: tuple[str, ...]) -> int:
    """People of the same kinds who are certain without these statistics, by trying all data sets."""
    kinds = kinds_of(found.tables)
    kept = tuple(one for one in found.tables.statistics if one.name not in left_out)
    truth = every_data_set(replace(found.tables, statistics=kept), kinds.domain.names)
    told = {found.prepared.places[one.kind] for one in found.told}
    return sum(
        truth.range_of(records_of(kinds.domain, group))[0] for at, group in enumerate(kinds.groups) if at in told
    )


def everybody_told(tables: Tables) -> Reconstruction:
    """Each certain record is to be protected, also those that are a cell of a table."""
    found = solved(tables)
    return replace(found, told=found.certain)


@pytest.mark.proof
@settings(max_examples=60)
@given(releases(most=3))
def test_repairs_against_trying_everything(made: Made) -> None:
    found = everybody_told(made.tables)
    limit = found.encoded.limit
    assume(found.told and not found.encoded.unused and limit == ("total",))
    repairs = best_repairs(found, Work(60), silent)
    certain = cache(partial(still_certain, found))
    names = [one.name for one in made.tables.statistics if one.name not in limit]
    assume(not any(solved(replace(made.tables, statistics=kept)).encoded.unused for kept in _subsets(made.tables)))
    for one in repairs.single:
        assert one.certain == certain(one.left_out)
    assert repairs.tried_all
    best = min((one.certain for one in repairs.single), default=repairs.certain)
    assert best == min(certain((name,)) for name in names)
    for size in range(repairs.at_least):
        assert all(certain(some) for some in itertools.combinations(names, size))
    if repairs.smallest is None:
        assert certain(tuple(names)) > 0
        event("totals alone")
        return
    event(f"{len(repairs.smallest.left_out)} left out")
    assert certain(repairs.smallest.left_out) == 0
    assert repairs.is_smallest


def _subsets(tables: Tables) -> list[tuple[Statistic, ...]]:
    return [tuple(s for s in tables.statistics if s is not out) for out in tables.statistics[1:]]


@pytest.mark.proof
@settings(max_examples=40)
@given(releases(most=3))
def test_the_cells_that_did_it_are_enough(made: Made) -> None:
    found = everybody_told(made.tables)
    assume(found.told)
    repairs = best_repairs(found, Work(60), silent)
    names = found.encoded.domain.names
    for one, cells in zip(found.told, repairs.enough, strict=True):
        kept = tuple(s for s in made.tables.statistics if s.name in cells)
        truth = every_data_set(replace(made.tables, statistics=kept), names)
        assert truth.range_of(records_of(found.encoded.domain, found.encoded.kinds[one.kind]))[0] >= one.count


def release(*statistics: Statistic) -> Tables:
    return Tables(attributes={"sex": ("F", "M"), "old": TRUTHS}, statistics=statistics)


TOTAL = Statistic(name="total", count=exactly(2))
BOTH_WOMEN = Statistic(name="women", where=WOMEN, count=exactly(2))
BOTH_OLD = Statistic(name="old", where=OLD, count=exactly(2))


def found_in(*statistics: Statistic) -> Reconstruction:
    return solved(release(*statistics))


def test_a_gap_in_the_evidence() -> None:
    """A median of 5 is 2 and 8 only because nobody is 0: 0 and 10 would do as well."""
    tables = Tables(
        attributes={"age": tuple(map(Fraction, (0, 1, 2, 6, 8, 10)))},
        statistics=(
            Statistic(name="pair", count=exactly(2), measures=(_median(5),)),
            Statistic(name="zero", where=equal("age", Fraction(0)), count=exactly(0)),
        ),
    )
    found = solved(tables)
    assert found.certain
    assert all(found.sources(one) == ("pair", "zero") for one in found.certain)


def _median(value: int) -> Any:
    return Quantile("age", exactly(value))


def test_no_time_finds_no_repair() -> None:
    repairs = best_repairs(found_in(TOTAL, BOTH_WOMEN, BOTH_OLD), Work(0), silent)
    assert (repairs.single, repairs.tried_all, repairs.smallest, repairs.at_least) == ((), False, None, 0)
    one, smallest = repairs.shown()
    assert "The work ran out" in one.text
    assert smallest.text.startswith("Not found in the work given")
    assert repairs.numbers()["smallest"] is None
    assert not repairs.is_smallest


def test_who_is_certain_by_totals_alone_cannot_be_protected() -> None:
    women = Statistic(name="women", where=WOMEN, count=exactly(2))
    men = Statistic(name="men", where=equal("sex", "M"), count=exactly(1))
    repairs = best_repairs(everybody_told(release(women, men)), Work(60), silent)
    assert repairs.smallest is None
    assert repairs.at_least is None
    assert not repairs.is_smallest
    assert repairs.shown()[-1].text.startswith("Somebody is certain by the totals of everybody alone")


def test_undecided_tries_are_no_repairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """If somebody may still be certain, nothing is said to protect."""
    found = everybody_told(release(TOTAL, BOTH_WOMEN, replace(BOTH_WOMEN, name="again")))
    monkeypatch.setattr(Prover, "at_least", lambda *_: None)
    monkeypatch.setattr(Prover, "prove", lambda *_: None)
    monkeypatch.setattr("privet.attacks.tables.certain.impossible", lambda *_: False)
    repairs = best_repairs(found, Work(60), silent)
    assert repairs.smallest is None
    with monkeypatch.context() as patch:
        patch.setattr("privet.attacks.tables.certain.Search._is_least", lambda *_: False)
        assert best_repairs(found, Work(60), silent).single == ()
    monkeypatch.setattr(repair_module, "smallest_cover", lambda *_: None)
    assert best_repairs(found, Work(60), silent).smallest is None


def test_many_claims_are_not_sharpened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair_module, "SHARPENED", 0)
    found = found_in(TOTAL, BOTH_WOMEN, BOTH_OLD)
    repairs = best_repairs(found, Work(60), silent)
    assert repairs.enough == tuple(found.sources(one) for one in found.told)


def test_words_of_a_repair() -> None:
    single, smallest_repair = (Repair(("a",), 1),), Repair(("a", "b"), 0)
    repairs = Repairs(
        certain=3, tables=(), single=single, tried_all=True, smallest=smallest_repair, at_least=1, enough=()
    )
    one, smallest = repairs.shown()
    assert one.rows == (("a", "2", "1"),)
    said = "Leaving out 2 statistics protects everybody: no record is certain then (at least 1 are needed). "
    assert smallest.text == said + repair_module.ONLY_RECORDS
    assert smallest.rows == (("a",), ("b",))
    better = replace(repairs, smallest=Repair(("a",), 0))
    assert (
        "1 statistic protects everybody: no record is certain then (no smaller choice does)" in better.shown()[1].text
    )


def test_a_whole_table_is_left_out() -> None:
    """Two tables tell of women, each enough; one of them also of age."""
    again = replace(BOTH_WOMEN, name="again", table="second")
    tables = TOTAL, replace(BOTH_WOMEN, table="first"), again, replace(BOTH_OLD, table="second")
    repairs = best_repairs(found_in(*tables), Work(60), silent)
    assert repairs.tables == (("second", 0), ("first", 2))
    assert repairs.shown()[0].rows == (("second", "2", "0"), ("first", "0", "2"))
    assert repairs.numbers()["leave_out_table"][0] == {"table": "second", "still_certain": 0}
    late = best_repairs(found_in(*tables), Work(0), silent)
    assert late.tables == ()


def person(sex: str, old: bool) -> dict[str, Any]:
    return {"sex": sex, "old": old}


TRUE = (person("F", True), person("F", True))


def test_a_score_counts_what_is_right() -> None:
    found = found_in(TOTAL, BOTH_WOMEN, BOTH_OLD)
    assert scored(found, Knowledge()) is None
    score = scored(found, Knowledge(truth=TRUE))
    assert score is not None
    assert (score.claimed, score.right, score.success.value, score.control) == (2, 2, 1.0, None)
    assert score.advantage.value == pytest.approx(1 - score.baseline.value)
    wrong = scored(found, Knowledge(truth=(person("M", False), person("F", True))))
    assert wrong is not None
    assert (wrong.right, wrong.success.value) == (1, 0.5)


def test_control_and_population() -> None:
    found = found_in(TOTAL, BOTH_WOMEN, BOTH_OLD)
    score = scored(found, Knowledge(truth=TRUE, control=TRUE, population=(person("M", True),)))
    assert score is not None
    assert score.baseline == Interval(0, 0, 0)
    assert score.control is not None
    assert score.control.value == 1
    assert score.advantage.value == 0
    nobody = scored(found, Knowledge(truth=(), control=()))
    assert nobody is not None
    assert nobody.success.value == 0


def test_a_record_that_the_rules_forbid_is_never_right() -> None:
    tables = replace(release(TOTAL, BOTH_WOMEN), rules={"no old men": equal("sex", "F")})
    score = attack_tables(tables, Knowledge(truth=(person("M", True), person("F", True)))).score
    assert score is not None
    assert score.success.value == 0.5


@pytest.mark.parametrize(
    ("record", "said"),
    [({"sex": "F"}, "not-declared: old"), ({"sex": "X", "old": True}, "not-declared: sex 'X'")],
)
def test_a_record_with_an_undeclared_value_is_named(record: dict[str, Any], said: str) -> None:
    tables = release(TOTAL, BOTH_WOMEN, BOTH_OLD)
    with raises_code(InvalidInputError, said):
        attack_tables(tables, Knowledge(truth=(record,)), repair=False)


def test_a_total_that_is_not_exact_is_enough() -> None:
    found = found_in(Statistic(name="total", count=Between(Fraction(1), Fraction(2))), BOTH_WOMEN)
    assert found.proven == 2
