"""Any order of charges, answers, failures, grants and retries, beside a plain model in fractions."""

from __future__ import annotations

import math
import shutil
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from support.charges import parts, sha, terms

from privet.core.accountant import Budget, within
from privet.core.loss import NOTHING, Loss, approximate, parallel, pure, sequential, zcdp
from privet.core.unit import Neighbors
from privet.errors import BudgetExceededError, InvalidInputError, SuspendedError
from privet.ledger import Charge, Policy, Receipt
from privet.ledger.sqlite import create
from privet.ledger.sqlite import open as open_ledger

WHO = ("", "bob", "eve")
PARTS = ("north", "south", "west")
LOSSES = [
    pure(Fraction("0.3")),
    pure(Fraction(1, 7)),
    pure(Fraction(2)),
    zcdp(Fraction("0.03")),
    approximate(Fraction("0.2"), Fraction(1, 10**10)),
    approximate(Fraction("0.1"), Fraction(1, 3 * 10**11)),
    Loss(epsilon=None, rho=None),
    Loss(epsilon=Fraction(10**7), rho=Fraction("0.001")),
]
# Caps that are whole units, so that the accountant and the ledger draw the same line.
BUDGETS = [Budget(3, 1e-9), Budget(1, 0), Budget("0.5", "1e-9"), Budget(2, "4e-11")]


def rounded(loss: Loss, budget: Budget) -> Loss:
    """Up to the ledger's units. Written apart from the ledger's own arithmetic."""
    share = budget.delta / 4 or Fraction(1, 4)

    def up(amount: Fraction, unit: Fraction) -> Fraction:
        return math.ceil(amount / unit) * unit

    return Loss(
        epsilon=None if loss.epsilon is None or loss.epsilon > 4 * 10**6 else up(loss.epsilon, Fraction(1, 10**12)),
        delta=up(loss.delta, share / 10**15),
        rho=None if loss.rho is None else up(loss.rho, Fraction(1, 10**15)),
        rho_delta=up(loss.rho_delta, share / 10**15),
    )


def total(losses: list[Loss], budget: Budget) -> Loss:
    return sequential([NOTHING, *(rounded(loss, budget) for loss in losses)])


