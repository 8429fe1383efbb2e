"""Logarithms and exponentials of whole numbers, rounded. A float proposes, and wherever it comes so near a border that
its error could matter, the exact integer is looked up instead.

Little is assumed of floats: that a logarithm or an exponential of NumPy or of the engine is off by less than 2**-44 of
its value. Libraries promise a few times 2**-53.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privet.backends.spelling import double
from privet.backends.whole import Whole, repeated
from privet.core.claim import claim
from privet.core.elementary import rounded_value
from privet.core.expression import Exponential, Logarithm, Rounding
from privet.typing import Floats

MARGIN = 2.0**-40
HUGE = Fraction(10) ** 300  # the exponential of -1 of it is 0, and of more as well
CUT = {Rounding.DOWN: "floor", Rounding.UP: "ceil", Rounding.NEAREST: "floor", Rounding.INWARD: "trunc"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """function(n * unit) for whole numbers n, rounded to multiples of `step`."""

    function: Logarithm | Exponential
    unit: Fraction
    rounding: Rounding
    step: Fraction

    def exact(self, whole: int) -> int:
        found = rounded_value(self.function, whole * self.unit, self.rounding, self.step)
        assert found is not None  # noqa: S101  the shape of what it is taken of was checked
        return found

    @property
    def _unit(self) -> float:
        return float(min(self.unit, HUGE))

    @property
    def _shift(self) -> float:
        """The logarithm of the unit."""
        return math.log(self.unit.numerator) - math.log(self.unit.denominator)

    @property
    def _steps(self) -> float:
        """How many steps 1 is, in the logarithms to base e that floats compute."""
        base = self.function.base if isinstance(self.function, Logarithm) else None
        return float(1 / self.step) / (1.0 if base is None else math.log(base))

    def proposed(self, wholes: Floats) -> tuple[Floats, float]:
        """Before it is rounded, and the largest number that went into it, in steps."""
        if isinstance(self.function, Exponential):
            found = np.exp(wholes * self._unit) * self._steps
            return found, float(found.max())
        found = (np.log(wholes) + self._shift) * self._steps
        into = math.log(self.unit.numerator) + math.log(self.unit.denominator)
        return found, float(np.abs(found).max()) + 2 * into * self._steps

    def sql(self, whole: str) -> str:
        """The same in SQL, rounded."""
        number, steps = f"CAST({whole} AS DOUBLE)", double(self._steps)
        if isinstance(self.function, Exponential):
            found = f"exp({number} * {double(self._unit)}) * {steps}"
        else:
            found = f"(ln({number}) + {double(self._shift)}) * {steps}"
        half = " + 0.5" if self.rounding is Rounding.NEAREST else ""
        return f"CAST({CUT[self.rounding]}({found}{half}) AS BIGINT)"


@claim("looked-up")
def looked_up(lookup: Lookup, a: Whole) -> Whole:
    x = repeated(a.sql)
    sql, listed = lookup.sql(x), corrections(lookup, a.low, a.high)
    one_by_one = " ".join(f"WHEN {first} THEN {result}" for first, last, result in listed if first == last)
    if one_by_one:
        sql = f"(CASE {x} {one_by_one} ELSE {sql} END)"
    stretches = [f"WHEN {x} BETWEEN {one[0]} AND {one[1]} THEN {one[2]}" for one in listed if one[0] < one[1]]
    if stretches:
        sql = f"(CASE {' '.join(stretches)} ELSE {sql} END)"
    return Whole(sql=sql, low=lookup.exact(a.low), high=lookup.exact(a.high))


@claim("looked-up")
@lru_cache(maxsize=64)
def corrections(lookup: Lookup, low: int, high: int) -> tuple[tuple[int, int, int], ...]:
    """The stretches of whole numbers in which a float could be rounded wrongly, each with the right result."""
    proposed, largest = lookup.proposed(np.array(range(low, high + 1), dtype=np.float64))
    border = proposed + 0.5 if lookup.rounding is Rounding.NEAREST else proposed
    close = np.flatnonzero(np.abs(border - np.rint(border)) <= (largest + 1) * MARGIN)
    together = [part.tolist() for part in np.split(close, np.flatnonzero(np.diff(close) > 1) + 1) if part.size]
    return tuple(found for part in together for found in _stretches(lookup, low + part[0], low + part[-1]))


def _stretches(lookup: Lookup, first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """Of one result each. The function grows: where both ends give the same, so does all between them."""
    result = lookup.exact(first)
    if result == lookup.exact(last):
        yield first, last, result
        return
    middle = (first + last) // 2
    yield from _stretches(lookup, first, middle)
    yield from _stretches(lookup, middle + 1, last)
