"""Parts of the units: who is in which, that a question about one sees nobody else, and how an owner declares them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest
from support.refusals import raises_code

import privet as pv
from privet.backends import Task
from privet.backends.duckdb import DuckDb
from privet.backends.reference import Reference
from privet.catalog import vault_file
from privet.catalog.declarations import Catalog, Source, Table
from privet.cli import main
from privet.core.expression import And, Column, Compare, Literal, Relation
from privet.core.partition import Partition, asks_part, of_part, of_part_by_row
from privet.core.parts import Setting, sensitivity_of
from privet.core.plan import Aggregate, Function, Joined, Key, Origin, PerUnit, Plan, Scan
from privet.core.sensitivity import Bounds
from privet.core.shape import Shapes, shape_of_kind
from privet.core.unit import Neighbors
from privet.errors import BudgetExceededError, InvalidInputError, LedgerError, RefusedQueryError
from privet.estimates.priced import outline
from privet.ledger import Kind
from privet.vault import Vault

PARTS = ("north", "south", "west")
HOSPITAL = pv.Category(list(PARTS))
Rows = dict[str, list[dict[str, Any]]]


def part_of(unit: object, patients: list[dict[str, Any]]) -> str | None:
    """Written apart from the plan: the first part, as declared, that one of the unit's rows has."""
    own = {row["hospital"] for row in patients if row["pid"] == unit}
    return next((part for part in PARTS if part in own), None)


def world(seed: int) -> Rows:
    """People with several hospitals, one, none, or not in the register at all; rows of nobody."""
    random = Random(seed)
    units = [*range(8), None]
    hospitals = [*PARTS, "elsewhere", None]
    patients = [
        {"pid": random.choice(units[2:]), "hospital": random.choice(hospitals), "age": random.randrange(9)}
        for _ in range(12)
    ]
    visits = [{"pid": random.choice(units), "cost": random.randrange(6)} for _ in range(20)]
    wards = [{"cost": cost, "w": f"w{cost}"} for cost in range(4)]
    return {"patients": patients, "visits": visits, "wards": wards}


def tables(**more: Any) -> dict[str, Table]:
    memory = Source(kind="memory")
    return {
        "patients": Table(
            name="patients", source=memory, unit="pid", columns={"hospital": HOSPITAL, "age": pv.Integer(0, 9)}, **more
        ),
        "visits": Table(
            name="visits", source=memory, unit="pid", columns={"cost": pv.Integer(0, 9)}, max_rows=50,
            max_groups=50, max_rows_per_group=50,
        ),
        "wards": Table(
            name="wards", source=memory, unit=None, public=True, columns={"cost": pv.Integer(0, 9), "w": pv.Text()}
        ),
    }  # fmt: skip


def declared(known: dict[str, Table]) -> dict[str, Shapes]:
    return {
        name: {column: shape_of_kind(kind) for column, kind in table.columns.items()} for name, table in known.items()
    }


DIVIDED = Partition(table="patients", column="hospital", parts=PARTS)
COUNT = Aggregate(name="n", function=Function.COUNT)


def counting(table: str, origin: Origin | None = None, **more: Any) -> Plan:
    return Plan(table=table, origin=origin, aggregates=(COUNT,), outputs=("n",), **more)


ALL_ROWS = Bounds(groups=50, rows=50, neighbors=Neighbors.ADD_REMOVE)


def task(plan: Plan, known: dict[str, Table], bounds: Bounds = ALL_ROWS) -> Task:
    read = outline(plan, known[plan.table].columns, bounds, {name: table.columns for name, table in known.items()})
    return Task(
        table=known[plan.table],
        plan=read.plan,
        declared=read.declared,
        passing=read.passing,
        cells=read.cells,
        measures=read.measures,
        bounds=bounds,
        secret=bytes(16),
        beside={name: table for name, table in known.items() if name != plan.table},
    )


def computed(plan: Plan, known: dict[str, Table], rows: Rows, folder: Path) -> list[Any]:
    """By the definition and by DuckDB, which agree."""
    asked = task(plan, known)
    expected = Reference(rows).exact(asked)
    kept = {name: pd.DataFrame(list(found), dtype=object) for name, found in rows.items()}
    frames = {name: frame.astype({"pid": "Int64"}) if "pid" in frame else frame for name, frame in kept.items()}
    backend = DuckDb(folder, frames)
    try:
        assert backend.exact(asked) == expected
    finally:
        backend.close()
    return expected


