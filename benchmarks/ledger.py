"""How fast is the ledger? `python benchmarks/ledger.py [--json FILE]`.

Durable reservations a second, and how long one takes, for 1 and 32 threads in one process and for 8 processes. Beside
them, on the same disk in the same minutes, what the hardware allows: plain appends with fsync, and a bare SQLite loop
that commits one row at a time. Rounds alternate, and the middle one counts: a slow minute slows both sides.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import platform
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

from evidence import ROOT, Evidence, options, parse

from privet.core.accountant import Budget
from privet.core.loss import pure
from privet.core.unit import Neighbors
from privet.ledger import Charge, Policy, Terms
from privet.ledger.sqlite import create
from privet.ledger.sqlite import open as open_ledger

TERMS = Terms(budget=Budget(1000, 1e-9), neighbors=Neighbors.ADD_REMOVE, policy=Policy.REFUSE, testing=True)
LOSS = pure(Fraction(1, 10000))
GOALS = {"per_second": 2000, "p99_ms": 100}  # of 32 threads
Times = list[float]


def repeated(work: Callable[[int], Any], seconds: float) -> Times:
    """Seconds of each call, for so long; at least one."""
    times, end = list[float](), time.monotonic() + seconds
    while not times or time.monotonic() < end:
        start = time.perf_counter()
        work(len(times))
        times.append(time.perf_counter() - start)
    return times


def charges(path: Path, threads: int, seconds: float, name: str = "") -> Times:
    """Seconds of each durable charge that these threads made, as the owner, who is never suspended."""
    times: Times = []

    def work(thread: int) -> None:
        def spend(count: int) -> None:
            request = hashlib.sha256(f"{name} {thread} {count}".encode()).hexdigest()
            ledger.spend(Charge(loss=LOSS, request=request))

        times.extend(repeated(spend, seconds))

    with open_ledger(path) as ledger:
        workers = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return times


def processes(path: Path, number: int, seconds: float) -> Times:
    with multiprocessing.get_context("spawn").Pool(number) as pool:
        pool.map(abs, range(number))  # all of them are up
        jobs = [pool.apply_async(charges, (path, 1, seconds, str(name))) for name in range(number)]
        return [one for job in jobs for one in job.get()]


def fsyncs(path: Path, seconds: float) -> Times:
    """Append a page and sync, alone."""
    file, page = os.open(path.with_name("plain"), os.O_CREAT | os.O_WRONLY | os.O_APPEND), bytes(4096)

    def append(_: int) -> None:
        os.write(file, page)
        os.fsync(file)

    times = repeated(append, seconds)
    os.close(file)
    return times


def bare_commits(path: Path, seconds: float) -> Times:
    """SQLite with the same settings, one row a commit, and nothing else."""
    connection = sqlite3.connect(path.with_name("bare.sqlite"), isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS x (y)")
    times = repeated(lambda _: connection.execute("INSERT INTO x VALUES (randomblob(200))"), seconds)
    connection.close()
    return times


def contenders(several: int) -> dict[str, Callable[[Path, float], Times]]:
    return {
        "plain append and fsync": fsyncs,
        "bare SQLite commits": bare_commits,
        "1 thread": lambda path, seconds: charges(path, 1, seconds),
        "32 threads": lambda path, seconds: charges(path, 32, seconds),
        f"{several} processes": lambda path, seconds: processes(path, several, seconds),
    }


def summary(times: Times, seconds: float) -> dict[str, float]:
    ordered = sorted(times)
    at: Callable[[float], float] = lambda share: round(1000 * ordered[int(share * (len(ordered) - 1))], 2)  # noqa: E731
    return {"per_second": round(len(ordered) / seconds, 1), "p50_ms": at(0.5), "p99_ms": at(0.99)}


def measure(rounds: int, seconds: float, several: int) -> dict[str, dict[str, float]]:
    runs = contenders(several)
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in runs}
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".ledger-") as folder:
        path = Path(folder) / "ledger.sqlite"
        create(path, TERMS).close()
        for _ in range(rounds):
            for name, run in runs.items():
                rows[name].append(summary(run(path, seconds), seconds))
        with open_ledger(path) as ledger:
            start = time.perf_counter()
            ledger.verify()
            verified = {"entries": ledger.head().entry, "seconds": round(time.perf_counter() - start, 1)}
    middle = {name: {key: median(row[key] for row in some) for key in some[0]} for name, some in rows.items()}
    return middle | {"verify": verified}


def main(given: Sequence[str] | None = None) -> int:
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.set_defaults(processes=8)
    read = parse(parser, given, rounds=1, seconds=0.02, processes=2)
    evidence, rows = Evidence(read, "ledger-speed"), measure(read.rounds, read.seconds, read.processes)
    for name in contenders(read.processes):
        print(f"{name:24}" + "".join(f"{key} {value:>9,.1f}   " for key, value in rows[name].items()))
    fsync, many = rows["plain append and fsync"]["per_second"], rows["32 threads"]
    ratio = round(many["per_second"] / fsync, 2)
    print(f"32 threads make {ratio} durable charges for each fsync that the disk can do; verify {rows['verify']}")
    reached = many["per_second"] >= GOALS["per_second"] and many["p99_ms"] < GOALS["p99_ms"]
    evidence.save(
        {
            "machine": machine(),
            "rounds": read.rounds,
            "seconds": read.seconds,
            "rows": rows,
            "charges_per_fsync": ratio,
            "goals": GOALS | {"reached": reached},
        }
    )
    return 0 if reached or read.tiny else 1


def machine() -> dict[str, Any]:
    return {
        "cpus": os.cpu_count(),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


if __name__ == "__main__":
    sys.exit(main())
