"""Does one unit ever move an answer further than its price says? Random tables, questions and units.

A round is one table, one question and one unit with several possible sets of rows, chosen to do as much harm as they
can. Every two sets make a pair of neighboring tables: one case. The exact parts of both, computed by the real engine
with the bounding secret fixed, must have the same list of parts and differ by no more than the parts say; a slow second
backend must give the same numbers. People are bounded twice, by portable SQL and by the kernel. Which rows the kernel
keeps is another choice by the same law, so its numbers are compared with the slow backend where all rows are kept.

Where keys are not public, two releases are looked at: how many units each key has, and the parts over a list of keys
that were chosen. Of quantiles, MIN and MAX it is the loss of every candidate that must not move too far.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import duckdb

import privet as pv
from privet import suggest
from privet.backends import Habits, Task, Vector, reference
from privet.backends import duckdb as backend
from privet.backends.duckdb import DuckDb
from privet.backends.reference import Reference
from privet.backends.written import WrittenTask
from privet.catalog.declarations import LIMITS
from privet.catalog.vault_file import Table
from privet.core.cells import Keys, in_order
from privet.core.measures import Measure, Role
from privet.core.parts import Gauge, Part, Setting, priced
from privet.core.plan import Function, Plan
from privet.core.sensitivity import Bounds
from privet.core.top import apart
from privet.core.unit import Neighbors
from privet.engine import FreshNoise, Gate, merged
from privet.errors import InvalidInputError, RefusedQueryError
from privet.estimates.fitting import UNITS_IN_BINS
from privet.estimates.priced import Outline, Priced, outline
from privet.query import Query
from privet.sources import Raw
from privet.sql import plan_of
from privet.testing import Exact, ExactPart, exact
from support import harm, nasty
from support.fuzz_checks import CHANGES, Asked, changes, far_apart, moved, new_keys, plain, problems_of_price
from support.fuzz_plans import asked_at, plain_plan
from support.fuzz_top import Compared, choosing, chosen_keys, moved_apart, too_far
from support.sql_writer import sql_of

__all__ = ["CHANGES", "Tally", "changes", "fuzz"]

SIDE = "which rows"  # 0: everybody else's; 1, 2, ...: what the unit's rows may be
PLAIN = 0.7  # rounds with tables and questions that are simple, and so are never refused
THROUGH_SOURCES = 0.05  # rounds that also go through the backend's own reading of a data frame
BY_THE_KERNEL = 0.4  # rounds
SUGGESTED = 0.1  # rounds that also ask which bounds would do
CHOSEN_FIRST = 0.05  # rounds that also choose some of the groups by their scores
MANY = 10**6  # a bound that never binds
MOST_VIOLATIONS = 500
Row = dict[str, Any]
People = dict[Keys, int]
About = Callable[[Plan, Table], bool]
Limits = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Tally:
    """What was tried, what went wrong, and how near to its bound the largest change came."""

    cases: int = 0
    rounds: int = 0
    from_sql: int = 0
    private: int = 0  # rounds with keys that are not public
    totals: int = 0  # rounds that ask for totals of groups
    tops: int = 0  # rounds in which groups are chosen by their scores
    too_long: int = 0  # plans that the engine's SQL generator refuses
    counts: Counter[str] = field(default_factory=Counter)
    attained: dict[str, Fraction] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def found(self, kinds: Sequence[str]) -> bool:
        return any(text.partition(":")[0] in kinds for text in self.violations)

    def add(self, other: Tally) -> None:
        self.cases += other.cases
        self.rounds += other.rounds
        self.from_sql += other.from_sql
        self.private += other.private
        self.totals += other.totals
        self.tops += other.tops
        self.too_long += other.too_long
        self.counts += other.counts
        self.violations += other.violations
        for name, share in other.attained.items():
            self.attained[name] = max(share, self.attained.get(name, Fraction(0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a backend computed from one table: the units of every key, if keys are not public, and the parts."""

    people: People
    vectors: list[Vector]


