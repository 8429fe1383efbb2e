"""Which sums share one pair of noisy numbers with their count: those for which all answers then err less.

Declarations, limits and the kind of price decide, never data. At a price in rho nothing is gained.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from privet.core.expression import columns_in
from privet.core.measures import Measure, Recipe, Role
from privet.core.parts import Gauge, Setting
from privet.core.plan import Function
from privet.estimates.levels import levels_of
from privet.estimates.priced import Outline
from privet.estimates.split import costs, variance

Listed = tuple[tuple[Measure, ...], tuple[Recipe, ...]]


def with_pairs(read: Outline) -> Outline | None:
    """The same answers with pairs in place of sums and counts; None if there is no such pair, or none errs less.

    `read` has centered sums. Where HAVING tests noisy numbers, intervals need numbers whose noise is independent; and
    counts and sums of several levels must add up exactly, in whole steps.
    """
    names = {key.name for key in read.plan.keys}
    if read.plan.having is not None and not names.issuperset(columns_in(read.plan.having)):
        return None
    if len(levels_of(read.plan)) > 1 or read.plan.totals:
        return None
    chosen = _chosen(read.released, read.recipes, read.setting())
    if not chosen:
        return None
    measures, recipes = _paired(read.measures, read.recipes, chosen)
    return replace(read, measures=measures, recipes=recipes)


def has_pairs(read: Outline) -> bool:
    return any(measure.role is Role.PAIR for measure in read.measures)


def _chosen(measures: Sequence[Measure], recipes: Sequence[Recipe], setting: Setting) -> dict[int, int]:
    """For each count that is in a pair, the place of its sum. What a choice of keys costs is the same either way."""
    alone = costs(measures, recipes, setting, Gauge.EPSILON)
    units = [cost / variance(measure, setting, Gauge.EPSILON) for measure, cost in zip(measures, alone, strict=True)]
    found: dict[int, int] = {}
    for count in dict.fromkeys(count for _, count in _candidates(measures, recipes)):
        gains = {}
        for total in dict.fromkeys(total for total, other in _candidates(measures, recipes) if other == count):
            joint = 2 * (units[total] + units[count]) * variance(pair_of(measures[total]), setting, Gauge.EPSILON)
            gains[total] = math.cbrt(alone[total]) + math.cbrt(alone[count]) - math.cbrt(joint)
        best = max(gains, key=lambda total: gains[total])
        if gains[best] > 0 and best not in found.values():
            found[count] = best
    return found


def _candidates(measures: Sequence[Measure], recipes: Sequence[Recipe]) -> Iterator[tuple[int, int]]:
    """Sums, and the count of the same rows."""
    for recipe in recipes:
        *sums, count = recipe.measures
        if sums and measures[count].role is Role.COUNT:
            yield from ((total, count) for total in sums if measures[total].high > measures[total].low)


def pair_of(total: Measure) -> Measure:
    """The pair that holds a sum and its count."""
    low, width = total.center + total.low, total.high - total.low
    return replace(total, role=Role.PAIR, center=low, low=0, high=width)


def _paired(measures: Sequence[Measure], recipes: Sequence[Recipe], chosen: dict[int, int]) -> Listed:
    """A pair stands where its sum stood. A count, a sum or an average of the pair alone names it once."""
    kept = [place for place in range(len(measures)) if place not in chosen]
    places = {place: number for number, place in enumerate(kept)}
    places |= {count: places[total] for count, total in chosen.items()}
    pairs = set(chosen.values())
    made = []
    for recipe in recipes:
        numbers = tuple(places[place] if place in places else len(kept) for place in recipe.measures)  # or the keys
        single = recipe.aggregate.function in (Function.SUM, Function.AVG) and len(set(numbers)) == 1
        made.append(replace(recipe, measures=numbers[:1] if single else numbers))
    return tuple(pair_of(measures[place]) if place in pairs else measures[place] for place in kept), tuple(made)
