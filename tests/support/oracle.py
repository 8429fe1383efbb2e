"""A slow, independent judge of the samplers: mpmath at 400 bits, and sources whose words a test writes itself.

Nothing here imports privet: what the code calls an exponent, a boundary or a decision is worked out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

PRECISION = 400
WORD = (1 << 64) - 1

ctx = mpmath.MPContext()  # a context of our own: other tests may set mpmath's
ctx.prec = PRECISION


def real(value: Fraction) -> Any:
    """The rational to 400 bits."""
    return ctx.mpf(value.numerator) / ctx.mpf(value.denominator)


def exponent(law: Any, x: int) -> Fraction:
    """-log f(x), from the two definitions: |x| / scale and x**2 / (2 sigma**2)."""
    if hasattr(law, "scale"):
        return Fraction(abs(x)) / law.scale
    return Fraction(x * x) / (2 * law.variance)


def f(law: Any, x: int) -> Any:
    """exp(-exponent(x)) to 400 bits."""
    return ctx.exp(-real(exponent(law, x)))


def boundary(law: Any, factor: Fraction, x: int, bits: int) -> int:
    """2**bits * factor * f(x), rounded down. Exact for x = 0, where f(x) is 1.

    For other x the product is irrational, and 400 bits tell on which side of an integer it lies unless it is
    within 2**-60 of one: that fails the assertion here, not a test of privet.
    """
    if x == 0:
        return (factor.numerator << bits) // factor.denominator
    scaled = ctx.ldexp(real(factor) * f(law, x), bits)
    whole = int(ctx.floor(scaled))
    assert whole < 1 << (PRECISION - 64)
    assert whole == 0 or ctx.ldexp(1, -60) < scaled - whole < 1 - ctx.ldexp(1, -60)
    return whole


def verdict(u: int, later: int, deep: int, x: int) -> bool | None:
    """Is U below the boundary, if U is u, then the word `later` for ever, and `deep` has two words more than u?

    None if u and two words equal the boundary: then only still later words would tell (U = 0 for a minute f).
    """
    full = u << 128 | later << 64 | later
    return None if full == deep and x else full < deep


class Script:
    """A source of words that a test wrote: the first fill, then `rest` one by one, then `last` as long as asked.

    Code that asks a thousand times for `last` would ask for ever: that is a failure, not a hang.
    """

    epoch = 0
    patience = 1000

    def __init__(self, first: Iterable[int], rest: Sequence[int] = (), last: int | None = None) -> None:
        self._first: np.ndarray | None = np.array(list(first), np.uint64)
        self._rest = list(rest)
        self._last = last

    def fill(self, out: np.ndarray) -> None:
        if self._first is not None:
            assert len(out) == len(self._first)
            out[:], self._first = self._first, None
            return
        for i in range(len(out)):
            if not self._rest:
                self.patience -= 1
                assert self._last is not None, "the code asked for more words than the test wrote"
                assert self.patience > 0, "the code asks for ever"
            out[i] = self._rest.pop(0) if self._rest else self._last


def words_of(bits: Iterable[tuple[int, int]]) -> list[int]:
    """(value, width) fields, most significant first, as 64-bit words; the last word is filled up with zeros."""
    whole, length = 0, 0
    for value, width in bits:
        assert 0 <= value < 1 << width
        whole, length = whole << width | value, length + width
    pad = -length % 64
    whole, length = whole << pad, length + pad
    return [whole >> (length - 64 * (i + 1)) & WORD for i in range(length // 64)]