class Numbers:
    """A backend that has computed its numbers already: prices differ by relation, the numbers do not."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen

    def write(self, task: Task) -> None: ...

    def exact(self, task: Task, written: object = None) -> list[Vector]:
        return self.seen.vectors

    def people(self, task: Task, written: object = None) -> People:
        return self.seen.people

    def habits(self, task: Task, written: object = None) -> Habits:
        raise NotImplementedError

    def ready(self, *tables: Table) -> None: ...

    def types(self, table: Table) -> dict[str, str]:
        return {}

    def check(self, table: Table) -> None: ...

    def close(self) -> None: ...


def remembered(make: Callable[..., WrittenTask]) -> Callable[..., WrittenTask]:
    """What was written last, if it is asked for again: a statement is the same for all sets of a unit's rows."""
    last: list[tuple[Task, Raw, bool, WrittenTask]] = []

    def made(task: Task, raw: Raw, *, kernel: bool) -> WrittenTask:
        if not (last and last[0][0] is task and last[0][1] is raw and last[0][2] is kernel):
            last[:] = [(task, raw, kernel, make(task, raw, kernel=kernel))]
        return last[0][3]

    return made


backend.write = remembered(backend.write)
DEFINED = reference.steps_of


def within_its_range(measure: Measure, value: Any) -> int:
    """As defined; and what range propagation promised of the value is true."""
    steps = value / measure.step - measure.center
    assert steps.denominator == 1
    assert measure.low <= steps <= measure.high
    return DEFINED(measure, value)


reference.steps_of = within_its_range


