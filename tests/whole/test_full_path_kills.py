"""A process that is killed while it releases answers has charged, and kept, every answer that got out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.query_workers import kill_many, make_vault, unstored

import privet as pv
from privet.ledger import Kind

KILLS = 10
PATIENCE = 30  # kills until the wrong order is caught; one kill does with odds of more than a half


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return make_vault(tmp_path)


@pytest.mark.proof
def test_no_answer_gets_out_without_its_charge(place: Path) -> None:
    tally = kill_many("releases", place, KILLS)
    assert tally.uncharged == 0 < tally.delivered
    lines = [json.loads(line) for line in (place / "delivered.jsonl").read_text().splitlines()]
    with pv.open(place) as vault:
        assert unstored(vault, lines) == 0
        charges = [entry for entry in vault.ledger.entries() if entry.kind is Kind.CHARGE]
        assert len(charges) >= len(lines) > 0
        assert vault.budget.spent.epsilon == sum(entry.loss.epsilon for entry in charges if entry.loss)  # type: ignore[misc]
        assert len(vault.sql("SELECT COUNT(*) AS n FROM t", epsilon="0.001").release().rows) == 1


def test_the_wrong_order_is_caught(place: Path) -> None:
    """The answer first and then the charge: the harness must see it."""
    for _ in range(PATIENCE):
        if kill_many("late", place, 1).uncharged:
            return
    pytest.fail(f"not caught in {PATIENCE} kills")
