"""Declarations: what is refused, and that vault.toml says exactly what was declared."""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refusals import raises_code

from privet.catalog import vault_file
from privet.catalog.vault_file import Catalog, Source, Table, parse, portable
from privet.catalog.writing import Writing
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
        ({"name": ""}, "invalid-name: '' … a table"),
        ({"name": " visits"}, "invalid-name: a table"),
        ({"name": "a\nb"}, "invalid-name: a table"),
        ({"name": "\ud800"}, "invalid-name: a table"),
        ({"name": "x" * 201}, "invalid-name: a table"),
        ({"name": 5}, "invalid-name: 5"),
        ({"columns": {}}, "not-declared: 'visits'"),
        ({"columns": None}, "not-declared"),
        ({"columns": {"age": int}}, "wrong-type: 'age' … kind"),
        ({"columns": {"age\0": Text()}}, "invalid-name: a column"),
        ({"columns": {"age": Text(), "Age": Text()}}, "duplicate-name: 'age' … 'Age'"),
        ({"columns": {"\u00e4": Text(), "a\u0308": Text()}}, "duplicate-name"),
        ({"columns": {"ID": Text()}}, "duplicate-name: 'ID' … 'id'"),
        ({"columns": {"big": Integer(0, 10**26)}}, "too-fine: 'big'"),
        ({"columns": {"fine": Number(-1, 1, step=Fraction(1, 10**26))}}, "too-fine: 'fine'"),
        ({"unit": ""}, "invalid-name: unit"),
        ({"unit": 3}, "invalid-name: unit"),
        ({"max_groups": 0}, "too-small: max_groups … least 1"),
        ({"max_rows_per_group": 1.5}, "not-whole: max_rows_per_group"),
        ({"unit": None, "max_groups": 2}, "rows-are-units: max_groups … 1 … not 2"),
        ({"unit": None, "max_rows_per_group": 2}, "rows-are-units: max_rows_per_group … is 1"),
        ({"version": 0}, "too-small: version … least 1"),
        ({"missing": {"weight": ("9",)}}, "unknown-column: 'weight'"),
        ({"missing": {"age": "9"}}, "not-a-list: missing"),
        ({"source": "visits.csv"}, "wrong-type: source"),
        ({"public": True}, "contradictory-options"),
        ({"public": True, "unit": None, "max_groups": 2}, "unneeded-option: protected"),
        ({"key": ("age",)}, "unneeded-option: tells"),
        ({"public": True, "unit": None, "key": ("no",)}, "unknown-column: 'no'"),
        ({"writing": {"weight": {"marks": ["kg"]}}}, "unknown-column: 'weight'"),
        ({"writing": {"age": {"unit": "kg"}}}, "unknown-option: 'unit'"),
        ({"writing": {"age": "kg"}}, "wrong-type: 'age' … 'kg'"),
        ({"writing": {"age": {"offset": "utc"}}}, "unneeded-option: offset … integer"),
        ({"writing": {"age": {"decimal": ","}}, "source": replace(CSV, thousands=",")}, "contradiction: 'age'"),
        ({"columns": {"t": Text()}, "writing": {"t": {"marks": ["kg"]}}}, "unneeded-option: marks … text"),
    ],
)
def test_tables_that_are_refused(parts: dict[str, object], problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        make(**parts)


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"kind": "access"}, "unknown-choice: 'access'"),
        ({"kind": "sqlite"}, "missing-name"),
        ({"kind": "spss", "labels": "no"}, "wrong-type"),
        ({"kind": "csv", "labels": False}, "unneeded-option"),
        ({"kind": "csv"}, "missing-option"),
        ({"path": " "}, "missing-option"),
        ({"path": "a\0b"}, "missing-option"),
        ({"path": "https://example.org/x.csv"}, "not-supported"),
        ({"path": "s3://bucket/x.csv"}, "not-supported"),
        ({"kind": "parquet", "delimiter": ";"}, "unneeded-option: delimiter"),
        ({"kind": "memory"}, "unneeded-option: memory"),
        ({"kind": "duckdb"}, "missing-name"),
        ({"kind": "excel", "sheet": 1}, "wrong-type: sheet"),
        ({"delimiter": ";;"}, "invalid-mark: delimiter"),
        ({"delimiter": '"'}, "invalid-mark: delimiter"),
        ({"decimal": "·"}, "unknown-choice: decimal"),
        ({"thousands": "."}, "invalid-mark: thousands"),
        ({"thousands": "0"}, "invalid-mark: thousands"),
        ({"thousands": ".."}, "invalid-mark: thousands"),
        ({"encoding": "klingon"}, "unknown-choice: 'klingon'"),
        ({"encoding": "base64"}, "unknown-choice: 'base64'"),
        ({"encoding": 8}, "unknown-choice: encoding 8"),
        ({"skip": -1}, "too-small: skip … least 0"),
        ({"names": "abc"}, "not-a-list: names"),
        ({"names": ["a", "A"]}, "duplicate-name: 'a' … 'A'"),
        ({"names": ["a", "a"]}, "duplicate-name"),
        ({"missing": [9]}, "not-a-list: missing"),
        ({"date_format": "%d.%m"}, "wrong-format: month"),
        ({"date_format": "%d.%m.%Y %H"}, "wrong-format: month"),
        ({"date_format": 7}, "wrong-format: month"),
    ],
)
def test_sources_that_are_refused(parts: dict[str, object], problem: str) -> None:
    given_parts = {"kind": "csv", "path": "x.csv"} | parts if parts != {"kind": "csv"} else parts
    with raises_code(InvalidInputError, problem):
        Source(**given_parts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"date_format": 5}, "wrong-type: date_format"),
        ({"date_format": "%d.%m"}, "wrong-format: day, month"),
        ({"date_format": "%d.%m.%Y%"}, "wrong-format: day, month"),
        ({"date_format": "%d.%m.%Y %y"}, "wrong-format: day, month"),
        ({"date_format": "%d.%m.%Y %M"}, "wrong-format: a minute and no hour"),
        ({"date_format": "%d.%m.%Y %I:%M"}, "wrong-format: %p"),
        ({"date_format": "%d.%m.%Y %H:%M %p"}, "wrong-format: %p"),
        ({"date_format": "%d.%m.%Y %H:%M%z Uhr", "offset": "utc"}, "wrong-format: end"),
        ({"date_format": "%d.%m.%Y 00:00"}, "wrong-format: digit"),
        ({"date_format": "%d.%m.%Y %H:%M:%S%f"}, "wrong-format: %f"),
        ({"date_format": "%d.%m.%Y%z"}, "missing-option: offset"),
        ({"date_format": "%d.%m.%Y", "offset": "utc"}, "contradictory-options: %z"),
        ({"offset": "Berlin"}, "unknown-choice: 'Berlin'"),
        ({"decimal": ";"}, "unknown-choice: decimal"),
        ({"thousands": "00"}, "invalid-mark: thousands"),
        ({"marks": "kg"}, "not-a-list: marks"),
        ({"marks": ["kg", "kg"]}, "duplicate-value: marks"),
        ({"marks": ["5x"]}, "invalid-mark: '5x'"),
        ({"marks": ["e5"]}, "invalid-mark: 'e5'"),
        ({"marks": ["kg "]}, "invalid-mark: 'kg '"),
        ({"marks": ["x" * 21]}, "invalid-mark: mark"),
        ({"marks": ["x\0"]}, "invalid-mark: mark"),
    ],
)
def test_writings_that_are_refused(parts: dict[str, Any], problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        Writing(**parts)


def test_how_a_column_is_written_is_kept_and_named_by_the_digest() -> None:
    body = VISITS + (
        'day = {kind = "date", low = 2020-01-01, high = 2021-01-01, date_format = "%m/%d/%Y %I:%M %p"}\n'
        'cost = {kind = "number", low = 0, high = 1, step = 1, decimal = ".", thousands = ",", marks = ["$", "kg"]}\n'
        'at = {kind = "timestamp", low = 2020-01-01 00:00:00, high = 2021-01-01 00:00:00, offset = "utc"}\n'
    )
    table = parse(text_of(body)).tables["visits"]
    assert dict(table.writing) == {
        "day": Writing(date_format="%m/%d/%Y %I:%M %p"),
        "cost": Writing(decimal=".", thousands=",", marks=("$", "kg")),
        "at": Writing(offset="utc"),
    }
    assert vault_file.section(table).endswith(body.partition("columns]\n")[2])
    plain = replace(table, writing={})
    assert len({plain.digest, table.digest, replace(table, writing={"at": {"offset": "ignore"}}).digest}) == 3
    # what a vault of an earlier version has in its ledger
    assert make().digest == "b1acbd23a58c29178bc817cd87124ac84842b13c3e22636ac662dd2d31f31180"
    with raises_code(InvalidInputError, "unneeded-option: 'at' … decimal … timestamp"):
        parse(text_of(body.replace('offset = "utc"', 'decimal = ","')))


def test_a_catalog_grows_and_is_updated() -> None:
    empty = Catalog(neighbors="add-remove")  # type: ignore[arg-type]
    one = empty.with_table(make())
    assert list(one.tables) == ["visits"]
    assert not empty.tables
    assert one.updated(make()) == one
    assert one.updated(make(columns={"age": Text()}, version=2)).tables["visits"].version == 2
    with raises_code(InvalidInputError, "too-small: above 1"):
        one.updated(make(columns={"age": Text()}))
    with raises_code(InvalidInputError, "table-exists: 'visits'"):
        one.with_table(make())
    with raises_code(InvalidInputError, "duplicate-name: 'visits' … 'VISITS'"):
        one.with_table(make(name="VISITS"))
    with raises_code(InvalidInputError, "unknown-table: 'visits'"):
        empty.updated(make())
    with raises_code(InvalidInputError, "contradiction: listed … 'x'"):
        Catalog(neighbors=Neighbors.REPLACE, tables={"x": make()})
    with raises_code(InvalidInputError, "unknown-choice: neighbors"):
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
    columns = {
        column: replace(kind, never_missing=rows, constant_per_unit=limit % 2 == 0) for column, kind in columns.items()
    }
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
    policy = "refuse" if rows else "allow"
    declared = Catalog(neighbors=Neighbors.REPLACE, tables={name: table}, rho_without_delta=policy)
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
        ("x = ", "wrong-format: TOML"),
        ("x = " + "[" * 3000, "wrong-format: TOML"),
        ("extra = 1", "unknown-entry: 'extra'"),
        ("tables = 3", "wrong-type: tables is"),
        ("[tables]\nvisits = 3", "wrong-type: tables … visits"),
        ('[tables." "]', "invalid-name: a table"),
        ("[tables.visits]", "missing-entry: 'visits' … columns"),
        (VISITS, "not-declared: 'visits'"),
        (VISITS + "age = 3", "wrong-type: 'age' … section"),
        (VISITS + "age = {}", "unknown-choice: 'age' … kind is missing"),
        (VISITS + 'age = {kind = "float"}', "unknown-choice: 'visits' … 'age' … 'float'"),
        (VISITS + 'age = {kind = ["integer"]}', "unknown-choice: no kind"),
        (VISITS + 'age = {kind = "integer", low = 0}', "missing-entry: integer"),
        (VISITS + 'age = {kind = "integer", low = 0, high = 1, step = 1}', "unknown-entry: 'step'"),
        (VISITS + 'age = {kind = "integer", low = 0, high = 0.5}', "not-whole: 'age'"),
        (VISITS + 'x = {kind = "number", low = 0, high = inf, step = 1}', "not-finite: 'x'"),
        (VISITS + 'x = {kind = "number", low = 0, high = 1, step = "0.3"}', "contradiction: 'x' … high 1"),
        (VISITS + 'x = {kind = "date", low = 2021-01-01, high = 2020-01-01}', "reversed-range: 'x'"),
        (VISITS + 'x = {kind = "text", missing = "9"}', "not-a-list: 'x'"),
        (VISITS.replace("unit =", "units ="), "unknown-entry: 'units'"),
        (VISITS.replace('unit = "id"', "") + 'x = {kind = "text"}', "missing-unit"),
        (VISITS.replace('"id"', '"id"\nrows_are_units = true') + 'x = {kind = "text"}', "missing-unit"),
        (VISITS.replace('unit = "id"', "rows_are_units = false") + 'x = {kind = "text"}', "missing-unit"),
        (VISITS.replace('"id"', "7") + 'x = {kind = "text"}', "wrong-type: not 7"),
        (VISITS.replace("source", "max_groups = 0 #") + 'x = {kind = "text"}', "missing-entry: source … missing"),
        (VISITS.replace("unit", "max_groups = 0\nunit") + 'x = {kind = "text"}', "too-small: max_groups … least 1"),
        (VISITS.replace('kind = "csv", ', "") + 'x = {kind = "text"}', "missing-entry: source … kind"),
        (VISITS.replace("path", "file") + 'x = {kind = "text"}', "unknown-entry: 'file'"),
    ],
)
def test_files_that_are_refused(body: str, problem: str) -> None:
    with raises_code(InvalidInputError, problem):
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
        ("", "unsupported-format: vault.toml: … None"),
        ("format = 2", "unsupported-format: vault.toml: … 2"),
        ("format = 1", "missing-entry: vault.toml: neighbors"),
        ('format = 1\nneighbors = "all"', "unknown-choice: vault.toml: neighbors"),
    ],
)
def test_other_formats_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "vault.toml"
    path.write_text(text)
    with raises_code(InvalidInputError, problem):
        vault_file.read(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "vault.toml"
    with raises_code(InvalidInputError, "vault-unreadable: vault.toml"):
        vault_file.read(path)
    path.write_bytes(b"\xff\xff")
    with raises_code(InvalidInputError, "vault-unreadable: vault.toml"):
        vault_file.read(path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vault.toml"
    old = Catalog(neighbors=Neighbors.REPLACE)
    vault_file.write(path, old)

    def full(_: int) -> None:
        raise OSError(28, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with raises_code(InvalidInputError, "cannot-write: vault.toml"):
            vault_file.write(path, old.with_table(make()))
    assert vault_file.read(path) == old
    assert [file.name for file in tmp_path.iterdir()] == ["vault.toml"]
    with raises_code(InvalidInputError, "not-utf8"):
        vault_file.write(path, old.with_table(make(source=Source(kind="csv", path="\udcff.csv"))))
    with raises_code(InvalidInputError, "cannot-write"):
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
        with raises_code(InvalidInputError, "wrong-type: types"):
            parse(head + text.replace('types = {id = "BIGINT", x = "DECIMAL(5,2)"}', wrong))
