"""The price that is worked out again: against every small unit there is, against the engine's own, against nonsense."""

from __future__ import annotations

import ast
import copy
import io
import itertools
import json
import math
import random
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest
from support.refusals import expect_code, refused

from privet import cli, recheck
from privet.core.accountant import rho_cap
from privet.core.families import Moves, family_for
from privet.core.laws import DiscreteGaussian
from privet.core.loss import Loss
from privet.core.measures import CHOSEN, KEYS, SCORES, Measure, Role
from privet.core.mechanisms import gaussian_tail
from privet.core.parts import Setting, gaussian_keys_for, keys_for, sensitivity_of
from privet.core.ranks import choice_for, choice_for_rho
from privet.core.sensitivity import Bounds
from privet.core.top import apart, compared, top_for, top_for_rho
from privet.core.unit import Neighbors
from privet.estimates.calibration import epsilon_of_rho
from privet.recheck import Part, problems, sensitivity

FILE = Path(recheck.__file__)
RELATIONS = ("add-remove", "replace")
HAIR = Fraction(1, 10**30)
PART: dict[str, Any] = {
    "role": "count", "groups": 3, "rows": 10, "in_all": None, "cells": 50, "low": 0, "high": 1, "quantile": None,
    "law": {"name": "laplace", "scale": "100"}, "threshold": None,
}  # fmt: skip
COST = {"epsilon": "3/10", "delta": "0", "rho": "9/200", "rho_delta": "0"}
KEYS_PART = PART | {"role": "keys", "cells": None, "threshold": 500, "law": {"name": "laplace", "scale": "20"}}
EACH_ROLE = [
    PART,
    PART | {"role": "sum", "low": -3, "high": 7, "law": {"name": "gaussian", "variance": "90000"}},
    PART | {"role": "pair", "high": 7, "law": {"name": "laplace", "scale": "700"}},
    PART | {"role": "squares", "high": 7, "law": {"name": "laplace", "scale": "4900"}},
    PART | {"role": "people"},
    PART | {"role": "distinct", "in_all": 12},
    PART | {"role": "quantile", "quantile": "1/4", "law": {"name": "exponential", "rate": "1/900"}},
    PART | {"role": "min", "law": {"name": "permute-and-flip", "rate": "1/700"}},
    PART | {"role": "max", "law": {"name": "exponential", "rate": "1/800"}},
    KEYS_PART,
    PART | {"role": "top", "low": -2, "law": {"name": "permute-and-flip", "rate": "1/900", "rounds": 3}},
    PART | {"role": "vector", "low": 30, "high": 400, "law": {"name": "gaussian", "variance": "90000"}},
    PART | {"role": "counts", "low": 2, "high": 2, "law": {"name": "laplace", "scale": "600"}},
    PART | {"role": "gram", "low": 30, "high": 400, "law": {"name": "gaussian", "variance": "90000"}},
    PART
    | {
        "role": "quantile",
        "quantile": ["1/10", "1/4", "1/2", "3/4"],
        "cells": 2,
        "law": {
            "name": "nested",
            "rates": ["1/900", "1/800", "1/700"],
        },
    },
]


def guarantee(*parts: dict[str, Any], neighbors: str = "add-remove", **cost: str | None) -> dict[str, Any]:
    return copy.deepcopy({"neighbors": neighbors, "parts": list(parts or (PART,)), "cost": COST | cost})


def answer(stated: object) -> str:
    return json.dumps({"privet": 1, "kind": "answer", "result": {"rows": [], "guarantee": stated}})


def part_of(**limits: Any) -> Part:
    ends = sorted((max(limits.pop("high"), 0), max(-limits.pop("low"), 0)), reverse=True)
    return Part(
        role="sum", ends=(ends[0], ends[1]), law="laplace", parameter=Fraction(1), threshold=None, rounds=None, **limits
    )


def exactly(stated: dict[str, Any]) -> dict[str, Any]:
    """The same with the least charge that pays for it by sums."""
    price = recheck.recheck(stated).price
    return stated | {"cost": {name: None if n is None else str(n) for name, n in price._asdict().items()}}


# ------------------------------------------------------------------------------------------------------- enumeration


