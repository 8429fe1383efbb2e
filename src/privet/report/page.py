"""A report: a headline about people, then sections. One HTML file that fetches nothing and runs nothing."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from privet import __version__
from privet.errors import InvalidInputError
from privet.output import MARKS, write_text
from privet.report.page_style import STYLE
from privet.report.terminal import one_line

Verdict = Literal["bad", "good", "neutral"]
NUMBER = re.compile(r"[-+−±]?[\d.,\s]*\d\s?%?")
SHORT = 18  # letters: a column of such cells is not broken into lines
WHOLE = 12  # rows: a table with no more of them is not spread over two sheets of paper
MANY = 7  # columns; a table with more of them may break words on paper, where it cannot be scrolled


@dataclass(frozen=True, slots=True)
class Noted:
    """A cell with small lines below it."""

    text: str
    notes: tuple[str, ...]


Cell = str | Noted | tuple[str, ...]  # a tuple is shown as tags, such as the names of published cells


@dataclass(frozen=True, slots=True)
class PageText:
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class List:
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageTable:
    """The first cell of a row names it. A `stacked` table has long texts: on a phone each row is shown as a block."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    stacked: bool = False


Mark = Literal["full", "hollow", "dot", "gray", "dashes", "line"]


@dataclass(frozen=True, slots=True)
class Sample:
    """A small picture of a line or a sign, for a key: an <svg> element made by our own code."""

    svg: str


