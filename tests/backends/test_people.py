"""People, values, quantiles and keys that are not public: what is defined, and that SQL computes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import duckdb
import pandas as pd
import pytest
from support import nasty
from support.refusals import raises_code
from support.visits import (
    AGE,
    ALL_ROLES,
    CITIES,
    CITY,
    ODD_KEYS,
    RANKED,
    TABLES,
    TYPES,
    VISITS,
    Row,
    exact,
    neighbors,
    people_in_sql,
    people_with,
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

from privet import engine
from privet.backends import Task, cellsql, keysql, reference, spreadsql, sqlgen
from privet.backends.duckdb import DuckDb, portable
from privet.backends.reference import BINS, Reference, _passing, bounded
from privet.backends.written import write
from privet.core.expression import Column, Literal
from privet.core.laws import DiscreteLaplace
from privet.core.measures import Role
from privet.core.schema import Integer, Kind, Text
from privet.errors import RefusedQueryError
from privet.sources import Raw

FEW = visits(("a", "Ulm", 3), ("a", "Ulm", 3), ("b", "Ulm", None), ("b", "Bonn", 99), ("c", None, 0), (None, "Ulm", 7))


# What is defined


def test_every_measure_by_hand() -> None:
    chosen = (("Ulm",), (None,), ("nowhere",))
    task = task_of(table_of(VISITS), *ALL_ROLES, (Role.DISTINCT, CITY), chosen=chosen, rest=True, bounds=(5, 5))
    assert exact(FEW, task) == [
        [3, 1, 0, 1], [2, 1, 0, 1], [6, 0, 0, 9], [2, 1, 0, 1], [1, 1, 0, 1], [[(3, 2)], [(0, 1)], [], [(9, 1)]],
        [1, 0, 0, 1],
    ]  # fmt: skip
    rows = replace(task, table=table_of(VISITS, unit=None))
    assert exact(FEW, rows)[3] == [4, 1, 0, 1]  # where each row is a unit, nobody has no name
    assert Reference({"t": FEW}).people(task_of(table_of(VISITS))) == {("Ulm",): 2, ("Bonn",): 1, (None,): 1}
    assert Reference({"t": FEW}).people(task_of(table_of(VISITS, unit=None))) == {("Ulm",): 4, ("Bonn",): 1, (None,): 1}


def test_an_unknown_measure_is_refused() -> None:
    with pytest.raises(AssertionError):
        reference.measured(SimpleNamespace(role="median"), [[]])  # type: ignore[arg-type]


def test_habits_by_hand() -> None:
    """a has 1 group with 2 rows, b 2 with 1, c 5 with 1 and d 1 with 5."""
    many = visits(*(("c", f"{n}", 0) for n in range(5)), *[("d", "x", 0)] * 5)
    table = table_of(VISITS)
    tasks = task_of(table), task_of(table, chosen=(("Ulm",),), rest=True), task_of(table, chosen=())
    right = Reference({"t": FEW[:4] + many})
    groups, rows, _ = right.habits(tasks[0])
    assert (groups, rows) == ([2, 1, 0, 1] + [0] * (BINS - 4), [2, 1, 0, 1] + [0] * (BINS - 4))
    for most, counted in ((1, [2, 1, 0, 1]), (2, [0, 3, 0, 1]), (3, [0, 2, 1, 1]), (99, [0, 2, 0, 2])):
        in_all = right.habits(replace(tasks[0], bounds=replace(tasks[0].bounds, rows=most)))[2]
        assert in_all == counted + [0] * (BINS - 4), most
    assert right.habits(tasks[1])[0][:3] == [3, 1, 0]
    assert right.habits(tasks[2]) == ([0] * BINS, [0] * BINS, [0] * BINS)
    assert Reference({"t": FEW}).habits(task_of(table_of(VISITS, unit=None))) == ([6] + [0] * 40,) * 3


def test_bins_hold_powers_of_two() -> None:
    ends = [1, 2, 3, 4, 5, 8, 9, 2**39, 2**39 + 1, 2**40, 2**40 + 1, 2**70]
    found = [reference.binned([(number, 7)]).index(7) for number in ends]
    assert found == [0, 1, 2, 2, 3, 3, 4, 39, 40, 40, 40, 40]


def test_one_unit_counts_once_for_at_most_so_many_keys() -> None:
    attained = False
    for seed in range(60):
        rng = Random(seed)
        with_p, without = neighbors(rng, random_visits(rng))
        task = task_of(table_of(VISITS), bounds=(rng.randint(1, 3), 1), secret=rng.randbytes(4))
        more, less = Counter(Reference({"t": with_p}).people(task)), Counter(Reference({"t": without}).people(task))
        moved = {key: more[key] - less[key] for key in more | less if more[key] != less[key]}
        assert set(moved.values()) <= {1}
        assert len(moved) <= task.bounds.groups
        attained |= len(moved) == task.bounds.groups == 3
    assert attained


def kept(task: Task, rows: list[Row]) -> list[reference.Kept]:
    return reference.bounded(task, list(_passing(task, {"t": rows})))


def limits_hold(task: Task, rows: list[Row]) -> bool:
    cells = Counter((row.unit, row.cell) for row in kept(task, rows))
    groups = Counter(unit for unit, _ in cells)
    return max(cells.values(), default=0) <= task.bounds.rows and max(groups.values(), default=0) <= task.bounds.groups


def test_the_rest_is_bounded_like_any_other_cell() -> None:
    crowded = False
    for seed in range(60):
        rng = Random(seed)
        with_p, without = neighbors(rng, random_visits(rng))
        task = task_of(
            table_of(VISITS), (Role.COUNT, None), (Role.PEOPLE, None), chosen=random_chosen(rng), rest=True,
            bounds=(rng.randint(1, 3), rng.randint(1, 3)), secret=rng.randbytes(4),
        )  # fmt: skip
        assert limits_hold(task, with_p)
        for vector, most in zip(
            zip(exact(with_p, task), exact(without, task), strict=True), (task.bounds.rows, 1), strict=True
        ):
            moved = [abs(more - less) for more, less in zip(*vector, strict=True)]
            assert max(moved) <= most
            assert sum(move > 0 for move in moved) <= task.bounds.groups
            crowded |= moved[-1] == most == 3
    assert crowded


def test_the_people_of_the_rest_are_one_number() -> None:
    """Of all that back ends count only the last number gets noise and leaves the gate; a unit moves it by 1."""
    law, moves = DiscreteLaplace(Fraction(1)), set()
    for seed in range(30):
        rng = Random(seed)
        with_p, without = neighbors(rng, random_visits(rng))
        task = task_of(
            table_of(VISITS), (Role.PEOPLE, None), chosen=random_chosen(rng), rest=True,
            bounds=(rng.randint(1, 3), rng.randint(1, 3)), secret=rng.randbytes(4),
        )  # fmt: skip
        task = replace(task, measures=(replace(task.measures[0], rest=True),), laws=(law,))
        numbers = [engine._added(task, exact(rows, task), Silent()) for rows in (with_p, without)]
        assert [list(map(len, vectors)) for vectors in numbers] == [[1], [1]]
        moves.add(numbers[0][0][0] - numbers[1][0][0])
    assert moves == {0, 1}


class Silent:
    """No noise."""

    def draw(self, law: object, size: int) -> Any:
        return [0] * size

    def choose(self, *_: object) -> int:
        raise AssertionError


def test_what_a_unit_keeps_does_not_depend_on_keys_of_others() -> None:
    changed = 0
    for seed in range(60):
        rng = Random(seed)
        rows, chosen, rest = random_visits(rng, 12), random_chosen(rng), rng.random() < 0.5
        task = task_of(table_of(VISITS), chosen=chosen, rest=rest, bounds=(2, 1), secret=rng.randbytes(4))
        other = [
            *chosen,
            ("nowhere else",),
            *((city,) for city in CITIES if (city,) not in chosen and rng.random() < 0.5),
        ]
        other = [key for key in other if key not in chosen or rng.random() < 0.5]
        rng.shuffle(other)
        again = replace(task, cells=replace(task.cells, chosen=tuple(other)))
        for unit in "pqrs":
            own = [row for row in rows if row["who"] == unit]
            if not {(row["city"],) for row in own} & (set(chosen) ^ set(other)):
                before, after = (
                    [(row.text, row.row) for row in kept(one, rows) if row.unit == unit] for one in (task, again)
                )
                assert before == after
                changed += chosen != tuple(other) and len(before) > 0
    assert changed > 20


def test_before_and_after_the_choice_the_same_keys_are_kept() -> None:
    """Who counts for a key when keys are chosen also counts in its cell, if all keys are chosen."""
    for seed in range(20):
        rng = Random(seed)
        rows = random_visits(rng)
        task = task_of(table_of(VISITS), (Role.PEOPLE, None), secret=rng.randbytes(4))
        people = Reference({"t": rows}).people(task)
        chosen = tuple(rng.sample(sorted(people, key=repr), len(people)))
        assert exact(rows, replace(task, cells=replace(task.cells, chosen=chosen)))[0] == [
            people[key] for key in chosen
        ]


def test_one_unit_moves_a_number_of_values_by_its_rows_at_most() -> None:
    attained = False
    for seed in range(80):
        rng = Random(seed)
        with_p, without = neighbors(rng, random_visits(rng, 5))
        task = task_of(
            table_of(VISITS), (Role.DISTINCT, AGE), chosen=random_chosen(rng), rest=True,
            bounds=(2, rng.randint(1, 2)), secret=rng.randbytes(4),
        )  # fmt: skip
        (more,), (less,) = exact(with_p, task), exact(without, task)
        moved = [a - b for a, b in zip(more, less, strict=True)]
        assert all(0 <= move <= task.bounds.rows for move in moved)
        assert sum(move > 0 for move in moved) <= 2
        attained |= task.bounds.rows == 2 and moved.count(2) == 2
    assert attained


# SQL computes the same

SEEDS = range(40)  # tables; the comparison is exact, so which ones does not matter


@pytest.fixture(scope="module")
def store() -> Iterator[nasty.Store]:
    made = nasty.Store()
    yield made
    made.close()


def in_sql(store: nasty.Store, task: Task, raw: Raw) -> list[list[Any]]:
    return [plain(vector) for vector in portable(store.connection, task, write(task, raw, kernel=False))]


def habits_in_sql(store: nasty.Store, task: Task, raw: Raw) -> Any:
    query = keysql.habits(task, raw)
    return query.binned(store.connection.execute(query.sql, cellsql.given(task) or None).fetchall())


def wrong_tasks(store: nasty.Store, seeds: Sequence[int]) -> Iterator[Task]:
    """Tasks on which the engine and the reference differ."""
    for seed in seeds:
        rng = Random(seed)
        made = nasty.random_table(rng)
        raw, right = store.put(made), Reference({"t": made.rows})
        for _ in range(2):
            task = random_task(rng, made)
            people = right.people(task) if task.cells.private else {}
            try:
                same = not task.cells.private or typed(people_in_sql(store, task, raw)) == typed(people)
                same &= habits_in_sql(store, task, raw) == right.habits(task)
                task = some_chosen(rng, task, people)
                same &= in_sql(store, task, raw) == exact(made.rows, task)
                same &= habits_in_sql(store, task, raw) == right.habits(task)
            except (AssertionError, duckdb.Error):
                same = False
            if not same:
                yield task


@pytest.mark.proof
def test_all_measures_in_sql_are_as_defined(store: nasty.Store) -> None:
    assert list(wrong_tasks(store, SEEDS)) == []


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("unit", ["who", None])
def test_private_keys_in_sql_are_as_defined(store: nasty.Store, name: str, unit: str | None) -> None:
    rows, table = TABLES[name], table_of(VISITS, unit)
    raw = store.put(nasty.Made(table=table, types=TYPES, rows=rows))
    for keys in ((CITY,), (AGE,), (CITY, AGE), (Literal(None), CITY)):
        task = task_of(table, *ALL_ROLES, (Role.DISTINCT, CITY), keys=keys)
        people = Reference({"t": rows}).people(task)
        assert typed(people_in_sql(store, task, raw)) == typed(people)
        nowhere = tuple(None if key is not CITY else "nowhere at all" for key in keys)
        every = tuple(dict.fromkeys([nowhere, *people]))
        for chosen, rest in [(every, False), (every[::2], True), ((nowhere,), True), ((nowhere,), False), ((), True)]:
            chosen_task = replace(task, cells=replace(task.cells, chosen=chosen, rest=rest))
            assert in_sql(store, chosen_task, raw) == exact(rows, chosen_task), (chosen, rest)
            assert habits_in_sql(store, chosen_task, raw) == Reference({"t": rows}).habits(chosen_task)


@pytest.mark.proof
@pytest.mark.parametrize("unit", ["who", None])
def test_one_person_with_very_many_rows(store: nasty.Store, unit: str | None) -> None:
    table = table_of(VISITS, unit)
    many = "SELECT 'p' AS who, CAST(range % 3 AS VARCHAR) AS city, CAST(range % 11 AS INTEGER) AS age FROM range(30000)"
    store.connection.execute(f"CREATE OR REPLACE TABLE stored AS {many}")
    rows = visits(*(("p", f"{n % 3}", n % 11) for n in range(30_000)))
    task = task_of(table, *ALL_ROLES, chosen=(("2",),), rest=True)
    assert in_sql(store, task, Raw(relation="stored", types=TYPES)) == exact(rows, task)


@pytest.mark.parametrize("type_", sorted(set(nasty.UNIT_TYPES)))
def test_people_in_sql_are_as_defined(store: nasty.Store, type_: str) -> None:
    """Units of every type, with bounds that bind."""
    rng = Random(type_)
    units = [None, *nasty.UNITS] if type_ == "VARCHAR" else [nasty.raw_value(rng, type_, None) for _ in range(6)]
    for groups in (1, 2, 5):
        rows, table = people_with(ODD_KEYS[:12], units, rng, 80), table_of(VISITS)
        raw = store.put(nasty.Made(table=table, types={**TYPES, "who": type_}, rows=rows))
        task = task_of(table, (Role.PEOPLE, None), (Role.DISTINCT, AGE), bounds=(groups, 1), secret=rng.randbytes(4))
        people = Reference({"t": rows}).people(task)
        assert people_in_sql(store, task, raw) == people
        assert habits_in_sql(store, task, raw) == Reference({"t": rows}).habits(task)
        chosen_task = replace(task, cells=replace(task.cells, chosen=tuple(people)[::2], rest=True))
        assert in_sql(store, chosen_task, raw) == exact(rows, chosen_task)


def test_a_list_of_keys_beside_the_statement_is_no_part_of_it() -> None:
    """However many and whatever they are: neither the text of the statement nor its length shows them."""
    raw = Raw(relation="stored", types=TYPES)
    few, many = (("'; DROP TABLE t",),), tuple((f"{n}",) for n in range(10_000))
    task = task_of(table_of(VISITS), (Role.COUNT, None), (Role.MIN, AGE))
    texts = []
    for chosen in (few, many):
        asked = replace(task, cells=replace(task.cells, chosen=chosen))
        texts += [sqlgen.statement(asked, raw).sql, *(query.sql for query in spreadsql.values(asked, raw).values())]
    assert not any("DROP" in text for text in texts)
    assert max(map(len, texts)) < 10_000


# Planted bugs: the comparison must notice each


def notices(store: nasty.Store) -> bool:
    try:
        for name in TABLES:
            test_private_keys_in_sql_are_as_defined(store, name, "who")
    except AssertionError:
        return True
    return False


def planted(monkeypatch: pytest.MonkeyPatch, place: Any, name: str, old: str, new: str) -> None:
    """The SQL that a function gives, with one thing changed."""
    right = getattr(place, name)

    def wrong(*given: Any) -> str:
        sql = right(*given)
        assert old in sql or not given[0].cells.private
        return sql.replace(old, new)

    monkeypatch.setattr(place, name, wrong)


def test_a_rest_that_is_not_bounded_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    right = sqlgen._bounded

    def wrong(task: Task, type_: str, rows: str) -> str:
        if not task.cells.rest:
            return right(task, type_, rows)
        last = task.cells.count - 1
        others = right(task, type_, f"SELECT * FROM ({rows}) WHERE cell < {last}")
        return f"({others}) UNION ALL BY NAME SELECT *, 1 AS n FROM ({rows}) WHERE cell = {last}"

    monkeypatch.setattr(sqlgen, "_bounded", wrong)
    assert notices(store)


def test_a_reference_that_bounds_keys_before_they_are_the_rest_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each key by itself, and only then into the cell of the rest: a unit then has more rows there than it may."""

    def wrong(task: Task, rows: Sequence[reference.Kept]) -> list[reference.Kept]:
        numbers: dict[Any, int] = {}
        own = [replace(row, cell=numbers.setdefault(row.key, len(numbers)), text=str(row.key)) for row in rows]
        cells = {id(alone.row): row.cell for alone, row in zip(own, rows, strict=True)}
        return [replace(alone, cell=cells[id(alone.row)]) for alone in bounded(task, own)]

    monkeypatch.setattr(reference, "bounded", wrong)
    with pytest.raises(AssertionError):
        test_the_rest_is_bounded_like_any_other_cell()


