"""One question: what it would cost and how far it would err, before anything is spent; then its release."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privet.answer import Answer
from privet.backends import Task
from privet.catalog.declarations import Table
from privet.core.accountant import how_many
from privet.core.cells import Keys, keys_from
from privet.core.loss import Loss
from privet.core.plan import Plan, fingerprint
from privet.core.rational import show
from privet.engine import Gate, Release, guarantee, run
from privet.errors import InvalidInputError, TableUnavailableError
from privet.estimates.estimate import SINGLE, total_error
from privet.estimates.levels import most_cells
from privet.estimates.priced import Priced
from privet.ledger import Charge, Ledger, Stored

if TYPE_CHECKING:
    from privet.report.terminal import Pen
    from privet.suggest import Suggestion

SHARE = Fraction(95, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Looking at it costs nothing and touches no data. `release` does."""

    text: str
    priced: Priced
    table: Table
    analyst: str
    gate: Gate = field(repr=False)
    beside: Mapping[str, Table] = field(default_factory=dict, repr=False)  # other tables that it is asked of
    suggestion: Suggestion | None = field(default=None, repr=False)  # from which its bounds come
    part: str | None = None  # whose units are asked about; None is everybody
    former: tuple[Priced, ...] = field(default=(), repr=False)  # as it was asked in earlier versions

    @property
    def plan(self) -> Plan:
        return self.priced.plan

    @property
    def cost(self) -> Loss:
        """Its price on both gauges."""
        return self.priced.loss

    @property
    def error(self) -> dict[str, Fraction]:
        """How far each count and sum may be off, with 95 % probability; the others depend on the number of rows. Of
        several levels it is that of the largest totals."""
        cells = most_cells(self.plan, self.priced.cells)
        return {
            recipe.aggregate.name: total_error(recipe, self.priced.parts, SHARE, cells)
            for recipe in self.priced.recipes
            if recipe.aggregate.function in SINGLE
        }

    @property
    def about_n_more(self) -> int:
        """How many such questions still fit the budget; none once the cap was passed."""
        ledger = self.gate.ledger
        own = ledger.granted(self.analyst) if self.analyst else None
        fits = [
            how_many(one.cap, one.spent.loss, self.cost) if one.spent.holds else 0 for one in ledger.readings(self.part)
        ]
        if own is not None:
            fits.append(how_many(own, ledger.spent(self.analyst).loss, self.cost))
        return min(fits)

    def explain(self, pen: Pen | None = None) -> str:
        """Price, noise, expected error and advice as text. Nothing is spent."""
        from privet.report.explain.text import explain  # noqa: PLC0415  only for people
        from privet.report.terminal import Pen  # noqa: PLC0415

        return explain(self, pen or Pen(color=False))

    def release(self, *, key: str | None = None, fresh: bool = False) -> Answer:
        """Pay, compute, publish. The same question is answered from what was stored, free of charge.

        With a `key` a retry after a crash never pays twice for one answer. With `fresh=True` it is paid for and
        computed again.
        """
        charge = Charge(
            loss=self.cost, request=self.request, analyst=self.analyst, key=key, note=self.text, part=self.part
        )
        for former in () if fresh else self.former:
            before = self._before(former, key)
            if before is not None:
                return before
        stored = self._stored(charge, fresh=fresh)
        if stored is not None:
            return self._answer(Release(receipt=stored.receipt, body=stored.body), stored.charge.loss, replayed=True)
        self.check_ready()
        return self._answer(run(charge, [self.task(self.gate.secret())], self.gate), self.cost, replayed=False)

    def _before(self, former: Priced, key: str | None) -> Answer | None:
        """What was answered at this price in an earlier way: a stored answer stays free in later versions."""
        query = replace(self, priced=former, former=())
        stored = self.gate.ledger.stored(query.request)
        if stored is None or (key is not None and stored.charge.key != key):
            return None
        return query._answer(Release(receipt=stored.receipt, body=stored.body), stored.charge.loss, replayed=True)

    def check_ready(self) -> None:
        """Raise, before anything is charged, if the data are not there. An analyst is not told why (rule 7)."""
        try:
            self.gate.ready()
        except InvalidInputError:
            if not self.analyst:
                raise
        else:
            return
        raise TableUnavailableError(
            "the table is not available", "ask the owner to run `privet check VAULT`, which says why"
        )

    @property
    def request(self) -> str:
        """Names what is computed and with which noise. HAVING, ORDER BY, LIMIT and names are free to change."""
        read = self.priced
        computed: list[Any] = [read.plan.origin, read.plan.where, [key.value for key in read.plan.keys], read.bounds]
        if read.cells.private:
            computed.append(["keys from the data", read.cells.rest])
        parts: list[Any] = [[part.measure, type(part.law).__name__, part.law] for part in self.priced.parts]
        parts += [[part.threshold] for part in self.priced.parts if part.threshold is not None]
        declared = [_declared(table) for table in (self.table, *self.beside.values())]
        return fingerprint(computed, parts, declared)

    def _stored(self, charge: Charge, *, fresh: bool) -> Stored | None:
        ledger, key = self.gate.ledger, charge.key
        if key is not None:
            if not isinstance(key, str) or not key:
                raise InvalidInputError(
                    f"a key is a text, not {show(key)}", "give a text that you use for this request only", "wrong-type"
                )
            found = ledger.replay(key, charge.request)
            if found is not None:
                return found
        return None if fresh else ledger.stored(charge.request)

    def task(self, secret: bytes, shown: Sequence[Keys] | None = None) -> Task:
        """What the backend computes and which noise it gets; of keys that are not public, for those that are shown."""
        read, parts = self.priced, self.priced.parts
        task = Task(
            table=self.table,
            plan=read.plan,
            declared=read.declared,
            passing=read.passing,
            cells=read.cells,
            measures=read.measures,
            bounds=read.bounds,
            secret=secret,
            beside=self.beside,
            laws=tuple(part.law for part in parts),
            threshold=parts[-1].threshold if parts else None,
        )
        return task if shown is None else task.showing(shown)

    def _answer(self, release: Release, paid: Loss, *, replayed: bool) -> Answer:
        """`paid` is what was charged for the release: prices that give the same noise have the same answer."""
        body = json.loads(release.body)
        asked = self.priced
        return Answer(
            priced=asked.showing([keys_from(key) for key in body["keys"]]) if "keys" in body else asked,
            noisy=tuple(tuple(vector) for vector in body["noisy"]),
            receipt=release.receipt,
            cost=paid,
            replayed=replayed,
            warnings=warnings_of(self.gate.ledger),
            rows_are_units=self.table.unit is None,
            guarantee=guarantee([self.task(b"")], self.gate.ledger.terms.neighbors, paid),
            dropped=None if self.suggestion is None else self.suggestion.dropped(self.priced.bounds.groups),
        )


def warnings_of(ledger: Ledger) -> tuple[str, ...]:
    """What every answer from this ledger must say."""
    return (
        *(["NOT PRIVATE: this vault was made for testing"] if ledger.terms.testing else []),
        *([] if ledger.spent().holds else ["the cap no longer holds: the owner's policy let charges pass it"]),
        *(
            ["the cap may not hold: entries of the ledger were lost, and what they spent is not counted"]
            if ledger.entries_lost
            else []
        ),
    )


def _declared(table: Table) -> list[Any]:
    kinds = [[name, repr(kind), table.missing.get(name, ())] for name, kind in table.columns.items()]
    return [table.name, table.version, table.unit, kinds, table.key]
