"""Losses and the two-gauge filter: exact sums, and every adaptive attacker of a menu, by enumeration."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction as F

import mpmath as mp
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.charges import canonical
from support.refusals import raises_code

from privet.core import accountant
from privet.core.accountant import E_BELOW, Budget, accepts, how_many, implies, rho_cap, within
from privet.core.laws import DiscreteGaussian, DiscreteLaplace
from privet.core.loss import (
    NOTHING,
    Loss,
    approximate,
    as_replace,
    exp_above,
    for_group,
    parallel,
    pure,
    sequential,
    zcdp,
)
from privet.errors import InvalidInputError
from privet.estimates.accuracy import laplace_half_width
from privet.estimates.calibration import gaussian_delta
from privet.estimates.composition import for_entries, per_release, plan, total

# ---- losses


def test_one_tenth_and_two_tenths_spend_exactly_three_tenths() -> None:
    spent = sequential([pure(Budget(0.1).epsilon), pure(Budget(0.2).epsilon)])
    assert spent.epsilon == F(3, 10) == Budget(0.3).epsilon
    assert within(Budget(0.3), spent)
    assert not within(Budget(0.3), sequential([spent, pure(F(1, 10**300))]))


def test_prices_add_up_and_infinity_stays() -> None:
    both = Loss(epsilon=F(1), delta=F(1, 50), rho=F(1, 7))
    losses = [pure(F(1)), approximate(F(1, 2), F(1, 100)), both, zcdp(F(1, 3))]
    assert sequential(losses[:3]) == Loss(
        epsilon=F(5, 2), delta=F(3, 100), rho=F(1, 2) + F(1, 8) + F(1, 7), rho_delta=F(1, 100)
    )
    assert sequential(losses) == Loss(
        epsilon=None, delta=F(3, 100), rho=F(1, 2) + F(1, 8) + F(1, 7) + F(1, 3), rho_delta=F(1, 100)
    )
    assert sequential([]) == NOTHING
    assert sequential([Loss(epsilon=F(1), rho=None), pure(F(1))]).rho is None


@pytest.mark.parametrize(
    "amounts",
    [
        {"epsilon": F(-1), "rho": F(1)},
        {"epsilon": F(1), "rho": F(-1)},
        {"epsilon": F(1), "rho": F(1), "delta": F(-1)},
        {"epsilon": 0.1, "rho": None},
        {"epsilon": F(1), "rho": F(0)},
        {"epsilon": F(0), "rho": None},
    ],
)
def test_refunds_and_free_lunches_are_refused(amounts: dict[str, F]) -> None:
    """The filter's proof needs sums that only grow."""
    with raises_code(InvalidInputError, "contradiction|wrong-type: price"):
        Loss(**amounts)


def test_parallel_parts_pay_the_largest() -> None:
    losses = [pure(F(1)), approximate(F(3), F(1, 100)), pure(F(2))]
    assert parallel(losses) == Loss(epsilon=F(3), delta=F(1, 100), rho=F(9, 2), rho_delta=F(1, 100))
    assert parallel([*losses, zcdp(F(1, 2))]) == Loss(epsilon=None, delta=F(1, 100), rho=F(9, 2), rho_delta=F(1, 100))
    assert parallel([*losses, Loss(epsilon=F(1), rho=None)]).rho is None
    assert parallel(losses[:1]) == losses[0]
    assert parallel([]) == NOTHING


def test_add_remove_prices_are_not_enough_for_replacing_in_parallel() -> None:
    """The witness: sums over [-1, 1] in two wards, scale 1, add-remove price 1 each.

    Moving one person inside a ward from -1 to 1 shifts its sum by 2, so the loss is 2. as_replace covers it; taking
    the larger part's price does not.
    """
    shift = DiscreteLaplace(F(1)).exponent(2) - DiscreteLaplace(F(1)).exponent(0)
    assert shift == 2
    assert parallel([pure(F(1)), pure(F(1))]).epsilon == 1
    assert as_replace(parallel([pure(F(1)), pure(F(1))])).epsilon == shift


