"""Dates and times without zones, as whole days or microseconds since 1970-01-01 and back."""

from __future__ import annotations

import datetime as dt
from calendar import monthrange
from collections.abc import Iterator, Sequence
from typing import assert_never

from privet.core.expression import Field, Period

EPOCH = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)
DAY = 86_400_000_000  # microseconds
CYCLE = 146_097  # days of 400 years, after which the calendar repeats
CLOCK = {Period.DAY: DAY, Period.HOUR: DAY // 24, Period.MINUTE: DAY // 1440, Period.SECOND: DAY // 86400}


def days(day: dt.date) -> int:
    return (day - EPOCH.date()).days


def day_at(days: int) -> dt.date:
    return EPOCH.date() + dt.timedelta(days=days)


def microseconds(time: dt.datetime) -> int:
    return (time - EPOCH) // MICROSECOND


def time_at(microseconds: int) -> dt.datetime:
    return EPOCH + dt.timedelta(microseconds=microseconds)


def midnight(day: dt.date) -> dt.datetime:
    return dt.datetime(day.year, day.month, day.day)


def start(period: Period, day: dt.date) -> dt.date:
    """The first day of the period that a day lies in."""
    match period:
        case Period.YEAR:
            return day.replace(month=1, day=1)
        case Period.QUARTER:
            return day.replace(month=day.month - (day.month - 1) % 3, day=1)
        case Period.MONTH:
            return day.replace(day=1)
        case Period.WEEK:
            return day - dt.timedelta(days=day.weekday())
        case _:
            return day


def start_of_time(period: Period, time: dt.datetime) -> dt.datetime:
    """The first moment of the period that a time lies in."""
    if period in CLOCK:
        return time_at(microseconds(time) // CLOCK[period] * CLOCK[period])
    return midnight(start(period, time.date()))


def starts(period: Period, first: dt.date, last: dt.date) -> Iterator[dt.date]:
    """The first days of all periods that touch the days from first to last."""
    begin: dt.date | None = start(period, first)
    while begin is not None and begin <= last:
        yield begin
        begin = _next_start(period, begin)


def _next_start(period: Period, begin: dt.date) -> dt.date | None:
    """The first day of the next period; None beyond the end of the calendar."""
    months = {Period.YEAR: 12, Period.QUARTER: 3, Period.MONTH: 1}.get(period)
    try:
        if months is None:
            return begin + dt.timedelta(days=7 if period is Period.WEEK else 1)
        ahead = begin.month - 1 + months
        return begin.replace(year=begin.year + ahead // 12, month=ahead % 12 + 1)
    except (OverflowError, ValueError):
        return None


def months_later(day: dt.date, months: int) -> int:
    """The day so many months later, or the last one of that month, in days since 1970. It may lie beyond the years 1 to
    9999, where Python has no dates."""
    ahead = day.year * 12 + day.month - 1 + months
    year, month = ahead // 12, ahead % 12 + 1
    cycles, year = (year - 1) // 400, (year - 1) % 400 + 1  # the same place in the first 400 years
    return days(dt.date(year, month, min(day.day, monthrange(year, month)[1]))) + cycles * CYCLE


def within(days: int) -> int:
    """A number of days since 1970, moved into the years 1 to 9999."""
    return max(FIRST_DAY, min(days, LAST_DAY))


def within_moments(microseconds: int) -> int:
    return max(FIRST_DAY * DAY, min(microseconds, LAST_DAY * DAY + DAY - 1))


def shifted(time: dt.date | dt.datetime, months: int, extra: int, clock: int) -> dt.date | dt.datetime:
    """So many months, then days, then microseconds later, inside the calendar. A date moves by whole days only."""
    if not isinstance(time, dt.datetime):
        return day_at(within(months_later(time, months) + extra))
    moment = (months_later(time.date(), months) + extra) * DAY + microseconds(time) % DAY + clock
    return time_at(within_moments(moment))


def ahead_at(moment: int, first: int, changes: Sequence[tuple[int, int]]) -> int:
    """How far clocks are ahead of UTC at a moment, all in microseconds."""
    return max((change for change in changes if change[0] <= moment), default=(0, first))[1]


def written(period: Period, time: dt.date | dt.datetime) -> str:
    """Such as 2024-03 for a month."""
    return time.isoformat()[: WRITTEN[period]]


def field_of(field: Field, time: dt.date | dt.datetime) -> int:
    """One number of a date or time; a date is its first moment."""
    match field:
        case Field.YEAR | Field.MONTH | Field.DAY:
            return int(getattr(time, field))
        case Field.ISOYEAR:
            return time.isocalendar().year
        case Field.MONTHS:
            return time.year * 12 + time.month - 1
        case Field.QUARTER:
            return (time.month + 2) // 3
        case Field.WEEK:
            return time.isocalendar().week
        case Field.DOW:
            return time.isoweekday() % 7
        case Field.ISODOW:
            return time.isoweekday()
        case Field.DOY:
            return time.timetuple().tm_yday
        case Field.HOUR | Field.MINUTE | Field.SECOND:
            return int(getattr(time, field, 0))
        case _:
            assert_never(field)


FIRST_DAY, LAST_DAY = days(dt.date.min), days(dt.date.max)
WRITTEN = {Period.YEAR: 4, Period.MONTH: 7, Period.DAY: 10}  # characters of YYYY-MM-DD
GROWING = (Field.YEAR, Field.ISOYEAR, Field.MONTHS)  # never less on a later day
FIELD_RANGES = {
    Field.QUARTER: (1, 4), Field.MONTH: (1, 12), Field.WEEK: (1, 53), Field.DAY: (1, 31), Field.DOW: (0, 6),
    Field.ISODOW: (1, 7), Field.DOY: (1, 366), Field.HOUR: (0, 23), Field.MINUTE: (0, 59), Field.SECOND: (0, 59),
}  # fmt: skip
