"""Quantiles one inside the other: each is chosen by its rank among the rows of its own piece, in exact arithmetic.

Every row draws a place within its value, by itself. Values with places are a finer grid on which few rows are tied; one
choice on it gives a value, and says which of the rows that have this value are on which side. Its loss is the mean of
two: that of the value, by which a value that many rows share keeps its advantage, and that of the value with its place.

Places are drawn only where a choice can fall but with weights that floats cannot tell from none; a draw that comes so
near the end of what is known draws the others as well (docs/claims.md, nested-quantiles).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from privet.core.claim import claim
from privet.core.families import PLACES, WHOLE, Ends, Shares, inner, middle, nodes
from privet.core.laws import Choices
from privet.noise.entropy import KEYSTREAM, Bits, Source
from privet.noise.ranked import REACH, RankLoss, Stretches, checked, choose_near
from privet.typing import Integers

ROWS_AT_A_TIME = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Rows in order, as different values and how often each is there; candidates are low ... high."""

    values: Integers = field(repr=False)
    counts: Integers = field(repr=False)
    low: int
    high: int


@claim("nested-quantiles")
def choose_nested(piece: Piece, shares: Shares, law: Choices, source: Source = KEYSTREAM) -> list[int]:
    """A value for each of the ascending `shares` of the rows: the middle one among all rows, the others in the two
    pieces that it makes, by what each seeks there."""
    RankLoss(low=0, high=(piece.high - piece.low + 1) * PLACES, unit=1, target=0)  # the grid stays within 64 bits
    for unit in {2 * node.sought.denominator for node in nodes(shares)}:  # so do two losses together
        checked(piece.values, piece.counts, RankLoss(low=piece.low, high=piece.high, unit=unit, target=0))
    return _nested(piece, shares, WHOLE, law.rates, source)


def _nested(piece: Piece, shares: Shares, ends: Ends, rates: tuple[Fraction, ...], source: Source) -> list[int]:
    """Those of a piece that lies between the quantiles `ends`; `rates` are those from its level on."""
    if not shares:
        return []
    at = middle(shares)
    chosen, tied_left = _choose(piece, inner(shares, ends), rates[0], source)
    if len(shares) == 1:
        return [chosen]
    left, right = _cut(piece, chosen, tied_left)
    first = _nested(left, shares[:at], (ends[0], shares[at]), rates[1:], source)
    return [*first, chosen, *_nested(right, shares[at + 1 :], (shares[at], ends[1]), rates[1:], source)]


