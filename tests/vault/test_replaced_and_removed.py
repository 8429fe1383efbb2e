"""Tables whose files were replaced, tables that were removed, and who may ask: what the owner and analysts are told."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.refusals import raises_code

import privet as pv
from privet.catalog import vault_file
from privet.errors import InvalidInputError, PrivetError, RefusedQueryError, TableUnavailableError
from privet.sources.describing import describe
from privet.vault import Vault, seen_files

COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
COLUMNS = {"ward": pv.Category(["A", "B"]), "age": pv.Integer(0, 120)}


def write(folder: Path, rows: int = 20) -> Path:
    lines = [f"p{number // 2},{'AB'[number % 2]},{number}" for number in range(rows)]
    (folder / "visits.csv").write_text("\n".join(["id,ward,age", *lines]) + "\n")
    return folder / "visits.csv"


def add(vault: Vault, folder: Path, name: str = "visits", **options: Any) -> pv.Table:
    return vault.add_table(name, folder / "visits.csv", unit="id", columns=COLUMNS, **options)


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    write(tmp_path)
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(10)) as made:
        add(made, tmp_path)
        yield made


def replaced(vault: Vault) -> None:
    """The owner is told why and what to run; an analyst gets the one line; nothing is charged."""
    spent = vault.budget.spent
    with raises_code(InvalidInputError, "data-changed: 'visits' … v.privet visits"):
        vault.sql(COUNT, epsilon="0.7").release()
    with pytest.raises(TableUnavailableError) as told:
        vault.sql(COUNT, epsilon="0.7", analyst="anna").release()
    assert str(told.value) == (
        "the table is not available\n  remedy: ask the owner to run `privet check VAULT`, which says why"
    )
    assert told.value.__cause__ is told.value.__context__ is None
    with raises_code(InvalidInputError, "data-changed"):
        vault.check("visits")
    assert vault.budget.spent == spent


# ---- replaced files --------------------------------------------------------------------------------------------------


def test_other_data_under_the_same_name_are_noticed(vault: Vault, tmp_path: Path) -> None:
    first = vault.sql(COUNT, epsilon=1).release()
    write(tmp_path, 400)
    replaced(vault)
    with raises_code(InvalidInputError, "data-changed: privet update"):
        vault.check("visits", digest=True)
    assert vault.sql(COUNT, epsilon=1).release().rows == first.rows  # a stored answer is about the old data
    assert vault.update_table("visits").version == 2
    assert not vault.sql(COUNT, epsilon=1).release().replayed


def test_the_same_bytes_written_again_are_the_same_if_somebody_asks(vault: Vault, tmp_path: Path) -> None:
    write(tmp_path)
    os.utime(tmp_path / "visits.csv", ns=(1, 1))
    replaced(vault)
    vault.check("visits", digest=True)
    vault.check("visits")
    assert vault.sql(COUNT, epsilon=1).release().rows
    assert vault.tables["visits"].version == 1


def test_one_byte_is_noticed_where_size_and_time_are_kept(vault: Vault, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(-2, os.SEEK_END)
        file.write(b"8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    vault.check("visits")  # what stat does not show is not seen
    with raises_code(InvalidInputError, "data-changed"):
        vault.check("visits", digest=True)


def test_a_copied_vault_asks_for_a_digest_and_a_moved_one_for_nothing(vault: Vault, tmp_path: Path) -> None:
    vault.close()
    home = tmp_path.parent / f"{tmp_path.name}-moved"
    tmp_path.rename(home)
    with pv.open(home / "v.privet") as moved:
        assert moved.sql(COUNT, epsilon=1).release().rows
    shutil.copytree(home, tmp_path)
    with pv.open(tmp_path / "v.privet") as copied:
        replaced(copied)
        copied.check("visits", digest=True)
        assert copied.sql(COUNT, epsilon="0.5").release().rows


def test_files_of_a_folder_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    shutil.move(write(tmp_path), tmp_path / "data" / "a.csv")
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(10)) as vault:
        vault.add_table("visits", tmp_path / "data", unit="id", columns=COLUMNS)
        shutil.copy(tmp_path / "data" / "a.csv", tmp_path / "data" / "b.csv")
        replaced(vault)
        (tmp_path / "data" / "b.csv").unlink()
        assert vault.sql(COUNT, epsilon=1).release().rows


def test_what_was_noted_stands_in_no_public_place(vault: Vault, tmp_path: Path) -> None:
    vault.sql(COUNT, epsilon=1).release()
    notes = json.loads((vault.folder / "files.json").read_text())
    assert (vault.folder / "files.json").stat().st_mode & 0o077 == 0
    vault.ledger.export(tmp_path / "export.jsonl")
    vault.ledger.backup(tmp_path / "backup.sqlite")
    size = str((tmp_path / "visits.csv").stat().st_size)
    public = [(vault.folder / "vault.toml").read_text(), (tmp_path / "export.jsonl").read_text()]
    secret = [notes["key"], notes["tables"]["visits"]["digest"]]
    for text in [*public, (tmp_path / "backup.sqlite").read_bytes().decode("latin-1")]:
        assert not [one for one in secret if one in text]
    assert size not in public[0]


def test_notes_that_are_gone_or_damaged(vault: Vault) -> None:
    """An older vault has none. Damage is told to the owner."""
    (vault.folder / "files.json").write_text("{")
    with raises_code(InvalidInputError, "vault-unreadable: files.json"):
        vault.sql(COUNT, epsilon=1).release()
    with pytest.raises(TableUnavailableError):
        vault.sql(COUNT, epsilon=1, analyst="anna").release()
    (vault.folder / "files.json").unlink()
    assert vault.sql(COUNT, epsilon=1).release().rows
    vault.check("visits", digest=True)
    assert json.loads((vault.folder / "files.json").read_text())["tables"]["visits"]["digest"]


ODD = '{"tables": {"visits": {"version": "1", "files": [], "digest": ""}}}'


@pytest.mark.parametrize("text", ["[]", "{}", '{"tables": {"visits": {}}}', ODD])
def test_notes_of_another_shape(text: str, vault: Vault) -> None:
    (vault.folder / "files.json").write_text(text)
    with raises_code(InvalidInputError, "vault-unreadable: files.json"):
        vault.check("visits")


def test_without_notes_nothing_is_compared_and_the_table_of_parts_is_not_noted_anew(tmp_path: Path) -> None:
    write(tmp_path)
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(10)) as vault:
        vault.add_table("visits", tmp_path / "visits.csv", unit=None, columns=COLUMNS)
        assert vault.check("visits", digest=True)
        (vault.folder / "files.json").unlink()
        assert not vault.check("visits", digest=True)
        assert vault.check("visits", digest=True)  # it was noted
        vault.partition("visits", "ward")
        (vault.folder / "files.json").unlink()
        for _ in range(2):
            assert not vault.check("visits", digest=True)
        assert not (vault.folder / "files.json").exists()


def test_a_digest_of_files_that_are_the_same_writes_nothing(vault: Vault) -> None:
    before = (vault.folder / "files.json").stat()
    vault.check("visits", digest=True)
    assert (vault.folder / "files.json").stat() == before


def test_of_tables_in_memory_nothing_is_noted(tmp_path: Path) -> None:
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(10)) as vault:
        vault.add_table("visits", {"age": [1, 2]}, unit=None, columns={"age": pv.Integer(0, 120)})
        vault.check("visits", digest=True)
        assert vault.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1).release().rows
        assert vault.remove_table("visits") == 1
        assert not (vault.folder / "files.json").exists()


def test_notes_that_cannot_be_written(vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then files are compared with what was noted before."""
    write(tmp_path)
    os.utime(tmp_path / "visits.csv", ns=(1, 1))
    with monkeypatch.context() as full:
        full.setattr(seen_files, "replace_file", _full)
        with raises_code(InvalidInputError, "cannot-write: files.json"):
            vault.check("visits", digest=True)
    replaced(vault)


