"""A vault at its edges: two owners, creations that were killed, declarations edited by hand, data that are gone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.refusals import raises_code

import privet as pv
from privet.cli.ask import _csv as csv_of
from privet.errors import InvalidInputError, LedgerError, TableUnavailableError
from privet.ledger import Kind
from privet.ledger import sqlite as ledgers
from privet.vault import Vault

COLUMNS = {"age": pv.Integer(0, 120), "ward": pv.Category(["A", "B"])}
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = {"id": [1, 1, 2, 3], "age": [30, 31, 40, 50], "ward": ["A", "B", "A", "B"]}
    pd.DataFrame(rows).to_csv(tmp_path / "visits.csv", index=False)
    return tmp_path


@pytest.fixture
def vault(folder: Path) -> Iterator[Vault]:
    with pv.create(folder / "v.privet", budget=pv.Budget(10)) as made:
        made.add_table("visits", folder / "visits.csv", unit="id", columns=COLUMNS)
        yield made


# ---- two owners


def test_an_owner_who_was_overtaken_while_reading_is_told(
    vault: Vault, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading takes a while. Whoever comes second with what was true before must not undo the first one's work."""
    check = vault._backend.check

    def slow(table: Any) -> Any:
        with pv.open(vault.folder) as other:
            other.add_table("theirs", folder / "visits.csv", unit="id", columns=COLUMNS)
        return check(table)

    monkeypatch.setattr(vault._backend, "check", slow)
    with raises_code(InvalidInputError, "declaration-changed"):
        vault.add_table("mine", folder / "visits.csv", unit="id", columns=COLUMNS)
    monkeypatch.undo()
    assert "mine" not in vault.tables
    with pv.open(vault.folder) as again:
        assert set(again.tables) == {"visits", "theirs"}


OWNER = """
import sys
from pathlib import Path
import privet as pv
from privet.errors import InvalidInputError
folder, name = Path(sys.argv[1]), sys.argv[2]
columns = {"age": pv.Integer(0, 120)}
for number in range(6):
    with pv.open(folder / "v.privet") as vault:
        try:
            vault.add_table(f"{name}{number}", folder / "visits.csv", unit="id", columns=columns)
        except InvalidInputError as error:
            assert error.code == "declaration-changed", error
        else:
            print(f"{name}{number}")
"""


def test_what_an_owner_was_told_is_there(vault: Vault, folder: Path) -> None:
    """Two processes add tables as fast as they can: each table that was reported as declared is declared."""
    command = [sys.executable, "-c", OWNER, str(folder)]
    owners = [subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in "ab"]
    told = {line for owner in owners for line in owner.communicate()[0].split()}
    assert [owner.returncode for owner in owners] == [0, 0]
    with pv.open(vault.folder) as again:
        assert set(again.tables) == {"visits"} | told
        assert len(told) >= 6


def test_parts_are_written_beside_what_others_declared_meanwhile(vault: Vault, folder: Path) -> None:
    with pv.open(vault.folder) as other:
        divide = vault.ledger.divide

        def early(*given: Any) -> Any:
            receipt = divide(*given)
            other.add_table("theirs", folder / "visits.csv", unit="id", columns=COLUMNS)
            with raises_code(InvalidInputError, "already-divided"):
                other.update_table("visits")
            return receipt

        vault.ledger.divide = early  # type: ignore[method-assign]
        vault.partition("visits", "ward")
    with pv.open(vault.folder) as again:
        assert set(again.tables) == {"visits", "theirs"}
        assert again.parts == ("A", "B")


def test_units_are_not_divided_by_a_table_that_was_changed_meanwhile(vault: Vault) -> None:
    with pv.open(vault.folder) as other:
        other.update_table("visits")
    with raises_code(InvalidInputError, "declaration-changed"):
        vault.partition("visits", "ward")
    assert vault.ledger.partition is None


# ---- creations that were killed

