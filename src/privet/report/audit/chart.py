"""Pictures of an audit: what was claimed and shown on a line, and the tests that were seen under the claim's curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import altair as alt

from privet.report.audit.words import PLACES, chances, claimed, counted, levels
from privet.report.chart_key import KeyLine, Rows, data, diagonal, key, sign
from privet.report.charts import ILL, INK, PAPER, house_style, svg
from privet.report.page import Beside, Figure, Key
from privet.report.terminal import percent

if TYPE_CHECKING:
    from privet.audits.claims import Claim
    from privet.audits.verdict import Audit

SIDE = 320  # pixels of a panel
SEEN = "#0072B2"  # blue: told apart from vermilion by every kind of color vision
SHADE = 0.16
OUT_OF_REACH, BLIND, TESTS, WITNESS = (
    "out of reach, if the claim holds", "blind guessing", "tests that were seen", "the witness, and its box"
)  # fmt: skip
STEPS = 60  # of the claim's curve
HALVINGS = 30
FEW = 50  # draws
BENDS = 30  # points of a line on logarithmic axes
BAR_WIDTH, BAR_LEFT, BAR_ROW, BAR_HIGH = 400, 158, 34, 18  # units of the picture of bars
ENLARGED = 1.4  # pixels a unit where there is room


def audit_chart(audit: Audit) -> alt.HConcatChart:
    """Two panels: all tests, and the same on logarithmic axes, where rare events can be seen."""
    title = f"Claimed: {claimed(audit.claim)}. Shown: at least {levels(audit)[1][2]}."
    subtitle = f"The verdict: {audit.verdict}. The event: {_short(audit.witness.event)}"
    heading = alt.TitleParams(text=title, subtitle=[subtitle], anchor="start", offset=18)
    panels = [
        _panel(audit, 0.0),
        _panel(audit, _least_share(audit), [_backing(), *key(_key_lines(audit), SIDE - 208, SIDE)]),
    ]
    return alt.HConcatChart(hconcat=panels, title=heading, spacing=32, background=PAPER, config=house_style())


def roc_figures(audit: Audit) -> Beside:
    """The two panels by themselves, so that a narrow page can set them below each other."""
    alternative = _spoken(audit)
    pictures = [
        svg(_panel(audit, start, background=PAPER, config=house_style())) for start in (0.0, _least_share(audit))
    ]
    seen: Key = (("line", TESTS),) if audit.roc else ()
    witness: Key = (("dot", WITNESS),) if counted(audit) else ()
    figures = (
        Figure(pictures[0], alternative, "All tests"),
        Figure(pictures[1], f"{alternative}; logarithmic", "The same, logarithmic, where rare events are seen"),
    )
    return Beside(figures, (("gray", OUT_OF_REACH), ("dashes", BLIND), *seen, *witness))


def _spoken(audit: Audit) -> str:
    if not counted(audit):
        return str(audit.witness)
    first, second = chances(audit)
    return f"the event has {percent(first.share, 2)} on the first data set and {percent(second.share, 2)} on the second"


def bars_figure(audit: Audit) -> Figure:
    """Three bars from 0, with the colors of the page."""
    shown = levels(audit)
    alternative = f"{audit.claim.parameter}: " + ", ".join(f"{name} {text}" for name, _, text in shown)
    return Figure(bars_svg(audit), alternative, on_paper=False)


def bars_svg(audit: Audit) -> str:
    """What was claimed is a line through all bars: what was shown lies before it, or beyond."""
    shown = levels(audit)
    finite = [number for _, number, _ in shown if math.isfinite(number)]
    room = BAR_WIDTH - BAR_LEFT - 52  # for the numbers behind the bars
    scale = room / max(*finite, 1e-9)
    kinds = ("bar-claim", "bar-bad" if audit.violated else "bar-good", "bar-most")
    rows = [
        _bar(place, name, text, min(number * scale, room), kind)
        for place, ((name, number, text), kind) in enumerate(zip(shown, kinds, strict=True))
    ]
    high = BAR_ROW * len(shown)
    at = BAR_LEFT + shown[0][1] * scale
    line = f'<path class="bar-line" d="M{at:.1f} 0V{high}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{BAR_WIDTH * ENLARGED:.0f}" height="{high * ENLARGED:.0f}"'
        f' viewBox="0 0 {BAR_WIDTH} {high}" aria-hidden="true">{"".join(rows)}{line}</svg>'
    )


def _bar(place: int, name: str, text: str, width: float, kind: str) -> str:
    top = place * BAR_ROW + (BAR_ROW - BAR_HIGH) / 2
    middle = place * BAR_ROW + BAR_ROW / 2 + 4.5
    return (
        f'<text class="bar-word" x="{BAR_LEFT - 10}" y="{middle}" text-anchor="end">{name}</text>'
        f'<rect class="{kind}" x="{BAR_LEFT}" y="{top}" width="{max(width, 1):.1f}" height="{BAR_HIGH}" rx="2"/>'
        f'<text class="bar-number" x="{BAR_LEFT + width + 7:.1f}" y="{middle}">{text}</text>'
    )


def reach(claim: Claim, q: float) -> float:
    """The largest probability here of an event with probability `q` there: `Claim.most`, to a part of a pixel."""
    low, high = q, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if claim.least(middle, q) > claim.value else (middle, high)
    return high


@lru_cache(64)  # a page draws it twice
def curve(claim: Claim, start: float) -> Rows:
    """The claim's curve as points: evenly over [0, 1], or over the logarithm from `start` on."""
    steps = range(STEPS + 1)
    even = [(step / STEPS) ** 2 for step in steps]  # closer where the curve is steep
    shares = [start ** (1 - step / STEPS) for step in steps] if start else even
    return [{"other": q, "here": reach(claim, q)} for q in shares]


