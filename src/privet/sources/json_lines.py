"""JSON lines: each line is one object, and so one row. Any other line is not a row, whatever stands beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO

import duckdb

from privet.catalog.declarations import Source, Table
from privet.core.schema import Kind
from privet.sources.delimited import LONGEST, open_text
from privet.sources.relation import HALF, Raw, one_array, wanted
from privet.sources.rows import as_text, create, insert


class Objects:
    """The objects of a file, one at a time. `others` counts the lines with any text that are none; `array` says that
    the first line begins an array, of which lines may look like objects."""

    def __init__(self, file: TextIO) -> None:
        self.others, self.array = 0, False
        self._file = file

    def __iter__(self) -> Iterator[dict[str, Any]]:
        first = True
        while line := self._file.readline(LONGEST):
            self.array |= first and line.lstrip().startswith("[")
            whole = line[-1] in "\r\n" or len(line) < LONGEST
            while not whole and (rest := self._file.readline(LONGEST)):
                line, whole = "too long", rest[-1] in "\r\n"
            if (found := _object(line)) is not None:
                yield found
            elif line.strip():
                self.others += 1
            first &= not line.strip()


def load(connection: duckdb.DuckDBPyConnection, table: Table, path: Path) -> Raw:
    """Copy the declared columns into a table of texts. What an object does not say is missing there."""
    columns = wanted(table)
    names, kinds = [column.source for column in columns], [column.kind for column in columns]
    said: set[str] = set()
    made = create(connection, table)
    with open_text(path, table.source.encoding) as file:
        objects = Objects(file)
        insert(connection, table, range(len(names)), _texts(objects, names, kinds, said))
    absent = tuple(name for name in names if name not in said)
    return replace(made, ragged=objects.others, absent=absent, array=objects.array)


def names_in(path: Path, source: Source) -> tuple[str, ...]:
    """What the objects say anything about, in the order in which it first occurs."""
    found: dict[str, None] = {}
    with open_text(path, source.encoding) as file:
        objects = Objects(file)
        for one in objects:
            found.update(dict.fromkeys(one))
    if objects.array:
        raise one_array()
    return tuple(found)


def _texts(
    objects: Objects, names: Sequence[str], kinds: Sequence[Kind | None], said: set[str]
) -> Iterator[list[str | None]]:
    for one in objects:
        if len(said) < len(names):
            said.update(name for name in names if name in one)
        yield [_text(one.get(name), kind) for name, kind in zip(names, kinds, strict=True)]


def _object(line: str) -> dict[str, Any] | None:
    """Numbers keep all their digits. Bytes that the encoding does not know are no JSON."""
    if not line.isascii() and HALF.search(line):
        return None
    try:
        found = json.loads(line, parse_int=_number, parse_float=_number)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _number(digits: str) -> Decimal | None:
    try:
        return Decimal(digits)
    except ArithmeticError:  # an exponent beyond all bounds
        return None


def _text(value: object, kind: Kind | None) -> str | None:
    """A list or an object inside is nobody; as a value it is written, so that it counts as one that cannot be read."""
    if isinstance(value, list | dict):
        return None if kind is None else json.dumps(value, sort_keys=True, default=str)
    return as_text(value, kind)
