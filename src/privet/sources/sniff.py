"""Proposes how a file is to be read: its kind, encoding, delimiter and header. For drafts only, never for reading."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb

from privet.catalog.declarations import STATISTICAL, Source
from privet.catalog.file_kinds import kind_of
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.sources import arrow_file, json_lines, sqlite_file, statistical
from privet.sources.delimited import files_at, header, open_records, open_text
from privet.sources.excel import read_sheet
from privet.sources.files import PATTERN, open_in_place
from privet.sources.limits import check_file
from privet.sources.relation import NUMBER_TEXT, described, odd_rows
from privet.spelling import did_you_mean

DELIMITERS = ",;\t|"
MARKS = DELIMITERS + "^~: "  # of the last ones nobody is sure
SAMPLE = 200  # rows that are looked at for the delimiter
BLOCK = 1 << 20
UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # bytes that cp1252 does not know


def guess(path: Path, given: dict[str, Any]) -> Source:
    """The source that a file seems to be. What is given is not guessed."""
    known = {part.name for part in fields(Source)} - {"path"}
    for name in given:
        if name not in known:
            raise InvalidInputError(
                f"there is no option {show(name)}",
                f"{did_you_mean(name, known)}the options are: {', '.join(sorted(known))}",
                "unknown-option",
            )
    check_file(path)
    kind = given.get("kind") or kind_of(path)
    if kind is None:
        raise InvalidInputError(
            f"{show(path.name)} has an unknown ending", 'say what kind it is, for example kind="csv"', "wrong-ending"
        )
    if kind == "sqlite" and "table" not in given:
        given = {"table": _only_table(path)} | given
    source = Source(**{**given, "kind": kind, "path": str(path)})
    if kind == "csv":
        path = files_at(path)[0]  # how all of them are read is guessed from the first
        if "encoding" not in given:
            source = replace(source, encoding=_encoding(path))
        if "delimiter" not in given:
            source = replace(source, delimiter=_delimiter(path, source))
    if kind in ("csv", "excel") and "names" not in given:
        source = replace(source, names=_numbered(_header(path, source)))
    return source


def check_there(path: Path, named: str) -> None:
    """Raise InvalidInputError unless something is there, or a pattern may find something."""
    if path.exists():
        if path.is_file() and not path.stat().st_size:
            raise InvalidInputError(f"{show(named)} is empty", "name a file with data", "empty")
    elif not PATTERN & set(path.name):
        beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InvalidInputError(
            f"there is no file {show(named)}",
            did_you_mean(path.name, beside, 0.8) + "check the path, and put a name with spaces in quotes",
            "missing-file",
        )


def schema(connection: duckdb.DuckDBPyConnection, source: Source, path: Path) -> list[tuple[str, str]]:
    """Names and engine types of all columns."""
    if source.kind in ("csv", "excel", "json", "sqlite"):
        return [(name, "VARCHAR") for name in _header(path, source)]
    if source.kind == "arrow":
        return arrow_file.schema(connection, path)
    if source.kind in STATISTICAL:
        return statistical.schema(path, source)
    origin, _ = open_in_place(connection, source, path)
    return described(connection, f"FROM {origin}")


def codebook(path: Path, source: Source) -> Mapping[str, tuple[str, ...]]:
    """What the file itself says of its values."""
    return statistical.codebook(path, source) if source.kind in STATISTICAL else {}


def _header(path: Path, source: Source) -> tuple[str, ...]:
    if source.kind == "excel":
        return read_sheet(path, source)[0]
    if source.kind == "json":
        return json_lines.names_in(path, source)
    if source.kind == "sqlite":
        return tuple(sqlite_file.columns_in(path, source))
    with open_text(files_at(path)[0], source.encoding) as file:
        return header(open_records(file, source), source)


def _only_table(path: Path) -> str:
    tables = sqlite_file.tables_in(path)
    if len(tables) != 1:
        raise InvalidInputError(
            f"{show(path.name)} has {len(tables)} tables: {', '.join(map(show, tables)) or 'none'}",
            'name one, for example table="visits"',
            "missing-name",
        )
    return tables[0]


def _numbered(first: tuple[str, ...]) -> tuple[str, ...]:
    """Names for a file whose first row holds numbers, and so no names."""
    if not any(NUMBER_TEXT.fullmatch(name) for name in first):
        return ()
    return tuple(f"column{number}" for number in range(1, len(first) + 1))


def _encoding(path: Path) -> str:
    with open_text(path, "latin-1") as file:  # every byte is one character, and gzip is unpacked
        start = file.read(2)
        if start in ("\xff\xfe", "\xfe\xff"):
            return "utf-16"
    try:
        with open_text(path, "utf-8", errors="strict") as file:
            while file.read(BLOCK):
                pass
    except UnicodeDecodeError:
        with open_text(path, "latin-1") as file:
            undefined = any(UNDEFINED.search(block.encode("latin-1")) for block in iter(lambda: file.read(BLOCK), ""))
        return "latin-1" if undefined else "cp1252"
    return "utf-8"


def _delimiter(path: Path, source: Source) -> str:
    """The one that splits most rows into the same number of fields, and into more than one."""
    scores = {}
    for mark in DELIMITERS:
        with open_text(path, source.encoding) as file:
            rows = islice(open_records(file, replace(source, delimiter=mark)), SAMPLE)
            widths = Counter(len(row) for row in rows if len(row) > 1)
        width, rows_alike = max(widths.items(), key=lambda item: item[1], default=(0, 0))
        scores[mark] = (rows_alike, width)
    return max(DELIMITERS, key=lambda mark: scores[mark])


def doubts(path: Path, source: Source, ragged: int) -> tuple[str, ...]:
    """Signs that a file is read wrong: one column that another delimiter would divide, or so many rows that do not fit
    the header."""
    odd = odd_rows(source.kind, ragged)
    if source.kind != "csv":
        return (odd,) if odd else ()
    with open_text(path, source.encoding) as file:
        records = open_records(file, source)
        names = header(records, source)
        rows = list(islice(records, SAMPLE))
    if len(names) == 1:
        alike = {mark: sum(row[0].count(mark) == names[0].count(mark) > 0 for row in rows) for mark in MARKS}
        mark = max(MARKS, key=lambda mark: alike[mark])
        if alike[mark] > len(rows) / 2:
            return (
                f"the only column is {show(names[0])}: if {show(mark)} separates fields, give --delimiter {mark!r}",
            )
    if not ragged:
        return ()
    other = _delimiter(path, source)
    first = f"give --delimiter {other!r}, or look" if other != source.delimiter else "look"
    return (
        f"{odd}, which has {len(names)}: {first} for texts with a delimiter"
        " or a line break that are not in quotes, and for numbers with a decimal comma that are not",
    )
