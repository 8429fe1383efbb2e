"""The columns of what a question is asked of: of a declared table, of tables put together, of rows made for each unit.

Every origin looks at one unit's rows at a time, beside public tables: what it makes of them belongs to that unit, and
no other unit's rows play a part. So two tables that differ in one unit still do after it, and whatever bounds a unit's
rows comes later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from privet.core.claim import claim
from privet.core.expression import And, Column, Expression, columns_in
from privet.core.narrow import conjuncts, narrowed
from privet.core.plan import Aggregate, Function, Joined, Numbered, Origin, PerUnit, Plan, Scan
from privet.core.ranges import shape_of
from privet.core.schema import Kind
from privet.core.shape import ORDERED, Form, Shape, Shapes, checked, need
from privet.errors import RefusedQueryError

MOST_ROWS = 2**40  # of one unit: no sum of its rows is larger than that many of the largest
TOTALS = (Function.COUNT, Function.COUNT_DISTINCT, Function.SUM)
COUNTS = (Function.COUNT, Function.COUNT_DISTINCT)
MADE = (*TOTALS, Function.AVG, Function.MIN, Function.MAX)


@claim("unit-wise")
def origin_of(plan: Plan) -> Origin:
    """What a plan is asked of. It begins with the plan's table, which says who is who and how much of a unit counts."""
    origin = plan.origin or Scan(table=plan.table)
    if next(tables_in(origin)) != plan.table:
        raise RefusedQueryError(
            "a plan is asked of one table and begins with another", "name the table it begins with", "contradiction"
        )
    return origin


def tables_in(origin: Origin) -> Iterator[str]:
    """The leading one first."""
    match origin:
        case Scan():
            yield origin.table
        case Joined():
            yield from tables_in(origin.left)
            yield from tables_in(origin.right)
        case PerUnit() | Numbered():
            yield from tables_in(origin.source)
        case _:
            assert_never(origin)


@claim("origin-shapes")
def shapes_of(origin: Origin, declared: Mapping[str, Shapes], most_rows: int = MOST_ROWS) -> dict[str, Shape]:
    """Every value of a column of the origin lies in its shape. `declared` are those of each table."""
    match origin:
        case Scan():
            return dict(declared[origin.table])
        case Joined():
            left, right = (shapes_of(side, declared, most_rows) for side in (origin.left, origin.right))
            for mine, yours in origin.on:
                need(right[yours], left[mine].form)
            return left | {
                here: replace(right[name], null=right[name].null or origin.outer) for name, here in origin.names
            }
        case PerUnit():
            columns = shapes_of(origin.source, declared, most_rows)
            if origin.where is not None:
                need(shape_of(origin.where, columns), Form.TRUTH)
            passing = narrowed(columns, origin.where)
            keys = {key.name: shape_of(key.value, passing) for key in origin.keys}
            return keys | {aggregate.name: _made(aggregate, passing, most_rows) for aggregate in origin.aggregates}
        case Numbered():
            columns = shapes_of(origin.source, declared, most_rows)
            if origin.where is not None:
                need(shape_of(origin.where, columns), Form.TRUTH)
            passing = narrowed(columns, origin.where)
            for value in (*origin.keys, *(one.value for one in origin.by)):
                shape_of(value, passing)
            number = Shape(form=Form.NUMBER, low=origin.first, high=origin.last or most_rows, null=False)
            return {name: passing[name] for name in origin.columns} | {origin.name: number}
        case _:
            assert_never(origin)


def _made(aggregate: Aggregate, columns: Shapes, most_rows: int) -> Shape:
    """What an aggregate of one unit's rows can be. There is at least one row, and at most `most_rows`."""
    function, value = aggregate.function, aggregate.value
    if function not in MADE or aggregate.second is not None:
        raise RefusedQueryError(
            f"{function} cannot be taken of each unit's rows",
            f"use one of {', '.join(map(str, MADE))} there",
            "unsupported-function",
        )
    if value is None and function in COUNTS:
        return Shape(form=Form.NUMBER, low=1, high=most_rows, null=False)
    if value is None:
        raise RefusedQueryError(f"{function} has nothing to add up", f"write {function}(x)", "wrong-arguments")
    shape = shape_of(value, columns)
    if function in COUNTS:
        return Shape(form=Form.NUMBER, high=most_rows, null=False)
    if function in (Function.MIN, Function.MAX):
        return need(shape, *ORDERED, Form.TRUTH, Form.WORD)
    need(shape, Form.NUMBER)
    if function is Function.AVG:
        return shape
    return checked(replace(shape, low=min(shape.low, 0) * most_rows, high=max(shape.high, 0) * most_rows))