def test_somebody_counted_twice_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    right = sqlgen._Sums._place
    monkeypatch.setattr(sqlgen._Sums, "_place", lambda self, sql: right(self, sql.replace("DISTINCT u", "u")))
    assert notices(store)


def test_null_as_a_value_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    right = sqlgen._Sums._place

    def wrong(self: Any, sql: str) -> int:
        value = sql.removeprefix("count(DISTINCT ").removesuffix(")")
        counted = sql.startswith("count(DISTINCT v")
        return right(self, f"count(DISTINCT coalesce(CAST({value} AS VARCHAR), '-'))" if counted else sql)

    monkeypatch.setattr(sqlgen._Sums, "_place", wrong)
    assert notices(store)


def test_a_hash_of_the_place_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlgen, "with_texts", lambda _, rows: f"SELECT *, CAST(cell AS VARCHAR) AS text FROM ({rows})")
    assert notices(store)


def test_a_reference_with_a_hash_of_the_place_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "cell_text", lambda *given: str(given[-1]))
    with pytest.raises(AssertionError):
        test_what_a_unit_keeps_does_not_depend_on_keys_of_others()


def test_a_key_that_is_null_and_lost_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, sqlgen, "numbered", "IS NOT DISTINCT FROM", "=")
    assert notices(store)


