"""What a row's columns are made into: expressions as Python writes them. They are read when a frame gets them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from privet.core import expression as e
from privet.core.rational import rational, show, whole
from privet.core.shape import Form
from privet.errors import InvalidInputError, RefusedQueryError
from privet.frame.value_methods import CASTS, NULL, cast, constant, is_missing, negated, rest, written
from privet.sql.rules import FINEST, buckets, divided, irrational, power, rounded
from privet.sql.terms import (
    Term,
    alike,
    arithmetic,
    chosen,
    compared,
    folded,
    literal,
    made,
    moment,
    number,
    truth,
    unified,
)  # fmt: skip

if TYPE_CHECKING:
    from privet.frame.aggregates import Aggregation

LONGEST_TEXT = 300  # of an expression, for people; the expression itself may be longer
DEEP = (
    "an expression is nested too deeply",
    "use isin, between or when, or give several conditions to filter, one after the other",
)


class ColumnScope(Protocol):
    """What names and aggregates mean where an expression stands."""

    def column(self, name: str) -> Term: ...

    def aggregate(self, asked: Aggregation) -> Term: ...


Read = Callable[[ColumnScope], Term]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Expr:
    """An expression over columns. Compute with + - * and / by constants; compare; combine conditions with & | ~.

    `_items` are the conditions of a chain of & or of |, so that a & b & c is one AND of three. `_open` says that the
    text needs brackets inside of another.
    """

    _read: Read
    _text: str
    _items: tuple[str, tuple[Expr, ...]] | None = None
    _open: bool = False

    @property
    def _inner(self) -> str:
        return f"({self._text})" if self._open else self._text

    def __repr__(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        raise InvalidInputError(
            f"{self._text} is a question about rows: it is neither true nor false by itself",
            'use & | ~ instead of and, or, not, with brackets around comparisons: (pv.col("age") > 60) & ...;'
            " .between(18, 65) instead of 18 <= x <= 65; .isin([...]) instead of in",
            "no-truth-value",
        )

    __hash__ = None  # type: ignore[assignment]  # == makes a condition

    # Numbers

    def __add__(self, other: object) -> Expr:
        return _signed(e.Sign.ADD, self, other)

    def __radd__(self, other: object) -> Expr:
        return _signed(e.Sign.ADD, other, self)

    def __sub__(self, other: object) -> Expr:
        return _signed(e.Sign.SUBTRACT, self, other)

    def __rsub__(self, other: object) -> Expr:
        return _signed(e.Sign.SUBTRACT, other, self)

    def __mul__(self, other: object) -> Expr:
        return _signed(e.Sign.MULTIPLY, self, other)

    def __rmul__(self, other: object) -> Expr:
        return _signed(e.Sign.MULTIPLY, other, self)

    def __truediv__(self, other: object) -> Expr:
        return _two("/", self, other, _divided)

    def __rtruediv__(self, other: object) -> Expr:
        return _two("/", other, self, _divided)

    def __floordiv__(self, other: object) -> Expr:
        return _two("//", self, other, lambda item, by: rounded(e.Rounding.DOWN, _divided(item, by)))

    def __mod__(self, other: object) -> Expr:
        """What is left of whole multiples of a constant."""
        return _two("%", self, other, rest)

    def __pow__(self, other: object) -> Expr:
        """A whole power, or a fraction such as 0.5, 1.5 or Fraction(1, 3)."""
        exponent = None if isinstance(other, Expr) else rational(other, "the exponent")
        text = f"{self._inner} ** {show(other)}"
        return _open(text, self, lambda item: power(number(item, "**"), exponent, text))

    def __neg__(self) -> Expr:
        return _open(f"-{self._inner}", self, lambda item: arithmetic(e.Sign.MULTIPLY, literal(Fraction(-1)), item))

    def __abs__(self) -> Expr:
        return self.abs()

    def __round__(self, decimals: int = 0) -> Expr:
        return self.round(decimals)

    def abs(self) -> Expr:
        def absolute(item: Term) -> Term:
            item = number(item, "abs")
            return folded(e.Absolute(item.expression), Form.NUMBER, item)

        return _one(f"{self._inner}.abs()", self, absolute)

    def sqrt(self) -> Expr:
        return self._irrational("sqrt()", lambda item: e.Root(item, 2))

    def cbrt(self) -> Expr:
        return self._irrational("cbrt()", lambda item: e.Root(item, 3))

    def exp(self) -> Expr:
        return self._irrational("exp()", e.Exponential)

    def log(self, base: int | None = None) -> Expr:
        """The natural logarithm, or that to a whole base."""
        if base is None:
            return self._irrational("log()", e.Logarithm)
        whole(base, "base", 2)
        return self._irrational(f"log({base})", lambda item: e.Logarithm(item, base))

    def log10(self) -> Expr:
        return self._irrational("log10()", lambda item: e.Logarithm(item, 10))

    def _irrational(self, call: str, function: Callable[[e.Expression], e.Root | e.Logarithm | e.Exponential]) -> Expr:
        text = f"{self._inner}.{call}"

        def make(item: Term) -> Term:
            item = number(item, call)
            return irrational(function(item.expression), item, text)

        return _one(text, self, make)

    def round(self, decimals: int = 0) -> Expr:
        """To so many decimals; halves are rounded upwards."""
        places = whole(decimals, "decimals")
        if abs(places) > FINEST:
            raise InvalidInputError(
                f"decimals is {show(places)}", f"give decimals from -{FINEST} to {FINEST}", "out-of-range"
            )
        return _one(f"{self._inner}.round({places})", self, lambda item: rounded(e.Rounding.NEAREST, item, places))

    def floor(self) -> Expr:
        return _one(f"{self._inner}.floor()", self, lambda item: rounded(e.Rounding.DOWN, item))

    def ceil(self) -> Expr:
        return _one(f"{self._inner}.ceil()", self, lambda item: rounded(e.Rounding.UP, item))

    def clip(self, low: object = None, high: object = None) -> Expr:
        """Not below `low` and not above `high`. What is missing stays missing."""
        ends = [None if end is None else expr(end) for end in (low, high)]
        if low is None and high is None:
            raise InvalidInputError("clip has no end", "give low, high or both: .clip(0, 5000)", "missing-option")

        def read(scope: ColumnScope) -> Term:
            item = self._read(scope)
            kept = item
            kinds: tuple[Any, Any] = (e.Greatest, e.Least)
            for kind, end in zip(kinds, ends, strict=True):
                if end is not None:
                    parts, form = unified([kept, end._read(scope)], "clip")
                    kept = made(kind(tuple(part.expression for part in parts)), form, *parts)
            return chosen([(negated(is_missing(item)), kept)], NULL)

        shown = ", ".join(repr(end) for end in ends)
        return Expr(read, cut(f"{self._inner}.clip({shown})"))

    def buckets(self, bounds: Sequence[object]) -> Expr:
        """How many of these ascending bounds are not above the value: 0 below the first one. `.buckets([18, 45, 65])`
        makes four groups, with 18 in the second."""
        if isinstance(bounds, str) or not isinstance(bounds, Sequence):
            raise InvalidInputError(
                f"bounds are a list, not {show(bounds)}", "for example .buckets([18, 45, 65])", "wrong-type"
            )
        numbers = [rational(bound, "a bound") for bound in bounds]
        shown = ", ".join(map(str, bounds))
        return _one(f"{self._inner}.buckets([{shown}])", self, lambda item: buckets(number(item, "buckets"), numbers))

    # Conditions

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return self.is_null() if other is None else _compared(e.Relation.EQUAL, "==", self, other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return self.is_not_null() if other is None else _compared(e.Relation.UNEQUAL, "!=", self, other)

    def __lt__(self, other: object) -> Expr:
        return _compared(e.Relation.LESS, "<", self, other)

    def __le__(self, other: object) -> Expr:
        return _compared(e.Relation.LESS_EQUAL, "<=", self, other)

    def __gt__(self, other: object) -> Expr:
        return _compared(e.Relation.GREATER, ">", self, other)

    def __ge__(self, other: object) -> Expr:
        return _compared(e.Relation.GREATER_EQUAL, ">=", self, other)

    def __and__(self, other: object) -> Expr:
        return _chained("&", self, other)

    def __rand__(self, other: object) -> Expr:
        return _chained("&", other, self)

    def __or__(self, other: object) -> Expr:
        return _chained("|", self, other)

    def __ror__(self, other: object) -> Expr:
        return _chained("|", other, self)

    def __invert__(self) -> Expr:
        return _open(f"~{self._inner}", self, lambda item: negated(truth(item, "~")))

    def is_null(self) -> Expr:
        return _one(f"{self._inner}.is_null()", self, is_missing)

    def is_not_null(self) -> Expr:
        return _one(f"{self._inner}.is_not_null()", self, lambda item: negated(is_missing(item)))

    def between(self, low: object, high: object) -> Expr:
        """Both ends belong to it."""
        ends = expr(low), expr(high)

        def read(scope: ColumnScope) -> Term:
            item, least, most = (part._read(scope) for part in (self, *ends))
            sides = compared(e.Relation.GREATER_EQUAL, item, least), compared(e.Relation.LESS_EQUAL, item, most)
            return made(e.And(tuple(side.expression for side in sides)), Form.TRUTH, *sides)

        return Expr(read, cut(f"{self._inner}.between({ends[0]!r}, {ends[1]!r})"))

    def isin(self, values: Iterable[object]) -> Expr:
        """One of a list of constants."""
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InvalidInputError(
                f"isin needs a list, not {show(values)}", 'for example .isin(["A", "B"])', "not-a-list"
            )
        listed = [constant(value) for value in values]
        if not listed or NULL in listed:
            raise RefusedQueryError(
                "the list of isin is empty, or contains None",
                "list values, and add | x.is_null() for missing ones",
                "null-comparison",
            )

        def one_of(item: Term) -> Term:
            same, *rest = alike([item, *listed], "isin")
            among = tuple(one.expression.value for one in rest if isinstance(one.expression, e.Literal))
            return made(e.In(same.expression, among), Form.TRUTH, same, *rest)

        shown = ", ".join(
            written(value.expression.value) for value in listed if isinstance(value.expression, e.Literal)
        )
        return _one(f"{self._inner}.isin([{shown}])", self, one_of)

    # Missing values, kinds, dates

    def fill_null(self, value: object) -> Expr:
        def filled(item: Term, other: Term) -> Term:
            items, form = unified([item, other], "fill_null")
            return made(e.Coalesce(tuple(one.expression for one in items)), form, *items)

        other = expr(value)
        read: Read = lambda scope: filled(self._read(scope), other._read(scope))  # noqa: E731
        return Expr(read, cut(f"{self._inner}.fill_null({other!r})"))

    def cast(self, kind: type | str) -> Expr:
        """To int, float, bool, date or datetime; to int by rounding."""
        name = CASTS.get(kind, "") if isinstance(kind, type) else str(kind)
        if name not in CASTS.values():
            raise InvalidInputError(
                f"there is no cast to {show(kind)}", f"use {', '.join(sorted(CASTS.values()))}", "unsupported-type"
            )
        return _one(f'{self._inner}.cast("{name}")', self, lambda item: cast(item, name))

    @property
    def dt(self) -> Moments:
        """Parts of a date or time: x.dt.year, x.dt.truncate("month")."""
        return Moments(self)


class Unfinished:
    """What needs a further call to be an expression."""

    __slots__ = ()


class Moments(Unfinished):
    """What can be read off a date or time."""

    __slots__ = ("_of",)

    def __init__(self, of: Expr) -> None:
        self._of = of

    year: Expr
    quarter: Expr
    month: Expr
    week: Expr
    day: Expr
    dow: Expr
    isodow: Expr
    doy: Expr
    hour: Expr
    minute: Expr
    second: Expr

    def __getattr__(self, name: str) -> Expr:
        if name not in set(e.Field):
            raise AttributeError(f"there is no part {name!r} of a date; the parts are: {', '.join(e.Field)}")

        def part(item: Term) -> Term:
            item = moment(item, f"dt.{name}")
            return folded(e.Extracted(e.Field(name), item.expression), Form.NUMBER, item)

        return _one(f"{self._of._inner}.dt.{name}", self._of, part)

    def __dir__(self) -> list[str]:
        return sorted([*e.Field, "date", "truncate"])

    @property
    def date(self) -> Expr:
        """The day of a time."""
        return self._of.cast("date")

    def truncate(self, period: str) -> Expr:
        """The start of its year, quarter, month, week, day, hour, minute or second."""
        if period not in set(e.Period):
            raise InvalidInputError(
                f"{show(period)} is not a period", f"use one of {', '.join(e.Period)}", "unknown-choice"
            )

        def start(item: Term) -> Term:
            item = moment(item, "dt.truncate")
            return folded(e.Truncated(e.Period(period), item.expression), item.form, item)

        return _one(f'{self._of._inner}.dt.truncate("{period}")', self._of, start)


# The public makers


def col(name: str) -> Expr:
    """A column of the frame that gets this expression."""
    if not isinstance(name, str):
        raise InvalidInputError(f"a column is named by a text, not {show(name)}", 'write pv.col("age")', "wrong-type")
    return Expr(lambda scope: scope.column(name), cut(f"col({written(name)})"))


def lit(value: object) -> Expr:
    """A constant: a number, text, date, time, True, False or None."""
    term = constant(value)
    return Expr(lambda _: term, cut(f"lit({written(value)})"))


# From Python values


def expr(value: object) -> Expr:
    """An expression as it is; anything else as a constant."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, Unfinished):
        raise InvalidInputError(
            "an expression is not complete", 'write pv.when(c).then(x) or pv.col("day").dt.year', "wrong-type"
        )
    term = constant(value)
    return Expr(lambda _: term, cut(written(value)))


