"""The optimal generalization of Adult, alone and beside anjana, checked by pycanon; and of 1 and 10 million records.

`python benchmarks/anonymize.py` needs PRIVET_DATA, the folder that has adult_arx in it. 8 quasi-identifiers, 5 % of the
records may be suppressed. `arx` is what the Java program ARX finds, which is optimal: NCP and suppressed records; it is
not run here. anjana has the records in memory before the clock starts, as Privet has. Its NCP is computed here, from
what it wrote, in the same way: a record that it left out counts as suppressed. pycanon checks what both wrote, without
the suppressed records.

The large tables are records of Adult drawn with repetition, in which one value in a hundred is that of another record,
column by column. They are read from a CSV file and written to one, and each step is timed. Wall time, and processor
time of all threads: on a busy machine read that. `first` is the first call in the process.

Mondrian cuts the same large tables, and one with six columns of up to a million different numbers.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from evidence import Evidence, options, parse
from peers.process import PeerError
from peers.sampler import Process

from privet.anonymize.generalization import generalize
from privet.anonymize.hierarchy import Hierarchy
from privet.anonymize.hierarchy_file import read_hierarchies
from privet.anonymize.mondrian_cuts import mondrian
from privet.records.microdata import Microdata, RecordColumn, column, narrow, read, write

QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
SENSITIVE = "salary-class"
SUPPRESS = 0.05
NOISE = 0.01
ROUNDS = 5
CASES = (  # what is asked, and ARX's optimum
    ({"k": 5}, (0.2618, 1248)),
    ({"k": 10}, (0.3315, 1484)),
    ({"k": 100}, (0.5429, 1254)),
    ({"k": 5, "l": 2, "sensitive": SENSITIVE}, (0.3588, 1282)),
)
LIMITS = {1_000_000: 3, 10_000_000: 15}  # records: seconds that the search may take


def generated(records: int) -> tuple[Microdata, dict[str, Hierarchy]]:
    """For --tiny: a table with the columns of Adult and eight values each; a value, its half, a star."""
    chance, values = np.random.default_rng(1), [f"v{value}" for value in range(8)]
    columns = [column(name, [values[at] for at in chance.integers(0, 8, records)]) for name in (*QUASI, SENSITIVE)]
    levels = (tuple(values), ("low",) * 4 + ("high",) * 4, ("*",) * 8)
    return Microdata({one.name: one for one in columns}, records), {name: Hierarchy(name, levels) for name in QUASI}


def timed(work: Callable[[], Any]) -> tuple[Any, tuple[float, float]]:
    begun = time.perf_counter(), time.process_time()
    found = work()
    return found, (time.perf_counter() - begun[0], time.process_time() - begun[1])


def small(
    folder: Path, data: Microdata, trees: dict[str, Hierarchy], scratch: Path, rounds: int
) -> list[dict[str, Any]]:
    """A row for each case, ours and, where they are there, the peers'."""
    peer = _peer()
    print(f"{'asked':<44}{'who':<9}{'NCP':>8}{'suppressed':>12}{'wall':>9}{'processor':>11}  pycanon says")
    rows = []
    for asked, arx in CASES:
        row = {
            "asked": asked,
            "arx": {"ncp": arx[0], "suppressed": arx[1]},
            **ours(data, trees, asked, scratch, rounds),
        }
        row["as_arx"] = (round(row["privet"]["ncp"], 4), row["privet"]["suppressed"]) == arx
        if peer is not None:
            row |= theirs(peer, folder, data, asked, scratch)
            row["privet"]["pycanon"] = _canon(peer, scratch / "privet.csv", asked)
        rows.append(row)
        _show(row)
    if peer is not None:
        peer.close()
    return rows


def _peer() -> Process | None:
    try:
        return Process("anonymize", "run_anonymize.py")
    except PeerError as error:
        print(f"anjana and pycanon do not run here: {error}")
        return None


