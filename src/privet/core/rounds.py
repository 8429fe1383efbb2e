"""What a learner's round measures: sums over rows of whole vectors of bounded length, and how far a unit moves them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from privet.core.accountant import rho_cap
from privet.core.claim import claim
from privet.core.laws import DiscreteGaussian, Law
from privet.core.loss import Loss
from privet.core.mechanisms import gaussian_for_rho, laplace_for
from privet.core.sensitivity import Sensitivity
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError

LONGEST = 2**52  # squared; every check of a row and every sum of a block of rows is exact in 53 bits


class Form(StrEnum):
    VECTOR = "vector"  # a row adds a vector
    COUNTS = "counts"  # a row adds a vector of numbers none of which is below 0
    GRAM = "gram"  # a row adds all products of two numbers of its vector: a matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """A vector of `size` whole numbers for each row, summed over the rows; of a gram the size**2 products of each.

    What is enforced on each row: its squares add up to at most `l2_squared`, its absolute values to at most `l1`; of
    counts no number is below 0. A row that breaks this adds nothing.
    """

    form: Form
    size: int
    l2_squared: int
    l1: int

    def __post_init__(self) -> None:
        if not (self.size >= 1 and 1 <= self.l1 <= self.l2_squared and self.most <= LONGEST):
            raise InvalidInputError(
                "the vectors of a round are too long for exact sums", "scale them to at most 2**26", "too-large"
            )

    @property
    def power(self) -> int:
        """A row adds products of so many of its numbers."""
        return 2 if self.form is Form.GRAM else 1

    @property
    def numbers(self) -> int:
        """How many sums there are."""
        return int(self.size**self.power)

    @property
    def most(self) -> int:
        """The most that the squares of what a row adds come to."""
        return int(self.l2_squared**self.power)


def vector(size: int, l2_squared: int, *, l1: int | None = None, positive: bool = False) -> Sums:
    return _sums(Form.COUNTS if positive else Form.VECTOR, size, l2_squared, l1)


def counts(size: int, ones: int = 1) -> Sums:
    """A row is in at most so many of the cells, once in each."""
    return _sums(Form.COUNTS, size, ones, ones)


def gram(size: int, l2_squared: int) -> Sums:
    return _sums(Form.GRAM, size, l2_squared, None)


def _sums(form: Form, size: int, l2_squared: int, l1: int | None) -> Sums:
    """Whole numbers add up to no more than their squares do, nor than a vector of one length in all places."""
    most = min(l2_squared, math.isqrt(max(size * l2_squared, 0)))
    return Sums(form=form, size=size, l2_squared=l2_squared, l1=most if l1 is None else min(l1, most))


@claim("rounds-sensitivity")
def moved(sums: Sums, rows: int, neighbors: Neighbors) -> Sensitivity:
    """How far one unit of at most `rows` rows moves the sums. What goes and what comes can be opposite vectors, but not
    opposite counts or grams: there the squares of both add up at most."""
    l1, l2_squared = rows * sums.l1**sums.power, rows**2 * sums.most
    if neighbors is Neighbors.REPLACE:
        l1, l2_squared = 2 * l1, (4 if sums.form is Form.VECTOR else 2) * l2_squared
    return Sensitivity(l1=l1, l2_squared=l2_squared, linf=math.isqrt(l2_squared), touched=sums.numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Noisy:
    """Sums with the noise that is added to them."""

    sums: Sums
    law: Law

    @property
    def deviation(self) -> float:
        """Of the noise on each sum, roughly."""
        variance = self.law.variance if isinstance(self.law, DiscreteGaussian) else 2 * self.law.scale**2
        root: float = float(variance) ** 0.5
        return root


Round = tuple[Noisy, ...]
Shares = Sequence[Sequence[tuple[Sums, Fraction]]]  # of each round, what it measures and its share of the price


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """Rounds with their noise, and what they cost together."""

    rounds: tuple[Round, ...]
    loss: Loss

    @property
    def noise(self) -> float:
        """The logarithm of its deviation, added up over all sums."""
        return sum(each.sums.numbers * math.log(each.deviation) for one in self.rounds for each in one)


@claim("rounds-sensitivity")
def priced(shares: Shares, rows: int, neighbors: Neighbors, epsilon: Fraction, delta: Fraction) -> Priced:
    """Noise for rounds declared in advance, whose shares of the price add up to 1: Laplace noise; or Gaussian noise, if
    there is a delta and the noise is less that way: in its logarithm, on the average over all sums."""
    listed = [each for one in shares for each in one]
    if sum(share for _, share in listed) != 1 or any(share <= 0 for _, share in listed):
        raise InvalidInputError(
            "the shares of the rounds must be above 0 and add up to 1", "divide by their sum", "contradiction"
        )
    far = {sums: moved(sums, rows, neighbors) for sums, _ in listed}
    rho = rho_cap(epsilon, delta) if delta else Fraction(0)

    def made(law: Callable[[Sums, Fraction], Law], loss: Loss) -> Priced:
        rounds = tuple(tuple(Noisy(sums=sums, law=law(sums, share)) for sums, share in one) for one in shares)
        return Priced(rounds=rounds, loss=loss)

    found = made(
        lambda sums, share: laplace_for(epsilon * share, far[sums].l1),
        Loss(epsilon=epsilon, rho=sum(((epsilon * share) ** 2 for _, share in listed), Fraction(0)) / 2),
    )
    if rho == 0:
        return found
    other = made(
        lambda sums, share: gaussian_for_rho(rho * share, far[sums].l2_squared),
        Loss(epsilon=epsilon, delta=delta, rho=rho),
    )
    return min(found, other, key=lambda priced: priced.noise)
