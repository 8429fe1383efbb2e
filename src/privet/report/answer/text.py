"""An answer as people read it: a table for a terminal, and the same facts as HTML for a notebook."""

from __future__ import annotations

import datetime as dt
import html as markup
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, assert_never

from privet.core.expression import Value
from privet.core.families import off_by
from privet.core.laws import Choice, DiscreteLaplace
from privet.core.loss import Amount, Loss
from privet.core.plan import Function
from privet.estimates.choosing import affected
from privet.estimates.estimate import SINGLE, Line, Row, plain
from privet.estimates.moments import Estimate
from privet.estimates.publication import printed
from privet.estimates.ranked import is_unknown
from privet.estimates.top import Best, best_of
from privet.report.terminal import Pen, ceiling, decimals_for, fixed, one_line, step_decimals, terminal_width

if TYPE_CHECKING:
    from privet.answer import Answer

MISSING = "(missing)"
EVERY = "(all)"  # of a key that is rolled up
NO_VALUE = "-"  # of what is divided by 0
UNKNOWN = "unknown"  # of what may be any value of its range
UNKNOWN_MEANS = (
    "Unknown: the released numbers fit any value of the range, or MIN came out above MAX. Ask about larger groups."
)
NOT_SHOWN = "The 95 % count cells as right that have no value or no interval. If many have none, fewer others hold."
SHARE = Fraction(95, 100)
SHOWN_DIGEST = 16  # hex digits of a receipt; the JSON has all 64
PLAIN = Pen(color=False)
EVEN = (*SINGLE, Function.QUANTILE, Function.MIN, Function.MAX)  # values lie on the grid of their measure
ABOUT = (
    "With probability 95 % the exact value lies within the ± or [low to high] beside it, each by itself.",
    "Exact means after the owner's limits: rows beyond them are dropped, values outside a range are moved to its end.",
)
STYLE = """\
.privet-answer table{border-collapse:collapse;margin:.3em 0}
.privet-answer th,.privet-answer td{padding:.15em .7em;text-align:left;border-bottom:1px solid rgba(128,128,128,.4)}
.privet-answer .value{text-align:right;padding-right:.2em;font-variant-numeric:tabular-nums}
.privet-answer .interval{padding-left:.2em;opacity:.75;white-space:nowrap}
.privet-answer .warning{font-weight:bold;border-left:.4em solid #d62728;padding-left:.6em}
.privet-answer p{margin:.2em 0;max-width:60em}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn:
    """One column of the answer as text. Keys have no intervals."""

    name: str
    cells: list[str]
    intervals: list[str] | None = None


def text(answer: Answer, pen: Pen = PLAIN) -> str:
    """All rows, whatever their number; warnings come first."""
    shown = columns(answer)
    lines = [pen.bad(f"!! {warning}") for warning in answer.warnings]
    lines += [*([""] if lines else []), *table_lines(shown, pen), ""]
    return "\n".join([*lines, *_notes(answer, shown)])


def html(answer: Answer) -> str:
    """Colors are the notebook's own, so it can be read on light and dark ground. Nothing is fetched."""
    shown = columns(answer)
    warnings = [f'<p class="warning">{markup.escape(warning)}</p>' for warning in answer.warnings]
    head = "".join(f"<th{' colspan=2' if c.intervals is not None else ''}>{markup.escape(c.name)}</th>" for c in shown)
    rows = [f"<tr>{''.join(_html_cell(c, row) for c in shown)}</tr>" for row in range(len(shown[0].cells))]
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    about = [f"<p>{markup.escape(note)}</p>" for note in _notes(answer, shown)]
    inside = "".join([f"<style>{STYLE}</style>", *warnings, table, *about])
    return f'<div class="privet-answer">{inside}</div>'


def _notes(answer: Answer, shown: Sequence[TextColumn]) -> list[str]:
    """What to know besides the numbers."""
    again = ["Answered again from the ledger, free of charge."] if answer.replayed else []
    digest = answer.receipt.digest[:SHOWN_DIGEST]
    return [
        *([] if shown[0].cells else [_none_left(answer)]),
        *ABOUT,
        *([f"Limits   {'; '.join(answer.limits)}"] if answer.limits else []),
        *_fitted(answer),
        *chosen_words(answer),
        *_printed(answer),
        *_ranked(answer),
        *_dropped(answer),
        f"Price    {price_words(answer.cost)}" + (", paid when it was first answered" if again else ""),
        f"Receipt  entry {answer.receipt.entry}, digest {digest}...",
        *again,
    ]


def _fitted(answer: Answer) -> list[str]:
    """Of a question that chose its limits: what came out, and what that leaves out."""
    fitted = answer.fitted
    if fitted is None:
        return [f"Chosen   nothing, so the limits are as declared: {answer.kept}."] if answer.kept else []
    at = f"from a noisy histogram for epsilon {ceiling(fitted.epsilon, 6)} of the price"
    if fitted.limit == fitted.declared:
        return [f"Chosen   the declared limits, {at}"]
    most = f"At most {ceiling(100 * fitted.dropped, 1)} % of the {fitted.what}s of all people"
    return [
        f"Chosen   at most {fitted.limit:,} instead of {fitted.declared:,} {fitted.what}s per person in all, {at}.",
        f"         {most} are beyond this limit and left out (with probability 95 %).",
        "         No interval accounts for what is left out.",
    ]