def ours(
    data: Microdata, trees: dict[str, Hierarchy], asked: dict[str, Any], scratch: Path, rounds: int
) -> dict[str, Any]:
    runs = [
        timed(lambda: generalize(data, QUASI, hierarchies=trees, suppress=SUPPRESS, **asked)) for _ in range(rounds)
    ]
    made = runs[0][0]
    (scratch / "privet.csv").unlink(missing_ok=True)  # of the last case: nothing is written over
    made.write(scratch / "privet.csv", keep_suppressed=False)
    told = made.to_json()
    facts = {name: told[name] for name in ("ncp", "suppressed", "node", "optimal", "looks", "nodes")}
    return {
        "privet": facts
        | {"first": [round(one, 3) for one in runs[0][1]]}
        | {"seconds": [round(median(run[1][clock] for run in runs), 3) for clock in (0, 1)]}
    }


def theirs(peer: Process, folder: Path, data: Microdata, asked: dict[str, Any], scratch: Path) -> dict[str, Any]:
    plain, out = scratch / "adult.csv", scratch / "anjana.csv"
    plain.unlink(missing_ok=True)
    write(data, plain, delimiter=";")
    ask = {"path": str(plain), "out": str(out), "quasi": QUASI, "k": asked["k"], "suppress": SUPPRESS}
    ask |= {"l": asked.get("l"), "sensitive": asked.get("sensitive")}
    ask |= {"hierarchies": {name: str(folder / f"adult_hierarchy_{name}.csv") for name in QUASI}}
    try:
        found = peer.ask({"anonymize": ask})
    except PeerError as error:
        return {"anjana": {"not_available": str(error)}}
    shipped = read(out)
    ncp = (loss(shipped, dict(read_hierarchies(folder))) + len(data) - len(shipped)) / len(data)
    facts = {"ncp": ncp, "suppressed": len(data) - len(shipped), "seconds": [round(one, 3) for one in found["seconds"]]}
    return {"anjana": facts | {"pycanon": _canon(peer, out, asked)}}


def _canon(peer: Process, path: Path, asked: dict[str, Any]) -> dict[str, Any]:
    return peer.ask({"check": {"path": str(path), "quasi": QUASI, "sensitive": asked.get("sensitive")}})


def loss(shipped: Microdata, trees: dict[str, Hierarchy]) -> float:
    """The sum over records of their mean share, from the labels alone."""
    total = 0.0
    for name in QUASI:
        tree = trees[name]
        share = {}
        for level in range(tree.height):
            counts = Counter(tree.levels[level])
            for label, count in counts.items():
                share.setdefault(label, (count - 1) / max(len(tree.levels[0]) - 1, 1))
        one = shipped[name]
        total += float(np.array([share[text] for text in one.texts])[one.codes].sum()) / len(QUASI)
    return total


def _show(row: dict[str, Any]) -> None:
    asked = ", ".join(f"{name}={value}" for name, value in row["asked"].items())
    print(f"{asked:<44}{'arx':<9}{row['arx']['ncp']:>8.4f}{row['arx']['suppressed']:>12,}")
    for who in ("privet", "anjana"):
        facts = row.get(who, {"not_available": "not installed"})
        if "not_available" in facts:
            print(f"{'':<44}{who:<9}{facts['not_available']}")
            continue
        wall, processor = facts["seconds"]
        said = {name: facts["pycanon"][name] for name in ("k", "l") if name in facts.get("pycanon", {})}
        words = f"{'':<44}{who:<9}{facts['ncp']:>8.4f}{facts['suppressed']:>12,}{wall:>7.2f} s{processor:>9.2f} s"
        print(f"{words}  {said or ''}", flush=True)
    if "seconds" in row.get("anjana", {}):
        times = [theirs / ours for theirs, ours in zip(row["anjana"]["seconds"], row["privet"]["seconds"], strict=True)]
        row["times_faster"] = [round(one, 1) for one in times]
        print(f"{'':<44}privet is {times[0]:.0f} times as fast, {times[1]:.0f} in processor time")


def drawn(data: Microdata, records: int) -> Microdata:
    """Records of the table, with some noise."""
    chance = np.random.default_rng(records)
    rows = chance.integers(0, len(data), records)
    columns = {}
    for one in data:
        codes = one.codes[rows]
        other = chance.random(records) < NOISE
        codes[other] = one.codes[chance.integers(0, len(data), int(other.sum()))]
        columns[one.name] = RecordColumn(one.name, codes, one.texts)
    return Microdata(columns, records)


