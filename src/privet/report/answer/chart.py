"""An answer as a picture: bars, each with its 95 % interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt

from privet.errors import InvalidInputError
from privet.estimates.estimate import Row
from privet.estimates.levels import levels_of, rows_of_level
from privet.estimates.moments import Estimate
from privet.estimates.priced import Priced
from privet.report.answer.text import UNKNOWN, chosen_words, group_text, price_words
from privet.report.charts import HEALTHY, INK, PAPER, house_style
from privet.report.terminal import one_line

if TYPE_CHECKING:
    from privet.answer import Answer

MOST_BARS = 100
COLORS = (  # told apart by every kind of color vision, and in this order by lightness as well
    "#56B4E9", "#D55E00", "#009E73", "#F0E442", "#0072B2", "#E69F00", "#CC79A7", "#999999",
)  # fmt: skip
THICK, LENGTH = 22, 260  # pixels of a bar, and of the axis that it is measured on
ABOUT = "Bars are published values; the thin lines hold the exact value with probability 95 %, each by itself."


def chart(answer: Answer) -> alt.LayerChart | alt.VConcatChart:
    """One panel an aggregate. The first key has the axis, a second one the colors."""
    keys, values = check_drawable(answer.priced)
    rows = answer.leveled()
    _check_bars(len(rows))
    axis, color = _places(keys, rows)
    panels = [_panel(name, rows, axis, color) for name in values]
    title = alt.TitleParams(
        text=_title(values, keys),
        subtitle=[
            *answer.warnings,
            ABOUT,
            *chosen_words(answer),
            f"Price: {price_words(answer.cost)}. Ledger entry {answer.receipt.entry}.",
        ],
        anchor="start",
        offset=14,
    )
    if len(panels) == 1:
        whole: alt.LayerChart | alt.VConcatChart = panels[0]
        whole.title = title
    else:
        whole = alt.VConcatChart(vconcat=panels, title=title, spacing=24)
    whole.background, whole.config = PAPER, house_style()
    return whole


def check_drawable(asked: Priced) -> tuple[list[str], list[str]]:
    """The keys and the numbers to draw. What can be known to be too much is refused before anything is paid."""
    plan = asked.plan
    names = {key.name for key in plan.keys}
    keys = [name for name in plan.outputs if name in names]
    values = [name for name in plan.outputs if name not in names]
    if not values:
        raise InvalidInputError(
            "this answer shows no number to draw", "select an aggregate, for example COUNT(*)", "no-aggregate"
        )
    if len(keys) > 2 or len(names) > len(keys):
        raise InvalidInputError(
            f"a chart shows all keys, at most two, not {len(keys)} of {len(names)}",
            "group by one or two columns and select them, or use to_pandas()",
            "wrong-shape",
        )
    if plan.having is None and (not asked.cells.private or asked.cells.chosen is not None):
        rows = sum(rows_of_level(asked.cells, plan, level) for level in levels_of(plan))
        _check_bars(rows if plan.limit is None else min(plan.limit, rows))
    return keys, values


def _check_bars(number: int) -> None:
    if not number:
        raise InvalidInputError("no row is left to draw", "ask with another HAVING or LIMIT", "empty")
    if number > MOST_BARS:
        raise InvalidInputError(
            f"{number:,} bars are too many to see; {MOST_BARS} fit",
            "group by something coarser, add ORDER BY and LIMIT, or use to_pandas()",
            "too-many",
        )


def _places(keys: Sequence[str], rows: Sequence[Row]) -> tuple[str | None, str | None]:
    """Which key has the axis and which the colors: the second, unless only the first has few enough values."""
    if len(keys) < 2:
        return (keys[0] if keys else None), None
    first, second = ({group_text(row, key) for row in rows} for key in keys)
    if min(len(first), len(second)) > len(COLORS):
        raise InvalidInputError(
            f"both keys have more than {len(COLORS)} values, which is more than there are colors",
            "keep the values you want: WHERE ... IN (...)",
            "too-many",
        )
    return (keys[0], keys[1]) if len(second) <= len(COLORS) else (keys[1], keys[0])


def _title(values: Sequence[str], keys: Sequence[str]) -> str:
    return one_line(", ".join(values) + (f" by {' and '.join(keys)}" if keys else ""))


def _panel(name: str, shown: Sequence[Row], axis: str | None, color: str | None) -> alt.LayerChart:
    """Texts stand beside lying bars, where there is room for them; numbers and dates under standing ones."""
    rows = [_row(row, name, axis, color) for row in shown if row.line[name] is not None]
    lying = axis is None or any(isinstance(row.line[axis], str) for row in shown)
    groups = list(dict.fromkeys(row["group"] for row in rows))
    colors = list(dict.fromkeys(row["color"] for row in rows if "color" in row))
    step = alt.Step.from_dict({"step": THICK, "for": "offset" if len(colors) > 1 else "position"})
    labels = alt.Axis(title=None if axis is None else one_line(axis), labelLimit=260, grid=False)
    group: dict[str, Any] = {"sort": groups, "axis": labels, "scale": alt.Scale(paddingInner=0.25, paddingOuter=0.15)}
    value: dict[str, Any] = {"title": one_line(name), "axis": alt.Axis(format=",~f", tickCount=8)}
    place: dict[str, Any]
    bar: dict[str, Any]
    offset: dict[str, Any]
    ends: dict[str, Any]
    if lying:
        place, bar = {"y": alt.Y("group:N", **group)}, {"x": alt.X("value:Q", **value)}
        offset = {"yOffset": alt.YOffset("color:N", sort=colors)}
        ends = {"x": alt.X("low:Q", **value), "x2": alt.X2("high:Q")}
    else:
        place, bar = {"x": alt.X("group:N", **group)}, {"y": alt.Y("value:Q", **value)}
        offset = {"xOffset": alt.XOffset("color:N", sort=colors)}
        ends = {"y": alt.Y("low:Q", **value), "y2": alt.Y2("high:Q")}
    base = alt.Chart(alt.InlineData(values=rows)).encode(**place, **(offset if color else {}), description="spoken:N")
    bars = base.mark_bar(color=HEALTHY).encode(**bar, **_color(color, colors))
    shown_ends = alt.InlineData(values=[row for row in rows if "low" in row])  # no line where there is no interval
    whiskers = (
        base.properties(data=shown_ends)
        .mark_errorbar(ticks=alt.MarkConfig(size=8), color=INK, thickness=1.5)
        .encode(**ends)
    )
    unknown = [row for row in rows if "value" not in row]
    words = [base.properties(data=alt.InlineData(values=unknown)).mark_text(text=UNKNOWN, color=INK, dy=-7)]
    size: dict[str, Any] = {"width": LENGTH * 2, "height": step} if lying else {"width": step, "height": LENGTH}
    return alt.LayerChart(layer=[bars, whiskers, *(words if unknown else [])], **size)


def _color(name: str | None, values: Sequence[str]) -> dict[str, alt.Color]:
    if name is None:
        return {}
    legend = alt.Legend(title=one_line(name), labelLimit=260)
    return {"color": alt.Color("color:N", legend=legend).scale(domain=list(values), range=list(COLORS[: len(values)]))}


def _row(shown: Row, name: str, axis: str | None, color: str | None) -> dict[str, Any]:
    item = shown.line[name]
    assert isinstance(item, Estimate)  # noqa: S101  a number that is not missing
    row: dict[str, Any] = {
        "group": "all rows" if axis is None else group_text(shown, axis),
        **({} if item.shown is None else {"value": float(item.shown)}),
    }
    if item.low is not None and item.high is not None:
        row |= {"low": float(item.low), "high": float(item.high)}
    if color is not None:
        row["color"] = group_text(shown, color)
    where = ", ".join(str(row[part]) for part in ("group", "color") if part in row)
    between = "" if "low" not in row else f", between {row['low']:,.12g} and {row['high']:,.12g}"
    spoken = f"{row['value']:,.12g}" if "value" in row else UNKNOWN
    row["spoken"] = f"{where}: {spoken}{between}"
    return row
