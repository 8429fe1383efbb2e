"""Different people stay different, whatever keeps their ids; and one person stays one.

Stated equalities: a value is its text (5 and "5", true and "true", a date and its ISO text), numbers that are equal are
one (5, 5.0, Decimal("5.00")), a float with a fraction is the decimal it is written as, a date is its midnight, a time
with a zone is its moment in UTC, and spaces at the ends of CSV and Excel fields do not count. Nobody: NULL, NaN,
infinities, floats from 2^53 on (FLOAT: 2^24), numbers of more than 400 digits, times finer than nanoseconds.
"""

from __future__ import annotations

import codecs
import datetime as dt
import encodings.aliases
import gzip
import importlib
import itertools
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import raises_code

import privet as pv
from privet.backends.duckdb import DuckDb
from privet.catalog.declarations import Source, Table
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Timestamp
from privet.errors import InvalidInputError
from privet.sources import attach, connect, delimited
from privet.sources.describing import describe
from privet.sources.relation import BACKSLASHES, HALF, spelled

BIG = 2**53
LOOKS = [
    "\\xfc",
    "\\\\xfc",
    "\\\\\\xfc",
    "\\ud800",
    "\\\\ud800",
    "\\x",
    "\\",
    "x",
    "\\u",
    "DOM\\user",
    "\\xFC",
    "\\udcfc",
]
HALVES = ["\udcfc", "\\\udcfc", "\\\\\udcfc", "\ud800", "\\\ud800", "\udc41"]


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(tmp_path / "scratch") as opened:
        yield opened


def declared(source: Mapping[str, Any], columns: Mapping[str, Kind] | None = None, **more: Any) -> Table:
    return Table(name="t", source=Source(**source), unit="id", columns=columns or {"x": Integer(0, 9)}, **more)


def units(connection: duckdb.DuckDBPyConnection, table: Table, base: Path, frame: object = None) -> dict[Any, Any]:
    """The unit of each row, by the number x that the row has; None for nobody."""
    raw = attach(connection, table, base, {"t": frame})
    name, _ = raw.unit(table)
    return dict(connection.execute(f'SELECT CAST(x AS INTEGER), "{name}" FROM {raw.relation}').fetchall())


def listed(connection: duckdb.DuckDBPyConnection, table: Table, base: Path, frame: object = None) -> list[Any]:
    return [unit for _, unit in sorted(units(connection, table, base, frame).items())]


# ---- planted merges --------------------------------------------------------------------------------------------------


def folder(path: Path, *files: pa.Table) -> dict[str, Any]:
    path.mkdir()
    for number, file in enumerate(files):
        pq.write_table(file, path / f"{number}.parquet")
    return {"kind": "parquet", "path": path.name}


