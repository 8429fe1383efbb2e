"""Sentences and rows that the page and the terminal share about ways to ship records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privet.report.answer.text import TextColumn, table_lines
from privet.report.terminal import Pen, percent, seconds_words, wrapped

if TYPE_CHECKING:
    from privet.compare.measured import Comparison, Measured
    from privet.stats.intervals import Interval

COLUMNS = (
    "plan", "guarantee", "NCP", "suppressed", "error of tables", "alone", "certain", "certain by two", "guess right",
    "not in the data", "gain",
)  # fmt: skip
ONLY = (
    "Only the noisy tables have a guarantee. For any attacker, with any knowledge: whether one person is in the data"
    " changes the chance of any tables by a factor of e^epsilon at most. It does not say that nothing can be guessed."
    " What the other plans lost to these attacks was measured, and an attack that was not tried may get more."
)
MEANING = (
    "NCP: how much of the detail of the quasi-identifiers is lost, from 0 to 1.",
    "Error of tables: the share of people in a wrong cell, on average over all two-way tables.",
    "Alone: nobody else has the same values in the release; anyone who knows these values finds the record.",
    "Certain: all records that may be a person's have the same value, so the value is known for sure.",
    "Certain by two: only one value is left in this release and in a second one of overlapping people.",
    "Of the noisy tables these two are 0 by the definition of differential privacy, not by a measurement: no value is"
    " ever ruled out. A person in two releases has the sum of their epsilons. The guarantee takes the list of values of"
    " each column as public.",
    "Guess right: the best guess from the release, for people who are in it; gain: less the same for people who are not"
    " in the data, whom no release can have harmed.",
)


def headline(found: Comparison) -> str:
    """The plan that gives away the least of those that ship records, and the tables beside it."""
    shipped = [way for way in found.ways if way.guarantee == "none" and way.together is not None]
    noisy = [way for way in found.ways if way.guarantee != "none" and way.error is not None]
    if not shipped:
        return "No plan that ships records could be carried out"
    least = min(shipped, key=lambda way: (worst(way), way.error or 0.0))
    who = f"{percent(worst(least))} of people are" if worst(least) else "Nobody is"
    first = f"{who} certain with {least.name}, whose tables are wrong by {_share(least.error)}"
    return f"{first}; {noisy[0].name} by {_share(noisy[0].error)}" if noisy else first


def worst(way: Measured) -> float:
    """The larger share of people who are certain, by one release or by two."""
    return max((one.value for one in (way.certain, way.together) if one is not None), default=0.0)


def row(way: Measured) -> tuple[str, ...]:
    if way.problem:
        return (way.name, way.guarantee, *["-"] * (len(COLUMNS) - 2))
    return (
        way.name, way.guarantee, "-" if way.ncp is None else f"{way.ncp:.3f}", _share(way.suppressed),
        _share(way.error), _share(way.alone), _interval(way.certain), _interval(way.together), _interval(way.success),
        _interval(way.control), _points(way.advantage),
    )  # fmt: skip


def problems(found: Comparison) -> list[str]:
    return [f"{way.name}: {way.problem}" for way in found.ways if way.problem]


def setting(found: Comparison) -> str:
    return (
        f"{found.records:,} records were shipped in each way, and the other half held out. Quasi-identifiers:"
        f" {', '.join(found.quasi)}. Sensitive: {found.sensitive}; guessing the most frequent value"
        f" for everybody is right for {percent(found.baseline.value)}."
    )


def text_of(found: Comparison, pen: Pen) -> str:
    rows = [row(way) for way in found.ways]
    columns = [
        TextColumn(name=name, cells=[cells[place].split(" (")[0] for cells in rows])
        for place, name in enumerate(COLUMNS)
    ]  # fmt: skip
    half = len(COLUMNS) // 2 + 1
    blocks = [
        [pen.head(line) for line in wrapped(headline(found))] + wrapped(setting(found)),
        ["   " + line for line in table_lines(columns[:half], pen)],
        ["   " + line for line in table_lines([columns[0], *columns[half:]], pen)],
        [line for text in (*problems(found), *MEANING) for line in wrapped(text, "   - ", "     ")],
        wrapped(ONLY),
        [f"It took {seconds_words(found.seconds)}."],
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks)


def _share(value: float | None) -> str:
    return "-" if value is None else percent(value)


def _interval(value: Interval | None) -> str:
    return "-" if value is None else f"{percent(value.value)} ({percent(value.low)} to {percent(value.high)})"


def _points(value: Interval | None) -> str:
    return "-" if value is None else f"{value.value * 100:+.1f} ({value.low * 100:+.1f} to {value.high * 100:+.1f})"
