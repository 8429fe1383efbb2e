"""Joins, and rows made for each unit: what is defined, that SQL computes it, and that it looks at one unit only."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pandas as pd
import pytest
from support import nasty
from support.kernel_versions import choose
from support.refusals import raises_code
from support.visits import people_in_sql, plain, some_chosen, typed
from support.worlds import PERSONS, UNIT, Maker, RowMaker, World, of_rows, person_of, random_plan, random_world

import privet as pv
from privet.backends import Task, fused, origins, originsql, rowsql
from privet.backends.content import canonical, identity
from privet.backends.duckdb import DuckDb, portable
from privet.backends.origins import Origins
from privet.backends.reference import Reference
from privet.backends.written import write
from privet.catalog.vault_file import Source, Table
from privet.core import origin as origin_module
from privet.core.cells import cells_of
from privet.core.expression import (
    And,
    Arithmetic,
    Coalesce,
    Column,
    Compare,
    Expression,
    Greatest,
    IsNull,
    Least,
    Literal,
    Not,
    Relation,
    Rounded,
    Rounding,
    Sign,
)
from privet.core.measures import CHOSEN, Role, measures_of
from privet.core.narrow import narrowed
from privet.core.origin import MADE, check_clamped, origin_of, shapes_of, varying_keys
from privet.core.parts import Setting, sensitivity_of
from privet.core.plan import Aggregate, Function, Joined, Key, Origin, PerUnit, Plan, Scan
from privet.core.schema import Integer, Kind, Number, Text
from privet.core.sensitivity import Bounds, Sensitivity
from privet.core.shape import shape_of_kind
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError, RefusedQueryError
from privet.sources import Raw

Row = dict[str, Any]
SEEDS = range(60)  # worlds; comparisons are exact, so which ones does not matter
VERSIONS = ("few", "buckets", "many")


def task_of(
    plan: Plan, world: World, *, secret: bytes = b"secret", neighbors: Neighbors = Neighbors.ADD_REMOVE
) -> Task:
    declared = shapes_of(origin_of(plan), world.declared)
    passing, table = narrowed(declared, plan.where), world.tables[plan.table].table
    names = [name for name in dict.fromkeys(origins.tables_in(origin_of(plan))) if name != plan.table]
    return Task(
        table=table,
        plan=plan,
        declared=declared,
        passing=passing,
        cells=cells_of(plan, passing),
        measures=measures_of(plan, passing)[0],
        bounds=Bounds(
            groups=table.max_groups, rows=table.max_rows_per_group, in_all=table.max_rows, neighbors=neighbors
        ),
        secret=secret,
        beside={name: world.tables[name].table for name in names},
    )


def put(store: nasty.Store, world: World, lead: str) -> Raw:
    raws = {name: store.put(made, f"stored_{name}") for name, made in world.tables.items()}
    return replace(raws.pop(lead), beside=raws)


@pytest.fixture(scope="module")
def store() -> Iterator[nasty.Store]:
    made = nasty.Store()
    yield made
    made.close()


# By hand


def aggregate(name: str, function: Function, value: Expression | None = None) -> Aggregate:
    return Aggregate(name=name, function=function, value=value)


def table_of(name: str, columns: dict[str, Kind], unit: str | None = UNIT, **more: Any) -> Table:
    return Table(name=name, source=Source(kind="memory"), unit=unit, columns=columns, **more)


VISITS = nasty.Made(
    table=table_of("a", {"ward": Text(), "cost": Integer(-9, 9)}),
    types={UNIT: "DOUBLE", "ward": "VARCHAR", "cost": "INTEGER"},
    rows=[
        {UNIT: unit, "ward": ward, "cost": cost}
        for unit, ward, cost in [
            (1.0, "A", 3), (1.0, "B", 4), (2.0, "A", None), (-0.0, None, -2), (float("nan"), "A", 9), (None, "B", 9),
            (0.5, "A", 1),
        ]
    ],
)  # fmt: skip
LABS = nasty.Made(
    table=table_of("b", {"drug": Text(), "dose": Number(0, 9, step="0.5")}),
    types={UNIT: "VARCHAR", "drug": "VARCHAR", "dose": "DOUBLE"},
    rows=[
        {UNIT: unit, "drug": drug, "dose": dose}
        for unit, drug, dose in [("1", "x", 0.5), ("1", "y", 1.0), ("0", "x", 9.0), ("1.0", "x", 1.0), (None, "x", 2.0)]
    ],
)
WARDS = nasty.Made(
    table=table_of("p", {"ward": Text(), "beds": Integer(0, 9)}, None, public=True, key=("ward",)),
    types={"ward": "VARCHAR", "beds": "INTEGER"},
    rows=[{"ward": ward, "beds": beds} for ward, beds in [("A", 7), ("A", 3), ("C", 1), (None, 5)]],
)
HOSPITAL = World({"a": VISITS, "b": LABS, "p": WARDS})
DRUGS = Joined(
    left=Scan(table="a"), right=Scan(table="b"), by_unit=True, most=9, names=(("drug", "drug"), ("dose", "dose"))
)
BEDS = Joined(
    left=Scan(table="a"), right=Scan(table="p"), by_unit=False, on=(("ward", "ward"),), names=(("beds", "beds"),)
)
TOTALS = PerUnit(
    source=Scan(table="a"),
    keys=(),
    aggregates=(
        aggregate("n", Function.COUNT), aggregate("priced", Function.COUNT, Column("cost")),
        aggregate("wards", Function.COUNT_DISTINCT, Column("ward")), aggregate("people", Function.COUNT_DISTINCT),
        aggregate("total", Function.SUM, Column("cost")), aggregate("mean", Function.AVG, Column("cost")),
        aggregate("least", Function.MIN, Column("cost")), aggregate("most", Function.MAX, Column("cost")),
    ),
)  # fmt: skip


def rows_of(origin: Origin, world: World = HOSPITAL, secret: bytes = b"secret") -> list[tuple[object, ...]]:
    """(unit, values in the order of the columns)."""
    lead = next(origins.tables_in(origin))
    task = task_of(Plan(table=lead, origin=origin, aggregates=(), outputs=()), world, secret=secret)
    found = Origins(task, world.rows).rows(origin)
    return [(one.unit, *(one.row[name] for name in task.declared)) for one in found]


def rows_in_sql(
    store: nasty.Store, origin: Origin, world: World = HOSPITAL, secret: bytes = b"secret"
) -> list[tuple[object, ...]]:
    """The same by the engine: the unit and canonical texts."""
    lead = next(origins.tables_in(origin))
    task = task_of(Plan(table=lead, origin=origin, aggregates=(), outputs=()), world, secret=secret)
    layer = originsql.origin_rows(task, put(store, world, lead), list(task.declared))
    listed = ["u" if layer.unit is not None else "NULL"]
    listed += [f"CAST({layer.columns[name].sql} AS VARCHAR)" for name in task.declared]
    return store.connection.execute(f"SELECT {', '.join(listed)} FROM ({layer.sql})").fetchall()


def test_a_join_of_people_by_hand() -> None:
    own = {(1.0, "A", 3, "x", Fraction(1, 2)), (1.0, "A", 3, "y", 1), (1.0, "B", 4, "x", Fraction(1, 2))}
    assert set(rows_of(DRUGS)) == {*own, (1.0, "B", 4, "y", 1), (0.0, None, -2, "x", 9)}
    assert len(rows_of(DRUGS)) == 5
    outer = rows_of(replace(DRUGS, outer=True))
    assert set(outer) - set(rows_of(DRUGS)) == {(2.0, "A", None, None, None), (0.5, "A", 1, None, None)}
    assert len(outer) == len(rows_of(DRUGS)) + 2
    one = rows_of(replace(DRUGS, most=1))
    assert Counter(row[0] for row in one) == {1.0: 2, 0.0: 1}
    assert {row[3] for row in one if row[0] == 1.0} in ({"x"}, {"y"})
    chosen = {rows_of(replace(DRUGS, most=1), secret=bytes([n]))[0][3] for n in range(20)}
    assert chosen == {"x", "y"}  # by the secret
    same = replace(DRUGS, on=(("cost", "dose"),))
    assert rows_of(same) == []
    assert rows_of(replace(same, outer=True))[-1] == (0.5, "A", 1, None, None)


def test_a_join_with_a_public_table_by_hand() -> None:
    both = [(unit, "A", cost, beds) for unit, cost in ((1.0, 3), (2.0, None), (0.5, 1)) for beds in (7, 3)]
    assert rows_of(BEDS) == both
    first = replace(BEDS, most=1)
    assert rows_of(first) == [(1.0, "A", 3, 3), (2.0, "A", None, 3), (0.5, "A", 1, 3)]
    assert rows_of(replace(first, outer=True))[1:4:2] == [(1.0, "B", 4, None), (0.0, None, -2, None)]
    assert len(rows_of(replace(BEDS, on=()))) == 5 * 4
    assert len(rows_of(replace(BEDS, on=(), most=1))) == 5


def test_what_a_unit_adds_up_to_by_hand() -> None:
    assert rows_of(TOTALS) == [
        (1.0, 2, 2, 2, 1, 7, 4, 3, 4), (2.0, 1, 0, 1, 1, None, None, None, None), (0.0, 1, 1, 0, 1, -2, -2, -2, -2),
        (0.5, 1, 1, 1, 1, 1, 1, 1, 1),
    ]  # fmt: skip
    keyed = PerUnit(
        source=Scan(table="a"), keys=(Key(name="w", value=Column("ward")),), aggregates=TOTALS.aggregates[:1]
    )
    assert rows_of(keyed) == [(1.0, "A", 1), (1.0, "B", 1), (2.0, "A", 1), (0.0, None, 1), (0.5, "A", 1)]
    high = replace(TOTALS, where=Compare(Relation.GREATER, Column("cost"), Literal(Fraction(0))))
    assert [row[0] for row in rows_of(high)] == [1.0, 0.5]
    below = replace(TOTALS, where=Compare(Relation.LESS, Column("cost"), Literal(Fraction(0))))
    assert rows_of(below)[0][6] == -2
    halves = replace(HOSPITAL.tables["a"], rows=[{UNIT: 1.0, "ward": "A", "cost": cost} for cost in (-3, -2)])
    assert rows_of(TOTALS, World({"a": halves}))[0][6] == -2  # halves go up
    assert rows_of(PerUnit(source=Scan(table="a"))) == [(1.0,), (2.0,), (0.0,), (0.5,)]


def test_who_has_no_lab_by_hand(store: nasty.Store) -> None:
    """NOT IN and NOT EXISTS."""
    tested = PerUnit(source=Scan(table="b"), aggregates=(aggregate("n", Function.COUNT),))
    joined = Joined(left=Scan(table="a"), right=tested, by_unit=True, names=(("n", "there"),), outer=True)
    for where, number in ((IsNull(Column("there")), 2), (Not(IsNull(Column("there"))), 3)):
        plan = Plan(table="a", origin=joined, where=where, aggregates=(aggregate("x", Function.COUNT),), outputs=())
        task = lifted(task_of(plan, HOSPITAL))
        assert Reference(HOSPITAL.rows).exact(task) == [[number]]
        assert portable(store.connection, task, write(task, put(store, HOSPITAL, "a"), kernel=False)) == [[number]]


@pytest.mark.parametrize("origin", [DRUGS, replace(DRUGS, outer=True, most=1), BEDS, replace(BEDS, most=1), TOTALS])
def test_the_engine_agrees_by_hand(store: nasty.Store, origin: Origin) -> None:
    assert not differ(store, HOSPITAL, origin, b"secret")


# Who is who


def test_a_unit_has_one_name_in_all_tables(store: nasty.Store) -> None:
    every = [(type_, unit) for type_, units in PERSONS.items() for unit in units if unit == unit]  # noqa: PLR0124
    found = 0
    for (_, a), (_, b) in itertools.product(every, repeat=2):
        same = person_of(a) == person_of(b)
        assert (identity(a) == identity(b)) is same, (a, b)
        found += same
    assert found > len(every)
    for one, two in itertools.product(PERSONS, repeat=2):
        pairs = [(a, b) for a, b in itertools.product(PERSONS[one], PERSONS[two]) if a == a and b == b]  # noqa: PLR0124
        made = nasty.Made(table=None, types={"a": one, "b": two}, rows=[{"a": a, "b": b} for a, b in pairs])
        store.put(made)
        sql = originsql.same_unit((one, "a"), (two, "b"))
        answers = store.connection.execute(f"SELECT a, b, coalesce({sql}, FALSE) FROM stored").fetchall()
        assert len(answers) == len(pairs)
        assert all(same == (person_of(a) == person_of(b)) for a, b, same in answers), (one, two)


def test_no_two_units_of_a_column_have_one_name() -> None:
    for units in PERSONS.values():
        there = {unit for unit in units if unit == unit}  # noqa: PLR0124
        assert len({identity(unit) for unit in there}) == len(there)


# Shapes


def test_what_cannot_be_said_of_each_unit_is_refused() -> None:
    declared = HOSPITAL.declared
    with raises_code(RefusedQueryError, "unsupported-function: QUANTILE"):
        shapes_of(replace(TOTALS, aggregates=(aggregate("m", Function.QUANTILE, Column("cost")),)), declared)


def of_totals(function: Function, value: Expression | None) -> Plan:
    return Plan(table="a", origin=TOTALS, aggregates=(aggregate("s", function, value),), outputs=("s",))


@pytest.mark.parametrize("function", [Function.SUM, Function.AVG, Function.VAR_POP, Function.QUANTILE, Function.MAX])
@pytest.mark.parametrize("total", TOTALS.aggregates, ids=lambda total: total.name)
def test_what_is_added_up_without_a_limit_is_refused(function: Function, total: Aggregate) -> None:
    """However the limit of 2**40 rows is moved or divided, it is not one that somebody gave."""
    for value in (
        Column(total.name),
        Greatest((Column(total.name), Literal(Fraction(5)))),
        Rounded(Rounding.DOWN, Arithmetic(Sign.MULTIPLY, Column(total.name), Literal(Fraction(1, 10))), Fraction(1)),
    ):
        if total.function in (Function.COUNT, Function.COUNT_DISTINCT, Function.SUM):
            with raises_code(RefusedQueryError, "unbounded: LEAST("):
                check_clamped(of_totals(function, value), HOSPITAL.declared)
    ends = Least((Greatest((Column(total.name), Literal(Fraction(-5)))), Literal(Fraction(5))))
    check_clamped(of_totals(function, ends), HOSPITAL.declared)


def test_what_has_a_limit_of_its_own_is_not_refused() -> None:
    declared = HOSPITAL.declared
    check_clamped(of_totals(Function.COUNT, None), declared)
    check_clamped(of_totals(Function.COUNT_DISTINCT, Column("total")), declared)
    few = Compare(Relation.LESS, Column("total"), Literal(Fraction(9)))
    many = Compare(Relation.GREATER, Column("total"), Literal(Fraction(-9)))
    bounded = replace(of_totals(Function.AVG, Column("total")), where=And((few, many)))
    check_clamped(bounded, declared)
    with raises_code(RefusedQueryError, "unbounded"):
        check_clamped(replace(bounded, where=few), declared)
    column = Plan(table="a", aggregates=(aggregate("s", Function.SUM, Column("cost")),), outputs=("s",))
    check_clamped(column, declared)  # a column may be as large as it was declared


def test_keys_that_are_constant_need_one_group() -> None:
    """Of the table, of another table of the same units, of rows made for each unit; not of a public table."""
    sex, ward = Text(constant_per_unit=True), Text()
    kinds = {"a": {"sex": sex, "ward": ward}, "b": {"sex": sex, "ward": ward}}
    scan = Scan(table="a")
    joined = Joined(left=scan, right=Scan(table="b"), by_unit=True, names=(("sex", "other"), ("ward", "place")))
    made = PerUnit(source=scan, keys=(Key(name="s", value=Column("sex")), Key(name="w", value=Column("ward"))))

    def one(origin: Origin, *names: str) -> bool:
        keys = tuple(Key(name=name, value=Coalesce((Column(name), Literal("?")))) for name in names)
        return varying_keys(Plan(table="a", origin=origin, keys=keys, aggregates=(), outputs=()), kinds) == []

    assert one(scan, "sex")
    assert not one(scan, "sex", "ward")
    assert one(scan)  # one group of all rows
    assert one(joined, "sex", "other")
    assert not one(joined, "place")
    assert not one(replace(joined, by_unit=False), "other")
    assert one(made, "s")
    assert not one(made, "w")


def out_of_shape(seeds: Sequence[int]) -> Iterator[Origin]:
    for seed in seeds:
        rng = Random(seed)
        world = random_world(rng)
        origin = Maker(rng, world).origin(rng.choice([1, 2, 3]))
        if not in_shape(world, origin, rows_of(origin, world)):
            yield origin


def in_shape(world: World, origin: Origin, rows: Sequence[tuple[Any, ...]]) -> bool:
    shapes = shapes_of(origin, world.declared).values()
    return all(nasty.fits(value, shape) for row in rows for value, shape in zip(row[1:], shapes, strict=True))


def test_every_value_lies_in_its_shape() -> None:
    assert list(out_of_shape(range(200))) == []


@pytest.mark.parametrize(
    "wrong",
    [
        lambda shape: replace(shape, low=max(shape.low, 2)),
        lambda shape: replace(shape, high=shape.high // 2**40),
        lambda shape: replace(shape, low=-(-shape.low // 2**40)),
        lambda shape: replace(shape, null=False),
        lambda shape: replace(shape, step=shape.step * 2),
    ],
)
def test_wrong_shapes_of_sums_are_noticed(monkeypatch: pytest.MonkeyPatch, wrong: Any) -> None:
    right = origin_module._made
    monkeypatch.setattr(origin_module, "_made", lambda *given: wrong(right(*given)))
    assert next(out_of_shape(range(200)), None)


def test_a_forgotten_null_of_an_outer_join_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        origin_module, "replace", lambda shape, **more: shape if "null" in more else replace(shape, **more)
    )
    origin = Joined(left=Scan(table="a"), right=TOTALS, by_unit=True, names=(("n", "n"),), outer=True)
    origin = replace(origin, right=replace(TOTALS, source=Scan(table="b"), aggregates=TOTALS.aggregates[:1]))
    assert not in_shape(HOSPITAL, origin, rows_of(origin))
    monkeypatch.undo()
    assert in_shape(HOSPITAL, origin, rows_of(origin))


# SQL computes what is defined


def differ(store: nasty.Store, world: World, origin: Origin, secret: bytes) -> bool:
    """Whether the engine makes other rows than the reference, or one lies out of its shape."""
    shapes = list(shapes_of(origin, world.declared).values())
    right = rows_of(origin, world, secret)
    if not in_shape(world, origin, right):
        return True
    texts = Counter(
        (person_of(unit), *(canonical(value, shape) for value, shape in zip(values, shapes, strict=True)))
        for unit, *values in right
    )
    try:
        found = rows_in_sql(store, origin, world, secret)
    except duckdb.Error:
        return True
    return Counter((person_of(unit), *values) for unit, *values in found) != texts


def wrong_origins(store: nasty.Store, seeds: Sequence[int], seen: Counter[str] | None = None) -> Iterator[Origin]:
    for seed in seeds:
        rng = Random(seed)
        world = random_world(rng)
        for depth in (1, 2, 3):
            origin, secret = Maker(rng, world).origin(depth), rng.randbytes(8)
            try:
                wrong = differ(store, world, origin, secret)
            except RefusedQueryError:  # by declarations alone: see below
                continue
            if seen is not None:
                seen.update(nasty.nodes_in(origin))
                seen["rows"] += len(rows_of(origin, world, secret))
            if wrong:
                yield origin


def test_random_origins_have_the_same_rows(store: nasty.Store) -> None:
    seen: Counter[str] = Counter()
    assert list(wrong_origins(store, SEEDS, seen)) == []
    assert min(seen[name] for name in ("Joined", "PerUnit", "Scan")) > 50
    assert seen["rows"] > 2000


def lifted(task: Task) -> Task:
    return replace(task, bounds=replace(task.bounds, groups=10**6, rows=10**6, in_all=None))


def random_tasks(seeds: Sequence[int]) -> Iterator[tuple[Random, World, Task]]:
    for seed in seeds:
        rng = Random(seed)
        world = random_world(rng)
        for _ in range(2):
            plan = random_plan(rng, world, Maker(rng, world).origin(rng.choice([1, 2])))
            if plan is not None:
                yield rng, world, task_of(plan, world, secret=rng.randbytes(8))


def exact(world: World, task: Task) -> list[list[Any]]:
    return [plain(vector) for vector in Reference(world.rows).exact(task)]


def in_sql(store: nasty.Store, task: Task, raw: Raw) -> list[list[Any]]:
    return [plain(vector) for vector in portable(store.connection, task, write(task, raw, kernel=False))]


def fetched(store: nasty.Store, task: Task, raw: Raw) -> list[list[Any]] | None:
    asked = rowsql.rows(task, raw)
    return None if asked is None else [plain(vector) for vector in fused.exact(store.connection, task, asked)]


def wrong_answers(store: nasty.Store, seeds: Sequence[int]) -> Iterator[str]:
    """What is not as defined: by SQL always, by the kernel where no bound binds."""
    for rng, world, given in random_tasks(seeds):
        task, raw, right = given, put(store, world, given.table.name), Reference(world.rows)
        try:
            DuckDb(Path(), {}, portable=True).write(task)
        except RefusedQueryError:
            continue
        try:
            people = right.people(task) if task.cells.private else {}
            if task.cells.private and typed(people_in_sql(store, task, raw)) != typed(people):
                yield "people"
            if task.cells.private and typed(
                fused.people(store.connection, lifted(task), rowsql.observed(lifted(task), raw))
            ) != typed(right.people(lifted(task))):
                yield "people by the kernel"
            task = some_chosen(rng, task, people)
            if in_sql(store, task, raw) != exact(world, task):
                yield f"portable {task.plan}"
            if fetched(store, lifted(task), raw) not in (None, exact(world, lifted(task))):
                yield f"kernel {task.plan}"
        except (duckdb.Error, AssertionError) as error:
            yield f"{error} {task.plan}"


@pytest.mark.counted
def test_random_questions_give_the_same_integers(store: nasty.Store) -> None:
    assert list(wrong_answers(store, SEEDS)) == []


def test_the_versions_of_the_kernel_keep_the_same(store: nasty.Store) -> None:
    compared = 0
    for rng, world, given in random_tasks(range(15)):
        raw = put(store, world, given.table.name)
        task = some_chosen(rng, given, Reference(world.rows).people(given) if given.cells.private else {})
        if not nasty._accepted(lambda: DuckDb(Path(), {}, portable=True).write(task)):  # noqa: B023
            continue
        answers = []
        for version in VERSIONS:
            with pytest.MonkeyPatch.context() as patch:
                choose(patch, version)
                answers.append(fetched(store, task, raw))
        assert answers[0] == answers[1] == answers[2]
        compared += 1
    assert compared > 10


def test_only_declarations_decide_what_is_refused(store: nasty.Store) -> None:
    """What can be written without data can be written with any, so nothing fails after the charge."""
    refused = 0
    for _, world, task in random_tasks(range(200, 240)):
        raw = put(store, world, task.table.name)
        try:
            DuckDb(Path(), {}, portable=True).write(task)
        except RefusedQueryError:
            refused += 1
            with pytest.raises(RefusedQueryError):
                _ = (rowsql.rows(task, raw), portable(store.connection, task, write(task, raw, kernel=False)))
        else:
            rowsql.rows(task, raw)
    assert refused < 10


# One unit at a time


def of_others(rows: Sequence[tuple[object, ...]], person: object) -> Counter[object]:
    return Counter((person_of(unit), *values) for unit, *values in rows if person_of(unit) != person)


def mixed_units(store: nasty.Store | None, seeds: Sequence[int]) -> Iterator[Origin]:
    """Origins in which a person's rows change those of others; of the engine, or of the reference."""
    for seed in seeds:
        rng = Random(seed)
        world = random_world(rng)
        origin = Maker(rng, world).origin(rng.choice([1, 2, 3]))
        units = [row[UNIT] for made in world.tables.values() if made.table.unit for row in made.rows]
        people = sorted({person_of(unit) for unit in units} - {None}, key=repr)
        secret = rng.randbytes(4)
        for person in rng.sample(people, min(len(people), 3)):
            less = world.without(person)
            if store is None:
                found = [rows_of(origin, one, secret) for one in (world, less)]
            else:
                try:
                    found = [rows_in_sql(store, origin, one, secret) for one in (world, less)]
                except RefusedQueryError:
                    continue
            with_person, without = (of_others(rows, person) for rows in found)
            if with_person != without or any(person_of(row[0]) == person for row in found[1]):
                yield origin


