"""Ranges of expressions, against every row there can be. Of a single operation the range is attained."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator
from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import raises_code

from privet.core import calendar, ranges
from privet.core.cells import Cells, cells_of
from privet.core.evaluate import Row, evaluate
from privet.core.expression import (
    Absolute,
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
    Greatest,
    In,
    IsNull,
    Least,
    Literal,
    Not,
    Or,
    Period,
    Relation,
    Rounded,
    Rounding,
    Sign,
    Truncated,
    Value,
    substituted,
)  # fmt: skip
from privet.core.narrow import narrowed
from privet.core.plan import Aggregate, Function, Key, Plan
from privet.core.ranges import shape_of
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.core.shape import LIMIT, Form, Shape, shape_of_kind
from privet.errors import RefusedQueryError

KINDS: dict[str, Kind] = {
    "a": Integer(-2, 3),
    "b": Number("-0.5", 1, step="0.5"),
    "big": Integer(2, 4),
    "t": Boolean(),
    "w": Category(["x", "y"]),
    "d": Date("2020-12-30", "2021-01-05"),
    "s": Timestamp("2020-12-31T22:30", "2021-01-01T01:30"),
    "city": Text(),
}
SHAPES = {name: shape_of_kind(kind) for name, kind in KINDS.items()}
A, B, BIG, T, W, D, S, CITY = (Column(name) for name in KINDS)
ZERO, ONE, NULL = Literal(F(0)), Literal(F(1)), Literal(None)
POINTS: dict[str, list[Value]] = {
    "s": [
        dt.datetime(2020, 12, 31, 22, 30),
        dt.datetime(2020, 12, 31, 23, 59, 59),
        dt.datetime(2021, 1, 1, 1, 30),
        None,
    ],
    "city": ["x", "Ü", None],
}


def values(name: str) -> list[Value]:
    if name in POINTS:
        return POINTS[name]
    plan = Plan(table="t", keys=(Key(name="k", value=Column(name)),), aggregates=(), outputs=())
    return list(cells_of(plan, SHAPES).domains[0])


def columns(item: object) -> set[str]:
    if isinstance(item, Column):
        return {item.name}
    if isinstance(item, tuple):
        return set().union(*map(columns, item))
    return (
        columns(tuple(getattr(item, n) for n in getattr(item, "__slots__", ())))
        if hasattr(item, "__slots__")
        else set()
    )


def rows(expression: Expression) -> Iterator[Row]:
    names = sorted(columns(expression))
    return (dict(zip(names, row, strict=True)) for row in itertools.product(*(values(name) for name in names)))


def steps(value: Value, shape: Shape) -> int:
    match value:
        case bool():
            return int(value)
        case F():
            assert (value / shape.step).denominator == 1, "off the grid"
            return int(value / shape.step)
        case dt.datetime():
            return calendar.microseconds(value)
        case dt.date():
            return calendar.days(value)
    raise AssertionError(value)


def check(expression: Expression, *, tight: bool = False) -> None:
    shape = shape_of(expression, SHAPES)
    found = {evaluate(expression, row) for row in rows(expression)}
    assert shape.null or None not in found
    there = found - {None}
    if shape.form is Form.WORD:
        assert shape.values is None or there <= set(shape.values)
    elif there:
        numbers = {steps(value, shape) for value in there}
        assert shape.low <= min(numbers) <= max(numbers) <= shape.high
        if tight:
            assert (min(numbers), max(numbers)) == (shape.low, shape.high)
            assert shape.null == (None in found)


SINGLE = [
    A, B, Arithmetic(Sign.ADD, A, B), Arithmetic(Sign.SUBTRACT, A, B), Arithmetic(Sign.MULTIPLY, A, B),
    Arithmetic(Sign.MULTIPLY, A, Column("a2")), Arithmetic(Sign.MULTIPLY, B, Literal(F(-3, 7))),
    Arithmetic(Sign.MULTIPLY, A, ZERO), Arithmetic(Sign.ADD, A, Literal(F(1, 3))), Arithmetic(Sign.SUBTRACT, D, D),
    Absolute(A), Absolute(BIG), Absolute(Arithmetic(Sign.SUBTRACT, ZERO, BIG)),
    Least((A, BIG)), Greatest((A, BIG)), Least((A, ONE)), Greatest((A, ONE)), Greatest((B, Literal(F(1, 3)))),
    Coalesce((A, BIG)), Coalesce((A, ONE)), Case(((T, A),), BIG), Case(((T, A),), NULL), Case(((T, ONE),), ZERO),
    *(Rounded(rounding, B, step) for rounding in Rounding for step in (F(1), F(1, 3), F(1, 2), F(5))),
    *(Truncated(period, D) for period in Period), *(Truncated(period, S) for period in Period),
    Extracted(Field.YEAR, D), Extracted(Field.YEAR, S), AsDate(S), AsTime(D), AsDate(D), AsTime(S),
    Compare(Relation.LESS, D, Literal(dt.date(2021, 1, 1))),
    Compare(Relation.LESS, D, Literal(dt.datetime(2021, 1, 1, 5))),
    Compare(Relation.GREATER, S, Literal(dt.date(2021, 1, 1))),
    Compare(Relation.LESS, A, B), And((T, Compare(Relation.EQUAL, W, Literal("x")))), Not(T), IsNull(A),
    In(W, ("x", "z")), In(A, (F(1), F(9))), Or((T, IsNull(A))),
]  # fmt: skip


@pytest.mark.parametrize("expression", SINGLE, ids=repr)
def test_one_operation_attains_its_range(expression: Expression) -> None:
    if "a2" in columns(expression):
        expression = Arithmetic(Sign.MULTIPLY, A, A)  # one column twice: kept, though not attained
        return check(expression)
    loose = isinstance(expression, Arithmetic) and expression.left == expression.right  # d - d is 0
    return check(expression, tight=not loose and not isinstance(expression, Or))


@pytest.mark.parametrize("field", [field for field in Field if field is not Field.YEAR])
def test_fields_keep_their_ranges(field: Field) -> None:
    check(Extracted(field, D))
    check(Extracted(field, S))


def numbers(depth: int) -> st.SearchStrategy[Expression]:
    leaves: st.SearchStrategy[Expression] = st.sampled_from([A, B, BIG, ZERO, NULL, Literal(F(-5, 3))])
    if depth == 0:
        return leaves
    inner, truth = numbers(depth - 1), truths(depth - 1)
    return st.one_of(
        leaves,
        st.builds(Arithmetic, st.sampled_from(list(Sign)), inner, inner),
        st.builds(lambda x, y: Least((x, y)), inner, inner),
        st.builds(lambda x, y: Greatest((x, y)), inner, inner),
        st.builds(lambda x, y: Coalesce((x, y)), inner, inner),
        st.builds(lambda c, x, y: Case(((c, x),), y), truth, inner, inner),
        st.builds(Absolute, inner),
        st.builds(Rounded, st.sampled_from(list(Rounding)), inner, st.sampled_from([F(1), F(1, 3), F(2)])),
        st.builds(Extracted, st.sampled_from(list(Field)), st.sampled_from([D, S, Truncated(Period.MONTH, D)])),
    )


def truths(depth: int) -> st.SearchStrategy[Expression]:
    leaves: st.SearchStrategy[Expression] = st.sampled_from([T, In(W, ("x",)), IsNull(A), Literal(True), NULL])
    if depth == 0:
        return leaves
    inner, number = truths(depth - 1), numbers(depth - 1)
    return st.one_of(
        leaves,
        st.builds(Compare, st.sampled_from(list(Relation)), number, number),
        st.builds(lambda x, y: And((x, y)), inner, inner),
        st.builds(lambda x, y: Or((x, y)), inner, inner),
        st.builds(Not, inner),
        st.builds(IsNull, number),
    )


@given(numbers(3) | truths(3))
def test_random_expressions_stay_in_their_ranges(expression: Expression) -> None:
    check(expression)


NUMBER, TRUTH = Column("x"), Column("t")
MEANT: list[tuple[Expression, Row, Value]] = [
    *(
        (Compare(relation, NUMBER, Literal(F(2))), {"x": F(x)}, answer)
        for relation, answers in {
            Relation.EQUAL: (False, True, False), Relation.UNEQUAL: (True, False, True),
            Relation.LESS: (True, False, False), Relation.LESS_EQUAL: (True, True, False),
            Relation.GREATER: (False, False, True), Relation.GREATER_EQUAL: (False, True, True),
        }.items()
        for x, answer in zip((1, 2, 3), answers, strict=True)
    ),
    *((Case(((TRUTH, ONE),), ZERO), {"t": t}, F(t is True)) for t in (True, False, None)),
    (Case(((Literal(False), ZERO), (TRUTH, ONE)), NULL), {"t": True}, F(1)),
    *((And((TRUTH, NULL)), {"t": t}, None if t else False) for t in (True, False)),
    *((Or((TRUTH, NULL)), {"t": t}, True if t else None) for t in (True, False)),
    (In(NUMBER, (F(1), F(2))), {"x": F(2)}, True),
    (In(NUMBER, (F(1), F(2))), {"x": F(3)}, False),
    (In(NUMBER, (F(1), F(2))), {"x": None}, None),
    (In(NUMBER, ()), {"x": None}, False),
    (Least((NUMBER, ONE, NULL)), {"x": F(3)}, F(1)),
    (Greatest((NUMBER, ONE, NULL)), {"x": F(3)}, F(3)),
    (Coalesce((NULL, NUMBER, ONE)), {"x": F(3)}, F(3)),
    *(
        (Rounded(Rounding.NEAREST, NUMBER, F(5)), {"x": x}, F(nearest))  # halves upwards
        for x, nearest in ((F(-26, 10), -5), (F(-5, 2), 0), (F(-1), 0), (F(1), 0), (F(24, 10), 0), (F(5, 2), 5))
    ),
    (Rounded(Rounding.DOWN, NUMBER, F(5)), {"x": F(-1)}, F(-5)),
    (Rounded(Rounding.UP, NUMBER, F(5)), {"x": F(1)}, F(5)),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "row", "answer"), MEANT, ids=repr)
def test_meaning_by_hand(expression: Expression, row: Row, answer: Value) -> None:
    found = evaluate(expression, row)
    assert found == answer
    assert type(found) is type(answer)


@pytest.mark.parametrize(
    ("expression", "ends"),
    [
        (Arithmetic(Sign.SUBTRACT, D, D), (-6, 6)),  # the same column twice is not looked into
        (Arithmetic(Sign.SUBTRACT, D, Literal(dt.date(2021, 1, 1))), (-2, 4)),
        (Absolute(Literal(F(1))), (1, 1)),
        (Absolute(Greatest((A, ONE))), (1, 3)),
        (Least((ONE, Literal(F(2)), A)), (-2, 1)),
        (Greatest((ONE, Literal(F(2)), A)), (2, 3)),
        (Arithmetic(Sign.ADD, NULL, A), (-2, 3)),
    ],
    ids=repr,
)
def test_ranges_by_hand(expression: Expression, ends: tuple[int, int]) -> None:
    shape = shape_of(expression, SHAPES)
    assert (shape.low, shape.high) == ends


def test_what_can_be_null_by_hand() -> None:
    maybe = (In(A, (F(1),)), Compare(Relation.LESS, A, ONE), Compare(Relation.LESS, ONE, NULL), And((T, Literal(True))))
    never = (In(A, ()), IsNull(A), Compare(Relation.LESS, ONE, ONE), Coalesce((A, ONE)), Least((A, ONE)))
    assert [shape_of(expression, SHAPES).null for expression in maybe] == [True] * len(maybe)
    assert [shape_of(expression, SHAPES).null for expression in never] == [False] * len(never)


def test_a_constant_of_any_size_can_stand_beside_null() -> None:
    """NULL has no grid of its own to be brought to."""
    huge = Literal(F(LIMIT * 2))
    assert shape_of(Compare(Relation.EQUAL, huge, NULL), SHAPES).form is Form.TRUTH
    with raises_code(RefusedQueryError, "too-fine: large"):
        shape_of(Compare(Relation.EQUAL, huge, ONE), SHAPES)


def test_wrong_product_corners_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the ends multiplied pairwise, as if numbers were never negative."""
    real = ranges._arithmetic

    def wrong(sign: Sign, left: Shape, right: Shape) -> Shape:
        found = real(sign, left, right)
        if sign is not Sign.MULTIPLY:
            return found
        return Shape(form=found.form, low=left.low * right.low, high=left.high * right.high, step=found.step)

    monkeypatch.setattr(ranges, "_arithmetic", wrong)
    with pytest.raises(AssertionError):
        check(Arithmetic(Sign.MULTIPLY, A, B), tight=True)


