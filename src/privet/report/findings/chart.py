"""Pictures of what an attack found: the people, one mark each, and how well its guesses do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privet.report.meaning.text import number_of_people
from privet.report.page import Figure
from privet.report.terminal import percent

if TYPE_CHECKING:
    from privet.attacks.finding import Score, ShownTable
    from privet.stats.intervals import Interval

MOST_MARKS = 400
MOST_PERSONS = 60  # drawn with head and shoulders; more of them are squares
WIDTH, ENLARGED = 680, 1.24  # units of the picture, and pixels a unit where there is room
PERSON = (
    "M{x} {y}m12 1a5.2 5.2 0 1 1 0 10.4a5.2 5.2 0 1 1 0-10.4z"
    "M{x} {y}m2.2 27v-5.2a7.6 7.6 0 0 1 7.6-7.6h4.4a7.6 7.6 0 0 1 7.6 7.6v5.2z"
)
SQUARE = "M{x} {y}m1.5 1.5h11v11h-11z"
CHART_WIDTH, ROW = 270, 34
GUESSES = ("with the release", "without it", "people not in it")


def people_figure(people: int | None, certain: int, word: str = "certain", other: str = "") -> Figure | None:
    """Filled: certain, or what the word says. Hollow: what the other word says, or not. None if there is nobody to
    draw, or no number to draw."""
    other = other or f"not {word}"
    total = certain if people is None else max(people, certain)
    if not total:
        return None
    each = _people_a_mark(total)
    marks = -(-total // each)
    full = _full_marks(marks, total, certain)
    shape = "figure" if marks <= MOST_PERSONS else "square"
    caption = f"One {shape} is {'one person' if each == 1 else f'{number_of_people(each)}, rounded'}."
    rest = total - certain
    if people is None:
        caption += " How many people there are besides is not known."
    key: list[tuple[Any, str]] = [("full", f"{word}: {number_of_people(certain)}")]
    if rest:
        key.append(("hollow", f"{other}: {number_of_people(rest)}"))
    others = "" if people is None else f", {number_of_people(rest)} {other}"
    alt = f"{number_of_people(certain)} {word}{others}"
    return Figure(people_svg(marks, full), alt, caption, on_paper=False, key=tuple(key))


def people_svg(marks: int, full: int) -> str:
    """So many marks in rows, the first ones filled, with the colors of the page."""
    path, wide, high = (PERSON, 34, 38) if marks <= MOST_PERSONS else (SQUARE, 17, 17)
    across = min(marks, WIDTH // wide)
    down = -(-marks // across)
    places = [(number % across * wide + wide // 14, number // across * high + 1) for number in range(marks)]
    groups = ("full", places[:full]), ("hollow", places[full:])
    drawn = "".join(
        f'<path class="{name}" stroke-width="1.6" d="{"".join(path.format(x=x, y=y) for x, y in some)}"/>'
        for name, some in groups
        if some
    )
    width, height = across * wide, down * high
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * ENLARGED:.0f}" height="{height * ENLARGED:.0f}"'
        f' viewBox="0 0 {width} {height}" aria-hidden="true">{drawn}</svg>'
    )


def score_figure(score: Score) -> Figure:
    from privet.report.charts import svg  # noqa: PLC0415  brings Altair

    rows = _guesses(score)
    alt = "; ".join(f"{name}: {percent(part.value)}, {interval_words(part)}" for name, part in rows)
    caption = "Share of people for whom the best guess is right. Thin lines are 95 % intervals."
    return Figure(svg(score_chart(score)), f"best guess right, {alt}", caption)


def bars_figure(table: ShownTable) -> Figure:
    """One bar a row: the first column names it, the last one is its length, to the left if it is below 0."""
    from privet.report.charts import svg  # noqa: PLC0415  brings Altair

    alt = "; ".join(f"{row[0]}: {row[-1]}" for row in table.rows)
    return Figure(svg(bars_chart(table)), f"{table.columns[-1]} by {table.columns[0]}, {alt}", table.title)


def bars_chart(table: ShownTable) -> Any:
    import altair as alt  # noqa: PLC0415  only a page needs it

    from privet.report.charts import HEALTHY, ILL, PAPER, house_style  # noqa: PLC0415

    rows = [{"name": row[0], "size": int(row[-1].replace(",", "")), "words": row[-1]} for row in table.rows]
    names = alt.Y("name:N", sort=None, title=None).axis(grid=False, labelLimit=260)
    sizes = alt.X("size:Q", title=table.columns[-1]).axis(format=",d", tickMinStep=1)
    bars = alt.Chart(alt.InlineData(values=rows)).mark_bar(size=16, color=HEALTHY)
    sides = alt.condition(alt.datum.size < 0, alt.value(ILL), alt.value(HEALTHY))
    return bars.encode(y=names, x=sizes, color=sides, description="words:N").properties(
        width=CHART_WIDTH, height=alt.Step(24), background=PAPER, config=house_style()
    )


def interval_words(interval: Interval) -> str:
    return f"between {percent(interval.low)} and {percent(interval.high)}"


def score_chart(score: Score) -> Any:
    """One bar a guess, from 0 to 100 %, with its interval."""
    import altair as alt  # noqa: PLC0415  only who has the truth needs it

    from privet.report.charts import HEALTHY, ILL, INK, PAPER, house_style  # noqa: PLC0415

    rows = [
        {"who": name, "value": part.value, "low": part.low, "high": part.high, "words": percent(part.value)}
        for name, part in _guesses(score)
    ]
    axis = alt.Axis(format=".0%", values=[0, 0.25, 0.5, 0.75, 1], title=None)
    scale = alt.Scale(domain=[0, 1])
    colors = alt.Color("who:N", legend=None).scale(domain=list(GUESSES), range=[ILL, HEALTHY, "#999999"])
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("who:N", sort=list(GUESSES), title=None).axis(grid=False, labelLimit=260),
        description="words:N",
    )
    bars = base.mark_bar(size=18).encode(x=alt.X("value:Q", axis=axis, scale=scale), color=colors)
    lines = base.mark_errorbar(ticks=alt.MarkConfig(size=9), color=INK, thickness=1.5).encode(
        x=alt.X("low:Q", axis=axis, scale=scale), x2=alt.X2("high:Q")
    )
    return alt.LayerChart(
        layer=[bars, lines], width=CHART_WIDTH, height=alt.Step(ROW), background=PAPER, config=house_style()
    )


def _guesses(score: Score) -> list[tuple[str, Interval]]:
    parts = (score.success, score.baseline, score.control)
    return [(name, part) for name, part in zip(GUESSES, parts, strict=True) if part is not None]


def _people_a_mark(total: int) -> int:
    """1, 2, 5, 10, 20, ...: the smallest that keeps the picture small."""
    each, turn = 1, 0
    while -(-total // each) > MOST_MARKS:
        turn += 1
        each = (1, 2, 5)[turn % 3] * 10 ** (turn // 3)
    return each


def _full_marks(marks: int, total: int, certain: int) -> int:
    """Rounded, but one certain person is never rounded away, nor is one who is not certain."""
    if certain in (0, total):
        return marks if certain else 0
    return min(max(round(marks * certain / total), 1), marks - 1)
