"""What one release costs, on both gauges, as exact numbers. An amount of None is infinite: no such price exists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from privet.core.claim import claim
from privet.core.exponential import exp_enclosure
from privet.core.rational import whole
from privet.errors import InvalidInputError

Amount = Fraction | None
ZERO = Fraction(0)
BITS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """(epsilon, delta)-DP by the basic gauge, and rho_delta-approximate rho-zCDP by the other.

    Nothing is negative, or a refund would slip through the filter; and what costs nothing on one gauge costs nothing
    at all, or it could be repeated for ever.
    """

    epsilon: Amount
    delta: Fraction = ZERO
    rho: Amount
    rho_delta: Fraction = ZERO

    def __post_init__(self) -> None:
        amounts = (self.epsilon, self.delta, self.rho, self.rho_delta)
        if not all(amount is None or (isinstance(amount, Fraction) and amount >= 0) for amount in amounts):
            raise InvalidInputError(
                "a price has a part that is not a fraction of at least 0", "give exact prices", "wrong-type"
            )
        if (self.epsilon == 0) != (self.rho == 0):
            raise InvalidInputError(
                "a price is 0 on one gauge only", "price the release on both gauges, above 0", "contradiction"
            )


NOTHING = Loss(epsilon=ZERO, rho=ZERO)


@claim("pure-implies-zcdp")
def pure(epsilon: Fraction) -> Loss:
    """The loss of an epsilon-DP release."""
    return Loss(epsilon=epsilon, rho=epsilon**2 / 2)


def zcdp(rho: Fraction) -> Loss:
    """The loss of a rho-zCDP release that has no pure price."""
    return Loss(epsilon=None, rho=rho)


@claim("approximate-zcdp")
def approximate(epsilon: Fraction, delta: Fraction) -> Loss:
    """The loss of an (epsilon, delta)-DP release of which nothing more is known."""
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
def parallel(losses: Sequence[Loss]) -> Loss:
    """Add-remove prices of releases that each saw their own part of the units: the largest.

    No unit is in two parts, so adding or removing one changes one part. A replacement is as_replace of it.
    """

    def largest(amounts: Sequence[Amount]) -> Amount:
        finite = [amount for amount in amounts if amount is not None]
        return max(finite, default=ZERO) if len(finite) == len(amounts) else None

    return Loss(
        epsilon=largest([loss.epsilon for loss in losses]),
        delta=max((loss.delta for loss in losses), default=ZERO),
        rho=largest([loss.rho for loss in losses]),
        rho_delta=max((loss.rho_delta for loss in losses), default=ZERO),
    )


@claim("group-privacy")
def for_group(loss: Loss, people: int) -> Loss:
    """What the release costs a group together: k * epsilon, k**2 * rho, delta * (1 + e^eps + ... + e^((k-1) eps))."""
    size = whole(people, "people", 1)
    if size == 1 or loss == NOTHING:
        return loss
    epsilon = None if loss.epsilon is None else size * loss.epsilon
    delta = _chain(loss.delta, loss.epsilon, size)
    if not loss.rho_delta:
        return Loss(epsilon=epsilon, delta=delta, rho=None if loss.rho is None else size**2 * loss.rho)
    return Loss(epsilon=epsilon, delta=delta, rho=None if epsilon is None else epsilon**2 / 2, rho_delta=delta)


@claim("relation-conversion")
def as_replace(loss: Loss) -> Loss:
    """An add-remove price read under replace-one: a replacement is a removal and an addition. There is no way back."""
    return for_group(loss, 2)


def _chain(delta: Fraction, epsilon: Amount, steps: int) -> Fraction:
    """delta * (1 + e^epsilon + ...), rounded up, at most 1. Without an epsilon nothing is known but 1."""
    if not delta:
        return ZERO
    total, power = ZERO, Fraction(1)
    factor = None if epsilon is None or epsilon > 700 else exp_above(epsilon)
    for _ in range(steps):
        total += delta * power
        if factor is None or total >= 1:
            return Fraction(1)
        power = Fraction(-(-(power * factor).numerator * 2**BITS // (power * factor).denominator), 2**BITS)
    return total


def exp_above(exponent: Fraction) -> Fraction:
    """exp(exponent) for exponent >= 0, rounded up."""
    bits = BITS + 2 * int(exponent)
    return Fraction(1 << bits, exp_enclosure(exponent, bits)[0])


def _sum(amounts: Sequence[Amount]) -> Amount:
    finite = [amount for amount in amounts if amount is not None]
    return sum(finite, ZERO) if len(finite) == len(amounts) else None
