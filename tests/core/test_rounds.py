"""How far a unit moves the sums of a round, and what the rounds of a learner cost together."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction as F

import pytest
from support.refusals import raises_code

from privet.core.laws import DiscreteGaussian, DiscreteLaplace
from privet.core.rounds import LONGEST, Form, Sums, counts, gram, moved, priced, vector
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError

HALF, WHOLE = F(1, 2), F(1)


def rows_of(sums: Sums) -> list[tuple[int, ...]]:
    """What one row can add, each vector within the limits listed."""
    numbers = range(0 if sums.form is Form.COUNTS else -sums.l2_squared, sums.l2_squared + 1)
    kept = [
        row
        for row in itertools.product(numbers, repeat=sums.size)
        if sum(map(abs, row)) <= sums.l1 and sum(x * x for x in row) <= sums.l2_squared
    ]
    return sorted({tuple(a * b for a in row for b in row) for row in kept}) if sums.form is Form.GRAM else kept


ATTAINED = [  # the limits, and which of L1 and L2 the worst two units attain when one replaces the other
    (vector(2, 1), True, True), (vector(2, 2), True, True), (vector(2, 5), False, True), (vector(1, 9), True, True),
    (vector(2, 4, l1=2), True, True), (vector(3, 3), True, True), (vector(3, 5, l1=2), True, False),
    (vector(2, 4, l1=2, positive=True), True, True), (counts(3), True, True), (counts(4, 2), True, True),
    (counts(2, 2), False, False), (gram(2, 1), True, True), (gram(2, 4), False, True), (gram(1, 4), False, False),
]  # fmt: skip


@pytest.mark.parametrize(("sums", "l1", "l2"), ATTAINED, ids=str)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_no_unit_moves_sums_further_and_some_unit_moves_them_as_far(
    sums: Sums, l1: bool, l2: bool, rows: int, neighbors: Neighbors
) -> None:
    listed = rows_of(sums)
    nothing = (0,) * sums.numbers
    some = itertools.combinations_with_replacement([nothing, *listed], rows)
    units = {tuple(map(sum, zip(*chosen, strict=True))) for chosen in some}
    others = units if neighbors is Neighbors.REPLACE else {nothing}
    changes = [tuple(abs(a - b) for a, b in zip(*two, strict=True)) for two in itertools.product(units, others)]
    far = moved(sums, rows, neighbors)
    assert far.touched == len(nothing)
    most = max(map(sum, changes)), max(sum(x * x for x in change) for change in changes), max(map(max, changes))
    assert most[0] <= far.l1
    assert most[1] <= far.l2_squared
    assert most[2] <= far.linf
    assert not l1 or most[0] == far.l1
    assert not l2 or most[1] == far.l2_squared


def test_limits_that_follow_from_others() -> None:
    assert vector(4, 100).l1 == 20
    assert vector(400, 100).l1 == 100  # whole numbers add up to no more than their squares
    assert vector(4, 100, l1=15).l1 == 15
    assert counts(9, 2) == Sums(form=Form.COUNTS, size=9, l2_squared=2, l1=2)
    assert (gram(3, 10).numbers, gram(3, 10).most) == (9, 100)


@pytest.mark.parametrize(
    "wrong", [(0, 1, None), (1, 0, None), (1, LONGEST + 1, None), (1, 4, 0), (1, -4, None)], ids=str
)
def test_no_sums(wrong: tuple[int, int, int | None]) -> None:
    with raises_code(InvalidInputError, "too-large"):
        vector(wrong[0], wrong[1], l1=wrong[2])
    with raises_code(InvalidInputError, "too-large"):
        gram(2, 2**26 + 1)
    assert gram(2, 2**26).most == LONGEST
    assert vector(2, LONGEST).most == LONGEST


def test_rounds_share_the_price() -> None:
    shares = [[(counts(5), F(1, 4)), (vector(2, 16), F(1, 4))], [(gram(2, 9), HALF)]]
    one = priced(shares, 2, Neighbors.ADD_REMOVE, F(2), F(0))
    laws = [each.law for some in one.rounds for each in some]
    assert laws == [DiscreteLaplace(F(2) / HALF), DiscreteLaplace(F(2 * 5) / HALF), DiscreteLaplace(F(2 * 16))]
    assert (one.loss.epsilon, one.loss.delta) == (2, 0)
    assert one.loss.rho == (2 * HALF**2 + 1) / 2  # two parts cost 1/2 each, and one costs 1
    other = priced([[(vector(100, 10**6), WHOLE)]], 1, Neighbors.REPLACE, F(1), F(1, 10**6))
    ((noisy,),) = other.rounds
    assert other.loss.rho is not None
    assert noisy.law == DiscreteGaussian(4 * 10**6 / (2 * other.loss.rho))
    assert noisy.deviation == pytest.approx((4 * 10**6 / (2 * float(other.loss.rho))) ** 0.5)
    assert (other.loss.epsilon, other.loss.delta) == (1, F(1, 10**6))


def test_noise_is_weighed_by_how_many_sums_have_it() -> None:
    two = priced([[(counts(7), F(1, 4))], [(counts(2), F(3, 4))]], 1, Neighbors.ADD_REMOVE, F(1), F(0))
    noisy = [each for one in two.rounds for each in one]
    first, second = (each.deviation for each in noisy)
    scales = [float(each.law.scale) for each in noisy if isinstance(each.law, DiscreteLaplace)]
    assert [first, second] == pytest.approx([2**0.5 * scale for scale in scales])
    assert two.noise == pytest.approx(7 * math.log(first) + 2 * math.log(second))


def test_the_noise_that_is_less() -> None:
    """A few counts are told more exactly with Laplace noise, and then the delta is not spent; many are not."""
    few, many = ([[(counts(20, ones), WHOLE)]] for ones in (1, 20))
    assert priced(few, 1, Neighbors.ADD_REMOVE, F(1), F(1, 10**6)).loss.delta == 0
    assert priced(many, 1, Neighbors.ADD_REMOVE, F(1), F(1, 10**6)).loss.delta == F(1, 10**6)


@pytest.mark.parametrize("shares", [(HALF,), (HALF, HALF, HALF), (F(3, 2), -HALF), (WHOLE, F(0))])
def test_shares_that_are_none(shares: tuple[F, ...]) -> None:
    with raises_code(InvalidInputError, "contradiction"):
        priced([[(counts(2), share)] for share in shares], 1, Neighbors.ADD_REMOVE, F(1), F(0))