Key = tuple[tuple[Mark | Sample, str], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with what it shows in words (`alt`) for who cannot see it.

    `svg` is the one thing that is not escaped: it is made by our own code, which escapes what it puts in. A picture
    drawn for white paper keeps a white card in the dark; one drawn with the colors of the page does without. `key`
    explains marks, and what they stand for.
    """

    svg: str
    alt: str
    caption: str = ""
    on_paper: bool = True
    key: Key = ()


@dataclass(frozen=True, slots=True)
class Beside:
    """Figures next to each other where there is room, and below each other where there is none. One key for all."""

    figures: tuple[Figure, ...]
    key: Key = ()


Part = PageText | List | PageTable | Figure | Beside


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What every attack and every audit shows a person. The verdict colors the headline, which says it in words too."""

    title: str
    headline: str
    verdict: Verdict
    sections: tuple[Section, ...]
    lead: str = ""
    foot: str = ""


def to_html(report: Report) -> str:
    """The whole file. Its policy forbids scripts, forms, frames and every request, and allows this one style."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            MARKS[".html"],
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{_safe(report.headline)} · {_safe(report.title)}</title>",
            '<link rel="icon" href="data:,">',
            f"<style>{STYLE}</style>",
            "</head>",
            f'<body class="privet-page"><main class="privet">{_inside(report)}</main></body>',
            "</html>",
            "",
        ]
    )


def to_fragment(report: Report) -> str:
    """The same for a notebook, where other things stand around it."""
    return f'<div class="privet privet-inline"><style>{STYLE}</style>{_inside(report)}</div>'


def write_html(report: Report, path: str | Path) -> Path:
    """Writes the file, over an older report of Privet if there is one, and over nothing else."""
    target = Path(path)
    if target.suffix.lower() != ".html":
        raise InvalidInputError(
            f"a report is an HTML file, but {one_line(str(path))} does not end in .html",
            "give a name that ends in .html",
            "wrong-ending",
        )
    try:
        write_text(target, to_html(report))
    except InvalidInputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a name that no system allows
        reason = getattr(error, "strerror", None) or "no file can have this name"
        raise InvalidInputError(
            f"cannot write {one_line(str(path))}: {reason}",
            "name a file in a folder that you may write to",
            "cannot-write",
        ) from None
    return target


def is_number(text: str) -> bool:
    """Whether a text is a number as we print them, such as 1,234 or 7.5 %."""
    return NUMBER.fullmatch(text) is not None


def _safe(text: str) -> str:
    """Text from outside as text, whatever it contains: no markup, no control letters, no half letters."""
    return html.escape(one_line(text)).replace(" %", "\u00a0%")


def _inside(report: Report) -> str:
    lead = f'<p class="lead">{_safe(report.lead)}</p>' if report.lead else ""
    foot = f"{_safe(report.foot)} " if report.foot else ""
    return (
        f'<header class="band {report.verdict}"><p class="kicker">{_safe(report.title)}</p>'
        f"<h1>{_safe(report.headline)}</h1>{lead}</header>\n"
        + "\n".join(map(_section, report.sections))
        + f"\n<footer><p>{foot}Made with Privet {_safe(__version__)}.</p></footer>"
    )


def _section(section: Section) -> str:
    parts = "\n".join(_part(part, section.title) for part in section.parts)
    return f"<section><h2>{_safe(section.title)}</h2>\n{parts}</section>"


def _part(part: Part, title: str) -> str:
    match part:
        case PageText():
            return "".join(f"<p>{_safe(paragraph)}</p>" for paragraph in part.paragraphs)
        case List():
            return f"<ul>{''.join(f'<li>{_safe(item)}</li>' for item in part.items)}</ul>"
        case PageTable():
            return _table(part, title)
        case Figure():
            return _figure(part)
        case Beside():
            return f'<div class="beside">{"".join(map(_figure, part.figures))}</div>{_key(part.key)}'
        case _:
            assert_never(part)


def _figure(figure: Figure) -> str:
    picture = f'<div class="{"paper" if figure.on_paper else "bare"}" role="img" aria-label="{_safe(figure.alt)}">'
    caption = f"<figcaption>{_safe(figure.caption)}</figcaption>" if figure.caption else ""
    return f"<figure>{picture}{figure.svg}</div>{_key(figure.key)}{caption}</figure>"


def _key(key: Key) -> str:
    marks = "".join(_key_line(mark, words) for mark, words in key)
    return f'<ul class="key">{marks}</ul>' if marks else ""


def _key_line(mark: Mark | Sample, words: str) -> str:
    if isinstance(mark, Sample):
        return f'<li class="sampled">{mark.svg}<span>{_safe(words)}</span></li>'
    return f'<li><span class="mark {mark}"></span>{_safe(words)}</li>'


def _table(table: PageTable, title: str) -> str:
    """Roles are written out because a stacked table is no table any more to some screen readers."""
    kinds = [_kind(cells) for cells in zip(*table.rows, strict=True)] or [""] * len(table.columns)
    head = "".join(
        f'<th scope="col" role="columnheader"{kind}>{_safe(name)}</th>'
        for name, kind in zip(table.columns, kinds, strict=True)
    )
    rows = "".join(f'<tr role="row">{_row(row, table.columns, kinds)}</tr>' for row in table.rows)
    quiet = ' class="quiet"' if table.caption == title else ""  # the heading says it already
    forms = {"stacked": table.stacked, "many": len(table.columns) > MANY, "whole": len(table.rows) <= WHOLE}
    form = f'class="{" ".join(name for name, fits in forms.items() if fits)}"'
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{_safe(table.caption)}">'
        f'<table role="table" {form}><caption{quiet}>{_safe(table.caption)}</caption>'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead><tbody role="rowgroup">{rows}</tbody></table></div>'
    )


def _row(row: Sequence[Cell], columns: Sequence[str], kinds: Sequence[str]) -> str:
    cells = []
    for place, (cell, name, kind) in enumerate(zip(row, columns, kinds, strict=True)):
        tag, role = ("td", 'role="cell"') if place else ("th", 'scope="row" role="rowheader"')
        cells.append(f'<{tag} {role} data-column="{_safe(name)}"{kind}>{_cell(cell)}</{tag}>')
    return "".join(cells)


def _cell(cell: Cell) -> str:
    match cell:
        case str():
            return _safe(cell)
        case Noted():
            return _safe(cell.text) + "".join(f'<span class="note">{_safe(note)}</span>' for note in cell.notes)
        case tuple():
            return f'<ul class="tags">{"".join(f"<li>{_safe(tag)}</li>" for tag in cell)}</ul>' if cell else ""
        case _:
            assert_never(cell)


def _kind(cells: Sequence[Cell]) -> str:
    """How a column is set: numbers to the right; short texts on one line."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    if len(texts) < len(cells):
        return ""
    if all(map(is_number, texts)):
        return ' class="number"'
    return ' class="short"' if all(len(text) <= SHORT for text in texts) else ""
