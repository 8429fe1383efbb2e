"""People, values, quantiles and keys that are not public, by the kernel: as defined where no bound binds, and within
what one unit may move where one does."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support import nasty
from support.fit import FALSE_ALARM
from support.kernel_versions import choose
from support.processes import run_plain
from support.visits import (
    AGE,
    ALL_ROLES,
    CITIES,
    CITY,
    EVERYWHERE,
    TABLES,
    TYPES,
    VISITS,
    Row,
    exact,
    neighbors,
    plain,
    random_chosen,
    random_task,
    random_visits,
    some_chosen,
    table_of,
    task_of,
    typed,
    visits,
)

from privet.backends import Task, fused, kernel, pile, rowsql
from privet.backends.kernel import Tally
from privet.backends.reference import Reference
from privet.core.cells import Keys
from privet.core.expression import Column, Literal
from privet.core.measures import Role
from privet.core.schema import Integer, Kind, Text
from privet.sources import Raw

VERSIONS = ("few", "buckets", "many")
WIDE = 10**6


@pytest.fixture(scope="module")
def store() -> Iterator[nasty.Store]:
    made = nasty.Store()
    yield made
    made.close()


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    choose(monkeypatch, request.param)
    return str(request.param)


def fetched(store: nasty.Store, task: Task, raw: Raw) -> list[list[Any]] | None:
    asked = rowsql.rows(task, raw)
    return None if asked is None else [plain(vector) for vector in fused.exact(store.connection, task, asked)]


def answered(store: nasty.Store, task: Task, rows: list[Row]) -> list[list[Any]]:
    found = fetched(store, task, store.put(nasty.Made(table=task.table, types=TYPES, rows=rows)))
    assert found is not None
    return found


def counted(store: nasty.Store, task: Task, raw: Raw) -> dict[Keys, int]:
    return fused.people(store.connection, task, rowsql.observed(task, raw))


def lifted(task: Task) -> Task:
    return replace(task, bounds=replace(task.bounds, groups=WIDE, rows=WIDE, in_all=None))


# Where no bound binds


def wrong_tasks(store: nasty.Store, seeds: Sequence[int]) -> Iterator[Task]:
    for seed in seeds:
        rng = Random(seed)
        made = nasty.random_table(rng, unit=True)
        raw, right = store.put(made), Reference({"t": made.rows})
        for _ in range(2):
            task = lifted(random_task(rng, made))
            people = right.people(task) if task.cells.private else {}
            same = not task.cells.private or typed(counted(store, task, raw)) == typed(people)
            task = some_chosen(rng, task, people)
            if not same or fetched(store, task, raw) not in (None, exact(made.rows, task)):
                yield task


@pytest.mark.proof
@pytest.mark.usefixtures("version")
def test_all_measures_are_as_defined(store: nasty.Store) -> None:
    assert list(wrong_tasks(store, range(8))) == []


@pytest.mark.usefixtures("version")
@pytest.mark.parametrize("name", TABLES)
def test_private_keys_are_as_defined(store: nasty.Store, name: str) -> None:
    assert not differs(store, name)


def differs(store: nasty.Store, name: str) -> bool:
    rows, table = TABLES[name], table_of(VISITS)
    raw = store.put(nasty.Made(table=table, types=TYPES, rows=rows))
    for keys in ((CITY,), (AGE,), (CITY, AGE), (Literal(None), CITY)):
        task = lifted(task_of(table, *ALL_ROLES, (Role.DISTINCT, CITY), (Role.MAX, AGE), keys=keys))
        people = Reference({"t": rows}).people(task)
        if typed(counted(store, task, raw)) != typed(people):
            return True
        nowhere = tuple(None if key is not CITY else "nowhere at all" for key in keys)
        every = tuple(dict.fromkeys([nowhere, *people]))
        for chosen, rest in [(every, False), (every[::2], True), ((nowhere,), True), ((nowhere,), False), ((), True)]:
            chosen_task = replace(task, cells=replace(task.cells, chosen=chosen, rest=rest))
            if fetched(store, chosen_task, raw) != exact(rows, chosen_task):
                return True
    return False


def test_values_that_are_shared_are_fetched_once(store: nasty.Store) -> None:
    task = task_of(table_of(VISITS), *ALL_ROLES, (Role.MAX, AGE), (Role.QUANTILE, AGE), (Role.DISTINCT, CITY))
    asked = rowsql.rows(task, store.put(nasty.Made(table=task.table, types=TYPES, rows=[])))
    assert asked is not None
    assert [name for name in asked.types if name.startswith("w")] == ["w0", "w1"]
    assert asked.summed == 1


# Where bounds bind


def trial(rng: Random) -> Task:
    public = rng.random() < 0.3
    keys = {"public": True, "keys": (AGE,)} if public else {"chosen": random_chosen(rng), "rest": rng.random() < 0.7}
    asked = [*ALL_ROLES, (Role.DISTINCT, CITY), (Role.MAX, AGE)]
    bounds = (rng.randint(1, 3), rng.randint(1, 3))
    return task_of(table_of(VISITS), *rng.sample(asked, len(asked)), bounds=bounds, secret=rng.randbytes(4), **keys)  # type: ignore[arg-type]


def test_all_versions_keep_the_same_in_any_order(store: nasty.Store) -> None:
    for seed in range(12):
        rng = Random(seed)
        rows = random_visits(rng, rng.choice([0, 1, 40, 200]))
        task = trial(rng)
        before = replace(task, cells=replace(task.cells, domains=(), private=True, chosen=None))
        found = []
        for version, (block, held, many) in itertools.product(VERSIONS, ((2**19, 2**31, 2**20), (1, 100, 1))):
            with pytest.MonkeyPatch.context() as patch:
                choose(patch, version)
                patch.setattr(pile, "BLOCK", block)
                patch.setattr(pile, "HELD", held)
                patch.setattr(kernel, "MANY", many)
                answer = answered(store, task, rng.sample(rows, len(rows)))
                found.append((answer, counted(store, before, Raw(relation="stored", types=TYPES))))
        assert all(one == found[0] for one in found)


def moved(role: Role, more: list[Any], less: list[Any]) -> list[int]:
    """By how much each cell of a measure moves; of a spread, how many rows."""
    if role not in (Role.MIN, Role.MAX, Role.QUANTILE):
        return [abs(a - b) for a, b in zip(more, less, strict=True)]
    pairs = zip(map(dict, more), map(dict, less), strict=True)
    return [sum(abs(a.get(value, 0) - b.get(value, 0)) for value in a | b) for a, b in pairs]


def too_far(store: nasty.Store, seeds: Sequence[int]) -> Iterator[str]:
    """Where one unit moves an answer further than its price says, or counts for too many keys."""
    for seed in seeds:
        rng = Random(seed)
        with_p, without = neighbors(rng, random_visits(rng, 30))
        task = trial(rng)
        for measure, more, less in zip(
            task.measures, answered(store, task, with_p), answered(store, task, without), strict=True
        ):
            most = {Role.SUM: 9 * task.bounds.rows, Role.PEOPLE: 1}.get(measure.role, task.bounds.rows)
            by = moved(measure.role, more, less)
            if max(by, default=0) > most or sum(move > 0 for move in by) > task.bounds.groups:
                yield f"{seed}: {measure.role} moves by {by}"
        before = replace(task, cells=replace(task.cells, domains=(), private=True, chosen=None, rest=False))
        sides = []
        for rows in (with_p, without):
            raw = store.put(nasty.Made(table=task.table, types=TYPES, rows=rows))
            sides.append(Counter(counted(store, before, raw)))
        changed = {key: sides[0][key] - sides[1][key] for key in sides[0] | sides[1] if sides[0][key] != sides[1][key]}
        if set(changed.values()) - {1} or len(changed) > task.bounds.groups:
            yield f"{seed}: keys move by {changed}"


@pytest.mark.usefixtures("version")
def test_one_unit_moves_every_measure_within_its_reach(store: nasty.Store) -> None:
    assert list(too_far(store, range(20))) == []


def test_the_reach_is_attained(store: nasty.Store) -> None:
    """Otherwise the test above would show nothing."""
    task = task_of(table_of(VISITS), *ALL_ROLES, (Role.DISTINCT, CITY), chosen=(("a",),), rest=True, bounds=(2, 3))
    mine = visits(*(("p", city, age) for city in ("a", "b", "c", "d", "e") for age in (9, 8, 7)))
    found = answered(store, task, mine)
    assert found[0] == [3, 3]
    assert found[3] == [1, 1]
    assert found[4][0] == 3
    assert sum(count for _, count in found[5][0]) == 3


TAGGED: dict[str, Kind] = {"city": Text(), "tag": Integer(0, 2**61)}


def tags_kept(store: nasty.Store, task: Task, rows: list[Row]) -> dict[Any, set[int]]:
    """By key, or "rest", the tags of the rows that are kept."""
    types = {"who": "VARCHAR", "city": "VARCHAR", "tag": "BIGINT"}
    found = fetched(store, task, store.put(nasty.Made(table=task.table, types=types, rows=rows)))
    assert found is not None
    names = [key[0] for key in task.cells.chosen or ()] + (["the rest"] if task.cells.rest else [])
    return {
        name: {row["tag"] for row in rows if total & row["tag"]} for name, total in zip(names, found[0], strict=True)
    }


def wrong_limits(store: nasty.Store) -> Iterator[str]:
    """Units that keep too much or too little, or where it depends on keys that others have."""
    for seed in range(20):
        rng = Random(seed)
        rows = [{"who": rng.choice("pqrs"), "city": rng.choice(CITIES), "tag": 2**n} for n in range(60)]
        task = task_of(
            table_of(TAGGED), (Role.SUM, Column("tag")), chosen=random_chosen(rng), rest=rng.random() < 0.6,
            bounds=(rng.randint(1, 3), rng.randint(1, 2)), secret=rng.randbytes(4),
        )  # fmt: skip
        found = tags_kept(store, task, rows)
        listed = {key[0] for key in task.cells.chosen or ()}
        cell = lambda row: row["city"] if row["city"] in listed else "the rest"  # noqa: B023, E731
        for unit in "pqrs":
            own = [row for row in rows if row["who"] == unit and (row["city"] in listed or task.cells.rest)]
            there = Counter(map(cell, own))
            here = Counter(cell(row) for row in own if row["tag"] in found.get(cell(row), ()))
            if here != {name: min(there[name], task.bounds.rows) for name in here} or len(here) != min(
                len(there), task.bounds.groups
            ):
                yield f"{seed}: {unit} keeps {here} of {there}"


@pytest.mark.usefixtures("version")
def test_each_unit_keeps_what_the_bounds_allow(store: nasty.Store) -> None:
    assert list(wrong_limits(store)) == []


def dependent(store: nasty.Store) -> Iterator[str]:
    """Units that keep something else when keys are chosen that they do not have, or in another order."""
    for seed in range(20):
        rng = Random(seed)
        chosen = random_chosen(rng)
        extra = [(f"else {n}",) for n in range(rng.randint(1, 4))]
        other = rng.sample([*chosen, *extra], len(chosen) + len(extra))
        rows = [{"who": rng.choice("pqrs"), "city": rng.choice(CITIES), "tag": 2**n} for n in range(60)]
        task = task_of(
            table_of(TAGGED), (Role.SUM, Column("tag")), chosen=chosen, rest=rng.random() < 0.6,
            bounds=(rng.randint(1, 3), rng.randint(1, 2)), secret=rng.randbytes(4),
        )  # fmt: skip
        again = replace(task, cells=replace(task.cells, chosen=tuple(other)))
        before, after = tags_kept(store, task, rows), tags_kept(store, again, rows)
        if any(before[name] != after[name] for name in before):
            yield f"{seed}: {before} is {after}"


@pytest.mark.usefixtures("version")
def test_what_a_unit_keeps_does_not_depend_on_keys_of_others(store: nasty.Store) -> None:
    assert list(dependent(store)) == []


@pytest.mark.usefixtures("version")
def test_before_and_after_the_choice_the_same_keys_are_kept(store: nasty.Store) -> None:
    for seed in range(10):
        rng = Random(seed)
        rows = random_visits(rng)
        task = task_of(table_of(VISITS), (Role.PEOPLE, None), secret=rng.randbytes(4))
        people = counted(store, task, store.put(nasty.Made(table=task.table, types=TYPES, rows=rows)))
        chosen = tuple(rng.sample(sorted(people, key=repr), len(people)))
        everyone = Reference({"t": rows}).people(lifted(task))
        missing = tuple(key for key in everyone if key not in people)
        again = replace(task, cells=replace(task.cells, chosen=(*chosen, *missing)))
        assert answered(store, again, rows)[0] == [*(people[key] for key in chosen), *[0] * len(missing)]


@pytest.mark.usefixtures("version")
def test_labels_that_collide(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them: which cells stay is then decided by their numbers, and everything else holds."""
    monkeypatch.setattr(fused, "_labels", lambda task, _: np.full(task.cells.count, 7, np.uint64))
    assert list(wrong_limits(store)) == []
    assert list(too_far(store, range(5))) == []
    assert not any(differs(store, name) for name in ("odd keys", "one person in every group"))


