"""Quotients, roots, logarithms and exponentials of columns: their values lie between the steps of any grid, so they are
rounded to one. Which range they have, which grid is chosen, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from privet.core import expression as e
from privet.core.claim import claim
from privet.core.elementary import in_domain, near, round_to, rounded_value
from privet.core.expression import Expression
from privet.core.rational import show
from privet.core.shape import Form, Shape, checked, need
from privet.errors import RefusedQueryError

REAL = (e.Quotient, e.Root, e.Logarithm, e.Exponential)
MOST_STEPS = 10**6  # of a grid that nobody chose: six digits of the largest value
MOST_VALUES = 10**6  # of which the logarithm or exponential is taken: the back end goes through all of them
FINEST = {e.Root: 10**12, e.Logarithm: 10**9, e.Exponential: 10**9}  # steps that a float can propose
DEGREES = range(2, 7)
BASES = range(2, 1001)
HIGHEST = 80  # exp(80) is 5 * 10**34

ShapeOf = Callable[[Expression], Shape]
Ends = tuple[Fraction, Fraction]


@claim("real-ranges")
def shape_of_real(real: e.Real, of: ShapeOf, rounding: e.Rounding, step: Fraction | None) -> Shape:
    """Of a function rounded to multiples of `step`; without one, of a step of its own. Each grows or falls over its
    whole range, so that the ends of that come from the ends of what it is taken of."""
    inner = _inner(real, of)
    if inner is None:
        return Shape(form=Form.NOTHING)
    low, high = inner.ends
    if isinstance(real, e.Quotient):
        step = step or _own_step(low, high)
        least, most = (round_to(rounding, end / step) for end in (low, high))
    else:
        _check(real, inner)
        outer = cast(tuple[Ends, Ends], (near(real, low), near(real, high)))
        step = step or _own_step(outer[0][0], outer[1][1])
        least, most = (cast(int, rounded_value(real, end, rounding, step)) for end in (low, high))
        if max(abs(least), abs(most)) > FINEST[type(real)]:
            raise RefusedQueryError(
                f"{_name(real)} is rounded to too many steps of {show(step)}",
                "round to fewer digits: for example ROUND(SQRT(x), 4)",
                "too-fine",
            )
    return checked(Shape(form=Form.NUMBER, low=least, high=most, step=step, null=inner.null))


@dataclass(frozen=True, slots=True)
class _Inner:
    """Of a quotient, where it lies; of another function, where what it is taken of lies, and in which steps."""

    ends: Ends
    null: bool
    step: Fraction | None = None


def _inner(real: e.Real, of: ShapeOf) -> _Inner | None:
    """None if it is always missing. Each part is looked at once, however deep functions are nested."""
    if isinstance(real, e.Root) and isinstance(real.item, e.Quotient):
        return _inner(real.item, of)
    if not isinstance(real, e.Quotient):
        item = need(of(real.item), Form.NUMBER)
        parts = parts_of(real.item, item)
        ends = parts[0][0] * item.step, parts[-1][1] * item.step
        return None if item.form is Form.NOTHING else _Inner(ends, item.null, item.step)
    left, right = need(of(real.left), Form.NUMBER), need(of(real.right), Form.NUMBER)
    if Form.NOTHING in (left.form, right.form):
        return None
    parts = parts_of(real.right, right)
    if any(low <= 0 <= high for low, high in parts):
        raise _divides_by_zero(real.right, right)
    found = [
        left_end * left.step / (right_end * right.step)
        for left_end in (left.low, left.high)
        for part in parts
        for right_end in part
    ]
    return _Inner((min(found), max(found)), left.null or right.null)


def parts_of(item: Expression, shape: Shape) -> list[tuple[int, int]]:
    """The stretches of steps that an item lies in. NULLIF(x, 0) is x without 0."""
    match item:
        case e.Case(((e.Compare(e.Relation.EQUAL, x, e.Literal(Fraction() as zero)), e.Literal(None)),), same) if (
            x == same and not zero and shape.low < shape.high
        ):
            sides = [(shape.low, min(shape.high, -1)), (max(shape.low, 1), shape.high)]
            return [(low, high) for low, high in sides if low <= high]
    return [(shape.low, shape.high)]


def _check(real: e.Root | e.Logarithm | e.Exponential, inner: _Inner) -> None:
    """Refuses what has no value, is too large, or has too many values to go through."""
    if isinstance(real, e.Root):
        _check_one_of("the degree of a root", real.degree, DEGREES)
    elif isinstance(real, e.Logarithm) and real.base is not None:
        _check_one_of("the base of a logarithm", real.base, BASES)
    what, name, ends = _name(real), _named(real.item), inner.ends
    if isinstance(real, e.Exponential):
        if ends[1] > HIGHEST:
            raise RefusedQueryError(
                f"EXP is taken of numbers up to {_shown(ends[1])}: the result would be too large to sum",
                f"write EXP(LEAST({name}, {HIGHEST})), or a smaller limit that few values exceed",
                "too-large",
            )
    elif not in_domain(real, ends[0]):
        raise _without_value(real, ends)
    if inner.step is not None and not isinstance(real, e.Root):
        many = (ends[1] - ends[0]) / inner.step
        if many > MOST_VALUES:
            digits = -math.ceil(math.log10((ends[1] - ends[0]) / MOST_VALUES))
            coarser = f"ROUND({name}, {digits})" if digits >= 0 else f"ROUND({name} / 1e{-digits}) * 1e{-digits}"
            raise RefusedQueryError(
                f"{what} is taken of {int(many) + 1:,} different values: the limit is {MOST_VALUES:,}",
                f"take a coarser step: {what}({coarser}); with frames {_framed(real.item)}.round({digits})",
                "too-fine",
            )


def _without_value(real: e.Root | e.Logarithm, ends: Ends) -> RefusedQueryError:
    what, name = _name(real), _named(real.item)
    if isinstance(real, e.Root):
        return RefusedQueryError(
            f"{what} has no value below 0, but is taken of numbers from {_shown(ends[0])} on",
            f"write {what}(GREATEST({name}, 0)), or keep rows WHERE {name} >= 0; with frames"
            f" {_framed(real.item)}.clip(0), or .filter({_framed(real.item)} >= 0)",
            "out-of-domain",
        )
    left_out = f" {what}(NULLIF({name}, 0)), which leaves those rows out, or" if not ends[0] else ""
    least = _least(ends[1])
    return RefusedQueryError(
        f"{what} has no value at 0 and below, but is taken of numbers from {_shown(ends[0])} on",
        f"write{left_out} {what}(GREATEST({name}, {least})), or keep rows WHERE {name} > 0; with frames"
        f" {_framed(real.item)}.clip({least}), or .filter({_framed(real.item)} > 0)",
        "out-of-domain",
    )


def _check_one_of(what: str, number: int, allowed: Sequence[int]) -> None:
    if number not in allowed:
        raise RefusedQueryError(
            f"{what} is {number}", f"use a whole number from {allowed[0]} to {allowed[-1]}", "out-of-range"
        )


def _divides_by_zero(divisor: Expression, shape: Shape) -> RefusedQueryError:
    name, framed, least = _named(divisor), _framed(divisor), _least(shape.high * shape.step)
    return RefusedQueryError(
        f"a value is divided by {name}, which can be 0" if name != "x" else "a divisor can be 0",
        f"divide by NULLIF({name}, 0), which leaves those rows out, or by GREATEST({name}, {least}), or keep rows WHERE"
        f" {name} > 0; with frames divide by {framed}.clip({least}), or .filter({framed} > 0)",
        "out-of-domain",
    )


def _least(high: Fraction) -> str:
    """A small number above 0 that a value can be raised to."""
    return "1" if high > 1 else f"{float(high) / 1000:.0e}" if high > 0 else "1"


def _framed(item: Expression) -> str:
    return f'pv.col("{item.name}")' if isinstance(item, e.Column) else "x"


def _named(item: Expression) -> str:
    return item.name if isinstance(item, e.Column) else "x"


def _name(real: e.Root | e.Logarithm | e.Exponential) -> str:
    match real:
        case e.Root():
            return "SQRT" if real.degree == 2 else "POWER"
        case e.Logarithm():
            return "LN" if real.base is None else f"LOG{real.base}"
        case _:
            return "EXP"


def _shown(number: Fraction) -> str:
    return f"{float(number):.6g}"


def _own_step(low: Fraction, high: Fraction) -> Fraction:
    """The smallest power of ten of which the largest value has at most `MOST_STEPS`."""
    largest = max(abs(low), abs(high))
    step = Fraction(1)
    while largest > MOST_STEPS * step:
        step *= 10
    while largest and largest <= MOST_STEPS * step / 10:
        step /= 10
    return step
