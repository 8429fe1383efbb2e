"""What published tables say, checked on the people themselves: slow, plain, and by its own arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from privet.attacks.release.statistics import (
    Between,
    Largest,
    Mean,
    Measure,
    Quantile,
    Share,
    Smallest,
    Statistic,
    Tables,
    Total,
)
from privet.records.conditions import holds

People = Sequence[Mapping[str, Any]]


def untrue(tables: Tables, people: People) -> list[str]:
    """The names of statistics that these people do not fit."""
    return [statistic.name for statistic in tables.statistics if not _fits(statistic, people)]


def _fits(statistic: Statistic, people: People) -> bool:
    group = [person for person in people if holds(statistic.where, person)]
    counted = statistic.count is None or _in(Fraction(len(group)), statistic.count)
    return counted and all(_measured(measure, group, people) for measure in statistic.measures)


def _in(number: Fraction, published: Between) -> bool:
    above = published.low is None or published.low <= number
    return above and (published.high is None or number <= published.high)


def _measured(measure: Measure, group: People, people: People) -> bool:
    if isinstance(measure, Share):
        base = [person for person in people if holds(measure.of, person)]
        return _in(Fraction(sum(person in base for person in group), len(base)), measure.value)
    values = sorted(person[measure.attribute] for person in group)
    match measure:
        case Total():
            number = sum(values, Fraction(0))
        case Mean():
            number = sum(values, Fraction(0)) / len(values)
        case Smallest():
            number = values[0]
        case Largest():
            number = values[-1]
        case Quantile():
            number = quantile(values, measure.level, measure.discrete)
    return _in(number, measure.value)


def quantile(values: Sequence[Fraction], level: Fraction, discrete: bool) -> Fraction:
    """Of sorted values."""
    if discrete:
        return next(value for place, value in enumerate(values, 1) if place >= level * len(values))
    place = level * (len(values) - 1)
    low, high = values[math.floor(place)], values[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))
