"""Does one unit ever move an answer further than its price says? Random tables, questions and units.

A round is one table, one question and one unit with several possible sets of rows, chosen to do as much harm as they
can. Every two sets make a pair of neighboring tables: one case. The exact parts of both, computed by the real engine
with the bounding secret fixed, must have the same list of parts and differ by no more than the parts say; a slow second
backend must give the same numbers. People are bounded twice, by portable SQL and by the kernel. Which rows the kernel
keeps is another choice by the same law, so its numbers are compared with the slow backend where all rows are kept.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import harm
import nasty
from sql_writer import sql_of

import privet as pv
from privet.backends import Task, kernel
from privet.backends.duckdb import DuckDb
from privet.backends.reference import Reference
from privet.backends.rowsql import Rows
from privet.backends.rowsql import rows as rows_of
from privet.backends.sqlgen import statement
from privet.catalog import Table
from privet.core.contribution import Bounds
from privet.core.expression import Absolute, Arithmetic, Coalesce, Column, Compare, Expression, Literal, Relation, Sign
from privet.core.loss import sequential
from privet.core.plan import Aggregate, Function, Key, Plan
from privet.core.pricing import Price, ask
from privet.core.question import Outline, Question, outline
from privet.core.schema import Integer, Number
from privet.core.shape import LIMIT
from privet.core.unit import Neighbors
from privet.engine import FreshNoise
from privet.errors import RefusedQueryError
from privet.query import Gate, Query
from privet.sources import Raw
from privet.sql import plan_of
from privet.testing import Exact, ExactPart, exact

SIDE = "which rows"  # 0: everybody else's; 1, 2, ...: what the unit's rows may be
BUDGET = pv.Budget(1000)
CHANGES = ("l1", "l2_squared", "linf", "max_parts_touched")
THROUGH_SOURCES = 0.05  # rounds that also go through the backend's own reading of a data frame
Row = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Tally:
    """What was tried, what went wrong, and how near to its bound the largest change came."""

    cases: int = 0
    rounds: int = 0
    from_sql: int = 0
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
        self.too_long += other.too_long
        self.counts += other.counts
        self.violations += other.violations
        for name, share in other.attained.items():
            self.attained[name] = max(share, self.attained.get(name, Fraction(0)))


class Numbers:
    """A backend that has computed its numbers already: prices differ by relation, the numbers do not."""

    def __init__(self, vectors: list[list[int]]) -> None:
        self.vectors = vectors

    def exact(self, task: Task) -> list[list[int]]:
        return self.vectors

    def accepts(self, task: Task) -> None: ...

    def check(self, table: Table) -> None: ...

    def close(self) -> None: ...


class Fuzzer:
    """One engine and one vault for testing, for any number of rounds."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.tally = Tally()
        self._folder = tempfile.TemporaryDirectory()
        self._vault = pv.create(Path(self._folder.name) / "vault", budget=BUDGET, testing=True)
        self._store = nasty.Store()

    def close(self) -> None:
        self._store.close()
        self._vault.close()
        self._folder.cleanup()

    def run(self, cases: int, stop_at: Sequence[str] = ()) -> Tally:
        while self.tally.cases < cases and not self.tally.found(stop_at):
            self.round()
        return self.tally

    def round(self) -> None:
        plain, rows = self.rng.random() < 0.6, self.rng.choice([0, 3, 12])
        made = harm.plain_table(self.rng, rows) if plain else nasty.random_table(self.rng, rows=rows)
        plan = _plain_plan(self.rng, made.table) if plain else nasty.random_plan(self.rng, made.table)
        self.one(made, self._through_sql(plan, made.table), harm.pools(self.rng, made))

    def _through_sql(self, plan: Plan, table: Table) -> Plan:
        """The same question as text, where it can be written as one."""
        try:
            found = plan_of(sql_of(plan), {table.name: table.columns})
            outline(found, table.columns, _bounds(table, Neighbors.REPLACE))
        except RefusedQueryError:
            return plan
        self.tally.from_sql += 1
        return found

    def one(self, made: nasty.Made, plan: Plan, pools: harm.Pools) -> None:
        """One table, one question, and all that one unit can do to it."""
        table = made.table
        read = {relation: outline(plan, table.columns, _bounds(table, relation)) for relation in Neighbors}
        task = _task(table, read[Neighbors.REPLACE], self.rng.randbytes(8))
        who = self.rng.choice(pools[table.unit]) if table.unit is not None else None
        others = [row for row in made.rows if table.unit is None or not harm.same_unit(row[table.unit], who)]
        name = f"{plan} on {table} {made.types}"
        try:
            sets = harm.row_sets(self.rng, task, pools, who)
            vectors = self._vectors(replace(made, rows=others), task, sets)
            fused = self._fused(replace(made, rows=others), task, sets) if table.unit is not None else []
        except RefusedQueryError:
            self.tally.too_long += 1
            return
        except Exception as error:  # nothing may fail because of what is in the rows
            self.tally.violations.append(f"failed: {error!r} for {name}")
            return
        self.tally.rounds += 1
        for relation in Neighbors:
            question = _priced(self.rng, read[relation])
            self._check_price(question, name)
            parts = [self._parts(question, table, numbers) for numbers in vectors]
            for one, two in _pairs(relation, len(sets)):
                self._check_pair(question, (parts[one], parts[two]), "row" if table.unit is None else "unit", name)
            parts = [self._parts(question, table, numbers) for numbers in fused]
            for one, two in _pairs(relation, len(fused)):
                self._check_moves(question, (parts[one], parts[two]), "kernel", f"the kernel, {name}")

    def _vectors(self, made: nasty.Made, task: Task, sets: Sequence[Sequence[Row]]) -> list[list[list[int]]]:
        """The exact numbers with each set of rows, by the engine; compared with the reference."""
        rows = [row | {SIDE: 0} for row in made.rows]
        rows += [row | {SIDE: side} for side, own in enumerate(sets, start=1) for row in own]
        raw = self._store.put(replace(made, types=made.types | {SIDE: "INTEGER"}, rows=rows))
        in_arrow = not any("HUGEINT" in type_ for type_ in made.types.values())  # Arrow has no such type
        sources = in_arrow and self.rng.random() < THROUGH_SOURCES
        relation = f'(SELECT * FROM {raw.relation} WHERE "{SIDE}" IN (0, $1))'
        query = statement(task, Raw(relation=relation, types=made.types))
        self._store.connection.execute(f"PREPARE asked AS {query.sql}")  # planning takes longer than running
        found = []
        for side, own in enumerate(sets, start=1):
            found.append(query.dense(self._store.connection.execute(f"EXECUTE asked({side})").fetchall()))
            expected = Reference({task.table.name: [*made.rows, *own]}).exact(task)
            if found[-1] != expected:
                self.tally.violations.append(f"replay: {found[-1]} is {expected} for {task}, {made.types}, {own}")
            if sources:
                expected = Reference({task.table.name: _as_sources_see(task, [*made.rows, *own])}).exact(task)
                if self._by_sources(relation.replace("$1", str(side)), task) != expected:
                    self.tally.violations.append(f"sources: not {expected} for {task}, {made.types}, {own}")
        return found

    def _fused(self, made: nasty.Made, task: Task, sets: Sequence[Sequence[Row]]) -> list[list[list[int]]]:
        """The same by the kernel; nothing if values are too long for it. `_vectors` has stored the rows."""
        found = []
        for side, own in enumerate(sets, start=1):
            raw = Raw(relation=f'(SELECT * FROM stored WHERE "{SIDE}" IN (0, {side}))', types=made.types)
            asked = rows_of(task, raw)
            if asked is None:
                return []
            arrays = self._store.connection.execute(asked.statement.sql).fetchnumpy()
            found.append(_bounded(task, asked, arrays))
            every = replace(task, bounds=replace(task.bounds, groups=10**6, rows=10**6))
            expected = Reference({task.table.name: [*made.rows, *own]}).exact(every)
            if _bounded(every, asked, arrays) != expected:
                self.tally.violations.append(f"replay: the kernel has not {expected} for {task}, {made.types}, {own}")
        return found

    def _by_sources(self, relation: str, task: Task) -> list[list[int]]:
        """The same rows as a data frame, through the backend that vaults use."""
        frame = self._store.connection.sql(f"FROM {relation}").to_arrow_table()
        with DuckDb(Path(self._folder.name), {task.table.name: frame}, portable=True) as backend:
            return backend.exact(task)

    def _parts(self, question: Question, table: Table, numbers: list[list[int]]) -> Exact:
        gate = Gate(ledger=self._vault.ledger, backend=Numbers(numbers), noise=FreshNoise(), secret=bytes)
        return exact(Query(text="", question=question, table=table, analyst="", gate=gate), key=b"")

    def _check_price(self, question: Question, name: str) -> None:
        """The charge is the sum of the parts, and every part's noise is wide enough for its share."""
        if question.loss != sequential([part.loss for part in question.parts]):
            self.tally.violations.append(f"price: parts do not add up for {name}")

    def _check_pair(self, question: Question, pair: tuple[Exact, Exact], unit: str, name: str) -> None:
        one, two = pair
        self.tally.cases += 1
        if one.keys != two.keys or list(map(_without_values, one.parts)) != list(map(_without_values, two.parts)):
            self.tally.violations.append(f"parts: not the same list for {name}")
        self._check_moves(question, pair, unit, name)

    def _check_moves(self, question: Question, pair: tuple[Exact, Exact], unit: str, name: str) -> None:
        (one, two), relation = pair, question.outline.bounds.neighbors
        kinds = _kinds(question.outline)
        for place, (a, b) in enumerate(zip(one.parts, two.parts, strict=True)):
            if not _pays(a):
                self.tally.violations.append(f"price: too little noise in {_without_values(a)} for {name}")
            moved, limits = changes(a, b), [getattr(a, limit) for limit in CHANGES]
            for limit, change, most in zip(CHANGES, moved, limits, strict=True):
                if change > most:
                    text = f"sensitivity: {limit} of {a.role} moves by {change} > {most}, {relation}, for {name}"
                    self.tally.violations.append(text)
            for kind in kinds[place]:
                cell = f"{kind}/{relation}/{unit}"
                self.tally.counts[cell] += 1
                for limit, change, most in zip(CHANGES, moved, limits, strict=True):
                    share = Fraction(change, most)
                    key = f"{cell}/{limit}"
                    self.tally.attained[key] = max(share, self.tally.attained.get(key, share))


