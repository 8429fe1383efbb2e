"""The gallery with many seeds: how often each broken mechanism is caught, and how many correct ones are flagged.

    python benchmarks/gallery.py [--first 0] [--seeds 20] [--seconds S] [--twin-seconds S] [--processor-time]

Each audit of a correct mechanism raises a false alarm with probability 1 - confidence at most, so of all of them at
most (number of audits) * (1 - confidence) are expected. With --processor-time an audit's seconds are those of the
processor, so that other work on the machine does not count; `privet audit gallery` tells how long it takes on a clock.
Twins may have less time (--twin-seconds): whenever an audit stops, it raises a false alarm as rarely as stated.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

if "--processor-time" in sys.argv:  # before anybody takes the clock; also in the processes that audit, which are forked
    time.perf_counter = time.process_time

from evidence import Evidence, options, parse

from privet.gallery.run import SAMPLES, SECONDS, GalleryRow, run

CONFIDENCE = 0.999999  # what pv.audits.audit takes by itself


def audited(seeds: range, **how: Any) -> Iterator[tuple[GalleryRow, ...]]:
    for seed in seeds:
        started = time.time()
        rows = run(seed, **how)
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


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--twin-seconds", type=float, default=SECONDS)
    parser.add_argument("--processor-time", action="store_true")
    parser.set_defaults(only="", samples=SAMPLES, processes=os.cpu_count())
    read = parse(parser, given, seeds=1, seconds=1e3, twin_seconds=1e3, only="laplace", samples=2_000, processes=1)
    evidence, rounds = Evidence(read, "gallery-seeds"), []
    how = {name: getattr(read, name) for name in ("seconds", "twin_seconds", "only", "samples", "processes")}
    for rows in audited(range(read.first, read.first + read.seeds), **how):
        rounds.append(rows)
        found = summary(rounds)
        print(f"caught {found['caught']} of {found['of']}; false alarms {found['false_alarms']}", flush=True)
        facts = {
            "seconds_per_entry": read.seconds,
            "seconds_per_correct_entry": read.twin_seconds,
            "seconds_are": "of the processor" if time.perf_counter is time.process_time else "on a clock",
            "first_seed": read.first,
        }
        evidence.save(facts | found)


if __name__ == "__main__":
    main()
