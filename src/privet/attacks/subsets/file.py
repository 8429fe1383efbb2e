"""Sums over subsets from files: one CSV file with a column a person, two of them, or arrays of NumPy; the truth; noise.

answer,Ada,Bo,Cy          query,answer     query,person     name,value
1.7,1,0,1                 q1,1.7           q1,Ada           Ada,1
0.2,0,1,1                 q2,0.2           q1,Cy            Bo,0
"""

from __future__ import annotations

import csv
import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import numpy as np

from privet.attacks.subsets.decoders.problem import Errors, Law
from privet.attacks.subsets.subset_sums import Sums, check_errors, matrix_of, sums_of
from privet.core.rational import show
from privet.errors import InvalidInputError

PARTS = {"exact": 0, "normal": 1, "laplace": 1, "bounded": 1, "outliers": 2}  # numbers after the law
MERGE = "merge the arrivals: leave its row out, and give the next count the arrivals of both (columns count,arrivals)"


def read_subsets(path: Path | str, members: Path | str | None = None) -> Sums:
    """One file with everything, or with `members` two: answers by query, and who is in which query."""
    path = Path(path)
    if members is not None:
        return _pair(path, Path(members))
    return _arrays(path) if path.suffix.lower() == ".npz" else _wide(path)


def read_secrets(path: Path | str) -> dict[str, int]:
    """Everybody's true secret, by name: 0 or 1."""
    header, rows = _csv(Path(path))
    _named(Path(path), header, ("name", "value"))
    values = [_number(row[1], Path(path)) for row in rows]
    if not all(value in (0, 1) for value in values):
        raise InvalidInputError(
            f"{Path(path).name} has a secret that is not 0 or 1",
            "the attack is on yes-or-no secrets: write 0 or 1 as value",
            "not-binary",
        )
    names = [row[0] for row in rows]
    _once(names, Path(path))
    return dict(zip(names, map(int, values), strict=True))


def read_errors(text: str) -> Errors:
    """Such as normal:3, laplace:2, bounded:5, outliers:3:0.1 or exact."""
    law, *numbers = text.split(":")
    if law not in get_args(Law) or len(numbers) != PARTS[law]:
        raise InvalidInputError(
            f"{show(text)} describes no errors",
            "write normal:3 (standard deviation), laplace:2 (scale), bounded:5 (largest),"
            " outliers:3:0.1 (standard deviation of the others, share of outliers) or exact",
            "syntax-error",
        )
    try:
        size, share = (*map(float, numbers), 0.0, 0.0)[:2]
    except ValueError:
        raise InvalidInputError(
            f"{show(text)} has something that is no number", "write such as normal:3", "not-a-number"
        ) from None
    errors = Errors(law, size, share)  # type: ignore[arg-type]
    check_errors(errors)
    return errors


def _wide(path: Path) -> Sums:
    header, rows = _csv(path)
    if header[0].strip().lower() != "answer" or len(header) < 2:
        raise InvalidInputError(
            f"the first column of {path.name} is {show(header[0])}",
            "call it answer, and give everybody a column of 0 and 1 behind it",
            "wrong-columns",
        )
    names = [name.strip() for name in header[1:]]
    _once(names, path)
    numbers = np.array([[_number(cell, path) for cell in row] for row in rows])
    return sums_of(numbers[:, 1:], numbers[:, 0], names, path.name)


def _pair(path: Path, members: Path) -> Sums:
    header, rows = _csv(path)
    _named(path, header, ("query", "answer"))
    asked = [row[0] for row in rows]
    _once(asked, path)
    head, pairs = _csv(members)
    _named(members, head, ("query", "person"))
    people = {name: place for place, name in enumerate(dict.fromkeys(pair[1] for pair in pairs))}
    places: dict[str, list[int]] = {query: [] for query in asked}
    for query, person, *_ in pairs:
        if query not in places:
            raise InvalidInputError(
                f"{members.name} has query {show(query)}, which has no answer in {path.name}",
                "leave it out, or add its answer",
                "contradiction",
            )
        places[query].append(people[person])
    answers = [_number(row[1], path) for row in rows]
    return sums_of(list(places.values()), answers, list(people), path.name)


