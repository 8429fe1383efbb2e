"""Tables and plain statistics in exact numbers, by the textbook: what lowering and intervals are tested against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction as F
from typing import Any

import numpy as np
from hypothesis import strategies as st

from privet.core.evaluate import evaluate
from privet.core.expression import Arithmetic, Coalesce, Column, Expression, Literal, Sign
from privet.core.laws import Top
from privet.core.measures import Measure, Role
from privet.core.plan import Aggregate, Function, Plan
from privet.core.schema import Boolean, Integer, Kind, Number, Text
from privet.core.sensitivity import Bounds
from privet.core.shape import shape_of_kind
from privet.core.unit import Neighbors

KINDS: dict[str, Kind] = {
    "x": Integer(-3, 8),
    "y": Number("0.5", 3, step="0.5"),
    "on": Boolean(),
    "word": Text(),
}
SHAPES = {name: shape_of_kind(kind) for name, kind in KINDS.items()}
X, Y, ON = Column("x"), Column("y"), Column("on")
BOUNDS = Bounds(groups=2, rows=3, neighbors=Neighbors.ADD_REMOVE)
Row = dict[str, Any]


def rows(*, null: bool = True, least: int = 0) -> st.SearchStrategy[list[Row]]:
    def of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.none() | values if null else values

    row = st.fixed_dictionaries(
        {
            "x": of(st.integers(-3, 8).map(F)),
            "y": of(st.integers(1, 6).map(lambda n: F(n, 2))),
            "on": of(st.booleans()),
            "word": of(st.sampled_from("ab")),
            "unit": st.integers(0, 3),
        }
    )
    return st.lists(row, min_size=least, max_size=12)


def exact(measure: Measure, table: Sequence[Row]) -> int:
    """What a backend computes, by the words of `Measure`; no unit is bounded here."""
    values = [] if measure.value is None else [evaluate(measure.value, row) for row in table]
    match measure.role:
        case Role.COUNT:
            return len(table) if measure.value is None else sum(value is not None for value in values)
        case Role.SUM:
            steps = [value / measure.step - measure.center for value in values if value is not None]  # type: ignore[operator]
            assert all(step.denominator == 1 and measure.low <= step <= measure.high for step in steps)
            return int(sum(steps))
        case Role.PEOPLE | Role.KEYS:
            return len({row["unit"] for row in table})
        case Role.DISTINCT:
            return len({value for value in values if value is not None})
        case _:
            raise AssertionError(measure.role)


def there(values: Sequence[Any]) -> list[F]:
    return [F(value) for value in values if value is not None]


def mean(values: Sequence[F]) -> F:
    return sum(values, F(0)) / len(values)


def covariance(pairs: Sequence[tuple[F, F]]) -> F:
    a, b = mean([x for x, _ in pairs]), mean([y for _, y in pairs])
    return mean([(x - a) * (y - b) for x, y in pairs])


def statistic(one: Aggregate, table: Sequence[Row]) -> F | None:
    """Plain statistics; a root is given as its square. None where there are too few rows."""
    values = [] if one.value is None else [evaluate(one.value, row) for row in table]
    found = there(values) if one.function not in (Function.COUNT, Function.COUNT_DISTINCT) else []
    pairs = [] if one.second is None else [
        (F(a), F(b)) for a, b in zip(values, [evaluate(one.second, row) for row in table], strict=True)
        if a is not None and b is not None
    ]  # fmt: skip
    if one.second is None:
        pairs = list(zip(found, found, strict=True))
    n = len(pairs)
    match one.function:
        case Function.COUNT:
            return F(len(table) if one.value is None else sum(value is not None for value in values))
        case Function.COUNT_DISTINCT:
            return F(len({row["unit"] for row in table} if one.value is None else {v for v in values if v is not None}))
        case Function.SUM:
            return sum(found, F(0))
        case Function.AVG:
            return mean(found) if n else None
        case Function.VAR_SAMP | Function.STDDEV_SAMP | Function.COVAR_SAMP:
            return covariance(pairs) * n / (n - 1) if n > 1 else None
        case Function.VAR_POP | Function.STDDEV_POP | Function.COVAR_POP:
            return covariance(pairs) if n else None
        case Function.CORR:
            spread = F(1) if not n else covariance([(a, a) for a, _ in pairs]) * covariance([(b, b) for _, b in pairs])
            top = covariance(pairs) if n else F(0)
            return top * abs(top) / spread if n and spread else None
        case _:
            raise AssertionError(one.function)


ROOTS = (Function.STDDEV_POP, Function.STDDEV_SAMP, Function.CORR)
PAIRS = (Function.COVAR_POP, Function.COVAR_SAMP, Function.CORR)
NUMBERS = [
    X,
    Y,
    ON,
    Arithmetic(Sign.MULTIPLY, X, Y),
    Coalesce((Y, Literal(F(-1)))),
    Arithmetic(Sign.SUBTRACT, X, Literal(F("0.3"))),
]
COMPUTED = [function for function in Function if function not in (Function.QUANTILE, Function.MIN, Function.MAX)]


def aggregate(
    function: Function, value: Expression | None, second: Expression | None = None, name: str = "a"
) -> Aggregate:
    return Aggregate(name=name, function=function, value=value, second=second if function in PAIRS else None)


def plan(*made: Aggregate, **more: Any) -> Plan:
    return Plan(table="t", aggregates=tuple(made), outputs=tuple(one.name for one in made), **more)


def flip_law(taken: Sequence[float]) -> list[float]:
    """Permute-and-flip with these chances to be taken when tried. Each candidate comes at a uniform time t, and is
    taken if those that came before were not: the integral over t of its chance times the product of 1 - t * (chance of
    another), a polynomial, so that enough nodes are exact."""
    nodes, weights = np.polynomial.legendre.leggauss(len(taken) // 2 + 2)
    times = (nodes + 1) / 2
    refused = 1 - np.outer(taken, times)
    found = []
    for place, chance in enumerate(taken):
        others = np.delete(refused, place, axis=0).prod(axis=0)
        found.append(chance * float((weights / 2 * others).sum()))
    return found


def top_law(scores: Sequence[int], law: Top) -> dict[tuple[int, ...], float]:
    """The probability of every outcome of all rounds, in the order of choice: each round among those that are left."""
    found: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(law.rounds):
        longer: dict[tuple[int, ...], float] = {}
        for chosen, chance in found.items():
            left = [place for place in range(len(scores)) if place not in chosen]
            best = max(scores[place] for place in left)
            weights = [math.exp(-float(law.rate) * (best - scores[place])) for place in left]
            chances = flip_law(weights) if law.flip else [weight / math.fsum(weights) for weight in weights]
            longer |= {(*chosen, place): chance * one for place, one in zip(left, chances, strict=True)}
        found = longer
    return found