def _full(*_: Any, **__: Any) -> None:
    raise OSError


def test_an_update_that_was_stopped_blesses_no_other_data(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever stops it before the new version is declared: the files are those of no version."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    write(tmp_path, 400)
    with monkeypatch.context() as stopped:
        stopped.setattr(vault_file, "write", stop)
        with pytest.raises(KeyboardInterrupt):
            vault.update_table("visits")
    with pv.open(vault.folder) as again:
        assert again.tables["visits"].version == 1
        replaced(again)


# ---- removed tables --------------------------------------------------------------------------------------------------


def test_a_removed_table_leaves_its_spending_and_no_answer_for_the_next(vault: Vault, tmp_path: Path) -> None:
    """The attack: the same name, the same columns, other people. The old answer must not be given for them."""
    first = vault.sql(COUNT, epsilon=1).release()
    spent, entries = vault.budget.spent, list(vault.ledger.entries())
    assert vault.remove_table("visits") == 1
    assert vault.budget.spent == spent
    assert list(vault.ledger.entries()) == entries
    with raises_code(PrivetError, "unknown-table|no-tables"):
        vault.sql(COUNT, epsilon=1)
    write(tmp_path, 400)
    assert add(vault, tmp_path).version == 2
    again = vault.sql(COUNT, epsilon=1).release()
    assert not again.replayed
    assert again.receipt != first.receipt
    assert vault.budget.spent.epsilon == 2 * spent.epsilon


def test_versions_only_grow_however_often_a_table_comes_back(vault: Vault, tmp_path: Path) -> None:
    assert vault.update_table("visits").version == 2
    for last, name in ((2, "VISITS"), (3, "visits"), (4, "Visits")):
        with pv.open(vault.folder) as opened:
            assert opened.remove_table(next(iter(opened.tables))) == last
        with pv.open(vault.folder) as opened:
            assert add(opened, tmp_path, name).version == last + 1


def test_hand_edits_cannot_bring_an_old_version_back(vault: Vault, tmp_path: Path) -> None:
    vault.sql(COUNT, epsilon=1).release()
    vault.remove_table("visits")
    vault.close()
    toml = vault.folder / "vault.toml"
    removed = toml.read_text()
    toml.write_text(removed.partition("[removed]")[0])  # the owner has forgotten it
    with pv.open(vault.folder) as again, raises_code(InvalidInputError, "declaration-changed: 'visits'"):
        add(again, tmp_path)
    toml.write_text(removed)
    with pv.open(vault.folder) as again:
        add(again, tmp_path)
    toml.write_text(toml.read_text().replace("version = 2", "version = 1").replace("visits = 1", "Visits = 1"))
    with raises_code(InvalidInputError, "too-small: 'visits'"):
        pv.open(vault.folder)


def test_a_version_that_is_made_up_does_not_bring_a_deleted_table_back(vault: Vault) -> None:
    """Which versions the ledger has answers about is not known any more; it could be this one."""
    vault.sql(COUNT, epsilon=1).release()
    vault.close()
    old, toml = vault.tables["visits"], vault.folder / "vault.toml"
    toml.write_text(toml.read_text().partition("[tables")[0])
    with pv.open(vault.folder) as again:
        assert not again.tables
        for version in (1, 3):
            with raises_code(InvalidInputError, "declaration-changed: 'visits' … [removed]"):
                again.declare(replace(old, version=version))
        assert not again.tables


def test_a_vault_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with raises_code(InvalidInputError, "vault-missing: pv.create"):
        pv.open(tmp_path / "nowhere" / "v.privet")


def test_a_name_keeps_its_unit_and_a_ledger_its_kind_of_unit(vault: Vault, tmp_path: Path) -> None:
    vault.sql(COUNT, epsilon=1).release()
    vault.remove_table("visits")
    with raises_code(InvalidInputError, "unit-fixed"):
        vault.add_table("visits", tmp_path / "visits.csv", unit="ward", columns={"age": pv.Integer(0, 120)})
    with raises_code(InvalidInputError, "mixed-units"):
        vault.add_table("rows", tmp_path / "visits.csv", unit=None, columns=COLUMNS)


def test_a_process_that_has_the_vault_open_stops_asking(vault: Vault) -> None:
    with pv.open(vault.folder) as other:
        query = other.sql(COUNT, epsilon=1)
        vault.remove_table("visits")
        with raises_code(InvalidInputError, "declaration-changed"):
            query.release()
        with pytest.raises(TableUnavailableError):
            other.sql(COUNT, epsilon=1, analyst="anna").release()
        assert other.budget.spent.epsilon == 0


def test_the_table_that_divides_the_units_stays(tmp_path: Path) -> None:
    write(tmp_path)
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(10)) as vault:
        add(vault, tmp_path)
        vault.partition("visits", "ward")
        with raises_code(InvalidInputError, "already-divided"):
            vault.remove_table("visits")
        write(tmp_path, 30)
        with raises_code(InvalidInputError, "data-changed: put the old data back"):
            vault.check("visits", digest=True)
        with raises_code(InvalidInputError, "unknown-table: 'nothing'"):
            vault.remove_table("nothing")


