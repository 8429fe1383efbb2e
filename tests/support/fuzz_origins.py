"""The search of `fuzz_sensitivity` over joins, rows made for each unit, and totals.

A round is a world of several tables, private and public, one question of some origin over them, and one unit with
several possible sets of rows in all private tables at once. Questions are also written as SQL and read again, where
that can be done. Row units are asked beside public tables. Where totals are asked for, they are the sums of their
groups, and name the same release as the groups alone.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any

from privet.backends import Spread, Task, Vector
from privet.backends.origins import check_unit_wise
from privet.backends.reference import Reference
from privet.catalog.declarations import LIMITS
from privet.catalog.vault_file import Table
from privet.core.expression import Column, Expression, Greatest, Least, Literal
from privet.core.origin import origin_of, shapes_of, tables_in
from privet.core.plan import Aggregate, Function, Key, Origin, Plan
from privet.core.sensitivity import Bounds
from privet.core.shape import Form, Shape, Shapes
from privet.core.unit import Neighbors
from privet.errors import RefusedQueryError
from privet.estimates.estimate import plain, rows_of
from privet.estimates.levels import ADDED
from privet.estimates.priced import Priced, outline
from privet.sources import Raw
from privet.sql import plan_of
from support import harm, nasty
from support.fuzz_plans import asked_at
from support.fuzz_sensitivity import SIDE, Fuzzer, Round, Row, Tally, task_of
from support.sql_writer import from_of, sql_of
from support.worlds import (
    LINK,
    LINKS,
    PERSONS,
    UNIT,
    Maker,
    RowMaker,
    World,
    of_rows,
    person_of,
    random_plan,
    random_world,
)

Own = Mapping[str, list[Row]]  # the rows of one unit, by table
NUMBERS = (
    Function.SUM, Function.SUM, Function.AVG, Function.VAR_POP, Function.QUANTILE, Function.MIN, Function.MAX,
)  # fmt: skip
CANDIDATES = 16  # sets of rows that are tried
OTHERS = 4  # of them that are taken as they come
FEW = 6  # values of a key
SHARE = Fraction(95, 100)


@dataclass(frozen=True, kw_only=True)
class WorldRound(Round):
    """A round over several tables. `own` is what the unit can have, beside `world`, which has nothing of it."""

    world: World
    own: Sequence[Own]

    @property
    def beside(self) -> Mapping[str, Table]:
        (asked, *_) = self.asked.values()
        return beside(asked.priced.plan, self.world)

    @cached_property
    def raw(self) -> Raw:
        raws = {name: Raw(relation=_stored(name), types=one.types) for name, one in self.world.tables.items()}
        return replace(raws.pop(self.table.name), beside=raws)

    def tables(self, side: int) -> dict[str, list[Row]]:
        return {name: [*made.rows, *self.own[side].get(name, ())] for name, made in self.world.tables.items()}


def _stored(name: str) -> str:
    return f"(SELECT * FROM stored_{name} WHERE \"{SIDE}\" IN (0, getvariable('side')))"


def beside(plan: Plan, world: World) -> dict[str, Table]:
    return {name: world.tables[name].table for name in tables_in(origin_of(plan)) if name != plan.table}


class OriginFuzzer(Fuzzer):
    """Rounds over worlds; what is checked of a round is the same."""

    sources = 0.0  # `test_origins` goes that way

    def round(self) -> None:
        rng = self.rng
        plain_one, rows = rng.random() < 0.7, rng.random() < 0.15
        world = random_world(rng, plain=plain_one)
        world = of_rows(world) if rows else world
        origin = (RowMaker if rows else Maker)(rng, world).origin(rng.choice([1, 1, 2]))
        plan = simple_plan(rng, world, origin) if plain_one else random_plan(rng, world, origin)
        if plan is None or (self._about is not None and not self._about(plan, world.tables[plan.table].table)):
            return
        name = f"{plan} on {[(made.table, made.types) for made in world.tables.values()]}"
        self.guarded(name, lambda: self._ask(self._written(plan, world), world, name))

    def _written(self, plan: Plan, world: World) -> Plan:
        """The same question as text, where it can be written as one: then with the front's names and limits."""
        tables = {name: made.table for name, made in world.tables.items()}
        columns, unit = {name: table.columns for name, table in tables.items()}, tables[plan.table].unit
        try:
            text = sql_of(plan, unit, f"{from_of(origin_of(plan), columns, unit)} AS o")
            units = {name: table.unit for name, table in tables.items()}
            found = plan_of(text, columns, units=units, facts=tables)
            found = replace(found, private_keys=plan.private_keys, other=plan.other, levels=plan.levels)
            check_unit_wise(origin_of(found), tables)
            read_of(found, world, Bounds(groups=1, rows=1, neighbors=Neighbors.REPLACE))
        except RefusedQueryError:
            return plan
        self.tally.from_sql += 1
        return found

    def _ask(self, plan: Plan, world: World, name: str) -> None:
        rng, table = self.rng, world.tables[plan.table].table
        check_unit_wise(origin_of(plan), {made.table.name: made.table for made in world.tables.values()})
        limits = {limit: getattr(table, limit) for limit in LIMITS}
        if table.unit is not None and rng.random() < 0.5:  # the question's own bounds
            limits = nasty.random_limits(rng)
        groups, rows, in_all = (limits[limit] for limit in LIMITS)
        asked = {}
        for relation in Neighbors:
            bounds = Bounds(groups=groups, rows=rows, in_all=in_all, neighbors=relation)
            asked[relation] = asked_at(rng, read_of(plan, world, bounds))
        secret = rng.randbytes(8)
        task = task_of(table, rng.choice(list(asked.values())).priced, secret)
        task = replace(task, beside=beside(plan, world))
        others, own = (sets_of_rows if table.unit is None else sets_of_person)(rng, world, task)
        made = WorldRound(
            made=others.tables[plan.table], sets=[list(one.get(plan.table, ())) for one in own], asked=asked,
            secret=secret, name=name, world=others, own=own,
        )  # fmt: skip
        self._check(made)
        self._check_totals(made)

    def _put(self, made: Round) -> None:
        assert isinstance(made, WorldRound)
        for name, one in made.world.tables.items():
            rows = [row | {SIDE: 0} for row in one.rows]
            rows += [row | {SIDE: side} for side, own in enumerate(made.own, start=1) for row in own.get(name, ())]
            self._store.put(replace(one, types=one.types | {SIDE: "INTEGER"}, rows=rows), f"stored_{name}")

    def _check_totals(self, made: Round) -> None:
        """Each total is the sum of its groups, and asking for totals asks for no other release."""
        question = made.asked[Neighbors.REPLACE].priced
        plan = question.plan
        if not plan.levels:
            return
        self.tally.totals += 1
        bare = replace(question, plan=replace(plan, levels=()))
        if self._query(question, made, None).request != self._query(bare, made, None).request:
            self.tally.violations.append(f"totals: another release for {made.name}")
        if len(plan.levels) > 1 and any(wrong_totals(self.rng, question)):  # of one level nothing else is shown
            self.tally.violations.append(f"totals: not the sums of their groups for {made.name}")


