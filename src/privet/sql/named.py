"""Functions that the parser knows nothing about, or too much: read by their name, with the arguments in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from privet.sql.registry import Read, not_understood, rule
from privet.sql.terms import Term

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
