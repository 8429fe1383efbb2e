"""Drafts a declaration from a file. It reads the data: the draft is for the owner alone until the owner has checked it.

Bounds and lists in a declaration are public. A draft never shows the true smallest or largest value, only the next
mark of a coarse, fixed grid, and it lists only texts that many rows have. The owner puts there what anybody knows.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

from privet.catalog.declarations import Source, Table, check_name, portable
from privet.catalog.vault_file import section
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.errors import InvalidInputError
from privet.sources import attach, check_complete, connect
from privet.sources.candidates import Candidate
from privet.sources.form_draft import notes_of, reading_of, settled, writings
from privet.sources.limits import MOST_COLUMNS
from privet.sources.profile import ColumnFacts, facts
from privet.sources.relation import FIRST, FLOATS, TEXT, WHOLE, unreadable
from privet.sources.scratch import Scratch
from privet.sources.sniff import codebook, guess, schema

LARGEST_WHOLE = 10**18
SOME_TIME = (dt.datetime(2000, 1, 1), dt.datetime(2029, 12, 31))  # for a column without any
PERSON = r"person|people|patient|customer|client|user|member|subject|employee|student|household|mrn|ssn"
ID_NAME = re.compile(rf"({PERSON})|(^|[ _.-])(id|pid|uid|nr|no|key)([ _.-]|$)|^id|id$", re.IGNORECASE)
RANGE = "check: a range that anybody knows; values outside are clamped"
CHECKS: dict[type[Kind], str] = {
    Integer: RANGE,
    Number: f"{RANGE}; values are rounded to the step",
    Date: RANGE,
    Timestamp: RANGE,
    Boolean: "check: true, t, yes, y, 1 and false, f, no, n, 0; anything else counts as missing",
    Category: "check: list what anybody knows to be possible (rare texts are left out here); all else is missing",
    Text: "check: leave it out if nobody asks about it; its values stay private",
}
NEVER_MISSING = (
    "# check: add never_missing = true to a column in which nothing can be missing. Where it is, it then counts\n"
    "# as the first of its range or list, and there is no group for what is missing.\n"
)
PUBLIC_CHECKS = CHECKS | {
    Category: "check: all texts of the file are listed here; anything else counts as missing",
    Text: "check: leave it out if nobody asks about it; there are too many texts to list",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftTable:
    """A proposal. `table()` gives the declaration, `toml()` its text for vault.toml with what to check."""

    proposed: Table
    notes: Mapping[str, str]
    left_out: Mapping[str, str]  # column -> why

    def table(self) -> Table:
        """The proposal as it is."""
        return self.proposed

    def toml(self) -> str:
        """A section for vault.toml. Each comment says what the owner has to check."""
        dropped = "".join(f"# left out: {name!r} {reason}\n" for name, reason in self.left_out.items())
        return section(self.proposed, self.notes) + NEVER_MISSING + dropped

    def __str__(self) -> str:
        """A table for the terminal."""
        unit = "each row is a unit" if self.proposed.unit is None else f"unit {self.proposed.unit}"
        if self.proposed.public:
            unit = f"public, told apart by {', '.join(self.proposed.key)}" if self.proposed.key else "public"
        rows = [("column", "kind", "to check")]
        for name, kind in self.proposed.columns.items():
            rows.append((name, _words(kind), self.notes[f"column {name}"].removeprefix("check: ")))
        rows += [(name, "left out", reason) for name, reason in self.left_out.items()]
        widths = [max(len(row[place]) for row in rows) for place in (0, 1)]
        lines = [f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}" for row in rows]
        return "\n".join([f"{self.proposed.name}: {unit} ({self.notes['unit']})", *lines])


def describe(path: str | Path, *, name: str | None = None, public: bool = False, **options: Any) -> DraftTable:
    """Draft a declaration of a file. The options are those of a source, such as kind, delimiter, sheet or table.

    Of a table that is `public`, which everybody may read, all texts are listed."""
    full = Path(os.path.abspath(path))  # noqa: PTH100  resolve() would follow links
    with reading() as connection:
        called = name or _plain(full.name.partition(".")[0])
        return _draft(connection, guess(full, options), full, called, public=public)


@contextmanager
def reading() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to read what an owner holds. However that fails, one line says that it cannot be read."""
    try:
        with Scratch() as scratch, connect(scratch) as connection:
            yield connection
    except (duckdb.Error, OSError, EOFError, UnicodeError, zlib.error):
        raise unreadable() from None


