"""Made-up rows: inside the declaration, repeatable, and readable by the declaration itself."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import raises_code

from privet.catalog.declarations import Source, Table
from privet.catalog.dummy import dummy, write_csv
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.errors import InvalidInputError
from privet.sources import attach, connect

COLUMNS: dict[str, Kind] = {
    "age": Integer(-5, 120), "cost": Number("-0.5", 10, step="0.1"), "ok": Boolean(), "ward": Category(["A", "B"]),
    "day": Date("2020-01-01", "2020-12-31"), "time": Timestamp("2020-01-01", "2020-01-02"), "city": Text(),
}  # fmt: skip


def table_of(unit: str | None = "id", **source: object) -> Table:
    given_source = Source(**({"kind": "csv", "path": "data.csv"} | source))  # type: ignore[arg-type]
    return Table(name="visits", source=given_source, unit=unit, columns=COLUMNS, max_groups=1 if unit is None else 2)


@given(st.integers(0, 50), st.integers())
def test_values_are_inside_the_declaration(rows: int, seed: int) -> None:
    made = dummy(table_of(), rows, seed=seed)
    assert list(made) == ["id", *COLUMNS]
    assert {len(values) for values in made.values()} == {rows}
    assert made == dummy(table_of(), rows, seed=seed)
    assert all(value is None or -5 <= value <= 120 for value in made["age"])  # type: ignore[operator]
    assert all(value is None or (-0.5 <= value <= 10 and round(value * 10) / 10 == value) for value in made["cost"])  # type: ignore[operator]
    assert set(made["ward"]) <= {"A", "B", None}
    assert set(made["ok"]) <= {True, False, None}
    assert all(value is None or dt.date(2020, 1, 1) <= value <= dt.date(2020, 12, 31) for value in made["day"])  # type: ignore[operator]


def test_edges_missing_values_and_repeated_units() -> None:
    made = dummy(table_of(), 2000)
    assert made["age"][:2] == [-5, 120]
    assert made["cost"][:2] == [-0.5, 10]
    assert made["time"][:2] == [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2)]
    for name in COLUMNS:  # each of 1998 is missing with probability 1/20: none at all has probability below 1e-44
        assert None in made[name]
    assert len(set(made["id"])) < 1000
    assert "id" not in dummy(table_of(unit=None), 5)
    assert list(dummy(table_of(unit="city"), 5)) == list(COLUMNS)
    with raises_code(InvalidInputError, "too-small: rows … least 0"):
        dummy(table_of(), -1)


@pytest.mark.parametrize(
    "source",
    [
        {},
        {"delimiter": ";", "decimal": ",", "date_format": "%d.%m.%Y", "encoding": "utf-16", "skip": 2},
        {"names": ("city", "extra", "id", "age", "cost", "ok", "ward", "day", "time"), "delimiter": "|"},
    ],
)
@pytest.mark.parametrize(
    "writing",
    [
        {},
        {"time": {"offset": "utc"}, "cost": {"decimal": ",", "thousands": ""}, "day": {"date_format": "%Y %B %d"}},
        {"time": {"date_format": "%d/%m/%Y %I:%M:%S.%f %p%z", "offset": "utc"}, "cost": {"marks": ["$"]}},
    ],
)
def test_a_file_that_the_declaration_reads(source: dict[str, object], writing: dict[str, Any], tmp_path: Path) -> None:
    table = replace(table_of(**source), writing=writing)
    write_csv(tmp_path / "data.csv", table, 50)
    made = dummy(table, 50)
    with connect(tmp_path / "scratch") as connection:
        raw = attach(connection, table, tmp_path, {})
        rows = connection.execute(f"SELECT age, cost, ok, day, time, city, id FROM {raw.relation}").fetchall()
    expected = zip(*(made[name] for name in ("age", "cost", "ok", "day", "time", "city", "id")), strict=True)
    assert sorted(map(key, rows)) == sorted(map(key, expected))


def key(row: tuple[object, ...]) -> str:
    age, cost, ok, *others = row
    number = None if cost is None else float(str(cost))
    return str((None if age is None else str(age), number, str(ok).lower(), *map(str, others)))


def test_a_plain_file_for_other_sources(tmp_path: Path) -> None:
    table = Table(name="t", source=Source(kind="memory"), unit=None, columns={"a": Integer(1, 1)})
    write_csv(tmp_path / "x.csv", table, 2)
    assert (tmp_path / "x.csv").read_text() == "a\n1\n1\n"
    with raises_code(InvalidInputError, "cannot-write"):
        write_csv(tmp_path / "nowhere" / "x.csv", table, 2)