@pytest.mark.proof
def test_a_unit_changes_its_own_rows_only() -> None:
    assert list(mixed_units(None, range(150))) == []


@pytest.mark.proof
def test_a_unit_changes_its_own_rows_only_in_the_engine(store: nasty.Store) -> None:
    assert list(mixed_units(store, range(40))) == []


Answers = Callable[[World, Task], list[list[Any]]]


def one_unit_moves(world: World, less: World, task: Task, answers: Answers = exact) -> bool:
    """Whether two worlds that differ in one unit are further apart than the noise is made for."""
    setting = Setting(cells=task.cells.count, bounds=task.bounds)
    for measure, a, b in zip(task.measures, answers(world, task), answers(less, task), strict=True):
        if measure.role in CHOSEN:  # what is chosen by ranks moves with the rows
            counts = replace(measure, role=Role.COUNT, value=None, low=0, high=1)
            moved = [
                (Counter(dict(x)) - Counter(dict(y)), Counter(dict(y)) - Counter(dict(x)))
                for x, y in zip(a, b, strict=True)
            ]
            if any(far([side[way].total() for side in moved], sensitivity_of(counts, setting)) for way in (0, 1)):
                return True
        elif far([abs(x - y) for x, y in zip(a, b, strict=True)], sensitivity_of(measure, setting)):
            return True
    return False