def test_groups_and_relations() -> None:
    one = Loss(epsilon=F(1, 2), delta=F(1, 1000), rho=F(1, 9))
    assert for_group(one, 1) is one
    assert for_group(NOTHING, 5) == NOTHING
    three = for_group(one, 3)
    assert (three.epsilon, three.rho) == (F(3, 2), F(1))
    exact = (1 + math.exp(0.5) + math.e) / 1000
    assert math.isclose(three.delta, exact, rel_tol=1e-12)  # rounded up: test_exp_above
    assert as_replace(one) == for_group(one, 2)
    assert as_replace(pure(F(1))) == Loss(epsilon=F(2), rho=F(2))
    two = as_replace(approximate(F(1), F(1, 10)))
    assert (two.epsilon, two.rho) == (F(2), F(2))
    assert two.delta == two.rho_delta
    assert math.isclose(two.delta, (1 + math.e) / 10, rel_tol=1e-12)
    assert for_group(zcdp(F(1, 2)), 2) == Loss(epsilon=None, rho=F(2))
    assert for_group(approximate(F(5), F(1, 10)), 10**9).delta == 1
    assert for_group(approximate(F(800), F(1, 10**6)), 2).delta == 1
    assert for_group(pure(F(10**6)), 10**6).delta == 0
    assert for_group(Loss(epsilon=F(1), rho=None), 2).rho is None
    unknown = for_group(Loss(epsilon=None, delta=F(1, 9), rho=F(1), rho_delta=F(1, 9)), 2)
    assert (unknown.epsilon, unknown.delta, unknown.rho) == (None, 1, None)
    assert for_group(approximate(F(1), F(1, 10**9)), 3).rho == F(9, 2)
    assert for_entries(F(1), 4) == F(1, 4)
    assert for_entries(F(1), 1) == 1
    for wrong in (0, -1, 1.5):
        with raises_code(InvalidInputError, "not-whole|too-small: people"):
            for_group(one, wrong)
        with raises_code(InvalidInputError, "not-whole|too-small: entries"):
            for_entries(F(1), wrong)


@pytest.mark.parametrize("epsilon", [F(0), F(1, 7), F(3), F(90)])
def test_exp_above(epsilon: F) -> None:
    with mp.workprec(300):
        exact = mp.exp(mp.mpf(epsilon.numerator) / epsilon.denominator)
        above = mp.mpf(exp_above(epsilon).numerator) / exp_above(epsilon).denominator
        assert exact <= above <= exact * (1 + mp.mpf(2) ** -90)


def test_group_prices_are_computed_up_to_epsilon_700() -> None:
    """Beyond it the delta of a group is said to be 1. At 700 it is the sum, rounded up."""
    delta = F(1, 10**400)
    with mp.workprec(2000):
        exact = (1 + mp.exp(700)) * mp.mpf(10) ** -400
        found = for_group(approximate(F(700), delta), 2).delta
        assert exact <= mp.mpf(found.numerator) / found.denominator <= exact * (1 + mp.mpf(2) ** -90)
    assert for_group(approximate(F(701), delta), 2).delta == 1


def test_group_privacy_by_a_chain_of_neighbors() -> None:
    """A mechanism on 0, 1, ..., k where each step costs (epsilon, delta): the ends differ by at most the group price.

    Discrete Gaussian noise on the number itself; its own curve prices one step and the whole way.
    """
    law, epsilon = DiscreteGaussian(F(9)), F(1, 3)
    delta = gaussian_delta(law, 1, epsilon)
    for k in (2, 3, 5):
        group = for_group(approximate(epsilon, delta), k)
        assert group.epsilon is not None
        assert gaussian_delta(law, k, group.epsilon) <= group.delta


