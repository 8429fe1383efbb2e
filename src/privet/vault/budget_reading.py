"""Where a budget stands: what was spent and what is left."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privet.core.accountant import Budget, how_many
from privet.core.loss import Amount, Loss
from privet.ledger import Reading
from privet.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What is left on each gauge by itself; either may certify a question. None: this gauge never will again."""

    epsilon: Amount
    rho: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetReading:
    """Where a budget stands. Spent epsilon is a reading; only the cap is guaranteed."""

    cap: Budget
    spent: Loss
    over: Loss
    holds: bool
    budgets: tuple[Reading, ...] = ()  # those that a question must fit, where units are divided into parts

    @property
    def remaining(self) -> Left:
        return Left(epsilon=_left(self.cap.epsilon, self.spent.epsilon), rho=_left(self.cap.rho, self.spent.rho))

    def about_n_more(self, query: Query) -> int:
        """How many questions of this price fit; none once the cap was passed."""
        each = [one.spent.loss for one in self.budgets] or [self.spent]
        return min(how_many(self.cap, spent, query.cost) for spent in each) if self.holds else 0


def _left(cap: Fraction, spent: Amount) -> Amount:
    return None if spent is None else max(cap - spent, Fraction(0))
