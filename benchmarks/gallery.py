"""The gallery with many seeds: how often each broken mechanism is caught, and how many correct ones are flagged.

    python benchmarks/gallery.py [--first 0] [--seeds 20] [--seconds S] [--twin-seconds S] [--processor-time]

Each audit of a correct mechanism raises a false alarm with probability 1 - confidence at most, so of all of them at
most (number of audits) * (1 - confidence) are expected. With --processor-time an audit's seconds are those of the
processor, so that other work on the machine does not count; `privet audit gallery` tells how long it takes on a clock.
Twins may have less time (--twin-seconds): whenever an audit stops, it raises a false alarm as rarely as stated.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

if "--processor-time" in sys.argv:  # before anybody takes the clock; also in the processes that audit, which are forked
    time.perf_counter = time.process_time

from privet.gallery.run import SECONDS, GalleryRow, run

ROOT = Path(__file__).parent.parent
CONFIDENCE = 0.999999  # what pv.audits.audit takes by itself


def audited(first: int, seeds: int, seconds: float, twins: float) -> Iterator[tuple[GalleryRow, ...]]:
    for seed in range(first, first + seeds):
        started = time.time()
        rows = run(seed, seconds=seconds, twin_seconds=twins)
        wrong = [row.name for row in rows if not row.right]
        print(f"seed {seed}: {len(rows)} audits in {time.time() - started:.0f} s, wrong: {wrong or 'none'}", flush=True)
        yield rows


def summary(rounds: list[tuple[GalleryRow, ...]]) -> dict[str, object]:
    by_name: defaultdict[str, list[GalleryRow]] = defaultdict(list)
    for row in (row for rows in rounds for row in rows):
        by_name[row.name].append(row)
    broken = {name: rows for name, rows in by_name.items() if not rows[0].correct}
    correct = {name: rows for name, rows in by_name.items() if rows[0].correct}
    audits = sum(len(rows) for rows in correct.values())
    return {
        "seeds": len(rounds),
        "broken": len(broken),
        "caught": sum(row.flagged for rows in broken.values() for row in rows),
        "of": sum(len(rows) for rows in broken.values()),
        "false_alarms": sum(row.flagged for rows in correct.values() for row in rows),
        "audits_of_correct_mechanisms": audits,
        "false_alarms_expected_at_most": round(audits * (1 - CONFIDENCE), 9),
        "rows": [
            {
                "name": name,
                "caught": sum(row.flagged for row in rows),
                "of": len(rows),
                "bound_over_claim": round(min(row.bound / row.claimed for row in rows), 3),
                "slowest_seconds": round(max(row.seconds for row in rows), 2),
            }
            for name, rows in broken.items()
        ],
        "flagged_by_mistake": [row.to_json() for rows in correct.values() for row in rows if row.flagged],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--twin-seconds", type=float, default=SECONDS)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    started, rounds = time.time(), []
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    for rows in audited(arguments.first, arguments.seeds, arguments.seconds, arguments.twin_seconds):
        rounds.append(rows)
        found = summary(rounds)
        print(f"caught {found['caught']} of {found['of']}; false alarms {found['false_alarms']}", flush=True)
        result = {
            "commit": commit.stdout.strip(),
            "seconds": round(time.time() - started),
            "seconds_per_entry": arguments.seconds,
            "seconds_per_correct_entry": arguments.twin_seconds,
            "seconds_are": "of the processor" if arguments.processor_time else "on a clock",
            "first_seed": arguments.first,
            **found,
        }
        if arguments.json:
            text = json.dumps({"privet": 1, "kind": "gallery-seeds", "result": result}, indent=1)
            arguments.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
