"""Declarations: what is refused, and that vault.toml says exactly what was declared."""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.catalog import vault_file
from privet.catalog.vault_file import Catalog, Source, Table, parse, portable
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError

CSV = Source(kind="csv", path="visits.csv")
AGE: dict[str, Kind] = {"age": Integer(0, 120)}


def make(**parts: object) -> Table:
    return Table(**{"name": "visits", "source": CSV, "unit": "id", "columns": AGE} | parts)  # type: ignore[arg-type]


def text_of(body: str) -> str:
    return f'format = 1\nneighbors = "replace"\n{body}'


VISITS = """
[tables.visits]
source = {kind = "csv", path = "visits.csv"}
unit = "id"
[tables.visits.columns]
"""


def test_declarations_are_values_that_nobody_can_change() -> None:
    columns = dict(AGE)
    table = make(columns=columns, missing={"age": ["999"]})
    columns["age"] = Text()
    assert table == make(missing={"age": ("999",)})
    assert table.columns["age"] == Integer(0, 120)
    with pytest.raises(TypeError):
        table.columns["age"] = Text()  # type: ignore[index]
    with pytest.raises(TypeError):
        Catalog(neighbors=Neighbors.REPLACE).tables["x"] = table  # type: ignore[index]
    with pytest.raises(AttributeError):
        table.version = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"name": ""}, "'' cannot name a table"),
        ({"name": " visits"}, "cannot name a table"),
        ({"name": "a\nb"}, "cannot name a table"),
        ({"name": "\ud800"}, "cannot name a table"),
        ({"name": "x" * 201}, "cannot name a table"),
        ({"name": 5}, "5 cannot name a table"),
        ({"columns": {}}, "table 'visits': no column is declared"),
        ({"columns": None}, "no column is declared"),
        ({"columns": {"age": int}}, "column 'age': .* is not a kind"),
        ({"columns": {"age\0": Text()}}, "cannot name a column"),
        ({"columns": {"age": Text(), "Age": Text()}}, "columns 'age' and 'Age' differ at most in case"),
        ({"columns": {"\u00e4": Text(), "a\u0308": Text()}}, "differ at most in case"),
        ({"columns": {"ID": Text()}}, "'ID' and 'id' differ at most in case"),
        ({"columns": {"big": Integer(0, 10**26)}}, "column 'big': a bound is more than"),
        ({"columns": {"fine": Number(-1, 1, step=Fraction(1, 10**26))}}, "column 'fine': a bound is more than"),
        ({"unit": ""}, "cannot name the unit column"),
        ({"unit": 3}, "cannot name the unit column"),
        ({"max_groups": 0}, "max_groups must be at least 1"),
        ({"max_rows_per_group": 1.5}, "max_rows_per_group must be a whole number"),
        ({"unit": None, "max_groups": 2}, "each row is a unit, so max_groups is 1, not 2"),
        ({"unit": None, "max_rows_per_group": 2}, "each row is a unit, so max_rows_per_group is 1"),
        ({"version": 0}, "version must be at least 1"),
        ({"missing": {"weight": ("9",)}}, "missing codes for 'weight', which is not declared"),
        ({"missing": {"age": "9"}}, "missing must be a list of texts"),
        ({"source": "visits.csv"}, "source is not a Source"),
        ({"public": True}, "it is public and has a unit to protect"),
        ({"public": True, "unit": None, "max_groups": 2}, "nobody is protected in a public table"),
        ({"key": ("age",)}, "a key tells the rows of a public table apart, and it is not public"),
        ({"public": True, "unit": None, "key": ("no",)}, "'no' in its key is not declared"),
    ],
)
def test_tables_that_are_refused(parts: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        make(**parts)


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"kind": "sas"}, "no source of kind 'sas'"),
        ({"kind": "csv"}, "a csv source needs a path"),
        ({"path": " "}, "needs a path"),
        ({"path": "a\0b"}, "needs a path"),
        ({"path": "https://example.org/x.csv"}, "is not a file here"),
        ({"path": "s3://bucket/x.csv"}, "is not a file here"),
        ({"kind": "parquet", "delimiter": ";"}, "delimiter does not apply to a source of kind parquet"),
        ({"kind": "memory"}, "path does not apply to a source of kind memory"),
        ({"kind": "duckdb"}, "needs the table's name"),
        ({"kind": "excel", "sheet": 1}, "sheet must be a text"),
        ({"delimiter": ";;"}, "delimiter must be one character"),
        ({"delimiter": '"'}, "delimiter must be one character"),
        ({"decimal": "·"}, "decimal must be"),
        ({"thousands": "."}, "thousands must be one mark other than decimal"),
        ({"thousands": "0"}, "thousands must be one mark"),
        ({"thousands": ".."}, "thousands must be one mark"),
        ({"encoding": "klingon"}, "no encoding 'klingon'"),
        ({"encoding": "base64"}, "no encoding 'base64'"),
        ({"encoding": 8}, "no encoding 8"),
        ({"skip": -1}, "skip must be at least 0"),
        ({"names": "abc"}, "names must be a list of texts"),
        ({"names": ["a", "A"]}, "'a' and 'A' differ at most in case"),
        ({"names": ["a", "a"]}, "differ at most in case"),
        ({"missing": [9]}, "missing must be a list of texts"),
        ({"date_format": "%d.%m"}, "does not name day, month and year"),
        ({"date_format": "%d.%m.%Y %H"}, "does not name day, month and year"),
        ({"date_format": 7}, "does not name day, month and year"),
    ],
)
def test_sources_that_are_refused(parts: dict[str, object], problem: str) -> None:
    given_parts = {"kind": "csv", "path": "x.csv"} | parts if parts != {"kind": "csv"} else parts
    with pytest.raises(InvalidInputError, match=problem):
        Source(**given_parts)  # type: ignore[arg-type]


