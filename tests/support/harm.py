"""The rows of one unit that move an answer the most: found by trying rows on the slow reference, one by one."""

from __future__ import annotations

import datetime as dt
import struct
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

from privet.backends import Task
from privet.backends.reference import _passing, added
from privet.catalog.vault_file import Source, Table
from privet.core.calendar import midnight
from privet.core.evaluate import evaluate
from privet.core.expression import Column
from privet.core.measures import CHOSEN, KEYS, Measure, Role
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.core.shape import Form, shape_of_kind
from support import nasty

Row = dict[str, Any]
Pools = dict[str, list[Any]]
CANDIDATES = 60
CROWD = 3  # units in each of two sets of cells
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
    Integer(0, 3), Text(), Text(),
]  # fmt: skip


def plain_table(rng: Random, rows: int, *, with_unit: bool | None = None) -> nasty.Made:
    """Small ranges of all signs, so that every end and every group comes up; the raw values are as nasty as ever."""
    lists = [NUMBERS, GROUPS, NUMBERS, GROUPS]
    kinds = {name: rng.choice(lists[n]) for n, name in enumerate(rng.sample(nasty.NAMES, rng.randint(2, 4)))}
    kinds = {name: nasty.some_never_missing(kind) if len(name) % 2 else kind for name, kind in kinds.items()}
    types = {name: rng.choice(nasty.TYPES[type(kind)]) for name, kind in kinds.items()}
    unit, limits = None, {}
    if rng.random() < 0.6 if with_unit is None else with_unit:
        unit, limits = "unit id", nasty.random_limits(rng)
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
            low, high = kind.steps
            ends = [Fraction(kind.low), Fraction(kind.high), kind.low + step, kind.high - step, Fraction(0)]
            ends += [(low + high) // 2 * step]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Harm:
    """What a unit's rows can be, the first of them none; and rows of others that make it matter most."""

    sets: list[list[Row]]
    crowd: list[Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """A row that counts: its cell, what it adds, and the value of which only the first one counts."""

    row: Row
    cell: int
    adds: int
    value: object = None


def harm(rng: Random, task: Task, pools: Pools, who: Any) -> Harm:
    """No rows; for two of the measures, sets that add most, take away most, and land elsewhere; too many; and some.

    What a rank can lose depends on who else is there, so the harm to a quantile comes with a crowd at its end.
    """
    unit = task.table.unit
    tried = [{name: rng.choice(pool) for name, pool in pools.items()} for _ in range(CANDIDATES)]
    rows = [row if unit is None else row | {unit: who} for row in tried]
    some, targets = rng.sample(rows, rng.randint(0, 6)), rng.sample(task.measures, min(2, len(task.measures)))
    sets: list[list[Row]] = []
    crowd: list[Row] = []
    for measure in targets or [KEYS]:
        most, least, elsewhere = _best_cells(task, measure, _worth(task, measure, rows))
        sets += [most, least, elsewhere]
        if measure.role in CHOSEN and rng.random() < 0.8:
            crowd += _crowd(rng, task, pools, who, (most, elsewhere))
    if unit is None:
        return Harm(sets=[[], *(own[:1] for own in sets), *([row] for row in some[:2])], crowd=crowd)
    many = [row for row in rows for _ in range(rng.randint(1, 3))]
    return Harm(sets=[[], *sets, many, some], crowd=crowd)


def _crowd(rng: Random, task: Task, pools: Pools, who: Any, blocks: Sequence[Sequence[Row]]) -> list[Row]:
    """The same rows once more, of several other units; each unit has as many as it may have."""
    unit = task.table.unit
    if unit is None:
        return [row for block in blocks for row in block for _ in range(CROWD)]
    others = {repr(value): value for value in pools[unit] if value is not None and not same_unit(value, who)}
    found: list[Row] = []
    for number, one in enumerate(rng.sample(list(others.values()), min(len(others), CROWD * len(blocks)))):
        found += [row | {unit: one} for row in blocks[number % len(blocks)]]
    return found


def _worth(task: Task, measure: Measure, rows: Sequence[Row]) -> list[Worth]:
    """For the rows that count; whose they are does not matter here."""
    table = replace(task.table, unit=NUMBER, max_groups=1, max_rows_per_group=1, max_rows=None)
    numbered = [row | {NUMBER: number} for number, row in enumerate(rows)]
    found = []
    for one in _passing(replace(task, table=table), {table.name: numbered}):
        value = None if measure.value is None else evaluate(measure.value, one.row)
        if measure.role in CHOSEN and value is None:
            continue
        adds = int(value is not None) if measure.role is Role.DISTINCT else added(measure, one.row)
        own = (value,) if measure.role is Role.DISTINCT else None
        found.append(Worth(row=rows[one.unit], cell=one.cell, adds=adds, value=own))  # type: ignore[call-overload]
    return found


def _sign(measure: Measure, worth: Sequence[Worth]) -> int:
    """Whether high or low values do more: of quantiles those on the longer side."""
    if measure.role in CHOSEN:
        high = measure.role is Role.MAX if measure.quantile is None else measure.quantile > Fraction(1, 2)
        return 1 if high else -1
    return 1 if max((one.adds for one in worth), key=abs, default=0) >= 0 else -1


def _best_cells(task: Task, measure: Measure, worth: Sequence[Worth]) -> tuple[list[Row], list[Row], list[Row]]:
    """As many rows as a unit may have, in as many cells: those that add most, those that add least in the same cells,
    and those that add most in other cells. Of rows in all, as many as there may be, heaped up cell by cell."""
    sign, groups, in_all = _sign(measure, worth), task.bounds.groups, task.bounds.in_all
    cells: dict[int, list[Worth]] = defaultdict(list)
    for one in sorted(worth, key=lambda one: -sign * one.adds):
        cells[one.cell].append(one)
    gain = {cell: sum(sign * one.adds for one in _filled(task, items)) for cell, items in cells.items()}
    order = sorted(cells, key=lambda cell: -gain[cell])
    first, second = order[:groups], order[groups : 2 * groups]
    most, elsewhere = ([one.row for cell in some for one in _filled(task, cells[cell])] for some in (first, second))
    least = [cells[cell][-1].row for cell in first for _ in range(task.bounds.rows)]
    return most[:in_all], least[:in_all], elsewhere[:in_all]


def _filled(task: Task, items: Sequence[Worth]) -> list[Worth]:
    """The first row as often as it counts; of values, so many different ones, and none twice."""
    limit = task.bounds.rows
    if items[0].value is None:
        return [items[0]] * limit
    return list({one.value: one for one in reversed(items)}.values())[::-1][:limit]


def _single(number: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return number
