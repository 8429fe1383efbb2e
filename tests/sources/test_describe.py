"""Drafts: what is proposed, and that nothing in a draft is a true extreme or a rare value."""

from __future__ import annotations

import datetime as dt
import gzip
import os
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pytest
from support.refusals import raises_code

from privet.catalog.vault_file import parse
from privet.catalog.writing import Writing
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.errors import InvalidInputError
from privet.sources.describing import DraftTable, describe

DATA = os.environ.get("PRIVET_DATA")


def column(folder: Path, values: list[str], **options: Any) -> Kind:
    """The kind proposed for one column beside another."""
    path = folder / "data.csv"
    path.write_text("x;other\n" + "".join(f"{value};text {number}\n" for number, value in enumerate(values)))
    return describe(path, **options).table().columns["x"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["3", "17", "88"], Integer(0, 100)),
        (["-3", "17"], Integer(-3, 20)),
        (["0", "1"], Integer(0, 1)),
        (["1987", "2019"], Integer(1980, 2025)),
        (["9" * 19, "1"], Number(0, 10**19, step=10**13)),
        (["1.25", "88"], Number(0, 100, step="0.01")),
        (["3", "NA", "?", "17"], Integer(0, 20)),
        (["3", "N", "17", "N"], Integer(0, 20)),  # one other text: a code for "missing"
        (["3", "N", "17", "M"], Text()),
        (["01234", "99999"], Text()),  # leading zeros: a code
        (["1,25", "88"], Number(0, 100, step="0.01")),
        (["1.234,5", "88"], Number(0, 1500, step="0.1")),
        (["yes", "No"], Boolean()),
        (["2021-03-04", "2034-01-01"], Date("2020-01-01", "2035-12-31")),
        (["31.12.2021", "1.1.2020"], Date("2019-01-01", "2022-12-31")),
        (["2021-03-04 12:00", "2021-03-04T13:00:01.5"], Timestamp("2020-01-01", "2022-12-31T23:59:59")),
        (["A"] * 30 + ["B"] * 20 + ["rare"], Category(["A", "B"])),
        (["A"] * 19, Text()),
        ([f"name {number}" for number in range(100) for _ in range(20)], Text()),
        ([], Text()),
    ],
)
def test_kinds(values: list[str], kind: Kind, tmp_path: Path) -> None:
    assert column(tmp_path, values) == kind


def test_a_public_table_lists_its_texts(tmp_path: Path) -> None:
    path = tmp_path / "wards.csv"
    path.write_text("region;ward;note\n" + "".join(f"north;w{n};note {n % 7}\n" for n in range(60)))
    draft = describe(path, public=True)
    assert (draft.table().public, draft.table().key, draft.table().unit) == (True, ("ward",), None)
    assert draft.table().columns["region"] == Category(["north"])
    assert isinstance(draft.table().columns["ward"], Category)
    assert str(draft).startswith("wards: public, told apart by ward (check: may everybody read all of it?)")
    assert "# check: may everybody read all of it? Nobody in it is protected" in draft.toml()
    assert parse(f'format = 1\nneighbors = "replace"\n{draft.toml()}').tables["wards"] == draft.table()
    path.write_text("name\n" + "".join(f"n{n}\nn{n}\n" for n in range(1001)))
    draft = describe(path, public=True)
    assert (draft.table().columns["name"], draft.table().key) == (Text(), ())
    assert str(draft).startswith("wards: public (check: ")
    assert "too many texts to list" in draft.toml()
    path.write_text("name;x\n")
    assert describe(path, public=True).table().key == ()


def test_two_decimal_marks_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("x;y\n1,5;2.5\n")
    table = describe(tmp_path / "data.csv").table()
    assert table.columns == {"x": Number(0, "1.5", step="0.1"), "y": Number(0, 3, step="0.1")}
    assert (table.source.decimal, table.writing) == (".", {"x": Writing(decimal=",", thousands="")})


WHEN = Timestamp("2016-01-01", "2018-12-31T23:59:59")