# ---- who is in which part


@pytest.mark.parametrize("seed", range(12))
def test_each_unit_is_asked_about_in_its_own_part_and_in_no_other(seed: int, tmp_path: Path) -> None:
    rows, known = world(seed), tables()
    for table in ("patients", "visits"):
        for part in PARTS:
            plan = of_part(counting(table), DIVIDED, part, declared(known))
            mine = [
                row for row in rows[table] if row["pid"] is not None and part_of(row["pid"], rows["patients"]) == part
            ]
            assert computed(plan, known, rows, tmp_path) == [[len(mine)]]


@pytest.mark.parametrize("seed", range(6))
def test_a_unit_that_comes_or_goes_changes_questions_about_its_own_part_alone(seed: int) -> None:
    """Also with groups and sums, of every unit, in both tables at once."""
    rows, known = world(seed), tables()
    total = Aggregate(name="s", function=Function.SUM, value=Column("cost"))
    keys = (Key(name="k", value=Column("cost")),)
    grouped = Plan(table="visits", keys=keys, aggregates=(COUNT, total), outputs=("n",))
    asked = {
        part: [of_part(plan, DIVIDED, part, declared(known)) for plan in (counting("patients"), grouped)]
        for part in PARTS
    }
    before = {part: [Reference(rows).exact(task(plan, known)) for plan in plans] for part, plans in asked.items()}
    moved = set()
    for unit in range(8):
        without = {name: [row for row in found if row.get("pid", -1) != unit] for name, found in rows.items()}
        after = {part: [Reference(without).exact(task(plan, known)) for plan in plans] for part, plans in asked.items()}
        changed = {part for part in PARTS if before[part] != after[part]}
        assert changed <= {part_of(unit, rows["patients"])}
        moved |= changed
    assert moved, "somebody is in a part"


@pytest.mark.parametrize("seed", range(4))
def test_a_unit_that_is_replaced_moves_its_old_and_its_new_part_within_the_price(seed: int) -> None:
    """Every unit takes the rows of every other one, in all tables: no third part moves, and each of the two moves no
    further than its own noise is for."""
    rows, known = world(seed), tables()
    total = Aggregate(name="s", function=Function.SUM, value=Column("cost"))
    grouped = Plan(
        table="visits", keys=(Key(name="k", value=Column("cost")),), aggregates=(COUNT, total), outputs=("n",)
    )
    bounds = Bounds(groups=2, rows=2, neighbors=Neighbors.REPLACE)
    asked = {part: task(of_part(grouped, DIVIDED, part, declared(known)), known, bounds) for part in PARTS}
    before = {part: Reference(rows).exact(asked[part]) for part in PARTS}
    moved = set()
    for unit, other in itertools.permutations(range(8), 2):
        after = {
            name: [row for row in found if row.get("pid", -1) != unit]
            + [row | {"pid": unit} for row in found if row.get("pid", -1) == other]
            for name, found in rows.items()
        }
        touched = {part_of(unit, rows["patients"]), part_of(other, rows["patients"])}
        for part in PARTS:
            now = Reference(after).exact(asked[part])
            assert part in touched or now == before[part]
            for measure, old, new in zip(asked[part].measures, before[part], now, strict=True):
                far = sensitivity_of(measure, Setting(cells=asked[part].cells.count, bounds=bounds)).l1
                change = sum(abs(a - b) for a, b in zip(old, new, strict=True))  # type: ignore[operator]
                assert change <= far
                moved |= {part} if change else set()
    assert len(moved) > 1, "units went from one part to another"


