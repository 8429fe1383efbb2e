"""What one value in a table says: a number, a day, a code or a text, or a whole range of them.

    10-19   [26-30]   [20, 30[   <30   >=40   40+      numbers
    1980   1980-05   1980-05-17   1980-1989   198*     days, where one of the two tables has whole dates
    654**   3*   {Berlin, Bonn}                        codes and sets
    *   (nothing)                                      anything

A region is a list of closed intervals on one axis. On an axis of numbers and days the points are numbers; on an axis of
codes and texts they are (length, text), so that 654** is everything from 654 and the two lowest letters to 654 and the
two highest.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any

Point = tuple[Any, int]  # a place on the axis; -1 is just below it, 1 just above it
Interval = tuple[Point, Point]
Region = tuple[Interval, ...]
Reader = Callable[[str], "Region | None"]

LEAST: Point = (float("-inf"), 0)
MOST: Point = (float("inf"), 0)
MOST_READ = 0.8  # of the different texts
DIGITS = 15  # more of them are a name and not a number: a float would not tell two such apart
NUMBER = r"([-+−]?\d+(?:\.\d+)?)"
BETWEEN = re.compile(rf"^([\[(\]]?)\s*{NUMBER}\s*(?:-|–|—|−|,|;|\.\.|:| to )\s*{NUMBER}\s*([\])\[]?)$")
BOUND = re.compile(rf"^(<=|>=|≤|≥|<|>|under |over |up to )\s*{NUMBER}$")
AND_MORE = re.compile(rf"^{NUMBER}\s*(?:\+|and more|or more)$")
POINT = re.compile(rf"^{NUMBER}$")
MASKED = re.compile(r"^([^*]+)(\*+)$")
DAY = re.compile(r"^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[t ]\d\d:\d\d.*)?$")
DAY_FIRST = re.compile(r"^(\d{1,2})\.(\d{1,2})\.(\d{4})$")
MONTH = re.compile(r"^(\d{4})[-/.](\d{1,2})$")
YEAR = re.compile(r"^(\d{4})$")
YEARS = re.compile(r"^\[?(\d{4})\s*(?:-|–|—|,|\.\.| to )\s*(\d{4})\]?$")
DAYS = re.compile(r"^\[?(\d{4}-\d\d?-\d\d?)\s*(?:–|—|,|\.\.| to | - )\s*(\d{4}-\d\d?-\d\d?)\]?$")
SET = re.compile(r"^\{(.*)\}$", re.DOTALL)
SEPARATORS = re.compile(r"[,;|]")


def plain(text: str) -> str:
    """The same for all ways to write a text: letters with accents, capitals, spaces."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


def is_free(text: str | None) -> bool:
    """Says nothing: missing, or suppressed with stars."""
    return text is None or not text.strip().strip("*").strip()


def regions_of(texts: Iterable[str]) -> dict[str, Region]:
    """What each plain text says, read in the first way that reads most of them. What that way cannot read, such as
    `unknown` among numbers, agrees with itself only."""
    every = sorted(set(map(plain, texts)))
    ways = ((as_days,) if any(map(_whole_day, every)) else ()) + (as_numbers,)
    for read in ways:
        found = {text: _elements(text, read) for text in every}
        if sum(map(bool, found.values())) >= MOST_READ * len(every):
            return {text: region or _alone(place) for place, (text, region) in enumerate(found.items())}
    return {text: _elements(text, as_code) or as_code(text) for text in every}


def _alone(place: int) -> Region:
    """Beyond all numbers, a place each."""
    return (((float("inf"), 1 + place), (float("inf"), 1 + place)),)


def _elements(text: str, read: Reader) -> Region | None:
    """The union of what stands in braces, or the region of the one value."""
    inside = SET.match(text)
    if inside is None:
        return read(text)
    parts = [read(part.strip()) for part in SEPARATORS.split(inside[1]) if part.strip()]
    if not parts or any(part is None for part in parts):
        return None
    return joined(interval for part in parts if part is not None for interval in part)


