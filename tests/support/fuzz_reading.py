"""Does one unit ever move an answer further than its price says, when the data go through files and data frames?

A round is a few people with hostile ids (`hostile_ids`), one of them with several possible sets of rows, and
rows of nobody. Each choice is a database; it is written as CSV, Parquet, Excel, DuckDB or a data frame. The table is
added with one of the databases, and the others then stand in its place, under the same declaration. Which databases are
neighbors is decided by what was written: two of them may differ in the rows of one person, or of nobody. A case is a
pair of neighbors and a question: the exact parts must be as near to each other as their bounds say, and the same if no
person's rows differ. A database may be refused before the charge; after that nothing may fail.

Beyond the bounds, where no limit binds, counts must be those of the people and rows that were written.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import duckdb
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

import privet as pv
from privet.backends import duckdb as backend
from privet.errors import InvalidInputError
from privet.query import Query
from privet.sources import connect
from privet.testing import Exact, exact
from privet.vault import Vault
from support import hostile_ids
from support.fuzz_checks import CHANGES, changes
from support.fuzz_sensitivity import Tally as Common
from support.hostile_ids import MISSING, column, encoded, fits, inferred, person, plain_codec, stored

GROUPS, LOW, HIGH = ("a", "b", "c", None), -3, 5
ROWS = 60  # of one person in a group: it never binds
ROUNDS = 12  # with one vault
ENGINES = 0.05  # rounds in which every database has an engine of its own, as in a vault
JOINED = 0.25  # rounds about two tables
KINDS = {"csv": 6, "parquet": 6, "dict": 3, "pandas": 4, "polars": 2, "arrow": 1, "excel": 2, "duckdb": 2}
TYPED = ("BIGINT", "INTEGER", "DOUBLE", "VARCHAR", "DECIMAL")
RARE = ("UBIGINT", "FLOAT", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMPTZ")
OWN = {"duckdb": ("HUGEINT", "UUID", "NOCASE")}
DTYPES = ("object", "object", "inferred", "inferred", "Int64", "category", "string")


@dataclass(slots=True, kw_only=True)
class Tally(Common):
    """What was tried, beside what all fuzzers count."""

    also: Counter[str] = field(default_factory=Counter)

    def add(self, other: Common) -> None:
        Common.add(self, other)
        self.also += getattr(other, "also", Counter())


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    id: Any
    g: str | None
    x: int
    file: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """What holds the rows, and how it is written: `types` are those of its files, "" where a program infers them."""

    kind: str
    types: tuple[str, ...] = ("",)
    nullable: bool = False  # whole numbers stay whole where one is missing
    dtype: str = ""
    encoding: str = "utf-8"
    quoted: bool = False
    short: bool = False  # rows without a group end before it: the engine's fast reader refuses them
    options: dict[str, Any] = field(default_factory=dict)
    declared: bool = False  # the unit is a declared number, too

    @property
    def label(self) -> str:
        how = self.encoding if self.kind == "csv" else self.dtype or "+".join(type_ or "any" for type_ in self.types)
        return f"{self.kind} {how}"

    @property
    def missing(self) -> tuple[str, ...]:
        return self.options.get("missing", ())

    def holds(self, value: Any, file: int) -> bool:
        """Can this id be written here?"""
        if value is None:
            return True
        match self.kind:
            case "csv":
                return encoded(value, plain_codec(self.encoding)) is not None
            case "dict":
                return True
            case "pandas":
                return fits(self.types[0], value) if self.types[0] else _fits_pandas(self.dtype, value)
            case "excel":
                return _fits_excel(value)
            case _ if self.types[file]:
                return fits(self.types[file], value)
            case _:
                return any(fits(type_, value) for type_ in ("BIGINT", "DOUBLE", "VARCHAR", "DATE"))

    def written(self, rows: Sequence[Row]) -> list[Row]:
        """The rows as they stand there in the end."""
        match self.kind:
            case "csv":
                codec = plain_codec(self.encoding)
                return [replace(row, id=b"" if row.id is None else encoded(row.id, codec)) for row in rows]
            case "dict":
                return list(rows)
            case "pandas":
                ids = list(self.series(rows).astype(object))
                return [replace(row, id=id_) for row, id_ in zip(rows, ids, strict=True)]
            case "excel":
                return [replace(row, id=_as_excel(row.id)) for row in rows]
            case _:
                types = self.types_of(rows)
                return [replace(row, id=stored(types[row.file], row.id)) for row in rows]

    def series(self, rows: Sequence[Row]) -> pd.Series:
        """The ids as pandas has them."""
        ids = [row.id for row in rows]
        if self.dtype == "inferred":
            return pd.Series(ids)
        if self.dtype == "category":
            return pd.Series(pd.Series(ids, dtype=object).astype("category"))
        return pd.Series(ids, dtype=self.dtype)

    def types_of(self, rows: Sequence[Row]) -> dict[int, str]:
        files = {row.file for row in rows} | {0}
        values = {file: [row.id for row in rows if row.file == file] for file in files}
        return {file: self.types[file] or inferred(values[file], nullable=self.nullable) for file in files}

    def who(self, row: Row) -> Any:
        trimmed = self.kind in ("csv", "excel")
        return person(row.id, trimmed=trimmed, missing=self.missing, encoding=plain_codec(self.encoding))


def _fits_pandas(dtype: str, value: Any) -> bool:
    """Texts that are not Python objects have no halves of surrogate pairs."""
    return dtype == "object" or not isinstance(value, str) or fits("VARCHAR", value)


def _fits_excel(value: Any) -> bool:
    if isinstance(value, str):
        halves = any(0xD800 <= ord(one) < 0xE000 for one in value)
        return not (halves or ILLEGAL_CHARACTERS_RE.search(value) or "\r" in value or len(value) > 400)
    if type(value).__name__ in ("date", "datetime"):
        plain = getattr(value, "tzinfo", None) is None and not getattr(value, "microsecond", 0)
        return plain and 1950 < value.year < 2100
    return type(value) in (int, float, bool) and abs(value) < 1e300


def _as_excel(value: Any) -> Any:
    """Numbers are floats there. The program that writes the sheets keeps 16 digits of them, does not say that blanks
    count in a text of nothing else, and leaves _x0041_ as it is, which is how such a file spells an A."""
    if isinstance(value, str):
        return None if not value.strip(" \t\n") else value.replace("_x0041_", "A")
    return float(f"{float(value):.16g}") if type(value) in (int, float) else value


def random_holder(rng: Random) -> Holder:
    kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
    options: dict[str, Any] = {"missing": MISSING} if rng.random() < 0.2 else {}
    match kind:
        case "csv":
            encoding = rng.choice(["utf-8", "utf-8", "utf-8", "latin-1", "cp1252", "utf-16"])
            options |= {"encoding": encoding, "delimiter": rng.choice(",;")} | (
                {"skip": 1} if rng.random() < 0.1 else {}
            )
            declared = rng.random() < 0.5
            if declared:
                options |= rng.choice([{"thousands": "."}, {"thousands": "'"}, {"decimal": ",", "thousands": "."}])
            how = {"quoted": rng.random() < 0.4, "short": rng.random() < 0.4, "declared": declared}
            return Holder(kind=kind, encoding=encoding, options=options, **how)
        case "pandas":
            dtype = rng.choice(DTYPES)
            type_ = {"Int64": "BIGINT", "string": "VARCHAR", "category": rng.choice(["BIGINT", "VARCHAR"])}.get(
                dtype, ""
            )
            return Holder(kind=kind, dtype=dtype, types=(type_,), options=options)
        case "dict" | "excel":
            return Holder(kind=kind, options=options)
        case _:
            files = rng.randint(1, 3) if kind == "parquet" else 1
            own = OWN.get(kind, ())
            types = tuple(_type(rng, own) for _ in range(files))
            if rng.random() < 0.5:
                types = types[:1] * files  # all files alike, until somebody's row changes one
            return Holder(kind=kind, types=types, nullable=rng.random() < 0.4, options=options)


def _type(rng: Random, own: Sequence[str]) -> str:
    if own and rng.random() < 0.5:
        return rng.choice(own)
    return rng.choice(["", "", rng.choice(TYPED), rng.choice(TYPED), rng.choice(RARE)])


# ---- writing ---------------------------------------------------------------------------------------------------------


class Place:
    """Where databases are written, one after the other. Each has a later time than the one before it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._clock = folder, 10**18
        folder.mkdir()

    def path(self, holder: Holder, name: str) -> Path:
        endings = {"csv": ".csv", "excel": ".xlsx", "duckdb": ".duckdb"}
        return self.folder / (name + endings.get(holder.kind, ""))

    def put(self, holder: Holder, name: str, rows: Sequence[Row]) -> object:
        """Write the rows; what comes back is the path or the frame."""
        path = self.path(holder, name)
        match holder.kind:
            case "csv":
                path.write_bytes(as_csv(holder, rows))
            case "excel":
                _sheet(rows).save(path)
            case "parquet":
                shutil.rmtree(path, ignore_errors=True)
                path.mkdir()
                for file in holder.types_of(rows):
                    pq.write_table(as_arrow(holder, rows, file), path / f"{file}.parquet")
            case "duckdb":
                new = path.with_suffix(".new")  # the engine may have the old one open
                _database(holder, rows, new)
                new.replace(path)
            case _:
                return as_frame(holder, rows)
        for file in [path] if path.is_file() else path.iterdir():
            self._clock += 10**9
            os.utime(file, ns=(self._clock, self._clock))
        return path


