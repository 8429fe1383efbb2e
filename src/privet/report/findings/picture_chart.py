"""A picture among findings, drawn: lines, steps, points and bounds, told apart by dashes and shapes besides color."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from privet.errors import InvalidInputError
from privet.report.page import Figure, Sample
from privet.report.terminal import one_line

if TYPE_CHECKING:
    import altair as alt

    from privet.attacks.finding import Curve, Picture

WIDTH, HEIGHT, SIDE = 560, 340, 380  # pixels of the panel; one of shares is a square
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito: for every color vision
MARKS = ("#D55E00", "#222222", "#009E73", "#0072B2", "#CC79A7")  # of points: the first two are yes and no at a glance
DASHES = ((1, 0), (7, 4), (2, 3), (10, 4, 2, 4), (14, 5), (3, 7))
CROSS = "M-.7-.7L.7.7M.7-.7L-.7.7"
SHAPES = ("circle", CROSS, "square", "triangle-up", "diamond")
SAMPLES = {  # the same shapes in a key
    "circle": '<circle cx="17" cy="8" r="4.5" fill="{color}"/>',
    CROSS: '<path d="M13 4l8 8m0-8l-8 8" stroke="{color}" stroke-width="2" fill="none"/>',
    "square": '<path d="M13 4h8v8h-8z" fill="{color}"/>',
    "triangle-up": '<path d="M17 3l5 9h-10z" fill="{color}"/>',
    "diamond": '<path d="M17 2l5 6l-5 6l-5-6z" fill="{color}"/>',
}
INK, SHADE, BAND = "#222222", 0.16, 0.2
MOST_POINTS = 500  # of a line; more cannot be seen
FEW_TICKS, MOST_TICKS = 3, 7  # of a logarithmic axis
BENDS = 40  # points between two corners
SPARE = 0.05  # of an axis, beyond the outermost points

Row = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """A curve with what can be shown of it, and how it looks."""

    name: str
    style: str
    rows: list[Row]
    color: str
    dash: tuple[int, ...]
    shape: str

    @property
    def has_intervals(self) -> bool:
        return any("low" in row for row in self.rows)


def picture_figure(picture: Picture) -> Figure | None:
    """The picture with a key below it; None if there is no point to draw."""
    from privet.report.charts import svg  # noqa: PLC0415  brings Altair

    curves, dropped = _drawn(picture)
    if not curves:
        return None
    key = tuple((_sample(curve), curve.name) for curve in curves)
    words = [
        *(["Shaded bands and thin lines are 95 % intervals."] if any(c.has_intervals for c in curves) else []),
        *([_dropped_words(dropped)] if dropped else []),
    ]
    return Figure(svg(picture_chart(picture)), picture.alt, " ".join(words), key=key)


def picture_chart(picture: Picture) -> alt.LayerChart:
    """Shades first, so that they hide nothing; then lines; then points."""
    import altair as alt  # noqa: PLC0415  only a page needs it

    from privet.report.charts import PAPER, house_style  # noqa: PLC0415

    curves, _ = _drawn(picture)
    rows = [row for curve in picture.curves for row in _rows(curve, picture)]
    across = _domain([row["x"] for row in rows], log=picture.log_x, share=picture.shares)
    heights = [row[name] for row in rows for name in ("y", "low", "high") if name in row]
    up = _domain(heights, log=picture.log_y, share=picture.shares)
    x = alt.X("x:Q", title=one_line(picture.x), **_axis(across, log=picture.log_x, share=picture.shares, grid=False))
    y = alt.Y("y:Q", title=one_line(picture.y), **_axis(up, log=picture.log_y, share=picture.shares, grid=True))
    order = ("bound", "line", "steps", "points")
    sorted_curves = sorted(curves, key=lambda curve: order.index(curve.style))
    layers = [
        *(layer for curve in sorted_curves for layer in _shades(curve, x, y, up)),
        *(layer for curve in sorted_curves for layer in _marks(curve, x, y)),
    ]
    wide, high = (SIDE, SIDE) if picture.shares else (WIDTH, HEIGHT)
    return alt.LayerChart(layer=layers, width=wide, height=high, background=PAPER, config=house_style())


def _drawn(picture: Picture) -> tuple[list[_Drawn], int]:
    """Curves that have a point to show, and how many points have none."""
    found, dropped, lines, points = [], 0, 0, 0
    for curve in picture.curves:
        rows = _rows(curve, picture)
        dropped += len(curve.x) - len(rows)
        if rows and picture.shares and picture.log_x and curve.style in ("line", "bound"):
            rows = _rows(_bent(curve), picture)
        if not rows:
            continue
        marks = curve.style == "points"
        color = MARKS[points % len(MARKS)] if marks else COLORS[lines % len(COLORS)]
        found.append(
            _Drawn(
                name=curve.name,
                style=curve.style,
                rows=rows if marks else _thinned(rows),
                color=INK if curve.style == "bound" else color,
                dash=(1, 0) if curve.style == "bound" else DASHES[lines % len(DASHES)],
                shape=SHAPES[points % len(SHAPES)],
            )
        )
        lines, points = lines + (curve.style in ("line", "steps")), points + marks
    return found, dropped


def _rows(curve: Curve, picture: Picture) -> list[Row]:
    """Points that have a place: finite, and above 0 on a logarithmic axis. An interval's end that has none is left
    at the point itself."""
    ends = {"low": curve.low, "high": curve.high}
    if len(curve.x) != len(curve.y) or any(len(some) not in (0, len(curve.x)) for some in ends.values()):
        raise InvalidInputError(
            f"the curve “{one_line(curve.name)}” of a picture has {len(curve.x)} places and {len(curve.y)} heights",
            "give as many y as x, and as many ends of intervals (or no intervals)",
            "wrong-length",
        )
    rows = []
    for place, (x, y) in enumerate(zip(curve.x, curve.y, strict=True)):
        if not (_has_place(x, log=picture.log_x) and _has_place(y, log=picture.log_y)):
            continue
        given = {name: float(some[place]) for name, some in ends.items() if some}
        whole = {name: end if _has_place(end, log=picture.log_y) else float(y) for name, end in given.items()}
        both = {"low": float(y), "high": float(y), **whole} if whole else {}
        rows.append({"x": float(x), "y": float(y), **both, "place": float(place)})
    return rows


def _bent(curve: Curve) -> Curve:
    """With points in between, closer to the left: what is straight between shares is bent on logarithmic axes."""
    parts = [(step / BENDS) ** 4 for step in range(BENDS)]
    corners = list(zip(curve.x, curve.y, strict=True))
    found = [
        (ax + (bx - ax) * part, ay + (by - ay) * part) for (ax, ay), (bx, by) in pairwise(corners) for part in parts
    ]
    x, y = zip(*found, *corners[-1:], strict=True)
    return replace(curve, x=x, y=y, low=(), high=())


def _has_place(number: float, *, log: bool) -> bool:
    return math.isfinite(number) and (number > 0 or not log)


def _thinned(rows: list[Row]) -> list[Row]:
    """At most so many points, the first and the last among them."""
    if len(rows) <= MOST_POINTS:
        return rows
    step = (len(rows) - 1) / (MOST_POINTS - 1)
    return [rows[round(place * step)] for place in range(MOST_POINTS)]


def _dropped_words(dropped: int) -> str:
    points = "1 point is" if dropped == 1 else f"{dropped:,} points are"
    return f"{points} not drawn: infinite, or 0 and less on a logarithmic axis."


def _domain(numbers: list[float], *, log: bool, share: bool) -> tuple[float, float]:
    """From the least to the largest number, with some room; a share ends at 100 %, and starts at 0 if it can."""
    low, high = min(numbers), max(numbers)
    if share:
        return (min(low, 0.1), 1.0) if log else (0.0, 1.0)
    if log:
        room = max((high / low) ** SPARE, 1.1)
        return low / room, high * room
    if 0 <= low <= high / 2:
        return 0.0, high * (1 + SPARE) or 1.0
    room = (high - low) * SPARE or abs(high) * SPARE
    return low - room, high + room


def _axis(domain: tuple[float, float], *, log: bool, share: bool, grid: bool) -> dict[str, Any]:
    import altair as alt  # noqa: PLC0415

    looks: dict[str, Any] = {"grid": grid, "labelFlush": False, "titlePadding": 8, "titleLimit": WIDTH}
    scale: dict[str, Any] = {"domain": list(domain), "nice": False, "zero": False}
    if log:
        looks |= {"values": log_ticks(*domain), "format": "~%" if share else ",~r", "labelOverlap": False}
        del scale["zero"]
        scale["type"] = "log"
    elif share:
        looks |= {"values": [0, 0.25, 0.5, 0.75, 1], "format": ".0%"}
    else:
        looks |= {"tickCount": 6}
    return {"axis": alt.Axis(**looks), "scale": alt.Scale(**scale)}


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, with 2 and 5 times them where few fit, and only some of them where too many do."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    powers = range(first, last + 1)
    for multiples in ((1,), (1, 3), (1, 2, 5), tuple(range(1, 10))):
        ticks = [many * 10.0**power for power in powers for many in multiples if low <= many * 10.0**power <= high]
        if len(ticks) >= FEW_TICKS:
            break
    return ticks[:: max(1, -(-len(ticks) // MOST_TICKS))] or [low]


def _shades(curve: _Drawn, x: Any, y: Any, up: tuple[float, float]) -> list[Any]:
    """What lies beyond a bound, and the band of intervals around a line."""
    import altair as alt  # noqa: PLC0415

    from privet.report.chart_key import data  # noqa: PLC0415

    area: dict[str, Any] = {"clip": True, "description": one_line(curve.name)}
    if curve.style == "bound":
        chart = data([*curve.rows]).mark_area(color=INK, opacity=SHADE, **area)
        return [chart.encode(x=x, y=y, y2=alt.datum(up[1]))]
    if curve.style == "points" or not curve.has_intervals:
        return []
    band = [{"x": row["x"], "y": row["low"], "top": row["high"]} for row in curve.rows]
    chart = data(band).mark_area(color=curve.color, opacity=BAND, interpolate=_joined(curve), **area)
    return [chart.encode(x=x, y=y, y2="top:Q")]


def _marks(curve: _Drawn, x: Any, y: Any) -> list[Any]:
    from privet.report.chart_key import data  # noqa: PLC0415

    spoken: dict[str, Any] = {"clip": True, "description": one_line(curve.name)}
    base = data([*curve.rows]).encode(x=x, y=y)
    if curve.style != "points":
        width = 2.5 if curve.style == "bound" else 2.25
        looks: dict[str, Any] = {"strokeDash": list(curve.dash), "strokeWidth": width, "interpolate": _joined(curve)}
        line = base.mark_line(color=curve.color, **looks, **spoken).encode(order="place:Q")
        alone = base.mark_point(shape="circle", size=70, filled=True, color=curve.color, **spoken)
        return [line] if len(curve.rows) > 1 else [alone]
    cross: dict[str, Any] = {"shape": curve.shape, "size": 60, "color": curve.color, "strokeWidth": 2, "filled": False}
    filled: dict[str, Any] = {
        "shape": curve.shape,
        "size": 70,
        "fill": curve.color,
        "stroke": "#ffffff",
        "strokeWidth": 0.8,
    }
    marks = base.mark_point(**(cross if curve.shape == CROSS else filled), opacity=1, **spoken)
    if not curve.has_intervals:
        return [marks]
    ends = [{"x": row["x"], "y": row["low"], "top": row["high"]} for row in curve.rows]
    return [data(ends).mark_rule(color=curve.color, strokeWidth=1.3, **spoken).encode(x=x, y=y, y2="top:Q"), marks]


def _joined(curve: _Drawn) -> Any:
    return "step-after" if curve.style == "steps" else "linear"


def _sample(curve: _Drawn) -> Sample:
    """A piece of the curve for the key, on white as the picture is."""
    dash = " ".join(map(str, curve.dash))
    line = f'<path d="M2 8h30" stroke="{curve.color}" stroke-width="2.5" stroke-dasharray="{dash}"/>'
    shade = f'<path d="M2 1h30v7h-30z" fill="{INK}" opacity="{SHADE}"/>'
    mark = SAMPLES[curve.shape].format(color=curve.color)
    drawn = {"points": mark, "bound": shade + line}.get(curve.style, line)
    if curve.style != "points" and len(curve.rows) == 1:
        drawn = SAMPLES["circle"].format(color=curve.color)
    return Sample(
        '<svg class="sample" xmlns="http://www.w3.org/2000/svg" width="34" height="16" viewBox="0 0 34 16"'
        f' aria-hidden="true"><rect width="34" height="16" rx="3" fill="#ffffff"/>{drawn}</svg>'
    )
