"""TRUSTED: the ledger in one SQLite file. Safe for many threads and many processes, and across forks."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from privet.core.accountant import Budget
from privet.core.claim import claim
from privet.core.loss import parallel
from privet.core.partition import LONGEST_PART, Partition
from privet.errors import InvalidInputError, LedgerError, TamperedError
from privet.ledger import Charge, Entry, Reading, Receipt, Spent, Stored, Terms, anchor
from privet.ledger.account import Account, account_from
from privet.ledger.batch import Batches, Job
from privet.ledger.chain import START, digest, entry_from, exact_from, terms_from, terms_text
from privet.ledger.connection import (
    Connection,
    alone_in,
    begin,
    build,
    check_same,
    connect,
    connect_backup,
    connected,
    copy,
    explained,
    fresh_structure,
    ledger_error,
    new_file,
    replaced,
    structure,
)
from privet.ledger.part_accounts import called, charge_from, counted
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
        anchor.create(place, _last(part))  # before the ledger: without its anchor nobody could open it
    return open(place)


def open(path: str | os.PathLike[str]) -> SqliteLedger:
    """An existing ledger."""
    return SqliteLedger(Path(path))


def restore(backup: str | os.PathLike[str], path: str | os.PathLike[str], *, forget: bool = False) -> None:
    """Make a ledger of a backup, after verifying it.

    A restored ledger forgets what was spent after the backup, so the same budget can be spent twice. If the anchor of
    the ledger that was here before remembers a later entry, that is refused unless the owner says `forget`; then every
    later answer says it. Where there is no anchor, only a receipt from outside, given to `verify`, can tell.
    """
    source, place = Path(backup), Path(path)
    with alone_in(place.absolute().parent) as alone:
        if alone and place.is_file() and not place.stat().st_size:
            place.unlink()  # a restoration that was killed
        with new_file(place) as part, explained(source):
            origin = connect_backup(source)
            try:
                copy(origin, part)
            finally:
                origin.close()
            lost = _check_restored(part, place, forget=forget)
    if lost:
        accept(place)


def _check_restored(part: Path, place: Path, *, forget: bool) -> bool:
    """Does the copy fit, and does it lack entries that this place has seen?"""
    with connected(part) as connection:
        verify(connection, None)
        seen, head = anchor.read(place), _head(connection)
        if seen is None:
            anchor.create(place, head)
            return False
        lost = not anchor.has(connection, seen)
    if lost and not forget:
        raise LedgerError(
            f"the backup ends at entry {head.entry}, but the anchor of this vault records entry {seen.entry}",
            "restore a newer backup, or give forget=True: what was spent after the backup may then be spent again",
            "backup-too-old",
        )
    return lost


def accept(path: str | os.PathLike[str]) -> Receipt:
    """Go on with a ledger whose newest entries, or whose anchor, are lost, after verifying what is there.

    What the lost entries spent is not counted any more, so every later answer says that the cap may not hold.
    """
    place = Path(path).resolve()
    seen = anchor.read(place)
    with SqliteLedger(place, anchored=False) as ledger:
        ledger.verify()
        head = ledger.head()
        with ledger._read() as connection:
            if seen is not None and anchor.has(connection, seen):
                raise InvalidInputError(
                    "no entry of this ledger is known to be lost",
                    "use the ledger as it is; there is nothing to accept",
                    "nothing-to-do",
                )
        remembered = "nothing" if seen is None else f"entry {seen.entry}"
        detail = f"the anchor remembered {remembered}, the ledger ended at entry {head.entry}"
        receipt = ledger._batches.submit(lambda transaction: transaction.accept(detail))
    anchor.create(place, receipt)  # last: until then the ledger does not open, and this can be repeated
    return receipt


class SqliteLedger:
    """See `privet.ledger.Ledger`. One connection writes, another reads; both are opened when they are needed."""

    def __init__(self, path: Path, *, anchored: bool = True) -> None:
        self.path = path.resolve()  # SQLite finds the log beside the file itself, and we may change the folder
        self._closed = False
        self._anchored = anchored
        self._file: object = None  # what tells the ledger's file from others, once it was opened
        self._partition: Partition | None = None  # once there is one, it never changes
        self._writer: Connection | None = None
        self._reader: Connection | None = None
        self._reading = threading.Lock()
        self._batches: Batches[Work, Receipt] = Batches(self._commit)
        try:
            seen = anchor.read(self.path)  # before the ledger, which only grows
            with self._read() as connection:
                self.terms = _opening(connection)
                if anchored:
                    anchor.check(connection, self.path, seen)
                with suppress(sqlite3.Error):  # a full disk can still be read
                    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")  # what only the log has can be lost with it
        except BaseException:
            self.close()
            raise
        self._share = caps(self.terms.budget).share
        with CHANGING:
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
            raise InvalidInputError("an answer must be bytes, at most 256 MiB", "split the request", "too-large")
        self._batches.submit(lambda transaction: transaction.answer(receipt, body))

    def fail(self, receipt: Receipt, *, before_any_draw: bool = False) -> None:
        """The release failed after its charge. The third attempt without an answer suspends the analyst (never the
        owner), whatever ended it."""
        self._batches.submit(lambda transaction: transaction.failure(receipt, before_any_draw))

    def grant(self, analyst: str, budget: Budget) -> Receipt:
        """Cap one analyst, beside the cap of all. A later grant replaces it; what was spent stays spent."""
        _check_analyst(analyst)
        return self._batches.submit(lambda transaction: transaction.grant(analyst, budget))

    def divide(self, partition: Partition, check: Callable[[], None] = lambda: None) -> Receipt:
        """Give each part a budget of its own from now on, with what was spent so far. Once, forever. `check` raises
        if it must not be, while nobody else can change anything."""
        return self._batches.submit(lambda transaction: transaction.divide(partition, check))

    def reinstate(self, analyst: str) -> Receipt:
        """Let a suspended analyst ask again; three more attempts without an answer suspend again."""
        _check_analyst(analyst)
        return self._batches.submit(lambda transaction: transaction.reinstate(analyst))

    @property
    def noted(self) -> Mapping[str, str]:
        """Whom the tables that were asked protect, by the name of the table in lower case."""
        with self._read() as connection:
            return {row["name"]: row["protects"] for row in connection.execute("SELECT name, protects FROM noted")}

    @property
    def entries_lost(self) -> bool:
        """Did the owner accept a ledger whose newest entries are lost?"""
        with self._read() as connection:
            return connection.execute("SELECT 1 FROM entry WHERE kind = 'acceptance'").fetchone() is not None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Nobody else, in whatever process, changes the ledger or is in here meanwhile. Do not charge inside."""
        self._batches.turn.acquire()
        try:
            with explained(self.path):
                self._writer = connection = self._writer or self._connected()
                begin(connection)
                check_same(connection, self.path)
            yield
        finally:
            self._drop_writer()
            self._batches.give_back()

    def stored(self, request: str) -> Stored | None:
        """The first stored answer to the same request, whoever asked (rule 6)."""
        with self._read() as connection:
            return _answer(connection, "answer.request = ?", request)

    def replay(self, key: str, request: str) -> Stored | None:
        """The stored answer under this key, if there is one. A key belongs to one request forever."""
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
            raise TamperedError("an account of the ledger is missing", "do not use this ledger: restore a backup")
        return tuple(Reading(name=called(name), cap=self.terms.budget, spent=rows[name].spent()) for name in names)

    def granted(self, analyst: str) -> Budget | None:
        """The analyst's own cap."""
        return self._account(f"by:{analyst}").budget

    def suspended(self, analyst: str) -> bool:
        """May this analyst not ask for now?"""
        return bool(analyst) and self._account(f"by:{analyst}").suspended

    def head(self) -> Receipt:
        """A receipt of everything so far."""
        with self._read() as connection:
            return _head(connection)

    def entries(self) -> Iterator[Entry]:
        """All entries, oldest first; those written meanwhile come last."""
        return (_told(record) for record in self._records())

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
            return _last(part)

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
            with self._remembering() as memory:
                self._writer = connection = self._writer or self._connected()
                begin(connection)
                check_same(connection, self.path)
                memory.check(connection)
                transaction = Transaction(connection, self.terms, self._partition)
                for job in jobs:
                    begun.append(job)
                    outcomes.append(transaction.attempt(job.work))
                connection.execute("COMMIT")
                self._partition = transaction.partition
                check_same(connection, self.path)  # or it is durable in a file that nobody reads
                memory.remember(transaction.head)
        except BaseException as error:
            self._drop_writer()
            if not isinstance(error, sqlite3.Error | LedgerError):
                raise
            begun.extend(jobs)
            outcomes = [self._failed(error) for _ in begun]
        for job, outcome in zip(begun, outcomes, strict=True):
            job.result, job.error = (outcome, None) if isinstance(outcome, Receipt) else (None, outcome)

    def _remembering(self) -> AbstractContextManager[anchor.Memory]:
        return anchor.opened(self.path) if self._anchored else nullcontext(FORGETFUL)

    def _failed(self, error: sqlite3.Error | LedgerError) -> LedgerError:
        """One for each caller: threads must not raise the same object."""
        if isinstance(error, LedgerError):
            return LedgerError(error.problem, error.remedy, error.code)
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
            check_same(connection, self.path)
            yield connection

    def _connected(self) -> Connection:
        """A new connection, to the same file as all before it."""
        if self._closed:
            raise LedgerError(f"the ledger {self.path.name} is closed", "open it again", "closed")
        with explained(self.path):
            connection = connect(self.path)
        self._file = self._file or connection.files[0]
        others = [other.files for other in (self._reader, self._writer) if other is not None]
        if connection.files[0] != self._file or any(files != connection.files for files in others):
            connection.close()
            raise replaced(self.path)
        return connection

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
CHANGING = threading.Lock()  # of what is open; held during a fork
FORKING: list[SqliteLedger] = []


