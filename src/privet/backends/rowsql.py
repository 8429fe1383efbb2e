"""The rows that `kernel` bounds, as one SELECT: the same layers as in `sqlgen`, without the bounding and the sums."""
# ruff: noqa: S608  # SQL from pieces, as in `sqlgen`

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from privet.backends import Task, spelling
from privet.backends.cellsql import cell_of, chosen_keys, key_text, key_type
from privet.backends.content import key_shapes
from privet.backends.reading import BITS, unit_text, unscaled
from privet.backends.reference import used_columns
from privet.backends.sqlgen import PEOPLE, RANKED, Statement, passing_rows
from privet.backends.translate import SqlTerm
from privet.backends.whole import NARROW, clamped, constant, minus, power
from privet.core.claim import claim
from privet.core.expression import Column, Expression
from privet.core.measures import Measure, Role
from privet.core.shape import ORDERED, Form
from privet.sources import Raw

SHORT = 2**31
LISTED = "privet_keys"  # a temporary table of one question
REST_CELL = "privet_rest"  # a variable of the engine: the cell of the rest, which is known when keys are chosen
SUMMED = (Role.SUM, Role.SQUARES)
TALLIED = (Role.DISTINCT, *RANKED)  # measures that need the values of the rows that are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsSql:
    """Columns: u, the unit; s, a hash of what it is, if `salted` (otherwise u is what it is); cell, -1 for none; x, a
    hash of what the values do not show, if `extra`; w0, w1, ... whole numbers with `missing` in place of NULL,
    which is one below the lowest, and `highest`.

    `statement.sql` gives all of them; its sums are the numbers of rows and of units, then for each of the first
    `summed` values its number and its sum. `tallied` gives for each measure that needs it the place of its value.
    Where cells are not public, `keys` is a SELECT of what must be in the table `LISTED` beforehand: keys k0, k1, ...,
    their cell, and a label, which is what the hash sees of it.
    """

    statement: Statement
    types: Mapping[str, type[np.generic]]
    missing: tuple[int, ...]
    highest: tuple[int, ...]
    summed: int
    tallied: Mapping[Measure, int]
    keys: str | None = None

    @property
    def salted(self) -> bool:
        return "s" in self.types

    @property
    def extra(self) -> bool:
        return "x" in self.types


def rows(task: Task, raw: Raw) -> RowsSql | None:
    """How to fetch a task's rows.

    None if a value may need more than 62 bits. Declarations alone decide that: one person's rows must not change which
    rows of others are kept.
    """
    values = list(dict.fromkeys(measure.value for measure in task.measures if measure.value is not None))
    layer, terms = passing_rows(task, raw, values)
    carried = _Carried(values=dict(zip(values, terms, strict=True)), measures=task.measures)
    if carried.wide:
        return None
    hidden, keys, cell = _hidden(task), None, "cell"
    if task.cells.private:
        keys = f"SELECT *, {_label(task)} AS label FROM ({chosen_keys(task)})"
        layer = _joined(task, layer, rest=task.cells.rest)
    else:
        cell = cell_of(task)
    items = {"cell": cell, **({"x": f"hash({', '.join(hidden)})"} if hidden else {}), **carried.columns}
    sql, salted = _fetched(task, raw, layer, items)
    return RowsSql(
        statement=Statement(sql=sql, recipes=tuple(map(carried.recipe, task.measures))),
        types={"u": np.int64, "cell": np.int32, **_hashes(salted=salted, extra=bool(hidden)), **carried.types},
        missing=tuple(carried.missing),
        highest=tuple(carried.highest),
        summed=carried.summed,
        tallied={measure: carried.place(measure) for measure in task.measures if measure.role in TALLIED},
        keys=keys,
    )


