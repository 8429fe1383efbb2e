"""Rows come from the engine in batches and lie in buckets: none is lost, and all rows of a unit are in one."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from privet.backends import pile
from privet.backends.arrays import Batch, batches
from privet.backends.pile import Pile

TYPES = {"u": np.int64, "s": np.uint64, "cell": np.int32, "w0": np.int32}
KEY = np.uint64(0x9E3779B97F4A7C15)


@pytest.fixture
def cursor() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


# From the engine


def test_batches_have_the_rows_of_the_query(cursor: duckdb.DuckDBPyConnection) -> None:
    sql = "SELECT i - 5 AS a, (i % 7) :: INTEGER AS b, hash(i) AS c, (i % 5) :: UINTEGER AS d FROM range(300000) t(i)"
    found = list(batches(cursor, sql))
    assert len(found) > 1
    for place, (name, type_) in enumerate([("a", np.int64), ("b", np.int32), ("c", np.uint64), ("d", np.uint32)]):
        column = np.concatenate([batch[name] for batch in found])
        assert column.dtype == type_
        assert sorted(column.tolist()) == sorted(row[place] for row in cursor.execute(sql).fetchall())


def test_a_batch_without_rows_is_passed_over() -> None:
    schema = pa.schema([("a", pa.int64())])
    made = [pa.record_batch([pa.array(rows, pa.int64())], schema=schema) for rows in ([1, 2], [], [3])]

    class Engine:
        def sql(self, _: str) -> pa.RecordBatchReader:
            return pa.RecordBatchReader.from_batches(schema, made)

    assert [batch["a"].tolist() for batch in batches(Engine(), "")] == [[1, 2], [3]]  # type: ignore[arg-type]


def test_arrays_outlive_their_stream_and_are_only_read(cursor: duckdb.DuckDBPyConnection) -> None:
    kept = [batch["a"] for batch in batches(cursor, "SELECT i AS a FROM range(500000) t(i)")]
    cursor.execute("SELECT count(*) FROM range(1000000)").fetchall()
    gc.collect()
    assert sum(int(column.sum()) for column in kept) == 500000 * 499999 // 2
    with pytest.raises(ValueError, match="read-only"):
        kept[0][0] = 1


def test_a_stream_that_nobody_ends(cursor: duckdb.DuckDBPyConnection) -> None:
    for _ in range(3):
        assert len(next(batches(cursor, "SELECT i AS a FROM range(5000000) t(i)"))["a"]) > 0
    assert list(batches(cursor, "SELECT i AS a FROM range(10) t(i) WHERE i < 0")) == []


def test_an_error_of_the_engine_is_one(cursor: duckdb.DuckDBPyConnection) -> None:
    late = "SELECT CASE WHEN i = 299999 THEN CAST('x' || i AS BIGINT) ELSE i END AS a FROM range(300000) t(i)"
    with pytest.raises(duckdb.Error):
        list(batches(cursor, late))
    with pytest.raises(duckdb.Error):
        list(batches(cursor, "SELECT * FROM nowhere"))


def test_what_is_no_plain_number_is_not_taken_for_one(cursor: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(KeyError):
        list(batches(cursor, "SELECT 'x' AS a"))
    with pytest.raises(ValueError, match="NULL"):
        list(batches(cursor, "SELECT nullif(i, 5) AS a FROM range(10) t(i)"))


def test_memory_is_given_back() -> None:
    """Ten times as many batches need no more memory, if each is given back."""
    code = """if True:
        import resource, sys, duckdb
        from privet.backends.arrays import batches
        with duckdb.connect() as connection:
            for _ in batches(connection, f"SELECT i AS a, i AS b FROM range({sys.argv[1]}) t(i)"):
                pass
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"""
    peaks = [
        int(subprocess.run([sys.executable, "-c", code, rows], capture_output=True, text=True, check=True).stdout)
        for rows in ("2000000", "20000000")
    ]
    assert peaks[1] < peaks[0] + 100_000  # kilobytes; all rows have 320,000


# Into buckets


def some(rng: np.random.Generator, rows: int) -> Batch:
    unit = rng.integers(-50, 50, rows)
    cell = rng.integers(-1, 5, rows).astype(np.int32)
    return {"u": unit, "s": unit.view(np.uint64) + np.uint64(7), "cell": cell, "w0": np.arange(rows, dtype=np.int32)}


def listed(columns: dict[str, Any]) -> list[tuple[int, ...]]:
    return list(zip(*(columns[name].tolist() for name in TYPES), strict=True))


def wrong(given: list[Batch], folder: Path | None = None) -> str | None:
    """What is wrong with the buckets of these batches."""
    with Pile(TYPES, KEY, folder) as made:
        for batch in given:
            made.put(batch)
        found = [made.bucket(number) for number in range(made.buckets() or 1)]
    rows = [row for batch in given for row in listed(batch)]
    inside = Counter(row for row in rows if row[2] >= 0)
    if Counter(row for bucket in found for row in listed(bucket) if row[2] >= 0) != inside:
        return "rows"
    if any(bucket[name].dtype != type_ for bucket in found for name, type_ in TYPES.items()):
        return "types"
    whose = Counter(unit for bucket in found for unit in {row[0] for row in listed(bucket) if row[2] >= 0})
    return "units" if max(whose.values(), default=1) > 1 else None


@pytest.fixture(params=["few", "loops", "numpy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pile, "WORTH_A_START", 10**9 if request.param == "few" else 0)
    monkeypatch.setattr(pile, "WORTH_A_CALL", 10**9 if request.param == "few" else 0)
    monkeypatch.setattr(pile, "BUCKET", 16)
    if request.param == "numpy":
        monkeypatch.setattr(pile, "loops", lambda: None)


@pytest.mark.parametrize("sizes", [[], [1], [0, 3, 0], [500], [1] * 40, [300, 1, 700, 2], [64] * 20])
@pytest.mark.parametrize(("block", "held"), [(2**19, 2**31), (100, 2**31), (100, 5_000), (100, 0)])
@pytest.mark.usefixtures("way")
def test_no_row_is_lost_and_a_unit_is_in_one_bucket(
    sizes: list[int], block: int, held: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pile, "BLOCK", block)
    monkeypatch.setattr(pile, "HELD", held)
    rng = np.random.default_rng(len(sizes))
    assert wrong([some(rng, size) for size in sizes], tmp_path) is None
    assert list(tmp_path.iterdir()) == []  # the file has no name


@pytest.mark.parametrize("way", ["loops", "numpy"], indirect=True)
@pytest.mark.usefixtures("way")
def test_planted_mistakes_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pile, "BLOCK", 100)
    given = [some(np.random.default_rng(1), 64) for _ in range(20)]
    real = pile.divided

    keys = itertools.count()

    def another_key(found: Any, types: Any, key: Any, count: int) -> Any:
        return real(found, types, key + np.uint64(next(keys)), count)

    def lossy(found: Any, types: Any, key: Any, count: int) -> Any:
        starts, columns = real(found, types, key, count)
        return np.minimum(starts, starts[-1] - 1), columns

    assert wrong(given) is None
    for mistake, name in ((another_key, "units"), (lossy, "rows")):
        monkeypatch.setattr(pile, "divided", mistake)
        assert wrong(given) == name


def test_threads_read_from_the_file_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pile, "WORTH_A_START", 0)
    monkeypatch.setattr(pile, "WORTH_A_CALL", 0)
    monkeypatch.setattr(pile, "HELD", 0)
    monkeypatch.setattr(pile, "BLOCK", 1000)
    rng = np.random.default_rng(3)
    with Pile(TYPES, KEY) as made:
        for _ in range(10):
            made.put(some(rng, 1000))
        alone = [listed(made.bucket(number)) for number in range(made.buckets())]
        found: dict[int, list[Any]] = {}

        def read(start: int) -> None:
            found.update({n: listed(made.bucket(n)) for n in range(start, made.buckets(), 4)})

        readers = [threading.Thread(target=read, args=(start,)) for start in range(4)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    assert [found[number] for number in range(len(alone))] == alone


def test_a_file_that_was_cut_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pile, "WORTH_A_START", 0)
    monkeypatch.setattr(pile, "WORTH_A_CALL", 0)
    monkeypatch.setattr(pile, "HELD", 0)
    with Pile(TYPES, KEY) as made:
        made.put(some(np.random.default_rng(3), 1000))
        assert made.buckets() > 0
        assert made._file is not None
        made._file._file.truncate(10)
        with pytest.raises(EOFError):
            made.bucket(0)


def test_a_failure_while_rows_are_put_into_buckets_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise OSError("no space")

    monkeypatch.setattr(pile, "WORTH_A_START", 0)
    monkeypatch.setattr(pile, "WORTH_A_CALL", 0)
    monkeypatch.setattr(pile, "divided", fails)
    with Pile(TYPES, KEY) as made:
        made.put(some(np.random.default_rng(3), 10))
        with pytest.raises(OSError, match="no space"):
            made.buckets()


@pytest.mark.parametrize("there", [True, False])
def test_compiled_loops_are_used_where_there_are_many_rows(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one question, or in several one after the other."""
    monkeypatch.setattr(pile, "loops", lambda: None)
    if there:
        monkeypatch.setitem(sys.modules, "privet.backends.kernel_loops", sys)
    else:
        monkeypatch.delitem(sys.modules, "privet.backends.kernel_loops", raising=False)
    unit = np.zeros(pile.WORTH_A_START, np.int64)

    def used(rows: int) -> bool:
        with Pile({"u": np.int64, "cell": np.int32}, KEY) as made:
            made.put({"u": unit[:rows], "cell": unit[:rows].astype(np.int32)})
            return made.buckets() > 0

    least = pile.WORTH_A_CALL if there else pile.WORTH_A_START
    monkeypatch.setattr(Pile, "slow", 0)
    assert used(least)
    assert not used(least - 1)
    assert used(pile.WORTH_A_CALL)
    assert not used(pile.WORTH_A_CALL - 1)


def test_nobody_knows_where_time_makes_a_step() -> None:
    """Drawn for each process; two that agree would be one chance in a million."""
    code = "from privet.backends import pile; print(pile.WORTH_A_START, pile.HELD)"
    drawn = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(3)
    ]
    assert len({start for start, _ in drawn}) > 1
    assert len({held for _, held in drawn}) > 1
    assert all(500_000 <= int(start) < 1_500_000 and 3 * 2**29 < int(held) <= 2**31 for start, held in drawn)
