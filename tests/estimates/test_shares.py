"""Shares of a total: what a computed column has of several groups is made of their noisy numbers, with an interval."""

from __future__ import annotations

import dataclasses
from fractions import Fraction as F
from typing import Any

import pytest
from support.asked import KINDS, N, answer, average, bounds, key, plan, question, single, total
from support.refusals import raises_code
from support.sql_writer import FACTS, TABLES, UNITS

from privet.core.expression import Column, Compare, Expression, Literal, Quotient, Relation
from privet.core.measures import Role
from privet.core.plan import Aggregate, Computed, Function, Plan, Total, fingerprint
from privet.core.weights import weighted
from privet.errors import RefusedQueryError
from privet.estimates.accuracy import half_width
from privet.estimates.choosing import affected
from privet.estimates.moments import Estimate
from privet.estimates.priced import outline
from privet.report.explain.plan_tree import tree
from privet.sql import plan_of

WARD, SEX = key("ward"), key("sex")
ALL, IN_WARD = Total(name="all_n", aggregate="n"), Total(name="ward_n", aggregate="n", level=("ward",))
SHARE, IN_ITS_WARD = (
    Computed(name=name, value=Quotient(Column("n"), Column(of)))
    for name, of in (("share", "all_n"), ("in_ward", "ward_n"))
)
PEOPLE = Aggregate(name="n", function=Function.COUNT_DISTINCT)
MORE_THAN_5 = Compare(Relation.GREATER, Column("n"), Literal(F(5)))


def shares(*aggregates: Aggregate, keys: Any = (WARD, SEX), **more: Any) -> Plan:
    asked = plan(keys, *(aggregates or (N,)), **{"computed": (SHARE,), "totals": (ALL,), **more})
    return dataclasses.replace(asked, outputs=(*asked.outputs, *(one.name for one in asked.computed)))


def estimate(found: Any) -> Estimate:
    assert isinstance(found, Estimate)
    return found


def test_shares_are_of_all_groups_or_of_those_with_the_same_key() -> None:
    asked = question(shares(computed=(SHARE, IN_ITS_WARD), totals=(ALL, IN_WARD)))
    numbers = [10 * cell + 5 for cell in range(asked.cells.count)]
    lines = answer(asked, numbers).lines()
    for line, number in zip(lines, numbers, strict=True):
        same = [other for other, one in zip(numbers, lines, strict=True) if one["ward"] == line["ward"]]
        assert len(same) == 3
        assert estimate(line["share"]).value == F(number, sum(numbers))
        assert estimate(line["in_ward"]).value == F(number, sum(same))


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.1"}])
@pytest.mark.parametrize(("column", "of", "cells"), [(SHARE, ALL, 15), (IN_ITS_WARD, IN_WARD, 3)])
def test_the_interval_is_that_of_both_numbers_together(
    price: dict[str, object], column: Computed, of: Total, cells: int
) -> None:
    """One statement about the noise of the group and one about that of the total: each may fail half as often."""
    asked = question(shares(computed=(column,), totals=(of,)), **price)
    (part,) = asked.parts
    line = answer(asked, [1000]).lines()[0]
    mine, all_of_them = (half_width(part.law, F(975, 1000), of_cells) for of_cells in (1, cells))  # type: ignore[arg-type]
    found = estimate(line[column.name])
    assert found.low == F(1000 - mine) / (1000 * cells + all_of_them)
    assert found.high == F(1000 + mine) / (1000 * cells - all_of_them)


def test_a_share_costs_nothing() -> None:
    with_share, without = question(shares()), question(plan((WARD, SEX), N))
    assert with_share.loss == without.loss
    assert with_share.parts == without.parts
    assert fingerprint(with_share.plan) != fingerprint(dataclasses.replace(with_share.plan, totals=()))


def test_an_average_of_all_groups_is_that_of_their_sums() -> None:
    off = Computed(name="off", value=Quotient(Column("a"), Column("all_a")))
    asked = single(shares(average("a", "age"), computed=(off,), totals=(Total(name="all_a", aggregate="a"),)))
    vectors = [[100 * (place + 1)] for place in range(len(asked.parts))]
    for line in answer(asked, *vectors).lines():
        assert estimate(line["off"]).value == 1  # the same numbers in every group


def test_sums_beside_their_counts_take_no_pair_where_they_are_added_up() -> None:
    aged = Aggregate(name="n", function=Function.COUNT, value=Column("age"))
    paired = question(plan((WARD,), aged, average("a", "age")), epsilon=1)
    assert [part.measure.role for part in paired.parts] == [Role.PAIR]
    added = question(shares(aged, average("a", "age"), keys=(WARD,)), epsilon=1)
    assert Role.PAIR not in [part.measure.role for part in added.parts]


