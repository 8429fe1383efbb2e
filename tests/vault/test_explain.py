"""`explain`: every number on the page against a second computation; nothing is spent and no data are touched."""

from __future__ import annotations

import dataclasses
import math
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asked import KINDS, N, answer, average, bounds, key, ledger, month, plan, query, question, single, total

from privet.core.accountant import Budget
from privet.core.expression import (
    Absolute,
    And,
    Arithmetic,
    AsDate,
    AsTime,
    Case,
    Coalesce,
    Column,
    Compare,
    Expression,
    Extracted,
    Field,
    Greatest,
    In,
    IsNull,
    Least,
    Literal,
    Not,
    Or,
    Period,
    Quotient,
    Relation,
    Rounded,
    Rounding,
    Sign,
    Truncated,
)  # fmt: skip
from privet.core.loss import Loss, pure, zcdp
from privet.core.plan import Aggregate, By, Computed, Function, Joined, Numbered, Order, PerUnit, Scan
from privet.core.unit import Neighbors
from privet.errors import BudgetExceededError
from privet.estimates.estimate import lines, total_error
from privet.ledger import Charge, Policy
from privet.query import Query
from privet.report.explain.explanation import ASSUMED_ROWS, _average_error, _outlook, _root, explanation
from privet.report.explain.plan_words import call, origin_tree, words_of
from privet.report.explain.text import about, explain, nearest, up
from privet.report.terminal import Pen
from privet.report.tree import TreeBranch, drawn

WARD = (key("ward"),)
PLAIN = Pen(color=False)
REQUEST = "0" * 64


def said(asked: Query) -> str:
    """The page in one line, however it was wrapped, without the lines of the tree."""
    return re.sub(r"[\s│├└─]+", " ", explain(asked, PLAIN))


def test_the_whole_page(tmp_path: Path) -> None:
    where = And((Compare(Relation.GREATER_EQUAL, Column("age"), Literal(Fraction(18))), Not(IsNull(Column("sex")))))
    asked = single(
        plan(WARD, N, average("mean", "cost"), where=where, limit=3, order=(Order(name="n"),)), bounds(5, 10)
    )
    with ledger(tmp_path) as book:
        page = explain(query(asked, book), PLAIN)
        text = said(query(asked, book))
        assert book.head().entry == 1
    assert max(map(len, page.splitlines())) <= 100
    assert len(page.splitlines()) <= 45
    for words in (
        "rows of visits only rows where (age >= 18) AND (sex IS NOT NULL) 5 groups by ward",
        "rows whose group is missing are a group of their own",
        "noisy numbers of each group: nothing else is released [1] how many rows: 37.1 % of the price, discrete Laplace"
        " noise [2] how many rows have cost:",
        "[3] the sum of cost, each less 2500: 37.1 % of the price",
        "made of them, free of charge n = COUNT(*), from [1] mean = AVG(cost), from [2] and [3] HAVING, ORDER BY",
        "Each patient_id with all its rows, whether it is in the table at all (add-remove).",
        "At most 5 groups of each patient_id count, with 10 rows in each: rows beyond that are dropped",
        "n: one patient_id moves it by 50 in all groups together; discrete Laplace noise, scale 135 off by at most 403",
        "sum: one patient_id moves it by 125,000 in all groups together; discrete Laplace noise, scale 336,",
        "epsilon 1 on the basic gauge; rho 0.170992 on the zCDP gauge. Either gauge may certify it.",
        "Left of the budget: epsilon 3 of 3, rho 0.116463 of 0.116463. About 3 more like this fit.",
        "n: groups with fewer than about 4,100 rows may be off by more than 10 %.",
        "3 noisy numbers per group share the price",
        "One patient_id may count 50 times: lower max_groups, max_rows_per_group or max_rows mean less noise, but drop"
        ' more rows; bounds="auto" (--bounds auto) chooses, for a quarter of epsilon.',
        "Nothing was spent, and no data were touched.",
    ):
        assert words in text, words


def test_a_row_is_its_own_unit_and_replace_says_so(tmp_path: Path) -> None:
    asked = question(plan((), N), bounds(1, 1, Neighbors.REPLACE), rho="0.01")
    with ledger(tmp_path) as book:
        text = said(query(asked, book, unit=None))
    assert "one group of all rows noisy numbers of each group" in text
    assert "Each row by itself, whatever its rows say; how many there are is public (replace)." in text
    assert "one row moves it by 1 (root of the sum of squares over all groups); discrete Gaussian noise" in text
    assert "no epsilon price on the basic gauge" in text


