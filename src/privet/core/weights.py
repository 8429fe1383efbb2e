"""Survey weights: a row counts as many times as its weight says. A plan becomes one of sums of weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from privet.core import expression as e
from privet.core.expression import Expression
from privet.core.plan import Aggregate, Computed, Function, Plan
from privet.core.rational import show
from privet.errors import InvalidInputError, RefusedQueryError


def weighted(plan: Plan, column: str) -> Plan:
    """The same question with every row counted by its weight; a row without a weight counts 0 times."""
    taken = {key.name for key in plan.keys}
    taken |= {aggregate.name for aggregate in plan.aggregates} | {column.name for column in plan.computed}
    taken |= {total.name for total in plan.totals}
    aggregates: list[Aggregate] = []
    means: list[Computed] = []
    for aggregate in plan.aggregates:
        made = list(_weighted(aggregate, e.Column(column), taken))
        aggregates += made
        if aggregate.function is Function.AVG:
            total, weight = (e.Column(one.name) for one in made)
            means.append(Computed(name=aggregate.name, value=e.Quotient(total, weight)))
    by: dict[str, Expression] = {mean.name: mean.value for mean in means}
    rest = tuple(replace(one, value=e.substituted(one.value, by)) for one in plan.computed)
    return replace(plan, aggregates=tuple(aggregates), computed=(*means, *rest))


def weight_from(given: object) -> str | None:
    """The name of a column, or None: each row counts once."""
    if given is None or (isinstance(given, str) and given):
        return given
    raise InvalidInputError(
        f"weight must be a column's name, not {show(given)}", 'for example weight="weight"', "wrong-type"
    )


def _weighted(aggregate: Aggregate, weight: e.Column, taken: set[str]) -> Iterator[Aggregate]:
    value = aggregate.value
    match aggregate.function:
        case Function.COUNT:
            yield _sum(aggregate.name, weight if value is None else _where_known(value, weight))
        case Function.SUM if value is not None:
            yield _sum(aggregate.name, e.Arithmetic(e.Sign.MULTIPLY, weight, value))
        case Function.AVG if value is not None:
            yield _sum(_fresh(f"{aggregate.name}_sum", taken), e.Arithmetic(e.Sign.MULTIPLY, weight, value))
            yield _sum(_fresh(f"{aggregate.name}_weight", taken), _where_known(value, weight))
        case _:
            raise RefusedQueryError(
                f"{aggregate.function} {aggregate.name} is not answered with weights",
                "ask for COUNT, SUM or AVG with the weight, and for the others without it",
                "unsupported-function",
            )


def _sum(name: str, value: Expression) -> Aggregate:
    return Aggregate(name=name, function=Function.SUM, value=value)


def _where_known(value: Expression, weight: e.Column) -> Expression:
    return e.Case(((e.Not(e.IsNull(value)), weight),), e.Literal(None))


def _fresh(name: str, taken: set[str]) -> str:
    """A name that nothing has yet."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