@claim("people-of-keys")
def observed(task: Task, raw: Raw) -> RowsSql:
    """How to fetch whose rows have which key, before keys are chosen. Keys are numbered in their own order: where two
    labels collide, the lower number is kept, and which that is must not depend on who else is there."""
    layer, _ = passing_rows(task, raw, [])
    listed = [f"CAST(k{i} AS {key_type(shape)}) AS k{i}" for i, shape in enumerate(key_shapes(task))]
    names = ", ".join(f"k{i}" for i in range(len(listed)))
    keys = f"SELECT DISTINCT {', '.join(listed)} FROM ({layer})"
    keys = f"SELECT *, row_number() OVER (ORDER BY {names}) - 1 AS cell FROM ({keys})"
    sql, salted = _fetched(task, raw, _joined(task, layer, rest=False), {"cell": "cell"})
    return RowsSql(
        statement=Statement(sql=sql, recipes=((1, 0, 0),)),
        types={"u": np.int64, "cell": np.int32, **_hashes(salted=salted, extra=False)},
        missing=(),
        highest=(),
        summed=0,
        tallied={},
        keys=f"SELECT *, {_label(task)} AS label FROM ({keys})",
    )


def _fetched(task: Task, raw: Raw, layer: str, items: Mapping[str, str]) -> tuple[str, bool]:
    """A SELECT of the unit and the items, and whether it has a hash of the unit beside its number."""
    _, type_ = raw.unit(task.table)  # row units need no bounding
    whole = _whole(type_)
    items = {**items, "cell": f"coalesce(CAST({items['cell']} AS INTEGER), CAST(-1 AS INTEGER))"}
    listed = ", ".join(f"{sql} AS {name}" for name, sql in items.items())
    sql = f"SELECT {whole or 'u'} AS u, {listed} FROM ({layer})"
    if whole is not None:
        return sql, False
    return f"WITH base AS MATERIALIZED ({sql}){_coded(task, type_, list(items))}", True


@claim("rest-cell")
def _joined(task: Task, layer: str, *, rest: bool) -> str:
    """The rows with the cell of their key in the table of keys; see `cellsql.numbered`."""
    types = [key_type(shape) for shape in key_shapes(task)]
    same = [f"CAST(keyed.k{i} AS {type_}) IS NOT DISTINCT FROM listed.k{i}" for i, type_ in enumerate(types)]
    other = spelling.told(REST_CELL) if rest else "-1"
    return (
        f"SELECT keyed.*, coalesce(listed.cell, {other}) AS cell"
        f" FROM ({layer}) AS keyed LEFT JOIN {LISTED} AS listed ON {' AND '.join(same)}"
    )


@claim("bounding-kernel")
def _label(task: Task) -> str:
    """A hash of the secret and of keys k0, k1, ...: of their content, so it is the same whatever other keys there
    are."""
    return f"hash({spelling.text(task.secret.hex())} || {key_text(task)})"


def _hashes(*, salted: bool, extra: bool) -> dict[str, type[np.generic]]:
    return {name: np.uint64 for name, there in (("s", salted), ("x", extra)) if there}


def _whole(type_: str) -> str | None:
    """The unit as a number of 64 bits, if every unit of the type has its own."""
    if BITS.get(type_) == 64:
        return f"CAST(CAST(u AS HUGEINT) - {2**63} AS BIGINT)"
    number, _ = unscaled(type_, "u")
    return None if number is None or number.wide else number.sql


@claim("bounding-kernel")
def _coded(task: Task, type_: str, names: Sequence[str]) -> str:
    """Units of `base` by number, one for each that differs. Which number depends on who else is there: it names a unit,
    and nothing is decided by it. What is decided by is the hash of the unit's own text."""
    text = f"{spelling.text(task.secret.hex())} || {spelling.item(unit_text(type_, 'u'))}"
    numbered = f"SELECT u, row_number() OVER () AS code, hash({text}) AS s FROM (SELECT DISTINCT u FROM base)"
    listed = ", ".join(f"base.{name}" for name in names)
    return (
        f", units AS MATERIALIZED ({numbered})"
        f" SELECT units.code AS u, units.s AS s, {listed} FROM base JOIN units ON base.u = units.u"
    )


def _hidden(task: Task) -> list[str]:
    """The columns that a row's cell and values do not determine: they tell apart rows that count the same, so that it
    is as likely as in the reference that both stay. In the rest are rows of many keys."""
    shown = {key.value.name for key in task.plan.keys if isinstance(key.value, Column) and not task.cells.rest}
    carried = [measure.value for measure in task.measures if measure.role in (Role.SUM, *TALLIED)]
    shown |= {value.name for value in carried if isinstance(value, Column)}
    return [f"c{place}" for place, name in enumerate(used_columns(task)) if name not in shown]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Number:
    """A value as a whole number from low to high, in SQL."""

    sql: str
    low: int
    high: int


