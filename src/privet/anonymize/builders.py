"""Hierarchies made from the values of a column.

    intervals(data["age"], (5, 10, 20))       # 28, 25-29, 20-29, 20-39, *
    prefixes(data["zip"])                     # 13053, 1305*, 130**, 13***, 1****, *
    dates(data["born"])                       # 1958-05-12, 1958-05, 1958-Q2, 1958, 1950-1959, *
    merge_rare(data["country"], below=100)    # Samoa, (other), *
    suggest(data["age"])                      # the one that fits the values

A missing value is no ground value of these: `Hierarchy.fitted` gives it a row of its own.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np

from privet.anonymize.hierarchy import STAR, Hierarchy, of_rows
from privet.core.rational import positive, rational, show, whole
from privet.errors import InvalidInputError
from privet.records.microdata import RecordColumn
from privet.sources.relation import NUMBER_TEXT

OTHER = "(other)"
FEW = 8  # distinct values that are told apart or not at all
LEVELS = 6  # of a suggested prefix mask, at most, below the star
LONGEST_NUMBER = 60  # characters


def flat(column: RecordColumn) -> Hierarchy:
    """The value or nothing."""
    return of_rows(column.name, [(text, STAR) for text in _texts(column)])


def prefixes(column: RecordColumn, mask: str = "*", step: int = 1) -> Hierarchy:
    """Characters masked from the end, `step` more at each level. Shorter texts keep what the longest would."""
    if len(mask) != 1:
        raise InvalidInputError(f"a mask is one character, not {show(mask)}", 'for example mask="*"', "invalid-mark")
    whole(step, "step", 1)
    texts = _texts(column)
    longest = max(map(len, texts))
    kept = range(longest - step, 0, -step)
    rows = [(text, *(_masked(text, keep, longest, mask) for keep in kept), STAR) for text in texts]
    return of_rows(column.name, rows)


def _masked(text: str, keep: int, longest: int, mask: str) -> str:
    return text if len(text) <= keep else text[:keep] + mask * (longest - keep)


def merge_rare(column: RecordColumn, below: int) -> Hierarchy:
    """Values that fewer than `below` records have become one, then all do."""
    whole(below, "below", 1)
    counts = np.bincount(column.codes, minlength=len(column.texts))
    rare = {text for text, count in zip(column.texts, counts, strict=True) if count < below}
    other = OTHER
    while other in column.texts:  # a value that somebody has is not the rest
        other = f"({other})"
    return of_rows(column.name, [(text, other if text in rare else text, STAR) for text in _texts(column)])


# Numbers


def intervals(
    column: RecordColumn, widths: Sequence[object] = (5, 10, 20), *, low: object = None, high: object = None
) -> Hierarchy:
    """Wider and wider intervals. What is below `low`, or `high` and above, is one group at each level above the first.

    Intervals start at `low`, or at 0 where it is not given. Each width is a multiple of the one before.
    """
    steps = [positive(width, "a width") for width in widths]
    if any(wide % narrow or wide == narrow for narrow, wide in pairwise(steps)):
        raise InvalidInputError(
            f"intervals of {', '.join(map(show, widths))} do not lie within each other",
            "make each width a multiple of the one before, such as 5, 10, 20",
            "contradiction",
        )
    bottom = None if low is None else rational(low, "low")
    top = None if high is None else rational(high, "high")
    if bottom is not None and top is not None and bottom >= top:
        raise InvalidInputError(
            f"low {show(low)} is not below high {show(high)}", "give the smaller one as low", "reversed-range"
        )
    numbers = numbers_of(column)
    whole_numbers = all(number.denominator == 1 for number in (*numbers, *steps, bottom or Fraction()))
    rows = []
    for text, number in zip(_texts(column), numbers, strict=True):
        if bottom is not None and number < bottom:
            names = [f"<{plain(bottom)}"] * len(steps)
        elif top is not None and number >= top:
            names = [f">={plain(top)}"] * len(steps)
        else:
            names = [_interval(number, width, bottom or Fraction(), top, whole_numbers) for width in steps]
        rows.append((text, *names, STAR))
    return of_rows(column.name, rows)


def _interval(number: Fraction, width: Fraction, start: Fraction, top: Fraction | None, whole_numbers: bool) -> str:
    """Such as 20-29 for whole numbers, [-10, -1] where one is below 0, and [2.5, 5) for numbers with decimals."""
    first = start + (number - start) // width * width
    behind = first + width if top is None else min(first + width, top)
    if not whole_numbers:
        return f"[{plain(first)}, {plain(behind)})"
    last = math.ceil(behind) - 1
    if last == first:
        return plain(first)
    return f"{plain(first)}-{last}" if first >= 0 else f"[{plain(first)}, {last}]"


def plain(number: Fraction) -> str:
    """A number as one would write it: 12, 0.25."""
    if number.denominator == 1:
        return str(number.numerator)
    return format(float(number), ".15g")


def numbers_of(column: RecordColumn) -> list[Fraction]:
    """The number that each text is, missing ones left out."""
    numbers = [number_of(text) for text in _texts(column)]
    for text, number in zip(_texts(column), numbers, strict=True):
        if number is None:
            raise InvalidInputError(
                f"{show(text)} in column {show(column.name)} is not a number",
                "use prefixes, merge_rare or flat",
                "not-a-number",
            )
    return [number for number in numbers if number is not None]


def number_of(text: str) -> Fraction | None:
    """The number that a text is, if it is one. NaN and infinity are texts."""
    return Fraction(Decimal(text.strip())) if is_number(text) else None


def is_number(text: str) -> bool:
    """Neither NaN nor infinity, nor what is as long that nobody means it."""
    if len(text) > LONGEST_NUMBER or NUMBER_TEXT.fullmatch(text.strip()) is None:
        return False
    return math.isfinite(float(text))


# Dates


def dates(column: RecordColumn, form: str | None = None) -> Hierarchy:
    """Day, month, quarter, year, decade. Dates are as ISO writes them, 1958-05-12, or in a `form` such as %d.%m.%Y."""
    rows = []
    for text in _texts(column):
        time = time_of(text, form)
        if time is None:
            written = "ISO, such as 1958-05-12" if form is None else f"the form {show(form)}"
            raise InvalidInputError(
                f"{show(text)} in column {show(column.name)} is not a date in {written}",
                'say how dates are written: form="%d.%m.%Y"',
                "not-a-date",
            )
        rows.append((text, time))
    timed = any(time.time() != dt.time() or len(text) > 10 for text, time in rows) and form is None
    return of_rows(column.name, [(text, *_periods(time)[0 if timed else 1 :], STAR) for text, time in rows])


def _periods(time: dt.datetime) -> tuple[str, ...]:
    year, decade = f"{time.year:04}", time.year // 10 * 10
    month = f"{year}-{time.month:02}"
    return f"{month}-{time.day:02}", month, f"{year}-Q{(time.month + 2) // 3}", year, f"{decade}-{decade + 9}"


def time_of(text: str, form: str | None = None) -> dt.datetime | None:
    """The date, or date and time, that a text is, if it is one. Zones are left out."""
    try:
        if form is not None:
            return dt.datetime.strptime(text, form)
        if len(text) < 10 or text[4] != "-":
            return None
        return dt.datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None


# What fits


def suggest(column: RecordColumn) -> Hierarchy:
    """The hierarchy that fits the values: dates, masks for codes of one length, intervals, merged rare values."""
    texts = _texts(column)
    if all(time_of(text) for text in texts):
        return dates(column)
    if len(texts) > FEW:
        if are_codes(texts):
            return prefixes(column, step=math.ceil(len(texts[0]) / LEVELS))
        if all(map(is_number, texts)):
            return intervals(column, widths_of(numbers_of(column)))
        rare = merge_rare(column, max(2, len(column.codes) // 100))
        if 1 < len(rare.labels(1)) < len(rare.values):
            return rare
    return flat(column)


def are_codes(texts: Sequence[str]) -> bool:
    """Of one length, and the first letters say most. Digits as in ZIP codes: 5 or more, or one with a leading 0; or
    digits and letters mixed."""
    if len({len(text) for text in texts}) != 1:
        return False
    if all(text.isdigit() for text in texts):
        return len(texts[0]) >= 5 or (len(texts[0]) > 1 and any(text[0] == "0" for text in texts))
    return all(any(sign.isdigit() for sign in text) for text in texts) and not all(map(is_number, texts))


def widths_of(numbers: Sequence[Fraction]) -> list[Fraction]:
    """Three widths, the first about a twentieth of the range: 5, 10, 20 or 10, 50, 100 times a power of ten; for whole
    numbers that are near each other 2, 4, 8."""
    span = max(numbers) - min(numbers)
    unit = Fraction(10) ** math.floor(math.log10(span / 20)) if span else Fraction(1)
    first = next(unit * times for times in (1, 5, 10) if unit * times * 20 >= span)
    if first < 2 and all(number.denominator == 1 for number in numbers):
        return [Fraction(2), Fraction(4), Fraction(8)]
    return [first, first * 2, first * 4] if first == unit * 5 else [first, first * 5, first * 10]


def _texts(column: RecordColumn) -> list[str]:
    """The ground values."""
    texts = [text for text in column.texts if text is not None]
    if not texts:
        raise InvalidInputError(
            f"column {show(column.name)} has no values", "leave this column out of the quasi-identifiers", "empty"
        )
    return texts
