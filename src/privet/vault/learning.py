"""Fits on a vault's tables: which rows, as SQL says them; all else follows from declarations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privet.catalog.declarations import Table
from privet.core.expression import Expression
from privet.core.plan import Plan, Scan
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.errors import RefusedQueryError
from privet.estimates.priced import outline

ONE = Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE)  # nothing is bounded here: only the condition is read


def condition_of(text: str, table: Table, tables: Mapping[str, Table]) -> Expression:
    """A condition on the rows of one table, as it stands behind WHERE."""
    from privet.sql import plan_of  # noqa: PLC0415  sqlglot takes a while to import

    if not isinstance(text, str) or not text.strip():
        raise _refused()
    columns = {name: other.columns for name, other in tables.items()}
    units = {name: other.unit for name, other in tables.items()}
    begin = f'SELECT COUNT(*) AS n FROM "{table.name.replace(chr(34), 2 * chr(34))}"'  # noqa: S608  a plan is made of it

    def read(sql: str) -> Plan:
        return plan_of(sql, columns, units=units, facts=tables)

    plan = read(f"{begin} WHERE ({text})")
    if plan.where is None or replace(plan, where=None) != read(begin) or not isinstance(plan.origin, Scan | None):
        raise _refused()
    where = outline(plan, table.columns, ONE).plan.where
    assert where is not None  # noqa: S101  it was there
    return where


def _refused() -> RefusedQueryError:
    return RefusedQueryError(
        "where= is not a condition on the rows of the table",
        "for example where=\"age >= 18 AND ward = 'A'\"",
        "syntax-error",
    )