# ---- who may ask -----------------------------------------------------------------------------------------------------


def test_only_analysts_with_a_grant_if_the_owner_wants_it(tmp_path: Path) -> None:
    write(tmp_path)
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(10), analysts="granted") as vault:
        add(vault, tmp_path)
    with pv.open(tmp_path / "v.privet") as vault:
        vault.grant("anna", pv.Budget(1))
        for ask in (vault.sql, vault.suggest_bounds):
            with raises_code(RefusedQueryError, "not-granted: 'bert'"):
                ask(COUNT, epsilon="0.1", analyst="bert")
            ask(COUNT, epsilon="0.1", analyst="anna")
        frame = vault.table("visits").group_by("ward").agg(n=pv.count())
        with raises_code(RefusedQueryError, "not-granted"):
            frame.query(epsilon="0.1", analyst="Anna ")
        assert vault.sql(COUNT, epsilon="0.1").release().rows  # the owner
    with raises_code(InvalidInputError, "unknown-choice: analysts"):
        pv.create(tmp_path / "w.privet", budget=pv.Budget(1), analysts="some")


# ---- near misses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        ({"rows_are_units": True}, "unit=None"),
        ({"max_group": 3}, "max_groups"),
        ({"delimeter": ";"}, "delimiter"),
        ({"sep": ";"}, "delimiter"),
        ({"Public": True}, "public"),
        ({"path": "visits.csv"}, "data"),
    ],
)
def test_options_that_are_nearly_right(options: dict[str, Any], meant: str, vault: Vault, tmp_path: Path) -> None:
    with raises_code(InvalidInputError, f"unknown-option: did you mean {meant}"):
        add(vault, tmp_path, "other", **options)
    with raises_code(InvalidInputError, "unknown-option: did you mean columns"):
        vault.add_table("other", tmp_path / "visits.csv", unit="id", colums=COLUMNS)  # type: ignore[call-arg]
    with raises_code(InvalidInputError, "unknown-option: did you mean data"):
        vault.add_table("other", path=tmp_path / "visits.csv", unit="id", columns=COLUMNS)  # type: ignore[call-arg]