def far(moved: Sequence[int], most: Sensitivity) -> bool:
    squares, touched = sum(move * move for move in moved), sum(move > 0 for move in moved)
    return (
        sum(moved) > most.l1 or squares > most.l2_squared or max(moved, default=0) > most.linf or touched > most.touched
    )


def too_far(seeds: Sequence[int], answers: Answers = exact) -> Iterator[Plan]:
    for seed in seeds:
        rng = Random(seed)
        world = random_world(rng)
        plan = random_plan(rng, world, Maker(rng, world).origin(2), private=False)
        if plan is None or not world.tables[plan.table].rows:
            continue
        task = task_of(plan, world, secret=rng.randbytes(4))
        if not nasty._accepted(lambda: DuckDb(Path(), {}, portable=True).write(task)):  # noqa: B023
            continue
        who = person_of(rng.choice(world.tables[plan.table].rows)[UNIT])
        less, crowd = world.without(who), one_person(world, who)
        other = World({name: with_rows(less, crowd, name) for name in world.tables})
        swapped = replace(task, bounds=replace(task.bounds, neighbors=Neighbors.REPLACE))
        pairs = ((world, less, task), (other, less, task), (world, other, swapped))
        if any(one_unit_moves(*pair, answers) for pair in pairs):
            yield plan