REFUSED = [
    (Arithmetic(Sign.ADD, A, W), "type-mismatch: text … used … number is"),
    (Arithmetic(Sign.ADD, D, ONE), "type-mismatch: date is used"),
    (Compare(Relation.LESS, W, Literal("x")), "unsupported-type"),
    (Compare(Relation.EQUAL, A, W), "type-mismatch: compared"),
    (Case(((T, A),), W), "type-mismatch: expression … gives"),
    (And((A, T)), "type-mismatch: used … boolean"),
    (Truncated(Period.DAY, A), "type-mismatch: number is used"),
    (Least((W, W)), "type-mismatch: text is used"),
    (Column("nope"), "unknown-column: column"),
    (IsNull(Column("nope")), "unknown-column: column"),
    (Case(((A, ONE),), ZERO), "type-mismatch: used … boolean"),
    (Extracted(Field.MONTH, A), "type-mismatch: number is used … timestamp"),
    (Extracted(Field.YEAR, A), "type-mismatch: number is used … timestamp"),
    (Compare(Relation.LESS, A, Literal(F(1, LIMIT))), "too-fine: large"),
    (Arithmetic(Sign.ADD, A, Literal(F(1, LIMIT))), "too-fine: large"),
    (Arithmetic(Sign.MULTIPLY, A, Literal(F(LIMIT))), None),
]