KILLED = """
import os, sys
from pathlib import Path
import privet as pv
from privet.catalog import vault_file
from privet.ledger import anchor, connection
stage = sys.argv[2]
def dies(*_, **__):
    os._exit(9)
places = {
    "before the declarations": (vault_file, "write"), "during the declarations": (vault_file, "_sync_folder"),
    "before the ledger": (connection, "_reserve"), "inside the ledger": (connection, "sync_folder"),
    "before the anchor": (anchor, "create"), "before the name": (Path, "replace"),
}
module, name = places[stage]
real, calls = Path.replace, []
def dies_at_last(*arguments):
    calls.append(arguments)
    return os._exit(9) if len(calls) == 3 else real(*arguments)  # the declarations, the anchor, the ledger
if stage == "inside the ledger":
    module, name = __import__("privet.ledger.sqlite", fromlist=["x"]), "Transaction"
setattr(module, name, dies_at_last if stage == "before the name" else dies)
pv.create(sys.argv[1], budget=pv.Budget(1))
"""
STAGES = (
    "before the declarations", "during the declarations", "before the ledger", "inside the ledger", "before the anchor",
    "before the name",
)  # fmt: skip


@pytest.mark.counted
@pytest.mark.parametrize("stage", STAGES)
def test_a_creation_that_was_killed_can_be_repeated(tmp_path: Path, stage: str) -> None:
    place = tmp_path / "v.privet"
    done = subprocess.run([sys.executable, "-c", KILLED, str(place), stage], check=False)
    assert done.returncode == 9
    with raises_code((InvalidInputError, LedgerError), "empty|vault-missing"):
        pv.open(place)
    with pv.create(place, budget=pv.Budget(2)) as vault:
        vault.ledger.verify()
        assert vault.budget.cap.epsilon == 2
    assert {file.name for file in place.iterdir()} == {"vault.toml", "ledger.sqlite", "ledger.sqlite-anchor"}
    with raises_code(InvalidInputError, "vault-exists"):
        pv.create(place, budget=pv.Budget(2))


def test_a_ledger_that_was_moved_within_the_folder_is_left_alone(vault: Vault, folder: Path) -> None:
    vault.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1).release()
    vault.close()
    (vault.folder / "vault.toml").unlink()
    for old in ("ledger.sqlite.old", "ledger.sqlite-wal"):
        (vault.folder / "ledger.sqlite").rename(vault.folder / old)
        with raises_code(InvalidInputError, "vault-exists"):
            pv.create(vault.folder, budget=pv.Budget(10))
        (vault.folder / old).rename(vault.folder / "ledger.sqlite")
    (vault.folder / "ledger.sqlite").rename(folder / "elsewhere.sqlite")
    with raises_code(InvalidInputError, "vault-exists"):
        pv.create(vault.folder, budget=pv.Budget(10))  # its anchor remembers that something was released


@pytest.mark.parametrize("name", ["notes.txt", "vault.toml", "ledger.sqlite"])
def test_what_is_not_left_by_a_creation_is_left_alone(tmp_path: Path, name: str) -> None:
    place = tmp_path / "v.privet"
    place.mkdir()
    (place / name).write_text("mine")
    with raises_code(InvalidInputError, "vault-exists"):
        pv.create(place, budget=pv.Budget(1))
    assert (place / name).read_text() == "mine"


def test_declarations_without_a_ledger_are_left_alone(vault: Vault) -> None:
    """The ledger is gone, and the declarations are somebody's work."""
    vault.close()
    for name in ("ledger.sqlite", "ledger.sqlite-anchor"):
        (vault.folder / name).unlink()
    with raises_code(InvalidInputError, "vault-exists"):
        pv.create(vault.folder, budget=pv.Budget(1))


@pytest.mark.skipif(os.name == "nt", reason="folders cannot be locked there")
def test_two_do_not_create_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, refused = ledgers.create, []

    def meanwhile(*arguments: Any) -> Any:
        with raises_code(LedgerError, "ledger-busy"):
            pv.create(tmp_path / "v.privet", budget=pv.Budget(1))
        refused.append(True)
        return real(*arguments)

    monkeypatch.setattr(ledgers, "create", meanwhile)
    pv.create(tmp_path / "v.privet", budget=pv.Budget(1)).close()
    assert refused


def test_without_locks_the_ledgers_file_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privet.ledger.connection.FOLDERS_LOCK", False)
    pv.create(tmp_path / "v.privet", budget=pv.Budget(1)).close()
    with raises_code(InvalidInputError, "vault-exists"):
        pv.create(tmp_path / "v.privet", budget=pv.Budget(1))


# ---- declarations edited by hand