def as_numbers(text: str) -> Region | None:
    """Leading zeros play no part: a spreadsheet may have lost them in one of the two tables."""
    if sum(map(str.isdigit, text)) > 2 * DIGITS:
        return None
    if found := POINT.match(text):
        return None if len(text) > DIGITS else _from_to(found[1], found[1])
    if found := BETWEEN.match(text):
        low, high = _number(found[2]), _number(found[3])
        opened, closed = int(found[1] in ("(", "]")), -int(found[4] in (")", "["))
        return None if low > high else (((low, opened if found[1] else 0), (high, closed if found[4] else 0)),)
    if found := BOUND.match(text):
        return _bounded(found[1].strip(), _number(found[2]))
    if found := AND_MORE.match(text):
        return (((_number(found[1]), 0), MOST),)
    if (found := MASKED.match(text)) and found[1].isascii() and found[1].isdigit() and len(text) <= DIGITS:
        return _from_to(found[1] + "0" * len(found[2]), found[1] + "9" * len(found[2]))
    return None


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


def _from_to(low: str, high: str) -> Region:
    return (((_number(low), 0), (_number(high), 0)),)


def _bounded(sign: str, value: float) -> Region:
    match sign:
        case "<" | "under":
            return ((LEAST, (value, -1)),)
        case ">" | "over":
            return (((value, 1), MOST),)
        case ">=" | "≥":
            return (((value, 0), MOST),)
        case _:
            return ((LEAST, (value, 0)),)


def _whole_day(text: str) -> bool:
    return DAY.match(text) is not None or DAY_FIRST.match(text) is not None


def as_days(text: str) -> Region | None:
    """Days since the year 1, so that a year is an interval of them."""
    try:
        if found := DAY.match(text):
            return _days((int(found[1]), int(found[2]), int(found[3])), 1, days=True)
        if found := DAY_FIRST.match(text):
            return _days((int(found[3]), int(found[2]), int(found[1])), 1, days=True)
        if found := DAYS.match(text):
            ((low, _),) = as_days(found[1]) or ()
            ((_, high),) = as_days(found[2]) or ()
            return ((low, high),) if low <= high else None
        if found := MONTH.match(text):
            return _days((int(found[1]), int(found[2]), 1), 1)
        if found := YEARS.match(text):
            low_year, high_year = int(found[1]), int(found[2])
            return _days((low_year, 1, 1), 12 * (high_year - low_year + 1)) if low_year <= high_year else None
        if found := YEAR.match(text):
            return _days((int(found[1]), 1, 1), 12)
        if (found := MASKED.match(text)) and len(text) == 4 and found[1].isdigit():
            first = int(found[1] + "0" * len(found[2]))
            return _days((first, 1, 1), 12 * 10 ** len(found[2]))
    except ValueError:  # such as month 13
        return None
    return None


def _days(start: tuple[int, int, int], months: int, *, days: bool = False) -> Region:
    year, month, day = start
    first = date(year, month, day).toordinal()
    if days:
        return (((first, 0), (first, 0)),)
    later = year * 12 + month - 1 + months
    return (((first, 0), (date(later // 12, later % 12 + 1, 1).toordinal() - 1, 0)),)


def as_code(text: str) -> Region:
    """A text is a point; one that ends in stars is everything of that length with that beginning."""
    found = MASKED.match(text)
    if found is None:
        return ((((len(text), text), 0), ((len(text), text), 0)),)
    prefix, stars = found[1], len(found[2])
    low = (len(text), prefix + "\0" * stars)
    return (((low, 0), ((len(text), prefix + "\U0010ffff" * stars), 0)),)


def joined(intervals: Iterable[Interval]) -> Region:
    """Sorted, and one where they overlap."""
    found: list[Interval] = []
    for low, high in sorted(intervals):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)
