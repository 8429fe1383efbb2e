"""The rows that a learner is taught from a vault's table: those of the definition, unit by unit, whatever they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from support import nasty
from support.course_rows import defined

from privet.backends import Course, course_rows
from privet.backends.course_rows import held
from privet.backends.held_rows import HeldRows
from privet.core.expression import Column, Compare, Expression, Literal, Relation
from privet.core.ranges import shape_of
from privet.core.shape import Form, Shapes, shape_of_kind

SEEDS = range(60)
USABLE = (Form.NUMBER, Form.TRUTH, Form.DATE, Form.TIME)


@pytest.fixture(scope="module")
def store() -> Iterator[nasty.Store]:
    made = nasty.Store(threads=2)
    yield made
    made.close()


def shapes_of(made: nasty.Made) -> Shapes:
    return {name: shape_of_kind(kind) for name, kind in made.table.columns.items()}


def usable(expression: Expression, shapes: Shapes) -> bool:
    shape = shape_of(expression, shapes)
    return shape.form in USABLE and (shape.form is Form.TRUTH or shape.high - shape.low < 2**53)


def random_course(rng: Random, made: nasty.Made, rows: int) -> Course | None:
    """Columns as they are, categories as truths, and expressions that nobody would write; sometimes a condition."""
    shapes = shapes_of(made)
    values: list[Expression] = []
    for name, shape in shapes.items():
        if shape.values:
            values.append(Compare(Relation.EQUAL, Column(name), Literal(rng.choice(shape.values))))
        elif usable(Column(name), shapes):
            values.append(Column(name))
    tried = nasty.random_expression(rng, shapes, 2)
    values += [tried] if usable(tried, shapes) else []
    if not values:
        return None
    maker = nasty.Maker(rng, shapes)
    where = maker.make(Form.TRUTH, 2) if rng.random() < 0.5 else None
    if where is not None and not nasty._accepted(lambda: shape_of(where, shapes)):
        where = None
    names = tuple(f"x{place}" for place in range(len(values)))
    return Course(
        table=made.table,
        columns=names,
        rows=rows,
        rounds=(),
        secret=rng.randbytes(16),
        values=tuple(values),
        where=where,
    )


def listed(rows: HeldRows, course: Course) -> Counter[tuple[float, ...]]:
    return Counter(map(tuple, rows.rows(course).raw.tolist()))


def settled(course: Course) -> bool:
    """Expressions of roots and logarithms have a grid only after they were settled, which a plan is."""
    return not nasty.nodes_in([course.values, course.where]) & {"Root", "Logarithm", "Exponential", "Quotient"}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_rows_as_defined(store: nasty.Store, seed: int) -> None:
    """Also where units have more rows than count: which ones stay follows from the same hash of the same numbers."""
    rng = Random(seed)
    made = nasty.random_table(rng, unit=seed % 3 > 0)
    course = random_course(rng, made, rng.choice([1, 2, 100]) if made.table.unit else 1)
    if course is None or not settled(course):
        return
    found = listed(held(store.connection, course, store.put(made)), course)
    assert found == Counter(defined(course, made))


def test_most_tables_are_compared() -> None:
    """Of the tables above at least half have something to compare, with people and without."""
    compared = Counter[bool]()
    for seed in SEEDS:
        rng = Random(seed)
        made = nasty.random_table(rng, unit=seed % 3 > 0)
        course = random_course(rng, made, rng.choice([1, 2, 100]) if made.table.unit else 1)
        compared[made.table.unit is not None] += course is not None and settled(course) and len(made.rows) > 0
    assert compared[True] >= 20
    assert compared[False] >= 10


@pytest.mark.parametrize("seed", range(20))
def test_one_unit_changes_its_own_rows_alone(store: nasty.Store, seed: int) -> None:
    """Without one unit the others have the same rows, and it had no more than were priced."""
    rng = Random(seed)
    made = nasty.random_table(rng, unit=True, rows=40)
    course = random_course(rng, made, 2)
    if course is None or not settled(course):
        return
    whole = listed(held(store.connection, course, store.put(made)), course)
    for unit in {repr(row["unit id"]): row["unit id"] for row in made.rows}.values():
        rest = [row for row in made.rows if repr(row["unit id"]) != repr(unit)]
        less = listed(held(store.connection, course, store.put(nasty.Made(made.table, made.types, rest))), course)
        assert not less - whole
        assert (whole - less).total() <= 2


@pytest.mark.parametrize("unit", [True, False])
def test_an_empty_table_has_no_rows(store: nasty.Store, unit: bool) -> None:
    made = nasty.random_table(Random(1), unit=unit, rows=0)
    course = Course(table=made.table, columns=("x",), rows=1, rounds=(), secret=b"x", values=(Literal(True),))
    assert held(store.connection, course, store.put(made)).rows(course).raw.shape == (0, 1)


def test_a_value_without_its_lowest_step_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: steps from 0 of the scale instead of from the lowest value."""
    monkeypatch.setattr(course_rows, "minus", lambda a, _: a)
    differ = 0
    for seed in SEEDS:
        rng = Random(seed)
        made = nasty.random_table(rng, unit=False, rows=30)
        course = random_course(rng, made, 1)
        if course is not None and settled(course):
            found = listed(held(store.connection, course, store.put(made)), course)
            differ += found != Counter(defined(course, made))
    assert differ > 5
