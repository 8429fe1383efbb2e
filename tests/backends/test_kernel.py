"""The kernel keeps as many rows as the bounds allow, by the law of the reference, and sums them exactly.

Rows are told apart by their values, which are powers of two: the sum of a cell says which of them were kept.
"""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numba
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support import nasty
from support.fit import FALSE_ALARM
from support.kernel_versions import choose
from support.processes import run_plain

from privet.backends import Task, kernel, kernel_loops, pile, rowsql, written
from privet.backends import duckdb as engine
from privet.backends.duckdb import DuckDb
from privet.backends.fused import exact as fused_exact
from privet.backends.reading import reading
from privet.backends.reference import Reference
from privet.backends.sqlgen import Statement
from privet.catalog.declarations import LIMITS
from privet.catalog.vault_file import Source, Table
from privet.core.expression import Column, Compare, Literal, Relation
from privet.core.plan import Aggregate, Function, Key, Plan
from privet.core.schema import Boolean, Category, Integer, Kind, Number, Text
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.sources import Raw

MIXED = kernel.mixed
Exact = Callable[[Task, Raw], list[list[int]]]


@pytest.fixture(scope="module")
def store() -> Iterator[nasty.Store]:
    made = nasty.Store()
    yield made
    made.close()


@pytest.fixture(params=["few", "buckets", "many"])
def exact(request: pytest.FixtureRequest, store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> Exact:
    """The kernel in NumPy, or with compiled loops in several buckets."""
    choose(monkeypatch, request.param)
    return lambda task, raw: fused(store, task, raw)


def fused(store: nasty.Store, task: Task, raw: Raw) -> list[list[int]]:
    asked = rowsql.rows(task, raw)
    assert asked is not None
    return fused_exact(store.connection, task, asked)


def lifted(task: Task) -> Task:
    return replace(task, bounds=replace(task.bounds, groups=10**6, rows=10**6, in_all=None))


# Where no bound binds


def test_random_tasks_give_the_integers_of_the_reference(store: nasty.Store, exact: Exact) -> None:
    asked = 0
    for seed in range(40):
        rng = Random(seed)
        made = nasty.random_table(rng, unit=True)
        raw = store.put(made)
        for _ in range(2):
            task = lifted(nasty.task_of(nasty.random_plan(rng, made.table), made.table, secret=rng.randbytes(8)))
            if rowsql.rows(task, raw) is not None:
                asked += 1
                assert exact(task, raw) == Reference({"t": made.rows}).exact(task), seed
    assert asked > 60


def test_rows_of_cells_that_there_are_not_are_dropped(store: nasty.Store, exact: Exact) -> None:
    """Cells and keys come from the same shapes; if they did not, compiled loops would write beyond their array."""
    columns: dict[str, Kind] = {"a": Integer(0, 10**6)}
    plan = Plan(
        table="t",
        keys=(Key(name="k", value=Column("a")),),
        aggregates=(Aggregate(name="n", function=Function.COUNT),),
        outputs=(),
        where=Compare(Relation.LESS, Column("a"), Literal(Fraction(9))),
    )
    table = table_of(columns, groups=9, rows=9)
    task = nasty.task_of(plan, table)
    task = replace(task, cells=replace(task.cells, domains=(task.cells.domains[0][:4],)))
    rows = [{"id": unit, "a": value} for unit in range(20) for value in (0, 3, 4, 8)]
    raw = store.put(nasty.Made(table=table, types={"id": "BIGINT", "a": "INTEGER"}, rows=rows))
    assert exact(task, raw) == store.exact(task, raw) == Reference({"t": rows}).exact(task) == [[20, 0, 0, 20]]


@pytest.mark.proof
@settings(max_examples=30)
@given(data=st.data())
def test_generated_tasks_agree_in_all_versions(store: nasty.Store, data: st.DataObject) -> None:
    """Without bounds the reference, SQL and both kernels; with bounds both kernels, also in blocks and in any order."""
    made = data.draw(nasty.tables(unit=True))
    task = nasty.task_of(data.draw(nasty.plans(made.table)), made.table, secret=data.draw(st.binary(max_size=8)))
    raw = store.put(made)
    if rowsql.rows(task, raw) is None:
        return
    expected = Reference({"t": made.rows}).exact(lifted(task))
    assert store.exact(lifted(task), raw) == expected
    found = []
    for version, (block, held) in itertools.product(("few", "buckets", "many"), ((2**19, 2**31), (1, 100))):
        with pytest.MonkeyPatch.context() as patch:
            choose(patch, version)
            patch.setattr(pile, "BLOCK", block)
            patch.setattr(pile, "HELD", held)
            assert fused(store, lifted(task), raw) == expected
            found.append(fused(store, task, raw))
            mixed = replace(made, rows=data.draw(st.permutations(made.rows)))
            found.append(fused(store, task, store.put(mixed)))
    assert all(numbers == found[0] for numbers in found)


# Where bounds bind

TAGGED: dict[str, Kind] = {"ward": Category(["A", "B", "é", "𝒟"]), "tag": Integer(0, 2**61), "note": Text()}
TYPES = {"ward": "VARCHAR", "tag": "BIGINT", "note": "VARCHAR"}
KEYS = (Key(name="ward", value=Column("ward")),)
BINDING = [(1, 1, None), (2, 3, None), (3, 2, None), (3, 4, 7), (4, 9, 3), (5, 2, 9)]
TAGS = Aggregate(name="s", function=Function.SUM, value=Column("tag"))
COUNT = Aggregate(name="n", function=Function.COUNT)
LONG_UNITS = ["p", "p ", "P", "", "é", "e\u0301", "p\0", "👩‍👩‍👧", "x" * 5000, "1", "1.0"]
PLAN = Plan(table="t", keys=KEYS, aggregates=(COUNT, TAGS), outputs=())


def table_of(columns: dict[str, Kind], groups: int = 1, rows: int = 1, in_all: int | None = None) -> Table:
    limits = dict(zip(LIMITS, (groups, rows, in_all), strict=True))
    return Table(name="t", source=Source(kind="memory"), unit="id", columns=columns, **limits)  # type: ignore[arg-type]


def task_of(groups: int, rows: int, in_all: int | None = None, secret: bytes = b"secret") -> Task:
    return nasty.task_of(PLAN, table_of(TAGGED, groups, rows, in_all), secret=secret)


def tagged(rng: Random, type_: str, count: int = 60) -> list[nasty.Row]:
    """Rows of a few units in a few wards, each with a value of its own."""
    units = LONG_UNITS if type_ == "VARCHAR" else [nasty.raw_value(rng, type_, None) for _ in range(7)]
    chosen = [None, *rng.sample(units, 4)]
    return [
        {"id": rng.choice(chosen), "ward": rng.choice(["A", "B", "é", "𝒟", "no ward", None]), "tag": 2**place,
         "note": rng.choice(["x", "y", None])} for place in range(count)
    ]  # fmt: skip


def put(store: nasty.Store, rows: list[nasty.Row], type_: str, relation: str = "stored") -> Raw:
    return store.put(nasty.Made(table=None, types={"id": type_, **TYPES}, rows=rows), relation)


def kept(exact: Exact, task: Task, rows: list[nasty.Row], raw: Raw) -> set[int]:
    """The tags of the rows that were kept. Count and sum must agree, and the tag must lie in its cell."""
    counts, sums = exact(task, raw)
    wards = [key for (key,) in itertools.product(*task.cells.domains)]
    found = set()
    for ward, count, total in zip(wards, counts, sums, strict=True):
        mine = {row["tag"] for row in rows if total & row["tag"]}
        assert sum(mine) == total
        assert len(mine) == count
        assert {_ward(row) for row in rows if row["tag"] in mine} <= {ward}
        found |= mine
    return found


def _ward(row: nasty.Row) -> str | None:
    return row["ward"] if row["ward"] in ("A", "B", "é", "𝒟") else None


def _unit(row: nasty.Row) -> object:
    unit = row["id"]
    if unit is None or (isinstance(unit, float) and not abs(unit) < 2**53):
        return None
    return str(unit) if isinstance(unit, nasty.Sql) else (unit,)


def as_bounded(there: Counter[Any], kept: Counter[Any], groups: int, limit: int, in_all: int | None) -> bool:
    """Some `groups` cells of those that are there, `limit` rows of each; then cells take turns until all may stay."""

    def turns(cells: tuple[Any, ...]) -> Iterator[Any]:
        for turn in range(limit):
            yield from (cell for cell in cells if there[cell] > turn)

    orders = itertools.permutations(there, min(groups, len(there)))
    return any(Counter(itertools.islice(turns(cells), in_all)) == kept for cells in orders)


ALL_TYPES = tuple(dict.fromkeys(nasty.UNIT_TYPES))
SOME_TYPES = ("BIGINT", "VARCHAR", "DOUBLE")


def wrong_bounds(
    exact: Exact, store: nasty.Store, types: tuple[str, ...] = ALL_TYPES, seeds: range = range(1)
) -> Iterator[str]:
    """Tables of these types of units of which too much or too little is kept, or where it depends on something else."""
    for type_, seed in itertools.product(types, seeds):
        rng = Random(f"{type_} {seed}")
        rows, secret = tagged(rng, type_), rng.randbytes(8)
        there: dict[object, Counter[str | None]] = {}
        for row in rows:
            if _unit(row) is not None:
                there.setdefault(_unit(row), Counter())[_ward(row)] += 1
        whole, turned = put(store, rows, type_), put(store, rng.sample(rows, len(rows)), type_, "turned")
        less = {gone: [row for row in rows if _unit(row) != gone] for gone in list(there)[:2]}
        raws = {gone: put(store, left, type_, f"less{place}") for place, (gone, left) in enumerate(less.items())}
        for limits in BINDING:
            task = task_of(*limits, secret=secret)
            found = kept(exact, task, rows, whole)
            for unit, most in there.items():
                counts = Counter(_ward(row) for row in rows if _unit(row) == unit and row["tag"] in found)
                if not as_bounded(most, counts, *limits):
                    yield f"{type_}: {unit} keeps {counts} of {most}"
            if any(row["tag"] in found for row in rows if _unit(row) is None):
                yield f"{type_}: nobody's rows are kept"
            if kept(exact, task, rows, turned) != found:
                yield f"{type_}: the order of rows matters"
            for gone, left in less.items():
                if kept(exact, task, left, raws[gone]) != found & {row["tag"] for row in left}:
                    yield f"{type_}: others depend on {gone}"


@pytest.mark.proof
def test_each_unit_keeps_what_the_bounds_allow_and_depends_on_itself_alone(store: nasty.Store, exact: Exact) -> None:
    assert list(wrong_bounds(exact, store)) == []


@pytest.mark.proof
def test_planted_bugs_are_noticed(store: nasty.Store, exact: Exact, monkeypatch: pytest.MonkeyPatch) -> None:
    def caught(plant: Callable[[pytest.MonkeyPatch], None], types: tuple[str, ...] = ALL_TYPES) -> bool:
        with monkeypatch.context() as patch:
            plant(patch)
            return next(wrong_bounds(exact, store, types), None) is not None

    real_of, real_add, real_rows = kernel.Fetched.of, kernel.add, written.rows

    def of(**changes: Callable[[kernel.Fetched], Any]) -> Callable[[pytest.MonkeyPatch], None]:
        def made(*given: Any) -> kernel.Fetched:
            fetched = real_of(*given)
            return replace(fetched, **{name: change(fetched) for name, change in changes.items()})

        return lambda patch: patch.setattr(kernel.Fetched, "of", made)

    def limits(**more: int) -> Callable[[pytest.MonkeyPatch], None]:
        def loose(totals: Any, task: Task, fetched: Any, **rest: Any) -> None:
            wider = {name: (getattr(task.bounds, name) or 0) + extra for name, extra in more.items()}
            real_add(totals, replace(task, bounds=replace(task.bounds, **wider)), fetched, **rest)

        return lambda patch: patch.setattr(kernel, "add", loose)

    def nobody(patch: pytest.MonkeyPatch) -> None:
        patch.setattr("privet.backends.originsql.is_unit", lambda *_: "TRUE")
        patch.setattr(rowsql, "_whole", lambda _: None)
        with_null = "base.u IS NOT DISTINCT FROM units.u"
        patch.setattr(rowsql, "_coded", lambda *given: coded(*given).replace("base.u = units.u", with_null))

    coded = rowsql._coded
    assert not caught(of(), SOME_TYPES)  # of all types: the test above
    assert caught(limits(groups=1))
    assert caught(limits(rows=1))
    assert caught(limits(rows=-1))
    assert caught(limits(in_all=2**40))
    assert caught(of(unit=lambda fetched: fetched.unit // 2))  # two units as one
    assert caught(of(salt=lambda fetched: np.arange(len(fetched.unit), dtype=np.uint64)))  # by position
    assert caught(of(salt=lambda fetched: fetched.unit.view(np.uint64)))  # by a code that depends on the others
    assert caught(of(extra=lambda fetched: np.arange(len(fetched.unit), dtype=np.uint64)))  # rows by position
    assert caught(nobody)
    assert written.rows is real_rows


def test_equal_rows_are_interchangeable(store: nasty.Store, exact: Exact) -> None:
    """Of one unit: five equal rows and one other. The bound cuts, and the sum is one of two, in any order."""
    task = task_of(1, 3)
    rows = [{"id": 1, "ward": "A", "tag": 8, "note": "x"}] * 5 + [{"id": 1, "ward": "A", "tag": 1, "note": "x"}]
    found = set()
    for shift in range(6):
        turned = [*rows[shift:], *rows[:shift]]
        raw = store.put(nasty.Made(table=task.table, types={"id": "INTEGER", **TYPES}, rows=turned))
        counts, sums = exact(task, raw)
        assert sum(counts) == 3
        found.add(sum(sums))
    assert found in ({24}, {17})


# The law


DRAWS = 4000


def chosen(task: Task, raw: Raw, store: nasty.Store) -> Counter[Any]:
    """How often each outcome of one table comes up, over secrets that are fixed before looking.

    In NumPy; with the first secrets the loops must choose the same, as they must in all other tests.
    """
    asked = rowsql.rows(task, raw)
    assert asked is not None
    fetched = kernel.Fetched.of(asked, store.connection.execute(asked.statement.sql).fetchnumpy())
    found: Counter[Any] = Counter()
    for number in range(DRAWS):
        keyed = replace(task, secret=number.to_bytes(16, "big"))
        few, many = kernel.nothing(task, asked), kernel.nothing(task, asked)
        kernel.add(few, keyed, fetched)
        if number < 100 and kernel.mixed is MIXED:
            kernel.add(many, keyed, fetched, fast=True)
            assert few.tolist() == many.tolist()
        found[str(asked.statement.dense(kernel.sums(few), task.cells.count))] += 1
    return found


def is_uniform(found: Counter[Any], outcomes: int) -> bool:
    """A chi-square test with false alarms in 1e-9 of the cases.

    With 4,000 draws it rejects a law that has half of its outcomes 20 % too often and half too rarely with probability
    above 0.999 (15 outcomes: 14 degrees of freedom, threshold 76, noncentrality 0.04 * 4,000 = 160).
    """
    counts = [*found.values(), *[0] * (outcomes - len(found))]
    return len(found) <= outcomes and bool(stats.chisquare(counts).pvalue > FALSE_ALARM)


NOTED = {"id": "INTEGER", "g": "INTEGER", "note": "VARCHAR"}


def unit_in_six_cells() -> tuple[Task, list[nasty.Row]]:
    columns: dict[str, Kind] = {"g": Integer(1, 6), "note": Text()}
    keys = (Key(name="g", value=Column("g")),)
    plan = Plan(table="t", keys=keys, aggregates=(COUNT,), outputs=())
    return nasty.task_of(plan, table_of(columns, groups=2)), [{"id": 7, "g": g, "note": "x"} for g in range(1, 7)]


def unit_with_six_rows() -> tuple[Task, list[nasty.Row]]:
    """Rows that differ in what is summed, and in what only a condition sees."""
    columns: dict[str, Kind] = {"g": Integer(0, 2**20), "note": Text()}
    where = Compare(Relation.UNEQUAL, Column("note"), Literal("z"))
    total = Aggregate(name="s", function=Function.SUM, value=Column("g"))
    plan = Plan(table="t", where=where, aggregates=(total,), outputs=())
    rows = [{"id": 7, "g": 2 ** (place // 2), "note": str(place)} for place in range(6)]
    return nasty.task_of(plan, table_of(columns, rows=2)), rows


@pytest.mark.parametrize("type_", ["INTEGER", "VARCHAR"])
def test_every_choice_of_cells_is_as_likely(store: nasty.Store, type_: str) -> None:
    """Which 2 of 6 cells a unit keeps."""
    assert stats.ncx2.sf(stats.chi2.isf(FALSE_ALARM, 14), 14, 0.04 * DRAWS) > 0.999
    task, rows = unit_in_six_cells()
    typed = [row | {"id": str(row["id"])} for row in rows] if type_ == "VARCHAR" else rows
    raw = store.put(nasty.Made(table=task.table, types=NOTED | {"id": type_}, rows=typed))
    assert is_uniform(chosen(task, raw, store), 15)


def test_every_choice_of_rows_is_as_likely(store: nasty.Store) -> None:
    """Which 2 of 6 rows: of three numbers, each in two rows. Two equal numbers come up in 1 of 15 choices each, two
    others in 4 of 15."""
    task, rows = unit_with_six_rows()
    found = chosen(task, store.put(nasty.Made(table=task.table, types=NOTED, rows=rows)), store)
    ways = {"[[2]]": 1, "[[4]]": 1, "[[8]]": 1, "[[3]]": 4, "[[5]]": 4, "[[6]]": 4}
    assert set(found) <= set(ways)
    expected = [DRAWS * way / 15 for way in ways.values()]
    assert stats.chisquare([found[name] for name in ways], expected).pvalue > FALSE_ALARM


def test_a_wrong_law_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    task, rows = unit_in_six_cells()
    raw = store.put(nasty.Made(table=task.table, types=NOTED, rows=rows))
    assert is_uniform(chosen(task, raw, store), 15)
    monkeypatch.setattr(kernel, "mixed", lambda numbers, keys: numbers ^ keys)  # no mixing at all
    assert not is_uniform(chosen(task, raw, store), 15)


def test_rows_that_count_the_same_are_told_apart_by_what_a_condition_sees(store: nasty.Store) -> None:
    """Without that, six rows with three numbers would be three pairs, kept together: another law than the reference."""
    task, rows = unit_with_six_rows()
    raw = store.put(nasty.Made(table=task.table, types=NOTED, rows=rows))
    asked = rowsql.rows(task, raw)
    assert asked is not None
    assert asked.extra
    together = Counter(str(Reference({"t": rows}).exact(replace(task, secret=bytes([n])))) for n in range(200))
    assert together["[[3]]"] + together["[[5]]"] + together["[[6]]"] > 100


# Large and long


def test_sums_beyond_64_bits_are_exact(store: nasty.Store, exact: Exact) -> None:
    for sign in (1, -1):
        columns: dict[str, Kind] = {"x": Integer(*sorted((0, sign * (2**62 - 2))))}
        total, mean = (Aggregate(name=str(f), function=f, value=Column("x")) for f in (Function.SUM, Function.AVG))
        task = nasty.task_of(Plan(table="t", aggregates=(total, mean), outputs=()), table_of(columns, rows=100))
        rows = [{"id": place % 3, "x": sign * (2**62 - 2 - place)} for place in range(90)] + [{"id": 1, "x": None}]
        raw = store.put(nasty.Made(table=task.table, types={"id": "INTEGER", "x": "BIGINT"}, rows=rows))
        found = exact(task, raw)
        assert max(abs(vector[0]) for vector in found) > 2**68
        assert found == Reference({"t": rows}).exact(task)


def test_limbs_are_carried_before_they_are_full(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 40 rows at a time instead of 2**31, over several buckets."""
    carried: list[int] = []
    real = kernel.carry
    monkeypatch.setattr(kernel, "carry", lambda totals: carried.append(1) or real(totals))
    choose(monkeypatch, "buckets")
    monkeypatch.setattr(kernel, "AT_A_TIME", 40)
    task = task_of(4, 100)
    rows = [{"id": place, "ward": "A", "tag": 2**61 - place, "note": None} for place in range(400)]
    raw = store.put(nasty.Made(table=task.table, types={"id": "INTEGER", **TYPES}, rows=rows))
    assert fused(store, task, raw) == Reference({"t": rows}).exact(task)
    assert len(carried) > 4
    monkeypatch.setattr(kernel, "IN_ALL", 400)
    with pytest.raises(OverflowError, match="too many rows"):
        fused(store, task, raw)


def test_too_many_rows_at_a_time_are_not_summed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernel.AT_A_TIME == 2**31
    monkeypatch.setattr(kernel, "AT_A_TIME", 10)
    task = task_of(1, 1)
    asked = rowsql.rows(task, store.put(nasty.Made(table=task.table, types={"id": "INTEGER", **TYPES}, rows=[])))
    assert asked is not None
    with pytest.raises(OverflowError, match="too many rows"):
        kernel.Fetched.of(asked, {"u": np.empty(10, np.int64), "cell": np.zeros(10, np.int32)})


def test_the_last_clamp_is_in_the_kernel(store: nasty.Store, exact: Exact, monkeypatch: pytest.MonkeyPatch) -> None:
    """If reading did not clamp, an answer would still move no further than its price says."""
    task = task_of(4, 100)
    rows = [{"id": 1, "ward": "A", "tag": 2**61 + 5, "note": None}, {"id": 1, "ward": "A", "tag": -7, "note": None}]
    raw = store.put(nasty.Made(table=task.table, types={"id": "INTEGER", **TYPES}, rows=rows))
    far = Integer(-100, 2**62)
    loose = lambda kind, *rest: reading(far if isinstance(kind, Integer) else kind, *rest)  # noqa: E731
    monkeypatch.setattr("privet.backends.originsql.reading", loose)
    monkeypatch.setattr("privet.backends.sqlgen.confined", lambda term, _: term)
    assert exact(task, raw) == [[2, 0, 0, 0, 0], [2**61, 0, 0, 0, 0]]


@pytest.mark.proof
@pytest.mark.parametrize("type_", ["BIGINT", "VARCHAR"])
def test_one_person_with_many_rows_or_in_all_groups(
    store: nasty.Store, exact: Exact, type_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In n log n steps: with a quadratic sort this would take hours. In 32 buckets, all but two of them empty."""
    monkeypatch.setattr(pile, "BUCKET", 2**12)
    columns: dict[str, Kind] = {"g": Integer(0, 99_999), "x": Integer(0, 10)}
    keys = (Key(name="g", value=Column("g")),)
    total = Aggregate(name="s", function=Function.SUM, value=Column("x"))
    for groups, cells in ((3, 1), (1000, 100_000)):
        plan = Plan(table="t", keys=keys, aggregates=(COUNT, total), outputs=())
        task = nasty.task_of(plan, table_of(columns, groups=groups, rows=5))
        made = f"SELECT CAST(1 AS {type_}) AS id, i % {cells} AS g, i % 11 AS x FROM range(100000) t(i)"
        store.connection.execute(f"CREATE OR REPLACE TABLE stored AS {made} UNION ALL SELECT '2', 0, 10")
        counts, sums = exact(task, Raw(relation="stored", types={"id": type_, "g": "BIGINT", "x": "BIGINT"}))
        assert sum(counts) == (6 if cells == 1 else 1001)
        assert 10 <= sum(sums) <= 10 * sum(counts)


# The parts


def test_both_versions_mix_alike_and_lose_nothing() -> None:
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 2**64, 1000, np.uint64)
    for key in (0, 1, 2**64 - 1, *rng.integers(0, 2**64, 3, np.uint64)):
        mixed = kernel.mixed(numbers, np.uint64(key))
        assert mixed.tolist() == [int(kernel_loops.mixed(number, np.uint64(key))) for number in numbers]
        assert len(set(mixed.tolist())) == 1000


def test_keys_come_from_the_whole_secret() -> None:
    every = [tuple(kernel.keys_of(secret).tolist()) for secret in (b"", b"a", b"b", b"a" * 100, b"a" * 101)]
    assert len(set(every)) == 5
    assert all(len(set(keys)) == 3 for keys in every)


def test_loops_load_late() -> None:
    code = "import sys, privet.backends.duckdb; print('numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_without_a_compiler_numpy_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "privet.backends.kernel_loops")
    monkeypatch.delattr("privet.backends.kernel_loops")
    monkeypatch.delitem(sys.modules, "privet.machine_code")
    pile.loops.cache_clear()
    try:
        assert pile.loops() is None
    finally:
        pile.loops.cache_clear()


def test_loops_without_a_folder_to_keep_them_in(monkeypatch: pytest.MonkeyPatch) -> None:
    real = numba.njit

    def njit(*given: Any, cache: bool = False, **rest: Any) -> Any:  # the compiler calls it for itself, too
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(*given, **rest)

    monkeypatch.setattr(numba, "njit", njit)
    found = kernel_loops.compiled(lambda x: x + 1)
    monkeypatch.undo()
    assert found(2) == 3


PLAIN = """
import warnings
import numpy as np
warnings.simplefilter("ignore")  # numbers go round, as they should
import test_kernel as t
store, patch = t.nasty.Store(), t.pytest.MonkeyPatch()
t.choose(patch, "many")
exact = lambda task, raw: t.fused(store, task, raw)
assert list(t.wrong_bounds(exact, store, t.SOME_TYPES)) == []
t.test_one_person_with_some_rows(store, exact)
t.test_rows_in_no_cell_are_dropped(True)
t.test_ties_fall_to_the_values()
patch.setattr(t.kernel_loops, "mixed", lambda number, key: number)  # one to one
patch.setattr(t.kernel_loops, "spread", lambda number, key: np.uint64(0))  # everything collides
assert list(t.wrong_bounds(exact, store, t.SOME_TYPES)) == []
"""


@pytest.mark.counted
def test_the_loops_without_a_compiler_do_the_same() -> None:
    run_plain(PLAIN, Path(__file__).parent)


def test_ties_fall_to_the_values() -> None:
    """Not to the place: in any order the same rows come first, for both ways of sorting."""
    first, second = np.repeat([3, 1, 2, 1], 10), np.tile([2, 1], 20)
    values, key, cell = np.array([first, second]), np.zeros(40, np.uint64), np.zeros(40, np.int32)
    for count in (4, 40):
        for seed in range(5):
            rows = np.random.default_rng(seed).permutation(count).astype(np.int32)
            kernel_loops.sort(key.copy(), rows, 0, count, cell, values, 2)
            assert values[:, rows].T.tolist() == sorted(values[:, :count].T.tolist())
            kernel_loops.sort(key.copy(), rows, 0, count, np.arange(40, dtype=np.int32), values, 2)
            assert rows.tolist() == list(range(count))  # the cell comes first


ASKED = rowsql.RowsSql(
    statement=Statement(sql="", recipes=()),
    types={"u": np.int64, "cell": np.int32, "w0": np.int32, "w1": np.int64},
    missing=(-1, -1),
    highest=(9, 9),
    summed=2,
    tallied={},
)


@pytest.mark.parametrize("fast", [False, True])
def test_rows_in_no_cell_are_dropped(fast: bool) -> None:
    columns = {"u": [1, 1, -5, 2, 1], "cell": [0, -1, 1, -1, 0], "w0": [1, 2, 4, 8, 1], "w1": [3, 1, 1, 1, 2]}
    arrays = {name: np.array(columns[name], type_) for name, type_ in ASKED.types.items()}
    totals = kernel.nothing(task_of(2, 2), ASKED)
    kernel.add(totals, task_of(2, 2), kernel.Fetched.of(ASKED, arrays), fast=fast)
    assert totals[:, [0, 1, 2, 3, 6]].tolist() == [[2, 1, 2, 2, 5], [1, 1, 1, 4, 1], *[[0] * 5] * 3]
    assert list(kernel.sums(totals)) == [[0, 2, 1, 2, 2, 2, 5], [1, 1, 1, 1, 4, 1, 1]]


def test_one_person_with_some_rows(store: nasty.Store, exact: Exact) -> None:
    """More than the simple sort takes; values that are equal, missing, and in the way of the sort."""
    columns: dict[str, Kind] = {"g": Integer(0, 40), "x": Number(-5, 5, step="0.5"), "ok": Boolean()}
    keys = (Key(name="g", value=Column("g")),)
    asked = [
        (Function.SUM, "x"),
        (Function.AVG, "x"),
        (Function.COUNT, "x"),
        (Function.COUNT, "ok"),
        (Function.SUM, "ok"),
    ]
    listed = tuple(Aggregate(name=str(n), function=f, value=Column(x)) for n, (f, x) in enumerate(asked))
    plan = Plan(table="t", keys=keys, aggregates=(COUNT, *listed), outputs=())
    rows = [
        {"id": "p", "g": n % 41, "x": None if n % 7 == 0 else n % 5 - 2.0, "ok": n % 3 == 0 or None}
        for n in range(300)
    ]  # fmt: skip
    types = {"id": "VARCHAR", "g": "INTEGER", "x": "DOUBLE", "ok": "BOOLEAN"}
    task = nasty.task_of(plan, table_of(columns, groups=50, rows=8))
    raw = store.put(nasty.Made(table=task.table, types=types, rows=rows))
    assert exact(task, raw) == Reference({"t": rows}).exact(task)
    mixed = replace(nasty.Made(table=task.table, types=types, rows=rows), rows=Random(1).sample(rows, 300))
    for limits in ((50, 3, None), (7, 5, None), (7, 1, None), (50, 8, 100), (50, 8, 30), (7, 5, 34)):
        groups, most, in_all = limits
        cut = replace(task, bounds=Bounds(groups=groups, rows=most, in_all=in_all, neighbors=Neighbors.ADD_REMOVE))
        found = exact(cut, store.put(mixed))
        assert found == exact(cut, store.put(replace(mixed, rows=rows)))
        assert sum(found[0]) == (in_all or min(groups, 41) * most)
        assert max(found[0]) <= (most if in_all is None else -(-in_all // min(groups, 41)))


# Through the engine

FRAME = pd.DataFrame({"id": ["a", "a", "a", "b", None], "ward": ["A", "A", "B", "é", "A"], "tag": [1, 2, 4, 8, 16],
                      "note": ["x"] * 5})  # fmt: skip


def test_the_engine_uses_the_kernel_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real_statement, real_exact = written.statement, engine.fused.exact
    monkeypatch.setattr(written, "statement", lambda *given: asked.append("sql") or real_statement(*given))
    monkeypatch.setattr(engine.fused, "exact", lambda *given: asked.append("kernel") or real_exact(*given))
    task, expected = task_of(4, 100), [[2, 1, 1, 0, 0], [3, 4, 8, 0, 0]]
    for portable in (False, True):
        with DuckDb(Path(), {"t": FRAME}, portable=portable) as backend:
            assert backend.exact(task) == expected
            backend.exact(task, backend.write(task))
    with DuckDb(Path(), {"t": FRAME}) as backend:
        row_units = replace(task.table, unit=None, max_groups=1, max_rows_per_group=1)
        assert backend.exact(nasty.task_of(PLAN, row_units))[0] == [3, 1, 1, 0, 0]
        wide = table_of({**TAGGED, "tag": Integer(0, 2**62)}, 4, 100)
        assert backend.exact(nasty.task_of(PLAN, wide)) == expected
    assert asked == ["kernel", "kernel", *["sql"] * 5], "of types that were not recorded it is written anew"


def test_which_way_is_taken_depends_on_declarations_alone(store: nasty.Store) -> None:
    """Otherwise one person's value could change which rows of all others are kept."""
    raw = store.put(nasty.Made(table=None, types={"id": "INTEGER", **TYPES, "tag": "HUGEINT"}, rows=[]))
    for high, fused in ((2**61, True), (2**62 - 1, True), (2**62, False), (2**80, False)):
        table = table_of({**TAGGED, "tag": Integer(0, high)})
        assert (rowsql.rows(nasty.task_of(PLAN, table), raw) is not None) == fused
    low = table_of({**TAGGED, "tag": Integer(1 - 2**62, 0)})
    assert rowsql.rows(nasty.task_of(PLAN, low), raw) is None


def test_a_key_press_stops_the_fetching(monkeypatch: pytest.MonkeyPatch) -> None:
    real = written.rows

    def endless(*given: Any) -> Any:
        asked = real(*given)
        sql = "SELECT count(*) AS u FROM range(10000000) a, range(10000000) b WHERE a.range + b.range = -1"
        return replace(asked, statement=replace(asked.statement, sql=sql))

    monkeypatch.setattr(written, "rows", endless)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with DuckDb(Path(), {"t": FRAME}) as backend:
            backend.check(task_of(1, 1).table)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(KeyboardInterrupt):
                backend.exact(task_of(1, 1))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_empty_table(store: nasty.Store, exact: Exact) -> None:
    task = task_of(2, 2)
    for rows in (
        [],
        [{"id": None, "ward": "A", "tag": 1, "note": None}],
        [{"id": 1, "ward": "A", "tag": 1, "note": None}],
    ):
        raw = store.put(nasty.Made(table=task.table, types={"id": "INTEGER", **TYPES}, rows=rows))
        assert exact(task, raw) == Reference({"t": rows}).exact(task)
