"""One question: what it would cost and how far it would err, before anything is spent; then its release."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privet.answer import Answer, warnings_of
from privet.backends import Task
from privet.catalog.declarations import Table
from privet.core.cells import Keys, keys_from
from privet.core.laws import DiscreteLaplace, Top
from privet.core.loss import Loss
from privet.core.plan import Plan, fingerprint
from privet.core.rational import show
from privet.engine import Fit, Gate, Release, guarantee, run
from privet.errors import InvalidInputError
from privet.estimates.estimate import SINGLE, total_error
from privet.estimates.fitting import UNITS_IN_BINS, Fitting
from privet.estimates.levels import most_cells
from privet.estimates.priced import Priced
from privet.ledger import Charge, Stored
from privet.ledger.refusal import about_n_more, check_ready

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
    earlier: Callable[[], Iterable[Priced]] = field(default=tuple, repr=False)  # as earlier versions asked it
    fitting: Fitting | None = field(default=None, repr=False)  # if it chooses its limits; `priced` has the widest
    kept: str = ""  # why it does not, though somebody wished it

    @property
    def plan(self) -> Plan:
        return self.priced.plan

    @property
    def cost(self) -> Loss:
        """Its price on both gauges."""
        return self.priced.loss if self.fitting is None else self.fitting.loss

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
        return about_n_more(self.gate.ledger, self.cost, self.analyst, self.part)

    @property
    def answered(self) -> bool:
        """Whether it is free, because it was answered before: as it is asked now, or as earlier versions asked it."""
        ways = (self, *map(self.at, self.earlier() if self.priced.top is not None else ()))
        return any(self.gate.ledger.stored(one.request) is not None for one in ways)

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
        for former in () if fresh else self.earlier():
            before = self._before(former, key)
            if before is not None:
                return before
        stored = self._stored(charge, fresh=fresh)
        if stored is not None:
            return self._answer(Release(receipt=stored.receipt, body=stored.body), stored.charge.loss, replayed=True)
        self.check_ready()
        secret = self.gate.secret()
        if self.fitting is None:
            return self._answer(run(charge, [self.task(secret)], self.gate), self.cost, replayed=False)
        fit = Fit(tasks=[way.task(secret) for way in self.ways], pick=self.fitting.pick)
        return self._answer(run(charge, [self.choosing(secret)], self.gate, fit), self.cost, replayed=False)

    def _before(self, former: Priced, key: str | None) -> Answer | None:
        """What an earlier version answered at this price: a stored answer stays free in later versions."""
        query = self.at(former)
        stored = None if query.request == self.request else self.gate.ledger.stored(query.request)
        if stored is None or (key is not None and stored.charge.key != key):
            return None
        return query._answer(Release(receipt=stored.receipt, body=stored.body), stored.charge.loss, replayed=True)

    def at(self, former: Priced) -> Query:
        """The same question as an earlier version asked it."""
        return replace(self, priced=former, earlier=tuple)

    def of_all_groups(self) -> Query:
        """As it is asked where no groups are chosen by their scores."""
        return self if self.priced.top is None else self.at(next(iter(self.earlier())))

    def check_ready(self) -> None:
        """Raise, before anything is charged, if the data are not there. An analyst is not told why (rule 7)."""
        check_ready(self.gate.ready, self.analyst)

    @property
    def request(self) -> str:
        """Names what is computed and with which noise. HAVING, ORDER BY, LIMIT and names are free to change."""
        if self.fitting is not None:
            chosen = [self.fitting.bins, self.fitting.rows, self.fitting.histogram.law]
            return fingerprint("fitted", chosen, [way.request for way in self.ways])
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
            laws=tuple(part.law for part in parts if not isinstance(part.law, Top)),
            threshold=parts[-1].threshold if parts else None,
            top=next(((part.measure, part.law) for part in parts if isinstance(part.law, Top)), None),
        )
        return task if shown is None else task.showing(shown)

    @property
    def ways(self) -> list[Query]:
        """If it chooses its limits: the same with each of those that may come out."""
        return [] if self.fitting is None else [replace(self, priced=way, fitting=None) for way in self.fitting.ways]

    def choosing(self, secret: bytes) -> Task:
        """How many rows units have, from which the limits are chosen."""
        assert self.fitting is not None  # noqa: S101  asked by `release`
        chosen, task, law = self.fitting, self.task(secret), self.fitting.histogram.law
        assert isinstance(law, DiscreteLaplace)  # noqa: S101  as `fitting` made it
        return replace(
            task,
            habits=("in_all",),
            bins=chosen.bins,
            measures=(UNITS_IN_BINS,),
            laws=(law,),
            bounds=replace(task.bounds, rows=chosen.rows),
        )

    def _answer(self, release: Release, paid: Loss, *, replayed: bool) -> Answer:
        """`paid` is what was charged for the release: prices that give the same noise have the same answer."""
        if self.fitting is not None:
            return self._fitted(release, paid, replayed=replayed)
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
            kept=self.kept,
        )

    def _fitted(self, release: Release, paid: Loss, *, replayed: bool) -> Answer:
        """The answer with the limits that came out, and how they were chosen."""
        assert self.fitting is not None  # noqa: S101  asked by `_answer`
        body = json.loads(release.body)
        histogram, *noisy = body["noisy"]
        way = self.ways[body["picked"]]
        plain = replace(release, body=json.dumps({"noisy": noisy}).encode())
        answer: Answer = way._answer(plain, paid, replayed=replayed)
        return replace(
            answer,
            fitted=self.fitting.fitted([histogram], body["picked"]),
            guarantee=guarantee([self.choosing(b""), way.task(b"")], self.gate.ledger.terms.neighbors, paid),
        )


def _declared(table: Table) -> list[Any]:
    kinds = [[name, repr(kind), table.missing.get(name, ())] for name, kind in table.columns.items()]
    return [table.name, table.version, table.unit, kinds, table.key]
