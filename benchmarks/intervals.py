"""How often the printed 95 % intervals hold the exact value: every kind, on worst-case data, with the engine's noise.

    python benchmarks/intervals.py [--tiny] [--processes 2] [--json FILE]

Each group of a table is one trial of a plain interval: exact numbers of a few rows at the ends of their ranges, noise
of the real samplers, and `estimates.estimate.rows_of`; of several data sets the worst is measured anew. Rows that were
chosen by noise are counted table by table. "Held" is the share of printed intervals that hold; where they are meant to
hold at once also the share of tables in which all do. A kind fails if it is more than three standard errors below 95 %.
An exact value that is NULL is not counted. A ratio without an interval may be anything, which holds: an interval is
only left out where the noisy divisor is near 0.

"Shrink" compares the width with the shortest valid one: every interval of a kind could shrink to this share of its
width, around its middle, and 95 % would still hold on these data. It is the 95 % quantile of the distance between the
exact value and the middle, over the half width. It is not a promise: on other data the share is another one, and a
discrete law has no interval between two whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from evidence import Evidence, mapped, options, parse

from privet.backends import Spread
from privet.core.accountant import Budget
from privet.core.evaluate import evaluate
from privet.core.expression import (
    And,
    Arithmetic,
    Case,
    Column,
    Compare,
    Exponential,
    Expression,
    IsNull,
    Literal,
    Or,
    Power,
    Quotient,
    Relation,
    Root,
    Sign,
)
from privet.core.laws import Choices, DiscreteGaussian, DiscreteLaplace, Top
from privet.core.measures import Measure, Role
from privet.core.parts import Part
from privet.core.plan import Aggregate, Computed, Function, Key, Order, Plan, Total
from privet.core.ranks import rank, rows_off
from privet.core.schema import Category, Integer, Kind, Text
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.core.weights import weighted
from privet.engine import FreshNoise
from privet.estimates.accuracy import half_width
from privet.estimates.estimate import Row, rows_of
from privet.estimates.moments import Estimate
from privet.estimates.priced import Priced, outline
from privet.estimates.pricing import Price, ask
from privet.estimates.publication import AS_PRINTED, AS_RELEASED, Publication
from privet.noise.fast import sampler
from privet.noise.ranked import RankLoss, choose_by_rank, flip_by_rank
from privet.noise.top import choose_top
from privet.stats.binomial import share as share_of
from privet.stats.intervals import Interval, difference
from privet.stats.roc import roc

SHARE = Fraction(95, 100)
ONE = Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE)
PRICES = {"Laplace": Price(epsilon=1), "Gaussian": Price(rho="0.5")}
LARGE = {"Laplace": Price(epsilon="0.1"), "Gaussian": Price(rho="0.005")}
N, PEOPLE = Aggregate(name="n", function=Function.COUNT), Aggregate(name="n", function=Function.COUNT_DISTINCT)
Rows = Sequence[tuple[int | None, int | None, int | None]]  # x, y and a weight


class Hits(NamedTuple):
    """How many intervals hold, of how many, and to which share of their width they could shrink."""

    held: int
    printed: int
    shrink: float | None = None


DATA: dict[str, Rows] = {  # of one group
    "nobody": (),
    "one at the end": ((100, 50, 4),),
    "two at both ends": ((-20, -50, 0), (100, 50, 4)),
    "one missing": ((None, 50, 4), (-20, None, 1)),
    "five equal": ((100, 50, 4),) * 5,
    "forty at the ends": ((-20, 50, 4), (100, -50, 0)) * 20,
    "400 in the middle": ((40, 0, 2), (41, 1, 1)) * 200,
    "one outlier of 400": ((-20, -50, 1),) * 399 + ((100, 50, 4),),
}


@dataclass(frozen=True, kw_only=True)
class Kinds:
    """So many groups with the same rows, each of them a trial."""

    groups: int
    bounds: Bounds = ONE

    @property
    def names(self) -> list[str]:
        return [f"g{number:03}" for number in range(self.groups - 1)]  # and missing

    @property
    def declared(self) -> dict[str, Kind]:
        numbers = {"x": Integer(-20, 100), "y": Integer(-50, 50), "w": Integer(0, 4)}
        return {"g": Category(self.names), "h": Category(["a", "b", "c", "d"]), "t": Text(), **numbers}

    def asked(self, price: Price, *aggregates: Aggregate, weight: bool = False, **more: Any) -> Priced:
        keys = tuple(Key(name=name, value=Column(name)) for name in more.pop("keys", ("g",)))
        names = [item.name for item in (*keys, *aggregates, *more.get("computed", ()))]
        plan = Plan(**{"table": "t", "keys": keys, "aggregates": aggregates, "outputs": tuple(names), **more})
        return ask(outline(weighted(plan, "w") if weight else plan, self.declared, self.bounds), Budget(3, 1e-9), price)


def of(function: Function, name: str = "v", column: str = "x", second: str | None = None) -> Aggregate:
    return Aggregate(
        name=name, function=function, value=Column(column), second=None if second is None else Column(second)
    )


def of_both(function: Function, name: str, column: str) -> Aggregate:
    """Of the rows that have x and y, as SQL's regressions take them."""
    lacking = Or((IsNull(Column("x")), IsNull(Column("y"))))
    return Aggregate(name=name, function=function, value=Case(((lacking, Literal(None)),), Column(column)))


