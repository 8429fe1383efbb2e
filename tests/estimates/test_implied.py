"""Conditions that follow from others: no row is lost, nothing is left to gain, stored answers are found again."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import privet as pv
from privet.core import expression as e
from privet.core.evaluate import evaluate
from privet.core.expression import Column, Compare, Expression, Literal, Relation
from privet.core.narrow import narrowed
from privet.core.plan import Aggregate, Function, Joined, Numbered, PerUnit, Plan, Scan
from privet.core.schema import Category, Date, Integer, Kind, Number, Timestamp
from privet.core.shape import Shapes, shape_of_kind
from privet.estimates import implied
from privet.estimates.implied import tightened

F = Fraction
KINDS: dict[str, Kind] = {
    "day": Date("2019-12-25", "2021-03-05"), "x": Integer(-9, 9), "c": Number(-2, 2, step="0.25"),
    "at": Timestamp("2020-02-27T22:00:00", "2020-02-27T22:00:00.000040"), "w": Category(["A"]),
}  # fmt: skip
COLUMNS = {name: shape_of_kind(kind) for name, kind in KINDS.items()}
DAY, X, C, AT = (Column(name) for name in ("day", "x", "c", "at"))


def number(value: object) -> Literal:
    return Literal(F(str(value)))


ITEMS: list[tuple[Expression, list[Literal]]] = [
    (e.Extracted(e.Field.YEAR, DAY), [number(year) for year in (2018, 2019, 2020, "2020.5", 2021, 2022)]),
    (e.Extracted(e.Field.ISOYEAR, DAY), [number(year) for year in (2019, 2020, 2021)]),
    (e.Extracted(e.Field.MONTHS, DAY), [number(12 * 2020 + 3)]),
    (
        e.Truncated(e.Period.MONTH, DAY),
        [Literal(dt.date(2020, 2, 1)), Literal(dt.date(2020, 2, 15)), Literal(dt.datetime(2020, 5, 1, 3))],
    ),
    (e.AsDate(AT), [Literal(dt.date(2020, 2, 27)), Literal(dt.date(2020, 2, 28))]),
    (e.AsTime(DAY), [Literal(dt.datetime(2020, 5, 1, 3))]),
    (e.Rounded(e.Rounding.DOWN, e.Arithmetic(e.Sign.MULTIPLY, X, number("0.5")), F(1)), [number(2), number(-5)]),
    (e.Rounded(e.Rounding.NEAREST, C, F(1)), [number(0), number(1), number("0.5")]),
    (e.Arithmetic(e.Sign.ADD, X, number(5)), [number(7), number("7.5")]),
    (e.Arithmetic(e.Sign.SUBTRACT, X, number(5)), [number(-7)]),
]


def conditions() -> Iterator[Expression]:
    for item, values in ITEMS:
        for relation, value in itertools.product(Relation, values):
            yield Compare(relation, item, value)
            yield Compare(relation, value, item)
        yield e.In(item, tuple(value.value for value in values))


def plan_of(where: Expression | None) -> Plan:
    return Plan(table="t", where=where, aggregates=(Aggregate(name="n", function=Function.COUNT),), outputs=("n",))


def shapes_after(where: Expression) -> Shapes:
    return narrowed(COLUMNS, tightened(plan_of(where), {"t": COLUMNS}).where)


def wrong() -> Iterator[tuple[str, Expression]]:
    """By all values of a column: those that pass must pass after it, and both ends of what is left must pass."""
    for where in conditions():
        (name,) = set(e.columns_in(where))
        shape = COLUMNS[name]
        steps = range(shape.low, shape.high + 1)
        passing = [step for step in steps if evaluate(where, {name: implied._at(shape, step)}) is True]
        found = shapes_after(where)[name]
        if any(not found.low <= step <= found.high for step in passing):
            yield "lost", where
        unequal = isinstance(where, Compare) and where.relation is Relation.UNEQUAL
        if passing and not unequal and (found.low, found.high) != (passing[0], passing[-1]):
            yield "loose", where


def test_no_row_is_lost_and_no_value_too_many_stays() -> None:
    assert sum(1 for _ in conditions()) > 250
    assert list(wrong()) == []


@pytest.mark.parametrize("place", ["BELOW", "ABOVE"])
def test_wrong_ends_are_noticed(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setattr(implied, place, tuple(Relation))
    assert any(kind == "lost" for kind, _ in wrong())


def test_other_conditions_are_left_alone() -> None:
    year = e.Extracted(e.Field.YEAR, DAY)
    for where in (
        None,
        Compare(Relation.EQUAL, DAY, Literal(dt.date(2020, 1, 1))),  # said already
        Compare(Relation.EQUAL, e.Extracted(e.Field.MONTH, DAY), number(5)),
        Compare(Relation.EQUAL, e.Arithmetic(e.Sign.MULTIPLY, X, number(-1)), number(5)),
        Compare(Relation.EQUAL, e.Arithmetic(e.Sign.ADD, X, C), number(5)),
        Compare(Relation.EQUAL, year, Literal("2020")),  # refused later
        Compare(Relation.EQUAL, year, Literal(None)),
        Compare(Relation.EQUAL, year, number(1999)),  # no row
        Compare(Relation.UNEQUAL, year, number(2020)),
        e.In(year, tuple(F(n) for n in range(2000, 2200))),
        e.In(year, ()),
        Compare(Relation.EQUAL, e.Rounded(e.Rounding.DOWN, Column("w"), F(1)), number(1)),
        e.Or((Compare(Relation.EQUAL, year, number(2020)),)),
    ):
        plan = plan_of(where)
        assert tightened(plan, {"t": COLUMNS}) is plan


def test_conditions_of_sub_queries_are_tightened() -> None:
    year = Compare(Relation.EQUAL, e.Extracted(e.Field.YEAR, DAY), number(2020))
    inner = tightened(plan_of(year), {"t": COLUMNS}).where
    assert inner is not None
    numbered = Numbered(source=Scan(table="t"), where=year, by=(), columns=("day",), name="n")
    per_unit = PerUnit(source=Scan(table="t"), where=year)
    origin = Joined(left=numbered, right=per_unit, by_unit=True, names=())
    found = tightened(replace(plan_of(None), origin=origin), {"t": COLUMNS}).origin
    assert found == replace(origin, left=replace(numbered, where=inner), right=replace(per_unit, where=inner))


MONTHS = "SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM t WHERE EXTRACT(year FROM day) = 2020 GROUP BY m"


def of_year(folder: Path) -> Any:
    vault = pv.create(folder, budget=pv.Budget(9), testing=True)
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=n) for n in range(0, 500, 5)]
    vault.add_table(
        "t", {"day": days, "x": [n % 9 for n in range(100)]}, unit=None,
        columns={"day": Date("2018-01-01", "2023-12-31"), "x": Integer(0, 9)},
    )  # fmt: skip
    return vault


def test_a_year_has_twelve_months(tmp_path: Path) -> None:
    with of_year(tmp_path / "v") as vault:
        answer = vault.sql(MONTHS, epsilon=1).release()
        assert [row["m"] for row in answer.rows] == [dt.date(2020, month, 1) for month in range(1, 13)]
        frame = vault.table("t").filter(pv.col("day").dt.year == 2020).agg(s=pv.sum("x")).query(epsilon=1)
        assert "day >= '2020-01-01'" in frame.explain()


def test_answers_from_before_are_found_with_the_groups_they_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of averages, which changed twice since then; and a question whose groups were too many then is answered."""
    average = MONTHS.replace("COUNT(*)", "AVG(x)")
    with of_year(tmp_path / "v") as vault:
        with monkeypatch.context() as patch:
            patch.setattr("privet.vault.vault.tightened", lambda plan, _: plan)
            old = [vault.sql(text, epsilon=1).release() for text in (MONTHS, average)]
            assert [len(answer.rows) for answer in old] == [73, 73]
        for text, before in zip((MONTHS, average), old, strict=True):
            again = vault.sql(text, epsilon=1).release()
            assert again.replayed
            assert again.rows == before.rows
        assert len(list(vault.sql(average, epsilon=1).earlier())) == 2
        assert len(vault.sql(MONTHS, epsilon=1).release(fresh=True).rows) == 12
        assert vault.budget.spent.epsilon == 3
        narrow = Timestamp("0001-01-01", "9999-12-31")
        vault.add_table("u", {"at": [dt.datetime(2020, 1, 1)]}, unit=None, columns={"at": narrow})
        of_day = "FROM u WHERE date_trunc('day', at) = DATE '2020-01-01'"
        hours = vault.sql(f"SELECT date_trunc('hour', at) AS h, COUNT(*) AS n {of_day} GROUP BY h", epsilon=1)
        assert (hours.priced.cells.count, list(hours.earlier())) == (24, [])
