"""Queries against accuracy: how much noise each of k counts needs when one budget has to last for all of them."""

from __future__ import annotations

import math
from fractions import Fraction

import altair as alt

from privet.core.accountant import Budget
from privet.estimates.composition import ReleasePlan, plan
from privet.report.charts import PAPER, house_style

LARGEST = 10_000
OURS, SPLIT = "#0072B2", "#D55E00"


def plans(budget: Budget, largest: int = LARGEST) -> list[ReleasePlan]:
    """Plans for 1, 2, 3, 5, 10, 20, 30, 50, 100, ... counts."""
    steps = [k * 10**decade for decade in range(math.ceil(math.log10(largest)) + 1) for k in (1, 2, 3, 5)]
    return [plan(budget, k) for k in steps if k <= largest]


def accuracy_chart(budget: Budget, largest: int = LARGEST) -> alt.Chart:
    """Both axes logarithmic; an error of 0 is drawn at one half."""
    rows = [
        {"counts": p.releases, "error": max(error, 0.5), "how": how}
        for p in plans(budget, largest)
        for how, error in (("Privet's two gauges", p.error), ("equal split of epsilon", p.equal_split_error))
    ]
    title = alt.TitleParams(
        text="The more counts share a budget, the more the second gauge pays",
        subtitle=[
            "95 % of the counts are within this error of the truth."
            f" Budget: epsilon {_short(budget.epsilon)}, delta {_short(budget.delta)}"
        ],
        anchor="start",
    )
    color = alt.Color("how:N", title=None, legend=alt.Legend(orient="top-left", labelLimit=300))
    color = color.scale(domain=["equal split of epsilon", "Privet's two gauges"], range=[SPLIT, OURS])
    base = alt.Chart(alt.InlineData(values=rows), title=title, width=620, height=340, background=PAPER)
    chart: alt.Chart = base.mark_line(point=True, strokeWidth=2).encode(
        x=alt.X("counts:Q", title="counts released").scale(type="log"),
        y=alt.Y("error:Q", title="error of each count (people)").scale(type="log"),
        color=color,
        description=alt.value("error of each count against the number of counts"),
    )
    chart.config = house_style()
    return chart


def _short(number: Fraction) -> str:
    return f"{float(number):g}"