@cache
def exact(measure: Measure, rows: Rows) -> int:
    """What a measure is before noise, from its definition."""
    if measure.role is Role.PEOPLE or (measure.role is Role.COUNT and measure.value is None):
        return len(rows)
    assert measure.value is not None
    values = [evaluate(measure.value, dict(zip("xyw", map(number, row), strict=True))) for row in rows]
    there = [value for value in values if value is not None]
    if measure.role is Role.DISTINCT:
        return len(set(there))
    if measure.role is Role.COUNT:
        return len(there)
    steps = [int(Fraction(value) / measure.step) - measure.center for value in there]  # type: ignore[arg-type]
    return sum(step**2 for step in steps) if measure.role is Role.SQUARES else sum(steps)


def number(value: int | None) -> Fraction | None:
    return None if value is None else Fraction(value)


def truth(aggregate: Aggregate, rows: Rows) -> Fraction | float | None:
    """By the textbook."""
    function = aggregate.function
    if aggregate.value is None:
        return Fraction(len(rows))
    values = [evaluate(aggregate.value, dict(zip("xyw", map(number, row), strict=True))) for row in rows]
    xs = [Fraction(value) for value in values if value is not None]  # type: ignore[arg-type]
    match function:
        case Function.COUNT:
            return Fraction(len(xs))
        case Function.COUNT_DISTINCT:
            return Fraction(len(set(xs)))
        case Function.SUM:
            return sum(xs, Fraction(0))
    pairs = [(Fraction(x), Fraction(y)) for x, y, _ in rows if x is not None and y is not None]
    if aggregate.second is not None:
        return _of_pairs(function, pairs)
    if not xs or (function in (Function.VAR_SAMP, Function.STDDEV_SAMP) and len(xs) < 2):
        return None
    mean = sum(xs) / len(xs)
    if function is Function.AVG:
        return mean
    squares = sum((x - mean) ** 2 for x in xs)
    variance = squares / (len(xs) - (function in (Function.VAR_SAMP, Function.STDDEV_SAMP)))
    return variance if function in (Function.VAR_POP, Function.VAR_SAMP) else math.sqrt(variance)


def _of_pairs(function: Function, pairs: Sequence[tuple[Fraction, Fraction]]) -> Fraction | float | None:
    n, sample = len(pairs), function is Function.COVAR_SAMP
    if n < 1 + sample:
        return None
    a, b = (sum(side) / n for side in zip(*pairs, strict=True))
    both = sum((x - a) * (y - b) for x, y in pairs)
    if function is not Function.CORR:
        return both / (n - sample)
    spread = sum((x - a) ** 2 for x, _ in pairs) * sum((y - b) ** 2 for _, y in pairs)
    return float(both) / math.sqrt(spread) if spread else None


def noisy(asked: Priced, cells: Sequence[Rows]) -> list[list[int]]:
    """One vector for each part, as the engine would release it."""
    found = []
    for part in asked.parts:
        vector: list[int] = []
        for measure in sides(part.measure):
            added = sampler(part.law).draw(len(cells)).tolist()  # type: ignore[arg-type]
            known = {id(rows): exact(measure, rows) for rows in cells}
            vector += [known[id(rows)] + more for rows, more in zip(cells, added, strict=True)]
        found.append(vector)
    return found


def sides(measure: Measure) -> list[Measure]:
    """The two sums of a pair: above the lowest value and, with the opposite sign, above the highest; of squares, those
    of both and, between them, twice the product."""
    if measure.numbers == 1:
        return [measure]
    assert measure.value is not None
    opposite = Arithmetic(Sign.MULTIPLY, Literal(Fraction(-1)), measure.value)
    below = replace(measure, value=opposite, center=-measure.center - measure.high)
    if measure.role is Role.PAIR:
        return [replace(one, role=Role.SUM) for one in (measure, below)]
    step, low = measure.step, Literal(measure.center * measure.step)
    high = Literal((measure.center + measure.high) * step)
    u, v = Arithmetic(Sign.SUBTRACT, measure.value, low), Arithmetic(Sign.SUBTRACT, high, measure.value)
    product = Arithmetic(Sign.MULTIPLY, Literal(Fraction(2)), Arithmetic(Sign.MULTIPLY, u, v))
    between = replace(measure, role=Role.SUM, value=product, center=0, step=step**2)
    return [measure, between, below]


