"""Rows that noisy numbers chose (ORDER BY with LIMIT, HAVING): their intervals hold as often as they say, or are left
out."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import pytest
from support.asked import answer, ledger, query, without_pairs

from privet.answer import Answer
from privet.core.accountant import Budget
from privet.core.expression import And, Arithmetic, Column, Compare, Expression, Literal, Not, Quotient, Relation, Sign
from privet.core.laws import DiscreteGaussian, DiscreteLaplace, Law
from privet.core.measures import ROWS
from privet.core.plan import Aggregate, Computed, Function, Key, Order, Plan
from privet.core.schema import Category, Integer, Kind, Number, Text
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.estimates.accuracy import half_width
from privet.estimates.choosing import Affected, affected, selection_of
from privet.estimates.estimate import Row, lines, rows_of
from privet.estimates.moments import Estimate, Noisy
from privet.estimates.priced import Priced, outline
from privet.estimates.pricing import Price, ask
from privet.estimates.publication import AS_PRINTED, AS_RELEASED, Publication
from privet.noise.fast import sampler
from privet.report.explain.explanation import explanation

GROUPS = 40
SHARE = F(95, 100)
TRIALS = 1_000
MOST = 110  # of TRIALS: a miss rate of 5 % or less gives more with probability below 1e-12
WARDS = tuple(f"w{number:02}" for number in range(GROUPS - 1))  # and missing
KINDS: dict[str, Kind] = {"ward": Category(WARDS), "sex": Category(["f", "m"]), "age": Integer(0, 100), "city": Text()}
ONE = Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE)
N = Aggregate(name="n", function=Function.COUNT)
FILLED = Aggregate(name="n", function=Function.COUNT, value=Column("age"))  # the count that AVG(age) is made of
TOP = {"order": (Order(name="n", descending=True),), "limit": 3}


def of(function: Function, name: str, column: str | None = "age") -> Aggregate:
    return Aggregate(name=name, function=function, value=None if column is None else Column(column))


def asked(*aggregates: Aggregate, key: str = "ward", price: Price | None = None, **more: Any) -> Priced:
    keys = more.pop("keys", (Key(name=key, value=Column(key)),))
    computed = more.get("computed", ())
    names = tuple(item.name for item in (*keys, *aggregates, *computed))
    plan = Plan(**{"table": "t", "keys": keys, "aggregates": aggregates, "outputs": names, **more})
    read = outline(plan, KINDS, ONE)
    return without_pairs(read) if price is None else ask(read, Budget(3, 1e-9), price)


def at_least(name: str, number: int, relation: Relation = Relation.GREATER_EQUAL) -> Compare:
    return Compare(relation, Column(name), Literal(F(number)))


def noisy_tables(asked: Priced, exact: Sequence[Sequence[int]], trials: int) -> list[list[list[int]]]:
    """For each trial the exact numbers with noise of the engine's sampler on every one."""
    draws = [sampler(part.law).draw(trials * len(row)).tolist() for part, row in zip(asked.parts, exact, strict=True)]
    return [
        [
            [number + noise for number, noise in zip(row, drawn[trial * len(row) :], strict=False)]
            for row, drawn in zip(exact, draws, strict=True)
        ]
        for trial in range(trials)
    ]


def missed(rows: Sequence[Row], name: str, truth: Callable[[Row], F]) -> list[bool]:
    """Of every interval that is shown, whether it misses the exact number."""
    cells = [(row.line[name], truth(row)) for row in rows]
    return [
        not cell.low <= exact <= cell.high
        for cell, exact in cells
        if isinstance(cell, Estimate) and cell.low is not None and cell.high is not None
    ]


@pytest.mark.proof
@pytest.mark.parametrize("publication", [AS_RELEASED, AS_PRINTED])
@pytest.mark.parametrize("price", [Price(epsilon=1), Price(rho="0.05")])
def test_the_largest_of_equal_groups_lie_in_their_intervals(price: Price, publication: Publication) -> None:
    """The plain interval misses in most trials: the largest noise is what is shown."""
    question = asked(N, price=price, **TOP)
    found = [
        missed(rows_of(question, noisy, SHARE, publication), "n", lambda _: F(50))
        for noisy in noisy_tables(question, [[50] * GROUPS], TRIALS)
    ]
    assert all(len(one) == 3 for one in found)
    assert sum(map(any, found)) <= MOST


