"""What is computed from published numbers, and how far it may be off: by the arithmetic of intervals. It is free.

If all intervals of the aggregates in an expression hold at once, so does what follows from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import reduce

from privet.core import expression as e
from privet.core.claim import claim
from privet.core.evaluate import evaluate
from privet.core.expression import Expression, Value
from privet.core.plan import Plan
from privet.core.ranges import round_to, shape_of
from privet.core.rational import show
from privet.core.shape import Form, Shape, Shapes, need
from privet.errors import RefusedQueryError
from privet.estimates.moments import ZERO, Estimate, MomentSpan

ANSWERED = Shape(form=Form.NUMBER, high=1)  # it is free: only the form matters
Known = Mapping[str, Value | Estimate]


def divides(expression: object) -> bool:
    """Whether something in it is divided by what is not a constant."""
    if isinstance(expression, tuple):
        return any(map(divides, expression))
    if is_dataclass(expression) and not isinstance(expression, e.Quotient):
        return any(divides(getattr(expression, field.name)) for field in fields(expression))
    return isinstance(expression, e.Quotient)


def check_computed(plan: Plan, columns: Shapes) -> None:
    """Refuses what is no number, names nothing, or has a name that is taken; and what HAVING, ORDER BY and the outputs
    name and is not there."""
    keys = {key.name: shape_of(key.value, columns) for key in plan.keys}
    taken = [*keys, *(aggregate.name for aggregate in plan.aggregates)]
    used_only = [total.name for total in plan.totals]
    for column in plan.computed:
        if column.name in (*taken, *used_only):
            raise RefusedQueryError(
                f"two columns are named {show(column.name)}", "give them different names with AS", "duplicate-name"
            )
        _need_number(column.value, keys, dict.fromkeys((*(a.name for a in plan.aggregates), *used_only), ANSWERED))
        taken.append(column.name)
    used = (*plan.outputs, *e.columns_in(plan.having), *(order.name for order in plan.order))
    lost = [name for name in used if name not in taken]
    if lost:
        raise RefusedQueryError(
            f"there is no column {show(lost[0])}", f"the columns are: {', '.join(taken)}", "unknown-column"
        )


def _need_number(value: Expression, keys: Shapes, answered: Shapes) -> None:
    """Conditions are read as they are in HAVING; what is taken of keys alone may be anything that gives a number."""
    match value:
        case e.Arithmetic(_, left, right) | e.Quotient(left, right) if not _of_keys(value, keys):
            items: Sequence[Expression] = (left, right)
        case e.Coalesce(items) | e.Least(items) | e.Greatest(items):
            pass
        case e.Absolute(item) | e.Rounded(_, item, _):
            items = (item,)
        case e.Case(branches, otherwise):
            for condition, _ in branches:
                need(shape_of(condition, {**keys, **answered}), Form.TRUTH)
            items = (*(then for _, then in branches), otherwise)
        case _:
            need(shape_of(value, {**keys, **answered}), Form.NUMBER)
            return
    for item in items:
        _need_number(item, keys, answered)


def _of_keys(value: Expression, keys: Shapes) -> bool:
    return not isinstance(value, e.Quotient) and all(name in keys for name in e.columns_in(value))


@claim("computed-interval")
def computed(expression: Expression, known: Known) -> Estimate | None:
    """The value and its interval; None where the value is NULL."""
    value = evaluate(expression, {n: v.shown if isinstance(v, Estimate) else v for n, v in known.items()})
    if value is None:
        return None
    assert isinstance(value, Fraction)  # noqa: S101  its form was checked
    try:
        span = _span(expression, known)
    except _UnknownError:
        span = None
    if span is None:
        return Estimate(value=value, low=None, high=None)
    return Estimate(value=value, low=span.low, high=span.high)


class _UnknownError(Exception):
    """No interval can be given."""


def _span(expression: Expression, known: Known) -> MomentSpan | None:
    """Where the exact value lies; None if it is NULL for sure."""

    def of(item: Expression) -> MomentSpan | None:
        return _span(item, known)

    def there(item: Expression) -> MomentSpan | None:
        """Of what takes the place of NULLs, or passes them over: nothing is known where one may be NULL."""
        used = (known[name] for name in e.columns_in(item))
        if any(isinstance(one, Estimate) and (one.null or not one.known) for one in used):
            raise _UnknownError
        return of(item)

    if not any(isinstance(known[name], Estimate) for name in e.columns_in(expression)):
        return _point(evaluate(expression, known))  # type: ignore[arg-type]
    match expression:
        case e.Column(name):
            return _interval(known[name])
        case e.Arithmetic(sign, left, right):
            return _both(sign, of(left), of(right))
        case e.Quotient(left, right):
            return _quotient(of(left), of(right))
        case e.Coalesce(items):
            return next((span for span in map(there, items) if span is not None), None)
        case e.Least(items) | e.Greatest(items):
            furthest = min if isinstance(expression, e.Least) else max
            found = [span for span in map(there, items) if span is not None]
            return (
                MomentSpan(furthest(span.low for span in found), furthest(span.high for span in found))
                if found
                else None
            )
        case e.Absolute(item):
            span = of(item)
            return span and _absolute(span)
        case e.Rounded(rounding, item, step):
            span = of(item)
            return span and MomentSpan(*(round_to(rounding, end / step) * step for end in (span.low, span.high)))
    assert isinstance(expression, e.Case)  # noqa: S101  no other one gives a number of numbers
    return _hull([of(then) for then in _possible(expression, known)])


def _point(value: Value) -> MomentSpan | None:
    assert value is None or isinstance(value, Fraction)  # noqa: S101  its form was checked
    return None if value is None else MomentSpan(value, value)


def _interval(item: Value | Estimate) -> MomentSpan:
    assert isinstance(item, Estimate)  # noqa: S101  what is known exactly is no interval
    if item.low is None or item.high is None:
        raise _UnknownError
    return MomentSpan(item.low, item.high)


def _both(sign: e.Sign, left: MomentSpan | None, right: MomentSpan | None) -> MomentSpan | None:
    if left is None or right is None:
        return None
    return left + right if sign is e.Sign.ADD else left - right if sign is e.Sign.SUBTRACT else left * right


def _quotient(left: MomentSpan | None, right: MomentSpan | None) -> MomentSpan | None:
    if left is None or right is None:
        return None
    if right.low <= 0 <= right.high:
        raise _UnknownError
    return left * MomentSpan(1 / right.high, 1 / right.low)


def _absolute(span: MomentSpan) -> MomentSpan:
    ends = sorted([abs(span.low), abs(span.high)])
    return MomentSpan(ZERO if span.low <= 0 <= span.high else ends[0], ends[1])


def _possible(case: e.Case, known: Known) -> list[Expression]:
    """The branches that the exact numbers may take: a condition of keys alone is decided, another one is not."""
    found = []
    for condition, then in case.branches:
        if any(isinstance(known[name], Estimate) for name in e.columns_in(condition)):
            found.append(then)
        elif evaluate(condition, known) is True:  # type: ignore[arg-type]
            return [*found, then]
    return [*found, case.otherwise]


def _hull(spans: Sequence[MomentSpan | None]) -> MomentSpan | None:
    """Of all; unknown if only some of them are NULL."""
    there = [span for span in spans if span is not None]
    if there and len(there) < len(spans):
        raise _UnknownError
    return reduce(lambda a, b: MomentSpan(min(a.low, b.low), max(a.high, b.high)), there) if there else None
