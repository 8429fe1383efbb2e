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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from privet.catalog.declarations import Source, Table, check_name, portable, with_limits
from privet.catalog.vault_file import section
from privet.core.rational import positive, show
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.errors import InvalidInputError
from privet.sources import attach, check_complete, connect
from privet.sources.form_draft import notes_of, reading_of, settled, writings
from privet.sources.limits import MOST_COLUMNS
from privet.sources.number_draft import EPSILONS, SOME_TIME, Numbers, Range, chosen_range, step_of, widened, years
from privet.sources.profile import ColumnFacts, facts
from privet.sources.relation import FIRST, FLOATS, TEXT, WHOLE, Raw, quoted, text, unreadable
from privet.sources.scratch import Scratch
from privet.sources.sniff import check_there, codebook, doubts, guess, schema
from privet.sources.unit_draft import (
    WIDTHS,
    Limits,
    UnitRows,
    constant_columns,
    find_limits,
    find_unit,
    unit_rows,
    width_in_means,
)

LARGEST_WHOLE = 10**18
KNOWN = {"age": (0, 120), "minute": (0, 59), "hour": (0, 23), "month": (1, 12), "week": (1, 53), "day": (1, 31)}
FEW_WHOLE = 20  # different whole numbers by which a first question may group
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
OWNER_ONLY = "# For the owner's eyes: the comments say what was found in the data. Show nobody this draft.\n"
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
    limits: Limits | None = None  # of what counts of a unit, and how far a first count is off
    remarks: tuple[str, ...] = ()  # on the file and the unit

    def table(self) -> Table:
        """The proposal as it is."""
        return self.proposed

    def toml(self) -> str:
        """A section for vault.toml. Each comment says what the owner has to check."""
        dropped = "".join(f"# left out: {name!r} {reason}\n" for name, reason in self.left_out.items())
        remarks = "".join(f"# check: {remark}\n" for remark in self.remarks)
        return OWNER_ONLY + remarks + section(self.proposed, self.notes) + NEVER_MISSING + dropped

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
        head = [f"{self.proposed.name}: {unit} ({self.notes['unit']})", *(f"check: {one}" for one in self.remarks)]
        return "\n".join([*head, *([] if self.limits is None else self.limits.lines()), *lines])


def describe(
    path: str | Path,
    *,
    name: str | None = None,
    unit: str | None = None,
    epsilon: object = None,
    public: bool = False,
    **options: Any,
) -> DraftTable:
    """Draft a declaration of a file. The options are those of a source, such as kind, delimiter, sheet or table.

    `unit` is the column that names a person; without it, one is proposed whose name says so. Limits are
    fair to all useful first counts and means at `epsilon`, without it between 0.1 and 1, and ranges are those with
    which a mean errs least. Of a table that is
    `public`, which everybody may read, all texts are listed."""
    epsilons = EPSILONS if epsilon is None else (float(positive(epsilon, "epsilon")),)
    full = Path(os.path.abspath(path))  # noqa: PTH100  resolve() would follow links
    check_there(full, str(path))
    with reading() as connection:
        called = name or _plain(full.name.partition(".")[0])
        source = guess(full, options)
        draft = _draft(connection, source, full, called, _Wish(unit=unit, epsilons=epsilons, public=public))
        codes = ", ".join(map(show, draft.proposed.source.missing))
        missing = (f"missing in every column: {codes}. Remove each one that is a real value",) if codes else ()
        return replace(draft, remarks=(*draft.remarks, *missing))


@contextmanager
def reading() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to read what an owner holds. However that fails, one line says that it cannot be read."""
    try:
        with Scratch() as scratch, connect(scratch) as connection:
            yield connection
    except (duckdb.Error, OSError, EOFError, UnicodeError, zlib.error):
        raise unreadable() from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What the owner said of a draft."""

    unit: str | None
    epsilons: tuple[float, ...]
    public: bool


