"""What is computed from published numbers: its value is SQL's, and its interval holds what exact numbers give."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction as F
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asked import N, answer, average, key, month, plan, question, single, total
from support.refusals import raises_code

from privet.core.evaluate import evaluate
from privet.core.expression import (
    Absolute,
    Arithmetic,
    Case,
    Coalesce,
    Column,
    Compare,
    Expression,
    Extracted,
    Field,
    Greatest,
    IsNull,
    Least,
    Literal,
    Quotient,
    Relation,
    Rounded,
    Rounding,
    Sign,
    columns_in,
    substituted,
)
from privet.core.plan import Aggregate, Computed, Function, Order, Plan
from privet.core.ranges import shape_of
from privet.errors import RefusedQueryError
from privet.estimates.accuracy import half_width
from privet.estimates.computed import computed, divides
from privet.estimates.moments import Estimate
from privet.records.conditions import _parts
from privet.report.charts import svg

A, B, G = Column("a"), Column("b"), Column("g")
ONE, TWO = Literal(F(1)), Literal(F(2))
NOTHING = Literal(None)


def number(value: int) -> Literal:
    return Literal(F(value))


def holding(value: F, low: F, high: F) -> Estimate:
    return Estimate(value=value, low=low, high=high)


LEAVES: st.SearchStrategy[Expression] = st.sampled_from([A, B, G, ONE, number(-3), NOTHING])
CONDITIONS = st.sampled_from(
    [Compare(Relation.LESS, A, B), Compare(Relation.GREATER, G, ONE), IsNull(G), Compare(Relation.LESS, A, NOTHING)]
)


def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        st.builds(Arithmetic, st.sampled_from(Sign), inner, inner),
        st.builds(Quotient, inner, inner),
        st.builds(Coalesce, pair),
        st.builds(Least, pair),
        st.builds(Greatest, pair),
        st.builds(Absolute, inner),
        st.builds(Rounded, st.sampled_from(Rounding), inner, st.sampled_from([F(1), F(1, 2), F(10)])),
        st.builds(lambda c, t, e: Case(((c, t),), e), CONDITIONS, inner, inner),
    )


EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(LEAVES, larger, max_leaves=6)
SPANS = st.tuples(*[st.integers(-6, 6)] * 3).map(sorted)
PLACES = st.tuples(st.integers(0, 4), st.integers(0, 4))


@given(EXPRESSIONS, SPANS, SPANS, st.sampled_from([None, F(0), F(2)]), PLACES)
def test_exact_numbers_inside_give_what_is_inside(
    expression: Expression, first: list[int], second: list[int], g: F | None, place: tuple[int, int]
) -> None:
    """Whatever the exact numbers are within the intervals of the aggregates."""
    spans = {"a": first, "b": second}
    known = {name: holding(F(value), F(low), F(high)) for name, (low, value, high) in spans.items()}
    found = computed(expression, {**known, "g": g})
    exact = {
        name: low + F(high - low) * at / 4 for (name, (low, _, high)), at in zip(spans.items(), place, strict=True)
    }
    truth = evaluate(expression, {**exact, "g": g})
    if found is None:
        assert evaluate(expression, {"a": F(first[1]), "b": F(second[1]), "g": g}) is None
        return
    if found.low is None or found.high is None:
        return
    assert found.low <= found.value <= found.high
    assert isinstance(truth, F)
    assert found.low <= truth <= found.high


KNOWN = {"a": holding(F(10), F(8), F(12)), "b": holding(F(2), F(1), F(4)), "z": holding(F(1), F(-1), F(3)), "g": F(3)}
NEGATIVE = {**KNOWN, "b": holding(F(-2), F(-4), F(-1)), "q": Estimate(value=F(5), low=None, high=None), "m": None}


@pytest.mark.parametrize(
    ("expression", "value", "low", "high"),
    [
        (Quotient(A, B), 5, 2, 12),
        (Arithmetic(Sign.SUBTRACT, A, B), 8, 4, 11),
        (Arithmetic(Sign.MULTIPLY, A, G), 30, 24, 36),
        (Quotient(A, Column("z")), 10, None, None),
        (Quotient(Column("z"), A), F(1, 10), F(-1, 8), F(3, 8)),
        (Absolute(Column("z")), 1, 0, 3),
        (Least((A, B, NOTHING)), 2, 1, 4),
        (Greatest((A, G)), 10, 8, 12),
        (Rounded(Rounding.DOWN, A, F(5)), 10, 5, 10),
        (Coalesce((NOTHING, B)), 2, 1, 4),
        (Case(((Compare(Relation.LESS, A, G), A),), B), 2, 1, 12),
        (Case(((Compare(Relation.LESS, G, ONE), A),), B), 2, 1, 4),
        (Case(((Compare(Relation.LESS, ONE, G), A),), B), 10, 8, 12),
        (Case(((Compare(Relation.LESS, A, G), NOTHING),), B), 2, None, None),
        (Arithmetic(Sign.ADD, G, ONE), 4, 4, 4),
        (Least((Quotient(A, Column("z")), ONE)), 1, None, None),
    ],
)
def test_one_by_one(expression: Expression, value: object, low: object, high: object) -> None:
    assert computed(expression, KNOWN) == Estimate(value=F(value), low=low, high=high)  # type: ignore[arg-type]


def test_numbers_below_zero_divide_and_what_has_no_interval_gives_none() -> None:
    assert computed(Quotient(A, B), NEGATIVE) == holding(F(-5), F(-12), F(-2))
    assert computed(Arithmetic(Sign.ADD, A, Column("q")), NEGATIVE) == Estimate(value=F(15), low=None, high=None)
    assert computed(Absolute(B), NEGATIVE) == holding(F(2), F(1), F(4))
    nobody = {**KNOWN, "b": holding(F(0), F(0), F(0))}
    assert computed(Quotient(A, B), nobody) is None
    for lost in (Arithmetic(Sign.ADD, A, Column("m")), Quotient(Column("m"), A), Least((Column("m"), NOTHING))):
        assert computed(lost, NEGATIVE) is None
    chosen = Case(((Compare(Relation.LESS, A, G), Column("m")),), NOTHING)
    assert computed(Coalesce((chosen, A)), NEGATIVE) == holding(F(10), F(8), F(12))
    for null in (Absolute(chosen), Rounded(Rounding.UP, chosen, F(1)), Least((chosen, NOTHING))):
        assert computed(Coalesce((null, A)), NEGATIVE) == holding(F(10), F(8), F(12))
    assert computed(Coalesce((Quotient(chosen, A), A)), NEGATIVE) == holding(F(10), F(8), F(12))
    assert computed(Coalesce((Arithmetic(Sign.ADD, chosen, A), A)), NEGATIVE) == holding(F(10), F(8), F(12))


def test_columns_are_found_and_replaced() -> None:
    inner = Case(((Compare(Relation.LESS, A, G), B),), Quotient(A, ONE))
    assert list(columns_in(inner)) == ["a", "g", "b", "a"]
    assert substituted(inner, {"a": G}) == Case(((Compare(Relation.LESS, G, G), B),), Quotient(G, ONE))
    assert divides(inner)
    assert not divides(Arithmetic(Sign.ADD, A, Least((A, B))))


def test_a_quotient_is_for_published_numbers_only() -> None:
    assert evaluate(Quotient(A, B), {"a": F(1), "b": F(2)}) == F(1, 2)
    assert evaluate(Quotient(A, B), {"a": F(1), "b": F(0)}) is None
    assert evaluate(Quotient(A, B), {"a": None, "b": F(1)}) is None
    with raises_code(RefusedQueryError, "constant-needed"):
        shape_of(Quotient(A, B), {})
    assert _parts(Quotient(A, B)) == (A, B)


# --- in an answer


def asking(*columns: Computed, **more: Any) -> Plan:
    made = (N, total("s", "cost"), average("mean", "age"))
    names = ("ward", "n", "s", "mean", *(column.name for column in columns))
    return plan((key("ward"),), *made, **{"computed": columns, "outputs": names, **more})


def called(name: str, value: Expression) -> Computed:
    return Computed(name=name, value=value)


RATIO = called("each", Quotient(Column("s"), Column("n")))


@pytest.mark.parametrize("levels", [(), (("ward",), ())])
def test_all_noisy_numbers_of_a_computed_column_hold_together(levels: tuple[tuple[str, ...], ...]) -> None:
    asked = single(asking(RATIO, levels=levels))
    recipes = {recipe.aggregate.name: recipe for recipe in asked.recipes}
    used = {*recipes["s"].measures, *recipes["n"].measures}
    shown = answer(asked, *([1000 * (n + 1)] for n in range(len(asked.parts)))).lines()
    each = 1 - F(5, 100) / len(used)
    for line, cells in zip(shown, [1] * 5 + [5], strict=False):
        (n_part,) = (asked.parts[number] for number in recipes["n"].measures)
        n, ratio = line["n"], line["each"]
        assert isinstance(n, Estimate)
        assert isinstance(ratio, Estimate)
        widest = half_width(n_part.law, each, cells)  # type: ignore[arg-type]
        assert ratio.value == line["s"].value / n.value  # type: ignore[union-attr]
        assert widest > n.high - n.value  # type: ignore[operator]
        parts = {number: half_width(asked.parts[number].law, each, cells) for number in recipes["s"].measures}  # type: ignore[arg-type]
        measure = asked.parts[recipes["s"].measures[0]].measure
        off = sum(
            width * (1 if number == recipes["s"].measures[0] else abs(measure.center))
            for number, width in parts.items()
        )
        s_low, s_high = (line["s"].value + sign * off * measure.step for sign in (-1, 1))  # type: ignore[union-attr]
        assert ratio.low == s_low / (n.value + (widest if s_low > 0 else -widest))
        assert ratio.high == s_high / (n.value - widest)


def test_keys_may_take_part_and_having_and_order_may_use_it() -> None:
    year = called("later", Arithmetic(Sign.ADD, Extracted(Field.MONTH, Column("month")), Column("n")))
    high = Compare(Relation.GREATER, Column("later"), Literal(F(20)))
    asked = question(
        plan((month(),), N, computed=(year,), outputs=("month", "later"), having=high,
             order=(Order(name="later", descending=True),), limit=2)
    )  # fmt: skip
    shown = answer(asked, [*range(12, 0, -1), 50])
    assert shown.rows == []  # every month and its number make 13, and the missing month is nothing
    low = question(
        plan((month(),), N, computed=(year,), outputs=("month", "later"), order=(Order(name="later", descending=True),))
    )
    rows = answer(low, [*range(1, 13), 50]).rows
    assert rows[0] == {"month": dt.date(2026, 12, 1), "later": 24}
    assert rows[-1] == {"month": None, "later": None}


def test_what_is_missing_is_shown_as_such() -> None:
    asked = single(asking(RATIO, called("two", TWO)))
    noisy = [[0, 10, 10, 10, 10] for _ in asked.parts]
    shown = answer(asked, *noisy)
    assert shown.rows[0]["each"] is None
    assert shown.interval()[0]["each"] == {"value": None, "low": None, "high": None}
    assert shown.interval()[0]["two"] == {"value": 2, "low": 2, "high": 2}
    assert shown.interval()[1]["each"]["value"] is not None
    assert shown.to_json()["rows"][0]["each"]["value"] is None
    assert shown.to_pandas(intervals=True)["each"].isna().tolist() == [True, False, False, False, False]
    assert "-" in str(shown).splitlines()[1].split()
    assert shown.to_polars()["each"].null_count() == 1
    small = question(plan((key("ward"),), N, computed=(called("part", Quotient(ONE, Column("n"))),),
                          outputs=("ward", "part")), epsilon=30)  # fmt: skip
    drawn = answer(small, [0, 10, 20, 40, 50])
    picture = svg(drawn.chart())
    assert "between" in picture
    assert "A:" not in picture  # nothing to draw there


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (called("n", TWO), "duplicate-name: 'n'"),
        (called("ward", TWO), "duplicate-name: 'ward'"),
        (called("x", Column("cost")), "unknown-column: cost"),
        (called("x", Column("ward")), "type-mismatch: text"),
        (called("x", Quotient(Column("n"), Column("ward"))), "type-mismatch: text"),
        (called("x", Arithmetic(Sign.ADD, Column("n"), Column("ward"))), "type-mismatch: text"),
        (called("x", Least((Column("n"), Literal("a")))), "type-mismatch: text"),
        (called("x", Absolute(Literal(True))), "type-mismatch: boolean is used"),
        (called("x", Case(((Column("n"), TWO),), ONE)), "type-mismatch: number is used … boolean"),
        (called("x", Case(((Compare(Relation.LESS, Column("n"), ONE), TWO),), Literal("a"))), "type-mismatch: text"),
        (called("x", Compare(Relation.LESS, Column("n"), ONE)), "type-mismatch: boolean is used"),
    ],
)
def test_only_numbers_of_keys_and_aggregates(column: Computed, problem: str) -> None:
    with raises_code(RefusedQueryError, problem) as caught:
        question(asking(column))
    assert caught.value.remedy


@pytest.mark.parametrize(
    "wrong",
    [
        {"outputs": ("ward", "x")},
        {"having": Compare(Relation.LESS, Column("x"), ONE)},
        {"order": (Order(name="n"), Order(name="x"))},
    ],
)
def test_what_is_named_must_be_there(wrong: dict[str, Any]) -> None:
    with raises_code(RefusedQueryError, "unknown-column: 'x'"):
        question(asking(**wrong))


def test_ordered_quantiles_are_computed_with_as_shown() -> None:
    """A quantile stays as it is shown, in order. Its interval holds with 95 %, so two do not hold together with that;
    alone, or with less certainty, they do."""
    lower, upper = (
        Aggregate(name=name, function=Function.QUANTILE, value=Column("age"), quantile=F(q))
        for name, q in (("lower", "1/4"), ("upper", "3/4"))
    )
    spread = called("spread", Arithmetic(Sign.SUBTRACT, Column("upper"), Column("lower")))
    older = called("older", Arithmetic(Sign.ADD, Column("upper"), ONE))
    asked = question(plan((), lower, upper, N, computed=(spread, older), outputs=("spread", "older")))
    shown = answer(asked, [50], [60], [55], [65], [20], [15], [25])
    alone = Estimate(value=F(61), low=F(16), high=F(66))
    assert shown.lines() == [{"spread": Estimate(value=F(40), low=None, high=None), "older": alone}]
    assert shown.lines("0.9") == [{"spread": Estimate(value=F(40), low=F(-50), high=F(50)), "older": alone}]
    bare = question(plan((), lower, upper, computed=(spread,), outputs=("spread",), intervals=False))
    assert answer(bare, [60], [20]).lines() == [{"spread": Estimate(value=F(40), low=None, high=None)}]


@pytest.mark.parametrize(
    "value",
    [
        Coalesce((Column("mean"), number(-1))),
        Least((Column("mean"), Column("n"))),
        Greatest((Arithmetic(Sign.ADD, Column("mean"), ONE), Column("n"))),
    ],
)
def test_what_passes_over_an_average_of_perhaps_nobody_has_no_interval(value: Expression) -> None:
    """With nobody there the average is NULL, and the exact value is that of the next item: here -1 or the count."""
    counted = Aggregate(name="n", function=Function.COUNT, value=Column("age"))
    asked = single(plan((), counted, average("mean", "age"), computed=(called("x", value),), outputs=("x",)))
    (few,) = answer(asked, [2], [50]).lines()
    (many,) = answer(asked, [9_000], [50]).lines()
    assert isinstance(few["x"], Estimate)
    assert isinstance(many["x"], Estimate)
    assert (few["x"].low, few["x"].high) == (None, None)
    assert many["x"].low is not None


def test_a_correlation_may_be_null_and_is_not_passed_over() -> None:
    """Where all values are equal there is none."""
    pair = Aggregate(name="r", function=Function.CORR, value=Column("age"), second=Column("cost"))
    asked = question(
        plan(
            (), pair, computed=(called("x", Coalesce((Column("r"), TWO))), called("y", Column("r"))), outputs=("x", "y")
        )
    )
    (line,) = answer(asked, *([10**6] for _ in asked.parts)).lines()
    assert line["x"].low is None  # type: ignore[union-attr]
    assert line["y"] is None  # anything from -1 to 1