def one_person(world: World, who: object) -> dict[str, list[Row]]:
    """Everybody's rows in one hand."""
    units = {
        name: next((row[UNIT] for row in made.rows if person_of(row[UNIT]) == who), None)
        for name, made in world.tables.items()
        if made.table.unit
    }
    return {name: [row | {UNIT: unit} for row in world.tables[name].rows] for name, unit in units.items()}


def with_rows(world: World, more: dict[str, list[Row]], name: str) -> nasty.Made:
    return replace(world.tables[name], rows=[*world.tables[name].rows, *more.get(name, ())])


@pytest.mark.proof
def test_answers_move_within_their_reach() -> None:
    assert list(too_far(range(150))) == []


@pytest.mark.proof
def test_answers_of_the_engine_move_within_their_reach(store: nasty.Store) -> None:
    def answers(world: World, task: Task) -> list[list[Any]]:
        raw = put(store, world, task.table.name)
        return fetched(store, task, raw) or in_sql(store, task, raw)

    assert list(too_far(range(30), answers)) == []


# Row units beside public tables


def test_each_row_is_there_once(store: nasty.Store) -> None:
    for seed in range(40):
        rng = Random(seed)
        world = of_rows(random_world(rng))
        origin = RowMaker(rng, world).origin(rng.choice([1, 2]))
        lead = world.tables[next(origins.tables_in(origin))]
        plan = random_plan(rng, world, origin, private=False)
        assert plan is not None
        task = task_of(plan, world)
        places = [row[0] for row in rows_of(origin, world)]
        assert len(set(places)) == len(places) <= len(lead.rows)
        if not nasty._accepted(lambda: DuckDb(Path(), {}, portable=True).write(task)):  # noqa: B023
            continue
        assert in_sql(store, task, put(store, world, plan.table)) == exact(world, task), seed
        assert len(rows_in_sql(store, origin, world)) == len(places)
        if lead.rows:
            less = World({**world.tables, lead.table.name: replace(lead, rows=lead.rows[1:])})
            assert not one_unit_moves(world, less, task)


