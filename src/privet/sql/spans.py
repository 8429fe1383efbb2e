"""The rules for dates that are moved, differences between them, and time zones."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from zoneinfo import ZoneInfo

from sqlglot import exp

from privet.core import calendar
from privet.core import expression as e
from privet.core.rational import show
from privet.core.shape import Form
from privet.core.shifting import FARTHEST
from privet.errors import RefusedQueryError
from privet.sql.constants import whole_of
from privet.sql.registry import Make, Read, named, rule, written
from privet.sql.terms import Term, arithmetic, as_time, compared, folded, literal, moment, needed

# The rules of time zones: how far clocks were ahead of UTC, and when that changed.

FIRST, LAST = dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
STRIDE = dt.timedelta(days=2)  # the closest two changes of any zone are nearly four days apart
SECOND = dt.timedelta(seconds=1)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,30}(/[A-Za-z0-9_+-]{1,30}){0,3}", re.ASCII)

Changes = tuple[tuple[int, int], ...]


@lru_cache(maxsize=64)
def rules_of(name: str) -> tuple[int, Changes]:
    """(ahead at first, changes) in microseconds, from 1900 to 2100; before and after it stays as it is then."""
    zone = _zone(name)
    time, ahead = FIRST, _ahead(zone, FIRST)
    first, changes = _microseconds(ahead), []
    while time < LAST:
        following = time + STRIDE
        if _ahead(zone, following) != ahead:
            place = _first_change(zone, time, following)
            ahead = _ahead(zone, place)
            changes.append((calendar.microseconds(place.replace(tzinfo=None)), _microseconds(ahead)))
        time = following
    return first, tuple(changes)


def _zone(name: str) -> ZoneInfo:
    try:
        if _NAME.fullmatch(name):
            return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        pass
    raise RefusedQueryError(
        f"there is no time zone {show(name)}", "write, for example, 'Europe/Berlin' or 'UTC'", "unknown-choice"
    )


def _ahead(zone: ZoneInfo, time: dt.datetime) -> dt.timedelta:
    return time.astimezone(zone).utcoffset() or dt.timedelta()


def _microseconds(span: dt.timedelta) -> int:
    return span // dt.timedelta(microseconds=1)


def _first_change(zone: ZoneInfo, before: dt.datetime, after: dt.datetime) -> dt.datetime:
    """The first second with another number than at `before`. Zones change at whole seconds."""
    ahead = _ahead(zone, before)
    while after - before > SECOND:
        middle = before + (after - before) // 2 // SECOND * SECOND
        before, after = (middle, after) if _ahead(zone, middle) == ahead else (before, middle)
    return after


MOST = FARTHEST * 366 * 86_400  # in any unit
_DAY = calendar.DAY
_UNITS: dict[str, tuple[int, int, int]] = {  # months, days, microseconds
    "year": (12, 0, 0), "quarter": (3, 0, 0), "month": (1, 0, 0), "week": (0, 7, 0), "day": (0, 1, 0),
    "hour": (0, 0, _DAY // 24), "minute": (0, 0, _DAY // 1440), "second": (0, 0, _DAY // 86400),
    "millisecond": (0, 0, 1000), "microsecond": (0, 0, 1),
}  # fmt: skip
_PART = re.compile(r"\s*([+-]?\d{1,12})\s+([A-Za-z]+)\s*,?", re.ASCII)
_HOW = "write INTERVAL '7 days', with years, months, weeks, days, hours, minutes or seconds"


@dataclass(frozen=True, slots=True)
class Span:
    months: int = 0
    days: int = 0
    microseconds: int = 0

    def plus(self, count: int, unit: str) -> Span:
        name = unit.lower().removesuffix("s")
        if name not in _UNITS:
            raise RefusedQueryError(f"{show(unit)} is not a span of time", _HOW, "unknown-choice")
        months, days, clock = (count * each for each in _UNITS[name])
        return Span(self.months + months, self.days + days, self.microseconds + clock)

    def times(self, sign: int) -> Span:
        return Span(sign * self.months, sign * self.days, sign * self.microseconds)


def span_of(node: exp.Expr) -> Span | None:
    """Of INTERVAL; None of anything else."""
    node = node.unnest()
    if not isinstance(node, exp.Interval):
        return None
    amount, unit = node.this, node.args.get("unit")
    if unit is not None and isinstance(amount, exp.Literal) and isinstance(unit, exp.Var):
        text = f"{amount.name.strip()} {unit.name}"
    else:
        text = amount.name if isinstance(amount, exp.Literal) else ""
    return _read_span(text, node)


def _read_span(text: str, node: exp.Expr) -> Span:
    span, end = Span(), 0
    while end < len(text):
        found = _PART.match(text, end)
        if found is None:
            raise RefusedQueryError(f"{written(node)} is not a span of time that can be read", _HOW, "syntax-error")
        span, end = span.plus(int(found[1]), found[2]), found.end()
    if not text:
        raise RefusedQueryError(f"{written(node)} is not a constant span of time", _HOW, "constant-needed")
    return span


def moved(item: Term, span: Span) -> Term:
    """A date stays a date if it is moved by whole days."""
    item = moment(item, "INTERVAL")
    item = as_time(item) if span.microseconds else item
    if item.form is Form.NOTHING:
        return item
    if max(abs(span.months), abs(span.days), abs(span.microseconds) // _DAY) > MOST:
        raise RefusedQueryError("a date is moved too far", "move it by fewer days, months or years", "too-large")
    return folded(e.Shifted(item.expression, span.months, span.days, span.microseconds), item.form, item)


def _summed(sign: e.Sign) -> Make:
    """Numbers, or a date and a span or number of days."""

    def make(read: Read, node: exp.Binary) -> Term:
        direction = -1 if sign is e.Sign.SUBTRACT else 1
        before, after = span_of(node.this), span_of(node.expression)
        if after is not None and before is None:
            return moved(read(node.this), after.times(direction))
        if before is not None and after is None and direction > 0:
            return moved(read(node.expression), before)
        left, right = read(node.this), read(node.expression)
        days = _days(right) if left.form is Form.DATE else None
        if days is not None:
            return moved(left, Span(days=direction * days))
        return arithmetic(sign, left, right)

    return make


MIRRORED = {
    e.Relation.LESS: e.Relation.GREATER, e.Relation.LESS_EQUAL: e.Relation.GREATER_EQUAL,
    e.Relation.GREATER: e.Relation.LESS, e.Relation.GREATER_EQUAL: e.Relation.LESS_EQUAL,
}  # fmt: skip


def elapsed(relation: e.Relation, read: Read, node: exp.Binary) -> Term | None:
    """later - earlier > INTERVAL '1 day' is later > earlier + INTERVAL '1 day'. None of anything else."""
    sides = node.this.unnest(), node.expression.unnest()
    span, difference = span_of(sides[1]), sides[0]
    if span is None:
        span, difference, relation = span_of(sides[0]), sides[1], MIRRORED.get(relation, relation)
    if span is None or not isinstance(difference, exp.Sub):
        return None
    if span.months:
        raise RefusedQueryError(
            f"{written(node)} compares with months, which differ in length",
            "write days: INTERVAL '30 days'",
            "unsupported-sql",
        )
    later, earlier = (moment(read(side), "INTERVAL") for side in (difference.this, difference.expression))
    return compared(relation, as_time(later), moved(as_time(earlier), span))


rule(exp.Add, "this expression")(_summed(e.Sign.ADD))
rule(exp.Sub, "this expression")(_summed(e.Sign.SUBTRACT))


def _days(term: Term) -> int | None:
    """A constant whole number."""
    match term.expression:
        case e.Literal(Fraction(denominator=1) as number):
            return whole_of(number, "day + 7", MOST)
    return None


# Functions


def _unit(node: exp.Expr) -> str:
    """Of 'day', DAY or "day"."""
    return node.name.lower()


def _added(direction: int, read: Read, arguments: Sequence[exp.Expr]) -> Term | None:
    """(day, INTERVAL 7 DAY), (day, 7), or (day, 7, day) with the unit first."""
    if len(arguments) == 2:
        item, amount = arguments
        span = span_of(amount) or Span(days=_count(read(amount)))
    elif len(arguments) == 3:
        unit, amount, item = arguments
        span = Span().plus(_count(read(amount)), _unit(unit))
    else:
        return None
    return moved(read(item), span.times(direction))


def _count(term: Term) -> int:
    value = term.expression.value if isinstance(term.expression, e.Literal) else None
    return whole_of(value, "DATE_ADD(day, INTERVAL 7 DAY)", MOST)


named("date_add", "dateadd")(lambda read, arguments: _added(1, read, arguments))
named("date_sub")(lambda read, arguments: _added(-1, read, arguments) if len(arguments) == 2 else None)


@rule(exp.AddMonths, "this expression")
def _add_months(read: Read, node: exp.AddMonths) -> Term:
    return moved(read(node.this), Span(months=_count(read(node.expression))))


@rule(exp.LastDay, "this unit")
def _last_day(read: Read, node: exp.LastDay) -> Term:
    unit = node.args.get("unit")
    if unit is not None and _unit(unit) != "month":
        raise RefusedQueryError("LAST_DAY takes months only", "write LAST_DAY(day)", "unknown-choice")
    item = as_day(read(node.this), "LAST_DAY")
    month = folded(e.Truncated(e.Period.MONTH, item.expression), Form.DATE, item)
    return moved(month, Span(months=1, days=-1))


def as_day(item: Term, what: str) -> Term:
    item = moment(item, what)
    return folded(e.AsDate(item.expression), Form.DATE, item) if item.form is Form.TIME else item


@named("date_diff", "datediff")
def _difference(read: Read, arguments: Sequence[exp.Expr]) -> Term | None:
    """('day', first, last), (last, first, DAY) or (last, first), which is in days."""
    match arguments:
        case [last, first]:
            return difference("day", read(first), read(last))
        case [unit, first, last] if _singular(unit) in _UNITS:
            return difference(_singular(unit), read(first), read(last))
        case [last, first, unit]:
            return difference(_singular(unit), read(first), read(last))
    return None


def _singular(node: exp.Expr) -> str:
    return _unit(node).removesuffix("s")


_BETWEEN = ("year", "quarter", "month", "week", "day")


def difference(unit: str, first: Term, last: Term) -> Term:
    """How many ends of a unit lie between two days; of a week, how many times seven days. As DuckDB counts them."""
    first, last = (as_day(item, "DATE_DIFF") for item in (first, last))
    if unit in ("day", "week"):
        days = arithmetic(e.Sign.SUBTRACT, last, first)
        return days if unit == "day" else _steps(days, 7, e.Rounding.INWARD)
    if unit not in _BETWEEN:
        raise RefusedQueryError(
            f"{show(unit)} is not a unit of DATE_DIFF", f"the units are: {', '.join(_BETWEEN)}", "unknown-choice"
        )
    field = e.Field.YEAR if unit == "year" else e.Field.MONTHS
    first, last = (folded(e.Extracted(field, item.expression), Form.NUMBER, item) for item in (first, last))
    if unit == "quarter":
        first, last = (_steps(item, 3, e.Rounding.DOWN) for item in (first, last))
    return arithmetic(e.Sign.SUBTRACT, last, first)


def _steps(item: Term, size: int, rounding: e.Rounding) -> Term:
    shares = arithmetic(e.Sign.MULTIPLY, item, literal(Fraction(1, size)))
    return folded(e.Rounded(rounding, shares.expression, Fraction(1)), Form.NUMBER, shares)


# Time zones


def local(item: Term, zone: Term) -> Term:
    """A time in UTC, as clocks in a zone showed it."""
    match zone.expression:
        case e.Literal(str(name)):
            item = needed(moment(item, "AT TIME ZONE"), "AT TIME ZONE", Form.TIME)
            return folded(e.Local(item.expression, name, *rules_of(name)), Form.TIME, item)
    raise RefusedQueryError(
        "a time zone is not a constant text", "write arrived AT TIME ZONE 'Europe/Berlin'", "constant-needed"
    )


@rule(exp.AtTimeZone, "this zone")
def _at_time_zone(read: Read, node: exp.AtTimeZone) -> Term:
    return local(read(node.this), read(node.args["zone"]))


@rule(exp.Datetime, "this expression")
def _datetime(read: Read, node: exp.Datetime) -> Term:
    zone = node.args.get("expression")
    item = read(node.this)
    return as_time(moment(item, "DATETIME")) if zone is None else local(item, read(zone))


named("timezone")(lambda read, arguments: local(*map(read, reversed(arguments))) if len(arguments) == 2 else None)
named("from_utc_timestamp")(lambda read, arguments: local(*map(read, arguments)) if len(arguments) == 2 else None)
