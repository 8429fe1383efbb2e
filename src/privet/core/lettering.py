"""The shapes of texts that are made from texts: which there can be, where that is known, and how long they get."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import cast

from privet.core import calendar, texts
from privet.core.expression import Concat, Length, Like, Period, Piece, Replaced, Sliced
from privet.core.shape import TRUTH, Form, Shape, need
from privet.errors import RefusedQueryError

MOST_VALUES = 100_000  # texts that are listed; the values of longer lists are taken as unknown
MOST_CHARACTERS = 10**7  # of all of them together
MOST_GROWTH = 100
LONGEST_PERIODS = {Period.YEAR: 366, Period.MONTH: 31, Period.DAY: 1}  # days
LONGEST_CONSTANT = 1_000  # characters of a pattern, or of what is searched for


def shape_of_text(function: texts.TextFunction, items: Sequence[Shape]) -> Shape:
    """Of a function on texts of these shapes. Where all texts are known, it is applied to each of them."""
    _check(function)
    for item in items:
        need(item, Form.WORD)
    if any(item.form is Form.NOTHING for item in items):
        return Shape(form=Form.NOTHING)
    null = any(item.null for item in items)
    match function:
        case Like():
            return replace(TRUTH, null=null)
        case Length():
            lengths = _known(function, items)
            ends = (0, texts.LONGEST) if lengths is None else (min(map(int, lengths)), max(map(int, lengths)))
            return Shape(form=Form.NUMBER, low=ends[0], high=ends[1], null=null)
        case _:
            growth = _growth(function, items)
            values = cast(tuple[str, ...] | None, _known(function, items))
            return Shape(form=Form.WORD, values=values, growth=growth, null=null)


def _known(function: texts.TextFunction, items: Sequence[Shape]) -> tuple[str | int | bool, ...] | None:
    """All results, or None if they are unknown or too many."""
    lists = [item.values for item in items]
    if None in lists or math.prod(len(values or ()) for values in lists) > MOST_VALUES:
        return None
    found = dict.fromkeys(texts.applied(function, *chosen) for chosen in itertools.product(*(v or () for v in lists)))
    return tuple(found) if sum(len(str(result)) for result in found) <= MOST_CHARACTERS else None


def _growth(function: texts.TextFunction, items: Sequence[Shape]) -> int:
    """Refused where nested functions would make texts longer and longer: a row must cost little more than it holds."""
    growth = sum(item.growth for item in items)
    if isinstance(function, Replaced):
        growth *= max(1, -(-len(function.new) // len(function.old)))
    if growth > MOST_GROWTH:
        raise RefusedQueryError(
            f"a text could get more than {MOST_GROWTH} times longer", "use shorter texts, or join fewer", "too-long"
        )
    return max(1, growth)


def _check(function: texts.TextFunction) -> None:
    match function:
        case Concat(()):
            raise RefusedQueryError("there is no text to join", "give at least one", "too-few")
        case Replaced(_, "") | Piece(_, ""):
            raise RefusedQueryError("an empty text is searched for", "give at least one character", "empty")
        case Piece(place=place) if not 1 <= place <= texts.LONGEST:
            raise RefusedQueryError(
                "pieces of a text are counted from 1", "write SPLIT_PART(x, '-', 1)", "out-of-range"
            )
        case Sliced(_, start, stop) if not _countable(start, stop):
            raise RefusedQueryError(
                "a part of a text has no such place",
                f"count from 1 to {texts.LONGEST:,}, or use RIGHT(x, 2)",
                "out-of-range",
            )
        case Replaced(_, first, second) | Piece(_, first, second) if len(first + str(second)) > LONGEST_CONSTANT:
            raise RefusedQueryError(
                "a text to search for is too long", f"use at most {LONGEST_CONSTANT:,} characters", "too-long"
            )
        case Like(_, pattern) if len(pattern) > LONGEST_CONSTANT:
            raise RefusedQueryError("a pattern is too long", f"use at most {LONGEST_CONSTANT:,} characters", "too-long")


def _countable(start: int, stop: int | None) -> bool:
    """Places from one end that mean the same for all texts."""
    near = max(abs(start), abs(stop or 0)) <= texts.LONGEST
    return near and (start >= 0 or stop is None or stop < 0)


def written(period: Period, day: Shape) -> Shape:
    if period not in calendar.WRITTEN:
        raise RefusedQueryError(f"a {period} is not written as text", "write a year, month or day", "not-supported")
    if day.form is Form.NOTHING:
        return day
    if (day.high - day.low) // LONGEST_PERIODS[period] >= MOST_VALUES:
        return Shape(form=Form.WORD, null=day.null)
    return Shape(form=Form.WORD, values=_all_written(period, day.low, day.high), null=day.null)


@lru_cache(maxsize=32)
def _all_written(period: Period, low: int, high: int) -> tuple[str, ...]:
    """A shape is asked for at every level of an expression; the list is long."""
    starts = calendar.starts(period, calendar.day_at(low), calendar.day_at(high))
    return tuple(calendar.written(period, start) for start in starts)