def _bounded(task: Task, asked: Rows, arrays: Any) -> list[list[int]]:
    totals = kernel.nothing(task, asked)
    kernel.add(totals, task, kernel.Fetched.of(asked, arrays))
    return asked.statement.dense(kernel.sums(totals))


def _as_sources_see(task: Task, rows: Sequence[Row]) -> list[Row]:
    """A unit that is no day of the calendar is nobody, before the engine sees it."""
    unit = task.table.unit
    return [row | {unit: None} if unit and isinstance(row[unit], nasty.Sql) else row for row in rows]


def changes(a: ExactPart, b: ExactPart) -> tuple[int, int, int, int]:
    """How far two vectors are apart: in sum, in squares, in one cell, and in how many cells."""
    differences = [abs(x - y) for x, y in zip(a.values, b.values, strict=True)]
    return (
        sum(differences),
        sum(change * change for change in differences),
        max(differences),
        sum(change != 0 for change in differences),
    )


def _without_values(part: ExactPart) -> ExactPart:
    return replace(part, values=())


def _pays(part: ExactPart) -> bool:
    """The noise is as wide as the sensitivity and the loss ask for."""
    if part.mechanism == "laplace":
        return part.loss.epsilon is not None and part.l1 / part.scale <= part.loss.epsilon
    return part.loss.rho is not None and part.l2_squared / (2 * part.scale) <= part.loss.rho


