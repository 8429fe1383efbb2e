"""Databases that differ in one person's rows, through whatever can keep them: do answers move within their price?

A round writes one database, and then its neighbors: without one person, or without the rows of nobody. Who is one
person is said by an oracle over the *written* values: bytes of a CSV, values of a typed column. What the files look
like otherwise (which file a row is in, the type of its column) is part of the row. If two people are read as one, whose
rows are kept depends on both; if one is read as two, both count: either way some answer moves too far.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import privet as pv
from privet.backends.duckdb import SAME_FOR_ALL_DATA, DuckDb
from privet.core.schema import Category, Integer
from privet.declarations import Source, Table
from privet.query import Query
from privet.sources import Raw, attach, connect
from privet.testing.vectors import Exact

BIG = 2**53
COLUMNS = {"ward": Category(["A", "B", "C"]), "x": Integer(0, 9)}
LIMITS = [(1, 1), (1, 2), (2, 1)]
TEXT = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """`place` says in which file of a folder it is."""

    id: Any
    ward: str
    x: int
    place: int = 0


@dataclass(slots=True)
class Tally:
    """A case is a pair of neighboring databases."""

    cases: int = 0
    rounds: int = 0
    by_container: Counter[str] = field(default_factory=Counter)
    attained: Fraction = Fraction(0)
    violations: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.cases += other.cases
        self.rounds += other.rounds
        self.by_container += other.by_container
        self.attained = max(self.attained, other.attained)
        self.violations += other.violations


# ---- the oracle ------------------------------------------------------------------------------------------------------


def person(value: Any) -> object:
    """Who a typed or Python value is; None for nobody. A whole number is its digits, and so is its text."""
    match value:
        case None:
            return None
        case bool() | np.bool_():
            return str(bool(value)).lower()
        case np.datetime64():
            return str(value.astype("datetime64[ns]"))
        case float() if not abs(value) < BIG:
            return None
        case float():
            return person(Decimal(repr(float(value))))
        case int() | Decimal():
            digits = f"{Decimal(value):f}"
            digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
            return None if len(digits) > 400 else "0" if digits == "-0" else digits
        case _:
            return value


def person_of_field(value: bytes) -> object:
    """Who the bytes of a CSV field are: without spaces at the ends and without quotes."""
    inner = value.strip(b" ")
    inner = inner[1:-1].replace(b'""', b'"').strip(b" ") if inner.startswith(b'"') else inner
    return inner or None


# ---- what keeps the rows ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """Ids that it can hold, for each of its files, and how rows are written."""

    name: str
    source: Mapping[str, Any]
    ids: Sequence[Sequence[Any]]
    write: Callable[[Sequence[Row], Path], object]
    person: Callable[[Any], object] = person


FIELDS = [
    b"\xfc", b"\\xfc", b"\\\xfc", b"\\\\xfc", b" 5", b"5 ", b'"5"', b"05", b"5.0", b"\xc3\xbc", b"", b" ",
    b"\\xc3\\xbc", str(BIG).encode(), str(BIG + 1).encode(), b"\xed\xa0\x80", b"\\ud800", b'"a""b"', b"\xff\xfe",
    b"A", b"a", b"\\x", b"DOM\\user", b"a\0",
]  # fmt: skip
WIDE = ["\\xfc", "ü", "5", " 5", "05", "", "\\x00\\xd8", "\\", "\ud800", "\udc00", "\ud800\\", "a", "A"]
TEXTS = ["5", "05", "5.0", "", " 5", "true", "\\xfc", "\\\\xfc", "é", "e\u0301", "A", "a", str(BIG), str(BIG + 1), None]
WHOLE = [5, 0, -5, BIG - 1, BIG, BIG + 1, BIG + 2, 2**62, 2**62 + 1]
FLOATS = [5.0, 0.0, -0.0, 1.5, 0.1, float(BIG - 1), float(BIG), float(BIG + 2), float("nan"), float("inf"), None]
DECIMALS = [Decimal("5.00"), Decimal("0.10"), Decimal(BIG), Decimal(BIG + 1), Decimal("1.50"), None]
MIXED = [
    *TEXTS, *WHOLE, *FLOATS, *DECIMALS, True, False, "\ud800", "\\ud800", "\\\ud800", 10**400, -(10**400), 10**399,
    np.datetime64("2020-01-01T00:00:00.000000001"), np.datetime64("2020-01-01T00:00:00.000000002"), np.float64(5),
]  # fmt: skip
SHEET = [
    "5",
    "05",
    5,
    5.0,
    1.5,
    "1.5",
    float(BIG - 1),
    float(BIG),
    BIG + 2,
    "\\xfc",
    "\\\\xfc",
    " 5",
    True,
    "true",
    None,
]


def _columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    return {name: [getattr(row, name) for row in rows] for name in ("id", "ward", "x")}


def _csv(encoding: str, *, wide: bool = False, slow: bool = False) -> Container:
    def encoded(text: str) -> bytes:
        return text.encode(encoding, "surrogatepass") if wide else text.encode()

    def write(rows: Sequence[Row], folder: Path) -> object:
        lines = [encoded("id,ward,x\n"), *([encoded("\n,,,,\n")] * slow)]
        for row in rows:
            lines.append((encoded(row.id) if wide else row.id) + encoded(f",{row.ward},{row.x}\n"))
        (folder / "t.csv").write_bytes(b"".join(lines))
        return None

    source = {"kind": "csv", "path": "t.csv", "encoding": encoding}
    name, ids = f"csv {encoding}{' slow' * slow}", WIDE if wide else FIELDS
    who = (lambda text: text.strip(" ") or None) if wide else person_of_field
    return Container(name=name, source=source, ids=[ids], write=write, person=who)


def _memory(name: str, ids: Sequence[Any], make: Callable[[dict[str, list[Any]]], object]) -> Container:
    return Container(name=name, source={"kind": "memory"}, ids=[ids], write=lambda rows, _: make(_columns(rows)))


ARROW = [(pa.int64(), [*WHOLE, None]), (pa.float64(), FLOATS), (pa.string(), TEXTS), (pa.decimal128(20, 2), DECIMALS),
         (pa.float64(), [None, float("nan")])]  # fmt: skip


def _folder(rows: Sequence[Row], folder: Path) -> object:
    (folder / "f").mkdir(exist_ok=True)
    for place, (type_, _) in enumerate(ARROW):
        file, mine = folder / "f" / f"{place}.parquet", [row for row in rows if row.place == place]
        file.unlink(missing_ok=True)
        if mine or place == 0:
            columns = _columns(mine)
            schema = {"id": pa.array(columns["id"], type_), "ward": pa.array(columns["ward"], pa.string())}
            pq.write_table(pa.table(schema | {"x": pa.array(columns["x"], pa.int64())}), file)
    return None


def _excel(rows: Sequence[Row], folder: Path) -> object:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("s")
    for line in [("id", "ward", "x"), *((row.id, row.ward, row.x) for row in rows)]:
        sheet.append(line)
    book.save(folder / "t.xlsx")
    return None


def _database(rows: Sequence[Row], folder: Path) -> object:
    (folder / "new.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "new.duckdb")) as other:
        other.execute("CREATE TABLE t (id DOUBLE, ward VARCHAR, x INTEGER)")
        listed = [[row.id, row.ward, row.x] for row in rows]
        if listed:
            other.executemany("INSERT INTO t VALUES (?, ?, ?)", listed)
    (folder / "new.duckdb").replace(folder / "t.duckdb")
    return None


def _typed(type_: Any) -> Callable[[dict[str, list[Any]]], object]:
    return lambda rows: pd.DataFrame({**rows, "id": pd.Series(rows["id"], dtype=type_)})


OFTEN = [
    _csv("utf-8"), _csv("utf-8", slow=True), _csv("latin-1"), _csv("cp1252"), _csv("utf-16-le", wide=True),
    *[Container(name="folder", source={"kind": "parquet", "path": "f"}, ids=[ids for _, ids in ARROW],
                write=_folder)] * 4,
    _memory("dictionary", MIXED, dict), _memory("pandas object", MIXED, _typed(object)),
    _memory("pandas float64", FLOATS, _typed("float64")), _memory("pandas Int64", [*WHOLE, None], _typed("Int64")),
    _memory("pandas category", TEXTS, _typed("category")), _memory("pandas string", TEXTS, _typed("string")),
    _memory("polars text", TEXTS, lambda rows: pl.DataFrame(rows, schema_overrides={"id": pl.String})),
    _memory("polars float", FLOATS, lambda rows: pl.DataFrame(rows, schema_overrides={"id": pl.Float64})),
    _memory("arrow whole", WHOLE, lambda rows: pa.table({**rows, "id": pa.array(rows["id"], pa.int64())})),
]  # fmt: skip
SELDOM = [
    Container(name="excel", source={"kind": "excel", "path": "t.xlsx"}, ids=[SHEET], write=_excel,
              person=lambda value: person(value.strip(" ") or None if isinstance(value, str) else value)),
    Container(name="duckdb", source={"kind": "duckdb", "path": "t.duckdb", "table": "t"}, ids=[FLOATS],
              write=_database),
]  # fmt: skip


# ---- rounds ----------------------------------------------------------------------------------------------------------


class Again(DuckDb):
    """The engine of vaults, with one database for all tables that are read: opening one takes most of the time. It is
    not locked. DuckDB files are opened as in vaults: a database keeps those that it has seen."""

    def __init__(self, base: Path, memory: Mapping[str, object]) -> None:
        super().__init__(base, memory, scratch=base / "scratch")
        self._ones = {place: connect(base / "scratch") for place in (True, False)}  # for views and for tables
        for one in self._ones.values():
            one.execute(f"{SAME_FOR_ALL_DATA}; SET threads = 1")  # a few rows need no help

    @contextmanager
    def _asked(self, table: Table, *beside: Table) -> Iterator[tuple[Raw, duckdb.DuckDBPyConnection]]:
        if table.source.kind == "duckdb":
            with super()._asked(table, *beside) as found:
                yield found
        else:
            one = self._ones[table.source.kind == "parquet"]
            raw = attach(one, table, self._base, self._memory)
            with one.cursor() as cursor:
                yield raw, cursor

    def close(self) -> None:
        super().close()
        for one in self._ones.values():
            one.close()


class Fuzzer:
    """One vault for testing for each relation, and one engine over a folder that is written again and again."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.tally = rng, Tally()
        self._folder = tempfile.TemporaryDirectory()
        self._base, self._memory, self._time = Path(self._folder.name), dict[str, object](), 1
        self._backend = Again(self._base, self._memory)
        self._vaults = []
        self._queries: list[Query] = []
        for relation in ("add-remove", "replace"):
            vault = pv.create(self._base / relation, budget=pv.Budget(1000), neighbors=relation, testing=True)
            vault.add_table("t", {"id": ["1"], "ward": ["A"], "x": [1]}, unit="id", columns=COLUMNS)
            for groups, rows in LIMITS:
                asked = vault.sql(TEXT, epsilon=1, max_groups=groups, max_rows_per_group=rows)
                self._queries.append(replace(asked, gate=replace(asked.gate, backend=self._backend)))
            self._vaults.append(vault)

    def close(self) -> None:
        self._backend.close()
        for vault in self._vaults:
            vault.close()
        self._folder.cleanup()

    def round(self) -> None:
        rng = self.rng
        container = rng.choice(SELDOM if rng.random() < 0.05 else OFTEN)
        rows = [self._row(container) for _ in range(rng.choice([4, 8, 14]))]
        query = rng.choice(self._queries)
        table = Table(name="t", source=Source(**container.source), unit="id", columns=COLUMNS)
        whole = self._exact(query, table, container, rows)
        people = [container.person(row.id) for row in rows]
        for one in dict.fromkeys(people):
            left = [row for row, who in zip(rows, people, strict=True) if who != one]
            found = self._exact(query, table, container, left)
            self._compare(container, whole, found, f"without {one!r} of {rows}", nobody=one is None)
        self.tally.rounds += 1

    def _row(self, container: Container) -> Row:
        place = self.rng.randrange(len(container.ids))
        ward = self.rng.choice(["A", "B", "C"])
        return Row(id=self.rng.choice(container.ids[place]), ward=ward, x=self.rng.randint(0, 9), place=place)

    def _exact(self, query: Query, table: Table, container: Container, rows: Sequence[Row]) -> Exact:
        frame = container.write(rows, self._base)
        self._memory["t"] = frame
        self._time += 1  # a file system's clock may be too coarse for us
        if frame is None:
            path = self._base / container.source["path"]
            for file in path.iterdir() if path.is_dir() else [path]:
                os.utime(file, ns=(self._time, self._time))
        return pv.testing.exact(replace(query, table=table), key=b"key")

    def _compare(self, container: Container, one: Exact, two: Exact, name: str, *, nobody: bool) -> None:
        self.tally.cases += 1
        self.tally.by_container[container.name] += 1
        for part, other in zip(one.parts, two.parts, strict=True):
            moved = [abs(a - b) for a, b in zip(part.values, other.values, strict=True)]
            changes = {
                "l1": (sum(moved), part.l1), "l2_squared": (sum(m * m for m in moved), part.l2_squared),
                "linf": (max(moved), part.linf),
            }  # fmt: skip
            for limit, (change, most) in changes.items():
                if change > (0 if nobody else most):
                    self.tally.violations.append(f"{container.name}: {limit} moved by {change}, not {most}, {name}")
                self.tally.attained = max(self.tally.attained, Fraction(change, most))


def fuzz(seed: int, cases: int, stop: int = 10**9) -> Tally:
    """At least so many cases; fewer if there are so many violations before."""
    fuzzer = Fuzzer(Random(seed))
    try:
        while fuzzer.tally.cases < cases and len(fuzzer.tally.violations) < stop:
            fuzzer.round()
    finally:
        fuzzer.close()
    return fuzzer.tally
