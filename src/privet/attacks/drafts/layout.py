"""Where the tables of a sheet are: header rows, columns of labels, rows and columns of numbers, titles and notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from privet.attacks.drafts.vocabulary import (
    YEAR,
    is_number,
    is_total,
    may_hide,
    measure_of,
    plain_label,
)
from privet.attacks.release.sheet_cells import Cell
from privet.attacks.release.sheet_labels import folded
from privet.attacks.release.workbook_xml import Look, Place

LONGEST_HEADING = 80  # what is longer is a title or a note
ALIKE = 0.5
MOSTLY = 0.8


@dataclass(slots=True)
class Page:
    """A sheet. `entry` is how a release file names it."""

    name: str
    entry: dict[str, str]
    cells: list[list[Cell]]
    look: Look
    letters: frozenset[str] = frozenset()  # marks that are letters, since they stand among numbers
    covers: dict[Place, Place] = field(default_factory=dict)  # a merged cell -> the one that holds the text

    def __post_init__(self) -> None:
        width = max(map(len, self.cells), default=0)
        self.cells = [[*row, *[""] * (width - len(row))] for row in self.cells]
        places = ((row, column) for row in range(len(self.cells)) for column in range(1, width))
        among = [self.cells[row][column] for row, column in places if self._stands_for_number(row, column)]
        self.letters |= frozenset(folded(str(cell)) for cell in among)
        for top, left, bottom, right in self.look.merged:
            area = (
                (row, column)
                for row in range(top, min(bottom + 1, len(self.cells)))
                for column in range(left, min(right + 1, width))
            )
            self.covers.update(dict.fromkeys(area, (top, left)))

    def _stands_for_number(self, row: int, column: int) -> bool:
        """A mark beside a number, below one, or above one and under a header."""
        if not may_hide(self.cells[row][column]):
            return False
        above = self.cells[row - 1][column] if row else ""
        below = self.cells[row + 1][column] if row + 1 < len(self.cells) else ""
        beside = any(is_number(cell) for cell in self.cells[row][1:])
        return beside or is_number(above) or (above != "" and is_number(below))

    def hides(self, cell: Cell) -> bool:
        return may_hide(cell) and folded(str(cell)) in self.letters

    def figure(self, cell: Cell) -> bool:
        return cell != "" and (is_number(cell) or self.hides(cell))

    def texts(self, rows: Iterable[int]) -> list[str]:
        return [
            str(cell)
            for row in rows
            if 0 <= row < len(self.cells)
            for cell in self.cells[row]
            if isinstance(cell, str) and cell
        ]


@dataclass(slots=True)
class Block:
    """One table. `rows` have numbers, `sections` only a label; `codes` are columns that say the same as a label."""

    page: Page
    header: list[int]
    rows: list[int]
    sections: list[int]
    stubs: list[int]
    columns: list[int]
    codes: list[int]
    title: list[str] = field(default_factory=list)
    measure: str = ""  # that a heading names: "Number", "Per cent"

    def name_of(self, column: int) -> str:
        """The text in the header above a column of labels."""
        texts = [str(self.page.cells[row][column]) for row in self.header if self.page.cells[row][column] != ""]
        return texts[-1] if texts else ""

    def number_cells(self, column: int) -> list[Cell]:
        return [self.page.cells[row][column] for row in self.rows if self.page.cells[row][column] != ""]


def blocks_of(page: Page) -> list[Block]:
    """The tables of a sheet from top to bottom, those beside each other from left to right."""
    found, end = list[Block](), -1
    for rows, sections in _segments(page):
        if len(rows) == 1 and all(YEAR.fullmatch(str(page.cells[rows[0]][place])) for place in _figures(page, rows[0])):
            continue  # "date: 2021", above a table
        header, ahead = _header(page, rows, end)
        first = min([*header, rows[0]])
        for measure, some, headings in _by_measure(page, rows, sorted([*ahead, *sections])):
            for block in _split(page, header, some, headings):
                block.title, block.measure = page.texts(range(end + 1, first)), measure
                found.append(block)
        end = rows[-1]
    return found


def _by_measure(page: Page, rows: Sequence[int], sections: Sequence[int]) -> list[tuple[str, list[int], list[int]]]:
    """A heading such as "Per cent" inside a table begins another one with the same header."""
    found: list[tuple[str, list[int], list[int]]] = [("", [], [])]
    headings = set(sections)
    for row in sorted([*rows, *sections]):
        text = next((str(cell) for cell in page.cells[row] if cell != ""), "")
        measure = measure_of(plain_label(text)) if row in headings else ""
        if measure in ("count", "percent") and not is_total(text):
            found.append((measure, [], []))
        elif row in headings:
            found[-1][2].append(row)
        else:
            found[-1][1].append(row)
    return [part for part in found if part[1]]


def notes_of(page: Page, blocks: Sequence[Block]) -> list[str]:
    """All texts that are not part of a table."""
    inside = {row for block in blocks for row in (*block.rows, *block.sections, *block.header)}
    return page.texts(row for row in range(len(page.cells)) if row not in inside)


# Rows


def _is_body(page: Page, row: int) -> bool:
    """Whether a row has a number or a mark behind its label."""
    places = [place for place, cell in enumerate(page.cells[row]) if cell != ""]
    return any(page.figure(page.cells[row][place]) for place in places[1:]) and not _counts_columns(page, row)


def _counts_columns(page: Page, row: int) -> bool:
    """A header of years or of single ages, or numbers that name columns: 1, 2, 3."""
    cells = [cell for cell in page.cells[row][1:] if cell != ""]
    if row + 1 >= len(page.cells) or not cells or not all(is_number(cell) for cell in cells):
        return False
    numbers = [str(cell) for cell in cells]
    if all(YEAR.fullmatch(number) for number in numbers):
        above = page.cells[row - 1][1:] if row else []
        label = str(page.cells[row][0])
        return (
            not YEAR.fullmatch(label)
            and (len(set(numbers)) > 1 or not any(cell != "" for cell in above))
            and len(set(numbers)) * 2 >= len(numbers) > 0
            and _ascending(numbers)
        )
    steps = [int(number) for number in numbers if number.isdecimal()]
    return len(steps) == len(numbers) >= 3 and all(after == before + 1 for before, after in pairwise(steps))


def _ascending(numbers: Sequence[str]) -> bool:
    distinct = list(dict.fromkeys(numbers))
    return distinct in (sorted(distinct), sorted(distinct, reverse=True))


def _segments(page: Page) -> list[tuple[list[int], list[int]]]:
    """Rows with numbers that belong to one table, and the rows between them that have a label only."""
    found: list[tuple[list[int], list[int]]] = []
    between, columns = list[int](), set[int]()
    for row in range(len(page.cells)):
        if _is_body(page, row):
            here = set(_figures(page, row))
            if (
                found
                and _goes_on(page, found[-1][0][-1], row, between)
                and here & columns
                and (not between or here <= columns)
            ):
                found[-1][0].append(row)
                found[-1][1].extend(between)
                columns |= here
            else:
                found.append(([row], []))
                columns = here
            between = []
        elif found and any(cell != "" for cell in page.cells[row]):
            between.append(row)
    return found


def _goes_on(page: Page, last: int, row: int, between: Sequence[int]) -> bool:
    """Whether only headings stand between a row and the table above it."""
    if row - last > len(between) + 3 or len(between) > 2:
        return False
    for one in between:
        texts = [cell for cell in page.cells[one] if cell != ""]
        if len(texts) > 1 or len(str(texts[0])) > LONGEST_HEADING or _starts_table(str(texts[0])):
            return False
    return True


def _starts_table(text: str) -> bool:
    return folded(text).startswith(("table ", "tabelle ", "source", "note"))


def _figures(page: Page, row: int) -> list[int]:
    places = [place for place, cell in enumerate(page.cells[row]) if cell != ""]
    return [place for place in places[1:] if page.figure(page.cells[row][place])]


def _header(page: Page, rows: Sequence[int], end: int) -> tuple[list[int], list[int]]:
    """The rows above the numbers that have texts over them, and headings between the header and the first number."""
    columns = {place for row in rows for place in _figures(page, row)}
    header, ahead, blank = list[int](), list[int](), 0
    for row in range(rows[0] - 1, end, -1):
        places = [place for place, cell in enumerate(page.cells[row]) if cell != ""]
        if not places:
            blank += 1
            if header or blank > 1:
                break
            continue
        over = [place for place in places if place in columns]
        longest = max(len(str(page.cells[row][place])) for place in places)
        if not over or (len(places) == 1 and longest > LONGEST_HEADING):
            if header or longest > LONGEST_HEADING:
                break
            ahead.insert(0, row)
            continue
        if (
            len(places) == 1
            and not header
            and row + 1 == rows[0]
            and row - 1 > end
            and _over(page, row - 1, columns) > 1
        ):
            ahead.insert(0, row)  # a heading in the middle, below the header
            continue
        header.insert(0, row)
    return header, ahead if header else []


def _over(page: Page, row: int, columns: set[int]) -> int:
    return sum(page.cells[row][place] != "" for place in columns)


# Columns


def _split(page: Page, header: list[int], rows: list[int], sections: list[int]) -> list[Block]:
    """Tables beside each other: a column of labels begins the next one."""
    width = len(page.cells[0])
    kinds = [_kind(page, rows, column) for column in range(width)]
    starts = [0]
    for column in range(1, width - 1):
        behind = kinds[column - 1] in ("", "figure") and "figure" in kinds[starts[-1] : column]
        if kinds[column] == "label" and behind and "figure" in kinds[column + 1 :] and _distinct(page, rows, column):
            starts.append(column)
    found = []
    for start, stop in zip(starts, [*starts[1:], width], strict=True):
        inside = [row for row in rows if any(page.figure(cell) for cell in page.cells[row][start + 1 : stop])]
        if inside:
            own = [
                row
                for row in sections
                if row > min(header, default=-1) and page.cells[row][start:stop].count("") < stop - start
            ]
            block = _columns(Block(page, header, inside, own, [], [], []), dict(enumerate(kinds[start:stop], start)))
            if block.columns:
                found.append(block)
    return found


def _kind(page: Page, rows: Sequence[int], column: int) -> str:
    cells = [page.cells[row][column] for row in rows if page.cells[row][column] != ""]
    figures = sum(page.figure(cell) for cell in cells)
    numbers = sum(is_number(cell) for cell in cells)
    if (
        cells
        and not numbers
        and len(cells) < len(rows)
        and column
        and any(is_number(page.cells[row][column - 1]) for row in rows)
    ):
        return "flag"  # letters beside numbers, in some rows
    if cells and figures >= ALIKE * len(cells) and (numbers or column):
        return "figure"
    return "label" if cells else ""


def _distinct(page: Page, rows: Sequence[int], column: int) -> bool:
    """Labels, and not letters or footnotes beside numbers."""
    texts = [str(page.cells[row][column]) for row in rows if page.cells[row][column] != ""]
    return len(texts) >= MOSTLY * len(rows) and len(set(texts)) > 1 and any(len(text) > 2 for text in texts)


def _columns(block: Block, kinds: Mapping[int, str]) -> Block:
    """Which columns have labels, codes and numbers."""
    labels = [column for column, kind in kinds.items() if kind == "label"]
    figures = [column for column, kind in kinds.items() if kind == "figure"]
    ahead = {column: sum(figure < column for figure in figures) for column in labels}
    varied = [column for column in labels if len(set(map(str, block.number_cells(column)))) > 1]
    leading = [column for column in labels if not ahead[column] or (ahead[column] == 1 and column in varied)]
    block.stubs = leading or figures[:1]
    codes = [figure for figure in figures if leading and figure < leading[-1]]
    for column in figures:
        if column in block.stubs or (
            column not in codes and not (column - 1 in block.stubs or column - 1 in block.codes)
        ):
            continue
        if _numbers_label(block, column):
            block.stubs.append(column)
        elif column in codes:
            block.codes.append(column)
    block.stubs.sort()
    block.columns = [column for column in figures if column not in (*block.stubs, *block.codes)]
    for column in block.stubs[:-1] if len(block.stubs) > 1 else []:
        if any(
            _same(block, column, other) for other in block.stubs if other not in (column, *block.codes)
        ) and _is_code(block, column):
            block.codes.append(column)
    block.stubs = [column for column in block.stubs if column not in block.codes]
    return block


def _numbers_label(block: Block, column: int) -> bool:
    """Years, or ages in single years, in a column with labels."""
    texts, name = [str(cell) for cell in block.number_cells(column)], folded(block.name_of(column))
    if texts and all(YEAR.fullmatch(text) for text in texts):
        return len(set(texts)) < len(texts) or "year" in name or name in ("jahr", "période", "period")
    return name in ("age", "single year of age", "age in years", "alter") and measure_of(name) == ""


def _same(block: Block, first: int, second: int) -> bool:
    """Whether each label in one column always has the same one in the other."""
    pairs = {(str(block.page.cells[row][first]), str(block.page.cells[row][second])) for row in block.rows}
    return len(pairs) == len({one for one, _ in pairs}) == len({two for _, two in pairs}) > 1


def _is_code(block: Block, column: int) -> bool:
    texts = [str(cell) for cell in block.number_cells(column)]
    return all(" " not in text and (text.isupper() or any(map(str.isdigit, text))) for text in texts)