def as_csv(holder: Holder, rows: Sequence[Row]) -> bytes:
    codec, mark = plain_codec(holder.encoding), holder.options["delimiter"]
    lines = ["a note"] * holder.options.get("skip", 0) + [f"id{mark}x{mark}g"]
    text = "\n".join(lines).encode(codec)
    for row in holder.written(rows):
        rest = f"{mark}{row.x}" + ("" if holder.short and row.g is None else f"{mark}{row.g or ''}")
        text += "\n".encode(codec) + _field(row.id, codec, mark, always=holder.quoted) + rest.encode(codec)
    return (b"\xff\xfe" if codec == "utf-16-le" else b"") + text + "\n".encode(codec)


def _field(field: bytes, codec: str, mark: str, *, always: bool) -> bytes:
    text = field.decode(codec, "surrogatepass" if codec == "utf-16-le" else "surrogateescape")
    if not always and not set(text) & {mark, '"', "\r", "\n"}:
        return field
    quote = '"'.encode(codec)
    size = len(quote)
    units = [field[place : place + size] for place in range(0, len(field), size)]
    return quote + b"".join(quote * 2 if unit == quote else unit for unit in units) + quote


def as_arrow(holder: Holder, rows: Sequence[Row], file: int) -> pa.Table:
    type_ = holder.types_of(rows)[file]
    own = [row for row in rows if row.file == file]
    ids = [stored(type_, row.id) for row in own]
    return pa.table({
        "id": column(type_, ids), "x": pa.array([row.x for row in own], pa.int64()),
        "g": pa.array([row.g for row in own], pa.string()),
    })  # fmt: skip