def _panel(audit: Audit, start: float, more: Sequence[alt.Chart] = (), **looks: Any) -> alt.LayerChart:
    """`start` is 0 for linear axes, and the least share that is shown on logarithmic ones."""
    likelier = audit.witness.likelier
    x = _rate(alt.X, "other", f"false alarms: on the {PLACES[1 - likelier]} data set", start)
    y = _rate(alt.Y, "here", f"true alarms: on the {PLACES[likelier]} data set", start)
    points = curve(audit.claim, start)
    above = data(points).encode(x=x, y=y)
    below = data([{"other": row["here"], "here": row["other"]} for row in points]).encode(x=x, y=y)
    layers = [
        above.mark_area(color=INK, opacity=SHADE).encode(y2=alt.Y2Datum(1)),
        below.mark_area(color=INK, opacity=SHADE).encode(y2=alt.Y2Datum(start)),
        diagonal("other", "here", x, y, start),
        *(edge.mark_line(color=INK, strokeWidth=2) for edge in (above, below)),
        *_seen(audit, start, x, y),
        *_witness(audit, start, x, y),
        *more,
    ]
    return alt.LayerChart(layer=layers, width=SIDE, height=SIDE, **looks)


def _rate(axis: Any, field: str, title: str, start: float) -> Any:
    """An axis from 0 to 100 %, or from `start` on."""
    if not start:
        marks = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".0%", grid=False, labelFlush=False, titlePadding=8)
        return axis(f"{field}:Q", title=title, axis=marks, scale=alt.Scale(domain=[0, 1]))
    least = round(-math.log10(start))
    powers = [10.0**-power for power in range(0, least + 1, 1 + least // 4)]
    marks = alt.Axis(values=powers, format="~%", grid=False, labelFlush=False, titlePadding=8)
    return axis(f"{field}:Q", title=title, axis=marks, scale=alt.Scale(type="log", domain=[start, 1], nice=False))


def _seen(audit: Audit, start: float, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """The tests that use the best score, with every threshold."""
    if not audit.roc:
        return []
    few = FEW / audit.samples if start else 0.0  # shares of so few draws are mostly chance
    points = [point for point in (_between(audit.roc) if start else audit.roc) if max(point) >= few]
    rows = [
        {"other": max(other, start), "here": max(here, start), "place": place}
        for place, (other, here) in enumerate(points)
    ]
    return [data(rows).mark_line(color=SEEN, strokeWidth=2).encode(x=x, y=y, order="place:Q")]


def _between(roc: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """With points in between: what is a straight line on linear axes is none on logarithmic ones."""
    parts = [(step / BENDS) ** 3 for step in range(BENDS)]
    found = [(ax + (bx - ax) * part, ay + (by - ay) * part) for (ax, ay), (bx, by) in pairwise(roc) for part in parts]
    return [*found, roc[-1]]


def _witness(audit: Audit, start: float, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    if not counted(audit):
        return []
    here, other = _sides(audit)
    point = {"other": other.share, "here": here.share}
    box = {"other": other.low, "right": other.high, "here": here.low, "top": here.high}
    spoken = {"spoken": f"{percent(here.share, 2)} here, {percent(other.share, 2)} there"}
    marks = [
        data([{name: max(share, start) for name, share in one.items()} | spoken]).encode(
            x=x, y=y, description=alt.Description("spoken:N")
        )
        for one in (box, point)
    ]
    return [
        marks[0].mark_rect(color=ILL, opacity=0.35, stroke=ILL).encode(x2=alt.X2("right:Q"), y2=alt.Y2("top:Q")),
        marks[1].mark_point(**sign("circle")),
    ]


def _sides(audit: Audit) -> Any:
    """The likelier data set first."""
    both = chances(audit)
    return both if audit.witness.likelier == 0 else both[::-1]


def _backing() -> alt.Chart:
    """White behind the key, so that it can be read on lines and shades."""
    corner = {"x": alt.value(SIDE - 225), "x2": alt.value(SIDE), "y": alt.value(SIDE - 88), "y2": alt.value(SIDE)}
    box: alt.Chart = data([{}]).mark_rect(color=PAPER, opacity=0.85).encode(**corner)
    return box


def _key_lines(audit: Audit) -> list[KeyLine]:
    seen = [KeyLine(TESTS, "line", SEEN)] if audit.roc else []
    return [
        KeyLine(OUT_OF_REACH, "square", INK, SHADE),
        KeyLine(BLIND, "dashes"),
        *seen,
        *([KeyLine(WITNESS, "circle")] if counted(audit) else []),
    ]


def _least_share(audit: Audit) -> float:
    """A power of ten below one draw."""
    return 10.0 ** -math.ceil(math.log10(max(audit.samples, 10)))


def _short(text: str) -> str:
    return text if len(text) <= 90 else f"{text[:87]}…"