@pytest.mark.parametrize(("expression", "problem"), REFUSED, ids=repr)
def test_refused(expression: Expression, problem: str | None) -> None:
    if problem is None:
        assert shape_of(expression, SHAPES).step == LIMIT  # a constant changes the step, not the count of steps
        return
    with raises_code(RefusedQueryError, problem):
        shape_of(expression, SHAPES)


def test_null_fits_everywhere() -> None:
    for expression in (
        Arithmetic(Sign.ADD, NULL, A), Compare(Relation.LESS, NULL, D), Not(NULL), Absolute(NULL), Least((NULL, A)),
        Coalesce((NULL, NULL)), Truncated(Period.DAY, NULL), Extracted(Field.YEAR, NULL), AsDate(NULL), AsTime(NULL),
        Case(((NULL, A),), NULL), Compare(Relation.EQUAL, W, NULL),
        Greatest((NULL, NULL)), Rounded(Rounding.UP, NULL, F(1)),
    ):  # fmt: skip
        check(expression)


def passing(where: Expression) -> dict[str, set[Value]]:
    kept = [row for row in rows(where) if evaluate(where, row) is True]
    return {name: {row[name] for row in kept} for name in columns(where)}


def atoms() -> st.SearchStrategy[Expression]:
    relation = st.sampled_from(list(Relation))
    equal = st.sampled_from([Relation.EQUAL, Relation.UNEQUAL])
    number = st.sampled_from([F(-3), F(-1, 4), F(0), F(1, 2), F(2), F(7)]).map(Literal)
    day = st.sampled_from([dt.date(2020, 1, 1), dt.date(2021, 1, 1), dt.datetime(2020, 12, 31, 23)]).map(Literal)
    word = st.sampled_from(["x", "y", "other"]).map(Literal)
    return st.one_of(
        st.sampled_from(
            [T, Not(T), Not(IsNull(A)), Not(IsNull(CITY)), IsNull(B), In(A, (F(1), F(2, 3), F(2))), In(A, ())]
        ),
        st.sampled_from([In(W, ("y", "z")), In(CITY, ("x", "q")), In(D, (dt.date(2021, 1, 2),)), In(T, (True,))]),
        st.builds(Compare, relation, st.sampled_from([A, B]), number),
        st.builds(Compare, relation, number, st.sampled_from([A, B])),
        st.builds(Compare, relation, st.sampled_from([D, S]), day),
        st.builds(Compare, equal, st.sampled_from([W, CITY]), word),
        st.builds(Compare, equal, st.just(T), st.sampled_from([Literal(True), Literal(False)])),
        st.just(Compare(Relation.LESS, A, NULL)),
    )


