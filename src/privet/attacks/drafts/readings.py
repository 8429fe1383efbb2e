"""One table of a draft: what its rows, columns and numbers mean, as far as the sheet tells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from privet.attacks.drafts.divisions import Axis, Dim, Group, Line, Parts, Reading
from privet.attacks.drafts.label_trees import Node, column_nodes, column_paths, odd_cells, row_nodes
from privet.attacks.drafts.layout import Block
from privet.attacks.drafts.vocabulary import (
    BELOW,
    CODE,
    FEMALE,
    MALE,
    Meaning,
    is_number,
    is_total,
    measure_of,
    sort_of,
    times_of,
    unflagged,
    without_percent,
)
from privet.attacks.release.sheet_cells import Cell, coordinate, number_of
from privet.attacks.release.sheet_labels import folded

CLOSE = Decimal("0.6")  # of the last digit of a percentage
ENOUGH = 3  # percentages that must fit


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of all numbers on a sheet: what marks mean, the rounding base and how far it moves a number."""

    marks: dict[str, Meaning]
    point: str
    slack: int


@dataclass(slots=True)
class Column:
    """What the numbers of a column are: a measure ("" if nobody knows), and of a percentage what it is a part of: all
    of the "row", those of the row below the same upper header ("part"), all of the "column", or "all"."""

    measure: str
    base: str = ""
    times: int = 1


@dataclass(slots=True)
class TableDraft:
    """What is understood of a table: `across` of its columns; `down` of its rows, for each column of labels. `lines`
    are the rows that can be read, `dims` all divisions of people in it, `asks` what is open."""

    block: Block
    facts: Facts
    columns: dict[int, Column] = field(default_factory=dict)
    across: dict[int, Reading | None] = field(default_factory=dict)
    down: dict[int, dict[int, Reading]] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    skip: list[str] = field(default_factory=list)
    dims: list[Dim] = field(default_factory=list)
    asks: list[str] = field(default_factory=list)
    times: int = 1

    @property
    def place(self) -> str:
        return f"{self.block.page.name}, rows {self.block.rows[0] + 1} to {self.block.rows[-1] + 1}"

    def number(self, row: int, column: int) -> Decimal | None:
        """None of a hidden number, and of what is no number."""
        return number_in(self.block.page.cells[row][column], self.facts)


def number_in(cell: Cell, facts: Facts) -> Decimal | None:
    if isinstance(cell, str) and cell in facts.marks:
        return Decimal(0) if facts.marks[cell].zero else None
    return number_of(cell if isinstance(cell, Decimal) else unflagged(cell), facts.point)


def read_table(block: Block, facts: Facts) -> TableDraft:
    """What a table says, and what it leaves open."""
    draft = TableDraft(block, facts)
    paths, guessed = column_paths(block)
    for column in block.codes:
        numbers = any(is_number(cell) or BELOW.fullmatch(str(cell)) for cell in block.number_cells(column))
        if numbers or not CODE.search(block.name_of(column)):
            name, what = coordinate(0, column)[:-1], "numbers" if numbers else "texts"
            draft.asks.append(f"{draft.place}: are the {what} in column {name} only codes for the labels?")
    if guessed:
        draft.asks.append(f"{draft.place}: does each upper heading cover all columns up to the next heading?")
    draft.times = times_of([*block.title, *(text for path in paths.values() for text in path)])
    _measures(draft, paths)
    _read_columns(draft, paths)
    _read_rows(draft)
    for column in (column for column, said in draft.columns.items() if said.measure):
        draft.skip += [coordinate(row, column) for row in odd_cells(block, column)]
    _bases(draft)
    return draft


# Measures