def wrong_totals(rng: Random, question: Priced) -> Iterator[str]:
    """The names of counts and sums of which some level does not have the sums of the finest groups."""
    plan = question.plan
    finest = tuple(key.name for key in plan.keys)
    sizes = [question.cells.count * part.measure.numbers for part in question.parts]
    noisy = [[rng.randint(-9, 99) for _ in range(size)] for size in sizes]
    rows = rows_of(
        replace_levels(question, (*plan.levels, *(() if finest in plan.levels else (finest,)))), noisy, SHARE
    )
    for aggregate in plan.aggregates:
        if aggregate.function not in (Function.COUNT, Function.SUM):
            continue
        for level in plan.levels:
            found: dict[Any, Fraction] = defaultdict(Fraction)
            for row in rows:
                key = tuple(plain(row.line[name]) for name in finest if name in level)
                at = (row.level == finest) - (set(row.level) == set(level))  # a group, less its total
                found[key] += at * plain(row.line[aggregate.name])  # type: ignore[operator]
            if any(found.values()):
                yield aggregate.name


def replace_levels(question: Priced, levels: tuple[tuple[str, ...], ...]) -> Priced:
    read = question
    return replace(question, plan=replace(read.plan, levels=levels))


def read_of(plan: Plan, world: World, bounds: Bounds) -> Any:
    columns = {name: table.columns for name, table in beside(plan, world).items()}
    return outline(plan, world.tables[plan.table].table.columns, bounds, columns)


