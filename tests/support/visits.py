"""Visits of people to cities, and what is asked about them: random and odd tables, tasks, and chosen keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

from privet.backends import Spread, Task, keysql
from privet.backends.reference import Reference
from privet.backends.whole import NARROW
from privet.catalog.vault_file import Source, Table
from privet.core.cells import Cells, Keys, cells_of
from privet.core.expression import Column, Expression
from privet.core.measures import Measure, Role
from privet.core.narrow import narrowed
from privet.core.plan import Key, Plan
from privet.core.ranges import shape_of
from privet.core.schema import Integer, Kind, Text
from privet.core.sensitivity import Bounds
from privet.core.shape import Form, Shapes, shape_of_kind
from privet.core.unit import Neighbors
from privet.errors import RefusedQueryError
from privet.sources import Raw
from support import nasty

Row = dict[str, Any]
RANKED = (Role.QUANTILE, Role.MIN, Role.MAX)
VISITS: dict[str, Kind] = {"city": Text(), "age": Integer(0, 9)}
TYPES = {"who": "VARCHAR", "city": "VARCHAR", "age": "INTEGER"}
CITY, AGE = Column("city"), Column("age")
ALL_ROLES = (
    (Role.COUNT, None),
    (Role.COUNT, AGE),
    (Role.SUM, AGE),
    (Role.PEOPLE, None),
    (Role.DISTINCT, AGE),
    (Role.MIN, AGE),
)
CITIES = ["Ulm", "Bonn", "", None, "é", "N", "3:Ulm", "rest", "\0"]
LONG = "é" * 100_000
ODD_KEYS: list[Any] = [
    None, "", "N", "rest", "1:N", "a", "a\0", "a\0b", "\0", "'", "''; DROP TABLE t; --", '"', "$key0", "?", "é",
    "e\u0301", LONG, LONG + "x", "\U0010ffff", "👩‍👩‍👧", "NULL", "\n",
]  # fmt: skip


def table_of(columns: dict[str, Kind], unit: str | None = "who") -> Table:
    return Table(name="t", source=Source(kind="memory"), unit=unit, columns=columns)


def measure_of(role: Role, value: Expression | None, columns: Shapes) -> Measure:
    if value is None or role in (Role.COUNT, Role.PEOPLE, Role.DISTINCT):
        return Measure(role=role, value=value)
    shape = shape_of(value, columns)
    quantile = Fraction(1, 4) if role is Role.QUANTILE else None
    return Measure(role=role, value=value, low=shape.low, high=shape.high, step=shape.step, quantile=quantile)


def task_of(
    table: Table,
    *asked: tuple[Role, Expression | None],
    keys: Sequence[Expression] = (CITY,),
    where: Expression | None = None,
    bounds: tuple[int, int] = (2, 2),
    secret: bytes = b"secret",
    **cells: Any,
) -> Task:
    """With keys that are not public, unless `public`."""
    declared = {name: shape_of_kind(kind) for name, kind in table.columns.items()}
    passing = narrowed(declared, where)
    named = tuple(Key(name=f"k{place}", value=key) for place, key in enumerate(keys))
    plan = Plan(table=table.name, where=where, keys=named, aggregates=(), outputs=())
    groups, rows = bounds if table.unit is not None else (1, 1)
    return Task(
        table=table,
        plan=plan,
        declared=declared,
        passing=passing,
        cells=cells_of(plan, passing) if cells.pop("public", False) else Cells(domains=(), private=True, **cells),
        measures=tuple(measure_of(role, value, passing) for role, value in asked),
        bounds=Bounds(groups=groups, rows=rows, neighbors=Neighbors.ADD_REMOVE),
        secret=secret,
    )


def plain(vector: Sequence[Any]) -> list[Any]:
    """With spreads as lists that can be compared."""
    return [
        list(zip(one.values.tolist(), one.counts.tolist(), strict=True)) if isinstance(one, Spread) else one
        for one in vector
    ]


def exact(rows: list[Row], task: Task) -> list[list[Any]]:
    return [plain(vector) for vector in Reference({"t": rows}).exact(task)]


def typed(people: dict[Keys, int]) -> set[tuple[Any, ...]]:
    """True is not 1, and a day is not its first moment."""
    return {(*((type(value), value) for value in key), count) for key, count in people.items()}


def people_in_sql(store: nasty.Store, task: Task, raw: Raw) -> dict[Keys, int]:
    query = keysql.people(task, raw)
    return query.counted(store.connection.execute(query.sql).fetchall())


def visits(*rows: tuple[Any, ...]) -> list[Row]:
    return [dict(zip(("who", "city", "age"), row, strict=True)) for row in rows]


def random_visits(rng: Random, count: int = 40) -> list[Row]:
    return visits(*((rng.choice("pqrs"), rng.choice(CITIES), rng.choice([None, *range(10)])) for _ in range(count)))


def random_chosen(rng: Random) -> tuple[Keys, ...]:
    return tuple((city,) for city in rng.sample([*CITIES, "nowhere"], rng.randint(0, 6)))


def neighbors(rng: Random, rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """With and without somebody who is in the worst places."""
    others = [row for row in rows if row["who"] != "p"]
    return [*others, *({**row, "who": "p"} for row in random_visits(rng))], others


def accepted(
    columns: Shapes, make: Callable[[], Expression], fits: Callable[[Any], bool] = lambda _: True
) -> Expression:
    while True:
        found = make()
        try:
            if fits(shape_of(found, columns)):
                return found
        except RefusedQueryError:
            pass


def ranked(shape: Any) -> bool:
    return shape.form is Form.NUMBER and max(abs(shape.low - 1), abs(shape.high)) < NARROW


def random_task(rng: Random, made: nasty.Made) -> Task:
    """Any keys and measures over any table, with public keys where the keys happen to be public and few."""
    declared = {name: shape_of_kind(kind) for name, kind in made.table.columns.items()}
    maker = nasty.Maker(rng, declared)
    where = accepted(declared, lambda: maker.make(Form.TRUTH, 2)) if rng.random() < 0.5 else None
    passing = narrowed(declared, where)
    column = lambda: Column(rng.choice(list(declared)))  # noqa: E731
    any_value = lambda: column() if rng.random() < 0.5 else maker.make(maker._form(), rng.randint(0, 2))  # noqa: E731
    number = lambda: maker.make(Form.NUMBER, rng.randint(0, 2))  # noqa: E731
    keys = [accepted(passing, any_value) for _ in range(rng.choice([1, 1, 2]))]
    asked: list[tuple[Role, Expression | None]] = [(Role.COUNT, None), (Role.PEOPLE, None)]
    asked += [(Role.DISTINCT, accepted(passing, any_value)) for _ in range(rng.randint(1, 2))]
    shared = accepted(passing, number, ranked)
    asked += [(role, shared) for role in RANKED] + [(Role.MAX, accepted(passing, number, ranked)), (Role.SUM, shared)]
    rng.shuffle(asked)
    bounds = (rng.randint(1, 3), rng.randint(1, 3))
    task = task_of(made.table, *asked, keys=keys, where=where, bounds=bounds, secret=rng.randbytes(4))
    try:
        public = cells_of(task.plan, passing)
    except RefusedQueryError:
        return task
    return task if public.count > 50 or rng.random() < 0.5 else replace(task, cells=public)


def some_chosen(rng: Random, task: Task, people: dict[Keys, int]) -> Task:
    """Keys that occur and keys that do not, in any order; sometimes none."""
    if not task.cells.private:
        return task
    found = sorted(people, key=repr)
    odd = [tuple(rng.choice([None, "x", "\ud800", Fraction(1, 7)]) for _ in task.plan.keys) for _ in range(2)]
    mixed = list(dict.fromkeys([*rng.sample(found, rng.randint(0, len(found))), *odd]))
    chosen = tuple(rng.sample(mixed, rng.choice([len(mixed), rng.randint(0, len(mixed))])))
    return replace(task, cells=replace(task.cells, chosen=chosen, rest=rng.random() < 0.6))


def people_with(keys: Sequence[Any], units: Sequence[Any], rng: Random, count: int) -> list[Row]:
    return visits(*((rng.choice(units), rng.choice(keys), rng.choice([None, *range(12)])) for _ in range(count)))


EVERYWHERE = [(who, f"{place}", place % 10) for place in range(40) for who in ("p", f"q{place}")]
BUSY = [("p", f"{n % 3}", n % 11) for n in range(300)]
TABLES: dict[str, list[Row]] = {
    "odd keys": people_with(ODD_KEYS, [None, "a", "b", "c", "d", "e"], Random(1), 150),
    "one person in every group": visits(*EVERYWHERE),
    "one person with many rows": visits(*BUSY, ("q", "1", 4), ("q", "nowhere", 5)),
    "nobody": visits(*[(None, "Ulm", 3)] * 5),
    "all missing": visits(*[("p", None, None)] * 3, ("q", None, None)),
    "empty": [],
    "one row": visits(("p", "Ulm", 3)),
}