def _pairs(relation: Neighbors, sets: int) -> Iterator[tuple[int, int]]:
    """Set 0 has no rows. Under add-remove one of two neighbors has none; under replace any two sets will do."""
    first = 1 if relation is Neighbors.REPLACE and sets > 2 else 0  # a vanished unit does less, and was tried already
    every = itertools.combinations(range(first, sets), 2)
    return every if relation is Neighbors.REPLACE else ((0, number) for number in range(1, sets))


def _kinds(read: Outline) -> dict[int, set[str]]:
    """Which aggregates each measure serves."""
    found: dict[int, set[str]] = {}
    for recipe in read.recipes:
        found.setdefault(recipe.measure, set()).add(str(recipe.aggregate.function))
        if recipe.count is not None:
            found.setdefault(recipe.count, set()).add("COUNT")
    return found


def _bounds(table: Table, relation: Neighbors) -> Bounds:
    return Bounds(groups=table.max_groups, rows=table.max_rows_per_group, neighbors=relation)


def _task(table: Table, read: Outline, secret: bytes) -> Task:
    return Task(
        table=table, plan=read.plan, declared=read.declared, passing=read.passing, cells=read.cells,
        measures=read.measures, bounds=read.bounds, secret=secret,
    )  # fmt: skip


def _priced(rng: Random, read: Outline) -> Question:
    """At some price; a high one where the range is so wide that a low price is refused."""
    gauge = rng.choice(["epsilon", "rho"])
    for price in (rng.choice(["1/10", "1", "3/7"]), LIMIT**3):
        try:
            return ask(read, BUDGET, Price(**{gauge: price}))
        except RefusedQueryError:
            continue
    raise AssertionError("no price is high enough")


