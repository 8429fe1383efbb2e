"""What is claimed of a mechanism, and what one event says about it.

Every notion of privacy here survives post-processing, so it holds for "did the event come up?" too: a coin that shows
heads with probability P on one data set and Q on the other. A claim answers one question: how large must its parameter
be, if P is at least `p` and Q at most `q`?
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from privet.core.rational import below_one, positive
from privet.errors import InvalidInputError

ROUNDING = 1e-12  # more than the relative error of the few logarithms and normal quantiles taken here
ORDERS = tuple(1 + 2.0**power for power in range(-8, 13))  # of Rényi divergences: each gives a bound, the best counts
NORMAL = NormalDist()
HALVINGS = 60


@dataclass(frozen=True, slots=True, init=False)
class Claim:
    """A mechanism is said to be (epsilon, delta)-differentially private, or rho-zCDP, or mu-GDP.

    What is bounded from below is `parameter`: "epsilon" (at the claimed delta), "rho" or "mu"; `value` is claimed.
    """

    parameter: str
    value: Fraction
    delta: Fraction

    def __init__(self, epsilon: object = None, delta: object = 0, *, rho: object = None, mu: object = None) -> None:
        given = {
            name: number for name, number in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if number is not None
        }
        if len(given) != 1:
            raise InvalidInputError(
                "a claim is about epsilon (with delta or without), or about rho, or about mu",
                "write Claim(epsilon=1), Claim(rho=0.1) or Claim(mu=1)",
                "not-exactly-one",
            )
        ((name, number),) = given.items()
        least_delta = below_one(delta, "delta")
        if name != "epsilon" and least_delta:
            raise InvalidInputError(
                f"a claim about {name} has no delta",
                f"write Claim({name}={float(positive(number, name)):g})",
                "unneeded-delta",
            )
        object.__setattr__(self, "parameter", name)
        object.__setattr__(self, "value", positive(number, name))
        object.__setattr__(self, "delta", least_delta)

    def least(self, p: float, q: float) -> float:
        """The parameter is at least this, if an event has probability `p` or more here and `q` or less there.

        Every notion holds in both directions, so that the event stays away counts as well: 1 - q or more there, 1 - p
        or less here. 0 where the two numbers say nothing. Rounded down.
        """
        if not p > q:
            return 0.0
        return max(0.0, self._least(p, q), self._least(math.nextafter(1 - q, 0.0), math.nextafter(1 - p, 1.0)))

    def absence_says_more(self, p: float, q: float) -> bool:
        """Whether the bound of `least` comes from the event's staying away."""
        return p > q and self._least(1 - q, 1 - p) > self._least(p, q)

    def _least(self, p: float, q: float) -> float:
        """From one direction: the event itself, or that it stays away."""
        if not p > q:  # after rounding
            return 0.0
        match self.parameter:
            case "epsilon":
                return _least_epsilon(p, q, self.delta)
            case "rho":
                return max(_renyi(p, q, order) / order for order in ORDERS)
            case _:
                return (_quantile(p) - _quantile(q)) * (1 - ROUNDING) - ROUNDING

    def most(self, q: float) -> float:
        """The largest probability that an event of probability `q` there can have here: the trade-off curve."""
        low, high = q, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.least(middle, q) > self.value else (middle, high)
        return high

    def __str__(self) -> str:
        if self.parameter == "epsilon":
            return f"epsilon = {float(self.value):g}, delta = {float(self.delta):g}"
        return f"{self.parameter} = {float(self.value):g}"


def _least_epsilon(p: float, q: float, delta: Fraction) -> float:
    """From P <= e**epsilon * Q + delta: epsilon >= log((P - delta) / Q)."""
    gain = Fraction(p) - delta
    if gain <= 0:
        return 0.0
    if q == 0:
        return math.inf
    # a quotient may be beyond a double; the logarithm of an integer never is
    return math.log(gain.numerator) - math.log(gain.denominator) - math.log(q) - ROUNDING * (1 + abs(math.log(q)))


def _renyi(p: float, q: float, order: float) -> float:
    """The Rényi divergence of two coins, which grows in p and falls in q where p > q. Rounded down."""
    if q == 0:
        return math.inf
    heads = order * math.log(p) + (1 - order) * math.log(q)
    tails = -math.inf if p == 1 else order * math.log1p(-p) + (1 - order) * math.log1p(-q)
    top = max(heads, tails)
    total = top + math.log(math.exp(heads - top) + math.exp(tails - top))
    size = abs(heads) + (0 if p == 1 else abs(tails)) + 1
    return (total - ROUNDING * size) / (order - 1)


def _quantile(probability: float) -> float:
    if probability in (0, 1):
        return math.copysign(math.inf, probability - 0.5)
    return NORMAL.inv_cdf(probability)
