"""PURE: sums of prices in units, as they are shown and checked once more. The database adds up and caps by itself."""

from __future__ import annotations

from fractions import Fraction

from privet.core.claim import claim
from privet.core.loss import Loss
from privet.ledger.units import DELTA, EPSILON, LARGEST, RHO, Caps, Units


def plus(one: Units, other: Units) -> Units:
    """The sum. What is too large is infinite."""
    return Units(
        epsilon=_sum(one.epsilon, other.epsilon),
        delta=_sum(one.delta, other.delta),
        rho=_sum(one.rho, other.rho),
        rho_delta=_sum(one.rho_delta, other.rho_delta),
    )


@claim("ledger-cap")
def fits(cap: Caps, total: Units) -> bool:
    """What the database's CHECK says, for `verify` and for the words of a refusal."""
    basic = _below(total.epsilon, cap.epsilon) and _below(total.delta, cap.delta)
    return basic or (_below(total.rho, cap.rho) and _below(total.rho_delta, cap.delta))


def reading(total: Units, share: Fraction) -> Loss:
    """A sum as a loss. A delta that is not known to be less reads 1, which promises nothing."""
    return Loss(
        epsilon=None if total.epsilon is None else Fraction(total.epsilon, EPSILON),
        delta=Fraction(1) if total.delta is None else Fraction(total.delta, DELTA) * share,
        rho=None if total.rho is None else Fraction(total.rho, RHO),
        rho_delta=Fraction(1) if total.rho_delta is None else Fraction(total.rho_delta, DELTA) * share,
    )


def _sum(one: int | None, other: int | None) -> int | None:
    if one is None or other is None or one + other > LARGEST:
        return None
    return one + other


def _below(amount: int | None, cap: int) -> bool:
    return amount is not None and amount <= cap
