"""Events that two neighbors' outputs may disagree on: sets of cells of one view.

Cells are ranked on one part of the draws and events are picked on another, so that a lucky ranking does not win;
neither part is used to test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from privet.audits.claims import Claim
from privet.audits.features import (
    Feature,
    Pair,
    difference,
    direction,
    examples,
    matrix,
    part,
    score,
    structure,
    summaries,
    whole,
)  # fmt: skip
from privet.audits.outlook import outlook, promise
from privet.audits.outputs import PLAIN, OutputColumn, OutputReader, Outputs
from privet.audits.views import FEW, BinView, DecimalView, Digits, GridView, LastBits, Sorter, ValueView
from privet.typing import Integers, Truths

PARTS, PAIRS, CROSSED = 8, 6, 3  # parts looked at one by one, differences of two, pairs of parts taken together
SUMMARIES = 4  # functions of a vector, at a first look
SQUARE = 10  # intervals a side, for two parts taken together
SCREENED, KEPT = 4000, 10  # draws that decide which views are worth all of them, and how many are
FEW_DEVIATIONS, DEVIATIONS = 3.0, 4.5  # how far a promise stays behind what was seen: with few draws, and with many
HOPEFUL = 1.0  # and how far an outlook does, before it is put to a test
MANY = 2000
SIDES = (0, 1)
RANKED = "ranked"  # an order that is learnt; events of others are intervals, or one cell


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Sorts outputs into cells 0, 1, ... size - 1."""

    feature: Feature
    sorter: Sorter

    @property
    def size(self) -> int:
        return self.sorter.size

    @property
    def name(self) -> str:
        return f"{self.sorter.kind} of {self.feature.words}".removesuffix(",")

    def counts(self, outputs: Outputs) -> Integers:
        """How many outputs fall into each cell."""
        return np.bincount(self.sorter.cells(self.feature.column(outputs)), minlength=self.size)


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """Cells of a view, and the data set (0 or 1) on which they come up more often.

    `order` has cells that came up, those that speak most for that data set first; `promised` is what the pick made of
    it, in the claim's parameter.
    """

    view: View
    chosen: Truths
    likelier: int
    order: Integers
    promised: float
    plain: bool  # an interval, or one cell

    def __str__(self) -> str:
        return self.view.sorter.describe(self.chosen)


Maker = Callable[[Pair], View]


def find_events(  # noqa: PLR0913 -- draws to rank and to pick, and what for
    rank: Pair, pick: Pair, claim: Claim, limit: int, reader: OutputReader, *, size: float, brief: bool
) -> tuple[list[Event], float, int]:
    """At most `limit` events, the one that promises most first; what a test of `size` draws is likely to give; and how
    many events were compared. A `brief` look goes without the views that seldom show anything.

    Some of them are safe and some are daring: a rare event promises nothing before there are many draws. Plain ones
    are among them, since a set put together of many cells owes part of its promise to luck.
    """
    makers = _makers(rank, reader, brief=brief or len(rank[0]) < FEW)
    if len(makers) > KEPT and len(rank[0]) > SCREENED:
        makers = _screened(makers, rank, pick, claim, size)
    found: dict[tuple[int, int, int], _Best] = {}
    for maker in makers:
        for best in _best_of(maker(rank), rank, pick, claim, size):
            found.setdefault(best.key, best)  # same counts, same event; the first reads better
    events = [best.event() for best in _varied(list(found.values()), limit)]
    outlook_ = max(best.outlook for best in found.values())
    return sorted(events, key=lambda event: -event.promised), outlook_, len(found)


def _varied(found: list[_Best], limit: int) -> list[_Best]:
    """Taken in turn from plain ones and from all, by what a test is likely to give and by what is all but sure."""
    plain = [best for best in found if best.plain]
    rankings = [
        sorted(some, key=key) for some, key in ((plain, _likely), (found, _safe), (found, _likely), (plain, _safe))
    ]
    chosen: list[_Best] = []
    for turn in range(min(limit, len(found))):
        ranking = rankings[turn % len(rankings)]
        chosen.append(next(best for best in [*ranking, *rankings[1]] if best not in chosen))
    return chosen


def _likely(best: _Best) -> float:
    return -best.outlook


def _safe(best: _Best) -> float:
    return -best.promised