def _measures(draft: TableDraft, paths: dict[int, list[str]]) -> None:
    """The words about measures leave the paths."""
    title = [measure_of(text) for text in draft.block.title]
    for column, path in paths.items():
        said, kept = draft.block.measure, list[str]()
        for text in path:
            measure = "" if is_total(text) else measure_of(text)
            said = said if measure in ("", "count") and said else measure or said
            if measure == "percent":
                rest = without_percent(text)
                kept += [rest] if rest and measure_of(rest) != "count" else []
            elif not measure:
                kept.append(text)
        paths[column] = kept
        draft.columns[column] = _measure(draft, column, said, in_title="percent" in title)


def _measure(draft: TableDraft, column: int, said: str, *, in_title: bool) -> Column:
    page = draft.block.page
    cells = [(row, page.cells[row][column]) for row in draft.block.rows]
    numbers = [number for row, _ in cells if (number := draft.number(row, column)) is not None]
    shown = any((row, column) in page.look.percents for row, _ in cells)
    percent = shown or any(isinstance(cell, str) and cell.endswith("%") for _, cell in cells)
    whole = all(number == int(number) and number >= 0 for number in numbers)
    if said in ("", "count", "percent") and (percent or said == "percent"):
        return Column("percent", times=100 if shown else 1)
    if said in ("", "count") and in_title and not (whole and max(numbers, default=Decimal(0)) > 100):
        return Column("percent")
    if said in ("", "count"):
        return Column("count" if whole or draft.times > 1 else "")
    return Column("" if said == "other" else said)


# Columns and rows


def _read_columns(draft: TableDraft, paths: dict[int, list[str]]) -> None:
    names, used = [], {column: path for column, path in paths.items() if draft.columns[column].measure}
    everywhere = {folded(text) for text in next(iter(used.values()), [])}
    for path in used.values():
        everywhere &= {folded(text) for text in path}
    lone = len({tuple(path) for path in used.values()}) == 1
    for column, path in used.items():
        fixed = [text for text in path if folded(text) in everywhere]
        kept = [text for text in path if folded(text) not in everywhere or (lone and _restricts(text))]
        names += [text for text in fixed if text not in names]
        used[column] = kept
    counts = [column for column in used if draft.columns[column].measure == "count"]
    if len(counts) == 1 and len(used[counts[0]]) == 1 and not sort_of(used[counts[0]]):
        used[counts[0]] = []  # "Patients", beside their mean age: what is counted, and not whom
    axis = Axis(lambda column: _line(draft, ((row, column) for row in draft.block.rows), draft.columns[column]),
                draft.facts.slack, [], f"{draft.place}, header", draft.block.title)  # fmt: skip
    draft.across = dict.fromkeys(used)
    groups: list[Group] = []
    for measure in dict.fromkeys(draft.columns[column].measure for column in used):
        same = {column: path for column, path in used.items() if path and draft.columns[column].measure == measure}
        if same:
            groups.append((column_nodes(same), ()))
    if groups:
        axis.read(groups, [name for name in names if not is_total(name)])
    draft.across |= axis.found
    draft.dims += axis.dims
    draft.asks += axis.asks


def _restricts(text: str) -> bool:
    return folded(text) in MALE | FEMALE


def _line(draft: TableDraft, cells: Iterable[tuple[int, int]], said: Column | None = None) -> Line:
    """Counts only: other numbers do not add up."""
    if said is not None and said.measure != "count":
        return {}
    found: Line = {}
    for row, column in cells:
        if said is None and (column not in draft.columns or draft.columns[column].measure != "count"):
            continue
        cell = draft.block.page.cells[row][column]
        if cell != "":
            found[column if said is None else row] = draft.number(row, column)
    return found


