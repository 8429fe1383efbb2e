"""The one gate: the order of its steps, the price that it works out itself, what it says when a step fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.asked import KINDS, N, bounds, key, plan
from support.refusals import expect_code, raises_code

from privet.backends import Task
from privet.catalog.declarations import Source, Table
from privet.core.accountant import Budget
from privet.core.laws import Choice, DiscreteLaplace, Law
from privet.core.loss import Loss, pure
from privet.core.measures import ROWS
from privet.core.unit import Neighbors
from privet.engine import Fit, FreshNoise, Gate, Release, guarantee, run
from privet.errors import BudgetExceededError, RefusedQueryError, ReleaseFailedError, SuspendedError
from privet.estimates.priced import outline
from privet.ledger import Charge, Kind, Ledger, Policy, Terms
from privet.ledger import sqlite as ledgers

SECRET = "SSN 123-45-6789"
REQUEST = "0" * 64
PRICE = F(1, 4)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    terms = Terms(budget=Budget(1), neighbors=Neighbors.ADD_REMOVE, policy=Policy.REFUSE, testing=True)
    with ledgers.create(tmp_path / "ledger.sqlite", terms) as made:
        yield made


def task(unit: str | None = None, scale: F = 1 / PRICE) -> Task:
    """Rows by sex: 3 cells, of which one row is in one."""
    table = Table(name="visits", source=Source(kind="csv", path="v.csv"), unit=unit, columns=KINDS)
    read = outline(plan((key("sex"),), N), KINDS, bounds(1, 1))
    return Task(
        table=table, plan=read.plan, declared=read.declared, passing=read.passing, cells=read.cells,
        measures=(ROWS,), bounds=read.bounds, secret=b"", laws=(DiscreteLaplace(scale),),
    )  # fmt: skip


class Steps:
    """A backend and a source of noise that write down what they saw of the ledger, or fail."""

    def __init__(self, ledger: Ledger, **failing: Callable[..., Any]) -> None:
        self.ledger, self.failing, self.seen = ledger, failing, list[str]()

    def look(self, step: str) -> None:
        spent, stored = self.ledger.spent().loss.epsilon, self.ledger.stored(REQUEST) is not None
        self.seen.append(f"{step}: spent {spent}, stored {stored}")
        self.failing.get(step, lambda: None)()

    def write(self, _: Task) -> str:
        self.look("write")
        return "SELECT 1"

    def exact(self, _: Task, written: object) -> list[list[int]]:
        assert written == "SELECT 1"
        self.look("exact")
        return [[7, 7, 7]]

    def draw(self, law: Law, size: int) -> Any:
        drawn = FreshNoise().draw(law, size)
        self.look("draw")
        return drawn


def released(ledger: Ledger, steps: Steps, loss: Loss | None = None, analyst: str = "") -> Release:
    charge = Charge(loss=loss or pure(PRICE), request=REQUEST, analyst=analyst)
    gate = Gate(ledger=ledger, backend=steps, noise=steps, secret=lambda: b"")  # type: ignore[arg-type]
    return run(charge, [task()], gate)


def boom() -> Any:
    raise ValueError(SECRET)


def test_the_order_of_the_steps(ledger: Ledger) -> None:
    steps = Steps(ledger)
    release = released(ledger, steps)
    assert steps.seen == [
        "write: spent 0, stored False",
        "exact: spent 1/4, stored False",
        "draw: spent 1/4, stored False",
    ]
    stored = ledger.stored(REQUEST)
    assert stored is not None
    assert (stored.body, stored.receipt) == (release.body, release.receipt)
    assert dict(ledger.noted) == {"visits": task().table.protects}


def test_the_order_of_two_stages(ledger: Ledger) -> None:
    """One charge before both; the pick between them sees what the first released; no answer before both are done."""
    steps = Steps(ledger)
    steps.habits = lambda *_: steps.look("habits") or [[7] + [0] * 40] * 3  # type: ignore[attr-defined]
    first = replace(task("who", F(8)), habits=("in_all",), bins=3)
    seen: list[Any] = []

    def pick(noisy: Any) -> int:
        steps.look("pick")
        seen.extend(noisy)
        return 1

    gate = Gate(ledger=ledger, backend=steps, noise=steps, secret=lambda: b"")  # type: ignore[arg-type]
    charge = Charge(loss=Loss(epsilon=F(3, 8), rho=F(1, 128) + F(1, 32)), request=REQUEST)
    release = run(charge, [first], gate, Fit(tasks=[task("who", F(5)), task("who")], pick=pick))
    assert steps.seen == [
        *["write: spent 0, stored False"] * 3,
        "habits: spent 3/8, stored False",
        "draw: spent 3/8, stored False",
        "pick: spent 3/8, stored False",
        "exact: spent 3/8, stored False",
        "draw: spent 3/8, stored False",
    ]
    body = json.loads(release.body)
    assert (body["noisy"][:1], len(body["noisy"][0]), len(body["noisy"]), body["picked"]) == (seen, 3, 2, 1)
    for less in ({"epsilon": F(3, 8) - F(1, 10**30)}, {"rho": F(1, 128) + F(1, 33)}):
        with raises_code(RefusedQueryError, "gate-refused: the charge is smaller"):
            run(replace(charge, loss=replace(charge.loss, **less)), [first], gate, Fit(tasks=[task("who")], pick=pick))


@pytest.mark.parametrize("step", ["exact", "draw"])
@pytest.mark.parametrize("error", [ValueError(SECRET), MemoryError(SECRET), OverflowError(), RecursionError()])
def test_a_failure_is_charged_and_says_nothing(ledger: Ledger, step: str, error: Exception) -> None:
    def fail() -> Any:
        raise error

    with pytest.raises(ReleaseFailedError) as caught:
        released(ledger, Steps(ledger, **{step: fail}))
    assert str(caught.value) == (  # a constant, apart from the entry: nothing of what failed
        "the release failed after it was charged, and the charge stays (entry 2 of the ledger)\n"
        "  remedy: ask again (the first retry is free if the failure came before any noise was drawn);"
        " if it fails again, ask the owner to run `privet check VAULT`"
    )
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None  # a traceback printed by anybody shows nothing more
    assert ledger.spent().loss.epsilon == PRICE
    assert [entry.kind for entry in ledger.entries()] == [Kind.OPENING, Kind.CHARGE, Kind.FAILURE]


def test_a_refused_question_touches_no_data(ledger: Ledger) -> None:
    def refuse() -> Any:
        raise RefusedQueryError("no", "ask something else")

    steps = Steps(ledger, write=refuse)
    with pytest.raises(RefusedQueryError):
        released(ledger, steps)
    with pytest.raises(BudgetExceededError):
        released(ledger, Steps(ledger), pure(F(2)))
    assert steps.seen == ["write: spent 0, stored False"]
    assert ledger.spent().loss.epsilon == 0


@pytest.mark.parametrize(
    ("loss", "problem"),
    [
        (pure(PRICE / 2), "gate-refused: epsilon 1/8 … 1/4"),
        (pure(PRICE - F(1, 10**30)), "gate-refused: epsilon"),
        (Loss(epsilon=PRICE, rho=PRICE**2 / 4), "gate-refused: 1/64 … 1/32"),
        (Loss(epsilon=None, rho=None), "gate-refused: finite"),
    ],
)
def test_a_smaller_price_is_refused_on_either_gauge(ledger: Ledger, loss: Loss, problem: str) -> None:
    steps = Steps(ledger)
    with raises_code(RefusedQueryError, "gate-refused") as caught:
        released(ledger, steps, loss)
    expect_code(problem, caught.value)
    assert steps.seen == []
    assert ledger.spent().loss.epsilon == 0


def test_the_relation_is_the_one_of_the_ledger(tmp_path: Path) -> None:
    """Where units are replaced one of them moves two cells, whatever the task says."""
    terms = Terms(budget=Budget(1), neighbors=Neighbors.REPLACE, policy=Policy.REFUSE, testing=True)
    with ledgers.create(tmp_path / "ledger.sqlite", terms) as book:
        assert task().bounds.neighbors is Neighbors.ADD_REMOVE
        with raises_code(RefusedQueryError, "gate-refused: 1/4 … 1/2"):
            released(book, Steps(book))
        released(book, Steps(book), pure(2 * PRICE))


def test_other_noise_is_for_testing(tmp_path: Path) -> None:
    terms = Terms(budget=Budget(1), neighbors=Neighbors.ADD_REMOVE, policy=Policy.REFUSE, testing=False)
    with ledgers.create(tmp_path / "ledger.sqlite", terms) as book:
        steps = Steps(book)
        gate = Gate(ledger=book, backend=steps, noise=steps, secret=lambda: b"")  # type: ignore[arg-type]
        charge = Charge(loss=pure(PRICE), request=REQUEST)
        with raises_code(RefusedQueryError, "not-for-testing"):
            run(charge, [task()], gate)
        assert steps.seen == []
        assert run(charge, [task()], replace(gate, noise=FreshNoise())).body


def test_limits_count_where_the_backend_bounds_units() -> None:
    """A row that is a unit is there once; of people as many rows count as the backend is told to keep."""
    wide = replace(task(), bounds=bounds(3, 5))
    kept = [guarantee([one], Neighbors.ADD_REMOVE, pure(F(1)))["parts"][0] for one in (wide, with_people(wide))]
    assert [(part["groups"], part["rows"]) for part in kept] == [(1, 1), (3, 5)]


def with_people(given: Task) -> Task:
    return replace(given, table=task("patient_id").table)


@pytest.mark.parametrize("vectors", [[[7, 7]], [[7] * 4], [[7] * 3] * 2, []])
def test_other_cells_than_were_priced_are_never_released(ledger: Ledger, vectors: list[list[int]]) -> None:
    steps = Steps(ledger)
    steps.exact = lambda *_: vectors  # type: ignore[method-assign]
    with pytest.raises(ReleaseFailedError):
        released(ledger, steps)


def test_a_measure_without_noise_is_refused(ledger: Ledger) -> None:
    steps = Steps(ledger)
    gate = Gate(ledger=ledger, backend=steps, noise=steps, secret=lambda: b"")  # type: ignore[arg-type]
    charge = Charge(loss=pure(PRICE), request=REQUEST)
    for laws in ((), (DiscreteLaplace(F(4)),) * 2):
        with pytest.raises(ValueError, match="zip"):
            run(charge, [replace(task(), laws=laws)], gate)
    with raises_code(RefusedQueryError, "gate-refused: gaussian"):  # a count is no choice
        run(charge, [replace(task(), laws=(Choice(F(1, 100), flip=True),))], gate)
    assert steps.seen == []


def test_an_answer_that_cannot_be_kept_is_not_delivered(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(ledger), "store", lambda *_: boom())
    with pytest.raises(ReleaseFailedError):
        released(ledger, Steps(ledger))
    assert ledger.spent().loss.epsilon == PRICE


def test_stopping_by_hand_says_what_was_charged(ledger: Ledger) -> None:
    def stop() -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        released(ledger, Steps(ledger, exact=stop))
    assert caught.value.__notes__ == ["stopped after the charge: entry 2 of the ledger stays charged"]
    assert ledger.spent().loss.epsilon == PRICE


def test_the_third_failure_suspends_an_analyst(ledger: Ledger) -> None:
    for _ in range(3):
        with pytest.raises(ReleaseFailedError):
            released(ledger, Steps(ledger, exact=boom), analyst="eve")
    steps = Steps(ledger)
    with pytest.raises(SuspendedError):
        released(ledger, steps, analyst="eve")
    assert steps.seen == ["write: spent 1/2, stored False"], "the second attempt repeated the first without a charge"


def test_what_failed_before_any_draw_is_repeated_once(ledger: Ledger) -> None:
    spent = []
    for failing in (True, True, True, False):
        with pytest.raises(ReleaseFailedError) if failing else nullcontext():
            released(ledger, Steps(ledger, **({"exact": boom} if failing else {})))
        spent.append(ledger.spent().loss.epsilon)
    assert spent == [F(1, 4), F(1, 4), F(1, 2), F(1, 2)], "each charge is repeated once"
    kinds = [entry.kind for entry in ledger.entries()][1:]
    paid = (Kind.CHARGE, Kind.FAILURE, Kind.REPEAT)
    assert kinds == [*paid, Kind.FAILURE, *paid, Kind.ANSWER]
    for _ in range(2):
        with pytest.raises(ReleaseFailedError):
            released(ledger, Steps(ledger, draw=boom))
    assert ledger.spent().loss.epsilon == F(1), "what failed after a draw is charged again"
    ledger.verify()


def test_whatever_ends_an_attempt_counts(ledger: Ledger) -> None:
    """Stopped by hand three times: suspended like after three failures."""

    def stop() -> Any:
        raise SystemExit

    for _ in range(3):
        with pytest.raises(SystemExit):
            released(ledger, Steps(ledger, exact=stop), analyst="eve")
    assert ledger.suspended("eve")
    with raises_code(SuspendedError, "analyst-suspended: 3"):
        released(ledger, Steps(ledger), analyst="eve")


def test_stopping_after_the_answer_was_stored_keeps_the_answer(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    store = type(ledger).store

    def stored_and_stopped(*arguments: Any) -> None:
        store(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(ledger), "store", stored_and_stopped)
    with pytest.raises(KeyboardInterrupt):
        released(ledger, Steps(ledger))
    assert [entry.kind for entry in ledger.entries()][-1] is Kind.ANSWER


def test_a_gate_that_charges_late_would_be_caught(ledger: Ledger) -> None:
    """A planted bug: exact before spend. The trace that the first test compares differs."""
    steps = Steps(ledger)
    steps.exact(task(), steps.write(task()))
    ledger.spend(Charge(loss=pure(PRICE), request=REQUEST))
    assert steps.seen[1] == "exact: spent 0, stored False"


def test_noise_of_every_cell_is_a_draw_of_its_own(ledger: Ledger) -> None:
    class Counting(Steps):
        def draw(self, law: Law, size: int) -> Any:
            return np.arange(size)

    assert released(ledger, Counting(ledger)).body == b'{"noisy":[[7,8,9]]}'


@pytest.mark.parametrize("drawn", [0, 2, 4])
def test_a_vector_with_more_or_fewer_draws_than_cells_is_never_released(ledger: Ledger, drawn: int) -> None:
    class Miscounting(Steps):
        def draw(self, law: Law, size: int) -> Any:
            return np.arange(drawn)

    with pytest.raises(ReleaseFailedError):
        released(ledger, Miscounting(ledger))


def test_tables_that_contradict_each_other_are_refused(ledger: Ledger) -> None:
    """The limits are those of the task's own table: what is asked of another one would be bounded by nobody."""
    asked = task("patient_id")
    rows = replace(asked.table, name="rows", unit=None)
    public = replace(rows, name="wards", public=True)
    other = replace(asked.table, unit="doctor_id")
    wrong = {
        "gate-refused: protect": [[replace(asked, beside={"rows": rows})], [asked, task()]],
        "gate-refused: declared": [
            [asked, replace(asked, table=other)],
            [replace(asked, beside={"v": other})],
        ],
        "gate-refused: bounded": [
            [replace(asked, table=replace(other, name="stays"))],
            [asked, replace(asked, table=replace(other, name="stays"))],
        ],
    }
    steps = Steps(ledger)
    gate = Gate(ledger=ledger, backend=steps, noise=steps, secret=lambda: b"")  # type: ignore[arg-type]
    charge = Charge(loss=pure(2 * PRICE), request=REQUEST)
    for problem, lists in wrong.items():
        for tasks in lists:
            with raises_code(RefusedQueryError, problem):
                run(charge, tasks, gate)
    assert steps.seen == []
    assert run(charge, [replace(asked, beside={"wards": public})], gate).body