# ---- zCDP to (epsilon, delta)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(3, 1e-9), (1, 1e-9), (0.1, 1e-6), (0.01, 1e-6), (10, 1e-3), (100, 0.5)]
)
def test_rho_cap_is_certified_and_nearly_the_best(epsilon: float, delta: float) -> None:
    """Against the conversion's minimum over orders at high precision: below it, and by less than 0.1 %."""
    budget = Budget(epsilon, delta)
    rho = rho_cap(budget.epsilon, budget.delta)

    def needed_delta(r: mp.mpf) -> mp.mpf:
        def log_delta(order: mp.mpf) -> mp.mpf:
            a = order - 1
            return a * (order * r - mp.mpf(repr(epsilon))) + a * mp.log(a) - order * mp.log(order)

        low, high = mp.mpf("1.0001"), mp.mpf(10) ** 7
        for _ in range(400):
            third = (high / low) ** (mp.mpf(1) / 3)
            if log_delta(low * third) > log_delta(high / third):
                low = low * third
            else:
                high = high / third
        return mp.exp(log_delta(low))

    with mp.workprec(120):
        exact = mp.mpf(rho.numerator) / rho.denominator
        assert needed_delta(exact) <= mp.mpf(repr(delta)) * (1 + mp.mpf(10) ** -12)
        assert needed_delta(exact * mp.mpf("1.001")) > mp.mpf(repr(delta))


def test_the_conversion_holds_for_the_gaussian_itself() -> None:
    """The discrete Gaussian of price rho* really is (epsilon, delta)-DP, with room to spare."""
    for epsilon, delta in ((F(3), F(1, 10**9)), (F(1, 2), F(1, 10**6))):
        rho = rho_cap(epsilon, delta)
        assert gaussian_delta(DiscreteGaussian(100**2 / (2 * rho)), 100, epsilon) <= delta


@pytest.mark.parametrize("epsilon", ["1e-6", "0.001", 1, 1000])
@pytest.mark.parametrize("delta", [1e-40, 1e-9, 0.01, 0.999])
def test_every_budget_has_a_certified_cap(epsilon: object, delta: float) -> None:
    budget = Budget(epsilon, delta)
    assert budget.rho >= 0
    if budget.rho:
        law = DiscreteGaussian(10**12 / (2 * budget.rho))
        assert gaussian_delta(law, 10**6, budget.epsilon) <= budget.delta / 2


def test_implies_knows_its_limits() -> None:
    assert not implies(F(2), F(1), F(1, 2), F(2))
    assert implies(F(3, 5), F(1), F(4, 5), F(2))  # order * rho above epsilon may still do with a large delta
    assert not implies(F(7, 1000), F(1, 2), F(1, 10**9), F(4097, 64))  # a large order that is not whole
    assert not implies(F(1, 100), F(1), F(1, 10**30), F(2))
    assert implies(F(1, 10**4), F(1), F(1, 10**9), F(100))
    assert not implies(F(1, 10**4), F(1), F(1, 10**60), F(100))


def test_the_conversion_at_its_borders() -> None:
    """Orders by hand. exp(1) / 4 = 0.6795... at order 2; at order 100 an exponent of 0 leaves 1 / (99 e)."""
    assert implies(F(1), F(1), F("0.67958"), F(2))
    assert not implies(F(1), F(1), F("0.67957"), F(2))
    least = 1 / (E_BELOW * 99)
    assert implies(F(1, 100), F(1), least, F(100))
    assert not implies(F(1, 100), F(1), least - F(1, 10**30), F(100))


@pytest.fixture
def proved(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], tuple[F, int]]]:
    """The cap, and how many proofs were tried, if what can be proved ends at `right` and 131,071 is proposed.

    One more than the proposal is tried first: a power of 2, so that steps back of 1, 2, 4, ... meet 1 exactly.
    """
    tried: list[F] = []

    def cap(right: int) -> tuple[F, int]:
        tried.clear()
        rho_cap.cache_clear()  # type: ignore[attr-defined]
        monkeypatch.setattr(accountant, "_proposal", lambda *_: (F(2), F(131_071)))
        monkeypatch.setattr(accountant, "implies", lambda rho, *_: (tried.append(rho), rho <= right)[1])
        return rho_cap(F(1), F(1, 2)), len(tried)

    yield cap
    rho_cap.cache_clear()  # type: ignore[attr-defined]