class _Forgetful(anchor.Memory):
    """For a ledger whose anchor is lost: it compares nothing and remembers nothing."""

    def __init__(self) -> None: ...

    def check(self, connection: sqlite3.Connection) -> None: ...

    def remember(self, head: Receipt) -> None: ...


FORGETFUL = _Forgetful()


def _before_fork() -> None:
    CHANGING.acquire()
    for ledger in sorted(OPEN, key=id):  # in one order, should two threads fork at once
        ledger.before_fork()
        FORKING.append(ledger)


def _after_fork(child: bool) -> None:
    while FORKING:
        FORKING.pop().after_fork(child)
    CHANGING.release()


getattr(os, "register_at_fork", dict)(  # Windows has no forks to be told of
    before=_before_fork,
    after_in_parent=lambda: _after_fork(False),
    after_in_child=lambda: _after_fork(True),
)


def _opening(connection: sqlite3.Connection) -> Terms:
    """The terms, if the first entry and the tables are what they were. `verify` looks at all the rest."""
    record = connection.execute("SELECT * FROM entry WHERE number = 1").fetchone()
    try:
        if record is None or record["digest"] != digest(START, record) or structure(connection) != fresh_structure():
            raise ValueError
        return terms_from(record["detail"])
    except Exception:
        raise TamperedError("the ledger's opening or its tables were changed", "restore a backup") from None


