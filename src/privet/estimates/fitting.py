"""Limits that a question chooses itself: which can come out, what choosing costs, and which fit a noisy histogram.

A part of the price buys a histogram of how many rows each unit has; the rest buys the answer, with the limits that err
least by it. Whether that is worth its price is decided by declarations and the kind of price alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from privet.core.accountant import Budget
from privet.core.claim import claim
from privet.core.laws import DiscreteLaplace
from privet.core.loss import Loss, parallel, sequential
from privet.core.measures import Measure, Role
from privet.core.parts import Gauge, Part, Setting, priced, sensitivity_of
from privet.core.ranks import SURE
from privet.core.rational import positive
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.estimates.accuracy import half_width
from privet.estimates.priced import Outline, Priced, limited
from privet.estimates.pricing import ALIKE, Price, ask

CHOOSING = Fraction(1, 4)  # of the price
FEWEST_GROUPS, FEWEST_ROWS = 4, 8  # with fewer, a choice errs more than it spares
MANY_GROUPS, SEEN, SEEN_OF_MANY = 16, 1.5, 2.5  # a bin below so many scales of its noise counts as empty
MOST_WAYS = 8
UNITS_IN_BINS = Measure(role=Role.PEOPLE, value=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The limit that came out, of `what` (rows, or groups) of a unit; the declared one; what choosing cost; and which
    share of what the declared limit keeps is beyond it at most, with probability 95 %. No interval accounts for it."""

    what: str
    limit: int
    declared: int
    epsilon: Fraction
    dropped: Fraction

    def to_json(self) -> dict[str, str | int | float]:
        return {
            "what": self.what,
            "limit": self.limit,
            "declared": self.declared,
            "epsilon": float(self.epsilon),
            "dropped": float(self.dropped),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """A histogram of what counts of a unit (rows, or groups if only units are counted), with at most `rows` of a group;
    and the question at the rest of its price with every limit that may come out, in `limits`. The last one is what was
    declared. `declared` is the question with it at the whole price."""

    histogram: Part
    bins: int
    rows: int
    limits: tuple[int, ...]
    ways: tuple[Priced, ...]
    declared: Priced

    @property
    def loss(self) -> Loss:
        """The histogram's price, and the largest of all ways."""
        return sequential([self.histogram.loss, parallel([way.loss for way in self.ways])])

    @property
    def what(self) -> str:
        return "group" if _of_units(self.declared) else "row"

    @property
    def share(self) -> Fraction:
        """What choosing costs."""
        return self.histogram.loss.epsilon or Fraction(0)

    def error(self, place: int) -> float:
        """How far off the answer is with the limit at this place, if nothing is beyond it: 1 is without a choice."""
        return math.sqrt(squared_error(self.ways[place]) / squared_error(self.declared))

    def pick(self, noisy: Sequence[Sequence[int]]) -> int:
        """The place of the limit with the least squared error of a group: that of the noise, and that of all rows
        beyond it if they lie in one group. Each counts as a row with the largest value."""
        groups, (vector,) = self.declared.cells.count, noisy
        errors = [
            squared_error(way) + float(self._beyond(vector, limit)) ** 2 / groups
            for limit, way in zip(self.limits, self.ways, strict=True)
        ]
        return errors.index(min(errors))

    def fitted(self, noisy: Sequence[Sequence[int]], place: int) -> Fitted:
        """What is said of the limit at this place."""
        (vector,), limit = noisy, self.limits[place]
        return Fitted(
            what=self.what,
            limit=limit,
            declared=self.limits[-1],
            epsilon=self.share,
            dropped=self._most_dropped(vector, limit),
        )

    @claim("dropped-share")
    def _most_dropped(self, vector: Sequence[int], limit: int) -> Fraction:
        """The largest share of what counts of all units that may be above the limit, with the usual probability: each
        bin is off by at most its half width."""
        law = self.histogram.law
        assert isinstance(law, DiscreteLaplace)  # noqa: S101  as `fitting` made it
        off = half_width(law, 1 - (1 - SURE) / self.bins)
        beyond, kept = 0, 0
        for count, (below, up) in zip(vector, self._ends(), strict=True):
            beyond += max(count + off, 0) * max(up - limit, 0)
            kept += max(count - off, 0) * min(below + 1, limit)
        return Fraction(beyond, beyond + kept) if beyond else Fraction(0)

    def _ends(self) -> list[tuple[int, int]]:
        """Each bin has the units of which more than the first number count, and at most the second."""
        return list(pairwise([0, *(2**place for place in range(self.bins - 1)), self.limits[-1]]))

    def _beyond(self, vector: Sequence[int], limit: int) -> Fraction:
        """About how many rows of all units are above the limit. A bin counts with its middle."""
        law, most = self.histogram.law, self.limits[-1]
        assert isinstance(law, DiscreteLaplace)  # noqa: S101  as `fitting` made it
        least = law.scale * Fraction(SEEN if self.declared.cells.count < MANY_GROUPS else SEEN_OF_MANY)
        found = Fraction(0)
        for count, (below, up) in zip(vector, self._ends(), strict=True):
            middle = Fraction(below + 1 + up, 2) if up < most else Fraction(most)
            found += max(middle - limit, Fraction(0)) * count if count > least else 0
        return found


def obstacle(read: Outline, price: Price, *, people: bool = True) -> str:
    """Why this question keeps its declared limits, and spends nothing on choosing; empty if it chooses them."""
    if not people:
        return "each row is a unit"
    if price.epsilon is None or price.delta is not None:
        return "only a price in epsilon without a delta can choose limits"
    if read.cells.private:
        return "its groups are not public"
    if most_of(read) < FEWEST_ROWS:
        return f"at most {FEWEST_ROWS - 1} of a unit count anyway"
    if read.cells.count < FEWEST_GROUPS:
        return f"it has fewer than {FEWEST_GROUPS} groups, where choosing costs more than it saves"
    return ""


def is_open(read: Outline) -> bool:
    """Whether the question could choose its limits, at a price in epsilon alone."""
    return not obstacle(read, Price(epsilon=1))


def fitting(read: Outline, budget: Budget, price: Price) -> Fitting:
    """All that can come out, each at its price."""
    epsilon = positive(price.epsilon, "epsilon")
    rest, most = replace(price, epsilon=epsilon * (1 - CHOOSING)), most_of(read)
    bins = (most - 1).bit_length() + 1
    limits = (*(2**place for place in range(0, bins - 1, math.ceil((bins - 1) / (MOST_WAYS - 1)))), most)
    one = Bounds(groups=1, rows=1, neighbors=read.bounds.neighbors)
    setting = Setting(cells=bins, bounds=one)
    (histogram,) = priced([UNITS_IN_BINS], setting, Gauge.EPSILON, [epsilon * CHOOSING])
    bounds = [*(_within(read, limit) for limit in limits[:-1]), read.bounds]
    return Fitting(
        histogram=histogram,
        bins=bins,
        rows=1 if _of_units(read) else read.bounds.rows,
        limits=limits,
        ways=tuple(ask(limited(read, one), budget, rest, allowed=ALIKE) for one in bounds),
        declared=ask(read, budget, price, allowed=ALIKE),
    )


def most_of(read: Outline) -> int:
    """How many rows of a unit count at most, or in how many groups it counts if only units are counted."""
    bounds, groups = read.bounds, min(read.bounds.groups, read.cells.count)
    most = groups if _of_units(read) else groups * bounds.rows
    return min(most, bounds.in_all or most)


def squared_error(way: Priced) -> float:
    """Of the noise on one group, in rows with the largest value, on average over the measures."""
    setting = Setting(cells=way.cells.count, bounds=Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE))
    scales = [
        part.sensitivity.l1 / (sensitivity_of(part.measure, setting).l1 * part.loss.epsilon)
        for part in way.parts
        if part.loss.epsilon
    ]
    return 2 * math.fsum(float(scale) ** 2 for scale in scales) / len(scales)


def _of_units(read: Outline) -> bool:
    return all(measure.role is Role.PEOPLE for measure in read.measures)


def _within(read: Outline, limit: int) -> Bounds:
    bounds = replace(read.bounds, groups=min(read.bounds.groups, limit))
    return bounds if _of_units(read) else replace(bounds, rows=min(bounds.rows, limit), in_all=limit)
