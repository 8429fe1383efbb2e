"""Expressions with their columns replaced, and conditions put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from privet.core.evaluate import evaluate
from privet.core.expression import And, Case, Column, IsNull, Literal, Not, columns_in
from privet.core.shape import Form
from privet.sql.terms import Term, made


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same expression with every node changed, the inner ones first. Nodes are data: no list of them is needed."""
    if isinstance(value, tuple):
        return tuple(changed(item, change) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return change(type(value)(*(changed(getattr(value, field.name), change) for field in fields(value))))
    return value


def renamed(term: Term, names: Mapping[str, str]) -> Term:
    """The same term over columns with other names."""

    def rename(node: Any) -> Any:
        return Column(names[node.name]) if isinstance(node, Column) else node

    return Term(changed(term.expression, rename), term.form, term.size, term.depth)


def both(conditions: Sequence[Term]) -> Term | None:
    """All of them, or None if there is none."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return made(And(tuple(condition.expression for condition in conditions)), Form.TRUTH, *conditions)


def there(name: str) -> Term:
    """Does a column have a value?"""
    return Term(Not(IsNull(Column(name))), Form.TRUTH, 3, 3)


def where_true(condition: Term, term: Term) -> Term:
    """The term's value where the condition is true, otherwise NULL."""
    case = Case(((condition.expression, term.expression),), Literal(None))
    return made(case, term.form, condition, term)


def of_nothing(term: Term) -> object:
    """Its value where all columns are missing."""
    return evaluate(term.expression, dict.fromkeys(columns_in(term.expression)))
