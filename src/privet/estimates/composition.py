"""What k releases of the same price cost together, by each theorem, and what each of k releases may cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privet.core.accountant import Budget, how_many
from privet.core.claim import claim
from privet.core.loss import NOTHING, pure
from privet.core.mechanisms import laplace_for
from privet.core.rational import whole
from privet.estimates.accuracy import laplace_half_width

DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositionTotal:
    """The epsilon of k epsilon0-DP releases at a total delta, by three theorems; rounded up. Smallest is best."""

    basic: float
    advanced: float
    zcdp: float


@claim("composition-theorems")
def total(releases: int, epsilon: Fraction, delta: Fraction) -> CompositionTotal:
    """Basic: k eps. Advanced: sqrt(2 k ln(1/delta)) eps + k eps (e^eps - 1). zCDP: rho = k eps^2 / 2, converted.

    The zCDP figure uses rho + 2 sqrt(rho ln(1/delta)); the ledger's own conversion is tighter still.
    """
    k, eps, log_delta = whole(releases, "releases", 1), float(epsilon), -math.log(delta)
    root = eps * math.sqrt(2 * k * log_delta)
    figures = (
        k * eps,
        root + k * eps * (math.expm1(eps) if eps < 700 else math.inf),
        k * eps**2 / 2 + root,
    )
    basic, advanced, zcdp = (math.nextafter(figure * (1 + 1e-12), math.inf) for figure in figures)
    return CompositionTotal(basic=basic, advanced=advanced, zcdp=zcdp)


@claim("planner")
def per_release(budget: Budget, releases: int) -> Fraction:
    """The most epsilon that each of k pure releases may cost so that all k fit into the budget. To four digits."""
    k = whole(releases, "releases", 1)
    unit = Fraction(10) ** (math.floor(math.log10(budget.epsilon / k)) + 1 - DIGITS)
    n = budget.epsilon / k // unit  # an equal split always fits
    step = 1
    while _all_fit(budget, (n + step) * unit, k):
        n, step = n + step, 2 * step
    while step > 1:
        step //= 2
        if _all_fit(budget, (n + step) * unit, k):
            n += step
    return n * unit


def _all_fit(budget: Budget, epsilon: Fraction, releases: int) -> bool:
    return how_many(budget, NOTHING, pure(epsilon)) >= releases


@claim("group-privacy")
def for_entries(epsilon: Fraction, entries: int) -> Fraction:
    """The epsilon with which to protect one entry, so that `entries` of a person together have `epsilon`."""
    return epsilon / whole(entries, "entries", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePlan:
    """What each of `releases` counts may cost, and how far 95 of 100 of them are from the truth at most."""

    releases: int
    epsilon: Fraction
    error: int
    equal_split_error: int


def plan(budget: Budget, releases: int) -> ReleasePlan:
    """k counts (sensitivity 1) from one budget: by the filter, beside an equal split of epsilon."""
    epsilon = per_release(budget, releases)
    share = Fraction(95, 100)
    errors = [laplace_half_width(laplace_for(price, 1), share) for price in (epsilon, budget.epsilon / releases)]
    return ReleasePlan(releases=releases, epsilon=epsilon, error=errors[0], equal_split_error=errors[1])
