"""Statistics as linear statements: the same data sets fit, by enumeration; and what is refused."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.made_releases import Made, equal, exactly, releases
from support.refusals import expect_code
from support.table_oracle import every_data_set

from privet.attacks.proofs.solver import Outcome, Solver
from privet.attacks.proofs.work import Work
from privet.attacks.release import domain as domain_module
from privet.attacks.release.domain import ReleaseDomain, value_text, values_text
from privet.attacks.release.statistics import (
    Between,
    Largest,
    Mean,
    Measure,
    Quantile,
    Share,
    Smallest,
    Statistic,
    Tables,
    Total,
)
from privet.attacks.tables import encode as encode_module
from privet.attacks.tables.encode import EncodedTables, encode, kinds_of
from privet.core.expression import And, Column, In, Literal, Or
from privet.errors import InvalidInputError

AGES = tuple(map(Fraction, (10, 20, 30)))
BOTH: dict[str, Any] = {"sex": ("F", "M"), "age": AGES}
WOMEN = equal("sex", "F")


def release(*statistics: Statistic, attributes: dict[str, Any] = BOTH, **rules: Any) -> Tables:
    return Tables(attributes=attributes, statistics=statistics, rules=rules)


def total(number: object, *measures: Measure) -> Statistic:
    return Statistic(name="total", count=exactly(number), measures=measures)


def data_sets(encoded: EncodedTables) -> Counter[tuple[int, ...]]:
    """How often each choice of counts by kind is a solution, whatever the helpers are."""
    solver = Solver(encoded.system)
    found, complete = solver.every(Work(60), 5000)
    assert complete or solver.solve(Work(60)).outcome is Outcome.IMPOSSIBLE
    return Counter(values[: len(encoded.kinds)] for values in found)


def expected(tables: Tables, encoded: EncodedTables) -> set[tuple[int, ...]]:
    names = encoded.domain.names
    kind_of = {
        tuple(encoded.domain.attributes[n][encoded.domain.codes(n)[at]] for n in names): kind
        for kind, group in enumerate(encoded.kinds)
        for at in group.tolist()
    }
    counts = [Counter(kind_of[person] for person in people) for people in every_data_set(tables).fitting]
    return {tuple(count[kind] for kind in range(len(encoded.kinds))) for count in counts}


@settings(max_examples=150)
@given(releases(most=3))
def test_the_same_data_sets_fit(made: Made) -> None:
    """Each once: helpers never have a choice. Without helpers, and without what is not used, more may fit."""
    kinds = kinds_of(made.tables)
    whole, coarse = encode(made.tables, kinds), encode(made.tables, kinds, helpers=False)
    fitting, found = expected(made.tables, whole), data_sets(whole)
    assert set(found.values()) <= {1}
    assert fitting <= set(found)
    assert fitting == set(found) or whole.unused
    assert set(found) <= set(data_sets(coarse))


LEVELS = [Fraction(0), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1)]


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_quantile_of_every_group(level: Fraction, size: int, discrete: bool) -> None:
    """All values that it can have, some that it cannot, and some ranges: exactly the right data sets fit."""
    attributes = {"age": tuple(map(Fraction, (4, 1, 2, 9)))}
    values = sorted({Fraction(n, 2) for n in range(2, 19)} | {Fraction(13, 4)})
    for place, value in enumerate(values):
        ranges = (Between(value, value + 1), Between(None, value), Between(value))
        for said in (Between(value, value), *(ranges if place % 3 == size % 3 else ())):
            tables = release(total(size, Quantile("age", said, level, discrete)), attributes=attributes)
            encoded = encode(tables, kinds_of(tables))
            assert set(data_sets(encoded)) == expected(tables, encoded), (value, said)


@pytest.mark.parametrize(
    "measure",
    [
        Total("age", exactly(0)), Total("age", exactly(30)), Total("age", Between(Fraction(-1), Fraction(45))),
        Mean("age", exactly(20)), Mean("age", Between(Fraction(14), Fraction(46, 3))), Mean("age", Between()),
        Smallest("age", exactly(20)), Smallest("age", Between(None, Fraction(15))), Smallest("age", Between()),
        Largest("age", exactly(20)), Largest("age", Between(Fraction(15))), Largest("age", Between()),
        Share(exactly(0)), Share(exactly(Fraction(1, 3))), Share(Between(Fraction(1, 4), Fraction(1, 2))),
        Share(Between()), Share(exactly(1), equal("age", AGES[0])), Share(exactly(0), equal("age", AGES[0])),
        Share(Between(None, Fraction(1, 2)), Or((WOMEN, equal("age", AGES[1])))), Share(exactly(0), Literal(False)),
        Quantile("age", exactly(20)), Quantile("age", exactly(20), discrete=True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("count", [None, exactly(0), exactly(2), Between(Fraction(1, 2), Fraction(3)), Between()])
def test_every_measure_of_a_group_of_known_and_unknown_size(measure: Measure, count: Between | None) -> None:
    """An empty group has a sum and a share, but no mean, no rank, no least and no largest number."""
    tables = release(
        Statistic(name="total", count=Between(Fraction(0), Fraction(3))),
        Statistic(name="women", where=WOMEN, count=count, measures=(measure,)),
        Statistic(name="by age", where=equal("age", AGES[0]), count=Between()),
        Statistic(name="by age too", where=equal("age", AGES[1]), count=Between()),
    )
    encoded = encode(tables, kinds_of(tables))
    found, fitting = set(data_sets(encoded)), expected(tables, encoded)
    assert fitting <= found
    assert bool(encoded.unused) == (isinstance(measure, Quantile) and count != exactly(2))
    if not encoded.unused:
        assert fitting == found


def test_what_is_not_used_is_said() -> None:
    half = Quantile("age", exactly(20))
    quarter = Quantile("age", exactly(20), Fraction(1, 4))
    tables = release(total(3), Statistic(name="women", where=WOMEN, measures=(half, quarter)))
    unused = encode(tables, kinds_of(tables)).unused
    assert [line.split(",")[0] for line in unused] == ["women: the median of age", "women: the quantile 0.25 of age"]


def test_a_size_is_taken_from_another_statistic_of_the_same_group() -> None:
    tables = release(
        total(2), Statistic(name="ages", measures=(Quantile("age", exactly(15)), Mean("age", exactly(15))))
    )
    encoded = encode(tables, kinds_of(tables))
    assert not encoded.unused
    assert encoded.leaning["ages"] == "total"
    assert set(data_sets(encoded)) == expected(tables, encoded) == {(1, 1, 0)}


def test_counts_of_parts_bound_everybody() -> None:
    tables = release(
        Statistic(name="women", where=WOMEN, count=exactly(1)),
        Statistic(name="men", where=equal("sex", "M"), count=Between(None, Fraction(2))),
        Statistic(name="some", where=equal("sex", "M"), count=Between(None, Fraction(5))),
    )
    encoded = encode(tables, kinds_of(tables))
    assert encoded.system.high == (1, 2)
    assert encoded.limit == ("men", "women")
    assert set(data_sets(encoded)) == {(1, 0), (1, 1), (1, 2)}


def test_kinds_are_what_statistics_tell_apart() -> None:
    tables = release(total(2), Statistic(name="women", where=WOMEN, measures=(Mean("age", exactly(20)),)))
    kinds = kinds_of(tables)
    assert [len(group) for group in kinds.groups] == [1, 1, 1, 3]  # the ages of men are not looked at
    assert [kinds.domain.described(group)["age"] for group in kinds.groups] == ["10", "20", "30", "any"]


def test_what_nobody_mentions_is_left_out() -> None:
    tables = release(total(2), Statistic(name="women", where=WOMEN, count=exactly(1)))
    assert kinds_of(tables).domain.names == ("sex",)
    nothing = kinds_of(release(total(2)))
    assert (nothing.domain.names, nothing.domain.size, len(nothing.groups)) == ((), 1, 1)
    assert nothing.domain.place(()) == 0


def refused(tables: Tables) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        encode(tables, kinds_of(tables))
    return caught.value


def test_what_cannot_be_attacked_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    women = Statistic(name="women", where=WOMEN, count=exactly(1))
    expect_code("missing-entry", refused(release(women)))
    expect_code("contradiction: record", refused(release(total(1), women, never=Literal(False))))
    expect_code("duplicate-name: 'total'", refused(release(total(1), total(2))))
    long = Mean("age", exactly("1.23456789012345678901"))
    expect_code("too-long", refused(release(total(2), Statistic(name="t", where=WOMEN, measures=(long,)))))
    expect_code("too-long", refused(release(total(2, Total("age", exactly(10**30))))))
    expect_code("too-many: people", refused(release(total(10**20), women)))
    monkeypatch.setattr(encode_module, "MOST_KINDS", 1)
    expect_code("too-many: 2 kinds … apart", refused(release(total(1), women)))
    monkeypatch.setattr(domain_module, "MOST_RECORDS", 1)
    expect_code("too-many: allow 2 kinds", refused(release(total(1), women)))


CONDITIONS = [
    WOMEN, Literal(True), Literal(False), In(Column("age"), AGES[:2]), And((WOMEN, equal("age", AGES[0]))),
    Or((WOMEN, equal("age", AGES[0]))), And((Or((WOMEN, Literal(False))), In(Column("age"), AGES[1:]))),
]  # fmt: skip


@pytest.mark.parametrize("rule", [Literal(True), Or((WOMEN, equal("age", AGES[2])))])
def test_a_domain_lists_what_the_rules_allow(rule: Any) -> None:
    from privet.core.evaluate import evaluate  # noqa: PLC0415

    made = ReleaseDomain(BOTH, [rule])
    every = [dict(zip(BOTH, row, strict=True)) for row in itertools.product(*BOTH.values())]
    allowed = [record for record in every if evaluate(rule, record)]
    listed = [{n: BOTH[n][made.codes(n)[at]] for n in made.names} for at in range(made.size)]
    assert listed == allowed
    for condition in CONDITIONS:
        assert made.mask(condition).tolist() == [evaluate(condition, record) is True for record in allowed]
    for record in every:
        codes = [BOTH[n].index(record[n]) for n in BOTH]
        assert made.place(codes) == (allowed.index(record) if record in allowed else None)


@given(st.lists(st.lists(st.integers(0, 2), min_size=6, max_size=6), max_size=3), st.booleans())
def test_groups_agree_in_all_columns(columns: list[list[int]], collide: bool) -> None:
    """Also where two groups happen to be mixed to the same number."""
    made = ReleaseDomain(BOTH)
    arrays = [np.array(column) for column in columns]
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(domain_module.np.random, "default_rng", lambda _seed: _NoChance())
        groups = [group.tolist() for group in made.groups(arrays)]
    by_key: dict[tuple[int, ...], list[int]] = {}
    for at in range(6):
        by_key.setdefault(tuple(column[at] for column in columns), []).append(at)
    assert groups == list(by_key.values())


class _NoChance:
    def integers(self, *_args: object, **_named: object) -> np.uint64:
        return np.uint64(1)


def test_words_for_values() -> None:
    assert value_text(True) == "yes"
    assert value_text(False) == "no"
    assert value_text(Fraction(7)) == "7"
    assert value_text(Fraction(5, 2)) == "2.5"
    assert value_text("A") == "A"
    assert values_text(["A", "B"], 2) == "any"
    assert values_text(["A"], 1) == "A"
    assert values_text(["A", "B"], 3) == "A or B"
    assert values_text(["A", "B", "C"], 4) == "A or B or C"
    assert values_text(AGES[:2], 3) == "10 or 20"
    assert values_text([AGES[1], AGES[0], AGES[2]], 4) == "10 to 30"  # declared in another order