def test_keys_that_are_computed_are_told(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        text = said(query(question(plan((month(), key("age")), N)), book))
    assert "1,586 groups by month = date_trunc('month', day), age rows whose group is missing" in text
    assert "Of 1,586 groups about 80 are further off than said here" in text


@settings(max_examples=60)
@given(rows=st.integers(1, 20_000), spread=st.integers(0, 1000), epsilon=st.sampled_from(["0.1", "1", "10"]))
def test_the_error_of_an_average_is_a_bound_that_is_reached(rows: int, spread: int, epsilon: str) -> None:
    """The worst noise inside both half widths moves the published average by the bound, and never by more."""
    asked = single(plan((), average("mean", "cost")), bounds(1, 1), epsilon)

    outlook = _outlook(asked.recipes[0], asked.parts)
    count, centered = asked.parts
    off = (int(outlook.noises[1].error), int(outlook.noises[0].error / centered.measure.step))
    exact_sum = centered.measure.high * rows * spread // 1000
    bound = _average_error(outlook, rows)
    for count_off in (-off[0], 0, off[0]):
        for sum_off in (-off[1], 0, off[1]):
            published = lines(asked, [[rows + count_off], [exact_sum + sum_off]], Fraction(95, 100))[0]["mean"]
            true = (centered.measure.center + Fraction(exact_sum, rows)) * centered.measure.step
            moved = abs(published.value - true)
            assert moved <= (outlook.high - outlook.low if bound is None else bound)
    assert count.measure.low == 0


def test_the_bound_is_reached_exactly() -> None:
    asked = single(plan((), average("mean", "change")), bounds(1, 1), 10)

    outlook = _outlook(asked.recipes[0], asked.parts)
    a, b = (outlook.noises[0].error, outlook.noises[1].error)
    assert dict(outlook.errors)[100] == (a + 10 * b) / (100 - b)
    step = asked.parts[1].measure.step
    worst = lines(asked, [[100 - int(b)], [int((10 * 100 + a) / step)]], Fraction(95, 100))[0]["mean"]
    assert worst.value == 10  # clamped: the true average was 10 already
    low = lines(asked, [[100 - int(b)], [int((-5 * 100 - a) / step)]], Fraction(95, 100))[0]["mean"]
    assert abs(low.value - -5) == (a + 5 * b) / (100 - b)


def test_the_share_of_both_half_widths_is_95_percent() -> None:
    """97.5 % each: the interval of the answer uses the same."""
    asked = single(plan((), average("mean", "cost")))
    shown = answer(asked, [10**6], [0]).lines()[0]["mean"]

    outlook = _outlook(asked.recipes[0], asked.parts)
    a, b = (noise.error for noise in outlook.noises)
    assert shown.high - shown.value == a / (10**6 - b)
    assert _average_error(outlook, 10**6) == (a + 2500 * b) / (10**6 - b)
    assert [rows for rows, _ in outlook.errors] == list(ASSUMED_ROWS)


def test_an_average_from_a_pair_says_its_error_before() -> None:
    """The worst noise inside the two bounds moves the published average by no more, wherever it lies."""
    asked = question(plan((), average("mean", "cost")))
    (part,) = asked.parts
    outlook = _outlook(asked.recipes[0], asked.parts)
    off = int(outlook.noises[0].error / part.measure.step)
    for rows, bound in outlook.errors:
        for share in range(5):
            above = rows * part.measure.high * share // 4
            sides = [[above + x, rows * part.measure.high - above - x] for x in (-off, 0, off)]
            moved = [lines(asked, [side], Fraction(95, 100))[0]["mean"].value for side in sides]
            true = Fraction(above, rows) * part.measure.step
            assert max(abs(one - true) for one in moved) <= (bound or outlook.high)
    rows = outlook.rows_for(Fraction(250))
    assert _average_error(outlook, rows) <= 250 < _average_error(outlook, rows - 1)
    assert outlook.rows_error is not None


def test_a_pair_and_what_is_made_of_it_are_told(tmp_path: Path) -> None:
    count = Aggregate(name="n", function=Function.COUNT, value=AGE)
    where = Not(IsNull(AGE))
    both = Aggregate(name="v", function=Function.COVAR_POP, value=AGE, second=AGE)
    with ledger(tmp_path) as book:
        text = said(query(question(plan((), count, average("mean", "age"), both, where=where)), book))
    for words in (
        "two sums of age: how far it is above 0, and below 120",
        "mean: from a pair of noisy sums: how far values are above 0 and below 120 both: one patient_id moves them by",
        "count, from a pair of sums",
        "off by at most, if its group has 100 rows:",
    ):
        assert words in text, words


def test_squares_and_what_is_made_of_them_are_told(tmp_path: Path) -> None:
    spread = Aggregate(name="v", function=Function.VAR_POP, value=AGE)
    related = Aggregate(name="r", function=Function.CORR, value=AGE, second=Column("cost"))
    asked = question(plan((), average("mean", "age"), spread, where=Not(IsNull(AGE))))
    with ledger(tmp_path) as book:
        text = said(query(asked, book))
        mixed = said(query(question(plan((), related, where=Not(IsNull(AGE)))), book))
    for words in (
        "three sums, of u * u, 2 * u * v and v * v, where age is u above 0 and v below 120",
        "mean: from three noisy sums of squares and products of how far values are above 0 and below 120 all three:",
        "one patient_id moves them by 43,200 in all groups together",
        "off by at most, if its group has 100 rows:",
        "its interval comes with the answer",
    ):
        assert words in text, words
    assert "from sums of squares" in mixed
    outlook = _outlook(asked.recipes[0], asked.parts)
    assert outlook.rows_error is not None
    for rows, error in outlook.errors:  # no noise that is inside moves an average further
        off = outlook.noises[0].error / (rows - outlook.rows_error)
        assert error == (off if off < 120 else None)


def test_rows_for_is_where_the_error_is_met() -> None:

    asked = question(plan((), average("mean", "cost")), epsilon=1)
    outlook = _outlook(asked.recipes[0], asked.parts)
    rows = outlook.rows_for(Fraction(250))
    assert _average_error(outlook, rows) <= 250 < _average_error(outlook, rows - 1)


# --- advice


@pytest.mark.parametrize(
    ("aggregate", "words"),
    [
        (total("s", "cost"), "s: narrow the range with LEAST and GREATEST, or ask for the average."),
        (total("s", "nothing"), "s: every value is 0, so the sum is known without asking."),
        (average("m", "nothing"), "m: its range has one value, so the average is known without asking."),
        (average("m", "change"), "it may be off by 5 % of its range, -10 to 10, or more."),
    ],
)
def test_advice(aggregate: Aggregate, words: str, tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        assert words in said(query(question(plan((), aggregate), epsilon="0.01"), book))


def test_a_sum_of_many_is_useful(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        text = said(query(question(plan((), total("s", "cost")), bounds(1, 1), epsilon=1), book))
    assert (
        "s: sums below 150,000 may be off by more than 10 %; that is about 60 rows of half the largest value, 5,000."
        in text
    )
    assert "narrow" not in text
    assert "One patient_id may count" not in text


def test_rounding_is_against_us() -> None:
    assert [up(Fraction(x)) for x in ("599", "0.0123", "12345.1", "6", "0", "1/3")] == [
        "599", "0.013", "12,346", "6", "0", "0.34",
    ]  # fmt: skip
    assert [about(x) for x in (0, 7, 43, 4321, Fraction("431.5"))] == ["0", "7", "43", "4,400", "440"]
    assert [nearest(Fraction(x)) for x in ("0", "0.5", "-10", "2999.99")] == ["0", "0.5", "-10", "3,000"]


# --- what is left


def test_what_was_spent_is_taken_off(tmp_path: Path) -> None:
    asked = question(plan(WARD, N), epsilon="0.7")
    with ledger(tmp_path) as book:
        book.spend(Charge(loss=pure(Fraction("0.4")), request=REQUEST))
        text = said(query(asked, book))
        assert "Left of the budget: epsilon 2.6 of 3, rho 0.036463 of 0.116463. About 3 more like this fit." in text
        book.spend(Charge(loss=zcdp(Fraction("0.01")), request=REQUEST))
        assert "Left of the budget: no epsilon, rho 0.026463 of 0.116463." in said(query(asked, book))


def test_what_ends_the_gauge_of_epsilon_is_said_first(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        asked = query(question(plan(WARD, N), rho="0.01"), book)
        assert explanation(asked).ends_epsilon
        assert "It ends the gauge of epsilon." in said(asked)
        assert "With delta=2.5e-11 it would be booked as about epsilon 0.9 as well" in said(asked)
        booked = query(question(plan(WARD, N), rho="0.01", delta="2.5e-11"), book)
        assert not explanation(booked).ends_epsilon
        assert "epsilon 0.89541 with delta 2.5e-11 on the basic gauge" in said(booked)
        large = query(question(plan(WARD, N), rho="0.01", delta="1e-9"), book)
        assert explanation(large).ends_epsilon
        assert "at most 2.5e-10: give a smaller delta" in said(large)
        book.spend(Charge(loss=zcdp(Fraction("0.01")), request=REQUEST))
        assert not explanation(asked).ends_epsilon  # it has ended before
    (tmp_path / "pure").mkdir()
    with ledger(tmp_path / "pure", budget=Budget(3)) as book:
        assert not explanation(query(question(plan((), N), epsilon=1), book)).ends_epsilon


def test_a_gauge_that_is_gone_offers_nothing(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        book.spend(Charge(loss=Loss(epsilon=Fraction(1), rho=None), request=REQUEST))
        assert explanation(query(question(plan((), N), rho="0.01"), book)).largest is None
        assert explanation(query(question(plan((), N), epsilon=4), book)).largest == ("epsilon=2", 2)


@pytest.mark.parametrize("price", [{"epsilon": 2}, {"epsilon": "0.31"}, {"rho": "0.1"}, {"rho": 5}])
@pytest.mark.parametrize("spent", [[], ["2.9"], ["0.3", "0.3"], ["0.01"] * 100])
def test_a_refusal_names_the_largest_price_that_fits(price: dict[str, str], spent: list[str], tmp_path: Path) -> None:
    """The price it names is taken by the real ledger, and one that is 1 % larger is not."""
    asked = plan(WARD, N, total("s", "cost"))
    with ledger(tmp_path) as book:
        for epsilon in spent:
            book.spend(Charge(loss=pure(Fraction(epsilon)), request=REQUEST))
        facts = explanation(query(question(asked, **price), book))
        text = said(query(question(asked, **price), book))
        assert ("It would be refused" in text) == (not facts.fits)
        if facts.fits:
            book.spend(Charge(loss=facts.cost, request=REQUEST))
            return
        if facts.largest is None:
            assert "nothing is left for such a question" in text
            return
        gauge, amount = facts.largest[0].split("=")
        assert f"The largest price that fits is {gauge}={amount}" in text
        more = question(asked, **{gauge: Fraction(amount) * Fraction("1.01")}).loss
        with pytest.raises(BudgetExceededError):
            book.spend(Charge(loss=more, request=REQUEST))
        book.spend(Charge(loss=question(asked, **{gauge: amount}).loss, request=REQUEST))


def test_errors_grow_as_the_price_shrinks(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        assert explanation(query(question(plan((), N), epsilon=6), book)).largest == ("epsilon=3", 2)
        price, worse = explanation(query(question(plan((), N), rho="0.465852"), book)).largest
    assert (price, worse) == ("rho=0.116463", 2)


def test_an_analyst_has_two_budgets(tmp_path: Path) -> None:
    asked = question(plan((), N), epsilon=1)
    with ledger(tmp_path) as book:
        book.grant("anna", Budget("0.25"))
        text = said(query(asked, book, analyst="anna"))
        assert (
            "Left of the budget: epsilon 3 of 3, rho 0.116463 of 0.116463. Left of anna's share: epsilon 0.25 of 0.25."
            in text
        )
        assert "The largest price that fits is epsilon=0.25; errors would then be about 4 times as large." in text
        assert "It would be refused" not in said(query(asked, book, analyst="bert"))


def test_a_suspended_analyst_is_told(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        for _ in range(3):
            book.fail(book.spend(Charge(loss=pure(Fraction("0.1")), request=REQUEST, analyst="anna")))
        asked = query(question(plan((), N)), book, analyst="anna")
        assert "this analyst is suspended" in said(asked)
        assert explanation(asked).to_json()["fits"] is False


def test_a_stored_answer_is_free(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        asked = query(question(plan((), N)), book)
        book.store(book.spend(Charge(loss=asked.cost, request=asked.request)), b"{}")
        assert "Answered before: asking again is free and gives the same numbers." in said(asked)


def test_a_passed_cap_leaves_nothing(tmp_path: Path) -> None:
    with ledger(tmp_path, Policy.WARN) as book:
        large = query(question(plan((), N), epsilon=4), book)
        assert "It would pass the cap: it is answered, and the cap no longer holds." in said(large)
        assert "It would be refused" in said(query(question(plan((), N), epsilon=4), book, analyst="anna"))
        book.spend(Charge(loss=large.cost, request=REQUEST))
        small = query(question(plan((), N), epsilon="0.1"), book)
        assert small.about_n_more == 0
        assert "Left of the budget: nothing, the cap no longer holds." in said(small)


def test_without_a_delta_there_is_one_gauge(tmp_path: Path) -> None:
    with ledger(tmp_path, budget=Budget(1)) as book:
        assert "Left of the budget: epsilon 1 of 1. It would be refused: nothing is left" in said(
            query(question(plan((), N), rho="0.1"), book)
        )


def test_numbers_for_programs(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        told = explanation(query(single(plan(WARD, N, average("m", "cost"))), book)).to_json()
    assert told["cells"] == 5
    assert told["aggregates"][0]["error"] == 48
    assert told["aggregates"][0]["noises"][0] == {
        "role": "count",
        "sensitivity": 6.0,
        "mechanism": "discrete Laplace",
        "scale": pytest.approx(6 / 0.3711, rel=1e-3),
        "error": 48.0,
    }
    assert [rows for rows, _ in told["aggregates"][1]["errors"]] == list(ASSUMED_ROWS)
    assert told["budgets"][0]["spent"]["epsilon"] == 0
    assert (told["about_n_more"], told["fits"], told["answered_before"]) == (3, True, False)


# --- the tree


def test_the_tree_of_numbered_rows() -> None:
    """Which numbers stay, among which rows, in which order."""
    adults = Compare(Relation.GREATER_EQUAL, AGE, Literal(Fraction(18)))
    made = Numbered(
        source=Scan(table="visits"), where=adults, keys=(Column("ward"),), columns=("cost",), name="k",
        by=(By(value=Column("day"), descending=True), By(value=Column("cost"))),
    )  # fmt: skip
    assert list(drawn([origin_tree(made)], "  ")) == [
        "  └─ rows with a number k: their place among the rows of the same unit and ward",
        "     ├─ rows of visits",
        "     ├─ only rows where age >= 18",
        "     └─ in the order of day (largest first), cost; ties in the order of the values of the whole",
        "           row",
    ]
    bare = dataclasses.replace(made, where=None, keys=(), by=())
    for first, last, words in (
        (1, 1, ", only number 1"),
        (2, 4, ", only numbers 2 to 4"),
        (3, None, ", from number 3 on"),
    ):
        (line, *_) = drawn([origin_tree(dataclasses.replace(bare, first=first, last=last))], "  ")
        assert line == f"  └─ rows with a number k: their place among the rows of the same unit{words}"


def test_the_tree_of_joined_rows() -> None:
    adults = Compare(Relation.GREATER_EQUAL, AGE, Literal(Fraction(18)))
    own = PerUnit(
        source=Scan(table="visits"),
        where=adults,
        keys=(key("sex"),),
        aggregates=(Aggregate(name="times", function=Function.COUNT),),
    )
    joined = Joined(
        left=Joined(
            left=Scan(table="visits"),
            right=Scan(table="wards"),
            by_unit=False,
            on=(("ward", "name"),),
            names=(("region", "area"), ("beds", "beds")),
            most=1,
        ),
        right=own,
        by_unit=True,
        names=(),
        outer=True,
        most=3,
    )
    assert list(drawn([origin_tree(joined)], "  ")) == [
        "  └─ rows put side by side: each one of the first with those of the second that match",
        "     ├─ rows put side by side: each one of the first with those of the second that match",
        "     │  ├─ rows of visits",
        "     │  ├─ rows of wards, a public table",
        "     │  ├─ they match: ward = name",
        "     │  ├─ at most 1 of the second for each row",
        "     │  └─ from the second: region as area, beds",
        "     ├─ one row for each unit and sex = sex, made of its own rows",
        "     │  ├─ rows of visits",
        "     │  ├─ only rows where age >= 18",
        "     │  └─ times = COUNT(*)",
        "     ├─ they match: the same unit",
        "     ├─ at most 3 of the second for each unit",
        "     └─ rows that nothing matches stay",
    ]
    unbounded = origin_tree(dataclasses.replace(joined, most=None))
    assert not any("at most" in item.text for item in unbounded.items)
    bare = dataclasses.replace(own, where=None, keys=())
    assert origin_tree(bare).text == "one row for each unit, made of its own rows"
    assert [item.text for item in origin_tree(bare).items] == ["rows of visits", "times = COUNT(*)"]


def test_long_words_stay_beside_their_branch() -> None:
    deep = TreeBranch("word " * 60, (TreeBranch("leaf " * 30),))
    lines = list(drawn([deep, TreeBranch("end")]))
    assert max(map(len, lines)) <= 100
    assert lines[1].startswith("│  │  word")
    assert [line for line in lines if "leaf" in line][1].startswith("│        leaf")
    assert lines[-1] == "└─ end"


def test_each_part_has_its_share_of_the_price(tmp_path: Path) -> None:
    people = Aggregate(name="p", function=Function.COUNT_DISTINCT)
    cities = Aggregate(name="c", function=Function.COUNT_DISTINCT, value=Column("city"))
    ranked = [
        Aggregate(name="m", function=Function.QUANTILE, value=AGE, quantile=Fraction(1, 4)),
        Aggregate(name="low", function=Function.MIN, value=AGE),
        Aggregate(name="high", function=Function.MAX, value=AGE),
    ]
    for price in ({"epsilon": 1}, {"rho": "0.1"}):
        asked = question(plan(WARD, people, cities, total("s", "age"), *ranked), **price)
        folder = tmp_path / next(iter(price))
        folder.mkdir()
        with ledger(folder) as book:
            text = said(query(asked, book))
        shares = [float(share) for share in re.findall(r"([\d.]+) % of the price", text)]
        assert len(shares) == len(asked.parts) == 8  # a quantile has two ends
        assert abs(sum(shares) - 100) < 0.5
        for words in (
            "how many units: ", "how many different values of city: ", "the sum of ", "nearly the smallest age: ",
            "the value of age with 0.25 of the rows below it: ", "nearly the largest age: ",
            "the low end of an interval for the value of age with 0.25 of the rows below it: ",
            "the high end of an interval for the value of age with 0.25 of the rows below it: ",
        ):  # fmt: skip
            assert words in text, words
        assert "chosen by rank with" in text


def test_groups_from_the_data_have_their_share(tmp_path: Path) -> None:
    asked = question(
        plan((key("city"),), N, levels=(("city",), ()), other="rest"), bounds(1, 1), epsilon=1, delta="1e-12"
    )
    with ledger(tmp_path) as book:
        text = said(query(asked, book))
    assert f"the groups by city that have about {asked.parts[-1].threshold} units or more noisy numbers" in text
    assert "which groups are shown, by how many units they have: " in text
    assert "a total of all: how far off it is depends on how many groups are shown" in text
    assert "totals of all: sums over groups, so that parts add up" in text


def test_totals_and_what_is_computed_are_explained(tmp_path: Path) -> None:
    keys, levels = (key("ward"), key("sex")), (("ward", "sex"), ("ward",), ())
    each = Computed(name="each", value=Quotient(Column("s"), Column("n")))
    more = Computed(name="more", value=Arithmetic(Sign.ADD, Column("n"), Literal(Fraction(1))))
    two = Computed(name="two", value=Literal(Fraction(2)))
    asked = question(plan(keys, N, total("s", "age"), levels=levels, computed=(each, more, two)), bounds(1, 1))
    with ledger(tmp_path) as book:
        made = query(asked, book)
        text, facts = said(made), explanation(made)
    for words in (
        "totals by ward and of all: sums over groups, so that parts add up",
        "each = s / n, from s and n",
        "two = 2 Who",
        "each: its interval comes with the answer and follows from those of s and n, which hold together; none where"
        " what it is divided by may be 0",
        "more: its interval comes with the answer and follows from those of n, which hold together two: it is known",
        f"a total by ward, of 3 groups: off by at most n {up(dict(facts.totals[0].errors)['n'])}, s ",
        f"a total of all, of 15 groups: off by at most n {up(dict(facts.totals[1].errors)['n'])}, s ",
    ):
        assert words in text, words
    assert "only these totals" not in text
    n = asked.recipes[0]
    assert dict(facts.totals[1].errors)["n"] == total_error(n, asked.parts, Fraction(95, 100), 15)
    assert facts.to_json()["totals"][0]["level"] == ["ward"]
    assert explanation_of_averages(tmp_path / "other") == 1


def explanation_of_averages(folder: Path) -> int:
    """Of averages alone nothing can be said before; how many times the page says that only totals are shown."""
    folder.mkdir()
    asked = question(plan((key("ward"), key("sex")), average("m", "age"), levels=(("ward",),)))
    with ledger(folder) as book:
        text = said(query(asked, book))
    assert "a total by ward, of" not in text
    return text.count("only these totals are shown, not their parts")


# --- expressions in words


AGE, DAY = Column("age"), Column("day")


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (Column("a\nb"), "a?b"),
        (Literal(None), "NULL"),
        (Literal(True), "TRUE"),
        (Literal(False), "FALSE"),
        (Literal(Fraction(1, 2)), "0.5"),
        (Literal("it's"), "'it''s'"),
        (Literal(KINDS["day"].low), "'2026-01-01'"),
        (Literal(KINDS["time"].low), "'2026-01-01T00:00:00'"),
        (Arithmetic(Sign.ADD, AGE, Literal(Fraction(1))), "(age + 1)"),
        (Or((Compare(Relation.EQUAL, AGE, AGE), Literal(True))), "((age = age) OR TRUE)"),
        (In(AGE, tuple(Fraction(n) for n in range(10))), "(age IN (0, 1, 2, 3, 4, 5, 6, 7 and 2 more))"),
        (Case(((Literal(True), AGE),), Literal(None)), "CASE WHEN TRUE THEN age ELSE NULL END"),
        (Not(IsNull(AGE)), "(age IS NOT NULL)"),
        (Not(Not(IsNull(AGE))), "(age IS NULL)"),
        (Not(Literal(True)), "(NOT TRUE)"),
        (Coalesce((AGE, AGE)), "COALESCE(age, age)"),
        (Least((AGE, AGE)), "LEAST(age, age)"),
        (Greatest((AGE, AGE)), "GREATEST(age, age)"),
        (Absolute(AGE), "ABS(age)"),
        (Quotient(AGE, AGE), "(age / age)"),
        (Rounded(Rounding.DOWN, AGE, Fraction(10)), "FLOOR(age to multiples of 10)"),
        (Truncated(Period.WEEK, DAY), "date_trunc('week', day)"),
        (Extracted(Field.YEAR, DAY), "extract(year from day)"),
        (AsDate(DAY), "CAST(day AS DATE)"),
        (AsTime(DAY), "CAST(day AS TIMESTAMP)"),
    ],
)
def test_expressions_in_words(expression: Expression, words: str) -> None:
    assert words_of(expression) == words


def test_aggregates_in_words_and_long_conditions_are_cut(tmp_path: Path) -> None:
    assert call(Aggregate(name="x", function=Function.SUM, value=Arithmetic(Sign.ADD, AGE, AGE))) == "SUM(age + age)"
    long = Or(tuple(Compare(Relation.EQUAL, AGE, Literal(Fraction(n))) for n in range(100)))
    with ledger(tmp_path) as book:
        assert "... one group" in said(query(question(plan((), N, where=long)), book))


def test_colors_change_nothing_but_colors(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        asked = query(question(plan((), N), epsilon=5), book)
        assert re.sub(r"\x1b\[[0-9;]*m", "", asked.explain(Pen(color=True))) == asked.explain()
        assert "\x1b" in asked.explain(Pen(color=True))


def test_a_square_root_is_exact_or_rounded_up() -> None:

    assert _root(Fraction(9, 4)) == Fraction(3, 2)
    assert 0 < _root(Fraction(2)) - Fraction(math.sqrt(2)) < Fraction("2e-6")
