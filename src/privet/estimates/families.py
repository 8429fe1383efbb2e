"""Which quantiles of the same numbers are chosen one inside the other: where they are then expected to err less.

The number of quantiles, the range, the limits and the price decide, never data. Just inside the edge of a value that
many rows share, quantiles that are chosen apart are nearer; where ranks are hardly known at all, draws from a short
range that are put in order are better than pieces of pieces. So a clear gain is asked for.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from privet.core.families import Shares, middle, nodes
from privet.core.measures import Measure, Role
from privet.core.parts import Gauge
from privet.core.ranks import FEW
from privet.estimates.levels import Group
from privet.estimates.priced import Outline, Priced
from privet.estimates.split import variance

GAIN = 1.4  # how much larger errors must be otherwise
MOST = 99  # quantiles in one family: the gate checks no more
UNSURE = 100  # rows: in a short range, ranks that are off by more are hardly known
MOST_PARTS = 2**20  # of a row: the sampler takes few more
MOST_VALUES = 2**45  # the sampler takes few more, with a place for each row


def with_families(read: Outline, gauge: Gauge, epsilon: Fraction | None) -> Outline:
    """The same answers, with one measure for the values of such quantiles. `epsilon` is that of the whole question."""
    found: dict[Measure, list[Fraction]] = defaultdict(list)
    for measure in read.measures:
        if measure.role is Role.QUANTILE and measure.end is None and measure.quantile is not None:
            found[replace(measure, quantile=None)].append(measure.quantile)
    for alike, quantiles in found.items():
        family = _family(alike, tuple(sorted(quantiles)))
        if _errs_less(read, family, gauge, epsilon):
            read = _together(read, family)
    return read


def has_families(read: Outline) -> bool:
    return any(measure.quantiles for measure in read.measures)


def _family(alike: Measure, quantiles: Shares) -> Measure:
    return replace(alike, quantile=quantiles[middle(quantiles)], quantiles=quantiles)


def _errs_less(read: Outline, family: Measure, gauge: Gauge, epsilon: Fraction | None) -> bool:
    number, setting = len(family.quantiles), read.setting()
    if not 3 <= number <= MOST or family.high - family.low > MOST_VALUES:
        return False
    if max(node.sought.denominator for node in nodes(family.quantiles)) > MOST_PARTS:
        return False
    alone = [replace(family, quantile=one, quantiles=()) for one in family.quantiles]
    roots = [variance(one, setting, gauge) ** (1 / 3 if gauge is Gauge.EPSILON else 1 / 2) for one in alone]
    apart = math.fsum(roots) ** (3 if gauge is Gauge.EPSILON else 2) / number
    inside = variance(family, setting, gauge)
    if gauge is Gauge.EPSILON and epsilon is not None and family.high - family.low < FEW:
        off = math.sqrt(inside) * setting.bounds.rows / float(epsilon)
        if off > UNSURE:
            return False
    return apart > GAIN**2 * inside


def _together(read: Outline, family: Measure) -> Outline:
    """In the place of the first one."""
    members = {replace(family, quantile=one, quantiles=()) for one in family.quantiles}
    kept = [measure for measure in read.measures if measure not in members]
    first = next(place for place, measure in enumerate(read.measures) if measure in members)
    at = sum(measure not in members for measure in read.measures[:first])
    measures = (*kept[:at], family, *kept[at:])
    place = {measure: number for number, measure in enumerate(measures)} | dict.fromkeys(members, at)
    last = len(measures)  # the keys
    recipes = tuple(
        replace(
            recipe,
            measures=tuple(place[read.measures[one]] if one < len(read.measures) else last for one in recipe.measures),
        )
        for recipe in read.recipes
    )
    return replace(read, measures=measures, recipes=recipes)


def nested_numbers(
    asked: Priced, noisy: Sequence[Sequence[int]], groups: Sequence[Group]
) -> list[dict[tuple[int, Fraction], int]]:
    """For every row the quantiles that were chosen one inside the other, by the place of their part and their share of
    the rows: a vector has a stretch of cells for each quantile. A row is one cell."""
    found: list[dict[tuple[int, Fraction], int]] = [{} for _ in groups]
    for place, (part, vector) in enumerate(zip(asked.parts, noisy, strict=True)):
        for number, share in enumerate(part.measure.quantiles):
            start = number * (len(vector) // len(part.measure.quantiles))
            for row, group in zip(found, groups, strict=True):
                row[place, share] = sum(vector[start + cell] for cell in group.cells)
    return found
