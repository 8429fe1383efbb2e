"""Is what an owner was told there after a kill? `python benchmarks/owner_kills.py --kills 100 --json FILE`.

Processes that restore a ledger, update a table, or declare tables two at a time are ended by SIGKILL at random moments
(tests/support/owner_workers.py). Afterwards everything that they reported must be there, and what was left half done
must be put right by doing it again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.owner_workers import JOBS, kill_many  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100, help="of each kind")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    result: dict[str, object] = {"commit": git.stdout.strip()}
    wrong = 0
    for name in JOBS:
        with tempfile.TemporaryDirectory() as folder:
            tally = kill_many(name, Path(folder), arguments.kills)
        print(
            f"{name}: {tally.kills} kills, {tally.told} told, {tally.missing} missing, {tally.stuck} stuck", flush=True
        )
        result[name] = asdict(tally)
        wrong += tally.missing + tally.stuck
    if arguments.json:
        arguments.json.write_text(json.dumps({"privet": 1, "kind": "owner-kills", "result": result}, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