def as_frame(holder: Holder, rows: Sequence[Row]) -> object:
    rest = {"x": [row.x for row in rows], "g": [row.g for row in rows]}
    match holder.kind:
        case "dict":
            return {"id": [row.id for row in rows], **rest}
        case "pandas":
            typed = {"x": pd.Series(rest["x"], dtype="int64"), "g": pd.Series(rest["g"], dtype="str")}
            return pd.DataFrame({"id": holder.series(rows), **typed})
        case "polars":
            return pl.from_arrow(as_arrow(holder, rows, 0))
        case _:
            return as_arrow(holder, rows, 0)


def _sheet(rows: Sequence[Row]) -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["id", "x", "g"])
    for place, row in enumerate(rows, start=2):
        sheet.append([row.id, row.x, row.g])
        if isinstance(row.id, str):
            sheet.cell(place, 1).data_type = "s"  # a text that begins with "=" is no formula here
    return book


def _database(holder: Holder, rows: Sequence[Row], path: Path) -> None:
    type_ = holder.types_of(rows)[0]
    sql = {"NOCASE": "VARCHAR", "DECIMAL": "DECIMAL(38,10)", "NOTHING": "INTEGER"}.get(type_, type_)
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", as_arrow(holder, rows, 0))
        collation = " COLLATE NOCASE" if type_ == "NOCASE" else ""
        connection.execute(f"CREATE TABLE t (id {sql}{collation}, x BIGINT, g VARCHAR)")
        connection.execute(f"INSERT INTO t SELECT CAST(id AS {sql}), x, g FROM frame")


