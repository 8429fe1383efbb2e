"""Answers of a vault as a release to attack. They are noisy, so nothing about them is certain for sure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from privet.attacks.release.domain import value_text
from privet.attacks.release.statistics import EVERYBODY, Between, Mean, Measure, Statistic, Tables, Total
from privet.core.expression import And, Column, Compare, Expression, IsNull, Literal, Relation, Value
from privet.core.plan import Aggregate, Function, Plan
from privet.estimates.estimate import Row
from privet.estimates.moments import Estimate

if TYPE_CHECKING:
    from privet.answer import Answer

SHARE = Fraction(95, 100)


def tables_of_answers(
    answers: Iterable[Answer], attributes: Mapping[str, tuple[Value, ...]], share: object = SHARE, *, most: int
) -> Tables:
    """Every published number as the interval that holds the exact one with probability `share`. `most` is how many
    people an attacker thinks there are at most. Sums and averages of a column are used, those of expressions not."""
    listed = [Statistic(name="at most", count=Between(Fraction(0), Fraction(most)))]
    for number, answer in enumerate(answers, 1):
        plan = answer.priced.plan
        for place, row in enumerate(answer.leveled(share), 1):
            statistics = _cell(plan, row)
            listed += [_named(one, f"answer {number}, row {place}") for one in statistics]
    return Tables(attributes=dict(attributes), statistics=tuple(listed), confidence=_together(share, len(listed) - 1))


def _together(share: object, number: int) -> Fraction:
    """At least so sure that all intervals hold at once."""
    return max(Fraction(0), 1 - number * (1 - Fraction(str(share))))


def _named(statistic: Statistic, where: str) -> Statistic:
    return Statistic(
        name=f"{where}: {statistic.name}", where=statistic.where, count=statistic.count, measures=statistic.measures
    )


def _cell(plan: Plan, row: Row) -> list[Statistic]:
    """One statistic an aggregate that can be used. A key that is rolled up is no condition."""
    line = row.line
    terms: list[Expression] = [] if plan.where is None else [plan.where]
    words = []
    for key in (key for key in plan.keys if key.name in row.level):
        if key.name not in line or (plan.other is not None and line[key.name] == plan.other):
            return []  # nobody knows which group this is, or it is all the others together
        value = line[key.name]
        assert not isinstance(value, Estimate)  # noqa: S101  keys are public and exact
        same = IsNull(key.value) if value is None else Compare(Relation.EQUAL, key.value, Literal(value))
        terms.append(same)
        words.append(f"{key.name} {value_text(value)}")
    where = And(tuple(terms)) if len(terms) > 1 else terms[0] if terms else EVERYBODY
    group = ", ".join(words) or "everybody"
    listed = []
    for aggregate in plan.aggregates:
        found = line.get(aggregate.name)
        if isinstance(found, Estimate):
            listed += _statistic(aggregate, found, where, group)
    return listed


def _statistic(aggregate: Aggregate, found: Estimate, where: Expression, group: str) -> list[Statistic]:
    if found.low is None or found.high is None:
        return []
    value, name = Between(found.low, found.high), f"{aggregate.name} of {group}"
    match aggregate:
        case Aggregate(function=Function.COUNT, value=None):
            return [Statistic(name=name, where=where, count=Between(max(found.low, Fraction(0)), found.high))]
        case Aggregate(function=Function.SUM, value=Column(column)):
            measure: Measure = Total(column, value)
        case Aggregate(function=Function.AVG, value=Column(column)):
            measure = Mean(column, value)
        case _:
            return []
    return [Statistic(name=name, where=where, measures=(measure,))]
