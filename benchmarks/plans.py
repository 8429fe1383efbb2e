"""How long does it take to read, plan and price a question? `python benchmarks/plans.py [--json FILE]`

No data are touched. Two sets of questions: the hundred of analysts (joins, sub-queries and roll-ups, in
tests/support/questions.sql), and tables of 10 to 200 columns asked for 1 to 50 aggregates under 20 conditions.
Processor time of `vault.sql`, the median of some rounds, in milliseconds: the machine may be busy. `growth` is the
factor from one size to the next beside the factor of columns times aggregates, so quadratic growth in either would show
as more than it.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evidence import Evidence, options, parse
from support.questions import ASKED, tables

import privet as pv

ROUNDS = 15
SIZES = ((10, 1), (10, 3), (25, 6), (50, 12), (100, 25), (200, 50))
FUNCTIONS = ("SUM", "AVG", "COUNT")


def milliseconds(work: Callable[[], Any], rounds: int) -> float:
    work()  # the first time fills caches
    times = []
    for _ in range(rounds):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return 1000 * statistics.median(times)


def of_analysts(folder: Path, rounds: int, every: int) -> dict[str, float]:
    """For each question that is answered, or for one in so many of them."""
    found: dict[str, float] = {}
    for name, made in tables().items():
        with pv.create(folder / name, budget=pv.Budget(10, "1e-6")) as vault:
            for table, one in made.items():
                vault.add_table(table, one.rows, **one.declared)
            for one in ASKED[::every]:
                if one.vault == name and one.refused is None:
                    work = lambda one=one, vault=vault: vault.sql(one.sql, epsilon=1, **one.options)  # noqa: E731
                    found[one.words] = milliseconds(work, rounds)
    return found


def wide(vault: Any, columns: int, aggregates: int, rounds: int) -> float:
    name, numbers = f"t{columns}", [f"x{n}" for n in range(columns - 1)]
    if name not in vault.tables:
        kinds = {"g": pv.Category(list("abc"))} | {x: pv.Number(0, 100, step="0.01") for x in numbers}
        vault.add_table(name, {"g": ["a"], "u": [1]} | {x: [1.0] for x in numbers}, unit="u", columns=kinds)
    asked = ", ".join(f"{FUNCTIONS[n % 3]}({numbers[n % len(numbers)]}) AS a{n}" for n in range(aggregates))
    where = " AND ".join(f"{x} > {n}" for n, x in enumerate(numbers[:20]))
    text = f"SELECT g, {asked} FROM {name} WHERE {where} GROUP BY g"
    return milliseconds(lambda: vault.sql(text, epsilon=1, delta="1e-7"), rounds)


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.set_defaults(rounds=ROUNDS, sizes=SIZES, every=1)
    read = parse(parser, given, rounds=1, sizes=SIZES[:2], every=10)
    evidence, sizes = Evidence(read, "plans-speed"), []
    with tempfile.TemporaryDirectory() as name:
        asked = of_analysts(Path(name), read.rounds, read.every)
        with pv.create(Path(name) / "wide", budget=pv.Budget(10, "1e-6")) as vault:
            for columns, aggregates in read.sizes:
                taken = wide(vault, columns, aggregates, read.rounds)
                sizes.append({"columns": columns, "aggregates": aggregates, "ms": round(taken, 2)})
    times = sorted(asked.values())
    slowest = dict(sorted(((words, round(ms, 2)) for words, ms in asked.items()), key=lambda pair: -pair[1])[:5])
    print(f"{len(times)} questions of analysts: median {statistics.median(times):.1f} ms, most {times[-1]:.1f} ms")
    for words, ms in slowest.items():
        print(f"  {ms:6.1f} ms  {words}")
    for size in sizes:
        print(f"{size['columns']:>4} columns, {size['aggregates']:>3} aggregates: {size['ms']:7.1f} ms")
    evidence.save(
        {
            "questions": len(times),
            "median_ms": round(statistics.median(times), 2),
            "most_ms": round(times[-1], 2),
            "slowest": slowest,
            "wide": sizes,
        }
    )


if __name__ == "__main__":
    main()
