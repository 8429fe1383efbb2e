"""Trainings that are paid for: the schedule that is priced is followed, under the relation of the ledger."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.planted_descent import PLANTED, recipe
from support.refusals import raises_code

from privet import audits
from privet.backends import Course
from privet.backends.contributions import Rows
from privet.backends.held_rows import HeldRows
from privet.catalog.declarations import Source, Table
from privet.core.schema import Integer
from privet.core.unit import Neighbors
from privet.engine import Gate
from privet.errors import InvalidInputError, ReleaseFailedError
from privet.learn.descent import Recipe, Step, Units, noisy_step, trained
from privet.learn.network import Kind, Layers
from privet.learn.own_gate import own_gate
from privet.learn.schedule import coin_of, least_noise
from privet.learn.work import Descent
from privet.ledger import Charge
from privet.noise.floats import FloatNoise
from privet.typing import Floats

EPSILON, DELTA = Fraction(1, 2), Fraction(1, 10**6)
TOPS = (8, 8, 1)


def work(neighbors: Neighbors = Neighbors.ADD_REMOVE, **changes: Any) -> Descent:
    schedule = least_noise(coin=coin_of(Fraction(1, 2)), steps=3, neighbors=neighbors, epsilon=EPSILON, delta=DELTA)
    given = recipe(schedule=schedule, kind=Kind(activation="relu", classes=2), sizes=(2, 2))
    return Descent(**{"recipe": given, "epsilon": EPSILON, "delta": DELTA, "tops": TOPS, "people": False} | changes)


def test_the_price_is_that_of_the_schedule_under_the_ledgers_relation() -> None:
    made = work()
    loss = made.price(1, Neighbors.ADD_REMOVE)
    assert (loss.epsilon, loss.delta) == (EPSILON, DELTA)
    assert made.price(7, Neighbors.ADD_REMOVE) == loss == made.loss
    with raises_code(InvalidInputError, "too-small"):
        made.price(1, Neighbors.REPLACE)
    replacing = work(Neighbors.REPLACE)
    assert replacing.price(1, Neighbors.REPLACE).epsilon == EPSILON
    assert replacing.recipe.schedule.noise > Fraction(9, 5) * made.recipe.schedule.noise


@pytest.mark.parametrize("changed", [{"noise": Fraction(9, 10)}, {"steps": Fraction(2)}, {"coin": Fraction(3, 2)}])
def test_another_schedule_at_the_same_price_is_refused(changed: dict[str, Fraction]) -> None:
    made = work()
    schedule = made.recipe.schedule
    ((name, factor),) = changed.items()
    value = getattr(schedule, name) * factor
    other = replace(schedule, **{name: value if name == "noise" else int(value)})  # type: ignore[arg-type]
    with raises_code(InvalidInputError, "too-small"):
        replace(made, recipe=replace(made.recipe, schedule=other)).price(1, Neighbors.ADD_REMOVE)


def test_whatever_was_read_is_within_what_was_declared() -> None:
    """No row makes a training fail, which would tell that it is there."""
    seen: list[Units] = []

    def listened(layers: Layers, units: Units, given: Recipe, draws: Any) -> Layers:
        seen.append(units)
        return noisy_step(layers, units, given, draws)

    raw = np.array([[0, 8, 1], [4, 2, 0], [-1, 99, 7], [np.nan, np.inf, -np.inf]])
    body = json.loads(work(train=partial(trained, step_=listened)).done(Rows(raw)))
    assert np.shape(body["layers"]) == (1, 3, 2)
    assert seen[0].rows.tolist() == [[-1, 1], [0, -0.5], [-1, 1], [-1, 1]]
    assert seen[0].targets.tolist() == [1, 0, 1, 0]
    number = work(
        train=partial(trained, step_=listened),
        recipe=replace(work().recipe, kind=Kind(activation="relu", classes=0), sizes=(2, 1)),
    )
    number.done(Rows(raw))
    assert seen[-1].targets.tolist() == [1, -1, 1, -1]
    assert json.loads(work().done(Rows(raw[:0])))["layers"]


def test_rows_of_people_say_whose_they_are() -> None:
    rows = np.ones((3, 3))
    unless_said = Descent(recipe=work().recipe, epsilon=EPSILON, delta=DELTA, tops=TOPS)
    for made in (work(people=True), unless_said):
        with pytest.raises(ValueError, match="whose"):
            made.done(Rows(rows))
    assert work(people=True).done(Rows(rows, np.array([1, 1, 2])))


@pytest.mark.parametrize("unit", [None, "who"])
def test_through_the_gate(unit: str | None) -> None:
    kinds = {f"column {at}": Integer(0, top) for at, top in enumerate(TOPS)}
    table = Table(name="rows", source=Source(kind="memory"), unit=unit, columns=kinds)
    course = Course(table=table, columns=tuple(kinds), rows=2 if unit else 1, rounds=(), secret=b"1" * 16)
    held = HeldRows(np.ones((5, 3)), np.array([1, 1, 1, 2, 2]) if unit else None)
    seen: list[list[int]] = []

    def listened(layers: Layers, units: Units, given: Recipe, draws: Any) -> Layers:
        seen.append(np.diff(units.first).tolist())
        return noisy_step(layers, units, given, draws)

    made = work(train=partial(trained, step_=listened))
    with own_gate(held, EPSILON, DELTA, Neighbors.ADD_REMOVE) as gate:
        release = made.released(Charge(loss=made.loss, request="0" * 64), course, gate)
        assert gate.ledger.spent().loss.epsilon == EPSILON
        assert seen == [[2, 2] if unit else [1] * 5] * 3
        assert made.fitted(course, release.body) == {}
        facts = made.facts(course, Neighbors.ADD_REMOVE)
        assert facts["guarantee"]["descent"]["noise"] == str(made.recipe.schedule.noise)
        assert "not float-exact" in " ".join(facts["not_promised"])


def fails(*_: object) -> Layers:
    raise RuntimeError("a secret of row 7")


def test_a_failure_is_charged_and_says_nothing() -> None:
    table = Table(name="rows", source=Source(kind="memory"), unit=None, columns={"a": Integer(0, 8)})
    course = Course(table=table, columns=("a",), rows=1, rounds=(), secret=b"1" * 16)
    made = work(train=partial(trained, step_=fails))
    gate: Gate
    with own_gate(HeldRows(np.ones((2, 3))), EPSILON, DELTA, Neighbors.ADD_REMOVE) as gate:
        with pytest.raises(ReleaseFailedError) as caught:
            made.released(Charge(loss=made.loss, request="0" * 64), course, gate)
        assert "secret" not in str(caught.value)
        assert gate.ledger.spent().loss.epsilon == EPSILON


# ---------------------------------------------------------------------------------------------------------- audits


class Quiet(FloatNoise):
    """Normal numbers of a third of their size."""

    def normals(self, size: int) -> Floats:
        return super().normals(size) / 3


CLAIM = audits.Claim(epsilon=1, delta=Fraction(1, 100))
HERE: tuple[list[Any], list[Any]] = ([(1.0, 1.0, 1.0)], [])
SAMPLES = 6000


def canary(step: Step = noisy_step, draws: type[FloatNoise] = FloatNoise) -> Any:
    """One unit, here or not: all noisy sums together in the direction of its gradient, which tells most."""
    schedule = least_noise(
        coin=coin_of(Fraction(1, 2)), steps=3, neighbors=Neighbors.ADD_REMOVE, epsilon=Fraction(1), delta=CLAIM.delta
    )
    given = replace(work().recipe, schedule=schedule)

    def mechanism(rows: list[tuple[float, float, float]], size: int) -> Floats:
        table = np.array(rows, np.float64).reshape(-1, 3)
        units, ends = Units.of(table[:, :2], table[:, 2], None), list[float]()

        def listened(layers: Layers, units: Units, given: Recipe, draws: Any) -> Layers:
            found = step(layers, units, given, draws)
            ends.append(float((found[0][:, 1] - found[0][:, 0]).sum()))
            return found

        for _ in range(size):
            trained(units, given, draws(), listened)
        return np.array(ends).reshape(size, -1).sum(axis=1)

    return mechanism


@pytest.mark.proof
def test_a_canary_shows_no_more_than_is_claimed() -> None:
    """The bound is wrong once in 10^9 runs."""
    found = audits.audit(canary(), CLAIM, neighbors=HERE, samples=SAMPLES, confidence=1 - 1e-9, batch=True)
    assert not found.violated


@pytest.mark.proof
@pytest.mark.parametrize(
    "planted", [canary(draws=Quiet), canary(PLANTED["realised batch"])], ids=["a third of the noise", "realised batch"]
)
def test_what_a_canary_shows_of_a_mistake_is_caught(planted: Any) -> None:
    found = audits.audit(planted, CLAIM, neighbors=HERE, samples=SAMPLES, confidence=1 - 1e-9, batch=True)
    assert found.violated
