"""Rows of each unit in an order: what is defined, that it is a function of the unit's rows alone, that SQL agrees."""

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

import pytest
from support import nasty
from support.refusals import raises_code
from support.worlds import UNIT, World, of_rows

import privet as pv
from privet.backends import Task, origins, originsql
from privet.backends.content import canonical
from privet.backends.duckdb import DuckDb
from privet.backends.origins import Origins
from privet.backends.reference import Reference
from privet.catalog.vault_file import Source, Table
from privet.core.cells import cells_of
from privet.core.expression import Arithmetic, Column, Compare, Expression, Literal, Relation, Sign
from privet.core.measures import measures_of
from privet.core.narrow import narrowed
from privet.core.origin import MOST_ROWS, check_clamped, rows_of_a_unit, shapes_of, varying_keys
from privet.core.plan import Aggregate, By, Function, Joined, Key, Numbered, Origin, PerUnit, Plan, Scan
from privet.core.schema import Boolean, Category, Integer, Text
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError, RefusedQueryError
from privet.sources import Raw

Row = dict[str, Any]
COLUMNS = {"day": Integer(0, 3), "cost": Integer(-9, 99), "ward": Text(), "late": Boolean()}
TYPES = {UNIT: "VARCHAR", "day": "INTEGER", "cost": "INTEGER", "ward": "VARCHAR", "late": "BOOLEAN"}
DAY, COST = By(value=Column("day")), By(value=Column("cost"))
LATEST = By(value=Column("day"), descending=True)
N = Column("n")


def table_of(rows: Sequence[Row], unit: str | None = UNIT) -> nasty.Made:
    table = Table(name="a", source=Source(kind="memory"), unit=unit, columns=COLUMNS)
    return nasty.Made(table=table, types=TYPES, rows=list(rows))


def row(unit: object, day: int | None, cost: int | None = 0, ward: str | None = "A", late: bool | None = True) -> Row:
    return {UNIT: unit, "day": day, "cost": cost, "ward": ward, "late": late}


def numbered(*by: By, source: Origin | None = None, **more: Any) -> Numbered:
    given: dict[str, Any] = {"columns": tuple(COLUMNS), "name": "n", **more}
    return Numbered(source=source or Scan(table="a"), by=by, **given)


def only(number: int, *by: By, **more: Any) -> Numbered:
    return numbered(*by, first=number, last=number, **more)


def task_of(origin: Origin, made: nasty.Made, where: Expression | None = None, *given: Aggregate) -> Task:
    plan = Plan(table="a", origin=origin, where=where, aggregates=given, outputs=())
    declared = shapes_of(origin, origins.declared_in({"a": made.table}))
    passing = narrowed(declared, where)
    return Task(
        table=made.table, plan=plan, declared=declared, passing=passing, cells=cells_of(plan, passing),
        measures=measures_of(plan, passing)[0],
        bounds=Bounds(groups=1, rows=9, neighbors=Neighbors.ADD_REMOVE), secret=b"secret",
    )  # fmt: skip


def defined(origin: Origin, rows: Sequence[Row], where: Expression | None = None) -> Counter[tuple[Any, ...]]:
    """Every row with its unit, as often as it is there: by the reference."""
    made = table_of(rows)
    task = task_of(origin, made, where)
    found = Origins(task, {"a": made.rows}).rows(origin)
    shapes = list(task.declared.items())
    return Counter((one.unit, *(canonical(one.row[name], shape) for name, shape in shapes)) for one in found)


def in_sql(store: nasty.Store, origin: Origin, rows: Sequence[Row]) -> Counter[tuple[Any, ...]]:
    made = table_of(rows)
    task, raw = task_of(origin, made), Raw(relation="stored_a", types=TYPES)
    store.put(made, "stored_a")
    layer = originsql.origin_rows(task, raw, list(task.declared))
    listed = ["u", *(f"CAST({layer.columns[name].sql} AS VARCHAR)" for name in task.declared)]
    return Counter(store.connection.execute(f"SELECT {', '.join(listed)} FROM ({layer.sql})").fetchall())


@pytest.fixture(scope="module")
def store() -> Iterator[nasty.Store]:
    made = nasty.Store()
    yield made
    made.close()


