"""What is released: for every part a vector of whole numbers or choices, its noise and its price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from privet.core.claim import claim
from privet.core.families import Moves, family_for
from privet.core.laws import Choice, DiscreteGaussian, DiscreteLaplace, Top
from privet.core.loss import Loss, approximate, as_replace, exp_above, pure, sequential, zcdp
from privet.core.measures import CHOSEN, KEYS, Measure, Role
from privet.core.mechanisms import gaussian_for_rho, gaussian_key_threshold, key_threshold, laplace_for
from privet.core.ranks import MOST_BEYOND, choice_for, choice_for_rho, rank_sensitivity, root_below, rows_beyond
from privet.core.sensitivity import Bounds, Sensitivity, among, joint_sensitivity, sensitivity
from privet.core.top import apart, compared, top_for, top_for_rho
from privet.core.unit import Neighbors
from privet.errors import RefusedQueryError

# Keys that are not public: which are shown is a release of its own, with a price and a delta.

ROUNDING = Fraction(1, 2**64)


def keys_sensitivity(bounds: Bounds) -> Sensitivity:
    """A unit counts once for each of its keys, however many of its rows count later."""
    return sensitivity(0, 1, None, replace(bounds, rows=1, in_all=None))


@claim("private-keys")
def keys_for(epsilon: Fraction, delta: Fraction, bounds: Bounds) -> tuple[DiscreteLaplace, int, Loss]:
    """The noise on the number of units of a key, and from how many on it is shown.

    Under replace a unit goes and another comes: the price of both, one after the other.
    """
    if bounds.neighbors is Neighbors.ADD_REMOVE:
        law = laplace_for(epsilon, bounds.groups)
        return law, key_threshold(law, delta, bounds.groups), approximate(epsilon, delta)
    half = epsilon / 2
    each = delta / (1 + exp_above(half) + ROUNDING)
    law = laplace_for(half, bounds.groups)
    return law, key_threshold(law, each, bounds.groups), as_replace(approximate(half, each))


@claim("gaussian-keys")
def gaussian_keys_for(rho: Fraction, delta: Fraction, bounds: Bounds) -> tuple[DiscreteGaussian, int, Loss]:
    """The same by Gaussian noise: delta-approximate rho-zCDP, under either relation."""
    law = gaussian_for_rho(rho, keys_sensitivity(bounds).l2_squared)
    loss = Loss(epsilon=None, delta=delta, rho=rho, rho_delta=delta)
    return law, gaussian_key_threshold(law, delta, bounds.groups), loss


WIDEST = 2**50  # the sampler's limit for a scale

Law = DiscreteLaplace | DiscreteGaussian | Choice | Top


class Gauge(StrEnum):
    """What a price is given in: pure epsilon is paid with Laplace noise, rho with Gaussian noise."""

    EPSILON = "epsilon"
    RHO = "rho"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A measure with its sensitivity, its noise and its price, which was given in `gauge`. Keys are shown from
    `threshold` units on."""

    measure: Measure
    sensitivity: Sensitivity
    law: Law
    loss: Loss
    threshold: int | None = None
    gauge: Gauge = Gauge.EPSILON


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What decides the noise beside the measure: how many cells there are, None for keys that are not public; what
    bounding leaves of a unit; the delta with which such keys are chosen; and whether by Laplace or Gaussian noise. With
    `limit`, so many of the cells are chosen by their scores, and what else is measured is measured in these."""

    cells: int | None
    bounds: Bounds
    delta: Fraction | None = None
    keys: Gauge = Gauge.EPSILON
    limit: int | None = None

    def measured(self) -> Setting:
        """Of the cells that are measured."""
        if self.limit is None:
            return self
        return replace(self, cells=self.limit, bounds=among(self.bounds, self.limit), limit=None)


@claim("people-of-the-rest")
def sensitivity_of(measure: Measure, setting: Setting) -> Sensitivity:
    """How far one unit moves a measure, over all cells; one of the rest, in its one cell."""
    if measure.role is Role.TOP:
        bounds = compared(setting.bounds, setting.cells or 1)
        bounds = replace(bounds, rows=1) if measure.score is Role.PEOPLE else bounds
        return sensitivity(measure.low, measure.high, setting.cells, bounds)
    setting = setting.measured()
    if measure.role is Role.KEYS:
        return keys_sensitivity(setting.bounds)
    if measure.numbers > 1:
        return joint_sensitivity(measure.size, measure.numbers, setting.cells, setting.bounds)
    if measure.role in CHOSEN:
        return rank_sensitivity(measure, setting.cells, setting.bounds)
    bounds = replace(setting.bounds, rows=1) if measure.role is Role.PEOPLE else setting.bounds
    return sensitivity(measure.low, measure.high, 1 if measure.rest else setting.cells, bounds)


@claim("parts-price")
def priced(measures: Sequence[Measure], setting: Setting, gauge: Gauge, shares: Sequence[Fraction]) -> tuple[Part, ...]:
    """Every measure with noise for its share of the price."""
    return tuple(_part(measure, setting, gauge, share) for measure, share in zip(measures, shares, strict=True))


def _part(measure: Measure, setting: Setting, gauge: Gauge, share: Fraction) -> Part:
    far = sensitivity_of(measure, setting)
    if measure is KEYS:
        return _keys(far, setting, gauge, share)
    law: Law
    if measure.role is Role.TOP:
        assert setting.limit is not None  # noqa: S101  what an outline with scores says
        priced_at = top_for if gauge is Gauge.EPSILON else top_for_rho
        law, loss = priced_at(share, apart(measure, setting.bounds), setting.limit)
        wide = law.rate * WIDEST < 1
    elif measure.quantiles:
        measured = setting.measured()
        moves = Moves(measure.quantiles, measured.cells, measured.bounds, gauge is Gauge.EPSILON)
        law, loss = family_for(measure, share, moves)
        wide = min(law.rates) * WIDEST < 1
    elif measure.role in CHOSEN:
        law, loss = choice_for(share, far, measure) if gauge is Gauge.EPSILON else choice_for_rho(share, far)
        wide = law.rate * WIDEST < 1 or rows_beyond(measure, law) > MOST_BEYOND
    elif gauge is Gauge.EPSILON:
        law, loss = laplace_for(share, far.l1), pure(share)
        wide = law.scale >= WIDEST
    else:
        law, loss = gaussian_for_rho(share, far.l2_squared), zcdp(share)
        wide = law.variance >= WIDEST**2
    if wide:
        raise _too_wide()
    return Part(measure=measure, sensitivity=far, law=law, loss=loss, gauge=gauge)


def _keys(far: Sensitivity, setting: Setting, gauge: Gauge, share: Fraction) -> Part:
    assert setting.delta is not None  # noqa: S101  `pricing` asks for it
    law: Law
    if setting.keys is Gauge.RHO:
        law, threshold, loss = gaussian_keys_for(share, setting.delta, setting.bounds)
        wide = law.variance >= WIDEST**2
    else:
        epsilon = share if gauge is Gauge.EPSILON else root_below(2 * share)
        law, threshold, loss = keys_for(epsilon, setting.delta, setting.bounds)
        wide = law.scale >= WIDEST
    if wide:
        raise _too_wide()
    return Part(measure=KEYS, sensitivity=far, law=law, loss=loss, threshold=threshold, gauge=setting.keys)


def _too_wide() -> RefusedQueryError:
    return RefusedQueryError(
        "the noise would be wider than 2**50 steps",
        "declare a coarser step or a narrower range for the column, or pay more",
        "too-fine",
    )


def total_loss(parts: Sequence[Part]) -> Loss:
    """What the whole release costs: the parts one after the other."""
    return sequential([part.loss for part in parts])
