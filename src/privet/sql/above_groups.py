"""SELECT ... FROM (SELECT ward, COUNT(*) AS n ... GROUP BY ward) WHERE n > 100: what is asked of released numbers.

It is written as one SELECT: names of the sub-query stand for its expressions, and WHERE becomes HAVING.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from privet.errors import RefusedQueryError
from privet.sql.known_tables import Known
from privet.sql.places import at
from privet.sql.registry import given
from privet.sql.scopes import find, missing
from privet.sql.select import has_aggregates

PLAIN = {"expressions", "from_", "where", "order", "limit", "offset", "with_"}
LIMITED = "write WHERE, ORDER BY and LIMIT in the same SELECT: GROUP BY ... HAVING ... ORDER BY ... LIMIT"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Groups:
    """A sub-query over people's rows. `items` are its columns, by their names."""

    tree: exp.Select
    items: Mapping[str, exp.Expr]
    prefixes: frozenset[str]

    def meant(self, node: exp.Expr, kept: frozenset[str] = frozenset()) -> exp.Expr:
        """The same with the expressions of its columns in the place of their names; `kept` are names of the answer."""

        def change(part: exp.Expr) -> exp.Expr:
            if not isinstance(part, exp.Column) or (not part.table and part.name.lower() in kept):
                return part
            with at(part):
                name = find(part.name, self.items, "column")
                if part.table and part.table.lower() not in self.prefixes:
                    raise missing(part.table, self.prefixes, "table")
                if name is None:
                    raise missing(part.name, self.items, "column")
            return self.item(name)

        return node.copy().transform(change)

    def item(self, name: str) -> exp.Expr:
        found = self.items[name].unalias().copy()
        return found if isinstance(found, exp.Column | exp.Anonymous) else exp.Paren(this=found)


def flat(tree: exp.Select, known: Known) -> exp.Select:
    """One SELECT for several, where the outer one looks at the groups of the inner one; any other as it is."""
    groups = _groups_in(tree, known)
    if groups is None:
        return tree
    inner = groups.tree
    if (inner.args.get("limit") or inner.args.get("offset")) and given(tree) & {"where", "order", "limit", "offset"}:
        with at(inner.args.get("limit") or inner.args.get("offset")):
            raise RefusedQueryError(
                "the sub-query has a LIMIT, and the outer query has conditions on its rows", LIMITED, "unsupported-sql"
            )
    _write_out_groups(inner, groups, known)
    inner.set("expressions", [new for item in tree.expressions for new in _selected(item, groups)])
    if tree.args.get("where") is not None:
        asked, own = groups.meant(tree.args["where"].this), inner.args.get("having")
        condition = asked if own is None else exp.And(this=exp.Paren(this=own.this), expression=exp.Paren(this=asked))
        inner.set("having", exp.Having(this=condition))
    if tree.args.get("order") is not None:
        shown = frozenset(item.alias_or_name.lower() for item in inner.expressions)
        inner.set("order", groups.meant(tree.args["order"], shown))
    for clause in ("limit", "offset"):
        inner.set(clause, tree.args.get(clause) or inner.args.get(clause))
    return inner


def _groups_in(tree: exp.Select, known: Known) -> _Groups | None:
    source = tree.args.get("from_")
    if source is None or given(tree) - PLAIN or has_aggregates(tree):
        return None
    node, listed = source.this, tree.args.get("with_")
    ctes = [] if listed is None else list(listed.expressions)
    inner, prefixes = node.unnest() if isinstance(node, exp.Subquery) else None, {node.alias.lower()}
    if isinstance(node, exp.Table) and not node.db:
        cte = next((one for one in ctes if one.alias.lower() == node.name.lower()), None)
        if cte is not None:
            inner, prefixes = cte.this.unnest(), {(node.alias or node.name).lower()}
            ctes.remove(cte)
    if not isinstance(inner, exp.Select):
        return None
    known.count()
    inner = inner.copy()
    own = inner.args.get("with_")
    every = [*(one.copy() for one in ctes), *([] if own is None else own.expressions)]
    inner.set("with_", exp.With(expressions=every) if every else None)
    inner = flat(inner, known)
    if not _is_of_people(inner, known):
        return None
    return _Groups(
        tree=inner, items={item.alias_or_name: item for item in inner.expressions}, prefixes=frozenset(prefixes)
    )


def _is_of_people(tree: exp.Select, known: Known) -> bool:
    """Does it aggregate, and not each unit's rows by themselves?"""
    names = [item.alias_or_name for item in tree.expressions]
    if not has_aggregates(tree) or not all(names) or len({*map(str.lower, names)}) < len(names):
        return False
    units = {unit.lower() for unit in known.units.values() if unit is not None}
    group = tree.args.get("group")
    return group is None or not any(column.name.lower() in units for column in group.find_all(exp.Column))


def _write_out_groups(tree: exp.Select, groups: _Groups, known: Known) -> None:
    """GROUP BY and HAVING without numbers of columns and names that SELECT gave: it selects something else now."""
    columns = {column.lower() for table in known.tables.values() for column in table}
    items = list(groups.items.values())

    def change(part: exp.Expr) -> exp.Expr:
        own = isinstance(part, exp.Column) and not part.table and part.name.lower() not in columns
        name = find(part.name, groups.items, "column") if own else None
        return part if name is None else groups.item(name)

    group, having = tree.args.get("group"), tree.args.get("having")
    if group is not None:
        for place, node in enumerate(group.expressions):
            number = int(node.this) if isinstance(node, exp.Literal) and node.this.isdigit() else 0
            listed = items[number - 1].unalias().copy() if 1 <= number <= len(items) else node.transform(change)
            group.expressions[place] = listed
        if group.args.get("all"):
            group.set("all", None)
            group.set("expressions", [item.unalias().copy() for item in items if not has_aggregates(item)])
    if having is not None:
        having.set("this", having.this.transform(change))


def _selected(item: exp.Expr, groups: _Groups) -> list[exp.Expr]:
    if item.is_star:
        return [found.copy() for found in groups.items.values()]
    column = item.unalias()
    name = item.alias or (column.name if isinstance(column, exp.Column) else "")
    meant = groups.meant(column)
    plain = isinstance(meant, exp.Column) and meant.name == name
    return [meant if plain or not name else exp.alias_(meant, name, quoted=True, copy=False)]
