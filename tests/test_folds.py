"""Cross-validation at the gate: which fold a unit is in, what one unit moves in all of it, and what is charged."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction as F
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from support.refusals import raises_code

from privet import recheck, training
from privet.backends import Backend, Course, held_rows
from privet.backends.contributions import Block, Lesson, RowFunction, Rows, Vectors
from privet.backends.held_rows import HeldRows, folds
from privet.catalog.declarations import Source, Table
from privet.core.accountant import Budget
from privet.core.laws import DiscreteLaplace
from privet.core.loss import Loss, sequential
from privet.core.rounds import Noisy, Round, counts, priced, vector
from privet.core.schema import Integer
from privet.core.unit import Neighbors
from privet.engine import Gate
from privet.errors import RefusedQueryError, ReleaseFailedError
from privet.ledger import Charge, Policy, Terms
from privet.ledger import sqlite as ledgers

SECRETS = [bytes([n]) * 16 for n in range(12)]
SHARES = [[(counts(3), F(1, 4))], [(vector(1, 1), F(1, 2)), (counts(3), F(1, 4))]]
UNITS = ((0,), (2,), (0, 0), (2, 2), (0, 2), (1, 2, 2))  # the rows of a unit; at most two of them count
Table_ = Sequence[tuple[int, ...]]


def course_of(
    count: int, neighbors: Neighbors, *, delta: F = F(0), rows: int = 2, unit: str | None = "who", secret: bytes = b"s"
) -> tuple[Course, Loss]:
    fit = priced(SHARES, rows, neighbors, F(1), delta)
    (test,) = priced([[(counts(2), F(1))]], rows, neighbors, F(1, 2), F(0)).rounds
    table = Table(name="t", source=Source(kind="memory"), unit=unit, columns={"x": Integer(0, 9)})
    made = Course(
        table=table,
        columns=("x",),
        rows=rows,
        rounds=fit.rounds,
        secret=secret,
        folds=count if count > 1 else 0,
        test=test,
    )
    return made, fit.loss


def held(units: Table_) -> HeldRows:
    raw = np.array([[float(x)] for rows in units for x in rows]).reshape(-1, 1)
    return HeldRows(raw, np.repeat(np.arange(len(units)), [len(rows) for rows in units]))


def one_hot(block: Block, size: int = 3) -> Vectors:
    return Vectors((block.raw == np.arange(size)).astype(float))


def lesson() -> Lesson:
    first = yield lambda block: [one_hot(block)]
    second = yield lambda block: [Vectors(block.raw - 1), one_hot(block)]
    return {"heard": [first, second]}


def check_of(model: Any) -> Lesson:
    (found,) = yield lambda block: [Vectors(np.column_stack([block.raw == 0, block.raw != 0]).astype(float))]
    return model["heard"], found


# ------------------------------------------------------------------------------------------------- which fold it is in


def placed(units: Table_, course: Course) -> Counter[tuple[tuple[int, ...], int]]:
    """Of each unit its rows and its fold: how often each of these occurs."""
    rows = held(units).rows(course)
    assert rows.units is not None
    assert rows._folds is not None
    found = []
    for unit in set(rows.units.tolist()):
        own = rows.units == unit
        (fold,) = set(rows._folds[own].tolist())  # all rows of a unit are in one
        found.append((tuple(sorted(map(int, rows.raw[own, 0]))), fold))
    return Counter(found)


def check_one_unit_moves_alone(count: int, secret: bytes) -> None:
    """In every table of up to four units, with units that are alike: without one, the others are where they were."""
    course, _ = course_of(count, Neighbors.ADD_REMOVE, secret=secret)
    for units in itertools.combinations_with_replacement(UNITS, 4):
        whole = placed(units, course)
        for place in range(4):
            less = placed((*units[:place], *units[place + 1 :]), course)
            assert (whole - less).total() == 1
            assert not less - whole


@pytest.mark.parametrize("count", [2, 3])
def test_one_unit_more_leaves_all_others_in_their_folds(count: int) -> None:
    for secret in SECRETS[:3]:
        check_one_unit_moves_alone(count, secret)


def test_the_order_in_which_rows_are_stored_does_not_matter() -> None:
    raw = np.array([[1.0], [2.0], [2.0], [1.0], [0.0], [2.0], [2.0], [0.0]])
    units = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    course, _ = course_of(5, Neighbors.ADD_REMOVE)

    def pairs(order: Any) -> Counter[tuple[float, int]]:
        return Counter(zip(raw[order, 0].tolist(), folds(raw[order], units[order], course).tolist(), strict=True))

    for seed in range(20):
        assert pairs(np.random.default_rng(seed).permutation(8)) == pairs(np.arange(8))


def by_row(raw: Any, _: Any, course: Course) -> Any:
    """Planted: of a person one row is learned from and another tested."""
    return np.arange(len(raw)) % 2 % course.folds


def by_place(_: Any, units: Any, course: Course) -> Any:
    """Planted: units take turns, so that one more moves all behind it."""
    return np.unique(units, return_inverse=True)[1] % course.folds


@pytest.mark.parametrize("mistake", [by_row, by_place])
def test_folds_of_rows_and_folds_by_turns_are_noticed(mistake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_rows, "folds", mistake)
    with pytest.raises((AssertionError, ValueError)):
        check_one_unit_moves_alone(2, SECRETS[0])


def test_rows_that_are_units_are_in_folds_of_their_own() -> None:
    """Rows alike are not all in one fold, and one row more leaves the others where they are."""
    course, _ = course_of(3, Neighbors.ADD_REMOVE, rows=1, unit=None, secret=SECRETS[1])
    raw = np.array([[1.0], [2.0], [1.0], [1.0], [2.0], [0.0]] * 5)

    def pairs(some: Any) -> Counter[tuple[float, int]]:
        return Counter(zip(some[:, 0].tolist(), folds(some, None, course).tolist(), strict=True))

    whole = pairs(raw)
    assert len({fold for value, fold in whole if value == 1}) == 3
    for place in range(len(raw)):
        less = pairs(np.delete(raw, place, axis=0))
        assert ((whole - less).total(), (less - whole).total()) == (1, 0)
    assert folds(raw[:0], None, course).tolist() == []


def test_folds_are_about_as_large_and_follow_the_secret() -> None:
    """Of 3,000 units 600 are expected in each of five folds; 460 or 740 would be 6 deviations off (below 1e-8)."""
    raw = (np.arange(6000.0) % 7)[:, None]
    seen = set()
    for secret in SECRETS[:3]:
        course, _ = course_of(5, Neighbors.ADD_REMOVE, secret=secret)
        found = folds(raw, np.repeat(np.arange(3000), 2), course)
        assert all(460 < size / 2 < 740 for size in np.bincount(found, minlength=5))
        seen.add(found.tobytes())
    assert len(seen) == 3


def test_a_fold_is_set_apart() -> None:
    course, _ = course_of(3, Neighbors.ADD_REMOVE)
    rows = held(UNITS * 4).rows(course)
    own = []
    for fold in range(3):
        others, left = rows.apart(fold)
        assert sorted([*others.raw[:, 0], *left.raw[:, 0]]) == sorted(rows.raw[:, 0])
        own += left.raw[:, 0].tolist()
    assert sorted(own) == sorted(rows.raw[:, 0])
    with pytest.raises(ValueError, match="not in folds"):
        held(UNITS).rows(course_of(0, Neighbors.ADD_REMOVE)[0]).apart(0)


# ------------------------------------------------------------------------------------------------ how far a unit moves


def exact(units: Table_, course: Course) -> list[list[int]]:
    """All sums of all folds in order, each of them after the same noisy sums."""
    found: list[list[int]] = []

    def answer(rows: Rows, one: Round, function: RowFunction) -> list[list[int]]:
        found.extend(rows.sums(function, [each.sums for each in one]))
        return [[0] * each.sums.numbers for each in one]

    training._follow(course, lesson, check_of, answer, held(units).rows(course))
    return found


def laws_of(course: Course) -> list[Noisy]:
    once = [noisy for one in (*course.rounds, course.test) for noisy in one]
    return once * course.folds


def lost(change: Sequence[Sequence[int]], course: Course) -> tuple[F | None, F]:
    """What this change costs, vector by vector, on both gauges. Gaussian noise has no pure price."""
    epsilon, rho = F(0), F(0)
    pure = True
    for moved, noisy in zip(change, laws_of(course), strict=True):
        l1, squares = sum(map(abs, moved)), sum(x * x for x in moved)
        if isinstance(noisy.law, DiscreteLaplace):
            part = l1 / noisy.law.scale
            epsilon, rho = epsilon + part, rho + part**2 / 2
        else:
            pure, rho = False, rho + squares / (2 * noisy.law.variance)
    return epsilon if pure else None, rho


def losses(course: Course, neighbors: Neighbors) -> Iterator[tuple[F | None, F]]:
    """Of all neighbors among tables of up to three units."""
    for rest in itertools.combinations_with_replacement(UNITS, 2):
        sums = {unit: exact((unit, *rest), course) for unit in UNITS}
        without = exact(rest, course)
        others = itertools.combinations(sums.values(), 2) if neighbors is Neighbors.REPLACE else None
        for one, other in others or ((found, without) for found in sums.values()):
            change = [[a - b for a, b in zip(*two, strict=True)] for two in zip(one, other, strict=True)]
            yield lost(change, course)


def price_of(course: Course, neighbors: Neighbors) -> recheck.Cost:
    """What the gate demands."""
    anything = Loss(epsilon=F(100), rho=F(100))
    return recheck.recheck(training.guarantee(course, neighbors, anything)).price


def check_price(count: int, neighbors: Neighbors, delta: F, secret: bytes) -> tuple[bool, bool]:
    """No pair of neighbors costs more than the price; is there one that costs as much?"""
    course, _ = course_of(count, neighbors, delta=delta, secret=secret)
    due = price_of(course, neighbors)
    assert due.rho is not None
    found = list(losses(course, neighbors))
    assert all(rho <= due.rho for _, rho in found)
    assert due.epsilon is None or all(epsilon is not None and epsilon <= due.epsilon for epsilon, _ in found)
    return any(epsilon == due.epsilon for epsilon, _ in found), any(rho == due.rho for _, rho in found)


@pytest.mark.parametrize("delta", [F(0), F(1, 10)])
@pytest.mark.parametrize("count", [2, 3])
def test_no_unit_that_comes_or_goes_costs_more_and_some_unit_costs_as_much(count: int, delta: F) -> None:
    for secret in SECRETS[:2]:
        assert check_price(count, Neighbors.ADD_REMOVE, delta, secret) == (True, True)


@pytest.mark.parametrize("count", [2, 3])
def test_no_unit_that_is_replaced_costs_more_in_one_fold_or_two(count: int) -> None:
    """Opposite units cost as much in epsilon wherever they are, and in rho where both are in one fold."""
    for secret in SECRETS[:2]:
        assert check_price(count, Neighbors.REPLACE, F(0), secret)[0]
        check_price(count, Neighbors.REPLACE, F(1, 10), secret)
    together = set()
    for secret in SECRETS:
        course, _ = course_of(count, Neighbors.REPLACE, secret=secret)
        due, two = price_of(course, Neighbors.REPLACE), [(0, 0), (2, 2)]
        (_, one), (_, other) = (next(iter(placed([unit], course))) for unit in two)
        sums = zip(*(exact([unit], course) for unit in two), strict=True)
        epsilon, rho = lost([[a - b for a, b in zip(*both, strict=True)] for both in sums], course)
        assert (epsilon, rho == due.rho) == (due.epsilon, one == other)
        together.add(one == other)
    assert together == {True, False}


def apart_but_not(self: Rows, fold: int) -> tuple[Rows, Rows]:
    """Planted: learned from everybody, and tested on some of them."""
    assert self._folds is not None
    return Rows(self._raw), Rows(self._raw[self._folds == fold])


def one_fit_less(course: Course) -> list[Round]:
    """Planted: a unit is said to be in one training less."""
    return [*(course.folds - 2) * course.rounds, course.test]


PLANTED: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "learned from the test": (Rows, "apart", apart_but_not),
    "one fit is free": (training, "touched", one_fit_less),
    "folds by turns": (held_rows, "folds", by_place),
}


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("mistake", list(PLANTED))
def test_mistakes_in_the_price_are_noticed(mistake: str, neighbors: Neighbors, monkeypatch: pytest.MonkeyPatch) -> None:
    if mistake == "folds by turns" and neighbors is Neighbors.REPLACE:
        return  # who is replaced leaves a place of the same kind
    monkeypatch.setattr(*PLANTED[mistake])
    with pytest.raises(AssertionError):
        check_price(3, neighbors, F(0), SECRETS[0])


def test_a_charge_of_the_stated_price_is_enough_and_less_is_not() -> None:
    """By sums: the fits of all folds but one, and one test."""
    for neighbors in Neighbors:
        course, fit = course_of(4, neighbors)
        whole = sequential([fit, fit, fit, Loss(epsilon=F(1, 2), rho=F(1, 8))])
        assert recheck.problems(training.guarantee(course, neighbors, whole)) == []
        less = sequential([fit, fit, fit])
        assert recheck.problems(training.guarantee(course, neighbors, less)) != []


# ----------------------------------------------------------------------------------------------------------- the gate


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Any]:
    terms = Terms(budget=Budget(9), neighbors=Neighbors.ADD_REMOVE, policy=Policy.REFUSE, testing=True)
    with ledgers.create(tmp_path / "ledger.sqlite", terms) as made:
        yield made


class Watching:
    """A back end and a source of noise that write down what was spent when they were asked."""

    def __init__(self, ledger: Any, units: Table_) -> None:
        self.ledger, self.units, self.seen = ledger, units, list[tuple[str, float]]()

    def rows(self, course: Course) -> Rows:
        self.seen.append(("rows", float(self.ledger.spent().loss.epsilon)))
        return held(self.units).rows(course)

    def draw(self, _: object, size: int) -> Any:
        self.seen.append(("draw", float(self.ledger.spent().loss.epsilon)))
        return np.full(size, 1000)


def released(ledger: Any, steps: Watching, course: Course, loss: Loss, test: Any = check_of) -> Any:
    backend = cast(Backend, steps)
    gate = Gate(ledger=ledger, backend=backend, noise=cast(Any, steps), secret=lambda: b"")
    return training.train(Charge(loss=loss, request="0" * 64), course, lesson, gate, test)


def test_one_charge_before_a_row_is_read_and_scores_of_noisy_sums_alone(ledger: Any) -> None:
    course, fit = course_of(2, Neighbors.ADD_REMOVE, secret=SECRETS[0])
    loss = sequential([fit, Loss(epsilon=F(1, 2), rho=F(1, 8))])
    steps = Watching(ledger, UNITS * 3)
    release = released(ledger, steps, course, loss)
    assert steps.seen == [("rows", 1.5), *[("draw", 1.5)] * 8]  # of each fold three vectors and a test
    stored = json.loads(release.body)["noisy"]
    assert [len(one) for one in stored] == [1, 2, 1] * 2
    heard = training.replayed(course, lesson, release.body, check_of)
    assert heard == [([stored[0], stored[1]], stored[2][0]), ([stored[3], stored[4]], stored[5][0])]
    assert sum(sum(found) - 2000 for _, found in heard) == len(held(UNITS * 3).rows(course).raw)  # each row once


def test_folds_and_a_test_come_together(ledger: Any) -> None:
    course, fit = course_of(2, Neighbors.ADD_REMOVE)
    plain, _ = course_of(0, Neighbors.ADD_REMOVE)
    enough = sequential([fit, fit])
    steps = Watching(ledger, UNITS)
    for wrong, test in ((course, None), (plain, check_of)):
        with raises_code(RefusedQueryError, "gate-refused"):
            released(ledger, steps, wrong, enough, test)
    with raises_code(RefusedQueryError, "gate-refused"):
        released(ledger, steps, course, fit)
    assert (steps.seen, ledger.spent().loss.epsilon) == ([], 0)


def test_rows_without_folds_are_never_learned_from(ledger: Any) -> None:
    """A back end that does not divide the units."""
    course, fit = course_of(2, Neighbors.ADD_REMOVE)
    steps = Watching(ledger, UNITS)
    steps.rows = lambda _: Rows(np.zeros((3, 1)))  # type: ignore[method-assign]
    with pytest.raises(ReleaseFailedError):
        released(ledger, steps, course, sequential([fit, fit]))
    assert ledger.stored("0" * 64) is None
