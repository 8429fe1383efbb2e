"""The rules for constants, arithmetic, conditions and choices."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from privet.core import expression as e
from privet.core.ranges import HIGHEST
from privet.core.real import BASES, DEGREES
from privet.core.shape import Form
from privet.errors import RefusedQueryError
from privet.sql.constants import number_of, whole_of
from privet.sql.registry import Make, Read, given, named, rule, written
from privet.sql.spans import elapsed
from privet.sql.terms import (
    Term,
    alike,
    arithmetic,
    chosen,
    compared,
    folded,
    literal,
    made,
    number,
    truth,
    unified,
)  # fmt: skip

FINEST = 30  # decimal places
MOST_BUCKETS = 10**6
MOST_BOUNDS = 90  # chained one after the other
LISTED = "WIDTH_BUCKET(x, [18, 45, 65])"


# Constants and brackets


@rule(exp.Paren)
def _paren(read: Read, node: exp.Paren) -> Term:
    return read(node.this)


@rule(exp.Literal, "this is_string")
def _literal(_: Read, node: exp.Literal) -> Term:
    return literal(node.this if node.is_string else number_of(node.this))


@rule(exp.Null, "")
def _null(_: Read, __: exp.Null) -> Term:
    return literal(None)


@rule(exp.Boolean)
def _boolean(_: Read, node: exp.Boolean) -> Term:
    return literal(bool(node.this))


# Arithmetic


@rule(exp.Neg)
def _negative(read: Read, node: exp.Neg) -> Term:
    return arithmetic(e.Sign.MULTIPLY, literal(Fraction(-1)), read(node.this))


@rule(exp.Mul, "this expression")
def _product(read: Read, node: exp.Mul) -> Term:
    return arithmetic(e.Sign.MULTIPLY, read(node.this), read(node.expression))


@rule(exp.Div, "this expression typed safe")
def _division(read: Read, node: exp.Div) -> Term:
    """Exact, never integer division."""
    return _divided(read, node)


def _divided(read: Read, node: exp.Binary) -> Term:
    return divided(read(node.this), read(node.expression), written(node))


def divided(left: Term, right: Term, what: str) -> Term:
    """By a constant a multiplication; by anything else a number that is rounded, if nothing around it does that."""
    left, right = number(left, "/"), number(right, "/")
    match right.expression:
        case e.Literal(Fraction() as value) if value:
            return arithmetic(e.Sign.MULTIPLY, left, literal(1 / value))
        case e.Literal():
            raise RefusedQueryError(f"{what} divides by 0", "divide by something else", "division-by-zero")
    return made(e.Quotient(left.expression, right.expression), Form.NUMBER, left, right)


def _divisor(read: Read, node: exp.Expr) -> Fraction:
    divisor = number(read(node.expression), "%")
    match divisor.expression:
        case e.Literal(Fraction() as value) if value:
            return value
    raise RefusedQueryError(
        f"{written(node)} does not divide by a constant other than 0",
        "take the remainder of a constant: x % 10",
        "constant-needed",
    )


@rule(exp.SafeDivide, "this expression")
def _safely_divided(read: Read, node: exp.SafeDivide) -> Term:
    """NULL where the divisor is 0."""
    left, right = read(node.this), number(read(node.expression), "/")
    return divided(left, right if right.constant else without_zero(right), "SAFE_DIVIDE")


def without_zero(item: Term) -> Term:
    """NULLIF(x, 0)."""
    return chosen([(compared(e.Relation.EQUAL, item, literal(Fraction(0))), literal(None))], item)


@rule(exp.IntDiv, "this expression")
def _whole_division(read: Read, node: exp.IntDiv) -> Term:
    """Cut towards zero, as in PostgreSQL, Spark, BigQuery and DuckDB."""
    return rounded(e.Rounding.INWARD, _divided(read, node))


@rule(exp.Mod, "this expression")
def _remainder(read: Read, node: exp.Mod) -> Term:
    """With the sign of the number, as everywhere; the sign of the divisor says nothing."""
    item, divisor = number(read(node.this), "%"), abs(_divisor(read, node))
    return folded(e.Modulo(item.expression, divisor), Form.NUMBER, item)


@rule(exp.Pow, "this expression")
def _power(read: Read, node: exp.Pow) -> Term:
    exponent = _constant(read(node.expression))
    return power(number(read(node.this), "POWER"), exponent if isinstance(exponent, Fraction) else None, written(node))


def power(item: Term, exponent: Fraction | None, what: str) -> Term:
    """Whole powers are exact. Others are a root, or 1 divided by it."""
    if exponent is None or not exponent or abs(exponent.numerator) > HIGHEST or exponent.denominator > DEGREES[-1]:
        raise RefusedQueryError(
            f"{what} has an exponent that is not answered",
            f"use a whole number to {HIGHEST} such as POWER(x, 2), a fraction such as 0.5, 1.5, 0.25 or 1.0/3, or their"
            " negatives",
            "out-of-range",
        )
    times = abs(exponent.numerator)
    found = item if times == 1 else folded(e.Power(item.expression, times), Form.NUMBER, item)
    if exponent < 0:
        found = divided(literal(Fraction(1)), found, what)
    if exponent.denominator == 1:
        return found
    return irrational(e.Root(found.expression, exponent.denominator), found, what)


def irrational(function: e.Root | e.Logarithm | e.Exponential, item: Term, what: str) -> Term:
    """A root, logarithm or exponential of a number; of a constant, its value to 12 digits or more."""
    found = folded(function, Form.NUMBER, item)
    if found.form is Form.NOTHING and item.form is not Form.NOTHING:
        raise RefusedQueryError(f"{what} has no value", "take it of a number that it is defined for", "out-of-domain")
    return found


def _of_one(kind: type[e.Root] | type[e.Logarithm] | type[e.Exponential], name: str, *rest: int) -> Make:
    def make(read: Read, node: exp.Expr) -> Term:
        item = number(read(node.this), name)
        return irrational(kind(item.expression, *rest), item, written(node))

    return make


rule(exp.Sqrt)(_of_one(e.Root, "SQRT", 2))
rule(exp.Cbrt)(_of_one(e.Root, "CBRT", 3))
rule(exp.Ln)(_of_one(e.Logarithm, "LN"))
rule(exp.Exp)(_of_one(e.Exponential, "EXP"))


@rule(exp.Log, "this expression")
def _logarithm(read: Read, node: exp.Log) -> Term:
    """LOG(2, x), or LOG(x, 2) as in BigQuery: the base is the constant. LOG2 and LOG10 come as the first."""
    other = node.args.get("expression")
    terms = [] if other is None else [number(read(item), "LOG") for item in (node.this, other)]
    if not terms:
        raise RefusedQueryError(
            "LOG(x) is the natural logarithm in some engines and the decimal one in others",
            "write LN(x) or LOG10(x)",
            "wrong-arguments",
        )
    base, item = terms if terms[0].constant else reversed(terms)
    value = _constant(base)
    if not (isinstance(value, Fraction) and value.denominator == 1 and value in BASES):
        raise RefusedQueryError(
            f"{written(node)} has no base that is answered",
            f"write LOG(2, x), with a whole number from {BASES[0]} to {BASES[-1]}; or LN(x)",
            "out-of-range",
        )
    return irrational(e.Logarithm(item.expression, int(value)), item, written(node))


@rule(exp.Sign)
def _sign(read: Read, node: exp.Sign) -> Term:
    item, zero = number(read(node.this), "SIGN"), literal(Fraction(0))
    branches = [
        (compared(relation, item, zero), literal(Fraction(sign)))
        for relation, sign in ((e.Relation.GREATER, 1), (e.Relation.EQUAL, 0), (e.Relation.LESS, -1))
    ]
    return chosen(branches, literal(None))


@rule(exp.WidthBucket, "this min_value max_value num_buckets")
def _bucket(read: Read, node: exp.WidthBucket) -> Term:
    """0 below the lowest bound, one more than there are buckets from the highest on."""
    what = "WIDTH_BUCKET(x, 0, 100, 10)"
    item = number(read(node.this), "WIDTH_BUCKET")
    if isinstance(node.args["min_value"], exp.Array) and given(node) == {"this", "min_value"}:
        return buckets(item, [_constant(read(bound)) for bound in node.args["min_value"].expressions])
    if not given(node) >= {"max_value", "num_buckets"}:
        raise RefusedQueryError(f"{written(node)} lacks arguments", f"write {what}, or {LISTED}", "wrong-arguments")
    low, high = (_constant(read(node.args[name])) for name in ("min_value", "max_value"))
    many = whole_of(_constant(read(node.args["num_buckets"])), what, MOST_BUCKETS)
    if not (isinstance(low, Fraction) and isinstance(high, Fraction) and low < high and many > 0):
        raise RefusedQueryError(
            f"{written(node)} has no such buckets", f"write {what} with constants", "constant-needed"
        )
    above = arithmetic(e.Sign.SUBTRACT, item, literal(low))
    place = rounded(e.Rounding.DOWN, arithmetic(e.Sign.MULTIPLY, above, literal(many / (high - low))))
    place = arithmetic(e.Sign.ADD, place, literal(Fraction(1)))
    inside = e.Least((e.Greatest((place.expression, e.Literal(Fraction(0)))), e.Literal(Fraction(many + 1))))
    there = made(e.Not(e.IsNull(item.expression)), Form.TRUTH, item)  # LEAST and GREATEST leave NULLs out
    return chosen([(there, made(inside, Form.NUMBER, place))], literal(None))


def buckets(item: Term, bounds: Sequence[object]) -> Term:
    """How many of the bounds, which ascend, are not above the item."""
    numbers = [bound for bound in bounds if isinstance(bound, Fraction)]
    ascending = all(low < high for low, high in itertools.pairwise(numbers))
    if not (0 < len(numbers) == len(bounds) <= MOST_BOUNDS and ascending):
        raise RefusedQueryError(
            "the bounds of the buckets are not a list of ascending constants",
            f"write {LISTED}, with at most {MOST_BOUNDS} bounds",
            "constant-needed",
        )
    branches = [
        (compared(e.Relation.GREATER_EQUAL, item, literal(bound)), literal(Fraction(place)))
        for place, bound in reversed(list(enumerate(numbers, start=1)))
    ]
    below = (compared(e.Relation.LESS, item, literal(numbers[0])), literal(Fraction(0)))
    return chosen([*branches, below], literal(None))


@rule(exp.Abs)
def _absolute(read: Read, node: exp.Abs) -> Term:
    item = number(read(node.this), "ABS")
    return folded(e.Absolute(item.expression), Form.NUMBER, item)


def rounded(rounding: e.Rounding, item: Term, decimals: int = 0) -> Term:
    item = number(item, str(rounding).upper())
    return folded(e.Rounded(rounding, item.expression, Fraction(10) ** -decimals), Form.NUMBER, item)


@rule(exp.Floor)
def _floor(read: Read, node: exp.Floor) -> Term:
    return rounded(e.Rounding.DOWN, read(node.this))


@rule(exp.Ceil)
def _ceil(read: Read, node: exp.Ceil) -> Term:
    return rounded(e.Rounding.UP, read(node.this))


def _to_decimals(rounding: e.Rounding) -> Make:
    def make(read: Read, node: exp.Expr) -> Term:
        decimals = node.args.get("decimals")
        digits = 0 if decimals is None else whole_of(_constant(read(decimals)), f"{rounding.upper()}(x, 2)", FINEST)
        return rounded(rounding, read(node.this), digits)

    return make


rule(exp.Round, "this decimals")(_to_decimals(e.Rounding.NEAREST))
rule(exp.Trunc, "this decimals")(_to_decimals(e.Rounding.INWARD))


def _constant(term: Term) -> object:
    return term.expression.value if isinstance(term.expression, e.Literal) else term


# Conditions


def _relation(relation: e.Relation) -> Make:
    def make(read: Read, node: exp.Binary) -> Term:
        between = elapsed(relation, read, node)
        if between is not None:
            return between
        left, right = read(node.this), read(node.expression)
        if Form.NOTHING in (left.form, right.form):
            raise RefusedQueryError(f"{relation} NULL is never true", "write IS NULL or IS NOT NULL", "null-comparison")
        return compared(relation, left, right)

    return make


for _kind, _meaning in (
    (exp.EQ, e.Relation.EQUAL), (exp.NEQ, e.Relation.UNEQUAL), (exp.LT, e.Relation.LESS),
    (exp.LTE, e.Relation.LESS_EQUAL),
    (exp.GT, e.Relation.GREATER), (exp.GTE, e.Relation.GREATER_EQUAL),
):  # fmt: skip
    rule(_kind, "this expression")(_relation(_meaning))


def _connective(kind: type[exp.Connector], combine: type[e.And] | type[e.Or], name: str) -> Make:
    def make(read: Read, node: exp.Expr) -> Term:
        items, waiting = [], [node]
        while waiting:  # a chain of thousands is as deep as it is long: no recursion here
            top = waiting.pop()
            if isinstance(top, kind):
                waiting += [top.expression, top.this]
            else:
                items.append(truth(read(top), name))
        return made(combine(tuple(item.expression for item in items)), Form.TRUTH, *items)

    return make


rule(exp.And, "this expression")(_connective(exp.And, e.And, "AND"))
rule(exp.Or, "this expression")(_connective(exp.Or, e.Or, "OR"))


def _negated(item: Term) -> Term:
    return made(e.Not(item.expression), Form.TRUTH, item)


@rule(exp.Not)
def _not(read: Read, node: exp.Not) -> Term:
    return _negated(truth(read(node.this), "NOT"))


@rule(exp.Between, "this low high")
def _between(read: Read, node: exp.Between) -> Term:
    item, low, high = (read(node.args[name]) for name in ("this", "low", "high"))
    ends = compared(e.Relation.GREATER_EQUAL, item, low), compared(e.Relation.LESS_EQUAL, item, high)
    return made(e.And(tuple(end.expression for end in ends)), Form.TRUTH, *ends)


@rule(exp.In, "this expressions")
def _in(read: Read, node: exp.In) -> Term:
    listed = [read(item) for item in node.expressions]
    if not listed or not all(item.constant for item in listed):
        raise RefusedQueryError(
            "IN needs a list of constants", "write x IN (1, 2), or x = y OR x = z", "constant-needed"
        )
    if any(item.form is Form.NOTHING for item in listed):
        raise RefusedQueryError(
            "NULL in an IN list is never equal to anything", "write x IN (1, 2) OR x IS NULL", "null-comparison"
        )
    item, *listed = alike([read(node.this), *listed], "IN")
    values = tuple(one.expression.value for one in listed if isinstance(one.expression, e.Literal))
    return made(e.In(item.expression, values), Form.TRUTH, item, *listed)


@rule(exp.Is, "this expression")
def _is(read: Read, node: exp.Is) -> Term:
    item, other = read(node.this), read(node.expression)
    match other.expression:
        case e.Literal(None):
            return made(e.IsNull(item.expression), Form.TRUTH, item)
        case e.Literal(bool(value)):
            item = truth(item, "IS TRUE")
            item = item if value else _negated(item)
            return made(e.Coalesce((item.expression, e.Literal(False))), Form.TRUTH, item)
    raise RefusedQueryError(
        f"{written(node)} is not understood", "write IS NULL, IS TRUE or IS FALSE, or use =", "unsupported-sql"
    )


# Choices


@rule(exp.Case, "this ifs default")
def _case(read: Read, node: exp.Case) -> Term:
    subject, default = node.args.get("this"), node.args.get("default")
    of = None if subject is None else read(subject)
    branches = []
    for branch in node.args["ifs"]:
        when = read(branch.this)
        branches.append((when if of is None else compared(e.Relation.EQUAL, of, when), read(branch.args["true"])))
    return chosen(branches, literal(None) if default is None else read(default))


@rule(exp.If, "this true false")
def _if(read: Read, node: exp.If) -> Term:
    other = node.args.get("false")
    return chosen([(read(node.this), read(node.args["true"]))], literal(None) if other is None else read(other))


@rule(exp.Nvl2, "this true false")
def _nvl2(read: Read, node: exp.Nvl2) -> Term:
    item, there, missing = (read(node.args[name]) for name in ("this", "true", "false"))
    return chosen([(made(e.IsNull(item.expression), Form.TRUTH, item), missing)], there)


@named("decode")
def _decode(read: Read, arguments: Sequence[exp.Expr]) -> Term | None:
    """DECODE(x, a, b, c, d, e): b if x is a, d if x is c, otherwise e or NULL. NULL is NULL here."""
    if len(arguments) < 3:
        return None
    item, *rest = map(read, arguments)
    otherwise = rest.pop() if len(rest) % 2 else literal(None)
    return chosen([(_is_same(item, rest[i]), rest[i + 1]) for i in range(0, len(rest), 2)], otherwise)


def _is_same(item: Term, other: Term) -> Term:
    if other.form is Form.NOTHING:
        return made(e.IsNull(item.expression), Form.TRUTH, item)
    return compared(e.Relation.EQUAL, item, other)


@rule(exp.Nullif, "this expression")
def _nullif(read: Read, node: exp.Nullif) -> Term:
    item = read(node.this)
    return chosen([(compared(e.Relation.EQUAL, item, read(node.expression)), literal(None))], item)


def _listing(kind: type[e.Coalesce] | type[e.Least] | type[e.Greatest], name: str) -> Make:
    def make(read: Read, node: exp.Expr) -> Term:
        items, form = unified([read(item) for item in (node.this, *node.expressions)], name)
        return made(kind(tuple(item.expression for item in items)), form, *items)

    return make


rule(exp.Coalesce, "this expressions")(_listing(e.Coalesce, "COALESCE"))
rule(exp.Least, "this expressions ignore_nulls")(_listing(e.Least, "LEAST"))
rule(exp.Greatest, "this expressions ignore_nulls")(_listing(e.Greatest, "GREATEST"))