def test_parts_of_a_question_with_joins_and_sub_queries(tmp_path: Path) -> None:
    """Its own origin stays as it is; a column that is called part does not get in the way."""
    rows, known = world(3), tables()
    public = Joined(
        left=Scan(table="visits"),
        right=Scan(table="wards"),
        by_unit=False,
        on=(("cost", "cost"),),
        names=(("w", "Part"),),
    )
    per_unit = PerUnit(source=Scan(table="visits"), aggregates=(Aggregate(name="part", function=Function.COUNT),))
    for part in PARTS:
        plan = of_part(counting("visits", public), DIVIDED, part, declared(known))
        mine = [row for row in rows["visits"] if part_of(row["pid"], rows["patients"]) == part]
        assert computed(plan, known, rows, tmp_path) == [[sum(row["cost"] < 4 for row in mine)]]
        assert isinstance(plan.origin, Joined)
        assert plan.origin.names == (("part_", "part_"),)
        plan = of_part(counting("visits", per_unit), DIVIDED, part, declared(known))
        assert computed(plan, known, rows, tmp_path) == [[len({row["pid"] for row in mine})]]


def test_a_condition_of_the_question_stays() -> None:
    known = declared(tables())
    where = Compare(Relation.GREATER, Column("cost"), Literal(F(2)))
    plan = of_part(counting("visits", where=where), DIVIDED, "south", known)
    assert plan.where == And((where, Compare(Relation.EQUAL, Column("part"), Literal(F(1)))))
    assert of_part(counting("visits"), DIVIDED, "south", known).where == plan.where.items[1]
    with raises_code(InvalidInputError, "unknown-part: 'east'"):
        of_part(counting("visits"), DIVIDED, "east", known)
    with raises_code(InvalidInputError, "unknown-part: part 7"):
        of_part(counting("visits"), DIVIDED, 7, known)  # type: ignore[arg-type]


def test_where_each_row_is_a_unit_its_part_is_its_own_value() -> None:
    where = Compare(Relation.GREATER, Column("age"), Literal(F(2)))
    plan = of_part_by_row(counting("patients", where=where), DIVIDED, "north")
    assert plan.where == And((where, Compare(Relation.EQUAL, Column("hospital"), Literal("north"))))
    assert plan.origin is None
    public = Joined(left=Scan(table="patients"), right=Scan(table="wards"), by_unit=False, names=(("w", "w"),), most=1)
    assert of_part_by_row(counting("patients", public), DIVIDED, "north").origin == public
    shadow = Joined(left=public, right=Scan(table="wards"), by_unit=False, names=(("w", "hospital"),), most=1)
    made = PerUnit(source=Scan(table="patients"), aggregates=(COUNT,))
    for plan in (counting("visits"), counting("patients", shadow), counting("patients", made)):
        with raises_code(RefusedQueryError, "not-divided: 'patients'"):
            of_part_by_row(plan, DIVIDED, "north")
    with raises_code(InvalidInputError, "unknown-part: 'east'"):
        of_part_by_row(counting("patients"), DIVIDED, "east")


def test_a_plan_that_is_not_joined_with_its_part_is_not_asked_of_it() -> None:
    """By hand, beside the honest plan: another origin, columns beside the part, no condition, or another part."""
    honest = of_part(counting("visits"), DIVIDED, "south", declared(tables()))
    assert asks_part(honest, DIVIDED, "south", by_row=False)
    assert isinstance(honest.origin, Joined)
    two = replace(honest.origin, names=(*honest.origin.names, ("age", "age")))
    per_unit = PerUnit(source=Scan(table="visits"), aggregates=(COUNT,))
    for origin in (None, Scan(table="visits"), per_unit, two, replace(honest.origin, names=())):
        assert not asks_part(replace(honest, origin=origin), DIVIDED, "south", by_row=False)
    assert not asks_part(replace(honest, where=None), DIVIDED, "south", by_row=False)
    assert not asks_part(honest, DIVIDED, "north", by_row=False)
    assert not asks_part(honest, DIVIDED, "east", by_row=False)
    assert not asks_part(honest, DIVIDED, "south", by_row=True)


# ---- the owner's declaration

PATIENTS = pd.DataFrame(
    {
        "pid": [1, 2, 3, 3, 4, None],
        "hospital": ["north", "north", "south", "north", None, "north"],
        "age": [1, 2, 3, 4, 5, 6],
    }
)
VISITS = pd.DataFrame({"pid": [1, 1, 2, 3, 4, 9], "cost": [1, 2, 3, 4, 5, 6]})


