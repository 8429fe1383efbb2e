"""TRUSTED: the ledger in one SQLite file. Safe for many threads and many processes, and across forks."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from privet.core.accountant import Budget
from privet.core.claim import claim
from privet.core.loss import parallel
from privet.core.partition import LONGEST_PART, Partition
from privet.errors import InvalidInputError, LedgerError, TamperedError
from privet.ledger import FAILURES_ALLOWED, Charge, Entry, Reading, Receipt, Spent, Stored, Terms
from privet.ledger.account import Account, account_from
from privet.ledger.batch import Batches, Job
from privet.ledger.chain import START, digest, entry_from, exact_from, terms_from, terms_text
from privet.ledger.connection import (
    begin,
    build,
    connect,
    connect_backup,
    copy,
    explained,
    fresh_structure,
    ledger_error,
    new_file,
    structure,
)
from privet.ledger.parts import called, charge_from, counted
from privet.ledger.schema import ENTRY
from privet.ledger.transaction import Transaction, check_key, partition_in, rows_of
from privet.ledger.units import caps, writable
from privet.ledger.verification import verify

Work = Callable[[Transaction], Receipt]
PAGE = 500  # entries read at a time
LONGEST_NAME, LONGEST_NOTE, LARGEST_BODY = 200, 10**6, 2**28


def create(path: str | os.PathLike[str], terms: Terms) -> SqliteLedger:
    """A new ledger. The file appears complete or not at all, for its owner's eyes only."""
    place = Path(path)
    with new_file(place) as part, explained(place):
        connection = build(part)
        try:
            connection.execute("BEGIN IMMEDIATE")
            Transaction(connection, terms).open(terms_text(terms, secrets.token_hex(16)))
            connection.execute("COMMIT")
        finally:
            connection.close()
    return open(place)


def open(path: str | os.PathLike[str]) -> SqliteLedger:
    """An existing ledger."""
    return SqliteLedger(Path(path))


