"""How long does it take to read, plan and price a question? `python benchmarks/plans.py [--json FILE]`

No data are touched. Two sets of questions: the hundred of analysts (joins, sub-queries and roll-ups, in
tests/support/questions.sql), and tables of 10 to 200 columns asked for 1 to 50 aggregates under 20 conditions.
Processor time of `vault.sql`, the median of some rounds, in milliseconds: the machine may be busy. `growth` is the
factor from one size to the next beside the factor of columns times aggregates, so quadratic growth in either would show
as more than it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from peers.process import commit

import privet as pv

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.questions import ASKED, tables

ROUNDS = 15
SIZES = ((10, 1), (10, 3), (25, 6), (50, 12), (100, 25), (200, 50))
FUNCTIONS = ("SUM", "AVG", "COUNT")


def milliseconds(work: Callable[[], Any]) -> float:
    work()  # the first time fills caches
    times = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return 1000 * statistics.median(times)


def of_analysts(folder: Path) -> dict[str, float]:
    """For each question that is answered."""
    found: dict[str, float] = {}
    for name, made in tables().items():
        with pv.create(folder / name, budget=pv.Budget(10, "1e-6")) as vault:
            for table, one in made.items():
                vault.add_table(table, one.rows, **one.declared)
            for one in ASKED:
                if one.vault == name and one.refused is None:
                    work = lambda one=one, vault=vault: vault.sql(one.sql, epsilon=1, **one.options)  # noqa: E731
                    found[one.words] = milliseconds(work)
    return found


def wide(vault: Any, columns: int, aggregates: int) -> float:
    name, numbers = f"t{columns}", [f"x{n}" for n in range(columns - 1)]
    if name not in vault.tables:
        kinds = {"g": pv.Category(list("abc"))} | {x: pv.Number(0, 100, step="0.01") for x in numbers}
        vault.add_table(name, {"g": ["a"], "u": [1]} | {x: [1.0] for x in numbers}, unit="u", columns=kinds)
    asked = ", ".join(f"{FUNCTIONS[n % 3]}({numbers[n % len(numbers)]}) AS a{n}" for n in range(aggregates))
    where = " AND ".join(f"{x} > {n}" for n, x in enumerate(numbers[:20]))
    text = f"SELECT g, {asked} FROM {name} WHERE {where} GROUP BY g"
    return milliseconds(lambda: vault.sql(text, epsilon=1, delta="1e-7"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        asked = of_analysts(Path(name))
        with pv.create(Path(name) / "wide", budget=pv.Budget(10, "1e-6")) as vault:
            sizes = [{"columns": c, "aggregates": a, "ms": round(wide(vault, c, a), 2)} for c, a in SIZES]
    times = sorted(asked.values())
    slowest = dict(sorted(((words, round(ms, 2)) for words, ms in asked.items()), key=lambda pair: -pair[1])[:5])
    print(f"{len(times)} questions of analysts: median {statistics.median(times):.1f} ms, most {times[-1]:.1f} ms")
    for words, ms in slowest.items():
        print(f"  {ms:6.1f} ms  {words}")
    for size in sizes:
        print(f"{size['columns']:>4} columns, {size['aggregates']:>3} aggregates: {size['ms']:7.1f} ms")
    result = {
        "questions": len(times),
        "median_ms": round(statistics.median(times), 2),
        "most_ms": round(times[-1], 2),
        "slowest": slowest,
        "wide": sizes,
    }
    if options.json:
        body = {"privet": 1, "kind": "plans-speed", "result": commit() | result}
        options.json.write_text(json.dumps(body, indent=1) + "\n")


if __name__ == "__main__":
    main()
