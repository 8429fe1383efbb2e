"""Vaults that earlier versions wrote: they open, verify and replay, and their budgets go on where they were."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.kept_vaults import FAILED, FOLDER, STORY, TABLE, VAULT, Story, asked, story, write

import privet as pv
from privet.core.laws import DiscreteGaussian, DiscreteLaplace
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


def as_told(now: Any, told: Any) -> Any:
    """What is said now, with the intervals of then where those of now lie inside: later versions may bound the same
    noise more narrowly."""
    if isinstance(now, dict) and isinstance(told, dict):
        found = {name: as_told(value, told.get(name)) for name, value in now.items()}
        if {"value", "low", "high"} <= now.keys() & told.keys() and None not in (now["low"], told["low"]):
            inside = told["low"] <= now["low"] <= now["value"] <= now["high"] <= told["high"]
            found |= {"low": told["low"], "high": told["high"]} if inside else {}
        return found
    if isinstance(now, list) and isinstance(told, list) and len(now) == len(told):
        return [as_told(one, then) for one, then in zip(now, told, strict=True)]
    return now


def test_narrower_intervals_are_as_told_and_no_others() -> None:
    told = {"rows": [{"n": {"value": 5, "low": 1, "high": 9}}]}
    for low, high, same in ((1, 9, True), (2, 8, True), (0, 8, False), (2, 10, False)):
        assert (as_told({"rows": [{"n": {"value": 5, "low": low, "high": high}}]}, told) == told) is same
    assert as_told({"rows": [{"n": {"value": 6, "low": 2, "high": 8}}]}, told) != told
    assert as_told({"rows": []}, told) != told


def test_one_is_kept() -> None:
    assert "0.1" in [path.name for path in KEPT]


def test_it_verifies_and_says_what_it_said(kept: tuple[Path, Story]) -> None:
    folder, told = kept
    with pv.open(folder) as vault:
        vault.ledger.verify(receipt(told))
        answers = [query.release() for query in asked(vault)]
        assert all(answer.replayed for answer in answers)
        assert as_told(story(vault, answers), told) == told  # nothing was charged or written
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
        earlier = list(query.earlier())
        assert earlier
        if query.request not in {entry.request for entry in vault.ledger.entries()}:  # from before there were pairs
            query = query.at(earlier[-1])
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


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("SELECT town, COUNT(DISTINCT who) AS n FROM t GROUP BY town", {"max_groups": 5}),
        ("SELECT town, COUNT(DISTINCT who) AS n FROM t GROUP BY town", {"other": "elsewhere"}),
        (
            "SELECT town, AVG(x) AS a, COUNT(*) AS n FROM t GROUP BY town",
            {"other": "elsewhere", "max_rows_per_group": 1},
        ),
    ],
    ids=["Gaussian keys", "people of the rest", "rows as people"],
)
def test_groups_from_before_there_was_gaussian_noise_on_keys_stay_free(
    tmp_path: Path, text: str, more: dict[str, object]
) -> None:
    """Version 0.1 asked with Laplace noise on keys, and counted the people of all cells."""
    rows = {"who": [n // 3 for n in range(900)], "town": ["ab"[n % 7 > 2] for n in range(900)], "x": [3] * 900}
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(9, "1e-3"), testing=True, neighbors="add-remove") as vault:
        vault.add_table("t", rows, unit="who", columns={"town": pv.Text(), "x": pv.Integer(0, 9)}, max_groups=2)
        now = vault.sql(text, epsilon=1, delta="1e-6", **more)
        *_, former = now.earlier()
        assert isinstance(former.parts[-1].law, DiscreteLaplace)
        assert not any(part.measure.rest for part in former.parts)
        then = now.at(former)
        first = then.release()
        assert first.rows
        again = now.release()
        assert again.replayed
        assert (again.rows, again.interval()) == (first.rows, first.interval())
        assert not now.release(fresh=True).replayed


def test_what_version_0_1_refused_has_no_former_way(tmp_path: Path) -> None:
    """Gaussian noise may be narrow enough where Laplace noise is not."""
    rows = {"who": [1, 2], "town": ["a", "b"]}
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(9, "1e-3"), testing=True) as vault:
        vault.add_table("t", rows, unit="who", columns={"town": pv.Text()}, max_groups=2**40)
        now = vault.sql("SELECT town, COUNT(DISTINCT who) AS n FROM t GROUP BY town", epsilon="5e-4", delta="1e-6")
        assert isinstance(now.priced.parts[-1].law, DiscreteGaussian)
        assert not list(now.earlier())


@pytest.mark.parametrize(("asked", "version"), [("AVG(x)", 1), ("STDDEV(x)", 0), ("STDDEV(x)", 1)])
def test_answers_from_before_there_were_pairs_or_squares_stay_free(asked: str, version: int, tmp_path: Path) -> None:
    """A question whose way changed is still answered from what was stored, with or without its key; not if fresh."""
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(9), testing=True) as vault:
        vault.add_table("t", {"x": list(range(50))}, unit=None, columns={"x": pv.Integer(0, 99)})
        now = vault.sql(f"SELECT {asked} AS a FROM t", epsilon=1)
        then = now.at(list(now.earlier())[version])
        first = then.release(key="mine")
        for again in (now.release(), now.release(key="mine")):
            assert again.replayed
            assert again.rows == first.rows
        other = now.release(fresh=True)
        assert not other.replayed
        assert now.release(key="other").rows == other.rows  # under a new key, what the way of today gave
        assert vault.budget.spent.epsilon == 2
