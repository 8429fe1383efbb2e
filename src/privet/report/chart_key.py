"""What pictures of two rates share: the diagonal of blind guessing, signs, and a key inside the panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from privet.report.charts import ILL, INK, PAPER

KEY_STEP = 20  # pixels from line to line
WORDS: dict[str, Any] = {"fontSize": 13, "color": INK}

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class KeyLine:
    """What a sign in a panel means; "dashes" is the diagonal, "line" a line."""

    words: str
    shape: str
    color: str = ILL
    opacity: float = 1


def data(rows: Rows) -> alt.Chart:
    """A tuple: Altair copies a list row by row whenever a chart changes. No InlineData: it checks every row."""
    return alt.Chart({"values": tuple(rows)})


def diagonal(across: str, up: str, x: alt.X, y: alt.Y, start: float = 0) -> alt.Chart:
    ends: Rows = [{across: start, up: start}, {across: 1, up: 1}]
    line: alt.Chart = data(ends).mark_line(color=INK, strokeDash=[4, 4])
    return line.encode(x=x, y=y)


def key(lines: Sequence[KeyLine], left: int, bottom: int) -> list[alt.Chart]:
    """A key above the lower edge, which is empty in most pictures of this kind."""
    charts: list[alt.Chart] = []
    for place, line in enumerate(reversed(lines)):
        y = alt.value(bottom - 12 - place * KEY_STEP)
        one = data([{"words": line.words}]).encode(y=y, description=alt.Description("words:N"))
        if line.shape in ("dashes", "line"):
            dashes = [4, 4] if line.shape == "dashes" else [1, 0]
            color, width = (INK, 1) if line.shape == "dashes" else (line.color, 2.5)
            mark = one.mark_rule(color=color, strokeDash=dashes, strokeWidth=width)
            mark = mark.encode(x=alt.value(left - 10), x2=alt.value(left + 10))
        else:
            mark = one.mark_point(**sign(line.shape, line.color, line.opacity)).encode(x=alt.value(left))
        text = one.mark_text(**WORDS, align="left", baseline="middle").encode(
            x=alt.value(left + 18), text=alt.Text("words:N")
        )
        charts += [mark, text]
    return charts


def sign(shape: str, color: str = ILL, opacity: float = 1) -> dict[str, Any]:
    size = 190 if shape == "square" else 90
    return {"shape": shape, "size": size, "fill": color, "stroke": PAPER, "strokeWidth": 1, "opacity": opacity}
