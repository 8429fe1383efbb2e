"""A plan together with the declarations and the price: everything that is known before data are touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from privet.core.cells import Cells, cells_of
from privet.core.contribution import Bounds
from privet.core.loss import Loss
from privet.core.narrow import narrowed
from privet.core.parts import Gauge, Measure, Part, Recipe, measures_of, priced, total_loss
from privet.core.plan import Plan
from privet.core.ranges import shape_of
from privet.core.schema import Kind
from privet.core.shape import Form, Shapes, need, shape_of_kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A plan that was read against the declarations; no price yet."""

    plan: Plan
    bounds: Bounds
    declared: Shapes
    passing: Shapes
    cells: Cells
    measures: tuple[Measure, ...]
    recipes: tuple[Recipe, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An outline with noise and price for every part."""

    outline: Outline
    parts: tuple[Part, ...]

    @property
    def loss(self) -> Loss:
        return total_loss(self.parts)


def outline(plan: Plan, kinds: Mapping[str, Kind], bounds: Bounds) -> Outline:
    """Steps from declarations to cells and measures. Refuses what is unbounded, unknown or not public."""
    declared = {name: shape_of_kind(kind) for name, kind in kinds.items()}
    if plan.where is not None:
        need(shape_of(plan.where, declared), Form.TRUTH)
    passing = narrowed(declared, plan.where)
    measures, recipes = measures_of(plan, passing)
    return Outline(
        plan=plan,
        bounds=bounds,
        declared=declared,
        passing=passing,
        cells=cells_of(plan, passing),
        measures=measures,
        recipes=recipes,
    )


def question(read: Outline, gauge: Gauge, shares: Sequence[Fraction]) -> Question:
    """With one share of the price for every measure."""
    return Question(outline=read, parts=priced(read.measures, read.cells.count, read.bounds, gauge, shares))
