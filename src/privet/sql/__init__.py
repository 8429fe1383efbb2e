"""The SQL front: text -> Plan. Untrusted: it may misread what was meant, never what it costs.

The text is read here and goes nowhere else. What does not fit the closed list of `core.expression` is refused, by the
name the user wrote, with what to write instead. docs/sql.md is the page for analysts.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from privet.core.plan import Plan
from privet.core.schema import Kind
from privet.errors import RefusedQueryError
from privet.sql.known_tables import Facts, Known, TableFacts
from privet.sql.places import place_of
from privet.sql.subqueries import rows_of
from privet.sql.whole_query import plan_from
from privet.sql.words import TOO_DEEP, tokens_of, tree_of

__all__ = ["Facts", "TableFacts", "plan_of"]


NO_UNITS: Mapping[str, str | None] = {}
NO_FACTS: Mapping[str, Facts] = {}


def plan_of(
    text: str,
    tables: Mapping[str, Mapping[str, Kind]],
    *,
    units: Mapping[str, str | None] = NO_UNITS,
    facts: Mapping[str, Facts] = NO_FACTS,
    weight: str | None = None,
) -> Plan:
    """The plan of one SELECT over declared tables (name -> columns), or RefusedQueryError; never anything else.

    `units` names the column of a table that says whose a row is. It need not be declared; it can only be counted.
    `facts` says which tables are public, what tells their rows apart, and how many rows of a unit count; declared
    tables are such. A table without them is private, with one row a unit. `weight` names a column, as it could stand in
    SELECT, by which each row counts.
    """
    try:
        return _plan_of(text, Known(tables=tables, units=units, facts=facts, read=rows_of), weight)
    except RefusedQueryError as error:
        raise _placed(error, text) from None
    except RecursionError:
        raise RefusedQueryError(*TOO_DEEP, "too-deep") from None
    except Exception:  # a parser's own words could say anything; the user gets ours
        raise RefusedQueryError(
            "the query cannot be read", "write SELECT keys, COUNT(*) FROM table GROUP BY keys", "syntax-error"
        ) from None


def _placed(error: RefusedQueryError, text: str) -> RefusedQueryError:
    """The same error; it quotes the text where it can."""
    part, error.part = error.part, None
    with suppress(Exception):  # a part that cannot be written again is not quoted
        error.place = place_of(part, text, tokens_of)
    return error


def _plan_of(text: str, known: Known, weight: str | None) -> Plan:
    names = {name.lower() for table, columns in known.tables.items() for name in (table, *columns)}
    names |= {unit.lower() for unit in known.units.values() if unit is not None}
    return plan_from(tree_of(text, names), known, weight)