@claim("nested-quantiles")
def _choose(piece: Piece, sought: Fraction, rate: Fraction, source: Source) -> tuple[int, int]:
    """The value that seeks this share of the rows, and how many of the rows that have it are on its left."""
    ranks = _ranks(piece.counts)
    unit, target = sought.denominator, sought.numerator * int(ranks[-1])
    grid = Grid(piece=piece, ranks=ranks, unit=unit, target=target)
    first, last = _near(ranks, sought * int(ranks[-1]), math.ceil(REACH / rate) + 2)
    rows = [_finer(piece, slice(first, last), source)]

    def whole() -> Stretches:
        """The places that were drawn are kept."""
        beside = [_finer(piece, part, source) for part in (slice(0, first), slice(last, None))]
        rows[0] = tuple(map(np.concatenate, zip(beside[0], rows[0], beside[1], strict=True)))  # type: ignore[assignment]
        return grid.stretches(*rows[0], 0, len(piece.values))

    near = grid.stretches(*rows[0], first, last)
    spot = choose_near(near, whole, rate / (2 * unit), Bits(source), left_out=first > 0)
    fine, counts = rows[0]
    start, stop = np.searchsorted(fine, [spot - spot % PLACES, spot]).tolist()
    return piece.low + spot // PLACES, int(counts[start:stop].sum())


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Grid:
    """The candidates of a piece: PLACES for each value. `ranks` are the numbers of rows at the first j values."""

    piece: Piece
    ranks: Integers = field(repr=False)
    unit: int
    target: int = field(repr=False)

    def stretches(self, fine: Integers, counts: Integers, first: int, last: int) -> Stretches:
        """Of the candidates from the value `first` to before `last`, and beyond the outermost values. `fine` are their
        rows. The loss is twice the mean of both; it changes at rows, and where a value begins or ends."""
        piece, values = self.piece, (self.piece.values - self.piece.low)[first:last]
        low = int(values[0]) * PLACES if first else 0
        end = (int(values[-1]) if last < len(piece.values) else piece.high - piece.low) * PLACES + PLACES
        starts = np.unique(np.concatenate([[low], fine, fine + 1, values * PLACES, (values + 1) * PLACES]))
        starts = starts[starts < end]
        losses = self._loss(values, self.ranks[first : last + 1], starts // PLACES)
        losses += self._loss(fine, int(self.ranks[first]) + _ranks(counts), starts)
        best = int(np.argmin(losses))
        return Stretches(starts=starts, sizes=np.diff(starts, append=end), losses=losses - losses[best], best=best)

    def _loss(self, rows: Integers, ranks: Integers, at: Integers) -> Integers:
        """How far the rank of a candidate is off, in parts of a row."""
        below, upto = (ranks[np.searchsorted(rows, at, side)] * self.unit for side in ("left", "right"))
        return np.maximum(below - self.target, self.target - upto)


def _near(ranks: Integers, sought: Fraction, reach: int) -> tuple[int, int]:
    """The different values, from the first one to before the last, all of whose neighbors are further than the reach
    from the rank that is sought: the losses of all candidates beyond them are larger than that."""
    low, high = math.floor(sought) - reach, math.ceil(sought) + reach
    first, last = int(np.searchsorted(ranks[1:], low)), int(np.searchsorted(ranks[:-1], high, "right"))
    return first, last


def _ranks(counts: Integers) -> Integers:
    return np.concatenate([[0], np.cumsum(counts)])


def _finer(piece: Piece, part: slice, source: Source) -> tuple[Integers, Integers]:
    """The rows of some values on the finer grid, ascending: all different, and how often each is there."""
    values, counts = (piece.values[part] - piece.low) * PLACES, piece.counts[part]
    many = counts > PLACES
    rows = np.repeat(values[~many], counts[~many])
    found = [np.unique(rows + _places(len(rows), source), return_counts=True)]
    for value, count in zip(values[many], counts[many].tolist(), strict=True):
        taken = np.zeros(PLACES, np.int64)
        for start in range(0, count, ROWS_AT_A_TIME):
            taken += np.bincount(_places(min(ROWS_AT_A_TIME, count - start), source), minlength=PLACES)
        there = np.flatnonzero(taken)
        found.append((value + there, taken[there]))
    fine, each = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(fine)
    return fine[order], each[order]


def _places(rows: int, source: Source) -> Integers:
    """A place for each row, all alike and each for itself."""
    words = np.empty(-(-rows // 4), np.uint64)
    if rows:
        source.fill(words)
    return (words.view(np.uint16)[:rows] & (PLACES - 1)).astype(np.int64)


def _cut(piece: Piece, chosen: int, tied_left: int) -> tuple[Piece, Piece]:
    """The rows on either side of what was chosen; so many of those that have this value are on the left."""
    values, counts = piece.values, piece.counts
    start, stop = (int(np.searchsorted(values, chosen, side)) for side in ("left", "right"))
    tied_right = int(counts[start:stop].sum()) - tied_left
    left = Piece(values[:start], counts[:start], piece.low, chosen)
    right = Piece(values[stop:], counts[stop:], chosen, piece.high)
    if tied_left:
        left = replace(left, values=values[:stop], counts=np.append(counts[:start], tied_left))
    if tied_right:
        right = replace(right, values=values[start:], counts=np.append(tied_right, counts[stop:]))
    return left, right
