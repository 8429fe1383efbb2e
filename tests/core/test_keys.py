"""Keys that are not public: the exact law of what is shown, alone and with all that follows from it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction as F
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.asked import KINDS, N, average, bounds, key, ledger, plan, query
from support.fit import FALSE_ALARM, p_value
from support.noise_laws import bin_edges, gaussian_cdf, laplace_cdf
from support.refusals import raises_code

from privet import engine, recheck
from privet.backends import Spread, Task
from privet.core.accountant import Budget, rho_cap
from privet.core.cells import Keys, in_order, keys_from, plain_keys
from privet.core.expression import Column
from privet.core.laws import Choice, DiscreteGaussian, DiscreteLaplace, Law
from privet.core.loss import Loss
from privet.core.measures import KEYS
from privet.core.mechanisms import gaussian_key_threshold, key_threshold
from privet.core.parts import Gauge, Part, Setting, gaussian_keys_for, keys_for, keys_sensitivity, priced
from privet.core.plan import Aggregate, Function
from privet.core.sensitivity import Bounds, Sensitivity
from privet.core.unit import Neighbors
from privet.engine import FreshNoise
from privet.errors import InvalidInputError, RefusedQueryError, ReleaseFailedError
from privet.estimates.accuracy import half_width
from privet.estimates.moments import MomentSpan, Noisy
from privet.estimates.priced import Priced, outline
from privet.estimates.pricing import Price, _beside_keys, _gaussian, _shared, _with_keys, ask
from privet.ledger import Terms
from privet.query import Query
from privet.testing import exact

Pairs = list[tuple[float, float]]  # of each outcome its probability in two neighboring tables
CITY = key("city")
WIDE = Budget(20, F(1, 2))
SURE = 1 + 1e-9


@lru_cache(maxsize=64)
def bell(variance: F) -> tuple[int, list[float], list[float]]:
    """P[X = x] and P[X >= x] for all x from minus the first number to that number."""
    far = math.ceil(20 * math.sqrt(variance)) + 2
    weights = [math.exp(-x * x / (2 * float(variance))) for x in range(-far, far + 1)]
    whole = math.fsum(weights)
    sums = list(itertools.accumulate(reversed(weights)))[::-1]  # the small ones first
    return far, [part / whole for part in weights], [part / whole for part in sums]


def at_least(law: Law, j: int) -> float:
    """P[X >= j]; of two-sided geometric noise by its formula."""
    if isinstance(law, DiscreteGaussian):
        far, _, found = bell(law.variance)
        return found[max(j + far, 0)] if j <= far else 0.0
    q = math.exp(-1 / law.scale)
    return q**j / (1 + q) if j >= 1 else 1 - q ** (1 - j) / (1 + q)


def exactly(law: Law, x: int) -> float:
    """P[X = x]."""
    if isinstance(law, DiscreteGaussian):
        far, found, _ = bell(law.variance)
        return found[x + far] if abs(x) <= far else 0.0
    return at_least(law, x) - at_least(law, x + 1)


def noisy(law: Law, one: int, other: int) -> Pairs:
    """A number with noise; with Laplace noise outcomes beyond both numbers have one ratio, so they are one outcome."""
    if not isinstance(law, DiscreteLaplace):
        far = math.ceil(9 * math.sqrt(law.variance))
        span = range(min(one, other) - far, max(one, other) + far + 1)
        return [(exactly(law, x - one), exactly(law, x - other)) for x in span]
    low, high = sorted((one, other))
    middle = [
        tuple(at_least(law, n - c) - at_least(law, n + 1 - c) for c in (one, other)) for n in range(low + 1, high)
    ]
    ends = [tuple(1 - at_least(law, low + 1 - c) for c in (one, other))] if low < high else []
    return [*ends, *middle, tuple(at_least(law, high - c) if low < high else 1.0 for c in (one, other))]  # type: ignore[list-item]


def shown(law: Law, threshold: int, one: int, other: int) -> tuple[Pairs, Pairs]:
    """A key with so many people: the outcome that it is hidden, and the noisy numbers with which it is shown.

    Nobody's key is never shown. Of Gaussian noise all numbers have ratios of their own, so far as there are any.
    """
    top = max(threshold, one, other)
    if isinstance(law, DiscreteGaussian):
        top += math.ceil(9 * math.sqrt(law.variance))

    def chance(n: int, people: int) -> float:
        return exactly(law, n - people) if people else 0.0

    numbers = [(chance(n, one), chance(n, other)) for n in range(threshold, top)]
    end = tuple(at_least(law, top - people) if people else 0.0 for people in (one, other))
    hidden = tuple(1 - at_least(law, threshold - people) if people else 1.0 for people in (one, other))
    return [hidden], [*numbers, end]  # type: ignore[list-item]


def outcomes(law: Law, threshold: int, one: int, other: int) -> Pairs:
    hidden, numbers = shown(law, threshold, one, other)
    return hidden + numbers


def together(parts: Iterable[Pairs], digits: int = 9) -> Pairs:
    """Independent outcomes; those with the same ratio are joined. With fewer digits delta is up to that much lower."""
    found: Pairs = [(1.0, 1.0)]
    for part in parts:
        joined: dict[float, tuple[float, float]] = {}
        for (a, b), (c, d) in itertools.product(found, part):
            p, q = a * c, b * d
            if p or q:
                ratio = round(math.log(p / q), digits) if p and q else math.inf if p else -math.inf
                before = joined.get(ratio, (0.0, 0.0))
                joined[ratio] = (before[0] + p, before[1] + q)
        found = list(joined.values())
    return found


def delta_at(epsilon: float, pairs: Pairs) -> float:
    """The smallest delta, whichever of the two tables is the first."""
    factor = math.exp(epsilon)
    return max(math.fsum(max(0.0, p - factor * q) for p, q in way) for way in (pairs, [(q, p) for p, q in pairs]))


SETTINGS = list(itertools.product([1, 2, 3], [F(1, 2), F(1), F(4)], [F(1, 100), F(1, 10**6)]))


@pytest.mark.parametrize(("groups", "epsilon", "delta"), SETTINGS)
def test_what_one_unit_changes_costs_what_is_charged(groups: int, epsilon: F, delta: F) -> None:
    """A unit that comes has keys of its own and keys of others, some of them just at the threshold."""
    limits = Bounds(groups=groups, rows=3, neighbors=Neighbors.ADD_REMOVE)
    law, threshold, loss = keys_for(epsilon, delta, limits)
    assert (loss.epsilon, loss.delta, loss.rho_delta, loss.rho) == (epsilon, delta, delta, epsilon**2 / 2)
    worst = 0.0
    for own in range(groups + 1):
        for others in itertools.combinations_with_replacement((1, threshold - 1, threshold + 9), groups - own):
            changed = [(0, 1)] * own + [(n, n + 1) for n in others]
            pairs = together([outcomes(law, threshold, *one) for one in changed])
            worst = max(worst, delta_at(float(epsilon), pairs))
            assert delta_at(float(epsilon), pairs) <= float(delta) * SURE
    assert worst > float(delta) * math.exp(-1 / law.scale) / 2  # the threshold is not higher than it must be
    old = together([outcomes(law, threshold, threshold + 9, threshold + 10)] * groups)
    assert delta_at(float(epsilon) * 0.98, old) > 0  # and epsilon is what others' keys alone cost
    assert delta_at(float(epsilon), old) <= 1e-13  # floats


@pytest.mark.parametrize(("groups", "epsilon", "delta"), SETTINGS)
def test_what_another_unit_changes_costs_what_is_charged(groups: int, epsilon: F, delta: F) -> None:
    """One unit goes, with keys that vanish and keys that stay; another comes, with new keys and old ones."""
    limits = Bounds(groups=groups, rows=3, neighbors=Neighbors.REPLACE)
    law, threshold, loss = keys_for(epsilon, delta, limits)
    assert loss.epsilon == epsilon
    assert delta * F(999_999, 10**6) < loss.delta == loss.rho_delta <= delta
    assert loss.rho == epsilon**2 / 2
    half = float(epsilon) / 2  # one unit more or less is charged twice, the second time with a factor
    lone = together([outcomes(law, threshold, 0, 1)] * groups)
    assert delta_at(half, lone) * (1 + math.exp(half)) <= float(delta) * SURE
    for gone, new in itertools.product(range(groups + 1), repeat=2):
        for people in (1, threshold, threshold + 9):
            stay, join = [(people + 1, people)] * (groups - gone), [(people, people + 1)] * (groups - new)
            changed = [(1, 0)] * gone + [(0, 1)] * new + stay + join
            pairs = together([outcomes(law, threshold, *one) for one in changed])
            assert delta_at(float(epsilon), pairs) <= float(loss.delta) * SURE


def test_a_threshold_one_lower_is_caught() -> None:
    law, threshold, _ = keys_for(F(1), F(1, 1000), Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE))
    assert delta_at(1.0, outcomes(law, threshold, 0, 1)) <= 1 / 1000
    assert delta_at(1.0, outcomes(law, threshold - 1, 0, 1)) > 1 / 1000


@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_keys_that_stay_are_paid_in_zcdp(neighbors: Neighbors) -> None:
    """Given that no key of one unit alone is shown, divergences of all orders are below rho."""
    limits = Bounds(groups=2, rows=1, neighbors=neighbors)
    law, threshold, loss = keys_for(F(2), F(1, 1000), limits)
    one = outcomes(law, threshold, threshold + 1, threshold)
    back = [(q, p) for p, q in one]
    pairs = together([one] * 2 + ([back] * 2 if neighbors is Neighbors.REPLACE else []))
    for order in (1.01, 2, 5, 30):
        divergence = math.log(math.fsum(p * (p / q) ** (order - 1) for p, q in pairs)) / (order - 1)
        assert divergence <= order * float(loss.rho or 0)


# Gaussian noise on the numbers of people


ORDERS = (1.01, 2, 5, 30)
BELLS = list(itertools.product(Neighbors, [1, 2, 3], [F(1, 2), F(2)], [F(1, 50), F(1, 10**6)]))


def divergence(pairs: Pairs, order: float) -> float:
    """Of Renyi, whichever of the two tables is the first. Those of independent keys add up."""
    return max(
        math.log(math.fsum(p * (p / q) ** (order - 1) for p, q in way if p)) / (order - 1)
        for way in (pairs, [(q, p) for p, q in pairs])
    )


def worlds(neighbors: Neighbors, groups: int) -> Iterator[tuple[int, int, int]]:
    """How many keys only the first table has, how many only the second, and of how many others numbers can differ."""
    for gone, new in itertools.product(range(groups + 1), repeat=2):
        if neighbors is Neighbors.REPLACE:
            yield gone, new, 2 * groups - gone - new
        elif not gone:
            yield gone, new, groups - new


@pytest.mark.parametrize(("neighbors", "groups", "epsilon", "delta"), BELLS)
def test_gaussian_keys_cost_what_is_charged(neighbors: Neighbors, groups: int, epsilon: F, delta: F) -> None:
    """By all outcomes. On either side, but for events of probability delta, no key is shown that the other side lacks;
    given that, they are at most rho apart at any order. So the release is delta-approximate rho-zCDP, and delta has no
    factor under replace. Both are attained, and the threshold is the smallest."""
    limits = Bounds(groups=groups, rows=3, neighbors=neighbors)
    rho = rho_cap(epsilon, delta)
    law, threshold, loss = gaussian_keys_for(rho, delta, limits)
    assert loss == Loss(epsilon=None, delta=delta, rho=rho, rho_delta=delta)
    far = threshold + math.ceil(12 * math.sqrt(law.variance))
    levels = (1, threshold - 1, threshold, far)
    apart = {order: [divergence(outcomes(law, threshold, n, n + 1), order) for n in levels] for order in ORDERS}
    most, lost = dict.fromkeys(ORDERS, 0.0), 0.0
    for gone, new, others in worlds(neighbors, groups):
        for order in ORDERS:
            most[order] = max(most[order], others * max(apart[order]))
        lost = max(lost, *(1 - (1 - at_least(law, threshold - 1)) ** lone for lone in (gone, new)))
    assert all(most[order] <= order * float(rho) * SURE for order in ORDERS)
    assert math.isclose(most[2], 2 * rho, rel_tol=1e-6)
    assert lost <= float(delta) * SURE
    assert groups * at_least(law, threshold - 2) > float(delta)
    assert lost <= float(recheck_delta(law, threshold, limits)) <= float(delta)


def recheck_delta(law: DiscreteGaussian, threshold: int, limits: Bounds) -> F:
    return min(F(1), limits.groups * recheck._tail(law.variance, threshold - 1))


@pytest.mark.parametrize(("neighbors", "groups"), [(one, k) for one in Neighbors for k in (1, 2)])
def test_an_epsilon_covers_gaussian_keys(neighbors: Neighbors, groups: int) -> None:
    """The same on the basic gauge, with keys that vanish, come and stay: epsilon at half of delta, beside the other
    half. A quarter of the variance is too little."""
    epsilon, half = F(2), F(1, 50)
    limits = Bounds(groups=groups, rows=1, neighbors=neighbors)
    law, threshold, _ = gaussian_keys_for(rho_cap(epsilon, half), half, limits)
    worst, cheap = 0.0, 0.0
    for gone, new, others in worlds(neighbors, groups):
        for people in (1, threshold, threshold + 9):
            stay = [(people, people + 1), (people + 1, people)] * groups
            changed = [(1, 0)] * gone + [(0, 1)] * new + stay[:others]
            worst = max(worst, delta_at(float(epsilon), together([outcomes(law, threshold, *one) for one in changed])))
            narrow = DiscreteGaussian(law.variance / 4)
            pairs = together([outcomes(narrow, threshold, *one) for one in changed])
            cheap = max(cheap, delta_at(float(epsilon), pairs))
    assert float(half) / 4 < worst <= 2 * half < cheap


def test_gaussian_keys_priced_for_one_unit_are_too_cheap_where_one_is_replaced() -> None:
    """A planted bug: the same noise under either relation."""
    limits = Bounds(groups=2, rows=1, neighbors=Neighbors.ADD_REMOVE)
    law, threshold, _ = gaussian_keys_for(F(1, 10), F(1, 1000), limits)
    changed = [(threshold + 10, threshold + 9)] * 2 + [(threshold + 9, threshold + 10)] * 2
    assert sum(divergence(outcomes(law, threshold, *one), 2) for one in changed) > 1.9 * 2 * 0.1


def test_a_gaussian_threshold_one_lower_is_caught() -> None:
    law, threshold, _ = gaussian_keys_for(F(1, 50), F(1, 1000), Bounds(groups=1, rows=1, neighbors=Neighbors.REPLACE))
    assert at_least(law, threshold - 1) <= 1 / 1000 < at_least(law, threshold - 2)


def test_gaussian_keys_take_the_place_of_laplace_where_they_err_less() -> None:
    """At epsilon 1 and delta 1e-6: from 4 groups a unit on for the number of people itself; thresholds fall to about a
    third and a quarter. Under replace the same as with twice the groups."""

    def keys(groups: int, neighbors: Neighbors) -> Part:
        limits = Bounds(groups=groups, rows=1, neighbors=neighbors)
        people = Aggregate(name="p", function=Function.COUNT_DISTINCT)
        return asked_for({"epsilon": 1, "delta": "1e-6"}, limits, people).parts[-1]

    laws = [type(keys(groups, Neighbors.ADD_REMOVE).law) for groups in range(1, 7)]
    assert laws == [DiscreteLaplace] * 3 + [DiscreteGaussian] * 3
    assert [keys(groups, Neighbors.ADD_REMOVE).threshold for groups in (3, 5, 20, 40)] == [45, 56, 116, 167]
    assert [keys(groups, Neighbors.REPLACE).threshold for groups in (1, 3, 20)] == [30, 60, 163]


def test_a_unit_counts_once_for_each_key() -> None:
    for neighbors, factor in ((Neighbors.ADD_REMOVE, 1), (Neighbors.REPLACE, 2)):
        limits = Bounds(groups=3, rows=7, neighbors=neighbors)
        sensitivity = keys_sensitivity(limits)
        assert (sensitivity.l1, sensitivity.linf, sensitivity.touched) == (3 * factor, 1, 3 * factor)
        assert keys_for(F(1), F(1, 10**9), limits)[0].scale == sensitivity.l1


# What is computed for the keys that are shown, and what is left for the rest


def asked_for(price: Mapping[str, object], limits: Bounds, *aggregates: Aggregate, **more: Any) -> Priced:
    read = outline(plan((CITY,), *(aggregates or (N,)), **more), KINDS, limits)
    return ask(read, WIDE, Price(**price))


def whole_release(asked: Priced, people: Mapping[str, int], mine: Sequence[str], keep: int) -> Iterator[Pairs]:
    """All outcomes of keys and counts, without a unit and with it: one list for each set of keys that are shown.

    The unit has `rows` rows of each of its keys; in the second phase it keeps `keep` cells, the first or the last.
    """
    counts, chosen = asked.parts
    assert not isinstance(counts.law, Choice)
    assert not isinstance(chosen.law, Choice)
    assert chosen.threshold is not None
    names = sorted({*people, *mine})
    first = {
        name: shown(chosen.law, chosen.threshold, people.get(name, 0), people.get(name, 0) + (name in mine))
        for name in names
    }
    rows = asked.bounds.rows
    for visible in itertools.product((0, 1), repeat=len(names)):
        keys = [first[name][seen] for name, seen in zip(names, visible, strict=True)]
        cells = [name for name, seen in zip(names, visible, strict=True) if seen and name in mine]
        left = any(name in mine and not seen for name, seen in zip(names, visible, strict=True))
        touched = [*cells, "rest"] if left and asked.cells.rest else cells
        if counts.measure.rest:
            touched, rows = touched[len(cells) :], 1
        shifts = [noisy(counts.law, 0, rows) for _ in touched[:keep]]
        yield together([*keys, *shifts], 9 if isinstance(chosen.law, DiscreteLaplace) else 3)


WAYS = {
    "Laplace": lambda read: _shared(read, Gauge.EPSILON, F(2), F(1, 50)),
    "Gaussian": lambda read: _with_keys(read, F(1, 50), epsilon=F(2)),
    "Gaussian keys": lambda read: _beside_keys(read, F(2), F(1, 50)),
}
NEW = [("a",), ("new",), ("a", "new"), ("a", "b"), ("new", "newer")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("mine", NEW, ids="+".join)
def test_people_of_the_rest_are_paid_for_once(mine: tuple[str, ...], groups: int, way: str) -> None:
    """What shown keys have is known from their choice; one more number, of the rest alone, moves by 1."""
    limits = Bounds(groups=groups, rows=3, neighbors=Neighbors.ADD_REMOVE)
    read = outline(plan((CITY,), Aggregate(name="p", function=Function.COUNT_DISTINCT), other="rest"), KINDS, limits)
    ((_, priced),) = WAYS[way](read)
    asked = priced()
    of_rest, keys = asked.parts
    assert (of_rest.measure.rest, of_rest.sensitivity) == (True, Sensitivity(l1=1, l2_squared=1, linf=1, touched=1))
    assert (asked.loss.epsilon, asked.loss.delta) == (2, F(1, 50))
    worst = 0.0
    for counted in itertools.combinations(mine, min(groups, len(mine))):
        for around in (1, keys.threshold or 0, (keys.threshold or 0) + 3):
            people = {"a": around, "b": around}
            pairs = [pair for part in whole_release(asked, people, counted, groups) for pair in part]
            assert math.isclose(math.fsum(p for p, _ in pairs), 1, rel_tol=1e-9)
            worst = max(worst, delta_at(2, pairs))
    assert worst <= 0.02 * SURE


@pytest.mark.parametrize("other", [None, "elsewhere"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("mine", NEW, ids="+".join)
def test_keys_and_counts_together_cost_the_sum(mine: tuple[str, ...], groups: int, way: str, other: str | None) -> None:
    """The second phase sees which keys were shown. Everything that is published, against the whole charge."""
    limits = Bounds(groups=groups, rows=2, neighbors=Neighbors.ADD_REMOVE)
    ((_, priced),) = WAYS[way](outline(plan((CITY,), N, other=other), KINDS, limits))
    asked = priced()
    _, threshold = asked.parts[0], asked.parts[1].threshold
    assert threshold is not None
    assert (asked.loss.epsilon, asked.loss.delta) == (2, F(2, 100))
    for counted in itertools.combinations(mine, min(groups, len(mine))):  # whichever keys bounding leaves
        for around in (1, threshold, threshold + 3):
            people = {"a": around, "b": around}
            pairs = [pair for part in whole_release(asked, people, counted, groups) for pair in part]
            assert math.isclose(math.fsum(p for p, _ in pairs), 1, rel_tol=1e-9)
            assert math.isclose(math.fsum(q for _, q in pairs), 1, rel_tol=1e-9)
            assert delta_at(2, pairs) <= 0.02 * SURE


@pytest.mark.parametrize("mine", [("a", "new"), ("new", "newer"), ("a", "b")], ids="+".join)
def test_keys_and_gaussian_counts_together_cost_the_sum(mine: tuple[str, ...]) -> None:
    limits = Bounds(groups=2, rows=1, neighbors=Neighbors.ADD_REMOVE)
    read = outline(plan((CITY,), N, other="elsewhere"), KINDS, limits)
    ((_, priced),) = _gaussian(read, F(3), F(1, 20))  # with Laplace noise on keys
    asked = priced()
    assert isinstance(asked.parts[0].law, DiscreteGaussian)
    assert (asked.loss.epsilon, asked.loss.delta) == (3, F(1, 20))
    assert asked.parts[1].threshold is not None
    for around in (1, asked.parts[1].threshold, asked.parts[1].threshold + 3):
        people = {"a": around, "b": around}
        pairs = [pair for part in whole_release(asked, people, mine, 2) for pair in part]
        assert delta_at(3, pairs) <= 1 / 20


def test_a_rest_that_is_not_bounded_is_caught() -> None:
    """A planted bug: leftover groups beside the allowed number of cells."""
    limits = Bounds(groups=1, rows=2, neighbors=Neighbors.ADD_REMOVE)
    asked = asked_for({"epsilon": 2, "delta": "0.0001"}, limits, other="elsewhere")
    assert asked.parts[1].threshold is not None
    people = {"a": asked.parts[1].threshold + 3}
    pairs = [pair for part in whole_release(asked, people, ("a", "new"), 2) for pair in part]
    assert delta_at(2, pairs) > 0.001


# The interval of a number that is published because it is large


def interval_of(part: Part, number: int, share: F) -> MomentSpan:
    """The interval of a number that is shown."""
    assert not isinstance(part.law, Choice)
    span = Noisy(measure=part.measure, number=number, width=half_width(part.law, share), floor=part.threshold).span
    assert span is not None
    return span


def least_covered(part: Part, counts: Iterable[int], share: F) -> float:
    """Of all noisy numbers with which a key is shown, how many have an interval that holds the number of its people:
    for the number where these are fewest."""
    law = part.law
    assert not isinstance(law, Choice)
    assert part.threshold is not None
    far = math.ceil(12 * math.sqrt(law.variance) if isinstance(law, DiscreteGaussian) else 30 * law.scale) + 2
    numbers = range(part.threshold, max(part.threshold, *counts) + far)
    found = {number: interval_of(part, number, share) for number in numbers}

    def covered(count: int) -> float:
        hits = [n for n, one in found.items() if one.low <= count <= one.high]
        chances = [exactly(law, n - count) for n in hits]
        return math.fsum(chances) / at_least(law, numbers.start - count)

    return min(map(covered, counts))


def keys_part(law: DiscreteLaplace | DiscreteGaussian, threshold: int) -> Part:
    made = priced([KEYS], Setting(cells=None, bounds=bounds(), delta=F(1, 10**6)), Gauge.EPSILON, [F(1)])[0]
    return dataclasses.replace(made, law=law, threshold=threshold)


@pytest.mark.parametrize("scale", [F(1, 10), F(1, 3), F(2, 5), F(9, 10), F(1), F(5, 2), F(4)])
@pytest.mark.parametrize("share", [F(1, 10), F(1, 2), F(95, 100), F(999, 1000)])
def test_the_interval_of_a_shown_key_covers_as_often_as_it_says(scale: F, share: F) -> None:
    """For every true number of people, given that the key is shown: also for keys that are there by luck alone."""
    law = DiscreteLaplace(scale)
    for threshold in {2, 3, key_threshold(law, F(1, 100), 2), key_threshold(law, F(1, 10**6), 1)}:
        part = keys_part(law, threshold)
        counts = range(1, threshold + math.ceil(4 * scale) + 3)
        assert least_covered(part, counts, share) >= float(share) * (1 - 1e-9)


@pytest.mark.parametrize("variance", [F(1, 10), F(2, 5), F(1), F(30)])
@pytest.mark.parametrize("share", [F(1, 2), F(95, 100)])
def test_the_interval_of_a_key_with_gaussian_noise_covers_as_often_as_it_says(variance: F, share: F) -> None:
    law = DiscreteGaussian(variance)
    for threshold in (2, gaussian_key_threshold(law, F(1, 10**6), 2)):
        counts = range(1, threshold + math.ceil(4 * math.sqrt(variance)) + 3)
        assert least_covered(keys_part(law, threshold), counts, share) >= float(share) * (1 - 1e-9)


def test_an_interval_that_begins_at_the_threshold_is_caught() -> None:
    """With little noise a lone key that is shown is shown at the threshold: its interval must not begin there."""
    part = keys_part(DiscreteLaplace(F(1, 3)), 5)
    assert interval_of(part, 5, F(95, 100)).low == 1
    assert interval_of(part, 6, F(1, 10)).low == 6  # no half width at all
    assert interval_of(part, 9, F(95, 100)).low == 8
    assert half_width(part.law, F(95, 100)) == 1


@pytest.mark.parametrize("scale", [F(1, 3), F(1), F(4)])
def test_a_narrower_interval_is_caught(scale: F) -> None:
    """With one step less to each side some number of people is covered less often than said."""
    law, share = DiscreteLaplace(scale), F(95, 100)
    part = keys_part(law, key_threshold(law, F(1, 100), 2))
    width = half_width(law, share)
    narrow = max((F(n, 1000) for n in range(1, 950) if half_width(law, F(n, 1000)) == width - 1), default=None)
    assert narrow is not None
    assert part.threshold is not None
    assert least_covered(part, range(1, part.threshold + 20), narrow) < share


@pytest.mark.parametrize("law", [DiscreteLaplace(F(7, 2)), DiscreteGaussian(F(441))], ids=str)
def test_noise_at_keys_has_the_claimed_law(law: Law) -> None:
    """60,000 keys with far more people than the threshold: what is shown less what is there. The law fits at 1e-9, and
    one that is 20 % wider or narrower does not."""
    limits = Bounds(groups=1, rows=1, neighbors=Neighbors.ADD_REMOVE)
    asked = asked_for({"epsilon": 1, "delta": "1e-6"}, limits, Aggregate(name="p", function=Function.COUNT_DISTINCT))
    parts = (dataclasses.replace(asked.parts[0], law=law),)
    people: dict[Keys, int] = {(f"{n}",): 10**6 for n in range(60_000)}
    task = query(dataclasses.replace(asked, parts=parts), None).task(b"")  # type: ignore[arg-type]
    noise = np.array([number - 10**6 for number in engine._shown(task, people, FreshNoise()).values()])
    assert len(noise) == len(people)
    bell = isinstance(law, DiscreteGaussian)
    cdf, scale = (gaussian_cdf, math.sqrt(law.variance)) if bell else (laplace_cdf, float(law.scale))
    edges = bin_edges(scale, cdf)
    counts = np.bincount(np.searchsorted(edges, noise, side="left"), minlength=len(edges) + 1)
    fits = {
        times: p_value(counts, np.diff(cdf(edges, scale * times), prepend=0, append=1)) > FALSE_ALARM
        for times in (0.8, 1, 1.2)
    }
    assert fits == {0.8: False, 1: True, 1.2: False}


# The path of a query


class Fake:
    """A backend that knows numbers of people and a count of 10 for each of them."""

    def __init__(self, people: Mapping[Keys, int]) -> None:
        self.people_of = people
        self.tasks: list[Task] = []

    def people(self, task: Task, written: object = None) -> dict[Keys, int]:
        self.tasks.append(task)
        return dict(self.people_of)

    def exact(self, task: Task, written: object = None) -> list[list[int]]:
        self.tasks.append(task)
        numbers = [10 * self.people_of[one] for one in task.cells.chosen or ()]
        vector = numbers + [7] * task.cells.rest
        return [vector * measure.numbers for measure in task.measures]

    def write(self, task: Task) -> None: ...

    def ready(self, *tables: object) -> None: ...


class Still:
    """Noise of 0, or another number for keys; and a choice that is always the lowest."""

    def __init__(self, *extra: int) -> None:
        self.extra, self.sizes = list(extra), list[int]()

    def draw(self, law: Law, size: int) -> Any:
        self.sizes.append(size)
        return np.array((self.extra + [0] * size)[:size] if len(self.sizes) == 1 else [0] * size, np.int64)

    def choose(self, spread: Spread, measure: object, law: Choice) -> int:
        raise NotImplementedError

    def top(self, scores: object, law: object) -> list[int]:
        raise NotImplementedError


def prepared(folder: Path, people: Mapping[Keys, int], *extra: int, testing: bool = True, **more: Any) -> Query:
    read = outline(plan((CITY,), N, average("a", "age"), **more), KINDS, bounds())
    asked = ask(read, Budget(3, "1e-6"), Price(epsilon=1, delta="1e-8"))
    folder.mkdir()
    made = query(asked, ledger(folder, budget=Budget(3, "1e-6"), testing=testing))
    gate = dataclasses.replace(made.gate, backend=Fake(people), noise=Still(*extra), secret=lambda: b"secret")  # type: ignore[arg-type]
    return dataclasses.replace(made, gate=gate)


def threshold_of(asked: Query) -> int:
    found = asked.priced.parts[-1].threshold
    assert found is not None
    return found


def body_of(asked: Query) -> dict[str, Any]:
    asked.release()
    stored = asked.gate.ledger.stored(asked.request)
    assert stored is not None
    return json.loads(stored.body)  # type: ignore[no-any-return]


def test_a_key_is_shown_from_the_threshold_on_and_nothing_else_is_stored(tmp_path: Path) -> None:
    enough = threshold_of(prepared(tmp_path / "any", {}))
    people = {("Oslo",): enough, ("Bergen",): enough - 1, (None,): enough + 5, ("Aas",): enough + 2}
    asked = prepared(tmp_path / "one", people)
    answer = asked.release()
    assert [row["city"] for row in answer.rows] == ["Aas", "Oslo", None]
    body = body_of(asked)
    assert body["keys"] == [["Aas"], ["Oslo"], [None]]
    numbers = [10 * (enough + 2), 10 * enough, 10 * (enough + 5)]  # twice for the two sides of a pair
    assert body["noisy"] == [numbers, numbers * 2, [enough + 2, enough, enough + 5]]
    assert "Bergen" not in json.dumps(body)
    backend, noise = asked.gate.backend, asked.gate.noise
    assert isinstance(backend, Fake)
    assert isinstance(noise, Still)
    assert noise.sizes[0] == 4  # every key that occurs is tried
    assert [task.secret for task in backend.tasks] == [b"secret"] * 2
    assert [task.cells.chosen for task in backend.tasks] == [None, (("Aas",), ("Oslo",), (None,))]


def test_hidden_keys_and_the_order_of_the_engine_leave_no_trace(tmp_path: Path) -> None:
    enough = threshold_of(prepared(tmp_path / "any", {}))
    tables: list[dict[Keys, int]] = [
        {("b",): enough, ("a",): enough, ("hidden",): 1},
        {("a",): enough, ("zzz",): enough - 1, ("b",): enough},
    ]
    bodies = [json.dumps(body_of(prepared(tmp_path / str(n), people))) for n, people in enumerate(tables)]
    assert bodies[0] == bodies[1]


def test_no_key_at_all_is_an_answer(tmp_path: Path) -> None:
    for n, people in enumerate([{}, {("a",): 1}]):
        asked = prepared(tmp_path / str(n), people)
        assert asked.release().rows == []
        assert body_of(asked) == {"noisy": [[]] * len(asked.priced.parts), "keys": []}
        backend = asked.gate.backend
        assert isinstance(backend, Fake)
        assert len(backend.tasks) == 1


def test_the_rest_is_there_even_if_no_key_is(tmp_path: Path) -> None:
    for n, people in enumerate([{}, {("a",): 1}]):
        asked = prepared(tmp_path / str(n), people, other="elsewhere")
        (row,) = asked.release().rows
        assert (row["city"], row["n"]) == ("elsewhere", 7)
    enough = threshold_of(asked)
    asked = prepared(tmp_path / "both", {("a",): enough, ("b",): 1}, other="elsewhere")
    assert [(row["city"], row["n"]) for row in asked.release().rows] == [("a", 10 * enough), ("elsewhere", 7)]


def test_noise_decides_which_keys_are_shown(tmp_path: Path) -> None:
    enough = threshold_of(prepared(tmp_path / "any", {}))
    asked = prepared(tmp_path / "one", {("a",): enough, ("b",): 1}, -1, enough - 1)
    assert [row["city"] for row in asked.release().rows] == ["b"]


def test_a_failure_on_the_way_says_nothing(tmp_path: Path) -> None:
    for n, name in enumerate(("people", "exact")):
        asked = prepared(tmp_path / str(n), {("a",): 10**6})

        def fail(*_: object) -> Any:
            raise ValueError("Smith lives in Aas")

        setattr(asked.gate.backend, name, fail)
        with pytest.raises(ReleaseFailedError) as caught:
            asked.release()
        assert "Aas" not in repr(caught.value)
        assert caught.value.__context__ is None
        assert asked.gate.ledger.spent().loss.epsilon == 1


def test_what_changes_the_answer_changes_its_name_and_a_label_does_not(tmp_path: Path) -> None:
    book = ledger(tmp_path, budget=WIDE)

    def name(limits: Bounds | None = None, delta: object = "0.001", **more: Any) -> str:
        ward = more.pop("by", "sex")
        read = outline(plan((key(ward),), N, average("a", "age"), **more), KINDS, limits or bounds())
        return query(ask(read, WIDE, Price(epsilon=1, delta=delta)), book).request

    names = [
        name(),
        name(private_keys=True),
        name(private_keys=True, delta="0.0001"),
        name(private_keys=True, other="rest"),
        name(private_keys=True, limits=bounds(groups=3)),
        name(private_keys=True, limits=bounds(rows=4)),
        name(private_keys=True, limits=bounds(neighbors=Neighbors.REPLACE)),
        name(by="city"),
        name(by="city", other="rest"),
        name(by="city", where=Column("smoker")),
    ]
    assert len(set(names)) == len(names)
    people = plan((CITY,), Aggregate(name="p", function=Function.COUNT_DISTINCT))
    asked = [ask(outline(people, KINDS, bounds()), WIDE, Price(epsilon=1, delta=delta)) for delta in ("1e-5", "1e-6")]
    assert asked[0].parts[0].law == asked[1].parts[0].law  # only from how many people on a key is shown differs
    assert query(asked[0], book).request != query(asked[1], book).request
    assert name(private_keys=True, other="rest") == name(private_keys=True, other="remainder")
    assert name(by="city") == name(by="city", limit=3) == name(by="city", private_keys=True)


def test_keys_survive_the_way_through_the_stored_answer() -> None:
    rows: list[Keys] = [
        (None, "a", True, F(-1, 3), dt.date(2020, 2, 29), dt.datetime(2020, 1, 2, 3, 4, 5, 6)),
        ("fraction", "\ud800", False, F(10**30), dt.date(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ]
    for row in rows:
        back = keys_from(json.loads(json.dumps(plain_keys(row))))
        assert back == row
        assert list(map(type, back)) == list(map(type, row))
    for bad in (1, 1.5, ["list"], {"a": 1}):
        with pytest.raises(TypeError, match="not a key"):
            keys_from([bad])


def test_missing_keys_come_last() -> None:
    keys: list[Keys] = [(None, F(1)), ("b", None), ("a", F(2)), ("b", F(-1)), (None, None), ("a", None)]
    assert in_order(keys) == [("a", F(2)), ("a", None), ("b", F(-1)), ("b", None), (None, F(1)), (None, None)]
    assert in_order(reversed(keys)) == in_order(keys)


# What is asked for


def test_keys_need_a_delta_and_a_budget_that_has_one() -> None:
    read = outline(plan((CITY,), N), KINDS, bounds())
    with raises_code(InvalidInputError, "missing-delta: delta=2.5e-08 … 2.5e-07"):
        ask(read, Budget(3, "1e-6"), Price(epsilon=1))
    with raises_code(InvalidInputError, "not-declared"):
        ask(read, Budget(3, "1e-6"), Price(within=1))
    for price in (Price(epsilon=1), Price(epsilon=1, delta="1e-9"), Price(rho=1, delta="1e-9"), Price(within=1)):
        with raises_code(RefusedQueryError, "not-declared: budget"):
            ask(read, Budget(3), price)


def test_key_noise_wider_than_the_sampler_is_refused_before_it_is_paid() -> None:
    people = Aggregate(name="p", function=Function.COUNT_DISTINCT)
    limits = bounds(groups=1)
    for price in ({"epsilon": "1e-16"}, {"rho": "1e-33"}):
        with raises_code(RefusedQueryError, "too-fine: wider"):
            asked_for({**price, "delta": "1e-9"}, limits, people)
    assert len(asked_for({"epsilon": "1e-15", "delta": "1e-9"}, limits, people).parts) == 1


def test_other_needs_groups_that_are_not_shown_and_a_name_of_its_own() -> None:
    for keys, more, problem in (
        ((key("sex"),), {}, "unneeded-option: here"),
        ((), {"private_keys": True}, "unneeded-option: here"),
        ((key("age"),), {"private_keys": True}, "unneeded-option: text"),
        ((key("sex"),), {"private_keys": True, "other": "m"}, "name-taken"),
    ):
        with raises_code(RefusedQueryError, problem):
            outline(plan(keys, N, **{"other": "rest", **more}), KINDS, bounds())
    assert outline(plan((key("sex"), key("age")), N, private_keys=True, other="rest"), KINDS, bounds()).cells.rest


def test_exact_numbers_of_the_keys_that_occur_or_that_are_given(tmp_path: Path) -> None:
    asked = prepared(tmp_path / "one", {("b",): 3, ("a",): 1}, other="rest", testing=False)
    with raises_code(InvalidInputError, "not-for-testing"):
        exact(asked, key=b"k")
    terms = Terms(
        **{**{f.name: getattr(asked.gate.ledger.terms, f.name) for f in dataclasses.fields(Terms)}, "testing": True}
    )
    book = dataclasses.replace(asked.gate, ledger=type("Book", (), {"terms": terms})())
    testing = dataclasses.replace(asked, gate=book)
    found = exact(testing, key=b"k")
    assert found.keys == (("a",), ("b",))
    assert [part.values for part in found.parts] == [(10, 30, 7), (10, 30, 7) * 2, (1, 3)]
    last = found.parts[-1]
    assert (last.role, last.mechanism, last.threshold) == ("keys", "laplace", threshold_of(asked))
    assert (last.l1, last.max_parts_touched) == (2, 2)
    given = exact(testing, key=b"k", keys=[("b",)])
    assert given.keys == (("b",),)
    assert given.parts[-1].values == (3,)