def _draft(connection: duckdb.DuckDBPyConnection, source: Source, path: Path, name: str, wish: _Wish) -> DraftTable:
    unit, public = wish.unit, wish.public
    found = schema(connection, source, path)
    if len(found) > MOST_COLUMNS:
        raise InvalidInputError(
            f"the file has {len(found):,} columns, but a draft can have at most {MOST_COLUMNS:,}",
            "write the declaration by hand: kind, unit, and only the columns that people may ask about",
            "too-large",
        )
    first, left_out = first_kinds(found)
    if not first:
        raise InvalidInputError("no column can be declared", "check the header, delimiter and encoding", "empty")
    if unit is not None and unit not in first:
        raise InvalidInputError(
            f"there is no column {show(unit)} that can be the unit", f"give one of {', '.join(first)}", "unknown-column"
        )
    raw = attach(connection, Table(name=name, source=source, unit=None, columns=first), path.parent, {})
    check_complete(raw)
    comma, remarks = source.decimal == "," or source.delimiter == ";", doubts(path, source, raw.ragged)
    known = {column: facts(connection, raw, column, public=public, comma=comma) for column in first}
    known = settled(known, source)
    source = reading_of(replace(source, path=portable(path, Path.cwd())), known)
    labels = {name: Category(values) for name, values in codebook(path, source).items() if name in first}
    writing = writings(source, known)
    missing = {column: fact.own_codes for column, fact in known.items() if fact.own_codes}
    draft = partial(Table, name=name, source=source)
    if public:
        kinds = {column: _kind(column, raw.types[column], known[column]) for column in first} | labels
        table = draft(unit=None, columns=kinds, public=True, key=_key(known), writing=writing, missing=missing)
        return DraftTable(proposed=table, notes=_public_notes(known, kinds), left_out=left_out, remarks=remarks)
    (rows,) = connection.execute(f"SELECT count(*) FROM {raw.relation}").fetchall()[0]  # noqa: S608
    unit, remark = (unit, "") if unit is not None else find_unit(known, rows)
    remarks += (remark,) if remark else ()
    limits = _fair_limits(unit_rows(connection, _groups(known, raw, unit), people=unit is not None), known, wish)
    kinds = {column: _kind(column, raw.types[column], known[column], limits.noise, wish.epsilons) for column in first}
    kinds |= labels
    constant = set() if unit is None or limits.once else _constant(connection, raw, unit, kinds)
    kinds |= {column: replace(kinds[column], constant_per_unit=True) for column in constant}
    if unit is not None and len(kinds) > 1:
        for chosen in (kinds, writing, missing):
            chosen.pop(unit, None)
    table = draft(unit=unit, columns=kinds, writing=writing, missing=missing, **with_limits(_limits(limits)))
    notes = _column_notes(known, kinds, CHECKS) | _unit_notes(unit, limits)
    return DraftTable(proposed=table, notes=notes, left_out=left_out, limits=limits, remarks=remarks)


def _fair_limits(counted: UnitRows, known: Mapping[str, ColumnFacts], wish: _Wish) -> Limits:
    """Those that are fair to means of the columns of numbers; their ranges depend on the noise, and so on limits."""
    noise = find_limits(counted, epsilons=wish.epsilons).noise
    found = {name: fact.numbers for name, fact in known.items() if fact.numbers is not None}
    kinds = {name: _number(name, one, noise, wish.epsilons) for name, one in found.items()}
    widths = [width_in_means(float(kind.high - kind.low), found[name].mean) for name, kind in kinds.items()]
    return find_limits(counted, epsilons=wish.epsilons, widths=widths or WIDTHS)


def _limits(limits: Limits) -> dict[str, int]:
    return {"max_groups": 1, "max_rows_per_group": 1} if limits.max_rows == 1 else {"max_rows": limits.max_rows}


def _groups(known: Mapping[str, ColumnFacts], raw: Raw, unit: str | None) -> dict[str | None, str]:
    """The columns by which a first question may group, and SQL of units and keys: texts that the draft lists, truths,
    few whole numbers."""
    found: dict[str | None, str] = {}
    owner = "NULL" if unit is None else quoted(unit)
    for name, fact in known.items():
        own, type_ = quoted(name), raw.types[name]
        few = fact.numbers is not None and fact.numbers.places == 0 and fact.distinct <= FEW_WHOLE
        if name == unit or fact.distinct < 2:
            continue
        if type_ == "VARCHAR" and fact.common and fact.numbers is None and fact.form is None:
            listed = ", ".join(map(text, fact.common))
            found[name] = f"CASE WHEN trim({own}, ' ') IN ({listed}) THEN trim({own}, ' ') END"
        elif few or type_ == "BOOLEAN" or "boolean" in fact.fits:
            found[name] = own
    return {
        name: f"SELECT {owner} AS u, {key} AS g FROM {raw.relation}"  # noqa: S608  names are quoted
        for name, key in (found or {None: "NULL"}).items()
    }


def _constant(connection: duckdb.DuckDBPyConnection, raw: Raw, unit: str, kinds: Mapping[str, Kind]) -> set[str]:
    useful = [name for name, kind in kinds.items() if name != unit and not isinstance(kind, Number | Text | Timestamp)]
    return constant_columns(connection, raw.relation, unit, useful)