def test_rows_that_pass_by_luck_lie_in_their_intervals() -> None:
    """Given that a row is shown: all groups are far below the limit, and only luck lifts one above it. About 1,450 rows
    pass, with a standard deviation of 38; the plain interval misses for every one of them."""
    question = asked(N, having=at_least("n", 53))
    misses = [
        one
        for noisy in noisy_tables(question, [[50] * GROUPS], TRIALS)
        for one in missed(rows_of(question, noisy, SHARE), "n", lambda _: F(50))
    ]
    assert len(misses) > TRIALS
    assert sum(misses[:TRIALS]) <= MOST


@pytest.mark.proof
def test_the_largest_of_groups_that_passed_lie_in_their_intervals() -> None:
    """Both at once: HAVING lets only lucky groups pass, and the luckiest of them is shown."""
    question = asked(N, having=at_least("n", 51), order=(Order(name="n", descending=True),), limit=1)
    found = [
        missed(rows_of(question, noisy, SHARE), "n", lambda _: F(50))
        for noisy in noisy_tables(question, [[50] * GROUPS], TRIALS)
    ]
    assert all(len(one) == 1 for one in found)
    assert sum(map(any, found)) <= MOST


def test_keys_chosen_twice_lie_in_their_intervals() -> None:
    """Cities near the threshold are shown by luck, and of those the luckiest are left: given that, it holds."""
    people = Aggregate(name="n", function=Function.COUNT_DISTINCT)
    question = asked(people, key="city", price=Price(epsilon=1, delta=1e-10), **TOP)
    (part,) = question.parts
    assert part.threshold is not None
    true = part.threshold - 1
    draws = sampler(part.law).draw(TRIALS * GROUPS).tolist()
    found = []
    for trial in range(TRIALS):
        numbers = [true + noise for noise in draws[trial * GROUPS : (trial + 1) * GROUPS]]
        kept = [number for number in numbers if number >= part.threshold]
        shown = question.showing([(f"city {number}",) for number in range(len(kept))])
        found.append(missed(rows_of(shown, [kept], SHARE), "n", lambda _: F(true)))
    assert sum(map(len, found)) > 2 * TRIALS
    assert sum(map(any, found)) <= MOST


# Exactly: the law of the noise, given that the number is at least the floor


def chances(law: Law, cells: int) -> dict[int, float]:
    """Of sums of so many draws."""
    reach = range(-120, 121)
    one = {x: math.exp(-float(law.exponent(x))) for x in reach}
    whole = math.fsum(one.values())
    one = {x: weight / whole for x, weight in one.items()}
    found = {0: 1.0}
    for _ in range(cells):
        more: dict[int, float] = {}
        for x, p in found.items():
            for y, q in one.items():
                more[x + y] = more.get(x + y, 0.0) + p * q
        found = more
    return found


def least_covered(law: Law, cells: int, share: F, *, plain: bool = False) -> float:
    """Over all exact numbers: how often the interval holds it, given that the noisy number is at least the floor."""
    noise, floor, width, found = chances(law, cells), 30, half_width(law, share, cells), []
    for exact in range(max(0, floor - 10 - 2 * width), floor + 3 * width + 3):
        shown = {exact + x: p for x, p in noise.items() if exact + x >= floor}
        hits = 0.0
        for number, chance in shown.items():
            one = Noisy(measure=ROWS, number=number, width=width, floor=None if plain else floor)
            hits += chance if one.span is not None and one.span.low <= exact <= one.span.high else 0.0
        found.append(hits / math.fsum(shown.values()))
    return min(found)


