"""TRUSTED: connections to a ledger's file that keep what they commit, and errors with a remedy."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from privet.core.claim import claim
from privet.errors import LedgerError
from privet.ledger.schema import APPLICATION, DIVIDED, FORMAT, SCHEMA

PATIENCE = 60.0  # seconds that we wait for other processes
FOLDERS_LOCK = os.name == "posix"
LONGEST_LOG = 256  # pages; then they are moved to the ledger's own file

REASONS = {
    sqlite3.SQLITE_FULL: ("the disk is full", "free some space, then ask again"),
    sqlite3.SQLITE_IOERR: (
        "the disk reported an error",
        "check the disk; if `privet ledger VAULT verify` fails, restore a backup",
    ),
    sqlite3.SQLITE_READONLY: ("the file may not be written", "allow its owner to write the file and the folder"),
    sqlite3.SQLITE_CANTOPEN: ("the file cannot be opened", "check the path and the permissions of its folder"),
    sqlite3.SQLITE_NOTADB: ("the file is not a ledger", "give the path of a file that Privet created"),
    sqlite3.SQLITE_CORRUPT: ("the file is damaged", "restore a backup, and compare it with a receipt"),
    sqlite3.SQLITE_BUSY: ("another process holds it", "end the other process, or try again later"),
}
CODES = {
    sqlite3.SQLITE_FULL: "disk-full",
    sqlite3.SQLITE_READONLY: "cannot-write",
    sqlite3.SQLITE_CANTOPEN: "unreadable-file",
    sqlite3.SQLITE_NOTADB: "wrong-format",
    sqlite3.SQLITE_CORRUPT: "ledger-tampered",
    sqlite3.SQLITE_BUSY: "ledger-busy",
}


def ledger_error(error: sqlite3.Error, path: Path) -> LedgerError:
    """What SQLite said, as a problem and its remedy."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    reason, remedy = REASONS.get(code, (f"SQLite refused ({error})", "run `privet ledger VAULT verify`"))
    return LedgerError(f"the ledger {path.name} cannot be used: {reason}", remedy, CODES.get(code, "ledger-unusable"))


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise ledger_error(error, path) from error


class Connection(sqlite3.Connection):
    """Knows which files it has open: the ledger's, its log's, and that of the log's locks."""

    files: tuple[object, ...] = ()


@claim("one-ledger-one-file")
def check_same(connection: Connection, path: Path) -> None:
    """Raise LedgerError if another file took the ledger's name: what we would write is not what others read."""
    if connection.files != _files(path):
        raise replaced(path)


def replaced(path: Path) -> LedgerError:
    return LedgerError(
        f"the ledger {path.name} or its log was moved, deleted or replaced while it was open",
        "open the vault again: only the ledger that is there now counts",
        "ledger-replaced",
    )


def _files(path: Path) -> tuple[object, ...]:
    """What tells the ledger's files from others. A second name would have a log and locks of its own."""
    main = _stat(path)
    if main is not None and main.st_nlink > 1:
        raise LedgerError(
            f"the ledger {path.name} has a second name (a hard link), which would be a second budget",
            f"stop all programs that use it; rename {path.name} to old.sqlite, and {path.name}-wal, if there is one, to"
            " old.sqlite-wal; run `privet ledger VAULT restore VAULT/old.sqlite`; delete the other names",
            "ledger-linked",
        )
    return tuple(map(_identity, (main, _stat(log_of(path)), _stat(locks_of(path)))))


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _identity(found: os.stat_result | None) -> object:
    return None if found is None else (found.st_dev, found.st_ino)


def connect(path: Path) -> Connection:
    """A connection to an existing ledger. It may be used by any thread, one at a time."""
    _check_exists(path)
    before = _files(path)[0]
    uri = f"{path.absolute().as_uri()}?mode=rw"  # never creates a file
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, check_same_thread=False, timeout=PATIENCE, factory=Connection
    )
    try:
        connection.row_factory = sqlite3.Row
        # A commit is durable when COMMIT returns: with a write-ahead log and FULL, SQLite appends the changed pages
        # to the log and calls fsync on it before it reports success (NORMAL would leave that to a later moment).
        # On macOS fsync does not empty the disk's own cache; fullfsync does.
        pragmas = (
            "synchronous=FULL",
            "fullfsync=ON",
            "checkpoint_fullfsync=ON",
            "foreign_keys=ON",
            "trusted_schema=OFF",
            "recursive_triggers=ON",  # REPLACE deletes, and that is not allowed either
        )
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
        _check_format(connection, path)
        if connection.execute("PRAGMA journal_mode=WAL").fetchone()[0] != "wal":
            raise LedgerError(
                f"{path.name} is on a file system that cannot keep its log", "move it to a local disk", "not-supported"
            )
        connection.execute(f"PRAGMA wal_autocheckpoint={LONGEST_LOG}")
        connection.files = _files(path)
        if connection.files[0] != before:
            raise LedgerError(
                f"the ledger {path.name} was replaced while it was opened", "open it again", "ledger-replaced"
            )
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def connected(path: Path) -> Iterator[Connection]:
    """For a file that nobody else has open."""
    connection = connect(path)
    try:
        yield connection
    finally:
        connection.close()