def restore(backup: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Make a ledger of a backup, after verifying it.

    A restored ledger forgets what was spent after the backup, so the same budget can be spent twice. Nothing in the
    file can tell: only a receipt from outside, given to `verify`, shows that entries are missing.
    """
    source, place = Path(backup), Path(path)
    with new_file(place) as part, explained(source):
        origin = connect_backup(source)
        try:
            copy(origin, part)
        finally:
            origin.close()
        with open(part) as copied:
            copied.verify()


class SqliteLedger:
    """See `privet.ledger.Ledger`. One connection writes, another reads; both are opened when they are needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._closed = False
        self._partition: Partition | None = None  # once there is one, it never changes
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._reading = threading.Lock()
        self._batches: Batches[Work, Receipt] = Batches(self._commit)
        try:
            with self._read() as connection:
                self.terms = _opening(connection)
        except BaseException:
            self.close()
            raise
        self._share = caps(self.terms.budget).share
        OPEN.add(self)

    @claim("ledger-durable-order")
    def spend(self, charge: Charge) -> Receipt:
        """Durable when it returns; or raises, and then nothing may be released."""
        checked = _checked(charge)
        return self._batches.submit(lambda transaction: transaction.charge(checked))

    @claim("ledger-durable-order")
    def store(self, receipt: Receipt, body: bytes) -> None:
        """Keep the answer to a charge. Durable when it returns."""
        if not isinstance(body, bytes) or len(body) > LARGEST_BODY:
            raise InvalidInputError("an answer must be bytes, at most 256 MiB", "split the request")
        self._batches.submit(lambda transaction: transaction.answer(receipt, body))

    def fail(self, receipt: Receipt) -> None:
        """The release failed after its charge. The third failure suspends the analyst (never the owner)."""
        self._batches.submit(lambda transaction: transaction.failure(receipt))

    def grant(self, analyst: str, budget: Budget) -> Receipt:
        """Cap one analyst, beside the cap of all. A later grant replaces it; what was spent stays spent."""
        _check_analyst(analyst)
        return self._batches.submit(lambda transaction: transaction.grant(analyst, budget))

    def divide(self, partition: Partition) -> Receipt:
        """Give each part a budget of its own from now on, with what was spent so far. Once, for ever."""
        return self._batches.submit(lambda transaction: transaction.divide(partition))

    def reinstate(self, analyst: str) -> Receipt:
        """Let a suspended analyst ask again; three more failures suspend again."""
        _check_analyst(analyst)
        return self._batches.submit(lambda transaction: transaction.reinstate(analyst))

    def stored(self, request: str) -> Stored | None:
        """The first stored answer to the same request, whoever asked (RULES of soundness, 6)."""
        with self._read() as connection:
            return _answer(connection, "answer.request = ?", request)

    def replay(self, key: str, request: str) -> Stored | None:
        """The stored answer under this key, if there is one. A key belongs to one request for ever."""
        with self._read() as connection:
            check_key(connection, key, request)
            return _answer(connection, "entry.key = ?", key)

    @property
    def partition(self) -> Partition | None:
        """The parts that the units were divided into, by whichever process."""
        if self._partition is None:
            with self._read() as connection:
                self._partition = partition_in(connection)
        return self._partition

    def spent(self, analyst: str | None = None, *, part: str | None = None) -> Spent:
        """Everything, or what one analyst spent ("" is the owner), or what counts for a part.

        With parts it is the most that any of their budgets has spent, on each gauge by itself.
        """
        if analyst is not None:
            return self._account(f"by:{analyst}").spent()
        found = [reading.spent for reading in self.readings(part)]
        return Spent(loss=parallel([one.loss for one in found]), over=parallel([one.over for one in found]))

    def readings(self, part: str | None = None) -> tuple[Reading, ...]:
        """Every budget that a charge of everybody, or of a part, must fit; an analyst's share is another."""
        names = counted(self.partition, self.terms.neighbors, part)
        with self._read() as connection:
            rows = {row["name"]: account_from(row, self._share) for row in rows_of(connection, names)}
        if len(rows) < len(names):
            raise TamperedError("an account of the ledger is gone", "answer nothing from it; restore a backup")
        return tuple(Reading(name=called(name), cap=self.terms.budget, spent=rows[name].spent()) for name in names)

    def granted(self, analyst: str) -> Budget | None:
        """The analyst's own cap."""
        return self._account(f"by:{analyst}").budget

    def suspended(self, analyst: str) -> bool:
        """May this analyst not ask for now?"""
        return bool(analyst) and self._account(f"by:{analyst}").failures > FAILURES_ALLOWED

    def head(self) -> Receipt:
        """A receipt of everything so far."""
        with self._read() as connection:
            row = connection.execute("SELECT number, digest FROM entry ORDER BY number DESC LIMIT 1").fetchone()
        return Receipt(entry=row["number"], digest=row["digest"])

    def entries(self) -> Iterator[Entry]:
        """All entries, oldest first; those written meanwhile come last."""
        return (entry_from(dict(record)) for record in self._records())

    def verify(self, receipt: Receipt | None = None) -> None:
        """Raise TamperedError unless all entries, sums and answers fit each other, and the receipt."""
        with self._read() as connection:
            connection.execute("BEGIN")  # one moment, while others may write
            try:
                verify(connection, receipt)
            finally:
                connection.execute("ROLLBACK")

    def backup(self, path: str | os.PathLike[str]) -> Receipt:
        """Copy everything as of now into a new file, durably. The receipt is of the copy's last entry."""
        place = Path(path)
        with new_file(place) as part, explained(place):
            with self._read() as connection:
                copy(connection, part)
            with open(part) as copied:
                return copied.head()

    def export(self, target: str | os.PathLike[str] | TextIO) -> None:
        """All entries as lines of JSON, with their digests: enough to check the chain elsewhere. No answers."""
        if isinstance(target, str | os.PathLike):
            with new_file(Path(target)) as part, part.open("w", encoding="utf-8") as file:
                self.export(file)
            return
        for record in self._records():
            target.write(json.dumps({name: record[name] for name in (*ENTRY, "digest")}, sort_keys=True) + "\n")

    def close(self) -> None:
        """Give the files back. A closed ledger refuses everything."""
        self._batches.turn.acquire()
        try:
            with self._reading:
                self._closed = True
                self._disconnect()
        finally:
            self._batches.give_back()  # who still waits is told that it is closed
        OPEN.discard(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _commit(self, jobs: Iterator[Job[Work, Receipt]]) -> None:
        """All of them in one transaction. One that is refused leaves the others alone; an error of the disk fails all.

        Nobody is told of success before COMMIT has returned.
        """
        begun: list[Job[Work, Receipt]] = []
        outcomes: list[Receipt | Exception] = []
        try:
            self._writer = connection = self._writer or self._connected()
            begin(connection)
            transaction = Transaction(connection, self.terms, self._partition)
            for job in jobs:
                begun.append(job)
                outcomes.append(transaction.attempt(job.work))
            connection.execute("COMMIT")
            self._partition = transaction.partition
        except BaseException as error:
            self._drop_writer()
            if not isinstance(error, sqlite3.Error | LedgerError):
                raise
            begun.extend(jobs)
            outcomes = [self._failed(error) for _ in begun]
        for job, outcome in zip(begun, outcomes, strict=True):
            job.result, job.error = (outcome, None) if isinstance(outcome, Receipt) else (None, outcome)

    def _failed(self, error: sqlite3.Error | LedgerError) -> LedgerError:
        """One for each caller: threads must not raise the same object."""
        if isinstance(error, LedgerError):
            return LedgerError(error.problem, error.remedy)
        return ledger_error(error, self.path)

    def _drop_writer(self) -> None:
        """Closing undoes an open transaction, and forgets whatever state an error of the disk has left."""
        if self._writer is not None:
            self._writer.close()
        self._writer = None

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        with self._reading, explained(self.path):
            self._reader = connection = self._reader or self._connected()
            yield connection

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise LedgerError(f"the ledger {self.path.name} is closed", "open it again")
        with explained(self.path):
            return connect(self.path)

    def _records(self) -> Iterator[sqlite3.Row]:
        last = 0
        while True:
            with self._read() as connection:
                query = "SELECT * FROM entry WHERE number > ? ORDER BY number LIMIT ?"
                page = connection.execute(query, (last, PAGE)).fetchall()
            if not page:
                return
            yield from page
            last = page[-1]["number"]

    def _account(self, name: str) -> Account:
        with self._read() as connection:
            row = connection.execute("SELECT * FROM account WHERE name = ?", (name,)).fetchone()
        if row is None:
            return Account(name=name, policy=self.terms.policy, budget=None, share=self._share)
        return account_from(row, self._share)

    def _disconnect(self) -> None:
        self._drop_writer()
        if self._reader is not None:
            self._reader.close()
        self._reader = None

    def before_fork(self) -> None:
        """SQLite must not take an open file through a fork: both processes would believe in the same locks."""
        self._batches.turn.acquire()
        self._reading.acquire()
        self._disconnect()

    def after_fork(self, child: bool) -> None:
        if child:
            self._batches.forget()
        self._reading.release()
        self._batches.give_back()


OPEN: weakref.WeakSet[SqliteLedger] = weakref.WeakSet()
FORKING: list[SqliteLedger] = []


def _before_fork() -> None:
    for ledger in sorted(OPEN, key=id):  # in one order, should two threads fork at once
        ledger.before_fork()
        FORKING.append(ledger)


def _after_fork(child: bool) -> None:
    while FORKING:
        FORKING.pop().after_fork(child)


getattr(os, "register_at_fork", dict)(  # Windows has no forks to be told of
    before=_before_fork,
    after_in_parent=lambda: _after_fork(False),
    after_in_child=lambda: _after_fork(True),
)


def _opening(connection: sqlite3.Connection) -> Terms:
    """The terms, if the first entry and the tables are what they were. `verify` looks at all the rest."""
    record = connection.execute("SELECT * FROM entry WHERE number = 1").fetchone()
    if record is None or record["digest"] != digest(START, record) or structure(connection) != fresh_structure():
        raise TamperedError("the ledger's opening or its tables were changed", "restore a backup")
    return terms_from(record["detail"])


def _answer(connection: sqlite3.Connection, condition: str, value: str) -> Stored | None:
    query = "SELECT entry.*, body FROM answer JOIN entry ON entry.number = answer.charge"
    row = connection.execute(f"{query} WHERE {condition} ORDER BY entry.number LIMIT 1", (value,)).fetchone()
    if row is None:
        return None
    domain, part = charge_from(row["detail"])
    return Stored(
        receipt=Receipt(entry=row["number"], digest=row["digest"]),
        charge=Charge(
            loss=exact_from(row["exact"]),
            request=row["request"],
            analyst=row["analyst"],
            key=row["key"],
            note=row["note"],
            domain=domain,
            part=part,
        ),
        body=row["body"],
    )


def _checked(charge: Charge) -> Charge:
    """The charge as it can be written down, or an error before anybody else's charge is touched."""
    if not charge.loss.epsilon and charge.loss.epsilon is not None:
        raise InvalidInputError("this charge is 0: it could be repeated for ever", "price the release above 0")
    if len(charge.request) != 64 or set(charge.request) - set("0123456789abcdef"):
        raise InvalidInputError("a request is not the SHA-256 of something, in hex", "hash the canonical request")
    _check_text(charge.analyst, "the analyst's name", LONGEST_NAME)
    _check_text(charge.note, "the note", LONGEST_NOTE)
    _check_text(charge.domain, "the domain", LONGEST_NAME)
    if charge.domain.startswith("{"):
        raise InvalidInputError("a domain begins with {, as what names a part does", "name the unit in words")
    if charge.part is not None:
        _check_text(charge.part, "the part", LONGEST_PART)
    if charge.key is not None:
        _check_text(charge.key, "the idempotency key", LONGEST_NAME)
    return replace(charge, loss=writable(charge.loss))


def _check_analyst(analyst: str) -> None:
    if not analyst:
        raise InvalidInputError("the owner has no share and is never suspended", "name an analyst")
    _check_text(analyst, "the analyst's name", LONGEST_NAME)


def _check_text(text: str, name: str, longest: int) -> None:
    try:
        if len(text.encode()) <= longest:
            return
    except UnicodeEncodeError:  # half of a surrogate pair
        pass
    raise InvalidInputError(f"{name} is longer than {longest} bytes, or no valid text", "shorten it")
