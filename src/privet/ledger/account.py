"""TRUSTED and PURE: one row of sums, and how an entry changes it. The database holds such rows; `verify` replays."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from privet.core.accountant import Budget
from privet.core.loss import Loss
from privet.ledger import FAILURES_ALLOWED, Policy, Spent
from privet.ledger.sums import fits, plus, reading
from privet.ledger.units import LARGEST, Caps, Units, caps, price

ROW = (
    "name", "policy", "budget", "epsilon_cap", "delta_cap", "rho_cap", "epsilon", "delta", "rho", "rho_delta",
    "over_epsilon", "over_delta", "over_rho", "over_rho_delta", "closed", "failures",
    "unfinished",
)  # fmt: skip
Row = tuple[str | int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Sums of prices, under a budget or (an analyst without a grant) only counted, in the units of `share`."""

    name: str
    policy: Policy
    budget: Budget | None
    share: Fraction
    total: Units = Units()  # noqa: RUF009 - frozen
    over: Units = Units()  # noqa: RUF009
    closed: bool = False
    failures: int = 0
    unfinished: int = 0

    @property
    def caps(self) -> Caps | None:
        return None if self.budget is None else caps(self.budget)

    def price(self, loss: Loss) -> Units:
        return price(loss, self.share)

    def takes(self, price: Units) -> bool:
        """Would the database's CHECK accept this charge?"""
        cap = self.caps
        return not self.closed and (cap is None or fits(cap, plus(self.total, price)))

    def charged(self, price: Units, over: bool) -> Account:
        """The account after this charge."""
        if over:
            return replace(self, over=plus(self.over, price))
        return replace(self, total=plus(self.total, price))

    @property
    def suspended(self) -> bool:
        """Too many attempts without an answer, whatever ended them, or under way?"""
        return self.failures + self.unfinished > FAILURES_ALLOWED

    def spent(self) -> Spent:
        return Spent(loss=reading(self.total, self.share), over=reading(self.over, self.share))

    def row(self) -> Row:
        cap = self.caps
        limits = (None, None, None) if cap is None else (cap.epsilon, cap.delta, cap.rho)
        budget = None if self.budget is None else budget_text(self.budget)
        sums = (*_amounts(self.total), *_amounts(self.over))
        return (self.name, self.policy.value, budget, *limits, *sums, int(self.closed), self.failures, self.unfinished)


def account_from(row: Mapping[str, Any], share: Fraction) -> Account:
    """The account of a row of the database. `share` counts where the row has no budget of its own."""
    budget = None if row["budget"] is None else budget_from(row["budget"])
    return Account(
        name=row["name"],
        policy=Policy(row["policy"]),
        budget=budget,
        share=share if budget is None else caps(budget).share,
        total=Units(**{name: row[name] for name in UNITS}),
        over=Units(**{name: row[f"over_{name}"] for name in UNITS}),
        closed=bool(row["closed"]),
        failures=row["failures"],
        unfinished=row["unfinished"],
    )


UNITS = ("epsilon", "delta", "rho", "rho_delta")


def granted(old: Account, budget: Budget, losses: Counter[Loss]) -> Account:
    """The same analyst under a new cap. What was spent is counted again, for the units depend on the delta."""
    cap = caps(budget)
    total = Units()
    for loss, count in losses.items():
        total = plus(total, _times(price(loss, cap.share), count))
    return Account(
        name=old.name,
        policy=old.policy,
        budget=budget,
        share=cap.share,
        total=total,
        closed=not fits(cap, total),
        failures=old.failures,
        unfinished=old.unfinished,
    )


def budget_text(budget: Budget) -> str:
    return json.dumps({"delta": str(budget.delta), "epsilon": str(budget.epsilon)}, sort_keys=True)


@lru_cache(maxsize=1024)
def budget_from(text: str) -> Budget:
    parts = json.loads(text)
    return Budget(Fraction(parts["epsilon"]), Fraction(parts["delta"]))


def _times(units: Units, count: int) -> Units:
    numbers = (None if amount is None or amount * count > LARGEST else amount * count for amount in _amounts(units))
    return Units(**dict(zip(UNITS, numbers, strict=True)))


def _amounts(units: Units) -> tuple[int | None, ...]:
    return units.epsilon, units.delta, units.rho, units.rho_delta
