"""Python values as constants of a plan, and what is done with single values."""

from __future__ import annotations

import datetime as dt
import numbers
from decimal import Decimal
from fractions import Fraction

from privet.core.expression import AsDate, IsNull, Not, Relation, Rounding, Sign
from privet.core.rational import rational, show
from privet.core.shape import Form
from privet.errors import InvalidInputError
from privet.sql.rules import divided, rounded
from privet.sql.terms import Term, arithmetic, as_time, compared, folded, literal, made, moment, number

NULL = literal(None)
CASTS = {int: "integer", float: "double", bool: "boolean", dt.date: "date", dt.datetime: "timestamp"}


def constant(value: object) -> Term:
    """What a Python value is in a plan."""
    match value:
        case None | bool():
            return literal(value)
        case str():
            return literal(str(value))
        case numbers.Real() | Decimal():
            return literal(rational(value, "a constant"))
        case dt.datetime() if value == value and value.tzinfo is None:  # noqa: PLR0124  # a missing time is not itself
            return literal(dt.datetime.combine(value.date(), value.time()))
        case dt.date() if not isinstance(value, dt.datetime):
            return literal(dt.date(value.year, value.month, value.day))
    if type(value).__name__ in ("bool", "bool_"):  # NumPy's
        return literal(bool(value))
    raise InvalidInputError(
        f"{show(value)} cannot be a constant",
        "use a number, text, date, time without zone, True, False or None; write a column as pv.col(...)",
        "wrong-type",
    )


def written(value: object) -> str:
    """As one would write it in Python."""
    if isinstance(value, str):
        return '"' + repr(value)[1:-1].replace('"', '\\"') + '"'
    return str(value) if isinstance(value, numbers.Number | Decimal | dt.date) else repr(value)


def rest(item: Term, by: Term) -> Term:
    multiples = arithmetic(Sign.MULTIPLY, by, rounded(Rounding.DOWN, divided(item, by, "%")))
    return arithmetic(Sign.SUBTRACT, item, multiples)


def negated(item: Term) -> Term:
    return made(Not(item.expression), Form.TRUTH, item)


def is_missing(item: Term) -> Term:
    return made(IsNull(item.expression), Form.TRUTH, item)


def cast(item: Term, name: str) -> Term:
    match name:
        case "integer":
            return rounded(Rounding.NEAREST, number(item, "cast"))
        case "double":
            return number(item, "cast")
        case "boolean":
            zero = literal(Fraction(0))
            return item if item.form is Form.TRUTH else compared(Relation.UNEQUAL, number(item, "cast"), zero)
    item = moment(item, "cast")
    if name == "timestamp":
        return as_time(item)
    return folded(AsDate(item.expression), Form.DATE, item) if item.form is Form.TIME else item
