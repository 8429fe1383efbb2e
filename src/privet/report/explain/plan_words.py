"""A plan in words close to SQL: what Privet understood, which may differ from what somebody meant to write."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from privet.core import expression as e
from privet.core.expression import Expression, Value
from privet.core.plan import Aggregate, By, Function, Joined, Numbered, Origin, PerUnit, Scan
from privet.core.rational import show
from privet.report.terminal import one_line
from privet.report.tree import TreeBranch

# Functions of one value in words close to SQL, with the words of that value inside.

OneValue = (
    e.Modulo | e.Power | e.Root | e.Logarithm | e.Exponential | e.Shifted | e.Local | e.Written | e.Recased
    | e.Trimmed | e.Length | e.Sliced | e.Replaced | e.Piece | e.Like
)  # fmt: skip
TRIM = {e.Side.BOTH: "TRIM", e.Side.START: "LTRIM", e.Side.END: "RTRIM"}
FORMATS = {e.Period.YEAR: "YYYY", e.Period.MONTH: "YYYY-MM", e.Period.DAY: "YYYY-MM-DD"}


def words_of_function(function: OneValue, item: str) -> str:
    match function:
        case e.Modulo(_, divisor):
            return f"({item} % {show(divisor)})"
        case e.Power(_, exponent):
            return f"POWER({item}, {exponent})"
        case e.Root(_, degree):
            return {2: f"SQRT({item})", 3: f"CBRT({item})"}.get(degree, f"POWER({item}, 1 / {degree})")
        case e.Logarithm(_, base):
            return f"LN({item})" if base is None else f"LOG({base}, {item})"
        case e.Exponential():
            return f"EXP({item})"
        case e.Shifted():
            return f"({item} + INTERVAL '{_interval(function)}')"
        case e.Local(_, zone):
            return f"({item} AT TIME ZONE {_text(zone)})"
        case e.Written(period):
            return f"TO_CHAR({item}, '{FORMATS[period]}')"
        case e.Recased(letters):
            return f"{letters.upper()}({item})"
        case e.Trimmed(side):
            return f"{TRIM[side]}({item})"
        case e.Length():
            return f"LENGTH({item})"
        case e.Sliced(_, start, stop):
            return _sliced(item, start, stop)
        case e.Replaced(_, old, new):
            return f"REPLACE({item}, {_text(old)}, {_text(new)})"
        case e.Piece(_, separator, place):
            return f"SPLIT_PART({item}, {_text(separator)}, {place})"
        case e.Like(_, pattern):
            return f"({item} LIKE {_text(pattern)})"
        case _:
            assert_never(function)


def _interval(moved: e.Shifted) -> str:
    parts = [(moved.months, "months"), (moved.days, "days"), (moved.microseconds, "microseconds")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 days"


def _sliced(item: str, start: int, stop: int | None) -> str:
    if start < 0:
        item, start = f"RIGHT({item}, {-start})", 0
    if stop is not None and (stop < 0 or not start):
        item, stop = f"LEFT({item}, {stop})", None
    if not start and stop is None:
        return item
    size = "" if stop is None else f", {max(0, stop - start)}"
    return f"SUBSTRING({item}, {start + 1}{size})"


def _text(value: str) -> str:
    return "'" + one_line(value).replace("'", "''") + "'"


MIDDLE = Fraction(1, 2)
SHOWN_VALUES = 8  # of a long list of constants


def words_of(expression: Expression) -> str:
    """On one line, with brackets wherever something is made of parts."""
    match expression:
        case e.Column(name):
            return one_line(name)
        case e.Literal(value):
            return constant(value)
        case e.Arithmetic(sign, left, right):
            return f"({words_of(left)} {sign} {words_of(right)})"
        case e.Quotient(left, right):
            return f"({words_of(left)} / {words_of(right)})"
        case e.Compare(relation, left, right):
            return f"({words_of(left)} {relation} {words_of(right)})"
        case e.And(items):
            return _joined(items, " AND ")
        case e.Or(items):
            return _joined(items, " OR ")
        case e.Not(e.Not(item)):
            return words_of(item)
        case e.Not(e.IsNull(item)):
            return f"({words_of(item)} IS NOT NULL)"
        case e.Not(item):
            return f"(NOT {words_of(item)})"
        case e.IsNull(item):
            return f"({words_of(item)} IS NULL)"
        case e.In(item, values):
            return f"({words_of(item)} IN ({_listed(values)}))"
        case e.Case(branches, otherwise):
            cases = [f"WHEN {words_of(when)} THEN {words_of(then)}" for when, then in branches]
            return f"CASE {' '.join(cases)} ELSE {words_of(otherwise)} END"
        case e.Coalesce(items) | e.Least(items) | e.Greatest(items):
            return f"{type(expression).__name__.upper()}{_joined(items, ', ')}"
        case e.Absolute(item):
            return f"ABS({words_of(item)})"
        case e.Rounded(rounding, item, step):
            return f"{rounding.upper()}({words_of(item)} to multiples of {constant(step)})"
        case e.Truncated(period, item):
            return f"date_trunc('{period}', {words_of(item)})"
        case e.Extracted(field, item):
            return f"extract({field} from {words_of(item)})"
        case e.AsDate(item):
            return f"CAST({words_of(item)} AS DATE)"
        case e.AsTime(item):
            return f"CAST({words_of(item)} AS TIMESTAMP)"
        case e.Concat(items):
            return _joined(items, " || ")
        case _:
            return words_of_function(expression, words_of(expression.item))


def call(aggregate: Aggregate) -> str:
    """Such as COUNT(*), AVG(cost), COUNT(DISTINCT city), CORR(age, cost), MEDIAN(age) or QUANTILE(age, 0.9)."""
    values = [value for value in (aggregate.value, aggregate.second) if value is not None]
    words = ", ".join(map(inside, values))
    if aggregate.function is Function.COUNT_DISTINCT:
        return f"COUNT(DISTINCT {words or 'unit'})"
    if aggregate.quantile == MIDDLE:
        return f"MEDIAN({words})"
    share = "" if aggregate.quantile is None else f", {constant(aggregate.quantile)}"
    return f"{aggregate.function}({words or '*'}{share})"


def inside(expression: Expression) -> str:
    """Without brackets of its own, since it stands in those of a function."""
    words = words_of(expression)
    return words[1:-1] if words.startswith("(") and not isinstance(expression, e.Column) else words


def origin_tree(origin: Origin) -> TreeBranch:
    """What a question is asked of."""
    match origin:
        case Scan():
            return TreeBranch(f"rows of {one_line(origin.table)}")
        case Joined():
            right = origin_tree(origin.right)
            right = right if origin.by_unit else replace(right, text=f"{right.text}, a public table")
            return TreeBranch(
                "rows put side by side: each one of the first with those of the second that match",
                (origin_tree(origin.left), right, *map(TreeBranch, _match(origin))),
            )
        case PerUnit():
            keys = ", ".join(f"{one_line(key.name)} = {words_of(key.value)}" for key in origin.keys)
            where = () if origin.where is None else (TreeBranch(f"only rows where {inside(origin.where)}"),)
            made = tuple(TreeBranch(f"{one_line(one.name)} = {call(one)}") for one in origin.aggregates)
            return TreeBranch(
                f"one row for each unit{f' and {keys}' if keys else ''}, made of its own rows",
                (origin_tree(origin.source), *where, *made),
            )
        case Numbered():
            keys = ", ".join(map(words_of, origin.keys))
            where = () if origin.where is None else (TreeBranch(f"only rows where {inside(origin.where)}"),)
            order = ", ".join(map(_by, origin.by)) or "no order of its own"
            return TreeBranch(
                f"rows with a number {one_line(origin.name)}: their place among the rows of the same unit"
                f"{f' and {keys}' if keys else ''}{_numbers(origin)}",
                (
                    origin_tree(origin.source),
                    *where,
                    TreeBranch(f"in the order of {order}; ties in the order of the values of the whole row"),
                ),
            )
        case _:
            assert_never(origin)


def _by(one: By) -> str:
    return f"{inside(one.value)}{' (largest first)' if one.descending else ''}"


def _numbers(origin: Numbered) -> str:
    if origin.last is None:
        return "" if origin.first == 1 else f", from number {origin.first:,} on"
    if origin.first == origin.last:
        return f", only number {origin.first:,}"
    return f", only numbers {origin.first:,} to {origin.last:,}"


def _match(origin: Joined) -> Iterator[str]:
    same = ["the same unit"] if origin.by_unit else []
    same += [f"{one_line(mine)} = {one_line(yours)}" for mine, yours in origin.on]
    yield f"they match: {', '.join(same)}"
    if origin.most is not None:
        yield f"at most {origin.most:,} of the second for each {'unit' if origin.by_unit else 'row'}"
    if origin.outer:
        yield "rows that nothing matches stay"
    taken = [one_line(name) if name == here else f"{one_line(name)} as {one_line(here)}" for name, here in origin.names]
    if taken:
        yield f"from the second: {', '.join(taken)}"


def constant(value: Value) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case Fraction():
            return str(value.numerator) if value.denominator == 1 else f"{float(value):.12g}"
        case dt.date():
            return f"'{value.isoformat()}'"
        case str():
            return "'" + one_line(value).replace("'", "''") + "'"
        case _:
            assert_never(value)


def _joined(items: Sequence[Expression], between: str) -> str:
    return f"({between.join(words_of(item) for item in items)})"


def _listed(values: Sequence[Value]) -> str:
    shown = ", ".join(constant(value) for value in values[:SHOWN_VALUES])
    hidden = len(values) - SHOWN_VALUES
    return shown + (f" and {hidden:,} more" if hidden > 0 else "")