@pytest.mark.parametrize("right", [-1, 0, 1, 2, 131_070, 131_071, 131_072, 131_073, 200_000])
def test_the_cap_is_what_was_proved_whatever_was_proposed(right: int, proved: Callable[[int], tuple[F, int]]) -> None:
    assert proved(right)[0] == max(0, min(right, 131_072))


def test_a_good_proposal_takes_few_proofs(proved: Callable[[int], tuple[F, int]]) -> None:
    assert [proved(right)[1] for right in (131_072, 131_071)] == [1, 2]


# ---- the filter


def test_budget_of_the_rules() -> None:
    budget = Budget(3, 1e-9)
    assert budget.rho == F("0.116463")  # for (3, D/2); with the whole D it would be 0.120582
    assert how_many(budget, NOTHING, pure(F(1, 2))) == 6
    assert how_many(budget, NOTHING, pure(F(1, 50))) == 582
    assert how_many(budget, NOTHING, zcdp(F(1, 100))) == 11
    assert how_many(budget, sequential([zcdp(F(1, 100))]), pure(F(1, 2))) == 0
    assert how_many(budget, pure(F(4)), zcdp(F(1, 100))) == 0
    assert how_many(Budget(1), NOTHING, pure(F(1, 3))) == 3
    assert how_many(Budget(1), NOTHING, zcdp(F(1, 100))) == 0
    assert how_many(budget, NOTHING, approximate(F(1, 10**6), F(1, 10**10))) == 2  # delta runs out first
    assert Budget(1).rho == 0
    with raises_code(InvalidInputError, "not-positive: is 0"):
        how_many(budget, NOTHING, NOTHING)


def test_each_gauge_ends_exactly_at_its_cap() -> None:
    budget = Budget(1, "0.4")
    tiny = F(1, 10**30)
    at_cap = {
        "epsilon": Loss(epsilon=F(1), rho=None),
        "delta": Loss(epsilon=F(1), delta=F(1, 10), rho=None),
        "rho": Loss(epsilon=None, rho=budget.rho),
        "rho_delta": Loss(epsilon=None, rho=budget.rho, rho_delta=F(1, 10)),
    }
    for amount, total_loss in at_cap.items():
        assert within(budget, total_loss)
        assert not within(budget, replace(total_loss, **{amount: getattr(total_loss, amount) + tiny}))


def test_the_smallest_and_largest_budgets() -> None:
    tiny = F(1, 10**60)
    least, most, delta = F(1, 10**6), F(1000), F(1, 10**40)
    for good in ((least, 0), (most, 0), (1, delta)):
        Budget(*good)
    for bad in ((least - tiny, 0), (most + tiny, 0), (1, delta - tiny)):
        with raises_code(InvalidInputError, "out-of-range: 1e-6 … 1000"):
            Budget(*bad)


def test_bad_budgets() -> None:
    for epsilon, delta in (
        (0, 0),
        (-1, 0),
        ("x", 0),
        (1, -0.1),
        (1, 1),
        (1, float("nan")),
        (1e-7, 0),
        (1001, 0),
        (1, 1e-41),
        (1, 9.99e-41),
    ):
        with pytest.raises(InvalidInputError, match=r"\n  remedy: "):
            Budget(epsilon, delta)


MENU = {
    "pure 1/2": (pure(F(1, 2)), canonical(0.5, 0)),
    "pure 1/4": (pure(F(1, 4)), canonical(0.25, 0)),
    "leaky": (approximate(F(1, 4), F(1, 40)), canonical(0.25, 1 / 40)),
}