@pytest.mark.usefixtures("version")
def test_where_labels_collide_others_still_do_not_matter(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbered as they come, all others would change from one key to the other when somebody new stands first."""
    monkeypatch.setattr(fused, "_labels", lambda task, _: np.full(task.cells.count, 7, np.uint64))
    others = visits(*((f"{n}", city, 1) for n in range(30) for city in ("a", "b")))

    def people(*cities: str) -> Counter[Keys]:
        rows = [*visits(*(("new", city, 1) for city in cities)), *others]
        raw = store.put(nasty.Made(table=None, types=TYPES, rows=rows))
        return Counter(counted(store, task_of(table_of(VISITS), bounds=(1, 1)), raw))

    for city in ("a", "b", "c", "A"):
        more, less = people(city), people()
        assert (more - less).total() == 1
        assert not less - more


@pytest.mark.usefixtures("version")
def test_values_whose_hashes_collide_count_as_one(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one unit still moves their number within its reach."""
    right = rowsql._number

    def coarse(*given: Any) -> Any:
        number = right(*given)
        return replace(number, sql=number.sql.replace(">> 2 END", "% 2 :: UBIGINT END"))

    monkeypatch.setattr(rowsql, "_number", coarse)
    rows = visits(*(("p", f"city {n}", n % 10) for n in range(40)))
    task = lifted(task_of(table_of(VISITS), (Role.DISTINCT, CITY), (Role.DISTINCT, AGE), chosen=(), rest=True))
    assert answered(store, task, rows) == [[2], [10]]
    assert list(too_far(store, range(10))) == []


# Planted mistakes


def caught(store: nasty.Store) -> bool:
    checks: list[Callable[[], Any]] = [
        lambda: next(dependent(store), None),
        lambda: next(wrong_limits(store), None),
        lambda: next(too_far(store, range(8)), None),
        lambda: differs(store, "odd keys") or None,
    ]
    return any(check() is not None for check in checks)


@pytest.mark.parametrize("version", ["few", "many"], indirect=True)
@pytest.mark.usefixtures("version")
def test_planted_mistakes_are_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not caught(store)

    def place(task: Task, _: Any) -> Any:
        return np.arange(task.cells.count, dtype=np.uint64)

    def no_rest(task: Task, layer: str, **_: bool) -> str:
        return right_joined(task, layer, rest=False)

    def equal(task: Task, layer: str, *, rest: bool) -> str:
        return right_joined(task, layer, rest=rest).replace("IS NOT DISTINCT FROM", "=")

    def null_counts(*given: Any) -> Any:
        number = right_number(*given)
        return replace(number, sql=f"coalesce({number.sql}, {number.high})")

    def rows_of_people(totals: Any) -> Iterator[list[int]]:
        for cell, rows, _, *rest in right_sums(totals):
            yield [cell, rows, rows, *rest]

    def everything(self: Tally, cell: Any, value: Any) -> None:
        right_add(self, np.repeat(cell, 2), np.repeat(value, 2))

    right_joined, right_number, right_sums = rowsql._joined, rowsql._number, kernel.sums
    right_add = Tally.add
    mistakes: list[tuple[Any, str, Any]] = [
        (fused, "_labels", place),  # by the place of the cell
        (rowsql, "_joined", no_rest),
        (rowsql, "_joined", equal),  # NULL is no key
        (rowsql, "_number", null_counts),  # NULL is a value
        (kernel, "sums", rows_of_people),
        (Tally, "add", everything),
    ]
    for where, name, mistake in mistakes:
        with monkeypatch.context() as patch:
            patch.setattr(where, name, mistake)
            assert caught(store), (name, mistake)


# The law


@pytest.mark.proof
def test_every_choice_of_private_keys_is_as_likely(store: nasty.Store) -> None:
    """Which 2 of 6 keys a unit keeps, over 4,000 secrets; power as in `test_kernel.is_uniform`."""
    rows = visits(*(("p", f"{n}", 1) for n in range(6)))
    task = task_of(table_of(VISITS), (Role.PEOPLE, None), chosen=tuple((f"{n}",) for n in range(6)), bounds=(2, 1))
    asked = rowsql.rows(task, store.put(nasty.Made(table=task.table, types=TYPES, rows=rows)))
    assert asked is not None
    fused._listed(store.connection, task, asked)
    arrays = kernel.Fetched.of(asked, store.connection.execute(asked.statement.sql).fetchnumpy())
    found: Counter[str] = Counter()
    for number in range(4000):
        keyed = replace(task, secret=number.to_bytes(16, "big"))
        labelled = f"SELECT *, {rowsql._label(keyed)} AS label FROM (SELECT * EXCLUDE (label) FROM {rowsql.LISTED})"
        labels = fused._labels(keyed, store.connection.execute(labelled).fetchall())
        totals = kernel.nothing(keyed, asked)
        kernel.add(totals, keyed, replace(arrays, salt=np.full(6, number, np.uint64)), labels=labels)
        found[str(totals[:, 1].tolist())] += 1
    assert len(found) == 15
    assert stats.chisquare(list(found.values())).pvalue > FALSE_ALARM


# Large


@pytest.mark.usefixtures("version")
def test_one_person_in_every_group_and_one_with_a_million_rows(store: nasty.Store) -> None:
    many = """SELECT 'p' AS who, CAST(i % 50000 AS VARCHAR) AS city, CAST(i % 10 AS INTEGER) AS age
        FROM range(1000000) t(i) UNION ALL SELECT 'q', 'x', 3"""
    store.connection.execute(f"CREATE OR REPLACE TABLE stored AS {many}")
    raw = Raw(relation="stored", types=TYPES)
    task = task_of(table_of(VISITS), *ALL_ROLES, bounds=(4, 5))
    people = counted(store, task, raw)
    assert sum(people.values()) == 5
    assert people["x",] == 1
    task = replace(task, cells=replace(task.cells, chosen=(("1",), ("2",)), rest=True))
    found = fetched(store, task, raw)
    assert found is not None
    assert found[0] == [5, 5, 6]
    assert found[3] == [1, 1, 2]
    assert sum(count for _, count in found[5][2]) == 6


def test_somebody_everywhere_counts_for_some_keys(store: nasty.Store) -> None:
    raw = store.put(nasty.Made(table=None, types=TYPES, rows=visits(*EVERYWHERE)))
    people = counted(store, task_of(table_of(VISITS), bounds=(3, 1)), raw)
    assert Counter(people.values()) == {1: 37, 2: 3}


# The tally


@pytest.mark.parametrize("many", [1, 50, 2**20])
@pytest.mark.parametrize(("low", "high"), [(-5, 5), (-(2**61), 2**61), (3, 3)])
def test_a_tally_counts(many: int, low: int, high: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MANY", many)
    rng = Random(many)
    near = sorted({low - 1, low, min(low + 1, high), high, (low + high) // 2})
    tallies, right = [Tally(4, low, high) for _ in range(3)], [Counter[int]() for _ in range(4)]
    for one in itertools.islice(itertools.cycle(tallies), 30):
        pairs = [(rng.randrange(3), rng.choice([*near, high + 1])) for _ in range(rng.choice([0, 1, 40]))]
        cells, values = np.array([c for c, _ in pairs], np.int32), np.array([v for _, v in pairs], np.int64)
        one.add(cells, values)
        for cell, value in pairs:
            right[cell].update([min(value, high)] if value != low - 1 else [])
    tallies[0].merge(tallies[1:])
    assert plain(tallies[0].spreads()) == [sorted(counts.items()) for counts in right]
    assert tallies[0].distinct() == [len(counts) for counts in right]
    assert Tally(2, 0, 1).distinct() == [0, 0]


PLAIN = """
import warnings
warnings.simplefilter("ignore")  # numbers go round, as they should
import test_fused as t
store = t.nasty.Store()
t.choose(t.pytest.MonkeyPatch(), "many")
assert list(t.dependent(store)) == list(t.too_far(store, range(3))) == []
"""


@pytest.mark.counted
def test_the_loops_without_a_compiler_do_the_same() -> None:
    run_plain(PLAIN, Path(__file__).parent)