def distance(cell: object, true: Fraction | float | None) -> float | None:
    """In half widths; above 1 where the interval does not hold. None where there is no interval, or nothing to hold;
    floats are right to a billionth."""
    if true is None or not isinstance(cell, Estimate) or cell.low is None or cell.high is None:
        return None
    return from_middle(cell.low, cell.high, true, 0 if isinstance(true, Fraction | int) else Fraction(1, 10**9))


def from_middle(low: Any, high: Any, true: Any, slack: Any = 0) -> float:
    """|true - middle| / half width, above 1 exactly where `true` is not between low and high."""
    low, high, true = (Fraction(part) for part in (low - slack, high + slack, true))
    if low <= true <= high:
        return float(abs(2 * true - low - high) / (high - low)) if low < high else 0.0
    return max(float(abs(2 * true - low - high) / (high - low)), 1 + 1e-9) if low < high else math.inf


def added(distances: Iterable[float | None]) -> Hits:
    seen = sorted(one for one in distances if one is not None)
    shrink = seen[math.ceil(SHARE * len(seen)) - 1] if seen else None
    return Hits(sum(one <= 1 for one in seen), len(seen), shrink)


# Plain intervals: one trial a group


@dataclass(frozen=True, kw_only=True)
class Plain:
    name: str
    aggregates: tuple[Aggregate, ...]
    shown: str = "v"
    computed: tuple[Computed, ...] = ()
    totals: tuple[Total, ...] = ()  # of all groups, which have the same rows
    weight: bool = False
    publication: Publication = AS_RELEASED

    @property
    def data(self) -> Sequence[str]:
        """Where noise is added to a number and nothing else is done, it does not matter what the number is."""
        added_to = {Function.COUNT, Function.COUNT_DISTINCT, Function.SUM}
        simple = added_to.issuperset(one.function for one in self.aggregates) and not self.computed
        return ("forty at the ends",) if simple and self.publication == AS_RELEASED else tuple(DATA)


def _ratio(top: str, bottom: str) -> Computed:
    return Computed(name="r", value=Quotient(Column(top), Column(bottom)))


def _real(value: Expression) -> Computed:
    return Computed(name="r", value=value)


COUNTED = of(Function.COUNT, "n")
PART = Arithmetic(Sign.MULTIPLY, Column("v"), Literal(Fraction(1, 100)))
SPREADS = (Function.VAR_POP, Function.VAR_SAMP, Function.STDDEV_POP, Function.STDDEV_SAMP)
PAIRS = (Function.COVAR_POP, Function.COVAR_SAMP, Function.CORR)
RISE = Arithmetic(Sign.MULTIPLY, Quotient(Column("v"), Column("s")), Column("b"))
LARGER = Compare(Relation.GREATER, Column("n"), Literal(Fraction(3)))
PLAIN = (
    Plain(name="COUNT(*)", aggregates=(N,), shown="n"),
    Plain(name="COUNT(x)", aggregates=(COUNTED,), shown="n"),
    Plain(name="COUNT(DISTINCT unit)", aggregates=(PEOPLE,), shown="n"),
    Plain(name="COUNT(DISTINCT x)", aggregates=(of(Function.COUNT_DISTINCT),)),
    Plain(name="SUM alone", aggregates=(of(Function.SUM),)),
    Plain(name="SUM beside its COUNT", aggregates=(COUNTED, of(Function.SUM))),
    Plain(name="SUM of a range around 0", aggregates=(of(Function.SUM, column="y"),)),
    Plain(name="AVG", aggregates=(of(Function.AVG),)),
    Plain(name="AVG beside COUNT and SUM", aggregates=(COUNTED, of(Function.SUM, "s"), of(Function.AVG))),
    *(Plain(name=str(one), aggregates=(of(one),)) for one in SPREADS),
    *(Plain(name=str(one), aggregates=(of(one, second="y"),)) for one in PAIRS),
    Plain(name="SUM / COUNT", aggregates=(COUNTED, of(Function.SUM)), shown="r", computed=(_ratio("v", "n"),)),
    Plain(
        name="AVG less AVG",
        aggregates=(of(Function.AVG), of(Function.AVG, "y", "y")),
        shown="r",
        computed=(Computed(name="r", value=Arithmetic(Sign.SUBTRACT, Column("v"), Column("y"))),),
    ),
    Plain(
        name="CASE of a count",
        aggregates=(N, of(Function.AVG)),
        shown="r",
        computed=(Computed(name="r", value=Case(((LARGER, Column("v")),), Column("n"))),),
    ),
    Plain(
        name="share of a total",
        aggregates=(N,),
        shown="r",
        computed=(_ratio("n", "whole"),),
        totals=(Total(name="whole", aggregate="n"),),
    ),
    Plain(
        name="REGR_SLOPE",
        aggregates=(of(Function.COVAR_POP, second="y"), of(Function.VAR_POP, "s")),
        shown="r",
        computed=(_ratio("v", "s"),),
    ),
    Plain(
        name="REGR_INTERCEPT",
        aggregates=(
            of_both(Function.AVG, "a", "y"),
            of(Function.COVAR_POP, second="y"),
            of_both(Function.VAR_POP, "s", "x"),
            of_both(Function.AVG, "b", "x"),
        ),
        shown="r",
        computed=(Computed(name="r", value=Arithmetic(Sign.SUBTRACT, Column("a"), RISE)),),
    ),
    Plain(
        name="REGR_R2",
        aggregates=(of(Function.CORR, second="y"),),
        shown="r",
        computed=(_real(Power(Column("v"), 2)),),
    ),
    Plain(name="EXP(AVG / 100)", aggregates=(of(Function.AVG),), shown="r", computed=(_real(Exponential(PART)),)),
    Plain(name="SQRT(COUNT)", aggregates=(COUNTED,), shown="r", computed=(_real(Root(Column("n"), 2)),)),
    Plain(name="weighted COUNT", aggregates=(N,), shown="n", weight=True),
    Plain(name="weighted SUM", aggregates=(of(Function.SUM),), weight=True),
    Plain(name="weighted AVG", aggregates=(of(Function.AVG),), weight=True),
    Plain(name="COUNT in print", aggregates=(N,), shown="n", publication=AS_PRINTED),
    Plain(name="SUM in print", aggregates=(of(Function.SUM),), publication=AS_PRINTED),
)


