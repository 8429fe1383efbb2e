"""Dates and times without zones, against the standard library and by hand."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.core import calendar
from privet.core.expression import Field, Period

TIMES = st.datetimes()
DATES = st.dates()


@given(TIMES, DATES)
def test_there_and_back(time: dt.datetime, day: dt.date) -> None:
    assert calendar.time_at(calendar.microseconds(time)) == time
    assert calendar.day_at(calendar.days(day)) == day
    assert calendar.midnight(day).date() == day


@given(TIMES, st.sampled_from(list(Period)))
def test_a_start_is_the_last_start_before(time: dt.datetime, period: Period) -> None:
    begin = calendar.start_of_time(period, time)
    assert begin <= time
    assert calendar.start_of_time(period, begin) == begin
    longest = {Period.YEAR: 366, Period.QUARTER: 92, Period.MONTH: 31, Period.WEEK: 7}.get(period, 1)
    assert time - begin < dt.timedelta(days=longest)


def test_days_and_microseconds_are_counted_from_1970() -> None:
    """The engines' SQL counts from there, too."""
    assert calendar.days(dt.date(1970, 1, 1)) == 0
    assert calendar.days(dt.date(1969, 12, 31)) == -1
    assert calendar.days(dt.date(2000, 3, 1)) == 30 * 365 + 7 + 31 + 29
    assert calendar.microseconds(dt.datetime(1970, 1, 2, 0, 0, 1)) == calendar.DAY + 10**6 == 86_401 * 10**6


@given(TIMES)
def test_a_clock_is_cut_by_clearing_what_is_smaller(time: dt.datetime) -> None:
    smaller: dict[str, int] = {}
    for period, name in (
        (Period.SECOND, "microsecond"), (Period.MINUTE, "second"), (Period.HOUR, "minute"), (Period.DAY, "hour"),
    ):  # fmt: skip
        smaller[name] = 0
        assert calendar.start_of_time(period, time) == time.replace(**smaller)


@given(DATES, st.integers(0, 800), st.sampled_from(list(Period)))
def test_starts_are_those_of_all_days_between(first: dt.date, length: int, period: Period) -> None:
    last = min(first.toordinal() + length, dt.date.max.toordinal())
    days = [dt.date.fromordinal(n) for n in range(first.toordinal(), last + 1)]
    assert list(calendar.starts(period, first, days[-1])) == sorted({calendar.start(period, day) for day in days})


@pytest.mark.parametrize("period", list(Period))
def test_the_calendar_ends_without_an_error(period: Period) -> None:
    first = dt.date(9999, 11, 28)
    assert list(calendar.starts(period, first, dt.date.max))[-1] == calendar.start(period, dt.date.max)


def test_fields_by_hand() -> None:
    sunday = dt.datetime(2021, 1, 3, 23, 58, 59, 999999)
    expected = {
        Field.YEAR: 2021, Field.QUARTER: 1, Field.MONTH: 1, Field.WEEK: 53, Field.DAY: 3, Field.DOW: 0,
        Field.ISODOW: 7, Field.DOY: 3, Field.HOUR: 23, Field.MINUTE: 58, Field.SECOND: 59, Field.ISOYEAR: 2020,
        Field.MONTHS: 24252,
    }  # fmt: skip
    assert {field: calendar.field_of(field, sunday) for field in Field} == expected
    assert calendar.field_of(Field.HOUR, sunday.date()) == 0
    assert calendar.field_of(Field.QUARTER, dt.date(2020, 12, 31)) == 4
    assert calendar.field_of(Field.DOY, dt.date(2020, 12, 31)) == 366


@given(TIMES, st.sampled_from(sorted(calendar.FIELD_RANGES)))
def test_fields_lie_in_their_ranges(time: dt.datetime, field: Field) -> None:
    low, high = calendar.FIELD_RANGES[field]
    assert low <= calendar.field_of(field, time) <= high


def test_ranges_of_fields_are_attained() -> None:
    """A range that is too wide would cost noise, and cells that nobody can be in."""
    first = dt.datetime(2018, 1, 1)  # 2020 has 53 weeks and 366 days
    times = [first + dt.timedelta(days=n, seconds=61 * n) for n in range(4 * 366)]
    for field, (low, high) in calendar.FIELD_RANGES.items():
        found = {calendar.field_of(field, time) for time in times}
        assert (min(found), max(found)) == (low, high), field
