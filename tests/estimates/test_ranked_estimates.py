"""Quantiles, MIN and MAX as they are published: in their intervals, in order, or unknown."""

from __future__ import annotations

from fractions import Fraction as F
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asked import KINDS, N, answer, key, ledger, plan, query, question
from support.refusals import raises_code

from privet.core.expression import Column, Compare, Literal, Relation
from privet.core.measures import End, Measure, Role
from privet.core.parts import Gauge
from privet.core.plan import Aggregate, Function, Order
from privet.core.ranks import SURE
from privet.errors import InvalidInputError
from privet.estimates.moments import Estimate
from privet.estimates.ranked import by_rank
from privet.report.explain.explanation import explanation
from privet.sql import plan_of

HALF = F(1, 2)


def of(function: Function, name: str, at: F | None = None, column: str = "age") -> Aggregate:
    return Aggregate(name=name, function=function, value=Column(column), quantile=at)


MEDIAN = of(Function.QUANTILE, "m", HALF)


def measure(role: Role = Role.QUANTILE, end: End | None = None, low: int = 0, high: int = 10) -> Measure:
    at = HALF if role is Role.QUANTILE else None
    return Measure(role=role, value=Column("x"), low=low, high=high, step=F(1, 2), quantile=at, end=end)


def test_a_value_lies_in_its_interval() -> None:
    assert by_rank(measure(), [5, 3, 8], proved=True) == Estimate(value=F(5, 2), low=F(3, 2), high=F(4))
    assert by_rank(measure(), [1, 3, 8], proved=True).value == F(3, 2)
    assert by_rank(measure(), [9, 3, 8], proved=True).value == F(4)
    crossed = by_rank(measure(), [5, 8, 3], proved=True)
    assert (crossed.low, crossed.high) == (F(3, 2), F(4))  # two ends, drawn apart
    assert by_rank(measure(), [5, 3, 8], proved=False) == Estimate(value=F(5, 2), low=None, high=None)
    assert by_rank(measure(), [5], proved=True) == Estimate(value=F(5, 2), low=None, high=None)


def test_the_smallest_value_lies_between_the_end_of_the_range_and_what_was_chosen() -> None:
    least, most = measure(Role.MIN, End.HIGH), measure(Role.MAX, End.LOW)
    assert by_rank(least, [4], proved=True) == Estimate(value=F(2), low=F(0), high=F(2))
    assert by_rank(most, [4], proved=True) == Estimate(value=F(2), low=F(2), high=F(5))
    for role in (Role.MIN, Role.MAX):
        assert by_rank(measure(role), [4], proved=True) == Estimate(value=F(2), low=None, high=None)


def test_the_whole_range_says_nothing() -> None:
    for sought, chosen in (
        (measure(), [5, 0, 10]),
        (measure(Role.MIN, End.HIGH), [10]),
        (measure(Role.MAX, End.LOW), [0]),
    ):
        found = by_rank(sought, chosen, proved=True)
        assert (found.known, found.shown, found.low, found.high) == (False, None, F(0), F(5))
        assert by_rank(sought, chosen, proved=False).shown is None
    assert by_rank(measure(low=4, high=4), [4, 4, 4], proved=True).shown == 2  # a range of one value is known


MADE = [
    of(Function.QUANTILE, "q25", F(1, 4)),
    of(Function.QUANTILE, "q75", F(3, 4)),
    of(Function.MIN, "low"),
    of(Function.MAX, "high"),
]
VALUES = st.integers(0, 120)


@given(st.tuples(*[VALUES] * 8))
def test_published_values_and_ends_ascend(drawn: tuple[int, ...]) -> None:
    """And an interval holds whatever it held when it was drawn."""
    asked = question(plan((), *MADE))
    (line,) = answer(asked, *([number] for number in drawn)).lines()
    places = [item for name in ("low", "q25", "q75", "high") if isinstance(item := line[name], Estimate) and item.known]
    for field in ("value", "low", "high"):
        found = [getattr(one, field) for one in places]
        assert found == sorted(found)
    assert all(one.low <= one.value <= one.high for one in places if one.low is not None and one.high is not None)
    apart = (drawn[1:3], drawn[4:6], (0, drawn[6]), (drawn[7], 120))
    for name, ends in zip(("q25", "q75", "low", "high"), apart, strict=True):
        item = line[name]
        assert isinstance(item, Estimate)
        assert item.low is not None and item.low <= min(ends)  # noqa: PT018
        assert item.high is not None and item.high >= max(ends)  # noqa: PT018


ENDS = (of(Function.MIN, "low"), of(Function.MAX, "high"))


@pytest.mark.parametrize("intervals", [True, False])
@pytest.mark.parametrize("others", [(), (MEDIAN,)])
def test_a_smallest_value_above_the_largest_is_unknown(others: tuple[Aggregate, ...], intervals: bool) -> None:
    """Nothing is said but the intervals as they were drawn; a quantile between the two is shown, if it is known."""
    asked = question(plan((key("sex"),), *ENDS, *others, intervals=intervals))
    ends = () if not others else ([30] * 3, [20] * 3, [35] * 3) if intervals else ([30] * 3,)
    shown = answer(asked, [40, 20, 40], [20, 40, 40], *ends)
    assert [(row["low"], row["high"]) for row in shown.rows] == [
        (None, None), (20, 40), (30, 40) if others else (40, 40)
    ]  # fmt: skip
    assert [row.get("m") for row in shown.rows] == [30 if others else None] * 3
    first = shown.interval()[0]
    assert (first["low"]["low"], first["low"]["high"]) == ((0, 40) if intervals else (None, None))
    assert (first["high"]["low"], first["high"]["high"]) == ((20, 120) if intervals else (None, None))
    assert "or MIN came out above MAX" in str(shown)
    assert shown.published().rows[0]["low"] is None


