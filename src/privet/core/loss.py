"""What one release costs, on both gauges, as exact numbers. An amount of None is infinite: no such price exists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from privet.core.claim import claim
from privet.core.exponential import exp_enclosure
from privet.core.unit import Neighbors

Amount = Fraction | None
ZERO = Fraction(0)
BITS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """(epsilon, delta)-DP by the basic gauge, and delta-approximate rho-zCDP by the other."""

    epsilon: Amount
    delta: Fraction = ZERO
    rho: Amount
    rho_delta: Fraction = ZERO


NOTHING = Loss(epsilon=ZERO, rho=ZERO)


@claim("pure-implies-zcdp")
def pure(epsilon: Fraction) -> Loss:
    """The loss of an epsilon-DP release."""
    return Loss(epsilon=epsilon, rho=epsilon**2 / 2)


def zcdp(rho: Fraction) -> Loss:
    """The loss of a rho-zCDP release that has no pure price."""
    return Loss(epsilon=None, rho=rho)


def approximate(epsilon: Fraction, delta: Fraction, rho: Amount = None) -> Loss:
    """The loss of an (epsilon, delta)-DP release; with its own rho if it has one, else approximate zCDP."""
    if rho is not None:
        return Loss(epsilon=epsilon, delta=delta, rho=rho)
    return Loss(epsilon=epsilon, delta=delta, rho=epsilon**2 / 2, rho_delta=delta)


@claim("sequential")
def sequential(losses: Sequence[Loss]) -> Loss:
    """Everything was released: prices add up."""
    return Loss(
        epsilon=_sum([loss.epsilon for loss in losses]),
        delta=sum((loss.delta for loss in losses), ZERO),
        rho=_sum([loss.rho for loss in losses]),
        rho_delta=sum((loss.rho_delta for loss in losses), ZERO),
    )


@claim("parallel")
def parallel(losses: Sequence[Loss], neighbors: Neighbors) -> Loss:
    """Each release saw its own part of the units, and no unit is in two parts.

    Adding or removing a unit changes one part: the largest price. Replacing one can change two: the two largest.
    """
    parts = 1 if neighbors is Neighbors.ADD_REMOVE else 2
    return Loss(
        epsilon=_largest([loss.epsilon for loss in losses], parts),
        delta=_largest([loss.delta for loss in losses], parts) or ZERO,
        rho=_largest([loss.rho for loss in losses], parts),
        rho_delta=_largest([loss.rho_delta for loss in losses], parts) or ZERO,
    )


@claim("group-privacy")
def for_group(loss: Loss, people: int) -> Loss:
    """What the release costs a group of people together: k * epsilon, k**2 * rho, delta * (1 + ... + e^(k-1)eps)."""
    if people == 1:
        return loss
    epsilon, delta = loss.epsilon, loss.delta
    return Loss(
        epsilon=None if epsilon is None else people * epsilon,
        delta=ZERO if epsilon is None else min(Fraction(1), delta * sum(exp_above(i * epsilon) for i in range(people))),
        rho=None if loss.rho is None or loss.rho_delta else people**2 * loss.rho,
    )


def for_entries(epsilon: Fraction, entries: int) -> Fraction:
    """The epsilon of a release that protects `entries` entries of one person together with `epsilon`."""
    return epsilon / entries


@claim("relation-conversion")
def as_replace(loss: Loss) -> Loss:
    """An add-remove price read under replace-one: a replacement is a removal and an addition. There is no way back."""
    return for_group(loss, 2)


def exp_above(exponent: Fraction) -> Fraction:
    """exp(exponent) for exponent >= 0, rounded up."""
    bits = BITS + 2 * int(exponent)
    return Fraction(1 << bits, exp_enclosure(exponent, bits)[0])


def _sum(amounts: Sequence[Amount]) -> Amount:
    finite = [amount for amount in amounts if amount is not None]
    return sum(finite, ZERO) if len(finite) == len(amounts) else None


def _largest(amounts: Sequence[Amount], count: int) -> Amount:
    finite = sorted(amount for amount in amounts if amount is not None)
    return sum(finite[-count:], ZERO) if len(finite) == len(amounts) else None
