"""What an attack found, for a terminal: at most 100 columns, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from privet.report.answer.text import TextColumn, table_lines
from privet.report.findings.words import (
    MEANING,
    NOT_STATED,
    by_section,
    lead,
    more,
    score_sentences,
    sureness,
    title,
    took,
    used,
)
from privet.report.meaning.text import number_of_people
from privet.report.page import is_number
from privet.report.terminal import WIDTH, Pen, one_line, terminal_width, wrapped

if TYPE_CHECKING:
    from privet.attacks import finding as f

MARGIN = "   "
MOST_RECORDS = 10
MOST_CELLS = 12
MOST_ROWS = 30


def page(findings: f.Findings, pen: Pen) -> str:
    """The same order as on the HTML page."""
    mark = pen.bad if (findings.alarm == "bad" if findings.alarm else findings.known) else pen.head
    parts = [
        [*map(mark, wrapped(findings.headline)), *wrapped(title(findings)), *wrapped(lead(findings))],
        *(_picture(picture, pen) for picture in findings.pictures),
        *(_records(heading, found, pen) for heading, found in by_section(findings)),
        *(_table(table, pen) for table in findings.tables),
        *([] if findings.score is None else [_block("Compared with the truth", score_sentences(findings.score), pen)]),
        _block("What was assumed", _items(findings.assumptions), pen),
        _block("What was not tried", _items(findings.not_tried), pen),
        *(
            [_block("How it is known", (MEANING[kind.name] for kind in used(findings)), pen)]
            if findings.findings
            else []
        ),
        [took(findings)],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts)


def _block(heading: str, items: Iterable[str], pen: Pen) -> list[str]:
    return [pen.head(heading), *(line for item in items for line in wrapped(item, f"{MARGIN}- ", f"{MARGIN}  "))]


def _items(items: Sequence[str]) -> Sequence[str]:
    return items or (NOT_STATED,)


def _records(heading: str, found: Sequence[f.Finding], pen: Pen) -> list[str]:
    shown = found[:MOST_RECORDS]
    digits = len(str(len(shown)))
    blocks = [line for number, finding in enumerate(shown, 1) for line in _record(f"{number:>{digits}}", finding)]
    left = more(len(found) - len(shown), "findings")
    return [pen.head(heading), *blocks, *([f"{MARGIN}{left}"] if left else [])]


def _record(number: str, finding: f.Finding) -> list[str]:
    """The claim, then what is known, how sure that is and why, each with its name before it."""
    indent = " " * (len(MARGIN) + len(number) + 2)
    left = more(len(finding.evidence) - MOST_CELLS, "")
    people = "" if finding.people == 1 else f", {number_of_people(finding.people)}"
    record = ", ".join(f"{name} {value}" for name, value in finding.record.items())
    facts = {
        "record": "" if record in finding.claim else record,
        "sure": sureness(finding) + people,
        "from": "; ".join([*finding.evidence[:MOST_CELLS], *([left.strip()] if left else [])]),
        "because": "" if finding.reasoning in finding.claim else finding.reasoning,
    }
    claim = wrapped(finding.claim, f"{MARGIN}{number}  ", indent)
    lines = [wrapped(text, f"{indent}{name:<7}  ", f"{indent}{'':<7}  ") for name, text in facts.items() if text]
    return [*claim, *(line for some in lines for line in some)]


def _picture(picture: f.Picture, pen: Pen) -> list[str]:
    """What a terminal can show of it: its words."""
    return [*map(pen.head, wrapped(picture.title)), *wrapped(picture.text or picture.alt, MARGIN, MARGIN)]


def _table(table: f.ShownTable, pen: Pen) -> list[str]:
    heading = [pen.head(line) for line in wrapped(table.title)]
    text = wrapped(table.text, MARGIN, MARGIN) if table.text else []
    if not table.columns:
        return [*heading, *text]
    left = more(len(table.rows) - MOST_ROWS, "rows")
    return [*heading, *text, *_rows(table.columns, table.rows[:MOST_ROWS], pen), *([f"{MARGIN}{left}"] if left else [])]


def _rows(columns: Sequence[str], rows: Sequence[Sequence[str]], pen: Pen) -> list[str]:
    """Aligned if that fits; otherwise every row as a block of lines, each with the name of its column."""
    shown = [_column(name, [row[place] for row in rows]) for place, name in enumerate(columns)]
    if all(terminal_width(line) <= WIDTH - len(MARGIN) for line in table_lines(shown)):
        return [f"{MARGIN}{line}" for line in table_lines(shown, pen)]
    return [
        line
        for row in rows
        for place, (name, cell) in enumerate(zip(columns, row, strict=True))
        for line in wrapped(f"{name}: {cell}", f"{MARGIN}- " if place == 0 else f"{MARGIN}  ", f"{MARGIN}    ")
    ]


def _column(name: str, cells: Sequence[str]) -> TextColumn:
    """Numbers end below each other."""
    name, texts = one_line(name), [one_line(cell) for cell in cells]
    room = max(map(terminal_width, [name, *texts])) if all(map(is_number, texts)) else 0
    return TextColumn(name=name, cells=[text.rjust(room) for text in texts])