def test_what_is_made_of_an_unknown_end_is_unknown() -> None:
    span = plan_of("SELECT MAX(age) - MIN(age) AS span, MIN(age) AS low FROM visits", {"visits": KINDS})
    crossed, straight = (answer(question(span), *drawn).rows[0]["span"] for drawn in (([40], [20]), ([20], [40])))
    assert (crossed, straight) == (None, 20)


def test_what_is_surer_than_was_paid_for_has_no_interval() -> None:
    shown = answer(question(plan((), MEDIAN)), [50], [40], [60])
    assert shown.interval(SURE)[0]["m"] == shown.interval(HALF)[0]["m"] == {"value": 50, "low": 40, "high": 60}
    assert shown.interval("0.96")[0]["m"] == {"value": 50, "low": None, "high": None}


WARDS = plan((key("sex"),), N, MEDIAN)
DRAWN = ([10, 20, 0], [50, 60, 70], [40, 0, 0], [60, 120, 120])


def test_every_view_says_unknown() -> None:
    shown = answer(question(WARDS), *DRAWN)
    assert [row["m"] for row in shown.rows] == [50, None, None]
    assert shown.to_json()["rows"][1]["m"] == {"value": None, "low": 0, "high": 120}
    assert shown.to_pandas()["m"].isna().tolist() == [False, True, True]
    assert shown.to_polars()["m"].to_list() == shown.to_arrow()["m"].to_pylist() == [50, None, None]
    assert shown.published().rows[1]["m"] is None
    assert shown.table(unknown="unknown")["m"] == [50, "unknown", "unknown"]
    for text in (str(shown), shown._repr_html_()):
        assert text.count("unknown") == 2
        assert "Unknown: the released numbers fit any value of the range" in text
        assert "If many have none, fewer others hold." in text
    chart = shown.chart().to_dict()
    (panel,) = [one for one in chart["vconcat"] if "unknown" in str(one)]
    _, _, words = panel["layer"]
    unknown = chart["datasets"][words["data"]["name"]]
    assert [row["spoken"] for row in unknown] == [
        "m: unknown, between 0 and 120", "(missing): unknown, between 0 and 120"
    ]  # fmt: skip
    assert all("value" not in row for row in unknown)
    assert "unknown" not in str(answer(question(WARDS), [10], [50], [40], [60]).chart().to_dict())


def test_unknown_values_are_sorted_last_and_pass_no_condition() -> None:
    ordered = plan((key("sex"),), MEDIAN, order=(Order(name="m"),))
    assert [row["m"] for row in answer(question(ordered), *DRAWN[1:]).rows] == [50, None, None]
    above = Compare(Relation.GREATER, Column("m"), Literal(F(0)))
    kept = plan((key("sex"),), MEDIAN, having=above)
    assert [row["m"] for row in answer(question(kept), *DRAWN[1:]).rows] == [50]


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": F(1, 10)}, {"epsilon": 1, "delta": 1e-10}])
def test_an_end_has_a_quarter_of_the_share_of_its_value(price: dict[str, object]) -> None:
    value, low, high = question(plan((), MEDIAN), **price).parts
    for end in (low, high):
        rates = value.law.rate / end.law.rate  # type: ignore[union-attr]
        assert float(rates) == pytest.approx(4 if value.gauge is Gauge.EPSILON else 2, rel=1e-2)


def test_explain_says_what_the_interval_costs(tmp_path: Path) -> None:
    least = of(Function.MIN, "low")
    for price in ({"epsilon": 1}, {"rho": F(1, 10)}):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        with ledger(folder) as book:
            whole = query(question(plan((), MEDIAN), **price), book)
            alone = query(question(plan((), MEDIAN, intervals=False), **price), book)
            (told,), (bare,) = explanation(whole).outlooks, explanation(alone).outlooks
            assert told.rows_alone is not None and bare.rows is not None  # noqa: PT018
            assert abs(told.rows_alone - bare.rows) <= 1  # shares have four digits
            assert told.rows is not None and told.rows > told.rows_alone  # noqa: PT018
            text = " ".join(whole.explain().split())
            assert f"its interval reaches about {told.beyond:,} rows of rank to either side" in text
            assert f"with quantile_intervals=False the rank would be off by at most {told.rows_alone:,} rows" in text
            assert "interval" not in alone.explain()
            free = " ".join(query(question(plan((), least), **price), book).explain().split())
            assert "its interval is free: from the end of the range to the value" in free


def test_a_share_beyond_certainty_is_refused() -> None:
    with raises_code(InvalidInputError, "out-of-range: between 0 and 1"):
        answer(question(plan((), MEDIAN)), [50], [40], [60]).interval(1)


def test_rounded_values_are_fewer_to_choose_among() -> None:
    """The multiples of a step in the range; and it is another question, with another stored answer."""
    exact, coarse = (
        question(plan_of(f"SELECT MEDIAN({value}) AS m FROM visits", {"visits": KINDS})).parts
        for value in ("cost", "ROUND(cost / 200) * 200")
    )
    for one, other in zip(exact, coarse, strict=True):  # the value and both ends
        assert (other.measure.low, other.measure.high, other.measure.step) == (0, 25, 200)
        assert other.law.flip and not one.law.flip  # type: ignore[union-attr]  # noqa: PT018
        assert other.measure != one.measure
