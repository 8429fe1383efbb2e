"""Sources: what reaches the engine from files and frames, what is refused, and that a lock stays locked."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import sys
import uuid
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from support.refusals import raises_code

from privet.catalog.declarations import Source, Table
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.errors import InvalidInputError
from privet.sources import Raw, attach, connect, delimited, harden
from privet.sources.delimited import Records
from privet.sources.frames import schema
from privet.sources.rows import PIECE, as_text, create

NUMBER = Number(0, 100, step="0.01")
DAY = Date("2020-01-01", "2029-12-31")
TIME = Timestamp("2020-01-01", "2029-12-31")


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(tmp_path / "scratch") as opened:
        yield opened


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """One connection for all examples of a property: opening one takes longer than reading a small file."""
    with connect(tmp_path_factory.mktemp("shared")) as opened:
        yield opened


def table_of(columns: dict[str, Kind], *, unit: str | None = None, missing: Any = None, **source: Any) -> Table:
    source = {"kind": "csv", "path": "data.csv"} | source
    if source["kind"] == "memory":
        del source["path"]
    return Table(name="visits", source=Source(**source), unit=unit, columns=columns, missing=missing or {})


def rows_of(connection: duckdb.DuckDBPyConnection, raw: Raw) -> list[tuple[Any, ...]]:
    return connection.execute(f"SELECT * FROM {raw.relation}").fetchall()


# ---- CSV -------------------------------------------------------------------------------------------------------------


def read_csv(connection: duckdb.DuckDBPyConnection, folder: Path, data: bytes | str, **parts: Any) -> list[Any]:
    (folder / "data.csv").write_bytes(data if isinstance(data, bytes) else data.encode())
    columns = parts.pop("columns", {"a": Text(), "b": Text()})
    raw = attach(connection, table_of(columns, **parts), folder, {})
    assert raw.files == ()
    return rows_of(connection, raw)


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        ("a,b\n1,2\n", [("1", "2")]),
        ("\ufeffa,b\r\n1,2\r\n", [("1", "2")]),
        ("a,b\r1,2\r3,4", [("1", "2"), ("3", "4")]),
        ("b,x,a\n2,9,1\n", [("1", "2")]),  # found by name
        (' a ,"b"\n1,2\n', [("1", "2")]),  # spaces around names do not count
        ("a,b\n007,1e5\n", [("007", "1e5")]),  # texts stay texts
        ("a,b\n 1 ,\n", [("1", None)]),
        ('a,b\n"x, ""y""\nz",2\n', [('x, "y"\nz', "2")]),
        ('a,b\r\n"x\r\ny",2\r\n', [("x\r\ny", "2")]),
        ('a,b\n "q" , "r"\n', [("q", "r")]),
        ("a,b\n1\n3,4\n", [("1", None), ("3", "4")]),  # short
        ("a,b\n1,2,3\n4,5\n", [("1", "2"), ("4", "5")]),  # long
        ("a,b\n\n1,2\n , \n,\n", [("1", "2")]),  # lines without any text
        ("\na,b\n1,2\n", [("1", "2")]),
        ('a,b\n"x"y,2\n', [("xy", "2")]),  # text behind a quote
        ('a,b\n1,2\n"x,3\n', [("1", "2"), ("x,3\n", None)]),  # a lost quote
        ("a,b\n1,2\r\n3,4\n", [("1", "2"), ("3", "4")]),  # mixed ends of lines
        ('"a","b","c\nd"\n1,2,3\n', [("1", "2")]),  # a name of two lines
        (b"a,b\n\xff,2\n", [("\\xff", "2")]),  # not UTF-8
        ("a,b\n1\0,2\n", [("1\0", "2")]),
        ("a,b\n", []),
        ("a,b", []),
        ("a,b\nNA,2\n", [("NA", "2")]),
        ("a,b,a b,ä,x,x\n1,2,3,4,5,6\n", [("1", "2")]),  # other columns may be called anything
    ],
)
def test_csv_files_of_all_sorts(
    data: bytes | str, rows: list[Any], connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    assert sorted(read_csv(connection, tmp_path, data), key=str) == sorted(rows, key=str)


@pytest.mark.parametrize("delimiter", [";", "\t", "|", " ", "§", "'"])
def test_delimiters(delimiter: str, connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    text = f'a{delimiter}b\n1{delimiter}"x,{delimiter}y"\n'
    assert read_csv(connection, tmp_path, text, delimiter=delimiter) == [("1", f"x,{delimiter}y")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "latin-1", "cp1252", "shift_jis"])
def test_encodings(encoding: str, connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    word = "日本" if encoding == "shift_jis" else "Zoë"
    assert read_csv(connection, tmp_path, f"a,b\n{word},2\n".encode(encoding), encoding=encoding) == [(word, "2")]


def test_a_single_column(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    assert read_csv(connection, tmp_path, "a\n1\n\n2\n", columns={"a": Text()}) == [("1",), ("2",)]


def test_skipped_lines_and_files_without_a_header(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    text = 'report of "May\n\na,b\n1,2\n'
    assert read_csv(connection, tmp_path, text, skip=2) == [("1", "2")]
    assert read_csv(connection, tmp_path, "1,2\n3,4\n", names=["b", "a"]) == [("2", "1"), ("4", "3")]
    assert read_csv(connection, tmp_path, "x\n1,2\n", names=["b", "a"], skip=1) == [("2", "1")]


def test_gzip(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    table = table_of({"a": Text(), "b": Text()}, path="data.csv.gz")
    for text in ("a,b\n1,2\n", "a,b\n1\n"):
        (tmp_path / "data.csv.gz").write_bytes(gzip.compress(text.encode()))
        assert rows_of(connection, attach(connection, table, tmp_path, {}))[0][0] == "1"
    whole = gzip.compress(b"a,b\n" + bytes(range(48, 58)) * 1000 + b",2\n")
    for broken in (whole[:-9], whole[:30], b"a,b\n1,2\n", whole[:25] + b"xxxx" + whole[29:]):
        (tmp_path / "data.csv.gz").write_bytes(broken)
        with raises_code(InvalidInputError, "unreadable-file: 'visits'"):
            attach(connection, table, tmp_path, {})


def test_a_long_record_is_one_record(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    people = "".join(f"p{number},{number}\n" for number in range(1000))
    long = "x" * 140_000  # beyond the limit of Python's csv module
    before = csv.field_size_limit(10)
    try:
        rows = read_csv(connection, tmp_path, f'a,b\n1,"{long}\n{people}"\n3,4\n')
    finally:
        csv.field_size_limit(before)
    assert rows == [("1", f"{long}\n{people}"), ("3", "4")]


@pytest.mark.parametrize("record", ['1,"{}\n{}"', "1,{}p1,2", '1,"{}""\r\n{}"', '1,"{}'])
def test_a_record_beyond_the_limit_is_no_row_and_its_rest_neither(
    record: str, connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    long = record.format("x" * delimited.LONGEST, "p1,2\n" * 10)
    read = read_csv(connection, tmp_path, f"a,b\n0,0\n{long}\n3,4\n")
    assert read == [("0", "0"), ("3", "4")][: 1 if record.count('"') % 2 else 2]


def csv_module(text: str, delimiter: str, longest: int) -> list[list[str]]:
    """What Python's csv module makes of a text, without records that are too long and without spaces at the ends."""
    taken: list[str] = []

    def lines() -> Iterator[str]:
        for line in io.StringIO(text, newline=""):
            taken.append(line)
            yield line

    found = []
    for row in csv.reader(lines(), delimiter=delimiter, skipinitialspace=delimiter != " "):
        at_the_end = len(taken) == 1 and taken[0].endswith("\r\n") and not "".join(row).endswith("\n")
        size = sum(map(len, taken)) - at_the_end  # a line's two last characters may come one by one
        fields = [field.strip(" ") for field in row]
        if size <= longest and any(fields):
            found.append(fields)
        taken.clear()
    return found


