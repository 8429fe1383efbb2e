"""How DuckDB writes names, constants and dates. Other engines differ here and in `whole`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from privet.backends.whole import Whole, constant, minus, plus, quotient, remainder, scaled
from privet.core import calendar
from privet.core.expression import Field, Period
from privet.core.texts import held

FIRST, LAST = dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)
MONDAY = -3  # a Monday in days since 1970-01-01


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    return "'" + held(value).replace("'", "''") + "'"


def texts(values: Iterable[str]) -> str:
    return ", ".join(map(text, values))


def double(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"


def day(value: dt.date) -> str:
    return f"CAST('{value.isoformat()[:10]}' AS DATE)"


def moment(value: dt.datetime) -> str:
    return f"CAST('{value.isoformat(sep=' ')}' AS TIMESTAMP)"


def null(type_: str) -> str:
    return f"CAST(NULL AS {type_})"


def place_in(sql: str, values: Iterable[str]) -> str:
    """The number of a text in a list, from 0; NULL if it is not there."""
    return f"CAST(enum_code(TRY_CAST({sql} AS ENUM({texts(values)}))) AS BIGINT)"


def listed(name: str) -> str:
    """One row for each text of a list that is handed over beside the statement."""
    return f"unnest(CAST(${name} AS VARCHAR[]))"


def told(name: str) -> str:
    """A whole number that the engine is told before the statement runs."""
    return f"CAST(getvariable('{name}') AS INTEGER)"


def digest(parts: Iterable[str]) -> str:
    return f"md5({' || '.join(parts)})"


def item(sql: str) -> str:
    """A text with its length in bytes before it, so that no two lists of items look the same side by side."""
    return f"coalesce(strlen({sql}) || ':' || {sql}, 'N')"


def _date(days: Whole) -> str:
    return f"(DATE '1970-01-01' + CAST({days.sql} AS INTEGER))"


def _days(sql: str, low: int, high: int) -> Whole:
    return Whole(sql=f"CAST({sql} - DATE '1970-01-01' AS BIGINT)", low=low, high=high)


def _part(function: str, days: Whole, low: int, high: int) -> Whole:
    return Whole(sql=f"CAST({function}({_date(days)}) AS BIGINT)", low=low, high=high)


def weekday(days: Whole) -> Whole:
    """Monday is 0."""
    return remainder(minus(days, constant(MONDAY)), 7)


def start(period: Period, days: Whole) -> Whole:
    """The first day of the period that a day lies in."""
    match period:
        case Period.YEAR:
            back = minus(_part("dayofyear", days, 1, 366), constant(1))
        case Period.QUARTER:
            return _days(f"CAST(date_trunc('quarter', {_date(days)}) AS DATE)", days.low - 91, days.high)
        case Period.MONTH:
            back = minus(_part("day", days, 1, 31), constant(1))
        case Period.WEEK:
            back = weekday(days)
        case _:
            return days
    return minus(days, back)


def months_later(days: Whole, months: int, low: int, high: int) -> Whole:
    """From low to high, as if the calendar had no ends; the engine's own goes much further than ours."""
    return _days(f"CAST({_date(days)} + to_months({months}) AS DATE)", low, high)


def moment_later(time: Whole, months: int, low: int, high: int) -> Whole:
    sql = f"epoch_us(make_timestamp({time.sql}) + to_months({months}))"
    return Whole(sql=f"CAST({sql} AS BIGINT)", low=low, high=high)


def written(days: Whole, characters: int) -> str:
    """The first characters of YYYY-MM-DD."""
    return f"substring(CAST({_date(days)} AS VARCHAR), 1, {characters})"


def field(name: Field, days: Whole, time: Whole | None) -> Whole:
    """One number of a day, or of a moment on that day."""
    match name:
        case Field.DOW:
            return remainder(plus(weekday(days), constant(1)), 7)
        case Field.ISODOW:
            return plus(weekday(days), constant(1))
        case Field.MONTHS:
            since = f"CAST(date_diff('month', DATE '1970-01-01', {_date(days)}) AS BIGINT)"
            return plus(Whole(sql=since, low=-23628, high=96359), constant(1970 * 12))
        case Field.HOUR | Field.MINUTE | Field.SECOND:
            return scaled(days, 0) if time is None else _clock(name, time)
        case _:
            function = {Field.DOY: "dayofyear"}.get(name, str(name))
            return _part(function, days, *calendar.FIELD_RANGES.get(name, (1, 9999)))


def _clock(name: Field, time: Whole) -> Whole:
    """Hours of the day, minutes of the hour, seconds of the minute."""
    around = {Field.HOUR: Period.DAY, Field.MINUTE: Period.HOUR, Field.SECOND: Period.MINUTE}[name]
    return quotient(remainder(time, calendar.CLOCK[around]), calendar.CLOCK[Period(str(name))])
