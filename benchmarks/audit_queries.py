"""Audits of whole questions on neighboring tables. `python benchmarks/audit_queries.py --releases 2000 --json FILE`.

For each shape of question three audits, with the likelihood ratio of the two tables as the output that is looked at:
  releases  through everything: vault, SQL, durable charge, engine, noise, durable answer
  draws     of noise, choices and shown keys alone, by the engine, on the exact numbers recorded from both tables
  control   the same draws with half the noise or too low a threshold: this must be found violated
The false-alarm rate of all audits together is stated in the result.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.full_path import SHAPES, Pair, audit_control, audit_draws, audit_releases  # noqa: E402

from privet.audits import Audit  # noqa: E402

SURE = Fraction(10**8 - 1, 10**8)  # of one audit


def measure(releases: int, draws: int, number: int) -> dict[str, Any]:
    shape = SHAPES[number]
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        pair = Pair(Path(folder), shape)
        try:
            found = {
                "releases": audit_releases(pair, releases, SURE),
                "draws": audit_draws(pair, draws, SURE),
            }
            attained = float(pair.attained())
            found["control"] = audit_control(pair, draws, SURE)
        finally:
            pair.close()
    return {
        "shape": shape.name,
        "sql": shape.text,
        "neighbors": shape.neighbors,
        "unit": shape.unit or "row",
        "claim": {"epsilon": float(shape.claim.value), "delta": float(shape.claim.delta)},
        "price_used_up": attained,
        **{name: shown(audit) for name, audit in found.items()},
    }


def shown(audit: Audit) -> dict[str, Any]:
    return {
        "verdict": audit.verdict,
        "violated": audit.violated,
        "lower_bound": round(audit.lower_bound, 4),
        "ceiling": round(audit.ceiling, 4),
        "samples": audit.samples,
        "seconds": round(audit.seconds, 1),
    }


def good(row: dict[str, Any]) -> bool:
    kept = all(row[name]["verdict"].startswith("consistent") for name in ("releases", "draws"))
    return kept and row["control"]["violated"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    started, rows = time.monotonic(), []
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        work = partial(measure, arguments.releases, arguments.draws)
        for row in pool.imap(work, range(len(SHAPES))):
            rows.append(row)
            print(
                f"{row['shape']:17}",
                *(f"{n}: {row[n]['verdict']}" for n in ("releases", "draws", "control")),
                flush=True,
            )
    result = {
        "commit": git.stdout.strip(),
        "seconds": round(time.monotonic() - started),
        "releases_per_table": arguments.releases,
        "draws_per_table": arguments.draws,
        "false_alarm_of_all": float(2 * len(rows) * (1 - SURE)),
        "all_good": all(map(good, rows)),
        "rows": rows,
    }
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"privet": 1, "kind": "full-path-audit", "result": result}, indent=1) + "\n"
        )
    return 0 if result["all_good"] else 1


if __name__ == "__main__":
    sys.exit(main())
