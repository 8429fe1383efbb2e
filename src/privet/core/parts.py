"""From a plan to what is released: for every part a vector of whole numbers, its noise and its price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import assert_never

from privet.core.claim import claim
from privet.core.contribution import Bounds, Reach, reach
from privet.core.expression import Case, Expression, Literal, Not
from privet.core.laws import DiscreteGaussian, DiscreteLaplace
from privet.core.loss import Loss, pure, sequential, zcdp
from privet.core.mechanisms import gaussian_for_rho, laplace_for
from privet.core.plan import Aggregate, Function, Plan
from privet.core.ranges import shape_of
from privet.core.shape import Form, Shape, Shapes
from privet.errors import RefusedQueryError

WIDEST = 2**50  # the sampler's limit for a scale


class Role(StrEnum):
    COUNT = "count"
    SUM = "sum"


Law = DiscreteLaplace | DiscreteGaussian


class Gauge(StrEnum):
    """What a price is given in: pure epsilon is paid with Laplace noise, rho with Gaussian noise."""

    EPSILON = "epsilon"
    RHO = "rho"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One number a cell: the sum over rows of (value in steps - center), a NULL adding 0; or a count of rows.

    A count has no value if it counts every row; otherwise it counts where the value is not NULL.
    """

    role: Role
    value: Expression | None
    center: int = 0
    low: int = 0
    high: int = 1
    step: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A measure with its reach, its noise and its price."""

    measure: Measure
    reach: Reach
    law: Law
    loss: Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Which measures an aggregate is made of, by number: one, or for an average a centered sum and a count."""

    aggregate: Aggregate
    measure: int
    count: int | None = None


def measures_of(plan: Plan, columns: Shapes) -> tuple[tuple[Measure, ...], tuple[Recipe, ...]]:
    """The fewest measures that give all aggregates; equal ones are released once."""
    found: dict[Measure, int] = {}

    def number(measure: Measure) -> int:
        return found.setdefault(measure, len(found))

    recipes = []
    for aggregate in plan.aggregates:
        match aggregate.function:
            case Function.COUNT:
                recipes.append(Recipe(aggregate=aggregate, measure=number(_count(aggregate.value, columns))))
            case Function.SUM:
                recipes.append(Recipe(aggregate=aggregate, measure=number(_sum(aggregate, columns, centered=False))))
            case Function.AVG:
                total = _sum(aggregate, columns, centered=True)
                count = number(_count(aggregate.value, columns))
                recipes.append(Recipe(aggregate=aggregate, measure=number(total), count=count))
            case _:
                assert_never(aggregate.function)
    return tuple(found), tuple(recipes)


def _count(value: Expression | None, columns: Shapes) -> Measure:
    """A value that is always there is counted with its row."""
    if value is not None and not shape_of(value, columns).null:
        value = None
    return Measure(role=Role.COUNT, value=value)


def _sum(aggregate: Aggregate, columns: Shapes, *, centered: bool) -> Measure:
    """Centering halves what one row can add; the center is public, so it can be put back."""
    value, shape = _number(aggregate, columns)
    center = (shape.low + shape.high) // 2 if centered else 0
    return Measure(
        role=Role.SUM,
        value=value,
        center=center,
        low=shape.low - center,
        high=shape.high - center,
        step=shape.step,
    )


def _number(aggregate: Aggregate, columns: Shapes) -> tuple[Expression, Shape]:
    """The summed expression as a number; true is 1 and false is 0."""
    value = aggregate.value
    shape = None if value is None else shape_of(value, columns)
    if value is not None and shape is not None and shape.form is Form.TRUTH:
        value = Case(((value, Literal(Fraction(1))), (Not(value), Literal(Fraction(0)))), Literal(None))
        shape = shape_of(value, columns)
    if value is None or shape is None or shape.form is not Form.NUMBER:
        raise RefusedQueryError(
            f"{aggregate.function} needs a number", "give a number or boolean column, or an expression of them"
        )
    return value, shape


@claim("parts-price")
def priced(
    measures: Sequence[Measure], cells: int, bounds: Bounds, gauge: Gauge, shares: Sequence[Fraction]
) -> tuple[Part, ...]:
    """Every measure with noise for its share of the price."""
    return tuple(
        _part(measure, reach(measure.low, measure.high, cells, bounds), gauge, share)
        for measure, share in zip(measures, shares, strict=True)
    )


def _part(measure: Measure, far: Reach, gauge: Gauge, share: Fraction) -> Part:
    law: Law
    if gauge is Gauge.EPSILON:
        law, loss = laplace_for(share, far.l1), pure(share)
        wide = law.scale >= WIDEST
    else:
        law, loss = gaussian_for_rho(share, far.l2_squared), zcdp(share)
        wide = law.variance >= WIDEST**2
    if wide:
        raise RefusedQueryError(
            "the noise would be wider than 2**50 steps",
            "declare a coarser step or a narrower range for the column, or pay more",
        )
    return Part(measure=measure, reach=far, law=law, loss=loss)


def total_loss(parts: Sequence[Part]) -> Loss:
    """What the whole release costs: the parts one after the other."""
    return sequential([part.loss for part in parts])
