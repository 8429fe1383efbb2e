"""Arrow and Feather files: copied a batch at a time, with the types that they have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from privet.catalog.declarations import Table
from privet.sources import frames
from privet.sources.relation import Raw, extra, unreadable

WHAT = "an Arrow file"


def load(connection: duckdb.DuckDBPyConnection, table: Table, path: Path) -> Raw:
    """Copy the declared columns. Memory holds one batch of the file at a time."""
    with _opened(path) as (empty, batches):
        raw = frames.load(connection, table, {table.name: empty})
        for batch in batches:
            frames.append(connection, table, batch)
    return raw


def types_of(connection: duckdb.DuckDBPyConnection, table: Table, path: Path) -> dict[str, str]:
    """The types to record. No row is read."""
    with _opened(path) as (empty, _):
        return frames.types_of(connection, table, {table.name: empty})


def schema(connection: duckdb.DuckDBPyConnection, path: Path) -> list[tuple[str, str]]:
    """Names and engine types of all columns."""
    with _opened(path) as (empty, _):
        return frames.schema(connection, empty)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, Iterator[Any]]]:
    """A table without rows, and the batches of rows."""
    arrow, ipc = extra("pyarrow", WHAT), extra("pyarrow.ipc", WHAT)
    try:
        with arrow.memory_map(str(path)) as file:
            if file.read(6) == b"ARROW1":
                reader = ipc.open_file(file)
                batches = map(reader.get_batch, range(reader.num_record_batches))
            else:
                file.seek(0)
                reader = ipc.open_stream(file)
                batches = iter(reader)
            yield reader.schema.empty_table(), map(_checked, batches)
    except arrow.ArrowException:
        raise unreadable() from None


def _checked(batch: Any) -> Any:
    """The engine trusts what it is given."""
    batch.validate(full=True)
    return batch