@settings(max_examples=500)
@given(st.text(st.sampled_from(' ,x"\n\ra1ü'), max_size=40), st.sampled_from(",x 1"), st.integers(1, 60))
@example('"a,b"c,d', ",", 7)
@example('"a"\r\n', ",", 4)
@example('a,"b""c"', ",", 5)
def test_records_mean_what_the_csv_module_says(text: str, delimiter: str, longest: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "LONGEST", longest)
        made = Records(io.StringIO(text, newline=""), delimiter)
        found = [[field.strip(" ") for field in row] for row in made]
        assert found == csv_module(text, delimiter, longest)
        options: Any = {"delimiter": delimiter, "skipinitialspace": delimiter != " "}
        whole = list(csv.reader(io.StringIO(text + "\n", newline=""), **options))
        more = list(csv.reader(io.StringIO(text + "\n\n\n", newline=""), **options))
        assert made.unclosed == (len(more) == len(whole) and bool(text))


def test_half_a_surrogate_pair_does_no_harm(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    frame = {"a": ["\ud800", "\ud83d\udca9"]}
    assert read_frame(connection, frame, Text()) == ("VARCHAR", ["\\ud800", "\\ud83d\\xa9"])
    with raises_code(InvalidInputError, "unsupported-format: utf-7"):
        read_csv(connection, tmp_path, b'a,b\n+2AA-,"+2AA-\n"\n', encoding="utf-7")


def test_more_rows_than_one_piece(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    text = "a,b,c\n" + "1,2,\n" * PIECE + "3\n" + ",,x\n" * PIECE  # the second piece begins with the short row
    rows = read_csv(connection, tmp_path, text)
    assert len(rows) == 2 * PIECE + 1
    assert rows.count((None, None)) == PIECE
    assert rows.count(("3", None)) == 1


def test_glob_characters_in_a_name_mean_themselves(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (tmp_path / "data[1].csv").write_text("a,b\n1,2\n")
    (tmp_path / "data1.csv").write_text("a,b\n8,9\n")
    raw = attach(connection, table_of({"a": Text()}, path="data[1].csv"), tmp_path, {})
    assert rows_of(connection, raw) == [("1",)]


PIECES = (
    "\n", "\r", "\r\n", ",", ",,", '"', '""', '"a"', '"a,b"', '"a\nb"', '"a\r\nb"', '"a""b"', " ", "\t", "\0", "a", "1",
    "ü", ";", "1,2\n", '"1","2"\n', "1,2,\n", "1,2\r\n", "\ufeff", "x" * 70_000, '"' + "y" * 140_000 + '"',
)  # fmt: skip
HEADS = (
    "a,b\n", '"a","b"\n', "a,b\r\n", "a,b,c\n", 'a,b,c"\n', "a,b,\n", " a , b \n", "\na,b\n", 'a,b,"c\nd"\n', "",
)  # fmt: skip
FIELDS = st.sampled_from(
    ["", "", "a", "1", " a ", "ü", "\t", '""', '"a"', '"a,b"', '"a\nb"', '"a\r\nb"', '"x ""y"""', '" "', '"\r"']
)
ENDS = st.sampled_from(["\n"] * 5 + ["\r\n", "\r", "\n\n", ",\n", ""])
ROWS = st.builds("{},{}{}".format, FIELDS, FIELDS, ENDS)
PREAMBLES = ("", '"title\n', "title\n", '"a\nb"\n', "\n", "x\ry\n", '"a ""b"" c"\r\n')


@settings(max_examples=400)
@given(
    body=st.one_of(st.lists(st.sampled_from(PIECES), max_size=12), st.lists(ROWS, max_size=5)).map("".join),
    head=st.sampled_from(HEADS),
    start=st.sampled_from([*[("", 0)] * 20, *((preamble, skip) for preamble in PREAMBLES for skip in range(3))]),
    mark=st.booleans(),
)
@example(body="1,2\n", head="a,b\n", start=('"title\n', 1), mark=False)
@example(body=' "a" ,1\n', head="a,b\n", start=("", 0), mark=False)
@example(body='"a" \t,1\n', head="a,b\n", start=("", 0), mark=False)
@example(body='a",1\n"x,1\n', head="a,b\n", start=("", 0), mark=False)
@example(body='"1",2\n', head="", start=("", 0), mark=True)
def test_both_readers_agree(
    shared: duckdb.DuckDBPyConnection, tmp_path_factory: pytest.TempPathFactory, **file: Any
) -> None:
    """Wherever the fast reader is used at all, it reads what the other one would."""
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    preamble, skip = file["start"]
    path.write_bytes(("\ufeff" * file["mark"] + preamble + file["head"] + file["body"]).encode())
    names = {} if file["head"] else {"names": ["a", "b"]}
    fast = compare_readers(shared, table_of({"a": Text(), "b": Text()}, path=str(path), skip=skip, **names), path)
    event(f"read by the fast reader: {fast}")


def compare_readers(connection: duckdb.DuckDBPyConnection, table: Table, path: Path) -> bool:
    """Was the fast reader used? Where it was not, it has left nothing behind."""
    with delimited.open_text(path, "utf-8") as file:
        rows = delimited.open_records(file, table.source)
        width = len(delimited.header(rows, table.source))
        made = create(connection, table)
        fast = width > 1 >= rows.lines and delimited._load_fast(connection, table, path, width, [0, 1])
        quick = sorted(map(str, rows_of(connection, made)))
        made = create(connection, table)
        delimited.insert(connection, table, [0, 1], iter(rows))
    if fast:
        assert quick == sorted(map(str, rows_of(connection, made)))
        assert not rows.unclosed
    else:
        assert not quick
    return fast


def test_the_fast_reader_is_used(shared: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    for text in ("a,b\n1,2\n", '\ufeff"a","b"\r\n"x ""y"" \nz",2\r\n', "a,b\r1,2\r", "a,b\n1,2,\n\n3,4"):
        path.write_text(text, newline="")
        assert compare_readers(shared, table_of({"a": Text(), "b": Text()}, path=str(path)), path)


class OtherCount:
    """A connection on which several threads count another number of rows than one thread reads."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection, self.asked = connection, 0

    def execute(self, sql: str, *given: Any) -> Any:
        if "SELECT count(*)" not in sql or "parallel = True" not in sql:
            return self._connection.execute(sql, *given)
        self.asked += 1
        return self._connection.execute("SELECT 99")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_where_threads_count_other_rows_the_fast_reader_is_not_used(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    """What it had read is gone, and every row is there once."""
    (tmp_path / "data.csv").write_text("a,b\n1,2\n3,4\n")
    other: Any = OtherCount(connection)
    raw = attach(other, table_of({"a": Text(), "b": Text()}), tmp_path, {})
    assert other.asked == 1
    assert rows_of(connection, raw) == [("1", "2"), ("3", "4")]


@pytest.mark.parametrize(
    ("preamble", "skip"), [('"Ward list\nof 2024"\n', 2), ('"Ward list\n', 1), ('"a ""b"" c"\n', 1), ("", 0)]
)
@pytest.mark.parametrize("row", ["evil,30,extra\n", 'evil,30" \n', "evil\n", 'evil,"30"x\n', '"evil" ,30\n'])
def test_one_row_never_changes_how_others_are_read(
    preamble: str, skip: int, row: str, connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    text = preamble + "a,b\n" + "".join(f"p{number},30\n" for number in range(10))
    before = read_csv(connection, tmp_path, text, skip=skip)
    assert len(before) == 10
    after = read_csv(connection, tmp_path, text + row, skip=skip)
    assert set(before) < set(after)
    assert len(after) == 11


@pytest.mark.parametrize("delimiter", [",", "§"])
def test_the_fast_reader_is_given_well_quoted_files_only(delimiter: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    row = f'"a""b"{delimiter}"c\nd"{delimiter}""{delimiter}e'
    for size in (delimited.BLOCK - 5, delimited.BLOCK - 4, delimited.BLOCK - 1, delimited.BLOCK, 1):
        path.write_text("x" * size + "\n" + row)
        assert delimited._well_quoted(path, delimiter.encode())
        for bad in (row + '"', row.replace("d", 'd" '), row.replace('"a', 'x"a'), row + f'{delimiter}"'):
            path.write_text("x" * size + "\n" + bad)
            assert not delimited._well_quoted(path, delimiter.encode())
    path.write_text('"' + "x" * 3 * delimited.BLOCK + '"')
    assert not delimited._well_quoted(path, delimiter.encode())


def test_a_long_preamble_is_skipped(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    long = "x" * (2 * delimited.BLOCK)
    assert read_csv(connection, tmp_path, f"{long}\na,b\n1,2\n", skip=1) == [("1", "2")]
    assert read_csv(connection, tmp_path, "x\n1,2\n", skip=1, names=["a", "b"]) == [("1", "2")]


@settings(max_examples=50)
@given(st.lists(st.tuples(*[st.text(st.characters(exclude_categories=("Cs",)), max_size=8)] * 3), max_size=8))
def test_what_a_csv_writer_wrote_is_read(
    shared: duckdb.DuckDBPyConnection, tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    file = io.StringIO()
    csv.writer(file).writerows([("a", "b", "c"), *rows])
    (folder / "written.csv").write_bytes(file.getvalue().encode())
    table = table_of({"a": Text(), "b": Text(), "c": Text()}, path="written.csv")
    found = rows_of(shared, attach(shared, table, folder, {}))
    expected = [tuple(field.strip(" ") or None for field in row) for row in rows if any(map(str.strip, row, "   "))]
    assert sorted(map(str, found)) == sorted(map(str, expected))


def test_codes_for_missing(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    columns: dict[str, Kind] = {"a": Integer(0, 9), "b": Text()}
    rows = read_csv(
        connection, tmp_path, "a,b,id\n999,999,p1\n1,NA,NA\n", columns=columns, unit="id",
        missing={"a": ["999"]}, **{"encoding": "utf-8"},
    )  # fmt: skip
    assert rows == [(None, "999", "p1"), ("1", "NA", "NA")]
    (tmp_path / "data.csv").write_text("a,b,id\n999,it's,p1\n1,NA,NA\n")
    source = Source(kind="csv", path="data.csv", missing=("NA", "it's"))
    table = Table(name="visits", source=source, unit="id", columns=columns, missing={"a": ("999",)})
    raw = attach(connection, table, tmp_path, {})
    assert rows_of(connection, raw) == [(None, None, "p1"), ("1", None, None)]
    assert list(raw.types) == ["a", "b", "id"]


def test_decimal_commas_and_thousands(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    columns: dict[str, Kind] = {"a": NUMBER, "b": Text()}
    text = "a;b\n1,5;1,5\n1.5;1.5\n1.234,5;x\n"
    assert read_csv(connection, tmp_path, text, columns=columns, delimiter=";", decimal=",") == [
        ("1.5", "1,5"),
        ("?", "1.5"),  # a point is not in a number here: it is unreadable, and not empty
        ("?", "x"),
    ]
    rows = read_csv(connection, tmp_path, text, columns=columns, delimiter=";", decimal=",", thousands=".")
    assert [row[0] for row in rows] == ["1.5", "15", "1234.5"]
    rows = read_csv(connection, tmp_path, "a;b\n1'234.5;\n", columns=columns, delimiter=";", thousands="'")
    assert rows == [("1234.5", None)]


def test_dates_in_another_form(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    columns: dict[str, Kind] = {"a": DAY, "b": Text()}
    text = "a,b\n31.1.2020,31.1.2020\n31.2.2020,x\n2020-01-31,y\n1.1.20201,z\n"
    rows = read_csv(connection, tmp_path, text, columns=columns, date_format="%d.%m.%Y")
    never = dt.date.max  # how an infinite date looks in Python: unreadable, and not empty
    assert rows == [(dt.date(2020, 1, 31), "31.1.2020"), (never, "x"), (never, "y"), (never, "z")]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("", "unknown-column: 'visits' … 'a'"),
        ("x,b\n1,2\n", "unknown-column: 'visits' … 'a'"),
        ("A,b\n1,2\n", "unknown-column: 'visits' … 'a' … 'A'"),
        ("a,b,A\n1,2,3\n", "duplicate-name: 'visits' … 'a'"),
        ("a,b,a\n1,2,3\n", "duplicate-name: 'visits' … 'a'"),
    ],
)
def test_columns_that_are_not_there(
    data: str, problem: str, connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    with raises_code(InvalidInputError, problem):
        read_csv(connection, tmp_path, data)


def test_a_unit_that_is_not_there(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    with raises_code(InvalidInputError, "unknown-column: 'id'"):
        read_csv(connection, tmp_path, "a,b\n1,2\n", unit="id")


@pytest.mark.parametrize("kind", ["csv", "excel", "parquet", "duckdb"])
def test_files_that_are_not_there_or_broken(kind: str, connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    more = {"table": "t"} if kind == "duckdb" else {}
    table = table_of({"a": Text()}, kind=kind, path="data.bin", **more)
    with raises_code(InvalidInputError, "missing-file|unknown-column|unreadable-file: 'visits'"):
        attach(connection, table, tmp_path, {})
    (tmp_path / "data.bin").write_bytes(b"SSN 123-45-6789\n" * 100)
    with raises_code(InvalidInputError, "missing-file|unknown-column|unreadable-file: 'visits'") as caught:
        attach(connection, table, tmp_path, {})
    assert "123" not in str(caught.value)


def test_attaching_again_replaces(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    read_csv(connection, tmp_path, "a,b\n1,2\n")
    assert read_csv(connection, tmp_path, "a,b\n3,4\n") == [("3", "4")]


# ---- Excel -----------------------------------------------------------------------------------------------------------


def test_excel(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["a report"])
    sheet.append(["id", "age", "cost", "ok", "day", "time", "code", "other"])
    moment = dt.datetime(2020, 1, 31, 12, 30)
    sheet.append(["p1", 3, 2.5, True, dt.date(2020, 1, 31), moment, "007", dt.date(2020, 1, 31)])
    sheet.append(["p2", "12", "x", None, moment, dt.date(2020, 1, 31), 7.0, moment])
    sheet.append([None] * 8)
    sheet.append(["p3"])
    book.create_sheet("two").append(["x"])
    book.save(tmp_path / "data.xlsx")
    columns: dict[str, Kind] = {
        "age": Integer(0, 9), "cost": NUMBER, "ok": Boolean(), "day": DAY, "time": TIME, "code": Text(),
        "other": Text(),
    }  # fmt: skip
    table = table_of(columns, kind="excel", path="data.xlsx", unit="id", skip=1)
    raw = attach(connection, table, tmp_path, {})
    assert set(raw.types.values()) == {"VARCHAR"}
    assert rows_of(connection, raw) == [
        ("3", "2.5", "true", "2020-01-31", "2020-01-31 12:30:00.000000", "007", "2020-01-31", "p1"),
        ("12", "x", None, "2020-01-31", "2020-01-31 00:00:00.000000", "7", "2020-01-31 12:30:00.000000", "p2"),
        (None, None, None, None, None, None, None, "p3"),
    ]
    named = table_of({"y": Text()}, kind="excel", path="data.xlsx", sheet="two", names=["y"])
    assert rows_of(connection, attach(connection, named, tmp_path, {})) == [("x",)]
    with raises_code(InvalidInputError, "unknown-sheet: 'three'"):
        attach(connection, table_of({"y": Text()}, kind="excel", path="data.xlsx", sheet="three"), tmp_path, {})
    with raises_code(InvalidInputError, "unknown-column: 'y'"):
        attach(connection, table_of({"y": Text()}, kind="excel", path="data.xlsx", skip=99), tmp_path, {})


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, None, None),
        ("x", None, "x"),
        (True, None, "true"),
        (np.bool_(False), None, "false"),
        (7, None, "7"),
        (np.int64(7), None, "7"),
        (3.0, None, "3"),
        (0.1, None, "0.1"),
        (1e16, Text(), "1" + "0" * 16),
        (1e16, None, None),  # as a unit: from 2^53 on floats do not tell whole numbers apart
        (2.0**53 - 1, None, str(2**53 - 1)),
        (10**16, None, "1" + "0" * 16),
        (1e-7, None, "0.0000001"),
        (np.float32(0.1), None, "0.10000000149011612"),
        (np.longdouble(2.5), None, "2.5"),
        (np.longdouble("inf"), None, None),
        (np.longdouble("nan"), None, None),
        (np.longdouble(2) ** 60, None, None),
        (float("nan"), None, None),
        (float("inf"), Text(), "1e999"),
        (float("inf"), None, None),
        (Decimal("1.50"), None, "1.5"),
        (Decimal("0.10"), None, "0.1"),
        (Decimal("1E-7"), None, "0.0000001"),
        (Decimal("1E-999999"), Text(), "0"),
        (Decimal("1E-999999"), None, None),
        (Decimal("0E-999999"), None, "0"),
        (Decimal("-1E+999999"), Text(), "-1e999"),
        (Decimal("-1E+999999"), None, None),
        (Decimal("-0.0"), None, "0"),
        (uuid.UUID(int=1), None, "00000000-0000-0000-0000-000000000001"),
        (Decimal("NaN"), None, None),
        (Decimal("sNaN"), None, None),
        (Decimal("-Infinity"), Text(), "-1e999"),
        (pd.NaT, None, None),
        (pd.NA, None, None),
        (pd.Timestamp("2020-01-31T12:00:00.123456789"), TIME, "2020-01-31 12:00:00.123456"),
        (pd.Timestamp("2020-01-31T12:00:00.123456789"), None, "2020-01-31 12:00:00.123456789"),
        (pd.Timestamp("2020-01-31T00:00:00.000000001"), None, "2020-01-31 00:00:00.000000001"),
        (pd.Timestamp(np.datetime64("20000-01-01", "s")), None, None),
        (np.datetime64("2020-01-31"), None, "2020-01-31"),
        (np.datetime64("2020-01-31T12:00:00.123456789", "ns"), TIME, "2020-01-31 12:00:00.123456"),
        (np.datetime64("2020-01-31T12:00:00.123456789", "ns"), None, "2020-01-31 12:00:00.123456789"),
        (np.datetime64("1970-01-31T12:00:00.000000001", "ps"), None, "1970-01-31 12:00:00.000000001"),
        (np.datetime64("1970-01-31T12:00:00.000000000001", "ps"), None, None),
        (np.datetime64("1970-01-31T12:00:00.000000000001", "ps"), TIME, "1970-01-31 12:00:00.000000"),
        (np.datetime64("NaT"), None, None),
        (np.datetime64(2**62, "s"), None, None),
        (np.timedelta64(5, "ns"), None, None),
        (dt.datetime(2020, 1, 31, 1, tzinfo=dt.timezone(dt.timedelta(hours=2))), TIME, "2020-01-30 23:00:00.000000"),
        (dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2))), TIME, None),
        (dt.date(2020, 1, 31), TIME, "2020-01-31 00:00:00.000000"),
        (dt.datetime(2020, 1, 31, 5), DAY, "2020-01-31"),
        (b"bytes", None, None),
        ([1], None, None),
        (dt.time(1), None, None),
        (object(), None, None),
    ],
)
def test_the_text_of_a_value(value: object, kind: Kind | None, text: str | None) -> None:
    assert as_text(value, kind) == text


def test_whole_numbers_too_long_to_write_are_beyond_every_bound() -> None:
    assert (as_text(10**5000, Text()), as_text(-(10**5000), Text())) == ("1e999", "-1e999")
    assert as_text(10**5000, None) is None  # and nobody, as a unit


def same_number(value: Any) -> list[Any]:
    """Values of other types that are equal to a number. A float with a fraction is the decimal it is written as."""
    exact = Decimal(repr(value)) if isinstance(value, float) and value != int(value) else Decimal(value)
    found = [value, exact, Decimal(f"{exact:f}000" if "." in f"{exact:f}" else f"{exact:f}.000")]
    if float(exact) == exact:
        found += [float(exact), np.float64(float(exact))]
        with np.errstate(over="ignore"):
            found += [np.float32(exact)] if float(np.float32(exact)) == exact else []
    if exact == int(exact):
        found += [int(exact)]
        found += [np.int64(int(exact))] if -(2**63) <= exact < 2**63 else []
    return found


def test_numbers_that_differ_have_different_texts_as_units() -> None:
    third = np.longdouble(1) / 3
    all_digits = Decimal.from_float(0.1)
    values = [0.1, all_digits, third, float(third), np.float32(0.1), 2**53, 2**53 + 1, Decimal(2**53) + 2, 1e-300, 0]
    assert len({as_text(value, None) for value in values} - {None}) == len(values)


@given(
    st.one_of(
        st.integers(), st.floats(-1e15, 1e15), st.floats(allow_nan=False, allow_infinity=False, width=32),
        st.integers(-50, 50).map(lambda power: 10.0**power), st.integers(-(10**60), 10**60),
        st.decimals(allow_nan=False, allow_infinity=False, places=3),
    )
)  # fmt: skip
@example(10**16)
@example(Decimal(3))
@example(-0.0)
def test_equal_numbers_have_equal_texts(value: Any) -> None:
    alike = same_number(value)
    assert len({as_text(one, Text()) for one in alike}) == 1
    assert len({as_text(one, None) for one in alike} - {None}) <= 1


@given(
    st.datetimes(dt.datetime(1700, 1, 2), dt.datetime(2200, 1, 1)),
    st.integers(-14, 14),
    st.sampled_from([None, DAY, TIME]),
)
def test_equal_times_have_equal_texts(time: dt.datetime, hours: int, kind: Kind | None) -> None:
    fine = np.datetime64(time, "us")
    day = np.datetime64(time.date(), "D")
    alike = [time, fine, fine.astype("datetime64[ns]"), pd.Timestamp(time)]
    zoned = time.replace(tzinfo=dt.UTC)
    alike += [zoned, zoned.astimezone(dt.timezone(dt.timedelta(hours=hours))), pd.Timestamp(zoned)]
    assert len({as_text(one, kind) for one in alike}) == 1
    assert as_text(day, kind) == as_text(day.astype("datetime64[ns]"), kind) == as_text(time.date(), kind)


# ---- Parquet and DuckDB files ----------------------------------------------------------------------------------------

TYPES = """SELECT 'p1' AS id, 7::TINYINT AS small, 1.5::DECIMAL(5,2) AS money, 2.5::DOUBLE AS real, true AS ok,
  DATE '2020-01-31' AS day, TIMESTAMP '2020-01-31 12:00:00' AS time, TIMESTAMPTZ '2020-01-31 12:00:00+02' AS zoned,
  TIMESTAMP_NS '2020-01-31 12:00:00.123456789' AS nano, 'A'::ENUM('A', 'SECRET') AS ward, 1::UHUGEINT AS big,
  '12345678-1234-5678-1234-567812345678'::UUID AS code, [1, 2] AS list, {'a': 1} AS struct, 'x'::BLOB AS blob,
  INTERVAL 1 DAY AS span, TIME '12:00' AS clock, NULL AS nothing"""
KINDS: dict[str, Kind] = {
    "small": Integer(0, 9), "money": NUMBER, "real": NUMBER, "ok": Boolean(), "day": DAY, "time": TIME, "zoned": TIME,
    "nano": TIME, "ward": Category(["A"]), "code": Text(), "nothing": Text(),
}  # fmt: skip


def check_types(connection: duckdb.DuckDBPyConnection, raw: Raw) -> None:
    assert dict(raw.types) == {
        "small": "TINYINT", "money": "DECIMAL(5,2)", "real": "DOUBLE", "ok": "BOOLEAN", "day": "DATE",
        "time": "TIMESTAMP", "zoned": "TIMESTAMP", "nano": "TIMESTAMP", "ward": "VARCHAR", "code": "VARCHAR",
        "nothing": raw.types["nothing"], "id": "VARCHAR",
    }  # fmt: skip
    noon = dt.datetime(2020, 1, 31, 12)
    assert rows_of(connection, raw) == [
        (
            7, Decimal("1.50"), 2.5, True, dt.date(2020, 1, 31), noon, noon - dt.timedelta(hours=2),
            noon.replace(microsecond=123457), "A", str(uuid.UUID("12345678-1234-5678-1234-567812345678")), None, "p1",
        )
    ]  # fmt: skip
    found = connection.execute(f"DESCRIBE FROM {raw.relation}").fetchall()
    assert {row[0]: row[1] for row in found} == dict(raw.types)


def test_parquet_types(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    connection.execute(f"COPY ({TYPES}) TO '{tmp_path / 'data.parquet'}'")
    raw = attach(connection, table_of(KINDS, kind="parquet", path="data.parquet", unit="id"), tmp_path, {})
    check_types(connection, raw)
    assert raw.files == (tmp_path / "data.parquet",)


@pytest.mark.parametrize(
    ("column", "kind", "word"),
    [
        ("list", Text(), "INTEGER"),
        ("struct", Text(), "STRUCT"),
        ("blob", Text(), "BLOB"),
        ("span", NUMBER, "INTERVAL"),
        ("clock", TIME, "TIME"),
        ("day", NUMBER, "DATE"),
        ("small", DAY, "TINYINT"),
        ("real", Category(["2.5"]), "DOUBLE"),
        ("ward", Integer(0, 1), None),
        ("ok", TIME, "BOOLEAN"),
        ("time", Boolean(), "TIMESTAMP"),
    ],
)
def test_types_that_do_not_fit_the_kind(
    column: str, kind: Kind, word: str | None, connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    with duckdb.connect(str(tmp_path / "data.duckdb")) as other:
        other.execute(f"CREATE TABLE t AS {TYPES}")
    table = table_of({column: kind}, kind="duckdb", path="data.duckdb", table="t")
    if word is None:  # an ENUM is a text, and a text may hold a number
        assert attach(connection, table, tmp_path, {}).types == {column: "VARCHAR"}
        return
    with raises_code(InvalidInputError, f"unsupported-type: '{column}' … {word}"):
        attach(connection, table, tmp_path, {})


@pytest.mark.parametrize("column", ["list", "struct", "blob", "span", "clock"])
def test_types_that_cannot_be_a_unit(column: str, connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    connection.execute(f"COPY ({TYPES}) TO '{tmp_path / 'data.parquet'}'")
    table = table_of({"ok": Boolean()}, kind="parquet", path="data.parquet", unit=column)
    with raises_code(InvalidInputError, f"unsupported-type: '{column}' … a unit"):
        attach(connection, table, tmp_path, {})


def test_an_error_never_shows_the_values_of_a_type(connection: duckdb.DuckDBPyConnection) -> None:
    frame = duckdb.sql("SELECT {'SECRET': 1} AS a").to_arrow_table()
    with pytest.raises(InvalidInputError) as caught:
        attach(connection, table_of({"a": Text()}, kind="memory"), Path(), {"visits": frame})
    assert "SECRET" not in str(caught.value)


def test_float_units_are_normal(connection: duckdb.DuckDBPyConnection) -> None:
    frame = pa.table({"id": [0.0, -0.0, float("nan"), None, 1.5], "a": ["x"] * 5})
    raw = attach(connection, table_of({"a": Text()}, kind="memory", unit="id"), Path(), {"visits": frame})
    found = connection.execute(f"SELECT CAST(id AS VARCHAR) FROM {raw.relation} ORDER BY 1").fetchall()
    assert found == [("0.0",), ("0.0",), ("1.5",), (None,), (None,)]


def test_codes_in_typed_columns(connection: duckdb.DuckDBPyConnection) -> None:
    frame = pa.table(
        {
            "whole": pa.array([999, 5]),
            "real": pa.array([999.0, 99.9], pa.float32()),
            "text": ["NA", ""],
            "ok": [True, False],
            "day": [dt.date(1900, 1, 1), dt.date(2020, 1, 31)],
        }
    )
    columns: dict[str, Kind] = {
        "whole": Integer(0, 9), "real": NUMBER, "text": Text(), "ok": Boolean(), "day": DAY,
    }  # fmt: skip
    source = Source(kind="memory", missing=("999", "99.9", "NA", "1900-01-01", "t"))
    table = Table(name="visits", source=source, unit=None, columns=columns)
    raw = attach(connection, table, Path(), {"visits": frame})
    assert rows_of(connection, raw) == [(None, None, None, True, None), (5, None, "", False, dt.date(2020, 1, 31))]


def test_folders_and_patterns(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    for number, place in enumerate(("year=2019", "year=2020")):
        (tmp_path / "data" / place).mkdir(parents=True)
        connection.execute(f"COPY (SELECT {number} AS a) TO '{tmp_path}/data/{place}/part.parquet'")
    (tmp_path / "data" / "_SUCCESS").write_text("")
    (tmp_path / "data" / "_notes.parquet").write_text("")
    columns: dict[str, Kind] = {"a": Integer(0, 9), "year": Category(["2019", "2020"])}
    raw = attach(connection, table_of(columns, kind="parquet", path="data"), tmp_path, {})
    assert sorted(rows_of(connection, raw)) == [(0, "2019"), (1, "2020")]
    assert len(raw.files) == 2
    table = table_of({"a": Integer(0, 9)}, kind="parquet", path="data/*2020/*.parquet")
    assert rows_of(connection, attach(connection, table, tmp_path, {})) == [(1,)]
    (tmp_path / "data" / "x[1].parquet").write_text("")
    for path, problem in (("data", "invalid-name"), ("nothing/*", "missing-file: 'nothing/*'")):
        with raises_code(InvalidInputError, problem):
            attach(connection, table_of(columns, kind="parquet", path=path), tmp_path, {})


def test_duckdb_files(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as other:
        other.execute(f"CREATE TABLE t AS {TYPES}")
        other.execute("CREATE SCHEMA old; CREATE TABLE old.t AS SELECT 5 AS a; CREATE VIEW v AS SELECT 5 AS a")
    before = path.read_bytes()
    raw = attach(connection, table_of(KINDS, kind="duckdb", path="data.duckdb", table="t", unit="id"), tmp_path, {})
    check_types(connection, raw)
    table = table_of({"a": Integer(0, 9)}, kind="duckdb", path="data.duckdb", table="old.t")
    assert rows_of(connection, attach(connection, table, tmp_path, {})) == [(5,)]
    for name in ("v", "nothing", "old.v"):
        with raises_code(InvalidInputError, f"unknown-table: '{name}'"):
            attach(connection, table_of({"a": Text()}, kind="duckdb", path="data.duckdb", table=name), tmp_path, {})
    harden(connection, raw.files)
    assert len(rows_of(connection, Raw(relation=raw.relation, types={}))) == 1
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data.duckdb", "scratch"]


@pytest.mark.parametrize("collation", ["", "NOCASE", "NOACCENT", "NOCASE.NOACCENT", "de"])
def test_a_collation_makes_no_texts_equal(
    collation: str, connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    with duckdb.connect(str(tmp_path / "data.duckdb")) as other:
        other.execute("SET default_collation = 'NOCASE'")
        text = f"VARCHAR COLLATE {collation}" if collation else "VARCHAR"
        other.execute(f"CREATE TABLE t (id {text}, a {text})")
        other.execute("INSERT INTO t VALUES ('A', 'é'), ('a', 'e'), ('Á', 'E')")
    table = table_of({"a": Text()}, kind="duckdb", path="data.duckdb", table="t", unit="id", missing={"a": ["E"]})
    raw = attach(connection, table, tmp_path, {})
    assert sorted(rows_of(connection, raw), key=str) == [("e", "a"), ("é", "A"), (None, "Á")]
    for question in ("count(DISTINCT id)", "count(DISTINCT a) + count_if(a IN ('e'))", "count_if(id > 'Z') + 1"):
        assert connection.execute(f"SELECT {question} FROM {raw.relation}").fetchall() == [(3,)]
    assert connection.execute(f"SELECT count(*) FROM (SELECT id FROM {raw.relation} GROUP BY id)").fetchall() == [(3,)]


MOMENTS = [-(2**63) + 1, -(2**63) + 5, -(2**62), 2**62, 2**63 - 3, 2**63 - 1]


@pytest.mark.parametrize(
    ("unit", "zone"), [("s", None), ("ms", None), ("us", None), ("ns", None), ("us", "UTC"), ("ns", "UTC")]
)
@pytest.mark.parametrize("kind", ["memory", "duckdb"])
def test_times_beyond_the_calendar_are_missing(
    unit: str, zone: str | None, kind: Any, connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    frame = pa.table({"a": pa.array([0, 10**9, *MOMENTS], pa.int64()).cast(pa.timestamp(unit, zone))})
    where = {}
    if kind == "duckdb":
        where = {"path": "data.duckdb", "table": "t"}
        with duckdb.connect(str(tmp_path / "data.duckdb")) as other:
            other.register("frame", frame)
            other.execute("CREATE TABLE t AS FROM frame")
    for codes, start in (([], [dt.datetime(1970, 1, 1)]), (["NA", "1970-01-01 00:00:00"], [])):
        table = table_of({"a": TIME}, kind=kind, missing={"a": codes}, **where)
        raw = attach(connection, table, tmp_path, {"visits": frame})
        assert raw.types == {"a": "TIMESTAMP"}
        values = [value for (value,) in rows_of(connection, raw)]
        assert len(values) == len(MOMENTS) + 2
        found = sorted(value for value in values if value is not None)
        if unit == "ns":  # its years all lie within the calendar
            found = [value for value in found if 1900 < value.year < 2100]
        seconds = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}[unit]
        assert found == [*start, dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)]
        texts = connection.execute(f"SELECT CAST(a AS VARCHAR) || CAST(a AS DATE) FROM {raw.relation}").fetchall()
        assert len(texts) == len(values)


def test_days_beyond_the_calendar_are_missing(connection: duckdb.DuckDBPyConnection) -> None:
    days = pa.array([0, -(2**31), -(2**31) + 1, 2**31 - 1, 2**30], pa.int32()).cast(pa.date32())
    for codes in ([], ["NA"]):
        table = table_of({"a": DAY}, kind="memory", missing={"a": codes})
        raw = attach(connection, table, Path(), {"visits": pa.table({"a": days})})
        assert rows_of(connection, raw) == [(dt.date(1970, 1, 1),), *[(None,)] * 4]


# ---- frames ----------------------------------------------------------------------------------------------------------


def read_frame(connection: duckdb.DuckDBPyConnection, column: Any, kind: Kind) -> tuple[str, list[Any]]:
    raw = attach(connection, table_of({"a": kind}, kind="memory"), Path(), {"visits": column})
    return raw.types["a"], [row[0] for row in rows_of(connection, raw)]


MOMENT = dt.datetime(2020, 1, 31, 12)


@pytest.mark.parametrize(
    ("series", "kind", "expected"),
    [
        (pd.Series(["01", None]), Text(), ("VARCHAR", ["01", None])),
        (pd.Series(["x", None], dtype="string"), Text(), ("VARCHAR", ["x", None])),
        (pd.Series([1, None], dtype="Int64"), Integer(0, 9), ("BIGINT", [1, None])),
        (pd.Series([1.5, None], dtype="Float64"), NUMBER, ("DOUBLE", [1.5, None])),
        (pd.Series([1.5, None], dtype="float32"), NUMBER, ("FLOAT", [1.5, None])),
        (pd.Series([True, None], dtype="boolean"), Boolean(), ("BOOLEAN", [True, None])),
        (pd.Series(["A", None], dtype="category"), Category(["A"]), ("VARCHAR", ["A", None])),
        (pd.Series([1, "A", None], dtype="category"), Text(), ("VARCHAR", ["1", "A", None])),
        (pd.Series([MOMENT, None]), TIME, ("TIMESTAMP", [MOMENT, None])),
        (pd.Series([MOMENT]).dt.tz_localize("Etc/GMT-2"), TIME, ("TIMESTAMP", [MOMENT - dt.timedelta(hours=2)])),
        (pd.Series([1, "x", pd.NA, None, MOMENT, uuid.UUID(int=2)], dtype=object), Text(),
         ("VARCHAR", ["1", "x", None, None, "2020-01-31 12:00:00.000000", str(uuid.UUID(int=2))])),
        (pd.Series([None, None], dtype=object), Text(), ("VARCHAR", [None, None])),
        (pd.Series([Decimal("1.5"), None], dtype=object), NUMBER, ("VARCHAR", ["1.5", None])),
        (pd.Series([7, None], dtype=pd.ArrowDtype(pa.int64())), Integer(0, 9), ("BIGINT", [7, None])),
        (pd.Series([7, 8], index=[5, 9]), Integer(0, 9), ("BIGINT", [7, 8])),
    ],
)  # fmt: skip
def test_pandas(series: Any, kind: Kind, expected: Any, connection: duckdb.DuckDBPyConnection) -> None:
    frame = pd.DataFrame({"other": range(len(series)), "a": series.set_axis(range(len(series)))}, copy=True)
    frame.index = series.index
    assert read_frame(connection, frame, kind) == expected


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(pd.period_range("2020", periods=2)),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series([1j, 2]),
        pd.Series(pd.arrays.SparseArray([0, 1])),
        pd.Series(pd.to_timedelta([1, 2])),
        pl.Series([object()], dtype=pl.Object),
        pl.Series([[1]]),
        pl.Series([b"x"]),
    ],
)
def test_frames_that_cannot_be_read(series: Any, connection: duckdb.DuckDBPyConnection) -> None:
    library: Any = pd if isinstance(series, pd.Series) else pl
    with raises_code(InvalidInputError, "unsupported-type: 'visits' … 'a'"):
        read_frame(connection, library.DataFrame({"a": series}), NUMBER)


def test_polars_and_arrow_and_dictionaries(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {"other": [0, 0], "a": ["A", None]}
    expected = ("VARCHAR", ["A", None])
    for frame in (
        pl.DataFrame(columns),
        pl.DataFrame(columns).lazy(),
        pl.DataFrame(columns, schema_overrides={"a": pl.Categorical}),
        pa.table(columns),
        pa.record_batch(columns),
        columns,
    ):
        assert read_frame(connection, frame, Category(["A"])) == expected
    assert read_frame(connection, {"a": [1, 2.5, "x", True, MOMENT]}, Text())[1][3] == "true"
    assert read_frame(connection, {"a": []}, Text()) == ("VARCHAR", [])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with raises_code(InvalidInputError, "missing-extra"):
        read_frame(connection, pl.DataFrame(columns), Text())


def test_frames_that_are_refused(connection: duckdb.DuckDBPyConnection) -> None:
    for frame in ([1, 2], pd.Series([1]), None, "x.csv"):
        with raises_code(InvalidInputError, "not-a-table"):
            read_frame(connection, frame, Text())
    with raises_code(InvalidInputError, "not-attached"):
        attach(connection, table_of({"a": Text()}, kind="memory"), Path(), {})
    with raises_code(InvalidInputError, "duplicate-name: 'visits' … 'a'"):
        read_frame(connection, pd.DataFrame([[1, 2]], columns=["a", "a"]), Text())
    with raises_code(InvalidInputError, "unreadable-file: data"):  # columns of different lengths
        attach(connection, table_of({"a": Text(), "b": Text()}, kind="memory"), Path(), {"visits": {"a": [1], "b": []}})


@pytest.mark.parametrize(
    ("value", "word"),
    [(b"y", "bytes"), ([2], "list"), (object(), "object"), (dt.time(1), "time"), (1j, "complex"),
     (np.timedelta64(1, "ns"), "timedelta64"), (Fraction(1, 3), "Fraction")],
)  # fmt: skip
def test_values_without_a_plain_text_are_refused(
    value: object, word: str, connection: duckdb.DuckDBPyConnection
) -> None:
    for frame in ({"a": ["x", value]}, pd.DataFrame({"a": pd.Series(["x", value], dtype=object)})):
        with raises_code(InvalidInputError, f"unsupported-type: 'a' … {word}"):
            read_frame(connection, frame, Text())


@pytest.mark.parametrize(
    "units", [[Decimal("3." + "0" * zeros) for zeros in range(50)], [10**16, 1e16, np.float64(1e16)]]
)
def test_one_person_is_one_unit(units: list[Any], connection: duckdb.DuckDBPyConnection) -> None:
    frame = pd.DataFrame({"id": pd.Series(units, dtype=object), "a": ["x"] * len(units)})
    for source in (frame, {"id": units, "a": ["x"] * len(units)}):
        raw = attach(connection, table_of({"a": Text()}, kind="memory", unit="id"), Path(), {"visits": source})
        assert connection.execute(f"SELECT count(DISTINCT id) FROM {raw.relation}").fetchall() == [(1,)]


def test_a_frame_is_copied(connection: duckdb.DuckDBPyConnection) -> None:
    frame = pd.DataFrame({"a": [1, 2]})
    raw = attach(connection, table_of({"a": Integer(0, 9)}, kind="memory"), Path(), {"visits": frame})
    frame.loc[0, "a"] = 9
    assert rows_of(connection, raw) == [(1,), (2,)]


# ---- the lock --------------------------------------------------------------------------------------------------------


def test_a_hardened_connection_reads_the_declared_files_and_nothing_else(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    for name in ("data", "other"):
        connection.execute(f"COPY (SELECT 5 AS a) TO '{tmp_path}/{name}.parquet'")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with duckdb.connect(str(tmp_path / "other.duckdb")) as other:
        other.execute("CREATE TABLE t AS SELECT 1 AS a")
    parquet = attach(connection, table_of({"a": Integer(0, 9)}, kind="parquet", path="data.parquet"), tmp_path, {})
    harden(connection, parquet.files)
    frames = Table(name="frames", source=Source(kind="memory"), unit=None, columns={"a": Text()})
    assert rows_of(connection, attach(connection, frames, tmp_path, {"frames": {"a": ["x"]}})) == [("x",)]
    assert rows_of(connection, parquet) == [(5,)]
    frame = pd.DataFrame({"a": [1]})
    for statement in (
        f"ATTACH '{tmp_path}/other.duckdb' AS o",
        f"ATTACH '{tmp_path}/other.duckdb' AS o (READ_ONLY)",
        f"COPY (SELECT 1) TO '{tmp_path}/new.csv'",
        f"COPY {parquet.relation} FROM '{tmp_path}/other.csv'",
        f"EXPORT DATABASE '{tmp_path}/export'",
        f"IMPORT DATABASE '{tmp_path}'",
        f"FROM read_csv('{tmp_path}/other.csv')",
        f"FROM '{tmp_path}/other.csv'",
        f"FROM read_csv_auto('{tmp_path}/other.csv')",
        f"FROM sniff_csv('{tmp_path}/other.csv')",
        f"FROM read_text('{tmp_path}/other.csv')",
        f"FROM read_blob('{tmp_path}/other.csv')",
        f"FROM read_json('{tmp_path}/other.csv')",
        f"FROM read_parquet('{tmp_path}/other.parquet')",
        f"FROM read_parquet('{tmp_path}/*.parquet')",
        f"FROM parquet_metadata('{tmp_path}/other.parquet')",
        f"FROM glob('{tmp_path}/*')",
        "INSTALL httpfs",
        "LOAD httpfs",
        "LOAD spatial",
        "FROM 'https://example.org/x.csv'",
        "SET threads = 1",
        "SET GLOBAL memory_limit = '1GB'",
        "RESET threads",
        "PRAGMA threads = 1",
        "PRAGMA enable_profiling",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET allowed_paths = []",
        f"SET temp_directory = '{tmp_path}'",
        "SET python_enable_replacements = true",
        "CALL enable_logging()",
        "CREATE SECRET s (TYPE s3)",
        "SELECT getenv('HOME')",
        "FROM frame",
    ):
        with pytest.raises(duckdb.Error):
            connection.execute(statement).fetchall()
    assert len(frame) == 1
    assert not (tmp_path / "new.csv").exists()
    assert rows_of(connection, parquet) == [(5,)]
    with raises_code(InvalidInputError, "unreadable-file: data"):
        attach(connection, table_of({"a": Integer(0, 9)}, kind="parquet", path="other.parquet"), tmp_path, {})


def test_what_does_not_fit_is_spilled_to_the_scratch_folder_and_removed(tmp_path: Path) -> None:
    scratch = tmp_path / "private" / "scratch"
    with connect(scratch) as connection:
        connection.execute("SET memory_limit = '60MB'")
        harden(connection, [])
        connection.execute("CREATE TABLE t AS SELECT repeat('secret', 20) || i AS a FROM range(1000000) r(i)")
        files = list(scratch.iterdir())
        assert files
        assert connection.execute("SELECT count(DISTINCT a) FROM t").fetchall() == [(1_000_000,)]
    assert not list(scratch.iterdir())
    if sys.platform != "win32":
        assert scratch.stat().st_mode & 0o777 == 0o700


def test_ids_in_another_encoding_stay_different(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """Read as UTF-8 by mistake, two people must not become one."""
    rows = read_csv(connection, tmp_path, "a,b\nMüller,1\nMöller,2\n".encode("cp1252"))
    assert rows == [("M\\xfcller", "1"), ("M\\xf6ller", "2")]


def test_nanoseconds_name_nobody(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    times = pd.DataFrame({"who": pd.to_datetime([0, 1], unit="ns"), "x": [1, 2]})
    table = Table(name="t", source=Source(kind="memory"), unit="who", columns={"x": Integer(0, 9)})
    with raises_code(InvalidInputError, "unsupported-type: nanoseconds"):
        attach(connection, table, tmp_path, {"t": times})


def test_a_frame_tells_its_names_and_the_types_of_the_engine(connection: duckdb.DuckDBPyConnection) -> None:
    frame = pd.DataFrame({"n": [1, 2], "x": [0.5, None], "word": ["a", "b"]})
    assert schema(connection, frame) == [("n", "BIGINT"), ("x", "DOUBLE"), ("word", "VARCHAR")]
