"""What of a workbook was not read: sheets, columns and rows with data that no table is about.

Each is named, so that nobody takes silence about it for a result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from privet.attacks.release.sheet_cells import TABLES, Cell, Sheet, coordinate, is_blank, number_of, sheets_of
from privet.attacks.release.sheet_labels import folded
from privet.core.rational import show

FLAG = re.compile(r"^[<>≤≥~]\s*|\s*(?:%|\*+|\([^()]*\)|\[[^\[\]]*\])$")  # around a number: "<5", "20 %", "20 (a)"


@dataclass(frozen=True, slots=True)
class Area:
    """The cells that one entry of [[tables]] speaks of. `rows` are those of the header, too; `header` is the last."""

    header: int
    rows: frozenset[int]
    columns: frozenset[int]  # used, or said to be no part of the release
    ignored: frozenset[int]  # rows that are said to be no part of it
    marks: frozenset[str]


def unread_sheets(workbook: Path, read: Iterable[str], ignored: Sequence[str]) -> Iterator[str]:
    """Hidden ones first. `read` are the sheets of a workbook, or the files of a folder, that tables name."""
    known = {folded(name) for name in (*read, *ignored)}
    if workbook.is_dir():
        files = [path.relative_to(workbook) for path in sorted(workbook.rglob("*")) if path.suffix.lower() in TABLES]
        for path in files:
            if not {folded(path.as_posix()), folded(path.with_suffix("").as_posix())} & known:
                yield f"file {show(path.as_posix())}"
        return
    others = [one for one in sheets_of(workbook) if folded(one.name) not in known and not is_blank(workbook, one)]
    for one in sorted(others, key=lambda one: not one.hidden):
        yield f"{'hidden sheet' if one.hidden else 'sheet'} {show(one.name)}"


def unread_cells(sheet: Sheet, areas: Sequence[Area]) -> Iterator[str]:
    """Columns beside the tables, then rows with numbers outside of them. Titles and notes are no data."""
    yield from dict.fromkeys(_columns(sheet, areas))
    left = [row for row in range(len(sheet.rows)) if _is_data(sheet.rows[row], areas) and not _covered(row, areas)]
    for _, rows in groupby(enumerate(left), key=lambda pair: pair[1] - pair[0]):
        numbers = [row + 1 for _, row in rows]
        words = f"row {numbers[0]}" if len(numbers) == 1 else f"rows {numbers[0]} to {numbers[-1]}"
        yield f"{words} of {sheet.name}"


def _columns(sheet: Sheet, areas: Sequence[Area]) -> Iterator[str]:
    for area in areas:
        header = sheet.rows[area.header]
        for row in sorted(row for row in area.rows if row > area.header):
            for place, cell in enumerate(sheet.rows[row]):
                if cell != "" and not _speaks_of(row, place, areas):
                    name = str(header[place]) if place < len(header) else ""
                    letter = coordinate(0, place).removesuffix("1")
                    yield f"column {show(name or letter)} of {sheet.name}"


def _speaks_of(row: int, place: int, areas: Iterable[Area]) -> bool:
    """Whether an entry uses the cell, or says that it is no part of the release."""
    return any(row in area.ignored or (row in area.rows and place in area.columns) for area in areas)


def _covered(row: int, areas: Iterable[Area]) -> bool:
    return any(row in area.ignored or row in area.rows for area in areas)


def _is_data(row: Sequence[Cell], areas: Iterable[Area]) -> bool:
    """Whether a number stands there, or a mark that hides one."""
    return any(_is_number(cell) or any(str(cell) in area.marks for area in areas) for cell in row if cell != "")


def _is_number(cell: Cell) -> bool:
    if not isinstance(cell, str) or cell.startswith("="):
        return True
    text = FLAG.sub("", cell)
    return any(number_of(text, point) is not None for point in (".", ","))
