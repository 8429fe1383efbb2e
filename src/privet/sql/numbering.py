"""Rows of one unit in an order: ROW_NUMBER() OVER (PARTITION BY unit ORDER BY day), FIRST, LAST, ARG_MIN, ARG_MAX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from privet.core.expression import And, Column, Compare, Expression, IsNull, Not, Relation, columns_in
from privet.core.narrow import narrowed
from privet.core.origin import MOST_ROWS
from privet.core.plan import By, Numbered, Origin, canonical
from privet.core.shape import Form, Shape
from privet.errors import RefusedQueryError
from privet.sql.inline import both, where_true
from privet.sql.known_tables import Rows
from privet.sql.places import at
from privet.sql.registry import Read, given, written
from privet.sql.scopes import Scope, short
from privet.sql.terms import Term, literal, made

ROW_NUMBER = "row_number"
SMALLEST = ("ARG_MIN", "ARGMIN", "MIN_BY")
LARGEST = ("ARG_MAX", "ARGMAX", "MAX_BY")
FIRST, LAST = "FIRST", "LAST"
OF_ONE_ROW = (*SMALLEST, *LARGEST, FIRST, LAST)
NO_ORDER = "nothing says which row is the first"
ONE = literal(Fraction(1))
Spec = tuple[tuple[Expression, ...], tuple[By, ...]]


class Numbers:
    """The numbers that a SELECT gives its rows, each order once."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._found: dict[str, tuple[str, Spec]] = {}

    def column(self, keys: tuple[Expression, ...], by: tuple[By, ...], name: str = ROW_NUMBER) -> Term:
        """The number of a row among those of its unit and keys."""
        place = str(canonical([keys, by]))
        if place not in self._found:
            self._found[place] = (self.scope.fresh(name), (keys, by))
        return Term(Column(self._found[place][0]), Form.NUMBER)

    def origin(self, source: Origin, where: Term | None, used: Iterable[object]) -> tuple[Origin, Term | None]:
        """The source with its rows numbered, and what is left of the condition: rows are numbered that pass it. All
        `used` columns tell rows apart, so that every number of the SELECT puts them in the same order."""
        names = {name for name, _ in self._found.values()}
        needed = set(columns_in([*used, [spec for _, spec in self._found.values()]])) - names
        columns = tuple(name for name in self.scope.declared.columns_of(source) if name in needed)
        for name, (keys, by) in self._found.values():
            source = Numbered(
                source=source, where=None if where is None else where.expression, keys=keys, by=by, columns=columns,
                name=name,
            )  # fmt: skip
            columns, where = (*columns, name), None
        return source, where


def window(node: exp.Window, read: Read, scope: Scope) -> Spec:
    """ROW_NUMBER() OVER (PARTITION BY unit, key ORDER BY day DESC): the unit must be there."""
    listed: list[exp.Expr] = node.args.get("partition_by") or []
    if not isinstance(node.this, exp.RowNumber) or given(node) - {"this", "partition_by", "order", "over"}:
        raise RefusedQueryError(
            f"{written(node)} is not answered",
            "the one window in a sub-query is ROW_NUMBER() OVER (PARTITION BY unit ORDER BY day)",
            "unsupported-function",
        )
    if not any(item.rows.people for item in scope.items):
        raise RefusedQueryError(
            "no unit has several rows here: each row is a unit, or public",
            "leave out ROW_NUMBER, and ask about the rows",
            "rows-are-units",
        )
    unit = short(next((unit for item in scope.items for unit in item.rows.units), "patient_id"))
    if not any(scope.is_unit(key) for key in listed):
        raise RefusedQueryError(
            f"{written(node)} puts the rows of several people in one order",
            f"write PARTITION BY {unit}, so that the rows of each person are numbered separately",
            "not-per-unit",
        )
    keys = tuple(read(key).expression for key in listed if not scope.is_unit(key))
    order = node.args.get("order")
    if order is None:
        raise RefusedQueryError(
            f"{written(node)} has no ORDER BY: {NO_ORDER}",
            f"write ROW_NUMBER() OVER (PARTITION BY {unit} ORDER BY day)",
            "missing-order",
        )
    return keys, tuple(ordered(order.expressions, read))


def ordered(listed: Iterable[exp.Expr], read: Read, *, backwards: bool = False) -> Iterator[By]:
    """What ORDER BY lists. NULLs come last in both directions."""
    for node in listed:
        with at(node):
            if node.args.get("nulls_first") or given(node) - {"this", "desc", "nulls_first"}:
                raise RefusedQueryError(
                    "NULLS FIRST is not answered", "leave it out: NULLs come last", "unsupported-sql"
                )
            yield By(value=read(node.this).expression, descending=bool(node.args.get("desc")) is not backwards)


def of_one_row(node: exp.Expr, condition: Term | None, read: Read) -> tuple[Term, tuple[By, ...], Term | None]:
    """What FIRST, LAST, ARG_MIN and ARG_MAX ask for: a value, the order in whose first row it stands, and what must be
    true of that row. `condition` is what FILTER says.

    ARG_MIN leaves out rows where one of its two values is missing, as DuckDB does. FIRST and LAST do not.
    """
    name = node.name.upper()
    if name not in (FIRST, LAST):
        if len(node.expressions) != 2:
            raise RefusedQueryError(
                f"{written(node)} does not have two arguments", f"write {name}(x, day)", "wrong-arguments"
            )
        value, place = (read(item) for item in node.expressions)
        known = made(Not(IsNull(value.expression)), Form.TRUTH, value)
        place = where_true(both([*([] if condition is None else [condition]), known]) or known, place)
        by = By(value=place.expression, descending=name in LARGEST)
        return value, (by,), made(Not(IsNull(place.expression)), Form.TRUTH, place)
    given_order = node.expressions[0] if len(node.expressions) == 1 else None
    if not isinstance(given_order, exp.Order):
        raise RefusedQueryError(
            f"{written(node)} has no ORDER BY: {NO_ORDER}", f"write {name}(x ORDER BY day)", "missing-order"
        )
    order = tuple(ordered(given_order.expressions, read, backwards=name == LAST))
    if condition is not None:
        order = (By(value=where_true(condition, ONE).expression), *order)
    return read(given_order.this), order, condition


def only_first(value: Term, number: Term, wanted: Term | None) -> Term:
    """The value in row number 1, if what is wanted is true of it, and NULL in all others."""
    one = made(Compare(Relation.EQUAL, number.expression, ONE.expression), Form.TRUTH, number)
    return where_true(both([one, *([] if wanted is None else [wanted])]) or one, value)


def only_asked(rows: Rows, origin: Numbered, conditions: Iterable[Term]) -> Rows:
    """The rows whose numbers the conditions allow. Where that is one of each unit, the unit is enough to find it."""
    about = [term.expression for term in conditions if set(columns_in(term.expression)) == {origin.name}]
    number = Shape(form=Form.NUMBER, low=1, high=MOST_ROWS)
    number = narrowed({origin.name: number}, And(tuple(about)))[origin.name]
    if number.high == MOST_ROWS:
        return rows
    kept, most = replace(origin, first=number.low, last=number.high), number.high - number.low + 1
    if origin.keys:
        return replace(rows, origin=kept)
    return replace(rows, origin=kept, most=min(most, rows.most or most), apart=() if most == 1 else rows.apart)
