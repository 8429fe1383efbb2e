"""DuckDB computes what the reference defines, on tables of nasty values and random plans; and planted bugs are seen."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import nasty
from support.fuzz_sensitivity import DEFINED
from support.processes import surroundings
from support.refusals import raises_code

from privet.backends import originsql, readable, reading, reference, rowsql, sqlgen
from privet.backends.content import canonical
from privet.backends.duckdb import _LEFT_TO_THE_PARENT, DuckDb
from privet.backends.reference import Reference, _passing, bounded
from privet.backends.whole import Whole, clamped, constant, quotient, remainder, rounded
from privet.catalog.vault_file import Source, Table
from privet.core import calendar, expression, ranges
from privet.core.evaluate import evaluate
from privet.core.expression import (
    And,
    Arithmetic,
    AsDate,
    AsTime,
    Case,
    Coalesce,
    Column,
    Compare,
    Expression,
    Extracted,
    Field,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Period,
    Relation,
    Rounding,
    Sign,
    Truncated,
)  # fmt: skip
from privet.core.measures import Measure, Role
from privet.core.plan import Aggregate, Function, Key, Plan
from privet.core.ranges import round_to, shape_of
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.core.sensitivity import Bounds
from privet.core.shape import shape_of_kind
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError, RefusedQueryError

SEEDS = range(45)  # tables; the comparison is exact, so which ones does not matter


@pytest.fixture(scope="module")
def store() -> Iterator[nasty.Store]:
    made = nasty.Store()
    yield made
    made.close()


def count(value: Expression | None = None) -> Aggregate:
    return Aggregate(name="n", function=Function.COUNT, value=value)


def total(value: Expression) -> Aggregate:
    return Aggregate(name="s", function=Function.SUM, value=value)


def plan_of(*aggregates: Aggregate, where: Expression | None = None, keys: tuple[Expression, ...] = ()) -> Plan:
    named = tuple(Key(name=f"k{place}", value=key) for place, key in enumerate(keys))
    return Plan(table="t", where=where, keys=named, aggregates=aggregates, outputs=())


def table_of(columns: dict[str, Kind], unit: str | None = None, **limits: Any) -> Table:
    return Table(name="t", source=Source(kind="memory"), unit=unit, columns=columns, **limits)


# Reading

KINDS: list[Kind] = [
    Integer(-3, 20), Integer(0, 0), Integer(-(2**62), 2**64), Integer(2**53, 2**53 + 5), Number(0, 5000, step="0.01"),
    Number(-1, 2, step="1/3"), Number(-7, 7, step="0.7"), Number(0, 10**20, step="1e-5"),
    Number(-(10**13), 10**15, step=10**12), Number("-1e-390", "1e-380", step="1e-395"),
    Number(0, "1e399", step="1e398"), Boolean(), Category(["A", "", "1", "true", "2020-02-29", "A\0", "'"]), Text(),
    Date("2019-03-01", "2021-01-03"), Date("0001-01-01", "9999-12-31"),
    Timestamp("1969-06-01T00:00", "2020-02-29T12:30:15.499999"),
    Timestamp("0001-01-01T00:00", "9999-12-31T23:59:59.999999"),
]  # fmt: skip
TEXTS = [*nasty.WORDS, *nasty.NUMBER_TEXTS, *nasty.DAY_TEXTS, *nasty.TIME_TEXTS, *nasty.TRUTH_TEXTS]
ALL_TYPES = sorted({type_ for types in nasty.TYPES.values() for type_ in types})


def raw_values(type_: str, kind: Kind) -> list[Any]:
    rng = Random(type_)
    if type_ == "VARCHAR":
        return [None, *TEXTS, *map(repr, nasty.FLOATS)]
    listed = nasty.FLOATS if type_ == "DOUBLE" else []
    return [None, *listed, *(nasty.raw_value(rng, type_, kind) for _ in range(150))]


@pytest.mark.counted
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_nasty_value_is_read_as_defined(store: nasty.Store, kind: Kind) -> None:
    for type_ in ALL_TYPES:
        given_values = raw_values(type_, kind)
        rows = [{"i": place, "x": value} for place, value in enumerate(given_values)]
        store.put(nasty.Made(table=None, types={"i": "INTEGER", "x": type_}, rows=rows))
        for declared in (kind, replace(kind, never_missing=True)):
            shape = shape_of_kind(declared)
            how = reading.reading(declared, type_, "x", "r")
            found = store.connection.execute(
                f"SELECT CAST({how.second} AS VARCHAR) FROM (SELECT i, {how.first} AS r FROM stored) ORDER BY i"
            ).fetchall()
            for value, (text,) in zip(given_values, found, strict=True):
                meant = readable.read(value, declared)
                assert nasty.fits(meant, shape)
                assert text == canonical(meant, shape), (type_, value)
                usual = readable.read(value, kind)
                assert meant == (readable.lowest(kind) if usual is None and declared.never_missing else usual)


EXACT_KINDS: list[Integer | Number] = [
    *(kind for kind in KINDS if isinstance(kind, Integer | Number)), Integer(0, 120), Integer(0, 10**20),
    Integer(-(10**16), 10**16), Number(-1, 1, step="0.25"), Number(0, 1, step=Fraction(1, 2**40)),
    Number(0, 700, step=7), Number(-7 * 10**9, 7 * 10**9, step=Fraction(7, 2**40)),
    Number(-(10**12), 10**12, step="0.5"),
    Number("-1e30", "1e30", step="1e25"), Number(-(10**25), 10**25, step="1/2"),
]  # fmt: skip


def number_text(rng: Random, kind: Integer | Number) -> str:
    """Any text of a number: few and many digits, with and without an exponent, often close to half a step."""
    step = getattr(kind, "step", Fraction(1))
    near = (rng.randint(*kind.steps) + rng.choice([0, Fraction(1, 2)])) * step
    digits = rng.choice([0, 1, 2, 3, 13, 14, 17, 18, 20, 36, 37, 40])
    whole, part = divmod(abs(near) + rng.choice([0, 0, 1, -1]) * Fraction(1, 10**digits), 1)
    text = f"{abs(whole)}.{part * 10**digits // 1:0{digits}}"
    if rng.random() < 0.5:
        before, behind = (rng.choices("0123456789059", k=rng.choice([0, 1, 3, 18, 19, 38, 60])) for _ in range(2))
        text = f"{''.join(before)}{rng.choice(['', '.'])}{''.join(behind)}"
    power = rng.choice(["", "", "", "e0", "e-3", "E+2", "e18", "e-20", "e300", "e-999"])
    return rng.choice(["", "-", "+"]) + text + rng.choice(["0" * 20, "", "", ""]) * ("." in text) + power


@pytest.mark.parametrize("kind", EXACT_KINDS, ids=str)
def test_the_text_of_a_number_is_read_exactly(store: nasty.Store, kind: Integer | Number) -> None:
    """In SQL as defined; and as defined means exactly, where half a step is a decimal number."""
    rng, (low, high), step = Random(str(kind)), kind.steps, getattr(kind, "step", Fraction(1))
    texts = [number_text(rng, kind) for _ in range(1500)]
    store.put(
        nasty.Made(
            table=None,
            types={"i": "INTEGER", "x": "VARCHAR"},
            rows=[{"i": place, "x": text} for place, text in enumerate(texts)],
        )
    )
    how = reading.reading(kind, "VARCHAR", "x", "r")
    found = store.connection.execute(
        f"SELECT {how.second} FROM (SELECT i, {how.first} AS r FROM stored) ORDER BY i"
    ).fetchall()
    exact = (step / 2 * Fraction(10) ** readable.decimals(kind).places).denominator == 1
    read = 0
    for text, (steps,) in zip(texts, found, strict=True):
        meant = readable.read(text, kind)
        assert steps == (None if meant is None else meant / step), text
        if meant is not None:
            read += 1
            nearest = min(max(int((Fraction(Decimal(text)) / step + Fraction(1, 2)) // 1), low), high)
            assert meant / step == nearest if exact else abs(meant / step - nearest) <= 1, text
    assert read > 1000


def test_doubles_just_beyond_a_wide_range_are_clamped(store: nasty.Store) -> None:
    """The double next to a bound of 10^25 lies beyond it: what is read is the bound."""
    kind = Number(-(10**25), 10**25, step="1/2")
    numbers = [float(10**25), -float(10**25), 1e24, 0.75, float("inf"), float("-inf"), float("nan"), None]
    rows = [{"i": place, "x": number} for place, number in enumerate(numbers)]
    store.put(nasty.Made(table=None, types={"i": "INTEGER", "x": "DOUBLE"}, rows=rows))
    how = reading.reading(kind, "DOUBLE", "x", "r")
    found = store.connection.execute(
        f"SELECT {how.second} FROM (SELECT i, {how.first} AS r FROM stored) ORDER BY i"
    ).fetchall()
    meant = [None if number is None else readable.read(number, kind) for number in numbers]
    assert [steps for (steps,) in found] == [None if value is None else value * 2 for value in meant]
    assert found[0] == (2 * 10**25,)
    assert found[1] == (-2 * 10**25,)


def test_units_of_64_bits_without_a_sign_are_different_numbers(store: nasty.Store) -> None:
    units = [0, 1, 2**63 - 1, 2**63, 2**64 - 1]
    listed = ", ".join(f"({unit}::UBIGINT)" for unit in units)
    found = store.connection.execute(f"SELECT {rowsql._whole('UBIGINT')} FROM (VALUES {listed}) AS t(u)").fetchall()
    assert sorted(found) == [(unit - 2**63,) for unit in units]


def test_decimals_do_not_pass_through_doubles() -> None:
    assert readable.read("0.145", Number(0, 1, step="0.01")) == Fraction("0.15")
    assert readable.read("9007199254740993", Integer(0, 10**16)) == 9007199254740993
    assert readable.read("-0.145", Number(-1, 1, step="0.01")) == Fraction("-0.14")  # halves upward
    assert readable.read("0.14" + "9" * 5000, Number(0, 1, step="0.01")) == Fraction("0.15")
    assert readable.read("0.145", Number(0, 1, step="1e-30")) == Fraction("0.145")


def test_what_values_mean() -> None:
    money = Number(0, 5000, step="0.01")
    assert readable.read("1e3", money) == 1000
    assert readable.read(" 12.345 ", money) == Fraction("12.35")
    assert readable.read(float("inf"), money) == readable.read("1e999", money) == readable.read(10**50, money) == 5000
    assert readable.read(Decimal("0.005"), money) == Fraction(1, 100)
    assert readable.read(True, Integer(0, 5)) == 1
    for nothing in (None, float("nan"), "1_000", "NaN", "１２", b"1", Decimal("NaN"), Decimal("Infinity"), [1], 1j):
        assert readable.read(nothing, money) is None
    assert readable.read(
        dt.datetime(2020, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2))), Date("2000-01-01", "2030-01-01")
    ) == dt.date(2019, 12, 31)
    early = dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2)))  # before the year 1 in UTC
    for kind in (Date("0001-01-01", "2030-01-01"), Timestamp("0001-01-01", "2030-01-01")):
        assert readable.read(early, kind) is None
        assert readable.read(pd.NaT, kind) is None
        assert readable.read(5, kind) is None
    assert readable.read(dt.date(2020, 1, 1), Timestamp("2000-01-01", "2030-01-01")) == dt.datetime(2020, 1, 1)
    assert readable.read(1.0, Boolean()) is True
    assert readable.read(float("nan"), Boolean()) is None
    assert readable.read(2, Boolean()) is None
    assert readable.read(b"x", Boolean()) is None
    assert readable.read(dt.datetime(2020, 1, 1), Text()) is None
    assert readable.read(False, Category(["false"])) == "false"


@settings(max_examples=150)
@given(
    st.one_of(
        st.floats(),
        st.integers(),
        st.decimals(),
        st.text(),
        st.binary(),
        st.none(),
        st.dates(),
        st.datetimes(),
        st.booleans(),
    )
)
def test_reading_never_fails_and_stays_in_the_declared_range(value: object) -> None:
    for kind in KINDS:
        assert nasty.fits(readable.read(value, kind), shape_of_kind(kind))


# Whole numbers that cannot overflow

RATIOS = [
    Fraction(3, 7),
    Fraction(1, 10**38),
    Fraction(3, 10**38),
    Fraction(10**20 + 1, 10**20),
    Fraction(7, 2**100),
    Fraction(2, 1),
    Fraction(1, 2),
]


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("rounding", list(Rounding))
def test_rounding_is_exact_at_every_width(store: nasty.Store, ratio: Fraction, rounding: Rounding) -> None:
    for most in (5, 2**40, 2**61, 2**63 - 1, 10**25, 10**38 - 1):
        type_ = "BIGINT" if most < 2**63 else "HUGEINT"
        numbers = sorted({0, 1, -1, 3, -3, most, -most, most // 2, -(most // 2), min(most, 5 * 10**37)})
        item = Whole(sql="x", low=-most, high=most, wide=type_ == "HUGEINT")
        try:
            sql = rounded(item, ratio, rounding).sql
        except RefusedQueryError:
            assert most * ratio.numerator > 2**80
            continue
        for number in [*numbers, None]:
            found = store.connection.execute(f"SELECT {sql} FROM (SELECT CAST(? AS {type_}) AS x)", [number]).fetchall()
            assert found == [(None if number is None else round_to(rounding, number * ratio),)]


def test_division_and_clamping(store: nasty.Store) -> None:
    for number, divisor in itertools.product([-(10**38) + 1, -8, -7, -1, 0, 1, 6, 7, 10**38 - 1], [1, 7, 10**38]):
        x = Whole(sql=f"CAST({number} AS HUGEINT)", low=1 - 10**38, high=10**38 - 1, wide=True)
        assert store.connection.execute(f"SELECT {quotient(x, divisor).sql}").fetchall() == [(number // divisor,)]
        assert store.connection.execute(f"SELECT {clamped(x, -5, 2**70).sql}").fetchall() == [
            (max(-5, min(number, 2**70)),)
        ]
    for number in range(-20, 20):
        x = Whole(sql=f"CAST({number} AS BIGINT)", low=-20, high=20)
        assert store.connection.execute(f"SELECT {remainder(x, 7).sql}").fetchall() == [(number % 7,)]


def test_what_needs_too_many_digits_is_refused() -> None:
    x = Whole(sql="x", low=-(10**25), high=10**25, wide=True)
    for ratio in (Fraction(10**30 + 1, 10**30), Fraction(10**40, 3)):
        with raises_code(RefusedQueryError, "too-fine: digits"):
            rounded(x, ratio, Rounding.DOWN)
    with raises_code(RefusedQueryError, "too-fine: digits"):
        rounded(replace(x, sql="x" * 20_000), Fraction(1, 10**38), Rounding.DOWN)  # it would be repeated
    with raises_code(RefusedQueryError, "too-fine: digits"):
        constant(2**127)


def test_nested_questions_do_not_grow_exponentially(store: nasty.Store) -> None:
    table = table_of({"time": Timestamp("2000-01-01", "2030-01-01")})
    value: Expression = Column("time")
    for _ in range(30):
        value = Truncated(Period.QUARTER, AsTime(AsDate(value)))
        hour = Compare(Relation.GREATER, Extracted(Field.HOUR, value), Literal(Fraction(3)))
        value = Case(((hour, Literal(dt.datetime(2020, 1, 1))),), Literal(dt.datetime(2021, 5, 5)))
    made = nasty.Made(table=table, types={"time": "TIMESTAMP"}, rows=[{"time": dt.datetime(2020, 5, 17)}])
    task = nasty.task_of(plan_of(count(value)), table)
    raw = store.put(made)
    assert len(sqlgen.statement(task, raw).sql) < 200_000
    assert store.exact(task, raw) == [[1]]


# Whole tasks


def wrong_plans(store: nasty.Store, seeds: range, seen: set[str] | None = None) -> Iterator[Plan]:
    """Plans on which the engine and the reference differ, or the reference sees a value out of its range."""
    for seed in seeds:
        rng = Random(seed)
        made = nasty.random_table(rng)
        raw = store.put(made)
        for _ in range(3):
            plan = nasty.random_plan(rng, made.table)
            task = nasty.task_of(plan, made.table, secret=rng.randbytes(16))
            if seen is not None:
                seen |= nasty.nodes_in(plan)
            try:
                same = store.exact(task, raw) == Reference({"t": made.rows}).exact(task)
            except (AssertionError, duckdb.Error):
                same = False
            if not same:
                yield plan


def test_random_tasks_give_the_same_integers(store: nasty.Store) -> None:
    seen: set[str] = set()
    assert list(wrong_plans(store, SEEDS, seen)) == []
    nodes = {node.__name__ for node in expression.Expression.__args__}
    assert nodes <= seen


@settings(max_examples=60)
@given(data=st.data())
def test_generated_tasks_give_the_same_integers(store: nasty.Store, data: st.DataObject) -> None:
    made = data.draw(nasty.tables())
    task = nasty.task_of(
        data.draw(nasty.plans(made.table)),
        made.table,
        data.draw(st.sampled_from(Neighbors)),
        data.draw(st.binary(max_size=8)),
    )
    assert store.exact(task, store.put(made)) == Reference({"t": made.rows}).exact(task)


@pytest.mark.parametrize(
    ("groups", "rows", "in_all"),
    [(1, 1, None), (1, 4, None), (2, 3, None), (3, 2, None), (4, 1, None), (4, 4, 5), (2, 9, 8), (9, 9, 2)],
)
def test_the_same_rows_are_kept_where_bounds_bind(
    store: nasty.Store, groups: int, rows: int, in_all: int | None
) -> None:
    columns: dict[str, Kind] = {"ward": Category(["A", "B", "é"]), "cost": Number(-5, 30, step="0.5"), "note": Text()}
    table = table_of(columns, unit="id", max_groups=groups, max_rows_per_group=rows, max_rows=in_all)
    for type_, seed in itertools.product(nasty.UNIT_TYPES, range(2)):
        rng = Random(f"{type_} {seed}")
        types = {"id": type_, "ward": "VARCHAR", "cost": "DOUBLE", "note": "VARCHAR"}
        units = [None, *nasty.UNITS] if type_ == "VARCHAR" else [nasty.raw_value(rng, type_, None) for _ in range(6)]
        made = [
            {"id": rng.choice(units), **{name: nasty.raw_value(rng, types[name], columns[name]) for name in columns}}
            for _ in range(60)
        ]
        plan = plan_of(count(), count(Column("note")), total(Column("cost")), keys=(Column("ward"),))
        task = nasty.task_of(plan, table, secret=rng.randbytes(8))
        raw = store.put(nasty.Made(table=table, types=types, rows=made))
        assert store.exact(task, raw) == Reference({"t": made}).exact(task)


def test_empty_and_missing(store: nasty.Store) -> None:
    columns: dict[str, Kind] = {"a": Integer(0, 5), "b": Category(["x", "y"]), "c": Date("2020-01-01", "2020-01-03")}
    types = {"a": "INTEGER", "b": "VARCHAR", "c": "DATE", "id": "BIGINT"}
    for unit, rows in itertools.product(
        (None, "id"), ([], [dict.fromkeys(types)] * 3, [{**dict.fromkeys(types), "id": 1}] * 3)
    ):
        table = table_of(columns, unit=unit)
        for keys in ((), (Column("b"),), (Column("c"), Column("b")), (Literal(None),)):
            task = nasty.task_of(plan_of(count(), count(Column("a")), total(Column("a")), keys=keys), table)
            assert store.exact(task, store.put(nasty.Made(table=table, types=types, rows=rows))) == Reference(
                {"t": rows}
            ).exact(task)


@pytest.mark.parametrize("unit", [None, "id"])
@pytest.mark.parametrize("portable", [True, False])
def test_units_are_counted_whatever_value_the_measure_has(unit: str | None, portable: bool) -> None:
    """A unit is priced as 1 there. Fronts make no such measures with a value, and none of keys."""
    rows = [{"id": 1, "a": 5}, {"id": 1, "a": 4}, {"id": 2, "a": None}]
    frame = {"id": [1, 1, 2], "a": [5, 4, None]}
    table = table_of({"a": Integer(0, 5)}, unit=unit, **({} if unit is None else {"max_rows_per_group": 2}))
    asked = nasty.task_of(plan_of(total(Column("a"))), table)
    roles = itertools.product((Role.PEOPLE, Role.KEYS), (None, Column("a")))
    task = replace(asked, measures=tuple(Measure(role=role, value=value, high=5) for role, value in roles))
    with DuckDb(Path(), {"t": frame}, portable=portable) as engine:
        assert engine.exact(task) == Reference({"t": rows}).exact(task) == [[3 if unit is None else 2]] * 4


def test_every_day_and_second_is_cut_and_read_like_the_calendar(store: nasty.Store) -> None:
    """All fields and periods over days at the ends of years, in all of them."""
    days = [
        dt.date(year, month, day)
        for year in (1, 4, 1582, *range(1968, 2032, 3), 9999)
        for month, day in ((1, 1), (1, 4), (2, 28), (3, 1), (12, 29), (12, 31))
    ]
    table = table_of(
        {"d": Date("0001-01-01", "9999-12-31"), "t": Timestamp("0001-01-01T00:00", "9999-12-31T23:59:59.999999")}
    )
    clock = dt.timedelta(hours=17, minutes=59, seconds=58, microseconds=999_999)
    rows = [{"d": day, "t": calendar.midnight(day) + clock} for day in days]
    raw = store.put(nasty.Made(table=table, types={"d": "DATE", "t": "TIMESTAMP"}, rows=rows))
    for name in ("d", "t"):
        item = Column(name)
        since = Arithmetic(Sign.SUBTRACT, AsDate(item), Literal(dt.date(1, 1, 1)))
        cut = [Truncated(period, item) for period in Period]
        wanted = [Extracted(field, item) for field in Field] + [
            Arithmetic(Sign.SUBTRACT, AsDate(one), AsDate(Literal(dt.date(1, 1, 1)))) for one in cut
        ]
        wanted += [Arithmetic(Sign.MULTIPLY, since, Extracted(Field.SECOND, one)) for one in cut]
        for value in wanted:  # weighted by the day, so that errors cannot cancel out
            task = nasty.task_of(plan_of(total(Arithmetic(Sign.MULTIPLY, value, since))), table)
            assert store.exact(task, raw) == Reference({"t": rows}).exact(task), value


def test_null_in_a_list_and_empty_nodes(store: nasty.Store) -> None:
    table = table_of({"a": Integer(0, 5), "b": Category(["x", "y"])})
    rows = [{"a": a, "b": b} for a, b in itertools.product([None, 0, 1, 9], [None, "x", "z"])]
    raw = store.put(nasty.Made(table=table, types={"a": "INTEGER", "b": "VARCHAR"}, rows=rows))
    a, b = Column("a"), Column("b")
    tried: list[Expression] = [
        And(()),
        Or(()),
        In(a, ()),
        In(a, (Fraction(1), None)),
        In(a, (None,)),
        In(Literal(None), (Fraction(1),)),
        In(a, (Fraction(1, 2),)),
        In(b, ("\ud800",)),
        In(b, ("x", "\ud800")),
        Compare(Relation.UNEQUAL, b, Literal("\ud800")),
        Not(Literal(None)),
        IsNull(Literal(None)),
        And((Literal(None), IsNull(a))),
        Compare(Relation.LESS, a, Literal(None)),
        Case((), Compare(Relation.EQUAL, b, Literal("x"))),
    ]
    for where in tried:
        for key in (where, Case(((where, Literal("\ud800")),), Literal("x")), Coalesce((Literal(None), where))):
            task = nasty.task_of(plan_of(count(), count(where), keys=(key,)), table)
            assert store.exact(task, raw) == Reference({"t": rows}).exact(task), where


def test_a_constant_column_does_not_break_the_engine(tmp_path: Path) -> None:
    """Knowing that a is always 5, DuckDB 2.0 fails to simplify this condition; on other data it would not fail."""
    table = table_of({"a": Boolean()})
    where = Compare(Relation.EQUAL, Case(((Column("a"), Literal("x")),), Literal(None)), Literal("y"))
    with DuckDb(tmp_path, {"t": pd.DataFrame({"a": [5, 5]})}) as engine:
        assert engine.exact(nasty.task_of(plan_of(count(), where=where), table)) == [[0]]


def test_values_lie_in_their_shapes() -> None:
    for seed in range(80):
        rng = Random(seed)
        made = nasty.random_table(rng)
        declared = {name: shape_of_kind(kind) for name, kind in made.table.columns.items()}
        rows = [
            {name: readable.read(raw[name], kind) for name, kind in made.table.columns.items()} for raw in made.rows
        ]
        for _ in range(6):
            found = nasty.random_expression(rng, declared)
            assert all(nasty.fits(evaluate(found, row), shape_of(found, declared)) for row in rows), (seed, found)


def test_not_lies_in_its_shape() -> None:
    assert nasty.fits(True, shape_of(Not(Literal(False)), {}))


def test_keys_that_are_no_cell_are_dropped() -> None:
    query = sqlgen.Statement(sql="", recipes=((0, 0, 0), (1, 10, 0)))
    assert query.dense([(None, 5, 7), (1, 2, None), (2, 9, 9), (-1, 9, 9)], 2) == [[0, 2], [0, -20]]


def test_order_and_threads_change_nothing() -> None:
    one, many = nasty.Store(threads=1), nasty.Store(threads=4)
    for seed in range(12):
        rng = Random(seed)
        made = nasty.random_table(rng, rows=60)
        task = nasty.task_of(nasty.random_plan(rng, made.table), made.table)
        mixed = nasty.Made(table=made.table, types=made.types, rows=rng.sample(made.rows, 60))
        assert (
            one.exact(task, one.put(made))
            == many.exact(task, many.put(mixed))
            == Reference({"t": mixed.rows}).exact(task)
        )
    one.close()
    many.close()


# Bounding


def test_bounding_looks_at_one_unit_and_keeps_the_limits() -> None:
    for seed in range(25):
        rng = Random(seed)
        made = nasty.random_table(rng, unit=True, rows=40)
        task = nasty.task_of(nasty.random_plan(rng, made.table), made.table)
        task = replace(
            task, bounds=Bounds(groups=rng.randint(1, 3), rows=rng.randint(1, 3), neighbors=Neighbors.ADD_REMOVE)
        )
        kept = _kept(task, made.rows)
        cells = Counter((row.unit, row.cell) for row in kept)
        assert all(times <= task.bounds.rows for times in cells.values())
        assert all(times <= task.bounds.groups for times in Counter(unit for unit, _ in cells).values())
        for unit in {row.unit for row in kept}:
            alone = _kept(task, [row for row in made.rows if row["unit id"] == unit])
            without = _kept(task, [row for row in made.rows if row["unit id"] != unit])
            assert _counted(alone) + _counted(without) == _counted(kept)


def _kept(task: Any, rows: list[nasty.Row]) -> list[Any]:
    return bounded(task, list(_passing(task, {"t": rows})))


def _counted(kept: list[Any]) -> Counter[Any]:
    return Counter((row.unit, row.cell, tuple(row.row.items())) for row in kept)


# Planted bugs: the comparison must notice each


def test_a_missing_clamp_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def unclamped(_kind: Any, whole: Whole, name: str, _unit: Fraction) -> reading.Reading:
        return reading.Reading(first=whole.sql, second=name, wide=whole.wide)

    monkeypatch.setattr(reading, "_from_whole", unclamped)
    assert next(wrong_plans(store, SEEDS), None)


def test_a_reference_without_clamp_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readable, "min", lambda *items: items[0], raising=False)
    monkeypatch.setattr(readable, "max", lambda *items: items[0], raising=False)
    assert next(wrong_plans(store, SEEDS), None)


def test_wrong_range_propagation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of({"a": Integer(-3, 5), "b": Integer(-4, 2)})
    rows = [{"a": a, "b": b} for a, b in itertools.product(range(-3, 6), range(-4, 3))]
    product = Arithmetic(Sign.MULTIPLY, Column("a"), Column("b"))
    plan = plan_of(total(product))
    monkeypatch.setattr(reference, "steps_of", DEFINED)  # the fuzzer's, where it was imported, notices by itself
    assert Reference({"t": rows}).exact(nasty.task_of(plan, table))
    right = ranges._arithmetic

    def wrong(sign: Sign, left: Any, right_side: Any) -> Any:
        shape = right(sign, left, right_side)
        low, high = sorted((left.low * right_side.low, left.high * right_side.high))
        return shape if sign is not Sign.MULTIPLY else replace(shape, low=low, high=high)

    monkeypatch.setattr(ranges, "_arithmetic", wrong)
    ((found,),) = Reference({"t": rows}).exact(nasty.task_of(plan, table))
    assert found == sum(min(max(a * b, 10), 12) for a, b in map(dict.values, rows)), (
        "clamped to the ends that are priced"
    )
    assert not all(
        nasty.fits(evaluate(product, row), shape_of(product, nasty.task_of(plan, table).declared))
        for row in _read(table, rows)
    )


def _read(table: Table, rows: list[nasty.Row]) -> list[dict[str, Any]]:
    return [{name: readable.read(row[name], kind) for name, kind in table.columns.items()} for row in rows]


def test_a_missing_value_that_stays_missing_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a column that is never missing: by SQL, and by the definition."""
    with monkeypatch.context() as patch:
        patch.setattr(reading, "reading", reading._reading)
        patch.setattr(originsql, "reading", reading._reading)
        assert next(wrong_plans(store, SEEDS), None)
    monkeypatch.setattr(readable, "lowest", lambda _: None)
    assert next(wrong_plans(store, SEEDS), None)