def _none_left(answer: Answer) -> str:
    if answer.priced.cells.private and not answer.priced.cells.count:
        return "No group has enough people to be shown."
    return "No row is left after HAVING and LIMIT."


def chosen_words(answer: Answer) -> list[str]:
    """What the choice of rows by noisy numbers did to the intervals."""
    best = best_of(answer.priced, SHARE)
    if best is not None:
        return _best(answer, best)
    found = affected(answer.priced, answer.selection)
    together, given, none = (", ".join(map(one_line, names)) for names in (found.together, found.given, found.none))
    rows = answer.selection.rows
    wider = f"The intervals of {together} are wider for that reason: those of all {rows:,} rows hold at once."
    further = f"The intervals of {given} allow for that: near the limit they reach further down."
    return [
        *([f"LIMIT chose rows by noisy numbers. {wider}"] if together and rows > 1 else []),
        *([f"HAVING chose rows by noisy numbers. {further}"] if given else []),
        *([f"There are no intervals for {none}: HAVING or LIMIT chose rows by the same noise."] if none else []),
    ]


def _best(answer: Answer, best: Best) -> list[str]:
    """Which groups there are was bought by itself, and other rows of a person may have counted for that."""
    name, decimals = one_line(best.by), step_decimals(answer.priced.parts[-1].measure.step)
    limits = "" if answer.choice_limits == answer.limits else f", counting {' and '.join(answer.choice_limits)}"
    return [
        f"{best.groups:,} of {best.among:,} groups {'was' if best.groups == 1 else 'were'} chosen privately by {name},"
        " then measured: each interval holds by itself.",
        f"With probability 95 % no group that is left out exceeds one that is shown by more than"
        f" {fixed(best.left_out, decimals)} in {name}{limits}.",
    ]


def _printed(answer: Answer) -> list[str]:
    """What was done to the numbers since their release."""
    wished = answer.publication
    done = [
        *(["never below 0"] if wished.nonnegative else []),
        *(["whole steps"] if wished.whole else []),
        *(["parts that add up to their totals"] if wished.additive else []),
    ]
    return [f"Made fit to print from the released numbers alone: {', '.join(done)}."] if done else []


def _ranked(answer: Answer) -> list[str]:
    """Quantiles, MIN and MAX are chosen by rank: how far off that is, and what is not known."""
    unknown = dict.fromkeys(name for row in answer.leveled() for name, item in row.line.items() if is_unknown(item))
    lines = [UNKNOWN_MEANS] if unknown else []
    lines += [NOT_SHOWN] if unknown or _some_without(answer) else []
    for recipe in answer.priced.recipes:
        part = answer.priced.parts[recipe.measures[0]]
        if isinstance(part.law, Choice) and recipe.aggregate.name in answer.columns:
            name = one_line(recipe.aggregate.name)
            if not answer.selection.tested.isdisjoint(recipe.measures):
                lines.append(f"{name}: HAVING chose rows by it, so the error of its rank is not known.")
                continue
            rows = off_by(part.measure, part.law, answer.selection.share(recipe.measures, SHARE))
            inside = (
                "" if part.measure.quantile is not None else f"; it aims {rows:,} rows inside, at nobody's own value"
            )
            lines.append(f"{name}: off by at most {rows:,} rows in rank with probability 95 %{inside}.")
    return lines


def _some_without(answer: Answer) -> bool:
    """Whether a column has an interval in some rows only: the noise decided in which."""
    found = [[line[name] for line in answer.lines()] for name in answer.numbers]
    given = [{isinstance(item, Estimate) and item.low is not None for item in items} for items in found]
    return any(len(one) > 1 for one in given)


def _dropped(answer: Answer) -> list[str]:
    """What bounding leaves out, as far as it is public."""
    read = answer.priced
    lines = []
    if read.cells.private:
        keys = answer.priced.parts[-1]
        kind = "Laplace" if isinstance(keys.law, DiscreteLaplace) else "Gaussian"
        rest = f"; the others are in the row {key_text(read.plan.other)}" if read.cells.rest else ""
        lines.append(
            f"Groups are shown if they have about {keys.threshold:,} people or more, counted with {kind} noise{rest}."
        )
    if answer.dropped is not None:
        lines.append(
            f"About {ceiling(100 * answer.dropped, 1)} % of the groups of units are beyond max_groups ="
            f" {read.bounds.groups:,} and left out, as released before: counts and sums are about this share too low."
        )
    return lines


def price_words(loss: Loss) -> str:
    """Both gauges, rounded up."""
    return (
        f"{_amount('epsilon', loss.epsilon, loss.delta)} on the basic gauge;"
        f" {_amount('rho', loss.rho, loss.rho_delta)} on the zCDP gauge"
    )


