"""SELECT inside SELECT: rows computed one by one, or one row for each unit. Anything else looks at several people."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from privet.core.expression import Column
from privet.core.origin import tables_in
from privet.core.plan import PerUnit
from privet.core.rational import show
from privet.errors import RefusedQueryError
from privet.sql.from_clause import scope_of
from privet.sql.known_tables import Known, Rows, cte_names
from privet.sql.numbering import ROW_NUMBER, window
from privet.sql.places import at
from privet.sql.registry import reading, written
from privet.sql.scopes import Item, Scope, short
from privet.sql.select import Select, has_aggregates, only
from privet.sql.terms import Term, truth

PARTS = "expressions from_ joins where group having distinct qualify with_"
NO_QUALIFY = "write HAVING there, or QUALIFY in a sub-query without GROUP BY and DISTINCT"
NO_ORDER = "leave it out there; ORDER BY ... LIMIT ranks the noisy groups of the whole query"
AS_EXISTS = "write EXISTS (SELECT 1 FROM t WHERE t.patient_id = v.patient_id AND ...)"


def with_names(known: Known, tree: exp.Select) -> Known:
    """What is known inside a SELECT that begins with WITH."""
    for name, node, whole in cte_names(tree):
        with at(whole):
            known = known.naming(name, rows_of(known, node))
    return known


def rows_of(known: Known, tree: exp.Expr, parent: Scope | None = None, *, exists: bool = False) -> Rows:
    """The rows that a sub-query gives. `parent` is the query around it, where IN or EXISTS looks into it."""
    if not isinstance(tree, exp.Select):
        raise RefusedQueryError("this is not a SELECT", "write one SELECT there", "unsupported-sql")
    known.count()
    only(tree, PARTS, NO_ORDER)
    known = with_names(known, tree)
    scope = scope_of(tree, known, parent)
    if scope.follows and not exists:
        raise RefusedQueryError("the sub-query is tied to the query around it", AS_EXISTS, "correlated-subquery")
    if exists:
        return _existing(tree, scope, known)
    if tree.args.get("group") is not None or tree.args.get("distinct") is not None:
        only(tree, PARTS.replace("qualify ", ""), NO_QUALIFY)
        return _PerUnit(tree, scope, known).rows()
    if has_aggregates(tree):
        raise _over_people(scope)
    return _RowWise(tree, scope, known).rows()


def _over_people(scope: Scope) -> RefusedQueryError:
    if all(item.rows.public for item in scope.items):
        return RefusedQueryError(
            "the sub-query aggregates a public table",
            "aggregate it yourself, and join the result",
            "private-table-needed",
        )
    if not any(item.rows.people for item in scope.items):
        return RefusedQueryError(
            "the sub-query aggregates rows, but each row is a unit", "aggregate once, outside", "rows-are-units"
        )
    unit = short(next((unit for item in scope.items for unit in item.rows.units), "patient_id"))
    return RefusedQueryError(
        "the sub-query aggregates over people",
        f"select {unit} and GROUP BY {unit} there, or ask for it in a query of its own",
        "not-per-unit",
    )


def _existing(tree: exp.Select, scope: Scope, known: Known) -> Rows:
    """What EXISTS asks about: the rows of the unit. What it selects does not matter."""
    only(tree, "expressions from_ joins where with_", AS_EXISTS)
    if not scope.follows:
        raise RefusedQueryError("EXISTS is not tied to the unit of the query around it", AS_EXISTS, "not-per-unit")
    reader = _RowWise(exp.Select(), scope, known)
    found = reader.rows()
    units = tuple(unit for item in scope.items for unit in item.rows.units)
    return Rows(origin=found.origin, columns={}, units=units, people=True, conditions=found.conditions)


def _leading(scope: Scope, known: Known) -> Rows:
    """The rows of the table that comes first, which says how many of a unit count."""
    return known.scan(next(tables_in(scope.origin)))


class _RowWise(Select):
    """Each row for itself: its expressions are put in place of its columns."""

    def rows(self) -> Rows:
        columns: dict[str, Term] = {}
        units: list[str] = []
        for node, alias in self.items:
            if node.is_star:
                for item in self._starred(node):
                    self._take_all(item, columns, units)
            elif self.scope.is_hidden(node):
                if not self.scope.is_unit(node):
                    self.row("SELECT")(node)  # says why not
                units.append(alias or self.draft.take(node.name))
            else:
                term = self.row("SELECT")(node)
                name = alias or (self.draft.take(node.name) if isinstance(node, exp.Column) else "")
                columns |= {name: term} if name else {}
                units += [name] if self.scope.is_unit(node) else []
        where, kept = self.conditions(), self._qualified()  # which may join what they look up
        used = [term.expression for term in (*columns.values(), *kept)]
        origin, where = self.numbers.origin(self.scope.origin, where, used)
        leading = _leading(self.scope, self.known)
        source = self.scope.items[0].rows
        alone = origin == source.origin  # the same rows as those of the one thing in FROM
        return Rows(
            origin=origin,
            columns=columns,
            units=tuple(dict.fromkeys(units)),
            public=leading.public,
            people=leading.people,
            apart=source.apart if alone else None,
            most=source.most if alone else leading.most,
            conditions=(*([] if where is None else [where]), *kept),
        )

    def window(self, node: exp.Window, clause: str) -> Term:
        if clause not in ("SELECT", "QUALIFY"):
            return super().window(node, clause)
        keys, by = window(node, self.row(clause), self.scope)
        alias = next((alias for item, alias in self.items if item is node), "")
        return self.numbers.column(keys, by, alias or ROW_NUMBER)

    def _qualified(self) -> list[Term]:
        """QUALIFY is a condition on numbers of rows, by the names that SELECT gives them as well."""
        clause = self.tree.args.get("qualify")
        read = self.row("QUALIFY")

        def special(node: exp.Expr) -> Term | None:
            named = isinstance(node, exp.Column) and not node.table and self.scope.find(node) is None
            alias = self.aliases.get(node.name.lower()) if named else None
            return read(alias or node) if alias is not None or isinstance(node, exp.Column | exp.Window) else None

        return [] if clause is None else [truth(reading(special)(clause.this), "QUALIFY")]

    def _starred(self, node: exp.Expr) -> list[Item]:
        prefix = node.args["table"].name.lower() if isinstance(node, exp.Column) else ""
        found = [item for item in self.scope.items if not prefix or prefix in item.prefixes]
        if not found:
            raise RefusedQueryError(
                f"there is no table {show(prefix)} in FROM", "write *, or a table that is there", "unknown-table"
            )
        return found

    def _take_all(self, item: Item, columns: dict[str, Term], units: list[str]) -> None:
        for name in item.known:
            merged = self.scope.merged.get(name.lower(), item)
            if merged is not item or (name in item.rows.units and name in units):
                continue
            if name in item.columns:
                columns[self.draft.take(name)] = item.columns[name]
            units += [name] if name in item.rows.units and not item.outer else []


class _PerUnit(Select):
    """GROUP BY unit, or DISTINCT: what a unit's own rows add up to."""

    people = False

    def rows(self) -> Rows:
        where = self.conditions()
        for node in self._groups():
            self.group(node)
        keys = self.select_keys()
        columns: dict[str, Term] = {}
        for (node, alias), key in zip(self.items, keys, strict=True):
            with at(node):
                if key is not None:
                    columns[key] = Term(Column(key), self.draft.forms[key])
                elif not self.scope.is_unit(node):
                    name = alias or self.draft.made_up(node.name)
                    columns[name] = self.answer("SELECT")(node)
        self.draft.name_other_keys()
        having = self.having()
        leading = _leading(self.scope, self.known)
        names = tuple(key.name for key in self.draft.keys)
        source, where = self.numbers.origin(self.scope.origin, where, [self.draft.keys, self.draft.aggregates])
        return Rows(
            origin=PerUnit(
                source=source, where=None if where is None else where.expression, keys=self.draft.keys,
                aggregates=tuple(self.draft.aggregates),
            ),
            columns=columns,
            units=tuple(self._units()),
            people=True,
            apart=names,
            most=leading.most if names else None,
            conditions=() if having is None else (having,),
        )  # fmt: skip

    def is_other(self, node: exp.Expr) -> bool:
        return self.scope.is_unit(node) or super().is_other(node)

    def _units(self) -> Iterator[str]:
        for node, alias in self.items:
            if self.scope.is_unit(node):
                yield alias or node.name

    def _groups(self) -> Iterator[exp.Expr]:
        """The keys beside the unit, which must be there."""
        nodes = [self.grouped(node) for node in self._listed()]
        if not any(self.scope.is_unit(node) for node in nodes):
            raise _over_people(self.scope)
        yield from (node for node in nodes if not self.scope.is_unit(node))

    def _listed(self) -> list[exp.Expr]:
        distinct = self.tree.args.get("distinct")
        if distinct is not None:
            if self.tree.args.get("group") is not None or has_aggregates(self.tree):
                raise RefusedQueryError(
                    "DISTINCT is used together with groups or aggregates",
                    "write SELECT DISTINCT unit, key, or GROUP BY",
                    "unsupported-sql",
                )
            return [node for node, _ in self.items]
        group = self.tree.args["group"]
        with at(group):
            only(group, "expressions all", "write GROUP BY unit, key; ROLLUP belongs into the outer query")
            for node in group.expressions:
                if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
                    raise RefusedQueryError(
                        f"{written(node)} is not allowed in a sub-query", "use it in the outer query", "unsupported-sql"
                    )
        return [*(self.all_keys() if group.args.get("all") else []), *(node.unnest() for node in group.expressions)]
