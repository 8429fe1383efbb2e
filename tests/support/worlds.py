"""Random tables that can be joined, and random origins over them."""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Any

from privet.backends import origins
from privet.core.expression import Column
from privet.core.narrow import narrowed
from privet.core.origin import MADE, shapes_of
from privet.core.plan import Aggregate, By, Function, Joined, Key, Numbered, Origin, PerUnit, Plan, Scan
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text
from privet.core.shape import Form, Shapes
from support import harm, nasty

Row = dict[str, Any]
ASKED = (
    Function.COUNT, Function.SUM, Function.AVG, Function.COUNT_DISTINCT, Function.MIN, Function.QUANTILE,
)  # fmt: skip
LINK = "link"
UNIT = "unit id"


PERSONS: dict[str, list[Any]] = {
    "VARCHAR": ["0", "1", "2", "3", "1.0", "", " 1", "01", "1:1", "é", "e\u0301", "true", "2020-01-02", "1\0", "N"],
    "DOUBLE": [0.0, -0.0, 1.0, 2.0, 3.0, 0.5, float("nan"), float("inf"), 2.0**53, 1e300],
    "FLOAT": [0.0, -0.0, 1.0, 2.0, 3.0, 0.5, float("nan"), 2.0**53],
    "BIGINT": [0, 1, 2, 3, -1, 2**53, 2**63 - 1],
    "UHUGEINT": [0, 1, 2, 3, 2**53, 2**128 - 1],
    "DECIMAL(9,2)": [Decimal("0.00"), Decimal("1.00"), Decimal("2.00"), Decimal("0.50"), Decimal("-1.00")],
    "DECIMAL(18,3)": [Decimal("0.000"), Decimal("1.000"), Decimal("3.000"), Decimal("0.500"), Decimal("100.000")],
    "DECIMAL(38,0)": [Decimal(0), Decimal(1), Decimal(2), Decimal(100), Decimal(2**53)],
    "BOOLEAN": [True, False],
    "DATE": [dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
    "TIMESTAMP": [dt.datetime(2020, 1, 2), dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 1, 0, 0, 0, 1)],
}  # fmt: skip
LINKS: dict[Form, list[tuple[Kind, str, list[Any]]]] = {
    Form.NUMBER: [
        (Integer(0, 4), "INTEGER", [0, 1, 2, 9, None]),
        (Number(0, 4, step="0.5"), "DOUBLE", [0.0, -0.0, 1.0, 1.5, float("nan"), 99.0]),
        (Number(-1, 3, step="1/3"), "VARCHAR", ["0", " 1 ", "1.3333", "x", "-1"]),
        (Integer(-(2**62), 2**64), "BIGINT", [0, 1, 2, 2**63 - 1]),
    ],
    Form.WORD: [
        (Text(), "VARCHAR", ["A", "a", "A ", "", "é", "e\u0301", "1", "A\0", None]),
        (Category(["A", "1", ""]), "VARCHAR", ["A", "1", "", "other", None]),
        (Category(["1", "A"]), "BIGINT", [1, 2, None]),
    ],
    Form.TRUTH: [(Boolean(), "BOOLEAN", [True, False, None]), (Boolean(), "VARCHAR", ["yes", "0", "maybe"])],
    Form.DATE: [
        (Date("2020-01-01", "2020-01-05"), "DATE", [dt.date(2020, 1, 1), dt.date(1990, 1, 1), None]),
        (Date("2020-01-01", "2021-01-05"), "VARCHAR", ["2020-01-01", "2020-01-05", "2030-01-01", "never"]),
    ],
}  # fmt: skip


@dataclass(frozen=True)
class World:
    tables: dict[str, nasty.Made]

    @property
    def rows(self) -> dict[str, list[Row]]:
        return {name: made.rows for name, made in self.tables.items()}

    @property
    def declared(self) -> dict[str, Shapes]:
        return origins.declared_in({name: made.table for name, made in self.tables.items()})

    def without(self, person: object) -> World:
        """The same with nothing of one person, in all tables."""
        return World({name: _without(made, person) for name, made in self.tables.items()})


