"""A claim checked on two listed laws, without a sample: epsilon at a delta, rho or mu, between two bounds.

Laws may fall short of 1, as in `enumerated`. The lower bound assumes nothing of what is missing, and alone can
contradict a claim. Of an unlisted tail no upper bound is possible: it is given for the listed outputs that both laws
have, and what that leaves out is reported as `left_out`, to be read as a delta on top of the claim (for rho:
approximate zCDP, Bun and Steinke 2016).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from privet.audits.claims import Claim
from privet.audits.enumerated import Probabilities, directions, exact_epsilon, read_law
from privet.audits.verdict import CONSISTENT, INCONCLUSIVE, VIOLATED, Check, Checks, down
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.typing import Floats

Law = dict[Hashable, Fraction]
ORDERS = 4000  # of Rényi divergences, fewer for long laws
WORK = 40_000_000
NARROW = 0.01  # bounds that are as close as this, relative to the claim, settle it
LEFT_OUT = Fraction(1, 10**6)
ROUNDING = 1e-12
NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class _Between:
    low: float
    high: float
    left_out: Fraction


def exact(p: Probabilities, q: Probabilities, claim: Claim) -> Checks:
    """Do two laws of outputs, on neighbors, keep the claim? Both directions; mappings output -> probability.

    "consistent" here is about these two laws only: other neighbors may be worse.
    """
    if not isinstance(claim, Claim):
        raise InvalidInputError(
            f"claim must be a Claim, not {show(claim)}", "write pv.audits.Claim(epsilon=1)", "wrong-type"
        )
    match claim.parameter:
        case "epsilon":
            found = _epsilon(p, q, claim)
        case "rho":
            found = _rho(p, q)
        case _:
            found = _mu(p, q, claim)
    value = float(claim.value)
    settled = found.high <= value or found.high - found.low <= NARROW * value
    verdict = INCONCLUSIVE if not settled or found.left_out > LEFT_OUT else CONSISTENT
    cut = f", with {float(found.left_out):.2g} of the mass left out" if found.left_out else ""
    check = Check(
        name=str(claim),
        verdict=VIOLATED if found.low > value else verdict,
        says=f"{claim.parameter} is between {down(found.low, 9)} and {-_floor(-found.high, 9):.9f}{cut}",
        figures={"low": found.low, "high": found.high, "left_out": float(found.left_out), "claimed": value},
    )
    return Checks(
        subject=f"the two laws keep {claim}", checks=(check,), not_tested=("other pairs of neighbors than this one",)
    )


def _floor(value: float, digits: int) -> float:
    return math.floor(value * 10**digits) / 10**digits if math.isfinite(value) else value


def _epsilon(p: Probabilities, q: Probabilities, claim: Claim) -> _Between:
    """At the claimed delta from below; from above at the delta that also pays for what is left out."""
    low = exact_epsilon(p, q, claim.delta)
    left_out = _shared(p, q)[2]
    return _Between(low.low, min(low.high, exact_epsilon(p, q, claim.delta + left_out).high), left_out)


def _shared(p: Probabilities, q: Probabilities) -> tuple[Law, Law, Fraction]:
    """The laws on the outputs that both have, and how much the shorter one lacks; whole laws are left as they are."""
    first, second = read_law(p, "p"), read_law(q, "q")
    if sum(first.values()) == 1 and sum(second.values()) == 1:
        return first, second, Fraction(0)
    both = [output for output in first if first[output] and second.get(output, None)]
    if not both:
        return first, second, Fraction(1)
    kept = [{output: law[output] for output in both} for law in (first, second)]
    return kept[0], kept[1], 1 - min(sum(law.values(), Fraction(0)) for law in kept)


# --- rho ---


def _rho(p: Probabilities, q: Probabilities) -> _Between:
    """The largest Rényi divergence over its order, D_a / a, over all orders a > 1 and both directions."""
    whole_laws = (read_law(p, "p"), read_law(q, "q"))
    first, second, left_out = _shared(p, q)
    lows = [_rho_low(a, b) for a, b in (whole_laws, whole_laws[::-1])]
    highs = [_rho_high(a, b) for a, b in ((first, second), (second, first))]
    return _Between(max(lows), max(highs), left_out)


def _orders(size: int) -> Floats:
    """Whole numbers, where discrete Gaussians have their largest divergence, among orders in small steps."""
    steps = 1 + np.geomspace(1e-3, 1e3, max(50, min(ORDERS, WORK // size)))
    return np.unique(np.concatenate([steps, np.arange(2.0, 20.0)]))


def _divergences(p: list[Fraction], q: list[Fraction], orders: Floats) -> Floats:
    """(a - 1) D_a for each order, in floats."""
    first, second = np.array([_log(x) for x in p]), np.array([_log(x) for x in q])
    sums = np.empty(len(orders))
    for place, order in enumerate(orders):
        terms = order * first + (1 - order) * second
        sums[place] = terms.max() + math.log(np.exp(terms - terms.max()).sum())
    return sums


def _rho_low(p: Law, q: Law) -> float:
    """Every output of q may have the missing mass of q too, and outputs that are not listed only add to the sum."""
    spare = 1 - sum(q.values())
    seen = [(mass, q.get(output, Fraction(0)) + spare) for output, mass in p.items() if mass]
    if any(other == 0 for _, other in seen):
        return math.inf
    orders = _orders(len(seen))
    sums = _divergences([mass for mass, _ in seen], [other for _, other in seen], orders)
    least = (sums - _error(seen, orders)) / (orders * (orders - 1))
    return max(0.0, float(least.max()))


def _rho_high(p: Law, q: Law) -> float:
    """D_a rises with a, so between two orders D_a / a is at most D at the upper one over the lower one.

    Below the first order it is at most D there; above the last at most the largest log-ratio over it.
    """
    scale_p, scale_q = sum(p.values()), sum(q.values())
    seen = [(mass / scale_p, q.get(output, Fraction(0)) / scale_q) for output, mass in p.items() if mass]
    if any(other == 0 for _, other in seen):
        return math.inf
    orders = _orders(len(seen))
    sums = _divergences([mass for mass, _ in seen], [other for _, other in seen], orders)
    most = np.maximum((sums + _error(seen, orders)) / (orders - 1), 0)
    ends = max(_log(mass / other) for mass, other in seen) / orders[-1]
    between = (most[1:] / orders[:-1]).max()
    return max(0.0, float(max(most[0], between, ends)) * (1 + ROUNDING))


def _error(seen: list[tuple[Fraction, Fraction]], orders: Floats) -> Floats:
    """Of the sums: each term has the roundings of two logarithms times the order."""
    size = max(abs(_log(x)) for pair in seen for x in pair)
    return 1e-15 * (4 * orders * (size + 1) + len(seen))


def _log(x: Fraction) -> float:
    return math.log(x.numerator) - math.log(x.denominator)


# --- mu ---


def _mu(p: Probabilities, q: Probabilities, claim: Claim) -> _Between:
    """The sets of largest likelihood ratio are the corners of the trade-off curve.

    Between two corners it is a straight line, which lies above the convex curve of any mu that both corners keep.
    """
    low = 0.0
    for direction in directions(p, q)[0]:
        for mass, other in zip(direction.p_sums, direction.q_sums, strict=True):
            low = max(low, claim.least(_float(mass, up=False), _float(other + direction.q_missing, up=True)))
    first, second, left_out = _shared(p, q)
    scaled = [{output: mass / sum(law.values()) for output, mass in law.items()} for law in (first, second)]
    high = 0.0
    for direction in directions(scaled[0], scaled[1])[0]:
        for mass, other in zip(direction.p_sums[1:-1], direction.q_sums[1:-1], strict=True):
            high = max(high, (_quantile(mass) - _quantile(other)) * (1 + ROUNDING) + ROUNDING)
    return _Between(low, high, left_out)


def _float(probability: Fraction, *, up: bool) -> float:
    """A float that is not below it, or not above it; 0 and 1 are exact."""
    value = float(probability)
    wrong = Fraction(value) < probability if up else Fraction(value) > probability
    return math.nextafter(value, 2 if up else -1) if wrong else value


def _quantile(probability: Fraction) -> float:
    """Near 1 through its complement, which is exact."""
    if probability in (0, 1):
        return math.copysign(math.inf, probability - Fraction(1, 2))
    if probability > Fraction(1, 2):
        return -_quantile(1 - probability)
    return NORMAL.inv_cdf(float(probability))
