"""What does a file cost before the first question? `python benchmarks/reading.py` writes docs/evidence/reading.json.

`privet describe` and `privet add` of the same simulated visits as CSV and Parquet, and of fewer rows in other formats:
processor time and largest memory of each command, with its start; `start` is a command that reads no file.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
from evidence import Evidence, options, parse

VISITS = """SELECT 100000000 + hash(i) % 2000000 AS patient_id, 18 + hash(i, 1) % 80 AS age,
    CASE hash(i, 2) % 2 WHEN 0 THEN 'male' ELSE 'female' END AS sex, (hash(i, 3) % 500000) / 100 AS cost,
    DATE '2015-01-01' + CAST(hash(i, 4) % 3650 AS INTEGER) AS day, 'ward ' || hash(i, 5) % 12 AS ward
    FROM range({}) AS made(i)"""
DECLARED = """[tables.visits]
source = {{{}}}
unit = "patient_id"
max_groups = 2
max_rows_per_group = 3
[tables.visits.columns]
age = {{kind = "integer", low = 0, high = 120}}
sex = {{kind = "category", values = ["female", "male"]}}
cost = {{kind = "number", low = 0, high = 5000, step = 0.01}}
day = {{kind = "date", low = 2015-01-01, high = 2024-12-31}}
ward = {{kind = "category", values = [{}]}}
"""
WARDS = ", ".join(f'"ward {number}"' for number in range(12))


def copied(form: str) -> Callable[[Path, int], None]:
    def write(path: Path, rows: int) -> None:
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({VISITS.format(rows)}) TO '{path}' ({form})")

    return write


def arrow(path: Path, rows: int) -> None:
    from pyarrow import feather  # noqa: PLC0415  see `made`

    with duckdb.connect() as connection:
        feather.write_feather(connection.execute(VISITS.format(rows)).to_arrow_table(), str(path))


def sqlite(path: Path, rows: int) -> None:
    with duckdb.connect() as connection, sqlite3.connect(path) as made:
        made.execute("CREATE TABLE visits (patient_id, age, sex, cost, day, ward)")
        found = connection.execute(f"SELECT * REPLACE (CAST(day AS VARCHAR) AS day) FROM ({VISITS.format(rows)})")
        while piece := found.fetchmany(100_000):
            made.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?)", piece)
    made.close()


def spss(path: Path, rows: int) -> None:
    import pyreadstat  # noqa: PLC0415  see `made`

    with duckdb.connect() as connection:
        pyreadstat.write_sav(connection.execute(VISITS.format(rows)).df(), path)


def stata(path: Path, rows: int) -> None:
    import pyreadstat  # noqa: PLC0415  see `made`

    with duckdb.connect() as connection:
        pyreadstat.write_dta(connection.execute(VISITS.format(rows)).df(), path)


FORMATS: dict[str, tuple[str, Callable[[Path, int], None]]] = {
    "CSV": ("visits.csv", copied("FORMAT csv, HEADER")),
    "Parquet": ("visits.parquet", copied("FORMAT parquet")),
    "CSV, packed": ("visits.csv.gz", copied("FORMAT csv, HEADER, COMPRESSION gzip")),
    "JSON lines": ("visits.jsonl", copied("FORMAT json")),
    "Feather": ("visits.feather", arrow),
    "SQLite": ("visits.sqlite", sqlite),
    "SPSS": ("visits.sav", spss),
    "Stata": ("visits.dta", stata),
}
LARGE = ("CSV", "Parquet")


def made(name: str, path: Path, rows: int) -> None:
    """Write the file."""
    FORMATS[name][1](path, rows)


def command(*words: object) -> dict[str, Any]:
    """Processor time and largest memory of one command."""
    read, write = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_CLOSE, read)]
    arguments = [sys.executable, "-m", "privet", *map(str, words)]
    child = os.posix_spawn(sys.executable, arguments, os.environ, file_actions=actions)
    os.close(write)
    with os.fdopen(read) as said:
        text = said.read()
    _, status, used = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"{' '.join(map(str, words))}: {text}")
    return {
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "largest_memory_mb": round(used.ru_maxrss / 1024),
    }


def measured(name: str, rows: int, folder: Path) -> dict[str, Any]:
    file = FORMATS[name][0]
    path = folder / file
    # In a process of its own: the largest memory of a command counts that of the process that starts it.
    maker = get_context("spawn").Process(target=made, args=(name, path, rows))
    maker.start()
    maker.join()
    kind = f'kind = "{name.lower()}"' if name != "SQLite" else 'kind = "sqlite", table = "visits"'
    kinds = {"CSV, packed": "csv", "JSON lines": "json", "Feather": "arrow"}
    kind = f'kind = "{kinds[name]}"' if name in kinds else kind
    (folder / "visits.toml").write_text(DECLARED.format(f'{kind}, path = "{file}"', WARDS))
    vault = folder / f"{file}.privet"
    command("init", vault, "--epsilon", "1")
    result = {
        "format": name, "rows": rows, "file_mb": round(path.stat().st_size / 1e6, 1),
        "describe": command("describe", path, "--out", folder / f"{file}.toml"),
        "add": command("add", vault, path, "--columns", folder / "visits.toml"),
        "first_question": command(
            "query", vault, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "--epsilon", "0.1"
        ),
    }  # fmt: skip
    path.unlink()
    return result


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the CSV and the Parquet file")
    parser.set_defaults(fewer=1_000_000, only=tuple(FORMATS))
    read = parse(parser, given, rows=200, fewer=200, only=("CSV", "SPSS"))
    evidence = Evidence(read, "reading")
    files = []
    with tempfile.TemporaryDirectory() as scratch:
        start = command("init", Path(scratch) / "empty.privet", "--epsilon", "1")
        for name in read.only:
            files.append(measured(name, read.rows if name in LARGE else read.fewer, Path(scratch)))
            print(json.dumps(files[-1]), flush=True)
    result = {"python": platform.python_version(), "cores": os.cpu_count(), "start": start, "files": files}
    evidence.save(result)


if __name__ == "__main__":
    main()