def _amount(name: str, amount: Amount, delta: Fraction) -> str:
    if amount is None:
        return f"no {name} price"
    return f"{name} {ceiling(amount, 6)}" + (f" with delta {ceiling(delta)}" if delta else "")


def columns(answer: Answer) -> list[TextColumn]:
    """Every output as text, row by row."""
    rows = answer.leveled()
    lines = [row.line for row in rows]
    steps = {
        recipe.aggregate.name: printed(recipe, answer.priced.parts[recipe.measures[0]].measure).step
        for recipe in answer.priced.recipes
        if recipe.aggregate.function in EVEN
    }
    return [
        _value_column(name, lines, steps.get(name)) if name in answer.numbers else _key_column(name, rows)
        for name in answer.columns
    ]


def key_text(value: Value) -> str:
    """A key on one line. A text that could be mistaken for something else stands in quotes."""
    match value:
        case None:
            return MISSING
        case bool():
            return "true" if value else "false"
        case Fraction():
            return str(value.numerator) if value.denominator == 1 else f"{float(value):.12g}"
        case dt.datetime():
            return value.isoformat(sep=" ")
        case dt.date():
            return value.isoformat()
        case str():
            shown = one_line(value)
            return f'"{shown}"' if shown.strip() != shown or shown in ("", MISSING, EVERY) else shown
        case _:
            assert_never(value)


def group_text(row: Row, key: str) -> str:
    """A key of a row; one that is rolled up has every value."""
    return key_text(plain(row.line[key])) if key in row.level else EVERY


def _key_column(name: str, rows: Sequence[Row]) -> TextColumn:
    return TextColumn(name=one_line(name), cells=[group_text(row, name) for row in rows])


def _value_column(name: str, lines: Sequence[Line], step: Fraction | None) -> TextColumn:
    """`step` is that of a count, a sum or a quantile; an average has none."""
    items = [line[name] for line in lines]
    found = [item for item in items if isinstance(item, Estimate)]
    ends = [(item.low, item.high) for item in found if item.low is not None and item.high is not None]
    widths = [decimals_for(high - low) for low, high in ends if high > low]
    decimals = min([max(widths, default=6), *([] if step is None else [step_decimals(step)])])
    cells = [_cell(item, decimals) if isinstance(item, Estimate) else NO_VALUE for item in items]
    around = [_around(item, decimals, step) if isinstance(item, Estimate) else "" for item in items]
    return TextColumn(name=one_line(name), cells=cells, intervals=around)


def _cell(item: Estimate, decimals: int) -> str:
    return fixed(item.value, decimals) if item.known else UNKNOWN


def _around(item: Estimate, decimals: int, step: Fraction | None) -> str:
    """Counts and sums lie in the middle of their intervals; averages and what is shown by its number need not."""
    if item.low is None or item.high is None:
        return ""
    even = step is not None and item.high - item.value == item.value - item.low
    return _plus_minus(item.value, item.high, decimals) if even else _brackets(item.low, item.high, decimals)


def _plus_minus(value: Fraction, high: Fraction, decimals: int) -> str:
    """Rounded up, and wider by what rounding moved the value."""
    moved = abs(value - Fraction(round(value * 10**decimals), 10**decimals))
    return f"± {fixed(high - value + moved, decimals, math.ceil)}"


def _brackets(low: Fraction, high: Fraction, decimals: int) -> str:
    return f"[{fixed(low, decimals, math.floor)} to {fixed(high, decimals, math.ceil)}]"


def table_lines(shown: Sequence[TextColumn], pen: Pen = PLAIN) -> list[str]:
    """Aligned columns, headings first."""
    blocks = [_block(column) for column in shown]
    head, *rows = ["  ".join(cells).rstrip() for cells in zip(*blocks, strict=True)]
    return [pen.head(head), *rows]


def _block(column: TextColumn) -> list[str]:
    """The lines of one column, heading first, all equally wide."""
    if column.intervals is None:
        width = max(map(terminal_width, [column.name, *column.cells]))
        return [_padded(cell, width) for cell in [column.name, *column.cells]]
    value, interval = (max(map(terminal_width, ["", *texts])) for texts in (column.cells, column.intervals))
    value = max(value, terminal_width(column.name))
    rows = zip(column.cells, column.intervals, strict=True)
    lines = [_padded(column.name, value, right=True), *(f"{cell:>{value}} {around}" for cell, around in rows)]
    return [_padded(line, value + 1 + interval) for line in lines]


def _padded(line: str, width: int, *, right: bool = False) -> str:
    spaces = " " * (width - terminal_width(line))
    return spaces + line if right else line + spaces


def _html_cell(column: TextColumn, row: int) -> str:
    cell = markup.escape(column.cells[row])
    if column.intervals is None:
        return f"<td>{cell}</td>"
    return f'<td class="value">{cell}</td><td class="interval">{markup.escape(column.intervals[row])}</td>'