class Stored(DuckDb):
    """The engine of vaults, over rows that the store holds already."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, *, portable: bool) -> None:
        super().__init__(Path(), {}, portable=portable)
        self.connection, self.raw = connection, Raw(relation="stored", types={})

    def ready(self, *tables: Table) -> None:
        """Always: the store holds the rows."""

    @contextmanager
    def _asked(self, table: Table, *beside: Table) -> Iterator[tuple[Raw, duckdb.DuckDBPyConnection]]:
        yield self.raw, self.connection


@dataclass(frozen=True, kw_only=True)
class Round:
    """One table, one question, and all that one unit can have. `asked` has a price for each relation."""

    made: nasty.Made  # without the unit
    sets: list[list[Row]]
    asked: Mapping[Neighbors, Asked]
    secret: bytes
    name: str

    @property
    def table(self) -> Table:
        return self.made.table

    @property
    def beside(self) -> Mapping[str, Table]:
        """Other tables that it is asked of."""
        return {}

    def rows(self, side: int) -> list[Row]:
        return [*self.made.rows, *self.sets[side]]

    @cached_property
    def raw(self) -> Raw:
        """The table with one of the sets: which one is a variable of the engine."""
        return Raw(
            relation=f"(SELECT * FROM stored WHERE \"{SIDE}\" IN (0, getvariable('side')))", types=self.made.types
        )

    def tables(self, side: int) -> dict[str, list[Row]]:
        """All rows that can be seen with one of the sets, by table."""
        return {self.table.name: self.rows(side)}

    def task(self, relation: Neighbors, chosen: Sequence[Keys] | None = None) -> Task:
        asked = self.asked[relation].priced
        read = asked if chosen is None else asked.showing(chosen)
        return replace(task_of(self.table, read, self.secret), beside=self.beside)


class Fuzzer:
    """One engine and one vault for testing, for any number of rounds."""

    sources = THROUGH_SOURCES

    def __init__(self, rng: Random, about: About | None = None) -> None:
        self.rng, self._about = rng, about
        self.tally = Tally()
        self._folder = tempfile.TemporaryDirectory()
        self._vault = pv.create(Path(self._folder.name) / "vault", budget=pv.Budget(1000), testing=True)
        self._store = nasty.Store()
        self._portable = Stored(self._store.connection, portable=True)
        self._kernel = Stored(self._store.connection, portable=False)

    def close(self) -> None:
        self._store.close()
        self._vault.close()
        self._folder.cleanup()

    def run(self, cases: int, stop_at: Sequence[str] = ()) -> Tally:
        while self.tally.cases < cases and not self.tally.found(stop_at):
            self.round()
            if len(self.tally.violations) > MOST_VIOLATIONS:  # nothing works any more
                break
        return self.tally

    def round(self) -> None:
        rng, rows = self.rng, self.rng.choice([0, 3, 12])
        plain_one = rng.random() < PLAIN
        made = harm.plain_table(rng, rows) if plain_one else nasty.random_table(rng, rows=rows)
        plan = plain_plan(rng, made.table) if plain_one else nasty.random_plan(rng, made.table, ALL, private=True)
        if self._about is not None and not self._about(plan, made.table):
            return
        limits = {name: getattr(made.table, name) for name in LIMITS}
        if made.table.unit is not None and rng.random() < 0.5:  # the question's own bounds
            limits = nasty.random_limits(rng)
        self.one(made, self._through_sql(plan, made.table), limits)

    def _through_sql(self, plan: Plan, table: Table) -> Plan:
        """The same question as text, where it can be written as one."""
        try:
            text = sql_of(plan, table.unit)
            found = plan_of(text, {table.name: table.columns}, units={table.name: table.unit})
            found = replace(found, private_keys=plan.private_keys, other=plan.other)
            outline(found, table.columns, Bounds(groups=1, rows=1, neighbors=Neighbors.REPLACE))
        except RefusedQueryError:
            return plan
        self.tally.from_sql += 1
        return found

    def one(self, made: nasty.Made, plan: Plan, limits: Limits) -> None:
        """One table, one question, and all that one unit can do to it."""
        name = f"{plan} with {limits} on {made.table} {made.types}"
        self.guarded(name, lambda: self._check(self._made(made, plan, limits, name)))

    def guarded(self, name: str, check: Callable[[], None]) -> None:
        """Whatever is refused is refused by declarations; nothing else may go wrong."""
        try:
            check()
        except RefusedQueryError:
            self.tally.too_long += 1
        except Exception as error:  # nothing may fail because of what is in the rows
            self.tally.violations.append(f"failed: {error!r} for {name}")

    def _made(self, made: nasty.Made, plan: Plan, limits: Limits, name: str) -> Round:
        table, rng = made.table, self.rng
        asked = {}
        for relation in Neighbors:
            groups, rows, in_all = (limits[name] for name in LIMITS)
            bounds = Bounds(groups=groups, rows=rows, in_all=in_all, neighbors=relation)
            asked[relation] = asked_at(rng, outline(plan, table.columns, bounds))
        pools, secret = harm.pools(rng, made), rng.randbytes(8)
        who = rng.choice(pools[table.unit]) if table.unit is not None else None
        others = [row for row in made.rows if table.unit is None or not harm.same_unit(row[table.unit], who)]
        task = task_of(table, rng.choice(list(asked.values())).priced, secret)
        worst = harm.harm(rng, task, pools, who)
        rows = [*others, *worst.crowd]
        return Round(made=replace(made, rows=rows), sets=worst.sets, asked=asked, secret=secret, name=name)

    def _check(self, made: Round) -> None:
        self._put(made)
        first = made.task(Neighbors.REPLACE)
        people = [self._people(made, first, side) for side in range(len(made.sets))] if first.cells.private else []
        chosen = self._chosen(people) if first.cells.private else None
        sides, seen, fused = range(len(made.sets)), {}, {}
        also_by_the_kernel = made.table.unit is not None and self.rng.random() < BY_THE_KERNEL
        for relation, asked in made.asked.items():
            self._check_price(asked, made.name)
            task = made.task(relation, chosen)
            if task.measures not in seen:  # mostly the same for both relations
                seen[task.measures] = [self._seen(made, task, side, people) for side in sides]
                fused[task.measures] = [self._fused(made, task, side) for side in sides if also_by_the_kernel]
            self._check_pairs(made, relation, seen[task.measures], "row" if made.table.unit is None else "unit")
            self._check_pairs(made, relation, fused[task.measures], "kernel")
        if self.rng.random() < SUGGESTED:
            self._check_suggested(made)
        if self.rng.random() < CHOSEN_FIRST:
            self._check_top(made)
        self.tally.rounds += 1
        self.tally.private += first.cells.private

    def _put(self, made: Round) -> None:
        rows = [row | {SIDE: 0} for row in made.made.rows]
        rows += [row | {SIDE: side} for side, own in enumerate(made.sets, start=1) for row in own]
        self._store.put(replace(made.made, types=made.made.types | {SIDE: "INTEGER"}, rows=rows))

    def _with(self, engine: Stored, made: Round, side: int) -> Stored:
        """The engine, over the table with one of the sets."""
        self._store.connection.execute(f"SET VARIABLE side = {side + 1}")
        engine.raw = made.raw
        return engine

    def _people(self, made: Round, task: Task, side: int) -> People:
        found = self._with(self._portable, made, side).people(task)
        self._same(found, Reference(made.tables(side)).people(task), "people", made, side)
        return found

    def _chosen(self, people: Sequence[People]) -> list[Keys]:
        """A list of keys as a release might show it: all, some, none, in an order that means nothing."""
        every = sorted({key for found in people for key in found}, key=repr)
        return self.rng.sample(every, self.rng.choice([len(every), len(every), self.rng.randint(0, len(every))]))

    def _seen(self, made: Round, task: Task, side: int, people: Sequence[People]) -> Seen:
        """By portable SQL; compared with the reference."""
        portable = self._with(self._portable, made, side)
        found = portable.exact(task)
        self._same(plain(found), plain(Reference(made.tables(side)).exact(task)), task, made, side)
        if task.cells.private and side == 1:
            self._check_order(portable, task, found, made)
        if self.rng.random() < self.sources and not any("HUGEINT" in type_ for type_ in made.made.types.values()):
            rows = _as_sources_see(task, made.rows(side))
            expected = plain(Reference({"t": rows}).exact(task))  # Arrow has no wider type
            self._same(plain(self._by_sources(portable.raw, task)), expected, task, made, side)
        return Seen(people=people[side] if people else {}, vectors=found)

    def _fused(self, made: Round, task: Task, side: int) -> Seen:
        """By the kernel where it takes the task; compared with the reference where nothing is dropped."""
        kernel, private = self._with(self._kernel, made, side), task.cells.private
        if side == 1:
            every = replace(task, bounds=replace(task.bounds, groups=MANY, rows=MANY, in_all=None))
            reference = Reference(made.tables(side))
            self._same(plain(kernel.exact(every)), plain(reference.exact(every)), every, made, side)
            if private:
                self._same(kernel.people(_unchosen(every)), reference.people(_unchosen(every)), "people", made, side)
        return Seen(people=kernel.people(_unchosen(task)) if private else {}, vectors=kernel.exact(task))

    def _same(self, found: object, expected: object, what: object, made: Round, side: int) -> None:
        if found != expected:
            text = f"replay: {found} is {expected} for {what}, {made.made.types}, {made.tables(side)}"
            self.tally.violations.append(text)

    def _check_order(self, portable: Stored, task: Task, found: Sequence[Vector], made: Round) -> None:
        """Keys in another order: the same numbers in another order, or what a unit keeps depends on other keys."""
        listed = list(task.cells.chosen or ())
        again = portable.exact(replace(task, cells=replace(task.cells, chosen=tuple(listed[::-1]))))
        turned = [
            [
                number
                for side in _sides(vector, measure)
                for number in (*side[: len(listed)][::-1], *side[len(listed) :])
            ]
            for vector, measure in zip(plain(again), task.measures, strict=True)
        ]
        if turned != plain(found):
            self.tally.violations.append(f"order: {turned} is {plain(found)} for {made.name}")

    def _by_sources(self, raw: Raw, task: Task) -> list[Vector]:
        """The same rows as a data frame, through the backend that vaults use."""
        frame = self._store.connection.sql(f"FROM {raw.relation}").to_arrow_table()
        with DuckDb(Path(self._folder.name), {task.table.name: frame}, portable=True) as backend:
            return backend.exact(task)

    def _query(self, question: Priced, made: Round, backend: Any) -> Query:
        gate = Gate(ledger=self._vault.ledger, backend=backend, noise=FreshNoise(), secret=lambda: b"fixed")
        return Query(text="", priced=question, table=made.table, beside=made.beside, analyst="", gate=gate)

    def _check_price(self, asked: Asked, name: str) -> None:
        self.tally.violations += [f"price: {text} for {name}" for text in problems_of_price(asked)]

    def _check_pairs(self, made: Round, relation: Neighbors, seen: Sequence[Seen], unit: str) -> None:
        question = made.asked[relation].priced
        keys = in_order({key for one in seen for key in one.people}) if question.cells.private else None
        parts = [exact(self._query(question, made, Numbers(one)), key=b"", keys=keys) for one in seen]
        for one, two in _pairs(relation, len(seen)):
            self.tally.cases += unit != "kernel"
            a, b = parts[one], parts[two]
            if list(map(_without_values, a.parts)) != list(map(_without_values, b.parts)):
                self.tally.violations.append(f"parts: not the same list for {made.name}")
            self._check_moves(question, (a, b), unit, made.name)
            if new_keys(seen[one].people, seen[two].people) > question.bounds.groups:
                self.tally.violations.append(f"sensitivity: too many new keys, {relation}, for {made.name}")

    def _check_moves(self, question: Priced, pair: tuple[Exact, Exact], unit: str, name: str) -> None:
        (one, two), read = pair, question
        relation, kinds = read.bounds.neighbors, _kinds(read)
        for place, (a, b) in enumerate(zip(one.parts, two.parts, strict=True)):
            far, limits = moved(question.parts[place], a, b), [getattr(a, limit) for limit in CHANGES]
            for limit, change, most in zip(CHANGES, far, limits, strict=True):
                if change > most:
                    text = f"sensitivity: {limit} of {a.role} moves by {change} > {most}, {relation}, for {name}"
                    self.tally.violations.append(text)
            for kind in kinds[place]:
                self._attain(f"{kind}/{relation}/{unit}", far, limits)

    def _attain(self, cell: str, far: Sequence[int], limits: Sequence[int]) -> None:
        self.tally.counts[cell] += 1
        for limit, change, most in zip(CHANGES, far, limits, strict=True):
            key, share = f"{cell}/{limit}", Fraction(change, most)
            self.tally.attained[key] = max(share, self.tally.attained.get(key, share))

    def _check_top(self, made: Round) -> None:
        """Some groups chosen by their scores: scores of all groups, and what is measured in some of them."""
        engine = self.rng.choice([self._portable, self._kernel])
        for relation, asked in made.asked.items():
            question = choosing(self.rng, asked.priced)
            if question is None:
                return
            keys, unit = chosen_keys(self.rng, question), "row" if made.table.unit is None else "unit"
            exacts = []
            for side in range(len(made.sets)):
                backend = self._with(engine, made, side)
                compared = Compared(backend, made.tables(side), plain) if engine is self._portable else backend
                exacts.append(exact(self._query(question, made, compared), key=made.secret, keys=keys))
                self.tally.violations += [*compared.wrong] if isinstance(compared, Compared) else []
            for one, two in _pairs(relation, len(exacts)):
                pair = (exacts[one], exacts[two])
                self.tally.violations += [f"{text} for {made.name}" for text in too_far(question, relation, pair)]
                top = question.parts[-1].measure
                cell, reach = f"TOP {top.score}/{relation}/{unit}/apart", apart(top, question.bounds)
                share = Fraction(moved_apart(pair), reach)
                self.tally.attained[cell] = max(share, self.tally.attained.get(cell, share))
        self.tally.tops += 1

    def _check_suggested(self, made: Round) -> None:
        """Every histogram behind a suggestion of bounds: how many groups and rows units have, where numbers lie."""
        for relation, asked in made.asked.items():
            engine = self.rng.choice([self._portable, self._kernel])
            query = self._query(asked.priced, made, engine)
            try:
                wanted = suggest._histograms(query, Fraction(1))
            except InvalidInputError:  # nothing to suggest
                return
            bins, seen = self.rng.randint(2, 7), []
            people = made.table.unit is not None
            wanted += [suggest.Histogram(name="in_all", part=_of_rows(asked.priced, bins))] if people else []
            for side in range(len(made.sets)):
                self._with(engine, made, side)
                in_all = [merged(query.gate.backend.habits(query.task(b""))[-1], bins)] if people else []
                seen.append([*_histograms(query, wanted[: len(wanted) - people]), *in_all])
            for one, two in _pairs(relation, len(seen)):
                for place, histogram in enumerate(wanted):
                    pairs = zip(seen[one][place], seen[two][place], strict=True)
                    far = far_apart([abs(x - y) for x, y in pairs])
                    sensitivity = histogram.part.sensitivity
                    limits = (sensitivity.l1, sensitivity.l2_squared, sensitivity.linf, sensitivity.touched)
                    if any(change > most for change, most in zip(far, limits, strict=True)):
                        text = f"sensitivity: bounds by {histogram.name} move by {far}, {relation}, for {made.name}"
                        self.tally.violations.append(text)
                    kind = "BOUNDS column" if histogram.shape else f"BOUNDS {histogram.name}"
                    self._attain(f"{kind}/{relation}/{'row' if made.table.unit is None else 'unit'}", far, limits)


ALL = tuple(Function)


def _histograms(query: Query, wanted: Sequence[suggest.Histogram]) -> list[Any]:
    """As `suggest` has them, before the noise."""
    backend, found = query.gate.backend, list[Any]()
    for task in suggest.tasks_of(query, wanted, query.gate.secret()):
        found += backend.habits(task)[: len(task.habits)] if task.habits else backend.exact(task)
    return found


def _of_rows(read: Outline, bins: int) -> Part:
    """The histogram from which a question chooses its limits."""
    one = Bounds(groups=1, rows=1, neighbors=read.bounds.neighbors)
    return priced([UNITS_IN_BINS], Setting(cells=bins, bounds=one), Gauge.EPSILON, [Fraction(1)])[0]


def task_of(table: Table, read: Outline, secret: bytes) -> Task:
    return Task(
        table=table, plan=read.plan, declared=read.declared, passing=read.passing, cells=read.cells,
        measures=read.measures, bounds=read.bounds, secret=secret,
    )  # fmt: skip


def _unchosen(task: Task) -> Task:
    return replace(task, cells=replace(task.cells, chosen=None))


def _as_sources_see(task: Task, rows: Sequence[Row]) -> list[Row]:
    """A unit that is no day of the calendar is nobody, before the engine sees it."""
    unit = task.table.unit
    return [row | {unit: None} if unit and isinstance(row[unit], nasty.Sql) else row for row in rows]


def _without_values(part: ExactPart) -> ExactPart:
    return replace(part, values=())


def _pairs(relation: Neighbors, sets: int) -> Iterator[tuple[int, int]]:
    """Set 0 has no rows. Under add-remove one of two neighbors has none; under replace any two sets will do."""
    first = 1 if relation is Neighbors.REPLACE and sets > 2 else 0  # a vanished unit does less, and was tried already
    every = itertools.combinations(range(first, sets), 2)
    return every if relation is Neighbors.REPLACE else ((0, number) for number in range(1, sets))


VARIANCES = (Function.VAR_POP, Function.VAR_SAMP, Function.STDDEV_POP, Function.STDDEV_SAMP)
COMPONENTS: dict[Function, tuple[str, ...]] = {
    Function.AVG: ("AVG", "COUNT"),
    **dict.fromkeys(VARIANCES, ("VAR x", "VAR xx", "COUNT")),
    **dict.fromkeys((Function.COVAR_POP, Function.COVAR_SAMP), ("COVAR x", "COVAR y", "COVAR xy", "COUNT")),
    Function.CORR: ("CORR x", "CORR y", "CORR xy", "CORR xx", "CORR yy", "COUNT"),
}


def _sides(vector: list[Any], measure: Measure) -> list[list[Any]]:
    """The two halves of a pair, the three parts of squares; others are whole."""
    size = len(vector) // measure.numbers
    return [vector[number * size : (number + 1) * size] for number in range(measure.numbers)]


def _kinds(read: Outline) -> dict[int, set[str]]:
    """What each measure serves: an aggregate or a part of one; and whether keys are public."""
    where = "" if not read.cells.private else ", other" if read.cells.rest else ", private keys"
    found: dict[int, set[str]] = {place: {f"any{where}"} if where else set() for place in range(len(read.released))}
    for recipe in read.recipes:
        function, measures = recipe.aggregate.function, recipe.measures
        names = COMPONENTS.get(function, (str(function),))
        if function is Function.SUM and len(measures) > 1:
            names = ("SUM centered", "COUNT")
        if function is Function.QUANTILE and len(measures) > 1:
            names = ("QUANTILE", "QUANTILE low end", "QUANTILE high end")
        if read.released[measures[0]].numbers > 1 and len(measures) == 1:
            names = (str(function),)
        if function is Function.COUNT_DISTINCT:
            names = ("COUNT DISTINCT unit" if recipe.aggregate.value is None else "COUNT DISTINCT value",)
        for place, name in zip(measures, names, strict=True):
            whose = {Role.PAIR: " of a pair", Role.SQUARES: " of squares"}.get(read.released[place].role, "")
            found[place].add(f"{name}{whose}")
    if read.cells.private:
        found[len(read.measures)] = {"KEYS"}
    return found


def fuzz(seed: int, cases: int, stop_at: Sequence[str] = (), about: About | None = None) -> Tally:
    """So many cases from one seed, or until something of these kinds is found; of such questions only, if given."""
    fuzzer = Fuzzer(Random(seed), about)
    try:
        return fuzzer.run(cases, stop_at)
    finally:
        fuzzer.close()