@pytest.fixture(params=Neighbors)
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Vault]:
    with pv.create(tmp_path / "v", budget=pv.Budget(1, 1e-9), neighbors=request.param, testing=True) as made:
        PATIENTS.to_parquet(tmp_path / "patients.parquet")
        VISITS.to_parquet(tmp_path / "visits.parquet")
        columns = {"hospital": HOSPITAL, "age": pv.Integer(0, 9)}
        made.add_table("patients", tmp_path / "patients.parquet", unit="pid", columns=columns)
        made.add_table(
            "visits", tmp_path / "visits.parquet", unit="pid", columns={"cost": pv.Integer(0, 9)}, max_rows=3
        )
        made.add_table("wards", VISITS, public=True, columns={"cost": pv.Integer(0, 9)})
        yield made
        made.ledger.verify()


def numbers(vault: Vault, text: str, part: str | None) -> tuple[int, ...]:
    (found,) = pv.testing.exact(vault.sql(text, epsilon=1, part=part), key=bytes(16)).parts
    return found.values


def test_questions_about_parts(vault: Vault) -> None:
    assert vault.parts == ()
    made = vault.partition("patients", "hospital")
    assert vault.parts == PARTS == made.parts
    assert vault.ledger.partition == made
    for table, expected in (("patients", (3, 0, 0)), ("visits", (4, 0, 0))):
        text = f"SELECT COUNT(*) AS n FROM {table}"
        assert tuple(numbers(vault, text, part)[0] for part in PARTS) == expected
    assert numbers(vault, "SELECT COUNT(*) AS n FROM visits", None) == (6,)
    assert numbers(vault, "SELECT COUNT(*) AS n FROM visits WHERE cost > 1", "north") == (3,)
    with raises_code(RefusedQueryError, "private-table-needed: public"):
        vault.sql("SELECT COUNT(*) AS n FROM wards", epsilon=1, part="north")


def test_budgets_of_parts(vault: Vault) -> None:
    count = "SELECT COUNT(*) AS n FROM visits"
    vault.sql(count, epsilon="0.2").release()
    vault.partition("patients", "hospital")
    asked = vault.sql(count, epsilon="0.4", part="north")
    assert asked.part == "north"
    assert asked.about_n_more == 2
    answer = asked.release()
    assert not answer.replayed
    assert asked.release().replayed, "the same question about the same part is free"
    assert not vault.sql(count, epsilon="0.4", part="south").release().replayed, (
        "of another part it is another question"
    )
    together = vault.terms.neighbors is Neighbors.REPLACE
    assert vault.budget_of_part("north").spent.epsilon == F("1.0" if together else "0.6")
    assert vault.budget_of_part("north").remaining.epsilon == F("0.0" if together else "0.4")
    assert vault.budget_of_part("west").spent.epsilon == F("0.6" if together else "0.2")
    assert vault.budget.spent.epsilon == F("1.0" if together else "0.6")
    assert asked.about_n_more == (0 if together else 1)
    assert vault.budget_of_part("west").about_n_more(asked) == (1 if together else 2)
    assert vault.budget.about_n_more(asked) == (0 if together else 1)
    assert vault.budget_of("bob").spent == vault.budget.spent
    vault.grant("bob", pv.Budget("0.5"))
    assert vault.budget_of("bob").spent.epsilon == 0
    assert vault.sql(count, epsilon="0.3", part="west", analyst="bob").about_n_more == 1
    with pytest.raises(BudgetExceededError):
        vault.sql(count, epsilon="0.5").release()
    note = [entry for entry in vault.ledger.entries() if entry.kind is Kind.CHARGE]
    assert [entry.part for entry in note] == [None, "north", "south"]


def test_explain_speaks_of_the_budget_that_is_used_up_first(vault: Vault) -> None:
    vault.partition("patients", "hospital")
    count = "SELECT COUNT(*) AS n FROM visits"
    vault.sql(count, epsilon="0.75", part="south").release()
    said = vault.sql(count, epsilon="0.5").explain()
    together = vault.terms.neighbors is Neighbors.REPLACE
    assert "Left of the budget of part 'south': epsilon 0.25 of 1" in said
    assert "epsilon=0.25" in said
    said = vault.sql(count, epsilon="0.5", part="north").explain()
    left = (
        "the budget of parts 'north' and 'south' together: epsilon 0.25"
        if together
        else "of part 'north': epsilon 1 of"
    )
    assert left in said


