"""Small releases made from people who are known: whatever is published about them is true, or deliberately not; and the
attack on them."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from privet.attacks.finding import Finding
from privet.attacks.proofs.work import Work
from privet.attacks.release.domain import ReleaseDomain
from privet.attacks.release.statistics import (  # fmt: skip
    EVERYBODY,
    Between,
    Knowledge,
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
from privet.attacks.tables.decide import Decider
from privet.attacks.tables.disclosure import learned
from privet.attacks.tables.outcome import AttackOutcome
from privet.attacks.tables.reconstruction import Reconstruction, solve
from privet.attacks.tables.suppressed import HiddenCell, suppressed
from privet.core.evaluate import evaluate
from privet.core.expression import And, Column, Compare, Expression, Literal, Not, Or, Relation
from support.table_oracle import published

MOST_RECORDS = 8
MOST_PEOPLE = 4
SECONDS = 60
LIMIT = 2000
Person = dict[str, Any]


@dataclass(frozen=True)
class Made:
    tables: Tables
    people: list[Person]


def exactly(number: object) -> Between:
    return Between(Fraction(str(number)), Fraction(str(number)))


def equal(name: str, value: object) -> Expression:
    return Compare(Relation.EQUAL, Column(name), Literal(value))  # type: ignore[arg-type]


NUMBERS = st.lists(st.fractions(-3, 3, max_denominator=2) | st.integers(0, 60).map(Fraction), min_size=1, max_size=4)


@st.composite
def attributes(draw: st.DrawFn) -> dict[str, tuple[Any, ...]]:
    """Up to three: one text, one truth, one number, whose values stand in no order."""
    numbers = draw(NUMBERS)
    made: dict[str, tuple[Any, ...]] = {"x": tuple(dict.fromkeys(numbers))}
    if draw(st.booleans()):
        made["sex"] = ("F", "M")
    if math.prod(map(len, made.values())) * 2 <= MOST_RECORDS and draw(st.booleans()):
        made["old"] = (True, False)
    return dict(draw(st.permutations(list(made.items()))))


@st.composite
def conditions(draw: st.DrawFn, values: dict[str, tuple[Any, ...]], depth: int = 2) -> Expression:
    shape = draw(st.sampled_from(["compare", "compare", "and", "or", "not"])) if depth else "compare"
    if shape == "compare":
        name = draw(st.sampled_from(list(values)))
        relations = list(Relation) if name == "x" else [Relation.EQUAL, Relation.UNEQUAL]
        return Compare(draw(st.sampled_from(relations)), Column(name), Literal(draw(st.sampled_from(values[name]))))
    if shape == "not":
        return Not(draw(conditions(values, depth - 1)))
    both = draw(conditions(values, depth - 1)), draw(conditions(values, depth - 1))
    return And(both) if shape == "and" else Or(both)


@st.composite
def around(draw: st.DrawFn, number: Fraction, *, exact: bool = False) -> Between:
    """An interval that has the true number in it: published as it is, rounded, as a bound, or vague."""
    how = "exact" if exact else draw(st.sampled_from(["exact", "exact", "rounded", "below", "above", "vague"]))
    if how == "rounded":
        step = draw(st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(3), Fraction(5)]))
        shown = round(number / step) * step
        return Between(shown - step / 2, shown + step / 2)
    less, more = (draw(st.fractions(0, 3, max_denominator=3)) for _ in range(2)) if how != "exact" else (0, 0)
    return Between(None if how == "below" else number - less, None if how == "above" else number + more)


@st.composite
def measures(draw: st.DrawFn, values: dict[str, tuple[Any, ...]]) -> Measure:
    """Without its value yet."""
    level = draw(st.sampled_from([Fraction(1, 2)] * 3 + [Fraction(1, 4), Fraction(9, 10), Fraction(0), Fraction(1)]))
    every = Between()
    return draw(
        st.sampled_from(
            [
                Total("x", every), Mean("x", every), Mean("x", every), Smallest("x", every), Largest("x", every),
                Quantile("x", every, level), Quantile("x", every, level),
                Quantile("x", every, level, discrete=True),
                Share(every, draw(st.just(EVERYBODY) | conditions(values, 1))),
            ]
        )
    )  # fmt: skip


@st.composite
def statistics(draw: st.DrawFn, name: str, values: dict[str, tuple[Any, ...]], people: list[Person]) -> Statistic:
    """What is true of these people. A group with no mean gets none published."""
    where = draw(conditions(values))
    empty = Statistic(
        name=name, where=where, count=Between(), measures=tuple(draw(st.lists(measures(values), max_size=2)))
    )
    (_, size), *numbers = published(empty, people)
    said = [
        _with(measure, draw(around(number)))
        for measure, number in numbers
        if number is not None and not isinstance(measure, Between)
    ]
    counted = draw(st.sampled_from(["exact", "exact", "range", "none" if said else "exact"]))
    count = None if counted == "none" else draw(around(size, exact=counted == "exact"))
    return Statistic(name=name, where=where, count=count, measures=tuple(said))


def _with(measure: Measure, value: Between) -> Measure:
    match measure:
        case Share(of=of):
            return Share(value, of)
        case Quantile(attribute, _, level, discrete):
            return Quantile(attribute, value, level, discrete)
        case _:
            return type(measure)(measure.attribute, value)


@st.composite
def releases(draw: st.DrawFn, most: int = 4) -> Made:
    """True statistics about a few people, with how many there are, exactly or at most."""
    values = draw(attributes())
    rules = {"rule": draw(conditions(values))} if draw(st.integers(0, 2)) == 0 else {}
    every = [dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())]
    allowed = [record for record in every if all(evaluate(rule, record) is True for rule in rules.values())]
    if not allowed:
        rules, allowed = {}, every
    people = draw(st.lists(st.sampled_from(allowed), max_size=MOST_PEOPLE))
    vague = draw(st.integers(0, 4)) == 0
    number = Fraction(len(people))
    total = Statistic(name="total", count=Between(number - vague, number + vague))
    listed = [draw(statistics(f"s{at}", values, people)) for at in range(draw(st.integers(1, most)))]
    return Made(Tables(attributes=values, statistics=(total, *listed), rules=rules), people)


@st.composite
def lies(draw: st.DrawFn) -> Tables:
    """Two true releases about different people, as if they were about the same: mostly a contradiction."""
    made = draw(releases())
    values = dict(made.tables.attributes)
    every = [dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())]
    others = draw(st.lists(st.sampled_from(every), max_size=MOST_PEOPLE))
    wrong = [draw(statistics(f"w{at}", values, others)) for at in range(draw(st.integers(1, 2)))]
    known = made.tables
    return Tables(attributes=values, statistics=(*known.statistics, *wrong), rules=known.rules)


def solved(tables: Tables) -> Reconstruction:
    return solve(tables, Work(SECONDS), LIMIT)


def disclosed(found: Reconstruction, *public: str, seconds: float = SECONDS) -> list[Finding]:
    """What is learned about known people."""
    decider = Decider(found)
    facts = learned(found, Knowledge(public=public), decider, Work(seconds))
    return list(AttackOutcome(found, facts, (), decider).facts())


def hidden(tables: Tables, seconds: float = SECONDS) -> tuple[HiddenCell, ...]:
    found = solved(tables)
    return suppressed(found, Decider(found), Work(seconds))


def records_of(domain: ReleaseDomain, group: Any) -> list[tuple[Any, ...]]:
    return [tuple(domain.attributes[n][domain.codes(n)[at]] for n in domain.names) for at in group.tolist()]
