"""Ways to ship records, side by side on one page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from privet.report.chart_key import data, sign
from privet.report.charts import HEALTHY, ILL, INK, PAPER, house_style, svg
from privet.report.compare.words import COLUMNS, MEANING, ONLY, headline, problems, row, setting, worst
from privet.report.page import Figure, List, PageTable, PageText, Part, Report, Section
from privet.report.terminal import percent, seconds_words

if TYPE_CHECKING:
    from privet.compare.measured import Comparison


# A picture of ways to ship records: how wrong their tables are, against how many people are certain.

WIDTH, HEIGHT = 620, 380
LETTER, LINE = 7.5, 17.0  # pixels that a label takes, a letter and in height


def plans_chart(found: Comparison) -> alt.LayerChart:
    """Left is more useful, down is more private. Diamonds promise nothing; the circle has a guarantee."""
    rows: list[dict[str, Any]] = [
        {"name": way.name, "error": way.error, "certain": worst(way), "sure": way.guarantee != "none"}
        for way in found.ways
        if way.error is not None
    ]
    top = max(0.01, *(row["certain"] for row in rows), 0.0)
    right, domain = max(0.01, *(row["error"] for row in rows), 0.0) * 1.3, (-top * 0.06, top * 1.12)
    x = alt.X("error:Q", title="error of two-way tables (share of people in a wrong cell)")
    x = x.axis(format=".0%", tickCount=6, grid=False).scale(domain=[0, right], nice=False)
    y = alt.Y("certain:Q", title="people whose value is certain").axis(format=".0%", tickCount=5)
    y = y.scale(domain=list(domain), nice=False)
    layers = [
        data([row for row in rows if row["sure"] is sure]).mark_point(**sign(shape, color)).encode(
            x=x, y=y, description="name:N"
        )
        for sure, shape, color in ((False, "diamond", ILL), (True, "circle", HEALTHY))
    ]  # fmt: skip
    words = data(_labels(rows, right, domain)).mark_text(align="left", dx=10, fontSize=13, color=INK, baseline="middle")
    layers.append(words.encode(x=x, y=y, text="words:N", description="words:N"))
    return alt.LayerChart(layer=layers, width=WIDTH, height=HEIGHT, background=PAPER, config=house_style())


def _labels(rows: list[dict[str, Any]], right: float, domain: tuple[float, float]) -> list[dict[str, Any]]:
    """Beside each sign, or higher where another label is in the way."""
    height = HEIGHT / (domain[1] - domain[0])
    signs = [(row["error"] / right * WIDTH, (row["certain"] - domain[0]) * height) for row in rows]
    taken = [(across - 6, across + 6, up) for across, up in signs]  # left, right, height, in pixels
    labels = []
    for one, (across, up) in sorted(zip(rows, signs, strict=True), key=lambda pair: pair[1][::-1]):
        left, end, high = across + 7, across + LETTER * (len(one["name"]) + 2), up
        while any(left < b and a < end and abs(high - c) < LINE for a, b, c in taken):
            high += LINE / 4
        taken.append((left, end, high))
        labels.append({**one, "certain": domain[0] + high / height, "words": one["name"]})
    return labels


UTILITY = (0, 1, 2, 3, 4)
ATTACKS = (0, 5, 6, 7, 8, 9, 10)


def page_of(found: Comparison) -> Report:
    failed = problems(found)
    return Report(
        title=f"Plans for {found.subject}",
        headline=headline(found),
        verdict="neutral",
        lead=ONLY,
        sections=(
            Section("Utility against attack success", (_figure(found),)),
            Section("What is left to use", (_table(found, "What is left to use", UTILITY),)),
            Section("What an attacker gets", (_table(found, "What an attacker gets", ATTACKS),)),
            *([Section("What could not be done", (List(tuple(failed)),))] if failed else []),
            Section("How it was measured", _how(found)),
        ),
        foot=f"It took {seconds_words(found.seconds)}.",
    )


def _figure(found: Comparison) -> Figure:
    alt = "; ".join(
        f"{way.name}: error {percent(way.error)}, {percent(worst(way))} certain"
        for way in found.ways
        if way.error is not None
    )
    caption = (
        "Further left: tables are closer to the truth. Further down: fewer people are certain, by one release or two."
    )
    key = (("dot", "a guarantee"), ("full", "no guarantee"))
    return Figure(svg(plans_chart(found)), alt, f"{caption} Circle: {key[0][1]}. Diamonds: {key[1][1]}.")


def _table(found: Comparison, caption: str, places: tuple[int, ...]) -> PageTable:
    rows = tuple(tuple(cells[place] for place in places) for cells in map(row, found.ways))
    return PageTable(caption, tuple(COLUMNS[place] for place in places), rows)


def _how(found: Comparison) -> tuple[Part, ...]:
    held_out = (
        "A random half of the records was held out before anything was made. Where a guess is as good for them as for"
        " the people in the release, it is knowledge about people like these, and no leak."
    )
    return PageText((setting(found), held_out)), List(MEANING)
