"""Choices: a value that depends on conditions."""

from __future__ import annotations

from dataclasses import dataclass

from privet.frame.columns import ColumnScope, Expr, Unfinished, condition_of, cut, expr
from privet.frame.value_methods import NULL
from privet.sql.terms import Term, chosen


def when(condition: Expr) -> When:
    """pv.when(pv.col("age") < 18).then("child").otherwise("adult"). Without `otherwise` the rest is missing."""
    return When((), condition_of(condition, "when"))


class When(Unfinished):
    """A choice that still needs its value."""

    __slots__ = ("_branches", "_condition")

    def __init__(self, branches: tuple[tuple[Expr, Expr], ...], condition: Expr) -> None:
        self._branches = branches
        self._condition = condition

    def then(self, value: object) -> Then:
        return Then.of((*self._branches, (self._condition, expr(value))), None)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Then(Expr):
    """A choice: of the first condition that is true."""

    _branches: tuple[tuple[Expr, Expr], ...] = ()

    @classmethod
    def of(cls, branches: tuple[tuple[Expr, Expr], ...], otherwise: Expr | None) -> Then:
        def read(scope: ColumnScope) -> Term:
            pairs = [(condition._read(scope), value._read(scope)) for condition, value in branches]
            return chosen(pairs, NULL if otherwise is None else otherwise._read(scope))

        text = ".".join(f"when({condition!r}).then({value!r})" for condition, value in branches)
        full = text if otherwise is None else f"{text}.otherwise({otherwise!r})"
        return cls(read, cut(full), None, False, branches)

    def when(self, condition: Expr) -> When:
        return When(self._branches, condition_of(condition, "when"))

    def otherwise(self, value: object) -> Expr:
        return Then.of(self._branches, expr(value))