# ---- databases -------------------------------------------------------------------------------------------------------

Database = tuple[list[Row], ...]  # the rows of each table
Families = Sequence[Sequence[Any]]


def random_databases(rng: Random, holders: Sequence[Holder], families: Families) -> list[Database]:
    """Somebody's rows in several versions beside those of others, and rows of nobody: neighbors, all of them, unless
    the programs that write them change others' ids."""
    chosen = rng.sample(families, min(len(families), rng.choice([1, 1, 2])))
    if families is hostile_ids.FAMILIES:
        if any(not type_ for holder in holders for type_ in holder.types) and rng.random() < 0.3:
            chosen = [rng.choice(families[:4])]  # whole numbers, where a program chooses the type
        if len(holders) > 1 and rng.random() < 0.7:
            chosen = [*chosen, rng.choice(families[6:9])]  # the same people in both tables
    values = [value for family in chosen for value in family]
    crowd = tuple(_crowd(rng, holder, values) for holder in holders)
    named = [_who(holder, row) for holder, rows in zip(holders, crowd, strict=True) for row in rows]
    somebody = [name for name in named if name is not None]
    name = rng.choice(somebody) if somebody else None
    others = tuple(
        [row for row in rows if _who(holder, row) not in (name, None)]
        for holder, rows in zip(holders, crowd, strict=True)
    )
    first, second = (tuple(_own(rng, holder, values, name) for holder in holders) for _ in range(2))
    nobody, more = (tuple(_nobody(rng, holder, values) for holder in holders) for _ in range(2))
    made = [others, _both(others, first), _both(others, second), _both(others, first, nobody), _both(others, more)]
    return [tuple(rng.sample(rows, len(rows)) for rows in one) for one in made]


def _both(*databases: Database) -> Database:
    return tuple(list(itertools.chain(*rows)) for rows in zip(*databases, strict=True))


def _who(holder: Holder, row: Row) -> Any:
    return holder.who(holder.written([row])[0])


def _row(rng: Random, holder: Holder, value: Any, g: str | None, x: int) -> Row | None:
    files = [file for file in range(len(holder.types)) if holder.holds(value, file)]
    return Row(id=value, g=g, x=x, file=rng.choice(files)) if files else None


def _crowd(rng: Random, holder: Holder, values: Sequence[Any]) -> list[Row]:
    able = [value for value in values if _anywhere(holder, value)]
    if len(able) < 3:
        able += rng.sample([value for value in hostile_ids.everything() if _anywhere(holder, value)], 3)
    start = rng.randrange(len(able))  # ids that are easily confused stand side by side in their family
    chosen = [*able[start:], *able[:start]][: rng.randint(2, 6)]
    rows = [_row(rng, holder, value, rng.choice(GROUPS), rng.choice([LOW, HIGH])) for value in chosen for _ in "12"]
    return [row for row in rows if row is not None and rng.random() < 0.75]


def _anywhere(holder: Holder, value: Any) -> bool:
    return any(holder.holds(value, file) for file in range(len(holder.types)))


