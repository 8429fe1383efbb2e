"""The rules for dates, times and casts."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from privet.core.expression import AsDate, Extracted, Field, Literal, Period, Relation, Rounding, Truncated
from privet.core.rational import show
from privet.core.shape import Form
from privet.errors import RefusedQueryError
from privet.sql.constants import date_of, number_of, whole_of
from privet.sql.registry import Make, Read, not_understood, rule, written
from privet.sql.rules import FINEST, rounded
from privet.sql.terms import Term, as_time, compared, folded, literal, moment, number

_FIELDS = {
    **{str(field): field for field in Field},
    "dayofweek": Field.DOW, "dayofyear": Field.DOY, "dayofmonth": Field.DAY, "weekofyear": Field.WEEK,
}  # fmt: skip


def _extracted(name: str, item: Term) -> Term:
    field = _FIELDS.get(name.lower())
    if field is None:
        raise RefusedQueryError(f"{show(name)} is no part of a date", f"the parts are: {', '.join(Field)}")
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
    (exp.DayOfYear, "doy"), (exp.Hour, "hour"), (exp.Minute, "minute"), (exp.Second, "second"),
):  # fmt: skip
    rule(_kind)(_part(_field))


@rule(exp.Anonymous, "this expressions")
def _date_part(read: Read, node: exp.Anonymous) -> Term:
    """date_part('year', day); a function that the parser has no name for."""
    if node.name.lower() not in ("date_part", "datepart") or len(node.expressions) != 2:
        raise not_understood(node)
    field, item = node.expressions
    return _extracted(field.name, read(item))


def _truncated(read: Read, node: exp.Expr) -> Term:
    name = node.args["unit"].name.lower()
    if name not in set(Period):
        raise RefusedQueryError(
            f"{show(name)} is no period", f"write date_trunc('month', day); the periods are: {', '.join(Period)}"
        )
    item = moment(read(node.this), "date_trunc")
    return folded(Truncated(Period(name), item.expression), item.form, item)


rule(exp.DateTrunc, "this unit unabbreviate")(_truncated)
rule(exp.TimestampTrunc, "this unit")(_truncated)


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
        f"{written(node)} is not answered", "cast to INTEGER, DECIMAL(10, 2), DOUBLE, BOOLEAN, DATE or TIMESTAMP"
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
    item = moment(item, "CAST AS DATE")
    return folded(AsDate(item.expression), Form.DATE, item) if item.form is Form.TIME else item
