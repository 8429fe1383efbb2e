"""A plan together with the declarations and the price: everything that is known before data are touched."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction

from privet.core.cells import Cells, Keys, cells_of
from privet.core.claim import claim
from privet.core.expression import Compare, Expression, In, Literal, Or, Relation, Value
from privet.core.loss import Loss
from privet.core.measures import KEYS, Measure, Recipe, Wish, measures_of
from privet.core.narrow import conjuncts, narrowed
from privet.core.origin import check_clamped, origin_of, shapes_of, varying_keys
from privet.core.parts import Gauge, Part, Setting, priced, total_loss
from privet.core.plan import Plan
from privet.core.ranges import shape_of
from privet.core.schema import Kind
from privet.core.sensitivity import Bounds
from privet.core.settling import settled_plan
from privet.core.shape import Form, Shapes, need, shape_of_kind
from privet.errors import RefusedQueryError
from privet.estimates.computed import check_computed
from privet.estimates.levels import check_levels, check_totals, finest, levels_of

MOST_MEASURES = 999  # per release, plus the choice of keys: the gate checks at most 1,000 parts
NO_OTHERS: Mapping[str, Mapping[str, Kind]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A plan that was read against the declarations; no price yet. `measures` is what a backend computes. `former`: as
    version 0.1 asked it. With `top`, cells are chosen by this score, as many as LIMIT says, and the measures are of
    these."""

    plan: Plan
    bounds: Bounds
    declared: Shapes
    passing: Shapes
    cells: Cells
    measures: tuple[Measure, ...]
    recipes: tuple[Recipe, ...]
    former: bool = False
    top: Measure | None = None

    @property
    def released(self) -> tuple[Measure, ...]:
        """The measures, and the choice of keys where they are not public, or of cells where some are chosen."""
        if self.top is not None:
            return (*self.measures, self.top)
        return (*self.measures, KEYS) if self.cells.private else self.measures

    def setting(self, delta: Fraction | None = None, keys: Gauge = Gauge.EPSILON) -> Setting:
        cells, limit = None if self.cells.private else self.cells.count, None if self.top is None else self.plan.limit
        return Setting(cells=cells, bounds=self.bounds, delta=delta, keys=keys, limit=limit)


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

    @property
    def parts_of_rest(self) -> tuple[Part, ...]:
        """The same parts for the row of the rest: its people are counted by a part of their own."""
        apart = [replace(part, measure=replace(part.measure, rest=False)) for part in self.parts if part.measure.rest]
        return (*self.parts[:-1], *apart) if apart else self.parts

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
    plan = settled_plan(plan, shapes)
    declared = shapes_of(origin_of(plan), shapes)
    if plan.where is not None:
        need(shape_of(plan.where, declared), Form.TRUTH)
    check_clamped(plan, shapes)
    passing = narrowed(declared, plan.where)
    cells = cells_of(plan, passing)
    check_levels(plan, cells)
    check_totals(plan, cells)
    check_computed(plan, passing)
    measures, recipes = measures_of(plan, passing, _wish(plan, cells, bounds))
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


def limited(read: Outline, bounds: Bounds) -> Outline:
    """The same question with other limits."""
    measures, recipes = measures_of(read.plan, read.passing, _wish(read.plan, read.cells, bounds, former=read.former))
    return replace(read, bounds=bounds, measures=measures, recipes=recipes)


@claim("one-group")
def with_fewest_groups(read: Outline, kinds: Mapping[str, Mapping[str, Kind]]) -> Outline:
    """With no more groups of a unit than it can have by declarations and condition; `kinds` are the columns of all
    tables. A key that is constant per unit has one value of a unit, and one that WHERE lists has those of the list."""
    plan, varying = read.plan, varying_keys(read.plan, kinds)
    if read.cells.private:
        most = read.bounds.groups if varying else 1
    else:
        sizes = [_fewest(plan.keys[place].value, read.cells.domains[place], plan.where) for place in varying]
        most = math.prod(sizes) if math.prod(sizes) < read.cells.count else read.bounds.groups
    return read if most >= read.bounds.groups else limited(read, replace(read.bounds, groups=most))


def _fewest(key: Expression, domain: Sequence[Value], where: Expression | None) -> int:
    lists = [_listed(condition, key) for condition in conjuncts(where)]
    return min([len(domain), *(len(values) for values in lists if values is not None)])


def _listed(condition: Expression, key: Expression) -> set[Value] | None:
    """The only values of the key that the condition lets through; None: it does not say."""
    match condition:
        case In(item, values) if item == key:
            return set(values)
        case Compare(Relation.EQUAL, item, Literal(value)) if item == key:
            return {value}
        case Or(items):
            sets = [_listed(item, key) for item in items]
            return None if None in sets else set[Value]().union(*(one for one in sets if one is not None))
        case _:
            return None


def _check_few(measures: Sequence[Measure]) -> None:
    if len(measures) > MOST_MEASURES:
        raise RefusedQueryError(
            f"the query needs {len(measures):,} noisy numbers per group; one release can have at most {MOST_MEASURES}",
            "split the aggregates over several queries, each with its share of the price",
            "too-many",
        )


def _wish(plan: Plan, cells: Cells, bounds: Bounds, *, former: bool = False) -> Wish:
    """How many people a shown key has is known from its choice. Those of the rest are counted apart, which gives no
    totals; version 0.1 counted them with those of all keys."""
    apart = not former and not plan.totals and levels_of(plan) == (finest(plan),)
    return Wish(one_row=bounds.rows == 1, counted=cells.private and (apart or not cells.rest), rest=cells.rest)


def formerly(read: Outline) -> Outline:
    """The same question as version 0.1 lowered it."""
    wish = _wish(read.plan, read.cells, read.bounds, former=True)
    measures, recipes = measures_of(read.plan, read.passing, wish)
    return replace(read, measures=measures, recipes=recipes, former=True)


def variants(read: Outline) -> list[Outline]:
    """The same answers from other measures: sums as they are, or around the middle of their range."""
    centered = lowered(read, joint=False)
    return [read] if centered is None or centered.measures == read.measures else [read, centered]


def lowered(read: Outline, *, joint: bool) -> Outline | None:
    """The same with centered sums beside counts that are there, or with any sums if `joint`; None if it cannot be."""
    wish = replace(_wish(read.plan, read.cells, read.bounds, former=read.former), centered=True, joint=joint)
    try:
        measures, recipes = measures_of(read.plan, read.passing, wish)
    except RefusedQueryError:  # a missing value as 0 may need a grid that is too fine
        return None
    return replace(read, measures=measures, recipes=recipes)


def at_price(read: Outline, gauge: Gauge, prices: Sequence[Fraction], delta: Fraction | None = None) -> Priced:
    """With one price for every measure that is released."""
    return Priced.of(read, priced(read.released, read.setting(delta), gauge, prices))
