"""The gate for learners: priced before, charged once, noise before a number is shown, and the model made of noise."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from support.refusals import raises_code

from privet import recheck, training
from privet.backends import Backend, Course
from privet.backends.contributions import Block, Lesson, Recode, Rows, Vectors
from privet.catalog.declarations import Source, Table
from privet.core import rounds as pricing
from privet.core.accountant import Budget
from privet.core.laws import Law
from privet.core.loss import Loss, approximate, pure
from privet.core.mechanisms import laplace_for
from privet.core.rounds import Noisy, counts, priced, vector
from privet.core.schema import Integer
from privet.core.unit import Neighbors
from privet.engine import FreshNoise, Gate, Release
from privet.errors import BudgetExceededError, RefusedQueryError, ReleaseFailedError
from privet.ledger import Charge, Ledger, Policy, Terms
from privet.ledger import sqlite as ledgers

REQUEST = "0" * 64
EPSILON, DELTA = F(1, 2), F(1, 10**6)
SHARES = [[(vector(2, 50), F(1, 4))], [(vector(2, 50), F(1, 2)), (counts(3), F(1, 4))]]


@pytest.fixture(params=[(n, d) for n in Neighbors for d in (F(0), DELTA)], ids=str)
def setting(request: pytest.FixtureRequest) -> tuple[Neighbors, F]:
    return cast(tuple[Neighbors, F], request.param)


@pytest.fixture
def ledger(tmp_path: Path, setting: tuple[Neighbors, F]) -> Iterator[Ledger]:
    terms = Terms(budget=Budget(1, F(1, 1000)), neighbors=setting[0], policy=Policy.REFUSE, testing=True)
    with ledgers.create(tmp_path / "ledger.sqlite", terms) as made:
        yield made


class Steps:
    """A back end and a source of noise that write down what they saw of the ledger, or fail."""

    def __init__(self, ledger: Ledger, raw: Any = ((3, 4), (1, 1)), **failing: Callable[..., Any]) -> None:
        self.ledger, self.failing, self.seen = ledger, failing, list[str]()
        self.raw = np.array(raw, float)

    def look(self, step: str) -> None:
        spent, stored = self.ledger.spent().loss.epsilon, self.ledger.stored(REQUEST) is not None
        self.seen.append(f"{step}: spent {spent}, stored {stored}")
        self.failing.get(step, lambda: None)()

    def rows(self, _: Course) -> Rows:
        self.look("rows")
        return Rows(self.raw)

    def draw(self, law: Law, size: int) -> Any:
        self.look("draw")
        return np.arange(size) * 10 + 100 if self.failing.get("fixed") else FreshNoise().draw(law, size)


def ones(block: Block) -> list[Vectors]:
    return [Vectors(np.column_stack([block.raw[:, 0], block.raw[:, 1]]))]


def lesson() -> Lesson:
    """Doubles the rows between its rounds, and gives back what it heard."""
    first = yield ones
    nothing = yield Recode(lambda raw: raw * 2)
    second = yield lambda block: [Vectors(block.values), Vectors(np.tile([1.0, 0, 0], (len(block.raw), 1)))]
    return {"heard": [first, nothing, second]}


def course(setting: tuple[Neighbors, F], unit: str | None = None, rows: int = 1, **more: Any) -> tuple[Course, Loss]:
    found = priced(SHARES, rows, setting[0], EPSILON, setting[1])
    table = Table(name="t", source=Source(kind="memory"), unit=unit, columns={"x": Integer(0, 9)}, **more)
    return Course(table=table, columns=("x",), rows=rows, rounds=found.rounds, secret=b""), found.loss


def gate_of(ledger: Ledger, steps: Steps, **more: Any) -> Gate:
    return Gate(ledger=ledger, backend=cast(Backend, steps), noise=cast(Any, steps), secret=lambda: b"", **more)


def trained(ledger: Ledger, steps: Steps, made: tuple[Course, Loss], taught: Any = lesson, **more: Any) -> Release:
    charge = Charge(loss=made[1], request=REQUEST, **more)
    return training.train(charge, made[0], taught, gate_of(ledger, steps))


def test_the_order_of_the_steps(ledger: Ledger, setting: tuple[Neighbors, F]) -> None:
    steps = Steps(ledger, fixed=lambda: True)
    release = trained(ledger, steps, course(setting))
    epsilon = ledger.spent().loss.epsilon
    assert steps.seen == [f"rows: spent {epsilon}, stored False", *[f"draw: spent {epsilon}, stored False"] * 3]
    # the row (3, 4), doubled, is too long, and adds nothing
    assert json.loads(release.body) == {"noisy": [[[104, 115]], [[102, 112], [102, 110, 120]]]}
    stored = ledger.stored(REQUEST)
    assert stored is not None
    assert stored.body == release.body
    heard = training.replayed(course(setting)[0], lesson, release.body)["heard"]
    assert heard == [[[104, 115]], [], [[102, 112], [102, 110, 120]]]


def test_a_lesson_cannot_change_what_is_stored(ledger: Ledger, setting: tuple[Neighbors, F]) -> None:
    """One that writes into what it was sent hears the same again from what was stored."""
    heard: list[list[int]] = []

    def writing() -> Lesson:
        (first,) = yield ones
        heard.append(list(first))
        first[0] = 7
        yield lambda block: [Vectors(block.raw), Vectors(np.zeros((len(block.raw), 3)))]

    release = trained(ledger, Steps(ledger), course(setting), writing)
    training.replayed(course(setting)[0], writing, release.body)
    assert json.loads(release.body)["noisy"][0] == [heard[0]] == [heard[1]]


def test_what_is_told_is_enough_to_price_it_again(setting: tuple[Neighbors, F]) -> None:
    made, loss = course(setting, unit="who", rows=3)
    stated = training.guarantee(made, setting[0], loss)
    assert recheck.problems(json.loads(json.dumps(stated))) == []
    parts = recheck.recheck(stated).parts
    for (part, far, _), noisy in zip(parts, [each for one in made.rounds for each in one], strict=True):
        own = pricing.moved(noisy.sums, 3, setting[0])
        assert (far.l1, far.l2_squared) == (own.l1, own.l2_squared)
        assert part.rows == 3


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("delta", [F(0), DELTA])
def test_a_gram_is_told_by_its_products(neighbors: Neighbors, delta: F) -> None:
    """Laplace noise follows the sum of absolute products, Gaussian noise the sum of their squares."""
    made = priced([[(pricing.gram(3, 100), F(1))]], 2, neighbors, EPSILON, delta)
    table = Table(name="t", source=Source(kind="memory"), unit="who", columns={"x": Integer(0, 9)})
    for laplace in {delta == 0, True}:
        law = laplace_for(EPSILON, pricing.moved(pricing.gram(3, 100), 2, neighbors).l1) if laplace else None
        rounds = made.rounds if law is None else ((Noisy(sums=pricing.gram(3, 100), law=law),),)
        loss = made.loss if law is None else pure(EPSILON)
        one = Course(table=table, columns=("x",), rows=2, rounds=rounds, secret=b"")
        assert recheck.problems(training.guarantee(one, neighbors, loss)) == []
        cheap = replace(loss, epsilon=loss.epsilon * F(99, 100), rho=loss.rho * F(99, 100))  # type: ignore[operator]
        assert recheck.problems(training.guarantee(one, neighbors, cheap)) != []


@pytest.mark.parametrize("finite", [True, False])
def test_an_owner_may_demand_that_every_charge_has_an_epsilon(
    ledger: Ledger, setting: tuple[Neighbors, F], finite: bool
) -> None:
    """A finite epsilon is let through either way; an infinite one only where the owner allows it."""
    made, loss = course(setting)
    gate = gate_of(ledger, Steps(ledger), finite=finite)
    assert training.train(Charge(loss=loss, request=REQUEST), made, lesson, gate).body
    refused = list(training._contradictions(Charge(loss=replace(loss, epsilon=None), request=REQUEST), made, gate))
    assert refused == (["its epsilon is infinite, and the owner allows no such charge"] if finite else [])


def _with(made: tuple[Course, Loss], **changed: Any) -> tuple[Course, Loss]:
    return replace(made[0], **changed), made[1]


def _rounds(made: tuple[Course, Loss], change: Callable[[Noisy], Noisy]) -> tuple[Course, Loss]:
    return _with(made, rounds=tuple(tuple(change(each) for each in one) for one in made[0].rounds))


PLANTED: dict[str, Callable[[tuple[Course, Loss]], tuple[Course, Loss]]] = {
    "a row more than was priced": lambda made: _with(made, rows=made[0].rows + 1),
    "a round more than was priced": lambda made: _with(made, rounds=(*made[0].rounds, made[0].rounds[0])),
    "longer vectors than were priced": lambda made: _rounds(
        made, lambda one: replace(one, sums=replace(one.sums, l1=one.sums.l1 + 1, l2_squared=2 * one.sums.l2_squared))
    ),
    "less noise": lambda made: _rounds(made, lambda one: replace(one, law=_less(one.law))),
    "half the price": lambda made: (made[0], replace(made[1], epsilon=made[1].epsilon / 2)),  # type: ignore[operator]
    "half the other price": lambda made: (made[0], replace(made[1], rho=made[1].rho / 2)),  # type: ignore[operator]
}


def _less(law: Law) -> Law:
    ((name, value),) = [(n, getattr(law, n)) for n in ("scale", "variance") if hasattr(law, n)]
    return replace(law, **{name: value * F(99, 100)})


@pytest.mark.parametrize("mistake", list(PLANTED))
def test_a_mistake_in_the_price_is_refused(ledger: Ledger, setting: tuple[Neighbors, F], mistake: str) -> None:
    steps = Steps(ledger)
    with raises_code(RefusedQueryError, "gate-refused"):
        trained(ledger, steps, PLANTED[mistake](course(setting, unit="who", rows=2)))
    assert steps.seen == []
    assert ledger.spent().loss.epsilon == 0


def test_whom_it_is_charged_to(ledger: Ledger, setting: tuple[Neighbors, F]) -> None:
    steps = Steps(ledger)
    made = course(setting, rows=2)
    several = {"each row is a unit": made, "public table": course(setting, public=True)}
    for said, wrong in several.items():
        with raises_code(RefusedQueryError, "gate-refused") as caught:
            trained(ledger, steps, wrong)
        assert said in caught.value.problem
    with raises_code(RefusedQueryError, "gate-refused"):
        trained(ledger, steps, course(setting), part="north")
    infinite = course(setting)[0], Loss(epsilon=None, rho=F(1))
    with raises_code(RefusedQueryError, "gate-refused"):
        training.train(
            Charge(loss=infinite[1], request=REQUEST), infinite[0], lesson, gate_of(ledger, steps, finite=True)
        )
    assert steps.seen == []


def test_more_than_the_budget_is_refused_before_data_are_read(ledger: Ledger, setting: tuple[Neighbors, F]) -> None:
    steps = Steps(ledger)
    made = course(setting)
    with pytest.raises(BudgetExceededError):
        trained(ledger, steps, (made[0], replace(made[1], epsilon=F(3), rho=F(9))))
    assert steps.seen == []


def fail() -> None:
    raise RuntimeError("SSN 123-45-6789")


def short() -> Lesson:
    yield ones
    return {}


def long() -> Lesson:
    yield from lesson()
    yield ones


def other_shape() -> Lesson:
    yield lambda block: [Vectors(block.raw[:, :1])]
    yield ones


FAILING: dict[str, tuple[dict[str, Any], Any]] = {
    "no rows": ({"rows": fail}, lesson),
    "no noise": ({"draw": fail}, lesson),
    "fewer rounds": ({}, short),
    "more rounds": ({}, long),
    "another shape": ({}, other_shape),
}


@pytest.mark.parametrize("case", list(FAILING))
def test_a_failure_is_charged_and_says_nothing(ledger: Ledger, setting: tuple[Neighbors, F], case: str) -> None:
    failing, taught = FAILING[case]
    with pytest.raises(ReleaseFailedError) as caught:
        trained(ledger, Steps(ledger, **failing), course(setting), taught)
    assert "SSN" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert ledger.spent().loss.epsilon == course(setting)[1].epsilon
    assert ledger.stored(REQUEST) is None


def test_another_number_of_sums_than_was_priced_is_never_released(ledger: Ledger, setting: tuple[Neighbors, F]) -> None:
    class Few(Rows):
        def sums(self, *_: Any) -> list[list[int]]:
            return [[1], [1]]

    steps = Steps(ledger)
    steps.rows = lambda _: Few(steps.raw)  # type: ignore[method-assign]
    with pytest.raises(ReleaseFailedError):
        trained(ledger, steps, course(setting))
    assert ledger.stored(REQUEST) is None


def test_replaced_noise_is_for_testing(tmp_path: Path) -> None:
    terms = Terms(budget=Budget(1), neighbors=Neighbors.REPLACE, policy=Policy.REFUSE, testing=False)
    made = course((Neighbors.REPLACE, F(0)))
    with ledgers.create(tmp_path / "real.sqlite", terms) as real:
        steps = Steps(real)
        with raises_code(RefusedQueryError, "not-for-testing"):
            trained(real, steps, made)
        with raises_code(RefusedQueryError, "not-for-testing"):
            training.paid(Charge(loss=pure(F(1)), request=REQUEST), made[0], Done(pure(F(1))), gate_of(real, steps))


def test_noise_is_drawn_for_every_sum(ledger: Ledger, setting: tuple[Neighbors, F]) -> None:
    """With real noise no two runs agree, and no sum is the exact one twice."""
    made = course(setting)
    backend = Steps(ledger)
    bodies = []
    for number in range(2):
        gate = replace(gate_of(ledger, backend), noise=FreshNoise())
        request = str(number) * 64
        bodies.append(json.loads(training.train(Charge(loss=made[1], request=request), made[0], lesson, gate).body))
    assert bodies[0] != bodies[1]


# ---------------------------------------------------------------------------------------------------- noise of its own


class Done:
    """Work that states a price."""

    def __init__(self, loss: Loss, failing: Callable[[], None] = lambda: None) -> None:
        self.loss, self.failing, self.saw = loss, failing, list[Any]()

    def price(self, rows: int, neighbors: Neighbors) -> Loss:
        self.saw.append((rows, neighbors))
        return self.loss

    def done(self, rows: Rows) -> bytes:
        self.saw.append(rows.raw.tolist())
        self.failing()
        return b"{}"


def test_work_with_noise_of_its_own_is_paid_before_it_sees_rows(ledger: Ledger, setting: tuple[Neighbors, F]) -> None:
    made = replace(course(setting, unit="who", rows=2)[0], rounds=())
    due = approximate(EPSILON, DELTA)
    work = Done(due)
    gate = gate_of(ledger, Steps(ledger))
    for name, less in [("epsilon", EPSILON / 2), ("delta", DELTA / 2), ("rho", F(1, 100)), ("rho_delta", F(0))]:
        with raises_code(RefusedQueryError, "gate-refused") as caught:
            training.paid(Charge(loss=replace(due, **{name: less}), request=REQUEST), made, work, gate)
        assert name in caught.value.problem
    assert work.saw == [(2, setting[0])] * 4
    release = training.paid(Charge(loss=due, request=REQUEST), made, work, gate)
    assert (release.body, work.saw[4:]) == (b"{}", [(2, setting[0]), [[3, 4], [1, 1]]])
    assert ledger.spent().loss.epsilon == EPSILON
    infinite = Done(Loss(epsilon=None, rho=due.rho))
    with raises_code(RefusedQueryError, "gate-refused"):
        training.paid(Charge(loss=due, request="1" * 64), made, infinite, gate)


def test_such_work_is_never_repeated_without_a_price(ledger: Ledger, setting: tuple[Neighbors, F]) -> None:
    """The gate does not see its draws: a failure may depend on one."""
    made = replace(course(setting, unit="who", rows=2)[0], rounds=())
    due = pure(F(1, 4))
    for number in (1, 2):
        with pytest.raises(ReleaseFailedError):
            training.paid(Charge(loss=due, request=REQUEST), made, Done(due, fail), gate_of(ledger, Steps(ledger)))
        assert ledger.spent().loss.epsilon == number * F(1, 4)