def test_explain_of_a_part_without_a_pure_gauge(vault: Vault) -> None:
    vault.partition("patients", "hospital")
    count = "SELECT COUNT(*) AS n FROM visits"
    vault.sql(count, rho="0.001", part="west").release()
    assert "of part 'west'" in vault.sql(count, epsilon="0.5", part="west").explain()


def test_bounds_of_a_part_are_charged_to_it(vault: Vault) -> None:
    vault.partition("patients", "hospital")
    found = vault.suggest_bounds("SELECT SUM(cost) AS s FROM visits", epsilon="0.5", part="north")
    again = vault.suggest_bounds("SELECT SUM(cost) AS s FROM visits", epsilon="0.5", part="north")
    assert (found.replayed, again.replayed) == (False, True)
    assert not vault.suggest_bounds("SELECT SUM(cost) AS s FROM visits", epsilon="0.4", part="south").replayed
    assert vault.ledger.readings("north")[0].spent.loss.epsilon == F("0.5")
    assert vault.ledger.readings()[0].spent.loss.epsilon == 0, "nothing about everybody"


def test_the_register_stays_as_it_is(vault: Vault, tmp_path: Path) -> None:
    vault.update_table("patients", max_groups=2)
    vault.partition("patients", "hospital")
    with raises_code(InvalidInputError, "already-divided: 'patients' … changes"):
        vault.update_table("patients", tmp_path / "visits.parquet")
    vault.update_table("visits", max_rows=4)
    with raises_code(InvalidInputError, "already-divided: divided"):
        vault.partition("patients", "hospital")
    assert numbers(vault, "SELECT COUNT(*) AS n FROM visits", "north") == (4,)


def test_declarations_keep_the_parts_and_the_ledgers_word_holds(vault: Vault) -> None:
    vault.partition("patients", "hospital")
    path = vault.folder / "vault.toml"
    text = path.read_text()
    assert '[partition]\ntable = "patients"\ncolumn = "hospital"\nparts = ["north", "south", "west"]\n' in text
    with pv.open(vault.folder) as again:
        assert again.parts == PARTS
        assert again._catalog.partition == DIVIDED
    section = text[text.index("[partition]") : text.index("[tables.patients]")]
    path.write_text(text.replace(section, ""))  # as a crash after the ledger's entry would leave it
    with pv.open(vault.folder) as again:
        assert again.parts == PARTS
        with raises_code(InvalidInputError, "already-divided: changes"):
            again.update_table("patients", max_groups=3)
    assert path.read_text() == text, "written down again"
    path.write_text(text.replace('"north", "south"', '"south", "north"', 1))
    with raises_code(InvalidInputError, "declaration-changed: other") as error:
        pv.open(vault.folder)
    assert section.strip() in error.value.remedy
    path.write_text(text)


def test_parts_that_only_the_declarations_know_are_refused(vault: Vault) -> None:
    path = vault.folder / "vault.toml"
    text = path.read_text()
    path.write_text(vault_file.dump(Catalog(neighbors=vault.terms.neighbors, tables=vault.tables, partition=DIVIDED)))
    with raises_code(InvalidInputError, "declaration-changed: vault.toml … remove … [partition]"):
        pv.open(vault.folder)
    path.write_text(text)


@pytest.mark.parametrize(
    ("old", "new"), [('"north", "south", "west"', '"south", "north", "west"'), ("version = 1", "version = 2")]
)
def test_a_register_that_was_edited_by_hand_tells_no_parts(vault: Vault, old: str, new: str) -> None:
    """A unit's part would change: the first of its values is another one, or the data are."""
    vault.partition("patients", "hospital")
    path = vault.folder / "vault.toml"
    head, _, rest = path.read_text().partition("[tables.patients]")
    path.write_text(f"{head}[tables.patients]{rest.replace(old, new, 1)}")
    with pv.open(vault.folder) as again:
        with raises_code(InvalidInputError, "declaration-changed: declared"):
            again.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1, part="north")
        again.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1)
    path.write_text(f"{head}[tables.visits]{rest.partition('[tables.visits]')[2]}")
    with pv.open(vault.folder) as again, raises_code(InvalidInputError, "declaration-changed: declared"):
        again.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1, part="north")


