"""Which values something can have: its form, its range in whole steps, its grid. Made from declarations alone."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import reduce
from typing import assert_never

from privet.core import calendar
from privet.core.claim import claim
from privet.core.expression import Period, Value
from privet.core.rational import show
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.errors import RefusedQueryError

LIMIT = 10**38 // 2**40  # no value is larger, in steps, so that sums over 2**40 rows fit 38 digits


class Form(StrEnum):
    NUMBER = "number"
    TRUTH = "boolean"
    DATE = "date"
    TIME = "timestamp"
    WORD = "text"
    NOTHING = "NULL"


ONE = Fraction(1)
ORDERED = (Form.NUMBER, Form.DATE, Form.TIME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """`low` and `high` count steps: of `step` for numbers, days or microseconds since 1970 for dates and times.

    `values` are the texts that can occur, or None if any can. `growth` says how many times longer a text can be than
    the longest one in its row or question. `period` says that only starts of it occur.
    """

    form: Form
    low: int = 0
    high: int = 0
    step: Fraction = ONE
    values: tuple[str, ...] | None = None
    growth: int = 1
    period: Period | None = None
    null: bool = True


Shapes = Mapping[str, Shape]
TRUTH = Shape(form=Form.TRUTH, high=1)


@claim("never-missing")
def shape_of_kind(kind: Kind) -> Shape:
    """A declared column. Any value can be missing, unless `never_missing` says how such a one is read."""
    null = not kind.never_missing
    match kind:
        case Integer() | Number():
            low, high = kind.steps
            return checked(Shape(form=Form.NUMBER, low=low, high=high, step=getattr(kind, "step", ONE), null=null))
        case Boolean():
            return Shape(form=Form.TRUTH, high=1, null=null)
        case Date() | Timestamp():
            low, high = kind.steps
            return Shape(form=Form.DATE if isinstance(kind, Date) else Form.TIME, low=low, high=high, null=null)
        case Category():
            return Shape(form=Form.WORD, values=kind.values, null=null)
        case Text():
            return Shape(form=Form.WORD, null=null)
        case _:
            assert_never(kind)


def checked(shape: Shape) -> Shape:
    """Refuses what could be too large to sum."""
    if max(abs(shape.low), abs(shape.high)) >= LIMIT:
        raise RefusedQueryError(
            f"a value can be as large as {LIMIT:.0e} steps of {show(shape.step)}",
            "declare coarser steps or narrower ranges, or round the factors first",
            "too-fine",
        )
    return shape


def need(shape: Shape, *forms: Form) -> Shape:
    """Refuses another form. NULL fits everywhere."""
    if shape.form not in (*forms, Form.NOTHING):
        raise RefusedQueryError(
            f"a {shape.form} is used where a {' or '.join(forms)} is needed",
            "use a value of that kind",
            "type-mismatch",
        )
    return shape


def common_step(shapes: Sequence[Shape]) -> Fraction:
    """The largest step of which all steps are multiples."""
    return reduce(_gcd, [shape.step for shape in shapes])


def _gcd(a: Fraction, b: Fraction) -> Fraction:
    return Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


def shape_of_value(value: Value) -> Shape:
    match value:
        case None:
            return Shape(form=Form.NOTHING)
        case bool():
            return Shape(form=Form.TRUTH, low=int(value), high=int(value), null=False)
        case Fraction():  # one step of its own size, so that a product with it changes the step only
            steps = (value > 0) - (value < 0)
            return Shape(form=Form.NUMBER, low=steps, high=steps, step=abs(value) or ONE, null=False)
        case str():
            return Shape(form=Form.WORD, values=(value,), null=False)
        case dt.datetime():
            moment = calendar.microseconds(value)
            return Shape(form=Form.TIME, low=moment, high=moment, null=False)
        case dt.date():
            day = calendar.days(value)
            return Shape(form=Form.DATE, low=day, high=day, null=False)
        case _:
            assert_never(value)


def on_one_grid(shapes: Sequence[Shape]) -> list[tuple[int, int]]:
    """Their ranges in common steps; refused where the common step is too fine."""
    step = common_step(shapes)
    ranges = [(int(s.low * s.step / step), int(s.high * s.step / step)) for s in shapes]
    for low, high in ranges:
        checked(Shape(form=Form.NUMBER, low=low, high=high, step=step))
    return ranges


def union(shapes: Sequence[Shape]) -> Shape:
    """The shape of a value that has one of these shapes."""
    null = any(shape.null for shape in shapes)
    real = [shape for shape in shapes if shape.form is not Form.NOTHING]
    if not real:
        return shapes[0]
    first = real[0]
    if any(shape.form is not first.form for shape in real):
        forms = " and ".join(sorted({str(shape.form) for shape in real}))
        raise RefusedQueryError(
            f"one expression gives {forms}", "give values of one kind in all branches", "type-mismatch"
        )
    if first.form is Form.WORD:
        lists = [shape.values for shape in real]
        known = None if None in lists else tuple(dict.fromkeys(v for values in lists for v in values or ()))
        return Shape(form=Form.WORD, values=known, growth=max(shape.growth for shape in real), null=null)
    ranges = on_one_grid(real) if first.form is Form.NUMBER else [(s.low, s.high) for s in real]
    period = first.period if all(shape.period is first.period for shape in real) else None
    return Shape(
        form=first.form,
        low=min(low for low, _ in ranges),
        high=max(high for _, high in ranges),
        step=common_step(real),
        period=period,
        null=null,
    )
