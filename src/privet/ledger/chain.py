"""TRUSTED and PURE: how an entry is written down and chained to the one before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from privet.core.claim import claim
from privet.core.loss import Loss
from privet.core.unit import Neighbors
from privet.ledger import ATTEMPTS, Entry, Kind, Policy, Terms
from privet.ledger.account import budget_from, budget_text
from privet.ledger.part_accounts import charge_from
from privet.ledger.schema import ENTRY, FORMAT

START = "0" * 64  # the head before the first entry


@claim("ledger-chain")
def digest(previous: str, record: Mapping[str, object]) -> str:
    """The head of the chain after this entry: it fixes every column of every entry so far."""
    text = json.dumps({name: record[name] for name in ENTRY}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()


def exact_text(loss: Loss) -> str:
    amounts = (loss.epsilon, loss.delta, loss.rho, loss.rho_delta)
    return json.dumps([None if amount is None else str(amount) for amount in amounts])


@lru_cache(maxsize=4096)
def exact_from(text: str) -> Loss:
    epsilon, delta, rho, rho_delta = (None if part is None else Fraction(part) for part in json.loads(text))
    return Loss(epsilon=epsilon, delta=delta, rho=rho, rho_delta=rho_delta)  # type: ignore[arg-type]


def terms_text(terms: Terms, identity: str) -> str:
    """`identity` is random: two ledgers never have the same chain."""
    return json.dumps(
        {
            "budget": budget_text(terms.budget),
            "format": FORMAT,
            "id": identity,
            "neighbors": terms.neighbors.value,
            "policy": terms.policy.value,
            "testing": terms.testing,
        },
        sort_keys=True,
    )


def terms_from(text: str) -> Terms:
    parts = json.loads(text)
    return Terms(
        budget=budget_from(parts["budget"]),
        neighbors=Neighbors(parts["neighbors"]),
        policy=Policy(parts["policy"]),
        testing=bool(parts["testing"]),
    )


def entry_from(record: Mapping[str, Any]) -> Entry:
    """A row of the database, for people."""
    kind = Kind(record["kind"])
    return Entry(
        number=record["number"],
        time=record["time"],
        kind=kind,
        analyst=record["analyst"],
        loss=exact_from(record["exact"]) if kind is Kind.CHARGE else None,  # a repeat costs nothing more
        request=record["request"],
        key=record["key"],
        note=record["note"],
        about=record["about"],
        over=bool(record["over"]),
        detail=record["detail"],
        digest=record["digest"],
        part=charge_from(record["detail"]).part if kind in ATTEMPTS else None,
    )
