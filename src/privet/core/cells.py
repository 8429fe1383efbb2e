"""The public groups of a plan: which keys there can be, from declarations and the condition alone."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from privet.core import calendar
from privet.core.expression import Period, Value
from privet.core.plan import Plan, canonical
from privet.core.ranges import shape_of
from privet.core.shape import Form, Shape, Shapes
from privet.errors import RefusedQueryError

MOST = 10**6
Keys = tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """One cell for every combination of key values, NULL included where a key can be missing; in a fixed order.

    Where keys are not public there are no domains: the cells are those keys that were `chosen` from the data, and
    before that there are none. With `rest` one more cell, the last, takes the rows of all other keys. Of public ones,
    too, some can be `chosen`, by their scores.
    """

    domains: tuple[tuple[Value, ...], ...]
    chosen: tuple[Keys, ...] | None = None
    private: bool = False
    rest: bool = False

    @property
    def count(self) -> int:
        if self.private or self.chosen is not None:
            return len(self.chosen or ()) + self.rest
        return math.prod(len(domain) for domain in self.domains)

    def keys(self) -> Iterator[Keys]:
        """Of every cell but the rest."""
        some = self.private or self.chosen is not None
        return iter(self.chosen or ()) if some else itertools.product(*self.domains)


def plain_keys(keys: Keys) -> list[object]:
    """As JSON values; `keys_from` reads them back."""
    return [canonical(value) for value in keys]


def keys_from(plain: Sequence[object]) -> Keys:
    return tuple(_value(item) for item in plain)


def _value(item: object) -> Value:
    match item:
        case None | bool() | str():
            return item
        case ["fraction", str() as text]:
            return Fraction(text)
        case ["date", str() as text]:
            return dt.date.fromisoformat(text)
        case ["datetime", str() as text]:
            return dt.datetime.fromisoformat(text)
        case _:
            raise TypeError("not a key")


def in_order(keys: Iterable[Keys]) -> list[Keys]:
    """Ascending, what is missing last: an order that tells nothing about the data."""
    return sorted(keys, key=lambda one: [(value is None, value) for value in one])


def cells_of(plan: Plan, columns: Shapes) -> Cells:
    """All cells of a plan. They are chosen from the data if somebody asks for it or a key has values that nobody knows;
    otherwise they are refused where there are too many."""
    shapes = {key.name: shape_of(key.value, columns) for key in plan.keys}
    unknown = [shape.form is Form.WORD and shape.values is None for shape in shapes.values()]
    private = bool(shapes) and (plan.private_keys or any(unknown))
    if plan.other is not None and not private:
        raise RefusedQueryError(
            "other= collects the groups that are not shown, but here all groups are shown",
            "leave it out, or give private_keys=True",
            "unneeded-option",
        )
    if plan.other is not None and not any(shape.form is Form.WORD for shape in shapes.values()):
        raise RefusedQueryError(
            "other= names a group of texts, and no key is a text", "leave it out", "unneeded-option"
        )
    if any(plan.other in (shape.values or ()) for shape in shapes.values()):
        raise RefusedQueryError("other= is the name of a group", "give a name that no group has", "name-taken")
    if private:
        return Cells(domains=(), private=True, rest=plan.other is not None)
    found = Cells(domains=tuple(_domain(name, shape) for name, shape in shapes.items()))
    if found.count > MOST:
        raise _too_many()
    return found


def _domain(name: str, shape: Shape) -> tuple[Value, ...]:
    listed = tuple(itertools.islice(_values(name, shape), MOST + 1))
    if len(listed) > MOST:
        raise _too_many()
    return (*listed, None) if shape.null else listed


def _too_many() -> RefusedQueryError:
    return RefusedQueryError(
        f"the groups would have more than {MOST:,} cells",
        "group by something coarser, such as date_trunc('month', day) or FLOOR(age / 10); or show only groups with"
        " enough people: private_keys=True and a delta",
        "too-many",
    )


def _values(name: str, shape: Shape) -> Iterable[Value]:
    """Every value that a key of this shape can have, but NULL."""
    span = range(shape.low, shape.high + 1)
    match shape.form:
        case Form.NOTHING:
            return ()
        case Form.TRUTH:
            return (bool(value) for value in span)
        case Form.NUMBER if shape.high - shape.low >= MOST:
            raise _too_many()
        case Form.NUMBER:
            top, bottom = (
                shape.step.numerator,
                shape.step.denominator,
            )  # several times as fast as a product of fractions
            return (Fraction(value * top) if bottom == 1 else Fraction(value * top, bottom) for value in span)
        case Form.DATE:
            first, last = calendar.day_at(shape.low), calendar.day_at(shape.high)
            return calendar.starts(shape.period or Period.DAY, first, last)
        case Form.TIME if shape.period in calendar.CLOCK:
            return (calendar.time_at(value) for value in span[:: calendar.CLOCK[shape.period]])
        case Form.TIME if shape.period is not None:
            first, last = calendar.time_at(shape.low).date(), calendar.time_at(shape.high).date()
            return (calendar.midnight(day) for day in calendar.starts(shape.period, first, last))
        case Form.WORD if shape.values is not None:
            return shape.values
        case _:
            raise RefusedQueryError(
                f"group {name} would have a cell for every microsecond",
                "use a coarser key: date_trunc('day', ...) or 'hour'",
                "too-many",
            )
