"""Numbers, dates and times as users write them in SQL, read exactly."""

from __future__ import annotations

import datetime as dt
import re
from fractions import Fraction

from privet.core.rational import rational, show
from privet.errors import InvalidInputError, RefusedQueryError

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_TIME = re.compile(_DATE.pattern + r"[ Tt](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?", re.ASCII)


def number_of(text: str) -> Fraction:
    try:
        if _NUMBER.fullmatch(text):
            return rational(text, "the number")
    except InvalidInputError:
        pass
    raise RefusedQueryError(
        f"{show(text)} is not a number that can be read", "write a number, for example 16, 0.5 or 1e3", "not-a-number"
    )


def whole_of(number: object, what: str, most: int) -> int:
    """A whole number from -most to most, of a constant."""
    if not isinstance(number, Fraction) or number.denominator != 1 or abs(number) > most:
        raise RefusedQueryError(f"{what} needs a whole number", f"write {what} with a constant such as 2", "not-whole")
    return int(number)


def date_of(text: str) -> dt.date:
    found = moment_of(text)
    if isinstance(found, dt.datetime):
        raise RefusedQueryError(f"{show(text)} is a time, not a date", "write DATE '2020-01-31'", "not-a-date")
    return found


def moment_of(text: str) -> dt.date | dt.datetime:
    """A date, or a time if hours are given."""
    day, time = _DATE.fullmatch(text.strip()), _TIME.fullmatch(text.strip())
    try:
        if day:
            return dt.date(*map(int, day.groups()))
        if time:
            year, month, date, hour, minute, second = (int(part or 0) for part in time.groups()[:6])
            return dt.datetime(year, month, date, hour, minute, second, int((time[7] or "0").ljust(6, "0")))
    except ValueError:
        pass
    raise RefusedQueryError(
        f"{show(text)} is not a date or time", "write '2020-01-31' or '2020-01-31 12:30:00', with no zone", "not-a-date"
    )
