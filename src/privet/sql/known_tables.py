"""What the front knows about tables, and what it makes of all that can stand in FROM: rows with named columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, assert_never

from sqlglot import exp

from privet.core.expression import Column
from privet.core.plan import Joined, Numbered, Origin, PerUnit, Scan
from privet.core.rational import show
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.core.shape import Form
from privet.errors import RefusedQueryError
from privet.sql.terms import Term

FORMS: dict[type[Kind], Form] = {
    Integer: Form.NUMBER, Number: Form.NUMBER, Boolean: Form.TRUTH, Date: Form.DATE, Timestamp: Form.TIME,
    Category: Form.WORD, Text: Form.WORD,
}  # fmt: skip
MOST_SELECTS = 50  # in one query


class Facts(Protocol):
    """What else the owner declared about a table."""

    @property
    def public(self) -> bool: ...
    @property
    def key(self) -> tuple[str, ...]: ...
    @property
    def max_groups(self) -> int: ...
    @property
    def max_rows_per_group(self) -> int: ...
    @property
    def max_rows(self) -> int | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """What holds of a table where nothing else is said."""

    public: bool = False
    key: tuple[str, ...] = ()
    max_groups: int = 1
    max_rows_per_group: int = 1
    max_rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What stands in FROM: rows of an origin that pass `conditions`.

    `columns` are expressions over the origin's columns, by the name they have outside; `units` names those that say
    whose a row is. `apart` are the origin's columns that tell all rows apart, of a public table, or those of one unit;
    None if nothing does. Where it is joined, `most` rows of a unit count.
    """

    origin: Origin
    columns: Mapping[str, Term]
    units: tuple[str, ...] = ()
    public: bool = False
    people: bool = False  # units are not single rows
    apart: tuple[str, ...] | None = None
    most: int | None = None
    conditions: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The declared tables, and the sub-queries that have a name here, by lower case."""

    tables: Mapping[str, Mapping[str, Kind]]
    units: Mapping[str, str | None]
    facts: Mapping[str, Facts]
    read: Callable[..., Rows]  # what a sub-query is, of `subqueries`
    named: Mapping[str, Rows] = field(default_factory=dict)
    selects: list[int] = field(default_factory=lambda: [0])

    def count(self) -> None:
        self.selects[0] += 1
        if self.selects[0] > MOST_SELECTS:
            raise RefusedQueryError(
                f"the query has more than {MOST_SELECTS} sub-queries", "ask in several queries", "too-many"
            )

    def naming(self, name: str, rows: Rows) -> Known:
        """One named sub-query more."""
        return replace(self, named={**self.named, name.lower(): rows})

    def scan(self, table: str) -> Rows:
        """The rows of a declared table."""
        facts, unit = self.facts.get(table, TableFacts()), self.units.get(table)
        return Rows(
            origin=Scan(table=table),
            columns={name: Term(Column(name), FORMS[type(kind)]) for name, kind in self.tables[table].items()},
            units=() if unit is None else (unit,),
            public=facts.public,
            people=unit is not None,
            apart=tuple(facts.key) if facts.public and facts.key else None,
            most=None if facts.public else facts.max_rows or facts.max_groups * facts.max_rows_per_group,
        )

    def columns_of(self, origin: Origin) -> list[str]:
        match origin:
            case Scan():
                return list(self.tables[origin.table])
            case Joined():
                return [*self.columns_of(origin.left), *(here for _, here in origin.names)]
            case PerUnit():
                return [*(key.name for key in origin.keys), *(made.name for made in origin.aggregates)]
            case Numbered():
                return [*origin.columns, origin.name]
            case _:
                assert_never(origin)


def cte_names(tree: exp.Select) -> list[tuple[str, exp.Expr, exp.Expr]]:
    """(name, its SELECT, where it stands) of everything in WITH."""
    listed = tree.args.get("with_")
    return [] if listed is None else [(_cte_name(cte), cte.this.unnest(), cte) for cte in listed.expressions]


def _cte_name(cte: exp.Expr) -> str:
    alias = cte.args["alias"]
    if alias.args.get("columns"):
        raise RefusedQueryError(
            f"WITH {show(alias.name)} lists columns", "name them inside: SELECT x AS a", "unsupported-sql"
        )
    return str(alias.name)
