"""Excel sheets: one row of names, then rows of values, each read as the text that a person would type for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook

from privet.catalog.declarations import Source, Table
from privet.core.rational import show
from privet.core.schema import Kind, Text
from privet.errors import InvalidInputError
from privet.sources.limits import check_book
from privet.sources.relation import Raw, positions, unreadable, wanted
from privet.sources.rows import as_text, create, insert

HINT = "check the name, and the source's sheet and skip"


def load(connection: duckdb.DuckDBPyConnection, table: Table, path: Path) -> Raw:
    """Copy the declared columns of one sheet into a table of texts."""
    names, rows = read_sheet(path, table.source)
    places = positions(table, names, HINT)
    kinds = [column.kind for column in wanted(table)]
    raw = create(connection, table)
    insert(connection, table, range(len(places)), _texts(rows, places, kinds))
    return raw


def check_header(table: Table, path: Path) -> None:
    """Raise InvalidInputError unless the file can be read and its header has the wanted columns."""
    positions(table, read_sheet(path, table.source)[0], HINT)


def read_sheet(path: Path, source: Source) -> tuple[tuple[str, ...], Iterator[Sequence[object]]]:
    """The names of all columns, and the rows below them."""
    check_book(path)
    try:
        with CalamineWorkbook.from_path(path) as book:
            rows = iter(_sheet(book, source.sheet).to_python(skip_empty_area=False))
    except CalamineError:
        raise unreadable() from None
    for _ in range(source.skip):
        next(rows, None)
    return source.names or tuple((as_text(cell, Text()) or "").strip() for cell in next(rows, [])), rows


def _sheet(book: CalamineWorkbook, name: str | None) -> CalamineSheet:
    """The sheet of this name, or the first."""
    if name is None and book.sheet_names:
        return book.get_sheet_by_index(0)
    if name not in book.sheet_names:
        raise InvalidInputError(
            f"there is no sheet {show(name)}", f"use one of {', '.join(map(show, book.sheet_names))}", "unknown-sheet"
        )
    return book.get_sheet_by_name(name)


def _texts(
    rows: Iterator[Sequence[object]], places: Sequence[int], kinds: Sequence[Kind | None]
) -> Iterator[list[str | None]]:
    """Rows without any value are not rows: sheets often end in formatted, empty cells."""
    for row in rows:
        if any(cell != "" for cell in row):
            cells = (row[place] if place < len(row) else None for place in places)
            yield [as_text(cell, kind) for cell, kind in zip(cells, kinds, strict=True)]
