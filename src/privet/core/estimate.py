"""From noisy whole numbers to published values with intervals. Sees nothing but what was published: free."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from privet.core.accuracy import half_width
from privet.core.cells import Keys
from privet.core.claim import claim
from privet.core.computed import computed, names_in
from privet.core.evaluate import evaluate
from privet.core.expression import Expression, Value
from privet.core.laws import Choice
from privet.core.levels import Group, Level, finest, groups_of
from privet.core.measures import Recipe, Role
from privet.core.moments import Estimate, Noisy, moment
from privet.core.parts import Part
from privet.core.plan import Computed, Function, Order
from privet.core.publication import AS_RELEASED, Publication, printed, published, refitted
from privet.core.question import Question
from privet.core.ranges import shape_of
from privet.core.shape import Form

Vectors = Sequence[Sequence[int]]  # one a part, one number a cell; of keys, none for the rest
Line = Mapping[str, Value | Estimate]
LARGE = 10**9
SINGLE = (Function.COUNT, Function.COUNT_DISTINCT, Function.SUM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A published row. Keys that are not of its level are rolled up: they are NULL, and mean every value."""

    level: Level
    line: Line


def rows_of(asked: Question, noisy: Vectors, share: Fraction, publication: Publication = AS_RELEASED) -> list[Row]:
    """The published rows after HAVING, ORDER BY and LIMIT, hidden columns left out."""
    plan = asked.outline.plan
    kept = [row for row in _all_rows(asked, noisy, share, publication) if _passes(asked, row.line)]
    for order in reversed(plan.order):
        kept = _sorted(kept, order)
    end = None if plan.limit is None else plan.offset + plan.limit
    return [
        Row(level=row.level, line={name: row.line[name] for name in plan.outputs})
        for row in islice(kept, plan.offset, end)
    ]


def lines(asked: Question, noisy: Vectors, share: Fraction) -> list[Line]:
    """Their contents."""
    return [row.line for row in rows_of(asked, noisy, share)]


def _all_rows(asked: Question, noisy: Vectors, share: Fraction, publication: Publication) -> list[Row]:
    plan = asked.outline.plan
    groups = list(groups_of(plan, list(_keys(asked))))
    numbers = [[_added(vector, group.cells) for vector in noisy] for group in groups]
    asked_alone = {recipe.aggregate.name: 1 - (1 - share) / len(recipe.measures) for recipe in asked.outline.recipes}
    table = _Table(asked=asked, groups=groups, numbers=numbers, publication=publication)
    found: list[dict[str, Value | Estimate]] = [
        {**dict.fromkeys(finest(plan)), **dict(zip(group.level, group.known, strict=True))} for group in groups
    ]
    for line, estimates in zip(found, table.estimates(asked_alone), strict=True):
        line.update(estimates)
    for column in plan.computed:
        together = table.estimates(_joint(asked, column, share))
        for line, estimates in zip(found, together, strict=True):
            line[column.name] = computed(column.value, {**line, **estimates})
    return [Row(level=group.level, line=line) for group, line in zip(groups, found, strict=True)]


def _added(vector: Sequence[int], cells: Sequence[int]) -> int | None:
    """None for the rest where a vector has no number for it."""
    return sum(vector[cell] for cell in cells) if all(cell < len(vector) for cell in cells) else None


def _joint(asked: Question, column: Computed, share: Fraction) -> dict[str, Fraction]:
    """How sure each noisy number must be, so that all that a computed column is made of hold together. A choice by rank
    stays as it is."""
    names = set(names_in(column.value))
    used = [
        recipe
        for recipe in asked.outline.recipes
        if recipe.aggregate.name in names and not isinstance(asked.parts[recipe.measures[0]].law, Choice)
    ]
    measures = {number for recipe in used for number in recipe.measures}
    return {recipe.aggregate.name: 1 - (1 - share) / len(measures) for recipe in used}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """The noisy numbers of every row, one a part, and what they become in print."""

    asked: Question
    groups: Sequence[Group]
    numbers: Sequence[Sequence[int | None]]
    publication: Publication

    def estimates(self, sure: Mapping[str, Fraction]) -> list[dict[str, Estimate]]:
        """For every row those of the named aggregates; each noisy number holds with the probability beside the name."""
        recipes = [recipe for recipe in self.asked.outline.recipes if recipe.aggregate.name in sure]
        found = [
            {
                recipe.aggregate.name: _estimate(
                    recipe, self.asked.parts, numbers, sure[recipe.aggregate.name], len(group.cells)
                )
                for recipe in recipes
            }
            for group, numbers in zip(self.groups, self.numbers, strict=True)
        ]
        for recipe in recipes:
            self._print(recipe, found)
        return [estimates | _ascending(self.asked, estimates) for estimates in found]

    def _print(self, recipe: Recipe, found: list[dict[str, Estimate]]) -> None:
        """Counts and sums as the publication wants them."""
        if self.publication == AS_RELEASED or recipe.aggregate.function not in SINGLE:
            return
        name, column = recipe.aggregate.name, printed(recipe, self.asked.parts[recipe.measures[0]].measure)
        values = published(self.publication, column, self.groups, [estimates[name].value for estimates in found])
        cut = self.publication.nonnegative and column.nonnegative
        for estimates, value in zip(found, values, strict=True):
            estimates[name] = refitted(estimates[name], value, nonnegative=cut)


