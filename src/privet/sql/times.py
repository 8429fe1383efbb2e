"""The rules for dates, times and casts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from privet.core.expression import Extracted, Field, Literal, Period, Relation, Rounding, Truncated, Written
from privet.core.rational import show
from privet.core.shape import Form
from privet.errors import RefusedQueryError
from privet.sql import text_functions  # noqa: F401  # its rules are registered by being read
from privet.sql.constants import date_of, number_of, whole_of
from privet.sql.registry import Make, Read, named, rule, written
from privet.sql.rules import FINEST, rounded
from privet.sql.spans import as_day
from privet.sql.terms import Term, as_time, chosen, compared, folded, literal, moment, number

_FIELDS = {
    **{f"{field}s": field for field in Field},
    **{str(field): field for field in Field},
    "dayofweek": Field.DOW, "dayofweek_iso": Field.ISODOW, "dayofyear": Field.DOY,
    "dayofmonth": Field.DAY, "weekofyear": Field.WEEK, "isoweek": Field.WEEK, "yearofweek": Field.ISOYEAR,
}  # fmt: skip


def _extracted(name: str, item: Term) -> Term:
    field = _FIELDS.get(name.lower())
    if field is None:
        raise RefusedQueryError(
            f"{show(name)} is not a part of a date", f"the parts are: {', '.join(Field)}", "unknown-choice"
        )
    item = moment(item, str(field).upper())
    return folded(Extracted(field, item.expression), Form.NUMBER, item)


@rule(exp.Extract, "this expression")
def _extract(read: Read, node: exp.Extract) -> Term:
    return _extracted(node.name, read(node.expression))


def _part(field: str) -> Make:
    return lambda read, node: _extracted(field, read(node.this))


for _kind, _field in (
    (exp.Year, "year"), (exp.Quarter, "quarter"), (exp.Month, "month"), (exp.Week, "week"), (exp.WeekOfYear, "week"),
    (exp.Day, "day"), (exp.DayOfMonth, "day"), (exp.DayOfWeek, "dow"), (exp.DayOfWeekIso, "isodow"),
    (exp.DayOfYear, "doy"), (exp.YearOfWeek, "isoyear"), (exp.YearOfWeekIso, "isoyear"),
    (exp.Hour, "hour"), (exp.Minute, "minute"), (exp.Second, "second"),
):  # fmt: skip
    rule(_kind)(_part(_field))


@named("isoyear")
def _isoyear(read: Read, arguments: Sequence[exp.Expr]) -> Term | None:
    return _extracted("isoyear", read(arguments[0])) if len(arguments) == 1 else None


@named("date_part", "datepart")
def _date_part(read: Read, arguments: Sequence[exp.Expr]) -> Term | None:
    """date_part('year', day), or with the name of the part alone."""
    match arguments:
        case [field, item]:
            return _extracted(field.name, read(item))
    return None


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def _called(field: str, names: Sequence[str]) -> Make:
    """The English name of a part, counted from 1."""

    def make(read: Read, node: exp.Expr) -> Term:
        part = _extracted(field, read(node.this))
        places = [compared(Relation.EQUAL, part, literal(Fraction(n))) for n in range(1, len(names) + 1)]
        return chosen([(place, literal(name)) for place, name in zip(places, names, strict=True)], literal(None))

    return make


rule(exp.Dayname)(_called("isodow", _DAYS))
rule(exp.Monthname)(_called("month", _MONTHS))


def _truncated(name: str, item: Term) -> Term:
    if name not in set(Period):
        raise RefusedQueryError(
            f"{show(name)} is not a period", f"the periods are: {', '.join(Period)}", "unknown-choice"
        )
    item = moment(item, "date_trunc")
    return folded(Truncated(Period(name), item.expression), item.form, item)


@named("date_trunc", "datetrunc")
def _date_trunc(read: Read, arguments: Sequence[exp.Expr]) -> Term | None:
    """date_trunc('month', day), or DATE_TRUNC(day, MONTH)."""
    match arguments:
        case [exp.Column() as item, exp.Column() as unit] if unit.name.lower() in set(Period):
            return _truncated(unit.name.lower(), read(item))
        case [unit, item]:
            return _truncated(unit.name.lower(), read(item))
    return None


@rule(exp.TimestampTrunc, "this unit")
def _timestamp_trunc(read: Read, node: exp.TimestampTrunc) -> Term:
    return _truncated(node.args["unit"].name.lower(), read(node.this))


_FORMATS = {
    "%Y": Period.YEAR, "%Y-%m": Period.MONTH, "%Y-%m-%d": Period.DAY, "%F": Period.DAY, "YYYY": Period.YEAR,
    "YYYY-MM": Period.MONTH, "YYYY-MM-DD": Period.DAY, "yyyy": Period.YEAR, "yyyy-MM": Period.MONTH,
    "yyyy-MM-dd": Period.DAY,
}  # fmt: skip


@named("to_char", "strftime", "date_format", "format_date")
def _written(read: Read, arguments: Sequence[exp.Expr]) -> Term | None:
    """STRFTIME(day, '%Y-%m') or FORMAT_DATE('%Y-%m', day)."""
    if len(arguments) != 2:
        return None
    first, second = map(read, arguments)
    item, how = (second, first) if first.constant else (first, second)
    period = _FORMATS.get(str(how.expression.value)) if isinstance(how.expression, Literal) else None
    if period is None:
        raise RefusedQueryError(
            "a date is written in a form that is not answered", "use '%Y', '%Y-%m' or '%Y-%m-%d'", "unknown-choice"
        )
    item = moment(item, "STRFTIME")
    return folded(Written(period, item.expression), Form.WORD, item)


# Casts

_WHOLE = {
    exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.INT128, exp.DType.UTINYINT,
    exp.DType.USMALLINT, exp.DType.UINT, exp.DType.UBIGINT, exp.DType.UINT128,
}  # fmt: skip


def _cast(read: Read, node: exp.Cast) -> Term:
    item, to = read(node.this), node.to.this
    if to is exp.DType.DATE:
        return _as_date(item)
    if to in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.DATETIME):
        return as_time(moment(item, "CAST AS TIMESTAMP"))
    if to is exp.DType.BOOLEAN:
        zero = literal(Fraction(0))
        return item if item.form is Form.TRUTH else compared(Relation.UNEQUAL, number(item, "CAST AS BOOLEAN"), zero)
    if to in _WHOLE:
        return rounded(Rounding.NEAREST, number(item, "CAST AS INTEGER"))
    if to in (exp.DType.FLOAT, exp.DType.DOUBLE):
        return number(item, "CAST AS DOUBLE")
    if to is exp.DType.DECIMAL:
        return _decimal(number(item, "CAST AS DECIMAL"), [size.this for size in node.to.expressions])
    raise RefusedQueryError(
        f"{written(node)} is not answered",
        "cast to INTEGER, DECIMAL(10, 2), DOUBLE, BOOLEAN, DATE or TIMESTAMP",
        "unsupported-type",
    )


rule(exp.Cast, "this to")(_cast)
rule(exp.TryCast, "this to safe")(_cast)


def _decimal(item: Term, sizes: list[exp.Expr]) -> Term:
    """DECIMAL(p, s) rounds to s places; DECIMAL alone changes nothing, as in PostgreSQL."""
    if not sizes:
        return item
    scale = sizes[1].name if len(sizes) > 1 else "0"
    return rounded(Rounding.NEAREST, item, whole_of(number_of(scale), "DECIMAL(10, 2)", FINEST))


@rule(exp.Date)
def _date(read: Read, node: exp.Date) -> Term:
    return _as_date(read(node.this))


def _as_date(item: Term) -> Term:
    match item.expression:
        case Literal(str(text)):
            return literal(date_of(text))
    return as_day(item, "CAST AS DATE")