def plain(case: Plain, price: Price, kinds: Kinds, tables: int, rows: Rows) -> Hits:
    asked = kinds.asked(price, *case.aggregates, computed=case.computed, totals=case.totals, weight=case.weight)
    read = asked.plan
    known: dict[str, Any] = {one.name: truth(one, rows) for one in read.aggregates}
    known |= {total.name: kinds.groups * known[total.aggregate] for total in read.totals}
    for column in read.computed:
        known[column.name] = evaluate(column.value, known)
    hits: list[float | None] = []
    for _ in range(tables):
        found = rows_of(asked, noisy(asked, [rows] * kinds.groups), SHARE, case.publication)
        hits += [distance(row.line[case.shown], known[case.shown]) for row in found]
    true = known[case.shown]
    return added(hit if hit is not None or true is None or not read.computed else 0.0 for hit in hits)


# Totals: one trial a group of several


def totals(price: Price, function: Function, kinds: Kinds, tables: int, rows: Rows) -> Hits:
    """Over five cells each, "h" and missing."""
    aggregate = N if function is Function.COUNT else of(function, "n")
    asked = kinds.asked(price, aggregate, keys=("g", "h"), levels=(("g", "h"), ("g",)))
    hits: list[float | None] = []
    for _ in range(tables):
        found = rows_of(asked, noisy(asked, [rows] * (5 * kinds.groups)), SHARE)
        hits += [distance(row.line["n"], truth(aggregate, tuple(rows) * 5)) for row in found if row.level == ("g",)]
    return added(hits)


# Keys that are not public, given that they are shown


KEYS = {  # how many thresholds, half widths and people more a key has
    "one person": (0, 0, 1),
    "one below the threshold": (1, 0, -1),
    "at the threshold": (1, 0, 0),
    "a half width above": (1, 1, 0),
    "far above": (1, 3, 0),
}


def keys(law: str, place: tuple[int, int, int], tables: int, kinds: Kinds) -> Hits:
    """Given that noise lifts the number of people over the threshold."""
    asked = kinds.asked(replace(PRICES[law], delta="1e-10"), PEOPLE, keys=("t",))
    part, (thresholds, widths, more) = asked.parts[-1], place
    assert part.threshold is not None
    people = thresholds * part.threshold + widths * half_width(part.law, SHARE) + more  # type: ignore[arg-type]
    draws = lifted(part.law, max(part.threshold - people, 0), 4 * tables * kinds.groups)  # type: ignore[arg-type]
    shown = [int(people + noise) for noise in draws if people + noise >= part.threshold][: tables * kinds.groups]
    table = asked.showing([(f"t{place}",) for place in range(len(shown))])
    vectors = [[0] * len(shown) for _ in asked.parts[:-1]] + [shown]
    return added(distance(row.line["n"], Fraction(people)) for row in rows_of(table, vectors, SHARE))


