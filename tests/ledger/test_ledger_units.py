"""Whole units: what they accept the accountant accepts; what they refuse is over the cap, or within rounding of it."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.refusals import expect_code

from privet.core.accountant import Budget, within
from privet.core.loss import NOTHING, Loss, approximate, pure, sequential, zcdp
from privet.errors import BudgetExceededError
from privet.ledger import Policy
from privet.ledger.account import Account, account_from, granted
from privet.ledger.refusal import Short, refusal
from privet.ledger.schema import SCHEMA
from privet.ledger.sums import fits, plus, reading
from privet.ledger.transaction import INSERT_ACCOUNT, update
from privet.ledger.units import DELTA, EPSILON, FINEST, LARGEST, RHO, Caps, Units, caps, price, writable

BUDGETS = [Budget(3, 1e-9), Budget(1, 0), Budget("1/3", "1/7"), Budget(1000, 1e-40), Budget(1e-6, 0.5)]
budgets = st.sampled_from(BUDGETS)
fractions = st.one_of(
    st.builds(Fraction, st.integers(1, 4000), st.sampled_from([1000, 999, 10**12, 10**15, 10**16 + 1])),
    st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(3), Fraction(10**30), Fraction(1, 10**30)]),
)
deltas = st.one_of(
    st.just(Fraction(0)), st.builds(Fraction, st.integers(0, 999), st.sampled_from([999, 10**6, 10**13, 10**41 + 1]))
)


@st.composite
def losses(draw: st.DrawFn) -> Loss:
    epsilon = draw(st.one_of(fractions, st.none()))
    rho = draw(st.one_of(fractions, st.none()))
    return Loss(epsilon=epsilon, rho=rho, delta=draw(deltas), rho_delta=draw(deltas))


def counted(items: list[Loss], share: Fraction) -> Units:
    total = Units()
    for item in items:
        total = plus(total, price(item, share))
    return total


@settings(max_examples=120)
@given(budgets, st.lists(losses(), min_size=1, max_size=6))
def test_what_fits_in_units_is_certified_by_the_accountant(budget: Budget, charges: list[Loss]) -> None:
    cap = caps(budget)
    if fits(cap, counted(charges, cap.share)):
        assert within(budget, sequential(charges))


@settings(max_examples=120)
@given(budgets, st.lists(losses(), min_size=1, max_size=6))
def test_what_the_accountant_certifies_with_a_little_room_fits(budget: Budget, charges: list[Loss]) -> None:
    """Each price is rounded up by less than a unit, the cap down by less than one."""
    cap, few = caps(budget), len(charges) + 1
    room = Loss(
        epsilon=Fraction(few, EPSILON),
        rho=Fraction(few, RHO),
        delta=cap.share * few / DELTA if budget.delta else Fraction(0),
        rho_delta=cap.share * few / DELTA if budget.delta else Fraction(0),
    )
    if within(budget, sequential([*charges, room])):
        assert fits(cap, counted(charges, cap.share))


def test_a_cap_is_met_exactly() -> None:
    """0.1 + 0.2 spends 0.3, the last unit fits, and one unit more does not."""
    budget = Budget("0.3", 0)
    cap = caps(budget)
    tenth, fifth = price(pure(Fraction("0.1")), cap.share), price(pure(Fraction("0.2")), cap.share)
    assert plus(tenth, fifth).epsilon == cap.epsilon == 3 * 10**11
    assert fits(cap, plus(tenth, fifth))
    assert not fits(cap, plus(plus(tenth, fifth), price(pure(Fraction(1, 10**30)), cap.share)))
    share = Budget(3, 1e-9).delta / 4
    assert price(approximate(Fraction(1), share), share).delta == DELTA == caps(Budget(3, 1e-9)).delta


def test_without_a_delta_only_the_basic_gauge_counts() -> None:
    cap = caps(Budget(1, 0))
    assert (cap.rho, cap.delta) == (0, 0)
    assert not fits(cap, price(zcdp(Fraction(1, 10**20)), cap.share))
    assert not fits(cap, price(approximate(Fraction(1, 2), Fraction(1, 10**40)), cap.share))
    assert fits(cap, price(pure(Fraction(1)), cap.share))


def test_no_price_is_rounded_to_nothing() -> None:
    tiny = Fraction(1, 10**60)
    assert price(Loss(epsilon=tiny, rho=tiny, delta=tiny, rho_delta=tiny), Fraction(1, 4)) == Units(
        epsilon=1, rho=1, delta=1, rho_delta=1
    )


def test_the_infinite_stays_infinite() -> None:
    most = Units(epsilon=LARGEST, delta=LARGEST, rho=LARGEST, rho_delta=LARGEST)
    one = Units(epsilon=1, delta=1, rho=1, rho_delta=1)
    infinite = Units(epsilon=None, delta=None, rho=None, rho_delta=None)
    assert plus(most, Units()) == most
    assert plus(most, one) == plus(infinite, one) == plus(one, infinite) == infinite
    huge = Fraction(10**30)
    assert price(Loss(epsilon=huge, rho=huge, delta=huge, rho_delta=huge), Fraction(1, 4)) == infinite
    assert reading(infinite, Fraction(1, 4)) == Loss(epsilon=None, rho=None, delta=Fraction(1), rho_delta=Fraction(1))
    assert reading(Units(), Fraction(1, 4)) == NOTHING


@given(losses())
def test_a_writable_loss_is_the_same_or_a_little_more(loss: Loss) -> None:
    """Only what is infinite for the ledger, or longer than 512 bits, is changed."""
    written = writable(loss)
    for name in ("epsilon", "delta", "rho", "rho_delta"):
        before, after = getattr(loss, name), getattr(written, name)
        assert after == before or (after is None and before > LARGEST)


def test_long_fractions_are_rounded_up_and_large_ones_are_infinite() -> None:
    long = Fraction(10**4000 + 1, 3 * 10**4000)
    loss = writable(Loss(epsilon=long, rho=long, delta=long, rho_delta=Fraction(2)))
    assert loss.epsilon is not None
    assert long < loss.epsilon < long + Fraction(2, FINEST)
    assert loss.delta == loss.rho == loss.epsilon
    assert loss.rho_delta == 1
    assert writable(Loss(epsilon=Fraction(2**63), rho=None)) == Loss(epsilon=None, rho=None)


def test_fractions_are_written_out_up_to_512_bits() -> None:
    finest = Fraction(1, 2**512)
    for amount, written in (
        (finest, finest),
        (finest / 2, finest),
        (finest * 2 / 3, finest),
        (finest * 5 / 3, 2 * finest),
    ):
        loss = writable(Loss(epsilon=amount, rho=amount, delta=amount, rho_delta=amount))
        assert loss == Loss(epsilon=written, rho=written, delta=written, rho_delta=written)


def test_the_largest_price_that_is_counted() -> None:
    one = Fraction(1)
    most = Loss(epsilon=Fraction(LARGEST, EPSILON), rho=Fraction(LARGEST, RHO), delta=one, rho_delta=one)
    share = Fraction(DELTA, LARGEST)
    assert price(most, share) == Units(epsilon=LARGEST, rho=LARGEST, delta=LARGEST, rho_delta=LARGEST)
    over = Loss(epsilon=most.epsilon + one, rho=most.rho + one, delta=2 * one, rho_delta=2 * one)
    assert price(over, share) == Units(epsilon=None, rho=None, delta=None, rho_delta=None)


def test_the_units_of_a_delta_stay_what_existing_ledgers_count_in() -> None:
    assert caps(Budget(1, 0)).share == caps(Budget(1, "0.999")).share / Fraction("0.999") == Fraction(1, 4)


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.executescript(SCHEMA)
    yield connection
    connection.close()


amounts = st.one_of(st.none(), st.integers(0, 12), st.integers(LARGEST - 2, LARGEST))
units = st.builds(Units, epsilon=amounts, delta=amounts, rho=amounts, rho_delta=amounts)
UNIT_CAPS = [Caps(epsilon=10, rho=5, delta=8, share=Fraction(1, 4)), Caps(epsilon=4, rho=0, delta=0, share=Fraction(1))]


@pytest.mark.parametrize("name", ["all", "part:north"])
@given(st.sampled_from(UNIT_CAPS), units, units)
@example(UNIT_CAPS[0], Units(epsilon=10, rho=None), Units())
@example(UNIT_CAPS[0], Units(epsilon=None, rho=5, rho_delta=8), Units())
@example(UNIT_CAPS[0], Units(epsilon=LARGEST, rho=1), Units(epsilon=LARGEST, rho=1))
def test_the_database_says_what_the_arithmetic_says(
    database: sqlite3.Connection, name: str, cap: Caps, spent: Units, charge: Units
) -> None:
    """The CHECK and the UPDATE beside `fits` and `plus`, on both sides of every edge. NULL never passes."""
    columns = (spent.epsilon, spent.delta, spent.rho, spent.rho_delta)
    row = (name, "refuse", "", cap.epsilon, cap.delta, cap.rho, *columns, 0, 0, 0, 0, 0, 0, 0)
    database.execute("BEGIN")
    try:
        if not fits(cap, spent):
            with pytest.raises(sqlite3.IntegrityError):
                database.execute(INSERT_ACCOUNT, row)
            return
        database.execute(INSERT_ACCOUNT, row)
        prices = {"in_0": name, "own": "by:", "own_delta": 0, "own_rho_delta": 0, "rho": charge.rho}
        prices |= {"epsilon": charge.epsilon, "delta": charge.delta, "rho_delta": charge.rho_delta}
        total = plus(spent, charge)
        if not fits(cap, total):
            with pytest.raises(sqlite3.IntegrityError):
                database.execute(update(1), prices)
            total = spent
        else:
            database.execute(update(1), prices)
        kept = database.execute("SELECT * FROM account").fetchone()
        assert Units(**{name: kept[name] for name in ("epsilon", "delta", "rho", "rho_delta")}) == total
    finally:
        database.execute("ROLLBACK")


@pytest.mark.parametrize("column", ["epsilon", "delta", "rho", "rho_delta"])
@pytest.mark.parametrize("value", [1.5, "x", b"x"])
def test_the_database_counts_in_integers_only(database: sqlite3.Connection, column: str, value: object) -> None:
    row = dict(zip(("epsilon", "delta", "rho", "rho_delta"), (0, 0, 0, 0), strict=True)) | {column: value}
    with pytest.raises(sqlite3.IntegrityError):
        database.execute(INSERT_ACCOUNT, ("by:x", "refuse", None, None, None, None, *row.values(), 0, 0, 0, 0, 0, 0, 0))


@given(
    budgets,
    budgets,
    st.lists(st.sampled_from([pure(Fraction(1, 9)), approximate(Fraction(1, 7), Fraction(1, 10**20))])),
)
def test_a_grant_counts_what_was_spent_again(before: Budget, after: Budget, charges: list[Loss]) -> None:
    old = Account(name="by:x", policy=Policy.REFUSE, budget=before, share=caps(before).share, failures=2, unfinished=1)
    new = granted(old, after, Counter(charges))
    assert new.total == counted(charges, caps(after).share)
    assert new.closed == (not fits(caps(after), new.total))
    assert (new.name, new.failures, new.unfinished, new.budget) == ("by:x", 2, 1, after)
    names = ("name", "policy", "budget", "epsilon_cap", "delta_cap", "rho_cap", "epsilon", "delta", "rho", "rho_delta")
    names += ("over_epsilon", "over_delta", "over_rho", "over_rho_delta", "closed", "failures", "unfinished")
    assert account_from(dict(zip(names, new.row(), strict=True)), Fraction(1, 4)) == new


def test_a_grant_over_a_sum_too_large_to_count() -> None:
    old = Account(name="by:x", policy=Policy.REFUSE, budget=None, share=Fraction(1, 4))
    assert granted(old, Budget(1), Counter({pure(Fraction(10**6)): 10**6})).total.epsilon is None


def offered(error: Exception, word: str) -> Fraction:
    return Fraction(str(error).split(f"{word}=")[1].split()[0].strip(","))


@settings(max_examples=120)
@given(budgets, st.lists(losses(), max_size=3), fractions)
def test_the_price_that_a_refusal_offers_fits(budget: Budget, before: list[Loss], epsilon: Fraction) -> None:
    cap, loss = caps(budget), pure(epsilon)
    spent = counted(before, cap.share)
    if fits(cap, plus(spent, price(loss, cap.share))):
        return
    error = refusal([Short(name="the budget", cap=cap, spent=spent)], loss)
    if "epsilon=" in error.remedy:
        offer = pure(offered(error, "epsilon"))
        assert offer.epsilon is not None
        assert 0 < offer.epsilon < epsilon
        assert fits(cap, plus(spent, price(offer, cap.share)))
    else:  # then nothing fits that could be printed
        assert not fits(cap, plus(spent, price(pure(Fraction(2, EPSILON)), cap.share)))


def test_refusals_in_words() -> None:
    cap = caps(Budget(3, 1e-9))

    def refused(loss: Loss, **spent: int | None) -> BudgetExceededError:
        return refusal([Short(name="the budget", cap=cap, spent=Units(**spent))], loss)  # type: ignore[arg-type]

    half = refused(pure(Fraction("0.5")), epsilon=29 * 10**11, rho=None)
    expect_code("budget-exceeded: epsilon 0.5; 0.1 is left of the budget … epsilon=0.1,", half)
    fifth = refused(zcdp(Fraction("0.2")), epsilon=None, rho=10**14)
    expect_code("budget-exceeded: rho 0.2; 0.016463 is left of the budget … rho=0.016463,", fifth)
    four = refused(pure(Fraction(4)), epsilon=None, rho=None)
    expect_code("budget-exceeded: epsilon 4; nothing is left of the budget", four)
    assert "epsilon=" not in four.remedy
    small_deltas = (Fraction(1), Fraction(1, 10**8))
    expect_code("budget-exceeded: epsilon=3 and no delta", refused(approximate(*small_deltas)))
    expect_code("budget-exceeded: delta 1e-8; delta 2.5e-10 … delta=2.5e-10", refused(approximate(*small_deltas)))
    spent = {"delta": 10**15, "rho_delta": 10**15}  # all that deltas may have
    none = refused(approximate(*small_deltas), **spent)
    expect_code("budget-exceeded: delta 1e-8; no delta is left of the budget … epsilon=3 and no delta", none)
    gone = refused(Loss(epsilon=None, rho=Fraction(1, 100), rho_delta=Fraction(1, 10**8)), epsilon=None, delta=None)
    expect_code("budget-exceeded: delta 1e-8; delta 2.5e-10", gone)
    other = refused(zcdp(Fraction("0.01")), rho=None)
    expect_code("budget-exceeded: rho 0.01; nothing is left of the budget for it … epsilon=3 and no delta", other)
    expect_code("budget-exceeded: rho without limit", refused(Loss(epsilon=None, rho=None)))
    assert "costs epsilon 1e-7; 0" not in refused(pure(Fraction(1, 10**7)), epsilon=None, rho=None).problem
    dear = Loss(epsilon=Fraction(1), rho=Fraction(5))  # rho above epsilon**2 / 2: the offer is below the price
    assert offered(refusal([Short(name="x", cap=cap, spent=Units(epsilon=None))], dear), "epsilon") < Fraction(1, 6)


def test_a_refusal_speaks_of_the_budget_with_the_least_left() -> None:
    large = Short(name="the budget", cap=caps(Budget(3)), spent=Units())
    small = Short(name="your share", cap=caps(Budget(1)), spent=Units())
    expect_code("budget-exceeded: 1 is left of your share", refusal([large, small], pure(Fraction(4))))
    expect_code("budget-exceeded: 1 is left of your share", refusal([small, large], pure(Fraction(4))))