ROWS = of_rows(HOSPITAL)
DOSES, KEYED = PerUnit(source=Scan(table="b")), (Key(name="k", value=Column("drug")),)
WARD = (Key(name="ward", value=Column("ward")),)


@pytest.mark.parametrize(
    ("world", "origin", "problem"),
    [
        (HOSPITAL, Scan(table="p"), "private-table-needed"),
        (HOSPITAL, replace(DRUGS, left=Scan(table="p")), "private-table-needed"),
        (HOSPITAL, replace(DRUGS, by_unit=False, on=(("ward", "drug"),)), "not-per-unit"),
        (HOSPITAL, replace(DRUGS, most=None), "unbounded-join: limit"),
        (HOSPITAL, replace(DRUGS, right=replace(DOSES, keys=KEYED), names=(), most=None), "unbounded-join: limit"),
        (HOSPITAL, replace(BEDS, right=BEDS), "not-per-unit"),
        (HOSPITAL, replace(DRUGS, right=Scan(table="p"), names=()), "private-table-needed"),
        (HOSPITAL, replace(DRUGS, right=PerUnit(source=Scan(table="p")), names=()), "private-table-needed"),
        (HOSPITAL, replace(BEDS, left=replace(BEDS, names=(("beds", "more"),))), "unbounded-join: public"),
        (HOSPITAL, replace(BEDS, left=PerUnit(source=BEDS, keys=WARD)), "unbounded-join: public"),
        (HOSPITAL, replace(DRUGS, left=replace(DRUGS, most=1112)), "too-many: 10,000"),
        (HOSPITAL, replace(DRUGS, right=replace(DRUGS, most=10_001)), "too-many: 10,000"),
        (ROWS, DRUGS, "rows-are-units: joined"),
        (ROWS, BEDS, "rows-are-units: key"),
        (ROWS, replace(BEDS, most=2), "rows-are-units: key"),
        (ROWS, replace(BEDS, left=BEDS, most=1), "rows-are-units: key"),
        (ROWS, TOTALS, "rows-are-units|wrong-arguments: add"),
    ],
)
def test_rows_that_belong_to_several_units_are_refused(world: World, origin: Origin, problem: str) -> None:
    count = aggregate("n", Function.COUNT)
    task = task_of(Plan(table=next(origins.tables_in(origin)), origin=origin, aggregates=(count,), outputs=()), world)
    for ask in (DuckDb(Path(), {}, portable=True).write, Reference(world.rows).exact):
        with raises_code(RefusedQueryError, problem):
            ask(task)


