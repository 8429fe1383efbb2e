"""One budget, one ledger: moved and linked files, lost logs, declarations edited by hand, attempts that never ended."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.charges import charge, parts, sha, terms
from support.processes import surroundings
from support.refusals import raises_code
from support.tampering import edit, rechain

from privet.errors import BudgetExceededError, InvalidInputError, LedgerError, SuspendedError, TamperedError
from privet.ledger import Kind, Receipt, anchor
from privet.ledger.connection import begin, connect, connected, log_of
from privet.ledger.schema import REPEATABLE
from privet.ledger.sqlite import SqliteLedger, accept, create, restore
from privet.ledger.sqlite import open as open_ledger

REPLACED = "ledger-replaced: deleted"
posix = pytest.mark.skipif(os.name == "nt", reason="open files can be neither moved nor deleted there")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[SqliteLedger]:
    with create(path, terms(10, 0)) as made:
        yield made


# ---- one budget, two files


@posix
def test_a_ledger_that_was_moved_away_takes_no_more_charges(ledger: SqliteLedger, path: Path, tmp_path: Path) -> None:
    """The documented way: back up, move the ledger, restore. Whoever had it open would go on in the moved file."""
    ledger.spend(charge(1))
    ledger.backup(tmp_path / "backup.sqlite")
    for one in (path, log_of(path), path.with_name(path.name + "-shm")):
        one.rename(one.with_name(f"moved-{one.name}"))
    restore(tmp_path / "backup.sqlite", path)
    for use in (
        lambda: ledger.spend(charge(1)),
        ledger.spent,
        ledger.head,
        ledger.verify,
        lambda: ledger.stored(sha(1)),
    ):
        with raises_code(LedgerError, REPLACED):
            use()
    with open_ledger(path) as restored:
        restored.spend(charge(9))
        with pytest.raises(BudgetExceededError):
            restored.spend(charge(1))
    with raises_code(LedgerError, REPLACED), ledger.exclusive():
        pass


@posix
def test_an_answer_is_not_delivered_from_a_ledger_that_was_moved_meanwhile(ledger: SqliteLedger, path: Path) -> None:
    receipt = ledger.spend(charge(1))
    path.rename(path.with_name("moved.sqlite"))
    with raises_code(LedgerError, REPLACED):
        ledger.store(receipt, b"42")


@posix
def test_a_ledger_that_is_moved_during_the_commit_is_noticed(
    ledger: SqliteLedger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The charge is durable in a file that nobody reads any more, so nobody is told of success."""
    from privet.ledger import sqlite  # noqa: PLC0415

    real = sqlite.check_same

    def moved_afterwards(connection: sqlite3.Connection, place: Path) -> None:
        real(connection, place)  # type: ignore[arg-type]
        path.rename(path.with_name("moved.sqlite"))
        monkeypatch.setattr(sqlite, "check_same", real)

    monkeypatch.setattr(sqlite, "check_same", moved_afterwards)
    with raises_code(LedgerError, REPLACED):
        ledger.spend(charge(1))


@posix
def test_a_log_that_is_deleted_while_it_is_open_is_noticed(ledger: SqliteLedger, path: Path) -> None:
    ledger.spend(charge(1))
    log_of(path).unlink()
    with raises_code(LedgerError, REPLACED):
        ledger.spend(charge(1))


