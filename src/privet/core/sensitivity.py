"""Global sensitivities of the textbook statistics: how far one person can move them, and who could.

Each has a witness (two neighboring tables that attain the bound), a verdict on Laplace noise, and the better way.
Values are clamped to the declared range first; without one there is no bound, and the question is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privet.core.claim import claim
from privet.core.rational import rational, whole
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError

Table = tuple[Fraction, ...]
USEFUL = Fraction(1, 10)  # noise at epsilon 1 should be a tenth of what the answer can be, or less


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """`bound` is attained by the two tables of `witness`; `largest` is how far the answer itself can be from 0."""

    statistic: str
    bound: Fraction
    witness: tuple[Table, Table]
    largest: Fraction
    advice: str

    @property
    def useful(self) -> bool:
        """Is Laplace noise at epsilon 1 (an error of about `bound`) small beside the answer?"""
        return self.bound <= USEFUL * self.largest


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
            "without bounds one person can move a sum by any amount",
            "declare a range for the column; values are clamped",
        )
    declared = Range(low=rational(low, "low"), high=rational(high, "high"), people=whole(people, "people", 1))
    if declared.low > declared.high:
        raise InvalidInputError("low is above high", "give the smaller bound first")
    return declared


@claim("sensitivity-count")
def count(declared: Range, neighbors: Neighbors) -> Sensitivity:
    """How many rows satisfy a condition (here: lie at the upper bound). Replacing a row can change it by one, too."""
    low, high, n = declared.low, declared.high, declared.people
    before = (low,) * n
    after = (*before, high) if neighbors is Neighbors.ADD_REMOVE else (*before[1:], high)
    advice = "counts are what Laplace noise is made for"
    return Sensitivity(
        statistic="count", bound=Fraction(1), witness=(before, after), largest=Fraction(n), advice=advice
    )


@claim("sensitivity-sum")
def clamped_sum(declared: Range, neighbors: Neighbors) -> Sensitivity:
    """A person's whole contribution comes or goes (add-remove), or moves from one bound to the other (replace)."""
    low, high, n = declared.low, declared.high, declared.people
    far = max(low, high, key=abs)
    if neighbors is Neighbors.ADD_REMOVE:
        bound, witness = abs(far), ((far,) * n, (far,) * (n + 1))
    else:
        bound, witness = declared.width, ((low,) * n, (*((low,) * (n - 1)), high))
    advice = "for a mean, noise the sum of (value - middle of the range)"
    return Sensitivity(statistic="sum", bound=bound, witness=witness, largest=n * abs(far), advice=advice)


@claim("sensitivity-mean")
def mean(declared: Range, neighbors: Neighbors) -> Sensitivity:
    """Everybody at one bound, one at the other. Under add-remove n is not public: this is for tables of n or n + 1."""
    low, high, n = declared.low, declared.high, declared.people
    if neighbors is Neighbors.ADD_REMOVE:
        bound, witness = declared.width / (n + 1), ((low,) * n, (*((low,) * n), high))
        advice = "n is private under add-remove: release a noisy sum and a noisy count, and divide"
    else:
        bound, witness = declared.width / n, ((low,) * n, (*((low,) * (n - 1)), high))
        advice = "with a public n the mean is a sum divided by n"
    return Sensitivity(statistic="mean", bound=bound, witness=witness, largest=declared.width, advice=advice)


@claim("sensitivity-variance")
def variance(declared: Range, neighbors: Neighbors) -> Sensitivity:
    """The population variance moves most when everybody is at one bound and one person is at the other."""
    low, high, n = declared.low, declared.high, declared.people
    larger = n + 1 if neighbors is Neighbors.ADD_REMOVE else n
    after = (*((low,) * (larger - 1)), high)
    bound = declared.width**2 * (larger - 1) / larger**2
    advice = "release count, sum and sum of squares around the middle of the range, and combine them"
    witness = ((low,) * n, after)
    return Sensitivity(statistic="variance", bound=bound, witness=witness, largest=declared.width**2 / 4, advice=advice)


@claim("sensitivity-median")
def median(declared: Range, neighbors: Neighbors) -> Sensitivity:
    """The lower median can jump from one bound to the other, whatever n is."""
    low, high, n = declared.low, declared.high, declared.people
    if neighbors is Neighbors.REPLACE:
        lows = (n + 1) // 2
        witness = ((low,) * lows + (high,) * (n - lows), (low,) * (lows - 1) + (high,) * (n - lows + 1))
    elif n % 2:
        witness = (((low,) * (n // 2) + (high,) * (n - n // 2)), ((low,) * (n // 2 + 1) + (high,) * (n - n // 2)))
    else:
        witness = (((low,) * (n // 2) + (high,) * (n // 2)), ((low,) * (n // 2) + (high,) * (n // 2 + 1)))
    advice = "choose a value near the median with the exponential mechanism: its error is in ranks, not in values"
    return Sensitivity(statistic="median", bound=declared.width, witness=witness, largest=declared.width, advice=advice)


@claim("sensitivity-max")
def maximum(declared: Range, neighbors: Neighbors) -> Sensitivity:
    """The oldest patient: one person decides."""
    low, high, n = declared.low, declared.high, declared.people
    before = (low,) * n
    after = (*before, high) if neighbors is Neighbors.ADD_REMOVE else (*before[1:], high)
    advice = "ask for a high quantile (say 0.99) with the exponential mechanism"
    return Sensitivity(
        statistic="max", bound=declared.width, witness=(before, after), largest=declared.width, advice=advice
    )


STATISTICS = (count, clamped_sum, mean, variance, median, maximum)
