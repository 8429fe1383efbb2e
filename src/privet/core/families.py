"""Several quantiles of the same numbers, one inside the other: what each of them seeks, what that costs, how it errs.

The middle one is chosen first, among all rows. It cuts them in two pieces; in each piece the middle one of the
quantiles there is chosen among the rows of the piece, and so on: a level after the other.

    quantiles   1/4   1/2   3/4        level 0: 1/2 of all rows
                                       level 1: 1/2 of the rows on the left of it, 1/2 of those on the right

What a quantile seeks is a share of the rows of its own piece, fixed beforehand. Each row draws a place within its
value, by itself; a choice among values with places also says on which side those rows are that are tied with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from privet.core.claim import claim
from privet.core.laws import Choice, Choices
from privet.core.loss import Loss
from privet.core.measures import Measure
from privet.core.ranks import root_below, rows_off
from privet.core.sensitivity import Bounds, Sensitivity, sensitivity

Shares = tuple[Fraction, ...]
Ends = tuple[Fraction, Fraction]
Errors = Mapping[tuple[int, Fraction], float]  # parts of those of earlier choices, by level and quantile
WHOLE = (Fraction(0), Fraction(1))
PLACES = 2**16  # within a value
FINE = 10_000  # a part of the price has four decimals
NOTHING: Errors = {}


def middle(shares: Shares) -> int:
    """The place of the quantile that is chosen first."""
    return (len(shares) - 1) // 2


def inner(shares: Shares, ends: Ends) -> Fraction:
    """Which share of the rows of its piece that one seeks, if the piece lies between the quantiles `ends`."""
    low, high = ends
    return (shares[middle(shares)] - low) / (high - low)


@dataclass(frozen=True, slots=True)
class Node:
    """One quantile: the level on which it is chosen, the share that it seeks, and by which part of the error of each
    earlier choice its rank is off."""

    level: int
    sought: Fraction
    inherited: Errors


def nodes(shares: Shares) -> Iterator[Node]:
    """All of them."""
    return _nodes(shares, WHOLE, (NOTHING, NOTHING), 0)


def _nodes(shares: Shares, ends: Ends, around: tuple[Errors, Errors], level: int) -> Iterator[Node]:
    """Those of a piece between the quantiles `ends`, which are off as `around` says."""
    if not shares:
        return
    at, sought = middle(shares), inner(shares, ends)
    left, right = around
    inherited = {
        name: float(1 - sought) * left.get(name, 0) + float(sought) * right.get(name, 0) for name in {**left, **right}
    }
    yield Node(level, sought, inherited)
    own = {**inherited, (level, shares[at]): 1.0}
    yield from _nodes(shares[:at], (ends[0], shares[at]), (left, own), level + 1)
    yield from _nodes(shares[at + 1 :], (shares[at], ends[1]), (own, right), level + 1)


@dataclass(frozen=True, slots=True)
class Level:
    """Choices that see disjoint pieces. One row moves a rank by `far` rows at most. `weight` says how much the squared
    errors of all quantiles grow with those of these choices."""

    far: Fraction
    weight: float


@lru_cache(maxsize=256)
def levels_of(shares: Shares) -> tuple[Level, ...]:
    """Level by level, the first one first."""
    found = list(nodes(shares))
    levels = []
    for level in range(max(node.level for node in found) + 1):
        here = [node for node in found if node.level == level]
        inherited = sum(part**2 for node in found for (of, _), part in node.inherited.items() if of == level)
        far = max(max(node.sought, 1 - node.sought) for node in here)
        levels.append(Level(far, len(here) + inherited))
    return tuple(levels)


@claim("nested-quantiles")
def level_sensitivity(far: Fraction, level: int, cells: int | None, bounds: Bounds) -> Sensitivity:
    """How far one unit moves the losses of a level, over all cells and pieces, in parts of a row as many as the
    denominator of `far` says.

    A row is in one piece of its cell at most, so the rows of a unit are as many as they are without pieces; it is
    worst if those of a cell are in one piece. Below the first level the rows of a unit that is replaced can be in
    other pieces than before: as if there were twice as many cells.
    """
    if level and cells is not None:
        bounds, cells = replace(bounds, groups=min(bounds.groups, cells)), 2 * cells
    return sensitivity(far.numerator - far.denominator, far.numerator, cells, bounds)


@claim("nested-quantiles")
def family_for(measure: Measure, price: Fraction, moves: Moves) -> tuple[Choices, Loss]:
    """The choices of all levels for a price in epsilon, or in rho: each one pays for itself."""
    rates: list[Fraction] = []
    epsilon = rho = Fraction(0)
    for level, part in enumerate(_parts(moves.needs)):
        l1, l2_squared = moves.of(level)
        rate = price * part / (2 * l1) if moves.pure else root_below(2 * price * part / l2_squared)
        epsilon, rho = epsilon + 2 * rate * l1, rho + rate**2 * l2_squared / 2
        rates.append(rate)
    first = measure.quantiles[middle(measure.quantiles)]
    law = Choices(rates[0] / first.denominator, rates=tuple(rates))
    return law, Loss(epsilon=epsilon, rho=rho if moves.pure else price)


@dataclass(frozen=True, slots=True)
class Moves:
    """How far one unit moves the ranks of each level of some quantiles; the price is `pure`, in epsilon, or in rho."""

    shares: Shares
    cells: int | None
    bounds: Bounds
    pure: bool

    def of(self, level: int) -> tuple[Fraction, Fraction]:
        """In rows, in sum and in squares, over all cells and pieces."""
        far = levels_of(self.shares)[level].far
        moved = level_sensitivity(far, level, self.cells, self.bounds)
        return Fraction(moved.l1, far.denominator), Fraction(moved.l2_squared, far.denominator**2)

    @property
    def needs(self) -> list[float]:
        """For each level the square root of what it adds to the squared error, or the third root if the price is pure:
        its share should be like that."""
        found = []
        for number, level in enumerate(levels_of(self.shares)):
            l1, l2_squared = self.of(number)
            squared = float(2 * l1) ** 2 if self.pure else float(l2_squared) / 2
            found.append((level.weight * squared) ** (1 / 3 if self.pure else 1 / 2))
        return found

    @property
    def error(self) -> float:
        """The mean squared error of the quantiles at a price of 1, in rows, but for how many values there are."""
        return sum(self.needs) ** (3 if self.pure else 2) / len(self.shares)


def _parts(needs: Sequence[float]) -> list[Fraction]:
    """Of the price."""
    whole = [max(1, round(need / sum(needs) * FINE)) for need in needs]
    return [Fraction(part, sum(whole)) for part in whole]


def off_by(measure: Measure, law: Choice, share: Fraction) -> int:
    """With probability `share` the rank of what is chosen, each quantile by itself, is off by at most so many rows."""
    return _most_off(measure, law, share) if isinstance(law, Choices) else rows_off(measure, law, share)


def _most_off(measure: Measure, law: Choices, share: Fraction) -> int:
    """With probability `share` the rank of each single quantile is off by at most so many rows. (Where 2**16 rows and
    more are tied, by one more for each such number.)

    A choice among N values with places has a loss more than L rows above the least with a probability of at most N *
    PLACES * exp(-rate * L). So its value is off by no more than L, and where it cuts the rows, within a value that many
    share, by no more than 2 * L. What is sought inside is off by a part of how far the ends of the piece are.
    """
    found = list(nodes(measure.quantiles))
    likely = math.log(len(law.rates)) - math.log(1 - share) + math.log(measure.high - measure.low + 1)
    own = [(likely + math.log(PLACES)) / float(rate) for rate in law.rates]
    off = (own[node.level] + sum(part * 2 * own[at] for (at, _), part in node.inherited.items()) for node in found)
    return math.ceil(max(off) * (1 + 1e-9))