def units(low: int, high: int, cells: int, part: Part) -> set[tuple[int, ...]]:
    """Every vector that one unit can add, row by row; a NULL adds 0. Each row is a (cell, value)."""
    values = {0, *range(low, high + 1)}
    sums = [{sum(rows) for rows in itertools.combinations_with_replacement(values, n)} for n in range(part.rows + 1)]
    limit = part.groups * part.rows if part.in_all is None else part.in_all
    heaps = (n for n in itertools.product(range(part.rows + 1), repeat=cells) if sum(n) <= limit)
    kept = (heap for heap in heaps if sum(n > 0 for n in heap) <= part.groups)
    return {vector for heap in kept for vector in itertools.product(*(sums[n] for n in heap))}


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 2), (-3, 1), (1, 2), (-1, 1), (-2, -1)])
def test_sensitivity_is_the_largest_change_there_is(low: int, high: int, neighbors: str) -> None:
    """Equality, not only a bound: some two units attain it."""
    limits = itertools.product((1, 2, 3), (1, 2, 3), (None, 1, 2, 3, 4, 5), (1, 2, 3, 4))
    tried = 0
    for groups, rows, in_all, cells in limits:
        if (rows + 1) ** cells > 64:
            continue
        part = part_of(groups=groups, rows=rows, in_all=in_all, cells=cells, low=low, high=high)
        known = units(low, high, cells, part)
        if neighbors == "replace" and len(known) > 300:
            continue
        others = known if neighbors == "replace" else {(0,) * cells}
        changes = {tuple(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in itertools.product(known, others)}
        assert sensitivity(part, neighbors) == (
            max(map(sum, changes)),
            max(sum(x * x for x in change) for change in changes),
            max(map(max, changes)),
            max(sum(x > 0 for x in change) for change in changes),
        ), (groups, rows, in_all, cells)
        if cells >= 2 * min(groups, in_all or groups):
            assert sensitivity(part._replace(cells=None), neighbors) == sensitivity(part, neighbors)
        tried += 1
    assert tried >= 60


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize(("role", "width"), [("pair", 1), ("pair", 2), ("pair", 3), ("squares", 2), ("squares", 3)])
def test_the_numbers_of_pairs_and_squares_move_as_far_as_is_said(role: str, width: int, neighbors: str) -> None:
    """Row by row: each adds (u, v) or (u * u, 2 * u * v, v * v) to its cell, where v = width - u. A planted bound of
    one side alone is below what is found."""
    adds: list[tuple[int, ...]] = [(u, width - u) for u in range(width + 1)]
    if role == "squares":
        adds = [(u * u, 2 * u * v, v * v) for u, v in adds]
    numbers, far = len(adds[0]), sum(adds[0])
    for groups, rows, in_all, cells in itertools.product((1, 2), (1, 2), (None, 1, 3), (1, 2)):
        limit = min(groups * rows, in_all or groups * rows)
        heaps = [n for n in itertools.product(range(rows + 1), repeat=cells) if sum(n) <= limit]
        known = {
            tuple(sum(row[side] for row in chosen) for chosen in cell for side in range(numbers))
            for heap in heaps
            if sum(n > 0 for n in heap) <= groups
            for cell in itertools.product(*(itertools.combinations_with_replacement(adds, n) for n in heap))
        }
        others = known if neighbors == "replace" else {(0,) * (numbers * cells)}
        changes = {tuple(abs(a - b) for a, b in zip(*two, strict=True)) for two in itertools.product(known, others)}
        limits = {"groups": groups, "rows": rows, "in_all": in_all, "cells": cells}
        part = part_of(low=0, high=far, **limits)._replace(role=role)
        found = sensitivity(part, neighbors)
        assert found == (
            max(map(sum, changes)),
            max(sum(x * x for x in change) for change in changes),
            max(map(max, changes)),
            max(sum(x > 0 for x in change) for change in changes),
        ), limits
        half = sensitivity(part._replace(role="sum", ends=(far // 2, far // 2)), neighbors) if width > 1 else None
        assert half is None or half.l1 < found.l1


def vectors_of_rows(role: str, low: int, high: int, rows: int) -> set[tuple[int, ...]]:
    """What a unit can add: `rows` rows at most, each a vector of two whole numbers within these limits, of a gram the
    products of each two numbers of (a, b) with |a| + |b| <= low and a * a + b * b <= high."""
    numbers = range(0 if role == "counts" else -high, high + 1)
    row = [v for v in itertools.product(numbers, repeat=2) if sum(map(abs, v)) <= low and sum(x * x for x in v) <= high]
    if role == "gram":
        row = sorted({(a * a, a * b, b * a, b * b) for a, b in row})
    size = len(row[0])
    some = itertools.combinations_with_replacement([(0,) * size, *row], rows)
    return {tuple(map(sum, zip(*chosen, strict=True))) for chosen in some}


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("role", ["vector", "counts", "gram"])
def test_vectors_of_rows_move_as_far_as_is_said(role: str, rows: int, neighbors: str) -> None:
    """No two units are further apart; and where a limit can be attained, two units attain it."""
    times = 1 + (neighbors == "replace")
    for low, high, l1, l2_squared in [
        (1, 1, True, True), (2, 2, True, True), (1, 2, True, False), (2, 4, True, True), (2, 5, True, False),
        (3, 5, True, True),
    ]:  # fmt: skip
        known = vectors_of_rows(role, low, high, rows)
        others = known if neighbors == "replace" else {(0,) * len(next(iter(known)))}
        changes = {tuple(abs(a - b) for a, b in zip(*two, strict=True)) for two in itertools.product(known, others)}
        power = 2 if role == "gram" else 1
        stated = PART | {"role": role, "groups": 1, "rows": rows, "cells": 2**power}
        stated |= {"low": low**power, "high": high**power}
        _, found, _ = recheck.recheck(guarantee(stated, neighbors=neighbors)).parts[0]
        most = max(map(sum, changes)), max(sum(x * x for x in change) for change in changes)
        assert most[0] <= found.l1 == times * rows * low**power
        assert most[1] <= found.l2_squared
        if role != "vector" and neighbors == "replace" and high > 1:
            continue  # two rows at a right angle have no room in two numbers: a witness is below
        assert not l1 or most[0] == found.l1, (low, high)
        assert not l2_squared or most[1] == found.l2_squared, (low, high)


def test_two_rows_at_a_right_angle_move_as_far_as_is_said() -> None:
    stated = PART | {"role": "gram", "groups": 1, "rows": 3, "cells": 4, "low": 4, "high": 16}
    one, other = (3 * 4, 0, 0, 0), (0, 0, 0, 3 * 4)  # three times (2, 0), and three times (0, 2)
    _, found, _ = recheck.recheck(guarantee(stated, neighbors="replace")).parts[0]
    assert found.l2_squared == sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
    assert found.l1 == sum(abs(a - b) for a, b in zip(one, other, strict=True))
    stated = PART | {"role": "counts", "groups": 1, "rows": 3, "cells": 4, "low": 2, "high": 2}
    one, other = (3, 3, 0, 0), (0, 0, 3, 3)
    _, found, _ = recheck.recheck(guarantee(stated, neighbors="replace")).parts[0]
    assert found.l2_squared == sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
    assert found.l1 == sum(abs(a - b) for a, b in zip(one, other, strict=True))


def test_vectors_without_bounds_are_refused() -> None:
    for wrong in ({"low": -1}, {"low": None}, {"high": None}, {"low": 3, "high": 2}, {"quantile": "1/2"}):
        stated = PART | {"role": "vector", "groups": 1, "low": 1, "high": 2} | wrong
        assert problems(guarantee(stated)), wrong


def test_the_whole_range_of_a_cell_moves_and_more_cells_never_less() -> None:
    """The rest of a unit beside full cells, in few and in many cells, by counting heaps of rows at the far ends."""
    for far, near, rows, in_all, cells in itertools.product((1, 3), (0, 1), (2, 3), (1, 3, 4, 5, 7), (1, 2, 3, 4)):
        part = part_of(groups=3, rows=rows, in_all=in_all, cells=cells, low=-near, high=far)
        heaps = [
            heap
            for heap in itertools.product(range(rows + 1), repeat=cells)
            if sum(heap) <= in_all and sum(n > 0 for n in heap) <= 3
        ]
        top = max(
            sum(max(a * far + b * near, a * near + b * far) ** 2 for a, b in zip(one, other, strict=True))
            for one, other in itertools.combinations_with_replacement(heaps, 2)
        )
        assert sensitivity(part, "replace").l2_squared == top
        more = sensitivity(part._replace(cells=cells + 1), "replace")
        assert all(a <= b for a, b in zip(sensitivity(part, "replace"), more, strict=True))


def losses(a: int, b: int, extreme: int | None) -> Callable[[tuple[int, int, int]], int]:
    """The loss of a candidate with so many rows below it, at it and above it; `extreme` rows inside for a MIN."""

    def loss(rows: tuple[int, int, int]) -> int:
        target = a * sum(rows) if extreme is None else min(2 * extreme, sum(rows))
        return max(b * rows[0] - target, target - b * (rows[0] + rows[1]))

    return loss


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize(("quantile", "inside"), [("1/2", None), ("1/4", None), ("2/3", None), (None, 1), (None, 2)])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_rank_moves_as_far_as_is_said(quantile: str | None, inside: int | None, rows: int, neighbors: str) -> None:
    """In one cell, over all places of the rows of others and of the unit."""
    share = Fraction(quantile or "1/2")
    loss = losses(share.numerator, share.denominator, inside)
    own = [heap for heap in itertools.product(range(rows + 1), repeat=3) if sum(heap) <= rows]
    far = 0
    for others in itertools.product(range(7), repeat=3):
        moved = [loss((others[0] + x, others[1] + y, others[2] + z)) for x, y, z in own]
        far = max(far, max(moved) - min(moved) if neighbors == "replace" else max(abs(m - moved[0]) for m in moved))
    role = "min" if quantile is None else "quantile"
    law = {"name": "exponential", "rate": "1"}
    stated = PART | {"role": role, "groups": 1, "rows": rows, "cells": 1, "quantile": quantile, "law": law}
    _, moves, price = recheck.recheck(guarantee(stated, neighbors=neighbors)).parts[0]
    assert (moves.l1, moves.linf, moves.l2_squared) == (far, far, far**2)
    assert (price.epsilon, price.rho) == (2 * far, Fraction(far**2, 2))


# ------------------------------------------------------------------------------------------------- exp, ln, conversion


def test_decimals_enclose_and_are_tight() -> None:
    rng = random.Random(5)
    with mpmath.workdps(120):
        for _ in range(300):
            number = Fraction(rng.randrange(1, 10**12), rng.randrange(1, 10 ** rng.randrange(1, 13)))
            digits = rng.choice((20, 50, 70))
            cases = [(recheck.Context.ln, number, mpmath.log), (recheck.Context.exp, -number % 9999, mpmath.exp)]
            for function, at, truth in cases:
                value = truth(mpmath.mpf(at.numerator) / at.denominator)
                low, high = (recheck._bound(function, at, way, digits) for way in (recheck.DOWN, recheck.UP))
                below, above = (mpmath.mpf(n.numerator) / n.denominator for n in (low, high))
                assert below <= value <= above
                assert above - below <= 10 ** mpmath.mpf(6 - digits) * (abs(value) + 1)


def test_exponentials_and_logarithms_at_their_ends() -> None:
    deep = Fraction(-(10**40))
    assert recheck._bound(recheck.Context.exp, deep, recheck.DOWN, 50) == 0
    assert recheck._bound(recheck.Context.exp, deep, recheck.UP, 50) == Fraction(1, 10**4000)
    assert -10_000 / math.log(10) < -4000  # so that bound is one
    assert recheck._bound(recheck.Context.exp, Fraction(-10_001), recheck.DOWN, 50) == 0
    assert recheck._bound(recheck.Context.exp, Fraction(-10_000), recheck.DOWN, 50) > 0
    assert recheck._bound(recheck.Context.ln, Fraction(1), recheck.UP, 50) == 0


def best_delta(rho: Fraction, epsilon: Fraction) -> Any:
    """The least delta of any order, by a search of its own."""
    r, e = (mpmath.mpf(x.numerator) / x.denominator for x in (rho, epsilon))

    def exponent(u: Any) -> Any:
        b = mpmath.exp(u)
        return b * ((b + 1) * r - e) + b * mpmath.log(b) - (b + 1) * mpmath.log(b + 1)

    low, high = mpmath.mpf(-60), mpmath.mpf(60)
    for _ in range(110):
        third = (high - low) / 3
        low, high = (low + third, high) if exponent(low + third) > exponent(high - third) else (low, high - third)
    return mpmath.exp(exponent(low))


def test_the_conversion_finds_the_best_order() -> None:
    """Delta as small as any order proves is accepted, a millionth of a millionth less is not."""
    rng = random.Random(8)
    with mpmath.workdps(60):
        for _ in range(40):
            epsilon = Fraction(rng.randrange(1, 10**6), 10 ** rng.randrange(3, 7))
            rho = epsilon * Fraction(rng.randrange(1, 1500), 1000) / rng.choice((1, 10, 1000))
            best = best_delta(rho, epsilon)
            near = int(best.man) * Fraction(2) ** best.exp
            assert recheck.implies(rho, epsilon, near * (1 + Fraction(1, 10**12)))
            assert not recheck.implies(rho, epsilon, near * (1 - Fraction(1, 10**12)))


def test_the_conversion_accepts_the_caps_of_the_accountant_and_little_more() -> None:
    rng = random.Random(9)
    for _ in range(60):
        epsilon = Fraction(rng.randrange(1, 10**4), 10 ** rng.randrange(2, 6))
        delta = Fraction(1, 10 ** rng.randrange(2, 41))
        rho = rho_cap(epsilon, delta)
        if rho:
            assert recheck.implies(rho, epsilon, delta)
            assert not recheck.implies(rho * Fraction(101, 100), epsilon, delta)


def test_what_no_order_proves() -> None:
    one = Fraction(1)
    assert not recheck.implies(one, Fraction(-1), one / 2)
    assert not recheck.implies(one, one, Fraction(0))
    assert not recheck.implies(Fraction(2000), one, one / 2)
    assert recheck.implies(one, one / 2, Fraction(9, 10))  # an epsilon below rho still says something
    assert recheck.implies(Fraction(1, 10**590), one, Fraction(1, 10**9))
    assert not recheck.implies(Fraction(1, 10**590), Fraction(1, 10**590), Fraction(1, 10**590))


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_the_delta_of_keys_is_the_tail(neighbors: str) -> None:
    """Summed term by term from the law of the noise."""
    for scale, threshold, groups in itertools.product((Fraction(1, 3), Fraction(7, 2), Fraction(5)), (1, 2, 9), (1, 3)):
        law = {"name": "laplace", "scale": str(scale)}
        part = KEYS_PART | {"groups": groups, "threshold": threshold, "law": law}
        price = recheck.recheck(guarantee(part, neighbors=neighbors)).price
        with mpmath.workdps(80):
            t = mpmath.mpf(scale.numerator) / scale.denominator
            weights = [mpmath.exp(-abs(x) / t) for x in range(-1200, 1201)]
            tail = sum(weights[1200 + threshold - 1 :]) / sum(weights)
            factor = 1 + mpmath.exp(groups / t) if neighbors == "replace" else 1
            truth = min(groups * tail * factor, 1)
            found = mpmath.mpf(price.delta.numerator) / price.delta.denominator
            assert truth <= found <= truth * (1 + mpmath.mpf(10) ** -40)
        steps = 2 if neighbors == "replace" else 1
        assert price == (steps * groups / scale, price.delta, (steps * groups / scale) ** 2 / 2, price.delta)


TAILS = {  # a variance, and from where on
    Fraction(1, 100): (1,), Fraction(1, 4): (1, 2, 5), Fraction(1): (1, 2, 6), Fraction(10): (4, 9, 20),
    Fraction(441): (50, 115, 300), Fraction(10**6, 7): (800, 2_000), Fraction(10**14): (3 * 10**7, 10**8),
    Fraction(2**98): (2**51, 2**53),
}  # fmt: skip


def true_tail(variance: Fraction, start: int) -> mpmath.mpf:
    """Term by term; of wide noise by Euler and Maclaurin's formula, whose next term is far below what is compared."""
    v = mpmath.mpf(variance.numerator) / variance.denominator
    far = int(mpmath.ceil(25 * mpmath.sqrt(v))) + 5
    if far > 20_000:
        curve = mpmath.exp(-(mpmath.mpf(start) ** 2) / (2 * v))
        integral = mpmath.sqrt(mpmath.pi * v / 2) * mpmath.erfc(start / mpmath.sqrt(2 * v))
        return (integral + curve / 2 + curve * start / v / 12) / mpmath.sqrt(2 * mpmath.pi * v)
    one = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * v)) for x in range(start + far)]
    return mpmath.fsum(one[start:]) / (2 * mpmath.fsum(one) - 1)


@pytest.mark.parametrize("variance", TAILS, ids=str)
def test_the_tail_of_gaussian_noise_is_bounded_from_above_and_tightly(variance: Fraction) -> None:
    for start in TAILS[variance]:
        with mpmath.workdps(80):
            bound = recheck._tail(variance, start)
            assert 1 <= mpmath.mpf(bound.numerator) / bound.denominator / true_tail(variance, start) <= 1.003
            core = gaussian_tail(DiscreteGaussian(variance), start, 256)
            core *= 1 + Fraction(1, 10**45)  # the last digits of 50 and of 77
            assert bound <= core <= bound * Fraction(1003, 1000)  # so that the gate accepts what the core calculates


def test_where_the_curve_is_not_convex_the_tail_is_still_bounded() -> None:
    with mpmath.workdps(80):
        for variance in (Fraction(400), Fraction(10**6), Fraction(10**14)):
            start = math.isqrt(int(variance)) // 3
            bound = recheck._tail(variance, start)
            assert 1 <= mpmath.mpf(bound.numerator) / bound.denominator / true_tail(variance, start) <= 1.1
            assert bound <= gaussian_tail(DiscreteGaussian(variance), start, 256)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_gaussian_keys_cost_the_tail_and_the_sum_of_squares(neighbors: str) -> None:
    for variance, groups, threshold in itertools.product((Fraction(7, 2), Fraction(441)), (1, 3), (-5, 1, 2, 90)):
        law = {"name": "gaussian", "variance": str(variance)}
        part = KEYS_PART | {"groups": groups, "threshold": threshold, "law": law}
        price = recheck.recheck(guarantee(part, neighbors=neighbors)).price
        steps = 2 if neighbors == "replace" else 1  # one unit goes and one comes: 2 * groups keys move by 1
        delta = min(1, groups * recheck._tail(variance, threshold - 1)) if threshold > 1 else 1
        assert price == (None, delta, steps * groups / (2 * variance), delta)


@pytest.mark.parametrize(
    "law", [{"name": "laplace", "scale": "50"}, {"name": "gaussian", "variance": "90000"}], ids=str
)
@pytest.mark.parametrize("neighbors", Neighbors)
def test_gaussian_keys_share_a_converted_price(neighbors: Neighbors, law: dict[str, str]) -> None:
    """Beside a count with Laplace noise, whose epsilon is added, or with Gaussian noise, whose rho is.

    A threshold is a whole number, so of the delta that is meant for it a part is left. What is refused is compared with
    the true price, for which that part is known: 1 % less is too little, and so is any hair.
    """
    bounds = Bounds(groups=3, rows=10, neighbors=neighbors)
    keys, threshold, loss = gaussian_keys_for(Fraction(1, 100), Fraction(1, 2 * 10**6), bounds)
    part = {"cells": None, "groups": 3, "rows": 10}
    chosen = (
        PART
        | part
        | {"role": "keys", "threshold": threshold, "law": {"name": "gaussian", "variance": str(keys.variance)}}
    )
    count = PART | part | {"law": law}
    stated = {"neighbors": neighbors.value, "parts": [count, chosen]}
    of_count, of_keys = (cost for _, _, cost in recheck.recheck(stated | {"cost": COST}).parts)
    assert of_keys.delta <= loss.delta
    pure, rho = of_count.epsilon or Fraction(0), of_keys.rho + (0 if of_count.epsilon else of_count.rho)
    left = Fraction(1, 10**6) - of_keys.delta
    epsilon = pure + epsilon_of_rho(rho, left)
    paid = {
        "epsilon": str(epsilon),
        "delta": "1/1000000",
        "rho": str(of_keys.rho + of_count.rho),
        "rho_delta": str(of_keys.delta),
    }
    assert problems(stated | {"cost": paid}) == []
    short = pure + epsilon_of_rho(rho, left) * Fraction(99, 100)
    for name, less in {
        "epsilon": short, "delta": of_keys.delta + left * Fraction(9, 10),
        "rho": Fraction(paid["rho"]) * (1 - HAIR), "rho_delta": of_keys.delta * (1 - HAIR),
    }.items():  # fmt: skip
        (problem,) = problems(stated | {"cost": paid | {name: str(less)}})
        assert problem.startswith("the charge is smaller than the price: ")
    for worse in ([half_the_noise(count), chosen], [count, half_the_noise(chosen)]):
        assert problems(stated | {"parts": worse, "cost": paid})
    assert problems(stated | {"parts": [count, chosen | {"threshold": threshold - 1}], "cost": paid})


def test_digits_follow_the_size_of_the_noise_not_the_length_of_its_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exponential of 600 digits takes ten times as long as one of 70, and 1,000 parts have 3,000 of them."""
    asked, real = [], recheck._bound
    monkeypatch.setattr(recheck, "_bound", lambda *given: (asked.append(given[-1]), real(*given))[1])
    long = Fraction(10**580 + 1, 10**580 + 3)
    for scale in (long, 2**50 * long):
        law = {"name": "laplace", "scale": str(scale)}
        keys = {"role": "keys", "cells": None, "law": law, "threshold": 10**17}
        assert recheck.recheck(guarantee(PART | keys, neighbors="replace")).problems
    assert asked == [50] * 3 + [50 + 50 // 3] * 3


def test_keys_from_0_on_show_everybody() -> None:
    for threshold in (0, -5, -(10**499)):
        price = recheck.recheck(guarantee(KEYS_PART | {"threshold": threshold})).price
        assert (price.delta, price.rho_delta) == (1, 1)
    far = KEYS_PART | {"law": {"name": "laplace", "scale": "1/100000"}}
    assert recheck.recheck(guarantee(far, neighbors="replace")).price.delta == 1


# ------------------------------------------------------------------------------------------- agreement with the engine


def one_setting(rng: random.Random) -> tuple[Measure, Setting]:
    role = rng.choice(list(Role))
    low = rng.choice((0, 0, -1, -3, -(10**6), 5, rng.randrange(-100, 100)))
    share = Fraction(rng.randrange(1, 100), 100) if role is Role.QUANTILE else None
    counts = role in (Role.COUNT, Role.PEOPLE, Role.DISTINCT, Role.KEYS)
    ends = (0, 1) if counts else (low, low + rng.choice((0, 1, 7, 10**5, 10**9)))
    ends = (0, rng.choice((1, 2, 7, 10**9))) if role is Role.PAIR else ends
    ends = (0, rng.choice((2, 3, 7, 10**9))) if role is Role.SQUARES else ends
    score = rng.choice(sorted(SCORES)) if role is Role.TOP else None
    ends = (0, 1) if score in (Role.COUNT, Role.PEOPLE) else ends
    measure = Measure(role=role, value=None, low=ends[0], high=ends[1], quantile=share, score=score)
    measure = KEYS if role is Role.KEYS else measure
    bounds = Bounds(
        groups=rng.choice((1, 2, 3, 5, 40, 10**9)),
        rows=rng.choice((1, 2, 3, 10, 10**9)),
        in_all=rng.choice((None, None, 1, 2, 7, 25, 10**6)),
        neighbors=rng.choice(list(Neighbors)),
    )
    cells = None if role is Role.KEYS else rng.choice((None, 1, 2, 3, 4, 7, 50, 10**9))
    bounds = replace(bounds, rows=1) if score is Role.PEOPLE else bounds
    return measure, Setting(cells=cells, bounds=bounds)


def one_release(rng: random.Random, measure: Measure, setting: Setting) -> tuple[dict[str, Any], int | None, Loss]:
    """A law of the engine's own, and what it charges for it."""
    price = Fraction(rng.randrange(1, 10**4), 10 ** rng.randrange(2, 6))
    far = sensitivity_of(measure, setting)
    if measure is KEYS:
        delta = Fraction(1, 10 ** rng.randrange(3, 30))
        if rng.random() < 0.5:
            bell, threshold, loss = gaussian_keys_for(price, delta, setting.bounds)
            return {"name": "gaussian", "variance": str(bell.variance)}, threshold, loss
        law, threshold, loss = keys_for(price, delta, setting.bounds)
        return {"name": "laplace", "scale": str(law.scale)}, threshold, loss
    if measure.role is Role.TOP:
        rounds = rng.choice((1, 3, 100))
        law_of = rng.choice((top_for, top_for_rho))
        top, loss = law_of(price, apart(measure, setting.bounds), rounds)
        name = "permute-and-flip" if top.flip else "exponential"
        return {"name": name, "rate": str(top.rate), "rounds": rounds}, None, loss
    if measure.role in CHOSEN:
        choice, loss = choice_for_rho(price, far) if rng.random() < 0.5 else choice_for(price, far, measure)
        return {"name": "permute-and-flip" if choice.flip else "exponential", "rate": str(choice.rate)}, None, loss
    if rng.random() < 0.5:
        loss = Loss(epsilon=price, rho=price**2 / 2)
        return {"name": "laplace", "scale": str(far.l1 / price)}, None, loss
    return {"name": "gaussian", "variance": str(far.l2_squared / (2 * price))}, None, Loss(epsilon=None, rho=price)


def half_the_noise(part: dict[str, Any]) -> dict[str, Any]:
    if part["law"]["name"] == "nested":
        return part | {"law": part["law"] | {"rates": [str(2 * Fraction(rate)) for rate in part["law"]["rates"]]}}
    ((name, number),) = ((key, value) for key, value in part["law"].items() if key not in ("name", "rounds"))
    scaled = Fraction(number) * {"scale": Fraction(1, 2), "variance": Fraction(1, 4), "rate": 2}[name]
    return part | {"law": part["law"] | {name: str(scaled)}}


def charged(loss: Loss) -> dict[str, str | None]:
    return {n: None if (x := getattr(loss, n)) is None else str(x) for n in ("epsilon", "delta", "rho", "rho_delta")}


def test_agrees_with_the_engine_over_all_roles_laws_and_limits() -> None:
    """2,500 settings: equal sensitivity; the engine's charge is enough, a hair less is not, nor is half the noise."""
    rng, seen = random.Random(21), set()
    for _ in range(2500):
        measure, setting = one_setting(rng)
        law, threshold, loss = one_release(rng, measure, setting)
        bounds = setting.bounds
        if measure.role is Role.TOP:
            bounds = compared(bounds, setting.cells or 1)
        part = {
            "role": measure.role.value, "groups": bounds.groups, "rows": bounds.rows, "in_all": bounds.in_all,
            "cells": setting.cells, "low": measure.low, "high": measure.high,
            "quantile": None if measure.quantile is None else str(measure.quantile), "law": law, "threshold": threshold,
        }  # fmt: skip
        stated = {"neighbors": bounds.neighbors.value, "parts": [part], "cost": charged(loss)}
        assert problems(stated) == [], stated
        far = sensitivity_of(measure, setting)
        found = recheck.recheck(stated)
        moved = (far.l1, far.l2_squared, far.linf, far.touched)
        if measure.role is Role.TOP:  # seen from the middle of all changes, which a choice does not see
            half, rounds = Fraction(apart(measure, bounds), 2), law["rounds"]
            moved = (rounds * half, rounds * half**2, half, far.touched)
        assert found.parts[0][1] == moved
        assert problems(stated | {"parts": [half_the_noise(part)]}), stated
        if threshold is not None and threshold > 2:  # the smallest that its delta allows
            assert problems(stated | {"parts": [part | {"threshold": threshold - 1}]}), stated
        for name, number in exactly(stated)["cost"].items():
            free = name == "delta" and loss.epsilon is None  # such a charge ends the basic gauge
            if number is not None and Fraction(number) > 0 and not free:
                less = Fraction(number) * (1 - HAIR)
                short = exactly(stated)["cost"] | {name: str(less) if len(str(less)) < 600 else "1/" + "9" * 500}
                assert problems(stated | {"cost": short}), (stated, name)
        seen.add((measure.role, law["name"], bounds.neighbors))
    assert len(seen) == 2 * (7 * 2 + 4 * 2)


def test_agrees_with_the_engine_on_quantiles_one_inside_the_other() -> None:
    """400 settings: the engine's charge is what all levels cost; with twice the rate of any one choice it is short."""
    rng, seen = random.Random(22), set()
    for _ in range(400):
        _, setting = one_setting(rng)
        shares = tuple(sorted({Fraction(rng.randrange(1, 60), 60) for _ in range(rng.choice((1, 2, 3, 5, 9, 19)))}))
        high, pure = rng.choice((1, 50, 10**9)), rng.random() < 0.5
        measure = Measure(role=Role.QUANTILE, value=None, low=0, high=high, quantile=shares[0], quantiles=shares)
        price = Fraction(rng.randrange(1, 10**4), 10 ** rng.randrange(2, 6))
        law, loss = family_for(measure, price, Moves(shares, setting.cells, setting.bounds, pure))
        bounds = setting.bounds
        written: dict[str, Any] = {"name": "nested", "rates": list(map(str, law.rates))}
        part = PART | {
            "role": "quantile", "groups": bounds.groups, "rows": bounds.rows, "in_all": bounds.in_all,
            "cells": setting.cells, "high": high, "quantile": list(map(str, shares)), "law": written,
        }  # fmt: skip
        stated = {"neighbors": bounds.neighbors.value, "parts": [part], "cost": charged(loss)}
        assert problems(stated) == [], stated
        due = recheck.recheck(stated).price
        assert due.epsilon == loss.epsilon
        assert due.rho == loss.rho or not pure
        for place, rate in enumerate(written["rates"]):
            more = [*written["rates"][:place], str(2 * Fraction(rate)), *written["rates"][place + 1 :]]
            assert problems(stated | {"parts": [part | {"law": written | {"rates": more}}]}), (stated, place)
        seen.add((bounds.neighbors, pure, len(law.rates)))
    assert len(seen) > 15


def test_numbers_and_keys_that_share_one_converted_price() -> None:
    """All but the keys in zCDP, with keys beside them: the charge that the engine makes, and what is too little."""
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    for neighbors in Neighbors:
        bounds = Bounds(groups=3, rows=10, neighbors=neighbors)
        law, threshold, loss = keys_for(epsilon / 4, delta / 2, bounds)
        rho = rho_cap(epsilon * 3 / 4, delta / 2)
        far = sensitivity_of(Measure(role=Role.COUNT, value=None), Setting(cells=None, bounds=bounds))
        keys = PART | {
            "role": "keys", "cells": None, "threshold": threshold, "law": {"name": "laplace", "scale": str(law.scale)}
        }  # fmt: skip
        count = PART | {"cells": None, "law": {"name": "gaussian", "variance": str(far.l2_squared / (2 * rho))}}
        stated = {"neighbors": neighbors.value, "parts": [count, keys]}
        paid = {
            "epsilon": str(epsilon), "delta": str(delta), "rho": str(rho + (loss.rho or 0)),
            "rho_delta": str(loss.rho_delta),
        }  # fmt: skip
        assert problems(stated | {"cost": paid}) == []
        for name, less in {"epsilon": "99/100", "delta": "9/10000000", "rho": "1/100", "rho_delta": "0"}.items():
            (problem,) = problems(stated | {"cost": paid | {name: less}})
            assert problem.startswith("the charge is smaller than the price: ")
        assert problems(stated | {"parts": [half_the_noise(count), keys], "cost": paid})


# ------------------------------------------------------------------------------------------------------------ verdicts


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("part", EACH_ROLE, ids=lambda part: part["role"])
def test_the_exact_price_is_enough_and_a_hair_less_is_not(part: dict[str, Any], neighbors: str) -> None:
    stated = exactly(guarantee(part, neighbors=neighbors))
    assert problems(stated) == []
    for name, number in stated["cost"].items():
        if number not in (None, "0"):
            short = stated["cost"] | {name: str(Fraction(number) - HAIR * Fraction(number))}
            (problem,) = problems(stated | {"cost": short})
            assert problem.startswith(f"the charge is smaller than the price: {name} ")
    assert problems(stated | {"parts": [half_the_noise(part)]})


def test_what_is_short_is_named() -> None:
    assert problems(guarantee()) == []
    short = "the charge is smaller than the price"
    assert problems(guarantee(epsilon="1/4")) == [f"{short}: epsilon 1/4 instead of 3/10"]
    assert problems(guarantee(rho="1/100")) == [f"{short}: rho 1/100 instead of 9/200"]
    assert problems(guarantee(neighbors="replace")) == [
        f"{short}: epsilon 3/10 instead of 3/5", f"{short}: rho 9/200 instead of 9/50"
    ]  # fmt: skip
    gaussian = PART | {"law": {"name": "gaussian", "variance": "300"}}
    assert problems(guarantee(gaussian, rho="1/2", epsilon=None)) == []
    assert problems(guarantee(gaussian, rho="1/2")) == [
        f"{short}: epsilon 3/10 instead of the epsilon that rho 1/2 implies"
    ]  # fmt: skip
    assert problems(guarantee(gaussian, rho="1/2", epsilon="6", delta="1/100000")) == []
    many = guarantee(*[PART] * 100, epsilon="10", delta="1/100000", rho="9/2")  # by sums epsilon would be 30
    assert problems(many) == [f"{short}: epsilon 10 instead of 30"]
    assert problems(guarantee(*[PART] * 100, epsilon="20", delta="1/100000", rho="9/2")) == []


def test_nothing_is_free() -> None:
    problem = "the charge must be above 0 for epsilon and for rho, and finite for at least one of them"
    assert problem in problems(guarantee(epsilon="0"))
    assert problem in problems(guarantee(rho="0"))
    assert problem in problems(guarantee(epsilon="0", rho="0"))
    assert problem in problems(guarantee(epsilon="0", rho=None))
    assert problems(guarantee(epsilon=None, rho=None)) == [problem]
    assert problems(guarantee(epsilon=None)) == problems(guarantee(rho=None)) == []
    always_0 = PART | {"role": "sum", "low": 0, "high": 0}
    assert recheck.recheck(guarantee(always_0)).price == recheck.recheck(guarantee()).price


def test_limits_of_any_size_are_priced_without_counting_up_to_them() -> None:
    large = 10**499
    for neighbors in RELATIONS:
        wide = PART | {
            "role": "sum", "groups": large, "rows": large, "in_all": large + 7, "cells": large, "low": -large,
            "high": large,
        }  # fmt: skip
        found = recheck.recheck(guarantee(wide, neighbors=neighbors))
        assert len(found.problems) == 2
        assert "instead of about" in found.problems[0]
        assert recheck.report(found)
    scales = [f"{10**590 + 2 * n + 1}/{10**580 + 2 * n + 3}" for n in range(1000)]
    many = [PART | {"law": {"name": "laplace", "scale": scale}} for scale in scales]
    price = recheck.recheck(guarantee(*many)).price
    truth = sum(30 / float(Fraction(scale)) for scale in scales)
    assert float(price.epsilon or 0) == pytest.approx(truth)
    first = [Fraction(30) / Fraction(scale) for scale in scales[:9]]
    assert 0 <= (recheck.recheck(guarantee(*many[:9])).price.epsilon or 0) - sum(first) < Fraction(1, 2**4000)


def test_a_sum_is_exact_up_to_4096_bits_and_rounded_up_beyond() -> None:
    fine, zero = Fraction(1, 2**4096), Fraction(0)
    assert recheck._sum([recheck.Cost(fine, zero, None, fine)]) == (fine, zero, None, fine)
    finer = recheck.Cost(fine / 2, fine / 3, None, zero)
    assert recheck._sum([finer]) == (fine, fine, None, zero)


def test_numbers_are_written_out_below_41_digits() -> None:
    assert recheck.show(10**40 - 1) == "9" * 40
    assert recheck.show(10**40) == "about 1E+40"
    assert recheck.show(Fraction(1, 10**40)) == "about 1E-40"


# ------------------------------------------------------------------------------------------------------- hostile input

NONSENSE: list[Any] = [
    None, True, False, -1, 0, 1.5, float("nan"), float("inf"), "", "x", "-1", "1/0", "1/", "/2", "1/2/3", "1e9", " 1",
    "1_0", "٣", "1" * 5000, "1/" + "9" * 5000, "0", 10**501, -(10**501), 10**5000, [], {}, [1], {"name": []}, ["count"],
]  # fmt: skip
FINE = {
    ("groups",): [], ("rows",): [], ("role",): [], ("law",): [], ("threshold",): [None], ("quantile",): [None],
    ("in_all",): [None], ("cells",): [None], ("low",): [None, -1, 0], ("high",): [None, 0], ("law", "name"): [],
    ("law", "scale"): [],
}  # fmt: skip


@pytest.mark.parametrize("place", FINE, ids=".".join)
def test_nonsense_in_a_part_is_refused(place: tuple[str, ...]) -> None:
    """Whatever stands in a field is either a right value, or a problem: nothing raises, and nothing is accepted."""
    for nonsense in NONSENSE:
        stated = guarantee()
        inside = stated["parts"][0]
        for name in place[:-1]:
            inside = inside[name]
        inside[place[-1]] = nonsense
        right = any(type(nonsense) is type(fine) and nonsense == fine for fine in FINE[place])
        (found,) = problems(stated) or [""]
        assert (found == "") == right, (place, nonsense)
        assert len(found) < 200


@pytest.mark.parametrize("name", ["epsilon", "delta", "rho", "rho_delta"])
def test_nonsense_in_a_cost_is_refused(name: str) -> None:
    for nonsense in NONSENSE:
        found = problems(guarantee() | {"cost": COST | {name: nonsense}})
        fine = (nonsense is None and "delta" not in name) or (nonsense == "0" and "delta" in name)
        assert (found == []) == fine, (name, nonsense)


@pytest.mark.parametrize("name", ["neighbors", "parts", "cost"])
def test_nonsense_in_a_guarantee_is_refused(name: str) -> None:
    for nonsense in [*NONSENSE, [None], [[]], [{}], [PART, 3]]:
        assert problems(guarantee() | {name: nonsense})
        assert problems(nonsense)


def test_what_is_missing_unknown_or_does_not_fit_is_refused() -> None:
    for name in PART:
        assert "exactly these fields" in problems(guarantee({k: v for k, v in PART.items() if k != name}))[0]
    for name in ("neighbors", "parts", "cost"):
        assert "exactly these fields" in problems({k: v for k, v in guarantee().items() if k != name})[0]
    for name in COST:
        cost = {k: v for k, v in COST.items() if k != name}
        assert "exactly these fields" in problems(guarantee() | {"cost": cost})[0]
    unfit = [
        PART | {"more": 1}, PART | {"role": "median"}, PART | {"law": {"name": "cauchy", "scale": "1"}},
        PART | {"law": {"name": "laplace", "variance": "100"}}, PART | {"law": {"name": "exponential", "rate": "1"}},
        PART | {"law": {"name": "laplace", "scale": "100", "rate": "1"}}, PART | {"threshold": 5},
        PART | {"quantile": "1/2"}, PART | {"low": 3, "high": 2}, PART | {"role": "sum", "low": None},
        PART | {"role": "pair", "low": 1, "high": 2}, PART | {"role": "pair", "high": 0},
        PART | {"role": "pair", "low": -1}, PART | {"role": "pair", "high": None},
        PART | {"role": "squares", "high": 1}, PART | {"role": "squares", "low": -1, "high": 4},
        KEYS_PART | {"threshold": None}, KEYS_PART | {"cells": 5}, KEYS_PART | {"threshold": "5"},
        KEYS_PART | {"law": {"name": "exponential", "rate": "1/100"}},
    ]  # fmt: skip
    choice = PART | {"role": "quantile", "law": {"name": "exponential", "rate": "1/10000"}}
    unfit += [choice | {"quantile": text} for text in (None, "0", "1", "2/4", "3/2", "01/2", "0.5", 1)]
    unfit += [choice | {"quantile": "1/2", "law": {"name": "laplace", "scale": "100"}}]
    assert problems(guarantee(choice | {"quantile": "1/2"})) == []
    nested = next(part for part in EACH_ROLE if part["law"]["name"] == "nested")
    unfit += [nested | {"quantile": shares} for shares in (None, "1/2", [], ["1/2"], ["1/2", "1/4"], ["1/4", "1/4"])]
    unfit += [nested | {"quantile": [*nested["quantile"][:3], end]} for end in ("1", "0", "5/4", 1, None)]
    unfit += [nested | {"quantile": ["0", *nested["quantile"][1:]]}, nested | {"quantile": ["1/2"] * 100}]
    unfit += [nested | {"law": nested["law"] | more} for more in (
        {"name": "laplace"}, {"rates": ["1"] * 2}, {"rates": ["1"] * 4}, {"rates": []},
        {"rates": ["1", "0", "1"]}, {"rates": "111"}, {"more": "1"},
    )]  # fmt: skip
    unfit += [
        choice | {"quantile": ["1/2"]},
        nested | {"role": "min"},
        nested | {"role": "count"},
        nested | {"groups": 0},
        nested | {"cells": "2"},
    ]
    unfit += [nested | {"threshold": 5}, nested | {"groups": None}]
    free = {"epsilon": "1000000", "delta": "1", "rho": "1000000", "rho_delta": "1"}
    for part in unfit:
        (problem,) = problems(guarantee(part, **free))
        assert "part 1" in problem, part
    assert "part 2" in problems(guarantee(PART, unfit[0], **free))[0]
    assert problems(guarantee(*[PART] * 1001, **free)) == ["parts must be a list of 1 to 1,000 parts"]


@pytest.mark.parametrize("read", [recheck._whole, recheck._fraction])
def test_a_number_may_be_missing_only_where_that_is_said(read: Callable[..., object]) -> None:
    assert read(None, "groups", nullable=True) is None
    with pytest.raises(ValueError, match="groups must be"):
        read(None, "groups")


# ---------------------------------------------------------------------------------------------------------- by itself


def test_is_one_short_file_of_the_standard_library() -> None:
    text = FILE.read_text()
    assert len(text.splitlines()) <= 385
    named = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(text))
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [node.module or "."] if isinstance(node, ast.ImportFrom) else []
        )
    }  # fmt: skip
    assert named <= set(sys.stdlib_module_names)
    assert not any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(ast.parse(text)))