def named(value: object) -> Expr:
    """An expression, or the column of that name."""
    return value if isinstance(value, Expr) else col(value)  # type: ignore[arg-type]


def condition_of(value: object, what: str) -> Expr:
    if not isinstance(value, Expr):
        raise InvalidInputError(
            f"{what} needs a condition, not {show(value)}", 'for example pv.col("age") > 60', "not-a-condition"
        )
    return value


def items_of(value: Expr, sign: str = "&") -> tuple[Expr, ...]:
    """The conditions of a chain, or the one condition that it is."""
    return value._items[1] if value._items is not None and value._items[0] == sign else (value,)


def read(value: Expr, scope: ColumnScope) -> Term:
    """What an expression means; deep ones are refused, not a crash."""
    try:
        return value._read(scope)
    except RecursionError:
        raise RefusedQueryError(*DEEP, "too-deep") from None


def cut(text: str) -> str:
    """Short enough for people."""
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 3] + "..."


def _divided(left: Term, right: Term) -> Term:
    return divided(left, right, "/")


def _one(text: str, item: Expr, make: Callable[[Term], Term]) -> Expr:
    return Expr(lambda scope: make(item._read(scope)), cut(text))


def _open(text: str, item: Expr, make: Callable[[Term], Term]) -> Expr:
    return replace(_one(text, item, make), _open=True)


