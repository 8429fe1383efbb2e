"""Quantiles, MIN and MAX with their intervals in values, from numbers that were chosen by rank. Free."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from privet.core.claim import claim
from privet.core.expression import Expression, Value
from privet.core.laws import Choice
from privet.core.measures import Measure, Role
from privet.core.plan import Aggregate
from privet.estimates.moments import Estimate
from privet.estimates.priced import Priced


@claim("rank-interval")
def by_rank(measure: Measure, chosen: Sequence[int], *, proved: bool) -> Estimate:
    """The value, in its interval if one was paid for. It is unknown if the interval is the whole range.

    `measure` is the first of the recipe, `chosen` has what was drawn for each of them. Where rows were selected in a
    way for which nothing is proved, the interval is not given, but still says whether the value is known.
    """
    value, low, high = chosen[0], measure.low, measure.high
    match measure.role:
        case _ if len(chosen) > 1:
            low, high = min(chosen[1:]), max(chosen[1:])
        case Role.MIN if measure.end:
            high = value
        case Role.MAX if measure.end:
            low = value
        case _:
            return Estimate(value=value * measure.step, low=None, high=None)
    known = (low, high) != (measure.low, measure.high) or measure.low == measure.high
    return Estimate(
        value=min(max(value, low), high) * measure.step,
        low=low * measure.step if proved else None,
        high=high * measure.step if proved else None,
        known=known,
    )


def is_unknown(item: Value | Estimate) -> bool:
    """Whether released numbers say that it may be any value of its range, or contradict each other."""
    return isinstance(item, Estimate) and not item.known


@claim("rank-interval")
def ascending(asked: Priced, found: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Quantiles of the same numbers, drawn apart, put in order: a larger one is never below a smaller one, and none is
    beyond MIN and MAX. So are their intervals, which only become wider. MIN and MAX are unknown where MIN was drawn
    above MAX."""
    ranked: dict[Expression | None, dict[Fraction, list[str]]] = defaultdict(lambda: defaultdict(list))
    for recipe in asked.recipes:
        part = asked.parts[recipe.measures[0]]
        if isinstance(part.law, Choice) and recipe.aggregate.name in found:
            ranked[part.measure.value][_place(part.measure, recipe.aggregate)].append(recipe.aggregate.name)
    ordered: dict[str, Estimate] = {}
    for places in ranked.values():
        in_order = _in_order(_crossed({place: found[names[0]] for place, names in sorted(places.items())}))
        ordered |= {name: in_order[place] for place, names in places.items() for name in names}
    return ordered


def _place(measure: Measure, aggregate: Aggregate) -> Fraction:
    if measure.quantile is None or aggregate.quantile is None:
        return Fraction(measure.role is Role.MAX)
    return aggregate.quantile


def _crossed(found: Mapping[Fraction, Estimate]) -> dict[Fraction, Estimate]:
    """MIN and MAX are unknown if one is above the other."""
    ends = {place: one for place, one in found.items() if place in (0, 1)}
    if len(ends) < 2 or ends[Fraction(0)].value <= ends[Fraction(1)].value:
        return dict(found)
    return {**found, **{place: replace(one, known=False) for place, one in ends.items()}}


def _in_order(found: Mapping[Fraction, Estimate]) -> dict[Fraction, Estimate]:
    """`found` ascends in its places. What is unknown has no say."""
    known = {place: one for place, one in found.items() if one.known}
    inner = sorted(one.value for place, one in known.items() if 0 < place < 1)
    values = dict(zip((place for place in known if 0 < place < 1), inner, strict=True))
    values |= {Fraction(0): min([known[Fraction(0)].value, *inner])} if 0 in known else {}
    values |= {Fraction(1): max([known[Fraction(1)].value, *inner])} if 1 in known else {}
    lows, highs = _lows(list(known.values())), _highs(list(known.values()))
    ordered = {
        place: _inside(replace(known[place], low=low, high=high), values[place])
        for place, low, high in zip(known, lows, highs, strict=True)
    }
    return {**found, **ordered}


def _lows(known: Sequence[Estimate]) -> list[Fraction | None]:
    """No higher than those of larger quantiles."""
    ends = [one.low for one in known]
    return [end if end is None else min(e for e in ends[i:] if e is not None) for i, end in enumerate(ends)]


def _highs(known: Sequence[Estimate]) -> list[Fraction | None]:
    """No lower than those of smaller quantiles."""
    ends = [one.high for one in known]
    return [end if end is None else max(e for e in ends[: i + 1] if e is not None) for i, end in enumerate(ends)]


def _inside(one: Estimate, value: Fraction) -> Estimate:
    if one.low is None or one.high is None:
        return replace(one, value=value)
    return replace(one, value=min(max(value, one.low), one.high))
