"""The owner's object, end to end, on real files, a real DuckDB and a real ledger."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterator
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.refusals import expect_code, raises_code

import privet as pv
from privet.catalog.declarations import Source, Table
from privet.core.laws import DiscreteLaplace
from privet.core.parts import Law
from privet.errors import BudgetExceededError, InvalidInputError, RefusedQueryError, ReleaseFailedError
from privet.ledger import Kind
from privet.vault import Vault

ROWS = 90
COLUMNS = {"age": pv.Integer(0, 120), "cost": pv.Number(0, 100, step="0.01"), "ward": pv.Category(["A", "B"])}
BY_WARD = "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, AVG(age) AS a FROM visits GROUP BY ward"


class NoNoise:
    """For vaults that are labelled NOT PRIVATE."""

    def draw(self, law: Law, size: int) -> npt.NDArray[np.int64]:
        assert isinstance(law, DiscreteLaplace)
        return np.zeros(size, dtype=np.int64)


def frame() -> pd.DataFrame:
    n = np.arange(ROWS)
    wards = np.array(["A", "B", "C"], dtype=object)[n % 3]  # C is not declared: it counts as missing
    return pd.DataFrame({"id": n // 2, "age": n, "cost": n / 4, "ward": wards})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    frame().to_parquet(tmp_path / "visits.parquet")
    return tmp_path


@pytest.fixture
def testing_vault(folder: Path) -> Iterator[Vault]:
    with pv.create(folder / "v.privet", budget=pv.Budget(10), testing=True) as made:
        made.add_table("visits", folder / "visits.parquet", unit=None, columns=COLUMNS)
        made.replace_noise(NoNoise())
        yield made


@pytest.fixture
def vault(folder: Path) -> Iterator[Vault]:
    with pv.create(folder / "v.privet", budget=pv.Budget(3, 1e-9)) as made:
        made.add_table("visits", folder / "visits.parquet", unit=None, columns=COLUMNS)
        yield made


def test_a_declaration_is_taken_as_it_was_read_and_checked_against_the_file(folder: Path) -> None:
    pd.DataFrame({"id": [1, 2], "age": [30, 40]}).to_excel(folder / "visits.xlsx", index=False)
    columns = {"age": pv.Integer(0, 120)}
    with pv.create(folder / "v.privet", budget=pv.Budget(1)) as made:
        table = made.declare(
            Table(name="visits", source=Source(kind="excel", path="visits.xlsx"), unit="id", columns=columns)
        )
        assert made.tables == {"visits": table}
        made.check("visits")
        pd.DataFrame({"id": [1], "years": [30]}).to_excel(folder / "visits.xlsx", index=False)
        with raises_code(InvalidInputError, "unknown-column: age"):
            made.check("visits")


def test_exact_numbers_come_out_without_noise(testing_vault: Vault) -> None:
    answer = testing_vault.sql(BY_WARD, epsilon=3).release()
    data = frame()
    for row in answer.rows:
        mine = data[data.ward == row["ward"]] if row["ward"] else data[data.ward == "C"]
        assert (row["n"], row["s"]) == (len(mine), mine.cost.sum())
        assert row["a"] == pytest.approx(mine.age.mean())
    assert [row["ward"] for row in answer.rows] == ["A", "B", None]
    assert answer.warnings == ("NOT PRIVATE: this vault was made for testing",)
    assert "NOT PRIVATE" in repr(testing_vault)
    assert "NOT PRIVATE" in str(answer)
    assert "NOT PRIVATE" in answer._repr_html_()


def test_noise_has_the_promised_scale_through_everything(vault: Vault) -> None:
    """240 releases of 3 cells at scale 1 / 0.01: the mean absolute error is near 100; off by 30 % with odds < 1e-9."""
    query = vault.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon="0.01")
    errors = [abs(row["n"] - 30) for _ in range(240) for row in query.release(fresh=True).rows]
    assert 70 < np.mean(errors) < 130


def test_a_question_costs_what_it_says_and_nothing_before(vault: Vault) -> None:
    query = vault.sql(BY_WARD, epsilon="0.5")
    assert (query.cost.epsilon, query.cost.rho) == (
        F(1, 2),
        sum(part.loss.epsilon**2 for part in query.priced.parts) / 2,
    )  # type: ignore[operator]
    assert vault.budget.spent.epsilon == 0
    assert vault.budget.about_n_more(query) == query.about_n_more == 6
    assert query.error.keys() == {"n", "s"}
    query.explain()
    assert len(list(vault.ledger.entries())) == 1
    answer = query.release()
    assert vault.budget.spent == query.cost == answer.cost
    assert vault.budget.remaining.epsilon == F(5, 2)
    assert vault.budget.remaining.rho == vault.budget.cap.rho - query.cost.rho
    assert vault.budget.holds


def test_the_same_question_is_answered_from_the_ledger(vault: Vault) -> None:
    first = vault.sql(BY_WARD, epsilon="0.5").release()
    again = vault.sql(BY_WARD + " HAVING ward <> 'Z' OR ward IS NULL ORDER BY n DESC LIMIT 2", epsilon="0.5").release()
    assert again.replayed
    assert not first.replayed
    assert again.receipt == first.receipt
    assert sorted((row["n"] for row in first.rows), reverse=True)[:2] == [row["n"] for row in again.rows]
    assert vault.budget.spent.epsilon == F(1, 2)
    renamed = vault.sql(BY_WARD.replace("AS n", "AS how_many"), epsilon="0.5").release()
    assert renamed.replayed
    for other in (vault.sql(BY_WARD, epsilon="0.25"), vault.sql(BY_WARD, rho="0.001"),
                  vault.sql(BY_WARD.replace("GROUP", "WHERE age > 1 GROUP"), epsilon="0.25")):  # fmt: skip
        assert not other.release().replayed
    fresh = vault.sql(BY_WARD, epsilon="0.2").release(fresh=True)
    assert not fresh.replayed
    assert vault.budget.spent.epsilon is None  # a Gaussian has no pure price; the other gauge counts


def test_a_new_version_is_a_new_question_and_the_spending_stays(vault: Vault, folder: Path) -> None:
    query = vault.sql(BY_WARD, epsilon="0.5")
    query.release()
    table = vault.update_table("visits", folder / "visits.parquet")
    assert table.version == 2
    with raises_code(InvalidInputError, "unneeded-option"):
        vault.update_table("visits", delimiter=";")
    with raises_code(InvalidInputError, "unknown-option: 'color'"):
        vault.update_table("visits", color="red")
    assert not vault.sql(BY_WARD, epsilon="0.5").release().replayed
    assert vault.budget.spent.epsilon == 1
    with pv.open(folder / "v.privet") as again:
        assert again.tables["visits"].version == 2
        assert again.budget.spent.epsilon == 1
        assert again.sql(BY_WARD, epsilon="0.5").release().replayed


def test_a_key_is_paid_for_once(vault: Vault) -> None:
    query = vault.sql(BY_WARD, epsilon="0.5")
    first = query.release(key="monday", fresh=True)
    assert query.release(key="monday", fresh=True).receipt == first.receipt
    with raises_code(InvalidInputError, "duplicate-key"):
        vault.sql(BY_WARD, epsilon="0.25").release(key="monday")
    with raises_code(InvalidInputError, "wrong-type: text"):
        query.release(key="")
    assert vault.budget.spent.epsilon == F(1, 2)


def test_the_budget_ends(vault: Vault) -> None:
    for _ in range(6):
        vault.sql(BY_WARD, epsilon="0.5").release(fresh=True)
    with pytest.raises(BudgetExceededError) as caught:
        vault.sql(BY_WARD, epsilon="0.5").release(fresh=True)
    expect_code("budget-exceeded", caught.value)
    assert vault.sql(BY_WARD, epsilon="0.5").about_n_more == 0
    with pytest.raises(BudgetExceededError):  # six times 0.5 is all of one gauge and past the other
        vault.sql(BY_WARD, epsilon="0.001").release()


def test_the_other_gauge_goes_on(vault: Vault) -> None:
    for _ in range(3):
        vault.sql(BY_WARD, epsilon="0.25").release(fresh=True)
    small = vault.sql(BY_WARD, epsilon="0.001")
    assert small.about_n_more > 10_000  # far more than the 2,250 that basic composition has room for
    small.release()


def test_rho_with_a_delta_leaves_both_gauges(vault: Vault) -> None:
    vault.sql(BY_WARD, rho="0.001", delta="1e-11").release()
    spent = vault.budget.spent
    assert spent.epsilon is not None
    assert 0 < spent.epsilon < 1
    vault.sql(BY_WARD, epsilon="1.5").release()  # rho is 0.117 at most: only the basic gauge certifies both
    with raises_code(BudgetExceededError, "budget-exceeded: rho 0.001"):
        vault.sql("SELECT COUNT(*) AS n FROM visits", rho="0.001").release()
    vault.sql("SELECT COUNT(*) AS n FROM visits", rho="0.001", delta="1e-11").release()


def test_an_owner_can_refuse_rho_without_delta(folder: Path) -> None:
    with pv.create(folder / "s.privet", budget=pv.Budget(3, 1e-9), rho_without_delta="refuse") as made:
        made.add_table("visits", folder / "visits.parquet", unit=None, columns=COLUMNS)
    assert 'rho_without_delta = "refuse"' in (folder / "s.privet/vault.toml").read_text()
    with pv.open(folder / "s.privet") as opened:
        asked = "SELECT COUNT(*) AS n FROM visits"
        with raises_code(InvalidInputError, "missing-delta: rho"):
            opened.sql(asked, rho="0.01")
        assert opened.sql(asked, rho="0.01", delta="1e-11").release().rows
        assert opened.sql(asked, within=1000).cost.epsilon is not None
        assert opened._gate([]).finite
    with raises_code(InvalidInputError, "unknown-choice: 'never'"):
        pv.create(folder / "t.privet", budget=pv.Budget(3, 1e-9), rho_without_delta="never")


def test_warn_says_for_ever_that_the_cap_no_longer_holds(folder: Path) -> None:
    with pv.create(folder / "w.privet", budget=pv.Budget(1), on_exhausted="warn") as vault:
        vault.add_table("visits", folder / "visits.parquet", unit=None, columns=COLUMNS)
        first = vault.sql(BY_WARD, epsilon=1).release()
        assert first.warnings == ()
        second = vault.sql(BY_WARD, epsilon=1).release(fresh=True)
        assert second.warnings == ("the cap no longer holds: the owner's policy let charges pass it",)
        assert vault.sql(BY_WARD, epsilon=1).release().warnings == second.warnings
        assert not vault.budget.holds
        with pytest.raises(BudgetExceededError):
            vault.sql(BY_WARD, epsilon=1, analyst="eve").release(fresh=True)


def test_analysts_have_caps_of_their_own(vault: Vault) -> None:
    vault.grant("anna", pv.Budget("0.6"))
    query = vault.sql(BY_WARD, epsilon="0.5", analyst="anna")
    assert query.about_n_more == 1
    query.release()
    with pytest.raises(BudgetExceededError):
        query.release(fresh=True)
    assert vault.budget_of("anna").remaining.epsilon == F(1, 10)
    assert vault.budget_of("bert").cap == vault.budget.cap
    assert vault.sql(BY_WARD, epsilon="0.5", analyst="bert").release().replayed  # an answer is free for everybody


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "csv", "duckdb"])
def test_every_source_gives_the_same_numbers(folder: Path, kind: str) -> None:
    data: Any = frame()
    options: dict[str, Any] = {}
    match kind:
        case "polars":
            data = pl.from_pandas(data)
        case "arrow":
            data = pa.Table.from_pandas(data)
        case "csv":
            data.to_csv(folder / "visits.csv", index=False)
            data = folder / "visits.csv"
        case "duckdb":
            with duckdb.connect(folder / "data.duckdb") as connection:
                connection.execute("CREATE TABLE t AS SELECT * FROM data")
            data, options = folder / "data.duckdb", {"table": "t"}
    with pv.create(folder / "k.privet", budget=pv.Budget(10), testing=True) as vault:
        vault.add_table("visits", data, unit=None, columns=COLUMNS, **options)
        vault.replace_noise(NoNoise())
        rows = vault.sql(BY_WARD, epsilon=1).release().rows
    assert [(row["ward"], row["n"], row["s"]) for row in rows] == [
        ("A", 30, 326.25), ("B", 30, 333.75), (None, 30, 341.25)
    ]  # fmt: skip


def test_a_frame_is_attached_again_after_opening(folder: Path) -> None:
    with pv.create(folder / "m.privet", budget=pv.Budget(10)) as vault:
        vault.add_table("visits", frame(), unit="id", columns=COLUMNS)
    with pv.open(folder / "m.privet") as vault:
        with raises_code(InvalidInputError, "not-attached"):
            vault.sql(BY_WARD, epsilon=1).release()
        assert vault.budget.spent.epsilon == 0  # said before the charge
        vault.attach("visits", frame())
        assert len(vault.sql(BY_WARD, epsilon=1).release().rows) == 3
        with pytest.raises(InvalidInputError):
            vault.attach("visits", pd.DataFrame({"other": [1]}))
        vault.sql(BY_WARD, epsilon=1).release(fresh=True)  # the frame that did not fit was not kept
        with raises_code(InvalidInputError, "unknown-table: 'nope'"):
            vault.attach("nope", frame())
        vault.add_table("more", folder / "visits.parquet", unit="id", columns=COLUMNS)
        with raises_code(InvalidInputError, "not-supported"):
            vault.attach("more", frame())


def test_a_column_that_is_never_missing_has_no_group_of_missing_values(folder: Path) -> None:
    """A missing value counts as the lowest one, and no row is lost; under a LEFT JOIN it can be missing again."""
    frame = pd.DataFrame({"who": [1, 2, 3, 4], "age": [None, 200, 30, 7], "ward": ["B", None, "?", "A"]})
    columns = {"age": pv.Integer(5, 120, never_missing=True), "ward": pv.Category(["A", "B"], never_missing=True)}
    with pv.create(folder / "n.privet", budget=pv.Budget(99), testing=True) as made:
        made.add_table("t", frame, unit="who", columns=columns)
        made.add_table("u", frame.head(1), unit="who", columns=columns)
        query = made.sql("SELECT ward, SUM(age) AS s, COUNT(age) AS n, COUNT(*) AS c FROM t GROUP BY ward", epsilon=9)
        assert [measure.role.value for measure in query.priced.measures] == ["pair"]
        exact = {part.role: list(part.values) for part in pv.testing.exact(query, key=b"k").parts}
        assert exact == {"pair": [115 + 25 + 2, 0, 90 + 113, 115]}  # above 5, then below 120
        assert [row["ward"] for row in query.release().rows] == ["A", "B"]
        assert "missing" not in str(query.release())
        joined = "SELECT u.ward AS w, COUNT(*) AS n FROM t LEFT JOIN u ON t.who = u.who GROUP BY u.ward"
        assert [row["w"] for row in made.sql(joined, epsilon=9).release().rows] == ["A", "B", None]
    with pv.open(folder / "n.privet") as opened:
        assert opened.declaration("t").columns["age"].never_missing


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_a_constant_column_counts_each_person_in_one_group(folder: Path, neighbors: str) -> None:
    """The price is that of one group, and one is kept also of a person for whom the declaration is wrong."""
    frame = pd.DataFrame({"who": [1, 1, 2, 2, 3], "sex": ["F", "F", "F", "M", "M"], "ward": list("ABABA")})
    columns = {"sex": pv.Category(["F", "M"], constant_per_unit=True), "ward": pv.Category(["A", "B"])}
    with pv.create(folder / "c.privet", budget=pv.Budget(99), neighbors=neighbors, testing=True) as made:
        made.add_table("t", frame, unit="who", max_groups=5, max_rows_per_group=2, columns=columns)
        text = "SELECT {0}, COUNT(*) AS n FROM t GROUP BY {0}"
        asked, single = made.sql(text.format("sex"), epsilon=1), made.sql(text.format("ward"), epsilon=1, max_groups=1)
        assert asked.error == single.error
        assert asked.priced.bounds.groups == 1
        (part,) = pv.testing.exact(asked, key=b"k").parts
        assert sum(part.values) == 4  # of person 2 one row, F or M, is not there
        assert asked.release().limits[0] == "at most 1 group per person"
        wide = made.sql(text.format("ward"), epsilon=1)
        assert wide.error == made.sql(text.format("ward"), epsilon=1, max_groups=3).error  # A, B and missing
        both = made.sql("SELECT sex, ward, COUNT(*) AS n FROM t GROUP BY 1, 2", epsilon=1)
        assert both.priced.bounds.groups == 3  # each person with A, B and missing, of one sex
        (part,) = pv.testing.exact(both, key=b"k").parts
        assert sum(part.values) == 5


def test_persons_are_bounded(folder: Path) -> None:
    """Persons with two rows each, in two wards: one row a group and two groups a person keep everything."""
    with pv.create(folder / "p.privet", budget=pv.Budget(10), testing=True) as vault:
        vault.add_table("visits", folder / "visits.parquet", unit="id", columns=COLUMNS)
        vault.replace_noise(NoNoise())
        counts = [row["n"] for row in vault.sql(BY_WARD, epsilon=1).release().rows]
        assert sum(counts) == ROWS // 2
        vault.update_table("visits", max_groups=2)
        assert [row["n"] for row in vault.sql(BY_WARD, epsilon=1).release().rows] == [30, 30, 30]


def test_testing_parts(testing_vault: Vault) -> None:
    query = testing_vault.sql(BY_WARD, epsilon=3)
    exact = pv.testing.exact(query, key=b"key")
    assert exact.keys == (("A",), ("B",), (None,))
    assert [part.role for part in exact.parts] == ["pair", "pair"]
    for part in exact.parts:  # what rows have above the lowest value, and below the highest
        sums = [above + below for above, below in zip(part.values[:3], part.values[3:], strict=True)]
        assert sums == [30 * part.l1] * 3
    assert exact.parts[0].values[:3] == (32625, 33375, 34125)
    assert {part.mechanism for part in exact.parts} == {"laplace"}
    assert all(part.scale == part.l1 / part.loss.epsilon for part in exact.parts)  # type: ignore[operator]
    assert sum(part.loss.epsilon for part in exact.parts) == 3  # type: ignore[misc]
    gaussian = pv.testing.exact(testing_vault.sql("SELECT COUNT(*) AS n FROM visits", rho="1/2"), key=b"").parts[0]
    assert (gaussian.mechanism, gaussian.scale, gaussian.max_parts_touched) == ("gaussian", 1, 1)
    assert testing_vault.budget.spent.epsilon == 0


def test_exact_numbers_and_other_noise_only_on_testing_vaults(vault: Vault) -> None:
    with raises_code(InvalidInputError, "not-for-testing: made"):
        pv.testing.exact(vault.sql(BY_WARD, epsilon=1), key=b"")
    with raises_code(InvalidInputError, "not-for-testing: not"):
        vault.replace_noise(NoNoise())


def test_dummy_rows_come_from_the_declarations(vault: Vault) -> None:
    rows = vault.dummy("visits", 20)
    assert set(COLUMNS) <= set(rows)
    assert len(rows["age"]) == 20


def test_a_vault_moves_with_its_data(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pv.create(folder / "v.privet", budget=pv.Budget(3)) as vault:
        vault.add_table("visits", folder / "visits.parquet", unit=None, columns=COLUMNS)
    there = tmp_path_factory.mktemp("elsewhere") / "moved"
    folder.rename(there)
    with pv.open(there / "v.privet") as vault:
        assert len(vault.sql(BY_WARD, epsilon=1).release().rows) == 3
        assert vault.base == there


def test_answers_in_other_forms(vault: Vault) -> None:
    answer = vault.sql(BY_WARD, epsilon=1).release()
    assert answer.columns == ("ward", "n", "s", "a")
    pandas = answer.to_pandas(intervals=True)
    assert list(pandas.columns) == ["ward", "n", "n_low", "n_high", "s", "s_low", "s_high", "a", "a_low", "a_high"]
    assert answer.to_polars().shape == answer.to_arrow().shape == (3, 4)
    wide, narrow = answer.interval("0.99"), answer.interval(0.5)
    assert all(w["n"]["low"] < x["n"]["low"] for w, x in zip(wide, narrow, strict=True))
    for share in (0, 1, 1 - F(1, 10**16), "x"):
        with raises_code(InvalidInputError, "not-a-number|out-of-range"):
            answer.interval(share)
    found = json.loads(json.dumps(answer.to_json()))
    assert found["rows"][0]["n"].keys() == {"value", "low", "high"}
    assert found["cost"] == {"epsilon": 1.0, "delta": 0.0, "rho": pytest.approx(0.2501, rel=1e-3), "rho_delta": 0.0}
    assert "error" in answer.chart().to_json()


def test_dates_are_plain_in_json(folder: Path) -> None:
    data = pd.DataFrame({"day": [dt.date(2020, 1, 1), None], "x": [1, 2]})
    with pv.create(folder / "d.privet", budget=pv.Budget(3)) as vault:
        vault.add_table("t", data, unit=None, columns={"day": pv.Date("2020-01-01", "2020-01-02")})
        answer = vault.sql("SELECT day, COUNT(*) AS n FROM t GROUP BY day", epsilon=1).release()
    assert [row["day"] for row in answer.to_json()["rows"]] == ["2020-01-01", "2020-01-02", None]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"budget": 3}, "wrong-type: budget"),
        ({"budget": pv.Budget(1), "neighbors": "other"}, "unknown-choice: neighbors"),
        ({"budget": pv.Budget(1), "on_exhausted": "ignore"}, "unknown-choice: on_exhausted"),
    ],
)
def test_vaults_that_cannot_be_made(tmp_path: Path, given: dict[str, Any], problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        pv.create(tmp_path / "v", **given)
    assert not (tmp_path / "v").exists()


def test_folders_that_are_no_vault(tmp_path: Path, vault: Vault) -> None:
    with raises_code(InvalidInputError, "vault-exists"):
        pv.create(tmp_path, budget=pv.Budget(1))
    with raises_code(InvalidInputError, "vault-missing"):
        pv.open(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with raises_code(InvalidInputError, "cannot-write"):
        pv.create(tmp_path / "file" / "v", budget=pv.Budget(1))
    toml = vault.folder / "vault.toml"
    toml.write_text(toml.read_text().replace("add-remove", "replace"))
    with raises_code(InvalidInputError, "relation-fixed"):
        pv.open(vault.folder)


def test_tables_that_cannot_be_added(vault: Vault, folder: Path) -> None:
    path = folder / "visits.parquet"
    before = (vault.folder / "vault.toml").read_text()
    with raises_code(InvalidInputError, "missing-unit"):
        vault.add_table("more", path, columns=COLUMNS)
    with raises_code(InvalidInputError, "mixed-units"):
        vault.add_table("more", path, unit="id", columns=COLUMNS)
    with raises_code(InvalidInputError, "wrong-ending"):
        vault.add_table("more", folder / "visits.zip", unit=None, columns=COLUMNS)
    with pytest.raises(InvalidInputError):
        vault.add_table("more", folder / "missing.parquet", unit=None, columns=COLUMNS)
    with pytest.raises(InvalidInputError):
        vault.add_table("more", pd.DataFrame({"a": [1]}), unit=None, columns=COLUMNS)
    with raises_code(InvalidInputError, "table-exists"):
        vault.add_table("visits", path, unit=None, columns=COLUMNS)
    assert (vault.folder / "vault.toml").read_text() == before
    assert list(vault.tables) == ["visits"]
    vault.add_table("folder", path, kind="parquet", unit=None, columns=COLUMNS)


def test_a_folder_of_parquet_files(vault: Vault, folder: Path) -> None:
    (folder / "many").mkdir()
    for part in range(2):
        frame().to_parquet(folder / "many" / f"{part}.parquet")
    vault.add_table("many", folder / "many", unit=None, columns=COLUMNS)
    answer = vault.sql("SELECT COUNT(*) AS n FROM many", epsilon=2).release()
    assert abs(answer.rows[0]["n"] - 2 * ROWS) < 30


def test_failures_of_the_engine_say_nothing(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the engine says after the charge, it may quote the data."""
    for secret in ("SSN 123-45-6789", "x"):

        def broken(*_: Any, text: str = secret) -> Any:
            raise duckdb.ConversionException(text)

        monkeypatch.setattr(type(vault._backend), "exact", broken)
        with pytest.raises(ReleaseFailedError) as caught:
            vault.sql(BY_WARD, epsilon="0.1").release()
        assert "SSN" not in str(caught.value)
        assert caught.value.__context__ is None
    kinds = [entry.kind for entry in vault.ledger.entries()][-4:]
    assert kinds == [Kind.CHARGE, Kind.FAILURE, Kind.REPEAT, Kind.FAILURE]


