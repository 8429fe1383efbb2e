"""Expressions as SQL over canonical columns: numbers in whole steps, dates in days, times in microseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from privet.backends import spelling, textsql
from privet.backends.lookups import Lookup, looked_up
from privet.backends.whole import (
    Whole,
    clamped,
    constant,
    divided,
    kept_within,
    minus,
    modulo,
    plus,
    power,
    quotient,
    root,
    root_above,
    rounded,
    scaled,
    shifted_by_part,
    times,
)  # fmt: skip
from privet.core import calendar
from privet.core import expression as e
from privet.core.claim import claim
from privet.core.expression import Expression, Value
from privet.core.ranges import shape_of
from privet.core.real import REAL, parts_of
from privet.core.shape import LIMIT, ORDERED, Form, Shape, Shapes, common_step, shape_of_value
from privet.core.shifting import reached, stretches
from privet.core.texts import TextFunction

TYPES = {Form.TRUTH: "BOOLEAN", Form.WORD: "VARCHAR", Form.NOTHING: "BIGINT"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlTerm:
    """SQL of an expression and what it can be. Numbers, dates and times are BIGINT, or HUGEINT if wide."""

    sql: str
    shape: Shape
    wide: bool = False

    @property
    def whole(self) -> Whole:
        return Whole(sql=self.sql, low=self.shape.low, high=self.shape.high, wide=self.wide)

    @property
    def nothing(self) -> bool:
        return self.shape.form is Form.NOTHING


@claim("exact-integers")
class Translator:
    """Translates over columns of known SQL and shape."""

    def __init__(self, columns: Mapping[str, SqlTerm]) -> None:
        self._columns = columns
        self._shapes: Shapes = {name: term.shape for name, term in columns.items()}

    def term(self, expression: Expression) -> SqlTerm:
        """The SQL of an expression that `shape_of` accepts; total, like `evaluate`."""
        shape = shape_of(expression, self._shapes)
        assert not isinstance(expression, REAL)  # noqa: S101  `settled` has given it a grid
        match expression:
            case e.Column(name):
                return self._columns[name]
            case e.Literal(value):
                return _literal(value)
            case e.Arithmetic(sign, left, right):
                return _arithmetic(sign, self.term(left), self.term(right), shape)
            case e.Compare(relation, left, right):
                return _comparison(relation, self.term(left), self.term(right), shape)
            case e.And(items):
                return _term(self._joined(items, " AND ", "TRUE"), shape)
            case e.Or(items):
                return _term(self._joined(items, " OR ", "FALSE"), shape)
            case e.Not(item):
                return _term(f"(NOT {self._truth(item)})", shape)
            case e.IsNull(item):
                return _term(f"({self.term(item).sql} IS NULL)", shape)
            case e.In(_, ()):
                return _term("FALSE", shape)
            case e.In(item, values):
                return _term(_listed(self.term(item), values), shape)
            case e.Case(branches, otherwise):
                return self._case(branches, otherwise, shape)
            case e.Coalesce(items):
                return self._chosen("coalesce", items, shape)
            case e.Least(items):
                return self._chosen("least", items, shape)
            case e.Greatest(items):
                return self._chosen("greatest", items, shape)
            case e.Concat(items):
                return _text(expression, [self.term(item) for item in items], shape)
            case (
                e.Recased(_, item)
                | e.Trimmed(_, item)
                | e.Length(item)
                | e.Sliced(item)
                | e.Replaced(item)
                | e.Piece(item)
                | e.Like(item)
            ):
                return _text(expression, [self.term(item)], shape)
            case e.Rounded(rounding, item, step) if isinstance(item, REAL):
                return _null(shape) if shape.form is Form.NOTHING else self._real(item, rounding, step, shape)
            case (
                e.Absolute(item)
                | e.Rounded(_, item)
                | e.Modulo(item)
                | e.Power(item)
                | e.Truncated(_, item)
                | e.Extracted(_, item)
                | e.AsDate(item)
                | e.AsTime(item)
                | e.Shifted(item)
                | e.Local(item)
                | e.Written(_, item)
            ):
                inner = self.term(item)
                return _null(shape) if inner.nothing else _unary(expression, inner, shape)
            case _:
                assert_never(expression)

    def _truth(self, item: Expression) -> str:
        term = self.term(item)
        return spelling.null("BOOLEAN") if term.nothing else term.sql

    def _joined(self, items: Sequence[Expression], word: str, empty: str) -> str:
        return f"({word.join(self._truth(item) for item in items)})" if items else empty

    def _case(self, branches: Sequence[tuple[Expression, Expression]], otherwise: Expression, shape: Shape) -> SqlTerm:
        *terms, last = alike([self.term(item) for item in (*(value for _, value in branches), otherwise)], shape)
        if not terms:
            return last
        conditions = [self._truth(condition) for condition, _ in branches]
        cases = " ".join(f"WHEN {c} THEN {t.sql}" for c, t in zip(conditions, terms, strict=True))
        return _term(f"(CASE {cases} ELSE {last.sql} END)", shape, wide=last.wide)

    def _real(self, real: e.Real, rounding: e.Rounding, step: Fraction, shape: Shape) -> SqlTerm:
        match real:
            case e.Quotient():
                whole = self._divided(real, 1 / step, rounding)
            case e.Root(item, degree):
                whole = self._root(item, degree, rounding, step)
            case _:
                inner = self.term(real.item)
                function = replace(real, item=e.Literal(None))
                lookup = Lookup(function=function, unit=inner.shape.step, rounding=rounding, step=step)
                whole = looked_up(lookup, _inside(real.item, inner))
        return _from_whole(whole, shape)

    def _divided(self, ratio: e.Quotient, scale: Fraction, rounding: e.Rounding) -> Whole:
        left, right = self.term(ratio.left), self.term(ratio.right)
        scale = scale * left.shape.step / right.shape.step
        return divided(left.whole, _inside(ratio.right, right), scale, rounding)

    def _root(self, item: Expression, degree: int, rounding: e.Rounding, step: Fraction) -> Whole:
        """Of a number in steps that were cut to whole ones: no whole number lies between the roots. To nearest is half
        of the root in half steps, and one more where that is odd."""
        up = rounding is e.Rounding.UP
        inward = e.Rounding.UP if up else e.Rounding.DOWN
        scale = ((2 if rounding is e.Rounding.NEAREST else 1) / step) ** degree
        if isinstance(item, e.Quotient):
            inside = self._divided(item, scale, inward)
        else:
            inner = self.term(item)
            inside = rounded(_inside(item, inner), inner.shape.step * scale, inward)
        if up:
            return root_above(inside, degree)
        found = root(inside, degree)
        return quotient(plus(found, constant(1)), 2) if rounding is e.Rounding.NEAREST else found

    def _chosen(self, function: str, items: Sequence[Expression], shape: Shape) -> SqlTerm:
        terms = alike([self.term(item) for item in items], shape)
        sql = f"{function}({', '.join(term.sql for term in terms)})" if len(terms) > 1 else terms[0].sql
        return _term(sql, shape, wide=terms[0].wide)


def _inside(item: Expression, term: SqlTerm) -> Whole:
    """A number without the 0 that NULLIF takes out of it."""
    parts = parts_of(item, term.shape)
    return replace(term.whole, low=parts[0][0], high=parts[-1][1])


def _term(sql: str, shape: Shape, *, wide: bool = False) -> SqlTerm:
    return SqlTerm(sql=sql, shape=shape, wide=wide)


def _from_whole(whole: Whole, shape: Shape) -> SqlTerm:
    return SqlTerm(sql=whole.sql, shape=shape, wide=whole.wide)


def _null(shape: Shape) -> SqlTerm:
    return _term(spelling.null(TYPES.get(shape.form, "BIGINT")), shape)


def alike(terms: Sequence[SqlTerm], shape: Shape) -> list[SqlTerm]:
    """The same values on one grid and of one SQL type, as `union` gives it."""
    real = [term for term in terms if not term.nothing]
    if shape.form is Form.NUMBER:
        step = common_step([term.shape for term in real])
        wholes = [constant(0) if t.nothing else scaled(t.whole, int(t.shape.step / step)) for t in terms]
    elif shape.form in ORDERED:
        wholes = [constant(0) if t.nothing else t.whole for t in terms]
    else:
        return [_null(shape) if term.nothing else term for term in terms]
    wide = any(whole.wide for whole in wholes)
    missing = spelling.null("HUGEINT" if wide else "BIGINT")
    return [
        _term(missing if term.nothing else whole.typed(wide), shape, wide=wide)
        for term, whole in zip(terms, wholes, strict=True)
    ]


def _literal(value: Value) -> SqlTerm:
    shape = shape_of_value(value)
    match value:
        case None:
            return _null(shape)
        case bool():
            return _term("TRUE" if value else "FALSE", shape)
        case str():
            return _term(spelling.text(value), shape)
        case _:
            return _from_whole(constant(shape.low), shape)


def _arithmetic(sign: e.Sign, left: SqlTerm, right: SqlTerm, shape: Shape) -> SqlTerm:
    if left.nothing or right.nothing:
        return _null(shape)
    if sign is e.Sign.MULTIPLY:
        return _from_whole(times(left.whole, right.whole), shape)
    a, b = _on_one_grid(left, right)
    return _from_whole(plus(a, b) if sign is e.Sign.ADD else minus(a, b), shape)


def _on_one_grid(left: SqlTerm, right: SqlTerm) -> tuple[Whole, Whole]:
    """In common steps. A date beside a time is its first moment."""
    if {left.shape.form, right.shape.form} == {Form.DATE, Form.TIME}:
        return _moments(left), _moments(right)
    step = common_step([left.shape, right.shape])
    return scaled(left.whole, int(left.shape.step / step)), scaled(right.whole, int(right.shape.step / step))


def _moments(term: SqlTerm) -> Whole:
    return scaled(term.whole, calendar.DAY) if term.shape.form is Form.DATE else term.whole


def _comparison(relation: e.Relation, left: SqlTerm, right: SqlTerm, shape: Shape) -> SqlTerm:
    if left.nothing or right.nothing:
        return _term(spelling.null("BOOLEAN"), shape)
    if left.shape.form not in ORDERED:
        return _term(f"({left.sql} {relation} {right.sql})", shape)
    a, b = _on_one_grid(left, right)
    wide = a.wide or b.wide
    return _term(f"({a.typed(wide)} {relation} {b.typed(wide)})", shape)


def _listed(item: SqlTerm, values: Sequence[Value]) -> str:
    """SQL's IN. What cannot be a value of the item is left out, which changes nothing but NULLs."""
    if item.nothing:
        return spelling.null("BOOLEAN")
    found = [sql for value in values if value is not None and (sql := _constant(item, value)) is not None]
    among = f"({item.sql} IN ({', '.join(found)}))" if found else f"(CASE WHEN {item.sql} IS NOT NULL THEN FALSE END)"
    return f"(CASE WHEN {among} THEN TRUE END)" if None in values else among


