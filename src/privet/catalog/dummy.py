"""Made-up rows from the declarations alone, to draft questions with. They never saw the data: no release, no cost.

The numbers come from ordinary, repeatable randomness; nothing here is noise that protects anybody.
"""

from __future__ import annotations

import csv
import datetime as dt
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import assert_never

from privet.catalog.declarations import Source, Table, marks_of
from privet.catalog.writing import Writing
from privet.core.rational import whole
from privet.core.schema import EPOCH, Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.errors import InvalidInputError
from privet.output import new_output
from privet.output import spreadsheet_safe as inert

MISSING_SHARE = 0.05
ROWS_PER_UNIT = 3
TEXTS = 50  # different made-up texts in a column


def dummy(table: Table, rows: int, *, seed: int = 0) -> dict[str, list[object]]:
    """Columns of values, uniform over the declared ranges; a few are missing, and the first two are the bounds."""
    whole(rows, "rows", 0)
    source = random.Random(seed)  # noqa: S311  repeatable on purpose
    columns = {name: _column(kind, rows, source) for name, kind in table.columns.items()}
    if table.unit is not None and table.unit not in columns:
        units = 1 + (rows - 1) // (ROWS_PER_UNIT if table.max_groups * table.max_rows_per_group > 1 else 1)
        columns = {table.unit: [f"unit {source.randint(1, units)}" for _ in range(rows)], **columns}
    return columns


def write_csv(path: str | Path, table: Table, rows: int, *, seed: int = 0, spreadsheet_safe: bool = False) -> None:
    """The same rows as a file that the table's own declaration reads, if it declares a CSV; otherwise a plain one.

    `spreadsheet_safe`: texts that a spreadsheet would take for formulas have an apostrophe before them."""
    write_columns(path, table, dummy(table, rows, seed=seed), spreadsheet_safe=spreadsheet_safe)


def write_columns(
    path: str | Path, table: Table, columns: Mapping[str, Sequence[object]], *, spreadsheet_safe: bool = False
) -> None:
    """Made-up columns, all of one length, as such a file."""
    shown = inert if spreadsheet_safe else str
    source = table.source if table.source.kind == "csv" else Source(kind="csv", path="plain.csv")
    header = source.names or tuple(columns)
    try:
        with (
            new_output(Path(path)) as new,
            new.open("w", encoding=source.encoding, errors="replace", newline="") as file,
        ):
            file.write("\n" * source.skip)
            writer = csv.writer(file, delimiter=source.delimiter, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
            if not source.names:
                writer.writerow(map(shown, header))
            empty: list[object] = [None] * len(next(iter(columns.values())))
            written = [table.writing.get(name, Writing()) if source is table.source else Writing() for name in header]
            for row in zip(*(columns.get(name, empty) for name in header), strict=True):
                writer.writerow([shown(_field(*one, source)) for one in zip(row, written, strict=True)])
    except OSError:
        raise InvalidInputError(
            "the CSV file cannot be written", "check the folder and the disk", "cannot-write"
        ) from None


def _column(kind: Kind, rows: int, source: random.Random) -> list[object]:
    ends = edges(kind)[:rows]
    drawn = [
        None if source.random() < MISSING_SHARE and not kind.never_missing else _value(kind, source)
        for _ in range(rows - len(ends))
    ]
    return [*ends, *drawn]


def edges(kind: Kind) -> list[object]:
    """The two ends of what is declared; a text has none."""
    if isinstance(kind, Text):
        return []
    if isinstance(kind, Category):
        return [kind.values[0], kind.values[-1]]
    return [_at(kind, step) for step in kind.steps]


def _value(kind: Kind, source: random.Random) -> object:
    if isinstance(kind, Text):
        return f"text {source.randint(1, TEXTS)}"
    if isinstance(kind, Category):
        return source.choice(kind.values)
    return _at(kind, source.randint(*kind.steps))


def _at(kind: Integer | Number | Boolean | Date | Timestamp, step: int) -> object:
    """The value that lies this many steps from 0."""
    match kind:
        case Integer():
            return step
        case Number():
            return float(step * kind.step)
        case Boolean():
            return bool(step)
        case Date():
            return EPOCH.date() + dt.timedelta(days=step)
        case Timestamp():
            return EPOCH + dt.timedelta(microseconds=step)
        case _:
            assert_never(kind)


def _field(value: object, writing: Writing, source: Source) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(value).replace(".", marks_of(writing, source)[0])
    if isinstance(value, dt.date) and writing.date_format is not None:
        return value.strftime(writing.date_format.replace("%z", "Z"))
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, dt.date) and writing.offset is None and source.date_format is not None:
        return value.strftime(source.date_format)
    return str(value)