def test_refusals_touch_and_spend_nothing(vault: Vault, folder: Path) -> None:
    with pytest.raises(BudgetExceededError):
        vault.sql(BY_WARD, epsilon=99).release()
    (folder / "visits.parquet").unlink()
    for text in ("SELECT * FROM visits", "SELECT MODE(age) FROM visits", "DROP TABLE visits"):
        with pytest.raises(RefusedQueryError):
            vault.sql(text, epsilon=1)
    assert len(list(vault.ledger.entries())) == 1


@pytest.mark.skipif(os.name == "nt", reason="permissions are POSIX")
def test_the_folder_is_private(vault: Vault) -> None:
    assert vault.folder.stat().st_mode & 0o777 == 0o700
    assert (vault.folder / "ledger.sqlite").stat().st_mode & 0o777 == 0o600


def test_what_a_vault_protects_never_changes(vault: Vault) -> None:
    vault.sql(BY_WARD, epsilon="0.1").release()
    with raises_code(InvalidInputError, "unit-fixed"):
        vault.update_table("visits", unit="id")
    vault.close()
    toml = vault.folder / "vault.toml"
    toml.write_text(toml.read_text().replace("rows_are_units = true", 'unit = "id"'))
    with raises_code(InvalidInputError, "unit-fixed: rows_are_units … true, not"):
        pv.open(vault.folder)


