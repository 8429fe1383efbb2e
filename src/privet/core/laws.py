"""The two noise laws on the integers, P[X = x] proportional to exp(-exponent(x)); and the law of a private choice."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """P[X = x] proportional to exp(-|x| / scale): two-sided geometric noise."""

    scale: Fraction

    def exponent(self, x: int) -> Fraction:
        return abs(x) / self.scale


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """P[X = x] proportional to exp(-x**2 / (2 * variance)).

    `variance` names the parameter sigma**2. (The variance of the law itself is a little smaller.)
    It need not be the square of a rational, so a price is met exactly.
    """

    variance: Fraction

    def exponent(self, x: int) -> Fraction:
        return x * x / (2 * self.variance)


@dataclass(frozen=True, slots=True)
class Choice:
    """A candidate v has P[v] proportional to exp(-rate * loss(v)), with a whole number for its loss.

    With `flip` the candidates are tried in random order instead, each taken with probability exp(-rate * (loss(v) - the
    least loss)), until one is: that errs less where the candidates are few.
    """

    rate: Fraction
    flip: bool = False


@dataclass(frozen=True, slots=True)
class Top:
    """The best cells are chosen in so many `rounds`, each time by a `Choice` among those that are left: the loss of a
    cell is how far its score, a whole number, is below the best one."""

    rate: Fraction
    rounds: int
    flip: bool = False


@dataclass(frozen=True, slots=True)
class Choices(Choice):
    """Quantiles one inside the other: `rates` has the rate of each level's choices, for a loss in rows. `rate` is the
    first one, for the loss in parts of a row of the quantile that is chosen first."""

    rates: tuple[Fraction, ...] = ()


Law = DiscreteLaplace | DiscreteGaussian
