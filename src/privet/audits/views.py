"""Views of one column: numbered cells that its values are sorted into.

A view learns its cells from draws that are not used to test. Every view gives the tokens of the column cells of their
own, after those of the numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.audits.outputs import PLAIN, Numbers, OutputColumn, OutputReader
from privet.core.rational import show
from privet.typing import Integers, Truths

SEEN, SEEN_OF_FEW, FEW = 10, 4, 1000  # times a value must have come up to be a cell of its own
BINS = 64
TAILS = 18  # and tails of probability 1/2, 1/4, ... 2**-TAILS
DEEPEST, HIGHEST = -1074, 1024  # powers of two that a last bit can be; the last is for zero
DIGITS = 9
SHOWN = 6
NEAR = 1e-6


class Sorter:
    """Sorts a column into cells 0, 1, ... size - 1: first those of the numbers, then one for each known token."""

    kind = "values"
    ordered = True  # an interval of cells means something, also of those that nothing fell into

    def __init__(
        self, words: str, first: OutputColumn, second: OutputColumn, reader: OutputReader | None = None
    ) -> None:
        self.words = words
        self._reader = reader
        self._tokens = _known_tokens(first, second)
        with np.errstate(all="ignore"):  # a number may be as large as a double can be
            self._numbers = self.learn(_plain(first), _plain(second))
        self.size = self._numbers + (len(self._tokens) + 1 if len(self._tokens) else 0)

    def learn(self, first: Numbers, second: Numbers) -> int:
        """Takes what it needs from the numbers on both data sets, and gives the number of cells for them."""
        raise NotImplementedError

    def sort(self, numbers: Numbers) -> Integers:
        raise NotImplementedError

    def say(self, chosen: Truths) -> list[str]:
        raise NotImplementedError

    def cells(self, column: OutputColumn) -> Integers:
        with np.errstate(all="ignore"):
            return self._cells(column)

    def _cells(self, column: OutputColumn) -> Integers:
        if column.tokens is None:
            return self.sort(column.numbers)
        plain = column.tokens == PLAIN
        found = np.empty(len(plain), np.int64)
        found[plain] = self.sort(column.numbers[plain])
        found[~plain] = self._cell_of(column.tokens[~plain])
        return found

    def _cell_of(self, tokens: npt.NDArray[np.int32]) -> Integers:
        """A token that was not known, where none was, counts as the last number: any fixed rule will do."""
        if not len(self._tokens):
            return np.full(len(tokens), self._numbers - 1)
        place = np.searchsorted(self._tokens, tokens)
        known = self._tokens[np.minimum(place, len(self._tokens) - 1)] == tokens
        return self._numbers + np.where(known, place, len(self._tokens))

    @property
    def line(self) -> int:
        """Cells that lie in a line."""
        return self._numbers if self.ordered else 0

    def describe(self, chosen: Truths) -> str:
        texts = self.say(chosen[: self._numbers]) if chosen[: self._numbers].any() else []
        if self.size > self._numbers and self._reader is not None:
            where = np.flatnonzero(chosen[self._numbers : -1])
            names = [self._reader.token(int(self._tokens[cell])) for cell in where]
            texts += [f"{self.words} is {_listed(names)}"] if names else []
        if self.size > self._numbers and chosen[-1]:
            texts.append(f"{self.words} is something not seen before")
        return " or ".join(texts)


class ValueView(Sorter):
    """Numbers as they are. Rare ones share four cells: seen on the first data set only, the second, both, neither."""

    ordered = False
    name_of: Callable[[Any], str] = staticmethod(show)  # what a value stands for

    def learn(self, first: Numbers, second: Numbers) -> int:
        self._values = self._rare = np.concatenate([first, second])
        self._side = np.zeros(0, np.int64)
        if not len(self._values):
            return 1
        values, counts = np.unique(self._values, return_counts=True)
        common = counts >= (SEEN if len(first) + len(second) >= FEW else SEEN_OF_FEW)
        self._values, self._rare = values[common], values[~common]
        on_first, on_second = (np.isin(self._rare, part, assume_unique=False) for part in (first, second))
        self._side = np.where(on_first, np.where(on_second, 2, 0), 1)
        return len(self._values) + 4

    def sort(self, numbers: Numbers) -> Integers:
        rare = len(self._values)
        found = np.full(len(numbers), self._numbers - 1, np.int64)
        for values, cells in ((self._values, np.arange(rare)), (self._rare, rare + self._side)):
            if len(values):
                place = np.minimum(np.searchsorted(values, numbers), len(values) - 1)
                found = np.where(values[place] == numbers, cells[place], found)
        return found

    def say(self, chosen: Truths) -> list[str]:
        if len(chosen) == 1:
            return [f"{self.words} is a number"]
        common = [self.name_of(self._values[cell].item()) for cell in np.flatnonzero(chosen[:-4])]
        texts = [f"{self.words} is {_listed(common)}"] if common else []
        rare = [
            f"a rare value {where}"
            for where, is_chosen in zip(
                ("seen on the first data set only", "seen on the second data set only", "seen on both", "never seen"),
                chosen[-4:],
                strict=True,
            )
            if is_chosen
        ]
        return texts + ([f"{self.words} is {' or '.join(rare)}"] if rare else [])


class BinView(Sorter):
    """Intervals edge[i - 1] <= x < edge[i] between quantiles, far tails, and the ends of what each data set gave."""

    kind = "intervals"

    def learn(self, first: Numbers, second: Numbers) -> int:
        both = np.sort(np.concatenate([first, second]).astype(np.float64))
        if not len(both):
            self._edges = both
            return 1
        tails = 0.5 ** np.arange(1, TAILS + 1)
        shares = np.concatenate([tails, 1 - tails, np.arange(BINS) / BINS])
        ends = np.array([end(part) for part in (first, second) if len(part) for end in (np.min, np.max)], np.float64)
        whole = first.dtype.kind in "iu" and second.dtype.kind in "iu"
        above = ends + 1 if whole else np.nextafter(ends, np.inf)  # so that "more than the largest" is an event
        self._edges = np.unique(np.concatenate([both[(shares * len(both)).astype(np.int64)], ends, above]))
        return len(self._edges) + 1

    def sort(self, numbers: Numbers) -> Integers:
        return np.searchsorted(self._edges, numbers.astype(np.float64), side="right").astype(np.int64)

    def say(self, chosen: Truths) -> list[str]:
        if chosen.all():
            return [f"{self.words} is a number"]
        steps = np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8))
        spans = zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1), strict=True)
        texts = [self._span(int(start), int(stop)) for start, stop in spans]
        return texts[:3] + ([f"{len(texts) - 3} more intervals"] if len(texts) > 3 else [])

    def _span(self, start: int, stop: int) -> str:
        left, right = self._edge(start - 1, "<", "<="), self._edge(stop - 1, "<=", "<")
        if start and left == right:
            return f"{self.words} is {left[1]}"
        return (
            (f"{left[1]} {left[0]} " if start else "")
            + self.words
            + (f" {right[0]} {right[1]}" if stop <= len(self._edges) else "")
        )

    def _edge(self, place: int, beyond: str, usual: str) -> tuple[str, str]:
        """How to compare with an edge, and with what. The number next above an edge is told by that edge."""
        if not 0 <= place < len(self._edges):
            return usual, ""
        next_above = place > 0 and self._edges[place] == np.nextafter(self._edges[place - 1], np.inf)
        value = self._edges[place - 1 if next_above else place].item()
        return beyond if next_above else usual, repr(value).removesuffix(".0")


class LastBits(Sorter):
    """The largest power of two that divides the number: what gives floating-point noise away (Mironov 2012)."""

    kind = "last bits"

    def learn(self, first: Numbers, second: Numbers) -> int:  # noqa: ARG002 -- the powers are always the same
        return HIGHEST - DEEPEST + 1

    def sort(self, numbers: Numbers) -> Integers:
        """Zero is a multiple of every power, and lies in the last cell; infinities lie there too."""
        digits, shift = numbers, np.zeros(len(numbers), np.int64)
        if numbers.dtype.kind == "f":
            mantissa, exponent = np.frexp(np.where(np.isfinite(numbers), numbers, 0))
            digits, shift = np.ldexp(mantissa, 53).astype(np.int64), exponent.astype(np.int64) - 53
        power = np.frexp((digits & -digits).astype(np.float64))[1] - 1 + shift
        return np.where(digits == 0, HIGHEST - DEEPEST, power - DEEPEST)

    def say(self, chosen: Truths) -> list[str]:
        where = np.flatnonzero(chosen)
        if where[-1] - where[0] + 1 == len(where):
            if where[0] == 0:
                return [f"{self.words} is not a multiple of 2^{where[-1] + 1 + DEEPEST}"]
            if where[-1] == HIGHEST - DEEPEST:
                return [f"{self.words} is a multiple of 2^{where[0] + DEEPEST}"]
        return [f"the last bit of {self.words} is {_listed([f'2^{cell + DEEPEST}' for cell in where])}"]


class Digits(Sorter):
    """Low digits: of doubles the last 4 bits as they are stored, of whole numbers what is left modulo 240.

    A bit of the data that was hidden in the last place of perfect noise shows here, and in nothing else.
    """

    kind = "last digits"
    ordered = False

    def learn(self, first: Numbers, second: Numbers) -> int:
        both = np.concatenate([first, second]).astype(np.float64)
        self._decimals = next((d for d in range(DIGITS) if np.array_equal(np.round(both, d), both)), None)
        return 16 if self._decimals is None else 240

    @property
    def of_doubles(self) -> bool:
        """Whether it looks at bits as they are stored, not at decimals."""
        return self._decimals is None

    def sort(self, numbers: Numbers) -> Integers:
        if self._decimals is None:
            return np.asarray(numbers.astype(np.float64).view(np.int64) & 15, np.int64)
        values = numbers.astype(np.float64)  # by value: the same for 2 and 2.0, which may come in different chunks
        scaled = np.round(np.where(np.isfinite(values), values, 0) * 10.0**self._decimals)
        return np.mod(scaled, 240).astype(np.int64)

    def say(self, chosen: Truths) -> list[str]:
        cells = _listed([str(cell) for cell in np.flatnonzero(chosen)])
        if self._decimals is None:
            return [f"the last 4 bits of {self.words} are {cells}"]
        unit = f"{self.words} in units of 1e-{self._decimals}" if self._decimals else self.words
        return [f"{unit} is {cells} modulo 240"]


class DecimalView(Sorter):
    """How many decimals a number has when it is printed; below zero, how many zeros it ends in."""

    kind = "number of decimals"
    LEAST, MOST = -6, 15

    def learn(self, first: Numbers, second: Numbers) -> int:  # noqa: ARG002 -- they are always the same
        return self.MOST - self.LEAST + 2

    def sort(self, numbers: Numbers) -> Integers:
        """Rounding k / 10**d to d decimals gives it back: both steps are correctly rounded for d <= 15."""
        values = np.where(np.isfinite(numbers), numbers, 0).astype(np.float64)
        found = np.full(len(values), self.MOST - self.LEAST + 1, np.int64)
        for decimals in range(self.MOST, self.LEAST - 1, -1):
            same = np.abs(values) < 2.0**53 / 10.0**decimals
            same &= np.round(values, decimals) == values
            found[same] = decimals - self.LEAST
        return found

    def say(self, chosen: Truths) -> list[str]:
        names = [str(cell + self.LEAST) for cell in np.flatnonzero(chosen[:-1])]
        names += [f"more than {self.MOST}"] * bool(chosen[-1])
        return [f"{self.words} has {_listed(names)} decimals"]


class GridView(Sorter):
    """Whether a number is a multiple of the smallest step seen on either data set: a width that depends on data."""

    kind = "multiples of a step"
    ordered = False

    def learn(self, first: Numbers, second: Numbers) -> int:
        self._steps = [_step(part) for part in (first, second)]
        return 4

    def sort(self, numbers: Numbers) -> Integers:
        values = np.where(np.isfinite(numbers), numbers, 0).astype(np.float64)
        found = np.zeros(len(values), np.int64)
        for side, step in enumerate(self._steps):
            turns = values / step
            found += (np.abs(turns - np.round(turns)) < NEAR * np.maximum(1, np.abs(turns) * 1e-6)) << side
        return found

    def say(self, chosen: Truths) -> list[str]:
        first, second = (f"{step:.6g}" for step in self._steps)
        names = ("neither of {} nor of {}", "of {} and not of {}", "not of {}, but of {}", "of {} and of {}")
        texts = [name.format(first, second) for name, is_chosen in zip(names, chosen, strict=True) if is_chosen]
        return [f"{self.words} is a multiple " + " or ".join(texts)]


def _step(values: Numbers) -> float:
    """The smallest gap between values, if it is so large that a double can tell multiples of it; else 1."""
    finite = np.unique(values[np.isfinite(values)].astype(np.float64))
    if len(finite) < 2:
        return float(np.abs(finite[0])) or 1.0 if len(finite) else 1.0
    step = float(np.diff(finite).min())
    return step if step > 1e-9 * float(np.abs(finite).max()) else 1.0


def _known_tokens(first: OutputColumn, second: OutputColumn) -> npt.NDArray[np.int32]:
    seen = [part.tokens for part in (first, second) if part.tokens is not None]
    if not seen:
        return np.zeros(0, np.int32)
    values, counts = np.unique(np.concatenate(seen), return_counts=True)
    return np.asarray(values[(values != PLAIN) & (counts >= SEEN_OF_FEW)], np.int32)


def _plain(column: OutputColumn) -> Numbers:
    return column.numbers if column.tokens is None else column.numbers[column.tokens == PLAIN]


def _listed(values: list[str]) -> str:
    shown = ", ".join(values[:SHOWN]) + (f" and {len(values) - SHOWN} more" if len(values) > SHOWN else "")
    return shown if len(values) == 1 else f"one of {shown}"
