"""From noisy whole numbers to published values with intervals. Sees nothing but what was published: free."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice

from privet.core.accuracy import half_width
from privet.core.cells import Keys
from privet.core.claim import claim
from privet.core.evaluate import evaluate
from privet.core.expression import Expression, Value
from privet.core.laws import Choice
from privet.core.measures import Recipe, Role
from privet.core.moments import Estimate, Noisy, moment
from privet.core.parts import Part
from privet.core.plan import Function, Order
from privet.core.question import Question
from privet.core.ranges import shape_of
from privet.core.shape import Form

Vectors = Sequence[Sequence[int]]  # one a part, one number a cell; of keys, none for the rest
Line = Mapping[str, Value | Estimate]
LARGE = 10**9
SINGLE = (Function.COUNT, Function.COUNT_DISTINCT, Function.SUM)


def lines(asked: Question, noisy: Vectors, share: Fraction) -> list[Line]:
    """The published rows after HAVING, ORDER BY and LIMIT, hidden columns left out."""
    plan = asked.outline.plan
    kept = [line for line in _all_lines(asked, noisy, share) if _passes(asked, line)]
    for order in reversed(plan.order):
        kept = _sorted(kept, order)
    end = None if plan.limit is None else plan.offset + plan.limit
    return [{name: line[name] for name in plan.outputs} for line in islice(kept, plan.offset, end)]


def _all_lines(asked: Question, noisy: Vectors, share: Fraction) -> Iterator[Line]:
    names, recipes = [key.name for key in asked.outline.plan.keys], asked.outline.recipes
    for cell, keys in enumerate(_keys(asked)):
        numbers = [vector[cell] if cell < len(vector) else None for vector in noisy]
        found = {r.aggregate.name: _estimate(r, asked.parts, numbers, share) for r in recipes}
        yield {**dict(zip(names, keys, strict=True)), **found, **_ascending(asked, found)}


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
        if isinstance(part.law, Choice):
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


def _sorted(kept: list[Line], order: Order) -> list[Line]:
    """Stable; NULLs last either way."""
    there = [line for line in kept if plain(line[order.name]) is not None]
    missing = [line for line in kept if plain(line[order.name]) is None]
    return sorted(there, key=lambda line: plain(line[order.name]), reverse=order.descending) + missing  # type: ignore[arg-type, return-value]


def plain(item: Value | Estimate) -> Value:
    return item.value if isinstance(item, Estimate) else item


def _estimate(recipe: Recipe, parts: Sequence[Part], numbers: Sequence[int | None], share: Fraction) -> Estimate:
    function = recipe.aggregate.function
    chosen = [parts[number] for number in recipe.measures]
    each = 1 - (1 - share) / len(chosen)  # all intervals hold together with probability `share`
    found = [numbers[number] or 0 for number in recipe.measures]  # no recipe uses the keys where there is a rest
    part, number = chosen[0], found[0]
    if isinstance(part.law, Choice):
        return Estimate(value=number * part.measure.step, low=None, high=None)
    if part.threshold is not None:
        return _selected(part, part.threshold, number, share)
    noisy = [
        Noisy(measure=part.measure, number=number, width=half_width(part.law, each))
        for part, number in zip(chosen, found, strict=True)
    ]
    if function in SINGLE:
        return _total(noisy)
    return moment(function, noisy)


def total_error(recipe: Recipe, parts: Sequence[Part], share: Fraction) -> Fraction:
    """How far a count or a sum may be off, whatever it is."""
    estimate = _estimate(recipe, parts, [LARGE] * len(parts), share)
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
