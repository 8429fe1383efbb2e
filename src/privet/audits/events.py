"""Events that two neighbors' outputs may disagree on: sets of values, of intervals, of last bits.

A view sorts outputs into numbered cells. An event is a set of cells of one view. Cells are ranked on one part of the
draws and events are picked on another, so that a lucky ranking does not win; neither part is used to test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from privet.core.rational import show
from privet.errors import InvalidInputError

Outputs = npt.NDArray[Any] | list[Hashable]
Pair = tuple[Outputs, Outputs]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

SEEN = 10  # times a value must have come up to be a cell of its own
BINS = 64
TAILS = 18  # and tails of probability 1/2, 1/4, ... 2**-TAILS
DEEPEST, HIGHEST = -1074, 1024  # powers of two that a last bit can be; the last is for zero
MARGIN = 2.5  # standard deviations: what the test, six times as large, will take off at more than twice that
SHOWN = 6


class View(Protocol):
    """Sorts outputs into cells 0, 1, ... size - 1."""

    @property
    def size(self) -> int: ...

    def cells(self, outputs: Any) -> Ints: ...

    def describe(self, chosen: Bools) -> str: ...


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """Cells of a view, and the data set (0 or 1) on which they come up more often."""

    view: View
    chosen: Bools
    likelier: int

    def __str__(self) -> str:
        return self.view.describe(self.chosen)


class Names:
    """Outputs as they are; those seen less than SEEN times share the last cell."""

    def __init__(self, first: list[Hashable], second: list[Hashable]) -> None:
        seen = Counter(first) + Counter(second)
        self._values = [value for value, count in seen.items() if count >= SEEN]
        self._cell = {value: cell for cell, value in enumerate(self._values)}
        self.size = len(self._values) + 1

    def cells(self, outputs: list[Hashable]) -> Ints:
        rare = len(self._values)
        return np.fromiter((self._cell.get(value, rare) for value in outputs), np.int64, len(outputs))

    def describe(self, chosen: Bools) -> str:
        return _listed([show(self._values[cell]) for cell in np.flatnonzero(chosen[:-1])], bool(chosen[-1]))


class Values:
    """Numbers as they are; those seen less than SEEN times share the last cell."""

    def __init__(self, first: npt.NDArray[Any], second: npt.NDArray[Any]) -> None:
        values, counts = np.unique(np.concatenate([first, second]), return_counts=True)
        self._values = values[counts >= SEEN]
        self.size = len(self._values) + 1

    def cells(self, outputs: npt.NDArray[Any]) -> Ints:
        rare = len(self._values)
        if rare == 0:
            return np.zeros(len(outputs), np.int64)
        place = np.searchsorted(self._values, outputs)
        known = self._values[np.minimum(place, rare - 1)] == outputs
        return np.where(known, place, rare)

    def describe(self, chosen: Bools) -> str:
        return _listed([show(self._values[cell].item()) for cell in np.flatnonzero(chosen[:-1])], bool(chosen[-1]))


class Bins:
    """Intervals edge[i - 1] <= x < edge[i] between quantiles, far tails, and the ends of what each data set gave."""

    def __init__(self, first: npt.NDArray[Any], second: npt.NDArray[Any]) -> None:
        both = np.sort(np.concatenate([first, second]).astype(np.float64))
        tails = 0.5 ** np.arange(1, TAILS + 1)
        shares = np.concatenate([tails, 1 - tails, np.arange(BINS) / BINS])
        ends = np.array([end(part) for part in (first, second) for end in (np.min, np.max)], np.float64)
        whole = first.dtype.kind in "iu" and second.dtype.kind in "iu"
        above = ends + 1 if whole else np.nextafter(ends, np.inf)  # so that "more than the largest" is an event
        self._edges = np.unique(np.concatenate([both[(shares * len(both)).astype(np.int64)], ends, above]))
        self.size = len(self._edges) + 1

    def cells(self, outputs: npt.NDArray[Any]) -> Ints:
        return np.searchsorted(self._edges, outputs.astype(np.float64), side="right").astype(np.int64)

    def describe(self, chosen: Bools) -> str:
        steps = np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8))
        spans = zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1), strict=True)
        texts = [self._span(int(start), int(stop)) for start, stop in spans]
        return " or ".join(texts[:3]) + (f" or {len(texts) - 3} more intervals" if len(texts) > 3 else "")

    def _span(self, start: int, stop: int) -> str:
        left = f"{self._edge(start - 1)} <= " if start else ""
        return f"{left}output" + (f" < {self._edge(stop - 1)}" if stop < self.size else "")

    def _edge(self, place: int) -> str:
        return repr(self._edges[place].item()).removesuffix(".0")


class LastBits:
    """The largest power of two that divides the output: what gives floating-point noise away (Mironov 2012)."""

    size = HIGHEST - DEEPEST + 1

    def cells(self, outputs: npt.NDArray[Any]) -> Ints:
        """Zero is a multiple of every power, and lies in the last cell; infinities lie there too."""
        digits, shift = outputs, np.zeros(len(outputs), np.int64)
        if outputs.dtype.kind == "f":
            mantissa, exponent = np.frexp(np.where(np.isfinite(outputs), outputs, 0).astype(np.float64))
            digits, shift = np.ldexp(mantissa, 53).astype(np.int64), exponent.astype(np.int64) - 53
        power = np.frexp((digits & -digits).astype(np.float64))[1] - 1 + shift
        return np.where(digits == 0, self.size - 1, power - DEEPEST)

    def describe(self, chosen: Bools) -> str:
        where = np.flatnonzero(chosen)
        if where[-1] - where[0] + 1 == len(where):
            if where[0] == 0:
                return f"output is not a multiple of 2^{where[-1] + 1 + DEEPEST}"
            if where[-1] == self.size - 1:
                return f"output is a multiple of 2^{where[0] + DEEPEST}"
        return (
            "the last bit of the output is one of "
            + ", ".join(f"2^{cell + DEEPEST}" for cell in where[:SHOWN])
            + (f" and {len(where) - SHOWN} more" if len(where) > SHOWN else "")
        )


def find_events(rank: Pair, pick: Pair, delta: float, limit: int) -> list[Event]:
    """At most `limit` events that promise the largest epsilon, best first."""
    draws = len(pick[0])
    found: dict[tuple[int, int, int], tuple[float, Event]] = {}
    for view in _views(rank):
        ranked, picked = [counts(view, part) for part in rank], [counts(view, part) for part in pick]
        for likelier in (0, 1):
            for order, summed in _orders(ranked[likelier], ranked[1 - likelier]):
                hits = [picked[side][order] for side in (likelier, 1 - likelier)]
                if summed:
                    hits = [np.cumsum(side) for side in hits]
                promise = _promise(hits[0], hits[1], draws, delta)
                best = int(np.argmax(promise))
                chosen = np.zeros(view.size, np.bool_)
                chosen[order[: best + 1] if summed else order[best]] = True
                key = (
                    likelier,
                    int(hits[0][best]),
                    int(hits[1][best]),
                )  # same counts, same event; the first reads better
                found.setdefault(key, (float(promise[best]), Event(view, chosen, likelier)))
    ranking = sorted(found.values(), key=lambda item: -item[0])
    return [event for _, event in ranking[:limit]]


def counts(view: View, outputs: Outputs) -> Ints:
    """How many outputs fall into each cell."""
    return np.bincount(view.cells(outputs), minlength=view.size)


def _views(rank: Pair) -> list[View]:
    first, second = rank
    if isinstance(first, list) or isinstance(second, list):
        names = Names(list(first), list(second))
        if names.size == 1:
            raise InvalidInputError(
                f"no output came up {SEEN} times, so there is nothing to count",
                "audit a coarser function of the output (a part, a length, a rounded value), or take more samples",
            )
        return [names]
    return [Bins(first, second), LastBits(), Values(first, second)]


def _orders(likelier: Ints, other: Ints) -> Iterator[tuple[Ints, bool]]:
    """Orders of the cells, and whether events are their prefixes (else single cells). Plain ones come first."""
    natural = np.arange(len(likelier))
    yield natural, True
    yield natural[::-1], True
    yield natural, False
    yield np.argsort(-(likelier + 0.5) / (other + 0.5), kind="stable"), True


def _promise(likelier: Ints, other: Ints, draws: int, delta: float) -> Floats:
    """log((p - delta) / q) with p and q at the far ends of their score intervals."""
    square = MARGIN**2

    def end(hits: Ints, sign: float) -> Floats:
        half = MARGIN * np.sqrt(hits * (1 - hits / draws) + square / 4)
        return (hits + square / 2 + sign * half) / (draws + square)

    gain = np.maximum(end(likelier, -1.0) - delta, 1e-300)
    return np.asarray(np.log(gain) - np.log(end(other, 1.0)), np.float64)


def _listed(values: list[str], rare: bool) -> str:
    shown = ", ".join(values[:SHOWN]) + (f" and {len(values) - SHOWN} more" if len(values) > SHOWN else "")
    texts = [f"output is {shown}" if len(values) == 1 else f"output is one of {shown}"] if values else []
    return " or ".join(texts + ["output is a rare value"] * rare)
