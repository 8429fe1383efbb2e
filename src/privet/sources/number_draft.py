"""What a draft says of numbers and years: whether they are whole, their step, ranges on a coarse grid, codes for
"missing".

All of it is counted in the data and is for the owner alone.
"""
# ruff: noqa: S608  every name in a statement is quoted or generated here

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import duckdb

NUMBERS = "privet_numbers"  # the different numbers of a column: v, and how many rows n have each
BELOW = (*range(-9, 0), *range(-99, -94), -88, -77, *range(-999, -994), -888, -777, -9999, -8888, -7777, -99999)
ABOVE = (77, 88, *range(95, 100), 777, 888, *range(995, 1000), 7777, 8888, *range(9995, 10000), 99999, 999999, 9999999)
EPSILONS = (0.1, 1.0)  # between which a first question is asked
SOME_TIME = (dt.datetime(2000, 1, 1), dt.datetime(2029, 12, 31, 23, 59, 59))  # for a column without any
ENOUGH = 5  # rows that have a code
SMALL, MOST_BELOW = -6, 5  # codes that could be scores; more than so many codes below 0 are none
APART = 2  # how many times as large as all other values a code is
LARGEST = 1e150  # numbers count as no larger, so that sums and squares of them are finite
MOST_CODE = 50  # whole numbers from 1 to so many may be codes: there is none for 0
FINEST = 6  # decimals
OUTSIDE = (0.0, 0.001, 0.005, 0.01)  # shares of the values that a range may leave out at each end
MARKS = (Fraction(1), Fraction(3, 2), *map(Fraction, (2, 3, 4, 5, 6, 8, 10)))
NEXT = (Fraction(1), Fraction(2), Fraction(5), Fraction(10))
TENS = (Fraction(1), Fraction(10))


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Two marks, the share of the values outside, and how far the mean moves if these are clamped."""

    low: Fraction
    high: Fraction
    outside: float = 0.0
    shift: float = 0.0

    @property
    def width(self) -> Fraction:
        return self.high - self.low


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """`places` is the number of decimals; None if there are more than six. The first of the ranges holds all values."""

    low: float
    high: float
    mean: float
    places: int | None
    ranges: tuple[Range, ...]
    codes: tuple[int, ...] = ()


def numbers(connection: duckdb.DuckDBPyConnection, select: str) -> Numbers | None:
    """What can be said of the numbers v, each in n rows, that a statement selects; None if there are none."""
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {NUMBERS} AS SELECT least(greatest(v, -{LARGEST}), {LARGEST}) AS v, "
        f"sum(n)::BIGINT AS n FROM ({select}) WHERE isfinite(v) GROUP BY 1"
    )
    codes = _codes(connection)
    if codes:
        connection.execute(f"DELETE FROM {NUMBERS} WHERE v IN ({', '.join(map(str, codes))})")
    said = f"SELECT min(v), max(v), sum(v * n) / sum(n), max({_places('v')}) FROM {NUMBERS}"
    low, high, mean, places = connection.execute(said).fetchall()[0]
    if low is None:
        return None
    whole = places == 0
    return Numbers(
        low=low,
        high=high,
        mean=mean,
        places=None if places > FINEST else places,
        ranges=_ranges(connection, whole=whole),
        codes=codes,
    )


def _places(v: str) -> str:
    """How many decimals a value has; one more than FINEST if there are more, or a float cannot tell."""
    cases = " ".join(
        f"WHEN abs({v}) < 1e{11 - digits} AND abs({v} * 1e{digits} - round({v} * 1e{digits})) < 1e-4 THEN {digits}"
        for digits in range(1, FINEST + 1)
    )
    return f"CASE WHEN {v} = trunc({v}) THEN 0 {cases} ELSE {FINEST + 1} END"


def _codes(connection: duckdb.DuckDBPyConnection) -> tuple[int, ...]:
    """Usual codes for "missing" that several rows have and that lie apart from all other values: below 0 where nothing
    else does, or above twice the largest."""
    listed = ", ".join(map(str, BELOW + ABOVE))
    often = connection.execute(f"SELECT v FROM {NUMBERS} WHERE v IN ({listed}) AND n >= {ENOUGH} ORDER BY v").fetchall()
    found = [int(v) for (v,) in often]
    if not found:
        return ()
    rest = f"SELECT min(v), max(v), count(*) FROM {NUMBERS} WHERE v NOT IN ({', '.join(map(str, found))})"
    least, most, different = connection.execute(rest).fetchall()[0]
    if different < 2:
        return ()
    above = [code for code in found if code > 0 and code > APART * max(most, 0)]
    below = [code for code in found if code < 0] if least >= 0 else []
    small = [code for code in below if code >= SMALL]
    if len(below) > MOST_BELOW or (small and most <= -APART * small[0] + 1 and small == below):
        below = []  # scores around 0
    return tuple(below + above)


def _ranges(connection: duckdb.DuckDBPyConnection, *, whole: bool) -> tuple[Range, ...]:
    """From the widest to the narrowest; each but the first leaves some values out and is narrower."""
    ends = ", ".join(
        f"min(v) FILTER (c > {share!r} * a), max(v) FILTER (c - n < {1 - share!r} * a)" for share in OUTSIDE
    )
    summed = f"SELECT v, n, sum(n) OVER (ORDER BY v) AS c, sum(n) OVER () AS a FROM {NUMBERS}"
    row = connection.execute(f"SELECT {ends} FROM ({summed})").fetchall()[0]
    pairs = list(zip(row[::2], row[1::2], strict=True))
    marked = dict.fromkeys(marks(low, high, whole=whole) for low, high in pairs if None not in (low, high))
    found: list[Range] = []
    for low, high in marked:
        if found and high - low >= found[-1].width:
            continue
        clamped = f"least(greatest(v, {float(low)!r}), {float(high)!r})"
        outside, shift = connection.execute(
            f"SELECT coalesce(sum(n) FILTER (v <> {clamped}), 0) / sum(n), abs(sum(n * ({clamped} - v))) / sum(n) "
            f"FROM {NUMBERS}"
        ).fetchall()[0]
        found.append(Range(low=low, high=high, outside=outside, shift=shift))
    return tuple(found)


def marks(low: float, high: float, *, whole: bool) -> tuple[Fraction, Fraction]:
    """The next marks of a grid that is coarser, the farther apart they are."""
    first, last = Fraction(str(low)), Fraction(str(high))
    span = last - first
    if first >= 0 and (first < span or not span or (whole and first < 10)):
        codes = whole and first == 1 and last <= MOST_CODE
        return Fraction(1 if codes else 0), _mark(last, whole=whole)
    if first < 0 < last:
        least = max(-first, last) / 10
        return -_mark(max(-first, least), whole=whole), _mark(max(last, least), whole=whole)
    if last <= 0 and (-last < span or not span):
        return -_mark(-first, whole=whole), Fraction(0)
    unit = _next(span / 4, NEXT)
    unit = max(unit, Fraction(1)) if whole else unit
    return first // unit * unit, -(-last // unit) * unit


def _mark(value: Fraction, *, whole: bool) -> Fraction:
    if value <= 0 or (whole and value <= 1):
        return Fraction(1)
    mark = _next(value, MARKS)
    return Fraction(2) if whole and mark == MARKS[1] else mark


def _next(value: Fraction, steps: tuple[Fraction, ...]) -> Fraction:
    """The first of the steps, times a power of ten, that is not below the value."""
    power = Fraction(1)
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    return next(power * step for step in steps if power * step >= value)


def step_of(found: Numbers, chosen: Range) -> Fraction:
    """The last decimal that occurs; of numbers with many decimals about the millionth part of the range."""
    step = _next(chosen.width / 10, TENS) / 100_000
    if found.places:
        step = Fraction(1, 10**found.places)
    while chosen.low % step or chosen.high % step:
        step /= 10
    return step


def chosen_range(found: Numbers, noise: float, epsilons: Sequence[float] = EPSILONS) -> Range:
    """The one that holds all values, unless one of at most half its width is better for a mean: values outside move it,
    and a wide range needs much noise. Of several, the one that is nowhere much worse than the best. `noise` is that of
    a mean at epsilon 1, as a share of the width."""
    wide, *others = found.ranges
    ranges = [wide, *(one for one in others if 2 * one.width <= wide.width)]
    errors = [[one.shift + float(one.width) * min(0.5, noise / epsilon) for epsilon in epsilons] for one in ranges]
    least = [min(column) or 1.0 for column in zip(*errors, strict=True)]
    worst = [max(error / best for error, best in zip(row, least, strict=True)) for row in errors]
    return ranges[worst.index(min(worst))]


def percent(share: float) -> str:
    """A share for people, never 0 %."""
    return "less than 0.1 %" if share < 0.001 else f"{100 * share:.2g} %"


def widened(first: int, last: int) -> tuple[int, int]:
    """Years that occur, widened by a tenth, and outwards to years that end in 0 or 5 if they are many."""
    more = max(1, (last - first) // 10)
    unit = 1 if last - first <= 10 else 5
    return (first - more) // unit * unit, -(-(last + more) // unit) * unit


def years(first: dt.datetime | None, last: dt.datetime | None) -> tuple[dt.datetime, dt.datetime]:
    """The years that occur, and some more at both ends."""
    if first is None or last is None:
        return SOME_TIME
    low, high = widened(first.year, last.year)
    return dt.datetime(max(1, low), 1, 1), dt.datetime(min(high, 9999), 12, 31, 23, 59, 59)


def about(value: float) -> str:
    """A number for people, to two digits."""
    return f"{float(f'{value:.2g}'):,.{0 if value >= 10 else 1}f}".removesuffix(".0")