def _plain_plan(rng: Random, table: Table) -> Plan:
    """Columns nearly as they are, where bounds can be attained."""
    few, numbers = harm.few_valued(table), harm.numbers(table)
    chosen = rng.sample(few, min(len(few), rng.choice([0, 1, 1, 2])))
    keys = [Key(name=f"k{n}", value=_twisted(rng, table, column)) for n, column in enumerate(chosen)]
    aggregates = []
    for place in range(rng.randint(1, 3)):
        function = rng.choice([*Function, Function.SUM]) if numbers else Function.COUNT
        value = rng.choice(numbers or harm.columns(table))
        every = function is Function.COUNT and rng.random() < 0.4
        aggregates.append(
            Aggregate(name=f"a{place}", function=function, value=None if every else _twisted(rng, table, value))
        )
    where = _near_an_end(rng, table, numbers)
    if where is not None and rng.random() < 0.7:  # the narrowed column itself
        aggregates[0] = Aggregate(name="a0", function=rng.choice([Function.SUM, Function.AVG]), value=where.left)
    names = tuple(item.name for item in [*keys, *aggregates])
    plan = Plan(table=table.name, where=where, keys=tuple(keys), aggregates=tuple(aggregates), outputs=names)
    try:
        outline(plan, table.columns, _bounds(table, Neighbors.REPLACE))
    except RefusedQueryError:
        return _plain_plan(rng, table)
    return plan


def _twisted(rng: Random, table: Table, column: Column) -> Expression:
    """A column, mirrored, scaled, or moved so far that it does not fit a machine word."""
    if not isinstance(table.columns[column.name], Integer | Number) or rng.random() < 0.6:
        return column
    far = Literal(Fraction(rng.choice([10**20, -(10**20), 2**62, -(2**63), 1, -7])))
    others = [other for other in harm.numbers(table) if isinstance(table.columns[other.name], Integer | Number)]
    return rng.choice([
        Arithmetic(Sign.ADD, column, far),
        Arithmetic(Sign.MULTIPLY, column, Literal(Fraction(-3, 7))),
        Arithmetic(Sign.MULTIPLY, column, rng.choice(others)),
        Arithmetic(Sign.MULTIPLY, rng.choice(others), column),
        Arithmetic(Sign.SUBTRACT, rng.choice(others), column),
        Absolute(column),
        Coalesce((column, Literal(Fraction(1)))),
    ])  # fmt: skip


def _near_an_end(rng: Random, table: Table, numbers: Sequence[Column]) -> Compare | None:
    """A condition that cuts a column's range at, or a step beside, one of its ends."""
    ranged = [column for column in numbers if isinstance(table.columns[column.name], Integer | Number)]
    if not ranged or rng.random() < 0.4:
        return None
    column = rng.choice(ranged)
    kind = table.columns[column.name]
    low, high = kind.steps  # type: ignore[union-attr]
    away = rng.choice([0, 0, Fraction(1, 2), 1, 1])
    below, above = [Relation.LESS, Relation.LESS_EQUAL], [Relation.GREATER, Relation.GREATER_EQUAL]
    relation, place = rng.choice([(rng.choice(below), high - away), (rng.choice(above), low + away)])
    if rng.random() < 0.2:
        relation = rng.choice(list(Relation))
    return Compare(relation, column, Literal(place * getattr(kind, "step", Fraction(1))))


def fuzz(seed: int, cases: int, stop_at: Sequence[str] = ()) -> Tally:
    """So many cases from one seed, or until something of these kinds is found."""
    fuzzer = Fuzzer(Random(seed))
    try:
        return fuzzer.run(cases, stop_at)
    finally:
        fuzzer.close()
