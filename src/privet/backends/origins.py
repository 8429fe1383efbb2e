"""The rows that a question is asked of: the definition, in slow and plain Python. `originsql` says the same in SQL.

What is made for a unit is made of that unit's rows and of public tables, and of nothing else.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, assert_never

from privet.backends import Task
from privet.backends.content import digest, identity, item, items, unit_text
from privet.backends.readable import is_nobody, read
from privet.catalog.declarations import Table, limit_of
from privet.core.cells import Keys
from privet.core.claim import claim
from privet.core.elementary import round_to
from privet.core.evaluate import Row, evaluate
from privet.core.expression import Rounding, Value
from privet.core.narrow import narrowed
from privet.core.origin import MOST_ROWS, shapes_of, tables_in
from privet.core.plan import Aggregate, By, Function, Joined, Numbered, Origin, PerUnit, Scan
from privet.core.ranges import shape_of
from privet.core.rational import show
from privet.core.shape import Shapes, shape_of_kind
from privet.core.texts import held
from privet.errors import RefusedQueryError

RawRow = Mapping[str, object]
JOIN = "join"  # sets the choice of rows to join apart from that of bounding
PUBLIC = None
MOST_BESIDE = 10_000  # rows of people that are put beside one row, of all joins together


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """A row as read, and whose it is: the raw value of its unit; where each row is a unit, its place."""

    unit: object
    row: Row


def tables_of(task: Task) -> dict[str, Table]:
    return {**task.beside, task.table.name: task.table}


def declared_in(tables: Mapping[str, Table]) -> dict[str, Shapes]:
    return {
        name: {column: shape_of_kind(kind) for column, kind in table.columns.items()} for name, table in tables.items()
    }


def told_by(origin: Joined) -> list[str]:
    """The columns of the right that tell its rows apart, where it is chosen among them."""
    return list(dict.fromkeys([*(yours for _, yours in origin.on), *(name for name, _ in origin.names)]))


@claim("unit-wise")
def check_unit_wise(origin: Origin, tables: Mapping[str, Table]) -> None:
    """Refuses rows that do not belong to one unit each: fronts make no such plans, and nobody else shall.

    Where each row is a unit, it may not be there twice: nothing bounds it afterwards. Of people it is bounded, but
    somebody with many rows in both tables could make a question fail if all of them were put side by side; and joins
    that each multiply rows could make a question of one row take for ever, which would tell that it is there.
    """
    match origin:
        case Scan():
            if tables[origin.table].public:
                raise RefusedQueryError(
                    f"table {show(origin.table)} is public", "begin with a table that has units", "private-table-needed"
                )
        case Joined():
            check_unit_wise(origin.left, tables)
            people = _unit(origin.left, tables) is not None
            if origin.by_unit:
                check_unit_wise(origin.right, tables)
                if not people or _unit(origin.right, tables) is None:
                    raise _row_units("tables cannot be joined by it")
                if origin.most is None and not (isinstance(origin.right, PerUnit) and not origin.right.keys):
                    raise RefusedQueryError(
                        "how many rows of one unit are joined to each of its rows has no limit",
                        "add them up first: join a sub-query that is grouped by the unit",
                        "unbounded-join",
                    )
            elif not isinstance(origin.right, Scan) or not tables[origin.right.table].public:
                raise RefusedQueryError(
                    "a join would mix rows of several units", "join the tables on their units", "not-per-unit"
                )
            elif not people and origin.most != 1:
                raise _row_units("a row may match only one row of the public table: join on all columns of its key")
            _check_spread(origin)
        case PerUnit() | Numbered():
            check_unit_wise(origin.source, tables)
            if _unit(origin.source, tables) is None:
                raise _row_units("it has no rows to add up, or to put in order")
            if isinstance(origin, Numbered):
                _check_numbers(origin)
        case _:
            assert_never(origin)


def _check_numbers(origin: Numbered) -> None:
    limit_of(origin.first, "the number of a row")
    if origin.last is not None and limit_of(origin.last, "the number of a row") < origin.first:
        raise RefusedQueryError("no row has such numbers", "give the smaller number first", "reversed-range")


def _check_spread(origin: Joined) -> None:
    if origin.most is not None:
        limit_of(origin.most, "most")
    public, people = _spread(origin)
    if public > 1:
        raise RefusedQueryError(
            "a row could match several rows of more than one public table",
            "join all but one of them by the key that the owner declared, or ask in several queries",
            "unbounded-join",
        )
    if people > MOST_BESIDE:
        raise RefusedQueryError(
            f"joins could put more than {MOST_BESIDE:,} rows beside one row",
            "add them up first: join sub-queries that are grouped by the unit",
            "too-many",
        )


def _spread(origin: Origin) -> tuple[int, int]:
    """How often one row of the leading table becomes several: by how many public tables, and how many by people's."""
    match origin:
        case Scan():
            return 0, 1
        case Joined():
            public, people = _spread(origin.left)
            several = not origin.by_unit and origin.most is None
            return public + several, people * (origin.most or 1)
        case PerUnit():
            return _spread(origin.source) if origin.keys else (0, 1)
        case Numbered():
            return _spread(origin.source) if origin.keys or origin.last is None else (0, origin.last)
        case _:
            assert_never(origin)


