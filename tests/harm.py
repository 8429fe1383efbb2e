"""The rows of one unit that move an answer the most: found by trying rows on the slow reference, one by one."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import nasty

from privet.backends import Task
from privet.backends.reference import _passing, added
from privet.catalog import Source, Table
from privet.core.calendar import midnight
from privet.core.expression import Column
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Timestamp
from privet.core.shape import Form, shape_of_kind

Row = dict[str, Any]
Pools = dict[str, list[Any]]
CANDIDATES = 60
FEW = 8
NUMBER = "number of the row"


def columns(table: Table) -> list[Column]:
    return [Column(name) for name in table.columns]


def numbers(table: Table) -> list[Column]:
    return [Column(name) for name, kind in table.columns.items() if isinstance(kind, Integer | Number | Boolean)]


def few_valued(table: Table) -> list[Column]:
    """Columns that are groups by themselves."""
    found = []
    for name, kind in table.columns.items():
        shape = shape_of_kind(kind)
        listed = shape.values is not None or shape.form in (Form.TRUTH, Form.NUMBER, Form.DATE)
        if listed and shape.high - shape.low <= FEW:
            found.append(Column(name))
    return found


NUMBERS: list[Kind] = [
    Integer(-3, 5), Integer(-7, 2), Integer(0, 3), Integer(2, 9), Integer(-4, -1), Number(-1, 2, step="1/2"),
    Number(-7, 0, step="0.7"), Number(0, 5000, step="0.01"), Boolean(),
]  # fmt: skip
GROUPS: list[Kind] = [
    Category(["A", "B", "é"]), Category(["x"]), Category(list("abcdef")), Date("2020-02-27", "2020-03-02"),
    Integer(0, 3),
]  # fmt: skip


def plain_table(rng: Random, rows: int) -> nasty.Made:
    """Small ranges of all signs, so that every end and every group comes up; the raw values are as nasty as ever."""
    lists = [NUMBERS, GROUPS, NUMBERS, GROUPS]
    kinds = {name: rng.choice(lists[n]) for n, name in enumerate(rng.sample(nasty.NAMES, rng.randint(2, 4)))}
    types = {name: rng.choice(nasty.TYPES[type(kind)]) for name, kind in kinds.items()}
    unit, limits = None, {}
    if rng.random() < 0.6:
        unit, limits = "unit id", {"max_groups": rng.randint(1, 4), "max_rows_per_group": rng.randint(1, 4)}
        types[unit] = rng.choice(nasty.UNIT_TYPES)
    table = Table(name="t", source=Source(kind="memory"), unit=unit, columns=kinds, **limits)
    empty = nasty.Made(table=table, types=types, rows=[])
    values = pools(rng, empty)
    made = [{name: rng.choice(pool) for name, pool in values.items()} for _ in range(rows)]
    return replace(empty, rows=made)


def pools(rng: Random, made: nasty.Made) -> Pools:
    """For every column some values of its type, and often those at and beyond the ends of its range."""
    found: Pools = {}
    for name, type_ in made.types.items():
        kind = made.table.columns.get(name)
        if name == made.table.unit:
            seen, texts = {repr(row[name]): row[name] for row in made.rows}, type_ == "VARCHAR"
            some = rng.sample(nasty.UNITS, 4) if texts else [nasty.raw_value(rng, type_, None) for _ in range(4)]
            found[name] = [*seen.values(), *some, *([None] if rng.random() < 0.2 else [])]
        else:
            some = [nasty.raw_value(rng, type_, kind) for _ in range(8)]
            found[name] = [*some, *2 * extremes(type_, kind), None]
    return found


def extremes(type_: str, kind: Kind | None) -> list[Any]:
    """Raw values that mean the ends of the range, and values far beyond."""
    match kind:
        case Integer() | Number():
            step = getattr(kind, "step", Fraction(1))
            ends = [Fraction(kind.low), Fraction(kind.high), kind.low + step, kind.high - step, Fraction(0)]
            ends += [Fraction(-(10**60)), Fraction(10**60)]
            return [value for end in ends if (value := _number(type_, end)) is not None]
        case Boolean():
            return ["yes", "no"] if type_ == "VARCHAR" else [_number(type_, Fraction(n)) for n in (0, 1)]
        case Category():
            return [value for value in kind.values if type_ == "VARCHAR"]
        case Date() | Timestamp():
            return [_moment(type_, end) for end in (kind.low, kind.high, dt.date(1, 1, 1), dt.date(9999, 12, 31))]
        case _:
            return []


def _number(type_: str, end: Fraction) -> Any:
    if type_ in nasty.BITS:
        bits, signed = nasty.BITS[type_], not type_.startswith("U")
        return min(max(round(end), -(2**bits) if signed else 0), 2**bits - 1)
    if type_.startswith("DECIMAL"):
        width, digits = map(int, type_[8:-1].split(","))
        scaled = min(max(round(end * 10**digits), 1 - 10**width), 10**width - 1)
        return Decimal(scaled).scaleb(-digits) if abs(scaled) < 10**28 else None
    if type_ == "BOOLEAN":
        return end > 0
    if type_ == "VARCHAR":
        return "1e999" if end > 10**50 else "-1e999" if end < -(10**50) else repr(float(end))
    number = float(end)
    return number if type_ == "DOUBLE" else max(-3e38, min(3e38, _single(number)))


def _moment(type_: str, end: dt.date) -> Any:
    time = end if isinstance(end, dt.datetime) else midnight(end)
    match type_:
        case "DATE":
            return time.date()
        case "TIMESTAMP":
            return time
        case _:
            return time.isoformat(sep=" ") if isinstance(end, dt.datetime) else end.isoformat()


def same_unit(one: Any, two: Any) -> bool:
    """Also for NaN, which is nobody."""
    return one is two or bool(one == two) or (repr(one) == repr(two) == "nan")


def row_sets(rng: Random, task: Task, pools: Pools, who: Any) -> list[list[Row]]:
    """No rows; then sets that add most, take away most, land elsewhere, are too many, and are random."""
    unit = task.table.unit
    tried = [{name: rng.choice(pool) for name, pool in pools.items()} for _ in range(CANDIDATES)]
    rows = [row if unit is None else row | {unit: who} for row in tried]
    some = rng.sample(rows, rng.randint(0, 6))
    if unit is None:
        return [[], *([row] for row in [*_best_rows(rng, task, rows), *some[:2]])]
    limits = task.bounds
    most, least, elsewhere = _best_cells(rng, task, rows)
    sets = [[row for row in chosen for _ in range(limits.rows)] for chosen in (most, least, elsewhere)]
    many = [row for row in rows for _ in range(rng.randint(1, 3))]
    return [[], *sets, many, some]


def _worth(task: Task, rows: Sequence[Row], measure: int) -> list[tuple[Row, int, int]]:
    """(row, its cell, what it adds) for the rows that count; whose they are does not matter here."""
    table = replace(task.table, unit=NUMBER, max_groups=1, max_rows_per_group=1)
    numbered = [row | {NUMBER: number} for number, row in enumerate(rows)]
    found = []
    for one in _passing(replace(task, table=table), numbered):
        adds = [added(each, one.row) for each in task.measures]
        found.append((rows[one.unit], one.cell, adds[measure]))  # type: ignore[call-overload]
    return found


def _best_rows(rng: Random, task: Task, rows: Sequence[Row]) -> list[Row]:
    """The row that adds most, the one that adds least in the same cell, and the best one in another cell."""
    worth = _worth(task, rows, rng.randrange(len(task.measures)))
    if not worth:
        return []
    sign = 1 if max(worth, key=lambda item: abs(item[2]))[2] >= 0 else -1
    row, cell, _ = max(worth, key=lambda item: sign * item[2])
    least, _, _ = min((item for item in worth if item[1] == cell), key=lambda item: sign * item[2])
    elsewhere = [item for item in worth if item[1] != cell]
    return [row, least, *([max(elsewhere, key=lambda item: sign * item[2])[0]] if elsewhere else [])]


def _best_cells(rng: Random, task: Task, rows: Sequence[Row]) -> tuple[list[Row], list[Row], list[Row]]:
    """The same for a unit: one row for each of as many cells as it may have."""
    worth = _worth(task, rows, rng.randrange(len(task.measures)))
    if not worth:
        return [], [], []
    sign = 1 if max(worth, key=lambda item: abs(item[2]))[2] >= 0 else -1
    best: dict[int, tuple[int, Row]] = {}
    worst: dict[int, tuple[int, Row]] = {}
    for row, cell, adds in worth:
        if cell not in best or sign * adds > best[cell][0]:
            best[cell] = (sign * adds, row)
        if cell not in worst or sign * adds < worst[cell][0]:
            worst[cell] = (sign * adds, row)
    order = sorted(best, key=lambda cell: -best[cell][0])
    first, second = order[: task.bounds.groups], order[task.bounds.groups : 2 * task.bounds.groups]
    return [best[c][1] for c in first], [worst[c][1] for c in first], [best[c][1] for c in second]


def _single(number: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return number