def test_rows_that_are_about_more_than_the_groups_of_a_total_have_no_share() -> None:
    asked = question(shares(computed=(IN_ITS_WARD,), totals=(IN_WARD,), levels=(("ward", "sex"), ("ward",), ())))
    shown = answer(asked, [100])
    found = [(level, row["in_ward"]) for level, row in zip(shown.levels, shown.rows, strict=True)]
    assert {share for level, share in found if level == ("ward",)} == {1}
    assert [share for level, share in found if level == ()] == [None]


def test_printed_shares_are_of_what_the_printed_numbers_add_up_to() -> None:
    asked = question(shares())
    noisy = [-7, 3, *range(10, 23)]
    printed = answer(asked, noisy).published()
    counts = [row["n"] for row in printed.rows]
    assert min(counts) >= 0
    for row, line in zip(printed.rows, printed.lines(), strict=True):
        assert estimate(line["share"]).value == F(row["n"], sum(counts))
    off = Computed(name="off", value=Quotient(Column("a"), Column("all_a")))
    means = single(shares(average("a", "age"), computed=(off,), totals=(Total(name="all_a", aggregate="a"),)))
    as_released = answer(means, *([100 * (place + 1)] for place in range(len(means.parts))))
    assert as_released.published().rows == as_released.rows


def test_having_that_tests_a_group_leaves_a_share_without_an_interval() -> None:
    asked = question(shares(having=MORE_THAN_5))
    shown = answer(asked, [100])
    for line in shown.lines():
        assert estimate(line["n"]).low is not None
        assert estimate(line["share"]).low is estimate(line["share"]).high is None
    told = affected(asked, shown.selection)
    assert (told.given, told.none) == (("n",), ("share",))


def test_a_limit_makes_shares_hold_for_all_rows_at_once() -> None:
    by_share = plan_of(
        "SELECT ward, 1.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY ward ORDER BY share LIMIT 1",
        TABLES, units=UNITS, facts=FACTS,
    )  # fmt: skip
    free = dataclasses.replace(by_share, order=(), limit=None)
    spans = [estimate(answer(question(one), [1000]).lines()[0]["share"]) for one in (by_share, free)]
    chosen, plain = (span.high - span.low for span in spans)  # type: ignore[operator]
    assert chosen > plain


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"totals": (Total(name="all_n", aggregate="m"),)}, "not-grouped: all_n"),
    ({"totals": (Total(name="all_n", aggregate="n", level=("city",)),)}, "not-grouped: all_n"),
    ({"keys": (key("city"),), "private_keys": True}, "missing-option: total"),
    ({"keys": (key("city"), WARD), "private_keys": True, "other": "x", "computed": (IN_ITS_WARD,),
      "totals": (IN_WARD,)},
     "missing-option: total"),
    ({"computed": (Computed(name="all_n", value=Column("n")),)}, "duplicate-name: all_n"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "code"), REFUSED)
def test_what_has_no_total_is_refused(more: dict[str, Any], code: str) -> None:
    with raises_code(RefusedQueryError, code):
        outline(shares(**more), KINDS, bounds())


def test_what_does_not_add_up_has_no_total() -> None:
    top = Aggregate(name="n", function=Function.MAX, value=Column("age"))
    with raises_code(RefusedQueryError, "unsupported-function: MAX n"):
        outline(shares(top), KINDS, bounds())
    hidden = shares(PEOPLE, keys=(key("city"),), private_keys=True, other="x")
    with raises_code(RefusedQueryError, "unsupported-function: COUNT DISTINCT n"):
        outline(hidden, KINDS, bounds())
    assert outline(shares(PEOPLE), KINDS, bounds()).plan.totals == (ALL,)


def test_groups_that_are_chosen_have_shares_of_all_with_the_rest() -> None:
    asked = outline(shares(keys=(key("city"),), private_keys=True, other="x"), KINDS, bounds())
    assert asked.cells.rest


def test_with_weights_a_share_is_of_the_sum_of_weights() -> None:
    counted = weighted(shares(), "age")
    assert counted.totals == (ALL,)
    assert counted.aggregates[0] == total("n", "age")


def test_the_plan_says_what_is_added_up() -> None:
    asked = question(shares(computed=(SHARE, IN_ITS_WARD), totals=(ALL, IN_WARD)))
    made = [branch.text for branch in tree(asked)[-1].items]
    assert "all_n = n of all groups, added up" in made
    assert "ward_n = n of groups with the same ward, added up" in made


# SQL


def read(text: str) -> Plan:
    return plan_of(text, TABLES, units=UNITS, facts=FACTS)


