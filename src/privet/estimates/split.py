"""How several noisy numbers share one price: so that the aggregates made of them err least together.

An error counts in units of what one unit can add to a group, squared; an average is thought to lie anywhere in its
range. Only declarations decide, so the split tells nothing. It is a matter of accuracy alone: any split costs the
same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from privet.core.families import Moves
from privet.core.measures import CHOSEN, KEYS, Measure, Recipe, Role
from privet.core.parts import Gauge, Setting, sensitivity_of
from privet.core.plan import Function
from privet.core.ranks import parts_of_a_row

FINE = 10_000  # a share has four decimals, and more where there are many of them
FEW = 20
END_COUNTS = {Gauge.EPSILON: 1 / 64, Gauge.RHO: 1 / 16}  # gives an end of an interval a quarter of its value's share
KEYS_COUNT = 8.0  # whether a group is shown at all matters more than a count: a threshold is many noises high
MEAN_SQUARE = 1 / 3  # of a number that lies anywhere between -1 and 1
MOMENTS: Mapping[Function, tuple[float, ...]] = {  # weights of the measures of a recipe, in its order
    Function.AVG: (1, MEAN_SQUARE),
    **dict.fromkeys(
        (Function.VAR_POP, Function.VAR_SAMP, Function.STDDEV_POP, Function.STDDEV_SAMP),
        (16 * MEAN_SQUARE, 1, 4 * MEAN_SQUARE),
    ),
    **dict.fromkeys((Function.COVAR_POP, Function.COVAR_SAMP), (MEAN_SQUARE, MEAN_SQUARE, 1, MEAN_SQUARE)),
    Function.CORR: (MEAN_SQUARE, MEAN_SQUARE, 1, 1 / 4, 1 / 4, MEAN_SQUARE),
}


def costs(measures: Sequence[Measure], recipes: Sequence[Recipe], setting: Setting, gauge: Gauge) -> list[float]:
    """For each measure, its part in the squared error of all aggregates, at a price of 1."""
    weights = [KEYS_COUNT if measure is KEYS else 0.0 for measure in measures]
    once = {  # asked twice, it counts once
        (recipe.aggregate.function, recipe.aggregate.quantile, recipe.measures): recipe for recipe in recipes
    }
    for recipe in once.values():
        for number, weight in zip(recipe.measures, _weights(recipe, measures, gauge), strict=True):
            weights[number] += weight
    return [weight * variance(measure, setting, gauge) for measure, weight in zip(measures, weights, strict=True)]


def error(found: Sequence[float], gauge: Gauge, price: Fraction) -> float:
    """The squared error of all aggregates together, with the best shares."""
    if gauge is Gauge.EPSILON:
        return math.fsum(map(math.cbrt, found)) ** 3 / float(price) ** 2
    return math.fsum(map(math.sqrt, found)) ** 2 / float(price)


def shares(found: Sequence[float], gauge: Gauge) -> list[Fraction]:
    """Parts of 1, above 0: noise falls with the square of an epsilon, and with a rho itself."""
    roots = [math.cbrt(cost) if gauge is Gauge.EPSILON else math.sqrt(cost) for cost in found]
    if max(roots) <= min(roots) * (1 + 1e-9):
        return [Fraction(1, len(roots))] * len(roots)
    fine = FINE if len(roots) <= FEW else FINE * len(roots)
    ideal = [max(1.0, root / math.fsum(roots) * fine) for root in roots]
    parts = [math.floor(part) for part in ideal]
    by_rest = sorted(range(len(parts)), key=lambda place: parts[place] - ideal[place])
    for place in by_rest[: max(fine - sum(parts), 0)]:
        parts[place] += 1
    return [Fraction(part, sum(parts)) for part in parts]


def _weights(recipe: Recipe, measures: Sequence[Measure], gauge: Gauge) -> Sequence[float]:
    """A number made of a pair has the noise of both: (X - Y) / 2 around the middle of a range, (X + Y) / W of rows. In
    units of half the range and of rows both are twice as large, squared, as one of the pair in units of the range."""
    function, used = recipe.aggregate.function, [measures[place] for place in recipe.measures]
    pairs = [measure.role is Role.PAIR for measure in used]
    if pairs == [True]:
        return (_weight_of_pair(function, used[0]),)
    each = _weights_apart(recipe, measures, gauge)
    return [2 * weight if pair else weight for weight, pair in zip(each, pairs, strict=True)]


def _weight_of_pair(function: Function, pair: Measure) -> float:
    """Of a count, a sum or an average that is made of a pair alone."""
    if function is Function.SUM:
        low, high = pair.center, pair.center + pair.high
        return (low**2 + high**2) / max(abs(low), abs(high)) ** 2
    return 2 * (1 + MEAN_SQUARE) if function is Function.AVG else 2


def _weights_apart(recipe: Recipe, measures: Sequence[Measure], gauge: Gauge) -> Sequence[float]:
    function = recipe.aggregate.function
    if function is Function.QUANTILE and len(recipe.measures) > 1:
        return 1, END_COUNTS[gauge], END_COUNTS[gauge]
    if function is Function.SUM and len(recipe.measures) > 1:  # in units of what a row can add to the sum itself
        centered = measures[recipe.measures[0]]
        most = max(abs(centered.low + centered.center), abs(centered.high + centered.center), 1)  # 0 if always 0
        return (centered.size / most) ** 2, (centered.center / most) ** 2
    return MOMENTS.get(function, (1,))


def variance(measure: Measure, setting: Setting, gauge: Gauge) -> float:
    """Of the noise at a price of 1, in units of what a unit can add to a group; a rank that is off counts as rows."""
    far, size = sensitivity_of(measure, setting), measure.size
    if measure.role is not Role.PEOPLE:
        size *= setting.bounds.rows
    if measure.quantiles:  # on average
        rows = math.log(measure.high - measure.low + 2) / setting.bounds.rows
        moves = Moves(measure.quantiles, setting.cells, setting.bounds, gauge is Gauge.EPSILON)
        return moves.error * rows**2
    if measure.role in CHOSEN:
        rows = math.log(measure.high - measure.low + 2) / parts_of_a_row(measure) / setting.bounds.rows
        return (2 * far.l1 * rows) ** 2 if gauge is Gauge.EPSILON else far.l2_squared * rows**2 / 2
    if measure.role is Role.KEYS:
        return float(2 * far.l1**2 if gauge is Gauge.EPSILON else far.l1**2)
    return 2 * (far.l1 / size) ** 2 if gauge is Gauge.EPSILON else far.l2_squared / size**2 / 2
