"""What names and aggregates mean: of the rows of a frame, of what each unit adds up to, of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privet.core.expression import Column
from privet.core.plan import Function
from privet.core.rational import show
from privet.core.shape import Form
from privet.errors import RefusedQueryError
from privet.sql.aggregates import Asked
from privet.sql.draft import Draft
from privet.sql.scopes import find, missing
from privet.sql.terms import Term

if TYPE_CHECKING:
    from privet.frame.aggregates import Aggregation


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The columns of a frame. The one that says whose a row is can only be counted, unless the owner declared it."""

    columns: Mapping[str, Term]
    unit: str | None
    per_unit: bool = False  # do the aggregates describe one unit?

    def is_unit(self, name: str) -> bool:
        return self.unit is not None and find(name, {self.unit: None, **self.columns}, "column") == self.unit

    def check_new(self, *names: str) -> None:
        """The name of the unit stays its own, or counts of it would be counts of something else."""
        for name in names:
            if self.unit is not None and name.lower() == self.unit.lower():
                raise RefusedQueryError(f"{show(name)} says who somebody is", "choose another name", "reserved-name")

    def name_of(self, name: str) -> str:
        """As it was declared."""
        found = find(name, self.columns, "column")
        if found is not None:
            return found
        if self.is_unit(name):
            raise RefusedQueryError(f"{show(name)} says who somebody is", "pv.n_units() counts people", "unit-as-value")
        raise missing(name, self.columns, "column")

    def column(self, name: str) -> Term:
        return self.columns[self.name_of(name)]

    def aggregate(self, asked: Aggregation) -> Term:
        raise RefusedQueryError(
            f"the aggregate {asked!r} is used where a value of one row is needed",
            "put aggregates into .agg(...); conditions on them into .having(...); of each unit's rows: .per_unit(...)",
            "misplaced-aggregate",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The keys and aggregates of a draft. An aggregate that has no name yet gets one."""

    rows: Rows
    draft: Draft

    def column(self, name: str) -> Term:
        found = find(name, self.draft.forms, "column")
        if found is None:
            if find(name, self.rows.columns, "column") is not None:
                raise RefusedQueryError(
                    f"{show(name)} is neither grouped nor aggregated",
                    f"the names are: {', '.join(self.draft.forms)}",
                    "not-grouped",
                )
            raise missing(name, self.draft.forms, "column")
        return Term(Column(found), self.draft.forms[found])

    def aggregate(self, asked: Aggregation) -> Term:
        what = asked._asked(self.rows)
        return Term(Column(self.draft.known_or_added(what)), form_of(what))


def form_of(asked: Asked) -> Form:
    """The first and the last of dates are dates."""
    if asked.function in (Function.MIN, Function.MAX) and asked.value is not None:
        return asked.value.form
    return Form.NUMBER
