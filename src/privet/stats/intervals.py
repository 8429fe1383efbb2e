"""An estimate with its interval, and arithmetic that keeps it honest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


def exactly(value: float) -> Interval:
    """What is known, and not estimated."""
    return Interval(value, value, value)


def difference(one: Interval, two: Interval) -> Interval:
    """One share less another, between their furthest ends. The same people may be behind both, so that their errors add
    up; Newcombe's interval takes them to be independent."""
    low, high = max(-1.0, one.low - two.high), min(1.0, one.high - two.low)
    return Interval(one.value - two.value, low, high)


def larger(one: Interval, two: Interval | None) -> Interval:
    """The larger of two shares. Where both intervals hold, so does this one."""
    if two is None:
        return one
    return Interval(max(one.value, two.value), max(one.low, two.low), max(one.high, two.high))
