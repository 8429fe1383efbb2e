"""Questions for the fuzzer in which bounds can be attained, and their prices."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import privet as pv
from privet.catalog.vault_file import Table
from privet.core.expression import Absolute, Arithmetic, Coalesce, Column, Compare, Expression, Literal, Relation, Sign
from privet.core.measures import Role
from privet.core.parts import Gauge
from privet.core.plan import Aggregate, Function, Key, Plan
from privet.core.schema import Category, Integer, Number, Text
from privet.core.sensitivity import Bounds
from privet.core.shape import LIMIT
from privet.core.unit import Neighbors
from privet.errors import RefusedQueryError
from privet.estimates.priced import Outline, at_price, outline
from privet.estimates.pricing import Price, ask
from support import harm, nasty
from support.fuzz_checks import Asked

BUDGET = pv.Budget(1000, "1e-3")
VARIANCES = (Function.VAR_POP, Function.VAR_SAMP, Function.STDDEV_POP, Function.STDDEV_SAMP)
FAMILIES = [
    (Function.COUNT,), (Function.COUNT_DISTINCT,), (Function.SUM,), (Function.SUM,), (Function.AVG,), VARIANCES,
    nasty.PAIRS, (Function.QUANTILE,), (Function.MIN,), (Function.MAX,),
]  # fmt: skip


def asked_at(rng: Random, read: Outline) -> Asked:
    """At some price, low or high; at one that nobody could pay where the range is so wide that others are refused."""
    gauge = rng.choice([Gauge.EPSILON, Gauge.EPSILON, Gauge.RHO])
    extreme = any(measure.role in (Role.MIN, Role.MAX) for measure in read.measures)  # at a low price not a full move
    amount = rng.choice([Fraction(1, 10), Fraction(3, 7), Fraction(1), *[Fraction(900)] * (4 if extreme else 1)])
    with_delta = read.cells.private or (gauge is Gauge.EPSILON and rng.random() < 0.5)
    delta = rng.choice([Fraction(1, 10**9), Fraction(1, 1000)]) if with_delta else None
    try:
        found = ask(read, BUDGET, Price(**{str(gauge): amount}, delta=delta))
        return Asked(priced=found, delta=delta, **{str(gauge): amount})
    except RefusedQueryError:
        shares = [*(Fraction(LIMIT) ** 3 for _ in read.measures), *([Fraction(1)] if read.cells.private else [])]
        found = at_price(read, gauge, shares, delta if read.cells.private else None)
        return Asked(priced=found, delta=delta, **{str(gauge): sum(shares, Fraction(0))})


def plain_plan(rng: Random, table: Table) -> Plan:
    """Columns nearly as they are."""
    private = rng.random() < 0.35
    groups = harm.columns(table) if private else harm.few_valued(table)
    chosen = rng.sample(groups, min(len(groups), rng.choice([1, 1, 2] if private else [0, 1, 1, 2])))
    keys = [Key(name=f"k{n}", value=_twisted(rng, table, column)) for n, column in enumerate(chosen)]
    words = any(isinstance(table.columns[column.name], Category | Text) for column in chosen)
    aggregates = [_aggregate(rng, table, f"a{place}") for place in range(rng.randint(1, 3))]
    where = _near_an_end(rng, table, harm.numbers(table))
    if where is not None and rng.random() < 0.5:  # the narrowed column itself
        aggregates[0] = Aggregate(name="a0", function=rng.choice([Function.SUM, Function.AVG]), value=where.left)
    plan = Plan(
        table=table.name,
        where=where,
        keys=tuple(keys),
        aggregates=tuple(aggregates),
        outputs=tuple(item.name for item in [*keys, *aggregates]),
        private_keys=private,
        other="rest" if private and words and rng.random() < 0.5 else None,
    )
    try:
        outline(plan, table.columns, Bounds(groups=1, rows=1, neighbors=Neighbors.REPLACE))
    except RefusedQueryError:
        return plain_plan(rng, table)
    return plan


def _aggregate(rng: Random, table: Table, name: str) -> Aggregate:
    numbers = harm.numbers(table)
    function = rng.choice(rng.choice(FAMILIES if numbers else FAMILIES[:2]))
    free = function in nasty.ANY_FORM
    column = rng.choice(harm.columns(table) if free else numbers)
    return Aggregate(
        name=name,
        function=function,
        value=None if free and rng.random() < 0.4 else _twisted(rng, table, column),
        second=rng.choice(numbers) if function in nasty.PAIRS else None,
        quantile=rng.choice(nasty.QUANTILES) if function is Function.QUANTILE else None,
    )


def _twisted(rng: Random, table: Table, column: Column) -> Expression:
    """A column, mirrored, scaled, or moved so far that it does not fit a machine word."""
    if not isinstance(table.columns[column.name], Integer | Number) or rng.random() < 0.7:
        return column
    far = Literal(Fraction(rng.choice([10**20, -(10**20), 2**62, -(2**63), 1, -7])))
    others = [other for other in harm.numbers(table) if isinstance(table.columns[other.name], Integer | Number)]
    return rng.choice([
        Arithmetic(Sign.ADD, column, far),
        Arithmetic(Sign.MULTIPLY, column, Literal(Fraction(-3, 7))),
        Arithmetic(Sign.MULTIPLY, column, rng.choice(others)),
        Arithmetic(Sign.MULTIPLY, rng.choice(others), column),
        Arithmetic(Sign.SUBTRACT, rng.choice(others), column),
        Absolute(column),
        Coalesce((column, Literal(Fraction(1)))),
    ])  # fmt: skip


def _near_an_end(rng: Random, table: Table, numbers: Sequence[Column]) -> Compare | None:
    """A condition that cuts a column's range at, or a step beside, one of its ends."""
    ranged = [column for column in numbers if isinstance(table.columns[column.name], Integer | Number)]
    if not ranged or rng.random() < 0.6:
        return None
    column = rng.choice(ranged)
    kind = table.columns[column.name]
    low, high = kind.steps  # type: ignore[union-attr]
    away = rng.choice([0, 0, Fraction(1, 2), 1, 1])
    below, above = [Relation.LESS, Relation.LESS_EQUAL], [Relation.GREATER, Relation.GREATER_EQUAL]
    relation, place = rng.choice([(rng.choice(below), high - away), (rng.choice(above), low + away)])
    if rng.random() < 0.2:
        relation = rng.choice(list(Relation))
    return Compare(relation, column, Literal(place * getattr(kind, "step", Fraction(1))))