def test_counting_null_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    right = sqlgen._Sums._place
    monkeypatch.setattr(
        sqlgen._Sums, "_place", lambda self, sql: right(self, "count(*)" if sql.startswith("count(") else sql)
    )
    assert next(wrong_plans(store, SEEDS), None)


def test_a_forgotten_bound_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlgen, "_bounded", lambda *given: given[-1])
    with pytest.raises(AssertionError):
        test_the_same_rows_are_kept_where_bounds_bind(store, 1, 1, None)


# The engine itself

VISITS = table_of({"ward": Category(["A", "B"]), "cost": Number(0, 10, step="0.5")})
FRAME = pd.DataFrame(
    {"ward": ["A", "B", "A", None, "Z"], "cost": [1.0, 2.25, float("nan"), 99, -5], "id": [1, 1, 2, 3, None]}
)
ASKED = plan_of(count(), total(Column("cost")), keys=(Column("ward"),))
ANSWER = [[2, 1, 2], [2, 5, 20]]


def test_frames_and_files_give_the_same(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "v.parquet")
    FRAME.to_csv(tmp_path / "v.csv", index=False)
    with DuckDb(tmp_path, {"t": FRAME}, scratch=tmp_path / "scratch") as engine:
        for source in (
            Source(kind="memory"),
            Source(kind="parquet", path="v.parquet"),
            Source(kind="csv", path="v.csv"),
        ):
            assert engine.exact(nasty.task_of(ASKED, replace(VISITS, source=source))) == ANSWER
    assert list(tmp_path.glob("scratch/*")) == []


