"""The one gate: the order of its steps, and what it says when one of them fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import pytest

from privet.core.accountant import Budget
from privet.core.laws import DiscreteLaplace
from privet.core.loss import Loss, pure
from privet.core.unit import Neighbors
from privet.engine import FreshNoise, Job, NoiseSource, run
from privet.errors import BudgetExceededError, RefusedQueryError, ReleaseFailedError, SuspendedError
from privet.ledger import Charge, Kind, Ledger, Policy, Terms
from privet.ledger import sqlite as ledgers

SECRET = "SSN 123-45-6789"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    terms = Terms(budget=Budget(1), neighbors=Neighbors.ADD_REMOVE, policy=Policy.REFUSE, testing=False)
    with ledgers.create(tmp_path / "ledger.sqlite", terms) as made:
        yield made


def job(ledger: Ledger, seen: list[str], *, analyst: str = "", **steps: Callable[..., Any]) -> Job[int]:
    """A job that writes down what it saw of the ledger at every step."""

    def look(step: str) -> None:
        seen.append(f"{step}: spent {ledger.spent().loss.epsilon}, stored {ledger.stored('0' * 64) is not None}")

    def price() -> Loss:
        look("price")
        return pure(F(1, 4))

    def exact(_: NoiseSource) -> int:
        look("exact")
        return 7

    def publish(number: int, noise: NoiseSource) -> bytes:
        look("publish")
        return str(number + int(noise.draw(DiscreteLaplace(F(1)), 1)[0])).encode()

    parts = {"price": price, "exact": exact, "publish": publish, **steps}
    return Job(charge=lambda loss: Charge(loss=loss, request="0" * 64, analyst=analyst), **parts)  # type: ignore[arg-type]


def test_the_order_of_the_steps(ledger: Ledger) -> None:
    seen: list[str] = []
    release = run(job(ledger, seen), ledger, FreshNoise())
    assert seen == [
        "price: spent 0, stored False",
        "exact: spent 1/4, stored False",
        "publish: spent 1/4, stored False",
    ]
    stored = ledger.stored("0" * 64)
    assert stored is not None
    assert (stored.body, stored.receipt) == (release.body, release.receipt)


def boom(*_: object) -> Any:
    raise ValueError(SECRET)


@pytest.mark.parametrize("step", ["exact", "publish"])
@pytest.mark.parametrize("error", [ValueError(SECRET), MemoryError(SECRET), OverflowError(), RecursionError()])
def test_a_failure_is_charged_and_says_nothing(ledger: Ledger, step: str, error: Exception) -> None:
    def fail(*_: object) -> Any:
        raise error

    with pytest.raises(ReleaseFailedError) as caught:
        run(job(ledger, [], **{step: fail}), ledger, FreshNoise())
    assert str(caught.value) == (
        "the release failed after its charge, and the charge stays (entry 2 of the ledger)\n"
        "  remedy: ask again (the first retry is free if no noise was drawn before the failure);"
        " if it fails again, ask the owner to run `privet check VAULT`"
    )
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None  # a traceback printed by anybody shows nothing more
    assert ledger.spent().loss.epsilon == F(1, 4)
    assert [entry.kind for entry in ledger.entries()] == [Kind.OPENING, Kind.CHARGE, Kind.FAILURE]


def test_a_refused_question_touches_no_data(ledger: Ledger) -> None:
    def refuse() -> Loss:
        raise RefusedQueryError("no", "ask something else")

    seen: list[str] = []
    with pytest.raises(RefusedQueryError):
        run(job(ledger, seen, price=refuse), ledger, FreshNoise())
    with pytest.raises(BudgetExceededError):
        run(job(ledger, seen, price=lambda: pure(F(2))), ledger, FreshNoise())
    assert seen == []
    assert ledger.spent().loss.epsilon == 0


def test_an_answer_that_cannot_be_kept_is_not_delivered(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(ledger), "store", boom)
    with pytest.raises(ReleaseFailedError):
        run(job(ledger, []), ledger, FreshNoise())
    assert ledger.spent().loss.epsilon == F(1, 4)


def test_stopping_by_hand_says_what_was_charged(ledger: Ledger) -> None:
    def stop(_: NoiseSource) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        run(job(ledger, [], exact=stop), ledger, FreshNoise())
    assert caught.value.__notes__ == [
        "stopped after the charge: entry 2 of the ledger stays charged, without an answer"
    ]
    assert ledger.spent().loss.epsilon == F(1, 4)


def test_the_third_failure_suspends_an_analyst(ledger: Ledger) -> None:
    for _ in range(3):
        with pytest.raises(ReleaseFailedError):
            run(job(ledger, [], analyst="eve", exact=boom), ledger, FreshNoise())
    seen: list[str] = []
    with pytest.raises(SuspendedError):
        run(job(ledger, seen, analyst="eve"), ledger, FreshNoise())
    assert seen == ["price: spent 1/2, stored False"], "the second attempt repeated the first without a new charge"


def test_what_failed_before_any_draw_is_repeated_once(ledger: Ledger) -> None:
    def draws(_: int, noise: NoiseSource) -> bytes:
        noise.draw(DiscreteLaplace(F(1)), 1)
        raise ValueError(SECRET)

    spent = []
    for step in (boom, boom, boom, None):
        steps = {} if step is None else {"exact": step}
        with pytest.raises(ReleaseFailedError) if step else nullcontext():
            run(job(ledger, [], **steps), ledger, FreshNoise())
        spent.append(ledger.spent().loss.epsilon)
    assert spent == [F(1, 4), F(1, 4), F(1, 2), F(1, 2)], "each charge is repeated once"
    kinds = [entry.kind for entry in ledger.entries()][1:]
    paid = (Kind.CHARGE, Kind.FAILURE, Kind.REPEAT)
    assert kinds == [*paid, Kind.FAILURE, *paid, Kind.ANSWER]
    for _ in range(2):
        with pytest.raises(ReleaseFailedError):
            run(job(ledger, [], publish=draws), ledger, FreshNoise())
    assert ledger.spent().loss.epsilon == F(1), "what failed after a draw is charged again"
    ledger.verify()


def test_whatever_ends_an_attempt_counts(ledger: Ledger) -> None:
    """Stopped by hand three times: suspended like after three failures."""

    def stop(_: NoiseSource) -> int:
        raise SystemExit

    for _ in range(3):
        with pytest.raises(SystemExit):
            run(job(ledger, [], analyst="eve", exact=stop), ledger, FreshNoise())
    assert ledger.suspended("eve")
    with pytest.raises(SuspendedError, match="3 of your queries failed"):
        run(job(ledger, [], analyst="eve"), ledger, FreshNoise())


def test_stopping_after_the_answer_was_stored_keeps_the_answer(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    store = type(ledger).store

    def stored_and_stopped(*arguments: Any) -> None:
        store(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(ledger), "store", stored_and_stopped)
    with pytest.raises(KeyboardInterrupt):
        run(job(ledger, []), ledger, FreshNoise())
    assert [entry.kind for entry in ledger.entries()][-1] is Kind.ANSWER


def test_a_gate_that_charges_late_would_be_caught(ledger: Ledger) -> None:
    """A planted bug: exact before spend. The trace that the first test compares differs."""
    seen: list[str] = []
    planted = job(ledger, seen)
    loss = planted.price()
    planted.exact(FreshNoise())
    ledger.spend(planted.charge(loss))
    assert seen[1] == "exact: spent 0, stored False"
