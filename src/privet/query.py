"""One question: what it would cost and how far it would err, before anything is spent; then its release."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from privet.answer import Answer
from privet.backends import Backend, Task
from privet.core.accountant import how_many
from privet.core.accuracy import half_width
from privet.core.loss import Loss
from privet.core.plan import Plan, fingerprint
from privet.core.question import Question
from privet.core.rational import show
from privet.declarations import Table
from privet.engine import Job, NoiseSource, Release, run
from privet.errors import InvalidInputError
from privet.ledger import Charge, Ledger, Stored

if TYPE_CHECKING:
    from privet.report.terminal import Pen

SHARE = Fraction(95, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What a release needs, in the hands of the vault that made the query."""

    ledger: Ledger
    backend: Backend
    noise: NoiseSource
    secret: Callable[[], bytes]
    ready: Callable[[], None] = lambda: None  # raises, before anything is charged, if this process lacks the data


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Looking at it costs nothing and touches no data. `release` does."""

    text: str
    question: Question
    table: Table
    analyst: str
    gate: Gate = field(repr=False)

    @property
    def plan(self) -> Plan:
        return self.question.outline.plan

    @property
    def cost(self) -> Loss:
        """Its price on both gauges."""
        return self.question.loss

    @property
    def error(self) -> dict[str, Fraction]:
        """How far each count and sum may be off, with 95 % probability; averages depend on the number of rows."""
        parts = self.question.parts
        return {
            recipe.aggregate.name: half_width(parts[recipe.measure].law, SHARE) * parts[recipe.measure].measure.step
            for recipe in self.question.outline.recipes
            if recipe.count is None
        }

    @property
    def about_n_more(self) -> int:
        """How many such questions still fit the budget; none once the cap was passed."""
        ledger = self.gate.ledger
        spent = ledger.spent()
        own = ledger.granted(self.analyst) if self.analyst else None
        fits = [how_many(ledger.terms.budget, spent.loss, self.cost) if spent.holds else 0]
        if own is not None:
            fits.append(how_many(own, ledger.spent(self.analyst).loss, self.cost))
        return min(fits)

    def explain(self, pen: Pen | None = None) -> str:
        """Price, noise, expected error and advice as text. Nothing is spent."""
        from privet.report.explain_text import explain  # noqa: PLC0415  only for people
        from privet.report.terminal import Pen  # noqa: PLC0415

        return explain(self, pen or Pen(color=False))

    def release(self, *, key: str | None = None, fresh: bool = False) -> Answer:
        """Pay, compute, publish. The same question is answered from what was stored, free of charge.

        With a `key` a retry after a crash never pays twice for one answer. With `fresh=True` it is paid for and
        computed again.
        """
        charge = Charge(
            loss=self.cost,
            request=self.request,
            analyst=self.analyst,
            key=key,
            note=self.text,
            domain=self.table.domain,
        )
        stored = self._stored(charge, fresh=fresh)
        if stored is not None:
            return self._answer(Release(receipt=stored.receipt, body=stored.body), replayed=True)
        self.gate.ready()
        self.gate.backend.accepts(self.task(b""))
        job = Job(
            price=lambda: self.cost,
            charge=lambda loss: replace(charge, loss=loss),
            exact=self._exact,
            publish=self._publish,
        )
        return self._answer(run(job, self.gate.ledger, self.gate.noise), replayed=False)

    @property
    def request(self) -> str:
        """Names what is computed and with which noise. HAVING, ORDER BY, LIMIT and names are free to change."""
        read, table = self.question.outline, self.table
        computed = [read.plan.where, [key.value for key in read.plan.keys], read.bounds]
        parts = [[part.measure, type(part.law).__name__, part.law] for part in self.question.parts]
        kinds = [[name, repr(kind), table.missing.get(name, ())] for name, kind in table.columns.items()]
        declared = [table.name, table.version, table.unit, kinds]
        return fingerprint(computed, parts, declared)

    def _stored(self, charge: Charge, *, fresh: bool) -> Stored | None:
        ledger, key = self.gate.ledger, charge.key
        if key is not None:
            if not isinstance(key, str) or not key:
                raise InvalidInputError(f"a key is a text, not {show(key)}", "give a text that you use once")
            found = ledger.replay(key, charge.request)
            if found is not None:
                return found
        return None if fresh else ledger.stored(charge.request)

    def task(self, secret: bytes) -> Task:
        """What the backend computes."""
        read = self.question.outline
        return Task(
            table=self.table,
            plan=read.plan,
            declared=read.declared,
            passing=read.passing,
            cells=read.cells,
            measures=read.measures,
            bounds=read.bounds,
            secret=secret,
        )

    def _exact(self) -> list[list[int]]:
        return self.gate.backend.exact(self.task(self.gate.secret()))

    def _publish(self, exact: list[list[int]], noise: NoiseSource) -> bytes:
        """Wide integers: nothing can overflow."""
        noisy = [
            [value + int(extra) for value, extra in zip(vector, noise.draw(part.law, len(vector)), strict=True)]
            for vector, part in zip(exact, self.question.parts, strict=True)
        ]
        return json.dumps({"noisy": noisy}, separators=(",", ":")).encode()

    def _answer(self, release: Release, *, replayed: bool) -> Answer:
        ledger = self.gate.ledger
        warnings = []
        if ledger.terms.testing:
            warnings.append("NOT PRIVATE: this vault was made for testing")
        if not ledger.spent().holds:
            warnings.append("the cap no longer holds: the owner's policy let charges pass it")
        noisy = json.loads(release.body)["noisy"]
        return Answer(
            question=self.question,
            noisy=tuple(tuple(vector) for vector in noisy),
            receipt=release.receipt,
            cost=self.cost,
            replayed=replayed,
            warnings=tuple(warnings),
        )