@pytest.mark.parametrize(
    "law", [DiscreteLaplace(F(2, 5)), DiscreteLaplace(F(3)), DiscreteGaussian(F(1, 4)), DiscreteGaussian(F(9))]
)
@pytest.mark.parametrize("cells", [1, 2])
def test_a_number_above_a_floor_lies_in_its_interval(law: Law, cells: int) -> None:
    assert least_covered(law, cells, F(1, 2)) >= 1 / 2 - 1e-9
    assert least_covered(law, cells, SHARE) >= 0.95 - 1e-9
    assert least_covered(law, cells, SHARE, plain=True) < 0.05


# Which numbers are affected


def widths(
    question: Priced, number: int = 200, name: str = "n", publication: Publication = AS_RELEASED
) -> list[F | None]:
    """How long the intervals are that are shown, with the same noisy number everywhere."""
    vectors = [[number] * question.cells.count for _ in question.parts]
    cells = [row.line[name] for row in rows_of(question, vectors, SHARE, publication)]
    return [None if cell.high is None else cell.high - cell.low for cell in cells]  # type: ignore[operator, union-attr]


def expected(question: Priced, share: F, place: int = 0) -> int:
    return 2 * half_width(question.parts[place].law, share)  # type: ignore[arg-type]


def together(rows: int) -> F:
    return 1 - (1 - SHARE) / rows


@pytest.mark.parametrize(
    ("more", "rows"),
    [
        (TOP, GROUPS),
        ({"order": (Order(name="n"),), "offset": 2}, GROUPS),
        ({"order": (Order(name="ward"), Order(name="n")), "limit": 2}, GROUPS),
        ({**TOP, "having": Compare(Relation.LESS, Column("ward"), Literal("w10"))}, 10),
        ({**TOP, "having": Compare(Relation.LESS, Column("ward"), Literal("w01"))}, 1),
        ({**TOP, "limit": GROUPS}, 1),  # nothing is left out
        ({**TOP, "limit": 10**9}, 1),
        ({"order": (Order(name="n"),)}, 1),
        ({"limit": 3}, 1),
        ({"order": (Order(name="ward", descending=True),), "limit": 3, "offset": 1}, 1),
        ({"having": Compare(Relation.LESS, Column("ward"), Literal("w10"))}, 1),
    ],
)
def test_intervals_hold_for_all_rows_among_which_noise_chose(more: dict[str, Any], rows: int) -> None:
    question = asked(N, **more)
    found = widths(question)
    assert found
    assert set(found) == {expected(question, together(rows))}
    assert selection_of(question, None).rows == 1


def test_no_row_at_all_has_no_interval() -> None:
    nobody = Compare(Relation.LESS, Column("ward"), Literal("a"))
    assert widths(asked(N, having=nobody, **TOP)) == []
    assert widths(asked(N, **{**TOP, "limit": 0})) == []


def test_totals_are_rows_as_well() -> None:
    question = asked(N, levels=(("ward",), ()), **{**TOP, "limit": GROUPS})
    share = together(GROUPS + 1)
    total = 2 * half_width(question.parts[0].law, share, GROUPS)  # type: ignore[arg-type]
    assert sorted(set(widths(question))) == [expected(question, share), total]  # type: ignore[type-var]


def test_numbers_with_noise_of_their_own_keep_their_intervals() -> None:
    """What is made of other noisy numbers than those that chose is as sure as before; what shares one is not."""
    values = Aggregate(name="values", function=Function.COUNT_DISTINCT, value=Column("age"))
    ratio = Computed(name="ratio", value=Quotient(Column("mean"), Column("values")))
    both = asked(FILLED, values, of(Function.AVG, "mean"), computed=(ratio,), **TOP)
    assert set(widths(both, name="values")) == {expected(both, SHARE, both.recipes[1].measures[0])}
    assert set(widths(both)) == {expected(both, together(GROUPS))}
    free = dataclasses.replace(both.plan, order=(), limit=None)
    alone = dataclasses.replace(both, plan=free)
    for name in ("mean", "ratio"):
        assert widths(both, 4_000, name)[0] > widths(alone, 4_000, name)[0]  # type: ignore[operator]
    assert affected(both, selection_of(both, GROUPS)) == Affected(together=("n", "mean", "ratio"))