def test_rows_are_numbered_by_hand(store: nasty.Store) -> None:
    """A missing day comes last in both directions, and the text of the row decides what the order leaves open."""
    rows = [row("p", 2, 5), row("p", None, 1), row("p", 1, 7, "B"), row("p", 1, 7, "A"), row("q", 3, None)]

    def numbers(origin: Origin) -> list[tuple[Any, ...]]:
        found = defined(origin, rows)
        assert in_sql(store, origin, rows) == found
        return sorted((unit, int(n), day, cost, ward) for unit, day, cost, ward, _, n in found)

    assert numbers(numbered(DAY)) == [
        ("p", 1, "1", "7", "A"), ("p", 2, "1", "7", "B"), ("p", 3, "2", "5", "A"), ("p", 4, None, "1", "A"),
        ("q", 1, "3", None, "A"),
    ]  # fmt: skip
    assert numbers(numbered(LATEST)) == [
        ("p", 1, "2", "5", "A"), ("p", 2, "1", "7", "B"), ("p", 3, "1", "7", "A"), ("p", 4, None, "1", "A"),
        ("q", 1, "3", None, "A"),
    ]  # fmt: skip
    assert numbers(only(2, COST, DAY)) == [("p", 2, "2", "5", "A")]
    assert numbers(numbered(LATEST, keys=(Column("ward"),), last=1)) == [
        ("p", 1, "1", "7", "B"), ("p", 1, "2", "5", "A"), ("q", 1, "3", None, "A"),
    ]  # fmt: skip
    late = Compare(Relation.GREATER, Column("day"), Literal(Fraction(1)))
    assert numbers(only(1, DAY, where=late)) == [("p", 1, "2", "5", "A"), ("q", 1, "3", None, "A")]
    assert [n for _, n, *_ in numbers(numbered(first=2, last=3))] == [2, 3]


# What a row's number is follows from its unit's rows alone


POOL = [row("p", day, cost) for day, cost in ((1, 1), (1, 2), (None, 1), (2, 1))]
ORDERS = [numbered(DAY), numbered(LATEST), only(1, DAY), only(2, LATEST), numbered(), numbered(DAY, columns=("day",))]


def by_position(orders: Sequence[Origin] = ORDERS) -> Iterator[tuple[Origin, Any]]:
    """Every set of up to four rows in every order: what comes out in two ways."""
    for origin, size in itertools.product(orders, range(5)):
        for chosen in itertools.combinations_with_replacement(range(len(POOL)), size):
            found = {
                tuple(sorted(defined(origin, [POOL[place] for place in order]).items(), key=repr))
                for order in set(itertools.permutations(chosen))
            }
            if len(found) > 1:
                yield origin, chosen


def test_the_order_in_which_rows_are_stored_does_not_matter() -> None:
    assert list(by_position()) == []


@pytest.mark.proof
def test_ties_that_are_broken_by_position_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origins, "items", lambda *_: "")
    assert next(by_position(), None)


def random_case(rng: Random) -> tuple[Numbered, list[Row]]:
    """Few values, so that there are ties, missing values, and rows that are there several times."""
    columns = list(COLUMNS)
    values: dict[str, list[Any]] = {
        "day": [None, 0, 1, 9], "cost": [None, -9, 10, 9], "ward": [None, "A", "é", "1"], "late": [True, False],
    }  # fmt: skip
    pool = [
        {UNIT: unit, **{name: rng.choice(of) for name, of in values.items()}}
        for unit in ("p", "q", "1", "01")
        for _ in range(rng.randint(0, 4))
    ]
    rows = [one for one in pool for _ in range(rng.choice([1, 1, 2]))]
    by = [
        By(value=Column(name), descending=rng.random() < 0.5) for name in rng.sample(columns, rng.choice([0, 1, 1, 2]))
    ]
    more = Arithmetic(Sign.SUBTRACT, Column("cost"), Column("day"))
    by += [By(value=more)] * (rng.random() < 0.2)
    first = rng.choice([1, 1, 1, 2])
    made = numbered(
        *by,
        columns=tuple(rng.sample(columns, rng.randint(0, 4))),
        keys=tuple(map(Column, rng.sample(columns, rng.choice([0, 0, 1])))),
        where=Compare(Relation.LESS, Column("day"), Literal(Fraction(2))) if rng.random() < 0.3 else None,
        first=first, last=rng.choice([None, first, first + 1]),
    )  # fmt: skip
    if made.where is None and rng.random() < 0.3:  # and numbered once more
        made = replace(made, source=replace(made, name="m", columns=tuple(columns), first=1, last=None), by=made.by[:1])
    return made, rows


def wrong_numbers(store: nasty.Store, cases: int = 250) -> Iterator[Numbered]:
    """Where the engine differs from the reference, with rows shuffled and with one thread or four."""
    rng = Random(20261118)
    for case in range(cases):
        origin, rows = random_case(rng)
        right = defined(origin, rows)
        store.connection.execute(f"SET threads = {1 if case % 2 else 4}")
        if in_sql(store, origin, rng.sample(rows, len(rows))) != right:
            yield origin


def test_the_engine_numbers_rows_as_defined(store: nasty.Store) -> None:
    assert list(wrong_numbers(store)) == []


