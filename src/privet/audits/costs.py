"""What requests for noise cost together, in the parameter that a claim is about.

Every theorem used holds when requests are chosen one after the other, by what the earlier ones gave:

- epsilons and deltas add up (basic composition), rhos add up (Bun and Steinke 2016), squares of mu add up (Dong, Roth
  and Su 2022);
- epsilon-DP is epsilon**2 / 2-zCDP, and mu-GDP with mu = 2 * Phi^-1(e^epsilon / (1 + e^epsilon)): the trade-off curve
  of epsilon-DP consists of two straight lines that meet where both errors are 1 / (1 + e^epsilon). The curve of mu-GDP
  goes through the ends of both lines, and it is convex: so it lies nowhere above them;
- mu-GDP is (epsilon, Phi(mu / 2 - epsilon / mu) - e^epsilon * Phi(-mu / 2 - epsilon / mu))-DP for every epsilon, and
  not better where it comes from Gaussian noise (Balle and Wang 2018);
- rho-zCDP is (rho + 2 * sqrt(rho * ln(1 / delta)), delta)-DP (Bun and Steinke).

Floats, good to much more than the billionth by which prices may be off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from privet.audits.claims import Claim

NORMAL = NormalDist()
SUREST = 36.0  # e^epsilon / (1 + e^epsilon) is 1 to a float from here on
LARGEST_MU = 20.0  # beyond it e^epsilon may not fit into a float
HALVINGS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCost:
    """Of one request; None: it has no such price, or nobody knows it."""

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    mu: float | None = None


FREE = AuditCost(epsilon=Fraction(0), rho=Fraction(0), mu=0.0)


def pure(epsilon: Fraction) -> AuditCost:
    sure = float(epsilon)
    mu = 2 * NORMAL.inv_cdf(1 / (1 + math.exp(-sure))) if sure < SUREST else None
    return AuditCost(epsilon=epsilon, rho=epsilon**2 / 2, mu=mu)


def gaussian(mu_squared: Fraction) -> AuditCost:
    """Of Gaussian noise; mu is the distance over sigma."""
    return AuditCost(rho=mu_squared / 2, mu=math.sqrt(mu_squared))


def together(costs: Sequence[AuditCost], claim: Claim) -> float:
    """The smallest value of the claim's parameter, at its delta, that is known to pay for all; infinity: none is."""
    if claim.parameter == "epsilon":
        return min(_basic(costs, claim.delta), _all_gaussian(costs, claim.delta))
    if claim.parameter == "rho":
        return _sum([None if cost.delta else cost.rho for cost in costs])
    return _mu(costs)


def _basic(costs: Sequence[AuditCost], delta: Fraction) -> float:
    """Epsilons as they are; what has none takes what is left of delta."""
    paid = float(sum((cost.epsilon for cost in costs if cost.epsilon is not None), Fraction(0)))
    left = delta - sum((cost.delta for cost in costs), Fraction(0))
    rest = [cost for cost in costs if cost.epsilon is None]
    if left < 0 or (rest and not left):
        return math.inf
    if not rest:
        return paid
    mu, rho = _mu(rest), _sum([cost.rho for cost in rest])
    return paid + min(epsilon_of(mu, float(left)), rho + 2 * math.sqrt(rho * -math.log(left)))


def _all_gaussian(costs: Sequence[AuditCost], delta: Fraction) -> float:
    return epsilon_of(_mu(costs), float(delta)) if delta else math.inf


def _mu(costs: Sequence[AuditCost]) -> float:
    return math.sqrt(_sum([None if cost.mu is None else cost.mu**2 for cost in costs]))


def _sum(amounts: Sequence[Fraction | float | None]) -> float:
    known = [float(amount) for amount in amounts if amount is not None]
    return math.fsum(known) if len(known) == len(amounts) else math.inf


def epsilon_of(mu: float, delta: float) -> float:
    """The smallest epsilon at which mu-GDP is (epsilon, delta)-DP."""
    if mu > LARGEST_MU:
        return mu**2 / 2 + mu * math.sqrt(-2 * math.log(delta))
    if mu == 0 or _delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, mu**2 / 2 + mu * math.sqrt(-2 * math.log(delta))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(mu, middle) > delta else (low, middle)
    return high


def _delta(mu: float, epsilon: float) -> float:
    return _phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * _phi(-mu / 2 - epsilon / mu)


def _phi(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2