def lifted(law: DiscreteLaplace | DiscreteGaussian, lacking: int, size: int) -> np.ndarray[Any, Any]:
    """Noise, given that it is not below `lacking`."""
    if not lacking:
        return np.asarray(sampler(law).draw(size))
    if isinstance(law, DiscreteLaplace):  # what is above a limit has the law of what is above 0: noise has no memory
        draws = np.asarray(sampler(law).draw(size))
        return draws[draws >= 0] + lacking
    values = lacking + np.arange(12 * math.ceil(math.sqrt(law.variance)))
    weights = np.exp((lacking**2 - values.astype(float) ** 2) / (2 * float(law.variance)))
    return np.random.default_rng(20).choice(values, size, p=weights / weights.sum())


def other(price: Price, tables: int, kinds: Kinds, rows: Rows) -> Hits:
    """The row of the rest, and two groups beside it that have far more people than the threshold."""
    asked = kinds.asked(replace(price, delta="1e-10"), N, keys=("t",), other="elsewhere")
    table = asked.showing([("here",), ("there",)])
    people, law = 10 * table.parts[-1].threshold, table.parts[-1].law  # type: ignore[operator]
    true = {"here": people, "there": people, "elsewhere": len(rows)}
    hits: list[float | None] = []
    for _ in range(tables * kinds.groups // 3):
        counts = noisy(replace(table, parts=table.parts[:-1]), [rows] * 3)
        shown = [people + int(more) for more in sampler(law).draw(2)]  # type: ignore[arg-type]
        found = rows_of(table, [*counts, shown], SHARE)
        hits += [distance(row.line["n"], Fraction(true[row.line["t"]])) for row in found]  # type: ignore[index]
    return added(hits)


# Rows that noise chose: one trial a table


@dataclass(frozen=True, kw_only=True)
class Chosen:
    name: str
    more: Mapping[str, Any]
    aggregates: tuple[Aggregate, ...] = (N,)
    shown: str = "n"
    publication: Publication = AS_RELEASED
    at_once: bool = True  # the intervals of a table hold together, not only each by itself


def top(name: str = "n", limit: int | None = 3, **more: Any) -> dict[str, Any]:
    return {"order": (Order(name=name, descending=True),), "limit": limit, **more}


def least(number: int, relation: Relation = Relation.GREATER_EQUAL) -> Expression:
    return Compare(relation, Column("n"), Literal(Fraction(number)))


FEW = 40  # groups
MIDDLE = 40  # rows of every group: all are equal
CHOSEN = (
    Chosen(name="ORDER BY n DESC LIMIT 3", more=top()),
    Chosen(name="ORDER BY n LIMIT 1", more={"order": (Order(name="n"),), "limit": 1}),
    Chosen(name="ORDER BY n DESC OFFSET all but 3", more=top(limit=None, offset=-3)),
    Chosen(name="ORDER BY n DESC LIMIT 3, in print", more=top(), publication=AS_PRINTED),
    Chosen(name="ORDER BY AVG LIMIT 3: AVG", more=top("v"), aggregates=(COUNTED, of(Function.AVG)), shown="v"),
    Chosen(name="ORDER BY AVG LIMIT 3: its COUNT", more=top("v"), aggregates=(COUNTED, of(Function.AVG))),
    Chosen(name="ORDER BY n LIMIT 3: another SUM", more=top(), aggregates=(N, of(Function.SUM, "v", "y")), shown="v",
           at_once=False),
    Chosen(name="ORDER BY n LIMIT 3 with totals", more=top(keys=("g",), levels=(("g",), ()))),
    Chosen(name="HAVING n >= what all have", more={"having": least(MIDDLE)}, at_once=False),
    Chosen(name="HAVING n >= 3 scales more", more={"having": least(MIDDLE + 3)}, at_once=False),
    Chosen(name="HAVING n > 4 scales more, its AVG", more={"having": least(MIDDLE + 4, Relation.GREATER)},
           aggregates=(COUNTED, of(Function.AVG)), shown="v"),
    Chosen(name="HAVING n >= 2 scales more, LIMIT 1", more=top(limit=1, having=least(MIDDLE + 2))),
    Chosen(name="HAVING n BETWEEN", more={"having": And((least(MIDDLE), least(MIDDLE + 2, Relation.LESS_EQUAL)))}),
    Chosen(name="LIMIT 3 by key", more={"order": (Order(name="g"),), "limit": 3}, at_once=False),
)  # fmt: skip


def chosen(case: Chosen, price: Price, tables: int, kinds: Kinds) -> tuple[Hits, Hits | None]:
    """Of all intervals that are shown, and of tables those in which all of them hold."""
    more = dict(case.more)
    if more.get("offset", 0) < 0:
        more["offset"] += kinds.groups
    asked = kinds.asked(price, *case.aggregates, **more)
    rows: Rows = ((-20, 50, 1), (100, -50, 4)) * (MIDDLE // 2)
    each, whole = [], []
    for _ in range(tables):
        found = rows_of(asked, noisy(asked, [rows] * kinds.groups), SHARE, case.publication)
        hits = [
            hit
            for row in found
            if (hit := distance(row.line[case.shown], _true(case, asked, row, rows, kinds))) is not None
        ]
        each += hits
        whole.append(max(hits, default=0.0))
    return added(each), (added(whole) if each and case.at_once else None)


def _true(case: Chosen, asked: Priced, row: Row, rows: Rows, kinds: Kinds) -> Fraction | float | None:
    aggregate = next(one for one in asked.plan.aggregates if one.name == case.shown)
    return truth(aggregate, rows if row.level else tuple(rows) * kinds.groups)


FIRST = (  # one unit may be in all groups: there a choice errs less
    Chosen(name="LIMIT 3, groups chosen first", more=top()),
    Chosen(name="LIMIT 3, groups chosen first, their AVG", more=top(), aggregates=(N, of(Function.AVG)), shown="v"),
    Chosen(name="LIMIT 3, groups chosen first by a SUM", more=top("v"), aggregates=(of(Function.SUM),), shown="v"),
)


def first(case: Chosen, price: Price, tables: int, kinds: Kinds) -> Hits:
    """Groups that are chosen by their scores and measured anew: each interval by itself. All groups have equal rows but
    one, which has a row more in each table than in the one before."""
    wide = replace(kinds, groups=max(kinds.groups, FEW))
    wide = replace(wide, bounds=replace(ONE, groups=wide.groups))
    asked = wide.asked(price, *case.aggregates, **case.more)
    *parts, last = asked.parts
    assert isinstance(last.law, Top)
    rows: Rows = ((-20, 50, 1), (100, -50, 4)) * (MIDDLE // 2)
    aggregate = next(one for one in asked.plan.aggregates if one.name == case.shown)
    score = replace(last.measure, role=last.measure.score, score=None)  # type: ignore[arg-type]
    hits: list[float | None] = []
    for table in range(tables):
        cells: list[Rows] = [rows, (*rows, *((100, 50, 4),) * (table % 20)), *[rows] * (wide.groups - 2)]
        places = sorted(choose_top([exact(score, tuple(cell)) for cell in cells], last.law))
        keys = list(asked.cells.keys())
        shown = asked.showing([keys[place] for place in places])
        vectors = noisy(replace(asked, parts=tuple(parts)), [cells[place] for place in places])
        true = {keys[place]: truth(aggregate, cells[place]) for place in places}
        for row in rows_of(shown, [*vectors, []], SHARE, case.publication):
            hits.append(distance(row.line[case.shown], true[(row.line["g"],)]))  # type: ignore[index]
    return added(hits)


# Quantiles: by how many rows the rank is off


def ranks(quantile: Fraction | None, trials: int, values: Sequence[int], kinds: Kinds) -> Hits:
    function = Function.MIN if quantile is None else Function.QUANTILE
    aggregate = Aggregate(name="q", function=function, value=Column("x"), quantile=quantile)
    part, *_ = kinds.asked(Price(epsilon=1), aggregate, keys=()).parts
    sought, law = rank(part.measure, part.law, len(values)), part.law  # type: ignore[arg-type]
    off = rows_off(part.measure, law, SHARE) * sought.unit  # type: ignore[arg-type]
    where, counts = np.unique(np.array(sorted(values), np.int64), return_counts=True)
    loss = RankLoss.of(sought, part.measure.low, part.measure.high)
    draw = flip_by_rank if law.flip else choose_by_rank  # type: ignore[union-attr]
    hits = []
    for _ in range(trials):
        found = draw(where, counts, loss, law)  # type: ignore[arg-type]
        below, upto = (sum(value < found for value in values), sum(value <= found for value in values))
        far = max(sought.unit * below - sought.target, sought.target - sought.unit * upto)
        hits.append(from_middle(-off, off, max(far, 0)))
    return added(hits)


def spans(aggregates: Sequence[Aggregate], price: Price, trials: int, values: Sequence[int], kinds: Kinds) -> Hits:
    """Intervals in values: they must hold both values between which the exact one is interpolated."""
    asked = kinds.asked(price, *aggregates, keys=())
    where, counts = np.unique(np.array(values, np.int64), return_counts=True)
    spread, ordered = Spread(where, counts), sorted(values)
    hits = []
    for _ in range(trials):
        (row,) = rows_of(asked, [_placed(spread, part) for part in asked.parts], SHARE)
        for one in aggregates:
            share = {Function.MIN: Fraction(0), Function.MAX: Fraction(1)}.get(one.function, one.quantile)
            place, item = (share or Fraction(0)) * (len(values) - 1), row.line[one.name]
            assert isinstance(item, Estimate)
            missing = item.low is None or item.high is None
            beside = (ordered[math.floor(place)], ordered[math.ceil(place)])
            hits.append(math.inf if missing else max(from_middle(item.low, item.high, value) for value in beside))
    return added(hits)


def _placed(spread: Spread, part: Part) -> list[int]:
    """What the engine chooses for one part, of one group."""
    if isinstance(part.law, Choices):
        return FreshNoise().choose_all(spread, part.measure, part.law)
    return [FreshNoise().choose(spread, part.measure, part.law)]  # type: ignore[arg-type]


RANKED = {
    "MEDIAN": Aggregate(name="q", function=Function.QUANTILE, value=Column("x"), quantile=Fraction(1, 2)),
    "QUANTILE 0.1": Aggregate(name="q", function=Function.QUANTILE, value=Column("x"), quantile=Fraction(1, 10)),
    "MIN": Aggregate(name="q", function=Function.MIN, value=Column("x")),
    "MAX": Aggregate(name="q", function=Function.MAX, value=Column("x")),
}
NINE = tuple(
    Aggregate(name=f"q{tenth}", function=Function.QUANTILE, value=Column("x"), quantile=Fraction(tenth, 10))
    for tenth in range(1, 10)
)  # chosen one inside the other
VALUES = {  # the third has all values between the two halves as bad as can be
    "1 row": (40,),
    "30 equal rows": (50,) * 30,
    "400 rows, half at each end": (-20, 100) * 200,
    "400 rows at the low end": (-20,) * 400,
    "400 rows, all but one at an end": (*(-20,) * 399, 100),
    "1,210 rows, untied but for tens": tuple(range(-20, 101)) * 10,
}


# Intervals of attacks and audits, for a known truth


def shares(of_all: int, rate: float, trials: int) -> Hits:
    """Clopper and Pearson's."""
    seen = np.random.default_rng(20).binomial(of_all, rate, trials).tolist()
    ends = {hits: share_of(hits, of_all) for hits in set(seen)}
    return added(_inside(ends[hits], rate) for hits in seen)


PAIRED = {"never both right": (0.5, 0.5), "independent": (0.6, 0.5), "mostly both right": (0.9, 0.85)}


def advantages(name: str, trials: int, people: int = 200) -> Hits:
    """The difference of two shares of the same people."""
    random, rates = np.random.default_rng(20), PAIRED[name]
    ends = {hits: share_of(hits, people) for hits in range(people + 1)}
    found = []
    for _ in range(trials):
        one = random.random(people)
        two = {"never both right": 1 - one, "independent": random.random(people), "mostly both right": one}[name]
        sides = (ends[int((side < rate).sum())] for side, rate in zip((one, two), rates, strict=True))
        found.append(_inside(difference(*sides), rates[0] - rates[1]))
    return added(found)


def _inside(interval: Interval, true: float) -> float:
    return from_middle(interval.low, interval.high, true)


CURVES = ("AUC", "best advantage", "found at 10 % false alarms", "false alarms among others")


def curves(what: str, people: int, shift: float, trials: int) -> Hits:
    """Normal scores, shifted for those inside."""
    random, hits = np.random.default_rng(20), []
    for _ in range(trials):
        curve = roc(random.normal(shift, 1, people), random.normal(0, 1, people))
        at = curve.threshold_at(0.1)
        interval, true = {
            "AUC": (curve.auc, _normal(shift / math.sqrt(2))),
            "best advantage": (curve.largest_advantage, 2 * _normal(shift / 2) - 1),
            "found at 10 % false alarms": (curve.tpr_at(0.1), 1 - _normal(at - shift)),
            "false alarms among others": (curve.alarms_at(0.1), 1 - _normal(at)),
        }[what]
        hits.append(_inside(interval, true))
    return added(hits)


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


# The table


def result(kind: str, hits: Hits, together: Hits | None = None) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": kind, "printed": hits.printed, "held": _share(hits), "shrink": _short(hits)}
    if together is not None:
        row |= {"tables": together.printed, "all_held": _share(together), "all_shrink": _short(together)}
    return row | {"ok": all(_enough(one) for one in (hits, together) if one is not None)}


def _share(hits: Hits) -> float | None:
    return round(hits.held / hits.printed, 4) if hits.printed else None


def _short(hits: Hits) -> float | None:
    """Nothing finite where more than 5 % lie outside an interval of no width."""
    return None if hits.shrink is None or math.isinf(hits.shrink) else round(hits.shrink, 4)


def _enough(hits: Hits) -> bool:
    """At least 95 %, less three standard errors."""
    held, of_all, _ = hits
    return held >= float(SHARE) * of_all - 3 * math.sqrt(of_all * float(SHARE * (1 - SHARE)))


@dataclass(frozen=True, kw_only=True)
class Job:
    """One line of the table. `work` gives hits, or those of intervals and of tables."""

    kind: str
    work: Callable[..., Any]
    arguments: tuple[Any, ...]

    def done(self) -> dict[str, Any]:
        found = self.work(*self.arguments)
        return result(self.kind, *((found,) if isinstance(found, Hits) else found))


def worst(work: Callable[..., Hits], data: Sequence[str], tables: int, *arguments: Any) -> Hits:
    """The data set whose intervals hold least often, measured anew: the fewest of several counts are too few."""
    rows = min((DATA[name] for name in data), key=lambda rows: _rate(work(*arguments, tables // 4 + 1, rows)))
    return work(*arguments, tables, rows)


def jobs(tables: int, kinds: Kinds) -> Iterator[Job]:
    """`tables` for each kind, law and data set."""
    few = replace(kinds, groups=min(kinds.groups, FEW))
    for law, price in PRICES.items():
        for case in PLAIN:
            yield Job(kind=f"{case.name}, {law}", work=worst, arguments=(plain, case.data, tables, case, price, kinds))
        wide = (PLAIN[0], LARGE[law], kinds, tables, DATA["nobody"])
        yield Job(kind=f"COUNT with wide noise, {law}", work=plain, arguments=wide)
        for function in (Function.COUNT, Function.SUM, Function.AVG):
            arguments = (totals, tuple(DATA), tables, price, function, kinds)
            yield Job(kind=f"ROLLUP total of {function}, {law}", work=worst, arguments=arguments)
        rest = (price, tables, kinds, DATA["two at both ends"])
        yield Job(kind=f"the row of all other groups, {law}", work=other, arguments=rest)
        for one in CHOSEN:
            yield Job(kind=f"{one.name}, {law}", work=chosen, arguments=(one, price, 25 * tables, few))
    for law, (name, place) in product(PRICES, KEYS.items()):
        yield Job(kind=f"people of a private key, {name}, {law}", work=keys, arguments=(law, place, tables, kinds))
    for law, case in product(PRICES, FIRST):
        yield Job(kind=f"{case.name}, {law}", work=first, arguments=(case, PRICES[law], 25 * tables, kinds))
    for quantile in (Fraction(1, 2), Fraction(1, 10), None):
        for values in ((50,) * 30, tuple(range(-20, 101)), (-20, 100) * 15):
            name = "MIN" if quantile is None else f"QUANTILE {float(quantile):g}"
            kind = f"rank of {name}, {len(values)} rows, {len(set(values))} values"
            yield Job(kind=kind, work=ranks, arguments=(quantile, 50 * tables, values, kinds))
    for law, price in PRICES.items():
        for data, values in VALUES.items():
            for name, aggregate in RANKED.items():
                arguments = ((aggregate,), price, 50 * tables, values, kinds)
                yield Job(kind=f"value of {name}, {data}, {law}", work=spans, arguments=arguments)
            arguments = (NINE, price, 10 * tables, values, kinds)
            yield Job(kind=f"values of nine quantiles, {data}, {law}", work=spans, arguments=arguments)
    yield from attack_jobs(100 * tables)


def attack_jobs(trials: int) -> Iterator[Job]:
    for of_all, rate in ((5, 0.01), (30, 0.5), (100, 0.05), (1000, 0.97)):
        yield Job(
            kind=f"attacks and audits: share of {of_all}, truly {rate}", work=shares, arguments=(of_all, rate, trials)
        )
    for name in PAIRED:
        yield Job(kind=f"attacks: advantage, {name}", work=advantages, arguments=(name, trials))
    for what in CURVES:
        for people, shift in ((20, 0.0), (60, 1.0), (60, 3.0), (400, 0.3)):
            kind = f"attacks: {what}, {people} people, shift {shift}"
            yield Job(kind=kind, work=curves, arguments=(what, people, shift, trials))


def _rate(hits: Hits) -> tuple[float, int]:
    return (hits[0] / hits[1] if hits[1] else 1.0), -hits[1]


def _printed(row: dict[str, Any]) -> dict[str, Any]:
    held = "no interval" if row["held"] is None else f"{row['held']:.2%} of {row['printed']:,}"
    at_once = "" if row.get("all_held") is None else f"; all at once {row['all_held']:.2%} of {row['tables']:,}"
    needed = row.get("all_shrink", row["shrink"])
    shrink = "" if needed is None else f"; {needed:.0%} of the width would do"
    print(f"{'    ' if row['ok'] else 'BAD '} {row['kind']:58} {held}{at_once}{shrink}", flush=True)
    return row


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.set_defaults(tables=20, kinds=Kinds(groups=100))
    read = parse(parser, given, tables=1, kinds=Kinds(groups=6), processes=1)
    evidence = Evidence(read, "coverage")
    rows = [_printed(row) for row in mapped(Job.done, jobs(read.tables, read.kinds), read.processes)]
    evidence.save({"count": len(rows), "ok": all(row["ok"] for row in rows), "rows": rows})


if __name__ == "__main__":
    main()
