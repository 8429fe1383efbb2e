"""The ledger as its users see it: charges, answers, failures, shares, keys, files."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from support.charges import charge, sha, terms
from support.refusals import raises_code

from privet.core.accountant import Budget
from privet.core.loss import NOTHING, Loss, approximate, pure, zcdp
from privet.core.unit import Neighbors
from privet.errors import BudgetExceededError, InvalidInputError, LedgerError, SuspendedError
from privet.ledger import Charge, Kind, Policy, Receipt, Terms, connection
from privet.ledger.batch import Batches, Job
from privet.ledger.sqlite import SqliteLedger, create, restore
from privet.ledger.sqlite import open as open_ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    with create(tmp_path / "ledger.sqlite", terms()) as made:
        yield made
        made.verify()


@pytest.fixture
def warn(tmp_path: Path) -> Iterator[SqliteLedger]:
    with create(tmp_path / "warn.sqlite", terms(1, 0, Policy.WARN)) as made:
        yield made
        made.verify()


def test_charges_add_up_exactly(ledger: SqliteLedger) -> None:
    first, second = ledger.spend(charge("0.1")), ledger.spend(charge("0.2", analyst="bob"))
    assert (first.entry, second.entry) == (2, 3)
    assert ledger.spent().loss.epsilon == Fraction("0.3")
    assert ledger.spent().loss.rho == Fraction("0.025")
    assert ledger.spent("bob").loss == pure(Fraction("0.2"))
    assert ledger.spent("").loss == pure(Fraction("0.1"))
    assert ledger.spent("nobody").loss == NOTHING
    assert ledger.spent().holds
    assert ledger.head() == second


def test_the_cap_is_the_end(ledger: SqliteLedger) -> None:
    ledger.spend(charge(3))
    with raises_code(BudgetExceededError, "budget-exceeded: nothing is"):
        ledger.spend(charge("0.000001"))
    assert ledger.spent().loss.epsilon == 3
    assert ledger.head().entry == 2, "a refused charge leaves nothing"


def test_either_gauge_certifies(ledger: SqliteLedger) -> None:
    ledger.spend(Charge(loss=zcdp(Fraction("0.01")), request=sha(1)))  # no pure price: the basic gauge is gone
    assert ledger.spent().loss.epsilon is None
    ledger.spend(charge("0.4"))
    with raises_code(BudgetExceededError, "budget-exceeded: epsilon=0.230056"):
        ledger.spend(charge("0.5"))
    ledger.spend(charge("0.2"))


def test_deltas_are_capped_at_a_quarter(ledger: SqliteLedger) -> None:
    quarter = Fraction(1, 4 * 10**9)
    ledger.spend(Charge(loss=approximate(Fraction(1, 10), quarter), request=sha(1)))
    assert ledger.spent().loss.delta == ledger.spent().loss.rho_delta == quarter
    with raises_code(BudgetExceededError, "budget-exceeded: delta"):
        ledger.spend(Charge(loss=approximate(Fraction(1, 10), Fraction(1, 10**40)), request=sha(1)))
    ledger.spend(charge())


def test_a_share_of_the_budget(ledger: SqliteLedger) -> None:
    assert ledger.granted("bob") is None
    ledger.grant("bob", Budget(1, 1e-12))
    assert ledger.granted("bob") == Budget(1, 1e-12)
    ledger.spend(charge("0.9", analyst="bob"))
    with raises_code(BudgetExceededError, "budget-exceeded: 0.1 … share"):
        ledger.spend(charge("0.2", analyst="bob"))
    assert ledger.spent().loss.epsilon == Fraction("0.9"), "both accounts or none"
    ledger.spend(charge("1.95", analyst="eve"))
    with raises_code(BudgetExceededError, "budget-exceeded: 0.1 … share"):
        ledger.spend(charge("0.2", analyst="bob"))
    ledger.grant("bob", Budget(2, 0))
    with raises_code(BudgetExceededError, "budget-exceeded: 0.15"):
        ledger.spend(charge("0.2", analyst="bob"))
    ledger.spend(charge("0.1", analyst="bob"))
    ledger.grant("bob", Budget("0.5", 0))  # below what was spent
    with raises_code(BudgetExceededError, "budget-exceeded: nothing … share"):
        ledger.spend(charge("0.0001", analyst="bob"))
    ledger.verify()
    ledger.grant("bob", Budget("0.4", 1e-6))
    assert ledger.spent("bob").loss.epsilon == 1


def test_a_share_is_granted_after_spending(ledger: SqliteLedger) -> None:
    half = Fraction(1, 10**10)
    ledger.spend(Charge(loss=approximate(Fraction(1, 2), half), request=sha(1), analyst="bob"))
    ledger.grant("bob", Budget(2, 1e-9))
    assert ledger.spent("bob").loss.delta == half
    ledger.grant("eve", Budget(1))
    with pytest.raises(BudgetExceededError):
        ledger.spend(Charge(loss=approximate(Fraction(1, 2), half), request=sha(1), analyst="eve"))


def test_beyond_the_cap_with_a_warning(warn: SqliteLedger) -> None:
    warn.spend(charge("0.7"))
    with pytest.raises(BudgetExceededError):
        warn.spend(charge("0.5", analyst="bob"))  # a server's analyst never gets a warning
    assert warn.spent().holds
    warn.spend(charge("0.5"))
    assert not warn.spent().holds
    assert not warn.spent("").holds
    assert warn.spent().loss.epsilon == Fraction("0.7")
    assert warn.spent().over.epsilon == Fraction("0.5")
    warn.spend(charge("0.1"))  # once over, always over
    assert warn.spent().over.epsilon == Fraction("0.6")
    with raises_code(BudgetExceededError, "budget-exceeded: queries"):
        warn.spend(charge("0.1", analyst="bob"))
    warn.spend(Charge(loss=Loss(epsilon=None, rho=None, delta=Fraction(1)), request=sha(1)))
    assert warn.spent().over.epsilon is None
    assert not warn.spent().holds
    assert [entry.over for entry in warn.entries()] == [False, False, True, True, True]


def test_stored_answers_come_back(ledger: SqliteLedger) -> None:
    receipt = ledger.spend(charge(request="q", note="SELECT 1", analyst="bob"))
    assert ledger.stored(sha("q")) is None
    ledger.store(receipt, b"42")
    ledger.store(ledger.spend(charge(request="q")), b"43")
    answer = ledger.stored(sha("q"))
    assert answer is not None
    assert (answer.body, answer.receipt, answer.charge.note, answer.charge.analyst) == (
        b"42",
        receipt,
        "SELECT 1",
        "bob",
    )
    assert ledger.stored(sha("other")) is None
    with raises_code(InvalidInputError, "closed: failure"):
        ledger.store(receipt, b"44")
    with raises_code(InvalidInputError, "closed: failure"):
        ledger.fail(receipt)


def test_a_key_belongs_to_one_request(ledger: SqliteLedger) -> None:
    assert ledger.replay("k", sha("q")) is None
    first = ledger.spend(charge(request="q", key="k"))
    assert ledger.replay("k", sha("q")) is None, "no answer was stored: a retry charges again"
    second = ledger.spend(charge(request="q", key="k"))
    assert second.entry == first.entry + 1
    ledger.store(second, b"42")
    answer = ledger.replay("k", sha("q"))
    assert answer is not None
    assert (answer.body, answer.charge.key) == (b"42", "k")
    for use in (lambda: ledger.replay("k", sha("r")), lambda: ledger.spend(charge(request="r", key="k"))):
        with raises_code(InvalidInputError, "duplicate-key"):
            use()


def test_three_failures_suspend_an_analyst(ledger: SqliteLedger) -> None:
    for number in range(3):
        assert not ledger.suspended("bob")
        ledger.fail(ledger.spend(charge("0.01", number, analyst="bob")))
    assert ledger.suspended("bob")
    with raises_code(SuspendedError, "analyst-suspended: `privet budget VAULT --reinstate NAME`"):
        ledger.spend(charge("0.01", analyst="bob"))
    ledger.spend(charge("0.01", analyst="eve"))
    ledger.grant("bob", Budget(1))
    assert ledger.suspended("bob"), "a grant is no pardon"
    ledger.reinstate("bob")
    ledger.fail(ledger.spend(charge("0.01", analyst="bob")))
    assert not ledger.suspended("bob")
    assert ledger.spent("bob").loss.epsilon == Fraction("0.04"), "failed releases stay charged"


def test_the_owner_is_never_suspended(ledger: SqliteLedger) -> None:
    for number in range(4):
        ledger.fail(ledger.spend(charge("0.01", number)))
    assert not ledger.suspended("")
    for refused in (lambda: ledger.grant("", Budget(1)), lambda: ledger.reinstate("")):
        with raises_code(InvalidInputError, "missing-name"):
            refused()
    ledger.reinstate("somebody who never asked")


def test_a_receipt_must_be_of_a_charge(ledger: SqliteLedger) -> None:
    opening, paid = ledger.head(), ledger.spend(charge())
    wrong = [opening, Receipt(entry=paid.entry, digest="0" * 64), Receipt(entry=99, digest=paid.digest)]
    for receipt in wrong:
        with raises_code(InvalidInputError, "unknown-receipt"):
            ledger.store(receipt, b"")
        with raises_code(InvalidInputError, "unknown-receipt"):
            ledger.fail(receipt)
    with pytest.raises(OverflowError):
        ledger.fail(Receipt(entry=2**70, digest=paid.digest))


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (Charge(loss=NOTHING, request=sha(1)), "not-positive"),
        (Charge(loss=Loss(epsilon=Fraction(0), rho=Fraction(0), delta=Fraction(1, 9)), request=sha(1)), "not-positive"),
        (Charge(loss=pure(Fraction(1)), request="SELECT 1"), "wrong-format: SHA … -256"),
        (Charge(loss=pure(Fraction(1)), request=sha(1).upper()), "wrong-format: SHA … -256"),
        (charge(analyst="x" * 201), "too-long: analyst"),
        (charge(note="\ud800"), "too-long: note"),
        (charge(key="é" * 101), "too-long: idempotency"),
    ],
)
def test_bad_charges_are_refused_before_they_touch_anything(ledger: SqliteLedger, bad: Charge, text: str) -> None:
    with raises_code(InvalidInputError, text):
        ledger.spend(bad)
    assert ledger.head().entry == 1


def test_bad_answers_are_refused(ledger: SqliteLedger) -> None:
    receipt = ledger.spend(charge())
    with raises_code(InvalidInputError, "too-large"):
        ledger.store(receipt, "text")  # type: ignore[arg-type]
    ledger.store(receipt, b"")


def test_odd_text_is_kept_as_it_is(ledger: SqliteLedger) -> None:
    odd = "';--\x00 Ünï 日本 \u202e"
    ledger.store(ledger.spend(charge(note=odd, analyst=odd, key=odd)), b"\x00")
    answer = ledger.replay(odd, sha("q"))
    assert answer is not None
    assert answer.charge == charge(note=odd, analyst=odd, key=odd)
    assert ledger.spent(odd).loss.epsilon == Fraction("0.1")
    ledger.spend(charge(analyst="all"))
    assert ledger.spent("all").loss.epsilon == Fraction("0.1"), "a name cannot reach the account of everybody"


def test_entries_tell_the_story(ledger: SqliteLedger) -> None:
    receipt = ledger.spend(charge(note="how many?"))
    ledger.store(receipt, b"42")
    ledger.fail(ledger.spend(charge(analyst="bob")))
    ledger.grant("bob", Budget(1))
    ledger.reinstate("bob")
    entries = list(ledger.entries())
    kinds = [Kind.OPENING, Kind.CHARGE, Kind.ANSWER, Kind.CHARGE, Kind.FAILURE, Kind.GRANT, Kind.REINSTATEMENT]
    assert [entry.kind for entry in entries] == kinds
    assert [entry.number for entry in entries] == list(range(1, 8))
    assert entries[1].loss == pure(Fraction("0.1"))
    assert (entries[1].note, entries[1].digest) == ("how many?", receipt.digest)
    assert (entries[2].about, entries[2].detail) == (2, hashlib.sha256(b"42").hexdigest())
    assert entries[1].time.endswith("+00:00")


def test_exported_lines_can_be_checked_elsewhere(ledger: SqliteLedger, tmp_path: Path) -> None:
    ledger.store(ledger.spend(charge(note="ü")), b"42")
    ledger.export(tmp_path / "lines.jsonl")
    head = "0" * 64
    for line in (tmp_path / "lines.jsonl").read_text().splitlines():
        record = json.loads(line)
        said = record.pop("digest")
        text = json.dumps(record, sort_keys=True, separators=(",", ":"))
        head = hashlib.sha256(f"{head}\n{text}".encode()).hexdigest()
        assert head == said
    assert head == ledger.head().digest
    stream = io.StringIO()
    ledger.export(stream)
    assert stream.getvalue() == (tmp_path / "lines.jsonl").read_text()
    with raises_code(LedgerError, "file-exists"):
        ledger.export(tmp_path / "lines.jsonl")


def test_many_entries_are_read_in_pages(ledger: SqliteLedger) -> None:
    jobs = [Job(lambda transaction: transaction.charge(charge("0.000001"))) for _ in range(1203)]
    ledger._commit(iter(jobs))
    assert [entry.number for entry in ledger.entries()] == list(range(1, 1205))


def test_terms_and_sums_survive_closing(tmp_path: Path) -> None:
    given = Terms(budget=Budget("1/3", "1/7"), neighbors=Neighbors.REPLACE, policy=Policy.WARN, testing=True)
    with create(tmp_path / "l.sqlite", given) as ledger:
        receipt = ledger.spend(charge("1/7"))
    with open_ledger(str(tmp_path / "l.sqlite")) as ledger:
        assert ledger.terms == given
        assert ledger.spent().loss.epsilon == Fraction(142857142858, 10**12), "rounded up"
        ledger.verify(receipt)
    assert {file.name for file in tmp_path.iterdir()} == {"l.sqlite", "l.sqlite-anchor"}, (
        "closed cleanly: the log is gone"
    )


def test_a_closed_ledger_refuses_everything(tmp_path: Path) -> None:
    ledger = create(tmp_path / "l.sqlite", terms())
    ledger.close()
    ledger.close()
    for use in (lambda: ledger.spend(charge()), ledger.spent, ledger.verify):
        with raises_code(LedgerError, "closed: closed"):
            use()


@pytest.mark.skipif(os.name == "nt", reason="rights are not bits on Windows")
def test_only_the_owner_may_read_the_files(ledger: SqliteLedger, tmp_path: Path) -> None:
    ledger.spend(charge())
    ledger.backup(tmp_path / "backup.sqlite")
    ledger.export(tmp_path / "lines.jsonl")
    for file in tmp_path.iterdir():  # the log and its index, too
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
    assert len(list(tmp_path.iterdir())) == 6


def write(path: Path, statements: str) -> None:
    other = sqlite3.connect(path)
    other.executescript(statements)
    other.close()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda _: None, "ledger-missing: no"),
        (lambda path: path.mkdir(), "ledger-missing: no"),
        (lambda path: path.touch(), "empty"),
        (lambda path: path.write_text("not a database, just a text" * 100), "wrong-format: ledger"),
        (lambda path: write(path, "CREATE TABLE x (y)"), "wrong-format: ledger"),
        (lambda path: write(path, "PRAGMA application_id=0x50525654; PRAGMA user_version=9"), "vault-newer"),
    ],
)
def test_what_is_no_ledger_is_not_opened(tmp_path: Path, make: Callable[[Path], None], text: str) -> None:
    make(tmp_path / "x")
    with raises_code(LedgerError, text):
        open_ledger(tmp_path / "x")
    with raises_code(LedgerError, text):
        restore(tmp_path / "x", tmp_path / "y")
    assert not (tmp_path / "y").exists()
    assert not (tmp_path / "y.part").exists()


def test_nothing_is_overwritten(ledger: SqliteLedger, tmp_path: Path) -> None:
    for use in (
        lambda: create(ledger.path, terms()),
        lambda: ledger.backup(ledger.path),
        lambda: restore(ledger.path, ledger.path),
    ):
        with raises_code(LedgerError, "file-exists"):
            use()
    with raises_code(LedgerError, "cannot-write: created"):
        create(tmp_path / "no folder" / "l.sqlite", terms())
    (tmp_path / "gone.sqlite-wal").touch()
    with raises_code(LedgerError, "ledger-missing: move"):
        create(tmp_path / "gone.sqlite", terms())
    (tmp_path / "blocked.part").mkdir()  # the name that is filled before the file gets its own
    with raises_code(LedgerError, "cannot-write"):
        create(tmp_path / "blocked", terms())
    assert not (tmp_path / "blocked").exists()


def test_backup_and_restore(ledger: SqliteLedger, tmp_path: Path) -> None:
    ledger.store(ledger.spend(charge()), b"42")
    receipt = ledger.backup(tmp_path / "backup.sqlite")
    assert receipt == ledger.head()
    (tmp_path / "backup.sqlite").chmod(0o400)
    restore(tmp_path / "backup.sqlite", tmp_path / "new.sqlite")
    with open_ledger(tmp_path / "new.sqlite") as restored:
        restored.verify(receipt)
        answer = restored.stored(sha("q"))
        assert answer is not None
        assert answer.body == b"42"
        restored.spend(charge())
        (tmp_path / "newer.sqlite").touch()  # as a restoration leaves it that was killed
        restore(tmp_path / "new.sqlite", tmp_path / "newer.sqlite")  # from a ledger in use, log and all
    with open_ledger(tmp_path / "newer.sqlite") as restored:
        assert restored.head().entry == receipt.entry + 1


def test_a_place_where_no_log_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's file layer without shared memory stands for such a disk."""
    path = tmp_path / "l.sqlite"
    create(path, terms()).close()
    write(path, "PRAGMA journal_mode=DELETE")
    open_ledger(path).close()  # puts the log back
    write(path, "PRAGMA journal_mode=DELETE")
    real = sqlite3.connect
    layer = "win32-none" if os.name == "nt" else "unix-dotfile"
    monkeypatch.setattr(sqlite3, "connect", lambda place, **more: real(f"{place}&vfs={layer}", **more))
    with raises_code(LedgerError, "not-supported: local"):
        open_ledger(path)


