"""From the shapes of columns to the shape of an expression: ranges are propagated, never measured.

Every value that `evaluate` gives lies in the shape that `shape_of` gives. Noise is scaled by that range, so this file
carries the guarantee; what it does not understand it refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from privet.core import calendar, lettering, shifting
from privet.core import expression as e
from privet.core.claim import claim
from privet.core.elementary import round_to
from privet.core.expression import Expression
from privet.core.real import REAL, shape_of_real
from privet.core.shape import (
    ORDERED,
    TRUTH,
    Form,
    Shape,
    Shapes,
    checked,
    common_step,
    need,
    on_one_grid,
    shape_of_value,
    union,
)  # fmt: skip
from privet.errors import RefusedQueryError

HIGHEST = 10  # exponent


@claim("range-propagation")
def shape_of(expression: Expression, columns: Shapes) -> Shape:
    """The shape of an expression over columns of these shapes."""

    def of(item: Expression) -> Shape:
        return shape_of(item, columns)

    match expression:
        case e.Column(name):
            if name not in columns:
                raise RefusedQueryError(
                    f"there is no column {name}", f"the columns are: {', '.join(columns) or 'none'}", "unknown-column"
                )
            return columns[name]
        case e.Literal(value):
            return shape_of_value(value)
        case e.Arithmetic(sign, left, right):
            return _arithmetic(sign, of(left), of(right))
        case e.Quotient() | e.Root() | e.Logarithm() | e.Exponential():
            return shape_of_real(expression, of, e.Rounding.NEAREST, None)
        case e.Compare(relation, left, right):
            return _comparison(relation, of(left), of(right))
        case e.And(items) | e.Or(items):
            return replace(TRUTH, null=any(shape.null for shape in [need(of(item), Form.TRUTH) for item in items]))
        case e.Not(item):
            inner = need(of(item), Form.TRUTH)
            return replace(inner, low=1 - inner.high, high=1 - inner.low)
        case e.IsNull(item):
            of(item)
            return replace(TRUTH, null=False)
        case e.In(item, values):
            inner = of(item)
            shapes = [_comparison(e.Relation.EQUAL, inner, shape_of_value(value)) for value in values]
            return replace(TRUTH, null=any(shape.null for shape in shapes))
        case e.Case(branches, otherwise):
            for condition, _ in branches:
                need(of(condition), Form.TRUTH)
            return union([*(of(value) for _, value in branches), of(otherwise)])
        case e.Coalesce(items):
            shapes = [of(item) for item in items]
            return replace(union(shapes), null=all(shape.null for shape in shapes))
        case e.Least(items) | e.Greatest(items):
            return _extreme([of(item) for item in items], 1 if isinstance(expression, e.Least) else -1)
        case e.Absolute(item):
            inner = need(of(item), Form.NUMBER)
            ends = sorted([abs(inner.low), abs(inner.high)])
            return replace(inner, low=0 if inner.low <= 0 <= inner.high else ends[0], high=ends[1])
        case e.Rounded(rounding, item, step) if isinstance(item, REAL):
            return shape_of_real(item, of, rounding, step)
        case e.Rounded(rounding, item, step):
            return _rounded(rounding, need(of(item), Form.NUMBER), step)
        case e.Truncated(period, item):
            return _truncated(period, of(item))
        case e.Extracted(field, item):
            return _extracted(field, of(item))
        case e.AsDate(item):
            return _as_date(need(of(item), Form.TIME, Form.DATE))
        case e.AsTime(item):
            return _as_time(need(of(item), Form.TIME, Form.DATE))
        case e.Modulo(item, divisor):
            return _modulo(need(of(item), Form.NUMBER), divisor)
        case e.Power(item, exponent):
            return _power(need(of(item), Form.NUMBER), exponent)
        case e.Shifted(item):
            return shifting.shifted(expression, need(of(item), Form.DATE, Form.TIME))
        case e.Local(item):
            return shifting.local(expression, need(of(item), Form.TIME))
        case e.Written(period, item):
            return lettering.written(period, _as_date(need(of(item), Form.TIME, Form.DATE)))
        case e.Concat(items):
            return lettering.shape_of_text(expression, [of(item) for item in items])
        case (
            e.Recased(_, item)
            | e.Trimmed(_, item)
            | e.Length(item)
            | e.Sliced(item)
            | e.Replaced(item)
            | e.Piece(item)
            | e.Like(item)
        ):
            return lettering.shape_of_text(expression, [of(item)])
        case _:
            assert_never(expression)


def _arithmetic(sign: e.Sign, left: Shape, right: Shape) -> Shape:
    null = left.null or right.null
    if sign is e.Sign.SUBTRACT and left.form is right.form is Form.DATE:
        return Shape(form=Form.NUMBER, low=left.low - right.high, high=left.high - right.low, null=null)
    need(left, Form.NUMBER)
    need(right, Form.NUMBER)
    if sign is e.Sign.MULTIPLY:
        ends = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        product = Shape(form=Form.NUMBER, low=min(ends), high=max(ends), step=left.step * right.step, null=null)
        return checked(product)
    (low, high), (low2, high2), step = *on_one_grid([left, right]), common_step([left, right])
    if sign is e.Sign.SUBTRACT:
        low2, high2 = -high2, -low2
    return checked(Shape(form=Form.NUMBER, low=low + low2, high=high + high2, step=step, null=null))


def _comparison(relation: e.Relation, left: Shape, right: Shape) -> Shape:
    pair = {left.form, right.form} - {Form.NOTHING}
    if not (len(pair) <= 1 or pair == {Form.DATE, Form.TIME}):
        raise RefusedQueryError(
            f"{left.form} cannot be compared with {right.form}", "compare values of the same kind", "type-mismatch"
        )
    if relation not in (e.Relation.EQUAL, e.Relation.UNEQUAL) and not pair <= set(ORDERED):
        raise RefusedQueryError(f"{relation} is not defined for {min(pair)}", "use =, <> or IN", "unsupported-type")
    if pair == {Form.NUMBER} and Form.NOTHING not in (left.form, right.form):
        on_one_grid([left, right])
    return replace(TRUTH, null=left.null or right.null)


def _extreme(shapes: Sequence[Shape], sign: int) -> Shape:
    """sign is 1 for the least, -1 for the greatest. An item that may be missing does not bound the others."""
    whole = need(union(shapes), *ORDERED)
    real = [shape for shape in shapes if shape.form is not Form.NOTHING]
    ranges = on_one_grid(real) if whole.form is Form.NUMBER else [(s.low, s.high) for s in real]
    sure = [ends for ends, shape in zip(ranges, real, strict=True) if not shape.null]
    if not sure:
        return whole
    if sign > 0:
        return replace(whole, high=min(high for _, high in sure), null=False)
    return replace(whole, low=max(low for low, _ in sure), null=False)


def _rounded(rounding: e.Rounding, inner: Shape, step: Fraction) -> Shape:
    def to(steps: int) -> int:
        return round_to(rounding, steps * inner.step / step)

    return checked(replace(inner, low=to(inner.low), high=to(inner.high), step=step))


def _truncated(period: e.Period, inner: Shape) -> Shape:
    """Truncation keeps the order, so the ends give the range."""
    need(inner, Form.DATE, Form.TIME)
    if inner.form is Form.TIME:
        low, high = (
            calendar.microseconds(calendar.start_of_time(period, calendar.time_at(end)))
            for end in (inner.low, inner.high)
        )
        return replace(inner, low=low, high=high, period=period)
    low, high = (calendar.days(calendar.start(period, calendar.day_at(end))) for end in (inner.low, inner.high))
    return replace(inner, low=low, high=high, period=None if period in calendar.CLOCK else period)


def _extracted(field: e.Field, inner: Shape) -> Shape:
    need(inner, Form.DATE, Form.TIME)
    if field in calendar.GROWING:
        day = _as_date(inner)
        low, high = (calendar.field_of(field, calendar.day_at(end)) for end in (day.low, day.high))
    else:
        low, high = calendar.FIELD_RANGES[field]
    return Shape(form=Form.NUMBER, low=low, high=high, null=inner.null)


def _as_date(inner: Shape) -> Shape:
    if inner.form is not Form.TIME:
        return inner
    period = None if inner.period in calendar.CLOCK else inner.period
    return replace(inner, form=Form.DATE, low=inner.low // calendar.DAY, high=inner.high // calendar.DAY, period=period)


def _as_time(inner: Shape) -> Shape:
    if inner.form is not Form.DATE:
        return inner
    period = inner.period or e.Period.DAY
    return replace(inner, form=Form.TIME, low=inner.low * calendar.DAY, high=inner.high * calendar.DAY, period=period)


def _modulo(inner: Shape, divisor: Fraction) -> Shape:
    """Between 0 and the number itself, and less than the divisor; exact where all numbers lie in one turn."""
    if divisor <= 0:
        raise RefusedQueryError("a remainder needs a divisor above 0", "divide by a positive constant", "not-positive")
    steps = Shape(form=Form.NUMBER, low=1, high=1, step=divisor)
    ((low, high), _), step = on_one_grid([inner, steps]), common_step([inner, steps])
    turn = int(divisor / step)
    if low >= 0 and low // turn == high // turn:
        low, high = low % turn, high % turn
    else:
        low, high = max(min(low, 0), 1 - turn), min(max(high, 0), turn - 1)
    return replace(inner, low=low, high=high, step=step)


def _power(inner: Shape, exponent: int) -> Shape:
    if not 1 <= exponent <= HIGHEST:
        raise RefusedQueryError(
            "a power needs a small whole exponent",
            f"for example POWER(x, 2): use an exponent from 1 to {HIGHEST}",
            "out-of-range",
        )
    ends = sorted([inner.low**exponent, inner.high**exponent])
    low = 0 if exponent % 2 == 0 and inner.low <= 0 <= inner.high else ends[0]
    return checked(replace(inner, low=low, high=ends[1], step=inner.step**exponent))
