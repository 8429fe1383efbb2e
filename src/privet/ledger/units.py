"""TRUSTED and PURE: prices and caps as whole numbers of small units. Prices are rounded up, caps down.

One epsilon is 10**12 units, one rho 10**15. A delta counts in units of 10**-15 of the quarter of the budget's delta
that a gauge may use, so its cap is 10**15 for every budget. None is infinite: it is never within a cap again.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from privet.core.accountant import Budget
from privet.core.claim import claim
from privet.core.loss import Amount, Loss

EPSILON, RHO, DELTA = 10**12, 10**15, 10**15  # units of one
LARGEST = 2**62  # two of them still fit SQLite's 64-bit integers
FINEST = 2**512  # a longer fraction is rounded up to this denominator before it is written down


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """A price, or a sum of prices."""

    epsilon: int | None = 0
    delta: int | None = 0
    rho: int | None = 0
    rho_delta: int | None = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """A budget in units; `share` is the delta that a gauge may use."""

    epsilon: int
    rho: int
    delta: int
    share: Fraction


@claim("ledger-cap")
@lru_cache(maxsize=1024)
def caps(budget: Budget) -> Caps:
    """The budget, rounded down. Without a delta nothing but the basic gauge can hold: every rho is above 0."""
    share = budget.delta / 4
    return Caps(
        epsilon=min(LARGEST, int(budget.epsilon * EPSILON)),
        rho=min(LARGEST, int(budget.rho * RHO)),
        delta=DELTA if share else 0,
        share=share or Fraction(1, 4),  # only to count with
    )


@claim("ledger-cap")
def price(loss: Loss, share: Fraction) -> Units:
    """The loss, rounded up."""
    return Units(
        epsilon=_up(loss.epsilon, EPSILON),
        delta=_up(loss.delta / share, DELTA),
        rho=_up(loss.rho, RHO),
        rho_delta=_up(loss.rho_delta / share, DELTA),
    )


def writable(loss: Loss) -> Loss:
    """The loss itself if its fractions are short, else rounded up to one that is."""
    amounts = (loss.epsilon, loss.delta, loss.rho, loss.rho_delta)
    if all(amount is None or (amount.denominator <= FINEST and amount <= 1) for amount in amounts):
        return loss
    return Loss(
        epsilon=_short(loss.epsilon),
        delta=_short(min(loss.delta, Fraction(1))) or Fraction(0),
        rho=_short(loss.rho),
        rho_delta=_short(min(loss.rho_delta, Fraction(1))) or Fraction(0),
    )


def _short(amount: Amount) -> Amount:
    if amount is None or amount > LARGEST:
        return None
    if amount.denominator <= FINEST:
        return amount
    return Fraction(-(-amount.numerator * FINEST // amount.denominator), FINEST)


def _up(amount: Amount, units: int) -> int | None:
    if amount is None:
        return None
    number = -(-amount.numerator * units // amount.denominator)
    return number if number <= LARGEST else None
