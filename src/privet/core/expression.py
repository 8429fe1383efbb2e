"""What a plan may compute from one row: a closed list of total functions. Whatever is not in it is refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

Value = Fraction | bool | str | dt.date | dt.datetime | None  # None is SQL's NULL; there is no NaN and no infinity


class Sign(StrEnum):
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"


class Relation(StrEnum):
    EQUAL = "="
    UNEQUAL = "<>"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="


class Rounding(StrEnum):
    """To a multiple of a step; NEAREST takes halves upwards, INWARD goes towards zero."""

    DOWN = "floor"
    UP = "ceil"
    NEAREST = "round"
    INWARD = "trunc"


class Period(StrEnum):
    """What a date or time can be cut to. Weeks begin on Monday (ISO 8601)."""

    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    WEEK = "week"
    DAY = "day"
    HOUR = "hour"
    MINUTE = "minute"
    SECOND = "second"


class Field(StrEnum):
    """A number that can be read off a date or time. Sunday is 0 in DOW and 7 in ISODOW; WEEK is ISO's, and ISOYEAR the
    year that it belongs to. MONTHS counts months since the year 0."""

    YEAR = "year"
    ISOYEAR = "isoyear"
    MONTHS = "monthcount"
    QUARTER = "quarter"
    MONTH = "month"
    WEEK = "week"
    DAY = "day"
    DOW = "dow"
    ISODOW = "isodow"
    DOY = "doy"
    HOUR = "hour"
    MINUTE = "minute"
    SECOND = "second"


class Letters(StrEnum):
    """What letters can be turned into."""

    UPPER = "upper"
    LOWER = "lower"


class Side(StrEnum):
    """Where spaces are taken away."""

    BOTH = "both"
    START = "leading"
    END = "trailing"


@dataclass(frozen=True, slots=True)
class Column:
    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    value: Value


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Exact. Division by a constant is a multiplication by its inverse. Two dates can be subtracted: days."""

    sign: Sign
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Quotient:
    """Exact, and NULL where the right side is 0. In rows it has no grid to count in, so it is rounded there."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Compare:
    relation: Relation
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class And:
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not:
    item: Expression


@dataclass(frozen=True, slots=True)
class IsNull:
    item: Expression


@dataclass(frozen=True, slots=True)
class In:
    """One of a list of constants, none of them NULL."""

    item: Expression
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition is true."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Coalesce:
    """The first item that is not NULL."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Least:
    """The smallest item; NULLs are left out, as in PostgreSQL and DuckDB."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Greatest:
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Absolute:
    item: Expression


@dataclass(frozen=True, slots=True)
class Rounded:
    """A number rounded to a multiple of `step` > 0."""

    rounding: Rounding
    item: Expression
    step: Fraction


@dataclass(frozen=True, slots=True)
class Truncated:
    """The start of the period that a date or time lies in; a date stays a date."""

    period: Period
    item: Expression


@dataclass(frozen=True, slots=True)
class Extracted:
    field: Field
    item: Expression


@dataclass(frozen=True, slots=True)
class AsDate:
    """The day of a time."""

    item: Expression


@dataclass(frozen=True, slots=True)
class AsTime:
    """The first moment of a day."""

    item: Expression


@dataclass(frozen=True, slots=True)
class Modulo:
    """What is left of a number after whole multiples of `divisor` > 0, with the sign of the number."""

    item: Expression
    divisor: Fraction


@dataclass(frozen=True, slots=True)
class Power:
    """A number multiplied by itself; the exponent is at least 1."""

    item: Expression
    exponent: int


@dataclass(frozen=True, slots=True)
class Root:
    """The root of a number that is not negative; `degree` 2 is the square root. Of published numbers, or rounded."""

    item: Expression
    degree: int


@dataclass(frozen=True, slots=True)
class Logarithm:
    """Of a number above 0; to base e without a base. Of published numbers, or rounded."""

    item: Expression
    base: int | None = None


@dataclass(frozen=True, slots=True)
class Exponential:
    """e to the power of a number. Of published numbers, or rounded."""

    item: Expression


@dataclass(frozen=True, slots=True)
class Shifted:
    """A date or time so many months, then days, then microseconds later; in a shorter month its last day.

    What would lie beyond the years 1 to 9999 becomes their first or last moment. A date moves by whole days only.
    """

    item: Expression
    months: int
    days: int
    microseconds: int = 0


@dataclass(frozen=True, slots=True)
class Local:
    """A time in UTC as clocks in a zone showed it.

    Clocks were `first` microseconds ahead of UTC until the first change; from each change on, by its own number. The
    rules are part of the plan, so that what it means does not change with the rules of a machine.
    """

    item: Expression
    zone: str
    first: int
    changes: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A day as text: 2024, 2024-03 or 2024-03-07, by year, month or day."""

    period: Period
    item: Expression


@dataclass(frozen=True, slots=True)
class Recased:
    """A text with its Latin, Greek, Cyrillic and Armenian letters in one case, each letter by itself. Letters of other
    alphabets stay as they are."""

    letters: Letters
    item: Expression


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A text without spaces at its ends; other white space stays."""

    side: Side
    item: Expression


@dataclass(frozen=True, slots=True)
class Length:
    """How many characters (code points) a text has; `texts.LONGEST` if it has more."""

    item: Expression


@dataclass(frozen=True, slots=True)
class Sliced:
    """The characters from `start` on and before `stop`, as in Python: negative places count from the end."""

    item: Expression
    start: int
    stop: int | None


@dataclass(frozen=True, slots=True)
class Concat:
    """Texts one after the other; NULL if one of them is."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Replaced:
    """A text with every `old` turned into `new`, from the left; `old` is not empty."""

    item: Expression
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Piece:
    """What stands before, between and after the separators in a text; `place` counts from 1. Empty beyond the last."""

    item: Expression
    separator: str
    place: int


@dataclass(frozen=True, slots=True)
class Like:
    """Whether a whole text fits a pattern: % is any text, _ one character, and after a backslash each is itself."""

    item: Expression
    pattern: str


Expression = (
    Column | Literal | Arithmetic | Quotient | Compare | And | Or | Not | IsNull | In | Case | Coalesce | Least
    | Greatest | Absolute | Rounded | Truncated | Extracted | AsDate | AsTime | Modulo | Power | Root | Logarithm
    | Exponential | Shifted | Local | Written | Recased | Trimmed | Length | Sliced | Concat | Replaced | Piece | Like
)  # fmt: skip

Real = Quotient | Root | Logarithm | Exponential  # their values lie between the steps of any grid


def columns_in(thing: object) -> Iterator[str]:
    """Every column below a node, whatever nodes there are."""
    if isinstance(thing, Column):
        yield thing.name
    elif isinstance(thing, list | tuple):
        for part in thing:
            yield from columns_in(part)
    elif is_dataclass(thing):
        for field in fields(thing):
            yield from columns_in(getattr(thing, field.name))


def substituted(expression: Any, by: Mapping[str, Expression]) -> Any:
    """The same with other expressions in the place of columns."""
    if isinstance(expression, Column):
        return by.get(expression.name, expression)
    if isinstance(expression, tuple):
        return tuple(substituted(item, by) for item in expression)
    if is_dataclass(expression) and not isinstance(expression, type):
        return type(expression)(*(substituted(getattr(expression, field.name), by) for field in fields(expression)))
    return expression