def _read_rows(draft: TableDraft) -> None:
    block = draft.block
    factors = row_nodes(block)
    nodes_of = {
        column: {node.place: node for node in _every(nodes) if node.place is not None} for column, nodes in factors
    }
    odd = {
        row for known in nodes_of.values() for row, node in known.items() if not node.label or _is_measure(node.label)
    }
    for column, nodes in factors:
        axis = Axis(lambda row: _line(draft, ((row, one) for one in block.columns)), draft.facts.slack, [],
                    f"{draft.place}, column {coordinate(0, column)[:-1]}", block.title)  # fmt: skip
        groups: list[Group] = [(_without(nodes, odd), ())]
        if len(factors) > 1:
            others = [known for other, known in nodes_of.items() if other != column]
            sets: dict[tuple[str, ...], list[Node]] = {}
            for node in nodes:
                if node.place is not None and node.place not in odd:
                    sets.setdefault(tuple(folded(known[node.place].label) for known in others), []).append(node)
            groups = [(siblings, ()) for siblings in sets.values()]
        name = block.name_of(column)
        if any(siblings for siblings, _ in groups):
            axis.read(groups, [name] if name else [])
        for row, reading in axis.found.items():
            draft.down.setdefault(row, {})[nodes_of[column][row].column] = reading
        draft.dims += axis.dims
        draft.asks += axis.asks
    draft.lines = [row for row in block.rows if len(draft.down.get(row, {})) == len(factors)]
    read = set(draft.lines)
    left = [row + 1 for row in block.rows if row not in read]
    if left:
        rows = f"row{'s' * (len(left) > 1)} {_listed(left)}"
        draft.asks.append(f"{block.page.name}: what do the numbers in {rows} say, and about whom? They are not read")


def _every(nodes: Iterable[Node]) -> Iterable[Node]:
    for node in nodes:
        yield node
        yield from _every(node.children)


def _without(nodes: list[Node], odd: set[int]) -> list[Node]:
    for node in nodes:
        node.children = _without(node.children, odd)
    return [node for node in nodes if node.place not in odd]


def _is_measure(label: str) -> bool:
    return not is_total(label) and measure_of(label) not in ("", "count")


def _listed(rows: Sequence[int]) -> str:
    return ", ".join(map(str, rows[:6])) + (f" and {len(rows) - 6} more" if len(rows) > 6 else "")


# What percentages are parts of


def _bases(draft: TableDraft) -> None:
    counts: dict[tuple[object, object], Decimal] = {}
    for row in draft.lines:
        for column, said in draft.columns.items():
            number = draft.number(row, column)
            if said.measure == "count" and number is not None:
                counts[_key(draft.down[row].values()), _key([draft.across.get(column)])] = number
    for column, said in draft.columns.items():
        if said.measure == "percent":
            said.base = _by_counts(draft, column, counts) or _by_hundreds(draft, column)
            if not said.base:
                name = coordinate(0, column)[:-1]
                draft.asks.append(
                    f"{draft.place}: of which total are the percentages in column {name} taken? They are not read"
                )
    for column in [column for column, said in draft.columns.items() if not said.measure]:
        shown = coordinate(0, column)[:-1]
        draft.asks.append(f"{draft.place}: what do the numbers in column {shown} mean? They are not read")


def _key(readings: Iterable[Reading | None]) -> frozenset[tuple[int, str]]:
    """Whom they are about; totals are nobody in particular."""
    parts = [part for reading in readings if reading is not None for part in parts_of(reading)]
    return frozenset((id(dim), folded(label)) for dim, label in parts)


def parts_of(reading: Reading) -> Parts:
    """Whom a row or a column is about."""
    own = () if reading.label in reading.dim.totals else ((reading.dim, reading.label),)
    return (*upper_of(reading), *own)


def upper_of(reading: Reading) -> Parts:
    """Whom it is about besides its own label."""
    return tuple(part for part in reading.given if part[1] not in part[0].totals)


def _share(draft: TableDraft, row: int, column: int) -> tuple[Decimal, Decimal] | None:
    """A percentage, and by how much it may be off."""
    cell = draft.block.page.cells[row][column]
    number = draft.number(row, column)
    if number is None or (isinstance(cell, str) and cell in draft.facts.marks):
        return None
    times = draft.columns[column].times
    unit = Decimal(1).scaleb(int(number.as_tuple().exponent)) if number != int(number) else Decimal(1)
    return number * times, CLOSE * (min(unit * times, Decimal(1)) if times > 1 else unit)


