"""Published numbers made fit to print: never below 0, whole, and parts that add up to their totals.

Nothing but released numbers is used here, so it is post-processing: it costs nothing and tells nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from privet.core.claim import claim
from privet.core.measures import Measure, Recipe
from privet.core.plan import Function, Plan
from privet.errors import InvalidInputError
from privet.estimates.levels import Group, levels_of
from privet.estimates.moments import ZERO, Estimate
from privet.estimates.projection import Forest, projected, rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """Which wishes printed counts and sums fulfill. `whole` means multiples of the step of what is added up."""

    whole: bool = False
    nonnegative: bool = False
    additive: bool = False


AS_RELEASED = Publication()
AS_PRINTED = Publication(whole=True, nonnegative=True, additive=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What is known of a column of counts or sums beforehand: its step, and whether it can be below 0."""

    step: Fraction
    nonnegative: bool


def printed(recipe: Recipe, measure: Measure) -> Printed:
    """`measure` is the first of the recipe."""
    function = recipe.aggregate.function
    counts, rows = function is not Function.SUM, function in (Function.COUNT, Function.COUNT_DISTINCT)
    return Printed(step=Fraction(1) if rows else measure.step, nonnegative=counts or measure.low + measure.center >= 0)


def check_publication(options: Publication, plan: Plan) -> None:
    levels = sorted(levels_of(plan), key=len)
    if options.additive and not all(set(coarse) < set(fine) for coarse, fine in pairwise(levels)):
        raise InvalidInputError(
            "these totals do not lie inside each other, so parts of one level are not parts of another",
            "give additive=False, or ask for totals that do: GROUP BY ROLLUP (a, b)",
            "contradictory-options",
        )


@claim("publication")
def published(
    options: Publication, column: Printed, rows: Sequence[Group], values: Sequence[Fraction]
) -> list[Fraction]:
    """The numbers to print of one column, in the same order."""
    order = sorted(range(len(rows)), key=lambda row: -len(rows[row].level))
    parents = _parents([rows[row] for row in order]) if options.additive else (None,) * len(order)
    found = [values[row] for row in order]
    if options.nonnegative and column.nonnegative:
        found = projected(Forest(values=tuple(found), parents=parents))
    if options.whole:
        found = rounded(found, parents, column.step)
    return [value for _, value in sorted(zip(order, found, strict=True))]


def _parents(rows: Sequence[Group]) -> tuple[int | None, ...]:
    """For every row the place of the one that it is a part of, one level up; the finest rows come first."""
    places = {(row.level, row.known): place for place, row in enumerate(rows)}
    levels = sorted({row.level for row in rows}, key=len)
    above = {fine: coarse for coarse, fine in pairwise(levels)}

    def parent(row: Group) -> int | None:
        coarse = above.get(row.level)
        return None if coarse is None else places[coarse, row.part(coarse)]

    return tuple(map(parent, rows))


def refitted(estimate: Estimate, value: Fraction, *, nonnegative: bool) -> Estimate:
    """Another value, in an interval that still holds the exact one as often: it is cut where that cannot be, and holds
    the value as well."""
    if estimate.low is None or estimate.high is None:
        return replace(estimate, value=value)
    low, high = (max(end, ZERO) if nonnegative else end for end in (estimate.low, estimate.high))
    return Estimate(value=value, low=min(low, value), high=max(high, value))
