"""Quotients, roots, logarithms, exponentials of columns: the integer of a row is the exact value, rounded as stated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction as F
from random import Random
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import nasty
from support.refusals import raises_code

import privet as pv
from privet.backends import lookups
from privet.backends.lookups import Lookup, corrections
from privet.backends.translate import SqlTerm, Translator
from privet.core.elementary import floor_root, rounded_value
from privet.core.evaluate import evaluate
from privet.core.expression import (
    Arithmetic,
    Case,
    Column,
    Compare,
    Exponential,
    Expression,
    Greatest,
    Literal,
    Logarithm,
    Power,
    Quotient,
    Real,
    Relation,
    Root,
    Rounded,
    Rounding,
    Sign,
)
from privet.core.plan import Aggregate, By, Function, Joined, Key, Numbered, PerUnit, Plan, Scan
from privet.core.ranges import shape_of
from privet.core.real import MOST_STEPS
from privet.core.schema import Integer, Kind, Number
from privet.core.settling import has_real, settled, settled_plan
from privet.core.shape import Form, Shape, shape_of_kind
from privet.errors import RefusedQueryError

X, Y = Column("x"), Column("y")
NOTHING = Literal(None)


@pytest.fixture(scope="module")
def store() -> Iterator[nasty.Store]:
    made = nasty.Store()
    yield made
    made.close()


def rounded(rounding: Rounding, number: F) -> int:
    match rounding:
        case Rounding.DOWN:
            return math.floor(number)
        case Rounding.UP:
            return math.ceil(number)
        case Rounding.INWARD:
            return math.trunc(number)
        case _:
            return math.floor(number + F(1, 2))


def engine(
    store: nasty.Store, expression: Expression, kinds: dict[str, Kind], rows: Sequence[Sequence[F | None]]
) -> Any:
    """What the engine says of rows of columns x, y."""
    shapes = {name: shape_of_kind(kind) for name, kind in kinds.items()}
    columns = {name: SqlTerm(sql=name, shape=shape, wide=_wide(shape)) for name, shape in shapes.items()}
    sql = Translator(columns).term(expression).sql
    listed = ", ".join(
        f"unnest(CAST(${place} AS {'HUGEINT' if _wide(shape) else 'BIGINT'}[])) AS {name}"
        for place, (name, shape) in enumerate(shapes.items(), 1)
    )
    given_rows = [
        [None if row[place] is None else int(row[place] / shape.step) for row in rows]  # type: ignore[operator]
        for place, shape in enumerate(shapes.values())
    ]
    return [
        found for (found,) in store.connection.execute(f"SELECT {sql} FROM (SELECT {listed})", given_rows).fetchall()
    ]


def _wide(shape: Shape) -> bool:
    return max(abs(shape.low), abs(shape.high)) >= 2**62


def defined(expression: Expression, kinds: dict[str, Kind], rows: Sequence[Sequence[F | None]]) -> list[int | None]:
    shape = shape_of(expression, {name: shape_of_kind(kind) for name, kind in kinds.items()})
    found = [evaluate(expression, dict(zip(kinds, row, strict=True))) for row in rows]
    steps = [None if value is None else value / shape.step for value in found]  # type: ignore[operator]
    assert all(step is None or (step.denominator == 1 and shape.low <= step <= shape.high) for step in steps)
    assert shape.null or None not in steps
    return [None if step is None else int(step) for step in steps]


def values(kind: Kind) -> list[F | None]:
    shape = shape_of_kind(kind)
    return [*(n * shape.step for n in range(shape.low, shape.high + 1)), *([None] if shape.null else [])]


NULLIF_Y = Case(((Compare(Relation.EQUAL, Y, Literal(F(0))), NOTHING),), Y)
SMALL: list[tuple[Real, dict[str, Kind]]] = [
    *(
        (Quotient(X, Y), {"x": x, "y": y})
        for x in (Integer(-9, 9), Number("-0.5", "1.5", step="0.1"), Integer(-8, -2, never_missing=True))
        for y in (Integer(1, 7), Integer(-5, -1), Number("0.25", 3, step="0.25"))
    ),
    *((Quotient(X, NULLIF_Y), {"x": Integer(-9, 9), "y": Integer(*ends)}) for ends in ((-4, 5), (0, 6), (-6, 0))),
    (Quotient(Literal(F(1)), Power(X, 2)), {"x": Number("0.5", 3, step="0.1")}),
    (Quotient(X, Arithmetic(Sign.MULTIPLY, Y, Y)), {"x": Integer(0, 20), "y": Integer(2, 9)}),
    *((Root(X, degree), {"x": Integer(0, 140)}) for degree in (2, 3, 4, 5, 6)),
    (Root(X, 2), {"x": Number(0, "7.3", step="0.1")}),
    (Root(Quotient(X, Y), 2), {"x": Integer(0, 20), "y": Integer(1, 9)}),
    (Root(Quotient(Literal(F(1)), Power(X, 3)), 2), {"x": Integer(1, 40)}),
    *((Logarithm(X, base), {"x": Integer(1, 140)}) for base in (None, 2, 4, 10)),
    (Logarithm(X), {"x": Number("0.05", "3.05", step="0.05")}),
    (Exponential(X), {"x": Number(-3, 5, step="0.05")}),
    (Exponential(X), {"x": Integer(-90, 9)}),
]  # fmt: skip


@pytest.mark.parametrize(("real", "kinds"), SMALL, ids=repr)
def test_engine_and_definition_agree_on_every_row(store: nasty.Store, real: Real, kinds: dict[str, Kind]) -> None:
    """Every rounding, some grids, every row there can be. The range is attained where nothing is missing."""
    rows = list(itertools.product(*(values(kind) for kind in kinds.values())))
    for rounding, step in itertools.product(Rounding, [None, F(1), F(1, 100), F(3, 7)]):
        plain: Expression = Rounded(rounding, real, step) if step else real
        expression = settled(plain, {name: shape_of_kind(kind) for name, kind in kinds.items()})
        found = engine(store, expression, kinds, rows)
        assert found == defined(expression, kinds, rows)
        shape = shape_of(expression, {name: shape_of_kind(kind) for name, kind in kinds.items()})
        there = [step for step in found if step is not None]
        assert (min(there), max(there)) == (shape.low, shape.high)


@pytest.mark.parametrize(("real", "kinds"), SMALL, ids=repr)
def test_what_is_defined_is_the_exact_value_rounded(real: Real, kinds: dict[str, Kind]) -> None:
    rows = list(itertools.product(*(values(kind) for kind in kinds.values())))
    for row, rounding in itertools.product(rows[:: max(1, len(rows) // 40)], Rounding):
        named = dict(zip(kinds, row, strict=True))
        found = evaluate(Rounded(rounding, real, F(1, 100)), named)
        if isinstance(real, Quotient):
            inside = evaluate(real, named)
            meant = None if inside is None else F(rounded(rounding, inside * 100), 100)  # type: ignore[operator]
        else:
            inside = evaluate(real.item, named)
            steps = None if inside is None else rounded_value(real, inside, rounding, F(1, 100))  # type: ignore[arg-type]
            meant = None if steps is None else F(steps, 100)
        assert found == meant


LARGE: list[tuple[Real, dict[str, Kind], F]] = [
    (Quotient(X, Y), {"x": Number(-(10**9), 10**9, step="0.001"), "y": Number("0.001", 9**6, step="0.001")}, F(1, 999)),
    (Quotient(X, Y), {"x": Integer(-(10**20), 10**20), "y": Integer(10**18, 10**19)}, F(1, 1000)),
    (Quotient(X, NULLIF_Y), {"x": Integer(-(10**20), 10**20), "y": Integer(-(10**10), 10**10)}, F(1)),
    (Root(X, 2), {"x": Integer(0, 10**18)}, F(1, 100)),
    (Root(X, 2), {"x": Integer(0, 9 * 10**23)}, F(1)),
    (Root(X, 3), {"x": Integer(0, 10**25)}, F(1, 1000)),
    (Root(X, 6), {"x": Integer(0, 10**9)}, F(1, 10**4)),
    (Root(Quotient(X, Y), 2), {"x": Integer(0, 10**12), "y": Integer(1, 10**6)}, F(1, 1000)),
    (Logarithm(X), {"x": Integer(10**20, 10**20 + 10**5)}, F(1, 10**6)),
    (Exponential(X), {"x": Number(-40, 20, step="0.0001")}, F(1)),
]  # fmt: skip


@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize(("real", "kinds", "step"), LARGE, ids=repr)
def test_large_numbers_agree(
    store: nasty.Store, real: Real, kinds: dict[str, Kind], step: F, rounding: Rounding
) -> None:
    """Extremes, squares and cubes with their neighbors, and any others."""
    rng, rows = Random(repr((real, step, rounding))), []
    for _ in range(200):
        row: list[F | None] = []
        for kind in kinds.values():
            shape = shape_of_kind(kind)
            base = rng.randrange(1, 2 + floor_root(max(abs(shape.low), shape.high), 2)) ** 2
            place = rng.choice(
                [shape.low, shape.high, 0, 1, -1, base, base + 1, base - 1, -base, 10 ** rng.randrange(20)]
            )
            place = rng.choice([place, rng.randint(shape.low, shape.high)])
            row.append(None if rng.random() < 0.05 else min(max(place, shape.low), shape.high) * shape.step)
        rows.append(row)
    expression = Rounded(rounding, real, step)
    assert engine(store, expression, kinds, rows) == defined(expression, kinds, rows)


@pytest.mark.parametrize(
    ("function", "kind"),
    [(Logarithm(X), Integer(1, 10**6)), (Logarithm(X, 10), Number("0.01", 10**4, step="0.01")),
     (Exponential(X), Number(-5, 14, step="0.00002"))],
)  # fmt: skip
@pytest.mark.parametrize("rounding", [Rounding.NEAREST, Rounding.DOWN])
def test_a_million_arguments(store: nasty.Store, function: Any, kind: Kind, rounding: Rounding) -> None:
    """All of them: the engine's numbers never fall, and on both sides of each rise they are exact."""
    declared = shape_of_kind(kind)
    step = F(1, 1000) if isinstance(function, Logarithm) else F(100)
    sql = Translator({"x": SqlTerm(sql="x", shape=declared)}).term(Rounded(rounding, function, step)).sql
    numbers = store.connection.execute(
        f"SELECT x, {sql} AS k, lag(k) OVER (ORDER BY x) AS before FROM range({declared.low}, {declared.high + 1}) r(x)"
        " QUALIFY before IS DISTINCT FROM k ORDER BY x"
    ).fetchall()
    assert len(numbers) > 1000
    for x, here, before in numbers:
        assert rounded_value(function, x * declared.step, rounding, step) == here
        assert before is None or before < here
        assert before is None or rounded_value(function, (x - 1) * declared.step, rounding, step) == before