class Book(RuleBasedStateMachine):
    """The model: lists of accepted losses, and dictionaries. What counts for a unit is looked up from its part, or
    from the two parts between which it is replaced."""

    @initialize(
        budget=st.sampled_from(BUDGETS),
        policy=st.sampled_from([Policy.REFUSE, Policy.REFUSE, Policy.WARN]),
        neighbors=st.sampled_from(Neighbors),
    )
    def begin(self, budget: Budget, policy: Policy, neighbors: Neighbors) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.ledger = create(self.folder / "l.sqlite", terms(budget.epsilon, budget.delta, policy, neighbors))
        self.budget, self.policy, self.neighbors = budget, policy, neighbors
        self.divided = False
        self.asked: list[tuple[Loss, str | None]] = []  # certified, and of which part
        self.certified: dict[str, list[Loss]] = {who: [] for who in WHO}
        self.over: list[Loss] = []
        self.grants: dict[str, Budget] = {}
        self.failures = dict.fromkeys(WHO, 0)
        self.open: dict[int, tuple[Receipt, Charge]] = {}
        self.closed: list[Receipt] = []
        self.answers: dict[int, tuple[Charge, bytes]] = {}
        self.keys: dict[str, str] = {}

    @rule(
        who=st.sampled_from(WHO),
        loss=st.sampled_from(LOSSES),
        request=st.sampled_from("xyz").map(sha),
        key=st.one_of(st.none(), st.sampled_from("kl")),
        part=st.sampled_from([None, *PARTS]),
    )
    def spend(self, who: str, loss: Loss, request: str, key: str | None, part: str | None) -> None:
        charge = Charge(loss=loss, request=request, analyst=who, key=key, part=part if self.divided else None)
        expected = self._expected(charge)
        if expected is not None:
            with pytest.raises(expected):
                self.ledger.spend(charge)
            return
        receipt = self.ledger.spend(charge)
        if self._fits(charge):
            self.certified[who].append(loss)
            self.asked.append((loss, charge.part))
        else:
            self.over.append(loss)
        self.open[receipt.entry] = receipt, charge
        if key is not None:
            self.keys[key] = request

    def _expected(self, charge: Charge) -> type[Exception] | None:
        if charge.key is not None and self.keys.get(charge.key, charge.request) != charge.request:
            return InvalidInputError
        if charge.analyst and self.failures[charge.analyst] >= 3:
            return SuspendedError
        if not self._fits(charge) and (charge.analyst or self.policy is Policy.REFUSE):
            return BudgetExceededError
        return None

    def _fits(self, charge: Charge) -> bool:
        own = self.grants.get(charge.analyst)
        asked = [*self.asked, (charge.loss, charge.part)]
        return (
            not self.over
            and all(within(self.budget, self._learned(asked, world)) for world in self._worlds())
            and (own is None or within(own, total([*self.certified[charge.analyst], charge.loss], own)))
        )

    def _worlds(self) -> list[set[str | None]]:
        """Which questions can depend on one unit: it is in no part, in one, or comes from one and goes to another."""
        if not self.divided:
            return [{None}]
        single: list[set[str | None]] = [{None}, *({None, part} for part in PARTS)]
        if self.neighbors is Neighbors.ADD_REMOVE:
            return single
        return [*single, *({None, one, other} for one in PARTS for other in PARTS)]

    def _learned(self, asked: list[tuple[Loss, str | None]], world: set[str | None]) -> Loss:
        return total([loss for loss, part in asked if part in world], self.budget)

    @rule()
    def divide(self) -> None:
        if self.divided or self.policy is Policy.WARN:
            with pytest.raises(InvalidInputError):
                self.ledger.divide(parts(*PARTS))
            return
        self.ledger.divide(parts(*PARTS))
        self.divided = True

    @rule(data=st.data(), body=st.binary(max_size=3))
    def store(self, data: st.DataObject, body: bytes) -> None:
        if self.open:
            receipt, charge = self._take(data)
            self.ledger.store(receipt, body)
            self.answers[receipt.entry] = charge, body

    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        if self.open:
            receipt, charge = self._take(data)
            self.ledger.fail(receipt)
            self.failures[charge.analyst] += 1

    def _take(self, data: st.DataObject) -> tuple[Receipt, Charge]:
        entry = data.draw(st.sampled_from(sorted(self.open)))
        self.closed.append(self.open[entry][0])
        return self.open.pop(entry)

    @rule(data=st.data())
    def have_an_outcome_twice(self, data: st.DataObject) -> None:
        if self.closed:
            receipt = data.draw(st.sampled_from(self.closed))
            with pytest.raises(InvalidInputError):
                self.ledger.store(receipt, b"again")
            with pytest.raises(InvalidInputError):
                self.ledger.fail(receipt)

    @rule(who=st.sampled_from(WHO[1:]), budget=st.sampled_from(BUDGETS))
    def grant(self, who: str, budget: Budget) -> None:
        self.ledger.grant(who, budget)
        self.grants[who] = budget

    @rule(who=st.sampled_from(WHO[1:]))
    def reinstate(self, who: str) -> None:
        self.ledger.reinstate(who)
        self.failures[who] = 0

    @rule(key=st.sampled_from("kl"), request=st.sampled_from("xyz").map(sha))
    def replay(self, key: str, request: str) -> None:
        if self.keys.get(key, request) != request:
            with pytest.raises(InvalidInputError):
                self.ledger.replay(key, request)
            return
        entries = [entry for entry, (charge, _) in self.answers.items() if charge.key == key]
        self._same(self.ledger.replay(key, request), entries)
        entries = [entry for entry, (charge, _) in self.answers.items() if charge.request == request]
        self._same(self.ledger.stored(request), entries)

    def _same(self, stored: object, entries: list[int]) -> None:
        found = None if stored is None else (stored.receipt.entry, stored.charge, stored.body)  # type: ignore[attr-defined]
        assert found == ((min(entries), *self.answers[min(entries)]) if entries else None)

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = open_ledger(self.ledger.path)

    @invariant()
    def sums_agree(self) -> None:
        spent = self.ledger.spent()
        sums = [self._learned(self.asked, world) for world in self._worlds()]
        assert {one.spent.loss for one in self.ledger.readings()} == set(sums)
        assert spent.loss == parallel(sums)
        for part in PARTS if self.divided else ():
            own_sums = [self._learned(self.asked, world) for world in self._worlds() if part in world]
            assert self.ledger.spent(part=part).loss == parallel(own_sums)
        assert spent.over == total(self.over, self.budget)
        assert spent.holds == (not self.over)
        for who in WHO:
            own = self.grants.get(who, self.budget)
            assert self.ledger.spent(who).loss == total(self.certified[who], own)
            assert self.ledger.suspended(who) == (who != "" and self.failures[who] >= 3)

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            self.ledger.verify(self.ledger.head())
            self.ledger.close()
            shutil.rmtree(self.folder)


def test_any_order_of_calls_agrees_with_the_model() -> None:
    run_state_machine_as_test(Book, settings=settings(max_examples=30, stateful_step_count=25, deadline=None))