def begin(connection: sqlite3.Connection) -> None:
    """BEGIN IMMEDIATE, when others let us. SQLite's own waiting sleeps longer each time; the last would starve."""
    connection.execute("PRAGMA busy_timeout=0")
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
        else:
            return
        time.sleep(random.uniform(0.0001, 0.002))  # noqa: S311 - only to take turns


def _check_exists(path: Path) -> None:
    if not path.is_file():
        raise LedgerError(
            f"there is no ledger {path.name}",
            "give the path of an existing ledger, or restore a backup",
            "ledger-missing",
        )
    if not path.stat().st_size:
        raise LedgerError(
            f"{path.name} is empty: its creation was interrupted", "delete it and create it again", "empty"
        )


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    """Is this a ledger, in a format that we know?"""
    application, version = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    if application != APPLICATION:
        raise LedgerError(f"{path.name} is not a ledger", "give the path of a file that Privet created", "wrong-format")
    if version not in (FORMAT, DIVIDED):
        raise LedgerError(
            f"the ledger {path.name} has format {version}; this Privet reads {FORMAT} and {DIVIDED}",
            f"use {'a newer' if version > DIVIDED else 'the older'} Privet",
            "vault-newer" if version > DIVIDED else "vault-older",
        )


def is_divided(connection: sqlite3.Connection) -> bool:
    """Do parts have accounts? The file's header says it, and changes with them, in one transaction."""
    return bool(connection.execute("PRAGMA user_version").fetchone()[0] == DIVIDED)


def build(path: Path) -> sqlite3.Connection:
    """The empty tables, in an empty file."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute(f"PRAGMA application_id={APPLICATION}")
    connection.execute(f"PRAGMA user_version={FORMAT}")
    connection.execute("PRAGMA journal_mode=WAL").fetchall()  # the file remembers this
    connection.executescript(SCHEMA)
    return connection


def connect_backup(path: Path) -> sqlite3.Connection:
    """A connection that only reads. A backup may lie where nothing can be written, not even a lock."""
    _check_exists(path)
    mode = "mode=ro" if log_of(path).exists() else "immutable=1"
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=PATIENCE)
    try:
        _check_format(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def copy(origin: sqlite3.Connection, target: Path) -> None:
    """All pages, as of one moment, while others may write."""
    destination = sqlite3.connect(target)
    try:
        origin.backup(destination)
    finally:
        destination.close()


def structure(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    """The tables, indexes and triggers, as text: with a trigger gone, the database enforces less."""
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT GLOB 'sqlite_*'")
    return sorted(tuple(row) for row in rows)


def fresh_structure() -> list[tuple[str, ...]]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(SCHEMA)
        return structure(connection)
    finally:
        connection.close()


@contextmanager
def alone_in(folder: Path) -> Iterator[bool]:
    """Nobody else makes a ledger there meanwhile, so what looks unfinished was left by somebody who was killed. False
    where folders cannot be locked (Windows, some network drives): then two at once are told apart by names alone."""
    handle = _locked(folder) if FOLDERS_LOCK else None
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)


def _locked(folder: Path) -> int | None:
    import fcntl  # noqa: PLC0415  not everywhere

    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise LedgerError(
            f"{folder.name} cannot be used: {error.strerror}", "name an existing folder", "folder-missing"
        ) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise LedgerError(
            f"another process is making a ledger in {folder.name}",
            "wait until it is done, or name a new folder",
            "ledger-busy",
        ) from None
    except OSError:  # no locks here
        os.close(handle)
        return None
    return handle


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A file to be filled, which takes the name `path` when it is complete and on the disk. Nothing is overwritten."""
    part = path.with_name(path.name + ".part")
    try:
        _reserve(path)
    except FileExistsError:
        raise LedgerError(
            f"{path.name} exists already",
            f"give another name, or move {path.name} away first (with its -wal and -shm files)",
            "file-exists",
        ) from None
    except OSError as error:
        raise LedgerError(
            f"{path.name} cannot be created: {error.strerror}", "check the folder and its permissions", "cannot-write"
        ) from error
    try:
        if log_of(path).exists():  # SQLite would read the log of an older file into the new one
            raise LedgerError(
                f"{path.name} is missing, but its log {log_of(path).name} is there",
                "put the ledger back, or move its log away too",
                "ledger-missing",
            )
        locks_of(path).unlink(missing_ok=True)  # of a process that still has the older file open
        part.unlink(missing_ok=True)  # `path` is ours, so nobody else is filling this one
        _reserve(part)
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException as error:
        for rest in (path, part, *(part.with_name(part.name + side) for side in ("-wal", "-shm", "-journal"))):
            with suppress(OSError):
                rest.unlink()
        if isinstance(error, OSError):
            raise LedgerError(
                f"{path.name} cannot be written: {error.strerror}",
                "check the disk and the folder's permissions",
                "cannot-write",
            ) from error
        raise
    sync_folder(path.absolute().parent)


def locks_of(path: Path) -> Path:
    return path.with_name(path.name + "-shm")


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _reserve(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))  # for the owner's eyes only


def sync_folder(folder: Path) -> None:
    """Make a new name durable, where folders can be opened (not on Windows)."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
