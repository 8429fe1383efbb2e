"""The keys and aggregates of a plan while a query is read, each under a name of its own."""

from __future__ import annotations

from privet.core.expression import AsDate, Case, Column, Expression, Extracted, Rounded, Truncated
from privet.core.plan import Aggregate, Function, Key, canonical
from privet.core.rational import show
from privet.core.shape import Form
from privet.errors import RefusedQueryError
from privet.sql.terms import MOST_NODES, Term

LONGEST_NAME = 100
MOST_COLUMNS = 500


class Draft:
    """Equal expressions are recognized by their canonical form: True and 1 are equal in Python, not here."""

    def __init__(self) -> None:
        self.groups: dict[str, Term] = {}
        self.aggregates: list[Aggregate] = []
        self.names: dict[str, str] = {}  # of a group or aggregate, by its canonical form
        self.forms: dict[str, Form] = {}  # by name
        self.taken: set[str] = set()
        self.nodes = 0

    @property
    def keys(self) -> tuple[Key, ...]:
        return tuple(Key(name=self.names[place], value=term.expression) for place, term in self.groups.items())

    def counted(self, term: Term) -> Term:
        """The same term; refused where all terms together are too long."""
        self.nodes += term.size
        if self.nodes > MOST_NODES:
            raise RefusedQueryError("the query is too long", "ask in several queries")
        return term

    def group(self, term: Term) -> None:
        self.groups.setdefault(_place(None, term), self.counted(term))

    def key(self, term: Term) -> str | None:
        """The name of the group that a term is, or None."""
        return self.names.get(_place(None, term))

    def name_key(self, term: Term, alias: str) -> str | None:
        """Names a group, by its column if there is no alias. None if it is no group, or has a name already."""
        place = _place(None, term)
        if place not in self.groups or place in self.names:
            return None
        name = alias or (self.take(term.expression.name) if isinstance(term.expression, Column) else "")
        self.names[place] = name or self._fresh(_key_name(term.expression))
        self.forms[self.names[place]] = term.form
        return self.names[place]

    def name_other_keys(self) -> None:
        for place, term in self.groups.items():
            if place not in self.names:
                self.names[place] = self._fresh(_key_name(term.expression))
                self.forms[self.names[place]] = term.form

    def add(self, function: Function, value: Term | None, alias: str) -> str:
        """A new aggregate."""
        column = value.expression if value else None
        base = f"{function.lower()}_{column.name}" if isinstance(column, Column) else function.lower()
        name = alias or self._fresh(base)
        self.aggregates.append(
            Aggregate(name=name, function=function, value=self.counted(value).expression if value else None)
        )
        self.names.setdefault(_place(function, value), name)
        self.forms[name] = Form.NUMBER
        return name

    def known_or_added(self, function: Function, value: Term | None) -> str:
        return self.names.get(_place(function, value)) or self.add(function, value, "")

    def take(self, name: str) -> str:
        if name.lower() in self.taken:
            raise RefusedQueryError(f"two columns are named {show(name)}", "give them different names with AS")
        if not 1 <= len(name) <= LONGEST_NAME:
            raise RefusedQueryError(
                f"the name {show(name)} is empty or too long", f"use 1 to {LONGEST_NAME} characters"
            )
        if len(self.taken) >= MOST_COLUMNS:
            raise RefusedQueryError(
                f"the query has more than {MOST_COLUMNS} keys and aggregates", "ask in several queries"
            )
        self.taken.add(name.lower())
        return name

    def _fresh(self, base: str) -> str:
        """A name that nothing has yet."""
        base = base[: LONGEST_NAME - 10]
        name, number = base, 1
        while name.lower() in self.taken:
            number += 1
            name = f"{base}_{number}"
        return self.take(name)


def _place(function: Function | None, term: Term | None) -> str:
    return f"{function} {canonical(None if term is None else term.expression)}"


def _key_name(expression: Expression) -> str:
    match expression:
        case Column(name) | Truncated(name, _) | Extracted(name, _) | Rounded(name, _, _):
            return str(name)
        case Case():
            return "case"
        case AsDate():
            return "date"
        case _:
            return "key"
