"""Numbers and words as a terminal shows them."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

WIDTH = 100  # columns of a line


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


def terminal_width(line: str) -> int:
    """Columns on a terminal."""
    return len(line) if line.isascii() else sum(map(letter_width, line))


def letter_width(letter: str) -> int:
    """Chinese letters take two columns, accents that stand on another letter none."""
    return 0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def one_line(text: str) -> str:
    """Text from outside, safe to show: no line breaks and no terminal commands."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def wrapped(text: str, first: str = "", then: str = "") -> list[str]:
    """Lines of at most 100 columns, broken between words, or inside one that is longer than a line."""
    lines, here = [], first
    empty = True  # nothing but the margin is on the line so far
    for word in one_line(text).split():
        for piece in _pieces(word, WIDTH - max(terminal_width(first), terminal_width(then))):
            if not empty and terminal_width(here) + 1 + terminal_width(piece) > WIDTH:
                lines.append(here)
                here, empty = then, True
            here, empty = here + ("" if empty else " ") + piece, False
    return [*lines, here.rstrip()]


def _pieces(word: str, room: int) -> list[str]:
    """The word, cut where a line would end."""
    if terminal_width(word) <= room:
        return [word]
    pieces, taken = [""], 0
    for letter in word:
        taken += letter_width(letter)
        if taken > room:
            pieces.append("")
            taken = letter_width(letter)
        pieces[-1] += letter
    return pieces


def seconds_words(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 10 else f"{seconds:.1f} s" if seconds >= 0.1 else "less than 0.1 s"


def ceiling(bound: Fraction, digits: int = 3) -> str:
    """The bound to a few digits, never below it; 1.9e+130 where it is long."""
    return _plain(_divide(bound, digits, ROUND_CEILING))


def floor(bound: Fraction, digits: int = 3) -> str:
    """The bound to a few digits, never above it."""
    return _plain(_divide(bound, digits, ROUND_FLOOR))


def fixed(number: Fraction, decimals: int, turn: Callable[[Fraction], int] = round) -> str:
    """1,234.50: so many decimals, rounded by `turn` (round, math.floor or math.ceil)."""
    whole = turn(number * 10**decimals)
    front, back = divmod(abs(whole), 10**decimals)
    return f"{'-' if whole < 0 else ''}{front:,}" + (f".{back:0{decimals}}" if decimals else "")


def decimals_for(width: Fraction) -> int:
    """How many decimals show two digits of this width > 0; at most 12."""
    power = math.floor(math.log10(width.numerator) - math.log10(width.denominator))
    return min(max(1 - power, 0), 12)


def step_decimals(step: Fraction) -> int:
    """How many decimals write multiples of this step in full; 12 if no number of them does."""
    return next((n for n in range(12) if 10**n % step.denominator == 0), 12)


def plain_numbers(value: Any) -> Any:
    """Fractions as floats, all the way down: for JSON, which has no infinity ("inf")."""
    match value:
        case dict():
            return {key: plain_numbers(item) for key, item in value.items()}
        case list() | tuple():
            return [plain_numbers(item) for item in value]
        case Fraction():
            return float(value)
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value


def share_at_most(share: Fraction) -> str:
    """A probability as a percentage to three digits (of what is missing, if it is near 100 %), never below it."""
    return _share(share, ROUND_CEILING, ROUND_FLOOR)


def share_at_least(share: Fraction) -> str:
    """The same, never above it."""
    return _share(share, ROUND_FLOOR, ROUND_CEILING)


def _share(share: Fraction, here: str, beyond: str) -> str:
    percentage = 100 * share
    if percentage <= 90:
        return _plain(_divide(percentage, 3, here)) + " %"
    missing = _divide(100 - percentage, 3, beyond)
    return _plain(Context(prec=8, rounding=here).subtract(Decimal(100), missing)) + " %"


def _divide(number: Fraction, digits: int, rounding: str) -> Decimal:
    """Rounded once, in the direction asked for."""
    return Context(prec=digits, rounding=rounding).divide(Decimal(number.numerator), Decimal(number.denominator))


def _plain(number: Decimal) -> str:
    """0.00268, 1, 730 or 1.9e+130: without zeros at the end."""
    extreme = number and not -5 < number.adjusted() < 7
    digits, mark, power = (f"{number:e}" if extreme else f"{number:f}").partition("e")
    return (digits.rstrip("0").rstrip(".") if "." in digits else digits) + mark + power
