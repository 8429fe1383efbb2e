"""TRUSTED: a second file that remembers the newest entry, so that a lost log or an older copy shows when it is opened.

It is written after each commit and not synced: by then the ledger itself is on the disk, so the anchor is never ahead
of it. Two slots take turns; a write that was cut off leaves the other.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sqlite3
from pathlib import Path
from typing import IO

from privet.core.claim import claim
from privet.errors import LedgerError, TamperedError
from privet.ledger import Receipt

SLOT = 128  # bytes
LINE = re.compile(rb"([0-9]{1,19}) ([0-9a-f]{64}) ([0-9a-f]{16})\n *")
ACCEPT = "or, if that is gone for good, run `privet ledger VAULT accept`: every later answer will say so"


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
                _write(file, head)
                file.flush()
                os.fsync(file.fileno())
            new.replace(place)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritten(place, error) from error


def remember(path: Path, head: Receipt) -> None:
    """This entry, in the slot whose turn it is. Its bytes are there already, so a full disk does not matter."""
    place = anchor_of(path)
    try:
        with place.open("r+b", buffering=0) as file:
            _write(file, head)
    except OSError as error:
        raise _unwritten(place, error) from error


def _unwritten(place: Path, error: OSError) -> LedgerError:
    return LedgerError(f"{place.name} cannot be written: {error.strerror}", "check the disk and the folder's rights")


def _write(file: IO[bytes], head: Receipt) -> None:
    said = f"{head.entry} {head.digest}"
    file.seek(head.entry % 2 * SLOT)
    file.write(f"{said} {_check(said)}\n".encode().ljust(SLOT))


def read(path: Path) -> Receipt | None:
    """The newest entry that was remembered; None if the anchor is gone or says nothing."""
    try:
        text = anchor_of(path).read_bytes()
    except OSError:
        return None
    slots = [LINE.fullmatch(text[start : start + SLOT]) for start in (0, SLOT)]
    found = [(int(slot[1]), slot[2].decode()) for slot in slots if slot is not None and _fits(slot)]
    return Receipt(entry=max(found)[0], digest=max(found)[1]) if found else None


@claim("ledger-anchor")
def check(connection: sqlite3.Connection, path: Path, seen: Receipt | None) -> None:
    """Raise TamperedError unless the ledger has the entry that the anchor remembers."""
    place = anchor_of(path)
    if seen is None:
        raise TamperedError(
            f"{place.name} is missing or damaged: nobody can tell whether entries of the ledger are lost",
            f"put it back, or restore a backup; {ACCEPT}",
        )
    if not has(connection, seen):
        last = connection.execute("SELECT max(number) FROM entry").fetchone()[0]
        raise TamperedError(
            f"the ledger ends at entry {last}, but {place.name} remembers another entry {seen.entry}: the ledger's log"
            " was lost, or an older copy was put in its place",
            f"put back the newest ledger with its log, or restore a backup; {ACCEPT}",
        )


def has(connection: sqlite3.Connection, receipt: Receipt) -> bool:
    """Does the ledger have this very entry?"""
    query = "SELECT 1 FROM entry WHERE number = ? AND digest = ?"
    return connection.execute(query, (receipt.entry, receipt.digest)).fetchone() is not None


def _fits(slot: re.Match[bytes]) -> bool:
    return _check(f"{slot[1].decode()} {slot[2].decode()}") == slot[3].decode()


def _check(said: str) -> str:
    return hashlib.sha256(said.encode()).hexdigest()[:16]