@pytest.mark.proof
@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        (r"(ORDER BY .*?)coalesce\(strlen.*?(?=\) AS number)", r"\1TRUE"),  # ties by the place of a row
        (r"PARTITION BY u", "PARTITION BY 1"),  # several people in one order
        (r" DESC NULLS LAST", " ASC NULLS LAST"),
        (r"NULLS LAST", "NULLS FIRST"),
        (r"number BETWEEN", "number + 1 BETWEEN"),
        (r"row_number\(\)", "rank()"),
    ],
)
def test_wrong_numbers_are_noticed(
    store: nasty.Store, monkeypatch: pytest.MonkeyPatch, pattern: str, instead: str
) -> None:
    right = originsql._Layers._numbered

    def wrong(self: Any, origin: Numbered, names: Sequence[str]) -> originsql.Layer:
        layer = right(self, origin, names)
        return replace(layer, sql=re.sub(pattern, instead, layer.sql))

    monkeypatch.setattr(originsql._Layers, "_numbered", wrong)
    assert next(wrong_numbers(store), None)


def test_many_rows_on_several_threads_are_numbered_the_same(store: nasty.Store) -> None:
    """More rows than one thread takes at a time, nearly all of them tied."""
    rng = Random(7)
    rows = [row(f"u{rng.randrange(40)}", rng.choice([0, 1, None]), rng.choice([1, 2])) for _ in range(5_000)]
    origin = numbered(DAY, last=3)
    right = defined(origin, rows)
    for threads in (1, 4):
        store.connection.execute(f"SET threads = {threads}")
        assert in_sql(store, origin, rng.sample(rows, len(rows))) == right


# One unit changes its own rows only, and of numbers 1 to k it has k rows


def test_a_unit_has_as_many_rows_as_numbers_are_asked_for() -> None:
    """By each of its rows, all of them, or none: in one group of all rows a count moves by at most one, and by one."""
    count = Aggregate(name="x", function=Function.COUNT)
    others = [row("q", 1, 3), row("q", 2, 4)]
    for k in (1, 2, 3):
        moves = set()
        for size in range(5):
            for own in itertools.combinations_with_replacement(POOL, size):
                found = defined(numbered(DAY, last=k), [*others, *own])
                without = defined(numbered(DAY, last=k), others)
                assert found & without == without
                moves.add((found - without).total())
        assert max(moves) == k
    made = table_of([*others, *POOL])
    task = task_of(only(1, DAY), made, None, count)
    assert Reference({"a": made.rows}).exact(task) == [[2]]


def test_how_many_rows_of_a_unit_pass_is_read_from_the_condition() -> None:
    def at_most(relation: Relation, number: int) -> Compare:
        return Compare(relation, N, Literal(Fraction(number)))

    every, made = numbered(DAY), PerUnit(source=Scan(table="a"))
    assert rows_of_a_unit(every) is None
    assert rows_of_a_unit(every, at_most(Relation.EQUAL, 2)) == 1
    assert rows_of_a_unit(every, at_most(Relation.LESS, 4)) == 3
    assert rows_of_a_unit(every, at_most(Relation.GREATER, 4)) is None
    assert rows_of_a_unit(every, Compare(Relation.EQUAL, N, Column("day"))) is None
    assert rows_of_a_unit(replace(every, keys=(Column("ward"),)), at_most(Relation.EQUAL, 1)) is None
    assert rows_of_a_unit(replace(every, first=2, last=4)) == 3
    assert rows_of_a_unit(replace(every, last=4), at_most(Relation.GREATER_EQUAL, 4)) == 1
    beside = Joined(left=every, right=replace(every, last=2), by_unit=True, names=(), most=None)
    assert rows_of_a_unit(beside, at_most(Relation.EQUAL, 1)) == 2
    assert rows_of_a_unit(replace(beside, right=made), at_most(Relation.EQUAL, 1)) == 1


def test_shapes_of_numbers() -> None:
    declared = origins.declared_in({"a": table_of([]).table})
    where = Compare(Relation.GREATER, Column("day"), Literal(Fraction(1)))
    found = shapes_of(numbered(DAY, where=where, columns=("day",), first=2), declared)
    assert list(found) == ["day", "n"]
    assert (found["day"].low, found["n"].low, found["n"].high, found["n"].null) == (2, 2, MOST_ROWS, False)
    assert shapes_of(only(3, DAY), declared)["n"].high == 3
    with raises_code(RefusedQueryError, "type-mismatch"):
        shapes_of(numbered(DAY, where=Column("day")), declared)


