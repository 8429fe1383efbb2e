"""Vaults for testing, made from the declarations of a real one: the same made-up people, and one who differs.

No data of the real vault are read. The first vault is without the one who differs (under "replace": with one row, at
the near ends). In the second the one has what declarations allow at most: values at the far ends, more rows than count,
in as many groups as there are. In the others the rows are random, because a question may look at few rows only.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from privet.catalog.declarations import Source, Table
from privet.catalog.dummy import dummy, edges, write_columns
from privet.core.accountant import Budget
from privet.core.schema import Category, Kind, Text
from privet.core.unit import Neighbors
from privet.vault import Vault, create

CROWD = 24  # rows of other people in a table
MOST_ROWS = 60  # of the one who differs
EPSILON = 1000  # of the testing vaults: room for all releases of an audit
MEMORY = Path("/dev/shm")  # noqa: S108  a folder of its own is made there
THE_ONE = "the one"
PAIRS = 5  # the far ends, and random rows

Columns = dict[str, list[object]]


@dataclass(frozen=True, slots=True)
class PairSide:
    """One of the vaults, with what is in it in words."""

    vault: Vault
    words: str


@contextlib.contextmanager
def made_pairs(vault: Vault, asked: str) -> Iterator[list[tuple[PairSide, PairSide]]]:
    """Neighbors, until the end of the block; every pair has vaults of its own. `asked`: what a question is about."""
    with TemporaryDirectory(prefix="privet-audit-", dir=_quick_folder()) as name, contextlib.ExitStack() as open_vaults:
        pairs = []
        for number in range(1, PAIRS + 1):
            first = _side(vault, asked, Path(name) / f"{number} first", 0)
            second = _side(vault, asked, Path(name) / f"{number} second", number)
            for side in (first, second):
                open_vaults.callback(side.vault.close)
            pairs.append((first, second))
        yield pairs


def _quick_folder() -> str | None:
    """In memory, where the system has such a place: nothing here needs to last."""
    return str(MEMORY) if os.access(MEMORY, os.W_OK) else None


def _side(vault: Vault, asked: str, folder: Path, number: int) -> PairSide:
    folder.mkdir()
    made = create(
        folder / "made.privet",
        budget=Budget(EPSILON, vault.terms.budget.delta),
        neighbors=str(vault.terms.neighbors),
        on_exhausted="warn",
        testing=True,
    )
    rows = 0
    for place, table in enumerate(vault.tables.values()):
        plain = replace(table, source=Source(kind="csv", path=f"{place}.csv"), version=1)
        columns = _crowd(plain)
        if _holds_the_one(plain, asked) and (number or vault.terms.neighbors is Neighbors.REPLACE):
            own = _the_one(plain, number)
            rows += len(next(iter(own.values())))
            columns = {name: [*values, *own[name]] for name, values in columns.items()}
        write_columns(folder / f"{place}.csv", plain, columns)
        made.declare(plain)
    return PairSide(made, _words(rows, number))


def _words(rows: int, number: int) -> str:
    if not rows:
        return "made-up people"
    where = ("at the near ends", "at the far ends")[number] if number < 2 else "at random"
    return f"made-up people and one more, with {rows} row{'' if rows == 1 else 's'} {where}"


def _holds_the_one(table: Table, asked: str) -> bool:
    """A person has rows in every table of people; where a row is a unit there is one, in the table that is asked."""
    return not table.public and (table.unit is not None or table.name == asked)


def _crowd(table: Table) -> Columns:
    """Made-up rows, none of the one who differs; of a public table each key once."""
    columns = dummy(table, CROWD)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if table.public and table.key:
        rows = list({tuple(row[name] for name in table.key): row for row in rows}.values())
    if table.unit is not None:
        rows = [row for row in rows if row[table.unit] != _name(table)]
    return {name: [row[name] for row in rows] for name in columns}


def _the_one(table: Table, number: int) -> Columns:
    """Rows of the one who differs, in vault `number`."""
    many = table.max_rows or table.max_groups * table.max_rows_per_group
    size = min(many + 2, MOST_ROWS) if number and table.unit is not None else 1
    if number < 2:
        own = {
            name: [_value(kind, row, far=bool(number)) for row in range(size)] for name, kind in table.columns.items()
        }
    else:
        own = {name: values[-size:] for name, values in dummy(table, size + 2, seed=number).items()}
    return own if table.unit is None else own | {table.unit: [_name(table)] * size}


def _name(table: Table) -> object:
    """Of the one who differs, as the unit's column has it."""
    kind = None if table.unit is None else table.columns.get(table.unit)
    return THE_ONE if kind is None else _value(kind, 0, far=True)


def _value(kind: Kind, row: int, *, far: bool) -> object:
    """Far: the larger of the two ends of numbers, and categories in turn. Near: the other end, the last category."""
    if isinstance(kind, Text):
        return f"text {row + 1}" if far else "text 1"
    if isinstance(kind, Category):
        return kind.values[row % len(kind.values)] if far else kind.values[-1]
    low, high = kind.steps
    larger = int(abs(high) >= abs(low))
    return edges(kind)[larger if far else 1 - larger]
