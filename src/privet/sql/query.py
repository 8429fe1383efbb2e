"""From a SELECT to a plan, clause by clause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from privet.core.expression import Column, Expression, Literal
from privet.core.narrow import narrowed
from privet.core.plan import Function, Order, Plan
from privet.core.ranges import shape_of
from privet.core.rational import show
from privet.core.schema import Kind
from privet.core.shape import Form, Shape, Shapes, need, shape_of_kind
from privet.errors import RefusedQueryError
from privet.sql import rules, times  # noqa: F401  # their rules are registered by being read
from privet.sql.aggregates import Aggregates, is_aggregate
from privet.sql.constants import whole_of
from privet.sql.draft import Draft
from privet.sql.names import Scope, find
from privet.sql.registry import Read, given, reading, written
from privet.sql.terms import Term, truth

FARTHEST = 10**12  # rows
ANSWERED = Shape(form=Form.NUMBER, high=1)  # HAVING is free: only the forms matter there
WHAT = "ask for COUNT(*), SUM(x) or AVG(x)"


def plan_from(tree: exp.Select, tables: Mapping[str, Mapping[str, Kind]], units: Mapping[str, str | None]) -> Plan:
    """The plan of a SELECT. Every expression in it has a shape."""
    _only(tree, "expressions from_ where group having order limit offset")
    scope = Scope(tree, tables, units)
    _check_aggregated(tree)
    plan = _Query(tree, scope).plan()
    _check(plan, {name: shape_of_kind(scope.columns[name]) for name in sorted(scope.used)})
    return plan


def _only(node: exp.Expr, arguments: str) -> None:
    extra = given(node) - set(arguments.split())
    if extra:
        what = "a second table" if "joins" in extra else "a part of this query"
        raise RefusedQueryError(f"{what} is not answered", "write one plain SELECT from one table")


def _check_aggregated(tree: exp.Select) -> None:
    if any(item.is_star for item in tree.expressions):
        raise RefusedQueryError("SELECT * asks for the rows themselves", WHAT)
    if not any(is_aggregate(node) for node in tree.walk()):
        asks = "groups but counts nothing" if tree.args.get("group") else "asks for the rows themselves"
        raise RefusedQueryError(f"the query {asks}", WHAT)


class _Query:
    """One query while it is read."""

    def __init__(self, tree: exp.Select, scope: Scope) -> None:
        self.tree = tree
        self.scope = scope
        self.draft = Draft()
        self.items: list[tuple[exp.Expr, str]] = [(node.unalias().unnest(), node.alias) for node in tree.expressions]
        self.aliases: dict[str, exp.Expr] = {
            self.draft.take(alias).lower(): node for node, alias in self.items if alias
        }
        self.outputs: dict[str, str] = {}  # by lower case, in order
        self.places: list[list[str]] = []  # the names of each item of SELECT
        self.aggregates = Aggregates(self._row, scope)

    def plan(self) -> Plan:
        where = self._condition("where", self._row("WHERE"))
        self._group()
        self._select()
        having = self._condition("having", reading(self._in_answer))
        order = tuple(self._order())
        return Plan(
            table=self.scope.table,
            where=where,
            keys=self.draft.keys,
            aggregates=tuple(self.draft.aggregates),
            outputs=tuple(self.outputs.values()),
            having=having,
            order=order,
            limit=self._rows("limit"),
            offset=self._rows("offset") or 0,
        )

    def _condition(self, clause: str, read: Read) -> Expression | None:
        node = self.tree.args.get(clause)
        return None if node is None else self.draft.counted(truth(read(node.this), clause.upper())).expression

    def _row(self, clause: str) -> Read:
        """Reads expressions over the columns of the table."""

        def special(node: exp.Expr) -> Term | None:
            if isinstance(node, exp.Column):
                return self.scope.column(node, self.aliases)
            if is_aggregate(node):
                remedy = "use HAVING for conditions on aggregates" if clause == "WHERE" else "use columns there"
                raise RefusedQueryError(f"the aggregate {written(node)} stands in {clause}", remedy)
            return None

        return reading(special)

    def _group(self) -> None:
        group = self.tree.args.get("group")
        if group is None:
            return
        _only(group, "expressions all")
        chosen = [node for node, _ in self.items if group.args.get("all") and not is_aggregate(node)]
        for node in (*chosen, *(self._grouped(node.unnest()) for node in group.expressions)):
            term = self._row("GROUP BY")(node)
            if not node.find(exp.Column):
                raise RefusedQueryError(f"GROUP BY {written(node)} is a constant", "group by a column")
            self.draft.group(term)

    def _grouped(self, node: exp.Expr) -> exp.Expr:
        """What an ordinal or an alias stands for. A column wins over an alias, as in SQL."""
        if isinstance(node, exp.Literal) and not node.is_string:
            return self.items[self._ordinal(node, "GROUP BY")][0]
        if isinstance(node, exp.Column) and self.scope.find(node) is None:
            return self.aliases.get(node.name.lower(), node)
        return node

    def _ordinal(self, node: exp.Expr, clause: str) -> int:
        place = whole_of(self._constant(node), clause, FARTHEST)
        if not 1 <= place <= len(self.items):
            raise RefusedQueryError(
                f"{clause} {place} is not a column of SELECT", f"write a number from 1 to {len(self.items)}"
            )
        return place - 1

    def _constant(self, node: exp.Expr) -> object:
        found = self._row("LIMIT")(node).expression
        return found.value if isinstance(found, Literal) else None

    def _select(self) -> None:
        """Keys are named first, so that no made-up name takes a column's."""
        names = [None if is_aggregate(node) else self._selected_key(node, alias) for node, alias in self.items]
        for (node, alias), name in zip(self.items, names, strict=True):
            names_here = [name] if name else [self.draft.add(asked, alias) for asked in self.aggregates.read(node)]
            self.places.append(names_here)
            self.outputs |= {shown.lower(): shown for shown in names_here}
        self.draft.name_other_keys()

    def _selected_key(self, node: exp.Expr, alias: str) -> str:
        if any(is_aggregate(part) for part in node.walk()):
            raise RefusedQueryError(
                f"{written(node)} computes with aggregates",
                "select the aggregates alone and compute with the answers: that is free",
            )
        term = self._row("SELECT")(node)
        if self.draft.key(term) is not None:
            raise RefusedQueryError(f"{written(node)} is selected twice", "select it once")
        name = self.draft.name_key(term, alias)
        if name is None:
            remedy = "add it to GROUP BY, or aggregate it"
            if find(alias, self.scope.columns, "column"):
                remedy = f"{show(alias)} in GROUP BY is the column: use another name, or the number of the place"
            raise RefusedQueryError(f"{written(node)} is neither grouped nor aggregated", remedy)
        return name

    # HAVING, ORDER BY and LIMIT see the answer only.

    def _in_answer(self, node: exp.Expr) -> Term | None:
        """Reads expressions over the keys and aggregates of the plan."""
        name = self._named(node, "HAVING")
        if name is not None:
            return Term(Column(name), self.draft.forms[name])
        if isinstance(node, exp.Column):
            self.scope.column(node, ())
            raise RefusedQueryError(f"{written(node)} is neither grouped nor aggregated", "use a key or an aggregate")
        return None

    def _named(self, node: exp.Expr, clause: str) -> str | None:
        """The name of the key or aggregate that a node is; an aggregate that is not selected gets one."""
        if is_aggregate(node):
            return self.draft.known_or_added(self.aggregates.one(node, clause))
        key = self._key(node)
        if key is None and isinstance(node, exp.Column) and not node.table:
            return self.outputs.get(node.name.lower())
        return key

    def _key(self, node: exp.Expr) -> str | None:
        try:
            return self.draft.key(self._row("HAVING")(node)) if node.find(exp.Column) else None
        except RefusedQueryError:
            return None

    def _order(self) -> Iterator[Order]:
        clause = self.tree.args.get("order")
        for ordered in () if clause is None else clause.expressions:
            _only(ordered, "this desc nulls_first")
            if ordered.args.get("nulls_first"):
                raise RefusedQueryError("NULLS FIRST is not answered", "leave it out: NULLs come last")
            yield Order(name=self._order_name(ordered.this.unnest()), descending=bool(ordered.args.get("desc")))

    def _order_name(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Literal) and not node.is_string:
            return self._one_name(self.places[self._ordinal(node, "ORDER BY")])
        alias = self.outputs.get(node.name.lower()) if isinstance(node, exp.Column) and not node.table else None
        name = alias or self._named(node, "ORDER BY")
        if name is None:
            raise RefusedQueryError(
                f"ORDER BY {written(node)} is not a column of the answer", "order by a selected key or an aggregate"
            )
        return name

    def _one_name(self, names: list[str]) -> str:
        if len(names) > 1:
            raise RefusedQueryError("ORDER BY has a list of quantiles", f"order by one of them: {show(names[0])}")
        return names[0]

    def _rows(self, clause: str) -> int | None:
        """LIMIT or OFFSET."""
        node = self.tree.args.get(clause)
        if node is None or (isinstance(node.expression, exp.Var) and node.expression.name.upper() == "ALL"):
            return None
        if not isinstance(node, exp.Limit | exp.Offset) or given(node) != {"expression"}:
            raise RefusedQueryError(f"this {clause.upper()} is not answered", f"write {clause.upper()} 10")
        rows = whole_of(self._constant(node.expression), clause.upper(), FARTHEST)
        if rows < 0:
            raise RefusedQueryError(f"{clause.upper()} {rows} is below 0", "write 0 or more")
        return rows


def _check(plan: Plan, columns: Shapes) -> None:
    """Every expression has a shape of the right form. What WHERE excludes need not fit."""
    answered = {aggregate.name: ANSWERED for aggregate in plan.aggregates}
    if plan.where is not None:
        _shaped("WHERE", plan.where, columns, Form.TRUTH)
    inside = narrowed(columns, plan.where)
    for key in plan.keys:
        answered[key.name] = _shaped("GROUP BY", key.value, inside, *Form)
    for aggregate in plan.aggregates:
        counts = aggregate.function in (Function.COUNT, Function.COUNT_DISTINCT)
        for value in (aggregate.value, aggregate.second):
            if value is not None:
                _shaped(str(aggregate.function), value, inside, *(Form if counts else (Form.NUMBER,)))
    if plan.having is not None:
        _shaped("HAVING", plan.having, answered, Form.TRUTH)


def _shaped(clause: str, expression: Expression, columns: Shapes, *forms: Form) -> Shape:
    try:
        return need(shape_of(expression, columns), *forms)
    except RefusedQueryError as error:
        raise RefusedQueryError(f"in {clause}: {error.problem}", error.remedy) from None
