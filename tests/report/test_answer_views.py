"""An answer as a table, as HTML and as a picture: every number with its interval, nothing hidden, nothing executed."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asked import N, answer, average, bounds, key, month, plan, question, single, total
from support.refusals import raises_code

from privet.core.expression import Column, Compare, Extracted, Field, Literal, Period, Relation, Truncated
from privet.core.loss import Loss
from privet.core.plan import Key, Order
from privet.core.sensitivity import Bounds
from privet.errors import InvalidInputError
from privet.estimates.moments import Estimate
from privet.report.answer import chart as answer_chart
from privet.report.answer.text import _value_column, columns, html, key_text, price_words, text
from privet.report.charts import svg
from privet.report.terminal import Pen, decimals_for, fixed, floor, plain_numbers, step_decimals

BY_WARD = (key("ward"),)
SVG = "{http://www.w3.org/2000/svg}"


# --- the table


def test_counts_sums_and_averages_with_their_intervals() -> None:
    asked = single(plan(BY_WARD, N, average("mean", "cost"), total("sum", "cost")), epsilon=4)
    assert len(asked.parts) == 3  # the sum is made of the centered one and the count
    shown = answer(asked, [1000, 20, 3, 4, -5], [1000], [0])
    lines = text(shown).splitlines()
    assert lines[0].split() == ["ward", "n", "mean", "sum"]
    assert re.fullmatch(r"A +1,000 ± 13 +2,500 \[\d,\d{3} to \d,\d{3}\] +2,500,000 ± \d\d,\d{3}", lines[1])
    assert lines[3].startswith('""  ')
    assert lines[5].startswith("(missing)")
    assert "   -5 ± 13" in lines[5]


def test_columns_line_up_whatever_the_letters() -> None:
    shown = text(answer(question(plan(BY_WARD, N)), [100])).splitlines()[:6]
    places = [line.index("100 ±") for line in shown[1:]]
    assert places[0] == places[1] == places[2] == places[3] + 3 == places[4]  # 日本語: three letters, six columns


def test_an_accent_of_its_own_takes_no_room() -> None:
    column = answer(question(plan(BY_WARD, N)), [100])
    assert len({len(line) for line in text(column).splitlines()[1:3]}) == 1


def test_warnings_come_first_and_loud() -> None:
    shown = answer(question(plan((), N)), [5], warnings=("NOT PRIVATE: for testing", "the cap no longer holds"))
    assert text(shown).splitlines()[:3] == ["!! NOT PRIVATE: for testing", "!! the cap no longer holds", ""]
    assert text(shown, Pen(color=True)).startswith("\x1b[1;31m!! NOT PRIVATE")
    assert html(shown).index('class="warning"') < html(shown).index("<table>")


def test_price_receipt_and_what_95_percent_means() -> None:
    shown = text(answer(question(plan((), N), epsilon="0.5"), [5]))
    assert "Price    epsilon 0.5 on the basic gauge; rho 0.125 on the zCDP gauge\n" in shown
    assert "Receipt  entry 3, digest ab12ab12ab12ab12..." in shown
    assert "probability 95 %" in shown
    assert "free" not in shown


def test_a_replayed_answer_says_that_it_was_free() -> None:
    shown = text(answer(question(plan((), N)), [5], replayed=True))
    assert shown.endswith("Answered again from the ledger, free of charge.")
    assert "paid when it was first answered" in shown


def test_prices_without_epsilon_and_with_delta() -> None:
    assert price_words(question(plan((), N), rho="0.01").loss) == (
        "no epsilon price on the basic gauge; rho 0.01 on the zCDP gauge"
    )
    loss = Loss(epsilon=Fraction(1), delta=Fraction("1e-9"), rho=Fraction(1, 3), rho_delta=Fraction("1e-9"))
    assert price_words(loss) == (
        "epsilon 1 with delta 1e-9 on the basic gauge; rho 0.333334 with delta 1e-9 on the zCDP gauge"
    )


def test_every_row_is_printed_and_no_row_is_told() -> None:
    many = answer(question(plan((key("age"),), N)), [7])
    assert len(text(many).splitlines()) == 1 + 122 + 1 + 5
    having = Compare(Relation.GREATER, Column("n"), Literal(Fraction(100)))
    none = answer(question(plan(BY_WARD, N, having=having)), [7])
    assert "No row is left after HAVING and LIMIT." in text(none)
    assert "<tbody></tbody>" in html(none)


def test_keys_of_every_kind() -> None:
    hour, quarter = Truncated(Period.HOUR, Column("time")), Extracted(Field.QUARTER, Column("day"))
    keys = (key("smoker"), key("h", hour), key("q", quarter))
    rows = text(answer(question(plan(keys, N)), [1])).splitlines()
    assert re.split("  +", rows[1])[:3] == ["false", "2026-01-01 00:00:00", "1"]
    assert rows[-7].split()[:3] == ["(missing)"] * 3
    assert rows[1].startswith("false")
    assert key_text(Fraction(1, 2)) == "0.5"
    assert key_text("(missing)") == '"(missing)"'
    assert key_text(" A") == '" A"'
    assert key_text("a\nb\x1b[2J\u202e") == "a?b?[2J?"


def test_months_are_dates() -> None:
    assert text(answer(question(plan((month(),), N)), [1])).splitlines()[12].startswith("2026-12-01")


@settings(max_examples=100)
@given(
    value=st.fractions(-(10**9), 10**9), width=st.fractions(0, 10**6), step=st.sampled_from([None, "1", "0.01", "1/3"])
)
def test_what_is_shown_holds_what_is_meant(value: Fraction, width: Fraction, step: str | None) -> None:
    """Rounding never makes an interval narrower."""
    item = Estimate(value=value, low=value - width, high=value + width)
    column = _value_column("x", [{"x": item}], None if step is None else Fraction(step))
    middle, ends = _number(column.cells[0]), column.intervals[0]
    if step is None:
        low, high = map(_number, re.fullmatch(r"\[(.*) to (.*)\]", ends).groups())
    else:
        off = _number(ends.removeprefix("± "))
        low, high = middle - off, middle + off
    assert low <= item.low <= item.high <= high


def _number(shown: str) -> Fraction:
    return Fraction(shown.replace(",", ""))


def test_numbers_are_short_but_say_enough() -> None:
    assert fixed(Fraction("-1234567.891"), 2) == "-1,234,567.89"
    assert fixed(Fraction("0.05"), 1, math.ceil) == "0.1"
    assert fixed(Fraction("-0.05"), 1, math.ceil) == "0.0"
    assert fixed(Fraction(5), 0) == "5"
    assert [decimals_for(Fraction(x)) for x in ("0.013", "1", "12", "1e400", "1e-400")] == [3, 1, 0, 0, 12]
    assert [step_decimals(Fraction(x)) for x in ("1", "0.01", "5", "1/3")] == [0, 2, 0, 12]
    assert floor(Fraction(2, 3)) == "0.666"
    given = {"a": [Fraction(1, 2), (1, "x")], "b": None, "c": math.inf}
    assert plain_numbers(given) == {"a": [0.5, [1, "x"]], "b": None, "c": "inf"}


def test_an_interval_of_no_width_keeps_its_decimals() -> None:
    exact = answer(question(plan((), average("mean", "nothing"))), [0], [100])
    assert columns(exact)[0].cells == ["0.000000"]
    assert columns(exact)[0].intervals == ["[0.000000 to 0.000000]"]


# --- HTML


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_html_has_the_same_facts_and_runs_nothing() -> None:
    shown = answer(question(plan(BY_WARD, N)), [100], warnings=("<img src=x>",))
    reader = Reader()
    reader.feed(html(shown))
    assert reader.open == []
    assert set(reader.tags) == {"div", "style", "p", "table", "thead", "tbody", "tr", "th", "td"}
    said = "".join(reader.words)
    assert "Emergency <script>alert(1)</script>" in said
    assert "<img src=x>" in said
    for words in ("100", "± 18", "(missing)", "epsilon 1 on the basic gauge", "entry 3"):
        assert words in said
    assert not re.search(r"https?:|url\(|@import|src=(?!x)", html(shown))
    assert shown._repr_html_() == html(shown)
    assert str(shown) == text(shown)


# --- the picture


def words(picture: str) -> list[str]:
    return ["".join(element.itertext()) for element in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def spoken(picture: str) -> set[str | None]:
    return {element.get("aria-label") for element in ElementTree.fromstring(picture).iter()}


def test_bars_with_whiskers_for_one_key() -> None:
    shown = answer(question(plan(BY_WARD, N)), [100, 20, 3, 4, -5], warnings=("NOT PRIVATE",))
    picture = svg(shown.chart())
    assert {"n by ward", "(missing)", '""', "A"} <= set(words(picture))
    assert "NOT PRIVATE" in "".join(words(picture))
    assert "A: 100, between 82 and 118" in spoken(picture)
    assert "<script" not in picture
    assert not re.search(r"href|url\((?!#)|@import", picture)


def test_a_second_key_has_the_colors() -> None:
    chart = answer(question(plan((key("sex"), key("ward")), N)), [100]).chart()
    bars = chart.to_dict()["layer"][0]["encoding"]
    assert bars["color"]["legend"]["title"] == "ward"
    assert bars["yOffset"]["field"] == "color"
    assert "f, A: 100, between 82 and 118" in spoken(svg(chart))


def test_the_key_with_fewer_values_has_the_colors() -> None:
    asked = question(plan((key("sex"), key("q", Extracted(Field.MONTH, Column("day")))), N))
    bars = answer(asked, [100]).chart().to_dict()["layer"][0]["encoding"]
    assert bars["color"]["legend"]["title"] == "sex"
    assert bars["x"]["axis"]["title"] == "q"
    assert bars["xOffset"]["field"] == "color"


def test_numbers_and_dates_stand_upright_and_texts_lie() -> None:
    upright = answer(question(plan((month(),), N)), [100]).chart().to_dict()
    assert upright["layer"][0]["encoding"]["x"]["field"] == "group"
    lying = answer(question(plan((), N)), [100]).chart().to_dict()
    assert lying["layer"][0]["encoding"]["y"]["field"] == "group"
    assert "all rows" in words(svg(answer(question(plan((), N)), [100]).chart()))


def test_one_panel_an_aggregate() -> None:
    shown = answer(single(plan(BY_WARD, N, average("mean", "cost"))), [100], [50], [100])
    assert len(shown.chart().to_dict()["vconcat"]) == 2


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (plan((key("sex"), key("ward"), key("smoker")), N), "wrong-shape: not 3"),
        (plan((key("sex"), key("ward")), N, outputs=("sex", "n")), "wrong-shape: 1 … 2"),
        (plan(BY_WARD, N, outputs=("ward",)), "no-aggregate"),
        (plan((key("age"),), N), "too-many: 122"),
        (plan((key("age"),), N, having=Compare(Relation.GREATER, Column("n"), Literal(Fraction(0)))), "too-many: 122"),
        (plan((key("age"),), N, having=Compare(Relation.LESS, Column("n"), Literal(Fraction(0)))), "empty"),
        (
            plan(
                (key("a", Extracted(Field.MONTH, Column("day"))), key("age")),
                N,
                having=Compare(Relation.LESS, Column("age"), Literal(Fraction(10))),
                limit=100,
            ),
            "too-many: colors",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_a_remedy(asked: object, problem: str) -> None:
    shown = answer(question(asked), [100])  # type: ignore[arg-type]
    with raises_code(InvalidInputError, problem) as caught:
        shown.chart()
    assert caught.value.remedy


def test_what_is_known_to_be_too_much_is_refused_before_it_is_paid() -> None:
    with raises_code(InvalidInputError, "too-many: 122"):
        answer_chart.check_drawable(question(plan((key("age"),), N)))
    few = question(plan((key("age"),), N, order=(Order(name="n", descending=True),), limit=10))
    assert answer_chart.check_drawable(few) == (["age"], ["n"])


def test_gaussian_noise_is_drawn_as_well() -> None:
    shown = answer(question(plan(BY_WARD, N), bounds(1, 1), rho="0.1"), [100])
    assert "A: 100, between 95 and 105" in spoken(svg(shown.chart()))


@pytest.mark.parametrize(
    ("keys", "limits", "named"),
    [
        ((), bounds(5, 1), ("at most 1 row per person",)),
        ((), bounds(5, 20), ("at most 20 rows per person",)),
        ((), replace(bounds(5, 20), in_all=7), ("at most 7 rows per person",)),
        ((key("ward"),), bounds(2, 20), ("at most 2 groups per person", "at most 20 rows per person in each group")),
        ((key("ward"),), bounds(5, 20), ("at most 20 rows per person in each group",)),  # there are 5 wards
        ((key("ward"),), replace(bounds(20, 20), in_all=20), ("at most 20 rows per person",)),
        (
            (key("ward"),),
            replace(bounds(1, 2_000), in_all=1_500),
            (
                "at most 1 group per person",
                "at most 2,000 rows per person in each group",
                "at most 1,500 rows per person in all",
            ),
        ),
    ],
)  # fmt: skip
def test_an_answer_names_the_limits_that_were_applied(
    keys: tuple[Key, ...], limits: Bounds, named: tuple[str, ...]
) -> None:
    shown = answer(question(plan(keys, N), limits, epsilon=1), [7])
    assert shown.limits == named
    assert shown.to_json()["limits"] == list(named)
    assert f"Limits   {'; '.join(named)}\n" in str(shown)
    assert "; ".join(named) in shown._repr_html_()
    rows = replace(shown, rows_are_units=True)
    assert (rows.limits, rows.to_json()["limits"]) == ((), [])
    assert "Limits" not in str(rows)
