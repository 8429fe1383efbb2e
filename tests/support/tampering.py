"""Edits behind the ledger's back: of its rows, and of its digests as well."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from privet.ledger import Receipt, anchor
from privet.ledger.chain import START, digest


def edit(path: Path, *statements: str) -> None:
    """Through another connection that knows no mercy: triggers are dropped for the edit and put back."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA ignore_check_constraints=ON")
    kept = other.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid").fetchall()
    for name, _ in kept:
        other.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        other.execute(statement)
    for _, sql in kept:
        other.execute(sql)
    other.close()


def rechain(path: Path) -> None:
    """What a patient forger does: compute all digests again."""
    other = sqlite3.connect(path, isolation_level=None)
    other.row_factory = sqlite3.Row
    head = START
    updates = []
    for record in other.execute("SELECT * FROM entry ORDER BY number"):
        head = digest(head, dict(record))
        updates.append(f"UPDATE entry SET digest = '{head}' WHERE number = {record['number']}")
    other.close()
    edit(path, *updates)
    anchor.create(path, Receipt(entry=len(updates), digest=head))  # who can write the one can write the other
