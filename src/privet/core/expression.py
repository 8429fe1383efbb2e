"""What a plan may compute from one row: a closed list of total functions. Whatever is not in it is refused."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

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
    """To a multiple of a step; NEAREST takes halves upwards."""

    DOWN = "floor"
    UP = "ceil"
    NEAREST = "round"


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
    """A number that can be read off a date or time. Sunday is 0 in DOW and 7 in ISODOW; WEEK is ISO's."""

    YEAR = "year"
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


Expression = (
    Column | Literal | Arithmetic | Compare | And | Or | Not | IsNull | In | Case | Coalesce | Least | Greatest
    | Absolute | Rounded | Truncated | Extracted | AsDate | AsTime
)  # fmt: skip