def test_an_order_by_what_is_computed_chooses_by_all_that_it_is_made_of() -> None:
    values = Aggregate(name="values", function=Function.COUNT_DISTINCT, value=Column("age"))
    twice = Computed(name="twice", value=Arithmetic(Sign.ADD, Column("n"), Column("values")))
    question = asked(N, values, computed=(twice,), order=(Order(name="twice"),), limit=1)
    assert set(widths(question)) == {expected(question, together(GROUPS))}
    assert set(widths(question, name="values")) == {expected(question, together(GROUPS), 1)}


def test_the_rest_of_a_selection_by_rank() -> None:
    """Quantiles of one column are put in order together, so both chose. Their intervals were paid for beforehand and
    cannot become wider, so there are none."""
    low, high = (
        Aggregate(name=f"q{q}", function=Function.QUANTILE, value=Column("age"), quantile=F(q, 100)) for q in (25, 75)
    )
    question = asked(N, low, high, order=(Order(name="q25"),), limit=3)
    chosen = selection_of(question, GROUPS)
    assert chosen.ordered == {1, 2, 3, 4, 5, 6}
    assert affected(question, chosen) == Affected(none=("q25", "q75"))
    assert set(widths(question)) == {expected(question, SHARE)}
    vectors = [[number] * GROUPS for number in (10, 3, 2, 4, 9, 8, 10)]
    cut, whole = (answer(one, *vectors).interval()[0]["q25"] for one in (question, asked(N, low, high)))
    assert (cut, whole) == ({"value": 3, "low": None, "high": None}, {"value": 3, "low": 2, "high": 4})
    off = re.findall(r"q25: off by at most ([\d,]+) rows", str(answer(question, *vectors)))
    free = asked(N, low, high)
    assert int(off[0]) > int(re.findall(r"q25: off by at most ([\d,]+) rows", str(answer(free, *vectors)))[0])
    tested = asked(N, low, high, having=at_least("q75", 5))
    assert "q25: HAVING chose rows by it" in str(answer(tested, *vectors))


# HAVING


@pytest.mark.parametrize(
    ("having", "floor"),
    [
        (at_least("n", 54), 54),
        (at_least("n", 54, Relation.GREATER), 55),
        (Compare(Relation.LESS_EQUAL, Literal(F(54)), Column("n")), 54),
        (Compare(Relation.LESS, Literal(F(107, 2)), Column("n")), 54),
        (Compare(Relation.GREATER, Column("n"), Literal(F(107, 2))), 54),
        (Compare(Relation.GREATER_EQUAL, Column("n"), Literal(F(107, 2))), 54),
        (And((at_least("n", 54), at_least("n", 20), at_least("n", 7, Relation.GREATER))), 54),
        (And((Compare(Relation.LESS, Column("ward"), Literal("w10")), And((at_least("n", 54),)))), 54),
    ],
)
def test_a_least_number_gives_intervals_that_know_it(having: Expression, floor: int) -> None:
    """A number just above the limit tells nothing about how far below it the exact one is."""
    question = asked(N, having=having)
    assert selection_of(question, GROUPS).floors == {0: floor}
    width = half_width(question.parts[0].law, SHARE)  # type: ignore[arg-type]
    for number, low in ((floor, 0), (floor + width, 0), (floor + width + 1, floor + 1)):
        line = lines(question, [[number] * GROUPS], SHARE)[0]
        assert line["n"] == Estimate(value=F(number), low=F(low), high=F(number + width))
    assert affected(question, selection_of(question, GROUPS)) == Affected(given=("n",))


@pytest.mark.parametrize(
    "having",
    [
        at_least("n", 300, Relation.LESS),
        And((at_least("n", 5), at_least("n", 300, Relation.LESS_EQUAL))),
        at_least("n", 7, Relation.UNEQUAL),
        Not(at_least("n", 7, Relation.LESS)),
        at_least("twice", 5),
        Compare(Relation.GREATER, Column("n"), Column("n")),
        at_least("mean", 5, Relation.GREATER_EQUAL),
    ],
)
def test_another_condition_leaves_no_interval(having: Expression) -> None:
    twice = Computed(name="twice", value=Arithmetic(Sign.ADD, Column("n"), Column("n")))
    values = Aggregate(name="values", function=Function.COUNT_DISTINCT, value=Column("age"))
    question = asked(FILLED, of(Function.AVG, "mean"), values, computed=(twice,), having=having)
    free = selection_of(question, GROUPS)
    assert not free.floors
    for name in ("n", "twice", "mean"):
        assert set(widths(question, name=name)) <= {None}
    assert None not in widths(question, name="values")


