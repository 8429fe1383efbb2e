"""What .xlsx files say besides values: how far cells reach, formulas without values, merged and indented cells."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

from privet.core.rational import show
from privet.errors import InvalidInputError

MOST_CELLS = 2_000_000  # of one sheet, from A1 to its last row and column, empty ones included
MOST_BYTES = 500_000_000  # of all parts of a workbook, unpacked
PERCENT_FORMATS = {"9", "10"}
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Look:
    """Formulas that have no stored value; merged areas (first row, first column, last row, last column); how far texts
    are indented; cells that are shown as percentages."""

    formulas: dict[Place, str] = field(default_factory=dict)
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    indents: dict[Place, int] = field(default_factory=dict)
    percents: set[Place] = field(default_factory=set)


def look_of(path: Path, sheet: str, most: int = MOST_CELLS) -> Look:
    """Of an older format of Excel, or of OpenDocument, nothing is known: these hold values. Refuses a sheet with more
    than `most` cells."""
    look = Look()
    try:
        with zipfile.ZipFile(path) as archive:
            _check_size(archive, path)
            styles = _styles(archive)
            with archive.open(_part(archive, sheet)) as part:
                for place, cell in _cells(part, sheet, look, most):
                    _note(look, place, cell, styles)
    except InvalidInputError:
        raise
    except (zipfile.BadZipFile, ElementTree.ParseError, KeyError, StopIteration, OSError, ValueError):
        return Look()
    return look


def has_cells(path: Path, sheet: str) -> bool | None:
    """Whether anything stands on a sheet; None if the format does not tell without reading all of it."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_part(archive, sheet)) as part:
            cells = _cells(part, sheet, Look(), MOST_CELLS)
            return any(cell.find("{*}" + tag) is not None for _, cell in cells for tag in ("v", "f", "is"))
    except InvalidInputError:
        return True
    except (zipfile.BadZipFile, ElementTree.ParseError, KeyError, StopIteration, OSError, ValueError):
        return None


def check_reach(name: str, rows: int, columns: int, most: int = MOST_CELLS) -> None:
    """Before a stray cell far away makes a table of billions of empty ones."""
    if rows * columns > most:
        raise InvalidInputError(
            f"{name} has at least {rows:,} rows and {columns:,} columns: {rows * columns:,} cells, more than {most:,}",
            "delete what is far from the tables (Ctrl+End goes to the last cell) and save, or move the tables to a "
            "sheet of their own",
            "too-large",
        )


def _check_size(archive: zipfile.ZipFile, path: Path) -> None:
    size = sum(part.file_size for part in archive.infolist())
    if size > MOST_BYTES:
        raise InvalidInputError(
            f"{path.name} unpacks to {size:,} bytes, more than {MOST_BYTES:,}",
            "save the tables as a workbook of their own",
            "too-large",
        )


def _cells(part: IO[bytes], sheet: str, look: Look, most: int) -> Iterator[tuple[Place, ElementTree.Element]]:
    """The cells one by one. Nothing is kept of those that were seen."""
    row, column, width = -1, -1, 0
    data: ElementTree.Element | None = None
    for event, element in ElementTree.iterparse(part, ("start", "end")):  # noqa: S314  expat limits what entities expand to
        tag = element.tag.rpartition("}")[2]
        if event == "start":
            data = element if tag == "sheetData" else data
            if tag == "row":
                row, column = int(element.get("r", row + 2)) - 1, -1
            continue
        if tag == "c":
            row, column = _place(element.get("r", ""), row, column + 1)
            width = max(width, column + 1)
            check_reach(f"sheet {show(sheet)}", row + 1, width, most)
            yield (row, column), element
        elif tag == "row" and data is not None:
            data.clear()
        elif tag == "mergeCell":
            first, _, last = element.get("ref", "").partition(":")
            look.merged.append((*_place(first, 0, 0), *_place(last or first, 0, 0)))


def _note(look: Look, place: Place, cell: ElementTree.Element, styles: list[tuple[bool, int]]) -> None:
    formula, value = cell.find("{*}f"), cell.find("{*}v")
    if formula is not None and cell.get("t") != "str" and (value is None or not value.text):
        look.formulas[place] = f"={formula.text or ''}"
    number = int(cell.get("s", "0"))
    percent, indent = styles[number] if number < len(styles) else (False, 0)
    if percent:
        look.percents.add(place)
    if indent:
        look.indents[place] = indent


def _styles(archive: zipfile.ZipFile) -> list[tuple[bool, int]]:
    """For each style of cells: whether it shows a percentage, and how far it indents."""
    if "xl/styles.xml" not in archive.namelist():
        return []
    root = ElementTree.fromstring(archive.read("xl/styles.xml"))  # noqa: S314
    percents = PERCENT_FORMATS | {
        one.get("numFmtId", "") for one in root.iterfind("{*}numFmts/{*}numFmt") if "%" in one.get("formatCode", "")
    }
    found = []
    for style in root.iterfind("{*}cellXfs/{*}xf"):
        alignment = style.find("{*}alignment")
        indent = 0 if alignment is None else int(float(alignment.get("indent", "0")))
        found.append((style.get("numFmtId") in percents, indent))
    return found


def _part(archive: zipfile.ZipFile, sheet: str) -> str:
    """The file inside an .xlsx file that holds a sheet."""
    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))  # noqa: S314
    entry = next(one for one in book.iterfind("{*}sheets/{*}sheet") if one.get("name") == sheet)
    number = next(value for key, value in entry.items() if key.endswith("}id"))
    links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))  # noqa: S314
    target = next(link.get("Target", "") for link in links if link.get("Id") == number)
    return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"


def _place(name: str, row: int, column: int) -> Place:
    """Of B7: 6, 1. A cell without a name is the next one."""
    if not name:
        return row, column
    letters = name.rstrip("0123456789")
    column = 0
    for letter in letters:
        column = 26 * column + ord(letter) - ord("A") + 1
    return int(name[len(letters) :]) - 1, column - 1