def run_alone(folder: Path, *words: str, text: str = "") -> tuple[int, str, str]:
    """The file by itself, in a folder without Privet, without site packages."""
    shutil.copy(FILE, folder / "recheck.py")
    command = [sys.executable, "-I", "-S", "recheck.py", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, input=text, check=False)
    return done.returncode, done.stdout, done.stderr


def test_runs_alone(tmp_path: Path) -> None:
    enough = exactly(guarantee(*EACH_ROLE))
    (tmp_path / "answer.json").write_text(answer(enough | {"cost": enough["cost"] | {"epsilon": None}}))
    code, out, err = run_alone(tmp_path, "answer.json")
    assert (code, err) == (0, "")
    assert "part 1, count: groups 3, rows 10, cells 50; one row moves a cell by at most 1\n" in out
    assert "  noise: laplace, scale 100\n" in out
    assert "  sensitivity: l1 30, l2_squared 300, linf 10, cells 3\n" in out
    assert "  price: epsilon 3/10, delta 0, rho 9/200, rho_delta 0\n" in out
    assert "part 10, keys: groups 3, rows 1, threshold 500;" in out
    assert "total price if one unit is added or removed: epsilon infinite, " in out
    assert out.endswith(f"The charge covers the price.\n{recheck.UNSEEN}\n")
    code, out, err = run_alone(tmp_path, "-", text=answer(guarantee(epsilon="1/4")))
    assert (code, err) == (1, "")
    assert "\nNOT ENOUGH: the charge is smaller than the price: epsilon 1/4 instead of 3/10\n" in out
    for words, text in [((), ""), (("none.json",), ""), (("a", "b"), ""), (("-",), "nonsense"), (("-",), "{}")]:
        code, out, err = run_alone(tmp_path, *words, text=text)
        assert (code, out) == (2, "")
        assert err.startswith("recheck: ")
        assert err.count("\n") == 2