def strongest(budget: Budget, allowed: Callable[[Loss, Loss], bool]) -> tuple[float, set[str]]:
    """The exact largest delta at E over ALL attackers who choose from the menu, adaptively, and stop when they like.

    State: what was spent and the likelihoods (p, q) of the transcript so far. best = max over the next choice of the
    sum over its outputs; stopping is worth max(0, p - e^E q). It scales with p, so a state is (spent, q / p).
    Also returns which gauges held along the way.
    """
    threshold = math.exp(budget.epsilon)
    gauges: set[str] = set()

    @functools.cache
    def steps(spent: Loss) -> list[tuple[Loss, list[tuple[float, float]]]]:
        """What the filter lets happen next; it never sees the likelihoods."""
        found = []
        for charge, outputs in MENU.values():
            if allowed(spent, charge):
                after = sequential([spent, charge])
                gauges.add("basic" if after.epsilon <= budget.epsilon and after.delta <= budget.delta / 4 else "zcdp")
                found.append((after, [(p, q) for p, q in outputs.values() if p]))
        return found

    @functools.cache
    def best(spent: Loss, ratio: float) -> float:
        values = [max(0.0, 1 - threshold * ratio)]
        for after, outputs in steps(spent):
            values.append(sum(p * best(after, round(q * ratio / p, 12)) for p, q in outputs))
        return max(values)

    return best(NOTHING, 1.0), gauges


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1, "0"), (1, "0.1"), (2, "0.1"), (0.75, "0.4"), (1.25, "0.2"), (0.5, "0.8")]
)
def test_no_adaptive_attacker_exceeds_the_budget(epsilon: float, delta: str) -> None:
    """Including interactions that only one gauge certifies, and that stop on it."""
    budget = Budget(epsilon, delta)
    reached, held = strongest(budget, lambda spent, charge: accepts(budget, spent, charge))
    assert reached <= float(budget.delta) + 1e-9
    assert held == ({"basic", "zcdp"} if budget.delta else {"basic"})


def test_a_filter_that_allows_twice_as_much_is_caught() -> None:
    budget, generous = Budget(1, "0.1"), Budget(2, "0.2")
    reached, _ = strongest(budget, lambda spent, charge: accepts(generous, spent, charge))
    assert reached > 0.1


def times(loss: Loss, n: int) -> Loss:
    """The same loss n times."""
    return Loss(
        epsilon=None if loss.epsilon is None else n * loss.epsilon,
        delta=n * loss.delta,
        rho=n * loss.rho,
        rho_delta=n * loss.rho_delta,
    )


class Charging(RuleBasedStateMachine):
    """Any charges in any order: what was accepted is always certified by one gauge, and sums only grow."""

    def __init__(self) -> None:
        super().__init__()
        self.budget = Budget(2, F(1, 100))
        self.spent = NOTHING
        self.refused = 0

    amounts = st.fractions(F(1, 1000), F(1, 2), max_denominator=1000)
    small = st.fractions(0, F(1, 300), max_denominator=10**5)

    @rule(epsilon=amounts, delta=small, kind=st.sampled_from(["pure", "zcdp", "approximate", "both"]))
    def charge(self, epsilon: F, delta: F, kind: str) -> None:
        loss = {
            "pure": pure(epsilon),
            "zcdp": zcdp(epsilon**2 / 2),
            "approximate": approximate(epsilon, delta),
            "both": Loss(epsilon=epsilon, delta=delta, rho=epsilon**2 / 4),
        }[kind]
        fits = how_many(self.budget, self.spent, loss)
        assert (fits >= 1) == accepts(self.budget, self.spent, loss)
        assert not within(self.budget, sequential([self.spent, times(loss, fits + 1)]))
        assert not fits or within(self.budget, sequential([self.spent, times(loss, fits)]))
        if fits:
            self.spent = sequential([self.spent, loss])
        else:
            self.refused += 1

    @precondition(lambda self: self.refused)
    @rule()
    def a_refusal_costs_nothing(self) -> None:
        assert within(self.budget, self.spent)

    @invariant()
    def one_gauge_certifies(self) -> None:
        spent, share = self.spent, self.budget.delta / 4
        basic = spent.epsilon is not None and spent.epsilon <= 2 and spent.delta <= share
        gaussian = spent.rho is not None and spent.rho <= self.budget.rho and spent.rho_delta <= share
        assert basic or gaussian