def _told(record: sqlite3.Row) -> Entry:
    try:
        return entry_from(dict(record))
    except Exception:
        raise TamperedError(f"entry {record['number']} is not valid", "run `privet ledger VAULT verify`") from None


def _head(connection: sqlite3.Connection) -> Receipt:
    row = connection.execute("SELECT number, digest FROM entry ORDER BY number DESC LIMIT 1").fetchone()
    return Receipt(entry=row["number"], digest=row["digest"])


def _last(path: Path) -> Receipt:
    """The last entry of a file that nobody else has open."""
    with connected(path) as connection:
        return _head(connection)


def _answer(connection: sqlite3.Connection, condition: str, value: str) -> Stored | None:
    query = "SELECT entry.*, body FROM answer JOIN entry ON entry.number = answer.charge"
    row = connection.execute(f"{query} WHERE {condition} ORDER BY entry.number LIMIT 1", (value,)).fetchone()
    if row is None:
        return None
    if not isinstance(row["body"], bytes):
        raise TamperedError("a stored answer was changed", "do not use this ledger: restore a backup")
    said = charge_from(row["detail"])
    return Stored(
        receipt=Receipt(entry=row["number"], digest=row["digest"]),
        charge=Charge(
            loss=exact_from(row["exact"]),
            request=row["request"],
            analyst=row["analyst"],
            key=row["key"],
            note=row["note"],
            domain=said.domain,
            part=said.part,
        ),
        body=row["body"],
    )


def _checked(charge: Charge) -> Charge:
    """The charge as it can be written down, or an error before anybody else's charge is touched."""
    if not charge.loss.epsilon and charge.loss.epsilon is not None:
        raise InvalidInputError("this charge is 0: it could be repeated forever", "price it above 0", "not-positive")
    if len(charge.request) != 64 or set(charge.request) - set("0123456789abcdef"):
        raise InvalidInputError("a request must be a SHA-256 digest in hex", "hash the request", "wrong-format")
    _check_text(charge.analyst, "the analyst's name", LONGEST_NAME)
    _check_text(charge.note, "the note", LONGEST_NOTE)
    _check_text(charge.domain, "the domain", LONGEST_NAME)
    if charge.domain.startswith("{"):
        raise InvalidInputError("a domain must not begin with {", "name the unit in words", "invalid-name")
    if charge.part is not None:
        _check_text(charge.part, "the part", LONGEST_PART)
    if charge.key is not None:
        _check_text(charge.key, "the idempotency key", LONGEST_NAME)
    return replace(charge, loss=writable(charge.loss))


def _check_analyst(analyst: str) -> None:
    if not analyst:
        raise InvalidInputError("the owner has no share and is never suspended", "name an analyst", "missing-name")
    _check_text(analyst, "the analyst's name", LONGEST_NAME)


def _check_text(text: str, name: str, longest: int) -> None:
    try:
        if len(text.encode()) <= longest:
            return
    except UnicodeEncodeError:  # half of a surrogate pair
        pass
    raise InvalidInputError(f"{name} is longer than {longest} bytes, or is not valid text", "shorten it", "too-long")
