"""A question that is complete but for its price: groups, aggregates, and which of the answer's rows to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from privet.core.expression import And, Column, Expression
from privet.core.plan import Order, Plan, Scan
from privet.core.rational import show, whole
from privet.core.weights import weighted
from privet.errors import InvalidInputError, RefusedQueryError
from privet.frame.aggregates import Aggregation
from privet.frame.columns import Expr, condition_of, items_of, read
from privet.frame.joins import pruned, used_in, values_of
from privet.frame.row_scopes import Groups
from privet.frame.value_methods import written
from privet.records.conditions import columns_of
from privet.sql.draft import Draft
from privet.sql.scopes import find, missing
from privet.sql.terms import Term, truth, weight_of

if TYPE_CHECKING:
    from privet.answer import Answer
    from privet.frame.frames import Frame
    from privet.query import Query
    from privet.report.terminal import Pen
    from privet.suggest import Suggestion

FARTHEST = 10**12  # rows
ONCE = "say it once, in the order .having(...).sort(...).head(...)"
Keys = tuple[tuple[str, Term], ...]  # each with the name that was given, or ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Summary:
    """Made by `agg`. `having`, `sort` and `head` see the noisy answer only, so they are free."""

    frame: Frame
    keys: Keys
    aggregates: tuple[tuple[str, Aggregation], ...]
    conditions: tuple[Expr, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    steps: tuple[str, ...]

    def having(self, *conditions: Expr) -> Summary:
        """Only rows of the answer that fulfill conditions on its keys and aggregates: .having(pv.col("n") > 100)."""
        self._check_open(".having")
        given = [condition_of(condition, "having") for condition in conditions]
        items = tuple(item for condition in given for item in items_of(condition))
        text = f".having({', '.join(map(repr, given))})"
        return replace(self, conditions=(*self.conditions, *items), steps=(*self.steps, text)).checked()

    def sort(self, *names: str, descending: bool | Sequence[bool] = False) -> Summary:
        """By columns of the answer; what is missing comes last."""
        self._check_open(".sort")
        if self.order or not names:
            raise InvalidInputError(
                "sort needs the names of all columns to sort by", 'write .sort("ward", "n")', "missing-name"
            )
        ways = [descending] * len(names) if isinstance(descending, bool) else list(descending)
        if len(ways) != len(names) or not all(isinstance(way, bool) for way in ways):
            raise InvalidInputError(
                "descending does not fit the names", "give True or False, or one of them per name", "wrong-length"
            )
        order = tuple(
            Order(name=self._output(name), descending=bool(way)) for name, way in zip(names, ways, strict=True)
        )
        shown = ", ".join([*map(written, names), *([f"descending={descending}"] if any(ways) else [])])
        return replace(self, order=order, steps=(*self.steps, f".sort({shown})"))

    def head(self, rows: int = 10, *, skip: int = 0) -> Summary:
        """The first rows of the answer, after the first `skip`."""
        self._check_open(".head")
        limit, offset = whole(rows, "rows", 0), whole(skip, "skip", 0)
        if limit + offset > FARTHEST:
            raise InvalidInputError("head asks for too many rows", "leave it out to see all", "too-large")
        text = f".head({limit}{f', skip={offset}' if offset else ''})"
        return replace(self, limit=limit, offset=offset, steps=(*self.steps, text))

    @property
    def plan(self) -> Plan:
        """The same as of SQL that asks the same question."""
        return self.plan_by(None)

    def plan_by(self, weight: str | None) -> Plan:
        """The same with each row counted by a column, if one is named."""
        column = None if weight is None else weight_of(self.frame.rows.column(weight), weight)
        draft = Draft()
        where = self.frame.condition(draft)
        outputs = [*named_keys(draft, self.keys, [name for name, _ in self.aggregates])]
        groups = Groups(rows=self.frame.rows, draft=draft)
        outputs += [draft.add(asked._asked(groups.rows), name) for name, asked in self.aggregates]
        terms = [draft.counted(truth(read(item, groups), "having")) for item in self.conditions]
        parts = [where, *(key.value for key in draft.keys), *values_of(draft.aggregates)]
        parts += [] if column is None else [Column(column)]
        origin = pruned(self.frame.origin, used_in(parts))
        plan = Plan(
            table=self.frame.table,
            origin=None if isinstance(origin, Scan) else origin,
            where=where,
            keys=draft.keys,
            aggregates=tuple(draft.aggregates),
            outputs=tuple(outputs),
            having=together(terms),
            order=self.order,
            limit=self.limit,
            offset=self.offset,
        )
        return plan if column is None else weighted(plan, column)

    @property
    def text(self) -> str:
        """What was called, on one line: the ledger keeps it."""
        return self.frame.table + "".join(self.steps)

    def query(self, **how: Any) -> Query:
        """At a price: epsilon=, delta=, rho=, within=, ... as for `vault.sql`. Nothing is spent."""
        return self.frame.ask(self, how)

    def explain(self, *, pen: Pen | None = None, **how: Any) -> str:
        """Price, noise and expected error as text. Nothing is spent."""
        return self.query(**how).explain(pen)

    def release(self, *, key: str | None = None, fresh: bool = False, **how: Any) -> Answer:
        """Pay, compute, publish."""
        return self.query(**how).release(key=key, fresh=fresh)

    def suggest_bounds(self, *, epsilon: object, analyst: str = "") -> Suggestion:
        """Pay for a look at how many groups and rows a unit has in this question, and where its numbers lie."""
        return self.frame.suggest(self, epsilon, analyst)

    def checked(self) -> Summary:
        """The same, once it is known that it has a plan: what is wrong is said where it was written."""
        assert self.plan  # noqa: S101  # it raises
        return self

    def __repr__(self) -> str:
        return self.frame.drawn(self.steps, "a question: .explain(epsilon=...) or .release(epsilon=...)")

    def _check_open(self, step: str) -> None:
        if self.limit is not None:
            raise InvalidInputError(f"{step} comes after .head", ONCE, "wrong-order")

    def _output(self, name: object) -> str:
        outputs = self.plan.outputs
        if isinstance(name, Expr):
            raise InvalidInputError(
                f"sort takes names of the answer, not {name!r}", f"the names are: {outputs}", "wrong-type"
            )
        found = find(str(name), outputs, "column")
        if found is None:
            raise missing(str(name), outputs, "column")
        return found


def named_keys(draft: Draft, keys: Keys, aliases: Sequence[str]) -> list[str]:
    """Groups a draft and names its keys; no made-up name takes one that was given."""
    for alias in (*(name for name, _ in keys), *aliases):
        if alias:
            draft.take(alias)
    for _, term in keys:
        if not columns_of(term.expression):
            raise RefusedQueryError("a key is a constant", "group by a column", "constant-value")
        draft.group(term)
    names: list[str] = []
    for alias, term in keys:
        name = draft.name_key(term, alias, "")
        if name is None:
            raise RefusedQueryError(
                f"{show(alias or names)} has the same groups as another key", "group by it once", "duplicate-value"
            )
        names.append(name)
    return names


def together(terms: Sequence[Term]) -> Expression | None:
    """All of them, as WHERE a AND b."""
    if not terms:
        return None
    return terms[0].expression if len(terms) == 1 else And(tuple(term.expression for term in terms))