def _two(sign: str, left: object, right: object, make: Callable[[Term, Term], Term]) -> Expr:
    one, two = expr(left), expr(right)
    return Expr(
        lambda scope: make(one._read(scope), two._read(scope)), cut(f"{one._inner} {sign} {two._inner}"), None, True
    )


def _signed(sign: e.Sign, left: object, right: object) -> Expr:
    return _two(str(sign), left, right, lambda one, two: arithmetic(sign, one, two))


def _compared(relation: e.Relation, sign: str, left: object, right: object) -> Expr:
    if right is None:
        raise RefusedQueryError(f"{sign} None is never true", "write .is_null() or .is_not_null()", "null-comparison")
    return _two(sign, left, right, lambda one, two: compared(relation, one, two))


def _chained(sign: str, left: object, right: object) -> Expr:
    """a & b & c is one AND of three, as in SQL; brackets on the right are kept."""
    items = (*items_of(expr(left), sign), expr(right))
    kind: Any = e.And if sign == "&" else e.Or

    def read(scope: ColumnScope) -> Term:
        terms = [truth(item._read(scope), sign) for item in items]
        return made(kind(tuple(term.expression for term in terms)), Form.TRUTH, *terms)

    text = f" {sign} ".join(item._inner for item in items[:LONGEST_TEXT])
    return Expr(read, cut(text), (sign, items), True)
