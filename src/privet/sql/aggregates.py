"""COUNT, SUM and AVG in their spellings: which function, taken of which expression."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from privet.core.plan import Function
from privet.core.shape import Form
from privet.errors import RefusedQueryError
from privet.sql.registry import Read, given, not_understood, written
from privet.sql.terms import Term, chosen, literal, number, truth

FUNCTIONS = {"COUNT": Function.COUNT, "SUM": Function.SUM, "AVG": Function.AVG, "MEAN": Function.AVG}
ONE = literal(Fraction(1))
NULL = literal(None)


def is_aggregate(node: exp.Expr) -> bool:
    mean = isinstance(node, exp.Anonymous) and node.name.lower() == "mean"  # unknown to the parser
    return mean or isinstance(node, exp.Count | exp.Sum | exp.Avg | exp.CountIf | exp.Filter)


def aggregate_of(node: exp.Expr, row: Callable[[str], Read]) -> tuple[Function, Term | None]:
    """The function and what it is taken of; None for all rows. `row` reads expressions inside of it."""
    if isinstance(node, exp.Filter):
        if not is_aggregate(node.this):
            raise not_understood(node)
        condition = truth(row("FILTER")(node.expression.this), "FILTER")
        function, value = aggregate_of(node.this, row)
        return function, chosen([(condition, value or ONE)], NULL)
    name, argument = _argument(node)
    if isinstance(argument, exp.Star) and isinstance(node, exp.Count) and not given(argument):
        return Function.COUNT, None
    value = row(name)(argument)
    if isinstance(node, exp.CountIf):
        return Function.COUNT, chosen([(truth(value, name), ONE)], NULL)
    if isinstance(node, exp.Count):
        return Function.COUNT, None if value.constant and value.form is not Form.NOTHING else value
    if value.form is Form.NOTHING:
        raise RefusedQueryError(f"{name} needs a number, not NULL", "give a number column")
    return FUNCTIONS[name], number(value, name)


def _argument(node: exp.Expr) -> tuple[str, exp.Expr]:
    if isinstance(node, exp.Func) and not isinstance(node, exp.Anonymous):
        name, arguments = node.sql_name(), [node.this, *node.expressions]
    else:
        name, arguments = node.name.upper(), node.expressions
    if len(arguments) != 1 or arguments[0] is None:
        raise RefusedQueryError(f"{written(node)} does not have one argument", f"write {name}(x)")
    return name, arguments[0]
