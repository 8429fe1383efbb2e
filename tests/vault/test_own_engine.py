"""Privet's own engine under its own audits: grey box, black box and side channels are clean, planted bugs are caught.

The bugs are planted where a mistake would sit: how far a person reaches, the scale of the noise, the threshold of keys,
the bounding of rows, refunds, charges and messages that depend on the data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest
from support.full_path import COLUMNS, OTHERS, REST, SHAPES, Pair, Rows, Shape, audit_control, audit_draws
from support.fuzz_origins import beside, read_of, sets_of_person, simple_plan
from support.fuzz_plans import asked_at
from support.fuzz_sensitivity import task_of
from support.refusals import raises_code
from support.worlds import Maker, random_world

import privet as pv
from privet import engine, query
from privet.audits import Checks
from privet.audits.verdict import CONSISTENT, VIOLATED
from privet.backends.duckdb import DuckDb
from privet.backends.origins import check_unit_wise
from privet.backends.reference import Reference
from privet.core import parts
from privet.core.laws import Choices, DiscreteGaussian, DiscreteLaplace, Top
from privet.core.loss import pure
from privet.core.mechanisms import gaussian_key_threshold, key_threshold
from privet.core.origin import origin_of
from privet.core.sensitivity import Bounds, Sensitivity
from privet.core.unit import Neighbors
from privet.engine import FreshNoise, Gate
from privet.errors import BudgetExceededError, InvalidInputError, RefusedQueryError, ReleaseFailedError
from privet.ledger import Charge, Receipt
from privet.ledger.sqlite import SqliteLedger
from privet.query import Query
from privet.testing import frozen
from privet.vault import Vault

BY_NAME = {shape.name: shape for shape in SHAPES}
SURE = "0.999999999"
WORLDS = 12
Two = tuple[Query, Query]


class Tables:
    """Vaults for testing on the two tables of a shape, made in the same way."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._vaults: list[Vault] = []

    def __call__(self, name: str, **more: Any) -> Two:
        shape = BY_NAME[name]
        return self._asked(shape, 0, more), self._asked(shape, 1, more)

    def _asked(self, shape: Shape, side: int, more: dict[str, Any]) -> Query:
        vault = self.vault(shape, (shape.first, shape.second)[side])
        return shape.asked(vault, **more)

    def vault(self, shape: Shape, own: Rows) -> Vault:
        vault = pv.create(
            self._folder / f"{len(self._vaults)}",
            budget=pv.Budget(1000, 1e-9),
            neighbors=shape.neighbors,
            testing=True,
            on_exhausted="warn" if shape.private else "refuse",
        )
        self._vaults.append(vault)
        limits: dict[str, Any] = {} if shape.unit is None else {"max_groups": 2, "max_rows_per_group": 2}
        if shape.neighbors == "replace" and shape.unit is not None:
            limits["max_groups"] = 1
        rows = [(*row, *REST[len(row) :]) for row in [*OTHERS, *own]]
        frame = pd.DataFrame(rows, columns=["who", *COLUMNS])
        vault.add_table("t", frame, unit=shape.unit, columns=COLUMNS, **limits)
        return vault

    def close(self) -> None:
        for vault in self._vaults:
            vault.close()


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[Tables]:
    made = Tables(tmp_path)
    yield made
    made.close()


def verdict(found: Checks, name: str) -> str:
    return next(check.verdict for check in found.checks if check.name == name)


def says(found: Checks, name: str) -> str:
    return next(check.says for check in found.checks if check.name == name)


# Clean


@pytest.mark.parametrize("name", BY_NAME)
def test_the_engine_as_a_grey_box(tables: Tables, name: str) -> None:
    found = pv.testing.replay(*tables(name), runs=2)
    assert found.verdict == CONSISTENT, str(found)
    names = ["before", "requests", "distance", "price", "charge", "answer"]
    assert [check.name for check in found.checks] == names + ["keys"] * BY_NAME[name].private
    assert found.subject == f"replay of {BY_NAME[name].text}"


