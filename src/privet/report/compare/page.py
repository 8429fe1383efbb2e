"""Ways to ship records, side by side on one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privet.report.charts import svg
from privet.report.compare.chart import plans_chart
from privet.report.compare.words import COLUMNS, MEANING, ONLY, headline, problems, row, setting, worst
from privet.report.page import Figure, List, PageTable, PageText, Part, Report, Section
from privet.report.terminal import percent, seconds_words

if TYPE_CHECKING:
    from privet.compare.measured import Comparison

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
