"""From a plan to the noisy numbers that it needs: the fewest that give all its aggregates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import assert_never

from privet.core.expression import Absolute, Arithmetic, Case, Coalesce, Expression, IsNull, Literal, Not, Or, Sign
from privet.core.plan import Aggregate, Function, Plan
from privet.core.ranges import shape_of
from privet.core.shape import Form, Shapes
from privet.errors import RefusedQueryError

ZERO = Literal(Fraction(0))
WIDEST = 2**60  # values that a quantile is chosen from
FINEST = 10**6  # parts of a whole that a quantile can be


class Role(StrEnum):
    COUNT = "count"
    SUM = "sum"
    PAIR = "pair"  # two sums a cell that add up to a count of rows
    SQUARES = "squares"  # three sums a cell that do
    PEOPLE = "people"  # how many units have a row
    DISTINCT = "distinct"  # how many values there are
    QUANTILE = "quantile"
    MIN = "min"
    MAX = "max"
    KEYS = "keys"  # how many units have a key, by which it is shown or not
    TOP = "top"  # a score, by which some of the public cells are shown


class End(StrEnum):
    """Of an interval of values."""

    LOW = "low"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One number a cell: the sum over rows of (value in steps - center), a NULL adding 0; or a count of rows.

    A count has no value if it counts every row; otherwise it counts where the value is not NULL. A pair is two numbers
    a cell: a row adds u = value in steps - center, from 0 to high, to one and v = high - u to the other. Squares are
    three: a row adds u * u, 2 * u * v and v * v. Quantiles, MIN and MAX are chosen from all values that are there, in
    steps; `quantile` is a share of the rows, `end` an interval's. One with `rest` is released of the rest alone, the
    last cell. Of TOP, `score` says what the score is: a count, a sum or a number of units.
    `quantiles` are as many numbers a cell, ascending, one inside the other; `quantile` is the one chosen first.
    """

    role: Role
    value: Expression | None
    center: int = 0
    low: int = 0
    high: int = 1
    step: Fraction = Fraction(1)
    quantile: Fraction | None = None
    end: End | None = field(default=None, metadata={"added": True})
    rest: bool = field(default=False, metadata={"added": True})
    score: Role | None = field(default=None, metadata={"added": True})
    quantiles: tuple[Fraction, ...] = field(default=(), metadata={"added": True})

    @property
    def size(self) -> int:
        """The most that one row can add, in steps."""
        return max(abs(self.low), abs(self.high), 1) ** (2 if self.role is Role.SQUARES else 1)

    @property
    def numbers(self) -> int:
        """How many there are of a cell."""
        return 2 if self.role is Role.PAIR else 3 if self.role is Role.SQUARES else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Which measures an aggregate is made of, by number, in the order in which `estimate` reads them.

    A sum is one measure, or a centered one and the count that puts the center back. Moments end with their count. A
    quantile is one measure, or three: the value, and the low and the high end of its interval. Several quantiles can
    have the same measure for their values.
    """

    aggregate: Aggregate
    measures: tuple[int, ...]


KEYS = Measure(role=Role.KEYS, value=None)
SCORES = {Role.COUNT, Role.SUM, Role.PEOPLE}  # by which cells can be chosen
ROWS = Measure(role=Role.COUNT, value=None)
CHOSEN = {Role.QUANTILE, Role.MIN, Role.MAX}  # by rank, not by adding noise
Made = list[tuple[Aggregate, tuple[Measure, ...]]]
Listed = tuple[tuple[Measure, ...], tuple[Recipe, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How to lower: a unit has one row a cell at most; the number of people of a key is released anyway, but not that
    of the `rest`; sums are made from centered ones and counts where the count is there, if that `joint` is sought even
    where the center is 0."""

    one_row: bool = False
    counted: bool = False
    rest: bool = False
    centered: bool = False
    joint: bool = False