def test_sums_that_may_be_below_zero_have_no_lower_end_near_the_limit() -> None:
    kinds = {**KINDS, "age": Number(-50, 100, step="0.5")}
    for name, kind in (("open", kinds["age"]), ("age", Number(0, 100, step="0.5"))):
        keys = (Key(name="ward", value=Column("ward")),)
        plan = Plan(
            table="t", keys=keys, aggregates=(of(Function.SUM, "s"),), outputs=("ward", "s"),
            having=at_least("s", 100),
        )  # fmt: skip
        question = ask(outline(plan, {**KINDS, "age": kind}, ONE), Budget(3, 1e-9), Price(epsilon=1))
        width = half_width(question.parts[0].law, SHARE)  # type: ignore[arg-type]
        near, far = (lines(question, [[n] * GROUPS], SHARE)[0]["s"] for n in (200, 201 + width))
        assert far == Estimate(value=F(201 + width, 2), low=F(201, 2), high=F(201 + 2 * width, 2))
        least = None if name == "open" else F(0)
        assert near == Estimate(value=F(100), low=least, high=None if least is None else F(200 + width, 2))


def test_averages_of_rows_that_passed_by_their_count() -> None:
    """Where the count may be 0 any average is possible; far above the limit the interval is the plain one."""
    question, free = (asked(FILLED, of(Function.AVG, "mean"), having=having) for having in (at_least("n", 40), None))
    count = question.recipes[0].measures[0]
    vectors = [[number] * GROUPS for number in ((45, 900) if count == 0 else (900, 45))]
    near, plain = (lines(one, vectors, SHARE)[0]["mean"] for one in (question, free))
    assert (near.low, near.high) == (0, 100)  # type: ignore[union-attr]
    assert (plain.low, plain.high) != (0, 100)  # type: ignore[union-attr]
    far = [[4_000] * GROUPS] * 2
    assert lines(question, far, SHARE) == lines(free, far, SHARE)


def test_an_average_of_a_sum_that_passed() -> None:
    """A range around 0 has its middle there: SUM and AVG share one noisy sum, whose lower end is not known."""
    plan = Plan(
        table="t", keys=(Key(name="ward", value=Column("ward")),), outputs=("ward", "s", "mean"),
        aggregates=(of(Function.SUM, "s"), of(Function.AVG, "mean")), having=at_least("s", 100),
    )  # fmt: skip
    question = ask(outline(plan, {**KINDS, "age": Integer(-50, 50)}, ONE), Budget(3, 1e-9), Price(epsilon=1))
    (total, _) = question.recipes[1].measures
    assert question.recipes[0].measures == (total,)
    vectors = [[110] * GROUPS if place == total else [4_000] * GROUPS for place in range(2)]
    line = lines(question, vectors, SHARE)[0]
    assert line["s"] == Estimate(value=F(110), low=None, high=None)
    assert (line["mean"].low, line["mean"].high) == (-50, 50)  # type: ignore[union-attr]


def test_a_limit_after_having_over_totals_leaves_no_interval() -> None:
    """Rows of another level share the noise, and decide with it what LIMIT leaves."""
    levels = (("ward",), ())
    assert None not in widths(asked(N, levels=levels, having=at_least("n", 100)))
    for order in ((), TOP["order"]):
        assert set(widths(asked(N, levels=levels, having=at_least("n", 100), order=order, limit=3))) == {None}
    question = asked(N, having=at_least("n", 100), limit=3)
    assert set(widths(question)) == {expected(question, SHARE)}


def test_numbers_in_print_are_tested_as_they_are_printed() -> None:
    """What is printed follows from the numbers of all rows: what HAVING then says about one of them is not known."""
    question = asked(N, having=at_least("n", 20))
    assert None not in widths(question)
    assert set(widths(question, publication=AS_PRINTED)) == {None}
    top = asked(N, **TOP)
    assert set(widths(top, publication=AS_PRINTED)) == {expected(top, together(GROUPS))}


