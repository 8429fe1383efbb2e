"""Does any text get more out of the SQL front than a plan or a refusal? `python benchmarks/sql_fuzz.py [--json FILE]`

Questions that are answered, mutated; words in any order; and broken texts (tests/support/sql_soup.py). Each is read
into a plan or refused in our own words; what is read is also planned and priced in a real vault, which then has the
ledger that it began with: nothing was charged.
"""

from __future__ import annotations

import multiprocessing
import secrets
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from evidence import Evidence, mapped, options, parse
from support.sql_soup import broken, mutated, outcome, soup
from support.sql_writer import FACTS, TABLES, UNITS

import privet as pv
from privet.core.plan import Plan
from privet.errors import PrivetError

PIECE = 2_000  # strings of one seed
KINDS = (mutated, mutated, soup, broken)


def piece(seed: int, strings: int, number: int) -> tuple[Counter[str], list[str]]:
    rng, counts, failures = Random(hash((seed, number))), Counter[str](), list[str]()
    with tempfile.TemporaryDirectory() as name, pv.create(Path(name) / "v", budget=pv.Budget(1, "1e-6")) as vault:
        for table, columns in TABLES.items():
            fact, unit = FACTS.get(table), UNITS.get(table)
            public = fact is not None and fact.public
            rows = {column: [None] for column in (*columns, *([unit] if unit and unit not in columns else []))}
            how: dict[str, Any] = {"public": True, "key": fact.key} if fact and public else {"unit": unit}
            try:
                vault.add_table(table, rows, columns=columns, **how)
            except PrivetError:  # rows as units cannot share a vault with people
                counts["tables left out"] += 1
        before = vault.ledger.head()
        for _ in range(strings):
            text = rng.choice(KINDS)(rng)
            try:
                found = outcome(text)
                counts["read" if isinstance(found, Plan) else "refused"] += 1
                counts["priced" if _priced(vault, text) else "not priced"] += 1
            except Exception as error:  # that is what is looked for
                failures.append(f"{type(error).__name__} for {text!r}")
        if vault.ledger.head() != before:
            failures.append("something was charged")
    return counts, failures


def _priced(vault: Any, text: str) -> bool:
    try:
        vault.sql(text, epsilon="0.5", delta="1e-8").explain()
    except PrivetError:
        return False
    return True


def main(given: Sequence[str] | None = None) -> int:
    parser = options(__doc__)
    parser.add_argument("--strings", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.set_defaults(piece=PIECE, processes=multiprocessing.cpu_count())
    read = parse(parser, given, strings=60, piece=60, processes=1, seed=1)
    evidence, failures = Evidence(read, "sql-fuzz"), list[str]()
    counts = Counter({"tables left out": 0, "refused": 0, "not priced": 0, "read": 0, "priced": 0})
    pieces = range(-(-read.strings // read.piece))
    for some, bad in mapped(partial(piece, read.seed, read.piece), pieces, read.processes):
        counts.update(some)
        failures += bad
        print(f"{counts['read'] + counts['refused']:,} strings, {len(failures)} failures", flush=True)
        for text in bad[:2]:
            print(text[:2000], flush=True)
    strings = counts["read"] + counts["refused"]
    evidence.save({"seed": read.seed, "strings": strings, "failures": len(failures), **counts})
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
