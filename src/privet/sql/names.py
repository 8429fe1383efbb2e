"""Which declared table and column a name means. Case does not matter unless two names differ in nothing else."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping

from sqlglot import exp

from privet.core.expression import Column
from privet.core.rational import show
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.core.shape import Form
from privet.errors import RefusedQueryError
from privet.sql.registry import given
from privet.sql.terms import Term

FORMS: dict[type[Kind], Form] = {
    Integer: Form.NUMBER, Number: Form.NUMBER, Boolean: Form.TRUTH, Date: Form.DATE, Timestamp: Form.TIME,
    Category: Form.WORD, Text: Form.WORD,
}  # fmt: skip
MOST_LISTED = 12


def find(name: str, declared: Collection[str], what: str) -> str | None:
    """The declared spelling of a name, or None."""
    if name in declared:
        return name
    same = [other for other in declared if other.lower() == name.lower()]
    if len(same) > 1:
        raise RefusedQueryError(
            f"{what} {show(name)} could be {' or '.join(map(show, same))}", "write it in exactly one of these ways"
        )
    return same[0] if same else None


def listed(names: Collection[str], what: str) -> str:
    """The declared names, shortened, for a remedy."""
    shown = ", ".join(_short(name) for name in list(names)[:MOST_LISTED])
    return f"the {what} are: {shown or 'none'}" + (", ..." if len(names) > MOST_LISTED else "")


def _short(name: str) -> str:
    return name if name.isprintable() and len(name) <= 40 else show(name)


def missing(name: str, declared: Collection[str], what: str) -> RefusedQueryError:
    by_lower = {other.lower(): other for other in declared}
    close = difflib.get_close_matches(name[:100].lower(), by_lower, 1, 0.7)
    guess = f"did you mean {_short(by_lower[close[0]])}? " if close else ""
    return RefusedQueryError(f"there is no {what} {show(name)}", guess + listed(declared, f"{what}s"))


class Scope:
    """The one table of a query."""

    def __init__(
        self, tree: exp.Select, tables: Mapping[str, Mapping[str, Kind]], units: Mapping[str, str | None]
    ) -> None:
        node = _table_node(tree)
        name = ".".join(part.name for part in node.parts)
        found = find(name, tables, "table")
        if found is None:
            raise missing(name, tables, "table")
        self.table = found
        self.columns = tables[found]
        self.unit = units.get(found)
        self.known = list(dict.fromkeys((*self.columns, *([] if self.unit is None else [self.unit]))))
        self.prefixes = {found.lower(), node.alias.lower() or found.lower()}
        self.used: set[str] = set()

    def find(self, node: exp.Column) -> str | None:
        """The declared column, or the unit's, that a node names, or None."""
        prefix = ".".join(part.name for part in node.parts[:-1])
        if prefix and prefix.lower() not in self.prefixes:
            raise RefusedQueryError(
                f"there is no table {show(prefix)} in FROM", f"write {_short(self.table)}.{_short(node.name)}"
            )
        return find(node.name, self.known, "column")

    def is_unit(self, node: exp.Expr) -> bool:
        """Is this the column that says whose a row is?"""
        return self.unit is not None and isinstance(node, exp.Column) and self.find(node) == self.unit

    def is_hidden(self, node: exp.Expr) -> bool:
        """Can it be counted only? A unit that the owner declared as a column is one."""
        return self.unit not in self.columns and self.is_unit(node)

    def column(self, node: exp.Column, aliases: Collection[str]) -> Term:
        if self.is_hidden(node):
            raise RefusedQueryError(
                f"{show(node.name)} says who somebody is",
                f"COUNT(DISTINCT {_short(node.name)}) counts people; nothing else can be asked about who they are",
            )
        found = self.find(node)
        if found is not None:
            self.used.add(found)
            return Term(Column(found), FORMS[type(self.columns[found])])
        if node.name.lower() in aliases:
            raise RefusedQueryError(
                f"{show(node.name)} is a name from SELECT, not a column", "repeat the expression, or use HAVING"
            )
        if node.this.args.get("quoted") and "'" not in node.name and len(node.name) <= 40:
            error = missing(node.name, self.known, "column")
            raise RefusedQueryError(error.problem, f"texts stand in single quotes: {show(node.name)}; {error.remedy}")
        raise missing(node.name, self.known, "column")


def _table_node(tree: exp.Select) -> exp.Table:
    source = tree.args.get("from_")
    if source is None:
        raise RefusedQueryError("the query has no FROM", "name the table: FROM visits")
    node: exp.Expr = source.this
    alias = node.args.get("alias")
    plain = isinstance(node.this, exp.Identifier) and given(node) <= {"this", "db", "catalog", "alias"}
    if isinstance(node, exp.Table) and plain and (alias is None or given(alias) == {"this"}):
        return node
    raise RefusedQueryError("FROM holds more than a table's name", "write FROM visits, or FROM visits AS v")