def test_data_may_move(vault: Vault, tmp_path: Path) -> None:
    vault.partition("patients", "hospital")
    (tmp_path / "patients.parquet").rename(tmp_path / "p.parquet")
    path = vault.folder / "vault.toml"
    path.write_text(path.read_text().replace("patients.parquet", "p.parquet"))
    with pv.open(vault.folder) as again:
        assert numbers(again, "SELECT COUNT(*) AS n FROM patients", "north") == (3,)


@pytest.mark.parametrize(
    ("table", "column", "words"),
    [
        ("nobody", "hospital", "unknown-table: 'nobody'"),
        ("wards", "cost", "private-table-needed: 'wards' … units"),
        ("patients", "age", "unknown-column: 'age'"),
        ("patients", "x", "unknown-column: 'x'"),
        ("visits", "cost", "unknown-column: 'cost'"),
    ],
)
def test_what_cannot_divide_units(vault: Vault, table: str, column: str, words: str) -> None:
    with raises_code(InvalidInputError, words):
        vault.partition(table, column)
    assert vault.parts == ()


def test_too_many_parts_are_refused_before_the_ledger_is_asked(tmp_path: Path) -> None:
    with pv.create(tmp_path / "v", budget=pv.Budget(1), neighbors="replace") as vault:
        many = pv.Category([str(number) for number in range(41)])
        vault.add_table("t", pd.DataFrame({"c": ["1"]}), unit=None, columns={"c": many})
        with raises_code(InvalidInputError, "out-of-range: 2 … 40 … 41"):
            vault.partition("t", "c")


def test_a_vault_that_others_changed_is_opened_again_first(vault: Vault) -> None:
    with pv.open(vault.folder) as other:
        other.partition("patients", "hospital")
        with raises_code(InvalidInputError, "declaration-changed: open"):
            vault.partition("patients", "hospital")
        assert numbers(vault, "SELECT COUNT(*) AS n FROM visits", "north") == (4,), "the ledger's word holds here, too"


def test_a_warn_vault_is_not_divided(tmp_path: Path) -> None:
    with pv.create(tmp_path / "v", budget=pv.Budget(1), on_exhausted="warn") as vault:
        vault.add_table("t", pd.DataFrame({"c": ["1"]}), unit=None, columns={"c": pv.Category(["1", "2"])})
        with raises_code(InvalidInputError, "not-supported: charges"):
            vault.partition("t", "c")
        with raises_code(InvalidInputError, "not-divided: divided"):
            vault.sql("SELECT COUNT(*) AS n FROM t", epsilon=1, part="1")


def test_a_ledger_that_cannot_be_read_is_given_back(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise LedgerError("x", "y")

    monkeypatch.setattr("privet.vault.opening.with_parts", broken)
    with pytest.raises(LedgerError):
        pv.open(vault.folder)


def test_rows_as_units(tmp_path: Path) -> None:
    rows = PATIENTS.drop(columns="pid")
    with pv.create(tmp_path / "v", budget=pv.Budget(1), testing=True) as vault:
        vault.add_table("rows", rows, unit=None, columns={"hospital": HOSPITAL, "age": pv.Integer(0, 9)})
        vault.add_table("more", rows, unit=None, columns={"hospital": HOSPITAL})
        vault.partition("rows", "hospital")
        assert [numbers(vault, "SELECT COUNT(*) AS n FROM rows", part) for part in PARTS] == [(4,), (1,), (0,)]
        with raises_code(RefusedQueryError, "not-divided: 'rows'"):
            vault.sql("SELECT COUNT(*) AS n FROM more", epsilon=1, part="north")
        for part in PARTS:
            vault.sql("SELECT COUNT(*) AS n FROM rows", epsilon=1, part=part).release()
        assert vault.budget_of_part("north").remaining.epsilon == 0
        vault.ledger.verify()


# ---- the file and the command line


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("partition = 3", "wrong-type: partition"),
        ('[partition]\ntable = "t"', "missing-entry"),
        ('[partition]\ntable = "t"\ncolumn = "c"\nparts = ["a"]\nx = 1', "unknown-entry: 'x'"),
        ('[partition]\ntable = 1\ncolumn = "c"\nparts = ["a"]', "invalid-name: 1"),
        ('[partition]\ntable = "t"\ncolumn = "c"\nparts = "a"', "not-a-list: parts"),
    ],
)
def test_bad_partitions_in_a_file(section: str, words: str) -> None:
    with raises_code(InvalidInputError, words):
        vault_file.parse(f'format = 1\nneighbors = "replace"\n{section}\n')


