"""Numbers and words as a terminal shows them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Pen:
    """Marks words with terminal colors, or leaves them as they are."""

    color: bool

    def head(self, text: str) -> str:
        return self._mark("1", text)

    def bad(self, text: str) -> str:
        return self._mark("1;31", text)

    def good(self, text: str) -> str:
        return self._mark("1;32", text)

    def _mark(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text


def percent(share: Fraction | float, decimals: int = 1) -> str:
    """The nearest percentage: for what was measured or is exact."""
    return f"{float(share) * 100:.{decimals}f} %"


def at_most(bound: Fraction) -> str:
    """Two decimals, never below the bound: for what is promised."""
    return f"{math.ceil(bound * 100) / 100:.2f}"


def at_least(bound: Fraction) -> str:
    """Two decimals, never above the bound."""
    return f"{math.floor(bound * 100) / 100:.2f}"


def one_line(text: str) -> str:
    """Text from outside, safe to show: no line breaks and no terminal commands."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