def _unit(origin: Origin, tables: Mapping[str, Table]) -> str | None:
    return tables[next(tables_in(origin))].unit


def _row_units(problem: str) -> RefusedQueryError:
    return RefusedQueryError(f"each row is a unit here, so {problem}", "ask the rows themselves", "rows-are-units")


class Origins:
    """All rows of an origin, from raw rows of every table by name."""

    def __init__(self, task: Task, raw: Mapping[str, Sequence[RawRow]]) -> None:
        self._tables, self._raw = tables_of(task), raw
        self._declared, self._secret = declared_in(self._tables), task.secret

    @claim("unit-wise")
    def rows(self, origin: Origin, names: Sequence[str] | None = None) -> Iterator[Owned]:
        """With all columns; of a table only these, if they are given."""
        match origin:
            case Scan():
                return self._scanned(self._tables[origin.table], names)
            case Joined():
                return self._joined(origin)
            case PerUnit():
                return self._per_unit(origin)
            case Numbered():
                return self._numbered(origin)
            case _:
                assert_never(origin)

    def _scanned(self, table: Table, names: Sequence[str] | None) -> Iterator[Owned]:
        for place, raw in enumerate(self._raw[table.name]):
            unit = place if table.unit is None else raw[table.unit]
            if is_nobody(unit):
                continue
            wanted = table.columns if names is None else names
            yield Owned(unit=unit, row={name: read(raw[name], table.columns[name]) for name in wanted})

    def _joined(self, origin: Joined) -> Iterator[Owned]:
        beside: dict[object, list[Row]] = defaultdict(list)
        for other in self._chosen(origin):
            beside[identity(other.unit) if origin.by_unit else PUBLIC].append(other.row)
        for mine in self.rows(origin.left):
            near = beside[identity(mine.unit) if origin.by_unit else PUBLIC]
            found: Sequence[Row] = [row for row in near if _equal(origin, mine.row, row)]
            if not origin.by_unit:
                found = found[: origin.most]
            if origin.outer and not found:
                found = [dict.fromkeys(name for name, _ in origin.names)]
            for row in found:
                yield Owned(unit=mine.unit, row={**mine.row, **{here: row[name] for name, here in origin.names}})

    def _chosen(self, origin: Joined) -> list[Owned]:
        """Of each unit `most` rows, by the hash; of a public table all, but in an order that its rows decide."""
        rows, names = list(self.rows(origin.right)), told_by(origin)
        if origin.most is None:
            return rows
        columns = shapes_of(origin.right, self._declared)
        texts = [(items([one.row[name] for name in names], [columns[name] for name in names]), one) for one in rows]
        if not origin.by_unit:
            return [one for _, one in sorted(texts, key=lambda pair: pair[0])]
        units: dict[object, list[tuple[str, str, Owned]]] = defaultdict(list)
        for text, one in texts:
            units[one.unit].append((digest(self._head(one.unit) + text), text, one))
        ordered = [sorted(rows, key=lambda row: row[:2]) for rows in units.values()]
        return [one for rows in ordered for _, _, one in rows[: origin.most]]

    def _head(self, unit: object) -> str:
        return self._secret.hex() + item(unit_text(unit)) + item(JOIN)

    def _per_unit(self, origin: PerUnit) -> Iterator[Owned]:
        columns = narrowed(shapes_of(origin.source, self._declared), origin.where)
        groups: dict[tuple[object, Keys], list[Row]] = defaultdict(list)
        for one in self.rows(origin.source):
            if origin.where is None or evaluate(origin.where, one.row) is True:
                groups[one.unit, tuple(evaluate(key.value, one.row) for key in origin.keys)].append(one.row)
        names = [key.name for key in origin.keys]
        for (unit, keys), rows in groups.items():
            made = {aggregate.name: made_of(aggregate, columns, rows) for aggregate in origin.aggregates}
            yield Owned(unit=unit, row={**dict(zip(names, keys, strict=True)), **made})

    @claim("numbered-rows")
    def _numbered(self, origin: Numbered) -> Iterator[Owned]:
        """Whatever the order of the rows was before, rows of one text stand side by side after the first sorting."""
        columns = shapes_of(origin.source, self._declared)
        groups: dict[tuple[object, Keys], list[Row]] = defaultdict(list)
        for one in self.rows(origin.source):
            if origin.where is None or evaluate(origin.where, one.row) is True:
                groups[one.unit, tuple(evaluate(key, one.row) for key in origin.keys)].append(one.row)
        told = [columns[name] for name in origin.columns]
        backwards = bool(origin.by) and origin.by[-1].descending
        for (unit, _), found in groups.items():
            rows = sorted(found, key=lambda row: items([row[name] for name in origin.columns], told), reverse=backwards)
            for by in reversed(origin.by):
                rows = _in_order(by, rows)
            numbers = enumerate(rows[: origin.last or MOST_ROWS], start=1)
            for number, row in itertools.islice(numbers, origin.first - 1, None):
                kept = {name: row[name] for name in origin.columns}
                yield Owned(unit=unit, row={**kept, origin.name: Fraction(number)})


