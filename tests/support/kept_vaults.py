"""Writes a vault with one entry of each kind, to be kept: later versions must open what earlier ones wrote.

`python tests/support/kept_vaults.py 0.2` writes tests/support/vaults/0.2 with the privet at hand. What is there is
never changed.
"""

from __future__ import annotations

import csv
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import privet as pv
from privet.answer import Answer
from privet.errors import ReleaseFailedError
from privet.query import Query
from privet.vault import Vault

FOLDER = Path(__file__).parent / "vaults"
VAULT, TABLE, STORY = "clinic.privet", "visits.csv", "story.json"
Story = dict[str, Any]
BY_WARD = "SELECT ward, COUNT(*) AS n, SUM(age) AS years FROM visits GROUP BY ward"
OF_NORTH = "SELECT COUNT(*) AS n FROM visits"
FAILED = "SELECT AVG(age) AS a FROM visits"


def write(folder: Path) -> None:
    """The vault, its table, and a story: what was answered and spent, for later versions to compare."""
    folder.mkdir(parents=True)
    rows = [(f"p{n // 2}", n % 90, "AB"[n % 3 == 0], "north" if n % 4 < 2 else "south") for n in range(60)]
    with (folder / TABLE).open("w", newline="") as file:
        csv.writer(file).writerows([("patient", "age", "ward", "site"), *rows])
    with pv.create(folder / VAULT, budget=pv.Budget(epsilon=20, delta="1e-9"), neighbors="add-remove") as vault:
        vault.add_table(
            "visits",
            folder / TABLE,
            unit="patient",
            max_groups=2,
            max_rows_per_group=2,
            columns={
                "age": pv.Integer(0, 100),
                "ward": pv.Category(["A", "B"]),
                "site": pv.Category(["north", "south"]),
            },
        )
        vault.partition("visits", "site")
        vault.grant("bob", pv.Budget("1.5"))
        answers = [query.release() for query in asked(vault)]
        with mock.patch.object(vault._backend, "exact", side_effect=RuntimeError), suppress(ReleaseFailedError):
            vault.sql(FAILED, epsilon="0.125", analyst="bob").release()
        (folder / STORY).write_text(json.dumps(story(vault, answers), indent=1) + "\n")


def asked(vault: Vault) -> list[Query]:
    """The questions that have a stored answer."""
    return [
        vault.sql(BY_WARD, epsilon="0.5"),
        vault.sql(BY_WARD, epsilon="0.25", analyst="bob"),
        vault.sql(OF_NORTH, rho="0.01", part="north"),
    ]


def story(vault: Vault, answers: list[Answer]) -> Story:
    head = vault.ledger.head()
    return {
        "receipt": [head.entry, head.digest],
        "entries": [entry.kind for entry in vault.ledger.entries()],
        "answers": [{key: answer.to_json()[key] for key in ("rows", "cost", "receipt")} for answer in answers],
        "spent": {who: str(vault.budget_of(who).spent) for who in ("", "bob")},
    }


if __name__ == "__main__":
    write(FOLDER / sys.argv[1])
