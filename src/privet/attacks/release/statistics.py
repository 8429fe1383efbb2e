"""Published tables as data: what a record can be, and what was said about all records together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal as Choice

from privet.core.expression import Expression, Literal, Value

EVERYBODY = Literal(True)
Mark = Choice["", "primary", "complementary", "rounded", "empty"]  # "": suppressed, and nothing is said about why


@dataclass(frozen=True, slots=True)
class Between:
    """What a published number says about the true one: it lies from low to high, both included. None: no bound."""

    low: Fraction | None = None
    high: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of a number over a group."""

    attribute: str
    value: Between


@dataclass(frozen=True, slots=True)
class Mean:
    attribute: str
    value: Between


@dataclass(frozen=True, slots=True)
class Quantile:
    """The median is level 1/2. Between two values it interpolates; a discrete one is the smallest value that at least
    `level` of the group do not exceed."""

    attribute: str
    value: Between
    level: Fraction = Fraction(1, 2)
    discrete: bool = False


@dataclass(frozen=True, slots=True)
class Smallest:
    attribute: str
    value: Between


@dataclass(frozen=True, slots=True)
class Largest:
    attribute: str
    value: Between


@dataclass(frozen=True, slots=True)
class Share:
    """Which part of the group `of` lies in this one: 0.25 is 25 %."""

    value: Between
    of: Expression = EVERYBODY


Measure = Total | Mean | Quantile | Smallest | Largest | Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """What was published about the records for which `where` is true. Its name is unique in a release; `table` names
    the table that it is a cell of, if it is one. `mark` says why a count is not exact: it was suppressed (by the rule,
    or to protect other cells), rounded, or its cell was left empty. `hides` names a suppressed number that is no count:
    "percent", "mean age". Of a percentage, `count` is that of the people behind it."""

    name: str
    table: str = ""
    where: Expression = EVERYBODY
    count: Between | None = None
    mark: Mark = ""
    measures: tuple[Measure, ...] = ()
    hides: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Attributes with all values that anybody can have (texts, truths or exact numbers); statistics; and rules that are
    true of every record, whoever is counted. `public` are attributes that anybody can see of a person. With
    `confidence`, the statistics are noisy, and all of them hold with this probability only. `unread` names what else
    the workbook holds, `ignored` what the owner says is no part of the release, `questions` what a draft left open."""

    attributes: Mapping[str, tuple[Value, ...]]
    statistics: tuple[Statistic, ...]
    rules: Mapping[str, Expression] = field(default_factory=dict)
    public: tuple[str, ...] = ()
    confidence: Fraction | None = None
    unread: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What an attacker knows besides the release.

    `public` are attributes that anybody can see of a person, besides those that the release names. `truth` are the real
    records, if the owner wants the attack scored; `control` are records of people who are not in the data;
    `population` is a sample of such people that the attacker may learn from. Each is a list of records: attribute ->
    value.
    """

    public: tuple[str, ...] = ()
    truth: tuple[Mapping[str, Value], ...] | None = None
    control: tuple[Mapping[str, Value], ...] | None = None
    population: tuple[Mapping[str, Value], ...] | None = None
