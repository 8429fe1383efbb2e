"""Values that cannot be read as declared are counted for the owner, and a column of nearly nothing else is refused."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support import nasty
from support.refusals import raises_code

import privet as pv
from privet.backends import readable
from privet.backends.duckdb import DuckDb
from privet.catalog.vault_file import Source, Table, parse
from privet.catalog.writing import Writing
from privet.core.schema import Kind
from privet.errors import InvalidInputError
from privet.query import Query
from privet.testing import exact
from privet.vault import Vault

YEARS = ("2010-01-01", "2019-12-31")
ZONED = [f"2017-05-{day:02}T{hour:02}:30:00-04:00" for day in range(1, 6) for hour in (9, 21)]
CODE = "unreadable-column"


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(10), testing=True) as made:
        yield made


def csv(folder: Path, values: list[str], name: str = "data.csv") -> Path:
    path = folder / name
    path.write_text("x|y\n" + "".join(f"{value}|1\n" for value in values))
    return path


def add(vault: Vault, values: list[str], kind: Kind, name: str = "t", **options: Any) -> Table:
    path = csv(vault.base, values, f"{name}.csv")
    return vault.add_table(name, path, unit=None, columns={"x": kind}, delimiter="|", **options)


def test_times_with_an_offset_are_refused_with_what_to_declare(vault: Vault) -> None:
    with raises_code(InvalidInputError, f"{CODE}: 't' … 10 of 10 … 'x' … timestamp") as caught:
        add(vault, ZONED, pv.Timestamp(*YEARS))
    assert not vault.tables
    assert vault.budget.spent.epsilon == 0
    line = re.search(r"x = \{.*?\}", caught.value.remedy)  # as it can be typed into the declaration
    assert line is not None
    head = (
        'format = 1\nneighbors = "add-remove"\n[tables.t]\nsource = {kind = "csv", path = "t.csv", delimiter = "|"}\n'
    )
    table = vault.declare(parse(f"{head}rows_are_units = true\n[tables.t.columns]\n{line[0]}").tables["t"])
    assert table.writing == {"x": Writing(offset="utc")}
    assert "writing={'x': {'offset': 'utc'}}" in caught.value.remedy  # and in Python
    assert add(vault, ZONED, pv.Timestamp(*YEARS), "u", writing={"x": {"offset": "utc"}}).writing == table.writing
    assert vault.unreadable("t") == {}


def counted(query: Query) -> dict[Any, int]:
    """The groups that occur, and how many rows each has."""
    found = exact(query, key=b"k" * 16)
    return {key: count for (key,), count in zip(found.keys, found.parts[0].values, strict=False) if count}


@pytest.mark.parametrize(("offset", "hours"), [("utc", {13: 5, 1: 5}), ("ignore", {9: 5, 21: 5})])
def test_an_offset_is_turned_into_utc_or_ignored(offset: str, hours: dict[int, int], vault: Vault) -> None:
    add(vault, ZONED, pv.Timestamp(*YEARS), writing={"x": {"offset": offset}})
    query = vault.sql("SELECT EXTRACT(hour FROM x) AS h, COUNT(*) AS n FROM t GROUP BY h", epsilon=1)
    assert counted(query) == hours


@pytest.mark.parametrize(
    ("values", "kind", "writing"),
    [
        (["01/31/2017 14:05"], pv.Timestamp(*YEARS), {"date_format": "%m/%d/%Y %H:%M"}),
        (["31.01.2017"], pv.Date(*YEARS), {"date_format": "%d.%m.%Y"}),
        (["$8,217.50"], pv.Number(0, 10_000, step="0.01"), {"thousands": ",", "marks": ["$"], "decimal": "."}),
        (["12 kg", "7 kg"], pv.Integer(0, 100), {"marks": ["kg"]}),
        (["45%"], pv.Integer(0, 100), {"marks": ["%"]}),
        (["8,5", "7,25"], pv.Number(0, 10, step="0.01"), {"decimal": ",", "thousands": ""}),
    ],
)
def test_the_remedy_names_the_form(values: list[str], kind: Kind, writing: dict[str, Any], vault: Vault) -> None:
    with raises_code(InvalidInputError, CODE) as caught:
        add(vault, values, kind)
    assert repr(Writing(**writing).given) in caught.value.remedy
    add(vault, values, kind, writing={"x": writing})
    assert vault.unreadable("t") == {}


def test_another_format_than_that_of_the_file_is_a_format_of_the_column(vault: Vault) -> None:
    with raises_code(InvalidInputError, CODE) as caught:
        add(vault, ["01/31/2017", "12/31/2017"], pv.Date(*YEARS), date_format="%d/%m/%Y")
    assert "{'date_format': '%m/%d/%Y'}" in caught.value.remedy
    add(vault, ["01/31/2017"], pv.Date(*YEARS), date_format="%d/%m/%Y", writing={"x": {"date_format": "%m/%d/%Y"}})


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["Paris"], pv.Integer(0, 10)),
        (["2017-05-01"], pv.Integer(0, 10)),
        (["17"], pv.Date(*YEARS)),
        (["ja", "nein"], pv.Boolean()),
        (["male", "female"], pv.Category(["Male", "Female"])),
    ],
)
def test_other_columns_are_refused_with_a_hint(values: list[str], kind: Kind, vault: Vault) -> None:
    with raises_code(InvalidInputError, CODE) as caught:
        add(vault, values, kind)
    assert "privet describe" in caught.value.remedy
    frame = pd.DataFrame({"x": values})
    with raises_code(InvalidInputError, CODE):
        vault.add_table("t", frame, unit=None, columns={"x": kind})


def test_what_is_refused_is_more_than_nine_of_ten(vault: Vault) -> None:
    add(vault, ["1"] * 10 + ["?"] * 90, pv.Integer(0, 10))
    assert vault.unreadable("t") == {"x": (90, 100)}
    with pv.open(vault.folder) as again:  # counted anew by whoever opens it
        assert again.unreadable("t") == {"x": (90, 100)}
    with raises_code(InvalidInputError, f"{CODE}: 91 of 100"):
        vault.update_table("t", csv(vault.base, ["1"] * 9 + ["?"] * 91))
    assert vault.tables["t"].version == 1
    add(vault, ["1"] * 9 + ["?"] * 91, pv.Integer(0, 10), "u", missing=["?"])  # missing is not unreadable
    assert vault.unreadable("u") == {}
    add(vault, ["A"] + ["B"] * 99, pv.Category(["A"]), "v")  # a list of the few that anybody asks about
    assert vault.unreadable("v") == {"x": (99, 100)}
    add(vault, ["", ""], pv.Integer(0, 10), "w")  # nothing is there


def test_a_vault_that_was_declared_before_still_answers_and_its_check_says_why_it_should_not(vault: Vault) -> None:
    add(vault, ZONED, pv.Timestamp(*YEARS), writing={"x": {"offset": "utc"}})
    file = vault.folder / "vault.toml"
    file.write_text(file.read_text().replace(', offset = "utc"', "").replace("version = 1", "version = 2"))
    with pv.open(vault.folder) as again:
        query = again.sql("SELECT COUNT(x) AS n FROM t", epsilon=1)
        assert exact(query, key=b"k" * 16).parts[0].values == (0,)
        query.release()
        with raises_code(InvalidInputError, f"{CODE}: 10 of 10"):
            again.check("t")
        assert again.unreadable("t") == {"x": (10, 10)}


@pytest.mark.parametrize("kind", ["csv", "excel", "parquet", "folder", "frame", "dict"])
def test_forms_hold_wherever_the_texts_are_kept(kind: str, vault: Vault) -> None:
    """Beside texts, a typed column has its own values, and a cell of Excel the text of its value."""
    frame = pd.DataFrame({"t": ["2017-05-01T09:30:00-04:00", None], "n": ["$1,000", "5"]})
    data: Any = vault.base / f"data.{kind}"
    match kind:
        case "csv":
            frame.to_csv(data, index=False)
        case "excel":
            frame.to_excel(data := data.with_suffix(".xlsx"), index=False)
        case "parquet":
            frame.to_parquet(data)
        case "folder":  # one file of texts, one of typed values
            data.mkdir()
            frame.to_parquet(data / "1.parquet")
            times = pd.to_datetime(frame["t"].str.slice(0, 19)) + pd.Timedelta(hours=4)
            pd.DataFrame({"t": times, "n": [1000, 5]}).to_parquet(data / "2.parquet")
        case "frame":
            data = frame
        case "dict":
            data = {name: list(frame[name]) for name in frame}
    columns: dict[str, Kind] = {"t": pv.Timestamp(*YEARS), "n": pv.Integer(0, 5000)}
    writing = {"t": {"offset": "utc"}, "n": {"marks": ["$"], "thousands": ","}}
    vault.add_table("t", data, unit=None, columns=columns, writing=writing)
    assert vault.unreadable("t") == {}
    files = 2 if kind == "folder" else 1
    assert counted(vault.sql("SELECT EXTRACT(hour FROM t) AS h, COUNT(*) FROM t GROUP BY h", epsilon=1)) == {
        13: files, None: files,
    }  # fmt: skip
    assert exact(vault.sql("SELECT SUM(n) AS s FROM t", epsilon=1), key=b"k" * 16).parts[0].values == (1005 * files,)


def test_a_frame_is_attached_again_whatever_it_holds(vault: Vault) -> None:
    frame = pd.DataFrame({"x": ["1", "2"]})
    vault.add_table("t", frame, unit=None, columns={"x": pv.Integer(0, 10)})
    vault.attach("t", pd.DataFrame({"x": ["one", "two"]}))
    assert vault.unreadable("t") == {"x": (2, 2)}


KINDS: list[Kind] = [
    pv.Integer(0, 100), pv.Number(0, 1, step="0.01"), pv.Boolean(), pv.Category(["A", "", "x"]), pv.Date(*YEARS),
    pv.Timestamp(*YEARS), pv.Integer(5, 9, never_missing=True), pv.Text(),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_is_counted_is_what_the_definition_cannot_read(kind: Kind) -> None:
    texts = [*nasty.WORDS, *nasty.NUMBER_TEXTS, *nasty.DAY_TEXTS, *nasty.TIME_TEXTS, *nasty.TRUTH_TEXTS]
    table = Table(name="t", source=Source(kind="memory"), unit=None, columns={"x": kind})
    with DuckDb(Path(), {"t": {"x": texts}}) as engine:
        (found,) = engine.check(table)
    plain = replace(kind, never_missing=False)
    values = [text for text in texts if text]
    assert (found.values, found.unread) == (len(values), sum(readable.read(text, plain) is None for text in values))


def test_typed_columns_are_counted_and_refused_too(vault: Vault) -> None:
    with raises_code(InvalidInputError, CODE):
        vault.add_table("t", pd.DataFrame({"a": [2.0, 3.0]}), unit=None, columns={"a": pv.Boolean()})
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0, float("nan")], "b": [0, 1, 2, 7]})
    columns: dict[str, Kind] = {"a": pv.Boolean(), "b": pv.Category(["1", "2"])}
    table = Table(name="t", source=Source(kind="memory"), unit=None, columns=columns)
    with DuckDb(Path(), {"t": frame}) as engine:
        found = engine.check(table)
    assert [(one.values, one.unread) for one in found] == [(3, 1), (4, 2)]


def test_marks_of_the_whole_file_leave_what_they_cannot_read_to_be_counted(vault: Vault) -> None:
    path = vault.base / "t.csv"
    path.write_text("x;d\n1,5;31.1.2017\n1.5;2017-01-31\n;\n2,5;1.2.2017\n")
    columns: dict[str, Kind] = {"x": pv.Number(0, 10, step="0.1"), "d": pv.Date(*YEARS)}
    vault.add_table("t", path, unit=None, columns=columns, delimiter=";", decimal=",", date_format="%d.%m.%Y")
    assert vault.unreadable("t") == {"x": (1, 3), "d": (1, 3)}
    query = vault.sql("SELECT d, COUNT(x) AS n FROM t WHERE d IS NOT NULL GROUP BY d", epsilon=1)
    assert counted(query) == {dt.date(2017, 1, 31): 1, dt.date(2017, 2, 1): 1}
