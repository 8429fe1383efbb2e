"""How fast are pseudonyms reversed, and made? `python benchmarks/pseudonyms.py` writes docs/evidence/pseudonyms.json.

Rates are of processor time, a core each; Python's hashlib in the same loop stands beside them. The 18 million taxi
medallions are reversed by the command line, from a CSV file of pseudonyms, once with nothing compiled and once more.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

from privet.anonymize.key_file import Key
from privet.anonymize.pseudonyms import pseudonymize
from privet.attacks.pseudonyms.formats import formats_of
from privet.attacks.pseudonyms.hash_search import Sweep, Targets
from privet.attacks.pseudonyms.schemes import BITS, RFC2104, HashReading, Scheme
from privet.records import microdata

ROOT = Path(__file__).resolve().parent.parent
IDS, SLOW_IDS = 2**20, 2**16
PSEUDONYMS = 100_000
ROWS = 1_000_000


def rate(scheme: Scheme, *, compiled: bool) -> float:
    """Ids a second of processor time, looked up among 100,000 pseudonyms that none of them has."""
    (format,) = formats_of("AAA999")
    random = Random(1)
    reading = HashReading("hex", BITS[scheme.algorithm] // 4)
    targets = Targets.of(reading, (random.randbytes(64).hex()[: reading.letters] for _ in range(PSEUDONYMS)))
    sweep = Sweep.of(format, scheme, targets)
    if not compiled:
        sweep = Sweep(format, scheme, targets, None, None, None)
    count = IDS if sweep.compiled is not None else SLOW_IDS
    sweep.swept(0, 1)
    start = time.process_time()
    sweep.swept(0, count)
    return count / (time.process_time() - start)


def rates() -> list[dict[str, Any]]:
    ways = [Scheme(algorithm=name) for name in BITS] + [Scheme(algorithm=name, key=b"k" * 32) for name in RFC2104]
    rows = []
    for way in ways:
        ours, slow = rate(way, compiled=True), rate(way, compiled=False)
        rows.append(
            {"hash": str(way), "ids_a_second": round(ours), "hashlib": round(slow), "ratio": round(ours / slow, 2)}
        )
        print(rows[-1], flush=True)
    return rows


def taxi(name: str, folder: Path, cache: Path) -> dict[str, Any]:
    """All medallions, by the command line."""
    medallion = formats_of("taxi-medallion")
    random = Random(2)
    ids = [format.id(random.randrange(format.size)) for format in medallion for _ in range(PSEUDONYMS // 3)]
    texts = [hashlib.new(name, one).hexdigest() for one in ids]
    path = folder / f"{name}.csv"
    microdata.write(microdata.Microdata({"m": microdata.column("m", texts)}, len(texts)), path)
    words = [sys.executable, "-m", "privet", "attack", "pseudonyms", str(path), "--column", "m", "--json"]
    start, before = time.perf_counter(), os.times()
    run = subprocess.run(
        [*words, "--format", "taxi-medallion", "--seconds", "600"], capture_output=True, text=True, check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
    )  # fmt: skip
    wall, after = time.perf_counter() - start, os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    result = json.loads(run.stdout)["result"]
    return {
        "hash": name, "ids": result["ids"], "pseudonyms": result["pseudonyms"], "reversed": result["reversed"],
        "forecast_seconds": round(result["forecast_seconds"], 1), "wall_seconds": round(wall, 1),
        "cpu_seconds": round(spent, 1), "control_hits": result["control"]["hits"],
    }  # fmt: skip


def made() -> dict[str, Any]:
    """Pseudonyms of a million different ids."""
    data = microdata.Microdata({"id": microdata.column("id", [str(one) for one in range(ROWS)])}, ROWS)
    start = time.process_time()
    pseudonymize({"t": data}, {"id": "id"}, Key.new())
    return {"ids": ROWS, "cpu_seconds": round(time.process_time() - start, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        runs = [{"compiled_before": False, **taxi("md5", folder, folder / "cache")}]
        runs += [
            {"compiled_before": True, **taxi(name, folder, folder / "cache")} for name in ("md5", "sha1", "sha256")
        ]
    for one in runs:
        print(one, flush=True)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    result = {
        "commit": commit, "python": platform.python_version(), "cores": os.cpu_count(), "rates_a_core": rates(),
        "taxi_medallions": runs, "pseudonymize": made(), "seconds": round(time.perf_counter() - start),
    }  # fmt: skip
    if options.json:
        told = {"privet": 1, "kind": "pseudonyms", "result": result}
        options.json.write_text(json.dumps(told, indent=1) + "\n")
    print(json.dumps(result["pseudonymize"]))


if __name__ == "__main__":
    main()
