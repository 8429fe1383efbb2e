"""Totals are sums of the finest noisy numbers: they add up, cost nothing more, and say how far off they are."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import pytest
from support.asked import N, answer, bounds, key, ledger, plan, query, question, total
from support.refusals import raises_code

import privet as pv
from privet.attacks import tables_of_answers
from privet.core.expression import Column, Compare, Literal, Relation
from privet.core.measures import Role
from privet.core.plan import Aggregate, Function, Order, Plan
from privet.errors import PrivetError, RefusedQueryError
from privet.estimates.accuracy import half_width
from privet.estimates.estimate import lines, plain
from privet.estimates.levels import ADDED, groups_of, most_cells
from privet.estimates.moments import Estimate
from privet.estimates.priced import Priced
from privet.query import Query
from privet.report.charts import svg
from privet.vault import Vault

SEX, WARD, SMOKER = key("sex"), key("ward"), key("smoker")
ROLLUP = (("ward", "sex"), ("ward",), ())
PAIRS = (Function.COVAR_POP, Function.COVAR_SAMP, Function.CORR)


def leveled(*aggregates: Aggregate, levels: Any = ROLLUP, **more: Any) -> Plan:
    return plan((WARD, SEX), *aggregates, levels=levels, **more)


def vectors(asked: Priced) -> list[list[int]]:
    """Some number for every cell of every part."""
    return [[(7 * cell + 13 * part) % 50 + 3 for cell in range(asked.cells.count)] for part in range(len(asked.parts))]


def test_parts_add_up_to_totals_exactly() -> None:
    asked = question(leveled(N, total("s", "cost"), total("c", "change")))
    shown = answer(asked, *vectors(asked))
    rows = list(zip(shown.levels, shown.rows, strict=True))
    assert [level for level, _ in rows] == [("ward", "sex")] * 15 + [("ward",)] * 5 + [()]
    (whole,) = (row for level, row in rows if level == ())
    assert whole["ward"] is None
    for name in ("n", "s", "c"):
        for level in (("ward", "sex"), ("ward",)):
            assert sum(F(str(row[name])) for at, row in rows if at == level) == F(str(whole[name]))
        for _, row in (one for one in rows if one[0] == ("ward",)):
            parts = [F(str(part[name])) for at, part in rows if at == ("ward", "sex") and part["ward"] == row["ward"]]
            assert sum(parts) == F(str(row[name]))
            assert len(parts) == 3  # f, m and missing


@pytest.mark.parametrize("function", ADDED)
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.1"}])
def test_a_total_is_what_summed_numbers_give(function: Function, price: dict[str, object]) -> None:
    """As if the sums had been released for one group, with noise of all cells together."""
    one = Aggregate(
        name="x", function=function, value=Column("cost"), second=Column("age") if function in PAIRS else None
    )
    asked = question(leveled(N, one, levels=((), ("ward",))), **price)
    noisy = [[1000 + n for n in vector] if p.measure.role is Role.COUNT else vector
             for p, vector in zip(asked.parts, vectors(asked), strict=True)]  # fmt: skip
    found = lines(asked, noisy, F(95, 100))
    alone = dataclasses.replace(asked.plan, keys=(), levels=(), outputs=("n", "x"))
    bare = dataclasses.replace(asked, plan=alone)
    bare = dataclasses.replace(bare, cells=question(plan((), N)).cells)
    (same,) = lines(bare, [[sum(vector)] for vector in noisy], F(95, 100))
    assert plain(found[0]["x"]) == plain(same["x"])
    mine, narrow = found[0]["x"], same["x"]
    assert isinstance(mine, Estimate)
    assert isinstance(narrow, Estimate)
    assert mine.low <= narrow.low <= narrow.high <= mine.high  # type: ignore[operator]
    assert found[0]["ward"] is found[0]["sex"] is None


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.1"}])
def test_the_interval_of_a_total_is_that_of_the_noise_of_its_cells(price: dict[str, object]) -> None:
    asked = question(leveled(N), **price)
    shown = answer(asked, *vectors(asked))
    (part,) = asked.parts
    for row, cells in zip(shown.interval("0.9"), [1] * 15 + [3] * 5 + [15], strict=True):
        assert row["n"]["high"] - row["n"]["value"] == half_width(part.law, F(9, 10), cells)  # type: ignore[arg-type]
        assert row["n"]["value"] - row["n"]["low"] == half_width(part.law, F(9, 10), cells)  # type: ignore[arg-type]


def test_any_levels_in_any_order_and_without_the_finest() -> None:
    asked = question(leveled(N, levels=((), ("sex",), ("sex", "ward"))))
    shown = answer(asked, *vectors(asked))
    assert shown.levels == [()] + [("sex",)] * 3 + [("ward", "sex")] * 15
    only = question(leveled(N, levels=(("sex",), ("ward",))))
    assert [row["n"] for row in answer(only, *vectors(only)).rows[:3]] == [row["n"] for row in shown.rows[1:4]]


def test_a_missing_key_and_a_total_are_told_apart() -> None:
    asked = question(leveled(N))
    shown = answer(asked, *vectors(asked))
    nobody = [level for level, row in zip(shown.levels, shown.rows, strict=True) if row["ward"] is row["sex"] is None]
    assert nobody == [("ward", "sex"), ("ward",), ()]
    told = shown.to_json()
    assert told["levels"] == [list(level) for level in shown.levels]
    assert "levels" not in answer(question(plan((WARD,), N)), [5]).to_json()
    assert shown.to_pandas()["level"].tolist()[13:] == ["ward, sex", "ward, sex", *["ward"] * 5, ""]
    assert "level" not in answer(question(plan((WARD,), N)), [5]).to_pandas()
    text = str(shown).splitlines()
    assert text[15].split()[:2] == ["(missing)", "(missing)"]
    assert text[20].split()[:2] == ["(missing)", "(all)"]
    assert text[21].split()[:2] == ["(all)", "(all)"]
    renamed = question(leveled(dataclasses.replace(N, name="level")))
    assert list(answer(renamed, *vectors(renamed)).table()) == ["ward", "sex", "level", "level_"]


def test_having_order_and_limit_see_all_rows() -> None:
    big = Compare(Relation.GREATER, Column("n"), Literal(F(60)))
    asked = question(leveled(N, having=big, order=(Order(name="n", descending=True),), limit=3))
    everything = question(leveled(N))
    numbers = sorted((row["n"] for row in answer(everything, *vectors(everything)).rows), reverse=True)
    shown = answer(asked, *vectors(asked))
    assert [row["n"] for row in shown.rows] == numbers[:3]
    assert shown.levels == [(), ("ward",), ("ward",)]
    assert all(row["n"] > 60 for row in shown.rows)


def test_totals_of_groups_from_the_data_have_the_rest_in_them() -> None:
    city = plan((key("city"),), N, levels=(("city",), ()), other="elsewhere")
    asked = question(city, epsilon=1, delta="1e-12").showing([("Bern",), ("Basel",)])
    shown = answer(asked, [100, 200, 30], [100, 200])
    assert [(row["city"], row["n"]) for row in shown.rows] == [
        ("Bern", 100), ("Basel", 200), ("elsewhere", 30), (None, 330),
    ]  # fmt: skip
    assert most_cells(asked.plan, asked.cells) == 1
    picture = svg(shown.chart())
    assert "elsewhere: 30" in picture
    assert "(all): 330" in picture


DISTINCT = Aggregate(name="x", function=Function.COUNT_DISTINCT)
MEDIAN = Aggregate(name="x", function=Function.QUANTILE, value=Column("age"), quantile=F(1, 2))
LEAST = Aggregate(name="x", function=Function.MIN, value=Column("age"))


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        *((leveled(N, one), f"unsupported-function: {one.function} x") for one in (DISTINCT, MEDIAN, LEAST)),
        (leveled(N, levels=(("ward", "age"),)), "not-grouped: 'age'"),
        (leveled(N, levels=(("ward", "sex"), ("sex", "ward"))), "duplicate-value"),
        (plan((key("city"),), N, levels=((),)), "missing-option: groups"),
        (plan((WARD,), N, levels=((),), private_keys=True), "missing-option: groups"),
        (
            plan((key("city"), WARD), N, levels=(("city",),), other="elsewhere"),
            "not-supported",
        ),
    ],
)
def test_what_does_not_add_up_is_refused_with_a_remedy(asked: Plan, problem: str) -> None:
    with raises_code(RefusedQueryError, problem) as caught:
        question(asked, epsilon=1, delta="1e-12")
    assert caught.value.remedy


@pytest.mark.parametrize("one", [DISTINCT, MEDIAN, LEAST])
def test_the_finest_level_alone_may_be_named(one: Aggregate) -> None:
    assert question(leveled(one, levels=(("ward", "sex"),))).plan.levels


def test_no_group_at_all_has_one_level() -> None:
    asked = question(plan((), N, levels=((),)))
    assert answer(asked, [5]).levels == [()]
    assert [group.cells for group in groups_of(leveled(N, levels=((),)), [])] == [()]  # nothing to sum


def test_nearness_and_errors_are_those_of_the_largest_total(tmp_path: Path) -> None:
    asked = question(leveled(N), within=40)
    shown = answer(asked, *vectors(asked))
    offs = [row["n"]["high"] - row["n"]["value"] for row in shown.interval()]
    assert max(offs) == offs[-1] <= 40
    with ledger(tmp_path) as book:
        assert query(asked, book).error == {"n": offs[-1]}
    assert answer(question(plan((WARD, SEX), N), within=40), [9]).interval()[0]["n"]["high"] - 9 in (39, 40)


def test_levels_are_free(tmp_path: Path) -> None:
    """The same noisy numbers: the price is that of the finest, and an answer that is there is used again."""
    with ledger(tmp_path) as book:
        fine, rolled = (query(question(leveled(N, levels=levels)), book) for levels in ((), ROLLUP))
        assert fine.cost == rolled.cost
        assert fine.request == rolled.request


def test_totals_can_be_drawn() -> None:
    asked = question(leveled(N))
    picture = svg(answer(asked, *vectors(asked)).chart())
    assert "(all)" in picture
    many = question(plan((key("age"),), N, levels=(("age",), ())), bounds(1, 1))
    with raises_code(PrivetError, "too-many: 123"):
        answer(many, [5]).chart()
    assert "(all): 610" in svg(answer(question(plan((key("age"),), N, levels=((),))), [5]).chart())


def test_an_attack_reads_a_total_as_one() -> None:
    asked = question(plan((WARD,), N, levels=(("ward",), ())))
    shown = answer(asked, [5, 6, 7, 8, 9])
    found = tables_of_answers([shown], {"ward": ("A", "B")}, "0.9", most=100)
    assert found.statistics[-1].name == "answer 1, row 6: n of everybody"
    assert found.statistics[-2].name.endswith("n of ward None")


# --- from data to totals


class NoNoise:
    def draw(self, law: object, size: int) -> Any:
        return [0] * size

    def choose(self, spread: object, measure: object, law: object) -> int:
        raise NotImplementedError

    def top(self, scores: object, law: object) -> list[int]:
        raise NotImplementedError


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(10), testing=True) as made:
        rows = [(ward, sex, 10 * n) for n, (ward, sex) in enumerate(itertools.product("AAB", "fmm"))]
        data = {name: [row[place] for row in rows] for place, name in enumerate(("ward", "sex", "cost"))}
        columns = {"ward": pv.Category(["A", "B"]), "sex": pv.Category(["f", "m"]), "cost": pv.Integer(0, 100)}
        made.add_table("t", data, unit=None, columns=columns)
        made.replace_noise(NoNoise())
        yield made


def with_levels(asked: Query, levels: tuple[tuple[str, ...], ...]) -> Query:
    read = asked.priced
    changed = dataclasses.replace(read, plan=dataclasses.replace(read.plan, levels=levels))
    return dataclasses.replace(asked, priced=changed)


def test_totals_of_real_rows(vault: Vault) -> None:
    text = "SELECT ward, sex, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS a FROM t GROUP BY ward, sex"
    asked = vault.sql(text, epsilon=9)
    asked.release()
    rolled = with_levels(asked, ROLLUP).release()
    assert rolled.replayed
    by_level = list(zip(rolled.levels, rolled.rows, strict=True))
    (whole,) = (row for level, row in by_level if level == ())
    assert (whole["n"], whole["s"], whole["a"]) == (9, 360, 40)
    wards = {row["ward"]: (row["n"], row["s"], row["a"]) for level, row in by_level if level == ("ward",)}
    assert wards["A"] == (6, 150, 25)
    assert wards["B"] == (3, 210, 70)
