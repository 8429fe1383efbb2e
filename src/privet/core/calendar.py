"""Dates and times without zones, as whole days or microseconds since 1970-01-01 and back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import assert_never

from privet.core.expression import Field, Period

EPOCH = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)
DAY = 86_400_000_000  # microseconds
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


def field_of(field: Field, time: dt.date | dt.datetime) -> int:
    """One number of a date or time; a date is its first moment."""
    match field:
        case Field.YEAR | Field.MONTH | Field.DAY:
            return int(getattr(time, field))
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


FIELD_RANGES = {
    Field.QUARTER: (1, 4), Field.MONTH: (1, 12), Field.WEEK: (1, 53), Field.DAY: (1, 31), Field.DOW: (0, 6),
    Field.ISODOW: (1, 7), Field.DOY: (1, 366), Field.HOUR: (0, 23), Field.MINUTE: (0, 59), Field.SECOND: (0, 59),
}  # fmt: skip
