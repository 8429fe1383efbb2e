"""Drafts a release file from a workbook or CSV files: which cells are what, and what only the owner can decide."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import tomli_w

from privet.attacks.drafts.entries import Entries
from privet.attacks.drafts.label_trees import column_paths
from privet.attacks.drafts.layout import Block, Page, blocks_of, notes_of
from privet.attacks.drafts.readings import Facts, TableDraft, marks_in, number_in, read_table
from privet.attacks.drafts.vocabulary import (
    Meaning,
    is_number,
    is_perturbed,
    legend_marks,
    meaning_of,
    measure_of,
    rounding_of,
    times_of,
)
from privet.attacks.release.file import tables_of
from privet.attacks.release.sheet_cells import cells_of, coordinate, csv_rows, excel_rows, sheets_of
from privet.attacks.release.workbook_xml import Look, check_reach, look_of
from privet.core.rational import show
from privet.errors import InvalidInputError

BOOKS = (".xlsx", ".xlsm")
TEXTS = (".csv", ".tsv")
MOST_DRAFTED = 300_000  # cells of a sheet; what is larger holds records
BASES = (1000, 100, 50, 25, 20, 10, 5, 3)
CHANCE = 10_000  # a base is named if so many numbers are its multiples that chance makes it one in this many sheets
FEWEST = 5
NEAREST = "Were they rounded to the nearest {base} (then write rounded = {base}), or up and down at random?"
MOST_LINES = 200  # of a sheet of notes
ALWAYS = (
    "Does [attributes] list every value that anybody can have? And is no attribute only a grouping of another one?",
    "Does each count include a person at most once?",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRelease:
    """A proposal. `toml()` is the release file, with what to check; `questions` stand in it, too, and until they are
    deleted no result of an attack is green. `unread` is what no table of the draft is about."""

    document: Mapping[str, Any]
    titles: tuple[str, ...]
    questions: tuple[str, ...]
    unread: tuple[str, ...]
    cells: int

    def toml(self) -> str:
        """The text of the release file."""
        head = "# A draft. Read it beside the tables: it may be wrong even where nothing is asked.\n"
        keys = [
            f"{key} = {_value(value)}"
            for key, value in self.document.items()
            if key not in ("questions", "suppressed", "attributes", "labels", "tables")
        ]
        lines = [head, *keys]
        for key, remark in (
            ("questions", "  # delete each one once you have answered it: while any is left, no result is green"),
            ("suppressed", ""),
        ):
            entries = self.document.get(key, [])
            lines += [f"{key} = [{remark}", *(f"    {_value(entry)}," for entry in entries), "]"] if entries else []
        lines += [
            "",
            "[attributes]",
            *(f"{_key(name)} = {_value(values)}" for name, values in self.document["attributes"].items()),
        ]
        for name, said in self.document.get("labels", {}).items():
            lines += [
                "",
                f"[labels.{_key(name)}]",
                *(f"{_key(label)} = {_value(meaning)}" for label, meaning in said.items()),
            ]
        for title, table in zip(self.titles, self.document["tables"], strict=True):
            lines += ["", *([f"# {title}"] if title else []), "[[tables]]", *_entries(table)]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        """What was understood, and what was not, for the terminal."""
        attributes = [f"  {name}: {_value(values)}" for name, values in self.document["attributes"].items()]
        tables = [
            f"  {_where(table)}: {title or 'no title'}"
            for title, table in zip(self.titles, self.document["tables"], strict=True)
        ]
        asked = [f"  {place}. {question}" for place, question in enumerate(self.questions, 1)]
        unread = [f"  {what}" for what in self.unread]
        parts = [
            f"{self.cells:,} published cells in {len(tables)} table{'s' * (len(tables) != 1)}", *tables,
            "Attributes", *attributes, "Questions, which only you can answer", *asked,
        ]  # fmt: skip
        return "\n".join([*parts, *(["Not read", *unread] if unread else [])])


def draft_release(path: Path | str, folder: Path | None = None) -> DraftRelease:
    """Draft a release file for an .xlsx workbook, a folder of CSV files or one CSV file. `folder` is where the release
    file will lie (where the tables lie, if it is not given). Raises InvalidInputError if no table is found."""
    path = Path(path)
    folder = folder or path.parent
    pages, asks = _pages(path, folder)
    legend = legend_marks(text for page in pages for text in page.texts(range(len(page.cells))))
    for page in pages:
        page.letters |= legend
    blocks = [blocks_of(page) for page in pages]
    prose = [page for page, tables in zip(pages, blocks, strict=True) if not tables and _is_prose(page)]
    everywhere = [note for page in prose for note in notes_of(page, [])]
    own = [[*notes_of(page, tables), *everywhere] for page, tables in zip(pages, blocks, strict=True)]
    found, shared = list[TableDraft](), dict[str, Any]()
    for page, tables, notes in zip(pages, blocks, own, strict=True):
        marks = _marks(page, tables, notes, [note for others in own for note in others], asks)
        facts, shared[page.name] = _facts(page, tables, marks, notes, asks)
        found += _tables(tables, facts, asks)
    entries = Entries(found, shared, asks) if found else None
    if entries is None or not entries.document["tables"]:
        raise InvalidInputError(
            f"no table was found in {path.name}" + (f"; {asks[0]}" if asks else ""),
            "a table needs a row with the names of its columns; docs/releases.md shows how to write the file by hand",
            "empty",
        )
    document: dict[str, Any] = {"format": 1, "kind": "tables"}
    if path.suffix.lower() not in TEXTS:
        document["workbook"] = _relative(path, folder)
    if prose:
        names = [page.name for page in prose]
        document["ignore"] = names
        asks.append(f"{', '.join(names)}: only text, which the draft ignores. Does it say nothing about single people?")
    questions = tuple(dict.fromkeys([*ALWAYS, *asks]))
    document |= {"questions": list(questions), **entries.document}
    read = tables_of(document, folder)
    return DraftRelease(
        document=document,
        titles=tuple(entries.titles),
        questions=questions,
        unread=read.unread,
        cells=len(read.statistics),
    )


# Reading


def _pages(path: Path, folder: Path) -> tuple[list[Page], list[str]]:
    """The sheets to draft, and what is said of the others."""
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.suffix.lower() == ".csv")
        return [_csv_page(one, {"sheet": one.stem}) for one in files], []
    if path.suffix.lower() in TEXTS:
        return [_csv_page(path, {"file": _relative(path, folder)})], []
    if path.suffix.lower() not in BOOKS:
        raise InvalidInputError(
            f"no release file can be drafted from {path.name}",
            "save it as .xlsx, or its tables as CSV files",
            "wrong-ending",
        )
    pages, asks = list[Page](), list[str]()
    for sheet in sheets_of(path):
        if sheet.hidden or not sheet.cells:
            continue
        try:
            pages.append(_book_page(path, sheet.name))
        except InvalidInputError as error:
            if error.code != "too-large":
                raise
            refused = error
            asks.append(f"{error.problem}. It is not drafted")
    if not pages and asks:
        raise refused
    return pages, asks


def _relative(path: Path, folder: Path) -> str:
    return os.path.relpath(path, folder).replace(os.sep, "/")


def _book_page(path: Path, name: str) -> Page:
    look = look_of(path, name, MOST_DRAFTED)
    if look.formulas:
        (row, column), formula = next(iter(look.formulas.items()))
        raise InvalidInputError(
            f"sheet {show(name)}: {len(look.formulas):,} formulas have no stored value, such as {show(formula)} "
            f"in {coordinate(row, column)}",
            "open the workbook in a spreadsheet program and save it, or write values instead of formulas",
            "formula-without-value",
        )
    return _page(name, {"sheet": name}, excel_rows(path, name), look)


def _csv_page(path: Path, entry: dict[str, str]) -> Page:
    found = {mark: csv_rows(path, mark) for mark in ",;\t|"}
    fits = {
        mark: sum(len(row) > 1 for row in rows) * 1000 + sum(len(row) for row in rows) / (1 + len(rows))
        for mark, rows in found.items()
    }
    mark = max(fits, key=lambda one: (fits[one], one == ","))
    return _page(
        path.stem if "sheet" in entry else path.name,
        entry | ({} if mark == "," else {"delimiter": mark}),
        found[mark],
        Look(),
    )


def _page(name: str, entry: dict[str, str], rows: Sequence[Sequence[Any]], look: Look) -> Page:
    check_reach(name, len(rows), max(map(len, rows), default=0), MOST_DRAFTED)
    for place, row in enumerate(rows):
        for column, cell in enumerate(row):
            if isinstance(cell, str) and cell[:1].isspace() and cell.strip():
                look.indents.setdefault((place, column), len(cell) - len(cell.lstrip()))
    return Page(name, entry, cells_of(rows), look)


def _is_prose(page: Page) -> bool:
    """Whether a sheet has a few lines of text and no numbers."""
    rows = [[cell for cell in row if cell != ""] for row in page.cells]
    return len(rows) <= MOST_LINES and all(len(row) <= 2 and not any(map(is_number, row)) for row in rows)


def _tables(blocks: Sequence[Block], facts: Facts, asks: list[str]) -> Iterator[TableDraft]:
    bodies = {row for block in blocks for row in block.rows}
    for block in blocks:
        below = block.rows[-1] + 1
        beside = (
            any(block.page.cells[below][column] != "" for column in block.columns)
            if below < len(block.page.cells)
            else False
        )
        if beside and below not in bodies:
            asks.append(
                f"{block.page.name}: does row {below + 1} belong to the table above it? It is not read as part of it"
            )
        if not block.header:
            rows = f"rows {block.rows[0] + 1} to {block.rows[-1] + 1}"
            asks.append(f"{block.page.name}, {rows}: no row above them names the columns. They are not read")
            continue
        table = read_table(block, facts)
        asks += table.asks
        yield table


# What holds for all numbers of a sheet


def _marks(
    page: Page, blocks: Sequence[Block], notes: Sequence[str], everywhere: Sequence[str], asks: list[str]
) -> dict[str, Meaning]:
    """What marks mean by the notes of their sheet, or else by those of the others."""
    marks = {mark: meaning_of(mark, notes) for block in blocks for mark in marks_in(block)}
    for mark, meaning in marks.items():
        elsewhere = meaning_of(mark, everywhere)
        if elsewhere.sure and not meaning.sure:
            marks[mark] = elsewhere
            asks.append(f"{page.name}: does {mark!r} mean here what another sheet says it means?")
        elif not meaning.sure:
            known = "Which counts does it hide? Write its kind and, if there is a threshold, below = ..."
            unknown = "Does it hide numbers (which?), is it 0 (then list it in zeros), or was nothing counted?"
            asks.append(f"{page.name}: what does {mark!r} mean? {known if meaning.kind else unknown}")
    return marks


def _facts(
    page: Page, blocks: Sequence[Block], marks: dict[str, Meaning], notes: Sequence[str], asks: list[str]
) -> tuple[Facts, dict[str, Any]]:
    """Decimal mark and rounding; and how a release file says it of one table."""
    cells = [cell for block in blocks for column in block.columns for cell in block.number_cells(column)]
    comma = any(isinstance(cell, str) and re.fullmatch(r"\d+,\d{1,2}%?", cell) for cell in cells)
    point = "," if comma else "."
    facts = Facts(marks, point, 0)
    if is_perturbed(notes):
        asks.append(
            f"{page.name}: were numbers changed at random, as the notes say? If so, none is exact and no proof holds"
        )
    said, slack = _rounding(page, [number for block in blocks for number in _counts(block, facts)], notes, asks)
    return Facts(marks, point, slack), said


def _counts(block: Block, facts: Facts) -> Iterator[Decimal]:
    paths, _ = column_paths(block)
    for column, path in paths.items():
        shown = any((row, column) in block.page.look.percents for row in block.rows)
        if shown or any(measure_of(text) not in ("", "count") for text in path):
            continue
        numbers = [number_in(cell, facts) for cell in block.number_cells(column)]
        if all(number is None or number == int(number) for number in numbers) and times_of([*block.title, *path]) == 1:
            yield from (number for number in numbers if number)


def _rounding(
    page: Page, counts: Sequence[Decimal], notes: Sequence[str], asks: list[str]
) -> tuple[dict[str, Any], int]:
    """The base, if the notes name it or if nearly no chance makes all numbers its multiples."""
    said = rounding_of(notes)
    if said is not None and counts and times_of(notes) == 1:
        base, how = said
        if base < 2:
            return {}, 0
        if any(number % base for number in counts):
            asks.append(
                f"{page.name}: the notes name rounding to {base}, but not all counts are multiples; which are rounded?"
            )
            return {}, base
        if not how:
            asks.append(f"{page.name}: {NEAREST.format(base=base)}")
        return {how or "random_rounded": base}, base
    for base in BASES if len(counts) >= FEWEST and len(set(counts)) > 2 else ():
        if base ** len(counts) >= CHANCE and not any(number % base for number in counts):
            asks.append(f"{page.name}: all {len(counts)} counts are multiples of {base}. {NEAREST.format(base=base)}")
            return {"random_rounded": base}, base
    return {}, 0


# TOML


def _entries(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if key == "values":
            yield "values = ["
            yield from (f"    {_value(one)}," for one in value)
            yield "]"
        else:
            yield f"{key} = {_value(value)}"


def _where(table: Mapping[str, Any]) -> str:
    return f"{table.get('sheet', table.get('file'))}, rows {', '.join(table['lines'])}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(name)} = {_value(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return tomli_w.dumps({"x": value}).strip().removeprefix("x = ")
