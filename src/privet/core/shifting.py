"""The shapes of dates and times that are moved: by months and days, or into a time zone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from privet.core import calendar
from privet.core.calendar import CLOCK, DAY
from privet.core.expression import Local, Period, Shifted
from privet.core.shape import Form, Shape
from privet.errors import RefusedQueryError

FARTHEST = 10_000  # years
MOST_CHANGES = 1_000
MONTHS = {Period.YEAR: 12, Period.QUARTER: 3, Period.MONTH: 1}


def shifted(moved: Shifted, inner: Shape) -> Shape:
    """Only starts of a period remain such if it is moved by whole ones, and not cut off at the end of the calendar."""
    _check(moved, inner)
    if inner.form is Form.NOTHING:
        return inner
    inside = calendar.within if inner.form is Form.DATE else calendar.within_moments
    ends = reached(moved, inner)
    low, high = map(inside, ends)
    kept = (low, high) == ends and _whole_periods(moved, inner.period)
    return replace(inner, low=low, high=high, period=inner.period if kept else None)


def _check(moved: Shifted, inner: Shape) -> None:
    moments = abs(moved.days) * DAY + abs(moved.microseconds)
    if abs(moved.months) > FARTHEST * 12 or moments > FARTHEST * 366 * DAY:
        raise RefusedQueryError(
            f"a date is moved by more than {FARTHEST:,} years", "move it by fewer days, months or years", "too-large"
        )
    if inner.form is Form.DATE and moved.microseconds:
        raise RefusedQueryError(
            "a date is moved by less than a day", "write CAST(day AS TIMESTAMP) + INTERVAL '1 hour'", "type-mismatch"
        )


def reached(moved: Shifted, inner: Shape) -> tuple[int, int]:
    """The range as if the calendar had no ends.

    A later day is never moved to before an earlier one. But the last days of a month may be moved to the same day, so
    a later time may be moved to before an earlier one of that day: the range has whole days then.
    """
    if inner.form is Form.DATE:
        low, high = (calendar.months_later(calendar.day_at(end), moved.months) for end in (inner.low, inner.high))
        return low + moved.days, high + moved.days
    extra = moved.days * DAY + moved.microseconds
    if not moved.months:
        return inner.low + extra, inner.high + extra
    low, high = (
        calendar.months_later(calendar.time_at(end).date(), moved.months) * DAY for end in (inner.low, inner.high)
    )
    return low + extra, high + DAY - 1 + extra


def _whole_periods(moved: Shifted, period: Period | None) -> bool:
    extra = moved.days * DAY + moved.microseconds
    if period in CLOCK:
        return extra % CLOCK[period] == 0
    if period is Period.WEEK:
        return not moved.months and extra % (7 * DAY) == 0
    return period is not None and extra == 0 and moved.months % MONTHS[period] == 0


def local(zoned: Local, inner: Shape) -> Shape:
    places = [place for place, _ in zoned.changes]
    if len(places) > MOST_CHANGES or places != sorted(set(places)):
        raise RefusedQueryError(
            f"a time zone has more than {MOST_CHANGES:,} changes, or not in order", "name another zone", "too-many"
        )
    if inner.form is Form.NOTHING:
        return inner
    found = [(begin + ahead, end + ahead) for begin, end, ahead in stretches(zoned, inner)]
    low, high = min(begin for begin, _ in found), max(end for _, end in found)
    inside = calendar.within_moments
    return replace(inner, low=inside(low), high=inside(high), period=None)


def stretches(zoned: Local, inner: Shape) -> Iterator[tuple[int, int, int]]:
    """(begin, end, how far clocks are ahead) of the times without a change, inside a range."""
    begins = [(inner.low, calendar.ahead_at(inner.low, zoned.first, zoned.changes))]
    begins += [change for change in zoned.changes if inner.low < change[0] <= inner.high]
    ends = [begin - 1 for begin, _ in begins[1:]] + [inner.high]
    return ((begin, end, ahead) for (begin, ahead), end in zip(begins, ends, strict=True))