def _without(made: nasty.Made, person: object) -> nasty.Made:
    if made.table.unit is None:
        return made
    return replace(made, rows=[row for row in made.rows if person_of(row[UNIT]) != person])


def person_of(unit: Any) -> object:
    """Who it is, by other rules than the engine's: whatever number or text is written in the same way."""
    if unit is None or unit != unit:  # noqa: PLR0124
        return None
    if isinstance(unit, bool):
        return str(unit).lower()
    if isinstance(unit, float | Decimal) and abs(unit) < 2**53 and unit == int(unit):
        return str(int(unit))
    if isinstance(unit, Decimal):
        return str(unit.normalize()) if unit != int(unit) else str(int(unit))
    if isinstance(unit, dt.datetime | float):
        return type(unit).__name__, unit
    return str(unit)


def random_world(rng: Random, *, plain: bool = False) -> World:
    """With `plain`, of small ranges, so that every end and every group comes up."""
    form, same = rng.choice(list(LINKS)), rng.random() < 0.4
    type_ = rng.choice(list(PERSONS))
    tables = {}
    for name in ("a", "b"):
        count = rng.choice([0, 12, 25, 40])
        if plain:
            made = harm.plain_table(rng, count // 3, with_unit=True)
        else:
            made = nasty.random_table(rng, unit=True, rows=count)
        unit = type_ if same else rng.choice(list(PERSONS))
        people = rng.sample(PERSONS[unit][:4], min(len(PERSONS[unit]), rng.choice([1, 3, 4]))) * 2
        people += rng.sample(PERSONS[unit], min(len(PERSONS[unit]), rng.choice([0, 2, 5])))
        rows = [{**row, UNIT: rng.choice([*people, None])} for row in made.rows]
        tables[name] = _linked(rng, replace(made, types={**made.types, UNIT: unit}, rows=rows), form, name)
    for name in ("p", "q"):
        made = nasty.random_table(rng, unit=False, rows=rng.choice([0, 2, 6]))
        tables[name] = _linked(rng, made, form, name, public=True)
    return World(tables)


def _linked(rng: Random, made: nasty.Made, form: Form, name: str, **more: Any) -> nasty.Made:
    """With a column whose values are found in the other tables."""
    kind, type_, values = rng.choice(LINKS[form])
    table = replace(made.table, name=name, columns={LINK: kind, **made.table.columns}, **more)
    rows = [{**row, LINK: rng.choice(values)} for row in made.rows]
    return nasty.Made(table=table, types={LINK: type_, **made.types}, rows=rows)


class Maker:
    """Random origins over a world, of two or three levels."""

    def __init__(self, rng: Random, world: World) -> None:
        self.rng, self.world, self.named = rng, world, itertools.count()

    def origin(self, depth: int, *, lead: str | None = None) -> Origin:
        """One that is accepted."""
        while True:
            made = self._origin(depth, lead or self.rng.choice("ab"))
            if nasty._accepted(lambda: shapes_of(made, self.world.declared)):  # noqa: B023
                return made

    def _origin(self, depth: int, lead: str) -> Origin:
        if depth == 0:
            return Scan(table=lead)
        left = self.origin(depth - 1, lead=lead)
        match self.rng.randrange(5):
            case 0:
                return self._per_unit(left)
            case 4:
                return self._numbered(left)
            case 1:
                right: Origin = Scan(table=self.rng.choice("pq"))
                return self._joined(left, right, by_unit=False, most=self.rng.choice([None, 1]))
            case _:
                right = self.origin(self.rng.randrange(depth))
                free = isinstance(right, PerUnit) and not right.keys
                return self._joined(left, right, by_unit=True, most=self.rng.choice([None if free else 30, 1, 2]))

    def _joined(self, left: Origin, right: Origin, *, by_unit: bool, most: int | None) -> Joined:
        mine, yours = (shapes_of(side, self.world.declared) for side in (left, right))
        names = self.rng.sample(list(yours), self.rng.randint(0, len(yours)))
        pairs = [(a, b) for a in mine for b in yours if mine[a].form is yours[b].form]
        links = [pair for pair in pairs if LINK in pair[0] and LINK in pair[1]]
        likely = [links] * 5 if links else []
        on = self.rng.choice([*likely, pairs, [] if by_unit else links or pairs])
        chosen = self.rng.sample(on, min(len(on), self.rng.choice([0, 0, 0, 1, 2]) if by_unit else 1))
        return Joined(
            left=left, right=right, by_unit=by_unit, on=tuple(chosen), outer=self.rng.random() < 0.5, most=most,
            names=tuple((name, f"{name} {next(self.named)}") for name in names),
        )  # fmt: skip

    def _per_unit(self, source: Origin) -> PerUnit:
        columns = shapes_of(source, self.world.declared)
        maker = nasty.Maker(self.rng, columns)
        where = maker.make(Form.TRUTH, 1) if self.rng.random() < 0.3 else None
        if where is not None and not nasty._accepted(lambda: narrowed(columns, where)):
            where = None
        keys = [Column(name) for name in self.rng.sample(list(columns), min(len(columns), self.rng.choice([0, 1, 2])))]
        made = [self._aggregate(maker) for _ in range(self.rng.randint(0, 3))]
        return PerUnit(
            source=source,
            where=where,
            keys=tuple(Key(name=f"{key.name} {next(self.named)}", value=key) for key in keys),
            aggregates=tuple(made),
        )

    def _numbered(self, source: Origin) -> Numbered:
        """Often in an order that leaves many rows equal."""
        columns, rng = shapes_of(source, self.world.declared), self.rng
        maker, first = nasty.Maker(rng, columns), rng.choice([1, 1, 1, 2, 3])
        names = list(columns)
        made = [maker.make(maker._form(), rng.choice([0, 0, 1])) for _ in range(rng.randint(0, 2))]
        keys = rng.sample(names, min(len(names), rng.choice([0, 0, 1])))
        return Numbered(
            source=source,
            where=maker.make(Form.TRUTH, 1) if rng.random() < 0.3 else None,
            keys=tuple(Column(name) for name in keys),
            by=tuple(By(value=value, descending=rng.random() < 0.5) for value in made),
            columns=tuple(rng.sample(names, rng.randint(0, len(names)))),
            name=f"number {next(self.named)}",
            first=first,
            last=rng.choice([None, first, first, first + 2]),
        )

    def _aggregate(self, maker: nasty.Maker) -> Aggregate:
        function = self.rng.choice(MADE)
        form = Form.NUMBER if function in (Function.SUM, Function.AVG) else maker._form()
        counted = function in (Function.COUNT, Function.COUNT_DISTINCT) and self.rng.random() < 0.4
        value = None if counted else maker.make(form, self.rng.choice([0, 0, 1, 2]))
        return Aggregate(name=f"{function} {next(self.named)}", function=function, value=value)


class RowMaker(Maker):
    """Joins with public tables that leave each row there once."""

    def _origin(self, depth: int, lead: str) -> Origin:
        if depth == 0:
            return Scan(table=lead)
        left, right = self.origin(depth - 1, lead=lead), Scan(table=self.rng.choice("pq"))
        return self._joined(left, right, by_unit=False, most=1)


def of_rows(world: World) -> World:
    """The same without units: each row is one."""
    return World(
        {
            name: replace(made, table=replace(made.table, unit=None, max_groups=1, max_rows_per_group=1, max_rows=None))
            for name, made in world.tables.items()
        }
    )


def random_plan(rng: Random, world: World, origin: Origin, *, private: bool = True) -> Plan | None:
    """Some origins have no columns to ask about."""
    shapes, lead = shapes_of(origin, world.declared), next(origins.tables_in(origin))
    if not shapes:
        return None
    plan = nasty.random_plan(rng, world.tables[lead].table, ASKED, private=private, declared=shapes)
    return replace(plan, origin=origin)
