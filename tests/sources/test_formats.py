"""Files of other programs: each gives what the same rows give as CSV, whatever stands in them."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import importlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyreadstat
import pytest
from support.refusals import raises_code

import privet as pv
from privet.backends.duckdb import DuckDb
from privet.catalog.declarations import Source, Table
from privet.core.schema import Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.errors import InvalidInputError
from privet.sources import attach, connect, json_lines, relation, statistical, types_of
from privet.sources.describing import describe
from privet.sources.relation import spelled

BIG = 2**53
DAY, NOON = dt.date(2020, 1, 31), dt.datetime(2020, 1, 31, 14, 5, 6)
COLUMNS: dict[str, Kind] = {
    "age": Integer(0, 120), "cost": Number(0, 100, step="0.01"), "sex": Category(["male", "female"]),
    "city": Category(["Zürich", "日本"]), "born": Date("1900-01-01", "2029-12-31"),
    "seen": Timestamp("2000-01-01", "2029-12-31"),
}  # fmt: skip
ROWS: list[tuple[Any, ...]] = [
    (1001, 30, 1.5, "male", "Zürich", dt.date(1950, 2, 28), dt.datetime(2020, 1, 31, 14, 5, 6)),
    (1001, 31, 0.1, "female", "Zürich", dt.date(1899, 12, 31), dt.datetime(2020, 1, 31)),
    (1002, None, None, None, None, None, None),
    (None, 33, 3.25, "male", "日本", dt.date(2000, 2, 29), dt.datetime(2029, 12, 31, 23, 59, 59)),
    (1003, 999, -5.0, "male", "日本", dt.date(2029, 12, 31), dt.datetime(1999, 1, 1)),
    (1004, 0, 1e300, "other", "x\ny", dt.date(1, 1, 1), dt.datetime(9999, 12, 31)),
    (BIG - 1, 7, 99.999, "female", 'a "b", c', dt.date(9999, 12, 31), dt.datetime(2000, 1, 1, 0, 0, 1)),
    *((2000 + number % 40, number % 121, number / 8, ("male", "female")[number % 2], "Zürich", DAY, NOON)
      for number in range(200)),
]  # fmt: skip
NAMES = ["id", *COLUMNS]
QUESTIONS = (
    "SELECT COUNT(*) AS n, SUM(age) AS a, SUM(cost) AS c FROM t",
    "SELECT sex, COUNT(*) AS n, COUNT(age) AS m FROM t GROUP BY sex",
    "SELECT city, COUNT(*) AS n FROM t GROUP BY city",
    "SELECT COUNT(*) AS n FROM t WHERE born BETWEEN DATE '1950-01-01' AND DATE '2000-12-31'",
    "SELECT COUNT(*) AS n FROM t WHERE seen >= TIMESTAMP '2020-01-31 14:05:06'",
    "SELECT SUM(EXTRACT(second FROM seen)) AS n FROM t",
)
SEX = {"sex": {1: "male", 2: "female", 3: "other"}}


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(tmp_path / "scratch") as opened:
        yield opened


def frame() -> pd.DataFrame:
    made = pd.DataFrame(ROWS, columns=NAMES)
    made["id"] = pd.Series([row[0] for row in ROWS], dtype=float)
    return made


def coded() -> pd.DataFrame:
    """With numbers for the two sexes, as statistical programs have them."""
    made = frame()
    made["sex"] = made["sex"].map({"male": 1.0, "female": 2.0, "other": 3.0})
    made["city"] = made["city"].fillna("")
    return made


def write_csv(path: Path, rows: Sequence[Sequence[Any]] = ROWS) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([NAMES, *rows])


def write_json(path: Path) -> None:
    lines = [json.dumps({name: value for name, value in zip(NAMES, row, strict=True) if value is not None}, default=str)
             for row in ROWS]  # fmt: skip
    path.write_text(
        "\n".join([*lines, "", '{"id": 5', "[1]", "null", "[" * 10**5, '{"id": null, "age": 1}']), encoding="utf-8"
    )


def write_sqlite(path: Path) -> None:
    with sqlite3.connect(path) as made:
        made.execute(f"CREATE TABLE people (note TEXT, {', '.join(NAMES)})")
        rows = [["", *(str(cell) if isinstance(cell, dt.date) else cell for cell in row)] for row in ROWS]
        made.executemany(f"INSERT INTO people VALUES ({', '.join('?' * (len(NAMES) + 1))})", rows)
        made.execute("CREATE VIEW v AS SELECT * FROM people")
    made.close()


def write_folder(path: Path) -> None:
    (path / "2020").mkdir(parents=True)
    write_csv(path / "2020" / "a.csv", ROWS[:50])
    with gzip.open(path / "b.csv.gz", "wt", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(row[::-1] for row in [tuple(NAMES), *ROWS[50:]])  # in another order
    (path / "_notes.csv").write_text("no data")
    (path / "README.txt").write_text("no data")


def batches() -> tuple[pa.Schema, list[pa.RecordBatch]]:
    table = pa.Table.from_pandas(frame().astype({"sex": "category"}).replace({float("nan"): None}))
    return table.schema, table.to_batches(max_chunksize=64)


def write_arrow(path: Path) -> None:
    schema, parts = batches()
    opened = pa.ipc.new_stream if path.suffix == ".ipc" else pa.ipc.new_file
    with opened(str(path), schema) as writer:
        for part in parts:
            writer.write_batch(part)


def write_statistical(path: Path) -> None:
    made, labels = coded(), {"variable_value_labels": SEX}
    match path.suffix:
        case ".xpt":
            made["sex"] = frame()["sex"].fillna("")
            pyreadstat.write_xport(made, path)
        case ".dta":
            pyreadstat.write_dta(made, path, **labels)
        case _:
            pyreadstat.write_sav(made, path, compress=path.suffix == ".zsav", **labels)


def write_feather(path: Path) -> None:
    pa.feather.write_feather(pa.Table.from_batches(batches()[1]), str(path), chunksize=64, compression="lz4")


WRITERS: dict[str, tuple[Callable[[Path], None], dict[str, Any]]] = {
    "folder": (write_folder, {}),
    "t.jsonl": (write_json, {}),
    "t.db": (write_sqlite, {"table": "people"}),
    "t.arrow": (write_arrow, {}),
    "t.ipc": (write_arrow, {}),
    "t.feather": (write_feather, {}),
    "t.sav": (write_statistical, {}),
    "t.zsav": (write_statistical, {}),
    "t.dta": (write_statistical, {}),
    "t.xpt": (write_statistical, {}),
}


def answers(folder: Path, path: Path, **options: Any) -> list[Any]:
    with pv.create(folder / f"{path.name}.privet", budget=pv.Budget(100), testing=True) as vault:
        vault.add_table("t", path, unit="id", columns=COLUMNS, max_rows=9, **options)  # nobody has more
        asked = [pv.testing.exact(vault.sql(text, epsilon=1), key=b"k") for text in QUESTIONS]
        slow = [[part.values for part in one.parts] for one in asked]
        return [slow, {name: one for name, one in vault.unreadable("t").items() if name not in ("sex", "city")}]


@pytest.fixture(scope="module")
def as_csv(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    folder = tmp_path_factory.mktemp("csv")
    write_csv(folder / "t.csv")
    return answers(folder, folder / "t.csv")


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_says_what_the_same_rows_say_as_csv(
    name: str, as_csv: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistical, "VALUES", 7 * 37)  # several pieces
    monkeypatch.setattr(statistical, "FEWEST", 1)
    write, options = WRITERS[name]
    write(tmp_path / name)
    before = {file.name for file in tmp_path.iterdir()}
    assert answers(tmp_path, tmp_path / name, **options) == as_csv
    assert {file.name for file in tmp_path.iterdir()} - before == {f"{name}.privet"}  # nothing beside the data


def test_the_answers_are_those_of_the_definition(as_csv: list[Any]) -> None:
    """Two questions counted by hand."""
    counted = [row for row in ROWS if row[0] is not None]
    cities = [(row[4] or "").strip() for row in counted]
    assert as_csv[0][2] == [
        (cities.count("Zürich"), cities.count("日本"), len([x for x in cities if x not in ("Zürich", "日本")]))
    ]
    days = [row[5] for row in counted if row[5]]
    assert as_csv[0][3] == [(sum(dt.date(1950, 1, 1) <= day <= dt.date(2000, 12, 31) for day in days),)]


# ---- labels, missing values and types of statistical programs --------------------------------------------------------


def spss(path: Path) -> None:
    made = pd.DataFrame(
        {
            "id": [1.0, 2.0, 3.0, 4.0, 5.0],
            "sex": [1.0, 2.0, 3.0, -9.0, float("nan")],
            "score": [0.0, 10.0, 7.0, 98.0, 99.0],
            "code": ["A", "B", "X", "", "C"],
        }
    )
    pyreadstat.write_sav(
        made,
        path,
        variable_value_labels={
            "sex": {1: "male ", 2: "female", -9: "refused"}, "score": {0: "none", 10: "worst", 99: "refused"},
            "code": {"A": "Alpha", "B": "Beta"}, "id": {1: "one", 2: "one"},
        },
        missing_ranges={"sex": [-9.0], "score": [{"lo": 98, "hi": 99}], "code": ["X"]},
    )  # fmt: skip


def read(connection: duckdb.DuckDBPyConnection, folder: Path, columns: dict[str, Kind], **source: Any) -> list[Any]:
    table = Table(name="t", source=Source(**source), unit=source.pop("unit", None), columns=columns)
    return connection.execute(f"SELECT * FROM {attach(connection, table, folder, {}).relation}").fetchall()


def test_labels_become_categories_and_declared_missing_values_are_missing(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    spss(tmp_path / "t.sav")
    columns: dict[str, Kind] = {
        "sex": Category(["male", "female"]), "score": Integer(0, 10), "code": Category(["Alpha", "C"]), "id": Text(),
    }  # fmt: skip
    source = {"kind": "spss", "path": "t.sav"}
    labels = [
        ("male", 0.0, "Alpha", "one"), ("female", 10.0, "Beta", "one"), ("3", 7.0, None, "3"), (None, None, None, "4"),
        (None, None, "C", "5"),
    ]  # fmt: skip
    assert read(connection, tmp_path, columns, **source) == labels
    codes = [("1", 0.0, "A", "1"), ("2", 10.0, "B", "2"), ("3", 7.0, None, "3"), (None, None, None, "4")]
    assert read(connection, tmp_path, columns, labels=False, **source)[:4] == codes


def test_a_label_never_makes_two_people_one(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    spss(tmp_path / "t.sav")
    table = Table(name="t", source=Source(kind="spss", path="t.sav"), unit="id", columns={"id": Text(), "sex": Text()})
    raw = attach(connection, table, tmp_path, {})
    name, type_ = raw.unit(table)
    assert type_ == "DOUBLE"
    assert connection.execute(
        f'SELECT count(DISTINCT "{name}"), count(DISTINCT id) FROM {raw.relation}'
    ).fetchall() == [(5, 4)]
    assert types_of(connection, table, tmp_path, {}) == {"id": "DOUBLE with labels", "sex": "DOUBLE with labels"}


def test_a_draft_lists_the_labels_of_columns_that_have_one_for_each_value(tmp_path: Path) -> None:
    spss(tmp_path / "t.sav")
    made = pd.DataFrame({"pid": [1.0, 2.0], "ward": [1.0, 2.0], "age": [30.0, 99.0], "cost": [0.5, 1.0]})
    labels = {"ward": {1: "North", 2: "South", 3: "West"}, "age": {99: "unknown"}}
    pyreadstat.write_dta(made, tmp_path / "t.dta", variable_value_labels=labels)
    columns = describe(tmp_path / "t.dta").proposed.columns
    assert columns["ward"] == Category(["North", "South", "West"])  # whether or not anybody is there
    assert isinstance(columns["age"], Integer)
    assert isinstance(columns["cost"], Number)
    assert isinstance(describe(tmp_path / "t.dta", labels=False).proposed.columns["ward"], Integer)


@pytest.mark.parametrize("change", ["text ids", "no labels", "dates", "column"])
def test_a_file_of_other_types_is_not_read(change: str, tmp_path: Path) -> None:
    """What the file's head says is compared before a charge; analysts are not told what differs."""
    made = pd.DataFrame({"id": [1.0, 2.0], "sex": [1.0, 2.0], "born": [DAY, DAY]})
    columns = {"sex": Category(["male", "female"]), "born": Date("1900-01-01", "2029-12-31")}
    pyreadstat.write_sav(made, tmp_path / "t.sav", variable_value_labels=SEX)
    table = Table(name="t", source=Source(kind="spss", path="t.sav"), unit="id", columns=columns)
    with DuckDb(tmp_path, {}) as backend:
        types = backend.types(table)
        assert types == {"id": "DOUBLE", "sex": "DOUBLE with labels", "born": "DATE"}
        table = Table(name="t", source=table.source, unit="id", columns=columns, types=types)
        backend.ready(table)
        assert dict(relation.expected(table).types) == {"id": "DOUBLE", "sex": "VARCHAR", "born": "DATE"}
        labels = {} if change == "no labels" else SEX
        match change:
            case "text ids":
                made["id"] = ["1", "2"]
            case "dates":
                made["born"] = [1.0, 2.0]
            case "column":
                made = made.rename(columns={"sex": "SEX"})
                labels = {"SEX": SEX["sex"]}
        pyreadstat.write_sav(made, tmp_path / "t.sav", variable_value_labels=labels)
        with raises_code(InvalidInputError, "data-changed|unknown-column"):
            backend.ready(table)