def test_runs_as_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "answer.json").write_text(answer(guarantee()))
    monkeypatch.setattr("sys.argv", ["recheck.py", str(tmp_path / "answer.json")])
    with pytest.raises(SystemExit) as leaving:
        runpy.run_path(str(FILE), run_name="__main__")
    assert leaving.value.code == 0


BAD_FILES = [
    "", "nonsense", "[" * 100_000, "[]", "3", "null", '"text"', "NaN", '{"result": 3}', '{"result": {}}',
    '{"result": {"guarantee": null}}', '{"result": {"guarantee": []}}', answer({}), "9" * 10_000,
    '{"result": {"guarantee": ' + "9" * 10_000 + "}}", answer(guarantee(PART | {"groups": 10**600})),
    answer(guarantee(PART | {"groups": float("nan")})), answer(guarantee())[:-9],
]  # fmt: skip


@pytest.mark.parametrize("text", BAD_FILES, ids=range(len(BAD_FILES)))
def test_bad_files_end_in_one_line(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "answer.json"
    path.write_text(text)
    assert recheck.main([str(path)]) == 2
    assert capsys.readouterr().err.startswith("recheck: ")
    expect_code("wrong-format: `privet query", refused(["recheck", str(path)], capsys))
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert cli.main(["recheck", "-"]) == 2


def test_main_reads_files_and_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "an answer.json"
    path.write_text(answer(guarantee()), encoding="utf-8-sig")
    assert recheck.main([str(path)]) == 0
    assert "The charge covers the price." in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO(answer(guarantee(rho="1/9999"))))
    assert recheck.main(["-"]) == 1