class _Carried:
    """The values as columns of whole numbers, each once: first those that are summed or counted. One that is only
    counted is 0 where it is there."""

    def __init__(self, *, values: dict[Expression, SqlTerm], measures: Sequence[Measure]) -> None:
        self._values = values
        self._places: dict[tuple[Expression, _Number], int] = {}
        self.columns: dict[str, str] = {}
        self.types: dict[str, type[np.generic]] = {}
        self.missing: list[int] = []
        self.highest: list[int] = []
        needed = [measure for measure in measures if measure.value is not None and measure.role not in PEOPLE]
        for measure in sorted(needed, key=lambda measure: measure.role is not Role.SUM):
            if measure.role in SUMMED or (measure.role is Role.COUNT and not self._summed(measure)):
                self._carry(measure)
        self.summed = len(self.columns)
        for measure in needed:
            if measure.role in TALLIED and self._key(measure) not in self._places:
                self._carry(measure)

    def _summed(self, measure: Measure) -> list[int]:
        """The places of the same value, among those that are summed or counted."""
        return [place for (value, _), place in self._places.items() if value == measure.value]

    def _key(self, measure: Measure) -> tuple[Expression, _Number]:
        assert measure.value is not None  # noqa: S101  # or there is nothing to carry
        return measure.value, _number(measure, self._values[measure.value])

    def _carry(self, measure: Measure) -> None:
        """A value was clamped when it was read, and is again by the kernel; if it were beyond its type, it would be
        missing."""
        key = self._key(measure)
        number, name = key[1], f"w{len(self.columns)}"
        if key in self._places:
            return
        type_, kind = _held(number.low, number.high)
        self._places[key] = len(self.columns)
        self.columns[name] = f"coalesce(TRY_CAST({number.sql} AS {type_}), CAST({number.low - 1} AS {type_}))"
        self.types[name] = kind
        self.missing.append(number.low - 1)
        self.highest.append(number.high)

    @property
    def wide(self) -> bool:
        return max(map(abs, [*self.missing, *self.highest]), default=0) >= NARROW

    def place(self, measure: Measure) -> int:
        return self._places[self._key(measure)]

    def recipe(self, measure: Measure) -> tuple[int, int, int]:
        """Of a measure that is tallied, none that matters."""
        if measure.role in PEOPLE:
            return 1, 0, 0
        if measure.value is None or measure.role in TALLIED:
            return 0, 0, 0
        place = self.place(measure) if measure.role in SUMMED else self._summed(measure)[0]
        count = 2 * place + 2
        center = measure.center if measure.role is Role.SUM else 0
        return (count, 0, count) if measure.role is Role.COUNT else (count + 1, center, count)


def _held(low: int, high: int) -> tuple[str, type[np.generic]]:
    """The type of a column with such whole numbers."""
    return ("INTEGER", np.int32) if low > -SHORT and high < SHORT else ("BIGINT", np.int64)


@claim("distinct-values")
def _number(measure: Measure, term: SqlTerm) -> _Number:
    """What a measure needs of a value. Values that are only told apart are numbers themselves where they fit; otherwise
    62 bits of their hash: two values with the same hash count as one, for everybody alike."""
    if measure.role is Role.SQUARES:
        low, high = measure.center, measure.center + measure.high
        there = replace(term.whole, sql=f"TRY_CAST({term.whole.sql} AS {_held(low, high)[0]})", wide=False)  # as summed
        above = minus(clamped(there, low, high), constant(low))
        return _Number(sql=power(above, 2).sql, low=0, high=measure.high**2)
    if measure.role is Role.SUM or measure.role in RANKED:
        return _Number(sql=term.whole.sql, low=measure.low + measure.center, high=measure.high + measure.center)
    if measure.role is Role.COUNT or term.shape.form is Form.NOTHING:
        return _Number(sql=f"CASE WHEN {term.sql} IS NOT NULL THEN 0 END", low=0, high=0)
    if term.shape.form in ORDERED and max(abs(term.shape.low - 1), abs(term.shape.high)) < NARROW:
        return _Number(sql=term.sql, low=term.shape.low, high=term.shape.high)
    return _Number(sql=f"CASE WHEN {term.sql} IS NOT NULL THEN hash({term.sql}) >> 2 END", low=0, high=NARROW - 1)
