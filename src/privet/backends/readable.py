"""What a raw value means: the definition, in plain Python. `reading` says the same in SQL."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import TypeVar, assert_never

from privet.core import calendar
from privet.core.claim import claim
from privet.core.expression import Value
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp

NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"
TRUE = "[tT]|[tT][rR][uU][eE]|[yY]|[yY][eE][sS]|1"
FALSE = "[fF]|[fF][aA][lL][sS][eE]|[nN]|[nN][oO]|0"
DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIME = DAY + r"([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?)?"
SPACES = " \t"
LARGEST, SMALLEST = 1.7976931348623157e308, 5e-324
HALF = Fraction(1, 2)
NARROW, WIDE = 18, 37  # digits of a whole number of 64 and of 128 bits
TELLS_APART = 2.0**53  # from here on whole numbers that differ can be the same float
SPARE = 9  # decimals of a step that is not a decimal number
# ruff: noqa: PLR0124  # NaN and pandas' missing time are what differs from itself
Moment = TypeVar("Moment", dt.date, dt.datetime)


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubles:
    """How doubles are read: from `low` to `high` a number is floor(x / step + 0.5) steps, in IEEE arithmetic."""

    low: float
    high: float
    step: float

    def steps(self, number: float) -> int:
        return math.floor(number / self.step + 0.5)


def doubles(kind: Integer | Number) -> Doubles:
    step = getattr(kind, "step", Fraction(1))
    return Doubles(
        low=_double(Fraction(kind.low)), high=_double(Fraction(kind.high)), step=max(_double(step), SMALLEST)
    )


def _double(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return LARGEST if number > 0 else -LARGEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Decimals:
    """How the text of a number is read: what follows the first `places` decimals is cut off, downwards, and what then
    has more than `digits` digits is beyond every bound. Before the point `places` is negative."""

    places: int
    digits: int

    def cut(self, text: str) -> Fraction:
        scale = Fraction(10) ** self.places
        return math.floor(Fraction(Decimal(text)) * scale) / scale


@cache
@claim("texts-are-read-exactly")
def decimals(kind: Integer | Number) -> Decimals:
    """As many decimals as fit into 64 bits, if these are enough. Enough is where half a step is a whole number of them:
    then what is cut off cannot change to which step a number is rounded. No number of decimals is enough for thirds."""
    step = getattr(kind, "step", Fraction(1))
    most = max(abs(Fraction(kind.low)), abs(Fraction(kind.high)), step)
    enough, room = _enough(step), _room(most, NARROW - 1)
    if enough <= room:
        return Decimals(places=room, digits=NARROW)
    return Decimals(places=min(enough, _room(most, WIDE - 1)), digits=WIDE)


def _enough(step: Fraction) -> int:
    half, places = step / 2, 0
    for prime in (2, 5):
        rest, count = half.denominator, 0
        while rest % prime == 0:
            rest, count = rest // prime, count + 1
        places = max(places, count)
    exact = 10**places % half.denominator == 0
    return places if exact else SPARE - _room(step, 0)


def _room(number: Fraction, digits: int) -> int:
    """The most decimals with which a number above 0 has no more than these digits."""
    places = digits + len(str(number.denominator)) - len(str(number.numerator)) + 1
    while number * Fraction(10) ** places >= 10**digits:
        places -= 1
    return places


@claim("reading-is-row-wise")
def read(raw: object, kind: Kind) -> Value:
    """What a raw value means under a declaration. What it cannot mean is NULL, or the lowest value of a column that is
    never missing; it never fails."""
    value = _read(raw, kind)
    return lowest(kind) if value is None and kind.never_missing else value


@claim("never-missing")
def lowest(kind: Kind) -> Value:
    """What a missing value counts as in a column that is never missing."""
    match kind:
        case Integer() | Number():
            return Fraction(kind.low)
        case Boolean():
            return False
        case Category():
            return kind.values[0]
        case Text():
            return ""
        case Date() | Timestamp():
            return kind.low
        case _:
            assert_never(kind)


def _read(raw: object, kind: Kind) -> Value:
    if isinstance(raw, Decimal) and not raw.is_finite():
        return None
    match kind:
        case Integer() | Number():
            steps = _steps(raw, kind)
            return None if steps is None else steps * getattr(kind, "step", Fraction(1))
        case Boolean():
            return _truth(raw)
        case Category():
            word = text_of(raw)
            return word if word in kind.values else None
        case Text():
            return text_of(raw)
        case Date():
            day = _day(raw)
            return None if day is None else min(max(day, kind.low), kind.high)
        case Timestamp():
            time = _time(raw)
            return None if time is None else min(max(time, kind.low), kind.high)
        case _:
            assert_never(kind)


@claim("unit-wise")
def is_nobody(unit: object) -> bool:
    """Whose rows are dropped: no unit, and a float that is no number, infinite or too large. A program that writes
    whole numbers as floats, as pandas does where one is missing, makes one person of several from 2^53 on."""
    return unit is None or (isinstance(unit, float) and not abs(unit) < TELLS_APART)


def _steps(raw: object, kind: Integer | Number) -> int | None:
    low, high = kind.steps
    match raw:
        case bool() | int() | Decimal():
            number = math.floor(Fraction(raw) / getattr(kind, "step", 1) + HALF)
        case float() if raw == raw:
            rule = doubles(kind)
            number = low if raw < rule.low else high if raw > rule.high else rule.steps(raw)
        case str() if re.fullmatch(NUMBER, raw.strip(SPACES)):
            exact = decimals(kind).cut(raw.strip(SPACES))
            number = math.floor(exact / getattr(kind, "step", 1) + HALF)
        case _:
            return None
    return min(max(number, low), high)


def _truth(raw: object) -> bool | None:
    match raw:
        case bool():
            return raw
        case int() | float() | Decimal():
            return bool(raw) if raw in (0, 1) else None
        case str():
            text = raw.strip(SPACES)
            return True if re.fullmatch(TRUE, text) else False if re.fullmatch(FALSE, text) else None
        case _:
            return None


def text_of(raw: object) -> str | None:
    """The plain text of texts, truths, whole numbers and days. Engines write other values in different ways."""
    match raw:
        case str():
            return raw
        case bool():
            return "true" if raw else "false"
        case int():
            return str(raw)
        case dt.date() if not isinstance(raw, dt.datetime):
            return raw.isoformat()
        case _:
            return None


def _day(raw: object) -> dt.date | None:
    match raw:
        case dt.datetime() if raw == raw:
            time = _without_zone(raw)
            return None if time is None else time.date()
        case dt.date() if raw == raw:
            return raw
        case str() if re.fullmatch(DAY, raw):
            return _parsed(raw, dt.date.fromisoformat)
        case _:
            return None


def _time(raw: object) -> dt.datetime | None:
    match raw:
        case dt.datetime() if raw == raw:  # a missing time of pandas differs from itself
            return _without_zone(raw)
        case dt.date() if raw == raw:
            return calendar.midnight(raw)
        case str() if re.fullmatch(TIME, raw):
            whole, _, rest = raw.partition(".")
            return _parsed(whole + f".{rest:0<6}" * bool(rest), dt.datetime.fromisoformat)
        case _:
            return None


def _without_zone(time: dt.datetime) -> dt.datetime | None:
    """In UTC if it names a zone."""
    try:
        return time if time.tzinfo is None else time.astimezone(dt.UTC).replace(tzinfo=None)
    except OverflowError:  # beyond the years 1 to 9999
        return None


def _parsed(text: str, read_text: Callable[[str], Moment]) -> Moment | None:
    try:
        return read_text(text)
    except ValueError:  # the pattern fits, the day does not exist
        return None
