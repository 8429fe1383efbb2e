"""Which declared table and column a name means. Case does not matter unless two names differ in nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from privet.core.origin import tables_in
from privet.core.plan import Origin
from privet.core.rational import show
from privet.errors import RefusedQueryError
from privet.spelling import closest
from privet.sql.known_tables import Known, Rows
from privet.sql.terms import Term

MOST_LISTED = 12
MOST_TABLES = 16  # in one origin, counted as often as they stand there


def find(name: str, declared: Collection[str], what: str) -> str | None:
    """The declared spelling of a name, or None."""
    if name in declared:
        return name
    same = [other for other in declared if other.lower() == name.lower()]
    if len(same) > 1:
        raise RefusedQueryError(
            f"{what} {show(name)} could be {' or '.join(map(show, same))}",
            "write exactly one of them",
            "ambiguous-name",
        )
    return same[0] if same else None


def listed(names: Collection[str], what: str) -> str:
    """The declared names, shortened, for a remedy."""
    shown = ", ".join(short(name) for name in list(names)[:MOST_LISTED])
    return f"the {what} are: {shown or 'none'}" + (", ..." if len(names) > MOST_LISTED else "")


def short(name: str) -> str:
    return name if name.isprintable() and len(name) <= 40 else show(name)


def missing(name: str, declared: Collection[str], what: str) -> RefusedQueryError:
    near = closest(name, declared)
    guess = "" if near is None else f"did you mean {short(near)}? "
    return RefusedQueryError(
        f"there is no {what} {show(name)}",
        guess + listed(declared, f"{what}s"),
        "unknown-table" if what == "table" else "unknown-column",
    )


@dataclass(slots=True, kw_only=True, eq=False)
class Item:
    """One table or sub-query in FROM. Once it is joined, `columns` are over the origin of all of them."""

    name: str
    prefixes: frozenset[str]  # what may stand before a dot, in lower case
    rows: Rows
    outer: bool
    columns: dict[str, Term]
    known: Mapping[str, None]  # names of its columns and units, in order
    by_unit_alone: bool = False  # LEFT JOIN says nothing of it but that the units are equal


class Scope:
    """What the names in a query mean. `origin` and `conditions` are those of all that stands in FROM, together."""

    def __init__(self, items: Sequence[Item], known: Known, parent: Scope | None = None) -> None:
        self.items = list(items)
        self.declared = known
        self.parent = parent
        self.merged: dict[str, Item] = {}  # of names in USING, which need no table
        self.origin = self.items[0].rows.origin
        self.conditions: list[Term] = []
        self.where: list[exp.Expr] = []  # conditions that are not read yet
        self.follows = False  # the unit of the query around it
        self.beside: dict[str, dict[str, str]] = {}  # what is looked up, by what it is
        self.taken = {unit.lower() for unit in known.units.values() if unit is not None}

    @property
    def known(self) -> list[str]:
        return list(dict.fromkeys(name for item in self.items for name in item.known))

    @property
    def columns(self) -> set[str]:
        return {name for item in self.items for name in item.columns}

    def put(self, origin: Origin) -> None:
        self.origin = origin
        if len(list(tables_in(origin))) > MOST_TABLES:
            raise RefusedQueryError(
                f"the query joins more than {MOST_TABLES} tables", "ask in several queries", "too-many"
            )

    def fresh(self, *names: str) -> str:
        """The first of these names that nothing in the origin has yet, or the last with a number."""
        tries = itertools.chain(names, (f"{names[-1]}_{number}" for number in itertools.count(2)))
        found = next(name for name in tries if name.lower() not in self.taken)
        self.taken.add(found.lower())
        return found

    def place(self, node: exp.Column) -> tuple[Item, str] | None:
        """The item and its column, or unit, that a node names, or None."""
        items = self._prefixed(node)
        found = [(item, name) for item in items if (name := find(node.name, item.known, "column")) is not None]
        merged = self.merged.get(node.name.lower())
        if merged is not None and not node.table:
            found = [(item, name) for item, name in found if item is merged]
        if len(found) > 1:
            first = f"{short(found[0][0].name)}.{short(found[0][1])}"
            raise RefusedQueryError(
                f"{show(node.name)} is in {' and in '.join(show(item.name) for item, _ in found[:3])}",
                f"name the table, for example {first}",
                "ambiguous-name",
            )
        return found[0] if found else None

    def _prefixed(self, node: exp.Column) -> list[Item]:
        prefix = ".".join(part.name for part in node.parts[:-1]).lower()
        items = [item for item in self.items if not prefix or prefix in item.prefixes]
        if items:
            return items
        if self.parent is not None:
            self.parent.place(node)
            raise self._outside(node)
        raise RefusedQueryError(
            f"there is no table {show(prefix)} in FROM",
            f"write {short(self.items[0].name)}.{short(node.name)}",
            "unknown-table",
        )

    def _outside(self, node: exp.Column) -> RefusedQueryError:
        unit = next((unit for item in self.items for unit in item.rows.units), "patient_id")
        return RefusedQueryError(
            f"the sub-query uses {show(node.sql())} of the query around it",
            f"only the unit may tie them, with EXISTS and {short(unit)} = ...; or write a JOIN",
            "correlated-subquery",
        )

    def find(self, node: exp.Column) -> str | None:
        found = self.place(node)
        return None if found is None else found[1]

    def is_unit(self, node: exp.Expr) -> bool:
        """Is this the column that says whose a row is?"""
        found = self.place(node) if isinstance(node, exp.Column) else None
        return found is not None and found[1] in found[0].rows.units and not found[0].outer

    def missing_unit(self, node: exp.Expr) -> Item | None:
        """The item of a LEFT JOIN whose unit a node names, where that unit is missing if and only if it has no rows."""
        found = self.place(node) if isinstance(node, exp.Column) else None
        if found is None or found[1] in found[0].columns or not found[0].by_unit_alone:
            return None
        return found[0]

    def is_hidden(self, node: exp.Expr) -> bool:
        """Can it be counted only? A unit that the owner declared as a column is one."""
        found = self.place(node) if isinstance(node, exp.Column) else None
        return found is not None and found[1] not in found[0].columns

    def column(self, node: exp.Column, aliases: Collection[str]) -> Term:
        found = self.place(node)
        if found is not None and found[1] not in found[0].columns:
            raise _who(node, found[0])
        if found is not None:
            return found[0].columns[found[1]]
        if self.parent is not None and self.parent.place(node) is not None:
            raise self._outside(node)
        if node.name.lower() in aliases:
            raise RefusedQueryError(
                f"{show(node.name)} is a name from SELECT, not a column", "repeat it, or use HAVING", "unknown-column"
            )
        known = list(dict.fromkeys(name for item in self._prefixed(node) for name in item.known))
        error = missing(node.name, known, "column")
        if node.this.args.get("quoted") and "'" not in node.name and len(node.name) <= 40:
            raise RefusedQueryError(
                error.problem, f"write texts in single quotes: {show(node.name)}; {error.remedy}", error.code
            )
        raise error


def _who(node: exp.Column, item: Item) -> RefusedQueryError:
    name = short(node.name)
    if item.outer:
        return RefusedQueryError(
            f"{show(node.sql())} says who somebody is, and may be missing after LEFT JOIN",
            f"ask who is there with IN, or NOT IN, and a sub-query that selects {name}",
            "unit-as-value",
        )
    return RefusedQueryError(
        f"{show(node.name)} says who somebody is",
        f"write COUNT(DISTINCT {name}) to count people, or use it in a join or in IN (SELECT ...); nothing else",
        "unit-as-value",
    )
