"""The public groups of a plan: which keys there can be, from declarations and the condition alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from privet.core import calendar
from privet.core.expression import Period, Value
from privet.core.plan import Plan
from privet.core.ranges import shape_of
from privet.core.shape import Form, Shape, Shapes
from privet.errors import RefusedQueryError

MOST = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """One cell for every combination of key values, NULL included where a key can be missing; in a fixed order."""

    domains: tuple[tuple[Value, ...], ...]

    @property
    def count(self) -> int:
        return math.prod(len(domain) for domain in self.domains)

    def keys(self) -> Iterator[tuple[Value, ...]]:
        return itertools.product(*self.domains)


def cells_of(plan: Plan, columns: Shapes) -> Cells:
    """All cells of a plan; refused where there are too many or where a key's values are not public."""
    found = Cells(domains=tuple(_domain(key.name, shape_of(key.value, columns)) for key in plan.keys))
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
        "group by something coarser, such as date_trunc('month', day) or FLOOR(age / 10)",
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
            return (value * shape.step for value in span)
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
            raise _not_public(name, shape)


def _not_public(name: str, shape: Shape) -> RefusedQueryError:
    if shape.form is Form.TIME:
        return RefusedQueryError(
            f"group {name} would have a cell for every microsecond", "cut it: date_trunc('day', ...) or 'hour'"
        )
    return RefusedQueryError(
        f"the values of group {name} are not public", f"list those you want: WHERE {name} IN ('a', 'b')"
    )