def test_a_table_is_loaded_again_when_it_changes() -> None:
    memory: dict[str, object] = {"t": FRAME}
    with DuckDb(Path(), memory) as engine:
        assert engine.exact(nasty.task_of(ASKED, VISITS)) == ANSWER
        first = engine._attached["t"]
        assert engine.exact(nasty.task_of(ASKED, VISITS)) == ANSWER
        assert engine._attached["t"] is first
        memory["t"] = FRAME[:1]
        assert engine.exact(nasty.task_of(ASKED, VISITS)) == [[1, 0, 0], [2, 0, 0]]
        assert engine.exact(nasty.task_of(ASKED, replace(VISITS, version=2))) == [[1, 0, 0], [2, 0, 0]]
        assert engine._attached["t"].tables[0].version == 2
        folder = engine._folder.path
        engine.check(VISITS)
        with pytest.raises(InvalidInputError):
            engine.check(table_of({"nothing": Integer(0, 1)}))
        engine.close()
        assert folder is not None
        assert not folder.exists()
        assert engine.exact(nasty.task_of(ASKED, VISITS)) == [[1, 0, 0], [2, 0, 0]]


def test_values_that_the_engine_cannot_read_are_found_by_the_owner(tmp_path: Path) -> None:
    late = pa.array([1_600_000_000_000, 2**63 - 3], pa.int64()).cast(pa.timestamp("ms"))
    broken = pa.Array.from_buffers(pa.string(), 2, pa.array([b"SECRET", b"\xff\xfe"]).buffers())
    pq.write_table(pa.table({"n": [1, 2], "late": late, "broken": broken}), tmp_path / "v.parquet")
    moments = Timestamp("2000-01-01T00:00", "2030-01-01T00:00")
    whole = replace(table_of({"n": Integer(0, 9)}), source=Source(kind="parquet", path="v.parquet"))
    with DuckDb(tmp_path, {}) as engine:
        engine.check(whole)
        for table, name in (
            (replace(whole, columns={"n": Integer(0, 9), "late": moments}), "late"),
            (replace(whole, columns={"n": Integer(0, 9), "broken": Text()}), "broken"),
            (replace(whole, unit="broken", max_groups=2), "broken"),
            (replace(whole, columns={"n": Integer(0, 9), "late": moments}, missing={"late": ("NA",)}), "late"),
        ):
            with raises_code(InvalidInputError, f"unreadable-value: 't' … '{name}'") as caught:
                engine.check(table)
            assert "SECRET" not in str(caught.value)
            assert caught.value.__context__ is None
        assert engine.exact(nasty.task_of(plan_of(total(Column("n"))), whole)) == [[3]]


