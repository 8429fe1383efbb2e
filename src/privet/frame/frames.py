"""Frames: the rows that a question is asked of, step by step. Each step gives a new frame; none touches data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from privet.catalog.declarations import Table
from privet.core.expression import Column, Expression
from privet.core.origin import shapes_of, tables_in
from privet.core.plan import By, Numbered, Origin, PerUnit, Scan
from privet.core.rational import show
from privet.core.shape import Form, shape_of_kind
from privet.core.weights import weight_from
from privet.errors import InvalidInputError, RefusedQueryError
from privet.frame.aggregates import Aggregation
from privet.frame.columns import Expr, col, condition_of, expr, items_of, read
from privet.frame.joins import How, Names, On, beside_public, beside_units, names_of, only_units, used_in
from privet.frame.row_scopes import Groups, Rows
from privet.frame.summary import Keys, Summary, named_keys, together
from privet.frame.value_methods import written
from privet.records.conditions import columns_of
from privet.sql.draft import Draft
from privet.sql.terms import Term, truth

if TYPE_CHECKING:
    from privet.query import Query
    from privet.suggest import Suggestion

LONGEST_NOTE = 10_000
WIDEST = 110  # of a step in a notebook


class Asker(Protocol):
    """What a frame needs of its vault."""

    @property
    def tables(self) -> Mapping[str, Table]: ...

    @property
    def ask(self) -> Callable[..., Query]: ...

    @property
    def suggest_bounds(self) -> Callable[..., Suggestion]: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Frame:
    """Rows of a declared table, or made of several. `columns` gives what each name means in terms of `origin`."""

    vault: Asker
    tables: Mapping[str, Table]  # as they were declared when the frame was made
    origin: Origin
    columns: Mapping[str, Term]
    conditions: tuple[Term, ...] = ()
    steps: tuple[str, ...] = ()
    note: str = ""

    # What can be done with it

    def filter(self, *conditions: Expr) -> Frame:
        """Only rows that fulfill all conditions: .filter(pv.col("age") > 60, pv.col("ward") == "A")."""
        given = [condition_of(condition, "filter") for condition in conditions]
        terms = [truth(read(item, self.rows), "filter") for one in given for item in items_of(one)]
        return self._next(f".filter({_listed(given)})", conditions=(*self.conditions, *terms))

    def with_columns(self, **named: object) -> Frame:
        """New columns, or old names with a new meaning. All are computed from the columns as they were."""
        self.rows.check_new(*named)
        made = {name: read(expr(value), self.rows) for name, value in named.items()}
        return self._next(f".with_columns({_named(named)})", columns=MappingProxyType({**self.columns, **made}))

    def group_by(self, *keys: str | Expr, **named: Expr) -> Grouped:
        """By columns, or by expressions under names: .group_by("ward", decade=pv.col("age") // 10)."""
        if not keys and not named:
            raise InvalidInputError(
                "group_by has no key", 'write .group_by("ward"), or .agg(...) alone for all rows', "missing-name"
            )
        found = [self._key(key) for key in keys]
        found += [(name, read(expr(value), self.rows)) for name, value in named.items()]
        shown = ", ".join(part for part in (_listed(keys), _named(named)) if part)
        return Grouped(frame=self, keys=tuple(found), step=f".group_by({shown})")

    def agg(self, *unnamed: Aggregation, **named: Aggregation) -> Summary:
        """Numbers about all rows: .agg(n=pv.count(), c=pv.mean("cost"))."""
        return Grouped(frame=self, keys=(), step="").agg(*unnamed, **named)

    def per_unit(self, **named: Expr) -> Frame:
        """One row for each unit: what its own rows add up to. Say how large a total can be:
        .per_unit(total=pv.sum("cost").clip(0, 5000))."""
        return Grouped(frame=self, keys=(), step="").per_unit(**named)

    def first_per_unit(self, *order_by: str | Expr) -> Frame:
        """The first row of each unit in this order: .first_per_unit("day"). Rows without a value come last; of rows
        that are equal there the values of all columns decide."""
        return self._ordered(order_by, f".first_per_unit({_listed(order_by)})")

    def last_per_unit(self, *order_by: str | Expr) -> Frame:
        """The last row of each unit that has a value there: .last_per_unit("day")."""
        return self._ordered(order_by, f".last_per_unit({_listed(order_by)})", descending=True)

    def numbered_per_unit(self, name: str, *order_by: str | Expr) -> Frame:
        """All rows with their number among those of their unit, 1 for the first: .numbered_per_unit("visit", "day")."""
        self.rows.check_new(name)
        return self._ordered(order_by, f".numbered_per_unit({written(name)}, {_listed(order_by)})", name=name)

    def join(self, other: Frame, on: On, *, how: How = "inner") -> Frame:
        """Each row beside the rows of a public table that are equal in `on`: a name, names, or {"here": "there"}.

        how="left" keeps rows that nothing matches. A name that is taken gets the other table's before it: wards_age.
        """
        parts = beside_public(self, self._of_same_vault(other), on, how)
        return self._next(f".join({other.words}, on={on!r}{_how(how)})", **parts)

    def join_units(self, other: Frame, on: On = (), *, how: How = "inner") -> Frame:
        """Each row beside rows of another private table that belong to the same unit.

        how="left" keeps rows that nothing matches; "semi" keeps the rows of units that are in the other, "anti" those
        of units that are not.
        """
        right = self._of_same_vault(other)
        if how in ("semi", "anti"):
            parts = only_units(self, right, on, there=how == "semi")
        else:
            parts = beside_units(self, right, on, how)
        also = f", on={on!r}" if on else ""
        return self._next(f".join_units({other.words}{also}{_how(how)})", **parts)

    def __getitem__(self, name: str) -> Expr:
        """frame["age"] is pv.col("age"), with the name checked."""
        found = col(name)
        self.rows.column(name)
        return found

    def __repr__(self) -> str:
        return self.drawn(self.steps, "rows: .group_by(...) and .agg(...) make a question of them")

    # What others need of it

    @property
    def table(self) -> str:
        """The declared table that it begins with."""
        return next(tables_in(self.origin))

    @property
    def declaration(self) -> Table:
        return self.tables[self.table]

    @property
    def rows(self) -> Rows:
        return Rows(columns=self.columns, unit=self.declaration.unit)

    @property
    def words(self) -> str:
        """What was called, on one line."""
        return self.table + "".join(self.steps)

    def condition(self, draft: Draft | None = None) -> Expression | None:
        for term in self.conditions if draft is not None else ():
            draft.counted(term)  # type: ignore[union-attr]
        return together(self.conditions)

    def ask(self, summary: Summary, how: Mapping[str, Any]) -> Query:
        self._check_declared()
        text = summary.text
        given = dict(how)
        plan = summary.plan_by(weight_from(given.pop("weight", None)))
        return self.vault.ask(plan, text if len(text) <= LONGEST_NOTE else text[:LONGEST_NOTE] + "...", **given)

    def suggest(self, summary: Summary, epsilon: object, analyst: str) -> Suggestion:
        return self.vault.suggest_bounds(summary, epsilon=epsilon, analyst=analyst)

    def drawn(self, steps: Sequence[str], end: str) -> str:
        """A line a step, for notebooks."""
        of = self.declaration.unit
        whose = "public" if self.declaration.public else f"protects {show(of)}" if of else "protects each row"
        notes = [f"# {self.note}"] if self.note else []
        columns = [f"# columns: {', '.join(self.columns)}"] if steps is self.steps else []
        lines = [f"  {_cut(line)}" for line in (*notes, *steps, *columns, f"# {end}")]
        return "\n".join([f"{self.table}  # {whose}", *lines])

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.columns)

    def _key(self, key: str | Expr) -> tuple[str, Term]:
        """With its name; what is computed without one gets a name that says how."""
        if isinstance(key, str):
            name = self.rows.name_of(key)
            return name, self.columns[name]
        term = read(expr(key), self.rows)
        return term.expression.name if isinstance(term.expression, Column) else "", term

    def _ordered(
        self, order_by: tuple[str | Expr, ...], step: str, *, name: str = "", descending: bool = False
    ) -> Frame:
        if self.declaration.unit is None:
            raise RefusedQueryError(
                "each row is a unit here: no unit has several rows", "leave it out", "rows-are-units"
            )
        if not order_by:
            raise InvalidInputError(
                "nothing says which row is the first", 'name the column: .first_per_unit("day")', "missing-order"
            )
        items = [self._key(item)[1].expression for item in order_by]
        used = {column for term in self.columns.values() for column in columns_of(term.expression)} | used_in(items)
        number = Names(self).fresh("row_number", self.table)
        origin = Numbered(
            source=self.origin,
            where=self.condition(),
            by=tuple(By(value=item, descending=descending) for item in items),
            columns=tuple(column for column in names_of(self.origin, self.tables) if column in used),
            name=number,
            last=None if name else 1,
        )
        columns = {**self.columns, **({name: Term(Column(number), Form.NUMBER)} if name else {})}
        return self._next(step, origin=origin, columns=MappingProxyType(columns), conditions=())

    def _next(self, step: str, **changes: Any) -> Frame:
        return replace(self, **changes, steps=(*self.steps, step))

    def _of_same_vault(self, other: object) -> Frame:
        if not isinstance(other, Frame) or other.vault is not self.vault:
            raise InvalidInputError(
                "the right side of the join is not a frame of this vault", 'join vault.table("wards")', "wrong-type"
            )
        return other

    def _check_declared(self) -> None:
        for name in tables_in(self.origin):
            if self.vault.tables.get(name) != self.tables[name]:
                raise InvalidInputError(
                    f"table {show(name)} was declared again after this frame was made",
                    f"begin again with vault.table({name!r})",
                    "declaration-changed",
                )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Grouped:
    """A frame with keys: it needs `agg`, or `per_unit`."""

    frame: Frame
    keys: Keys
    step: str

    def agg(self, *unnamed: Aggregation, **named: Aggregation) -> Summary:
        """Numbers about each group, under these names: .agg(n=pv.count(), c=pv.mean("cost"))."""
        listed = [*(("", asked) for asked in unnamed), *named.items()]
        if not listed:
            raise InvalidInputError("agg has no aggregate", "write .agg(n=pv.count())", "nothing-to-do")
        for _, asked in listed:
            if not isinstance(asked, Aggregation):
                raise _not_aggregate(asked)
        shown = ", ".join(part for part in (_listed(unnamed), _named(named)) if part)
        steps = (*self.frame.steps, *([self.step] if self.step else []), f".agg({shown})")
        return Summary(frame=self.frame, keys=self.keys, aggregates=tuple(listed), steps=steps).checked()

    def per_unit(self, **named: Expr) -> Frame:
        """One row for each unit and group: what a unit's own rows there add up to."""
        frame = self.frame
        if frame.declaration.unit is None:
            raise RefusedQueryError(
                "each row is a unit here: no unit has several rows", "leave per_unit out", "rows-are-units"
            )
        if not named:
            raise InvalidInputError(
                "per_unit adds nothing up", 'write .per_unit(total=pv.sum("cost").clip(0, 5000))', "nothing-to-do"
            )
        draft = Draft()
        keys = named_keys(draft, self.keys, list(named))
        frame.rows.check_new(*keys, *named)
        scope = Groups(rows=replace(frame.rows, per_unit=True), draft=draft)
        columns = {name: scope.column(name) for name in keys}
        columns |= {name: _added_up(value, scope) for name, value in named.items()}
        origin = PerUnit(
            source=frame.origin, where=frame.condition(draft), keys=draft.keys, aggregates=tuple(draft.aggregates)
        )
        _check_shapes(origin, frame.tables)
        return frame._next(
            f"{self.step}.per_unit({_named(named)})",
            origin=origin,
            columns=MappingProxyType(columns),
            conditions=(),
        )

    def __repr__(self) -> str:
        return self.frame.drawn((*self.frame.steps, self.step), "groups: .agg(n=pv.count(), ...) asks about them")


