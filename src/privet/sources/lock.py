"""A connection that spills to a private place, and one that can read nothing but the declared files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import duckdb

from privet.sources.relation import text


def connect(scratch: Path) -> duckdb.DuckDBPyConnection:
    """A database in memory. What does not fit is kept in the private folder `scratch` until it is closed.

    It is not encrypted there: without an extension the engine refuses `temp_file_encryption`, but only when it spills.
    """
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = duckdb.connect(":memory:")
    for setting in (
        f"temp_directory = {text(str(scratch))}",
        "enable_progress_bar = false",  # it is on, and prints, in a program without a file (python -c)
        "preserve_insertion_order = false",  # rows have no order, and keeping one costs memory
        "python_enable_replacements = false",  # or a query could name any variable of this process
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "pandas_analyze_sample = 0",  # no type is guessed from the first rows
    ):
        connection.execute(f"SET {setting}")
    return connection


def harden(connection: duckdb.DuckDBPyConnection, allowed: Iterable[Path]) -> None:
    """From here on the connection reads these files and nothing else, and nobody can change that."""
    paths = ", ".join(text(str(path)) for path in allowed)
    for setting in (
        f"allowed_paths = [{paths}]",
        "allow_community_extensions = false",
        "allow_persistent_secrets = false",
        "python_enable_replacements = false",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")