def large(data: Microdata, trees: dict[str, Hierarchy], records: int, scratch: Path) -> list[dict[str, Any]]:
    """A row for each case: reading, searching, writing."""
    path = scratch / "large.csv"
    path.unlink(missing_ok=True)
    write(drawn(data, records), path)
    table, reading = timed(lambda: read(path))
    rows = []
    for asked, _ in CASES:
        made, searching = timed(
            lambda asked=asked: generalize(table, QUASI, hierarchies=trees, suppress=SUPPRESS, **asked)
        )
        (scratch / "out.csv").unlink(missing_ok=True)
        _, writing = timed(lambda made=made: made.write(scratch / "out.csv"))
        steps = {"read": reading, "search": searching, "write": writing}
        row = {"records": records, "asked": asked, "ncp": made.measures["ncp"], "suppressed": made.suppressed}
        row |= {"looks": made.looks, "limit": LIMITS.get(records), "bytes": path.stat().st_size}
        rows.append(row | {name: [round(one, 2) for one in seconds] for name, seconds in steps.items()})
        words = "  ".join(f"{name} {wall:.2f} s ({processor:.2f})" for name, (wall, processor) in steps.items())
        named = ", ".join(f"{name}={value}" for name, value in asked.items())
        print(f"{records:>11,}  {named:<33}NCP {row['ncp']:.4f}  {words}", flush=True)
    return rows


def fine(records: int) -> Microdata:
    """Six columns of numbers: two of few, two of thousands, two of up to a million different ones."""
    chance = np.random.default_rng(records)
    columns = {}
    for number, size in enumerate((50, 100, 5_000, 20_000, min(300_000, 10 * records), min(1_000_000, 10 * records))):
        codes = (size * chance.beta(2, 4, records)).astype(np.int64)
        texts = column(f"c{number}", [str(value) for value in range(size)])
        columns[f"c{number}"] = RecordColumn(f"c{number}", narrow(np.argsort(texts.codes)[codes], size), texts.texts)
    return Microdata(columns, records)


def cut(data: Microdata, quasi: list[str], name: str) -> dict[str, Any]:
    """Mondrian, twice: the first call may compile."""
    runs = [timed(lambda: mondrian(data, quasi, k=5)) for _ in range(2)]
    made = runs[1][0]
    sizes = np.bincount(made.classes[made.classes >= 0])
    row = {
        "table": name,
        "records": len(data),
        "ncp": made.measures["ncp"],
        "classes": len(sizes),
        "k": int(sizes.min()),
    }
    row |= {"first": [round(one, 2) for one in runs[0][1]], "seconds": [round(one, 2) for one in runs[1][1]]}
    print(f"Mondrian, {name}: NCP {row['ncp']:.4f}, {row['seconds'][0]} s ({row['seconds'][1]})", flush=True)
    return row | {"limit": 40 if len(data) == 10_000_000 else None}


def main(given: Sequence[str] | None = None) -> int:
    parser = options(__doc__)
    parser.add_argument("--records", type=int, nargs="*", default=list(LIMITS), help="sizes of the large tables")
    parser.set_defaults(rounds=ROUNDS)
    asked = parse(parser, given, records=[300], rounds=1)
    if "PRIVET_DATA" not in os.environ and not asked.tiny:
        print("PRIVET_DATA is not set: there is no Adult here", file=sys.stderr)
        return 2
    evidence = Evidence(asked, "anonymize")
    folder = Path(os.environ.get("PRIVET_DATA", "")) / "adult_arx"
    if asked.tiny:
        data, trees = generated(200)
    else:
        data, trees = read(folder / "adult.csv.gz"), dict(read_hierarchies(folder))
    with tempfile.TemporaryDirectory() as name:
        adult = small(folder, data, trees, Path(name), asked.rounds)
        many = [row for records in asked.records for row in large(data, trees, records, Path(name))]
    cuts = [cut(data, QUASI, "Adult")]
    for records in asked.records:
        cuts.append(cut(drawn(data, records), QUASI, f"Adult drawn {records:,} times"))
        cuts.append(cut(fine(records), [f"c{number}" for number in range(6)], f"{records:,} of fine numbers"))
    good = all(row["as_arx"] for row in adult)
    evidence.save({"threads": os.cpu_count(), "as_arx": good, "adult": adult, "large": many, "mondrian": cuts})
    return 0 if good or asked.tiny else 1


if __name__ == "__main__":
    sys.exit(main())
