"""A plan together with the declarations and the price: everything that is known before data are touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction

from privet.core.cells import Cells, Keys, cells_of
from privet.core.loss import Loss
from privet.core.measures import KEYS, Measure, Recipe, Wish, measures_of
from privet.core.narrow import narrowed
from privet.core.origin import check_clamped, origin_of, shapes_of
from privet.core.parts import Gauge, Part, Setting, priced, total_loss
from privet.core.plan import Plan
from privet.core.ranges import shape_of
from privet.core.schema import Kind
from privet.core.sensitivity import Bounds
from privet.core.shape import Form, Shapes, need, shape_of_kind
from privet.errors import RefusedQueryError
from privet.estimates.computed import check_computed
from privet.estimates.levels import check_levels, check_totals

MOST_MEASURES = 999  # per release, plus the choice of keys: the gate checks at most 1,000 parts
NO_OTHERS: Mapping[str, Mapping[str, Kind]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A plan that was read against the declarations; no price yet. `measures` is what a backend computes. With `top`,
    cells are chosen by this score, as many as LIMIT says, and the measures are of these."""

    plan: Plan
    bounds: Bounds
    declared: Shapes
    passing: Shapes
    cells: Cells
    measures: tuple[Measure, ...]
    recipes: tuple[Recipe, ...]
    top: Measure | None = None

    @property
    def released(self) -> tuple[Measure, ...]:
        """The measures, and the choice of keys where they are not public, or of cells where some are chosen."""
        if self.top is not None:
            return (*self.measures, self.top)
        return (*self.measures, KEYS) if self.cells.private else self.measures

    def setting(self, delta: Fraction | None = None) -> Setting:
        limit = None if self.top is None else self.plan.limit
        cells = None if self.cells.private else self.cells.count
        return Setting(cells=cells, bounds=self.bounds, delta=delta, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced(Outline):
    """An outline with noise and price for every part."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, read: Outline, parts: Sequence[Part]) -> Priced:
        return cls(**{field.name: getattr(read, field.name) for field in fields(Outline)}, parts=tuple(parts))

    @property
    def loss(self) -> Loss:
        return total_loss(self.parts)

    def showing(self, chosen: Sequence[Keys]) -> Priced:
        """The same, when the keys that are shown are known."""
        return replace(self, cells=replace(self.cells, chosen=tuple(chosen)))


def outline(
    plan: Plan, kinds: Mapping[str, Kind], bounds: Bounds, beside: Mapping[str, Mapping[str, Kind]] = NO_OTHERS
) -> Outline:
    """Steps from declarations to cells and measures. Refuses what is unbounded or unknown.

    `kinds` are the columns of the plan's table, `beside` those of other tables that it is asked of.
    """
    tables = {plan.table: kinds, **beside}
    shapes = {name: {column: shape_of_kind(kind) for column, kind in each.items()} for name, each in tables.items()}
    declared = shapes_of(origin_of(plan), shapes)
    if plan.where is not None:
        need(shape_of(plan.where, declared), Form.TRUTH)
    check_clamped(plan, shapes)
    passing = narrowed(declared, plan.where)
    cells = cells_of(plan, passing)
    check_levels(plan, cells)
    check_totals(plan, cells)
    check_computed(plan, passing)
    measures, recipes = measures_of(plan, passing, _wish(cells, bounds, centered=False))
    _check_few(measures)
    return Outline(
        plan=plan,
        bounds=bounds,
        declared=declared,
        passing=passing,
        cells=cells,
        measures=measures,
        recipes=recipes,
    )


def _check_few(measures: Sequence[Measure]) -> None:
    if len(measures) > MOST_MEASURES:
        raise RefusedQueryError(
            f"the query needs {len(measures):,} noisy numbers per group; one release can have at most {MOST_MEASURES}",
            "split the aggregates over several queries, each with its share of the price",
            "too-many",
        )


def _wish(cells: Cells, bounds: Bounds, *, centered: bool, joint: bool = False) -> Wish:
    return Wish(one_row=bounds.rows == 1, counted=cells.private and not cells.rest, centered=centered, joint=joint)


def variants(read: Outline) -> list[Outline]:
    """The same answers from other measures: sums as they are, or around the middle of their range."""
    centered = lowered(read, joint=False)
    return [read] if centered is None or centered.measures == read.measures else [read, centered]


def lowered(read: Outline, *, joint: bool) -> Outline | None:
    """The same with centered sums beside counts that are there, or with any sums if `joint`; None if it cannot be."""
    wish = _wish(read.cells, read.bounds, centered=True, joint=joint)
    try:
        measures, recipes = measures_of(read.plan, read.passing, wish)
    except RefusedQueryError:  # a missing value as 0 may need a grid that is too fine
        return None
    return replace(read, measures=measures, recipes=recipes)


def at_price(read: Outline, gauge: Gauge, prices: Sequence[Fraction], delta: Fraction | None = None) -> Priced:
    """With one price for every measure that is released."""
    return Priced.of(read, priced(read.released, read.setting(delta), gauge, prices))
