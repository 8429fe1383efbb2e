"""Quantiles one inside the other: each is chosen by its rank among the rows of its own piece, in exact arithmetic.

What is chosen first cuts the rows in two pieces. Rows that are tied with it draw places at random, each for itself, and
a second choice by rank says at which place they are cut: as if they lay on a finer grid.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from privet.core.claim import claim
from privet.core.families import PLACES, WHOLE, Ends, Shares, inner, middle
from privet.core.laws import Choice, Choices
from privet.noise.entropy import KEYSTREAM, Source
from privet.noise.ranked import RankLoss, choose_by_rank, flip_by_rank
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
def choose_nested(
    piece: Piece, shares: Shares, law: Choices, source: Source = KEYSTREAM, *, ends: Ends = WHOLE
) -> list[int]:
    """A value for each of the ascending `shares` of the rows: the middle one among all rows, the others in the two
    pieces that it makes, by what each seeks there. `ends` are the quantiles between which this piece lies, and `law`
    has the rates from its level on."""
    if not shares:
        return []
    at, sought = middle(shares), inner(shares, ends)
    unit, target = sought.denominator, sought.numerator * int(piece.counts.sum())
    loss = RankLoss(low=piece.low, high=piece.high, unit=unit, target=target)
    one = Choice(law.rates[0] / unit, flip=law.flip)
    if law.flip:
        chosen = flip_by_rank(piece.values, piece.counts, loss, one)
    else:
        chosen = choose_by_rank(piece.values, piece.counts, loss, one, source)
    if len(shares) == 1:
        return [chosen]
    left, right = _cut(piece, chosen, loss, Choice(law.ties[0] / unit), source)
    sides = ((left, shares[:at], (ends[0], shares[at])), (right, shares[at + 1 :], (shares[at], ends[1])))
    deeper = replace(law, rates=law.rates[1:], ties=law.ties[1:])
    first, second = (choose_nested(side, part, deeper, source, ends=its) for side, part, its in sides)
    return [*first, chosen, *second]


@claim("nested-quantiles")
def _cut(piece: Piece, chosen: int, loss: RankLoss, law: Choice, source: Source) -> tuple[Piece, Piece]:
    """The rows on either side of what was chosen. Each row that is tied with it draws a place of its own; those before
    a place that is chosen by its rank are on the left."""
    values, counts = piece.values, piece.counts
    start, stop = (int(np.searchsorted(values, chosen, side)) for side in ("left", "right"))
    tied, before = int(counts[start:stop].sum()), int(counts[:start].sum())
    taken = _places(tied, source)
    there = np.flatnonzero(taken)
    inside = RankLoss(low=0, high=PLACES - 1, unit=loss.unit, target=loss.target - loss.unit * before)
    place = choose_by_rank(there, taken[there], inside, law, source)
    on_left = int(taken[:place].sum())
    left = Piece(values[:start], counts[:start], piece.low, chosen)
    right = Piece(values[stop:], counts[stop:], chosen, piece.high)
    if on_left:
        left = replace(left, values=values[:stop], counts=np.append(counts[:start], on_left))
    if tied > on_left:
        right = replace(right, values=values[start:], counts=np.append(tied - on_left, counts[stop:]))
    return left, right


def _places(rows: int, source: Source) -> Integers:
    """How many of so many rows draw each place, all alike and each for itself."""
    taken = np.zeros(PLACES, np.int64)
    for start in range(0, rows, ROWS_AT_A_TIME):
        size = min(ROWS_AT_A_TIME, rows - start)
        words = np.empty(-(-size // 4), np.uint64)
        source.fill(words)
        taken += np.bincount(words.view(np.uint16)[:size] & (PLACES - 1), minlength=PLACES)
    return taken
