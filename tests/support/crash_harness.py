"""Kills a worker at random moments, and looks each time whether every delivered answer was charged.

As a script it is the worker's side: `python -m support.crash_harness MODULE:FUNCTION PLACE DELIVERED`. The function
gets PLACE (a ledger's path, or whatever it opens) and `deliver(request=..., entry=..., digest=...)`, and never returns.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from privet.ledger import Kind, Receipt
from privet.ledger.sqlite import open as open_ledger
from support.processes import surroundings

LONGEST_RUN = 0.2  # seconds between the worker's start and its end


@dataclass(slots=True, kw_only=True)
class Tally:
    kills: int = 0
    delivered: int = 0
    uncharged: int = 0


def kill_many(worker: str, place: Path, ledger: Path, kills: int, longest: float = LONGEST_RUN) -> Tally:
    """`ledger` is checked; `place` is what the worker opens. Raises TamperedError if the ledger does not verify."""
    tally, delivered = Tally(), ledger.with_name("delivered.jsonl")
    delivered.touch()
    for _ in range(kills):
        seen = delivered.stat().st_size
        kill_one(worker, place, delivered, longest)
        tally.kills += 1
        lines = delivered.read_bytes()[seen:].splitlines()
        tally.delivered += len(lines)
        tally.uncharged += uncharged(ledger, [json.loads(line) for line in lines])
    return tally


def kill_one(worker: str, place: Path, delivered: Path, longest: float) -> None:
    with started(worker, place, delivered) as process:
        time.sleep(random.uniform(0, longest))
        assert process.poll() is None, "the worker ended by itself"
        process.kill()


def started(worker: str, place: Path, delivered: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "support.crash_harness", worker, str(place), str(delivered)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=surroundings())
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n", "the worker did not start"
    return process


def uncharged(ledger: Path, lines: list[dict[str, object]]) -> int:
    """How many of these deliveries the ledger does not know. A delivery names a request, a receipt, or both."""
    with open_ledger(ledger) as opened:
        opened.verify()
        charges = [entry for entry in opened.entries() if entry.kind is Kind.CHARGE]
    requests = {entry.request for entry in charges}
    receipts = {Receipt(entry=entry.number, digest=entry.digest) for entry in charges}

    def known(line: dict[str, object]) -> bool:
        receipt = Receipt(entry=line["entry"], digest=line["digest"]) if "entry" in line else None  # type: ignore[arg-type]
        if "request" in line and line["request"] not in requests:
            return False
        return "request" in line if receipt is None else receipt in receipts

    return sum(not known(line) for line in lines)


def main() -> None:
    worker, place, delivered = sys.argv[1:]
    module, _, name = worker.partition(":")
    function = getattr(importlib.import_module(module), name)
    file = os.open(delivered, os.O_WRONLY | os.O_APPEND)

    def deliver(**line: object) -> None:
        os.write(file, json.dumps(line).encode() + b"\n")  # with the system at once: a kill cannot take it back

    print("ready", flush=True)
    function(place, deliver)


if __name__ == "__main__":
    main()