def test_medians_of_groups_that_are_not_public(tables: Tables) -> None:
    """Choices and draws, a rest, keys that are shown and keys that are not: in one release."""
    text = "SELECT city, MEDIAN(age) AS m, MAX(stay) AS h, COUNT(DISTINCT who) AS n FROM t GROUP BY city"
    for name, other in (("shown keys", None), ("shown keys, Gaussian", "elsewhere"), ("lone keys", "elsewhere")):
        found = pv.testing.replay(*tables(name, text=text, other=other), runs=1)
        assert found.verdict == CONSISTENT, str(found)


def test_quantiles_one_inside_the_other(tables: Tables) -> None:
    """In every group, beside a count; on both tables the same values are shown."""
    asked = ", ".join(f"QUANTILE(cost, {n} / 8) AS q{n}" for n in range(1, 8))
    pair = tables("grouped", text=f"SELECT ward, {asked}, COUNT(*) AS n FROM t GROUP BY ward", epsilon=9)
    assert any(isinstance(part.law, Choices) for part in pair[0].priced.parts)
    found = pv.testing.replay(*pair, runs=2)
    assert found.verdict == CONSISTENT, str(found)


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.1", "epsilon": None}])
@pytest.mark.parametrize("name", ["people", "replace a person"])
def test_the_best_groups_as_a_grey_box(tables: Tables, name: str, price: dict[str, Any]) -> None:
    """Chosen by their scores and measured anew, for people who have many rows."""
    for number in ("COUNT(*)", "COUNT(DISTINCT who)", "SUM(cost)"):
        text = f"SELECT ward, {number} AS n, MAX(stay) AS m FROM t GROUP BY ward ORDER BY n DESC LIMIT 1"
        first, second = tables(name, text=text, max_groups=4, **price)
        assert first.priced.top is not None
        found = pv.testing.replay(first, second, runs=1)
        assert found.verdict == CONSISTENT, str(found)