def _keys(asked: Question) -> Iterator[Keys]:
    """The keys of every cell. In the row of the rest a text is what the user calls it; other keys are missing."""
    read = asked.outline
    yield from read.cells.keys()
    if read.cells.rest:
        words = [shape_of(key.value, read.passing).form is Form.WORD for key in read.plan.keys]
        yield tuple(read.plan.other if word else None for word in words)


def _ascending(asked: Question, found: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Quantiles of the same numbers, drawn apart, put in order: a larger one is never below a smaller one, and none is
    beyond MIN and MAX."""
    ranked: dict[Expression | None, list[tuple[Fraction | None, str]]] = defaultdict(list)
    for recipe in asked.outline.recipes:
        part = asked.parts[recipe.measures[0]]
        if isinstance(part.law, Choice) and recipe.aggregate.name in found:
            ranked[part.measure.value].append((part.measure.quantile, recipe.aggregate.name))
    ordered: dict[str, Estimate] = {}
    for places in ranked.values():
        inner = {place: found[name] for place, name in places if place is not None}
        values = sorted(inner.values(), key=_value)
        placed = dict(zip(sorted(inner), values, strict=True))
        ordered |= {name: placed[place] for place, name in places if place is not None}
        for name in (name for place, name in places if place is None):
            furthest = min if _is_min(asked, name) else max
            ordered[name] = furthest([found[name], *values], key=_value)
    return ordered


def _value(one: Estimate) -> Fraction:
    return one.value


def _is_min(asked: Question, name: str) -> bool:
    recipe = next(one for one in asked.outline.recipes if one.aggregate.name == name)
    return asked.parts[recipe.measures[0]].measure.role is Role.MIN


def _passes(asked: Question, line: Line) -> bool:
    having = asked.outline.plan.having
    return having is None or evaluate(having, {name: plain(item) for name, item in line.items()}) is True


def _sorted(kept: list[Row], order: Order) -> list[Row]:
    """Stable; NULLs last either way."""
    there = [row for row in kept if plain(row.line[order.name]) is not None]
    missing = [row for row in kept if plain(row.line[order.name]) is None]
    return sorted(there, key=lambda row: plain(row.line[order.name]), reverse=order.descending) + missing  # type: ignore[arg-type, return-value]


def plain(item: Value | Estimate) -> Value:
    return item.value if isinstance(item, Estimate) else item


def _estimate(
    recipe: Recipe, parts: Sequence[Part], numbers: Sequence[int | None], each: Fraction, cells: int = 1
) -> Estimate:
    """From sums of so many cells. Every noisy number lies in its interval with probability `each`."""
    function = recipe.aggregate.function
    chosen = [parts[number] for number in recipe.measures]
    found = [numbers[number] or 0 for number in recipe.measures]  # no recipe uses the keys where there is a rest
    part, number = chosen[0], found[0]
    if isinstance(part.law, Choice):
        return Estimate(value=number * part.measure.step, low=None, high=None)
    if part.threshold is not None:
        return _selected(part, part.threshold, number, each)
    noisy = [
        Noisy(measure=part.measure, number=number, width=half_width(part.law, each, cells))
        for part, number in zip(chosen, found, strict=True)
    ]
    if function in SINGLE:
        return _total(noisy)
    return moment(function, noisy)


def total_error(recipe: Recipe, parts: Sequence[Part], share: Fraction, cells: int = 1) -> Fraction:
    """How far a count or a sum over so many cells may be off, whatever it is."""
    each = 1 - (1 - share) / len(recipe.measures)
    estimate = _estimate(recipe, parts, [LARGE] * len(parts), each, cells)
    assert estimate.high is not None  # noqa: S101  counts and sums have intervals
    return estimate.high - estimate.value


def _total(noisy: Sequence[Noisy]) -> Estimate:
    """A count or a sum; a centered sum gets its center back for every row."""
    total, *counts = noisy
    middle, width = Fraction(total.number), total.width
    for count in counts:
        middle += total.measure.center * count.number
        width += abs(total.measure.center) * count.width
    step = total.measure.step
    return Estimate(value=middle * step, low=(middle - width) * step, high=(middle + width) * step)


@claim("selected-interval")
def _selected(part: Part, threshold: int, number: int, share: Fraction) -> Estimate:
    """The number of people of a key that is shown because of that very number.

    If it was below the threshold before the noise, what is above the threshold tells nothing about it. Only a noisy
    number that is more than a half width above the threshold gives a lower end.
    """
    width = half_width(part.law, share)
    low = number - width if number - width > threshold else 1
    return Estimate(value=Fraction(number), low=Fraction(low), high=Fraction(number + width))
