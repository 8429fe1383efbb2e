"""Does a killed process ever deliver an answer that was not charged? `python benchmarks/query_kills.py --kills 200`.

The worker opens a vault and asks for releases on four threads: SQL, durable charge, engine, noise, durable answer,
delivery. It is ended by SIGKILL at random moments. After each kill the ledger must verify, and every delivered answer
must be among its charges; at the end each must be stored as it was delivered. The negative control delivers before it
charges. benchmarks/kills.py does the same to the ledger alone.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evidence import ROOT, Evidence, options, parse
from support.crash_harness import Tally
from support.query_workers import kill_many, make_vault, unstored

import privet as pv


def run(worker: str, kills: int, least: int = 0) -> dict[str, Any]:
    """So many kills, and more until at least so many answers were delivered."""
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        place = make_vault(Path(folder))
        started, total = time.monotonic(), Tally()
        while total.kills < kills or total.delivered < least:
            tally = kill_many(worker, place, 1)
            total.kills += tally.kills
            total.delivered += tally.delivered
            total.uncharged += tally.uncharged
        lines = [json.loads(line) for line in (place / "delivered.jsonl").read_text().splitlines()]
        with pv.open(place) as vault:
            missing = unstored(vault, lines)
        seconds = round(time.monotonic() - started, 1)
        return {"worker": worker, **asdict(total), "not_stored": missing, "seconds": seconds}


def main(given: Sequence[str] | None = None) -> int:
    parser = options(__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--delivered", type=int, default=2000)
    parser.add_argument("--control-kills", type=int, default=20)
    read = parse(parser, given, kills=1, delivered=1, control_kills=1)
    evidence = Evidence(read, "full-path-kills")
    result = run("releases", read.kills, read.delivered)
    print(f"{result['kills']} kills, {result['delivered']} delivered, {result['uncharged']} not charged")
    result["control"] = control = run("late", read.control_kills)
    print(f"control: {control['kills']} kills, {control['delivered']} delivered, {control['uncharged']} not charged")
    evidence.save(result)
    caught = control["uncharged"] > 0 or read.tiny  # one kill may find every charge done
    return 0 if result["uncharged"] == result["not_stored"] == 0 and caught else 1


if __name__ == "__main__":
    sys.exit(main())
