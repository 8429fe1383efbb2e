"""The SQL front: text -> Plan. Untrusted: it may misread what was meant, never what it costs.

The text is read here and goes nowhere else. What does not fit the closed list of `core.expression` is refused, by the
name the user wrote, with what to write instead. docs/sql.md is the page for analysts.
"""

from __future__ import annotations

from collections.abc import Mapping

from privet.core.plan import Plan
from privet.core.schema import Kind
from privet.errors import RefusedQueryError
from privet.sql.query import plan_from
from privet.sql.words import TOO_DEEP, tree_of

__all__ = ["plan_of"]


NO_UNITS: Mapping[str, str | None] = {}


def plan_of(text: str, tables: Mapping[str, Mapping[str, Kind]], *, units: Mapping[str, str | None] = NO_UNITS) -> Plan:
    """The plan of one SELECT over one declared table (name -> columns), or RefusedQueryError; never anything else.

    `units` names the column of a table that says whose a row is. It need not be declared; it can only be counted.
    """
    try:
        names = {name.lower() for table, columns in tables.items() for name in (table, *columns)}
        names |= {unit.lower() for unit in units.values() if unit is not None}
        return plan_from(tree_of(text, names), tables, units)
    except RefusedQueryError:
        raise
    except RecursionError:
        raise RefusedQueryError(*TOO_DEEP) from None
    except Exception:  # a parser's own words could say anything; the user gets ours
        raise RefusedQueryError(
            "the query cannot be read", "write SELECT keys, COUNT(*) FROM table WHERE condition GROUP BY keys"
        ) from None