def _by_counts(draft: TableDraft, column: int, counts: dict[tuple[object, object], Decimal]) -> str:
    """What fits the counts beside them, wherever these are known."""
    own, nobody = _key([draft.across.get(column)]), frozenset[tuple[int, str]]()
    reading = draft.across.get(column)
    upper = frozenset((id(dim), folded(label)) for dim, label in (() if reading is None else upper_of(reading)))
    fits: dict[str, list[bool]] = {"row": [], "column": [], "all": [], "part": []}
    for row in draft.lines:
        share, of = _share(draft, row, column), _key(draft.down[row].values())
        count = counts.get((of, own))
        if share is None or count is None:
            continue
        keys = {"row": (of, nobody), "column": (nobody, own), "all": (nobody, nobody)}
        for base, key in (keys | ({"part": (of, upper)} if upper else {})).items():
            whole = counts.get(key)
            if whole:
                slack = share[1] + 100 * Decimal(draft.facts.slack) / whole
                fits[base].append(abs(100 * count / whole - share[0]) <= slack)
    certain = [base for base, fit in fits.items() if len(fit) >= ENOUGH and all(fit)]
    if not own and "column" in certain:
        return "all"
    return certain[0] if len(certain) == 1 else ""


def _by_hundreds(draft: TableDraft, column: int) -> str:
    """Where percentages add up to 100, or their total is 100: over the columns, or over the rows."""
    reading = draft.across.get(column)
    parts, wholes = _beside(draft, reading)
    across = [_is_hundred(draft, [(row, one) for one in parts]) for row in draft.lines] if len(parts) > 1 else []
    across += [_is_hundred(draft, [(row, one)]) for row in draft.lines for one in wholes]
    known = [one for one in across if one is not None]
    row_wise = len(known) >= 2 and all(known)
    total, cells = list[int](), list[int]()
    for row in draft.lines:
        (total if not _key(draft.down[row].values()) else cells).append(row)
    down = [_is_hundred(draft, [(row, column)]) for row in total]
    dims = {id(one.dim) for row in cells for one in draft.down[row].values()}
    if len(dims) == 1 and all(
        len(draft.down[row]) == 1 and not one.given for row in cells for one in draft.down[row].values()
    ):
        leaves = [row for row in cells if all(one.label in one.dim.labels for one in draft.down[row].values())]
        down.append(_is_hundred(draft, [(row, column) for row in leaves]) if len(leaves) > 1 else None)
    column_wise = bool([one for one in down if one is not None]) and all(one for one in down if one is not None)
    if row_wise == column_wise:
        return ""
    if row_wise:
        return "part" if reading is not None and upper_of(reading) else "row"
    return "column" if reading is not None and parts_of(reading) else "all"


def _beside(draft: TableDraft, reading: Reading | None) -> tuple[list[int], list[int]]:
    """Columns of percentages of the same division, and those of its total."""
    parts, wholes = list[int](), list[int]()
    for column, other in draft.across.items():
        same = reading is not None and other is not None and (other.dim, other.given) == (reading.dim, reading.given)
        if same and other is not None and draft.columns[column].measure == "percent":
            (parts if other.label in other.dim.labels else wholes).append(column)
    return parts, wholes


def _is_hundred(draft: TableDraft, cells: Sequence[tuple[int, int]]) -> bool | None:
    """None if one of them is hidden."""
    shares = [_share(draft, row, column) for row, column in cells]
    if not shares or any(share is None for share in shares):
        return None
    known = [share for share in shares if share is not None]
    whole = sum((share for share, _ in known), Decimal(0))
    return bool(abs(whole - 100) <= sum((slack for _, slack in known), Decimal(0)))


def marks_in(block: Block) -> list[str]:
    """Texts among the numbers of a table that are no numbers."""
    cells = [cell for column in block.columns for cell in block.number_cells(column)]
    return list(dict.fromkeys(str(cell) for cell in cells if isinstance(cell, str) and not is_number(cell)))