def _screened(makers: list[Maker], rank: Pair, pick: Pair, claim: Claim, size: float) -> list[Maker]:
    few = slice(0, SCREENED)
    some_rank, some_pick = ((first.rows(few), second.rows(few)) for first, second in (rank, pick))
    found = [list(_best_of(maker(some_rank), some_rank, some_pick, claim, size)) for maker in makers]
    promised = sorted(range(len(makers)), key=lambda number: -max(best.promised for best in found[number]))
    kept = promised[: KEPT // 2]
    kept += sorted(promised[KEPT // 2 :], key=lambda number: -max(best.outlook for best in found[number]))[
        : KEPT - KEPT // 2
    ]
    return [makers[number] for number in sorted(kept)]


def _best_of(view: View, rank: Pair, pick: Pair, claim: Claim, size: float) -> Iterator[_Best]:
    """The best events of each order of the cells, on either side."""
    ranked, picked = (np.array([view.counts(part) for part in pair]) for pair in (rank, pick))
    known = np.flatnonzero(ranked.sum(axis=0) + picked.sum(axis=0))
    plain = ranked + picked if view.sorter.ordered else picked  # intervals in a line owe nothing to the ranking
    ways = [way for likelier in SIDES for way in _ways(likelier, ranked[:, known], picked[:, known], plain[:, known])]
    hits = np.concatenate([way.hits for way in ways], axis=1)
    draws = np.repeat([way.draws for way in ways], len(known))
    promised = promise(claim, hits[0], hits[1], draws, np.where(draws < MANY, FEW_DEVIATIONS, DEVIATIONS))
    likely = outlook(claim, (hits[0], hits[1]), draws, size, (HOPEFUL, DEVIATIONS))
    for number, way in enumerate(ways):
        start = number * len(known)
        here = slice(start, start + len(known))
        for place in {start + int(np.argmax(promised[here])), start + int(np.argmax(likely[here]))}:
            yield _Best(view, way, known, place - start, float(promised[place]), float(likely[place]))


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """An order of the known cells; the hits of the events it gives, its prefixes or single cells, out of `draws`."""

    likelier: int
    order: Integers
    hits: Integers
    draws: int
    kind: str  # "rising", "falling", "single" or RANKED


@dataclass(frozen=True, slots=True, eq=False)
class _Best:
    """The best event of one order of the cells, before it is written out."""

    view: View
    way: _Way
    known: Integers
    place: int  # in the order
    promised: float
    outlook: float

    @property
    def plain(self) -> bool:
        return self.way.kind != RANKED

    @property
    def key(self) -> tuple[int, int, int]:
        return self.way.likelier, int(self.way.hits[0, self.place]), int(self.way.hits[1, self.place])

    def event(self) -> Event:
        """Of the cells that nothing fell into, a plain order takes those that lie within its event."""
        view, best = self.view, self.place
        chosen = np.zeros(view.size, np.bool_)
        cells = self.known[self.way.order]
        empty = np.arange(view.size) >= view.sorter.line
        empty[self.known] = False
        match self.way.kind:
            case "rising":
                chosen[: cells[best] + 1] = True
            case "falling":
                chosen[cells[best] :] = True
            case "single":
                chosen[cells[best]] = True
                cells = np.concatenate([cells[best:], cells[:best]])
            case _:
                chosen[cells[: best + 1]] = True
        chosen[empty] = False
        return Event(view, chosen, self.way.likelier, cells, self.promised, self.plain)


def _ways(likelier: int, ranked: Integers, picked: Integers, plain: Integers) -> Iterator[_Way]:
    """Plain ones first."""
    natural = np.arange(ranked.shape[1])
    sides = [likelier, 1 - likelier]
    picked, plain, draws = picked[sides], plain[sides], int(plain[0].sum())
    yield _Way(likelier, natural, np.cumsum(plain, axis=1), draws, "rising")
    yield _Way(likelier, natural[::-1], np.cumsum(plain[:, ::-1], axis=1), draws, "falling")
    yield _Way(likelier, natural, plain, draws, "single")
    ratios = (ranked[likelier] + 0.5) / (ranked[1 - likelier] + 0.5)
    order = np.argsort(-ratios, kind="stable")
    yield _Way(likelier, order, np.cumsum(picked[:, order], axis=1), int(picked[0].sum()), RANKED)


# --- which views ---


def _makers(rank: Pair, reader: OutputReader, *, brief: bool) -> list[Maker]:
    """Views worth a look for outputs such as these."""
    width = reader.width
    makers = [_maker(structure(), ValueView, reader)] if _varies(rank) else []
    few = brief and width > 1  # what shows with few draws shows in few ways
    for number, place in enumerate(_telling(rank, width, PARTS // 2 if few else PARTS)):
        makers += _of_a_column(part(place, reader), rank, reader)[: (1 if number else 3) if few else None]
    if width > 1:
        makers += _of_a_vector(rank, reader, few=few)
    if width > 1 or _varies(rank):
        makers.append(lambda pair: _whole(pair, reader))
    return makers or [_maker(structure(), ValueView, reader)]


def _of_a_column(feature: Feature, rank: Pair, reader: OutputReader) -> list[Maker]:
    columns = [feature.column(outputs) for outputs in rank]
    kinds: list[type[Sorter]] = [BinView, LastBits, ValueView, Digits]
    if any(column.numbers.dtype.kind == "f" for column in columns):
        kinds += [DecimalView, GridView]
    return [_maker(feature, kind, reader) for kind in kinds]


def _of_a_vector(rank: Pair, reader: OutputReader, *, few: bool) -> list[Maker]:
    makers = [_maker(feature, BinView, reader) for feature in summaries(reader)[: SUMMARIES if few else None]]
    makers.append(lambda pair: _made(direction(reader, pair), BinView, pair, reader))
    makers.append(lambda pair: _made(score(reader, pair, in_order=False), BinView, pair, reader))
    pairs = list(combinations(_telling(rank, reader.width, PARTS), 2))
    for one, other in pairs[: 1 if few else PAIRS]:
        apart = difference(one, other, reader)
        makers += [_maker(apart, BinView, reader), _maker(apart, ValueView, reader)]
    if few:
        return makers
    makers.append(lambda pair: _made(score(reader, pair, in_order=True), BinView, pair, reader))
    return makers + [_crossing(one, other, reader) for one, other in pairs[:CROSSED]]


def _crossing(one: int, other: int, reader: OutputReader) -> Maker:
    return lambda pair: _made(_crossed(one, other, reader, pair), ValueView, pair, reader)


def _maker(feature: Feature, kind: type[Sorter], reader: OutputReader) -> Maker:
    return lambda pair: _made(feature, kind, pair, reader)


def _made(feature: Feature, kind: type[Sorter], rank: Pair, reader: OutputReader) -> View:
    first, second = (feature.column(outputs) for outputs in rank)
    return View(feature, kind(feature.words, first, second, reader))


def _whole(rank: Pair, reader: OutputReader) -> View:
    feature = whole(reader)
    first, second = (feature.column(outputs) for outputs in rank)
    sorter = ValueView(feature.words, first, second, reader)
    sorter.name_of = examples(reader, feature, rank)
    return View(feature, sorter)


def _varies(rank: Pair) -> bool:
    return len(np.unique(np.concatenate([outputs.shapes for outputs in rank]))) > 1


def _telling(rank: Pair, width: int, limit: int) -> list[int]:
    """The parts that differ most between the data sets, or all if they are few."""
    if width <= limit:
        return list(range(width))
    first, second = (matrix(outputs, width, np.inf) for outputs in rank)
    both = np.concatenate([first, second])
    cuts = np.sort(both, axis=0)[(len(both) * np.array([[1], [3], [5], [7]]) // 8).ravel()]
    apart = sum(np.abs((first < cut).mean(axis=0) - (second < cut).mean(axis=0)) for cut in cuts)
    odd = sum(_token_share(outputs, width) * sign for outputs, sign in zip(rank, (1, -1), strict=True))
    best = np.argsort(-(apart + np.abs(odd)), kind="stable")[:limit]
    return sorted(int(place) for place in best)


def _token_share(outputs: Outputs, width: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    wide = outputs.widened(width)
    return np.zeros(width) if wide.tokens is None else (wide.tokens != PLAIN).mean(axis=0)


def _crossed(one: int, other: int, reader: OutputReader, rank: Pair) -> Feature:
    """Two parts taken together: the square that they fall into, of few values or of intervals."""
    parts = [part(place, reader) for place in (one, other)]
    sorters = [_coarse(feature, rank, reader) for feature in parts]

    def column(outputs: Outputs) -> OutputColumn:
        cells = [sorter(feature.column(outputs)) for feature, sorter in zip(parts, sorters, strict=True)]
        return OutputColumn(cells[0] * 100_000 + cells[1])

    return Feature(f"the square of {reader.place(one)} and {reader.place(other)}", column)


def _coarse(feature: Feature, rank: Pair, reader: OutputReader) -> Callable[[OutputColumn], Integers]:
    first, second = (feature.column(outputs) for outputs in rank)
    values = ValueView(feature.words, first, second, reader)
    if values.size <= SQUARE + 6:
        return values.cells
    bins = BinView(feature.words, first, second, reader)
    cells = np.sort(np.concatenate([bins.cells(first), bins.cells(second)]))
    cuts = np.unique(cells[(np.arange(1, SQUARE) * len(cells)) // SQUARE])
    return lambda column: np.searchsorted(cuts, bins.cells(column), side="right")