def _unit_notes(unit: str | None, limits: Limits) -> dict[str, str]:
    asked = "" if limits.first is None else f"; {limits.first}"
    notes = {
        "source": "check: the path starts at the folder that holds the vault",
        "unit": "check: is this the person to protect?",
        "rows_are_units": "check: is each row a different person? If not, name the column that identifies people",
        "max_groups": "check: in how many groups of an answer one person counts; a higher limit adds noise",
        "max_rows_per_group": "check: how many rows of one person count in each group; a higher limit adds noise"
        f"{asked}",
        "max_rows": f"check: how many rows of one person count in all; a higher limit adds noise{asked}",
    }
    if unit is None:
        notes["unit"] = notes["rows_are_units"]
    elif limits.once:
        notes["unit"] += (
            " Each value occurs in only one row, so this protects single rows. If a person can have several rows, name"
            " the column that identifies people"
        )
    return notes


def _column_notes(
    known: Mapping[str, ColumnFacts], kinds: Mapping[str, Kind], checks: Mapping[type[Kind], str]
) -> dict[str, str]:
    """What to check of each column, and how its texts are read if that is not plain to see."""
    said = {name: notes_of(known[name], kinds[name]) for name in kinds}
    for name, kind in kinds.items():
        if kind.constant_per_unit:
            said[name].append(
                "constant_per_unit: in this file all rows of a person agree; delete the entry if that can change"
            )
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


def _kind(name: str, type_: str, fact: ColumnFacts, noise: float = 0, epsilons: Sequence[float] = EPSILONS) -> Kind:
    """What the column seems to be."""
    if type_ == "VARCHAR" and "boolean" in fact.fits and fact.distinct > 1:
        return Boolean()
    if fact.numbers is not None:
        return _number(name, fact.numbers, noise, epsilons)
    if type_ != "VARCHAR":
        return _typed(type_, fact)
    if fact.form is not None:
        days = years(fact.form.first, fact.form.last)
        return Timestamp(*days) if fact.form.time else Date(*_days(days))
    if "timestamp" in fact.fits:
        return Timestamp(*years(fact.first, fact.last))
    if "date" in fact.fits:
        return Date(*_days(years(fact.first, fact.last)))
    if fact.common:
        return Category(fact.common)
    return Text()


def _typed(type_: str, fact: ColumnFacts) -> Kind:
    kind = _kind_of_type(type_)
    match kind:
        case Date():
            return Date(*_days(years(fact.first, fact.last)))
        case Timestamp():
            return Timestamp(*years(fact.first, fact.last))
        case Integer():
            return kind  # no value at all
        case Number():
            return Number(0, 1, step=Fraction(1, 10**6))
        case _:
            return Boolean()


def _number(name: str, found: Numbers, noise: float, epsilons: Sequence[float]) -> Integer | Number:
    """Ages, years, and other ranges between marks of a coarse grid."""
    whole = found.places == 0
    for word, (low, high) in KNOWN.items():
        named = re.search(rf"(^|[^a-z]){word}([^a-z]|$)", name, re.IGNORECASE) is not None
        if named and low <= found.low and found.high <= high:
            if whole:
                return Integer(low, high)
            return Number(low, high, step=step_of(found, Range(low=Fraction(low), high=Fraction(high))))
    if whole and found.low >= 1800 and found.high <= 2200:
        return Integer(*widened(int(found.low), int(found.high)))
    seen = chosen_range(found, noise, epsilons)
    if whole and max(abs(seen.low), abs(seen.high)) <= LARGEST_WHOLE:
        return Integer(int(seen.low), int(seen.high))
    return Number(seen.low, seen.high, step=step_of(found, seen))


def _days(times: tuple[dt.datetime, dt.datetime]) -> tuple[dt.date, dt.date]:
    return times[0].date(), times[1].date()


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower() or "table"


def _words(kind: Kind) -> str:
    match kind:
        case Integer() | Number():
            return f"{type(kind).__name__}({_plainly(kind.low)} to {_plainly(kind.high)})"
        case Date() | Timestamp():
            return f"{type(kind).__name__}({kind.low.year} to {kind.high.year})"
        case Category():
            return f"Category({len(kind.values)} values)"
        case _:
            return type(kind).__name__


def _plainly(number: int | Fraction) -> str:
    """With commas, but for years."""
    value = float(number)
    return f"{value:.10g}" if abs(value) < 10_000 else f"{value:,.10g}"
