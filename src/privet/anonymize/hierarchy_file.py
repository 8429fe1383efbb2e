"""Hierarchies in files, as ARX and others write them: a row for each value, `value;level 1;level 2;...`, no header.

age = read_hierarchy("adult_hierarchy_age.csv")
all_of_them = read_hierarchies("hierarchies")       # by the name of their column
write_hierarchy(age, "age.csv")
"""

from __future__ import annotations

import csv
import os
import re
import zlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from privet.anonymize.hierarchy import Hierarchy, of_rows
from privet.catalog.declarations import Source
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.output import new_output
from privet.sources.delimited import open_records, open_text
from privet.sources.sniff import guess

DELIMITER = ";"
MARK = "_hierarchy_"
NAMED = re.compile(r"(?:.*_hierarchy_)?(.+?)\.(?:csv|txt)(?:\.gz)?", re.DOTALL | re.IGNORECASE)


def read_hierarchy(path: str | os.PathLike[str], name: str | None = None, **options: str) -> Hierarchy:
    """The hierarchy in a file. Its delimiter and encoding are guessed where they are not given."""
    place = Path(path)
    try:
        source = guess(place, {"kind": "csv", "names": ("value",), **options})
        rows, unclosed = _rows(place, replace(source, delimiter=DELIMITER))
        if "delimiter" in options or len({len(row) for row in rows}) != 1 or len(rows[0]) == 1:
            rows, unclosed = _rows(place, source)  # a semicolon is what is used, unless it does not fit
    except (OSError, EOFError, UnicodeError, zlib.error):
        raise InvalidInputError(
            f"the hierarchy {show(place.name)} cannot be read", "check its path and its encoding", "unreadable-file"
        ) from None
    if unclosed:
        raise InvalidInputError(
            f"the hierarchy {show(place.name)} ends inside a quoted field", "close the quote", "unclosed-quote"
        )
    return of_rows(column_of(place) if name is None else name, _checked(place, rows))


def _rows(place: Path, source: Source) -> tuple[list[list[str]], bool]:
    """All rows with any text, and whether a quote is never closed. Spaces around do not count, as in data."""
    with open_text(place, source.encoding, errors="strict") as file:
        records = open_records(file, source)
        return [[field.strip(" ") for field in row] for row in records], records.unclosed


def _checked(place: Path, rows: list[list[str]]) -> list[list[str]]:
    """Rows of one length, each value once. A row that is there twice says nothing new."""
    if not rows:
        raise InvalidInputError(
            f"the hierarchy {show(place.name)} is empty", "write one row per value, for example 28;20-29;*", "empty"
        )
    found: dict[str, list[str]] = {}
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise InvalidInputError(
                f"the hierarchy {show(place.name)} has {len(row)} fields in row {number}, and {len(rows[0])} in row 1",
                "give each value a name at each level",
                "wrong-length",
            )
        if found.setdefault(row[0], row) != row:
            raise InvalidInputError(
                f"the hierarchy {show(place.name)} has two different rows for {show(row[0])}",
                "keep one of them",
                "duplicate-value",
            )
    return list(found.values())


def column_of(path: Path) -> str:
    """The column that a file's name says it is for: adult_hierarchy_age.csv and age.csv are for age."""
    named = NAMED.fullmatch(path.name)
    return named[1] if named else path.stem


def read_hierarchies(folder: str | os.PathLike[str], columns: Collection[str] | None = None) -> dict[str, Hierarchy]:
    """All hierarchies in a folder, by column; with `columns` only those for them.

    Where some files are called ..._hierarchy_<column>.csv, others are taken for data.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InvalidInputError(f"there is no folder {show(str(folder))}", "check the path", "folder-missing")
    files = [path for path in sorted(place.iterdir()) if NAMED.fullmatch(path.name) and path.name[0] != "."]
    files = [path for path in files if MARK in path.name.lower()] or files
    found: dict[str, Path] = {}
    for path in files:
        name = column_of(path)
        if name in found:
            raise InvalidInputError(
                f"{show(found[name].name)} and {show(path.name)} are both for column {show(name)}",
                "remove one of them",
                "duplicate-name",
            )
        if columns is None or name in columns:
            found[name] = path
    if not files:
        raise InvalidInputError(
            f"there is no hierarchy in {show(str(folder))}", "name each file after its column: age.csv", "missing-file"
        )
    return {name: read_hierarchy(path, name) for name, path in found.items()}


def given_hierarchies(
    given: Mapping[str, Hierarchy] | str | os.PathLike[str] | None, columns: Collection[str]
) -> Mapping[str, Hierarchy]:
    """Those that are given by column, or as the folder of their files."""
    found = read_hierarchies(given, columns) if isinstance(given, str | os.PathLike) else given or {}
    for name, one in found.items():
        if not isinstance(one, Hierarchy):
            raise InvalidInputError(
                f"the hierarchy of {show(name)} has the wrong type",
                "read it: pv.anonymize.read_hierarchy('age.csv')",
                "wrong-type",
            )
    return found


def write_hierarchy(hierarchy: Hierarchy, path: str | os.PathLike[str]) -> None:
    """One row for each value, with semicolons between. A file that exists is not replaced."""
    try:
        with new_output(Path(path)) as new, new.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=DELIMITER, lineterminator="\n").writerows(zip(*hierarchy.levels, strict=True))
    except OSError:
        raise InvalidInputError(
            f"{show(str(path))} cannot be written", "name a file in a folder that you may write to", "cannot-write"
        ) from None
