"""Statements are written once, before the charge, from declarations and recorded types: whatever keeps the rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privet as pv
from privet.backends import keysql, rowsql, spreadsql, sqlgen
from privet.vault import Vault

COLUMNS = {
    "ward": pv.Category(["A", "B"]), "age": pv.Integer(0, 99), "cost": pv.Number(0, 100, step="0.01"),
    "day": pv.Date("2020-01-01", "2020-12-31"), "at": pv.Timestamp("2020-01-01", "2020-12-31"), "old": pv.Boolean(),
    "city": pv.Text(), "nothing": pv.Integer(0, 9),
}  # fmt: skip
ROWS: dict[str, list[Any]] = {
    "who": ["a", "a", "b"], "ward": ["A", "B", "A"], "age": [1, 2, 3], "cost": [Decimal("1.50"), None, Decimal("2.25")],
    "day": [dt.date(2020, 1, n) for n in (1, 2, 3)], "at": [dt.datetime(2020, 1, n, 5) for n in (1, 2, 3)],
    "old": [True, False, None], "city": ["Oslo", "Aas", "Oslo"], "nothing": [None] * 3,
}  # fmt: skip
USED = "AVG(age) AS a, SUM(cost) AS c, COUNT(day) AS d, COUNT(at) AS t, COUNT(old) AS o, COUNT(nothing) AS x"
QUESTIONS = {  # and how many statements each needs
    f"SELECT ward, {USED} FROM t GROUP BY ward": 1,
    "SELECT MEDIAN(age) AS m, MIN(cost) AS l FROM t": 1,
    "SELECT city, COUNT(*) AS n, SUM(age) AS s FROM t GROUP BY city": 2,
}


def csv(folder: Path) -> object:
    pd.DataFrame(ROWS).to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def parquet(folder: Path) -> object:
    pq.write_table(pa.table(ROWS), folder / "t.parquet")
    return folder / "t.parquet"


def two_parquets(folder: Path) -> object:
    """Of different types: each is read as text."""
    (folder / "many").mkdir()
    pq.write_table(pa.table(ROWS), folder / "many" / "1.parquet")
    pq.write_table(pa.table({**ROWS, "age": [1.0, 2.5, None]}), folder / "many" / "2.parquet")
    return folder / "many"


def database(folder: Path) -> object:
    rows = pa.table(ROWS)
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.register("given", rows)
        connection.execute("CREATE TABLE t AS FROM given")
    return folder / "t.duckdb"


def excel(folder: Path) -> object:
    pd.DataFrame(ROWS).to_excel(folder / "t.xlsx", index=False)
    return folder / "t.xlsx"


@pytest.mark.parametrize("kept", [csv, parquet, two_parquets, database, excel, lambda _: pa.table(ROWS)])
@pytest.mark.parametrize("unit", ["who", None])
def test_a_statement_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Any, unit: Any) -> None:
    data, written = kept(tmp_path), list[str]()
    real = sqlgen.passing_rows
    for module in (sqlgen, rowsql, keysql, spreadsql):
        monkeypatch.setattr(module, "passing_rows", lambda *given: written.append("") or real(*given))
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(100, "1e-3")) as made:
        table = {"table": "t"} if str(data).endswith("duckdb") else {}
        made.add_table("t", data, unit=unit, columns=COLUMNS, **table)
    with pv.open(tmp_path / "v.privet") as vault:  # in a process that has not opened the data yet
        if isinstance(data, pa.Table):
            vault.attach("t", data)
        for text, statements in QUESTIONS.items():
            price = {"delta": "1e-6"} if "city" in text else {}
            query = vault.sql(text, epsilon=1, **price)
            written.clear()
            query.release()
            values = len({part.measure.value for part in query.question.parts}) if "MEDIAN" in text else statements
            assert len(written) == (statements if unit else values)


def test_a_column_that_has_a_type_only_now_is_still_read(tmp_path: Path) -> None:
    """It was recorded without any value, so the statement is written anew when its type is seen."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"who": ["a"], "x": pa.nulls(1)}), path)
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(100), testing=True) as vault:
        vault.add_table("t", path, unit="who", columns={"x": pv.Integer(0, 9)})
        pq.write_table(pa.table({"who": ["a", "b"], "x": [3, 4]}), path)
        assert _sum(vault) == 7


def _sum(vault: Vault) -> int:
    query = vault.sql("SELECT SUM(x) AS s FROM t", epsilon=1)
    ((total,),) = [part.values for part in pv.testing.exact(query, key=b"k").parts]
    return int(total)