def test_a_catalog_grows_and_is_updated() -> None:
    empty = Catalog(neighbors="add-remove")  # type: ignore[arg-type]
    one = empty.with_table(make())
    assert list(one.tables) == ["visits"]
    assert not empty.tables
    assert one.updated(make()) == one
    assert one.updated(make(columns={"age": Text()}, version=2)).tables["visits"].version == 2
    with pytest.raises(InvalidInputError, match="version is not above 1"):
        one.updated(make(columns={"age": Text()}))
    with pytest.raises(InvalidInputError, match="there is already a table 'visits'"):
        one.with_table(make())
    with pytest.raises(InvalidInputError, match="'visits' and 'VISITS' differ at most in case"):
        one.with_table(make(name="VISITS"))
    with pytest.raises(InvalidInputError, match="there is no table 'visits'"):
        empty.updated(make())
    with pytest.raises(InvalidInputError, match="is listed as 'x'"):
        Catalog(neighbors=Neighbors.REPLACE, tables={"x": make()})
    with pytest.raises(InvalidInputError, match="neighbors must be"):
        Catalog(neighbors="both")  # type: ignore[arg-type]


def test_a_vault_moves_together_with_its_data(tmp_path: Path) -> None:
    base = tmp_path / "here"
    assert portable(base / "data" / "visits.csv", base) == "data/visits.csv"
    assert portable("/elsewhere/visits.csv", base) == Path("/elsewhere/visits.csv").absolute().as_posix()
    source = Source(kind="csv", path=portable(base / "data" / "visits.csv", base))
    assert source.locate(tmp_path / "there") == tmp_path / "there" / "data" / "visits.csv"
    assert Source(kind="memory", date_format="%d %b %y").path is None
    assert Source(kind="csv", path="../x.csv").locate(base) == tmp_path / "x.csv"
    assert Source(kind="csv", path=str(tmp_path / "y.csv")).locate(base) == tmp_path / "y.csv"


NAMES = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=20).filter(
    lambda name: name == name.strip()
)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=10)
WHOLE = st.integers(-(10**20), 10**20)
TIMES = st.datetimes(dt.datetime(1000, 1, 1))
KINDS = st.one_of(
    st.tuples(WHOLE, WHOLE).map(lambda pair: Integer(min(pair), max(pair))),
    st.tuples(WHOLE, WHOLE, st.fractions(Fraction(1, 10**6), 1000)).map(
        lambda parts: Number(min(parts[:2]) * parts[2], max(parts[:2]) * parts[2], step=parts[2])
    ),
    st.just(Boolean()),
    st.lists(TEXTS, min_size=1, unique=True).map(Category),
    st.tuples(TIMES, TIMES).map(lambda pair: Date(min(pair).date(), max(pair).date())),
    st.tuples(TIMES, TIMES).map(lambda pair: Timestamp(min(pair), max(pair))),
    st.just(Text()),
)