def test_joins_that_multiply_rows_once_are_answered(store: nasty.Store) -> None:
    """By a public table after one that leaves rows as they are, or after what is added up; by people's to a limit."""
    named, added = replace(BEDS, names=(("beds", "more"),)), PerUnit(source=BEDS, aggregates=TOTALS.aggregates[:1])
    for origin in (
        replace(named, left=replace(BEDS, most=1)), replace(BEDS, left=named, most=1),
        replace(BEDS, left=added, on=(("n", "beds"),)), replace(DRUGS, left=replace(DRUGS, most=1111)),
    ):  # fmt: skip
        assert not differ(store, HOSPITAL, origin, b"")


@pytest.mark.parametrize("most", [0, -1, "1 OR TRUE", 2**41])
def test_a_limit_is_a_number(most: Any) -> None:
    plan = Plan(table="a", origin=replace(DRUGS, most=most), aggregates=(aggregate("n", Function.COUNT),), outputs=())
    with raises_code(InvalidInputError, "limit-too-high|not-whole|too-small: most"):
        DuckDb(Path(), {}, portable=True).write(task_of(plan, HOSPITAL))


@pytest.mark.parametrize("function", [Function.SUM, Function.AVG, Function.MIN, Function.MAX])
def test_only_counts_need_nothing_to_add_up(function: Function) -> None:
    declared = {"a": {"x": shape_of_kind(Integer(0, 1))}}
    with raises_code(RefusedQueryError, "rows-are-units|wrong-arguments: add"):
        shapes_of(PerUnit(source=Scan(table="a"), aggregates=(aggregate("s", function),)), declared)


def test_a_plan_that_begins_with_another_table_is_refused(tmp_path: Path) -> None:
    """What is one unit, and how much of it counts, is said by the plan's table: these would be another table's rows."""
    with pv.create(tmp_path / "vault", budget=pv.Budget(1)) as vault:
        for name in ("a", "b"):
            vault.add_table(name, {UNIT: [1], "x": [1]}, unit=UNIT, columns={"x": Integer(0, 1)})
        join = Joined(left=Scan(table="b"), right=Scan(table="a"), by_unit=True, names=(), most=1)
        for origin in (Scan(table="b"), PerUnit(source=Scan(table="b")), join):
            plan = Plan(table="a", origin=origin, aggregates=(aggregate("n", Function.COUNT),), outputs=("n",))
            with raises_code(RefusedQueryError, "contradiction"):
                vault.ask(plan, "", epsilon=1)
        vault.ask(replace(plan, table="b"), "", epsilon=1)
        mixed = replace(plan, table="b", origin=replace(join, by_unit=False))
        with raises_code(RefusedQueryError, "not-per-unit"):  # and before there is a price
            vault.ask(mixed, "", epsilon=1)


