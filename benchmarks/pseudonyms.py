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
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from evidence import Evidence, options, parse

from privet.anonymize.key_file import Key
from privet.anonymize.pseudonyms import pseudonymize
from privet.attacks.pseudonyms.formats import formats_of
from privet.attacks.pseudonyms.hash_search import Sweep, Targets
from privet.attacks.pseudonyms.schemes import BITS, RFC2104, HashReading, Scheme
from privet.records import microdata

WAYS = [Scheme(algorithm=name) for name in BITS] + [Scheme(algorithm=name, key=b"k" * 32) for name in RFC2104]


def rate(scheme: Scheme, sizes: argparse.Namespace, *, compiled: bool) -> float:
    """Ids a second of processor time, looked up among pseudonyms that none of them has."""
    (format,) = formats_of("AAA999")
    random = Random(1)
    reading = HashReading("hex", BITS[scheme.algorithm] // 4)
    targets = Targets.of(reading, (random.randbytes(64).hex()[: reading.letters] for _ in range(sizes.pseudonyms)))
    sweep = Sweep.of(format, scheme, targets)
    if not compiled:
        sweep = Sweep(format, scheme, targets, None, None, None)
    count = sizes.ids if sweep.compiled is not None else sizes.slow_ids
    sweep.swept(0, 1)
    start = time.process_time()
    sweep.swept(0, count)
    return count / (time.process_time() - start)


def rates(sizes: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for way in WAYS[:: sizes.every]:
        ours, slow = rate(way, sizes, compiled=True), rate(way, sizes, compiled=False)
        rows.append(
            {"hash": str(way), "ids_a_second": round(ours), "hashlib": round(slow), "ratio": round(ours / slow, 2)}
        )
        print(rows[-1], flush=True)
    return rows


def taxi(name: str, folder: Path, cache: Path | None, sizes: argparse.Namespace) -> dict[str, Any]:
    """All medallions, by the command line."""
    medallion = formats_of(sizes.format)
    random = Random(2)
    ids = [format.id(random.randrange(format.size)) for format in medallion for _ in range(sizes.pseudonyms // 3)]
    texts = [hashlib.new(name, one).hexdigest() for one in ids]
    path = folder / f"{name}.csv"
    microdata.write(microdata.Microdata({"m": microdata.column("m", texts)}, len(texts)), path)
    words = [sys.executable, "-m", "privet", "attack", "pseudonyms", str(path), "--column", "m", "--json"]
    start, before = time.perf_counter(), os.times()
    run = subprocess.run(
        [*words, "--format", sizes.format, "--seconds", "600"], capture_output=True, text=True, check=False,
        env={**os.environ, **({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})},
    )  # fmt: skip
    if run.returncode != 1:  # 1: ids were found
        raise RuntimeError(run.stderr)
    wall, after = time.perf_counter() - start, os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    result = json.loads(run.stdout)["result"]
    return {
        "hash": name, "ids": result["ids"], "pseudonyms": result["pseudonyms"], "reversed": result["reversed"],
        "forecast_seconds": round(result["forecast_seconds"], 1), "wall_seconds": round(wall, 1),
        "cpu_seconds": round(spent, 1), "control_hits": result["control"]["hits"],
    }  # fmt: skip


def made(rows: int) -> dict[str, Any]:
    """Pseudonyms of so many different ids."""
    data = microdata.Microdata({"id": microdata.column("id", [str(one) for one in range(rows)])}, rows)
    start = time.process_time()
    pseudonymize({"t": data}, {"id": "id"}, Key.new())
    return {"ids": rows, "cpu_seconds": round(time.process_time() - start, 2)}


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.set_defaults(ids=2**20, slow_ids=2**16, pseudonyms=100_000, rows=1_000_000, every=1, format="taxi-medallion")
    parser.set_defaults(hashes=("md5", "sha1", "sha256"), fresh=True)
    read = parse(
        parser, given, ids=100, slow_ids=100, pseudonyms=60, rows=100, every=100, format="A9", hashes=("md5",),
        fresh=False,
    )  # fmt: skip
    evidence = Evidence(read, "pseudonyms")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        cache = folder / "cache" if read.fresh else None  # else what was compiled for this installation
        runs = [{"compiled_before": False, **taxi("md5", folder, cache, read)}] if read.fresh else []
        runs += [{"compiled_before": True, **taxi(name, folder, cache, read)} for name in read.hashes]
    for one in runs:
        print(one, flush=True)
    result = {
        "python": platform.python_version(), "cores": os.cpu_count(), "rates_a_core": rates(read),
        "taxi_medallions": runs, "pseudonymize": made(read.rows),
    }  # fmt: skip
    evidence.save(result)
    print(json.dumps(result["pseudonymize"]))


if __name__ == "__main__":
    main()