# --------------------------------------------------------------------------------------------------------- the command


def test_the_command_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "answer.json"
    for stated, code in [(guarantee(), 0), (guarantee(epsilon="1/4"), 1)]:
        path.write_text(answer(stated))
        assert cli.main(["recheck", str(path)]) == code
        assert capsys.readouterr().out == recheck.report(recheck.recheck(stated)) + "\n"


def test_the_command_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "answer.json"
    path.write_text(answer(guarantee(PART, KEYS_PART, epsilon="9/20", delta="1/10000000000", rho="1")))
    assert cli.main(["recheck", str(path), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["privet"], told["kind"]) == (1, "recheck")
    found = told["result"]
    assert found["enough"] is False
    assert found["problems"] == [
        "the charge is smaller than the price: rho_delta 0 instead of about 2.244737671E-11"
    ]  # fmt: skip
    assert found["parts"][0] == {
        "role": "count",
        "sensitivity": {"l1": 30, "l2_squared": 300, "linf": 10, "cells": 3},
        "price": {"epsilon": "3/10", "delta": "0", "rho": "9/200", "rho_delta": "0"},
    }
    assert found["price"] == {
        "epsilon": "9/20", "delta": "2.244737671E-11", "rho": "9/160", "rho_delta": "2.244737671E-11"
    }  # fmt: skip
    assert found["charge"]["epsilon"] == "9/20"
    assert found["not_seen"] == recheck.UNSEEN


def test_files_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expect_code("unreadable-file: none.json", refused(["recheck", str(tmp_path / "none.json")], capsys))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe"), encoding="utf-8"))
    expect_code("not-utf8: stdin", refused(["recheck", "-"], capsys))
