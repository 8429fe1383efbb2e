"""Real processes: killed, racing, forking, and out of disk."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from support.charges import charge, parts, terms
from support.crash_harness import Tally, kill_many, uncharged
from support.processes import surroundings
from support.refusals import raises_code

from privet.core.unit import Neighbors
from privet.errors import BudgetExceededError, LedgerError
from privet.ledger import Receipt, sqlite
from privet.ledger.batch import Job
from privet.ledger.sqlite import create
from privet.ledger.sqlite import open as open_ledger

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def run(script: str, *arguments: object) -> str:
    """In a process of its own, where warnings are errors, with the tests' modules at hand."""
    command = [sys.executable, "-W", "error", "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=surroundings(), check=False)
    assert (done.returncode, done.stderr) == (0, "")  # what a process said, if something went wrong in it
    return done.stdout


@pytest.mark.proof
def test_every_delivered_answer_was_charged_however_it_was_killed(tmp_path: Path) -> None:
    ledger = tmp_path / "l.sqlite"
    create(ledger, terms(1000)).close()
    tally = kill_many("support.crash_workers:in_order", ledger, ledger, 25)
    assert tally.kills == 25
    assert tally.uncharged == 0


@pytest.mark.proof
@pytest.mark.parametrize("neighbors", Neighbors)
def test_parts_are_charged_however_it_was_killed(tmp_path: Path, neighbors: Neighbors) -> None:
    """Also when it was killed while the units were divided: there are parts with all their accounts, or there are
    none. `verify` runs after every kill."""
    ledger = tmp_path / "l.sqlite"
    create(ledger, terms(1000, neighbors=neighbors)).close()
    tally = kill_many("support.crash_workers:of_parts", ledger, ledger, 12)
    assert tally.kills == 12
    assert tally.uncharged == 0


def test_the_harness_catches_a_worker_that_charges_late(tmp_path: Path) -> None:
    """At any moment most of its 8 threads have delivered and not charged. Should half of the kills miss all of them
    (they do not), 25 kills miss with probability 2**-25; the loop stops at the first catch.
    """
    ledger = tmp_path / "l.sqlite"
    create(ledger, terms(1000)).close()
    tally = Tally()
    while not tally.uncharged and tally.kills < 25:
        one = kill_many("support.crash_workers:late", ledger, ledger, 1)
        tally = Tally(kills=tally.kills + 1, uncharged=one.uncharged)
    assert tally.uncharged > 0


def test_the_harness_knows_requests_and_receipts(tmp_path: Path) -> None:
    with create(tmp_path / "l.sqlite", terms()) as ledger:
        receipt = ledger.spend(charge())
    right: dict[str, object] = {"request": charge().request, "entry": receipt.entry, "digest": receipt.digest}
    wrong = [right | {"digest": "x"}, right | {"request": "x"}, right | {"entry": 1}, {"request": "x"}, {}]
    assert uncharged(tmp_path / "l.sqlite", [right]) == 0
    assert uncharged(tmp_path / "l.sqlite", [{"request": charge().request}]) == 0
    assert uncharged(tmp_path / "l.sqlite", wrong) == len(wrong)


RACE = """
import os, sys
from support.charges import charge
from privet.errors import BudgetExceededError
from privet.ledger import connection
from privet.ledger.sqlite import open as open_ledger

connection.PATIENCE = 3600  # a busy machine with a slow disk is no failure
start, go = os.pipe()
children = []
for name in range(32):
    pid = os.fork()
    if pid == 0:
        os.close(go)
        os.read(start, 1)  # returns when the parent closes its end
        won = 0
        try:
            with open_ledger(sys.argv[1]) as ledger:
                for number in range(2):
                    try:
                        ledger.spend(charge("0.1", f"{name} {number}", analyst=f"a{name}"))
                        won += 1
                    except BudgetExceededError:
                        pass
        except BaseException:
            won = 100
        os._exit(won)
    children.append(pid)
os.close(go)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
print(sum(codes), max(codes))
"""


@forks
def test_32_processes_race_for_the_last_unit(tmp_path: Path) -> None:
    """64 attempts for the one charge that is left: one wins, and nobody gets another error than "no budget"."""
    with create(tmp_path / "l.sqlite", terms("1.05", 0)) as ledger:
        ledger.spend(charge("0.95"))
    assert run(RACE, tmp_path / "l.sqlite") == "1 1\n"
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        ledger.verify()
        assert ledger.spent().loss.epsilon == terms("1.05").budget.epsilon
        with pytest.raises(BudgetExceededError):
            ledger.spend(charge("0.000001"))


RACE_OF_PARTS = """
import os, sys
from support.charges import charge, parts
from privet.errors import BudgetExceededError, InvalidInputError
from privet.ledger import connection
from privet.ledger.sqlite import open as open_ledger

connection.PATIENCE = 3600  # a busy machine with a slow disk is no failure
start, go = os.pipe()
children = []
for name in range(24):
    pid = os.fork()
    if pid == 0:
        os.close(go)
        os.read(start, 1)
        code = 0
        try:
            with open_ledger(sys.argv[1]) as ledger:
                if name == 0:
                    ledger.divide(parts("north", "south", "west"))
                for number in range(6):
                    more = {"part": ("north", "south", "west")[number % 3]} if (name + number) % 4 else {}
                    try:
                        ledger.spend(charge("0.1", f"{name} {number}", **more))
                    except BudgetExceededError:
                        pass
                    except InvalidInputError:  # not divided yet
                        ledger.spend(charge("0.001", f"{name} {number} all"))
        except BudgetExceededError:
            pass
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            code = 1
        os._exit(code)
    children.append(pid)
os.close(go)
print(sum(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))
"""


@forks
@pytest.mark.parametrize("neighbors", Neighbors)
def test_24_processes_race_for_parts_while_one_divides(tmp_path: Path, neighbors: Neighbors) -> None:
    """Charges come before, during and after the division, from processes that opened the ledger before it. What counts
    for a unit is then added up from the entries, apart from the accounts: it is within the cap, and full."""
    create(tmp_path / "l.sqlite", terms(1, 0, neighbors=neighbors)).close()
    assert run(RACE_OF_PARTS, tmp_path / "l.sqlite") == "0\n"
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        ledger.verify()
        charges = [(entry.loss.epsilon, entry.part) for entry in ledger.entries() if entry.loss is not None]
    moves = 1 if neighbors is Neighbors.ADD_REMOVE else 2
    sums = [
        sum(epsilon for epsilon, part in charges if part in (None, *world))
        for world in itertools.combinations(("north", "south", "west"), moves)
    ]
    assert max(sums) <= 1
    assert max(sums) > Fraction("0.9"), "nobody could ask any more"


@pytest.mark.parametrize("neighbors", Neighbors)
def test_a_ledger_that_was_open_before_charges_the_parts(tmp_path: Path, neighbors: Neighbors) -> None:
    path = tmp_path / "l.sqlite"
    with create(path, terms(1, 0, neighbors=neighbors)) as old, open_ledger(path) as new:
        old.spend(charge("0.1"))
        new.divide(parts())
        old.spend(charge("0.2"))  # it has not looked for parts before
        assert old.partition == parts()
        assert {one.spent.loss.epsilon for one in new.readings()} == {Fraction("0.3")}
        with raises_code(BudgetExceededError, "budget-exceeded: budget"):
            old.spend(charge("0.8", part="north"))
        old.verify()


FORK = """
import os, sys, threading
from support.charges import charge, terms
from privet.ledger import connection
from privet.ledger.sqlite import create

connection.PATIENCE = 3600
ledger = create(sys.argv[1], terms(100))
stop, counts = threading.Event(), []

def work(name):
    count = 0
    while not stop.is_set():
        ledger.store(ledger.spend(charge("0.001", f"{name} {count}")), b"x")
        count += 1
    counts.append(count)

threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
for thread in threads:
    thread.start()
children = []
for child in range(8):
    pid = os.fork()  # while the other threads commit and wait
    if pid == 0:
        try:
            for number in range(3):
                ledger.store(ledger.spend(charge("0.001", f"child {child} {number}", analyst=f"child {child}")), b"x")
            ledger.verify()
            ledger.close()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    children.append(pid)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
stop.set()
for thread in threads:
    thread.join()
ledger.verify()
names = [e.analyst for e in ledger.entries() if e.kind == "charge"]
mine, theirs = names.count(""), len(names) - names.count("")
ledger.close()
print(codes == [0] * 8, mine == sum(counts), theirs)
"""


@forks
def test_forked_processes_have_connections_of_their_own(tmp_path: Path) -> None:
    """Children use the ledger that their parent had open, in the middle of its threads' commits."""
    script = "import warnings; warnings.simplefilter('ignore', DeprecationWarning)\n" + FORK  # forking with threads
    assert run(script, tmp_path / "l.sqlite") == "True True 24\n"


def test_what_waits_when_the_process_forks_is_the_parents(tmp_path: Path) -> None:
    with create(tmp_path / "l.sqlite", terms()) as ledger:
        sqlite._before_fork()
        assert ledger._reader is None
        ledger._batches._waiting.append(Job(lambda t: t.charge(charge())))
        sqlite._after_fork(child=True)
        assert ledger.spend(charge()).entry == 2, "the child does not charge for its parent's thread"
        sqlite._before_fork()
        sqlite._after_fork(child=False)
        assert ledger.spend(charge()).entry == 3


FULL = """
import json, resource, sys, threading
from pathlib import Path
from support.charges import charge
from privet.errors import LedgerError
from privet.ledger.sqlite import open as open_ledger

delivered, refused = [], []
with open_ledger(sys.argv[1]) as ledger:
    ledger.spend(charge("0.001"))
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))  # no file may grow beyond this

    def work(name):
        for number in range(40):
            try:
                receipt = ledger.spend(charge("0.001", f"{name} {number}"))
                ledger.store(receipt, b"x" * 500)
                delivered.append({"entry": receipt.entry, "digest": receipt.digest})
            except LedgerError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    receipt = ledger.spend(charge("0.001", "after"))  # goes on when there is room again
    delivered.append({"entry": receipt.entry, "digest": receipt.digest})
print(json.dumps({"delivered": delivered, "refused": refused}))
"""


@pytest.mark.skipif(os.name == "nt", reason="needs a limit on file sizes")
def test_a_full_disk_refuses_and_loses_nothing(tmp_path: Path) -> None:
    create(tmp_path / "l.sqlite", terms(100)).close()
    outcome = json.loads(run(FULL, tmp_path / "l.sqlite"))
    assert outcome["refused"], "the limit was never reached"
    assert len(outcome["delivered"]) + len(outcome["refused"]) == 161
    for text in outcome["refused"]:
        assert "the disk is full" in text or "the disk reported an error" in text
    assert uncharged(tmp_path / "l.sqlite", outcome["delivered"]) == 0


def test_no_more_pages_fails_the_whole_batch(tmp_path: Path) -> None:
    """SQLite's own limit: the error comes in the middle of a transaction, and everybody in it is refused."""
    with create(tmp_path / "l.sqlite", terms(100)) as ledger:
        ledger.spend(charge("0.001"))
        assert ledger._writer is not None
        ledger._writer.execute("PRAGMA max_page_count=1")  # as many as there are now
        long = [Job(lambda t, n=n: t.charge(charge("0.001", n, note="x" * 900))) for n in range(20)]
        ledger._commit(iter(long))
        assert all(isinstance(job.error, LedgerError) and job.result is None for job in long)
        assert len({id(job.error) for job in long}) == 20, "each caller raises an error of its own"
        assert "the disk is full" in str(long[0].error)
        assert ledger.head().entry == 2
        ledger.verify()
        assert isinstance(ledger.spend(charge("0.001")), Receipt)


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    with create(tmp_path / "l.sqlite", terms()) as ledger:
        ledger.spend(charge())
        assert ledger._writer is not None
        ledger._writer.execute("PRAGMA query_only=ON")
        with raises_code(LedgerError, "cannot-write: may … written"):
            ledger.spend(charge())
        ledger.spend(charge())
        ledger.close()
        (tmp_path / "l.sqlite").rename(tmp_path / "moved.sqlite")
    with raises_code(LedgerError, "ledger-missing: no"):
        open_ledger(tmp_path / "l.sqlite")
