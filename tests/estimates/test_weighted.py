"""Noises of different weights and laws together: never further off than is said, by the laws themselves."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest
from support.asked import answer, bounds, key, plan, question, total

from privet.core.expression import Column, Compare, Literal, Relation
from privet.core.laws import DiscreteGaussian, DiscreteLaplace, Law
from privet.core.measures import Role
from privet.core.plan import Aggregate, Computed, Function
from privet.estimates.accuracy import half_width
from privet.estimates.estimate import lines, total_error
from privet.estimates.weighted import added_half_width

SHARE = F(95, 100)
COUNTED = Aggregate(name="n", function=Function.COUNT, value=Column("age"))


def masses(law: Law) -> np.ndarray:
    """Listed so far that what is left out is below 1e-12; the middle one is that of 0."""
    if isinstance(law, DiscreteLaplace):
        reach = math.ceil(30 * float(law.scale))
        weights = np.exp(-np.abs(np.arange(-reach, reach + 1)) / float(law.scale))
    else:
        reach = math.ceil(8 * math.sqrt(law.variance)) + 2
        weights = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * float(law.variance)))
    found: np.ndarray = weights / weights.sum()
    return found


def missed(noises: list[tuple[int, Law]], limit: F) -> float:
    """How often the weighted sum is further off, for whole weights."""
    found = np.ones(1)
    for weight, law in noises:
        listed = masses(law)
        spread = np.zeros(weight * (len(listed) - 1) + 1)
        spread[::weight] = listed
        found = np.convolve(found, spread)
    return float(found[np.abs(np.arange(len(found)) - len(found) // 2) > limit].sum())


@pytest.mark.parametrize("share", [F(1, 2), SHARE, F(999, 1000)])
@pytest.mark.parametrize("weights", [(1, 1), (1, 3), (1, 12), (5, 2)])
@pytest.mark.parametrize("variances", [(F(1), F(1)), (F(1, 2), F(9)), (F(90), F(4)), (F(400), F(400))])
def test_gaussian_noises_of_two_laws_are_inside_as_often_as_said(
    variances: tuple[F, F], weights: tuple[int, int], share: F
) -> None:
    """With 10 % and the slack less they are not, where noise is wide."""
    noises = [(weight, DiscreteGaussian(variance)) for weight, variance in zip(weights, variances, strict=True)]
    width = added_half_width(tuple((F(weight), law) for weight, law in noises), share)
    assert missed(noises, width) <= float(1 - share) + 1e-11
    if min(variances) >= 4:
        assert missed(noises, width * F(9, 10) - sum(weights)) > float(1 - share)


@pytest.mark.parametrize("share", [F(1, 2), SHARE, F(999, 1000)])
@pytest.mark.parametrize("scales", [(F(1), F(8)), (F(20), F(3)), (F(5), F(5))])
def test_laplace_noises_of_two_laws_are_inside_as_often_as_said(scales: tuple[F, F], share: F) -> None:
    noises = [(weight, DiscreteLaplace(scale)) for weight, scale in zip((2, 1), scales, strict=True)]
    width = added_half_width(tuple((F(weight), law) for weight, law in noises), share)
    assert missed(noises, width) <= float(1 - share) + 1e-11
    assert missed(noises, width * F(9, 10) - 3) > float(1 - share)


def test_mixed_laws_and_one_noise_alone() -> None:
    """Nothing but the union of both is proved of a Laplace and a Gaussian noise."""
    laplace, gauss = DiscreteLaplace(F(7)), DiscreteGaussian(F(50))
    each = 1 - (1 - SHARE) / 2
    mixed = added_half_width(((F(1), laplace), (F(2), gauss)), SHARE)
    assert mixed == half_width(laplace, each) + 2 * half_width(gauss, each)
    assert added_half_width(((F(3), gauss), (F(0), laplace)), SHARE) == 3 * half_width(gauss, SHARE)
    several = added_half_width(((F(1), laplace), (F(2), laplace)), SHARE, 9)
    assert several == 3 * half_width(laplace, each, 9)


@pytest.mark.parametrize("variance", [F(1), F(3, 2), F(2), F(10), F(1000)])
def test_a_discrete_gaussian_is_within_one_of_a_normal_number(variance: F) -> None:
    """By quantiles: above every whole number there is no more of the one than above the number before of the other."""
    listed, sigma = masses(DiscreteGaussian(variance)), math.sqrt(variance)
    middle = len(listed) // 2
    for m in range(-middle + 1, middle):
        normal = math.erfc((m - 1) / (sigma * math.sqrt(2))) / 2
        assert listed[middle + m :].sum() <= normal * (1 + 1e-9) + 1e-13, m
    assert listed[middle + 1 :].sum() > math.erfc(1 / (sigma * math.sqrt(2))) / 2 or variance < 1  # not within 0


@pytest.mark.parametrize("gauge", [{"rho": F(1, 10)}, {"rho": F(1, 100)}])
def test_the_interval_of_a_sum_beside_its_count_holds(gauge: dict[str, F]) -> None:
    """By both laws, with a narrower interval than each half width added up, and the error that was said before."""
    asked = question(plan((), COUNTED, total("s", "age")), bounds(1, 1), **gauge)
    parts = {part.measure.role: part for part in asked.parts}
    center = parts[Role.SUM].measure.center
    assert center == 60
    noisy = [[100 if part.measure.role is Role.COUNT else -700] for part in asked.parts]
    (line,) = lines(asked, noisy, SHARE)
    cell = line["s"]
    off = cell.high - cell.value  # type: ignore[union-attr, operator]
    noises = [(1, parts[Role.SUM].law), (center, parts[Role.COUNT].law)]
    assert missed(noises, off) <= 0.05 + 1e-11  # type: ignore[arg-type]
    each = 1 - (1 - SHARE) / 2
    assert off < sum(weight * half_width(law, each) for weight, law in noises) * F(9, 10)  # type: ignore[arg-type]
    (recipe,) = (one for one in asked.recipes if one.aggregate.name == "s")
    assert total_error(recipe, asked.parts, SHARE) == off
    assert (cell.value, cell.low) == (60 * 100 - 700, cell.value - off)  # type: ignore[union-attr]


def test_a_sum_in_a_computed_column_holds_together_with_the_rest() -> None:
    """There each noise is a statement of its own, which its count shares."""
    double = Computed(name="d", value=Column("s"))
    asked = question(plan((), COUNTED, total("s", "age"), computed=(double,), outputs=("d", "s")), rho=F(1))
    noisy = [[100 if part.measure.role is Role.COUNT else -700] for part in asked.parts]
    (line,) = lines(asked, noisy, SHARE)
    assert line["d"].low < line["s"].low <= line["s"].high < line["d"].high  # type: ignore[union-attr, operator]


def test_a_sum_whose_count_was_tested_keeps_its_two_half_widths() -> None:
    many = Compare(Relation.GREATER_EQUAL, Column("n"), Literal(F(5)))
    told = question(plan((key("sex"),), COUNTED, total("s", "age"), having=many), rho=F(1))
    free = question(plan((key("sex"),), COUNTED, total("s", "age")), rho=F(1))
    one, two = (
        answer(asked, *([100] if part.measure.role is Role.COUNT else [-700] for part in asked.parts)).lines()[0]["s"]
        for asked in (told, free)
    )
    assert one.high - one.low > two.high - two.low  # type: ignore[union-attr, operator]