def _draft(connection: duckdb.DuckDBPyConnection, source: Source, path: Path, name: str, *, public: bool) -> DraftTable:
    found = schema(connection, source, path)
    if len(found) > MOST_COLUMNS:
        raise InvalidInputError(
            f"the file has {len(found):,} columns, and a draft has at most {MOST_COLUMNS:,}",
            "write the declaration by hand: kind, unit, and only the columns that people may ask about",
            "too-large",
        )
    first, left_out = first_kinds(found)
    if not first:
        raise InvalidInputError("no column can be declared", "check the header, delimiter and encoding", "empty")
    raw = attach(connection, Table(name=name, source=source, unit=None, columns=first), path.parent, {})
    check_complete(raw)
    comma = source.decimal == "," or source.delimiter == ";"
    known = {column: facts(connection, raw, column, public=public, comma=comma) for column in first}
    known = settled(known, source)
    source = reading_of(replace(source, path=portable(path, Path.cwd())), known)
    book = codebook(path, source)
    types = dict(raw.types) | dict.fromkeys(book.whole & set(first), "BIGINT")
    kinds = {
        column: Category(book.labels[column]) if column in book.labels else _kind(column, types[column], known[column])
        for column in first
    }
    writing = writings(source, known)
    if public:
        table = Table(name=name, source=source, unit=None, columns=kinds, public=True, key=_key(known), writing=writing)
        return DraftTable(proposed=table, notes=_public_notes(known, kinds), left_out=left_out)
    unit = _unit(known)
    if unit is not None and len(kinds) > 1:
        del kinds[unit]
        writing.pop(unit, None)
    groups, rows = (1, 1) if unit is None else (5, 10)
    notes = _column_notes(known, kinds, CHECKS) | {
        "source": "check: the path starts at the folder that holds the vault",
        "unit": "check: is this the person to protect?",
        "rows_are_units": "check: is each row a different person? If not, name the column that says who it is",
        "max_groups": "check: how many groups of an answer one person may count in; more groups, more noise",
        "max_rows_per_group": "check: how many rows of one person count in a group; more rows, more noise",
    }
    if unit is None:
        notes["unit"] = notes["rows_are_units"]
    table = Table(
        name=name,
        source=source,
        unit=unit,
        columns=kinds,
        writing=writing,
        max_groups=groups,
        max_rows_per_group=rows,
    )
    return DraftTable(proposed=table, notes=notes, left_out=left_out)


def _column_notes(
    known: Mapping[str, ColumnFacts], kinds: Mapping[str, Kind], checks: Mapping[type[Kind], str]
) -> dict[str, str]:
    """What to check of each column, and how its texts are read if that is not plain to see."""
    said = {name: notes_of(known[name]) for name in kinds}
    return {f"column {name}": "; ".join([checks[type(kind)], *said[name]]) for name, kind in kinds.items()}


def _public_notes(known: Mapping[str, ColumnFacts], kinds: Mapping[str, Kind]) -> dict[str, str]:
    return _column_notes(known, kinds, PUBLIC_CHECKS) | {
        "source": "check: the path starts at the folder that holds the vault",
        "unit": "check: may everybody read all of it?",
        "public": "check: may everybody read all of it? Nobody in it is protected",
        "key": "check: does this tell its rows apart? Of several rows with the same key, only one counts",
    }


def _key(known: Mapping[str, ColumnFacts]) -> tuple[str, ...]:
    """The first column with another value in each row, if there is one."""
    rows = max(fact.filled for fact in known.values())
    return next(((name,) for name, fact in known.items() if 0 < rows == fact.filled == fact.distinct), ())


def first_kinds(columns: list[tuple[str, str]]) -> tuple[dict[str, Kind], dict[str, str]]:
    """A kind that reads each column as it is, to look at it; and the columns that no declaration can name."""
    times = Counter(name.casefold() for name, _ in columns)
    kinds: dict[str, Kind] = {}
    left_out = {}
    for name, type_ in columns:
        kind = _kind_of_type(type_)
        try:
            check_name(name, "a column")
        except InvalidInputError:
            kind = None
        if kind is None or times[name.casefold()] > 1:
            left_out[name] = "has a name or a type that cannot be declared: rename or convert it"
        else:
            kinds[name] = kind
    return kinds, left_out


