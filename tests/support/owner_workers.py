"""What is killed at the owner's desk: restoring a ledger, updating a table, two owners who declare tables at once.

A worker prints a line for each thing that it was told is done. After a kill, what was told must be there, and whatever
was left half done must be put right by doing it again.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import privet as pv
from privet.errors import InvalidInputError, PrivetError
from privet.ledger import sqlite

COLUMNS = {"age": pv.Integer(0, 120)}
QUESTION = "SELECT COUNT(*) AS n FROM visits"
LATEST = 0.4  # seconds after the first line


@dataclass(slots=True, kw_only=True)
class Tally:
    kills: int = 0
    told: int = 0  # things that a worker said were done
    missing: int = 0  # and that were not there afterwards
    stuck: int = 0  # what could not be put right by doing it again


def make_vault(folder: Path) -> Path:
    """With one charge, a backup of its ledger, and a table."""
    (folder / "visits.csv").write_text("id,age\n" + "".join(f"{number},{number % 90}\n" for number in range(50)))
    place = folder / "v.privet"
    with pv.create(place, budget=pv.Budget(1000)) as vault:
        vault.add_table("visits", folder / "visits.csv", unit="id", columns=COLUMNS)
        vault.sql(QUESTION, epsilon=1).release()
        vault.ledger.backup(folder / "backup.sqlite")  # type: ignore[attr-defined]
    return place


def restores(place: Path) -> None:
    """Move the ledger away and restore the newest backup, again and again."""
    for number in count():
        (place / "ledger.sqlite").unlink(missing_ok=True)
        sqlite.restore(place.parent / "backup.sqlite", place / "ledger.sqlite")
        print(number, flush=True)


def updates(place: Path) -> None:
    """A new version of the table, again and again."""
    while True:
        with pv.open(place) as vault:
            print(vault.update_table("visits").version, flush=True)


def declares(place: Path) -> None:
    """New tables, beside another owner who does the same."""
    name = f"t{random.getrandbits(40)}"
    for number in count():
        with pv.open(place) as vault:
            try:
                vault.add_table(f"{name}_{number}", place.parent / "visits.csv", unit="id", columns=COLUMNS)
            except InvalidInputError as error:
                if error.code != "declaration-changed":
                    raise
            else:
                print(f"{name}_{number}", flush=True)


def after_restores(place: Path, _: list[str]) -> int:
    """A ledger that is not there, or not whole, is restored again. It then has what the backup has."""
    try:
        sqlite.open(place / "ledger.sqlite").close()
    except PrivetError:
        sqlite.restore(place.parent / "backup.sqlite", place / "ledger.sqlite")
    with pv.open(place) as vault:
        vault.ledger.verify()
        assert not vault.ledger.entries_lost
        return int(vault.budget.spent.epsilon != 1)


def after_updates(place: Path, told: list[str]) -> int:
    with pv.open(place) as vault:
        return int(vault.tables["visits"].version < max(map(int, told), default=0))


def after_declares(place: Path, told: list[str]) -> int:
    with pv.open(place) as vault:
        return len(set(told) - set(vault.tables))


JOBS: dict[str, tuple[Callable[[Path], None], Callable[[Path, list[str]], int], int]] = {
    "restores": (restores, after_restores, 1),
    "updates": (updates, after_updates, 1),
    "declares": (declares, after_declares, 2),
}  # what is killed, what must hold afterwards, how many at once


def kill_many(name: str, folder: Path, kills: int, latest: float = LATEST) -> Tally:
    """Each kill is at another moment; each time on a fresh copy of the same vault."""
    tally, (_, check, owners) = Tally(), JOBS[name]
    template = folder / "template"
    template.mkdir()
    make_vault(template)
    for number in range(kills):
        desk = folder / str(number)
        shutil.copytree(template, desk)
        told = _killed(name, desk / "v.privet", owners, latest)
        tally.kills += 1
        tally.told += len(told)
        try:
            tally.missing += check(desk / "v.privet", told)
        except PrivetError as error:
            print(error, file=sys.stderr)
            tally.stuck += 1
        shutil.rmtree(desk)
    return tally


def _killed(name: str, place: Path, owners: int, latest: float) -> list[str]:
    command = [sys.executable, __file__, name, str(place)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(owners)]
    first = [worker.stdout.readline() for worker in workers if worker.stdout]
    time.sleep(random.uniform(0, latest))
    for worker in workers:
        assert worker.poll() is None, "the worker ended by itself"
        worker.kill()
    return [line.strip() for line in [*first, *(line for one in workers for line in one.communicate()[0].split())]]


if __name__ == "__main__":
    JOBS[sys.argv[1]][0](Path(sys.argv[2]))
