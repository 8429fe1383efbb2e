"""exp(-x) between two integers, as tightly as asked. Integer arithmetic only."""

from __future__ import annotations

from fractions import Fraction

from privet.core.claim import claim

GUARD = 24


@claim("exp-enclosure")
def exp_enclosure(gamma: Fraction, bits: int) -> tuple[int, int]:
    """Integers (low, high) with low <= 2**bits * exp(-gamma) <= high, for gamma >= 0.

    exp(-z) is summed for z = gamma / 2**halvings < 1/2 and then squared `halvings` times.
    """
    if gamma == 0:
        return 1 << bits, 1 << bits
    if gamma >= bits:  # exp(-gamma) < 2**-bits
        return 0, 1
    halvings = (gamma.numerator // gamma.denominator).bit_length() + 1
    precision = bits + halvings + GUARD
    z = (gamma.numerator << precision) // (gamma.denominator << halvings)
    low, high = _alternating_series(z, precision)
    for _ in range(halvings):
        low = low * low >> precision
        high = -(-high * high >> precision)
    spare = precision - bits
    return low >> spare, -(-high >> spare)


def _alternating_series(z: int, precision: int) -> tuple[int, int]:
    """Bounds on 2**precision * exp(-x) for z <= 2**precision * x < z + 1, x < 1/2.

    Every term is cut down to an integer and lacks less than 2: less than 1 by its own cut, and what the term
    before it lacked, times x/n < 1/2. Cutting x costs less than 1, and so does stopping where a term is cut to
    0, because what follows alternates and starts below 1.
    """
    total, term, n = 1 << precision, 1 << precision, 0
    while term:
        n += 1
        term = term * z // (n << precision)
        total += -term if n % 2 else term
    slack = 2 * n + 2
    return total - slack, total + slack


@claim("exact-comparison")
def is_below(u: int, bits: int, factor: Fraction, gamma: Fraction) -> bool | None:
    """Is U < factor * exp(-gamma), when all we know is u <= 2**bits * U < u + 1? None if it is still open."""
    precision = bits + factor.numerator.bit_length() + 32
    low, high = exp_enclosure(gamma, precision)
    scaled = factor.denominator << (precision - bits)
    if (u + 1) * scaled <= factor.numerator * low:
        return True
    if u * scaled >= factor.numerator * high:
        return False
    return None