def test_a_file_that_another_process_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "l.sqlite"
    create(path, terms()).close()
    write(path, "PRAGMA journal_mode=DELETE")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(connection, "PATIENCE", 0.1)
    with raises_code(LedgerError, "ledger-busy"):
        open_ledger(path)
    holder.close()


def test_a_commit_is_synced(ledger: SqliteLedger) -> None:
    ledger.spend(charge())
    for used in (ledger._writer, ledger._reader):
        assert used is not None
        assert used.execute("PRAGMA synchronous").fetchone()[0] == 2
        assert used.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert used.execute("PRAGMA foreign_keys").fetchone()[0] == 1


def test_waiting_for_another_process_ends(ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = sqlite3.connect(ledger.path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.2, lambda: holder.execute("ROLLBACK"))
    timer.start()
    ledger.spend(charge())  # waits
    timer.join()
    monkeypatch.setattr(connection, "PATIENCE", 0.05)
    holder.execute("BEGIN IMMEDIATE")
    with raises_code(LedgerError, "ledger-busy"):
        ledger.spend(charge())
    holder.close()
    assert ledger.head().entry == 2


def test_a_refusal_leaves_its_neighbors_alone(ledger: SqliteLedger) -> None:
    """One transaction: good, too dear, wrong, good. The chain goes on as if the bad ones had not been there."""

    def wrong(_: object) -> Receipt:
        raise ZeroDivisionError

    works = [charge(1), charge(5), None, charge(1)]
    jobs = [Job(wrong if work is None else lambda t, work=work: t.charge(work)) for work in works]
    ledger._commit(iter(jobs))
    assert [type(job.error) for job in jobs] == [type(None), BudgetExceededError, ZeroDivisionError, type(None)]
    assert [job.result.entry if job.result else None for job in jobs] == [2, None, None, 3]
    assert ledger.spent().loss.epsilon == 2


def commit(ledger: SqliteLedger, *works: Callable[..., Receipt]) -> list[object]:
    """In one transaction; the entry of each, or its error."""
    jobs = [Job(work) for work in works]
    ledger._commit(iter(jobs))
    return [type(job.error) if job.result is None else job.result.entry for job in jobs]


def test_each_in_a_batch_sees_what_came_before_it(ledger: SqliteLedger) -> None:
    first = ledger.spend(charge("0.1", analyst="bob"))

    def ask(epsilon: object, analyst: str = "bob") -> Callable[..., Receipt]:
        return lambda t: t.charge(charge(epsilon, analyst=analyst))

    refused, dear = SuspendedError, BudgetExceededError
    assert commit(
        ledger,
        ask("0.1"),
        ask("0.1"),
        ask("0.1"),  # three have not finished
        lambda t: t.failure(first, False),
        ask("0.1"),  # one has failed, two have not finished
        lambda t: t.reinstate("bob"),
        ask("0.1"),
        lambda t: t.grant("bob", Budget("0.6")),
        ask("0.1"),
        lambda t: t.reinstate("bob"),
        ask("0.1"),
        ask("0.1"),
        ask("0.1", "eve"),
        lambda t: t.grant("bob", Budget("0.8", 1e-12)),
        lambda t: t.charge(
            Charge(loss=approximate(Fraction("0.1"), Fraction(1, 10**13)), request=sha(1), analyst="bob")
        ),
        ask("5"),
        ask("2", ""),
    ) == [3, 4, refused, 5, refused, 6, 7, 8, 9, 10, 11, dear, 12, 13, 14, dear, 15]
    ledger.verify()
    assert ledger.spent("bob").loss.delta == Fraction(1, 10**13)


def test_each_in_a_batch_sees_that_the_cap_was_passed(warn: SqliteLedger) -> None:
    asks = [(lambda t, ask=ask: t.charge(charge(ask[0], analyst=ask[1]))) for ask in WARNED]
    assert commit(warn, *asks) == [2, 3, 4, BudgetExceededError, 5]
    assert warn.spent().over.epsilon == Fraction("0.6")


WARNED = (("0.7", ""), ("0.1", "bob"), ("0.5", ""), ("0.1", "bob"), ("0.1", ""))


def test_many_threads_never_pass_the_cap(tmp_path: Path) -> None:
    """600 charges of 1/200 race for a budget of 2: exactly 400 win, and each has an entry of its own."""

    def ask(number: int) -> int | None:
        try:
            receipt = ledger.spend(charge("0.005", number, analyst=f"a{number}"))
        except BudgetExceededError:
            return None
        ledger.store(receipt, b"x")
        return receipt.entry

    with create(tmp_path / "l.sqlite", terms(2, 0)) as ledger, ThreadPoolExecutor(32) as pool:
        entries = [entry for entry in pool.map(ask, range(600)) if entry is not None]
        assert len(entries) == len(set(entries)) == 400
        assert ledger.spent().loss.epsilon == 2
        ledger.verify()


def test_a_job_that_is_interrupted_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while waiting for one's turn: nothing is done, and the others go on."""
    done: list[str] = []

    def commit(jobs: Iterator[Job[str, str]]) -> None:
        for job in jobs:
            done.append(job.work)
            job.result = job.work

    batches: Batches[str, str] = Batches(commit)

    class Interrupted(Job[str, str]):
        def sleep(self) -> None:
            raise KeyboardInterrupt

    batches.turn.acquire()
    with monkeypatch.context() as patch:
        patch.setattr("privet.ledger.batch.Job", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            batches.submit("interrupted")
    batches.turn.release()
    assert batches.submit("next") == "next"
    assert done == ["next"]


def test_who_waits_looks_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should the one who was to wake us have been interrupted."""
    monkeypatch.setattr("privet.ledger.batch.LOOK_AGAIN", 0.01)

    def commit(jobs: Iterator[Job[str, str]]) -> None:
        for job in jobs:
            job.result = job.work

    batches: Batches[str, str] = Batches(commit)
    batches.turn.acquire()
    threading.Timer(0.1, batches.turn.release).start()  # gives the turn back and calls nobody
    assert batches.submit("waiting") == "waiting"


def test_who_waits_when_the_ledger_closes_is_told(tmp_path: Path) -> None:
    ledger = create(tmp_path / "l.sqlite", terms())
    errors: list[str] = []

    def ask() -> None:
        try:
            ledger.spend(charge())
        except LedgerError as error:
            errors.append(error.problem)

    thread = threading.Thread(target=ask)
    with ledger._reading:  # keeps `close` from going on
        closing = threading.Thread(target=ledger.close)
        closing.start()
        while not ledger._batches.turn.locked():
            pass
        thread.start()
        while not ledger._batches._waiting:
            pass
    thread.join()
    closing.join()
    assert errors == ["the ledger l.sqlite is closed"]


def test_an_interrupted_commit_tells_everybody(ledger: SqliteLedger) -> None:
    """Ctrl-C in the thread that commits: it is raised there, undone, and the others get an error."""

    def interrupt(_: object) -> Receipt:
        raise KeyboardInterrupt

    other: Job[object, Receipt] = Job(lambda t: t.charge(charge()))
    ledger._batches._waiting.append(other)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        ledger._batches.submit(interrupt)
    assert other.done
    assert isinstance(other.error, LedgerError)
    assert ledger.head().entry == 1
    ledger.spend(charge())


def test_batches_have_an_end(ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privet.ledger.batch.MOST", 2)
    jobs = [Job(lambda t: t.charge(charge("0.01"))) for _ in range(5)]
    ledger._batches._waiting.extend(jobs)  # type: ignore[arg-type]
    assert ledger.spend(charge("0.01")).entry == 7
    assert all(job.done and job.error is None for job in jobs)


def test_one_ledger_counts_for_one_kind_of_unit(ledger: SqliteLedger) -> None:
    ledger.store(ledger.spend(charge(domain="people")), b"1")
    for other in ("rows", ""):
        with raises_code(InvalidInputError, "mixed-units"):
            ledger.spend(charge(domain=other))
    found = ledger.stored(sha("q"))
    assert found is not None
    assert found.charge.domain == "people"
    with raises_code(InvalidInputError, "too-long: domain"):
        ledger.spend(charge(domain="x" * 10_000))
    assert ledger.spent().loss.epsilon == Fraction(1, 10)
