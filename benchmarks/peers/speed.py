"""One question put to all of them: `python benchmarks/queries.py --peers`.

1,000,000 rows of 100,000 people in 1,000 public places, ten places a person; COUNT(*) and SUM(amount) by place at
epsilon 1. `people`: a person's rows in at most 10 places count, one row in each. `rows`: each row is a unit.
`quantiles`: 0.25, 0.5 and 0.75 of all amounts, each row a unit. All noise is Laplace.

`plain` is DuckDB on the same Parquet file and bounds nobody. `privet` is a whole release: SQL, price, durable charge,
bounding, exact sums, noise, durable answer. People are bounded by compiled loops in large tables and by NumPy in small
ones, and where the border lies is drawn for each process between 0.5 and 1.5 million rows: at this size it is one or
the other by chance, so both are measured, and have a line each.

OpenDP scans the file, too. It searches seconds long for the scale of its noise, so it has a second line without that
("prepared before"). SmartNoise and PipelineDP have the rows in memory before the clock starts (SQLite, a list of
tuples), which is in their favor. Wall time, and processor time of all threads: on a busy machine read that. The
contenders take turns, round by round, and a ratio is taken within a round, so that a busy moment slows both sides.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

import privet as pv
from peers.process import PEERS, Peer, PeerError
from privet.backends import pile

GROUPS, LOW, HIGH, A_PERSON = 1_000, 0, 5_000, 10
PLACES = [f"place {number:03}" for number in range(GROUPS)]
SQL = "SELECT place, COUNT(*) AS n, SUM(amount) AS s FROM visits GROUP BY place"
QUANTILES = "SELECT QUANTILE_CONT(amount, [0.25, 0.5, 0.75]) AS q FROM visits"
CANDIDATES = list(range(LOW, HIGH + 1, 10))
QUICK = 5  # how often the two that take milliseconds run in a round: their median counts
BORDERS = {"privet, compiled loops": 0, "privet, NumPy": 10**9}  # rows from which on people are bounded by loops
CLOCKS = ("wall", "processor")
Times = dict[str, tuple[float, ...]]  # contender -> seconds on both clocks; a peer may have two lines


def generate(path: Path, rows: int) -> None:
    """Ten places in a row for each person, starting anywhere."""
    with duckdb.connect() as connection:
        connection.execute(
            f"""COPY (SELECT (i // {A_PERSON}) :: BIGINT AS person,
                'place ' || lpad(CAST((hash(i // {A_PERSON}) + i) % {GROUPS} AS VARCHAR), 3, '0') AS place,
                (hash(i + 2) % 500000) / 100.0 AS amount FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"""
        )


def described(data: Path, setting: str, rows: int) -> dict[str, Any]:
    """The table in the words of the wire."""
    table = {"path": str(data), "person": setting == "people", "keys": None if setting == "quantiles" else PLACES}
    table |= {"low": LOW, "high": HIGH, "groups": A_PERSON, "rows": 1, "whole": False, "candidates": CANDIDATES}
    return table | {"largest": rows if setting == "quantiles" else 10 * rows // GROUPS}


def seconds(work: Callable[[], Any]) -> tuple[float, float]:
    begun = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begun[0], time.process_time() - begun[1]


def quick(name: str, work: Callable[[], Any]) -> Times:
    taken = [seconds(work) for _ in range(QUICK)]
    return {name: tuple(median(values) for values in zip(*taken, strict=True))}


def of_privet(vault: Any, sql: str, border: int | None) -> None:
    """A border for both: once the loops are loaded, Privet asks the second one."""
    before = pile.WORTH_A_START, pile.WORTH_A_CALL
    if border is not None:
        pile.WORTH_A_START = pile.WORTH_A_CALL = border
    try:
        vault.sql(sql, epsilon="1").release(fresh=True)
    finally:
        pile.WORTH_A_START, pile.WORTH_A_CALL = before


def of_peer(peer: Peer, aggregates: list[Any]) -> Times:
    releases = 2 if peer.name == "opendp" else 1
    asked = {"aggregates": aggregates, "epsilon": 1.0, "delta": 1e-6, "noise": "laplace", "releases": releases}
    whole, *prepared = peer.release(**asked)["seconds"]
    return {peer.name: whole} | {f"{peer.name}, prepared before": value for value in prepared}


@contextmanager
def vault_on(folder: Path, data: Path, setting: str) -> Iterator[Any]:
    columns = {"place": pv.Category(PLACES), "amount": pv.Number(LOW, HIGH, step="0.01")}
    with pv.create(folder / f"{setting}.privet", budget=pv.Budget(epsilon=1000, delta=1e-6)) as vault:
        unit = "person" if setting == "people" else None
        limits = {"max_groups": A_PERSON, "max_rows_per_group": 1} if unit else {}
        vault.add_table("visits", data, unit=unit, columns=columns, **limits)
        yield vault


def compare(setting: str, data: Path, rows: int, peers: dict[str, Peer], rounds: int) -> list[dict[str, Any]]:
    """Every contender once a round, after a first turn that does not count: it opens files and fills caches."""
    sql = QUANTILES if setting == "quantiles" else SQL
    aggregates: list[Any] = [0.25, 0.5, 0.75] if setting == "quantiles" else ["count", "sum"]
    with ExitStack() as stack:
        connection = stack.enter_context(duckdb.connect())
        connection.execute(f"CREATE VIEW visits AS SELECT * FROM read_parquet('{data}')")
        vault = stack.enter_context(vault_on(data.parent, data, setting))
        clocks: dict[str, Callable[[], Times]] = {
            "plain": partial(quick, "plain", lambda: connection.execute(sql).fetchall()),
        }
        clocks |= {
            name: partial(quick, name, partial(of_privet, vault, sql, border))
            for name, border in (BORDERS if setting == "people" else {"privet": None}).items()
        }
        chosen = ["opendp"] if setting == "quantiles" else list(peers)
        clocks |= {name: partial(of_peer, peers[name], aggregates) for name in chosen if name in peers}
        missing = [name for name in clocks if name in peers and not loads(peers[name], described(data, setting, rows))]
        return table_of(setting, *in_turns(setting, clocks, rounds), missing)


def loads(peer: Peer, table: dict[str, Any]) -> bool:
    try:
        peer.load(table)
    except PeerError as error:
        print(f"  {peer.name} cannot load it: {error}", file=sys.stderr, flush=True)
        return False
    return True


def in_turns(setting: str, clocks: dict[str, Callable[[], Times]], rounds: int) -> tuple[list[Times], dict[str, str]]:
    """Seconds, round by round, and what those said that cannot answer."""
    times: list[Times] = []
    silent: dict[str, str] = {}
    for number in range(rounds + 1):
        print(f"{setting}: round {number} of {rounds}", file=sys.stderr, flush=True)
        times.append({})
        for name, clock in clocks.items():
            if name in silent:
                continue
            try:
                times[-1] |= clock()
            except (PeerError, pv.errors.PrivetError, NotImplementedError) as error:
                silent[name] = " ".join(str(error).split())
    return times[1:], silent


def table_of(setting: str, times: list[Times], silent: dict[str, str], missing: list[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name in times[0]:
        row: dict[str, Any] = {"setting": setting, "contender": name}
        for number, clock in enumerate(CLOCKS):
            taken = [turn[name][number] for turn in times]
            row[clock] = {"median": median(taken), "min": min(taken), "max": max(taken)}
            row[clock] |= {"times_plain": median(turn[name][number] / turn["plain"][number] for turn in times)}
            if name.startswith(PEERS):
                ours = [own for own in times[0] if own.startswith("privet")]
                faster = {own: median(turn[name][number] / turn[own][number] for turn in times) for own in ours}
                row[clock] |= {"privet_times_faster": faster} if faster else {}
        rows.append(row)
    notes = silent | dict.fromkeys(missing, "it cannot load the table")
    return rows + [{"setting": setting, "contender": name, "not_available": why} for name, why in notes.items()]


def report(rounds: int, size: int) -> dict[str, Any]:
    """Measure, print, and give the result for the evidence."""
    peers, absent = started()
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "visits.parquet"
        generate(data, size)
        settings = ("people", "rows", "quantiles")
        rows = [row for setting in settings for row in compare(setting, data, size, peers, rounds)]
    for peer in peers.values():
        peer.close()
    show(rows, absent)
    versions = {name: peer.versions for name, peer in peers.items()} | {"duckdb": version("duckdb")}
    facts = {"threads": os.cpu_count(), "versions": versions, "rounds": rounds}
    return facts | {"sql": SQL, "quantiles": QUANTILES, "absent": absent, "table": rows}


def started() -> tuple[dict[str, Peer], dict[str, str]]:
    """The peers that run here, and why the others do not."""
    peers, absent = {}, {}
    for name in PEERS:
        try:
            peers[name] = Peer(name)
        except PeerError as error:
            absent[name] = str(error)
    return peers, absent


def show(rows: list[dict[str, Any]], absent: dict[str, str]) -> None:
    """Both clocks: seconds, times plain, how many times faster Privet is."""
    head = "".join(f"{clock:>12}{'x plain':>9}{'Privet x':>12}" for clock in CLOCKS)
    print(f"\n{'setting':<11}{'contender':<26}{head}")
    for row in rows:
        text = f"{row['setting']:<11}{row['contender']:<26}"
        if "not_available" in row:
            print(f"{text}not available: {row['not_available'][:90]}")
            continue
        for clock in CLOCKS:
            found = row[clock]
            faster = "/".join(f"{factor:.1f}" for factor in found.get("privet_times_faster", {}).values())
            text += f"{found['median']:>10.3g} s{found['times_plain']:>9.1f}{faster:>12}"
        print(text.rstrip())
    for setting in dict.fromkeys(row["setting"] for row in rows):
        print(best_peer(setting, [row for row in rows if row["setting"] == setting]))
    for name, why in absent.items():
        print(f"{name} does not run here: {why}")


def best_peer(setting: str, rows: list[dict[str, Any]]) -> str:
    """Privet's factor over the fastest peer's whole release, by either clock."""
    known = [row for row in rows if row["contender"] in PEERS and "wall" in row]
    if not known or "privet_times_faster" not in known[0]["wall"]:
        return f"{setting}: Privet is not compared"
    said = []
    for clock in CLOCKS:
        fastest = min(known, key=lambda row, clock=clock: row[clock]["median"])
        factors = (f"{name} {factor:.1f} x" for name, factor in fastest[clock]["privet_times_faster"].items())
        said.append(f"{'; '.join(factors)} faster than {fastest['contender']} ({clock} time)")
    return f"{setting}: {', '.join(said)}"
