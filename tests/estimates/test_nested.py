"""Quantiles one inside the other, where that errs less: which are, what is published of them, what is said of them."""

from __future__ import annotations

from fractions import Fraction as F
from pathlib import Path

import pytest
from support.asked import BUDGET, KINDS, N, answer, bounds, key, ledger, plan, query, question

import privet as pv
from privet.core.expression import Column
from privet.core.laws import Choices
from privet.core.measures import Role
from privet.core.plan import Aggregate, Function, Plan
from privet.core.schema import Integer
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.estimates.families import has_families
from privet.estimates.priced import Priced, outline
from privet.estimates.pricing import ALIKE, Price, ask
from privet.report.explain.explanation import explanation


def quantiles(number: int, column: str = "cost", *more: Aggregate, keys: tuple[str, ...] = (), **rest: object) -> Plan:
    made = [
        Aggregate(name=f"q{n}", function=Function.QUANTILE, value=Column(column), quantile=F(n, number + 1))
        for n in range(1, number + 1)
    ]
    return plan(tuple(map(key, keys)), *made[::-1], *more, **rest)


def family(asked: Priced) -> int | None:
    """How many quantiles are in the one family, if there is one."""
    found = [len(part.measure.quantiles) for part in asked.parts if part.measure.quantiles]
    assert len(found) <= 1
    return found[0] if found else None


ROW = Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE)
OTHER = Bounds(groups=1, rows=1, neighbors=Neighbors.REPLACE)


def test_which_quantiles_are_chosen_one_inside_the_other() -> None:
    """Where errors are expected to fall to less than 1 / 1.4: not two, and few only where rows come or go."""
    chosen = {number: family(question(quantiles(number), ROW)) for number in (1, 2, 3, 4, 5, 7, 9, 19, 60)}
    assert chosen == {1: None, 2: None, 3: 3, 4: 4, 5: 5, 7: 7, 9: 9, 19: 19, 60: 60}
    replaced = {number: family(question(quantiles(number), OTHER)) for number in (3, 5, 7, 9, 19)}
    assert replaced == {3: None, 5: None, 7: 7, 9: 9, 19: 19}
    assert family(question(quantiles(19), ROW, rho=F(1, 10))) == 19
    assert family(question(quantiles(3), ROW, rho=F(1, 10))) == 3
    assert family(question(quantiles(9), OTHER, rho=F(1, 10))) is None


def test_in_a_short_range_ranks_must_be_known_well_enough() -> None:
    """The ages of 121 years, by permute-and-flip: at a tenth of the price ranks are off by hundreds of rows."""
    assert family(question(quantiles(9, "age"), ROW, epsilon=1)) == 9
    assert family(question(quantiles(9, "age"), ROW, epsilon=F(1, 10))) is None
    assert family(question(quantiles(9, "cost"), ROW, epsilon=F(1, 10))) == 9
    assert family(question(quantiles(9, "age"), bounds(5, 4), epsilon=1)) is None


def test_quantiles_of_too_fine_parts_or_among_too_many_values_are_chosen_apart() -> None:
    made = [
        Aggregate(name=f"q{n}", function=Function.QUANTILE, value=Column("cost"), quantile=at)
        for n, at in enumerate((F(250_001, 999_983), F(499_979, 999_961), F(749_977, 999_979)))
    ]
    assert family(question(plan((), *made), ROW)) is None
    for most, number in ((2**45, 7), (2**45 + 1, None)):
        asked = outline(quantiles(7), {"cost": Integer(0, most)}, ROW)
        assert family(ask(asked, BUDGET, Price(epsilon=1))) == number


def test_other_numbers_keep_their_places() -> None:
    """Counts, other columns, MIN, an average and the ends of all intervals are where they were, beside one family."""
    more = [
        N,
        Aggregate(name="least", function=Function.MIN, value=Column("cost")),
        Aggregate(name="age", function=Function.QUANTILE, value=Column("age"), quantile=F(1, 2)),
        Aggregate(name="mean", function=Function.AVG, value=Column("change")),
    ]
    for keys in ((), ("ward",)):
        asked = question(quantiles(7, "cost", *more, keys=keys), ROW, epsilon=1)
        apart = ask(outline(asked.plan, KINDS, ROW), BUDGET, Price(epsilon=1), allowed=ALIKE)
        assert (family(asked), family(apart)) == (7, None)
        for one, other in zip(asked.recipes, apart.recipes, strict=True):
            assert one.aggregate == other.aggregate
            now = [asked.parts[place].measure for place in one.measures]
            then = [apart.parts[place].measure for place in other.measures]
            if now[0].quantiles:
                assert then[0].quantile in now[0].quantiles
                now, then = now[1:], then[1:]
            assert now == then
        assert len(asked.parts) == len(apart.parts) - 6
        assert asked.loss.epsilon == apart.loss.epsilon == 1