def _kind_of_type(type_: str) -> Kind | None:
    base = "" if type_.endswith("]") else type_.partition("(")[0]
    base = FIRST[base][1] if base in FIRST else base
    if base in TEXT:
        return Text()
    if base in WHOLE:
        return Integer(0, 1)
    if base in FLOATS or base == "DECIMAL":
        return Number(0, 1, step=1)
    kinds: dict[str, Kind] = {"BOOLEAN": Boolean(), "DATE": Date(*_days(SOME_TIME)), "TIMESTAMP": Timestamp(*SOME_TIME)}
    return kinds.get(base)


def _kind(name: str, type_: str, fact: ColumnFacts) -> Kind:
    """What the column seems to be."""
    if type_ != "VARCHAR":
        return _typed(name, type_, fact)
    if "boolean" in fact.fits and fact.distinct > 1:
        return Boolean()
    if fact.form is not None:
        return _in_form(name, fact, fact.form)
    if "number" in fact.fits and "padded" not in fact.some:  # 01234 is a code, not a number
        return _number(name, fact, is_whole="fraction" not in fact.some)
    if "timestamp" in fact.fits:
        return Timestamp(*_decades(fact))
    if "date" in fact.fits:
        return Date(*_days(_decades(fact)))
    if fact.common:
        return Category(fact.common)
    return Text()


def _in_form(name: str, fact: ColumnFacts, form: Candidate) -> Kind:
    fact = replace(fact, low=form.low, high=form.high, first=form.first, last=form.last)
    if form.number:
        return _number(name, fact, is_whole=form.whole)
    return Timestamp(*_decades(fact)) if form.time else Date(*_days(_decades(fact)))


def _typed(name: str, type_: str, fact: ColumnFacts) -> Kind:
    kind = _kind_of_type(type_)
    match kind:
        case Integer() | Number():
            return _number(name, fact, is_whole=isinstance(kind, Integer))
        case Date():
            return Date(*_days(_decades(fact)))
        case Timestamp():
            return Timestamp(*_decades(fact))
        case _:
            return Boolean()


def _number(name: str, fact: ColumnFacts, *, is_whole: bool) -> Kind:
    """Bounds on a fixed grid: powers of ten, ages, years."""
    if is_whole and fact.low >= 0 and fact.high <= 120 and re.search(r"(^|[^a-z])age([^a-z]|$)", name, re.IGNORECASE):
        return Integer(0, 120)
    if is_whole and fact.low >= 1900 and fact.high <= 2100 and fact.filled:
        return Integer(1900, 2100)
    power = 1
    while power < max(abs(fact.low), abs(fact.high)):
        power *= 10
    low = 0 if fact.low >= 0 else -power
    return (
        Integer(low, power) if is_whole and power <= LARGEST_WHOLE else Number(low, power, step=Fraction(power, 10**6))
    )


def _decades(fact: ColumnFacts) -> tuple[dt.datetime, dt.datetime]:
    if fact.first is None or fact.last is None:
        return SOME_TIME
    return dt.datetime(max(1, fact.first.year // 10 * 10), 1, 1), dt.datetime(fact.last.year // 10 * 10 + 9, 12, 31)


def _days(times: tuple[dt.datetime, dt.datetime]) -> tuple[dt.date, dt.date]:
    return times[0].date(), times[1].date()


def _unit(known: Mapping[str, ColumnFacts]) -> str | None:
    """A column whose name says that it names somebody; words for people count more than "id"."""
    named = [name for name, fact in known.items() if fact.distinct > 1 and ID_NAME.search(name)]
    return min(named, key=lambda name: not re.search(PERSON, name, re.IGNORECASE), default=None)


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower() or "table"


def _words(kind: Kind) -> str:
    match kind:
        case Integer() | Number():
            return f"{type(kind).__name__}({float(kind.low):g} to {float(kind.high):g})"
        case Date() | Timestamp():
            return f"{type(kind).__name__}({kind.low.year} to {kind.high.year})"
        case Category():
            return f"Category({len(kind.values)} values)"
        case _:
            return type(kind).__name__