def test_a_public_table_stays_public_and_may_get_another_key(vault: Vault) -> None:
    wards = {"ward": ["A", "B"], "floor": [1, 2]}
    columns = {"ward": pv.Category(["A", "B"]), "floor": pv.Integer(0, 9)}
    vault.add_table("wards", wards, public=True, key="ward", columns=columns)
    assert vault.update_table("wards", key="floor").key == ("floor",)
    assert vault.update_table("wards", key=["ward", "floor"]).version == 3
    with raises_code(InvalidInputError, "unit-fixed: is public,"):
        vault.update_table("wards", public=False, key=())
    with raises_code(InvalidInputError, "unit-fixed: not public,"):
        vault.update_table("visits", public=True)


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Vault]:
    """Visits of people with a weight each, and wards that everybody knows."""
    with pv.create(tmp_path / "c.privet", budget=pv.Budget(99), testing=True) as made:
        n = range(60)
        visits = {"pid": [i // 3 for i in n], "ward": ["AB"[i % 2] for i in n], "cost": [i % 10 for i in n]}
        kinds = {"ward": pv.Category(["A", "B"]), "cost": pv.Integer(0, 10)}
        made.add_table("visits", visits, unit="pid", max_groups=2, max_rows_per_group=5, columns=kinds)
        people = {"pid": list(range(20)), "w": [i % 4 for i in range(20)], "cost": [1] * 20}
        kinds = {"w": pv.Integer(0, 4), "cost": pv.Integer(0, 1)}
        made.add_table("people", people, unit="pid", max_rows=4, columns=kinds)
        made.replace_noise(NoNoise())
        yield made


PER_UNIT = "(SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid) AS t"


def test_one_row_a_unit_is_in_one_group(clinic: Vault) -> None:
    """Whatever the table's limits: noise is for one row, and nothing is dropped."""
    query = clinic.sql(f"SELECT LEAST(n, 5) AS n, COUNT(*) AS people FROM {PER_UNIT} GROUP BY 1", epsilon=1)
    bounds = query.priced.bounds
    assert (bounds.groups, bounds.rows) == (1, 1)
    assert query.error["people"] == 3  # as of one row
    assert {row["n"]: row["people"] for row in query.release().rows} == {1: 0, 2: 0, 3: 20, 4: 0, 5: 0}
    joined = f"SELECT LEAST(n, 5) AS n, w, COUNT(*) AS rows FROM {PER_UNIT} JOIN people USING (pid) GROUP BY 1, 2"
    bounds = clinic.sql(joined, epsilon=1).priced.bounds
    assert (bounds.groups, bounds.rows, bounds.in_all) == (2, 4, 4)  # 2 groups of visits, 4 rows of people
    bounds = clinic.sql(joined, epsilon=1, max_rows=2).priced.bounds
    assert (bounds.groups, bounds.rows, bounds.in_all) == (2, 2, 2)


def test_a_weight_of_any_table_of_the_query(clinic: Vault) -> None:
    joined = "SELECT COUNT(*) AS n FROM visits v JOIN people p ON p.pid = v.pid"
    limits = {"epsilon": 1, "max_rows": 3}
    assert clinic.sql(joined, weight="w", **limits).release().rows == [{"n": 90}]
    assert clinic.sql(joined, weight="P.COST", **limits).release().rows == [{"n": 60}]
    inner = "WITH t AS (SELECT pid, w, w * 2 AS twice FROM people) SELECT COUNT(*) AS n FROM t"
    assert clinic.sql(inner, epsilon=1, weight="w").release().rows == [{"n": 30}]
    frame = clinic.table("visits").join_units(clinic.table("people")).agg(n=pv.count())
    assert frame.release(weight="w", **limits).replayed
    with raises_code(RefusedQueryError, "type-mismatch: 'ward'"):
        frame.query(epsilon=1, weight="ward")
    with raises_code(InvalidInputError, "wrong-type: weight"):
        frame.query(epsilon=1, weight=7)
    for weight, problem in (
        ("cost", "ambiguous-name: 'v' … 'p'"),
        ("ward", "type-mismatch: 'ward'"),
        ("wx", "unknown-column: 'wx'"),
        ("q.w", "unknown-table: 'q' … FROM"),
        ("pid", "ambiguous-name: 'v' … 'p'"),
    ):
        with raises_code(RefusedQueryError, problem):
            clinic.sql(joined, epsilon=1, weight=weight)
    with raises_code(RefusedQueryError, "type-mismatch: 'twice'"):
        clinic.sql(inner, epsilon=1, weight="twice")
    for nothing in ("", 3):
        with raises_code(InvalidInputError, "wrong-type: weight"):
            clinic.sql(joined, epsilon=1, weight=nothing)  # type: ignore[arg-type]


def test_two_owners_do_not_undo_each_other(vault: Vault) -> None:
    with pv.open(vault.folder) as other:
        other.update_table("visits", max_groups=1)
    with raises_code(InvalidInputError, "declaration-changed"):
        vault.update_table("visits")
    with pv.open(vault.folder) as again:
        assert again.update_table("visits").version == 3


def test_new_data_are_read_as_the_old_ones_were(folder: Path) -> None:
    (folder / "old.csv").write_text("age;ward\n-9;A\n30;A\n")
    (folder / "new.csv").write_text("age;ward\n-9;B\n40;B\n")
    columns = {"age": pv.Integer(0, 120), "ward": pv.Category(["A", "B"])}
    with pv.create(folder / "c.privet", budget=pv.Budget(10), testing=True) as vault:
        vault.add_table("t", folder / "old.csv", unit=None, columns=columns, delimiter=";", missing=["-9"])
        vault.replace_noise(NoNoise())
        vault.update_table("t", folder / "new.csv")
        rows = vault.sql("SELECT COUNT(age) AS n, SUM(age) AS s FROM t WHERE ward = 'B'", epsilon=1).release().rows
        assert rows == [{"n": 1, "s": 40}]
        vault.update_table("t", missing=["40"])
        rows = vault.sql("SELECT COUNT(age) AS n, SUM(age) AS s FROM t", epsilon=1).release().rows
        assert rows == [{"n": 1, "s": 0}]
        assert vault.update_table("t", frame(), columns={"age": pv.Integer(0, 9)}).source.delimiter == ","


def test_an_ending_that_names_no_kind_of_file_is_refused(tmp_path: Path) -> None:
    with (
        pv.create(tmp_path / "v.privet", budget=pv.Budget(1)) as vault,
        raises_code(InvalidInputError, "wrong-ending: kind="),
    ):
        vault.add_table("t", tmp_path / "rows.unknown", unit="id", columns={"age": pv.Integer(0, 9)})