def test_a_key_told_by_its_beginning_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an engine would that ends texts at a zero."""
    monkeypatch.setattr(
        cellsql, "canonical", lambda value, _: value.split("\0")[0] if isinstance(value, str) else value
    )
    assert notices(store)


@pytest.mark.parametrize("what", ["values", "counts"])
def test_a_spread_that_is_off_is_noticed(store: nasty.Store, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    right = spreadsql._sorted

    def wrong(*given: Any) -> tuple[Any, Any]:
        found, times = right(*given)
        return (found + 1, times) if what == "values" else (found, times * 0 + 1)

    monkeypatch.setattr(spreadsql, "_sorted", wrong)
    assert notices(store)


# The engine itself


@pytest.mark.parametrize("unit", ["who", None])
@pytest.mark.parametrize("alone", [False, True])
def test_the_engine_answers_by_whichever_way(unit: str | None, alone: bool) -> None:
    """Where no bound binds, so that all ways keep the same rows."""
    rows = TABLES["odd keys"]
    frame = pd.DataFrame(rows)
    table = table_of(VISITS, unit)
    with DuckDb(Path(), {"t": frame}, portable=alone) as engine:
        task = task_of(table, *ALL_ROLES, bounds=(1000, 1000))
        engine.write(task)
        read = frame.astype(object).where(frame.notna(), None).to_dict("records")  # NaN stands for NULL in a data frame
        right = Reference({"t": read})
        people = engine.people(task)
        assert people == right.people(task)
        assert engine.habits(task) == right.habits(task)
        task = replace(task, cells=replace(task.cells, chosen=tuple(people)[::3], rest=True))
        assert [plain(vector) for vector in engine.exact(task)] == exact(read, task)
        only = replace(task, measures=task.measures[-1:])
        assert [plain(vector) for vector in engine.exact(only)] == exact(read, only)


def test_values_of_too_many_bits_are_refused_without_data() -> None:
    engine = DuckDb(Path(), {})
    for most, refused in ((2**62 - 1, False), (2**62, True)):
        columns: dict[str, Kind] = {"n": Integer(0, most), "city": Text()}
        table = table_of(columns, unit=None)
        engine.write(task_of(table, (Role.DISTINCT, Column("n")), (Role.SUM, Column("n"))))
        for role in RANKED:
            task = task_of(table, (role, Column("n")))
            if refused:
                with raises_code(RefusedQueryError, "too-fine: 62"):
                    engine.write(task)
            else:
                engine.write(task)


def test_wide_values_in_many_cells_are_sorted_cell_by_cell(store: nasty.Store) -> None:
    columns: dict[str, Kind] = {"n": Integer(-(2**61), 2**61), "city": Text()}
    rng, table = Random(5), table_of(columns, unit=None)
    near = [-(2**61), 2**61, 2**61 - 1, 0, -1, None]
    rows = [{"n": rng.choice(near), "city": rng.choice(["a", "b", "c", "d"])} for _ in range(60)]
    raw = store.put(nasty.Made(table=table, types={"n": "BIGINT", "city": "VARCHAR"}, rows=rows))
    task = task_of(table, (Role.MAX, Column("n")), chosen=(("d",), ("a",), ("x",)), rest=True)
    assert in_sql(store, task, raw) == exact(rows, task)