def test_other_calls_that_are_nearly_right(vault: Vault, tmp_path: Path) -> None:
    wrong: dict[str, Any] = {"eps": 1}
    for ask in (vault.sql, vault.suggest_bounds):
        with raises_code(InvalidInputError, "unknown-option: did you mean epsilon"):
            ask(COUNT, **wrong)
    with raises_code(InvalidInputError, "unknown-option: did you mean neighbors"):
        pv.create(tmp_path / "w.privet", budget=pv.Budget(1), **{"neighbours": "replace"})
    with raises_code(InvalidInputError, "unknown-option: did you mean max_groups"):
        vault.update_table("visits", max_grups=3)
    with raises_code(InvalidInputError, "unknown-option: did you mean private_keys"):
        vault.table("visits").agg(n=pv.count()).query(epsilon=1, private_key=True)
    with raises_code(InvalidInputError, "unknown-option: did you mean encoding"):
        describe(tmp_path / "visits.csv", encodin="utf-8")
    assert vault.tables.keys() == {"visits"}


@pytest.mark.parametrize(
    ("old", "new", "meant"),
    [
        ("max_groups", "max_group", "max_groups"),
        ("unit =", "units =", "unit"),
        ("neighbors", "neighbours", "neighbors"),
        ("low = 0", "lo = 0", "low"),
        ('"integer"', '"interger"', "integer"),
        ('"csv"', '"cvs"', "csv"),
    ],
)
def test_declarations_that_are_nearly_right(old: str, new: str, meant: str, vault: Vault) -> None:
    vault.close()
    toml = vault.folder / "vault.toml"
    toml.write_text(toml.read_text().replace(old, new))
    with raises_code(
        InvalidInputError, f"unknown-entry|unknown-choice|missing-entry|missing-unit: did you mean {meant}"
    ):
        pv.open(vault.folder)


@pytest.mark.parametrize("name", ["my table; drop", "a'b", 'a"b', "1st", "-", "a/b", "a  b", "visits--", "v\\", "a, b"])
def test_what_cannot_name_a_new_table(name: str, vault: Vault, tmp_path: Path) -> None:
    with raises_code(InvalidInputError, "invalid-name"):
        add(vault, tmp_path, name)


@pytest.mark.parametrize("name", ["my table", "Besuche_ü", "訪問", "visits-2020", "a.b"])
def test_what_can(name: str, vault: Vault, tmp_path: Path) -> None:
    add(vault, tmp_path, name)
    assert vault.sql(f'SELECT COUNT(*) AS n FROM "{name}"', epsilon=1).release().rows
