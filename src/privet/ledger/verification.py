"""TRUSTED: does everything in the ledger fit together? Replays all entries, in Python, beside the database's sums."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, assert_never

from privet.core.claim import claim
from privet.core.partition import Partition, check_partition
from privet.errors import TamperedError
from privet.ledger import Kind, Policy, Receipt
from privet.ledger.account import ROW, UNITS, Account, budget_from, granted
from privet.ledger.chain import START, digest, exact_from, terms_from
from privet.ledger.connection import fresh_structure, is_divided, structure
from privet.ledger.part_accounts import charge_from, counted, partition_from
from privet.ledger.schema import ALL, REPEATABLE
from privet.ledger.units import Units, caps


@claim("ledger-chain")
def verify(connection: sqlite3.Connection, receipt: Receipt | None) -> None:
    """Raise TamperedError if anything is not consistent. The caller holds a read transaction."""
    if connection.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
        raise _tampered("the file is damaged")
    if structure(connection) != fresh_structure():
        raise _tampered("the tables or triggers were changed")
    replay = Replay()
    head = START
    for record in connection.execute("SELECT * FROM entry ORDER BY number"):
        number = record["number"]
        if number != replay.entries + 1:
            raise _tampered(f"entry {replay.entries + 1} is missing")
        try:
            head = digest(head, dict(record))
        except Exception:  # a BLOB where a text was
            raise _tampered(f"entry {number} was changed") from None
        if head != record["digest"]:
            raise _tampered(f"entry {number} was changed, or one before it")
        if receipt is not None and receipt.entry == number and receipt.digest != head:
            raise _tampered(f"entry {number} is not the one on the receipt")
        try:
            replay.add(record)
        except Exception as error:
            raise _tampered(f"entry {number} is not valid") from error
    if receipt is not None and not 1 <= receipt.entry <= replay.entries:
        raise _tampered(f"the receipt is for entry {receipt.entry}; the ledger ends at {replay.entries}")
    _compare(connection, replay)


class Replay:
    """Accounts as the entries say, by the same arithmetic that the database did."""

    def __init__(self) -> None:
        self.entries = 0
        self.accounts: dict[str, Account] = {}
        self.attempts: dict[int, Mapping[str, Any]] = {}  # charges and repeats without an outcome yet
        self.repeatable: dict[int, Mapping[str, Any]] = {}  # failure -> its charge
        self.answers: dict[int, tuple[str, str]] = {}  # attempt -> request, SHA-256 of the body
        self.noted: dict[str, tuple[str, int]] = {}  # table -> whom it protects, the charge that said so
        self._exact: defaultdict[str, Counter[str]] = defaultdict(Counter)  # analyst -> prices
        self.domain: str | None = None  # of the first charge
        self.partition: Partition | None = None

    def add(self, record: Mapping[str, Any]) -> None:
        kind, analyst = Kind(record["kind"]), record["analyst"]
        self.entries += 1
        if (kind is Kind.OPENING) != (self.entries == 1):
            raise ValueError
        if kind is Kind.OPENING:
            self._open(record["detail"])
            return
        if kind is Kind.PARTITION:
            self._divide(partition_from(record["detail"]))
            return
        if kind is Kind.ACCEPTANCE:
            return
        own = self.accounts.setdefault(f"by:{analyst}", self._fresh(analyst))
        match kind:
            case Kind.CHARGE:
                self._charge(own, analyst, record)
            case Kind.REPEAT:
                self._repeat(own, record)
            case Kind.ANSWER:
                attempt = self._outcome(own, record)
                self.answers[record["about"]] = attempt["request"], record["detail"]
            case Kind.FAILURE:
                self._fail(own, record)
            case Kind.GRANT:
                losses = Counter({exact_from(text): count for text, count in self._exact[analyst].items()})
                self.accounts[own.name] = granted(own, budget_from(record["detail"]), losses)
            case Kind.REINSTATEMENT:
                self.accounts[own.name] = replace(own, failures=0, unfinished=0)
            case _:
                assert_never(kind)

    def _open(self, detail: str) -> None:
        terms = terms_from(detail)
        self.policy, self.share, self.neighbors = terms.policy, caps(terms.budget).share, terms.neighbors
        self.accounts[ALL] = Account(name=ALL, policy=terms.policy, budget=terms.budget, share=self.share)

    def _divide(self, partition: Partition) -> None:
        if self.partition is not None or self.policy is not Policy.REFUSE:
            raise ValueError
        check_partition(partition, self.neighbors)
        self.partition = partition
        for name in counted(partition, self.neighbors, None):
            self.accounts[name] = replace(self.accounts[ALL], name=name)

    def _fresh(self, analyst: str) -> Account:
        policy = Policy.REFUSE if analyst else self.policy
        return Account(name=f"by:{analyst}", policy=policy, budget=None, share=self.share)

    def _charge(self, own: Account, analyst: str, record: Mapping[str, Any]) -> None:
        loss, everybody = exact_from(record["exact"]), self.accounts[ALL]
        said = charge_from(record["detail"])
        price = everybody.price(loss)
        if price != Units(**{name: record[name] for name in UNITS}):
            raise ValueError
        names = counted(self.partition, self.neighbors, said.part)
        charged = [(own, own.price(loss)), *((self.accounts[name], price) for name in names)]  # parts have its caps
        certified = all(account.takes(units) for account, units in charged) and everybody.over == Units()
        allowed = certified or (self.policy is Policy.WARN and not analyst)
        if not allowed or certified == bool(record["over"]) or (analyst and own.suspended):
            raise ValueError
        if self.domain is None:
            self.domain = said.domain
        if self.domain != said.domain or said.noted.keys() & self.noted.keys():
            raise ValueError
        self.noted |= {name: (protects, self.entries) for name, protects in said.noted.items()}
        for account, units in charged:
            self.accounts[account.name] = account.charged(units, over=not certified)
        self._exact[analyst][record["exact"]] += 1
        self._begin(self.accounts[own.name], record)

    def _begin(self, own: Account, record: Mapping[str, Any]) -> None:
        self.attempts[self.entries] = record
        self.accounts[own.name] = replace(own, unfinished=own.unfinished + 1)

    def _repeat(self, own: Account, record: Mapping[str, Any]) -> None:
        """Of the same question, by the same analyst, at the price that was paid."""
        charge = self.repeatable.pop(record["about"])
        if (record["analyst"] and own.suspended) or any(
            record[name] != charge[name] for name in ("analyst", "request", "exact")
        ):
            raise ValueError
        if charge_from(record["detail"]) != replace(charge_from(charge["detail"]), noted={}):
            raise ValueError
        self._begin(own, record)

    def _fail(self, own: Account, record: Mapping[str, Any]) -> None:
        attempt = self._outcome(own, record)
        if record["detail"] == REPEATABLE:
            if attempt["kind"] != Kind.CHARGE or record["request"] != attempt["request"]:
                raise ValueError
            self.repeatable[self.entries] = attempt
        own = self.accounts[own.name]
        self.accounts[own.name] = replace(own, failures=own.failures + 1)

    def _outcome(self, own: Account, record: Mapping[str, Any]) -> Mapping[str, Any]:
        attempt = self.attempts.pop(record["about"])
        if attempt["analyst"] != record["analyst"]:
            raise ValueError
        self.accounts[own.name] = replace(own, unfinished=max(own.unfinished - 1, 0))
        return attempt


def _compare(connection: sqlite3.Connection, replay: Replay) -> None:
    """The database's sums and answers beside the replayed ones."""
    if not replay.entries:
        raise _tampered("there is no opening entry")
    if is_divided(connection) != (replay.partition is not None):
        raise _tampered("the header and the entries do not agree on whether there are parts")
    kept = {row["name"]: tuple(row[name] for name in ROW) for row in connection.execute("SELECT * FROM account")}
    if kept != {name: account.row() for name, account in replay.accounts.items()}:
        raise _tampered("the sums or caps differ from those of the entries")
    noted = {row["name"]: (row["protects"], row["charge"]) for row in connection.execute("SELECT * FROM noted")}
    if noted != replay.noted:
        raise _tampered("the record of whom each table protects differs from the charges")
    missing = set(replay.answers)
    for row in connection.execute("SELECT * FROM answer"):
        missing.discard(row["charge"])
        body = row["body"] if isinstance(row["body"], bytes) else b""
        said = row["request"], hashlib.sha256(body).hexdigest()
        if replay.answers.get(row["charge"]) != said or body is not row["body"]:
            raise _tampered(f"the answer to charge {row['charge']} was changed")
    if missing:
        raise _tampered(f"the answer to charge {min(missing)} is missing")


def _tampered(problem: str) -> TamperedError:
    return TamperedError(
        f"the ledger is not consistent: {problem}",
        "do not use this ledger: restore a backup, then run `privet ledger VAULT verify --receipt ENTRY:DIGEST`",
    )