def test_the_choice_of_keys_stays_last() -> None:
    """The number of people comes from it, whatever else is asked."""
    people = Aggregate(name="n", function=Function.COUNT_DISTINCT)
    asked = question(quantiles(7, "cost", people, keys=("city",)), ROW, epsilon=2, delta=F(1, 10**10))
    assert family(asked) == 7
    (recipe,) = (one for one in asked.recipes if one.aggregate == people)
    assert recipe.measures == (len(asked.parts) - 1,)
    assert asked.parts[-1].measure.role is Role.KEYS


def test_each_quantile_is_published_from_its_own_numbers() -> None:
    """Three groups, three quantiles: the vector has one stretch for each quantile, ascending. Then those of a group
    are put in order and into their intervals."""
    asked = question(quantiles(3, keys=("sex",), intervals=False), ROW)
    found = answer(asked, [100, 400, 0, 200, 500, 0, 300, 700, 0])
    assert [(row["q1"], row["q2"], row["q3"]) for row in found.rows] == [(1, 2, 3), (4, 5, 7), (0, 0, 0)]
    with_ends = question(quantiles(3, keys=("sex",)), ROW)
    family_, *ends = with_ends.parts
    assert family_.measure.quantiles == (F(1, 4), F(1, 2), F(3, 4))
    drawn = [
        [0] if one.measure.end == "low" else [250, 450, 0] if one.measure.quantile == F(1, 4) else [900] for one in ends
    ]
    first, second, _ = answer(with_ends, [100, 400, 0, 200, 500, 0, 300, 700, 0], *drawn).interval()
    assert first["q1"] == {"value": 1, "low": 0, "high": 2.5}
    assert second["q1"] == {"value": 4, "low": 0, "high": 4.5}
    assert second["q3"] == {"value": 7, "low": 0, "high": 9}


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": F(1, 10)}])
def test_what_is_said_of_them(price: dict[str, object], tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        asked = query(question(quantiles(19), ROW, **price), book)
        bare = query(question(quantiles(19, intervals=False), ROW, **price), book)
        text, alone = (" ".join(one.explain().split()) for one in (asked, bare))
        (told, *_), (without, *_) = explanation(asked).outlooks, explanation(bare).outlooks
    assert "the values of cost with 0.05, 0.1, 0.15," in text
    assert "quantiles one inside the other" in text
    assert "takes part of the price; with quantile_intervals=False the rank would be off by at most" in text
    assert "interval" not in alone
    assert told.rows is not None and told.rows_alone is not None and without.rows is not None  # noqa: PT018
    assert told.rows > told.rows_alone == pytest.approx(without.rows, rel=2e-3)  # shares of the price have four digits


def test_answers_from_before_there_were_families_stay_free(tmp_path: Path) -> None:
    """The way of today, that before there were families, that before there were pairs: what is stored is found."""
    sql = "SELECT QUANTILE(x, [0.25, 0.5, 0.75]) AS q, AVG(y) AS a FROM t"
    kinds = {"x": pv.Integer(0, 10**6), "y": pv.Integer(0, 9)}
    for number in range(3):
        with pv.create(tmp_path / f"{number}.privet", budget=pv.Budget(9), testing=True) as vault:
            vault.add_table("t", {"x": list(range(500)), "y": [3] * 500}, unit=None, columns=kinds)
            now = vault.sql(sql, epsilon=1)
            ways = [now.priced, *now.earlier()]
            assert [has_families(way) for way in ways] == [True, False, False]
            assert [any(part.measure.role is Role.PAIR for part in way.parts) for way in ways] == [True, True, False]
            first = now.at(ways[number]).release()
            again = now.release()
            assert again.replayed
            assert again.rows == first.rows
            assert vault.budget.spent.epsilon == 1
            assert not now.release(fresh=True).replayed


def test_the_engine_finds_the_quantiles_of_people(tmp_path: Path) -> None:
    """At a price at which no value comes that is further off than its neighbors: half of the people have one value."""
    people = {"p": list(range(1000)), "x": [7] * 500 + list(range(100, 600)), "g": ["a"] * 1000}
    columns = {"x": pv.Integer(0, 10**6), "g": pv.Category(["a", "b"])}
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(1000)) as vault:
        vault.add_table("t", people, unit="p", columns=columns, max_groups=1, max_rows_per_group=1)
        asked = ", ".join(f"QUANTILE(x, {n} / 8) AS q{n}" for n in range(1, 8))
        query_ = vault.sql(f"SELECT g, {asked} FROM t GROUP BY g", epsilon=900)
        assert any(isinstance(part.law, Choices) for part in query_.priced.parts)
        full, empty, _ = query_.release().rows
        assert [full[f"q{n}"] for n in (1, 2, 3)] == [7, 7, 7]
        for n in (5, 6, 7):
            assert abs(full[f"q{n}"] - (100 + 125 * n - 500)) <= 5
        assert empty["q4"] is None
