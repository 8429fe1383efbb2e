"""From noisy whole numbers to published values with intervals. Sees nothing but what was published: free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from privet.core.accuracy import half_width
from privet.core.evaluate import evaluate
from privet.core.expression import Value
from privet.core.parts import Part, Recipe
from privet.core.plan import Order
from privet.core.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value, and an interval that holds the exact bounded value with the asked probability."""

    value: Fraction
    low: Fraction
    high: Fraction


Noisy = Sequence[Sequence[int]]  # one vector a part, one number a cell
Line = Mapping[str, Value | Estimate]


def lines(asked: Question, noisy: Noisy, share: Fraction) -> list[Line]:
    """The published rows after HAVING, ORDER BY and LIMIT, hidden columns left out."""
    plan = asked.outline.plan
    kept = [line for line in _all_lines(asked, noisy, share) if _passes(asked, line)]
    for order in reversed(plan.order):
        kept = _sorted(kept, order)
    end = None if plan.limit is None else plan.offset + plan.limit
    return [{name: line[name] for name in plan.outputs} for line in islice(kept, plan.offset, end)]


def _all_lines(asked: Question, noisy: Noisy, share: Fraction) -> Iterator[Line]:
    plan = asked.outline.plan
    names = [key.name for key in plan.keys]
    for cell, keys in enumerate(asked.outline.cells.keys()):
        numbers = [vector[cell] for vector in noisy]
        found = {r.aggregate.name: _estimate(r, asked.parts, numbers, share) for r in asked.outline.recipes}
        yield {**dict(zip(names, keys, strict=True)), **found}


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


def _estimate(recipe: Recipe, parts: Sequence[Part], numbers: Sequence[int], share: Fraction) -> Estimate:
    part, number = parts[recipe.measure], numbers[recipe.measure]
    if recipe.count is not None:
        return _average(part, parts[recipe.count], number, numbers[recipe.count], share)
    width, step = half_width(part.law, share), part.measure.step
    return Estimate(value=number * step, low=(number - width) * step, high=(number + width) * step)


def _average(total: Part, count: Part, noisy_sum: int, noisy_count: int, share: Fraction) -> Estimate:
    """center + sum / count, inside the declared range. Both intervals hold together with probability `share`."""
    each = (1 + share) / 2
    a, b = half_width(total.law, each), half_width(count.law, each)
    measure = total.measure

    def value(offset: Fraction) -> Fraction:
        return (measure.center + min(max(offset, Fraction(measure.low)), Fraction(measure.high))) * measure.step

    middle = value(Fraction(noisy_sum, max(noisy_count, 1)))
    if noisy_count - b < 1:  # perhaps nobody is there: any average in the range is possible
        return Estimate(value=middle, low=value(Fraction(measure.low)), high=value(Fraction(measure.high)))
    counts = (noisy_count - b, noisy_count + b)
    low, high = noisy_sum - a, noisy_sum + a
    return Estimate(
        value=middle,
        low=value(min(Fraction(low, n) for n in counts)),
        high=value(max(Fraction(high, n) for n in counts)),
    )
