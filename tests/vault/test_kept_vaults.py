"""Vaults that earlier versions wrote: they open, verify and replay, and their budgets go on where they were."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from support.kept_vaults import FAILED, FOLDER, STORY, TABLE, VAULT, Story, asked, story, write

import privet as pv
from privet.errors import BudgetExceededError, LedgerError
from privet.ledger import Receipt

KEPT = sorted(path for path in FOLDER.iterdir() if path.is_dir())


@pytest.fixture(params=[*(path.name for path in KEPT), "this version"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Story]:
    """A copy with the permissions that it was written with, which git does not keep."""
    if request.param == "this version":
        write(tmp_path / "made")
    else:
        shutil.copytree(FOLDER / request.param, tmp_path / "made")
    folder: Path = tmp_path / "made" / VAULT
    folder.chmod(0o700)
    for file in folder.glob("ledger.sqlite*"):
        file.chmod(0o600)
    return folder, json.loads((tmp_path / "made" / STORY).read_text())


def receipt(told: Story) -> Receipt:
    entry, digest = told["receipt"]
    return Receipt(entry=entry, digest=digest)


def test_one_is_kept() -> None:
    assert "0.1" in [path.name for path in KEPT]


def test_it_verifies_and_says_what_it_said(kept: tuple[Path, Story]) -> None:
    folder, told = kept
    with pv.open(folder) as vault:
        vault.ledger.verify(receipt(told))
        answers = [query.release() for query in asked(vault)]
        assert all(answer.replayed for answer in answers)
        assert story(vault, answers) == told  # nothing was charged or written
        assert vault.parts == ("north", "south")
        assert vault.ledger.granted("bob") == pv.Budget("1.5")
        assert {"opening", "partition", "grant", "charge", "answer", "failure"} <= set(told["entries"])


def test_its_budget_goes_on(kept: tuple[Path, Story]) -> None:
    folder, told = kept
    with pv.open(folder) as vault:
        before = vault.budget_of("bob").spent.epsilon
        answer = vault.sql("SELECT MAX(age) AS oldest FROM visits", epsilon="0.75", analyst="bob").release()
        assert not answer.replayed
        assert answer.receipt.entry > told["receipt"][0]
        assert vault.budget_of("bob").spent.epsilon == before + pv.Budget("0.75").epsilon
        with pytest.raises(BudgetExceededError):
            vault.sql("SELECT MIN(age) AS youngest FROM visits", epsilon="0.75", analyst="bob").release()
        vault.ledger.verify(receipt(told))
    with pv.open(folder) as vault:
        vault.ledger.verify(answer.receipt)


def test_what_failed_before_a_draw_is_repeated_once_without_a_charge(kept: tuple[Path, Story]) -> None:
    folder, _ = kept
    with pv.open(folder) as vault:
        before = vault.budget_of("bob").spent
        query = vault.sql(FAILED, epsilon="0.125", analyst="bob")
        assert query.former
        if query.request not in {entry.request for entry in vault.ledger.entries()}:  # from before there were pairs
            query = replace(query, priced=query.former[-1], former=())
        assert not query.release().replayed
        assert vault.budget_of("bob").spent == before


def test_without_its_anchor_it_does_not_open(kept: tuple[Path, Story]) -> None:
    folder, _ = kept
    (folder / "ledger.sqlite-anchor").unlink()
    with pytest.raises(LedgerError):
        pv.open(folder)


def test_what_is_kept_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "0.1").mkdir()
    with pytest.raises(FileExistsError):
        write(tmp_path / "0.1")
    assert not (tmp_path / "0.1" / TABLE).exists()


def test_answers_from_before_there_were_pairs_stay_free(tmp_path: Path) -> None:
    """A question whose way changed is still answered from what was stored, with or without its key; not if fresh."""
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(9), testing=True) as vault:
        vault.add_table("t", {"x": list(range(50))}, unit=None, columns={"x": pv.Integer(0, 99)})
        now = vault.sql("SELECT AVG(x) AS a FROM t", epsilon=1)
        then = replace(now, priced=now.former[-1], former=())
        first = then.release(key="mine")
        for again in (now.release(), now.release(key="mine")):
            assert again.replayed
            assert again.rows == first.rows
        other = now.release(fresh=True)
        assert not other.replayed
        assert now.release(key="other").rows == other.rows  # under a new key, what the way of today gave
        assert vault.budget.spent.epsilon == 2