@given(st.lists(atoms(), min_size=1, max_size=4))
def test_what_passes_a_condition_lies_in_the_narrowed_columns(conditions: list[Expression]) -> None:
    where: Expression = conditions[0] if len(conditions) == 1 else And((conditions[0], And(tuple(conditions[1:]))))
    found = narrowed(SHAPES, where)
    for name, kept in passing(where).items():
        shape = found[name]
        there = kept - {None}
        assert shape.null or None not in kept
        if shape.form is Form.WORD:
            assert shape.values is None or there <= set(shape.values)
        elif there:
            numbers_ = [steps(value, shape) for value in there]
            assert shape.low <= min(numbers_) <= max(numbers_) <= shape.high


def test_conditions_narrow_what_they_should() -> None:
    found = narrowed(SHAPES, And((Compare(Relation.GREATER, A, Literal(F(1, 2))), In(CITY, ("p", "q")), T)))
    assert (found["a"].low, found["a"].high, found["a"].null) == (1, 3, False)
    assert found["city"].values == ("p", "q")
    assert (found["t"].low, found["t"].high) == (1, 1)
    assert narrowed(SHAPES, None) == SHAPES
    assert narrowed(SHAPES, Compare(Relation.GREATER, A, Literal(F(99))))["a"] == SHAPES["a"]  # nobody passes