@pytest.mark.parametrize("codes", [(), ("NA",)])
def test_no_moment_makes_a_question_fail(tmp_path: Path, codes: tuple[str, ...]) -> None:
    """Neither it nor the next one: one value must not invalidate the whole database."""
    moments = Timestamp("2000-01-01T00:00", "2030-01-01T00:00")
    for unit, zone in itertools.product(("us", "ns"), (None, "UTC")):
        ticks = [10**9 * (10**6 if unit == "us" else 10**9), -(2**63) + 5, 2**63 - 3, None]
        column = pa.array(ticks, pa.int64()).cast(pa.timestamp(unit, zone))
        pq.write_table(pa.table({"x": column, "id": ["a", "b", "c", "d"]}), tmp_path / "v.parquet")
        source = Source(kind="parquet", path="v.parquet", missing=codes)
        table = replace(table_of({"x": moments}, unit="id"), source=source)
        asked = plan_of(count(), where=Compare(Relation.GREATER, Column("x"), Literal(dt.datetime(2001, 1, 1))))
        with DuckDb(tmp_path, {}) as engine:
            engine.check(table)
            assert engine.exact(nasty.task_of(asked, table)) == [[1 + (unit == "ns")]]
            assert engine.exact(nasty.task_of(plan_of(count()), table)) == [[4]]


