"""What decoders take and give: who is in which sum, the errors of answers, what was found, what is to be expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from privet.typing import Floats

Bits = npt.NDArray[np.uint8]
Law = Literal["exact", "normal", "laplace", "bounded", "outliers"]


class Matrix(Protocol):
    """Answers x people. However it is stored, a decoder only multiplies with it, or reads a block of rows."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def times(self, values: Floats) -> Floats:
        """One number an answer, from one a person."""
        ...

    def back(self, numbers: Floats) -> Floats:
        """One number a person, from one an answer: the transposed matrix times them."""
        ...

    def block(self, start: int, stop: int) -> Floats:
        """Some rows as a plain array: for small solvers and for tests."""
        ...


@dataclass(frozen=True, slots=True)
class Errors:
    """How the answers differ from the true sums, independently of each other.

    `size` is the standard deviation of a normal error, the scale of Laplace, the largest error there is of a bounded
    one (whatever its law), and of outliers the standard deviation of all the others; `share` of the answers are
    outliers, about which nothing is known. `step` is not 0 where bounded errors are those of rounding to multiples of
    it: such an error is no chance, but follows from the sum.
    """

    law: Law
    size: float = 0.0
    share: float = 0.0
    step: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """`values` from 0 to 1 (or to `top`), a whole number for everybody in `bits`, and how sure each of these is."""

    decoder: str
    values: Floats
    bits: Bits
    right: Floats | None  # the probability that a bit is right, where the decoder can tell
    errors: Errors  # as given, or as the residuals look
    rounds: int
    converged: bool
    most_wrong: int | None = None  # no more bits than this are wrong, where that is a theorem


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The share of bits that this decoder is expected to get right, before any answer is known."""

    decoder: str
    recovered: float
    why: str  # the law behind the number, in a few words
    low: float | None = None  # nine results in ten are from low to high; None: nobody knows
    high: float | None = None
