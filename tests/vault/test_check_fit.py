"""How a declaration fits the data, for its owner: what counts is what a question counts, and changes can be made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import privet as pv
from privet.backends.table_fit import TableFit
from privet.catalog.vault_file import parse
from privet.testing import exact
from privet.vault import Vault, create

WARD = pv.Category(["A", "B", "C"])


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    with create(tmp_path / "v", budget=pv.Budget(10), testing=True) as made:
        yield made


def frame(people: int = 60, **columns: list[Any]) -> dict[str, list[Any]]:
    """Each person has 6 rows, two in each ward, and one sex."""
    rows = range(6 * people)
    made: dict[str, list[Any]] = {
        "person": [f"p{n // 6}" for n in rows],
        "ward": ["ABC"[n % 3] for n in rows],
        "sex": ["FM"[n // 6 % 2] for n in rows],
    }
    return made | columns


def counted(vault: Vault, sql: str) -> int:
    return sum(exact(vault.sql(sql, epsilon=1), key=b"k" * 16).parts[0].values)


LIMITS = [
    {"max_rows": 1},
    {"max_rows": 4},
    {"max_rows": 50},
    {"max_groups": 2, "max_rows_per_group": 1},
    {"max_groups": 1, "max_rows_per_group": 5},
    {"max_groups": 2, "max_rows_per_group": 2, "max_rows": 3},
    {"max_groups": 3, "max_rows_per_group": 9},
]


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("constant", [False, True])
def test_what_counts_is_what_a_question_counts(limits: dict[str, int], constant: bool, vault: Vault) -> None:
    sex = pv.Category(["F", "M"], constant_per_unit=constant)
    vault.add_table("t", frame(), unit="person", columns={"ward": WARD, "sex": sex}, **limits)  # type: ignore[arg-type]
    fit = vault.check_fit("t")
    assert (fit.rows, fit.units, fit.unowned) == (360, 60, 0)
    asked = {"": "", "ward": " GROUP BY ward", "sex": " GROUP BY sex"}
    assert fit.kept == {name: counted(vault, f"SELECT COUNT(*) AS n FROM t{by}") for name, by in asked.items()}


def test_rows_of_nobody_and_rows_that_are_units(vault: Vault) -> None:
    data = frame(person=["p1", None, "p2"], ward=["A", "Z", "A"], sex=["F", "F", ""])
    fit = vault_fit(vault, data, unit="person", max_rows=9)
    assert (fit.rows, fit.unowned, fit.units, fit.kept["ward"]) == (3, 1, 2, 2)
    assert "  rows: 2, of 2 units; 1 more belong to nobody and never count" in fit.lines()
    fit = vault_fit(vault, data, unit=None)
    assert (fit.rows, fit.unowned, fit.units, fit.kept) == (3, 0, 3, {"": 3})
    assert not any("count in a question" in line for line in fit.lines())


def vault_fit(
    vault: Vault, data: Mapping[str, list[Any]], columns: Mapping[str, Any] | None = None, **how: Any
) -> TableFit:
    with create(vault.folder.with_name(f"v{len(list(vault.base.iterdir()))}"), budget=pv.Budget(1)) as other:
        other.add_table("t", data, columns=columns or {"ward": WARD}, **how)
        return other.check_fit("t")


def test_a_table_without_rows(vault: Vault) -> None:
    fit = vault_fit(vault, {"person": [], "ward": []}, unit="person")
    assert (fit.rows, fit.kept, fit.changes) == (0, {"": 0, "ward": 0}, [])
    assert "  nothing to change" in fit.lines()


@pytest.mark.parametrize(
    ("kind", "values", "found", "change"),
    [
        (pv.Integer(0, 10), ["-4", "0", "10", "99", "x", ""], (5, 1, 1, 1, 1), "low = -10, high = 100"),
        (pv.Number(0, 1, step="0.1"), ["0.04", "1.04", "1.05", "-1", "0.5"], (5, 0, 0, 1, 1), "low = -1, high = 1.5"),
        (pv.Integer(0, 10), ["1", "10"] * 9, (18, 0, 0, 0, 0), ""),
        (
            pv.Date("2020-01-01", "2020-12-31"),
            ["2019-12-31", "2020-06-01", "2031-01-01"],
            (3, 0, 0, 1, 1),
            "2015-01-01",
        ),
        (
            pv.Timestamp("2020-01-01", "2020-12-31"),
            ["2019-12-31 23:59:59.999999", "2020-06-01 10:00", "2021-01-01 00:00"],
            (3, 0, 0, 1, 1),
            "2018-01-01 00:00:00, high = 2022-12-31 23:59:59",
        ),
        (pv.Date("0001-01-01", "9999-12-31"), ["2019-12-31"], (1, 0, 0, 0, 0), ""),
        (pv.Category(["a"]), ["a", "b"], (2, 0, 1, 0, 0), "not in its list"),
        (pv.Boolean(), ["yes", "maybe"], (2, 0, 1, 0, 0), "cannot be read"),
        (pv.Text(), ["a", ""], (1, 1, 0, 0, 0), ""),
        (pv.Integer(3, 9, never_missing=True), ["", "3", "x", "4"], (3, 1, 1, 0, 0), "cannot be read"),
    ],
)
def test_values_of_a_column(kind: Any, values: list[str], found: tuple[int, ...], change: str, vault: Vault) -> None:
    fit = vault_fit(vault, {"x": values}, {"x": kind}, unit=None).columns[0]
    assert (fit.values, fit.missing, fit.unreadable, fit.below, fit.above) == found
    assert change in fit.change
    assert bool(change) == bool(fit.change)


def test_floats_that_are_no_numbers_are_missing(vault: Vault) -> None:
    data = pd.DataFrame({"x": [1.5, float("nan"), float("inf"), 3.0], "d": pd.to_datetime(["2020-01-01"] * 4)})
    columns = {"x": pv.Number(0, 2, step="0.5"), "d": pv.Timestamp("2020-01-01", "2021-01-01")}
    fit = vault_fit(vault, data, columns, unit=None).columns[0]  # type: ignore[arg-type]
    assert (fit.values, fit.missing, fit.unreadable, fit.below, fit.above) == (3, 1, 0, 0, 2)


def test_a_change_of_a_range_is_a_line_to_declare(vault: Vault) -> None:
    """It is written as it must stand in vault.toml, and then nothing is clamped."""
    data = {"x": ["-4", "99"] * 5, "y": ["0.4"] * 10}
    columns = {"x": pv.Integer(0, 10, never_missing=True), "y": pv.Number(0, "0.2", step="0.1")}
    fit = vault_fit(vault, data, columns, unit=None)
    lines = "\n".join(change.partition("holds them all: ")[2] for change in fit.changes)
    text = 'format = 1\nneighbors = "replace"\n[tables.t]\nsource = {kind = "memory"}\nrows_are_units = true\n'
    declared = parse(text + f"[tables.t.columns]\n{lines}\n").tables["t"].columns
    assert declared == {"x": pv.Integer(-10, 100, never_missing=True), "y": pv.Number(0, "0.4", step="0.1")}
    assert vault_fit(vault, data, declared, unit=None).changes == []


def test_other_limits_are_proposed_where_the_error_is_larger(vault: Vault) -> None:
    people = frame(400)
    few = vault_fit(vault, people, unit="person", max_groups=1, max_rows_per_group=1)
    assert "write max_rows = 6 instead of max_groups = 1, max_rows_per_group = 1" in few.change
    many = vault_fit(vault, people, unit="person", max_groups=3, max_rows_per_group=50)
    assert "write max_rows = 6 instead of max_groups = 3, max_rows_per_group = 50" in many.change
    assert vault_fit(vault, people, unit="person", max_rows=6).change == ""
    once = {"person": [f"p{n}" for n in range(300)], "ward": ["A", "B", "C"] * 100}
    fit = vault_fit(vault, once, unit="person", max_rows=8)
    assert "write max_groups = 1, max_rows_per_group = 1 instead of max_rows = 8" in fit.change
    assert "raise the version there by one" in fit.lines()[-2]


def test_a_table_that_cannot_group(vault: Vault) -> None:
    data = {"person": ["a", "a", "b"], "x": ["u", "v", "w"]}
    fit = vault_fit(vault, data, {"x": pv.Text()}, unit="person", max_rows=1)
    assert fit.kept == {"": 2}


def test_a_part_of_many_people_is_counted(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a million rows one person in several is looked at. Here one in two of 2,000 people is: off by 10 standard
    deviations in less than 1 in 10**20."""
    monkeypatch.setattr("privet.backends.table_fit.MOST_ROWS", 12_000)
    monkeypatch.setattr("privet.sources.unit_draft.MOST_ROWS", 12_000)
    fit = vault_fit(vault, frame(2000), unit="person", max_rows=4)
    assert fit.rows == 12_000
    assert abs(fit.kept["ward"] - 8000) < 10 * 4 * 2000**0.5


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.jsonl", '{"x": 1}\n{"x": 2\n[3]\n{"x": 4}', "2 lines are no JSON object, and so no row"),
        ("t.jsonl", '{"x": 1}\n{"x": 2\n', "1 line is no JSON object, and so no row"),
        ("t.csv", "x,y\n1,2\n3\n", "1 row has more or fewer fields than the header"),
        ("t.csv", "x,y\n1,2\n3,4\n", ""),
    ],
)
def test_rows_that_do_not_fit_are_said(name: str, text: str, said: str, vault: Vault, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    vault.add_table("t", tmp_path / name, unit=None, columns={"x": pv.Integer(0, 9)})
    fit = vault.check_fit("t")
    assert fit.odd == said
    assert [line.strip() for line in fit.lines()[2:]][: 1 if said else 0] == ([said] if said else [])


def test_a_table_that_cannot_be_read_has_no_fit(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n")
    vault.add_table("t", tmp_path / "t.csv", unit=None, columns={"x": pv.Integer(0, 9)})
    (tmp_path / "t.csv").write_text("x\nnone\n")
    with pytest.raises(pv.errors.InvalidInputError):
        vault.check_fit("t")
