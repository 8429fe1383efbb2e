"""Is what an owner was told there after a kill? `python benchmarks/owner_kills.py --kills 100 --json FILE`.

Processes that restore a ledger, update a table, or declare tables two at a time are ended by SIGKILL at random moments
(tests/support/owner_workers.py). Afterwards everything that they reported must be there, and what was left half done
must be put right by doing it again.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from evidence import Evidence, options, parse
from support.owner_workers import JOBS, LATEST, kill_many


def main(given: Sequence[str] | None = None) -> int:
    parser = options(__doc__)
    parser.add_argument("--kills", type=int, default=100, help="of each kind")
    parser.set_defaults(latest=LATEST)
    read = parse(parser, given, kills=1, latest=0.05)
    evidence, result, wrong = Evidence(read, "owner-kills"), dict[str, object](), 0
    for name in JOBS:
        with tempfile.TemporaryDirectory() as folder:
            tally = kill_many(name, Path(folder), read.kills, read.latest)
        print(
            f"{name}: {tally.kills} kills, {tally.told} told, {tally.missing} missing, {tally.stuck} stuck", flush=True
        )
        result[name] = asdict(tally)
        wrong += tally.missing + tally.stuck
    evidence.save(result)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