def _arrays(path: Path) -> Sums:
    try:
        with np.load(path, allow_pickle=False) as held:
            found = {name: held[name] for name in ("queries", "answers", "names") if name in held}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        raise InvalidInputError(
            f"{path.name} cannot be read as arrays",
            "write it with numpy.savez(FILE, queries=..., answers=...)",
            "unreadable-file",
        ) from None
    if not {"queries", "answers"} <= found.keys():
        raise InvalidInputError(
            f"{path.name} has no arrays queries and answers",
            "write it with numpy.savez(FILE, queries=..., answers=...)",
            "missing-entry",
        )
    names: Sequence[str] | None = [str(name) for name in found["names"]] if "names" in found else None
    return sums_of(matrix_of(found["queries"], None), found["answers"], names, path.name)


def _csv(path: Path, *, ordered: bool = False) -> tuple[list[str], list[list[str]]]:
    """The header and the rows, each as long as the header; empty lines do not count. `ordered`: a row is about what
    happened since the row before, so an empty line before it may be one that is missing."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            told = [line if any(cell.strip() for cell in line) else [] for line in csv.reader(file)]
    except OSError as error:
        raise InvalidInputError(
            f"cannot read {path}: {error.strerror}", "name a CSV file with a header", "unreadable-file"
        ) from None
    except (UnicodeDecodeError, csv.Error):
        raise InvalidInputError(
            f"{path.name} cannot be read", "name a CSV file with a header, in UTF-8", "wrong-format"
        ) from None
    lines = [line for line in told if line]
    if lines and len(lines[0]) == 1 and ";" in lines[0][0]:
        raise InvalidInputError(
            f"the fields of {path.name} are separated by semicolons",
            "save it with a comma between fields and a point in numbers, such as 6.5",
            "wrong-format",
        )
    while told and not told[-1]:
        told.pop()
    if ordered and [] in told[len(told) - len(lines) :]:
        raise InvalidInputError(
            f"line {len(told) - told[::-1].index([]):,} of {path.name} is empty, before a count",
            f"write the count that is missing; if nobody knows it, {MERGE}; if none is missing, take the line out",
            "missing-entry",
        )
    if len(lines) < 2:
        raise InvalidInputError(f"{path.name} has no rows below a header", "give a header and a row an answer", "empty")
    for number, line in enumerate(lines, 1):
        if len(line) != len(lines[0]):
            raise InvalidInputError(
                f"row {number:,} of {path.name} has {len(line):,} fields, the header {len(lines[0]):,}",
                "correct it; fields are separated by commas",
                "wrong-length",
            )
    return lines[0], lines[1:]


def _named(path: Path, header: Sequence[str], names: tuple[str, str]) -> None:
    if tuple(name.strip().lower() for name in header) != names:
        raise InvalidInputError(
            f"{path.name} has the columns {', '.join(header)}",
            f"give it the two columns {','.join(names)}",
            "wrong-columns",
        )


def _once(names: Sequence[str], path: Path) -> None:
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InvalidInputError(f"{path.name} has {show(twice)} twice", "give each a name of its own", "duplicate-name")


def _number(cell: str, path: Path, otherwise: str = "leave its row out") -> float:
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidInputError(
            f"{show(cell)} in {path.name} is no number", f"correct it, or {otherwise}", "not-a-number"
        )
    return number


def read_counts(path: Path | str) -> tuple[list[float], list[int] | None, list[str] | None]:
    """Published counts in their order, with how many people came before each, or who."""
    path = Path(path)
    header, rows = _csv(path, ordered=True)
    columns = tuple(name.strip().lower() for name in header)
    if columns not in (("count",), ("count", "arrivals"), ("count", "name")):
        raise InvalidInputError(
            f"{path.name} has the columns {', '.join(header)}",
            "give it the column count, alone or with arrivals or name behind it",
            "wrong-columns",
        )
    counts = [_number(row[0], path, MERGE) for row in rows]
    if columns[-1] == "name":
        return counts, None, [row[1].strip() for row in rows]
    if columns[-1] == "count":
        return counts, None, None
    numbers = [_number(row[1], path, "count who arrived") for row in rows]
    if not all(number.is_integer() and number >= 1 for number in numbers):
        raise InvalidInputError(
            f"{path.name} has arrivals that are no whole number of 1 or more", "correct them", "not-positive"
        )
    return counts, [int(number) for number in numbers], None