# Planted bugs: each must be noticed


def test_a_join_that_ignores_units_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(originsql, "same_unit", lambda *_: "TRUE")
        assert next(wrong_origins(store, SEEDS), None)
        assert next(mixed_units(store, SEEDS), None)
    monkeypatch.setattr(origins, "identity", lambda _: None)
    assert next(mixed_units(None, SEEDS), None)


def test_units_that_are_matched_loosely_are_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """ " 1" and "1" are two people: were both found by 1, that one would change them both."""

    def loose(left: tuple[str, str], right: tuple[str, str]) -> str:
        return f"trim(CAST({left[1]} AS VARCHAR)) = trim(CAST({right[1]} AS VARCHAR))"

    monkeypatch.setattr(originsql, "same_unit", loose)
    assert next(wrong_origins(store, SEEDS), None)


def changed(monkeypatch: pytest.MonkeyPatch, place: str, **change: Any) -> None:
    """Let the engine work on another join than it was given."""
    right = getattr(originsql._Layers, place)
    monkeypatch.setattr(
        originsql._Layers, place, lambda self, origin, names: right(self, replace(origin, **change), names)
    )


def test_a_forgotten_limit_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, "_chosen", most=10**6)
    assert next(wrong_origins(store, SEEDS), None)


def test_a_forgotten_outer_join_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, "_joined", outer=False)
    assert next(wrong_origins(store, SEEDS), None)


def test_sums_over_several_units_are_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    right = originsql._Layers._per_unit

    def leaking(self: Any, origin: PerUnit, names: Sequence[str]) -> originsql.Layer:
        layer = right(self, origin, names)
        once = r"(?<!max\()\b(count|min|max|sum)(\([v*]\w*\)) AS a"
        return replace(layer, sql=re.sub(once, r"max(\1\2) OVER () AS a", layer.sql))

    with monkeypatch.context() as patch:
        patch.setattr(originsql._Layers, "_per_unit", leaking)
        assert next(wrong_origins(store, SEEDS), None)
        assert next(mixed_units(store, SEEDS), None)
    mine = Origins._per_unit

    def leaking_too(self: Origins, origin: PerUnit) -> Iterator[origins.Owned]:
        rows = list(mine(self, origin))
        yield from (replace(one, row=rows[0].row) for one in rows)

    monkeypatch.setattr(Origins, "_per_unit", leaking_too)
    assert next(mixed_units(None, range(150)), None)


def test_a_limit_over_all_units_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Origins._chosen
    monkeypatch.setattr(Origins, "_chosen", lambda self, origin: right(self, origin)[: origin.most])
    assert next(mixed_units(None, range(150)), None)


def test_a_row_that_is_there_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(table="a", origin=replace(BEDS, most=1), aggregates=(aggregate("n", Function.COUNT),), outputs=())
    less = World({**ROWS.tables, "a": replace(VISITS, table=ROWS.tables["a"].table, rows=VISITS.rows[1:])})
    task = task_of(plan, ROWS)
    assert not one_unit_moves(ROWS, less, task)
    right = Origins._joined
    monkeypatch.setattr(Origins, "_joined", lambda self, origin: right(self, replace(origin, most=None)))
    assert one_unit_moves(ROWS, less, task)


def test_bounding_that_is_forgotten_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privet.backends.reference.bounded", lambda _, rows: rows)
    assert next(too_far(range(150)), None)


# The engine itself


def frame_of(made: nasty.Made) -> pd.DataFrame:
    return pd.DataFrame({name: [row[name] for row in made.rows] for name in made.types})


def counted(origin: Origin, world: World = HOSPITAL, **limits: int) -> Task:
    plan = Plan(
        table=next(origins.tables_in(origin)),
        origin=origin,
        keys=(),
        aggregates=(aggregate("n", Function.COUNT), aggregate("people", Function.COUNT_DISTINCT)),
        outputs=(),
    )
    task = task_of(plan, world)
    return replace(task, bounds=replace(task.bounds, groups=9, rows=9, **limits))


@pytest.mark.parametrize("by_sql", [True, False])
def test_tables_are_asked_together(tmp_path: Path, by_sql: bool) -> None:
    memory: dict[str, object] = {name: frame_of(made) for name, made in HOSPITAL.tables.items()}
    memory["a"].to_parquet(tmp_path / "a.parquet")  # type: ignore[attr-defined]
    with duckdb.connect(str(tmp_path / "all.duckdb")) as file:
        for name in "bp":
            file.register("frame", memory[name])
            file.execute(f"CREATE TABLE {name} AS FROM frame")
    kept = {
        "a": Source(kind="parquet", path="a.parquet"),
        "b": Source(kind="duckdb", path="all.duckdb", table="b"),
        "p": Source(kind="duckdb", path="all.duckdb", table="p"),
    }
    files = World(
        {name: replace(made, table=replace(made.table, source=kept[name])) for name, made in HOSPITAL.tables.items()}
    )
    every = replace(BEDS, left=DRUGS)
    with DuckDb(tmp_path, memory, portable=by_sql) as engine:
        for world, origin in itertools.product(
            (HOSPITAL, files), (DRUGS, BEDS, every, TOTALS, replace(DRUGS, right=Scan(table="a"), names=()))
        ):
            task = counted(origin, world)
            assert engine.exact(task) == Reference(HOSPITAL.rows).exact(task), origin
            assert engine.habits(task) == Reference(HOSPITAL.rows).habits(task)
        assert set(engine._attached) == {"a", "a\nb", "a\np", "a\nb\np"}
        secret = replace(counted(every), cells=replace(counted(every).cells, private=True))
        secret = replace(secret, plan=replace(secret.plan, keys=(Key(name="k", value=Column("drug")),)))
        assert engine.people(secret) == Reference(HOSPITAL.rows).people(secret)