def frame_of(vault: Asker, name: str, note: str = "") -> Frame:
    """The rows of a declared table."""
    table = vault.tables[name]
    columns = {column: Term(Column(column), shape_of_kind(kind).form) for column, kind in table.columns.items()}
    return Frame(
        vault=vault, tables=vault.tables, origin=Scan(table=name), columns=MappingProxyType(columns), note=note
    )


def _check_shapes(origin: Origin, tables: Mapping[str, Table]) -> None:
    """What cannot be made of each unit's rows is said at once."""
    declared = {
        name: {c: shape_of_kind(kind) for c, kind in tables[name].columns.items()} for name in tables_in(origin)
    }
    shapes_of(origin, declared)


def _added_up(value: object, scope: Groups) -> Term:
    """The aggregates in it have names of their own: what a column is called does not change what is computed."""
    if not isinstance(value, Expr):
        raise _not_aggregate(value)
    return read(value, scope)


def _not_aggregate(value: object) -> PrivetRefusal:
    if isinstance(value, Expr):
        return RefusedQueryError(
            f"{value!r} is not one aggregate",
            "aggregate columns: pv.mean(...); or ask for the aggregates alone and compute with the answers: that is"
            " free",
            "not-an-aggregate",
        )
    return InvalidInputError(
        f"{show(value)} is not an aggregate", 'for example n=pv.count(), c=pv.mean("cost")', "not-an-aggregate"
    )


PrivetRefusal = RefusedQueryError | InvalidInputError


def _cut(line: str) -> str:
    return line if len(line) <= WIDEST else line[: WIDEST - 3] + "..."


def _listed(items: Sequence[object]) -> str:
    return ", ".join(written(item) if isinstance(item, str) else repr(item) for item in items)


def _named(items: Mapping[str, object]) -> str:
    words = {name: name if name.isidentifier() else ascii(name) for name in items}
    return ", ".join(f"{words[name]}={expr(value)!r}" for name, value in items.items())


def _how(how: str) -> str:
    return "" if how == "inner" else f', how="{how}"'
