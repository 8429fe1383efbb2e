"""IN (SELECT ...) and EXISTS: is a unit, or a value, among the rows of another table?

A unit is looked up by an outer join with one row for each unit that has such rows; the condition is that one is there.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from privet.core.expression import And, Case, Coalesce, Column, Expression, IsNull, Literal, columns_in
from privet.core.origin import tables_in
from privet.core.plan import Aggregate, Function, Joined, Origin, PerUnit, canonical
from privet.core.shape import Form
from privet.errors import RefusedQueryError
from privet.sql.inline import both, renamed, there
from privet.sql.known_tables import Rows
from privet.sql.registry import Read
from privet.sql.scopes import Scope, short
from privet.sql.terms import Term, made

FOUND = "found"  # how many rows of a unit were


def in_rows(scope: Scope, item: exp.Expr, rows: Rows, read: Read) -> Term:
    """item IN (SELECT ...), of a sub-query that has one column."""
    if scope.is_unit(item):
        return has_rows(scope, rows)
    if rows.public and rows.columns:
        return _public(scope, read(item), rows)
    unit = short(next((unit for one in scope.items for unit in one.rows.units), "patient_id"))
    raise RefusedQueryError(
        "IN looks a value up among the rows of other people",
        f"look up the unit: {unit} IN (...); or a value in the key of a public table",
        "not-per-unit",
    )


def has_rows(scope: Scope, rows: Rows) -> Term:
    """Does the unit have a row there?"""
    if not rows.units:
        raise RefusedQueryError(
            "the sub-query does not give the unit",
            "select the column that says whose a row is, and nothing else",
            "not-per-unit",
        )
    count = (Aggregate(name=FOUND, function=Function.COUNT),)
    right: PerUnit
    if isinstance(rows.origin, PerUnit) and not rows.conditions:
        right = replace(rows.origin, keys=(), aggregates=count)
    else:
        where = both(rows.conditions)
        right = PerUnit(source=rows.origin, where=None if where is None else where.expression, aggregates=count)
    here = _beside(scope, right, by_unit=True, names=(FOUND,))
    return there(here[FOUND])


def _public(scope: Scope, item: Term, rows: Rows) -> Term:
    """Is a value one of a public table's keys, in a row that passes the conditions? Of NULL it is not known."""
    (term,) = rows.columns.values()
    mine, yours = item.expression, term.expression
    if not (isinstance(mine, Column) and isinstance(yours, Column) and rows.apart == (yours.name,)):
        raise RefusedQueryError(
            "IN looks a value up in a public table, but not by its key",
            "write column IN (SELECT key FROM table), with the key that the owner declared; or a JOIN",
            "not-by-key",
        )
    needed = dict.fromkeys((yours.name, *columns_in(tuple(part.expression for part in rows.conditions))))
    here = _beside(scope, rows.origin, by_unit=False, names=tuple(needed), on=((mine.name, yours.name),))
    conditions = [renamed(part, here) for part in rows.conditions]
    passed: list[Expression] = [Coalesce((part.expression, Literal(False))) for part in conditions]
    matched = there(here[yours.name])
    among = And((matched.expression, *passed)) if passed else matched.expression
    return made(Case(((IsNull(mine), Literal(None)),), among), Form.TRUTH, item, matched, *conditions)


def _beside(
    scope: Scope, right: Origin, *, by_unit: bool, names: tuple[str, ...], on: tuple[tuple[str, str], ...] = ()
) -> dict[str, str]:
    """Joins an origin to that of the scope, once, and tells the names that its columns have there."""
    place = str(canonical([right, names, on]))
    if place not in scope.beside:
        owner = next(tables_in(right))
        here = {name: scope.fresh(f"{owner}_{name}") for name in names}
        scope.put(Joined(
            left=scope.origin, right=right, by_unit=by_unit, on=on, names=tuple(here.items()), outer=True,
            most=None if by_unit else 1,
        ))  # fmt: skip
        scope.beside[place] = here
    return scope.beside[place]
