"""How fast is the ledger? `python benchmarks/ledger.py [--json FILE]`.

Durable reservations a second, and how long one takes, for 1 and 32 threads in one process and for 8 processes. Beside
them, on the same disk in the same minutes, what the hardware allows: plain appends with fsync, and a bare SQLite loop
that commits one row at a time. Rounds alternate, and the middle one counts: a slow minute slows both sides.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from privet.core.accountant import Budget
from privet.core.loss import pure
from privet.core.unit import Neighbors
from privet.ledger import Charge, Policy, Terms
from privet.ledger.sqlite import create
from privet.ledger.sqlite import open as open_ledger

ROOT = Path(__file__).resolve().parent.parent
TERMS = Terms(budget=Budget(1000, 1e-9), neighbors=Neighbors.ADD_REMOVE, policy=Policy.REFUSE, testing=True)
LOSS = pure(Fraction(1, 10000))
GOALS = {"per_second": 2000, "p99_ms": 100}  # of 32 threads
Times = list[float]


def charges(path: Path, threads: int, seconds: float, name: str = "") -> Times:
    """Seconds of each durable charge that these threads made, as the owner, who is never suspended."""
    times: Times = []

    def work(thread: int) -> None:
        count, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            request = hashlib.sha256(f"{name} {thread} {count}".encode()).hexdigest()
            start = time.perf_counter()
            ledger.spend(Charge(loss=LOSS, request=request))
            times.append(time.perf_counter() - start)
            count += 1

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
    file, page, times = os.open(path.with_name("plain"), os.O_CREAT | os.O_WRONLY | os.O_APPEND), bytes(4096), []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        os.write(file, page)
        os.fsync(file)
        times.append(time.perf_counter() - start)
    os.close(file)
    return times


def bare_commits(path: Path, seconds: float) -> Times:
    """SQLite with the same settings, one row a commit, and nothing else."""
    connection = sqlite3.connect(path.with_name("bare.sqlite"), isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS x (y)")
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        connection.execute("INSERT INTO x VALUES (randomblob(200))")
        times.append(time.perf_counter() - start)
    connection.close()
    return times


CONTENDERS: dict[str, Callable[[Path, float], Times]] = {
    "plain append and fsync": fsyncs,
    "bare SQLite commits": bare_commits,
    "1 thread": lambda path, seconds: charges(path, 1, seconds),
    "32 threads": lambda path, seconds: charges(path, 32, seconds),
    "8 processes": lambda path, seconds: processes(path, 8, seconds),
}


def summary(times: Times, seconds: float) -> dict[str, float]:
    ordered = sorted(times)
    at: Callable[[float], float] = lambda share: round(1000 * ordered[int(share * (len(ordered) - 1))], 2)  # noqa: E731
    return {"per_second": round(len(ordered) / seconds, 1), "p50_ms": at(0.5), "p99_ms": at(0.99)}


def measure(rounds: int, seconds: float) -> dict[str, dict[str, float]]:
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".ledger-") as folder:
        path = Path(folder) / "ledger.sqlite"
        create(path, TERMS).close()
        for _ in range(rounds):
            for name, run in CONTENDERS.items():
                rows[name].append(summary(run(path, seconds), seconds))
        with open_ledger(path) as ledger:
            start = time.perf_counter()
            ledger.verify()
            verified = {"entries": ledger.head().entry, "seconds": round(time.perf_counter() - start, 1)}
    middle = {name: {key: median(row[key] for row in runs) for key in runs[0]} for name, runs in rows.items()}
    return middle | {"verify": verified}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = measure(arguments.rounds, arguments.seconds)
    for name in CONTENDERS:
        print(f"{name:24}" + "".join(f"{key} {value:>9,.1f}   " for key, value in rows[name].items()))
    fsync, many = rows["plain append and fsync"]["per_second"], rows["32 threads"]
    ratio = round(many["per_second"] / fsync, 2)
    print(f"32 threads make {ratio} durable charges for each fsync that the disk can do; verify {rows['verify']}")
    reached = many["per_second"] >= GOALS["per_second"] and many["p99_ms"] < GOALS["p99_ms"]
    if arguments.json:
        arguments.json.write_text(json.dumps(report(arguments, rows, ratio, reached), indent=1) + "\n")
    return 0 if reached else 1


def report(arguments: argparse.Namespace, rows: dict[str, Any], ratio: float, reached: bool) -> dict[str, Any]:
    git = partial(subprocess.run, cwd=ROOT, capture_output=True, text=True, check=False)
    result = {
        "commit": git(["git", "rev-parse", "--short", "HEAD"]).stdout.strip(),
        "machine": {
            "cpus": os.cpu_count(),
            "processor": platform.machine(),
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
            "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        },
        "rounds": arguments.rounds,
        "seconds": arguments.seconds,
        "rows": rows,
        "charges_per_fsync": ratio,
        "goals": GOALS | {"reached": reached},
    }
    return {"privet": 1, "kind": "ledger-speed", "result": result}


if __name__ == "__main__":
    sys.exit(main())
