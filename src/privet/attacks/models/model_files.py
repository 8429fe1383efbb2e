"""Files for attacks on models and audits of trainings: records with a column for the class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.attacks.models.records import Records, keys
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata, RecordColumn, read

Pair = tuple[npt.NDArray[Any], npt.NDArray[Any]]


def pairs_of(paths: Sequence[Path], label: str) -> tuple[list[Pair], list[str]]:
    """(X, y) of each file, and the names of the columns of X: those other than the label, in the order of the first
    file. Numbers where all of a column are numbers in all files (NaN is missing), otherwise texts (None is missing).
    Classes are texts, or numbers likewise."""
    tables = [read(path) for path in paths]
    names = [column.name for column in tables[0] if column.name != label]
    if not names:
        raise InvalidInputError(
            f"{paths[0].name} has no column other than {show(label)}",
            "give a file with columns to classify by",
            "empty",
        )
    _check_columns(tables, paths)
    parts = [_together([table[name] for table in tables]) for name in names]
    classes = _together([table[label] for table in tables])
    if any(one is None or one != one for own in classes for one in own.tolist()):  # noqa: PLR0124  nor NaN
        raise InvalidInputError(
            f"a value of column {show(label)} is missing", "fill it in, or leave the record out", "missing-value"
        )
    plain = all(part[0].dtype.kind == "f" for part in parts)
    pairs = [
        (np.column_stack([part[at] for part in parts]).astype(np.float64 if plain else object), classes[at])
        for at in range(len(tables))
    ]
    return pairs, names


def _check_columns(tables: Sequence[Microdata], paths: Sequence[Path]) -> None:
    """Whether all files have what the first one has."""
    for path, table in zip(paths, tables, strict=True):
        if missing := [name for name in tables[0].columns if name not in table.columns]:
            raise InvalidInputError(
                f"{path.name} has no column {show(missing[0])}, and {paths[0].name} has it",
                "give files with the same columns",
                "unknown-column",
            )


def update_of(before: Pair, after: Pair, files: tuple[str, str]) -> tuple[list[int], list[int], list[int], list[str]]:
    """What an update did, by the training data of both versions: places of the records that only `after` has, of those
    that only `before` has, and of those in both (in `after`); and a name for each of the first two kinds. A record that
    is there several times is in both as often as the one that has fewer of it."""
    found, kept = [], list[int]()
    for own, other in ((after, before), (before, after)):
        spare = Counter(keys(Records(*other)))
        only, both = list[int](), list[int]()
        for place, key in enumerate(keys(Records(*own))):
            (both if spare[key] > 0 else only).append(place)
            spare[key] -= 1
        found.append(only)
        kept = kept or both
    names = [f"record {place + 1} of {file}" for only, file in zip(found, files[::-1], strict=True) for place in only]
    return found[0], found[1], kept, names


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRecords:
    """`names` are those of the columns of `rows`; labels and units are None where no column has them."""

    names: tuple[str, ...]
    rows: npt.NDArray[Any]
    labels: npt.NDArray[Any] | None
    units: npt.NDArray[Any] | None


def training_records(path: Path, label: str | None, unit: str | None) -> TrainingRecords:
    """Records of one file, in the form of `pairs_of`. `unit` is the column that says whose they are."""
    table = read(path)
    names = tuple(column.name for column in table if column.name not in (label, unit))
    labels, units = (None if name is None else _together([table[name]])[0] for name in (label, unit))
    for name, values in ((label, labels), (unit, units)):
        if values is not None and any(value is None or value != value for value in values.tolist()):  # noqa: PLR0124
            raise InvalidInputError(
                f"a value of column {show(name)} is missing", "fill it in, or leave the record out", "missing-value"
            )
    if not names:
        raise InvalidInputError(f"{path.name} has no other columns", "give a file with columns to learn from", "empty")
    parts = [_together([table[name]])[0] for name in names]
    plain = all(part.dtype.kind == "f" for part in parts)
    return TrainingRecords(names, np.column_stack(parts).astype(np.float64 if plain else object), labels, units)


def _together(columns: list[RecordColumn]) -> list[npt.NDArray[Any]]:
    """One column of each file, of one type."""
    try:
        return [np.array([np.nan if text is None else float(text) for text in one.texts])[one.codes] for one in columns]
    except ValueError:
        return [one.listed() for one in columns]