def said(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(words) == 0
    out = capsys.readouterr().out
    return json.loads(out)["result"] if "--json" in words else out


def test_parts_on_the_command_line(vault: Vault, capsys: pytest.CaptureFixture[str]) -> None:
    place, count = str(vault.folder), "SELECT COUNT(*) AS n FROM visits"
    together = vault.terms.neighbors is Neighbors.REPLACE
    assert said(capsys, "budget", place, "--json")["parts"] == []
    text = said(capsys, "partition", place, "patients", "hospital")
    assert 'parts = ["north", "south", "west"]' in text
    assert ("any two parts share the whole budget" if together else "each part has the whole budget") in text
    said(capsys, "query", place, count, "--epsilon", "0.25", "--part", "north")
    said(capsys, "suggest", place, "SELECT SUM(cost) AS s FROM visits", "--epsilon", "0.125", "--part", "south")
    assert said(capsys, "explain", place, count, "--epsilon", "0.25", "--part", "west", "--json")["about_n_more"] == (
        3 if together else 4
    )
    found = {one["part"]: one["spent"]["epsilon"] for one in said(capsys, "budget", place, "--json")["parts"]}
    expected = {"north": 0.25, "south": 0.125, "west": 0.0}
    if together:
        expected = {part: max(expected[part] + expected[other] for other in PARTS if other != part) for part in PARTS}
    assert found == expected
    assert said(capsys, "budget", place, "--part", "west", "--json")["part"] == "west"
    text = said(capsys, "budget", place)
    assert "part   spent" in text
    assert "Such a question must fit" in text
    assert "(owner)" in text
    text = said(capsys, "budget", place, "--part", "west")
    assert "for part west: epsilon 1" in text
    assert "(owner)" not in text
    assert "[north] SELECT" in said(capsys, "ledger", place, "list")
    assert [entry["part"] for entry in said(capsys, "ledger", place, "list", "--json")[2::2]] == ["north", "south"]


def test_a_partition_as_json(vault: Vault, capsys: pytest.CaptureFixture[str]) -> None:
    made = said(capsys, "partition", str(vault.folder), "patients", "hospital", "--json")
    assert made == {"table": "patients", "column": "hospital", "parts": list(PARTS)}
    assert "Nobody has asked yet" in said(capsys, "budget", str(vault.folder))


def test_a_budget_without_a_delta_has_one_gauge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pv.create(tmp_path / "v", budget=pv.Budget(1)) as vault:
        vault.add_table("t", pd.DataFrame({"c": ["1"]}), unit=None, columns={"c": pv.Category(["1", "2"])})
        vault.partition("t", "c")
    assert "epsilon 1\n" in said(capsys, "budget", str(tmp_path / "v"))


def test_a_part_whose_gauge_is_gone(vault: Vault, capsys: pytest.CaptureFixture[str]) -> None:
    vault.partition("patients", "hospital")
    vault.sql("SELECT COUNT(*) AS n FROM visits", rho="0.001", part="north").release()
    assert "epsilon none, rho " in said(capsys, "budget", str(vault.folder))


def test_names_of_all_questions_differ_by_part(vault: Vault) -> None:
    """A stored answer is never given for another part."""
    vault.partition("patients", "hospital")
    texts = ("SELECT COUNT(*) AS n FROM visits", "SELECT COUNT(*) AS n FROM patients")
    asked = itertools.product(texts, (None, *PARTS))
    requests = [vault.sql(text, epsilon=1, part=part).request for text, part in asked]
    assert len(set(requests)) == len(requests)