def test_moments_beyond_the_calendar_and_special_missing_values(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    made = pd.DataFrame({"d": [1e9, -1e9, 0.0, 21945.5, float("nan")], "t": [1e300, -1e300, 0.0, 1.5, float("nan")]})
    pyreadstat.write_xport(made, tmp_path / "t.xpt", variable_format={"d": "DATE9", "t": "DATETIME20"})
    columns: dict[str, Kind] = {
        "d": Date("1900-01-01", "2029-12-31"), "t": Timestamp("1900-01-01", "2029-12-31"),
    }  # fmt: skip
    rows = read(connection, tmp_path, columns, kind="sas", path="t.xpt")
    start = dt.datetime(1960, 1, 1)
    moments = [(None, None)] * 2 + [(start.date(), start), (DAY, start.replace(second=1, microsecond=500_000))]
    assert rows == [*moments, (None, None)]


@pytest.mark.parametrize(
    ("kind", "form", "type_"),
    [
        ("spss", "EDATE10", "DATE"), ("spss", "DATETIME20", "TIMESTAMP"), ("spss", "TIME8", None),
        ("spss", "F8.2", None), ("spss", "DTIME", None), ("sas", "YYMMDD10.", "DATE"), ("sas", "ddmmyyp10", "DATE"),
        ("sas", "E8601DT26.6", "TIMESTAMP"), ("sas", "TIME8.", None), ("sas", "BEST12.", None), ("sas", "YEAR4.", None),
        ("stata", "%td", "DATE"), ("stata", "%tdD_m_Y", "DATE"), ("stata", "%-tc", "TIMESTAMP"),
        ("stata", "%tm", None), ("stata", "%9.0g", None), ("stata", "%d", "DATE"), ("stata", "%ty", None),
    ],
)  # fmt: skip
def test_which_numbers_are_dates(kind: str, form: str, type_: str | None) -> None:
    assert statistical._moment(kind, form)[0] == type_


@pytest.mark.parametrize(
    ("name", "form", "ids"),
    [
        ("t.sav", "DATE11", [13_790_000_000.0, 13_790_000_005.0, 13_790_080_000.0]),
        ("t.sav", "DATETIME20", [13_790_000_000.0, 13_790_000_000.000004, 13_790_000_001.0]),
        ("t.dta", "%td", [100.25, 100.75, 101.0]),
    ],
)
def test_days_and_times_that_would_be_one_unit_are_refused_as_units(
    name: str, form: str, ids: list[float], connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    """They are kept by the day or the microsecond, so different people would become one."""
    write = pyreadstat.write_sav if name == "t.sav" else pyreadstat.write_dta
    write(pd.DataFrame({"id": ids, "x": [1.0, 2.0, 3.0]}), tmp_path / name, variable_format={"id": form})
    kind: Any = "spss" if name == "t.sav" else "stata"
    table = Table(name="t", source=Source(kind=kind, path=name), unit="id", columns={"x": Integer(0, 9)})
    for use in (attach, types_of):
        with raises_code(InvalidInputError, "unsupported-type: 'id'"):
            use(connection, table, tmp_path, {})
    both = {"id": Date("1900-01-01", "2029-12-31"), "x": Integer(0, 9)}
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(1)) as vault:
        with raises_code(InvalidInputError, "unsupported-type: 'id'"):
            vault.add_table("t", tmp_path / name, unit="id", columns=both)
        assert not vault.tables
        vault.add_table("t", tmp_path / name, unit=None, columns=both)  # as a column it may be a day


def test_bytes_of_another_encoding(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """A transport file does not say in which encoding it is; the declaration does, by any name that Python knows."""
    pyreadstat.write_xport(pd.DataFrame({"city": ["Zxrich", "Bern"]}), tmp_path / "t.xpt")
    (tmp_path / "t.xpt").write_bytes((tmp_path / "t.xpt").read_bytes().replace(b"Zxrich", b"Z\xfcrich"))
    rows = read(connection, tmp_path, {"city": Text()}, kind="sas", path="t.xpt", encoding="latin-1")
    assert rows == [("Zürich",), ("Bern",)]


def test_a_statistical_file_without_rows_is_a_table_without_rows(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    pyreadstat.write_sav(pd.DataFrame({"x": pd.Series([], dtype=float)}), tmp_path / "t.sav")
    assert read(connection, tmp_path, {"x": Integer(0, 9)}, kind="spss", path="t.sav") == []


def test_a_portable_file(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    pyreadstat.write_por(pd.DataFrame({"A": [1.0, 2.0], "B": ["x", "y"]}), tmp_path / "t.por")
    rows = read(connection, tmp_path, {"A": Integer(0, 9), "B": Text()}, kind="spss", path="t.por")
    assert rows == [(1.0, "x"), (2.0, "y")]


# ---- ids -------------------------------------------------------------------------------------------------------------

IDS: list[Any] = [
    "5", "05", "5.0", "true", "True", "é", "e\u0301", "ß", "ss", "A", "a", "a\0b", "\\xfc", "\\\\xfc", "a,b", 'a"b',
    "a\nb", "\ufeff", "\U0001f600", "NULL", str(BIG), str(BIG + 1),
]  # fmt: skip


def units(connection: duckdb.DuckDBPyConnection, folder: Path, **source: Any) -> list[Any]:
    table = Table(name="t", source=Source(**source), unit="id", columns={"x": Integer(0, 10**6)})
    raw = attach(connection, table, folder, {})
    return [unit for (unit,) in connection.execute(f"SELECT id FROM {raw.relation} ORDER BY CAST(x AS INT)").fetchall()]


def test_people_in_json_stay_different(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    halves, whole = ["\ud800", "\udc80", "\\udc80"], [BIG, BIG + 1, -BIG - 1, 10**30, 10**30 + 1, 0.1, True]
    nobody = ["null", "[1]", "{}", "1e400", "NaN", "-Infinity", "1e99999999999999999999"]
    texts = [json.dumps(one) for one in [*IDS, *halves, *whole, BIG + 0.0]]
    lines = [f'{{"x": {place}, "id": {text}}}' for place, text in enumerate([*texts, *nobody])]
    data = "\n".join(lines).encode() + b'\n{"x": 7, "id": "\x80"}'  # no JSON
    (tmp_path / "t.jsonl").write_bytes(data)
    found = units(connection, tmp_path, kind="json", path="t.jsonl")
    assert found[: len(IDS)] == [spelled(one, unit=True) for one in IDS]
    assert len(set(found[: len(IDS) + len(halves) + len(whole)])) == len(IDS) + len(halves) + len(whole) - 3
    assert found[-len(nobody) :] == [None] * len(nobody)


def test_numbers_in_json_are_equal_where_they_are_as_numbers(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    lines = [f'{{"x": 1, "id": {text}}}' for text in ("5", "5.0", "0.5e1", "50E-1", '"5"')]
    (tmp_path / "t.jsonl").write_text("\r\n".join(lines))
    assert units(connection, tmp_path, kind="json", path="t.jsonl") == ["5"] * 5


def test_people_in_sqlite_stay_different(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    texts = [*IDS, 2**62, 2**62 + 1, 0.5, -1]
    nobody = [None, float(BIG), float("inf"), b"a", b""]
    with sqlite3.connect(tmp_path / "t.db") as made:
        made.execute("CREATE TABLE t (id, x)")
        made.executemany("INSERT INTO t VALUES (?, ?)", [(one, place) for place, one in enumerate([*texts, *nobody])])
        for text in ("X'80'", "X'8081'"):
            made.execute(f"INSERT INTO t VALUES (CAST({text} AS TEXT), 1000)")
    made.close()
    found = units(connection, tmp_path, kind="sqlite", path="t.db", table="t")
    assert len(set(found[: len(texts)]) - {None}) == len(texts)
    assert found[len(texts) : len(texts) + len(nobody)] == [None] * len(nobody)
    assert set(found[-2:]) == {"\\x80", "\\x80\\x81"}


@pytest.mark.parametrize("name", ["t.sav", "t.dta", "t.xpt"])
def test_people_in_statistical_files_stay_different(
    name: str, connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    texts = [one for one in IDS if "\0" not in one and one != "\ufeff"]
    texts = [one for one in texts if name != "t.xpt" or one.isascii()]
    write = {"t.sav": pyreadstat.write_sav, "t.dta": pyreadstat.write_dta, "t.xpt": pyreadstat.write_xport}[name]
    write(pd.DataFrame({"id": texts, "x": range(len(texts))}), tmp_path / name)
    kind = {"t.sav": "spss", "t.dta": "stata", "t.xpt": "sas"}[name]
    assert units(connection, tmp_path, kind=kind, path=name) == [spelled(one, unit=True) for one in texts]
    numbers = [1.0, 1.5, float(BIG - 1), float(BIG), float(BIG + 2), float("nan")]
    write(pd.DataFrame({"id": numbers, "x": range(len(numbers))}), tmp_path / name)
    assert units(connection, tmp_path, kind=kind, path=name) == [1.0, 1.5, float(BIG - 1), None, None, None]


# ---- what is wrong with a file ---------------------------------------------------------------------------------------


def test_a_library_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        if name.partition(".")[0] in ("pyreadstat", "pyarrow"):
            raise ModuleNotFoundError(name)
        return importlib.import_module(name)

    spss(tmp_path / "t.sav")
    write_arrow(tmp_path / "t.arrow")
    monkeypatch.setattr(relation, "import_module", missing)
    for name in ("t.sav", "t.arrow"):
        with raises_code(InvalidInputError, 'missing-extra: pip install "privet[sources]"'):
            describe(tmp_path / name)


def test_a_column_that_no_line_has(tmp_path: Path) -> None:
    """The owner is told; a question does not fail because of it, since that could depend on one person."""
    (tmp_path / "t.jsonl").write_text('{"id": 1, "a": 5}\n')
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(1)) as vault:
        columns = {"a": pv.Integer(0, 9), "b": pv.Integer(0, 9)}
        with raises_code(InvalidInputError, "unknown-column: 'b'"):
            vault.add_table("t", tmp_path / "t.jsonl", unit="id", columns=columns)


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": 1, "a": 5}]',
        '\n[\n{"id": 1, "a": 5}\n,\n{"id": 2, "a": 6}\n]\n',
        '[{"id": 1},\n{"id": 2}\n]',
        '\n [{"id": 1' + "0" * 60 + "}]",  # longer than a line may be
    ],
)
def test_a_file_that_is_one_array_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of its lines may be objects: rows of a file of which the others would be missing."""
    monkeypatch.setattr(json_lines, "LONGEST", 40)
    (tmp_path / "t.json").write_text(text)
    with raises_code(InvalidInputError, "unsupported-format: jq"):
        describe(tmp_path / "t.json")
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(1)) as vault:
        with raises_code(InvalidInputError, "unsupported-format: jq"):
            vault.add_table("t", tmp_path / "t.json", unit=None, columns={"id": Integer(0, 9)})
        assert not vault.tables


def test_a_file_without_any_object_has_no_column(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('null\n5\n"x"\n')
    with raises_code(InvalidInputError, "empty: no column"):
        describe(tmp_path / "t.jsonl")


def test_a_draft_counts_the_lines_that_are_no_object(tmp_path: Path) -> None:
    """An array that is not in the first line with text is such a line."""
    lines = [f'{{"id": {number}, "a": {number % 7}}}' for number in range(50)]
    (tmp_path / "t.jsonl").write_text("\n".join(["", *lines, '{"id": 5', "[1]", "", "null"]))
    draft = describe(tmp_path / "t.jsonl")
    assert [one for one in draft.remarks if one.startswith("3 lines are no JSON object")]
    assert {"a"} <= set(draft.proposed.columns) <= {"id", "a"}
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    assert not [one for one in describe(tmp_path / "t.jsonl").remarks if "JSON" in one]


def test_a_line_beyond_the_limit_is_no_row_and_its_rest_neither(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "LONGEST", 40)
    rest = '{"x": 2, "note": "' + "y" * 22 + '{"x": 3}' + " " * 100 + '{"x": 4}'
    assert rest[40:].startswith('{"x": 3}')
    (tmp_path / "t.jsonl").write_text(f'{{"x": 1}}\n{rest}\n{{"x": 5}}')
    table = Table(name="t", source=Source(kind="json", path="t.jsonl"), unit=None, columns={"x": Integer(0, 9)})
    raw = attach(connection, table, tmp_path, {})
    assert connection.execute(f"SELECT x FROM {raw.relation}").fetchall() == [("1",), ("5",)]
    assert raw.ragged == 1


@pytest.mark.parametrize("name", ["t.arrow", "t.ipc", "t.db"])
def test_a_draft_of_a_file_that_says_its_columns(name: str, tmp_path: Path) -> None:
    (write_sqlite if name == "t.db" else write_arrow)(tmp_path / name)
    proposed = describe(tmp_path / name).proposed
    assert proposed.source.table == ("people" if name == "t.db" else None)  # the only one; a view is none
    assert proposed.unit == "id"
    assert {"age", "cost", "sex", "born", "seen"} <= set(proposed.columns)
    assert isinstance(proposed.columns["born"], Date | Text if name == "t.db" else Date)


@pytest.mark.parametrize("name", ["t.sav", "t.dta", "t.xpt", "t.sas7bdat", "t.por", "t.arrow", "t.feather", "t.sqlite"])
def test_broken_files(name: str, tmp_path: Path) -> None:
    write = {"t.arrow": write_arrow, "t.feather": write_feather, "t.sqlite": write_sqlite}.get(name, write_statistical)
    broken = [b"", b"nothing of the kind" * 100]
    if name not in ("t.sas7bdat", "t.por", "t.xpt"):  # the last does not say how many rows it has
        write(tmp_path / name)
        data = (tmp_path / name).read_bytes()
        broken.append(data[: len(data) // 3])
    options = {"table": "people"} if name == "t.sqlite" else {}
    for data in broken:
        (tmp_path / name).write_bytes(data)
        with raises_code(InvalidInputError, "unreadable-file|unknown-table|unknown-column|empty"):
            describe(tmp_path / name, **options)


def test_one_of_several_tables_is_named(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "t.db") as made:
        made.execute("CREATE TABLE a (x)")
        made.execute("CREATE TABLE b (x)")
        made.execute("CREATE VIEW v AS SELECT * FROM a")
    made.close()
    with raises_code(InvalidInputError, "missing-name: 'a' … 'b'"):
        describe(tmp_path / "t.db")
    for name in ("v", "sqlite_schema", 'a" UNION SELECT 1 --'):
        with raises_code(InvalidInputError, "unknown-table"):
            describe(tmp_path / "t.db", table=name)


def test_changes_that_wait_in_a_log_are_read_and_noticed(tmp_path: Path) -> None:
    made = sqlite3.connect(tmp_path / "t.db")
    made.execute("PRAGMA journal_mode = WAL")
    made.execute("CREATE TABLE t (x)")
    made.execute("INSERT INTO t VALUES (1)")
    made.commit()
    table = Table(
        name="t", source=Source(kind="sqlite", path="t.db", table="t"), unit=None, columns={"x": Integer(0, 9)}
    )
    with DuckDb(tmp_path, {}) as backend:
        before = backend.marks(table)
        assert rows_in(backend, table) == 1
        made.execute("INSERT INTO t VALUES (2)")
        made.commit()
        assert backend.marks(table) != before
        assert rows_in(backend, table) == 2
        made.close()  # the log is gone; what is left says that it has one
        (tmp_path / "t.db").chmod(0o400)
        names = sorted(file.name for file in tmp_path.iterdir())
        assert rows_in(backend, table) == 2
        assert sorted(file.name for file in tmp_path.iterdir()) == names


def test_changes_that_wait_in_the_log_of_a_duckdb_file_are_noticed_by_a_vault(tmp_path: Path) -> None:
    """Without the log the file is the same to the byte."""
    other = duckdb.connect(str(tmp_path / "other.duckdb"))
    other.execute("CREATE TABLE t AS SELECT range AS x FROM range(9)")
    other.execute("CHECKPOINT")
    shutil.copy(tmp_path / "other.duckdb", tmp_path / "t.duckdb")
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(1)) as vault:
        vault.add_table("t", tmp_path / "t.duckdb", unit=None, columns={"x": Integer(0, 9)}, table="t")
        other.execute("INSERT INTO t VALUES (5)")
        shutil.copy(tmp_path / "other.duckdb.wal", tmp_path / "t.duckdb.wal")
        with raises_code(InvalidInputError, "data-changed: 't'"):
            vault.sql("SELECT COUNT(*) AS n FROM t", epsilon=1).release()
        assert vault.budget.spent.epsilon == 0
    other.close()


def rows_in(backend: DuckDb, table: Table) -> int:
    with backend._asked(table) as (raw, cursor):
        return cursor.execute(f"SELECT count(*) FROM {raw.relation}").fetchall()[0][0]


def test_folders_of_csv_files(tmp_path: Path) -> None:
    write_folder(tmp_path / "data")
    (tmp_path / "data" / "c.csv").write_text("id,age\n1,2\n")
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(1)) as vault:
        with raises_code(InvalidInputError, "unknown-column: 'cost' … 'c.csv'"):
            vault.add_table("t", tmp_path / "data", unit="id", columns=COLUMNS)
        vault.add_table("t", tmp_path / "data" / "*.gz", unit="id", columns=COLUMNS, kind="csv")
        (tmp_path / "data" / "x.parquet").write_bytes(b"")
        with raises_code(InvalidInputError, "contradictory-options"):
            vault.add_table("u", tmp_path / "data", unit="id", columns=COLUMNS)
