"""Global sensitivities of the textbook statistics: how far one person can move them, and who could.

One row a person. Each statistic has a witness (two neighboring tables that attain the bound), a verdict on Laplace
noise, and the better way. Values are clamped to the declared range first; without a range there is no bound and the
question is refused. Under replace no row may be dropped by a condition or a NULL: a row that can vanish is add-remove.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privet.core.claim import claim
from privet.core.rational import rational, whole
from privet.core.unit import Neighbors, neighbors_from
from privet.errors import InvalidInputError

Table = tuple[tuple[Fraction, int], ...]  # (value, how many rows have it)
USEFUL = Fraction(1, 10)


@claim("grid-rounding")
@dataclass(frozen=True, slots=True)
class Grid:
    """Numbers rounded to multiples of `step`: the geometric mechanism's answer to floating point."""

    step: Fraction

    def steps(self, value: Fraction) -> int:
        """The nearest multiple, in steps, halves upwards.

        Halves to even (Python's `round`) would be wrong: 0.5 and 1.5 differ by 1 and would become 0 and 2.
        """
        return math.floor(value / self.step + Fraction(1, 2))

    def sensitivity(self, sensitivity: Fraction) -> int:
        """How many steps two rounded values can differ by, when the values differ by `sensitivity`."""
        return math.ceil(sensitivity / self.step)

    def value(self, steps: int) -> Fraction:
        return steps * self.step


@dataclass(frozen=True, slots=True, kw_only=True)
class TextbookSensitivity:
    """`bound` is attained by the two tables of `witness`; `spread` is how far apart two answers can be at all."""

    statistic: str
    bound: Fraction
    witness: tuple[Table, Table]
    spread: Fraction
    advice: str

    @property
    def useful(self) -> bool:
        """Is Laplace noise at epsilon 1, an error of about `bound`, small beside what the answer can be?"""
        return self.bound <= USEFUL * self.spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The declared range, and the size of the smaller of two neighboring tables."""

    low: Fraction
    high: Fraction
    people: int

    @property
    def width(self) -> Fraction:
        return self.high - self.low


def range_of(low: object, high: object, people: object) -> Range:
    """A declared range; refuses an infinite one, and one that is upside down."""
    if low is None or high is None:
        raise InvalidInputError(
            "without bounds one person can move a sum by any amount", "declare a range; values are clamped", "unbounded"
        )
    declared = Range(low=rational(low, "low"), high=rational(high, "high"), people=whole(people, "people", 1))
    if declared.low > declared.high:
        raise InvalidInputError("low is above high", "give the smaller bound first", "reversed-range")
    return declared


@claim("sensitivity-count")
def count(declared: Range, neighbors: Neighbors) -> TextbookSensitivity:
    """How many rows satisfy a condition; in the witness 1 says that a row does. Replacing a row changes it, too."""
    return TextbookSensitivity(
        statistic="count",
        bound=Fraction(1),
        witness=_one_at_the_top(Fraction(0), Fraction(1), declared.people, neighbors),
        spread=Fraction(declared.people),
        advice="counts are what Laplace noise is made for",
    )


@claim("sensitivity-sum")
def clamped_sum(declared: Range, neighbors: Neighbors) -> TextbookSensitivity:
    """A person's whole contribution comes or goes (add-remove), or moves from one bound to the other (replace)."""
    low, high, n = declared.low, declared.high, declared.people
    if neighbors_from(neighbors) is Neighbors.REPLACE:
        bound, witness = declared.width, _one_at_the_top(low, high, n, neighbors)
        spread = n * declared.width
    else:
        far = max(low, high, key=abs)
        bound, witness = abs(far), (((far, n),), ((far, n + 1),))
        spread = n * abs(far)
    advice = "for a mean, noise the sum of (value - middle of the range)"
    return TextbookSensitivity(statistic="sum", bound=bound, witness=witness, spread=spread, advice=advice)


@claim("sensitivity-mean")
def mean(declared: Range, neighbors: Neighbors) -> TextbookSensitivity:
    """Everybody at one bound, one at the other."""
    return TextbookSensitivity(
        statistic="mean",
        bound=declared.width / _larger(declared, neighbors),
        witness=_one_at_the_top(declared.low, declared.high, declared.people, neighbors),
        spread=declared.width,
        advice=_with_private_size(neighbors, "release a noisy sum and a noisy count, and divide")
        or "with a public n the mean is a sum divided by n",
    )


@claim("sensitivity-variance")
def variance(declared: Range, neighbors: Neighbors) -> TextbookSensitivity:
    """The population variance moves most when everybody is at one bound and one person is at the other."""
    larger = _larger(declared, neighbors)
    combine = "release count, sum and sum of squares around the middle of the range, and combine them"
    return TextbookSensitivity(
        statistic="variance",
        bound=declared.width**2 * (larger - 1) / larger**2,
        witness=_one_at_the_top(declared.low, declared.high, declared.people, neighbors),
        spread=declared.width**2 / 4,
        advice=_with_private_size(neighbors, combine) or combine,
    )


@claim("sensitivity-median")
def median(declared: Range, neighbors: Neighbors) -> TextbookSensitivity:
    """The lower median can jump from one bound to the other, whatever n is."""
    low, high, n = declared.low, declared.high, declared.people
    lows = (n + 1) // 2 if neighbors_from(neighbors) is Neighbors.REPLACE or n % 2 == 0 else n // 2
    before: Table = ((low, lows), (high, n - lows))
    if neighbors_from(neighbors) is Neighbors.REPLACE:
        after: Table = ((low, lows - 1), (high, n - lows + 1))
    else:  # with an even n one more high person moves the middle up, with an odd n one more low person down
        after = ((low, lows + n % 2), (high, n - lows + 1 - n % 2))
    return TextbookSensitivity(
        statistic="median",
        bound=declared.width,
        witness=(before, after),
        spread=declared.width,
        advice="choose a value near the median with the exponential mechanism: it errs in ranks, not in values",
    )


@claim("sensitivity-max")
def maximum(declared: Range, neighbors: Neighbors) -> TextbookSensitivity:
    """The oldest patient: one person decides."""
    return TextbookSensitivity(
        statistic="max",
        bound=declared.width,
        witness=_one_at_the_top(declared.low, declared.high, declared.people, neighbors),
        spread=declared.width,
        advice="ask for a high quantile (say 0.99) with the exponential mechanism",
    )


STATISTICS = (count, clamped_sum, mean, variance, median, maximum)


def _one_at_the_top(low: Fraction, high: Fraction, people: int, neighbors: Neighbors) -> tuple[Table, Table]:
    """Everybody at the lower bound; then one more person, or one of them, at the upper."""
    lows = people if neighbors_from(neighbors) is Neighbors.ADD_REMOVE else people - 1
    return ((low, people),), ((low, lows), (high, 1))


def _larger(declared: Range, neighbors: Neighbors) -> int:
    """The size of the larger of the two tables."""
    return declared.people + (neighbors_from(neighbors) is Neighbors.ADD_REMOVE)


def _with_private_size(neighbors: Neighbors, advice: str) -> str:
    if neighbors_from(neighbors) is Neighbors.REPLACE:
        return ""
    return f"under add-remove n is private, so this bound is no noise scale: {advice}"
