"""Which sums share noisy numbers with their count: those for which all answers then err less.

A pair holds a sum and its count; three squares hold a sum, that of its squares, and their count. Declarations, limits
and the kind of price decide, never data. At a price in rho nothing is gained.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from privet.core.expression import columns_in
from privet.core.measures import Measure, Recipe, Role
from privet.core.parts import Gauge, Setting
from privet.core.plan import Function
from privet.core.shape import LIMIT
from privet.estimates.levels import levels_of
from privet.estimates.moments import SQUARED
from privet.estimates.priced import Outline
from privet.estimates.split import costs, parts_of_squares, variance

Listed = tuple[tuple[Measure, ...], tuple[Recipe, ...]]
Together = tuple[int, ...]  # the place of a sum, and of the sum of its squares if that is held, too


def with_pairs(read: Outline, most: int = 2) -> Outline | None:
    """The same answers with pairs in place of sums and counts, or with squares, too, if a measure may have `most` = 3
    numbers; None if none of the most numbers errs less.

    `read` has centered sums. Where HAVING tests noisy numbers, intervals need numbers whose noise is independent; and
    counts and sums of several levels must add up exactly, in whole steps.
    """
    names = {key.name for key in read.plan.keys}
    if read.plan.having is not None and not names.issuperset(columns_in(read.plan.having)):
        return None
    if len(levels_of(read.plan)) > 1 or read.plan.totals:
        return None
    chosen = _chosen(read, most)
    if max(map(len, chosen.values()), default=0) < most - 1:
        return None
    measures, recipes = _paired(read.measures, read.recipes, chosen)
    return replace(read, measures=measures, recipes=recipes)


def _chosen(read: Outline, most: int) -> dict[int, Together]:
    """For each count that is held, what holds it. What a choice of keys costs is the same either way."""
    measures, recipes, setting = read.released, read.recipes, read.setting()
    alone = costs(measures, recipes, setting, Gauge.EPSILON)
    found: dict[int, Together] = {}
    candidates = list(_candidates(measures, recipes))
    for count in dict.fromkeys(count for _, count in candidates):
        ways = [way for way, other in candidates if other == count and len(way) < most]
        gains = {way: _gain(measures, setting, alone, (*way, count)) for way in dict.fromkeys(ways)}
        best = max(gains, key=lambda way: gains[way], default=())
        if best and gains[best] > 0 and not {*best} & {place for way in found.values() for place in way}:
            found[count] = best
    return found


def _gain(measures: Sequence[Measure], setting: Setting, alone: Sequence[float], held: Sequence[int]) -> float:
    """By how much the cube root of the whole error falls if these measures, the count last, are held together."""
    units = [alone[place] / variance(measures[place], setting, Gauge.EPSILON) for place in held]
    if len(held) == 2:
        joint = 2 * sum(units) * variance(pair_of(measures[held[0]]), setting, Gauge.EPSILON)
    else:
        times = [parts_of_squares(squared=place == 1, counted=place == 2) for place in range(3)]
        weight = math.fsum(more * unit for more, unit in zip(times, units, strict=True))
        joint = weight * variance(squares_of(measures[held[0]]), setting, Gauge.EPSILON)
    return math.fsum(math.cbrt(alone[place]) for place in held) - math.cbrt(joint)


def _candidates(measures: Sequence[Measure], recipes: Sequence[Recipe]) -> Iterator[tuple[Together, int]]:
    """Sums, some with their squares, and the count of the same rows. Squares that are also asked for as a sum, or are
    those of another sum as well, stay by themselves."""
    uses = {(place, _squared_sum(recipe, number)) for recipe in recipes for number, place in enumerate(recipe.measures)}
    for recipe in recipes:
        *sums, count = recipe.measures
        if sums and measures[count].role is Role.COUNT:
            yield from (((total,), count) for total in sums if measures[total].high > measures[total].low)
            for total, square in SQUARED.get(recipe.aggregate.function, ()):
                width = measures[sums[total]].high - measures[sums[total]].low
                fits = width > 1 and width**2 < LIMIT  # the square of 0 or 1 is the value itself
                if fits and {one for place, one in uses if place == sums[square]} == {sums[total]}:
                    yield (sums[total], sums[square]), count


def _squared_sum(recipe: Recipe, number: int) -> int | None:
    """The sum whose squares this number of a recipe is; None if it is no sum of squares."""
    found = {square: recipe.measures[total] for total, square in SQUARED.get(recipe.aggregate.function, ())}
    return found.get(number)


def pair_of(total: Measure) -> Measure:
    """The pair that holds a sum and its count."""
    low, width = total.center + total.low, total.high - total.low
    return replace(total, role=Role.PAIR, center=low, low=0, high=width)


def squares_of(total: Measure) -> Measure:
    """The three numbers that hold a sum, that of the squares and their count."""
    return replace(pair_of(total), role=Role.SQUARES)


def _paired(measures: Sequence[Measure], recipes: Sequence[Recipe], chosen: dict[int, Together]) -> Listed:
    """A pair stands where its sum stood. A count, a sum or an average of the pair alone names it once."""
    gone = {*chosen, *(square for _, *squares in chosen.values() for square in squares)}
    kept = [place for place in range(len(measures)) if place not in gone]
    places = {place: number for number, place in enumerate(kept)}
    places |= {place: places[total] for count, (total, *squares) in chosen.items() for place in (count, *squares)}
    held = {total: squares_of if squares else pair_of for total, *squares in chosen.values()}
    made = []
    for recipe in recipes:
        numbers = tuple(places[place] if place in places else len(kept) for place in recipe.measures)  # or the keys
        single = recipe.aggregate.function in (Function.SUM, Function.AVG) and len(set(numbers)) == 1
        made.append(replace(recipe, measures=numbers[:1] if single else numbers))
    return tuple(held[place](measures[place]) if place in held else measures[place] for place in kept), tuple(made)