@settings(max_examples=100)
@given(
    st.dictionaries(NAMES, KINDS, min_size=1, max_size=6),
    NAMES,
    st.lists(TEXTS, max_size=3),
    st.integers(1, 10**30),
    st.booleans(),
)
def test_the_file_says_what_was_declared(
    columns: dict[str, Kind], name: str, codes: list[str], limit: int, rows: bool
) -> None:
    try:
        table = Table(
            name=name,
            source=Source(kind="csv", path="x.csv", missing=tuple(codes), delimiter="\t", names=("a", "b")),
            unit=None if rows else "the unit",
            columns=columns,
            max_groups=1 if rows else limit,
            missing={next(iter(columns)): tuple(codes)},
            version=limit,
        )
    except InvalidInputError:  # names that differ in case only
        return
    declared = Catalog(neighbors=Neighbors.REPLACE, tables={name: table})
    again = parse(vault_file.dump(declared))
    assert again == declared
    assert list(again.tables[name].columns) == list(columns)  # in the same order


def test_the_file_can_be_read_by_a_person(tmp_path: Path) -> None:
    table = make(
        source=Source(kind="csv", path="visits.csv", delimiter=";"),
        columns=AGE | {"cost": Number(-1.5, 5000, step="0.01"), "part": Number(0, 1, step="1/3")},
        missing={"age": ("999",)},
    )
    path = tmp_path / "vault.toml"
    vault_file.write(path, Catalog(neighbors=Neighbors.REPLACE, tables={"visits": table}))
    lines = path.read_text().splitlines()
    assert lines[0].startswith("# What Privet knows about the data.")
    assert lines[4:] == [
        "format = 1",
        'neighbors = "replace"',
        "",
        "[tables.visits]",
        "version = 1",
        'source = {kind = "csv", path = "visits.csv", delimiter = ";"}',
        'unit = "id"',
        "max_groups = 1",
        "max_rows_per_group = 1",
        "",
        "[tables.visits.columns]",
        'age = {kind = "integer", low = 0, high = 120, missing = ["999"]}',
        'cost = {kind = "number", low = -1.5, high = 5000, step = 0.01}',
        'part = {kind = "number", low = 0, high = 1, step = "1/3"}',
    ]
    assert vault_file.read(path).tables["visits"] == table


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("x = ", "this is not TOML"),
        ("x = " + "[" * 3000, "this is not TOML"),
        ("extra = 1", "the file has an unknown entry 'extra'"),
        ("tables = 3", "tables is not a section"),
        ("[tables]\nvisits = 3", "tables.visits is not a section"),
        ('[tables." "]', "cannot name a table"),
        ("[tables.visits]", "table 'visits': columns is missing"),
        (VISITS, "table 'visits': no column is declared"),
        (VISITS + "age = 3", "column 'age' is not a section"),
        (VISITS + "age = {}", "column 'age': there is no kind None"),
        (VISITS + 'age = {kind = "float"}', "table 'visits': column 'age': there is no kind 'float'"),
        (VISITS + 'age = {kind = ["integer"]}', "there is no kind"),
        (VISITS + 'age = {kind = "integer", low = 0}', "kind integer needs high, low"),
        (VISITS + 'age = {kind = "integer", low = 0, high = 1, step = 1}', "kind integer has an unknown entry 'step'"),
        (VISITS + 'age = {kind = "integer", low = 0, high = 0.5}', "column 'age': high must be a whole number"),
        (VISITS + 'x = {kind = "number", low = 0, high = inf, step = 1}', "column 'x': high must be a finite number"),
        (VISITS + 'x = {kind = "number", low = 0, high = 1, step = "0.3"}', "column 'x': high 1 is not a multiple"),
        (VISITS + 'x = {kind = "date", low = 2021-01-01, high = 2020-01-01}', "column 'x': low .* is above high"),
        (VISITS + 'x = {kind = "text", missing = "9"}', "column 'x': missing must be a list of texts"),
        (VISITS.replace("unit =", "units ="), "the table has an unknown entry 'units'"),
        (VISITS.replace('unit = "id"', "") + 'x = {kind = "text"}', "it does not say whom to protect"),
        (VISITS.replace('"id"', '"id"\nrows_are_units = true') + 'x = {kind = "text"}', "does not say whom to protect"),
        (VISITS.replace('unit = "id"', "rows_are_units = false") + 'x = {kind = "text"}', "does not say whom"),
        (VISITS.replace('"id"', "7") + 'x = {kind = "text"}', "unit must be a column's name, not 7"),
        (VISITS.replace("source", "max_groups = 0 #") + 'x = {kind = "text"}', "source is missing"),
        (VISITS.replace("unit", "max_groups = 0\nunit") + 'x = {kind = "text"}', "max_groups must be at least 1"),
        (VISITS.replace('kind = "csv", ', "") + 'x = {kind = "text"}', "source has no kind"),
        (VISITS.replace("path", "file") + 'x = {kind = "text"}', "source has an unknown entry 'file'"),
    ],
)
def test_files_that_are_refused(body: str, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        parse(text_of(body))


def test_row_units_and_exact_decimals_are_read() -> None:
    body = (
        VISITS.replace('unit = "id"', "rows_are_units = true")
        + 'x = {kind = "number", low = 0, high = 0.3, step = 0.1}'
    )
    table = parse(text_of(body)).tables["visits"]
    assert table.unit is None
    assert table.columns["x"] == Number(0, Fraction(3, 10), step=Fraction(1, 10))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "format is None, not 1"),
        ("format = 2", "format is 2, not 1"),
        ("format = 1", "neighbors is missing"),
        ('format = 1\nneighbors = "all"', "neighbors must be"),
    ],
)
def test_other_formats_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "vault.toml"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=f"vault.toml: {problem}"):
        vault_file.read(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "vault.toml"
    with pytest.raises(InvalidInputError, match=r"vault.toml cannot be read"):
        vault_file.read(path)
    path.write_bytes(b"\xff\xff")
    with pytest.raises(InvalidInputError, match=r"vault.toml cannot be read"):
        vault_file.read(path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vault.toml"
    old = Catalog(neighbors=Neighbors.REPLACE)
    vault_file.write(path, old)

    def full(_: int) -> None:
        raise OSError(28, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(InvalidInputError, match=r"vault.toml cannot be written"):
            vault_file.write(path, old.with_table(make()))
    assert vault_file.read(path) == old
    assert [file.name for file in tmp_path.iterdir()] == ["vault.toml"]
    with pytest.raises(InvalidInputError, match="is not Unicode text"):
        vault_file.write(path, old.with_table(make(source=Source(kind="csv", path="\udcff.csv"))))
    with pytest.raises(InvalidInputError, match="cannot be written"):
        vault_file.write(tmp_path / "nowhere" / "vault.toml", old)
    assert vault_file.read(path) == old


def test_folders_are_not_synced_where_they_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    real: Callable[..., int] = os.open

    def watch(*arguments: object, **options: object) -> int:
        opened.append(arguments[0])
        return real(*arguments, **options)

    monkeypatch.setattr(vault_file.os, "open", watch)
    monkeypatch.setattr(vault_file.os, "name", "nt")
    vault_file.write(tmp_path / "vault.toml", Catalog(neighbors=Neighbors.REPLACE))
    assert tmp_path not in opened
    monkeypatch.setattr(vault_file.os, "name", "posix")
    if sys.platform != "win32":
        vault_file.write(tmp_path / "vault.toml", Catalog(neighbors=Neighbors.REPLACE))
        assert tmp_path in opened


def test_types_are_kept_in_the_file_of_declarations() -> None:
    types = {"id": "BIGINT", "x": "DECIMAL(5,2)", "gone": "DATE"}
    table = Table(name="t", source=Source(kind="memory"), unit="id", columns={"x": Integer(0, 9)}, types=types)
    assert dict(table.types) == {"id": "BIGINT", "x": "DECIMAL(5,2)"}
    text = vault_file.section(table)
    assert 'types = {id = "BIGINT", x = "DECIMAL(5,2)"}' in text
    head = 'format = 1\nneighbors = "add-remove"\n'
    assert parse(head + text).tables["t"] == table
    for wrong in ("types = 5", "types = {id = 5}"):
        with pytest.raises(InvalidInputError, match="types must name the type of each column"):
            parse(head + text.replace('types = {id = "BIGINT", x = "DECIMAL(5,2)"}', wrong))