@pytest.mark.parametrize("line", ['unit = "ward"', "rows_are_units = true", "public = true"])
def test_whom_a_table_protects_cannot_be_edited_once_it_was_asked(vault: Vault, line: str) -> None:
    vault.sql(BY_WARD, epsilon="0.1").release()
    vault.close()
    toml = vault.folder / "vault.toml"
    kept = toml.read_text()
    edited = kept.replace('unit = "id"', line)
    if "unit =" not in line:
        edited = edited.replace("max_groups = 1\n", "").replace("max_rows_per_group = 1\n", "")
    toml.write_text(edited)
    with raises_code(InvalidInputError, 'unit-fixed: visits … "id" … write unit'):
        pv.open(vault.folder)
    toml.write_text(kept)
    pv.open(vault.folder).close()


def test_a_table_that_was_asked_is_not_declared_again_with_another_unit(vault: Vault, folder: Path) -> None:
    vault.sql(BY_WARD, epsilon="0.1").release()
    vault.close()
    toml = vault.folder / "vault.toml"
    toml.write_text(toml.read_text().partition("[tables.visits]")[0])
    with pv.open(vault.folder) as again:
        with raises_code(InvalidInputError, 'unit-fixed: "id" … "ward"'):
            again.add_table("Visits", folder / "visits.csv", unit="ward", columns={"age": pv.Integer(0, 120)})
        with raises_code(InvalidInputError, "declaration-changed: 'visits'"):  # old answers could be given for it
            again.add_table("visits", folder / "visits.csv", unit="id", columns=COLUMNS)
    toml.write_text(toml.read_text() + '\n[removed]\n"visits" = 1\n')
    with pv.open(vault.folder) as again:
        assert again.add_table("visits", folder / "visits.csv", unit="id", columns=COLUMNS).version == 2


def test_a_table_that_was_never_asked_may_still_be_corrected(vault: Vault) -> None:
    vault.close()
    toml = vault.folder / "vault.toml"
    toml.write_text(toml.read_text().replace('unit = "id"', 'unit = "ward"'))
    with pv.open(vault.folder) as edited:
        assert edited.declaration("visits").unit == "ward"


# ---- data that are gone


def test_data_that_are_gone_cost_nothing_and_analysts_are_not_told_why(vault: Vault, folder: Path) -> None:
    vault.close()
    (folder / "visits.csv").rename(folder / "moved.csv")
    with pv.open(vault.folder) as again:
        for _ in range(4):
            with raises_code(InvalidInputError, "missing-file"):
                again.sql(BY_WARD, epsilon="0.1").release()
            with pytest.raises(TableUnavailableError) as told:
                again.sql(BY_WARD, epsilon="0.1", analyst="anna").release()
            assert str(told.value) == (  # a constant: nothing of why
                "the table is not available\n  remedy: ask the owner to run `privet check VAULT`, which says why"
            )
            assert told.value.__cause__ is None
            assert told.value.__context__ is None
            with pytest.raises(TableUnavailableError):
                again.suggest_bounds(BY_WARD, epsilon="0.1", analyst="anna")
        assert again.budget.spent.epsilon == 0
        (folder / "moved.csv").rename(folder / "visits.csv")
        assert len(again.sql(BY_WARD, epsilon="0.1").release().rows) == 3