def _own(rng: Random, holder: Holder, values: Sequence[Any], name: Any) -> list[Row]:
    """All that one person can have: in any spelling of the name, in all groups or in some."""
    groups = rng.sample(GROUPS, rng.randint(2, 4))
    rows = [_row(rng, holder, value, g, rng.choice([LOW, HIGH])) for value in values for g in groups]
    mine = [row for row in rows if row is not None and _who(holder, row) == name and name is not None]
    return rng.sample(mine, min(len(mine), rng.randint(1, 5)))


def _nobody(rng: Random, holder: Holder, values: Sequence[Any]) -> list[Row]:
    rows = [_row(rng, holder, value, rng.choice(GROUPS), HIGH) for value in [None, None, *values]]
    missing = [row for row in rows if row is not None and _who(holder, row) is None]
    return rng.sample(missing, min(len(missing), rng.randint(1, 2)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Who has which rows in a database, table by table."""

    people: dict[Any, Counter[Any]]

    @classmethod
    def of(cls, holders: Sequence[Holder], database: Database) -> Written:
        people: dict[Any, Counter[Any]] = {}
        for number, (holder, rows) in enumerate(zip(holders, database, strict=True)):
            for row in holder.written(rows):
                name = holder.who(row)
                if name is not None:
                    people.setdefault(name, Counter())[number, row.g, row.x] += 1
        return cls(people=people)

    def rows(self, name: Any, table: int) -> int:
        return sum(times for (number, *_), times in self.people.get(name, {}).items() if number == table)

    def differ(self, other: Written) -> list[Any]:
        """Whose rows are not the same."""
        names = self.people.keys() | other.people.keys()
        return [name for name in names if self.people.get(name) != other.people.get(name)]


ALIKE_ALONE = ("TIMESTAMP", "DOUBLE", "FLOAT")

# ---- asking ----------------------------------------------------------------------------------------------------------

Asked = tuple[str, Query]
ALONE = {
    "all": "SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS p FROM {0}",
    "groups": "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM {0} GROUP BY g",
    "sum": "SELECT SUM(x) AS s, COUNT(*) AS n FROM {0}",
    "people": "SELECT g, COUNT(DISTINCT id) AS p FROM {0} GROUP BY g",
}
TOGETHER = {
    "all": "SELECT COUNT(*) AS n FROM {0} AS t JOIN {1} AS u ON t.id = u.id",
    "groups": "SELECT t.g, COUNT(*) AS n, SUM(u.x) AS s FROM {0} AS t JOIN {1} AS u ON t.id = u.id GROUP BY t.g",
}


@dataclass(frozen=True, kw_only=True)
class Round:
    """One or two tables, what may stand in them, and what is asked. They were added with the `first` database."""

    vault: Vault
    names: Sequence[str]
    holders: Sequence[Holder]
    databases: Sequence[Database]
    asked: Sequence[Asked]
    first: int

    def shown(self, *places: int) -> str:
        return f"{self.holders}, added with {self.first}: {[self.databases[place] for place in places]}"


class Fuzzer:
    """Rounds, each with tables of its own. A vault is used for some of them."""

    def __init__(self, rng: Random, kinds: Sequence[str], families: Families) -> None:
        self.rng, self._kinds, self._families = rng, kinds, families
        self.tally = Tally()
        self._folder = tempfile.TemporaryDirectory()
        self._place = Place(Path(self._folder.name) / "data")
        self._vaults: dict[str, Vault] = {}
        self._shared: duckdb.DuckDBPyConnection | None = None
        self._made = 0

    def close(self) -> None:
        self._close_vaults()
        self._folder.cleanup()

    def _close_vaults(self) -> None:
        for vault in self._vaults.values():
            vault.close()
        self._vaults.clear()
        if self._shared is not None:
            self._shared.close()
            self._shared = None

    def run(self, cases: int, stop_at: Sequence[str] = ()) -> Tally:
        while self.tally.cases < cases and not self.tally.found(stop_at):
            self.round()
        return self.tally

    def _vault(self, relation: str) -> Vault:
        """Declarations are kept in a file, which is read and written with every table: a vault does not get old."""
        if self._made % ROUNDS == 0:
            self._close_vaults()
        if relation not in self._vaults:
            folder = Path(self._folder.name) / f"{self._made}-{relation}"
            self._vaults[relation] = pv.create(folder, budget=pv.Budget(1000), neighbors=relation, testing=True)
        self._made += 1
        return self._vaults[relation]

    def _holder(self) -> Holder:
        while self._kinds and (holder := random_holder(self.rng)):
            if holder.kind in self._kinds:
                return holder
        return random_holder(self.rng)

    def round(self) -> None:
        holders = [self._holder() for _ in range(2 if self.rng.random() < JOINED else 1)]
        with self._engine(holders):
            self._round(holders)

    @contextmanager
    def _engine(self, holders: Sequence[Holder]) -> Iterator[None]:
        """Mostly one engine for all databases: to start one takes longer than all the rest. Tables have other names in
        every round. DuckDB files stay open in an engine, so they get one of their own, as in a vault."""
        if self.rng.random() < ENGINES or any(holder.kind == "duckdb" for holder in holders):
            yield
            return
        with patch.object(backend, "connect", self._cursor), patch.object(backend, "harden", lambda *_: None):
            yield

    def _cursor(self, scratch: Path) -> duckdb.DuckDBPyConnection:
        if self._shared is None:
            self._shared = connect(scratch)
        return self._shared.cursor()

    def _round(self, holders: Sequence[Holder]) -> None:
        rng = self.rng
        databases = random_databases(rng, holders, self._families)
        vault = self._vault(rng.choice(["add-remove", "add-remove", "replace"]))
        names = [f"{letter}{self._made}" for letter in "tu"[: len(holders)]]
        first = rng.randrange(len(databases))
        try:
            self._add(vault, names, holders, databases[first])
        except InvalidInputError:
            self.tally.also["not added"] += 1
            return
        asked = self._questions(vault, names)
        made = Round(vault=vault, names=names, holders=holders, databases=databases, asked=asked, first=first)
        key = rng.randbytes(8)
        order = [first, *(place for place in range(len(databases)) if place != first)]
        seen = {place: self._seen(made, place, key) for place in order}
        self._check_pairs(made, {place: found for place, found in seen.items() if found is not None})
        vault._backend.close()
        self.tally.rounds += 1
        self.tally.from_sql += len(asked)

    def _add(self, vault: Vault, names: Sequence[str], holders: Sequence[Holder], database: Database) -> None:
        for name, holder, rows in zip(names, holders, database, strict=True):
            data = self._place.put(holder, name, rows)
            columns: dict[str, Any] = {"g": pv.Category(["a", "b", "c"]), "x": pv.Integer(LOW, HIGH)}
            if holder.declared:
                columns["id"] = pv.Integer(0, 10**6)
            given: dict[str, Any] = {"kind": holder.kind} if isinstance(data, Path) else {}
            if holder.kind == "duckdb":
                given["table"] = "t"
            limits = {"max_groups": 4, "max_rows_per_group": ROWS}
            # Earlier versions declared columns that are nearly all unreadable, and their vaults still answer.
            with patch.object(backend.DuckDb, "check_unread", lambda *_: None):
                vault.add_table(name, data, unit="id", columns=columns, **limits, **given, **holder.options)

    def _questions(self, vault: Vault, names: Sequence[str]) -> list[Asked]:
        asked = TOGETHER if len(names) > 1 else ALONE
        limits = {name: {} if name == "all" else self._limits() for name in asked}
        return [(name, vault.sql(text.format(*names), epsilon=1, **limits[name])) for name, text in asked.items()]

    def _limits(self) -> dict[str, int]:
        groups, rows = self.rng.choice([(1, 1), (1, 1), (1, 1), (1, 2), (2, 1), (3, 2)])
        return {"max_groups": groups, "max_rows_per_group": rows}

    def _seen(self, made: Round, place: int, key: bytes) -> list[Exact] | None:
        """The exact parts of every question; None if the database is refused before a charge."""
        vault, database = made.vault, made.databases[place]
        self.tally.also["databases"] += 1
        written = [self._place.put(*one) for one in zip(made.holders, made.names, database, strict=True)]
        try:
            for name, data in zip(made.names, written, strict=True):
                if not isinstance(data, Path):
                    vault.attach(name, data)
            vault._backend.ready(*(vault.tables[name] for name in made.names))
        except InvalidInputError:
            self.tally.also["refused"] += 1
            return None
        except Exception as error:
            self.tally.violations.append(f"failed: {error!r} for {made.shown(place)}")
            return None
        try:
            return [exact(query, key=key) for _, query in made.asked]
        except Exception as error:  # it would be after the charge
            self.tally.violations.append(f"failed: {error!r} after the charge for {made.shown(place)}")
            return None

    def _check_people(self, made: Round, written: Written, found: list[Exact], place: int) -> None:
        """Where no limit binds, all rows and all people are counted."""
        values = [part.values[0] for part in found[0].parts]
        pairs = zip(made.holders, made.databases[place], strict=True)
        typed = [holder.types_of(rows).values() for holder, rows in pairs if holder.kind not in ("csv", "excel")]
        alone = any(type_.startswith(ALIKE_ALONE) for types in typed for type_ in types)
        if len(made.holders) > 1 and alone:  # moments and fractions equal only their own type: docs/declarations.md
            return
        if len(made.holders) == 1:
            expected = [sum(written.rows(name, 0) for name in written.people), len(written.people)]
        else:
            expected = [sum(written.rows(name, 0) * written.rows(name, 1) for name in written.people)]
        if values != expected:
            self.tally.violations.append(f"people: {values} is {expected} for {made.shown(place)}")

    def _check_pairs(self, made: Round, seen: dict[int, list[Exact]]) -> None:
        relation = str(made.vault.terms.neighbors)
        written = {place: Written.of(made.holders, made.databases[place]) for place in seen}
        for place, found in seen.items():
            self._check_people(made, written[place], found, place)
        for one, two in itertools.combinations(sorted(seen), 2):
            names = written[one].differ(written[two])
            if len(names) > 1:
                self.tally.also["others' ids were changed by the writing program"] += 1
                continue
            if relation == "add-remove" and names and all(names[0] in written[place].people for place in (one, two)):
                continue  # somebody's rows changed
            self.tally.also["pairs of databases"] += 1
            self.tally.also["pairs that differ in nobody's rows"] += not names
            for (question, _), a, b in zip(made.asked, seen[one], seen[two], strict=True):
                self.tally.cases += 1
                cell = f"{question}/{relation}/{'+'.join(holder.kind for holder in made.holders)}"
                for problem in self._check_moves(a, b, cell, same=not names):
                    text = f"{problem}, {question}, {relation}, {names}"
                    self.tally.violations.append(f"sensitivity: {text} for {made.shown(one, two)}")

    def _check_moves(self, one: Exact, two: Exact, cell: str, *, same: bool) -> Iterator[str]:
        """What moves too far; anything at all, if the same rows count."""
        for a, b in zip(one.parts, two.parts, strict=True):
            self.tally.counts[cell] += 1
            for limit, change in zip(CHANGES, changes(a, b), strict=True):
                most = getattr(a, limit)
                if change > (0 if same else most):
                    yield f"{limit} of {a.role} moves by {change} > {0 if same else most}"
                key, share = f"{cell}/{limit}", Fraction(change, most)
                self.tally.attained[key] = max(share, self.tally.attained.get(key, share))


def fuzz(
    seed: int,
    cases: int,
    stop_at: Sequence[str] = (),
    kinds: Sequence[str] = (),
    families: Families = hostile_ids.FAMILIES,
) -> Tally:
    """So many cases from one seed, or until something of these kinds is found; with such sources and ids only."""
    fuzzer = Fuzzer(Random(seed), kinds, families)
    try:
        return fuzzer.run(cases, stop_at)
    finally:
        fuzzer.close()