def _constant(item: SqlTerm, value: Value) -> str | None:
    """A constant beside an item, in the item's steps; None if it lies between them or out of range."""
    shape = shape_of_value(value)
    if item.shape.form not in ORDERED:
        return _literal(value).sql
    place = shape.low * shape.step / item.shape.step
    if {shape.form, item.shape.form} == {Form.DATE, Form.TIME}:
        place = place * calendar.DAY if shape.form is Form.DATE else place / calendar.DAY
    return str(int(place)) if place.denominator == 1 and item.shape.low <= place <= item.shape.high else None


def _unary(expression: Expression, inner: SqlTerm, shape: Shape) -> SqlTerm:
    whole, timed = inner.whole, inner.shape.form is Form.TIME
    days = quotient(whole, calendar.DAY) if timed else whole
    match expression:
        case e.Absolute():
            return _term(f"abs({whole.sql})", shape, wide=whole.wide)
        case e.Rounded(rounding, _, step):
            return _from_whole(rounded(whole, inner.shape.step / step, rounding), shape)
        case e.Modulo(_, divisor):
            ratio = inner.shape.step / shape.step
            return _from_whole(
                modulo(scaled(whole, int(ratio)), int(divisor / shape.step), shape.low, shape.high), shape
            )
        case e.Power(_, exponent):
            return _from_whole(power(whole, exponent), shape)
        case e.Shifted():
            return _from_whole(_shifted(expression, inner), shape)
        case e.Local():
            return _from_whole(_local(expression, inner), shape)
        case e.Written(period):
            return _term(spelling.written(days, calendar.WRITTEN[period]), shape)
        case e.Truncated(period) if timed and period in calendar.CLOCK:
            unit = calendar.CLOCK[period]
            return _from_whole(scaled(quotient(whole, unit), unit), shape)
        case e.Truncated(period):
            start = spelling.start(period, days)
            return _from_whole(scaled(start, calendar.DAY) if timed else start, shape)
        case e.Extracted(field):
            return _from_whole(spelling.field(field, days, whole if timed else None), shape)
        case e.AsDate():
            return _from_whole(days, shape)
        case _:
            return _from_whole(whole if timed else scaled(whole, calendar.DAY), shape)