def test_floats_alone_are_wrong_and_corrected(store: nasty.Store) -> None:
    """The decimal logarithm of 1,000 is 3, and a float says a little less."""
    lookup = Lookup(function=Logarithm(NOTHING, 10), unit=F(1), rounding=Rounding.DOWN, step=F(1))
    (plain,) = store.connection.execute(f"SELECT {lookup.sql('1000')}").fetchone()  # type: ignore[misc]
    assert plain == 2
    assert corrections(lookup, 1, 1000) == ((1, 1, 0), (10, 10, 1), (100, 100, 2), (1000, 1000, 3))
    assert engine(store, Rounded(Rounding.DOWN, Logarithm(X, 10), F(1)), {"x": Integer(1, 1000)}, [(F(1000),)]) == [3]


def test_floats_that_err_far_more_than_libraries_do_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand times the error of a library, up or down: what is not corrected is rounded to the same."""
    for function, unit in ((Logarithm(NOTHING), F(1, 100)), (Exponential(NOTHING), F(1, 20_000))):
        lookup = Lookup(function=function, unit=unit, rounding=Rounding.NEAREST, step=F(1, 10**4))
        proposed, _ = lookup.proposed(lookups.np.arange(1.0, 200_001.0))
        listed = {n for first, last, _ in corrections(lookup, 1, 200_000) for n in range(first, last + 1)}
        size = lookups.np.abs(proposed) + abs(math.log(unit)) * 10**4 * isinstance(function, Logarithm)
        up, down = (lookups.np.floor(proposed + sign * size * 2.0**-43 + 0.5) for sign in (1, -1))
        differ = {int(place) + 1 for place in lookups.np.flatnonzero(up != down)}
        assert differ <= listed
        assert len(listed) < 200
    assert monkeypatch is not None


def test_a_row_counts_the_same_in_every_place_and_thread() -> None:
    """Each value stands in many places of tables of several sizes, and several threads read them."""
    kinds: dict[str, Kind] = {"x": Integer(1, 5000)}
    shapes = {"x": shape_of_kind(kinds["x"])}
    expressions = [
        settled(real, shapes)
        for real in (Logarithm(X), Root(X, 3), Quotient(Literal(F(22)), X), Exponential(Quotient(X, Literal(F(999)))))
    ]
    listed = ", ".join(
        f"{Translator({'x': SqlTerm(sql='x', shape=shapes['x'])}).term(one).sql} AS f{place}"
        for place, one in enumerate(expressions)
    )
    one_by_one = [defined(one, kinds, [(F(x),) for x in range(1, 5001)]) for one in expressions]
    with duckdb.connect() as connection:
        for threads, rows in ((1, 5000), (4, 300_007)):
            connection.execute(f"SET threads = {threads}")
            connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT hash(i) % 5000 + 1 AS x FROM range({rows}) r(i)")
            connection.execute(
                "CREATE OR REPLACE TABLE t AS SELECT CAST(x AS BIGINT) AS x FROM t ORDER BY hash(x, rowid)"
            )
            for row in connection.execute(f"SELECT DISTINCT x, {listed} FROM t").fetchall():
                assert list(row[1:]) == [numbers[row[0] - 1] for numbers in one_by_one]
            (found,) = connection.execute(f"SELECT count(*) FROM (SELECT DISTINCT x, {listed} FROM t)").fetchone()  # type: ignore[misc]
            assert (found,) == connection.execute("SELECT count(DISTINCT x) FROM t").fetchone()


# Grids


def test_a_grid_of_its_own_has_six_digits_of_the_largest_value() -> None:
    def step(real: Real, **kinds: Kind) -> F:
        return shape_of(real, {name: shape_of_kind(kind) for name, kind in kinds.items()}).step

    assert step(Quotient(X, Y), x=Integer(0, 300), y=Integer(1, 3)) == F(1, 1000)
    assert step(Quotient(X, Y), x=Integer(0, 1000), y=Integer(1, 3)) == F(1, 1000)
    assert step(Quotient(X, Y), x=Integer(0, 1001), y=Integer(1, 3)) == F(1, 100)
    assert step(Quotient(X, Y), x=Integer(-5, 0), y=Integer(10**9, 10**10)) == F(1, 10**14)
    assert step(Quotient(X, Y), x=Integer(0, 10**9), y=Integer(1, 2)) == 1000
    assert step(Quotient(X, Y), x=Integer(0, 0), y=Integer(1, 2)) == 1
    assert step(Logarithm(X), x=Integer(1, 10**6)) == F(1, 10**4)
    assert step(Root(X, 2), x=Integer(0, 100)) == F(1, 10**5)
    assert step(Exponential(X), x=Integer(-3, 10)) == F(1, 10)


@given(st.integers(-(10**12), 10**12), st.integers(0, 10**12), st.integers(1, 10**9), st.integers(0, 10**9))
def test_no_grid_of_its_own_is_finer_or_more_than_ten_times_coarser(low: int, more: int, least: int, wide: int) -> None:
    kinds = {"x": Integer(low, low + more), "y": Integer(least, least + wide)}
    shape = shape_of(Quotient(X, Y), {name: shape_of_kind(kind) for name, kind in kinds.items()})
    largest = max(abs(shape.low), abs(shape.high))
    assert largest <= MOST_STEPS
    assert largest == 0 or largest >= MOST_STEPS // 10 - 1


def test_what_stands_in_a_rounding_is_rounded_once() -> None:
    shapes = {"x": shape_of_kind(Integer(1, 9)), "y": shape_of_kind(Integer(1, 9))}
    ratio = Quotient(X, Y)
    once = Rounded(Rounding.DOWN, ratio, F(1, 2))
    assert settled(once, shapes) == once
    assert settled(X, shapes) is X
    assert settled(ratio, shapes) == Rounded(Rounding.NEAREST, ratio, F(1, 10**5))
    assert settled(Root(ratio, 2), shapes) == Rounded(Rounding.NEAREST, Root(ratio, 2), F(1, 10**5))
    twice = settled(Quotient(ratio, Y), shapes)
    assert twice == Rounded(Rounding.NEAREST, Quotient(settled(ratio, shapes), Y), F(1, 10**5))
    assert settled(twice, shapes) == twice
    case = Case(((Compare(Relation.LESS, ratio, X), ratio),), NOTHING)
    assert settled(case, shapes).otherwise == NOTHING
    assert settled(case, shapes).branches[0][1] == settled(ratio, shapes)
    third = Arithmetic(Sign.MULTIPLY, Logarithm(Root(X, 2)), Literal(F(1, 3)))
    assert shape_of(settled(third, shapes), shapes) == shape_of(third, shapes)
    assert has_real((third,))
    assert not has_real((X, None, "a"))


def test_every_row_expression_of_a_plan_gets_its_grid() -> None:
    """In conditions by the declared range; elsewhere by what passes; also in sub-queries and joins."""
    declared = {"t": {"x": shape_of_kind(Integer(0, 9))}, "u": {"y": shape_of_kind(Integer(2, 5))}}
    above = Compare(Relation.GREATER, X, Literal(F(0)))
    ratio = Quotient(Literal(F(1)), X)
    mean = Aggregate(name="a", function=Function.AVG, value=ratio, second=None)
    inner = PerUnit(source=Scan(table="t"), where=above, keys=(Key(name="k", value=ratio),), aggregates=(mean,))
    joined = Joined(left=inner, right=Scan(table="u"), by_unit=True, names=(("y", "y"),), most=1)
    where = Compare(Relation.LESS, Quotient(Column("a"), Y), Literal(F(3)))
    plan = Plan(
        table="t", origin=joined, where=where, keys=(Key(name="g", value=Quotient(Column("a"), Y)),),
        aggregates=(Aggregate(name="m", function=Function.SUM, value=Root(Column("a"), 2)),), outputs=("m",),
    )  # fmt: skip
    found = settled_plan(plan, declared)
    fine = Rounded(Rounding.NEAREST, ratio, F(1, 10**6))
    assert isinstance(found.origin, Joined)
    assert isinstance(found.origin.left, PerUnit)
    assert found.origin.left.keys[0].value == found.origin.left.aggregates[0].value == fine
    assert found.where == settled(where, {"a": shape_of(fine, {"x": replaced(declared["t"]["x"])}), **declared["u"]})
    assert isinstance(found.keys[0].value, Rounded)
    assert isinstance(found.aggregates[0].value, Rounded)
    plain = Plan(table="t", where=above, aggregates=(), outputs=())
    assert settled_plan(plain, declared) is plain
    root = Root(Column("x"), 2)
    first = Numbered(source=Scan(table="t"), keys=(root,), by=(By(value=root),), columns=("x",), name="n", last=1)
    ordered = settled_plan(Plan(table="t", origin=first, aggregates=(), outputs=()), declared).origin
    assert isinstance(ordered, Numbered)
    assert ordered.keys[0] == ordered.by[0].value
    assert isinstance(ordered.keys[0], Rounded)
    assert settled_plan(found, declared) == found


def replaced(shape: Shape) -> Shape:
    return Shape(form=Form.NUMBER, low=1, high=shape.high, null=False)


# Refusals, all before a charge

REFUSED: list[tuple[Expression, dict[str, Kind], str]] = [
    (Quotient(X, Y), {"x": Integer(0, 9), "y": Integer(-3, 3)}, "out-of-domain: can be 0"),
    (Quotient(X, Y), {"x": Integer(0, 9), "y": Integer(0, 0)}, "out-of-domain: GREATEST(y, 1)"),
    (Quotient(X, Y), {"x": Integer(0, 9), "y": Number(0, "0.5", step="0.1")}, "out-of-domain: GREATEST(y, 5e-04)"),
    (Quotient(X, Arithmetic(Sign.SUBTRACT, X, Y)), {"x": Integer(0, 9), "y": Integer(9, 12)}, "out-of-domain: divisor"),
    (Quotient(X, NULLIF_Y), {"x": Integer(0, 9), "y": Integer(0, 0)}, "out-of-domain"),
    (Logarithm(Root(X, 2)), {"x": Integer(0, 9)}, "out-of-domain: LN … from 0 … LN(NULLIF(x, 0))"),
    (Logarithm(X, 10), {"x": Integer(-1, 9)}, "out-of-domain: LOG10 … LOG10(GREATEST(x, 1))"),
    (Root(X, 3), {"x": Integer(-1, 9)}, "out-of-domain: POWER"),
    (Root(X, 7), {"x": Integer(1, 9)}, "out-of-range: degree … from 2 to 6"),
    (Logarithm(X, 1), {"x": Integer(1, 9)}, "out-of-range: base … from 2 to 1000"),
    (Exponential(X), {"x": Integer(1, 81)}, "too-large: EXP(LEAST(x, 80))"),
    (Exponential(Exponential(X)), {"x": Integer(1, 9)}, "too-large"),
    (Logarithm(X), {"x": Integer(1, 10**6 + 2)}, "too-fine: 1,000,002 … LN(ROUND(x / 1e1) * 1e1)"),
    (Logarithm(X), {"x": Number("0.001", 5000, step="0.001")}, "too-fine: 5,000,000 … LN(ROUND(x, 2))"),
    (Rounded(Rounding.DOWN, Root(X, 2), F(1, 10**12)), {"x": Integer(0, 9)}, "too-fine: SQRT … fewer digits"),
    (Rounded(Rounding.DOWN, Logarithm(X), F(1, 10**9)), {"x": Integer(1, 9)}, "too-fine: LN … fewer digits"),
    (Rounded(Rounding.DOWN, Quotient(X, Y), F(1, 10**30)), {"x": Integer(0, 9), "y": Integer(1, 2)}, "too-fine: 9e+25"),
    (Root(Column("t"), 2), {"t": pv.Boolean()}, "type-mismatch"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "kinds", "problem"), REFUSED, ids=repr)
def test_refused(expression: Expression, kinds: dict[str, Kind], problem: str) -> None:
    with raises_code(RefusedQueryError, problem):
        shape_of(expression, {name: shape_of_kind(kind) for name, kind in kinds.items()})


def test_deep_nesting_takes_no_longer_than_its_length() -> None:
    """Each level is looked at once: 40 levels would otherwise take 2**40 looks."""
    value: Expression = X
    for _ in range(40):
        value = Rounded(Rounding.UP, Logarithm(Greatest((value, Literal(F(3))))), F(1))
    assert shape_of(settled(value, {"x": shape_of_kind(Integer(1, 9))}), {"x": shape_of_kind(Integer(1, 9))}).high == 2


def test_of_nothing_comes_nothing() -> None:
    for real in (
        Quotient(NOTHING, X),
        Quotient(X, NOTHING),
        Root(NOTHING, 2),
        Logarithm(NOTHING),
        Exponential(NOTHING),
    ):
        shape = shape_of(Rounded(Rounding.DOWN, real, F(1)), {"x": shape_of_kind(Integer(1, 9))})
        assert shape.form is Form.NOTHING
        term = Translator({"x": SqlTerm(sql="x", shape=shape_of_kind(Integer(1, 9)))}).term(
            Rounded(Rounding.DOWN, real, F(1))
        )
        assert duckdb.sql(f"SELECT {term.sql} FROM (SELECT CAST(1 AS BIGINT) AS x)").fetchall() == [(None,)]
