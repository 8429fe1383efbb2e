"""Expressions with their form and size, and what SQL does silently: booleans as numbers, texts as dates."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from privet.core import expression as e
from privet.core.calendar import midnight
from privet.core.evaluate import evaluate
from privet.core.expression import Expression, Value
from privet.core.rational import LARGEST, show
from privet.core.shape import Form
from privet.errors import RefusedQueryError
from privet.sql.constants import moment_of

MOST_NODES = 10_000  # written out: NULLIF(x, 0) holds x twice, so that nesting it doubles
MOST_LEVELS = 100  # so that nothing that walks a plan runs out of stack
MOMENTS = {Form.DATE, Form.TIME}
NAMES = {
    Form.NUMBER: "a number", Form.TRUTH: "a condition", Form.DATE: "a date", Form.TIME: "a timestamp",
    Form.WORD: "a text", Form.NOTHING: "NULL",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Term:
    """An expression of known form; `size` counts its nodes, `depth` its levels."""

    expression: Expression
    form: Form
    size: int = 1
    depth: int = 1

    @property
    def constant(self) -> bool:
        return isinstance(self.expression, e.Literal)


def made(expression: Expression, form: Form, *parts: Term) -> Term:
    """A term made of these parts."""
    size = 1 + sum(part.size for part in parts)
    depth = 1 + max((part.depth for part in parts), default=0)
    if size > MOST_NODES or depth > MOST_LEVELS:
        raise RefusedQueryError("an expression is too long", "split it, or use IN, BETWEEN or CASE", "too-long")
    return Term(expression, form, size, depth)


def literal(value: Value) -> Term:
    match value:
        case None:
            form = Form.NOTHING
        case bool():
            form = Form.TRUTH
        case Fraction():
            form = Form.NUMBER
        case str():
            form = Form.WORD
        case dt.datetime():
            form = Form.TIME
        case _:
            form = Form.DATE
    return Term(e.Literal(value), form)


def folded(expression: Expression, form: Form, *parts: Term) -> Term:
    """The same, or its value where all parts are constants."""
    if not all(part.constant for part in parts):
        return made(expression, form, *parts)
    value = evaluate(expression, {})
    if isinstance(value, Fraction) and max(abs(value.numerator), value.denominator) > LARGEST:
        raise RefusedQueryError("a constant is too large", "write constants with at most 400 digits", "too-large")
    return literal(value)


def number(term: Term, what: str) -> Term:
    """As a number: true is 1, false is 0."""
    match term:
        case Term(e.Literal(bool(value)), _):
            return literal(Fraction(value))
        case Term(truth, Form.TRUTH):
            cases = ((truth, e.Literal(Fraction(1))), (e.Not(truth), e.Literal(Fraction(0))))
            return made(e.Case(cases, e.Literal(None)), Form.NUMBER, term, term)
    return needed(term, what, Form.NUMBER)


def truth(term: Term, what: str) -> Term:
    return needed(term, what, Form.TRUTH)


def moment(term: Term, what: str) -> Term:
    """As a date or time; a constant text is read as one."""
    match term:
        case Term(e.Literal(str(text)), _):
            return literal(moment_of(text))
    return needed(term, what, Form.DATE, Form.TIME)


def needed(term: Term, what: str, *forms: Form) -> Term:
    if term.form in (*forms, Form.NOTHING):
        return term
    remedy = "use a column or constant of that kind"
    if Form.TRUTH in forms:
        remedy = "write a comparison, for example age >= 18"
    raise RefusedQueryError(
        f"{what} needs {' or '.join(NAMES[form] for form in forms)}, not {NAMES[term.form]}",
        remedy,
        "not-a-condition" if Form.TRUTH in forms else "type-mismatch",
    )


def weight_of(term: Term, name: str) -> str:
    """The column of the origin by which rows count."""
    if not isinstance(term.expression, e.Column) or term.form is not Form.NUMBER:
        raise RefusedQueryError(
            f"{show(name)} is not a column of numbers", "weigh by a column as it was declared", "type-mismatch"
        )
    return term.expression.name


def alike(terms: Sequence[Term], what: str) -> list[Term]:
    """Terms that can be compared with each other. A date beside a time is left as it is."""
    forms = {term.form for term in terms} - {Form.NOTHING}
    if forms & MOMENTS and Form.WORD in forms:
        terms = [moment(term, what) if term.form is Form.WORD else term for term in terms]
    elif forms == {Form.NUMBER, Form.TRUTH}:
        terms = [number(term, what) for term in terms]
    elif len(forms) > 1 and not forms <= MOMENTS:
        names = " and ".join(sorted(NAMES[form] for form in forms))
        remedy = "use values of one kind"
        if {Form.WORD, Form.NUMBER} <= forms and any(isinstance(term.expression, e.Literal) for term in terms):
            remedy = "write texts in single quotes, and numbers without"
        if forms == {Form.WORD, Form.TRUTH}:
            remedy = "compare with TRUE or FALSE, without quotes"
        raise RefusedQueryError(f"{what} mixes {names}", remedy, "type-mismatch")
    return list(terms)


def unified(terms: Sequence[Term], what: str) -> tuple[list[Term], Form]:
    """Terms of one form."""
    terms = alike(terms, what)
    forms = {term.form for term in terms} - {Form.NOTHING}
    if forms == MOMENTS:
        return [as_time(term) for term in terms], Form.TIME
    return terms, forms.pop() if forms else Form.NOTHING


def as_time(term: Term) -> Term:
    match term:
        case Term(e.Literal(dt.date() as day), Form.DATE):
            return literal(midnight(day))
        case Term(_, Form.DATE):
            return made(e.AsTime(term.expression), Form.TIME, term)
    return term


def compared(relation: e.Relation, left: Term, right: Term) -> Term:
    left, right = alike([left, right], str(relation))
    return made(e.Compare(relation, left.expression, right.expression), Form.TRUTH, left, right)


def arithmetic(sign: e.Sign, left: Term, right: Term) -> Term:
    if sign is e.Sign.SUBTRACT and {left.form, right.form} & MOMENTS:
        left, right = alike([left, right], "-")
    if sign is e.Sign.SUBTRACT and left.form is right.form is Form.DATE:
        return folded(e.Arithmetic(sign, left.expression, right.expression), Form.NUMBER, left, right)
    if {left.form, right.form} & MOMENTS:
        raise RefusedQueryError(
            f"{sign} is not defined for {NAMES[left.form]} and {NAMES[right.form]}",
            "subtract one date from another, which gives days: CAST(arrived AS DATE) - DATE '2020-01-01'",
            "type-mismatch",
        )
    left, right = number(left, str(sign)), number(right, str(sign))
    return folded(e.Arithmetic(sign, left.expression, right.expression), Form.NUMBER, left, right)


def chosen(branches: Sequence[tuple[Term, Term]], otherwise: Term) -> Term:
    """CASE: the value of the first branch whose condition is true."""
    values, form = unified([*(value for _, value in branches), otherwise], "CASE")
    conditions = [truth(condition, "WHEN") for condition, _ in branches]
    pairs = tuple((c.expression, v.expression) for c, v in zip(conditions, values, strict=False))
    return made(e.Case(pairs, values[-1].expression), form, *conditions, *values)
