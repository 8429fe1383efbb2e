"""The cells of a sheet: numbers as numbers, everything else as text, each at the place where a person finds it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from numbers import Number
from pathlib import Path
from typing import Any

from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from privet.attacks.release.workbook_xml import check_reach, has_cells, look_of
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.sources.limits import check_book, check_file
from privet.sources.rows import as_text

Cell = str | Decimal
TABLES = (".csv", ".tsv", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")  # files of a folder that may hold tables
SPACES = " \u00a0\u2009\u202f"  # plain, unbreakable, thin and narrow
GROUPED = r"[+-]?(?:\d{{1,3}}(?:{mark}\d{{3}})+|\d+)(?:{point}\d+)?"
NUMBERS = {
    point: re.compile("|".join(GROUPED.format(mark=mark, point=re.escape(point)) for mark in marks), re.ASCII)
    for point, marks in ((".", (",", f"[{SPACES}]", "'")), (",", (r"\.", f"[{SPACES}]", "'")))
}
MINUS = re.compile("[\u2212\u2013]")


@dataclass(frozen=True, slots=True)
class Sheet:
    """All rows from the first, and what errors and findings call the sheet."""

    name: str
    place: str
    rows: Sequence[Sequence[Cell]]


def open_sheet(entry: Mapping[str, Any], folder: Path, workbook: Path | None) -> Sheet:
    """The cells that an entry of [[tables]] is about: a CSV file, a sheet of the workbook or a data frame."""
    given = [key for key in ("file", "sheet", "frame") if key in entry]
    if len(given) != 1:
        raise InvalidInputError(
            "it does not say where its cells are", 'write file = "x.csv" or sheet = "T1", not both', "not-exactly-one"
        )
    if given == ["frame"]:
        name = str(entry.get("name", "frame"))
        return Sheet(name, name, cells_of(_frame_rows(entry["frame"])))
    name = entry[given[0]]
    if not isinstance(name, str):
        raise InvalidInputError(f"{given[0]} is {show(name)}", f'write a text: {given[0]} = "T1"', "wrong-type")
    delimiter = entry.get("delimiter", ",")
    if given == ["file"]:
        where = workbook if workbook is not None and workbook.is_dir() else folder
        return Sheet(name, name, cells_of(csv_rows(where / name, delimiter)))
    if workbook is None:
        raise InvalidInputError(
            f"nobody said which workbook has the sheet {show(name)}", 'write workbook = "x.xlsx"', "missing-entry"
        )
    if workbook.is_dir():
        return Sheet(name, f"{name}.csv", cells_of(csv_rows(workbook / f"{name}.csv", delimiter)))
    return Sheet(name, f"{workbook.name}, sheet {show(name)}", cells_of(excel_rows(workbook, name)))


def cells_of(rows: Iterable[Iterable[object]]) -> list[list[Cell]]:
    """Numbers, and texts without spaces around them."""
    return [[_cell(value) for value in row] for row in rows]


def _cell(value: object) -> Cell:
    text = as_text(value, None) or ""
    if isinstance(value, Number) and not isinstance(value, bool) and text:
        return Decimal(text)
    return " ".join(text.split())


def csv_rows(path: Path, delimiter: object) -> list[list[str]]:
    """The fields as they stand in the file."""
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise InvalidInputError(
            f"delimiter is {show(delimiter)}", 'write one character, such as delimiter = ";"', "wrong-type"
        )
    check_file(path)
    rows, width, begun = list[list[str]](), 0, 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter)
            for row in reader:
                rows.append(row)
                width, begun = max(width, len(row)), reader.line_num + 1
                check_reach(path.name, len(rows), width)
            return rows
    except csv.Error:
        raise InvalidInputError(
            f"{path.name}: the record that begins in line {begun:,} has a field of more than"
            f" {csv.field_size_limit():,} characters",
            "close its quotes, or shorten it",
            "unreadable-file",
        ) from None
    except (OSError, UnicodeDecodeError):
        raise InvalidInputError(
            f"{path.name} cannot be read", "check that the file is there, as CSV in UTF-8", "unreadable-file"
        ) from None


@dataclass(frozen=True, slots=True)
class SheetName:
    """One sheet of a workbook. `cells` is False of charts and the like."""

    name: str
    hidden: bool
    cells: bool


def sheets_of(path: Path) -> list[SheetName]:
    """The sheets of an Excel workbook, hidden ones and charts included."""
    with _opened(path) as book:
        return [
            SheetName(one.name, one.visible != SheetVisibleEnum.Visible, one.typ == SheetTypeEnum.WorkSheet)
            for one in book.sheets_metadata
        ]


def is_blank(path: Path, sheet: SheetName) -> bool:
    """Whether nothing stands on a sheet. A chart is not blank: its numbers are in the file."""
    known = has_cells(path, sheet.name) if sheet.cells else True
    if known is None:
        return not any(cell != "" for row in cells_of(excel_rows(path, sheet.name)) for cell in row)
    return not known


@contextmanager
def _opened(path: Path) -> Iterator[CalamineWorkbook]:
    try:
        with CalamineWorkbook.from_path(path) as book:
            yield book
    except (CalamineError, OSError):
        raise InvalidInputError(
            f"{path.name} cannot be read", "check that the file is there and is an Excel workbook", "unreadable-file"
        ) from None


def excel_rows(path: Path, sheet: str) -> list[list[Any]]:
    """The values as they stand in the file; a formula without a value is a text."""
    names = [one.name for one in sheets_of(path)]
    if sheet not in names:
        raise InvalidInputError(
            f"{path.name} has no sheet {show(sheet)}",
            f"its sheets are {', '.join(map(show, names)) or 'none'}",
            "unknown-sheet",
        )
    look = look_of(path, sheet)  # first, since it refuses what would not fit into memory
    if has_cells(path, sheet) is None:  # another format: its size is known of all sheets together
        check_book(path)
    with _opened(path) as book:
        rows = book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
    for (row, column), formula in look.formulas.items():
        rows += [[] for _ in range(row + 1 - len(rows))]
        rows[row] += [""] * (column + 1 - len(rows[row]))
        rows[row][column] = formula
    return rows


def _frame_rows(frame: Any) -> list[Iterable[object]]:
    """Of pandas or polars."""
    if hasattr(frame, "itertuples"):
        return [list(frame.columns), *frame.itertuples(index=False, name=None)]
    if hasattr(frame, "iter_rows"):
        return [list(frame.columns), *frame.iter_rows()]
    raise InvalidInputError(f"frame is {type(frame).__name__}", "give a data frame of pandas or polars", "wrong-type")


def coordinate(row: int, column: int) -> str:
    """B7, as a spreadsheet says it; both start at 0."""
    letters = ""
    column += 1
    while column:
        column, place = divmod(column - 1, 26)
        letters = chr(ord("A") + place) + letters
    return f"{letters}{row + 1}"


def number_of(cell: Cell, point: str) -> Decimal | None:
    """The number in a cell; None if it is none. Digits may stand in groups of three."""
    if isinstance(cell, Decimal):
        return cell
    text = MINUS.sub("-", cell)
    if not NUMBERS[point].fullmatch(text):
        return None
    return Decimal(re.sub(f"[^0-9{re.escape(point)}+-]", "", text).replace(point, "."))
