"""Does one unit ever move an answer further than its price says? `python benchmarks/fuzz.py --cases 200000`.

Random tables, questions and units on the real engine, compared with the slow reference (fuzz_sensitivity.py). A case is
a pair of neighboring tables and a question. `attained` says how near to its bound the largest change came, for each
aggregate, relation and kind of unit: 1 means that the bound cannot be lowered. Give the seed to repeat a run. With
`--origins` it is done over joined tables and rows made for each unit (fuzz_origins.py): bounds are the same, but not
all are reached through joins. With `--reading` the tables are written to files and data frames with hostile ids first,
and read as a vault reads them (fuzz_reading.py). These files are in tests/support.
"""

from __future__ import annotations

import multiprocessing
import secrets
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from evidence import Evidence, mapped, options, parse
from support import fuzz_origins, fuzz_reading
from support.fuzz_sensitivity import CHANGES, Tally, fuzz

PIECE = 500  # cases of one seed
FUZZERS = {"sensitivity": fuzz, "origins": fuzz_origins.fuzz, "reading": fuzz_reading.fuzz}


def run(cases: int, piece: int, seed: int, processes: int, about: str) -> Iterator[Tally]:
    """The total again and again: pieces with seeds of their own, on several processes."""
    pieces, total = -(-cases // piece), fuzz_reading.Tally() if about == "reading" else Tally()
    found = mapped(partial(_piece, seed, about, piece), range(pieces), processes)
    for number, tally in enumerate(found, start=1):
        total.add(tally)
        for text in tally.violations[:2]:
            print(text[:4000], flush=True)
        if number % 10 == 0 or number == pieces:
            print(f"{total.cases:,} cases, {len(total.violations)} violations", flush=True)
            yield total


def _piece(seed: int, about: str, piece: int, number: int) -> Tally:
    return FUZZERS[about](hash((seed, number)), piece)


def summary(total: Tally) -> dict[str, Any]:
    cells = sorted(total.counts)
    nearest = {cell: {limit: float(total.attained[f"{cell}/{limit}"]) for limit in CHANGES} for cell in cells}
    return {
        "cases": total.cases,
        "violations": len(total.violations),
        "violations_by_kind": dict(Counter(text.partition(":")[0] for text in total.violations)),
        "questions": total.rounds,
        "questions_from_sql": total.from_sql,
        "questions_with_private_keys": total.private,
        "questions_with_totals": total.totals,
        "questions_the_engine_refused": total.too_long,
        **({"databases": dict(total.also)} if isinstance(total, fuzz_reading.Tally) else {}),
        "parts_compared": {cell: total.counts[cell] for cell in cells},
        "attained": nearest,
        "all_bounds_attained": all(share == 1 for limits in nearest.values() for share in limits.values()),
    }


def main(given: Sequence[str] | None = None) -> int:
    parser = options(__doc__)
    parser.add_argument("--cases", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--origins", dest="about", action="store_const", const="origins", default="sensitivity")
    which.add_argument("--reading", dest="about", action="store_const", const="reading")
    parser.set_defaults(piece=PIECE)
    read = parse(parser, given, cases=20, piece=20, processes=1, seed=1)
    evidence, result = Evidence(read, f"{read.about}-fuzz"), dict[str, Any]()
    for total in run(read.cases, read.piece, read.seed, read.processes, read.about):
        result = {"seed": read.seed} | summary(total)
        evidence.save(result)  # what took minutes is kept, whatever happens later
    attained = result["all_bounds_attained"] or read.about != "sensitivity" or read.tiny
    return 0 if not result["violations"] and attained else 1


if __name__ == "__main__":
    sys.exit(main())
