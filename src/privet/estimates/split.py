"""How several noisy numbers share one price: so that the aggregates made of them err least together.

An error counts in units of what one unit can add to a group, squared; an average is thought to lie anywhere in its
range. Only declarations decide, so the split tells nothing. It is a matter of accuracy alone: any split costs the
same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from statistics import NormalDist

from privet.core.families import Moves
from privet.core.laws import DiscreteGaussian, DiscreteLaplace, Top
from privet.core.measures import CHOSEN, KEYS, Measure, Recipe, Role
from privet.core.parts import Gauge, Law, Setting, sensitivity_of
from privet.core.plan import Function
from privet.core.ranks import parts_of_a_row
from privet.core.top import apart, top_for, top_for_rho
from privet.estimates.moments import SQUARED

FINE = 10_000  # a share has four decimals, and more where there are many of them
FEW = 20
END_COUNTS = {Gauge.EPSILON: 1 / 64, Gauge.RHO: 1 / 16}  # gives an end of an interval a quarter of its value's share
KEYS_COUNT = 8.0  # whether a group is shown at all matters more than a count: a threshold is many noises high
REST_COUNTS = 1 / 2  # one row among many
MEAN_SQUARE = 1 / 3  # of a number that lies anywhere between -1 and 1
# Of a variance by three squares: with mean m and variance (1 - m * m) / 3 between -1 and 1, four times the mean of
# ((1 - m)**2 - s)**2 + (1 - m * m + s)**2 + ((1 + m)**2 - s)**2 over all m.
SPREAD = 25.6
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
    weights = [
        _weight_of_keys(setting) if measure is KEYS else REST_COUNTS * measure.rest + (measure.role is Role.TOP)
        for measure in measures
    ]
    once = {  # asked twice, it counts once
        (recipe.aggregate.function, recipe.aggregate.quantile, recipe.measures): recipe for recipe in recipes
    }
    for recipe in once.values():
        for number, weight in zip(recipe.measures, weights_of(recipe, measures, gauge), strict=True):
            weights[number] += weight
    return [weight * variance(measure, setting, gauge) for measure, weight in zip(measures, weights, strict=True)]


def _weight_of_keys(setting: Setting) -> float:
    """Of Gaussian noise a threshold is fewer noises high: with l = log(keys / delta) about sqrt(2 l - log(4 pi l)), and
    l / sqrt(2) of Laplace noise. The weight is of the square."""
    if setting.keys is Gauge.EPSILON:
        return KEYS_COUNT
    assert setting.delta is not None  # noqa: S101  `pricing` asks for it
    far = max(math.log(setting.bounds.groups / setting.delta), 2.0)
    return KEYS_COUNT * (2 * far - math.log(4 * math.pi * far)) / (far**2 / 2)


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


def weights_of(recipe: Recipe, measures: Sequence[Measure], gauge: Gauge) -> Sequence[float]:
    """A number made of a pair has the noise of both: (X - Y) / 2 around the middle of a range, (X + Y) / W of rows. In
    units of half the range and of rows both are twice as large, squared, as one of the pair in units of the range. Of
    squares see `parts_of_squares`."""
    function, used = recipe.aggregate.function, [measures[place] for place in recipe.measures]
    first = used[0]
    if first.numbers > 1 and all(measure is first for measure in used):
        return (_weight_of_one(function, first), *[0.0] * (len(used) - 1))
    each = _weights_apart(recipe, measures, gauge)
    squared = {square for _, square in SQUARED.get(function, ())}
    times = [
        parts_of_squares(place in squared, place == len(used) - 1) if measure.role is Role.SQUARES else measure.numbers
        for place, measure in enumerate(used)
    ]
    return [weight * more for weight, more in zip(each, times, strict=True)]


def parts_of_squares(squared: bool, counted: bool) -> int:
    """With numbers A, B, C of a cell: the rows are A + B + C, the sum around the middle is A - C in units of half the
    range, and that of its squares is A - B + C, which counts in units of half of what a row can add."""
    return 12 if squared else 3 if counted else 2


def _weight_of_one(function: Function, pair: Measure) -> float:
    """Of what is made of one pair, or of squares, alone."""
    if function is Function.SUM:
        ends = [Fraction(pair.center), Fraction(pair.center + pair.high)]
        middle = [sum(ends) / 2] if pair.role is Role.SQUARES else []
        return float(sum(end**2 for end in (*ends, *middle)) / max(abs(end) for end in (*ends, Fraction(1))) ** 2)
    if function is Function.AVG:
        return 2 + pair.numbers * MEAN_SQUARE
    return SPREAD if function in SQUARED else pair.numbers


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
    size = in_units(measure, setting)
    if measure.role is Role.TOP:
        assert setting.limit is not None and setting.cells is not None  # noqa: S101, PT018  an outline with scores has both
        at_one = top_for if gauge is Gauge.EPSILON else top_for_rho
        law, _ = at_one(Fraction(1), apart(measure, setting.bounds), setting.limit)
        return regret(law, setting.cells) / size**2
    if measure.quantiles:  # on average
        rows = math.log(measure.high - measure.low + 2) / setting.bounds.rows
        measured = setting.measured()
        moves = Moves(measure.quantiles, measured.cells, measured.bounds, gauge is Gauge.EPSILON)
        return moves.error * rows**2
    far = sensitivity_of(measure, setting)
    if measure.role in CHOSEN:
        rows = math.log(measure.high - measure.low + 2) / parts_of_a_row(measure) / setting.bounds.rows
        return (2 * far.l1 * rows) ** 2 if gauge is Gauge.EPSILON else far.l2_squared * rows**2 / 2
    if measure.role is Role.KEYS:
        if setting.keys is Gauge.RHO:
            return far.l2_squared / 2
        return float(2 * far.l1**2 if gauge is Gauge.EPSILON else far.l1**2)
    return 2 * (far.l1 / size) ** 2 if gauge is Gauge.EPSILON else far.l2_squared / size**2 / 2


def in_units(measure: Measure, setting: Setting) -> int:
    """What one unit can add to a group, in steps."""
    people = Role.PEOPLE in (measure.role, measure.score)
    return measure.size if people else measure.size * setting.bounds.rows


def regret(law: Law, cells: int) -> float:
    """How much better a cell can be than one that is shown in its stead, squared, in variances of Laplace noise.

    It is the difference d at which a better cell is beaten with probability 1 / (2 * cells): by one of all others,
    about. Permute-and-flip: exp(-rate * d) / 2. The exponential mechanism: 1 / (1 + exp(rate * d)). Gaussian noise on
    both. Laplace noise on both: more than exp(-d / scale) / 2, so measuring all cells seems better than it is.
    """
    tail = math.log(cells)
    match law:
        case DiscreteLaplace():
            return 2 * float(law.scale) ** 2
        case DiscreteGaussian():
            return 4 * float(law.variance) * (NormalDist().inv_cdf(1 - 1 / (2 * cells)) / tail) ** 2
        case Top(flip=True):
            return 2 / float(law.rate) ** 2
        case Top():
            return 2 * (math.log(2 * cells - 1) / tail / float(law.rate)) ** 2
        case _:
            raise TypeError("a choice by rank shows no cell")
