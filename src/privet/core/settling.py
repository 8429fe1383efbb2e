"""Before a question is priced, every function whose values lie between the steps of any grid gets its grid.

From then on it is part of the plan: what a row counts does not depend on who reads the plan, or on other rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, assert_never

from privet.core import expression as e
from privet.core.claim import claim
from privet.core.narrow import narrowed
from privet.core.origin import shapes_of
from privet.core.plan import Aggregate, Joined, Key, Numbered, Origin, PerUnit, Plan, Scan
from privet.core.ranges import shape_of
from privet.core.real import REAL
from privet.core.shape import Shapes


def has_real(thing: Any) -> bool:
    if isinstance(thing, REAL):
        return True
    if isinstance(thing, tuple):
        return any(map(has_real, thing))
    return is_dataclass(thing) and any(has_real(getattr(thing, field.name)) for field in fields(thing))


@claim("real-grids")
def settled(expression: Any, columns: Shapes) -> Any:
    """The same with each such function rounded to nearest, halves up, to a step of its own, unless it stands right
    inside a rounding. A quotient right inside a root is not rounded by itself."""
    if isinstance(expression, tuple):
        return tuple(settled(item, columns) for item in expression)
    if not has_real(expression):
        return expression
    if isinstance(expression, e.Rounded) and isinstance(expression.item, REAL):
        return replace(expression, item=_inside(expression.item, columns))
    inner = _inside(expression, columns)
    if not isinstance(inner, REAL):
        return inner
    return e.Rounded(e.Rounding.NEAREST, inner, shape_of(inner, columns).step)


def _inside(node: Any, columns: Shapes) -> Any:
    if isinstance(node, e.Root) and isinstance(node.item, e.Quotient):
        return replace(node, item=_inside(node.item, columns))
    return type(node)(*(settled(getattr(node, field.name), columns) for field in fields(node)))


@claim("real-grids")
def settled_plan(plan: Plan, declared: Mapping[str, Shapes]) -> Plan:
    """Whatever is computed of rows; what is computed of published numbers needs no grid."""
    if not has_real((plan.origin, plan.where, plan.keys, plan.aggregates)):
        return plan
    origin = plan.origin and _settled_origin(plan.origin, declared)
    columns = shapes_of(origin or Scan(table=plan.table), declared)
    where = settled(plan.where, columns)
    inside = narrowed(columns, where)
    return replace(
        plan, origin=origin, where=where, keys=_keys(plan.keys, inside), aggregates=_aggregates(plan.aggregates, inside)
    )


def _settled_origin(origin: Origin, declared: Mapping[str, Shapes]) -> Origin:
    match origin:
        case Scan():
            return origin
        case Joined():
            left, right = (_settled_origin(side, declared) for side in (origin.left, origin.right))
            return replace(origin, left=left, right=right)
        case PerUnit() | Numbered():
            source = _settled_origin(origin.source, declared)
            columns = shapes_of(source, declared)
            where = settled(origin.where, columns)
            inside = narrowed(columns, where)
            if isinstance(origin, Numbered):
                by = tuple(replace(one, value=settled(one.value, inside)) for one in origin.by)
                return replace(origin, source=source, where=where, keys=settled(origin.keys, inside), by=by)
            keys, aggregates = _keys(origin.keys, inside), _aggregates(origin.aggregates, inside)
            return replace(origin, source=source, where=where, keys=keys, aggregates=aggregates)
        case _:
            assert_never(origin)


def _keys(keys: tuple[Key, ...], columns: Shapes) -> tuple[Key, ...]:
    return tuple(replace(key, value=settled(key.value, columns)) for key in keys)


def _aggregates(aggregates: tuple[Aggregate, ...], columns: Shapes) -> tuple[Aggregate, ...]:
    return tuple(
        replace(one, value=settled(one.value, columns), second=settled(one.second, columns)) for one in aggregates
    )
