"""Published tables, read the slow way: every list of people that the attributes allow is tried, one after the other.

Nothing is shared with the attack but the release itself and what a condition means on one record. A statistic is
computed on the plain list of people, as whoever published it would have done.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from privet.core.evaluate import evaluate
from privet.core.expression import Column

Record = tuple[Any, ...]  # the values of the attributes that the release mentions, in its order
People = tuple[Record, ...]


@dataclass(frozen=True)
class Truth:
    """Every list of people that fits, each once whatever the order."""

    names: tuple[str, ...]
    records: tuple[Record, ...]
    fitting: tuple[People, ...]

    def range_of(self, records: Sequence[Record]) -> tuple[int, int]:
        """How many people have one of these records: the fewest and the most."""
        counts = [sum(person in records for person in people) for people in self.fitting]
        return min(counts), max(counts)

    def group(self, where: Any) -> list[Record]:
        return [record for record in self.records if _is(where, dict(zip(self.names, record, strict=True)))]


def every_data_set(tables: Tables, names: tuple[str, ...] | None = None) -> Truth:
    """Of records with these attributes: those that the release mentions, if they are not given."""
    if names is None:
        names = tuple(name for name in tables.attributes if name in _mentioned(tables))
    every = itertools.product(*(tables.attributes[name] for name in names))
    records = tuple(
        record
        for record in every
        if all(_is(rule, dict(zip(names, record, strict=True))) for rule in tables.rules.values())
    )
    seen = [_Seen(statistic, names, records) for statistic in tables.statistics]
    fitting = []
    for number in range(_most(seen, len(records)) + 1):
        for places in itertools.combinations_with_replacement(range(len(records)), number):
            if all(one.fits(places) for one in seen):
                fitting.append(tuple(records[place] for place in places))
    return Truth(names, records, tuple(fitting))


def published(statistic: Statistic, people: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Between | Measure, Any]]:
    """(what was published, the true number) for each number of a statistic; None where there is no such number."""
    group = [person for person in people if _is(statistic.where, person)]
    if statistic.count is not None:
        yield statistic.count, Fraction(len(group))
    for measure in statistic.measures:
        if isinstance(measure, Share):
            whole = [person for person in people if _is(measure.of, person)]
            part = [person for person in group if _is(measure.of, person)]
            yield measure, Fraction(len(part), len(whole)) if whole else None
        else:
            yield measure, number_of(measure, [person[measure.attribute] for person in group])


def number_of(measure: Measure, values: Sequence[Any]) -> Fraction | None:
    """A sum of nobody is 0. Nobody has no mean, median, least or largest value."""
    numbers = sorted(Fraction(value) for value in values)
    if isinstance(measure, Total):
        return sum(numbers, Fraction(0))
    if not numbers:
        return None
    match measure:
        case Mean():
            return sum(numbers, Fraction(0)) / len(numbers)
        case Smallest():
            return numbers[0]
        case Largest():
            return numbers[-1]
        case Quantile(level=level, discrete=True):
            return next(v for v in numbers if sum(other <= v for other in numbers) >= level * len(numbers))
        case Quantile(level=level):
            place = (len(numbers) - 1) * level
            low, high = numbers[math.floor(place)], numbers[math.ceil(place)]
            return low + (place - math.floor(place)) * (high - low)
    raise AssertionError(measure)


def inside(value: Between, number: Fraction | None) -> bool:
    if number is None:
        return False
    return (value.low is None or value.low <= number) and (value.high is None or number <= value.high)


def fits(tables: Tables, people: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these people obey the rules and every statistic."""
    obeyed = all(_is(rule, person) for rule in tables.rules.values() for person in people)
    return obeyed and not untrue(tables, people)


def untrue(tables: Tables, people: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of statistics that these people do not fit."""
    return [
        statistic.name
        for statistic in tables.statistics
        if not all(
            inside(said if isinstance(said, Between) else said.value, number)
            for said, number in published(statistic, people)
        )
    ]


class _Seen:
    """One statistic on all records: who is in its group is found once, the rest for each list of people."""

    def __init__(self, statistic: Statistic, names: Sequence[str], records: Sequence[Record]) -> None:
        named = [dict(zip(names, record, strict=True)) for record in records]
        self.statistic = statistic
        self.member = [_is(statistic.where, record) for record in named]
        self.named = named
        self.whole = [
            [_is(measure.of, record) for record in named] if isinstance(measure, Share) else []
            for measure in statistic.measures
        ]

    def fits(self, places: Sequence[int]) -> bool:
        group = [place for place in places if self.member[place]]
        if self.statistic.count is not None and not inside(self.statistic.count, Fraction(len(group))):
            return False
        return all(
            inside(measure.value, self._number(measure, at, group, places))
            for at, measure in enumerate(self.statistic.measures)
        )

    def _number(self, measure: Measure, at: int, group: Sequence[int], places: Sequence[int]) -> Fraction | None:
        if isinstance(measure, Share):
            whole = sum(self.whole[at][place] for place in places)
            return Fraction(sum(self.whole[at][place] for place in group), whole) if whole else None
        return number_of(measure, [self.named[place][measure.attribute] for place in group])


def _most(seen: Sequence[_Seen], records: int) -> int:
    """How many people there can be: the smallest count of everybody, or all counts together."""
    highs = [(one.member, math.floor(one.statistic.count.high)) for one in seen if _has_high(one.statistic)]
    everybody = [high for member, high in highs if all(member)]
    covered = all(any(member[place] for member, _ in highs) for place in range(records))
    assert everybody or covered, "the release does not say how many people there are"
    return max(0, min(everybody) if everybody else sum(high for _, high in highs))


def _has_high(statistic: Statistic) -> bool:
    return statistic.count is not None and statistic.count.high is not None


def _is(condition: Any, record: Mapping[str, Any]) -> bool:
    return evaluate(condition, record) is True


def _mentioned(tables: Tables) -> set[str]:
    names: set[str] = set()
    todo: list[Any] = [*tables.statistics, *tables.rules.values()]
    while todo:
        thing = todo.pop()
        if isinstance(thing, Column):
            names.add(thing.name)
        elif isinstance(thing, tuple):
            todo += thing
        elif dataclasses.is_dataclass(thing):
            names |= {thing.attribute} if hasattr(thing, "attribute") else set()
            todo += [getattr(thing, field.name) for field in dataclasses.fields(thing)]
    return names