def test_a_failed_release_is_repeated_once_for_the_same_price(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(type(vault._backend), "exact", broken)
    with pytest.raises(pv.errors.ReleaseFailedError):
        vault.sql(BY_WARD, epsilon="0.1").release()
    monkeypatch.undo()
    vault.sql(BY_WARD, epsilon="0.1").release()
    assert vault.budget.spent.epsilon == pv.core.rational.rational("0.1", "x")
    assert [entry.kind for entry in vault.ledger.entries()][-2:] == [Kind.REPEAT, Kind.ANSWER]


def test_an_update_does_not_close_the_data_below_those_who_ask(folder: Path) -> None:
    """Analysts' questions would fail after their charge, and three of them suspend. A question that was made before an
    update and is released after it is refused: free of charge."""
    rows = pd.DataFrame({"id": range(20_000), "age": 30})
    for name in ("a.csv", "b.csv"):
        rows.to_csv(folder / name, index=False)
    failed: list[BaseException] = []
    with pv.create(folder / "u.privet", budget=pv.Budget(1000)) as vault:
        vault.add_table("t", folder / "a.csv", unit="id", columns={"age": pv.Integer(0, 120)})

        def ask() -> None:
            try:
                answered = 0
                while answered < 12:
                    with suppress(TableUnavailableError):
                        vault.sql("SELECT SUM(age) AS s FROM t", epsilon="0.1", analyst="ann").release(fresh=True)
                        answered += 1
            except BaseException as error:
                failed.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        for number in range(6):
            vault.update_table("t", folder / ("a.csv", "b.csv")[number % 2])
        asking.join()
        kinds = [entry.kind for entry in vault.ledger.entries()]
    assert failed == []
    assert kinds.count(Kind.CHARGE) == kinds.count(Kind.ANSWER) == 12


def test_a_data_frame_is_copied_when_it_is_given(folder: Path) -> None:
    """What becomes of it afterwards does not reach the vault; an update that fails leaves the copy there was."""
    ages = [30] * 100
    with pv.create(folder / "m.privet", budget=pv.Budget(10), testing=True) as vault:
        frame = {"id": list(range(100)), "age": ages}
        vault.add_table("t", frame, unit="id", columns={"age": pv.Integer(0, 120)})
        asked = vault.sql("SELECT COUNT(*) AS n FROM t", epsilon=1)
        for column in frame.values():
            del column[50:]
        assert pv.testing.exact(asked, key=b"k").parts[0].values == (100,)
        with pytest.raises(InvalidInputError):
            vault.update_table("t", {"id": [1]})
        assert pv.testing.exact(asked, key=b"k").parts[0].values == (100,)
        vault.update_table("t", {"id": [1, 2], "age": [3, 4]})
        again = vault.sql("SELECT COUNT(*) AS n FROM t", epsilon=1)
        assert pv.testing.exact(again, key=b"k").parts[0].values == (2,)


# ---- what every answer must say


def test_lost_entries_are_said_on_everything_that_is_released(vault: Vault) -> None:
    vault.close()
    (vault.folder / "ledger.sqlite-anchor").unlink()
    ledgers.accept(vault.folder / "ledger.sqlite")
    lost = "the cap may not hold: entries of the ledger were lost, and what they spent is not counted"
    with pv.open(vault.folder) as again:
        assert again.sql(BY_WARD, epsilon="0.1").release().warnings == (lost,)
        assert again.suggest_bounds(BY_WARD, epsilon="0.1").warnings == (lost,)
        assert again.suggest_bounds(BY_WARD, epsilon="0.1").warnings == (lost,), "also from the ledger"


def test_warnings_go_wherever_rows_go(folder: Path) -> None:
    """Also where only the table is kept: pandas, polars, Arrow and CSV."""
    said = "NOT PRIVATE: this vault was made for testing"
    with pv.create(folder / "t.privet", budget=pv.Budget(10), testing=True) as vault:
        vault.add_table("visits", folder / "visits.csv", unit="id", columns=COLUMNS)
        answer = vault.sql("SELECT ward AS warning, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=1).release()
    assert set(answer.to_pandas()["warning_"]) == {said}
    assert set(answer.to_polars(intervals=True)["warning_"]) == {said}
    assert set(answer.to_arrow()["warning_"].to_pylist()) == {said}
    assert csv_of(answer, safe=False).splitlines()[1].endswith(f",{said}")


def test_limits_may_be_whole_numbers_of_any_library(tmp_path: Path) -> None:
    """As they come out of a data frame."""
    columns = {"ward": pv.Category(["A", "B"])}
    limits = {name: np.int64(2) for name in ("max_groups", "max_rows_per_group", "max_rows")}
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(9)) as vault:
        declared = vault.add_table("t", {"who": [1, 1], "ward": ["A", "B"]}, unit="who", columns=columns, **limits)
        assert {type(getattr(declared, name)) for name in limits} == {int}
        query = vault.sql("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", epsilon=1, **limits)
        assert query.release().cost == vault.sql(query.text, epsilon=1, max_rows=2).release().cost
        assert vault.budget.spent.epsilon == 1
    with pv.open(tmp_path / "v.privet") as vault:
        assert vault.tables["t"] == declared


def test_columns_may_have_the_names_that_generated_sql_uses_inside() -> None:
    columns = {name: pv.Integer(0, 9) for name in ("p", "q", "m", "d", "n")}
    rows: dict[str, list[object]] = {name: ["1", "2.5", "3e0", "x"] for name in columns}
    frame = pv.from_frame(rows, unit="p", columns=columns, budget=pv.Budget(epsilon=1000))
    answer = frame.agg(n=pv.count()).release(epsilon=900)
    assert abs(answer.to_pandas()["n"][0] - 4) <= 1
