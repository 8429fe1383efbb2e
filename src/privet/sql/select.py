"""What every SELECT has: items, groups, expressions over its rows and over its groups."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from privet.core.expression import And, Case, Coalesce, Column, Expression, IsNull, Literal, columns_in
from privet.core.origin import tables_in
from privet.core.plan import Aggregate, By, Function, Joined, Origin, PerUnit, canonical
from privet.core.rational import show
from privet.core.shape import Form
from privet.errors import RefusedQueryError
from privet.sql import rules, times  # noqa: F401  # their rules are registered by being read
from privet.sql.aggregates import Aggregates, is_aggregate
from privet.sql.constants import whole_of
from privet.sql.draft import Draft
from privet.sql.inline import both, renamed, there
from privet.sql.known_tables import Known, Rows
from privet.sql.numbering import Numbers
from privet.sql.places import at
from privet.sql.registry import Read, given, reading, written
from privet.sql.rules import divided
from privet.sql.scopes import Scope, find, short
from privet.sql.terms import Term, made, truth

# IN (SELECT ...) and EXISTS: is a unit, or a value, among the rows of another table?
#
# A unit is looked up by an outer join with one row for each unit that has such rows; the condition is that one exists.

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
    return there(_found(scope, rows))


def has_no_rows(scope: Scope, rows: Rows) -> Term:
    return Term(IsNull(Column(_found(scope, rows))), Form.TRUTH, 2, 2)


def _found(scope: Scope, rows: Rows) -> str:
    """The column that says how many rows a unit has there. It is missing where there are none."""
    if not rows.units:
        raise RefusedQueryError(
            "the sub-query does not give the unit", "select the column of the unit, and nothing else", "not-per-unit"
        )
    count = (Aggregate(name=FOUND, function=Function.COUNT),)
    right: PerUnit
    if isinstance(rows.origin, PerUnit) and not rows.conditions:
        right = replace(rows.origin, keys=(), aggregates=count)
    else:
        where = both(rows.conditions)
        right = PerUnit(source=rows.origin, where=None if where is None else where.expression, aggregates=count)
    return _beside(scope, right, by_unit=True, names=(FOUND,))[FOUND]


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


FARTHEST = 10**12  # rows
SCALAR = "ask for the number in a query of its own and write it here; or a JOIN with a sub-query that has GROUP BY unit"
WINDOWS = (
    "two kinds of windows are answered: SUM(COUNT(*)) OVER () and SUM(SUM(x)) OVER (PARTITION BY keys) in SELECT beside"
    " GROUP BY, and ROW_NUMBER() OVER (PARTITION BY unit ORDER BY day) in SELECT or QUALIFY of a sub-query without"
    " GROUP BY"
)
CLAUSES = {
    "order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET", "distinct": "DISTINCT", "group": "GROUP BY",
    "having": "HAVING", "rollup": "ROLLUP", "qualify": "QUALIFY", "cube": "CUBE", "totals": "WITH TOTALS",
}  # fmt: skip


def only(node: exp.Expr, arguments: str, remedy: str = "write one plain SELECT") -> None:
    extra = sorted(given(node) - set(arguments.split()))
    if extra:
        raise RefusedQueryError(
            f"{CLAUSES.get(extra[0], 'a part of this query')} is not answered here", remedy, "unsupported-sql"
        )


def has_aggregates(tree: exp.Expr) -> bool:
    """Does it aggregate, outside its sub-queries?"""
    nodes = tree.walk(prune=lambda node: node is not tree and isinstance(node, exp.Select))
    return any(is_aggregate(node) for node in nodes)


class Select:
    """One SELECT while it is read. `people` says that aggregates are taken over people, not of each one's rows."""

    people = True

    def __init__(self, tree: exp.Select, scope: Scope, known: Known) -> None:
        self.tree = tree
        self.scope = scope
        self.known = known
        self.draft = Draft()
        self.items: list[tuple[exp.Expr, str]] = [(node.unalias().unnest(), node.alias) for node in tree.expressions]
        self.aliases: dict[str, exp.Expr] = {
            self.draft.take(alias).lower(): node for node, alias in self.items if alias
        }
        self.outputs: dict[str, str] = {}  # by lower case, in order
        self.numbers = Numbers(scope)
        self.aggregates = Aggregates(self.row, scope, people=self.people, number=self.number)
        self._read: dict[int, Rows] = {}  # sub-queries by their node: an expression may be read several times

    # Rows

    def conditions(self) -> Term | None:
        """What stands in WHERE, and what FROM says beside its joins."""
        read = self.row("WHERE")
        terms = [*self.scope.conditions, *(truth(read(node), "WHERE") for node in self.scope.where)]
        found = both(terms)
        return None if found is None else self.draft.counted(found)

    def row(self, clause: str) -> Read:
        """Reads expressions over the columns of FROM."""

        def special(node: exp.Expr) -> Term | None:
            if isinstance(node, exp.Column):
                return self.scope.column(node, self.aliases)
            if isinstance(node, exp.Window):
                return self.window(node, clause)
            if is_aggregate(node):
                remedy = "use HAVING for conditions on aggregates" if clause == "WHERE" else "use columns there"
                raise RefusedQueryError(
                    f"the aggregate {written(node)} is not allowed in {clause}", remedy, "misplaced-aggregate"
                )
            if isinstance(node, exp.In) and node.args.get("query") is not None:
                return in_rows(self.scope, node.this.unnest(), self._looked_up(node.args["query"]), read)
            if isinstance(node, exp.Exists):
                return self._exists(node)
            if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
                return self._unmatched(node.this.unnest())
            if isinstance(node, exp.Query):
                raise RefusedQueryError("a sub-query is used where a value is needed", SCALAR, "misplaced-subquery")
            return None

        read = reading(special)
        return read

    def window(self, node: exp.Window, clause: str) -> Term:
        """What a row is among others. Only the rows of a sub-query have that."""
        raise RefusedQueryError(f"{written(node)} is not answered in {clause}", WINDOWS, "unsupported-function")

    def number(self, by: tuple[By, ...]) -> Term:
        """The number of a row of a unit among those of its group."""
        return self.numbers.column(tuple(key.expression for key in self.draft.groups.values()), by)

    def _looked_up(self, node: exp.Expr) -> Rows:
        tree = node.unnest()
        if len(tree.expressions) != 1 or tree.expressions[0].is_star:
            raise RefusedQueryError(
                "IN has a sub-query without exactly one column", "select one column there", "wrong-shape"
            )
        if id(tree) not in self._read:
            self._read[id(tree)] = self.known.read(self.known, tree, self.scope)
        return self._read[id(tree)]

    def _exists(self, node: exp.Exists) -> Term:
        tree = node.this.unnest()
        if id(tree) not in self._read:
            self._read[id(tree)] = self.known.read(self.known, tree, self.scope, exists=True)
        return has_rows(self.scope, self._read[id(tree)])

    def _unmatched(self, node: exp.Expr) -> Term | None:
        """LEFT JOIN ... WHERE right.unit IS NULL: the unit has no rows there. None of anything else."""
        item = self.scope.missing_unit(node)
        return None if item is None else has_no_rows(self.scope, item.rows)

    # Groups

    def grouped(self, node: exp.Expr) -> exp.Expr:
        """What an ordinal or an alias stands for. A column wins over an alias, as in SQL."""
        with at(node):
            if isinstance(node, exp.Literal) and not node.is_string:
                return self.items[self.ordinal(node, "GROUP BY")][0]
            if isinstance(node, exp.Column) and self.scope.find(node) is None:
                return self.aliases.get(node.name.lower(), node)
            return node

    def all_keys(self) -> list[exp.Expr]:
        """GROUP BY ALL."""
        return [node for node, _ in self.items if not has_aggregates(node)]

    def group(self, node: exp.Expr) -> Term:
        with at(node):
            term = self.row("GROUP BY")(node)
            if not node.find(exp.Column):
                raise RefusedQueryError(
                    f"GROUP BY {written(node)} is a constant", "group by a column", "constant-value"
                )
            self.draft.group(term)
            return term

    def ordinal(self, node: exp.Expr, clause: str) -> int:
        with at(node):
            place = whole_of(self.constant(node), clause, FARTHEST)
            if not 1 <= place <= len(self.items):
                raise RefusedQueryError(
                    f"{clause} {place} is not a column of SELECT", f"use 1 to {len(self.items)}", "out-of-range"
                )
            return place - 1

    def constant(self, node: exp.Expr) -> object:
        found = self.row("LIMIT")(node).expression
        return found.value if isinstance(found, Literal) else None

    # What is selected

    def select_keys(self) -> list[str | None]:
        """The names of the items that are keys; others are None. Keys come first: no made-up name takes a column's."""
        return [None if self.is_other(node) else self._selected_key(node, alias) for node, alias in self.items]

    def is_other(self, node: exp.Expr) -> bool:
        """Is it something else than a key: an aggregate, or computed from one, by its alias as well?"""
        seen: set[str] = set()
        waiting = [node]
        while waiting:
            top = waiting.pop()
            if has_aggregates(top):
                return True
            for column in top.find_all(exp.Column):
                name = column.name.lower()
                if name in self.aliases and name not in seen and not column.table and self.scope.find(column) is None:
                    seen.add(name)
                    waiting.append(self.aliases[name])
        return False

    def _selected_key(self, node: exp.Expr, alias: str) -> str:
        with at(node):
            term = self.row("SELECT")(node)
            if self.draft.key(term) is not None:
                raise RefusedQueryError(f"{written(node)} is selected twice", "select it once", "duplicate-value")
            name = self.draft.name_key(term, alias, node.name if isinstance(node, exp.Column) else "")
            if name is None:
                remedy = "add it to GROUP BY, or aggregate it"
                if find(alias, self.scope.columns, "column"):
                    remedy = f"{show(alias)} in GROUP BY means the column: choose another name, or group by its number"
                raise RefusedQueryError(f"{written(node)} is neither grouped nor aggregated", remedy, "not-grouped")
            return name

    # Groups, their keys and aggregates

    def answer(self, clause: str) -> Read:
        """Reads expressions over keys and aggregates."""

        def special(node: exp.Expr) -> Term | None:
            found = self.over_groups(node, clause) or self.named(node, clause)
            if found is not None:
                return found
            if isinstance(node, exp.Column):
                self.scope.column(node, self.aliases)
                raise RefusedQueryError(
                    f"{written(node)} is neither grouped nor aggregated", "use a key or an aggregate", "not-grouped"
                )
            if isinstance(node, exp.Query | exp.Exists) or node.args.get("query") is not None:
                raise RefusedQueryError(f"a sub-query is not allowed in {clause}", SCALAR, "misplaced-subquery")
            if isinstance(node, exp.SafeDivide):  # published numbers have no value where they are divided by 0
                return divided(read(node.this), read(node.expression), "SAFE_DIVIDE")
            return None

        read = reading(special)
        return read

    def over_groups(self, node: exp.Expr, clause: str) -> Term | None:
        """What is made of several groups of the answer. Only a whole query has any."""
        if isinstance(node, exp.Window):
            raise RefusedQueryError(f"{written(node)} is not answered in {clause}", WINDOWS, "unsupported-function")
        return None

    def named(self, node: exp.Expr, clause: str) -> Term | None:
        """The key, aggregate or alias that a node is; an aggregate that is not selected gets a name."""
        if is_aggregate(node):
            name: str | None = self.draft.known_or_added(self.aggregates.one(node, clause))
        else:
            name = self._key(node)
            if name is None and isinstance(node, exp.Column) and not node.table:
                name = self.outputs.get(node.name.lower())
        if name is None:
            return None
        return self.draft.computed.get(name) or Term(Column(name), self.draft.forms[name])

    def _key(self, node: exp.Expr) -> str | None:
        try:
            return self.draft.key(self.row("HAVING")(node)) if node.find(exp.Column) else None
        except RefusedQueryError:
            return None

    def having(self) -> Term | None:
        node = self.tree.args.get("having")
        return None if node is None else self.draft.counted(truth(self.answer("HAVING")(node.this), "HAVING"))