@posix
def test_a_file_that_takes_the_name_while_it_is_opened_is_refused(
    ledger: SqliteLedger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from privet.ledger import connection  # noqa: PLC0415

    ledger.close()
    shutil.copy(path, path.with_name("other.sqlite"))
    real = connection._check_format

    def swapped(*arguments: object) -> None:
        path.with_name("other.sqlite").replace(path)
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(connection, "_check_format", swapped)
    with raises_code(LedgerError, "ledger-replaced: opened"):
        open_ledger(path)


@posix
def test_a_second_name_is_refused_and_the_remedy_works(ledger: SqliteLedger, path: Path) -> None:
    """cp -al and rsync --link-dest make one: each name has a log and locks of its own."""
    ledger.spend(charge(1))
    other = path.with_name("snapshot.sqlite")
    os.link(path, other)
    for use in (lambda: ledger.spend(charge(1)), ledger.spent, lambda: open_ledger(path), lambda: open_ledger(other)):
        with raises_code(LedgerError, "ledger-linked"):
            use()
    ledger.close()
    old = path.rename(path.with_name("old.sqlite"))
    restore(old, path)
    with open_ledger(path) as alone:
        assert alone.spent().loss.epsilon == 1
        alone.verify()


# ---- a lost log, a lost anchor


def crashed(path: Path, charges: int) -> tuple[Path, list[Receipt]]:
    """A ledger as a power failure leaves it: the log with its pages still there. And what was delivered."""
    there = path.with_name("crashed")
    there.mkdir()
    with create(path, terms(10, 0)) as ledger:
        holder = sqlite3.connect(path)  # another reader: the log is not emptied
        holder.execute("SELECT count(*) FROM entry").fetchall()
        delivered = []
        for number in range(charges):
            receipt = ledger.spend(charge("0.1", number))
            ledger.store(receipt, b"x" * 3000)
            delivered.append(receipt)
        for name in (path.name, log_of(path).name, anchor.anchor_of(path).name):
            shutil.copy(path.with_name(name), there / name)
        holder.close()
    return there / path.name, delivered


def frames(log: bytes) -> list[int]:
    """Where each frame of a write-ahead log ends (SQLite's file format, 4.1), the header being the first."""
    page = int.from_bytes(log[8:12], "big")
    return list(range(32, len(log) + 1, 24 + page))


def outcome(path: Path, receipt: Receipt) -> str:
    """Of a ledger that was damaged: it does not open, the receipt shows that entries are gone, or all is there."""
    try:
        ledger = open_ledger(path)
    except TamperedError:
        return "refused"
    with ledger:
        try:
            ledger.verify(receipt)
        except TamperedError:
            return "shown by the receipt"
        return "kept"


def test_a_log_cut_at_any_frame_never_refunds_silently(path: Path) -> None:
    """The power-loss model: what was not synced is gone, up to any frame of the log or within one. Where the anchor
    lost its last writes, too, the receipt of the last answer tells."""
    there, delivered = crashed(path, 6)
    log, remembered = log_of(there).read_bytes(), anchor.anchor_of(there).read_bytes()
    ends = frames(log)
    assert len(ends) > 12
    found = []
    for end in [0, 16, *(end - 7 for end in ends), *ends]:
        with_log(there, log[:end], remembered)
        found.append(outcome(there, delivered[-1]))
    assert found == [*["refused"] * (len(found) - 1), "kept"], "only the whole log has the last answer"
    found = []
    for end in ends:
        with_log(there, log[:end], anchor_text(delivered[0]))
        found.append(outcome(there, delivered[-1]))
    assert list(dict.fromkeys(found)) == ["refused", "shown by the receipt", "kept"]


def with_log(path: Path, log: bytes, remembered: bytes) -> None:
    base = path.parent.parent / "crashed-base"
    if not base.exists():
        shutil.copytree(path.parent, base)
    shutil.copy(base / path.name, path)
    log_of(path).write_bytes(log)
    path.with_name(path.name + "-shm").unlink(missing_ok=True)
    anchor.anchor_of(path).write_bytes(remembered)


def anchor_text(receipt: Receipt) -> bytes:
    said = f"{receipt.entry} {receipt.digest}"
    return f"{said} {anchor._check(said)}\n".encode().ljust(2 * anchor.SLOT)


def test_a_lost_log_is_accepted_by_the_owner_alone_and_said_for_ever(path: Path) -> None:
    there, delivered = crashed(path, 2)
    log_of(there).unlink()
    with raises_code(TamperedError, "ledger-tampered: entry 5 that … VAULT"):
        open_ledger(there)
    receipt = accept(there)
    with open_ledger(there) as ledger:
        assert ledger.entries_lost
        assert ledger.head() == receipt
        (said,) = [entry.detail for entry in ledger.entries() if entry.kind is Kind.ACCEPTANCE]
        assert said == "the anchor remembered entry 5, the ledger ended at entry 1"
        ledger.verify()
        with raises_code(TamperedError, "ledger-tampered: receipt"):
            ledger.verify(delivered[0])
        ledger.spend(charge(1))
    with raises_code(InvalidInputError, "nothing-to-do"):
        accept(there)


def test_a_lost_anchor_is_noticed(ledger: SqliteLedger, path: Path) -> None:
    ledger.close()
    place = anchor.anchor_of(path)
    for damage in (place.unlink, lambda: place.write_bytes(b""), lambda: place.write_bytes(b"2 " + b"0" * 254)):
        damage()
        with raises_code(TamperedError, "ledger-tampered: missing … damaged"):
            open_ledger(path)
    accept(path)
    with open_ledger(path) as again:
        again.verify()
        assert again.entries_lost


def test_an_anchor_that_was_cut_off_leaves_its_other_slot(ledger: SqliteLedger, path: Path) -> None:
    receipts = [ledger.spend(charge("0.1", number)) for number in range(4)]
    place = anchor.anchor_of(path)
    assert anchor.read(path) == receipts[-1]
    text = bytearray(place.read_bytes())
    start = text.index(f"{receipts[-1].entry} ".encode())
    text[start + 5 : start + 40] = b"\0" * 35
    place.write_bytes(text)
    assert anchor.read(path) == receipts[-2]


def test_an_anchor_that_cannot_be_written_costs_nothing(ledger: SqliteLedger, path: Path) -> None:
    place = anchor.anchor_of(path)
    place.rename(place.with_name("kept"))
    for _ in range(3):
        with raises_code(LedgerError, "ledger-tampered: ledger.sqlite … missing"):
            ledger.spend(charge(1))
    place.mkdir()
    for use in (lambda: ledger.spend(charge(1)), lambda: open_ledger(path)):
        with raises_code(LedgerError, "cannot-write|unreadable-file: ledger.sqlite"):
            use()
    place.rmdir()
    place.with_name("kept").rename(place)
    assert ledger.spent().loss.epsilon == 0
    with raises_code(LedgerError, "cannot-write"):
        anchor.create(path.with_name("nowhere") / "ledger.sqlite", Receipt(entry=1, digest="0" * 64))


def test_an_anchor_that_fails_at_the_last_moment_delivers_nothing(
    ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(anchor, "_write", broken)
    with raises_code(LedgerError, "cannot-write: space"):
        ledger.spend(charge(1))


def test_a_late_process_does_not_make_the_anchor_forget(ledger: SqliteLedger, path: Path) -> None:
    """It was stopped between its commit and its note; others went on meanwhile."""
    receipts = [ledger.spend(charge("0.1", number)) for number in range(5)]
    with anchor.opened(path) as late:
        late.remember(receipts[1])
    assert anchor.read(path) == receipts[-1]


@posix
@pytest.mark.parametrize("suffixes", [("-shm",), ("-wal", "-shm")])
def test_locks_or_a_log_that_are_deleted_stop_whoever_has_it_open(
    ledger: SqliteLedger, path: Path, suffixes: tuple[str, ...]
) -> None:
    """Two processes would write one log with two tables of locks."""
    ledger.spent()
    for suffix in suffixes:
        path.with_name(path.name + suffix).unlink()
    with open_ledger(path) as other:
        other.spend(charge(10))
    for use in (lambda: ledger.spend(charge(1)), ledger.spent):
        with raises_code(LedgerError, REPLACED):
            use()


@posix
def test_an_older_copy_written_over_the_file_is_noticed_by_whoever_has_it_open(path: Path) -> None:
    """The same file, by device and number, with older contents: only the anchor tells."""
    with create(path, terms(10, 0)) as ledger:
        ledger.spend(charge(1))
    old = path.read_bytes()
    with open_ledger(path) as ledger:
        ledger.spend(charge(9))
    ledger = open_ledger(path)
    ledger.before_fork()  # connections are closed, as at any fork
    ledger.after_fork(child=False)
    path.write_bytes(old)
    with raises_code(LedgerError, "ledger-tampered: entry 3 that"):
        ledger.spend(charge(1))
    ledger.close()


@posix
def test_a_symbolic_link_leads_to_the_ledger_itself(path: Path, tmp_path: Path) -> None:
    create(path, terms(10, 0)).close()
    link = tmp_path / "elsewhere"
    link.mkdir()
    (link / "ledger.sqlite").symlink_to(path)
    with open_ledger(link / "ledger.sqlite") as ledger:
        ledger.spend(charge(1))
        assert ledger.path == path.resolve()
        log_of(path).unlink()
        with raises_code(LedgerError, REPLACED):
            ledger.spend(charge(1))


def test_a_killed_acceptance_can_be_repeated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The anchor is made last: until the acceptance is in the chain, the ledger does not open."""
    there, _ = crashed(path, 2)
    log_of(there).unlink()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(anchor, "create", killed)
    with pytest.raises(KeyboardInterrupt):
        accept(there)
    monkeypatch.undo()
    with raises_code(TamperedError, "ledger-tampered: log"):
        open_ledger(there)
    accept(there)
    with open_ledger(there) as ledger:
        assert ledger.entries_lost


def test_the_folder_may_change_while_a_ledger_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with create("ledger.sqlite", terms(10, 0)) as ledger:
        monkeypatch.chdir("/")
        ledger.spend(charge(1))


def test_a_hidden_trigger_is_seen(path: Path) -> None:
    """In LIKE, the underscore of 'sqlite_%' stands for any letter."""
    create(path, terms(10, 0)).close()
    other = sqlite3.connect(path)
    other.executescript("CREATE TRIGGER sqlitexrefund AFTER INSERT ON entry BEGIN SELECT 1; END")
    other.close()
    with raises_code(TamperedError, "ledger-tampered: tables"):
        open_ledger(path)


def test_a_full_disk_can_still_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from privet.ledger import connection  # noqa: PLC0415

    class Full(connection.Connection):
        def execute(self, sql: str, *more: object) -> sqlite3.Cursor:
            if "checkpoint(" in sql:
                raise sqlite3.OperationalError("database or disk is full")
            return super().execute(sql, *more)  # type: ignore[arg-type]

    create(path, terms(10, 0)).close()
    monkeypatch.setattr(connection, "Connection", Full)
    with open_ledger(path) as ledger:
        assert ledger.spent().loss.epsilon == 0


NONSENSE = {
    "a division by 0": """UPDATE entry SET exact = '["1/0", "0", "0", "0"]' WHERE number = 2""",
    "infinity": """UPDATE entry SET exact = '[Infinity, "0", "0", "0"]' WHERE number = 2""",
    "brackets without end": f"UPDATE entry SET exact = '{'[' * 100_000}' WHERE number = 2",
    "a list of notes": """UPDATE entry SET detail = '{"domain": "", "noted": [1]}' WHERE number = 2""",
    "a kind that is none": "UPDATE entry SET kind = 'refund' WHERE number = 2",
}


@pytest.mark.parametrize("statement", NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_is_tampering_and_nothing_else(ledger: SqliteLedger, path: Path, statement: str) -> None:
    ledger.spend(charge(1))
    ledger.close()
    edit(path, statement)
    rechain(path)
    with open_ledger(path) as again:
        for use in (again.verify, lambda: list(again.entries())):
            with raises_code(TamperedError, "ledger-tampered: valid"):
                use()


def test_an_opening_that_makes_no_sense(ledger: SqliteLedger, path: Path) -> None:
    ledger.close()
    edit(path, """UPDATE entry SET detail = replace(detail, '\\"10\\"', '\\"1/0\\"') WHERE number = 1""")
    rechain(path)
    with raises_code(TamperedError, "ledger-tampered: opening"):
        open_ledger(path)


@posix
def test_a_ledger_is_restored_beside_a_process_that_still_has_the_old_one(path: Path, tmp_path: Path) -> None:
    """As the guide says: the ledger and its log are moved, the file of the locks stays behind."""
    with create(path, terms(10, 0)) as old:
        old.spend(charge(1))
        old.backup(tmp_path / "backup.sqlite")
        for one in (path, log_of(path)):
            one.rename(one.with_name(f"moved-{one.name}"))
        restore(tmp_path / "backup.sqlite", path)
        with open_ledger(path) as restored:
            assert restored.spend(charge(9)).entry == 3
        with raises_code(LedgerError, REPLACED):
            old.spend(charge(1))


def test_a_folder_that_is_not_there_or_cannot_be_locked(
    ledger: SqliteLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from privet.ledger import connection  # noqa: PLC0415

    ledger.backup(tmp_path / "backup.sqlite")
    with raises_code(LedgerError, "folder-missing"):
        restore(tmp_path / "backup.sqlite", tmp_path / "nowhere" / "ledger.sqlite")

    def no_locks(*_: object) -> None:
        raise OSError(95, "not supported")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with connection.alone_in(tmp_path) as alone:
        assert not alone


def test_a_backup_older_than_what_was_released_needs_the_owners_word(path: Path, tmp_path: Path) -> None:
    with create(path, terms(10, 0)) as ledger:
        ledger.spend(charge(1))
        ledger.backup(tmp_path / "backup.sqlite")
        ledger.spend(charge(2))
    path.unlink()
    with raises_code(LedgerError, "backup-too-old: 2 … entry 3 … forget=True"):
        restore(tmp_path / "backup.sqlite", path)
    assert not path.exists()
    restore(tmp_path / "backup.sqlite", path, forget=True)
    with open_ledger(path) as restored:
        assert restored.entries_lost
        restored.verify()


def test_the_newest_backup_is_restored_without_a_word(path: Path, tmp_path: Path) -> None:
    with create(path, terms(10, 0)) as ledger:
        ledger.spend(charge(1))
        ledger.backup(tmp_path / "backup.sqlite")
    path.unlink()
    restore(tmp_path / "backup.sqlite", path)
    with open_ledger(path) as restored:
        assert not restored.entries_lost


def test_the_log_is_kept_short(ledger: SqliteLedger, path: Path) -> None:
    for number in range(400):
        ledger.store(ledger.spend(charge("0.001", number)), b"x" * 1000)
    assert log_of(path).stat().st_size < 2 * 2**20


# ---- what a table protects


def test_whom_a_table_protects_is_fixed_by_its_first_charge(ledger: SqliteLedger) -> None:
    people, rows, public = 'unit = "patient_id"', "rows_are_units = true", "public = true"
    ledger.spend(charge(1, tables=(("visits", people), ("wards", public))))
    ledger.spend(charge(1, tables=(("Visits", people),)))
    for name, other in (("visits", rows), ("VISITS", 'unit = "ward"'), ("wards", people), ("visits", public)):
        with raises_code(InvalidInputError, f"unit-fixed: '{name}'"):
            ledger.spend(charge(1, tables=((name, other),)))
    assert ledger.noted == {"visits": people, "wards": public}
    assert ledger.spent().loss.epsilon == 2
    ledger.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE noted SET protects = 'public = true'",
        "DELETE FROM noted",
        "INSERT INTO noted VALUES ('more', 'public = true', 2)",
    ],
)
def test_an_edit_of_whom_a_table_protects_is_seen(ledger: SqliteLedger, path: Path, statement: str) -> None:
    ledger.spend(charge(1, tables=(("visits", "rows_are_units = true"),)))
    ledger.close()
    edit(path, statement)
    with open_ledger(path) as again, raises_code(TamperedError, "ledger-tampered: protects"):
        again.verify()


# ---- attempts


def test_a_failed_attempt_is_fenced_off_by_its_repeat(ledger: SqliteLedger) -> None:
    first = ledger.spend(charge(1, "q"))
    ledger.fail(first, before_any_draw=True)
    second = ledger.spend(charge(1, "q"))
    assert ledger.spent().loss.epsilon == 1
    with raises_code(InvalidInputError, "closed: failure"):
        ledger.store(first, b"the old attempt")
    ledger.store(second, b"the new one")
    stored = ledger.stored(sha("q"))
    assert stored is not None
    assert (stored.body, stored.receipt, stored.charge.loss.epsilon) == (b"the new one", second, 1)
    ledger.verify()


@pytest.mark.parametrize(
    "other", [{"request": "r"}, {"analyst": "eve"}, {"epsilon": 2}, {"part": "north"}], ids=lambda one: next(iter(one))
)
def test_another_question_is_no_repeat(path: Path, other: dict[str, object]) -> None:
    with create(path, terms(10, 0)) as ledger:
        ledger.divide(parts())
        ledger.fail(ledger.spend(charge(1, "q", analyst="bob")), before_any_draw=True)
        asked = {"epsilon": 1, "request": "q", "analyst": "bob"} | other
        ledger.spend(charge(asked.pop("epsilon"), asked.pop("request"), **asked))  # type: ignore[arg-type]
        assert Kind.REPEAT not in {entry.kind for entry in ledger.entries()}
        ledger.verify()


def test_two_at_once_get_one_repeat(ledger: SqliteLedger) -> None:
    ledger.fail(ledger.spend(charge(1, "q")), before_any_draw=True)
    threads = [threading.Thread(target=ledger.spend, args=(charge(1, "q"),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent().loss.epsilon == 4
    assert [entry.kind for entry in ledger.entries()].count(Kind.REPEAT) == 1
    ledger.verify()


FORGED = {
    "a repeat of nothing": "UPDATE entry SET detail = '', request = NULL WHERE number = 3",
    "a repeat by somebody else": "UPDATE entry SET analyst = 'eve' WHERE number = 4",
    "a repeat of another question": f"UPDATE entry SET request = '{sha('r')}' WHERE number = 4",
    "a repeat about another part": """UPDATE entry SET detail = '{"domain": "", "part": "x"}' WHERE number = 4""",
    "a repeat that may be repeated": f"UPDATE entry SET detail = '{REPEATABLE}', request = request WHERE number = 5",
    "a failure of another question": f"UPDATE entry SET request = '{sha('r')}' WHERE number = 3",
}


@pytest.mark.parametrize("statement", FORGED.values(), ids=FORGED.keys())
def test_repeats_that_make_no_sense_are_seen(ledger: SqliteLedger, path: Path, statement: str) -> None:
    for _ in range(2):
        ledger.fail(ledger.spend(charge(1, "q")), before_any_draw=True)
    ledger.verify()
    ledger.close()
    edit(path, statement)
    rechain(path)
    with open_ledger(path) as again, raises_code(TamperedError, "ledger-tampered: valid"):
        again.verify()


KILLED = """
import os, sys
from support.charges import charge
from privet.ledger.sqlite import open as open_ledger
open_ledger(sys.argv[1]).spend(charge("0.1", sys.argv[2], analyst="eve"))
os._exit(9)
"""


def killed_attempt(path: Path, number: int) -> None:
    command = [sys.executable, "-c", KILLED, str(path), str(number)]
    done = subprocess.run(command, env=surroundings(), check=False)
    assert done.returncode == 9


def test_attempts_of_killed_processes_count_as_failures(path: Path) -> None:
    """At most three attempts without an answer, whatever ended them, and also while they are under way."""
    create(path, terms(10, 0)).close()
    for number in range(2):
        killed_attempt(path, number)
    with open_ledger(path) as ledger:
        mine = ledger.spend(charge("0.1", "mine", analyst="eve"))
        assert ledger.suspended("eve")
        with raises_code(SuspendedError, "analyst-suspended: 3 … and 0 failed"):
            ledger.spend(charge("0.1", analyst="eve"))
        ledger.store(mine, b"x")
        ledger.fail(ledger.spend(charge("0.1", "again", analyst="eve")))
        with raises_code(SuspendedError, "analyst-suspended: 2 … and 1 failed"):
            ledger.spend(charge("0.1", analyst="eve"))
        ledger.spend(charge("0.1", analyst="bob"))
        ledger.reinstate("eve")
        ledger.fail(ledger.spend(charge("0.1", analyst="eve")))
        assert not ledger.suspended("eve")
        ledger.verify()


def test_an_attempt_that_ends_after_a_reinstatement(ledger: SqliteLedger) -> None:
    receipt = ledger.spend(charge("0.1", analyst="eve"))
    ledger.reinstate("eve")
    ledger.store(receipt, b"x")
    ledger.verify()


# ---- bytes where texts were


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE answer SET body = CAST('42' AS TEXT)", "ledger-tampered: charge 2 was"),
        ("UPDATE entry SET note = x'00' WHERE number = 2", "ledger-tampered: entry … 2 was"),
    ],
)
def test_a_value_of_another_type_is_seen(ledger: SqliteLedger, path: Path, statement: str, problem: str) -> None:
    ledger.store(ledger.spend(charge(1, "q")), b"42")
    ledger.close()
    edit(path, statement)
    with open_ledger(path) as again, raises_code(TamperedError, problem):
        again.verify()


def test_an_answer_of_another_type_is_not_replayed(ledger: SqliteLedger, path: Path) -> None:
    ledger.store(ledger.spend(charge(1, "q")), b"42")
    ledger.close()
    edit(path, "UPDATE answer SET body = CAST('42' AS TEXT)")
    with open_ledger(path) as again, raises_code(TamperedError, "ledger-tampered: stored"):
        again.stored(sha("q"))


def test_an_opening_of_another_type_is_seen(ledger: SqliteLedger, path: Path) -> None:
    ledger.close()
    edit(path, "UPDATE entry SET detail = x'00' WHERE number = 1")
    with raises_code(TamperedError, "ledger-tampered: opening"):
        open_ledger(path)


# ---- how a connection is opened and takes its turn


@pytest.mark.usefixtures("ledger")
def test_a_path_is_read_as_a_uri_however_sqlite_was_built(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a URI can say that no file is created. Some builds of SQLite read every path as one, others none."""
    asked, real = [], sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: (asked.append(more["uri"]), real(*given, **more))[1])
    connect(path).close()
    assert asked == [True]


@pytest.mark.usefixtures("ledger")
def test_a_ledger_in_use_is_waited_for_in_short_sleeps(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither SQLite's own waiting, which the last in turn would lose, nor a loop that takes the processor."""
    with connected(path) as first, connected(path) as second:
        begin(first)
        assert first.execute("PRAGMA busy_timeout").fetchone()[0] == 0
        slept: list[float] = []
        monkeypatch.setattr(time, "sleep", lambda seconds: (slept.append(seconds), first.execute("ROLLBACK")))
        begin(second)
        assert len(slept) == 1
        assert 0 < slept[0] < 0.01
        second.execute("ROLLBACK")