# What one unit can have


def sets_of_person(rng: Random, world: World, task: Task) -> tuple[World, list[Own]]:
    """A world without a person, and what that person may have in all tables: nothing, and some sets that do much."""
    private = [name for name, made in world.tables.items() if made.table.unit is not None]
    units = {
        name: [one for one in PERSONS[world.tables[name].types[UNIT]] if person_of(one) is not None] for name in private
    }
    known = {name: {person_of(one) for one in units[name]} for name in private}
    everywhere = set.intersection(*known.values())
    who = rng.choice(sorted(everywhere if everywhere and rng.random() < 0.9 else known[task.table.name], key=repr))
    called = {name: [one for one in units[name] if person_of(one) == who] for name in private}
    pools = {name: _pools(rng, world.tables[name]) for name in private if called[name]}
    others = world.without(who)
    tried = [_some_rows(rng, pools, called) for _ in range(CANDIDATES)]
    return others, [{}, *_most_harmful(rng, others, task, tried)]


def sets_of_rows(rng: Random, world: World, task: Task) -> tuple[World, list[Own]]:
    """Where each row is a unit: none, or one of some rows."""
    lead = task.table.name
    values = _pools(rng, world.tables[lead])
    tried: list[Own] = [{lead: [{name: rng.choice(pool) for name, pool in values.items()}]} for _ in range(CANDIDATES)]
    return world, [{}, *_most_harmful(rng, world, task, tried)]


def _pools(rng: Random, made: nasty.Made) -> harm.Pools:
    """Few links, so that rows of several tables meet."""
    found = {name: pool for name, pool in harm.pools(rng, made).items() if name != made.table.unit}
    links = next(
        values
        for kind, type_, values in itertools.chain(*LINKS.values())
        if (kind, type_) == (made.table.columns[LINK], made.types[LINK])
    )
    return found | {LINK: rng.sample(links, rng.choice([1, 2]))}


def _some_rows(rng: Random, pools: Mapping[str, harm.Pools], called: Mapping[str, list[Any]]) -> Own:
    """Of each table some rows, often the same one several times: that fills a group."""
    found: dict[str, list[Row]] = {}
    for name, values in pools.items():
        rows = [{column: rng.choice(pool) for column, pool in values.items()} for _ in range(rng.choice([0, 1, 2, 6]))]
        times = rng.choice([1, 1, 4])
        found[name] = [row | {UNIT: rng.choice(called[name])} for row in rows for _ in range(times)]
    return found


def _most_harmful(rng: Random, world: World, task: Task, tried: Sequence[Own]) -> list[Own]:
    """For two of the measures the sets that add most, take away most, and heap up most; and OTHERS beside them."""
    alone = {name: [] if made.table.unit is not None else made.rows for name, made in world.tables.items()}
    if task.table.unit is None:
        alone[task.table.name] = []
    moves = [_added(Reference({**alone, **own}), task) for own in tried]
    places = range(len(moves[0]))
    best = set(rng.sample(range(len(tried)), OTHERS))
    for place in rng.sample(places, min(2, len(places))):
        for rule in (sum, lambda vector: -sum(vector), lambda vector: max(vector, default=0)):
            best.add(max(range(len(tried)), key=lambda index: rule(moves[index][place])))
    return [tried[index] for index in sorted(best)]


def _added(reference: Reference, task: Task) -> list[list[int]]:
    """What the unit alone adds up to; of ranks, how many values it has; of keys that are not public, how many."""
    if task.cells.private:
        return [list(reference.people(task).values())]
    return [_numbers(vector) for vector in reference.exact(task)]


def _numbers(vector: Vector) -> list[int]:
    return [int(one.counts.sum()) if isinstance(one, Spread) else one for one in vector]


# Questions


