"""The keys and aggregates of a plan while a query is read, each under a name of its own."""

from __future__ import annotations

from privet.core.expression import AsDate, Case, Column, Expression, Extracted, Rounded, Truncated
from privet.core.plan import Aggregate, Function, Key, Total, canonical
from privet.core.rational import show
from privet.core.shape import Form
from privet.errors import RefusedQueryError
from privet.sql.aggregates import HALF, MOST_QUANTILES, TOO_MANY, Asked, percent
from privet.sql.terms import MOST_NODES, Term

RANKED = (Function.QUANTILE, Function.MIN, Function.MAX)
LONGEST_NAME = 100
MOST_COLUMNS = 500


class Draft:
    """Equal expressions are recognized by their canonical form: True and 1 are equal in Python, not here."""

    def __init__(self) -> None:
        self.groups: dict[str, Term] = {}
        self.aggregates: list[Aggregate] = []
        self.computed: dict[str, Term] = {}  # by name
        self.totals: dict[tuple[str, tuple[str, ...]], Total] = {}  # by aggregate and level
        self.names: dict[str, str] = {}  # of a group, aggregate or computed column, by its canonical form
        self.forms: dict[str, Form] = {}  # by name
        self.taken: set[str] = set()
        self.columns: set[str] = set()  # names of keys that are their column's, in lower case
        self.nodes = 0

    @property
    def keys(self) -> tuple[Key, ...]:
        return tuple(Key(name=self.names[place], value=term.expression) for place, term in self.groups.items())

    def counted(self, term: Term) -> Term:
        """The same term; refused where all terms together are too long."""
        self.nodes += term.size
        if self.nodes > MOST_NODES:
            raise RefusedQueryError("the query is too long", "ask in several queries", "too-long")
        return term

    def group(self, term: Term) -> None:
        self.groups.setdefault(_place(term), self.counted(term))

    def key(self, term: Term) -> str | None:
        """The name of the group that a term is, or None."""
        return self.names.get(_place(term))

    def name_key(self, term: Term, alias: str, column: str) -> str | None:
        """Names a group, by the column that was written if there is no alias. None if it is no group, or has a name."""
        place = _place(term)
        if place not in self.groups or place in self.names:
            return None
        declared = _key_name(term.expression)
        base = declared if not column or declared.lower() == column.lower() else column
        first = isinstance(term.expression, Column) and base.lower() not in self.columns
        self.columns.add(base.lower())
        self.names[place] = alias or (self.take(base) if first else self._fresh(base))
        self.forms[self.names[place]] = term.form
        return self.names[place]

    def name_other_keys(self) -> None:
        for place, term in self.groups.items():
            if place not in self.names:
                self.names[place] = self._fresh(_key_name(term.expression))
                self.forms[self.names[place]] = term.form

    def add(self, asked: Asked, alias: str) -> str:
        """A new aggregate. Those of one list share an alias, with the percentage behind it."""
        name = self.take(f"{alias}_{asked.label}") if alias and asked.label else alias
        made = Aggregate(
            name=name or self._fresh(_made_up(asked)),
            function=asked.function,
            value=self._taken_of(asked.value),
            second=self._taken_of(asked.second),
            quantile=asked.quantile,
        )
        self.aggregates.append(made)
        if sum(aggregate.function in RANKED for aggregate in self.aggregates) > MOST_QUANTILES:
            raise RefusedQueryError(*TOO_MANY, "too-many")
        self.names.setdefault(_place(asked), made.name)
        ends = asked.function in (Function.MIN, Function.MAX) and asked.value is not None
        self.forms[made.name] = asked.value.form if ends else Form.NUMBER  # type: ignore[union-attr]
        return made.name

    def compute(self, term: Term, alias: str) -> str:
        """A column that is computed from keys and aggregates; one that is there already is not made again."""
        place = f"computed {_place(term)}"
        if place in self.names and not alias:
            return self.names[place]
        name = alias or self._fresh("computed")
        self.names.setdefault(place, name)
        self.computed[name] = self.counted(term)
        return name

    def total(self, asked: Asked, level: tuple[str, ...] = ()) -> Term:
        """An aggregate of all groups with the same values of these keys; it is made of what the groups are paid for."""
        name = self.known_or_added(asked)
        if (name, level) not in self.totals:
            self.totals[name, level] = Total(name=self._fresh(f"total_{name}"), aggregate=name, level=level)
        return Term(Column(self.totals[name, level].name), Form.NUMBER)

    def _taken_of(self, term: Term | None) -> Expression | None:
        return None if term is None else self.counted(term).expression

    def known_or_added(self, asked: Asked) -> str:
        return self.names.get(_place(asked)) or self.add(asked, "")

    def take(self, name: str) -> str:
        if name.lower() in self.taken:
            raise RefusedQueryError(
                f"two columns are named {show(name)}", "give them different names with AS", "duplicate-name"
            )
        if not 1 <= len(name) <= LONGEST_NAME:
            raise RefusedQueryError(
                f"the name {show(name)} is empty or too long", f"use 1 to {LONGEST_NAME} characters", "invalid-name"
            )
        if len(self.taken) >= MOST_COLUMNS:
            raise RefusedQueryError(
                f"the query has more than {MOST_COLUMNS} keys and aggregates", "ask in several queries", "too-many"
            )
        self.taken.add(name.lower())
        return name

    def made_up(self, name: str) -> str:
        """A name that nobody wrote; `name` may say what it is."""
        return self._fresh(name.lower() or "computed")

    def _fresh(self, base: str) -> str:
        """A name that nothing has yet."""
        base = base[: LONGEST_NAME - 10]
        name, number = base, 1
        while name.lower() in self.taken:
            number += 1
            name = f"{base}_{number}"
        return self.take(name)


def _place(what: Term | Asked) -> str:
    if isinstance(what, Term):
        return str(canonical(what.expression))
    terms = [None if term is None else term.expression for term in (what.value, what.second)]
    return f"{what.function} {canonical([*terms, what.quantile])}"


def _made_up(asked: Asked) -> str:
    """Such as avg_cost, corr_age_cost, median_age or quantile_25_age."""
    word = asked.function.lower().replace(" ", "_")
    if asked.quantile is not None:
        word = "median" if asked.quantile == HALF else f"{word}_{percent(asked.quantile)}"
    columns = [term.expression for term in (asked.value, asked.second) if term is not None]
    names = [column.name for column in columns if isinstance(column, Column)]
    return "_".join([word, *names]) if len(names) == len(columns) else word


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
