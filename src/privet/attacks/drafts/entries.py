"""From tables that were understood to the entries of a release file. What a release file cannot say is left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from privet.attacks.drafts.attributes import Attribute, Attributes, band_in
from privet.attacks.drafts.divisions import Dim, Parts, Reading
from privet.attacks.drafts.readings import TableDraft, parts_of, upper_of
from privet.attacks.drafts.vocabulary import Meaning, plain_label
from privet.attacks.release.domain import ReleaseDomain
from privet.attacks.release.file import attributes_of
from privet.attacks.release.published import Reader
from privet.attacks.release.sheet_cells import Sheet, coordinate
from privet.attacks.release.sheet_labels import Labels, folded
from privet.attacks.release.sheets import statistics_of
from privet.attacks.release.statistics import EVERYBODY
from privet.core.expression import Expression
from privet.errors import InvalidInputError

MOST_ENTRIES = 200
ONE_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows and columns of a table that one entry is about. `stubs`: column of labels -> attribute; `about`: whom all of
    it is about, as conditions; `totals`: further words for everybody."""

    rows: list[int]
    columns: list[int]
    stubs: dict[int, str]
    about: list[str]
    totals: list[str]


class Entries:
    """The entries of a release file, in `document`. What cannot be said, or is not sure, is asked in `asks`."""

    def __init__(self, tables: Sequence[TableDraft], shared: Mapping[str, Any], asks: list[str]) -> None:
        """`shared` says for each sheet how all of its numbers were rounded."""
        self.tables, self.shared, self.asks = tables, shared, asks
        self.attributes = Attributes(tables)
        self.years = self._years()
        asks += self.attributes.asks
        self.labels: dict[str, dict[str, Any]] = {}
        self.titles = list[str]()
        declared = {name: attribute.declared() for name, attribute in self.attributes.known.items()}
        self.reader = Reader(attributes_of(declared))
        self.document: dict[str, Any] = {}
        if any(table.facts.point == "," for table in tables):
            self.document["decimal"] = ","
        self.document |= self._marks()
        self.document |= {"attributes": declared, "labels": self.labels, "tables": []}
        for table in tables:
            for entry in self._entries(table):
                self._keep(entry, table)
        self.document["labels"] = {name: said for name, said in self.labels.items() if said}

    def _keep(self, entry: dict[str, Any], table: TableDraft) -> None:
        """An entry that cannot be read is no part of the draft."""
        page = table.block.page
        if len(self.titles) == MOST_ENTRIES:
            self.asks.append(f"{page.name}: a draft can have at most {MOST_ENTRIES} [[tables]]; the rest is not read")
            return
        try:
            statistics_of(entry, self.document, self.reader, Sheet(page.name, page.name, page.cells))
        except InvalidInputError as error:
            self.asks.append(f"{page.name}, rows {', '.join(entry['lines'])}: {error.problem}. They are not read")
            return
        self.document["tables"].append(entry)
        self.titles.append(": ".join(table.block.title[:2])[:120])

    def _marks(self) -> dict[str, Any]:
        """One list for all sheets, where they agree."""
        meanings: dict[str, Meaning] = {}
        for table in self.tables:
            for mark, meaning in table.facts.marks.items():
                if meanings.setdefault(mark, meaning) != meaning:
                    self.asks.append(f"{mark!r} means different things on different sheets; here it can be any number")
                    meanings[mark] = Meaning()
        zeros = [mark for mark, meaning in meanings.items() if meaning.zero]
        hidden = list[dict[str, Any]]()
        for mark, meaning in meanings.items():
            if not meaning.zero:
                said = {"kind": meaning.kind or None, "below": meaning.below, "least": meaning.least}
                hidden.append({"marks": [mark], **{key: value for key, value in said.items() if value is not None}})
        return ({"suppressed": hidden} if hidden else {}) | ({"zeros": zeros} if zeros else {})

    def _entries(self, table: TableDraft) -> Iterator[dict[str, Any]]:
        """One for all rows whose labels are of the same attributes, and which are about the same people besides."""

        def key(row: int) -> tuple[Any, ...]:
            readings = table.down[row]
            parts = [(dim, label) for one in readings.values() for dim, label in one.given if label not in dim.totals]
            return (
                tuple((column, one.dim.attribute) for column, one in readings.items()),
                tuple(self._condition(*part) for part in parts),
            )

        groups: dict[tuple[Any, ...], list[int]] = {}
        for row in table.lines:
            groups.setdefault(key(row), []).append(row)
        universe = self._universe(table)
        for (stubs, parts), rows in groups.items():
            totals = list[str]()
            kept = [row for row in rows if all(self._label(table, row, column, totals) for column, _ in stubs)]
            for upper, columns in _by_base(table).items() if kept else ():
                about = [*universe, *parts, *(self._condition(*part) for part in upper)]
                yield self._entry(table, _Part(kept, columns, dict(stubs), about, list(totals)))

    def _entry(self, table: TableDraft, part: _Part) -> dict[str, Any]:
        block, rows, stubs, totals = table.block, part.rows, part.stubs, part.totals
        entry: dict[str, Any] = {**block.page.entry, "header": _span(block.header), "lines": [*_ranges(rows)]}
        entry["rows"] = [{"column": self._column(table, column), "attribute": name} for column, name in stubs.items()]
        if any(block.page.cells[row][column] == "" for row in rows for column in stubs):
            entry["fill"] = True
        entry |= self._values(table, part)
        if totals:
            entry["total"] = list(dict.fromkeys(totals))
        if block.codes:
            entry["ignore"] = [f"{_letter(column)}:{_letter(column)}" for column in block.codes]
        skip = [cell for cell in table.skip if int(re.sub(r"\D", "", cell)) - 1 in rows]
        if skip:
            entry["skip"] = skip
        if table.times != 1:
            entry["times"] = table.times
        return entry | (self.shared[block.page.name] if table.times == 1 else {})

    def _values(self, table: TableDraft, part: _Part) -> dict[str, Any]:
        """What the columns say: all labels of one attribute, or each by itself."""
        columns, names = part.columns, list(part.stubs.values())
        away = [one for one in columns if table.columns[one].base in ("all", "column")]
        where = " AND ".join(part.about)
        entry = {"where": where} if where and not away else {}
        crossed = self._cross(table, names, part.totals) if columns == table.block.columns else {}
        if crossed and not (away and (where or table.columns[away[0]].base == "column")):
            return crossed | entry
        values = list[dict[str, Any]]()
        for column in columns:
            spec, said, reading = self._said(table, column, names), table.columns[column], table.across.get(column)
            if spec is None:
                continue
            upper = upper_of(reading) if reading is not None and said.base == "part" else ()
            own = [self._condition(*one) for one in (parts_of(reading) if reading else ()) if one not in upper]
            together = " AND ".join([*own, *(part.about if away else [])])
            if said.base == "column" and own:
                spec["of"] = " AND ".join(own)
            values.append({"column": self._column(table, column), **spec, **({"where": together} if together else {})})
        return {"values": values} | entry

    def _said(self, table: TableDraft, column: int, names: list[str]) -> dict[str, Any] | None:
        """None: nobody knows what the numbers are."""
        said = table.columns[column]
        if said.measure == "count":
            return {"count": True}
        if said.measure == "percent":
            if not said.base:
                return None
            times = {"times": said.times} if said.times != 1 else {}
            return {"percent": True, **({"of": names} if said.base in ("row", "part") else {}), **times}
        word, _, of = said.measure.partition(" ")
        found = [
            name for name, one in self.attributes.known.items() if one.kind == "band" and folded(of).startswith(name)
        ]
        if not said.measure:
            return None
        if not found:
            what = f"column {_letter(column)} seems to be the {said.measure}"
            self.asks.append(f"{table.place}: {what}. It is not read: declare that attribute, with its range")
            return None
        return {word: found[0], **({"times": 1} if table.times != 1 else {})}

    def _cross(self, table: TableDraft, names: list[str], totals: list[str]) -> dict[str, Any]:
        """If the last row of the header has the labels of one attribute, and all columns say the same."""
        row, page = table.block.header[-1], table.block.page
        readings = [table.across.get(column) for column in table.block.columns]
        used = {*table.block.stubs, *table.block.columns}
        if any(cell != "" and place not in used for place, cell in enumerate(page.cells[row])):
            return {}
        if any(said.measure not in ("count", "percent") for said in table.columns.values()):
            return {}
        specs = [self._said(table, column, names) for column in table.block.columns]
        if any(one is None or one != specs[0] for one in specs) or any(one is None or one.given for one in readings):
            return {}
        dims = {one.dim.attribute for one in readings if one is not None}
        if len(dims) != 1 or any(page.cells[row][column] == "" for column in table.block.columns):
            return {}
        texts = {column: str(page.cells[row][column]) for column in table.block.columns}
        more = list[str]()
        for column, reading in zip(table.block.columns, readings, strict=True):
            same = reading is not None and folded(plain_label(texts[column])) == folded(reading.label)
            if reading is None or not same or not self._reads(reading, texts[column], more):
                return {}
        totals += more
        spec = specs[0] or {}
        return {"columns": dims.pop(), "value": "count" if spec == {"count": True} else spec}

    # Labels

    def _label(self, table: TableDraft, row: int, column: int, totals: list[str]) -> bool:
        """Whether the label of a row can be read, perhaps with the help of [labels] or total = [...]."""
        reading = table.down[row][column]
        above = (str(table.block.page.cells[one][column]) for one in range(row, table.block.header[-1], -1))
        cell = next(filter(None, above), "")
        if self._reads(reading, cell, totals):
            return True
        place = f"{table.block.page.name} {coordinate(row, column)}"
        self.asks.append(f"{place}: {cell!r} means something else elsewhere. This row is not read")
        return False

    def _reads(self, reading: Reading, text: str, totals: list[str]) -> bool:
        """Whether release files take the text for this label. What they do not by themselves, they are told."""
        name, total = reading.dim.attribute, reading.label in reading.dim.totals
        attribute = self.attributes.known[name]
        if text == reading.label and not total and attribute.kind == "text" and text in attribute.values:
            return True
        wanted = EVERYBODY if total else self.reader.conditions.read(attribute.condition(reading.label))
        found = self._meant(name, text, totals)
        if found is not None and (found == wanted or _same(found, wanted, self.reader, name)):
            return True
        if found is not None and folded(text) in {folded(label) for label in self.labels.get(name, {})}:
            return False
        if total:
            totals.append(text)
        else:
            self.labels.setdefault(name, {})[text] = attribute.meaning(reading.label)
        found = self._meant(name, text, totals)
        return found is not None and _same(found, wanted, self.reader, name)

    def _meant(self, name: str, text: str, totals: Iterable[str]) -> Expression | None:
        try:
            return Labels(self.reader, self.document.get("decimal", "."), totals, self.labels).group(name, text)
        except InvalidInputError:
            return None

    def _condition(self, dim: Dim, label: str) -> str:
        return self.attributes.known[dim.attribute].condition(label)

    def _universe(self, table: TableDraft) -> list[str]:
        """A title may say that a table is about some people only: "aged 16 and over", or one of several years."""
        text = " ".join(table.block.title)
        year = [self.attributes.known["year"].condition(self.years[table.place])] if self.years else []
        found = band_in(text)
        if found is None:
            return year
        age = self.attributes.known.get("age")
        if age is not None and age.kind == "band":
            if found.low is not None and found.low <= age.least:
                return year
            self.asks.append(f"{table.place}: is this table about people aged {found.text()} only, as its title says?")
            return [*year, age.condition(found.text())]
        if len(self.tables) > 1:
            asked = f"is every table about people aged {found.text()}, as the title of this one says?"
            self.asks.append(f"{table.place}: {asked} If not, say so with where = ...")
        return year

    def _years(self) -> dict[str, str]:
        """place of a table -> the only year in its title or the name of its sheet, if tables differ in that."""
        found = dict[str, str]()
        for table in self.tables:
            texts = [" ".join(table.block.title), table.block.page.name]
            years = next((years for text in texts if len(years := set(ONE_YEAR.findall(text))) == 1), set())
            found.update(dict.fromkeys([table.place] if years else [], next(iter(years), "")))
        known = list(dict.fromkeys(found.values()))
        if len(known) < 2 or "year" in self.attributes.known:
            return {}
        self.asks.append(
            f"Are the tables of {', '.join(known)} about different people, or the same people counted each year?"
        )
        if len(found) < len(self.tables):
            return {}
        self.attributes.known["year"] = Attribute("year", "year", dict.fromkeys(known))
        return found

    def _column(self, table: TableDraft, column: int) -> str:
        """Its name in the last row of the header, if no other column has it; otherwise its letter."""
        header = [folded(str(cell)) for cell in table.block.page.cells[table.block.header[-1]]]
        name = header[column]
        letters = f"{_letter(column)}:{_letter(column)}"
        if not name or header.count(name) > 1 or len(name) > 30 or re.fullmatch(r"[a-z]{1,3}(:[a-z]{1,3})?", name):
            return letters
        return str(table.block.page.cells[table.block.header[-1]][column])


def _by_base(table: TableDraft) -> dict[Parts, list[int]]:
    """Columns of percentages that are parts of the people below one upper header are a table of these people."""
    found: dict[Parts, list[int]] = {}
    for column in table.block.columns:
        reading = table.across.get(column)
        upper = upper_of(reading) if reading is not None and table.columns[column].base == "part" else ()
        found.setdefault(upper, []).append(column)
    return found


def _same(one: Expression, other: Expression, reader: Reader, name: str) -> bool:
    """Whether two conditions hold for the same values."""
    domain = ReleaseDomain({name: reader.attributes[name]})
    return bool((domain.mask(one) == domain.mask(other)).all())


def _letter(column: int) -> str:
    return coordinate(0, column)[:-1]


def _span(rows: Sequence[int]) -> int | str:
    return rows[0] + 1 if len(rows) == 1 else f"{rows[0] + 1}:{rows[-1] + 1}"


def _ranges(rows: Sequence[int]) -> Iterator[str]:
    """5:9 for rows that follow each other."""
    for _, run in groupby(enumerate(sorted(rows)), key=lambda pair: pair[1] - pair[0]):
        places = [row + 1 for _, row in run]
        yield f"{places[0]}:{places[-1]}"
