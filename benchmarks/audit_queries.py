"""Audits of whole questions on neighboring tables. `python benchmarks/audit_queries.py --releases 2000 --json FILE`.

For each shape of question three audits, with the likelihood ratio of the two tables as the output that is looked at:
  releases  through everything: vault, SQL, durable charge, engine, noise, durable answer
  draws     of noise, choices and shown keys alone, by the engine, on the exact numbers recorded from both tables
  control   the same draws with half the noise or too low a threshold: this must be found violated
The false-alarm rate of all audits together is stated in the result.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from evidence import ROOT, Evidence, mapped, options, parse
from support.full_path import SHAPES, Pair, audit_control, audit_draws, audit_releases

from privet.audits import Audit, audit
from privet.audits.counted import FEWEST_SAMPLES
from privet.engine import FreshNoise

SURE = Fraction(10**8 - 1, 10**8)  # of one audit


def measure(releases: int, draws: int, number: int) -> dict[str, Any]:
    shape = SHAPES[number]
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        pair = Pair(Path(folder), shape)
        try:
            found = {
                "releases": released(pair, releases),
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
        **{name: shown(one) for name, one in found.items()},
    }


def released(pair: Pair, releases: int) -> Audit:
    """An audit needs 1,000 outputs. If fewer releases are asked for (--tiny), the engine's draws, which have the same
    law, supply the others."""
    if releases >= FEWEST_SAMPLES:
        return audit_releases(pair, releases, SURE)
    left = [releases, releases]

    def outputs(side: int, size: int) -> list[float]:
        real = min(size, left[side])
        left[side] -= real
        drawn = pair.draws(side, size - real, FreshNoise()) if size > real else []
        return pair.releases(side, real) + drawn

    return audit(outputs, pair.shape.claim, (0, 1), samples=FEWEST_SAMPLES, confidence=SURE)


def shown(found: Audit) -> dict[str, Any]:
    return {
        "verdict": found.verdict,
        "violated": found.violated,
        "lower_bound": round(found.lower_bound, 4),
        "ceiling": round(found.ceiling, 4),
        "samples": found.samples,
        "seconds": round(found.seconds, 1),
    }


def good(row: dict[str, Any]) -> bool:
    kept = all(row[name]["verdict"].startswith("consistent") for name in ("releases", "draws"))
    return kept and row["control"]["violated"]


def main(given: Sequence[str] | None = None) -> int:
    parser = options(__doc__)
    parser.add_argument("--releases", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.set_defaults(shapes=len(SHAPES))
    read = parse(parser, given, releases=5, draws=20_000, processes=1, shapes=1)
    evidence, rows = Evidence(read, "full-path-audit"), []
    for row in mapped(partial(measure, read.releases, read.draws), range(read.shapes), read.processes):
        rows.append(row)
        said = (f"{name}: {row[name]['verdict']}" for name in ("releases", "draws", "control"))
        print(f"{row['shape']:17}", *said, flush=True)
    result = {
        "releases_per_table": read.releases,
        "draws_per_table": read.draws,
        "false_alarm_of_all": float(2 * len(rows) * (1 - SURE)),
        "all_good": all(map(good, rows)),
        "rows": rows,
    }
    evidence.save(result)
    return 0 if result["all_good"] else 1


if __name__ == "__main__":
    sys.exit(main())