def test_scores_that_move_further_than_is_paid_for(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward ORDER BY n DESC LIMIT 1"
    first, second = tables("people", text=text, max_groups=4)
    assert pv.testing.replay(first, second, runs=1).verdict == CONSISTENT
    monkeypatch.setattr(frozen, "apart", lambda *_: 1)
    found = pv.testing.replay(first, second, runs=1)
    assert verdict(found, "distance") == VIOLATED
    assert "a score moves away from another one by 2; 1 is paid for" in str(found)


def test_a_choice_among_groups_that_is_too_sharp(tables: Tables) -> None:
    text = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward ORDER BY n DESC LIMIT 1"
    sharp = []
    for asked in tables("people", text=text, max_groups=4):
        *rest, part = asked.priced.parts
        assert isinstance(part.law, Top)
        better = replace(part, law=replace(part.law, rate=2 * part.law.rate))
        sharp.append(replace(asked, priced=replace(asked.priced, parts=(*rest, better))))
    assert verdict(pv.testing.replay(*sharp, runs=1), "price") == VIOLATED


@pytest.mark.parametrize("name", ["count", "lone keys", "lone keys, Gaussian"])
def test_the_engine_as_a_black_box(tmp_path: Path, name: str) -> None:
    """Draws of its last step tell no more than was paid for; half of the noise, or a low threshold, is caught."""
    pair = Pair(tmp_path, BY_NAME[name])
    assert not audit_draws(pair, 30_000, SURE).violated
    assert audit_control(pair, 30_000, SURE).violated
    pair.close()


def test_the_engine_has_no_side_channels(tables: Tables) -> None:
    """60 releases a table in random order, times at a false-alarm rate of 1e-9. A difference of up to 0.1 s passes: the
    tables differ in one row of three, and two files need not lie equally well on a disk."""

    def once(asked: Query) -> object:
        return asked.release(fresh=True).noisy

    found = pv.testing.side_channels(
        *tables("grouped"), repeats=60, rate=1e-9, margin=0.1, start=lambda: once, starts=3
    )
    assert found.verdict == CONSISTENT, str(found)
    assert says(found, "repeats").endswith("were new, and each was paid for")
    stored = pv.testing.side_channels(*tables("grouped"), fresh=False, repeats=5)
    assert [check.verdict for check in stored.checks][:3] == [CONSISTENT] * 3
    assert says(stored, "repeats") == "the same question got the same answer, 16 times"


class Book(Reference):
    """The slow definition, as a backend of a query."""

    def ready(self, *_: object) -> None:
        """Always: the rows are in memory."""


def test_random_origins_as_a_grey_box(tables: Tables) -> None:
    """Joins, rows made for each unit, private keys, ranks: random worlds with and without somebody, who is chosen to
    do much harm. A world with a reach of one less than it has must be found in some of them."""
    shape = replace(BY_NAME["lone keys"], unit="who")  # its policy lets high prices pass
    ledgers = [tables.vault(shape, []).ledger for _ in range(2)]
    rng, asked, caught = Random(8), 0, 0
    while asked < WORLDS:
        world = random_world(rng, plain=True)
        plan = simple_plan(rng, world, Maker(rng, world).origin(1))
        table = world.tables[plan.table].table
        bounds = Bounds(groups=2, rows=2, neighbors=Neighbors.ADD_REMOVE)
        try:
            check_unit_wise(origin_of(plan), {made.table.name: made.table for made in world.tables.values()})
            question = asked_at(rng, read_of(plan, world, bounds)).priced
        except RefusedQueryError:
            continue
        near = beside(plan, world)
        others, own = sets_of_person(rng, world, replace(task_of(table, question, b""), beside=near))
        rows = [{name: [*made.rows, *mine.get(name, ())] for name, made in others.tables.items()} for mine in own]

        def ask(side: int, data: Any, question: Any) -> Query:
            gate = Gate(ledger=ledgers[side], backend=Book(data), noise=FreshNoise(), secret=lambda: b"")  # type: ignore[arg-type]
            return Query(text="", priced=question, table=table, beside=near, analyst="", gate=gate)  # noqa: B023

        asked += 1
        for data in rows[1:]:
            found = pv.testing.replay(ask(0, rows[0], question), ask(1, data, question), runs=1)
            assert found.verdict == CONSISTENT, f"{plan}: {found}"
        short = replace(
            question, parts=tuple(replace(part, sensitivity=less(part.sensitivity)) for part in question.parts)
        )
        caught += any(
            verdict(pv.testing.replay(ask(0, rows[0], short), ask(1, data, short), runs=1), "distance") == VIOLATED
            for data in rows[1:]
        )
    assert caught >= WORLDS // 4


def less(sensitivity: Sensitivity) -> Sensitivity:
    return Sensitivity(
        l1=sensitivity.l1 - 1,
        l2_squared=sensitivity.l2_squared - 1,
        linf=sensitivity.linf - 1,
        touched=sensitivity.touched,
    )


# Planted


def halved(of: Callable[..., Any], *names: str) -> Callable[..., Any]:
    def planted(*args: Any) -> Any:
        found = of(*args)
        return replace(found, **{name: max(1, getattr(found, name) // 2) for name in names})

    return planted


def replayed(patch: pytest.MonkeyPatch, asked: Two) -> Checks:
    """The gate refuses what is planted; the audit is tried on an engine without it."""
    with raises_code(RefusedQueryError, "gate-refused"):
        asked[0].release()
    patch.setattr(engine, "_check", lambda *_: None)
    return pv.testing.replay(*asked, runs=1)


def test_a_sensitivity_that_is_too_small(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, limits in {"people": ("l1",), "rho, people": ("l2_squared",), "quantile": ("l1", "linf"),
                         "grouped": ("linf", "l1")}.items():  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setattr(parts, "sensitivity_of", halved(parts.sensitivity_of, *limits))
            found = replayed(patch, tables(name))
        assert verdict(found, "distance") == VIOLATED, str(found)
    assert "is paid for" in says(found, "distance")


def test_noise_that_is_too_small(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Priced too narrow; and drawn from another law than was priced."""
    with monkeypatch.context() as patch:
        patch.setattr(parts, "laplace_for", lambda share, far: DiscreteLaplace(far / share / 2))
        found = replayed(patch, tables("sum"))
    assert verdict(found, "price") == VIOLATED
    assert "is too little noise for" in says(found, "price")
    with monkeypatch.context() as patch:
        draw = engine.Watched.draw
        patch.setattr(engine.Watched, "draw", lambda self, law, n: draw(self, DiscreteLaplace(law.scale / 2), n))
        found = pv.testing.replay(*tables("sum"), runs=1)
    assert verdict(found, "requests") == VIOLATED
    with monkeypatch.context() as patch:
        patch.setattr(parts, "gaussian_for_rho", lambda rho, far: parts.DiscreteGaussian(far / rho / 4))
        assert verdict(replayed(patch, tables("rho")), "price") == VIOLATED
    with monkeypatch.context() as patch:
        rate = parts.choice_for
        patch.setattr(parts, "choice_for", lambda *a: (replace(rate(*a)[0], rate=2 * rate(*a)[0].rate), rate(*a)[1]))
        assert verdict(replayed(patch, tables("median")), "price") == VIOLATED


def test_a_part_that_nobody_pays_for(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Query, "cost", property(lambda self: self.priced.parts[0].loss))
    found = replayed(
        monkeypatch,
        tables("grouped", text="SELECT ward, COUNT(*) AS n, COUNT(DISTINCT cost) AS k FROM t GROUP BY ward"),
    )
    assert verdict(found, "price") == VIOLATED
    assert "was charged" in says(found, "price")


def test_noise_for_nothing(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that is drawn for one number and used for all of them."""

    def once(task: Any, vectors: Any, noise: Any) -> list[list[int]]:
        extra = [noise.draw(law, 1)[0] for law in task.laws]
        return [[value + int(more) for value in vector] for vector, more in zip(vectors, extra, strict=True)]

    monkeypatch.setattr(engine, "_added", once)
    found = pv.testing.replay(*tables("grouped"), runs=1)
    assert verdict(found, "requests") == VIOLATED
    assert says(found, "requests") == "noise was asked for that belongs to no vector"


def test_a_threshold_that_is_too_low(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Delta for each key, where a person has two; under replace, without what the second person adds."""
    with monkeypatch.context() as patch:
        patch.setattr(parts, "key_threshold", lambda law, delta, _: key_threshold(law, delta, 1))
        found = replayed(patch, tables("lone keys"))
    assert verdict(found, "price") == VIOLATED
    assert "does not hide the keys of one person" in says(found, "price")
    shape = replace(BY_NAME["lone keys"], neighbors="replace")
    vaults = [tables.vault(shape, rows) for rows in (shape.first, shape.second)]
    first, second = (shape.asked(vault, epsilon=1, delta="0.01") for vault in vaults)
    assert pv.testing.replay(first, second, runs=1).verdict == CONSISTENT
    monkeypatch.setattr(parts, "key_threshold", lambda law, delta, _: key_threshold(law, 10 * delta, 1))
    first, second = (shape.asked(vault, epsilon=1, delta="0.01") for vault in vaults)
    assert verdict(replayed(monkeypatch, (first, second)), "price") == VIOLATED


@pytest.mark.parametrize("variance", [None, Fraction(10**10)])
def test_a_threshold_that_is_too_low_for_gaussian_noise(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, variance: Fraction | None
) -> None:
    """One less than the smallest; also where the audit takes its tail from the normal law."""
    queries = []
    for asked in tables("lone keys, Gaussian"):
        *rest, part = asked.priced.parts
        assert isinstance(part.law, DiscreteGaussian)
        law = part.law if variance is None else DiscreteGaussian(variance)
        lowest = gaussian_key_threshold(law, part.loss.rho_delta, 2)
        for threshold in (lowest, lowest - 1 if variance is None else lowest - 10**4):
            found = replace(part, law=law, threshold=threshold)
            queries.append(replace(asked, priced=replace(asked.priced, parts=(*rest, found))))
    right, low, *others = queries
    if variance is None:
        assert pv.testing.replay(right, others[0], runs=1).verdict == CONSISTENT
    found = replayed(monkeypatch, (low, others[1]))
    assert verdict(found, "price") == VIOLATED
    assert "does not hide the keys of one person" in says(found, "price")


def test_keys_that_are_shown_whatever_the_threshold(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    def all_of_them(task: Any, people: Any, noise: Any) -> Any:
        extra = noise.draw(task.laws[-1], len(people))
        return {key: count + int(more) for (key, count), more in zip(sorted(people.items()), extra, strict=True)}

    monkeypatch.setattr(engine, "_shown", all_of_them)
    found = pv.testing.replay(*tables("lone keys"), runs=1)
    assert verdict(found, "answer") == VIOLATED
    sides = pv.testing.side_channels(*tables("lone keys"), repeats=20)
    assert verdict(sides, "look") == VIOLATED, str(sides)


def test_limits_that_are_not_applied(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    task = Query.task

    def unbounded(self: Query, *args: Any) -> Any:
        made = task(self, *args)
        return replace(made, bounds=replace(made.bounds, groups=100, rows=100))

    monkeypatch.setattr(Query, "task", unbounded)
    with raises_code(RefusedQueryError, "gate-refused"):
        tables("people")[0].release()
    monkeypatch.setattr(engine, "_check", lambda *_: None)
    crowd = replace(BY_NAME["people"], second=BY_NAME["people"].second * 3)
    first, second = (tables.vault(crowd, rows).sql(crowd.text, epsilon=1) for rows in (crowd.first, crowd.second))
    found = pv.testing.replay(first, second, runs=1)
    assert verdict(found, "distance") == VIOLATED, str(found)
    everywhere = replace(BY_NAME["lone keys"], second=[("p", *REST[1:7], f"town {n}") for n in range(5)])
    first, second = (tables.vault(everywhere, rows).sql(everywhere.text, **everywhere.price)
                     for rows in (everywhere.first, everywhere.second))  # fmt: skip
    found = pv.testing.replay(first, second, runs=1)
    assert verdict(found, "keys") == VIOLATED
    assert "one table has 5 keys of 5 people that the other lacks; 2 are hidden" in says(found, "keys")


def planted(monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    """A backend that fails on one table, or on both, and says why: an engine's own words quote data."""
    exact = DuckDb.exact

    def failing(self: DuckDb, task: Any, written: Any = None) -> Any:
        vectors = exact(self, task, written)
        if who == "all" or sum(vectors[0]) > len(OTHERS):  # type: ignore[arg-type]
            raise ValueError(f"cannot convert {vectors[0]}")
        return vectors

    monkeypatch.setattr(DuckDb, "exact", failing)


def test_a_refund_for_what_failed(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the engine as it is, a failure on one table shows in the answer, and not in its charge. Asked again, what
    was seen to fail before any draw is repeated once for that charge, which tells no more than the failure did."""
    planted(monkeypatch, "one")
    asked = tables("count")
    for one in asked:
        with suppress(ReleaseFailedError):
            one.release()
    assert len({one.gate.ledger.spent() for one in asked}) == 1
    found = pv.testing.side_channels(*tables("count"), repeats=5)
    assert verdict(found, "look") == VIOLATED
    assert verdict(found, "charge") == VIOLATED

    def late(charge: Charge, tasks: Any, gate: Gate) -> Any:
        body = engine._body([engine._noisy(task, [None], gate.backend, gate.noise) for task in tasks])
        return engine.Release(receipt=gate.ledger.spend(charge), body=body)

    monkeypatch.setattr(query, "run", late)
    assert verdict(pv.testing.side_channels(*tables("count"), repeats=5), "charge") == VIOLATED
    assert verdict(pv.testing.replay(*tables("count"), runs=1), "charge") == VIOLATED


def test_a_retry_that_is_free(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    spend = SqliteLedger.spend
    paid: dict[Any, Receipt] = {}

    def once(self: Any, charge: Charge) -> Receipt:
        if id(self) not in paid:
            paid[id(self)] = spend(self, charge)
        return paid[id(self)]

    monkeypatch.setattr(SqliteLedger, "spend", once)
    monkeypatch.setattr(SqliteLedger, "store", lambda *_: None)
    found = pv.testing.side_channels(*tables("count"), repeats=30)
    assert verdict(found, "repeats") == VIOLATED
    assert "averages the noise away" in says(found, "repeats")


def test_a_charge_that_depends_on_the_data(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    def by_rows(self: Query) -> Any:
        (count,) = self.gate.backend.exact(self.task(b""))[0]
        return pure(Fraction(count, 10))  # type: ignore[arg-type]

    first, second = tables("count")
    monkeypatch.setattr(engine, "_check", lambda *_: None)
    monkeypatch.setattr(Query, "cost", property(by_rows))
    found = pv.testing.replay(first, second, runs=1)
    assert verdict(found, "charge") == verdict(found, "before") == VIOLATED
    assert verdict(pv.testing.side_channels(*tables("count"), repeats=3), "charge") == VIOLATED


def test_an_error_that_quotes_data(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, "all")
    assert pv.testing.replay(*tables("count"), runs=1).verdict == CONSISTENT
    found = pv.testing.side_channels(*tables("count"), repeats=3)
    assert verdict(found, "look") == CONSISTENT, str(found)

    def loud(charge: Charge, tasks: Any, gate: Gate) -> Any:
        gate.ledger.spend(charge)
        return [gate.backend.exact(task) for task in tasks]

    monkeypatch.setattr(query, "run", loud)
    found = pv.testing.replay(*tables("count"), runs=1)
    assert verdict(found, "answer") == VIOLATED
    assert "cannot convert [2]" in says(found, "answer")
    assert verdict(pv.testing.side_channels(*tables("count"), repeats=20), "look") == VIOLATED


def test_time_that_depends_on_the_data(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = DuckDb.exact

    def slow(self: DuckDb, task: Any, written: Any = None) -> Any:
        vectors = exact(self, task, written)
        time.sleep(0.05 * (sum(vectors[0]) > len(OTHERS)))  # type: ignore[arg-type]
        return vectors

    monkeypatch.setattr(DuckDb, "exact", slow)
    found = pv.testing.side_channels(*tables("count"), repeats=60)
    assert verdict(found, "time") == VIOLATED, str(found)


def test_answers_that_depend_on_more_than_the_noise(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that is printed as it is, beside those that are noisy."""
    publish = Query._answer

    def beside(self: Query, *given: Any, **more: Any) -> Any:
        count = self.gate.backend.exact(self.task(b""))[0]
        return replace(publish(self, *given, **more), warnings=(f"of {count} rows",))

    monkeypatch.setattr(Query, "_answer", beside)
    assert verdict(pv.testing.replay(*tables("count"), runs=1), "answer") == VIOLATED
    assert verdict(pv.testing.side_channels(*tables("count"), repeats=20), "look") == VIOLATED


# Settings


def test_what_cannot_be_replayed(tables: Tables, tmp_path: Path) -> None:
    first, second = tables("count")
    with raises_code(InvalidInputError, "not-comparable: questions"):
        pv.testing.replay(first, tables("sum")[1])
    first.release()
    with raises_code(InvalidInputError, "not-comparable: entries"):
        pv.testing.replay(first, second)
    with raises_code(InvalidInputError, "not-comparable: entries"):
        pv.testing.replay(first, first)
    with pv.create(tmp_path / "real", budget=pv.Budget(1)) as vault:
        vault.add_table("t", pd.DataFrame({"age": [1]}), unit=None, columns={"age": pv.Integer(0, 9)})
        real = vault.sql("SELECT COUNT(*) AS n FROM t", epsilon="0.1")
        with raises_code(InvalidInputError, "not-for-testing: vaults"):
            pv.testing.replay(real, real)


def test_a_budget_that_runs_out_is_the_same_on_both(tables: Tables) -> None:
    vaults = [pv.create(tables._folder / f"small {side}", budget=pv.Budget(1), testing=True) for side in (0, 1)]
    asked = []
    for number, vault in enumerate(vaults):
        frame = pd.DataFrame({"age": [1] * (number + 1)})
        vault.add_table("t", frame, unit=None, columns={"age": pv.Integer(0, 9)})
        asked.append(vault.sql("SELECT COUNT(*) AS n FROM t", epsilon="0.4"))
    assert pv.testing.replay(asked[0], asked[1], runs=4).verdict == CONSISTENT
    with pytest.raises(BudgetExceededError):
        asked[0].release(fresh=True)
    for vault in vaults:
        vault.close()
