"""FROM: which tables and sub-queries, and how they are put together.

The joins of a query are attached one after another to the first private table: a public table by equal columns, a
private one by the unit. Whatever else ON says of an inner join is a condition like those in WHERE.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from privet.core.expression import Column
from privet.core.origin import tables_in
from privet.core.plan import Aggregate, Function, Joined, Numbered, Origin, PerUnit
from privet.core.rational import show
from privet.errors import RefusedQueryError
from privet.sql.inline import both, of_nothing, renamed, there, where_true
from privet.sql.known_tables import Known, Rows
from privet.sql.numbering import only_asked
from privet.sql.places import at
from privet.sql.registry import Read, given, reading
from privet.sql.scopes import Item, Scope, find, missing, short
from privet.sql.terms import Term, truth

KINDS = {
    "RIGHT": "write LEFT JOIN, beginning with the table of people whose rows all stay",
    "FULL": "write LEFT JOIN, beginning with the table of people",
    "CROSS": "write JOIN ... ON with the columns that are equal",
    "NATURAL": "write JOIN ... USING (ward), with the columns that are equal",
    "SEMI": "write patient_id IN (SELECT patient_id FROM ...)",
    "ANTI": "write patient_id NOT IN (SELECT patient_id FROM ...)",
}
MIXED = "join a sub-query that has GROUP BY unit, with the condition in its WHERE; or write JOIN"


@dataclass(slots=True, kw_only=True, eq=False)
class Link:
    """Two columns of different items that are said to be equal. `owner` is the LEFT JOIN that says it."""

    ends: tuple[tuple[Item, str], tuple[Item, str]]
    node: exp.Expr
    owner: Item | None = None
    used: bool = False

    def from_to(self, item: Item) -> tuple[tuple[Item, str], str] | None:
        """(the other end, the item's column), or None if it does not touch the item."""
        one, two = self.ends
        return (one, two[1]) if two[0] is item else (two, one[1]) if one[0] is item else None

    @property
    def condition(self) -> exp.Expr:
        """As an equality, also what stands in USING."""
        if isinstance(self.node, exp.EQ):
            return self.node
        one, two = (exp.column(name, table=item.name) for item, name in self.ends)
        return exp.EQ(this=one, expression=two)

    @property
    def by_unit(self) -> bool:
        return all(name in item.rows.units for item, name in self.ends)


def scope_of(tree: exp.Select, known: Known, parent: Scope | None = None) -> Scope:
    """What the names of a SELECT mean, with everything in FROM put together."""
    source = tree.args.get("from_")
    if source is None:
        raise RefusedQueryError("the query has no FROM", "name the table: FROM visits", "missing-name")
    joins: list[exp.Join] = tree.args.get("joins") or []
    for join in joins:
        with at(join):
            _check_kind(join)
    alone = not joins and parent is None
    items = [_item(source.this, known, alone=alone)]
    items += [_item(join.this, known, outer=join.side == "LEFT") for join in joins]
    _check_different(items, [source, *joins])
    scope = Scope(items, known, parent)
    _From(tree, scope, joins).read()
    return scope


def conjuncts(node: exp.Expr | None) -> Iterator[exp.Expr]:
    """The conditions that AND ties together, in order, without recursion: a chain of thousands is as deep as long."""
    waiting = [] if node is None else [node]
    while waiting:
        top = waiting.pop().unnest()
        if isinstance(top, exp.And):
            waiting += [top.expression, top.this]
        else:
            yield top


def _check_kind(join: exp.Join) -> None:
    known = ("", ""), ("", "INNER"), ("LEFT", ""), ("LEFT", "OUTER")
    if given(join) - {"this", "on", "using", "side", "kind"} or (join.side, join.kind) not in known:
        raise RefusedQueryError(
            "this JOIN is not answered", "write JOIN t ON a.x = t.x, or LEFT JOIN", "unsupported-join"
        )


def _item(node: exp.Expr, known: Known, *, outer: bool = False, alone: bool = False) -> Item:
    with at(node):
        alias = node.args.get("alias")
        if alias is not None and given(alias) != {"this"}:
            raise RefusedQueryError(
                "FROM renames columns", "name them inside the sub-query: SELECT x AS a", "unsupported-sql"
            )
        if isinstance(node, exp.Subquery) and given(node) <= {"this", "alias"}:
            rows, name = known.read(known, node.this.unnest()), node.alias
            prefixes = {name.lower()} if name else set()
        else:
            rows, name = _table(node, known)
            prefixes = {node.alias.lower() or name.lower()} | ({name.lower()} if alone else set())
            name = node.alias or name
        return Item(
            name=name or "the sub-query", prefixes=frozenset(prefixes), rows=rows, outer=outer,
            columns=dict(rows.columns), known=dict.fromkeys((*rows.columns, *rows.units)),
        )  # fmt: skip


def _table(node: exp.Expr, known: Known) -> tuple[Rows, str]:
    plain = isinstance(node.this, exp.Identifier) and given(node) <= {"this", "db", "catalog", "alias"}
    if not isinstance(node, exp.Table) or not plain:
        raise RefusedQueryError(
            "FROM needs the name of a table", "write FROM visits, or FROM (SELECT ...) AS v", "unsupported-sql"
        )
    name = ".".join(part.name for part in node.parts)
    if name.lower() in known.named:
        return known.named[name.lower()], name
    found = find(name, known.tables, "table")
    if found is None:
        raise missing(name, [*known.tables, *known.named], "table")
    return known.scan(found), found


def _check_different(items: list[Item], nodes: list[exp.Expr]) -> None:
    seen: set[str] = set()
    for item, node in zip(items, nodes, strict=True):
        with at(node.this):
            if seen & item.prefixes:
                raise RefusedQueryError(
                    f"two tables in FROM are called {show(item.name)}",
                    "give each a name: FROM visits AS v JOIN visits AS w",
                    "duplicate-name",
                )
        seen |= item.prefixes


class _From:
    """The items of FROM while they are put together."""

    def __init__(self, tree: exp.Select, scope: Scope, joins: list[exp.Join]) -> None:
        self.tree = tree
        self.scope = scope
        self.items = scope.items
        self.joins: dict[Item, exp.Join] = dict(zip(self.items[1:], joins, strict=True))
        self.links: list[Link] = []
        self.rest: dict[Item, list[exp.Expr]] = {}  # what a LEFT JOIN says beside its links
        self.attached: list[Item] = []
        self.asked: list[exp.Expr] = []  # what WHERE says beside links

    def read(self) -> None:
        where = self.tree.args.get("where")
        parts = list(conjuncts(where.this)) if where is not None else []
        left = [part for part in parts if not self._is_link(part, None, len(self.items)) and not self._follows(part)]
        self.asked = left
        for i in range(1, len(self.items)):
            self._read_join(i)
        self._attach_all()
        self._check_unused()
        if where is not None:
            self.scope.where += left if len(left) < len(parts) else [where.this]

    def _follows(self, node: exp.Expr) -> bool:
        """Does a condition of EXISTS tie the unit to that of the query around it?"""
        parent = self.scope.parent
        if parent is None or not isinstance(node, exp.EQ):
            return False
        for inner, outer in ((node.this, node.expression), (node.expression, node.this)):
            if _own(self.scope, inner) in _units(self.items) and _own(self.scope, outer) is None:
                self.scope.follows |= parent.is_unit(outer)
                return parent.is_unit(outer)
        return False

    def _read_join(self, i: int) -> None:
        item, join = self.items[i], self.joins[self.items[i]]
        with at(join):
            for name in join.args.get("using") or []:
                self._using(i, name)
            self._check_names(join.args.get("on"))
            owner = item if item.outer else None
            rest = [part for part in conjuncts(join.args.get("on")) if not self._is_link(part, owner, i + 1)]
            if item.outer:
                self.rest[item] = rest
            else:
                self.scope.where += rest

    def _check_names(self, on: exp.Expr | None) -> None:
        """Names that mean nothing are told before anything that follows from them."""
        for node in () if on is None else on.walk(prune=lambda part: isinstance(part, exp.Query)):
            with at(node):
                if isinstance(node, exp.Column) and self.scope.place(node) is None:
                    self.scope.column(node, ())

    def _using(self, i: int, node: exp.Expr) -> None:
        """USING (ward): the column of the item, and the one of those before it."""
        item, name = self.items[i], node.name
        mine = find(name, item.known, "column")
        before = [(one, found) for one in self.items[:i] if (found := find(name, one.known, "column")) is not None]
        before = [pair for pair in before if self.scope.merged.get(name.lower(), pair[0]) is pair[0]]
        if mine is None or not before:
            earlier = [column for one in self.items[:i] for column in one.known]
            raise missing(name, item.known if mine is None else list(dict.fromkeys(earlier)), "column")
        if len(before) > 1:
            raise RefusedQueryError(
                f"USING ({short(name)}) could be {' or '.join(show(one.name) for one, _ in before[:3])}",
                "write ON with the tables' names",
                "ambiguous-name",
            )
        self.scope.merged.setdefault(name.lower(), before[0][0])
        self.links.append(Link(ends=(before[0], (item, mine)), node=node, owner=item if item.outer else None))

    def _is_link(self, node: exp.Expr, owner: Item | None, seen: int) -> bool:
        """Keeps an equality of columns of two items. ON sees the items up to its own only."""
        if not isinstance(node, exp.EQ) or len(self.items) == 1:
            return False
        one, two = (_own(self.scope, side.unnest()) for side in (node.this, node.expression))
        if one is None or two is None or one[0] is two[0] or (owner is not None and owner not in (one[0], two[0])):
            return False
        for item, _ in (one, two):
            if item not in self.items[:seen]:
                raise RefusedQueryError(
                    f"ON uses {show(item.name)} before it is joined", "join it first", "wrong-order"
                )
        self.links.append(Link(ends=(one, two), node=node, owner=owner))
        return True

    # Putting together

    def _attach_all(self) -> None:
        leading = next((item for item in self.items if not (item.rows.public or item.outer)), None)
        if leading is None and len(self.items) > 1:
            with at(next(iter(self.joins.values()))):
                raise self._no_leading()
        leading = leading or self.items[0]
        self.attached = [leading]
        self.scope.put(leading.rows.origin)
        self.scope.taken |= {name.lower() for name in self.scope.declared.columns_of(leading.rows.origin)}
        self.scope.conditions += leading.rows.conditions
        waiting = [item for item in self.items if item is not leading]
        while waiting:
            ready = next((item for item in waiting if self._ready(item)), None)
            if ready is None:
                raise self._not_tied(waiting[0])
            waiting.remove(ready)
            with at(self.joins.get(ready)):
                self._attach(ready)

    def _no_leading(self) -> RefusedQueryError:
        if all(item.rows.public for item in self.items):
            return RefusedQueryError(
                "all these tables are public", "read them yourself: they need no budget", "private-table-needed"
            )
        return RefusedQueryError(
            "LEFT JOIN begins with a public table",
            "begin with the table of people: FROM visits LEFT JOIN wards",
            "private-table-needed",
        )

    def _ties(self, item: Item) -> list[tuple[Link, tuple[Item, str], str]]:
        """Links between an item and those that are attached. LEFT JOIN has only its own, and needs all of them."""
        found = [link for link in self.links if link.owner is (item if item.outer else None)]
        ends = [(link, pair) for link in found if (pair := link.from_to(item)) is not None]
        tied = [(link, pair[0], pair[1]) for link, pair in ends if pair[0][0] in self.attached]
        return [] if item.outer and len(tied) < len(ends) else tied

    def _ready(self, item: Item) -> bool:
        return any(link.by_unit is not item.rows.public for link, _, _ in self._ties(item))

    def _not_tied(self, item: Item) -> RefusedQueryError:
        leading, rows = self.attached[0], item.rows
        name, other = short(item.name), short(leading.name)
        table = self._written(item)
        if rows.public:
            both = [short(column) for column in item.columns if column in leading.columns]
            key = next((column for column in map(short, rows.apart or ()) if column in both), (*both, "x")[0])
            error = RefusedQueryError(
                f"the join of {show(item.name)} names no column that equals one of the other tables",
                f"write JOIN {table} ON {other}.{key} = {name}.{key}",
                "missing-join-condition",
            )
        elif not (rows.people and leading.rows.people):
            error = RefusedQueryError(
                "each row is a unit of its own, so two private tables have no units in common",
                "ask about one of them; a public table can be joined",
                "rows-are-units",
            )
        else:
            mine, theirs = (short((*one.units, "patient_id")[0]) for one in (rows, leading.rows))
            error = RefusedQueryError(
                f"{show(item.name)} is not joined by the unit",
                f"write JOIN {table} ON {name}.{mine} = {other}.{theirs}; a sub-query must select it",
                "not-per-unit",
            )
        error.part = self.joins.get(item)
        return error

    def _written(self, item: Item) -> str:
        """How an item stands in FROM: stays AS s."""
        node = self.joins[item].this if item in self.joins else self.tree.args["from_"].this
        return short(node.sql()) if isinstance(node, exp.Table) else short(item.name)

    def _attach(self, item: Item) -> None:
        ties, rows = self._ties(item), item.rows
        on: dict[tuple[str, str], None] = {}
        for link, (other, theirs), mine in ties:
            pair = _plain(other.columns.get(theirs), item.columns.get(mine))
            if link.by_unit:
                self._check_sure(other, item)
            elif pair is not None:
                on[pair] = None
            elif item.outer:
                self.rest[item].append(link.condition)
            else:
                continue
            link.used = True
        if rows.public and not on:
            for link, _, _ in ties:
                self._reader()(link.condition)  # says what cannot be compared, or asked about
            raise RefusedQueryError(
                f"{show(item.name)} is joined by an expression",
                "join by columns, not by expressions",
                "computed-column",
            )
        item.by_unit_alone = item.outer and not (rows.public or on or self.rest[item])
        self._join(item, tuple(on))

    def _check_sure(self, other: Item, item: Item) -> None:
        if other.outer:
            sure = next(one for one in self.attached if not one.outer and not one.rows.public)
            ends = [f"{short(one.name)}.{short((*one.rows.units, 'patient_id')[0])}" for one in (item, sure)]
            raise RefusedQueryError(
                f"{show(item.name)} is joined to {show(other.name)}, which LEFT JOIN may leave out",
                f"write {' = '.join(ends)}",
                "unsupported-join",
            )

    def _numbered(self, item: Item) -> Rows:
        """Of numbered rows only those whose numbers are asked for are joined, before any limit leaves some out."""
        origin = item.rows.origin
        if not isinstance(origin, Numbered):
            return item.rows
        nodes = [*self.rest.get(item, ()), *self.scope.where, *self.asked]
        own = [node for node in nodes if self._is_about(node, item, Column(origin.name))]
        return only_asked(item.rows, origin, [*item.rows.conditions, *map(self._reader(), own)])

    def _is_about(self, node: exp.Expr, item: Item, column: Column) -> bool:
        """Does a condition name this column of the item, and no other?"""
        found = [_own(self.scope, one) for one in node.find_all(exp.Column)]
        named = [one[0].columns.get(one[1]) if one is not None and one[0] is item else None for one in found]
        return bool(named) and all(term is not None and term.expression == column for term in named)

    def _join(self, item: Item, on: tuple[tuple[str, str], ...]) -> None:
        rows = self._numbered(item)
        single = rows.apart is not None and set(rows.apart) <= {mine for _, mine in on}
        if not single and not self.attached[0].rows.people:
            raise RefusedQueryError(
                f"a row could match several of {show(item.name)}, and each row is a unit",
                "join by the key that the owner declared for the public table",
                "unbounded-join",
            )
        origin, seen = _with_witness(rows.origin) if item.outer else (rows.origin, None)
        owner = item.name if isinstance(origin, PerUnit) else next(tables_in(origin))
        columns = self.scope.declared.columns_of(origin)
        names = {name: self.scope.fresh(name, f"{owner}_{name}") for name in columns}
        self.scope.put(Joined(
            left=self.scope.origin, right=origin, by_unit=not rows.public, on=on, names=tuple(names.items()),
            outer=item.outer, most=(1 if single else None) if rows.public else rows.most,
        ))  # fmt: skip
        self.attached.append(item)
        item.columns = {name: renamed(term, names) for name, term in item.columns.items()}
        conditions = [renamed(term, names) for term in rows.conditions]
        if item.outer:
            seen = seen or next((mine for _, mine in on), None)
            self._guard(item, conditions, None if seen is None else there(names[seen]), single=single or rows.most == 1)
        else:
            self.scope.conditions += conditions

    def _guard(self, item: Item, conditions: list[Term], matched: Term | None, *, single: bool) -> None:
        """After LEFT JOIN a column has a value only where a row matched, and passed what is said of it.

        If one row at most matches, that is a CASE around the column; otherwise a row could be there several times.
        """
        conditions += [truth(self._reader()(node), "ON") for node in self.rest[item]]
        if conditions and not single:
            raise RefusedQueryError(
                f"LEFT JOIN has a condition on {show(item.name)}, in which several rows may match",
                MIXED,
                "unsupported-join",
            )
        if conditions:
            matched = both([*([] if matched is None else [matched]), *conditions])
        for name, term in item.columns.items():
            if not conditions and of_nothing(term) is None:
                continue
            if matched is None or of_nothing(matched) is True:
                raise RefusedQueryError(
                    f"after LEFT JOIN it is not known where {show(name)} is missing",
                    "compute it outside the sub-query, from plain columns",
                    "computed-column",
                )
            item.columns[name] = where_true(matched, term)

    def _reader(self) -> Read:
        return reading(lambda node: self.scope.column(node, ()) if isinstance(node, exp.Column) else None)

    def _check_unused(self) -> None:
        """Further equalities are conditions, but for units that are the same anyway."""
        for link in self.links:
            if link.used or (link.by_unit and not any(item.outer for item, _ in link.ends)):
                continue
            self.scope.where.append(link.condition)


def _plain(left: Term | None, right: Term | None) -> tuple[str, str] | None:
    """The names of two columns that an origin can be joined by: as they are, and of one form."""
    if left is None or right is None or left.form is not right.form:
        return None
    names = [term.expression.name for term in (left, right) if isinstance(term.expression, Column)]
    return (names[0], names[1]) if len(names) == 2 else None


def _with_witness(origin: Origin) -> tuple[Origin, str | None]:
    """Rows made for each unit with a count, which has a value wherever such a row is, and its name; of numbered rows it
    is their number."""
    if isinstance(origin, Numbered):
        return origin, origin.name
    if not isinstance(origin, PerUnit):
        return origin, None
    found = next((made.name for made in origin.aggregates if made.function is Function.COUNT), None)
    if found is not None:
        return origin, found
    taken = {name.lower() for name in (*(k.name for k in origin.keys), *(a.name for a in origin.aggregates))}
    name = next(name for name in ("rows", *(f"rows_{number}" for number in range(2, 999))) if name not in taken)
    return replace(origin, aggregates=(*origin.aggregates, Aggregate(name=name, function=Function.COUNT))), name


def _own(scope: Scope, node: exp.Expr) -> tuple[Item, str] | None:
    """What a node names here, or None if it is no column, or not one of these items."""
    if not isinstance(node, exp.Column):
        return None
    try:
        return scope.place(node)
    except RefusedQueryError:
        return None


def _units(items: Iterable[Item]) -> list[tuple[Item, str]]:
    return [(item, unit) for item in items for unit in item.rows.units]