def simple_plan(rng: Random, world: World, origin: Origin) -> Plan | None:
    """Columns nearly as they are; None where the origin has none to ask about."""
    shapes, lead = shapes_of(origin, world.declared), next(tables_in(origin))
    for _ in range(20):
        plan = _tried(rng, shapes, lead, origin)
        try:
            read_of(plan, world, Bounds(groups=1, rows=1, neighbors=Neighbors.REPLACE))
        except RefusedQueryError:
            continue
        return plan
    return None


def _tried(rng: Random, shapes: Shapes, lead: str, origin: Origin) -> Plan:
    private, added = rng.random() < 0.3, rng.random() < 0.4  # added: of what totals can be had
    names = [name for name, shape in shapes.items() if private or _few(shape)]
    keys = [
        Key(name=f"k{n}", value=Column(name))
        for n, name in enumerate(
            rng.sample(names, min(len(names), rng.choice([1, 1, 2, 2] if added else [0, 1, 1, 2])))
        )
    ]
    aggregates = [_aggregate(rng, shapes, f"a{n}", added=added) for n in range(rng.randint(1, 3))]
    plan = Plan(
        table=lead, origin=origin, keys=tuple(keys), aggregates=tuple(aggregates),
        outputs=tuple(item.name for item in [*keys, *aggregates]),
        private_keys=private and bool(keys), other="rest" if private and keys and rng.random() < 0.3 else None,
    )  # fmt: skip
    if keys and not private and all(one.function in ADDED for one in aggregates):
        return replace(plan, levels=_levels(rng, [key.name for key in keys]))
    return plan


def _levels(rng: Random, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    every = [level for size in range(len(names) + 1) for level in itertools.combinations(names, size)]
    return tuple(rng.sample(every, rng.choice([1, len(every)])))


def _few(shape: Shape) -> bool:
    """Whether it is a group by itself."""
    if shape.form is Form.WORD:
        return shape.values is not None and len(shape.values) <= FEW
    return shape.form in (Form.TRUTH, Form.NUMBER, Form.DATE) and shape.high - shape.low <= FEW


def _aggregate(rng: Random, shapes: Shapes, name: str, *, added: bool) -> Aggregate:
    numbers = [column for column, shape in shapes.items() if shape.form is Form.NUMBER]
    if not numbers or rng.random() < 0.3:
        value = Column(rng.choice(list(shapes))) if shapes and rng.random() < 0.6 else None
        counts = [Function.COUNT] if added else [Function.COUNT, Function.COUNT_DISTINCT]
        return Aggregate(name=name, function=rng.choice(counts), value=value)
    function = rng.choice([one for one in NUMBERS if one in ADDED or not added])
    column = rng.choice(numbers)
    return Aggregate(
        name=name, function=function, value=_clamped(rng, shapes[column], Column(column)),
        quantile=rng.choice(nasty.QUANTILES) if function is Function.QUANTILE else None,
    )  # fmt: skip


def _clamped(rng: Random, shape: Shape, column: Expression) -> Expression:
    """What a unit adds up to has no range of its own."""
    if shape.high - shape.low < 10**6 and rng.random() < 0.8:
        return column
    low, high = (Literal(Fraction(end) * shape.step) for end in (rng.randint(-5, 0), rng.randint(1, 9)))
    return Least((Greatest((column, low)), high))


def made_for_units(plan: Plan, _: Table) -> bool:
    """Whether a question is asked of rows made for each unit, somewhere."""
    return "PerUnit" in nasty.nodes_in(origin_of(plan))


def of_numbered_rows(plan: Plan, _: Table) -> bool:
    """Whether rows of each unit are put in an order, somewhere."""
    return "Numbered" in nasty.nodes_in(origin_of(plan))


def of_totals(plan: Plan, _: Table) -> bool:
    return bool(plan.levels)


def fuzz(seed: int, cases: int, stop_at: Sequence[str] = (), about: Any = None) -> Tally:
    """So many cases from one seed, or until something of these kinds is found; of such questions only, if given."""
    fuzzer = OriginFuzzer(Random(seed), about)
    try:
        return fuzzer.run(cases, stop_at)
    finally:
        fuzzer.close()