@pytest.mark.parametrize(
    ("values", "kind", "writing"),
    [
        (["2017-05-01T14:05:00Z"], WHEN, Writing(offset="utc")),
        (["2017-05-01 14:05:00-04:00", "2017-05-01 14:05-05:00"], WHEN, Writing(offset="utc")),
        (["2017-05-01 14:05:00 UTC", "2017-05-01 14:05:00.123 UTC"], WHEN, Writing(offset="utc")),
        (["2017-05-01 14:05:00.1234567"], WHEN, Writing(date_format="%Y-%m-%d %H:%M:%S.%f")),
        (["01/31/2017 14:05", "2/3/2017 4:05"], WHEN, Writing(date_format="%m/%d/%Y %H:%M")),
        (["1/31/2017 2:05:09 PM"], WHEN, Writing(date_format="%m/%d/%Y %I:%M:%S %p")),
        (["31-Jan-2017 14:05"], WHEN, Writing(date_format="%d-%b-%Y %H:%M")),
        (["10/Oct/2017:13:55:36 -0700"], WHEN, Writing(date_format="%d/%b/%Y:%H:%M:%S %z", offset="utc")),
        (["$8,217.50", "$12.05"], Number(0, 10_000, step="0.01"), Writing(decimal=".", thousands=",", marks=("$",))),
        (["45 %", "3%"], Integer(0, 50), Writing(marks=("%",))),
        (["12 kg", "130 kg"], Integer(0, 150), Writing(marks=("kg",))),
        (["12 beds", "130 beds"], Integer(0, 150), Writing(marks=("beds",))),
        (["54,000", "1,000,000"], Integer(0, 10**6), Writing(decimal=".", thousands=",")),
        (["CHF 1'234.50"], Number(0, 1500, step="0.1"), Writing(decimal=".", thousands="'", marks=("CHF",))),
        (["1\u202f234,50 €"], Number(0, 1500, step="0.1"), Writing(decimal=",", thousands="\u202f", marks=("€",))),
        ([*map(str, range(95)), "refused", "unknown"], Integer(0, 100), Writing()),
        (["P0559", "P0560"], Text(), Writing()),
        (["12 Main St", "3 Elm Rd"], Text(), Writing()),
        (["2017-05-01", "01/31/2017"], Text(), Writing()),
        (["<5", "<6"], Text(), Writing()),
        (["00012 kg", "00013 kg"], Text(), Writing()),
    ],
)
def test_forms_of_texts(values: list[str], kind: Kind, writing: Writing, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("x|other\n" + "".join(f"{value}|text {number}\n" for number, value in enumerate(values)))
    table = describe(path).table()
    assert (table.columns["x"], table.writing.get("x", Writing())) == (kind, writing)


def test_each_column_of_dates_has_its_own_form(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b,c,d\n20170131,01/31/2017,2017-01-31,01/02/2017\n20170201,2/1/2017,2017-02-01,03/04/2017\n")
    draft = describe(path)
    table = draft.table()
    assert set(table.columns.values()) == {Date("2016-01-01", "2018-12-31")}
    assert table.source.date_format is None
    american = Writing(date_format="%m/%d/%Y")  # of d as well: it is the form of b, where it is sure
    assert dict(table.writing) == {"a": Writing(date_format="%Y%m%d"), "b": american, "d": american}
    assert "the other way round" in draft.notes["column d"]
    path.write_text("a,b\n01/02/2017 10:00,2017-01-31\n03/04/2017 11:00,01/31/2017\n")
    assert describe(path).table().writing["a"] == Writing(date_format="%d/%m/%Y %H:%M")
    path.write_text("a,b\n01/02/2017 10:00,01/31/2017\n03/04/2017 11:00,02/28/2017\n")
    assert describe(path).table().writing["a"] == Writing(date_format="%m/%d/%Y %H:%M")  # as in b


def test_a_format_that_is_given_stays(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b,c,d\n20170131,01/31/2017,2017-01-31,01/02/2017\n20170201,2/1/2017,2017-02-01,03/04/2017\n")
    with_given = describe(path, date_format="%d/%m/%Y").table()
    assert with_given.source.date_format == "%d/%m/%Y"
    assert "d" not in with_given.writing
    assert with_given.writing["c"] == Writing(date_format="%Y-%m-%d")
    path.write_text("a,b\n31.01.17,x\n01.02.17,y\n")
    assert describe(path).table().source.date_format == "%d.%m.%y"


def test_texts_that_are_no_dates_have_no_forms(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("x|y\n2017-05-01|2017-05-01\nnote|1.1.17\nnotes|Jan 1, 2017\nmore|1-Jan-2017\n|2017/01/01\n")
    notes = describe(path).notes
    assert "several" not in notes["column x"] + notes["column y"]


def test_a_column_that_the_marks_of_the_file_would_misread_has_its_own(tmp_path: Path) -> None:
    """The marks of a whole file would take 1.5 for 15."""
    path = tmp_path / "data.csv"
    path.write_text("x;y\n" + "".join(f"{number},5;{number},5\n" for number in range(60)) + "1.5;1,5\n")
    table = describe(path).table()
    assert (table.source.decimal, table.source.thousands) == (".", "")
    assert table.writing["x"].decimal == ","
    given = describe(path, decimal=",", thousands=".").table()
    assert list(given.writing) == ["x"]
    path.write_text(path.read_text().replace("1.5;", "k.A.;"))  # no number in either reading
    assert describe(path).table().source.decimal == ","


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (["2017-05-01T14:05:00Z"], "become UTC"),
        (["31.12.17"], "00 to 68 are 2000 to 2068"),
        (["45 %", "3%"], "read as 45"),
        (["2017-05-01", "01/31/2017", "2017-01-31T10:00Z"], "several forms"),
        (["12 kg", "13 g"], "nothing is converted"),
        (["54,000", "12,000"], "1,234 is read as 1234"),
        ([*map(str, range(95)), "refused", "unknown"], "less than 5% of the values"),
        ([*map(str, range(95)), "refused"], "less than 2% of the values"),
        (["1"] * 30 + ["2"] * 30 + ["refused"], "one text that is not a number"),
        (["1"] * 30 + ["2"] * 30 + ["refused"] * 30, "refused counts as missing"),
        (["1"] * 30 + ["2"] * 30 + ["999"] * 5, "999 counts as missing"),
        (["1,5"] * 30 + ["2,5"] * 30 + ["-9", "-9,0"] * 5, "-9, -9,0 counts as missing"),
    ],
)
def test_a_draft_says_how_texts_are_read(values: list[str], note: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("x|other\n" + "".join(f"{value}|text {number}\n" for number, value in enumerate(values)))
    assert note in describe(path).notes["column x"]


@pytest.mark.parametrize("name", ["age", "Age", "age at entry", "entry_age"])
def test_ages(name: str, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(f"{name},page\n101,3\n7,4\n")
    assert describe(tmp_path / "data.csv").table().columns == {name: Integer(0, 120), "page": Integer(0, 4)}


def test_a_draft_says_what_to_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"{n % 60};v{n};{n % 83};{'AB'[n % 2]};{'NA' if n % 9 else 'yes'};0{n % 10}" for n in range(120)]
    monkeypatch.chdir(tmp_path)
    Path("My visits.csv").write_text("\n".join(["patient id;visit_id;age;ward;ok;zip", *rows]))
    draft = describe("My visits.csv")
    table = draft.table()
    assert (table.name, table.unit, table.max_rows) == ("my_visits", "patient id", 2)
    assert "patient id" not in table.columns
    assert table.source.path == "My visits.csv"
    assert (table.source.delimiter, table.source.missing) == (";", ("NA",))
    text = draft.toml()
    assert all("# check: " in line for line in text.splitlines() if "low" in line or "values" in line or "unit" in line)
    assert "82" not in text  # the true largest age
    assert parse(f'format = 1\nneighbors = "replace"\n{text}').tables == {"my_visits": table}
    lines = str(draft).splitlines()
    assert lines[0].startswith("my_visits: unit patient id (check: is this the person to protect?)")
    assert lines[1] == "check: missing in every column: 'NA'. Remove each one that is a real value"
    assert lines[2].startswith(
        "limits: 2 rows of each unit count in all (19 of 20 units have at most 2); a count by ward"
    )
    assert lines[3].split() == ["column", "kind", "to", "check"]
    assert any(line.startswith("age ") and "Integer(0 to 120)" in line for line in lines)
    assert any(line.startswith("ward ") and "Category(2 values)" in line for line in lines)


def test_rows_are_units_without_a_name_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("wide,valid\n1,2\n3,4\n")
    draft = describe(tmp_path / "data.csv", name="people")
    assert draft.table().unit is None or draft.table().unit == "valid"
    (tmp_path / "data.csv").write_text("day,size\n2020-01-01,2\n2020-01-01,2020\n")
    draft = describe(tmp_path / "data.csv", name="people")
    assert draft.table().unit is None
    assert "rows_are_units = true  # check: is each row a different person?" in draft.toml()
    assert str(draft).startswith("people: each row is a unit")
    assert "Date(2019 to 2021)" in str(draft)


def test_a_file_with_only_ids(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("id\n1\n2\n")
    assert list(describe(tmp_path / "data.csv").table().columns) == ["id"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_encodings_and_delimiters(encoding: str, delimiter: str, tmp_path: Path) -> None:
    word = "Zoë\x81" if encoding == "latin-1" else "Zoë"
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(f"a{delimiter}b\n{word}{delimiter}x y. z\n".encode(encoding)))
    source = describe(path).table().source
    assert source.delimiter == delimiter
    assert source.encoding == ("utf-8" if encoding == "utf-8-sig" else encoding)


def test_what_is_given_is_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"1;2,3\n4;5,6\n")
    draft = describe(tmp_path / "data.bin", kind="csv", delimiter=",", encoding="cp1252", names=["p", "q"])
    assert list(draft.table().columns) == ["p", "q"]
    assert describe(tmp_path / "data.bin", kind="csv").table().source.names == ("column1", "column2")
    with raises_code(InvalidInputError, "wrong-ending: 'data.bin'"):
        describe(tmp_path / "data.bin")
    with raises_code(InvalidInputError, "unknown-option"):
        describe(tmp_path / "data.bin", kind="csv", color="red")
    with raises_code(InvalidInputError, "missing-file"):
        describe(tmp_path / "nothing.csv")
    (tmp_path / "empty.csv").write_text("")
    with raises_code(InvalidInputError, "empty"):
        describe(tmp_path / "empty.csv")


def test_columns_that_cannot_be_declared_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text('a,A,"b\nc",,d\n1,2,3,4,5\n')
    draft = describe(tmp_path / "data.csv")
    assert list(draft.table().columns) == ["d"]
    assert list(draft.left_out) == ["a", "A", "b\nc", ""]
    assert "# left out: 'b\\nc' has a name" in draft.toml()
    tomllib.loads(draft.toml())
    assert "left out" in str(draft)


def typed(folder: Path) -> DraftTable:
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT i AS n, i * 1.5 AS money, i * 1.5::DOUBLE AS x, i > 5 AS ok, DATE '2019-12-31' AS day, "
            "TIMESTAMP '2019-12-31 10:00' AS time, [1] AS list, NULL::DATE AS never, 'q' || i % 2 AS ward, "
            "'nan'::DOUBLE AS odd FROM range(100) t(i)) "
            f"TO '{folder / 'data.parquet'}'"
        )
    return describe(folder / "data.parquet")


def test_typed_files(tmp_path: Path) -> None:
    draft = typed(tmp_path)
    assert dict(draft.table().columns) == {
        "n": Integer(0, 100),
        "money": Number(0, 150, step="0.1"),
        "x": Number(0, 150, step="0.1"),
        "ok": Boolean(),
        "day": Date("2018-01-01", "2020-12-31"),
        "time": Timestamp(dt.datetime(2018, 1, 1), dt.datetime(2020, 12, 31, 23, 59, 59)),
        "never": Date("2000-01-01", "2029-12-31"),
        "ward": Category(["q0", "q1"]),
        "odd": Number(0, 1, step="0.000001"),
    }
    assert list(draft.left_out) == ["list"]
    assert describe(tmp_path).table().source.kind == "parquet"
    assert describe(tmp_path / "*.parquet", name="all").table().source.kind == "parquet"


def test_excel_and_duckdb_files(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["age", "town"])
    book.active.append([17, "Ulm"])
    book.save(tmp_path / "data.xlsx")
    assert describe(tmp_path / "data.xlsx").table().columns == {"age": Integer(0, 120), "town": Text()}
    with duckdb.connect(str(tmp_path / "data.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 17 AS age")
    assert describe(tmp_path / "data.duckdb", table="t").table().columns == {"age": Integer(0, 120)}
    with raises_code(InvalidInputError, "missing-name"):
        describe(tmp_path / "data.duckdb")


@pytest.mark.skipif(DATA is None, reason="PRIVET_DATA is not set: no real data here")
def test_real_files() -> None:
    folder = Path(DATA or "")
    adult = describe(folder / "adult_full" / "adult_full_48842.csv.gz").table()
    assert adult.columns["age"] == Integer(0, 120)
    assert adult.source.missing == ("?",)
    assert isinstance(adult.columns["native-country"], Category)
    assert describe(folder / "adult_arx" / "adult.csv.gz").table().source.delimiter == ";"
    assert describe(folder / "linkage_pair" / "data_medical.csv.gz").table().unit == "ID"


def test_given_codes_and_forms_stay(tmp_path: Path) -> None:
    assert column(tmp_path, ["3", "17", "-9"]) == Integer(-10, 20)
    assert column(tmp_path, ["3", "17", "-9", "NA"], missing=("-9",)) == Integer(0, 20)
    path = tmp_path / "data.csv"
    found = describe(path, missing=("-9",), date_format="%d/%m/%y").table().source
    assert (found.missing, found.date_format) == (("-9", "NA"), "%d/%m/%y")
