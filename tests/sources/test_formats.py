"""Files of other programs: each gives what the same rows give as CSV, whatever stands in them."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import json
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

import privet as pv
from privet.core.schema import Category, Date, Integer, Kind, Number, Timestamp
from privet.sources import connect, statistical

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