def _shifted(moved: e.Shifted, inner: SqlTerm) -> Whole:
    """By months where the engine's calendar is needed; the rest is a sum. Clamped where the calendar could end."""
    whole, timed = inner.whole, inner.shape.form is Form.TIME
    extra = moved.days * calendar.DAY + moved.microseconds if timed else moved.days
    if moved.months:
        low, high = (end - extra for end in reached(moved, inner.shape))
        later = spelling.moment_later if timed else spelling.months_later
        whole = later(whole, moved.months, low, high)
    return kept_within(plus(whole, constant(extra)) if extra else whole, *_calendar(timed=timed))


def _local(zoned: e.Local, inner: SqlTerm) -> Whole:
    return shifted_by_part(inner.whole, list(stretches(zoned, inner.shape)), *_calendar(timed=True))


def _calendar(*, timed: bool) -> tuple[int, int]:
    inside = calendar.within_moments if timed else calendar.within
    return inside(-LIMIT), inside(LIMIT)


def _text(function: TextFunction, items: Sequence[SqlTerm], shape: Shape) -> SqlTerm:
    return (
        _null(shape) if shape.form is Form.NOTHING else _term(textsql.applied(function, [i.sql for i in items]), shape)
    )


def confined(term: SqlTerm, shape: Shape) -> SqlTerm:
    """A column in rows that pass the condition. The clamp changes none of them; it keeps the arithmetic total on other
    rows, should the engine compute before it filters."""
    if shape.form not in ORDERED or (term.shape.low, term.shape.high) == (shape.low, shape.high):
        return SqlTerm(sql=term.sql, shape=shape, wide=term.wide)
    return _from_whole(clamped(term.whole, shape.low, shape.high), shape)
