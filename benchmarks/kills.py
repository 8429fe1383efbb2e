"""Does a killed process ever deliver what was not charged? `python benchmarks/kills.py --kills 200 --json FILE`.

A worker charges, stores and delivers on eight threads, and is ended by SIGKILL at random moments. After each kill the
ledger must verify, and every delivered answer must be among its charges. The negative control delivers before it
charges; a harness that does not catch it would prove nothing. Another worker is given as --worker MODULE:FUNCTION
(see tests/support/crash_harness.py), with --place and --ledger if it opens more than a ledger.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evidence import Evidence, options, parse
from support import crash_harness

from privet.core.accountant import Budget
from privet.core.unit import Neighbors
from privet.ledger import Policy, Terms
from privet.ledger.sqlite import create

FEW = 25  # kills of one ledger; then a fresh one, for all of it is verified after each kill
TERMS = Terms(
    budget=Budget(1000, 1e-9), neighbors=Neighbors.ADD_REMOVE, policy=Policy.REFUSE, testing=True
)  # room for hundreds of thousands of charges


def run(
    worker: str, kills: int, longest: float, place: Path | None = None, ledger: Path | None = None
) -> dict[str, Any]:
    start, sums = time.monotonic(), Counter[str]()
    while sums["kills"] < kills:
        few = min(FEW, kills - sums["kills"])
        with tempfile.TemporaryDirectory() as folder:
            used = ledger or Path(folder) / "ledger.sqlite"
            if ledger is None:
                create(used, TERMS).close()
            sums.update(asdict(crash_harness.kill_many(worker, place or used, used, few, longest)))
    numbers = {name: sums[name] for name in ("kills", "delivered", "uncharged")}
    return {"worker": worker, **numbers, "seconds": round(time.monotonic() - start, 1)}


def main(given: Sequence[str] | None = None) -> int:
    parser = options(__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--control-kills", type=int, default=20)
    parser.add_argument("--longest", type=float, default=0.8, help="seconds that a worker may live")
    parser.add_argument("--worker", default="support.crash_workers:in_order")
    parser.add_argument("--control", default="support.crash_workers:late")
    parser.add_argument("--place", type=Path, help="what the worker opens, if not the ledger alone")
    parser.add_argument("--ledger", type=Path, help="the ledger in that place")
    read = parse(parser, given, kills=1, control_kills=1, longest=0.1)
    evidence = Evidence(read, "ledger-kills")
    result = run(read.worker, read.kills, read.longest, read.place, read.ledger)
    print(f"{result['kills']} kills, {result['delivered']} delivered, {result['uncharged']} not charged")
    result["control"] = control = run(read.control, read.control_kills, read.longest)
    print(f"control: {control['kills']} kills, {control['delivered']} delivered, {control['uncharged']} not charged")
    evidence.save(result)
    caught = control["uncharged"] > 0 or read.tiny  # one kill may come before the first delivery
    return 0 if result["uncharged"] == 0 and caught else 1


if __name__ == "__main__":
    sys.exit(main())