def measures_of(plan: Plan, columns: Shapes, wish: Wish = Wish()) -> Listed:  # noqa: B008  it never changes
    """Equal measures are released once; counts come first."""
    made = [(aggregate, _made_of(aggregate, columns, wish)) for aggregate in plan.aggregates]
    if plan.intervals:
        made = [(aggregate, _with_ends(measures)) for aggregate, measures in made]
    if wish.centered:
        there = {measure for _, measures in made for measure in measures if measure.role is Role.COUNT}
        made = [(aggregate, _with_count(aggregate, measures, there, columns, wish)) for aggregate, measures in made]
    if wish.counted:
        made = _from_keys(made, _people(wish))
    needed = dict.fromkeys(measure for _, measures in made for measure in measures if measure is not KEYS)
    if wish.rest and any(KEYS in measures for _, measures in made):
        needed[replace(_people(wish), rest=True)] = None
    found = sorted(needed, key=lambda measure: measure.role is not Role.COUNT)
    place = {measure: number for number, measure in enumerate((*found, KEYS))}
    recipes = [
        Recipe(aggregate=aggregate, measures=tuple(place[measure] for measure in measures))
        for aggregate, measures in made
    ]
    return tuple(found), tuple(recipes)


def _from_keys(made: Made, people: Measure) -> Made:
    """The number of people of a key is known from the choice of keys, unless something else needs it as well."""
    if any(people in measures and measures != (people,) for _, measures in made):
        return made
    return [(aggregate, (KEYS,) if measures == (people,) else measures) for aggregate, measures in made]


def _made_of(aggregate: Aggregate, columns: Shapes, wish: Wish) -> tuple[Measure, ...]:
    function, value = aggregate.function, aggregate.value
    match function:
        case Function.COUNT:
            return (_count(value, columns),)
        case Function.COUNT_DISTINCT:
            return (_people(wish) if value is None else Measure(role=Role.DISTINCT, value=value),)
        case Function.SUM:
            return (_sum(_number(aggregate, value, columns), columns, centered=False),)
        case Function.AVG:
            number = _number(aggregate, value, columns)
            return _sum(number, columns), _count(number, columns)
        case Function.VAR_POP | Function.VAR_SAMP | Function.STDDEV_POP | Function.STDDEV_SAMP:
            number = _number(aggregate, value, columns)
            return _sum(number, columns), _square(number, columns), _count(number, columns)
        case Function.COVAR_POP | Function.COVAR_SAMP | Function.CORR:
            return _pair(aggregate, columns)
        case Function.QUANTILE | Function.MIN | Function.MAX:
            return (_ranked(aggregate, columns),)
        case _:
            assert_never(function)


def _with_count(
    aggregate: Aggregate, measures: tuple[Measure, ...], there: set[Measure], columns: Shapes, wish: Wish
) -> tuple[Measure, ...]:
    """A centered sum and a count, if that count is released anyway: of the values, or of all rows with a NULL as 0."""
    if aggregate.function is not Function.SUM:
        return measures
    value = measures[0].value
    assert value is not None  # noqa: S101  a sum has one
    for number in (value, Coalesce((value, ZERO))):
        centered, count = _sum(number, columns), _count(number, columns)
        if count in there and (centered.center or wish.joint):
            return centered, count
    return measures


def _people(wish: Wish) -> Measure:
    return ROWS if wish.one_row else Measure(role=Role.PEOPLE, value=None)


def _count(value: Expression | None, columns: Shapes) -> Measure:
    """A value that is always there is counted with its row."""
    if value is not None and not shape_of(value, columns).null:
        value = None
    return Measure(role=Role.COUNT, value=value)


def _sum(value: Expression, columns: Shapes, *, centered: bool = True) -> Measure:
    """Centering halves what one row can add; the center is public, so it can be put back."""
    shape = shape_of(value, columns)
    center = (shape.low + shape.high) // 2 if centered else 0
    return Measure(
        role=Role.SUM,
        value=value,
        center=center,
        low=shape.low - center,
        high=shape.high - center,
        step=shape.step,
    )


