"""The nearest table without negative numbers whose parts add up, and its rounding.

A forest has numbers at its leaves and, at every other node, a number that the sum of its children should be. Every
number counts alike: a total is then hardly moved by noise that was cut off from many small parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from privet.core.claim import claim

Point = tuple[Fraction, Fraction]  # a price of one more, and how much a node then takes
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """Nodes by number. Parents come after their children; `parents` has None for a root."""

    values: tuple[Fraction, ...]
    parents: tuple[int | None, ...]

    def children(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.values]
        for node, parent in enumerate(self.parents):
            if parent is not None:
                found[parent].append(node)
        return found


@dataclass(frozen=True, slots=True)
class _Supply:
    """How much a node takes at every price: 0 below the first point, straight lines between points, and `slope` after
    the last. It grows."""

    points: tuple[Point, ...]
    slope: Fraction

    def at(self, price: Fraction) -> Fraction:
        last = self.points[0]
        if price <= last[0]:
            return ZERO
        for point in self.points[1:]:
            if price <= point[0]:
                return last[1] + (price - last[0]) * (point[1] - last[1]) / (point[0] - last[0])
            last = point
        return last[1] + (price - last[0]) * self.slope

    def inner_price(self, value: Fraction, price: Fraction) -> Fraction:
        """The price x for the children of a node of this value: x + at(x) - value = price."""
        last = self.points[0]
        if last[0] - value >= price:
            return price + value
        for point in self.points[1:]:
            if point[0] + point[1] - value >= price:
                rise = (point[1] - last[1]) / (point[0] - last[0])
                return last[0] + (price - last[0] - last[1] + value) / (1 + rise)
            last = point
        return last[0] + (price - last[0] - last[1] + value) / (1 + self.slope)


@claim("projection")
def projected(forest: Forest) -> list[Fraction]:
    """The nearest table with parts that add up and no negative number."""
    children = forest.children()
    below: list[_Supply | None] = [None] * len(children)  # what the children of a node take together
    supplies: list[_Supply] = []
    for node, parts in enumerate(children):
        if not parts:
            supplies.append(_Supply(((-forest.values[node], ZERO),), ONE))
            continue
        inner = _together([supplies[part] for part in parts])
        below[node] = inner
        supplies.append(_with_own(inner, forest.values[node]))
    prices, found = [ZERO] * len(children), [ZERO] * len(children)
    for node in reversed(range(len(children))):
        shared = below[node]
        if shared is None:
            found[node] = supplies[node].at(prices[node])
            continue
        inside = shared.inner_price(forest.values[node], prices[node])
        found[node] = shared.at(inside)
        for part in children[node]:
            prices[part] = inside
    return found


def _together(supplies: Sequence[_Supply]) -> _Supply:
    """The sum, point by point: between two prices the slopes of all lines add up."""
    turns: dict[Fraction, Fraction] = {}
    for supply in supplies:
        slope = ZERO
        for (price, amount), (later, more) in pairwise(supply.points):
            rise = (more - amount) / (later - price)
            turns[price] = turns.get(price, ZERO) + rise - slope
            slope = rise
        last = supply.points[-1][0]
        turns[last] = turns.get(last, ZERO) + supply.slope - slope
    points: list[Point] = []
    amount, slope = ZERO, ZERO
    for price in sorted(turns):
        if points:
            amount += slope * (price - points[-1][0])
        points.append((price, amount))
        slope += turns[price]
    return _Supply(tuple(points), slope)


def _with_own(inner: _Supply, value: Fraction) -> _Supply:
    """A node pays its children's price and for its own distance."""
    points = tuple((price + amount - value, amount) for price, amount in inner.points)
    return _Supply(points, inner.slope / (1 + inner.slope))


@claim("projection")
def rounded(values: Sequence[Fraction], parents: Sequence[int | None], step: Fraction) -> list[Fraction]:
    """Multiples of the step, less than one away, that add up as the values do: from the top down, what is left goes to
    the largest remainders."""
    forest = Forest(values=tuple(values), parents=tuple(parents))
    whole = [math.floor(value / step + Fraction(1, 2)) for value in values]
    children = forest.children()
    for node in reversed(range(len(whole))):
        parts = children[node]
        if not parts:
            continue
        rests = {part: values[part] / step - math.floor(values[part] / step) for part in parts}
        for part in parts:
            whole[part] = math.floor(values[part] / step)
        left = whole[node] - sum(whole[part] for part in parts)
        for part in sorted(parts, key=lambda part: -rests[part])[:left]:
            whole[part] += 1
    return [number * step for number in whole]
