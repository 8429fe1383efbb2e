"""How far one release travels: files of Privet that it enters, changes from one file to another, statements written.

    python benchmarks/release_path.py [--json FILE]

A reader of the guarantee follows the same path, so it should be short. Only calls of Privet's own functions count.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import timeit
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from evidence import Evidence, options, parse

import privet as pv
from privet import recheck
from privet.engine import guarantee

PACKAGE = Path(pv.__file__).parent
QUESTIONS = {
    "grouped count and average": "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward",
    "median": "SELECT MEDIAN(cost) AS m FROM visits",
    "Gaussian sums": "SELECT ward, SUM(cost) AS c, COUNT(*) AS n FROM visits GROUP BY ward -- gaussian",
    "keys from the data": "SELECT city, COUNT(*) AS n FROM visits GROUP BY city",
}
WRITES = "passing_rows"  # every statement over the data begins with it


class Travelled:
    """What was entered, in order."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.calls = self.changes = self.statements = 0
        self._last = ""
        self._lock = threading.Lock()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        name = frame.f_code.co_filename
        if not name.startswith(str(PACKAGE)) or frame.f_code.co_name.startswith("<"):
            return
        with self._lock:
            self.files.add(name)
            self.calls += 1
            self.changes += name != self._last
            self.statements += frame.f_code.co_name == WRITES
            self._last = name


def measured(vault: Any, text: str, repeats: int) -> dict[str, int]:
    price: dict[str, object] = {"delta": 1e-10} if "city" in text else {}
    if "-- gaussian" in text:
        price = {"delta": 1e-9, "max_groups": 3, "max_rows_per_group": 1}
    warm = vault.sql(text, epsilon=0.25, **price)
    warm.release(fresh=True)
    query = vault.sql(text, epsilon=0.5, **price)
    path = Travelled()
    threading.setprofile(path)
    sys.setprofile(path)
    try:
        query.release()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    counts = {"files": len(path.files), "changes of file": path.changes}
    return {
        **counts,
        "calls": path.calls,
        "statements": path.statements,
        "microseconds to price": pricing(query, repeats),
    }


def pricing(query: Any, repeats: int) -> int:
    """How long the gate's own pricing takes: the best of many."""
    stated = guarantee([query.task(b"")], query.gate.ledger.terms.neighbors, query.cost)
    return round(min(timeit.repeat(lambda: recheck.problems(stated), number=20, repeat=repeats)) / 20 * 1e6)


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.set_defaults(repeats=20)
    read = parse(parser, given, repeats=1)
    evidence, found = Evidence(read, "release-path"), {}
    with tempfile.TemporaryDirectory() as folder:
        rows = [f"{n % 40},{'ABC'[n % 3]},{n % 97},city{n % 2}" for n in range(4000)]
        data = Path(folder) / "visits.csv"
        data.write_text("\n".join(["patient_id,ward,cost,city", *rows]))
        with pv.create(Path(folder) / "v.privet", budget=pv.Budget(100, 1e-6)) as vault:
            columns = {"ward": pv.Category(["A", "B", "C"]), "cost": pv.Integer(0, 100), "city": pv.Text()}
            vault.add_table("visits", data, unit="patient_id", max_groups=2, max_rows_per_group=5, columns=columns)
            for name, text in QUESTIONS.items():
                found[name] = measured(vault, text, read.repeats)
                print(f"{name:<28}" + "".join(f"{value:>6} {what}" for what, value in found[name].items()))
    evidence.save(found)


if __name__ == "__main__":
    main()