def test_after_an_error_of_the_engine_the_table_is_opened_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    with DuckDb(Path(), {"t": FRAME}) as engine:
        engine.check(VISITS)
        first = engine._attached["t"]
        with monkeypatch.context() as patch:
            broken = sqlgen.Statement(sql="SELECT error('SECRET')", recipes=())
            patch.setattr("privet.backends.written.statement", lambda *_: broken)
            with pytest.raises(duckdb.Error):
                engine.exact(nasty.task_of(ASKED, VISITS))
        assert engine._attached == {}
        assert engine.exact(nasty.task_of(ASKED, VISITS)) == ANSWER
        second = engine._attached["t"]
        assert second is not first
        with pytest.raises(duckdb.Error):
            _fail_beside_another_thread(engine)
        third = engine._attached["t"]
        assert third is not second
        assert engine.exact(nasty.task_of(ASKED, VISITS)) == ANSWER
        assert engine._attached["t"] is third
        second.connection.close()


def _fail_beside_another_thread(engine: DuckDb) -> None:
    with engine._asked(VISITS) as (_, cursor):
        del engine._attached["t"]  # the other thread has seen an error too, and asked again
        engine.check(VISITS)
        cursor.execute("SELECT error('SECRET')").fetchall()


def test_an_error_that_comes_and_goes_names_no_column(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = iter([("age", "SELECT error('SECRET')")])
    monkeypatch.setattr("privet.backends.duckdb.counts", lambda *_: trials)
    with DuckDb(Path(), {"t": FRAME}) as engine:
        with raises_code(InvalidInputError, "unreadable-value: 't': the"):
            engine.check(VISITS)
        assert engine.exact(nasty.task_of(ASKED, VISITS)) == ANSWER


def test_a_file_that_ends_inside_a_quote_is_refused_when_it_is_checked(tmp_path: Path) -> None:
    table = replace(table_of({"a": Integer(0, 9)}), source=Source(kind="csv", path="v.csv"))
    with DuckDb(tmp_path, {}) as engine:
        (tmp_path / "v.csv").write_text('a,b\n1,"x\n2,y"\n')
        engine.check(table)
        (tmp_path / "v.csv").write_text('a,b\n1,"x\n2,y\n')
        engine.close()
        with raises_code(InvalidInputError, "unclosed-quote: 't'"):
            engine.check(table)
        assert engine.exact(nasty.task_of(plan_of(count()), table)) == [[1]]  # after a charge nothing is refused


def test_what_cannot_be_attached_leaves_nothing_open(tmp_path: Path) -> None:
    with DuckDb(tmp_path, {}) as engine:
        missing = replace(VISITS, source=Source(kind="parquet", path="none.parquet"))
        with pytest.raises(InvalidInputError):
            engine.exact(nasty.task_of(ASKED, missing))
        assert engine._attached == {}


@pytest.mark.parametrize(("text", "kind"), [("broken", RuntimeError), ("Query interrupted", KeyboardInterrupt)])
def test_a_failing_attachment_says_so(monkeypatch: pytest.MonkeyPatch, text: str, kind: type[BaseException]) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(text)

    monkeypatch.setattr("privet.backends.duckdb.attach", broken)
    with DuckDb(Path(), {"t": FRAME}) as engine, pytest.raises(kind):
        engine.exact(nasty.task_of(ASKED, VISITS))


def test_threads_share_an_engine() -> None:
    found: list[object] = []
    with DuckDb(Path(), {"t": FRAME}) as engine:
        workers = [
            threading.Thread(target=lambda: found.append(engine.exact(nasty.task_of(ASKED, VISITS)))) for _ in range(8)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert found == [ANSWER] * 8


FORK = """
import os
from support import nasty
from test_backends import ANSWER, ASKED, FRAME, VISITS, DuckDb, Path
engine = DuckDb(Path(), {"t": FRAME})
task = nasty.task_of(ASKED, VISITS)
assert engine.exact(task) == ANSWER
child = os.fork()
if child == 0:
    engine.close()  # the parent's databases stay
    assert engine.exact(task) == ANSWER
    engine.close()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert engine._folder.path.exists()
assert engine.exact(task) == ANSWER
engine.close()
print("both")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_opens_its_own_databases() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK],
        env=surroundings(Path(__file__).parent),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.stdout, run.stderr, run.returncode) == ("both\n", "", 0)


def test_another_process_leaves_the_databases_alone() -> None:
    with DuckDb(Path(), {"t": FRAME}) as engine:
        assert engine.exact(nasty.task_of(ASKED, VISITS)) == ANSWER
        folder, engine._process = engine._folder, -1
        engine.close()
        assert folder.path.exists()
        assert engine.exact(nasty.task_of(ASKED, VISITS)) == ANSWER
    left = _LEFT_TO_THE_PARENT.pop()
    left["t"].connection.close()
    folder.remove()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_a_key_press_stops_a_query(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    endless = sqlgen.Statement(
        sql="SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range + b.range = -1",
        recipes=(),
    )
    monkeypatch.setattr("privet.backends.written.statement", lambda *_: endless)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with DuckDb(Path(), {"t": FRAME}) as engine:
            engine.check(VISITS)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(KeyboardInterrupt):
                engine.exact(nasty.task_of(ASKED, VISITS))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert capfd.readouterr() == ("", "")


def test_what_the_engine_cannot_write_down_is_refused_without_data() -> None:
    columns = {"x": Number(0, 10**9, step=Fraction(1, 10**9))}
    table = Table(name="t", source=Source(kind="memory"), unit=None, columns=columns)
    fine = Aggregate(name="a", function=Function.SUM, value=Column("x"))
    odd = expression.Rounded(expression.Rounding.NEAREST, Column("x"), Fraction(10**30 + 57, 10**31 + 33))
    engine = DuckDb(Path(), {})  # no data anywhere
    for value, refused in ((fine.value, False), (odd, True)):
        plan = Plan(table="t", aggregates=(replace(fine, value=value),), outputs=("a",))
        task = nasty.task_of(plan, table)
        if refused:
            with raises_code(RefusedQueryError, "too-fine: digits"):
                engine.write(task)
        else:
            engine.write(task)
