"""Charts as Altair objects, and as SVG text that needs no network to be made or shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
import vl_convert

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
INK, FAINT, PAPER = "#222222", "#dddddd", "#ffffff"
HEALTHY, ILL = "#56B4E9", "#D55E00"  # sky blue and vermilion: told apart by every kind of color vision
PANEL_WIDTH, PANEL_HEIGHT = 262, 250
HEADROOM = 1.25  # room above the tallest bar for words
BAR = 0.44  # of the step from one published number to the next; two bars share a step


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One way to publish a count: the probability of every published number under either diagnosis."""

    title: str
    finding: Sequence[str]
    healthy: Mapping[int, float]
    ill: Mapping[int, float]
    endless: bool = False  # the bars go on beyond the numbers shown

    def rows(self) -> list[dict[str, Any]]:
        """One row a bar: its place, diagnosis, probability, and what the number proves, if it proves anything."""
        return [*_bars("healthy", self.healthy, self.ill, -BAR), *_bars("ill", self.ill, self.healthy, 0.0)]


def likelihood_panels(panels: Sequence[Panel], title: str, subtitle: Sequence[str]) -> alt.HConcatChart:
    """The panels side by side, over the same published numbers, under a title that says what they show."""
    numbers = [number for panel in panels for number in (*panel.healthy, *panel.ill)]
    domain = [min(numbers) - 0.7, max(numbers) + 0.7]
    charts = [_panel(panel, domain, first=panel is panels[0]) for panel in panels]
    heading = alt.TitleParams(text=title, subtitle=list(subtitle), anchor="start", offset=18)
    return alt.HConcatChart(hconcat=charts, title=heading, spacing=26, background=PAPER, config=house_style())


def svg(chart: alt.TopLevelMixin) -> str:
    """The chart as one <svg> element. Nothing is fetched: the data are inside and no address is allowed.

    Altair does not check it against its schema here: that takes longer than drawing, and the tests check every chart.
    """
    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    return str(vl_convert.vegalite_to_svg(chart.to_json(validate=False), vl_version=version, allowed_base_urls=[]))


def _bars(diagnosis: str, here: Mapping[int, float], other: Mapping[int, float], shift: float) -> list[dict[str, Any]]:
    return [
        {
            "diagnosis": diagnosis,
            "spoken": f"if {diagnosis}, {number} is published with probability {chance:.1%}",
            "left": number + shift,
            "right": number + shift + BAR,
            "probability": chance,
            "proof": "" if other.get(number) else f"seen only|if {diagnosis}",
        }
        for number, chance in here.items()
    ]


def _panel(panel: Panel, domain: list[float], *, first: bool) -> alt.LayerChart:
    rows = panel.rows()
    tallest = max(row["probability"] for row in rows)
    x = alt.X("left:Q", title="published number").scale(domain=domain, nice=False)
    x = x.axis(values=list(range(round(domain[0]), round(domain[1]) + 1)), labelOverlap=False, grid=False, format="d")
    y = alt.Y("probability:Q", title="probability" if first else None)
    y = y.scale(domain=[0, tallest * HEADROOM]).axis(values=_ticks(tallest), format=".0%")
    bars = alt.Chart(alt.InlineData(values=rows)).encode(
        x=x, x2="right:Q", y=y, y2=alt.datum(0), color=_diagnosis_color(), description="spoken:N"
    )
    outline = bars.transform_filter("datum.proof != ''").mark_bar(filled=False, stroke=INK, strokeWidth=2)
    notes = [_note(rows, x, y, diagnosis) for diagnosis in ("healthy", "ill")]
    tails = _tails(domain, tallest / 8, x, y) if panel.endless else []
    heading = alt.TitleParams(text=panel.title, subtitle=list(panel.finding), anchor="start", frame="group")
    layers = [bars.mark_bar(), outline.encode(color=alt.value(INK)), *notes, *tails]
    return alt.LayerChart(layer=layers, title=heading, width=PANEL_WIDTH, height=PANEL_HEIGHT)


def _ticks(tallest: float) -> list[float]:
    """Round percentages from 0 to the tallest bar, at most five of them if it is above 1 %."""
    step = next((step for step in (1, 5, 10, 20) if tallest * 100 <= 4.5 * step), 25)
    return [percent / 100 for percent in range(0, round(tallest * 100) + 1, step)]


def _diagnosis_color() -> alt.Color:
    legend = alt.Legend(title="If the newcomer is", orient="bottom", direction="horizontal", titleOrient="left")
    return alt.Color("diagnosis:N", legend=legend).scale(domain=["healthy", "ill"], range=[HEALTHY, ILL])


def _tails(domain: list[float], height: float, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Words at both ends of a panel whose bars never end."""
    ends: list[tuple[Literal["left", "right"], str, float]] = [
        ("left", "\u2190 never 0", domain[0]),
        ("right", "never 0 \u2192", domain[1]),
    ]
    return [
        alt.Chart(alt.InlineData(values=[{"left": end, "probability": height, "words": words}]))
        .mark_text(align=side, fontSize=13, color=INK)
        .encode(x=x, y=y, text="words:N", description="words:N")
        for side, words, end in ends
    ]


def _note(rows: list[dict[str, Any]], x: alt.X, y: alt.Y, diagnosis: str) -> alt.Chart:
    """Words above the bars that prove the diagnosis, leaning away from the bars of the other one."""
    side: Literal["left", "right"]
    side, nudge = ("right", 14) if diagnosis == "healthy" else ("left", -6)
    proofs = [{**row, "left": (row["left"] + row["right"]) / 2} for row in rows if row["proof"]]
    words = alt.Chart(alt.InlineData(values=[row for row in proofs if row["diagnosis"] == diagnosis]))
    text: alt.Chart = words.mark_text(
        align=side, dx=nudge, dy=-28, lineBreak="|", fontSize=13, fontWeight="bold", color=INK
    )
    return text.encode(x=x, y=y, text="proof:N", description="spoken:N")


def house_style() -> alt.Config:
    text: dict[str, Any] = {"labelFontSize": 13, "titleFontSize": 13, "titleFontWeight": "normal"}
    text |= {"labelColor": INK, "titleColor": INK}
    return alt.Config(
        font=FONT,
        padding=16,
        axis=alt.AxisConfig(**text, gridColor=FAINT, domainColor=INK, tickColor=INK),
        legend=alt.LegendConfig(**text),
        title=alt.TitleConfig(fontSize=15, subtitleFontSize=13, color=INK, subtitleColor=INK, subtitlePadding=4),
        view=alt.ViewConfig(stroke=None),
    )