def keyed(value: Expression, where: Expression | None = None) -> Cells:
    plan = Plan(
        table="t", where=where, keys=(Key(name="k", value=value),),
        aggregates=(Aggregate(name="n", function=Function.COUNT),), outputs=("k", "n"),
    )  # fmt: skip
    return cells_of(plan, narrowed(SHAPES, where))


GROUPS = [
    A, B, T, W, D, AsDate(S), Truncated(Period.HOUR, S), Truncated(Period.MONTH, S), AsTime(D), NULL,
    AsTime(Truncated(Period.MONTH, D)), AsDate(Truncated(Period.MONTH, S)), AsDate(Truncated(Period.HOUR, S)),
    Truncated(Period.WEEK, AsDate(S)), Case(((T, Literal("old")),), W), *(Truncated(period, D) for period in Period),
]  # fmt: skip


@pytest.mark.parametrize("value", GROUPS, ids=repr)
def test_every_key_that_occurs_has_a_cell_and_no_cell_twice(value: Expression) -> None:
    domain = keyed(value).domains[0]
    assert len(set(domain)) == len(domain)
    assert {evaluate(value, row) for row in rows(value)} <= set(domain)
    assert domain[-1] is None  # last


@pytest.mark.parametrize("where", [T, Not(T)])
def test_what_is_negated_under_a_condition_has_its_cell(where: Expression) -> None:
    """The key NOT t is false in every row that passes t: the cell must be the one that occurs."""
    passing_rows = [row for row in rows(T) if evaluate(where, row) is True]
    assert keyed(Not(T), where).domains[0] == tuple({evaluate(Not(T), row) for row in passing_rows})


def test_a_condition_removes_the_missing_cell_and_lists_private_texts() -> None:
    assert keyed(CITY).private  # otherwise they are chosen from the data
    assert keyed(CITY, In(CITY, ("p", "q"))).domains == (("p", "q"),)
    assert keyed(W, Not(IsNull(W))).domains == (("x", "y"),)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (S, "too-many: microsecond"),
        (Truncated(Period.SECOND, AsTime(Column("long"))), "too-many: 1,000,000"),
        (Column("wide"), "too-many: 1,000,000"),
    ],
)
def test_keys_that_are_refused(value: Expression, problem: str) -> None:
    shapes = {
        **SHAPES,
        "wide": shape_of_kind(Integer(0, 10**9)),
        "long": shape_of_kind(Date("2000-01-01", "2001-01-01")),
    }
    plan = Plan(table="t", keys=(Key(name="k", value=value),), aggregates=(), outputs=())
    with raises_code(RefusedQueryError, problem):
        cells_of(plan, shapes)


def test_many_small_keys_are_refused_together() -> None:
    plan = Plan(table="t", keys=tuple(Key(name=f"k{i}", value=A) for i in range(8)), aggregates=(), outputs=())
    with raises_code(RefusedQueryError, "too-many: 1,000,000"):
        cells_of(plan, SHAPES)


def test_columns_are_replaced_everywhere() -> None:
    both = And((Column("a"), Not(Column("b"))))
    assert substituted(both, {"b": Column("c")}) == And((Column("a"), Not(Column("c"))))
