"""What may be guessed of coins if a promise is kept: by listing whole mechanisms, and at the bound."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from privet.attacks.models.coins import SHARES, allowed, guesses
from privet.attacks.promise import Privacy, privacy

EPSILONS, DELTAS = (0, Fraction(1, 2), 1, 3), (Fraction(0), Fraction(1, 100), Fraction(1, 5))
Law = list[tuple[float, int]]  # the chance of each number of right guesses


def promise(epsilon: Any, delta: Any, neighbors: str = "replace") -> Privacy:
    return Privacy(epsilon=Fraction(epsilon), delta=Fraction(delta), neighbors=neighbors)


def shown(right: float, slots: int) -> Iterator[tuple[float, int]]:
    for one in itertools.product((True, False), repeat=slots):
        yield math.prod(right if hit else 1 - right for hit in one), sum(one)


def each_by_itself(epsilon: float, delta: float, slots: int) -> Law:
    """Each coin is shown with chance delta, and by randomized response otherwise."""
    answer = 1 / (1 + math.exp(-epsilon))
    return list(shown(delta + (1 - delta) * answer, slots))


def all_at_once(epsilon: float, delta: float, slots: int) -> Law:
    """With chance delta all coins are shown."""
    answer = 1 / (1 + math.exp(-epsilon))
    return [(delta, slots), *((chance * (1 - delta), hits) for chance, hits in shown(answer, slots))]


def excess(law: Law, slots: int, share: float) -> float:
    """How much more likely the law is to have v or more right than the binomial, for the worst v."""
    return max(
        sum(chance for chance, hits in law if hits >= value) - float(binom.sf(value - 1, slots, share))
        for value in range(slots + 1)
    )


def holds(bound: Callable[[Privacy, int], tuple[float, float]]) -> bool:
    """On all mechanisms, numbers of coins and prices listed here."""
    for epsilon, delta, slots in itertools.product(EPSILONS, DELTAS, (1, 2, 5)):
        share, slack = bound(promise(epsilon, delta), slots)
        for law in (each_by_itself, all_at_once):
            if excess(law(float(epsilon), float(delta), slots), slots, share) > slack + 1e-9:
                return False
    return True


def test_no_listed_mechanism_shows_more() -> None:
    assert holds(allowed)


def test_the_bound_is_attained() -> None:
    """By randomized response for any number of coins, and with a delta by one coin."""
    for epsilon, slots in itertools.product(EPSILONS, (1, 2, 5)):
        share, slack = allowed(promise(epsilon, 0), slots)
        assert slack == 0
        assert excess(each_by_itself(float(epsilon), 0, slots), slots, share - 1e-6) > 0
    for epsilon, delta in itertools.product(EPSILONS, DELTAS):
        share, slack = allowed(promise(epsilon, delta), 1)
        assert excess(each_by_itself(float(epsilon), float(delta), 1), 1, share) == pytest.approx(slack, abs=1e-9)


def test_a_bound_that_is_too_low_is_noticed() -> None:
    """Half of epsilon, no slack for delta, or the slack of one coin for all of them."""
    assert not holds(lambda one, coins: allowed(promise(one.epsilon / 2, one.delta), coins))
    assert not holds(lambda one, coins: (allowed(one, coins)[0], 0.0))
    assert not holds(lambda one, coins: (allowed(one, coins)[0], allowed(one, coins)[1] / (2 * coins)))


def test_somebody_else_in_the_place_is_two_steps() -> None:
    """A coin decides which of two is in. Randomized response of either, with a guess only where they differ, shows it
    as often as twice epsilon allows."""
    for epsilon in (0.5, 1.0, 3.0):
        answer = 1 / (1 + math.exp(-epsilon))
        seen = answer**2 / (answer**2 + (1 - answer) ** 2)
        share, _ = allowed(promise(epsilon, 0, "add-remove"), 1)
        assert share == pytest.approx(seen)
        assert share == allowed(promise(2 * epsilon, 0), 1)[0]
        assert share >= seen - 1e-15
    delta = allowed(promise(1, Fraction(1, 100), "add-remove"), 1)[1]
    assert delta == pytest.approx(0.01 * (1 + math.e) / (1 + math.exp(2)))


def test_large_epsilons_allow_everything() -> None:
    assert allowed(privacy(10_000), 5)[0] == 1.0


def table(models: int, slots: int, epsilon: float, seed: int) -> tuple[Any, Any]:
    """Scores by randomized response of who of a slot is in, and who is."""
    draw = np.random.default_rng(seed)
    coins = draw.random((models, slots)) < 0.5
    said = coins ^ (draw.random((models, slots)) > 1 / (1 + math.exp(-epsilon)))
    return np.concatenate([said, ~said], axis=1).astype(float), np.concatenate([coins, ~coins], axis=1)


def test_a_kept_promise_is_not_refuted_more_often_than_stated() -> None:
    """At the limit: 400 tables, each refuted with 5 % at most. More than 60 have a chance of less than 1e-9."""
    assert binom.sf(60, 400, 0.05) < 1e-9
    refuted = 0
    for seed in range(400):
        found = guesses(*table(2, 50, 1.0, seed), promise(1, 0))
        assert found is not None
        refuted += any(one.refuted for one in found)
    assert refuted <= 60


def test_a_broken_promise_is_refuted() -> None:
    for seed in range(5):
        found = guesses(*table(4, 200, 1.0, seed), promise(Fraction(1, 2), 0))
        assert found is not None
        assert found[0].refuted
        assert [one.guessed for one in found] == [math.ceil(share * 800) for share in SHARES]


def test_only_the_surest_are_guessed() -> None:
    scores = np.array([[5.0, 0.1, -3.0, 0.0, 0.0, 0.0]])
    inside = np.array([[True, False, False, False, True, True]])
    found = guesses(scores, inside, None)
    assert found is not None
    assert [(one.guessed, one.right) for one in found] == [(3, 2), (1, 1), (1, 1), (1, 1), (1, 1)]
    assert not any(one.refuted for one in found)


def test_a_delta_for_which_there_are_too_many_coins() -> None:
    scores, inside = table(2, 100, 1.0, 0)
    assert guesses(scores, inside, promise(1, Fraction(1, 1000))) is None
    assert guesses(scores, inside, promise(1, Fraction(1, 10**6))) is not None


def test_models_that_failed_count_for_delta() -> None:
    """With chance delta a training shows all coins, and otherwise it fails: of 400 models one may be left, all right.
    Its coins alone would seem to leave delta no room."""
    scores, inside = table(1, 30, 20.0, 0)
    kept = promise(1, Fraction(1, 1000))
    alone = guesses(scores, inside, kept)
    assert alone is not None
    assert any(one.refuted for one in alone)
    assert guesses(scores, inside, kept, failed=399) is None
