"""The words of a refusal: what it costs, what is left, what would still fit. Never anything from data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

from privet.core.accountant import how_many
from privet.core.loss import Loss
from privet.errors import BudgetExceededError, InvalidInputError, TableUnavailableError
from privet.ledger.sums import fits, plus
from privet.ledger.units import DELTA, EPSILON, RHO, Caps, Units, price

if TYPE_CHECKING:
    from privet.ledger import Ledger

DIGITS = 6
MORE = "ask the owner for more"


def check_ready(ready: Callable[[], None], analyst: str) -> None:
    """Raise, before anything is charged, if the data are not there. An analyst is not told why (rule 7)."""
    try:
        ready()
    except InvalidInputError:
        if not analyst:
            raise
    else:
        return
    raise TableUnavailableError(
        "the table is not available", "ask the owner to run `privet check VAULT`, which says why"
    )


def about_n_more(ledger: Ledger, loss: Loss, analyst: str = "", part: str | None = None) -> int:
    """How many charges of this price still fit every budget that they count in; none once a cap was passed."""
    found = [how_many(one.cap, one.spent.loss, loss) if one.spent.holds else 0 for one in ledger.readings(part)]
    own = ledger.granted(analyst) if analyst else None
    if own is not None:
        found.append(how_many(own, ledger.spent(analyst).loss, loss))
    return min(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Short:
    """A budget that a charge does not fit, as we name it to the one who asked."""

    name: str
    cap: Caps
    spent: Units


def refusal(budgets: Sequence[Short], loss: Loss) -> BudgetExceededError:
    """Speaks of the budget with the least left, so that what it offers fits all of them."""
    if all(_only_delta_lacks(budget, loss) for budget in budgets):
        return _no_delta(budgets, loss)
    gauge, units = ("rho", RHO) if loss.epsilon is None else ("epsilon", EPSILON)
    amount = loss.rho if loss.epsilon is None else loss.epsilon
    costs = f"this query costs {gauge} " + ("without limit" if amount is None else _shown(amount, ROUND_CEILING))
    left, short = min(((_left(budget, loss), budget) for budget in budgets), key=lambda pair: pair[0])
    if left:
        fitting = _shown(Fraction(left, units), ROUND_FLOOR)
        problem = f"{costs}; {fitting} is left of {short.name}"
        return BudgetExceededError(problem, f"ask with {gauge}={fitting}, or {MORE}")
    pure = min(_epsilon_left(budget, Units()) for budget in budgets)
    if pure:
        without = gauge == "rho" and not short.cap.rho
        problem = (
            f"{costs}; that needs a delta, and {short.name} has none"
            if without
            else f"{costs}; nothing is left of {short.name} for it"
        )
        fitting = _shown(Fraction(pure, EPSILON), ROUND_FLOOR)
        return BudgetExceededError(problem, f"ask with epsilon={fitting} and no delta, or {MORE}")
    return BudgetExceededError(
        f"{costs}; nothing is left of {short.name}", f"use the answers that were released already, or {MORE}"
    )


def _only_delta_lacks(short: Short, loss: Loss) -> bool:
    bare = replace(loss, delta=Fraction(0), rho_delta=Fraction(0))
    return bare != loss and fits(short.cap, plus(short.spent, price(bare, short.cap.share)))


def _no_delta(budgets: Sequence[Short], loss: Loss) -> BudgetExceededError:
    """The rest of the price would fit. What is left is that of the gauge with more of it."""

    def left(short: Short) -> Fraction:
        used = [amount for amount in (short.spent.delta, short.spent.rho_delta) if amount is not None]
        return max((_rest(short.cap.delta, amount) * short.cap.share / DELTA for amount in used), default=Fraction(0))

    least = min(budgets, key=left)
    costs = _shown(max(loss.delta, loss.rho_delta), ROUND_CEILING)
    fitting, pure = left(least), min(_epsilon_left(budget, Units()) for budget in budgets)
    smaller = f"with delta={_shown(fitting, ROUND_FLOOR)}, or " if fitting else ""
    room = f"delta {_shown(fitting, ROUND_FLOOR)}" if fitting else "no delta"
    return BudgetExceededError(
        f"this query costs delta {costs}; {room} is left of {least.name} (each gauge may use a quarter of its delta)",
        f"ask {smaller}with epsilon={_shown(Fraction(pure, EPSILON), ROUND_FLOOR)} and no delta, or {MORE}",
    )


def _left(short: Short, loss: Loss) -> int:
    """The largest price of this kind that fits."""
    charge = price(loss, short.cap.share)
    return _rho_left(short, charge) if loss.epsilon is None else _epsilon_left(short, charge)


def _epsilon_left(short: Short, charge: Units) -> int:
    """The largest epsilon, with this charge's deltas, that either gauge takes: rho is at most epsilon**2 / 2."""
    basic = _rest(short.cap.epsilon, short.spent.epsilon) if _room(short, short.spent.delta, charge.delta) else 0
    rho = _rho_left(short, charge)
    zcdp = isqrt(2 * rho * EPSILON**2 // RHO)
    if charge.rho and charge.epsilon:  # a price whose rho is above epsilon**2 / 2 shrinks with it
        zcdp = min(zcdp, isqrt(charge.epsilon**2 * rho // charge.rho))
    return max(basic, zcdp)


def _rho_left(short: Short, charge: Units) -> int:
    return _rest(short.cap.rho, short.spent.rho) if _room(short, short.spent.rho_delta, charge.rho_delta) else 0


def _rest(cap: int, spent: int | None) -> int:
    return 0 if spent is None else max(0, cap - spent)


def _room(short: Short, spent: int | None, charge: int | None) -> bool:
    return spent is not None and charge is not None and spent + charge <= short.cap.delta


def _shown(amount: Fraction, rounding: str) -> str:
    """A few digits, rounded against the one who asks."""
    number = Context(prec=DIGITS, rounding=rounding).divide(Decimal(amount.numerator), Decimal(amount.denominator))
    return f"{number.normalize():f}" if abs(number.adjusted()) < DIGITS else f"{number.normalize():e}"
