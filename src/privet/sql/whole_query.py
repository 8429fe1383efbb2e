"""From a SELECT to a plan, clause by clause."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from sqlglot import exp

from privet.core.expression import (
    Absolute,
    Arithmetic,
    Column,
    Exponential,
    Expression,
    Logarithm,
    Power,
    Quotient,
    Root,
    Sign,
    columns_in,
)
from privet.core.narrow import narrowed
from privet.core.origin import shapes_of, tables_in
from privet.core.plan import Computed, Function, Joined, Numbered, Order, Origin, PerUnit, Plan, Scan, canonical
from privet.core.ranges import shape_of
from privet.core.rational import show
from privet.core.shape import Form, Shape, Shapes, need, shape_of_kind
from privet.core.weights import weighted
from privet.errors import RefusedQueryError
from privet.sql.above_groups import flat
from privet.sql.aggregates import is_aggregate
from privet.sql.constants import whole_of
from privet.sql.from_clause import scope_of
from privet.sql.inline import changed
from privet.sql.known_tables import Known
from privet.sql.places import at
from privet.sql.registry import given, written
from privet.sql.scopes import Scope
from privet.sql.select import FARTHEST, WINDOWS, Select, has_aggregates, only
from privet.sql.subqueries import with_names
from privet.sql.terms import Term, weight_of

# What of an origin is used: columns that nobody asks for are not read, and their declarations do not matter.

Used = dict[str, set[str]]  # columns by table


def pruned(origin: Origin, needed: Collection[str], used: Used) -> Origin:
    """The same rows with no other columns than the needed ones. `used` is told what is read of each table."""
    match origin:
        case Scan():
            used.setdefault(origin.table, set()).update(needed)
            return origin
        case Joined():
            names = tuple((name, here) for name, here in origin.names if here in needed)
            inside = {here for _, here in origin.names}
            left = {name for name in needed if name not in inside} | {mine for mine, _ in origin.on}
            right = {name for name, _ in names} | {yours for _, yours in origin.on}
            return replace(
                origin, left=pruned(origin.left, left, used), right=pruned(origin.right, right, used), names=names
            )
        case PerUnit():
            kept = tuple(aggregate for aggregate in origin.aggregates if aggregate.name in needed)
            parts = (origin.where, tuple(key.value for key in origin.keys), kept)
            return replace(origin, source=pruned(origin.source, set(columns_in(parts)), used), aggregates=kept)
        case Numbered():
            needed = {*columns_in([origin.where, origin.keys, origin.by]), *origin.columns}
            return replace(origin, source=pruned(origin.source, needed, used))
        case _:
            assert_never(origin)


# ROLLUP, CUBE and GROUPING SETS: which groupings are asked for, finest first as they are written.

MOST_LEVELS = 64
Level = tuple[exp.Expr, ...]
ROLLED = (exp.Rollup, exp.Cube, exp.GroupingSets)


def is_rolled(group: exp.Expr) -> bool:
    """Is there more than one grouping?"""
    return any(isinstance(node, ROLLED) for node in group.expressions) or bool(_trailing(group))


def levels_of(group: exp.Expr) -> list[Level]:
    """Every grouping: each way of taking one from each item, since GROUP BY a, ROLLUP (b) has a in all of them."""
    trailing = _trailing(group)
    if trailing:
        (kind,) = trailing
        return _checked(_sets(type(kind), [_nodes(node) for node in group.expressions]))
    found: list[Level] = [()]
    for node in group.expressions:
        found = _checked([(*level, *more) for level in found for more in _levels(node)])
    return found


def _trailing(group: exp.Expr) -> list[exp.Expr]:
    """WITH ROLLUP, WITH CUBE."""
    return [*(group.args.get("rollup") or []), *(group.args.get("cube") or [])]


def _levels(node: exp.Expr) -> list[Level]:
    if isinstance(node, exp.GroupingSets):
        return _checked([level for item in node.expressions for level in _levels(item)])
    if isinstance(node, exp.Rollup | exp.Cube):
        return _sets(type(node), [_nodes(item) for item in node.expressions])
    return [_nodes(node)]


def _nodes(node: exp.Expr) -> Level:
    return tuple(node.expressions) if isinstance(node, exp.Tuple) else (node.unnest(),)


def _sets(kind: type[exp.Expr], items: Sequence[Level]) -> list[Level]:
    """ROLLUP leaves items out from the end, CUBE in all ways."""
    if len(items) > MOST_LEVELS or (kind is exp.Cube and 2 ** len(items) > MOST_LEVELS):
        return _checked([()] * (MOST_LEVELS + 1))
    sizes = range(len(items), -1, -1)
    if kind is exp.Cube:
        kept = [chosen for size in sizes for chosen in itertools.combinations(items, size)]
    else:
        kept = [tuple(items[:size]) for size in sizes]
    return [tuple(itertools.chain.from_iterable(chosen)) for chosen in kept]


def _checked(levels: list[Level]) -> list[Level]:
    if len(levels) > MOST_LEVELS:
        raise RefusedQueryError(
            f"GROUP BY asks for more than {MOST_LEVELS} groupings", "use GROUPING SETS ((a, b), (a), ())", "too-many"
        )
    return levels


ANSWERED = Shape(form=Form.NUMBER, high=1)  # HAVING is free: only the forms matter there
WHAT = "ask for COUNT(*), SUM(x) or AVG(x)"
DISTINCT = "GROUP BY the column and count its rows: SELECT ward, COUNT(*) FROM visits GROUP BY ward"


SAME_ROWS = (
    "repeat FROM and WHERE of the query around it and select one COUNT, SUM or AVG; ask for any other number in a query"
    " of its own and write it here"
)
PLAIN = "write one plain SELECT; HAVING is for groups, QUALIFY for the rows of a sub-query that is then aggregated"
WINDOWED = (Function.COUNT, Function.COUNT_DISTINCT, Function.SUM)
ADDED = (Function.COUNT, Function.SUM, Function.AVG)  # of all groups it follows from what is released of each


def _canonical(condition: Term | None) -> object:
    return None if condition is None else canonical(condition.expression)


def plan_from(tree: exp.Select, known: Known, weight: str | None = None) -> Plan:
    """The plan of a SELECT, with each row counted by a weight if one is named. Every expression in it has a shape."""
    with at(tree.args.get("distinct")):
        if tree.args.get("distinct") is not None:
            raise RefusedQueryError("SELECT DISTINCT asks for the rows themselves", DISTINCT, "no-aggregate")
    tree = flat(tree, known)
    only(tree, "expressions from_ joins where group having order limit offset with_", PLAIN)
    known = with_names(known, tree)
    scope = scope_of(tree, known)
    _check_aggregated(tree)
    plan, used = _Query(tree, scope, known).plan(None if weight is None else _weight(scope, weight))
    declared = {
        table: {name: shape_of_kind(known.tables[table][name]) for name in sorted(names)}
        for table, names in used.items()
    }
    _check(plan, _shapes(plan.origin or Scan(table=plan.table), declared), tree)
    return plan


def _weight(scope: Scope, name: str) -> str:
    """The column of the origin that a name means, such as weight or p.weight."""
    prefix, _, last = ("", "", name) if name in scope.known else name.rpartition(".")
    return weight_of(scope.column(exp.column(last, table=prefix or None), ()), name)


def _check_aggregated(tree: exp.Select) -> None:
    for item in tree.expressions:
        with at(item):
            if item.is_star:
                raise RefusedQueryError("SELECT * asks for the rows themselves", WHAT, "no-aggregate")
    with at(next(iter(tree.expressions), None)):
        if not has_aggregates(tree):
            asks = "groups but counts nothing" if tree.args.get("group") else "asks for the rows themselves"
            raise RefusedQueryError(f"the query {asks}", WHAT, "no-aggregate")


class _Query(Select):
    """The whole query."""

    def __init__(self, tree: exp.Select, scope: Scope, known: Known) -> None:
        super().__init__(tree, scope, known)
        self.places: list[list[str]] = []  # the names of each item of SELECT
        self.levels: list[list[Term]] = []
        self.passing: Term | None = None  # what stands in WHERE

    def plan(self, weight: str | None) -> tuple[Plan, Used]:
        self.passing = where = self.conditions()
        self._group()
        self._select()
        having = self.having()
        order = tuple(self._order())
        parts = (where, tuple(k.value for k in self.draft.keys), tuple(self.draft.aggregates))
        used: Used = {}
        origin = pruned(self.scope.origin, {*columns_in(parts), *([] if weight is None else [weight])}, used)
        plan = Plan(
            table=next(tables_in(origin)),
            origin=None if isinstance(origin, Scan) else origin,
            where=None if where is None else where.expression,
            keys=self.draft.keys,
            aggregates=tuple(self.draft.aggregates),
            levels=self._level_names(),
            computed=tuple(Computed(name=name, value=term.expression) for name, term in self.draft.computed.items()),
            outputs=tuple(self.outputs.values()),
            having=None if having is None else having.expression,
            order=order,
            limit=self._rows("limit"),
            offset=self._rows("offset") or 0,
            totals=tuple(self.draft.totals.values()),
        )
        return plan if weight is None else weighted(plan, weight), used

    def _group(self) -> None:
        group = self.tree.args.get("group")
        if group is None:
            return
        with at(group):
            only(group, "expressions all rollup cube", "write GROUP BY keys, or GROUP BY ROLLUP (keys)")
            chosen = self.all_keys() if group.args.get("all") else []
            for node in chosen:
                self.group(node)
            for level in levels_of(group):
                self.levels.append([self.group(node) for node in (*chosen, *map(self.grouped, level))])
            if not is_rolled(group):
                self.levels = []

    def _level_names(self) -> tuple[tuple[str, ...], ...]:
        """Each grouping by the names of its keys, in the order of the keys."""
        found = []
        for level in self.levels:
            names = {self.draft.key(term) for term in level}
            found.append(tuple(key.name for key in self.draft.keys if key.name in names))
        every = tuple(key.name for key in self.draft.keys)
        levels = tuple(dict.fromkeys(found))
        return () if levels == (every,) else levels

    def _select(self) -> None:
        """Keys, then aggregates, then what is computed from them, which finds those that are selected."""
        keys = self.select_keys()
        named: dict[int, list[str]] = {}
        for i, (node, alias) in enumerate(self.items):
            if is_aggregate(node):
                with at(node):
                    named[i] = [self.draft.add(asked, alias) for asked in self.aggregates.read(node)]
        self.draft.name_other_keys()
        for i, ((node, alias), key) in enumerate(zip(self.items, keys, strict=True)):
            if i not in named:
                named[i] = [key or self.draft.compute(self.answer("SELECT")(node), alias)]
            self.outputs |= {shown.lower(): shown for shown in named[i]}
        self.places = [named[i] for i in range(len(self.items))]

    # Shares of a total: noisy numbers of several groups, added up for free.

    def over_groups(self, node: exp.Expr, clause: str) -> Term | None:
        if clause == "SELECT" and isinstance(node, exp.Window):
            return self._window(node)
        if clause == "SELECT" and isinstance(node, exp.Subquery):
            return self._whole(node)
        return super().over_groups(node, clause)

    def _window(self, node: exp.Window) -> Term:
        """SUM(COUNT(*)) OVER (PARTITION BY key): HAVING comes before it, and there are no rows of totals to add up."""
        outer, of = node.this, node.args.get("partition_by") or []
        plain = not given(node) - {"this", "partition_by", "over"}
        inner = outer.expressions[0] if len(outer.expressions) == 1 else None
        summed = isinstance(outer, exp.Anonymous) and outer.name.upper() == "SUM"
        if not (plain and summed and inner is not None and is_aggregate(inner)):
            raise RefusedQueryError(f"{written(node)} is not answered", WINDOWS, "unsupported-function")
        asked = self.aggregates.one(inner, "OVER")
        if asked.function not in WINDOWED:
            raise RefusedQueryError(
                f"{written(node)} adds up what is no count and no sum",
                "add up COUNT(*) or SUM(x)",
                "unsupported-function",
            )
        if self.tree.args.get("having") is not None or self.levels:
            raise RefusedQueryError(
                f"{written(node)} is used together with HAVING or ROLLUP, whose rows it would add up",
                "leave them out, or divide by (SELECT COUNT(*) FROM ...) with the same FROM and WHERE",
                "unsupported-sql",
            )
        return self.draft.total(asked, tuple(self._partition(key) for key in of))

    def _partition(self, node: exp.Expr) -> str:
        with at(node):
            alias = self.aliases.get(node.name.lower()) if isinstance(node, exp.Column) and not node.table else None
            name = self._key(node) or (None if alias is None else self._key(alias))
            if name is None:
                raise RefusedQueryError(
                    f"PARTITION BY {written(node)} is no key of the query", "add it to GROUP BY", "not-grouped"
                )
            return name

    def _whole(self, node: exp.Subquery) -> Term:
        """(SELECT COUNT(*) FROM the same WHERE the same): all groups together."""
        tree = node.unnest()
        if not isinstance(tree, exp.Select) or given(tree) - {"expressions", "from_", "joins", "where"}:
            raise RefusedQueryError("this sub-query in SELECT is not answered", SAME_ROWS, "misplaced-subquery")
        self.known.count()
        inner = Select(tree, scope_of(tree, self.known), self.known)
        where = inner.conditions()
        items = [item for item, _ in inner.items]
        same = inner.scope.origin == self.scope.origin and _canonical(where) == _canonical(self.passing)
        if not (same and len(items) == 1 and is_aggregate(items[0])):
            raise RefusedQueryError(
                "the sub-query is not one aggregate of the same rows", SAME_ROWS, "misplaced-subquery"
            )
        asked = inner.aggregates.one(items[0], "SELECT")
        if asked.function not in ADDED:
            raise RefusedQueryError(
                f"{written(items[0])} of all groups does not follow from that of each", SAME_ROWS, "misplaced-subquery"
            )
        return self.draft.total(asked)

    # ORDER BY and LIMIT see the answer only.

    def _order(self) -> Iterator[Order]:
        clause = self.tree.args.get("order")
        for ordered in () if clause is None else clause.expressions:
            with at(ordered):
                only(ordered, "this desc nulls_first", "write ORDER BY n DESC")
                if ordered.args.get("nulls_first"):
                    raise RefusedQueryError(
                        "NULLS FIRST is not answered", "leave it out: NULLs come last", "unsupported-sql"
                    )
                yield Order(name=self._order_name(ordered.this.unnest()), descending=bool(ordered.args.get("desc")))

    def _order_name(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Literal) and not node.is_string:
            return self._one_name(self.places[self.ordinal(node, "ORDER BY")])
        alias = self.outputs.get(node.name.lower()) if isinstance(node, exp.Column) and not node.table else None
        if alias is not None:
            return alias
        found = self.named(node, "ORDER BY")
        if found is None and (isinstance(node, exp.Column) or not node.find(exp.Column, exp.Anonymous)):
            raise RefusedQueryError(
                f"ORDER BY {written(node)} is not a column of the answer", "order by what is selected", "unknown-column"
            )
        term = found or self.answer("ORDER BY")(node)
        return term.expression.name if isinstance(term.expression, Column) else self.draft.compute(term, "")

    def _one_name(self, names: list[str]) -> str:
        if len(names) > 1:
            raise RefusedQueryError(
                "ORDER BY has a list of quantiles", f"order by one of them: {show(names[0])}", "too-many"
            )
        return names[0]

    def _rows(self, clause: str) -> int | None:
        """LIMIT, OFFSET, or FETCH FIRST 10 ROWS ONLY."""
        node = self.tree.args.get(clause)
        with at(node):
            if node is None or (isinstance(node.expression, exp.Var) and node.expression.name.upper() == "ALL"):
                return None
            count = _counted(node)
            if count is None or given(node) - {"expression", "direction", "count", "limit_options"}:
                raise RefusedQueryError(
                    f"this {clause.upper()} is not answered", f"write {clause.upper()} 10", "unsupported-sql"
                )
            rows = whole_of(self.constant(count), clause.upper(), FARTHEST)
            if rows < 0:
                raise RefusedQueryError(f"{clause.upper()} {rows} is below 0", "write 0 or more", "negative")
            return rows


def _counted(node: exp.Expr) -> exp.Expr | None:
    """How many rows, unless it is a share of them."""
    options = node.args.get("limit_options")
    plain = options is None or not (options.args.get("percent") or options.args.get("with_ties"))
    return node.args.get("count" if isinstance(node, exp.Fetch) else "expression") if plain else None


def _shapes(origin: Origin, declared: dict[str, dict[str, Shape]]) -> Shapes:
    try:
        return shapes_of(origin, declared)
    except RefusedQueryError as error:
        raise RefusedQueryError(f"in FROM: {error.problem}", error.remedy, error.code) from None


def _check(plan: Plan, columns: Shapes, tree: exp.Select) -> None:
    """Every expression has a shape of the right form. What WHERE excludes need not fit."""
    names = [*(aggregate.name for aggregate in plan.aggregates), *(total.name for total in plan.totals)]
    answered = dict.fromkeys(names, ANSWERED)
    if plan.where is not None:
        with at(tree.args.get("where")):
            _shaped("WHERE", plan.where, columns, Form.TRUTH)
    inside = narrowed(columns, plan.where)
    for key in plan.keys:
        with at(tree.args.get("group")):
            answered[key.name] = _shaped("GROUP BY", key.value, inside, *Form)
    for aggregate in plan.aggregates:
        counts = aggregate.function in (Function.COUNT, Function.COUNT_DISTINCT)
        for value in (aggregate.value, aggregate.second):
            if value is not None:
                _shaped(str(aggregate.function), value, inside, *(Form if counts else (Form.NUMBER,)))
    for computed in plan.computed:
        _shaped("SELECT", _unrounded(computed.value), answered, *Form)
    if plan.having is not None:
        with at(tree.args.get("having")):
            _shaped("HAVING", _unrounded(plan.having), answered, Form.TRUTH)


def _unrounded(expression: Expression) -> Expression:
    """Without functions that need a range in rows: of the same form, and only forms matter in an answer."""

    def plain(node: Expression) -> Expression:
        match node:
            case Quotient(left, right):
                return Arithmetic(Sign.MULTIPLY, left, right)
            case Root(item) | Logarithm(item) | Exponential(item) | Power(item):
                return Absolute(item)
        return node

    found: Expression = changed(expression, plain)
    return found


def _shaped(clause: str, expression: Expression, columns: Shapes, *forms: Form) -> Shape:
    try:
        return need(shape_of(expression, columns), *forms)
    except RefusedQueryError as error:
        raise RefusedQueryError(f"in {clause}: {error.problem}", error.remedy, error.code) from None
