"""What `kernel` answers about people in the embedded engine: list the keys, stream the rows, bound them."""
# ruff: noqa: S608  # SQL from pieces, as in `sqlgen`

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from privet.backends import Task, Vector, kernel
from privet.backends.arrays import batches
from privet.backends.cellsql import listed_keys
from privet.backends.content import REST, key_shapes
from privet.backends.keysql import PeopleSql
from privet.backends.pile import Pile
from privet.backends.rowsql import LISTED, REST_CELL, RowsSql
from privet.backends.sqlgen import RANKED
from privet.core.cells import Keys
from privet.core.claim import claim

Listed = Sequence[tuple[Any, ...]]  # k0, k1, ..., cell, label
UNBOUNDED = 2**40  # rows: where only people are counted, it does not matter which of their rows stay


def exact(cursor: duckdb.DuckDBPyConnection, task: Task, asked: RowsSql, folder: Path | None = None) -> list[Vector]:
    """The answer to a task about people. The table is read once; in `folder` lies what does not fit into memory."""
    labels = kernel.NONE if asked.keys is None else _labels(task, _listed(cursor, task, asked))
    found = _bounded(cursor, task, asked, labels, folder)
    vectors: list[Vector] = [*asked.statement.dense(kernel.sums(found.totals), task.cells.count)]
    for number, measure in enumerate(task.measures):
        if measure in asked.tallied:
            tally = found.tallies[asked.tallied[measure]]
            vectors[number] = tally.spreads() if measure.role in RANKED else tally.distinct()
    return vectors


@claim("people-of-keys")
def people(
    cursor: duckdb.DuckDBPyConnection, task: Task, asked: RowsSql, folder: Path | None = None
) -> dict[Keys, int]:
    """See `reference.Reference.people`. Each key that occurs is a cell; a unit counts once in each that it keeps."""
    listed = _listed(cursor, task, asked)
    cells = replace(task.cells, chosen=tuple(tuple(key) for *key, _, _ in listed), rest=False)
    task = replace(task, cells=cells, bounds=replace(task.bounds, rows=UNBOUNDED, in_all=None))
    units = _bounded(cursor, task, asked, _labels(task, listed), folder).totals[:, 1].tolist()
    kept = [(*key, units[cell]) for *key, cell, _ in listed if units[cell]]
    return PeopleSql(sql="", shapes=tuple(key_shapes(task))).counted(kept)


def _bounded(
    cursor: duckdb.DuckDBPyConnection, task: Task, asked: RowsSql, labels: kernel.Bits, folder: Path | None
) -> kernel.Found:
    with Pile(asked.types, kernel.keys_of(task.secret)[0], folder) as pile:
        for batch in batches(cursor, asked.statement.sql):
            pile.put(batch)
        return kernel.bounded(task, asked, pile, labels)


def _listed(cursor: duckdb.DuckDBPyConnection, task: Task, asked: RowsSql) -> Listed:
    """Put the keys into their table, which vanishes with the cursor."""
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE {LISTED} AS {asked.keys}", listed_keys(task) or None)
    if task.cells.rest and task.cells.chosen is not None:
        cursor.execute(f"SET VARIABLE {REST_CELL} = {len(task.cells.chosen)}")
    return cursor.execute(f"SELECT * FROM {LISTED}").fetchall()


def _labels(task: Task, listed: Listed) -> kernel.Bits:
    """By cell. A key that cannot be, and so is not listed, has no rows."""
    labels = np.zeros(task.cells.count, np.uint64)
    for *_, cell, label in listed:
        labels[cell] = label
    if task.cells.rest:
        labels[-1] = int.from_bytes(hashlib.blake2b(task.secret + REST.encode(), digest_size=8).digest())
    return labels
