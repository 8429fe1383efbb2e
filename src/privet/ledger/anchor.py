"""TRUSTED: a second file that remembers the newest entry, so that a lost log or an older copy shows when it is opened.

It is compared before each commit, and written after it and not synced: by then the ledger itself is on the disk, so the
anchor is never ahead of it. A write goes to the older of two slots; one that was cut off leaves the newer.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from privet.core.claim import claim
from privet.errors import LedgerError, TamperedError
from privet.ledger import Receipt

SLOT = 128  # bytes
LINE = re.compile(rb"([0-9]{1,19}) ([0-9a-f]{64}) ([0-9a-f]{16})\n *")
ACCEPT = "if neither is possible, run `privet ledger VAULT accept`: every later answer will say so"


def anchor_of(path: Path) -> Path:
    return path.with_name(path.name + "-anchor")


def create(path: Path, head: Receipt) -> None:
    """The anchor of a ledger, whatever was there before. It appears complete, for its owner's eyes only."""
    place = anchor_of(path)
    new = place.with_name(f"{place.name}.{secrets.token_hex(8)}")
    try:
        try:
            with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(b" " * 2 * SLOT)
                _write(file, 0, head)
                file.flush()
                os.fsync(file.fileno())
            new.replace(place)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritten(place, error) from error


class Memory:
    """An anchor that is open: what it remembers is compared before a commit, and the new entry written after it."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file, self._path = file, path

    def check(self, connection: sqlite3.Connection) -> None:
        """Under the ledger's lock: everything that anybody can have remembered must be there."""
        check(connection, self._path, _newest(self._slots()))

    def remember(self, head: Receipt) -> None:
        """In the slot with the older entry; the other one stays, whatever happens meanwhile. Its bytes are there
        already, so a full disk rarely matters."""
        slots = self._slots()
        entries = [0 if slot is None else slot.entry for slot in slots]
        if max(entries) < head.entry:  # or another process has remembered more
            try:
                _write(self._file, entries.index(min(entries)), head)
            except OSError as error:
                raise _unwritten(anchor_of(self._path), error) from error

    def _slots(self) -> list[Receipt | None]:
        self._file.seek(0)
        return _parsed(self._file.read())


@contextmanager
def opened(path: Path) -> Iterator[Memory]:
    """The anchor of a ledger, to be written: whatever is wrong with it is said before anything is charged."""
    place = anchor_of(path)
    try:
        file = place.open("r+b", buffering=0)
    except FileNotFoundError:
        raise _missing(place) from None
    except OSError as error:
        raise _unwritten(place, error) from error
    with file:
        yield Memory(file, path)


def _unwritten(place: Path, error: OSError) -> LedgerError:
    return LedgerError(
        f"{place.name} cannot be written: {error.strerror}",
        "check the disk and the folder's permissions",
        "cannot-write",
    )


def _write(file: IO[bytes], slot: int, head: Receipt) -> None:
    said = f"{head.entry} {head.digest}"
    file.seek(slot * SLOT)
    file.write(f"{said} {_check(said)}\n".encode().ljust(SLOT))


def read(path: Path) -> Receipt | None:
    """The newest entry that was remembered; None if the anchor is gone or says nothing."""
    place = anchor_of(path)
    try:
        return _newest(_parsed(place.read_bytes()))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(
            f"{place.name} cannot be read: {error.strerror}", "check the folder and its permissions", "unreadable-file"
        ) from error


def _parsed(text: bytes) -> list[Receipt | None]:
    found = [LINE.fullmatch(text[start : start + SLOT]) for start in (0, SLOT)]
    return [Receipt(entry=int(one[1]), digest=one[2].decode()) if one and _fits(one) else None for one in found]


def _newest(slots: list[Receipt | None]) -> Receipt | None:
    return max((slot for slot in slots if slot is not None), key=lambda slot: slot.entry, default=None)


@claim("ledger-anchor")
def check(connection: sqlite3.Connection, path: Path, seen: Receipt | None) -> None:
    """Raise TamperedError unless the ledger has the entry that the anchor remembers."""
    place = anchor_of(path)
    if seen is None:
        raise _missing(place)
    if not has(connection, seen):
        last = connection.execute("SELECT max(number) FROM entry").fetchone()[0]
        raise TamperedError(
            f"the ledger ends at entry {last}, but {place.name} records an entry {seen.entry} that it lacks: its log"
            " was lost, or an older copy was put in its place",
            f"put back the newest ledger with its log, or restore a backup; {ACCEPT}",
        )


def _missing(place: Path) -> TamperedError:
    return TamperedError(
        f"{place.name} is missing or damaged, so entries of the ledger may be lost",
        f"put it back, or restore a backup; {ACCEPT}",
    )


def has(connection: sqlite3.Connection, receipt: Receipt) -> bool:
    """Does the ledger have this very entry?"""
    query = "SELECT 1 FROM entry WHERE number = ? AND digest = ?"
    return connection.execute(query, (receipt.entry, receipt.digest)).fetchone() is not None


def _fits(slot: re.Match[bytes]) -> bool:
    return _check(f"{slot[1].decode()} {slot[2].decode()}") == slot[3].decode()


def _check(said: str) -> str:
    return hashlib.sha256(said.encode()).hexdigest()[:16]