def rows_of_a_unit(origin: Origin, where: Expression | None = None) -> int | None:
    """The most rows of one unit that pass `where`, where the origin says it: what each unit is made one row of has one,
    in one group; of numbered rows there are as many as numbers pass.

    Bounding enforces whatever follows from it, so that this can spare noise and never costs the promise."""
    match origin:
        case Scan():
            return None
        case PerUnit():
            return None if origin.keys else 1
        case Joined():
            left = rows_of_a_unit(origin.left, where)
            most = rows_of_a_unit(origin.right) if origin.most is None else origin.most
            return None if left is None or most is None else left * most
        case Numbered():
            number = Shape(form=Form.NUMBER, low=origin.first, high=origin.last or MOST_ROWS)
            number = narrowed({origin.name: number}, _about(origin.name, where))[origin.name]
            return None if origin.keys or number.high == MOST_ROWS else number.high - number.low + 1
        case _:
            assert_never(origin)


def _about(name: str, where: Expression | None) -> Expression:
    """The conditions on this column alone. A join gives no other column its name."""
    return And(tuple(condition for condition in conjuncts(where) if set(columns_in(condition)) == {name}))


@claim("one-group")
def varying_keys(plan: Plan, kinds: Mapping[str, Mapping[str, Kind]]) -> list[int]:
    """The places of all keys but those made of columns that are declared to be the same in all rows of a unit. A unit
    has as many groups as these have values, and bounding keeps no more: where the declaration is wrong, rows are
    dropped and nothing else."""
    constant = _constant(origin_of(plan), kinds)
    return [place for place, key in enumerate(plan.keys) if not constant.issuperset(columns_in(key.value))]


def _constant(origin: Origin, kinds: Mapping[str, Mapping[str, Kind]]) -> set[str]:
    match origin:
        case Scan():
            return {name for name, kind in kinds[origin.table].items() if kind.constant_per_unit}
        case Joined():
            right = _constant(origin.right, kinds) if origin.by_unit else set[str]()
            return _constant(origin.left, kinds) | {here for name, here in origin.names if name in right}
        case PerUnit():
            below = _constant(origin.source, kinds)
            return {key.name for key in origin.keys if below.issuperset(columns_in(key.value))}
        case Numbered():
            return _constant(origin.source, kinds).intersection(origin.columns)
        case _:
            assert_never(origin)


def check_clamped(plan: Plan, declared: Mapping[str, Shapes]) -> None:
    """What a unit adds up to has no useful range of its own: noise for 2**40 rows would hide everything.

    A value has a limit of its own if its range is the same when a unit may have half as many rows.
    """
    origin = origin_of(plan)
    totals = list(_totals(origin))
    if not totals:
        return
    all_rows, fewer_rows = (
        narrowed(shapes_of(origin, declared, rows), plan.where) for rows in (MOST_ROWS, MOST_ROWS // 2)
    )
    for aggregate in plan.aggregates:
        for value in (aggregate.value, aggregate.second):
            if aggregate.function in COUNTS or value is None:
                continue
            shape = shape_of(value, all_rows)
            if shape != shape_of(value, fewer_rows):
                used = set(columns_in(value))
                total = next((each for each in totals if each.name in used), totals[0])
                raise _no_limit(total, negative=shape.low < 0)


def _no_limit(total: Aggregate | Numbered, *, negative: bool) -> RefusedQueryError:
    """The words to add, around the total as SQL writes it."""
    if isinstance(total, Numbered):
        name = total.name
        return RefusedQueryError(
            "the number of a row among those of its unit has no known limit",
            f"give a limit that few units exceed: write LEAST({name}, 20), or WHERE {name} <= 20;"
            f' with frames pv.col("{name}").clip(1, 20)',
            "unbounded",
        )
    negative = negative and total.function is Function.SUM
    of = "*" if total.value is None else total.value.name if isinstance(total.value, Column) else "x"
    low, high = (-5000 if negative else 0, 5000) if total.function is Function.SUM else (0, 20)
    call = {Function.SUM: "sum", Function.COUNT: "count"}.get(total.function, "n_distinct")
    written = f"{total.function}({of})" if total.function is not Function.COUNT_DISTINCT else f"COUNT(DISTINCT {of})"
    limited = f"LEAST(GREATEST({written}, {low}), {high})" if negative else f"LEAST({written}, {high})"
    framed = f"pv.{call}()" if of == "*" else f'pv.{call}("{of}")'
    return RefusedQueryError(
        f"the total {written} of each unit has no known limit",
        f"give a limit that few units exceed: write {limited} instead of {written};"
        f" with frames {framed}.clip({low}, {high})",
        "unbounded",
    )


def _totals(origin: Origin) -> Iterator[Aggregate | Numbered]:
    match origin:
        case Scan():
            return
        case Joined():
            yield from _totals(origin.left)
            yield from _totals(origin.right)
        case PerUnit():
            yield from (aggregate for aggregate in origin.aggregates if aggregate.function in TOTALS)
            yield from _totals(origin.source)
        case Numbered():
            yield origin
            yield from _totals(origin.source)
        case _:
            assert_never(origin)