def ratio(found: Plan, name: str = "p") -> Expression:
    (value,) = (one.value for one in found.computed if one.name == name)
    return value


def test_spellings_of_a_share() -> None:
    window = read("SELECT ward, COUNT(*) AS n, 1.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS p FROM visits GROUP BY ward")
    scalar = read(
        "SELECT ward, COUNT(*) AS n, 1.0 * COUNT(*) / (SELECT COUNT(*) FROM visits) AS p FROM visits GROUP BY ward"
    )
    assert window == scalar
    assert window.totals == (Total(name="total_n", aggregate="n"),)
    assert [one.name for one in window.aggregates] == ["n"]  # nothing more is paid for
    inner = read("SELECT ward, COUNT(*) AS n, n / SUM(COUNT(*)) OVER () AS p FROM visits WHERE age > 3 GROUP BY ward")
    adults = "(SELECT COUNT(*) FROM visits AS v WHERE v.age > 3)"
    same = f"SELECT ward, COUNT(*) / {adults} AS p FROM visits WHERE age > 3 GROUP BY 1"
    assert ratio(inner) == Quotient(Column("n"), Column("total_n"))
    assert ratio(read(same)) == Quotient(Column("count"), Column("total_count"))


def test_shares_within_a_key() -> None:
    within = "SUM(cost) / SUM(SUM(cost)) OVER (PARTITION BY {}) AS p"
    by_ward = f"SELECT ward AS w, smoker, {within} FROM visits GROUP BY ward, smoker"
    assert read(by_ward.format("ward")) == read(by_ward.format("w"))
    (one,) = read(by_ward.format("ward")).totals
    assert one.level == ("w",)
    people = "COUNT(DISTINCT patient_id)"
    assert (
        read(f"SELECT ward, {people} / SUM({people}) OVER () AS p FROM visits GROUP BY ward").aggregates[0].function
        is Function.COUNT_DISTINCT
    )


def test_an_average_beside_that_of_everybody() -> None:
    found = read(
        "SELECT ward, AVG(cost) - (SELECT AVG(cost) FROM visits) AS p FROM visits GROUP BY ward HAVING COUNT(*) > 9"
    )
    assert [(one.aggregate, one.level) for one in found.totals] == [("avg_cost", ())]


GROUPED = "FROM visits GROUP BY ward"
PART = "SELECT ward, COUNT(*) / (SELECT"
NOT_READ = [
    (f"SELECT ward, SUM(cost) OVER () AS p, COUNT(*) AS n {GROUPED}", "unsupported-function: OVER"),
    (f"SELECT ward, MAX(COUNT(*)) OVER () AS p {GROUPED}", "unsupported-function: MAX"),
    (f"SELECT ward, SUM(COUNT(*)) OVER (ORDER BY ward) AS p {GROUPED}", "unsupported-function: ORDER BY"),
    (f"SELECT ward, SUM(AVG(cost)) OVER () AS p {GROUPED}", "unsupported-function: no count and no sum"),
    (f"SELECT ward, SUM(COUNT(*)) OVER (PARTITION BY age) AS p {GROUPED}", "not-grouped: age"),
    (f"SELECT ward, SUM(COUNT(*)) OVER () AS p {GROUPED} HAVING COUNT(*) > 3", "unsupported-sql: HAVING"),
    ("SELECT ward, SUM(COUNT(*)) OVER () AS p FROM visits GROUP BY ROLLUP (ward)", "unsupported-sql: ROLLUP"),
    (f"SELECT ward, COUNT(*) AS n {GROUPED} HAVING 3 / SUM(COUNT(*)) OVER () > 3", "unsupported-function: HAVING"),
    ("SELECT COUNT(*) AS n FROM visits WHERE SUM(cost) OVER () > 3", "unsupported-function: WHERE"),
    (f"{PART} COUNT(*) FROM visits WHERE smoker) AS p {GROUPED}", "misplaced-subquery: same rows"),
    (f"{PART} COUNT(*) FROM stays) AS p {GROUPED}", "misplaced-subquery: same rows"),
    (f"{PART} COUNT(*) FROM visits GROUP BY ward) AS p {GROUPED}", "misplaced-subquery: SELECT"),
    (f"{PART} age FROM visits) AS p {GROUPED}", "misplaced-subquery: one aggregate"),
    (f"{PART} COUNT(DISTINCT patient_id) FROM visits) AS p {GROUPED}", "misplaced-subquery: groups"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code"), NOT_READ)
def test_other_windows_and_sub_queries_are_refused(text: str, code: str) -> None:
    with raises_code(RefusedQueryError, code):
        read(text)
