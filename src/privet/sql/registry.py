"""How a syntax tree is read: one small rule for each kind of node. A node without a rule is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import ErrorLevel, exp

from privet.core.rational import show
from privet.errors import RefusedQueryError
from privet.sql.places import point
from privet.sql.terms import Term

Read = Callable[[exp.Expr], Term]
Make = Callable[[Read, Any], Term]


@dataclass(frozen=True, slots=True)
class Rule:
    """How to read a kind of node that has these arguments and no others."""

    make: Make
    arguments: frozenset[str]


RULES: dict[type[exp.Expr], Rule] = {}


def rule(kind: type[exp.Expr], arguments: str = "this") -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        RULES[kind] = Rule(make, frozenset(arguments.split()))
        return make

    return register


def reading(special: Callable[[exp.Expr], Term | None]) -> Read:
    """A reader of expressions; `special` sees every node first, and knows the columns."""

    def read(node: exp.Expr) -> Term:
        try:
            found = special(node)
            if found is not None:
                return found
            known = RULES.get(type(node))
            if known is None or given(node) - known.arguments:
                raise not_understood(node)
            return known.make(read, node)
        except RefusedQueryError as error:
            raise point(error, node) from None

    return read


def given(node: exp.Expr) -> set[str]:
    """The arguments that a node has."""
    return {name for name, value in node.args.items() if value}


def not_understood(node: exp.Expr) -> RefusedQueryError:
    return RefusedQueryError(
        f"{written(node)} is not understood", "use the operators and functions listed in docs/sql.md", "unsupported-sql"
    )


def written(node: exp.Expr) -> str:
    """Roughly what the user wrote, for an error."""
    return show(node.sql("duckdb", comments=False, unsupported_level=ErrorLevel.IGNORE))


# Functions that the parser knows nothing about, or too much: read by their name, with the arguments in order.

Named = Callable[[Read, Sequence[exp.Expr]], Term | None]
_NAMED: dict[str, Named] = {}


def named(*names: str) -> Callable[[Named], Named]:
    """For a function that gives None where it does not understand the arguments."""

    def register(make: Named) -> Named:
        _NAMED.update(dict.fromkeys(names, make))
        return make

    return register


@rule(exp.Anonymous, "this expressions")
def _anonymous(read: Read, node: exp.Anonymous) -> Term:
    make = _NAMED.get(node.name.lower())
    found = make(read, node.expressions) if make else None
    if found is None:
        raise not_understood(node)
    return found
