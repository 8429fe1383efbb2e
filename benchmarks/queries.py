"""A private GROUP BY beside the plain one, on the same file, in the same run.

    python benchmarks/queries.py --rows 1000000 [--people 10000000,1000000,50] [--json FILE]

Row units, ten groups, COUNT(*), SUM and AVG. `plain` is DuckDB itself on the same Parquet file with the same number of
threads; `privet` is a whole release: SQL, price, durable charge, bounded exact sums, noise, durable answer. Wall time,
medians; the machine may be busy, so read the ratio. A table of 1,000 rows shows what one release costs at least.

With people (rows, people, groups) each person has several rows in several groups; 3 groups are kept with 10 rows each.
The plain query bounds nobody. The first release of a fresh process is measured too, with its peak of memory: it opens
the vault and loads the compiled loops.

With --peers something else is measured: the same question put to other engines, see peers/speed.py.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
from evidence import Evidence, options, parse

import privet as pv

SQL = "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m FROM visits GROUP BY ward"
WARDS = [f"ward {n}" for n in range(10)]
SMALL = 1_000


def generate(path: Path, rows: int) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            f"""COPY (SELECT i AS id, 'ward ' || (hash(i) % 10) AS ward, (hash(i + 1) % 90) :: INTEGER AS age,
                (hash(i + 2) % 500000) / 100.0 AS cost FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"""
        )


def in_turns(plain: Callable[[], Any], private: Callable[[], Any], repeats: int) -> tuple[float, float, float]:
    """Medians of both and of their ratio within a round: a slow moment of the machine slows both."""
    plain(), private()  # the first runs open files and fill caches, on either side
    rounds = [(seconds(plain), seconds(private)) for _ in range(repeats)]
    first, second = zip(*rounds, strict=True)
    return statistics.median(first), statistics.median(second), statistics.median(b / a for a, b in rounds)


def seconds(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def vault_on(folder: Path, data: Path) -> Any:
    vault = pv.create(folder, budget=pv.Budget(epsilon=1000, delta=1e-9))
    columns = {"ward": pv.Category(WARDS), "age": pv.Integer(0, 120), "cost": pv.Number(0, 5000, step="0.01")}
    vault.add_table("visits", data, unit=None, columns=columns)
    return vault


def measure(rows: int, repeats: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "visits.parquet"
        generate(data, rows)
        with duckdb.connect() as connection, vault_on(Path(name) / "vault.privet", data) as vault:
            connection.execute(f"CREATE VIEW visits AS SELECT * FROM read_parquet('{data}')")
            plain, private, ratio = in_turns(
                lambda: connection.execute(SQL).fetchall(),
                lambda: vault.sql(SQL, epsilon="0.01").release(fresh=True),
                repeats,
            )
    return {"rows": rows, "plain_ms": plain * 1e3, "privet_ms": private * 1e3, "ratio": ratio}


def people(size: str, repeats: int) -> dict[str, float]:
    """The same question about people."""
    rows, persons, groups = map(int, size.split(","))
    with tempfile.TemporaryDirectory() as name:
        data, folder = Path(name) / "visits.parquet", Path(name) / "vault.privet"
        columns = {"ward": pv.Category([f"ward {n}" for n in range(groups)]), "cost": pv.Number(0, 5000, step="0.01")}
        with duckdb.connect() as connection:
            connection.execute(
                f"""COPY (SELECT (hash(i + 3) % {persons}) :: BIGINT AS id, 'ward ' || (hash(i) % {groups}) AS ward,
                    (hash(i + 2) % 500000) / 100.0 AS cost FROM range({rows}) t(i)) TO '{data}' (FORMAT parquet)"""
            )
            connection.execute(f"CREATE VIEW visits AS SELECT * FROM read_parquet('{data}')")
            with pv.create(folder, budget=pv.Budget(epsilon=1000, delta=1e-9)) as vault:
                vault.add_table("visits", data, unit="id", max_groups=3, max_rows_per_group=10, columns=columns)
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                pool.apply(_first, (folder,))  # the loops are compiled once for an installation, and kept on disk
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                first, peak = pool.apply(_first, (folder,))
            with pv.open(folder) as vault:
                plain, private, ratio = in_turns(
                    lambda: connection.execute(SQL).fetchall(),
                    lambda: vault.sql(SQL, epsilon="0.01").release(fresh=True),
                    repeats,
                )
    result = {"rows": rows, "people": persons, "groups": groups, "plain_ms": plain * 1e3, "privet_ms": private * 1e3}
    return result | {"ratio": ratio, "first_ms": first * 1e3, "peak_mb": peak}


def _first(folder: Path) -> tuple[float, float]:
    """Seconds and peak of memory in MB of a process that releases once."""
    with pv.open(folder) as vault:
        taken = seconds(lambda: vault.sql(SQL, epsilon="0.01").release(fresh=True))
    return taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare_peers(read: argparse.Namespace) -> None:
    from peers import speed  # noqa: PLC0415  starts nothing unless it is asked for

    evidence = Evidence(read, "queries-peers")
    evidence.save(speed.report(read.rounds, read.peer_rows))


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--people", nargs="*", default=["1000000,100000,1000", "10000000,1000000,50"])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--peers", action="store_true", help="other engines beside Privet, and nothing else")
    parser.add_argument("--rounds", type=int, default=3, help="of the peers, which take their time")
    parser.set_defaults(peer_rows=1_000_000)
    read = parse(parser, given, rows=[2_000], people=["2000,200,5"], repeats=1, rounds=1, peer_rows=2_000)
    if read.peers:
        compare_peers(read)
        return
    evidence = Evidence(read, "queries-speed")
    results = [measure(rows, read.repeats) for rows in [SMALL, *read.rows]]
    for result in results:
        print("{rows:>11,.0f} rows: plain {plain_ms:.2f} ms, privet {privet_ms:.2f} ms, {ratio:.2f} x".format(**result))
    persons = [people(size, read.repeats) for size in read.people]
    for result in persons:
        text = "{rows:>11,.0f} rows of {people:,.0f} people in {groups} groups: plain {plain_ms:.0f} ms, "
        text += "privet {privet_ms:.0f} ms, {ratio:.1f} x; first release {first_ms:.0f} ms, peak {peak_mb:.0f} MB"
        print(text.format(**result))
    evidence.save({"threads": os.cpu_count(), "sql": SQL, "results": results, "people": persons})


if __name__ == "__main__":
    main()