def test_a_file_of_floats_merges_nobody_in_other_files(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """pandas writes a column of ids as floats where one id is missing: read together, all ids were floats."""
    whole = pa.table({"id": [BIG, BIG + 1, BIG + 2, 5], "x": [1, 2, 3, 4]})
    floats = pa.Table.from_pandas(pd.DataFrame({"id": [5, None, BIG], "x": [5, 6, 7]}))
    found = units(connection, declared(folder(tmp_path / "f", whole, floats)), tmp_path)
    assert found == {1: str(BIG), 2: str(BIG + 1), 3: str(BIG + 2), 4: "5", 5: "5", 6: None, 7: None}


def test_a_row_of_nobody_moves_no_count(tmp_path: Path) -> None:
    """As it was found: 3 where 1 was paid."""
    ids = pa.table({"id": [BIG, BIG + 1, BIG + 2], "x": [1, 1, 1]})
    nobody = pa.Table.from_pandas(pd.DataFrame({"id": pd.Series([None], dtype=float), "x": [1]}))
    counts = []
    for number, files in enumerate([(ids,), (ids, nobody)]):
        with pv.create(tmp_path / f"v{number}.privet", budget=pv.Budget(1), testing=True) as vault:
            folder(tmp_path / f"f{number}", *files)
            vault.add_table(
                "t", tmp_path / f"f{number}/*.parquet", kind="parquet", unit="id", columns={"x": Integer(0, 9)}
            )
            asked = vault.sql("SELECT COUNT(*) AS n FROM t", epsilon=1)
            counts.append(pv.testing.exact(asked, key=b"k").parts[0].values)
    assert counts[0] == counts[1] == (3,)


def test_numbers_of_one_file_do_not_round_those_of_another(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    kind = Integer(0, 2**60)
    files = (
        pa.table({"id": [1], "v": [BIG + 1], "x": [1]}),
        pa.table({"id": [2], "v": [0.5], "x": [2]}),
        pa.table({"id": [3], "v": ["7"], "x": [3]}),
        pa.table({"id": [4], "v": pa.array([Decimal("2.50")]), "x": [4]}),
        pa.table({"id": [5], "v": [float("inf")], "x": [5]}),
        pa.table({"id": [6], "x": [6]}),
        pa.table({"id": [7], "v": [True], "x": [7]}),
        pa.table({"id": [8], "v": pa.array([1e20, ], pa.float32()), "x": [8]}),
        pa.table({"id": [9], "v": pa.array([None], pa.null()), "x": [9]}),
    )  # fmt: skip
    table = declared(folder(tmp_path / "f", *files), {"x": Integer(0, 9), "v": kind})
    raw = attach(connection, table, tmp_path, {})
    assert dict(raw.types) == {"x": "BIGINT", "v": "VARCHAR", "id": "BIGINT"}
    found = connection.execute(f"SELECT v FROM {raw.relation} ORDER BY x").fetchall()
    texts = [str(BIG + 1), "0.5", "7", "2.5", "1e999", None, "true", "1.0000000200408773e+20", None]
    assert found == [(text,) for text in texts]


def test_times_of_files_that_disagree(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    noon, day = dt.datetime(2020, 1, 31, 12), dt.date(2020, 1, 31)
    values = [pa.array([noon]), pa.array([day]), pa.array(["2020-01-31"]), pa.array([noon], pa.timestamp("us", "UTC"))]
    files = [
        pa.table({"id": value, "d": value, "s": value, "x": [number]}) for number, value in enumerate(values, start=1)
    ]
    columns: dict[str, Kind] = {
        "x": Integer(0, 9), "d": Date("2020-01-01", "2020-12-31"), "s": Timestamp("2020-01-01", "2020-12-31"),
    }  # fmt: skip
    table = declared(folder(tmp_path / "f", *files), columns)
    raw = attach(connection, table, tmp_path, {})
    rows = connection.execute(f"SELECT d, s, id FROM {raw.relation} ORDER BY x").fetchall()
    late = "2020-01-31 12:00:00"
    assert rows == [("2020-01-31", late, late), *[("2020-01-31",) * 3] * 2, ("2020-01-31", late, late)]
    assert DuckDb(tmp_path, {}).types(table) == {"x": "BIGINT", "d": "mixed", "s": "mixed", "id": "mixed"}


def test_one_frame_with_a_missing_id(connection: duckdb.DuckDBPyConnection) -> None:
    """Its ids are floats already, and those that a float does not tell apart are nobody, row by row."""
    frame = pd.DataFrame({"id": [BIG, BIG + 1, 5, None], "x": [1, 2, 3, 4]})
    assert units(connection, declared({"kind": "memory"}), Path(), frame) == {1: None, 2: None, 3: 5.0, 4: None}
    short = frame.assign(id=pd.Series([2.0**24, 2.0**24 - 1, -1.5, None], dtype="float32"))
    assert units(connection, declared({"kind": "memory"}), Path(), short) == {1: None, 2: 2.0**24 - 1, 3: -1.5, 4: None}


def test_a_declared_unit_keeps_its_own_text(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """Cleaned as numbers, "1.234" and "1234" were one person; as dates, "1.1.2020" and "01.01.2020"."""
    (tmp_path / "t.csv").write_text("id;x\n1.234;1\n1234;2\n01.01.2020;3\n1.1.2020;4\n")
    source = {"kind": "csv", "path": "t.csv", "delimiter": ";", "thousands": ".", "decimal": ","}
    number = declared(source, {"x": Integer(0, 9), "id": Integer(0, 10**6)})
    assert listed(connection, number, tmp_path) == ["1.234", "1234", "01.01.2020", "1.1.2020"]
    raw = attach(connection, number, tmp_path, {})
    assert connection.execute(f"SELECT id FROM {raw.relation} WHERE x IN ('1', '2')").fetchall() == [("1234",)] * 2
    day = declared(source | {"date_format": "%d.%m.%Y"}, {"x": Integer(0, 9), "id": Date("2020-01-01", "2020-12-31")})
    assert listed(connection, day, tmp_path) == ["1.234", "1234", "01.01.2020", "1.1.2020"]


def test_a_declared_unit_is_asked_by_its_own_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,x\n1'234,1\n1234,2\n")
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(1), testing=True) as vault:
        columns = {"x": Integer(0, 9), "id": Integer(0, 10**6)}
        vault.add_table("t", tmp_path / "t.csv", unit="id", columns=columns, thousands="'")
        for text in ("SELECT COUNT(*) AS n FROM t", "SELECT COUNT(DISTINCT id) AS n FROM t"):
            assert pv.testing.exact(vault.sql(text, epsilon=1), key=b"k").parts[0].values == (2,)


@pytest.mark.parametrize("slow", [False, True])
def test_bytes_beside_their_spelling(slow: bool, connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """Byte FC and the text \\xfc were one person. A row decides by itself: the other rows keep their texts."""
    rows = [text.encode() for text in LOOKS]
    if slow:
        rows += [b"\xfc", b"\\\xfc", b"\\\\\xfc", b"\xfcx", b"\xfd", b"\xed\xa0\x80"]
    (tmp_path / "t.csv").write_bytes(b"id,x\n" + b"".join(row + b",%d\n" % place for place, row in enumerate(rows)))
    found = listed(connection, declared({"kind": "csv", "path": "t.csv"}), tmp_path)
    assert found[: len(LOOKS)] == [spelled(text, unit=True) for text in LOOKS]
    assert len(set(found)) == len(rows)
    assert found[5:10] == LOOKS[5:10]  # ordinary ids with backslashes keep their text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "shift_jis"])
def test_bytes_that_an_encoding_does_not_know(
    encoding: str, connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    """One byte of one id is damaged in every possible way."""
    rest, found = "\\x81,b", set()
    good = f'x,id\n1,"{rest}"\n'.encode(encoding)
    start = good.index("\\x81".encode(encoding.removesuffix("-le") + "-le" * ("16" in encoding or "32" in encoding)))
    decoded = set()
    for byte in range(256):
        data = good[:start] + bytes([byte]) + good[start + 1 :]
        (tmp_path / "t.csv").write_bytes(data)
        table = declared({"kind": "csv", "path": "t.csv", "encoding": encoding})
        found.add(units(connection, table, tmp_path).get(1))
        decoded.add(data.decode(encoding, "privet.bytes"))
    assert len(decoded) == 256
    assert len(found) >= 250  # a quote, a line break


def test_no_other_encoding_writes_halves_of_characters() -> None:
    singles = [bytes([byte]) for byte in range(256)]
    pairs = [bytes(pair) for pair in itertools.product(range(256), repeat=2)]
    for name in sorted(set(encodings.aliases.aliases.values())):
        try:
            info = codecs.lookup(name)
            "".encode(name)
        except (LookupError, TypeError, ValueError):
            continue
        if info.name in delimited.WITH_HALVES:
            continue
        alone = hasattr(importlib.import_module(f"encodings.{name}"), "decoding_table")  # each byte by itself
        for data in [
            *(singles if alone else pairs),
            b"\\ud800",
            b"+2AA-",
            b"\xd8\x00\x00\x41",
            b"\x00\xd8\x41\x00",
            b"\x00\xd8\x00\x00",
        ]:
            try:
                text = data.decode(name)
            except UnicodeError:
                continue
            assert not HALF.search(text), name


def test_encodings_that_write_halves_are_refused(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"id,x\n+2AA-,1\n")
    for name in ("utf-7", "unicode_escape", "raw_unicode_escape"):
        with raises_code(InvalidInputError, "unsupported-format"):
            attach(connection, declared({"kind": "csv", "path": "t.csv", "encoding": name}), tmp_path, {})


@given(st.lists(st.text(st.sampled_from("\\\\\\xu0fcd8a\ud800\udcfc\udcff"), max_size=12), min_size=2, unique=True))
def test_spelling_units_is_one_to_one(texts: list[str]) -> None:
    found = [spelled(text, unit=True) for text in texts]
    assert len(set(found)) == len(texts)
    for text, written in zip(texts, found, strict=True):
        written.encode()
        if not BACKSLASHES.search(text) and not HALF.search(text):
            assert written == text


# ---- every way by which a value becomes a unit -----------------------------------------------------------------------

Read = Callable[[Sequence[Any]], list[Any]]
DAY, NOON = dt.date(2020, 1, 31), dt.datetime(2020, 1, 31, 12)
CODE = uuid.UUID(int=0xABC)
TEXTS: list[str | None] = [
    *LOOKS, "5", "05", "5.0", "+5", "5e0", "true", "True", "TRUE", "2020-01-31", "2020-01-31 00:00:00", str(CODE),
    str(CODE).upper(), "é", "e\u0301", "ﬁ", "fi", "ß", "ss", "A", "a", "Á", "\ufeff", "a\ufeff", "a\0", "a\0b", "\t",
    "a\t", "nan", "NULL", "None", str(BIG), str(BIG + 1), "1" * 500, "1" * 499 + "2", "\u2028", "\U0001f600", "a,b",
    'a"b', "a\nb",
]  # fmt: skip
WHOLE = [0, 1, -1, 5, BIG - 1, BIG, BIG + 1, BIG + 2, -BIG, -BIG - 1, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [0.0, 5.0, -5.0, 0.1, 0.1 + 2**-56, 1.5, 1e-300, 5e-324, float(BIG - 1), 1.0 + 2**-52, 1e15 + 0.125]
NOBODY = [None, float("nan"), float("inf"), -float("inf"), float(BIG), -1e300]


def numbered(values: Sequence[Any]) -> dict[str, Any]:
    return {"id": values, "x": list(range(len(values)))}


def different(found: list[Any], count: int) -> None:
    assert None not in found
    assert len(set(found)) == count


@pytest.fixture
def by_frame(connection: duckdb.DuckDBPyConnection) -> Callable[[object], list[Any]]:
    many = {"x": Integer(0, 10**6)}
    return lambda frame: listed(connection, declared({"kind": "memory"}, many), Path(), frame)


def test_texts_in_frames(by_frame: Callable[[object], list[Any]]) -> None:
    rows, expected = numbered(TEXTS), [spelled(text or "", unit=True) for text in TEXTS]
    for frame in (
        rows,
        pd.DataFrame(rows),
        pd.DataFrame(rows).astype({"id": object}),
        pd.DataFrame(rows).astype({"id": "category"}),
        pd.DataFrame(rows).astype({"id": "string"}),
        pl.DataFrame(rows),
        pl.DataFrame(rows, schema_overrides={"id": pl.Categorical}),
        pa.table(rows),
        pa.table(rows).cast(pa.schema([("id", pa.large_string()), ("x", pa.int64())])),
        pa.table({"id": pa.array(TEXTS).dictionary_encode(), "x": rows["x"]}),
    ):
        assert by_frame(frame) == expected
    different(expected, len(TEXTS))


def test_halves_in_frames(by_frame: Callable[[object], list[Any]]) -> None:
    values = [*TEXTS, *HALVES]
    for frame in (numbered(values), pd.DataFrame(numbered(values), dtype=object)):
        different(by_frame(frame), len(values))


@pytest.mark.parametrize("quote", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_texts_in_csv(encoding: str, quote: bool, connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    texts = [text for text in TEXTS if text and (quote or not set(text) & set(',"\n\0\u2028'))]
    write = (lambda text: '"' + text.replace('"', '""') + '"') if quote else str
    lines = ["id,x", *(f"{write(text)},{place}" for place, text in enumerate(texts))]
    data = "\n".join(lines).encode(encoding)
    table = declared({"kind": "csv", "path": "t.csv", "encoding": encoding}, {"x": Integer(0, 10**6)})
    expected = [spelled(text, unit=True) for text in texts]
    for rest in (b"", "\n5\n".encode(encoding.removesuffix("-sig"))[2 * (encoding == "utf-16") :]):  # a short row: slow
        (tmp_path / "t.csv").write_bytes(data + rest)
        raw = attach(connection, table, tmp_path, {})
        found = connection.execute(
            f"SELECT id FROM {raw.relation} WHERE x IS NOT NULL ORDER BY CAST(x AS INT)"
        ).fetchall()
        assert [unit for (unit,) in found] == expected
    different(expected, len(texts))


def test_texts_in_one_byte_encodings(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """All bytes that can stand in a field are different people."""
    rows = [
        bytes([one, two]) for one in (0x41, 0x5C, 0x81, 0xFC) for two in range(0x21, 256) if two not in (0x22, 0x2C)
    ]
    (tmp_path / "t.csv").write_bytes(b"id,x\n" + b"".join(row + b",%d\n" % place for place, row in enumerate(rows)))
    for encoding in ("latin-1", "cp1252", "cp437", "utf-8"):
        table = declared({"kind": "csv", "path": "t.csv", "encoding": encoding}, {"x": Integer(0, 10**6)})
        different(listed(connection, table, tmp_path), len(rows))


def test_values_in_sheets(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    texts = [text for text in TEXTS if text and text.isprintable() and len(text) < 400]
    others = [5, 5.5, 0.1, BIG - 1, True, DAY, NOON, dt.datetime(2020, 1, 31, 12, 0, 1)]
    nobody = [float(BIG), BIG + 2, 1e300, dt.timedelta(days=1, hours=2)]
    sheet = (book := openpyxl.Workbook()).active
    assert sheet is not None
    sheet.append(["id", "x"])
    for place, value in enumerate([*texts, *others, *nobody]):
        sheet.append([value, place])
        if isinstance(value, str):
            sheet.cell(place + 2, 1).data_type = "s"
    book.save(tmp_path / "t.xlsx")
    table = declared({"kind": "excel", "path": "t.xlsx"}, {"x": Integer(0, 10**6)})
    found = listed(connection, table, tmp_path)
    texts_of_others = [
        "5",
        "5.5",
        "0.1",
        str(BIG - 1),
        "true",
        "2020-01-31",
        f"{NOON}.000000",
        "2020-01-31 12:00:01.000000",
    ]
    assert found == [*(spelled(text, unit=True) for text in texts), *texts_of_others, *[None] * len(nobody)]


def test_mixed_python_values(by_frame: Callable[[object], list[Any]]) -> None:
    moment = np.datetime64("2020-01-31T12:00:00.000000001")
    one_each = [
        *WHOLE, 0.1, 1.5, Decimal("0.1000000000000000055511151231257827"), Decimal(BIG) + 7, 10**399, -(10**399), False,
        DAY, NOON, moment, moment + 1, pd.Timestamp(moment + 2), pd.Timestamp(moment + 2, tz="UTC") + pd.Timedelta(1),
        CODE, np.float32(0.1), np.longdouble(1) / 3, 1 / 3, "false?", "\ud800", "\\ud800",
    ]  # fmt: skip
    nobody = [*NOBODY, 10**400, -(10**5000), Decimal("1e500"), Decimal("1e-500"), np.float64(BIG), pd.NaT, pd.NA]
    nobody += [np.datetime64(1, "ps"), np.datetime64("NaT"), Decimal("NaN")]
    for frame in (numbered([*one_each, *nobody]), pd.DataFrame(numbered([*one_each, *nobody]), dtype=object)):
        found = by_frame(frame)
        different(found[: len(one_each)], len(one_each))
        assert found[len(one_each) :] == [None] * len(nobody)
    equal = [
        [5, 5.0, Decimal("5.00"), np.int8(5), np.float32(5), "5"],
        [0, 0.0, -0.0, Decimal("-0.0"), np.uint64(0)],
        [0.1, Decimal("0.1"), "0.1"],
        [True, np.bool_(True), "true"],
        [DAY, dt.datetime(2020, 1, 31), np.datetime64("2020-01-31"), np.datetime64("2020-01-31T00:00:00.000", "ns"),
         pd.Timestamp("2020-01-31", tz="UTC"), "2020-01-31"],
        [CODE, str(CODE)],
    ]  # fmt: skip
    for values in equal:
        assert len(set(by_frame(numbered(values)))) == 1, values


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("BIGINT", WHOLE), ("HUGEINT", [*WHOLE, 2**64, 2**126 + 1, -(2**126)]),
        ("UBIGINT", [0, BIG, BIG + 1, 2**64 - 1, 2**64 - 2]), ("UHUGEINT", [0, BIG + 1, 2**127, 2**128 - 1]),
        ("DOUBLE", FLOATS), ("FLOAT", [0.0, 0.1, 0.5, 2.0**24 - 1, -1.5]), ("BOOLEAN", [True, False]),
        ("DECIMAL(38,0)", [*WHOLE, 10**37 + 1, 10**37]),
        ("DECIMAL(18,2)", [Decimal("5.00"), Decimal("5.01"), Decimal(BIG + 1)]),
        ("DECIMAL(38,20)", [Decimal("0.1"), Decimal("0.10000000000000000001"), 5]), ("DATE", [DAY, dt.date(1, 1, 1)]),
        ("TIMESTAMP", [NOON, NOON.replace(microsecond=1), dt.datetime(9999, 12, 31)]), ("TIMESTAMP_S", [NOON]),
        ("TIMESTAMP_MS", [NOON, NOON.replace(microsecond=1000)]), ("TIMESTAMPTZ", [NOON]),
        ("UUID", [CODE, uuid.UUID(int=6)]),
        ("VARCHAR", TEXTS), ("ENUM('a', 'A', '5', '\\xfc')", ["a", "A", "5", "\\xfc"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
@pytest.mark.parametrize("kind", ["duckdb", "parquet", "folder", "mixed"])
def test_typed_columns(
    type_: str, values: Sequence[Any], kind: str, connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as other:
        other.execute(f"CREATE TABLE t (id {type_}, x INTEGER)")
        other.executemany(
            f"INSERT INTO t VALUES (CAST(? AS {type_}), ?)", [[value, n] for n, value in enumerate(values)]
        )
        (tmp_path / "f").mkdir()
        if kind != "duckdb":
            exact = "HUGEINT" not in type_  # Parquet has no such type
            if not exact:
                return
            other.execute(f"COPY t TO '{tmp_path}/f/0.parquet'")
            more = {"folder": f"NULL::{type_}", "mixed": "'zz'" if type_ == "BOOLEAN" else "true"}.get(kind)
            if more is not None:
                other.execute(f"COPY (SELECT {more} AS id, -1 AS x) TO '{tmp_path}/f/1.parquet'")
    source = (
        {"kind": "duckdb", "path": "t.duckdb", "table": "t"} if kind == "duckdb" else {"kind": "parquet", "path": "f"}
    )
    found = units(connection, declared(source, {"x": Integer(-1, 10**6)}), tmp_path)
    different([unit for x, unit in found.items() if x >= 0], len(values))


@pytest.mark.parametrize("mixed", [False, True])
def test_floats_that_are_nobody(mixed: bool, connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    files = [pa.table({"id": pa.array(NOBODY, pa.float64()), "x": list(range(len(NOBODY)))})]
    files += [pa.table({"id": ["a"], "x": [9]})] * mixed
    found = units(connection, declared(folder(tmp_path / "f", *files)), tmp_path)
    assert [found[place] for place in range(len(NOBODY))] == [None] * len(NOBODY)


def test_one_person_is_one_unit_across_tables(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"id,x\n5,1\n{BIG + 1},1\n")
    pq.write_table(pa.table({"id": [5, BIG + 1], "y": [1, 1]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"id": [5.0, 7.5], "z": [1, 1]}), tmp_path / "c.parquet")
    folder(tmp_path / "f", pa.table({"id": [BIG + 1], "w": [1]}), pa.table({"id": [5.0], "w": [1]}))
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(1), testing=True) as vault:
        for name, path in (("a", "a.csv"), ("b", "b.parquet"), ("c", "c.parquet"), ("f", "f/*.parquet")):
            column = {"a": "x", "b": "y", "c": "z", "f": "w"}[name]
            kind = {"kind": "parquet"} if name == "f" else {}
            vault.add_table(name, tmp_path / path, unit="id", columns={column: Integer(0, 9)}, **kind)
        for other, count in (("b", 2), ("c", 1), ("f", 2)):
            text = f"SELECT COUNT(*) AS n FROM a JOIN {other} ON a.id = {other}.id"
            assert pv.testing.exact(vault.sql(text, epsilon=1), key=b"k").parts[0].values == (count,)


# ---- recorded types --------------------------------------------------------------------------------------------------


def test_recorded_types(tmp_path: Path) -> None:
    columns: dict[str, Kind] = {"x": Integer(0, 9), "v": Number(0, 1, step="0.1"), "c": Category(["a"]), "b": Boolean()}
    frame = pd.DataFrame({"id": [1], "x": [1], "v": [0.5], "c": pd.Series(["a"], dtype="category"), "b": [True]})
    types = {"x": "BIGINT", "v": "DOUBLE", "c": "VARCHAR", "b": "BOOLEAN", "id": "BIGINT"}
    memory = declared({"kind": "memory"}, columns)
    frame.to_parquet(tmp_path / "t.parquet")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as other:
        other.register("frame", frame.astype({"c": object}))
        other.execute("CREATE TABLE t AS SELECT * REPLACE (c::ENUM('a', 'SECRET') AS c) FROM frame")
    frame.to_csv(tmp_path / "t.csv", index=False)
    with DuckDb(tmp_path, {"t": frame}) as backend:
        assert backend.types(memory) == types
        assert backend.types(declared({"kind": "parquet", "path": "t.parquet"}, columns)) == types
        assert backend.types(declared({"kind": "duckdb", "path": "t.duckdb", "table": "t"}, columns)) == types
        assert backend.types(declared({"kind": "csv", "path": "t.csv"}, columns)) == {}
        old = declared({"kind": "memory"}, columns, types={"id": "DOUBLE"})
        assert backend.types(old) == types  # recorded anew, whatever was recorded before
    with DuckDb(tmp_path, {"t": {"id": [1], "x": [1], "v": [1], "c": [1], "b": [1]}}) as backend:
        assert backend.types(memory) == {}
    with DuckDb(tmp_path, {"t": frame.assign(x=pd.Series([None], dtype=pd.ArrowDtype(pa.null())))}) as backend:
        assert "x" not in backend.types(memory)
        backend.ready(declared({"kind": "memory"}, columns, types=types))


def ready(base: Path, table: Table, frame: object = None) -> None:
    with DuckDb(base, {} if frame is None else {"t": frame}) as backend:
        backend.ready(table)


def test_another_type_is_not_read(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    floats = pd.DataFrame({"id": [1, None], "x": [1, 2]})
    recorded = {"id": "BIGINT", "x": "BIGINT"}
    table = declared({"kind": "memory"}, types=recorded)
    ready(tmp_path, table, floats.dropna().astype("int64"))
    words = "data-changed: 't' … 'id' is … DOUBLE … BIGINT"
    for look in (lambda: ready(tmp_path, table, floats), lambda: attach(connection, table, tmp_path, {"t": floats})):
        with raises_code(InvalidInputError, words):
            look()
    source = folder(tmp_path / "f", pa.table({"id": [1], "x": [1]}), pa.table({"x": [2]}))
    table = declared(source, types=recorded)
    ready(tmp_path, table)
    floats.to_parquet(tmp_path / "f" / "2.parquet")
    words = "data-changed: 'id' … '2.parquet' … DOUBLE … BIGINT"
    with raises_code(InvalidInputError, words):
        ready(tmp_path, table)
    with raises_code(InvalidInputError, words):
        attach(connection, table, tmp_path, {})
    ready(tmp_path, declared(source, types={"id": "mixed"}))
    ready(tmp_path, declared(source))
    odd = declared(source, types={"id": "DECIMAL(5,2)", "x": "BIGINT"})
    with raises_code(InvalidInputError, "data-changed: BIGINT … DECIMAL … 5,2"):
        ready(tmp_path, odd)


def test_a_column_that_no_file_has(tmp_path: Path) -> None:
    source = folder(tmp_path / "f", pa.table({"id": [1], "X": [1]}), pa.table({"ID": [1.5], "X": [2]}))
    for name in ("x", "y"):
        with raises_code(InvalidInputError, f"unknown-column: '{name}'"):
            ready(tmp_path, declared(source, {name: Integer(0, 9)}))


# ---- ready -----------------------------------------------------------------------------------------------------------


def sources(tmp_path: Path) -> dict[str, Table]:
    (tmp_path / "t.csv").write_text("id,x\n1,1\n")
    pq.write_table(pa.table({"id": [1], "x": [1]}), tmp_path / "t.parquet")
    folder(tmp_path / "f", pa.table({"id": [1], "x": [1]}))
    pd.DataFrame({"id": [1], "x": [1]}).to_excel(tmp_path / "t.xlsx", index=False)
    with duckdb.connect(str(tmp_path / "t.duckdb")) as other:
        other.execute("CREATE TABLE t AS SELECT 1::BIGINT AS id, 1::BIGINT AS x")
    given = {
        "csv": {"path": "t.csv"}, "parquet": {"path": "t.parquet"}, "excel": {"path": "t.xlsx"},
        "duckdb": {"path": "t.duckdb", "table": "t"},
    }  # fmt: skip
    return {kind: declared({"kind": kind, **more}) for kind, more in given.items()}


@pytest.mark.parametrize("kind", ["csv", "parquet", "excel", "duckdb"])
def test_ready_notices_what_happens_to_a_file(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = sources(tmp_path)[kind]
    path = tmp_path / str(table.source.path)
    with DuckDb(tmp_path, {}) as backend:
        backend.ready(table)
        looked: list[Table] = []
        monkeypatch.setattr(backend, "_types", looked.append)
        backend.ready(table, table)
        assert looked == []  # nothing is opened while nothing changes
        monkeypatch.undo()
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2] if kind != "csv" else b"id;x\n1;1\n")
        with (
            raises_code(InvalidInputError, "unknown-column|unreadable-file|unsupported-type: 't'")
            if kind != "excel"
            else nullcontext()
        ):
            backend.ready(table)  # the header of a workbook cannot be read without its rows
        path.write_bytes(whole)
        backend.ready(table)
        path.unlink()
        with raises_code(InvalidInputError, "missing-file: 't'"):
            backend.ready(table)
        path.write_bytes(whole)
        monkeypatch.setattr(os, "access", lambda *_: False)
        with raises_code(InvalidInputError, "unreadable-file: permission"):
            backend.ready(table)


def test_ready_in_memory(tmp_path: Path) -> None:
    table, memory = declared({"kind": "memory"}), dict[str, object]()
    with DuckDb(tmp_path, memory) as backend:
        with raises_code(InvalidInputError, "not-attached"):
            backend.ready(table)
        memory["t"] = {"id": [1], "x": [1]}
        backend.ready(table)
        memory["t"] = {"id": [1]}
        with raises_code(InvalidInputError, "unknown-column: 'x'"):
            backend.ready(table)

        memory["t"] = pl.DataFrame({"id": [1], "x": [1]})
        backend.ready(table)
        memory["t"] = pd.DataFrame({"id": pd.arrays.SparseArray([1]), "x": [1]})
        with raises_code(InvalidInputError, "unknown-column|unreadable-file|unsupported-type: 't'"):
            backend.ready(table)


def test_ready_raises_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("SSN 123")

    with DuckDb(tmp_path, {"t": {"id": [1], "x": [1]}}) as backend:
        monkeypatch.setattr("privet.backends.duckdb.types_of", broken)
        with raises_code(InvalidInputError, "unreadable-file: 't' … data") as caught:
            backend.ready(declared({"kind": "memory"}))
        assert "123" not in str(caught.value)


def test_a_file_that_changed_is_read_anew(tmp_path: Path) -> None:
    """A CSV was copied once, and a folder had the files that existed when it was opened."""
    tables = sources(tmp_path) | {"folder": declared({"kind": "parquet", "path": "f"})}
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(1), testing=True) as vault:
        for name, kind in (("a", "csv"), ("b", "parquet"), ("c", "excel"), ("d", "duckdb"), ("e", "folder")):
            vault.declare(Table(name=name, source=tables[kind].source, unit="id", columns={"x": Integer(0, 9)}))

        def counts() -> list[Any]:
            asked = (vault.sql(f"SELECT COUNT(*) AS n FROM {name}", epsilon=1) for name in "abcde")
            return [pv.testing.exact(one, key=b"k").parts[0].values[0] for one in asked]

        assert counts() == [1] * 5
        more = pa.table({"id": [1, 2, 3], "x": [1, 1, 1]})
        (tmp_path / "t.csv").write_text("id,x\n1,1\n2,1\n3,1\n")
        pq.write_table(more, tmp_path / "t.parquet")
        more.to_pandas().to_excel(tmp_path / "t.xlsx", index=False)
        with duckdb.connect(str(tmp_path / "new.duckdb")) as other:
            other.execute("CREATE TABLE t AS SELECT i::BIGINT AS id, 1::BIGINT AS x FROM range(3) r(i)")
        (tmp_path / "new.duckdb").replace(tmp_path / "t.duckdb")
        pq.write_table(pa.table({"id": [2, 3], "x": [1, 1]}), tmp_path / "f" / "1.parquet")
        vault._backend.ready(*vault.tables.values())  # while the old files are still open
        assert counts() == [3] * 5


@pytest.mark.parametrize("cut", [False, True])
def test_a_corrupt_gzip_is_one_line(cut: bool, tmp_path: Path) -> None:
    whole = gzip.compress(b"id,x\n" + os.urandom(30_000).hex().encode() + b",2\n")
    broken = whole[:900] if cut else whole[:15] + b"xxxx" * 50 + whole[215:]
    (tmp_path / "t.csv.gz").write_bytes(broken)
    with raises_code(InvalidInputError, "unreadable-file: data"):
        describe(tmp_path / "t.csv.gz")
    if not cut:  # where the header can be read, no more is
        with raises_code(InvalidInputError, "unreadable-file: data"):
            ready(tmp_path, declared({"kind": "csv", "path": "t.csv.gz"}))


def test_files_that_agree_now_are_texts_if_they_once_did_not(tmp_path: Path) -> None:
    """Which of a person's rows are kept depends on the type of the id. A file of nobody's decided it for everybody."""
    folder(tmp_path / "f", pa.table({"id": [7, 7], "x": [-3, 5]}))
    nobody = pa.table({"id": pa.array([None], pa.string()), "x": [5]})
    pq.write_table(nobody, tmp_path / "f" / "1.parquet")
    table = declared({"kind": "parquet", "path": "f"}, {"x": Integer(-3, 5)})
    sums: list[list[Any]] = []
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(1), testing=True) as vault:
        assert vault.declare(table).types["id"] == "mixed"
        asked = vault.sql("SELECT SUM(x) AS s FROM t", epsilon=1)
        for _ in range(2):
            sums.append([pv.testing.exact(asked, key=bytes([key])).parts[0].values for key in range(40)])
            (tmp_path / "f" / "1.parquet").unlink(missing_ok=True)
    assert sums[0] == sums[1]
    assert set(sums[0]) == {(-3,), (5,)}
