"""The filter that no sequence of questions can pass: two gauges, either may certify (docs/design/rules.md, rule 1).

With a budget (E, D) a charge is accepted if afterwards
    basic gauge:  sum of epsilon <= E       and  sum of delta     <= D/4,    or
    zCDP gauge:   sum of rho     <= rho*    and  sum of rho_delta <= D/4,
where rho* is the most rho that implies (E, D/2)-DP. docs/claims.md proves that what was answered is (E, D)-DP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from privet.core.claim import claim
from privet.core.exponential import exp_enclosure
from privet.core.loss import NOTHING, Amount, Loss, sequential
from privet.core.rational import below_one, positive
from privet.errors import InvalidInputError

ORDER_STEP = 64  # orders of the conversion are multiples of 1/64 ...
LARGE_ORDER = 64  # ... and whole numbers from here on
DIGITS = 6
E_BELOW = Fraction(271828, 10**5)


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may ever be learned about one unit. Exact: Budget(0.3) is three tenths.

    Epsilon lies between 1e-6 and 1000; delta is 0, or at least 1e-40.
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: object, delta: object = 0) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", below_one(delta, "delta"))
        if not Fraction(1, 10**6) <= self.epsilon <= 1000 or 0 < self.delta < Fraction(1, 10**40):
            raise InvalidInputError(
                "a budget's epsilon lies between 1e-6 and 1000, its delta is 0 or at least 1e-40",
                "for example epsilon=1, delta=1e-9",
                "out-of-range",
            )

    @property
    def rho(self) -> Fraction:
        """The zCDP gauge's cap; 0 without a delta."""
        return rho_cap(self.epsilon, self.delta / 2) if self.delta else Fraction(0)


@claim("two-gauges")
def accepts(budget: Budget, spent: Loss, charge: Loss) -> bool:
    """May this charge follow what was spent?"""
    return within(budget, sequential([spent, charge]))


@claim("two-gauges")
def within(budget: Budget, total: Loss) -> bool:
    """Does either gauge certify this total?"""
    share = budget.delta / 4
    basic = total.epsilon is not None and total.epsilon <= budget.epsilon and total.delta <= share
    return basic or (
        budget.delta > 0 and total.rho is not None and total.rho <= budget.rho and total.rho_delta <= share
    )


def how_many(budget: Budget, spent: Loss, charge: Loss) -> int:
    """How many more charges like this one fit: the better of the two gauges."""
    if charge == NOTHING:
        raise InvalidInputError(
            "this charge is 0: any number of them fits", "ask about a charge that costs something", "not-positive"
        )
    share = budget.delta / 4
    basic = _fits((budget.epsilon, spent.epsilon, charge.epsilon), (share, spent.delta, charge.delta))
    if not budget.delta:
        return basic
    return max(basic, _fits((budget.rho, spent.rho, charge.rho), (share, spent.rho_delta, charge.rho_delta)))


def _fits(*gauges: tuple[Fraction, Amount, Amount]) -> int:
    """The largest n with spent + n * charge <= cap for all of them; the first charge is above 0."""
    fits = []
    for cap, spent, charge in gauges:
        if spent is None or charge is None or spent > cap:
            return 0
        if charge:
            fits.append((cap - spent) // charge)
    return min(fits)


@claim("zcdp-to-dp")
@lru_cache(maxsize=256)
def rho_cap(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, to six digits of the best one, that is certified to imply (epsilon, delta)-DP. May be 0."""
    order, guess = _proposal(float(epsilon), math.log(delta))
    unit = Fraction(10) ** (math.floor(math.log10(guess)) + 1 - DIGITS)
    low = high = round(guess / unit) + 1
    step = 1
    while low > 0 and not implies(low * unit, epsilon, delta, order):
        high, low, step = low, max(0, low - step), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if implies(middle * unit, epsilon, delta, order) else (low, middle)
    return low * unit


@claim("zcdp-to-dp")
def implies(rho: Fraction, epsilon: Fraction, delta: Fraction, order: Fraction) -> bool:
    """Does rho-zCDP give (epsilon, delta)-DP by the Renyi divergence of this order > 1? Decided in integers.

    The condition is exp((order-1)(order*rho-epsilon)) * (order-1)^(order-1) / order^order <= delta. With order a/b
    it is raised to the power b, which leaves rational numbers and one exponential. For a large order the last two
    factors are replaced by 1 / (e * (order-1)), which is larger.
    """
    power = order.denominator
    exponent = power * (order - 1) * (epsilon - order * rho)
    bits = 64 + 2 * int(abs(exponent))
    low, high = exp_enclosure(abs(exponent), bits)
    left = Fraction(high, 1 << bits) if exponent >= 0 else Fraction(1 << bits, low)
    if order >= LARGE_ORDER:
        return left <= (E_BELOW * (order - 1) * delta) ** power
    return left * (order - 1) ** (order.numerator - power) <= delta**power * order**order.numerator


def _proposal(epsilon: float, log_delta: float) -> tuple[Fraction, Fraction]:
    """The order that allows the most rho, and that rho, in floats; `implies` checks it."""

    def rho(order: float) -> float:
        penalty = (order - 1) * math.log1p(-1 / order) - math.log(order)
        return (epsilon + (log_delta - penalty) / (order - 1)) / order

    low, high = 1 + 1 / ORDER_STEP, 2.0
    while rho(2 * high) > rho(high):
        high *= 2
    high *= 2
    for _ in range(200):  # rho has one maximum in between: drop a third on the lower side
        third = (high - low) / 3
        low, high = (low + third, high) if rho(low + third) < rho(high - third) else (low, high - third)
    step = 1 if low >= LARGE_ORDER else ORDER_STEP
    order = max(Fraction(ORDER_STEP + 1, ORDER_STEP), Fraction(round(low * step), step))
    return order, Fraction(max(rho(float(order)), 1e-300))
