"""How much better one way of guessing is than another, tried on the same people; and between two groups of people.

    gain(more, less, of)      # `more` people are right only the one way, `less` only the other way
    apart(one, two)           # the gain in one group less the gain in another one

Both are put together from the intervals of Clopper and Pearson as Newcombe (1998) does, by squares: of the same people
with the correlation of two counts of one multinomial law, of different people without. What is put together of exact
intervals is not exact. In 3,000 draws each of 40 laws, from 30 to 1,000 people and also where counts are 0, an end of
a 95 % interval was wrong in 0 to 2.5 % of draws.
"""

from __future__ import annotations

import math

from privet.stats.binomial import LEVEL, lower, upper
from privet.stats.intervals import Interval


def gain(more: int, less: int, of: int, level: float = LEVEL) -> Interval:
    """The share `more` less the share `less` of the same `of` people."""
    if not of:
        return Interval(0.0, -1.0, 1.0)
    up, down = more / of, less / of
    ends = [(lower(hits, of, level / 2), upper(hits, of, level / 2)) for hits in (more, less)]
    both = math.sqrt(up * down / ((1 - up) * (1 - down))) if up + down < 1 else float(more * less > 0)
    low = _joined(up - ends[0][0], ends[1][1] - down, both)
    high = _joined(ends[0][1] - up, down - ends[1][0], both)
    return Interval(up - down, max(-1.0, up - down - low), min(1.0, up - down + high))


def apart(one: Interval, two: Interval) -> Interval:
    """One less the other, of different people."""
    value = one.value - two.value
    low, high = (math.hypot(a, b) for a, b in (
        (one.value - one.low, two.high - two.value), (one.high - one.value, two.value - two.low),
    ))  # fmt: skip
    return Interval(value, value - low, value + high)


def _joined(one: float, other: float, correlated: float) -> float:
    return math.sqrt(one * one + other * other + 2 * correlated * one * other)
