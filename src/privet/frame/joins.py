"""Frames side by side: a public table at equal columns, a private one at the same unit."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, assert_never

from privet.catalog.declarations import Table
from privet.core.evaluate import evaluate
from privet.core.expression import Column, Expression, IsNull
from privet.core.origin import tables_in
from privet.core.plan import Aggregate, Function, Joined, Numbered, Origin, PerUnit, Scan
from privet.core.rational import show
from privet.core.shape import Form
from privet.errors import InvalidInputError, RefusedQueryError
from privet.frame.value_methods import negated
from privet.records.conditions import columns_of
from privet.sql.terms import NAMES, Term

if TYPE_CHECKING:
    from privet.frame.frames import Frame

How = Literal["inner", "left", "semi", "anti"]
On = str | Sequence[str] | Mapping[str, str]
Parts = dict[str, Any]  # what is new in the frame that is made
FOUND = "found"  # how many rows of a unit were


def beside_public(left: Frame, right: Frame, on: On, how: str) -> Parts:
    """A public table: what stands in its rows belongs to nobody."""
    table = right.declaration
    _check_private(left)
    if not table.public:
        raise RefusedQueryError(
            f"table {show(table.name)} is not public", "use .join_units, which matches units", "public-table-needed"
        )
    pairs = _pairs(left, right, on)
    if not pairs:
        raise InvalidInputError("join has no column to match", 'for example on="ward"', "missing-join-condition")
    told_apart = bool(table.key) and set(table.key) <= {yours for _, yours in pairs}
    if left.declaration.unit is None and not told_apart:
        raise RefusedQueryError(
            f"a row could match several of {show(table.name)}, and each row is a unit here",
            f"match all of its key, {_key(table)}, or declare the table with a key",
            "unbounded-join",
        )
    return _Sides(left, right, pairs, how).parts(by_unit=False, most=1 if told_apart else None)


def beside_units(left: Frame, right: Frame, on: On, how: str) -> Parts:
    """Another private table: only rows of the same unit meet."""
    _check_units(left, right)
    return _Sides(left, right, _pairs(left, right, on), how).parts(by_unit=True, most=_most(right))


def only_units(left: Frame, right: Frame, on: On, *, there: bool) -> Parts:
    """Rows of units that are in the other frame, or are not: an outer join with a count of their rows there."""
    _check_units(left, right)
    if on:
        raise RefusedQueryError('"semi" and "anti" match units only', "leave `on` out", "unneeded-option")
    count = (Aggregate(name=FOUND, function=Function.COUNT),)
    if isinstance(right.origin, PerUnit) and not right.conditions:
        counted = replace(right.origin, keys=(), aggregates=count)
    else:
        counted = PerUnit(source=right.origin, where=right.condition(), aggregates=count)
    name = Names(left).fresh(f"{right.table}_{FOUND}", right.table)
    found = negated(Term(IsNull(Column(name)), Form.TRUTH, 2, 2))
    return {
        "origin": Joined(left=left.origin, right=counted, by_unit=True, names=((FOUND, name),), outer=True),
        "tables": _declared(left, right),
        "conditions": (*left.conditions, found if there else negated(found)),
    }


def _check_private(left: Frame) -> None:
    if left.declaration.public:
        raise RefusedQueryError(
            f"table {show(left.table)} is public", "begin with the private one", "private-table-needed"
        )


def _check_units(left: Frame, right: Frame) -> None:
    _check_private(left)
    if right.declaration.public:
        raise RefusedQueryError(
            f"table {show(right.table)} is public: it has no units", "use .join", "private-table-needed"
        )
    if left.declaration.unit is None or right.declaration.unit is None:
        raise RefusedQueryError(
            "each row is a unit here: rows of two tables have nothing in common",
            "ask about each table in a query of its own",
            "rows-are-units",
        )


def _most(right: Frame) -> int | None:
    """How many rows of one unit count; without keys there is one anyway."""
    match right.origin:
        case PerUnit(keys=()):
            return None
        case Numbered(keys=(), first=first, last=int() as last):
            return last - first + 1
        case Scan() | PerUnit() | Numbered():
            table = right.declaration
            return table.max_rows or table.max_groups * table.max_rows_per_group
    raise RefusedQueryError(
        "the right side is itself joined", "join one table after the other, from the left", "unsupported-join"
    )


def _pairs(left: Frame, right: Frame, on: On) -> tuple[tuple[str, str], ...]:
    """The columns that must be equal, by the names that they have in the origins."""
    if isinstance(on, str):
        on = [on]
    if not isinstance(on, Sequence | Mapping):
        raise InvalidInputError(
            f"on names columns, not {show(on)}", 'for example on="ward" or on={"ward": "code"}', "wrong-type"
        )
    given = on.items() if isinstance(on, Mapping) else [(name, name) for name in on]
    return tuple((_plain(left, mine, right, yours)) for mine, yours in given)


def _plain(left: Frame, mine: object, right: Frame, yours: object) -> tuple[str, str]:
    terms = [_matched(frame, name) for frame, name in ((left, mine), (right, yours))]
    forms = [term.form for term in terms]
    if forms[0] is not forms[1]:
        raise RefusedQueryError(
            f"{show(mine)} is {NAMES[forms[0]]} and {show(yours)} is {NAMES[forms[1]]}",
            "match columns of one kind",
            "type-mismatch",
        )
    here, there = (term.expression for term in terms)
    assert isinstance(here, Column) and isinstance(there, Column)  # noqa: S101, PT018  # they were matched
    return here.name, there.name


def _matched(frame: Frame, name: object) -> Term:
    if not isinstance(name, str):
        raise InvalidInputError(f"a column is named by a text, not {show(name)}", 'for example on="ward"', "wrong-type")
    term = frame.rows.column(name)
    if not isinstance(term.expression, Column):
        raise RefusedQueryError(f"{show(name)} is computed", "match columns as they were declared", "computed-column")
    return term


def _key(table: Table) -> str:
    return ", ".join(map(show, table.key)) or "which it does not have"


@dataclass(frozen=True, slots=True)
class _Sides:
    """Two frames while they are joined at pairs of equal columns."""

    left: Frame
    right: Frame
    pairs: tuple[tuple[str, str], ...]
    how: str

    def parts(self, *, by_unit: bool, most: int | None) -> Parts:
        if self.how not in ("inner", "left"):
            others = '; with .join_units also how="semi" or how="anti"'
            raise InvalidInputError(
                f"there is no join {show(self.how)}", f'use how="inner" or how="left"{others}', "unknown-choice"
            )
        outer = self.how == "left"
        if outer:
            self._check_outer()
        given = self._new_columns()
        here = self._names_here(given.values())
        origin = Joined(
            left=self.left.origin,
            right=self.right.origin,
            by_unit=by_unit,
            on=self.pairs,
            names=tuple(here.items()),
            outer=outer,
            most=most,
        )
        known = {yours: mine for mine, yours in self.pairs} | here
        columns = {name: _moved(term, known) for name, term in given.items()}
        return {
            "origin": origin,
            "tables": _declared(self.left, self.right),
            "columns": MappingProxyType({**self.left.columns, **columns}),
            "conditions": (*self.left.conditions, *(_moved(term, known) for term in self.right.conditions)),
        }

    def _check_outer(self) -> None:
        """Where nothing matches, all columns of the right are missing; what is computed from them must be, too."""
        if self.right.conditions:
            raise RefusedQueryError(
                "the right side of a left join has a filter",
                "filter after the join, or before per_unit",
                "unsupported-join",
            )
        nothing = dict.fromkeys(names_of(self.right.origin, self.right.tables))
        for name, term in self.right.columns.items():
            if evaluate(term.expression, nothing) is not None:
                raise RefusedQueryError(
                    f"{show(name)} would have a value where nothing matches",
                    "compute it after the join",
                    "computed-column",
                )

    def _new_columns(self) -> dict[str, Term]:
        """The columns of the right under names that are free; what was matched is there already."""
        matched = {yours for _, yours in self.pairs}
        names = Names(self.left, self.left.columns)
        return {
            names.fresh(name, self.right.table): term
            for name, term in self.right.columns.items()
            if not isinstance(term.expression, Column) or term.expression.name not in matched
        }

    def _names_here(self, terms: Iterable[Term]) -> dict[str, str]:
        """Names in the origin for all that is needed of the right, in its own order."""
        needed = set().union(*(columns_of(term.expression) for term in (*terms, *self.right.conditions)))
        if self.how == "inner":  # then the left has the same value
            needed -= {yours for _, yours in self.pairs}
        names = Names(self.left)
        listed = names_of(self.right.origin, self.right.tables)
        return {name: names.fresh(name, self.right.table) for name in listed if name in needed}


class Names:
    """Names that are taken on the left: those of its origin, or `taken`. Case does not matter."""

    def __init__(self, left: Frame, taken: Iterable[str] | None = None) -> None:
        names = names_of(left.origin, left.tables) if taken is None else taken
        units = (table.unit for table in left.tables.values() if table.unit is not None)
        self.taken = {name.lower() for name in (*names, *units)}

    def fresh(self, name: str, owner: str) -> str:
        """The name, or one with its table before it."""
        bases = (f"{owner}_{name}_{number}" for number in itertools.count(2))
        tries = itertools.chain([name, f"{owner}_{name}"], bases)
        found = next(base for base in tries if base.lower() not in self.taken)
        self.taken.add(found.lower())
        return found


def _declared(left: Frame, right: Frame) -> Mapping[str, Table]:
    """As each side knows its tables; the left wins, and whoever asks is told if they differ."""
    sides = [{name: side.tables[name] for name in tables_in(side.origin)} for side in (right, left)]
    return MappingProxyType(sides[0] | sides[1])


def names_of(origin: Origin, tables: Mapping[str, Table]) -> Iterator[str]:
    """The columns of an origin."""
    match origin:
        case Scan():
            yield from tables[origin.table].columns
        case Joined():
            yield from names_of(origin.left, tables)
            yield from (here for _, here in origin.names)
        case PerUnit():
            yield from (key.name for key in origin.keys)
            yield from (aggregate.name for aggregate in origin.aggregates)
        case Numbered():
            yield from (*origin.columns, origin.name)
        case _:
            assert_never(origin)


def _moved(term: Term, names: Mapping[str, str]) -> Term:
    return replace(term, expression=_renamed(term.expression, names))


def _renamed(part: Any, names: Mapping[str, str]) -> Any:
    """The same expression over columns with other names."""
    if isinstance(part, Column):
        return Column(names.get(part.name, part.name))
    if isinstance(part, tuple):
        return tuple(_renamed(item, names) for item in part)
    if is_dataclass(part) and not isinstance(part, type):
        return type(part)(*(_renamed(getattr(part, field.name), names) for field in fields(part)))
    return part


def pruned(origin: Origin, needed: Set[str]) -> Origin:
    """The same rows with no other columns than the needed ones: what a question does not use does not change it."""
    match origin:
        case Scan():
            return origin
        case Joined():
            names = tuple((name, here) for name, here in origin.names if here in needed)
            left = (needed - {here for _, here in names}) | {mine for mine, _ in origin.on}
            right = {name for name, _ in names} | {yours for _, yours in origin.on}
            return replace(origin, left=pruned(origin.left, left), right=pruned(origin.right, right), names=names)
        case PerUnit():
            kept = tuple(aggregate for aggregate in origin.aggregates if aggregate.name in needed)
            parts = [origin.where, *(key.value for key in origin.keys), *values_of(kept)]
            return replace(origin, source=pruned(origin.source, used_in(parts)), aggregates=kept)
        case Numbered():
            parts = [origin.where, *origin.keys, *(by.value for by in origin.by)]
            return replace(origin, source=pruned(origin.source, {*used_in(parts), *origin.columns}))
        case _:
            assert_never(origin)


def values_of(aggregates: Iterable[Aggregate]) -> list[Expression | None]:
    return [value for aggregate in aggregates for value in (aggregate.value, aggregate.second)]


def used_in(parts: Iterable[Expression | None]) -> set[str]:
    return {name for part in parts if part is not None for name in columns_of(part)}
