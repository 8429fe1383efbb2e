"""Where LIMIT leaves the best of public groups: whether these are chosen first, and measured by themselves.

The other way is to measure all groups and to show those whose noisy numbers are best. Declarations, LIMIT and the price
decide between the two, never data: see `errs_less`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from privet.core.claim import claim
from privet.core.laws import Top
from privet.core.measures import SCORES, Recipe, Role
from privet.estimates.priced import Outline, Priced
from privet.estimates.split import in_units, regret, weights_of

MOST_SCORES = 10**7  # that are compared in all rounds together


def by_scores(read: Outline) -> Outline | None:
    """The same question, with its cells chosen first; None where that cannot be.

    The first key of ORDER BY must be a count, a sum or a number of units, the largest first. HAVING, OFFSET and totals
    look at all groups.
    """
    plan, cells = read.plan, read.cells.count
    if read.cells.private or plan.limit is None or not plan.order or not plan.order[0].descending:
        return None
    if plan.having is not None or plan.offset or plan.levels or plan.totals:
        return None
    if not 1 <= plan.limit < cells or plan.limit * cells > MOST_SCORES:
        return None
    recipe = ordering(read)
    measure = None if recipe is None or len(recipe.measures) > 1 else read.measures[recipe.measures[0]]
    if measure is None or measure.role not in SCORES:
        return None
    return replace(read, top=replace(measure, role=Role.TOP, score=measure.role))


def missed(asked: Priced) -> float:
    """What is lost, squared, where all groups are measured and the wrong ones are shown: see `regret`. Where groups are
    chosen by their scores, that is a part of their error already."""
    recipe, setting = ordering(asked), asked.setting()
    if recipe is None or asked.top is not None:
        return 0.0
    parts = [asked.parts[place] for place in recipe.measures]
    each = weights_of(recipe, [part.measure for part in asked.parts], parts[0].gauge)
    lost = [regret(part.law, asked.cells.count) / in_units(part.measure, setting) ** 2 for part in parts]
    return sum(weight * one for weight, one in zip(each, lost, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """Groups that are chosen by their scores: how many out of how many, by which aggregate, and how much more than one
    that is shown one that is left out may have."""

    groups: int
    among: int
    by: str
    left_out: Fraction


@claim("top-left-out")
def best_of(asked: Priced, share: Fraction) -> Best | None:
    """None if no groups are chosen by their scores. With probability `share` no group that is left out has more than
    one that is shown by over `left_out`.

    In a round a cell that is d behind another one is chosen with probability exp(-rate * d) at most; by
    permute-and-flip, with half of that.
    """
    part, recipe = asked.parts[-1], None if asked.top is None else ordering(asked)
    if recipe is None or not isinstance(part.law, Top):
        return None
    among = math.prod(map(len, asked.cells.domains))
    odds = part.law.rounds * (among - 1) / (1 - share) / (2 if part.law.flip else 1)
    steps = math.ceil(math.log(odds) / float(part.law.rate) * (1 + 1e-9))
    return Best(groups=part.law.rounds, among=among, by=recipe.aggregate.name, left_out=steps * part.measure.step)


def ordering(read: Outline) -> Recipe | None:
    """The aggregate that decides which groups are shown."""
    name = read.plan.order[0].name
    return next((recipe for recipe in read.recipes if recipe.aggregate.name == name), None)
