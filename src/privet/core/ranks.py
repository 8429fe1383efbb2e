"""Quantiles, MIN and MAX by rank: how bad a value is, how far one unit can move that, and what a choice costs.

For a quantile a/b of n rows the loss of a value v is, in b-ths of a row,

    loss(v) = max(b * #{x < v} - t, t - b * #{x <= v})    with t = a * n:

how far its rank is off, and below 0 if v is the quantile and stays it when rows change. MIN and MAX aim m rows inside,
where m follows from the price, so that it is not one person's value that is sought; and at the middle, where there are
fewer than 2 * m rows. They count in half rows: b = 2 with t = min(2 * m, n) and t = 2 * n - min(2 * m, n).

An end of an interval is chosen in the same way, among the rows and w more that are thought to lie at the low or the
high end of the range; w follows from the range and the price. The low end of a quantile has t = a * n with w rows more
at the bottom: it seeks the rank a/b * n - w. The high end has t = a * n + b * w with w rows more at the top. MIN with
an interval has t = 2 * m with m rows more at the top, MAX has t = 2 * n with m rows more at the bottom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privet.core.claim import claim
from privet.core.laws import Choice
from privet.core.loss import Loss
from privet.core.measures import End, Measure, Role
from privet.core.sensitivity import Bounds, Sensitivity, sensitivity

SURE = Fraction(95, 100)  # that an interval holds
EACH_END = 1 - (1 - SURE) / 2
MOST_BEYOND = 2**38  # rows that are thought to lie at an end of the range
HALVES = 2  # parts of a row
FEW = 2**16  # values that are listed one by one
DIGITS = 48  # binary digits of a root below its own size


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """A loss in parts of `unit`, least where the rank is `target`, among the rows and some more at the range's ends."""

    unit: int
    target: int
    below: int = 0
    above: int = 0


def rank(measure: Measure, law: Choice, rows: int) -> Rank:
    """The rank that a measure seeks. The number of rows is private; it decides the target and nothing else."""
    unit, beyond, high = parts_of_a_row(measure), rows_beyond(measure, law), measure.end is End.HIGH
    if measure.quantile is not None:
        target = measure.quantile.numerator * rows
    else:
        inside = 0 if measure.end else min(unit * rows_off(measure, law, SURE), rows)
        target = inside if measure.role is Role.MIN else unit * rows - inside
    return Rank(unit=unit, target=target + unit * beyond * high, below=beyond * (not high), above=beyond * high)


@claim("rank-interval")
def rows_beyond(measure: Measure, law: Choice) -> int:
    """How many rows an end of an interval keeps from the exact rank: those that it may be off, and of a quantile one
    more, so that the interval holds between two ranks as well. What is no end keeps none."""
    if measure.quantile is None:
        return rows_off(measure, law, SURE) if measure.end else 0
    return rows_off(measure, law, EACH_END) + 1 if measure.end else 0


def parts_of_a_row(measure: Measure) -> int:
    """In which a loss is counted."""
    return HALVES if measure.quantile is None else measure.quantile.denominator


@claim("rank-loss")
def rank_sensitivity(measure: Measure, cells: int | None, bounds: Bounds) -> Sensitivity:
    """How far one unit can move the losses of all values, cell by cell.

    A row more moves b * #{x < v} - t by b - a if it lies below v and by -a otherwise; t - b * #{x <= v} likewise: a
    row counts like a number from -min(a, b - a) to max(a, b - a). For MIN and MAX the target moves by at most 1 with a
    row, and not against it: like a number from 0 to 2. Rows that are thought to lie at an end move nothing.
    """
    b = parts_of_a_row(measure)
    a = b if measure.quantile is None else measure.quantile.numerator
    return sensitivity(-min(a, b - a), max(a, b - a), cells, bounds)


@claim("rank-price")
def choice_for(epsilon: Fraction, far: Sensitivity, measure: Measure) -> tuple[Choice, Loss]:
    """A loss that moves by d in a cell costs 2 * rate * d there, and so in sum.

    Among few values by permute-and-flip, which is (2 * rate * d)**2 / 2 in zCDP like everything that has a pure price;
    otherwise by the exponential mechanism, a choice of bounded range, which is a quarter of that.
    """
    law = Choice(epsilon / (2 * far.l1), flip=measure.high - measure.low < FEW)
    return law, Loss(epsilon=epsilon, rho=law.rate**2 * far.l2_squared * (2 if law.flip else Fraction(1, 2)))


@claim("rank-price")
def choice_for_rho(rho: Fraction, far: Sensitivity) -> tuple[Choice, Loss]:
    """The same at a price in zCDP; the rate is rounded down."""
    law = Choice(root_below(2 * rho / far.l2_squared))
    return law, Loss(epsilon=2 * law.rate * far.l1, rho=rho)


def root_below(square: Fraction) -> Fraction:
    """The square root, rounded down, however small it is."""
    scale = 1 << (DIGITS + max(0, square.denominator.bit_length() - square.numerator.bit_length()))
    return Fraction(math.isqrt(math.floor(square * scale**2)), scale)


def rows_off(measure: Measure, law: Choice, share: Fraction) -> int:
    """With probability `share` the rank of the chosen value is off by at most so many rows.

    Of N values, those with a loss above L have together at most N * exp(-rate * L) times the chance of the best.
    """
    values = measure.high - measure.low + 1
    unit = parts_of_a_row(measure)
    return math.ceil((math.log(values) - math.log(1 - share)) / float(law.rate) / unit * (1 + 1e-9))
