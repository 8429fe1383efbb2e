"""The exact privacy curve of a mechanism whose output probabilities can be listed.

A law is a mapping output -> probability. It may fall short of 1: because the tail of an infinite support is cut, or
because probabilities were rounded down. Nothing is assumed of the missing mass, so a result is a pair of bounds,
and both are equal where nothing is missing and e**epsilon is given as a rational `factor`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Generic, TypeVar

from privet.core.exponential import exp_enclosure
from privet.core.rational import rational, show
from privet.errors import InvalidInputError

Probabilities = Mapping[Hashable, object]
Number = TypeVar("Number", Fraction, float)

LARGEST_EPSILON = 1000
GUARD = 128  # bits of exp(epsilon) beyond its size


@dataclass(frozen=True, slots=True)
class EpsilonBounds(Generic[Number]):
    """low <= true value <= high. `missing`: how far the shorter of the two laws falls short of 1."""

    low: Number
    high: Number
    missing: Fraction


@dataclass(frozen=True, slots=True)
class _Direction:
    """One law against the other, outputs by falling likelihood ratio p / q.

    The best set at a factor c is {p > c * q}, a prefix. `ratios` rise, so that they can be bisected: the k-th from
    the end belongs to the prefix of k outputs, which has mass p_sums[k] and q_sums[k].
    """

    ratios: list[Fraction | float]
    p_sums: list[Fraction]
    q_sums: list[Fraction]
    p_missing: Fraction
    q_missing: Fraction

    def delta(self, factor_low: Fraction, factor_high: Fraction) -> tuple[Fraction, Fraction]:
        """max over sets of P - factor * Q. Missing mass of p may add to it, missing mass of q may take from it."""
        k = self._prefix(factor_high)
        low = self.p_sums[k] - factor_high * (self.q_sums[k] + self.q_missing)
        k = self._prefix(factor_low)
        high = self.p_sums[k] - factor_low * self.q_sums[k] + self.p_missing
        return max(low, Fraction(0)), min(high, Fraction(1))

    def _prefix(self, factor: Fraction) -> int:
        return len(self.ratios) - bisect_left(self.ratios, True, key=lambda ratio: ratio > factor)

    def factor(self, delta: Fraction) -> tuple[Fraction | float, Fraction | float]:
        """The smallest factor >= 1 at which no prefix has P - factor * Q above delta."""
        nothing = Fraction(0)
        return (
            self._factor(nothing, self.q_missing, delta),
            self._factor(self.p_missing, nothing, delta),
        )

    def _factor(self, extra_p: Fraction, extra_q: Fraction, delta: Fraction) -> Fraction | float:
        largest = Fraction(1)
        for p, q in zip(self.p_sums, self.q_sums, strict=True):
            gain, price = p + extra_p - delta, q + extra_q
            if gain > largest * price:
                if price == 0:
                    return math.inf
                largest = gain / price
        return largest


def exact_delta(
    p: Probabilities, q: Probabilities, epsilon: object = None, *, factor: object = None
) -> EpsilonBounds[Fraction]:
    """The smallest delta at which laws p and q are (epsilon, delta)-close, in both directions.

    Give `epsilon`, or e**epsilon as a rational `factor`: then the result is exact where nothing is missing.
    """
    if (epsilon is None) == (factor is None):
        raise InvalidInputError(
            "exact_delta needs epsilon or factor", "give one of them: epsilon=1, or factor=2", "not-exactly-one"
        )
    both, missing = directions(p, q)
    if epsilon is None:
        number = _at_least(factor, "factor", 1)
        return _delta(both, missing, number, number)
    return _delta(both, missing, *_exp(_epsilon(epsilon)))


def privacy_curve(p: Probabilities, q: Probabilities, epsilons: Iterable[object]) -> list[EpsilonBounds[Fraction]]:
    """`exact_delta` at each of the epsilons, in their order."""
    both, missing = directions(p, q)
    return [_delta(both, missing, *_exp(_epsilon(epsilon))) for epsilon in epsilons]


def exact_epsilon(p: Probabilities, q: Probabilities, delta: object = 0) -> EpsilonBounds[float]:
    """The smallest epsilon at which laws p and q are (epsilon, delta)-close, in both directions.

    Infinity where one law has outputs of more than delta that the other lacks. Floats, rounded outward.
    """
    number = _at_least(delta, "delta", 0)
    both, missing = directions(p, q)
    factors = [direction.factor(number) for direction in both]
    low, high = max(low for low, _ in factors), max(high for _, high in factors)
    return EpsilonBounds(_log(low, up=False), _log(high, up=True), missing)


def _delta(both: list[_Direction], missing: Fraction, low: Fraction, high: Fraction) -> EpsilonBounds[Fraction]:
    deltas = [direction.delta(low, high) for direction in both]
    return EpsilonBounds(max(low for low, _ in deltas), max(high for _, high in deltas), missing)


def directions(p: Probabilities, q: Probabilities) -> tuple[list[_Direction], Fraction]:
    first, second = read_law(p, "p"), read_law(q, "q")
    zero = Fraction(0)
    p_missing, q_missing = 1 - sum(first.values(), zero), 1 - sum(second.values(), zero)
    pairs = [(first.get(output, zero), second.get(output, zero)) for output in {**first, **second}]
    swapped = [(q, p) for p, q in pairs]
    return (
        [_direction(pairs, p_missing, q_missing), _direction(swapped, q_missing, p_missing)],
        max(p_missing, q_missing),
    )


def _direction(pairs: list[tuple[Fraction, Fraction]], p_missing: Fraction, q_missing: Fraction) -> _Direction:
    ranked = sorted(((p / q if q else math.inf, p, q) for p, q in pairs if p or q), key=lambda item: item[0])
    zero = Fraction(0)
    return _Direction(
        [ratio for ratio, _, _ in ranked],
        list(accumulate((p for _, p, _ in reversed(ranked)), initial=zero)),
        list(accumulate((q for _, _, q in reversed(ranked)), initial=zero)),
        p_missing,
        q_missing,
    )


def read_law(law: Probabilities, name: str) -> dict[Hashable, Fraction]:
    if not isinstance(law, Mapping) or not law:
        raise InvalidInputError(
            f"{name} must be a mapping output -> probability, not {show(law)}",
            f"write {name} like {{0: Fraction(3, 4), 1: Fraction(1, 4)}}",
            "wrong-type",
        )
    exact = {output: rational(value, f"a probability of {name}") for output, value in law.items()}
    if min(exact.values()) < 0:
        raise InvalidInputError(f"{name} has a negative probability", "give probabilities of 0 or more", "negative")
    if sum(exact.values()) > 1:
        raise InvalidInputError(
            f"the probabilities of {name} sum to more than 1",
            "round them down, e.g. multiply floats by 1 - 1e-12: what is missing is added to the bounds",
            "too-large",
        )
    return exact


def _at_least(value: object, name: str, least: int) -> Fraction:
    number = rational(value, name)
    if number < least:
        raise InvalidInputError(
            f"{name} must be at least {least}, not {show(value)}", f"give {name}={least} or more", "too-small"
        )
    return number


def _epsilon(value: object) -> Fraction:
    number = _at_least(value, "epsilon", 0)
    if number > LARGEST_EPSILON:
        raise InvalidInputError(
            f"epsilon is above {LARGEST_EPSILON}: {show(value)}",
            f"ask at epsilon={LARGEST_EPSILON}; at a larger epsilon delta is no larger",
            "too-large",
        )
    return number


def _exp(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """exp(epsilon) between two rationals."""
    bits = GUARD + 2 * math.ceil(epsilon)
    low, high = exp_enclosure(epsilon, bits)
    return Fraction(1 << bits, high), Fraction(1 << bits, low)


def _log(factor: Fraction | float, *, up: bool) -> float:
    """log(factor) for factor >= 1, as a float that is certainly not above it, or not below it."""
    if isinstance(factor, float):  # infinity
        return factor
    if factor == 1:
        return 0.0
    huge = factor >= 10**300
    guess = math.log(factor.numerator) - math.log(factor.denominator) if huge else math.log1p(float(factor - 1))
    bits = GUARD + 2 * math.ceil(guess + 1)
    step = 0.0
    while True:
        value = max(0.0, guess + step if up else guess - step)
        low, high = exp_enclosure(Fraction(value), bits)
        if high * factor <= 1 << bits if up else low * factor >= 1 << bits:
            return value
        step = 2 * step or math.ulp(guess)