def test_tables_are_opened_anew_when_one_changes() -> None:
    memory: dict[str, object] = {name: frame_of(made) for name, made in HOSPITAL.tables.items()}
    task = counted(DRUGS)
    with DuckDb(Path(), memory) as engine:
        assert engine.exact(task) == [[5], [2]]
        first = engine._attached["a\nb"]
        assert engine.exact(task) == [[5], [2]]
        assert engine._attached["a\nb"] is first
        memory["b"] = frame_of(LABS)[:1]
        assert engine.exact(task) == [[2], [1]]
        newer = replace(task, beside={"b": replace(LABS.table, version=2)})
        assert engine.exact(newer) == [[2], [1]]
        assert [table.version for table in engine._attached["a\nb"].tables] == [1, 2]
        second = engine._attached["a\nb"]
        with pytest.raises(duckdb.Error), engine._asked_of(newer, None) as (_, cursor):
            cursor.execute("SELECT error('SECRET')").fetchall()
        assert engine._attached == {}
        assert engine.exact(newer) == [[2], [1]]
        assert engine._attached["a\nb"] is not second
        with pytest.raises(duckdb.Error), engine._asked_of(newer, None) as (_, cursor):
            cursor.execute("SELECT * FROM read_csv('/etc/hostname')").fetchall()  # it is locked


def test_what_is_missing_leaves_nothing_open() -> None:
    with DuckDb(Path(), {"a": frame_of(VISITS)}) as engine:
        with raises_code(InvalidInputError, "not-attached: 'b'"):
            engine.exact(counted(DRUGS))
        assert engine._attached == {}


def test_a_public_table_is_checked_like_any_other(tmp_path: Path) -> None:
    with DuckDb(tmp_path, {"p": frame_of(WARDS)}) as engine:
        engine.check(WARDS.table)
    (tmp_path / "p.csv").write_bytes(b"ward,beds\nA,1\n")
    table = replace(WARDS.table, source=Source(kind="csv", path="p.csv"))
    with DuckDb(tmp_path, {}) as engine:
        engine.check(table)


def test_a_public_table_that_cannot_be_read_names_its_column(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(table: Table, _: Raw) -> list[tuple[str, str]]:
        return [("beds", "SELECT error('SECRET')")] if "beds" in table.columns else []

    monkeypatch.setattr("privet.backends.duckdb.counts", failing)
    with DuckDb(Path(), {"p": frame_of(WARDS)}) as engine, raises_code(InvalidInputError, "unreadable-value: 'beds'"):
        engine.check(WARDS.table)


# No row makes a statement fail


def test_sums_and_averages_at_the_ends_of_their_types(store: nasty.Store) -> None:
    most = 10**38 // 2**40 // 2**41
    kinds: list[Kind] = [
        Integer(-most, most),
        Integer(most - 5, most),
        Number(0, 1, step=Fraction(1, most)),
        Integer(-5, -5),
    ]
    for kind, function in itertools.product(kinds, (Function.SUM, Function.AVG, Function.MIN, Function.MAX)):
        low, high = (int(end) for end in (kind.low, kind.high))  # type: ignore[attr-defined]
        for values in ([high] * 3, [low] * 5, [low, high], [low, high, high], [None], [None, low], []):
            rows = [{UNIT: 1, "x": value} for value in values]
            made = nasty.Made(table=table_of("a", {"x": kind}), types={UNIT: "BIGINT", "x": "HUGEINT"}, rows=rows)
            origin = PerUnit(source=Scan(table="a"), aggregates=(aggregate("s", function, Column("x")),))
            assert not differ(store, World({"a": made}), origin, b"")


def test_an_average_that_could_be_too_long_is_refused() -> None:
    table = table_of("a", {"x": Integer(-8 * 10**25, 8 * 10**25)})
    origin = PerUnit(source=Scan(table="a"), aggregates=(aggregate("s", Function.AVG, Column("x")),))
    least = Compare(Relation.GREATER, Column("s"), Literal(Fraction(0)))
    plan = Plan(table="a", origin=origin, where=least, aggregates=(aggregate("n", Function.COUNT),), outputs=())
    task = task_of(plan, World({"a": nasty.Made(table=table, types={}, rows=[])}))
    with raises_code(RefusedQueryError, "too-fine: digits"):
        DuckDb(Path(), {}, portable=True).write(task)


def test_a_key_that_is_nothing_matches_nothing(store: nasty.Store) -> None:
    nothing = PerUnit(
        source=Scan(table="a"),
        keys=(Key(name="k", value=Literal(None)),),
        aggregates=tuple(aggregate(function, function, Literal(None)) for function in MADE),
    )
    for outer in (False, True):
        joined = Joined(
            left=nothing, right=nothing, by_unit=True, on=(("k", "k"),), names=(("SUM", "s"),), outer=outer, most=1
        )
        assert not differ(store, HOSPITAL, joined, b"")
        assert len(rows_of(joined)) == (4 if outer else 0)


def test_half_a_surrogate_pair_is_a_text_like_any_other(store: nasty.Store) -> None:
    odd = PerUnit(source=Scan(table="a"), keys=(Key(name="k", value=Literal("\ud800")),))
    joined = Joined(left=DRUGS, right=odd, by_unit=True, names=(("k", "k"),), most=1)
    where = Compare(Relation.EQUAL, Column("k"), Literal("\ud800"))
    plan = Plan(table="a", origin=joined, where=where, aggregates=(aggregate("n", Function.COUNT),), outputs=())
    task = task_of(plan, HOSPITAL)
    assert in_sql(store, task, put(store, HOSPITAL, "a")) == exact(HOSPITAL, task)
    assert exact(HOSPITAL, lifted(task)) == [[5]]
