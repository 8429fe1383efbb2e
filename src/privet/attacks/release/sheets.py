"""Tables in sheets: a short mapping says which cells are what, and every published cell becomes a statistic.

Long layout: some columns hold labels, others numbers. Cross layout: the labels of one attribute stand in the header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from privet.attacks.release.published import (
    BOUNDS,
    MEASURES,
    QUALIFIERS,
    ROUNDINGS,
    SAID,
    Reader,
    at,
    mapping,
    only,
    sequence,
    suppression,
    written_unit,
)
from privet.attacks.release.sheet_cells import Cell, Sheet, coordinate, number_of, open_sheet
from privet.attacks.release.sheet_labels import Labels, both, folded
from privet.attacks.release.statistics import EVERYBODY, Between, Mark, Statistic
from privet.attacks.release.unread import Area, unread_cells, unread_sheets
from privet.catalog.declarations import listed, texts
from privet.core.expression import Expression
from privet.core.rational import positive, show, whole
from privet.errors import InvalidInputError

OPTIONS = {"quantile": ("level", "discrete"), "median": ("discrete",), "percent": ("of",)}
KEYS = (
    "file", "sheet", "frame", "name", "delimiter", "header", "rows", "values", "columns", "value", "where", "total",
    "suppressed", "zeros", "decimal", "fill", "ignore", "lines", "skip", "rounded", "random_rounded", "decimals",
    "times",
)  # fmt: skip
BEGINS = re.compile(r"[<>≤≥~+\u2212-]?\s*[0-9]")
ROWS = re.compile(r"([1-9][0-9]{0,8}):([1-9][0-9]{0,8})")
COLUMN = re.compile(r"([A-Z]{1,3}):\1")  # C:C, as a spreadsheet says it
CELL = re.compile(r"[A-Z]{1,3}[1-9][0-9]{0,8}")
MOST_COLUMNS = 12  # named in a remedy
ANY = Between(Fraction(0))  # a count of which nothing is known


@dataclass(frozen=True, slots=True)
class SheetsRead:
    """Every published cell of the tables that a document names; what was not read; what is no part of the release."""

    statistics: tuple[Statistic, ...]
    unread: tuple[str, ...]
    ignored: tuple[str, ...]


def read_sheets(document: Mapping[str, Any], reader: Reader, folder: Path, workbook: Path | None) -> SheetsRead:
    """What the sheets say that a document names."""
    if workbook is None and "workbook" in document:
        if not isinstance(document["workbook"], str):
            raise InvalidInputError(
                f"workbook is {show(document['workbook'])}", 'write workbook = "x.xlsx"', "wrong-type"
            )
        workbook = folder / document["workbook"]
    found, opened = list[Statistic](), dict[str, tuple[Sheet, list[Area]]]()
    ignored, skipped = texts(document.get("ignore", ()), "ignore"), list[str]()
    said, known = [f"sheet {show(name)}" for name in ignored], dict[tuple[str, ...], Sheet]()
    for place, entry in enumerate(sequence(document.get("tables", []), "tables"), 1):
        with at(f"table {place}"):
            given = mapping(entry, "it")
            only(given, KEYS)
            source = tuple(repr(given.get(name)) for name in ("file", "sheet", "delimiter"))
            if "frame" in given or source not in known:
                known[source] = open_sheet(given, folder, workbook)
            sheet = known[source]
        with at(sheet.place):
            table = _Table(given, document, reader, sheet)
            found += list(table.statistics())
        key = f"frame {id(given['frame'])}" if "frame" in given else sheet.place
        opened.setdefault(key, (sheet, []))[1].append(table.area)
        skipped += [f"cell {cell} of {sheet.name}" for cell in table.skipped]
        said += [f"{show(name)} of {sheet.name}" for name in texts(given.get("ignore", ()), "ignore")]
    unread = list[str]()
    if workbook is not None:
        unread += unread_sheets(workbook, [sheet.name for sheet, _ in opened.values()], ignored)
    for sheet, areas in opened.values():
        unread += unread_cells(sheet, areas)
    unread += dict.fromkeys(skipped)
    return SheetsRead(tuple(found), tuple(unread), tuple(said))


def statistics_of(
    given: Mapping[str, Any], document: Mapping[str, Any], reader: Reader, sheet: Sheet
) -> list[Statistic]:
    """What one entry of [[tables]] says of a sheet."""
    only(given, KEYS)
    with at(sheet.place):
        return list(_Table(given, document, reader, sheet).statistics())


Labeled = tuple[str, str, Expression]  # attribute or [labels] section, label, whom it means


@dataclass(frozen=True, slots=True)
class _Said:
    """What the cells of a column say: a measure, of which attribute, how the numbers were rounded, and about whom."""

    measure: str
    attribute: str | None
    qualifiers: Mapping[str, Any]
    options: Mapping[str, Any]
    where: Expression = EVERYBODY
    condition: str = ""
    times: Fraction = Fraction(1)

    def published(self, number: Decimal) -> dict[str, Any]:
        """The number and what is known about it. One in thousands was rounded to the digits that were written."""
        if self.times == 1:
            return {"value": number, **self.qualifiers}
        value, unit = Fraction(number) * self.times, written_unit(number) * self.times
        if any(name in self.qualifiers for name in ROUNDINGS):
            return {"value": value, **self.qualifiers}
        if value % unit:  # more digits than a spreadsheet computes
            return {"least": value - unit / 2, "most": value + unit / 2, **self.qualifiers}
        return {"value": value, "rounded": unit, **self.qualifiers}

    @property
    def words(self) -> list[str]:
        """Before the labels in a name; a count goes without saying."""
        measured = "" if self.measure == "count" else " ".join(filter(None, (self.measure, self.attribute)))
        return [words for words in (measured, self.condition) if words]


@dataclass(frozen=True, slots=True)
class _Group:
    """Whom a cell is about."""

    labels: tuple[Labeled, ...]

    def where(self, names: list[str] | None = None) -> Expression:
        return both(group for name, _, group in self.labels if names is None or name in names)

    @property
    def words(self) -> list[str]:
        return [f"{name} {label}" for name, label, group in self.labels if group != EVERYBODY]


class _Table:
    """One entry of [[tables]] while it is read."""

    def __init__(self, given: Mapping[str, Any], document: Mapping[str, Any], reader: Reader, sheet: Sheet) -> None:
        self.given, self.reader, self.sheet = given, reader, sheet
        self.point = given.get("decimal", document.get("decimal", "."))
        if self.point not in (".", ","):
            raise InvalidInputError(
                f"decimal is {show(self.point)}", 'write decimal = "," or leave it out', "unknown-choice"
            )
        totals = [*texts(document.get("total", ()), "total"), *texts(given.get("total", ()), "total")]
        self.labels = Labels(reader, self.point, totals, document.get("labels", {}))
        self.where = reader.conditions.read(given["where"]) if "where" in given else EVERYBODY
        self.marks = _marks(given.get("suppressed", document.get("suppressed", [])))
        self.zeros = frozenset(map(folded, texts(given.get("zeros", document.get("zeros", ())), "zeros")))
        self.skipped = _cells_named(given.get("skip", ()))
        self.first, self.header = self._header_rows()
        self.fill = given.get("fill", False)
        if not isinstance(self.fill, bool):
            raise InvalidInputError(f"fill is {show(self.fill)}", "write fill = true or leave it out", "wrong-type")
        if not any(cell != "" for row in sheet.rows for cell in row):
            raise InvalidInputError("it is empty", "write the tables into it, or name another one", "empty")
        if not any(cell != "" for cell in self._row(self.header)):
            raise InvalidInputError(
                f"row {self.header + 1} is empty", "write header = the row with the column names", "missing-header"
            )
        self.names = self._label_columns()
        self.ignored_columns, self.ignored_rows = self._ignored()
        self.columns = self._value_columns()
        self.lines = self._lines()

    @property
    def area(self) -> Area:
        """The cells that it speaks of."""
        columns = frozenset({*self.names, *self.columns, *self.ignored_columns})
        rows = frozenset([*range(self.first, self.header + 1), *self.lines])
        return Area(self.header, rows, columns, self.ignored_rows, frozenset([*self.marks, *self.zeros]))

    def statistics(self) -> Iterator[Statistic]:
        """Cell by cell, row by row."""
        found = False
        above: dict[int, str] = {}
        for row in self.lines:
            if row in self.ignored_rows:
                continue
            labels = [self._label(row, place, name, above) for place, name in self.names.items()]
            for place, (said, more) in self.columns.items():
                with at(coordinate(row, place)):
                    statistic = self._statistic(row, place, said, _Group((*labels, *more)))
                if statistic is not None:
                    found = found or statistic.mark != "empty"
                    yield statistic
        if not found:
            raise InvalidInputError(
                "it publishes nothing", "check header, rows and values; a table ends at the first empty row", "empty"
            )

    # Which rows and columns are what

    def _header_rows(self) -> tuple[int, int]:
        """The first row of the header and the last, which has the names of the columns."""
        given = self.given.get("header", 1)
        band = ROWS.fullmatch(given) if isinstance(given, str) else None
        if band is None:
            header = whole(given, "header", 1) - 1
            return header, header
        return int(band[1]) - 1, _end_of(band, "header") - 1

    def _lines(self) -> list[int]:
        """The rows with the numbers: those that `lines` lists, or all below the header up to the first empty one."""
        if "lines" not in self.given:
            below = range(self.header + 1, len(self.sheet.rows))
            end = next((row for row in below if not any(cell != "" for cell in self._row(row))), len(self.sheet.rows))
            return list(below[: end - self.header - 1])
        found = list[int]()
        for name in texts(self.given["lines"], "lines"):
            rows = ROWS.fullmatch(name)
            if rows is None:
                raise InvalidInputError(
                    f"lines lists {show(name)}", 'write rows as a spreadsheet does: lines = ["5:9"]', "wrong-format"
                )
            end, height = _end_of(rows, "lines"), len(self.sheet.rows)
            if int(rows[1]) <= self.header + 1 or end > height:
                raise InvalidInputError(
                    f"lines lists {show(name)}, but rows {self.header + 2} to {height} are below the header",
                    "list those with the numbers",
                    "out-of-range",
                )
            found += range(int(rows[1]) - 1, end)
        return sorted(set(found))

    def _row(self, row: int) -> list[Cell]:
        return list(self.sheet.rows[row]) if row < len(self.sheet.rows) else []

    def _column(self, name: object) -> int:
        """The place of a column, by the text in the header or else by its letter."""
        header = self._row(self.header)
        places = [p for p, cell in enumerate(header) if isinstance(name, str) and folded(str(cell)) == folded(name)]
        if len(places) > 1:
            raise InvalidInputError(f"there are two columns {show(name)}", "rename one", "duplicate-name")
        if places:
            return places[0]
        width = max(map(len, self.sheet.rows))
        letter = str(name).partition(":")[0] if COLUMN.fullmatch(str(name)) else name
        letters = [p for p in range(width) if coordinate(0, p) == f"{letter}1"]
        if letters:
            return letters[0]
        shown = ", ".join(show(str(cell)) for cell in header[:MOST_COLUMNS] if cell != "")
        raise InvalidInputError(
            f"there is no column {show(name)} in row {self.header + 1}",
            f"the columns are {shown}; B or B:B works too",
            "unknown-column",
        )

    def _label_columns(self) -> dict[int, str]:
        """place -> the attribute or [labels] section of its labels."""
        found = {}
        for entry in sequence(self.given.get("rows", []), "rows"):
            named = entry if isinstance(entry, Mapping) else {"column": entry, "attribute": entry}
            only(named, ("column", "attribute"))
            column = named.get("column", named.get("attribute"))
            found[self._column(column)] = self.labels.check(named.get("attribute", column))
        return found

    def _ignored(self) -> tuple[frozenset[int], frozenset[int]]:
        """Columns and rows that are no part of the release. Rows stand there as in a spreadsheet: 7:9."""
        columns, rows = set[int](), set[int]()
        for name in texts(self.given.get("ignore", ()), "ignore"):
            named = ROWS.fullmatch(name)
            if named is None or name in map(str, self._row(self.header)):
                columns.add(self._column(name))
            else:
                rows.update(range(int(named[1]) - 1, min(int(named[2]), len(self.sheet.rows))))
        return frozenset(columns), frozenset(rows)

    def _value_columns(self) -> dict[int, tuple[_Said, tuple[Labeled, ...]]]:
        """place -> what its cells say, and the label in the header of a cross table."""
        long, cross = "values" in self.given, "columns" in self.given and "value" in self.given
        if long == cross or (long and ("columns" in self.given or "value" in self.given)):
            raise InvalidInputError(
                "it does not say what the numbers are",
                'write values = {Persons = "count"}, or columns = "race" and value = "count"',
                "not-exactly-one",
            )
        return self._cross() if cross else {place: (said, ()) for place, said in self._long()}

    def _long(self) -> Iterator[tuple[int, _Said]]:
        values = self.given["values"]
        if isinstance(values, Mapping):
            pairs = list(values.items())
        else:
            tables = [mapping(entry, "an entry of values") for entry in sequence(values, "values")]
            pairs = [(table.get("column"), {k: v for k, v in table.items() if k != "column"}) for table in tables]
        for column, said in pairs:
            with at(f"values, {show(column)}"):
                yield self._column(column), self._said(said)

    def _cross(self) -> dict[int, tuple[_Said, tuple[Labeled, ...]]]:
        name = self.labels.check(self.given["columns"])
        with at("value"):
            said = self._said(self.given["value"])
        found: dict[int, tuple[_Said, tuple[Labeled, ...]]] = {}
        for place, cell in enumerate(self._row(self.header)):
            if cell != "" and place not in self.names and place not in self.ignored_columns:
                with at(coordinate(self.header, place)):
                    found[place] = said, ((name, str(cell), self.labels.group(name, str(cell))),)
        return found

    def _said(self, given: Any) -> _Said:
        """ "mean age", or {mean = "age", decimals = 1}."""
        if isinstance(given, str):
            word, _, attribute = given.strip().partition(" ")
            given = {word: attribute.strip() or True}
        table = mapping(given, "it")
        measures = [name for name in SAID if name in table]
        if len(measures) != 1:
            raise InvalidInputError(
                "it does not name one measure", f'use one of {listed(SAID)}, such as "mean age"', "not-exactly-one"
            )
        measure, attribute = measures[0], table[measures[0]]
        if measure in MEASURES:
            self.reader.check_measured(attribute, measure)
        elif attribute is not True:
            raise InvalidInputError(
                f"{measure} is of people, not of {show(attribute)}", f'write "{measure}"', "unneeded-option"
            )
        extra = OPTIONS.get(measure, ())
        only(table, (measure, "where", "times", *QUALIFIERS, *extra))
        own = {name: table[name] for name in QUALIFIERS if name in table}
        words = ("rounded", "random_rounded") if measure == "count" else ("decimals",)
        shared = {name: self.given[name] for name in words if name in self.given}
        options = {name: table[name] for name in extra if name in table}
        times = table.get("times", self.given.get("times", 1) if measure == "count" else 1)
        rounded = any(name in own for name in ROUNDINGS)
        said = _Said(measure, attribute if measure in MEASURES else None, own if rounded else shared | own, options)
        said = replace(said, times=positive(times, "times"))
        if "where" not in table:
            return said
        return replace(said, where=self.reader.conditions.read(table["where"]), condition=table["where"])

    # One cell

    def _label(self, row: int, place: int, name: str, above: dict[int, str]) -> Labeled:
        cells = self._row(row)
        label = str(cells[place]) if place < len(cells) else ""
        if label == "" and self.fill:
            label = above.get(place, "")
        above[place] = label
        with at(coordinate(row, place)):
            _check_computed(label)
            if label == "":
                raise InvalidInputError(
                    f"the label of {name} is empty",
                    "write it, or fill = true if it is that of the row above",
                    "missing-value",
                )
            return name, label, self.labels.group(name, label)

    def _statistic(self, row: int, place: int, said: _Said, group: _Group) -> Statistic | None:
        """None: nothing was published there."""
        cells = self._row(row)
        cell = cells[place] if place < len(cells) else ""
        if coordinate(row, place) in self.skipped:
            return None
        _check_computed(str(cell))
        words = ", ".join([*said.words, *group.words]) or "everybody"
        name = f"{self.sheet.name} {coordinate(row, place)} ({words})"
        empty = Statistic(name=name, table=self.sheet.name, where=both((self.where, said.where, group.where())))
        if str(cell) in self.marks:
            bounds, kind = self.marks[str(cell)]
            if said.measure != "count":  # bounds are those of counts
                hides = f"{said.measure} {said.attribute}" if said.attribute else said.measure
                return replace(empty, count=ANY if said.measure == "percent" else None, mark=kind, hides=hides)
            count = self.reader.count(bounds)[0] if bounds else ANY
            return replace(empty, count=count, mark=kind)
        if cell == "":
            return replace(empty, count=ANY, mark="empty") if said.measure == "count" else None
        if folded(str(cell)) in self.zeros:
            if said.measure not in ("count", "percent"):
                return None  # of nobody there is no mean
            cell = Decimal(0)
        percent = said.measure == "percent" and isinstance(cell, str)
        number = number_of(str(cell).removesuffix("%").strip() if percent else cell, self.point)
        if number is None:
            raise InvalidInputError(f"{show(cell)} is no number", _remedy(str(cell)), "not-a-number")
        given = said.published(number)
        if said.measure == "count":
            count, kind = self.reader.count(given)
            return replace(empty, count=count, mark=kind)
        if said.measure == "percent":
            return replace(empty, measures=(self.reader.share(given, self._base(said, group)),))
        measured = {said.measure: {said.attribute: {**given, **said.options}}}
        return replace(empty, measures=self.reader.measures(measured))

    def _base(self, said: _Said, group: _Group) -> Expression:
        """Of whom a percentage is a part: a condition, or the labels of these names; otherwise the whole table."""
        of = said.options.get("of", [])
        if isinstance(of, list | tuple):
            return both((self.where, group.where([self.labels.check(name) for name in of])))
        return both((self.where, self.reader.conditions.read(of)))


def _check_computed(cell: str) -> None:
    if cell.startswith("="):
        raise InvalidInputError(
            f"the formula {show(cell)} has no value in the file",
            "open the workbook in a spreadsheet program and save it, or write values instead of formulas",
            "formula-without-value",
        )


def _remedy(cell: str) -> str:
    """What to do about a cell that is no number, without hiding one that was published."""
    if BEGINS.match(cell):
        return "write the number alone into the cell, and what is said about it into another column"
    return (
        "if it hides a number, list it in suppressed = {marks = [...]}; if nothing was published there, empty the cell;"
        ' leave a row of notes out with ignore = ["9:9"]'
    )


def _end_of(rows: re.Match[str], key: str) -> int:
    """The last row of 5:9."""
    if int(rows[2]) < int(rows[1]):
        raise InvalidInputError(
            f"{key} lists {show(rows[0])}", f"write the smaller row first: {rows[2]}:{rows[1]}", "reversed-range"
        )
    return int(rows[2])


def _cells_named(given: Any) -> tuple[str, ...]:
    """Cells that are not read, though something was published there."""
    names = texts(given, "skip")
    for name in names:
        if not CELL.fullmatch(name):
            raise InvalidInputError(
                f"skip lists {show(name)}", 'write cells as a spreadsheet does: skip = ["C7"]', "wrong-format"
            )
    return names


def _marks(given: Any) -> dict[str, tuple[dict[str, Any], Mark]]:
    """mark -> what is known of a count that it hides (nothing, if it may be any), and why it hides it."""
    found: dict[str, tuple[dict[str, Any], Mark]] = {}
    for entry in given if isinstance(given, list | tuple) else [given]:
        with at("suppressed"):
            table = mapping(entry, "it")
            only(table, ("marks", "kind", *BOUNDS))
            marks = table.get("marks", ())
            kind: Mark = suppression(table["kind"]) if "kind" in table else ""
            for mark in texts([marks] if isinstance(marks, str) else marks, "marks"):
                bounds = {name: table[name] for name in BOUNDS if name in table}
                found[re.sub(r"\s+", " ", mark.strip())] = bounds, kind
    return found
