"""CSV and its relatives: every field is a text, and every file can be read.

Python's csv module defines what a file means. The engine's own reader is faster but strict; it is used where it accepts
the whole file, and then it reads the same: a malformed row must not change how the rows of others are read.
"""
# ruff: noqa: S608  every name in a statement is quoted or generated here

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import duckdb

from privet.declarations import Source, Table
from privet.sources.relation import Raw, positions, projection, relation_name, text, unreadable
from privet.sources.rows import insert

LONGEST = 131_072  # characters of a field in Python's reader, bytes of a row in the fast one
LONGEST_LINE = 1 << 24  # longer lines are cut, or a file without line ends would fill the memory
BLOCK = 1 << 20
HINT = "check the name, and the source's delimiter, encoding and skip"


def load(connection: duckdb.DuckDBPyConnection, table: Table, path: Path) -> Raw:
    """Copy the declared columns into a table of texts."""
    try:
        with open_text(path, table.source.encoding) as file:
            reader = open_reader(file, table.source)
            rows = records(reader)
            names = header(rows, table.source)
            places = positions(table, names, HINT)
            fast = _load_fast(connection, table, path, len(names), places) if reader.line_num <= 1 else None
            return fast or insert(connection, table, places, rows)
    except zlib.error:
        raise unreadable() from None


@contextmanager
def open_text(path: Path, encoding: str, errors: str = "replace") -> Iterator[TextIO]:
    """The file's text, unpacked if it is gzip. Bytes that the encoding does not know become U+FFFD."""
    codec = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    with _open_bytes(path) as opened, io.TextIOWrapper(opened, encoding=codec, errors=errors, newline="") as file:
        yield file


def _open_bytes(path: Path) -> Any:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def open_reader(file: TextIO, source: Source) -> Any:
    """A csv reader behind the lines to skip. Spaces around a quoted field do not count, as in the fast reader."""
    for _ in range(source.skip):
        file.readline()
    lines = iter(partial(file.readline, LONGEST_LINE), "")
    return csv.reader(lines, delimiter=source.delimiter, skipinitialspace=source.delimiter != " ")


def header(rows: Iterator[list[str]], source: Source) -> tuple[str, ...]:
    """The names of all columns. Spaces around them do not count."""
    return source.names or tuple(name.strip() for name in next(rows, []))


def records(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """All rows with any text, but for those with a field longer than the reader takes, such as after a lost quote."""
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            continue
        if any(field.strip(" ") for field in row):
            yield row


def _load_fast(
    connection: duckdb.DuckDBPyConnection, table: Table, path: Path, width: int, places: Sequence[int]
) -> Raw | None:
    """By the engine's reader, or None where it does not accept the file or might read it differently.

    On several threads it guesses where a row starts, and a text with line breaks could make it guess wrong; on one
    thread it says nothing when a lost quote swallows the rest of the file. So one reads and the other counts.
    """
    source = table.source
    encoding = codecs.lookup(source.encoding).name
    if source.delimiter == " " or encoding not in ("utf-8", "utf-8-sig") or set("*?[") & set(str(path)):
        return None
    if _spaces_beside_quotes(path):
        return None
    columns = [f"c{number}" for number in range(width)]
    select, types = projection(table, ["VARCHAR"] * len(places), [columns[place] for place in places], typed=False)
    name = relation_name(table)
    declared = ", ".join(f"{column}: 'VARCHAR'" for column in columns)
    options = (
        f"columns = {{{declared}}}, auto_detect = false, strict_mode = true, null_padding = false, "
        f"header = {not source.names}, skip = {source.skip}, delim = {text(source.delimiter)}, quote = '\"', "
        f"escape = '\"', nullstr = '', max_line_size = {LONGEST}, "
        f"compression = {text('gzip' if path.suffix == '.gz' else 'none')}"
    )
    anything = ", ".join(f"nullif(trim({column}, ' '), '')" for column in columns)
    one, many = (
        f"FROM read_csv({text(str(path))}, parallel = {parallel}, {options}) WHERE coalesce({anything}) IS NOT NULL"
        for parallel in (False, True)
    )
    try:
        connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT {select} {one}")
        counts = connection.execute(f"SELECT (SELECT count(*) FROM {name}) = (SELECT count(*) {many})").fetchall()
    except duckdb.Error:
        return None
    return Raw(relation=name, types=types) if counts == [(True,)] else None


def _spaces_beside_quotes(path: Path) -> bool:
    """Does the file have any? The two readers differ on whether such a quote opens or closes a field."""
    before = b""
    with _open_bytes(path) as file:
        while block := file.read(BLOCK):
            if b' "' in (piece := before + block) or b'" ' in piece:
                return True
            before = block[-1:]
    return False