# What people see


def views(one: Answer) -> dict[str, str]:
    return {
        "text": str(one),
        "html": one._repr_html_(),
        "chart": str(one.chart().to_dict()),
    }


def test_every_view_has_the_same_intervals() -> None:
    question = asked(N, **TOP)
    shown = answer(question, [200] * GROUPS)
    width = half_width(question.parts[0].law, together(GROUPS))  # type: ignore[arg-type]
    words = "LIMIT chose rows by noisy numbers. The intervals of n are wider for that reason:"
    words += f" those of all {GROUPS} rows hold at once."
    for view, content in views(shown).items():
        assert words in content, view
    assert f"± {width}" in str(shown)
    ends = {"value": 200, "low": 200 - width, "high": 200 + width}
    assert [row["n"] for row in shown.to_json()["rows"]] == [ends] * 3
    assert shown.to_json()["chosen"] == {"rows": GROUPS, "together": ("n",), "given": (), "none": ()}
    assert shown.to_pandas(intervals=True)["n_low"].tolist() == [200 - width] * 3
    assert f"'low': {200 - width}.0" in views(shown)["chart"]
    printed = shown.published()
    assert [row["n"] for row in printed.to_json()["rows"]] == [ends] * 3
    assert "chosen" not in answer(asked(N), [200] * GROUPS).to_json()
    one_row = asked(N, having=Compare(Relation.LESS, Column("ward"), Literal("w01")), **TOP)
    assert "LIMIT chose" not in str(answer(one_row, [200] * GROUPS))


def test_every_view_leaves_out_what_is_not_known() -> None:
    shown = answer(asked(N, having=at_least("n", 300, Relation.LESS), limit=2), [200] * GROUPS)
    assert "There are no intervals for n: HAVING or LIMIT chose rows by the same noise." in str(shown)
    assert "±" not in str(shown).splitlines()[1]
    assert shown.to_json()["rows"][0]["n"] == {"value": 200, "low": None, "high": None}
    assert shown.to_pandas(intervals=True)["n_low"].isna().all()
    assert "'low': " not in views(shown)["chart"]
    near = answer(asked(N, having=at_least("n", 200)), [200] * GROUPS)
    assert "HAVING chose rows by noisy numbers. The intervals of n allow for that: near the limit they reach" in str(
        near
    )


def test_explain_says_so_before(tmp_path: Path) -> None:
    texts = {}
    for name, question in {
        "top": asked(N, **TOP),
        "least": asked(N, having=at_least("n", 5)),
        "most": asked(FILLED, of(Function.AVG, "mean"), having=at_least("n", 5, Relation.LESS)),
        "mean": asked(FILLED, of(Function.AVG, "mean"), order=(Order(name="mean"),), limit=1),
        "keys": asked(N, key="city", price=Price(epsilon=1, delta=1e-10), **TOP),
        "free": asked(N),
    }.items():
        (tmp_path / name).mkdir()
        with ledger(tmp_path / name) as book:
            told = explanation(query(question, book))
            texts[name] = re.sub(r"\s+", " ", query(question, book).explain())
            assert (told.to_json()["chosen"] is None) == (name == "free")
    width = half_width(asked(N).parts[0].law, together(GROUPS))  # type: ignore[arg-type]
    wider = "LIMIT chooses rows by noisy numbers: intervals of"
    assert f"{wider} n are wider, to hold for all {GROUPS} rows at once (of one group: n {width})" in texts["top"]
    assert "HAVING chooses rows by n: near its limit, intervals reach further down" in texts["least"]
    assert "HAVING or LIMIT chooses rows by the noise in n and mean: no interval is given" in texts["most"]
    assert f"{wider} n and mean are wider, to hold for all {GROUPS} rows at once (of one group: n " in texts["mean"]
    assert f"{wider} n are wider, to hold for all rows at once" in texts["keys"]
    assert "chooses rows" not in texts["free"]