def test_a_number_without_a_limit_is_not_added_up() -> None:
    declared = origins.declared_in({"a": table_of([]).table})
    plan = Plan(
        table="a", origin=numbered(DAY), aggregates=(Aggregate(name="s", function=Function.AVG, value=N),), outputs=()
    )
    with raises_code(RefusedQueryError, "unbounded: LEAST(n, 20)"):
        check_clamped(plan, declared)
    check_clamped(replace(plan, where=Compare(Relation.LESS, N, Literal(Fraction(20)))), declared)
    check_clamped(replace(plan, origin=only(2, DAY)), declared)
    largest = PerUnit(source=numbered(DAY), aggregates=(Aggregate(name="m", function=Function.MAX, value=N),))
    most = Aggregate(name="s", function=Function.SUM, value=Column("m"))
    with raises_code(RefusedQueryError, "unbounded: LEAST(n, 20)"):
        check_clamped(replace(plan, origin=largest, aggregates=(most,)), declared)


def test_a_constant_column_is_constant_among_numbered_rows() -> None:
    kinds = {"a": {"sex": Category(["F", "M"], constant_per_unit=True), "ward": Text()}}

    def one(name: str, origin: Origin) -> bool:
        plan = Plan(table="a", origin=origin, keys=(Key(name="k", value=Column(name)),), aggregates=(), outputs=())
        return not varying_keys(plan, kinds)

    origin = numbered(DAY, columns=("sex", "ward"))
    assert one("sex", origin)
    assert not one("ward", origin)
    assert not one("n", origin)


REFUSED: list[tuple[Callable[[], tuple[Origin, World]], type[Exception], str]] = [
    (lambda: (numbered(DAY), of_rows(World({"a": table_of([])}))), RefusedQueryError, "rows-are-units: order"),
    (lambda: (numbered(DAY, first=0), World({"a": table_of([])})), InvalidInputError, "too-small: number"),
    (
        lambda: (numbered(DAY, first=3, last=2), World({"a": table_of([])})),
        RefusedQueryError,
        "reversed-range: smaller",
    ),
    (lambda: (numbered(DAY, last="1 OR TRUE"), World({"a": table_of([])})), InvalidInputError, "not-whole: number"),
]


@pytest.mark.parametrize(("made", "error", "code"), REFUSED)
def test_what_cannot_be_numbered_is_refused_before_the_charge(
    made: Callable[[], tuple[Origin, World]], error: Any, code: str
) -> None:
    origin, world = made()
    with raises_code(error, code):
        origins.check_unit_wise(origin, {"a": world.tables["a"].table})


def test_numbered_rows_may_be_joined_to_a_limit() -> None:
    """Rows of a unit with keys, or without an end, multiply as before; of k rows at most k stand beside one."""
    tables = {"a": table_of([]).table}
    wide = Joined(left=Scan(table="a"), right=Scan(table="a"), by_unit=True, names=(), most=9_000)

    def joined(left: Numbered) -> Joined:
        return Joined(left=left, right=Scan(table="a"), by_unit=True, names=(), most=9)

    for left in (numbered(source=wide), numbered(source=wide, keys=(Column("ward"),), last=1)):
        with raises_code(RefusedQueryError, "too-many"):
            origins.check_unit_wise(joined(left), tables)
    origins.check_unit_wise(joined(numbered(source=wide, last=3)), tables)


# The whole path


def test_one_row_of_each_person_is_priced_as_one(tmp_path: Path) -> None:
    """Five rows each, and the noise of one."""
    table = {
        "who": [f"p{n // 5}" for n in range(500)],
        "day": [n % 5 for n in range(500)],
        "cost": [n % 7 for n in range(500)],
    }
    with pv.create(tmp_path / "vault", budget=pv.Budget(9), testing=True) as vault:
        vault.add_table(
            "visits", table, unit="who", max_groups=5, max_rows_per_group=5,
            columns={"day": Integer(0, 9), "cost": Integer(0, 9)},
        )  # fmt: skip
        number = "ROW_NUMBER() OVER (PARTITION BY who ORDER BY day DESC)"
        last = f"SELECT SUM(cost) AS s FROM (SELECT *, {number} AS k FROM visits)"
        texts = (f"{last} WHERE k = 1", f"{last} WHERE k <= 2", last)
        one, two, every = (vault.sql(text, epsilon=1) for text in texts)
        assert [query.priced.parts[0].sensitivity.l1 for query in (one, two, every)] == [9, 18, 5 * 9]
        assert pv.testing.exact(one, key=b"k").parts[0].values == (sum(n % 7 for n in range(4, 500, 5)),)
        frame = vault.table("visits").last_per_unit("day").agg(s=pv.sum("cost")).query(epsilon=1)
        assert frame.priced.parts[0].sensitivity.l1 == 9
        assert pv.testing.exact(frame, key=b"k").parts[0].values == pv.testing.exact(one, key=b"k").parts[0].values


def test_statements_are_written_without_data() -> None:
    made = table_of([])
    with DuckDb(Path(), {}, portable=True) as engine:
        engine.write(task_of(only(1, DAY), made, None, Aggregate(name="x", function=Function.COUNT)))