def _in_order(by: By, rows: Sequence[Row]) -> list[Row]:
    """Rows that have the same value keep their order, and those that have none are last."""
    pairs = [(evaluate(by.value, row), row) for row in rows]
    there: list[tuple[Any, Row]] = [
        (held(value) if isinstance(value, str) else value, row) for value, row in pairs if value is not None
    ]
    there.sort(key=lambda pair: pair[0], reverse=by.descending)
    return [row for _, row in there] + [row for value, row in pairs if value is None]


def _equal(origin: Joined, left: Row, right: Row) -> bool:
    return all(left[mine] is not None and left[mine] == right[yours] for mine, yours in origin.on)


def made_of(aggregate: Aggregate, columns: Shapes, rows: Sequence[Row]) -> Value:
    """An aggregate of one unit's rows. An average is rounded to a step of its column, halves up."""
    function = aggregate.function
    if aggregate.value is None:
        return Fraction(1 if function is Function.COUNT_DISTINCT else len(rows))
    values: list[Any] = [value for row in rows if (value := evaluate(aggregate.value, row)) is not None]
    match function:
        case Function.COUNT:
            return Fraction(len(values))
        case Function.COUNT_DISTINCT:
            return Fraction(len(set(values)))
        case _ if not values:
            return None
        case Function.MIN | Function.MAX:
            ordered: list[Value] = sorted(held(value) if isinstance(value, str) else value for value in values)
            return ordered[0 if function is Function.MIN else -1]
        case Function.SUM:
            return sum(values, Fraction(0))
        case _:
            step = shape_of(aggregate.value, columns).step
            return round_to(Rounding.NEAREST, sum(values, Fraction(0)) / len(values) / step) * step
