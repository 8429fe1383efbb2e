"""The picture of an epsilon: what somebody can come to believe, and how well anybody can tell."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import altair as alt

from privet.interpret import Meaning, best_guess, best_true_positive_rate, posterior
from privet.report.chart_key import WORDS, KeyLine, Rows, data, diagonal, key, sign
from privet.report.charts import HEALTHY, ILL, INK, PAPER, house_style
from privet.report.meaning.text import QUESTIONS, number_of_people, price
from privet.report.terminal import share_at_least, share_at_most

WIDTH, HEIGHT = 415, 340
STEPS = 100  # of the curve of beliefs
MARKED = (("0.01", "circle"), ("0.05", "diamond"))  # false-positive rates with a sign each

SHOWN_GROUPS = 8


def meaning_chart(meaning: Meaning) -> alt.HConcatChart:
    """Two panels under a title; the left one shows groups if delta > 0, when beliefs have no limit."""
    left = _beliefs(meaning) if meaning.examples else _groups(meaning)
    title = f"What {price(meaning.epsilon, meaning.delta)} says about one person"
    said = f"The price is that of everything released, for {meaning.neighbors} neighbors"
    if meaning.effective_epsilon != meaning.epsilon:
        said += f"; another value counts as {price(meaning.effective_epsilon, meaning.effective_delta)}"
    subtitle = [f"The question: {QUESTIONS[meaning.about, meaning.neighbors]}", said + "."]
    heading = alt.TitleParams(text=title, subtitle=subtitle, anchor="start", offset=18)
    return alt.HConcatChart(
        hconcat=[left, _roc(meaning)], title=heading, spacing=32, background=PAPER, config=house_style()
    )


def _beliefs(meaning: Meaning) -> alt.LayerChart:
    x = alt.X("prior:Q", title="belief before").axis(_share_axis(grid=False)).scale(domain=[0, 1])
    y = (
        alt.Y("high:Q", title="belief after seeing everything released")
        .axis(_share_axis(grid=True))
        .scale(domain=[0, 1])
    )
    band = data(_belief_curve(meaning.effective_epsilon)).encode(x=x, y=y, y2="low:Q")
    layers = [band.mark_area(color=HEALTHY, opacity=0.45), diagonal("prior", "high", x, y)]
    keys = [KeyLine("possible beliefs", "square", HEALTHY, 0.45), KeyLine("nothing learned", "dashes")]
    belief = meaning.posterior
    if belief is not None:
        low, high = share_at_least(belief.low), share_at_most(belief.high)
        spoken = f"{share_at_most(belief.prior)} before: {low} to {high} after"
        row = {"prior": float(belief.prior), "low": float(belief.low), "high": float(belief.high), "spoken": spoken}
        mark = data([row]).encode(x=x, description="spoken:N")
        layers += [
            mark.mark_rule(color=ILL, strokeWidth=4).encode(y=y, y2="low:Q"),
            *(mark.mark_point(**sign("circle")).encode(y=alt.Y(f"{end}:Q")) for end in ("low", "high")),
        ]
        keys.append(KeyLine(spoken, "circle"))
    finding = [
        "Whatever comes out, a belief stays inside the band,",
        "for somebody who knows everybody else in the table",
    ]
    return _panel(
        "What somebody can come to believe",
        finding,
        [*layers, *key(keys, WIDTH - (140 if belief is None else 245), HEIGHT)],
    )


def _groups(meaning: Meaning) -> alt.LayerChart:
    """The most accurate guess about a group, for one person and for every group asked for."""
    one = [(1, best_guess(meaning.effective_epsilon, meaning.effective_delta))]
    sizes = sorted({*one, *((group.people, group.best_guess) for group in meaning.groups)})
    rows = [
        {
            "people": number_of_people(people),
            "guess": float(guess),
            "words": share_at_most(guess),
            "left": 0.5,
        }
        for people, guess in sizes[:SHOWN_GROUPS]
    ]
    y = alt.Y("people:N", title=None, sort=None).axis(ticks=False, domain=False, labelPadding=8)
    x = alt.X("guess:Q", title="guesses that are right, at most (blind guess: 50 %)")
    x = x.axis(values=[0.5, 0.6, 0.7, 0.8, 0.9, 1], format=".0%", domain=False).scale(domain=[0.5, 1.14], nice=False)
    bars = data(rows).encode(x=x, y=y, description="words:N")
    layers = [
        bars.mark_bar(color=HEALTHY, size=26).encode(x2="left:Q"),
        bars.mark_text(**WORDS, align="left", dx=6).encode(text="words:N"),
    ]
    finding = [
        "The most accurate guess about all of a group, at 50:50.",
        "With delta above 0 a belief itself has no limit",
    ]
    return _panel("Groups are protected less", finding, layers, offset=10)  # level with the other panel's


def _roc(meaning: Meaning) -> alt.LayerChart:
    x = alt.X("false:Q", title="false alarms (false-positive rate)").axis(_share_axis(grid=False)).scale(domain=[0, 1])
    y = alt.Y("true:Q", title="true alarms (true-positive rate)").axis(_share_axis(grid=True)).scale(domain=[0, 1])
    epsilon, delta = meaning.effective_epsilon, meaning.effective_delta
    curve = data(_corners(epsilon, delta)).encode(x=x, y=y)
    layers = [
        curve.mark_area(color=INK, opacity=0.16).encode(y2=alt.datum(1)),
        diagonal("false", "true", x, y),
        curve.mark_line(color=INK, strokeWidth=2.5),
    ]
    keys = [KeyLine("out of reach of every attack", "square", INK, 0.16), KeyLine("blind guessing", "dashes")]
    for rate, shape in MARKED:
        best = best_true_positive_rate(Fraction(rate), epsilon, delta)
        spoken = f"{share_at_most(Fraction(rate))} false alarms: at most {share_at_most(best)} true"
        mark = data([{"false": float(rate), "true": float(best), "spoken": spoken}])
        layers.append(mark.mark_point(**sign(shape)).encode(x=x, y=y, description="spoken:N"))
        keys.append(KeyLine(spoken, shape))
    finding = [
        f"A guess at 50:50 is right at most {share_at_most(meaning.best_guess)} of the time;",
        "every attack stays on or below the line",
    ]
    return _panel("How well anybody can tell", finding, [*layers, *key(keys, WIDTH - 290, HEIGHT)])


def _belief_curve(epsilon: Fraction) -> Rows:
    inside = [posterior(Fraction(step, STEPS), epsilon) for step in range(1, STEPS)]
    rows = [{"prior": float(belief.prior), "low": float(belief.low), "high": float(belief.high)} for belief in inside]
    return [{"prior": 0.0, "low": 0.0, "high": 0.0}, *rows, {"prior": 1.0, "low": 1.0, "high": 1.0}]


def _corners(epsilon: Fraction, delta: Fraction) -> Rows:
    """The curve is made of straight lines: corners at 0, where the two bounds meet, and where 100 % is reached."""
    meeting = (1 - delta) * (1 - best_guess(epsilon, Fraction(0)))  # (1 - delta) / (1 + e^epsilon)
    rates = (Fraction(0), meeting, 1 - delta, Fraction(1))
    return [{"false": float(rate), "true": float(best_true_positive_rate(rate, epsilon, delta))} for rate in rates]


def _panel(title: str, finding: Sequence[str], layers: Sequence[alt.Chart], offset: int = 4) -> alt.LayerChart:
    heading = alt.TitleParams(text=title, subtitle=list(finding), anchor="start", frame="group", offset=offset)
    return alt.LayerChart(layer=list(layers), title=heading, width=WIDTH, height=HEIGHT)


def _share_axis(*, grid: bool) -> alt.Axis:
    return alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".0%", grid=grid)