def _square(value: Expression, columns: Shapes) -> Measure:
    """Of the distance from the middle of the range: half as wide as the range, so its square is a quarter."""
    distance = Absolute(_offset(value, columns))
    return _sum(Arithmetic(Sign.MULTIPLY, distance, distance), columns)


def _offset(value: Expression, columns: Shapes) -> Expression:
    measure = _sum(value, columns)
    if not measure.center:
        return value
    return Arithmetic(Sign.SUBTRACT, value, Literal(measure.center * measure.step))


def _pair(aggregate: Aggregate, columns: Shapes) -> tuple[Measure, ...]:
    """Sums of x, y and x*y, of squares for a correlation, and the count: of rows that have both."""
    if aggregate.second is None:
        raise RefusedQueryError(
            f"{aggregate.function} needs two numbers", f"write {aggregate.function}(x, y)", "wrong-arguments"
        )
    x, y = (_number(aggregate, value, columns) for value in (aggregate.value, aggregate.second))
    if shape_of(x, columns).null or shape_of(y, columns).null:
        lacking = Or((IsNull(x), IsNull(y)))
        x, y = (Case(((lacking, Literal(None)),), value) for value in (x, y))
    product = _sum(Arithmetic(Sign.MULTIPLY, _offset(x, columns), _offset(y, columns)), columns)
    squares = [_square(value, columns) for value in (x, y)] if aggregate.function is Function.CORR else []
    return _sum(x, columns), _sum(y, columns), product, *squares, _count(x, columns)


def _ranked(aggregate: Aggregate, columns: Shapes) -> Measure:
    number = _sum(_number(aggregate, aggregate.value, columns), columns, centered=False)
    if max(abs(number.low), abs(number.high)) >= WIDEST:
        raise RefusedQueryError(
            f"{aggregate.function} would choose among more than 2**60 values",
            "declare a coarser step or round the values",
            "too-fine",
        )
    if aggregate.function is Function.QUANTILE and aggregate.quantile not in (0, 1):
        if aggregate.quantile is None or not 0 < aggregate.quantile < 1 or aggregate.quantile.denominator > FINEST:
            raise RefusedQueryError(
                "a quantile lies between 0 and 1, in steps of a millionth", "for example 0.25", "out-of-range"
            )
        return replace(number, role=Role.QUANTILE, quantile=aggregate.quantile)
    first = aggregate.function is Function.MIN or aggregate.quantile == 0
    return replace(number, role=Role.MIN if first else Role.MAX)


def _with_ends(measures: tuple[Measure, ...]) -> tuple[Measure, ...]:
    """A value beyond the smallest one is an end of its interval already; the other end is that of the range."""
    first = measures[0]
    match first.role:
        case Role.QUANTILE:
            return first, replace(first, end=End.LOW), replace(first, end=End.HIGH)
        case Role.MIN | Role.MAX:
            return (replace(first, end=End.HIGH if first.role is Role.MIN else End.LOW),)
        case _:
            return measures


def _number(aggregate: Aggregate, value: Expression | None, columns: Shapes) -> Expression:
    """The expression as a number; true is 1 and false is 0. A branch for a value that is never missing is left out."""
    if isinstance(value, Case):
        taken = tuple(branch for branch in value.branches if not _never(branch[0], columns))
        value = replace(value, branches=taken) if taken else value.otherwise
    shape = None if value is None else shape_of(value, columns)
    if value is not None and shape is not None and shape.form is Form.TRUTH:
        value = Case(((value, Literal(Fraction(1))), (Not(value), ZERO)), Literal(None))
        shape = shape_of(value, columns)
    if value is None or shape is None or shape.form is not Form.NUMBER:
        raise RefusedQueryError(
            f"{aggregate.function} needs a number", "give numbers, booleans or an expression of them", "type-mismatch"
        )
    return value


def _never(condition: Expression, columns: Shapes) -> bool:
    match condition:
        case IsNull(value):
            return not shape_of(value, columns).null
        case Or(items):
            return all(_never(item, columns) for item in items)
        case _:
            return False