TestCharging = pytest.mark.proof(Charging.TestCase)
TestCharging.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, derandomize=True, database=None
)


# ---- composition theorems and the planner


def test_theorems_side_by_side() -> None:
    few, many = total(2, F(1, 10), F(1, 10**9)), total(1000, F(1, 10), F(1, 10**9))
    assert few.basic < few.zcdp < few.advanced  # for few releases plain addition is best
    assert many.zcdp < many.advanced < many.basic  # for many, zCDP, and it always beats the advanced theorem
    assert math.isclose(few.basic, 0.2, rel_tol=1e-9)
    assert few.basic >= 0.2
    assert total(1, F(800), F(1, 10)).advanced == math.inf
    assert total(1, F(1, 10**200), F(1, 10)).zcdp > 1e-200


@pytest.mark.parametrize("releases", [1, 10, 100])
@pytest.mark.parametrize("epsilon", [F(1, 20), F(1, 2)])
def test_theorems_hold_for_randomized_response(releases: int, epsilon: F) -> None:
    """k flips of the worst pure mechanism, enumerated by the number of yes answers: delta at each theorem's epsilon."""
    delta = F(1, 1000)
    q = 1 / (1 + math.exp(epsilon))
    figures = total(releases, epsilon, delta)
    for bound in (figures.basic, figures.advanced, figures.zcdp):
        reached = 0.0
        for yes in range(releases + 1):
            ways = math.comb(releases, yes)
            p_yes, q_yes = (ways * x**yes * (1 - x) ** (releases - yes) for x in (1 - q, q))
            reached += max(0.0, p_yes - math.exp(bound) * q_yes)
        assert reached <= float(delta) + 1e-12


@pytest.mark.parametrize("releases", [1, 3, 6, 7, 50, 700, 10**9])
def test_planner_fills_the_budget(releases: int) -> None:
    for budget in (Budget(3, 1e-9), Budget("0.7"), Budget("1/3"), Budget("0.12345678", 1e-9), Budget("0.1", "0.1")):
        epsilon = per_release(budget, releases)
        assert how_many(budget, NOTHING, pure(epsilon)) >= releases
        assert how_many(budget, NOTHING, pure(epsilon * F(1002, 1000))) < releases
        assert epsilon >= budget.epsilon / releases * F(999, 1000)  # never worse than an equal split


def test_many_counts_are_more_accurate_than_an_equal_split() -> None:
    few, many = plan(Budget(3, 1e-9), 6), plan(Budget(3, 1e-9), 1000)
    assert (few.epsilon, few.error, few.equal_split_error) == (F(1, 2), 6, 6)
    assert many.error * 5 < many.equal_split_error


def test_the_constant_of_large_orders_is_below_e() -> None:
    """With a larger one `implies` would certify a little too much."""
    assert math.e - 1e-5 < E_BELOW < mp.e


def test_composition_figures_by_hand() -> None:
    figures = total(10, F(1, 2), F(1, 10**6))
    root = 0.5 * math.sqrt(2 * 10 * math.log(10**6))
    for found, by_hand in zip(
        (figures.basic, figures.advanced, figures.zcdp),
        (5.0, root + 5 * math.expm1(0.5), 10 * 0.25 / 2 + root),
        strict=True,
    ):
        assert by_hand <= found <= by_hand * (1 + 1e-9)


def test_planned_errors_hold_for_95_of_100() -> None:
    found = plan(Budget(3, 1e-9), 6)
    assert found.error == laplace_half_width(DiscreteLaplace(1 / found.epsilon), F(95, 100))
    assert found.equal_split_error == laplace_half_width(DiscreteLaplace(F(2)), F(95, 100))
