"""TRUSTED: what was ever spent, kept where a crash cannot lose it and an edit shows.

This file has the data and the protocol; `sqlite.py` keeps them in one file, embedded. A charge is durable before
data are touched (docs/design/rules.md, rule 5), and the database itself refuses what no gauge certifies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from privet.core.accountant import Budget
from privet.core.loss import Loss
from privet.core.partition import Partition
from privet.core.unit import Neighbors

FAILURES_ALLOWED = 2  # the third attempt without an answer suspends an analyst


class Policy(StrEnum):
    """What happens at the cap: refuse, or (for the owner's own process only) answer and say so forever."""

    REFUSE = "refuse"
    WARN = "warn"


class Kind(StrEnum):
    """What an entry says."""

    OPENING = "opening"
    CHARGE = "charge"
    ANSWER = "answer"
    FAILURE = "failure"
    GRANT = "grant"
    REINSTATEMENT = "reinstatement"
    PARTITION = "partition"
    REPEAT = "repeat"
    ACCEPTANCE = "acceptance"


ATTEMPTS = (Kind.CHARGE, Kind.REPEAT)  # what an answer or a failure belongs to


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a ledger was created with. None of it ever changes."""

    budget: Budget
    neighbors: Neighbors
    policy: Policy
    testing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One release to be paid for. `request` is the SHA-256, in hex, of the canonical request."""

    loss: Loss
    request: str
    analyst: str = ""  # "" is the owner's own process
    key: str | None = None  # a retry with the same key replays the stored answer
    note: str = ""  # what was asked, for people
    domain: str = ""  # what is one unit: the first charge fixes it forever
    part: str | None = None  # whose units were asked about; None is everybody
    tables: tuple[tuple[str, str], ...] = ()  # that are asked, and whom each protects: the first charge fixes it


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The number of an entry, and the head of the hash chain after it. Kept outside, it proves a rollback."""

    entry: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """An answer that was released, with what was paid for it."""

    receipt: Receipt
    charge: Charge
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Sums as the ledger counts them: each price rounded up. A delta that the ledger could not count reads 1."""

    loss: Loss  # certified by the cap
    over: Loss  # what a 'warn' ledger let through since it first passed the cap

    @property
    def holds(self) -> bool:
        """Does the cap still hold?"""
        return self.over.epsilon == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One budget that a charge must fit, as we name it, and what is spent of it."""

    name: str
    cap: Budget
    spent: Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the ledger."""

    number: int
    time: str  # UTC, ISO 8601
    kind: Kind
    analyst: str
    loss: Loss | None  # of a charge
    request: str | None
    key: str | None
    note: str
    about: int | None  # the attempt that an answer or a failure belongs to; the failure that is repeated
    over: bool  # beyond the cap
    detail: str  # terms of the opening, domain and part of a charge, budget of a grant, parts, SHA-256 of an answer
    digest: str
    part: str | None = None  # whose units a charge was for


class Ledger(Protocol):
    """What the engine needs. Every method may be called from any thread."""

    @property
    def terms(self) -> Terms: ...

    @property
    def partition(self) -> Partition | None:
        """The parts that the units were divided into."""

    def divide(self, partition: Partition, check: Callable[[], None] = ...) -> Receipt:
        """Give each part a budget of its own from now on, with what was spent so far. Once, forever. `check` raises
        if it must not be, while nobody else can change anything."""

    @property
    def noted(self) -> Mapping[str, str]:
        """Whom the tables that were asked protect, by the name of the table in lower case."""

    @property
    def entries_lost(self) -> bool:
        """Did the owner accept a ledger whose newest entries are lost?"""

    def exclusive(self) -> AbstractContextManager[None]:
        """Nobody else, in whatever process, changes the ledger or is in here meanwhile."""

    def spend(self, charge: Charge) -> Receipt:
        """Durable when it returns; or raises, and then nothing may be released.

        An attempt that failed before any draw is repeated once, by the same analyst, without a new charge.
        """

    def store(self, receipt: Receipt, body: bytes) -> None:
        """Keep the answer to a charge. Durable when it returns."""

    def fail(self, receipt: Receipt, *, before_any_draw: bool = False) -> None:
        """The release failed after its charge. The third attempt without an answer suspends the analyst (never the
        owner), whatever ended it."""

    def stored(self, request: str) -> Stored | None:
        """The first stored answer to the same request, whoever asked."""

    def replay(self, key: str, request: str) -> Stored | None:
        """The stored answer under this key, if there is one. A key belongs to one request forever."""

    def spent(self, analyst: str | None = None, *, part: str | None = None) -> Spent:
        """Everything, or what one analyst spent ("" is the owner), or what counts for a part.

        With parts it is the most that any of their budgets has spent, on each gauge by itself.
        """

    def readings(self, part: str | None = None) -> tuple[Reading, ...]:
        """Every budget that a charge of everybody, or of a part, must fit; an analyst's share is another."""

    def grant(self, analyst: str, budget: Budget) -> Receipt:
        """Cap one analyst, beside the cap of all. A later grant replaces it; what was spent stays spent."""

    def granted(self, analyst: str) -> Budget | None:
        """The analyst's own cap."""

    def reinstate(self, analyst: str) -> Receipt:
        """Let a suspended analyst ask again; three more attempts without an answer suspend again."""

    def suspended(self, analyst: str) -> bool:
        """May this analyst not ask for now?"""

    def head(self) -> Receipt:
        """A receipt of everything so far."""

    def entries(self) -> Iterator[Entry]:
        """All entries, oldest first."""

    def verify(self, receipt: Receipt | None = None) -> None:
        """Raise TamperedError unless all entries, sums and answers fit each other, and the receipt."""

    def close(self) -> None:
        """Give the files back. A closed ledger refuses everything."""
