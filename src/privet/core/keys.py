"""Keys that are not public: which are shown is a release of its own, with a price and a delta."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from privet.core.claim import claim
from privet.core.laws import DiscreteLaplace
from privet.core.loss import Loss, approximate, as_replace, exp_above
from privet.core.mechanisms import key_threshold, laplace_for
from privet.core.sensitivity import Bounds, Sensitivity, sensitivity
from privet.core.unit import Neighbors

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
